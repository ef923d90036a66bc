/*
 * widen.c - integer arithmetic that INT, or LONG, may be too small for (expr.h).
 *
 * Rule        + - * over integers of up to 32 bits is an INT and null beyond it, as a result. Where more is asked
 *             for (a cast, a comparison, a sum, a column that it is stored in) the same is computed in 64 bits;
 *             what is beyond those is null in a row, and refused in an aggregate and where it is stored.
 * Constants   A call of constants has the least of INT and LONG that holds it, as a number that is written out;
 *             it is refused beyond LONG. With values of bind variables the type is that of the description,
 *             whatever the values are: such a call is not folded but refused as it is run, unless it is widened.
 * Bounds      What cannot leave its type by the types and constants it is made of stays as it is.
 */
#include "sql/plan/expr.h"

static bool is_integer(alm_type t)
{
    return alm_type_info_of(t)->cls == ALM_TC_INTEGER;
}

/* Is args[i] a condition of a CASE? */
static bool is_test(const alm_expr *e, uint32_t i)
{
    return e->kind == ALM_X_CASE && i % 2 == 0 && i + 1 < e->n_args;
}

static double bound_of_type(alm_type t)
{
    switch ((int)t.id) {
    case ALM_T_BOOLEAN:
        return 1;
    case ALM_T_BYTE:
        return -(double)INT8_MIN;
    case ALM_T_SHORT:
        return -(double)INT16_MIN;
    case ALM_T_INT:
        return INT32_MAX;
    default:
        return (double)INT64_MAX;
    }
}

static bool is_operator(const alm_expr *e, char sign)
{
    return e->fn->name[0] == sign && e->fn->name[1] == '\0' && e->n_args == 2;
}

static bool is_remainder(const alm_expr *e)
{
    return is_operator(e, '%') || strcmp(e->fn->name, "mod") == 0;
}

/* Results no greater than the first argument. */
static bool keeps_bound(const alm_expr *e)
{
    return is_operator(e, '/') || is_remainder(e) ||
           (e->n_args == 1 && is_integer(e->args[0]->type) &&
            (strcmp(e->fn->name, "-") == 0 || strcmp(e->fn->name, "neg") == 0 ||
             strcmp(e->fn->name, "abs") == 0));
}

static bool exceeds(alm_type t, double bound)
{
    return t.id == ALM_T_INT ? bound > INT32_MAX
                             : bound >= (double)INT64_MAX; /* which is rounded */
}

static double bound_of(const alm_expr *e, bool *lost);

static double bound_of_call(const alm_expr *e, bool *lost)
{
    bool below = false;
    const bool of_two = e->n_args == 2 && is_integer(e->args[0]->type) && is_integer(e->type);
    if (of_two && (is_operator(e, '+') || is_operator(e, '-') || is_operator(e, '*'))) {
        const double a = bound_of(e->args[0], lost), b = bound_of(e->args[1], lost);
        const double bound = is_operator(e, '*') ? a * b : a + b;
        *lost |= e->type.id == ALM_T_INT && exceeds(e->type, bound);
        return bound;
    }
    if (of_two && is_remainder(e)) {
        const double a = bound_of(e->args[0], lost), b = bound_of(e->args[1], lost);
        return ALM_MIN(a, b);
    }
    if (keeps_bound(e) && is_integer(e->args[0]->type)) {
        const double bound = bound_of(e->args[0], lost);
        if (e->n_args == 2)
            (void)bound_of(e->args[1], lost);
        return bound;
    }
    if (e->n_args == 1 && strncmp(e->fn->name, "::", 2) == 0 && is_integer(e->args[0]->type))
        return ALM_MIN(bound_of(e->args[0], &below), bound_of_type(e->type));
    return bound_of_type(e->type);
}

/* The greatest magnitude that e may have if all of it is computed in as many bits as it takes. *lost is set if INT
 * is not enough for a part of it. */
static double bound_of(const alm_expr *e, bool *lost)
{
    int64_t v = 0;
    double most = 0;
    if (alm_expr_int(e, &v))
        return v < 0 ? -(double)v : (double)v;
    if (alm_expr_is_null(e))
        return 0;
    if (e->kind == ALM_X_CALL && is_integer(e->type))
        return bound_of_call(e, lost);
    if (e->kind != ALM_X_CASE || !is_integer(e->type))
        return bound_of_type(e->type);
    for (uint32_t i = 0; i < e->n_args; i++) {
        const double bound = is_test(e, i) ? 0 : bound_of(e->args[i], lost);
        most = ALM_MAX(most, bound);
    }
    return most;
}

bool alm_expr_may_exceed(const alm_expr *e)
{
    bool lost = false;
    if (e->type.id == ALM_T_INT && (e->kind == ALM_X_CALL || e->kind == ALM_X_CASE))
        (void)bound_of(e, &lost);
    return lost;
}

/* coalesce(x, y) is a CASE that tests x by one of these. */
static bool tests_null(const alm_expr *e)
{
    return alm_expr_is_call(e, "is not null") || alm_expr_is_call(e, "is null");
}

/* ------------------------------------------------------------------- in 64 bits */

alm_status alm_widen_null_test(alm_planner *p, alm_expr **test)
{
    alm_expr *wide = NULL;
    if (!tests_null(*test) || !alm_expr_may_exceed((*test)->args[0]))
        return ALM_OK;
    ALM_TRY(alm_expr_widen(p, (*test)->args[0], &wide));
    return alm_expr_call(p, (*test)->fn->name, (*test)->pos, &wide, 1, test);
}

static alm_status widen_case(alm_planner *p, const alm_expr *e, alm_expr **out)
{
    alm_expr *copy = NULL;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &copy));
    *copy = *e;
    copy->type = ALM_TY(LONG);
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, e->n_args, &copy->args));
    for (uint32_t i = 0; i < e->n_args; i++) {
        copy->args[i] = e->args[i];
        if (!is_test(e, i))
            ALM_TRY(alm_expr_cast(p, e->args[i], ALM_TY(LONG), ALM_CAST_EXPLICIT, &copy->args[i]));
        else
            ALM_TRY(alm_widen_null_test(p, &copy->args[i]));
    }
    *out = copy;
    return alm_expr_measure(p->cx, copy);
}

alm_status alm_expr_widen(alm_planner *p, alm_expr *e, alm_expr **out)
{
    *out = e;
    if (!alm_expr_may_exceed(e))
        return alm_expr_cast(p, e, ALM_TY(LONG), ALM_CAST_EXPLICIT, out);
    if (e->kind == ALM_X_CASE)
        return widen_case(p, e, out);
    bool narrow = alm_fn_wide(e->fn) != NULL;
    for (uint32_t i = 0; i < e->n_args; i++)
        narrow = narrow && !alm_expr_may_exceed(e->args[i]);
    alm_expr **args = NULL;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, e->n_args, &args));
    for (uint32_t i = 0; i < e->n_args; i++) {
        args[i] = e->args[i];
        if (!narrow)
            ALM_TRY(alm_expr_widen(p, e->args[i], &args[i]));
    }
    if (!narrow)
        return alm_expr_call(p, e->fn->name, e->pos, args, e->n_args, out);
    alm_expr *copy = NULL;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &copy));
    *copy = *e;
    copy->type = ALM_TY(LONG);
    copy->fn = alm_fn_wide(e->fn);
    copy->args = args;
    ALM_TRY(alm_expr_measure(p->cx, copy));
    *out = copy;
    return alm_expr_fold(p, out);
}

alm_status alm_widen_ints(alm_planner *p, alm_expr **args, uint32_t n)
{
    bool any = false;
    for (uint32_t i = 0; i < n; i++) {
        if (!is_integer(args[i]->type) && args[i]->type.id != ALM_T_NULL)
            return ALM_OK; /* another type decides, and casts to it widen */
        any = any || alm_expr_may_exceed(args[i]);
    }
    for (uint32_t i = 0; any && i < n; i++)
        ALM_TRY(alm_expr_cast(p, args[i], ALM_TY(LONG), ALM_CAST_IMPLICIT, &args[i]));
    return ALM_OK;
}

/* ------------------------------------------------------------------- constants */

alm_status alm_fold_arithmetic(alm_planner *p, alm_expr **e)
{
    alm_expr *call = *e;
    bool lost = call->kind == ALM_X_CALL && alm_fn_checked(call->fn) != NULL, bound = false;
    for (uint32_t i = 0; i < call->n_args; i++) {
        lost = lost && call->args[i]->kind == ALM_X_CONST && !alm_expr_is_null(call->args[i]);
        bound = bound || call->args[i]->bound;
    }
    ALM_TRY(alm_expr_fold(p, e));
    if (!lost || !alm_expr_is_null(*e))
        return ALM_OK;
    if (call->type.id != ALM_T_INT)
        return alm_out_of_range(p->cx, call->pos, call->type);
    if (!bound)
        return alm_expr_widen(p, call, e);
    call->fn = alm_fn_checked(call->fn);
    *e = call;
    return ALM_OK;
}

/* ------------------------------------------------------------------- refused */

/* The rows that an expression is asked for: those of one result of a CASE, or that come as far as one of its
 * tests, within those of another; or those that pass a condition. */
typedef struct guard {
    const struct guard *outer;
    alm_expr *of;
    uint32_t arm;
} guard;

/* Null in rows that are not asked for. */
static alm_status guarded(alm_planner *p, const guard *g, alm_expr *e, alm_expr **out)
{
    *out = e;
    for (; g != NULL; g = g->outer) {
        alm_expr *null = NULL, *only = NULL;
        const bool filter =
            g->of->type.id == ALM_T_BOOLEAN; /* results that are one are not looked into */
        ALM_TRY(alm_expr_null(p->cx, e->type, e->pos, &null));
        ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &only));
        *only = (alm_expr){.kind = ALM_X_CASE, .type = e->type, .pos = e->pos};
        only->n_args = filter ? 2 : is_test(g->of, g->arm) ? g->arm + 1 : g->of->n_args;
        ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, only->n_args, &only->args));
        for (uint32_t i = 0; i < only->n_args; i++) {
            const bool test = is_test(g->of, i);
            only->args[i] = filter ? g->of : i == g->arm ? *out : test ? g->of->args[i] : null;
        }
        if (filter)
            only->args[1] = *out;
        ALM_TRY(alm_expr_again(p->cx, g->of));
        ALM_TRY(alm_expr_measure(p->cx, only));
        *out = only;
    }
    return ALM_OK;
}

static alm_status check(alm_planner *p, const guard *g, alm_expr *e, alm_expr **out);

/* What is compared is null where it was lost, as in a row, unless the null itself is asked for. */
static alm_status check_args(alm_planner *p, const guard *g, alm_expr *e, alm_expr **out)
{
    const bool is_case = e->kind == ALM_X_CASE;
    bool changed = false;
    alm_expr **args = NULL;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, e->n_args + 1, &args));
    for (uint32_t i = 0; i < e->n_args; i++) {
        const guard inner = {.outer = g, .of = e, .arm = i};
        args[i] = e->args[i];
        if (!is_test(e, i))
            ALM_TRY(check(p, is_case ? &inner : g, e->args[i], &args[i]));
        else if (tests_null(e->args[i]))
            ALM_TRY(check_args(p, &inner, e->args[i], &args[i]));
        changed |= args[i] != e->args[i];
    }
    *out = e;
    if (!changed)
        return ALM_OK;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, out));
    **out = *e;
    (*out)->args = args;
    return alm_expr_measure(p->cx, *out);
}

static alm_status check(alm_planner *p, const guard *g, alm_expr *e, alm_expr **out)
{
    bool lost = false;
    *out = e;
    if (e->type.id == ALM_T_BOOLEAN || e->n_args == 0)
        return ALM_OK;
    ALM_TRY(check_args(p, g, e, out));
    const alm_fn *checked = e->kind == ALM_X_CALL ? alm_fn_checked(e->fn) : NULL;
    if (checked == NULL || (is_integer(e->type) && !exceeds(e->type, bound_of(e, &lost))))
        return ALM_OK;
    alm_expr *copy = NULL;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &copy));
    *copy = **out;
    copy->fn = checked;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, e->n_args, &copy->args));
    memcpy(copy->args, (*out)->args, e->n_args * sizeof *copy->args);
    const uint32_t at = copy->args[0]->kind == ALM_X_CONST ? 1 : 0;
    ALM_TRY(guarded(p, g, copy->args[at], &copy->args[at]));
    *out = copy;
    return alm_expr_measure(p->cx, copy);
}

alm_status alm_expr_check_range(alm_planner *p, alm_expr *filter, alm_expr **e)
{
    const guard g = {.of = filter};
    return check(p, filter != NULL ? &g : NULL, *e, e);
}
