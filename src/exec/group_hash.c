/*
 * group_hash.c - GROUP BY over any keys.
 *
 * A morsel is grouped in a table of its own. After a round of morsels the tables are merged into the
 * result in morsel order. Few groups: one result table, one thread. Many: each morsel's groups are
 * ordered by the top bits of their hash, and the result is ALM_GROUP_PARTS tables, each merged by one
 * thread and small enough for its cache.
 */
#include "exec/group.h"

enum { PARTITION_MIN = 8192, CHUNK = 4096 };

static void table_init(alm_group_table *t, alm_mem *mem)
{
    *t = (alm_group_table){0};
    alm_pool_init(&t->pool, mem, "group by");
}

static alm_status table_ready(alm_ctx *cx, alm_group *g, alm_aggs *aggs, alm_group_table *t)
{
    alm_type *types = NULL;
    if (t->map != NULL)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, cx->arena, g->n_keys + 1, &types));
    for (uint32_t k = 0; k < g->n_keys; k++)
        types[k] = g->keys[k]->type;
    ALM_TRY(alm_keymap_new(cx, &t->pool, types, g->n_keys, &t->map));
    return alm_states_reserve(cx, aggs, &t->states, &t->pool, 0);
}

/* Ready for another morsel; memory is kept. */
static void table_clear(alm_group_table *t)
{
    if (t->map != NULL)
        alm_keymap_clear(t->map);
    t->states.n = 0;
    t->sorted.n = 0;
}

/* ----------------------------------------------------------------------------------- morsels */

static alm_status take_batch(alm_ctx *cx, alm_group_slot *s, alm_group_table *t, alm_batch *in)
{
    alm_arena_reset(&s->scratch);
    ALM_TRY(alm_aggs_eval(cx, s->aggs, &s->scratch, in));
    ALM_TRY(alm_keymap_add(cx, t->map, s->aggs->vec, in->rows, s->number));
    ALM_TRY(alm_states_reserve(cx, s->aggs, &t->states, &t->pool, alm_keymap_count(t->map)));
    return alm_aggs_scatter(cx, s->aggs, &t->states, s->number, 0, in->rows);
}

static alm_status take_morsel(alm_ctx *cx, void *arg, uint32_t slot, uint32_t morsel, alm_op *input)
{
    alm_group *g = arg;
    alm_group_slot *s = &g->slot[slot];
    alm_group_table *t = &g->round[morsel - g->round_lo];
    ALM_TRY(alm_group_slot_ready(cx, g, s));
    ALM_TRY(table_ready(cx, g, s->aggs, t));
    table_clear(t);
    for (;;) {
        alm_batch *in = NULL;
        ALM_TRY(alm_op_next(cx, input, &in));
        if (in == NULL)
            return ALM_OK;
        ALM_TRY(take_batch(cx, s, t, in));
    }
}

/* ------------------------------------------------------------------------------------ merges */

/* Groups [lo, hi) of a table, in its order by partition, into a result table. */
static alm_status merge_groups(alm_ctx *cx, alm_aggs *aggs, alm_group_table *to,
                               const alm_group_table *from, uint32_t lo, uint32_t hi)
{
    const uint32_t words = alm_keymap_words(from->map);
    uint32_t number[CHUNK];
    for (uint32_t at = lo; at < hi; at += CHUNK) {
        const uint32_t n = ALM_MIN((uint32_t)CHUNK, hi - at);
        ALM_TRY(alm_keymap_add_packed(cx, to->map, from->map, from->sorted_row + (size_t)at * words,
                                      from->sorted_hash + at, n, number));
        ALM_TRY(alm_states_reserve(cx, aggs, &to->states, &to->pool, alm_keymap_count(to->map)));
        ALM_TRY(alm_aggs_merge(cx, aggs, &to->states, 0, number, &from->sorted, at, n));
    }
    return ALM_OK;
}

/* All of a table into the one result table. */
static alm_status merge_whole(alm_ctx *cx, alm_group *g, alm_group_table *from)
{
    const uint32_t n = alm_keymap_count(from->map);
    if (n > from->order_cap) {
        ALM_TRY(alm_pool_grow(cx, &from->pool, &from->order, 0, (size_t)n * 4));
        from->order_cap = n;
    }
    for (uint32_t i = 0; i < n; i++)
        from->order[i] = i;
    alm_group_table *to = &g->table[0];
    uint32_t number[CHUNK];
    for (uint32_t at = 0; at < n; at += CHUNK) {
        const uint32_t m = ALM_MIN((uint32_t)CHUNK, n - at);
        ALM_TRY(alm_keymap_add_from(cx, to->map, from->map, from->order + at, m, number));
        ALM_TRY(
            alm_states_reserve(cx, g->own.aggs, &to->states, &to->pool, alm_keymap_count(to->map)));
        ALM_TRY(alm_aggs_merge(cx, g->own.aggs, &to->states, 0, number, &from->states, at, m));
    }
    return ALM_OK;
}

/* Orders the groups of a table by partition. */
static alm_status partition(alm_ctx *cx, alm_aggs *aggs, alm_group_table *t)
{
    const uint32_t n = alm_keymap_count(t->map);
    uint32_t at[ALM_GROUP_PARTS] = {0};
    if (n > t->order_cap) {
        ALM_TRY(alm_pool_grow(cx, &t->pool, &t->order, 0, (size_t)n * 4));
        t->order_cap = n;
    }
    _Static_assert(ALM_GROUP_PARTS == 64, "six bits of the hash");
    for (uint32_t i = 0; i < n; i++)
        at[alm_keymap_hash(t->map, i) >> 58]++;
    uint32_t sum = 0;
    for (uint32_t p = 0; p < ALM_GROUP_PARTS; p++) {
        t->start[p] = sum;
        sum += at[p];
        at[p] = t->start[p];
    }
    t->start[ALM_GROUP_PARTS] = sum;
    for (uint32_t i = 0; i < n; i++)
        t->order[at[alm_keymap_hash(t->map, i) >> 58]++] = i;
    if (n > t->sorted_cap) {
        const size_t row_bytes = (size_t)alm_keymap_words(t->map) * 8;
        ALM_TRY(alm_pool_grow(cx, &t->pool, &t->sorted_row, 0, n * row_bytes));
        ALM_TRY(alm_pool_grow(cx, &t->pool, &t->sorted_hash, 0, (size_t)n * 8));
        t->sorted_cap = n;
    }
    alm_keymap_pack(t->map, t->order, n, t->sorted_row, t->sorted_hash);
    ALM_TRY(alm_states_reserve(cx, aggs, &t->sorted, &t->pool, n));
    alm_states_pick(aggs, &t->sorted, 0, &t->states, t->order, n);
    return ALM_OK;
}

typedef struct merge_run {
    alm_group *g;
    alm_group_table *old; /* the single result so far: merged before the morsels. NULL: none */
    uint32_t n;           /* tables of the round */
} merge_run;

static alm_status partition_task(alm_ctx *cx, void *arg, uint32_t slot, uint32_t i)
{
    merge_run *r = arg;
    ALM_TRY(alm_group_slot_ready(cx, r->g, &r->g->slot[slot]));
    return partition(cx, r->g->slot[slot].aggs, i < r->n ? &r->g->round[i] : r->old);
}

static alm_status merge_task(alm_ctx *cx, void *arg, uint32_t slot, uint32_t p)
{
    merge_run *r = arg;
    alm_group_table *to = &r->g->table[p];
    ALM_TRY(alm_group_slot_ready(cx, r->g, &r->g->slot[slot]));
    alm_aggs *aggs = r->g->slot[slot].aggs;
    ALM_TRY(table_ready(cx, r->g, aggs, to));
    if (r->old != NULL)
        ALM_TRY(merge_groups(cx, aggs, to, r->old, r->old->start[p], r->old->start[p + 1]));
    for (uint32_t m = 0; m < r->n; m++) {
        alm_group_table *t = &r->g->round[m];
        ALM_TRY(alm_check(cx));
        ALM_TRY(merge_groups(cx, aggs, to, t, t->start[p], t->start[p + 1]));
    }
    return ALM_OK;
}

static alm_status merge_partitions(alm_ctx *cx, alm_group *g, uint32_t n)
{
    alm_group_table *old = NULL;
    merge_run r = {.g = g, .n = n};
    if (g->n_tables == 1) { /* from now on there are many */
        old = g->table;
        r.old = alm_keymap_count(old->map) > 0 ? old : NULL;
        ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_GROUP_PARTS, &g->table));
        g->n_tables = ALM_GROUP_PARTS;
        for (uint32_t p = 0; p < ALM_GROUP_PARTS; p++)
            table_init(&g->table[p], cx->mem);
    }
    alm_status st = alm_pipe_each(cx, g->pipe, n + (r.old != NULL ? 1 : 0), partition_task, &r);
    if (st == ALM_OK)
        st = alm_pipe_each(cx, g->pipe, ALM_GROUP_PARTS, merge_task, &r);
    if (old != NULL)
        alm_pool_deinit(&old->pool);
    return st;
}

/* Can hashes of all the tables be compared? (a symbol may come as codes here and as text there) */
static bool one_form(const alm_group *g, uint32_t n)
{
    const alm_keymap *first = NULL;
    for (uint32_t t = 0; t < n + (g->n_tables == 1 ? 1 : g->n_tables); t++) {
        const alm_keymap *map = t < n ? g->round[t].map : g->table[t - n].map;
        if (map == NULL || alm_keymap_count(map) == 0)
            continue;
        if (first != NULL && !alm_keymap_same_form(first, map))
            return false;
        first = map;
    }
    return true;
}

static alm_status merge_round(alm_ctx *cx, alm_group *g, uint32_t n)
{
    uint64_t groups = g->n_tables == 1 ? alm_keymap_count(g->table[0].map) : 0;
    for (uint32_t m = 0; m < n; m++)
        groups += alm_keymap_count(g->round[m].map);
    if (g->n_tables > 1 || (groups > PARTITION_MIN && one_form(g, n))) {
        if (!one_form(g, n))
            return alm_fail(cx, ALM_E_INTERNAL, -1, "a symbol key changed its dictionary");
        return merge_partitions(cx, g, n);
    }
    for (uint32_t m = 0; m < n; m++)
        ALM_TRY(merge_whole(cx, g, &g->round[m]));
    return ALM_OK;
}

/* --------------------------------------------------------------------------------- serial */

/* Straight into the result: one morsel in all, or DISTINCT arguments, which need all rows in one. */
static alm_status take_serial(alm_ctx *cx, void *arg, uint32_t slot, uint32_t morsel, alm_op *input)
{
    alm_group *g = arg;
    (void)slot;
    (void)morsel;
    for (;;) {
        alm_batch *in = NULL;
        ALM_TRY(alm_op_next(cx, input, &in));
        if (in == NULL)
            return ALM_OK;
        ALM_TRY(take_batch(cx, &g->own, &g->table[0], in));
    }
}

alm_status alm_group_hash(alm_ctx *cx, alm_group *g)
{
    const uint32_t morsels = alm_pipe_morsels(g->pipe);
    ALM_TRY(ALM_NEWN(cx, cx->arena, 1, &g->table));
    table_init(&g->table[0], cx->mem);
    g->n_tables = 1;
    ALM_TRY(table_ready(cx, g, g->own.aggs, &g->table[0]));
    if (morsels <= 1 || alm_aggs_distinct(g->own.aggs)) {
        for (uint32_t m = 0; m < morsels; m++)
            ALM_TRY(alm_pipe_run(cx, g->pipe, m, m + 1, take_serial, g));
        return ALM_OK;
    }
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_GROUP_ROUND, &g->round));
    for (uint32_t m = 0; m < ALM_GROUP_ROUND; m++)
        table_init(&g->round[m], cx->mem);
    for (uint32_t lo = 0; lo < morsels; lo += ALM_GROUP_ROUND) {
        const uint32_t n = ALM_MIN((uint32_t)ALM_GROUP_ROUND, morsels - lo);
        g->round_lo = lo;
        ALM_TRY(alm_pipe_run(cx, g->pipe, lo, lo + n, take_morsel, g));
        ALM_TRY(merge_round(cx, g, n));
    }
    for (uint32_t m = 0; m < ALM_GROUP_ROUND; m++)
        alm_pool_deinit(&g->round[m].pool);
    g->round = NULL;
    return ALM_OK;
}

void alm_group_hash_close(alm_group *g)
{
    for (uint32_t m = 0; g->round != NULL && m < ALM_GROUP_ROUND; m++)
        alm_pool_deinit(&g->round[m].pool);
    for (uint32_t t = 0; g->table != NULL && t < g->n_tables; t++)
        alm_pool_deinit(&g->table[t].pool);
}
