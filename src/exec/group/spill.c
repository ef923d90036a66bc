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

bool alm_group_tight(const alm_ctx *cx, const alm_group *g)
{
    int64_t limit = 0;
    const int64_t room = alm_pool_room(&g->own.pool, &limit);
    return room != INT64_MAX && room < limit / 2 && g->n_tables > 1 && g->raw_fits &&
           alm_spill_allowed(cx, g->op.run->env.spill);
}

uint32_t alm_group_round_morsels(const alm_group *g)
{
    int64_t limit = 0;
    const int64_t room = alm_pool_room(&g->own.pool, &limit);
    int64_t morsel = (int64_t)ALM_MORSEL_ROWS * 16 * (2 + g->own.aggs->n_vecs);
    for (uint32_t m = 0; m < ALM_GROUP_ROUND; m++) /* long texts: what morsels took so far */
        morsel = ALM_MAX(morsel, g->round[m].pool.bytes);
    const int64_t most = ALM_MIN(room / 4, (int64_t)ROUND_BYTES) / morsel;
    return (uint32_t)ALM_MIN(ALM_MAX(most, INT64_C(1)), (int64_t)ALM_GROUP_ROUND);
}

/* ----------------------------------------------------------------------------------- writing */

static alm_status open_files(alm_ctx *cx, alm_group *g, alm_group_slot *s)
{
    alm_type *types = NULL;
    if (s->spill != NULL)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, cx->arena, g->n_keys + 1, &types));
    for (uint32_t k = 0; k < g->n_keys; k++)
        types[k] = g->keys[k]->type;
    ALM_TRY(alm_keymap_new(cx, &s->pool, types, g->n_keys, &s->form));
    ALM_TRY(alm_spill_new(cx, g->op.run->env.spill, s->aggs->n_vecs + 1, "group by", &s->spill));
    alm_spill_block_bytes(s->spill, BLOCK_BYTES);
    for (uint32_t p = 0; p < ALM_GROUP_PARTS; p++) {
        uint32_t run = 0;
        ALM_TRY(alm_spill_run(cx, s->spill, &run));
        ALM_ASSERT(run == p);
    }
    return ALM_OK;
}

/* The keys must hash as those of the result tables do. */
static alm_status check_form(alm_ctx *cx, const alm_group *g, const alm_keymap *form)
{
    for (uint32_t t = 0; t < g->n_tables; t++) {
        const alm_keymap *map = g->table[t].map;
        if (map != NULL && alm_keymap_count(map) > 0)
            return alm_keymap_same_form(form, map)
                       ? ALM_OK
                       : alm_fail(cx, ALM_E_INTERNAL, -1, "a symbol key changed its dictionary");
    }
    return ALM_OK;
}

/* Row numbers by partition: those of p are order[start[p]..start[p + 1]). */
static alm_status deal_rows(alm_ctx *cx, alm_group_slot *s, uint32_t n, uint32_t *start,
                            uint32_t **order)
{
    uint64_t *rows = NULL, *hash = NULL;
    uint32_t at[ALM_GROUP_PARTS] = {0}, sum = 0;
    const size_t row_bytes = (size_t)alm_keymap_words(s->form) * 8;
    ALM_TRY(alm_arena_bytes(cx, &s->scratch, n * row_bytes + 8, &rows));
    ALM_TRY(alm_arena_bytes(cx, &s->scratch, (size_t)n * 8 + 8, &hash));
    ALM_TRY(alm_arena_bytes(cx, &s->scratch, (size_t)n * 4 + 4, order));
    alm_keymap_pack_batch(s->form, s->aggs->vec, n, rows, hash);
    for (uint32_t i = 0; i < n; i++)
        at[hash[i] >> ALM_GROUP_PART_SHIFT]++;
    for (uint32_t p = 0; p < ALM_GROUP_PARTS; p++) {
        start[p] = sum;
        sum += at[p];
        at[p] = start[p];
    }
    start[ALM_GROUP_PARTS] = sum;
    for (uint32_t i = 0; i < n; i++)
        (*order)[at[hash[i] >> ALM_GROUP_PART_SHIFT]++] = i;
    return ALM_OK;
}

alm_status alm_group_spill_batch(alm_ctx *cx, alm_group *g, alm_group_slot *s, uint32_t morsel,
                                 uint32_t n)
{
    uint32_t start[ALM_GROUP_PARTS + 1], *order = NULL;
    alm_vec *piece = NULL;
    int64_t number = morsel;
    const uint32_t n_vecs = s->aggs->n_vecs;
    ALM_TRY(open_files(cx, g, s));
    ALM_TRY(alm_keymap_settle(cx, s->form, s->aggs->vec));
    ALM_TRY(check_form(cx, g, s->form));
    ALM_TRY(deal_rows(cx, s, n, start, &order));
    ALM_TRY(ALM_NEWN(cx, &s->scratch, n_vecs + 1, &piece));
    for (uint32_t p = 0; p < ALM_GROUP_PARTS; p++) {
        const uint32_t m = start[p + 1] - start[p];
        if (m == 0)
            continue;
        for (uint32_t c = 0; c < n_vecs; c++) {
            const alm_vec *v = &s->aggs->vec[c];
            if (v->is_const)
                piece[c] = *v;
            else
                ALM_TRY(alm_vec_gather(cx, &s->scratch, v, order + start[p], m, &piece[c]));
        }
        piece[n_vecs] =
            (alm_vec){.type = ALM_TY(LONG), .width = 8, .is_const = true, .data = &number};
        ALM_TRY(alm_spill_append(cx, s->spill, p, piece, m));
    }
    return ALM_OK;
}

static alm_status end_files(alm_ctx *cx, alm_group *g, alm_group_slot *s)
{
    if (s->spill == NULL)
        return ALM_OK;
    for (uint32_t p = 0; p < ALM_GROUP_PARTS; p++)
        ALM_TRY(alm_spill_end(cx, s->spill, p));
    alm_op_count_bytes(g->op.run, g->op.plan, alm_spill_bytes(s->spill));
    return ALM_OK;
}

alm_status alm_group_spill_end(alm_ctx *cx, alm_group *g)
{
    ALM_TRY(end_files(cx, g, &g->own));
    for (uint32_t i = 0; i < g->n_slots; i++)
        ALM_TRY(end_files(cx, g, &g->slot[i]));
    g->spilled = true;
    return ALM_OK;
}

/* ----------------------------------------------------------------------------------- reading */

typedef struct spill_in {
    alm_spill_reader *reader;
    alm_batch *in; /* NULL: it has ended */
    int64_t morsel;
} spill_in;

static alm_status advance(alm_ctx *cx, spill_in *in)
{
    ALM_TRY(alm_spill_read(cx, in->reader, &in->in));
    if (in->in != NULL)
        memcpy(&in->morsel, in->in->cols[in->in->n_cols - 1].data, sizeof in->morsel);
    return ALM_OK;
}

static alm_status take_batch(alm_ctx *cx, alm_aggs *aggs, alm_group_table *t, const alm_batch *in,
                             uint32_t *number)
{
    memcpy(aggs->vec, in->cols, aggs->n_vecs * sizeof *aggs->vec);
    aggs->rows = in->rows;
    ALM_TRY(alm_keymap_add(cx, t->map, aggs->vec, in->rows, number));
    ALM_TRY(alm_states_reserve(cx, aggs, &t->states, &t->pool, alm_keymap_count(t->map)));
    return alm_aggs_scatter(cx, aggs, &t->states, number, 0, in->rows);
}

static alm_status open_in(alm_ctx *cx, const alm_group_slot *s, uint32_t p, spill_in *in,
                          uint32_t *n)
{
    if (s->spill == NULL || alm_spill_rows(s->spill, p) == 0)
        return ALM_OK;
    ALM_TRY(alm_spill_reader_new(cx, s->spill, p, &in[*n].reader));
    (*n)++;
    return advance(cx, &in[*n - 1]);
}

static alm_status read_all(alm_ctx *cx, const alm_group *g, alm_aggs *aggs, uint32_t p,
                           uint32_t *number, spill_in *in, uint32_t *n)
{
    ALM_TRY(open_in(cx, &g->own, p, in, n));
    for (uint32_t i = 0; i < g->n_slots; i++)
        ALM_TRY(open_in(cx, &g->slot[i], p, in, n));
    for (;;) {
        spill_in *first = NULL;
        for (uint32_t i = 0; i < *n; i++)
            if (in[i].in != NULL && (first == NULL || in[i].morsel < first->morsel))
                first = &in[i];
        if (first == NULL)
            return ALM_OK;
        ALM_TRY(alm_check(cx));
        ALM_TRY(take_batch(cx, aggs, &g->table[p], first->in, number));
        ALM_TRY(advance(cx, first));
    }
}

alm_status alm_group_spill_load(alm_ctx *cx, const alm_group *g, alm_aggs *aggs, uint32_t p,
                                uint32_t *number)
{
    spill_in *in = NULL;
    uint32_t n = 0;
    ALM_TRY(ALM_NEWN(cx, cx->arena, (size_t)g->n_slots + 1, &in));
    ALM_TRY(alm_group_table_ready(cx, g, aggs, &g->table[p]));
    const alm_status st = read_all(cx, g, aggs, p, number, in, &n);
    for (uint32_t i = 0; i < n; i++)
        alm_spill_reader_free(in[i].reader);
    return st;
}
