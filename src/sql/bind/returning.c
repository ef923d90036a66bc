/*
 * returning.c - RETURNING behind INSERT, UPDATE and DELETE: its columns stand behind those of the plan that the
 * change needs. They are of the row as it is after the change, before it for DELETE; of the tables of FROM, too.
 * Subqueries are joined to the plan, a row to each of its rows, and see the tables as they were before.
 *
 * Symbols come as STRING: the dictionary of the change is not there any more when the rows are read.
 */
#include "sql/bind/bind.h"
#include "sql/bind/table.h"
#include "sql/plan/access.h"

static alm_status check_plain(alm_scope *scope, int32_t pos)
{
    if (scope->n_aggs > 0)
        return alm_fail(scope->p->cx, ALM_E_SYNTAX, pos, "aggregates cannot stand in RETURNING");
    if (scope->n_lates > 0)
        return alm_fail(scope->p->cx, ALM_E_SYNTAX, pos,
                        "window functions cannot stand in RETURNING");
    return ALM_OK;
}

alm_status alm_bind_returning(alm_scope *scope, const alm_select *returning, alm_expr **exprs,
                              const char **names, uint32_t n, alm_expr ***all,
                              const char ***all_names, uint32_t *n_all)
{
    alm_ctx *cx = scope->p->cx;
    const alm_select *own = scope->sel;
    alm_item *items = NULL;
    uint32_t n_items = 0;
    scope->sel = returning;
    ALM_TRY(alm_bind_items(scope, &items, &n_items));
    scope->sel = own;
    ALM_TRY(check_plain(scope, returning->pos));
    ALM_TRY(alm_check_reads(scope->p));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + n_items + 1, all));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + n_items + 1, all_names));
    memcpy(*all, exprs, n * sizeof *exprs);
    memcpy(*all_names, names, n * sizeof *names);
    for (uint32_t i = 0; i < n_items; i++) {
        alm_expr *expr = items[i].expr;
        if (expr->type.id == ALM_T_SYMBOL)
            ALM_TRY(alm_expr_cast(scope->p, expr, ALM_TY(STRING), ALM_CAST_EXPLICIT, &expr));
        (*all)[n + i] = expr;
        ALM_TRY(alm_arena_zstr(cx, cx->arena, items[i].name, &(*all_names)[n + i]));
    }
    *n_all = n + n_items;
    return ALM_OK;
}

alm_status alm_insert_returning(alm_planner *planner, const alm_stmt *stmt, const alm_table *table,
                                alm_plan **plan, bool *queries)
{
    alm_ctx *cx = planner->cx;
    alm_expr **exprs = NULL, **all = NULL;
    const char **names = NULL, **all_names = NULL;
    uint32_t n_all = 0;
    alm_scope scope = {.p = planner, .sel = stmt->returning, .plan = *plan};
    ALM_TRY(
        alm_scope_add(&scope, stmt->alias.len > 0 ? stmt->alias : stmt->table, table, *plan, 0));
    ALM_TRY(ALM_NEWN(cx, cx->arena, table->n_cols + 1, &exprs));
    ALM_TRY(ALM_NEWN(cx, cx->arena, table->n_cols + 1, &names));
    for (uint32_t i = 0; i < table->n_cols; i++) {
        names[i] = (*plan)->cols[i].name;
        ALM_TRY(alm_expr_col(cx, i, (*plan)->cols[i].type, stmt->pos, &exprs[i]));
    }
    ALM_TRY(alm_bind_returning(&scope, stmt->returning, exprs, names, table->n_cols, &all,
                               &all_names, &n_all));
    *queries |= scope.plan != *plan;
    return alm_plan_project(planner, scope.plan, all, all_names, n_all, plan);
}
