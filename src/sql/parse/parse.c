/*
 * parse.c - what all parts of the parser stand on: tokens, errors, nodes, names.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/conf.h"
#include "base/utf8.h"
#include "sql/parse/parse.h"

/* ------------------------------------------------------------------ tokens */

void alm_parse_next(alm_parser *parser)
{
    if (parser->tok.kind == ALM_TOK_BAD)
        return; /* stays in hand until somebody fails on it */
    parser->prev = parser->tok;
    parser->tok = alm_lex(parser->text, parser->tok.end, false);
}

alm_token alm_parse_peek(const alm_parser *parser)
{
    if (parser->tok.kind == ALM_TOK_BAD)
        return parser->tok;
    return alm_lex(parser->text, parser->tok.end, false);
}

alm_str alm_parse_slice(const alm_parser *parser, int32_t pos, int32_t end)
{
    ALM_DASSERT(pos >= 0);
    return (alm_str){parser->text.ptr + pos, end > pos ? (size_t)(end - pos) : 0};
}

alm_str alm_token_text(const alm_parser *parser, alm_token token)
{
    return alm_parse_slice(parser, token.pos, token.end);
}

bool alm_token_is_kw(alm_token token, alm_keyword keyword)
{
    return token.kind == ALM_TOK_NAME && token.kw == keyword;
}
bool alm_token_is_op(alm_token token, alm_op op)
{
    return token.kind == ALM_TOK_OP && token.op == op;
}

bool alm_at_word(const alm_parser *parser, const char *word)
{
    return parser->tok.kind == ALM_TOK_NAME &&
           alm_str_ieq(alm_token_text(parser, parser->tok), (alm_str){word, strlen(word)});
}

bool alm_take_word(alm_parser *parser, const char *word)
{
    const bool found = alm_at_word(parser, word);
    if (found)
        alm_parse_next(parser);
    return found;
}

/* ------------------------------------------------------------------ errors */

alm_status alm_parse_fail(alm_parser *parser, int32_t pos, const char *format, ...)
{
    if (parser->tok.kind == ALM_TOK_BAD)
        return alm_fail(parser->cx, ALM_E_SYNTAX, parser->tok.pos, "%s", parser->tok.why);
    char msg[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(msg, sizeof msg, format, args);
    va_end(args);
    return alm_fail(parser->cx, ALM_E_SYNTAX, pos, "%s", msg);
}

alm_status alm_parse_unexpected(alm_parser *parser)
{
    const alm_str text = alm_token_text(parser, parser->tok);
    if (parser->tok.kind == ALM_TOK_END)
        return alm_parse_fail(parser, parser->tok.pos, "unexpected end of the statement");
    return alm_parse_fail(parser, parser->tok.pos, "unexpected token [%.*s]",
                          (int)ALM_MIN(text.len, 100), text.ptr);
}

alm_status alm_parse_keyword_name(alm_parser *parser)
{
    const alm_str text = alm_token_text(parser, parser->tok);
    return alm_parse_fail(parser, parser->tok.pos,
                          "table and column names that are SQL keywords have to be enclosed in "
                          "double quotes, such as \"%.*s\"",
                          (int)text.len, text.ptr);
}

alm_status alm_expect_op(alm_parser *parser, alm_op op, const char *message)
{
    if (alm_take_op(parser, op))
        return ALM_OK;
    return alm_parse_fail(parser, parser->tok.pos, "%s", message);
}

alm_status alm_expect_kw(alm_parser *parser, alm_keyword keyword, const char *message)
{
    if (alm_take_kw(parser, keyword))
        return ALM_OK;
    return alm_parse_fail(parser, parser->tok.pos, "%s", message);
}

alm_status alm_parse_too_deep(alm_parser *parser, int32_t pos)
{
    return alm_fail(parser->cx, ALM_E_LIMIT, pos, "statement is nested too deeply [limit=%u]",
                    parser->depth_max);
}

alm_status alm_parse_enter(alm_parser *parser)
{
    if (parser->nest >= parser->depth_max)
        return alm_parse_too_deep(parser, parser->tok.pos);
    parser->nest++;
    return ALM_OK;
}

/* Does a bracket that closes follow the token in hand, at its depth? */
static bool closes_later(const alm_parser *parser)
{
    alm_parser ahead = *parser;
    for (uint32_t depth = 0; !alm_at_end(&ahead) && ahead.tok.kind != ALM_TOK_BAD;) {
        if (alm_at_op(&ahead, ALM_OP_LPAREN))
            depth++;
        else if (alm_at_op(&ahead, ALM_OP_RPAREN) && depth-- == 0)
            return true;
        alm_parse_next(&ahead);
    }
    return false;
}

alm_status alm_parse_close(alm_parser *parser, int32_t open)
{
    if (alm_take_op(parser, ALM_OP_RPAREN))
        return ALM_OK;
    return closes_later(parser) ? alm_parse_unexpected(parser)
                                : alm_parse_fail(parser, open, "unbalanced (");
}

/* ------------------------------------------------------------------ nodes */

alm_status alm_parse_node(alm_parser *parser, alm_ast_kind kind, int32_t pos, alm_ast **out)
{
    /* Nodes come in chunks: one zeroing for many, and a VALUES list of thousands stays cheap. */
    if (parser->n_spare == 0) {
        const uint32_t n = parser->n_chunk == 0 ? 16 : ALM_MIN(parser->n_chunk * 2, 1024u);
        ALM_TRY(ALM_NEWN(parser->cx, parser->cx->arena, n, &parser->spare));
        parser->n_spare = parser->n_chunk = n;
    }
    ALM_TRY(alm_nodes_add(parser->cx, 1, pos));
    alm_ast *node = parser->spare++;
    parser->n_spare--;
    parser->weight++;
    node->kind = kind;
    node->pos = pos;
    node->end = parser->prev.end;
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

static uint32_t window_depth(const alm_window_def *window_def)
{
    uint32_t depth = order_depth(window_def->order, window_def->n_order);
    for (uint32_t i = 0; i < window_def->n_partition; i++)
        depth = ALM_MAX(depth, window_def->partition[i]->depth);
    if (window_def->lo != NULL)
        depth = ALM_MAX(depth, window_def->lo->depth);
    if (window_def->hi != NULL)
        depth = ALM_MAX(depth, window_def->hi->depth);
    return depth;
}

alm_status alm_parse_seal(alm_parser *parser, alm_ast *node)
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
    if (depth >= parser->depth_max)
        return alm_parse_too_deep(parser, node->pos);
    node->depth = (uint16_t)(depth + 1);
    node->end = parser->prev.end;
    parser->peak = ALM_MAX(parser->peak, depth + 1);
    return ALM_OK;
}

alm_status alm_parse_make(alm_parser *parser, alm_ast_kind kind, int32_t pos, const char *text,
                          alm_ast *a, alm_ast *b, alm_ast **out)
{
    alm_ast *node = NULL;
    ALM_TRY(alm_parse_node(parser, kind, pos, &node));
    ALM_TRY(ALM_NEWN(parser->cx, parser->cx->arena, 2, &node->arg));
    node->text = (alm_str){text, strlen(text)};
    node->arg[0] = a;
    node->arg[1] = b;
    node->n_args = b != NULL ? 2 : 1;
    ALM_TRY(alm_parse_seal(parser, node));
    *out = node;
    return ALM_OK;
}

alm_status alm_parse_grow(alm_parser *parser, void *array_ptr, uint32_t n, uint32_t *cap,
                          size_t bytes)
{
    if (n < *cap)
        return ALM_OK;
    void *old = NULL, *grown = NULL;
    (void)memcpy(&old, array_ptr, sizeof old);
    ALM_TRY(alm_check(parser->cx));
    const uint32_t next = *cap == 0 ? 4 : *cap * 2;
    ALM_TRY(alm_arena_zero(parser->cx, parser->cx->arena, next * bytes, &grown));
    if (n > 0)
        (void)memcpy(grown, old, n * bytes);
    (void)memcpy(array_ptr, &grown, sizeof grown);
    *cap = next;
    return ALM_OK;
}

/* ------------------------------------------------------------------ quoted text */

static int sql_parse_digit_of(char byte)
{
    const char low = (char)(byte | 0x20);
    return byte >= '0' && byte <= '9' ? byte - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : 99;
}

/* Up to `most` digits of `base` at *at, which moves behind them; *found: how many there were. */
static uint32_t sql_parse_read_digits(alm_str text, size_t *at, int base, size_t most,
                                      size_t *found)
{
    uint32_t value = 0;
    for (*found = 0; *found < most && *at < text.len && sql_parse_digit_of(text.ptr[*at]) < base;
         ++*found)
        value = value * (uint32_t)base + (uint32_t)sql_parse_digit_of(text.ptr[(*at)++]);
    return value;
}

/* \uXXXX, two of them for what lies above the basic plane, or \UXXXXXXXX; *at is at the u. */
static alm_status sql_parse_unicode_escape(alm_parser *parser, int32_t pos, alm_str text,
                                           size_t *at, char *out, size_t *n)
{
    const size_t most = text.ptr[(*at)++] == 'u' ? 4 : 8;
    size_t found = 0;
    uint32_t code = sql_parse_read_digits(text, at, 16, most, &found);
    bool good = found == most && code > 0;
    if (good && code >= 0xD800 && code < 0xDC00) {
        good = *at + 1 < text.len && text.ptr[*at] == '\\' && text.ptr[*at + 1] == 'u';
        *at += good ? 2 : 0;
        const uint32_t low = good ? sql_parse_read_digits(text, at, 16, 4, &found) : 0;
        good = good && found == 4 && low >= 0xDC00 && low < 0xE000;
        code = 0x10000 + ((code - 0xD800) << 10) + (good ? low - 0xDC00 : 0);
    } else if (code >= 0xDC00 && code < 0xE000) {
        good = false;
    }
    if (!good || code > 0x10FFFF)
        return alm_fail(parser->cx, ALM_E_SYNTAX, pos,
                        "invalid Unicode escape: \\uXXXX or \\UXXXXXXXX of a character expected");
    *n = alm_utf8_put(code, out);
    return ALM_OK;
}

/* Backslash escapes of E'...': letters, \ooo, \xhh, \uXXXX, \UXXXXXXXX; what is not known stands for
 * itself. `out` has room for as much as there is: no escape is shorter than what it stands for. */
static alm_status sql_parse_unescape(alm_parser *parser, int32_t pos, alm_str text, char *out,
                                     size_t *out_len)
{
    static const char letters[] = "nrtbf", bytes[] = "\n\r\t\b\f";
    size_t len = 0, found = 0, n = 0;
    for (size_t i = 0; i < text.len;) {
        char c = text.ptr[i++];
        if (c == '\'') {
            i++; /* doubled */
        } else if (c == '\\' && i < text.len) {
            size_t offset = i + 1;
            const char *known = text.ptr[i] == 0 ? NULL : strchr(letters, text.ptr[i]);
            c = text.ptr[i];
            if (c == 'u' || c == 'U') {
                ALM_TRY(sql_parse_unicode_escape(parser, pos, text, &i, out + len, &n));
                len += n;
                continue;
            }
            if (known != NULL) {
                c = bytes[known - letters];
            } else if (c >= '0' && c <= '7') {
                offset = i;
                c = (char)sql_parse_read_digits(text, &offset, 8, 3, &found);
            } else if (c == 'x') {
                const uint32_t byte = sql_parse_read_digits(text, &offset, 16, 2, &found);
                c = found > 0 ? (char)byte : c;
            }
            i = offset;
        }
        out[len++] = c;
    }
    if (memchr(out, 0, len) != NULL || !alm_utf8_is_valid((alm_str){out, len}))
        return alm_fail(parser->cx, ALM_E_UTF8, pos, "the escapes of the text make no valid UTF-8");
    *out_len = len;
    return ALM_OK;
}

alm_status alm_parse_unquote(alm_parser *parser, alm_token token, alm_str *out)
{
    alm_str text = alm_token_text(parser, token);
    const bool escapes = (text.ptr[0] | 32) == 'e' && text.len > 1 && text.ptr[1] == '\'';
    if (text.ptr[0] == '$') {
        const char *tag = memchr(text.ptr + 1, '$', text.len - 1);
        const size_t n = (size_t)(tag - text.ptr) + 1;
        *out = (alm_str){text.ptr + n, text.len - 2 * n};
        return ALM_OK;
    }
    text.ptr += 1 + (size_t)escapes;
    text.len -= 2 + (size_t)escapes;
    const char quote = text.ptr[-1];
    if (memchr(text.ptr, quote, text.len) == NULL &&
        (!escapes || !memchr(text.ptr, '\\', text.len))) {
        *out = text;
        return ALM_OK;
    }
    char *copy = NULL;
    ALM_TRY(alm_arena_bytes(parser->cx, parser->cx->arena, text.len, &copy));
    size_t len = 0;
    if (escapes) {
        ALM_TRY(sql_parse_unescape(parser, token.pos, text, copy, &len));
    } else {
        for (size_t i = 0; i < text.len; i++) {
            copy[len++] = text.ptr[i];
            i += text.ptr[i] == quote; /* doubled */
        }
    }
    *out = (alm_str){copy, len};
    return ALM_OK;
}

/* ------------------------------------------------------------------ names */

alm_status alm_parse_ident(alm_parser *parser, const char *what, alm_parse_name *out)
{
    const alm_token token = parser->tok;
    out->pos = token.pos;
    out->quoted = token.kind != ALM_TOK_NAME;
    if (token.kind == ALM_TOK_NAME) {
        if (alm_at_reserved(parser))
            return alm_parse_keyword_name(parser);
        out->text = alm_token_text(parser, token);
    } else if (token.kind == ALM_TOK_QUOTED || token.kind == ALM_TOK_STRING) {
        ALM_TRY(alm_parse_unquote(parser, token, &out->text));
    } else {
        return alm_parse_fail(parser, token.pos, "%s expected", what);
    }
    alm_parse_next(parser);
    return ALM_OK;
}

alm_status alm_parse_any_name(alm_parser *parser, const char *what, alm_parse_name *out)
{
    if (!alm_at_reserved(parser))
        return alm_parse_ident(parser, what, out);
    *out = (alm_parse_name){alm_token_text(parser, parser->tok), parser->tok.pos, false};
    alm_parse_next(parser);
    return ALM_OK;
}

alm_status alm_parse_qualified(alm_parser *parser, const char *what, alm_str *schema,
                               alm_parse_name *out)
{
    *schema = (alm_str){0};
    ALM_TRY(alm_parse_ident(parser, what, out));
    if (alm_take_op(parser, ALM_OP_DOT)) {
        const int32_t pos = out->pos;
        *schema = out->text;
        ALM_TRY(alm_parse_ident(parser, what, out));
        out->pos = pos;
    }
    return ALM_OK;
}

alm_status alm_parse_int(alm_parser *parser, const char *what, int64_t *out)
{
    const alm_str text = alm_token_text(parser, parser->tok);
    int64_t value = 0;
    bool ok = parser->tok.kind == ALM_TOK_NUMBER;
    for (size_t i = 0; ok && i < text.len; i++) {
        if (text.ptr[i] == '_')
            continue;
        ok = text.ptr[i] >= '0' && text.ptr[i] <= '9' &&
             !__builtin_mul_overflow(value, 10, &value) &&
             !__builtin_add_overflow(value, text.ptr[i] - '0', &value);
    }
    if (!ok)
        return alm_parse_fail(parser, parser->tok.pos, "%s expected", what);
    alm_parse_next(parser);
    *out = value;
    return ALM_OK;
}

void alm_parse_skip(alm_parser *parser)
{
    while (!alm_at_end(parser) && parser->tok.kind != ALM_TOK_BAD)
        alm_parse_next(parser);
}

/* ------------------------------------------------------------------ entry */

void alm_parse_start(alm_parser *parser, alm_ctx *cx, alm_str text, size_t offset)
{
    *parser = (alm_parser){.cx = cx, .text = text, .depth_max = ALM_PARSE_DEPTH_MAX};
    if (cx->conf != NULL && cx->conf->sql_nesting_max > 0)
        parser->depth_max = (uint32_t)ALM_MIN(cx->conf->sql_nesting_max, ALM_PARSE_DEPTH_LIMIT);
    parser->tok = alm_lex(text, (int32_t)offset, false);
}

alm_status alm_sql_parse_view(alm_ctx *cx, alm_str text, const alm_override *overrides,
                              const alm_override *foreign, bool *refused, alm_select **out)
{
    alm_parser parser;
    alm_parse_start(&parser, cx, text, 0);
    parser.overrides = overrides;
    parser.foreign = foreign;
    alm_status status = alm_parse_query(&parser, out);
    *refused = parser.override_refused;
    if (status == ALM_OK && !alm_at_end(&parser))
        status = alm_parse_unexpected(&parser);
    return status;
}

alm_status alm_sql_parse(alm_ctx *cx, alm_str text, size_t *offset, alm_stmt **out)
{
    ALM_ASSERT(cx->arena != NULL && *offset <= text.len);
    if (text.len > INT32_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "statement text is longer than %d bytes", INT32_MAX);
    alm_parser parser;
    alm_parse_start(&parser, cx, text, *offset);
    while (alm_at_op(&parser, ALM_OP_SEMI)) /* empty statements */
        alm_parse_next(&parser);
    alm_stmt *stmt = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &stmt));
    stmt->pos = stmt->end = parser.tok.pos;
    if (parser.tok.kind != ALM_TOK_END) {
        alm_status status = alm_parse_statement(&parser, stmt);
        if (status == ALM_OK && !alm_at_end(&parser))
            status = alm_parse_unexpected(&parser);
        if (status != ALM_OK)
            return alm_parse_meant(&parser, stmt->pos, status);
        stmt->end = parser.prev.end;
        stmt->n_params = parser.n_params;
    }
    *offset = (size_t)parser.tok.end;
    *out = stmt;
    return ALM_OK;
}

alm_status alm_parse_text(alm_parser *parser, const char *what, alm_str *out, int32_t *pos)
{
    *pos = parser->tok.pos;
    if (parser->tok.kind != ALM_TOK_STRING)
        return alm_parse_fail(parser, parser->tok.pos, "%s expected", what);
    ALM_TRY(alm_parse_unquote(parser, parser->tok, out));
    alm_parse_next(parser);
    return ALM_OK;
}
