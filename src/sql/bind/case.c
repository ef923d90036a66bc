/* case.c - CASE, COALESCE and NULLIF: branches of one type, tests in order. */
#include "sql/bind/bind.h"

#include "type/ops.h"

/* Type in which all results meet; positions for the error. */
static alm_status meet_all(alm_planner *p, alm_expr **values, uint32_t n, alm_type *out)
{
    alm_type type = ALM_TY(NULL);
    for (uint32_t i = 0; i < n; i++) {
        if (alm_expr_unknown(values[i]))
            continue;
        const alm_type met = type.id == ALM_T_NULL ? values[i]->type
                             : values[i]->type.id == ALM_T_NULL
                                 ? type
                                 : alm_type_meet(type, values[i]->type);
        if (met.id == ALM_T_NONE)
            return alm_fail(p->cx, ALM_E_TYPE, values[i]->pos,
                            "inconvertible types: %s -> %s [from=%s, to=%s]",
                            alm_type_name(values[i]->type), alm_type_name(type),
                            alm_type_name(values[i]->type), alm_type_name(type));
        type = met;
    }
    *out = type.id == ALM_T_SYMBOL ? ALM_TY(STRING) : type;
    return ALM_OK;
}

static alm_status make_case(alm_planner *p, int32_t pos, alm_expr **args, uint32_t n, alm_type type,
                            alm_expr **out)
{
    /* constant tests: false ones go, the first true one becomes the rest */
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n;) {
        if (i + 1 == n) {
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
        return alm_expr_null(p->cx, type, pos, out);
    if (kept == 1) {
        *out = args[0];
        return ALM_OK;
    }
    alm_expr *e = NULL;
    ALM_TRY(alm_nodes_add(p->cx, 1, pos));
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &e));
    e->kind = ALM_X_CASE;
    e->type = type;
    e->pos = pos;
    e->args = args;
    e->n_args = kept;
    for (uint32_t i = 0; i < kept; i++)
        e->stable_only |= args[i]->stable_only;
    ALM_TRY(alm_expr_measure(p->cx, e));
    ALM_TRY(alm_expr_fold(p, &e));
    *out = e;
    return ALM_OK;
}

/* The value args[at] in the rows that ask for it, null in the others. */
static alm_status where_taken(alm_planner *p, alm_expr **args, uint32_t at, uint32_t n,
                              alm_expr **out)
{
    alm_expr *value = args[at], **only = NULL, *null = NULL;
    const uint32_t upto = at % 2 == 1 ? at + 1 : n;
    *out = value;
    for (uint32_t i = 0; i < n; i += 2)
        if (i != at && alm_expr_volatile(args[i]))
            return ALM_OK;
    if (!alm_expr_has_col(value))
        return ALM_OK;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, upto + 1, &only));
    ALM_TRY(alm_expr_null(p->cx, value->type, value->pos, &null));
    for (uint32_t i = 0; i < upto; i++)
        only[i] = i == at ? value : i % 2 == 0 ? args[i] : null;
    return make_case(p, value->pos, only, upto, value->type, out);
}

/* Times beside TIMESTAMP_NS become that, and are refused where it does not hold them: no cast is written. */
static alm_status times_that_fit(alm_planner *p, alm_expr **args, uint32_t n)
{
    bool ns = false;
    for (uint32_t i = 1; i < n + (n % 2 == 1); i += 2)
        ns |= args[ALM_MIN(i, n - 1)]->type.id == ALM_T_TIMESTAMP_NS;
    for (uint32_t i = 1; ns && i < n + (n % 2 == 1); i += 2) {
        const uint32_t at = ALM_MIN(i, n - 1);
        alm_expr *value = args[at];
        if (value->type.id != ALM_T_TIMESTAMP && value->type.id != ALM_T_DATE)
            continue;
        ALM_TRY(where_taken(p, args, at, n, &value));
        ALM_TRY(alm_expr_cast(p, value, ALM_TY(TIMESTAMP_NS), ALM_CAST_IMPLICIT, &args[at]));
    }
    return ALM_OK;
}

alm_status alm_expr_case(alm_planner *p, int32_t pos, alm_expr **args, uint32_t n, alm_expr **out)
{
    alm_expr **values = NULL;
    uint32_t n_values = 0;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &values));
    for (uint32_t i = 1; i < n; i += 2)
        values[n_values++] = args[i];
    if (n % 2 == 1)
        values[n_values++] = args[n - 1];
    alm_type type = ALM_TY(NULL);
    ALM_TRY(times_that_fit(p, args, n));
    ALM_TRY(meet_all(p, values, n_values, &type));
    for (uint32_t i = 1; i < n; i += 2)
        ALM_TRY(alm_expr_cast(p, args[i], type, ALM_CAST_EXPLICIT, &args[i]));
    for (uint32_t i = 0; i + 1 < n && type.id != ALM_T_INT; i += 2)
        ALM_TRY(alm_widen_null_test(p, &args[i]));
    if (n % 2 == 1)
        ALM_TRY(alm_expr_cast(p, args[n - 1], type, ALM_CAST_EXPLICIT, &args[n - 1]));
    return make_case(p, pos, args, n, type, out);
}

alm_status alm_bind_case(alm_scope *sc, const alm_ast *ast, alm_expr **out)
{
    alm_planner *p = sc->p;
    alm_expr *operand = NULL, **args = NULL;
    const uint32_t n = ast->n_args > 0 ? ast->n_args - 1 : 0; /* arg[0] is the operand or NULL */
    if (n < 2)
        return alm_fail(p->cx, ALM_E_SYNTAX, ast->pos, "'when' expected");
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &args));
    if (ast->arg[0] != NULL)
        ALM_TRY(alm_bind_expr(sc, ast->arg[0], &operand));
    for (uint32_t i = 0; i < n; i += 2) {
        const alm_ast *when = ast->arg[1 + i];
        ALM_TRY(alm_bind_expr(sc, when, &args[i]));
        if (operand != NULL)
            ALM_TRY(alm_bind_beside_decimal(p, operand, when, &args[i]));
        if (operand != NULL)
            ALM_TRY(alm_bind_compare(sc, "=", when->pos, operand, args[i], &args[i]));
        if (operand != NULL)
            ALM_TRY(alm_expr_again(p->cx, operand));
        ALM_TRY(alm_param_infer(p, &args[i], ALM_TY(BOOLEAN)));
        if (args[i]->type.id == ALM_T_NULL)
            ALM_TRY(alm_expr_bool(p->cx, false, when->pos, &args[i]));
        if (args[i]->type.id != ALM_T_BOOLEAN)
            return alm_fail(p->cx, ALM_E_TYPE, when->pos, "BOOLEAN expected, found %s",
                            alm_type_name(args[i]->type));
        ALM_TRY(alm_bind_expr(sc, ast->arg[2 + i], &args[i + 1]));
    }
    uint32_t total = n;
    if (ast->else_arg != NULL)
        ALM_TRY(alm_bind_expr(sc, ast->else_arg, &args[total++]));
    return alm_expr_case(p, ast->pos, args, total, out);
}

/* coalesce(ts, '2024-01-01'): a constant text is a value of the type of `first`, if that is one that is written
 * as text. */
static alm_status read_text(alm_planner *p, const alm_expr *first, alm_expr **value)
{
    const alm_type to = first->type;
    const bool written = alm_type_info_of(to)->cls == ALM_TC_TIME ||
                         (alm_type_written(to) != ALM_WRITTEN_BY_CLASS && to.id != ALM_T_DECIMAL);
    if (!written || (*value)->kind != ALM_X_CONST || !alm_type_is_text((*value)->type))
        return ALM_OK;
    return alm_expr_cast(p, *value, to, ALM_CAST_IMPLICIT, value);
}

alm_status alm_bind_coalesce(alm_scope *sc, const alm_ast *ast, alm_expr **out)
{
    alm_planner *p = sc->p;
    if (ast->n_args < 2)
        return alm_fail(p->cx, ALM_E_FUNCTION, ast->pos,
                        "coalesce can be used with 2 or more arguments");
    alm_expr **args = NULL;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 2 * (size_t)ast->n_args, &args));
    uint32_t n = 0;
    const alm_expr *first = NULL;
    for (uint32_t i = 0; i < ast->n_args; i++) {
        alm_expr *value = NULL;
        ALM_TRY(alm_bind_expr(sc, ast->arg[i], &value));
        if (i == 0)
            first = value;
        ALM_TRY(read_text(p, first, &value));
        if (i + 1 < ast->n_args) {
            if (alm_expr_unknown(value))
                ALM_TRY(alm_expr_bool(p->cx, true, value->pos, &args[n]));
            else
                ALM_TRY(alm_expr_null_test(p, value, true, value->pos, &args[n]));
            ALM_TRY(alm_expr_again(p->cx, value));
            n++;
        }
        args[n++] = value;
    }
    return alm_expr_case(p, ast->pos, args, n, out);
}

/* The type of the first argument, where it has a null to give. */
static alm_type nullable(alm_type t)
{
    switch (t.id) {
    case ALM_T_SYMBOL:
        return ALM_TY(STRING);
    case ALM_T_BYTE:
    case ALM_T_SHORT:
        return ALM_TY(INT);
    default:
        return t;
    }
}

alm_status alm_bind_nullif(alm_scope *sc, const alm_ast *ast, alm_expr **out)
{
    alm_planner *p = sc->p;
    alm_expr *a = NULL, *b = NULL, **args = NULL;
    if (ast->n_args != 2) {
        if (ast->n_args == 0)
            return alm_fail(p->cx, ALM_E_FUNCTION, ast->pos,
                            "function `nullif` requires arguments");
        ALM_TRY(alm_bind_expr(sc, ast->arg[0], &a));
        return alm_fail(p->cx, ALM_E_FUNCTION, ast->pos,
                        "there is no matching function `nullif` with the argument types: (%s)",
                        alm_type_name(a->type));
    }
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 3, &args));
    ALM_TRY(alm_bind_expr(sc, ast->arg[0], &a));
    ALM_TRY(alm_bind_expr(sc, ast->arg[1], &b));
    if (a->type.id == ALM_T_NULL) /* nullif(null, 1) is an INT */
        return alm_expr_null(p->cx, nullable(b->type), ast->pos, out);
    if (b->type.id == ALM_T_NULL) {
        *out = a;
        return alm_expr_unknown(a) || a->type.id == ALM_T_SYMBOL
                   ? ALM_OK
                   : alm_expr_cast(p, a, nullable(a->type), ALM_CAST_EXPLICIT, out);
    }
    if (alm_expr_unknown(a) && alm_expr_unknown(b)) /* texts, as in PostgreSQL */
        ALM_TRY(alm_param_infer(p, &b, ALM_TY(VARCHAR)));
    if (alm_expr_unknown(a)) /* $1 is what it is compared with */
        ALM_TRY(alm_param_infer(p, &a, alm_type_beside(b)));
    ALM_TRY(alm_bind_beside_decimal(p, a, ast->arg[1], &b));
    ALM_TRY(alm_bind_compare(sc, "=", ast->pos, a, b, &args[0]));
    ALM_TRY(alm_expr_again(p->cx, a));
    const alm_type type = nullable(a->type);
    ALM_TRY(alm_expr_null(p->cx, type, ast->pos, &args[1]));
    ALM_TRY(alm_expr_cast(p, a, type, ALM_CAST_EXPLICIT, &args[2]));
    return make_case(p, ast->pos, args, 3, type, out);
}
