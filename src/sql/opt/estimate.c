/*
 * estimate.c - est_rows of every node: the rows it reads or makes, whichever is more. Rough on
 * purpose: it decides between running at once and handing over to workers.
 */
#include "sql/opt/opt.h"

static alm_status estimate_visit(alm_planner *planner, alm_plan **slot)
{
    (void)planner;
    alm_plan *plan = *slot;
    const alm_node_ops *ops = alm_node_ops_of(plan->op);
    const double left = plan->n_children > 0 ? plan->child[0]->est_rows : 0;
    const double right = plan->n_children > 1 ? plan->child[1]->est_rows : 0;
    if (ops->estimate != NULL)
        ops->estimate(plan, left, right);
    else
        plan->est_rows = left;
    return ALM_OK;
}

alm_status alm_rule_estimate(alm_planner *planner, alm_plan **plan)
{
    return alm_plan_bottom_up(planner, plan, estimate_visit);
}
