/*
 * window_stream.c - states and kernels of streaming window functions. See window_stream.h.
 *
 * Sliding frames keep the values of the frame in a ring per partition. Its older part holds, in place
 * of each value, the aggregate from there to the end of that part; the newer part has one aggregate. A
 * result is the sum of the two; values leave from the front; when the older part is used up the newer
 * one becomes it. Each value is touched twice, nothing is subtracted.
 *
 * Null rule   A null is not counted and adds nothing; no value at all gives null (count: 0).
 */
#include "exec/window_stream.h"

#include "type/value.h"

enum { RING_MIN = 8, LAG_MAX = 1 << 16 };

typedef enum stream_kind {
    S_NONE,
    S_ROW_NUMBER,
    S_RANK,
    S_DENSE_RANK,
    S_LAG,
    S_FIRST, /* of a frame without a beginning, or the oldest row of a ROWS frame */
    S_LAST,  /* of a frame that ends at the current row */
    S_COUNT,
    S_SUM,
    S_AVG,
    S_MIN,
    S_MAX
} stream_kind;

/* Rank: rows and groups so far, time of the group. */
typedef struct rank_state {
    int64_t rows, rank, dense, ts;
} rank_state;

/* An aggregate of some values: bits of a double or an int64. */
typedef struct value {
    union {
        double f;
        int64_t i;
    };
    int64_t count;
} value;

typedef struct ring_entry {
    value v;
    int64_t ts;
} ring_entry;

typedef struct ring {
    ring_entry *entry;
    uint32_t mask; /* entries - 1; 0: none yet */
    uint32_t head, mid, end;
    value newer;
} ring;

/* The last k values of a partition, for lag. */
typedef struct past {
    char *data;
    uint32_t count, next, cap;
} past;

struct alm_window_stream {
    const alm_window_call *call;
    alm_pool *pool;
    stream_kind kind;
    bool floating, ties, sliding, range;
    int64_t back;   /* rows or ticks of a sliding frame */
    uint32_t depth; /* values a lag looks back */
    uint8_t width;
    uint32_t n; /* partitions */
    rank_state *rank;
    value *total; /* frames without a beginning */
    ring *rings;
    past *pasts;
    uint8_t *null; /* of the rows of a run */
    uint32_t null_cap;
    char none[32]; /* null of the result */
};

/* ----------------------------------------------------------------------------- which calls */

static stream_kind agg_kind(const alm_window_call *call)
{
    static const struct {
        const char *name;
        stream_kind kind;
    } known[] = {
        {"count", S_COUNT}, {"sum", S_SUM}, {"avg", S_AVG}, {"min", S_MIN}, {"max", S_MAX}};
    for (size_t i = 0; i < ALM_COUNT(known); i++) {
        if (strcmp(call->fn->name, known[i].name) != 0)
            continue;
        if (known[i].kind == S_COUNT)
            return call->n_args <= 1 && call->type.id == ALM_T_LONG ? S_COUNT : S_NONE;
        if (call->n_args != 1 || call->type.id == ALM_T_NONE)
            return S_NONE;
        const alm_type t = call->args[0]->type;
        const bool extreme = known[i].kind == S_MIN || known[i].kind == S_MAX;
        const bool whole = t.id == ALM_T_LONG || alm_type_is_timestamp(t) || t.id == ALM_T_DATE;
        if (t.id == ALM_T_DOUBLE || (extreme && whole))
            return alm_type_eq(call->type, t) ? known[i].kind : S_NONE;
        return S_NONE;
    }
    return S_NONE;
}

static bool fixed_width(alm_type t)
{
    return !alm_type_is_text(t) && t.id != ALM_T_NULL && alm_type_info_of(t)->null != ALM_NULL_VIEW;
}

static stream_kind value_kind(const alm_window_call *call)
{
    const alm_window_ops *ops = call->fn->window;
    if (ops == &alm_window_row_number)
        return S_ROW_NUMBER;
    if (ops == &alm_window_rank_ops)
        return S_RANK;
    if (ops == &alm_window_dense_rank)
        return S_DENSE_RANK;
    if (call->n_args == 0 || !fixed_width(call->args[0]->type))
        return S_NONE;
    const bool no_start = call->lo_kind == 'U';
    const bool rows_back = call->frame == 'r' && call->lo_kind == 'p' && call->lo < LAG_MAX;
    if (ops == &alm_window_lag)
        return ((const alm_window_offset *)call->data)->offset < LAG_MAX ? S_LAG : S_NONE;
    if (call->hi_kind != 'c')
        return S_NONE;
    if (ops == &alm_window_first_value)
        return no_start || (rows_back && !call->ignore_nulls) ? S_FIRST : S_NONE;
    if (ops == &alm_window_last_value)
        return no_start || (call->frame == 'r' && !call->ignore_nulls) ? S_LAST : S_NONE;
    return S_NONE;
}

static stream_kind kind_of(const alm_window_call *call)
{
    if (call->filter != NULL || (call->n_order > 0 && !call->order_is_ts))
        return S_NONE;
    if (call->n_order > 0 && call->order[0].desc)
        return S_NONE;
    if (call->fn->kind == ALM_FN_WINDOW) {
        const stream_kind kind = value_kind(call);
        return call->exclude != 0 && call->fn->window->frame ? S_NONE : kind;
    }
    const bool start = call->lo_kind == 'U' || (call->lo_kind == 'p' && call->frame != 'u');
    if (!start || call->hi_kind != 'c' || call->exclude != 0)
        return S_NONE;
    if (call->frame != 'r' && call->n_order == 0)
        return S_NONE;
    if (call->frame == 'r' && call->lo_kind == 'p' && call->lo >= INT32_MAX / 2)
        return S_NONE;
    return agg_kind(call);
}

bool alm_window_streams(const alm_window_call *call)
{
    return kind_of(call) != S_NONE;
}

/* ------------------------------------------------------------------------------------ making */

alm_status alm_window_stream_new(alm_ctx *cx, alm_pool *pool, const alm_window_call *call,
                                 alm_window_stream **out)
{
    alm_window_stream *s = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &s));
    s->call = call;
    s->pool = pool;
    s->kind = kind_of(call);
    ALM_ASSERT(s->kind != S_NONE);
    s->floating = s->kind == S_SUM || s->kind == S_AVG ||
                  (call->n_args > 0 && call->args[0]->type.id == ALM_T_DOUBLE);
    s->range = call->frame != 'r';
    s->ties = s->range && call->n_order > 0 && s->kind >= S_LAST;
    s->sliding = s->kind >= S_COUNT && call->lo_kind == 'p';
    s->back = call->lo;
    s->width = (uint8_t)alm_type_width(call->type);
    if (s->kind == S_LAG)
        s->depth = (uint32_t)((const alm_window_offset *)call->data)->offset;
    else if (s->kind == S_FIRST && call->lo_kind == 'p')
        s->depth = (uint32_t)call->lo + 1;
    else if (s->kind == S_FIRST || s->kind == S_LAST)
        s->depth = 1;
    alm_value_set_null(call->type, s->none);
    *out = s;
    return ALM_OK;
}

static alm_status grow_states(alm_ctx *cx, alm_window_stream *s, void *states, size_t bytes,
                              uint32_t n)
{
    char *at = NULL;
    ALM_TRY(alm_pool_grow(cx, s->pool, states, s->n * bytes, n * bytes));
    memcpy(&at, states, sizeof at);
    memset(at + s->n * bytes, 0, (n - s->n) * bytes);
    return ALM_OK;
}

alm_status alm_window_stream_reserve(alm_ctx *cx, alm_window_stream *s, uint32_t n)
{
    if (n <= s->n)
        return ALM_OK;
    n = ALM_MAX(n, 2 * s->n);
    if (s->kind <= S_DENSE_RANK)
        ALM_TRY(grow_states(cx, s, &s->rank, sizeof *s->rank, n));
    else if (s->kind <= S_LAST)
        ALM_TRY(grow_states(cx, s, &s->pasts, sizeof *s->pasts, n));
    else if (s->sliding)
        ALM_TRY(grow_states(cx, s, &s->rings, sizeof *s->rings, n));
    else
        ALM_TRY(grow_states(cx, s, &s->total, sizeof *s->total, n));
    s->n = n;
    return ALM_OK;
}

/* ------------------------------------------------------------------------------------ ranks */

static void run_ranks(alm_window_stream *s, uint32_t n, const uint32_t *number, const int64_t *ts,
                      int64_t *out)
{
    rank_state *state = s->rank;
    if (s->kind == S_ROW_NUMBER) {
        for (uint32_t i = 0; i < n; i++)
            out[i] = ++state[number[i]].rows;
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        rank_state *r = &state[number[i]];
        r->rows++;
        if (r->rows == 1 || (ts != NULL && ts[i] != r->ts)) {
            r->rank = r->rows;
            r->dense++;
            r->ts = ts != NULL ? ts[i] : 0;
        }
        out[i] = s->kind == S_RANK ? r->rank : r->dense;
    }
}

/* ----------------------------------------------------------------------------------- values */

static alm_status past_push(alm_ctx *cx, alm_window_stream *s, past *p, const void *v)
{
    if (p->count == p->cap && p->cap < s->depth) { /* not full yet: entries start at 0 */
        const uint32_t cap = ALM_MIN(ALM_MAX(2 * p->cap, 4U), s->depth);
        ALM_TRY(alm_pool_grow(cx, s->pool, &p->data, (size_t)p->cap * s->width,
                              (size_t)cap * s->width));
        p->cap = cap;
        p->next = p->count;
    }
    memcpy(p->data + (size_t)p->next * s->width, v, s->width);
    p->next = p->next + 1 == s->depth ? 0 : p->next + 1;
    p->count += p->count < s->depth;
    return ALM_OK;
}

/* The oldest of the values kept; once `depth` of them are there, the one about to be replaced. */
static const void *past_oldest(const alm_window_stream *s, const past *p)
{
    return p->data + (p->count == s->depth ? (size_t)p->next * s->width : 0);
}

static const char *at(const alm_vec *v, uint32_t i)
{
    return (const char *)v->data + (v->is_const ? 0 : (size_t)i * v->width);
}

static alm_status run_lag(alm_ctx *cx, alm_window_stream *s, uint32_t n, const uint32_t *number,
                          const alm_vec *arg, const alm_vec *other, char *out)
{
    for (uint32_t i = 0; i < n; i++, out += s->width) {
        past *p = &s->pasts[number[i]];
        if (s->depth == 0) {
            memcpy(out, at(arg, i), s->width);
            continue;
        }
        if (p->count == s->depth)
            memcpy(out, past_oldest(s, p), s->width);
        else
            memcpy(out, other != NULL ? at(other, i) : s->none, s->width);
        if (!s->call->ignore_nulls || !s->null[i])
            ALM_TRY(past_push(cx, s, p, at(arg, i)));
    }
    return ALM_OK;
}

static alm_status run_first(alm_ctx *cx, alm_window_stream *s, uint32_t n, const uint32_t *number,
                            const alm_vec *arg, char *out)
{
    const bool no_start = s->call->lo_kind == 'U';
    for (uint32_t i = 0; i < n; i++, out += s->width) {
        past *p = &s->pasts[number[i]];
        const bool skip = s->call->ignore_nulls && s->null[i];
        if (!skip && !(no_start && p->count > 0))
            ALM_TRY(past_push(cx, s, p, at(arg, i)));
        memcpy(out, p->count > 0 ? past_oldest(s, p) : s->none, s->width);
    }
    return ALM_OK;
}

/* End of the rows with the time of row i; one row where ties do not matter. */
static uint32_t run_end(const alm_window_stream *s, const int64_t *ts, uint32_t i, uint32_t n)
{
    uint32_t end = i + 1;
    while (s->ties && end < n && ts[end] == ts[i])
        end++;
    return end;
}

static alm_status run_last(alm_ctx *cx, alm_window_stream *s, uint32_t n, const uint32_t *number,
                           const int64_t *ts, const alm_vec *arg, char *out)
{
    for (uint32_t i = 0; i < n;) {
        const uint32_t end = run_end(s, ts, i, n);
        for (uint32_t k = i; k < end; k++)
            if (!s->call->ignore_nulls || !s->null[k])
                ALM_TRY(past_push(cx, s, &s->pasts[number[k]], at(arg, k)));
        for (; i < end; i++) {
            const past *p = &s->pasts[number[i]];
            memcpy(out + (size_t)i * s->width, p->count > 0 ? past_oldest(s, p) : s->none,
                   s->width);
        }
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------------------- aggregates */

static inline value value_at(const alm_window_stream *s, const alm_vec *arg, uint32_t i)
{
    if (arg == NULL)
        return (value){.count = 1};
    if (s->kind == S_COUNT)
        return (value){.count = !s->null[i]};
    if (s->floating) {
        const double x = ((const double *)arg->data)[arg->is_const ? 0 : i];
        const bool some = x - x == 0; /* infinities are nulls too */
        return (value){.f = some ? x : 0, .count = some};
    }
    const int64_t x = ((const int64_t *)arg->data)[arg->is_const ? 0 : i];
    return (value){.i = x, .count = x != ALM_LONG_NULL};
}

/* a and what comes after it. A value with count 0 is nothing. */
static inline value combine(const alm_window_stream *s, value a, value b)
{
    if (b.count == 0)
        return a;
    if (a.count == 0)
        return b;
    value out = {.count = a.count + b.count};
    switch (s->kind) {
    case S_SUM:
    case S_AVG:
        out.f = a.f + b.f;
        break;
    case S_MIN:
        if (s->floating)
            out.f = b.f < a.f ? b.f : a.f;
        else
            out.i = b.i < a.i ? b.i : a.i;
        break;
    case S_MAX:
        if (s->floating)
            out.f = b.f > a.f ? b.f : a.f;
        else
            out.i = b.i > a.i ? b.i : a.i;
        break;
    case S_NONE:
    case S_ROW_NUMBER:
    case S_RANK:
    case S_DENSE_RANK:
    case S_LAG:
    case S_FIRST:
    case S_LAST:
    case S_COUNT:
        break;
    }
    return out;
}

static inline void put(const alm_window_stream *s, value v, void *out)
{
    if (s->kind == S_COUNT)
        *(int64_t *)out = v.count;
    else if (s->floating)
        *(double *)out = v.count == 0       ? __builtin_nan("")
                         : s->kind == S_AVG ? v.f / (double)v.count
                                            : v.f;
    else
        *(int64_t *)out = v.count == 0 ? ALM_LONG_NULL : v.i;
}

static void run_total(alm_window_stream *s, uint32_t n, const uint32_t *number, const int64_t *ts,
                      const alm_vec *arg, char *out)
{
    for (uint32_t i = 0; i < n;) {
        const uint32_t end = run_end(s, ts, i, n);
        for (uint32_t k = i; k < end; k++) {
            value *v = &s->total[number[k]];
            *v = combine(s, *v, value_at(s, arg, k));
        }
        for (; i < end; i++)
            put(s, s->total[number[i]], out + 8 * (size_t)i);
    }
}

static alm_status ring_grow(alm_ctx *cx, alm_window_stream *s, ring *r)
{
    const uint32_t old = r->mask == 0 ? 0 : r->mask + 1, cap = ALM_MAX(2 * old, (uint32_t)RING_MIN);
    ring_entry *entry = NULL;
    if (cap == 0)
        return alm_fail(cx, ALM_E_LIMIT, s->call->pos, "window: frame of too many rows");
    ALM_TRY(alm_pool_alloc(cx, s->pool, (size_t)cap * sizeof *entry, &entry));
    for (uint32_t i = r->head; i != r->end; i++)
        entry[i & (cap - 1)] = r->entry[i & r->mask];
    alm_pool_free(s->pool, r->entry);
    r->entry = entry;
    r->mask = cap - 1;
    return ALM_OK;
}

static alm_status ring_push(alm_ctx *cx, alm_window_stream *s, ring *r, value v, int64_t ts)
{
    if (r->mask == 0 || r->end - r->head > r->mask)
        ALM_TRY(ring_grow(cx, s, r));
    r->entry[r->end & r->mask] = (ring_entry){.v = v, .ts = ts};
    r->end++;
    r->newer = combine(s, r->newer, v);
    return ALM_OK;
}

static void ring_pop(const alm_window_stream *s, ring *r)
{
    if (r->head == r->mid) { /* the newer part becomes the older one */
        value sum = {0};
        for (uint32_t i = r->end; i != r->mid; i--) {
            ring_entry *e = &r->entry[(i - 1) & r->mask];
            sum = e->v = combine(s, e->v, sum);
        }
        r->mid = r->end;
        r->newer = (value){0};
    }
    r->head++;
}

static value ring_value(const alm_window_stream *s, const ring *r)
{
    return r->head == r->mid ? r->newer : combine(s, r->entry[r->head & r->mask].v, r->newer);
}

static alm_status run_sliding_rows(alm_ctx *cx, alm_window_stream *s, uint32_t n,
                                   const uint32_t *number, const alm_vec *arg, char *out)
{
    const uint32_t most = (uint32_t)s->back + 1;
    for (uint32_t i = 0; i < n; i++) {
        ring *r = &s->rings[number[i]];
        if (r->end - r->head == most)
            ring_pop(s, r);
        ALM_TRY(ring_push(cx, s, r, value_at(s, arg, i), 0));
        put(s, ring_value(s, r), out + 8 * (size_t)i);
    }
    return ALM_OK;
}

static alm_status run_sliding_range(alm_ctx *cx, alm_window_stream *s, uint32_t n,
                                    const uint32_t *number, const int64_t *ts, const alm_vec *arg,
                                    char *out)
{
    for (uint32_t i = 0; i < n;) {
        const uint32_t end = run_end(s, ts, i, n);
        int64_t least;
        if (__builtin_sub_overflow(ts[i], s->back, &least))
            least = INT64_MIN;
        for (uint32_t k = i; k < end; k++) {
            ring *r = &s->rings[number[k]];
            while (r->head != r->end && r->entry[r->head & r->mask].ts < least)
                ring_pop(s, r);
            ALM_TRY(ring_push(cx, s, r, value_at(s, arg, k), ts[k]));
        }
        for (; i < end; i++)
            put(s, ring_value(s, &s->rings[number[i]]), out + 8 * (size_t)i);
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------------------------- all */

alm_status alm_window_stream_run(alm_ctx *cx, alm_window_stream *s, uint32_t n,
                                 const uint32_t *number, const int64_t *ts, const alm_vec *arg,
                                 const alm_vec *other, void *out)
{
    if (arg != NULL && (s->call->ignore_nulls || s->kind == S_COUNT)) {
        if (n > s->null_cap) {
            ALM_TRY(alm_pool_grow(cx, s->pool, &s->null, 0, n));
            s->null_cap = n;
        }
        alm_vec_null_mask(arg, n, s->null);
    }
    switch (s->kind) {
    case S_ROW_NUMBER:
    case S_RANK:
    case S_DENSE_RANK:
        run_ranks(s, n, number, s->call->n_order > 0 ? ts : NULL, out);
        return ALM_OK;
    case S_LAG:
        return run_lag(cx, s, n, number, arg, other, out);
    case S_FIRST:
        return run_first(cx, s, n, number, arg, out);
    case S_LAST:
        return run_last(cx, s, n, number, ts, arg, out);
    case S_COUNT:
    case S_SUM:
    case S_AVG:
    case S_MIN:
    case S_MAX:
        break;
    case S_NONE:
        ALM_UNREACHABLE("a call that does not stream");
    }
    if (!s->sliding)
        run_total(s, n, number, ts, arg, out);
    else if (s->range)
        return run_sliding_range(cx, s, n, number, ts, arg, out);
    else
        return run_sliding_rows(cx, s, n, number, arg, out);
    return ALM_OK;
}
