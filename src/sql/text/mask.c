/*
 * mask.c - a statement's text without its secrets, for lists of what runs or is prepared.
 *
 * What is secret: the value behind PASSWORD, the token behind TOKEN TYPE REST, any text that begins as a REST token does.
 * Tokens are looked at, not statements: the text may hold several, be cut off, or be wrong.
 */
#include <string.h>
#include <strings.h>

#include "sql/sql.h"
#include "sql/text/lex.h"

#define MASK "****"

typedef struct mask_run {
    alm_str text;
    char *out;
    size_t room, n;
} mask_run;

static void mask_put(mask_run *m, const char *from, size_t bytes)
{
    const size_t n = ALM_MIN(bytes, m->room - 1 - m->n);
    (void)memcpy(m->out + m->n, from, n);
    m->n += n;
}

static bool mask_is_word(const mask_run *m, alm_token token, const char *word)
{
    const alm_str text = {m->text.ptr + token.pos, (size_t)(token.end - token.pos)};
    return token.kind == ALM_TOK_NAME && alm_str_ieq(text, alm_str_of(word));
}

/* A literal, or what would be one if the text went on. */
static bool mask_is_text(alm_token token)
{
    return token.kind == ALM_TOK_STRING || token.kind == ALM_TOK_QUOTED ||
           token.kind == ALM_TOK_BAD;
}

/* before: the two tokens ahead of it, the nearer one first. `select password from t` has none. */
static bool is_secret(const mask_run *m, alm_token t, const alm_token before[2])
{
    static const char token[] = "'qt1";
    const size_t prefix = sizeof token - 1;
    if (mask_is_text(t) && (size_t)(t.end - t.pos) > prefix &&
        memcmp(m->text.ptr + t.pos, token, prefix) == 0)
        return true;
    if (mask_is_word(m, before[0], "password"))
        return mask_is_text(t) || (mask_is_word(m, before[1], "with") && t.kind != ALM_TOK_OP);
    return mask_is_word(m, before[0], "rest") && mask_is_word(m, before[1], "type") &&
           mask_is_text(t);
}

/* Most texts have nothing: no token of them is looked at. */
static bool may_have_secrets(alm_str text)
{
    for (size_t i = 4; i < text.len; i++) {
        const char *ptr = text.ptr + i;
        const char byte = *ptr;
        if ((byte == 'w' || byte == 'W') && strncasecmp(ptr - 4, "passw", 5) == 0)
            return true;
        if ((byte == 'n' || byte == 'N') && strncasecmp(ptr - 4, "token", 5) == 0)
            return true;
        if (byte == '1' && memcmp(ptr - 2, "qt", 2) == 0)
            return true;
    }
    return false;
}

void alm_sql_mask(alm_str text, char *out, size_t room)
{
    mask_run m = {text, out, room, 0};
    alm_token before[2] = {{.kind = ALM_TOK_END}, {.kind = ALM_TOK_END}};
    size_t from = 0;
    if (may_have_secrets(text)) {
        for (alm_token token = alm_lex(text, 0, false); token.kind != ALM_TOK_END;
             token = alm_lex(text, token.end, false)) {
            if (is_secret(&m, token, before)) {
                mask_put(&m, text.ptr + from, (size_t)token.pos - from);
                mask_put(&m, MASK, sizeof MASK - 1);
                from = (size_t)token.end;
            }
            before[1] = before[0];
            before[0] = token;
        }
    }
    if (text.len > from)
        mask_put(&m, text.ptr + from, text.len - from);
    out[m.n] = 0;
}

alm_status alm_sql_masked(alm_ctx *cx, alm_str text, const char **out)
{
    /* a bare word of one letter becomes four, with a blank and a word between two of them */
    const size_t room = 2 * text.len + sizeof MASK;
    char *copy = NULL;
    ALM_TRY(alm_arena_bytes(cx, cx->arena, room, &copy));
    alm_sql_mask(text, copy, room);
    *out = copy;
    return ALM_OK;
}
