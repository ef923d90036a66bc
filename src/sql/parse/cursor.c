/*
 * cursor.c - cursors as PostgreSQL clients write them: DECLARE name CURSOR FOR query, FETCH and MOVE.
 * They go forward only; what would go back is refused by name. CLOSE is with the settings.
 */
#include "base/number.h"
#include "sql/parse/parse.h"

/* Any word, whether it is in text/keyword.def or not. */
static bool at_text(const alm_parser *parser, const char *word)
{
    return parser->tok.kind == ALM_TOK_NAME &&
           alm_str_ieq(alm_token_text(parser, parser->tok), alm_str_of(word));
}

static bool parse_cursor_take_text(alm_parser *parser, const char *word)
{
    const bool found = at_text(parser, word);
    if (found)
        alm_parse_next(parser);
    return found;
}

static alm_status expect_text(alm_parser *parser, const char *word)
{
    return parse_cursor_take_text(parser, word)
               ? ALM_OK
               : alm_parse_fail(parser, parser->tok.pos, "'%s' expected", word);
}

static alm_status cursor_name(alm_parser *parser, alm_cursor_words *words)
{
    if (parser->tok.kind != ALM_TOK_NAME && parser->tok.kind != ALM_TOK_QUOTED)
        return alm_parse_fail(parser, parser->tok.pos, "cursor name expected");
    words->name = alm_token_text(parser, parser->tok);
    alm_parse_next(parser);
    return ALM_OK;
}

static alm_status forward_only(alm_parser *parser, int32_t pos, const char *what)
{
    return alm_fail(parser->cx, ALM_E_UNSUPPORTED, pos,
                    "%s is not supported: cursors go forward only (NEXT, FORWARD, a number, ALL)",
                    what);
}

/* ------------------------------------------------------------------ declare */

/* DECLARE @name begins a query. */
bool alm_at_declare_cursor(const alm_parser *parser)
{
    static const char *const second[] = {"cursor",     "binary", "insensitive",
                                         "asensitive", "scroll", "no"};
    alm_parser ahead = *parser;
    alm_parse_next(&ahead);
    if (ahead.tok.kind != ALM_TOK_NAME && ahead.tok.kind != ALM_TOK_QUOTED)
        return false;
    alm_parse_next(&ahead);
    for (size_t i = 0; i < ALM_COUNT(second); i++)
        if (at_text(&ahead, second[i]))
            return true;
    return false;
}

static alm_status declare_options(alm_parser *parser, alm_cursor_words *words)
{
    for (;;) {
        const int32_t pos = parser->tok.pos;
        if (parse_cursor_take_text(parser, "binary"))
            words->binary = true;
        else if (parse_cursor_take_text(parser, "no"))
            ALM_TRY(expect_text(parser, "scroll"));
        else if (parse_cursor_take_text(parser, "scroll"))
            return forward_only(parser, pos, "SCROLL");
        else if (!parse_cursor_take_text(parser, "insensitive") &&
                 !parse_cursor_take_text(parser, "asensitive"))
            return expect_text(parser, "cursor");
    }
}

alm_status alm_parse_declare_cursor(alm_parser *parser, alm_stmt *stmt)
{
    alm_cursor_words *words = NULL;
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &words));
    stmt->text = ALM_STR("DECLARE CURSOR");
    stmt->ext = words;
    ALM_TRY(cursor_name(parser, words));
    ALM_TRY(declare_options(parser, words));
    words->hold = parse_cursor_take_text(parser, "with");
    if (words->hold || parse_cursor_take_text(parser, "without"))
        ALM_TRY(expect_text(parser, "hold"));
    ALM_TRY(expect_text(parser, "for"));
    ALM_TRY(alm_parse_query(parser, &stmt->select));
    if (!at_text(parser, "for"))
        return ALM_OK;
    const int32_t pos = parser->tok.pos;
    alm_parse_next(parser);
    if (!parse_cursor_take_text(parser, "read"))
        return alm_fail(parser->cx, ALM_E_UNSUPPORTED, pos, "only FOR READ ONLY is supported");
    return expect_text(parser, "only");
}

/* -------------------------------------------------------------------- fetch */

/* FETCH and MOVE may be names of tables; then something else follows, or nothing. */
bool alm_at_fetch(const alm_parser *parser)
{
    if (!at_text(parser, "fetch") && !at_text(parser, "move"))
        return false;
    const alm_token next = alm_parse_peek(parser);
    return next.kind == ALM_TOK_NUMBER || next.kind == ALM_TOK_QUOTED ||
           (next.kind == ALM_TOK_NAME &&
            !(alm_token_is_kw(next, ALM_KW_WHERE) || alm_token_is_kw(next, ALM_KW_LATEST) ||
              alm_token_is_kw(next, ALM_KW_ORDER) || alm_token_is_kw(next, ALM_KW_LIMIT))) ||
           alm_token_is_op(next, ALM_OP_MINUS);
}

static alm_status fetch_count(alm_parser *parser, alm_cursor_words *words)
{
    const int32_t pos = parser->tok.pos;
    if (alm_at_op(parser, ALM_OP_MINUS))
        return forward_only(parser, pos, "a negative number of rows");
    if (parser->tok.kind != ALM_TOK_NUMBER)
        return ALM_OK;
    if (alm_int64_parse(alm_token_text(parser, parser->tok), &words->count) != ALM_NUM_OK)
        return alm_parse_fail(parser, pos, "number of rows expected");
    alm_parse_next(parser);
    return words->count > 0 ? ALM_OK : forward_only(parser, pos, "FETCH 0, the row once more,");
}

static alm_status fetch_direction(alm_parser *parser, alm_cursor_words *words)
{
    static const char *const back[] = {"backward", "prior",    "first",
                                       "last",     "absolute", "relative"};
    const alm_token next = alm_parse_peek(parser);
    const int32_t pos = parser->tok.pos;
    words->count = 1;
    if (next.kind == ALM_TOK_END || alm_token_is_op(next, ALM_OP_SEMI))
        return ALM_OK; /* whatever the word, it is the cursor */
    for (size_t i = 0; i < ALM_COUNT(back); i++)
        if (at_text(parser, back[i]))
            return forward_only(parser, pos, back[i]);
    if (parse_cursor_take_text(parser, "next"))
        return ALM_OK;
    (void)parse_cursor_take_text(parser, "forward");
    if (parse_cursor_take_text(parser, "all")) {
        words->count = INT64_MAX;
        return ALM_OK;
    }
    return fetch_count(parser, words);
}

alm_status alm_parse_fetch(alm_parser *parser, alm_stmt *stmt)
{
    alm_cursor_words *words = NULL;
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &words));
    words->move = alm_str_eq(stmt->text, ALM_STR("MOVE"));
    stmt->ext = words;
    ALM_TRY(fetch_direction(parser, words));
    if (!parse_cursor_take_text(parser, "from"))
        (void)parse_cursor_take_text(parser, "in");
    stmt->what_pos = parser->tok.pos;
    ALM_TRY(cursor_name(parser, words));
    return alm_at_end(parser) ? ALM_OK : alm_parse_unexpected(parser);
}
