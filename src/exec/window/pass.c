/*
 * pass.c - window functions over rows in memory that need no order but the one rows have: one
 * pass over them, without dealing rows to partitions. See window.h.
 *
 * Whole       an aggregate of the whole partition: a state per partition, then its result to all rows.
 * Forward     a call that streams (stream.h), beside others that do not.
 * Backward    a call whose mirror image streams: lead, frames from the current row on. The rows are
 *             taken from the end, times with their sign turned.
 */
#include "exec/data/wide.h"
#include "exec/window/stream.h"
#include "exec/window/window.h"

typedef enum pass_way { P_NONE, P_WHOLE, P_FORWARD, P_BACKWARD } pass_way;

/* ----------------------------------------------------------------------------- which calls */

/* The call as it looks from the end; false: not of that kind. *fn is room for its function. */
static bool mirror(const alm_window_call *call, alm_window_call *out, alm_fn *fn)
{
    *out = *call;
    *fn = *call->fn;
    out->fn = fn;
    if (fn->kind == ALM_FN_WINDOW) {
        if (fn->window == &alm_window_lead) {
            fn->window = &alm_window_lag;
            return true;
        }
        if (fn->window != &alm_window_first_value && fn->window != &alm_window_last_value)
            return false;
        fn->window =
            fn->window == &alm_window_last_value ? &alm_window_first_value : &alm_window_last_value;
    }
    if ((call->hi_kind != ALM_BOUND_UNBOUNDED_FOLLOWING && call->hi_kind != ALM_BOUND_FOLLOWING &&
         call->hi_kind != ALM_BOUND_CURRENT) ||
        (call->lo_kind != ALM_BOUND_CURRENT && call->lo_kind != ALM_BOUND_FOLLOWING))
        return false;
    out->lo_kind = call->hi_kind == ALM_BOUND_UNBOUNDED_FOLLOWING ? ALM_BOUND_UNBOUNDED_PRECEDING
                   : call->hi_kind == ALM_BOUND_FOLLOWING         ? ALM_BOUND_PRECEDING
                                                                  : ALM_BOUND_CURRENT;
    out->hi_kind = call->lo_kind == ALM_BOUND_FOLLOWING ? ALM_BOUND_PRECEDING : ALM_BOUND_CURRENT;
    out->lo = call->hi;
    out->hi = call->lo;
    return true;
}

static bool pass_is_whole(const alm_window_call *call)
{
    const bool by_order = call->n_order > 0 && !call->order_is_ts;
    return call->fn->kind == ALM_FN_AGGREGATE && call->lo_kind == ALM_BOUND_UNBOUNDED_PRECEDING &&
           call->hi_kind == ALM_BOUND_UNBOUNDED_FOLLOWING && call->exclude == ALM_EXCLUDE_NONE &&
           !call->distinct && !(by_order && (call->fn->flags & ALM_FN_ROW_ORDER) != 0);
}

static pass_way pass_way_of(const alm_window_call *call)
{
    alm_window_call turned;
    alm_fn fn;
    if (pass_is_whole(call))
        return P_WHOLE;
    if (alm_window_streams(call))
        return P_FORWARD;
    return mirror(call, &turned, &fn) && alm_window_streams(&turned) ? P_BACKWARD : P_NONE;
}

bool alm_window_passes(const alm_window_call *call)
{
    return pass_way_of(call) != P_NONE;
}

/* ------------------------------------------------------------------------------------ whole */

/* Rows [at, at + n) into the states of their partitions. */
static alm_status pass_add_rows(alm_ctx *cx, alm_arena *scratch, alm_call *call,
                                const alm_window_pass *pass, const alm_window_result *result,
                                uint32_t place, uint32_t n, void *states)
{
    const alm_window_call *window_call = result->call;
    const uint32_t *number = pass->number + place;
    alm_vec *args = NULL, filter;
    uint32_t *pick = NULL, *picked = NULL, m = 0;
    ALM_TRY(alm_check(cx));
    ALM_TRY(ALM_NEWN(cx, scratch, window_call->n_args + 1, &args));
    for (uint32_t arg = 0; arg < window_call->n_args; arg++)
        alm_rows_slice(pass->rows, result->cols.arg[arg], place, &args[arg]);
    if (result->cols.filter < 0)
        return window_call->fn->agg->scatter(call, states, number, n, args);
    ALM_TRY(alm_arena_bytes(cx, scratch, n * sizeof *pick, &pick));
    ALM_TRY(alm_arena_bytes(cx, scratch, n * sizeof *picked, &picked));
    alm_rows_slice(pass->rows, (uint32_t)result->cols.filter, place, &filter);
    for (uint32_t i = 0; i < n; i++) {
        pick[m] = i;
        picked[m] = number[i];
        m += ((const uint8_t *)filter.data)[i] != 0;
    }
    for (uint32_t arg = 0; arg < window_call->n_args; arg++) {
        const alm_vec all = args[arg];
        ALM_TRY(alm_vec_gather(cx, scratch, &all, pick, m, &args[arg]));
    }
    return m == 0 ? ALM_OK : window_call->fn->agg->scatter(call, states, picked, m, args);
}

static alm_status pass_whole(alm_ctx *cx, const alm_window_pass *pass, alm_window_result *result)
{
    const alm_window_call *window_call = result->call;
    const alm_agg_ops *ops = window_call->fn->agg;
    void *states = NULL, *results = NULL;
    alm_arena scratch;
    alm_call call = {.cx = cx,
                     .fn = window_call->fn,
                     .data = window_call->data,
                     .arena = pass->lasting,
                     .result = window_call->type,
                     .pos = window_call->pos,
                     .argc = window_call->n_args};
    if (window_call->fn->state_bytes > 0)
        ALM_TRY(alm_arena_zero(cx, cx->arena, window_call->fn->state_bytes, &call.state));
    ALM_TRY(
        alm_pool_alloc(cx, pass->pool, ((size_t)pass->n_parts + 1) * ops->state_bytes, &states));
    ALM_TRY(alm_pool_alloc(cx, pass->pool, ((size_t)pass->n_parts + 1) * result->width, &results));
    ops->init(&call, states, pass->n_parts);
    alm_arena_init(&scratch, cx->mem);
    alm_status status = ALM_OK;
    for (uint32_t place = 0; place < pass->n && status == ALM_OK; place += ALM_BATCH_ROWS) {
        alm_arena_reset(&scratch);
        status = pass_add_rows(cx, &scratch, &call, pass, result, place,
                               ALM_MIN((uint32_t)ALM_BATCH_ROWS, pass->n - place), states);
    }
    alm_arena_deinit(&scratch);
    alm_vec vec = {.type = window_call->type, .width = result->width, .data = results};
    if (status == ALM_OK)
        status = ops->finish(&call, states, pass->n_parts, &vec);
    if (status == ALM_OK)
        alm_rows_pick(results, result->width, pass->number, pass->n,
                      result->result); /* to each row its partition's */
    alm_pool_free(pass->pool, states);
    alm_pool_free(pass->pool, results);
    return status;
}

/* ----------------------------------------------------------------------------------- streams */

/* Rows of a piece the other way round. */
typedef struct turned_rows {
    uint32_t *number;
    int64_t *ts;
    uint8_t *pass;
    char *arg, *other, *out;
    uint32_t cap;
} turned_rows;

static alm_status turned_reserve(alm_ctx *cx, alm_pool *pool, turned_rows *t, uint32_t n)
{
    if (n <= t->cap)
        return ALM_OK;
    ALM_TRY(alm_pool_grow(cx, pool, &t->number, 0, n * sizeof *t->number));
    ALM_TRY(alm_pool_grow(cx, pool, &t->ts, 0, n * sizeof *t->ts));
    ALM_TRY(alm_pool_grow(cx, pool, &t->pass, 0, n));
    ALM_TRY(alm_pool_grow(cx, pool, &t->arg, 0, n * sizeof(alm_wide32)));
    ALM_TRY(alm_pool_grow(cx, pool, &t->other, 0, n * sizeof(alm_wide32)));
    ALM_TRY(alm_pool_grow(cx, pool, &t->out, 0, n * sizeof(alm_wide32)));
    t->cap = n;
    return ALM_OK;
}

static void pass_turn(const void *from, uint32_t width, uint32_t n, void *dest)
{
    if (width == sizeof(uint64_t)) {
        const uint64_t *a = from;
        uint64_t *b = dest;
        for (uint32_t i = 0; i < n; i++)
            b[i] = a[n - 1 - i];
    } else if (width == sizeof(uint32_t)) {
        const uint32_t *a = from;
        uint32_t *b = dest;
        for (uint32_t i = 0; i < n; i++)
            b[i] = a[n - 1 - i];
    } else {
        for (uint32_t i = 0; i < n; i++)
            memcpy((char *)dest + (size_t)i * width,
                   (const char *)from + (size_t)(n - 1 - i) * width, width);
    }
}

static alm_status run_turned(alm_ctx *cx, const alm_window_pass *pass, alm_window_stream *stream,
                             turned_rows *t, alm_stream_rows *stream_rows, uint8_t width, char *out)
{
    const uint32_t n = stream_rows->n;
    alm_vec arg, other;
    ALM_TRY(turned_reserve(cx, pass->pool, t, n));
    pass_turn(stream_rows->number, sizeof *t->number, n, t->number);
    stream_rows->number = t->number;
    if (stream_rows->ts != NULL) {
        for (uint32_t i = 0; i < n; i++)
            t->ts[i] = -stream_rows->ts[n - 1 - i];
        stream_rows->ts = t->ts;
    }
    if (stream_rows->arg != NULL) {
        arg = *stream_rows->arg;
        pass_turn(arg.data, arg.width, n, t->arg);
        arg.data = t->arg;
        stream_rows->arg = &arg;
    }
    if (stream_rows->other != NULL) {
        other = *stream_rows->other;
        pass_turn(other.data, other.width, n, t->other);
        other.data = t->other;
        stream_rows->other = &other;
    }
    if (stream_rows->pass != NULL) {
        pass_turn(stream_rows->pass, 1, n, t->pass);
        stream_rows->pass = t->pass;
    }
    ALM_TRY(alm_window_stream_run(cx, stream, stream_rows, t->out));
    pass_turn(t->out, width, n, out);
    return ALM_OK;
}

/* Rows [lo, hi) through the stream. */
static alm_status run_piece(alm_ctx *cx, const alm_window_pass *pass, const alm_window_call *call,
                            alm_window_stream *stream, turned_rows *t,
                            const alm_window_result *result, uint32_t lo, uint32_t hi)
{
    const bool value = call->fn->kind == ALM_FN_WINDOW;
    const int32_t other_arg = value ? call->fn->window->default_arg : 0;
    alm_vec arg, other, vec;
    alm_stream_rows in = {.n = hi - lo, .number = pass->number + lo, .single = pass->n_parts == 1};
    ALM_TRY(alm_check(cx));
    if (call->n_order > 0) {
        alm_rows_slice(pass->rows, result->cols.order[0], lo, &vec);
        in.ts = vec.data;
    }
    if (call->n_args > 0) {
        alm_rows_slice(pass->rows, result->cols.arg[0], lo, &arg);
        in.arg = &arg;
    }
    if (other_arg > 0 && (uint32_t)other_arg < call->n_args) {
        alm_rows_slice(pass->rows, result->cols.arg[other_arg], lo, &other);
        in.other = &other;
    }
    if (result->cols.filter >= 0) {
        alm_rows_slice(pass->rows, (uint32_t)result->cols.filter, lo, &vec);
        in.pass = vec.data;
    }
    char *out = (char *)result->result + (size_t)lo * result->width;
    if (t != NULL)
        return run_turned(cx, pass, stream, t, &in, result->width, out);
    return alm_window_stream_run(cx, stream, &in, out);
}

static alm_status pass_stream(alm_ctx *cx, const alm_window_pass *pass, const alm_window_call *call,
                              alm_window_result *result, bool backward)
{
    alm_window_stream *stream = NULL;
    turned_rows turned = {0};
    const int64_t *ts = NULL;
    alm_pool pool;
    alm_pool_init(&pool, cx->mem, pass->pool->who);
    alm_status status = alm_window_stream_new(cx, &pool, call, &stream);
    if (status == ALM_OK)
        status = alm_window_stream_reserve(cx, stream, pass->n_parts);
    if (status == ALM_OK && call->n_order > 0 && alm_window_stream_ties(stream)) {
        alm_vec vec;
        alm_rows_slice(pass->rows, result->cols.order[0], 0, &vec);
        ts = vec.data;
    }
    alm_window_pass own = *pass;
    own.pool = &pool;
    for (uint32_t done = 0, next; done < pass->n && status == ALM_OK; done = next) {
        next = done + ALM_MIN((uint32_t)ALM_BATCH_ROWS, pass->n - done);
        if (backward)
            while (ts != NULL && next < pass->n && ts[pass->n - next - 1] == ts[pass->n - next])
                next++;
        else
            while (ts != NULL && next < pass->n && ts[next] == ts[next - 1])
                next++;
        status = backward ? run_piece(cx, &own, call, stream, &turned, result, pass->n - next,
                                      pass->n - done)
                          : run_piece(cx, &own, call, stream, NULL, result, done, next);
    }
    alm_pool_deinit(&pool);
    return status;
}

alm_status alm_window_run_pass(alm_ctx *cx, const alm_window_pass *pass, alm_window_result *result)
{
    const alm_window_call *call = result->call;
    alm_window_call turned;
    alm_fn fn;
    result->width = call->type.id == ALM_T_SYMBOL ? (uint8_t)sizeof(alm_view)
                                                  : (uint8_t)alm_type_width(call->type);
    ALM_TRY(alm_pool_alloc(cx, pass->pool, ((size_t)pass->n + 1) * result->width, &result->result));
    result->done = true;
    switch (pass_way_of(call)) {
    case P_WHOLE:
        return pass_whole(cx, pass, result);
    case P_FORWARD:
        return pass_stream(cx, pass, call, result, false);
    case P_BACKWARD:
        (void)mirror(call, &turned, &fn);
        return pass_stream(cx, pass, &turned, result, true);
    case P_NONE:
        break;
    }
    ALM_UNREACHABLE("a call that needs another order");
}
