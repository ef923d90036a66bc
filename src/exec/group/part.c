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

static uint32_t tables_of(const alm_group *g)
{
    return g->way == ALM_GROUP_HASH ? g->n_tables : 1;
}

static uint32_t groups_of(const alm_group *g, uint32_t table)
{
    if (g->way == ALM_GROUP_PLAIN)
        return 1;
    if (g->way == ALM_GROUP_DIRECT)
        return g->n_present;
    return g->table[table].map == NULL ? 0 : alm_keymap_count(g->table[table].map);
}

uint32_t alm_group_parts(const alm_op *group)
{
    const alm_group *g = (const alm_group *)group;
    uint32_t n = 0;
    if (g->spilled)
        return g->n_tables;
    for (uint32_t t = 0; t < tables_of(g); t++)
        n += (groups_of(g, t) + PART_ROWS - 1) / PART_ROWS;
    return n;
}

int64_t alm_group_rows(const alm_op *group)
{
    const alm_group *g = (const alm_group *)group;
    int64_t n = 0;
    if (g->spilled)
        return -1;
    for (uint32_t t = 0; t < tables_of(g); t++)
        n += groups_of(g, t);
    return n;
}

/* The table whose groups were given out goes; what its new states pointed to, too. */
static void drop_table(group_part *p)
{
    if (p->loaded) {
        alm_group_table *t = &p->g->table[p->table];
        alm_pool_deinit(&t->pool);
        t->map = NULL;
        t->states = (alm_states){0};
        alm_arena_reset(&p->lasting);
    }
    p->loaded = false;
}

static alm_status load_table(alm_ctx *cx, group_part *p, uint32_t part)
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
    for (uint32_t t = 0; t < tables_of(p->g); t++) {
        const uint32_t groups = groups_of(p->g, t), parts = (groups + PART_ROWS - 1) / PART_ROWS;
        if (part < parts) {
            p->table = t;
            p->at = part * PART_ROWS;
            p->end = ALM_MIN(groups, p->at + PART_ROWS);
            return;
        }
        part -= parts;
    }
}

static alm_status emit(alm_ctx *cx, group_part *p, uint32_t n)
{
    const alm_group *g = p->g;
    const alm_states *states = g->way == ALM_GROUP_HASH ? &g->table[p->table].states : &g->states;
    for (uint32_t k = 0; k < g->n_keys; k++) {
        alm_vec *out = &p->op.out.cols[k];
        if (g->way == ALM_GROUP_DIRECT)
            ALM_TRY(alm_group_direct_key(cx, g, &p->op.batch, k, g->present + p->at, n, out));
        else
            ALM_TRY(alm_keymap_values(cx, g->table[p->table].map, &p->op.batch, k, p->at, NULL, n,
                                      out));
    }
    for (uint32_t i = 0; i < g->op.plan->group.n_aggs; i++)
        ALM_TRY(alm_aggs_finish(cx, p->aggs, states, i, p->at, n, &p->op.batch,
                                &p->op.out.cols[g->n_keys + i]));
    p->op.out.rows = n;
    return ALM_OK;
}

static alm_status part_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    group_part *p = (group_part *)op;
    *out = NULL;
    alm_arena_reset(&op->batch);
    while (p->at == p->end && p->part < p->part_end) {
        if (p->g->spilled)
            ALM_TRY(load_table(cx, p, p->part++));
        else
            choose_part(p, p->part++);
    }
    const uint32_t n = ALM_MIN((uint32_t)ALM_BATCH_ROWS, p->end - p->at);
    if (n == 0)
        return ALM_OK;
    ALM_TRY(emit(cx, p, n));
    p->at += n;
    *out = &op->out;
    return ALM_OK;
}

static alm_status part_start(alm_ctx *cx, alm_op *op, uint32_t morsel)
{
    group_part *p = (group_part *)op;
    (void)cx;
    p->at = p->end = 0;
    p->part = morsel;
    p->part_end = morsel + 1;
    return ALM_OK;
}

static void part_close(alm_op *op)
{
    group_part *p = (group_part *)op;
    drop_table(p);
    alm_aggs_free(p->aggs);
    alm_arena_deinit(&p->lasting);
}

static const alm_op_vt part_vt = {
    .name = "groups", .next = part_next, .start = part_start, .close = part_close};

alm_status alm_group_part_new(alm_ctx *cx, alm_run *run, const alm_op *group, alm_pipe *pipe,
                              alm_op **out)
{
    group_part *p = NULL;
    const alm_group *g = (const alm_group *)group;
    ALM_TRY(ALM_NEW(cx, cx->arena, &p));
    ALM_TRY(alm_op_init(cx, &p->op, &part_vt, run, g->op.plan, pipe));
    *out = &p->op;
    p->g = g;
    p->part_end = pipe == NULL ? alm_group_parts(group) : 0;
    alm_arena_init(&p->lasting, cx->mem);
    return alm_aggs_new(cx, g->keys, g->n_keys, g->op.plan->group.aggs, g->op.plan->group.n_aggs,
                        &p->lasting, &p->aggs);
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
