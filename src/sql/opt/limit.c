/*
 * limit.c - LIMIT goes below projections; above a sort it makes the sort keep only the first
 * rows, or the last ones; above UNION ALL it stops each side; above a join that keeps every left row it
 * stops the left side.
 */
#include "sql/opt/opt.h"

enum { LAST_MAX = 1 << 16 }; /* rows that a sort keeps from the end */

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

/* Every row of the left input gives one row or more, in its order. */
static bool opt_limit_keeps_left(const alm_plan *join)
{
    const uint8_t k = join->join.kind;
    return k == ALM_JOIN_LEFT || k == ALM_JOIN_ASOF || k == ALM_JOIN_LT;
}

static void into_sort(const alm_plan *limit, alm_plan *sort)
{
    const int64_t lo = limit->limit.lo, hi = limit->limit.hi;
    if (lo >= 0 && hi >= 0 && hi != INT64_MAX)
        sort->sort.limit = sort->sort.limit < 0 ? hi : ALM_MIN(sort->sort.limit, hi);
    else if (sort->sort.limit == -1 && lo < 0 && lo >= -LAST_MAX && (hi == INT64_MAX || hi < 0))
        sort->sort.limit = -1 + lo;
}

static alm_status opt_limit_visit(alm_planner *planner, alm_plan **slot)
{
    while ((*slot)->op == ALM_P_LIMIT && !(*slot)->limit.single) {
        alm_plan *limit = *slot, *child = limit->child[0];
        const int64_t lo = limit->limit.lo, hi = limit->limit.hi;
        const bool top = lo >= 0 && hi >= 0 && hi != INT64_MAX;
        if (child->op == ALM_P_PROJECT && !project_volatile(child)) {
            below_project(slot);
            slot = &(*slot)->child[0];
            continue;
        }
        if (child->op == ALM_P_SORT)
            into_sort(limit, child);
        if (child->op == ALM_P_JOIN && top && opt_limit_keeps_left(child))
            ALM_TRY(alm_plan_limit(planner, &child->child[0], 0, hi));
        if (child->op == ALM_P_SETOP && top && child->setop.kind == ALM_SETOP_UNION_ALL)
            for (uint32_t i = 0; i < 2; i++)
                ALM_TRY(alm_plan_limit(planner, &child->child[i], 0, hi));
        break;
    }
    for (uint32_t i = 0; i < (*slot)->n_children; i++)
        ALM_TRY(opt_limit_visit(planner, &(*slot)->child[i]));
    return ALM_OK;
}

alm_status alm_rule_limit(alm_planner *planner, alm_plan **plan)
{
    return opt_limit_visit(planner, plan);
}
