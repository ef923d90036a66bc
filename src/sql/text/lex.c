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

alm_str alm_keyword_text(alm_keyword keyword)
{
    ALM_ASSERT(keyword < ALM_KW_COUNT);
    return keyword_rows[keyword].text;
}

uint32_t alm_keyword_flags(alm_keyword keyword)
{
    ALM_ASSERT(keyword < ALM_KW_COUNT);
    return keyword_rows[keyword].flags;
}

/* ------------------------------------------------------------------ classes */

static bool lex_is_blank(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}
static bool lex_is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}
static bool is_alpha(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}
/* Bytes above 0x7f are letters: any UTF-8 text may be a name. */
static bool starts_name(char byte)
{
    return is_alpha(byte) || byte == '_' || (unsigned char)byte >= 0x80;
}
static bool lex_is_name(char byte)
{
    return starts_name(byte) || lex_is_digit(byte) || byte == '$';
}

static char at(alm_str text, size_t i)
{
    return i < text.len ? text.ptr[i] : 0;
}

static alm_token lex_token(alm_tok_kind kind, size_t pos, size_t end)
{
    return (alm_token){.kind = (uint8_t)kind, .pos = (int32_t)pos, .end = (int32_t)end};
}

static alm_token lex_bad(size_t pos, size_t end, const char *why)
{
    alm_token t = lex_token(ALM_TOK_BAD, pos, end);
    t.why = why;
    return t;
}

/* ------------------------------------------------------------------ scanners; i is the start */

/* End of the comment that starts at i, or i where none does. An open block reaches to the end. */
static size_t comment_end(alm_str text, size_t i, bool *open)
{
    *open = false;
    if (at(text, i) == '-' && at(text, i + 1) == '-') {
        const char *nl = memchr(text.ptr + i, '\n', text.len - i);
        return nl == NULL ? text.len : (size_t)(nl - text.ptr);
    }
    if (at(text, i) != '/' || at(text, i + 1) != '*')
        return i;
    size_t depth = 0;
    while (i < text.len) {
        if (text.ptr[i] == '/' && at(text, i + 1) == '*') {
            depth++;
            i += 2;
        } else if (text.ptr[i] == '*' && at(text, i + 1) == '/') {
            i += 2;
            if (--depth == 0)
                return i;
        } else {
            i++;
        }
    }
    *open = true;
    return text.len;
}

/* A quote inside is doubled; with `escapes` a backslash takes the next byte along. */
static alm_token lex_scan_quoted(alm_str text, size_t start, size_t i, bool escapes)
{
    const char quote = text.ptr[i++];
    while (i < text.len) {
        if (escapes && text.ptr[i] == '\\') {
            i += 2;
        } else if (text.ptr[i] == '\0' && quote != '\'') {
            return lex_bad(i, i + 1, "unexpected character"); /* names end at a NUL elsewhere */
        } else if (text.ptr[i] != quote) {
            i++;
        } else if (at(text, i + 1) == quote) {
            i += 2;
        } else {
            return lex_token(quote == '\'' ? ALM_TOK_STRING : ALM_TOK_QUOTED, start, i + 1);
        }
    }
    return lex_bad(start, text.len,
                   quote == '\'' ? "unclosed quoted string?" : "unclosed quotation mark");
}

static alm_token scan_number(alm_str text, size_t start)
{
    size_t i = start;
    if (text.ptr[i] == '0' && (at(text, i + 1) | 32) == 'x') {
        i += 2;
        while (lex_is_digit(at(text, i)) || is_alpha(at(text, i)) || at(text, i) == '_')
            i++;
        return lex_token(ALM_TOK_NUMBER, start, i);
    }
    while (lex_is_digit(at(text, i)) || at(text, i) == '_')
        i++;
    if (at(text, i) == '.') {
        i++;
        while (lex_is_digit(at(text, i)) || at(text, i) == '_')
            i++;
    }
    if ((at(text, i) | 32) == 'e') {
        const size_t sign = at(text, i + 1) == '+' || at(text, i + 1) == '-';
        if (lex_is_digit(at(text, i + 1 + sign)))
            i += 2 + sign;
    }
    while (lex_is_name(at(text, i))) /* digits of the exponent; a suffix or a time unit */
        i++;
    return lex_token(ALM_TOK_NUMBER, start, i);
}

static alm_token lex_scan_geohash(alm_str text, size_t start)
{
    size_t i = start + 1;
    const bool bits = at(text, i) == '#';
    i += bits;
    const size_t body = i;
    while (lex_is_digit(at(text, i)) || is_alpha(at(text, i)))
        i++;
    if (i == body)
        return lex_bad(start, i, "geohash literal expected");
    if (!bits && at(text, i) == '/' && lex_is_digit(at(text, i + 1))) {
        i++;
        while (lex_is_digit(at(text, i)))
            i++;
    }
    return lex_token(ALM_TOK_GEOHASH, start, i);
}

/* $1, $$text$$ or $tag$text$tag$. */
static alm_token scan_dollar(alm_str text, size_t start)
{
    size_t i = start + 1;
    if (lex_is_digit(at(text, i))) {
        while (lex_is_digit(at(text, i)))
            i++;
        return lex_token(ALM_TOK_PARAM, start, i);
    }
    while (starts_name(at(text, i)) || lex_is_digit(at(text, i)))
        i++;
    if (at(text, i) != '$')
        return lex_bad(start, i > start + 1 ? i : start + 1, "parameter number expected after '$'");
    const size_t tag = i + 1 - start;
    const char *close = memmem(text.ptr + i + 1, text.len - i - 1, text.ptr + start, tag);
    if (close == NULL)
        return lex_bad(start, text.len, "unclosed quoted string?");
    return lex_token(ALM_TOK_STRING, start, (size_t)(close - text.ptr) + tag);
}

static alm_token scan_name(alm_str text, size_t start)
{
    size_t i = start + 1;
    while (i < text.len && lex_is_name(text.ptr[i]))
        i++;
    alm_token t = lex_token(ALM_TOK_NAME, start, i);
    t.kw = (uint16_t)alm_keyword_find((alm_str){text.ptr + start, i - start});
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
    const char byte = s.ptr[i];
    if (strchr("<>!|:", byte) != NULL && byte != 0) {
        for (size_t k = 0; k < ALM_COUNT(longer); k++) {
            const size_t len = strlen(longer[k].text);
            if (s.len - i >= len && memcmp(s.ptr + i, longer[k].text, len) == 0) {
                *bytes = len;
                return longer[k].op;
            }
        }
    }
    *bytes = 1;
    return (unsigned char)byte < 128 ? (alm_op)single[(unsigned char)byte] : ALM_OP_NONE;
}

alm_token alm_lex(alm_str text, int32_t from, bool trivia)
{
    size_t i = from == 0 && alm_utf8_is_marked(text) ? ALM_UTF8_MARK_BYTES : (size_t)from;
    for (;;) {
        while (i < text.len && lex_is_blank(text.ptr[i]))
            i++;
        if (i >= text.len)
            return lex_token(ALM_TOK_END, text.len, text.len);
        bool open = false;
        const size_t end = comment_end(text, i, &open);
        if (open)
            return lex_bad(i, end, "unclosed comment");
        if (end == i)
            break;
        if (trivia)
            return lex_token(ALM_TOK_COMMENT, i, end);
        i = end;
    }
    const char byte = text.ptr[i];
    if ((byte | 32) == 'e' && at(text, i + 1) == '\'')
        return lex_scan_quoted(text, i, i + 1, true);
    if (starts_name(byte))
        return scan_name(text, i);
    if (byte == '\'' || byte == '"' || byte == '`')
        return lex_scan_quoted(text, i, i, false);
    const bool after_value =
        i > 0 && (lex_is_name(text.ptr[i - 1]) || strchr("\"`)]", text.ptr[i - 1]));
    if (lex_is_digit(byte) || (byte == '.' && lex_is_digit(at(text, i + 1)) && !after_value))
        return scan_number(text, i);
    if (byte == '#')
        return lex_scan_geohash(text, i);
    if (byte == '$')
        return scan_dollar(text, i);
    if (byte == '@' && starts_name(at(text, i + 1))) {
        alm_token t = scan_name(text, i + 1);
        return lex_token(ALM_TOK_VAR, i, (size_t)t.end);
    }
    size_t bytes = 1;
    alm_token t = lex_token(ALM_TOK_OP, i, i);
    t.op = (uint8_t)op_at(text, i, &bytes);
    t.end = (int32_t)(i + bytes);
    return t.op != ALM_OP_NONE ? t : lex_bad(i, i + 1, "unexpected character");
}
