/*
 * ilp.c - the line protocol, one pass over the bytes of a line.
 */
#include "codec/ilp/ilp.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/number.h"
#include "base/utf8.h"
#include "type/decimal.h"

/* Where reading stands. `end` is the end of the bytes; `last` makes it the end of the line as well. */
typedef struct cursor {
    alm_ilp_reader *r;
    const char *at, *end;
    bool last;
    alm_status st; /* of memory */
} cursor;

/* What a step of reading came to. */
typedef enum step { STEP_OK, STEP_MORE, STEP_BAD } step;

#define STEP_TRY(expr)                                                                             \
    do {                                                                                           \
        const step step_ = (expr);                                                                 \
        if (step_ != STEP_OK)                                                                      \
            return step_;                                                                          \
    } while (0)

ALM_PRINTF(2, 3) static step bad(cursor *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(c->r->reason, sizeof c->r->reason, format, args);
    va_end(args);
    return STEP_BAD;
}

static int shown(alm_str text)
{
    return (int)ALM_MIN(text.len, (size_t)60);
}

void alm_ilp_init(alm_ilp_reader *r, alm_ctx *cx)
{
    *r = (alm_ilp_reader){.cx = cx};
    alm_arena_init(&r->texts, cx->mem);
}

void alm_ilp_deinit(alm_ilp_reader *r)
{
    alm_arena_deinit(&r->texts);
    free(r->fields);
    r->fields = NULL;
    r->cap = 0;
}

/* ------------------------------------------------------------------------ tokens */

/* The byte at the cursor; LF stands for the end of the last line. */
static inline bool peek(const cursor *c, char *out)
{
    if (c->at < c->end) {
        *out = *c->at;
        return true;
    }
    *out = '\n';
    return c->last;
}

enum { STOP_COMMA = 1, STOP_BLANK = 2, STOP_EQUAL = 4, STOP_LINE = 8, STOP_ESCAPE = 16 };

static inline unsigned stop_of(char ch)
{
    switch (ch) {
    case ',':
        return STOP_COMMA;
    case ' ':
        return STOP_BLANK;
    case '=':
        return STOP_EQUAL;
    case '\n':
        return STOP_LINE;
    case '\\':
        return STOP_ESCAPE;
    default:
        return 0;
    }
}

/* A copy of the token without its backslashes, from `start`; the first stands at the cursor. */
static step unescape(cursor *c, const char *start, unsigned stops, alm_str *out)
{
    const char *p = c->at;
    while (p < c->end && (stop_of(*p) & stops) == 0)
        p += *p == '\\' ? 2 : 1;
    if (p >= c->end && !(c->last && p == c->end))
        return c->last ? bad(c, "a backslash ends the line") : STEP_MORE;
    char *copy = NULL;
    c->st = alm_arena_bytes(c->r->cx, &c->r->texts, (size_t)(p - start) + 1, &copy);
    if (c->st != ALM_OK)
        return STEP_BAD;
    size_t n = 0;
    for (const char *q = start; q < p; q++) {
        q += *q == '\\';
        copy[n++] = *q;
    }
    c->at = p;
    *out = (alm_str){copy, n};
    return STEP_OK;
}

/* The first of `stops` in [p, end), else end; *high: bit 7 of some byte before it. */
static inline const char *find_stop(const char *p, const char *end, unsigned stops, uint8_t *high)
{
    while (p < end && (stop_of(*p) & stops) == 0)
        *high |= (uint8_t)*p++;
    return p;
}

#ifdef __SSE2__
/* The same, sixteen bytes at once. */
static inline const char *find_stop_wide(const char *p, const char *end, unsigned stops,
                                         uint8_t *high)
{
    for (; end - p >= 16; p += 16) {
        __m128i block;
        memcpy(&block, p, sizeof block);
        __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8(' ')),
                                   _mm_cmpeq_epi8(block, _mm_set1_epi8('\n')));
        if (stops & STOP_COMMA)
            hit = _mm_or_si128(hit, _mm_cmpeq_epi8(block, _mm_set1_epi8(',')));
        if (stops & STOP_EQUAL)
            hit = _mm_or_si128(hit, _mm_cmpeq_epi8(block, _mm_set1_epi8('=')));
        if (stops & STOP_ESCAPE)
            hit = _mm_or_si128(hit, _mm_cmpeq_epi8(block, _mm_set1_epi8('\\')));
        const unsigned hits = (unsigned)_mm_movemask_epi8(hit);
        const unsigned highs = (unsigned)_mm_movemask_epi8(block);
        if (hits != 0) {
            const unsigned at = (unsigned)__builtin_ctz(hits);
            *high |= (highs & ((1U << at) - 1)) != 0 ? 0x80 : 0;
            return p + at;
        }
        *high |= highs != 0 ? 0x80 : 0;
    }
    return find_stop(p, end, stops, high);
}
#else
#define find_stop_wide find_stop
#endif

/* Bytes up to one of `stops`, which is left at the cursor; a blank and LF are always among them. CR before
 * the end of the line goes. */
static inline step token(cursor *c, unsigned stops, bool escapes, alm_str *out)
{
    const char *start = c->at;
    const unsigned all = stops | (escapes ? STOP_ESCAPE : 0U);
    uint8_t high = 0;
    const char *p = find_stop_wide(start, c->end, all, &high);
    c->at = p;
    if (p == c->end && !c->last)
        return STEP_MORE;
    if (p < c->end && *p == '\\') {
        STEP_TRY(unescape(c, start, stops, out));
        high = 0x80;
    } else {
        *out = (alm_str){start, (size_t)(p - start)};
    }
    if ((c->at == c->end || *c->at == '\n') && out->len > 0 && out->ptr[out->len - 1] == '\r')
        out->len--;
    if (high >= 0x80 && !alm_utf8_is_valid(*out))
        return bad(c, "bytes that are not UTF-8");
    return STEP_OK;
}

static void skip_blanks(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\r'))
        c->at++;
}

/* The mark that an editor put in front of the lines; also where such files were put one behind another. */
static step skip_mark(cursor *c)
{
    const size_t left = (size_t)(c->end - c->at), n = ALM_MIN(left, (size_t)ALM_UTF8_MARK_BYTES);
    if (n == 0 || memcmp(c->at, ALM_UTF8_MARK, n) != 0)
        return STEP_OK;
    if (n < ALM_UTF8_MARK_BYTES)
        return c->last ? STEP_OK : STEP_MORE;
    c->at += n;
    skip_blanks(c);
    return STEP_OK;
}

static step new_field(cursor *c, uint32_t n, alm_ilp_field **out)
{
    alm_ilp_reader *r = c->r;
    if (n == r->cap) {
        const uint32_t cap = ALM_MAX(32U, r->cap * 2);
        alm_ilp_field *bigger = realloc(r->fields, cap * sizeof *bigger);
        if (bigger == NULL) {
            c->st = alm_fail(r->cx, ALM_E_MEMORY, -1, "no memory for a line of %u fields", n);
            return STEP_BAD;
        }
        r->fields = bigger;
        r->cap = cap;
    }
    /* Name, kind and value are written by who reads them, each once: a struct that is cleared in wide
     * pieces and read in narrow ones makes the processor wait. */
    alm_ilp_field *f = &r->fields[n];
    f->unit = ALM_ILP_NO_UNIT;
    f->scale = f->dims = 0;
    f->is_null = false;
    f->text = (alm_str){0};
    *out = f;
    return STEP_OK;
}

/* ------------------------------------------------------------------------ values */

static step bad_value(cursor *c, const alm_ilp_field *f, alm_str value)
{
    return bad(c, "Could not parse entire line, field value is invalid. Field: %.*s; value: %.*s%s",
               shown(f->name), f->name.ptr, shown(value), value.ptr, value.len > 60 ? "..." : "");
}

static bool take_boolean(alm_str t, alm_ilp_field *f)
{
    const bool yes = alm_str_ieq(t, ALM_STR("t")) || alm_str_ieq(t, ALM_STR("true"));
    if (!yes && !alm_str_ieq(t, ALM_STR("f")) && !alm_str_ieq(t, ALM_STR("false")))
        return false;
    f->kind = ALM_ILP_BOOLEAN;
    f->i = yes;
    return true;
}

/* The least number is the null of all that holds 64 bits: a line that says it would lose it. */
static bool int_parse(alm_str text, int64_t *out)
{
    return alm_int64_parse(text, out) == ALM_NUM_OK && *out != INT64_MIN;
}

static bool take_integer(alm_str body, bool is_unsigned, alm_ilp_field *f)
{
    if (body.len > 2 && body.ptr[0] == '0' && (body.ptr[1] | 0x20) == 'x' && !is_unsigned) {
        f->kind = ALM_ILP_LONG256;
        return alm_long256_parse(body, &f->wide);
    }
    f->kind = ALM_ILP_LONG;
    return int_parse(body, &f->i) && (!is_unsigned || f->i >= 0);
}

static bool take_decimal(alm_str body, alm_ilp_field *f)
{
    uint32_t precision = 0, scale = 0;
    f->kind = ALM_ILP_DECIMAL;
    f->is_null = alm_str_eq(body, ALM_STR("NaN"));
    if (f->is_null)
        return true;
    const bool good = alm_decimal_parse(body, &f->wide, &precision, &scale);
    f->scale = (uint8_t)scale;
    return good;
}

static bool take_double(alm_str t, alm_ilp_field *f)
{
    f->kind = ALM_ILP_DOUBLE;
    const char first =
        t.ptr[t.ptr[0] == '-' || t.ptr[0] == '+' ? ALM_MIN((size_t)1, t.len - 1) : 0];
    const bool word = (first | 0x20) >= 'a' && (first | 0x20) <= 'z';
    if (word && !alm_str_eq(t, ALM_STR("NaN")) && !alm_str_eq(t, ALM_STR("Infinity")) &&
        !alm_str_eq(t, ALM_STR("-Infinity")))
        return false;
    return alm_double_parse(t, &f->f) == ALM_NUM_OK;
}

static alm_ilp_unit unit_of(char suffix)
{
    switch (suffix) {
    case 'n':
        return ALM_ILP_NS;
    case 't':
        return ALM_ILP_US;
    case 'm':
        return ALM_ILP_MS;
    default:
        return ALM_ILP_NO_UNIT;
    }
}

static bool take_time(alm_str body, alm_ilp_unit unit, alm_ilp_field *f)
{
    f->kind = ALM_ILP_TIME;
    f->unit = (uint8_t)unit;
    return int_parse(body, &f->i);
}

/* A value that is neither quoted nor binary. */
static step scalar(cursor *c, alm_ilp_field *f)
{
    alm_str t;
    STEP_TRY(token(c, STOP_COMMA | STOP_BLANK | STOP_LINE, false, &t));
    f->text = t;
    if (t.len == 0)
        return bad_value(c, f, t);
    const char last = t.ptr[t.len - 1];
    const alm_str body = {t.ptr, t.len - 1};
    bool good = false;
    if (last >= '0' && last <= '9')
        good = take_double(t, f);
    else if (take_boolean(t, f))
        good = true;
    else if (last == 'i' || last == 'u')
        good = take_integer(body, last == 'u', f);
    else if (unit_of(last) != ALM_ILP_NO_UNIT)
        good = take_time(body, unit_of(last), f);
    else if (last == 'd')
        good = take_decimal(body, f);
    else
        good = take_double(t, f);
    return good ? STEP_OK : bad_value(c, f, t);
}

/* "text": a backslash makes the next byte literal; a bare LF ends the line before the text is over. */
static step quoted(cursor *c, alm_ilp_field *f)
{
    const char *start = ++c->at, *p = start;
    bool escaped = false;
    uint8_t high = 0;
    while (p < c->end && *p != '"' && *p != '\n') {
        high |= (uint8_t)*p;
        if (*p == '\\') {
            escaped = true;
            p++;
        }
        p++;
    }
    if (p >= c->end)
        return c->last ? bad(c, "the text of field %.*s is not closed", shown(f->name), f->name.ptr)
                       : STEP_MORE;
    if (*p == '\n') {
        c->at = p;
        return bad(c, "the text of field %.*s is not closed", shown(f->name), f->name.ptr);
    }
    f->kind = ALM_ILP_STRING;
    f->text = (alm_str){start, (size_t)(p - start)};
    c->at = p + 1;
    if (escaped) {
        char *copy = NULL;
        size_t n = 0;
        c->st = alm_arena_bytes(c->r->cx, &c->r->texts, f->text.len + 1, &copy);
        if (c->st != ALM_OK)
            return STEP_BAD;
        for (const char *q = start; q < p; q++) {
            q += *q == '\\';
            copy[n++] = *q;
        }
        f->text = (alm_str){copy, n};
    }
    if (high >= 0x80 && !alm_utf8_is_valid(f->text))
        return bad(c, "the text of field %.*s is not UTF-8", shown(f->name), f->name.ptr);
    return STEP_OK;
}

/* ------------------------------------------------------------------ binary values */

enum { BINARY_DOUBLE = 0x10, BINARY_ARRAY = 0x0e, BINARY_DECIMAL = 0x17, ELEMENT_DOUBLE = 0x0a };

static step need(cursor *c, const alm_ilp_field *f, size_t n)
{
    if ((size_t)(c->end - c->at) >= n)
        return STEP_OK;
    return c->last
               ? bad(c, "the binary value of field %.*s is cut off", shown(f->name), f->name.ptr)
               : STEP_MORE;
}

static step binary_array(cursor *c, alm_ilp_field *f)
{
    STEP_TRY(need(c, f, 2));
    const uint8_t element = (uint8_t)c->at[0], dims = (uint8_t)c->at[1];
    if (element != ELEMENT_DOUBLE)
        return bad(c, "field %.*s: an array has elements of type %u, only double is supported",
                   shown(f->name), f->name.ptr, element);
    if (dims == 0 || dims > ALM_ARRAY_DIMS_MAX)
        return bad(c, "field %.*s: an array of %u dimensions", shown(f->name), f->name.ptr, dims);
    c->at += 2;
    STEP_TRY(need(c, f, 4 * (size_t)dims));
    size_t count = 1;
    for (uint8_t d = 0; d < dims; d++) {
        uint32_t len;
        memcpy(&len, c->at + 4 * (size_t)d, sizeof len);
        count *= len;
        if (len > INT32_MAX || count > (size_t)1 << 27)
            return bad(c, "field %.*s: an array that is too large", shown(f->name), f->name.ptr);
    }
    const size_t bytes = 4 * (size_t)dims + 8 * count;
    STEP_TRY(need(c, f, bytes));
    f->kind = ALM_ILP_ARRAY;
    f->dims = dims;
    f->text = (alm_str){c->at, bytes};
    c->at += bytes;
    return STEP_OK;
}

/* scale, length, two's complement with the highest byte first; no bytes: null */
static step binary_decimal(cursor *c, alm_ilp_field *f)
{
    STEP_TRY(need(c, f, 2));
    const uint8_t scale = (uint8_t)c->at[0], len = (uint8_t)c->at[1];
    if (scale > ALM_DECIMAL_DIGITS_MAX || len > 32)
        return bad(c, "field %.*s: a decimal with scale %u and %u bytes", shown(f->name),
                   f->name.ptr, scale, len);
    c->at += 2;
    STEP_TRY(need(c, f, len));
    const uint8_t fill = len > 0 && (c->at[0] & 0x80) != 0 ? 0xff : 0;
    uint8_t bytes[32]; /* lowest first */
    memset(bytes, fill, sizeof bytes);
    for (uint8_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)c->at[len - 1 - i];
    memcpy(&f->wide, bytes, sizeof f->wide);
    f->kind = ALM_ILP_DECIMAL;
    f->scale = scale;
    f->is_null = len == 0;
    c->at += len;
    return STEP_OK;
}

static step binary(cursor *c, alm_ilp_field *f)
{
    c->at++; /* the second = */
    STEP_TRY(need(c, f, 1));
    const uint8_t type = (uint8_t)*c->at++;
    switch (type) {
    case BINARY_DOUBLE:
        STEP_TRY(need(c, f, sizeof f->f));
        memcpy(&f->f, c->at, sizeof f->f);
        c->at += sizeof f->f;
        f->kind = ALM_ILP_DOUBLE;
        return STEP_OK;
    case BINARY_ARRAY:
        return binary_array(c, f);
    case BINARY_DECIMAL:
        return binary_decimal(c, f);
    default:
        return bad(c, "field %.*s: unknown type %u of a binary value", shown(f->name), f->name.ptr,
                   type);
    }
}

/* -------------------------------------------------------------------------- lines */

/* Past the comma behind a symbol or a field; *end: nothing follows it, as clients write that put one behind each. */
static step pass_comma(cursor *c, bool *end)
{
    char ch;
    c->at++;
    if (!peek(c, &ch))
        return STEP_MORE;
    *end = ch == ' ' || ch == '\n' || ch == '\r';
    return STEP_OK;
}

static step tags(cursor *c, uint32_t *n)
{
    char ch;
    for (;;) {
        bool end = false;
        if (!peek(c, &ch))
            return STEP_MORE;
        if (ch != ',')
            return STEP_OK;
        STEP_TRY(pass_comma(c, &end));
        if (end)
            return STEP_OK;
        alm_ilp_field *f = NULL;
        STEP_TRY(new_field(c, *n, &f));
        f->kind = ALM_ILP_SYMBOL;
        STEP_TRY(token(c, STOP_COMMA | STOP_BLANK | STOP_EQUAL | STOP_LINE, true, &f->name));
        (void)peek(c, &ch);
        if (f->name.len == 0)
            return bad(c, "a symbol without a name");
        if (ch != '=')
            return bad(c, "Symbol value is missing: %.*s", shown(f->name), f->name.ptr);
        c->at++;
        STEP_TRY(token(c, STOP_COMMA | STOP_BLANK | STOP_LINE, true, &f->text));
        (*n)++;
    }
}

static step stamp(cursor *c, alm_str t, alm_ilp_line *line)
{
    alm_str digits = t;
    const char last = t.len > 0 ? t.ptr[t.len - 1] : 0;
    const alm_ilp_unit unit = unit_of(last);
    if (unit != ALM_ILP_NO_UNIT) {
        line->time_unit = unit;
        digits.len--;
    }
    if (alm_int64_parse(digits, &line->time) != ALM_NUM_OK)
        return bad(c, "Could not parse timestamp: %.*s", shown(t), t.ptr);
    line->has_time = true;
    skip_blanks(c);
    char ch;
    if (!peek(c, &ch))
        return STEP_MORE;
    return ch == '\n' ? STEP_OK : bad(c, "something stands behind the timestamp");
}

static step value(cursor *c, alm_ilp_field *f)
{
    char ch;
    if (!peek(c, &ch))
        return STEP_MORE;
    if (ch == '"')
        return quoted(c, f);
    return ch == '=' ? binary(c, f) : scalar(c, f);
}

/* Fields and the time, the blank before them read. Without fields the word may be the time. */
static step fields(cursor *c, uint32_t *n, alm_ilp_line *line)
{
    char ch;
    bool end = false;
    for (bool first = true; !end; first = false) {
        alm_ilp_field *f = NULL;
        STEP_TRY(new_field(c, *n, &f));
        STEP_TRY(token(c, STOP_COMMA | STOP_BLANK | STOP_EQUAL | STOP_LINE, true, &f->name));
        (void)peek(c, &ch);
        if (ch != '=' && ch != ',' && first)
            return stamp(c, f->name, line);
        if (ch != '=')
            return bad(c, "Field value is missing: %.*s", shown(f->name), f->name.ptr);
        if (f->name.len == 0)
            return bad(c, "a field without a name");
        c->at++;
        STEP_TRY(value(c, f));
        (*n)++;
        if (!peek(c, &ch))
            return STEP_MORE;
        if (ch == ',') {
            STEP_TRY(pass_comma(c, &end));
            continue;
        }
        if (ch != ' ' && ch != '\n' && ch != '\r')
            return bad(c, "field %.*s: ',' or a blank is expected behind its value", shown(f->name),
                       f->name.ptr);
        break;
    }
    skip_blanks(c);
    if (!peek(c, &ch))
        return STEP_MORE;
    if (ch == '\n')
        return STEP_OK;
    alm_str t;
    STEP_TRY(token(c, STOP_BLANK | STOP_LINE, false, &t));
    if (end && memchr(t.ptr, '=', t.len) != NULL)
        return bad(c, "Field value is missing: a blank stands between ',' and %.*s", shown(t),
                   t.ptr);
    return stamp(c, t, line);
}

static step one_line(cursor *c, alm_ilp_line *line)
{
    char ch;
    uint32_t n = 0;
    STEP_TRY(token(c, STOP_COMMA | STOP_BLANK | STOP_LINE, true, &line->table));
    if (line->table.len == 0)
        return bad(c, "a line without a table");
    STEP_TRY(tags(c, &n));
    skip_blanks(c);
    if (!peek(c, &ch))
        return STEP_MORE;
    if (ch != '\n')
        STEP_TRY(fields(c, &n, line));
    if (n == 0)
        return bad(c, "No fields were provided");
    line->fields = c->r->fields;
    line->n_fields = n;
    return STEP_OK;
}

/* The rest of the line, its LF included; 0: it has not come yet. */
static size_t rest_of_line(const cursor *c, const char *start)
{
    const char *lf = memchr(c->at, '\n', (size_t)(c->end - c->at));
    return lf != NULL ? (size_t)(lf + 1 - start) : c->last ? (size_t)(c->end - start) : 0;
}

alm_status alm_ilp_next(alm_ilp_reader *r, const char *bytes, size_t n, bool last, size_t *used,
                        alm_ilp_line *line, alm_ilp_result *result)
{
    cursor c = {.r = r, .at = bytes, .end = bytes + n, .last = last, .st = ALM_OK};
    *used = 0;
    *line = (alm_ilp_line){0};
    *result = ALM_ILP_BLANK;
    if (r->skipping) {
        *used = rest_of_line(&c, bytes);
        r->skipping = *used == 0 && !last;
        *used = r->skipping ? n : *used;
        return ALM_OK;
    }
    alm_arena_reset(&r->texts);
    skip_blanks(&c);
    if (skip_mark(&c) == STEP_MORE) {
        *result = ALM_ILP_MORE;
        return ALM_OK;
    }
    if (c.at == c.end || *c.at == '\n' || *c.at == '#') {
        *used = rest_of_line(&c, bytes);
        *result = *used == 0 ? ALM_ILP_MORE : ALM_ILP_BLANK;
        return ALM_OK;
    }
    const step got = one_line(&c, line);
    if (c.st != ALM_OK)
        return c.st;
    if (got == STEP_MORE) {
        *result = ALM_ILP_MORE;
        return ALM_OK;
    }
    *result = got == STEP_OK ? ALM_ILP_LINE : ALM_ILP_BAD;
    *used = rest_of_line(&c, bytes);
    if (*used == 0) { /* bad, and its end has not come */
        r->skipping = true;
        *used = n;
    }
    return ALM_OK;
}
