/*
 * call.c - calls of bound expressions: overload resolution with the casts it asks for, constant
 * folding, casts, boolean shapes (expr.h).
 *
 * Describing  While a statement is described, a parameter of unknown type has type NONE; it takes
 *             the type that the first place it stands in asks for.
 */
#include "sql/plan/expr.h"
#include "type/array.h"

alm_status alm_param_infer(alm_planner *planner, alm_expr **expr, alm_type type)
{
    if (!alm_expr_unknown(*expr) || type.id == ALM_T_NONE)
        return ALM_OK;
    if (type.id == ALM_T_NULL || type.id == ALM_T_SYMBOL)
        type = ALM_TY(STRING);
    if (type.id == ALM_T_CHAR)
        type = alm_type_char_text();
    const uint32_t number = (*expr)->col;
    if (number < planner->env->n_params && planner->env->params[number].type.id == ALM_T_NONE)
        planner->env->params[number].type = type;
    alm_expr *copy = NULL;
    ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, &copy));
    *copy = **expr;
    copy->type = type;
    *expr = copy;
    return ALM_OK;
}

/* --------------------------------------------------------------------- folding */

static bool foldable(const alm_planner *planner, const alm_expr *expr)
{
    if (planner->env->sources == NULL || planner->env->sources->constant == NULL)
        return false;
    if (expr->kind == ALM_X_CALL) {
        if ((expr->fn->flags & ALM_FN_VOLATILE) != 0 || expr->fn->kind != ALM_FN_SCALAR)
            return false;
    } else if (expr->kind != ALM_X_CASE) {
        return false;
    }
    for (uint32_t i = 0; i < expr->n_args; i++)
        if (expr->args[i]->kind != ALM_X_CONST)
            return false;
    return true;
}

alm_status alm_expr_fold(alm_planner *planner, alm_expr **expr)
{
    if (!foldable(planner, *expr))
        return ALM_OK;
    alm_vec vec = {0};
    ALM_TRY(planner->env->sources->constant(planner->cx, *expr, &vec));
    vec.type = (*expr)->type;
    alm_expr *folded = NULL;
    ALM_TRY(alm_expr_const(planner->cx, &vec, (*expr)->pos, &folded));
    folded->stable_only = (*expr)->stable_only || ((*expr)->kind == ALM_X_CALL &&
                                                   ((*expr)->fn->flags & ALM_FN_STABLE) != 0);
    for (uint32_t i = 0; i < (*expr)->n_args; i++)
        folded->bound |= (*expr)->args[i]->bound;
    *expr = folded;
    return ALM_OK;
}

/* -------------------------------------------------------------------- casts */

/* Has it a value of its own in each row? Others are constants, parameters too, and are refused where they do not fit. */
static bool by_row(const alm_expr *expr)
{
    return alm_expr_has_col(expr) || alm_expr_volatile(expr);
}

/* A time of another unit is a time all the same: what the finer one does not hold is no null, in no row. */
static bool are_times(alm_type a, alm_type b)
{
    return alm_type_info_of(a)->cls == ALM_TC_TIME && alm_type_info_of(b)->cls == ALM_TC_TIME;
}

static const alm_fn *cast_fn(const alm_planner *planner, const alm_expr *expr, alm_type target,
                             alm_cast_mode mode)
{
    const alm_type from = expr->type;
    switch (mode) {
    case ALM_CAST_EXPLICIT:
        return alm_cast_fn(planner->env->registry, from, target);
    case ALM_CAST_IMPLICIT:
        return by_row(expr) && !are_times(from, target)
                   ? alm_lenient_fn(planner->env->registry, from, target)
                   : alm_implicit_fn(planner->env->registry, from, target);
    case ALM_CAST_WHOLE:
        return alm_implicit_fn(planner->env->registry, from, target);
    case ALM_CAST_ASSIGN:
        break;
    }
    return alm_assign_fn(planner->env->registry, from, target);
}

static alm_status make_call(alm_planner *planner, const alm_fn *fn, const void *data,
                            alm_type result, int32_t pos, alm_expr **args, uint32_t n_args,
                            alm_expr **out)
{
    alm_expr *expr = NULL;
    ALM_TRY(alm_nodes_add(planner->cx, 1, pos));
    ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, &expr));
    expr->kind = ALM_X_CALL;
    expr->type = result;
    expr->pos = pos;
    expr->fn = fn;
    expr->data = data;
    expr->n_args = n_args;
    if (n_args > 0) {
        ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_args, &expr->args));
        memcpy(expr->args, args, n_args * sizeof *args);
    }
    expr->stable_only = (fn->flags & (ALM_FN_STABLE | ALM_FN_VOLATILE)) != 0;
    if (expr->stable_only)
        alm_use_once(planner);
    if (expr->stable_only && planner->env->fixed)
        return alm_fail(planner->cx, ALM_E_ARG, pos,
                        "non-deterministic function cannot be used in materialized view: %s",
                        fn->name);
    for (uint32_t i = 0; i < n_args; i++)
        expr->stable_only |= args[i]->stable_only;
    ALM_TRY(alm_expr_measure(planner->cx, expr));
    *out = expr;
    return alm_fold_arithmetic(planner, out);
}

/* An array without elements has no dimensions of its own: drivers send it as DOUBLE[] whatever the column is. */
static bool is_empty_array(const alm_expr *expr)
{
    if (expr->kind != ALM_X_CONST || expr->type.id != ALM_T_ARRAY ||
        alm_vec_is_null(&expr->value, 0))
        return false;
    return alm_array_of(&expr->value, 0).count == 0;
}

static alm_status empty_array(alm_ctx *cx, alm_type type, int32_t pos, alm_expr **out)
{
    const uint32_t len[ALM_ARRAY_DIMS_MAX] = {0};
    alm_array_out writer = {0};
    alm_vec value = {0};
    ALM_TRY(alm_vec_new(cx, cx->arena, type, 1, &value));
    ALM_TRY(alm_array_begin(cx, cx->arena, pos, type.dims, len, &writer));
    const alm_view view = alm_array_finish(&writer);
    (void)memcpy(value.data, &view, sizeof(view));
    return alm_expr_const(cx, &value, pos, out);
}

/* Types that hold results of integer arithmetic that INT does not. */
static bool holds_more(alm_type type)
{
    return type.id == ALM_T_LONG || type.id == ALM_T_FLOAT || type.id == ALM_T_DOUBLE ||
           type.id == ALM_T_DECIMAL || type.id == ALM_T_LONG256 ||
           alm_type_info_of(type)->cls == ALM_TC_TIME;
}

alm_status alm_expr_try_cast(alm_planner *planner, alm_expr *expr, alm_type target,
                             alm_cast_mode mode, alm_expr **out)
{
    *out = expr;
    if (alm_expr_unknown(expr))
        return alm_param_infer(planner, out, target);
    if (alm_type_eq(expr->type, target) || target.id == ALM_T_NULL || target.id == ALM_T_NONE)
        return ALM_OK;
    if (expr->type.id == ALM_T_NULL)
        return alm_expr_null(planner->cx, target, expr->pos, out);
    if (target.id == ALM_T_ARRAY && expr->type.id == ALM_T_ARRAY && alm_expr_is_null(expr))
        return alm_expr_null(planner->cx, target, expr->pos, out); /* nor has null */
    if (target.id == ALM_T_ARRAY && is_empty_array(expr))
        return empty_array(planner->cx, target, expr->pos, out);
    if (expr->kind == ALM_X_PARAM && expr->type.id == ALM_T_ARRAY && target.id == ALM_T_ARRAY) {
        ALM_TRY(
            ALM_NEW(planner->cx, planner->cx->arena, out)); /* its dimensions come with its value */
        **out = *expr;
        (*out)->type = target;
        return ALM_OK;
    }
    if (holds_more(target) && alm_expr_may_exceed(expr)) {
        ALM_TRY(alm_expr_widen(planner, expr, out));
        return alm_expr_try_cast(planner, *out, target, mode, out);
    }
    const alm_fn *fn = cast_fn(planner, expr, target, mode);
    if (fn == NULL) {
        *out = NULL;
        return ALM_OK;
    }
    alm_type result = target;
    void *data = NULL;
    if (fn->bind != NULL) {
        alm_arg arg = {.type = expr->type,
                       .value = expr->kind == ALM_X_CONST ? &expr->value : NULL,
                       .pos = expr->pos,
                       .is_param = expr->kind == ALM_X_PARAM};
        ALM_TRY(fn->bind(planner->cx, fn, expr->pos, 1, &arg, &result, &data));
    }
    ALM_TRY(make_call(planner, fn, data, result, expr->pos, &expr, 1, out));
    (*out)->lenient = mode == ALM_CAST_IMPLICIT && (*out)->kind == ALM_X_CALL &&
                      fn != alm_implicit_fn(planner->env->registry, expr->type, target);
    return ALM_OK;
}

alm_status alm_expr_cast(alm_planner *planner, alm_expr *expr, alm_type target, alm_cast_mode mode,
                         alm_expr **out)
{
    alm_expr *cast = NULL;
    ALM_TRY(alm_expr_try_cast(planner, expr, target, mode, &cast));
    if (cast == NULL)
        return alm_fail(planner->cx, ALM_E_TYPE, expr->pos,
                        "inconvertible types: %s -> %s [from=%s, to=%s]", alm_type_name(expr->type),
                        alm_type_name(target), alm_type_name(expr->type), alm_type_name(target));
    *out = cast;
    return ALM_OK;
}

/* -------------------------------------------------------------------- calls */

/* dateadd('s', v * 2000000000, ts) takes a LONG as well, and gives the same: the INT, which may have been lost, is one. */
static alm_status resolve_wider(alm_planner *planner, alm_str name, int32_t pos, alm_expr **args,
                                uint32_t n_args, alm_arg *list, alm_resolved *out)
{
    alm_resolved wider;
    alm_arg *longs = NULL;
    bool any = false;
    if (alm_type_info_of(out->result)->cls != ALM_TC_TIME)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_args, &longs));
    for (uint32_t i = 0; i < n_args; i++) {
        longs[i] = list[i];
        if (list[i].type.id != ALM_T_INT || !alm_expr_may_exceed(args[i]))
            continue;
        any = true;
        longs[i].type = ALM_TY(LONG);
    }
    if (!any)
        return ALM_OK;
    const alm_status status = alm_registry_resolve(planner->cx, planner->env->registry, name,
                                                   ALM_FN_SCALAR, pos, n_args, longs, &wider);
    if (status == ALM_E_MEMORY)
        return status;
    if (status != ALM_OK) { /* it takes none */
        alm_error_clear(planner->cx);
        return ALM_OK;
    }
    if (!alm_type_eq(wider.result, out->result))
        return ALM_OK;
    *out = wider;
    memcpy(list, longs, n_args * sizeof *list);
    return ALM_OK;
}

alm_status alm_args_resolve(alm_planner *planner, alm_str name, alm_fn_kind kind, int32_t pos,
                            alm_expr **args, uint32_t n_args, alm_resolved *out)
{
    enum { ON_STACK = 16 };
    alm_arg small[ON_STACK] = {0}, *list = small;
    if (n_args > ON_STACK)
        ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_args, &list));
    for (uint32_t i = 0; i < n_args; i++) {
        list[i].type = args[i]->type;
        list[i].value = args[i]->kind == ALM_X_CONST ? &args[i]->value : NULL;
        list[i].pos = args[i]->pos;
        list[i].is_param = args[i]->kind == ALM_X_PARAM;
    }
    ALM_TRY(alm_registry_resolve(planner->cx, planner->env->registry, name, kind, pos, n_args, list,
                                 out));
    if (kind == ALM_FN_SCALAR)
        ALM_TRY(resolve_wider(planner, name, pos, args, n_args, list, out));
    if ((out->fn->flags & ALM_FN_EFFECT) != 0 && (planner->view != NULL || planner->env->of_view) &&
        !planner->env->fixed)
        return alm_fail(
            planner->cx, ALM_E_ARG, pos,
            "function %s cannot be used in a view: it would act with the permissions of "
            "whoever reads the view",
            out->fn->name);
    planner->cx->waits |= (out->fn->flags & ALM_FN_WAITS) != 0;
    planner->cx->effects |= (out->fn->flags & ALM_FN_EFFECT) != 0;
    for (uint32_t i = 0; i < n_args; i++) {
        if (alm_type_eq(args[i]->type, list[i].type))
            continue;
        alm_expr *cast = NULL;
        ALM_TRY(alm_expr_try_cast(planner, args[i], list[i].type,
                                  kind == ALM_FN_SCALAR ? ALM_CAST_IMPLICIT : ALM_CAST_WHOLE,
                                  &cast));
        if (cast == NULL)
            ALM_TRY(alm_expr_cast(planner, args[i], list[i].type, ALM_CAST_EXPLICIT, &cast));
        args[i] = cast;
    }
    return ALM_OK;
}

alm_status alm_expr_call_str(alm_planner *planner, alm_str name, int32_t pos, alm_expr **args,
                             uint32_t n, alm_expr **out)
{
    alm_resolved resolved;
    ALM_TRY(alm_args_resolve(planner, name, ALM_FN_SCALAR, pos, args, n, &resolved));
    return make_call(planner, resolved.fn, resolved.data, resolved.result, pos, args, n, out);
}

alm_status alm_expr_call(alm_planner *planner, const char *name, int32_t pos, alm_expr **args,
                         uint32_t n, alm_expr **out)
{
    return alm_expr_call_str(planner, alm_str_of(name), pos, args, n, out);
}

/* -------------------------------------------------------------- comparisons */

static const char CONVERTS[] = "converts", DOES_NOT_CONVERT[] = "does not convert";

/* op of two values holds for two nulls, or for one (!=): then what does not convert must not pass for a null. */
static bool holds_for_null(const char *op)
{
    return op[0] == '=' || op[0] == '!' || op[1] == '=' || op[1] == '>';
}

static bool plan_call_may_be_null(const alm_expr *expr)
{
    return expr->kind == ALM_X_CONST ? alm_expr_is_null(expr)
                                     : alm_type_info_of(expr->type)->null != ALM_NULL_NONE;
}

/* `test`, false (or true, for !=) where `cast` had a value that does not convert. */
static alm_status guard(alm_planner *planner, bool differs, int32_t pos, const alm_expr *cast,
                        alm_expr *test, alm_expr **out)
{
    alm_expr *both[2] = {cast->args[0], (alm_expr *)(uintptr_t)cast}, *sides[2] = {test, NULL};
    ALM_TRY(alm_expr_call(planner, differs ? DOES_NOT_CONVERT : CONVERTS, pos, both, 2, &sides[1]));
    return alm_expr_call(planner, differs ? "or" : "and", pos, sides, 2, out);
}

alm_status alm_expr_compare(alm_planner *planner, const char *op, int32_t pos, alm_expr **args,
                            alm_expr **out)
{
    const bool differs = op[0] == '!' || op[1] == '>';
    ALM_TRY(alm_expr_call(planner, op, pos, args, 2, out));
    for (uint32_t i = 0; i < 2 && holds_for_null(op); i++)
        if (args[i]->lenient && plan_call_may_be_null(args[1 - i]))
            ALM_TRY(guard(planner, differs, pos, args[i], *out, out));
    return ALM_OK;
}

/* The comparison that alm_expr_compare guarded, expr itself where it did not. */
static alm_expr *unguarded(alm_expr *expr)
{
    while (expr->kind == ALM_X_CALL && expr->n_args == 2 &&
           (alm_expr_is_call(expr->args[1], CONVERTS) ||
            alm_expr_is_call(expr->args[1], DOES_NOT_CONVERT)))
        expr = expr->args[0];
    return expr;
}

/* ------------------------------------------------------------------ booleans */

alm_status alm_expr_and(alm_planner *planner, alm_expr *a, alm_expr *b, alm_expr **out)
{
    if (a == NULL || alm_expr_is_true(a) || alm_expr_is_false(b)) {
        *out = b;
        return ALM_OK;
    }
    if (alm_expr_is_true(b) || alm_expr_is_false(a)) {
        *out = a;
        return ALM_OK;
    }
    alm_expr *args[2] = {a, b};
    return alm_expr_call(planner, "and", b->pos, args, 2, out);
}

/* x >= lo and x <= hi made of x BETWEEN lo AND hi: both sides are the same node. Turned around, the
 * comparisons would lose rows where x is null, which NOT BETWEEN keeps. */
static bool is_between(const alm_expr *expr)
{
    return alm_expr_is_call(expr, "and") && expr->n_args == 2 &&
           expr->args[0]->kind == ALM_X_CALL && expr->args[1]->kind == ALM_X_CALL &&
           expr->args[0]->n_args == 2 && expr->args[1]->n_args == 2 &&
           expr->args[0]->args[0] == expr->args[1]->args[0];
}

alm_status alm_expr_not(alm_planner *planner, alm_expr *expr, int32_t pos, alm_expr **out)
{
    expr = unguarded(expr);
    if (is_between(expr))
        return alm_expr_call(planner, "not", pos, &expr, 1, out);
    if (alm_expr_is_call(expr, "not")) {
        *out = expr->args[0];
        return ALM_OK;
    }
    const bool is_and = alm_expr_is_call(expr, "and"), is_or = alm_expr_is_call(expr, "or");
    if (is_and || is_or) {
        alm_expr *args[2] = {NULL, NULL};
        if (expr->n_args == 2) {
            ALM_TRY(alm_expr_not(planner, expr->args[0], pos, &args[0]));
            ALM_TRY(alm_expr_not(planner, expr->args[1], pos, &args[1]));
            return alm_expr_call(planner, is_and ? "or" : "and", expr->pos, args, 2, out);
        }
    }
    const char *turned = expr->kind == ALM_X_CALL ? alm_fn_negated(expr->fn->name) : NULL;
    if (turned != NULL && expr->n_args == 2) {
        alm_expr *args[2] = {expr->args[0], expr->args[1]};
        return alm_expr_compare(planner, turned, expr->pos, args, out);
    }
    return alm_expr_call(planner, "not", pos, &expr, 1, out);
}

alm_status alm_expr_null_test(alm_planner *planner, alm_expr *expr, bool negated, int32_t pos,
                              alm_expr **out)
{
    if (expr->type.id == ALM_T_NULL)
        return alm_expr_bool(planner->cx, !negated, pos, out);
    return alm_expr_call(planner, negated ? "is not null" : "is null", pos, &expr, 1, out);
}
