/*
 * hash.c - GROUP BY over any keys.
 *
 * A morsel is grouped in a table of its own. As soon as that shows to be of no use (more than RAW_MIN
 * groups, and less than RAW_SHARE rows for each) the rest of the morsel goes into blocks as it is. After
 * a round of morsels all is merged into the result in morsel order. Few groups: one result table, one
 * thread. Many: groups and rows are in the order of the top bits of their hash, and the result is
 * ALM_GROUP_PARTS tables, each merged by one thread and small enough for its cache.
 *
 * Order       What a morsel does follows from its own rows and from the rounds before, not from threads.
 */
#include "exec/data/blend.h"
#include "exec/eval/origin.h"
#include "exec/group/group.h"
#include "exec/run/scan_plan.h"

enum { PARTITION_MIN = 8192, CHUNK = 4096, RAW_MIN = 4096, RAW_SHARE = 3 };

static void table_init(alm_group_table *table, alm_mem *mem)
{
    *table = (alm_group_table){0};
    alm_pool_init(&table->pool, mem, "group by");
}

alm_status alm_group_table_ready(alm_ctx *cx, const alm_group *group, alm_aggs *aggs,
                                 alm_group_table *table)
{
    alm_type *types = NULL;
    if (table->map != NULL)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, cx->arena, group->n_keys + 1, &types));
    for (uint32_t key = 0; key < group->n_keys; key++)
        types[key] = group->keys[key]->type;
    ALM_TRY(alm_keymap_new(cx, &table->pool, types, group->n_keys, &table->map));
    return alm_states_reserve(cx, aggs, &table->states, &table->pool, 0);
}

/* Ready for another morsel; memory is kept. */
static void table_clear(alm_group_table *table)
{
    if (table->map != NULL)
        alm_keymap_clear(table->map);
    table->states.n = 0;
    table->sorted.n = 0;
    alm_group_block_clear(&table->blocks);
}

/* ----------------------------------------------------------------------------------- morsels */

static alm_status group_batch(alm_ctx *cx, alm_group_slot *slot, alm_group_table *table, uint32_t n)
{
    ALM_TRY(alm_keymap_add(cx, table->map, slot->aggs->vec, n, slot->number));
    ALM_TRY(alm_states_reserve(cx, slot->aggs, &table->states, &table->pool,
                               alm_keymap_count(table->map)));
    return alm_aggs_scatter(cx, slot->aggs, &table->states, slot->number, 0, n);
}

/* The batch as it is, into blocks. */
static alm_status keep_batch(alm_ctx *cx, alm_group_slot *slot, alm_group_table *table, uint32_t n)
{
    ALM_TRY(alm_keymap_settle(cx, table->map, slot->aggs->vec));
    return alm_group_block_add(cx, &table->shape, slot->aggs, table->map, n, &slot->pending,
                               &table->pool, &table->blocks);
}

/* Rows of the input into a table until `limit` rows are taken or there are no more (*end). */
static alm_status group_hash_take_rows(alm_ctx *cx, alm_group *group, alm_group_slot *slot,
                                       alm_group_table *table, alm_op *input, uint64_t limit,
                                       bool *end)
{
    uint64_t rows = 0;
    ALM_TRY(alm_group_table_ready(cx, group, slot->aggs, table));
    table_clear(table);
    table->raw = group->raw_first;
    while (rows < limit && !*end) {
        alm_batch *batch = NULL;
        ALM_TRY(alm_op_next(cx, input, &batch));
        *end = batch == NULL;
        if (batch == NULL)
            break;
        alm_arena_reset(&slot->scratch);
        ALM_TRY(alm_aggs_eval(cx, slot->aggs, &slot->scratch, batch));
        rows += batch->rows;
        if (table->raw) {
            ALM_TRY(keep_batch(cx, slot, table, batch->rows));
            continue;
        }
        ALM_TRY(group_batch(cx, slot, table, batch->rows));
        const uint64_t groups = alm_keymap_count(table->map);
        table->raw = group->raw_fits && groups > RAW_MIN && groups * RAW_SHARE > rows;
        if (table->raw &&
            rows == batch->rows) { /* the first batch tells: it goes with the others */
            table_clear(table);
            ALM_TRY(keep_batch(cx, slot, table, batch->rows));
        }
    }
    return table->raw ? alm_group_block_flush(cx, &table->shape, &slot->pending, &table->pool,
                                              &table->blocks)
                      : ALM_OK;
}

static alm_status group_hash_take_morsel(alm_ctx *cx, void *arg, uint32_t slot, uint32_t morsel,
                                         alm_op *input)
{
    alm_group *group = arg;
    bool end = false;
    ALM_TRY(alm_group_slot_ready(cx, group, &group->slot[slot]));
    return group_hash_take_rows(cx, group, &group->slot[slot],
                                &group->round[morsel - group->round_lo], input, UINT64_MAX, &end);
}

/* ------------------------------------------------------------------------------------ merges */

/* Groups [lo, hi) of a table, in its order by partition, into a result table. */
static alm_status hash_merge_groups(alm_ctx *cx, alm_aggs *aggs, alm_group_table *to,
                                    const alm_group_table *from, uint32_t lo, uint32_t hi)
{
    const uint32_t words = alm_keymap_words(from->map);
    uint32_t number[CHUNK];
    for (uint32_t place = lo; place < hi; place += CHUNK) {
        const uint32_t n = ALM_MIN((uint32_t)CHUNK, hi - place);
        ALM_TRY(alm_keymap_add_packed(cx, to->map, from->map,
                                      from->sorted_row + (size_t)place * words,
                                      from->sorted_hash + place, n, number));
        ALM_TRY(alm_states_reserve(cx, aggs, &to->states, &to->pool, alm_keymap_count(to->map)));
        ALM_TRY(alm_aggs_merge(cx, aggs, &to->states, 0, number, &from->sorted, place, n));
    }
    return ALM_OK;
}

/* The rows collected from blocks of `from` into a result table. */
static alm_status merge_pending(alm_ctx *cx, alm_group_slot *slot, alm_group_table *to,
                                const alm_group_table *from)
{
    alm_block_pending *pending = &slot->pending;
    if (pending->n == 0)
        return ALM_OK;
    ALM_TRY(alm_keymap_add_packed(cx, to->map, from->map, pending->row, pending->hash, pending->n,
                                  slot->number));
    ALM_TRY(alm_states_reserve(cx, slot->aggs, &to->states, &to->pool, alm_keymap_count(to->map)));
    alm_group_block_args(&from->shape, pending, slot->aggs);
    ALM_TRY(alm_aggs_scatter(cx, slot->aggs, &to->states, slot->number, 0, pending->n));
    pending->n = 0;
    return ALM_OK;
}

/* Partition part of the rows of a table's blocks; some may stay pending. */
static alm_status merge_rows(alm_ctx *cx, alm_group_slot *slot, alm_group_table *to,
                             const alm_group_table *from, uint32_t part)
{
    const alm_group_block *block = from->blocks.first;
    for (uint32_t i = 0; i < from->blocks.n_used; i++, block = block->next)
        for (uint32_t place = block->start[part]; place < block->start[part + 1];) {
            ALM_TRY(alm_group_block_collect(cx, &from->shape, from->map, block, &place,
                                            block->start[part + 1], &slot->pending));
            if (slot->pending.n == ALM_BATCH_ROWS)
                ALM_TRY(merge_pending(cx, slot, to, from));
        }
    return ALM_OK;
}

/* All of a table into the one result table. */
static alm_status merge_whole(alm_ctx *cx, alm_group *group, alm_group_table *from)
{
    const uint32_t n_keymaps = alm_keymap_count(from->map);
    if (n_keymaps > from->order_cap) {
        ALM_TRY(alm_pool_grow(cx, &from->pool, &from->order, 0, (size_t)n_keymaps * 4));
        from->order_cap = n_keymaps;
    }
    for (uint32_t i = 0; i < n_keymaps; i++)
        from->order[i] = i;
    alm_group_table *to = &group->table[0];
    uint32_t number[CHUNK];
    for (uint32_t place = 0; place < n_keymaps; place += CHUNK) {
        const uint32_t m = ALM_MIN((uint32_t)CHUNK, n_keymaps - place);
        ALM_TRY(alm_keymap_add_from(cx, to->map, from->map, from->order + place, m, number));
        ALM_TRY(alm_states_reserve(cx, group->own.aggs, &to->states, &to->pool,
                                   alm_keymap_count(to->map)));
        ALM_TRY(
            alm_aggs_merge(cx, group->own.aggs, &to->states, 0, number, &from->states, place, m));
    }
    return ALM_OK;
}

/* Orders the groups of a table by partition. */
static alm_status partition(alm_ctx *cx, alm_aggs *aggs, alm_group_table *table)
{
    const uint32_t n_keymaps = alm_keymap_count(table->map);
    uint32_t at[ALM_GROUP_PARTS] = {0};
    if (n_keymaps > table->order_cap) {
        ALM_TRY(alm_pool_grow(cx, &table->pool, &table->order, 0, (size_t)n_keymaps * 4));
        table->order_cap = n_keymaps;
    }
    _Static_assert(ALM_GROUP_PARTS == 64, "six bits of the hash");
    for (uint32_t i = 0; i < n_keymaps; i++)
        at[alm_keymap_hash(table->map, i) >> 58]++;
    uint32_t sum = 0;
    for (uint32_t part = 0; part < ALM_GROUP_PARTS; part++) {
        table->start[part] = sum;
        sum += at[part];
        at[part] = table->start[part];
    }
    table->start[ALM_GROUP_PARTS] = sum;
    for (uint32_t i = 0; i < n_keymaps; i++)
        table->order[at[alm_keymap_hash(table->map, i) >> 58]++] = i;
    if (n_keymaps > table->sorted_cap) {
        const size_t row_bytes = (size_t)alm_keymap_words(table->map) * 8;
        ALM_TRY(alm_pool_grow(cx, &table->pool, &table->sorted_row, 0, n_keymaps * row_bytes));
        ALM_TRY(alm_pool_grow(cx, &table->pool, &table->sorted_hash, 0, (size_t)n_keymaps * 8));
        table->sorted_cap = n_keymaps;
    }
    alm_keymap_pack(table->map, table->order, n_keymaps, table->sorted_row, table->sorted_hash);
    ALM_TRY(alm_states_reserve(cx, aggs, &table->sorted, &table->pool, n_keymaps));
    alm_states_pick(aggs, &table->sorted, 0, &table->states, table->order, n_keymaps);
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

static alm_status group_hash_merge_task(alm_ctx *cx, void *arg, uint32_t slot, uint32_t p)
{
    merge_run *r = arg;
    alm_group_slot *group_slot = &r->g->slot[slot];
    alm_group_table *to = &r->g->table[p];
    const alm_group_table *rows = NULL; /* whose rows are pending */
    ALM_TRY(alm_group_slot_ready(cx, r->g, group_slot));
    ALM_TRY(alm_group_table_ready(cx, r->g, group_slot->aggs, to));
    if (r->old != NULL)
        ALM_TRY(hash_merge_groups(cx, group_slot->aggs, to, r->old, r->old->start[p],
                                  r->old->start[p + 1]));
    for (uint32_t m = 0; m < r->n; m++) {
        const alm_group_table *table = &r->g->round[m];
        ALM_TRY(alm_check(cx));
        if (table->start[p] < table->start[p + 1]) {
            ALM_TRY(merge_pending(cx, group_slot, to, rows)); /* they come before these groups */
            ALM_TRY(hash_merge_groups(cx, group_slot->aggs, to, table, table->start[p],
                                      table->start[p + 1]));
        }
        if (table->blocks.n_used > 0) {
            ALM_TRY(merge_rows(cx, group_slot, to, table, p));
            rows = table;
        }
    }
    return merge_pending(cx, group_slot, to, rows);
}

static alm_status merge_partitions(alm_ctx *cx, alm_group *group, uint32_t n)
{
    alm_group_table *old = NULL;
    merge_run r = {.g = group, .n = n};
    if (group->n_tables == 1) { /* from now on there are many */
        old = group->table;
        r.old = alm_keymap_count(old->map) > 0 ? old : NULL;
        ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_GROUP_PARTS, &group->table));
        group->n_tables = ALM_GROUP_PARTS;
        for (uint32_t part = 0; part < ALM_GROUP_PARTS; part++)
            table_init(&group->table[part], cx->mem);
    }
    alm_status status =
        alm_pipe_each(cx, group->pipe, n + (r.old != NULL ? 1 : 0), partition_task, &r);
    if (status == ALM_OK)
        status = alm_pipe_each(cx, group->pipe, ALM_GROUP_PARTS, group_hash_merge_task, &r);
    if (old != NULL)
        alm_pool_deinit(&old->pool);
    return status;
}

/* Can hashes of all the tables be compared? (a symbol may come as codes here and as text there) */
static bool one_form(const alm_group *group, uint32_t n)
{
    const alm_keymap *first = NULL;
    for (uint32_t table = 0; table < n + (group->n_tables == 1 ? 1 : group->n_tables); table++) {
        const alm_keymap *map = table < n ? group->round[table].map : group->table[table - n].map;
        if (map == NULL ||
            (alm_keymap_count(map) == 0 && (table >= n || group->round[table].blocks.rows == 0)))
            continue;
        if (first != NULL && !alm_keymap_same_form(first, map))
            return false;
        first = map;
    }
    return true;
}

static alm_status group_hash_merge_round(alm_ctx *cx, alm_group *group, uint32_t n)
{
    uint64_t groups = group->n_tables == 1 ? alm_keymap_count(group->table[0].map) : 0, rows = 0;
    uint32_t raw = 0;
    for (uint32_t m = 0; m < n; m++) {
        groups += alm_keymap_count(group->round[m].map);
        rows += group->round[m].blocks.rows;
        raw += group->round[m].raw;
    }
    group->raw_first = n > 0 && raw == n;
    if (group->n_tables > 1 || rows > 0 || (groups > PARTITION_MIN && one_form(group, n))) {
        if (!one_form(group, n))
            return alm_fail(cx, ALM_E_INTERNAL, -1, "a symbol key changed its dictionary");
        return merge_partitions(cx, group, n);
    }
    for (uint32_t m = 0; m < n; m++)
        ALM_TRY(merge_whole(cx, group, &group->round[m]));
    return ALM_OK;
}

/* --------------------------------------------------------------------------------- the whole */

/* Straight into the result: symbols from anywhere. */
static alm_status take_into_one(alm_ctx *cx, alm_group *group, alm_op *input)
{
    for (;;) {
        alm_batch *batch = NULL;
        ALM_TRY(alm_op_next(cx, input, &batch));
        if (batch == NULL)
            return ALM_OK;
        alm_arena_reset(&group->own.scratch);
        ALM_TRY(alm_aggs_eval(cx, group->own.aggs, &group->own.scratch, batch));
        ALM_TRY(group_batch(cx, &group->own, &group->table[0], batch->rows));
    }
}

/* Over the memory: rows to files instead of tables. */
static alm_status spill_rows(alm_ctx *cx, alm_group *group, alm_group_slot *slot, uint32_t morsel,
                             alm_op *input)
{
    for (;;) {
        alm_batch *batch = NULL;
        ALM_TRY(alm_op_next(cx, input, &batch));
        if (batch == NULL)
            return ALM_OK;
        alm_arena_reset(&slot->scratch);
        ALM_TRY(alm_aggs_eval(cx, slot->aggs, &slot->scratch, batch));
        ALM_TRY(alm_group_spill_batch(cx, group, slot, morsel, batch->rows));
    }
}

static alm_status spill_morsel(alm_ctx *cx, void *arg, uint32_t slot, uint32_t morsel,
                               alm_op *input)
{
    alm_group *group = arg;
    ALM_TRY(alm_group_slot_ready(cx, group, &group->slot[slot]));
    return spill_rows(cx, group, &group->slot[slot], morsel, input);
}

static void free_rounds(alm_group *group)
{
    for (uint32_t m = 0; group->round != NULL && m < ALM_GROUP_ROUND; m++)
        alm_pool_deinit(&group->round[m].pool);
    group->round = NULL;
}

/* Gives back what tables hold that the next round of n morsels does not need. */
static void trim_rounds(alm_ctx *cx, alm_group *group, uint32_t n)
{
    for (uint32_t m = n; m < ALM_GROUP_ROUND; m++) {
        if (group->round[m].pool.bytes == 0)
            continue;
        alm_pool_deinit(&group->round[m].pool);
        table_init(&group->round[m], cx->mem);
        group->round[m].shape = group->shape;
    }
}

/* Input that one thread reads: cut by rows, so that at least the merges are parallel. */
static alm_status read_child(alm_ctx *cx, alm_group *group)
{
    bool end = false;
    ALM_TRY(alm_op_child(cx, &group->op, 0));
    if (!group->raw_fits)
        return take_into_one(cx, group, group->op.child[0]);
    while (!end) {
        const uint32_t most = alm_group_round_morsels(group);
        uint32_t count = 0;
        trim_rounds(cx, group, most);
        while (count < most && !end)
            ALM_TRY(group_hash_take_rows(cx, group, &group->own, &group->round[count++],
                                         group->op.child[0], ALM_MORSEL_ROWS, &end));
        ALM_TRY(group_hash_merge_round(cx, group, count));
        if (!end && alm_group_tight(cx, group)) {
            free_rounds(group);
            ALM_TRY(spill_rows(cx, group, &group->own, 0, group->op.child[0]));
            return alm_group_spill_end(cx, group);
        }
    }
    return ALM_OK;
}

static alm_status read_morsels(alm_ctx *cx, alm_group *group)
{
    const uint32_t morsels = alm_pipe_morsels(group->pipe);
    for (uint32_t lo = 0; lo < morsels;) {
        const uint32_t most = alm_group_round_morsels(group), n = ALM_MIN(most, morsels - lo);
        trim_rounds(cx, group, most);
        group->round_lo = lo;
        ALM_TRY(alm_pipe_run(cx, group->pipe, lo, lo + n, group_hash_take_morsel, group));
        ALM_TRY(group_hash_merge_round(cx, group, n));
        lo += n;
        if (lo < morsels && alm_group_tight(cx, group)) {
            free_rounds(group);
            ALM_TRY(alm_pipe_run(cx, group->pipe, lo, morsels, spill_morsel, group));
            return alm_group_spill_end(cx, group);
        }
    }
    return ALM_OK;
}

static bool text_lasts(const alm_group *group, const alm_expr *expr)
{
    alm_origin from;
    return !alm_has_views(expr->type) || alm_origin_of(group->op.plan->child[0], expr, &from);
}

/* Stored texts live as long as the snapshot. */
static bool texts_last(const alm_group *group)
{
    bool all = alm_pipe_parallel(group->pipe);
    for (uint32_t key = 0; key < group->n_keys; key++)
        all &= text_lasts(group, group->keys[key]);
    for (uint32_t i = 0; i < group->own.aggs->n_states; i++)
        for (uint32_t arg = 0; arg < group->own.aggs->state[i].call->n_args; arg++)
            all &= text_lasts(group, group->own.aggs->state[i].call->args[arg]);
    return all;
}

/* May rows go into blocks? Symbols must keep their dictionary, which those of a scan do. */
static alm_status group_hash_choose(alm_ctx *cx, alm_group *group)
{
    alm_origin from;
    const alm_plan *input = group->op.plan->child[0];
    group->raw_fits = true;
    for (uint32_t key = 0; key < group->n_keys; key++)
        if (group->keys[key]->type.id == ALM_T_SYMBOL)
            group->raw_fits &= alm_pipe_parallel(group->pipe);
    for (uint32_t i = 0; i < group->own.aggs->n_states; i++) {
        const alm_agg_call *call = group->own.aggs->state[i].call;
        for (uint32_t arg = 0; arg < call->n_args; arg++)
            if (call->args[arg]->type.id == ALM_T_SYMBOL && (call->fn->flags & ALM_FN_SYMBOLS))
                group->raw_fits &=
                    alm_origin_of(input, call->args[arg], &from) && from.column->dict != NULL;
    }
    ALM_TRY(alm_group_block_shape(cx, group->own.aggs, &group->shape));
    group->shape.texts_last = texts_last(group);
    return ALM_OK;
}

alm_status alm_group_hash(alm_ctx *cx, alm_group *group)
{
    ALM_TRY(group_hash_choose(cx, group));
    ALM_TRY(ALM_NEWN(cx, cx->arena, 1, &group->table));
    table_init(&group->table[0], cx->mem);
    group->n_tables = 1;
    ALM_TRY(alm_group_table_ready(cx, group, group->own.aggs, &group->table[0]));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_GROUP_ROUND, &group->round));
    for (uint32_t m = 0; m < ALM_GROUP_ROUND; m++) {
        table_init(&group->round[m], cx->mem);
        group->round[m].shape = group->shape;
    }
    ALM_TRY(alm_pipe_parallel(group->pipe) ? read_morsels(cx, group) : read_child(cx, group));
    free_rounds(group);
    return ALM_OK;
}

void alm_group_hash_close(alm_group *group)
{
    free_rounds(group);
    for (uint32_t table = 0; group->table != NULL && table < group->n_tables; table++)
        alm_pool_deinit(&group->table[table].pool);
}
