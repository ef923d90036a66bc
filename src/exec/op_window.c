/*
 * op_window.c - window functions. Two ways: calls that need nothing but rows already seen, in the order
 * they come, stream (window_stream.c); else all rows are held, put into window order per distinct
 * PARTITION BY and ORDER BY, the calls computed, and the rows handed out in input order with one more
 * column per call (this file; window.h).
 *
 * Value functions (lag, first_value ...) leave row numbers behind, from which the values are gathered
 * when a batch is made; the others leave a column.
 */
#include "exec/window.h"

#include "exec/op_make.h"
#include "exec/window_stream.h"
#include "exec/window_top.h"
#include "type/value.h"

typedef struct call_state {
    const alm_window_call *call;
    alm_window_cols cols;
    void *result;   /* in input order, or NULL */
    uint32_t *pick; /* in input order: row of the value, n: none */
    uint8_t width;
    const alm_dict *dict;
    bool done;
} call_state;

typedef struct op_window {
    alm_op op;
    alm_pool pool;
    alm_arena lasting; /* texts of results */
    alm_arena scratch;
    /* the rows: columns of the child, then expressions that are no plain columns; row n is null */
    alm_rows rows;
    uint32_t n, n_child;
    const alm_expr **expr;
    uint32_t n_exprs;
    alm_eval *eval;
    alm_vec *vecs;
    call_state *state;
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

/* -------------------------------------------------------------------------------- computing */

static bool same_order(const alm_window_call *a, const alm_window_call *b)
{
    if (a->n_partition != b->n_partition || a->n_order != b->n_order)
        return false;
    for (uint32_t i = 0; i < a->n_partition; i++)
        if (!alm_eval_expr_equal(a->partition[i], b->partition[i]))
            return false;
    for (uint32_t i = 0; i < a->n_order; i++)
        if (a->order[i].desc != b->order[i].desc ||
            a->order[i].nulls_first != b->order[i].nulls_first ||
            !alm_eval_expr_equal(a->order[i].expr, b->order[i].expr))
            return false;
    return true;
}

/* Everything about one call while it is computed. */
typedef struct call_run {
    const alm_window_order *o;
    uint32_t *lo, *hi;
    alm_vec *arg; /* in window order */
    void **owned;
    uint8_t *null;
    uint32_t
        *before; /* filter: passing rows before each position of the partition, per partition */
    uint8_t *pass;
    void *ordered; /* results in window order */
} call_run;

static bool needs_frames(const alm_window_call *call)
{
    return call->fn->kind == ALM_FN_AGGREGATE || call->fn->window->frame;
}

static alm_status run_open(alm_ctx *cx, op_window *w, call_state *s, call_run *r)
{
    const alm_window_call *call = s->call;
    const size_t n = (size_t)w->n + 1;
    ALM_TRY(ALM_NEWN(cx, cx->arena, call->n_args + 1, &r->arg));
    ALM_TRY(ALM_NEWN(cx, cx->arena, call->n_args + 1, &r->owned));
    if (needs_frames(call)) {
        ALM_TRY(alm_pool_alloc(cx, &w->pool, n * sizeof *r->lo, &r->lo));
        ALM_TRY(alm_pool_alloc(cx, &w->pool, n * sizeof *r->hi, &r->hi));
        ALM_TRY(
            alm_window_frames(cx, &w->pool, &w->rows, w->n, r->o, call, &s->cols, r->lo, r->hi));
    }
    if (call->fn->kind == ALM_FN_AGGREGATE)
        for (uint32_t i = 0; i < call->n_args; i++)
            ALM_TRY(alm_window_column(cx, &w->pool, &w->rows, w->n, r->o, s->cols.arg[i],
                                      &r->arg[i], &r->owned[i]));
    if (call->ignore_nulls && call->n_args > 0) {
        alm_vec v;
        void *owned = NULL;
        ALM_TRY(alm_window_column(cx, &w->pool, &w->rows, w->n, r->o, s->cols.arg[0], &v, &owned));
        ALM_TRY(alm_pool_alloc(cx, &w->pool, n, &r->null));
        alm_vec_null_mask(&v, w->n, r->null);
        alm_pool_free(&w->pool, owned);
    }
    if (s->cols.filter >= 0) {
        alm_vec v;
        void *owned = NULL;
        ALM_TRY(alm_window_column(cx, &w->pool, &w->rows, w->n, r->o, (uint32_t)s->cols.filter, &v,
                                  &owned));
        ALM_TRY(alm_pool_alloc(cx, &w->pool, n, &r->pass));
        memcpy(r->pass, v.data, w->n);
        alm_pool_free(&w->pool, owned);
        ALM_TRY(alm_pool_alloc(cx, &w->pool, n * sizeof *r->before, &r->before));
    }
    return ALM_OK;
}

static void run_close(op_window *w, const alm_window_call *call, call_run *r)
{
    alm_pool_free(&w->pool, r->lo);
    alm_pool_free(&w->pool, r->hi);
    for (uint32_t i = 0; r->owned != NULL && i < call->n_args; i++)
        alm_pool_free(&w->pool, r->owned[i]);
    alm_pool_free(&w->pool, r->null);
    alm_pool_free(&w->pool, r->pass);
    alm_pool_free(&w->pool, r->before);
}

static alm_window_rows partition_of(const call_state *s, const call_run *r, uint32_t p)
{
    const uint32_t start = r->o->start[p];
    return (alm_window_rows){.n = r->o->start[p + 1] - start,
                             .lo = r->lo != NULL ? r->lo + start : NULL,
                             .hi = r->hi != NULL ? r->hi + start : NULL,
                             .peer_lo = r->o->peer_lo + start,
                             .peer_hi = r->o->peer_hi + start,
                             .exclude = s->call->exclude,
                             .null = r->null != NULL ? r->null + start : NULL};
}

/* Arguments of the partition's rows that pass the filter. */
static alm_status filtered_args(alm_ctx *cx, op_window *w, const call_state *s, call_run *r,
                                uint32_t start, uint32_t n, alm_vec *args)
{
    for (uint32_t i = 0; i < s->call->n_args; i++) {
        args[i] = r->arg[i];
        args[i].data = (char *)r->arg[i].data + (size_t)start * r->arg[i].width;
    }
    if (r->pass == NULL)
        return ALM_OK;
    uint32_t *rows = NULL, k = 0;
    alm_arena_reset(&w->scratch);
    ALM_TRY(alm_arena_bytes(cx, &w->scratch, ((size_t)n + 1) * sizeof *rows, &rows));
    for (uint32_t i = 0; i < n; i++) {
        r->before[i] = k;
        rows[k] = i;
        k += r->pass[start + i];
    }
    r->before[n] = k;
    for (uint32_t i = 0; i < s->call->n_args; i++) {
        const alm_vec all = args[i];
        ALM_TRY(alm_vec_gather(cx, &w->scratch, &all, rows, k, &args[i]));
    }
    return ALM_OK;
}

static alm_status compute_agg(alm_ctx *cx, op_window *w, call_state *s, call_run *r, char *out)
{
    alm_window_agg *agg = NULL;
    alm_vec *args = NULL;
    alm_pool pool;
    ALM_TRY(ALM_NEWN(cx, cx->arena, s->call->n_args + 1, &args));
    alm_pool_init(&pool, cx->mem, w->pool.who);
    alm_status st = alm_window_agg_new(cx, &pool, s->call, &w->lasting, &agg);
    for (uint32_t p = 0; p < r->o->n_parts && st == ALM_OK; p++) {
        const alm_window_rows part = partition_of(s, r, p);
        const uint32_t start = r->o->start[p];
        if (part.n == 0)
            continue;
        st = filtered_args(cx, w, s, r, start, part.n, args);
        if (st == ALM_OK)
            st = alm_window_agg_run(cx, agg, &part, r->before, args, s->width,
                                    out + (size_t)start * s->width);
    }
    alm_pool_deinit(&pool);
    return st;
}

#define DEFINE_SPREAD(bits, type)                                                                  \
    static void spread_##bits(const type *restrict from, const uint32_t *restrict perm,            \
                              uint32_t n, type *restrict to)                                       \
    {                                                                                              \
        for (uint32_t i = 0; i < n; i++)                                                           \
            to[perm[i]] = from[i];                                                                 \
    }
typedef struct wide {
    uint64_t half[2];
} wide;
DEFINE_SPREAD(8, uint8_t)
DEFINE_SPREAD(16, uint16_t)
DEFINE_SPREAD(32, uint32_t)
DEFINE_SPREAD(64, uint64_t)
DEFINE_SPREAD(128, wide)
typedef struct widest {
    uint64_t part[4];
} widest;
DEFINE_SPREAD(256, widest)

/* From window order to input order. */
static void spread(const void *from, uint8_t width, const uint32_t *perm, uint32_t n, void *to)
{
    if (width == 1)
        spread_8(from, perm, n, to);
    else if (width == 2)
        spread_16(from, perm, n, to);
    else if (width == 4)
        spread_32(from, perm, n, to);
    else if (width == 8)
        spread_64(from, perm, n, to);
    else if (width == 16)
        spread_128(from, perm, n, to);
    else
        spread_256(from, perm, n, to);
}

static alm_status compute_values(alm_ctx *cx, op_window *w, call_state *s, call_run *r, char *out)
{
    const alm_window_ops *ops = s->call->fn->window;
    const alm_call call = {.cx = cx,
                           .fn = s->call->fn,
                           .data = s->call->data,
                           .result = s->call->type,
                           .pos = s->call->pos,
                           .argc = s->call->n_args};
    for (uint32_t p = 0; p < r->o->n_parts; p++) {
        const alm_window_rows part = partition_of(s, r, p);
        const uint32_t start = r->o->start[p];
        if (part.n == 0)
            continue;
        ALM_TRY(alm_check(cx));
        if (ops->rank != NULL) {
            ops->rank(&call, &part, out + (size_t)start * s->width);
            continue;
        }
        uint32_t *at = (uint32_t *)(void *)out + start;
        ops->pick(&call, &part, at);
        for (uint32_t i = 0; i < part.n; i++) {
            const uint32_t pos = start + at[i];
            at[i] = at[i] == ALM_WINDOW_NONE ? w->n : r->o->perm != NULL ? r->o->perm[pos] : pos;
        }
    }
    return ALM_OK;
}

static alm_status compute_call(alm_ctx *cx, op_window *w, call_state *s, const alm_window_order *o)
{
    const alm_window_call *call = s->call;
    const bool pick = call->fn->kind == ALM_FN_WINDOW && call->fn->window->pick != NULL;
    call_run r = {.o = o};
    char *out = NULL;
    s->width = pick                            ? (uint8_t)sizeof(uint32_t)
               : call->type.id == ALM_T_SYMBOL ? (uint8_t)sizeof(alm_view)
                                               : (uint8_t)alm_type_width(call->type);
    ALM_TRY(alm_pool_alloc(cx, &w->pool, ((size_t)w->n + 1) * s->width, &out));
    ALM_TRY(run_open(cx, w, s, &r));
    if (call->fn->kind == ALM_FN_AGGREGATE)
        ALM_TRY(compute_agg(cx, w, s, &r, out));
    else
        ALM_TRY(compute_values(cx, w, s, &r, out));
    run_close(w, call, &r);
    if (o->perm != NULL) {
        void *to = NULL;
        ALM_TRY(alm_pool_alloc(cx, &w->pool, ((size_t)w->n + 1) * s->width, &to));
        spread(out, s->width, o->perm, w->n, to);
        alm_pool_free(&w->pool, out);
        out = to;
    }
    s->pick = pick ? (uint32_t *)(void *)out : NULL;
    s->result = out;
    s->done = true;
    return ALM_OK;
}

static alm_status compute_all(alm_ctx *cx, op_window *w)
{
    for (uint32_t i = 0; i < w->n_calls; i++) {
        alm_window_order o = {0};
        if (w->state[i].done)
            continue;
        const alm_window_call *first = w->state[i].call;
        ALM_TRY(alm_window_sort(cx, &w->pool, w->op.run->env.workers, &w->rows, w->n, first,
                                &w->state[i].cols, &o));
        for (uint32_t k = i; k < w->n_calls; k++)
            if (!w->state[k].done && same_order(first, w->state[k].call))
                ALM_TRY(compute_call(cx, w, &w->state[k], &o));
        alm_window_order_free(&w->pool, &o);
    }
    return ALM_OK;
}

/* ---------------------------------------------------------------------------------- results */

/* Rows without a value get the default of their own row. */
static alm_status put_defaults(alm_ctx *cx, op_window *w, const call_state *s, uint32_t n,
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

static alm_status result_column(alm_ctx *cx, op_window *w, const call_state *s, uint32_t n,
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
        ALM_TRY(compute_all(cx, w));
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
    alm_pool_deinit(&w->pool);
    alm_arena_deinit(&w->lasting);
    alm_arena_deinit(&w->scratch);
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
    alm_arena_init(&w->lasting, cx->mem);
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
