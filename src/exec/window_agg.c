/*
 * window_agg.c - any aggregate over the frames of a partition. See window.h.
 *
 * Ways        whole    one frame for all rows: one state, its result repeated.
 *             running  frames that only grow: one state, a result per distinct end.
 *             sliding  frames whose both ends move forward: two stacks. The older part of the frame has
 *                      the states of all its suffixes, the newer part one state; a result is the merge
 *                      of the two. Nothing is ever taken out of a state, so that sums do not drift and
 *                      extremes need no search. Each row is added twice and merged twice at the most.
 *             pieces   EXCLUDE: each frame from its rows anew.
 */
#include "exec/window.h"

struct alm_window_agg {
    alm_call call;
    const alm_agg_ops *ops;
    alm_pool *pool;
    uint32_t n_args;
    alm_vec *slice; /* of the arguments */
    char *state;    /* two: the newer part, and scratch for results */
    char *suffix;   /* the older part */
    uint32_t suffix_cap;
    alm_vec out;
};

alm_status alm_window_agg_new(alm_ctx *cx, alm_pool *pool, const alm_window_call *call,
                              alm_arena *lasting, alm_window_agg **out)
{
    alm_window_agg *a = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &a));
    a->ops = call->fn->agg;
    a->pool = pool;
    a->n_args = call->n_args;
    a->call = (alm_call){.cx = cx,
                         .fn = call->fn,
                         .data = call->data,
                         .arena = lasting,
                         .result = call->type,
                         .pos = call->pos,
                         .argc = call->n_args};
    ALM_TRY(ALM_NEWN(cx, cx->arena, call->n_args + 1, &a->slice));
    ALM_TRY(alm_pool_alloc(cx, pool, 2 * a->ops->state_bytes + 64, &a->state));
    *out = a;
    return ALM_OK;
}

/* A border, counted in rows that pass the filter. */
static inline uint32_t kept(const uint32_t *before, uint32_t i)
{
    return before != NULL ? before[i] : i;
}

/* Rows [lo, hi) into a state. */
static alm_status add(alm_window_agg *a, const alm_vec *args, void *state, uint32_t lo, uint32_t hi)
{
    if (lo >= hi)
        return ALM_OK;
    for (uint32_t k = 0; k < a->n_args; k++) {
        a->slice[k] = args[k];
        if (!args[k].is_const)
            a->slice[k].data = (char *)args[k].data + (size_t)lo * args[k].width;
    }
    return a->ops->update(&a->call, state, hi - lo, a->slice);
}

static alm_status finish(alm_window_agg *a, const void *state, uint32_t width, void *out)
{
    alm_vec v = {.type = a->call.result, .width = (uint8_t)width, .data = out};
    return a->ops->finish(&a->call, state, 1, &v);
}

static void repeat(void *out, uint32_t width, uint32_t from, uint32_t to)
{
    const char *one = (const char *)out + (size_t)from * width;
    for (uint32_t i = from + 1; i < to; i++)
        memcpy((char *)out + (size_t)i * width, one, width);
}

static alm_status run_growing(alm_ctx *cx, alm_window_agg *a, const alm_window_rows *w,
                              const uint32_t *before, const alm_vec *args, uint32_t width,
                              char *out)
{
    uint32_t have = kept(before, w->lo[0]);
    a->ops->init(&a->call, a->state, 1);
    for (uint32_t i = 0; i < w->n;) {
        uint32_t end = i + 1;
        while (end < w->n && w->hi[end] == w->hi[i])
            end++;
        if (i % ALM_BATCH_ROWS == 0)
            ALM_TRY(alm_check(cx));
        const uint32_t hi = kept(before, w->hi[i]);
        ALM_TRY(add(a, args, a->state, have, hi));
        have = ALM_MAX(have, hi);
        ALM_TRY(finish(a, a->state, width, out + (size_t)i * width));
        repeat(out, width, i, end);
        i = end;
    }
    return ALM_OK;
}

/* States of all suffixes of rows [lo, hi), suffix[0] the longest. */
static alm_status make_suffixes(alm_ctx *cx, alm_window_agg *a, const alm_vec *args, uint32_t lo,
                                uint32_t hi)
{
    const size_t bytes = a->ops->state_bytes;
    const uint32_t n = hi - lo;
    if (n > a->suffix_cap) {
        const uint32_t cap = ALM_MAX(n, 2 * a->suffix_cap);
        ALM_TRY(alm_pool_grow(cx, a->pool, &a->suffix, 0, (size_t)cap * bytes));
        a->suffix_cap = cap;
    }
    a->ops->init(&a->call, a->suffix, n);
    for (uint32_t i = n; i-- > 0;) {
        char *state = a->suffix + (size_t)i * bytes;
        ALM_TRY(add(a, args, state, lo + i, lo + i + 1));
        if (i + 1 < n)
            ALM_TRY(a->ops->merge(&a->call, state, NULL, state + bytes, 1));
    }
    return ALM_OK;
}

static alm_status run_sliding(alm_ctx *cx, alm_window_agg *a, const alm_window_rows *w,
                              const uint32_t *before, const alm_vec *args, uint32_t width,
                              char *out)
{
    const size_t bytes = a->ops->state_bytes;
    char *newer = a->state, *result = a->state + ((bytes + 15) & ~(size_t)15);
    uint32_t base = kept(before, w->lo[0]), mid = base,
             end = base; /* suffixes of [base, mid), newer [mid, end) */
    a->ops->init(&a->call, newer, 1);
    for (uint32_t i = 0; i < w->n; i++) {
        const uint32_t lo = kept(before, w->lo[i]), hi = kept(before, w->hi[i]);
        if (i % ALM_BATCH_ROWS == 0)
            ALM_TRY(alm_check(cx));
        if (lo > mid) { /* a row of the newer part goes: make it the older one */
            if (lo < end)
                ALM_TRY(make_suffixes(cx, a, args, lo, end));
            base = lo;
            mid = end = ALM_MAX(end, lo);
            a->ops->init(&a->call, newer, 1);
        }
        if (hi > end) {
            ALM_TRY(add(a, args, newer, end, hi));
            end = hi;
        }
        const char *state = newer;
        if (lo < mid) {
            a->ops->init(&a->call, result, 1);
            ALM_TRY(
                a->ops->merge(&a->call, result, NULL, a->suffix + (size_t)(lo - base) * bytes, 1));
            if (end > mid)
                ALM_TRY(a->ops->merge(&a->call, result, NULL, newer, 1));
            state = result;
        } else if (lo >= hi) { /* an empty frame behind everything added so far */
            a->ops->init(&a->call, result, 1);
            state = result;
        }
        ALM_TRY(finish(a, state, width, out + (size_t)i * width));
    }
    return ALM_OK;
}

static alm_status run_pieces(alm_ctx *cx, alm_window_agg *a, const alm_window_rows *w,
                             const uint32_t *before, const alm_vec *args, uint32_t width, char *out)
{
    for (uint32_t i = 0; i < w->n; i++) {
        alm_window_range piece[3];
        const uint32_t n = alm_window_pieces(w, i, piece);
        if (i % 64 == 0)
            ALM_TRY(alm_check(cx));
        a->ops->init(&a->call, a->state, 1);
        for (uint32_t k = 0; k < n; k++)
            ALM_TRY(add(a, args, a->state, kept(before, piece[k].lo), kept(before, piece[k].hi)));
        ALM_TRY(finish(a, a->state, width, out + (size_t)i * width));
    }
    return ALM_OK;
}

alm_status alm_window_agg_run(alm_ctx *cx, alm_window_agg *a, const alm_window_rows *w,
                              const uint32_t *before, const alm_vec *args, uint32_t width,
                              void *out)
{
    if (w->n == 0)
        return ALM_OK;
    a->call.cx = cx;
    if (w->exclude != 0)
        return run_pieces(cx, a, w, before, args, width, out);
    if (w->lo[0] == w->lo[w->n - 1])
        return run_growing(cx, a, w, before, args, width, out);
    return run_sliding(cx, a, w, before, args, width, out);
}
