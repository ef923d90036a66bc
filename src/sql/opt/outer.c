/*
 * outer.c - a LEFT join under a condition that is false for its null rows is an INNER join: then the
 * condition may go down to the right side, and the join finds fewer rows.
 *
 * Null rule   null = null is true here, so only comparisons with a constant that is not null count, on
 *             a column whose type has a null (a missing BOOLEAN, BYTE or SHORT is false or 0).
 */
#include "sql/opt/opt.h"

static bool opt_outer_has_null(alm_type type)
{
    return type.id != ALM_T_BOOLEAN && type.id != ALM_T_BYTE && type.id != ALM_T_SHORT;
}

static bool opt_outer_is_right(const alm_expr *expr, uint32_t n_left)
{
    return expr->kind == ALM_X_COL && expr->col >= n_left && opt_outer_has_null(expr->type);
}

/* False wherever the right side is null? */
static bool drops_nulls(const alm_expr *expr, uint32_t n_left)
{
    static const char *const names[] = {"=", "<", "<=", ">", ">=", "like", "ilike"};
    if (alm_expr_is_call(expr, "and") && expr->n_args == 2)
        return drops_nulls(expr->args[0], n_left) || drops_nulls(expr->args[1], n_left);
    if (alm_expr_is_call(expr, "or") && expr->n_args == 2)
        return drops_nulls(expr->args[0], n_left) && drops_nulls(expr->args[1], n_left);
    if (alm_expr_is_call(expr, "is not null"))
        return opt_outer_is_right(expr->args[0], n_left);
    for (size_t i = 0; i < ALM_COUNT(names); i++) {
        if (!alm_expr_is_call(expr, names[i]) || expr->n_args != 2)
            continue;
        for (uint32_t a = 0; a < 2; a++)
            if (opt_outer_is_right(expr->args[a], n_left) &&
                expr->args[1 - a]->kind == ALM_X_CONST && !alm_expr_is_null(expr->args[1 - a]))
                return true;
    }
    return false;
}

static bool opt_outer_visit(alm_plan *plan)
{
    bool changed = false;
    alm_plan *join = plan->op == ALM_P_FILTER ? plan->child[0] : NULL;
    if (join != NULL && join->op == ALM_P_JOIN && join->join.kind == ALM_JOIN_LEFT)
        for (uint32_t i = 0; i < plan->filter.n && !changed; i++)
            changed = drops_nulls(plan->filter.conjunct[i], join->child[0]->n_cols);
    if (changed)
        join->join.kind = ALM_JOIN_INNER;
    for (uint32_t i = 0; i < plan->n_children; i++)
        changed |= opt_outer_visit(plan->child[i]);
    return changed;
}

alm_status alm_rule_outer(alm_planner *planner, alm_plan **plan)
{
    return opt_outer_visit(*plan) ? alm_rule_pushdown(planner, plan) : ALM_OK;
}
