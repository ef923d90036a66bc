/*
 * opt_limit.c - LIMIT goes below projections; above a sort it makes the sort keep only the first
 * rows; above UNION ALL it stops each side.
 */
#include "sql/opt.h"

static bool project_volatile(const alm_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_cols; i++)
        if (alm_expr_volatile(plan->project.expr[i]))
            return true;
    return false;
}

/* The limit node changes places with the projection below it. */
static void below_project(alm_plan **slot)
{
    alm_plan *limit = *slot, *project = limit->child[0], *child = project->child[0];
    limit->child[0] = child;
    limit->cols = child->cols;
    limit->n_cols = child->n_cols;
    limit->ts_col = child->ts_col;
    limit->order = child->order;
    project->child[0] = limit;
    *slot = project;
}

static alm_status visit(alm_planner *p, alm_plan **slot)
{
    while ((*slot)->op == ALM_P_LIMIT) {
        alm_plan *limit = *slot, *child = limit->child[0];
        const int64_t lo = limit->limit.lo, hi = limit->limit.hi;
        const bool top = lo >= 0 && hi >= 0 && hi != INT64_MAX;
        if (child->op == ALM_P_PROJECT && !project_volatile(child)) {
            below_project(slot);
            slot = &(*slot)->child[0];
            continue;
        }
        if (child->op == ALM_P_SORT && top)
            child->sort.limit = child->sort.limit < 0 ? hi : ALM_MIN(child->sort.limit, hi);
        if (child->op == ALM_P_SETOP && top && child->setop.kind == ALM_SETOP_UNION_ALL)
            for (uint32_t i = 0; i < 2; i++)
                ALM_TRY(alm_plan_limit(p, &child->child[i], 0, hi));
        break;
    }
    for (uint32_t i = 0; i < (*slot)->n_children; i++)
        ALM_TRY(visit(p, &(*slot)->child[i]));
    return ALM_OK;
}

alm_status alm_rule_limit(alm_planner *p, alm_plan **plan)
{
    return visit(p, plan);
}
