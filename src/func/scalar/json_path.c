/*
 * json_path.c - see json_path.h. Recursive descent, bounded in depth.
 */
#include "func/scalar/json_path.h"

#include "base/number.h"
#include "base/utf8.h"

/* -------------------------------------------------------------------- path */

static bool take_index(alm_str text, size_t *at, int64_t *out)
{
    int64_t index = 0;
    size_t i = *at + 1;
    const size_t start = i;
    for (; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9'; i++) {
        if (i - start > 9)
            return false;
        index = index * 10 + (text.ptr[i] - '0');
    }
    if (i == start || i >= text.len || text.ptr[i] != ']')
        return false;
    *at = i + 1;
    *out = index;
    return true;
}

bool alm_json_path_parse(alm_str text, alm_json_path *out)
{
    size_t at = text.len > 0 && text.ptr[0] == '$' ? 1 : 0;
    out->n = 0;
    while (at < text.len) {
        if (out->n == ALM_JSON_STEPS)
            return false;
        alm_json_step *step = &out->step[out->n++];
        *step = (alm_json_step){0};
        if (text.ptr[at] == '[') {
            if (!take_index(text, &at, &step->index))
                return false;
            continue;
        }
        if (text.ptr[at] != '.')
            return false;
        const size_t start = ++at;
        while (at < text.len && text.ptr[at] != '.' && text.ptr[at] != '[')
            at++;
        if (at == start)
            return false;
        step->name = (alm_str){text.ptr + start, at - start};
    }
    return true;
}

/* ----------------------------------------------------------------- strings */

/* Four digits at p[0..3]; -1: they are not. */
static int32_t hex_unit(const char *p, const char *end)
{
    int32_t unit = 0;
    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        const int digit = alm_hex_digit(p[i]);
        if (digit < 0)
            return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

/* What stands at *p, an escape as one code point or byte run: bytes put to out (4 at most). */
static size_t next_piece(const char **p, const char *end, char out[4])
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (**p != '\\' || end - *p < 2) {
        out[0] = *(*p)++;
        return 1;
    }
    const char c = (*p)[1];
    if (c != 'u') {
        const char *which = c == '\0' ? NULL : strchr(from, c);
        out[0] = which != NULL ? to[which - from] : c;
        *p += 2;
        return 1;
    }
    int32_t unit = hex_unit(*p + 2, end);
    if (unit < 0) {
        out[0] = *(*p)++;
        return 1;
    }
    *p += 6;
    uint32_t code = (uint32_t)unit;
    if (code >= 0xD800 && code < 0xDC00 && end - *p >= 6 && (*p)[0] == '\\' && (*p)[1] == 'u') {
        const int32_t low = hex_unit(*p + 2, end);
        if (low >= 0xDC00 && low < 0xE000) {
            code = 0x10000 + ((code - 0xD800) << 10) + ((uint32_t)low - 0xDC00);
            *p += 6;
        }
    }
    if (code >= 0xD800 && code < 0xE000) /* half a pair */
        code = 0xFFFD;
    return alm_utf8_put(code, out);
}

size_t alm_json_unescape(alm_str raw, char *out)
{
    const char *p = raw.ptr, *end = raw.ptr + raw.len;
    size_t n = 0;
    while (p < end) {
        char piece[4];
        const size_t len = next_piece(&p, end, piece);
        memcpy(out + n, piece, len);
        n += len;
    }
    return n;
}

static bool names(alm_str raw, alm_str name)
{
    if (memchr(raw.ptr, '\\', raw.len) == NULL)
        return alm_str_eq(raw, name);
    const char *p = raw.ptr, *end = raw.ptr + raw.len;
    size_t n = 0;
    while (p < end) {
        char piece[4];
        const size_t len = next_piece(&p, end, piece);
        if (name.len - n < len || memcmp(name.ptr + n, piece, len) != 0)
            return false;
        n += len;
    }
    return n == name.len;
}

/* ------------------------------------------------------------------ values */

typedef struct reader {
    const char *p, *end;
    const alm_json_path *path;
    alm_json_value found;
} reader;

static void skip_blanks(reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r'))
        r->p++;
}

/* Behind blanks: is it that byte? Then past it. */
static bool take(reader *r, char c)
{
    skip_blanks(r);
    if (r->p == r->end || *r->p != c)
        return false;
    r->p++;
    return true;
}

/* At the opening quote. */
static bool read_string(reader *r, alm_str *raw)
{
    const char *start = ++r->p;
    for (; r->p < r->end; r->p++) {
        if (*r->p == '"') {
            *raw = (alm_str){start, (size_t)(r->p - start)};
            r->p++;
            return true;
        }
        if ((uint8_t)*r->p < 0x20)
            return false;
        if (*r->p == '\\') {
            r->p++;
            if (r->p == r->end || *r->p == '\0' || strchr("\"\\/bfnrtu", *r->p) == NULL ||
                (*r->p == 'u' && hex_unit(r->p + 1, r->end) < 0))
                return false;
        }
    }
    return false;
}

static size_t skip_digits(reader *r)
{
    const char *start = r->p;
    while (r->p < r->end && *r->p >= '0' && *r->p <= '9')
        r->p++;
    return (size_t)(r->p - start);
}

static bool read_number(reader *r)
{
    if (*r->p == '-')
        r->p++;
    if (skip_digits(r) == 0)
        return false;
    if (r->p < r->end && *r->p == '.') {
        r->p++;
        if (skip_digits(r) == 0)
            return false;
    }
    if (r->p < r->end && (*r->p | 0x20) == 'e') {
        r->p++;
        if (r->p < r->end && (*r->p == '+' || *r->p == '-'))
            r->p++;
        if (skip_digits(r) == 0)
            return false;
    }
    return true;
}

static bool read_word(reader *r, const char *word)
{
    const size_t n = strlen(word);
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n) != 0)
        return false;
    r->p += n;
    return true;
}

static bool read_value(reader *r, uint32_t depth, int32_t at);

/* at: how many steps of the path lead here; -1: the value is not on it. */
static const alm_json_step *step_at(const reader *r, int32_t at)
{
    return at >= 0 && (uint32_t)at < r->path->n && r->found.kind == ALM_JSON_NOTHING
               ? &r->path->step[at]
               : NULL;
}

static bool read_object(reader *r, uint32_t depth, int32_t at)
{
    if (take(r, '}'))
        return true;
    do {
        alm_str key;
        skip_blanks(r);
        if (r->p == r->end || *r->p != '"' || !read_string(r, &key) || !take(r, ':'))
            return false;
        const alm_json_step *step = step_at(r, at);
        const bool here = step != NULL && step->name.ptr != NULL && names(key, step->name);
        if (!read_value(r, depth + 1, here ? at + 1 : -1))
            return false;
    } while (take(r, ','));
    return take(r, '}');
}

static bool read_list(reader *r, uint32_t depth, int32_t at)
{
    if (take(r, ']'))
        return true;
    int64_t i = 0;
    do {
        const alm_json_step *step = step_at(r, at);
        const bool here = step != NULL && step->name.ptr == NULL && step->index == i++;
        if (!read_value(r, depth + 1, here ? at + 1 : -1))
            return false;
    } while (take(r, ','));
    return take(r, ']');
}

static bool read_value(reader *r, uint32_t depth, int32_t at)
{
    alm_json_value got = {0};
    skip_blanks(r);
    if (r->p == r->end || depth > ALM_JSON_DEPTH)
        return false;
    const char *start = r->p;
    bool good = false;
    switch (*r->p) {
    case '{':
        r->p++;
        good = read_object(r, depth, at);
        got.kind = ALM_JSON_TREE;
        break;
    case '[':
        r->p++;
        good = read_list(r, depth, at);
        got.kind = ALM_JSON_TREE;
        break;
    case '"':
        good = read_string(r, &got.raw);
        got.kind = ALM_JSON_STRING;
        break;
    case 't':
        good = read_word(r, "true");
        got.kind = ALM_JSON_TRUE;
        break;
    case 'f':
        good = read_word(r, "false");
        got.kind = ALM_JSON_FALSE;
        break;
    case 'n':
        good = read_word(r, "null");
        got.kind = ALM_JSON_NULL;
        break;
    default:
        good = read_number(r);
        got.kind = ALM_JSON_NUMBER;
        break;
    }
    if (got.kind != ALM_JSON_STRING)
        got.raw = (alm_str){start, (size_t)(r->p - start)};
    if (good && at >= 0 && (uint32_t)at == r->path->n && r->found.kind == ALM_JSON_NOTHING)
        r->found = got;
    return good;
}

alm_json_value alm_json_find(alm_str text, const alm_json_path *path)
{
    reader r = {.p = text.ptr, .end = text.ptr + text.len, .path = path};
    bool good = read_value(&r, 0, 0);
    skip_blanks(&r);
    good = good && r.p == r.end;
    return good ? r.found : (alm_json_value){0};
}
