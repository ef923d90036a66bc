/*
 * acl.c - users, service accounts, groups, tokens, GRANT and REVOKE. Whether names and permissions are
 * there is looked up when the statement runs.
 */
#include "sql/parse/parse.h"

static alm_status take_name(alm_parser *p, const char *what, alm_acl_name *out)
{
    alm_parse_name name;
    ALM_TRY(alm_parse_ident(p, what, &name));
    *out = (alm_acl_name){name.text, name.pos};
    return ALM_OK;
}

static alm_status expect_word(alm_parser *p, const char *word)
{
    if (alm_take_word(p, word))
        return ALM_OK;
    return alm_parse_fail(p, p->tok.pos, "'%s' expected", word);
}

static alm_status at_end(alm_parser *p)
{
    return alm_at_end(p) ? ALM_OK : alm_parse_unexpected(p);
}

/* Names with commas between. */
static alm_status take_names(alm_parser *p, const char *what, alm_acl_name **out, uint32_t *n)
{
    uint32_t cap = 0;
    do {
        ALM_TRY(ALM_GROW(p, out, *n, &cap));
        ALM_TRY(take_name(p, what, &(*out)[*n]));
        (*n)++;
    } while (alm_take_op(p, ALM_OP_COMMA));
    return ALM_OK;
}

/* ---------------------------------------------------------------------- entities */

bool alm_at_entity(const alm_parser *p)
{
    return alm_at_word(p, "user") || alm_at_word(p, "service") || alm_at_kw(p, ALM_KW_GROUP);
}

static alm_status take_kind(alm_parser *p, alm_stmt *s, alm_acl_words *w, const char *verb)
{
    static const struct {
        char kind;
        const char *words;
    } rows[] = {{'u', "USER"}, {'g', "GROUP"}, {'s', "SERVICE ACCOUNT"}};
    const char *text = NULL;
    w->kind = alm_at_word(p, "user") ? 'u' : alm_at_kw(p, ALM_KW_GROUP) ? 'g' : 's';
    alm_parse_next(p);
    if (w->kind == 's')
        ALM_TRY(expect_word(p, "account"));
    for (size_t i = 0; i < ALM_COUNT(rows); i++)
        if (rows[i].kind == w->kind)
            ALM_TRY(alm_arena_printf(p->cx, p->cx->arena, &text, "%s %s", verb, rows[i].words));
    s->text = alm_str_of(text);
    return ALM_OK;
}

static alm_status take_alias(alm_parser *p, alm_acl_words *w)
{
    ALM_TRY(expect_word(p, "external"));
    ALM_TRY(expect_word(p, "alias"));
    return take_name(p, "external name", &w->alias);
}

/* PASSWORD pwd | NO PASSWORD */
static alm_status take_password(alm_parser *p, alm_acl_words *w)
{
    w->no_password = alm_take_kw(p, ALM_KW_NO);
    if (!w->no_password && !alm_at_word(p, "password"))
        return alm_parse_fail(p, p->tok.pos, "'password' or 'no password' expected");
    ALM_TRY(expect_word(p, "password"));
    return w->no_password ? ALM_OK : take_name(p, "password", &w->password);
}

static alm_status parse_create(alm_parser *p, alm_stmt *s, alm_acl_words *w)
{
    w->verb = ALM_ACL_CREATE;
    if (alm_take_kw(p, ALM_KW_IF)) {
        ALM_TRY(alm_expect_kw(p, ALM_KW_NOT, "'not' expected"));
        ALM_TRY(alm_expect_kw(p, ALM_KW_EXISTS, "'exists' expected"));
        s->if_not_exists = true;
    }
    ALM_TRY(take_name(p, "name", &w->name));
    if (alm_take_kw(p, ALM_KW_WITH))
        ALM_TRY(w->kind == 'g' ? take_alias(p, w) : take_password(p, w));
    if (w->kind == 's')
        ALM_TRY(alm_parse_owned(p, s));
    return at_end(p);
}

/* JWK | REST WITH TTL '1d' [REFRESH] [TRANSIENT] */
static alm_status parse_add_token(alm_parser *p, alm_acl_words *w)
{
    w->verb = ALM_ACL_ADD_TOKEN;
    ALM_TRY(expect_word(p, "token"));
    ALM_TRY(alm_expect_kw(p, ALM_KW_TYPE, "'type' expected"));
    w->jwk = alm_take_word(p, "jwk");
    if (w->jwk)
        return at_end(p);
    if (!alm_take_word(p, "rest"))
        return alm_parse_fail(p, p->tok.pos, "'jwk' or 'rest' expected");
    ALM_TRY(alm_expect_kw(p, ALM_KW_WITH, "'with ttl' expected"));
    ALM_TRY(alm_expect_kw(p, ALM_KW_TTL, "'ttl' expected"));
    ALM_TRY(alm_parse_text(p, "time to live, such as '30d',", &w->ttl.text, &w->ttl.pos));
    w->refresh = alm_take_kw(p, ALM_KW_REFRESH);
    w->transient = alm_take_word(p, "transient");
    return at_end(p);
}

/* JWK | REST ['token'] */
static alm_status parse_drop_token(alm_parser *p, alm_acl_words *w)
{
    w->verb = ALM_ACL_DROP_TOKEN;
    ALM_TRY(expect_word(p, "token"));
    ALM_TRY(alm_expect_kw(p, ALM_KW_TYPE, "'type' expected"));
    w->jwk = alm_take_word(p, "jwk");
    if (!w->jwk && !alm_take_word(p, "rest"))
        return alm_parse_fail(p, p->tok.pos, "'jwk' or 'rest' expected");
    if (!w->jwk && !alm_at_end(p))
        ALM_TRY(alm_parse_text(p, "token", &w->token.text, &w->token.pos));
    return at_end(p);
}

/* SET MEMORY LIMIT size | UNLIMITED; what a size is the statement sees when it runs. */
static alm_status parse_memory(alm_parser *p, alm_acl_words *w)
{
    w->verb = ALM_ACL_MEMORY;
    ALM_TRY(expect_word(p, "memory"));
    ALM_TRY(alm_expect_kw(p, ALM_KW_LIMIT, "'limit' expected"));
    if (alm_take_word(p, "unlimited"))
        return at_end(p);
    if (p->tok.kind == ALM_TOK_STRING)
        ALM_TRY(alm_parse_text(p, "size, such as 512M,", &w->limit.text, &w->limit.pos));
    else if (p->tok.kind == ALM_TOK_NUMBER) {
        w->limit = (alm_acl_name){alm_token_text(p, p->tok), p->tok.pos};
        alm_parse_next(p);
    } else
        return alm_parse_fail(p, p->tok.pos, "a size, such as 512M, or 'unlimited' expected");
    return at_end(p);
}

static alm_status parse_alter_group(alm_parser *p, alm_acl_words *w)
{
    if (alm_take_kw(p, ALM_KW_SET))
        return parse_memory(p, w);
    w->verb = alm_at_kw(p, ALM_KW_DROP) ? ALM_ACL_DROP_ALIAS : ALM_ACL_ADD_ALIAS;
    if (!alm_take_kw(p, ALM_KW_WITH) && !alm_take_kw(p, ALM_KW_DROP))
        return alm_parse_fail(p, p->tok.pos, "'with', 'drop' or 'set' expected");
    ALM_TRY(take_alias(p, w));
    return at_end(p);
}

static alm_status parse_alter(alm_parser *p, alm_acl_words *w)
{
    ALM_TRY(take_name(p, "name", &w->name));
    if (w->kind == 'g')
        return parse_alter_group(p, w);
    if (alm_take_word(p, "enable") || alm_take_word(p, "disable")) {
        const alm_str word = alm_token_text(p, p->prev);
        w->verb = alm_str_ieq(word, ALM_STR("enable")) ? ALM_ACL_ENABLE : ALM_ACL_DISABLE;
        return at_end(p);
    }
    if (alm_take_kw(p, ALM_KW_WITH)) {
        w->verb = ALM_ACL_PASSWORD;
        ALM_TRY(take_password(p, w));
        return at_end(p);
    }
    if (alm_take_kw(p, ALM_KW_CREATE))
        return parse_add_token(p, w);
    if (alm_take_kw(p, ALM_KW_DROP))
        return parse_drop_token(p, w);
    if (alm_take_kw(p, ALM_KW_SET))
        return parse_memory(p, w);
    return alm_parse_fail(p, p->tok.pos,
                          "'enable', 'disable', 'with', 'create', 'drop' or 'set' expected");
}

alm_status alm_parse_entity(alm_parser *p, alm_stmt *s, alm_keyword verb)
{
    alm_acl_words *w = NULL;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &w));
    s->kind = ALM_STMT_ACL;
    s->ext = w;
    s->what_pos = p->tok.pos;
    ALM_TRY(take_kind(p, s, w,
                      verb == ALM_KW_CREATE  ? "CREATE"
                      : verb == ALM_KW_ALTER ? "ALTER"
                                             : "DROP"));
    if (verb == ALM_KW_CREATE)
        return parse_create(p, s, w);
    if (verb == ALM_KW_ALTER)
        return parse_alter(p, w);
    w->verb = ALM_ACL_DROP;
    if (alm_take_kw(p, ALM_KW_IF)) {
        ALM_TRY(alm_expect_kw(p, ALM_KW_EXISTS, "'exists' expected"));
        s->if_exists = true;
    }
    ALM_TRY(take_name(p, "name", &w->name));
    return at_end(p);
}

/* ------------------------------------------------------------------------ grants */

/* "add column": words up to a comma, ON, TO or FROM, in capitals. */
static alm_status take_permission(alm_parser *p, alm_acl_name *out)
{
    char *text = NULL;
    size_t n = 0;
    ALM_TRY(alm_arena_bytes(p->cx, p->cx->arena, p->text.len + 1, &text));
    out->pos = p->tok.pos;
    while (p->tok.kind == ALM_TOK_NAME && !alm_at_kw(p, ALM_KW_ON) && !alm_at_kw(p, ALM_KW_TO) &&
           !alm_at_kw(p, ALM_KW_FROM)) {
        const alm_str word = alm_token_text(p, p->tok);
        if (n > 0)
            text[n++] = ' ';
        for (size_t i = 0; i < word.len; i++) {
            const char c = word.ptr[i];
            text[n++] = c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
        }
        alm_parse_next(p);
    }
    if (n == 0)
        return alm_parse_fail(p, p->tok.pos, "permission expected");
    out->text = (alm_str){text, n};
    return ALM_OK;
}

/* ( column, ... | * [EXCLUDE (column, ...)] ) */
static alm_status take_columns(alm_parser *p, alm_acl_object *o)
{
    o->star = alm_take_op(p, ALM_OP_STAR);
    if (!o->star)
        ALM_TRY(take_names(p, "column name", &o->columns, &o->n_columns));
    if (o->star && alm_take_kw(p, ALM_KW_EXCLUDE)) {
        ALM_TRY(alm_expect_op(p, ALM_OP_LPAREN, "'(' expected"));
        ALM_TRY(take_names(p, "column name", &o->exclude, &o->n_exclude));
        ALM_TRY(alm_expect_op(p, ALM_OP_RPAREN, "')' expected"));
    }
    return alm_expect_op(p, ALM_OP_RPAREN, "')' expected");
}

static alm_status take_objects(alm_parser *p, alm_acl_words *w)
{
    uint32_t cap = 0;
    w->on = true;
    if (alm_take_kw(p, ALM_KW_ALL)) {
        w->all_tables = true;
        return alm_expect_kw(p, ALM_KW_TABLES, "'tables' expected");
    }
    do {
        ALM_TRY(ALM_GROW(p, &w->objects, w->n_objects, &cap));
        alm_acl_object *o = &w->objects[w->n_objects++];
        *o = (alm_acl_object){.star = false};
        alm_parse_name name;
        ALM_TRY(alm_parse_table(p, "table name", &name));
        o->table = (alm_acl_name){name.text, name.pos};
        if (alm_take_op(p, ALM_OP_LPAREN))
            ALM_TRY(take_columns(p, o));
    } while (alm_take_op(p, ALM_OP_COMMA));
    return ALM_OK;
}

static alm_status take_options(alm_parser *p, alm_acl_words *w)
{
    while (alm_take_kw(p, ALM_KW_WITH)) {
        if (alm_take_kw(p, ALM_KW_GRANT)) {
            ALM_TRY(expect_word(p, "option"));
            w->option = true;
        } else if (alm_take_word(p, "verification")) {
            w->verify = true;
        } else {
            return alm_parse_fail(p, p->tok.pos, "'grant option' or 'verification' expected");
        }
    }
    return at_end(p);
}

static alm_status parse_grant(alm_parser *p, alm_acl_words *w, bool grant)
{
    uint32_t cap = 0;
    const alm_token next = alm_parse_peek(p);
    w->verb = grant ? ALM_ACL_GRANT : ALM_ACL_REVOKE;
    if (alm_at_word(p, "assume") && alm_str_ieq(alm_token_text(p, next), ALM_STR("service"))) {
        alm_parse_next(p);
        alm_parse_next(p);
        ALM_TRY(expect_word(p, "account"));
        w->verb = grant ? ALM_ACL_GRANT_ASSUME : ALM_ACL_REVOKE_ASSUME;
        ALM_TRY(ALM_GROW(p, &w->names, 0, &cap));
        ALM_TRY(take_name(p, "service account", &w->names[0]));
        w->n_names = 1;
    } else {
        do {
            ALM_TRY(ALM_GROW(p, &w->permissions, w->n_permissions, &cap));
            ALM_TRY(take_permission(p, &w->permissions[w->n_permissions++]));
        } while (alm_take_op(p, ALM_OP_COMMA));
        if (alm_take_kw(p, ALM_KW_ON))
            ALM_TRY(take_objects(p, w));
    }
    if (!alm_take_kw(p, grant ? ALM_KW_TO : ALM_KW_FROM))
        return alm_parse_fail(p, p->tok.pos, grant ? "'to' expected" : "'from' expected");
    ALM_TRY(take_name(p, "name", &w->name));
    return grant ? take_options(p, w) : at_end(p);
}

/* ----------------------------------------------------------------------- members */

static alm_status parse_members(alm_parser *p, alm_acl_words *w, bool add)
{
    w->verb = add ? ALM_ACL_ADD_MEMBER : ALM_ACL_REMOVE_MEMBER;
    w->kind = 'u';
    alm_parse_next(p); /* user */
    ALM_TRY(take_name(p, "user name", &w->name));
    if (!alm_take_kw(p, add ? ALM_KW_TO : ALM_KW_FROM))
        return alm_parse_fail(p, p->tok.pos, add ? "'to' expected" : "'from' expected");
    ALM_TRY(take_names(p, "group name", &w->names, &w->n_names));
    return at_end(p);
}

static alm_status parse_assume(alm_parser *p, alm_acl_words *w, bool exit)
{
    w->verb = exit ? ALM_ACL_EXIT : ALM_ACL_ASSUME;
    w->kind = 's';
    alm_parse_next(p); /* service */
    ALM_TRY(expect_word(p, "account"));
    if (!exit || !alm_at_end(p))
        ALM_TRY(take_name(p, "service account", &w->name));
    return at_end(p);
}

/* ---------------------------------------------------------------------- dispatch */

static bool next_is(const alm_parser *p, const char *word)
{
    const alm_token next = alm_parse_peek(p);
    return next.kind == ALM_TOK_NAME && alm_str_ieq(alm_token_text(p, next), alm_str_of(word));
}

bool alm_at_acl(const alm_parser *p)
{
    if (p->tok.kind != ALM_TOK_NAME)
        return false;
    if (alm_at_kw(p, ALM_KW_GRANT) || alm_at_kw(p, ALM_KW_REVOKE)) {
        const alm_token next = alm_parse_peek(p); /* `grant where x > 1`: a table */
        return !alm_token_is_kw(next, ALM_KW_WHERE) && !alm_token_is_kw(next, ALM_KW_LATEST) &&
               !alm_token_is_kw(next, ALM_KW_ORDER) && !alm_token_is_kw(next, ALM_KW_LIMIT);
    }
    if (alm_at_kw(p, ALM_KW_ADD) || alm_at_word(p, "remove"))
        return next_is(p, "user");
    return (alm_at_word(p, "assume") || alm_at_word(p, "exit")) && next_is(p, "service");
}

alm_status alm_parse_acl(alm_parser *p, alm_stmt *s)
{
    alm_acl_words *w = NULL;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &w));
    s->ext = w;
    s->what_pos = p->prev.pos;
    const bool grant = alm_str_eq(s->text, ALM_STR("GRANT")),
               add = alm_str_eq(s->text, ALM_STR("ADD"));
    const bool exit = alm_str_eq(s->text, ALM_STR("EXIT"));
    if (grant || alm_str_eq(s->text, ALM_STR("REVOKE")))
        return parse_grant(p, w, grant);
    if (add || alm_str_eq(s->text, ALM_STR("REMOVE"))) {
        s->text = add ? ALM_STR("ADD USER") : ALM_STR("REMOVE USER");
        return parse_members(p, w, add);
    }
    s->text = exit ? ALM_STR("EXIT SERVICE ACCOUNT") : ALM_STR("ASSUME SERVICE ACCOUNT");
    return parse_assume(p, w, exit);
}
