/*
 * set.c - SET, RESET, DISCARD, DEALLOCATE, CLOSE, UNLISTEN: settings and objects of a session.
 */
#include "sql/parse/parse.h"

/* Texts without their quotes, all else as written, ", " between: what the setting is to be. */
static alm_status parse_values(alm_parser *p, alm_stmt *s)
{
    const alm_token first = p->tok;
    char *list = NULL;
    size_t n = 0;
    ALM_TRY(alm_arena_bytes(p->cx, p->cx->arena, 2 * p->text.len + 2, &list));
    for (;;) {
        alm_str value = alm_token_text(p, p->tok);
        if (p->tok.kind == ALM_TOK_STRING)
            ALM_TRY(alm_parse_unquote(p, p->tok, &value));
        if (value.len > 0)
            (void)memcpy(list + n, value.ptr, value.len);
        n += value.len;
        alm_parse_next(p);
        if (!alm_take_op(p, ALM_OP_COMMA))
            break;
        (void)memcpy(list + n, ", ", 2);
        n += 2;
    }
    s->value = (alm_str){list, n};
    if (alm_at_end(p))
        return ALM_OK;
    alm_parse_skip(p); /* no list: as written */
    s->value = alm_parse_slice(p, first.pos, p->prev.end);
    return p->tok.kind == ALM_TOK_BAD ? alm_parse_unexpected(p) : ALM_OK;
}

static alm_status parse_value(alm_parser *p, alm_stmt *s)
{
    const alm_token first = p->tok;
    if (alm_at_end(p))
        return alm_parse_fail(p, p->tok.pos, "value expected");
    if (first.kind != ALM_TOK_QUOTED)
        return parse_values(p, s);
    const alm_token next = alm_parse_peek(p);
    if (next.kind != ALM_TOK_END && !alm_token_is_op(next, ALM_OP_SEMI))
        return parse_values(p, s); /* a list of names keeps its quotes */
    alm_parse_next(p);
    return alm_parse_unquote(p, first, &s->value);
}

/* [LOCAL] TRANSACTION modes, SESSION CHARACTERISTICS AS TRANSACTION modes. */
static alm_status parse_set_transaction(alm_parser *p, alm_stmt *s)
{
    alm_tx_words *words = NULL;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &words));
    s->kind = ALM_STMT_SET_TRANSACTION;
    s->ext = words;
    words->session = alm_take_word(p, "characteristics");
    if (words->session && !alm_take_kw(p, ALM_KW_AS))
        return alm_parse_fail(p, p->tok.pos, "'as' expected");
    if (!alm_take_word(p, "transaction"))
        return alm_parse_fail(p, p->tok.pos, "'transaction' expected");
    if (alm_at_word(p, "snapshot"))
        return alm_fail(p->cx, ALM_E_UNSUPPORTED, p->tok.pos,
                        "SET TRANSACTION SNAPSHOT is not supported");
    if (alm_at_end(p))
        return alm_parse_unexpected(p);
    return alm_parse_tx_modes(p, words);
}

/* Names of settings that are written otherwise. */
static alm_status take_other_name(alm_parser *p, alm_stmt *s, bool *found)
{
    const alm_token next = alm_parse_peek(p);
    *found = true;
    if (alm_take_kw(p, ALM_KW_TIME)) {
        s->what = ALM_STR("time zone");
        return alm_expect_kw(p, ALM_KW_ZONE, "'zone' expected");
    }
    if (alm_at_word(p, "session") &&
        alm_str_ieq(alm_token_text(p, next), ALM_STR("authorization"))) {
        alm_parse_next(p);
        alm_parse_next(p);
        s->what = ALM_STR("session authorization");
        return ALM_OK;
    }
    *found = false;
    return ALM_OK;
}

/* name, a.b: lower case, names in quotes as they are. */
static alm_status setting_name(alm_parser *p, alm_stmt *s)
{
    const int32_t pos = p->tok.pos;
    alm_parse_name name;
    ALM_TRY(alm_parse_ident(p, "setting name", &name));
    while (alm_take_op(p, ALM_OP_DOT))
        ALM_TRY(alm_parse_ident(p, "setting name", &name));
    const bool plain = name.pos == pos;
    return alm_parse_lower(p, plain ? name.text : alm_parse_slice(p, pos, p->prev.end), &s->what);
}

/* SESSION or LOCAL, unless it is the name itself. */
static void take_scope(alm_parser *p, alm_stmt *s)
{
    const alm_token next = alm_parse_peek(p);
    const bool authorization = alm_str_ieq(alm_token_text(p, next), ALM_STR("authorization"));
    if (next.kind != ALM_TOK_NAME || alm_token_is_kw(next, ALM_KW_TO) || authorization)
        return;
    s->local = alm_at_word(p, "local");
    if (s->local || alm_at_word(p, "session"))
        alm_parse_next(p);
}

/* CONSTRAINTS ALL DEFERRED | IMMEDIATE: there are none to be deferred. */
static alm_status parse_constraints(alm_parser *p, alm_stmt *s)
{
    s->text = ALM_STR("SET CONSTRAINTS");
    alm_parse_next(p);
    if (!alm_take_kw(p, ALM_KW_ALL))
        return alm_parse_fail(p, p->tok.pos, "'all' expected: there are no constraints");
    if (!alm_at_word(p, "deferred") && !alm_at_word(p, "immediate"))
        return alm_parse_fail(p, p->tok.pos, "'deferred' or 'immediate' expected");
    alm_parse_next(p);
    return alm_at_end(p) ? ALM_OK : alm_parse_unexpected(p);
}

/* ------------------------------------------------------------------ behind RESET, DISCARD ... */

/* name, TIME ZONE, SESSION AUTHORIZATION, TRANSACTION ISOLATION LEVEL, ALL */
static alm_status parse_reset(alm_parser *p, alm_stmt *s)
{
    bool found = false;
    take_scope(p, s);
    s->what_pos = p->tok.pos;
    ALM_TRY(take_other_name(p, s, &found));
    if (!found && alm_take_kw(p, ALM_KW_ALL))
        s->what = ALM_STR("all");
    else if (!found && alm_take_word(p, "transaction"))
        return alm_take_word(p, "isolation") && alm_take_word(p, "level") ? ALM_OK
                                                                          : alm_parse_unexpected(p);
    else if (!found)
        ALM_TRY(setting_name(p, s));
    return alm_at_end(p) ? ALM_OK : alm_parse_unexpected(p);
}

static alm_status parse_discard(alm_parser *p, alm_stmt *s)
{
    static const struct {
        const char *word, *tag;
    } rows[] = {{"all", "DISCARD ALL"},
                {"plans", "DISCARD PLANS"},
                {"sequences", "DISCARD SEQUENCES"},
                {"temp", "DISCARD TEMP"},
                {"temporary", "DISCARD TEMP"}};
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        if (!alm_take_word(p, rows[i].word))
            continue;
        s->text = alm_str_of(rows[i].tag);
        return alm_at_end(p) ? ALM_OK : alm_parse_unexpected(p);
    }
    return alm_parse_fail(p, p->tok.pos, "'all', 'plans', 'sequences' or 'temp' expected");
}

/* DEALLOCATE [PREPARE] name | ALL, CLOSE name | ALL: the name stays as written, with its quotes. */
static alm_status parse_object(alm_parser *p, alm_stmt *s, bool deallocate)
{
    const alm_token next = alm_parse_peek(p);
    if (deallocate && (next.kind == ALM_TOK_NAME || next.kind == ALM_TOK_QUOTED))
        (void)alm_take_kw(p, ALM_KW_PREPARE);
    s->what_pos = p->tok.pos;
    if (p->tok.kind != ALM_TOK_NAME && p->tok.kind != ALM_TOK_QUOTED)
        return alm_parse_fail(p, p->tok.pos, "name expected");
    if (deallocate && alm_at_kw(p, ALM_KW_ALL))
        s->text = ALM_STR("DEALLOCATE ALL");
    s->what = s->value = alm_token_text(p, p->tok);
    alm_parse_next(p);
    return alm_at_end(p) ? ALM_OK : alm_parse_unexpected(p);
}

/* UNLISTEN * | channel: nobody listens. */
static alm_status parse_unlisten(alm_parser *p)
{
    if (alm_at_end(p))
        return alm_parse_unexpected(p);
    alm_parse_next(p);
    return alm_at_end(p) ? ALM_OK : alm_parse_unexpected(p);
}

/* RESET, DISCARD, DEALLOCATE, CLOSE, UNLISTEN */
static alm_status parse_word(alm_parser *p, alm_stmt *s)
{
    if (alm_str_eq(s->text, ALM_STR("RESET")))
        return parse_reset(p, s);
    if (alm_str_eq(s->text, ALM_STR("DISCARD")))
        return parse_discard(p, s);
    if (alm_str_eq(s->text, ALM_STR("UNLISTEN")))
        return parse_unlisten(p);
    return parse_object(p, s, alm_str_eq(s->text, ALM_STR("DEALLOCATE")));
}

/* ------------------------------------------------------------------ set */

bool alm_at_set(const alm_parser *p)
{
    return alm_at_kw(p, ALM_KW_SET) || alm_at_statement(p);
}

/* SET [SESSION | LOCAL] name TO value, SET TIME ZONE value, SET ROLE name, SET TRANSACTION ... */
alm_status alm_parse_set(alm_parser *p, alm_stmt *s)
{
    if (!alm_str_eq(s->text, ALM_STR("SET")))
        return parse_word(p, s);
    take_scope(p, s);
    const alm_token next = alm_parse_peek(p);
    const bool assigned = next.kind == ALM_TOK_OP || alm_token_is_kw(next, ALM_KW_TO);
    bool found = false;
    s->what_pos = p->tok.pos;
    if (!assigned && (alm_at_word(p, "transaction") || alm_at_word(p, "characteristics")))
        return parse_set_transaction(p, s);
    if (!assigned && alm_at_word(p, "constraints"))
        return parse_constraints(p, s);
    ALM_TRY(take_other_name(p, s, &found));
    if (found) {
        (void)(alm_take_kw(p, ALM_KW_TO) || alm_take_op(p, ALM_OP_EQ));
        return parse_value(p, s);
    }
    if (!assigned && (alm_at_word(p, "names") || alm_at_word(p, "role"))) {
        s->what = alm_at_word(p, "role") ? ALM_STR("role") : ALM_STR("client_encoding");
        alm_parse_next(p);
        return parse_value(p, s);
    }
    ALM_TRY(setting_name(p, s));
    if (!alm_take_kw(p, ALM_KW_TO) && !alm_take_op(p, ALM_OP_EQ))
        return alm_parse_fail(p, p->tok.pos, "'to' or '=' expected");
    return parse_value(p, s);
}
