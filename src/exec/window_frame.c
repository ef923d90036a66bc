/*
 * window_frame.c - frames of all positions: ROWS, RANGE, GROUPS. See window.h.
 *
 * Within a partition both borders never go back as positions go on, so that RANGE borders are found by
 * walking along.
 */
#include "exec/window.h"

/* Borders of one partition. */
typedef struct frame_part {
    uint32_t n;
    const uint32_t *peer_lo, *peer_hi;
    uint32_t *lo, *hi;
    const int64_t *value;      /* RANGE offsets: the order column, turned so that it rises */
    uint32_t some_lo, some_hi; /* positions whose value is not null */
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
        f->lo[i] = kind == 'U' ? 0 : kind == 'p' ? back(i, k) : kind == 'f' ? forth(i, k, f->n) : i;
}

static void rows_hi(const frame_part *f, uint8_t kind, int64_t k)
{
    for (uint32_t i = 0; i < f->n; i++)
        f->hi[i] = kind == 'V'   ? f->n
                   : kind == 'p' ? (k > i ? 0 : i + 1 - (uint32_t)k)
                   : kind == 'f' ? forth(i + 1, k, f->n)
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

static void range_lo(const frame_part *f, uint8_t kind, int64_t k)
{
    uint32_t at = f->some_lo;
    for (uint32_t i = 0; i < f->n; i++) {
        if (kind == 'U') {
            f->lo[i] = 0;
        } else if (kind == 'c' || i < f->some_lo || i >= f->some_hi) {
            f->lo[i] = f->peer_lo[i];
        } else {
            const int64_t least = add_clamped(f->value[i], kind == 'p' ? -k : k);
            while (at < f->some_hi && f->value[at] < least)
                at++;
            f->lo[i] = at;
        }
    }
}

static void range_hi(const frame_part *f, uint8_t kind, int64_t k)
{
    uint32_t at = f->some_lo;
    for (uint32_t i = 0; i < f->n; i++) {
        if (kind == 'V') {
            f->hi[i] = f->n;
        } else if (kind == 'c' || i < f->some_lo || i >= f->some_hi) {
            f->hi[i] = f->peer_hi[i];
        } else {
            const int64_t most = add_clamped(f->value[i], kind == 'p' ? -k : k);
            while (at < f->some_hi && f->value[at] <= most)
                at++;
            f->hi[i] = at;
        }
    }
}

/* ----------------------------------------------------------------------------------- GROUPS */

static uint32_t groups_back(const frame_part *f, uint32_t i, int64_t k)
{
    uint32_t at = f->peer_lo[i];
    for (; k > 0 && at > 0; k--)
        at = f->peer_lo[at - 1];
    return at;
}

static uint32_t groups_forth(const frame_part *f, uint32_t i, int64_t k)
{
    uint32_t end = f->peer_hi[i];
    for (; k > 0 && end < f->n; k--)
        end = f->peer_hi[end];
    return end;
}

/* By group, not by row: all rows of one group have the same frame. */
static void group_borders(const frame_part *f, const alm_window_call *call)
{
    for (uint32_t i = 0; i < f->n;) {
        const uint32_t end = f->peer_hi[i];
        uint32_t lo = f->peer_lo[i], hi = end;
        if (call->lo_kind == 'U')
            lo = 0;
        else if (call->lo_kind == 'p')
            lo = groups_back(f, i, call->lo);
        else if (call->lo_kind == 'f')
            lo = call->lo == 0                             ? i
                 : groups_forth(f, i, call->lo - 1) < f->n ? groups_forth(f, i, call->lo - 1)
                                                           : f->n;
        if (call->hi_kind == 'V')
            hi = f->n;
        else if (call->hi_kind == 'f')
            hi = groups_forth(f, i, call->hi);
        else if (call->hi_kind == 'p') {
            int64_t k = call->hi;
            uint32_t at = i;
            for (; k > 0 && at > 0; k--)
                at = f->peer_lo[at - 1];
            hi = k > 0 ? 0 : f->peer_hi[at];
        }
        for (; i < end; i++) {
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

static void find_values(frame_part *f)
{
    f->some_lo = 0;
    f->some_hi = f->n;
    while (f->some_lo < f->n && f->value[f->some_lo] == INT64_MIN)
        f->some_lo++;
    while (f->some_hi > f->some_lo && f->value[f->some_hi - 1] == INT64_MIN)
        f->some_hi--;
}

static void part_frames(frame_part *f, const alm_window_call *call)
{
    if (call->frame == 'u') {
        group_borders(f, call);
    } else if (call->frame == 'g') {
        range_lo(f, call->lo_kind, call->lo);
        range_hi(f, call->hi_kind, call->hi);
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
    return call->lo_kind == 'p' || call->lo_kind == 'f' || call->hi_kind == 'p' ||
           call->hi_kind == 'f';
}

alm_status alm_window_frames(alm_ctx *cx, alm_pool *pool, const alm_rows *rows, uint32_t n,
                             const alm_window_order *o, const alm_window_call *call,
                             const alm_window_cols *cols, uint32_t *lo, uint32_t *hi)
{
    int64_t *value = NULL;
    if (call->frame == 'g' && has_offset(call)) {
        alm_vec v;
        void *owned = NULL;
        ALM_ASSERT(call->n_order == 1);
        ALM_TRY(alm_window_column(cx, pool, rows, n, o, cols->order[0], &v, &owned));
        ALM_TRY(alm_pool_alloc(cx, pool, ((size_t)n + 1) * sizeof *value, &value));
        order_values(&v, n, call->order[0].desc, value);
        alm_pool_free(pool, owned);
    }
    for (uint32_t p = 0; p < o->n_parts; p++) {
        const uint32_t start = o->start[p];
        frame_part f = {.n = o->start[p + 1] - start,
                        .peer_lo = o->peer_lo + start,
                        .peer_hi = o->peer_hi + start,
                        .lo = lo + start,
                        .hi = hi + start};
        if (f.n == 0)
            continue;
        ALM_TRY(alm_check(cx));
        if (value != NULL) {
            f.value = value + start;
            find_values(&f);
        }
        part_frames(&f, call);
    }
    alm_pool_free(pool, value);
    return ALM_OK;
}
