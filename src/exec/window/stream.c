/*
 * stream.c - which calls stream, and how. See stream.h.
 *
 * Every kernel is one loop over the batch with the state of each row's partition found by number.
 * Aggregates of frames are in slide.c; here are ranks, values of other rows, and what turns a
 * call into one of those:
 *
 *   - FILTER makes nulls of the rows that do not pass.
 *   - A frame that ends k rows before the current one is that frame of lag(value, k): the nulls at the
 *     beginning add nothing.
 *   - Rows that tie under RANGE have one result, that of the last of them in their partition: it is
 *     copied to the others afterwards.
 */
#include "exec/window/stream.h"

#include "exec/data/wide.h"
#include "exec/window/slide.h"
#include "type/value.h"

enum { LAG_MAX = 1 << 16, LAG_FLAT_MAX = 8, LATE_MAX = 1024 };

typedef enum stream_kind {
    S_NONE,
    S_ROW_NUMBER,
    S_RANK,
    S_DENSE_RANK,
    S_LAG,    /* the value `depth` rows back */
    S_FIRST,  /* of a frame without a beginning */
    S_OLDEST, /* the oldest row of a ROWS frame */
    S_AGG
} stream_kind;

/* How a call streams. */
typedef struct stream_way {
    stream_kind kind;
    alm_slide_spec agg;
    uint32_t depth; /* LAG: rows back; OLDEST: rows of the frame; AGG: rows the frame ends before */
    bool ties;      /* peers share the result */
} stream_way;

/* Rank: rows and groups so far, time of the group. */
typedef struct rank_state {
    int64_t rows, rank, dense, ts;
} rank_state;

/* The last `depth` values of a partition. */
typedef struct past {
    char *data;
    uint32_t count, next, cap;
} past;

/* The last values of all partitions, `depth` each, side by side; at first all of them the default. */
typedef struct flat {
    char *data;
    uint32_t *next; /* depth > 1: place of the oldest */
    uint32_t n, depth;
} flat;

struct alm_window_stream {
    const alm_window_call *call;
    alm_pool *pool;
    stream_way way;
    uint8_t width;
    uint32_t n; /* partitions */
    int64_t *rows;
    rank_state *rank;
    flat flat;
    past *pasts;
    uint8_t *seen; /* FIRST: is there a value */
    alm_slide *slide;
    flat late;     /* values on their way into frames that end before the current row */
    char *last;    /* by partition: result of the last peer */
    uint8_t *null; /* per row: nulls, where they are passed over */
    uint64_t *values, *delayed; /* per row */
    uint32_t cap;               /* of the arrays per row */
    char none[32];              /* null of the result, or the constant default */
};

/* ----------------------------------------------------------------------------- which calls */

static bool fixed_width(alm_type type)
{
    return !alm_type_is_text(type) && type.id != ALM_T_NULL &&
           alm_type_info_of(type)->null != ALM_NULL_VIEW;
}

static stream_kind lag_way(const alm_window_call *call, int64_t rows, stream_way *way)
{
    if (rows >= LAG_MAX || (call->ignore_nulls && rows == 0))
        return S_NONE;
    way->depth = (uint32_t)rows;
    return S_LAG;
}

static stream_kind value_kind(const alm_window_call *call, stream_way *way)
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
    if (ops == &alm_window_lag)
        return lag_way(call, ((const alm_window_offset *)call->data)->offset, way);
    const bool no_start = call->lo_kind == ALM_BOUND_UNBOUNDED_PRECEDING,
               rows = call->frame == ALM_FRAME_ROWS;
    if (call->exclude != ALM_EXCLUDE_NONE)
        return S_NONE;
    way->ties = !rows && call->n_order > 0;
    if (call->hi_kind == ALM_BOUND_PRECEDING && rows && ops == &alm_window_last_value &&
        !call->ignore_nulls)
        return no_start || (call->lo_kind == ALM_BOUND_PRECEDING && call->lo >= call->hi)
                   ? lag_way(call, call->hi, way)
                   : S_NONE;
    if (call->hi_kind != ALM_BOUND_CURRENT)
        return S_NONE;
    if (ops == &alm_window_last_value) {
        way->depth = 1;
        return call->ignore_nulls && no_start              ? S_OLDEST
               : !call->ignore_nulls && (no_start || rows) ? S_OLDEST
                                                           : S_NONE;
    }
    if (ops != &alm_window_first_value)
        return S_NONE;
    way->ties = way->ties && call->ignore_nulls;
    if (no_start)
        return S_FIRST;
    if (!rows || call->lo_kind != ALM_BOUND_PRECEDING || call->lo >= LAG_MAX || call->ignore_nulls)
        return S_NONE;
    way->depth = (uint32_t)call->lo + 1;
    return S_OLDEST;
}

/* Frames of aggregates that end at the current row or before it. */
static bool frame_way(const alm_window_call *call, stream_way *way)
{
    const bool rows = call->frame == ALM_FRAME_ROWS,
               no_start = call->lo_kind == ALM_BOUND_UNBOUNDED_PRECEDING;
    const bool at_row = call->hi_kind == ALM_BOUND_CURRENT ||
                        (call->hi_kind == ALM_BOUND_PRECEDING && call->hi == 0);
    int64_t lo = call->lo_kind == ALM_BOUND_PRECEDING ? call->lo : 0,
            hi = call->hi_kind == ALM_BOUND_PRECEDING ? call->hi : 0;
    const bool start = no_start || call->lo_kind == ALM_BOUND_PRECEDING ||
                       (rows && call->lo_kind == ALM_BOUND_CURRENT);
    if (!start || (call->hi_kind != ALM_BOUND_CURRENT && call->hi_kind != ALM_BOUND_PRECEDING))
        return false;
    if (call->exclude == ALM_EXCLUDE_CURRENT && rows && at_row && (no_start || lo > 0))
        hi = 1; /* the rows before the current one */
    else if (call->exclude != ALM_EXCLUDE_NONE)
        return false;
    way->agg.pos = call->pos;
    if (rows) {
        if (hi > LATE_MAX || (!no_start && (lo < hi || lo - hi >= ALM_SLIDE_ROWS_MAX)))
            return false;
        way->depth = (uint32_t)hi;
        way->agg.back = lo - hi;
        way->agg.shape = no_start ? ALM_SLIDE_TOTAL : ALM_SLIDE_ROWS;
        return true;
    }
    if (call->n_order == 0 || (call->frame == ALM_FRAME_GROUPS && (!no_start || !at_row)))
        return false;
    way->ties = at_row;
    way->agg.back = no_start ? INT64_MAX : lo;
    way->agg.ahead = hi;
    way->agg.shape = no_start && at_row ? ALM_SLIDE_TOTAL : ALM_SLIDE_RANGE;
    return no_start ? at_row : lo >= hi;
}

static stream_way stream_way_of(const alm_window_call *call)
{
    stream_way way = {0};
    if (call->distinct || (call->n_order > 0 && (!call->order_is_ts || call->order[0].desc)))
        return way;
    if (call->fn->kind == ALM_FN_WINDOW) {
        if (call->filter == NULL)
            way.kind = value_kind(call, &way);
    } else if (alm_slide_op_of(call, &way.agg.op, &way.agg.floating) && frame_way(call, &way)) {
        way.kind = S_AGG;
    }
    return way;
}

bool alm_window_streams(const alm_window_call *call)
{
    return stream_way_of(call).kind != S_NONE;
}

/* ------------------------------------------------------------------------------------ making */

/* Few values back: no pointer per partition. */
static bool is_flat(const alm_window_stream *stream)
{
    return stream->way.kind == S_LAG && stream->way.depth <= LAG_FLAT_MAX &&
           (stream->call->n_args < 3 || stream->call->args[2]->kind == ALM_X_CONST);
}

alm_status alm_window_stream_new(alm_ctx *cx, alm_pool *pool, const alm_window_call *call,
                                 alm_window_stream **out)
{
    alm_window_stream *stream = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &stream));
    stream->call = call;
    stream->pool = pool;
    stream->way = stream_way_of(call);
    ALM_ASSERT(stream->way.kind != S_NONE);
    stream->width = (uint8_t)alm_type_width(call->type);
    alm_value_set_null(call->type, stream->none);
    if (is_flat(stream) && call->n_args > 2)
        memcpy(stream->none, call->args[2]->value.data, stream->width);
    if (stream->way.kind == S_AGG)
        ALM_TRY(alm_slide_new(cx, pool, &stream->way.agg, &stream->slide));
    *out = stream;
    return ALM_OK;
}

static alm_status grow_states(alm_ctx *cx, alm_window_stream *stream, void *states, size_t bytes,
                              uint32_t n)
{
    char *ptr = NULL;
    ALM_TRY(alm_pool_grow(cx, stream->pool, states, stream->n * bytes, n * bytes));
    memcpy(&ptr, states, sizeof ptr);
    memset(ptr + stream->n * bytes, 0, (n - stream->n) * bytes);
    return ALM_OK;
}

/* Room for n partitions, the new ones filled with `none`. */
static alm_status flat_reserve(alm_ctx *cx, alm_pool *pool, flat *self, uint32_t depth, uint32_t n,
                               uint8_t width, const void *none)
{
    const size_t old = (size_t)self->n * depth, all = (size_t)n * depth;
    self->depth = depth;
    ALM_TRY(alm_pool_grow(cx, pool, &self->data, old * width, all * width));
    for (size_t i = old; i < all; i++)
        memcpy(self->data + i * width, none, width);
    if (depth > 1) {
        ALM_TRY(
            alm_pool_grow(cx, pool, &self->next, self->n * sizeof(uint32_t), n * sizeof(uint32_t)));
        memset(self->next + self->n, 0, (n - self->n) * sizeof(uint32_t));
    }
    self->n = n;
    return ALM_OK;
}

alm_status alm_window_stream_reserve(alm_ctx *cx, alm_window_stream *stream, uint32_t n)
{
    static const uint64_t null_f = 0x7ff8000000000000, null_i = (uint64_t)INT64_MIN, null_c = 0;
    if (n <= stream->n)
        return ALM_OK;
    n = ALM_MAX(n, 2 * stream->n);
    if (stream->way.ties)
        ALM_TRY(grow_states(cx, stream, &stream->last, stream->width, n));
    switch (stream->way.kind) {
    case S_NONE:
        break;
    case S_ROW_NUMBER:
        ALM_TRY(grow_states(cx, stream, &stream->rows, sizeof *stream->rows, n));
        break;
    case S_RANK:
    case S_DENSE_RANK:
        ALM_TRY(grow_states(cx, stream, &stream->rank, sizeof *stream->rank, n));
        break;
    case S_LAG:
        if (stream->way.depth == 0)
            break;
        if (is_flat(stream))
            ALM_TRY(flat_reserve(cx, stream->pool, &stream->flat, stream->way.depth, n,
                                 stream->width, stream->none));
        else
            ALM_TRY(grow_states(cx, stream, &stream->pasts, sizeof *stream->pasts, n));
        break;
    case S_FIRST:
        ALM_TRY(grow_states(cx, stream, &stream->seen, 1, n));
        ALM_TRY(flat_reserve(cx, stream->pool, &stream->flat, 1, n, stream->width, stream->none));
        break;
    case S_OLDEST:
        if (stream->way.depth == 1)
            ALM_TRY(
                flat_reserve(cx, stream->pool, &stream->flat, 1, n, stream->width, stream->none));
        else
            ALM_TRY(grow_states(cx, stream, &stream->pasts, sizeof *stream->pasts, n));
        break;
    case S_AGG:
        ALM_TRY(alm_slide_reserve(cx, stream->slide, n));
        if (stream->way.depth > 0)
            ALM_TRY(flat_reserve(cx, stream->pool, &stream->late, stream->way.depth, n, 8,
                                 stream->way.agg.op == ALM_SLIDE_COUNT ? &null_c
                                 : stream->way.agg.floating            ? &null_f
                                                                       : &null_i));
        break;
    }
    stream->n = n;
    return ALM_OK;
}

/* ------------------------------------------------------------------------------------ ranks */

static void run_ranks(alm_window_stream *stream, uint32_t n, const uint32_t *number, bool single,
                      const int64_t *ts, int64_t *restrict out)
{
    rank_state *state = stream->rank;
    if (stream->way.kind == S_ROW_NUMBER) {
        int64_t *restrict rows = stream->rows;
        for (uint32_t i = 0; single && i < n; i++)
            out[i] = rows[0] + i + 1;
        for (uint32_t i = 0; !single && i < n; i++)
            out[i] = ++rows[number[i]];
        rows[0] += single ? n : 0;
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
        out[i] = stream->way.kind == S_RANK ? r->rank : r->dense;
    }
}

/* ----------------------------------------------------------------------------------- values */

/* null: rows to be passed over, or NULL. */
typedef struct value_rows {
    uint32_t n;
    const uint32_t *number;
    const uint8_t *null;
    const void *arg;
    void *out;
} value_rows;

#define DEFINE_VALUES(name, type)                                                                  \
    static void lag_##name(flat *f, const value_rows *r)                                           \
    {                                                                                              \
        type *data = (type *)(void *)f->data, *restrict out = r->out;                              \
        const type *restrict arg = r->arg;                                                         \
        const uint32_t depth = f->depth;                                                           \
        for (uint32_t i = 0; depth == 1 && i < r->n; i++) {                                        \
            type *at = &data[r->number[i]];                                                        \
            out[i] = *at;                                                                          \
            if (r->null == NULL || !r->null[i])                                                    \
                *at = arg[i];                                                                      \
        }                                                                                          \
        for (uint32_t i = 0; depth > 1 && i < r->n; i++) {                                         \
            uint32_t *next = &f->next[r->number[i]];                                               \
            type *at = &data[(size_t)r->number[i] * depth + *next];                                \
            out[i] = *at;                                                                          \
            if (r->null == NULL || !r->null[i]) {                                                  \
                *at = arg[i];                                                                      \
                *next = *next + 1 == depth ? 0 : *next + 1;                                        \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void first_##name(flat *f, uint8_t *seen, const value_rows *r)                          \
    {                                                                                              \
        type *data = (type *)(void *)f->data, *restrict out = r->out;                              \
        const type *restrict arg = r->arg;                                                         \
        for (uint32_t i = 0; i < r->n; i++) {                                                      \
            const uint32_t k = r->number[i];                                                       \
            if (!seen[k] && (r->null == NULL || !r->null[i])) {                                    \
                data[k] = arg[i];                                                                  \
                seen[k] = 1;                                                                       \
            }                                                                                      \
            out[i] = data[k];                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void last_##name(flat *f, const value_rows *r)                                          \
    {                                                                                              \
        type *data = (type *)(void *)f->data, *restrict out = r->out;                              \
        const type *restrict arg = r->arg;                                                         \
        for (uint32_t i = 0; i < r->n; i++) {                                                      \
            type *at = &data[r->number[i]];                                                        \
            if (r->null == NULL || !r->null[i])                                                    \
                *at = arg[i];                                                                      \
            out[i] = *at;                                                                          \
        }                                                                                          \
    }                                                                                              \
    /* Rows of one time: the result of the last one of each partition is that of all. */           \
    static void tie_##name(type *restrict last, const uint32_t *restrict number,                   \
                           const int64_t *restrict ts, uint32_t n, type *restrict out)             \
    {                                                                                              \
        for (uint32_t i = 0, end; i < n; i = end) {                                                \
            for (end = i + 1; end < n && ts[end] == ts[i];)                                        \
                end++;                                                                             \
            if (end == i + 1)                                                                      \
                continue;                                                                          \
            for (uint32_t k = i; k < end; k++)                                                     \
                last[number[k]] = out[k];                                                          \
            for (uint32_t k = i; k < end; k++)                                                     \
                out[k] = last[number[k]];                                                          \
        }                                                                                          \
    }
DEFINE_VALUES(8, uint8_t)
DEFINE_VALUES(16, uint16_t)
DEFINE_VALUES(32, uint32_t)
DEFINE_VALUES(64, uint64_t)
DEFINE_VALUES(128, alm_wide16)
DEFINE_VALUES(256, alm_wide32)

typedef struct value_kernels {
    void (*lag)(flat *f, const value_rows *r);
    void (*first)(flat *f, uint8_t *seen, const value_rows *r);
    void (*last)(flat *f, const value_rows *r);
} value_kernels;

static const value_kernels *kernels_of(uint8_t width)
{
    static const value_kernels rows[] = {
        {lag_8, first_8, last_8},       {lag_16, first_16, last_16},
        {lag_32, first_32, last_32},    {lag_64, first_64, last_64},
        {lag_128, first_128, last_128}, {lag_256, first_256, last_256}};
    uint32_t i = 0;
    while (1U << i < width)
        i++;
    ALM_ASSERT(i < ALM_COUNT(rows) && 1U << i == width);
    return &rows[i];
}

static alm_status past_push(alm_ctx *cx, alm_window_stream *stream, past *self, const void *v)
{
    const uint32_t depth = stream->way.depth;
    if (self->count == self->cap && self->cap < depth) { /* not full yet: entries start at 0 */
        const uint32_t cap = ALM_MIN(ALM_MAX(2 * self->cap, 4U), depth);
        ALM_TRY(alm_pool_grow(cx, stream->pool, &self->data, (size_t)self->cap * stream->width,
                              (size_t)cap * stream->width));
        self->cap = cap;
        self->next = self->count;
    }
    memcpy(self->data + (size_t)self->next * stream->width, v, stream->width);
    self->next = self->next + 1 == depth ? 0 : self->next + 1;
    self->count += self->count < depth;
    return ALM_OK;
}

/* The oldest of the values kept; once `depth` of them are there, the one about to be replaced. */
static const void *past_oldest(const alm_window_stream *stream, const past *self)
{
    return self->data + (self->count == stream->way.depth ? (size_t)self->next * stream->width : 0);
}

/* Values far back, in arrays that grow by partition. */
static alm_status run_past(alm_ctx *cx, alm_window_stream *stream, const value_rows *r,
                           const alm_vec *other)
{
    const bool lag = stream->way.kind == S_LAG;
    const char *arg = r->arg, *none = other != NULL ? other->data : stream->none;
    const size_t step = other != NULL && !other->is_const ? stream->width : 0;
    char *out = r->out;
    for (uint32_t i = 0; i < r->n; i++, out += stream->width, arg += stream->width, none += step) {
        past *p = &stream->pasts[r->number[i]];
        if (lag)
            memcpy(out, p->count == stream->way.depth ? past_oldest(stream, p) : none,
                   stream->width);
        if (r->null == NULL || !r->null[i])
            ALM_TRY(past_push(cx, stream, p, arg));
        if (!lag)
            memcpy(out, p->count > 0 ? past_oldest(stream, p) : none, stream->width);
    }
    return ALM_OK;
}

static alm_status run_values(alm_ctx *cx, alm_window_stream *stream, const value_rows *r,
                             const alm_vec *other)
{
    const value_kernels *kernels = kernels_of(stream->width);
    if (stream->way.kind == S_FIRST) {
        kernels->first(&stream->flat, stream->seen, r);
    } else if (stream->way.depth == 0) {
        memcpy(r->out, r->arg, (size_t)r->n * stream->width);
    } else if (is_flat(stream)) {
        kernels->lag(&stream->flat, r);
    } else if (stream->way.kind == S_OLDEST && stream->way.depth == 1) {
        kernels->last(&stream->flat, r);
    } else {
        return run_past(cx, stream, r, other);
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------------------- aggregates */

ALM_SIMD static void marks_to_ones(const uint8_t *restrict null, const uint8_t *restrict pass,
                                   uint32_t n, uint64_t *restrict out)
{
    if (pass == NULL)
        for (uint32_t i = 0; i < n; i++)
            out[i] = null[i] ^ 1U;
    else
        for (uint32_t i = 0; i < n; i++)
            out[i] = (null[i] ^ 1U) & pass[i];
}

ALM_SIMD static void keep_passing(const uint64_t *restrict values, const uint8_t *restrict pass,
                                  uint64_t none, uint32_t n, uint64_t *restrict out)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = pass[i] ? values[i] : none;
}

/* What the kernels take: values, or ones and zeros to be counted; nulls where the filter says no. */
static const uint64_t *agg_values(alm_window_stream *stream, uint32_t n_rows, const alm_vec *arg,
                                  const uint8_t *pass)
{
    if (stream->way.agg.op == ALM_SLIDE_COUNT) {
        if (arg != NULL && !arg->no_nulls)
            (void)alm_vec_null_mask(arg, n_rows, stream->null);
        else
            memset(stream->null, 0, n_rows);
        marks_to_ones(stream->null, pass, n_rows, stream->values);
        return stream->values;
    }
    if (pass == NULL)
        return arg->data;
    uint64_t none;
    memcpy(&none, stream->none, sizeof none);
    keep_passing(arg->data, pass, none, n_rows, stream->values);
    return stream->values;
}

static alm_status run_agg(alm_ctx *cx, alm_window_stream *stream,
                          const alm_stream_rows *stream_rows, void *out)
{
    const uint64_t *values =
        agg_values(stream, stream_rows->n, stream_rows->arg, stream_rows->pass);
    if (stream->way.depth > 0) {
        lag_64(&stream->late, &(value_rows){.n = stream_rows->n,
                                            .number = stream_rows->number,
                                            .arg = values,
                                            .out = stream->delayed});
        values = stream->delayed;
    }
    return alm_slide_run(cx, stream->slide, stream_rows->n, stream_rows->number,
                         stream_rows->single, stream_rows->ts, values, out);
}

/* -------------------------------------------------------------------------------------- all */

static bool any_ties(const int64_t *ts, uint32_t n)
{
    uint32_t ties = 0;
    for (uint32_t i = 1; i < n; i++)
        ties += ts[i] == ts[i - 1];
    return ties > 0;
}

static void share_results(alm_window_stream *stream, const alm_stream_rows *stream_rows, void *out)
{
    if (!any_ties(stream_rows->ts, stream_rows->n))
        return;
    switch (stream->width) {
    case 1:
        tie_8((void *)stream->last, stream_rows->number, stream_rows->ts, stream_rows->n, out);
        break;
    case 2:
        tie_16((void *)stream->last, stream_rows->number, stream_rows->ts, stream_rows->n, out);
        break;
    case 4:
        tie_32((void *)stream->last, stream_rows->number, stream_rows->ts, stream_rows->n, out);
        break;
    case 8:
        tie_64((void *)stream->last, stream_rows->number, stream_rows->ts, stream_rows->n, out);
        break;
    case 16:
        tie_128((void *)stream->last, stream_rows->number, stream_rows->ts, stream_rows->n, out);
        break;
    default:
        tie_256((void *)stream->last, stream_rows->number, stream_rows->ts, stream_rows->n, out);
    }
}

static alm_status reserve_rows(alm_ctx *cx, alm_window_stream *stream, uint32_t n)
{
    if (n <= stream->cap)
        return ALM_OK;
    ALM_TRY(alm_pool_grow(cx, stream->pool, &stream->null, 0, n));
    ALM_TRY(alm_pool_grow(cx, stream->pool, &stream->values, 0, n * sizeof *stream->values));
    ALM_TRY(alm_pool_grow(cx, stream->pool, &stream->delayed, 0, n * sizeof *stream->delayed));
    stream->cap = n;
    return ALM_OK;
}

bool alm_window_stream_ties(const alm_window_stream *stream)
{
    return stream->way.ties;
}

alm_status alm_window_stream_run(alm_ctx *cx, alm_window_stream *stream,
                                 const alm_stream_rows *stream_rows, void *out)
{
    ALM_TRY(reserve_rows(cx, stream, stream_rows->n));
    switch (stream->way.kind) {
    case S_NONE:
        ALM_UNREACHABLE("a call that does not stream");
    case S_ROW_NUMBER:
    case S_RANK:
    case S_DENSE_RANK:
        run_ranks(stream, stream_rows->n, stream_rows->number, stream_rows->single,
                  stream->call->n_order > 0 ? stream_rows->ts : NULL, out);
        return ALM_OK;
    case S_LAG:
    case S_FIRST:
    case S_OLDEST: {
        const bool skip = stream->call->ignore_nulls && !stream_rows->arg->no_nulls;
        value_rows v = {.n = stream_rows->n,
                        .number = stream_rows->number,
                        .arg = stream_rows->arg->data,
                        .out = out};
        if (skip) {
            (void)alm_vec_null_mask(stream_rows->arg, stream_rows->n, stream->null);
            v.null = stream->null;
        }
        ALM_TRY(run_values(cx, stream, &v, stream_rows->other));
        break;
    }
    case S_AGG:
        ALM_TRY(run_agg(cx, stream, stream_rows, out));
    }
    if (stream->way.ties)
        share_results(stream, stream_rows, out);
    return ALM_OK;
}
