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

static bool is_whole(const alm_window_call *c)
{
    const bool by_order = c->n_order > 0 && !c->order_is_ts;
    return c->fn->kind == ALM_FN_AGGREGATE && c->lo_kind == ALM_BOUND_UNBOUNDED_PRECEDING &&
           c->hi_kind == ALM_BOUND_UNBOUNDED_FOLLOWING && c->exclude == ALM_EXCLUDE_NONE &&
           !c->distinct && !(by_order && (c->fn->flags & ALM_FN_ROW_ORDER) != 0);
}

static pass_way way_of(const alm_window_call *c)
{
    alm_window_call turned;
    alm_fn fn;
    if (is_whole(c))
        return P_WHOLE;
    if (alm_window_streams(c))
        return P_FORWARD;
    return mirror(c, &turned, &fn) && alm_window_streams(&turned) ? P_BACKWARD : P_NONE;
}

bool alm_window_passes(const alm_window_call *call)
{
    return way_of(call) != P_NONE;
}

/* ------------------------------------------------------------------------------------ whole */

/* Rows [at, at + n) into the states of their partitions. */
static alm_status add_rows(alm_ctx *cx, alm_arena *scratch, alm_call *call,
                           const alm_window_pass *p, const alm_window_result *r, uint32_t at,
                           uint32_t n, void *states)
{
    const alm_window_call *c = r->call;
    const uint32_t *number = p->number + at;
    alm_vec *args = NULL, filter;
    uint32_t *pick = NULL, *picked = NULL, m = 0;
    ALM_TRY(alm_check(cx));
    ALM_TRY(ALM_NEWN(cx, scratch, c->n_args + 1, &args));
    for (uint32_t k = 0; k < c->n_args; k++)
        alm_rows_slice(p->rows, r->cols.arg[k], at, &args[k]);
    if (r->cols.filter < 0)
        return c->fn->agg->scatter(call, states, number, n, args);
    ALM_TRY(alm_arena_bytes(cx, scratch, n * sizeof *pick, &pick));
    ALM_TRY(alm_arena_bytes(cx, scratch, n * sizeof *picked, &picked));
    alm_rows_slice(p->rows, (uint32_t)r->cols.filter, at, &filter);
    for (uint32_t i = 0; i < n; i++) {
        pick[m] = i;
        picked[m] = number[i];
        m += ((const uint8_t *)filter.data)[i] != 0;
    }
    for (uint32_t k = 0; k < c->n_args; k++) {
        const alm_vec all = args[k];
        ALM_TRY(alm_vec_gather(cx, scratch, &all, pick, m, &args[k]));
    }
    return m == 0 ? ALM_OK : c->fn->agg->scatter(call, states, picked, m, args);
}

static alm_status pass_whole(alm_ctx *cx, const alm_window_pass *p, alm_window_result *r)
{
    const alm_window_call *c = r->call;
    const alm_agg_ops *ops = c->fn->agg;
    void *states = NULL, *results = NULL;
    alm_arena scratch;
    alm_call call = {.cx = cx,
                     .fn = c->fn,
                     .data = c->data,
                     .arena = p->lasting,
                     .result = c->type,
                     .pos = c->pos,
                     .argc = c->n_args};
    if (c->fn->state_bytes > 0)
        ALM_TRY(alm_arena_zero(cx, cx->arena, c->fn->state_bytes, &call.state));
    ALM_TRY(alm_pool_alloc(cx, p->pool, ((size_t)p->n_parts + 1) * ops->state_bytes, &states));
    ALM_TRY(alm_pool_alloc(cx, p->pool, ((size_t)p->n_parts + 1) * r->width, &results));
    ops->init(&call, states, p->n_parts);
    alm_arena_init(&scratch, cx->mem);
    alm_status st = ALM_OK;
    for (uint32_t at = 0; at < p->n && st == ALM_OK; at += ALM_BATCH_ROWS) {
        alm_arena_reset(&scratch);
        st = add_rows(cx, &scratch, &call, p, r, at, ALM_MIN((uint32_t)ALM_BATCH_ROWS, p->n - at),
                      states);
    }
    alm_arena_deinit(&scratch);
    alm_vec v = {.type = c->type, .width = r->width, .data = results};
    if (st == ALM_OK)
        st = ops->finish(&call, states, p->n_parts, &v);
    if (st == ALM_OK)
        alm_rows_pick(results, r->width, p->number, p->n,
                      r->result); /* to each row its partition's */
    alm_pool_free(p->pool, states);
    alm_pool_free(p->pool, results);
    return st;
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

static void turn(const void *from, uint32_t width, uint32_t n, void *to)
{
    if (width == sizeof(uint64_t)) {
        const uint64_t *a = from;
        uint64_t *b = to;
        for (uint32_t i = 0; i < n; i++)
            b[i] = a[n - 1 - i];
    } else if (width == sizeof(uint32_t)) {
        const uint32_t *a = from;
        uint32_t *b = to;
        for (uint32_t i = 0; i < n; i++)
            b[i] = a[n - 1 - i];
    } else {
        for (uint32_t i = 0; i < n; i++)
            memcpy((char *)to + (size_t)i * width, (const char *)from + (size_t)(n - 1 - i) * width,
                   width);
    }
}

static alm_status run_turned(alm_ctx *cx, const alm_window_pass *p, alm_window_stream *s,
                             turned_rows *t, alm_stream_rows *r, uint8_t width, char *out)
{
    const uint32_t n = r->n;
    alm_vec arg, other;
    ALM_TRY(turned_reserve(cx, p->pool, t, n));
    turn(r->number, sizeof *t->number, n, t->number);
    r->number = t->number;
    if (r->ts != NULL) {
        for (uint32_t i = 0; i < n; i++)
            t->ts[i] = -r->ts[n - 1 - i];
        r->ts = t->ts;
    }
    if (r->arg != NULL) {
        arg = *r->arg;
        turn(arg.data, arg.width, n, t->arg);
        arg.data = t->arg;
        r->arg = &arg;
    }
    if (r->other != NULL) {
        other = *r->other;
        turn(other.data, other.width, n, t->other);
        other.data = t->other;
        r->other = &other;
    }
    if (r->pass != NULL) {
        turn(r->pass, 1, n, t->pass);
        r->pass = t->pass;
    }
    ALM_TRY(alm_window_stream_run(cx, s, r, t->out));
    turn(t->out, width, n, out);
    return ALM_OK;
}

/* Rows [lo, hi) through the stream. */
static alm_status run_piece(alm_ctx *cx, const alm_window_pass *p, const alm_window_call *c,
                            alm_window_stream *s, turned_rows *t, const alm_window_result *r,
                            uint32_t lo, uint32_t hi)
{
    const bool value = c->fn->kind == ALM_FN_WINDOW;
    const int32_t other_arg = value ? c->fn->window->default_arg : 0;
    alm_vec arg, other, v;
    alm_stream_rows in = {.n = hi - lo, .number = p->number + lo, .single = p->n_parts == 1};
    ALM_TRY(alm_check(cx));
    if (c->n_order > 0) {
        alm_rows_slice(p->rows, r->cols.order[0], lo, &v);
        in.ts = v.data;
    }
    if (c->n_args > 0) {
        alm_rows_slice(p->rows, r->cols.arg[0], lo, &arg);
        in.arg = &arg;
    }
    if (other_arg > 0 && (uint32_t)other_arg < c->n_args) {
        alm_rows_slice(p->rows, r->cols.arg[other_arg], lo, &other);
        in.other = &other;
    }
    if (r->cols.filter >= 0) {
        alm_rows_slice(p->rows, (uint32_t)r->cols.filter, lo, &v);
        in.pass = v.data;
    }
    char *out = (char *)r->result + (size_t)lo * r->width;
    if (t != NULL)
        return run_turned(cx, p, s, t, &in, r->width, out);
    return alm_window_stream_run(cx, s, &in, out);
}

static alm_status pass_stream(alm_ctx *cx, const alm_window_pass *p, const alm_window_call *c,
                              alm_window_result *r, bool backward)
{
    alm_window_stream *s = NULL;
    turned_rows turned = {0};
    const int64_t *ts = NULL;
    alm_pool pool;
    alm_pool_init(&pool, cx->mem, p->pool->who);
    alm_status st = alm_window_stream_new(cx, &pool, c, &s);
    if (st == ALM_OK)
        st = alm_window_stream_reserve(cx, s, p->n_parts);
    if (st == ALM_OK && c->n_order > 0 && alm_window_stream_ties(s)) {
        alm_vec v;
        alm_rows_slice(p->rows, r->cols.order[0], 0, &v);
        ts = v.data;
    }
    alm_window_pass own = *p;
    own.pool = &pool;
    for (uint32_t done = 0, next; done < p->n && st == ALM_OK; done = next) {
        next = done + ALM_MIN((uint32_t)ALM_BATCH_ROWS, p->n - done);
        if (backward)
            while (ts != NULL && next < p->n && ts[p->n - next - 1] == ts[p->n - next])
                next++;
        else
            while (ts != NULL && next < p->n && ts[next] == ts[next - 1])
                next++;
        st = backward ? run_piece(cx, &own, c, s, &turned, r, p->n - next, p->n - done)
                      : run_piece(cx, &own, c, s, NULL, r, done, next);
    }
    alm_pool_deinit(&pool);
    return st;
}

alm_status alm_window_run_pass(alm_ctx *cx, const alm_window_pass *p, alm_window_result *r)
{
    const alm_window_call *c = r->call;
    alm_window_call turned;
    alm_fn fn;
    r->width =
        c->type.id == ALM_T_SYMBOL ? (uint8_t)sizeof(alm_view) : (uint8_t)alm_type_width(c->type);
    ALM_TRY(alm_pool_alloc(cx, p->pool, ((size_t)p->n + 1) * r->width, &r->result));
    r->done = true;
    switch (way_of(c)) {
    case P_WHOLE:
        return pass_whole(cx, p, r);
    case P_FORWARD:
        return pass_stream(cx, p, c, r, false);
    case P_BACKWARD:
        (void)mirror(c, &turned, &fn);
        return pass_stream(cx, p, &turned, r, true);
    case P_NONE:
        break;
    }
    ALM_UNREACHABLE("a call that needs another order");
}
