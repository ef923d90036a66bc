/*
 * part.c - see part.h.
 *
 * A group that was found by hash is in one of up to 64 tables, each is cut into parts; groups by code are
 * in one list. A reader finishes states with a program of its own, the states are read only.
 */
#include "exec/group/part.h"

#include "exec/group/branch.h"
#include "exec/group/group.h"
#include "exec/run/op_make.h"

enum { PART_ROWS = 16 * ALM_BATCH_ROWS };

typedef struct group_part {
    alm_op op;
    const alm_group *g;
    alm_aggs *aggs;
    alm_arena lasting;
    uint32_t part, part_end; /* parts to come */
    uint32_t table, at, end; /* groups left of the part at hand */
    uint32_t *number;        /* spilled: the part is its table, completed here and freed after it */
    bool loaded;
} group_part;

static uint32_t tables_of(const alm_group *group)
{
    return group->way == ALM_GROUP_HASH ? group->n_tables : 1;
}

static uint32_t groups_of(const alm_group *group, uint32_t table)
{
    if (group->way == ALM_GROUP_PLAIN)
        return 1;
    if (group->way == ALM_GROUP_DIRECT)
        return group->n_present;
    return group->table[table].map == NULL ? 0 : alm_keymap_count(group->table[table].map);
}

uint32_t alm_group_parts(const alm_op *group)
{
    const alm_group *g = (const alm_group *)group;
    uint32_t count = 0;
    if (g->spilled)
        return g->n_tables;
    for (uint32_t table = 0; table < tables_of(g); table++)
        count += (groups_of(g, table) + PART_ROWS - 1) / PART_ROWS;
    return count;
}

int64_t alm_group_rows(const alm_op *group)
{
    const alm_group *g = (const alm_group *)group;
    int64_t count = 0;
    if (g->spilled)
        return -1;
    for (uint32_t table = 0; table < tables_of(g); table++)
        count += groups_of(g, table);
    return count;
}

/* The table whose groups were given out goes; what its new states pointed to, too. */
static void drop_table(group_part *part)
{
    if (part->loaded) {
        alm_group_table *table = &part->g->table[part->table];
        alm_pool_deinit(&table->pool);
        table->map = NULL;
        table->states = (alm_states){0};
        alm_arena_reset(&part->lasting);
    }
    part->loaded = false;
}

static alm_status part_load_table(alm_ctx *cx, group_part *p, uint32_t part)
{
    drop_table(p);
    if (p->number == NULL)
        ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &p->number));
    p->table = part;
    p->loaded = true;
    ALM_TRY(alm_group_spill_load(cx, p->g, p->aggs, part, p->number));
    p->at = 0;
    p->end = groups_of(p->g, part);
    return ALM_OK;
}

/* The groups of part `part`. */
static void choose_part(group_part *p, uint32_t part)
{
    p->at = p->end = 0;
    for (uint32_t table = 0; table < tables_of(p->g); table++) {
        const uint32_t groups = groups_of(p->g, table),
                       parts = (groups + PART_ROWS - 1) / PART_ROWS;
        if (part < parts) {
            p->table = table;
            p->at = part * PART_ROWS;
            p->end = ALM_MIN(groups, p->at + PART_ROWS);
            return;
        }
        part -= parts;
    }
}

static alm_status part_emit(alm_ctx *cx, group_part *part, uint32_t n)
{
    const alm_group *group = part->g;
    const alm_states *states =
        group->way == ALM_GROUP_HASH ? &group->table[part->table].states : &group->states;
    for (uint32_t key = 0; key < group->n_keys; key++) {
        alm_vec *out = &part->op.out.cols[key];
        if (group->way == ALM_GROUP_DIRECT)
            ALM_TRY(alm_group_direct_key(cx, group, &part->op.batch, key, group->present + part->at,
                                         n, out));
        else
            ALM_TRY(alm_keymap_values(cx, group->table[part->table].map, &part->op.batch, key,
                                      part->at, NULL, n, out));
    }
    for (uint32_t i = 0; i < group->op.plan->group.n_aggs; i++)
        ALM_TRY(alm_aggs_finish(cx, part->aggs, states, i, part->at, n, &part->op.batch,
                                &part->op.out.cols[group->n_keys + i]));
    part->op.out.rows = n;
    return ALM_OK;
}

static alm_status part_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    group_part *part = (group_part *)op;
    *out = NULL;
    alm_arena_reset(&op->batch);
    while (part->at == part->end && part->part < part->part_end) {
        if (part->g->spilled)
            ALM_TRY(part_load_table(cx, part, part->part++));
        else
            choose_part(part, part->part++);
    }
    const uint32_t n_rows = ALM_MIN((uint32_t)ALM_BATCH_ROWS, part->end - part->at);
    if (n_rows == 0)
        return ALM_OK;
    ALM_TRY(part_emit(cx, part, n_rows));
    part->at += n_rows;
    *out = &op->out;
    return ALM_OK;
}

static alm_status part_start(alm_ctx *cx, alm_op *op, uint32_t morsel)
{
    group_part *part = (group_part *)op;
    (void)cx;
    part->at = part->end = 0;
    part->part = morsel;
    part->part_end = morsel + 1;
    return ALM_OK;
}

static void part_close(alm_op *op)
{
    group_part *part = (group_part *)op;
    drop_table(part);
    alm_aggs_free(part->aggs);
    alm_arena_deinit(&part->lasting);
}

static const alm_op_vt part_vt = {
    .name = "groups", .next = part_next, .start = part_start, .close = part_close};

alm_status alm_group_part_new(alm_ctx *cx, alm_run *run, const alm_op *group, alm_pipe *pipe,
                              alm_op **out)
{
    group_part *part = NULL;
    const alm_group *g = (const alm_group *)group;
    ALM_TRY(ALM_NEW(cx, cx->arena, &part));
    ALM_TRY(alm_op_init(cx, &part->op, &part_vt, run, g->op.plan, pipe));
    *out = &part->op;
    part->g = g;
    part->part_end = pipe == NULL ? alm_group_parts(group) : 0;
    alm_arena_init(&part->lasting, cx->mem);
    return alm_aggs_new(cx, g->keys, g->n_keys, g->op.plan->group.aggs, g->op.plan->group.n_aggs,
                        &part->lasting, &part->aggs);
}

alm_status alm_group_run(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_op **out)
{
    ALM_TRY(alm_op_group_make(cx, run, plan, NULL, out));
    return alm_group_read(cx, (alm_group *)*out);
}

/* ---------------------------------------------------------------------- for pipelines */

static bool group_applies(const alm_run *run, const alm_plan *plan)
{
    return plan->group.n_keys > 0 && !alm_group_branches(run, plan);
}

const alm_op_parts alm_group_result = {.applies = group_applies,
                                       .complete = alm_group_run,
                                       .count = alm_group_parts,
                                       .rows = alm_group_rows};
