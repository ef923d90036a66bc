/*
 * acl.c - users, service accounts, groups, tokens, GRANT and REVOKE. Whether names and permissions are
 * there is looked up when the statement runs.
 */
#include "sql/parse/parse.h"

static alm_status parse_acl_take_name(alm_parser *parser, const char *what, alm_acl_name *out)
{
    alm_parse_name name;
    ALM_TRY(alm_parse_ident(parser, what, &name));
    *out = (alm_acl_name){name.text, name.pos};
    return ALM_OK;
}

static alm_status expect_word(alm_parser *parser, const char *word)
{
    if (alm_take_word(parser, word))
        return ALM_OK;
    return alm_parse_fail(parser, parser->tok.pos, "'%s' expected", word);
}

static alm_status at_end(alm_parser *parser)
{
    return alm_at_end(parser) ? ALM_OK : alm_parse_unexpected(parser);
}

/* Names with commas between. */
static alm_status take_names(alm_parser *parser, const char *what, alm_acl_name **out, uint32_t *n)
{
    uint32_t cap = 0;
    do {
        ALM_TRY(ALM_GROW(parser, out, *n, &cap));
        ALM_TRY(parse_acl_take_name(parser, what, &(*out)[*n]));
        (*n)++;
    } while (alm_take_op(parser, ALM_OP_COMMA));
    return ALM_OK;
}

/* ---------------------------------------------------------------------- entities */

bool alm_at_entity(const alm_parser *parser)
{
    return alm_at_word(parser, "user") || alm_at_word(parser, "service") ||
           alm_at_kw(parser, ALM_KW_GROUP);
}

static alm_status take_kind(alm_parser *parser, alm_stmt *stmt, alm_acl_words *acl_words,
                            const char *verb)
{
    static const struct {
        char kind;
        const char *words;
    } rows[] = {{'u', "USER"}, {'g', "GROUP"}, {'s', "SERVICE ACCOUNT"}};
    const char *text = NULL;
    acl_words->kind = alm_at_word(parser, "user")       ? 'u'
                      : alm_at_kw(parser, ALM_KW_GROUP) ? 'g'
                                                        : 's';
    alm_parse_next(parser);
    if (acl_words->kind == 's')
        ALM_TRY(expect_word(parser, "account"));
    for (size_t i = 0; i < ALM_COUNT(rows); i++)
        if (rows[i].kind == acl_words->kind)
            ALM_TRY(alm_arena_printf(parser->cx, parser->cx->arena, &text, "%s %s", verb,
                                     rows[i].words));
    stmt->text = alm_str_of(text);
    return ALM_OK;
}

static alm_status parse_acl_take_alias(alm_parser *parser, alm_acl_words *words)
{
    ALM_TRY(expect_word(parser, "external"));
    ALM_TRY(expect_word(parser, "alias"));
    return parse_acl_take_name(parser, "external name", &words->alias);
}

/* PASSWORD pwd | NO PASSWORD */
static alm_status take_password(alm_parser *parser, alm_acl_words *words)
{
    words->no_password = alm_take_kw(parser, ALM_KW_NO);
    if (!words->no_password && !alm_at_word(parser, "password"))
        return alm_parse_fail(parser, parser->tok.pos, "'password' or 'no password' expected");
    ALM_TRY(expect_word(parser, "password"));
    return words->no_password ? ALM_OK : parse_acl_take_name(parser, "password", &words->password);
}

static alm_status acl_parse_create(alm_parser *parser, alm_stmt *stmt, alm_acl_words *words)
{
    words->verb = ALM_ACL_CREATE;
    if (alm_take_kw(parser, ALM_KW_IF)) {
        ALM_TRY(alm_expect_kw(parser, ALM_KW_NOT, "'not' expected"));
        ALM_TRY(alm_expect_kw(parser, ALM_KW_EXISTS, "'exists' expected"));
        stmt->if_not_exists = true;
    }
    ALM_TRY(parse_acl_take_name(parser, "name", &words->name));
    if (alm_take_kw(parser, ALM_KW_WITH))
        ALM_TRY(words->kind == 'g' ? parse_acl_take_alias(parser, words)
                                   : take_password(parser, words));
    if (words->kind == 's')
        ALM_TRY(alm_parse_owned(parser, stmt));
    return at_end(parser);
}

/* JWK | REST WITH TTL '1d' [REFRESH] [TRANSIENT] */
static alm_status parse_add_token(alm_parser *parser, alm_acl_words *words)
{
    words->verb = ALM_ACL_ADD_TOKEN;
    ALM_TRY(expect_word(parser, "token"));
    ALM_TRY(alm_expect_kw(parser, ALM_KW_TYPE, "'type' expected"));
    words->jwk = alm_take_word(parser, "jwk");
    if (words->jwk)
        return at_end(parser);
    if (!alm_take_word(parser, "rest"))
        return alm_parse_fail(parser, parser->tok.pos, "'jwk' or 'rest' expected");
    ALM_TRY(alm_expect_kw(parser, ALM_KW_WITH, "'with ttl' expected"));
    ALM_TRY(alm_expect_kw(parser, ALM_KW_TTL, "'ttl' expected"));
    ALM_TRY(
        alm_parse_text(parser, "time to live, such as '30d',", &words->ttl.text, &words->ttl.pos));
    words->refresh = alm_take_kw(parser, ALM_KW_REFRESH);
    words->transient = alm_take_word(parser, "transient");
    return at_end(parser);
}

/* JWK | REST ['token'] */
static alm_status parse_drop_token(alm_parser *parser, alm_acl_words *words)
{
    words->verb = ALM_ACL_DROP_TOKEN;
    ALM_TRY(expect_word(parser, "token"));
    ALM_TRY(alm_expect_kw(parser, ALM_KW_TYPE, "'type' expected"));
    words->jwk = alm_take_word(parser, "jwk");
    if (!words->jwk && !alm_take_word(parser, "rest"))
        return alm_parse_fail(parser, parser->tok.pos, "'jwk' or 'rest' expected");
    if (!words->jwk && !alm_at_end(parser))
        ALM_TRY(alm_parse_text(parser, "token", &words->token.text, &words->token.pos));
    return at_end(parser);
}

/* SET MEMORY LIMIT size | UNLIMITED; what a size is the statement sees when it runs. */
static alm_status parse_memory(alm_parser *parser, alm_acl_words *words)
{
    words->verb = ALM_ACL_MEMORY;
    ALM_TRY(expect_word(parser, "memory"));
    ALM_TRY(alm_expect_kw(parser, ALM_KW_LIMIT, "'limit' expected"));
    if (alm_take_word(parser, "unlimited"))
        return at_end(parser);
    if (parser->tok.kind == ALM_TOK_STRING)
        ALM_TRY(
            alm_parse_text(parser, "size, such as 512M,", &words->limit.text, &words->limit.pos));
    else if (parser->tok.kind == ALM_TOK_NUMBER) {
        words->limit = (alm_acl_name){alm_token_text(parser, parser->tok), parser->tok.pos};
        alm_parse_next(parser);
    } else
        return alm_parse_fail(parser, parser->tok.pos,
                              "a size, such as 512M, or 'unlimited' expected");
    return at_end(parser);
}

static alm_status parse_alter_group(alm_parser *parser, alm_acl_words *words)
{
    if (alm_take_kw(parser, ALM_KW_SET))
        return parse_memory(parser, words);
    words->verb = alm_at_kw(parser, ALM_KW_DROP) ? ALM_ACL_DROP_ALIAS : ALM_ACL_ADD_ALIAS;
    if (!alm_take_kw(parser, ALM_KW_WITH) && !alm_take_kw(parser, ALM_KW_DROP))
        return alm_parse_fail(parser, parser->tok.pos, "'with', 'drop' or 'set' expected");
    ALM_TRY(parse_acl_take_alias(parser, words));
    return at_end(parser);
}

static alm_status acl_parse_alter(alm_parser *parser, alm_acl_words *words)
{
    ALM_TRY(parse_acl_take_name(parser, "name", &words->name));
    if (words->kind == 'g')
        return parse_alter_group(parser, words);
    if (alm_take_word(parser, "enable") || alm_take_word(parser, "disable")) {
        const alm_str word = alm_token_text(parser, parser->prev);
        words->verb = alm_str_ieq(word, ALM_STR("enable")) ? ALM_ACL_ENABLE : ALM_ACL_DISABLE;
        return at_end(parser);
    }
    if (alm_take_kw(parser, ALM_KW_WITH)) {
        words->verb = ALM_ACL_PASSWORD;
        ALM_TRY(take_password(parser, words));
        return at_end(parser);
    }
    if (alm_take_kw(parser, ALM_KW_CREATE))
        return parse_add_token(parser, words);
    if (alm_take_kw(parser, ALM_KW_DROP))
        return parse_drop_token(parser, words);
    if (alm_take_kw(parser, ALM_KW_SET))
        return parse_memory(parser, words);
    return alm_parse_fail(parser, parser->tok.pos,
                          "'enable', 'disable', 'with', 'create', 'drop' or 'set' expected");
}

alm_status alm_parse_entity(alm_parser *parser, alm_stmt *stmt, alm_keyword verb)
{
    alm_acl_words *words = NULL;
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &words));
    stmt->kind = ALM_STMT_ACL;
    stmt->ext = words;
    stmt->what_pos = parser->tok.pos;
    ALM_TRY(take_kind(parser, stmt, words,
                      verb == ALM_KW_CREATE  ? "CREATE"
                      : verb == ALM_KW_ALTER ? "ALTER"
                                             : "DROP"));
    if (verb == ALM_KW_CREATE)
        return acl_parse_create(parser, stmt, words);
    if (verb == ALM_KW_ALTER)
        return acl_parse_alter(parser, words);
    words->verb = ALM_ACL_DROP;
    if (alm_take_kw(parser, ALM_KW_IF)) {
        ALM_TRY(alm_expect_kw(parser, ALM_KW_EXISTS, "'exists' expected"));
        stmt->if_exists = true;
    }
    ALM_TRY(parse_acl_take_name(parser, "name", &words->name));
    return at_end(parser);
}

/* ------------------------------------------------------------------------ grants */

/* "add column": words up to a comma, ON, TO or FROM, in capitals. */
static alm_status take_permission(alm_parser *parser, alm_acl_name *out)
{
    char *text = NULL;
    size_t count = 0;
    ALM_TRY(alm_arena_bytes(parser->cx, parser->cx->arena, parser->text.len + 1, &text));
    out->pos = parser->tok.pos;
    while (parser->tok.kind == ALM_TOK_NAME && !alm_at_kw(parser, ALM_KW_ON) &&
           !alm_at_kw(parser, ALM_KW_TO) && !alm_at_kw(parser, ALM_KW_FROM)) {
        const alm_str word = alm_token_text(parser, parser->tok);
        if (count > 0)
            text[count++] = ' ';
        for (size_t i = 0; i < word.len; i++) {
            const char byte = word.ptr[i];
            text[count++] = byte >= 'a' && byte <= 'z' ? (char)(byte - 'a' + 'A') : byte;
        }
        alm_parse_next(parser);
    }
    if (count == 0)
        return alm_parse_fail(parser, parser->tok.pos, "permission expected");
    out->text = (alm_str){text, count};
    return ALM_OK;
}

/* ( column, ... | * [EXCLUDE (column, ...)] ) */
static alm_status parse_acl_take_columns(alm_parser *parser, alm_acl_object *object)
{
    object->star = alm_take_op(parser, ALM_OP_STAR);
    if (!object->star)
        ALM_TRY(take_names(parser, "column name", &object->columns, &object->n_columns));
    if (object->star && alm_take_kw(parser, ALM_KW_EXCLUDE)) {
        ALM_TRY(alm_expect_op(parser, ALM_OP_LPAREN, "'(' expected"));
        ALM_TRY(take_names(parser, "column name", &object->exclude, &object->n_exclude));
        ALM_TRY(alm_expect_op(parser, ALM_OP_RPAREN, "')' expected"));
    }
    return alm_expect_op(parser, ALM_OP_RPAREN, "')' expected");
}

static alm_status take_objects(alm_parser *parser, alm_acl_words *words)
{
    uint32_t cap = 0;
    words->on = true;
    if (alm_take_kw(parser, ALM_KW_ALL)) {
        words->all_tables = true;
        return alm_expect_kw(parser, ALM_KW_TABLES, "'tables' expected");
    }
    do {
        ALM_TRY(ALM_GROW(parser, &words->objects, words->n_objects, &cap));
        alm_acl_object *object = &words->objects[words->n_objects++];
        *object = (alm_acl_object){.star = false};
        alm_parse_name name;
        ALM_TRY(alm_parse_table(parser, "table name", &name));
        object->table = (alm_acl_name){name.text, name.pos};
        if (alm_take_op(parser, ALM_OP_LPAREN))
            ALM_TRY(parse_acl_take_columns(parser, object));
    } while (alm_take_op(parser, ALM_OP_COMMA));
    return ALM_OK;
}

static alm_status take_options(alm_parser *parser, alm_acl_words *words)
{
    while (alm_take_kw(parser, ALM_KW_WITH)) {
        if (alm_take_kw(parser, ALM_KW_GRANT)) {
            ALM_TRY(expect_word(parser, "option"));
            words->option = true;
        } else if (alm_take_word(parser, "verification")) {
            words->verify = true;
        } else {
            return alm_parse_fail(parser, parser->tok.pos,
                                  "'grant option' or 'verification' expected");
        }
    }
    return at_end(parser);
}

static alm_status parse_grant(alm_parser *parser, alm_acl_words *words, bool grant)
{
    uint32_t cap = 0;
    const alm_token next = alm_parse_peek(parser);
    words->verb = grant ? ALM_ACL_GRANT : ALM_ACL_REVOKE;
    if (alm_at_word(parser, "assume") &&
        alm_str_ieq(alm_token_text(parser, next), ALM_STR("service"))) {
        alm_parse_next(parser);
        alm_parse_next(parser);
        ALM_TRY(expect_word(parser, "account"));
        words->verb = grant ? ALM_ACL_GRANT_ASSUME : ALM_ACL_REVOKE_ASSUME;
        ALM_TRY(ALM_GROW(parser, &words->names, 0, &cap));
        ALM_TRY(parse_acl_take_name(parser, "service account", &words->names[0]));
        words->n_names = 1;
    } else {
        do {
            ALM_TRY(ALM_GROW(parser, &words->permissions, words->n_permissions, &cap));
            ALM_TRY(take_permission(parser, &words->permissions[words->n_permissions++]));
        } while (alm_take_op(parser, ALM_OP_COMMA));
        if (alm_take_kw(parser, ALM_KW_ON))
            ALM_TRY(take_objects(parser, words));
    }
    if (!alm_take_kw(parser, grant ? ALM_KW_TO : ALM_KW_FROM))
        return alm_parse_fail(parser, parser->tok.pos, grant ? "'to' expected" : "'from' expected");
    ALM_TRY(parse_acl_take_name(parser, "name", &words->name));
    return grant ? take_options(parser, words) : at_end(parser);
}

/* ----------------------------------------------------------------------- members */

static alm_status parse_members(alm_parser *parser, alm_acl_words *words, bool add)
{
    words->verb = add ? ALM_ACL_ADD_MEMBER : ALM_ACL_REMOVE_MEMBER;
    words->kind = 'u';
    alm_parse_next(parser); /* user */
    ALM_TRY(parse_acl_take_name(parser, "user name", &words->name));
    if (!alm_take_kw(parser, add ? ALM_KW_TO : ALM_KW_FROM))
        return alm_parse_fail(parser, parser->tok.pos, add ? "'to' expected" : "'from' expected");
    ALM_TRY(take_names(parser, "group name", &words->names, &words->n_names));
    return at_end(parser);
}

static alm_status parse_assume(alm_parser *parser, alm_acl_words *words, bool exit)
{
    words->verb = exit ? ALM_ACL_EXIT : ALM_ACL_ASSUME;
    words->kind = 's';
    alm_parse_next(parser); /* service */
    ALM_TRY(expect_word(parser, "account"));
    if (!exit || !alm_at_end(parser))
        ALM_TRY(parse_acl_take_name(parser, "service account", &words->name));
    return at_end(parser);
}

/* ---------------------------------------------------------------------- dispatch */

static bool next_is(const alm_parser *parser, const char *word)
{
    const alm_token next = alm_parse_peek(parser);
    return next.kind == ALM_TOK_NAME && alm_str_ieq(alm_token_text(parser, next), alm_str_of(word));
}

bool alm_at_acl(const alm_parser *parser)
{
    if (parser->tok.kind != ALM_TOK_NAME)
        return false;
    if (alm_at_kw(parser, ALM_KW_GRANT) || alm_at_kw(parser, ALM_KW_REVOKE)) {
        const alm_token next = alm_parse_peek(parser); /* `grant where x > 1`: a table */
        return !alm_token_is_kw(next, ALM_KW_WHERE) && !alm_token_is_kw(next, ALM_KW_LATEST) &&
               !alm_token_is_kw(next, ALM_KW_ORDER) && !alm_token_is_kw(next, ALM_KW_LIMIT);
    }
    if (alm_at_kw(parser, ALM_KW_ADD) || alm_at_word(parser, "remove"))
        return next_is(parser, "user");
    return (alm_at_word(parser, "assume") || alm_at_word(parser, "exit")) &&
           next_is(parser, "service");
}

alm_status alm_parse_acl(alm_parser *parser, alm_stmt *stmt)
{
    alm_acl_words *words = NULL;
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &words));
    stmt->ext = words;
    stmt->what_pos = parser->prev.pos;
    const bool grant = alm_str_eq(stmt->text, ALM_STR("GRANT")),
               add = alm_str_eq(stmt->text, ALM_STR("ADD"));
    const bool exit = alm_str_eq(stmt->text, ALM_STR("EXIT"));
    if (grant || alm_str_eq(stmt->text, ALM_STR("REVOKE")))
        return parse_grant(parser, words, grant);
    if (add || alm_str_eq(stmt->text, ALM_STR("REMOVE"))) {
        stmt->text = add ? ALM_STR("ADD USER") : ALM_STR("REMOVE USER");
        return parse_members(parser, words, add);
    }
    stmt->text = exit ? ALM_STR("EXIT SERVICE ACCOUNT") : ALM_STR("ASSUME SERVICE ACCOUNT");
    return parse_assume(parser, words, exit);
}
