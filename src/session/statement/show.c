/*
 * show.c - SHOW and SET: settings of the session, and lists that are table functions of exec/.
 */
#include <strings.h>

#include "base/nearest.h"
#include "session/core/session_state.h"
#include "session/statement/statement.h"

/* SHOW words that are queries; `arg` takes the table name in quotes. */
static const struct show_row {
    const char *what, *sql;
    bool arg;
} show_rows[] = {
    {"tables", "select table_name from tables() order by table_name", false},
    {"columns", "select * from table_columns('%s')", true},
    {"partitions", "select * from table_partitions('%s')", true},
    {"create table", "select ddl from show_create_table('%s')", true},
    {"create view", "select ddl from show_create_view('%s')", true},
    {"create materialized view", "select ddl from show_create_materialized_view('%s')", true},
    {"create database", "select ddl from show_create_database('%s')", true},
    {"parameters", "select * from show_parameters()", false},
    {"all", "select * from show_settings()", false},
    {"databases", "select datname as name from pg_catalog.pg_database", false},
    {"sessions", "select * from session_activity()", false},
    {"users", "select * from all_users()", false},
    {"user", "select * from user_logins('%s')", true},
    {"groups", "select * from all_groups('%s')", true},
    {"service accounts", "select * from all_service_accounts()", false},
    {"service accounts of", "select * from service_accounts_of('%s')", true},
    {"service account", "select * from service_account_logins('%s')", true},
    {"permissions", "select * from permissions_of('%s')", true},
};

/* A list that names a table points its error at the name in the statement, not in our query. */
static alm_status statement_show_check_table(alm_cursor *cursor, const alm_stmt *stmt)
{
    const bool view = alm_str_eq(stmt->what, ALM_STR("create view"));
    const bool matview = alm_str_eq(stmt->what, ALM_STR("create materialized view"));
    if (view || matview) {
        ALM_TRY(alm_access_name(&cursor->cx, "SELECT", stmt->table, stmt->table_pos));
        const alm_table *table = alm_snapshot_find(cursor->snapshot, stmt->table);
        const char *const what = view ? "view" : "materialized view";
        if (table == NULL)
            return alm_fail(&cursor->cx, ALM_E_TABLE, stmt->table_pos,
                            "%s does not exist [view=%.*s]", what, (int)stmt->table.len,
                            stmt->table.ptr);
        if (table->kind != (view ? ALM_TABLE_VIEW : ALM_TABLE_MATVIEW))
            return alm_fail(&cursor->cx, ALM_E_ARG, stmt->table_pos,
                            "%s name expected, got table name", what);
        return ALM_OK;
    }
    static const char *const others[] = {
        "user",        "groups",         "service accounts of", "service account",
        "permissions", "create database"};
    for (size_t i = 0; i < ALM_COUNT(others); i++)
        if (alm_str_eq(stmt->what, alm_str_of(others[i])))
            return ALM_OK; /* a name of somebody, or categories */
    if (stmt->table.len > 0)
        ALM_TRY(alm_access_name(&cursor->cx, "SELECT", stmt->table, stmt->table_pos));
    if (stmt->table.len == 0 || alm_snapshot_find(cursor->snapshot, stmt->table) != NULL)
        return ALM_OK;
    return alm_no_table(&cursor->cx, cursor->snapshot, stmt->table, stmt->table_pos);
}

alm_status alm_show_select(alm_cursor *cursor, const alm_stmt *stmt, alm_select **out)
{
    alm_ctx *cx = &cursor->cx;
    *out = NULL;
    ALM_TRY(statement_show_check_table(cursor, stmt));
    for (size_t i = 0; i < ALM_COUNT(show_rows); i++) {
        const struct show_row *row = &show_rows[i];
        if (!alm_str_ieq(stmt->what, alm_str_of(row->what)))
            continue;
        const char *sql = row->sql;
        if (row->arg) {
            /* the name stands in a literal: its quotes are doubled */
            char *quoted = NULL;
            ALM_TRY(alm_arena_bytes(cx, cx->arena, 2 * stmt->table.len + 1, &quoted));
            size_t count = 0;
            for (size_t k = 0; k < stmt->table.len; k++) {
                if (stmt->table.ptr[k] == '\'')
                    quoted[count++] = '\'';
                quoted[count++] = stmt->table.ptr[k];
            }
            quoted[count] = 0;
            const char *open = strstr(row->sql, "%s");
            ALM_TRY(alm_arena_printf(cx, cx->arena, &sql, "%.*s%s%s", (int)(open - row->sql),
                                     row->sql, quoted, open + 2));
        }
        size_t offset = 0;
        alm_stmt *parsed = NULL;
        ALM_TRY(alm_sql_parse(cx, alm_str_of(sql), &offset, &parsed));
        *out = parsed->select;
        return ALM_OK;
    }
    return ALM_OK;
}

alm_status alm_run_show(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    alm_ctx *cx = &cursor->cx;
    alm_select *select = NULL;
    cursor->tag = "SHOW";
    ALM_TRY(alm_show_select(cursor, stmt, &select));
    if (select != NULL) {
        const alm_status status = alm_run_select(cursor, select, params, n);
        /* what is wrong with its words is wrong there, not in our query */
        if (status != ALM_OK && alm_str_eq(stmt->what, ALM_STR("create database")))
            cx->err.sql_pos = stmt->table_pos;
        return status;
    }
    const char *key = NULL;
    ALM_TRY(alm_setting_name(cx, stmt->what, &key));
    const char *value = alm_session_setting(cursor->session, key);
    if (value == NULL) {
        const char *blank = memchr(stmt->what.ptr, ' ', stmt->what.len);
        alm_nearest near = alm_nearest_of((alm_str){
            stmt->what.ptr, blank != NULL ? (size_t)(blank - stmt->what.ptr) : stmt->what.len});
        for (size_t i = 0; i < ALM_COUNT(show_rows); i++)
            alm_nearest_offer(&near, alm_str_of(show_rows[i].what));
        if (near.found.len > 0) /* SHOW TABELS */
            return alm_fail_near(cx, ALM_E_SETTING, stmt->what_pos, &near,
                                 "unrecognized configuration parameter \"%s\"", key);
        return alm_no_setting(cx, alm_str_of(key), stmt->what_pos);
    }
    return alm_cursor_texts(cursor, key, &value, 1);
}

/* DISCARD ALL takes what a block still needs; of the others there is nothing to discard. */
static alm_status run_discard(alm_cursor *cursor, const alm_stmt *stmt)
{
    if (!alm_str_eq(stmt->text, ALM_STR("DISCARD ALL")))
        return ALM_OK;
    if (cursor->session->tx_state != ALM_TX_IDLE)
        return alm_fail(&cursor->cx, ALM_E_IN_BLOCK, stmt->pos,
                        "DISCARD ALL cannot run inside a transaction block");
    return alm_settings_reset(&cursor->cx, cursor->session);
}

static alm_status run_reset(alm_cursor *cursor, const alm_stmt *stmt)
{
    const char *name = NULL;
    if (alm_str_eq(stmt->what, ALM_STR("all")))
        return alm_settings_reset(&cursor->cx, cursor->session);
    ALM_TRY(alm_setting_name(&cursor->cx, stmt->what, &name));
    return alm_setting_change(&cursor->cx, cursor->session, name, NULL, false);
}

alm_status alm_run_set(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    (void)params;
    (void)n;
    alm_ctx *cx = &cursor->cx;
    const char *name = NULL, *value = NULL;
    ALM_TRY(alm_arena_zstr(cx, cx->arena, stmt->text, &cursor->tag));
    if (strncmp(cursor->tag, "DISCARD", 7) == 0)
        return run_discard(cursor, stmt);
    if (strcmp(cursor->tag, "RESET") == 0)
        return run_reset(cursor, stmt);
    if (strcmp(cursor->tag, "SET") != 0)
        return ALM_OK; /* CLOSE, UNLISTEN, DEALLOCATE: the wire's own business */
    ALM_TRY(alm_arena_zstr(cx, cx->arena, stmt->value, &value));
    if (strcasecmp(value, "default") == 0)
        value = NULL;
    ALM_TRY(alm_setting_name(cx, stmt->what, &name));
    if (stmt->local && !alm_in_transaction(cursor->session))
        alm_cursor_note(cursor, true, alm_status_sqlstate(ALM_E_NO_BLOCK),
                        "SET LOCAL can only be used in transaction blocks");
    return alm_setting_change(cx, cursor->session, name, value, stmt->local);
}

alm_status alm_check_show(alm_cursor *cursor, const alm_plan_env *env, const alm_stmt *stmt,
                          alm_checked *out)
{
    alm_select *select = NULL;
    ALM_TRY(alm_show_select(cursor, stmt, &select));
    return select != NULL ? alm_plan_select(&cursor->cx, env, select, &out->plan) : ALM_OK;
}
