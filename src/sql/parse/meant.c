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
    uint32_t n = 0;
    for (uint32_t kw = ALM_KW_PLAIN + 1; kw < ALM_KW_COUNT; kw++) {
        alm_nearest near = alm_nearest_of(word);
        if (word.len >= 4)
            near.best = ALM_MAX(near.best, (size_t)3); /* it is checked, so it may be further off */
        const alm_str text = alm_keyword_text((alm_keyword)kw);
        alm_nearest_offer(&near, text);
        if (near.found.len == 0)
            continue;
        const size_t far = near.best * 2 + ((word.ptr[0] | 32) != text.ptr[0]);
        uint32_t at = n < KEYWORDS_MAX ? n++ : KEYWORDS_MAX;
        while (at > 0 && out[at - 1].far > far) {
            if (at < KEYWORDS_MAX)
                out[at] = out[at - 1];
            at--;
        }
        if (at < KEYWORDS_MAX)
            out[at] = (guess){(alm_keyword)kw, far};
    }
    return n;
}

static bool is_candidate(const alm_parser *p, alm_token t)
{
    return t.kind == ALM_TOK_NAME && t.kw == ALM_KW_PLAIN && alm_token_text(p, t).len < 24;
}

/* The last words up to the token where the parser stopped, the last one first. */
static uint32_t last_words(const alm_parser *p, int32_t start, alm_token out[WORDS_BACK])
{
    uint32_t n = 0;
    for (alm_token t = alm_lex(p->text, start, false);
         t.kind != ALM_TOK_END && t.kind != ALM_TOK_BAD && t.pos <= p->tok.pos;
         t = alm_lex(p->text, t.end, false)) {
        if (t.kind != ALM_TOK_NAME)
            continue;
        (void)memmove(out + 1, out, (WORDS_BACK - 1) * sizeof *out);
        out[0] = t;
        n = ALM_MIN(n + 1, (uint32_t)WORDS_BACK);
    }
    return n;
}

/* Where a statement that still fails must have come to. */
static int32_t later_than(const alm_parser *p)
{
    alm_token t = p->tok;
    for (int i = 0; i < LATER_MIN && t.kind != ALM_TOK_END && t.kind != ALM_TOK_BAD; i++)
        t = alm_lex(p->text, t.end, false);
    return t.kind == ALM_TOK_END || t.kind == ALM_TOK_BAD ? INT32_MAX : t.pos;
}

/* How far the statement parses with the keyword in the word's place, counted in the text as it is. */
static alm_status reach(alm_parser *p, int32_t start, alm_token word, alm_keyword kw, int32_t *out)
{
    const alm_str key = alm_keyword_text(kw);
    const size_t head = (size_t)(word.pos - start), tail = p->text.len - (size_t)word.end;
    char *text = NULL;
    ALM_TRY(alm_arena_bytes(p->cx, p->cx->arena, head + key.len + tail + 1, &text));
    (void)memcpy(text, p->text.ptr + start, head);
    (void)memcpy(text + head, key.ptr, key.len);
    (void)memcpy(text + head + key.len, p->text.ptr + word.end, tail);
    alm_parser again;
    alm_stmt *s = NULL;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &s));
    alm_parse_start(&again, p->cx, (alm_str){text, head + key.len + tail}, 0);
    alm_status st = alm_parse_statement(&again, s);
    if (st == ALM_OK && alm_at_end(&again))
        *out = INT32_MAX;
    else
        *out = again.tok.pos + start + (word.end - word.pos) - (int32_t)key.len;
    alm_error_clear(p->cx);
    return st == ALM_E_MEMORY ? st : ALM_OK;
}

/* The best keyword for one word; *out ALM_KW_PLAIN: none brings the statement further. */
static alm_status best_keyword(alm_parser *p, int32_t start, alm_token word, alm_keyword *out,
                               int32_t *best)
{
    guess guesses[KEYWORDS_MAX];
    const uint32_t n = near_keywords(alm_token_text(p, word), guesses);
    for (uint32_t i = 0; i < n && *best < INT32_MAX; i++) {
        int32_t at = 0;
        ALM_TRY(reach(p, start, word, guesses[i].kw, &at));
        if (at <= *best)
            continue;
        *best = at;
        *out = guesses[i].kw;
    }
    return ALM_OK;
}

alm_status alm_parse_meant(alm_parser *p, int32_t start, alm_status failed)
{
    const alm_error kept = p->cx->err;
    alm_token words[WORDS_BACK] = {0}, word = {0};
    alm_keyword found = ALM_KW_PLAIN;
    if (failed != ALM_E_SYNTAX || p->text.len - (size_t)start > TEXT_MAX ||
        p->tok.kind == ALM_TOK_BAD)
        return failed;
    alm_error_clear(p->cx);
    const uint32_t n = last_words(p, start, words);
    int32_t best = later_than(p) - 1;
    for (uint32_t i = 0; i < n && best < INT32_MAX; i++) {
        alm_keyword kw = ALM_KW_PLAIN;
        if (!is_candidate(p, words[i]))
            continue;
        if (best_keyword(p, start, words[i], &kw, &best) != ALM_OK)
            break;
        if (kw != ALM_KW_PLAIN) {
            found = kw;
            word = words[i];
        }
    }
    p->cx->err = kept;
    if (found == ALM_KW_PLAIN)
        return failed;
    char upper[32] = {0};
    const alm_str key = alm_keyword_text(found), text = alm_token_text(p, word);
    for (size_t i = 0; i < key.len && i + 1 < sizeof upper; i++)
        upper[i] = (char)(key.ptr[i] >= 'a' && key.ptr[i] <= 'z' ? key.ptr[i] - 32 : key.ptr[i]);
    alm_error_clear(p->cx);
    return alm_fail(p->cx, ALM_E_SYNTAX, word.pos, "unexpected token [%.*s], did you mean '%s'?",
                    (int)text.len, text.ptr, upper);
}
