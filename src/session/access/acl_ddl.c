/*
 * acl_ddl.c - the statements that would make users, groups, service accounts, memberships and grants again: part of SHOW
 * CREATE DATABASE. Passwords, tokens and keys cannot be told: users come without a password.
 */
#include <stdio.h>

#include "session/access/access.h"

typedef struct texts {
    alm_cursor *c;
    const char **cells;
    size_t n, cap;
    alm_buf line; /* the statement that is made */
} texts;

static alm_status acl_ddl_add(texts *parts)
{
    alm_ctx *cx = &parts->c->cx;
    if (parts->n == parts->cap) {
        const char **bigger = NULL;
        parts->cap = ALM_MAX((size_t)16, 2 * parts->cap);
        ALM_TRY(ALM_NEWN(cx, cx->arena, parts->cap, &bigger));
        if (parts->n > 0)
            memcpy(bigger, parts->cells, parts->n * sizeof *bigger);
        parts->cells = bigger;
    }
    ALM_TRY(alm_buf_text(cx, &parts->line, ";"));
    ALM_TRY(alm_arena_zstr(cx, cx->arena, (alm_str){parts->line.ptr, parts->line.len},
                           &parts->cells[parts->n++]));
    parts->line.len = 0;
    return ALM_OK;
}

static alm_status acl_ddl_say(texts *parts, const char *words)
{
    return alm_buf_text(&parts->c->cx, &parts->line, words);
}

/* In double quotes: any name. */
static alm_status name(texts *parts, const char *text)
{
    alm_ctx *cx = &parts->c->cx;
    ALM_TRY(acl_ddl_say(parts, "\""));
    for (; *text != 0; text++)
        ALM_TRY(
            alm_buf_append(cx, &parts->line, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1));
    return acl_ddl_say(parts, "\"");
}

/* Statements with one name: words before and behind it. */
static alm_status one(texts *parts, const char *before, const char *text, const char *behind)
{
    ALM_TRY(acl_ddl_say(parts, before));
    ALM_TRY(name(parts, text));
    ALM_TRY(acl_ddl_say(parts, behind));
    return acl_ddl_add(parts);
}

static alm_status two(texts *parts, const char *before, const char *first, const char *between,
                      const char *second, const char *behind)
{
    ALM_TRY(acl_ddl_say(parts, before));
    ALM_TRY(name(parts, first));
    ALM_TRY(acl_ddl_say(parts, between));
    return one(parts, "", second, behind);
}

/* -------------------------------------------------------------------------- entities */

static const struct kind {
    alm_entity_kind kind;
    const char *what, *create, *alter;
} kinds[] = {
    {ALM_ENTITY_GROUP, "ddl_groups", "CREATE GROUP ", "ALTER GROUP "},
    {ALM_ENTITY_USER, "ddl_users", "CREATE USER ", "ALTER USER "},
    {ALM_ENTITY_ACCOUNT, "ddl_accounts", "CREATE SERVICE ACCOUNT ", "ALTER SERVICE ACCOUNT "},
};

static alm_status entity(texts *parts, const struct kind *self, const alm_entity *e)
{
    ALM_TRY(
        one(parts, self->create, e->name, e->kind == ALM_ENTITY_GROUP ? "" : " WITH NO PASSWORD"));
    if (e->kind != ALM_ENTITY_GROUP && !e->enabled)
        ALM_TRY(one(parts, self->alter, e->name, " DISABLE"));
    if (e->memory_max == 0)
        return ALM_OK;
    char limit[64];
    (void)snprintf(limit, sizeof limit, " SET MEMORY LIMIT %lld", (long long)e->memory_max);
    return one(parts, self->alter, e->name, limit);
}

static alm_status entities(texts *parts, const struct kind *self, const alm_acl *acl)
{
    for (uint32_t i = 0; i < acl->n_entities; i++)
        if (acl->entities[i].kind == self->kind)
            ALM_TRY(entity(parts, self, &acl->entities[i]));
    for (uint32_t i = 0; self->kind == ALM_ENTITY_GROUP && i < acl->n_aliases; i++)
        ALM_TRY(two(parts, self->alter, acl->aliases[i].first, " WITH EXTERNAL ALIAS ",
                    acl->aliases[i].second, ""));
    return ALM_OK;
}

static alm_status members(texts *parts, const alm_acl *acl)
{
    for (uint32_t i = 0; i < acl->n_members; i++)
        ALM_TRY(two(parts, "ADD USER ", acl->members[i].first, " TO ", acl->members[i].second, ""));
    return ALM_OK;
}

/* ---------------------------------------------------------------------------- grants */

typedef struct part { /* permissions that go into one statement */
    bool option, database;
} part;

static bool acl_ddl_is_in(const alm_grant *grant, const alm_permission *permission, part which)
{
    const bool database = permission->level == ALM_LEVEL_D;
    return alm_permission_in(&grant->may, permission->number) &&
           alm_permission_in(&grant->option, permission->number) == which.option &&
           (grant->table[0] != 0 || database == which.database);
}

/* Where it is granted. */
static alm_status acl_ddl_place(texts *parts, const alm_grant *grant, part which)
{
    if (grant->table[0] == 0)
        return acl_ddl_say(parts, which.database ? "" : " ON ALL TABLES");
    ALM_TRY(acl_ddl_say(parts, " ON "));
    ALM_TRY(name(parts, grant->table));
    if (grant->column[0] == 0)
        return ALM_OK;
    ALM_TRY(acl_ddl_say(parts, "("));
    ALM_TRY(name(parts, grant->column));
    return acl_ddl_say(parts, ")");
}

static alm_status granted(texts *parts, const alm_grant *grant, part which)
{
    const char *comma = "GRANT ";
    for (size_t i = 0; i < alm_permission_count(); i++) {
        const alm_permission *permission = alm_permission_at(i);
        if (!acl_ddl_is_in(grant, permission, which))
            continue;
        ALM_TRY(acl_ddl_say(parts, comma));
        ALM_TRY(acl_ddl_say(parts, permission->name));
        comma = ", ";
    }
    if (parts->line.len == 0)
        return ALM_OK;
    ALM_TRY(acl_ddl_place(parts, grant, which));
    return one(parts, " TO ", grant->entity, which.option ? " WITH GRANT OPTION" : "");
}

static alm_status permissions(texts *parts, const alm_acl *acl)
{
    for (uint32_t i = 0; i < acl->n_assumes; i++)
        ALM_TRY(two(parts, "GRANT ASSUME SERVICE ACCOUNT ", acl->assumes[i].account, " TO ",
                    acl->assumes[i].entity, acl->assumes[i].option ? " WITH GRANT OPTION" : ""));
    for (uint32_t i = 0; i < acl->n_grants; i++) {
        const alm_grant grant = alm_acl_grant_at(acl, i);
        for (int k = 0; k < 4; k++) {
            const part which = {.option = (k & 1) != 0, .database = (k & 2) != 0};
            if (grant.table[0] == 0 || !which.database)
                ALM_TRY(granted(parts, &grant, which));
        }
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------------- dispatch */

static alm_status acl_ddl_fill(texts *parts, const char *what)
{
    const alm_acl *acl = alm_cursor_rights(parts->c)->acl;
    for (size_t i = 0; i < ALM_COUNT(kinds); i++)
        if (strcmp(what, kinds[i].what) == 0)
            return entities(parts, &kinds[i], acl);
    if (strcmp(what, "ddl_members") == 0)
        return members(parts, acl);
    ALM_ASSERT(strcmp(what, "ddl_permissions") == 0);
    return permissions(parts, acl);
}

alm_status alm_acl_ddl(alm_cursor *cursor, const char *what, const char *const **cells, size_t *n)
{
    texts parts = {.c = cursor};
    ALM_TRY(alm_access_may(&cursor->cx, "LIST USERS", NULL, -1));
    ALM_TRY(alm_access_may(&cursor->cx, "USER DETAILS", NULL, -1));
    alm_buf_init(&parts.line, cursor->cx.mem);
    const alm_status status = acl_ddl_fill(&parts, what);
    alm_buf_deinit(&parts.line);
    *cells = parts.cells;
    *n = parts.n;
    return status;
}
