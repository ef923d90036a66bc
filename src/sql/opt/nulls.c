/*
 * nulls.c - columns that hold only the untyped NULL become STRING columns: the binder needs to know
 * that they have no type (UNION, CASE), those who run a plan must not.
 */
#include "sql/opt/opt.h"

static bool is_untyped(alm_type type)
{
    return type.id == ALM_T_NULL || type.id == ALM_T_NONE;
}

static bool any_untyped(const alm_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_cols; i++)
        if (is_untyped(plan->cols[i].type))
            return true;
    for (uint32_t i = 0; i < plan->n_children; i++)
        if (any_untyped(plan->child[i]))
            return true;
    return false;
}

static alm_status type_column(void *arg, alm_expr *expr, alm_expr **out)
{
    alm_planner *planner = arg;
    if (expr->kind == ALM_X_COL && is_untyped(expr->type))
        return alm_expr_col(planner->cx, expr->col, ALM_TY(STRING), expr->pos, out);
    return ALM_OK;
}

static alm_status type_expr(void *arg, alm_expr **expr)
{
    alm_planner *planner = arg;
    const bool made =
        (*expr)->kind == ALM_X_CONST || (*expr)->kind == ALM_X_CASE; /* of nulls only */
    if (made && is_untyped((*expr)->type))
        return alm_expr_null(planner->cx, ALM_TY(STRING), (*expr)->pos, expr);
    if ((*expr)->kind == ALM_X_PARAM && is_untyped((*expr)->type))
        return alm_param_infer(planner, expr, ALM_TY(STRING));
    return alm_expr_map(planner->cx, *expr, type_column, planner, expr);
}

static alm_status type_node(alm_planner *planner, alm_plan **slot)
{
    alm_plan *plan = *slot;
    alm_plan_col *cols = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, plan->n_cols + 1, &cols));
    for (uint32_t i = 0; i < plan->n_cols; i++) {
        cols[i] = plan->cols[i];
        if (is_untyped(cols[i].type))
            cols[i].type = ALM_TY(STRING);
    }
    plan->cols = cols;
    if (plan->op == ALM_P_JOIN) {
        for (uint32_t i = 0; i < plan->join.n_keys; i++) {
            ALM_TRY(type_expr(planner, &plan->join.left_keys[i]));
            ALM_TRY(type_expr(planner, &plan->join.right_keys[i]));
        }
        for (uint32_t i = 0; i < plan->join.n_residual; i++)
            ALM_TRY(type_expr(planner, &plan->join.residual[i]));
    }
    for (uint32_t row = 0;
         plan->op == ALM_P_VALUES && plan->values.rows && row < plan->values.n_rows; row++)
        for (uint32_t col = 0; col < plan->n_cols; col++)
            ALM_TRY(type_expr(planner, &plan->values.rows[row][col]));
    return alm_plan_exprs(plan, type_expr, planner);
}

alm_status alm_rule_nulls(alm_planner *planner, alm_plan **plan)
{
    return any_untyped(*plan) ? alm_plan_bottom_up(planner, plan, type_node) : ALM_OK;
}
