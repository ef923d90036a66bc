/*
 * op_window_stream.c - the operator of streaming window functions: numbers the partitions of each
 * batch, runs the calls (stream.h), passes the child's columns on as they are.
 *
 * Where a call needs to see ties (RANGE frames), the last rows of a batch that have one time are held
 * until the next batch shows another time; they come out as a batch of their own.
 */
#include "exec/data/keymap.h"
#include "exec/data/rows.h"
#include "exec/eval/eval.h"
#include "exec/run/op_make.h"
#include "exec/window/stream.h"

/* Calls with the same PARTITION BY. */
typedef struct partition {
    alm_expr **key;
    uint32_t n_keys;
    uint32_t first_vec;   /* of the program */
    const alm_dict *dict; /* numbers are its codes */
    alm_keymap *map;
    uint32_t *number;
    uint32_t *held; /* of the rows that wait */
} partition;

typedef struct stream_call {
    const alm_window_call *call;
    alm_window_stream *stream;
    uint32_t part;
    int32_t arg, other, filter; /* vectors of the program, -1: none */
    void *out, *held_out;
} stream_call;

typedef struct op_window_stream {
    alm_op op;
    alm_pool pool;
    alm_eval *eval;
    alm_vec *vec;
    int32_t ts; /* vector of the program, -1 */
    bool ties;
    partition *part;
    uint32_t n_parts;
    stream_call *call;
    uint32_t n_calls, n_child;
    uint32_t n_vecs;
    bool *is_key; /* by vector: of a PARTITION BY */
    /* rows that may still have peers: the child's columns, then the vectors of the program */
    alm_rows held;
    alm_rows_col *fresh; /* columns of empty rows */
    alm_pool held_pool;
    uint32_t held_cap; /* of the arrays beside them */
    int64_t held_ts;
    alm_vec *held_cols;
    bool flushing; /* they are complete and computed; rows [held_at, held.n) are to be given out */
    uint32_t held_at;
    alm_arena scratch;
    alm_batch *in; /* batch under way; rows [in_at, in_end) are to be computed */
    uint32_t in_at, in_end;
    bool ended;
} op_window_stream;

/* -------------------------------------------------------------------------------- partitions */

/* From codes to a map; numbers stay. */
static alm_status partition_map(alm_ctx *cx, op_window_stream *w, partition *p)
{
    alm_type *types = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, p->n_keys, &types));
    for (uint32_t k = 0; k < p->n_keys; k++)
        types[k] = p->key[k]->type;
    ALM_TRY(alm_keymap_new(cx, &w->pool, types, p->n_keys, &p->map));
    for (uint32_t at = 0; p->dict != NULL && at < p->dict->count; at += ALM_BATCH_ROWS) {
        const uint32_t n = ALM_MIN((uint32_t)ALM_BATCH_ROWS, p->dict->count - at);
        uint32_t *code = NULL;
        ALM_TRY(alm_arena_bytes(cx, &w->scratch, n * sizeof *code, &code));
        for (uint32_t i = 0; i < n; i++)
            code[i] = at + i;
        const alm_vec v = {
            .type = ALM_TY(SYMBOL), .width = sizeof *code, .dict = p->dict, .data = code};
        ALM_TRY(alm_keymap_add(cx, p->map, &v, n, p->number));
    }
    p->dict = NULL;
    return ALM_OK;
}

ALM_SIMD static void widen_8(const uint8_t *restrict code, uint32_t n, uint32_t *restrict number)
{
    for (uint32_t i = 0; i < n; i++)
        number[i] = code[i];
}

ALM_SIMD static void widen_16(const uint16_t *restrict code, uint32_t n, uint32_t *restrict number)
{
    for (uint32_t i = 0; i < n; i++)
        number[i] = code[i];
}

static void codes_to_numbers(const alm_vec *v, uint32_t n, uint32_t *number)
{
    if (v->is_const)
        for (uint32_t i = 0; i < n; i++)
            number[i] = alm_vec_code(v, 0);
    else if (v->width == 1)
        widen_8(v->data, n, number);
    else if (v->width == 2)
        widen_16(v->data, n, number);
    else
        memcpy(number, v->data, n * sizeof *number);
}

static alm_status number_rows(alm_ctx *cx, op_window_stream *w, partition *p, uint32_t n,
                              uint32_t *n_numbers)
{
    const alm_vec *v = &w->vec[p->first_vec];
    *n_numbers = 1;
    if (p->n_keys == 0)
        return ALM_OK;
    const bool codes = p->n_keys == 1 && v->dict != NULL && p->map == NULL;
    if (codes && (p->dict == NULL || p->dict->id == v->dict->id)) {
        p->dict = v->dict;
        codes_to_numbers(v, n, p->number);
        *n_numbers = v->dict->count;
        return ALM_OK;
    }
    if (p->map == NULL)
        ALM_TRY(partition_map(cx, w, p));
    ALM_TRY(alm_keymap_add(cx, p->map, v, n, p->number));
    *n_numbers = alm_keymap_count(p->map);
    return ALM_OK;
}

/* --------------------------------------------------------------------------------- computing */

static alm_vec from_row(const alm_vec *v, uint32_t row)
{
    alm_vec out = *v;
    if (!v->is_const)
        out.data = (char *)v->data + (size_t)row * v->width;
    return out;
}

/* Results of rows [at, at + n) of `vec`, whose partitions are in part[].number or, held, in .held. */
static alm_status run_calls(alm_ctx *cx, op_window_stream *w, const alm_vec *vec, bool held,
                            uint32_t at, uint32_t n)
{
    const int64_t *ts = w->ts >= 0 ? (const int64_t *)vec[w->ts].data + at : NULL;
    for (uint32_t i = 0; i < w->n_calls; i++) {
        stream_call *c = &w->call[i];
        const partition *p = &w->part[c->part];
        alm_stream_rows r = {.n = n,
                             .number = (held ? p->held : p->number) + at,
                             .single = p->n_keys == 0,
                             .ts = ts};
        alm_vec arg, other;
        if (c->arg >= 0) {
            arg = from_row(&vec[c->arg], at);
            r.arg = &arg;
        }
        if (c->other >= 0) {
            other = from_row(&vec[c->other], at);
            r.other = &other;
        }
        if (c->filter >= 0)
            r.pass = (const uint8_t *)vec[c->filter].data + at;
        ALM_TRY(alm_window_stream_run(cx, c->stream, &r, held ? c->held_out : c->out));
    }
    return ALM_OK;
}

static void put_results(op_window_stream *w, bool held, uint32_t at)
{
    for (uint32_t i = 0; i < w->n_calls; i++) {
        const stream_call *c = &w->call[i];
        const uint32_t width = alm_type_width(c->call->type);
        w->op.out.cols[w->n_child + i] =
            (alm_vec){.type = c->call->type,
                      .width = (uint8_t)width,
                      .data = (char *)(held ? c->held_out : c->out) + (size_t)at * width};
    }
}

/* Evaluates expressions and partitions of a batch. */
static alm_status take_batch(alm_ctx *cx, op_window_stream *w, alm_batch *in)
{
    alm_arena_reset(&w->scratch);
    ALM_TRY(alm_eval_run(cx, w->eval, &w->scratch, in, w->vec));
    for (uint32_t v = 0; v < w->n_vecs; v++)
        if (w->vec[v].is_const && !w->is_key[v]) { /* kernels take arrays */
            const alm_vec one = w->vec[v];
            ALM_TRY(alm_vec_expand(cx, &w->scratch, &one, in->rows, &w->vec[v]));
        }
    for (uint32_t p = 0; p < w->n_parts; p++) {
        uint32_t numbers = 0;
        ALM_TRY(number_rows(cx, w, &w->part[p], in->rows, &numbers));
        for (uint32_t i = 0; i < w->n_calls; i++)
            if (w->call[i].part == p)
                ALM_TRY(alm_window_stream_reserve(cx, w->call[i].stream, numbers));
    }
    return ALM_OK;
}

/* --------------------------------------------------------------------------------- held rows */

static alm_status reserve_held(alm_ctx *cx, op_window_stream *w, uint32_t n)
{
    if (n <= w->held_cap)
        return ALM_OK;
    const uint32_t cap = ALM_MAX(n, 2 * w->held_cap);
    for (uint32_t p = 0; p < w->n_parts; p++)
        ALM_TRY(alm_pool_grow(cx, &w->pool, &w->part[p].held,
                              (size_t)w->held_cap * sizeof(uint32_t),
                              (size_t)cap * sizeof(uint32_t)));
    for (uint32_t i = 0; i < w->n_calls; i++)
        ALM_TRY(alm_pool_grow(cx, &w->pool, &w->call[i].held_out, 0,
                              (size_t)cap * alm_type_width(w->call[i].call->type)));
    w->held_cap = cap;
    return ALM_OK;
}

/* Rows [lo, hi) of the batch under way join those that wait. */
static alm_status hold(alm_ctx *cx, op_window_stream *w, uint32_t lo, uint32_t hi)
{
    const uint32_t at = w->held.n, n = hi - lo;
    if (n == 0)
        return ALM_OK;
    w->held_ts = ((const int64_t *)w->vec[w->ts].data)[lo];
    ALM_TRY(reserve_held(cx, w, at + n));
    for (uint32_t p = 0; p < w->n_parts; p++)
        memcpy(w->part[p].held + at, w->part[p].number + lo, n * sizeof(uint32_t));
    for (uint32_t c = 0; c < w->n_child; c++) {
        alm_vec *dense = NULL;
        ALM_TRY(alm_batch_column(cx, &w->scratch, w->in, c, &dense));
        w->held_cols[c] = from_row(dense, lo);
    }
    for (uint32_t v = 0; v < w->n_vecs; v++)
        w->held_cols[w->n_child + v] = from_row(&w->vec[v], lo);
    return alm_rows_append_picked(cx, &w->held, w->held_cols, NULL, n);
}

/* All their peers are here: their results. */
static alm_status complete_held(alm_ctx *cx, op_window_stream *w)
{
    alm_vec *vec = w->held_cols + w->n_child;
    for (uint32_t v = 0; v < w->n_vecs; v++)
        alm_rows_slice(&w->held, w->n_child + v, 0, &vec[v]);
    ALM_TRY(run_calls(cx, w, vec, true, 0, w->held.n));
    w->flushing = true;
    w->held_at = 0;
    return ALM_OK;
}

static void emit_held(op_window_stream *w, alm_batch **out)
{
    const uint32_t n = ALM_MIN((uint32_t)ALM_BATCH_ROWS, w->held.n - w->held_at);
    *out = NULL;
    if (n == 0) { /* given out: forget them, texts too */
        alm_pool_deinit(&w->held_pool);
        memcpy(w->held.col, w->fresh, w->held.n_cols * sizeof *w->fresh);
        w->held = (alm_rows){.pool = w->held.pool, .col = w->held.col, .n_cols = w->held.n_cols};
        w->flushing = false;
        return;
    }
    for (uint32_t c = 0; c < w->n_child; c++)
        alm_rows_slice(&w->held, c, w->held_at, &w->op.out.cols[c]);
    put_results(w, true, w->held_at);
    w->op.out.rows = n;
    w->op.out.sel = NULL;
    w->held_at += n;
    *out = &w->op.out;
}

/* --------------------------------------------------------------------------------- operator */

/* The next batch of the child, cut into: peers of the held rows, rows to compute, rows to hold. */
static alm_status fetch(alm_ctx *cx, op_window_stream *w)
{
    ALM_TRY(alm_op_next(cx, w->op.child[0], &w->in));
    if (w->in == NULL) {
        w->ended = true;
        return w->held.n > 0 ? complete_held(cx, w) : ALM_OK;
    }
    ALM_TRY(take_batch(cx, w, w->in));
    w->in_at = 0;
    w->in_end = w->in->rows;
    if (!w->ties || w->in->rows == 0)
        return ALM_OK;
    const int64_t *ts = w->vec[w->ts].data;
    if (w->held.n > 0) {
        while (w->in_at < w->in_end && ts[w->in_at] == w->held_ts)
            w->in_at++;
        ALM_TRY(hold(cx, w, 0, w->in_at));
        if (w->in_at == w->in_end)
            return ALM_OK;
        ALM_TRY(complete_held(cx, w));
    }
    const int64_t last = ts[w->in_end - 1];
    while (w->in_end > w->in_at && ts[w->in_end - 1] == last)
        w->in_end--;
    return ALM_OK;
}

static alm_status emit_rows(alm_ctx *cx, op_window_stream *w, alm_batch **out)
{
    alm_batch *in = w->in, *to = &w->op.out;
    const uint32_t at = w->in_at, n = w->in_end - at;
    if (n > 0) {
        ALM_TRY(run_calls(cx, w, w->vec, false, at, n));
        for (uint32_t c = 0; c < w->n_child; c++)
            to->cols[c] = in->cols[c].indirect ? in->cols[c] : from_row(&in->cols[c], at);
        to->sel = in->sel != NULL ? in->sel + at : NULL;
        to->rows = n;
        put_results(w, false, 0);
        *out = to;
    }
    ALM_TRY(hold(cx, w, ALM_MAX(w->in_end, at), in->rows));
    w->in = NULL;
    return ALM_OK;
}

static alm_status stream_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_window_stream *w = (op_window_stream *)op;
    *out = NULL;
    alm_arena_reset(&op->batch);
    while (*out == NULL) {
        if (w->flushing)
            emit_held(w, out);
        else if (w->in != NULL)
            ALM_TRY(emit_rows(cx, w, out));
        else if (w->ended)
            return ALM_OK;
        else
            ALM_TRY(fetch(cx, w));
    }
    return ALM_OK;
}

static void stream_close(alm_op *op)
{
    op_window_stream *w = (op_window_stream *)op;
    alm_eval_free(w->eval);
    alm_pool_deinit(&w->pool);
    alm_pool_deinit(&w->held_pool);
    alm_arena_deinit(&w->scratch);
}

static void stream_hint(alm_op *op, int64_t rows)
{
    alm_op_hint(op->child[0], rows);
}

static int64_t stream_count(alm_ctx *cx, alm_op *op)
{
    const op_window_stream *w = (op_window_stream *)op;
    return w->in == NULL && w->held.n == 0 ? alm_op_count(cx, op->child[0]) : -1;
}

static const alm_op_vt stream_vt = {.name = "window",
                                    .next = stream_next,
                                    .close = stream_close,
                                    .hint = stream_hint,
                                    .count = stream_count};

/* --------------------------------------------------------------------------------- making */

static bool same_partition(const partition *p, const alm_window_call *c)
{
    if (p->n_keys != c->n_partition)
        return false;
    for (uint32_t i = 0; i < p->n_keys; i++)
        if (!alm_eval_expr_equal(p->key[i], c->partition[i]))
            return false;
    return true;
}

static alm_status place_partition(alm_ctx *cx, op_window_stream *w, stream_call *c,
                                  const alm_expr **expr)
{
    for (c->part = 0; c->part < w->n_parts; c->part++) {
        ALM_TRY(alm_steps_add(cx, 1 + (int64_t)c->call->n_partition));
        if (same_partition(&w->part[c->part], c->call))
            return ALM_OK;
    }
    partition *p = &w->part[w->n_parts++];
    p->key = c->call->partition;
    p->n_keys = c->call->n_partition;
    p->first_vec = w->n_vecs;
    for (uint32_t i = 0; i < p->n_keys; i++) {
        w->is_key[w->n_vecs] = true;
        expr[w->n_vecs++] = p->key[i];
    }
    return ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &p->number);
}

static alm_status place_call(alm_ctx *cx, op_window_stream *w, stream_call *c,
                             const alm_expr **expr)
{
    const alm_window_call *call = c->call;
    const bool value = call->fn->kind == ALM_FN_WINDOW;
    const int32_t other = value ? call->fn->window->default_arg : 0;
    ALM_TRY(place_partition(cx, w, c, expr));
    c->arg = c->other = c->filter = -1;
    if (call->filter != NULL) {
        c->filter = (int32_t)w->n_vecs;
        expr[w->n_vecs++] = call->filter;
    }
    if (call->n_args > 0) {
        c->arg = (int32_t)w->n_vecs;
        expr[w->n_vecs++] = call->args[0];
    }
    if (other > 0 && (uint32_t)other < call->n_args) {
        c->other = (int32_t)w->n_vecs;
        expr[w->n_vecs++] = call->args[other];
    }
    if (w->ts < 0 && call->n_order > 0) {
        w->ts = (int32_t)w->n_vecs;
        expr[w->n_vecs++] = call->order[0].expr;
    }
    ALM_TRY(alm_arena_bytes(cx, cx->arena, ALM_BATCH_ROWS * alm_type_width(call->type), &c->out));
    ALM_TRY(alm_window_stream_new(cx, &w->pool, call, &c->stream));
    w->ties |= alm_window_stream_ties(c->stream);
    return ALM_OK;
}

static alm_status make_held(alm_ctx *cx, op_window_stream *w, const alm_plan *child,
                            const alm_expr **expr)
{
    alm_plan_col *cols = NULL;
    const uint32_t n = w->n_child + w->n_vecs;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &cols));
    memcpy(cols, child->cols, w->n_child * sizeof *cols);
    for (uint32_t v = 0; v < w->n_vecs; v++)
        cols[w->n_child + v] = (alm_plan_col){"", expr[v]->type};
    ALM_TRY(alm_rows_init(cx, &w->held, &w->held_pool, cols, n));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &w->held_cols));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &w->fresh));
    memcpy(w->fresh, w->held.col, n * sizeof *w->fresh);
    return ALM_OK;
}

bool alm_op_window_streams(const alm_plan *plan)
{
    for (uint32_t i = 0; i < plan->window.n_calls; i++)
        if (!alm_window_streams(&plan->window.calls[i]))
            return false;
    return true;
}

alm_status alm_op_window_stream_make(alm_ctx *cx, alm_run *run, const alm_plan *plan,
                                     alm_pipe *pipe, alm_op **out)
{
    op_window_stream *w = NULL;
    const alm_expr **expr = NULL;
    uint32_t most = 1;
    ALM_TRY(ALM_NEW(cx, cx->arena, &w));
    ALM_TRY(alm_op_init(cx, &w->op, &stream_vt, run, plan, pipe));
    alm_pool_init(&w->pool, cx->mem, stream_vt.name);
    alm_pool_init(&w->held_pool, cx->mem, stream_vt.name);
    alm_arena_init(&w->scratch, cx->mem);
    *out = &w->op;
    w->ts = -1;
    w->n_child = plan->child[0]->n_cols;
    w->n_calls = plan->window.n_calls;
    ALM_ASSERT(plan->n_cols == w->n_child + w->n_calls);
    ALM_TRY(alm_op_child(cx, &w->op, 0));
    for (uint32_t i = 0; i < w->n_calls; i++)
        most += plan->window.calls[i].n_partition + 4;
    ALM_TRY(ALM_NEWN(cx, cx->arena, most, &expr));
    ALM_TRY(ALM_NEWN(cx, cx->arena, most, &w->is_key));
    ALM_TRY(ALM_NEWN(cx, cx->arena, w->n_calls, &w->call));
    ALM_TRY(ALM_NEWN(cx, cx->arena, w->n_calls, &w->part));
    for (uint32_t i = 0; i < w->n_calls; i++) {
        w->call[i].call = &plan->window.calls[i];
        ALM_TRY(place_call(cx, w, &w->call[i], expr));
    }
    ALM_TRY(ALM_NEWN(cx, cx->arena, w->n_vecs + 1, &w->vec));
    ALM_TRY(make_held(cx, w, plan->child[0], expr));
    return alm_eval_new(cx, expr, w->n_vecs, &w->eval);
}
