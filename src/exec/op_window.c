/*
 * op_window.c - window functions. Two ways: calls that need nothing but rows already seen, in the order
 * they come, stream (window_stream.c); else all rows are held, put into window order per distinct
 * PARTITION BY and ORDER BY, the calls computed, and the rows handed out in input order with one more
 * column per call (this file; window.h).
 *
 * Value functions (lag, first_value ...) leave row numbers behind, from which the values are gathered
 * when a batch is made; the others leave a column.
 *
 * Memory      charged as "window"; the error names it.
 */
#include "exec/window.h"

#include "exec/op_make.h"
#include "exec/window_stream.h"
#include "exec/window_top.h"
#include "type/value.h"

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
    alm_eval *eval;
    alm_vec *vecs;
    alm_window_result *state;
    uint32_t n_calls;
    alm_window_top *top; /* where only the first rows of each partition are wanted */
    bool ready;
    uint32_t at;
} op_window;

/* ------------------------------------------------------------------------------ expressions */

/* Column of the rows that holds an expression. */
static uint32_t column_of(op_window *w, const alm_expr *e)
{
    if (e->kind == ALM_X_COL)
        return e->col;
    for (uint32_t i = 0; i < w->n_exprs; i++)
        if (alm_eval_expr_equal(w->expr[i], e) && !alm_eval_expr_volatile(e))
            return w->n_child + i;
    w->expr[w->n_exprs] = e;
    return w->n_child + w->n_exprs++;
}

static alm_status place_call(alm_ctx *cx, op_window *w, const alm_window_call *call,
                             alm_window_cols *cols)
{
    ALM_TRY(ALM_NEWN(cx, cx->arena, call->n_args + 1, &cols->arg));
    ALM_TRY(ALM_NEWN(cx, cx->arena, call->n_partition + 1, &cols->partition));
    ALM_TRY(ALM_NEWN(cx, cx->arena, call->n_order + 1, &cols->order));
    for (uint32_t i = 0; i < call->n_args; i++)
        cols->arg[i] = column_of(w, call->args[i]);
    for (uint32_t i = 0; i < call->n_partition; i++)
        cols->partition[i] = column_of(w, call->partition[i]);
    for (uint32_t i = 0; i < call->n_order; i++)
        cols->order[i] = column_of(w, call->order[i].expr);
    cols->filter = call->filter != NULL ? (int32_t)column_of(w, call->filter) : -1;
    return ALM_OK;
}

/* ---------------------------------------------------------------------------------- reading */

static alm_status append_batch(alm_ctx *cx, op_window *w, alm_batch *in)
{
    alm_arena_reset(&w->scratch);
    for (uint32_t c = 0; c < w->n_child; c++) {
        alm_vec *dense = NULL;
        ALM_TRY(alm_batch_column(cx, &w->scratch, in, c, &dense));
        w->vecs[c] = *dense;
    }
    alm_batch dense = {.rows = in->rows, .n_cols = w->n_child, .cols = in->cols};
    ALM_TRY(alm_eval_run(cx, w->eval, &w->scratch, &dense, w->vecs + w->n_child));
    return alm_rows_append_picked(cx, &w->rows, w->vecs, NULL, in->rows);
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

static alm_status read_input(alm_ctx *cx, op_window *w)
{
    for (;;) {
        alm_batch *in = NULL;
        ALM_TRY(w->top != NULL ? alm_window_top_next(cx, w->top, &in)
                               : alm_op_next(cx, w->op.child[0], &in));
        if (in == NULL)
            break;
        ALM_TRY(append_batch(cx, w, in));
    }
    w->n = w->rows.n;
    return append_nulls(cx, w);
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

static alm_status window_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_window *w = (op_window *)op;
    *out = NULL;
    if (!w->ready) {
        ALM_TRY(read_input(cx, w));
        ALM_TRY(alm_pipe_new(cx, op->run, op->plan->child[0], op->plan, &w->pipe));
        ALM_TRY(alm_window_compute(cx, &w->pool, w->pipe, op->run->env.workers, &w->rows, w->n,
                                   w->state, w->n_calls, &w->slots));
        alm_op_count_bytes(op->run, op->plan, w->pool.bytes);
        w->ready = true;
    }
    const uint32_t n = ALM_MIN((uint32_t)ALM_BATCH_ROWS, w->n - w->at);
    if (n == 0)
        return ALM_OK;
    alm_arena_reset(&op->batch);
    for (uint32_t c = 0; c < w->n_child; c++)
        alm_rows_slice(&w->rows, c, w->at, &op->out.cols[c]);
    for (uint32_t i = 0; i < w->n_calls; i++)
        ALM_TRY(result_column(cx, w, &w->state[i], n, &op->out.cols[w->n_child + i]));
    w->at += n;
    op->out.rows = n;
    *out = &op->out;
    return ALM_OK;
}

static void window_close(alm_op *op)
{
    op_window *w = (op_window *)op;
    alm_eval_free(w->eval);
    alm_window_top_free(w->top);
    alm_window_slots_free(w->slots);
    alm_pool_deinit(&w->pool);
    alm_arena_deinit(&w->scratch);
    alm_pipe_free(w->pipe);
}

static const alm_op_vt window_vt = {.name = "window", .next = window_next, .close = window_close};

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
