/*
 * parse.c - what all parts of the parser stand on: tokens, errors, nodes, names.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/conf.h"
#include "base/utf8.h"
#include "sql/parse/parse.h"

/* ------------------------------------------------------------------ tokens */

void alm_parse_next(alm_parser *p)
{
    if (p->tok.kind == ALM_TOK_BAD)
        return; /* stays in hand until somebody fails on it */
    p->prev = p->tok;
    p->tok = alm_lex(p->text, p->tok.end, false);
}

alm_token alm_parse_peek(const alm_parser *p)
{
    if (p->tok.kind == ALM_TOK_BAD)
        return p->tok;
    return alm_lex(p->text, p->tok.end, false);
}

alm_str alm_parse_slice(const alm_parser *p, int32_t pos, int32_t end)
{
    ALM_DASSERT(pos >= 0);
    return (alm_str){p->text.ptr + pos, end > pos ? (size_t)(end - pos) : 0};
}

alm_str alm_token_text(const alm_parser *p, alm_token t)
{
    return alm_parse_slice(p, t.pos, t.end);
}

bool alm_token_is_kw(alm_token t, alm_keyword kw)
{
    return t.kind == ALM_TOK_NAME && t.kw == kw;
}
bool alm_token_is_op(alm_token t, alm_op op)
{
    return t.kind == ALM_TOK_OP && t.op == op;
}

bool alm_at_word(const alm_parser *p, const char *word)
{
    return p->tok.kind == ALM_TOK_NAME &&
           alm_str_ieq(alm_token_text(p, p->tok), (alm_str){word, strlen(word)});
}

bool alm_take_word(alm_parser *p, const char *word)
{
    const bool found = alm_at_word(p, word);
    if (found)
        alm_parse_next(p);
    return found;
}

/* ------------------------------------------------------------------ errors */

alm_status alm_parse_fail(alm_parser *p, int32_t pos, const char *format, ...)
{
    if (p->tok.kind == ALM_TOK_BAD)
        return alm_fail(p->cx, ALM_E_SYNTAX, p->tok.pos, "%s", p->tok.why);
    char msg[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(msg, sizeof msg, format, args);
    va_end(args);
    return alm_fail(p->cx, ALM_E_SYNTAX, pos, "%s", msg);
}

alm_status alm_parse_unexpected(alm_parser *p)
{
    const alm_str t = alm_token_text(p, p->tok);
    if (p->tok.kind == ALM_TOK_END)
        return alm_parse_fail(p, p->tok.pos, "unexpected end of the statement");
    return alm_parse_fail(p, p->tok.pos, "unexpected token [%.*s]", (int)ALM_MIN(t.len, 100),
                          t.ptr);
}

alm_status alm_parse_keyword_name(alm_parser *p)
{
    const alm_str t = alm_token_text(p, p->tok);
    return alm_parse_fail(p, p->tok.pos,
                          "table and column names that are SQL keywords have to be enclosed in "
                          "double quotes, such as \"%.*s\"",
                          (int)t.len, t.ptr);
}

alm_status alm_expect_op(alm_parser *p, alm_op op, const char *message)
{
    if (alm_take_op(p, op))
        return ALM_OK;
    return alm_parse_fail(p, p->tok.pos, "%s", message);
}

alm_status alm_expect_kw(alm_parser *p, alm_keyword kw, const char *message)
{
    if (alm_take_kw(p, kw))
        return ALM_OK;
    return alm_parse_fail(p, p->tok.pos, "%s", message);
}

alm_status alm_parse_too_deep(alm_parser *p, int32_t pos)
{
    return alm_fail(p->cx, ALM_E_LIMIT, pos, "statement is nested too deeply [limit=%u]",
                    p->depth_max);
}

alm_status alm_parse_enter(alm_parser *p)
{
    if (p->nest >= p->depth_max)
        return alm_parse_too_deep(p, p->tok.pos);
    p->nest++;
    return ALM_OK;
}

/* Does a bracket that closes follow the token in hand, at its depth? */
static bool closes_later(const alm_parser *p)
{
    alm_parser ahead = *p;
    for (uint32_t depth = 0; !alm_at_end(&ahead) && ahead.tok.kind != ALM_TOK_BAD;) {
        if (alm_at_op(&ahead, ALM_OP_LPAREN))
            depth++;
        else if (alm_at_op(&ahead, ALM_OP_RPAREN) && depth-- == 0)
            return true;
        alm_parse_next(&ahead);
    }
    return false;
}

alm_status alm_parse_close(alm_parser *p, int32_t open)
{
    if (alm_take_op(p, ALM_OP_RPAREN))
        return ALM_OK;
    return closes_later(p) ? alm_parse_unexpected(p) : alm_parse_fail(p, open, "unbalanced (");
}

/* ------------------------------------------------------------------ nodes */

alm_status alm_parse_node(alm_parser *p, alm_ast_kind kind, int32_t pos, alm_ast **out)
{
    /* Nodes come in chunks: one zeroing for many, and a VALUES list of thousands stays cheap. */
    if (p->n_spare == 0) {
        const uint32_t n = p->n_chunk == 0 ? 16 : ALM_MIN(p->n_chunk * 2, 1024u);
        ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n, &p->spare));
        p->n_spare = p->n_chunk = n;
    }
    ALM_TRY(alm_nodes_add(p->cx, 1, pos));
    alm_ast *node = p->spare++;
    p->n_spare--;
    p->weight++;
    node->kind = kind;
    node->pos = pos;
    node->end = p->prev.end;
    node->depth = 1;
    *out = node;
    return ALM_OK;
}

static uint32_t order_depth(const alm_ast_order *order, uint32_t n)
{
    uint32_t depth = 0;
    for (uint32_t i = 0; i < n; i++)
        depth = ALM_MAX(depth, order[i].expr->depth);
    return depth;
}

static uint32_t window_depth(const alm_window_def *w)
{
    uint32_t depth = order_depth(w->order, w->n_order);
    for (uint32_t i = 0; i < w->n_partition; i++)
        depth = ALM_MAX(depth, w->partition[i]->depth);
    if (w->lo != NULL)
        depth = ALM_MAX(depth, w->lo->depth);
    if (w->hi != NULL)
        depth = ALM_MAX(depth, w->hi->depth);
    return depth;
}

alm_status alm_parse_seal(alm_parser *p, alm_ast *node)
{
    uint32_t depth = order_depth(node->order, node->n_order);
    for (uint32_t i = 0; i < node->n_args; i++)
        if (node->arg[i] != NULL)
            depth = ALM_MAX(depth, node->arg[i]->depth);
    if (node->else_arg != NULL)
        depth = ALM_MAX(depth, node->else_arg->depth);
    if (node->filter != NULL)
        depth = ALM_MAX(depth, node->filter->depth);
    if (node->over != NULL)
        depth = ALM_MAX(depth, window_depth(node->over));
    if (node->select != NULL)
        depth = ALM_MAX(depth, node->select->depth);
    if (depth >= p->depth_max)
        return alm_parse_too_deep(p, node->pos);
    node->depth = (uint16_t)(depth + 1);
    node->end = p->prev.end;
    p->peak = ALM_MAX(p->peak, depth + 1);
    return ALM_OK;
}

alm_status alm_parse_make(alm_parser *p, alm_ast_kind kind, int32_t pos, const char *text,
                          alm_ast *a, alm_ast *b, alm_ast **out)
{
    alm_ast *node = NULL;
    ALM_TRY(alm_parse_node(p, kind, pos, &node));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 2, &node->arg));
    node->text = (alm_str){text, strlen(text)};
    node->arg[0] = a;
    node->arg[1] = b;
    node->n_args = b != NULL ? 2 : 1;
    ALM_TRY(alm_parse_seal(p, node));
    *out = node;
    return ALM_OK;
}

alm_status alm_parse_grow(alm_parser *p, void *array_ptr, uint32_t n, uint32_t *cap, size_t bytes)
{
    if (n < *cap)
        return ALM_OK;
    void *old = NULL, *grown = NULL;
    (void)memcpy(&old, array_ptr, sizeof old);
    ALM_TRY(alm_check(p->cx));
    const uint32_t next = *cap == 0 ? 4 : *cap * 2;
    ALM_TRY(alm_arena_zero(p->cx, p->cx->arena, next * bytes, &grown));
    if (n > 0)
        (void)memcpy(grown, old, n * bytes);
    (void)memcpy(array_ptr, &grown, sizeof grown);
    *cap = next;
    return ALM_OK;
}

/* ------------------------------------------------------------------ quoted text */

static int digit_of(char c)
{
    const char low = (char)(c | 0x20);
    return c >= '0' && c <= '9' ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : 99;
}

/* Up to `most` digits of `base` at *at, which moves behind them; *found: how many there were. */
static uint32_t read_digits(alm_str in, size_t *at, int base, size_t most, size_t *found)
{
    uint32_t value = 0;
    for (*found = 0; *found < most && *at < in.len && digit_of(in.ptr[*at]) < base; ++*found)
        value = value * (uint32_t)base + (uint32_t)digit_of(in.ptr[(*at)++]);
    return value;
}

/* \uXXXX, two of them for what lies above the basic plane, or \UXXXXXXXX; *at is at the u. */
static alm_status unicode_escape(alm_parser *p, int32_t pos, alm_str in, size_t *at, char *out,
                                 size_t *n)
{
    const size_t most = in.ptr[(*at)++] == 'u' ? 4 : 8;
    size_t found = 0;
    uint32_t code = read_digits(in, at, 16, most, &found);
    bool good = found == most && code > 0;
    if (good && code >= 0xD800 && code < 0xDC00) {
        good = *at + 1 < in.len && in.ptr[*at] == '\\' && in.ptr[*at + 1] == 'u';
        *at += good ? 2 : 0;
        const uint32_t low = good ? read_digits(in, at, 16, 4, &found) : 0;
        good = good && found == 4 && low >= 0xDC00 && low < 0xE000;
        code = 0x10000 + ((code - 0xD800) << 10) + (good ? low - 0xDC00 : 0);
    } else if (code >= 0xDC00 && code < 0xE000) {
        good = false;
    }
    if (!good || code > 0x10FFFF)
        return alm_fail(p->cx, ALM_E_SYNTAX, pos,
                        "invalid Unicode escape: \\uXXXX or \\UXXXXXXXX of a character expected");
    *n = alm_utf8_put(code, out);
    return ALM_OK;
}

/* Backslash escapes of E'...': letters, \ooo, \xhh, \uXXXX, \UXXXXXXXX; what is not known stands for
 * itself. `out` has room for as much as there is: no escape is shorter than what it stands for. */
static alm_status unescape(alm_parser *p, int32_t pos, alm_str in, char *out, size_t *out_len)
{
    static const char letters[] = "nrtbf", bytes[] = "\n\r\t\b\f";
    size_t len = 0, found = 0, n = 0;
    for (size_t i = 0; i < in.len;) {
        char c = in.ptr[i++];
        if (c == '\'') {
            i++; /* doubled */
        } else if (c == '\\' && i < in.len) {
            size_t at = i + 1;
            const char *known = in.ptr[i] == 0 ? NULL : strchr(letters, in.ptr[i]);
            c = in.ptr[i];
            if (c == 'u' || c == 'U') {
                ALM_TRY(unicode_escape(p, pos, in, &i, out + len, &n));
                len += n;
                continue;
            }
            if (known != NULL) {
                c = bytes[known - letters];
            } else if (c >= '0' && c <= '7') {
                at = i;
                c = (char)read_digits(in, &at, 8, 3, &found);
            } else if (c == 'x') {
                const uint32_t byte = read_digits(in, &at, 16, 2, &found);
                c = found > 0 ? (char)byte : c;
            }
            i = at;
        }
        out[len++] = c;
    }
    if (memchr(out, 0, len) != NULL || !alm_utf8_is_valid((alm_str){out, len}))
        return alm_fail(p->cx, ALM_E_UTF8, pos, "the escapes of the text make no valid UTF-8");
    *out_len = len;
    return ALM_OK;
}

alm_status alm_parse_unquote(alm_parser *p, alm_token t, alm_str *out)
{
    alm_str s = alm_token_text(p, t);
    const bool escapes = (s.ptr[0] | 32) == 'e' && s.len > 1 && s.ptr[1] == '\'';
    if (s.ptr[0] == '$') {
        const char *tag = memchr(s.ptr + 1, '$', s.len - 1);
        const size_t n = (size_t)(tag - s.ptr) + 1;
        *out = (alm_str){s.ptr + n, s.len - 2 * n};
        return ALM_OK;
    }
    s.ptr += 1 + (size_t)escapes;
    s.len -= 2 + (size_t)escapes;
    const char quote = s.ptr[-1];
    if (memchr(s.ptr, quote, s.len) == NULL && (!escapes || !memchr(s.ptr, '\\', s.len))) {
        *out = s;
        return ALM_OK;
    }
    char *copy = NULL;
    ALM_TRY(alm_arena_bytes(p->cx, p->cx->arena, s.len, &copy));
    size_t len = 0;
    if (escapes) {
        ALM_TRY(unescape(p, t.pos, s, copy, &len));
    } else {
        for (size_t i = 0; i < s.len; i++) {
            copy[len++] = s.ptr[i];
            i += s.ptr[i] == quote; /* doubled */
        }
    }
    *out = (alm_str){copy, len};
    return ALM_OK;
}

/* ------------------------------------------------------------------ names */

alm_status alm_parse_ident(alm_parser *p, const char *what, alm_parse_name *out)
{
    const alm_token t = p->tok;
    out->pos = t.pos;
    out->quoted = t.kind != ALM_TOK_NAME;
    if (t.kind == ALM_TOK_NAME) {
        if (alm_at_reserved(p))
            return alm_parse_keyword_name(p);
        out->text = alm_token_text(p, t);
    } else if (t.kind == ALM_TOK_QUOTED || t.kind == ALM_TOK_STRING) {
        ALM_TRY(alm_parse_unquote(p, t, &out->text));
    } else {
        return alm_parse_fail(p, t.pos, "%s expected", what);
    }
    alm_parse_next(p);
    return ALM_OK;
}

alm_status alm_parse_any_name(alm_parser *p, const char *what, alm_parse_name *out)
{
    if (!alm_at_reserved(p))
        return alm_parse_ident(p, what, out);
    *out = (alm_parse_name){alm_token_text(p, p->tok), p->tok.pos, false};
    alm_parse_next(p);
    return ALM_OK;
}

alm_status alm_parse_qualified(alm_parser *p, const char *what, alm_str *schema,
                               alm_parse_name *out)
{
    *schema = (alm_str){0};
    ALM_TRY(alm_parse_ident(p, what, out));
    if (alm_take_op(p, ALM_OP_DOT)) {
        const int32_t pos = out->pos;
        *schema = out->text;
        ALM_TRY(alm_parse_ident(p, what, out));
        out->pos = pos;
    }
    return ALM_OK;
}

alm_status alm_parse_int(alm_parser *p, const char *what, int64_t *out)
{
    const alm_str t = alm_token_text(p, p->tok);
    int64_t value = 0;
    bool ok = p->tok.kind == ALM_TOK_NUMBER;
    for (size_t i = 0; ok && i < t.len; i++) {
        if (t.ptr[i] == '_')
            continue;
        ok = t.ptr[i] >= '0' && t.ptr[i] <= '9' && !__builtin_mul_overflow(value, 10, &value) &&
             !__builtin_add_overflow(value, t.ptr[i] - '0', &value);
    }
    if (!ok)
        return alm_parse_fail(p, p->tok.pos, "%s expected", what);
    alm_parse_next(p);
    *out = value;
    return ALM_OK;
}

void alm_parse_skip(alm_parser *p)
{
    while (!alm_at_end(p) && p->tok.kind != ALM_TOK_BAD)
        alm_parse_next(p);
}

/* ------------------------------------------------------------------ entry */

void alm_parse_start(alm_parser *p, alm_ctx *cx, alm_str text, size_t offset)
{
    *p = (alm_parser){.cx = cx, .text = text, .depth_max = ALM_PARSE_DEPTH_MAX};
    if (cx->conf != NULL && cx->conf->sql_nesting_max > 0)
        p->depth_max = (uint32_t)ALM_MIN(cx->conf->sql_nesting_max, ALM_PARSE_DEPTH_LIMIT);
    p->tok = alm_lex(text, (int32_t)offset, false);
}

alm_status alm_sql_parse_view(alm_ctx *cx, alm_str text, const alm_override *overrides,
                              const alm_override *foreign, bool *refused, alm_select **out)
{
    alm_parser p;
    alm_parse_start(&p, cx, text, 0);
    p.overrides = overrides;
    p.foreign = foreign;
    alm_status st = alm_parse_query(&p, out);
    *refused = p.override_refused;
    if (st == ALM_OK && !alm_at_end(&p))
        st = alm_parse_unexpected(&p);
    return st;
}

alm_status alm_sql_parse(alm_ctx *cx, alm_str text, size_t *offset, alm_stmt **out)
{
    ALM_ASSERT(cx->arena != NULL && *offset <= text.len);
    if (text.len > INT32_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "statement text is longer than %d bytes", INT32_MAX);
    alm_parser p;
    alm_parse_start(&p, cx, text, *offset);
    while (alm_at_op(&p, ALM_OP_SEMI)) /* empty statements */
        alm_parse_next(&p);
    alm_stmt *s = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &s));
    s->pos = s->end = p.tok.pos;
    if (p.tok.kind != ALM_TOK_END) {
        alm_status st = alm_parse_statement(&p, s);
        if (st == ALM_OK && !alm_at_end(&p))
            st = alm_parse_unexpected(&p);
        if (st != ALM_OK)
            return alm_parse_meant(&p, s->pos, st);
        s->end = p.prev.end;
        s->n_params = p.n_params;
    }
    *offset = (size_t)p.tok.end;
    *out = s;
    return ALM_OK;
}

alm_status alm_parse_text(alm_parser *p, const char *what, alm_str *out, int32_t *pos)
{
    *pos = p->tok.pos;
    if (p->tok.kind != ALM_TOK_STRING)
        return alm_parse_fail(p, p->tok.pos, "%s expected", what);
    ALM_TRY(alm_parse_unquote(p, p->tok, out));
    alm_parse_next(p);
    return ALM_OK;
}
