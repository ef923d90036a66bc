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

static alm_status add(texts *t)
{
    alm_ctx *cx = &t->c->cx;
    if (t->n == t->cap) {
        const char **bigger = NULL;
        t->cap = ALM_MAX((size_t)16, 2 * t->cap);
        ALM_TRY(ALM_NEWN(cx, cx->arena, t->cap, &bigger));
        if (t->n > 0)
            memcpy(bigger, t->cells, t->n * sizeof *bigger);
        t->cells = bigger;
    }
    ALM_TRY(alm_buf_text(cx, &t->line, ";"));
    ALM_TRY(alm_arena_zstr(cx, cx->arena, (alm_str){t->line.ptr, t->line.len}, &t->cells[t->n++]));
    t->line.len = 0;
    return ALM_OK;
}

static alm_status say(texts *t, const char *words)
{
    return alm_buf_text(&t->c->cx, &t->line, words);
}

/* In double quotes: any name. */
static alm_status name(texts *t, const char *text)
{
    alm_ctx *cx = &t->c->cx;
    ALM_TRY(say(t, "\""));
    for (; *text != 0; text++)
        ALM_TRY(alm_buf_append(cx, &t->line, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1));
    return say(t, "\"");
}

/* Statements with one name: words before and behind it. */
static alm_status one(texts *t, const char *before, const char *text, const char *behind)
{
    ALM_TRY(say(t, before));
    ALM_TRY(name(t, text));
    ALM_TRY(say(t, behind));
    return add(t);
}

static alm_status two(texts *t, const char *before, const char *first, const char *between,
                      const char *second, const char *behind)
{
    ALM_TRY(say(t, before));
    ALM_TRY(name(t, first));
    ALM_TRY(say(t, between));
    return one(t, "", second, behind);
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

static alm_status entity(texts *t, const struct kind *k, const alm_entity *e)
{
    ALM_TRY(one(t, k->create, e->name, e->kind == ALM_ENTITY_GROUP ? "" : " WITH NO PASSWORD"));
    if (e->kind != ALM_ENTITY_GROUP && !e->enabled)
        ALM_TRY(one(t, k->alter, e->name, " DISABLE"));
    if (e->memory_max == 0)
        return ALM_OK;
    char limit[64];
    (void)snprintf(limit, sizeof limit, " SET MEMORY LIMIT %lld", (long long)e->memory_max);
    return one(t, k->alter, e->name, limit);
}

static alm_status entities(texts *t, const struct kind *k, const alm_acl *acl)
{
    for (uint32_t i = 0; i < acl->n_entities; i++)
        if (acl->entities[i].kind == k->kind)
            ALM_TRY(entity(t, k, &acl->entities[i]));
    for (uint32_t i = 0; k->kind == ALM_ENTITY_GROUP && i < acl->n_aliases; i++)
        ALM_TRY(two(t, k->alter, acl->aliases[i].first, " WITH EXTERNAL ALIAS ",
                    acl->aliases[i].second, ""));
    return ALM_OK;
}

static alm_status members(texts *t, const alm_acl *acl)
{
    for (uint32_t i = 0; i < acl->n_members; i++)
        ALM_TRY(two(t, "ADD USER ", acl->members[i].first, " TO ", acl->members[i].second, ""));
    return ALM_OK;
}

/* ---------------------------------------------------------------------------- grants */

typedef struct part { /* permissions that go into one statement */
    bool option, database;
} part;

static bool is_in(const alm_grant *g, const alm_permission *p, part which)
{
    const bool database = p->level == ALM_LEVEL_D;
    return alm_permission_in(&g->may, p->number) &&
           alm_permission_in(&g->option, p->number) == which.option &&
           (g->table[0] != 0 || database == which.database);
}

/* Where it is granted. */
static alm_status place(texts *t, const alm_grant *g, part which)
{
    if (g->table[0] == 0)
        return say(t, which.database ? "" : " ON ALL TABLES");
    ALM_TRY(say(t, " ON "));
    ALM_TRY(name(t, g->table));
    if (g->column[0] == 0)
        return ALM_OK;
    ALM_TRY(say(t, "("));
    ALM_TRY(name(t, g->column));
    return say(t, ")");
}

static alm_status granted(texts *t, const alm_grant *g, part which)
{
    const char *comma = "GRANT ";
    for (size_t i = 0; i < alm_permission_count(); i++) {
        const alm_permission *p = alm_permission_at(i);
        if (!is_in(g, p, which))
            continue;
        ALM_TRY(say(t, comma));
        ALM_TRY(say(t, p->name));
        comma = ", ";
    }
    if (t->line.len == 0)
        return ALM_OK;
    ALM_TRY(place(t, g, which));
    return one(t, " TO ", g->entity, which.option ? " WITH GRANT OPTION" : "");
}

static alm_status permissions(texts *t, const alm_acl *acl)
{
    for (uint32_t i = 0; i < acl->n_assumes; i++)
        ALM_TRY(two(t, "GRANT ASSUME SERVICE ACCOUNT ", acl->assumes[i].account, " TO ",
                    acl->assumes[i].entity, acl->assumes[i].option ? " WITH GRANT OPTION" : ""));
    for (uint32_t i = 0; i < acl->n_grants; i++) {
        const alm_grant g = alm_acl_grant_at(acl, i);
        for (int k = 0; k < 4; k++) {
            const part which = {.option = (k & 1) != 0, .database = (k & 2) != 0};
            if (g.table[0] == 0 || !which.database)
                ALM_TRY(granted(t, &g, which));
        }
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------------- dispatch */

static alm_status fill(texts *t, const char *what)
{
    const alm_acl *acl = alm_cursor_rights(t->c)->acl;
    for (size_t i = 0; i < ALM_COUNT(kinds); i++)
        if (strcmp(what, kinds[i].what) == 0)
            return entities(t, &kinds[i], acl);
    if (strcmp(what, "ddl_members") == 0)
        return members(t, acl);
    ALM_ASSERT(strcmp(what, "ddl_permissions") == 0);
    return permissions(t, acl);
}

alm_status alm_acl_ddl(alm_cursor *c, const char *what, const char *const **cells, size_t *n)
{
    texts t = {.c = c};
    ALM_TRY(alm_access_may(&c->cx, "LIST USERS", NULL, -1));
    ALM_TRY(alm_access_may(&c->cx, "USER DETAILS", NULL, -1));
    alm_buf_init(&t.line, c->cx.mem);
    const alm_status st = fill(&t, what);
    alm_buf_deinit(&t.line);
    *cells = t.cells;
    *n = t.n;
    return st;
}
