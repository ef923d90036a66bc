/*
 * row.c - rows of values: (a, b) = (c, d) compares pair by pair; < and its like compare the
 * first pair that differs. IS NULL holds where all values are null, IS NOT NULL where none is. A row
 * that stands anywhere else is a value, a record (func/scalar/row.c).
 */
#include "sql/bind/bind.h"

static alm_status pair(alm_scope *scope, const char *op, int32_t pos, const alm_ast *a,
                       const alm_ast *b, alm_expr **out)
{
    alm_expr *x = NULL, *y = NULL;
    ALM_TRY(alm_bind_expr(scope, a, &x));
    ALM_TRY(alm_bind_expr(scope, b, &y));
    return alm_bind_compare(scope, op, pos, x, y, out);
}

static alm_status bind_row_join(alm_scope *scope, const char *word, int32_t pos, alm_expr *a,
                                alm_expr *b, alm_expr **out)
{
    alm_expr *args[2] = {a, b};
    return alm_expr_call(scope->p, word, pos, args, 2, out);
}

static alm_status equal_rows(alm_scope *scope, int32_t pos, const alm_ast *a, const alm_ast *b,
                             alm_expr **out)
{
    for (uint32_t i = 0; i < a->n_args; i++) {
        alm_expr *test = NULL;
        ALM_TRY(pair(scope, "=", pos, a->arg[i], b->arg[i], &test));
        if (i == 0)
            *out = test;
        else
            ALM_TRY(bind_row_join(scope, "and", pos, *out, test, out));
    }
    return ALM_OK;
}

/* a1 < b1 or (a1 = b1 and (a2 < b2 or ...)), from the last pair to the first */
static alm_status ordered_rows(alm_scope *scope, const char *op, int32_t pos, const alm_ast *a,
                               const alm_ast *b, alm_expr **out)
{
    const char strict[2] = {op[0], '\0'};
    alm_expr *rest = NULL, *less = NULL, *same = NULL;
    ALM_TRY(pair(scope, op, pos, a->arg[a->n_args - 1], b->arg[a->n_args - 1], &rest));
    for (uint32_t i = a->n_args - 1; i-- > 0;) {
        ALM_TRY(pair(scope, strict, pos, a->arg[i], b->arg[i], &less));
        ALM_TRY(pair(scope, "=", pos, a->arg[i], b->arg[i], &same));
        ALM_TRY(bind_row_join(scope, "and", pos, same, rest, &rest));
        ALM_TRY(bind_row_join(scope, "or", pos, less, rest, &rest));
    }
    *out = rest;
    return ALM_OK;
}

static alm_status bind_row_check(alm_scope *scope, const alm_ast *a, const alm_ast *b, int32_t pos)
{
    if (a->kind != ALM_AST_ROW || b->kind != ALM_AST_ROW)
        return alm_fail(scope->p->cx, ALM_E_TYPE, pos, "a row can only be compared with a row");
    if (a->n_args != b->n_args)
        return alm_fail(scope->p->cx, ALM_E_TYPE, b->pos, "rows have %u and %u values", a->n_args,
                        b->n_args);
    return ALM_OK;
}

alm_status alm_bind_row_compare(alm_scope *scope, alm_str op, int32_t pos, const alm_ast *a,
                                const alm_ast *b, alm_expr **out)
{
    ALM_TRY(bind_row_check(scope, a, b, pos));
    if (alm_str_eq(op, ALM_STR("=")))
        return equal_rows(scope, pos, a, b, out);
    if (alm_str_eq(op, ALM_STR("!=")) || alm_str_eq(op, ALM_STR("<>"))) {
        ALM_TRY(equal_rows(scope, pos, a, b, out));
        return alm_expr_call(scope->p, "not", pos, out, 1, out);
    }
    const char *text = NULL;
    ALM_TRY(alm_arena_zstr(scope->p->cx, scope->p->cx->arena, op, &text));
    return ordered_rows(scope, text, pos, a, b, out);
}

/* Balanced, so that long lists do not nest deeply. */
static alm_status any_row(alm_scope *scope, const alm_ast *ast, uint32_t lo, uint32_t hi,
                          alm_expr **out)
{
    if (hi - lo == 1) {
        ALM_TRY(bind_row_check(scope, ast->arg[0], ast->arg[lo], ast->arg[lo]->pos));
        return equal_rows(scope, ast->pos, ast->arg[0], ast->arg[lo], out);
    }
    alm_expr *a = NULL, *b = NULL;
    ALM_TRY(any_row(scope, ast, lo, lo + (hi - lo) / 2, &a));
    ALM_TRY(any_row(scope, ast, lo + (hi - lo) / 2, hi, &b));
    return bind_row_join(scope, "or", ast->pos, a, b, out);
}

alm_status alm_bind_row(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_planner *planner = scope->p;
    alm_expr **args = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, ast->n_args, &args));
    for (uint32_t i = 0; i < ast->n_args; i++) {
        ALM_TRY(alm_bind_expr(scope, ast->arg[i], &args[i]));
        ALM_TRY(alm_param_infer(planner, &args[i], ALM_TY(STRING)));
    }
    return alm_expr_call(planner, "row", ast->pos, args, ast->n_args, out);
}

alm_status alm_bind_row_is_null(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_planner *planner = scope->p;
    const alm_ast *row = ast->arg[0];
    for (uint32_t i = 0; i < row->n_args; i++) {
        alm_expr *test = NULL;
        ALM_TRY(alm_bind_expr(scope, row->arg[i], &test));
        ALM_TRY(alm_param_infer(planner, &test, ALM_TY(STRING)));
        ALM_TRY(alm_expr_null_test(planner, test, ast->negated, ast->pos, &test));
        if (i == 0)
            *out = test;
        else
            ALM_TRY(bind_row_join(scope, "and", ast->pos, *out, test, out));
    }
    return ALM_OK;
}

alm_status alm_bind_row_in(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    return any_row(scope, ast, 1, ast->n_args, out);
}
