/* bind_call.c - function calls: scalars, and aggregates collected in the scope. */
#include "sql/bind.h"

static bool same_call(const alm_agg_call *a, const alm_agg_call *b)
{
    if (a->fn != b->fn || a->n_args != b->n_args || a->distinct != b->distinct ||
        (a->filter == NULL) != (b->filter == NULL))
        return false;
    if (a->filter != NULL && !alm_expr_equal(a->filter, b->filter))
        return false;
    for (uint32_t i = 0; i < a->n_args; i++)
        if (!alm_expr_equal(a->args[i], b->args[i]))
            return false;
    return true;
}

static alm_status add_agg(alm_scope *sc, const alm_agg_call *call, alm_expr **out)
{
    uint32_t i = 0;
    while (sc->share_aggs && i < sc->n_aggs && !same_call(&sc->aggs[i], call))
        i++;
    if (!sc->share_aggs)
        i = sc->n_aggs;
    if (i == sc->n_aggs) {
        ALM_TRY(alm_grow(sc->p->cx, &sc->aggs, sc->n_aggs, &sc->cap_aggs, sizeof *sc->aggs));
        sc->aggs[sc->n_aggs++] = *call;
    }
    return alm_expr_col(sc->p->cx, ALM_COL_AGG | i, call->type, call->pos, out);
}

static alm_status bind_args(alm_scope *sc, const alm_ast *ast, alm_expr ***out)
{
    alm_expr **args = NULL;
    ALM_TRY(ALM_NEWN(sc->p->cx, sc->p->cx->arena, ast->n_args + 1, &args));
    for (uint32_t i = 0; i < ast->n_args; i++)
        ALM_TRY(alm_bind_expr(sc, ast->arg[i], &args[i]));
    *out = args;
    return ALM_OK;
}

static alm_status bind_aggregate(alm_scope *sc, const alm_ast *ast, alm_expr **out)
{
    alm_planner *p = sc->p;
    if (sc->aggs_allowed != ALM_AGG_YES)
        return alm_fail(p->cx, ALM_E_FUNCTION, ast->pos,
                        "Aggregate function cannot be passed as an argument");
    if (ast->n_order > 0)
        return alm_fail(p->cx, ALM_E_UNSUPPORTED, ast->pos,
                        "ORDER BY inside an aggregate is not supported");
    alm_agg_call call = {.pos = ast->pos, .distinct = ast->distinct};
    const bool windows = sc->windows_allowed;
    sc->aggs_allowed = ALM_AGG_INSIDE;
    sc->windows_allowed = false;
    ALM_TRY(bind_args(sc, ast, &call.args));
    if (ast->filter != NULL) {
        ALM_TRY(alm_bind_expr(sc, ast->filter, &call.filter));
        if (call.filter->type.id != ALM_T_BOOLEAN)
            return alm_fail(p->cx, ALM_E_TYPE, ast->filter->pos, "boolean expression expected");
    }
    if (sc->agg_filter != NULL)
        ALM_TRY(alm_expr_and(p, call.filter, sc->agg_filter, &call.filter));
    sc->aggs_allowed = ALM_AGG_YES;
    sc->windows_allowed = windows;
    call.n_args = ast->n_args;

    alm_str name = ast->text;
    if (ast->distinct && alm_str_ieq(name, ALM_STR("count")) &&
        alm_registry_has(p->env->registry, ALM_STR("count_distinct"), ALM_FN_AGGREGATE)) {
        name = ALM_STR("count_distinct");
        call.distinct = false;
    }
    alm_resolved r;
    ALM_TRY(alm_args_resolve(p, name, ALM_FN_AGGREGATE, ast->pos, call.args, call.n_args, &r));
    call.fn = r.fn;
    call.data = r.data;
    call.type = r.result;
    return add_agg(sc, &call, out);
}

/* extract(hour FROM ts): the field is a word, not a column. */
static alm_status bind_extract(alm_scope *sc, const alm_ast *ast, alm_expr **out)
{
    alm_expr *args[2] = {NULL, NULL};
    if (ast->n_args != 2)
        return alm_fail(sc->p->cx, ALM_E_SYNTAX, ast->pos, "extract(field from time) expected");
    const alm_ast *field = ast->arg[0];
    if (field->kind == ALM_AST_NAME || field->kind == ALM_AST_STRING)
        ALM_TRY(alm_expr_text(sc->p->cx, ALM_TY(STRING), field->text, field->pos, &args[0]));
    else
        ALM_TRY(alm_bind_expr(sc, field, &args[0]));
    ALM_TRY(alm_bind_expr(sc, ast->arg[1], &args[1]));
    return alm_expr_call_str(sc->p, ast->text, ast->pos, args, 2, out);
}

alm_status alm_bind_call(alm_scope *sc, const alm_ast *ast, alm_expr **out)
{
    alm_planner *p = sc->p;
    const alm_registry *reg = p->env->registry;
    if (ast->over != NULL || ast->over_name.len > 0)
        return alm_bind_window(sc, ast, out);
    if (alm_str_ieq(ast->text, ALM_STR("coalesce")))
        return alm_bind_coalesce(sc, ast, out);
    if (alm_str_ieq(ast->text, ALM_STR("nullif")))
        return alm_bind_nullif(sc, ast, out);
    if (alm_str_ieq(ast->text, ALM_STR("extract")))
        return bind_extract(sc, ast, out);
    if (alm_registry_has(reg, ast->text, ALM_FN_AGGREGATE))
        return bind_aggregate(sc, ast, out);
    if (alm_registry_has(reg, ast->text, ALM_FN_WINDOW) &&
        !alm_registry_has(reg, ast->text, ALM_FN_SCALAR))
        return alm_fail(p->cx, ALM_E_FUNCTION, ast->pos,
                        "window function called in non-window context, make sure to add OVER "
                        "clause");
    alm_expr **args = NULL;
    ALM_TRY(bind_args(sc, ast, &args));
    return alm_expr_call_str(p, ast->text, ast->pos, args, ast->n_args, out);
}
