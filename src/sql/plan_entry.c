/* plan_entry.c - a query to its plan: binding, optimising. */
#include "sql/bind.h"

/* A parameter nobody gave a type is a text. */
static void settle_params(const alm_plan_env *env)
{
    for (uint32_t i = 0; i < env->n_params; i++)
        if (env->params[i].value == NULL && env->params[i].type.id == ALM_T_NONE)
            env->params[i].type = ALM_TY(STRING);
}

/* Functions of pg_type leave the query by their names, as regproc does in PostgreSQL. */
static alm_status name_functions(alm_planner *p, alm_plan **plan)
{
    alm_plan *child = *plan;
    alm_expr **exprs = NULL;
    const char **names = NULL;
    bool any = false;
    for (uint32_t i = 0; i < child->n_cols; i++)
        any |= alm_type_is_regproc(child->cols[i].type);
    if (!any)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, child->n_cols, &exprs));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, child->n_cols, &names));
    for (uint32_t i = 0; i < child->n_cols; i++) {
        names[i] = child->cols[i].name;
        ALM_TRY(alm_expr_col(p->cx, i, child->cols[i].type, child->pos, &exprs[i]));
        if (alm_type_is_regproc(child->cols[i].type))
            ALM_TRY(alm_expr_call(p, "regprocout", child->pos, &exprs[i], 1, &exprs[i]));
    }
    return alm_plan_project(p, child, exprs, names, child->n_cols, plan);
}

alm_status alm_plan_select(alm_ctx *cx, const alm_plan_env *env, alm_select *sel, alm_plan **out)
{
    alm_planner p = {.cx = cx, .env = env};
    alm_plan *plan = NULL;
    ALM_TRY(alm_bind_query(&p, NULL, sel, &plan));
    ALM_TRY(name_functions(&p, &plan));
    settle_params(env);
    ALM_TRY(alm_optimise(&p, &plan));
    *out = plan;
    return ALM_OK;
}
