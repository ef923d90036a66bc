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

static bool eval_range_is_floating(uint8_t id)
{
    return id == ALM_T_DOUBLE || id == ALM_T_FLOAT;
}

static bool eval_has_range(uint8_t id)
{
    return eval_range_is_floating(id) || id == ALM_T_BYTE || id == ALM_T_SHORT || id == ALM_T_INT ||
           id == ALM_T_LONG || id == ALM_T_DATE || id == ALM_T_TIMESTAMP ||
           id == ALM_T_TIMESTAMP_NS;
}

/* ----------------------------------------------------------------- the line of ordered values */

static int64_t double_place(double value)
{
    int64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return bits >= 0 ? bits : INT64_MIN - bits; /* -0.0 and 0.0 share the place 0 */
}

static double place_double(int64_t place)
{
    const int64_t bits = place >= 0 ? place : INT64_MIN - place;
    double value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static int64_t float_place(float value)
{
    int32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return bits >= 0 ? bits : (int64_t)INT32_MIN - bits;
}

static float place_float(int64_t place)
{
    const int32_t bits = (int32_t)(place >= 0 ? place : (int64_t)INT32_MIN - place);
    float value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
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

static void store_place(const probe *self, int64_t place, void *dest)
{
    if (self->id == ALM_T_DOUBLE)
        memcpy(dest, &(double){place_double(place)}, sizeof(double));
    else if (self->id == ALM_T_FLOAT)
        memcpy(dest, &(float){place_float(place)}, sizeof(float));
    else
        memcpy(dest, &place, self->width); /* little-endian: the low bytes */
}

/* The kernel's answers for n stored values. */
static alm_status eval_range_ask(probe *self, void *values, uint32_t n, uint8_t *answer)
{
    const alm_vec dense = {.type = self->constant.type, .width = self->width, .data = values};
    const alm_vec args[2] = {self->mirrored ? self->constant : dense,
                             self->mirrored ? dense : self->constant};
    alm_vec out = {.type = ALM_TY(BOOLEAN), .width = 1, .data = answer};
    return self->call.fn->kernel(&self->call, n, args, &out);
}

static alm_status ask_place(probe *self, int64_t place, bool *answer)
{
    uint64_t value = 0;
    uint8_t byte = 0;
    store_place(self, place, &value);
    ALM_TRY(eval_range_ask(self, &value, 1, &byte));
    *answer = byte != 0;
    return ALM_OK;
}

/* The last place in [from, to] (or [to, from] downward) whose answer is that of `from`. */
static alm_status eval_range_border(probe *self, int64_t from, int64_t to, int64_t *last)
{
    bool want = false;
    const int64_t step = to > from ? 1 : -1;
    ALM_TRY(ask_place(self, from, &want));
    for (int64_t by = -1; by <= 1; by++) { /* an exact comparison: right here */
        int64_t near = 0;
        bool here = false, past = false;
        if (__builtin_add_overflow(self->at, by, &near) || near <= self->lowest ||
            near >= self->highest)
            continue;
        ALM_TRY(ask_place(self, near, &here));
        ALM_TRY(ask_place(self, near + step, &past));
        if (here == want && past != want) {
            *last = near;
            return ALM_OK;
        }
    }
    while (from != to && from + step != to) {
        const int64_t mid = (int64_t)(((__int128)from + to) / 2);
        bool got = false;
        ALM_TRY(ask_place(self, mid, &got));
        if (got == want)
            from = mid;
        else
            to = mid;
    }
    *last = from;
    return ALM_OK;
}

static bool open_probe(probe *self, alm_ctx *cx, const alm_expr *expr, const alm_expr *col,
                       const alm_expr *value)
{
    *self = (probe){.constant = value->value,
                    .id = col->type.id,
                    .width = (uint8_t)alm_type_width(col->type),
                    .mirrored = expr->args[1] == col};
    self->call = (alm_call){.cx = cx,
                            .fn = expr->fn,
                            .data = expr->data,
                            .arena = cx->arena,
                            .result = expr->type,
                            .pos = expr->pos,
                            .argc = 2};
    self->constant.is_const = true;
    const void *ptr = value->value.data;
    if (self->id == ALM_T_DOUBLE) {
        self->at = double_place(*(const double *)ptr);
        self->highest = double_place((double)INFINITY);
        self->lowest = -self->highest;
    } else if (self->id == ALM_T_FLOAT) {
        self->at = float_place(*(const float *)ptr);
        self->highest = float_place(INFINITY);
        self->lowest = -self->highest;
    } else {
        const uint32_t bits = 8U * self->width;
        self->highest = (int64_t)(UINT64_MAX >> (65 - bits));
        self->lowest = -self->highest - 1;
        if (alm_type_info_of(col->type)->null != ALM_NULL_NONE)
            self->lowest++; /* below it is null */
        self->at = self->width == 1   ? *(const int8_t *)ptr
                   : self->width == 2 ? *(const int16_t *)ptr
                   : self->width == 4 ? *(const int32_t *)ptr
                                      : *(const int64_t *)ptr;
    }
    return self->at > self->lowest &&
           self->at < self->highest; /* leaves out null and the extremes */
}

/* What the kernel says about null; false for types without null. */
static alm_status ask_null(probe *self, bool *answer)
{
    uint64_t value = 0;
    uint8_t byte = 0;
    if (self->id == ALM_T_DOUBLE)
        memcpy(&value, &(double){__builtin_nan("")}, sizeof(double));
    else if (self->id == ALM_T_FLOAT)
        memcpy(&value, &(float){__builtin_nanf("")}, sizeof(float));
    else
        value = (uint64_t)(self->lowest - 1);
    ALM_TRY(eval_range_ask(self, &value, 1, &byte));
    *answer = byte != 0;
    return ALM_OK;
}

/* Where the answers change, looking both ways from the constant. */
static alm_status eval_find_range(probe *self, char op, alm_range *out, bool *made)
{
    bool below = false, above = false, here = false, null = false;
    ALM_TRY(ask_place(self, self->lowest, &below));
    ALM_TRY(ask_place(self, self->highest, &above));
    ALM_TRY(ask_place(self, self->at, &here));
    const bool none = self->id == ALM_T_BYTE || self->id == ALM_T_SHORT;
    if (!none)
        ALM_TRY(ask_null(self, &null));
    int64_t lo = self->lowest, hi = self->highest;
    out->negate = op == '!';
    if (op == '=' || op == '!') {
        if (below != above || here == below || (!none && null != out->negate) ||
            below != out->negate)
            return ALM_OK;
        ALM_TRY(eval_range_border(self, self->at, self->lowest, &lo));
        ALM_TRY(eval_range_border(self, self->at, self->highest, &hi));
    } else if (op == '<' || op == 'l') {
        if (!below || above || null)
            return ALM_OK;
        ALM_TRY(eval_range_border(self, self->lowest, self->highest, &hi));
    } else {
        if (below || !above || null)
            return ALM_OK;
        ALM_TRY(eval_range_border(self, self->highest, self->lowest, &lo));
    }
    out->lo = lo;
    out->hi = hi;
    *made = true;
    return ALM_OK;
}

alm_status alm_range_make(alm_ctx *cx, const alm_expr *expr, const alm_expr *col,
                          const alm_expr *value, char op, alm_range *out, bool *made)
{
    probe self;
    *made = false;
    if (!eval_has_range(col->type.id) || !alm_type_eq(col->type, value->type) ||
        !open_probe(&self, cx, expr, col, value))
        return ALM_OK;
    *out = (alm_range){.type_id = col->type.id, .floating = eval_range_is_floating(col->type.id)};
    ALM_TRY(eval_find_range(&self, op, out, made));
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

void alm_range_bytes(const alm_range *range, const alm_vec *vec, uint32_t n_rows, uint8_t *keep)
{
    const uint32_t m = vec->is_const ? ALM_MIN(n_rows, 1U) : n_rows;
    const uint8_t negate = range->negate;
    if (!range->floating &&
        range->lo > range->hi) /* an empty intersection; borders may not fit the type */
        memset(keep, negate, m);
    else if (range->type_id == ALM_T_DOUBLE)
        range_double(vec->data, m, range->lo_f, range->hi_f, negate, keep);
    else if (range->type_id == ALM_T_FLOAT)
        range_float(vec->data, m, (float)range->lo_f, (float)range->hi_f, negate, keep);
    else if (vec->width == 1)
        range_8(vec->data, m, (int8_t)range->lo, (int8_t)range->hi, negate, keep);
    else if (vec->width == 2)
        range_16(vec->data, m, (int16_t)range->lo, (int16_t)range->hi, negate, keep);
    else if (vec->width == 4)
        range_32(vec->data, m, (int32_t)range->lo, (int32_t)range->hi, negate, keep);
    else
        range_64(vec->data, m, range->lo, range->hi, negate, keep);
    if (m < n_rows)
        memset(keep, keep[0], n_rows);
}

alm_block_answer alm_range_block(const alm_range *range, int64_t min_i, int64_t max_i, double min_f,
                                 double max_f, bool nulls)
{
    const bool out = range->floating ? (max_f < range->lo_f || min_f > range->hi_f)
                                     : (max_i < range->lo || min_i > range->hi);
    const bool in = range->floating ? (min_f >= range->lo_f && max_f <= range->hi_f)
                                    : (min_i >= range->lo && max_i <= range->hi);
    if (range->negate)
        return in && !nulls ? ALM_BLOCK_NONE : out ? ALM_BLOCK_ALL : ALM_BLOCK_SOME;
    return out ? ALM_BLOCK_NONE : in && !nulls ? ALM_BLOCK_ALL : ALM_BLOCK_SOME;
}
