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

alm_status alm_no_union(alm_planner *planner, int32_t pos, const char *column, alm_type from,
                        alm_type target)
{
    return alm_fail(planner->cx, ALM_E_TYPE, pos, "unsupported cast [column=%s, from=%s, to=%s]",
                    column, alm_type_name(from), alm_type_name(target));
}

static alm_status meet_columns(alm_planner *planner, const alm_select *sel, alm_plan **left,
                               alm_plan **right)
{
    const uint32_t n = (*left)->n_cols;
    alm_type *types = NULL, *right_types = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n + 1, &types));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n + 1, &right_types));
    for (uint32_t i = 0; i < n; i++) {
        const alm_type a = (*left)->cols[i].type, b = (*right)->cols[i].type;
        /* what only takes rows away keeps symbols */
        const bool keep = sel->op != ALM_SET_UNION && alm_type_is_text(a) && alm_type_is_text(b);
        types[i] = keep                                           ? a
                   : a.id == ALM_T_SYMBOL && b.id == ALM_T_SYMBOL ? ALM_TY(STRING)
                                                                  : alm_type_union(a, b);
        if (types[i].id == ALM_T_NONE && a.id != ALM_T_NONE && b.id != ALM_T_NONE)
            return alm_no_union(planner, column_pos(sel->right, n, i), (*right)->cols[i].name, b,
                                a);
        right_types[i] = keep ? b : types[i];
    }
    ALM_TRY(alm_plan_cast(planner, left, types, ALM_CAST_IMPLICIT));
    return alm_plan_cast(planner, right, right_types, ALM_CAST_IMPLICIT);
}

static enum alm_set_kind bind_setop_kind_of(const alm_select *sel)
{
    if (sel->op == ALM_SET_EXCEPT)
        return sel->all ? ALM_SETOP_EXCEPT_ALL : ALM_SETOP_EXCEPT;
    if (sel->op == ALM_SET_INTERSECT)
        return sel->all ? ALM_SETOP_INTERSECT_ALL : ALM_SETOP_INTERSECT;
    return ALM_SETOP_UNION_ALL;
}

alm_status alm_bind_setop(alm_planner *planner, const alm_names *names, const alm_select *sel,
                          alm_plan **out)
{
    alm_plan *left = NULL, *right = NULL, *node = NULL;
    ALM_TRY(alm_bind_query(planner, names, sel->left, &left));
    ALM_TRY(alm_bind_query(planner, names, sel->right, &right));
    if (left->n_cols != right->n_cols)
        return alm_fail(planner->cx, ALM_E_TYPE, sel->right->pos,
                        "queries have different number of columns");
    ALM_TRY(meet_columns(planner, sel, &left, &right));
    ALM_TRY(alm_plan_new2(planner, ALM_P_SETOP, sel->op_pos, left, right, &node));
    node->cols = left->cols;
    node->n_cols = left->n_cols;
    node->setop.kind = bind_setop_kind_of(sel);
    if (sel->op != ALM_SET_UNION) {
        node->ts_col = left->ts_col;
        node->order = left->order;
    }
    if (sel->op == ALM_SET_UNION && !sel->all)
        ALM_TRY(alm_plan_distinct(planner, &node));
    ALM_TRY(alm_bind_order_result(planner, names, sel, &node));
    *out = node;
    return alm_bind_limit(planner, names, sel, out);
}

static alm_status result_key(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    int64_t place = 0;
    alm_expr *expr = NULL;
    ALM_TRY(alm_bind_expr(scope, ast, &expr));
    if (ast->kind == ALM_AST_NUMBER && alm_expr_int(expr, &place)) {
        const uint32_t n_cols = scope->rels[0].n_cols; /* the plan has those of subqueries too */
        if (place < 1 || place > (int64_t)n_cols)
            return alm_fail(scope->p->cx, ALM_E_SYNTAX, ast->pos,
                            "order column position is out of range [max=%u]", n_cols);
        ALM_TRY(alm_expr_col(scope->p->cx, (uint32_t)place - 1, scope->plan->cols[place - 1].type,
                             ast->pos, &expr));
        *out = expr;
        return ALM_OK;
    }
    *out = expr;
    return alm_order_refuse_constant(scope->p, ast);
}

alm_status alm_bind_order_result(alm_planner *planner, const alm_names *names,
                                 const alm_select *sel, alm_plan **plan)
{
    alm_scope scope = {.p = planner, .names = names, .sel = sel, .plan = *plan};
    alm_sort_key *keys = NULL;
    uint32_t count = 0;
    ALM_TRY(alm_scope_add(&scope, (alm_str){0}, NULL, *plan, 0));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, sel->n_order + 1, &keys));
    for (uint32_t i = 0; i < sel->n_order; i++) {
        alm_expr *expr = NULL;
        ALM_TRY(result_key(&scope, sel->order[i].expr, &expr));
        if (expr != NULL && expr->kind != ALM_X_CONST)
            ALM_TRY(alm_sort_key_make(planner, expr, &sel->order[i], &keys[count++]));
    }
    const uint32_t n_cols = (*plan)->n_cols;
    *plan = scope.plan; /* subqueries in the keys are joined to it */
    if (count > 0) {
        ALM_TRY(alm_bind_ties(planner, names, sel, keys, count, plan));
        ALM_TRY(alm_plan_sort(planner, plan, keys, count));
    }
    return alm_plan_cut(planner, plan, n_cols);
}

/* -------------------------------------------------------------------- constants */

bool alm_describing(const alm_planner *planner)
{
    for (uint32_t i = 0; i < planner->env->n_params; i++)
        if (planner->env->params[i].value == NULL)
            return true;
    return false;
}

alm_status alm_bind_const(alm_planner *planner, const alm_names *names, const alm_ast *ast,
                          const char *what, alm_expr **out)
{
    return alm_bind_const_for(planner, names, ast, what, ALM_TY(NONE), out);
}

alm_status alm_bind_const_for(alm_planner *planner, const alm_names *names, const alm_ast *ast,
                              const char *what, alm_type target, alm_expr **out)
{
    static const alm_select none = {0};
    alm_scope scope = {.p = planner, .names = names, .sel = &none};
    alm_expr *expr = NULL;
    ALM_TRY(alm_bind_expr(&scope, ast, &expr));
    if (target.id != ALM_T_NONE && !alm_type_is_text(target) && alm_expr_may_exceed(expr))
        ALM_TRY(alm_expr_widen(planner, expr, &expr));
    if (planner->env->as_template && alm_has_open(expr))
        return alm_fail(planner->cx, ALM_E_PARAM, ast->pos, "%s must be known", what);
    if (expr->kind != ALM_X_CONST && expr->kind != ALM_X_PARAM && planner->env->sources != NULL &&
        planner->env->sources->constant != NULL && !alm_expr_has_col(expr)) {
        /* volatile, or waiting for a parameter */
        if (!alm_describing(planner)) {
            alm_vec vec = {0};
            ALM_TRY(planner->env->sources->constant(planner->cx, expr, &vec));
            vec.type = expr->type;
            ALM_TRY(alm_expr_const(planner->cx, &vec, expr->pos, &expr));
        }
    }
    if (expr->kind == ALM_X_COL || alm_expr_has_mark(expr, ALM_COL_OUTER))
        return alm_fail(planner->cx, ALM_E_ARG, ast->pos, "%s must be constant", what);
    *out = expr;
    return ALM_OK;
}

/* ------------------------------------------------------------------------ LIMIT */

/* *given is false for null and for a parameter without a value. */
static alm_status limit_value(alm_planner *planner, const alm_names *names, const alm_ast *ast,
                              int64_t *out, bool *given)
{
    *given = false;
    if (ast == NULL)
        return ALM_OK;
    alm_expr *expr = NULL, *cast = NULL;
    ALM_TRY(alm_bind_const(planner, names, ast, "LIMIT", &expr));
    ALM_TRY(alm_param_infer(planner, &expr, ALM_TY(LONG)));
    if (expr->kind != ALM_X_CONST || alm_expr_is_null(expr))
        return ALM_OK;
    if (alm_expr_int(expr, out)) {
        *given = true;
        return ALM_OK;
    }
    /* '4' is what drivers write for a parameter in simple queries */
    const bool from_driver =
        (ast->kind == ALM_AST_PARAM && alm_type_is_text(expr->type)) || ast->kind == ALM_AST_STRING;
    if (from_driver)
        ALM_TRY(alm_expr_try_cast(planner, expr, ALM_TY(LONG), ALM_CAST_IMPLICIT, &cast));
    if (cast == NULL || !alm_expr_int(cast, out))
        return alm_fail(planner->cx, ALM_E_TYPE, ast->pos, "invalid type: %s",
                        alm_type_name(expr->type));
    *given = true;
    return ALM_OK;
}

/* Rows up to the n-th, and what is equal to it, are those before which fewer than n stand. */
alm_status alm_bind_ties(alm_planner *planner, const alm_names *names, const alm_select *sel,
                         const alm_sort_key *keys, uint32_t n_keys, alm_plan **plan)
{
    int64_t n = 0, offset = 0;
    bool has_n = false, has_offset = false;
    alm_resolved resolved;
    alm_window_call *call = NULL;
    alm_expr *args[2] = {NULL, NULL}, *test = NULL;
    alm_exprs tests = {0};
    const uint32_t rank = (*plan)->n_cols;
    if (!sel->with_ties)
        return ALM_OK;
    ALM_TRY(limit_value(planner, names, sel->limit_lo, &n, &has_n));
    ALM_TRY(limit_value(planner, names, sel->offset, &offset, &has_offset));
    if (!has_n)
        return ALM_OK;
    if (n < 0)
        return alm_fail(planner->cx, ALM_E_ARG, sel->limit_lo->pos,
                        "WITH TIES takes a number of rows from the first");
    if (has_offset && offset > 0 && __builtin_add_overflow(n, offset, &n))
        return ALM_OK;
    ALM_TRY(alm_registry_resolve(planner->cx, planner->env->registry, ALM_STR("rank"),
                                 ALM_FN_WINDOW, sel->limit_pos, 0, NULL, &resolved));
    ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, &call));
    *call = (alm_window_call){.fn = resolved.fn,
                              .data = resolved.data,
                              .type = resolved.result,
                              .n_order = n_keys,
                              .frame = ALM_FRAME_RANGE,
                              .lo_kind = ALM_BOUND_UNBOUNDED_PRECEDING,
                              .hi_kind = ALM_BOUND_CURRENT,
                              .pos = sel->limit_pos};
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 1, &call->partition));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 1, &call->args));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_keys, &call->order));
    memcpy(call->order, keys, n_keys * sizeof *keys);
    ALM_TRY(alm_plan_window(planner, plan, call, 1));
    ALM_TRY(alm_expr_col(planner->cx, rank, resolved.result, sel->limit_pos, &args[0]));
    ALM_TRY(alm_expr_bits(planner->cx, resolved.result, (uint64_t)n, sel->limit_pos, &args[1]));
    ALM_TRY(alm_expr_call(planner, "<=", sel->limit_pos, args, 2, &test));
    ALM_TRY(alm_exprs_add(planner->cx, &tests, test));
    return alm_plan_filter(planner, plan, &tests);
}

alm_status alm_bind_limit(alm_planner *planner, const alm_names *names, const alm_select *sel,
                          alm_plan **plan)
{
    int64_t lo = 0, hi = 0, offset = 0;
    bool has_lo = false, has_hi = false, has_offset = false;
    ALM_TRY(limit_value(planner, names, sel->limit_lo, &lo, &has_lo));
    ALM_TRY(limit_value(planner, names, sel->limit_hi, &hi, &has_hi));
    ALM_TRY(limit_value(planner, names, sel->offset, &offset, &has_offset));
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
            ALM_TRY(alm_plan_limit(planner, plan, offset, INT64_MAX));
        }
    }
    return alm_plan_limit(planner, plan, from, to);
}
