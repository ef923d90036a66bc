/* case.c - CASE, COALESCE and NULLIF: branches of one type, tests in order. */
#include "sql/bind/bind.h"

#include "type/ops.h"

/* Type in which all results meet; positions for the error. */
static alm_status meet_all(alm_planner *planner, alm_expr **values, uint32_t n_values,
                           alm_type *out)
{
    alm_type type = ALM_TY(NULL);
    for (uint32_t i = 0; i < n_values; i++) {
        if (alm_expr_unknown(values[i]))
            continue;
        const alm_type met = type.id == ALM_T_NULL ? values[i]->type
                             : values[i]->type.id == ALM_T_NULL
                                 ? type
                                 : alm_type_meet(type, values[i]->type);
        if (met.id == ALM_T_NONE)
            return alm_fail(planner->cx, ALM_E_TYPE, values[i]->pos,
                            "inconvertible types: %s -> %s [from=%s, to=%s]",
                            alm_type_name(values[i]->type), alm_type_name(type),
                            alm_type_name(values[i]->type), alm_type_name(type));
        type = met;
    }
    *out = type.id == ALM_T_SYMBOL ? ALM_TY(STRING) : type;
    return ALM_OK;
}

static alm_status make_case(alm_planner *planner, int32_t pos, alm_expr **args, uint32_t n_args,
                            alm_type type, alm_expr **out)
{
    /* constant tests: false ones go, the first true one becomes the rest */
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n_args;) {
        if (i + 1 == n_args) {
            args[kept++] = args[i++];
            break;
        }
        if (alm_expr_is_true(args[i])) {
            args[kept++] = args[i + 1];
            break;
        }
        if (!alm_expr_is_false(args[i])) {
            args[kept] = args[i];
            args[kept + 1] = args[i + 1];
            kept += 2;
        }
        i += 2;
    }
    if (kept == 0)
        return alm_expr_null(planner->cx, type, pos, out);
    if (kept == 1) {
        *out = args[0];
        return ALM_OK;
    }
    alm_expr *expr = NULL;
    ALM_TRY(alm_nodes_add(planner->cx, 1, pos));
    ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, &expr));
    expr->kind = ALM_X_CASE;
    expr->type = type;
    expr->pos = pos;
    expr->args = args;
    expr->n_args = kept;
    for (uint32_t i = 0; i < kept; i++)
        expr->stable_only |= args[i]->stable_only;
    ALM_TRY(alm_expr_measure(planner->cx, expr));
    ALM_TRY(alm_expr_fold(planner, &expr));
    *out = expr;
    return ALM_OK;
}

/* The value args[at] in the rows that ask for it, null in the others. */
static alm_status where_taken(alm_planner *planner, alm_expr **args, uint32_t place,
                              uint32_t n_args, alm_expr **out)
{
    alm_expr *value = args[place], **only = NULL, *null = NULL;
    const uint32_t upto = place % 2 == 1 ? place + 1 : n_args;
    *out = value;
    for (uint32_t i = 0; i < n_args; i += 2)
        if (i != place && alm_expr_volatile(args[i]))
            return ALM_OK;
    if (!alm_expr_has_col(value))
        return ALM_OK;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, upto + 1, &only));
    ALM_TRY(alm_expr_null(planner->cx, value->type, value->pos, &null));
    for (uint32_t i = 0; i < upto; i++)
        only[i] = i == place ? value : i % 2 == 0 ? args[i] : null;
    return make_case(planner, value->pos, only, upto, value->type, out);
}

/* Times beside TIMESTAMP_NS become that, and are refused where it does not hold them: no cast is written. */
static alm_status times_that_fit(alm_planner *planner, alm_expr **args, uint32_t n)
{
    bool nanos = false;
    for (uint32_t i = 1; i < n + (n % 2 == 1); i += 2)
        nanos |= args[ALM_MIN(i, n - 1)]->type.id == ALM_T_TIMESTAMP_NS;
    for (uint32_t i = 1; nanos && i < n + (n % 2 == 1); i += 2) {
        const uint32_t place = ALM_MIN(i, n - 1);
        alm_expr *value = args[place];
        if (value->type.id != ALM_T_TIMESTAMP && value->type.id != ALM_T_DATE)
            continue;
        ALM_TRY(where_taken(planner, args, place, n, &value));
        ALM_TRY(
            alm_expr_cast(planner, value, ALM_TY(TIMESTAMP_NS), ALM_CAST_IMPLICIT, &args[place]));
    }
    return ALM_OK;
}

alm_status alm_expr_case(alm_planner *planner, int32_t pos, alm_expr **args, uint32_t n_args,
                         alm_expr **out)
{
    alm_expr **values = NULL;
    uint32_t n_values = 0;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_args + 1, &values));
    for (uint32_t i = 1; i < n_args; i += 2)
        values[n_values++] = args[i];
    if (n_args % 2 == 1)
        values[n_values++] = args[n_args - 1];
    alm_type type = ALM_TY(NULL);
    ALM_TRY(times_that_fit(planner, args, n_args));
    ALM_TRY(meet_all(planner, values, n_values, &type));
    for (uint32_t i = 1; i < n_args; i += 2)
        ALM_TRY(alm_expr_cast(planner, args[i], type, ALM_CAST_EXPLICIT, &args[i]));
    for (uint32_t i = 0; i + 1 < n_args && type.id != ALM_T_INT; i += 2)
        ALM_TRY(alm_widen_null_test(planner, &args[i]));
    if (n_args % 2 == 1)
        ALM_TRY(
            alm_expr_cast(planner, args[n_args - 1], type, ALM_CAST_EXPLICIT, &args[n_args - 1]));
    return make_case(planner, pos, args, n_args, type, out);
}

alm_status alm_bind_case(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_planner *planner = scope->p;
    alm_expr *operand = NULL, **args = NULL;
    const uint32_t n = ast->n_args > 0 ? ast->n_args - 1 : 0; /* arg[0] is the operand or NULL */
    if (n < 2)
        return alm_fail(planner->cx, ALM_E_SYNTAX, ast->pos, "'when' expected");
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n + 1, &args));
    if (ast->arg[0] != NULL)
        ALM_TRY(alm_bind_expr(scope, ast->arg[0], &operand));
    for (uint32_t i = 0; i < n; i += 2) {
        const alm_ast *when = ast->arg[1 + i];
        ALM_TRY(alm_bind_expr(scope, when, &args[i]));
        if (operand != NULL)
            ALM_TRY(alm_bind_beside_decimal(planner, operand, when, &args[i]));
        if (operand != NULL)
            ALM_TRY(alm_bind_compare(scope, "=", when->pos, operand, args[i], &args[i]));
        if (operand != NULL)
            ALM_TRY(alm_expr_again(planner->cx, operand));
        ALM_TRY(alm_param_infer(planner, &args[i], ALM_TY(BOOLEAN)));
        if (args[i]->type.id == ALM_T_NULL)
            ALM_TRY(alm_expr_bool(planner->cx, false, when->pos, &args[i]));
        if (args[i]->type.id != ALM_T_BOOLEAN)
            return alm_fail(planner->cx, ALM_E_TYPE, when->pos, "BOOLEAN expected, found %s",
                            alm_type_name(args[i]->type));
        ALM_TRY(alm_bind_expr(scope, ast->arg[2 + i], &args[i + 1]));
    }
    uint32_t total = n;
    if (ast->else_arg != NULL)
        ALM_TRY(alm_bind_expr(scope, ast->else_arg, &args[total++]));
    return alm_expr_case(planner, ast->pos, args, total, out);
}

/* coalesce(ts, '2024-01-01'): a constant text is a value of the type of `first`, if that is one that is written
 * as text. */
static alm_status case_read_text(alm_planner *planner, const alm_expr *first, alm_expr **value)
{
    const alm_type target = first->type;
    const bool written =
        alm_type_info_of(target)->cls == ALM_TC_TIME ||
        (alm_type_written(target) != ALM_WRITTEN_BY_CLASS && target.id != ALM_T_DECIMAL);
    if (!written || (*value)->kind != ALM_X_CONST || !alm_type_is_text((*value)->type))
        return ALM_OK;
    return alm_expr_cast(planner, *value, target, ALM_CAST_IMPLICIT, value);
}

alm_status alm_bind_coalesce(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_planner *planner = scope->p;
    if (ast->n_args < 2)
        return alm_fail(planner->cx, ALM_E_FUNCTION, ast->pos,
                        "coalesce can be used with 2 or more arguments");
    alm_expr **args = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 2 * (size_t)ast->n_args, &args));
    uint32_t count = 0;
    const alm_expr *first = NULL;
    for (uint32_t i = 0; i < ast->n_args; i++) {
        alm_expr *value = NULL;
        ALM_TRY(alm_bind_expr(scope, ast->arg[i], &value));
        if (i == 0)
            first = value;
        ALM_TRY(case_read_text(planner, first, &value));
        if (i + 1 < ast->n_args) {
            if (alm_expr_unknown(value))
                ALM_TRY(alm_expr_bool(planner->cx, true, value->pos, &args[count]));
            else
                ALM_TRY(alm_expr_null_test(planner, value, true, value->pos, &args[count]));
            ALM_TRY(alm_expr_again(planner->cx, value));
            count++;
        }
        args[count++] = value;
    }
    return alm_expr_case(planner, ast->pos, args, count, out);
}

/* The type of the first argument, where it has a null to give. */
static alm_type nullable(alm_type type)
{
    switch (type.id) {
    case ALM_T_SYMBOL:
        return ALM_TY(STRING);
    case ALM_T_BYTE:
    case ALM_T_SHORT:
        return ALM_TY(INT);
    default:
        return type;
    }
}

alm_status alm_bind_nullif(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_planner *planner = scope->p;
    alm_expr *a = NULL, *b = NULL, **args = NULL;
    if (ast->n_args != 2) {
        if (ast->n_args == 0)
            return alm_fail(planner->cx, ALM_E_FUNCTION, ast->pos,
                            "function `nullif` requires arguments");
        ALM_TRY(alm_bind_expr(scope, ast->arg[0], &a));
        return alm_fail(planner->cx, ALM_E_FUNCTION, ast->pos,
                        "there is no matching function `nullif` with the argument types: (%s)",
                        alm_type_name(a->type));
    }
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 3, &args));
    ALM_TRY(alm_bind_expr(scope, ast->arg[0], &a));
    ALM_TRY(alm_bind_expr(scope, ast->arg[1], &b));
    if (a->type.id == ALM_T_NULL) /* nullif(null, 1) is an INT */
        return alm_expr_null(planner->cx, nullable(b->type), ast->pos, out);
    if (b->type.id == ALM_T_NULL) {
        *out = a;
        return alm_expr_unknown(a) || a->type.id == ALM_T_SYMBOL
                   ? ALM_OK
                   : alm_expr_cast(planner, a, nullable(a->type), ALM_CAST_EXPLICIT, out);
    }
    if (alm_expr_unknown(a) && alm_expr_unknown(b)) /* texts, as in PostgreSQL */
        ALM_TRY(alm_param_infer(planner, &b, ALM_TY(VARCHAR)));
    if (alm_expr_unknown(a)) /* $1 is what it is compared with */
        ALM_TRY(alm_param_infer(planner, &a, alm_type_beside(b)));
    ALM_TRY(alm_bind_beside_decimal(planner, a, ast->arg[1], &b));
    ALM_TRY(alm_bind_compare(scope, "=", ast->pos, a, b, &args[0]));
    ALM_TRY(alm_expr_again(planner->cx, a));
    const alm_type type = nullable(a->type);
    ALM_TRY(alm_expr_null(planner->cx, type, ast->pos, &args[1]));
    ALM_TRY(alm_expr_cast(planner, a, type, ALM_CAST_EXPLICIT, &args[2]));
    return make_case(planner, ast->pos, args, 3, type, out);
}
