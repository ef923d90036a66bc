/*
 * frame.c - frames of all positions: ROWS, RANGE, GROUPS. See window.h.
 *
 * Within a partition both borders never go back as positions go on, so that RANGE borders are found by
 * walking along.
 */
#include "exec/window/window.h"

/* Borders of one partition. */
typedef struct frame_part {
    uint32_t n;
    const uint32_t *peer_lo, *peer_hi;
    uint32_t *lo, *hi;
    const int64_t *value;      /* RANGE offsets: the order column, turned so that it rises */
    const double *real;        /* the same for floating columns */
    uint32_t some_lo, some_hi; /* positions whose value is not null */
    uint32_t *group;           /* GROUPS: room for n + 1 */
} frame_part;

static uint32_t back(uint32_t i, int64_t k)
{
    return k > i ? 0 : i - (uint32_t)k;
}

static uint32_t forth(uint32_t i, int64_t k, uint32_t n)
{
    return k > (int64_t)n - i ? n : i + (uint32_t)k;
}

/* ------------------------------------------------------------------------------------- ROWS */

static void rows_lo(const frame_part *f, uint8_t kind, int64_t k)
{
    for (uint32_t i = 0; i < f->n; i++)
        f->lo[i] = kind == ALM_BOUND_UNBOUNDED_PRECEDING ? 0
                   : kind == ALM_BOUND_PRECEDING         ? back(i, k)
                   : kind == ALM_BOUND_FOLLOWING         ? forth(i, k, f->n)
                                                         : i;
}

static void rows_hi(const frame_part *f, uint8_t kind, int64_t k)
{
    for (uint32_t i = 0; i < f->n; i++)
        f->hi[i] = kind == ALM_BOUND_UNBOUNDED_FOLLOWING ? f->n
                   : kind == ALM_BOUND_PRECEDING         ? (k > i ? 0 : i + 1 - (uint32_t)k)
                   : kind == ALM_BOUND_FOLLOWING         ? forth(i + 1, k, f->n)
                                                         : i + 1;
}

/* ------------------------------------------------------------------------------------ RANGE */

static int64_t add_clamped(int64_t a, int64_t b)
{
    int64_t out;
    if (!__builtin_add_overflow(a, b, &out))
        return out;
    return b < 0 ? INT64_MIN : INT64_MAX;
}

/* Frames of rows with a value begin (end) where the others' values are at least (above) it. The
 * others have their peers. */
#define DEFINE_RANGE(name, type, member, ADD)                                                      \
    static void name##_lo(const frame_part *f, uint8_t kind, type k)                               \
    {                                                                                              \
        uint32_t at = f->some_lo;                                                                  \
        for (uint32_t i = f->some_lo; i < f->some_hi; i++) {                                       \
            const type least = ADD(f->member[i], kind == ALM_BOUND_PRECEDING ? -k : k);            \
            while (at < f->some_hi && f->member[at] < least)                                       \
                at++;                                                                              \
            f->lo[i] = at;                                                                         \
        }                                                                                          \
    }                                                                                              \
    static void name##_hi(const frame_part *f, uint8_t kind, type k)                               \
    {                                                                                              \
        uint32_t at = f->some_lo;                                                                  \
        for (uint32_t i = f->some_lo; i < f->some_hi; i++) {                                       \
            const type most = ADD(f->member[i], kind == ALM_BOUND_PRECEDING ? -k : k);             \
            while (at < f->some_hi && f->member[at] <= most)                                       \
                at++;                                                                              \
            f->hi[i] = at;                                                                         \
        }                                                                                          \
    }
#define ADD_REAL(a, b) ((a) + (b))
DEFINE_RANGE(ticks, int64_t, value, add_clamped)
DEFINE_RANGE(real, double, real, ADD_REAL)

static void range_borders(const frame_part *f, const alm_window_call *call)
{
    for (uint32_t i = 0; i < f->n; i++) {
        f->lo[i] = call->lo_kind == ALM_BOUND_UNBOUNDED_PRECEDING ? 0 : f->peer_lo[i];
        f->hi[i] = call->hi_kind == ALM_BOUND_UNBOUNDED_FOLLOWING ? f->n : f->peer_hi[i];
    }
    const bool lo = call->lo_kind == ALM_BOUND_PRECEDING || call->lo_kind == ALM_BOUND_FOLLOWING;
    const bool hi = call->hi_kind == ALM_BOUND_PRECEDING || call->hi_kind == ALM_BOUND_FOLLOWING;
    if (lo && f->real != NULL)
        real_lo(f, call->lo_kind, call->lo_real);
    else if (lo)
        ticks_lo(f, call->lo_kind, call->lo);
    if (hi && f->real != NULL)
        real_hi(f, call->hi_kind, call->hi_real);
    else if (hi)
        ticks_hi(f, call->hi_kind, call->hi);
}

/* ----------------------------------------------------------------------------------- GROUPS */

/* By group, not by row: all rows of one group have the same frame. */
static void group_borders(const frame_part *f, const alm_window_call *call)
{
    uint32_t *start = f->group;
    int64_t groups = 0;
    for (uint32_t i = 0; i < f->n; i = f->peer_hi[i])
        start[groups++] = i;
    start[groups] = f->n;
    for (int64_t g = 0; g < groups; g++) {
        uint32_t lo = start[g], hi = start[g + 1];
        if (call->lo_kind == ALM_BOUND_UNBOUNDED_PRECEDING || call->lo_kind == ALM_BOUND_PRECEDING)
            lo = call->lo_kind == ALM_BOUND_UNBOUNDED_PRECEDING || call->lo > g
                     ? 0
                     : start[g - call->lo];
        else if (call->lo_kind == ALM_BOUND_FOLLOWING)
            lo = call->lo > groups - g ? f->n : start[g + call->lo];
        if (call->hi_kind == ALM_BOUND_UNBOUNDED_FOLLOWING || call->hi_kind == ALM_BOUND_FOLLOWING)
            hi = call->hi_kind == ALM_BOUND_UNBOUNDED_FOLLOWING || call->hi >= groups - g
                     ? f->n
                     : start[g + call->hi + 1];
        else if (call->hi_kind == ALM_BOUND_PRECEDING)
            hi = call->hi > g ? 0 : start[g - call->hi + 1];
        for (uint32_t i = start[g]; i < start[g + 1]; i++) {
            f->lo[i] = lo;
            f->hi[i] = hi;
        }
    }
}

/* ------------------------------------------------------------------------------- all of them */

/* The order column as int64; for descending order with its sign turned. Nulls stay INT64_MIN. */
static void order_values(const alm_vec *v, uint32_t n, bool desc, int64_t *out)
{
    for (uint32_t i = 0; i < n; i++) {
        int64_t x = INT64_MIN;
        switch (v->type.id) {
        case ALM_T_BYTE:
            x = ((const int8_t *)v->data)[i];
            break;
        case ALM_T_SHORT:
            x = ((const int16_t *)v->data)[i];
            break;
        case ALM_T_INT:
            x = ((const int32_t *)v->data)[i];
            x = x == ALM_INT_NULL ? INT64_MIN : x;
            break;
        default:
            x = ((const int64_t *)v->data)[i];
        }
        out[i] = desc && x != INT64_MIN ? -x : x;
    }
}

static void order_reals(const alm_vec *v, uint32_t n, bool desc, double *out)
{
    for (uint32_t i = 0; i < n; i++) {
        const double x = v->type.id == ALM_T_FLOAT ? (double)((const float *)v->data)[i]
                                                   : ((const double *)v->data)[i];
        out[i] = desc ? -x : x;
    }
}

static bool no_value(const frame_part *f, uint32_t i)
{
    return f->real != NULL ? f->real[i] != f->real[i] : f->value[i] == INT64_MIN;
}

static void find_values(frame_part *f)
{
    f->some_lo = 0;
    f->some_hi = f->n;
    while (f->some_lo < f->n && no_value(f, f->some_lo))
        f->some_lo++;
    while (f->some_hi > f->some_lo && no_value(f, f->some_hi - 1))
        f->some_hi--;
}

static void part_frames(frame_part *f, const alm_window_call *call)
{
    if (call->frame == ALM_FRAME_GROUPS) {
        group_borders(f, call);
    } else if (call->frame == ALM_FRAME_RANGE) {
        range_borders(f, call);
    } else {
        rows_lo(f, call->lo_kind, call->lo);
        rows_hi(f, call->hi_kind, call->hi);
    }
    for (uint32_t i = 0; i < f->n;
         i++) /* empty frames: 5 preceding to 3 preceding of the first row */
        f->hi[i] = ALM_MAX(f->hi[i], f->lo[i]);
}

static bool has_offset(const alm_window_call *call)
{
    return call->lo_kind == ALM_BOUND_PRECEDING || call->lo_kind == ALM_BOUND_FOLLOWING ||
           call->hi_kind == ALM_BOUND_PRECEDING || call->hi_kind == ALM_BOUND_FOLLOWING;
}

alm_status alm_window_frames(alm_ctx *cx, const alm_window_slice *s, const alm_window_call *call,
                             const alm_window_cols *cols, uint32_t *lo, uint32_t *hi)
{
    const alm_window_order *o = s->order;
    const uint32_t n = s->to - s->from;
    int64_t *value = NULL;
    double *real = NULL;
    uint32_t *group = NULL;
    if (call->frame == ALM_FRAME_RANGE && has_offset(call)) {
        alm_vec v;
        ALM_ASSERT(call->n_order == 1);
        ALM_TRY(alm_window_column(cx, s, cols->order[0], &v));
        if (v.type.id == ALM_T_DOUBLE || v.type.id == ALM_T_FLOAT) {
            ALM_TRY(alm_arena_bytes(cx, s->arena, ((size_t)n + 1) * sizeof *real, &real));
            order_reals(&v, n, call->order[0].desc, real);
        } else {
            ALM_TRY(alm_arena_bytes(cx, s->arena, ((size_t)n + 1) * sizeof *value, &value));
            order_values(&v, n, call->order[0].desc, value);
        }
    }
    if (call->frame == ALM_FRAME_GROUPS)
        ALM_TRY(alm_arena_bytes(cx, s->arena, ((size_t)n + 1) * sizeof *group, &group));
    for (uint32_t p = s->lo; p < s->hi; p++) {
        const uint32_t start = o->start[p], at = start - s->from;
        frame_part f = {.n = o->start[p + 1] - start,
                        .peer_lo = o->peer_lo != NULL ? o->peer_lo + start : NULL,
                        .peer_hi = o->peer_hi != NULL ? o->peer_hi + start : NULL,
                        .lo = lo + at,
                        .hi = hi + at,
                        .value = value != NULL ? value + at : NULL,
                        .real = real != NULL ? real + at : NULL,
                        .group = group};
        if (f.n == 0)
            continue;
        ALM_TRY(alm_check(cx));
        if (value != NULL || real != NULL)
            find_values(&f);
        part_frames(&f, call);
    }
    return ALM_OK;
}
