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

static alm_status add_row(rows *r, const char *const *cells)
{
    if (r->n == r->cap) {
        const char **bigger = NULL;
        r->cap = ALM_MAX((size_t)64, 2 * r->cap);
        ALM_TRY(ALM_NEWN(r->cx, r->cx->arena, r->cap * r->width, &bigger));
        if (r->n > 0)
            memcpy((void *)bigger, (const void *)r->cells, r->n * r->width * sizeof *bigger);
        r->cells = bigger;
    }
    for (size_t i = 0; i < r->width; i++) {
        const char **to = &r->cells[r->n * r->width + i];
        *to = NULL;
        if (cells[i] != NULL)
            ALM_TRY(alm_arena_zstr(r->cx, r->cx->arena, alm_str_of(cells[i]), to));
    }
    r->n++;
    return ALM_OK;
}

/* The caller, or somebody whom he may ask about. */
static alm_status rights_of(alm_cursor *c, const char *name, alm_rights **out)
{
    const alm_rights *me = c->rights;
    if (name[0] == 0 || strcmp(name, me->name) == 0) {
        *out = alm_rights_retain(c->rights);
        return ALM_OK;
    }
    ALM_TRY(alm_rights_is_in(me, name) ? ALM_OK : alm_access_may(&c->cx, "USER DETAILS", NULL, -1));
    if (alm_is_admin_name(c, name)) {
        const alm_principal admin = {.kind = ALM_PRINCIPAL_ADMIN, .name = name};
        return alm_rights_new(&c->cx, me->acl, &admin, out);
    }
    const alm_entity *e = NULL;
    const alm_acl_name asked = {alm_str_of(name), -1};
    ALM_TRY(alm_acl_need(c, me->acl, &asked, 0, &e));
    return alm_rights_of(&c->cx, me->acl, name, out);
}

/* ------------------------------------------------------------------------- names */

static alm_status list_entities(alm_cursor *c, alm_entity_kind kind, rows *r)
{
    const alm_acl *acl = c->rights->acl;
    ALM_TRY(alm_access_may(&c->cx, "LIST USERS", NULL, -1));
    for (uint32_t i = 0; i < acl->n_entities; i++)
        if (acl->entities[i].kind == kind) {
            const char *const cells[] = {acl->entities[i].name, NULL};
            ALM_TRY(add_row(r, cells));
        }
    return ALM_OK;
}

static alm_status list_groups_of(alm_cursor *c, const char *name, rows *r)
{
    alm_rights *of = NULL;
    alm_status st = rights_of(c, name, &of);
    if (st != ALM_OK)
        return st;
    for (uint32_t i = 0; st == ALM_OK && i < of->n; i++) {
        const alm_entity *e = alm_acl_entity(of->acl, of->of[i]);
        const char *const cells[] = {of->of[i], NULL};
        if (e != NULL && e->kind == ALM_ENTITY_GROUP && strcmp(e->name, of->name) != 0)
            st = add_row(r, cells);
    }
    alm_rights_release(of);
    return st;
}

static alm_status list_accounts_of(alm_cursor *c, const char *name, rows *r)
{
    alm_rights *of = NULL;
    alm_status st = rights_of(c, name, &of);
    if (st != ALM_OK)
        return st;
    for (uint32_t i = 0; st == ALM_OK && i < of->acl->n_entities; i++) {
        const alm_entity *e = &of->acl->entities[i];
        if (e->kind != ALM_ENTITY_ACCOUNT || !alm_rights_assumes(of, e->name, false))
            continue;
        const char *const cells[] = {e->name,
                                     alm_rights_assumes(of, e->name, true) ? "true" : "false"};
        st = add_row(r, cells);
    }
    alm_rights_release(of);
    return st;
}

/* ------------------------------------------------------------------------ logins */

static bool has_token(alm_cursor *c, const char *name)
{
    alm_db *db = c->session->db;
    const alm_acl *acl = c->rights->acl;
    const int64_t now_us = c->cx.now_ns / 1000;
    bool found = false;
    for (uint32_t i = 0; i < acl->n_tokens && !found; i++)
        found = strcmp(acl->tokens[i].entity, name) == 0 && acl->tokens[i].expires_us > now_us;
    const alm_entity *e = alm_acl_entity(acl, name);
    return found || (e != NULL && alm_transient_count(db, e, now_us) > 0);
}

static alm_status list_logins(alm_cursor *c, const char *name, char kind, rows *r)
{
    const alm_rights *me = c->rights;
    const alm_entity *e = NULL;
    const bool own = name[0] == 0 || strcmp(name, me->name) == 0;
    bool password = false, key = false, token = false;
    if (!own)
        ALM_TRY(alm_access_may(&c->cx, "USER DETAILS", NULL, -1));
    if ((own && me->kind == ALM_PRINCIPAL_ADMIN) || (!own && alm_is_admin_name(c, name))) {
        password = c->session->db->conf->acl_admin_user_enabled;
    } else if (!own || me->kind == ALM_PRINCIPAL_LOCAL) {
        const alm_acl_name asked = {alm_str_of(own ? me->name : name), -1};
        ALM_TRY(alm_acl_need(c, me->acl, &asked, kind, &e));
        password = e->has_password;
        key = e->has_key;
        token = has_token(c, e->name);
    }
    const char *const cells[3][2] = {{"Password", password ? "true" : "false"},
                                     {"JWK Token", key ? "true" : "false"},
                                     {"REST Token", token ? "true" : "false"}};
    for (size_t i = 0; i < 3; i++)
        ALM_TRY(add_row(r, cells[i]));
    return ALM_OK;
}

/* ------------------------------------------------------------------- permissions */

/* Does what is granted on exist? Its names as they are there. */
static bool is_there(alm_cursor *c, const alm_grant *g, const char **table, const char **column)
{
    *table = *column = NULL;
    if (g->table[0] == 0)
        return true;
    const alm_table *t = alm_snapshot_find(c->snapshot, alm_str_of(g->table));
    if (t == NULL)
        return false;
    *table = t->name;
    if (g->column[0] == 0)
        return true;
    const int32_t at = alm_table_col(t, alm_str_of(g->column));
    if (at >= 0)
        *column = t->cols[at].name;
    return at >= 0;
}

static alm_status add_grants(alm_cursor *c, const alm_grant *g, rows *r)
{
    const char *table = NULL, *column = NULL;
    if (!is_there(c, g, &table, &column))
        return ALM_OK;
    for (size_t i = 0; i < alm_permission_count(); i++) {
        const alm_permission *p = alm_permission_at(i);
        const char *const cells[] = {p->name, table, column,
                                     alm_permission_in(&g->option, p->number) ? "t" : "f", "G"};
        if (alm_permission_in(&g->may, p->number))
            ALM_TRY(add_row(r, cells));
    }
    return ALM_OK;
}

/* The designated timestamp of a table of which some other column may be read or changed. */
static alm_status add_implicit(alm_cursor *c, const alm_rights *of, const alm_table *t, rows *r)
{
    static const uint8_t numbers[] = {ALM_PERMISSION_SELECT, ALM_PERMISSION_UPDATE};
    const char *name = NULL, *ts = NULL;
    if (t->ts_col < 0)
        return ALM_OK;
    ALM_TRY(alm_lower_name(&c->cx, alm_str_of(t->name), &name));
    ALM_TRY(alm_lower_name(&c->cx, alm_str_of(t->cols[t->ts_col].name), &ts));
    for (size_t i = 0; i < ALM_COUNT(numbers); i++) {
        const alm_rights_ask granted = {.number = numbers[i], .table = name, .column = ts};
        const char *const cells[] = {alm_permission_by_number(numbers[i])->name, t->name,
                                     t->cols[t->ts_col].name, "f", "I"};
        if (!alm_rights_may(of, &granted) && alm_rights_any(of, numbers[i], name))
            ALM_TRY(add_row(r, cells));
    }
    return ALM_OK;
}

/* Grants of the entity and of its groups on the same place are one. */
static alm_grant merged(const alm_rights *of, const alm_grant *g)
{
    alm_grant out = *g;
    for (uint32_t i = 0; i < of->n; i++) {
        alm_grant other;
        (void)alm_acl_grant(of->acl, of->of[i], g->table, g->column, &other);
        for (int k = 0; k < 2; k++) {
            out.may.word[k] |= other.may.word[k];
            out.option.word[k] |= other.option.word[k];
        }
    }
    return out;
}

static alm_status list_permissions_of(alm_cursor *c, const alm_rights *of, rows *r)
{
    if (of->kind == ALM_PRINCIPAL_ADMIN)
        return ALM_OK; /* has all; none is a grant */
    for (uint32_t i = 0; i < of->n; i++) {
        uint32_t at;
        const uint32_t end = alm_acl_grants_of(of->acl, of->of[i], &at);
        for (; at < end; at++) {
            const alm_grant g = alm_acl_grant_at(of->acl, at);
            alm_grant other;
            bool seen = false;
            for (uint32_t k = 0; k < i && !seen; k++)
                seen = alm_acl_grant(of->acl, of->of[k], g.table, g.column, &other);
            if (seen)
                continue;
            const alm_grant all = merged(of, &g);
            ALM_TRY(add_grants(c, &all, r));
        }
    }
    for (size_t i = 0; i < alm_snapshot_count(c->snapshot); i++)
        ALM_TRY(add_implicit(c, of, alm_snapshot_at(c->snapshot, i), r));
    return ALM_OK;
}

static alm_status list_permissions(alm_cursor *c, const char *name, rows *r)
{
    alm_rights *of = NULL;
    ALM_TRY(rights_of(c, name, &of));
    const alm_status st = list_permissions_of(c, of, r);
    alm_rights_release(of);
    return st;
}

/* ------------------------------------------------------------------ all, aliases */

static alm_status list_all(rows *r)
{
    for (size_t i = 0; i < alm_permission_count(); i++) {
        const alm_permission *p = alm_permission_at(i);
        const char *const cells[] = {p->name, alm_level_name(p->level), p->doc};
        ALM_TRY(add_row(r, cells));
    }
    return ALM_OK;
}

static alm_status list_aliases(alm_cursor *c, rows *r)
{
    const alm_acl *acl = c->rights->acl;
    ALM_TRY(alm_access_may(&c->cx, "LIST USERS", NULL, -1));
    for (uint32_t i = 0; i < acl->n_aliases; i++) {
        const char *const cells[] = {acl->aliases[i].first, acl->aliases[i].second};
        ALM_TRY(add_row(r, cells));
    }
    return ALM_OK;
}

static alm_status list_limits(alm_cursor *c, rows *r)
{
    const alm_acl *acl = c->rights->acl;
    ALM_TRY(alm_access_may(&c->cx, "LIST USERS", NULL, -1));
    for (uint32_t i = 0; i < acl->n_entities; i++) {
        const char *bytes = NULL;
        if (acl->entities[i].memory_max == 0)
            continue;
        ALM_TRY(alm_arena_printf(&c->cx, c->cx.arena, &bytes, "%lld",
                                 (long long)acl->entities[i].memory_max));
        const char *const cells[] = {acl->entities[i].name, bytes};
        ALM_TRY(add_row(r, cells));
    }
    return ALM_OK;
}

static alm_status list_my_groups(alm_cursor *c, rows *r)
{
    const alm_principal *who = alm_session_principal(c->session);
    const alm_acl *acl = c->rights->acl;
    for (uint32_t g = 0; g < who->n_groups; g++) {
        bool mapped = false;
        const alm_alias_slot *slot = NULL;
        uint32_t at = 0;
        while ((slot = alm_acl_alias_next(acl, who->group_hashes[g], who->groups[g], &at)) !=
               NULL) {
            const char *const cells[] = {who->groups[g], acl->aliases[slot->alias].first};
            mapped = true;
            ALM_TRY(add_row(r, cells));
        }
        const char *const none[] = {who->groups[g], NULL};
        if (!mapped)
            ALM_TRY(add_row(r, none));
    }
    return ALM_OK;
}

/* ---------------------------------------------------------------------- dispatch */

static bool starts(const char *what, const char *word, const char **rest)
{
    const size_t n = strlen(word);
    if (strncmp(what, word, n) != 0 || (what[n] != 0 && what[n] != ' '))
        return false;
    *rest = what[n] == 0 ? "" : what + n + 1;
    return true;
}

static alm_status fill(alm_cursor *c, const char *what, rows *r)
{
    const char *name = NULL;
    if (starts(what, "users", &name))
        return list_entities(c, ALM_ENTITY_USER, r);
    if (starts(what, "groups", &name))
        return name[0] == 0 ? list_entities(c, ALM_ENTITY_GROUP, r) : list_groups_of(c, name, r);
    if (starts(what, "names", &name))
        return list_entities(c, ALM_ENTITY_ACCOUNT, r);
    if (starts(what, "accounts", &name))
        return list_accounts_of(c, name, r);
    if (starts(what, "user", &name))
        return list_logins(c, name, 'u', r);
    if (starts(what, "account", &name))
        return list_logins(c, name, 's', r);
    if (starts(what, "permissions", &name))
        return list_permissions(c, name, r);
    if (starts(what, "aliases", &name))
        return list_aliases(c, r);
    if (starts(what, "limits", &name))
        return list_limits(c, r);
    ALM_ASSERT(strcmp(what, "mine") == 0);
    return list_my_groups(c, r);
}

/* How many texts a row has, as exec/source/acl.c takes them. */
static size_t width_of(const char *what)
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
    rows r = {.cx = cx, .width = width_of(what)};
    alm_status st;
    if (strcmp(what, "all") == 0) {
        st = list_all(&r);
    } else if (strcmp(what, "audit") == 0) {
        ALM_TRY(alm_access_may(cx, "DATABASE ADMIN", NULL, -1));
        return alm_audit_texts(cx, cells, n);
    } else if (cx->access == NULL) {
        st = ALM_OK; /* access control is off: there is nobody */
    } else if (strncmp(what, "ddl_", 4) == 0) {
        return alm_acl_ddl(cx->access->arg, what, cells, n);
    } else {
        st = fill(cx->access->arg, what, &r);
    }
    *cells = r.cells;
    *n = r.n;
    return st;
}
