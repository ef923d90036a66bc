/*
 * array.c - ARRAY[...] and x[...]: calls of array_of, array_stack and [] (func/array/make.c).
 */
#include "sql/bind/bind.h"

static bool bind_is_array(const alm_expr *expr)
{
    return expr->type.id == ALM_T_ARRAY;
}

static alm_status bind_array_to_double(alm_planner *planner, alm_expr **expr)
{
    alm_expr *cast = NULL;
    ALM_TRY(alm_expr_try_cast(planner, *expr, ALM_TY(DOUBLE), ALM_CAST_IMPLICIT, &cast));
    if (cast == NULL)
        ALM_TRY(alm_expr_cast(planner, *expr, ALM_TY(DOUBLE), ALM_CAST_EXPLICIT, &cast));
    *expr = cast;
    return ALM_OK;
}

alm_status alm_bind_array(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_planner *planner = scope->p;
    alm_expr **items = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, ast->n_args + 1, &items));
    bool stacked = false;
    for (uint32_t i = 0; i < ast->n_args; i++) {
        ALM_TRY(alm_bind_expr(scope, ast->arg[i], &items[i]));
        if (i > 0 && bind_is_array(items[i]) != stacked)
            return alm_fail(planner->cx, ALM_E_TYPE, ast->arg[i]->pos,
                            "mixed array and non-array elements");
        stacked = bind_is_array(items[i]);
        if (!stacked)
            ALM_TRY(bind_array_to_double(planner, &items[i]));
        else if (items[i]->pos != ast->arg[i]->pos && items[i]->kind == ALM_X_CONST)
            items[i]->pos = ast->arg[i]->pos;
    }
    return alm_expr_call(planner, stacked ? "array_stack" : "array_of", ast->pos, items,
                         ast->n_args, out);
}

/* lo or hi of a slice; one that is not written is as far out as can be. */
static alm_status bind_array_bound(alm_scope *scope, const alm_ast *ast, int64_t open, int32_t pos,
                                   alm_expr **out)
{
    if (ast == NULL)
        return alm_expr_bits(scope->p->cx, ALM_TY(LONG), (uint64_t)open, pos, out);
    return alm_bind_expr(scope, ast, out);
}

alm_status alm_bind_index(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_planner *planner = scope->p;
    alm_expr **args = NULL;
    char *pattern = NULL;
    uint32_t n = 2;
    const uint32_t dims = ast->n_args - 1;
    if (dims > ALM_ARRAY_DIMS_MAX)
        return alm_fail(planner->cx, ALM_E_TYPE, ast->pos,
                        "an array may have %d dimensions at most", ALM_ARRAY_DIMS_MAX);
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 2 + 2 * (size_t)dims, &args));
    ALM_TRY(alm_arena_bytes(planner->cx, planner->cx->arena, dims, &pattern));
    ALM_TRY(alm_bind_expr(scope, ast->arg[0], &args[1]));
    ALM_TRY(alm_param_infer(planner, &args[1], alm_type_array(dims)));
    for (uint32_t i = 0; i < dims; i++) {
        const alm_ast *sub = ast->arg[1 + i];
        const bool slice = sub->kind == ALM_AST_SLICE;
        pattern[i] = slice ? 's' : 'i';
        ALM_TRY(bind_array_bound(scope, slice ? sub->arg[0] : sub, 1, sub->pos, &args[n++]));
        if (slice)
            ALM_TRY(bind_array_bound(scope, sub->arg[1], INT64_MAX, sub->pos, &args[n++]));
    }
    if (alm_type_is_text(args[1]->type) && dims == 1 && n == 3)
        return alm_expr_call(planner, "list_index", ast->pos, args + 1, 2, out);
    if (!bind_is_array(args[1]))
        return alm_fail(planner->cx, ALM_E_TYPE, ast->pos,
                        "there is no matching function `[]` with the argument types: (%s, %s)",
                        alm_type_name(args[1]->type), alm_type_name(args[2]->type));
    ALM_TRY(
        alm_expr_text(planner->cx, ALM_TY(STRING), (alm_str){pattern, dims}, ast->pos, &args[0]));
    return alm_expr_call(planner, "[]", ast->pos, args, n, out);
}
