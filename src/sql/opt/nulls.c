/*
 * nulls.c - columns that hold only the untyped NULL become STRING columns: the binder needs to know
 * that they have no type (UNION, CASE), those who run a plan must not.
 */
#include "sql/opt/opt.h"

static bool is_untyped(alm_type t)
{
    return t.id == ALM_T_NULL || t.id == ALM_T_NONE;
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

static alm_status type_column(void *arg, alm_expr *e, alm_expr **out)
{
    alm_planner *p = arg;
    if (e->kind == ALM_X_COL && is_untyped(e->type))
        return alm_expr_col(p->cx, e->col, ALM_TY(STRING), e->pos, out);
    return ALM_OK;
}

static alm_status type_expr(void *arg, alm_expr **e)
{
    alm_planner *p = arg;
    const bool made = (*e)->kind == ALM_X_CONST || (*e)->kind == ALM_X_CASE; /* of nulls only */
    if (made && is_untyped((*e)->type))
        return alm_expr_null(p->cx, ALM_TY(STRING), (*e)->pos, e);
    if ((*e)->kind == ALM_X_PARAM && is_untyped((*e)->type))
        return alm_param_infer(p, e, ALM_TY(STRING));
    return alm_expr_map(p->cx, *e, type_column, p, e);
}

static alm_status type_node(alm_planner *p, alm_plan **slot)
{
    alm_plan *plan = *slot;
    alm_plan_col *cols = NULL;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, plan->n_cols + 1, &cols));
    for (uint32_t i = 0; i < plan->n_cols; i++) {
        cols[i] = plan->cols[i];
        if (is_untyped(cols[i].type))
            cols[i].type = ALM_TY(STRING);
    }
    plan->cols = cols;
    if (plan->op == ALM_P_JOIN) {
        for (uint32_t i = 0; i < plan->join.n_keys; i++) {
            ALM_TRY(type_expr(p, &plan->join.left_keys[i]));
            ALM_TRY(type_expr(p, &plan->join.right_keys[i]));
        }
        for (uint32_t i = 0; i < plan->join.n_residual; i++)
            ALM_TRY(type_expr(p, &plan->join.residual[i]));
    }
    for (uint32_t r = 0; plan->op == ALM_P_VALUES && plan->values.rows && r < plan->values.n_rows;
         r++)
        for (uint32_t c = 0; c < plan->n_cols; c++)
            ALM_TRY(type_expr(p, &plan->values.rows[r][c]));
    return alm_plan_exprs(plan, type_expr, p);
}

alm_status alm_rule_nulls(alm_planner *p, alm_plan **plan)
{
    return any_untyped(*plan) ? alm_plan_bottom_up(p, plan, type_node) : ALM_OK;
}
