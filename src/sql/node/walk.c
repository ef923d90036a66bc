/* walk.c - see walk.h. */
#include "sql/node/walk.h"

alm_status alm_plan_bottom_up(alm_planner *planner, alm_plan **plan,
                              alm_status (*visit)(alm_planner *p, alm_plan **plan))
{
    ALM_TRY(alm_steps_add(planner->cx, 1 + (int64_t)(*plan)->n_cols));
    for (uint32_t i = 0; i < (*plan)->n_children; i++)
        ALM_TRY(alm_plan_bottom_up(planner, &(*plan)->child[i], visit));
    return visit(planner, plan);
}

alm_status alm_list_exprs(alm_expr **list, uint32_t n, alm_expr_visit visit, void *arg)
{
    for (uint32_t i = 0; i < n; i++)
        ALM_TRY(visit(arg, &list[i]));
    return ALM_OK;
}

alm_status alm_sort_keys_exprs(alm_sort_key *keys, uint32_t n_keys, alm_expr_visit visit, void *arg)
{
    for (uint32_t i = 0; i < n_keys; i++)
        ALM_TRY(visit(arg, &keys[i].expr));
    return ALM_OK;
}

alm_status alm_aggs_exprs(alm_agg_call *aggs, uint32_t n_aggs, alm_expr_visit visit, void *arg)
{
    for (uint32_t i = 0; i < n_aggs; i++) {
        ALM_TRY(alm_list_exprs(aggs[i].args, aggs[i].n_args, visit, arg));
        if (aggs[i].filter != NULL)
            ALM_TRY(visit(arg, &aggs[i].filter));
    }
    return ALM_OK;
}

alm_status alm_plan_exprs(alm_plan *plan, alm_expr_visit visit, void *arg)
{
    const alm_node_ops *ops = alm_node_ops_of(plan->op);
    return ops->exprs != NULL ? ops->exprs(plan, visit, arg) : ALM_OK;
}

alm_status alm_plan_own_exprs(alm_plan *plan, alm_expr_visit visit, void *arg)
{
    const alm_node_ops *ops = alm_node_ops_of(plan->op);
    ALM_TRY(alm_plan_exprs(plan, visit, arg));
    return ops->pairs != NULL ? ops->pairs(plan, visit, arg) : ALM_OK;
}

alm_status alm_plan_each_expr(alm_plan *plan, alm_expr_visit visit, void *arg)
{
    ALM_TRY(alm_plan_own_exprs(plan, visit, arg));
    for (uint32_t i = 0; i < plan->n_children; i++)
        ALM_TRY(alm_plan_each_expr(plan->child[i], visit, arg));
    return ALM_OK;
}
