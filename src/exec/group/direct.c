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

alm_status alm_group_direct_fits(alm_ctx *cx, alm_group *group, bool *fits)
{
    enum { ALWAYS = 65536 };
    const alm_plan *input = group->op.plan->child[0];
    uint64_t product = 1;
    *fits = false;
    ALM_TRY(ALM_NEWN(cx, cx->arena, group->n_keys + 1, &group->card));
    ALM_TRY(ALM_NEWN(cx, cx->arena, group->n_keys + 1, &group->dict));
    ALM_TRY(ALM_NEWN(cx, cx->arena, group->n_keys + 1, &group->least));
    ALM_TRY(ALM_NEWN(cx, cx->arena, group->n_keys + 1, &group->ranged));
    for (uint32_t key = 0; key < group->n_keys; key++) {
        group->card[key] = alm_group_card(input, group->keys[key], &group->dict[key]);
        if (group->card[key] == 0) {
            ALM_TRY(alm_group_range(cx, group, group->keys[key], &group->least[key],
                                    &group->card[key]));
            group->ranged[key] = true;
        }
        product *= group->card[key];
        if (product == 0 || product > ALM_GROUP_DIRECT_MAX)
            return ALM_OK;
    }
    const int64_t rows = alm_pipe_rows(group->pipe);
    if (rows >= 0 && (uint64_t)rows < product && product > 1024)
        return ALM_OK; /* few rows: clearing the arrays would cost more than hashing */
    *fits = product <= ALWAYS || rows > (int64_t)product;
    group->n_groups = (uint32_t)product;
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
    for (uint32_t key = 0; key < n_keys; key++) {
        const alm_vec *vec = &keys[key];
        if (dict[key] != NULL && (vec->dict == NULL || vec->dict->id != dict[key]->id))
            return alm_fail(cx, ALM_E_INTERNAL, -1, "a symbol column changed its dictionary");
        if (vec->is_const) {
            const uint32_t code =
                vec->width == 1 ? *(const uint8_t *)vec->data : alm_vec_code(vec, 0);
            for (uint32_t i = 0; i < n; i++)
                number[i] = (key == 0 ? 0 : number[i] * card[key]) + code;
        } else if (vec->width == 1) {
            radix_8(vec->data, n, card[key], key == 0, number);
        } else if (vec->width == 2) {
            radix_16(vec->data, n, card[key], key == 0, number);
        } else {
            radix_32(vec->data, n, card[key], key == 0, number);
        }
    }
    return ALM_OK;
}

alm_status alm_group_direct_key(alm_ctx *cx, const alm_group *group, alm_arena *arena, uint32_t key,
                                const uint32_t *number, uint32_t n_rows, alm_vec *out)
{
    uint32_t below = 1; /* product of the ranges of the keys after it */
    for (uint32_t k = key + 1; k < group->n_keys; k++)
        below *= group->card[k];
    const bool symbol = group->dict[key] != NULL, ranged = group->ranged[key];
    const alm_type type = group->keys[key]->type;
    const uint8_t width = ranged ? (uint8_t)alm_type_width(type) : symbol ? 4 : 1;
    void *data = NULL;
    ALM_TRY(alm_arena_bytes(cx, arena, (size_t)n_rows * 8, &data));
    for (uint32_t i = 0; i < n_rows; i++) {
        const uint32_t code = number[i] / below % group->card[key];
        if (ranged)
            alm_group_range_value(type, group->least[key], code, (char *)data + (size_t)i * width);
        else if (symbol)
            ((uint32_t *)data)[i] = code;
        else
            ((uint8_t *)data)[i] = (uint8_t)code;
    }
    *out = (alm_vec){.type = type, .width = width, .dict = group->dict[key], .data = data};
    return ALM_OK;
}

/* ----------------------------------------------------------------------------------- morsels */

static alm_status group_direct_slot_ready(alm_ctx *cx, alm_group *group, alm_group_slot *slot)
{
    const size_t n = (size_t)group->n_groups * group->sets;
    ALM_TRY(alm_group_slot_ready(cx, group, slot));
    if (slot->rows != NULL)
        return ALM_OK;
    ALM_TRY(alm_states_reserve(cx, slot->aggs, &slot->states, &slot->pool, (uint32_t)n));
    ALM_TRY(ALM_NEWN(cx, cx->arena, slot->aggs->n_fused + 1, &slot->fused));
    for (uint32_t fused = 0; fused < slot->aggs->n_fused && group->fused; fused++) {
        ALM_TRY(alm_pool_alloc(cx, &slot->pool, n * sizeof **slot->fused, &slot->fused[fused]));
        alm_fused_rows_init(slot->fused[fused], n);
    }
    return alm_pool_zero(cx, &slot->pool, (n + 8) * sizeof *slot->rows, &slot->rows);
}

static void group_direct_count_rows(uint32_t *restrict rows, const uint32_t *restrict number,
                                    uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        rows[number[i]]++;
}

/* Row i goes to set i modulo `sets`, a power of two. */
ALM_SIMD static void group_direct_spread(uint32_t *restrict number, uint32_t n, uint32_t groups,
                                         uint32_t sets)
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

static alm_status take_fused(alm_ctx *cx, alm_group_slot *slot, uint32_t i, uint32_t n)
{
    const alm_agg_fused *fused = &slot->aggs->fused[i];
    alm_vec dense = slot->aggs->vec[fused->arg];
    if (dense.is_const)
        ALM_TRY(alm_vec_expand(cx, &slot->scratch, &slot->aggs->vec[fused->arg], n, &dense));
    alm_fused_rows_add(slot->fused[i], slot->number, n, dense.data, fused->state[ALM_FUSE_SUM] >= 0,
                       fused->state[ALM_FUSE_MIN] >= 0 || fused->state[ALM_FUSE_MAX] >= 0);
    return ALM_OK;
}

static alm_status group_direct_take_rows(alm_ctx *cx, alm_group *group, alm_group_slot *slot,
                                         alm_batch *batch)
{
    alm_arena_reset(&slot->scratch);
    ALM_TRY(alm_aggs_eval(cx, slot->aggs, &slot->scratch, batch));
    for (uint32_t key = 0; key < group->n_keys; key++)
        if (group->ranged[key]) {
            const alm_vec values = slot->aggs->vec[key];
            ALM_TRY(alm_group_range_codes(cx, &slot->scratch, &values, batch->rows,
                                          group->least[key], group->card[key],
                                          &slot->aggs->vec[key]));
        }
    ALM_TRY(alm_group_codes(cx, slot->aggs->vec, group->n_keys, group->card, group->dict,
                            batch->rows, slot->number));
    if (group->sets > 1)
        group_direct_spread(slot->number, batch->rows, group->n_groups, group->sets);
    if (!group->fused) {
        mark_rows(slot->rows, slot->number, batch->rows);
        return alm_aggs_scatter(cx, slot->aggs, &slot->states, slot->number, 0, batch->rows);
    }
    group_direct_count_rows(slot->rows, slot->number, batch->rows);
    for (uint32_t i = 0; i < slot->aggs->n_fused; i++)
        ALM_TRY(take_fused(cx, slot, i, batch->rows));
    return alm_aggs_scatter_rest(cx, slot->aggs, &slot->states, slot->number, batch->rows);
}

/* Numbers of the groups that have rows, ascending. */
static uint32_t find_touched(const alm_group *group, const alm_group_slot *slot, uint32_t *number)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < group->n_groups; i++) {
        uint32_t rows = 0;
        for (uint32_t set = 0; set < group->sets; set++)
            rows |= slot->rows[set * group->n_groups + i];
        number[count] = i;
        count += rows != 0;
    }
    return count;
}

/* States of one set of the touched groups (to->number is in that set) into `states`; all as new after. */
static alm_status take_set(alm_ctx *cx, const alm_group *group, alm_group_slot *slot,
                           const packed *to, alm_states *states, alm_pool *pool)
{
    const uint32_t n = to->n;
    alm_aggs *aggs = slot->aggs;
    alm_states set = {0};
    if (n == 0) /* no row of the morsel passed: there are no states to write to */
        return ALM_OK;
    const bool first = states->n == 0;
    ALM_TRY(alm_states_reserve(cx, aggs, &set, pool, n));
    alm_states_pick(aggs, &set, 0, &slot->states, to->number, n);
    for (uint32_t i = 0, run = 1; i < n; i += run, run = 1) { /* neighbours in one call */
        while (i + run < n && to->number[i + run] == to->number[i] + run)
            run++;
        alm_states_clear(aggs, &slot->states, to->number[i], run);
    }
    if (first)
        *states = set;
    else
        ALM_TRY(alm_aggs_merge(cx, aggs, states, 0, NULL, &set, 0, n));
    for (uint32_t fused = 0; fused < aggs->n_fused && group->fused; fused++) {
        void *state[ALM_FUSE_KINDS];
        for (uint32_t k = 0; k < ALM_FUSE_KINDS; k++)
            state[k] = aggs->fused[fused].state[k] >= 0 ? states->array[aggs->fused[fused].state[k]]
                                                        : NULL;
        for (uint32_t i = 0; i < n; i++) {
            alm_fused_rows_take(&slot->fused[fused][to->number[i]], state, i);
            alm_fused_rows_init(&slot->fused[fused][to->number[i]], 1);
        }
    }
    int64_t *count = group->fused && aggs->rows_state >= 0 && n > 0
                         ? (int64_t *)(void *)states->array[aggs->rows_state]
                         : NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (count != NULL)
            count[i] += slot->rows[to->number[i]];
        slot->rows[to->number[i]] = 0;
    }
    return ALM_OK;
}

/* Moves the touched groups out of the thread's arrays and makes those as new. */
static alm_status pack_touched(alm_ctx *cx, alm_group *group, alm_group_slot *slot, packed *to)
{
    ALM_TRY(alm_pool_alloc(cx, &to->pool, ((size_t)group->n_groups + 1) * 4, &to->number));
    to->n = find_touched(group, slot, to->number);
    to->states = (alm_states){0};
    for (uint32_t set = 0; set < group->sets; set++) {
        for (uint32_t i = 0; i < to->n && set > 0; i++)
            to->number[i] += group->n_groups;
        ALM_TRY(take_set(cx, group, slot, to, &to->states, &to->pool));
    }
    for (uint32_t i = 0; i < to->n; i++)
        to->number[i] -= (group->sets - 1) * group->n_groups;
    return ALM_OK;
}

static alm_status group_direct_take_morsel(alm_ctx *cx, void *arg, uint32_t slot, uint32_t morsel,
                                           alm_op *input)
{
    direct_run *r = arg;
    alm_group_slot *group_slot = &r->g->slot[slot];
    packed *to = &r->round[morsel - r->lo];
    ALM_TRY(group_direct_slot_ready(cx, r->g, group_slot));
    for (;;) {
        alm_batch *batch = NULL;
        ALM_TRY(alm_op_next(cx, input, &batch));
        if (batch == NULL)
            return pack_touched(cx, r->g, group_slot, to);
        ALM_TRY(group_direct_take_rows(cx, r->g, group_slot, batch));
    }
}

/* ------------------------------------------------------------------------------------- merges */

static uint32_t first_at_least(const packed *self, uint32_t number)
{
    uint32_t lo = 0, hi = self->n;
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (self->number[mid] < number)
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

static alm_status group_direct_merge_task(alm_ctx *cx, void *arg, uint32_t slot, uint32_t i)
{
    direct_run *r = arg;
    const uint64_t n_groups = r->g->n_groups;
    ALM_TRY(alm_group_slot_ready(cx, r->g, &r->g->slot[slot]));
    return merge_range(cx, r, r->g->slot[slot].aggs, (uint32_t)(n_groups * i / MERGE_RANGES),
                       (uint32_t)(n_groups * (i + 1) / MERGE_RANGES));
}

static alm_status group_direct_merge_round(alm_ctx *cx, direct_run *r)
{
    uint64_t groups = 0;
    for (uint32_t m = 0; m < r->n; m++)
        groups += r->round[m].n;
    if (groups < MERGE_PARALLEL_MIN)
        return merge_range(cx, r, r->g->own.aggs, 0, r->g->n_groups);
    return alm_pipe_each(cx, r->g->pipe, MERGE_RANGES, group_direct_merge_task, r);
}

static void drop_round(direct_run *r)
{
    for (uint32_t m = 0; m < ALM_GROUP_ROUND; m++)
        alm_pool_deinit(&r->round[m].pool);
}

alm_status alm_group_direct(alm_ctx *cx, alm_group *group)
{
    const uint32_t morsels = alm_pipe_morsels(group->pipe);
    direct_run r = {.g = group};
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_GROUP_ROUND, &r.round));
    for (uint32_t m = 0; m < ALM_GROUP_ROUND; m++)
        alm_pool_init(&r.round[m].pool, cx->mem, "group by");
    const bool spreads = !alm_aggs_row_order(group->own.aggs) &&
                         alm_pipe_rows(group->pipe) > 8 * (int64_t)ALM_BATCH_ROWS;
    group->sets = !spreads || group->n_groups > TWO_SETS_MAX ? 1
                  : group->n_groups > FOUR_SETS_MAX          ? 2
                                                             : 4;
    group->fused = group->n_groups * group->sets <= FUSED_MAX;
    ALM_TRY(
        alm_states_reserve(cx, group->own.aggs, &group->states, &group->own.pool, group->n_groups));
    ALM_TRY(alm_pool_zero(cx, &group->own.pool, (size_t)group->n_groups + 8, &group->seen));
    alm_status status = ALM_OK;
    for (r.lo = 0; r.lo < morsels && status == ALM_OK; r.lo += r.n) {
        r.n = ALM_MIN((uint32_t)ALM_GROUP_ROUND, morsels - r.lo);
        status = alm_pipe_run(cx, group->pipe, r.lo, r.lo + r.n, group_direct_take_morsel, &r);
        if (status == ALM_OK)
            status = group_direct_merge_round(cx, &r);
        drop_round(&r);
    }
    return status;
}
