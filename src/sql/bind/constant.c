/*
 * constant.c - subqueries where there are no rows they could be joined to: LIMIT, VALUES, ON, FROM
 * and TO of SAMPLE BY, arguments of table functions. They run while the statement is planned; what they
 * give is a constant of the plan, as a parameter is.
 *
 * Types       The value goes through its text form, which gives every type that can be cast back exactly.
 * Describing  While parameters have no values nothing runs: a null of the type.
 */
#include "sql/bind/bind.h"
#include "sql/opt/opt.h"
#include "sql/plan/access.h"

/* The environment without what the statement's own plan shares: this one is run on its own. */
static alm_status fresh_names(alm_planner *planner, const alm_names *names, const alm_names **out)
{
    alm_names *copy = NULL;
    alm_recursion *closed = NULL;
    *out = NULL;
    if (names == NULL)
        return ALM_OK;
    ALM_TRY(alm_enter(planner, 0));
    ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, &copy));
    *copy = *names;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, names->n_ctes + 1, &copy->uses));
    if (names->recursion != NULL) { /* its rows are not there yet */
        ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, &closed));
        closed->cte = names->recursion->cte;
        copy->recursion = closed;
    }
    ALM_TRY(fresh_names(planner, names->outer, &copy->outer));
    planner->depth--;
    *out = copy;
    return ALM_OK;
}

static bool constant_can_run(const alm_planner *planner)
{
    return !alm_describing(planner) && planner->env->texts != NULL;
}

alm_status alm_bind_apart(alm_scope *scope, alm_planner *own, alm_select *sel, int32_t pos,
                          alm_plan **plan)
{
    const alm_names *names = NULL;
    alm_plan_env *env = NULL;
    *own = (alm_planner){
        .cx = scope->p->cx, .env = scope->p->env, .view = scope->p->view, .depth = scope->p->depth};
    if (own->env->sealed != NULL) {
        ALM_TRY(ALM_NEW(own->cx, own->cx->arena, &env));
        *env = *own->env;
        env->sealed = NULL;
        own->env = env;
    }
    ALM_TRY(fresh_names(own, scope->names, &names));
    ALM_TRY(alm_bind_query(own, names, sel, plan));
    if (own->outer_refs > 0)
        return alm_fail(own->cx, ALM_E_UNSUPPORTED, pos,
                        "a subquery that stands here cannot use columns of the query around it");
    return ALM_OK;
}

static alm_status constant_run_text(alm_planner *own, alm_plan *plan, int32_t pos, alm_str **out,
                                    uint32_t *n)
{
    const alm_type text = ALM_TY(VARCHAR);
    ALM_TRY(alm_plan_limit(own, &plan, 0, 2));
    ALM_TRY(alm_plan_cast(own, &plan, &text, ALM_CAST_EXPLICIT));
    ALM_TRY(alm_optimise(own, &plan));
    alm_use_once(own);
    ALM_TRY(own->env->texts(own->cx, own->env->snapshot, own->env->registry, plan, 1, out, n));
    if (*n > 1)
        return alm_fail(own->cx, ALM_E_LIMIT, pos, "the subquery gives more than one row");
    return ALM_OK;
}

alm_status alm_constant_subquery(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_planner own;
    alm_plan *plan = NULL;
    alm_str *text = NULL;
    uint32_t n = 0;
    ALM_TRY(alm_bind_apart(scope, &own, ast->select, ast->pos, &plan));
    if (plan->n_cols != 1)
        return alm_fail(own.cx, ALM_E_TYPE, ast->pos, "subquery must give one column, gives %u",
                        plan->n_cols);
    alm_type type = plan->cols[0].type;
    if (type.id == ALM_T_SYMBOL)
        type = ALM_TY(STRING);
    if (constant_can_run(&own))
        ALM_TRY(constant_run_text(&own, plan, ast->pos, &text, &n));
    if (n == 0 || text == NULL || text[0].ptr == NULL)
        return alm_expr_null(own.cx, type, ast->pos, out);
    ALM_TRY(alm_expr_text(own.cx, ALM_TY(VARCHAR), text[0], ast->pos, out));
    return alm_expr_cast(scope->p, *out, type, ALM_CAST_EXPLICIT, out);
}

alm_status alm_constant_exists(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_planner own;
    alm_plan *plan = NULL;
    alm_expr *one = NULL;
    const char *name = "one";
    alm_str *text = NULL;
    uint32_t n = 0;
    ALM_TRY(alm_bind_apart(scope, &own, ast->select, ast->pos, &plan));
    ALM_TRY(alm_expr_bits(own.cx, ALM_TY(INT), 1, ast->pos, &one));
    ALM_TRY(alm_plan_limit(&own, &plan, 0, 1));
    ALM_TRY(alm_plan_project(&own, plan, &one, &name, 1, &plan));
    if (constant_can_run(&own))
        ALM_TRY(constant_run_text(&own, plan, ast->pos, &text, &n));
    return alm_expr_bool(own.cx, (n > 0) != ast->negated, ast->pos, out);
}
