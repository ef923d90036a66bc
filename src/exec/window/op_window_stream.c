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
static alm_status partition_map(alm_ctx *cx, op_window_stream *stream, partition *self)
{
    alm_type *types = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, self->n_keys, &types));
    for (uint32_t key = 0; key < self->n_keys; key++)
        types[key] = self->key[key]->type;
    ALM_TRY(alm_keymap_new(cx, &stream->pool, types, self->n_keys, &self->map));
    for (uint32_t place = 0; self->dict != NULL && place < self->dict->count;
         place += ALM_BATCH_ROWS) {
        const uint32_t n_rows = ALM_MIN((uint32_t)ALM_BATCH_ROWS, self->dict->count - place);
        uint32_t *code = NULL;
        ALM_TRY(alm_arena_bytes(cx, &stream->scratch, n_rows * sizeof *code, &code));
        for (uint32_t i = 0; i < n_rows; i++)
            code[i] = place + i;
        const alm_vec vec = {
            .type = ALM_TY(SYMBOL), .width = sizeof *code, .dict = self->dict, .data = code};
        ALM_TRY(alm_keymap_add(cx, self->map, &vec, n_rows, self->number));
    }
    self->dict = NULL;
    return ALM_OK;
}

ALM_SIMD static void widen_8(const uint8_t *restrict code, uint32_t n_codes,
                             uint32_t *restrict number)
{
    for (uint32_t i = 0; i < n_codes; i++)
        number[i] = code[i];
}

ALM_SIMD static void widen_16(const uint16_t *restrict code, uint32_t n_codes,
                              uint32_t *restrict number)
{
    for (uint32_t i = 0; i < n_codes; i++)
        number[i] = code[i];
}

static void codes_to_numbers(const alm_vec *vec, uint32_t n_rows, uint32_t *number)
{
    if (vec->is_const)
        for (uint32_t i = 0; i < n_rows; i++)
            number[i] = alm_vec_code(vec, 0);
    else if (vec->width == 1)
        widen_8(vec->data, n_rows, number);
    else if (vec->width == 2)
        widen_16(vec->data, n_rows, number);
    else
        memcpy(number, vec->data, n_rows * sizeof *number);
}

static alm_status op_window_stream_number_rows(alm_ctx *cx, op_window_stream *stream,
                                               partition *self, uint32_t n, uint32_t *n_numbers)
{
    const alm_vec *vec = &stream->vec[self->first_vec];
    *n_numbers = 1;
    if (self->n_keys == 0)
        return ALM_OK;
    const bool codes = self->n_keys == 1 && vec->dict != NULL && self->map == NULL;
    if (codes && (self->dict == NULL || self->dict->id == vec->dict->id)) {
        self->dict = vec->dict;
        codes_to_numbers(vec, n, self->number);
        *n_numbers = vec->dict->count;
        return ALM_OK;
    }
    if (self->map == NULL)
        ALM_TRY(partition_map(cx, stream, self));
    ALM_TRY(alm_keymap_add(cx, self->map, vec, n, self->number));
    *n_numbers = alm_keymap_count(self->map);
    return ALM_OK;
}

/* --------------------------------------------------------------------------------- computing */

static alm_vec from_row(const alm_vec *vec, uint32_t row)
{
    alm_vec out = *vec;
    if (!vec->is_const)
        out.data = (char *)vec->data + (size_t)row * vec->width;
    return out;
}

/* Results of rows [at, at + n) of `vec`, whose partitions are in part[].number or, held, in .held. */
static alm_status run_calls(alm_ctx *cx, op_window_stream *stream, const alm_vec *vec, bool held,
                            uint32_t place, uint32_t n)
{
    const int64_t *ts = stream->ts >= 0 ? (const int64_t *)vec[stream->ts].data + place : NULL;
    for (uint32_t i = 0; i < stream->n_calls; i++) {
        stream_call *c = &stream->call[i];
        const partition *p = &stream->part[c->part];
        alm_stream_rows stream_rows = {.n = n,
                                       .number = (held ? p->held : p->number) + place,
                                       .single = p->n_keys == 0,
                                       .ts = ts};
        alm_vec arg, other;
        if (c->arg >= 0) {
            arg = from_row(&vec[c->arg], place);
            stream_rows.arg = &arg;
        }
        if (c->other >= 0) {
            other = from_row(&vec[c->other], place);
            stream_rows.other = &other;
        }
        if (c->filter >= 0)
            stream_rows.pass = (const uint8_t *)vec[c->filter].data + place;
        ALM_TRY(alm_window_stream_run(cx, c->stream, &stream_rows, held ? c->held_out : c->out));
    }
    return ALM_OK;
}

static void put_results(op_window_stream *stream, bool held, uint32_t place)
{
    for (uint32_t i = 0; i < stream->n_calls; i++) {
        const stream_call *c = &stream->call[i];
        const uint32_t width = alm_type_width(c->call->type);
        stream->op.out.cols[stream->n_child + i] =
            (alm_vec){.type = c->call->type,
                      .width = (uint8_t)width,
                      .data = (char *)(held ? c->held_out : c->out) + (size_t)place * width};
    }
}

/* Evaluates expressions and partitions of a batch. */
static alm_status op_window_stream_take_batch(alm_ctx *cx, op_window_stream *stream,
                                              alm_batch *batch)
{
    alm_arena_reset(&stream->scratch);
    ALM_TRY(alm_eval_run(cx, stream->eval, &stream->scratch, batch, stream->vec));
    for (uint32_t vec = 0; vec < stream->n_vecs; vec++)
        if (stream->vec[vec].is_const && !stream->is_key[vec]) { /* kernels take arrays */
            const alm_vec one = stream->vec[vec];
            ALM_TRY(alm_vec_expand(cx, &stream->scratch, &one, batch->rows, &stream->vec[vec]));
        }
    for (uint32_t part = 0; part < stream->n_parts; part++) {
        uint32_t numbers = 0;
        ALM_TRY(
            op_window_stream_number_rows(cx, stream, &stream->part[part], batch->rows, &numbers));
        for (uint32_t i = 0; i < stream->n_calls; i++)
            if (stream->call[i].part == part)
                ALM_TRY(alm_window_stream_reserve(cx, stream->call[i].stream, numbers));
    }
    return ALM_OK;
}

/* --------------------------------------------------------------------------------- held rows */

static alm_status reserve_held(alm_ctx *cx, op_window_stream *stream, uint32_t n)
{
    if (n <= stream->held_cap)
        return ALM_OK;
    const uint32_t cap = ALM_MAX(n, 2 * stream->held_cap);
    for (uint32_t part = 0; part < stream->n_parts; part++)
        ALM_TRY(alm_pool_grow(cx, &stream->pool, &stream->part[part].held,
                              (size_t)stream->held_cap * sizeof(uint32_t),
                              (size_t)cap * sizeof(uint32_t)));
    for (uint32_t i = 0; i < stream->n_calls; i++)
        ALM_TRY(alm_pool_grow(cx, &stream->pool, &stream->call[i].held_out, 0,
                              (size_t)cap * alm_type_width(stream->call[i].call->type)));
    stream->held_cap = cap;
    return ALM_OK;
}

/* Rows [lo, hi) of the batch under way join those that wait. */
static alm_status hold(alm_ctx *cx, op_window_stream *stream, uint32_t lo, uint32_t hi)
{
    const uint32_t place = stream->held.n, len = hi - lo;
    if (len == 0)
        return ALM_OK;
    stream->held_ts = ((const int64_t *)stream->vec[stream->ts].data)[lo];
    ALM_TRY(reserve_held(cx, stream, place + len));
    for (uint32_t part = 0; part < stream->n_parts; part++)
        memcpy(stream->part[part].held + place, stream->part[part].number + lo,
               len * sizeof(uint32_t));
    for (uint32_t child = 0; child < stream->n_child; child++) {
        alm_vec *dense = NULL;
        ALM_TRY(alm_batch_column(cx, &stream->scratch, stream->in, child, &dense));
        stream->held_cols[child] = from_row(dense, lo);
    }
    for (uint32_t vec = 0; vec < stream->n_vecs; vec++)
        stream->held_cols[stream->n_child + vec] = from_row(&stream->vec[vec], lo);
    return alm_rows_append_picked(cx, &stream->held, stream->held_cols, NULL, len);
}

/* All their peers are here: their results. */
static alm_status complete_held(alm_ctx *cx, op_window_stream *stream)
{
    alm_vec *vec = stream->held_cols + stream->n_child;
    for (uint32_t value = 0; value < stream->n_vecs; value++)
        alm_rows_slice(&stream->held, stream->n_child + value, 0, &vec[value]);
    ALM_TRY(run_calls(cx, stream, vec, true, 0, stream->held.n));
    stream->flushing = true;
    stream->held_at = 0;
    return ALM_OK;
}

static void emit_held(op_window_stream *stream, alm_batch **out)
{
    const uint32_t n_rows = ALM_MIN((uint32_t)ALM_BATCH_ROWS, stream->held.n - stream->held_at);
    *out = NULL;
    if (n_rows == 0) { /* given out: forget them, texts too */
        alm_pool_deinit(&stream->held_pool);
        memcpy(stream->held.col, stream->fresh, stream->held.n_cols * sizeof *stream->fresh);
        stream->held = (alm_rows){
            .pool = stream->held.pool, .col = stream->held.col, .n_cols = stream->held.n_cols};
        stream->flushing = false;
        return;
    }
    for (uint32_t child = 0; child < stream->n_child; child++)
        alm_rows_slice(&stream->held, child, stream->held_at, &stream->op.out.cols[child]);
    put_results(stream, true, stream->held_at);
    stream->op.out.rows = n_rows;
    stream->op.out.sel = NULL;
    stream->held_at += n_rows;
    *out = &stream->op.out;
}

/* --------------------------------------------------------------------------------- operator */

/* The next batch of the child, cut into: peers of the held rows, rows to compute, rows to hold. */
static alm_status op_window_stream_fetch(alm_ctx *cx, op_window_stream *stream)
{
    ALM_TRY(alm_op_next(cx, stream->op.child[0], &stream->in));
    if (stream->in == NULL) {
        stream->ended = true;
        return stream->held.n > 0 ? complete_held(cx, stream) : ALM_OK;
    }
    ALM_TRY(op_window_stream_take_batch(cx, stream, stream->in));
    stream->in_at = 0;
    stream->in_end = stream->in->rows;
    if (!stream->ties || stream->in->rows == 0)
        return ALM_OK;
    const int64_t *ts = stream->vec[stream->ts].data;
    if (stream->held.n > 0) {
        while (stream->in_at < stream->in_end && ts[stream->in_at] == stream->held_ts)
            stream->in_at++;
        ALM_TRY(hold(cx, stream, 0, stream->in_at));
        if (stream->in_at == stream->in_end)
            return ALM_OK;
        ALM_TRY(complete_held(cx, stream));
    }
    const int64_t last = ts[stream->in_end - 1];
    while (stream->in_end > stream->in_at && ts[stream->in_end - 1] == last)
        stream->in_end--;
    return ALM_OK;
}

static alm_status emit_rows(alm_ctx *cx, op_window_stream *stream, alm_batch **out)
{
    alm_batch *batch = stream->in, *to = &stream->op.out;
    const uint32_t place = stream->in_at, n = stream->in_end - place;
    if (n > 0) {
        ALM_TRY(run_calls(cx, stream, stream->vec, false, place, n));
        for (uint32_t child = 0; child < stream->n_child; child++)
            to->cols[child] = batch->cols[child].indirect ? batch->cols[child]
                                                          : from_row(&batch->cols[child], place);
        to->sel = batch->sel != NULL ? batch->sel + place : NULL;
        to->rows = n;
        put_results(stream, false, 0);
        *out = to;
    }
    ALM_TRY(hold(cx, stream, ALM_MAX(stream->in_end, place), batch->rows));
    stream->in = NULL;
    return ALM_OK;
}

static alm_status stream_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_window_stream *stream = (op_window_stream *)op;
    *out = NULL;
    alm_arena_reset(&op->batch);
    while (*out == NULL) {
        if (stream->flushing)
            emit_held(stream, out);
        else if (stream->in != NULL)
            ALM_TRY(emit_rows(cx, stream, out));
        else if (stream->ended)
            return ALM_OK;
        else
            ALM_TRY(op_window_stream_fetch(cx, stream));
    }
    return ALM_OK;
}

static void stream_close(alm_op *op)
{
    op_window_stream *stream = (op_window_stream *)op;
    alm_eval_free(stream->eval);
    alm_pool_deinit(&stream->pool);
    alm_pool_deinit(&stream->held_pool);
    alm_arena_deinit(&stream->scratch);
}

static void stream_hint(alm_op *op, int64_t rows)
{
    alm_op_hint(op->child[0], rows);
}

static int64_t stream_count(alm_ctx *cx, alm_op *op)
{
    const op_window_stream *stream = (op_window_stream *)op;
    return stream->in == NULL && stream->held.n == 0 ? alm_op_count(cx, op->child[0]) : -1;
}

static const alm_op_vt stream_vt = {.name = "window",
                                    .next = stream_next,
                                    .close = stream_close,
                                    .hint = stream_hint,
                                    .count = stream_count};

/* --------------------------------------------------------------------------------- making */

static bool op_window_stream_same_partition(const partition *self, const alm_window_call *call)
{
    if (self->n_keys != call->n_partition)
        return false;
    for (uint32_t i = 0; i < self->n_keys; i++)
        if (!alm_eval_expr_equal(self->key[i], call->partition[i]))
            return false;
    return true;
}

static alm_status place_partition(alm_ctx *cx, op_window_stream *stream, stream_call *c,
                                  const alm_expr **expr)
{
    for (c->part = 0; c->part < stream->n_parts; c->part++) {
        ALM_TRY(alm_steps_add(cx, 1 + (int64_t)c->call->n_partition));
        if (op_window_stream_same_partition(&stream->part[c->part], c->call))
            return ALM_OK;
    }
    partition *p = &stream->part[stream->n_parts++];
    p->key = c->call->partition;
    p->n_keys = c->call->n_partition;
    p->first_vec = stream->n_vecs;
    for (uint32_t i = 0; i < p->n_keys; i++) {
        stream->is_key[stream->n_vecs] = true;
        expr[stream->n_vecs++] = p->key[i];
    }
    return ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &p->number);
}

static alm_status op_window_stream_place_call(alm_ctx *cx, op_window_stream *stream, stream_call *c,
                                              const alm_expr **expr)
{
    const alm_window_call *call = c->call;
    const bool value = call->fn->kind == ALM_FN_WINDOW;
    const int32_t other = value ? call->fn->window->default_arg : 0;
    ALM_TRY(place_partition(cx, stream, c, expr));
    c->arg = c->other = c->filter = -1;
    if (call->filter != NULL) {
        c->filter = (int32_t)stream->n_vecs;
        expr[stream->n_vecs++] = call->filter;
    }
    if (call->n_args > 0) {
        c->arg = (int32_t)stream->n_vecs;
        expr[stream->n_vecs++] = call->args[0];
    }
    if (other > 0 && (uint32_t)other < call->n_args) {
        c->other = (int32_t)stream->n_vecs;
        expr[stream->n_vecs++] = call->args[other];
    }
    if (stream->ts < 0 && call->n_order > 0) {
        stream->ts = (int32_t)stream->n_vecs;
        expr[stream->n_vecs++] = call->order[0].expr;
    }
    ALM_TRY(alm_arena_bytes(cx, cx->arena, ALM_BATCH_ROWS * alm_type_width(call->type), &c->out));
    ALM_TRY(alm_window_stream_new(cx, &stream->pool, call, &c->stream));
    stream->ties |= alm_window_stream_ties(c->stream);
    return ALM_OK;
}

static alm_status make_held(alm_ctx *cx, op_window_stream *stream, const alm_plan *child,
                            const alm_expr **expr)
{
    alm_plan_col *cols = NULL;
    const uint32_t n = stream->n_child + stream->n_vecs;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &cols));
    memcpy(cols, child->cols, stream->n_child * sizeof *cols);
    for (uint32_t vec = 0; vec < stream->n_vecs; vec++)
        cols[stream->n_child + vec] = (alm_plan_col){"", expr[vec]->type};
    ALM_TRY(alm_rows_init(cx, &stream->held, &stream->held_pool, cols, n));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &stream->held_cols));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &stream->fresh));
    memcpy(stream->fresh, stream->held.col, n * sizeof *stream->fresh);
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
    op_window_stream *stream = NULL;
    const alm_expr **expr = NULL;
    uint32_t most = 1;
    ALM_TRY(ALM_NEW(cx, cx->arena, &stream));
    ALM_TRY(alm_op_init(cx, &stream->op, &stream_vt, run, plan, pipe));
    alm_pool_init(&stream->pool, cx->mem, stream_vt.name);
    alm_pool_init(&stream->held_pool, cx->mem, stream_vt.name);
    alm_arena_init(&stream->scratch, cx->mem);
    *out = &stream->op;
    stream->ts = -1;
    stream->n_child = plan->child[0]->n_cols;
    stream->n_calls = plan->window.n_calls;
    ALM_ASSERT(plan->n_cols == stream->n_child + stream->n_calls);
    ALM_TRY(alm_op_child(cx, &stream->op, 0));
    for (uint32_t i = 0; i < stream->n_calls; i++)
        most += plan->window.calls[i].n_partition + 4;
    ALM_TRY(ALM_NEWN(cx, cx->arena, most, &expr));
    ALM_TRY(ALM_NEWN(cx, cx->arena, most, &stream->is_key));
    ALM_TRY(ALM_NEWN(cx, cx->arena, stream->n_calls, &stream->call));
    ALM_TRY(ALM_NEWN(cx, cx->arena, stream->n_calls, &stream->part));
    for (uint32_t i = 0; i < stream->n_calls; i++) {
        stream->call[i].call = &plan->window.calls[i];
        ALM_TRY(op_window_stream_place_call(cx, stream, &stream->call[i], expr));
    }
    ALM_TRY(ALM_NEWN(cx, cx->arena, stream->n_vecs + 1, &stream->vec));
    ALM_TRY(make_held(cx, stream, plan->child[0], expr));
    return alm_eval_new(cx, expr, stream->n_vecs, &stream->eval);
}
