/*
 * op_window.c - window functions. Two ways: calls that need nothing but rows already seen, in the order
 * they come, stream (stream.c); else all rows are held, put into window order per distinct
 * PARTITION BY and ORDER BY, the calls computed, and the rows handed out in input order with one more
 * column per call (this file; window.h).
 *
 * Value functions (lag, first_value ...) leave row numbers behind, from which the values are gathered
 * when a batch is made; the others leave a column.
 *
 * Memory      charged as "window". What does not fit goes to temporary files by partition
 *             (spill.h), where all calls have the same PARTITION BY; else the error names the
 *             operator and the limit.
 */
#include "exec/window/window.h"

#include "base/hashes.h"
#include "exec/run/op_make.h"
#include "exec/window/spill.h"
#include "exec/window/stream.h"
#include "exec/window/top.h"
#include "storage/spill/spill.h"
#include "type/value.h"

static const char window_name[] = "window";

typedef struct op_window {
    alm_op op;
    alm_pool pool;
    alm_arena scratch;
    alm_pipe *pipe; /* its threads compute */
    alm_window_slots *slots;
    /* the rows: columns of the child, then expressions that are no plain columns; row n is null */
    alm_rows rows;
    uint32_t n, n_child;
    const alm_expr **expr;
    uint32_t n_exprs;
    alm_hashes hashes; /* of expr */
    alm_eval *eval;
    alm_vec *vecs;
    alm_window_result *state;
    uint32_t n_calls;
    alm_window_spill *spill;
    alm_rows_col *fresh; /* columns of empty rows */
    alm_window_top *top; /* where only the first rows of each partition are wanted */
    bool ready;
    uint32_t at;
} op_window;

/* ------------------------------------------------------------------------------ expressions */

/* Column of the rows that holds an expression. */
static alm_status column_of(alm_ctx *cx, op_window *w, const alm_expr *e, uint32_t *out)
{
    if (e->kind == ALM_X_COL) {
        *out = e->col;
        return ALM_OK;
    }
    const uint64_t hash = alm_expr_hash(e);
    uint32_t i = 0;
    for (uint32_t at = 0; alm_hashes_next(&w->hashes, hash, &at, &i);) {
        ALM_TRY(alm_steps_add(cx, 1));
        if (alm_eval_expr_equal(w->expr[i], e) && !alm_eval_expr_volatile(e)) {
            *out = w->n_child + i;
            return ALM_OK;
        }
    }
    ALM_TRY(alm_hashes_add(cx, cx->arena, &w->hashes, hash));
    w->expr[w->n_exprs] = e;
    *out = w->n_child + w->n_exprs++;
    return ALM_OK;
}

static alm_status place_call(alm_ctx *cx, op_window *w, const alm_window_call *call,
                             alm_window_cols *cols)
{
    ALM_TRY(ALM_NEWN(cx, cx->arena, call->n_args + 1, &cols->arg));
    ALM_TRY(ALM_NEWN(cx, cx->arena, call->n_partition + 1, &cols->partition));
    ALM_TRY(ALM_NEWN(cx, cx->arena, call->n_order + 1, &cols->order));
    for (uint32_t i = 0; i < call->n_args; i++)
        ALM_TRY(column_of(cx, w, call->args[i], &cols->arg[i]));
    for (uint32_t i = 0; i < call->n_partition; i++)
        ALM_TRY(column_of(cx, w, call->partition[i], &cols->partition[i]));
    for (uint32_t i = 0; i < call->n_order; i++)
        ALM_TRY(column_of(cx, w, call->order[i].expr, &cols->order[i]));
    cols->filter = -1;
    if (call->filter == NULL)
        return ALM_OK;
    uint32_t at = 0;
    ALM_TRY(column_of(cx, w, call->filter, &at));
    cols->filter = (int32_t)at;
    return ALM_OK;
}

/* ---------------------------------------------------------------------------------- reading */

/* Columns and expressions of a batch, as dense vectors in w->vecs. */
static alm_status dense_batch(alm_ctx *cx, op_window *w, alm_batch *in)
{
    alm_arena_reset(&w->scratch);
    for (uint32_t c = 0; c < w->n_child; c++) {
        alm_vec *dense = NULL;
        ALM_TRY(alm_batch_column(cx, &w->scratch, in, c, &dense));
        w->vecs[c] = *dense;
    }
    alm_batch dense = {.rows = in->rows, .n_cols = w->n_child, .cols = in->cols};
    return alm_eval_run(cx, w->eval, &w->scratch, &dense, w->vecs + w->n_child);
}

/* The row that value functions without a value point at. */
static alm_status append_nulls(alm_ctx *cx, op_window *w)
{
    for (uint32_t c = 0; c < w->rows.n_cols; c++) {
        ALM_TRY(alm_vec_null(cx, &w->scratch, w->rows.col[c].type, &w->vecs[c]));
        if (w->rows.col[c].dict != NULL) {
            w->vecs[c].dict = w->rows.col[c].dict;
            w->vecs[c].width = sizeof(uint32_t);
            memset(w->vecs[c].data, 0, sizeof(uint32_t));
        }
    }
    return alm_rows_append_picked(cx, &w->rows, w->vecs, NULL, 1);
}

/* -------------------------------------------------------------------------- over the memory */

enum { MARGIN_MIN = 512 * 1024, MARGIN_MAX = 64 * 1024 * 1024 }; /* left free: arenas, files */

static void forget_rows(op_window *w)
{
    alm_window_slots_free(w->slots);
    w->slots = NULL;
    alm_pool_deinit(&w->pool);
    memcpy(w->rows.col, w->fresh, w->rows.n_cols * sizeof *w->fresh);
    w->rows = (alm_rows){.pool = w->rows.pool, .col = w->rows.col, .n_cols = w->rows.n_cols};
    for (uint32_t i = 0; i < w->n_calls; i++) {
        w->state[i].done = false;
        w->state[i].result = NULL;
        w->state[i].pick = NULL;
    }
    w->at = 0;
}

/* Would another batch, and then computing all calls, exceed the limit? */
static bool is_full(const op_window *w)
{
    int64_t limit = 0, row = 0, results = 0;
    const int64_t room = alm_pool_room(&w->pool, &limit), n = w->rows.n;
    if (room == INT64_MAX)
        return false;
    for (uint32_t c = 0; c < w->rows.n_cols; c++)
        row += w->rows.col[c].width;
    for (uint32_t i = 0; i < w->n_calls; i++)
        results += 2 * (int64_t)alm_type_width(w->state[i].call->type);
    const int64_t margin = ALM_MAX((int64_t)MARGIN_MIN, ALM_MIN((int64_t)MARGIN_MAX, limit / 8));
    const int64_t grown = w->rows.n + ALM_BATCH_ROWS > w->rows.cap ? 2 * n * row : 0;
    return grown + (n + ALM_BATCH_ROWS) * (results + 48) > room - margin;
}

static bool may_spill(const alm_ctx *cx, const op_window *w)
{
    const alm_window_call *first = w->state[0].call;
    if (!alm_spill_allowed(cx, w->op.run->env.spill) || first->n_partition == 0)
        return false;
    for (uint32_t i = 1; i < w->n_calls; i++) {
        const alm_window_call *c = w->state[i].call;
        if (c->n_partition != first->n_partition)
            return false;
        for (uint32_t k = 0; k < c->n_partition; k++)
            if (!alm_eval_expr_equal(c->partition[k], first->partition[k]))
                return false;
    }
    return true;
}

/* The rows so far go to files. */
static alm_status start_spill(alm_ctx *cx, op_window *w)
{
    alm_vec *held = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, w->rows.n_cols + 1, &held));
    ALM_TRY(alm_window_spill_new(cx, w->op.run, window_name, w->rows.n_cols,
                                 w->state[0].cols.partition, w->state[0].call->n_partition,
                                 w->op.out.n_cols, &w->spill));
    for (uint32_t at = 0; at < w->rows.n; at += ALM_BATCH_ROWS) {
        for (uint32_t c = 0; c < w->rows.n_cols; c++)
            alm_rows_slice(&w->rows, c, at, &held[c]);
        ALM_TRY(alm_window_spill_add(cx, w->spill, held,
                                     ALM_MIN((uint32_t)ALM_BATCH_ROWS, w->rows.n - at)));
    }
    forget_rows(w);
    return ALM_OK;
}

static alm_status read_input(alm_ctx *cx, op_window *w)
{
    const bool spills = may_spill(cx, w);
    for (;;) {
        alm_batch *in = NULL;
        ALM_TRY(w->top != NULL ? alm_window_top_next(cx, w->top, &in)
                               : alm_op_next(cx, w->op.child[0], &in));
        if (in == NULL)
            break;
        ALM_TRY(dense_batch(cx, w, in));
        if (w->spill == NULL && spills && is_full(w))
            ALM_TRY(start_spill(cx, w));
        if (w->spill != NULL)
            ALM_TRY(alm_window_spill_add(cx, w->spill, w->vecs, in->rows));
        else
            ALM_TRY(alm_rows_append_picked(cx, &w->rows, w->vecs, NULL, in->rows));
    }
    return ALM_OK;
}

/* All calls over the rows in memory. */
static alm_status compute(alm_ctx *cx, op_window *w)
{
    w->n = w->rows.n;
    ALM_TRY(append_nulls(cx, w));
    const alm_window_input in = {&w->pool, w->pipe, w->op.run->env.workers, &w->rows, w->n};
    ALM_TRY(alm_window_compute(cx, &in, w->state, w->n_calls, &w->slots));
    alm_op_count_bytes(w->op.run, w->op.plan, w->pool.bytes);
    return ALM_OK;
}

/* ---------------------------------------------------------------------------------- results */

/* Rows without a value get the default of their own row. */
static alm_status put_defaults(alm_ctx *cx, op_window *w, const alm_window_result *s, uint32_t n,
                               alm_vec *v)
{
    const int32_t arg = s->call->fn->window->default_arg;
    if (arg == 0 || (uint32_t)arg >= s->call->n_args)
        return ALM_OK;
    alm_vec other;
    alm_rows_slice(&w->rows, s->cols.arg[arg], w->at, &other);
    if (v->width != other.width || v->dict != other.dict) { /* symbols of different forms */
        const alm_vec a = *v, b = other;
        ALM_TRY(alm_vec_decode(cx, &w->op.batch, &a, n, v));
        ALM_TRY(alm_vec_decode(cx, &w->op.batch, &b, n, &other));
    }
    for (uint32_t i = 0; i < n; i++)
        if (s->pick[w->at + i] == w->n)
            memcpy((char *)v->data + (size_t)i * v->width,
                   (const char *)other.data + (size_t)i * v->width, v->width);
    return ALM_OK;
}

static alm_status result_column(alm_ctx *cx, op_window *w, const alm_window_result *s, uint32_t n,
                                alm_vec *out)
{
    if (s->pick == NULL) {
        *out = (alm_vec){.type = s->call->type,
                         .width = s->width,
                         .data = (char *)s->result + (size_t)w->at * s->width};
        return ALM_OK;
    }
    alm_vec all;
    alm_rows_slice(&w->rows, s->cols.arg[0], 0, &all);
    ALM_TRY(alm_vec_gather(cx, &w->op.batch, &all, s->pick + w->at, n, out));
    return put_defaults(cx, w, s, n, out);
}

/* The next rows in memory with their results; *n = 0: the end. */
static alm_status next_rows(alm_ctx *cx, op_window *w, uint32_t *n)
{
    *n = ALM_MIN((uint32_t)ALM_BATCH_ROWS, w->n - w->at);
    if (*n == 0)
        return ALM_OK;
    alm_arena_reset(&w->op.batch);
    for (uint32_t c = 0; c < w->n_child; c++)
        alm_rows_slice(&w->rows, c, w->at, &w->op.out.cols[c]);
    for (uint32_t i = 0; i < w->n_calls; i++)
        ALM_TRY(result_column(cx, w, &w->state[i], *n, &w->op.out.cols[w->n_child + i]));
    w->at += *n;
    return ALM_OK;
}

static alm_status compute_bucket(alm_ctx *cx, op_window *w, uint32_t bucket)
{
    uint32_t n = 0;
    for (;;) {
        alm_batch *in = NULL;
        ALM_TRY(alm_window_spill_load(cx, w->spill, bucket, &in));
        if (in == NULL)
            break;
        ALM_TRY(alm_rows_append_picked(cx, &w->rows, in->cols, NULL, in->rows));
    }
    if (w->rows.n > 0)
        ALM_TRY(compute(cx, w));
    else
        w->n = 0;
    for (;;) {
        ALM_TRY(next_rows(cx, w, &n));
        if (n == 0)
            break;
        ALM_TRY(alm_window_spill_put(cx, w->spill, bucket, w->op.out.cols, n));
    }
    forget_rows(w);
    return ALM_OK;
}

static alm_status prepare(alm_ctx *cx, op_window *w)
{
    ALM_TRY(read_input(cx, w));
    ALM_TRY(alm_pipe_new(cx, w->op.run, w->op.plan->child[0], w->op.plan, &w->pipe));
    if (w->spill == NULL)
        return compute(cx, w);
    ALM_TRY(alm_window_spill_turn(cx, w->spill));
    for (uint32_t b = 0; b < alm_window_spill_buckets(w->spill); b++)
        ALM_TRY(compute_bucket(cx, w, b));
    return ALM_OK;
}

static alm_status window_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_window *w = (op_window *)op;
    uint32_t n = 0;
    *out = NULL;
    if (!w->ready) {
        ALM_TRY(prepare(cx, w));
        w->ready = true;
    }
    if (w->spill != NULL) {
        alm_arena_reset(&op->batch);
        ALM_TRY(alm_window_spill_next(cx, w->spill, &op->batch, op->plan->cols, op->out.cols, &n));
    } else {
        ALM_TRY(next_rows(cx, w, &n));
    }
    op->out.rows = n;
    if (n > 0)
        *out = &op->out;
    return ALM_OK;
}

static void window_close(alm_op *op)
{
    op_window *w = (op_window *)op;
    alm_eval_free(w->eval);
    alm_window_top_free(w->top);
    alm_window_spill_free(w->spill);
    alm_window_slots_free(w->slots);
    alm_pool_deinit(&w->pool);
    alm_arena_deinit(&w->scratch);
    alm_pipe_free(w->pipe);
}

static const alm_op_vt window_vt = {
    .name = window_name, .next = window_next, .close = window_close};

static alm_status make_columns(alm_ctx *cx, op_window *w, const alm_plan *plan)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < w->n_calls; i++) {
        const alm_window_call *c = &plan->window.calls[i];
        most += c->n_args + c->n_partition + c->n_order + 1;
    }
    ALM_TRY(ALM_NEWN(cx, cx->arena, most + 1, &w->expr));
    ALM_TRY(ALM_NEWN(cx, cx->arena, w->n_calls, &w->state));
    for (uint32_t i = 0; i < w->n_calls; i++) {
        w->state[i].call = &plan->window.calls[i];
        ALM_TRY(place_call(cx, w, w->state[i].call, &w->state[i].cols));
    }
    alm_plan_col *cols = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, w->n_child + w->n_exprs + 1, &cols));
    memcpy(cols, plan->child[0]->cols, w->n_child * sizeof *cols);
    for (uint32_t i = 0; i < w->n_exprs; i++)
        cols[w->n_child + i] = (alm_plan_col){"", w->expr[i]->type};
    ALM_TRY(ALM_NEWN(cx, cx->arena, w->n_child + w->n_exprs + 1, &w->vecs));
    ALM_TRY(alm_rows_init(cx, &w->rows, &w->pool, cols, w->n_child + w->n_exprs));
    ALM_TRY(ALM_NEWN(cx, cx->arena, w->rows.n_cols + 1, &w->fresh));
    memcpy(w->fresh, w->rows.col, w->rows.n_cols * sizeof *w->fresh);
    return alm_eval_new(cx, w->expr, w->n_exprs, &w->eval);
}

alm_status alm_op_window_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                              alm_op **out)
{
    op_window *w = NULL;
    const bool top = plan->window.top > 0;
    if (!top && alm_op_window_streams(plan))
        return alm_op_window_stream_make(cx, run, plan, pipe, out);
    ALM_TRY(ALM_NEW(cx, cx->arena, &w));
    ALM_TRY(alm_op_init(cx, &w->op, &window_vt, run, plan, pipe));
    alm_pool_init(&w->pool, cx->mem, window_vt.name);
    alm_arena_init(&w->scratch, cx->mem);
    *out = &w->op;
    w->n_child = plan->child[0]->n_cols;
    w->n_calls = plan->window.n_calls;
    ALM_ASSERT(plan->n_cols == w->n_child + w->n_calls);
    if (top)
        ALM_TRY(alm_window_top_new(cx, run, plan, &w->top));
    else
        ALM_TRY(alm_op_child(cx, &w->op, 0));
    return make_columns(cx, w, plan);
}
