/* script.c - see script.h. */
#include "cli/script.h"

#include "sql/text/lex.h"

enum { STATEMENT_BYTES_MAX = 1 << 30 };

void alm_script_init(alm_script *script)
{
    *script = (alm_script){.line = 1};
    alm_buf_init(&script->text, NULL);
}

void alm_script_deinit(alm_script *script)
{
    alm_buf_deinit(&script->text);
}

alm_status alm_script_feed(alm_ctx *cx, alm_script *script, alm_str line)
{
    if (script->used > 0) {
        script->text.len -= script->used;
        (void)memmove(script->text.ptr, script->text.ptr + script->used, script->text.len);
        script->seen -= script->used;
        script->used = 0;
    }
    if (script->text.len + line.len > STATEMENT_BYTES_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "a statement is longer than 1 GiB");
    return alm_buf_append(cx, &script->text, line.ptr, line.len);
}

static int64_t lines_in(const char *from, const char *dest)
{
    int64_t count = 0;
    for (; from < dest; from++)
        count += *from == '\n';
    return count;
}

/* The statement from `used` to `end`, and on behind it; false: there is nothing but comments. */
static bool cli_script_take(alm_script *script, size_t end, size_t next, alm_script_statement *out)
{
    const alm_str text = {script->text.ptr, end};
    alm_token first;
    size_t offset = script->used;
    do {
        first = alm_lex(text, (int32_t)offset, true);
        offset = (size_t)first.end;
    } while (first.kind == ALM_TOK_COMMENT);
    const size_t from = (size_t)first.pos;
    while (end > from && strchr(" \t\r\n\f\v", script->text.ptr[end - 1]) != NULL)
        end--;
    *out = (alm_script_statement){
        .text = {script->text.ptr + from, end - from},
        .line = script->line + lines_in(script->text.ptr + script->used, script->text.ptr + from)};
    script->line += lines_in(script->text.ptr + script->used, script->text.ptr + next);
    script->used = script->seen = next;
    return first.kind != ALM_TOK_END;
}

bool alm_script_next(alm_script *script, bool last, alm_script_statement *out)
{
    const alm_str text = {script->text.ptr, script->text.len};
    while (script->seen < text.len) {
        const alm_token token = alm_lex(text, (int32_t)script->seen, true);
        if (token.kind == ALM_TOK_END)
            break;
        if (token.kind == ALM_TOK_OP && token.op == ALM_OP_SEMI) {
            if (cli_script_take(script, (size_t)token.pos, (size_t)token.end, out))
                return true;
            continue;
        }
        if ((size_t)token.end == text.len) {
            script->seen = (size_t)token.pos; /* it may go on with the next line */
            break;
        }
        script->seen = (size_t)token.end;
    }
    return last && script->used < text.len && cli_script_take(script, text.len, text.len, out);
}
