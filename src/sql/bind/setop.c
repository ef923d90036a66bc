/*
 * setop.c - UNION, EXCEPT, INTERSECT, ORDER BY over their result, LIMIT, constant expressions.
 */
#include "sql/bind/bind.h"

/* ------------------------------------------------------------- set operations */

/* The expression of a column, where the query has a list of them without a star. */
static int32_t column_pos(const alm_select *sel, uint32_t n_cols, uint32_t i)
{
    while (sel->left != NULL)
        sel = sel->left;
    return sel->n_items == n_cols && sel->items[i].expr != NULL ? sel->items[i].expr->pos
                                                                : sel->pos;
}

alm_status alm_no_union(alm_planner *p, int32_t pos, const char *column, alm_type from, alm_type to)
{
    return alm_fail(p->cx, ALM_E_TYPE, pos, "unsupported cast [column=%s, from=%s, to=%s]", column,
                    alm_type_name(from), alm_type_name(to));
}

static alm_status meet_columns(alm_planner *p, const alm_select *sel, alm_plan **left,
                               alm_plan **right)
{
    const uint32_t n = (*left)->n_cols;
    alm_type *types = NULL, *right_types = NULL;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &types));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &right_types));
    for (uint32_t i = 0; i < n; i++) {
        const alm_type a = (*left)->cols[i].type, b = (*right)->cols[i].type;
        /* what only takes rows away keeps symbols */
        const bool keep = sel->op != ALM_SET_UNION && alm_type_is_text(a) && alm_type_is_text(b);
        types[i] = keep                                           ? a
                   : a.id == ALM_T_SYMBOL && b.id == ALM_T_SYMBOL ? ALM_TY(STRING)
                                                                  : alm_type_union(a, b);
        if (types[i].id == ALM_T_NONE && a.id != ALM_T_NONE && b.id != ALM_T_NONE)
            return alm_no_union(p, column_pos(sel->right, n, i), (*right)->cols[i].name, b, a);
        right_types[i] = keep ? b : types[i];
    }
    ALM_TRY(alm_plan_cast(p, left, types, ALM_CAST_IMPLICIT));
    return alm_plan_cast(p, right, right_types, ALM_CAST_IMPLICIT);
}

static enum alm_set_kind kind_of(const alm_select *sel)
{
    if (sel->op == ALM_SET_EXCEPT)
        return sel->all ? ALM_SETOP_EXCEPT_ALL : ALM_SETOP_EXCEPT;
    if (sel->op == ALM_SET_INTERSECT)
        return sel->all ? ALM_SETOP_INTERSECT_ALL : ALM_SETOP_INTERSECT;
    return ALM_SETOP_UNION_ALL;
}

alm_status alm_bind_setop(alm_planner *p, const alm_names *names, const alm_select *sel,
                          alm_plan **out)
{
    alm_plan *left = NULL, *right = NULL, *node = NULL;
    ALM_TRY(alm_bind_query(p, names, sel->left, &left));
    ALM_TRY(alm_bind_query(p, names, sel->right, &right));
    if (left->n_cols != right->n_cols)
        return alm_fail(p->cx, ALM_E_TYPE, sel->right->pos,
                        "queries have different number of columns");
    ALM_TRY(meet_columns(p, sel, &left, &right));
    ALM_TRY(alm_plan_new2(p, ALM_P_SETOP, sel->op_pos, left, right, &node));
    node->cols = left->cols;
    node->n_cols = left->n_cols;
    node->setop.kind = kind_of(sel);
    if (sel->op != ALM_SET_UNION) {
        node->ts_col = left->ts_col;
        node->order = left->order;
    }
    if (sel->op == ALM_SET_UNION && !sel->all)
        ALM_TRY(alm_plan_distinct(p, &node));
    ALM_TRY(alm_bind_order_result(p, names, sel, &node));
    *out = node;
    return alm_bind_limit(p, names, sel, out);
}

static alm_status result_key(alm_scope *sc, const alm_ast *ast, alm_expr **out)
{
    int64_t at = 0;
    alm_expr *e = NULL;
    ALM_TRY(alm_bind_expr(sc, ast, &e));
    if (ast->kind == ALM_AST_NUMBER && alm_expr_int(e, &at)) {
        const uint32_t n = sc->rels[0].n_cols; /* the plan has those of subqueries too */
        if (at < 1 || at > (int64_t)n)
            return alm_fail(sc->p->cx, ALM_E_SYNTAX, ast->pos,
                            "order column position is out of range [max=%u]", n);
        ALM_TRY(
            alm_expr_col(sc->p->cx, (uint32_t)at - 1, sc->plan->cols[at - 1].type, ast->pos, &e));
        *out = e;
        return ALM_OK;
    }
    *out = e;
    return alm_order_refuse_constant(sc->p, ast);
}

alm_status alm_bind_order_result(alm_planner *p, const alm_names *names, const alm_select *sel,
                                 alm_plan **plan)
{
    alm_scope sc = {.p = p, .names = names, .sel = sel, .plan = *plan};
    alm_sort_key *keys = NULL;
    uint32_t n = 0;
    ALM_TRY(alm_scope_add(&sc, (alm_str){0}, NULL, *plan, 0));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, sel->n_order + 1, &keys));
    for (uint32_t i = 0; i < sel->n_order; i++) {
        alm_expr *e = NULL;
        ALM_TRY(result_key(&sc, sel->order[i].expr, &e));
        if (e != NULL && e->kind != ALM_X_CONST)
            ALM_TRY(alm_sort_key_make(p, e, &sel->order[i], &keys[n++]));
    }
    const uint32_t n_cols = (*plan)->n_cols;
    *plan = sc.plan; /* subqueries in the keys are joined to it */
    if (n > 0) {
        ALM_TRY(alm_bind_ties(p, names, sel, keys, n, plan));
        ALM_TRY(alm_plan_sort(p, plan, keys, n));
    }
    return alm_plan_cut(p, plan, n_cols);
}

/* -------------------------------------------------------------------- constants */

bool alm_describing(const alm_planner *p)
{
    for (uint32_t i = 0; i < p->env->n_params; i++)
        if (p->env->params[i].value == NULL)
            return true;
    return false;
}

alm_status alm_bind_const(alm_planner *p, const alm_names *names, const alm_ast *ast,
                          const char *what, alm_expr **out)
{
    return alm_bind_const_for(p, names, ast, what, ALM_TY(NONE), out);
}

alm_status alm_bind_const_for(alm_planner *p, const alm_names *names, const alm_ast *ast,
                              const char *what, alm_type to, alm_expr **out)
{
    static const alm_select none = {0};
    alm_scope sc = {.p = p, .names = names, .sel = &none};
    alm_expr *e = NULL;
    ALM_TRY(alm_bind_expr(&sc, ast, &e));
    if (to.id != ALM_T_NONE && !alm_type_is_text(to) && alm_expr_may_exceed(e))
        ALM_TRY(alm_expr_widen(p, e, &e));
    if (p->env->as_template && alm_has_open(e))
        return alm_fail(p->cx, ALM_E_PARAM, ast->pos, "%s must be known", what);
    if (e->kind != ALM_X_CONST && e->kind != ALM_X_PARAM && p->env->sources != NULL &&
        p->env->sources->constant != NULL && !alm_expr_has_col(e)) {
        /* volatile, or waiting for a parameter */
        if (!alm_describing(p)) {
            alm_vec v = {0};
            ALM_TRY(p->env->sources->constant(p->cx, e, &v));
            v.type = e->type;
            ALM_TRY(alm_expr_const(p->cx, &v, e->pos, &e));
        }
    }
    if (e->kind == ALM_X_COL || alm_expr_has_mark(e, ALM_COL_OUTER))
        return alm_fail(p->cx, ALM_E_ARG, ast->pos, "%s must be constant", what);
    *out = e;
    return ALM_OK;
}

/* ------------------------------------------------------------------------ LIMIT */

/* *given is false for null and for a parameter without a value. */
static alm_status limit_value(alm_planner *p, const alm_names *names, const alm_ast *ast,
                              int64_t *out, bool *given)
{
    *given = false;
    if (ast == NULL)
        return ALM_OK;
    alm_expr *e = NULL, *cast = NULL;
    ALM_TRY(alm_bind_const(p, names, ast, "LIMIT", &e));
    ALM_TRY(alm_param_infer(p, &e, ALM_TY(LONG)));
    if (e->kind != ALM_X_CONST || alm_expr_is_null(e))
        return ALM_OK;
    if (alm_expr_int(e, out)) {
        *given = true;
        return ALM_OK;
    }
    /* '4' is what drivers write for a parameter in simple queries */
    const bool from_driver =
        (ast->kind == ALM_AST_PARAM && alm_type_is_text(e->type)) || ast->kind == ALM_AST_STRING;
    if (from_driver)
        ALM_TRY(alm_expr_try_cast(p, e, ALM_TY(LONG), ALM_CAST_IMPLICIT, &cast));
    if (cast == NULL || !alm_expr_int(cast, out))
        return alm_fail(p->cx, ALM_E_TYPE, ast->pos, "invalid type: %s", alm_type_name(e->type));
    *given = true;
    return ALM_OK;
}

/* Rows up to the n-th, and what is equal to it, are those before which fewer than n stand. */
alm_status alm_bind_ties(alm_planner *p, const alm_names *names, const alm_select *sel,
                         const alm_sort_key *keys, uint32_t n_keys, alm_plan **plan)
{
    int64_t n = 0, offset = 0;
    bool has_n = false, has_offset = false;
    alm_resolved r;
    alm_window_call *call = NULL;
    alm_expr *args[2] = {NULL, NULL}, *test = NULL;
    alm_exprs tests = {0};
    const uint32_t rank = (*plan)->n_cols;
    if (!sel->with_ties)
        return ALM_OK;
    ALM_TRY(limit_value(p, names, sel->limit_lo, &n, &has_n));
    ALM_TRY(limit_value(p, names, sel->offset, &offset, &has_offset));
    if (!has_n)
        return ALM_OK;
    if (n < 0)
        return alm_fail(p->cx, ALM_E_ARG, sel->limit_lo->pos,
                        "WITH TIES takes a number of rows from the first");
    if (has_offset && offset > 0 && __builtin_add_overflow(n, offset, &n))
        return ALM_OK;
    ALM_TRY(alm_registry_resolve(p->cx, p->env->registry, ALM_STR("rank"), ALM_FN_WINDOW,
                                 sel->limit_pos, 0, NULL, &r));
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &call));
    *call = (alm_window_call){.fn = r.fn,
                              .data = r.data,
                              .type = r.result,
                              .n_order = n_keys,
                              .frame = ALM_FRAME_RANGE,
                              .lo_kind = ALM_BOUND_UNBOUNDED_PRECEDING,
                              .hi_kind = ALM_BOUND_CURRENT,
                              .pos = sel->limit_pos};
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 1, &call->partition));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 1, &call->args));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n_keys, &call->order));
    memcpy(call->order, keys, n_keys * sizeof *keys);
    ALM_TRY(alm_plan_window(p, plan, call, 1));
    ALM_TRY(alm_expr_col(p->cx, rank, r.result, sel->limit_pos, &args[0]));
    ALM_TRY(alm_expr_bits(p->cx, r.result, (uint64_t)n, sel->limit_pos, &args[1]));
    ALM_TRY(alm_expr_call(p, "<=", sel->limit_pos, args, 2, &test));
    ALM_TRY(alm_exprs_add(p->cx, &tests, test));
    return alm_plan_filter(p, plan, &tests);
}

alm_status alm_bind_limit(alm_planner *p, const alm_names *names, const alm_select *sel,
                          alm_plan **plan)
{
    int64_t lo = 0, hi = 0, offset = 0;
    bool has_lo = false, has_hi = false, has_offset = false;
    ALM_TRY(limit_value(p, names, sel->limit_lo, &lo, &has_lo));
    ALM_TRY(limit_value(p, names, sel->limit_hi, &hi, &has_hi));
    ALM_TRY(limit_value(p, names, sel->offset, &offset, &has_offset));
    int64_t from = 0, to = INT64_MAX;
    if (sel->limit_comma) {
        from = has_lo ? lo : 0;
        to = has_hi ? hi : INT64_MAX;
        if (has_lo && has_hi && (from < 0) == (to < 0) && from > to) {
            const int64_t swap = from;
            from = to;
            to = swap;
        }
        if (from < 0 && has_hi && to == 0) /* up to the end */
            to = INT64_MAX;
    } else if (has_lo && !sel->with_ties) {
        if (lo >= 0)
            to = lo;
        else
            from = lo;
    }
    if (has_offset && offset > 0) {
        if (from >= 0 && to >= 0) {
            if (__builtin_add_overflow(from, offset, &from))
                from = INT64_MAX;
            if (to != INT64_MAX && __builtin_add_overflow(to, offset, &to))
                to = INT64_MAX;
        } else {
            ALM_TRY(alm_plan_limit(p, plan, offset, INT64_MAX));
        }
    }
    return alm_plan_limit(p, plan, from, to);
}
