/* spans.c - see spans.h. */
#include "sql/text/spans.h"

#include "sql/text/lex.h"

static alm_token first(alm_str text, size_t from)
{
    return alm_lex(text, (int32_t)from, false);
}

static bool is_semicolon(alm_token t)
{
    return t.kind == ALM_TOK_OP && t.op == ALM_OP_SEMI;
}

size_t alm_text_begin(alm_str text, size_t from)
{
    alm_token t = first(text, from);
    while (is_semicolon(t))
        t = alm_lex(text, t.end, false);
    return t.kind == ALM_TOK_END ? text.len : (size_t)t.pos;
}

size_t alm_text_behind(alm_str text, size_t from)
{
    alm_token t = first(text, from);
    while (t.kind != ALM_TOK_END && !is_semicolon(t))
        t = alm_lex(text, t.end, false);
    return t.kind == ALM_TOK_END ? text.len : (size_t)t.end;
}

alm_text_span alm_text_token(alm_str text, int32_t from, int32_t pos)
{
    alm_text_span last = {from, from};
    for (alm_token t = alm_lex(text, from, false); t.kind != ALM_TOK_END;
         t = alm_lex(text, t.end, false)) {
        /* a statement that ends too early is at fault where it ends, not where the next one begins */
        if (is_semicolon(t) && last.end > last.pos && t.pos >= pos)
            return last;
        last = (alm_text_span){t.pos, t.end};
        if (t.end > pos)
            break;
    }
    return last;
}

static alm_str without_quotes(alm_str text, alm_token t)
{
    const int32_t quote = t.kind == ALM_TOK_NAME || t.end - t.pos < 2 ? 0 : 1;
    return (alm_str){text.ptr + t.pos + quote, (size_t)(t.end - t.pos - 2 * quote)};
}

bool alm_text_names(alm_str text, int32_t from, int32_t to, const alm_str *names, uint32_t n)
{
    for (alm_token t = alm_lex(text, from, false); t.kind != ALM_TOK_END && t.pos < to;
         t = alm_lex(text, t.end, false)) {
        if (t.kind != ALM_TOK_NAME && t.kind != ALM_TOK_QUOTED && t.kind != ALM_TOK_STRING)
            continue;
        for (uint32_t i = 0; i < n; i++)
            if (alm_str_ieq(without_quotes(text, t), names[i]))
                return true;
    }
    return false;
}
