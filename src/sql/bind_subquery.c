/*
 * bind_subquery.c - queries inside expressions that do not look outside: joined to the scope's plan
 * on the side, so that the expression reads a column.
 *
 * Plans       scalar: CROSS or LEFT join of at most one row. EXISTS: CROSS join of a count.
 *             IN as a condition of its own: SEMI or ANTI join; elsewhere a LEFT join of the distinct
 *             values with a mark that is null where there is none.
 */
#include "sql/bind.h"

static alm_status bind_inner(alm_scope *sc, const alm_select *sel, int32_t pos, bool one_col,
                             alm_plan **out)
{
    alm_planner *p = sc->p;
    if (sc->plan == NULL || sc->aggs_allowed == ALM_AGG_INSIDE)
        return alm_fail(p->cx, ALM_E_UNSUPPORTED, pos, "a subquery cannot stand here");
    ALM_TRY(alm_bind_query(p, sc->names, sel, out));
    if (one_col && (*out)->n_cols != 1)
        return alm_fail(p->cx, ALM_E_TYPE, pos, "subquery must give one column, gives %u",
                        (*out)->n_cols);
    return ALM_OK;
}

/* Does the plan give exactly one row, whatever the data? */
static bool is_one_row(const alm_plan *plan)
{
    while (plan->op == ALM_P_PROJECT)
        plan = plan->child[0];
    return (plan->op == ALM_P_GROUP && plan->group.n_keys == 0) ||
           (plan->op == ALM_P_VALUES && plan->values.n_rows == 1);
}

alm_status alm_bind_scalar_subquery(alm_scope *sc, const alm_ast *ast, alm_expr **out)
{
    alm_planner *p = sc->p;
    alm_plan *inner = NULL, *left = sc->plan;
    ALM_TRY(bind_inner(sc, ast->select, ast->pos, true, &inner));
    left = sc->plan;
    const bool one = is_one_row(inner);
    if (!one)
        ALM_TRY(alm_plan_limit(p, &inner, 0, 1));
    ALM_TRY(
        alm_plan_join(p, one ? ALM_JOIN_CROSS : ALM_JOIN_LEFT, ast->pos, left, inner, &sc->plan));
    return alm_expr_col(p->cx, left->n_cols, inner->cols[0].type, ast->pos, out);
}

static alm_status count_rows(alm_planner *p, int32_t pos, alm_plan **plan)
{
    alm_resolved r;
    alm_plan *node = NULL;
    ALM_TRY(alm_registry_resolve(p->cx, p->env->registry, ALM_STR("count"), ALM_FN_AGGREGATE, pos,
                                 0, NULL, &r));
    ALM_TRY(alm_plan_new(p, ALM_P_GROUP, pos, *plan, &node));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 1, &node->group.aggs));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 1, &node->cols));
    node->group.aggs[0] = (alm_agg_call){.fn = r.fn, .data = r.data, .type = r.result, .pos = pos};
    node->group.n_aggs = 1;
    node->cols[0] = (alm_plan_col){"count()", r.result};
    node->n_cols = 1;
    node->ts_col = -1;
    node->order = ALM_ORDER_NONE;
    *plan = node;
    return ALM_OK;
}

alm_status alm_bind_exists(alm_scope *sc, const alm_ast *ast, alm_expr **out)
{
    alm_planner *p = sc->p;
    alm_plan *inner = NULL;
    ALM_TRY(bind_inner(sc, ast->select, ast->pos, false, &inner));
    alm_plan *left = sc->plan;
    ALM_TRY(alm_plan_limit(p, &inner, 0, 1));
    ALM_TRY(count_rows(p, ast->pos, &inner));
    ALM_TRY(alm_plan_join(p, ALM_JOIN_CROSS, ast->pos, left, inner, &sc->plan));
    alm_expr *args[2] = {NULL, NULL};
    ALM_TRY(alm_expr_col(p->cx, left->n_cols, inner->cols[0].type, ast->pos, &args[0]));
    ALM_TRY(alm_expr_bits(p->cx, inner->cols[0].type, 0, ast->pos, &args[1]));
    return alm_expr_call(p, ast->negated ? "=" : "!=", ast->pos, args, 2, out);
}

/* Distinct values of the only column, and a mark beside them. */
static alm_status with_mark(alm_planner *p, alm_plan **plan)
{
    ALM_TRY(alm_plan_distinct(p, plan));
    alm_expr **exprs = NULL;
    const char **names = NULL;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 2, &exprs));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 2, &names));
    ALM_TRY(alm_expr_col(p->cx, 0, (*plan)->cols[0].type, (*plan)->pos, &exprs[0]));
    ALM_TRY(alm_expr_bits(p->cx, ALM_TY(INT), 1, (*plan)->pos, &exprs[1]));
    names[0] = (*plan)->cols[0].name;
    names[1] = "mark";
    return alm_plan_project(p, *plan, exprs, names, 2, plan);
}

alm_status alm_bind_in_subquery(alm_scope *sc, const alm_ast *ast, alm_expr **out)
{
    alm_planner *p = sc->p;
    const bool conjunct = sc->conjunct;
    const alm_select *sel = ast->select != NULL ? ast->select : ast->arg[1]->select;
    alm_plan *inner = NULL, *join = NULL;
    alm_expr *x = NULL, *key = NULL;
    ALM_TRY(alm_bind_expr(sc, ast->arg[0], &x));
    ALM_TRY(bind_inner(sc, sel, ast->pos, true, &inner));
    if (!conjunct)
        ALM_TRY(with_mark(p, &inner));
    alm_plan *left = sc->plan;
    bool ok = false;
    ALM_TRY(alm_expr_col(p->cx, 0, inner->cols[0].type, ast->pos, &key));
    ALM_TRY(alm_param_infer(p, &x, key->type));
    ALM_TRY(alm_join_key_types(p, &x, &key, &ok));
    if (!ok)
        return alm_fail(p->cx, ALM_E_TYPE, ast->pos, "cannot compare %s with %s",
                        alm_type_name(x->type), alm_type_name(key->type));
    const uint8_t kind = !conjunct ? ALM_JOIN_LEFT : ast->negated ? 'A' : 'S';
    ALM_TRY(alm_plan_join(p, kind, ast->pos, left, inner, &join));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 1, &join->join.left_keys));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 1, &join->join.right_keys));
    join->join.left_keys[0] = x;
    join->join.right_keys[0] = key;
    join->join.n_keys = 1;
    sc->plan = join;
    if (conjunct)
        return alm_expr_bool(p->cx, true, ast->pos, out);
    ALM_TRY(alm_expr_col(p->cx, left->n_cols + 1, ALM_TY(INT), ast->pos, out));
    return alm_bind_is_null(p, *out, !ast->negated, ast->pos, out);
}
