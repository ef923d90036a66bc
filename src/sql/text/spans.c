/* spans.c - see spans.h. */
#include "sql/text/spans.h"

#include "sql/text/lex.h"

static alm_token first(alm_str text, size_t from)
{
    return alm_lex(text, (int32_t)from, false);
}

static bool is_semicolon(alm_token token)
{
    return token.kind == ALM_TOK_OP && token.op == ALM_OP_SEMI;
}

size_t alm_text_begin(alm_str text, size_t from)
{
    alm_token token = first(text, from);
    while (is_semicolon(token))
        token = alm_lex(text, token.end, false);
    return token.kind == ALM_TOK_END ? text.len : (size_t)token.pos;
}

size_t alm_text_behind(alm_str text, size_t from)
{
    alm_token token = first(text, from);
    while (token.kind != ALM_TOK_END && !is_semicolon(token))
        token = alm_lex(text, token.end, false);
    return token.kind == ALM_TOK_END ? text.len : (size_t)token.end;
}

alm_text_span alm_text_token(alm_str text, int32_t from, int32_t pos)
{
    alm_text_span last = {from, from};
    for (alm_token token = alm_lex(text, from, false); token.kind != ALM_TOK_END;
         token = alm_lex(text, token.end, false)) {
        /* a statement that ends too early is at fault where it ends, not where the next one begins */
        if (is_semicolon(token) && last.end > last.pos && token.pos >= pos)
            return last;
        last = (alm_text_span){token.pos, token.end};
        if (token.end > pos)
            break;
    }
    return last;
}

static alm_str without_quotes(alm_str text, alm_token token)
{
    const int32_t quote = token.kind == ALM_TOK_NAME || token.end - token.pos < 2 ? 0 : 1;
    return (alm_str){text.ptr + token.pos + quote, (size_t)(token.end - token.pos - 2 * quote)};
}

bool alm_text_names(alm_str text, int32_t from, int32_t to, const alm_str *names, uint32_t n_names)
{
    for (alm_token token = alm_lex(text, from, false); token.kind != ALM_TOK_END && token.pos < to;
         token = alm_lex(text, token.end, false)) {
        if (token.kind != ALM_TOK_NAME && token.kind != ALM_TOK_QUOTED &&
            token.kind != ALM_TOK_STRING)
            continue;
        for (uint32_t i = 0; i < n_names; i++)
            if (alm_str_ieq(without_quotes(text, token), names[i]))
                return true;
    }
    return false;
}
