/* plan_entry.c - a query to its plan: binding, optimising. */
#include "sql/bind.h"

/* A parameter nobody gave a type is a text. */
static void settle_params(const alm_plan_env *env)
{
    for (uint32_t i = 0; i < env->n_params; i++)
        if (env->params[i].value == NULL && env->params[i].type.id == ALM_T_NONE)
            env->params[i].type = ALM_TY(STRING);
}

alm_status alm_plan_select(alm_ctx *cx, const alm_plan_env *env, alm_select *sel, alm_plan **out)
{
    alm_planner p = {.cx = cx, .env = env};
    alm_plan *plan = NULL;
    ALM_TRY(alm_bind_query(&p, NULL, sel, &plan));
    settle_params(env);
    ALM_TRY(alm_optimise(&p, &plan));
    *out = plan;
    return ALM_OK;
}
