/*
 * cursor.c - cursors as PostgreSQL clients write them: DECLARE name CURSOR FOR query, FETCH and MOVE.
 * They go forward only; what would go back is refused by name. CLOSE is with the settings.
 */
#include "base/number.h"
#include "sql/parse/parse.h"

/* Any word, whether it is in text/keyword.def or not. */
static bool at_text(const alm_parser *p, const char *word)
{
    return p->tok.kind == ALM_TOK_NAME && alm_str_ieq(alm_token_text(p, p->tok), alm_str_of(word));
}

static bool take_text(alm_parser *p, const char *word)
{
    const bool found = at_text(p, word);
    if (found)
        alm_parse_next(p);
    return found;
}

static alm_status expect_text(alm_parser *p, const char *word)
{
    return take_text(p, word) ? ALM_OK : alm_parse_fail(p, p->tok.pos, "'%s' expected", word);
}

static alm_status cursor_name(alm_parser *p, alm_cursor_words *words)
{
    if (p->tok.kind != ALM_TOK_NAME && p->tok.kind != ALM_TOK_QUOTED)
        return alm_parse_fail(p, p->tok.pos, "cursor name expected");
    words->name = alm_token_text(p, p->tok);
    alm_parse_next(p);
    return ALM_OK;
}

static alm_status forward_only(alm_parser *p, int32_t pos, const char *what)
{
    return alm_fail(p->cx, ALM_E_UNSUPPORTED, pos,
                    "%s is not supported: cursors go forward only (NEXT, FORWARD, a number, ALL)",
                    what);
}

/* ------------------------------------------------------------------ declare */

/* DECLARE @name begins a query. */
bool alm_at_declare_cursor(const alm_parser *p)
{
    static const char *const second[] = {"cursor",     "binary", "insensitive",
                                         "asensitive", "scroll", "no"};
    alm_parser ahead = *p;
    alm_parse_next(&ahead);
    if (ahead.tok.kind != ALM_TOK_NAME && ahead.tok.kind != ALM_TOK_QUOTED)
        return false;
    alm_parse_next(&ahead);
    for (size_t i = 0; i < ALM_COUNT(second); i++)
        if (at_text(&ahead, second[i]))
            return true;
    return false;
}

static alm_status declare_options(alm_parser *p, alm_cursor_words *words)
{
    for (;;) {
        const int32_t pos = p->tok.pos;
        if (take_text(p, "binary"))
            words->binary = true;
        else if (take_text(p, "no"))
            ALM_TRY(expect_text(p, "scroll"));
        else if (take_text(p, "scroll"))
            return forward_only(p, pos, "SCROLL");
        else if (!take_text(p, "insensitive") && !take_text(p, "asensitive"))
            return expect_text(p, "cursor");
    }
}

alm_status alm_parse_declare_cursor(alm_parser *p, alm_stmt *s)
{
    alm_cursor_words *words = NULL;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &words));
    s->text = ALM_STR("DECLARE CURSOR");
    s->ext = words;
    ALM_TRY(cursor_name(p, words));
    ALM_TRY(declare_options(p, words));
    words->hold = take_text(p, "with");
    if (words->hold || take_text(p, "without"))
        ALM_TRY(expect_text(p, "hold"));
    ALM_TRY(expect_text(p, "for"));
    ALM_TRY(alm_parse_query(p, &s->select));
    if (!at_text(p, "for"))
        return ALM_OK;
    const int32_t pos = p->tok.pos;
    alm_parse_next(p);
    if (!take_text(p, "read"))
        return alm_fail(p->cx, ALM_E_UNSUPPORTED, pos, "only FOR READ ONLY is supported");
    return expect_text(p, "only");
}

/* -------------------------------------------------------------------- fetch */

/* FETCH and MOVE may be names of tables; then something else follows, or nothing. */
bool alm_at_fetch(const alm_parser *p)
{
    if (!at_text(p, "fetch") && !at_text(p, "move"))
        return false;
    const alm_token next = alm_parse_peek(p);
    return next.kind == ALM_TOK_NUMBER || next.kind == ALM_TOK_QUOTED ||
           (next.kind == ALM_TOK_NAME &&
            !(alm_token_is_kw(next, ALM_KW_WHERE) || alm_token_is_kw(next, ALM_KW_LATEST) ||
              alm_token_is_kw(next, ALM_KW_ORDER) || alm_token_is_kw(next, ALM_KW_LIMIT))) ||
           alm_token_is_op(next, ALM_OP_MINUS);
}

static alm_status fetch_count(alm_parser *p, alm_cursor_words *words)
{
    const int32_t pos = p->tok.pos;
    if (alm_at_op(p, ALM_OP_MINUS))
        return forward_only(p, pos, "a negative number of rows");
    if (p->tok.kind != ALM_TOK_NUMBER)
        return ALM_OK;
    if (alm_int64_parse(alm_token_text(p, p->tok), &words->count) != ALM_NUM_OK)
        return alm_parse_fail(p, pos, "number of rows expected");
    alm_parse_next(p);
    return words->count > 0 ? ALM_OK : forward_only(p, pos, "FETCH 0, the row once more,");
}

static alm_status fetch_direction(alm_parser *p, alm_cursor_words *words)
{
    static const char *const back[] = {"backward", "prior",    "first",
                                       "last",     "absolute", "relative"};
    const alm_token next = alm_parse_peek(p);
    const int32_t pos = p->tok.pos;
    words->count = 1;
    if (next.kind == ALM_TOK_END || alm_token_is_op(next, ALM_OP_SEMI))
        return ALM_OK; /* whatever the word, it is the cursor */
    for (size_t i = 0; i < ALM_COUNT(back); i++)
        if (at_text(p, back[i]))
            return forward_only(p, pos, back[i]);
    if (take_text(p, "next"))
        return ALM_OK;
    (void)take_text(p, "forward");
    if (take_text(p, "all")) {
        words->count = INT64_MAX;
        return ALM_OK;
    }
    return fetch_count(p, words);
}

alm_status alm_parse_fetch(alm_parser *p, alm_stmt *s)
{
    alm_cursor_words *words = NULL;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &words));
    words->move = alm_str_eq(s->text, ALM_STR("MOVE"));
    s->ext = words;
    ALM_TRY(fetch_direction(p, words));
    if (!take_text(p, "from"))
        (void)take_text(p, "in");
    s->what_pos = p->tok.pos;
    ALM_TRY(cursor_name(p, words));
    return alm_at_end(p) ? ALM_OK : alm_parse_unexpected(p);
}
