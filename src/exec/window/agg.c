/*
 * agg.c - aggregates over the frames of a partition. See window.h.
 *
 * Simple      sum, avg, min, max, count of doubles, of integers where it applies: loops of
 *             slide.c.
 * Any other   Two stacks of states: the older part of the frame has the states of all its suffixes, the
 *             newer part one state; a result is the merge of the two. Nothing is ever taken out of a
 *             state, so that sums do not drift and extremes need no search. Each row is added twice and
 *             merged twice at the most; a frame that only grows needs one state.
 *             States that point to memory of their own (texts, sets of values) cannot be merged twice:
 *             unless their frame only grows they are made anew for each frame.
 * DISTINCT    In frames that leave rows behind: anew for each frame, of the first row of each value in it.
 * EXCLUDE     The rows before the gap and those behind it are two frames whose borders never go back;
 *             between them may be the row itself (EXCLUDE TIES).
 */
#include "exec/data/blend.h"
#include "exec/window/slide.h"
#include "exec/window/window.h"
#include "type/value.h"

/* A state may be large, and take long to merge: cancel and time-out once in so many rows. */
enum { LOOK_ROWS = 16 };

/* A frame on its way through the partition. */
typedef struct slider {
    char *newer;  /* state of [mid, end) */
    char *suffix; /* states of [base, mid), [base + 1, mid) ... */
    uint32_t cap, base, mid, end;
} slider;

struct alm_window_agg {
    alm_call call;
    const alm_agg_ops *ops;
    alm_pool *pool;
    uint32_t n_args, width;
    alm_vec *slice; /* of the arguments */
    char *result;   /* state to merge into */
    slider part[2]; /* before the gap, behind it */
    bool simple;
    alm_slide_part loop;
    uint64_t *other;
    uint32_t *edge, *count; /* simple: borders, two for each row; values of the frames */
    uint8_t *pass;
    uint32_t cap;
    /* any other: rows that pass the filter */
    uint32_t *before, *some;
    alm_vec *args;
    alm_arena scratch; /* of their values */
};

alm_status alm_window_agg_new(alm_ctx *cx, alm_pool *pool, const alm_window_call *call,
                              alm_arena *lasting, uint32_t width, alm_window_agg **out)
{
    alm_window_agg *agg = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &agg));
    agg->ops = call->fn->agg;
    agg->pool = pool;
    agg->n_args = call->n_args;
    agg->width = width;
    agg->simple = alm_slide_op_of(call, &agg->loop.op, &agg->loop.floating) &&
                  !(call->distinct && alm_window_moves(call));
    agg->call = (alm_call){.cx = cx,
                           .fn = call->fn,
                           .data = call->data,
                           .arena = lasting,
                           .result = call->type,
                           .pos = call->pos,
                           .argc = call->n_args};
    alm_arena_init(&agg->scratch, cx->mem);
    *out = agg;
    if (call->fn->state_bytes > 0)
        ALM_TRY(alm_arena_zero(cx, cx->arena, call->fn->state_bytes, &agg->call.state));
    ALM_TRY(ALM_NEWN(cx, cx->arena, call->n_args + 1, &agg->slice));
    ALM_TRY(ALM_NEWN(cx, cx->arena, call->n_args + 1, &agg->args));
    ALM_TRY(alm_pool_alloc(cx, pool, agg->ops->state_bytes, &agg->result));
    for (int i = 0; i < 2; i++)
        ALM_TRY(alm_pool_alloc(cx, pool, agg->ops->state_bytes, &agg->part[i].newer));
    return ALM_OK;
}

void alm_window_agg_free(alm_window_agg *agg)
{
    if (agg != NULL)
        alm_arena_deinit(&agg->scratch);
}

/* ------------------------------------------------------------------------------ any aggregate */

/* Rows [lo, hi) into a state. */
static alm_status agg_add(alm_window_agg *agg, const alm_vec *args, void *state, uint32_t lo,
                          uint32_t hi)
{
    for (uint32_t n; lo < hi; lo += n) {
        n = ALM_MIN(hi - lo, (uint32_t)ALM_BATCH_ROWS);
        ALM_TRY(alm_steps_add(agg->call.cx, n));
        for (uint32_t arg = 0; arg < agg->n_args; arg++) {
            agg->slice[arg] = args[arg];
            if (!args[arg].is_const)
                agg->slice[arg].data = (char *)args[arg].data + (size_t)lo * args[arg].width;
        }
        ALM_TRY(agg->ops->update(&agg->call, state, n, agg->slice));
    }
    return ALM_OK;
}

/* States of all suffixes of rows [lo, hi), the longest first. */
static alm_status make_suffixes(alm_ctx *cx, alm_window_agg *agg, slider *self, const alm_vec *args,
                                uint32_t lo, uint32_t hi)
{
    const size_t bytes = agg->ops->state_bytes;
    const uint32_t len = hi - lo;
    if (len > self->cap) {
        const uint32_t cap = ALM_MAX(len, 2 * self->cap);
        ALM_TRY(alm_pool_grow(cx, agg->pool, &self->suffix, 0, (size_t)cap * bytes));
        self->cap = cap;
    }
    agg->ops->init(&agg->call, self->suffix, len);
    for (uint32_t i = len; i-- > 0;) {
        char *state = self->suffix + (size_t)i * bytes;
        if (i % LOOK_ROWS == 0)
            ALM_TRY(alm_check(cx));
        ALM_TRY(agg_add(agg, args, state, lo + i, lo + i + 1));
        if (i + 1 < len)
            ALM_TRY(agg->ops->merge(&agg->call, state, NULL, state + bytes, 1));
    }
    return ALM_OK;
}

static void slider_start(alm_window_agg *agg, slider *self, uint32_t place)
{
    self->base = self->mid = self->end = place;
    agg->ops->init(&agg->call, self->newer, 1);
}

/* Moves to [lo, hi); *older (or NULL) and *newer (or NULL) are its two parts. */
static alm_status slide(alm_ctx *cx, alm_window_agg *agg, slider *self, const alm_vec *args,
                        uint32_t lo, uint32_t hi, const void **older, const void **newer)
{
    if (lo > self->mid) { /* a row of the newer part goes: make it the older one */
        if (lo < self->end)
            ALM_TRY(make_suffixes(cx, agg, self, args, lo, self->end));
        const uint32_t end = ALM_MAX(self->end, lo);
        slider_start(agg, self, lo);
        self->mid = self->end = end;
    }
    if (hi > self->end) {
        ALM_TRY(agg_add(agg, args, self->newer, self->end, hi));
        self->end = hi;
    }
    *older = lo < self->mid && lo < hi
                 ? self->suffix + (size_t)(lo - self->base) * agg->ops->state_bytes
                 : NULL;
    *newer = self->end > self->mid && lo < hi ? self->newer : NULL;
    return ALM_OK;
}

/* Long texts are copied: their state goes on changing. */
static alm_status agg_finish(alm_window_agg *agg, const void *state, void *out)
{
    alm_vec vec = {.type = agg->call.result, .width = (uint8_t)agg->width, .data = out};
    ALM_TRY(agg->ops->finish(&agg->call, state, 1, &vec));
    alm_view *view = out;
    if (!alm_has_views(agg->call.result) || agg->ops->plain || alm_view_is_null(view) ||
        view->len <= ALM_VIEW_INLINE)
        return ALM_OK;
    alm_str copy = {0};
    ALM_TRY(alm_text_work(agg->call.cx, 4 * (size_t)view->len));
    ALM_TRY(alm_arena_copy(agg->call.cx, agg->call.arena, alm_view_str(view, NULL), &copy));
    *view = alm_view_of(copy);
    return ALM_OK;
}

static alm_status merge_in(alm_window_agg *agg, const void *state)
{
    return state == NULL ? ALM_OK : agg->ops->merge(&agg->call, agg->result, NULL, state, 1);
}

/* A border, counted in rows that pass the filter. */
static inline uint32_t kept(const alm_window_agg *agg, uint32_t i)
{
    return agg->before != NULL ? agg->before[i] : i;
}

static alm_status run_whole_frames(alm_ctx *cx, alm_window_agg *agg, const alm_window_rows *rows,
                                   const alm_vec *args, char *out)
{
    slider *s = &agg->part[0];
    slider_start(agg, s, kept(agg, rows->lo[0]));
    for (uint32_t i = 0; i < rows->n; i++, out += agg->width) {
        const void *older = NULL, *newer = NULL;
        if (i % LOOK_ROWS == 0)
            ALM_TRY(alm_check(cx));
        if (i > 0 && rows->lo[i] == rows->lo[i - 1] && rows->hi[i] == rows->hi[i - 1]) {
            memcpy(out, out - agg->width, agg->width);
            continue;
        }
        ALM_TRY(slide(cx, agg, s, args, kept(agg, rows->lo[i]), kept(agg, rows->hi[i]), &older,
                      &newer));
        if (older == NULL && newer != NULL) {
            ALM_TRY(agg_finish(agg, newer, out));
            continue;
        }
        agg->ops->init(&agg->call, agg->result, 1);
        ALM_TRY(merge_in(agg, older));
        ALM_TRY(merge_in(agg, newer));
        ALM_TRY(agg_finish(agg, agg->result, out));
    }
    return ALM_OK;
}

/* What EXCLUDE leaves out of the frame of i: [*lo, *hi) of it. */
static void gap_of(const alm_window_rows *rows, uint32_t i, uint32_t *lo, uint32_t *hi)
{
    const uint32_t from = rows->exclude == ALM_EXCLUDE_CURRENT ? i : rows->peer_lo[i];
    const uint32_t to = rows->exclude == ALM_EXCLUDE_CURRENT ? i + 1 : rows->peer_hi[i];
    *lo = ALM_MIN(rows->hi[i], ALM_MAX(rows->lo[i], from));
    *hi = ALM_MAX(rows->lo[i], ALM_MIN(rows->hi[i], to));
    *hi = ALM_MAX(*lo, *hi);
}

static bool own_row(const alm_window_rows *rows, uint32_t i)
{
    return rows->exclude == ALM_EXCLUDE_TIES && rows->lo[i] <= i && i < rows->hi[i];
}

static alm_status run_gaps(alm_ctx *cx, alm_window_agg *agg, const alm_window_rows *rows,
                           const alm_vec *args, char *out)
{
    uint32_t lo, hi;
    gap_of(rows, 0, &lo, &hi);
    slider_start(agg, &agg->part[0], kept(agg, rows->lo[0]));
    slider_start(agg, &agg->part[1], kept(agg, hi));
    for (uint32_t i = 0; i < rows->n; i++, out += agg->width) {
        const void *older = NULL, *newer = NULL;
        if (i % LOOK_ROWS == 0)
            ALM_TRY(alm_check(cx));
        gap_of(rows, i, &lo, &hi);
        agg->ops->init(&agg->call, agg->result, 1);
        ALM_TRY(slide(cx, agg, &agg->part[0], args, kept(agg, rows->lo[i]), kept(agg, lo), &older,
                      &newer));
        ALM_TRY(merge_in(agg, older));
        ALM_TRY(merge_in(agg, newer));
        if (own_row(rows, i))
            ALM_TRY(agg_add(agg, args, agg->result, kept(agg, i), kept(agg, i + 1)));
        ALM_TRY(slide(cx, agg, &agg->part[1], args, kept(agg, hi), kept(agg, rows->hi[i]), &older,
                      &newer));
        ALM_TRY(merge_in(agg, older));
        ALM_TRY(merge_in(agg, newer));
        ALM_TRY(agg_finish(agg, agg->result, out));
    }
    return ALM_OK;
}

/* Each frame from its rows. */
static alm_status run_anew(alm_ctx *cx, alm_window_agg *agg, const alm_window_rows *rows,
                           const alm_vec *args, char *out)
{
    for (uint32_t i = 0; i < rows->n; i++, out += agg->width) {
        alm_window_range piece[3];
        const uint32_t n_pieces = alm_window_pieces(rows, i, piece);
        if (i % LOOK_ROWS == 0)
            ALM_TRY(alm_check(cx));
        if (rows->exclude == ALM_EXCLUDE_NONE && i > 0 && rows->lo[i] == rows->lo[i - 1] &&
            rows->hi[i] == rows->hi[i - 1]) {
            memcpy(out, out - agg->width, agg->width);
            continue;
        }
        agg->ops->init(&agg->call, agg->result, 1);
        for (uint32_t k = 0; k < n_pieces; k++)
            ALM_TRY(
                agg_add(agg, args, agg->result, kept(agg, piece[k].lo), kept(agg, piece[k].hi)));
        ALM_TRY(agg_finish(agg, agg->result, out));
    }
    return ALM_OK;
}

/* Is row i the first one of its value in the pieces of a frame? */
static bool agg_is_first(const alm_window_rows *rows, const alm_window_range *piece,
                         uint32_t n_pieces, uint32_t i)
{
    for (uint32_t k = rows->prev[i]; k != ALM_WINDOW_NONE && k >= piece[0].lo; k = rows->prev[k])
        for (uint32_t p = 0; p < n_pieces; p++)
            if (k >= piece[p].lo && k < piece[p].hi)
                return false;
    return true;
}

/* Each frame from the first rows of its values. */
static alm_status run_distinct(alm_ctx *cx, alm_window_agg *agg, const alm_window_rows *rows,
                               const uint8_t *pass, const alm_vec *args, char *out)
{
    for (uint32_t i = 0; i < rows->n; i++, out += agg->width) {
        alm_window_range piece[3];
        const uint32_t n_pieces = alm_window_pieces(rows, i, piece);
        if (i % 16 == 0)
            ALM_TRY(alm_check(cx));
        agg->ops->init(&agg->call, agg->result, 1);
        for (uint32_t p = 0; p < n_pieces; p++) {
            for (uint32_t k = piece[p].lo, from; k < piece[p].hi; k++) {
                for (from = k; k < piece[p].hi && (pass == NULL || pass[k]) &&
                               agg_is_first(rows, piece, n_pieces, k);
                     k++) {
                }
                ALM_TRY(alm_steps_add(cx, 1));
                ALM_TRY(agg_add(agg, args, agg->result, from, k));
            }
        }
        ALM_TRY(agg_finish(agg, agg->result, out));
    }
    return ALM_OK;
}

/* The arguments of the rows that pass, and how many do before each row. */
static alm_status filter_args(alm_ctx *cx, alm_window_agg *agg, uint32_t n, const uint8_t *pass,
                              const alm_vec *args)
{
    uint32_t k = 0;
    alm_arena_reset(&agg->scratch);
    ALM_TRY(alm_arena_bytes(cx, &agg->scratch, ((size_t)n + 1) * sizeof(uint32_t), &agg->before));
    ALM_TRY(alm_arena_bytes(cx, &agg->scratch, ((size_t)n + 1) * sizeof(uint32_t), &agg->some));
    for (uint32_t i = 0; i < n; i++) {
        agg->before[i] = k;
        agg->some[k] = i;
        k += pass[i];
    }
    agg->before[n] = k;
    for (uint32_t i = 0; i < agg->n_args; i++)
        ALM_TRY(alm_vec_gather(cx, &agg->scratch, &args[i], agg->some, k, &agg->args[i]));
    return ALM_OK;
}

/* ----------------------------------------------------------------------------- simple ones */

static alm_status agg_reserve(alm_ctx *cx, alm_window_agg *agg, uint32_t n)
{
    if (n <= agg->cap)
        return ALM_OK;
    const uint32_t cap = ALM_MAX(n, 2 * agg->cap);
    const size_t values = (size_t)cap * sizeof(uint64_t), numbers = ((size_t)cap + 1) * 4;
    ALM_TRY(alm_pool_grow(cx, agg->pool, &agg->loop.plain, 0, values));
    ALM_TRY(alm_pool_grow(cx, agg->pool, &agg->loop.suffix, 0, values));
    ALM_TRY(alm_pool_grow(cx, agg->pool, &agg->other, 0, values));
    ALM_TRY(alm_pool_grow(cx, agg->pool, &agg->loop.before, 0, numbers));
    ALM_TRY(alm_pool_grow(cx, agg->pool, &agg->count, 0, numbers));
    ALM_TRY(alm_pool_grow(cx, agg->pool, &agg->edge, 0, 4 * numbers));
    ALM_TRY(alm_pool_grow(cx, agg->pool, &agg->pass, 0, cap));
    agg->cap = cap;
    return ALM_OK;
}

/* One frame per row, of one partition; its values are added to the counts. */
static void simple_frames(alm_window_agg *agg, const uint32_t *lo, const uint32_t *hi, void *out)
{
    const uint32_t *before = agg->loop.before;
    alm_slide_frames(&agg->loop, lo, hi, out);
    for (uint32_t i = 0; i < agg->loop.n; i++)
        agg->count[i] += lo[i] < hi[i] ? before[hi[i]] - before[lo[i]] : 0;
}

static void simple_gaps(alm_window_agg *agg, const alm_window_rows *rows, void *out)
{
    const uint32_t n = rows->n;
    uint32_t *from = agg->edge, *dest = from + n, *own = dest + n, *next = own + n;
    for (uint32_t i = 0; i < n; i++) {
        gap_of(rows, i, &from[i], &dest[i]);
        own[i] = i;
        next[i] = i + own_row(rows, i);
    }
    simple_frames(agg, rows->lo, from, out);
    if (rows->exclude == ALM_EXCLUDE_TIES) {
        simple_frames(agg, own, next, agg->other);
        alm_slide_merge(&agg->loop, agg->other, out);
    }
    simple_frames(agg, dest, rows->hi, agg->other);
    alm_slide_merge(&agg->loop, agg->other, out);
}

static alm_status run_simple(alm_ctx *cx, alm_window_agg *agg, const alm_window_rows *rows,
                             const uint8_t *pass, const alm_vec *args, void *out)
{
    ALM_TRY(agg_reserve(cx, agg, rows->n));
    agg->loop.n = rows->n;
    agg->loop.pass = pass;
    if (agg->n_args > 0)
        agg->loop.value = args[0].data;
    if (agg->loop.op == ALM_SLIDE_COUNT && agg->n_args > 0) {
        (void)alm_vec_null_mask(&args[0], rows->n, agg->pass);
        for (uint32_t i = 0; i < rows->n; i++)
            agg->pass[i] = !agg->pass[i] && (pass == NULL || pass[i]);
        agg->loop.pass = agg->pass;
    }
    alm_slide_prepare(&agg->loop);
    memset(agg->count, 0, (size_t)rows->n * sizeof *agg->count);
    if (rows->exclude != ALM_EXCLUDE_NONE)
        simple_gaps(agg, rows, out);
    else
        simple_frames(agg, rows->lo, rows->hi, out);
    alm_slide_settle(&agg->loop, agg->count, out);
    return ALM_OK;
}

alm_status alm_window_agg_run(alm_ctx *cx, alm_window_agg *agg, const alm_window_rows *rows,
                              const uint8_t *pass, const alm_vec *args, void *out)
{
    agg->call.cx = cx;
    if (rows->n == 0)
        return ALM_OK;
    if (agg->simple)
        return run_simple(cx, agg, rows, pass, args, out);
    agg->before = NULL;
    if (rows->prev != NULL)
        return run_distinct(cx, agg, rows, pass, args, out);
    if (pass != NULL) {
        ALM_TRY(filter_args(cx, agg, rows->n, pass, args));
        args = agg->args;
    }
    if (!agg->ops->plain &&
        (rows->exclude != ALM_EXCLUDE_NONE || rows->lo[0] != rows->lo[rows->n - 1]))
        return run_anew(cx, agg, rows, args, out);
    return rows->exclude != ALM_EXCLUDE_NONE ? run_gaps(cx, agg, rows, args, out)
                                             : run_whole_frames(cx, agg, rows, args, out);
}
