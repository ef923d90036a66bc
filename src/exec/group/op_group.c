/*
 * op_group.c - GROUP BY, DISTINCT and aggregates of everything: chooses the way (group.h), runs it,
 * hands out the groups by batch.
 */
#include "exec/group/branch.h"
#include "exec/group/group.h"
#include "exec/group/part.h"
#include "exec/run/op_make.h"
#include "storage/spill/spill.h"

alm_status alm_group_slot_ready(alm_ctx *cx, const alm_group *g, alm_group_slot *s)
{
    if (s->ready)
        return ALM_OK;
    const alm_plan *p = g->op.plan;
    alm_arena_init(&s->lasting, cx->mem);
    alm_arena_init(&s->scratch, cx->mem);
    alm_pool_init(&s->pool, cx->mem, "group by");
    s->pending.pool = &s->pool;
    s->ready = true;
    ALM_TRY(alm_aggs_new(cx, g->keys, g->n_keys, p->group.aggs, p->group.n_aggs, &s->lasting,
                         &s->aggs));
    return ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &s->number);
}

static void slot_close(alm_group_slot *s)
{
    if (!s->ready)
        return;
    alm_aggs_free(s->aggs);
    alm_spill_free(s->spill);
    alm_pool_deinit(&s->pool);
    alm_arena_deinit(&s->lasting);
    alm_arena_deinit(&s->scratch);
}

/* Which groups there are, in order of number. */
static alm_status list_present(alm_ctx *cx, alm_group *g)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_groups; i++)
        n += g->seen[i];
    ALM_TRY(alm_pool_alloc(cx, &g->own.pool, ((size_t)n + 1) * sizeof *g->present, &g->present));
    for (uint32_t i = 0; i < g->n_groups; i++)
        if (g->seen[i])
            g->present[g->n_present++] = i;
    ALM_ASSERT(g->n_present == n);
    alm_states packed = {0}; /* finish takes states side by side */
    ALM_TRY(alm_states_reserve(cx, g->own.aggs, &packed, &g->own.pool, n));
    alm_states_pick(g->own.aggs, &packed, 0, &g->states, g->present, n);
    g->states = packed;
    return ALM_OK;
}

alm_status alm_group_read(alm_ctx *cx, alm_group *g)
{
    ALM_TRY(alm_group_slot_ready(cx, g, &g->own));
    ALM_TRY(alm_pipe_new(cx, g->op.run, g->op.plan->child[0], g->op.plan, &g->pipe));
    g->n_slots = alm_pipe_slots(g->pipe);
    ALM_TRY(ALM_NEWN(cx, cx->arena, g->n_slots, &g->slot));
    bool fits = false;
    g->way = g->n_keys == 0 ? ALM_GROUP_PLAIN : ALM_GROUP_HASH;
    if (g->n_keys > 0)
        ALM_TRY(alm_group_direct_fits(cx, g, &fits));
    if (g->way == ALM_GROUP_PLAIN)
        return alm_group_plain(cx, g);
    if (!fits)
        return alm_group_hash(cx, g);
    g->way = ALM_GROUP_DIRECT;
    ALM_TRY(alm_group_direct(cx, g));
    return list_present(cx, g);
}

static alm_status group_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    alm_group *g = (alm_group *)op;
    if (g->whole == NULL) {
        ALM_TRY(alm_group_read(cx, g));
        ALM_TRY(alm_group_part_new(cx, op->run, op, NULL, &g->whole));
    }
    return g->whole->vt->next(cx, g->whole, out);
}

static void group_close(alm_op *op)
{
    alm_group *g = (alm_group *)op;
    alm_op_close(g->whole);
    alm_group_hash_close(g);
    for (uint32_t i = 0; g->slot != NULL && i < g->n_slots; i++)
        slot_close(&g->slot[i]);
    slot_close(&g->own);
    alm_pipe_free(g->pipe); /* last: the slots live in its arenas */
}

static const alm_op_vt group_vt = {.name = "group by", .next = group_next, .close = group_close};

alm_status alm_op_group_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                             alm_op **out)
{
    alm_group *g = NULL;
    if (pipe != NULL) /* a copy of a chain over groups that are there already */
        return alm_group_part_new(cx, run, alm_pipe_source(pipe), pipe, out);
    if (alm_group_branches(run, plan))
        return alm_group_branch_make(cx, run, plan, out);
    ALM_TRY(ALM_NEW(cx, cx->arena, &g));
    ALM_TRY(alm_group_rewrite(cx, run, plan, &plan));
    ALM_TRY(alm_op_init(cx, &g->op, &group_vt, run, plan, pipe));
    g->keys = plan->group.keys;
    g->n_keys = plan->group.n_keys;
    ALM_ASSERT(plan->n_cols == plan->group.n_keys + plan->group.n_aggs);
    *out = &g->op;
    return ALM_OK;
}
