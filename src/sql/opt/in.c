/*
 * in.c - a = 1 or a = 2 or a = 3 becomes a IN (1, 2, 3): one look-up, and codes for symbols.
 *
 * Types       Integers, times, texts: their equality is the one of IN. The list holds no nulls.
 */
#include "sql/opt/opt.h"

enum { IN_MIN = 2, IN_MAX = 10000 };

typedef struct alternatives {
    alm_ctx *cx;
    alm_expr *of;   /* what is compared */
    alm_exprs list; /* of, then the values */
    bool ok;
} alternatives;

static bool can_stand_in_list(const alm_expr *of, const alm_expr *value)
{
    const alm_type_class class = alm_type_info_of(of->type)->cls;
    if (alm_expr_is_null(value))
        return false;
    if (alm_type_is_text(of->type))
        return alm_type_is_text(value->type);
    return (class == ALM_TC_INTEGER || class == ALM_TC_TIME) && alm_type_eq(of->type, value->type);
}

static alm_status opt_in_gather(alternatives *self, alm_expr *expr)
{
    while (self->ok && alm_expr_is_call(expr, "or") && expr->n_args == 2) {
        ALM_TRY(opt_in_gather(self, expr->args[0])); /* chains are balanced */
        expr = expr->args[1];
    }
    self->ok = self->ok && alm_expr_is_call(expr, "=") && expr->n_args == 2;
    if (!self->ok)
        return ALM_OK;
    const bool turned = expr->args[0]->kind == ALM_X_CONST;
    alm_expr *of = expr->args[turned ? 1 : 0], *value = expr->args[turned ? 0 : 1];
    self->ok = of->kind == ALM_X_COL && value->kind == ALM_X_CONST &&
               can_stand_in_list(of, value) && (self->of == NULL || alm_expr_equal(self->of, of)) &&
               self->list.n < IN_MAX;
    if (!self->ok)
        return ALM_OK;
    if (self->of == NULL)
        ALM_TRY(alm_exprs_add(self->cx, &self->list, of));
    self->of = of;
    return alm_exprs_add(self->cx, &self->list, value);
}

static alm_status as_list(void *arg, alm_expr **expr)
{
    alm_planner *planner = arg;
    alternatives self = {.cx = planner->cx, .ok = true};
    if (!alm_expr_is_call(*expr, "or"))
        return ALM_OK;
    ALM_TRY(opt_in_gather(&self, *expr));
    if (!self.ok || self.list.n < 1 + IN_MIN)
        return ALM_OK;
    return alm_expr_call(planner, "in", (*expr)->pos, self.list.at, self.list.n, expr);
}

static alm_status opt_in_visit(alm_planner *planner, alm_plan **slot)
{
    alm_plan *plan = *slot;
    return plan->op == ALM_P_SCAN || plan->op == ALM_P_FILTER
               ? alm_plan_exprs(plan, as_list, planner)
               : ALM_OK;
}

alm_status alm_rule_in_list(alm_planner *planner, alm_plan **plan)
{
    return alm_plan_bottom_up(planner, plan, opt_in_visit);
}
