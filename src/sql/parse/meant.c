/*
 * meant.c - mistyped keywords: `select a FORM t` fails at t, but the word at fault is FORM.
 *
 * A word at the place of the error, or one of the few before it, was meant to be a keyword when one is near (by letters)
 * and the statement with the keyword in its place parses, or fails clearly later. So nothing is guessed that
 * would not help, and the grammar needs no lists of what may stand where. Only for errors: it parses the statement again.
 */
#include "base/nearest.h"
#include "sql/parse/parse.h"

enum {
    TEXT_MAX = 16384, /* longer statements keep their plain message */
    WORDS_BACK = 4,   /* words looked at: a table and its alias may stand behind the wrong one */
    KEYWORDS_MAX = 6, /* near keywords tried for each */
    LATER_MIN = 2     /* so many tokens more must be read for a statement that still fails */
};

typedef struct guess {
    alm_keyword kw;
    size_t far;
} guess;

/* Keywords near the word, the nearest first; of equally near ones those that begin as it does. */
static uint32_t near_keywords(alm_str word, guess out[KEYWORDS_MAX])
{
    uint32_t count = 0;
    for (uint32_t kw = ALM_KW_PLAIN + 1; kw < ALM_KW_COUNT; kw++) {
        alm_nearest near = alm_nearest_of(word);
        if (word.len >= 4)
            near.best = ALM_MAX(near.best, (size_t)3); /* it is checked, so it may be further off */
        const alm_str text = alm_keyword_text((alm_keyword)kw);
        alm_nearest_offer(&near, text);
        if (near.found.len == 0)
            continue;
        const size_t far = near.best * 2 + ((word.ptr[0] | 32) != text.ptr[0]);
        uint32_t place = count < KEYWORDS_MAX ? count++ : KEYWORDS_MAX;
        while (place > 0 && out[place - 1].far > far) {
            if (place < KEYWORDS_MAX)
                out[place] = out[place - 1];
            place--;
        }
        if (place < KEYWORDS_MAX)
            out[place] = (guess){(alm_keyword)kw, far};
    }
    return count;
}

static bool is_candidate(const alm_parser *parser, alm_token token)
{
    return token.kind == ALM_TOK_NAME && token.kw == ALM_KW_PLAIN &&
           alm_token_text(parser, token).len < 24;
}

/* The last words up to the token where the parser stopped, the last one first. */
static uint32_t last_words(const alm_parser *parser, int32_t start, alm_token out[WORDS_BACK])
{
    uint32_t n = 0;
    for (alm_token token = alm_lex(parser->text, start, false);
         token.kind != ALM_TOK_END && token.kind != ALM_TOK_BAD && token.pos <= parser->tok.pos;
         token = alm_lex(parser->text, token.end, false)) {
        if (token.kind != ALM_TOK_NAME)
            continue;
        (void)memmove(out + 1, out, (WORDS_BACK - 1) * sizeof *out);
        out[0] = token;
        n = ALM_MIN(n + 1, (uint32_t)WORDS_BACK);
    }
    return n;
}

/* Where a statement that still fails must have come to. */
static int32_t later_than(const alm_parser *parser)
{
    alm_token token = parser->tok;
    for (int i = 0; i < LATER_MIN && token.kind != ALM_TOK_END && token.kind != ALM_TOK_BAD; i++)
        token = alm_lex(parser->text, token.end, false);
    return token.kind == ALM_TOK_END || token.kind == ALM_TOK_BAD ? INT32_MAX : token.pos;
}

/* How far the statement parses with the keyword in the word's place, counted in the text as it is. */
static alm_status reach(alm_parser *parser, int32_t start, alm_token word, alm_keyword keyword,
                        int32_t *out)
{
    const alm_str key = alm_keyword_text(keyword);
    const size_t head = (size_t)(word.pos - start), tail = parser->text.len - (size_t)word.end;
    char *text = NULL;
    ALM_TRY(alm_arena_bytes(parser->cx, parser->cx->arena, head + key.len + tail + 1, &text));
    (void)memcpy(text, parser->text.ptr + start, head);
    (void)memcpy(text + head, key.ptr, key.len);
    (void)memcpy(text + head + key.len, parser->text.ptr + word.end, tail);
    alm_parser again;
    alm_stmt *stmt = NULL;
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &stmt));
    alm_parse_start(&again, parser->cx, (alm_str){text, head + key.len + tail}, 0);
    alm_status status = alm_parse_statement(&again, stmt);
    if (status == ALM_OK && alm_at_end(&again))
        *out = INT32_MAX;
    else
        *out = again.tok.pos + start + (word.end - word.pos) - (int32_t)key.len;
    alm_error_clear(parser->cx);
    return status == ALM_E_MEMORY ? status : ALM_OK;
}

/* The best keyword for one word; *out ALM_KW_PLAIN: none brings the statement further. */
static alm_status best_keyword(alm_parser *parser, int32_t start, alm_token word, alm_keyword *out,
                               int32_t *best)
{
    guess guesses[KEYWORDS_MAX];
    const uint32_t n = near_keywords(alm_token_text(parser, word), guesses);
    for (uint32_t i = 0; i < n && *best < INT32_MAX; i++) {
        int32_t place = 0;
        ALM_TRY(reach(parser, start, word, guesses[i].kw, &place));
        if (place <= *best)
            continue;
        *best = place;
        *out = guesses[i].kw;
    }
    return ALM_OK;
}

alm_status alm_parse_meant(alm_parser *parser, int32_t start, alm_status failed)
{
    const alm_error kept = parser->cx->err;
    alm_token words[WORDS_BACK] = {0}, word = {0};
    alm_keyword found = ALM_KW_PLAIN;
    if (failed != ALM_E_SYNTAX || parser->text.len - (size_t)start > TEXT_MAX ||
        parser->tok.kind == ALM_TOK_BAD)
        return failed;
    alm_error_clear(parser->cx);
    const uint32_t n = last_words(parser, start, words);
    int32_t best = later_than(parser) - 1;
    for (uint32_t i = 0; i < n && best < INT32_MAX; i++) {
        alm_keyword keyword = ALM_KW_PLAIN;
        if (!is_candidate(parser, words[i]))
            continue;
        if (best_keyword(parser, start, words[i], &keyword, &best) != ALM_OK)
            break;
        if (keyword != ALM_KW_PLAIN) {
            found = keyword;
            word = words[i];
        }
    }
    parser->cx->err = kept;
    if (found == ALM_KW_PLAIN)
        return failed;
    char upper[32] = {0};
    const alm_str key = alm_keyword_text(found), text = alm_token_text(parser, word);
    for (size_t i = 0; i < key.len && i + 1 < sizeof upper; i++)
        upper[i] = (char)(key.ptr[i] >= 'a' && key.ptr[i] <= 'z' ? key.ptr[i] - 32 : key.ptr[i]);
    alm_error_clear(parser->cx);
    return alm_fail(parser->cx, ALM_E_SYNTAX, word.pos,
                    "unexpected token [%.*s], did you mean '%s'?", (int)text.len, text.ptr, upper);
}
