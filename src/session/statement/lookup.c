/*
 * lookup.c - answers functions that ask about the session: settings, object numbers, sizes.
 */
#include "base/lookup.h"
#include "auth/oidc.h"
#include "session/access/access.h"
#include "session/statement/statement.h"

static alm_status setting(alm_ctx *cx, void *arg, alm_arena *arena, alm_str name, const char **out)
{
    const alm_cursor *c = arg;
    const char *key = NULL;
    (void)arena;
    ALM_TRY(alm_setting_name(cx, name, &key));
    *out = alm_session_setting(c->session, key);
    return ALM_OK;
}

static alm_status set(alm_ctx *cx, void *arg, alm_arena *arena, alm_str name, alm_str value,
                      bool local)
{
    const alm_cursor *c = arg;
    const char *key = NULL, *text = NULL;
    ALM_TRY(alm_session_may_act(cx, c->session, -1));
    ALM_TRY(alm_arena_zstr(cx, arena, name, &key));
    ALM_TRY(alm_arena_zstr(cx, arena, value, &text));
    return alm_setting_change(cx, c->session, key, text, local);
}

/* A table on which the user may do nothing: nobody tells whether it is there. */
static bool is_hidden(alm_cursor *c, int32_t oid)
{
    int32_t col = -1;
    const alm_table *t = c->cx.access != NULL && c->snapshot != NULL
                             ? alm_catalog_table(c->snapshot, oid, &col)
                             : NULL;
    return t != NULL && !alm_access_sees(&c->cx, t->name);
}

static alm_status relation(alm_ctx *cx, void *arg, alm_str name, int32_t *oid)
{
    alm_cursor *c = arg;
    ALM_TRY(alm_catalog_oid(cx, c->snapshot, name, oid));
    if (is_hidden(c, *oid))
        *oid = 0;
    return ALM_OK;
}

static alm_status function(alm_ctx *cx, void *arg, alm_str name, int32_t *oid, bool *several)
{
    const alm_cursor *c = arg;
    (void)cx;
    *oid = alm_catalog_function_oid(c->session->db->registry, name, several);
    return ALM_OK;
}

static alm_status relation_text(alm_ctx *cx, void *arg, alm_arena *arena, int32_t oid,
                                alm_relation_text what, const char **out)
{
    alm_cursor *c = arg;
    int32_t col = -1;
    *out = NULL;
    if (what < ALM_FUNCTION_NAME && is_hidden(c, oid))
        return ALM_OK;
    if (what == ALM_RELATION_NAME)
        return alm_catalog_name(cx, arena, c->snapshot, oid, out);
    if (what >= ALM_FUNCTION_NAME)
        return alm_catalog_function(cx, arena, c->session->db->registry, oid, what, out);
    const alm_table *t = alm_catalog_table(c->snapshot, oid, &col);
    *out = NULL;
    if (what == ALM_RELATION_VIEW)
        return t == NULL || t->view == NULL || alm_access_text(cx, t->name, t->view->sql) == NULL
                   ? ALM_OK
                   : alm_arena_printf(cx, arena, out, " %s;", t->view->sql);
    if (t == NULL || col < 0)
        return ALM_OK;
    if (what == ALM_RELATION_COLUMN)
        return alm_arena_zstr(cx, arena, alm_str_of(t->cols[col].name), out);
    return alm_catalog_index(cx, arena, c->snapshot, t, col, out);
}

static alm_status table_bytes(alm_ctx *cx, alm_arena *arena, alm_snapshot *snap, const alm_table *t,
                              int64_t *bytes)
{
    alm_partition_info *part = NULL;
    size_t n = 0;
    ALM_TRY(alm_table_partitions(cx, arena, snap, t, &part, &n));
    for (size_t i = 0; i < n; i++)
        *bytes += part[i].disk_bytes;
    return ALM_OK;
}

static alm_status bytes(alm_ctx *cx, void *arg, alm_arena *arena, int32_t oid, int64_t *out)
{
    alm_cursor *c = arg;
    int32_t col = -1;
    *out = 0;
    if (c->snapshot == NULL)
        return ALM_OK;
    if (is_hidden(c, oid)) {
        *out = -1;
        return ALM_OK;
    }
    for (size_t i = 0; oid == 0 && i < alm_snapshot_count(c->snapshot); i++) {
        const alm_table *t = alm_snapshot_at(c->snapshot, i);
        if (alm_access_sees(&c->cx, t->name))
            ALM_TRY(table_bytes(cx, arena, c->snapshot, t, out));
    }
    if (oid == 0)
        return ALM_OK;
    const alm_table *t = alm_catalog_table(c->snapshot, oid, &col);
    if (t != NULL) /* an index is part of its table: nothing of its own */
        return col >= 0 ? ALM_OK : table_bytes(cx, arena, c->snapshot, t, out);
    const char *name = NULL;
    ALM_TRY(alm_catalog_name(cx, arena, c->snapshot, oid, &name));
    *out = name != NULL ? 0 : -1;
    return ALM_OK;
}

static alm_status comment(alm_ctx *cx, void *arg, alm_arena *arena, int32_t oid, int32_t column,
                          const char **out)
{
    alm_cursor *c = arg;
    *out = NULL;
    if (is_hidden(c, oid))
        return ALM_OK;
    return alm_catalog_comment(cx, arena, c->snapshot, oid, column, out);
}

static void cancel(void *arg, int64_t number, bool of_connection, bool *done)
{
    const alm_cursor *c = arg;
    *done = alm_activity_cancel(c->session, number, of_connection) == ALM_CANCEL_DONE;
}

static void terminate(void *arg, int64_t number, bool *done)
{
    const alm_cursor *c = arg;
    *done = alm_session_terminate(c->session, number);
}

/* A function that changes what decides about log-ins. */
static void note(const alm_cursor *c, const char *what)
{
    alm_audit audit = {.event = "acl", .detail = what, .ok = true};
    if (c->rights == NULL)
        return;
    alm_audit_session(c->session, &audit);
    alm_audit_add(c->session->db, &audit);
}

static alm_status reload(alm_ctx *cx, void *arg, bool certificates, int32_t pos, bool *changed)
{
    const alm_cursor *c = arg;
    ALM_TRY(alm_session_may_act(cx, c->session, pos));
    ALM_TRY(alm_session_may_write(cx, c->session, pos));
    ALM_TRY(alm_access_may(cx, "SYSTEM ADMIN", NULL, pos));
    ALM_TRY(alm_db_reload(cx, c->session->db,
                          certificates ? ALM_RELOAD_CERTIFICATES : ALM_RELOAD_ALL, changed));
    note(c, certificates ? "reload_tls()" : "reload_config()");
    return ALM_OK;
}

static alm_status forget_users(alm_ctx *cx, void *arg, int32_t pos)
{
    const alm_cursor *c = arg;
    ALM_TRY(alm_session_may_act(cx, c->session, pos));
    ALM_TRY(alm_access_may(cx, "SYSTEM ADMIN", NULL, pos));
    if (c->session->db->access.oidc != NULL)
        alm_oidc_forget(c->session->db->access.oidc);
    note(c, "flush_user_info_cache()");
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

void alm_cursor_lookup(alm_cursor *c)
{
    c->lookup = (alm_lookup){.arg = c,
                             .setting = setting,
                             .set = set,
                             .relation = relation,
                             .relation_text = relation_text,
                             .function = function,
                             .bytes = bytes,
                             .cancel = cancel,
                             .terminate = terminate,
                             .reload = reload,
                             .forget_users = forget_users,
                             .import_folder = import_folder,
                             .started_us = c->session->db->started_us,
                             .comment = comment,
                             .pid = c->session->pid,
                             .ends = &c->session->ends};
    c->cx.lookup = &c->lookup;
}
