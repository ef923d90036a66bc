/*
 * acl_lists.c - rows for SHOW USERS, SHOW PERMISSIONS and their like, and for the table functions about access control
 * (exec/source/acl.c).
 *
 * Who         Lists of others need LIST USERS, what others may USER DETAILS; of oneself everybody may ask. A name is compared
 *             with the caller's own first, so that an external user sees his session's groups and permissions.
 */
#include "session/access/access.h"

typedef struct rows {
    alm_ctx *cx;
    const char **cells;
    size_t n, cap, width;
} rows;

static alm_status acl_lists_add_row(rows *self, const char *const *cells)
{
    if (self->n == self->cap) {
        const char **bigger = NULL;
        self->cap = ALM_MAX((size_t)64, 2 * self->cap);
        ALM_TRY(ALM_NEWN(self->cx, self->cx->arena, self->cap * self->width, &bigger));
        if (self->n > 0)
            memcpy((void *)bigger, (const void *)self->cells,
                   self->n * self->width * sizeof *bigger);
        self->cells = bigger;
    }
    for (size_t i = 0; i < self->width; i++) {
        const char **dest = &self->cells[self->n * self->width + i];
        *dest = NULL;
        if (cells[i] != NULL)
            ALM_TRY(alm_arena_zstr(self->cx, self->cx->arena, alm_str_of(cells[i]), dest));
    }
    self->n++;
    return ALM_OK;
}

/* The caller, or somebody whom he may ask about. */
static alm_status rights_of(alm_cursor *cursor, const char *name, alm_rights **out)
{
    const alm_rights *rights = cursor->rights;
    if (name[0] == 0 || strcmp(name, rights->name) == 0) {
        *out = alm_rights_retain(cursor->rights);
        return ALM_OK;
    }
    ALM_TRY(alm_rights_is_in(rights, name) ? ALM_OK
                                           : alm_access_may(&cursor->cx, "USER DETAILS", NULL, -1));
    if (alm_is_admin_name(cursor, name)) {
        const alm_principal admin = {.kind = ALM_PRINCIPAL_ADMIN, .name = name};
        return alm_rights_new(&cursor->cx, rights->acl, &admin, out);
    }
    const alm_entity *entity = NULL;
    const alm_acl_name asked = {alm_str_of(name), -1};
    ALM_TRY(alm_acl_need(cursor, rights->acl, &asked, 0, &entity));
    return alm_rights_of(&cursor->cx, rights->acl, name, out);
}

/* ------------------------------------------------------------------------- names */

static alm_status list_entities(alm_cursor *cursor, alm_entity_kind kind, rows *self)
{
    const alm_acl *acl = cursor->rights->acl;
    ALM_TRY(alm_access_may(&cursor->cx, "LIST USERS", NULL, -1));
    for (uint32_t i = 0; i < acl->n_entities; i++)
        if (acl->entities[i].kind == kind) {
            const char *const cells[] = {acl->entities[i].name, NULL};
            ALM_TRY(acl_lists_add_row(self, cells));
        }
    return ALM_OK;
}

static alm_status list_groups_of(alm_cursor *cursor, const char *name, rows *self)
{
    alm_rights *of = NULL;
    alm_status status = rights_of(cursor, name, &of);
    if (status != ALM_OK)
        return status;
    for (uint32_t i = 0; status == ALM_OK && i < of->n; i++) {
        const alm_entity *entity = alm_acl_entity(of->acl, of->of[i]);
        const char *const cells[] = {of->of[i], NULL};
        if (entity != NULL && entity->kind == ALM_ENTITY_GROUP &&
            strcmp(entity->name, of->name) != 0)
            status = acl_lists_add_row(self, cells);
    }
    alm_rights_release(of);
    return status;
}

static alm_status list_accounts_of(alm_cursor *cursor, const char *name, rows *self)
{
    alm_rights *of = NULL;
    alm_status status = rights_of(cursor, name, &of);
    if (status != ALM_OK)
        return status;
    for (uint32_t i = 0; status == ALM_OK && i < of->acl->n_entities; i++) {
        const alm_entity *entity = &of->acl->entities[i];
        if (entity->kind != ALM_ENTITY_ACCOUNT || !alm_rights_assumes(of, entity->name, false))
            continue;
        const char *const cells[] = {entity->name,
                                     alm_rights_assumes(of, entity->name, true) ? "true" : "false"};
        status = acl_lists_add_row(self, cells);
    }
    alm_rights_release(of);
    return status;
}

/* ------------------------------------------------------------------------ logins */

static bool has_token(alm_cursor *cursor, const char *name)
{
    alm_db *db = cursor->session->db;
    const alm_acl *acl = cursor->rights->acl;
    const int64_t now_us = cursor->cx.now_ns / 1000;
    bool found = false;
    for (uint32_t i = 0; i < acl->n_tokens && !found; i++)
        found = strcmp(acl->tokens[i].entity, name) == 0 && acl->tokens[i].expires_us > now_us;
    const alm_entity *entity = alm_acl_entity(acl, name);
    return found || (entity != NULL && alm_transient_count(db, entity, now_us) > 0);
}

static alm_status list_logins(alm_cursor *cursor, const char *name, char kind, rows *self)
{
    const alm_rights *rights = cursor->rights;
    const alm_entity *entity = NULL;
    const bool own = name[0] == 0 || strcmp(name, rights->name) == 0;
    bool password = false, key = false, token = false;
    if (!own)
        ALM_TRY(alm_access_may(&cursor->cx, "USER DETAILS", NULL, -1));
    if ((own && rights->kind == ALM_PRINCIPAL_ADMIN) || (!own && alm_is_admin_name(cursor, name))) {
        password = cursor->session->db->conf->acl_admin_user_enabled;
    } else if (!own || rights->kind == ALM_PRINCIPAL_LOCAL) {
        const alm_acl_name asked = {alm_str_of(own ? rights->name : name), -1};
        ALM_TRY(alm_acl_need(cursor, rights->acl, &asked, kind, &entity));
        password = entity->has_password;
        key = entity->has_key;
        token = has_token(cursor, entity->name);
    }
    const char *const cells[3][2] = {{"Password", password ? "true" : "false"},
                                     {"JWK Token", key ? "true" : "false"},
                                     {"REST Token", token ? "true" : "false"}};
    for (size_t i = 0; i < 3; i++)
        ALM_TRY(acl_lists_add_row(self, cells[i]));
    return ALM_OK;
}

/* ------------------------------------------------------------------- permissions */

/* Does what is granted on exist? Its names as they are there. */
static bool acl_lists_is_there(alm_cursor *cursor, const alm_grant *grant, const char **table,
                               const char **column)
{
    *table = *column = NULL;
    if (grant->table[0] == 0)
        return true;
    const alm_table *t = alm_snapshot_find(cursor->snapshot, alm_str_of(grant->table));
    if (t == NULL)
        return false;
    *table = t->name;
    if (grant->column[0] == 0)
        return true;
    const int32_t place = alm_table_col(t, alm_str_of(grant->column));
    if (place >= 0)
        *column = t->cols[place].name;
    return place >= 0;
}

static alm_status add_grants(alm_cursor *cursor, const alm_grant *grant, rows *self)
{
    const char *table = NULL, *column = NULL;
    if (!acl_lists_is_there(cursor, grant, &table, &column))
        return ALM_OK;
    for (size_t i = 0; i < alm_permission_count(); i++) {
        const alm_permission *permission = alm_permission_at(i);
        const char *const cells[] = {
            permission->name, table, column,
            alm_permission_in(&grant->option, permission->number) ? "t" : "f", "G"};
        if (alm_permission_in(&grant->may, permission->number))
            ALM_TRY(acl_lists_add_row(self, cells));
    }
    return ALM_OK;
}

/* The designated timestamp of a table of which some other column may be read or changed. */
static alm_status add_implicit(alm_cursor *cursor, const alm_rights *of, const alm_table *table,
                               rows *self)
{
    static const uint8_t numbers[] = {ALM_PERMISSION_SELECT, ALM_PERMISSION_UPDATE};
    const char *name = NULL, *ts = NULL;
    if (table->ts_col < 0)
        return ALM_OK;
    ALM_TRY(alm_lower_name(&cursor->cx, alm_str_of(table->name), &name));
    ALM_TRY(alm_lower_name(&cursor->cx, alm_str_of(table->cols[table->ts_col].name), &ts));
    for (size_t i = 0; i < ALM_COUNT(numbers); i++) {
        const alm_rights_ask granted = {.number = numbers[i], .table = name, .column = ts};
        const char *const cells[] = {alm_permission_by_number(numbers[i])->name, table->name,
                                     table->cols[table->ts_col].name, "f", "I"};
        if (!alm_rights_may(of, &granted) && alm_rights_any(of, numbers[i], name))
            ALM_TRY(acl_lists_add_row(self, cells));
    }
    return ALM_OK;
}

/* Grants of the entity and of its groups on the same place are one. */
static alm_grant merged(const alm_rights *of, const alm_grant *grant)
{
    alm_grant out = *grant;
    for (uint32_t i = 0; i < of->n; i++) {
        alm_grant other;
        (void)alm_acl_grant(of->acl, of->of[i], grant->table, grant->column, &other);
        for (int k = 0; k < 2; k++) {
            out.may.word[k] |= other.may.word[k];
            out.option.word[k] |= other.option.word[k];
        }
    }
    return out;
}

static alm_status list_permissions_of(alm_cursor *cursor, const alm_rights *of, rows *self)
{
    if (of->kind == ALM_PRINCIPAL_ADMIN)
        return ALM_OK; /* has all; none is a grant */
    for (uint32_t i = 0; i < of->n; i++) {
        uint32_t place;
        const uint32_t end = alm_acl_grants_of(of->acl, of->of[i], &place);
        for (; place < end; place++) {
            const alm_grant grant = alm_acl_grant_at(of->acl, place);
            alm_grant other;
            bool seen = false;
            for (uint32_t k = 0; k < i && !seen; k++)
                seen = alm_acl_grant(of->acl, of->of[k], grant.table, grant.column, &other);
            if (seen)
                continue;
            const alm_grant all = merged(of, &grant);
            ALM_TRY(add_grants(cursor, &all, self));
        }
    }
    for (size_t i = 0; i < alm_snapshot_count(cursor->snapshot); i++)
        ALM_TRY(add_implicit(cursor, of, alm_snapshot_at(cursor->snapshot, i), self));
    return ALM_OK;
}

static alm_status list_permissions(alm_cursor *cursor, const char *name, rows *self)
{
    alm_rights *of = NULL;
    ALM_TRY(rights_of(cursor, name, &of));
    const alm_status status = list_permissions_of(cursor, of, self);
    alm_rights_release(of);
    return status;
}

/* ------------------------------------------------------------------ all, aliases */

static alm_status list_all(rows *self)
{
    for (size_t i = 0; i < alm_permission_count(); i++) {
        const alm_permission *permission = alm_permission_at(i);
        const char *const cells[] = {permission->name, alm_level_name(permission->level),
                                     permission->doc};
        ALM_TRY(acl_lists_add_row(self, cells));
    }
    return ALM_OK;
}

static alm_status list_aliases(alm_cursor *cursor, rows *self)
{
    const alm_acl *acl = cursor->rights->acl;
    ALM_TRY(alm_access_may(&cursor->cx, "LIST USERS", NULL, -1));
    for (uint32_t i = 0; i < acl->n_aliases; i++) {
        const char *const cells[] = {acl->aliases[i].first, acl->aliases[i].second};
        ALM_TRY(acl_lists_add_row(self, cells));
    }
    return ALM_OK;
}

static alm_status list_limits(alm_cursor *cursor, rows *self)
{
    const alm_acl *acl = cursor->rights->acl;
    ALM_TRY(alm_access_may(&cursor->cx, "LIST USERS", NULL, -1));
    for (uint32_t i = 0; i < acl->n_entities; i++) {
        const char *bytes = NULL;
        if (acl->entities[i].memory_max == 0)
            continue;
        ALM_TRY(alm_arena_printf(&cursor->cx, cursor->cx.arena, &bytes, "%lld",
                                 (long long)acl->entities[i].memory_max));
        const char *const cells[] = {acl->entities[i].name, bytes};
        ALM_TRY(acl_lists_add_row(self, cells));
    }
    return ALM_OK;
}

static alm_status list_my_groups(alm_cursor *cursor, rows *self)
{
    const alm_principal *who = alm_session_principal(cursor->session);
    const alm_acl *acl = cursor->rights->acl;
    for (uint32_t group = 0; group < who->n_groups; group++) {
        bool mapped = false;
        const alm_alias_slot *slot = NULL;
        uint32_t place = 0;
        while ((slot = alm_acl_alias_next(acl, who->group_hashes[group], who->groups[group],
                                          &place)) != NULL) {
            const char *const cells[] = {who->groups[group], acl->aliases[slot->alias].first};
            mapped = true;
            ALM_TRY(acl_lists_add_row(self, cells));
        }
        const char *const none[] = {who->groups[group], NULL};
        if (!mapped)
            ALM_TRY(acl_lists_add_row(self, none));
    }
    return ALM_OK;
}

/* ---------------------------------------------------------------------- dispatch */

static bool starts(const char *what, const char *word, const char **rest)
{
    const size_t len = strlen(word);
    if (strncmp(what, word, len) != 0 || (what[len] != 0 && what[len] != ' '))
        return false;
    *rest = what[len] == 0 ? "" : what + len + 1;
    return true;
}

static alm_status acl_lists_fill(alm_cursor *cursor, const char *what, rows *self)
{
    const char *name = NULL;
    if (starts(what, "users", &name))
        return list_entities(cursor, ALM_ENTITY_USER, self);
    if (starts(what, "groups", &name))
        return name[0] == 0 ? list_entities(cursor, ALM_ENTITY_GROUP, self)
                            : list_groups_of(cursor, name, self);
    if (starts(what, "names", &name))
        return list_entities(cursor, ALM_ENTITY_ACCOUNT, self);
    if (starts(what, "accounts", &name))
        return list_accounts_of(cursor, name, self);
    if (starts(what, "user", &name))
        return list_logins(cursor, name, 'u', self);
    if (starts(what, "account", &name))
        return list_logins(cursor, name, 's', self);
    if (starts(what, "permissions", &name))
        return list_permissions(cursor, name, self);
    if (starts(what, "aliases", &name))
        return list_aliases(cursor, self);
    if (starts(what, "limits", &name))
        return list_limits(cursor, self);
    ALM_ASSERT(strcmp(what, "mine") == 0);
    return list_my_groups(cursor, self);
}

/* How many texts a row has, as exec/source/acl.c takes them. */
static size_t acl_lists_width_of(const char *what)
{
    static const struct {
        const char *what;
        size_t width;
    } widths[] = {{"users", 1}, {"groups", 1}, {"names", 1}, {"permissions", 5}, {"all", 3}};
    const char *rest = NULL;
    for (size_t i = 0; i < ALM_COUNT(widths); i++)
        if (starts(what, widths[i].what, &rest))
            return widths[i].width;
    return 2;
}

alm_status alm_acl_texts(alm_ctx *cx, const char *what, const char *const **cells, size_t *n)
{
    rows self = {.cx = cx, .width = acl_lists_width_of(what)};
    alm_status status;
    if (strcmp(what, "all") == 0) {
        status = list_all(&self);
    } else if (strcmp(what, "audit") == 0) {
        ALM_TRY(alm_access_may(cx, "DATABASE ADMIN", NULL, -1));
        return alm_audit_texts(cx, cells, n);
    } else if (cx->access == NULL) {
        status = ALM_OK; /* access control is off: there is nobody */
    } else if (strncmp(what, "ddl_", 4) == 0) {
        return alm_acl_ddl(cx->access->arg, what, cells, n);
    } else {
        status = acl_lists_fill(cx->access->arg, what, &self);
    }
    *cells = self.cells;
    *n = self.n;
    return status;
}
