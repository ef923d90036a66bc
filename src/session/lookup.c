/*
 * lookup.c - answers functions that ask about the session: settings, object numbers, sizes.
 */
#include "base/lookup.h"
#include "session/session_state.h"

static alm_status setting(alm_ctx *cx, void *arg, alm_arena *arena, alm_str name, const char **out)
{
    const alm_cursor *c = arg;
    const char *key = NULL;
    ALM_TRY(alm_arena_zstr(cx, arena, name, &key));
    *out = alm_session_setting(c->session, key);
    return ALM_OK;
}

static alm_status set(alm_ctx *cx, void *arg, alm_arena *arena, alm_str name, alm_str value,
                      bool local)
{
    const alm_cursor *c = arg;
    const char *key = NULL, *text = NULL;
    ALM_TRY(alm_arena_zstr(cx, arena, name, &key));
    ALM_TRY(alm_arena_zstr(cx, arena, value, &text));
    return alm_setting_change(cx, c->session, key, text, local);
}

static alm_status relation(alm_ctx *cx, void *arg, alm_str name, int32_t *oid)
{
    (void)cx;
    const alm_cursor *c = arg;
    *oid = alm_catalog_oid(c->snapshot, name);
    return ALM_OK;
}

static alm_status relation_text(alm_ctx *cx, void *arg, alm_arena *arena, int32_t oid,
                                alm_relation_text what, const char **out)
{
    const alm_cursor *c = arg;
    int32_t col = -1;
    if (what == ALM_RELATION_NAME)
        return alm_catalog_name(cx, arena, c->snapshot, oid, out);
    if (what >= ALM_FUNCTION_NAME)
        return alm_catalog_function(cx, arena, c->session->db->registry, oid, what, out);
    const alm_table *t = alm_catalog_table(c->snapshot, oid, &col);
    *out = NULL;
    if (what == ALM_RELATION_VIEW)
        return t == NULL || t->view == NULL
                   ? ALM_OK
                   : alm_arena_printf(cx, arena, out, " %s;", t->view->sql);
    if (t == NULL || col < 0)
        return ALM_OK;
    if (what == ALM_RELATION_COLUMN)
        return alm_arena_zstr(cx, arena, alm_str_of(t->cols[col].name), out);
    return alm_catalog_index(cx, arena, t, col, out);
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
    const alm_cursor *c = arg;
    int32_t col = -1;
    *out = 0;
    if (c->snapshot == NULL)
        return ALM_OK;
    for (size_t i = 0; oid == 0 && i < alm_snapshot_count(c->snapshot); i++)
        ALM_TRY(table_bytes(cx, arena, c->snapshot, alm_snapshot_at(c->snapshot, i), out));
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
    const alm_cursor *c = arg;
    return alm_catalog_comment(cx, arena, c->snapshot, oid, column, out);
}

static void cancel(void *arg, int64_t number, bool of_connection, bool *done)
{
    const alm_cursor *c = arg;
    *done = alm_activity_cancel(c->session, number, of_connection) == ALM_CANCEL_DONE;
}

void alm_cursor_lookup(alm_cursor *c)
{
    c->lookup = (alm_lookup){.arg = c,
                             .setting = setting,
                             .set = set,
                             .relation = relation,
                             .relation_text = relation_text,
                             .bytes = bytes,
                             .cancel = cancel,
                             .started_us = c->session->db->started_us,
                             .comment = comment,
                             .pid = c->session->pid};
    c->cx.lookup = &c->lookup;
}
