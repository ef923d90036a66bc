/*
 * execute_ddl.c - statements that change the catalogue. Each is one log record: all or nothing.
 * They do not take part in transaction blocks; inside one they are refused.
 */
#include "session/session_state.h"

alm_status alm_cursor_look_again(alm_cursor *c)
{
    alm_snapshot_release(c->snapshot);
    c->snapshot = NULL;
    return alm_snapshot_acquire(&c->cx, c->session->db->storage, &c->snapshot);
}

static alm_status load_batch(alm_ctx *cx, void *arg, const alm_batch *batch)
{
    return alm_bulk_append(cx, arg, batch);
}

alm_status alm_run_create(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    alm_ctx *cx = &c->cx;
    alm_plan_env env;
    alm_create *create = NULL;
    ALM_TRY(alm_outside_block(c, stmt));
    alm_plan_env_init(&env, c, params, n);
    ALM_TRY(alm_plan_create(cx, &env, stmt, &create));
    if (create->exists)
        return ALM_OK;
    const alm_table_spec spec = {.name = alm_str_of(create->name),
                                 .cols = create->cols,
                                 .n_cols = create->n_cols,
                                 .ts_col = create->ts_col,
                                 .partition = create->partition,
                                 .wal = create->wal,
                                 .dedup = create->dedup,
                                 .ttl_hours = create->ttl_hours,
                                 .max_uncommitted_rows = create->max_uncommitted_rows,
                                 .o3_max_lag_us = create->o3_max_lag_us};
    alm_storage *st = c->session->db->storage;
    if (create->source == NULL)
        return alm_table_create(cx, st, &spec, NULL);
    alm_bulk *load = NULL;
    ALM_TRY(alm_table_create(cx, st, &spec, &load));
    const alm_status code = alm_run_plan(c, create->source, c->snapshot, load_batch, load);
    if (code != ALM_OK) {
        alm_bulk_rollback(load);
        return code;
    }
    return alm_bulk_commit(cx, load, &c->affected);
}

static alm_status missing_table(alm_cursor *c, alm_str name, int32_t pos)
{
    return alm_no_table(&c->cx, c->snapshot, name, pos);
}

alm_status alm_run_drop(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    (void)params;
    (void)n;
    alm_ctx *cx = &c->cx;
    alm_storage *st = c->session->db->storage;
    ALM_TRY(alm_outside_block(c, stmt));
    if (stmt->all_tables)
        return alm_tables_drop_all(cx, st);
    const alm_table *table = alm_snapshot_find(c->snapshot, stmt->table);
    if (table == NULL)
        return stmt->if_exists ? ALM_OK : missing_table(c, stmt->table, stmt->table_pos);
    if (table->kind != ALM_TABLE_BASE)
        return alm_fail(cx, ALM_E_ARG, stmt->table_pos,
                        "table name expected, got view or materialized view name");
    return alm_table_drop(cx, st, stmt->table);
}

alm_status alm_run_truncate(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    (void)params;
    (void)n;
    alm_str *names = NULL;
    uint32_t n_names = 0;
    ALM_TRY(alm_outside_block(c, stmt));
    ALM_TRY(ALM_NEWN(&c->cx, c->cx.arena, stmt->n_more + 1, &names));
    for (uint32_t i = 0; i <= stmt->n_more; i++) {
        const alm_str name = i == 0 ? stmt->table : stmt->more_tables[i - 1];
        const int32_t pos = i == 0 ? stmt->table_pos : stmt->more_pos[i - 1];
        const alm_table *table = alm_snapshot_find(c->snapshot, name);
        if (table == NULL && stmt->if_exists)
            continue;
        if (table == NULL)
            return missing_table(c, name, pos);
        ALM_TRY(alm_refuse_view(&c->cx, table, pos));
        names[n_names++] = name;
    }
    return alm_tables_truncate(&c->cx, c->session->db->storage, names, n_names);
}

alm_status alm_run_rename(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    (void)params;
    (void)n;
    alm_ctx *cx = &c->cx;
    ALM_TRY(alm_outside_block(c, stmt));
    const alm_table *table = alm_snapshot_find(c->snapshot, stmt->table);
    if (table == NULL)
        return missing_table(c, stmt->table, stmt->table_pos);
    ALM_TRY(alm_refuse_view(cx, table, stmt->table_pos));
    const alm_table *other = alm_snapshot_find(c->snapshot, stmt->new_name);
    if (other != NULL && other != table) /* small letters may become capitals */
        return alm_fail(
            cx, ALM_E_EXISTS, stmt->new_name_pos,
            "cannot rename table, new name is already in use [table=%.*s, toTable=%.*s]",
            (int)stmt->table.len, stmt->table.ptr, (int)stmt->new_name.len, stmt->new_name.ptr);
    return alm_table_rename(cx, c->session->db->storage, stmt->table, stmt->new_name);
}
