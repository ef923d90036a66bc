/*
 * recursion.c - in the step of a WITH RECURSIVE the rows found last drive the joins: what they are
 * joined with is then a hash table that is made once, and not scanned again each round.
 */
#include "sql/opt/opt.h"

static bool recursion_reads(const alm_plan *plan, const alm_plan *recursion)
{
    if (plan->op == ALM_P_WORKING)
        return plan->working.of == recursion;
    if (plan->op == ALM_P_SHARED)
        return recursion_reads(plan->shared.of, recursion);
    for (uint32_t i = 0; i < plan->n_children; i++)
        if (recursion_reads(plan->child[i], recursion))
            return true;
    return false;
}

/* The inputs of an inner join change places; a projection puts the columns back. */
static alm_status recursion_turn(alm_planner *planner, alm_plan **slot)
{
    alm_plan *join = *slot;
    const uint32_t n_left = join->child[0]->n_cols, n_right = join->child[1]->n_cols,
                   n = n_left + n_right;
    alm_expr **const keys = join->join.left_keys, **exprs = NULL;
    alm_plan *const left = join->child[0];
    alm_plan_col *cols = NULL;
    const char **names = NULL;
    uint32_t *map = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n + 1, &exprs));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n + 1, &names));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n + 1, &cols));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n + 1, &map));
    for (uint32_t i = 0; i < n; i++) {
        map[i] = i < n_left ? n_right + i : i - n_left;
        names[i] = join->cols[i].name;
        cols[map[i]] = join->cols[i];
        ALM_TRY(alm_expr_col(planner->cx, map[i], join->cols[i].type, join->pos, &exprs[i]));
    }
    for (uint32_t i = 0; i < join->join.n_residual; i++)
        ALM_TRY(
            alm_expr_renumber(planner->cx, join->join.residual[i], map, &join->join.residual[i]));
    join->join.left_keys = join->join.right_keys;
    join->join.right_keys = keys;
    join->child[0] = join->child[1];
    join->child[1] = left;
    join->cols = cols;
    join->ts_col = -1;
    join->order = ALM_ORDER_NONE;
    return alm_plan_project(planner, join, exprs, names, n, slot);
}

/* Down to joins, through nodes that do not care in which order rows come. */
static alm_status recursion_visit(alm_planner *planner, alm_plan **slot, const alm_plan *recursion)
{
    alm_plan *plan = *slot;
    const bool passes = plan->op == ALM_P_PROJECT || plan->op == ALM_P_FILTER ||
                        (plan->op == ALM_P_SETOP && plan->setop.kind == ALM_SETOP_UNION_ALL) ||
                        (plan->op == ALM_P_GROUP && plan->group.n_aggs == 0);
    const bool inner = plan->op == ALM_P_JOIN && plan->join.kind == ALM_JOIN_INNER;
    if (inner && plan->join.n_keys > 0 && !recursion_reads(plan->child[0], recursion) &&
        recursion_reads(plan->child[1], recursion)) {
        ALM_TRY(recursion_turn(planner, slot));
        return recursion_visit(planner, &plan->child[0], recursion);
    }
    if (!passes && !inner)
        return ALM_OK;
    plan->ts_col = -1;
    plan->order = ALM_ORDER_NONE;
    for (uint32_t i = 0; i < plan->n_children; i++)
        ALM_TRY(recursion_visit(planner, &plan->child[i], recursion));
    return ALM_OK;
}

static alm_status turn_step(alm_planner *planner, alm_plan **slot)
{
    alm_plan *plan = *slot;
    return plan->op == ALM_P_RECURSE ? recursion_visit(planner, &plan->child[1], plan) : ALM_OK;
}

alm_status alm_rule_recursion(alm_planner *planner, alm_plan **plan)
{
    return alm_plan_bottom_up(planner, plan, turn_step);
}
