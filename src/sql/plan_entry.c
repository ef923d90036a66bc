/* plan_entry.c - a query to its plan: binding, untyped nulls, optimising. */
#include "sql/bind.h"

/* An untyped null shows as a STRING, a parameter nobody gave a type is a text. */
static alm_status settle_types(alm_planner *p, alm_plan **plan)
{
    alm_type *types = NULL;
    const uint32_t n = (*plan)->n_cols;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &types));
    for (uint32_t i = 0; i < n; i++) {
        const alm_type t = (*plan)->cols[i].type;
        types[i] = t.id == ALM_T_NULL || t.id == ALM_T_NONE ? ALM_TY(STRING) : t;
    }
    ALM_TRY(alm_plan_cast(p, plan, types, ALM_CAST_EXPLICIT));
    for (uint32_t i = 0; i < p->env->n_params; i++)
        if (p->env->params[i].value == NULL && p->env->params[i].type.id == ALM_T_NONE)
            p->env->params[i].type = ALM_TY(STRING);
    return ALM_OK;
}

alm_status alm_plan_select(alm_ctx *cx, const alm_plan_env *env, alm_select *sel, alm_plan **out)
{
    alm_planner p = {.cx = cx, .env = env};
    alm_plan *plan = NULL;
    ALM_TRY(alm_bind_query(&p, NULL, sel, &plan));
    ALM_TRY(settle_types(&p, &plan));
    ALM_TRY(alm_optimise(&p, &plan));
    *out = plan;
    return ALM_OK;
}
