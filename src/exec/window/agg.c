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
    alm_window_agg *a = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &a));
    a->ops = call->fn->agg;
    a->pool = pool;
    a->n_args = call->n_args;
    a->width = width;
    a->simple = alm_slide_op_of(call, &a->loop.op, &a->loop.floating) &&
                !(call->distinct && alm_window_moves(call));
    a->call = (alm_call){.cx = cx,
                         .fn = call->fn,
                         .data = call->data,
                         .arena = lasting,
                         .result = call->type,
                         .pos = call->pos,
                         .argc = call->n_args};
    alm_arena_init(&a->scratch, cx->mem);
    *out = a;
    if (call->fn->state_bytes > 0)
        ALM_TRY(alm_arena_zero(cx, cx->arena, call->fn->state_bytes, &a->call.state));
    ALM_TRY(ALM_NEWN(cx, cx->arena, call->n_args + 1, &a->slice));
    ALM_TRY(ALM_NEWN(cx, cx->arena, call->n_args + 1, &a->args));
    ALM_TRY(alm_pool_alloc(cx, pool, a->ops->state_bytes, &a->result));
    for (int i = 0; i < 2; i++)
        ALM_TRY(alm_pool_alloc(cx, pool, a->ops->state_bytes, &a->part[i].newer));
    return ALM_OK;
}

void alm_window_agg_free(alm_window_agg *a)
{
    if (a != NULL)
        alm_arena_deinit(&a->scratch);
}

/* ------------------------------------------------------------------------------ any aggregate */

/* Rows [lo, hi) into a state. */
static alm_status add(alm_window_agg *a, const alm_vec *args, void *state, uint32_t lo, uint32_t hi)
{
    for (uint32_t n; lo < hi; lo += n) {
        n = ALM_MIN(hi - lo, (uint32_t)ALM_BATCH_ROWS);
        ALM_TRY(alm_steps_add(a->call.cx, n));
        for (uint32_t k = 0; k < a->n_args; k++) {
            a->slice[k] = args[k];
            if (!args[k].is_const)
                a->slice[k].data = (char *)args[k].data + (size_t)lo * args[k].width;
        }
        ALM_TRY(a->ops->update(&a->call, state, n, a->slice));
    }
    return ALM_OK;
}

/* States of all suffixes of rows [lo, hi), the longest first. */
static alm_status make_suffixes(alm_ctx *cx, alm_window_agg *a, slider *s, const alm_vec *args,
                                uint32_t lo, uint32_t hi)
{
    const size_t bytes = a->ops->state_bytes;
    const uint32_t n = hi - lo;
    if (n > s->cap) {
        const uint32_t cap = ALM_MAX(n, 2 * s->cap);
        ALM_TRY(alm_pool_grow(cx, a->pool, &s->suffix, 0, (size_t)cap * bytes));
        s->cap = cap;
    }
    a->ops->init(&a->call, s->suffix, n);
    for (uint32_t i = n; i-- > 0;) {
        char *state = s->suffix + (size_t)i * bytes;
        if (i % LOOK_ROWS == 0)
            ALM_TRY(alm_check(cx));
        ALM_TRY(add(a, args, state, lo + i, lo + i + 1));
        if (i + 1 < n)
            ALM_TRY(a->ops->merge(&a->call, state, NULL, state + bytes, 1));
    }
    return ALM_OK;
}

static void slider_start(alm_window_agg *a, slider *s, uint32_t at)
{
    s->base = s->mid = s->end = at;
    a->ops->init(&a->call, s->newer, 1);
}

/* Moves to [lo, hi); *older (or NULL) and *newer (or NULL) are its two parts. */
static alm_status slide(alm_ctx *cx, alm_window_agg *a, slider *s, const alm_vec *args, uint32_t lo,
                        uint32_t hi, const void **older, const void **newer)
{
    if (lo > s->mid) { /* a row of the newer part goes: make it the older one */
        if (lo < s->end)
            ALM_TRY(make_suffixes(cx, a, s, args, lo, s->end));
        const uint32_t end = ALM_MAX(s->end, lo);
        slider_start(a, s, lo);
        s->mid = s->end = end;
    }
    if (hi > s->end) {
        ALM_TRY(add(a, args, s->newer, s->end, hi));
        s->end = hi;
    }
    *older =
        lo < s->mid && lo < hi ? s->suffix + (size_t)(lo - s->base) * a->ops->state_bytes : NULL;
    *newer = s->end > s->mid && lo < hi ? s->newer : NULL;
    return ALM_OK;
}

/* Long texts are copied: their state goes on changing. */
static alm_status finish(alm_window_agg *a, const void *state, void *out)
{
    alm_vec v = {.type = a->call.result, .width = (uint8_t)a->width, .data = out};
    ALM_TRY(a->ops->finish(&a->call, state, 1, &v));
    alm_view *view = out;
    if (!alm_has_views(a->call.result) || a->ops->plain || alm_view_is_null(view) ||
        view->len <= ALM_VIEW_INLINE)
        return ALM_OK;
    alm_str copy = {0};
    ALM_TRY(alm_text_work(a->call.cx, 4 * (size_t)view->len));
    ALM_TRY(alm_arena_copy(a->call.cx, a->call.arena, alm_view_str(view, NULL), &copy));
    *view = alm_view_of(copy);
    return ALM_OK;
}

static alm_status merge_in(alm_window_agg *a, const void *state)
{
    return state == NULL ? ALM_OK : a->ops->merge(&a->call, a->result, NULL, state, 1);
}

/* A border, counted in rows that pass the filter. */
static inline uint32_t kept(const alm_window_agg *a, uint32_t i)
{
    return a->before != NULL ? a->before[i] : i;
}

static alm_status run_whole_frames(alm_ctx *cx, alm_window_agg *a, const alm_window_rows *w,
                                   const alm_vec *args, char *out)
{
    slider *s = &a->part[0];
    slider_start(a, s, kept(a, w->lo[0]));
    for (uint32_t i = 0; i < w->n; i++, out += a->width) {
        const void *older = NULL, *newer = NULL;
        if (i % LOOK_ROWS == 0)
            ALM_TRY(alm_check(cx));
        if (i > 0 && w->lo[i] == w->lo[i - 1] && w->hi[i] == w->hi[i - 1]) {
            memcpy(out, out - a->width, a->width);
            continue;
        }
        ALM_TRY(slide(cx, a, s, args, kept(a, w->lo[i]), kept(a, w->hi[i]), &older, &newer));
        if (older == NULL && newer != NULL) {
            ALM_TRY(finish(a, newer, out));
            continue;
        }
        a->ops->init(&a->call, a->result, 1);
        ALM_TRY(merge_in(a, older));
        ALM_TRY(merge_in(a, newer));
        ALM_TRY(finish(a, a->result, out));
    }
    return ALM_OK;
}

/* What EXCLUDE leaves out of the frame of i: [*lo, *hi) of it. */
static void gap_of(const alm_window_rows *w, uint32_t i, uint32_t *lo, uint32_t *hi)
{
    const uint32_t from = w->exclude == ALM_EXCLUDE_CURRENT ? i : w->peer_lo[i];
    const uint32_t to = w->exclude == ALM_EXCLUDE_CURRENT ? i + 1 : w->peer_hi[i];
    *lo = ALM_MIN(w->hi[i], ALM_MAX(w->lo[i], from));
    *hi = ALM_MAX(w->lo[i], ALM_MIN(w->hi[i], to));
    *hi = ALM_MAX(*lo, *hi);
}

static bool own_row(const alm_window_rows *w, uint32_t i)
{
    return w->exclude == ALM_EXCLUDE_TIES && w->lo[i] <= i && i < w->hi[i];
}

static alm_status run_gaps(alm_ctx *cx, alm_window_agg *a, const alm_window_rows *w,
                           const alm_vec *args, char *out)
{
    uint32_t lo, hi;
    gap_of(w, 0, &lo, &hi);
    slider_start(a, &a->part[0], kept(a, w->lo[0]));
    slider_start(a, &a->part[1], kept(a, hi));
    for (uint32_t i = 0; i < w->n; i++, out += a->width) {
        const void *older = NULL, *newer = NULL;
        if (i % LOOK_ROWS == 0)
            ALM_TRY(alm_check(cx));
        gap_of(w, i, &lo, &hi);
        a->ops->init(&a->call, a->result, 1);
        ALM_TRY(slide(cx, a, &a->part[0], args, kept(a, w->lo[i]), kept(a, lo), &older, &newer));
        ALM_TRY(merge_in(a, older));
        ALM_TRY(merge_in(a, newer));
        if (own_row(w, i))
            ALM_TRY(add(a, args, a->result, kept(a, i), kept(a, i + 1)));
        ALM_TRY(slide(cx, a, &a->part[1], args, kept(a, hi), kept(a, w->hi[i]), &older, &newer));
        ALM_TRY(merge_in(a, older));
        ALM_TRY(merge_in(a, newer));
        ALM_TRY(finish(a, a->result, out));
    }
    return ALM_OK;
}

/* Each frame from its rows. */
static alm_status run_anew(alm_ctx *cx, alm_window_agg *a, const alm_window_rows *w,
                           const alm_vec *args, char *out)
{
    for (uint32_t i = 0; i < w->n; i++, out += a->width) {
        alm_window_range piece[3];
        const uint32_t n = alm_window_pieces(w, i, piece);
        if (i % LOOK_ROWS == 0)
            ALM_TRY(alm_check(cx));
        if (w->exclude == ALM_EXCLUDE_NONE && i > 0 && w->lo[i] == w->lo[i - 1] &&
            w->hi[i] == w->hi[i - 1]) {
            memcpy(out, out - a->width, a->width);
            continue;
        }
        a->ops->init(&a->call, a->result, 1);
        for (uint32_t k = 0; k < n; k++)
            ALM_TRY(add(a, args, a->result, kept(a, piece[k].lo), kept(a, piece[k].hi)));
        ALM_TRY(finish(a, a->result, out));
    }
    return ALM_OK;
}

/* Is row i the first one of its value in the pieces of a frame? */
static bool is_first(const alm_window_rows *w, const alm_window_range *piece, uint32_t n,
                     uint32_t i)
{
    for (uint32_t k = w->prev[i]; k != ALM_WINDOW_NONE && k >= piece[0].lo; k = w->prev[k])
        for (uint32_t p = 0; p < n; p++)
            if (k >= piece[p].lo && k < piece[p].hi)
                return false;
    return true;
}

/* Each frame from the first rows of its values. */
static alm_status run_distinct(alm_ctx *cx, alm_window_agg *a, const alm_window_rows *w,
                               const uint8_t *pass, const alm_vec *args, char *out)
{
    for (uint32_t i = 0; i < w->n; i++, out += a->width) {
        alm_window_range piece[3];
        const uint32_t n = alm_window_pieces(w, i, piece);
        if (i % 16 == 0)
            ALM_TRY(alm_check(cx));
        a->ops->init(&a->call, a->result, 1);
        for (uint32_t p = 0; p < n; p++) {
            for (uint32_t k = piece[p].lo, from; k < piece[p].hi; k++) {
                for (from = k;
                     k < piece[p].hi && (pass == NULL || pass[k]) && is_first(w, piece, n, k);
                     k++) {
                }
                ALM_TRY(alm_steps_add(cx, 1));
                ALM_TRY(add(a, args, a->result, from, k));
            }
        }
        ALM_TRY(finish(a, a->result, out));
    }
    return ALM_OK;
}

/* The arguments of the rows that pass, and how many do before each row. */
static alm_status filter_args(alm_ctx *cx, alm_window_agg *a, uint32_t n, const uint8_t *pass,
                              const alm_vec *args)
{
    uint32_t k = 0;
    alm_arena_reset(&a->scratch);
    ALM_TRY(alm_arena_bytes(cx, &a->scratch, ((size_t)n + 1) * sizeof(uint32_t), &a->before));
    ALM_TRY(alm_arena_bytes(cx, &a->scratch, ((size_t)n + 1) * sizeof(uint32_t), &a->some));
    for (uint32_t i = 0; i < n; i++) {
        a->before[i] = k;
        a->some[k] = i;
        k += pass[i];
    }
    a->before[n] = k;
    for (uint32_t i = 0; i < a->n_args; i++)
        ALM_TRY(alm_vec_gather(cx, &a->scratch, &args[i], a->some, k, &a->args[i]));
    return ALM_OK;
}

/* ----------------------------------------------------------------------------- simple ones */

static alm_status reserve(alm_ctx *cx, alm_window_agg *a, uint32_t n)
{
    if (n <= a->cap)
        return ALM_OK;
    const uint32_t cap = ALM_MAX(n, 2 * a->cap);
    const size_t values = (size_t)cap * sizeof(uint64_t), numbers = ((size_t)cap + 1) * 4;
    ALM_TRY(alm_pool_grow(cx, a->pool, &a->loop.plain, 0, values));
    ALM_TRY(alm_pool_grow(cx, a->pool, &a->loop.suffix, 0, values));
    ALM_TRY(alm_pool_grow(cx, a->pool, &a->other, 0, values));
    ALM_TRY(alm_pool_grow(cx, a->pool, &a->loop.before, 0, numbers));
    ALM_TRY(alm_pool_grow(cx, a->pool, &a->count, 0, numbers));
    ALM_TRY(alm_pool_grow(cx, a->pool, &a->edge, 0, 4 * numbers));
    ALM_TRY(alm_pool_grow(cx, a->pool, &a->pass, 0, cap));
    a->cap = cap;
    return ALM_OK;
}

/* One frame per row, of one partition; its values are added to the counts. */
static void simple_frames(alm_window_agg *a, const uint32_t *lo, const uint32_t *hi, void *out)
{
    const uint32_t *before = a->loop.before;
    alm_slide_frames(&a->loop, lo, hi, out);
    for (uint32_t i = 0; i < a->loop.n; i++)
        a->count[i] += lo[i] < hi[i] ? before[hi[i]] - before[lo[i]] : 0;
}

static void simple_gaps(alm_window_agg *a, const alm_window_rows *w, void *out)
{
    const uint32_t n = w->n;
    uint32_t *from = a->edge, *to = from + n, *own = to + n, *next = own + n;
    for (uint32_t i = 0; i < n; i++) {
        gap_of(w, i, &from[i], &to[i]);
        own[i] = i;
        next[i] = i + own_row(w, i);
    }
    simple_frames(a, w->lo, from, out);
    if (w->exclude == ALM_EXCLUDE_TIES) {
        simple_frames(a, own, next, a->other);
        alm_slide_merge(&a->loop, a->other, out);
    }
    simple_frames(a, to, w->hi, a->other);
    alm_slide_merge(&a->loop, a->other, out);
}

static alm_status run_simple(alm_ctx *cx, alm_window_agg *a, const alm_window_rows *w,
                             const uint8_t *pass, const alm_vec *args, void *out)
{
    ALM_TRY(reserve(cx, a, w->n));
    a->loop.n = w->n;
    a->loop.pass = pass;
    if (a->n_args > 0)
        a->loop.value = args[0].data;
    if (a->loop.op == ALM_SLIDE_COUNT && a->n_args > 0) {
        (void)alm_vec_null_mask(&args[0], w->n, a->pass);
        for (uint32_t i = 0; i < w->n; i++)
            a->pass[i] = !a->pass[i] && (pass == NULL || pass[i]);
        a->loop.pass = a->pass;
    }
    alm_slide_prepare(&a->loop);
    memset(a->count, 0, (size_t)w->n * sizeof *a->count);
    if (w->exclude != ALM_EXCLUDE_NONE)
        simple_gaps(a, w, out);
    else
        simple_frames(a, w->lo, w->hi, out);
    alm_slide_settle(&a->loop, a->count, out);
    return ALM_OK;
}

alm_status alm_window_agg_run(alm_ctx *cx, alm_window_agg *a, const alm_window_rows *w,
                              const uint8_t *pass, const alm_vec *args, void *out)
{
    a->call.cx = cx;
    if (w->n == 0)
        return ALM_OK;
    if (a->simple)
        return run_simple(cx, a, w, pass, args, out);
    a->before = NULL;
    if (w->prev != NULL)
        return run_distinct(cx, a, w, pass, args, out);
    if (pass != NULL) {
        ALM_TRY(filter_args(cx, a, w->n, pass, args));
        args = a->args;
    }
    if (!a->ops->plain && (w->exclude != ALM_EXCLUDE_NONE || w->lo[0] != w->lo[w->n - 1]))
        return run_anew(cx, a, w, args, out);
    return w->exclude != ALM_EXCLUDE_NONE ? run_gaps(cx, a, w, args, out)
                                          : run_whole_frames(cx, a, w, args, out);
}
