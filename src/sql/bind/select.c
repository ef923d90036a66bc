/*
 * select.c - one SELECT: binds its clauses and stacks the plan nodes (bind.h, Stages).
 */
#include "sql/bind/bind.h"
#include "sql/node/decorrelate.h"

/* -------------------------------------------------------------------- LATEST ON */

static alm_status latest_column(alm_scope *scope, uint32_t *out)
{
    alm_ctx *cx = scope->p->cx;
    const alm_select *sel = scope->sel;
    const alm_plan *plan = scope->plan;
    if (sel->latest_ts.len == 0) {
        if (plan->ts_col < 0)
            return alm_fail(cx, ALM_E_TYPE, sel->latest_pos,
                            "latest by over a table requires designated TIMESTAMP");
        *out = (uint32_t)plan->ts_col;
        return ALM_OK;
    }
    const alm_ast name = {.kind = ALM_AST_NAME, .text = sel->latest_ts, .pos = sel->latest_pos};
    alm_expr *expr = NULL;
    ALM_TRY(alm_bind_name(scope, &name, &expr));
    if (expr == NULL || expr->kind != ALM_X_COL ||
        expr->col >= plan->n_cols) /* of a query around it */
        return alm_no_name(scope, &name);
    if (!alm_type_is_timestamp(expr->type))
        return alm_fail(cx, ALM_E_TYPE, sel->latest_pos, "not a TIMESTAMP");
    if (scope->n_rels == 1 && scope->rels[0].table != NULL && plan->ts_col != (int32_t)expr->col)
        return alm_fail(cx, ALM_E_TYPE, sel->latest_pos,
                        "latest by over a table requires designated TIMESTAMP");
    *out = expr->col;
    return ALM_OK;
}

static alm_status bind_latest(alm_scope *scope)
{
    alm_planner *planner = scope->p;
    const alm_select *sel = scope->sel;
    uint32_t ts = 0;
    alm_expr **keys = NULL;
    alm_plan *node = NULL;
    if (sel->n_latest_by == 0)
        return ALM_OK;
    ALM_TRY(latest_column(scope, &ts));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, sel->n_latest_by, &keys));
    for (uint32_t i = 0; i < sel->n_latest_by; i++)
        ALM_TRY(alm_bind_expr(scope, sel->latest_by[i], &keys[i]));
    ALM_TRY(alm_plan_order_by_ts(planner, &scope->plan, ts));
    ALM_TRY(alm_plan_new(planner, ALM_P_LATEST, sel->latest_pos, scope->plan, &node));
    node->latest.keys = keys;
    node->latest.n_keys = sel->n_latest_by;
    node->latest.ts_col = ts;
    node->ts_col = (int32_t)ts;
    node->order = ALM_ORDER_ASC;
    scope->plan = node;
    return ALM_OK;
}

/* --------------------------------------------------------------------- ORDER BY */

alm_status alm_sort_key_make(alm_planner *planner, alm_expr *expr, const alm_ast_order *item,
                             alm_sort_key *out)
{
    if (expr->type.id == ALM_T_ARRAY)
        return alm_fail(planner->cx, ALM_E_TYPE, item->expr->pos,
                        "%s is not a supported type in ORDER BY clause", alm_type_name(expr->type));
    const bool is_float = expr->type.id == ALM_T_DOUBLE || expr->type.id == ALM_T_FLOAT;
    out->expr = expr;
    out->desc = item->desc;
    /* a null is the smallest integer and the largest floating number */
    out->nulls_first = item->nulls == 1   ? true
                       : item->nulls == 2 ? false
                       : is_float         ? item->desc
                                          : !item->desc;
    return ALM_OK;
}

alm_status alm_order_refuse_text(alm_planner *planner, const alm_ast *ast)
{
    return ast->kind != ALM_AST_STRING
               ? ALM_OK
               : alm_fail(planner->cx, ALM_E_SYNTAX, ast->pos,
                          "a text constant in ORDER BY orders nothing; a name that needs quotes "
                          "takes double ones: \"%.*s\"",
                          (int)ALM_MIN(ast->text.len, 100U), ast->text.ptr);
}

alm_status alm_order_refuse_constant(alm_planner *planner, const alm_ast *ast)
{
    ALM_TRY(alm_order_refuse_text(planner, ast));
    return ast->kind != ALM_AST_NUMBER && ast->kind != ALM_AST_BOOL && ast->kind != ALM_AST_NULL
               ? ALM_OK
               : alm_fail(planner->cx, ALM_E_SYNTAX, ast->pos,
                          "a constant in ORDER BY must be the number of a column");
}

/* Position of ORDER BY n; 0: it is none. */
static uint32_t position_of(const alm_ast *ast)
{
    if (ast->kind != ALM_AST_NUMBER || ast->text.len > 9)
        return 0;
    uint32_t place = 0;
    for (size_t i = 0; i < ast->text.len; i++) {
        if (ast->text.ptr[i] < '0' || ast->text.ptr[i] > '9')
            return 0;
        place = place * 10 + (uint32_t)(ast->text.ptr[i] - '0');
    }
    return place == 0 ? UINT32_MAX : place;
}

/* The item that is the expression; -1: none. */
static int32_t equal_item(const alm_stage *stage, const alm_expr *expr)
{
    for (uint32_t i = 0; i < stage->n_items; i++)
        if (alm_expr_equal(stage->items[i].expr, expr))
            return (int32_t)i;
    return -1;
}

static alm_status bind_order_item(alm_scope *scope, const alm_ast *ast, const alm_stage *stage,
                                  int32_t *item, alm_expr **expr)
{
    const uint32_t place = position_of(ast);
    *item = -1;
    *expr = NULL;
    if (place > stage->n_items)
        return alm_fail(scope->p->cx, ALM_E_SYNTAX, ast->pos,
                        "order column position is out of range [max=%u]", stage->n_items);
    if (place > 0) {
        *item = (int32_t)place - 1;
        return ALM_OK;
    }
    ALM_TRY(alm_steps_add(scope->p->cx, stage->n_items));
    if (ast->kind == ALM_AST_NAME && ast->table.len == 0) {
        for (uint32_t i = 0; i < stage->n_items; i++) {
            if (alm_str_ieq(stage->items[i].name, ast->text)) {
                *item = (int32_t)i;
                return ALM_OK;
            }
        }
    }
    scope->aggs_allowed = ALM_AGG_YES;
    scope->windows_allowed = true;
    ALM_TRY(alm_bind_expr(scope, ast, expr));
    *item = equal_item(stage, *expr);
    if (*item < 0 && scope->sel->has_group && !scope->sel->group_all)
        ALM_TRY(
            alm_bind_by_keys(scope, ast, expr)); /* an item may only be repeated, others are new */
    if (*item >= 0)
        *expr = NULL;
    return ALM_OK;
}

static alm_status bind_order(alm_scope *scope, alm_stage *stage)
{
    const alm_select *sel = scope->sel;
    alm_ctx *cx = scope->p->cx;
    ALM_TRY(ALM_NEWN(cx, cx->arena, sel->n_order + 1, &stage->order));
    ALM_TRY(ALM_NEWN(cx, cx->arena, sel->n_order + 1, &stage->order_item));
    for (uint32_t i = 0; i < sel->n_order; i++) {
        alm_expr *expr = NULL;
        int32_t item = -1;
        ALM_TRY(bind_order_item(scope, sel->order[i].expr, stage, &item, &expr));
        if (item < 0)
            ALM_TRY(alm_order_refuse_constant(scope->p, sel->order[i].expr));
        if (item < 0 && expr->kind == ALM_X_CONST)
            continue; /* orders nothing */
        const alm_expr *typed = item >= 0 ? stage->items[item].expr : expr;
        const alm_expr *shown = typed;
        alm_expr probe = {.type = shown->type};
        ALM_TRY(alm_sort_key_make(scope->p, &probe, &sel->order[i], &stage->order[stage->n_order]));
        stage->order[stage->n_order].expr = expr;
        stage->order_item[stage->n_order++] = item;
    }
    return ALM_OK;
}

/* DISTINCT ON (...): positions and names of the list count, as in ORDER BY. */
static alm_status bind_distinct_on(alm_scope *scope, alm_stage *stage)
{
    const alm_select *sel = scope->sel;
    ALM_TRY(ALM_NEWN(scope->p->cx, scope->p->cx->arena, sel->n_distinct_on + 1, &stage->on));
    for (uint32_t i = 0; i < sel->n_distinct_on; i++) {
        int32_t item = -1;
        ALM_TRY(bind_order_item(scope, sel->distinct_on[i], stage, &item, &stage->on[stage->n_on]));
        if (item >= 0)
            stage->on[stage->n_on] = stage->items[item].expr;
        if (stage->on[stage->n_on]->kind != ALM_X_CONST)
            stage->n_on++;
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------- HAVING ... */

static alm_status bind_condition(alm_scope *scope, const alm_ast *ast, bool windows, alm_expr **out)
{
    if (ast == NULL)
        return ALM_OK;
    scope->aggs_allowed = ALM_AGG_YES;
    scope->windows_allowed = windows;
    ALM_TRY(alm_bind_by_keys(scope, ast, out));
    ALM_TRY(alm_bind_condition(scope->p, out, ast->pos));
    if (!windows && alm_has_window(scope, *out)) /* by its name in the list */
        return alm_fail(scope->p->cx, ALM_E_FUNCTION, ast->pos,
                        "window functions are not allowed in HAVING: QUALIFY filters by them");
    return ALM_OK;
}

static alm_status filter_by(alm_scope *scope, alm_expr *expr)
{
    if (expr == NULL)
        return ALM_OK;
    alm_exprs conjuncts = {0};
    ALM_TRY(alm_exprs_split(scope->p->cx, &conjuncts, expr));
    return alm_plan_filter(scope->p, &scope->plan, &conjuncts);
}

/* ---------------------------------------------------------------------- windows */

/* What is computed behind the groups, and HAVING where it belongs: before the windows. */
static alm_status add_lates(alm_scope *scope, alm_stage *stage)
{
    alm_expr **values = NULL;
    ALM_TRY(ALM_NEWN(scope->p->cx, scope->p->cx->arena, scope->n_lates + 1, &values));
    ALM_TRY(alm_late_nodes(scope, true, values));
    ALM_TRY(alm_late_replace(scope, values, &stage->having));
    ALM_TRY(filter_by(scope, stage->having));
    ALM_TRY(alm_late_nodes(scope, false, values));
    for (uint32_t i = 0; i < stage->n_items; i++)
        ALM_TRY(alm_late_replace(scope, values, &stage->items[i].expr));
    for (uint32_t i = 0; i < stage->n_order; i++)
        ALM_TRY(alm_late_replace(scope, values, &stage->order[i].expr));
    for (uint32_t i = 0; i < stage->n_on; i++)
        ALM_TRY(alm_late_replace(scope, values, &stage->on[i]));
    return alm_late_replace(scope, values, &stage->qualify);
}

/* ------------------------------------------------------------------- the result */

/* Select list, then what only ORDER BY needs. */
static alm_status add_project(alm_scope *scope, const alm_stage *stage)
{
    alm_planner *planner = scope->p;
    const uint32_t room = stage->n_items + stage->n_order + stage->n_on + 1;
    alm_expr **exprs = NULL;
    const char **names = NULL;
    uint32_t n_items = stage->n_items;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, room, &exprs));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, room, &names));
    for (uint32_t i = 0; i < stage->n_items; i++) {
        exprs[i] = stage->items[i].expr;
        ALM_TRY(alm_arena_zstr(planner->cx, planner->cx->arena, stage->items[i].name, &names[i]));
    }
    for (uint32_t i = 0; i < stage->n_order; i++) {
        if (stage->order[i].expr == NULL)
            continue;
        exprs[n_items] = stage->order[i].expr;
        names[n_items] = "order";
        n_items++;
    }
    if (scope->sel->distinct && scope->sel->n_distinct_on == 0 && n_items > stage->n_items)
        return alm_fail(planner->cx, ALM_E_SYNTAX, scope->sel->order[0].expr->pos,
                        "ORDER BY of SELECT DISTINCT must use columns of the select list");
    for (uint32_t i = 0; i < stage->n_on; i++) {
        exprs[n_items] = stage->on[i];
        names[n_items++] = "on";
    }
    return alm_plan_project(planner, scope->plan, exprs, names, n_items, &scope->plan);
}

static alm_status add_sort(alm_scope *scope, const alm_stage *stage)
{
    alm_planner *planner = scope->p;
    if (stage->n_order == 0)
        return alm_plan_cut(planner, &scope->plan, stage->n_items + stage->n_on);
    uint32_t hidden = stage->n_items;
    for (uint32_t i = 0; i < stage->n_order; i++) {
        const uint32_t col = stage->order_item[i] >= 0 ? (uint32_t)stage->order_item[i] : hidden++;
        ALM_TRY(alm_expr_col(planner->cx, col, scope->plan->cols[col].type,
                             scope->sel->order[0].expr->pos, &stage->order[i].expr));
    }
    if (stage->n_on == 0)
        ALM_TRY(alm_bind_ties(planner, scope->names, scope->sel, stage->order, stage->n_order,
                              &scope->plan));
    ALM_TRY(alm_plan_sort(planner, &scope->plan, stage->order, stage->n_order));
    return stage->n_on > 0 ? ALM_OK : alm_plan_cut(planner, &scope->plan, stage->n_items);
}

static alm_status add_distinct(alm_scope *scope)
{
    const bool all = scope->sel->distinct && scope->sel->n_distinct_on == 0;
    return all ? alm_plan_distinct(scope->p, &scope->plan) : ALM_OK;
}

/* The first row of each value, in the order rows have by now. */
static alm_status add_distinct_on(alm_scope *scope, const alm_stage *stage)
{
    if (scope->sel->n_distinct_on == 0)
        return ALM_OK;
    if (stage->n_on == 0) /* constants: one row */
        return alm_plan_limit(scope->p, &scope->plan, 0, 1);
    ALM_TRY(alm_plan_limit_per(scope->p, &scope->plan, scope->plan->n_cols - stage->n_on,
                               stage->n_on, 0, 1));
    if (stage->n_order > 0)
        ALM_TRY(alm_bind_ties(scope->p, scope->names, scope->sel, stage->order, stage->n_order,
                              &scope->plan));
    return alm_plan_cut(scope->p, &scope->plan, stage->n_items);
}

static alm_status bind_body(alm_scope *scope, alm_stage *stage)
{
    const alm_select *sel = scope->sel;
    scope->share_aggs = sel->sample == NULL || sel->sample->n_fill <= 1;
    ALM_TRY(alm_bind_items(scope, &stage->items, &stage->n_items));
    scope->items = stage->items;
    scope->n_items = stage->n_items;
    ALM_TRY(bind_condition(scope, sel->having, false, &stage->having));
    ALM_TRY(bind_condition(scope, sel->qualify, true, &stage->qualify));
    ALM_TRY(bind_order(scope, stage));
    ALM_TRY(bind_distinct_on(scope, stage));
    if (scope->window_join != NULL)
        return alm_bind_window_join(scope, stage);
    if (sel->sample != NULL) {
        if (sel->has_group)
            return alm_fail(scope->p->cx, ALM_E_SYNTAX, sel->group_pos,
                            "SELECT query must not contain both GROUP BY and SAMPLE BY");
        return alm_bind_sample(scope, stage);
    }
    if (sel->has_group || scope->n_aggs > 0)
        return alm_bind_group(scope, stage);
    return ALM_OK;
}

static alm_status bind_select(alm_planner *planner, const alm_names *names, const alm_select *sel,
                              alm_plan **out)
{
    alm_scope scope = {.p = planner, .names = names, .sel = sel};
    alm_stage stage = {0};
    ALM_TRY(alm_bind_from(&scope, sel->from, sel->n_from));
    if (!sel->latest_before_where)
        ALM_TRY(alm_bind_where(&scope, sel->where));
    ALM_TRY(bind_latest(&scope));
    if (sel->latest_before_where)
        ALM_TRY(alm_bind_where(&scope, sel->where));
    ALM_TRY(alm_bind_unpivot(&scope));
    ALM_TRY(alm_bind_pivot(&scope));
    ALM_TRY(bind_body(&scope, &stage));
    ALM_TRY(add_lates(&scope, &stage));
    ALM_TRY(filter_by(&scope, stage.qualify));
    ALM_TRY(add_project(&scope, &stage));
    ALM_TRY(add_distinct(&scope));
    ALM_TRY(add_sort(&scope, &stage));
    ALM_TRY(add_distinct_on(&scope, &stage));
    *out = scope.plan;
    return alm_bind_limit(planner, names, sel, out);
}

/* ------------------------------------------------------------------------ query */

static alm_status index_ctes(alm_planner *planner, const alm_select *sel, const alm_name_set **out)
{
    alm_name_set *set = NULL;
    uint32_t had = ALM_NAME_NONE;
    ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, &set));
    for (uint32_t i = 0; i < sel->n_with; i++) {
        ALM_TRY(alm_name_set_add(planner->cx, set, sel->with[i].name, i, &had));
        if (had != ALM_NAME_NONE)
            return alm_fail(planner->cx, ALM_E_DUPLICATE, sel->with[i].pos, "duplicate name");
    }
    *out = set;
    return ALM_OK;
}

alm_status alm_names_with(alm_planner *planner, const alm_select *sel, alm_names *own,
                          const alm_names **names)
{
    if (sel->n_with == 0)
        return ALM_OK;
    const alm_name_set *by_name = NULL;
    ALM_TRY(index_ctes(planner, sel, &by_name));
    *own = (alm_names){.outer = *names,
                       .ctes = sel->with,
                       .n_ctes = sel->n_with,
                       .by_name = by_name,
                       .recursive = sel->with_recursive};
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, sel->n_with, &own->uses));
    *names = own;
    return ALM_OK;
}

alm_status alm_bind_query(alm_planner *planner, const alm_names *names, const alm_select *sel,
                          alm_plan **out)
{
    alm_names own;
    ALM_TRY(alm_names_with(planner, sel, &own, &names));
    ALM_TRY(alm_enter(planner, sel->pos));
    const struct alm_override *const around = planner->overrides;
    ALM_TRY(alm_declare_around(planner, sel));
    if (sel->op != ALM_SET_NONE)
        ALM_TRY(alm_bind_setop(planner, names, sel, out));
    else
        ALM_TRY(bind_select(planner, names, sel, out));
    planner->overrides = around;
    planner->depth--;
    return ALM_OK;
}
