/*
 * owner.c - changes of the records of access control, and the grants that come and go with tables, views and columns.
 */
#include "session/access/access.h"

alm_status alm_acl_edit_begin(alm_cursor *c, alm_acl_edit *edit)
{
    *edit = (alm_acl_edit){.cx = &c->cx, .acl = c->rights != NULL ? c->rights->acl : NULL};
    return ALM_OK;
}

alm_status alm_acl_with(alm_ctx *cx, const alm_acl_edit *edit, bool blind,
                        const alm_records_change **out)
{
    alm_records_change *change = NULL;
    *out = NULL;
    if (edit->n == 0)
        return ALM_OK;
    ALM_TRY(ALM_NEW(cx, cx->arena, &change));
    *change =
        (alm_records_change){.seen_lsn = blind ? (uint64_t)ALM_RECORDS_BLIND : edit->acl->epoch,
                             .rows = edit->rows,
                             .n = edit->n};
    *out = change;
    return ALM_OK;
}

alm_status alm_acl_change(alm_cursor *c, alm_acl_fn fn, void *arg)
{
    enum { TRIES = 64 };
    for (int i = 0;; i++) {
        alm_acl_edit edit;
        ALM_TRY(alm_acl_edit_begin(c, &edit));
        ALM_TRY(fn(c, &edit, arg));
        if (edit.n == 0)
            return ALM_OK;
        const alm_records_change change = {
            .seen_lsn = edit.acl->epoch, .rows = edit.rows, .n = edit.n};
        const alm_status st = alm_records_put(&c->cx, c->session->db->storage, &change);
        if (st != ALM_E_STALE || i + 1 == TRIES)
            return st;
        alm_error_clear(&c->cx);
        ALM_TRY(alm_cursor_look_again(c));
        ALM_TRY(alm_cursor_access(c));
    }
}

alm_status alm_find_owner(alm_cursor *c, const alm_stmt *stmt, const char **owner)
{
    const alm_rights *rights = c->rights;
    *owner = NULL;
    if (rights == NULL)
        return ALM_OK; /* OWNED BY says nothing where access control is off */
    if (stmt->owner.len == 0) {
        if (rights->kind == ALM_PRINCIPAL_EXTERNAL)
            return alm_fail(&c->cx, ALM_E_SYNTAX, stmt->end,
                            "OWNED BY is required for external users");
        *owner = rights->kind == ALM_PRINCIPAL_ADMIN ? NULL : rights->name;
        return ALM_OK;
    }
    const alm_acl_name name = {stmt->owner, stmt->owner_pos};
    const alm_entity *entity = NULL;
    ALM_TRY(alm_acl_need(c, rights->acl, &name, 0, &entity));
    const bool mine =
        (rights->kind == ALM_PRINCIPAL_LOCAL && strcmp(entity->name, rights->name) == 0) ||
        alm_rights_is_in(rights, entity->name);
    if (!mine && !rights->all)
        return alm_fail(&c->cx, ALM_E_DENIED, stmt->owner_pos, "Access denied for %s [OWNED BY %s]",
                        rights->name, entity->name);
    *owner = entity->name;
    return ALM_OK;
}

/* What was granted on a name before there is something of it. An administrator may do that; who is none begins with his own grants
 * alone, as those who had them, or gave them, had another table in mind. */
static alm_status start_clean(alm_cursor *c, alm_acl_edit *edit, const char *table,
                              const char *column)
{
    return c->rights == NULL || c->rights->all ? ALM_OK : alm_edit_move(edit, table, column, NULL);
}

/* Does the owner of what is made get the permission on it? Not BACKUP TABLE, which writes to the server's files. */
static bool is_of_owner(const alm_permission *p, alm_level least)
{
    return p->level >= least && p->number != ALM_PERMISSION_BACKUP_TABLE;
}

/* Has he all that own() gives on the level, with grant option? */
static bool has_all(const alm_grant *g, alm_level least)
{
    for (size_t i = 0; i < alm_permission_count(); i++) {
        const alm_permission *p = alm_permission_at(i);
        if (is_of_owner(p, least) &&
            !(alm_permission_in(&g->may, p->number) && alm_permission_in(&g->option, p->number)))
            return false;
    }
    return true;
}

static alm_status own(alm_acl_edit *edit, const char *owner, const char *table, const char *column,
                      alm_level least)
{
    alm_grant g;
    ALM_TRY(alm_edit_grant_now(edit, owner, table, column, &g));
    for (size_t i = 0; i < alm_permission_count(); i++) {
        const alm_permission *p = alm_permission_at(i);
        if (!is_of_owner(p, least))
            continue;
        alm_permission_put(&g.may, p->number);
        alm_permission_put(&g.option, p->number);
    }
    alm_permission_put(&g.may, ALM_GRANT_OF_OWNER);
    return alm_edit_grant(edit, &g);
}

alm_status alm_own_table(alm_cursor *c, const alm_stmt *stmt, const char *table, alm_acl_edit *edit)
{
    const char *owner = NULL, *name = NULL;
    ALM_TRY(alm_acl_edit_begin(c, edit));
    ALM_TRY(alm_find_owner(c, stmt, &owner));
    ALM_TRY(alm_lower_name(&c->cx, alm_str_of(table), &name));
    if (alm_snapshot_find(c->snapshot, alm_str_of(table)) == NULL)
        ALM_TRY(start_clean(c, edit, name, NULL));
    if (owner == NULL)
        return ALM_OK;
    return own(edit, owner, name, "", ALM_LEVEL_T);
}

/* What own() gave: older versions did not mark it, but gave all that can be granted there, with grant option. */
static bool is_owner(const alm_grant *g)
{
    return alm_permission_in(&g->may, ALM_GRANT_OF_OWNER) ||
           has_all(g, g->column[0] != 0 ? ALM_LEVEL_C : ALM_LEVEL_T);
}

/* Of an owner's permission that he took from himself in part there are grants on columns left. */
static bool is_of_an_owner(const alm_acl *acl, const alm_grant *g)
{
    alm_grant table_wide;
    return is_owner(g) ||
           (alm_acl_grant(acl, g->entity, g->table, "", &table_wide) && is_owner(&table_wide));
}

alm_status alm_disown(alm_cursor *c, alm_str table, bool cascade, alm_acl_edit *edit)
{
    const char *name = NULL;
    if (edit->acl == NULL)
        return ALM_OK;
    ALM_TRY(alm_lower_name(&c->cx, table, &name));
    if (cascade || !c->rights->all)
        return alm_edit_move(edit, name, NULL, NULL);
    for (uint32_t i = 0; i < edit->acl->n_grants; i++) {
        alm_grant g = alm_acl_grant_at(edit->acl, i);
        if (strcmp(g.table, name) != 0 || !is_of_an_owner(edit->acl, &g))
            continue;
        g.may = g.option = (alm_permission_set){{0, 0}};
        ALM_TRY(alm_edit_grant(edit, &g));
    }
    return ALM_OK;
}

alm_status alm_own_columns(alm_cursor *c, const alm_stmt *stmt, const char *table,
                           const alm_column *cols, uint32_t n, alm_acl_edit *edit)
{
    const char *owner = NULL, *name = NULL, *column = NULL;
    ALM_TRY(alm_find_owner(c, stmt, &owner));
    for (uint32_t i = 0; i < n; i++) {
        ALM_TRY(alm_lower_name(&c->cx, alm_str_of(table), &name));
        ALM_TRY(alm_lower_name(&c->cx, alm_str_of(cols[i].name), &column));
        ALM_TRY(start_clean(c, edit, name, column));
        alm_grant table_wide = {0};
        if (owner != NULL)
            ALM_TRY(alm_edit_grant_now(edit, owner, name, "", &table_wide));
        if (owner != NULL &&
            !has_all(&table_wide, ALM_LEVEL_C)) /* else it counts for the column, too */
            ALM_TRY(own(edit, owner, name, column, ALM_LEVEL_C));
    }
    return ALM_OK;
}
