/*
 * constants.c - `a = 5` beside other conditions: a is 5 in them too. What has no columns then is
 * computed here, and may settle the whole filter.
 *
 * Types       Integers and times only: for them equal means the same value (0.0 = -0.0, and equality of
 *             floating numbers and texts has rules of its own). The column and the value have one type.
 */
#include "sql/opt/opt.h"

typedef struct known {
    alm_planner *p;
    uint32_t col;
    alm_expr *value;
} known;

/* col = constant, either way round. */
static bool as_known(const alm_expr *expr, known *out)
{
    if (!alm_expr_is_call(expr, "=") || expr->n_args != 2)
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        const alm_expr *col = expr->args[i];
        alm_expr *value = expr->args[1 - i];
        if (col->kind != ALM_X_COL || value->kind != ALM_X_CONST || alm_expr_is_null(value) ||
            !alm_type_eq(col->type, value->type))
            continue;
        const alm_type_class class = alm_type_info_of(col->type)->cls;
        if (class != ALM_TC_INTEGER && class != ALM_TC_TIME)
            continue;
        out->col = col->col;
        out->value = value;
        return true;
    }
    return false;
}

static alm_status put_value(void *arg, alm_expr *expr, alm_expr **out)
{
    const known *self = arg;
    if (expr->kind == ALM_X_COL && expr->col == self->col &&
        alm_type_eq(expr->type, self->value->type))
        *out = self->value;
    return ALM_OK;
}

/* Computes what has no columns, from the leaves up. */
static alm_status constants_fold(alm_planner *planner, alm_expr **expr)
{
    if ((*expr)->kind != ALM_X_CALL)
        return ALM_OK;
    ALM_TRY(alm_enter(planner, (*expr)->pos));
    ALM_TRY(alm_steps_add(planner->cx, 1));
    alm_expr *copy = NULL;
    ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, &copy));
    *copy = **expr;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, copy->n_args + 1, &copy->args));
    for (uint32_t i = 0; i < copy->n_args; i++) {
        copy->args[i] = (*expr)->args[i];
        ALM_TRY(constants_fold(planner, &copy->args[i]));
    }
    ALM_TRY(alm_expr_measure(planner->cx, copy));
    planner->depth--;
    *expr = copy;
    const alm_status status = alm_expr_fold(planner, expr);
    if (status == ALM_OK || status == ALM_E_MEMORY || status == ALM_E_CANCEL ||
        status == ALM_E_TIMEOUT || status == ALM_E_YIELD)
        return status;
    alm_error_clear(planner->cx); /* fails where a row asks for it, if one does */
    *expr = copy;
    return ALM_OK;
}

static bool reads_col(void *arg, const alm_expr *col)
{
    return col->col != *(const uint32_t *)arg;
}

static alm_status use_known(alm_planner *planner, alm_expr **conjunct, uint32_t *n)
{
    bool changed = false;
    for (uint32_t i = 0; i < *n; i++) {
        known self = {.p = planner};
        if (!as_known(conjunct[i], &self))
            continue;
        for (uint32_t j = 0; j < *n; j++) {
            if (j == i || alm_expr_each_col(conjunct[j], reads_col, &self.col) ||
                alm_expr_volatile(conjunct[j]))
                continue;
            ALM_TRY(alm_expr_map(planner->cx, conjunct[j], put_value, &self, &conjunct[j]));
            ALM_TRY(constants_fold(planner, &conjunct[j]));
            changed = true;
        }
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; changed && i < *n; i++)
        if (!alm_expr_is_true(conjunct[i]))
            conjunct[kept++] = conjunct[i];
    if (changed)
        *n = kept;
    return ALM_OK;
}

static alm_status own_list(alm_planner *planner, alm_expr ***list, uint32_t n)
{
    alm_expr **copy = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n + 1, &copy));
    memcpy(copy, *list, n * sizeof *copy);
    *list = copy;
    return ALM_OK;
}

static alm_status constants_visit(alm_planner *planner, alm_plan **slot)
{
    alm_plan *plan = *slot;
    const bool scan = plan->op == ALM_P_SCAN;
    if (!scan && plan->op != ALM_P_FILTER)
        return ALM_OK;
    alm_expr ***list = scan ? &plan->scan.filter : &plan->filter.conjunct;
    uint32_t *n = scan ? &plan->scan.n_filters : &plan->filter.n;
    if (*n < 2)
        return ALM_OK;
    ALM_TRY(own_list(planner, list, *n));
    ALM_TRY(use_known(planner, *list, n));
    for (uint32_t i = 0; i < *n; i++) {
        if (!alm_expr_is_false((*list)[i]))
            continue;
        if (scan && !alm_plan_updates(plan)) {
            *n = 0;
            return alm_plan_limit(planner, slot, 0, 0);
        }
    }
    return ALM_OK;
}

alm_status alm_rule_constants(alm_planner *planner, alm_plan **plan)
{
    return alm_plan_bottom_up(planner, plan, constants_visit);
}
