/*
 * index.c - CREATE INDEX: which column it would be of. Expressions are bound to be checked, nothing more.
 */
#include "sql/bind/bind.h"
#include "sql/bind/table.h"
#include "sql/plan/access.h"

static alm_status bind_items(alm_scope *sc, const alm_index_words *w, alm_index_plan *out)
{
    for (uint32_t i = 0; i < w->n_items; i++) {
        alm_expr *e = NULL;
        ALM_TRY(alm_bind_expr(sc, w->items[i], &e));
        if (i < w->n_keys && e->kind == ALM_X_COL)
            out->cols[out->n_cols++] = e->col;
    }
    if (w->n_keys == 1 && out->n_cols == 1 && w->where == NULL &&
        out->table->cols[out->cols[0]].type.id == ALM_T_SYMBOL)
        out->symbol = (int32_t)out->cols[0];
    return w->where != NULL ? alm_bind_where(sc, w->where) : ALM_OK;
}

static alm_status index_gate(alm_ctx *cx, const alm_stmt *stmt)
{
    const alm_index_words *w = stmt->ext;
    const alm_access_ask ask = {.permission = "ADD INDEX", .pos = stmt->table_pos};
    alm_str *cols = NULL;
    uint32_t n = 0;
    ALM_TRY(ALM_NEWN(cx, cx->arena, w->n_keys + 1, &cols));
    for (uint32_t i = 0; i < w->n_keys; i++)
        if (w->items[i]->kind == ALM_AST_NAME)
            cols[n++] = w->items[i]->text;
    return alm_access_gate(cx, &ask, stmt->table, cols, n);
}

alm_status alm_plan_index(alm_ctx *cx, const alm_plan_env *env, const alm_stmt *stmt,
                          alm_index_plan **out)
{
    const alm_index_words *w = stmt->ext;
    const alm_select none = {.pos = stmt->pos};
    alm_planner p = {.cx = cx, .env = env};
    alm_scope sc = {.p = &p, .sel = &none};
    alm_index_plan *index = NULL;
    if (w->unique_pos >= 0)
        return alm_fail(
            cx, ALM_E_UNSUPPORTED, w->unique_pos,
            "unique indexes are not supported: nothing would refuse a second row; DEDUP "
            "UPSERT KEYS(...) of the table replaces it");
    ALM_TRY(index_gate(cx, stmt));
    const alm_table *table = alm_snapshot_find(env->snapshot, stmt->table);
    if (table == NULL)
        return alm_no_table(cx, env->snapshot, stmt->table, stmt->table_pos);
    if (table->kind == ALM_TABLE_VIEW)
        ALM_TRY(alm_refuse_view(cx, table, stmt->table_pos));
    ALM_TRY(ALM_NEW(cx, cx->arena, &index));
    ALM_TRY(ALM_NEWN(cx, cx->arena, w->n_items + 1, &index->cols));
    index->table = table;
    index->symbol = -1;
    ALM_TRY(alm_plan_scan(&p, table, stmt->table_pos, &sc.plan));
    ALM_TRY(alm_scope_add(&sc, stmt->table, table, sc.plan, 0));
    ALM_TRY(bind_items(&sc, w, index));
    *out = index;
    if (index->n_cols == 0)
        return alm_access_any(cx, "ADD INDEX", table->name, stmt->table_pos);
    return alm_may_columns(cx, "ADD INDEX", table, index->cols, index->n_cols, stmt->table_pos);
}
