/*
 * owner.c - changes of the records of access control, and the grants that come and go with tables, views and columns.
 */
#include "session/access/access.h"

alm_status alm_acl_edit_begin(alm_cursor *cursor, alm_acl_edit *edit)
{
    *edit = (alm_acl_edit){.cx = &cursor->cx,
                           .acl = cursor->rights != NULL ? cursor->rights->acl : NULL};
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

alm_status alm_acl_change(alm_cursor *cursor, alm_acl_fn fn, void *arg)
{
    enum { TRIES = 64 };
    for (int i = 0;; i++) {
        alm_acl_edit edit;
        ALM_TRY(alm_acl_edit_begin(cursor, &edit));
        ALM_TRY(fn(cursor, &edit, arg));
        if (edit.n == 0)
            return ALM_OK;
        const alm_records_change change = {
            .seen_lsn = edit.acl->epoch, .rows = edit.rows, .n = edit.n};
        const alm_status status =
            alm_records_put(&cursor->cx, cursor->session->db->storage, &change);
        if (status != ALM_E_STALE || i + 1 == TRIES)
            return status;
        alm_error_clear(&cursor->cx);
        ALM_TRY(alm_cursor_look_again(cursor));
        ALM_TRY(alm_cursor_access(cursor));
    }
}

alm_status alm_find_owner(alm_cursor *cursor, const alm_stmt *stmt, const char **owner)
{
    const alm_rights *rights = cursor->rights;
    *owner = NULL;
    if (rights == NULL)
        return ALM_OK; /* OWNED BY says nothing where access control is off */
    if (stmt->owner.len == 0) {
        if (rights->kind == ALM_PRINCIPAL_EXTERNAL)
            return alm_fail(&cursor->cx, ALM_E_SYNTAX, stmt->end,
                            "OWNED BY is required for external users");
        *owner = rights->kind == ALM_PRINCIPAL_ADMIN ? NULL : rights->name;
        return ALM_OK;
    }
    const alm_acl_name name = {stmt->owner, stmt->owner_pos};
    const alm_entity *entity = NULL;
    ALM_TRY(alm_acl_need(cursor, rights->acl, &name, 0, &entity));
    const bool mine =
        (rights->kind == ALM_PRINCIPAL_LOCAL && strcmp(entity->name, rights->name) == 0) ||
        alm_rights_is_in(rights, entity->name);
    if (!mine && !rights->all)
        return alm_fail(&cursor->cx, ALM_E_DENIED, stmt->owner_pos,
                        "Access denied for %s [OWNED BY %s]", rights->name, entity->name);
    *owner = entity->name;
    return ALM_OK;
}

/* What was granted on a name before there is something of it. An administrator may do that; who is none begins with his own grants
 * alone, as those who had them, or gave them, had another table in mind. */
static alm_status start_clean(alm_cursor *cursor, alm_acl_edit *edit, const char *table,
                              const char *column)
{
    return cursor->rights == NULL || cursor->rights->all ? ALM_OK
                                                         : alm_edit_move(edit, table, column, NULL);
}

/* Does the owner of what is made get the permission on it? Not BACKUP TABLE, which writes to the server's files. */
static bool is_of_owner(const alm_permission *permission, alm_level least)
{
    return permission->level >= least && permission->number != ALM_PERMISSION_BACKUP_TABLE;
}

/* Has he all that access_owner_own() gives on the level, with grant option? */
static bool has_all(const alm_grant *grant, alm_level least)
{
    for (size_t i = 0; i < alm_permission_count(); i++) {
        const alm_permission *permission = alm_permission_at(i);
        if (is_of_owner(permission, least) &&
            !(alm_permission_in(&grant->may, permission->number) &&
              alm_permission_in(&grant->option, permission->number)))
            return false;
    }
    return true;
}

static alm_status access_owner_own(alm_acl_edit *edit, const char *owner, const char *table,
                                   const char *column, alm_level least)
{
    alm_grant grant;
    ALM_TRY(alm_edit_grant_now(edit, owner, table, column, &grant));
    for (size_t i = 0; i < alm_permission_count(); i++) {
        const alm_permission *permission = alm_permission_at(i);
        if (!is_of_owner(permission, least))
            continue;
        alm_permission_put(&grant.may, permission->number);
        alm_permission_put(&grant.option, permission->number);
    }
    alm_permission_put(&grant.may, ALM_GRANT_OF_OWNER);
    return alm_edit_grant(edit, &grant);
}

alm_status alm_own_table(alm_cursor *cursor, const alm_stmt *stmt, const char *table,
                         alm_acl_edit *edit)
{
    const char *owner = NULL, *name = NULL;
    ALM_TRY(alm_acl_edit_begin(cursor, edit));
    ALM_TRY(alm_find_owner(cursor, stmt, &owner));
    ALM_TRY(alm_lower_name(&cursor->cx, alm_str_of(table), &name));
    if (alm_snapshot_find(cursor->snapshot, alm_str_of(table)) == NULL)
        ALM_TRY(start_clean(cursor, edit, name, NULL));
    if (owner == NULL)
        return ALM_OK;
    return access_owner_own(edit, owner, name, "", ALM_LEVEL_T);
}

/* What access_owner_own() gave: older versions did not mark it, but gave all that can be granted there, with grant option. */
static bool is_owner(const alm_grant *grant)
{
    return alm_permission_in(&grant->may, ALM_GRANT_OF_OWNER) ||
           has_all(grant, grant->column[0] != 0 ? ALM_LEVEL_C : ALM_LEVEL_T);
}

/* Of an owner's permission that he took from himself in part there are grants on columns left. */
static bool is_of_an_owner(const alm_acl *acl, const alm_grant *grant)
{
    alm_grant table_wide;
    return is_owner(grant) || (alm_acl_grant(acl, grant->entity, grant->table, "", &table_wide) &&
                               is_owner(&table_wide));
}

alm_status alm_disown(alm_cursor *cursor, alm_str table, bool cascade, alm_acl_edit *edit)
{
    const char *name = NULL;
    if (edit->acl == NULL)
        return ALM_OK;
    ALM_TRY(alm_lower_name(&cursor->cx, table, &name));
    if (cascade || !cursor->rights->all)
        return alm_edit_move(edit, name, NULL, NULL);
    for (uint32_t i = 0; i < edit->acl->n_grants; i++) {
        alm_grant grant = alm_acl_grant_at(edit->acl, i);
        if (strcmp(grant.table, name) != 0 || !is_of_an_owner(edit->acl, &grant))
            continue;
        grant.may = grant.option = (alm_permission_set){{0, 0}};
        ALM_TRY(alm_edit_grant(edit, &grant));
    }
    return ALM_OK;
}

alm_status alm_own_columns(alm_cursor *cursor, const alm_stmt *stmt, const char *table,
                           const alm_column *cols, uint32_t n_cols, alm_acl_edit *edit)
{
    const char *owner = NULL, *name = NULL, *column = NULL;
    ALM_TRY(alm_find_owner(cursor, stmt, &owner));
    for (uint32_t i = 0; i < n_cols; i++) {
        ALM_TRY(alm_lower_name(&cursor->cx, alm_str_of(table), &name));
        ALM_TRY(alm_lower_name(&cursor->cx, alm_str_of(cols[i].name), &column));
        ALM_TRY(start_clean(cursor, edit, name, column));
        alm_grant table_wide = {0};
        if (owner != NULL)
            ALM_TRY(alm_edit_grant_now(edit, owner, name, "", &table_wide));
        if (owner != NULL &&
            !has_all(&table_wide, ALM_LEVEL_C)) /* else it counts for the column, too */
            ALM_TRY(access_owner_own(edit, owner, name, column, ALM_LEVEL_C));
    }
    return ALM_OK;
}
