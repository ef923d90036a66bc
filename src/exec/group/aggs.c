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
static uint64_t hash_args(const alm_aggs *aggs, const alm_agg_call *call)
{
    enum { FEW = 16 };
    if (aggs->n_calls < FEW)
        return 0;
    uint64_t hash = alm_expr_hash(call->filter);
    for (uint32_t i = 0; i < call->n_args; i++)
        hash = alm_hash_combine(hash, alm_expr_hash(call->args[i]));
    return hash;
}

static alm_status share_states(alm_ctx *cx, alm_aggs *aggs)
{
    alm_hashes seen = {0};
    for (uint32_t i = 0; i < aggs->n_calls; i++) {
        const uint64_t hash = hash_args(aggs, &aggs->calls[i]);
        uint32_t from = 0, place = 0, other = 0;
        for (place = aggs->n_states;
             place == aggs->n_states && alm_hashes_next(&seen, hash, &from, &other);) {
            ALM_TRY(alm_steps_add(cx, 1));
            if (same_states(aggs->state[other].call, &aggs->calls[i]))
                place = other;
        }
        if (place == aggs->n_states) {
            ALM_TRY(alm_hashes_add(cx, cx->arena, &seen, hash));
            aggs->state[aggs->n_states++] = (alm_agg_state){
                .ops = aggs->calls[i].fn->agg, .call = &aggs->calls[i], .filter = -1};
        }
        aggs->state_of[i] = place;
    }
    return ALM_OK;
}

static alm_status make_program(alm_ctx *cx, alm_aggs *aggs, alm_expr *const *keys, uint32_t n_exprs)
{
    const alm_expr **expr = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_exprs + 1, &expr));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_exprs + 1, &aggs->vec));
    for (uint32_t i = 0; i < aggs->n_keys; i++)
        expr[aggs->n_vecs++] = keys[i];
    for (uint32_t i = 0; i < aggs->n_states; i++) {
        aggs->state[i].first_arg = aggs->n_vecs;
        for (uint32_t arg = 0; arg < aggs->state[i].call->n_args; arg++)
            expr[aggs->n_vecs++] = aggs->state[i].call->args[arg];
        if (aggs->state[i].call->filter != NULL) {
            aggs->state[i].filter = (int32_t)aggs->n_vecs;
            expr[aggs->n_vecs++] = aggs->state[i].call->filter;
        }
    }
    ALM_TRY(alm_eval_new(cx, expr, aggs->n_vecs, &aggs->eval));
    for (uint32_t i = 0; i < aggs->n_states; i++)
        if (!(aggs->state[i].call->fn->flags & ALM_FN_SYMBOLS))
            for (uint32_t arg = 0; arg < aggs->state[i].call->n_args; arg++)
                ALM_TRY(alm_eval_views(cx, aggs->eval, aggs->state[i].first_arg + arg));
    return ALM_OK;
}

static bool may_fuse(const alm_agg_state *agg)
{
    const uint8_t kind = agg->ops->fuse;
    return agg->filter < 0 && kind != ALM_FUSE_NONE;
}

/* States of the same DOUBLE column; count() joins the first of them. */
static alm_status fuse_states(alm_ctx *cx, alm_aggs *aggs)
{
    ALM_TRY(ALM_NEWN(cx, cx->arena, aggs->n_states + 1, &aggs->fused));
    ALM_TRY(ALM_NEWN(cx, cx->arena, aggs->n_states + 1, &aggs->is_fused));
    aggs->rows_state = -1;
    alm_hashes seen = {0};
    for (uint32_t i = 0; i < aggs->n_states; i++)
        ALM_TRY(alm_hashes_add(cx, cx->arena, &seen, hash_args(aggs, aggs->state[i].call)));
    for (uint32_t i = 0; i < aggs->n_states; i++)
        if (may_fuse(&aggs->state[i]) && aggs->state[i].ops->fuse == ALM_FUSE_ROWS)
            aggs->rows_state = (int32_t)i;
    for (uint32_t i = 0; i < aggs->n_states; i++) {
        if (!may_fuse(&aggs->state[i]) || aggs->is_fused[i] || (int32_t)i == aggs->rows_state)
            continue;
        alm_agg_fused *fused = &aggs->fused[aggs->n_fused++];
        *fused = (alm_agg_fused){.arg = aggs->state[i].first_arg};
        memset(fused->state, 0xff, sizeof fused->state);
        if (aggs->n_fused == 1 && aggs->rows_state >= 0) {
            fused->state[ALM_FUSE_ROWS] = aggs->rows_state;
            fused->n = 1;
        }
        const uint64_t hash = hash_args(aggs, aggs->state[i].call);
        uint32_t from = 0, k = 0;
        while (alm_hashes_next(&seen, hash, &from, &k)) {
            const alm_agg_state *agg = &aggs->state[k];
            ALM_TRY(alm_steps_add(cx, 1));
            if (k >= i && may_fuse(agg) && (int32_t)k != aggs->rows_state &&
                fused->state[agg->ops->fuse] < 0 && same_args(agg->call, aggs->state[i].call)) {
                fused->state[agg->ops->fuse] = (int32_t)k;
                aggs->is_fused[k] = true;
                fused->n++;
            }
        }
    }
    return ALM_OK;
}

alm_status alm_aggs_new(alm_ctx *cx, alm_expr *const *keys, uint32_t n_keys,
                        const alm_agg_call *calls, uint32_t n_calls, alm_arena *lasting,
                        alm_aggs **out)
{
    alm_aggs *aggs = NULL;
    uint32_t n_exprs = n_keys;
    ALM_TRY(ALM_NEW(cx, cx->arena, &aggs));
    *out = aggs;
    aggs->n_keys = n_keys;
    aggs->calls = calls;
    aggs->n_calls = n_calls;
    alm_arena_init(&aggs->scratch, cx->mem);
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_calls + 1, &aggs->state));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_calls + 1, &aggs->state_of));
    for (uint32_t i = 0; i < n_calls; i++)
        n_exprs += calls[i].n_args + 1;
    ALM_TRY(share_states(cx, aggs));
    for (uint32_t i = 0; i < aggs->n_states; i++) {
        const alm_agg_call *call = aggs->state[i].call;
        aggs->state[i].rt = (alm_call){.cx = cx,
                                       .fn = call->fn,
                                       .data = call->data,
                                       .arena = lasting,
                                       .result = call->type,
                                       .pos = call->pos,
                                       .argc = call->n_args};
        if (call->fn->state_bytes > 0)
            ALM_TRY(alm_arena_zero(cx, cx->arena, call->fn->state_bytes, &aggs->state[i].rt.state));
        if (alm_agg_rows_wanted(call)) {
            aggs->state[i].ops = &alm_agg_rows_ops;
            ALM_TRY(alm_agg_rows_new(cx, call, &aggs->state[i].rt));
        }
    }
    ALM_TRY(make_program(cx, aggs, keys, n_exprs));
    return fuse_states(cx, aggs);
}

void alm_aggs_free(alm_aggs *aggs)
{
    if (aggs == NULL)
        return;
    alm_eval_free(aggs->eval);
    alm_arena_deinit(&aggs->scratch);
    for (uint32_t i = 0; i < aggs->n_states; i++)
        if (aggs->state[i].ops == &alm_agg_rows_ops && aggs->state[i].rt.state != NULL)
            alm_agg_rows_free(&aggs->state[i].rt);
}

bool alm_aggs_row_order(const alm_aggs *aggs)
{
    for (uint32_t i = 0; i < aggs->n_calls; i++)
        if (aggs->calls[i].fn->flags & ALM_FN_ROW_ORDER || alm_agg_rows_wanted(&aggs->calls[i]))
            return true;
    return false;
}

/* --------------------------------------------------------------------------------- batches */

alm_status alm_aggs_eval(alm_ctx *cx, alm_aggs *aggs, alm_arena *scratch, alm_batch *batch)
{
    aggs->rows = batch->rows;
    return alm_eval_run(cx, aggs->eval, scratch, batch, aggs->vec);
}

static alm_vec group_aggs_slice(const alm_vec *vec, uint32_t lo)
{
    alm_vec out = *vec;
    if (!vec->is_const)
        out.data = (char *)vec->data + (size_t)lo * vec->width;
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
static alm_status group_aggs_keep_rows(alm_ctx *cx, alm_aggs *aggs, uint32_t n_args,
                                       const uint32_t *pick, uint32_t m, call_rows *r)
{
    const bool all = m == r->n;
    r->n = m;
    if (all || m == 0)
        return ALM_OK;
    for (uint32_t arg = 0; arg < n_args; arg++)
        if (!r->args[arg].is_const) {
            const alm_vec before = r->args[arg];
            ALM_TRY(alm_vec_gather(cx, &aggs->scratch, &before, pick, m, &r->args[arg]));
        }
    if (r->group == NULL)
        return ALM_OK;
    uint32_t *group = NULL;
    ALM_TRY(alm_arena_bytes(cx, &aggs->scratch, m * sizeof *group, &group));
    for (uint32_t i = 0; i < m; i++)
        group[i] = r->group[pick[i]];
    r->group = group;
    return ALM_OK;
}

static alm_status keep_filtered(alm_ctx *cx, alm_aggs *aggs, const alm_agg_state *agg, uint32_t lo,
                                call_rows *r)
{
    const alm_vec when = group_aggs_slice(&aggs->vec[agg->filter], lo);
    const uint8_t *holds = when.data;
    if (when.is_const) {
        r->n = holds[0] ? r->n : 0;
        return ALM_OK;
    }
    uint32_t m = 0, *rows = NULL;
    ALM_TRY(alm_arena_bytes(cx, &aggs->scratch, (r->n + 1) * sizeof *rows, &rows));
    for (uint32_t i = 0; i < r->n; i++) {
        rows[m] = i;
        m += holds[i];
    }
    return group_aggs_keep_rows(cx, aggs, agg->call->n_args, rows, m, r);
}

static alm_status group_aggs_select_rows(alm_ctx *cx, alm_aggs *aggs, alm_agg_state *agg,
                                         uint32_t lo, call_rows *r)
{
    ALM_ASSERT(agg->call->n_args <= ALM_AGG_ARGS_MAX);
    for (uint32_t arg = 0; arg < agg->call->n_args; arg++)
        r->args[arg] = group_aggs_slice(&aggs->vec[agg->first_arg + arg], lo);
    if (agg->filter < 0)
        return ALM_OK;
    alm_arena_reset(&aggs->scratch);
    return keep_filtered(cx, aggs, agg, lo, r);
}

alm_status alm_aggs_update(alm_ctx *cx, alm_aggs *aggs, alm_states *states, uint32_t group,
                           uint32_t lo, uint32_t n)
{
    for (uint32_t i = 0; i < aggs->n_states; i++) {
        alm_agg_state *agg = &aggs->state[i];
        call_rows r;
        r.group = NULL;
        r.one = group;
        r.n = n;
        ALM_TRY(group_aggs_select_rows(cx, aggs, agg, lo, &r));
        if (r.n == 0)
            continue;
        agg->rt.cx = cx;
        ALM_TRY(agg->ops->update(&agg->rt, states->array[i] + group * agg->ops->state_bytes, r.n,
                                 r.args));
    }
    return ALM_OK;
}

bool alm_aggs_masks(const alm_aggs *aggs)
{
    for (uint32_t i = 0; i < aggs->n_states; i++) {
        if ((int32_t)i == aggs->rows_state)
            continue;
        if (!aggs->is_fused[i] || aggs->state[i].call->args[0]->kind != ALM_X_COL)
            return false;
    }
    return aggs->n_states > 0;
}

ALM_SIMD static void mask_values(const double *restrict x, const uint8_t *restrict keep, uint32_t n,
                                 double *restrict out)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = keep[i] ? x[i] : __builtin_nan("");
}

alm_status alm_aggs_update_masked(alm_ctx *cx, alm_aggs *aggs, alm_arena *scratch,
                                  alm_states *states, uint32_t group, const uint8_t *keep,
                                  uint32_t kept, uint32_t n)
{
    double *masked = NULL;
    ALM_TRY(alm_arena_bytes(cx, scratch, (n + 1) * sizeof *masked, &masked));
    for (uint32_t fused = 0; fused < aggs->n_fused; fused++) {
        alm_vec vec = aggs->vec[aggs->fused[fused].arg];
        if (vec.is_const)
            ALM_TRY(alm_vec_expand(cx, scratch, &aggs->vec[aggs->fused[fused].arg], n, &vec));
        mask_values(vec.data, keep, n, masked);
        vec.data = masked;
        vec.no_nulls = false;
        for (uint32_t k = ALM_FUSE_SUM; k < ALM_FUSE_KINDS; k++) {
            const int32_t i = aggs->fused[fused].state[k];
            if (i < 0)
                continue;
            alm_agg_state *agg = &aggs->state[i];
            agg->rt.cx = cx;
            ALM_TRY(agg->ops->update(&agg->rt, states->array[i] + group * agg->ops->state_bytes, n,
                                     &vec));
        }
    }
    if (aggs->rows_state < 0)
        return ALM_OK;
    alm_agg_state *agg_state = &aggs->state[aggs->rows_state];
    agg_state->rt.cx = cx;
    return agg_state->ops->update(
        &agg_state->rt, states->array[aggs->rows_state] + group * agg_state->ops->state_bytes, kept,
        NULL);
}

static alm_status scatter_state(alm_ctx *cx, alm_aggs *aggs, alm_states *states, uint32_t i,
                                const uint32_t *group, uint32_t lo, uint32_t n)
{
    alm_agg_state *agg = &aggs->state[i];
    call_rows r;
    r.group = group;
    r.one = 0;
    r.n = n;
    ALM_TRY(group_aggs_select_rows(cx, aggs, agg, lo, &r));
    if (r.n == 0)
        return ALM_OK;
    agg->rt.cx = cx;
    return agg->ops->scatter(&agg->rt, states->array[i], r.group, r.n, r.args);
}

static alm_status scatter_fused(alm_ctx *cx, alm_aggs *aggs, alm_states *states,
                                const alm_agg_fused *fused, const uint32_t *group, uint32_t lo,
                                uint32_t n)
{
    void *state[ALM_FUSE_KINDS];
    const alm_vec *vec = &aggs->vec[fused->arg];
    const bool alone = fused->n < 2 || vec->is_const;
    for (uint32_t k = 0; k < ALM_FUSE_KINDS; k++) {
        if (alone && fused->state[k] >= 0)
            ALM_TRY(scatter_state(cx, aggs, states, (uint32_t)fused->state[k], group, lo, n));
        state[k] = fused->state[k] >= 0 ? states->array[fused->state[k]] : NULL;
    }
    if (!alone)
        alm_fused_scatter(state, group, n, (const double *)vec->data + lo);
    return ALM_OK;
}

alm_status alm_aggs_scatter(alm_ctx *cx, alm_aggs *aggs, alm_states *states, const uint32_t *group,
                            uint32_t lo, uint32_t n)
{
    for (uint32_t i = 0; i < aggs->n_fused; i++)
        ALM_TRY(scatter_fused(cx, aggs, states, &aggs->fused[i], group, lo, n));
    for (uint32_t i = 0; i < aggs->n_states; i++)
        if (!aggs->is_fused[i] && ((int32_t)i != aggs->rows_state || aggs->n_fused == 0))
            ALM_TRY(scatter_state(cx, aggs, states, i, group, lo, n));
    return ALM_OK;
}

alm_status alm_aggs_scatter_rest(alm_ctx *cx, alm_aggs *aggs, alm_states *states,
                                 const uint32_t *group, uint32_t n)
{
    for (uint32_t i = 0; i < aggs->n_states; i++)
        if (!aggs->is_fused[i] && (int32_t)i != aggs->rows_state)
            ALM_TRY(scatter_state(cx, aggs, states, i, group, 0, n));
    return ALM_OK;
}

alm_status alm_aggs_merge(alm_ctx *cx, alm_aggs *aggs, alm_states *dst, uint32_t dst_at,
                          const uint32_t *index, const alm_states *src, uint32_t src_at, uint32_t n)
{
    for (uint32_t i = 0; n > 0 && i < aggs->n_states; i++) {
        alm_agg_state *agg = &aggs->state[i];
        const size_t bytes = agg->ops->state_bytes;
        agg->rt.cx = cx;
        ALM_TRY(agg->ops->merge(&agg->rt, dst->array[i] + (index != NULL ? 0 : dst_at * bytes),
                                index, src->array[i] + src_at * bytes, n));
    }
    return ALM_OK;
}

alm_status alm_aggs_finish(alm_ctx *cx, alm_aggs *aggs, const alm_states *states, uint32_t i,
                           uint32_t place, uint32_t n_rows, alm_arena *arena, alm_vec *out)
{
    alm_agg_state *agg = &aggs->state[aggs->state_of[i]];
    const alm_agg_call *call = &aggs->calls[i];
    alm_call rt = agg->rt;
    rt.cx = cx;
    rt.fn = call->fn;
    rt.result = call->type;
    ALM_TRY(alm_vec_new(cx, arena, call->type, ALM_MAX(n_rows, 1U), out));
    const alm_agg_ops *ops = agg->ops == &alm_agg_rows_ops ? agg->ops : call->fn->agg;
    return ops->finish(&rt, states->array[aggs->state_of[i]] + place * agg->ops->state_bytes,
                       n_rows, out);
}

/* ---------------------------------------------------------------------------------- states */

alm_status alm_states_reserve(alm_ctx *cx, alm_aggs *aggs, alm_states *states, alm_pool *pool,
                              uint32_t n)
{
    if (states->array == NULL)
        ALM_TRY(
            alm_pool_zero(cx, pool, (aggs->n_states + 1) * sizeof *states->array, &states->array));
    if (n > states->cap) {
        const uint64_t twice = ALM_MAX(2 * (uint64_t)states->cap, 16);
        const uint32_t cap = (uint32_t)ALM_MIN(ALM_MAX(twice, n), (uint64_t)UINT32_MAX);
        for (uint32_t i = 0; i < aggs->n_states; i++) {
            const size_t bytes = aggs->state[i].ops->state_bytes;
            ALM_TRY(alm_pool_grow(cx, pool, &states->array[i], states->n * bytes, cap * bytes));
        }
        states->cap = cap;
    }
    if (n > states->n) {
        alm_states_clear(aggs, states, states->n, n - states->n);
        states->n = n;
    }
    return ALM_OK;
}

void alm_states_clear(alm_aggs *aggs, alm_states *states, uint32_t place, uint32_t n)
{
    for (uint32_t i = 0; i < aggs->n_states; i++) {
        const alm_agg_state *agg = &aggs->state[i];
        agg->ops->init(&agg->rt, states->array[i] + place * agg->ops->state_bytes, n);
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

void alm_states_pick(const alm_aggs *aggs, alm_states *dst, uint32_t dst_at, const alm_states *src,
                     const uint32_t *pick, uint32_t n_picks)
{
    if (n_picks == 0) /* there may be no arrays */
        return;
    for (uint32_t i = 0; i < aggs->n_states; i++) {
        const size_t bytes = aggs->state[i].ops->state_bytes;
        char *dest = dst->array[i] + dst_at * bytes;
        const char *from = src->array[i];
        if (bytes == sizeof(uint64_t))
            pick_8((uint64_t *)(void *)dest, (const uint64_t *)(const void *)from, pick, n_picks);
        else if (bytes == sizeof(state16))
            pick_16((state16 *)(void *)dest, (const state16 *)(const void *)from, pick, n_picks);
        else
            for (uint32_t k = 0; k < n_picks; k++)
                memcpy(dest + k * bytes, from + pick[k] * bytes, bytes);
    }
}
