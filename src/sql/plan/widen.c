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

static bool widen_is_integer(alm_type type)
{
    return alm_type_info_of(type)->cls == ALM_TC_INTEGER;
}

/* Is args[i] a condition of a CASE? */
static bool widen_is_test(const alm_expr *expr, uint32_t i)
{
    return expr->kind == ALM_X_CASE && i % 2 == 0 && i + 1 < expr->n_args;
}

static double bound_of_type(alm_type type)
{
    switch ((int)type.id) {
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

static bool widen_is_operator(const alm_expr *expr, char sign)
{
    return expr->fn->name[0] == sign && expr->fn->name[1] == '\0' && expr->n_args == 2;
}

static bool is_remainder(const alm_expr *expr)
{
    return widen_is_operator(expr, '%') || strcmp(expr->fn->name, "mod") == 0;
}

/* Results no greater than the first argument. */
static bool keeps_bound(const alm_expr *expr)
{
    return widen_is_operator(expr, '/') || is_remainder(expr) ||
           (expr->n_args == 1 && widen_is_integer(expr->args[0]->type) &&
            (strcmp(expr->fn->name, "-") == 0 || strcmp(expr->fn->name, "neg") == 0 ||
             strcmp(expr->fn->name, "abs") == 0));
}

static bool exceeds(alm_type type, double bound)
{
    return type.id == ALM_T_INT ? bound > INT32_MAX
                                : bound >= (double)INT64_MAX; /* which is rounded */
}

static double bound_of(const alm_expr *expr, bool *lost);

static double bound_of_call(const alm_expr *expr, bool *lost)
{
    bool below = false;
    const bool of_two =
        expr->n_args == 2 && widen_is_integer(expr->args[0]->type) && widen_is_integer(expr->type);
    if (of_two && (widen_is_operator(expr, '+') || widen_is_operator(expr, '-') ||
                   widen_is_operator(expr, '*'))) {
        const double a = bound_of(expr->args[0], lost), b = bound_of(expr->args[1], lost);
        const double bound = widen_is_operator(expr, '*') ? a * b : a + b;
        *lost |= expr->type.id == ALM_T_INT && exceeds(expr->type, bound);
        return bound;
    }
    if (of_two && is_remainder(expr)) {
        const double a = bound_of(expr->args[0], lost), b = bound_of(expr->args[1], lost);
        return ALM_MIN(a, b);
    }
    if (keeps_bound(expr) && widen_is_integer(expr->args[0]->type)) {
        const double bound = bound_of(expr->args[0], lost);
        if (expr->n_args == 2)
            (void)bound_of(expr->args[1], lost);
        return bound;
    }
    if (expr->n_args == 1 && strncmp(expr->fn->name, "::", 2) == 0 &&
        widen_is_integer(expr->args[0]->type))
        return ALM_MIN(bound_of(expr->args[0], &below), bound_of_type(expr->type));
    return bound_of_type(expr->type);
}

/* The greatest magnitude that expr may have if all of it is computed in as many bits as it takes. *lost is set if INT
 * is not enough for a part of it. */
static double bound_of(const alm_expr *expr, bool *lost)
{
    int64_t value = 0;
    double most = 0;
    if (alm_expr_int(expr, &value))
        return value < 0 ? -(double)value : (double)value;
    if (alm_expr_is_null(expr))
        return 0;
    if (expr->kind == ALM_X_CALL && widen_is_integer(expr->type))
        return bound_of_call(expr, lost);
    if (expr->kind != ALM_X_CASE || !widen_is_integer(expr->type))
        return bound_of_type(expr->type);
    for (uint32_t i = 0; i < expr->n_args; i++) {
        const double bound = widen_is_test(expr, i) ? 0 : bound_of(expr->args[i], lost);
        most = ALM_MAX(most, bound);
    }
    return most;
}

bool alm_expr_may_exceed(const alm_expr *expr)
{
    bool lost = false;
    if (expr->type.id == ALM_T_INT && (expr->kind == ALM_X_CALL || expr->kind == ALM_X_CASE))
        (void)bound_of(expr, &lost);
    return lost;
}

/* coalesce(x, y) is a CASE that tests x by one of these. */
static bool tests_null(const alm_expr *expr)
{
    return alm_expr_is_call(expr, "is not null") || alm_expr_is_call(expr, "is null");
}

/* ------------------------------------------------------------------- in 64 bits */

alm_status alm_widen_null_test(alm_planner *planner, alm_expr **test)
{
    alm_expr *wide = NULL;
    if (!tests_null(*test) || !alm_expr_may_exceed((*test)->args[0]))
        return ALM_OK;
    ALM_TRY(alm_expr_widen(planner, (*test)->args[0], &wide));
    return alm_expr_call(planner, (*test)->fn->name, (*test)->pos, &wide, 1, test);
}

static alm_status widen_case(alm_planner *planner, const alm_expr *expr, alm_expr **out)
{
    alm_expr *copy = NULL;
    ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, &copy));
    *copy = *expr;
    copy->type = ALM_TY(LONG);
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, expr->n_args, &copy->args));
    for (uint32_t i = 0; i < expr->n_args; i++) {
        copy->args[i] = expr->args[i];
        if (!widen_is_test(expr, i))
            ALM_TRY(alm_expr_cast(planner, expr->args[i], ALM_TY(LONG), ALM_CAST_EXPLICIT,
                                  &copy->args[i]));
        else
            ALM_TRY(alm_widen_null_test(planner, &copy->args[i]));
    }
    *out = copy;
    return alm_expr_measure(planner->cx, copy);
}

alm_status alm_expr_widen(alm_planner *planner, alm_expr *expr, alm_expr **out)
{
    *out = expr;
    if (!alm_expr_may_exceed(expr))
        return alm_expr_cast(planner, expr, ALM_TY(LONG), ALM_CAST_EXPLICIT, out);
    if (expr->kind == ALM_X_CASE)
        return widen_case(planner, expr, out);
    bool narrow = alm_fn_wide(expr->fn) != NULL;
    for (uint32_t i = 0; i < expr->n_args; i++)
        narrow = narrow && !alm_expr_may_exceed(expr->args[i]);
    alm_expr **args = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, expr->n_args, &args));
    for (uint32_t i = 0; i < expr->n_args; i++) {
        args[i] = expr->args[i];
        if (!narrow)
            ALM_TRY(alm_expr_widen(planner, expr->args[i], &args[i]));
    }
    if (!narrow)
        return alm_expr_call(planner, expr->fn->name, expr->pos, args, expr->n_args, out);
    alm_expr *copy = NULL;
    ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, &copy));
    *copy = *expr;
    copy->type = ALM_TY(LONG);
    copy->fn = alm_fn_wide(expr->fn);
    copy->args = args;
    ALM_TRY(alm_expr_measure(planner->cx, copy));
    *out = copy;
    return alm_expr_fold(planner, out);
}

alm_status alm_widen_ints(alm_planner *planner, alm_expr **args, uint32_t n_args)
{
    bool any = false;
    for (uint32_t i = 0; i < n_args; i++) {
        if (!widen_is_integer(args[i]->type) && args[i]->type.id != ALM_T_NULL)
            return ALM_OK; /* another type decides, and casts to it widen */
        any = any || alm_expr_may_exceed(args[i]);
    }
    for (uint32_t i = 0; any && i < n_args; i++)
        ALM_TRY(alm_expr_cast(planner, args[i], ALM_TY(LONG), ALM_CAST_IMPLICIT, &args[i]));
    return ALM_OK;
}

/* ------------------------------------------------------------------- constants */

alm_status alm_fold_arithmetic(alm_planner *planner, alm_expr **expr)
{
    alm_expr *call = *expr;
    bool lost = call->kind == ALM_X_CALL && alm_fn_checked(call->fn) != NULL, bound = false;
    for (uint32_t i = 0; i < call->n_args; i++) {
        lost = lost && call->args[i]->kind == ALM_X_CONST && !alm_expr_is_null(call->args[i]);
        bound = bound || call->args[i]->bound;
    }
    ALM_TRY(alm_expr_fold(planner, expr));
    if (!lost || !alm_expr_is_null(*expr))
        return ALM_OK;
    if (call->type.id != ALM_T_INT)
        return alm_out_of_range(planner->cx, call->pos, call->type);
    if (!bound)
        return alm_expr_widen(planner, call, expr);
    call->fn = alm_fn_checked(call->fn);
    *expr = call;
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
static alm_status guarded(alm_planner *planner, const guard *self, alm_expr *expr, alm_expr **out)
{
    *out = expr;
    for (; self != NULL; self = self->outer) {
        alm_expr *null = NULL, *only = NULL;
        const bool filter =
            self->of->type.id == ALM_T_BOOLEAN; /* results that are one are not looked into */
        ALM_TRY(alm_expr_null(planner->cx, expr->type, expr->pos, &null));
        ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, &only));
        *only = (alm_expr){.kind = ALM_X_CASE, .type = expr->type, .pos = expr->pos};
        only->n_args = filter                               ? 2
                       : widen_is_test(self->of, self->arm) ? self->arm + 1
                                                            : self->of->n_args;
        ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, only->n_args, &only->args));
        for (uint32_t i = 0; i < only->n_args; i++) {
            const bool test = widen_is_test(self->of, i);
            only->args[i] = filter           ? self->of
                            : i == self->arm ? *out
                            : test           ? self->of->args[i]
                                             : null;
        }
        if (filter)
            only->args[1] = *out;
        ALM_TRY(alm_expr_again(planner->cx, self->of));
        ALM_TRY(alm_expr_measure(planner->cx, only));
        *out = only;
    }
    return ALM_OK;
}

static alm_status widen_check(alm_planner *planner, const guard *self, alm_expr *expr,
                              alm_expr **out);

/* What is compared is null where it was lost, as in a row, unless the null itself is asked for. */
static alm_status check_args(alm_planner *planner, const guard *self, alm_expr *expr,
                             alm_expr **out)
{
    const bool is_case = expr->kind == ALM_X_CASE;
    bool changed = false;
    alm_expr **args = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, expr->n_args + 1, &args));
    for (uint32_t i = 0; i < expr->n_args; i++) {
        const guard inner = {.outer = self, .of = expr, .arm = i};
        args[i] = expr->args[i];
        if (!widen_is_test(expr, i))
            ALM_TRY(widen_check(planner, is_case ? &inner : self, expr->args[i], &args[i]));
        else if (tests_null(expr->args[i]))
            ALM_TRY(check_args(planner, &inner, expr->args[i], &args[i]));
        changed |= args[i] != expr->args[i];
    }
    *out = expr;
    if (!changed)
        return ALM_OK;
    ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, out));
    **out = *expr;
    (*out)->args = args;
    return alm_expr_measure(planner->cx, *out);
}

static alm_status widen_check(alm_planner *planner, const guard *self, alm_expr *expr,
                              alm_expr **out)
{
    bool lost = false;
    *out = expr;
    if (expr->type.id == ALM_T_BOOLEAN || expr->n_args == 0)
        return ALM_OK;
    ALM_TRY(check_args(planner, self, expr, out));
    const alm_fn *checked = expr->kind == ALM_X_CALL ? alm_fn_checked(expr->fn) : NULL;
    if (checked == NULL ||
        (widen_is_integer(expr->type) && !exceeds(expr->type, bound_of(expr, &lost))))
        return ALM_OK;
    alm_expr *copy = NULL;
    ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, &copy));
    *copy = **out;
    copy->fn = checked;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, expr->n_args, &copy->args));
    memcpy(copy->args, (*out)->args, expr->n_args * sizeof *copy->args);
    const uint32_t place = copy->args[0]->kind == ALM_X_CONST ? 1 : 0;
    ALM_TRY(guarded(planner, self, copy->args[place], &copy->args[place]));
    *out = copy;
    return alm_expr_measure(planner->cx, copy);
}

alm_status alm_expr_check_range(alm_planner *planner, alm_expr *filter, alm_expr **expr)
{
    const guard self = {.of = filter};
    return widen_check(planner, filter != NULL ? &self : NULL, *expr, expr);
}
