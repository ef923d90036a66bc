/* range.c - see range.h. */
#include "sql/node/range.h"

bool alm_range_note(void *flags, const alm_expr *col)
{
    bool *used = flags;
    used[col->col] = true;
    return true;
}

/* A key of which one group is left (its aggregates are checked for themselves). */
alm_status alm_range_keys(alm_planner *planner, alm_plan *plan, alm_expr **keys, uint32_t n_keys,
                          const bool *used)
{
    bool *below = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, plan->child[0]->n_cols + 1, &below));
    for (uint32_t i = 0; i < n_keys; i++) {
        if (!used[i])
            continue;
        ALM_TRY(alm_expr_check_range(planner, NULL, &keys[i]));
        (void)alm_expr_each_col(keys[i], alm_range_note, below);
    }
    return alm_range_below(planner, plan->child[0], below);
}

alm_status alm_range_left(alm_planner *planner, alm_plan *plan, const bool *used)
{
    return alm_range_below(planner, plan->child[0], used);
}

alm_status alm_range_below(alm_planner *planner, alm_plan *plan, const bool *used)
{
    const alm_node_ops *ops = alm_node_ops_of(plan->op);
    if (ops->range != NULL)
        return ops->range(planner, plan, used);
    return (ops->flags & ALM_NODE_SAME_ROWS) != 0 ? alm_range_left(planner, plan, used) : ALM_OK;
}
