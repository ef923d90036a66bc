/* call.c - function calls: scalars, and aggregates collected in the scope. */
#include "base/hash.h"
#include "sql/bind/bind.h"

static bool same_call(const alm_agg_call *a, const alm_agg_call *b)
{
    if (a->fn != b->fn || a->n_args != b->n_args || a->distinct != b->distinct ||
        a->n_order != b->n_order || (a->filter == NULL) != (b->filter == NULL))
        return false;
    for (uint32_t i = 0; i < a->n_order; i++)
        if (a->order[i].desc != b->order[i].desc ||
            a->order[i].nulls_first != b->order[i].nulls_first)
            return false;
    if (a->filter != NULL && !alm_expr_equal(a->filter, b->filter))
        return false;
    for (uint32_t i = 0; i < a->n_args; i++)
        if (!alm_expr_equal(a->args[i], b->args[i]))
            return false;
    return true;
}

static uint64_t hash_call(const alm_agg_call *call)
{
    uint64_t hash = alm_hash_u128((uint64_t)(uintptr_t)call->fn, call->n_args);
    for (uint32_t i = 0; i < call->n_args; i++)
        hash = alm_hash_combine(hash, alm_expr_hash(call->args[i]));
    return call->filter == NULL ? hash : alm_hash_combine(hash, alm_expr_hash(call->filter));
}

static bool is_ordered(const alm_scope *scope, uint32_t i)
{
    return i < 64 && (scope->ordered_aggs >> i & 1) != 0;
}

/* The aggregate that is the same, else n_aggs. A few are compared, more are found by their hashes. */
static alm_status find_agg(alm_scope *scope, const alm_agg_call *call, bool ordered, uint32_t *out)
{
    enum { FEW = 16 };
    alm_ctx *cx = scope->p->cx;
    uint32_t place = 0;
    for (*out = 0; scope->n_aggs < FEW && *out < scope->n_aggs; ++*out)
        if (same_call(&scope->aggs[*out], call) && ordered == is_ordered(scope, *out))
            return ALM_OK;
    const uint64_t hash = scope->n_aggs < FEW ? 0 : hash_call(call);
    while (scope->n_aggs >= FEW && scope->agg_hashes.n < scope->n_aggs)
        ALM_TRY(alm_hashes_add(cx, cx->arena, &scope->agg_hashes,
                               hash_call(&scope->aggs[scope->agg_hashes.n])));
    while (scope->n_aggs >= FEW && alm_hashes_next(&scope->agg_hashes, hash, &place, out)) {
        ALM_TRY(alm_steps_add(cx, 1));
        if (same_call(&scope->aggs[*out], call) && ordered == is_ordered(scope, *out))
            return ALM_OK;
    }
    *out = scope->n_aggs;
    return ALM_OK;
}

static alm_status add_agg(alm_scope *scope, const alm_agg_call *call, bool ordered, alm_expr **out)
{
    uint32_t i = scope->n_aggs;
    if (scope->share_aggs)
        ALM_TRY(find_agg(scope, call, ordered, &i));
    if (ordered && i >= 64)
        return alm_fail(scope->p->cx, ALM_E_LIMIT, call->pos,
                        "too many aggregates beside one with ORDER BY");
    if (ordered)
        scope->ordered_aggs |= UINT64_C(1) << i;
    if (i == scope->n_aggs) {
        ALM_TRY(alm_grow(scope->p->cx, &scope->aggs, scope->n_aggs, &scope->cap_aggs,
                         sizeof *scope->aggs));
        scope->aggs[scope->n_aggs++] = *call;
    }
    return alm_expr_col(scope->p->cx, ALM_COL_AGG | i, call->type, call->pos, out);
}

static alm_status bind_args(alm_scope *scope, const alm_ast *ast, alm_expr ***out)
{
    alm_expr **args = NULL;
    ALM_TRY(ALM_NEWN(scope->p->cx, scope->p->cx->arena, ast->n_args + 1, &args));
    for (uint32_t i = 0; i < ast->n_args; i++)
        ALM_TRY(alm_bind_expr(scope, ast->arg[i], &args[i]));
    *out = args;
    return ALM_OK;
}

/*
 * string_agg(x, ',' ORDER BY y): rows are sorted before they are grouped if all such aggregates have one
 * order. *own is set where this one has another, or where SAMPLE BY needs the rows in order of time: the
 * keys go behind its arguments then, and it puts its values in order itself.
 */
static alm_status bind_agg_keys(alm_scope *scope, const alm_ast *ast, alm_sort_key **own)
{
    alm_planner *planner = scope->p;
    alm_sort_key *keys = NULL;
    *own = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, ast->n_order + 1, &keys));
    for (uint32_t i = 0; i < ast->n_order; i++) {
        alm_expr *expr = NULL;
        ALM_TRY(alm_order_refuse_text(planner, ast->order[i].expr));
        ALM_TRY(alm_bind_expr(scope, ast->order[i].expr, &expr));
        ALM_TRY(alm_sort_key_make(planner, expr, &ast->order[i], &keys[i]));
    }
    bool same = scope->sel->sample == NULL &&
                (scope->n_agg_order == 0 || scope->n_agg_order == ast->n_order);
    for (uint32_t i = 0; same && i < scope->n_agg_order; i++)
        same = keys[i].desc == scope->agg_order[i].desc &&
               keys[i].nulls_first == scope->agg_order[i].nulls_first &&
               alm_expr_equal(keys[i].expr, scope->agg_order[i].expr);
    if (!same) {
        *own = keys;
        return ALM_OK;
    }
    scope->agg_order = keys;
    scope->n_agg_order = ast->n_order;
    return ALM_OK;
}

/* Sort keys behind the arguments of a call. */
static alm_status add_order(alm_planner *planner, const alm_sort_key *keys, uint32_t n_keys,
                            alm_agg_call *call)
{
    alm_expr **args = NULL;
    alm_agg_order *order = NULL;
    if (call->n_args + n_keys > ALM_AGG_ARGS_MAX)
        return alm_fail(planner->cx, ALM_E_LIMIT, call->pos,
                        "%s() has more than %d arguments and sort keys", call->fn->name,
                        ALM_AGG_ARGS_MAX);
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, call->n_args + n_keys, &args));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_keys, &order));
    for (uint32_t i = 0; i < call->n_args; i++)
        args[i] = call->args[i];
    for (uint32_t i = 0; i < n_keys; i++) {
        args[call->n_args + i] = keys[i].expr;
        order[i] = (alm_agg_order){.desc = keys[i].desc, .nulls_first = keys[i].nulls_first};
    }
    call->args = args;
    call->n_args += n_keys;
    call->order = order;
    call->n_order = n_keys;
    return ALM_OK;
}

/* Does an aggregate go by the order of rows as they come, beside those with ORDER BY? */
static bool any_by_rows(const alm_scope *scope)
{
    for (uint32_t i = 0; i < scope->n_aggs; i++)
        if (scope->aggs[i].fn != NULL && (scope->aggs[i].fn->flags & ALM_FN_ROW_ORDER) != 0 &&
            scope->aggs[i].n_order == 0 && !is_ordered(scope, i))
            return true;
    return false;
}

alm_status alm_bind_agg_order(alm_scope *scope)
{
    if (scope->n_agg_order == 0)
        return ALM_OK;
    if (!any_by_rows(scope))
        return alm_plan_sort(scope->p, &scope->plan, scope->agg_order, scope->n_agg_order);
    for (uint32_t i = 0; i < scope->n_aggs; i++)
        if (is_ordered(scope, i))
            ALM_TRY(add_order(scope->p, scope->agg_order, scope->n_agg_order, &scope->aggs[i]));
    return ALM_OK;
}

/* array_agg of what is more to drivers than its type says: numbers of the catalogue, rows. */
static alm_status list_of_noted(alm_planner *planner, alm_expr **arg, alm_str *name)
{
    if (alm_type_is_row((*arg)->type))
        *name = ALM_STR("row_agg");
    if (!alm_type_is_oid((*arg)->type))
        return ALM_OK;
    *name = ALM_STR("oid_agg");
    return alm_expr_cast(planner, *arg, ALM_TY(STRING), ALM_CAST_EXPLICIT, arg);
}

static alm_status bind_aggregate(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_planner *planner = scope->p;
    if (scope->aggs_allowed != ALM_AGG_YES)
        return alm_fail(planner->cx, ALM_E_FUNCTION, ast->pos,
                        "Aggregate function cannot be passed as an argument");
    alm_agg_call call = {.pos = ast->pos, .distinct = ast->distinct};
    const bool windows = scope->windows_allowed;
    scope->aggs_allowed = ALM_AGG_INSIDE;
    scope->windows_allowed = false;
    ALM_TRY(bind_args(scope, ast, &call.args));
    if (ast->filter != NULL) {
        ALM_TRY(alm_bind_expr(scope, ast->filter, &call.filter));
        ALM_TRY(alm_bind_condition(planner, &call.filter, ast->filter->pos));
    }
    alm_sort_key *own = NULL;
    if (ast->n_order > 0)
        ALM_TRY(bind_agg_keys(scope, ast, &own));
    if (scope->agg_filter != NULL)
        ALM_TRY(alm_expr_and(planner, call.filter, scope->agg_filter, &call.filter));
    scope->aggs_allowed = ALM_AGG_YES;
    scope->windows_allowed = windows;
    call.n_args = ast->n_args;

    alm_str name = ast->text;
    if (ast->distinct && alm_str_ieq(name, ALM_STR("count")) &&
        alm_registry_has(planner->env->registry, ALM_STR("count_distinct"), ALM_FN_AGGREGATE)) {
        name = ALM_STR("count_distinct");
        call.distinct = false;
    }
    if (alm_str_ieq(name, ALM_STR("array_agg")) && call.n_args == 1)
        ALM_TRY(list_of_noted(planner, &call.args[0], &name));
    alm_resolved resolved;
    ALM_TRY(alm_args_resolve(planner, name, ALM_FN_AGGREGATE, ast->pos, call.args, call.n_args,
                             &resolved));
    call.fn = resolved.fn;
    call.data = resolved.data;
    call.type = resolved.result;
    if (own != NULL)
        ALM_TRY(add_order(planner, own, ast->n_order, &call));
    return add_agg(scope, &call, ast->n_order > 0 && own == NULL, out);
}

/* extract(hour FROM ts): the field is a word, not a column. */
static alm_status bind_extract(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_expr *args[2] = {NULL, NULL};
    if (ast->n_args != 2)
        return alm_fail(scope->p->cx, ALM_E_SYNTAX, ast->pos, "extract(field from time) expected");
    const alm_ast *field = ast->arg[0];
    if (field->kind == ALM_AST_NAME || field->kind == ALM_AST_STRING)
        ALM_TRY(alm_expr_text(scope->p->cx, ALM_TY(STRING), field->text, field->pos, &args[0]));
    else
        ALM_TRY(alm_bind_expr(scope, field, &args[0]));
    ALM_TRY(alm_bind_expr(scope, ast->arg[1], &args[1]));
    return alm_expr_call_str(scope->p, ast->text, ast->pos, args, 2, out);
}

/* grouping(x): 1 where x is not in the grouping set of the row. An aggregate without a function,
 * until the sets are known (group.c). */
static alm_status bind_grouping(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_agg_call call = {.pos = ast->pos, .type = ALM_TY(INT), .n_args = 1};
    alm_expr *arg = NULL;
    if (ast->n_args != 1 || scope->aggs_allowed != ALM_AGG_YES)
        return alm_fail(scope->p->cx, ALM_E_FUNCTION, ast->pos,
                        "grouping(x) takes one expression of GROUP BY");
    ALM_TRY(alm_bind_by_keys(scope, ast->arg[0], &arg));
    if (alm_expr_has_mark(arg, ALM_COL_AGG | ALM_COL_WIN))
        return alm_fail(scope->p->cx, ALM_E_FUNCTION, ast->arg[0]->pos,
                        "grouping(x) takes one expression of GROUP BY");
    ALM_TRY(ALM_NEW(scope->p->cx, scope->p->cx->arena, &call.args));
    call.args[0] = arg;
    return add_agg(scope, &call, false, out);
}

/* current_date, current_timestamp, localtimestamp: written without brackets. */
static alm_status bind_clock(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_planner *planner = scope->p;
    const bool date = alm_str_ieq(ast->text, ALM_STR("current_date"));
    *out = NULL;
    if (ast->n_args > 0 || (!date && !alm_str_ieq(ast->text, ALM_STR("current_timestamp")) &&
                            !alm_str_ieq(ast->text, ALM_STR("localtimestamp"))))
        return ALM_OK;
    ALM_TRY(alm_expr_call(planner, "now", ast->pos, NULL, 0, out));
    if (!date)
        return ALM_OK;
    alm_expr *args[2] = {NULL, *out};
    ALM_TRY(alm_expr_text(planner->cx, ALM_TY(STRING), ALM_STR("d"), ast->pos, &args[0]));
    ALM_TRY(alm_expr_call(planner, "timestamp_floor", ast->pos, args, 2, out));
    return alm_expr_cast(planner, *out, ALM_TY(DATE), ALM_CAST_EXPLICIT, out);
}

/* array_elem_sum and its like are an aggregate of one array, and a function of several. */
static bool is_aggregate(const alm_registry *reg, const alm_ast *ast)
{
    return alm_registry_has(reg, ast->text, ALM_FN_AGGREGATE) &&
           (ast->n_args < 2 || !alm_registry_has(reg, ast->text, ALM_FN_SCALAR));
}

alm_status alm_bind_call(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_planner *planner = scope->p;
    const alm_registry *reg = planner->env->registry;
    if (scope->sel->n_group_sets > 0 && alm_str_ieq(ast->text, ALM_STR("grouping")))
        return bind_grouping(scope, ast, out);
    if (ast->over != NULL || ast->over_name.len > 0)
        return alm_bind_window(scope, ast, out);
    if (alm_str_ieq(ast->text, ALM_STR("coalesce")))
        return alm_bind_coalesce(scope, ast, out);
    if (alm_str_ieq(ast->text, ALM_STR("nullif")))
        return alm_bind_nullif(scope, ast, out);
    if (alm_str_ieq(ast->text, ALM_STR("array")) && ast->n_args == 1 &&
        ast->arg[0]->kind == ALM_AST_SUBQUERY)
        return alm_bind_array_of(scope, ast, out);
    if (alm_str_ieq(ast->text, ALM_STR("extract")))
        return bind_extract(scope, ast, out);
    if (is_aggregate(reg, ast))
        return bind_aggregate(scope, ast, out);
    if (alm_registry_has(reg, ast->text, ALM_FN_WINDOW) &&
        !alm_registry_has(reg, ast->text, ALM_FN_SCALAR))
        return alm_fail(planner->cx, ALM_E_FUNCTION, ast->pos,
                        "window function called in non-window context, make sure to add OVER "
                        "clause");
    alm_expr **args = NULL;
    if (!alm_registry_has(reg, ast->text, ALM_FN_SCALAR)) {
        ALM_TRY(bind_clock(scope, ast, out));
        if (*out != NULL)
            return ALM_OK;
        if (planner->env->sources != NULL && planner->env->sources->find != NULL &&
            planner->env->sources->find(ast->text) != NULL)
            return alm_fail(planner->cx, ALM_E_FUNCTION, ast->pos,
                            "%.*s() gives rows: it can only stand in FROM", (int)ast->text.len,
                            ast->text.ptr);
    }
    ALM_TRY(bind_args(scope, ast, &args));
    return alm_expr_call_str(planner, ast->text, ast->pos, args, ast->n_args, out);
}
