/*
 * op_limit.c - rows lo..hi-1 of the input; negative numbers count from the end.
 *
 * Where the number of rows is known beforehand (a table without filter) borders from the end become
 * plain numbers and the rows before them are skipped unread. Else:
 *   last n      over a chain of filters and projections on a forward scan: the same chain on a
 *               backward scan, stopped after n rows and reversed;
 *   otherwise   rows are held back in a queue no longer than the larger distance from the end.
 */
#include "exec/data/rows.h"
#include "exec/run/op_make.h"
#include "exec/stream/reverse.h"

typedef struct op_limit {
    alm_op op;
    int64_t lo, hi; /* as in the plan; both >= 0 once resolved */
    int64_t at;     /* rows of the input seen (or skipped) */
    bool started, ended;
    bool reverse; /* the child runs backward; emit the rows held in reverse */
    alm_pool pool;
    alm_rows held; /* rows [held_first, at) of the input, or the rows to reverse */
    int64_t held_first;
    uint32_t emitted;
    uint32_t *pick;
    alm_arena scratch;
} op_limit;

/* --------------------------------------------------------------------------------- streaming */

static alm_status op_limit_end(op_limit *limit, alm_batch **out)
{
    limit->ended = true;
    *out = NULL;
    return ALM_OK;
}

/* Rows [lo, hi) of the batch of the child as they are; sliced by making them dense. */
static alm_status op_limit_slice(alm_ctx *cx, op_limit *limit, alm_batch *batch, uint32_t lo,
                                 uint32_t hi, alm_batch **out)
{
    if (lo == 0 && hi == batch->rows) {
        *out = batch;
        return ALM_OK;
    }
    limit->op.out.rows = hi - lo;
    limit->op.out.sel = batch->sel != NULL ? batch->sel + lo : NULL;
    for (uint32_t i = 0; i < batch->n_cols; i++) {
        alm_vec vec = batch->cols[i];
        if (!vec.indirect && !vec.is_const)
            vec.data = (char *)vec.data + (size_t)lo * vec.width;
        limit->op.out.cols[i] = vec;
    }
    *out = &limit->op.out;
    (void)cx;
    return ALM_OK;
}

static alm_status next_forward(alm_ctx *cx, op_limit *limit, alm_batch **out)
{
    while (limit->at < limit->hi) {
        alm_batch *batch = NULL;
        ALM_TRY(alm_op_next(cx, limit->op.child[0], &batch));
        if (batch == NULL)
            break;
        const int64_t first = limit->at;
        limit->at += batch->rows;
        if (limit->at <= limit->lo)
            continue;
        const int64_t lo = ALM_MAX(limit->lo - first, 0);
        const int64_t hi = ALM_MIN(limit->hi - first, (int64_t)batch->rows);
        return op_limit_slice(cx, limit, batch, (uint32_t)lo, (uint32_t)hi, out);
    }
    return op_limit_end(limit, out);
}

/* ------------------------------------------------------------------------------- from the end */

static alm_status hold_batch(alm_ctx *cx, op_limit *limit, alm_batch *batch)
{
    alm_arena_reset(&limit->scratch);
    ALM_TRY(alm_rows_append(cx, &limit->held, &limit->scratch, batch));
    limit->at += batch->rows;
    return ALM_OK;
}

/* Keeps the last `keep` rows held; now and then, so that the copying is amortised. */
static void op_limit_forget_old(op_limit *limit, int64_t keep)
{
    const int64_t spare = (int64_t)limit->held.n - keep;
    if (spare > 4 * (int64_t)ALM_BATCH_ROWS && spare > keep) {
        alm_rows_drop(&limit->held, (uint32_t)spare);
        limit->held_first += spare;
    }
}

/* Reads all of the input, keeping what may be in the result, then fixes lo and hi. */
static alm_status read_to_end(alm_ctx *cx, op_limit *limit)
{
    for (;;) {
        alm_batch *batch = NULL;
        ALM_TRY(alm_op_next(cx, limit->op.child[0], &batch));
        if (batch == NULL)
            break;
        ALM_TRY(hold_batch(cx, limit, batch));
        if (limit->lo < 0)
            op_limit_forget_old(limit, limit->lo == INT64_MIN ? INT64_MAX : -limit->lo);
        else if (limit->at <= limit->lo) { /* before the first row asked for */
            alm_rows_drop(&limit->held, limit->held.n);
            limit->held_first = limit->at;
        }
    }
    const int64_t n = limit->at;
    if (limit->op.plan->limit.single && n > 1)
        return alm_fail(cx, ALM_E_LIMIT, limit->op.plan->pos,
                        "the subquery gives more than one row");
    if (limit->lo < 0)
        limit->lo = ALM_MAX(n + limit->lo, 0);
    if (limit->hi < 0)
        limit->hi = n + limit->hi;
    limit->hi = ALM_MIN(limit->hi, n);
    limit->emitted =
        (uint32_t)ALM_MIN(ALM_MAX(limit->lo - limit->held_first, 0), (int64_t)limit->held.n);
    return ALM_OK;
}

static alm_status next_held(alm_ctx *cx, op_limit *limit, alm_batch **out)
{
    if (!limit->started)
        ALM_TRY(read_to_end(cx, limit));
    limit->started = true;
    const int64_t left =
        ALM_MIN(limit->hi - limit->held_first, (int64_t)limit->held.n) - limit->emitted;
    if (left <= 0)
        return op_limit_end(limit, out);
    const uint32_t n_rows = (uint32_t)ALM_MIN(left, (int64_t)ALM_BATCH_ROWS);
    for (uint32_t i = 0; i < limit->op.out.n_cols; i++)
        alm_rows_slice(&limit->held, i, limit->emitted, &limit->op.out.cols[i]);
    limit->op.out.rows = n_rows;
    limit->op.out.sel = NULL;
    limit->emitted += n_rows;
    *out = &limit->op.out;
    return ALM_OK;
}

/* The child runs backward: rows from the end are its first ones. */
static alm_status next_reversed(alm_ctx *cx, op_limit *limit, alm_batch **out)
{
    const int64_t take = -limit->lo;
    while (!limit->started && limit->at < take) {
        alm_batch *batch = NULL, *part = NULL;
        ALM_TRY(alm_op_next(cx, limit->op.child[0], &batch));
        if (batch == NULL)
            break;
        const int64_t n = ALM_MIN((int64_t)batch->rows, take - limit->at);
        ALM_TRY(op_limit_slice(cx, limit, batch, 0, (uint32_t)n, &part));
        ALM_TRY(hold_batch(cx, limit, part));
    }
    if (!limit->started) {
        limit->started = true;
        limit->emitted = limit->held.n; /* rows below it are still to come */
        if (limit->hi != INT64_MAX) /* the newest -hi rows are not wanted; they were held first */
            limit->held_first = ALM_MIN(-limit->hi, (int64_t)limit->held.n);
        ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &limit->pick));
    }
    if ((int64_t)limit->emitted <= limit->held_first)
        return op_limit_end(limit, out);
    const uint32_t n_rows =
        (uint32_t)ALM_MIN((int64_t)limit->emitted - limit->held_first, (int64_t)ALM_BATCH_ROWS);
    for (uint32_t i = 0; i < n_rows; i++)
        limit->pick[i] = limit->emitted - 1 - i;
    alm_arena_reset(&limit->op.batch);
    ALM_TRY(alm_rows_gather(cx, &limit->held, &limit->op.batch, limit->pick, n_rows,
                            limit->op.out.cols));
    limit->op.out.rows = n_rows;
    limit->op.out.sel = NULL;
    limit->emitted -= n_rows;
    *out = &limit->op.out;
    return ALM_OK;
}

/* Borders in numbers from the start, if the child knows how many rows it has. */
static void resolve(alm_ctx *cx, op_limit *limit)
{
    if (limit->started)
        return;
    const int64_t n_ops = alm_op_count(cx, limit->op.child[0]);
    if (n_ops < 0)
        return;
    if (limit->lo < 0)
        limit->lo = ALM_MAX(n_ops + limit->lo, 0);
    if (limit->hi < 0)
        limit->hi = ALM_MAX(n_ops + limit->hi, 0);
    limit->lo = ALM_MIN(limit->lo, n_ops);
    limit->hi = ALM_MIN(limit->hi, n_ops);
    if (limit->lo < limit->hi && limit->lo > 0 && alm_op_skip(limit->op.child[0], limit->lo))
        limit->at = limit->lo;
}

static alm_status limit_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_limit *limit = (op_limit *)op;
    if (limit->ended)
        return op_limit_end(limit, out);
    if (limit->reverse)
        return next_reversed(cx, limit, out);
    if (limit->at == 0)
        resolve(cx, limit);
    if (limit->lo < 0 || limit->hi < 0 || limit->held.n > 0 || op->plan->limit.single)
        return next_held(cx, limit, out);
    if (!limit->started) {
        limit->started = true;
        alm_op_hint(op->child[0], limit->hi == INT64_MAX ? INT64_MAX : limit->hi - limit->at);
    }
    return next_forward(cx, limit, out);
}

static void limit_close(alm_op *op)
{
    op_limit *limit = (op_limit *)op;
    alm_pool_deinit(&limit->pool);
    alm_arena_deinit(&limit->scratch);
}

static const alm_op_vt limit_vt = {.name = "limit", .next = limit_next, .close = limit_close};

alm_status alm_op_limit_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                             alm_op **out)
{
    enum { REVERSE_MAX = 1 << 20 }; /* rows worth holding to avoid reading from the start */
    op_limit *limit = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &limit));
    ALM_TRY(alm_op_init(cx, &limit->op, &limit_vt, run, plan, pipe));
    alm_pool_init(&limit->pool, cx->mem, limit_vt.name);
    alm_arena_init(&limit->scratch, cx->mem);
    *out = &limit->op;
    limit->lo = plan->limit.lo;
    limit->hi = plan->limit.hi;
    ALM_TRY(alm_rows_init(cx, &limit->held, &limit->pool, plan->cols, plan->n_cols));
    const alm_plan *child = plan->child[0];
    if (limit->lo < 0 && limit->lo >= -REVERSE_MAX && (limit->hi == INT64_MAX || limit->hi < 0) &&
        alm_reverse_can(child)) {
        alm_plan *backward = NULL;
        ALM_TRY(alm_reverse_plan(cx, child, &backward));
        ALM_TRY(alm_op_new(cx, run, backward, NULL, &limit->op.child[0]));
        limit->op.child[0]->parent = &limit->op;
        alm_op_hint(limit->op.child[0], -limit->lo);
        limit->reverse = true;
        return ALM_OK;
    }
    return alm_op_child(cx, &limit->op, 0);
}
