/*
 * index.c - CREATE INDEX: which column it would be of. Expressions are bound to be checked, nothing more.
 */
#include "sql/bind/bind.h"
#include "sql/bind/table.h"
#include "sql/plan/access.h"

static alm_status bind_items(alm_scope *scope, const alm_index_words *words, alm_index_plan *out)
{
    for (uint32_t i = 0; i < words->n_items; i++) {
        alm_expr *expr = NULL;
        ALM_TRY(alm_bind_expr(scope, words->items[i], &expr));
        if (i < words->n_keys && expr->kind == ALM_X_COL)
            out->cols[out->n_cols++] = expr->col;
    }
    if (words->n_keys == 1 && out->n_cols == 1 && words->where == NULL &&
        out->table->cols[out->cols[0]].type.id == ALM_T_SYMBOL)
        out->symbol = (int32_t)out->cols[0];
    return words->where != NULL ? alm_bind_where(scope, words->where) : ALM_OK;
}

static alm_status index_gate(alm_ctx *cx, const alm_stmt *stmt)
{
    const alm_index_words *words = stmt->ext;
    const alm_access_ask ask = {.permission = "ADD INDEX", .pos = stmt->table_pos};
    alm_str *cols = NULL;
    uint32_t count = 0;
    ALM_TRY(ALM_NEWN(cx, cx->arena, words->n_keys + 1, &cols));
    for (uint32_t i = 0; i < words->n_keys; i++)
        if (words->items[i]->kind == ALM_AST_NAME)
            cols[count++] = words->items[i]->text;
    return alm_access_gate(cx, &ask, stmt->table, cols, count);
}

alm_status alm_plan_index(alm_ctx *cx, const alm_plan_env *env, const alm_stmt *stmt,
                          alm_index_plan **out)
{
    const alm_index_words *words = stmt->ext;
    const alm_select none = {.pos = stmt->pos};
    alm_planner planner = {.cx = cx, .env = env};
    alm_scope scope = {.p = &planner, .sel = &none};
    alm_index_plan *index = NULL;
    if (words->unique_pos >= 0)
        return alm_fail(
            cx, ALM_E_UNSUPPORTED, words->unique_pos,
            "unique indexes are not supported: nothing would refuse a second row; DEDUP "
            "UPSERT KEYS(...) of the table replaces it");
    ALM_TRY(index_gate(cx, stmt));
    const alm_table *table = alm_snapshot_find(env->snapshot, stmt->table);
    if (table == NULL)
        return alm_no_table(cx, env->snapshot, stmt->table, stmt->table_pos);
    if (table->kind == ALM_TABLE_VIEW)
        ALM_TRY(alm_refuse_view(cx, table, stmt->table_pos));
    ALM_TRY(ALM_NEW(cx, cx->arena, &index));
    ALM_TRY(ALM_NEWN(cx, cx->arena, words->n_items + 1, &index->cols));
    index->table = table;
    index->symbol = -1;
    ALM_TRY(alm_plan_scan(&planner, table, stmt->table_pos, &scope.plan));
    ALM_TRY(alm_scope_add(&scope, stmt->table, table, scope.plan, 0));
    ALM_TRY(bind_items(&scope, words, index));
    *out = index;
    if (index->n_cols == 0)
        return alm_access_any(cx, "ADD INDEX", table->name, stmt->table_pos);
    return alm_may_columns(cx, "ADD INDEX", table, index->cols, index->n_cols, stmt->table_pos);
}
