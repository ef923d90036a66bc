/*
 * set.c - SET, RESET, DISCARD, DEALLOCATE, CLOSE, UNLISTEN: settings and objects of a session.
 */
#include "sql/parse/parse.h"

/* Texts without their quotes, all else as written, ", " between: what the setting is to be. */
static alm_status parse_values(alm_parser *parser, alm_stmt *stmt)
{
    const alm_token first = parser->tok;
    char *list = NULL;
    size_t count = 0;
    ALM_TRY(alm_arena_bytes(parser->cx, parser->cx->arena, 2 * parser->text.len + 2, &list));
    for (;;) {
        alm_str value = alm_token_text(parser, parser->tok);
        if (parser->tok.kind == ALM_TOK_STRING)
            ALM_TRY(alm_parse_unquote(parser, parser->tok, &value));
        if (value.len > 0)
            (void)memcpy(list + count, value.ptr, value.len);
        count += value.len;
        alm_parse_next(parser);
        if (!alm_take_op(parser, ALM_OP_COMMA))
            break;
        (void)memcpy(list + count, ", ", 2);
        count += 2;
    }
    stmt->value = (alm_str){list, count};
    if (alm_at_end(parser))
        return ALM_OK;
    alm_parse_skip(parser); /* no list: as written */
    stmt->value = alm_parse_slice(parser, first.pos, parser->prev.end);
    return parser->tok.kind == ALM_TOK_BAD ? alm_parse_unexpected(parser) : ALM_OK;
}

static alm_status set_parse_value(alm_parser *parser, alm_stmt *stmt)
{
    const alm_token first = parser->tok;
    if (alm_at_end(parser))
        return alm_parse_fail(parser, parser->tok.pos, "value expected");
    if (first.kind != ALM_TOK_QUOTED)
        return parse_values(parser, stmt);
    const alm_token next = alm_parse_peek(parser);
    if (next.kind != ALM_TOK_END && !alm_token_is_op(next, ALM_OP_SEMI))
        return parse_values(parser, stmt); /* a list of names keeps its quotes */
    alm_parse_next(parser);
    return alm_parse_unquote(parser, first, &stmt->value);
}

/* [LOCAL] TRANSACTION modes, SESSION CHARACTERISTICS AS TRANSACTION modes. */
static alm_status parse_set_transaction(alm_parser *parser, alm_stmt *stmt)
{
    alm_tx_words *words = NULL;
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &words));
    stmt->kind = ALM_STMT_SET_TRANSACTION;
    stmt->ext = words;
    words->session = alm_take_word(parser, "characteristics");
    if (words->session && !alm_take_kw(parser, ALM_KW_AS))
        return alm_parse_fail(parser, parser->tok.pos, "'as' expected");
    if (!alm_take_word(parser, "transaction"))
        return alm_parse_fail(parser, parser->tok.pos, "'transaction' expected");
    if (alm_at_word(parser, "snapshot"))
        return alm_fail(parser->cx, ALM_E_UNSUPPORTED, parser->tok.pos,
                        "SET TRANSACTION SNAPSHOT is not supported");
    if (alm_at_end(parser))
        return alm_parse_unexpected(parser);
    return alm_parse_tx_modes(parser, words);
}

/* Names of settings that are written otherwise. */
static alm_status take_other_name(alm_parser *parser, alm_stmt *stmt, bool *found)
{
    const alm_token next = alm_parse_peek(parser);
    *found = true;
    if (alm_take_kw(parser, ALM_KW_TIME)) {
        stmt->what = ALM_STR("time zone");
        return alm_expect_kw(parser, ALM_KW_ZONE, "'zone' expected");
    }
    if (alm_at_word(parser, "session") &&
        alm_str_ieq(alm_token_text(parser, next), ALM_STR("authorization"))) {
        alm_parse_next(parser);
        alm_parse_next(parser);
        stmt->what = ALM_STR("session authorization");
        return ALM_OK;
    }
    *found = false;
    return ALM_OK;
}

/* name, a.b: lower case, names in quotes as they are. */
static alm_status setting_name(alm_parser *parser, alm_stmt *stmt)
{
    const int32_t pos = parser->tok.pos;
    alm_parse_name name;
    ALM_TRY(alm_parse_ident(parser, "setting name", &name));
    while (alm_take_op(parser, ALM_OP_DOT))
        ALM_TRY(alm_parse_ident(parser, "setting name", &name));
    const bool plain = name.pos == pos;
    return alm_parse_lower(
        parser, plain ? name.text : alm_parse_slice(parser, pos, parser->prev.end), &stmt->what);
}

/* SESSION or LOCAL, unless it is the name itself. */
static void take_scope(alm_parser *parser, alm_stmt *stmt)
{
    const alm_token next = alm_parse_peek(parser);
    const bool authorization = alm_str_ieq(alm_token_text(parser, next), ALM_STR("authorization"));
    if (next.kind != ALM_TOK_NAME || alm_token_is_kw(next, ALM_KW_TO) || authorization)
        return;
    stmt->local = alm_at_word(parser, "local");
    if (stmt->local || alm_at_word(parser, "session"))
        alm_parse_next(parser);
}

/* CONSTRAINTS ALL DEFERRED | IMMEDIATE: there are none to be deferred. */
static alm_status set_parse_constraints(alm_parser *parser, alm_stmt *stmt)
{
    stmt->text = ALM_STR("SET CONSTRAINTS");
    alm_parse_next(parser);
    if (!alm_take_kw(parser, ALM_KW_ALL))
        return alm_parse_fail(parser, parser->tok.pos, "'all' expected: there are no constraints");
    if (!alm_at_word(parser, "deferred") && !alm_at_word(parser, "immediate"))
        return alm_parse_fail(parser, parser->tok.pos, "'deferred' or 'immediate' expected");
    alm_parse_next(parser);
    return alm_at_end(parser) ? ALM_OK : alm_parse_unexpected(parser);
}

/* ------------------------------------------------------------------ behind RESET, DISCARD ... */

/* name, TIME ZONE, SESSION AUTHORIZATION, TRANSACTION ISOLATION LEVEL, ALL */
static alm_status parse_reset(alm_parser *parser, alm_stmt *stmt)
{
    bool found = false;
    take_scope(parser, stmt);
    stmt->what_pos = parser->tok.pos;
    ALM_TRY(take_other_name(parser, stmt, &found));
    if (!found && alm_take_kw(parser, ALM_KW_ALL))
        stmt->what = ALM_STR("all");
    else if (!found && alm_take_word(parser, "transaction"))
        return alm_take_word(parser, "isolation") && alm_take_word(parser, "level")
                   ? ALM_OK
                   : alm_parse_unexpected(parser);
    else if (!found)
        ALM_TRY(setting_name(parser, stmt));
    return alm_at_end(parser) ? ALM_OK : alm_parse_unexpected(parser);
}

static alm_status parse_discard(alm_parser *parser, alm_stmt *stmt)
{
    static const struct {
        const char *word, *tag;
    } rows[] = {{"all", "DISCARD ALL"},
                {"plans", "DISCARD PLANS"},
                {"sequences", "DISCARD SEQUENCES"},
                {"temp", "DISCARD TEMP"},
                {"temporary", "DISCARD TEMP"}};
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        if (!alm_take_word(parser, rows[i].word))
            continue;
        stmt->text = alm_str_of(rows[i].tag);
        return alm_at_end(parser) ? ALM_OK : alm_parse_unexpected(parser);
    }
    return alm_parse_fail(parser, parser->tok.pos,
                          "'all', 'plans', 'sequences' or 'temp' expected");
}

/* DEALLOCATE [PREPARE] name | ALL, CLOSE name | ALL: the name stays as written, with its quotes. */
static alm_status parse_object(alm_parser *parser, alm_stmt *stmt, bool deallocate)
{
    const alm_token next = alm_parse_peek(parser);
    if (deallocate && (next.kind == ALM_TOK_NAME || next.kind == ALM_TOK_QUOTED))
        (void)alm_take_kw(parser, ALM_KW_PREPARE);
    stmt->what_pos = parser->tok.pos;
    if (parser->tok.kind != ALM_TOK_NAME && parser->tok.kind != ALM_TOK_QUOTED)
        return alm_parse_fail(parser, parser->tok.pos, "name expected");
    if (deallocate && alm_at_kw(parser, ALM_KW_ALL))
        stmt->text = ALM_STR("DEALLOCATE ALL");
    stmt->what = stmt->value = alm_token_text(parser, parser->tok);
    alm_parse_next(parser);
    return alm_at_end(parser) ? ALM_OK : alm_parse_unexpected(parser);
}

/* UNLISTEN * | channel: nobody listens. */
static alm_status parse_unlisten(alm_parser *parser)
{
    if (alm_at_end(parser))
        return alm_parse_unexpected(parser);
    alm_parse_next(parser);
    return alm_at_end(parser) ? ALM_OK : alm_parse_unexpected(parser);
}

/* RESET, DISCARD, DEALLOCATE, CLOSE, UNLISTEN */
static alm_status set_parse_word(alm_parser *parser, alm_stmt *stmt)
{
    if (alm_str_eq(stmt->text, ALM_STR("RESET")))
        return parse_reset(parser, stmt);
    if (alm_str_eq(stmt->text, ALM_STR("DISCARD")))
        return parse_discard(parser, stmt);
    if (alm_str_eq(stmt->text, ALM_STR("UNLISTEN")))
        return parse_unlisten(parser);
    return parse_object(parser, stmt, alm_str_eq(stmt->text, ALM_STR("DEALLOCATE")));
}

/* ------------------------------------------------------------------ set */

bool alm_at_set(const alm_parser *parser)
{
    return alm_at_kw(parser, ALM_KW_SET) || alm_at_statement(parser);
}

/* SET [SESSION | LOCAL] name TO value, SET TIME ZONE value, SET ROLE name, SET TRANSACTION ... */
alm_status alm_parse_set(alm_parser *parser, alm_stmt *stmt)
{
    if (!alm_str_eq(stmt->text, ALM_STR("SET")))
        return set_parse_word(parser, stmt);
    take_scope(parser, stmt);
    const alm_token next = alm_parse_peek(parser);
    const bool assigned = next.kind == ALM_TOK_OP || alm_token_is_kw(next, ALM_KW_TO);
    bool found = false;
    stmt->what_pos = parser->tok.pos;
    if (!assigned && (alm_at_word(parser, "transaction") || alm_at_word(parser, "characteristics")))
        return parse_set_transaction(parser, stmt);
    if (!assigned && alm_at_word(parser, "constraints"))
        return set_parse_constraints(parser, stmt);
    ALM_TRY(take_other_name(parser, stmt, &found));
    if (found) {
        (void)(alm_take_kw(parser, ALM_KW_TO) || alm_take_op(parser, ALM_OP_EQ));
        return set_parse_value(parser, stmt);
    }
    if (!assigned && (alm_at_word(parser, "names") || alm_at_word(parser, "role"))) {
        stmt->what = alm_at_word(parser, "role") ? ALM_STR("role") : ALM_STR("client_encoding");
        alm_parse_next(parser);
        return set_parse_value(parser, stmt);
    }
    ALM_TRY(setting_name(parser, stmt));
    if (!alm_take_kw(parser, ALM_KW_TO) && !alm_take_op(parser, ALM_OP_EQ))
        return alm_parse_fail(parser, parser->tok.pos, "'to' or '=' expected");
    return set_parse_value(parser, stmt);
}
