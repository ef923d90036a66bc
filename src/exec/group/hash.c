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

static void table_init(alm_group_table *t, alm_mem *mem)
{
    *t = (alm_group_table){0};
    alm_pool_init(&t->pool, mem, "group by");
}

alm_status alm_group_table_ready(alm_ctx *cx, const alm_group *g, alm_aggs *aggs,
                                 alm_group_table *t)
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
    alm_group_block_clear(&t->blocks);
}

/* ----------------------------------------------------------------------------------- morsels */

static alm_status group_batch(alm_ctx *cx, alm_group_slot *s, alm_group_table *t, uint32_t n)
{
    ALM_TRY(alm_keymap_add(cx, t->map, s->aggs->vec, n, s->number));
    ALM_TRY(alm_states_reserve(cx, s->aggs, &t->states, &t->pool, alm_keymap_count(t->map)));
    return alm_aggs_scatter(cx, s->aggs, &t->states, s->number, 0, n);
}

/* The batch as it is, into blocks. */
static alm_status keep_batch(alm_ctx *cx, alm_group_slot *s, alm_group_table *t, uint32_t n)
{
    ALM_TRY(alm_keymap_settle(cx, t->map, s->aggs->vec));
    return alm_group_block_add(cx, &t->shape, s->aggs, t->map, n, &s->pending, &t->pool,
                               &t->blocks);
}

/* Rows of the input into a table until `limit` rows are taken or there are no more (*end). */
static alm_status take_rows(alm_ctx *cx, alm_group *g, alm_group_slot *s, alm_group_table *t,
                            alm_op *input, uint64_t limit, bool *end)
{
    uint64_t rows = 0;
    ALM_TRY(alm_group_table_ready(cx, g, s->aggs, t));
    table_clear(t);
    t->raw = g->raw_first;
    while (rows < limit && !*end) {
        alm_batch *in = NULL;
        ALM_TRY(alm_op_next(cx, input, &in));
        *end = in == NULL;
        if (in == NULL)
            break;
        alm_arena_reset(&s->scratch);
        ALM_TRY(alm_aggs_eval(cx, s->aggs, &s->scratch, in));
        rows += in->rows;
        if (t->raw) {
            ALM_TRY(keep_batch(cx, s, t, in->rows));
            continue;
        }
        ALM_TRY(group_batch(cx, s, t, in->rows));
        const uint64_t groups = alm_keymap_count(t->map);
        t->raw = g->raw_fits && groups > RAW_MIN && groups * RAW_SHARE > rows;
        if (t->raw && rows == in->rows) { /* the first batch tells: it goes with the others */
            table_clear(t);
            ALM_TRY(keep_batch(cx, s, t, in->rows));
        }
    }
    return t->raw ? alm_group_block_flush(cx, &t->shape, &s->pending, &t->pool, &t->blocks)
                  : ALM_OK;
}

static alm_status take_morsel(alm_ctx *cx, void *arg, uint32_t slot, uint32_t morsel, alm_op *input)
{
    alm_group *g = arg;
    bool end = false;
    ALM_TRY(alm_group_slot_ready(cx, g, &g->slot[slot]));
    return take_rows(cx, g, &g->slot[slot], &g->round[morsel - g->round_lo], input, UINT64_MAX,
                     &end);
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

/* The rows collected from blocks of `from` into a result table. */
static alm_status merge_pending(alm_ctx *cx, alm_group_slot *s, alm_group_table *to,
                                const alm_group_table *from)
{
    alm_block_pending *p = &s->pending;
    if (p->n == 0)
        return ALM_OK;
    ALM_TRY(alm_keymap_add_packed(cx, to->map, from->map, p->row, p->hash, p->n, s->number));
    ALM_TRY(alm_states_reserve(cx, s->aggs, &to->states, &to->pool, alm_keymap_count(to->map)));
    alm_group_block_args(&from->shape, p, s->aggs);
    ALM_TRY(alm_aggs_scatter(cx, s->aggs, &to->states, s->number, 0, p->n));
    p->n = 0;
    return ALM_OK;
}

/* Partition p of the rows of a table's blocks; some may stay pending. */
static alm_status merge_rows(alm_ctx *cx, alm_group_slot *s, alm_group_table *to,
                             const alm_group_table *from, uint32_t p)
{
    const alm_group_block *b = from->blocks.first;
    for (uint32_t i = 0; i < from->blocks.n_used; i++, b = b->next)
        for (uint32_t at = b->start[p]; at < b->start[p + 1];) {
            ALM_TRY(alm_group_block_collect(cx, &from->shape, from->map, b, &at, b->start[p + 1],
                                            &s->pending));
            if (s->pending.n == ALM_BATCH_ROWS)
                ALM_TRY(merge_pending(cx, s, to, from));
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
    alm_group_slot *s = &r->g->slot[slot];
    alm_group_table *to = &r->g->table[p];
    const alm_group_table *rows = NULL; /* whose rows are pending */
    ALM_TRY(alm_group_slot_ready(cx, r->g, s));
    ALM_TRY(alm_group_table_ready(cx, r->g, s->aggs, to));
    if (r->old != NULL)
        ALM_TRY(merge_groups(cx, s->aggs, to, r->old, r->old->start[p], r->old->start[p + 1]));
    for (uint32_t m = 0; m < r->n; m++) {
        const alm_group_table *t = &r->g->round[m];
        ALM_TRY(alm_check(cx));
        if (t->start[p] < t->start[p + 1]) {
            ALM_TRY(merge_pending(cx, s, to, rows)); /* they come before these groups */
            ALM_TRY(merge_groups(cx, s->aggs, to, t, t->start[p], t->start[p + 1]));
        }
        if (t->blocks.n_used > 0) {
            ALM_TRY(merge_rows(cx, s, to, t, p));
            rows = t;
        }
    }
    return merge_pending(cx, s, to, rows);
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
        if (map == NULL || (alm_keymap_count(map) == 0 && (t >= n || g->round[t].blocks.rows == 0)))
            continue;
        if (first != NULL && !alm_keymap_same_form(first, map))
            return false;
        first = map;
    }
    return true;
}

static alm_status merge_round(alm_ctx *cx, alm_group *g, uint32_t n)
{
    uint64_t groups = g->n_tables == 1 ? alm_keymap_count(g->table[0].map) : 0, rows = 0;
    uint32_t raw = 0;
    for (uint32_t m = 0; m < n; m++) {
        groups += alm_keymap_count(g->round[m].map);
        rows += g->round[m].blocks.rows;
        raw += g->round[m].raw;
    }
    g->raw_first = n > 0 && raw == n;
    if (g->n_tables > 1 || rows > 0 || (groups > PARTITION_MIN && one_form(g, n))) {
        if (!one_form(g, n))
            return alm_fail(cx, ALM_E_INTERNAL, -1, "a symbol key changed its dictionary");
        return merge_partitions(cx, g, n);
    }
    for (uint32_t m = 0; m < n; m++)
        ALM_TRY(merge_whole(cx, g, &g->round[m]));
    return ALM_OK;
}

/* --------------------------------------------------------------------------------- the whole */

/* Straight into the result: symbols from anywhere. */
static alm_status take_into_one(alm_ctx *cx, alm_group *g, alm_op *input)
{
    for (;;) {
        alm_batch *in = NULL;
        ALM_TRY(alm_op_next(cx, input, &in));
        if (in == NULL)
            return ALM_OK;
        alm_arena_reset(&g->own.scratch);
        ALM_TRY(alm_aggs_eval(cx, g->own.aggs, &g->own.scratch, in));
        ALM_TRY(group_batch(cx, &g->own, &g->table[0], in->rows));
    }
}

/* Over the memory: rows to files instead of tables. */
static alm_status spill_rows(alm_ctx *cx, alm_group *g, alm_group_slot *s, uint32_t morsel,
                             alm_op *input)
{
    for (;;) {
        alm_batch *in = NULL;
        ALM_TRY(alm_op_next(cx, input, &in));
        if (in == NULL)
            return ALM_OK;
        alm_arena_reset(&s->scratch);
        ALM_TRY(alm_aggs_eval(cx, s->aggs, &s->scratch, in));
        ALM_TRY(alm_group_spill_batch(cx, g, s, morsel, in->rows));
    }
}

static alm_status spill_morsel(alm_ctx *cx, void *arg, uint32_t slot, uint32_t morsel,
                               alm_op *input)
{
    alm_group *g = arg;
    ALM_TRY(alm_group_slot_ready(cx, g, &g->slot[slot]));
    return spill_rows(cx, g, &g->slot[slot], morsel, input);
}

static void free_rounds(alm_group *g)
{
    for (uint32_t m = 0; g->round != NULL && m < ALM_GROUP_ROUND; m++)
        alm_pool_deinit(&g->round[m].pool);
    g->round = NULL;
}

/* Gives back what tables hold that the next round of n morsels does not need. */
static void trim_rounds(alm_ctx *cx, alm_group *g, uint32_t n)
{
    for (uint32_t m = n; m < ALM_GROUP_ROUND; m++) {
        if (g->round[m].pool.bytes == 0)
            continue;
        alm_pool_deinit(&g->round[m].pool);
        table_init(&g->round[m], cx->mem);
        g->round[m].shape = g->shape;
    }
}

/* Input that one thread reads: cut by rows, so that at least the merges are parallel. */
static alm_status read_child(alm_ctx *cx, alm_group *g)
{
    bool end = false;
    ALM_TRY(alm_op_child(cx, &g->op, 0));
    if (!g->raw_fits)
        return take_into_one(cx, g, g->op.child[0]);
    while (!end) {
        const uint32_t most = alm_group_round_morsels(g);
        uint32_t n = 0;
        trim_rounds(cx, g, most);
        while (n < most && !end)
            ALM_TRY(
                take_rows(cx, g, &g->own, &g->round[n++], g->op.child[0], ALM_MORSEL_ROWS, &end));
        ALM_TRY(merge_round(cx, g, n));
        if (!end && alm_group_tight(cx, g)) {
            free_rounds(g);
            ALM_TRY(spill_rows(cx, g, &g->own, 0, g->op.child[0]));
            return alm_group_spill_end(cx, g);
        }
    }
    return ALM_OK;
}

static alm_status read_morsels(alm_ctx *cx, alm_group *g)
{
    const uint32_t morsels = alm_pipe_morsels(g->pipe);
    for (uint32_t lo = 0; lo < morsels;) {
        const uint32_t most = alm_group_round_morsels(g), n = ALM_MIN(most, morsels - lo);
        trim_rounds(cx, g, most);
        g->round_lo = lo;
        ALM_TRY(alm_pipe_run(cx, g->pipe, lo, lo + n, take_morsel, g));
        ALM_TRY(merge_round(cx, g, n));
        lo += n;
        if (lo < morsels && alm_group_tight(cx, g)) {
            free_rounds(g);
            ALM_TRY(alm_pipe_run(cx, g->pipe, lo, morsels, spill_morsel, g));
            return alm_group_spill_end(cx, g);
        }
    }
    return ALM_OK;
}

static bool text_lasts(const alm_group *g, const alm_expr *e)
{
    alm_origin from;
    return !alm_has_views(e->type) || alm_origin_of(g->op.plan->child[0], e, &from);
}

/* Stored texts live as long as the snapshot. */
static bool texts_last(const alm_group *g)
{
    bool all = alm_pipe_parallel(g->pipe);
    for (uint32_t k = 0; k < g->n_keys; k++)
        all &= text_lasts(g, g->keys[k]);
    for (uint32_t i = 0; i < g->own.aggs->n_states; i++)
        for (uint32_t k = 0; k < g->own.aggs->state[i].call->n_args; k++)
            all &= text_lasts(g, g->own.aggs->state[i].call->args[k]);
    return all;
}

/* May rows go into blocks? Symbols must keep their dictionary, which those of a scan do. */
static alm_status choose(alm_ctx *cx, alm_group *g)
{
    alm_origin from;
    const alm_plan *input = g->op.plan->child[0];
    g->raw_fits = true;
    for (uint32_t k = 0; k < g->n_keys; k++)
        if (g->keys[k]->type.id == ALM_T_SYMBOL)
            g->raw_fits &= alm_pipe_parallel(g->pipe);
    for (uint32_t i = 0; i < g->own.aggs->n_states; i++) {
        const alm_agg_call *c = g->own.aggs->state[i].call;
        for (uint32_t k = 0; k < c->n_args; k++)
            if (c->args[k]->type.id == ALM_T_SYMBOL && (c->fn->flags & ALM_FN_SYMBOLS))
                g->raw_fits &= alm_origin_of(input, c->args[k], &from) && from.column->dict != NULL;
    }
    ALM_TRY(alm_group_block_shape(cx, g->own.aggs, &g->shape));
    g->shape.texts_last = texts_last(g);
    return ALM_OK;
}

alm_status alm_group_hash(alm_ctx *cx, alm_group *g)
{
    ALM_TRY(choose(cx, g));
    ALM_TRY(ALM_NEWN(cx, cx->arena, 1, &g->table));
    table_init(&g->table[0], cx->mem);
    g->n_tables = 1;
    ALM_TRY(alm_group_table_ready(cx, g, g->own.aggs, &g->table[0]));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_GROUP_ROUND, &g->round));
    for (uint32_t m = 0; m < ALM_GROUP_ROUND; m++) {
        table_init(&g->round[m], cx->mem);
        g->round[m].shape = g->shape;
    }
    ALM_TRY(alm_pipe_parallel(g->pipe) ? read_morsels(cx, g) : read_child(cx, g));
    free_rounds(g);
    return ALM_OK;
}

void alm_group_hash_close(alm_group *g)
{
    free_rounds(g);
    for (uint32_t t = 0; g->table != NULL && t < g->n_tables; t++)
        alm_pool_deinit(&g->table[t].pool);
}
