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
static alm_status op_window_column_of(alm_ctx *cx, op_window *window, const alm_expr *expr,
                                      uint32_t *out)
{
    if (expr->kind == ALM_X_COL) {
        *out = expr->col;
        return ALM_OK;
    }
    const uint64_t hash = alm_expr_hash(expr);
    uint32_t i = 0;
    for (uint32_t place = 0; alm_hashes_next(&window->hashes, hash, &place, &i);) {
        ALM_TRY(alm_steps_add(cx, 1));
        if (alm_eval_expr_equal(window->expr[i], expr) && !alm_eval_expr_volatile(expr)) {
            *out = window->n_child + i;
            return ALM_OK;
        }
    }
    ALM_TRY(alm_hashes_add(cx, cx->arena, &window->hashes, hash));
    window->expr[window->n_exprs] = expr;
    *out = window->n_child + window->n_exprs++;
    return ALM_OK;
}

static alm_status op_window_place_call(alm_ctx *cx, op_window *window, const alm_window_call *call,
                                       alm_window_cols *cols)
{
    ALM_TRY(ALM_NEWN(cx, cx->arena, call->n_args + 1, &cols->arg));
    ALM_TRY(ALM_NEWN(cx, cx->arena, call->n_partition + 1, &cols->partition));
    ALM_TRY(ALM_NEWN(cx, cx->arena, call->n_order + 1, &cols->order));
    for (uint32_t i = 0; i < call->n_args; i++)
        ALM_TRY(op_window_column_of(cx, window, call->args[i], &cols->arg[i]));
    for (uint32_t i = 0; i < call->n_partition; i++)
        ALM_TRY(op_window_column_of(cx, window, call->partition[i], &cols->partition[i]));
    for (uint32_t i = 0; i < call->n_order; i++)
        ALM_TRY(op_window_column_of(cx, window, call->order[i].expr, &cols->order[i]));
    cols->filter = -1;
    if (call->filter == NULL)
        return ALM_OK;
    uint32_t place = 0;
    ALM_TRY(op_window_column_of(cx, window, call->filter, &place));
    cols->filter = (int32_t)place;
    return ALM_OK;
}

/* ---------------------------------------------------------------------------------- reading */

/* Columns and expressions of a batch, as dense vectors in window->vecs. */
static alm_status dense_batch(alm_ctx *cx, op_window *window, alm_batch *batch)
{
    alm_arena_reset(&window->scratch);
    for (uint32_t child = 0; child < window->n_child; child++) {
        alm_vec *dense = NULL;
        ALM_TRY(alm_batch_column(cx, &window->scratch, batch, child, &dense));
        window->vecs[child] = *dense;
    }
    alm_batch dense = {.rows = batch->rows, .n_cols = window->n_child, .cols = batch->cols};
    return alm_eval_run(cx, window->eval, &window->scratch, &dense, window->vecs + window->n_child);
}

/* The row that value functions without a value point at. */
static alm_status op_window_append_nulls(alm_ctx *cx, op_window *window)
{
    for (uint32_t col = 0; col < window->rows.n_cols; col++) {
        ALM_TRY(alm_vec_null(cx, &window->scratch, window->rows.col[col].type, &window->vecs[col]));
        if (window->rows.col[col].dict != NULL) {
            window->vecs[col].dict = window->rows.col[col].dict;
            window->vecs[col].width = sizeof(uint32_t);
            memset(window->vecs[col].data, 0, sizeof(uint32_t));
        }
    }
    return alm_rows_append_picked(cx, &window->rows, window->vecs, NULL, 1);
}

/* -------------------------------------------------------------------------- over the memory */

enum { MARGIN_MIN = 512 * 1024, MARGIN_MAX = 64 * 1024 * 1024 }; /* left free: arenas, files */

static void forget_rows(op_window *window)
{
    alm_window_slots_free(window->slots);
    window->slots = NULL;
    alm_pool_deinit(&window->pool);
    memcpy(window->rows.col, window->fresh, window->rows.n_cols * sizeof *window->fresh);
    window->rows = (alm_rows){
        .pool = window->rows.pool, .col = window->rows.col, .n_cols = window->rows.n_cols};
    for (uint32_t i = 0; i < window->n_calls; i++) {
        window->state[i].done = false;
        window->state[i].result = NULL;
        window->state[i].pick = NULL;
    }
    window->at = 0;
}

/* Would another batch, and then computing all calls, exceed the limit? */
static bool op_window_is_full(const op_window *window)
{
    int64_t limit = 0, row = 0, results = 0;
    const int64_t room = alm_pool_room(&window->pool, &limit), n_rows = window->rows.n;
    if (room == INT64_MAX)
        return false;
    for (uint32_t col = 0; col < window->rows.n_cols; col++)
        row += window->rows.col[col].width;
    for (uint32_t i = 0; i < window->n_calls; i++)
        results += 2 * (int64_t)alm_type_width(window->state[i].call->type);
    const int64_t margin = ALM_MAX((int64_t)MARGIN_MIN, ALM_MIN((int64_t)MARGIN_MAX, limit / 8));
    const int64_t grown = window->rows.n + ALM_BATCH_ROWS > window->rows.cap ? 2 * n_rows * row : 0;
    return grown + (n_rows + ALM_BATCH_ROWS) * (results + 48) > room - margin;
}

static bool op_window_may_spill(const alm_ctx *cx, const op_window *window)
{
    const alm_window_call *first = window->state[0].call;
    if (!alm_spill_allowed(cx, window->op.run->env.spill) || first->n_partition == 0)
        return false;
    for (uint32_t i = 1; i < window->n_calls; i++) {
        const alm_window_call *call = window->state[i].call;
        if (call->n_partition != first->n_partition)
            return false;
        for (uint32_t partition = 0; partition < call->n_partition; partition++)
            if (!alm_eval_expr_equal(call->partition[partition], first->partition[partition]))
                return false;
    }
    return true;
}

/* The rows so far go to files. */
static alm_status start_spill(alm_ctx *cx, op_window *window)
{
    alm_vec *held = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, window->rows.n_cols + 1, &held));
    ALM_TRY(alm_window_spill_new(
        cx, window->op.run, window_name, window->rows.n_cols, window->state[0].cols.partition,
        window->state[0].call->n_partition, window->op.out.n_cols, &window->spill));
    for (uint32_t place = 0; place < window->rows.n; place += ALM_BATCH_ROWS) {
        for (uint32_t col = 0; col < window->rows.n_cols; col++)
            alm_rows_slice(&window->rows, col, place, &held[col]);
        ALM_TRY(alm_window_spill_add(cx, window->spill, held,
                                     ALM_MIN((uint32_t)ALM_BATCH_ROWS, window->rows.n - place)));
    }
    forget_rows(window);
    return ALM_OK;
}

static alm_status op_window_read_input(alm_ctx *cx, op_window *window)
{
    const bool spills = op_window_may_spill(cx, window);
    for (;;) {
        alm_batch *batch = NULL;
        ALM_TRY(window->top != NULL ? alm_window_top_next(cx, window->top, &batch)
                                    : alm_op_next(cx, window->op.child[0], &batch));
        if (batch == NULL)
            break;
        ALM_TRY(dense_batch(cx, window, batch));
        if (window->spill == NULL && spills && op_window_is_full(window))
            ALM_TRY(start_spill(cx, window));
        if (window->spill != NULL)
            ALM_TRY(alm_window_spill_add(cx, window->spill, window->vecs, batch->rows));
        else
            ALM_TRY(alm_rows_append_picked(cx, &window->rows, window->vecs, NULL, batch->rows));
    }
    return ALM_OK;
}

/* All calls over the rows in memory. */
static alm_status compute(alm_ctx *cx, op_window *window)
{
    window->n = window->rows.n;
    ALM_TRY(op_window_append_nulls(cx, window));
    const alm_window_input in = {&window->pool, window->pipe, window->op.run->env.workers,
                                 &window->rows, window->n};
    ALM_TRY(alm_window_compute(cx, &in, window->state, window->n_calls, &window->slots));
    alm_op_count_bytes(window->op.run, window->op.plan, window->pool.bytes);
    return ALM_OK;
}

/* ---------------------------------------------------------------------------------- results */

/* Rows without a value get the default of their own row. */
static alm_status put_defaults(alm_ctx *cx, op_window *window, const alm_window_result *result,
                               uint32_t n_rows, alm_vec *vec)
{
    const int32_t arg = result->call->fn->window->default_arg;
    if (arg == 0 || (uint32_t)arg >= result->call->n_args)
        return ALM_OK;
    alm_vec other;
    alm_rows_slice(&window->rows, result->cols.arg[arg], window->at, &other);
    if (vec->width != other.width || vec->dict != other.dict) { /* symbols of different forms */
        const alm_vec a = *vec, b = other;
        ALM_TRY(alm_vec_decode(cx, &window->op.batch, &a, n_rows, vec));
        ALM_TRY(alm_vec_decode(cx, &window->op.batch, &b, n_rows, &other));
    }
    for (uint32_t i = 0; i < n_rows; i++)
        if (result->pick[window->at + i] == window->n)
            memcpy((char *)vec->data + (size_t)i * vec->width,
                   (const char *)other.data + (size_t)i * vec->width, vec->width);
    return ALM_OK;
}

static alm_status result_column(alm_ctx *cx, op_window *window, const alm_window_result *result,
                                uint32_t n_rows, alm_vec *out)
{
    if (result->pick == NULL) {
        *out = (alm_vec){.type = result->call->type,
                         .width = result->width,
                         .data = (char *)result->result + (size_t)window->at * result->width};
        return ALM_OK;
    }
    alm_vec all;
    alm_rows_slice(&window->rows, result->cols.arg[0], 0, &all);
    ALM_TRY(alm_vec_gather(cx, &window->op.batch, &all, result->pick + window->at, n_rows, out));
    return put_defaults(cx, window, result, n_rows, out);
}

/* The next rows in memory with their results; *n = 0: the end. */
static alm_status op_window_next_rows(alm_ctx *cx, op_window *window, uint32_t *n)
{
    *n = ALM_MIN((uint32_t)ALM_BATCH_ROWS, window->n - window->at);
    if (*n == 0)
        return ALM_OK;
    alm_arena_reset(&window->op.batch);
    for (uint32_t child = 0; child < window->n_child; child++)
        alm_rows_slice(&window->rows, child, window->at, &window->op.out.cols[child]);
    for (uint32_t i = 0; i < window->n_calls; i++)
        ALM_TRY(result_column(cx, window, &window->state[i], *n,
                              &window->op.out.cols[window->n_child + i]));
    window->at += *n;
    return ALM_OK;
}

static alm_status compute_bucket(alm_ctx *cx, op_window *window, uint32_t bucket)
{
    uint32_t n = 0;
    for (;;) {
        alm_batch *batch = NULL;
        ALM_TRY(alm_window_spill_load(cx, window->spill, bucket, &batch));
        if (batch == NULL)
            break;
        ALM_TRY(alm_rows_append_picked(cx, &window->rows, batch->cols, NULL, batch->rows));
    }
    if (window->rows.n > 0)
        ALM_TRY(compute(cx, window));
    else
        window->n = 0;
    for (;;) {
        ALM_TRY(op_window_next_rows(cx, window, &n));
        if (n == 0)
            break;
        ALM_TRY(alm_window_spill_put(cx, window->spill, bucket, window->op.out.cols, n));
    }
    forget_rows(window);
    return ALM_OK;
}

static alm_status op_window_prepare(alm_ctx *cx, op_window *window)
{
    ALM_TRY(op_window_read_input(cx, window));
    ALM_TRY(alm_pipe_new(cx, window->op.run, window->op.plan->child[0], window->op.plan,
                         &window->pipe));
    if (window->spill == NULL)
        return compute(cx, window);
    ALM_TRY(alm_window_spill_turn(cx, window->spill));
    for (uint32_t bucket = 0; bucket < alm_window_spill_buckets(window->spill); bucket++)
        ALM_TRY(compute_bucket(cx, window, bucket));
    return ALM_OK;
}

static alm_status window_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_window *window = (op_window *)op;
    uint32_t n = 0;
    *out = NULL;
    if (!window->ready) {
        ALM_TRY(op_window_prepare(cx, window));
        window->ready = true;
    }
    if (window->spill != NULL) {
        alm_arena_reset(&op->batch);
        ALM_TRY(
            alm_window_spill_next(cx, window->spill, &op->batch, op->plan->cols, op->out.cols, &n));
    } else {
        ALM_TRY(op_window_next_rows(cx, window, &n));
    }
    op->out.rows = n;
    if (n > 0)
        *out = &op->out;
    return ALM_OK;
}

static void window_close(alm_op *op)
{
    op_window *window = (op_window *)op;
    alm_eval_free(window->eval);
    alm_window_top_free(window->top);
    alm_window_spill_free(window->spill);
    alm_window_slots_free(window->slots);
    alm_pool_deinit(&window->pool);
    alm_arena_deinit(&window->scratch);
    alm_pipe_free(window->pipe);
}

static const alm_op_vt window_vt = {
    .name = window_name, .next = window_next, .close = window_close};

static alm_status make_columns(alm_ctx *cx, op_window *window, const alm_plan *plan)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < window->n_calls; i++) {
        const alm_window_call *call = &plan->window.calls[i];
        most += call->n_args + call->n_partition + call->n_order + 1;
    }
    ALM_TRY(ALM_NEWN(cx, cx->arena, most + 1, &window->expr));
    ALM_TRY(ALM_NEWN(cx, cx->arena, window->n_calls, &window->state));
    for (uint32_t i = 0; i < window->n_calls; i++) {
        window->state[i].call = &plan->window.calls[i];
        ALM_TRY(op_window_place_call(cx, window, window->state[i].call, &window->state[i].cols));
    }
    alm_plan_col *cols = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, window->n_child + window->n_exprs + 1, &cols));
    memcpy(cols, plan->child[0]->cols, window->n_child * sizeof *cols);
    for (uint32_t i = 0; i < window->n_exprs; i++)
        cols[window->n_child + i] = (alm_plan_col){"", window->expr[i]->type};
    ALM_TRY(ALM_NEWN(cx, cx->arena, window->n_child + window->n_exprs + 1, &window->vecs));
    ALM_TRY(
        alm_rows_init(cx, &window->rows, &window->pool, cols, window->n_child + window->n_exprs));
    ALM_TRY(ALM_NEWN(cx, cx->arena, window->rows.n_cols + 1, &window->fresh));
    memcpy(window->fresh, window->rows.col, window->rows.n_cols * sizeof *window->fresh);
    return alm_eval_new(cx, window->expr, window->n_exprs, &window->eval);
}

alm_status alm_op_window_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                              alm_op **out)
{
    op_window *window = NULL;
    const bool top = plan->window.top > 0;
    if (!top && alm_op_window_streams(plan))
        return alm_op_window_stream_make(cx, run, plan, pipe, out);
    ALM_TRY(ALM_NEW(cx, cx->arena, &window));
    ALM_TRY(alm_op_init(cx, &window->op, &window_vt, run, plan, pipe));
    alm_pool_init(&window->pool, cx->mem, window_vt.name);
    alm_arena_init(&window->scratch, cx->mem);
    *out = &window->op;
    window->n_child = plan->child[0]->n_cols;
    window->n_calls = plan->window.n_calls;
    ALM_ASSERT(plan->n_cols == window->n_child + window->n_calls);
    if (top)
        ALM_TRY(alm_window_top_new(cx, run, plan, &window->top));
    else
        ALM_TRY(alm_op_child(cx, &window->op, 0));
    return make_columns(cx, window, plan);
}
