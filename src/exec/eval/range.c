/*
 * range.c - range tests: made by asking the comparison's kernel, run as one vectorised loop.
 *
 * Values are put on one ordered line of int64 (floating values by their bits, so that neighbours on
 * the line are neighbouring doubles). The kernel is asked at the ends of the line, at the constant
 * and beside it; where its answer changes elsewhere (equality with a tolerance) the border is found
 * by bisection: at most 64 questions, once per query.
 */
#include "exec/eval/range.h"

#include <math.h>

static bool is_floating(uint8_t id)
{
    return id == ALM_T_DOUBLE || id == ALM_T_FLOAT;
}

static bool has_range(uint8_t id)
{
    return is_floating(id) || id == ALM_T_BYTE || id == ALM_T_SHORT || id == ALM_T_INT ||
           id == ALM_T_LONG || id == ALM_T_DATE || id == ALM_T_TIMESTAMP ||
           id == ALM_T_TIMESTAMP_NS;
}

/* ----------------------------------------------------------------- the line of ordered values */

static int64_t double_place(double v)
{
    int64_t bits = 0;
    memcpy(&bits, &v, sizeof bits);
    return bits >= 0 ? bits : INT64_MIN - bits; /* -0.0 and 0.0 share the place 0 */
}

static double place_double(int64_t place)
{
    const int64_t bits = place >= 0 ? place : INT64_MIN - place;
    double v = 0;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static int64_t float_place(float v)
{
    int32_t bits = 0;
    memcpy(&bits, &v, sizeof bits);
    return bits >= 0 ? bits : (int64_t)INT32_MIN - bits;
}

static float place_float(int64_t place)
{
    const int32_t bits = (int32_t)(place >= 0 ? place : (int64_t)INT32_MIN - place);
    float v = 0;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* A comparison under examination. */
typedef struct probe {
    alm_call call;
    alm_vec constant;
    bool mirrored; /* the column is the second argument */
    uint8_t id;
    uint8_t width;
    int64_t lowest, highest, at; /* places of -inf or least value, +inf or greatest, the constant */
} probe;

static void store_place(const probe *p, int64_t place, void *to)
{
    if (p->id == ALM_T_DOUBLE)
        memcpy(to, &(double){place_double(place)}, sizeof(double));
    else if (p->id == ALM_T_FLOAT)
        memcpy(to, &(float){place_float(place)}, sizeof(float));
    else
        memcpy(to, &place, p->width); /* little-endian: the low bytes */
}

/* The kernel's answers for n stored values. */
static alm_status ask(probe *p, void *values, uint32_t n, uint8_t *answer)
{
    const alm_vec dense = {.type = p->constant.type, .width = p->width, .data = values};
    const alm_vec args[2] = {p->mirrored ? p->constant : dense, p->mirrored ? dense : p->constant};
    alm_vec out = {.type = ALM_TY(BOOLEAN), .width = 1, .data = answer};
    return p->call.fn->kernel(&p->call, n, args, &out);
}

static alm_status ask_place(probe *p, int64_t place, bool *answer)
{
    uint64_t value = 0;
    uint8_t byte = 0;
    store_place(p, place, &value);
    ALM_TRY(ask(p, &value, 1, &byte));
    *answer = byte != 0;
    return ALM_OK;
}

/* The last place in [from, to] (or [to, from] downward) whose answer is that of `from`. */
static alm_status border(probe *p, int64_t from, int64_t to, int64_t *last)
{
    bool want = false;
    const int64_t step = to > from ? 1 : -1;
    ALM_TRY(ask_place(p, from, &want));
    for (int64_t by = -1; by <= 1; by++) { /* an exact comparison: right here */
        int64_t near = 0;
        bool here = false, past = false;
        if (__builtin_add_overflow(p->at, by, &near) || near <= p->lowest || near >= p->highest)
            continue;
        ALM_TRY(ask_place(p, near, &here));
        ALM_TRY(ask_place(p, near + step, &past));
        if (here == want && past != want) {
            *last = near;
            return ALM_OK;
        }
    }
    while (from != to && from + step != to) {
        const int64_t mid = (int64_t)(((__int128)from + to) / 2);
        bool got = false;
        ALM_TRY(ask_place(p, mid, &got));
        if (got == want)
            from = mid;
        else
            to = mid;
    }
    *last = from;
    return ALM_OK;
}

static bool open_probe(probe *p, alm_ctx *cx, const alm_expr *e, const alm_expr *col,
                       const alm_expr *value)
{
    *p = (probe){.constant = value->value,
                 .id = col->type.id,
                 .width = (uint8_t)alm_type_width(col->type),
                 .mirrored = e->args[1] == col};
    p->call = (alm_call){.cx = cx,
                         .fn = e->fn,
                         .data = e->data,
                         .arena = cx->arena,
                         .result = e->type,
                         .pos = e->pos,
                         .argc = 2};
    p->constant.is_const = true;
    const void *at = value->value.data;
    if (p->id == ALM_T_DOUBLE) {
        p->at = double_place(*(const double *)at);
        p->highest = double_place((double)INFINITY);
        p->lowest = -p->highest;
    } else if (p->id == ALM_T_FLOAT) {
        p->at = float_place(*(const float *)at);
        p->highest = float_place(INFINITY);
        p->lowest = -p->highest;
    } else {
        const uint32_t bits = 8U * p->width;
        p->highest = (int64_t)(UINT64_MAX >> (65 - bits));
        p->lowest = -p->highest - 1;
        if (alm_type_info_of(col->type)->null != ALM_NULL_NONE)
            p->lowest++; /* below it is null */
        p->at = p->width == 1   ? *(const int8_t *)at
                : p->width == 2 ? *(const int16_t *)at
                : p->width == 4 ? *(const int32_t *)at
                                : *(const int64_t *)at;
    }
    return p->at > p->lowest && p->at < p->highest; /* leaves out null and the extremes */
}

/* What the kernel says about null; false for types without null. */
static alm_status ask_null(probe *p, bool *answer)
{
    uint64_t value = 0;
    uint8_t byte = 0;
    if (p->id == ALM_T_DOUBLE)
        memcpy(&value, &(double){__builtin_nan("")}, sizeof(double));
    else if (p->id == ALM_T_FLOAT)
        memcpy(&value, &(float){__builtin_nanf("")}, sizeof(float));
    else
        value = (uint64_t)(p->lowest - 1);
    ALM_TRY(ask(p, &value, 1, &byte));
    *answer = byte != 0;
    return ALM_OK;
}

/* Where the answers change, looking both ways from the constant. */
static alm_status find_range(probe *p, char op, alm_range *out, bool *made)
{
    bool below = false, above = false, here = false, null = false;
    ALM_TRY(ask_place(p, p->lowest, &below));
    ALM_TRY(ask_place(p, p->highest, &above));
    ALM_TRY(ask_place(p, p->at, &here));
    const bool none = p->id == ALM_T_BYTE || p->id == ALM_T_SHORT;
    if (!none)
        ALM_TRY(ask_null(p, &null));
    int64_t lo = p->lowest, hi = p->highest;
    out->negate = op == '!';
    if (op == '=' || op == '!') {
        if (below != above || here == below || (!none && null != out->negate) ||
            below != out->negate)
            return ALM_OK;
        ALM_TRY(border(p, p->at, p->lowest, &lo));
        ALM_TRY(border(p, p->at, p->highest, &hi));
    } else if (op == '<' || op == 'l') {
        if (!below || above || null)
            return ALM_OK;
        ALM_TRY(border(p, p->lowest, p->highest, &hi));
    } else {
        if (below || !above || null)
            return ALM_OK;
        ALM_TRY(border(p, p->highest, p->lowest, &lo));
    }
    out->lo = lo;
    out->hi = hi;
    *made = true;
    return ALM_OK;
}

alm_status alm_range_make(alm_ctx *cx, const alm_expr *e, const alm_expr *col,
                          const alm_expr *value, char op, alm_range *out, bool *made)
{
    probe p;
    *made = false;
    if (!has_range(col->type.id) || !alm_type_eq(col->type, value->type) ||
        !open_probe(&p, cx, e, col, value))
        return ALM_OK;
    *out = (alm_range){.type_id = col->type.id, .floating = is_floating(col->type.id)};
    ALM_TRY(find_range(&p, op, out, made));
    if (*made && col->type.id == ALM_T_DOUBLE) {
        out->lo_f = place_double(out->lo);
        out->hi_f = place_double(out->hi);
    } else if (*made && col->type.id == ALM_T_FLOAT) {
        out->lo_f = (double)place_float(out->lo);
        out->hi_f = (double)place_float(out->hi);
    }
    return ALM_OK;
}

bool alm_range_intersect(alm_range *a, const alm_range *b)
{
    if (a->negate || b->negate || a->type_id != b->type_id)
        return false;
    a->lo = ALM_MAX(a->lo, b->lo);
    a->hi = ALM_MIN(a->hi, b->hi);
    a->lo_f = ALM_MAX(a->lo_f, b->lo_f);
    a->hi_f = ALM_MIN(a->hi_f, b->hi_f);
    return true;
}

/* ---------------------------------------------------------------------------------------- run */

#define DEFINE_RANGE(name, type)                                                                   \
    ALM_SIMD static void range_##name(const type *restrict v, uint32_t n, type lo, type hi,        \
                                      uint8_t negate, uint8_t *restrict keep)                      \
    {                                                                                              \
        for (uint32_t i = 0; i < n; i++)                                                           \
            keep[i] = (uint8_t)(((v[i] >= lo) & (v[i] <= hi)) ^ negate);                           \
    }
DEFINE_RANGE(8, int8_t)
DEFINE_RANGE(16, int16_t)
DEFINE_RANGE(32, int32_t)
DEFINE_RANGE(64, int64_t)
DEFINE_RANGE(float, float)
DEFINE_RANGE(double, double)

void alm_range_bytes(const alm_range *r, const alm_vec *v, uint32_t n, uint8_t *keep)
{
    const uint32_t m = v->is_const ? ALM_MIN(n, 1U) : n;
    const uint8_t negate = r->negate;
    if (!r->floating && r->lo > r->hi) /* an empty intersection; borders may not fit the type */
        memset(keep, negate, m);
    else if (r->type_id == ALM_T_DOUBLE)
        range_double(v->data, m, r->lo_f, r->hi_f, negate, keep);
    else if (r->type_id == ALM_T_FLOAT)
        range_float(v->data, m, (float)r->lo_f, (float)r->hi_f, negate, keep);
    else if (v->width == 1)
        range_8(v->data, m, (int8_t)r->lo, (int8_t)r->hi, negate, keep);
    else if (v->width == 2)
        range_16(v->data, m, (int16_t)r->lo, (int16_t)r->hi, negate, keep);
    else if (v->width == 4)
        range_32(v->data, m, (int32_t)r->lo, (int32_t)r->hi, negate, keep);
    else
        range_64(v->data, m, r->lo, r->hi, negate, keep);
    if (m < n)
        memset(keep, keep[0], n);
}

alm_block_answer alm_range_block(const alm_range *r, int64_t min_i, int64_t max_i, double min_f,
                                 double max_f, bool nulls)
{
    const bool out =
        r->floating ? (max_f < r->lo_f || min_f > r->hi_f) : (max_i < r->lo || min_i > r->hi);
    const bool in =
        r->floating ? (min_f >= r->lo_f && max_f <= r->hi_f) : (min_i >= r->lo && max_i <= r->hi);
    if (r->negate)
        return in && !nulls ? ALM_BLOCK_NONE : out ? ALM_BLOCK_ALL : ALM_BLOCK_SOME;
    return out ? ALM_BLOCK_NONE : in && !nulls ? ALM_BLOCK_ALL : ALM_BLOCK_SOME;
}
