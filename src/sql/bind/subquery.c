/*
 * subquery.c - queries inside expressions: joined to the scope's plan on the side, so that the
 * expression reads a column. Those that use columns of the query around them are made independent
 * first (correlate.c).
 *
 * Plans       scalar: CROSS or LEFT join of at most one row (a second is an error). EXISTS: CROSS join of a count.
 *             IN as a condition of its own: SEMI or ANTI join; elsewhere a LEFT join of the distinct
 *             values with a mark that is null where there is none.
 */
#include "sql/bind/bind.h"
#include "sql/node/walk.h"

static alm_status bind_inner(alm_scope *scope, const alm_select *sel, int32_t pos, bool one_col,
                             alm_plan **out, bool *correlated)
{
    alm_planner *planner = scope->p;
    if (scope->plan == NULL || scope->window_join != NULL)
        return alm_fail(planner->cx, ALM_E_UNSUPPORTED, pos, "a subquery cannot stand here");
    const bool conjunct = scope->conjunct;
    ALM_TRY(alm_bind_dependent(scope, sel, out, correlated));
    scope->conjunct = conjunct;
    if (one_col && (*out)->n_cols != 1)
        return alm_fail(planner->cx, ALM_E_TYPE, pos, "subquery must give one column, gives %u",
                        (*out)->n_cols);
    return ALM_OK;
}

/* Does the plan give exactly one row, whatever the data? */
static bool subquery_is_one_row(const alm_plan *plan)
{
    while (plan->op == ALM_P_PROJECT || plan->op == ALM_P_SHARED)
        plan = plan->op == ALM_P_SHARED ? plan->shared.of->child[0] : plan->child[0];
    return (plan->op == ALM_P_GROUP && plan->group.n_keys == 0) ||
           (plan->op == ALM_P_VALUES && plan->values.n_rows == 1);
}

static alm_status subquery_seek_volatile(void *arg, alm_expr **expr)
{
    *(bool *)arg |= alm_expr_volatile(*expr);
    return ALM_OK;
}

/* The same text in the same scope is the same value: in GROUP BY and in the list, say. */
static alm_status note_scalar(alm_scope *scope, const alm_ast *ast, bool fixed, alm_expr *value)
{
    if (!fixed || ast->raw.len == 0)
        return ALM_OK;
    ALM_TRY(alm_grow(scope->p->cx, &scope->scalars, scope->n_scalars, &scope->cap_scalars,
                     sizeof *scope->scalars));
    scope->scalars[scope->n_scalars++] = (alm_scalar){ast->raw, value};
    return ALM_OK;
}

static alm_status limit_single(alm_planner *planner, int32_t pos, alm_plan **inner)
{
    ALM_TRY(alm_plan_limit(planner, inner, 0, 2)); /* what is below need not make more */
    ALM_TRY(alm_plan_limit(planner, inner, 0, 1));
    ALM_ASSERT((*inner)->op == ALM_P_LIMIT);
    (*inner)->limit.single = true;
    (*inner)->pos = pos;
    return ALM_OK;
}

alm_status alm_bind_scalar_subquery(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_planner *planner = scope->p;
    alm_plan *inner = NULL, *left = NULL;
    bool correlated = false, random = false;
    if (scope->plan == NULL || scope->window_join != NULL)
        return alm_constant_subquery(scope, ast, out);
    for (uint32_t i = 0; i < scope->n_scalars; i++) {
        if (ast->raw.len > 0 && alm_str_eq(scope->scalars[i].text, ast->raw)) {
            *out = scope->scalars[i].value;
            return ALM_OK;
        }
    }
    ALM_TRY(bind_inner(scope, ast->select, ast->pos, true, &inner, &correlated));
    ALM_TRY(alm_plan_each_expr(inner, subquery_seek_volatile, &random));
    left = scope->plan;
    const bool one = subquery_is_one_row(inner);
    if (correlated) {
        alm_expr **values = NULL;
        if (one)
            ALM_TRY(alm_join_dependent(scope, ALM_JOIN_LEFT, ast->pos, inner, &values));
        else
            ALM_TRY(alm_join_single(scope, ast->pos, inner, &values));
        *out = values[0];
        return note_scalar(scope, ast, !random, *out);
    }
    if (!one)
        ALM_TRY(limit_single(planner, ast->pos, &inner));
    ALM_TRY(alm_plan_join(planner, one ? ALM_JOIN_CROSS : ALM_JOIN_LEFT, ast->pos, left, inner,
                          &scope->plan));
    ALM_TRY(alm_expr_col(planner->cx, left->n_cols, inner->cols[0].type, ast->pos, out));
    ALM_TRY(alm_exprs_add(planner->cx, &scope->constants, *out));
    return note_scalar(scope, ast, !random, *out);
}

static alm_status subquery_count_rows(alm_planner *planner, int32_t pos, alm_plan **plan)
{
    alm_resolved resolved;
    alm_plan *node = NULL;
    ALM_TRY(alm_registry_resolve(planner->cx, planner->env->registry, ALM_STR("count"),
                                 ALM_FN_AGGREGATE, pos, 0, NULL, &resolved));
    ALM_TRY(alm_plan_new(planner, ALM_P_GROUP, pos, *plan, &node));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 1, &node->group.aggs));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 1, &node->cols));
    node->group.aggs[0] = (alm_agg_call){
        .fn = resolved.fn, .data = resolved.data, .type = resolved.result, .pos = pos};
    node->group.n_aggs = 1;
    node->cols[0] = (alm_plan_col){"count()", resolved.result};
    node->n_cols = 1;
    node->ts_col = -1;
    node->order = ALM_ORDER_NONE;
    *plan = node;
    return ALM_OK;
}

static alm_status join_by(alm_planner *planner, uint8_t kind, int32_t pos, alm_plan *left,
                          alm_plan *right, const alm_semi *by, alm_plan **out)
{
    ALM_TRY(alm_plan_join(planner, kind, pos, left, right, out));
    (*out)->join.left_keys = by->left.at;
    (*out)->join.right_keys = by->right.at;
    (*out)->join.n_keys = by->left.n;
    (*out)->join.residual = by->residual.at;
    (*out)->join.n_residual = by->residual.n;
    return ALM_OK;
}

/* Adds the pair x = column col of the inner plan. */
static alm_status add_pair(alm_planner *planner, alm_semi *by, alm_expr *expr,
                           const alm_plan *inner, uint32_t col, int32_t pos)
{
    alm_expr *key = NULL;
    bool ok = false;
    ALM_TRY(alm_expr_col(planner->cx, col, inner->cols[col].type, pos, &key));
    ALM_TRY(alm_param_infer(planner, &expr, key->type));
    ALM_TRY(alm_join_key_types(planner, &expr, &key, &ok));
    if (!ok)
        return alm_fail(planner->cx, ALM_E_TYPE, pos, "cannot compare %s with %s",
                        alm_type_name(expr->type), alm_type_name(key->type));
    ALM_TRY(alm_exprs_add(planner->cx, &by->left, expr));
    return alm_exprs_add(planner->cx, &by->right, key);
}

static alm_status with_mark(alm_planner *planner, alm_plan **plan);

/* LEFT join of the distinct rows with a mark; the answer is whether there is one. */
static alm_status mark_join(alm_scope *scope, int32_t pos, bool negated, alm_plan *inner,
                            const alm_semi *by, alm_expr **out)
{
    alm_planner *planner = scope->p;
    ALM_TRY(with_mark(planner, &inner));
    const uint32_t n_left = scope->plan->n_cols;
    ALM_TRY(join_by(planner, ALM_JOIN_LEFT, pos, scope->plan, inner, by, &scope->plan));
    ALM_TRY(alm_note_dependent(scope, n_left, scope->plan, &by->left));
    ALM_TRY(alm_expr_col(planner->cx, scope->plan->n_cols - 1, ALM_TY(INT), pos, out));
    return alm_expr_null_test(planner, *out, !negated, pos, out);
}

/* EXISTS over a query that uses outer columns. */
static alm_status dependent_exists(alm_scope *scope, const alm_ast *ast, alm_plan *inner,
                                   alm_expr **out)
{
    alm_planner *planner = scope->p;
    alm_semi by = {0};
    if (scope->conjunct) {
        ALM_TRY(alm_decorrelate_semi(scope, &inner, &by));
        ALM_TRY(join_by(planner, ast->negated ? ALM_JOIN_ANTI : ALM_JOIN_SEMI, ast->pos,
                        scope->plan, inner, &by, &scope->plan));
        return alm_expr_bool(planner->cx, true, ast->pos, out);
    }
    alm_exprs outer = {0};
    const uint32_t n_before = inner->n_cols;
    ALM_TRY(alm_decorrelate(scope, &inner, &outer));
    alm_expr **exprs = NULL;
    const char **names = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, outer.n + 1, &exprs));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, outer.n + 1, &names));
    for (uint32_t i = 0; i < outer.n; i++) {
        names[i] = "outer";
        ALM_TRY(alm_expr_col(planner->cx, n_before + i, inner->cols[n_before + i].type, ast->pos,
                             &exprs[i]));
    }
    ALM_TRY(alm_plan_project(planner, inner, exprs, names, outer.n, &inner));
    for (uint32_t i = 0; i < outer.n; i++)
        ALM_TRY(add_pair(planner, &by, outer.at[i], inner, i, ast->pos));
    return mark_join(scope, ast->pos, ast->negated, inner, &by, out);
}

alm_status alm_bind_exists(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_planner *planner = scope->p;
    alm_plan *inner = NULL;
    bool correlated = false;
    if (scope->plan == NULL || scope->window_join != NULL)
        return alm_constant_exists(scope, ast, out);
    ALM_TRY(bind_inner(scope, ast->select, ast->pos, false, &inner, &correlated));
    if (correlated)
        return dependent_exists(scope, ast, inner, out);
    alm_plan *left = scope->plan;
    ALM_TRY(alm_plan_limit(planner, &inner, 0, 1));
    ALM_TRY(subquery_count_rows(planner, ast->pos, &inner));
    ALM_TRY(alm_plan_join(planner, ALM_JOIN_CROSS, ast->pos, left, inner, &scope->plan));
    alm_expr *args[2] = {NULL, NULL};
    ALM_TRY(alm_expr_col(planner->cx, left->n_cols, inner->cols[0].type, ast->pos, &args[0]));
    ALM_TRY(alm_expr_bits(planner->cx, inner->cols[0].type, 0, ast->pos, &args[1]));
    ALM_TRY(alm_exprs_add(planner->cx, &scope->constants, args[0]));
    return alm_expr_call(planner, ast->negated ? "=" : "!=", ast->pos, args, 2, out);
}

/* Distinct rows, and a mark behind them. */
static alm_status with_mark(alm_planner *planner, alm_plan **plan)
{
    const uint32_t n_names = (*plan)->n_cols;
    ALM_TRY(alm_plan_distinct(planner, plan));
    alm_expr **exprs = NULL;
    const char **names = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_names + 1, &exprs));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_names + 1, &names));
    for (uint32_t i = 0; i < n_names; i++) {
        names[i] = (*plan)->cols[i].name;
        ALM_TRY(alm_expr_col(planner->cx, i, (*plan)->cols[i].type, (*plan)->pos, &exprs[i]));
    }
    ALM_TRY(alm_expr_bits(planner->cx, ALM_TY(INT), 1, (*plan)->pos, &exprs[n_names]));
    names[n_names] = "mark";
    return alm_plan_project(planner, *plan, exprs, names, n_names + 1, plan);
}

/* The compared values are further keys of the join. */
static alm_status in_semi(alm_scope *scope, const alm_ast *ast, alm_plan *inner, alm_semi *by,
                          alm_expr **expr, alm_expr **values, uint32_t n_values, alm_expr **out)
{
    alm_planner *planner = scope->p;
    for (uint32_t i = 0; i < n_values; i++) {
        bool ok = false;
        ALM_TRY(alm_param_infer(planner, &expr[i], values[i]->type));
        ALM_TRY(alm_join_key_types(planner, &expr[i], &values[i], &ok));
        if (!ok)
            return alm_fail(planner->cx, ALM_E_TYPE, ast->pos, "cannot compare %s with %s",
                            alm_type_name(expr[i]->type), alm_type_name(values[i]->type));
        ALM_TRY(alm_exprs_add(planner->cx, &by->left, expr[i]));
        ALM_TRY(alm_exprs_add(planner->cx, &by->right, values[i]));
    }
    ALM_TRY(join_by(planner, ast->negated ? ALM_JOIN_ANTI : ALM_JOIN_SEMI, ast->pos, scope->plan,
                    inner, by, &scope->plan));
    return alm_expr_bool(planner->cx, true, ast->pos, out);
}

/* Where x has aggregates or windows in it the join stands above their nodes (late.c). */
static alm_status in_behind_groups(alm_scope *scope, const alm_ast *ast, alm_plan *inner,
                                   bool correlated, alm_expr **expr, uint32_t n, alm_expr **out)
{
    if (correlated)
        return alm_fail(scope->p->cx, ALM_E_UNSUPPORTED, ast->pos,
                        "a subquery that uses columns of the query around it cannot be compared "
                        "with an aggregate or window function by IN or ANY");
    const alm_late late = {
        .call = {.args = expr, .n_args = n, .type = ALM_TY(BOOLEAN), .pos = ast->pos},
        .query = inner,
        .negated = ast->negated};
    return alm_late_add(scope, &late, out);
}

alm_status alm_join_in(alm_scope *scope, const alm_late *late, alm_expr **out)
{
    alm_semi by = {0};
    for (uint32_t i = 0; i < late->call.n_args; i++)
        ALM_TRY(add_pair(scope->p, &by, late->call.args[i], late->query, i, late->call.pos));
    return mark_join(scope, late->call.pos, late->negated, late->query, &by, out);
}

/* (a, b) IN (SELECT ...): a row has as many columns as the query. */
alm_status alm_bind_in_subquery(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_planner *planner = scope->p;
    const bool conjunct = scope->conjunct;
    bool late = false;
    const alm_select *sel = ast->select != NULL ? ast->select : ast->arg[1]->select;
    const bool row = ast->arg[0]->kind == ALM_AST_ROW;
    alm_ast *const *left = row ? ast->arg[0]->arg : &ast->arg[0];
    const uint32_t n = row ? ast->arg[0]->n_args : 1;
    alm_plan *inner = NULL;
    bool correlated = false;
    alm_exprs outer = {0};
    alm_semi by = {0};
    alm_expr **expr = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n + 1, &expr));
    for (uint32_t i = 0; i < n; i++) {
        scope->conjunct = false;
        ALM_TRY(alm_bind_expr(scope, left[i], &expr[i]));
        late |= alm_expr_has_mark(expr[i], ALM_COL_AGG | ALM_COL_WIN);
    }
    ALM_TRY(bind_inner(scope, sel, ast->pos, false, &inner, &correlated));
    if (inner->n_cols != n)
        return alm_fail(planner->cx, ALM_E_TYPE, ast->pos,
                        "subquery must give %u column%s, gives %u", n, n == 1 ? "" : "s",
                        inner->n_cols);
    if (late)
        return in_behind_groups(scope, ast, inner, correlated, expr, n, out);
    if (correlated && conjunct) {
        bool done = false;
        alm_expr **values = NULL;
        ALM_TRY(alm_decorrelate_in(scope, &inner, &by, &values, &done));
        if (done)
            return in_semi(scope, ast, inner, &by, expr, values, n, out);
    }
    if (correlated)
        ALM_TRY(alm_decorrelate(scope, &inner, &outer));
    for (uint32_t i = 0; i < n; i++)
        ALM_TRY(add_pair(planner, &by, expr[i], inner, i, ast->pos));
    for (uint32_t i = 0; i < outer.n; i++)
        ALM_TRY(add_pair(planner, &by, outer.at[i], inner, n + i, ast->pos));
    if (!conjunct)
        return mark_join(scope, ast->pos, ast->negated, inner, &by, out);
    ALM_TRY(join_by(planner, ast->negated ? ALM_JOIN_ANTI : ALM_JOIN_SEMI, ast->pos, scope->plan,
                    inner, &by, &scope->plan));
    return alm_expr_bool(planner->cx, true, ast->pos, out);
}

/* ----------------------------------------------------------------- ANY and ALL */

static const char *opposite(alm_str op)
{
    static const char *const pairs[][2] = {{"=", "!="}, {"!=", "="}, {"<>", "="}, {"<", ">="},
                                           {">=", "<"}, {">", "<="}, {"<=", ">"}};
    for (size_t i = 0; i < ALM_COUNT(pairs); i++)
        if (alm_str_eq(op, alm_str_of(pairs[i][0])))
            return pairs[i][1];
    return NULL;
}

/* x op ANY (query), op one of < <= > >=: x op (the least or greatest of it). */
static alm_status any_extreme(alm_scope *scope, const alm_ast *ast, alm_str op, alm_expr **left,
                              alm_expr **empty, alm_expr **out)
{
    alm_ast arg = {.kind = ALM_AST_NAME, .pos = ast->pos, .depth = 1};
    alm_ast *args[1] = {&arg};
    alm_ast call = {.kind = ALM_AST_CALL, .pos = ast->pos, .arg = args, .n_args = 1, .depth = 2};
    alm_select_item item = {.expr = &call};
    alm_str name = ALM_STR("v");
    alm_from from = {.kind = ALM_FROM_SELECT,
                     .select = ast->select,
                     .col_aliases = &name,
                     .n_col_aliases = 1,
                     .pos = ast->pos};
    alm_select sel = {.pos = ast->pos, .items = &item, .n_items = 1, .from = &from, .n_from = 1};
    alm_ast query = {.kind = ALM_AST_SUBQUERY, .pos = ast->pos, .select = &sel};
    alm_expr *expr = NULL, *bound = NULL;
    arg.text = name;
    call.text = op.ptr[0] == '<' ? ALM_STR("max") : ALM_STR("min");
    ALM_TRY(alm_bind_expr(scope, ast->arg[0], &expr));
    ALM_TRY(alm_bind_scalar_subquery(scope, &query, &bound));
    *left = expr;
    ALM_TRY(alm_expr_null_test(scope->p, bound, false, ast->pos, empty));
    const char *text = NULL;
    ALM_TRY(alm_arena_zstr(scope->p->cx, scope->p->cx->arena, op, &text));
    return alm_bind_compare(scope, text, ast->pos, expr, bound, out);
}

/* The scalar subquery (select what from (few) limit 1). */
static alm_status of_few(alm_scope *scope, const alm_select *few, alm_ast *what, alm_expr **out)
{
    alm_ast one = {.kind = ALM_AST_NUMBER, .pos = few->pos, .text = ALM_STR("1"), .depth = 1};
    alm_select_item item = {.expr = what};
    alm_from from = {
        .kind = ALM_FROM_SELECT, .select = (alm_select *)(uintptr_t)few, .pos = few->pos};
    alm_select sel = {.pos = few->pos,
                      .items = &item,
                      .n_items = 1,
                      .from = &from,
                      .n_from = 1,
                      .limit_lo = &one};
    const alm_ast query = {.kind = ALM_AST_SUBQUERY, .pos = few->pos, .select = &sel};
    return alm_bind_scalar_subquery(scope, &query, out);
}

/* An x with aggregates cannot go into the query. One that has two values has one that differs from x, and
 * one value is compared: few has two, or one that is not x. */
static alm_status other_than_late(alm_scope *scope, alm_expr *expr, const alm_select *few, bool all,
                                  alm_expr **out)
{
    alm_planner *planner = scope->p;
    alm_ast count = {.kind = ALM_AST_CALL, .pos = few->pos, .text = ALM_STR("count"), .depth = 1};
    alm_expr *exprs[2] = {NULL, NULL}, *value = NULL, *is[2] = {NULL, NULL}, *differs = NULL;
    scope->conjunct = false;
    ALM_TRY(of_few(scope, few, &count, &exprs[0]));
    ALM_TRY(of_few(scope, few, few->items[0].expr, &value));
    for (uint32_t i = 0; i < 2; i++) {
        ALM_TRY(alm_expr_bits(planner->cx, exprs[0]->type, i + 1, few->pos, &exprs[1]));
        ALM_TRY(alm_expr_call(planner, "=", few->pos, exprs, 2, &is[i]));
    }
    ALM_TRY(alm_bind_compare(scope, "!=", few->pos, expr, value, &differs));
    ALM_TRY(alm_expr_and(planner, is[0], differs, &is[0]));
    ALM_TRY(alm_expr_call(planner, "or", few->pos, is, 2, out));
    return all ? alm_expr_call(planner, "not", few->pos, out, 1, out) : ALM_OK;
}

/* x <> ANY (query): there is one that differs among its first two values. = ALL: there is none. */
static alm_status any_other(alm_scope *scope, const alm_ast *ast, bool all, alm_expr **out)
{
    const bool conjunct = scope->conjunct;
    alm_expr *expr = NULL;
    alm_str name = ALM_STR("value of the subquery");
    alm_ast one = {.kind = ALM_AST_NUMBER, .pos = ast->pos, .text = ALM_STR("1"), .depth = 1};
    alm_ast two = {.kind = ALM_AST_NUMBER, .pos = ast->pos, .text = ALM_STR("2"), .depth = 1};
    alm_ast value = {.kind = ALM_AST_NAME, .pos = ast->pos, .text = name, .depth = 1};
    alm_ast *sides[2] = {&value, ast->arg[0]};
    alm_ast other = {.kind = ALM_AST_BINARY,
                     .pos = ast->pos,
                     .text = ALM_STR("!="),
                     .arg = sides,
                     .n_args = 2,
                     .depth = (uint16_t)(ast->depth + 1)};
    alm_select_item value_item = {.expr = &value}, one_item = {.expr = &one};
    alm_from all_rows = {.kind = ALM_FROM_SELECT,
                         .select = ast->select,
                         .col_aliases = &name,
                         .n_col_aliases = 1,
                         .pos = ast->pos};
    alm_select few = {.pos = ast->pos,
                      .distinct = true,
                      .items = &value_item,
                      .n_items = 1,
                      .from = &all_rows,
                      .n_from = 1,
                      .limit_lo = &two};
    scope->conjunct = false;
    ALM_TRY(alm_bind_expr(scope, ast->arg[0], &expr));
    scope->conjunct = conjunct;
    if (alm_expr_has_mark(expr, ALM_COL_AGG | ALM_COL_WIN))
        return other_than_late(scope, expr, &few, all, out);
    alm_from few_rows = {.kind = ALM_FROM_SELECT, .select = &few, .pos = ast->pos};
    alm_select sel = {.pos = ast->pos,
                      .items = &one_item,
                      .n_items = 1,
                      .from = &few_rows,
                      .n_from = 1,
                      .where = &other};
    alm_ast exists = {
        .kind = ALM_AST_EXISTS, .pos = ast->pos, .select = &sel, .negated = all, .depth = 2};
    return alm_bind_exists(scope, &exists, out);
}

/* ANY over an array: one comparison or another. Balanced. */
static alm_status any_of(alm_scope *scope, const alm_ast *ast, const char *op, alm_expr *expr,
                         alm_ast *const *list, uint32_t n, alm_expr **out)
{
    if (n == 0)
        return alm_expr_bool(scope->p->cx, false, ast->pos, out);
    if (n == 1) {
        alm_expr *value = NULL;
        ALM_TRY(alm_bind_expr(scope, list[0], &value));
        return alm_bind_compare(scope, op, ast->pos, expr, value, out);
    }
    alm_expr *sides[2] = {NULL, NULL};
    ALM_TRY(any_of(scope, ast, op, expr, list, n / 2, &sides[0]));
    ALM_TRY(any_of(scope, ast, op, expr, list + n / 2, n - n / 2, &sides[1]));
    return alm_expr_call(scope->p, "or", ast->pos, sides, 2, out);
}

/* What x op ALL is where `any` is x opposite ANY: its contrary, and false for a null x, which is neither below, above nor other
 * than a value; but true where there is none. */
static alm_status subquery_all_of(alm_scope *scope, const alm_ast *ast, alm_expr *any,
                                  alm_expr *expr, alm_expr *empty, alm_expr **out)
{
    alm_planner *planner = scope->p;
    alm_expr *either[2] = {NULL, empty}, *known = NULL;
    ALM_TRY(alm_expr_call(planner, "not", ast->pos, &any, 1, out));
    if (alm_str_eq(ast->text, ALM_STR("=")) || alm_expr_unknown(expr))
        return ALM_OK;
    ALM_TRY(alm_expr_null_test(planner, expr, true, ast->pos, &either[0]));
    ALM_TRY(alm_expr_call(planner, "or", ast->pos, either, 2, &known));
    return alm_expr_and(planner, *out, known, out);
}

/* x op ALL (...) is not (x opposite ANY (...)). */
alm_status alm_bind_quantified(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    alm_planner *planner = scope->p;
    const bool all = ast->number == 2;
    const char *turned = opposite(ast->text);
    if (turned == NULL)
        return alm_fail(planner->cx, ALM_E_UNSUPPORTED, ast->pos,
                        "'%.*s' does not go with ANY or ALL", (int)ast->text.len, ast->text.ptr);
    const alm_str op = all ? alm_str_of(turned) : ast->text;
    const bool equal = alm_str_eq(op, ALM_STR("="));
    if (ast->select != NULL && equal) {
        alm_ast in = *ast;
        in.kind = ALM_AST_IN;
        in.negated = all;
        return alm_bind_in_subquery(scope, &in, out);
    }
    if (ast->select != NULL && (alm_str_eq(op, ALM_STR("!=")) || alm_str_eq(op, ALM_STR("<>"))))
        return any_other(scope, ast, all, out);
    alm_expr *any = NULL, *expr = NULL, *empty = NULL;
    scope->conjunct = false;
    if (ast->select != NULL) {
        ALM_TRY(any_extreme(scope, ast, op, &expr, &empty, &any));
    } else {
        const alm_ast *list = ast->n_args < 2 ? NULL : ast->arg[1];
        while (list != NULL && list->kind == ALM_AST_CAST && list->arg[0]->kind == ALM_AST_ARRAY)
            list = list->arg[0]; /* ARRAY[1, 2]::oid[] */
        const char *text = NULL;
        ALM_TRY(alm_arena_zstr(planner->cx, planner->cx->arena, op, &text));
        if (list == NULL || list->kind != ALM_AST_ARRAY) {
            ALM_TRY(alm_bind_any_list(scope, ast, text, &expr, all ? &empty : NULL, &any));
        } else {
            ALM_TRY(alm_bind_expr(scope, ast->arg[0], &expr));
            ALM_TRY(any_of(scope, ast, text, expr, list->arg, list->n_args, &any));
            ALM_TRY(alm_expr_bool(planner->cx, list->n_args == 0, ast->pos, &empty));
        }
    }
    *out = any;
    return all ? subquery_all_of(scope, ast, any, expr, empty, out) : ALM_OK;
}
