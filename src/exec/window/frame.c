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

static uint32_t frame_back(uint32_t i, int64_t k)
{
    return k > i ? 0 : i - (uint32_t)k;
}

static uint32_t forth(uint32_t i, int64_t k, uint32_t n)
{
    return k > (int64_t)n - i ? n : i + (uint32_t)k;
}

/* ------------------------------------------------------------------------------------- ROWS */

static void rows_lo(const frame_part *frame, uint8_t kind, int64_t k)
{
    for (uint32_t i = 0; i < frame->n; i++)
        frame->lo[i] = kind == ALM_BOUND_UNBOUNDED_PRECEDING ? 0
                       : kind == ALM_BOUND_PRECEDING         ? frame_back(i, k)
                       : kind == ALM_BOUND_FOLLOWING         ? forth(i, k, frame->n)
                                                             : i;
}

static void rows_hi(const frame_part *frame, uint8_t kind, int64_t k)
{
    for (uint32_t i = 0; i < frame->n; i++)
        frame->hi[i] = kind == ALM_BOUND_UNBOUNDED_FOLLOWING ? frame->n
                       : kind == ALM_BOUND_PRECEDING         ? (k > i ? 0 : i + 1 - (uint32_t)k)
                       : kind == ALM_BOUND_FOLLOWING         ? forth(i + 1, k, frame->n)
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

static void range_borders(const frame_part *frame, const alm_window_call *call)
{
    for (uint32_t i = 0; i < frame->n; i++) {
        frame->lo[i] = call->lo_kind == ALM_BOUND_UNBOUNDED_PRECEDING ? 0 : frame->peer_lo[i];
        frame->hi[i] =
            call->hi_kind == ALM_BOUND_UNBOUNDED_FOLLOWING ? frame->n : frame->peer_hi[i];
    }
    const bool lo = call->lo_kind == ALM_BOUND_PRECEDING || call->lo_kind == ALM_BOUND_FOLLOWING;
    const bool hi = call->hi_kind == ALM_BOUND_PRECEDING || call->hi_kind == ALM_BOUND_FOLLOWING;
    if (lo && frame->real != NULL)
        real_lo(frame, call->lo_kind, call->lo_real);
    else if (lo)
        ticks_lo(frame, call->lo_kind, call->lo);
    if (hi && frame->real != NULL)
        real_hi(frame, call->hi_kind, call->hi_real);
    else if (hi)
        ticks_hi(frame, call->hi_kind, call->hi);
}

/* ----------------------------------------------------------------------------------- GROUPS */

/* By group, not by row: all rows of one group have the same frame. */
static void group_borders(const frame_part *frame, const alm_window_call *call)
{
    uint32_t *start = frame->group;
    int64_t groups = 0;
    for (uint32_t i = 0; i < frame->n; i = frame->peer_hi[i])
        start[groups++] = i;
    start[groups] = frame->n;
    for (int64_t g = 0; g < groups; g++) {
        uint32_t lo = start[g], hi = start[g + 1];
        if (call->lo_kind == ALM_BOUND_UNBOUNDED_PRECEDING || call->lo_kind == ALM_BOUND_PRECEDING)
            lo = call->lo_kind == ALM_BOUND_UNBOUNDED_PRECEDING || call->lo > g
                     ? 0
                     : start[g - call->lo];
        else if (call->lo_kind == ALM_BOUND_FOLLOWING)
            lo = call->lo > groups - g ? frame->n : start[g + call->lo];
        if (call->hi_kind == ALM_BOUND_UNBOUNDED_FOLLOWING || call->hi_kind == ALM_BOUND_FOLLOWING)
            hi = call->hi_kind == ALM_BOUND_UNBOUNDED_FOLLOWING || call->hi >= groups - g
                     ? frame->n
                     : start[g + call->hi + 1];
        else if (call->hi_kind == ALM_BOUND_PRECEDING)
            hi = call->hi > g ? 0 : start[g - call->hi + 1];
        for (uint32_t i = start[g]; i < start[g + 1]; i++) {
            frame->lo[i] = lo;
            frame->hi[i] = hi;
        }
    }
}

/* ------------------------------------------------------------------------------- all of them */

/* The order column as int64; for descending order with its sign turned. Nulls stay INT64_MIN. */
static void order_values(const alm_vec *vec, uint32_t n_rows, bool desc, int64_t *out)
{
    for (uint32_t i = 0; i < n_rows; i++) {
        int64_t value = INT64_MIN;
        switch (vec->type.id) {
        case ALM_T_BYTE:
            value = ((const int8_t *)vec->data)[i];
            break;
        case ALM_T_SHORT:
            value = ((const int16_t *)vec->data)[i];
            break;
        case ALM_T_INT:
            value = ((const int32_t *)vec->data)[i];
            value = value == ALM_INT_NULL ? INT64_MIN : value;
            break;
        default:
            value = ((const int64_t *)vec->data)[i];
        }
        out[i] = desc && value != INT64_MIN ? -value : value;
    }
}

static void order_reals(const alm_vec *vec, uint32_t n_rows, bool desc, double *out)
{
    for (uint32_t i = 0; i < n_rows; i++) {
        const double value = vec->type.id == ALM_T_FLOAT ? (double)((const float *)vec->data)[i]
                                                         : ((const double *)vec->data)[i];
        out[i] = desc ? -value : value;
    }
}

static bool no_value(const frame_part *frame, uint32_t i)
{
    return frame->real != NULL ? frame->real[i] != frame->real[i] : frame->value[i] == INT64_MIN;
}

static void find_values(frame_part *frame)
{
    frame->some_lo = 0;
    frame->some_hi = frame->n;
    while (frame->some_lo < frame->n && no_value(frame, frame->some_lo))
        frame->some_lo++;
    while (frame->some_hi > frame->some_lo && no_value(frame, frame->some_hi - 1))
        frame->some_hi--;
}

static void part_frames(frame_part *frame, const alm_window_call *call)
{
    if (call->frame == ALM_FRAME_GROUPS) {
        group_borders(frame, call);
    } else if (call->frame == ALM_FRAME_RANGE) {
        range_borders(frame, call);
    } else {
        rows_lo(frame, call->lo_kind, call->lo);
        rows_hi(frame, call->hi_kind, call->hi);
    }
    for (uint32_t i = 0; i < frame->n;
         i++) /* empty frames: 5 preceding to 3 preceding of the first row */
        frame->hi[i] = ALM_MAX(frame->hi[i], frame->lo[i]);
}

static bool has_offset(const alm_window_call *call)
{
    return call->lo_kind == ALM_BOUND_PRECEDING || call->lo_kind == ALM_BOUND_FOLLOWING ||
           call->hi_kind == ALM_BOUND_PRECEDING || call->hi_kind == ALM_BOUND_FOLLOWING;
}

alm_status alm_window_frames(alm_ctx *cx, const alm_window_slice *slice,
                             const alm_window_call *call, const alm_window_cols *cols, uint32_t *lo,
                             uint32_t *hi)
{
    const alm_window_order *order = slice->order;
    const uint32_t n = slice->to - slice->from;
    int64_t *value = NULL;
    double *real = NULL;
    uint32_t *group = NULL;
    if (call->frame == ALM_FRAME_RANGE && has_offset(call)) {
        alm_vec vec;
        ALM_ASSERT(call->n_order == 1);
        ALM_TRY(alm_window_column(cx, slice, cols->order[0], &vec));
        if (vec.type.id == ALM_T_DOUBLE || vec.type.id == ALM_T_FLOAT) {
            ALM_TRY(alm_arena_bytes(cx, slice->arena, ((size_t)n + 1) * sizeof *real, &real));
            order_reals(&vec, n, call->order[0].desc, real);
        } else {
            ALM_TRY(alm_arena_bytes(cx, slice->arena, ((size_t)n + 1) * sizeof *value, &value));
            order_values(&vec, n, call->order[0].desc, value);
        }
    }
    if (call->frame == ALM_FRAME_GROUPS)
        ALM_TRY(alm_arena_bytes(cx, slice->arena, ((size_t)n + 1) * sizeof *group, &group));
    for (uint32_t part = slice->lo; part < slice->hi; part++) {
        const uint32_t start = order->start[part], place = start - slice->from;
        frame_part frame = {.n = order->start[part + 1] - start,
                            .peer_lo = order->peer_lo != NULL ? order->peer_lo + start : NULL,
                            .peer_hi = order->peer_hi != NULL ? order->peer_hi + start : NULL,
                            .lo = lo + place,
                            .hi = hi + place,
                            .value = value != NULL ? value + place : NULL,
                            .real = real != NULL ? real + place : NULL,
                            .group = group};
        if (frame.n == 0)
            continue;
        ALM_TRY(alm_check(cx));
        if (value != NULL || real != NULL)
            find_values(&frame);
        part_frames(&frame, call);
    }
    return ALM_OK;
}
