/*
 * update.c - UPDATE and DELETE: a scan of the whole table with the position of each row, the rows that
 * WHERE keeps, the new values (sql.h: alm_update_plan).
 *
 * DELETE      The positions alone.
 * FROM        The other tables are joined; a row that matches several times takes the first match.
 */
#include "sql/bind/bind.h"
#include "sql/bind/table.h"
#include "sql/opt/opt.h"
#include "sql/plan/access.h"

#include "type/text.h"

static alm_status set_columns(alm_planner *planner, const alm_stmt *stmt, const alm_table *table,
                              alm_update_plan *plan)
{
    plan->n_set = stmt->n_set;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, stmt->n_set + 1, &plan->set_cols));
    for (uint32_t i = 0; i < stmt->n_set; i++) {
        const alm_assign *set = &stmt->set[i];
        const int32_t col = alm_table_col(table, set->col);
        if (col < 0)
            return alm_no_column(planner->cx, table, set->col, set->pos);
        if (col == table->ts_col)
            return alm_fail(planner->cx, ALM_E_ARG, set->pos,
                            "Designated timestamp column cannot be updated");
        if (table->dedup && table->cols[col].dedup_key) /* its rows could become equal */
            return alm_fail(planner->cx, ALM_E_ARG, set->pos,
                            "DEDUP key column cannot be updated [column=%s]: insert the row again, "
                            "or ALTER TABLE ... DEDUP DISABLE",
                            table->cols[col].name);
        for (uint32_t j = 0; j < i; j++)
            if (plan->set_cols[j] == (uint32_t)col)
                return alm_fail(planner->cx, ALM_E_DUPLICATE, set->pos,
                                "Duplicate column [name=%.*s] in SET clause", (int)set->col.len,
                                set->col.ptr);
        plan->set_cols[i] = (uint32_t)col;
    }
    return ALM_OK;
}

alm_status alm_plan_scan_rows(alm_planner *planner, const alm_table *table, int32_t pos,
                              alm_plan **out)
{
    alm_plan *scan = NULL;
    ALM_TRY(alm_plan_scan(planner, table, pos, &scan));
    scan->cols[scan->n_cols] = (alm_plan_col){"row", ALM_TY(LONG)};
    scan->scan.cols[scan->n_cols] = ALM_SCAN_ROW;
    scan->n_cols++;
    scan->scan.n_out++;
    scan->scan.whole = true;
    scan->scan.n_cols++;
    scan->scan.has_interval = false; /* positions are those among all rows */
    *out = scan;
    return ALM_OK;
}

/* Rows that have expired are not there for statements. */
static alm_status visible_rows(alm_planner *planner, const alm_table *table, alm_plan **plan)
{
    alm_expr *args[2] = {NULL, NULL}, *expr = NULL;
    alm_exprs conjuncts = {0};
    const int32_t pos = (*plan)->pos;
    if (!table->hides)
        return ALM_OK;
    const alm_type type = table->cols[table->ts_col].type;
    ALM_TRY(alm_expr_col(planner->cx, (uint32_t)table->ts_col, type, pos, &args[0]));
    ALM_TRY(alm_expr_bits(planner->cx, type, (uint64_t)table->visible_from, pos, &args[1]));
    ALM_TRY(alm_expr_call(planner, ">=", pos, args, 2, &expr));
    ALM_TRY(alm_exprs_add(planner->cx, &conjuncts, expr));
    return alm_plan_filter(planner, plan, &conjuncts);
}

/* A literal for a DECIMAL column as its text, so that no digit is lost on the way. */
static alm_status exact_text(alm_planner *planner, const alm_ast *ast, alm_expr **expr)
{
    const bool negative = ast->kind == ALM_AST_UNARY && alm_str_eq(ast->text, ALM_STR("-"));
    const alm_ast *number = negative ? ast->arg[0] : ast;
    char *text = NULL;
    if (!alm_exact_literal(number))
        return ALM_OK;
    ALM_TRY(alm_arena_bytes(planner->cx, planner->cx->arena, number->text.len + 1, &text));
    text[0] = '-';
    (void)memcpy(text + negative, number->text.ptr, number->text.len);
    return alm_expr_text(planner->cx, ALM_TY(STRING), (alm_str){text, number->text.len + negative},
                         ast->pos, expr);
}

/* 't' for a BOOLEAN column, as drivers write it in simple queries; other texts stay what they are. */
static alm_status bool_text(alm_planner *planner, const alm_ast *ast, alm_expr **expr)
{
    uint8_t value = 0;
    if (ast->kind != ALM_AST_STRING ||
        alm_value_scan(ALM_TY(BOOLEAN), ast->text, &value) != ALM_SCAN_OK)
        return ALM_OK;
    return alm_expr_bool(planner->cx, value != 0, ast->pos, expr);
}

static alm_status new_value(alm_scope *scope, const alm_assign *set, const alm_column *col,
                            alm_expr **out)
{
    alm_expr *expr = NULL, *cast = NULL;
    ALM_TRY(alm_bind_expr(scope, set->value, &expr));
    if (alm_type_info_of(col->type)->cls == ALM_TC_TIME)
        ALM_TRY(alm_bind_time(scope->p, expr, col->type, false, &expr));
    if (col->type.id == ALM_T_DECIMAL)
        ALM_TRY(exact_text(scope->p, set->value, &expr));
    if (col->type.id == ALM_T_BOOLEAN)
        ALM_TRY(bool_text(scope->p, set->value, &expr));
    if (alm_expr_may_exceed(expr) && !alm_type_is_text(col->type))
        ALM_TRY(alm_expr_widen(scope->p, expr, &expr));
    ALM_TRY(alm_expr_check_range(scope->p, NULL, &expr));
    ALM_TRY(alm_expr_try_cast(scope->p, expr, col->type, alm_assign_mode(set->value, col->type),
                              &cast));
    if (cast == NULL) {
        const char *text = "";
        ALM_TRY(alm_ast_name(scope->p->cx, set->value, &text));
        return alm_fail(scope->p->cx, ALM_E_TYPE, set->value->pos,
                        "inconvertible types: %s -> %s [from=%s, to=%s]", alm_type_name(expr->type),
                        alm_type_name(col->type), text, col->name);
    }
    if (alm_is_infinity(cast) && alm_type_info_of(expr->type)->cls == ALM_TC_TIME)
        return alm_fail(scope->p->cx, ALM_E_VALUE, set->value->pos,
                        "infinity is no time that can be stored");
    *out = cast;
    return ALM_OK;
}

/* The first values of each row, whose position is column n_set, rows in order. */
static alm_status first_match(alm_planner *planner, alm_plan **plan, uint32_t n_set)
{
    alm_plan *child = *plan, *node = NULL;
    const uint32_t n = child->n_cols - 1; /* columns but the position */
    alm_expr **keys = NULL;
    ALM_TRY(alm_plan_new(planner, ALM_P_GROUP, child->pos, child, &node));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 1, &keys));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n + 1, &node->group.aggs));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n + 1, &node->cols));
    ALM_TRY(alm_expr_col(planner->cx, n_set, ALM_TY(LONG), child->pos, &keys[0]));
    node->group.keys = keys;
    node->group.n_keys = 1;
    node->group.n_aggs = n;
    node->cols[0] = (alm_plan_col){"row", ALM_TY(LONG)};
    node->n_cols = n + 1;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t from = i < n_set ? i : i + 1;
        alm_agg_call *agg = &node->group.aggs[i];
        alm_resolved resolved;
        ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 1, &agg->args));
        ALM_TRY(alm_expr_col(planner->cx, from, child->cols[from].type, child->pos, &agg->args[0]));
        ALM_TRY(alm_args_resolve(planner, ALM_STR("first"), ALM_FN_AGGREGATE, child->pos, agg->args,
                                 1, &resolved));
        *agg = (alm_agg_call){.fn = resolved.fn,
                              .data = resolved.data,
                              .args = agg->args,
                              .n_args = 1,
                              .type = resolved.result,
                              .pos = child->pos};
        node->cols[i + 1] = (alm_plan_col){child->cols[from].name, resolved.result};
    }
    node->ts_col = -1;
    node->order = ALM_ORDER_NONE;
    alm_sort_key *key = NULL;
    ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, &key));
    key->nulls_first = true;
    ALM_TRY(alm_expr_col(planner->cx, 0, ALM_TY(LONG), child->pos, &key->expr));
    ALM_TRY(alm_plan_sort(planner, &node, key, 1));
    alm_expr **exprs = NULL;
    const char **names = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n + 1, &exprs));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n + 1, &names));
    for (uint32_t i = 0; i <= n; i++) {
        const uint32_t from = i < n_set ? i + 1 : i == n_set ? 0 : i;
        names[i] = node->cols[from].name;
        ALM_TRY(alm_expr_col(planner->cx, from, node->cols[from].type, child->pos, &exprs[i]));
    }
    return alm_plan_project(planner, node, exprs, names, n + 1, plan);
}

/* RETURNING sees the new values in the places of the old ones: a projection between. `exprs` are then over that. */
static alm_status with_returning(alm_scope *scope, const alm_stmt *stmt,
                                 const alm_update_plan *plan, alm_expr ***exprs, const char ***cols,
                                 uint32_t *n)
{
    const alm_plan *before = scope->plan;
    alm_expr **now = NULL;
    const char **names = NULL;
    ALM_TRY(ALM_NEWN(scope->p->cx, scope->p->cx->arena, before->n_cols + 1, &now));
    ALM_TRY(ALM_NEWN(scope->p->cx, scope->p->cx->arena, before->n_cols + 1, &names));
    for (uint32_t i = 0; i < before->n_cols; i++) {
        names[i] = before->cols[i].name;
        ALM_TRY(alm_expr_col(scope->p->cx, i, before->cols[i].type, stmt->pos, &now[i]));
    }
    for (uint32_t i = 0; i < plan->n_set; i++) {
        const uint32_t col = plan->set_cols[i];
        now[col] = (*exprs)[i];
        ALM_TRY(alm_expr_col(scope->p->cx, col, (*exprs)[i]->type, stmt->pos, &(*exprs)[i]));
    }
    if (plan->n_set > 0)
        ALM_TRY(alm_plan_project(scope->p, scope->plan, now, names, before->n_cols, &scope->plan));
    return alm_bind_returning(scope, stmt->returning, *exprs, *cols, *n, exprs, cols, n);
}

static alm_status bind_update(alm_planner *planner, const alm_stmt *stmt, alm_update_plan *plan)
{
    const alm_table *table = plan->table;
    const alm_select *with = stmt->select; /* WITH in front of UPDATE */
    alm_names own = {0};
    const alm_names *names = NULL;
    if (with != NULL)
        ALM_TRY(alm_names_with(planner, with, &own, &names));
    alm_select none = {.pos = stmt->pos};
    alm_scope scope = {.p = planner, .names = names, .sel = &none};
    ALM_TRY(set_columns(planner, stmt, table, plan));
    ALM_TRY(alm_may_columns(planner->cx, "UPDATE", table, plan->set_cols, plan->n_set,
                            stmt->table_pos));
    ALM_TRY(alm_plan_scan_rows(planner, table, stmt->table_pos, &scope.plan));
    ALM_TRY(visible_rows(planner, table, &scope.plan));
    ALM_TRY(alm_scope_add(&scope, stmt->alias.len > 0 ? stmt->alias : stmt->table, table,
                          scope.plan, 0));
    scope.rels[0].n_cols = table->n_cols; /* the position has no name */
    for (uint32_t i = 0; i < stmt->n_from; i++) {
        alm_scope right = {.p = planner, .names = names, .sel = &none};
        alm_from item = stmt->from[i];
        item.join = ALM_JOIN_NONE;
        alm_plan *left = scope.plan;
        ALM_TRY(alm_bind_from(&right, &item, 1));
        ALM_TRY(alm_scope_add(&scope, right.rels[0].alias, right.rels[0].table, right.plan,
                              left->n_cols));
        ALM_TRY(alm_plan_join(planner, ALM_JOIN_CROSS, item.pos, left, right.plan, &scope.plan));
        if (item.on != NULL) {
            alm_expr *expr = NULL;
            alm_exprs conjuncts = {0};
            ALM_TRY(alm_bind_expr(&scope, item.on, &expr));
            ALM_TRY(alm_exprs_split(planner->cx, &conjuncts, expr));
            ALM_TRY(alm_plan_filter(planner, &scope.plan, &conjuncts));
        }
    }
    ALM_TRY(alm_bind_where(&scope, stmt->where));
    alm_expr **exprs = NULL;
    const char **cols = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, stmt->n_set + 1, &exprs));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, stmt->n_set + 1, &cols));
    for (uint32_t i = 0; i < stmt->n_set; i++) {
        const alm_column *col = &table->cols[plan->set_cols[i]];
        ALM_TRY(new_value(&scope, &stmt->set[i], col, &exprs[i]));
        cols[i] = col->name;
    }
    ALM_TRY(alm_expr_col(planner->cx, table->n_cols, ALM_TY(LONG), stmt->pos, &exprs[stmt->n_set]));
    cols[stmt->n_set] = "row";
    uint32_t n = stmt->n_set + 1;
    if (stmt->returning != NULL)
        ALM_TRY(with_returning(&scope, stmt, plan, &exprs, &cols, &n));
    ALM_TRY(alm_plan_project(planner, scope.plan, exprs, cols, n, &plan->plan));
    if (stmt->n_from > 0)
        ALM_TRY(first_match(planner, &plan->plan, stmt->n_set));
    return alm_optimise(planner, &plan->plan);
}

static alm_status update_gate(alm_ctx *cx, const alm_stmt *stmt)
{
    const alm_access_ask ask = {.permission = "UPDATE", .pos = stmt->table_pos};
    alm_str *cols = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, stmt->n_set + 1, &cols));
    for (uint32_t i = 0; i < stmt->n_set; i++)
        cols[i] = stmt->set[i].col;
    return alm_access_gate(cx, &ask, stmt->table, cols, stmt->n_set);
}

alm_status alm_plan_update(alm_ctx *cx, const alm_plan_env *env, const alm_stmt *stmt,
                           alm_update_plan **out)
{
    alm_planner planner = {.cx = cx, .env = env};
    alm_update_plan *plan = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &plan));
    ALM_TRY(update_gate(cx, stmt));
    plan->table = alm_snapshot_find(env->snapshot, stmt->table);
    if (plan->table == NULL)
        return alm_no_table(cx, env->snapshot, stmt->table, stmt->table_pos);
    ALM_TRY(alm_refuse_view(cx, plan->table, stmt->pos));
    ALM_TRY(bind_update(&planner, stmt, plan));
    *out = plan;
    return ALM_OK;
}

static alm_status bind_delete(alm_planner *planner, const alm_stmt *stmt, alm_update_plan *plan)
{
    const alm_table *table = plan->table;
    alm_select none = {.pos = stmt->pos};
    alm_scope scope = {.p = planner, .sel = &none};
    ALM_TRY(alm_plan_scan_rows(planner, table, stmt->table_pos, &scope.plan));
    ALM_TRY(visible_rows(planner, table, &scope.plan));
    ALM_TRY(alm_scope_add(&scope, stmt->alias.len > 0 ? stmt->alias : stmt->table, table,
                          scope.plan, 0));
    scope.rels[0].n_cols = table->n_cols; /* the position has no name */
    ALM_TRY(alm_bind_where(&scope, stmt->where));
    alm_expr **exprs = NULL;
    const char **cols = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 1, &exprs));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 1, &cols));
    ALM_TRY(alm_expr_col(planner->cx, table->n_cols, ALM_TY(LONG), stmt->pos, &exprs[0]));
    cols[0] = "row";
    uint32_t n = 1;
    if (stmt->returning != NULL)
        ALM_TRY(with_returning(&scope, stmt, plan, &exprs, &cols, &n));
    ALM_TRY(alm_plan_project(planner, scope.plan, exprs, cols, n, &plan->plan));
    return alm_optimise(planner, &plan->plan);
}

alm_status alm_plan_delete(alm_ctx *cx, const alm_plan_env *env, const alm_stmt *stmt,
                           alm_update_plan **out)
{
    alm_planner planner = {.cx = cx, .env = env};
    alm_update_plan *plan = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &plan));
    ALM_TRY(alm_access_name(cx, "DELETE", stmt->table, stmt->table_pos));
    plan->table = alm_snapshot_find(env->snapshot, stmt->table);
    if (plan->table == NULL)
        return alm_no_table(cx, env->snapshot, stmt->table, stmt->table_pos);
    ALM_TRY(alm_refuse_view(cx, plan->table, stmt->table_pos));
    ALM_TRY(alm_access_may(cx, "DELETE", plan->table->name, stmt->table_pos));
    ALM_TRY(bind_delete(&planner, stmt, plan));
    *out = plan;
    return ALM_OK;
}
