/*
 * direct.c - GROUP BY over codes: group number = the codes of the keys in mixed radix.
 *
 * Each thread has arrays of states for all groups (two or four times, rows in turn, where there are few:
 * two rows of a frequent group then do not wait for each other's store). After a morsel the touched
 * groups are packed and cleared; a round of packed morsels is merged in morsel order, by ranges of
 * group numbers in parallel where there are many.
 */
#include "exec/eval/origin.h"
#include "exec/group/group.h"

enum {
    TWO_SETS_MAX = 1024,
    FOUR_SETS_MAX = 128,
    FUSED_MAX = 2048,
    MERGE_RANGES = 16,
    MERGE_PARALLEL_MIN = 65536
};

/* The touched groups of one morsel. */
typedef struct packed {
    alm_pool pool;
    uint32_t *number;
    uint32_t n;
    alm_states states;
    bool ready;
} packed;

typedef struct direct_run {
    alm_group *g;
    packed *round;
    uint32_t lo, n;
} direct_run;

/* ------------------------------------------------------------------------------------- codes */

uint32_t alm_group_card(const alm_plan *input, const alm_expr *key, const alm_dict **dict)
{
    *dict = NULL;
    if (key->type.id == ALM_T_BOOLEAN)
        return 2;
    if (key->type.id == ALM_T_BYTE)
        return 256;
    *dict = alm_origin_dict(input, key);
    return *dict == NULL ? 0 : (*dict)->count;
}

alm_status alm_group_direct_fits(alm_ctx *cx, alm_group *g, bool *fits)
{
    enum { ALWAYS = 65536 };
    const alm_plan *input = g->op.plan->child[0];
    uint64_t product = 1;
    *fits = false;
    ALM_TRY(ALM_NEWN(cx, cx->arena, g->n_keys + 1, &g->card));
    ALM_TRY(ALM_NEWN(cx, cx->arena, g->n_keys + 1, &g->dict));
    ALM_TRY(ALM_NEWN(cx, cx->arena, g->n_keys + 1, &g->least));
    ALM_TRY(ALM_NEWN(cx, cx->arena, g->n_keys + 1, &g->ranged));
    for (uint32_t k = 0; k < g->n_keys; k++) {
        g->card[k] = alm_group_card(input, g->keys[k], &g->dict[k]);
        if (g->card[k] == 0) {
            ALM_TRY(alm_group_range(cx, g, g->keys[k], &g->least[k], &g->card[k]));
            g->ranged[k] = true;
        }
        product *= g->card[k];
        if (product == 0 || product > ALM_GROUP_DIRECT_MAX)
            return ALM_OK;
    }
    const int64_t rows = alm_pipe_rows(g->pipe);
    if (rows >= 0 && (uint64_t)rows < product && product > 1024)
        return ALM_OK; /* few rows: clearing the arrays would cost more than hashing */
    *fits = product <= ALWAYS || rows > (int64_t)product;
    g->n_groups = (uint32_t)product;
    return ALM_OK;
}

#define DEFINE_RADIX(bits)                                                                         \
    ALM_SIMD static void radix_##bits(const uint##bits##_t *restrict code, uint32_t n,             \
                                      uint32_t card, bool first, uint32_t *restrict number)        \
    {                                                                                              \
        if (first)                                                                                 \
            for (uint32_t i = 0; i < n; i++)                                                       \
                number[i] = code[i];                                                               \
        else                                                                                       \
            for (uint32_t i = 0; i < n; i++)                                                       \
                number[i] = number[i] * card + code[i];                                            \
    }
DEFINE_RADIX(8)
DEFINE_RADIX(16)
DEFINE_RADIX(32)

alm_status alm_group_codes(alm_ctx *cx, const alm_vec *keys, uint32_t n_keys, const uint32_t *card,
                           const alm_dict *const *dict, uint32_t n, uint32_t *number)
{
    for (uint32_t k = 0; k < n_keys; k++) {
        const alm_vec *v = &keys[k];
        if (dict[k] != NULL && (v->dict == NULL || v->dict->id != dict[k]->id))
            return alm_fail(cx, ALM_E_INTERNAL, -1, "a symbol column changed its dictionary");
        if (v->is_const) {
            const uint32_t code = v->width == 1 ? *(const uint8_t *)v->data : alm_vec_code(v, 0);
            for (uint32_t i = 0; i < n; i++)
                number[i] = (k == 0 ? 0 : number[i] * card[k]) + code;
        } else if (v->width == 1) {
            radix_8(v->data, n, card[k], k == 0, number);
        } else if (v->width == 2) {
            radix_16(v->data, n, card[k], k == 0, number);
        } else {
            radix_32(v->data, n, card[k], k == 0, number);
        }
    }
    return ALM_OK;
}

alm_status alm_group_direct_key(alm_ctx *cx, const alm_group *g, alm_arena *arena, uint32_t key,
                                const uint32_t *number, uint32_t n, alm_vec *out)
{
    uint32_t below = 1; /* product of the ranges of the keys after it */
    for (uint32_t k = key + 1; k < g->n_keys; k++)
        below *= g->card[k];
    const bool symbol = g->dict[key] != NULL, ranged = g->ranged[key];
    const alm_type type = g->keys[key]->type;
    const uint8_t width = ranged ? (uint8_t)alm_type_width(type) : symbol ? 4 : 1;
    void *data = NULL;
    ALM_TRY(alm_arena_bytes(cx, arena, (size_t)n * 8, &data));
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t code = number[i] / below % g->card[key];
        if (ranged)
            alm_group_range_value(type, g->least[key], code, (char *)data + (size_t)i * width);
        else if (symbol)
            ((uint32_t *)data)[i] = code;
        else
            ((uint8_t *)data)[i] = (uint8_t)code;
    }
    *out = (alm_vec){.type = type, .width = width, .dict = g->dict[key], .data = data};
    return ALM_OK;
}

/* ----------------------------------------------------------------------------------- morsels */

static alm_status slot_ready(alm_ctx *cx, alm_group *g, alm_group_slot *s)
{
    const size_t n = (size_t)g->n_groups * g->sets;
    ALM_TRY(alm_group_slot_ready(cx, g, s));
    if (s->rows != NULL)
        return ALM_OK;
    ALM_TRY(alm_states_reserve(cx, s->aggs, &s->states, &s->pool, (uint32_t)n));
    ALM_TRY(ALM_NEWN(cx, cx->arena, s->aggs->n_fused + 1, &s->fused));
    for (uint32_t f = 0; f < s->aggs->n_fused && g->fused; f++) {
        ALM_TRY(alm_pool_alloc(cx, &s->pool, n * sizeof **s->fused, &s->fused[f]));
        alm_fused_rows_init(s->fused[f], n);
    }
    return alm_pool_zero(cx, &s->pool, (n + 8) * sizeof *s->rows, &s->rows);
}

static void count_rows(uint32_t *restrict rows, const uint32_t *restrict number, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        rows[number[i]]++;
}

/* Row i goes to set i modulo `sets`, a power of two. */
ALM_SIMD static void spread(uint32_t *restrict number, uint32_t n, uint32_t groups, uint32_t sets)
{
    for (uint32_t i = 0; i < n; i++)
        number[i] += (i & (sets - 1)) * groups;
}

/* The same where only presence counts. */
static void mark_rows(uint32_t *restrict rows, const uint32_t *restrict number, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        rows[number[i]] = 1;
}

static alm_status take_fused(alm_ctx *cx, alm_group_slot *s, uint32_t i, uint32_t n)
{
    const alm_agg_fused *f = &s->aggs->fused[i];
    alm_vec dense = s->aggs->vec[f->arg];
    if (dense.is_const)
        ALM_TRY(alm_vec_expand(cx, &s->scratch, &s->aggs->vec[f->arg], n, &dense));
    alm_fused_rows_add(s->fused[i], s->number, n, dense.data, f->state[ALM_FUSE_SUM] >= 0,
                       f->state[ALM_FUSE_MIN] >= 0 || f->state[ALM_FUSE_MAX] >= 0);
    return ALM_OK;
}

static alm_status take_rows(alm_ctx *cx, alm_group *g, alm_group_slot *s, alm_batch *in)
{
    alm_arena_reset(&s->scratch);
    ALM_TRY(alm_aggs_eval(cx, s->aggs, &s->scratch, in));
    for (uint32_t k = 0; k < g->n_keys; k++)
        if (g->ranged[k]) {
            const alm_vec values = s->aggs->vec[k];
            ALM_TRY(alm_group_range_codes(cx, &s->scratch, &values, in->rows, g->least[k],
                                          g->card[k], &s->aggs->vec[k]));
        }
    ALM_TRY(alm_group_codes(cx, s->aggs->vec, g->n_keys, g->card, g->dict, in->rows, s->number));
    if (g->sets > 1)
        spread(s->number, in->rows, g->n_groups, g->sets);
    if (!g->fused) {
        mark_rows(s->rows, s->number, in->rows);
        return alm_aggs_scatter(cx, s->aggs, &s->states, s->number, 0, in->rows);
    }
    count_rows(s->rows, s->number, in->rows);
    for (uint32_t i = 0; i < s->aggs->n_fused; i++)
        ALM_TRY(take_fused(cx, s, i, in->rows));
    return alm_aggs_scatter_rest(cx, s->aggs, &s->states, s->number, in->rows);
}

/* Numbers of the groups that have rows, ascending. */
static uint32_t find_touched(const alm_group *g, const alm_group_slot *s, uint32_t *number)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_groups; i++) {
        uint32_t rows = 0;
        for (uint32_t set = 0; set < g->sets; set++)
            rows |= s->rows[set * g->n_groups + i];
        number[n] = i;
        n += rows != 0;
    }
    return n;
}

/* States of one set of the touched groups (to->number is in that set) into `states`; all as new after. */
static alm_status take_set(alm_ctx *cx, const alm_group *g, alm_group_slot *s, const packed *to,
                           alm_states *states, alm_pool *pool)
{
    const uint32_t n = to->n;
    alm_aggs *a = s->aggs;
    alm_states set = {0};
    if (n == 0) /* no row of the morsel passed: there are no states to write to */
        return ALM_OK;
    const bool first = states->n == 0;
    ALM_TRY(alm_states_reserve(cx, a, &set, pool, n));
    alm_states_pick(a, &set, 0, &s->states, to->number, n);
    for (uint32_t i = 0, run = 1; i < n; i += run, run = 1) { /* neighbours in one call */
        while (i + run < n && to->number[i + run] == to->number[i] + run)
            run++;
        alm_states_clear(a, &s->states, to->number[i], run);
    }
    if (first)
        *states = set;
    else
        ALM_TRY(alm_aggs_merge(cx, a, states, 0, NULL, &set, 0, n));
    for (uint32_t f = 0; f < a->n_fused && g->fused; f++) {
        void *state[ALM_FUSE_KINDS];
        for (uint32_t k = 0; k < ALM_FUSE_KINDS; k++)
            state[k] = a->fused[f].state[k] >= 0 ? states->array[a->fused[f].state[k]] : NULL;
        for (uint32_t i = 0; i < n; i++) {
            alm_fused_rows_take(&s->fused[f][to->number[i]], state, i);
            alm_fused_rows_init(&s->fused[f][to->number[i]], 1);
        }
    }
    int64_t *count = g->fused && a->rows_state >= 0 && n > 0
                         ? (int64_t *)(void *)states->array[a->rows_state]
                         : NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (count != NULL)
            count[i] += s->rows[to->number[i]];
        s->rows[to->number[i]] = 0;
    }
    return ALM_OK;
}

/* Moves the touched groups out of the thread's arrays and makes those as new. */
static alm_status pack_touched(alm_ctx *cx, alm_group *g, alm_group_slot *s, packed *to)
{
    ALM_TRY(alm_pool_alloc(cx, &to->pool, ((size_t)g->n_groups + 1) * 4, &to->number));
    to->n = find_touched(g, s, to->number);
    to->states = (alm_states){0};
    for (uint32_t set = 0; set < g->sets; set++) {
        for (uint32_t i = 0; i < to->n && set > 0; i++)
            to->number[i] += g->n_groups;
        ALM_TRY(take_set(cx, g, s, to, &to->states, &to->pool));
    }
    for (uint32_t i = 0; i < to->n; i++)
        to->number[i] -= (g->sets - 1) * g->n_groups;
    return ALM_OK;
}

static alm_status take_morsel(alm_ctx *cx, void *arg, uint32_t slot, uint32_t morsel, alm_op *input)
{
    direct_run *r = arg;
    alm_group_slot *s = &r->g->slot[slot];
    packed *to = &r->round[morsel - r->lo];
    ALM_TRY(slot_ready(cx, r->g, s));
    for (;;) {
        alm_batch *in = NULL;
        ALM_TRY(alm_op_next(cx, input, &in));
        if (in == NULL)
            return pack_touched(cx, r->g, s, to);
        ALM_TRY(take_rows(cx, r->g, s, in));
    }
}

/* ------------------------------------------------------------------------------------- merges */

static uint32_t first_at_least(const packed *p, uint32_t number)
{
    uint32_t lo = 0, hi = p->n;
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (p->number[mid] < number)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Groups [lo, hi) of all morsels of the round into the result. */
static alm_status merge_range(alm_ctx *cx, direct_run *r, alm_aggs *aggs, uint32_t lo, uint32_t hi)
{
    for (uint32_t m = 0; m < r->n; m++) {
        packed *p = &r->round[m];
        const uint32_t from = first_at_least(p, lo), to = first_at_least(p, hi);
        ALM_TRY(alm_aggs_merge(cx, aggs, &r->g->states, 0, p->number + from, &p->states, from,
                               to - from));
        for (uint32_t i = from; i < to; i++)
            r->g->seen[p->number[i]] = 1;
    }
    return ALM_OK;
}

static alm_status merge_task(alm_ctx *cx, void *arg, uint32_t slot, uint32_t i)
{
    direct_run *r = arg;
    const uint64_t n = r->g->n_groups;
    ALM_TRY(alm_group_slot_ready(cx, r->g, &r->g->slot[slot]));
    return merge_range(cx, r, r->g->slot[slot].aggs, (uint32_t)(n * i / MERGE_RANGES),
                       (uint32_t)(n * (i + 1) / MERGE_RANGES));
}

static alm_status merge_round(alm_ctx *cx, direct_run *r)
{
    uint64_t groups = 0;
    for (uint32_t m = 0; m < r->n; m++)
        groups += r->round[m].n;
    if (groups < MERGE_PARALLEL_MIN)
        return merge_range(cx, r, r->g->own.aggs, 0, r->g->n_groups);
    return alm_pipe_each(cx, r->g->pipe, MERGE_RANGES, merge_task, r);
}

static void drop_round(direct_run *r)
{
    for (uint32_t m = 0; m < ALM_GROUP_ROUND; m++)
        alm_pool_deinit(&r->round[m].pool);
}

alm_status alm_group_direct(alm_ctx *cx, alm_group *g)
{
    const uint32_t morsels = alm_pipe_morsels(g->pipe);
    direct_run r = {.g = g};
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_GROUP_ROUND, &r.round));
    for (uint32_t m = 0; m < ALM_GROUP_ROUND; m++)
        alm_pool_init(&r.round[m].pool, cx->mem, "group by");
    const bool spreads =
        !alm_aggs_row_order(g->own.aggs) && alm_pipe_rows(g->pipe) > 8 * (int64_t)ALM_BATCH_ROWS;
    g->sets = !spreads || g->n_groups > TWO_SETS_MAX ? 1 : g->n_groups > FOUR_SETS_MAX ? 2 : 4;
    g->fused = g->n_groups * g->sets <= FUSED_MAX;
    ALM_TRY(alm_states_reserve(cx, g->own.aggs, &g->states, &g->own.pool, g->n_groups));
    ALM_TRY(alm_pool_zero(cx, &g->own.pool, (size_t)g->n_groups + 8, &g->seen));
    alm_status st = ALM_OK;
    for (r.lo = 0; r.lo < morsels && st == ALM_OK; r.lo += r.n) {
        r.n = ALM_MIN((uint32_t)ALM_GROUP_ROUND, morsels - r.lo);
        st = alm_pipe_run(cx, g->pipe, r.lo, r.lo + r.n, take_morsel, &r);
        if (st == ALM_OK)
            st = merge_round(cx, &r);
        drop_round(&r);
    }
    return st;
}
