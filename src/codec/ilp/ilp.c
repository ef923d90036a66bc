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

ALM_PRINTF(2, 3) static step ilp_bad(cursor *self, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(self->r->reason, sizeof self->r->reason, format, args);
    va_end(args);
    return STEP_BAD;
}

static int ilp_shown(alm_str text)
{
    return (int)ALM_MIN(text.len, (size_t)60);
}

void alm_ilp_init(alm_ilp_reader *reader, alm_ctx *cx)
{
    *reader = (alm_ilp_reader){.cx = cx};
    alm_arena_init(&reader->texts, cx->mem);
}

void alm_ilp_deinit(alm_ilp_reader *reader)
{
    alm_arena_deinit(&reader->texts);
    free(reader->fields);
    reader->fields = NULL;
    reader->cap = 0;
}

/* ------------------------------------------------------------------------ tokens */

/* The byte at the cursor; LF stands for the end of the last line. */
static inline bool ilp_peek(const cursor *self, char *out)
{
    if (self->at < self->end) {
        *out = *self->at;
        return true;
    }
    *out = '\n';
    return self->last;
}

enum { STOP_COMMA = 1, STOP_BLANK = 2, STOP_EQUAL = 4, STOP_LINE = 8, STOP_ESCAPE = 16 };

static inline unsigned stop_of(char byte)
{
    switch (byte) {
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
static step ilp_unescape(cursor *self, const char *start, unsigned stops, alm_str *out)
{
    const char *ptr = self->at;
    while (ptr < self->end && (stop_of(*ptr) & stops) == 0)
        ptr += *ptr == '\\' ? 2 : 1;
    if (ptr >= self->end && !(self->last && ptr == self->end))
        return self->last ? ilp_bad(self, "a backslash ends the line") : STEP_MORE;
    char *copy = NULL;
    self->st = alm_arena_bytes(self->r->cx, &self->r->texts, (size_t)(ptr - start) + 1, &copy);
    if (self->st != ALM_OK)
        return STEP_BAD;
    size_t count = 0;
    for (const char *q = start; q < ptr; q++) {
        q += *q == '\\';
        copy[count++] = *q;
    }
    self->at = ptr;
    *out = (alm_str){copy, count};
    return STEP_OK;
}

/* The first of `stops` in [ptr, end), else end; *high: bit 7 of some byte before it. */
static inline const char *find_stop(const char *ptr, const char *end, unsigned stops, uint8_t *high)
{
    while (ptr < end && (stop_of(*ptr) & stops) == 0)
        *high |= (uint8_t)*ptr++;
    return ptr;
}

#ifdef __SSE2__
/* The same, sixteen bytes at once. */
static inline const char *find_stop_wide(const char *ptr, const char *end, unsigned stops,
                                         uint8_t *high)
{
    for (; end - ptr >= 16; ptr += 16) {
        __m128i block;
        memcpy(&block, ptr, sizeof block);
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
            return ptr + at;
        }
        *high |= highs != 0 ? 0x80 : 0;
    }
    return find_stop(ptr, end, stops, high);
}
#else
#define find_stop_wide find_stop
#endif

/* Bytes up to one of `stops`, which is left at the cursor; a blank and LF are always among them. CR before
 * the end of the line goes. */
static inline step ilp_token(cursor *self, unsigned stops, bool escapes, alm_str *out)
{
    const char *start = self->at;
    const unsigned all = stops | (escapes ? STOP_ESCAPE : 0U);
    uint8_t high = 0;
    const char *ptr = find_stop_wide(start, self->end, all, &high);
    self->at = ptr;
    if (ptr == self->end && !self->last)
        return STEP_MORE;
    if (ptr < self->end && *ptr == '\\') {
        STEP_TRY(ilp_unescape(self, start, stops, out));
        high = 0x80;
    } else {
        *out = (alm_str){start, (size_t)(ptr - start)};
    }
    if ((self->at == self->end || *self->at == '\n') && out->len > 0 &&
        out->ptr[out->len - 1] == '\r')
        out->len--;
    if (high >= 0x80 && !alm_utf8_is_valid(*out))
        return ilp_bad(self, "bytes that are not UTF-8");
    return STEP_OK;
}

static void ilp_skip_blanks(cursor *self)
{
    while (self->at < self->end && (*self->at == ' ' || *self->at == '\r'))
        self->at++;
}

/* The mark that an editor put in front of the lines; also where such files were put one behind another. */
static step skip_mark(cursor *self)
{
    const size_t left = (size_t)(self->end - self->at),
                 n = ALM_MIN(left, (size_t)ALM_UTF8_MARK_BYTES);
    if (n == 0 || memcmp(self->at, ALM_UTF8_MARK, n) != 0)
        return STEP_OK;
    if (n < ALM_UTF8_MARK_BYTES)
        return self->last ? STEP_OK : STEP_MORE;
    self->at += n;
    ilp_skip_blanks(self);
    return STEP_OK;
}

static step new_field(cursor *self, uint32_t n, alm_ilp_field **out)
{
    alm_ilp_reader *reader = self->r;
    if (n == reader->cap) {
        const uint32_t cap = ALM_MAX(32U, reader->cap * 2);
        alm_ilp_field *bigger = realloc(reader->fields, cap * sizeof *bigger);
        if (bigger == NULL) {
            self->st =
                alm_fail(reader->cx, ALM_E_MEMORY, -1, "no memory for a line of %u fields", n);
            return STEP_BAD;
        }
        reader->fields = bigger;
        reader->cap = cap;
    }
    /* Name, kind and value are written by who reads them, each once: a struct that is cleared in wide
     * pieces and read in narrow ones makes the processor wait. */
    alm_ilp_field *field = &reader->fields[n];
    field->unit = ALM_ILP_NO_UNIT;
    field->scale = field->dims = 0;
    field->is_null = false;
    field->text = (alm_str){0};
    *out = field;
    return STEP_OK;
}

/* ------------------------------------------------------------------------ values */

static step ilp_bad_value(cursor *self, const alm_ilp_field *field, alm_str value)
{
    return ilp_bad(
        self, "Could not parse entire line, field value is invalid. Field: %.*s; value: %.*s%s",
        ilp_shown(field->name), field->name.ptr, ilp_shown(value), value.ptr,
        value.len > 60 ? "..." : "");
}

static bool take_boolean(alm_str text, alm_ilp_field *field)
{
    const bool yes = alm_str_ieq(text, ALM_STR("t")) || alm_str_ieq(text, ALM_STR("true"));
    if (!yes && !alm_str_ieq(text, ALM_STR("f")) && !alm_str_ieq(text, ALM_STR("false")))
        return false;
    field->kind = ALM_ILP_BOOLEAN;
    field->i = yes;
    return true;
}

/* The least number is the null of all that holds 64 bits: a line that says it would lose it. */
static bool int_parse(alm_str text, int64_t *out)
{
    return alm_int64_parse(text, out) == ALM_NUM_OK && *out != INT64_MIN;
}

static bool take_integer(alm_str body, bool is_unsigned, alm_ilp_field *field)
{
    if (body.len > 2 && body.ptr[0] == '0' && (body.ptr[1] | 0x20) == 'x' && !is_unsigned) {
        field->kind = ALM_ILP_LONG256;
        return alm_long256_parse(body, &field->wide);
    }
    field->kind = ALM_ILP_LONG;
    return int_parse(body, &field->i) && (!is_unsigned || field->i >= 0);
}

static bool take_decimal(alm_str body, alm_ilp_field *field)
{
    uint32_t precision = 0, scale = 0;
    field->kind = ALM_ILP_DECIMAL;
    field->is_null = alm_str_eq(body, ALM_STR("NaN"));
    if (field->is_null)
        return true;
    const bool good = alm_decimal_parse(body, &field->wide, &precision, &scale);
    field->scale = (uint8_t)scale;
    return good;
}

static bool ilp_take_double(alm_str text, alm_ilp_field *field)
{
    field->kind = ALM_ILP_DOUBLE;
    const char first =
        text.ptr[text.ptr[0] == '-' || text.ptr[0] == '+' ? ALM_MIN((size_t)1, text.len - 1) : 0];
    const bool word = (first | 0x20) >= 'a' && (first | 0x20) <= 'z';
    if (word && !alm_str_eq(text, ALM_STR("NaN")) && !alm_str_eq(text, ALM_STR("Infinity")) &&
        !alm_str_eq(text, ALM_STR("-Infinity")))
        return false;
    return alm_double_parse(text, &field->f) == ALM_NUM_OK;
}

static alm_ilp_unit ilp_unit_of(char suffix)
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

static bool take_time(alm_str body, alm_ilp_unit unit, alm_ilp_field *field)
{
    field->kind = ALM_ILP_TIME;
    field->unit = (uint8_t)unit;
    return int_parse(body, &field->i);
}

/* A value that is neither quoted nor binary. */
static step ilp_scalar(cursor *self, alm_ilp_field *field)
{
    alm_str text;
    STEP_TRY(ilp_token(self, STOP_COMMA | STOP_BLANK | STOP_LINE, false, &text));
    field->text = text;
    if (text.len == 0)
        return ilp_bad_value(self, field, text);
    const char last = text.ptr[text.len - 1];
    const alm_str body = {text.ptr, text.len - 1};
    bool good = false;
    if (last >= '0' && last <= '9')
        good = ilp_take_double(text, field);
    else if (take_boolean(text, field))
        good = true;
    else if (last == 'i' || last == 'u')
        good = take_integer(body, last == 'u', field);
    else if (ilp_unit_of(last) != ALM_ILP_NO_UNIT)
        good = take_time(body, ilp_unit_of(last), field);
    else if (last == 'd')
        good = take_decimal(body, field);
    else
        good = ilp_take_double(text, field);
    return good ? STEP_OK : ilp_bad_value(self, field, text);
}

/* "text": a backslash makes the next byte literal; a bare LF ends the line before the text is over. */
static step ilp_quoted(cursor *self, alm_ilp_field *field)
{
    const char *start = ++self->at, *ptr = start;
    bool escaped = false;
    uint8_t high = 0;
    while (ptr < self->end && *ptr != '"' && *ptr != '\n') {
        high |= (uint8_t)*ptr;
        if (*ptr == '\\') {
            escaped = true;
            ptr++;
        }
        ptr++;
    }
    if (ptr >= self->end)
        return self->last ? ilp_bad(self, "the text of field %.*s is not closed",
                                    ilp_shown(field->name), field->name.ptr)
                          : STEP_MORE;
    if (*ptr == '\n') {
        self->at = ptr;
        return ilp_bad(self, "the text of field %.*s is not closed", ilp_shown(field->name),
                       field->name.ptr);
    }
    field->kind = ALM_ILP_STRING;
    field->text = (alm_str){start, (size_t)(ptr - start)};
    self->at = ptr + 1;
    if (escaped) {
        char *copy = NULL;
        size_t count = 0;
        self->st = alm_arena_bytes(self->r->cx, &self->r->texts, field->text.len + 1, &copy);
        if (self->st != ALM_OK)
            return STEP_BAD;
        for (const char *q = start; q < ptr; q++) {
            q += *q == '\\';
            copy[count++] = *q;
        }
        field->text = (alm_str){copy, count};
    }
    if (high >= 0x80 && !alm_utf8_is_valid(field->text))
        return ilp_bad(self, "the text of field %.*s is not UTF-8", ilp_shown(field->name),
                       field->name.ptr);
    return STEP_OK;
}

/* ------------------------------------------------------------------ binary values */

enum { BINARY_DOUBLE = 0x10, BINARY_ARRAY = 0x0e, BINARY_DECIMAL = 0x17, ELEMENT_DOUBLE = 0x0a };

static step need(cursor *self, const alm_ilp_field *field, size_t n)
{
    if ((size_t)(self->end - self->at) >= n)
        return STEP_OK;
    return self->last ? ilp_bad(self, "the binary value of field %.*s is cut off",
                                ilp_shown(field->name), field->name.ptr)
                      : STEP_MORE;
}

static step binary_array(cursor *self, alm_ilp_field *field)
{
    STEP_TRY(need(self, field, 2));
    const uint8_t element = (uint8_t)self->at[0], dims = (uint8_t)self->at[1];
    if (element != ELEMENT_DOUBLE)
        return ilp_bad(self,
                       "field %.*s: an array has elements of type %u, only double is supported",
                       ilp_shown(field->name), field->name.ptr, element);
    if (dims == 0 || dims > ALM_ARRAY_DIMS_MAX)
        return ilp_bad(self, "field %.*s: an array of %u dimensions", ilp_shown(field->name),
                       field->name.ptr, dims);
    self->at += 2;
    STEP_TRY(need(self, field, 4 * (size_t)dims));
    size_t count = 1;
    for (uint8_t d = 0; d < dims; d++) {
        uint32_t len;
        memcpy(&len, self->at + 4 * (size_t)d, sizeof len);
        count *= len;
        if (len > INT32_MAX || count > (size_t)1 << 27)
            return ilp_bad(self, "field %.*s: an array that is too large", ilp_shown(field->name),
                           field->name.ptr);
    }
    const size_t bytes = 4 * (size_t)dims + 8 * count;
    STEP_TRY(need(self, field, bytes));
    field->kind = ALM_ILP_ARRAY;
    field->dims = dims;
    field->text = (alm_str){self->at, bytes};
    self->at += bytes;
    return STEP_OK;
}

/* scale, length, two's complement with the highest byte first; no bytes: null */
static step binary_decimal(cursor *self, alm_ilp_field *field)
{
    STEP_TRY(need(self, field, 2));
    const uint8_t scale = (uint8_t)self->at[0], len = (uint8_t)self->at[1];
    if (scale > ALM_DECIMAL_DIGITS_MAX || len > 32)
        return ilp_bad(self, "field %.*s: a decimal with scale %u and %u bytes",
                       ilp_shown(field->name), field->name.ptr, scale, len);
    self->at += 2;
    STEP_TRY(need(self, field, len));
    const uint8_t fill = len > 0 && (self->at[0] & 0x80) != 0 ? 0xff : 0;
    uint8_t bytes[32]; /* lowest first */
    memset(bytes, fill, sizeof bytes);
    for (uint8_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)self->at[len - 1 - i];
    memcpy(&field->wide, bytes, sizeof field->wide);
    field->kind = ALM_ILP_DECIMAL;
    field->scale = scale;
    field->is_null = len == 0;
    self->at += len;
    return STEP_OK;
}

static step binary(cursor *self, alm_ilp_field *field)
{
    self->at++; /* the second = */
    STEP_TRY(need(self, field, 1));
    const uint8_t type = (uint8_t)*self->at++;
    switch (type) {
    case BINARY_DOUBLE:
        STEP_TRY(need(self, field, sizeof field->f));
        memcpy(&field->f, self->at, sizeof field->f);
        self->at += sizeof field->f;
        field->kind = ALM_ILP_DOUBLE;
        return STEP_OK;
    case BINARY_ARRAY:
        return binary_array(self, field);
    case BINARY_DECIMAL:
        return binary_decimal(self, field);
    default:
        return ilp_bad(self, "field %.*s: unknown type %u of a binary value",
                       ilp_shown(field->name), field->name.ptr, type);
    }
}

/* -------------------------------------------------------------------------- lines */

/* Past the comma behind a symbol or a field; *end: nothing follows it, as clients write that put one behind each. */
static step pass_comma(cursor *self, bool *end)
{
    char byte;
    self->at++;
    if (!ilp_peek(self, &byte))
        return STEP_MORE;
    *end = byte == ' ' || byte == '\n' || byte == '\r';
    return STEP_OK;
}

static step tags(cursor *self, uint32_t *n)
{
    char byte;
    for (;;) {
        bool end = false;
        if (!ilp_peek(self, &byte))
            return STEP_MORE;
        if (byte != ',')
            return STEP_OK;
        STEP_TRY(pass_comma(self, &end));
        if (end)
            return STEP_OK;
        alm_ilp_field *field = NULL;
        STEP_TRY(new_field(self, *n, &field));
        field->kind = ALM_ILP_SYMBOL;
        STEP_TRY(
            ilp_token(self, STOP_COMMA | STOP_BLANK | STOP_EQUAL | STOP_LINE, true, &field->name));
        (void)ilp_peek(self, &byte);
        if (field->name.len == 0)
            return ilp_bad(self, "a symbol without a name");
        if (byte != '=')
            return ilp_bad(self, "Symbol value is missing: %.*s", ilp_shown(field->name),
                           field->name.ptr);
        self->at++;
        STEP_TRY(ilp_token(self, STOP_COMMA | STOP_BLANK | STOP_LINE, true, &field->text));
        (*n)++;
    }
}

static step stamp(cursor *self, alm_str text, alm_ilp_line *line)
{
    alm_str digits = text;
    const char last = text.len > 0 ? text.ptr[text.len - 1] : 0;
    const alm_ilp_unit unit = ilp_unit_of(last);
    if (unit != ALM_ILP_NO_UNIT) {
        line->time_unit = unit;
        digits.len--;
    }
    if (alm_int64_parse(digits, &line->time) != ALM_NUM_OK)
        return ilp_bad(self, "Could not parse timestamp: %.*s", ilp_shown(text), text.ptr);
    line->has_time = true;
    ilp_skip_blanks(self);
    char byte;
    if (!ilp_peek(self, &byte))
        return STEP_MORE;
    return byte == '\n' ? STEP_OK : ilp_bad(self, "something stands behind the timestamp");
}

static step ilp_value(cursor *self, alm_ilp_field *field)
{
    char byte;
    if (!ilp_peek(self, &byte))
        return STEP_MORE;
    if (byte == '"')
        return ilp_quoted(self, field);
    return byte == '=' ? binary(self, field) : ilp_scalar(self, field);
}

/* Fields and the time, the blank before them read. Without fields the word may be the time. */
static step ilp_fields(cursor *self, uint32_t *n, alm_ilp_line *line)
{
    char byte;
    bool end = false;
    for (bool first = true; !end; first = false) {
        alm_ilp_field *field = NULL;
        STEP_TRY(new_field(self, *n, &field));
        STEP_TRY(
            ilp_token(self, STOP_COMMA | STOP_BLANK | STOP_EQUAL | STOP_LINE, true, &field->name));
        (void)ilp_peek(self, &byte);
        if (byte != '=' && byte != ',' && first)
            return stamp(self, field->name, line);
        if (byte != '=')
            return ilp_bad(self, "Field value is missing: %.*s", ilp_shown(field->name),
                           field->name.ptr);
        if (field->name.len == 0)
            return ilp_bad(self, "a field without a name");
        self->at++;
        STEP_TRY(ilp_value(self, field));
        (*n)++;
        if (!ilp_peek(self, &byte))
            return STEP_MORE;
        if (byte == ',') {
            STEP_TRY(pass_comma(self, &end));
            continue;
        }
        if (byte != ' ' && byte != '\n' && byte != '\r')
            return ilp_bad(self, "field %.*s: ',' or a blank is expected behind its value",
                           ilp_shown(field->name), field->name.ptr);
        break;
    }
    ilp_skip_blanks(self);
    if (!ilp_peek(self, &byte))
        return STEP_MORE;
    if (byte == '\n')
        return STEP_OK;
    alm_str text;
    STEP_TRY(ilp_token(self, STOP_BLANK | STOP_LINE, false, &text));
    if (end && memchr(text.ptr, '=', text.len) != NULL)
        return ilp_bad(self, "Field value is missing: a blank stands between ',' and %.*s",
                       ilp_shown(text), text.ptr);
    return stamp(self, text, line);
}

static step one_line(cursor *self, alm_ilp_line *line)
{
    char byte;
    uint32_t n = 0;
    STEP_TRY(ilp_token(self, STOP_COMMA | STOP_BLANK | STOP_LINE, true, &line->table));
    if (line->table.len == 0)
        return ilp_bad(self, "a line without a table");
    STEP_TRY(tags(self, &n));
    ilp_skip_blanks(self);
    if (!ilp_peek(self, &byte))
        return STEP_MORE;
    if (byte != '\n')
        STEP_TRY(ilp_fields(self, &n, line));
    if (n == 0)
        return ilp_bad(self, "No fields were provided");
    line->fields = self->r->fields;
    line->n_fields = n;
    return STEP_OK;
}

/* The rest of the line, its LF included; 0: it has not come yet. */
static size_t rest_of_line(const cursor *self, const char *start)
{
    const char *line_end = memchr(self->at, '\n', (size_t)(self->end - self->at));
    return line_end != NULL ? (size_t)(line_end + 1 - start)
           : self->last     ? (size_t)(self->end - start)
                            : 0;
}

alm_status alm_ilp_next(alm_ilp_reader *reader, const char *bytes, size_t n, bool last,
                        size_t *used, alm_ilp_line *line, alm_ilp_result *result)
{
    cursor self = {.r = reader, .at = bytes, .end = bytes + n, .last = last, .st = ALM_OK};
    *used = 0;
    *line = (alm_ilp_line){0};
    *result = ALM_ILP_BLANK;
    if (reader->skipping) {
        *used = rest_of_line(&self, bytes);
        reader->skipping = *used == 0 && !last;
        *used = reader->skipping ? n : *used;
        return ALM_OK;
    }
    alm_arena_reset(&reader->texts);
    ilp_skip_blanks(&self);
    if (skip_mark(&self) == STEP_MORE) {
        *result = ALM_ILP_MORE;
        return ALM_OK;
    }
    if (self.at == self.end || *self.at == '\n' || *self.at == '#') {
        *used = rest_of_line(&self, bytes);
        *result = *used == 0 ? ALM_ILP_MORE : ALM_ILP_BLANK;
        return ALM_OK;
    }
    const step got = one_line(&self, line);
    if (self.st != ALM_OK)
        return self.st;
    if (got == STEP_MORE) {
        *result = ALM_ILP_MORE;
        return ALM_OK;
    }
    *result = got == STEP_OK ? ALM_ILP_LINE : ALM_ILP_BAD;
    *used = rest_of_line(&self, bytes);
    if (*used == 0) { /* bad, and its end has not come */
        reader->skipping = true;
        *used = n;
    }
    return ALM_OK;
}
