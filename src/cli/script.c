/* script.c - see script.h. */
#include "cli/script.h"

#include "sql/text/lex.h"

enum { STATEMENT_BYTES_MAX = 1 << 30 };

void alm_script_init(alm_script *s)
{
    *s = (alm_script){.line = 1};
    alm_buf_init(&s->text, NULL);
}

void alm_script_deinit(alm_script *s)
{
    alm_buf_deinit(&s->text);
}

alm_status alm_script_feed(alm_ctx *cx, alm_script *s, alm_str line)
{
    if (s->used > 0) {
        s->text.len -= s->used;
        (void)memmove(s->text.ptr, s->text.ptr + s->used, s->text.len);
        s->seen -= s->used;
        s->used = 0;
    }
    if (s->text.len + line.len > STATEMENT_BYTES_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "a statement is longer than 1 GiB");
    return alm_buf_append(cx, &s->text, line.ptr, line.len);
}

static int64_t lines_in(const char *from, const char *to)
{
    int64_t n = 0;
    for (; from < to; from++)
        n += *from == '\n';
    return n;
}

/* The statement from `used` to `end`, and on behind it; false: there is nothing but comments. */
static bool take(alm_script *s, size_t end, size_t next, alm_script_statement *out)
{
    const alm_str text = {s->text.ptr, end};
    alm_token first;
    size_t at = s->used;
    do {
        first = alm_lex(text, (int32_t)at, true);
        at = (size_t)first.end;
    } while (first.kind == ALM_TOK_COMMENT);
    const size_t from = (size_t)first.pos;
    while (end > from && strchr(" \t\r\n\f\v", s->text.ptr[end - 1]) != NULL)
        end--;
    *out = (alm_script_statement){.text = {s->text.ptr + from, end - from},
                                  .line = s->line +
                                          lines_in(s->text.ptr + s->used, s->text.ptr + from)};
    s->line += lines_in(s->text.ptr + s->used, s->text.ptr + next);
    s->used = s->seen = next;
    return first.kind != ALM_TOK_END;
}

bool alm_script_next(alm_script *s, bool last, alm_script_statement *out)
{
    const alm_str text = {s->text.ptr, s->text.len};
    while (s->seen < text.len) {
        const alm_token token = alm_lex(text, (int32_t)s->seen, true);
        if (token.kind == ALM_TOK_END)
            break;
        if (token.kind == ALM_TOK_OP && token.op == ALM_OP_SEMI) {
            if (take(s, (size_t)token.pos, (size_t)token.end, out))
                return true;
            continue;
        }
        if ((size_t)token.end == text.len) {
            s->seen = (size_t)token.pos; /* it may go on with the next line */
            break;
        }
        s->seen = (size_t)token.end;
    }
    return last && s->used < text.len && take(s, text.len, text.len, out);
}
