/*
 * spill.c - GROUP BY over its memory: the rest of the input goes to temporary files.
 *
 * When the result tables hold half of what the statement may use, no more groups are made: rows (keys,
 * arguments and conditions, as evaluated) are written to runs by the top bits of the hash of their keys,
 * the partition of the result table they belong to. A reader of the groups then completes one table at
 * a time: first the states it has, then its rows in the order of the input, and frees it when its groups
 * are given out. So a file costs each row one write and one read, and memory is that of the tables at
 * the start plus one partition of the rest per thread.
 *
 * Order       Batches carry the number of their morsel; runs of several threads are merged by it.
 */
#include "storage/spill/spill.h"
#include "exec/group/group.h"
#include "exec/run/scan_plan.h"

enum { BLOCK_BYTES = 32 * 1024, ROUND_BYTES = 256 << 20 };

bool alm_group_tight(const alm_ctx *cx, const alm_group *group)
{
    int64_t limit = 0;
    const int64_t room = alm_pool_room(&group->own.pool, &limit);
    return room != INT64_MAX && room < limit / 2 && group->n_tables > 1 && group->raw_fits &&
           alm_spill_allowed(cx, group->op.run->env.spill);
}

uint32_t alm_group_round_morsels(const alm_group *group)
{
    int64_t limit = 0;
    const int64_t room = alm_pool_room(&group->own.pool, &limit);
    int64_t morsel = (int64_t)ALM_MORSEL_ROWS * 16 * (2 + group->own.aggs->n_vecs);
    for (uint32_t m = 0; m < ALM_GROUP_ROUND; m++) /* long texts: what morsels took so far */
        morsel = ALM_MAX(morsel, group->round[m].pool.bytes);
    const int64_t most = ALM_MIN(room / 4, (int64_t)ROUND_BYTES) / morsel;
    return (uint32_t)ALM_MIN(ALM_MAX(most, INT64_C(1)), (int64_t)ALM_GROUP_ROUND);
}

/* ----------------------------------------------------------------------------------- writing */

static alm_status open_files(alm_ctx *cx, alm_group *group, alm_group_slot *slot)
{
    alm_type *types = NULL;
    if (slot->spill != NULL)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, cx->arena, group->n_keys + 1, &types));
    for (uint32_t key = 0; key < group->n_keys; key++)
        types[key] = group->keys[key]->type;
    ALM_TRY(alm_keymap_new(cx, &slot->pool, types, group->n_keys, &slot->form));
    ALM_TRY(alm_spill_new(cx, group->op.run->env.spill, slot->aggs->n_vecs + 1, "group by",
                          &slot->spill));
    alm_spill_block_bytes(slot->spill, BLOCK_BYTES);
    for (uint32_t part = 0; part < ALM_GROUP_PARTS; part++) {
        uint32_t run = 0;
        ALM_TRY(alm_spill_run(cx, slot->spill, &run));
        ALM_ASSERT(run == part);
    }
    return ALM_OK;
}

/* The keys must hash as those of the result tables do. */
static alm_status check_form(alm_ctx *cx, const alm_group *group, const alm_keymap *form)
{
    for (uint32_t table = 0; table < group->n_tables; table++) {
        const alm_keymap *map = group->table[table].map;
        if (map != NULL && alm_keymap_count(map) > 0)
            return alm_keymap_same_form(form, map)
                       ? ALM_OK
                       : alm_fail(cx, ALM_E_INTERNAL, -1, "a symbol key changed its dictionary");
    }
    return ALM_OK;
}

/* Row numbers by partition: those of partition are order[start[partition]..start[partition + 1]). */
static alm_status deal_rows(alm_ctx *cx, alm_group_slot *slot, uint32_t n, uint32_t *start,
                            uint32_t **order)
{
    uint64_t *rows = NULL, *hash = NULL;
    uint32_t at[ALM_GROUP_PARTS] = {0}, sum = 0;
    const size_t row_bytes = (size_t)alm_keymap_words(slot->form) * 8;
    ALM_TRY(alm_arena_bytes(cx, &slot->scratch, n * row_bytes + 8, &rows));
    ALM_TRY(alm_arena_bytes(cx, &slot->scratch, (size_t)n * 8 + 8, &hash));
    ALM_TRY(alm_arena_bytes(cx, &slot->scratch, (size_t)n * 4 + 4, order));
    alm_keymap_pack_batch(slot->form, slot->aggs->vec, n, rows, hash);
    for (uint32_t i = 0; i < n; i++)
        at[hash[i] >> ALM_GROUP_PART_SHIFT]++;
    for (uint32_t partition = 0; partition < ALM_GROUP_PARTS; partition++) {
        start[partition] = sum;
        sum += at[partition];
        at[partition] = start[partition];
    }
    start[ALM_GROUP_PARTS] = sum;
    for (uint32_t i = 0; i < n; i++)
        (*order)[at[hash[i] >> ALM_GROUP_PART_SHIFT]++] = i;
    return ALM_OK;
}

alm_status alm_group_spill_batch(alm_ctx *cx, alm_group *group, alm_group_slot *slot,
                                 uint32_t morsel, uint32_t n)
{
    uint32_t start[ALM_GROUP_PARTS + 1], *order = NULL;
    alm_vec *piece = NULL;
    int64_t number = morsel;
    const uint32_t n_vecs = slot->aggs->n_vecs;
    ALM_TRY(open_files(cx, group, slot));
    ALM_TRY(alm_keymap_settle(cx, slot->form, slot->aggs->vec));
    ALM_TRY(check_form(cx, group, slot->form));
    ALM_TRY(deal_rows(cx, slot, n, start, &order));
    ALM_TRY(ALM_NEWN(cx, &slot->scratch, n_vecs + 1, &piece));
    for (uint32_t part = 0; part < ALM_GROUP_PARTS; part++) {
        const uint32_t m = start[part + 1] - start[part];
        if (m == 0)
            continue;
        for (uint32_t vec = 0; vec < n_vecs; vec++) {
            const alm_vec *v = &slot->aggs->vec[vec];
            if (v->is_const)
                piece[vec] = *v;
            else
                ALM_TRY(alm_vec_gather(cx, &slot->scratch, v, order + start[part], m, &piece[vec]));
        }
        piece[n_vecs] =
            (alm_vec){.type = ALM_TY(LONG), .width = 8, .is_const = true, .data = &number};
        ALM_TRY(alm_spill_append(cx, slot->spill, part, piece, m));
    }
    return ALM_OK;
}

static alm_status end_files(alm_ctx *cx, alm_group *group, alm_group_slot *slot)
{
    if (slot->spill == NULL)
        return ALM_OK;
    for (uint32_t part = 0; part < ALM_GROUP_PARTS; part++)
        ALM_TRY(alm_spill_end(cx, slot->spill, part));
    alm_op_count_bytes(group->op.run, group->op.plan, alm_spill_bytes(slot->spill));
    return ALM_OK;
}

alm_status alm_group_spill_end(alm_ctx *cx, alm_group *group)
{
    ALM_TRY(end_files(cx, group, &group->own));
    for (uint32_t i = 0; i < group->n_slots; i++)
        ALM_TRY(end_files(cx, group, &group->slot[i]));
    group->spilled = true;
    return ALM_OK;
}

/* ----------------------------------------------------------------------------------- reading */

typedef struct spill_in {
    alm_spill_reader *reader;
    alm_batch *in; /* NULL: it has ended */
    int64_t morsel;
} spill_in;

static alm_status group_spill_advance(alm_ctx *cx, spill_in *in)
{
    ALM_TRY(alm_spill_read(cx, in->reader, &in->in));
    if (in->in != NULL)
        memcpy(&in->morsel, in->in->cols[in->in->n_cols - 1].data, sizeof in->morsel);
    return ALM_OK;
}

static alm_status group_spill_take_batch(alm_ctx *cx, alm_aggs *aggs, alm_group_table *table,
                                         const alm_batch *batch, uint32_t *number)
{
    memcpy(aggs->vec, batch->cols, aggs->n_vecs * sizeof *aggs->vec);
    aggs->rows = batch->rows;
    ALM_TRY(alm_keymap_add(cx, table->map, aggs->vec, batch->rows, number));
    ALM_TRY(
        alm_states_reserve(cx, aggs, &table->states, &table->pool, alm_keymap_count(table->map)));
    return alm_aggs_scatter(cx, aggs, &table->states, number, 0, batch->rows);
}

static alm_status open_in(alm_ctx *cx, const alm_group_slot *slot, uint32_t p, spill_in *in,
                          uint32_t *n)
{
    if (slot->spill == NULL || alm_spill_rows(slot->spill, p) == 0)
        return ALM_OK;
    ALM_TRY(alm_spill_reader_new(cx, slot->spill, p, &in[*n].reader));
    (*n)++;
    return group_spill_advance(cx, &in[*n - 1]);
}

static alm_status group_spill_read_all(alm_ctx *cx, const alm_group *group, alm_aggs *aggs,
                                       uint32_t p, uint32_t *number, spill_in *in, uint32_t *n)
{
    ALM_TRY(open_in(cx, &group->own, p, in, n));
    for (uint32_t i = 0; i < group->n_slots; i++)
        ALM_TRY(open_in(cx, &group->slot[i], p, in, n));
    for (;;) {
        spill_in *first = NULL;
        for (uint32_t i = 0; i < *n; i++)
            if (in[i].in != NULL && (first == NULL || in[i].morsel < first->morsel))
                first = &in[i];
        if (first == NULL)
            return ALM_OK;
        ALM_TRY(alm_check(cx));
        ALM_TRY(group_spill_take_batch(cx, aggs, &group->table[p], first->in, number));
        ALM_TRY(group_spill_advance(cx, first));
    }
}

alm_status alm_group_spill_load(alm_ctx *cx, const alm_group *group, alm_aggs *aggs, uint32_t p,
                                uint32_t *number)
{
    spill_in *in = NULL;
    uint32_t n = 0;
    ALM_TRY(ALM_NEWN(cx, cx->arena, (size_t)group->n_slots + 1, &in));
    ALM_TRY(alm_group_table_ready(cx, group, aggs, &group->table[p]));
    const alm_status status = group_spill_read_all(cx, group, aggs, p, number, in, &n);
    for (uint32_t i = 0; i < n; i++)
        alm_spill_reader_free(in[i].reader);
    return status;
}
