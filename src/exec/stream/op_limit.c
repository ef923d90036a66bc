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

static alm_status end(op_limit *l, alm_batch **out)
{
    l->ended = true;
    *out = NULL;
    return ALM_OK;
}

/* Rows [lo, hi) of the batch of the child as they are; sliced by making them dense. */
static alm_status slice(alm_ctx *cx, op_limit *l, alm_batch *in, uint32_t lo, uint32_t hi,
                        alm_batch **out)
{
    if (lo == 0 && hi == in->rows) {
        *out = in;
        return ALM_OK;
    }
    l->op.out.rows = hi - lo;
    l->op.out.sel = in->sel != NULL ? in->sel + lo : NULL;
    for (uint32_t i = 0; i < in->n_cols; i++) {
        alm_vec v = in->cols[i];
        if (!v.indirect && !v.is_const)
            v.data = (char *)v.data + (size_t)lo * v.width;
        l->op.out.cols[i] = v;
    }
    *out = &l->op.out;
    (void)cx;
    return ALM_OK;
}

static alm_status next_forward(alm_ctx *cx, op_limit *l, alm_batch **out)
{
    while (l->at < l->hi) {
        alm_batch *in = NULL;
        ALM_TRY(alm_op_next(cx, l->op.child[0], &in));
        if (in == NULL)
            break;
        const int64_t first = l->at;
        l->at += in->rows;
        if (l->at <= l->lo)
            continue;
        const int64_t lo = ALM_MAX(l->lo - first, 0);
        const int64_t hi = ALM_MIN(l->hi - first, (int64_t)in->rows);
        return slice(cx, l, in, (uint32_t)lo, (uint32_t)hi, out);
    }
    return end(l, out);
}

/* ------------------------------------------------------------------------------- from the end */

static alm_status hold_batch(alm_ctx *cx, op_limit *l, alm_batch *in)
{
    alm_arena_reset(&l->scratch);
    ALM_TRY(alm_rows_append(cx, &l->held, &l->scratch, in));
    l->at += in->rows;
    return ALM_OK;
}

/* Keeps the last `keep` rows held; now and then, so that the copying is amortised. */
static void forget_old(op_limit *l, int64_t keep)
{
    const int64_t spare = (int64_t)l->held.n - keep;
    if (spare > 4 * (int64_t)ALM_BATCH_ROWS && spare > keep) {
        alm_rows_drop(&l->held, (uint32_t)spare);
        l->held_first += spare;
    }
}

/* Reads all of the input, keeping what may be in the result, then fixes lo and hi. */
static alm_status read_to_end(alm_ctx *cx, op_limit *l)
{
    for (;;) {
        alm_batch *in = NULL;
        ALM_TRY(alm_op_next(cx, l->op.child[0], &in));
        if (in == NULL)
            break;
        ALM_TRY(hold_batch(cx, l, in));
        if (l->lo < 0)
            forget_old(l, l->lo == INT64_MIN ? INT64_MAX : -l->lo);
        else if (l->at <= l->lo) { /* before the first row asked for */
            alm_rows_drop(&l->held, l->held.n);
            l->held_first = l->at;
        }
    }
    const int64_t n = l->at;
    if (l->op.plan->limit.single && n > 1)
        return alm_fail(cx, ALM_E_LIMIT, l->op.plan->pos, "the subquery gives more than one row");
    if (l->lo < 0)
        l->lo = ALM_MAX(n + l->lo, 0);
    if (l->hi < 0)
        l->hi = n + l->hi;
    l->hi = ALM_MIN(l->hi, n);
    l->emitted = (uint32_t)ALM_MIN(ALM_MAX(l->lo - l->held_first, 0), (int64_t)l->held.n);
    return ALM_OK;
}

static alm_status next_held(alm_ctx *cx, op_limit *l, alm_batch **out)
{
    if (!l->started)
        ALM_TRY(read_to_end(cx, l));
    l->started = true;
    const int64_t left = ALM_MIN(l->hi - l->held_first, (int64_t)l->held.n) - l->emitted;
    if (left <= 0)
        return end(l, out);
    const uint32_t n = (uint32_t)ALM_MIN(left, (int64_t)ALM_BATCH_ROWS);
    for (uint32_t i = 0; i < l->op.out.n_cols; i++)
        alm_rows_slice(&l->held, i, l->emitted, &l->op.out.cols[i]);
    l->op.out.rows = n;
    l->op.out.sel = NULL;
    l->emitted += n;
    *out = &l->op.out;
    return ALM_OK;
}

/* The child runs backward: rows from the end are its first ones. */
static alm_status next_reversed(alm_ctx *cx, op_limit *l, alm_batch **out)
{
    const int64_t take = -l->lo;
    while (!l->started && l->at < take) {
        alm_batch *in = NULL, *part = NULL;
        ALM_TRY(alm_op_next(cx, l->op.child[0], &in));
        if (in == NULL)
            break;
        const int64_t n = ALM_MIN((int64_t)in->rows, take - l->at);
        ALM_TRY(slice(cx, l, in, 0, (uint32_t)n, &part));
        ALM_TRY(hold_batch(cx, l, part));
    }
    if (!l->started) {
        l->started = true;
        l->emitted = l->held.n; /* rows below it are still to come */
        if (l->hi != INT64_MAX) /* the newest -hi rows are not wanted; they were held first */
            l->held_first = ALM_MIN(-l->hi, (int64_t)l->held.n);
        ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &l->pick));
    }
    if ((int64_t)l->emitted <= l->held_first)
        return end(l, out);
    const uint32_t n =
        (uint32_t)ALM_MIN((int64_t)l->emitted - l->held_first, (int64_t)ALM_BATCH_ROWS);
    for (uint32_t i = 0; i < n; i++)
        l->pick[i] = l->emitted - 1 - i;
    alm_arena_reset(&l->op.batch);
    ALM_TRY(alm_rows_gather(cx, &l->held, &l->op.batch, l->pick, n, l->op.out.cols));
    l->op.out.rows = n;
    l->op.out.sel = NULL;
    l->emitted -= n;
    *out = &l->op.out;
    return ALM_OK;
}

/* Borders in numbers from the start, if the child knows how many rows it has. */
static void resolve(alm_ctx *cx, op_limit *l)
{
    if (l->started)
        return;
    const int64_t n = alm_op_count(cx, l->op.child[0]);
    if (n < 0)
        return;
    if (l->lo < 0)
        l->lo = ALM_MAX(n + l->lo, 0);
    if (l->hi < 0)
        l->hi = ALM_MAX(n + l->hi, 0);
    l->lo = ALM_MIN(l->lo, n);
    l->hi = ALM_MIN(l->hi, n);
    if (l->lo < l->hi && l->lo > 0 && alm_op_skip(l->op.child[0], l->lo))
        l->at = l->lo;
}

static alm_status limit_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_limit *l = (op_limit *)op;
    if (l->ended)
        return end(l, out);
    if (l->reverse)
        return next_reversed(cx, l, out);
    if (l->at == 0)
        resolve(cx, l);
    if (l->lo < 0 || l->hi < 0 || l->held.n > 0 || op->plan->limit.single)
        return next_held(cx, l, out);
    if (!l->started) {
        l->started = true;
        alm_op_hint(op->child[0], l->hi == INT64_MAX ? INT64_MAX : l->hi - l->at);
    }
    return next_forward(cx, l, out);
}

static void limit_close(alm_op *op)
{
    op_limit *l = (op_limit *)op;
    alm_pool_deinit(&l->pool);
    alm_arena_deinit(&l->scratch);
}

static const alm_op_vt limit_vt = {.name = "limit", .next = limit_next, .close = limit_close};

alm_status alm_op_limit_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                             alm_op **out)
{
    enum { REVERSE_MAX = 1 << 20 }; /* rows worth holding to avoid reading from the start */
    op_limit *l = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &l));
    ALM_TRY(alm_op_init(cx, &l->op, &limit_vt, run, plan, pipe));
    alm_pool_init(&l->pool, cx->mem, limit_vt.name);
    alm_arena_init(&l->scratch, cx->mem);
    *out = &l->op;
    l->lo = plan->limit.lo;
    l->hi = plan->limit.hi;
    ALM_TRY(alm_rows_init(cx, &l->held, &l->pool, plan->cols, plan->n_cols));
    const alm_plan *child = plan->child[0];
    if (l->lo < 0 && l->lo >= -REVERSE_MAX && (l->hi == INT64_MAX || l->hi < 0) &&
        alm_reverse_can(child)) {
        alm_plan *backward = NULL;
        ALM_TRY(alm_reverse_plan(cx, child, &backward));
        ALM_TRY(alm_op_new(cx, run, backward, NULL, &l->op.child[0]));
        l->op.child[0]->parent = &l->op;
        alm_op_hint(l->op.child[0], -l->lo);
        l->reverse = true;
        return ALM_OK;
    }
    return alm_op_child(cx, &l->op, 0);
}
