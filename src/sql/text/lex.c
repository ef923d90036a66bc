/*
 * lex.c - the lexer. One pass, no state between tokens but the place, so that a parser may look
 * ahead and return at no cost.
 */
#include "sql/text/lex.h"

#include "base/utf8.h"

enum {
    R = ALM_KW_RESERVED,
    C = ALM_KW_NO_COLUMN_ALIAS,
    T = ALM_KW_NO_TABLE_ALIAS,
    E = ALM_KW_ALIAS_AT_END
};

static const struct keyword_row {
    alm_str text;
    uint32_t flags;
} keyword_rows[ALM_KW_COUNT] = {
    [ALM_KW_PLAIN] = {{"", 0}, 0},
#define ALM_KEYWORD(id, word, row_flags) [ALM_KW_##id] = {{word, sizeof(word) - 1}, (row_flags)},
#include "sql/text/keyword.def"
#undef ALM_KEYWORD
};

enum { KEYWORD_BYTES_MAX = 17 }; /* current_timestamp */

alm_keyword alm_keyword_find(alm_str word)
{
    char low[KEYWORD_BYTES_MAX];
    if (word.len < 2 || word.len > sizeof low)
        return ALM_KW_PLAIN;
    for (size_t i = 0; i < word.len; i++)
        low[i] = (char)(word.ptr[i] >= 'A' && word.ptr[i] <= 'Z' ? word.ptr[i] + 32 : word.ptr[i]);
    const alm_str key = {low, word.len};
    uint32_t lo = 1, hi = ALM_KW_COUNT;
    while (lo < hi) {
        const uint32_t mid = (lo + hi) / 2;
        const int order = alm_str_cmp(keyword_rows[mid].text, key);
        if (order == 0)
            return (alm_keyword)mid;
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return ALM_KW_PLAIN;
}

alm_str alm_keyword_text(alm_keyword kw)
{
    ALM_ASSERT(kw < ALM_KW_COUNT);
    return keyword_rows[kw].text;
}

uint32_t alm_keyword_flags(alm_keyword kw)
{
    ALM_ASSERT(kw < ALM_KW_COUNT);
    return keyword_rows[kw].flags;
}

/* ------------------------------------------------------------------ classes */

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}
static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}
static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
/* Bytes above 0x7f are letters: any UTF-8 text may be a name. */
static bool starts_name(char c)
{
    return is_alpha(c) || c == '_' || (unsigned char)c >= 0x80;
}
static bool is_name(char c)
{
    return starts_name(c) || is_digit(c) || c == '$';
}

static char at(alm_str s, size_t i)
{
    return i < s.len ? s.ptr[i] : 0;
}

static alm_token token(alm_tok_kind kind, size_t pos, size_t end)
{
    return (alm_token){.kind = (uint8_t)kind, .pos = (int32_t)pos, .end = (int32_t)end};
}

static alm_token bad(size_t pos, size_t end, const char *why)
{
    alm_token t = token(ALM_TOK_BAD, pos, end);
    t.why = why;
    return t;
}

/* ------------------------------------------------------------------ scanners; i is the start */

/* End of the comment that starts at i, or i where none does. An open block reaches to the end. */
static size_t comment_end(alm_str s, size_t i, bool *open)
{
    *open = false;
    if (at(s, i) == '-' && at(s, i + 1) == '-') {
        const char *nl = memchr(s.ptr + i, '\n', s.len - i);
        return nl == NULL ? s.len : (size_t)(nl - s.ptr);
    }
    if (at(s, i) != '/' || at(s, i + 1) != '*')
        return i;
    size_t depth = 0;
    while (i < s.len) {
        if (s.ptr[i] == '/' && at(s, i + 1) == '*') {
            depth++;
            i += 2;
        } else if (s.ptr[i] == '*' && at(s, i + 1) == '/') {
            i += 2;
            if (--depth == 0)
                return i;
        } else {
            i++;
        }
    }
    *open = true;
    return s.len;
}

/* A quote inside is doubled; with `escapes` a backslash takes the next byte along. */
static alm_token scan_quoted(alm_str s, size_t start, size_t i, bool escapes)
{
    const char quote = s.ptr[i++];
    while (i < s.len) {
        if (escapes && s.ptr[i] == '\\') {
            i += 2;
        } else if (s.ptr[i] == '\0' && quote != '\'') {
            return bad(i, i + 1, "unexpected character"); /* names end at a NUL elsewhere */
        } else if (s.ptr[i] != quote) {
            i++;
        } else if (at(s, i + 1) == quote) {
            i += 2;
        } else {
            return token(quote == '\'' ? ALM_TOK_STRING : ALM_TOK_QUOTED, start, i + 1);
        }
    }
    return bad(start, s.len, quote == '\'' ? "unclosed quoted string?" : "unclosed quotation mark");
}

static alm_token scan_number(alm_str s, size_t start)
{
    size_t i = start;
    if (s.ptr[i] == '0' && (at(s, i + 1) | 32) == 'x') {
        i += 2;
        while (is_digit(at(s, i)) || is_alpha(at(s, i)) || at(s, i) == '_')
            i++;
        return token(ALM_TOK_NUMBER, start, i);
    }
    while (is_digit(at(s, i)) || at(s, i) == '_')
        i++;
    if (at(s, i) == '.') {
        i++;
        while (is_digit(at(s, i)) || at(s, i) == '_')
            i++;
    }
    if ((at(s, i) | 32) == 'e') {
        const size_t sign = at(s, i + 1) == '+' || at(s, i + 1) == '-';
        if (is_digit(at(s, i + 1 + sign)))
            i += 2 + sign;
    }
    while (is_name(at(s, i))) /* digits of the exponent; a suffix or a time unit */
        i++;
    return token(ALM_TOK_NUMBER, start, i);
}

static alm_token scan_geohash(alm_str s, size_t start)
{
    size_t i = start + 1;
    const bool bits = at(s, i) == '#';
    i += bits;
    const size_t body = i;
    while (is_digit(at(s, i)) || is_alpha(at(s, i)))
        i++;
    if (i == body)
        return bad(start, i, "geohash literal expected");
    if (!bits && at(s, i) == '/' && is_digit(at(s, i + 1))) {
        i++;
        while (is_digit(at(s, i)))
            i++;
    }
    return token(ALM_TOK_GEOHASH, start, i);
}

/* $1, $$text$$ or $tag$text$tag$. */
static alm_token scan_dollar(alm_str s, size_t start)
{
    size_t i = start + 1;
    if (is_digit(at(s, i))) {
        while (is_digit(at(s, i)))
            i++;
        return token(ALM_TOK_PARAM, start, i);
    }
    while (starts_name(at(s, i)) || is_digit(at(s, i)))
        i++;
    if (at(s, i) != '$')
        return bad(start, i > start + 1 ? i : start + 1, "parameter number expected after '$'");
    const size_t tag = i + 1 - start;
    const char *close = memmem(s.ptr + i + 1, s.len - i - 1, s.ptr + start, tag);
    if (close == NULL)
        return bad(start, s.len, "unclosed quoted string?");
    return token(ALM_TOK_STRING, start, (size_t)(close - s.ptr) + tag);
}

static alm_token scan_name(alm_str s, size_t start)
{
    size_t i = start + 1;
    while (i < s.len && is_name(s.ptr[i]))
        i++;
    alm_token t = token(ALM_TOK_NAME, start, i);
    t.kw = (uint16_t)alm_keyword_find((alm_str){s.ptr + start, i - start});
    return t;
}

static alm_op op_at(alm_str s, size_t i, size_t *bytes)
{
    static const struct {
        char text[4];
        alm_op op;
    } longer[] = {{"<<=", ALM_OP_SHL_EQ}, {">>=", ALM_OP_SHR_EQ}, {"<<", ALM_OP_SHL},
                  {">>", ALM_OP_SHR},     {"<=", ALM_OP_LE},      {">=", ALM_OP_GE},
                  {"<>", ALM_OP_NE_SQL},  {"!=", ALM_OP_NE},      {"!~", ALM_OP_NOT_TILDE},
                  {"||", ALM_OP_CONCAT},  {"::", ALM_OP_CAST},    {":=", ALM_OP_ASSIGN}};
    static const uint8_t single[128] = {
        ['+'] = ALM_OP_PLUS,     ['-'] = ALM_OP_MINUS,   ['*'] = ALM_OP_STAR,
        ['/'] = ALM_OP_SLASH,    ['%'] = ALM_OP_PERCENT, ['&'] = ALM_OP_AMP,
        ['|'] = ALM_OP_PIPE,     ['^'] = ALM_OP_CARET,   ['~'] = ALM_OP_TILDE,
        ['='] = ALM_OP_EQ,       ['<'] = ALM_OP_LT,      ['>'] = ALM_OP_GT,
        ['('] = ALM_OP_LPAREN,   [')'] = ALM_OP_RPAREN,  ['['] = ALM_OP_LBRACKET,
        [']'] = ALM_OP_RBRACKET, [','] = ALM_OP_COMMA,   ['.'] = ALM_OP_DOT,
        [';'] = ALM_OP_SEMI,     [':'] = ALM_OP_COLON};
    const char c = s.ptr[i];
    if (strchr("<>!|:", c) != NULL && c != 0) {
        for (size_t k = 0; k < ALM_COUNT(longer); k++) {
            const size_t n = strlen(longer[k].text);
            if (s.len - i >= n && memcmp(s.ptr + i, longer[k].text, n) == 0) {
                *bytes = n;
                return longer[k].op;
            }
        }
    }
    *bytes = 1;
    return (unsigned char)c < 128 ? (alm_op)single[(unsigned char)c] : ALM_OP_NONE;
}

alm_token alm_lex(alm_str s, int32_t from, bool trivia)
{
    size_t i = from == 0 && alm_utf8_is_marked(s) ? ALM_UTF8_MARK_BYTES : (size_t)from;
    for (;;) {
        while (i < s.len && is_blank(s.ptr[i]))
            i++;
        if (i >= s.len)
            return token(ALM_TOK_END, s.len, s.len);
        bool open = false;
        const size_t end = comment_end(s, i, &open);
        if (open)
            return bad(i, end, "unclosed comment");
        if (end == i)
            break;
        if (trivia)
            return token(ALM_TOK_COMMENT, i, end);
        i = end;
    }
    const char c = s.ptr[i];
    if ((c | 32) == 'e' && at(s, i + 1) == '\'')
        return scan_quoted(s, i, i + 1, true);
    if (starts_name(c))
        return scan_name(s, i);
    if (c == '\'' || c == '"' || c == '`')
        return scan_quoted(s, i, i, false);
    const bool after_value = i > 0 && (is_name(s.ptr[i - 1]) || strchr("\"`)]", s.ptr[i - 1]));
    if (is_digit(c) || (c == '.' && is_digit(at(s, i + 1)) && !after_value))
        return scan_number(s, i);
    if (c == '#')
        return scan_geohash(s, i);
    if (c == '$')
        return scan_dollar(s, i);
    if (c == '@' && starts_name(at(s, i + 1))) {
        alm_token t = scan_name(s, i + 1);
        return token(ALM_TOK_VAR, i, (size_t)t.end);
    }
    size_t bytes = 1;
    alm_token t = token(ALM_TOK_OP, i, i);
    t.op = (uint8_t)op_at(s, i, &bytes);
    t.end = (int32_t)(i + bytes);
    return t.op != ALM_OP_NONE ? t : bad(i, i + 1, "unexpected character");
}
