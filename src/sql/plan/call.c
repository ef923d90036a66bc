/*
 * call.c - calls of bound expressions: overload resolution with the casts it asks for, constant
 * folding, casts, boolean shapes (expr.h).
 *
 * Describing  While a statement is described, a parameter of unknown type has type NONE; it takes
 *             the type that the first place it stands in asks for.
 */
#include "sql/plan/expr.h"
#include "type/array.h"

alm_status alm_param_infer(alm_planner *p, alm_expr **e, alm_type type)
{
    if (!alm_expr_unknown(*e) || type.id == ALM_T_NONE)
        return ALM_OK;
    if (type.id == ALM_T_NULL || type.id == ALM_T_SYMBOL)
        type = ALM_TY(STRING);
    if (type.id == ALM_T_CHAR)
        type = alm_type_char_text();
    const uint32_t number = (*e)->col;
    if (number < p->env->n_params && p->env->params[number].type.id == ALM_T_NONE)
        p->env->params[number].type = type;
    alm_expr *copy = NULL;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &copy));
    *copy = **e;
    copy->type = type;
    *e = copy;
    return ALM_OK;
}

/* --------------------------------------------------------------------- folding */

static bool foldable(const alm_planner *p, const alm_expr *e)
{
    if (p->env->sources == NULL || p->env->sources->constant == NULL)
        return false;
    if (e->kind == ALM_X_CALL) {
        if ((e->fn->flags & ALM_FN_VOLATILE) != 0 || e->fn->kind != ALM_FN_SCALAR)
            return false;
    } else if (e->kind != ALM_X_CASE) {
        return false;
    }
    for (uint32_t i = 0; i < e->n_args; i++)
        if (e->args[i]->kind != ALM_X_CONST)
            return false;
    return true;
}

alm_status alm_expr_fold(alm_planner *p, alm_expr **e)
{
    if (!foldable(p, *e))
        return ALM_OK;
    alm_vec v = {0};
    ALM_TRY(p->env->sources->constant(p->cx, *e, &v));
    v.type = (*e)->type;
    alm_expr *folded = NULL;
    ALM_TRY(alm_expr_const(p->cx, &v, (*e)->pos, &folded));
    folded->stable_only =
        (*e)->stable_only || ((*e)->kind == ALM_X_CALL && ((*e)->fn->flags & ALM_FN_STABLE) != 0);
    for (uint32_t i = 0; i < (*e)->n_args; i++)
        folded->bound |= (*e)->args[i]->bound;
    *e = folded;
    return ALM_OK;
}

/* -------------------------------------------------------------------- casts */

/* Has it a value of its own in each row? Others are constants, parameters too, and are refused where they do not fit. */
static bool by_row(const alm_expr *e)
{
    return alm_expr_has_col(e) || alm_expr_volatile(e);
}

/* A time of another unit is a time all the same: what the finer one does not hold is no null, in no row. */
static bool are_times(alm_type a, alm_type b)
{
    return alm_type_info_of(a)->cls == ALM_TC_TIME && alm_type_info_of(b)->cls == ALM_TC_TIME;
}

static const alm_fn *cast_fn(const alm_planner *p, const alm_expr *e, alm_type to,
                             alm_cast_mode mode)
{
    const alm_type from = e->type;
    switch (mode) {
    case ALM_CAST_EXPLICIT:
        return alm_cast_fn(p->env->registry, from, to);
    case ALM_CAST_IMPLICIT:
        return by_row(e) && !are_times(from, to) ? alm_lenient_fn(p->env->registry, from, to)
                                                 : alm_implicit_fn(p->env->registry, from, to);
    case ALM_CAST_WHOLE:
        return alm_implicit_fn(p->env->registry, from, to);
    case ALM_CAST_ASSIGN:
        break;
    }
    return alm_assign_fn(p->env->registry, from, to);
}

static alm_status make_call(alm_planner *p, const alm_fn *fn, const void *data, alm_type result,
                            int32_t pos, alm_expr **args, uint32_t n, alm_expr **out)
{
    alm_expr *e = NULL;
    ALM_TRY(alm_nodes_add(p->cx, 1, pos));
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &e));
    e->kind = ALM_X_CALL;
    e->type = result;
    e->pos = pos;
    e->fn = fn;
    e->data = data;
    e->n_args = n;
    if (n > 0) {
        ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n, &e->args));
        memcpy(e->args, args, n * sizeof *args);
    }
    e->stable_only = (fn->flags & (ALM_FN_STABLE | ALM_FN_VOLATILE)) != 0;
    if (e->stable_only)
        alm_use_once(p);
    if (e->stable_only && p->env->fixed)
        return alm_fail(p->cx, ALM_E_ARG, pos,
                        "non-deterministic function cannot be used in materialized view: %s",
                        fn->name);
    for (uint32_t i = 0; i < n; i++)
        e->stable_only |= args[i]->stable_only;
    ALM_TRY(alm_expr_measure(p->cx, e));
    *out = e;
    return alm_fold_arithmetic(p, out);
}

/* An array without elements has no dimensions of its own: drivers send it as DOUBLE[] whatever the column is. */
static bool is_empty_array(const alm_expr *e)
{
    if (e->kind != ALM_X_CONST || e->type.id != ALM_T_ARRAY || alm_vec_is_null(&e->value, 0))
        return false;
    return alm_array_of(&e->value, 0).count == 0;
}

static alm_status empty_array(alm_ctx *cx, alm_type type, int32_t pos, alm_expr **out)
{
    const uint32_t len[ALM_ARRAY_DIMS_MAX] = {0};
    alm_array_out w = {0};
    alm_vec value = {0};
    ALM_TRY(alm_vec_new(cx, cx->arena, type, 1, &value));
    ALM_TRY(alm_array_begin(cx, cx->arena, pos, type.dims, len, &w));
    const alm_view view = alm_array_finish(&w);
    (void)memcpy(value.data, &view, sizeof(view));
    return alm_expr_const(cx, &value, pos, out);
}

/* Types that hold results of integer arithmetic that INT does not. */
static bool holds_more(alm_type t)
{
    return t.id == ALM_T_LONG || t.id == ALM_T_FLOAT || t.id == ALM_T_DOUBLE ||
           t.id == ALM_T_DECIMAL || t.id == ALM_T_LONG256 ||
           alm_type_info_of(t)->cls == ALM_TC_TIME;
}

alm_status alm_expr_try_cast(alm_planner *p, alm_expr *e, alm_type to, alm_cast_mode mode,
                             alm_expr **out)
{
    *out = e;
    if (alm_expr_unknown(e))
        return alm_param_infer(p, out, to);
    if (alm_type_eq(e->type, to) || to.id == ALM_T_NULL || to.id == ALM_T_NONE)
        return ALM_OK;
    if (e->type.id == ALM_T_NULL)
        return alm_expr_null(p->cx, to, e->pos, out);
    if (to.id == ALM_T_ARRAY && e->type.id == ALM_T_ARRAY && alm_expr_is_null(e))
        return alm_expr_null(p->cx, to, e->pos, out); /* nor has null */
    if (to.id == ALM_T_ARRAY && is_empty_array(e))
        return empty_array(p->cx, to, e->pos, out);
    if (e->kind == ALM_X_PARAM && e->type.id == ALM_T_ARRAY && to.id == ALM_T_ARRAY) {
        ALM_TRY(ALM_NEW(p->cx, p->cx->arena, out)); /* its dimensions come with its value */
        **out = *e;
        (*out)->type = to;
        return ALM_OK;
    }
    if (holds_more(to) && alm_expr_may_exceed(e)) {
        ALM_TRY(alm_expr_widen(p, e, out));
        return alm_expr_try_cast(p, *out, to, mode, out);
    }
    const alm_fn *fn = cast_fn(p, e, to, mode);
    if (fn == NULL) {
        *out = NULL;
        return ALM_OK;
    }
    alm_type result = to;
    void *data = NULL;
    if (fn->bind != NULL) {
        alm_arg arg = {.type = e->type,
                       .value = e->kind == ALM_X_CONST ? &e->value : NULL,
                       .pos = e->pos,
                       .is_param = e->kind == ALM_X_PARAM};
        ALM_TRY(fn->bind(p->cx, fn, e->pos, 1, &arg, &result, &data));
    }
    ALM_TRY(make_call(p, fn, data, result, e->pos, &e, 1, out));
    (*out)->lenient = mode == ALM_CAST_IMPLICIT && (*out)->kind == ALM_X_CALL &&
                      fn != alm_implicit_fn(p->env->registry, e->type, to);
    return ALM_OK;
}

alm_status alm_expr_cast(alm_planner *p, alm_expr *e, alm_type to, alm_cast_mode mode,
                         alm_expr **out)
{
    alm_expr *cast = NULL;
    ALM_TRY(alm_expr_try_cast(p, e, to, mode, &cast));
    if (cast == NULL)
        return alm_fail(p->cx, ALM_E_TYPE, e->pos, "inconvertible types: %s -> %s [from=%s, to=%s]",
                        alm_type_name(e->type), alm_type_name(to), alm_type_name(e->type),
                        alm_type_name(to));
    *out = cast;
    return ALM_OK;
}

/* -------------------------------------------------------------------- calls */

/* dateadd('s', v * 2000000000, ts) takes a LONG as well, and gives the same: the INT, which may have been lost, is one. */
static alm_status resolve_wider(alm_planner *p, alm_str name, int32_t pos, alm_expr **args,
                                uint32_t n, alm_arg *list, alm_resolved *out)
{
    alm_resolved wider;
    alm_arg *longs = NULL;
    bool any = false;
    if (alm_type_info_of(out->result)->cls != ALM_TC_TIME)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n, &longs));
    for (uint32_t i = 0; i < n; i++) {
        longs[i] = list[i];
        if (list[i].type.id != ALM_T_INT || !alm_expr_may_exceed(args[i]))
            continue;
        any = true;
        longs[i].type = ALM_TY(LONG);
    }
    if (!any)
        return ALM_OK;
    const alm_status st =
        alm_registry_resolve(p->cx, p->env->registry, name, ALM_FN_SCALAR, pos, n, longs, &wider);
    if (st == ALM_E_MEMORY)
        return st;
    if (st != ALM_OK) { /* it takes none */
        alm_error_clear(p->cx);
        return ALM_OK;
    }
    if (!alm_type_eq(wider.result, out->result))
        return ALM_OK;
    *out = wider;
    memcpy(list, longs, n * sizeof *list);
    return ALM_OK;
}

alm_status alm_args_resolve(alm_planner *p, alm_str name, alm_fn_kind kind, int32_t pos,
                            alm_expr **args, uint32_t n, alm_resolved *out)
{
    enum { ON_STACK = 16 };
    alm_arg small[ON_STACK] = {0}, *list = small;
    if (n > ON_STACK)
        ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n, &list));
    for (uint32_t i = 0; i < n; i++) {
        list[i].type = args[i]->type;
        list[i].value = args[i]->kind == ALM_X_CONST ? &args[i]->value : NULL;
        list[i].pos = args[i]->pos;
        list[i].is_param = args[i]->kind == ALM_X_PARAM;
    }
    ALM_TRY(alm_registry_resolve(p->cx, p->env->registry, name, kind, pos, n, list, out));
    if (kind == ALM_FN_SCALAR)
        ALM_TRY(resolve_wider(p, name, pos, args, n, list, out));
    if ((out->fn->flags & ALM_FN_EFFECT) != 0 && (p->view != NULL || p->env->of_view) &&
        !p->env->fixed)
        return alm_fail(
            p->cx, ALM_E_ARG, pos,
            "function %s cannot be used in a view: it would act with the permissions of "
            "whoever reads the view",
            out->fn->name);
    p->cx->waits |= (out->fn->flags & ALM_FN_WAITS) != 0;
    p->cx->effects |= (out->fn->flags & ALM_FN_EFFECT) != 0;
    for (uint32_t i = 0; i < n; i++) {
        if (alm_type_eq(args[i]->type, list[i].type))
            continue;
        alm_expr *cast = NULL;
        ALM_TRY(alm_expr_try_cast(p, args[i], list[i].type,
                                  kind == ALM_FN_SCALAR ? ALM_CAST_IMPLICIT : ALM_CAST_WHOLE,
                                  &cast));
        if (cast == NULL)
            ALM_TRY(alm_expr_cast(p, args[i], list[i].type, ALM_CAST_EXPLICIT, &cast));
        args[i] = cast;
    }
    return ALM_OK;
}

alm_status alm_expr_call_str(alm_planner *p, alm_str name, int32_t pos, alm_expr **args, uint32_t n,
                             alm_expr **out)
{
    alm_resolved r;
    ALM_TRY(alm_args_resolve(p, name, ALM_FN_SCALAR, pos, args, n, &r));
    return make_call(p, r.fn, r.data, r.result, pos, args, n, out);
}

alm_status alm_expr_call(alm_planner *p, const char *name, int32_t pos, alm_expr **args, uint32_t n,
                         alm_expr **out)
{
    return alm_expr_call_str(p, alm_str_of(name), pos, args, n, out);
}

/* -------------------------------------------------------------- comparisons */

static const char CONVERTS[] = "converts", DOES_NOT_CONVERT[] = "does not convert";

/* op of two values holds for two nulls, or for one (!=): then what does not convert must not pass for a null. */
static bool holds_for_null(const char *op)
{
    return op[0] == '=' || op[0] == '!' || op[1] == '=' || op[1] == '>';
}

static bool may_be_null(const alm_expr *e)
{
    return e->kind == ALM_X_CONST ? alm_expr_is_null(e)
                                  : alm_type_info_of(e->type)->null != ALM_NULL_NONE;
}

/* `test`, false (or true, for !=) where `cast` had a value that does not convert. */
static alm_status guard(alm_planner *p, bool differs, int32_t pos, const alm_expr *cast,
                        alm_expr *test, alm_expr **out)
{
    alm_expr *both[2] = {cast->args[0], (alm_expr *)(uintptr_t)cast}, *sides[2] = {test, NULL};
    ALM_TRY(alm_expr_call(p, differs ? DOES_NOT_CONVERT : CONVERTS, pos, both, 2, &sides[1]));
    return alm_expr_call(p, differs ? "or" : "and", pos, sides, 2, out);
}

alm_status alm_expr_compare(alm_planner *p, const char *op, int32_t pos, alm_expr **args,
                            alm_expr **out)
{
    const bool differs = op[0] == '!' || op[1] == '>';
    ALM_TRY(alm_expr_call(p, op, pos, args, 2, out));
    for (uint32_t i = 0; i < 2 && holds_for_null(op); i++)
        if (args[i]->lenient && may_be_null(args[1 - i]))
            ALM_TRY(guard(p, differs, pos, args[i], *out, out));
    return ALM_OK;
}

/* The comparison that alm_expr_compare guarded, e itself where it did not. */
static alm_expr *unguarded(alm_expr *e)
{
    while (
        e->kind == ALM_X_CALL && e->n_args == 2 &&
        (alm_expr_is_call(e->args[1], CONVERTS) || alm_expr_is_call(e->args[1], DOES_NOT_CONVERT)))
        e = e->args[0];
    return e;
}

/* ------------------------------------------------------------------ booleans */

alm_status alm_expr_and(alm_planner *p, alm_expr *a, alm_expr *b, alm_expr **out)
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
    return alm_expr_call(p, "and", b->pos, args, 2, out);
}

/* x >= lo and x <= hi made of x BETWEEN lo AND hi: both sides are the same node. Turned around, the
 * comparisons would lose rows where x is null, which NOT BETWEEN keeps. */
static bool is_between(const alm_expr *e)
{
    return alm_expr_is_call(e, "and") && e->n_args == 2 && e->args[0]->kind == ALM_X_CALL &&
           e->args[1]->kind == ALM_X_CALL && e->args[0]->n_args == 2 && e->args[1]->n_args == 2 &&
           e->args[0]->args[0] == e->args[1]->args[0];
}

alm_status alm_expr_not(alm_planner *p, alm_expr *e, int32_t pos, alm_expr **out)
{
    e = unguarded(e);
    if (is_between(e))
        return alm_expr_call(p, "not", pos, &e, 1, out);
    if (alm_expr_is_call(e, "not")) {
        *out = e->args[0];
        return ALM_OK;
    }
    const bool is_and = alm_expr_is_call(e, "and"), is_or = alm_expr_is_call(e, "or");
    if (is_and || is_or) {
        alm_expr *args[2] = {NULL, NULL};
        if (e->n_args == 2) {
            ALM_TRY(alm_expr_not(p, e->args[0], pos, &args[0]));
            ALM_TRY(alm_expr_not(p, e->args[1], pos, &args[1]));
            return alm_expr_call(p, is_and ? "or" : "and", e->pos, args, 2, out);
        }
    }
    const char *turned = e->kind == ALM_X_CALL ? alm_fn_negated(e->fn->name) : NULL;
    if (turned != NULL && e->n_args == 2) {
        alm_expr *args[2] = {e->args[0], e->args[1]};
        return alm_expr_compare(p, turned, e->pos, args, out);
    }
    return alm_expr_call(p, "not", pos, &e, 1, out);
}

alm_status alm_expr_null_test(alm_planner *p, alm_expr *e, bool negated, int32_t pos,
                              alm_expr **out)
{
    if (e->type.id == ALM_T_NULL)
        return alm_expr_bool(p->cx, !negated, pos, out);
    return alm_expr_call(p, negated ? "is not null" : "is null", pos, &e, 1, out);
}
