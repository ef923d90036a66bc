/*
 * op_window_join.c - WINDOW JOIN: for each left row, aggregates over the right rows of its key in a
 * range of time around it.
 *
 * Right side  Read whole and kept in memory, grouped by key, each group in time order (SPAN k: rows
 *             [start[k], start[k + 1])), once for all threads: the operator streams over the left
 *             input, so that morsels of it run in parallel. Two pointers per key only move forward
 *             within a morsel, because left rows come in time order.
 * Work        Ranges of a left batch become pairs (left row, right row), a batch of pairs at a time,
 *             which the aggregates take with one scatter; a long range is not copied: its rows are a
 *             slice of the store beside the left row as constants.
 * Null rule   Null keys are equal. An empty range gives what the aggregates give for no rows.
 * Memory      The right columns that are read, charged to the query.
 */
#include <stdlib.h>

#include "exec/data/rows.h"
#include "exec/group/aggs.h"
#include "exec/join/asof.h"
#include "exec/join/number.h"
#include "exec/run/op_make.h"

enum { LONG_RANGE = 512 };

static const char *const WHO = "window join";

/* The right side, once for all copies of the operator. */
typedef struct winjoin_right {
    alm_arena arena; /* own, so that it may outlive the thread context that made it */
    alm_pool pool;
    int64_t left_unit,
        right_unit; /* factors to a common unit, which holds fewer years than they do */
    alm_rows store; /* by span, in time order within one */
    alm_keymap *map;
    uint32_t n_spans;
    uint32_t *start;   /* n_spans + 1 */
    const int64_t *ts; /* of the store */
} winjoin_right;

typedef struct op_winjoin {
    alm_op op;
    alm_pool pool;
    const winjoin_right *r; /* NULL: not asked for yet */
    int64_t lo, hi;         /* in the unit of the left side */
    alm_join_probe probe;
    uint32_t *from, *to; /* per span: first row not before the range, first row behind it */
    /* aggregates */
    alm_aggs *aggs;
    alm_arena lasting; /* what states point to; a left batch long */
    alm_states states;
    bool *used;    /* columns of left ++ right that aggregates read */
    alm_vec *cols; /* the same columns of one batch of pairs */
    uint32_t n_left, n_right;
    alm_arena pair_arena;
    uint32_t *li, *ri; /* pairs */
    uint32_t n_pairs;
    uint32_t *left_number;
} op_winjoin;

/* ----------------------------------------------------------------------------- right side */

static alm_status number_rows(alm_ctx *cx, winjoin_right *r, const alm_plan *plan, uint32_t *number)
{
    const uint32_t n_keys = plan->winjoin.n_keys;
    const alm_expr *const *keys = (const alm_expr *const *)plan->winjoin.right_keys;
    alm_type *types = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_keys, &types));
    for (uint32_t k = 0; k < n_keys; k++) {
        types[k] = keys[k]->type;
        if (plan->winjoin.left_keys[k]->type.id != types[k].id)
            types[k] = ALM_TY(VARCHAR); /* kinds of text may mix */
    }
    ALM_TRY(alm_rows_number(cx, &r->store, keys, types, n_keys, number, &r->map));
    r->n_spans = alm_keymap_count(r->map);
    return ALM_OK;
}

/* Rows by key, in time order within one: a counting sort of the row numbers. */
static alm_status group_rows(alm_ctx *cx, winjoin_right *r, const uint32_t *number)
{
    const uint32_t n = r->store.n;
    uint32_t *pick = NULL, *next = NULL;
    const size_t bytes = ((size_t)r->n_spans + 1) * sizeof *r->start;
    ALM_TRY(alm_pool_zero(cx, &r->pool, bytes, &r->start));
    for (uint32_t i = 0; i < n; i++)
        r->start[number[i] + 1]++;
    for (uint32_t k = 0; k < r->n_spans; k++)
        r->start[k + 1] += r->start[k];
    if (r->n_spans <= 1)
        return ALM_OK;
    ALM_TRY(alm_check(cx));
    ALM_TRY(alm_pool_alloc(cx, &r->pool, ((size_t)n + 1) * sizeof *pick, &pick));
    ALM_TRY(alm_pool_alloc(cx, &r->pool, bytes, &next));
    memcpy(next, r->start, bytes);
    for (uint32_t i = 0; i < n; i++)
        pick[next[number[i]]++] = i;
    ALM_TRY(alm_check(cx));
    ALM_TRY(alm_rows_keep(cx, &r->store, pick, n));
    alm_pool_free(&r->pool, pick);
    alm_pool_free(&r->pool, next);
    return ALM_OK;
}

static alm_status load(alm_ctx *cx, alm_run *run, const alm_plan *plan, winjoin_right *r)
{
    const alm_plan *left = plan->child[0], *right = plan->child[1];
    const bool left_ns = left->cols[plan->winjoin.left_ts].type.id == ALM_T_TIMESTAMP_NS;
    const bool right_ns = right->cols[plan->winjoin.right_ts].type.id == ALM_T_TIMESTAMP_NS;
    uint32_t *number = NULL;
    r->left_unit = left_ns || !right_ns ? 1 : 1000;
    r->right_unit = right_ns || !left_ns ? 1 : 1000;
    ALM_TRY(alm_rows_init(cx, &r->store, &r->pool, right->cols, right->n_cols));
    ALM_TRY(alm_join_read_rows(cx, run, right, plan, &r->store));
    const size_t bytes = ((size_t)r->store.n + 1) * sizeof *number;
    r->n_spans = 1;
    ALM_TRY(alm_pool_zero(cx, &r->pool, bytes, &number));
    if (plan->winjoin.n_keys > 0)
        ALM_TRY(number_rows(cx, r, plan, number));
    ALM_TRY(group_rows(cx, r, number));
    alm_pool_free(&r->pool, number);
    r->ts = (const int64_t *)(void *)r->store.col[plan->winjoin.right_ts].data;
    alm_op_count_bytes(run, plan, r->pool.bytes);
    return ALM_OK;
}

void alm_op_window_join_unprepare(void *shared)
{
    winjoin_right *r = shared;
    alm_pool_deinit(&r->pool);
    alm_arena_deinit(&r->arena);
    free(r);
}

alm_status alm_op_window_join_prepare(alm_ctx *cx, alm_run *run, const alm_plan *plan,
                                      void **shared)
{
    winjoin_right *r = calloc(1, sizeof *r);
    if (r == NULL)
        return alm_fail(cx, ALM_E_MEMORY, plan->pos, "out of memory: window join");
    alm_arena_init(&r->arena, cx->mem);
    alm_pool_init(&r->pool, cx->mem, WHO);
    alm_arena *outer = cx->arena;
    cx->arena = &r->arena;
    const alm_status st = load(cx, run, plan, r);
    cx->arena = outer;
    if (st != ALM_OK) {
        alm_op_window_join_unprepare(r);
        return st;
    }
    *shared = r;
    return ALM_OK;
}

/* ---------------------------------------------------------------------------------- ranges */

/* A bound of right times. */
typedef struct border {
    int64_t at;
    bool behind; /* it lies behind all of them */
} border;

/* t + by of the left side in the unit of the right one, rounded inwards. */
static border border_at(const winjoin_right *r, int64_t t, int64_t by, bool lower)
{
    if (by <= -INT64_MAX || by == INT64_MAX)
        return (border){by < 0 ? INT64_MIN : by, false};
    int64_t out;
    if (r->left_unit == r->right_unit && !__builtin_add_overflow(t, by, &out))
        return (border){out, false};
    const __int128 sum = ((__int128)t + by) * r->left_unit;
    const __int128 rest = (sum % r->right_unit + r->right_unit) % r->right_unit;
    const __int128 at = (sum - rest) / r->right_unit + (lower && rest > 0);
    if (at > INT64_MAX)
        return (border){INT64_MAX, true};
    return (border){at < INT64_MIN ? INT64_MIN : (int64_t)at, false};
}

/* First row in [lo, hi) of the store at or after a time. */
static uint32_t first_from(const int64_t *ts, uint32_t lo, uint32_t hi, int64_t t)
{
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (ts[mid] < t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The same as range_of where the bounds are the left row's own. */
static void own_range(const op_winjoin *w, uint32_t span, int64_t t, int64_t lo_by, int64_t hi_by,
                      uint32_t *a, uint32_t *b)
{
    const uint32_t start = w->r->start[span], end = w->r->start[span + 1];
    *a = *b = start;
    if (lo_by == ALM_LONG_NULL || hi_by == ALM_LONG_NULL)
        return;
    const border lo = border_at(w->r, t, lo_by, true), hi = border_at(w->r, t, hi_by, false);
    const uint32_t from = lo.behind ? end : first_from(w->r->ts, start, end, lo.at);
    *a = from;
    *b = hi.at == INT64_MAX ? end : first_from(w->r->ts, from, end, hi.at + 1);
    if (w->op.plan->winjoin.prevailing && from > start && (from == end || w->r->ts[from] > lo.at))
        *a = from - 1;
}

/* A bound of the left row; constant ones for all rows. */
static alm_status bounds_of(alm_ctx *cx, op_winjoin *w, alm_batch *left, int32_t col,
                            int64_t constant, alm_vec *out)
{
    alm_vec *v = NULL;
    int64_t *value = NULL;
    if (col >= 0) {
        ALM_TRY(alm_batch_column(cx, &w->op.batch, left, (uint32_t)col, &v));
        *out = *v;
        return ALM_OK;
    }
    ALM_TRY(alm_arena_bytes(cx, &w->op.batch, sizeof *value, &value));
    *value = constant == INT64_MIN ? -INT64_MAX : constant; /* null would be no rows */
    *out = (alm_vec){.type = ALM_TY(LONG), .width = 8, .is_const = true, .data = value};
    return ALM_OK;
}

/* The same from a row that is near by. */
static uint32_t advance(const int64_t *ts, uint32_t at, uint32_t end, int64_t t)
{
    uint32_t lo = at, hi = at;
    for (uint32_t step = 2; hi < end && ts[hi] < t; step *= 2) {
        lo = hi + 1;
        hi = end - hi > step ? hi + step : end;
    }
    return first_from(ts, lo, hi, t);
}

/* Right rows [*a, *b) of a left row at time t. */
static void range_of(op_winjoin *w, uint32_t span, int64_t t, uint32_t *a, uint32_t *b)
{
    const int64_t *ts = w->r->ts;
    const uint32_t end = w->r->start[span + 1];
    const border lo = border_at(w->r, t, w->lo, true), hi = border_at(w->r, t, w->hi, false);
    const uint32_t from = lo.behind ? end : advance(ts, w->from[span], end, lo.at);
    const uint32_t to = hi.at == INT64_MAX ? end : advance(ts, w->to[span], end, hi.at + 1);
    w->from[span] = from;
    w->to[span] = to;
    *a = from;
    if (w->op.plan->winjoin.prevailing && from > w->r->start[span] &&
        (from == end || ts[from] > lo.at))
        *a = from - 1;
    *b = ALM_MAX(to, from);
}

/* ----------------------------------------------------------------------------------- pairs */

static alm_status pair_batch(alm_ctx *cx, op_winjoin *w, alm_batch *left, alm_batch *out)
{
    for (uint32_t c = 0; c < w->n_left; c++) {
        alm_vec *dense = NULL;
        if (!w->used[c])
            continue;
        ALM_TRY(alm_batch_column(cx, &w->op.batch, left, c, &dense));
        ALM_TRY(alm_vec_gather(cx, &w->pair_arena, dense, w->li, w->n_pairs, &w->cols[c]));
    }
    for (uint32_t c = 0; c < w->n_right; c++) {
        alm_vec all = {0};
        if (!w->used[w->n_left + c])
            continue;
        alm_rows_slice(&w->r->store, c, 0, &all);
        ALM_TRY(
            alm_vec_gather(cx, &w->pair_arena, &all, w->ri, w->n_pairs, &w->cols[w->n_left + c]));
    }
    *out = (alm_batch){.n_cols = w->n_left + w->n_right, .cols = w->cols, .rows = w->n_pairs};
    return ALM_OK;
}

static alm_status flush(alm_ctx *cx, op_winjoin *w, alm_batch *left)
{
    alm_batch pairs;
    if (w->n_pairs == 0)
        return ALM_OK;
    ALM_TRY(alm_check(cx));
    alm_arena_reset(&w->pair_arena);
    ALM_TRY(pair_batch(cx, w, left, &pairs));
    ALM_TRY(alm_aggs_eval(cx, w->aggs, &w->pair_arena, &pairs));
    ALM_TRY(alm_aggs_scatter(cx, w->aggs, &w->states, w->li, 0, w->n_pairs));
    w->n_pairs = 0;
    return ALM_OK;
}

/* Rows [a, a + n) of the store with left row i. */
static alm_status take_slice(alm_ctx *cx, op_winjoin *w, alm_batch *left, uint32_t i, uint32_t a,
                             uint32_t n)
{
    alm_batch rows = {.n_cols = w->n_left + w->n_right, .cols = w->cols, .rows = n};
    ALM_TRY(alm_check(cx));
    alm_arena_reset(&w->pair_arena);
    for (uint32_t c = 0; c < w->n_left; c++) {
        alm_vec *dense = NULL;
        if (!w->used[c])
            continue;
        ALM_TRY(alm_batch_column(cx, &w->op.batch, left, c, &dense));
        w->cols[c] = *dense;
        if (!dense->is_const)
            w->cols[c].data = (char *)dense->data + (size_t)i * dense->width;
        w->cols[c].is_const = true;
    }
    for (uint32_t c = 0; c < w->n_right; c++)
        if (w->used[w->n_left + c])
            alm_rows_slice(&w->r->store, c, a, &w->cols[w->n_left + c]);
    ALM_TRY(alm_aggs_eval(cx, w->aggs, &w->pair_arena, &rows));
    return alm_aggs_update(cx, w->aggs, &w->states, i, 0, n);
}

static alm_status take_range(alm_ctx *cx, op_winjoin *w, alm_batch *left, uint32_t i, uint32_t a,
                             uint32_t b)
{
    if (b - a >= LONG_RANGE) {
        for (; a < b; a += ALM_MIN(b - a, (uint32_t)ALM_BATCH_ROWS))
            ALM_TRY(take_slice(cx, w, left, i, a, ALM_MIN(b - a, (uint32_t)ALM_BATCH_ROWS)));
        return ALM_OK;
    }
    if (w->n_pairs + (b - a) > ALM_BATCH_ROWS)
        ALM_TRY(flush(cx, w, left));
    for (; a < b; a++) {
        w->li[w->n_pairs] = i;
        w->ri[w->n_pairs++] = a;
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------------------- operator */

static alm_status left_spans(alm_ctx *cx, op_winjoin *w, alm_batch *left)
{
    if (w->probe.n_keys > 0)
        return alm_join_probe_map(cx, &w->probe, w->r->map, &w->op.batch, left, w->left_number);
    memset(w->left_number, 0, left->rows * sizeof *w->left_number);
    return ALM_OK;
}

static alm_status get_ready(alm_ctx *cx, op_winjoin *w)
{
    const winjoin_right *r = NULL;
    if (w->r != NULL)
        return ALM_OK;
    ALM_TRY(alm_op_shared(cx, w->op.run, w->op.plan, &r));
    const size_t bytes = ((size_t)r->n_spans + 1) * sizeof *w->from;
    ALM_TRY(alm_pool_alloc(cx, &w->pool, bytes, &w->from));
    ALM_TRY(alm_pool_alloc(cx, &w->pool, bytes, &w->to));
    memcpy(w->from, r->start, bytes);
    memcpy(w->to, r->start, bytes);
    w->lo = w->op.plan->winjoin.lo;
    w->hi = w->op.plan->winjoin.hi;
    w->r = r;
    return ALM_OK;
}

static alm_status winjoin_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_winjoin *w = (op_winjoin *)op;
    alm_batch *left = NULL;
    alm_vec *ts = NULL;
    *out = NULL;
    ALM_TRY(get_ready(cx, w));
    alm_arena_reset(&op->batch);
    alm_arena_reset(&w->lasting);
    ALM_TRY(alm_op_next(cx, op->child[0], &left));
    if (left == NULL)
        return ALM_OK;
    const uint32_t n = left->rows;
    ALM_TRY(alm_batch_column(cx, &op->batch, left, op->plan->winjoin.left_ts, &ts));
    const int64_t *times = ts->data;
    const size_t step = ts->is_const ? 0 : 1;
    ALM_TRY(left_spans(cx, w, left));
    ALM_TRY(alm_states_reserve(cx, w->aggs, &w->states, &w->pool, ALM_BATCH_ROWS));
    alm_states_clear(w->aggs, &w->states, 0, n);
    const bool own = op->plan->winjoin.lo_col >= 0 || op->plan->winjoin.hi_col >= 0;
    alm_vec lo = {0}, hi = {0};
    if (own) {
        ALM_TRY(bounds_of(cx, w, left, op->plan->winjoin.lo_col, op->plan->winjoin.lo, &lo));
        ALM_TRY(bounds_of(cx, w, left, op->plan->winjoin.hi_col, op->plan->winjoin.hi, &hi));
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t a = 0, b = 0;
        if (w->left_number[i] >= w->r->n_spans)
            continue;
        if (own)
            own_range(w, w->left_number[i], times[i * step],
                      ((const int64_t *)lo.data)[lo.is_const ? 0 : i],
                      ((const int64_t *)hi.data)[hi.is_const ? 0 : i], &a, &b);
        else
            range_of(w, w->left_number[i], times[i * step], &a, &b);
        ALM_TRY(take_range(cx, w, left, i, a, b));
    }
    ALM_TRY(flush(cx, w, left));
    for (uint32_t c = 0; c < w->n_left; c++) {
        alm_vec *dense = NULL;
        ALM_TRY(alm_batch_column(cx, &op->batch, left, c, &dense));
        op->out.cols[c] = *dense;
    }
    for (uint32_t c = 0; c < op->plan->winjoin.n_aggs; c++)
        ALM_TRY(alm_aggs_finish(cx, w->aggs, &w->states, c, 0, n, &op->batch,
                                &op->out.cols[w->n_left + c]));
    op->out.rows = n;
    op->out.sel = NULL;
    *out = &op->out;
    return ALM_OK;
}

static void winjoin_close(alm_op *op)
{
    op_winjoin *w = (op_winjoin *)op;
    alm_join_probe_free(&w->probe);
    alm_aggs_free(w->aggs);
    alm_arena_deinit(&w->lasting);
    alm_arena_deinit(&w->pair_arena);
    alm_pool_deinit(&w->pool);
}

static void winjoin_hint(alm_op *op, int64_t rows)
{
    alm_op_hint(op->child[0], rows);
}

/* Another morsel: its times may lie before those of the last one. */
static alm_status winjoin_start(alm_ctx *cx, alm_op *op, uint32_t morsel)
{
    op_winjoin *w = (op_winjoin *)op;
    if (w->r != NULL) {
        memcpy(w->from, w->r->start, ((size_t)w->r->n_spans + 1) * sizeof *w->from);
        memcpy(w->to, w->r->start, ((size_t)w->r->n_spans + 1) * sizeof *w->to);
    }
    return alm_op_start(cx, op->child[0], morsel);
}

static const alm_op_vt winjoin_vt = {.name = "window join",
                                     .next = winjoin_next,
                                     .start = winjoin_start,
                                     .close = winjoin_close,
                                     .hint = winjoin_hint};

static alm_status make_aggs(alm_ctx *cx, op_winjoin *w, const alm_plan *plan)
{
    const uint32_t n = w->n_left + w->n_right;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &w->used));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &w->cols));
    for (uint32_t a = 0; a < plan->winjoin.n_aggs; a++) {
        const alm_agg_call *call = &plan->winjoin.aggs[a];
        for (uint32_t i = 0; i < call->n_args; i++)
            alm_expr_cols(call->args[i], w->used, n);
        if (call->filter != NULL)
            alm_expr_cols(call->filter, w->used, n);
    }
    return alm_aggs_new(cx, NULL, 0, plan->winjoin.aggs, plan->winjoin.n_aggs, &w->lasting,
                        &w->aggs);
}

alm_status alm_op_window_join_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                                   alm_op **out)
{
    op_winjoin *w = NULL;
    const alm_plan *left = plan->child[0], *right = plan->child[1];
    ALM_TRY(ALM_NEW(cx, cx->arena, &w));
    ALM_TRY(alm_op_init(cx, &w->op, &winjoin_vt, run, plan, pipe));
    alm_arena_init(&w->lasting, cx->mem);
    alm_arena_init(&w->pair_arena, cx->mem);
    alm_pool_init(&w->pool, cx->mem, winjoin_vt.name);
    *out = &w->op;
    w->n_left = left->n_cols;
    w->n_right = right->n_cols;
    ALM_ASSERT(plan->n_cols == w->n_left + plan->winjoin.n_aggs);
    ALM_TRY(alm_op_child(cx, &w->op, 0));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &w->li));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &w->ri));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &w->left_number));
    ALM_TRY(alm_join_probe_keys(cx, plan->winjoin.left_keys, plan->winjoin.n_keys, winjoin_vt.name,
                                &w->probe));
    return make_aggs(cx, w, plan);
}
