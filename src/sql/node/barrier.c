/*
 * barrier.c - BARRIER: rows of a view of another definer. While the rules run, only what is leakproof moves below it.
 */
#include "sql/node/ops.h"
#include "sql/node/prune.h"
#include "sql/node/push.h"

static alm_status barrier_push(alm_planner *planner, alm_plan *plan, const alm_exprs *in,
                               alm_exprs *stay)
{
    alm_exprs down = {0};
    if (alm_plan_is_sealed(plan))
        return alm_push_nothing(planner, plan, in, stay);
    for (uint32_t i = 0; i < in->n; i++)
        ALM_TRY(
            alm_exprs_add(planner->cx, alm_expr_leakproof(in->at[i]) ? &down : stay, in->at[i]));
    return alm_push_child(planner, plan, 0, &down);
}

const alm_node_ops alm_node_barrier = {
    .pg_name = "Subquery Scan",
    .n_children = 1,
    .flags = ALM_NODE_SAME_COLUMNS | ALM_NODE_FOLLOWS,
    .prune = alm_prune_passing,
    .push = barrier_push,
};
