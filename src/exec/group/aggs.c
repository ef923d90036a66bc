/*
 * aggs.c - see aggs.h.
 */
#include "exec/group/aggs.h"

#include "base/hash.h"
#include "base/hashes.h"
#include "exec/group/agg_rows.h"

/* ---------------------------------------------------------------------------------- layout */

static bool same_args(const alm_agg_call *a, const alm_agg_call *b)
{
    if (a->n_args != b->n_args || !alm_eval_expr_equal(a->filter, b->filter))
        return false;
    for (uint32_t i = 0; i < a->n_args; i++)
        if (!alm_eval_expr_equal(a->args[i], b->args[i]))
            return false;
    return true;
}

/* One array of states does for both: all but the finish is the same. */
static bool same_states(const alm_agg_call *a, const alm_agg_call *b)
{
    const alm_agg_ops *x = a->fn->agg, *y = b->fn->agg;
    if (alm_agg_rows_wanted(a) || alm_agg_rows_wanted(b))
        return false;
    return x->state_bytes == y->state_bytes && x->init == y->init && x->update == y->update &&
           x->scatter == y->scatter && x->merge == y->merge && a->data == b->data &&
           (a->fn->flags & ALM_FN_SYMBOLS) == (b->fn->flags & ALM_FN_SYMBOLS) && same_args(a, b);
}

/* Of what same_args compares; one for all where there are a few, which are compared with less. */
static uint64_t hash_args(const alm_aggs *a, const alm_agg_call *call)
{
    enum { FEW = 16 };
    if (a->n_calls < FEW)
        return 0;
    uint64_t h = alm_expr_hash(call->filter);
    for (uint32_t i = 0; i < call->n_args; i++)
        h = alm_hash_combine(h, alm_expr_hash(call->args[i]));
    return h;
}

static alm_status share_states(alm_ctx *cx, alm_aggs *a)
{
    alm_hashes seen = {0};
    for (uint32_t i = 0; i < a->n_calls; i++) {
        const uint64_t hash = hash_args(a, &a->calls[i]);
        uint32_t from = 0, at = 0, other = 0;
        for (at = a->n_states; at == a->n_states && alm_hashes_next(&seen, hash, &from, &other);) {
            ALM_TRY(alm_steps_add(cx, 1));
            if (same_states(a->state[other].call, &a->calls[i]))
                at = other;
        }
        if (at == a->n_states) {
            ALM_TRY(alm_hashes_add(cx, cx->arena, &seen, hash));
            a->state[a->n_states++] =
                (alm_agg_state){.ops = a->calls[i].fn->agg, .call = &a->calls[i], .filter = -1};
        }
        a->state_of[i] = at;
    }
    return ALM_OK;
}

static alm_status make_program(alm_ctx *cx, alm_aggs *a, alm_expr *const *keys, uint32_t n_exprs)
{
    const alm_expr **expr = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_exprs + 1, &expr));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_exprs + 1, &a->vec));
    for (uint32_t i = 0; i < a->n_keys; i++)
        expr[a->n_vecs++] = keys[i];
    for (uint32_t i = 0; i < a->n_states; i++) {
        a->state[i].first_arg = a->n_vecs;
        for (uint32_t k = 0; k < a->state[i].call->n_args; k++)
            expr[a->n_vecs++] = a->state[i].call->args[k];
        if (a->state[i].call->filter != NULL) {
            a->state[i].filter = (int32_t)a->n_vecs;
            expr[a->n_vecs++] = a->state[i].call->filter;
        }
    }
    ALM_TRY(alm_eval_new(cx, expr, a->n_vecs, &a->eval));
    for (uint32_t i = 0; i < a->n_states; i++)
        if (!(a->state[i].call->fn->flags & ALM_FN_SYMBOLS))
            for (uint32_t k = 0; k < a->state[i].call->n_args; k++)
                ALM_TRY(alm_eval_views(cx, a->eval, a->state[i].first_arg + k));
    return ALM_OK;
}

static bool may_fuse(const alm_agg_state *st)
{
    const uint8_t kind = st->ops->fuse;
    return st->filter < 0 && kind != ALM_FUSE_NONE;
}

/* States of the same DOUBLE column; count() joins the first of them. */
static alm_status fuse_states(alm_ctx *cx, alm_aggs *a)
{
    ALM_TRY(ALM_NEWN(cx, cx->arena, a->n_states + 1, &a->fused));
    ALM_TRY(ALM_NEWN(cx, cx->arena, a->n_states + 1, &a->is_fused));
    a->rows_state = -1;
    alm_hashes seen = {0};
    for (uint32_t i = 0; i < a->n_states; i++)
        ALM_TRY(alm_hashes_add(cx, cx->arena, &seen, hash_args(a, a->state[i].call)));
    for (uint32_t i = 0; i < a->n_states; i++)
        if (may_fuse(&a->state[i]) && a->state[i].ops->fuse == ALM_FUSE_ROWS)
            a->rows_state = (int32_t)i;
    for (uint32_t i = 0; i < a->n_states; i++) {
        if (!may_fuse(&a->state[i]) || a->is_fused[i] || (int32_t)i == a->rows_state)
            continue;
        alm_agg_fused *f = &a->fused[a->n_fused++];
        *f = (alm_agg_fused){.arg = a->state[i].first_arg};
        memset(f->state, 0xff, sizeof f->state);
        if (a->n_fused == 1 && a->rows_state >= 0) {
            f->state[ALM_FUSE_ROWS] = a->rows_state;
            f->n = 1;
        }
        const uint64_t hash = hash_args(a, a->state[i].call);
        uint32_t from = 0, k = 0;
        while (alm_hashes_next(&seen, hash, &from, &k)) {
            const alm_agg_state *st = &a->state[k];
            ALM_TRY(alm_steps_add(cx, 1));
            if (k >= i && may_fuse(st) && (int32_t)k != a->rows_state &&
                f->state[st->ops->fuse] < 0 && same_args(st->call, a->state[i].call)) {
                f->state[st->ops->fuse] = (int32_t)k;
                a->is_fused[k] = true;
                f->n++;
            }
        }
    }
    return ALM_OK;
}

alm_status alm_aggs_new(alm_ctx *cx, alm_expr *const *keys, uint32_t n_keys,
                        const alm_agg_call *calls, uint32_t n_calls, alm_arena *lasting,
                        alm_aggs **out)
{
    alm_aggs *a = NULL;
    uint32_t n_exprs = n_keys;
    ALM_TRY(ALM_NEW(cx, cx->arena, &a));
    *out = a;
    a->n_keys = n_keys;
    a->calls = calls;
    a->n_calls = n_calls;
    alm_arena_init(&a->scratch, cx->mem);
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_calls + 1, &a->state));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_calls + 1, &a->state_of));
    for (uint32_t i = 0; i < n_calls; i++)
        n_exprs += calls[i].n_args + 1;
    ALM_TRY(share_states(cx, a));
    for (uint32_t i = 0; i < a->n_states; i++) {
        const alm_agg_call *c = a->state[i].call;
        a->state[i].rt = (alm_call){.cx = cx,
                                    .fn = c->fn,
                                    .data = c->data,
                                    .arena = lasting,
                                    .result = c->type,
                                    .pos = c->pos,
                                    .argc = c->n_args};
        if (c->fn->state_bytes > 0)
            ALM_TRY(alm_arena_zero(cx, cx->arena, c->fn->state_bytes, &a->state[i].rt.state));
        if (alm_agg_rows_wanted(c)) {
            a->state[i].ops = &alm_agg_rows_ops;
            ALM_TRY(alm_agg_rows_new(cx, c, &a->state[i].rt));
        }
    }
    ALM_TRY(make_program(cx, a, keys, n_exprs));
    return fuse_states(cx, a);
}

void alm_aggs_free(alm_aggs *a)
{
    if (a == NULL)
        return;
    alm_eval_free(a->eval);
    alm_arena_deinit(&a->scratch);
    for (uint32_t i = 0; i < a->n_states; i++)
        if (a->state[i].ops == &alm_agg_rows_ops && a->state[i].rt.state != NULL)
            alm_agg_rows_free(&a->state[i].rt);
}

bool alm_aggs_row_order(const alm_aggs *a)
{
    for (uint32_t i = 0; i < a->n_calls; i++)
        if (a->calls[i].fn->flags & ALM_FN_ROW_ORDER || alm_agg_rows_wanted(&a->calls[i]))
            return true;
    return false;
}

/* --------------------------------------------------------------------------------- batches */

alm_status alm_aggs_eval(alm_ctx *cx, alm_aggs *a, alm_arena *scratch, alm_batch *in)
{
    a->rows = in->rows;
    return alm_eval_run(cx, a->eval, scratch, in, a->vec);
}

static alm_vec slice(const alm_vec *v, uint32_t lo)
{
    alm_vec out = *v;
    if (!v->is_const)
        out.data = (char *)v->data + (size_t)lo * v->width;
    return out;
}

/* The rows of one call: arguments, and group numbers (NULL: all of group `one`). */
typedef struct call_rows {
    alm_vec args[ALM_AGG_ARGS_MAX];
    const uint32_t *group;
    uint32_t one;
    uint32_t n;
} call_rows;

/* Keeps rows pick[0..m) of them. */
static alm_status keep_rows(alm_ctx *cx, alm_aggs *a, uint32_t n_args, const uint32_t *pick,
                            uint32_t m, call_rows *r)
{
    const bool all = m == r->n;
    r->n = m;
    if (all || m == 0)
        return ALM_OK;
    for (uint32_t k = 0; k < n_args; k++)
        if (!r->args[k].is_const) {
            const alm_vec before = r->args[k];
            ALM_TRY(alm_vec_gather(cx, &a->scratch, &before, pick, m, &r->args[k]));
        }
    if (r->group == NULL)
        return ALM_OK;
    uint32_t *group = NULL;
    ALM_TRY(alm_arena_bytes(cx, &a->scratch, m * sizeof *group, &group));
    for (uint32_t i = 0; i < m; i++)
        group[i] = r->group[pick[i]];
    r->group = group;
    return ALM_OK;
}

static alm_status keep_filtered(alm_ctx *cx, alm_aggs *a, const alm_agg_state *st, uint32_t lo,
                                call_rows *r)
{
    const alm_vec when = slice(&a->vec[st->filter], lo);
    const uint8_t *holds = when.data;
    if (when.is_const) {
        r->n = holds[0] ? r->n : 0;
        return ALM_OK;
    }
    uint32_t m = 0, *rows = NULL;
    ALM_TRY(alm_arena_bytes(cx, &a->scratch, (r->n + 1) * sizeof *rows, &rows));
    for (uint32_t i = 0; i < r->n; i++) {
        rows[m] = i;
        m += holds[i];
    }
    return keep_rows(cx, a, st->call->n_args, rows, m, r);
}

static alm_status select_rows(alm_ctx *cx, alm_aggs *a, alm_agg_state *st, uint32_t lo,
                              call_rows *r)
{
    ALM_ASSERT(st->call->n_args <= ALM_AGG_ARGS_MAX);
    for (uint32_t k = 0; k < st->call->n_args; k++)
        r->args[k] = slice(&a->vec[st->first_arg + k], lo);
    if (st->filter < 0)
        return ALM_OK;
    alm_arena_reset(&a->scratch);
    return keep_filtered(cx, a, st, lo, r);
}

alm_status alm_aggs_update(alm_ctx *cx, alm_aggs *a, alm_states *s, uint32_t group, uint32_t lo,
                           uint32_t n)
{
    for (uint32_t i = 0; i < a->n_states; i++) {
        alm_agg_state *st = &a->state[i];
        call_rows r;
        r.group = NULL;
        r.one = group;
        r.n = n;
        ALM_TRY(select_rows(cx, a, st, lo, &r));
        if (r.n == 0)
            continue;
        st->rt.cx = cx;
        ALM_TRY(st->ops->update(&st->rt, s->array[i] + group * st->ops->state_bytes, r.n, r.args));
    }
    return ALM_OK;
}

bool alm_aggs_masks(const alm_aggs *a)
{
    for (uint32_t i = 0; i < a->n_states; i++) {
        if ((int32_t)i == a->rows_state)
            continue;
        if (!a->is_fused[i] || a->state[i].call->args[0]->kind != ALM_X_COL)
            return false;
    }
    return a->n_states > 0;
}

ALM_SIMD static void mask_values(const double *restrict x, const uint8_t *restrict keep, uint32_t n,
                                 double *restrict out)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = keep[i] ? x[i] : __builtin_nan("");
}

alm_status alm_aggs_update_masked(alm_ctx *cx, alm_aggs *a, alm_arena *scratch, alm_states *s,
                                  uint32_t group, const uint8_t *keep, uint32_t kept, uint32_t n)
{
    double *masked = NULL;
    ALM_TRY(alm_arena_bytes(cx, scratch, (n + 1) * sizeof *masked, &masked));
    for (uint32_t f = 0; f < a->n_fused; f++) {
        alm_vec v = a->vec[a->fused[f].arg];
        if (v.is_const)
            ALM_TRY(alm_vec_expand(cx, scratch, &a->vec[a->fused[f].arg], n, &v));
        mask_values(v.data, keep, n, masked);
        v.data = masked;
        v.no_nulls = false;
        for (uint32_t k = ALM_FUSE_SUM; k < ALM_FUSE_KINDS; k++) {
            const int32_t i = a->fused[f].state[k];
            if (i < 0)
                continue;
            alm_agg_state *st = &a->state[i];
            st->rt.cx = cx;
            ALM_TRY(st->ops->update(&st->rt, s->array[i] + group * st->ops->state_bytes, n, &v));
        }
    }
    if (a->rows_state < 0)
        return ALM_OK;
    alm_agg_state *st = &a->state[a->rows_state];
    st->rt.cx = cx;
    return st->ops->update(&st->rt, s->array[a->rows_state] + group * st->ops->state_bytes, kept,
                           NULL);
}

static alm_status scatter_state(alm_ctx *cx, alm_aggs *a, alm_states *s, uint32_t i,
                                const uint32_t *group, uint32_t lo, uint32_t n)
{
    alm_agg_state *st = &a->state[i];
    call_rows r;
    r.group = group;
    r.one = 0;
    r.n = n;
    ALM_TRY(select_rows(cx, a, st, lo, &r));
    if (r.n == 0)
        return ALM_OK;
    st->rt.cx = cx;
    return st->ops->scatter(&st->rt, s->array[i], r.group, r.n, r.args);
}

static alm_status scatter_fused(alm_ctx *cx, alm_aggs *a, alm_states *s, const alm_agg_fused *f,
                                const uint32_t *group, uint32_t lo, uint32_t n)
{
    void *state[ALM_FUSE_KINDS];
    const alm_vec *v = &a->vec[f->arg];
    const bool alone = f->n < 2 || v->is_const;
    for (uint32_t k = 0; k < ALM_FUSE_KINDS; k++) {
        if (alone && f->state[k] >= 0)
            ALM_TRY(scatter_state(cx, a, s, (uint32_t)f->state[k], group, lo, n));
        state[k] = f->state[k] >= 0 ? s->array[f->state[k]] : NULL;
    }
    if (!alone)
        alm_fused_scatter(state, group, n, (const double *)v->data + lo);
    return ALM_OK;
}

alm_status alm_aggs_scatter(alm_ctx *cx, alm_aggs *a, alm_states *s, const uint32_t *group,
                            uint32_t lo, uint32_t n)
{
    for (uint32_t i = 0; i < a->n_fused; i++)
        ALM_TRY(scatter_fused(cx, a, s, &a->fused[i], group, lo, n));
    for (uint32_t i = 0; i < a->n_states; i++)
        if (!a->is_fused[i] && ((int32_t)i != a->rows_state || a->n_fused == 0))
            ALM_TRY(scatter_state(cx, a, s, i, group, lo, n));
    return ALM_OK;
}

alm_status alm_aggs_scatter_rest(alm_ctx *cx, alm_aggs *a, alm_states *s, const uint32_t *group,
                                 uint32_t n)
{
    for (uint32_t i = 0; i < a->n_states; i++)
        if (!a->is_fused[i] && (int32_t)i != a->rows_state)
            ALM_TRY(scatter_state(cx, a, s, i, group, 0, n));
    return ALM_OK;
}

alm_status alm_aggs_merge(alm_ctx *cx, alm_aggs *a, alm_states *dst, uint32_t dst_at,
                          const uint32_t *index, const alm_states *src, uint32_t src_at, uint32_t n)
{
    for (uint32_t i = 0; n > 0 && i < a->n_states; i++) {
        alm_agg_state *st = &a->state[i];
        const size_t bytes = st->ops->state_bytes;
        st->rt.cx = cx;
        ALM_TRY(st->ops->merge(&st->rt, dst->array[i] + (index != NULL ? 0 : dst_at * bytes), index,
                               src->array[i] + src_at * bytes, n));
    }
    return ALM_OK;
}

alm_status alm_aggs_finish(alm_ctx *cx, alm_aggs *a, const alm_states *s, uint32_t i, uint32_t at,
                           uint32_t n, alm_arena *arena, alm_vec *out)
{
    alm_agg_state *st = &a->state[a->state_of[i]];
    const alm_agg_call *c = &a->calls[i];
    alm_call rt = st->rt;
    rt.cx = cx;
    rt.fn = c->fn;
    rt.result = c->type;
    ALM_TRY(alm_vec_new(cx, arena, c->type, ALM_MAX(n, 1U), out));
    const alm_agg_ops *ops = st->ops == &alm_agg_rows_ops ? st->ops : c->fn->agg;
    return ops->finish(&rt, s->array[a->state_of[i]] + at * st->ops->state_bytes, n, out);
}

/* ---------------------------------------------------------------------------------- states */

alm_status alm_states_reserve(alm_ctx *cx, alm_aggs *a, alm_states *s, alm_pool *pool, uint32_t n)
{
    if (s->array == NULL)
        ALM_TRY(alm_pool_zero(cx, pool, (a->n_states + 1) * sizeof *s->array, &s->array));
    if (n > s->cap) {
        const uint64_t twice = ALM_MAX(2 * (uint64_t)s->cap, 16);
        const uint32_t cap = (uint32_t)ALM_MIN(ALM_MAX(twice, n), (uint64_t)UINT32_MAX);
        for (uint32_t i = 0; i < a->n_states; i++) {
            const size_t bytes = a->state[i].ops->state_bytes;
            ALM_TRY(alm_pool_grow(cx, pool, &s->array[i], s->n * bytes, cap * bytes));
        }
        s->cap = cap;
    }
    if (n > s->n) {
        alm_states_clear(a, s, s->n, n - s->n);
        s->n = n;
    }
    return ALM_OK;
}

void alm_states_clear(alm_aggs *a, alm_states *s, uint32_t at, uint32_t n)
{
    for (uint32_t i = 0; i < a->n_states; i++) {
        const alm_agg_state *st = &a->state[i];
        st->ops->init(&st->rt, s->array[i] + at * st->ops->state_bytes, n);
    }
}

typedef struct state16 {
    uint64_t half[2];
} state16;

#define DEFINE_PICK(name, type)                                                                    \
    static void pick_##name(type *restrict to, const type *restrict from,                          \
                            const uint32_t *restrict pick, uint32_t n)                             \
    {                                                                                              \
        for (uint32_t i = 0; i < n; i++)                                                           \
            to[i] = from[pick[i]];                                                                 \
    }
DEFINE_PICK(8, uint64_t)
DEFINE_PICK(16, state16)

void alm_states_pick(const alm_aggs *a, alm_states *dst, uint32_t dst_at, const alm_states *src,
                     const uint32_t *pick, uint32_t n)
{
    if (n == 0) /* there may be no arrays */
        return;
    for (uint32_t i = 0; i < a->n_states; i++) {
        const size_t bytes = a->state[i].ops->state_bytes;
        char *to = dst->array[i] + dst_at * bytes;
        const char *from = src->array[i];
        if (bytes == sizeof(uint64_t))
            pick_8((uint64_t *)(void *)to, (const uint64_t *)(const void *)from, pick, n);
        else if (bytes == sizeof(state16))
            pick_16((state16 *)(void *)to, (const state16 *)(const void *)from, pick, n);
        else
            for (uint32_t k = 0; k < n; k++)
                memcpy(to + k * bytes, from + pick[k] * bytes, bytes);
    }
}
