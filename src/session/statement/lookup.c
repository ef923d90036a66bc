/*
 * lookup.c - answers functions that ask about the session: settings, object numbers, sizes.
 */
#include "base/lookup.h"
#include "auth/oidc.h"
#include "session/access/access.h"
#include "session/statement/statement.h"

static alm_status lookup_setting(alm_ctx *cx, void *arg, alm_arena *arena, alm_str name,
                                 const char **out)
{
    const alm_cursor *cursor = arg;
    const char *key = NULL;
    (void)arena;
    ALM_TRY(alm_setting_name(cx, name, &key));
    *out = alm_session_setting(cursor->session, key);
    return ALM_OK;
}

static alm_status lookup_set(alm_ctx *cx, void *arg, alm_arena *arena, alm_str name, alm_str value,
                             bool local)
{
    const alm_cursor *cursor = arg;
    const char *key = NULL, *text = NULL;
    ALM_TRY(alm_session_may_act(cx, cursor->session, -1));
    ALM_TRY(alm_arena_zstr(cx, arena, name, &key));
    ALM_TRY(alm_arena_zstr(cx, arena, value, &text));
    return alm_setting_change(cx, cursor->session, key, text, local);
}

/* A table on which the user may do nothing: nobody tells whether it is there. */
static bool lookup_is_hidden(alm_cursor *cursor, int32_t oid)
{
    int32_t col = -1;
    const alm_table *table = cursor->cx.access != NULL && cursor->snapshot != NULL
                                 ? alm_catalog_table(cursor->snapshot, oid, &col)
                                 : NULL;
    return table != NULL && !alm_access_sees(&cursor->cx, table->name);
}

static alm_status relation(alm_ctx *cx, void *arg, alm_str name, int32_t *oid)
{
    alm_cursor *cursor = arg;
    ALM_TRY(alm_catalog_oid(cx, cursor->snapshot, name, oid));
    if (lookup_is_hidden(cursor, *oid))
        *oid = 0;
    return ALM_OK;
}

static alm_status function(alm_ctx *cx, void *arg, alm_str name, int32_t *oid, bool *several)
{
    const alm_cursor *cursor = arg;
    (void)cx;
    *oid = alm_catalog_function_oid(cursor->session->db->registry, name, several);
    return ALM_OK;
}

static alm_status relation_text(alm_ctx *cx, void *arg, alm_arena *arena, int32_t oid,
                                alm_relation_text what, const char **out)
{
    alm_cursor *cursor = arg;
    int32_t col = -1;
    *out = NULL;
    if (what < ALM_FUNCTION_NAME && lookup_is_hidden(cursor, oid))
        return ALM_OK;
    if (what == ALM_RELATION_NAME)
        return alm_catalog_name(cx, arena, cursor->snapshot, oid, out);
    if (what >= ALM_FUNCTION_NAME)
        return alm_catalog_function(cx, arena, cursor->session->db->registry, oid, what, out);
    const alm_table *table = alm_catalog_table(cursor->snapshot, oid, &col);
    *out = NULL;
    if (what == ALM_RELATION_VIEW)
        return table == NULL || table->view == NULL ||
                       alm_access_text(cx, table->name, table->view->sql) == NULL
                   ? ALM_OK
                   : alm_arena_printf(cx, arena, out, " %s;", table->view->sql);
    if (table == NULL || col < 0)
        return ALM_OK;
    if (what == ALM_RELATION_COLUMN)
        return alm_arena_zstr(cx, arena, alm_str_of(table->cols[col].name), out);
    return alm_catalog_index(cx, arena, cursor->snapshot, table, col, out);
}

static alm_status lookup_table_bytes(alm_ctx *cx, alm_arena *arena, alm_snapshot *snap,
                                     const alm_table *table, int64_t *bytes)
{
    alm_partition_info *part = NULL;
    size_t n_parts = 0;
    ALM_TRY(alm_table_partitions(cx, arena, snap, table, &part, &n_parts));
    for (size_t i = 0; i < n_parts; i++)
        *bytes += part[i].disk_bytes;
    return ALM_OK;
}

static alm_status bytes(alm_ctx *cx, void *arg, alm_arena *arena, int32_t oid, int64_t *out)
{
    alm_cursor *cursor = arg;
    int32_t col = -1;
    *out = 0;
    if (cursor->snapshot == NULL)
        return ALM_OK;
    if (lookup_is_hidden(cursor, oid)) {
        *out = -1;
        return ALM_OK;
    }
    for (size_t i = 0; oid == 0 && i < alm_snapshot_count(cursor->snapshot); i++) {
        const alm_table *table = alm_snapshot_at(cursor->snapshot, i);
        if (alm_access_sees(&cursor->cx, table->name))
            ALM_TRY(lookup_table_bytes(cx, arena, cursor->snapshot, table, out));
    }
    if (oid == 0)
        return ALM_OK;
    const alm_table *t = alm_catalog_table(cursor->snapshot, oid, &col);
    if (t != NULL) /* an index is part of its table: nothing of its own */
        return col >= 0 ? ALM_OK : lookup_table_bytes(cx, arena, cursor->snapshot, t, out);
    const char *name = NULL;
    ALM_TRY(alm_catalog_name(cx, arena, cursor->snapshot, oid, &name));
    *out = name != NULL ? 0 : -1;
    return ALM_OK;
}

static alm_status comment(alm_ctx *cx, void *arg, alm_arena *arena, int32_t oid, int32_t column,
                          const char **out)
{
    alm_cursor *cursor = arg;
    *out = NULL;
    if (lookup_is_hidden(cursor, oid))
        return ALM_OK;
    return alm_catalog_comment(cx, arena, cursor->snapshot, oid, column, out);
}

static void lookup_cancel(void *arg, int64_t number, bool of_connection, bool *done)
{
    const alm_cursor *cursor = arg;
    *done = alm_activity_cancel(cursor->session, number, of_connection) == ALM_CANCEL_DONE;
}

static void lookup_terminate(void *arg, int64_t number, bool *done)
{
    const alm_cursor *cursor = arg;
    *done = alm_session_terminate(cursor->session, number);
}

/* A function that changes what decides about log-ins. */
static void lookup_note(const alm_cursor *cursor, const char *what)
{
    alm_audit audit = {.event = "acl", .detail = what, .ok = true};
    if (cursor->rights == NULL)
        return;
    alm_audit_session(cursor->session, &audit);
    alm_audit_add(cursor->session->db, &audit);
}

static alm_status lookup_reload(alm_ctx *cx, void *arg, bool certificates, int32_t pos,
                                bool *changed)
{
    const alm_cursor *cursor = arg;
    ALM_TRY(alm_session_may_act(cx, cursor->session, pos));
    ALM_TRY(alm_session_may_write(cx, cursor->session, pos));
    ALM_TRY(alm_access_may(cx, "SYSTEM ADMIN", NULL, pos));
    ALM_TRY(alm_db_reload(cx, cursor->session->db,
                          certificates ? ALM_RELOAD_CERTIFICATES : ALM_RELOAD_ALL, changed));
    lookup_note(cursor, certificates ? "reload_tls()" : "reload_config()");
    return ALM_OK;
}

static alm_status lookup_forget_users(alm_ctx *cx, void *arg, int32_t pos)
{
    const alm_cursor *cursor = arg;
    ALM_TRY(alm_session_may_act(cx, cursor->session, pos));
    ALM_TRY(alm_access_may(cx, "SYSTEM ADMIN", NULL, pos));
    if (cursor->session->db->access.oidc != NULL)
        alm_oidc_forget(cursor->session->db->access.oidc);
    lookup_note(cursor, "flush_user_info_cache()");
    return ALM_OK;
}

static alm_status import_folder(alm_ctx *cx, void *arg, alm_arena *arena, const char **out)
{
    const alm_db *db = ((const alm_cursor *)arg)->session->db;
    const char *const root = db->conf != NULL ? db->conf->cairo_sql_copy_root : "";
    if (root[0] == 0)
        return alm_fail(cx, ALM_E_DENIED, -1,
                        "reading files is off: cairo.sql.copy.root is not set");
    return alm_arena_printf(cx, arena, out, "%s%s%s", root[0] == '/' ? "" : db->root,
                            root[0] == '/' ? "" : "/", root);
}

void alm_cursor_lookup(alm_cursor *cursor)
{
    cursor->lookup = (alm_lookup){.arg = cursor,
                                  .setting = lookup_setting,
                                  .set = lookup_set,
                                  .relation = relation,
                                  .relation_text = relation_text,
                                  .function = function,
                                  .bytes = bytes,
                                  .cancel = lookup_cancel,
                                  .terminate = lookup_terminate,
                                  .reload = lookup_reload,
                                  .forget_users = lookup_forget_users,
                                  .import_folder = import_folder,
                                  .started_us = cursor->session->db->started_us,
                                  .comment = comment,
                                  .pid = cursor->session->pid,
                                  .ends = &cursor->session->ends};
    cursor->cx.lookup = &cursor->lookup;
}
