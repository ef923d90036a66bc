/*
 * transaction.c - BEGIN, COMMIT, ROLLBACK and savepoints, with all that PostgreSQL clients put behind
 * them. The modes are also those of SET TRANSACTION and SET SESSION CHARACTERISTICS.
 */
#include "sql/parse/parse.h"

alm_status alm_parse_lower(alm_parser *parser, alm_str text, alm_str *out)
{
    char *copy = NULL;
    ALM_TRY(alm_arena_bytes(parser->cx, parser->cx->arena, text.len + 1, &copy));
    for (size_t i = 0; i < text.len; i++)
        copy[i] = (char)(text.ptr[i] >= 'A' && text.ptr[i] <= 'Z' ? text.ptr[i] + 32 : text.ptr[i]);
    copy[text.len] = 0;
    *out = (alm_str){copy, text.len};
    return ALM_OK;
}

static alm_status isolation_level(alm_parser *parser, alm_tx_words *words)
{
    static const struct {
        const char *first, *second, *name;
    } levels[] = {{"serializable", NULL, "serializable"},
                  {"repeatable", "read", "repeatable read"},
                  {"read", "committed", "read committed"},
                  {"read", "uncommitted", "read uncommitted"}};
    if (!alm_take_word(parser, "level"))
        return alm_parse_fail(parser, parser->tok.pos, "'level' expected");
    for (size_t i = 0; i < ALM_COUNT(levels); i++) {
        const alm_parser before = *parser;
        if (alm_take_word(parser, levels[i].first) &&
            (levels[i].second == NULL || alm_take_word(parser, levels[i].second))) {
            words->isolation = levels[i].name;
            return ALM_OK;
        }
        *parser = before;
    }
    return alm_parse_fail(parser, parser->tok.pos,
                          "'serializable', 'repeatable read', 'read committed' or "
                          "'read uncommitted' expected");
}

static alm_status one_mode(alm_parser *parser, alm_tx_words *words)
{
    if (alm_take_word(parser, "isolation"))
        return isolation_level(parser, words);
    if (alm_take_word(parser, "read")) {
        words->read_only = alm_at_word(parser, "only") ? 1 : -1;
        if (alm_take_word(parser, "only") || alm_take_word(parser, "write"))
            return ALM_OK;
        return alm_parse_fail(parser, parser->tok.pos, "'only' or 'write' expected");
    }
    (void)alm_take_word(parser, "not");
    return alm_take_word(parser, "deferrable") ? ALM_OK : alm_parse_unexpected(parser);
}

alm_status alm_parse_tx_modes(alm_parser *parser, alm_tx_words *words)
{
    while (!alm_at_end(parser)) {
        ALM_TRY(one_mode(parser, words));
        if (alm_take_op(parser, ALM_OP_COMMA) && alm_at_end(parser))
            return alm_parse_unexpected(parser);
    }
    return ALM_OK;
}

static alm_status savepoint_name(alm_parser *parser, alm_stmt *stmt)
{
    stmt->what_pos = parser->tok.pos;
    const alm_token name = parser->tok;
    if (name.kind == ALM_TOK_QUOTED)
        ALM_TRY(alm_parse_unquote(parser, name, &stmt->value));
    else if (name.kind == ALM_TOK_NAME)
        ALM_TRY(alm_parse_lower(parser, alm_token_text(parser, name), &stmt->value));
    else
        return alm_parse_fail(parser, name.pos, "savepoint name expected");
    alm_parse_next(parser);
    return alm_at_end(parser) ? ALM_OK : alm_parse_unexpected(parser);
}

/* [SAVEPOINT] name */
static alm_status to_savepoint(alm_parser *parser, alm_stmt *stmt)
{
    const alm_token next = alm_parse_peek(parser);
    if (next.kind == ALM_TOK_NAME || next.kind == ALM_TOK_QUOTED)
        (void)alm_take_kw(parser, ALM_KW_SAVEPOINT);
    return savepoint_name(parser, stmt);
}

/* Behind COMMIT and ROLLBACK: [AND [NO] CHAIN] */
static alm_status block_end(alm_parser *parser, const alm_stmt *stmt, alm_tx_words *words)
{
    if (alm_at_word(parser, "prepared"))
        return alm_fail(parser->cx, ALM_E_UNSUPPORTED, parser->tok.pos,
                        "%.*s PREPARED is not supported", (int)stmt->text.len, stmt->text.ptr);
    if (alm_take_word(parser, "and")) {
        words->chain = !alm_take_word(parser, "no");
        if (!alm_take_word(parser, "chain"))
            return alm_parse_fail(parser, parser->tok.pos, "'chain' expected");
    }
    return alm_at_end(parser) ? ALM_OK : alm_parse_unexpected(parser);
}

alm_status alm_parse_savepoint(alm_parser *parser, alm_stmt *stmt)
{
    return alm_str_eq(stmt->text, ALM_STR("RELEASE")) ? to_savepoint(parser, stmt)
                                                      : savepoint_name(parser, stmt);
}

/* BEGIN, START, COMMIT, END, ROLLBACK, ABORT */
alm_status alm_parse_transaction(alm_parser *parser, alm_stmt *stmt)
{
    const bool start = alm_str_eq(stmt->text, ALM_STR("START"));
    const bool back = alm_str_eq(stmt->text, ALM_STR("ROLLBACK"));
    alm_tx_words *words = NULL;
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &words));
    stmt->ext = words;
    stmt->text =
        start ? ALM_STR("START TRANSACTION") : alm_str_of(alm_stmt_info_of(stmt->kind)->tag);
    const bool word = alm_take_word(parser, "transaction");
    if (start && !word)
        return alm_parse_fail(parser, parser->tok.pos, "'transaction' expected");
    if (!word)
        (void)alm_take_word(parser, "work");
    if (stmt->kind == ALM_STMT_BEGIN)
        return alm_parse_tx_modes(parser, words);
    if (back && alm_take_kw(parser, ALM_KW_TO)) {
        stmt->kind = ALM_STMT_SAVEPOINT; /* its tag stays ROLLBACK */
        return to_savepoint(parser, stmt);
    }
    return block_end(parser, stmt, words);
}
