/*
 * op_group.c - GROUP BY, DISTINCT and aggregates of everything: chooses the way (group.h), runs it,
 * hands out the groups by batch.
 */
#include "exec/group/branch.h"
#include "exec/group/group.h"
#include "exec/group/part.h"
#include "exec/run/op_make.h"
#include "storage/spill/spill.h"

alm_status alm_group_slot_ready(alm_ctx *cx, const alm_group *group, alm_group_slot *slot)
{
    if (slot->ready)
        return ALM_OK;
    const alm_plan *plan = group->op.plan;
    alm_arena_init(&slot->lasting, cx->mem);
    alm_arena_init(&slot->scratch, cx->mem);
    alm_pool_init(&slot->pool, cx->mem, "group by");
    slot->pending.pool = &slot->pool;
    slot->ready = true;
    ALM_TRY(alm_aggs_new(cx, group->keys, group->n_keys, plan->group.aggs, plan->group.n_aggs,
                         &slot->lasting, &slot->aggs));
    return ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &slot->number);
}

static void op_group_slot_close(alm_group_slot *slot)
{
    if (!slot->ready)
        return;
    alm_aggs_free(slot->aggs);
    alm_spill_free(slot->spill);
    alm_pool_deinit(&slot->pool);
    alm_arena_deinit(&slot->lasting);
    alm_arena_deinit(&slot->scratch);
}

/* Which groups there are, in order of number. */
static alm_status list_present(alm_ctx *cx, alm_group *group)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < group->n_groups; i++)
        count += group->seen[i];
    ALM_TRY(alm_pool_alloc(cx, &group->own.pool, ((size_t)count + 1) * sizeof *group->present,
                           &group->present));
    for (uint32_t i = 0; i < group->n_groups; i++)
        if (group->seen[i])
            group->present[group->n_present++] = i;
    ALM_ASSERT(group->n_present == count);
    alm_states packed = {0}; /* finish takes states side by side */
    ALM_TRY(alm_states_reserve(cx, group->own.aggs, &packed, &group->own.pool, count));
    alm_states_pick(group->own.aggs, &packed, 0, &group->states, group->present, count);
    group->states = packed;
    return ALM_OK;
}

alm_status alm_group_read(alm_ctx *cx, alm_group *group)
{
    ALM_TRY(alm_group_slot_ready(cx, group, &group->own));
    ALM_TRY(
        alm_pipe_new(cx, group->op.run, group->op.plan->child[0], group->op.plan, &group->pipe));
    group->n_slots = alm_pipe_slots(group->pipe);
    ALM_TRY(ALM_NEWN(cx, cx->arena, group->n_slots, &group->slot));
    bool fits = false;
    group->way = group->n_keys == 0 ? ALM_GROUP_PLAIN : ALM_GROUP_HASH;
    if (group->n_keys > 0)
        ALM_TRY(alm_group_direct_fits(cx, group, &fits));
    if (group->way == ALM_GROUP_PLAIN)
        return alm_group_plain(cx, group);
    if (!fits)
        return alm_group_hash(cx, group);
    group->way = ALM_GROUP_DIRECT;
    ALM_TRY(alm_group_direct(cx, group));
    return list_present(cx, group);
}

static alm_status group_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    alm_group *group = (alm_group *)op;
    if (group->whole == NULL) {
        ALM_TRY(alm_group_read(cx, group));
        ALM_TRY(alm_group_part_new(cx, op->run, op, NULL, &group->whole));
    }
    return group->whole->vt->next(cx, group->whole, out);
}

static void group_close(alm_op *op)
{
    alm_group *group = (alm_group *)op;
    alm_op_close(group->whole);
    alm_group_hash_close(group);
    for (uint32_t i = 0; group->slot != NULL && i < group->n_slots; i++)
        op_group_slot_close(&group->slot[i]);
    op_group_slot_close(&group->own);
    alm_pipe_free(group->pipe); /* last: the slots live in its arenas */
}

static const alm_op_vt group_vt = {.name = "group by", .next = group_next, .close = group_close};

alm_status alm_op_group_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                             alm_op **out)
{
    alm_group *group = NULL;
    if (pipe != NULL) /* a copy of a chain over groups that are there already */
        return alm_group_part_new(cx, run, alm_pipe_source(pipe), pipe, out);
    if (alm_group_branches(run, plan))
        return alm_group_branch_make(cx, run, plan, out);
    ALM_TRY(ALM_NEW(cx, cx->arena, &group));
    ALM_TRY(alm_group_rewrite(cx, run, plan, &plan));
    ALM_TRY(alm_op_init(cx, &group->op, &group_vt, run, plan, pipe));
    group->keys = plan->group.keys;
    group->n_keys = plan->group.n_keys;
    ALM_ASSERT(plan->n_cols == plan->group.n_keys + plan->group.n_aggs);
    *out = &group->op;
    return ALM_OK;
}
