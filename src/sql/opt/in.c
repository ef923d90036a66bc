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
    const alm_type_class c = alm_type_info_of(of->type)->cls;
    if (alm_expr_is_null(value))
        return false;
    if (alm_type_is_text(of->type))
        return alm_type_is_text(value->type);
    return (c == ALM_TC_INTEGER || c == ALM_TC_TIME) && alm_type_eq(of->type, value->type);
}

static alm_status gather(alternatives *a, alm_expr *e)
{
    while (a->ok && alm_expr_is_call(e, "or") && e->n_args == 2) {
        ALM_TRY(gather(a, e->args[0])); /* chains are balanced */
        e = e->args[1];
    }
    a->ok = a->ok && alm_expr_is_call(e, "=") && e->n_args == 2;
    if (!a->ok)
        return ALM_OK;
    const bool turned = e->args[0]->kind == ALM_X_CONST;
    alm_expr *of = e->args[turned ? 1 : 0], *value = e->args[turned ? 0 : 1];
    a->ok = of->kind == ALM_X_COL && value->kind == ALM_X_CONST && can_stand_in_list(of, value) &&
            (a->of == NULL || alm_expr_equal(a->of, of)) && a->list.n < IN_MAX;
    if (!a->ok)
        return ALM_OK;
    if (a->of == NULL)
        ALM_TRY(alm_exprs_add(a->cx, &a->list, of));
    a->of = of;
    return alm_exprs_add(a->cx, &a->list, value);
}

static alm_status as_list(void *arg, alm_expr **e)
{
    alm_planner *p = arg;
    alternatives a = {.cx = p->cx, .ok = true};
    if (!alm_expr_is_call(*e, "or"))
        return ALM_OK;
    ALM_TRY(gather(&a, *e));
    if (!a.ok || a.list.n < 1 + IN_MIN)
        return ALM_OK;
    return alm_expr_call(p, "in", (*e)->pos, a.list.at, a.list.n, e);
}

static alm_status visit(alm_planner *p, alm_plan **slot)
{
    alm_plan *plan = *slot;
    return plan->op == ALM_P_SCAN || plan->op == ALM_P_FILTER ? alm_plan_exprs(plan, as_list, p)
                                                              : ALM_OK;
}

alm_status alm_rule_in_list(alm_planner *p, alm_plan **plan)
{
    return alm_plan_bottom_up(p, plan, visit);
}
