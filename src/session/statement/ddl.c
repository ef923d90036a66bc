/*
 * ddl.c - statements that change the catalogue. Each is one log record: all or nothing.
 * They do not take part in transaction blocks; inside one they are refused.
 */
#include "session/access/access.h"
#include "session/statement/statement.h"

void alm_note_exists(alm_cursor *cursor, alm_str relation)
{
    alm_cursor_note(cursor, false, alm_status_sqlstate(ALM_E_EXISTS),
                    "relation \"%.*s\" already exists, skipping", (int)relation.len, relation.ptr);
}

void alm_note_missing(alm_cursor *cursor, const char *what, alm_str name)
{
    alm_cursor_note(cursor, false, "00000", "%s \"%.*s\" does not exist, skipping", what,
                    (int)name.len, name.ptr);
}

void alm_note_absent(alm_cursor *cursor, const char *what, const alm_stmt *stmt)
{
    for (uint32_t i = 0; i < stmt->n_absent; i++)
        alm_note_missing(cursor, what, stmt->absent[i]);
}

static alm_status load_batch(alm_ctx *cx, void *arg, const alm_batch *batch)
{
    return alm_bulk_append(cx, arg, batch);
}

alm_status alm_run_create(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    alm_ctx *cx = &cursor->cx;
    alm_plan_env env;
    alm_create *create = NULL;
    ALM_TRY(alm_outside_block(cursor, stmt));
    alm_plan_env_init(&env, cursor, params, n);
    ALM_TRY(alm_plan_create(cx, &env, stmt, &create));
    if (create->exists) {
        alm_note_exists(cursor, stmt->table);
        return ALM_OK;
    }
    alm_table_spec spec = {.name = alm_str_of(create->name),
                           .cols = create->cols,
                           .n_cols = create->n_cols,
                           .ts_col = create->ts_col,
                           .partition = create->partition,
                           .wal = create->wal,
                           .dedup = create->dedup,
                           .ttl_hours = create->ttl_hours,
                           .max_uncommitted_rows = create->max_uncommitted_rows,
                           .o3_max_lag_us = create->o3_max_lag_us};
    alm_storage *storage = cursor->session->db->storage;
    alm_acl_edit owner;
    ALM_TRY(alm_own_table(cursor, stmt, create->name, &owner));
    ALM_TRY(alm_acl_with(cx, &owner, true, &spec.records));
    if (create->source == NULL)
        return alm_table_create(cx, storage, &spec, NULL);
    alm_bulk *load = NULL;
    ALM_TRY(alm_table_create(cx, storage, &spec, &load));
    const alm_status code =
        alm_run_plan(cursor, create->source, cursor->snapshot, load_batch, load);
    if (code != ALM_OK) {
        alm_bulk_rollback(load);
        return code;
    }
    return alm_bulk_commit(cx, load, &cursor->affected);
}

static alm_status missing_table(alm_cursor *cursor, alm_str name, int32_t pos)
{
    return alm_no_table(&cursor->cx, cursor->snapshot, name, pos);
}

alm_status alm_find_listed(alm_cursor *cursor, const alm_stmt *stmt, alm_str name, int32_t pos,
                           const alm_table **out)
{
    bool listed = true;
    *out = NULL;
    if (stmt->if_exists)
        ALM_TRY(alm_access_lists(&cursor->cx, name, &listed));
    else
        ALM_TRY(alm_access_name(&cursor->cx, alm_stmt_permission(stmt), name, pos));
    if (listed)
        *out = alm_snapshot_find(cursor->snapshot, name);
    return ALM_OK;
}

/* The tables that DROP or TRUNCATE names and that are there; each of them once. */
static alm_status named_tables(alm_cursor *cursor, const alm_stmt *stmt, alm_str **names,
                               uint32_t *n,
                               alm_status (*refuse)(alm_ctx *cx, const alm_table *t, int32_t pos))
{
    const char *permission = alm_stmt_permission(stmt);
    *n = 0;
    ALM_TRY(ALM_NEWN(&cursor->cx, cursor->cx.arena, stmt->n_more + 1, names));
    alm_note_absent(cursor, "table", stmt);
    for (uint32_t i = stmt->table.ptr == NULL ? 1 : 0; i <= stmt->n_more; i++) {
        const alm_str name = i == 0 ? stmt->table : stmt->more_tables[i - 1];
        const int32_t pos = i == 0 ? stmt->table_pos : stmt->more_pos[i - 1];
        const alm_table *table = NULL;
        ALM_TRY(alm_find_listed(cursor, stmt, name, pos, &table));
        if (table == NULL && !stmt->if_exists)
            return missing_table(cursor, name, pos);
        if (table == NULL) {
            alm_note_missing(cursor, "table", name);
            continue;
        }
        ALM_TRY(refuse(&cursor->cx, table, pos));
        ALM_TRY(alm_access_may(&cursor->cx, permission, table->name, pos));
        bool again = false;
        for (uint32_t k = 0; k < *n; k++)
            again |= alm_str_ieq((*names)[k], name);
        if (!again)
            (*names)[(*n)++] = name;
    }
    return ALM_OK;
}

static alm_status refuse_other(alm_ctx *cx, const alm_table *table, int32_t pos)
{
    return table->kind == ALM_TABLE_BASE
               ? ALM_OK
               : alm_fail(cx, ALM_E_ARG, pos,
                          "table name expected, got view or materialized view name");
}

/* Grants on a table go with it to its new name, or (NULL) are dropped: of everybody. */
static alm_status moved_grants(alm_cursor *cursor, const char *table, const char *dest,
                               const alm_records_change **records)
{
    alm_acl_edit edit;
    const char *name = NULL, *new_name = NULL;
    *records = NULL;
    ALM_TRY(alm_acl_edit_begin(cursor, &edit));
    if (edit.acl == NULL)
        return ALM_OK;
    ALM_TRY(alm_lower_name(&cursor->cx, alm_str_of(table), &name));
    if (dest != NULL)
        ALM_TRY(alm_lower_name(&cursor->cx, alm_str_of(dest), &new_name));
    if (dest != NULL && !cursor->rights->all &&
        strcmp(name, new_name) != 0) /* those of another table that had it */
        ALM_TRY(alm_edit_move(&edit, new_name, NULL, NULL));
    ALM_TRY(alm_edit_move(&edit, name, NULL, new_name));
    return alm_acl_with(&cursor->cx, &edit, false, records);
}

static alm_status dropped_grants(alm_cursor *cursor, const alm_str *names, uint32_t n_names,
                                 bool cascade, const alm_records_change **records)
{
    alm_acl_edit edit;
    *records = NULL;
    ALM_TRY(alm_acl_edit_begin(cursor, &edit));
    for (uint32_t i = 0; i < n_names; i++)
        ALM_TRY(alm_disown(cursor, names[i], cascade, &edit));
    return alm_acl_with(&cursor->cx, &edit, false, records);
}

static alm_status drop_all(alm_cursor *cursor, const alm_stmt *stmt)
{
    alm_acl_edit edit;
    const alm_records_change *records = NULL;
    ALM_TRY(alm_acl_edit_begin(cursor, &edit));
    for (size_t i = 0; cursor->rights != NULL && i < alm_snapshot_count(cursor->snapshot); i++) {
        const alm_table *table = alm_snapshot_at(cursor->snapshot, i);
        ALM_TRY(alm_access_may(&cursor->cx,
                               table->kind == ALM_TABLE_BASE   ? "DROP TABLE"
                               : table->kind == ALM_TABLE_VIEW ? "DROP VIEW"
                                                               : "DROP MATERIALIZED VIEW",
                               table->name, stmt->pos));
        ALM_TRY(alm_disown(cursor, alm_str_of(table->name), false, &edit));
    }
    ALM_TRY(alm_acl_with(&cursor->cx, &edit, true, &records));
    ALM_TRY(alm_tables_drop_all(&cursor->cx, cursor->session->db->storage));
    return records == NULL ? ALM_OK
                           : alm_records_put(&cursor->cx, cursor->session->db->storage, records);
}

/* The grants of a table change with it: a GRANT that came between is looked at, and all is done anew. */
static alm_status until_settled(alm_cursor *cursor, const alm_stmt *stmt,
                                alm_status (*once)(alm_cursor *c, const alm_stmt *stmt))
{
    enum { TRIES = 64 };
    alm_status status = once(cursor, stmt);
    for (int i = 1; status == ALM_E_STALE && i < TRIES; i++) {
        alm_error_clear(&cursor->cx);
        ALM_TRY(alm_cursor_look_again(cursor));
        ALM_TRY(alm_cursor_access(cursor));
        status = once(cursor, stmt);
    }
    return status;
}

static alm_status statement_ddl_drop_once(alm_cursor *cursor, const alm_stmt *stmt)
{
    alm_str *names = NULL;
    uint32_t n_names = 0;
    alm_storage *storage = cursor->session->db->storage;
    ALM_TRY(named_tables(cursor, stmt, &names, &n_names, refuse_other));
    const alm_records_change *records = NULL;
    ALM_TRY(dropped_grants(cursor, names, n_names, stmt->cascade, &records));
    return n_names > 0 ? alm_tables_drop(&cursor->cx, storage, names, n_names, records) : ALM_OK;
}

alm_status alm_run_drop(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    (void)params;
    (void)n;
    ALM_TRY(alm_outside_block(cursor, stmt));
    return stmt->all_tables ? drop_all(cursor, stmt)
                            : until_settled(cursor, stmt, statement_ddl_drop_once);
}

alm_status alm_run_truncate(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    (void)params;
    (void)n;
    alm_str *names = NULL;
    uint32_t n_names = 0;
    ALM_TRY(alm_outside_block(cursor, stmt));
    ALM_TRY(named_tables(cursor, stmt, &names, &n_names, alm_refuse_view));
    return alm_tables_truncate(&cursor->cx, cursor->session->db->storage, names, n_names,
                               stmt->keep_symbols);
}

static alm_status rename_once(alm_cursor *cursor, const alm_stmt *stmt)
{
    alm_ctx *cx = &cursor->cx;
    const alm_table *table = NULL;
    ALM_TRY(alm_find_listed(cursor, stmt, stmt->table, stmt->table_pos, &table));
    if (table == NULL && stmt->if_exists) {
        alm_note_missing(cursor, "relation", stmt->table);
        return ALM_OK;
    }
    if (table == NULL)
        return missing_table(cursor, stmt->table, stmt->table_pos);
    ALM_TRY(alm_refuse_view(cx, table, stmt->table_pos));
    ALM_TRY(alm_access_may(cx, alm_stmt_permission(stmt), table->name, stmt->table_pos));
    ALM_TRY(alm_check_new_relation(cx, alm_session_sources(), stmt->new_name, stmt->new_name_pos));
    const alm_table *other = alm_snapshot_find(cursor->snapshot, stmt->new_name);
    if (other != NULL && other != table) /* small letters may become capitals */
        return alm_fail(
            cx, ALM_E_EXISTS, stmt->new_name_pos,
            "cannot rename table, new name is already in use [table=%.*s, toTable=%.*s]",
            (int)stmt->table.len, stmt->table.ptr, (int)stmt->new_name.len, stmt->new_name.ptr);
    const char *dest = NULL;
    const alm_records_change *records = NULL;
    ALM_TRY(alm_arena_zstr(cx, cx->arena, stmt->new_name, &dest));
    ALM_TRY(moved_grants(cursor, table->name, dest, &records));
    return alm_table_rename(cx, cursor->session->db->storage, stmt->table, stmt->new_name, records);
}

alm_status alm_run_rename(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    (void)params;
    (void)n;
    ALM_TRY(alm_outside_block(cursor, stmt));
    ALM_TRY(alm_arena_zstr(&cursor->cx, cursor->cx.arena, stmt->text, &cursor->tag));
    return until_settled(cursor, stmt, rename_once);
}

/* The tables that DROP, TRUNCATE, RENAME, COMMENT or COPY TO name. */
alm_status alm_check_tables(alm_cursor *cursor, const alm_plan_env *env, const alm_stmt *stmt,
                            alm_checked *out)
{
    (void)env;
    (void)out;
    if (stmt->if_exists || stmt->all_tables || stmt->table.len == 0)
        return ALM_OK;
    for (uint32_t i = 0; i <= stmt->n_more; i++) {
        const alm_str name = i == 0 ? stmt->table : stmt->more_tables[i - 1];
        const int32_t pos = i == 0 ? stmt->table_pos : stmt->more_pos[i - 1];
        ALM_TRY(alm_access_name(&cursor->cx, alm_stmt_permission(stmt), name, pos));
        if (alm_snapshot_find(cursor->snapshot, name) == NULL)
            return alm_no_table(&cursor->cx, cursor->snapshot, name, pos);
    }
    return ALM_OK;
}

alm_status alm_check_create(alm_cursor *cursor, const alm_plan_env *env, const alm_stmt *stmt,
                            alm_checked *out)
{
    alm_create *create = NULL;
    ALM_TRY(alm_plan_create(&cursor->cx, env, stmt, &create));
    out->plan = create->source;
    return ALM_OK;
}
