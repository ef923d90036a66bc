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
    uint32_t *from,
        *to; /* per span: first row at or after the start of the range, first row after its end */
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

static alm_status op_window_join_number_rows(alm_ctx *cx, winjoin_right *right,
                                             const alm_plan *plan, uint32_t *number)
{
    const uint32_t n_keys = plan->winjoin.n_keys;
    const alm_expr *const *keys = (const alm_expr *const *)plan->winjoin.right_keys;
    alm_type *types = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_keys, &types));
    for (uint32_t key = 0; key < n_keys; key++) {
        types[key] = keys[key]->type;
        if (plan->winjoin.left_keys[key]->type.id != types[key].id)
            types[key] = ALM_TY(VARCHAR); /* kinds of text may mix */
    }
    ALM_TRY(alm_rows_number(cx, &right->store, keys, types, n_keys, number, &right->map));
    right->n_spans = alm_keymap_count(right->map);
    return ALM_OK;
}

/* Rows by key, in time order within one: a counting sort of the row numbers. */
static alm_status group_rows(alm_ctx *cx, winjoin_right *right, const uint32_t *number)
{
    const uint32_t n_stores = right->store.n;
    uint32_t *pick = NULL, *next = NULL;
    const size_t bytes = ((size_t)right->n_spans + 1) * sizeof *right->start;
    ALM_TRY(alm_pool_zero(cx, &right->pool, bytes, &right->start));
    for (uint32_t i = 0; i < n_stores; i++)
        right->start[number[i] + 1]++;
    for (uint32_t span = 0; span < right->n_spans; span++)
        right->start[span + 1] += right->start[span];
    if (right->n_spans <= 1)
        return ALM_OK;
    ALM_TRY(alm_check(cx));
    ALM_TRY(alm_pool_alloc(cx, &right->pool, ((size_t)n_stores + 1) * sizeof *pick, &pick));
    ALM_TRY(alm_pool_alloc(cx, &right->pool, bytes, &next));
    memcpy(next, right->start, bytes);
    for (uint32_t i = 0; i < n_stores; i++)
        pick[next[number[i]]++] = i;
    ALM_TRY(alm_check(cx));
    ALM_TRY(alm_rows_keep(cx, &right->store, pick, n_stores));
    alm_pool_free(&right->pool, pick);
    alm_pool_free(&right->pool, next);
    return ALM_OK;
}

static alm_status op_window_join_load(alm_ctx *cx, alm_run *run, const alm_plan *plan,
                                      winjoin_right *right_side)
{
    const alm_plan *left = plan->child[0], *right = plan->child[1];
    const bool left_ns = left->cols[plan->winjoin.left_ts].type.id == ALM_T_TIMESTAMP_NS;
    const bool right_ns = right->cols[plan->winjoin.right_ts].type.id == ALM_T_TIMESTAMP_NS;
    uint32_t *number = NULL;
    right_side->left_unit = left_ns || !right_ns ? 1 : 1000;
    right_side->right_unit = right_ns || !left_ns ? 1 : 1000;
    ALM_TRY(alm_rows_init(cx, &right_side->store, &right_side->pool, right->cols, right->n_cols));
    ALM_TRY(alm_join_read_rows(cx, run, right, plan, &right_side->store));
    const size_t bytes = ((size_t)right_side->store.n + 1) * sizeof *number;
    right_side->n_spans = 1;
    ALM_TRY(alm_pool_zero(cx, &right_side->pool, bytes, &number));
    if (plan->winjoin.n_keys > 0)
        ALM_TRY(op_window_join_number_rows(cx, right_side, plan, number));
    ALM_TRY(group_rows(cx, right_side, number));
    alm_pool_free(&right_side->pool, number);
    right_side->ts = (const int64_t *)(void *)right_side->store.col[plan->winjoin.right_ts].data;
    alm_op_count_bytes(run, plan, right_side->pool.bytes);
    return ALM_OK;
}

void alm_op_window_join_unprepare(void *shared)
{
    winjoin_right *right = shared;
    alm_pool_deinit(&right->pool);
    alm_arena_deinit(&right->arena);
    free(right);
}

alm_status alm_op_window_join_prepare(alm_ctx *cx, alm_run *run, const alm_plan *plan,
                                      void **shared)
{
    winjoin_right *right = calloc(1, sizeof *right);
    if (right == NULL)
        return alm_fail(cx, ALM_E_MEMORY, plan->pos, "out of memory: window join");
    alm_arena_init(&right->arena, cx->mem);
    alm_pool_init(&right->pool, cx->mem, WHO);
    alm_arena *outer = cx->arena;
    cx->arena = &right->arena;
    const alm_status status = op_window_join_load(cx, run, plan, right);
    cx->arena = outer;
    if (status != ALM_OK) {
        alm_op_window_join_unprepare(right);
        return status;
    }
    *shared = right;
    return ALM_OK;
}

/* ---------------------------------------------------------------------------------- ranges */

/* A bound of right times. */
typedef struct border {
    int64_t at;
    bool behind; /* it lies behind all of them */
} border;

/* t + by of the left side in the unit of the right one, rounded inwards. */
static border border_at(const winjoin_right *right, int64_t t, int64_t by, bool lower)
{
    if (by <= -INT64_MAX || by == INT64_MAX)
        return (border){by < 0 ? INT64_MIN : by, false};
    int64_t out;
    if (right->left_unit == right->right_unit && !__builtin_add_overflow(t, by, &out))
        return (border){out, false};
    const __int128 sum = ((__int128)t + by) * right->left_unit;
    const __int128 rest = (sum % right->right_unit + right->right_unit) % right->right_unit;
    const __int128 at = (sum - rest) / right->right_unit + (lower && rest > 0);
    if (at > INT64_MAX)
        return (border){INT64_MAX, true};
    return (border){at < INT64_MIN ? INT64_MIN : (int64_t)at, false};
}

/* First row in [lo, hi) of the store at or after a time. */
static uint32_t op_window_join_first_from(const int64_t *ts, uint32_t lo, uint32_t hi, int64_t time)
{
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (ts[mid] < time)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The same as range_of where the bounds are the left row's own. */
static void own_range(const op_winjoin *winjoin, uint32_t span, int64_t t, int64_t lo_by,
                      int64_t hi_by, uint32_t *a, uint32_t *b)
{
    const uint32_t start = winjoin->r->start[span], end = winjoin->r->start[span + 1];
    *a = *b = start;
    if (lo_by == ALM_LONG_NULL || hi_by == ALM_LONG_NULL)
        return;
    const border lo = border_at(winjoin->r, t, lo_by, true),
                 hi = border_at(winjoin->r, t, hi_by, false);
    const uint32_t from =
        lo.behind ? end : op_window_join_first_from(winjoin->r->ts, start, end, lo.at);
    *a = from;
    *b = hi.at == INT64_MAX ? end : op_window_join_first_from(winjoin->r->ts, from, end, hi.at + 1);
    if (winjoin->op.plan->winjoin.prevailing && from > start &&
        (from == end || winjoin->r->ts[from] > lo.at))
        *a = from - 1;
}

/* A bound of the left row; constant ones for all rows. */
static alm_status bounds_of(alm_ctx *cx, op_winjoin *winjoin, alm_batch *left, int32_t col,
                            int64_t constant, alm_vec *out)
{
    alm_vec *vec = NULL;
    int64_t *value = NULL;
    if (col >= 0) {
        ALM_TRY(alm_batch_column(cx, &winjoin->op.batch, left, (uint32_t)col, &vec));
        *out = *vec;
        return ALM_OK;
    }
    ALM_TRY(alm_arena_bytes(cx, &winjoin->op.batch, sizeof *value, &value));
    *value = constant == INT64_MIN ? -INT64_MAX : constant; /* null would be no rows */
    *out = (alm_vec){.type = ALM_TY(LONG), .width = 8, .is_const = true, .data = value};
    return ALM_OK;
}

/* The same from a row that is near by. */
static uint32_t op_window_join_advance(const int64_t *ts, uint32_t place, uint32_t end, int64_t t)
{
    uint32_t lo = place, hi = place;
    for (uint32_t step = 2; hi < end && ts[hi] < t; step *= 2) {
        lo = hi + 1;
        hi = end - hi > step ? hi + step : end;
    }
    return op_window_join_first_from(ts, lo, hi, t);
}

/* Right rows [*a, *b) of a left row at time time. */
static void range_of(op_winjoin *winjoin, uint32_t span, int64_t time, uint32_t *a, uint32_t *b)
{
    const int64_t *ts = winjoin->r->ts;
    const uint32_t end = winjoin->r->start[span + 1];
    const border lo = border_at(winjoin->r, time, winjoin->lo, true),
                 hi = border_at(winjoin->r, time, winjoin->hi, false);
    const uint32_t from =
        lo.behind ? end : op_window_join_advance(ts, winjoin->from[span], end, lo.at);
    const uint32_t to =
        hi.at == INT64_MAX ? end : op_window_join_advance(ts, winjoin->to[span], end, hi.at + 1);
    winjoin->from[span] = from;
    winjoin->to[span] = to;
    *a = from;
    if (winjoin->op.plan->winjoin.prevailing && from > winjoin->r->start[span] &&
        (from == end || ts[from] > lo.at))
        *a = from - 1;
    *b = ALM_MAX(to, from);
}

/* ----------------------------------------------------------------------------------- pairs */

static alm_status pair_batch(alm_ctx *cx, op_winjoin *winjoin, alm_batch *left, alm_batch *out)
{
    for (uint32_t col = 0; col < winjoin->n_left; col++) {
        alm_vec *dense = NULL;
        if (!winjoin->used[col])
            continue;
        ALM_TRY(alm_batch_column(cx, &winjoin->op.batch, left, col, &dense));
        ALM_TRY(alm_vec_gather(cx, &winjoin->pair_arena, dense, winjoin->li, winjoin->n_pairs,
                               &winjoin->cols[col]));
    }
    for (uint32_t right = 0; right < winjoin->n_right; right++) {
        alm_vec all = {0};
        if (!winjoin->used[winjoin->n_left + right])
            continue;
        alm_rows_slice(&winjoin->r->store, right, 0, &all);
        ALM_TRY(alm_vec_gather(cx, &winjoin->pair_arena, &all, winjoin->ri, winjoin->n_pairs,
                               &winjoin->cols[winjoin->n_left + right]));
    }
    *out = (alm_batch){.n_cols = winjoin->n_left + winjoin->n_right,
                       .cols = winjoin->cols,
                       .rows = winjoin->n_pairs};
    return ALM_OK;
}

static alm_status op_window_join_flush(alm_ctx *cx, op_winjoin *winjoin, alm_batch *left)
{
    alm_batch pairs;
    if (winjoin->n_pairs == 0)
        return ALM_OK;
    ALM_TRY(alm_check(cx));
    alm_arena_reset(&winjoin->pair_arena);
    ALM_TRY(pair_batch(cx, winjoin, left, &pairs));
    ALM_TRY(alm_aggs_eval(cx, winjoin->aggs, &winjoin->pair_arena, &pairs));
    ALM_TRY(
        alm_aggs_scatter(cx, winjoin->aggs, &winjoin->states, winjoin->li, 0, winjoin->n_pairs));
    winjoin->n_pairs = 0;
    return ALM_OK;
}

/* Rows [a, a + n) of the store with left row i. */
static alm_status take_slice(alm_ctx *cx, op_winjoin *winjoin, alm_batch *left, uint32_t i,
                             uint32_t a, uint32_t n)
{
    alm_batch rows = {
        .n_cols = winjoin->n_left + winjoin->n_right, .cols = winjoin->cols, .rows = n};
    ALM_TRY(alm_check(cx));
    alm_arena_reset(&winjoin->pair_arena);
    for (uint32_t col = 0; col < winjoin->n_left; col++) {
        alm_vec *dense = NULL;
        if (!winjoin->used[col])
            continue;
        ALM_TRY(alm_batch_column(cx, &winjoin->op.batch, left, col, &dense));
        winjoin->cols[col] = *dense;
        if (!dense->is_const)
            winjoin->cols[col].data = (char *)dense->data + (size_t)i * dense->width;
        winjoin->cols[col].is_const = true;
    }
    for (uint32_t right = 0; right < winjoin->n_right; right++)
        if (winjoin->used[winjoin->n_left + right])
            alm_rows_slice(&winjoin->r->store, right, a, &winjoin->cols[winjoin->n_left + right]);
    ALM_TRY(alm_aggs_eval(cx, winjoin->aggs, &winjoin->pair_arena, &rows));
    return alm_aggs_update(cx, winjoin->aggs, &winjoin->states, i, 0, n);
}

static alm_status take_range(alm_ctx *cx, op_winjoin *winjoin, alm_batch *left, uint32_t i,
                             uint32_t a, uint32_t b)
{
    if (b - a >= LONG_RANGE) {
        for (; a < b; a += ALM_MIN(b - a, (uint32_t)ALM_BATCH_ROWS))
            ALM_TRY(take_slice(cx, winjoin, left, i, a, ALM_MIN(b - a, (uint32_t)ALM_BATCH_ROWS)));
        return ALM_OK;
    }
    if (winjoin->n_pairs + (b - a) > ALM_BATCH_ROWS)
        ALM_TRY(op_window_join_flush(cx, winjoin, left));
    for (; a < b; a++) {
        winjoin->li[winjoin->n_pairs] = i;
        winjoin->ri[winjoin->n_pairs++] = a;
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------------------- operator */

static alm_status left_spans(alm_ctx *cx, op_winjoin *winjoin, alm_batch *left)
{
    if (winjoin->probe.n_keys > 0)
        return alm_join_probe_map(cx, &winjoin->probe, winjoin->r->map, &winjoin->op.batch, left,
                                  winjoin->left_number);
    memset(winjoin->left_number, 0, left->rows * sizeof *winjoin->left_number);
    return ALM_OK;
}

static alm_status op_window_join_get_ready(alm_ctx *cx, op_winjoin *winjoin)
{
    const winjoin_right *right = NULL;
    if (winjoin->r != NULL)
        return ALM_OK;
    ALM_TRY(alm_op_shared(cx, winjoin->op.run, winjoin->op.plan, &right));
    const size_t bytes = ((size_t)right->n_spans + 1) * sizeof *winjoin->from;
    ALM_TRY(alm_pool_alloc(cx, &winjoin->pool, bytes, &winjoin->from));
    ALM_TRY(alm_pool_alloc(cx, &winjoin->pool, bytes, &winjoin->to));
    memcpy(winjoin->from, right->start, bytes);
    memcpy(winjoin->to, right->start, bytes);
    winjoin->lo = winjoin->op.plan->winjoin.lo;
    winjoin->hi = winjoin->op.plan->winjoin.hi;
    winjoin->r = right;
    return ALM_OK;
}

static alm_status winjoin_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_winjoin *winjoin = (op_winjoin *)op;
    alm_batch *left = NULL;
    alm_vec *ts = NULL;
    *out = NULL;
    ALM_TRY(op_window_join_get_ready(cx, winjoin));
    alm_arena_reset(&op->batch);
    alm_arena_reset(&winjoin->lasting);
    ALM_TRY(alm_op_next(cx, op->child[0], &left));
    if (left == NULL)
        return ALM_OK;
    const uint32_t n_rows = left->rows;
    ALM_TRY(alm_batch_column(cx, &op->batch, left, op->plan->winjoin.left_ts, &ts));
    const int64_t *times = ts->data;
    const size_t step = ts->is_const ? 0 : 1;
    ALM_TRY(left_spans(cx, winjoin, left));
    ALM_TRY(
        alm_states_reserve(cx, winjoin->aggs, &winjoin->states, &winjoin->pool, ALM_BATCH_ROWS));
    alm_states_clear(winjoin->aggs, &winjoin->states, 0, n_rows);
    const bool own = op->plan->winjoin.lo_col >= 0 || op->plan->winjoin.hi_col >= 0;
    alm_vec lo = {0}, hi = {0};
    if (own) {
        ALM_TRY(bounds_of(cx, winjoin, left, op->plan->winjoin.lo_col, op->plan->winjoin.lo, &lo));
        ALM_TRY(bounds_of(cx, winjoin, left, op->plan->winjoin.hi_col, op->plan->winjoin.hi, &hi));
    }
    for (uint32_t i = 0; i < n_rows; i++) {
        uint32_t a = 0, b = 0;
        if (winjoin->left_number[i] >= winjoin->r->n_spans)
            continue;
        if (own)
            own_range(winjoin, winjoin->left_number[i], times[i * step],
                      ((const int64_t *)lo.data)[lo.is_const ? 0 : i],
                      ((const int64_t *)hi.data)[hi.is_const ? 0 : i], &a, &b);
        else
            range_of(winjoin, winjoin->left_number[i], times[i * step], &a, &b);
        ALM_TRY(take_range(cx, winjoin, left, i, a, b));
    }
    ALM_TRY(op_window_join_flush(cx, winjoin, left));
    for (uint32_t col = 0; col < winjoin->n_left; col++) {
        alm_vec *dense = NULL;
        ALM_TRY(alm_batch_column(cx, &op->batch, left, col, &dense));
        op->out.cols[col] = *dense;
    }
    for (uint32_t agg = 0; agg < op->plan->winjoin.n_aggs; agg++)
        ALM_TRY(alm_aggs_finish(cx, winjoin->aggs, &winjoin->states, agg, 0, n_rows, &op->batch,
                                &op->out.cols[winjoin->n_left + agg]));
    op->out.rows = n_rows;
    op->out.sel = NULL;
    *out = &op->out;
    return ALM_OK;
}

static void winjoin_close(alm_op *op)
{
    op_winjoin *winjoin = (op_winjoin *)op;
    alm_join_probe_free(&winjoin->probe);
    alm_aggs_free(winjoin->aggs);
    alm_arena_deinit(&winjoin->lasting);
    alm_arena_deinit(&winjoin->pair_arena);
    alm_pool_deinit(&winjoin->pool);
}

static void winjoin_hint(alm_op *op, int64_t rows)
{
    alm_op_hint(op->child[0], rows);
}

/* Another morsel: its times may lie before those of the last one. */
static alm_status winjoin_start(alm_ctx *cx, alm_op *op, uint32_t morsel)
{
    op_winjoin *winjoin = (op_winjoin *)op;
    if (winjoin->r != NULL) {
        memcpy(winjoin->from, winjoin->r->start,
               ((size_t)winjoin->r->n_spans + 1) * sizeof *winjoin->from);
        memcpy(winjoin->to, winjoin->r->start,
               ((size_t)winjoin->r->n_spans + 1) * sizeof *winjoin->to);
    }
    return alm_op_start(cx, op->child[0], morsel);
}

static const alm_op_vt winjoin_vt = {.name = "window join",
                                     .next = winjoin_next,
                                     .start = winjoin_start,
                                     .close = winjoin_close,
                                     .hint = winjoin_hint};

static alm_status make_aggs(alm_ctx *cx, op_winjoin *winjoin, const alm_plan *plan)
{
    const uint32_t n = winjoin->n_left + winjoin->n_right;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &winjoin->used));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &winjoin->cols));
    for (uint32_t agg = 0; agg < plan->winjoin.n_aggs; agg++) {
        const alm_agg_call *call = &plan->winjoin.aggs[agg];
        for (uint32_t i = 0; i < call->n_args; i++)
            alm_expr_cols(call->args[i], winjoin->used, n);
        if (call->filter != NULL)
            alm_expr_cols(call->filter, winjoin->used, n);
    }
    return alm_aggs_new(cx, NULL, 0, plan->winjoin.aggs, plan->winjoin.n_aggs, &winjoin->lasting,
                        &winjoin->aggs);
}

alm_status alm_op_window_join_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                                   alm_op **out)
{
    op_winjoin *winjoin = NULL;
    const alm_plan *left = plan->child[0], *right = plan->child[1];
    ALM_TRY(ALM_NEW(cx, cx->arena, &winjoin));
    ALM_TRY(alm_op_init(cx, &winjoin->op, &winjoin_vt, run, plan, pipe));
    alm_arena_init(&winjoin->lasting, cx->mem);
    alm_arena_init(&winjoin->pair_arena, cx->mem);
    alm_pool_init(&winjoin->pool, cx->mem, winjoin_vt.name);
    *out = &winjoin->op;
    winjoin->n_left = left->n_cols;
    winjoin->n_right = right->n_cols;
    ALM_ASSERT(plan->n_cols == winjoin->n_left + plan->winjoin.n_aggs);
    ALM_TRY(alm_op_child(cx, &winjoin->op, 0));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &winjoin->li));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &winjoin->ri));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &winjoin->left_number));
    ALM_TRY(alm_join_probe_keys(cx, plan->winjoin.left_keys, plan->winjoin.n_keys, winjoin_vt.name,
                                &winjoin->probe));
    return make_aggs(cx, winjoin, plan);
}
