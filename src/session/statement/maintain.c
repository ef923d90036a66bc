/*
 * maintain.c - COMMENT ON; SCRUB; and the statements about a table that have nothing to do here: VACUUM,
 * ANALYZE and REINDEX check what they name.
 */
#include "session/access/access.h"
#include "session/statement/statement.h"

static alm_status statement_maintain_find_table(alm_cursor *cursor, const char *permission,
                                                alm_str name, int32_t pos, const alm_table **out)
{
    ALM_TRY(alm_access_name(&cursor->cx, permission, name, pos));
    *out = alm_snapshot_find(cursor->snapshot, name);
    return *out != NULL ? ALM_OK : alm_no_table(&cursor->cx, cursor->snapshot, name, pos);
}

static alm_status statement_maintain_check_columns(alm_cursor *cursor, const alm_stmt *stmt,
                                                   const alm_table *table)
{
    for (uint32_t i = 0; i < stmt->n_insert_cols; i++)
        if (alm_table_col(table, stmt->insert_cols[i]) < 0)
            return alm_no_column(&cursor->cx, table, stmt->insert_cols[i], stmt->insert_pos[i]);
    return ALM_OK;
}

static alm_status reindex(alm_cursor *cursor, const alm_stmt *stmt)
{
    const alm_table *table = NULL;
    ALM_TRY(statement_maintain_find_table(cursor, "REINDEX", stmt->table, stmt->table_pos, &table));
    ALM_ASSERT(table != NULL);
    ALM_TRY(alm_refuse_view(&cursor->cx, table, stmt->table_pos));
    ALM_TRY(alm_access_any(&cursor->cx, "REINDEX", table->name, stmt->table_pos));
    return statement_maintain_check_columns(cursor, stmt, table);
}

static alm_status scrub_table(alm_cursor *cursor, alm_str name, int32_t pos, alm_scrub_result *sum)
{
    const alm_table *table = NULL;
    alm_scrub_result result;
    ALM_TRY(statement_maintain_find_table(cursor, "SCRUB TABLE", name, pos, &table));
    ALM_ASSERT(table != NULL);
    if (table->kind != ALM_TABLE_MATVIEW)
        ALM_TRY(alm_refuse_view(&cursor->cx, table, pos));
    ALM_TRY(alm_access_may(&cursor->cx, "SCRUB TABLE", table->name, pos));
    ALM_TRY(alm_storage_scrub(&cursor->cx, cursor->session->db->storage, table->id, &result));
    if (sum->damaged == 0)
        memcpy(sum->first, result.first, sizeof sum->first);
    sum->files += result.files;
    sum->damaged += result.damaged;
    return ALM_OK;
}

/* All of them are looked at, whatever is found. */
static alm_status scrub(alm_cursor *cursor, const alm_stmt *stmt)
{
    alm_scrub_result sum = {0};
    cursor->cx.deadline_ns = cursor->cx.snapshot_until_ns =
        0; /* as long as it takes; it can be cancelled */
    ALM_TRY(scrub_table(cursor, stmt->table, stmt->table_pos, &sum));
    for (uint32_t i = 0; i < stmt->n_more; i++)
        ALM_TRY(scrub_table(cursor, stmt->more_tables[i], stmt->more_pos[i], &sum));
    if (sum.damaged == 0)
        return ALM_OK;
    return alm_fail(&cursor->cx, ALM_E_CORRUPT, stmt->table_pos,
                    "%lld of %lld files are damaged; the first: %s", (long long)sum.damaged,
                    (long long)sum.files, sum.first);
}

/* No table named: all of them, of which there is nothing to say. */
alm_status alm_run_maintain(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    (void)params;
    (void)n;
    ALM_TRY(alm_arena_zstr(&cursor->cx, cursor->cx.arena, stmt->text, &cursor->tag));
    if (alm_str_eq(stmt->text, ALM_STR("REINDEX")))
        return reindex(cursor, stmt);
    if (alm_str_eq(stmt->text, ALM_STR("SCRUB")))
        return scrub(cursor, stmt);
    for (uint32_t i = 0; i < stmt->n_more; i++) {
        const int32_t pos = stmt->more_pos[i];
        const alm_table *table = NULL;
        ALM_TRY(statement_maintain_find_table(cursor, "VACUUM TABLE", stmt->more_tables[i], pos,
                                              &table));
        ALM_ASSERT(table != NULL);
        if (table->kind != ALM_TABLE_MATVIEW)
            ALM_TRY(alm_refuse_view(&cursor->cx, table, pos));
        ALM_TRY(alm_access_may(&cursor->cx, "VACUUM TABLE", table->name, pos));
        if (stmt->n_more == 1) /* columns of several tables stand in one list */
            ALM_TRY(statement_maintain_check_columns(cursor, stmt, table));
    }
    return ALM_OK;
}

/* COMMENT ON TABLE names a table, ON VIEW a view. */
static alm_status check_kind(alm_cursor *cursor, const alm_stmt *stmt, const alm_table *table)
{
    static const char *const kinds[] = {[ALM_TABLE_BASE] = "table",
                                        [ALM_TABLE_VIEW] = "view",
                                        [ALM_TABLE_MATVIEW] = "materialized view"};
    if (stmt->column.len > 0 || alm_str_eq(stmt->what, alm_str_of(kinds[table->kind])))
        return ALM_OK;
    return alm_fail(&cursor->cx, ALM_E_ARG, stmt->table_pos, "%.*s name expected, '%s' is a %s",
                    (int)stmt->what.len, stmt->what.ptr, table->name, kinds[table->kind]);
}

alm_status alm_run_comment(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    (void)params;
    (void)n;
    const alm_table *table = NULL;
    uint32_t col_id = 0;
    ALM_TRY(alm_outside_block(cursor, stmt));
    ALM_TRY(statement_maintain_find_table(cursor, alm_stmt_permission(stmt), stmt->table,
                                          stmt->table_pos, &table));
    ALM_ASSERT(table != NULL);
    ALM_TRY(alm_access_may(&cursor->cx, alm_stmt_permission(stmt), table->name, stmt->table_pos));
    ALM_TRY(check_kind(cursor, stmt, table));
    if (stmt->column.len > 0) {
        const int32_t place = alm_table_col(table, stmt->column);
        if (place < 0)
            return alm_no_column(&cursor->cx, table, stmt->column, stmt->column_pos);
        col_id = table->cols[place].id;
    }
    return alm_table_set_comment(&cursor->cx, cursor->session->db->storage, table->id, col_id,
                                 stmt->value);
}
