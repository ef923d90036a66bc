/* walk.c - see walk.h. */
#include "sql/plan/walk.h"

alm_status alm_plan_bottom_up(alm_planner *p, alm_plan **plan,
                              alm_status (*f)(alm_planner *p, alm_plan **plan))
{
    ALM_TRY(alm_steps_add(p->cx, 1 + (int64_t)(*plan)->n_cols));
    for (uint32_t i = 0; i < (*plan)->n_children; i++)
        ALM_TRY(alm_plan_bottom_up(p, &(*plan)->child[i], f));
    return f(p, plan);
}

static alm_status each(alm_expr **list, uint32_t n, alm_expr_visit f, void *arg)
{
    for (uint32_t i = 0; i < n; i++)
        ALM_TRY(f(arg, &list[i]));
    return ALM_OK;
}

alm_status alm_aggs_exprs(alm_agg_call *aggs, uint32_t n, alm_expr_visit f, void *arg)
{
    for (uint32_t i = 0; i < n; i++) {
        ALM_TRY(each(aggs[i].args, aggs[i].n_args, f, arg));
        if (aggs[i].filter != NULL)
            ALM_TRY(f(arg, &aggs[i].filter));
    }
    return ALM_OK;
}

static alm_status each_key(alm_sort_key *keys, uint32_t n, alm_expr_visit f, void *arg)
{
    for (uint32_t i = 0; i < n; i++)
        ALM_TRY(f(arg, &keys[i].expr));
    return ALM_OK;
}

static alm_status each_call(alm_plan *plan, alm_expr_visit f, void *arg)
{
    for (uint32_t i = 0; i < plan->window.n_calls; i++) {
        alm_window_call *call = &plan->window.calls[i];
        ALM_TRY(each(call->args, call->n_args, f, arg));
        ALM_TRY(each(call->partition, call->n_partition, f, arg));
        ALM_TRY(each_key(call->order, call->n_order, f, arg));
        if (call->filter != NULL)
            ALM_TRY(f(arg, &call->filter));
    }
    return ALM_OK;
}

alm_status alm_plan_exprs(alm_plan *plan, alm_expr_visit f, void *arg)
{
    switch (plan->op) {
    case ALM_P_SCAN:
        return each(plan->scan.filter, plan->scan.n_filters, f, arg);
    case ALM_P_SOURCE:
        return each(plan->source.filter, plan->source.n_filters, f, arg);
    case ALM_P_FILTER:
        return each(plan->filter.conjunct, plan->filter.n, f, arg);
    case ALM_P_PROJECT:
        return each(plan->project.expr, plan->n_cols, f, arg);
    case ALM_P_GROUP:
        ALM_TRY(each(plan->group.keys, plan->group.n_keys, f, arg));
        return alm_aggs_exprs(plan->group.aggs, plan->group.n_aggs, f, arg);
    case ALM_P_SAMPLE:
        ALM_TRY(each(plan->sample.keys, plan->sample.n_keys, f, arg));
        return alm_aggs_exprs(plan->sample.aggs, plan->sample.n_aggs, f, arg);
    case ALM_P_SORT:
        return each_key(plan->sort.keys, plan->sort.n_keys, f, arg);
    case ALM_P_WINDOW:
        return each_call(plan, f, arg);
    case ALM_P_LATEST:
        return each(plan->latest.keys, plan->latest.n_keys, f, arg);
    case ALM_P_SHARED:
    case ALM_P_MATERIALISE:
    case ALM_P_BARRIER:
    case ALM_P_RECURSE:
    case ALM_P_WORKING:
    case ALM_P_WINDOW_JOIN:
    case ALM_P_JOIN: /* keys and residual speak of different inputs: the rules do them */
    case ALM_P_VALUES:
    case ALM_P_HORIZON:
    case ALM_P_LIMIT:
    case ALM_P_SETOP:
    case ALM_PLAN_OP_COUNT:
        break;
    }
    return ALM_OK;
}

alm_status alm_plan_each_expr(alm_plan *plan, alm_expr_visit f, void *arg)
{
    ALM_TRY(alm_plan_exprs(plan, f, arg));
    if (plan->op == ALM_P_JOIN) {
        for (uint32_t i = 0; i < plan->join.n_keys; i++) {
            ALM_TRY(f(arg, &plan->join.left_keys[i]));
            ALM_TRY(f(arg, &plan->join.right_keys[i]));
        }
        for (uint32_t i = 0; i < plan->join.n_residual; i++)
            ALM_TRY(f(arg, &plan->join.residual[i]));
    }
    if (plan->op == ALM_P_WINDOW_JOIN) {
        for (uint32_t i = 0; i < plan->winjoin.n_keys; i++) {
            ALM_TRY(f(arg, &plan->winjoin.left_keys[i]));
            ALM_TRY(f(arg, &plan->winjoin.right_keys[i]));
        }
        ALM_TRY(alm_aggs_exprs(plan->winjoin.aggs, plan->winjoin.n_aggs, f, arg));
    }
    for (uint32_t i = 0; i < plan->n_children; i++)
        ALM_TRY(alm_plan_each_expr(plan->child[i], f, arg));
    return ALM_OK;
}
