/*
 * text.c - parts of texts, their length, padding, case, searching and replacing.
 *
 * Null rule   Null in, null out, but for length(null), which is -1.
 * Units       Positions and lengths are characters, counted from 1. length counts UTF-16 units, as
 *             clients of the reference do. Texts of ASCII only are cut without looking for characters.
 * Ownership   Parts of a text point into it, without a copy; what is new is in the call's arena.
 */
#include "base/utf8.h"
#include "func/value/dict.h"
#include "func/value/quote.h"
#include "func/value/tables.h"
#include "func/value/text_out.h"

static inline alm_str scalar_text_at(const alm_vec *vec, size_t i)
{
    const alm_view *view = (const alm_view *)vec->data + (vec->is_const ? 0 : i);
    return alm_view_is_null(view) ? (alm_str){0} : alm_view_str(view, vec->heap);
}

static inline int32_t int_at(const alm_vec *vec, size_t i)
{
    return ((const int32_t *)vec->data)[vec->is_const ? 0 : i];
}

/* A part of an argument: short parts move into the view, long ones stay where they are. */
static inline alm_view scalar_text_part_of(alm_str text)
{
    return alm_view_of(text);
}

/* Byte offset of character number n, from the front. */
static inline size_t scalar_text_offset_of(alm_str text, size_t n)
{
    return alm_utf8_is_ascii(text) ? ALM_MIN(n, text.len) : alm_utf8_offset(text, n);
}

static inline size_t scalar_text_count_of(alm_str text)
{
    return alm_utf8_is_ascii(text) ? text.len : alm_utf8_count(text);
}

/* -------------------------------------------------------------- left, right */

/* Characters to take off the front: count >= 0 that many, else all but that many. */
static size_t front_count(int64_t count, size_t chars)
{
    const int64_t all = (int64_t)chars;
    const int64_t take = count >= 0 ? ALM_MIN(count, all) : ALM_MAX(all + count, 0);
    return (size_t)take;
}

static alm_str cut_left(alm_str text, int32_t count)
{
    if (count >= 0)
        return (alm_str){text.ptr, scalar_text_offset_of(text, (size_t)count)};
    return (alm_str){text.ptr,
                     scalar_text_offset_of(text, front_count(count, scalar_text_count_of(text)))};
}

static alm_str cut_right(alm_str text, int32_t count)
{
    const size_t chars = scalar_text_count_of(text), take = front_count(count, chars);
    const size_t from = scalar_text_offset_of(text, chars - take);
    return (alm_str){text.ptr + from, text.len - from};
}

#define CUT(name)                                                                                  \
    static alm_status name(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)            \
    {                                                                                              \
        ALM_OVER_DICT(name, call, n, args, out);                                                   \
        alm_view *o = out->data;                                                                   \
        for (size_t i = 0; i < n; i++) {                                                           \
            const alm_str text = scalar_text_at(&args[0], i);                                      \
            const int32_t count = int_at(&args[1], i);                                             \
            ALM_TRY(alm_text_work(call->cx, text.len));                                            \
            o[i] = text.ptr == NULL || count == ALM_INT_NULL                                       \
                       ? alm_view_null()                                                           \
                       : scalar_text_part_of(cut_##name(text, count));                             \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }
CUT(left)
CUT(right)

/* ---------------------------------------------------------------- substring */

/* Positions before the first character count too: (0, 3) is two characters. */
static alm_status substring(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    ALM_OVER_DICT(substring, call, n_rows, args, out);
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_str text = scalar_text_at(&args[0], i);
        const int32_t start = int_at(&args[1], i);
        const int32_t length = call->argc > 2 ? int_at(&args[2], i) : INT32_MAX;
        ALM_TRY(alm_text_work(call->cx, text.len));
        views[i] = alm_view_null();
        if (text.ptr == NULL || start == ALM_INT_NULL || length == ALM_INT_NULL)
            continue;
        if (length < 0 && !args[2].is_const)
            continue;
        if (length < 0)
            return alm_fail(call->cx, ALM_E_ARG, call->pos,
                            "negative substring length is not allowed: %d", length);
        const int64_t end = (int64_t)start - 1 + length, from = ALM_MAX((int64_t)start - 1, 0);
        if (end <= from) {
            views[i] = alm_view_of(ALM_STR(""));
            continue;
        }
        const size_t lo = scalar_text_offset_of(text, (size_t)from);
        const alm_str rest = {text.ptr + lo, text.len - lo};
        views[i] = scalar_text_part_of(
            (alm_str){rest.ptr, scalar_text_offset_of(rest, (size_t)(end - from))});
    }
    return ALM_OK;
}

/* --------------------------------------------------------------------- trim */

static alm_str scalar_text_trimmed(alm_str text, bool front, bool back)
{
    while (front && text.len > 0 && text.ptr[0] == ' ')
        text = (alm_str){text.ptr + 1, text.len - 1};
    while (back && text.len > 0 && text.ptr[text.len - 1] == ' ')
        text.len--;
    return text;
}

#define TRIM(name, front, back)                                                                    \
    static alm_status name(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)            \
    {                                                                                              \
        ALM_OVER_DICT(name, call, n, args, out);                                                   \
        alm_view *o = out->data;                                                                   \
        for (size_t i = 0; i < n; i++) {                                                           \
            const alm_str text = scalar_text_at(&args[0], i);                                      \
            o[i] = text.ptr == NULL ? alm_view_null()                                              \
                                    : scalar_text_part_of(scalar_text_trimmed(text, front, back)); \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }
TRIM(scalar_text_trim, true, true)
TRIM(ltrim, true, false)
TRIM(rtrim, false, true)

/* Length of the character that ends at `end`. */
static size_t last_char(const char *from, const char *end)
{
    size_t n = 1;
    while (from + n < end && ((unsigned char)end[-(ptrdiff_t)n] & 0xc0) == 0x80)
        n++;
    return n;
}

static size_t first_char(const char *from, const char *end)
{
    size_t n = 1;
    while (from + n < end && ((unsigned char)from[n] & 0xc0) == 0x80)
        n++;
    return n;
}

/* Without the characters of `set` at the ends. */
static alm_str trimmed_of(alm_str text, alm_str set, bool front, bool back)
{
    const char *from = text.ptr, *end = text.ptr + text.len;
    while (front && from < end && set.len > 0) {
        const size_t n = first_char(from, end);
        if (memmem(set.ptr, set.len, from, n) == NULL)
            break;
        from += n;
    }
    while (back && from < end && set.len > 0) {
        const size_t n = last_char(from, end);
        if (memmem(set.ptr, set.len, end - n, n) == NULL)
            break;
        end -= n;
    }
    return (alm_str){from, (size_t)(end - from)};
}

/* btrim, ltrim, rtrim with the characters that go. */
static alm_status trim_set(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    const bool front = call->fn->name[0] != 'r', back = call->fn->name[0] != 'l';
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_str text = scalar_text_at(&args[0], i);
        const alm_str set = scalar_text_at(&args[1], i);
        ALM_TRY(alm_text_work(call->cx, text.len));
        views[i] = alm_view_null();
        if (text.ptr != NULL && set.ptr != NULL)
            ALM_TRY(alm_text_copy(&writer, trimmed_of(text, set, front, back), &views[i]));
    }
    return ALM_OK;
}

/* --------------------------------------------------------------------- pad */

/* `pad` over and over, `chars` characters of it. */
static char *put_padding(char *ptr, alm_str pad, size_t chars)
{
    const size_t unit = scalar_text_count_of(pad);
    for (; chars >= unit; chars -= unit) {
        memcpy(ptr, pad.ptr, pad.len);
        ptr += pad.len;
    }
    const size_t rest = scalar_text_offset_of(pad, chars);
    memcpy(ptr, pad.ptr, rest);
    return ptr + rest;
}

enum { WIDTH_MAX = 1 << 20 };

static alm_status pad_one(const alm_call *call, alm_text_out *writer, alm_str text, int32_t width,
                          alm_str pad, bool left, alm_view *out)
{
    const size_t chars = scalar_text_count_of(text), want = (size_t)width;
    if (width > WIDTH_MAX)
        return alm_fail(call->cx, ALM_E_LIMIT, call->pos,
                        "padding to %d characters is above the limit of %d", width, WIDTH_MAX);
    if (chars >= want || pad.len == 0) {
        *out = scalar_text_part_of((alm_str){text.ptr, scalar_text_offset_of(text, want)});
        return ALM_OK;
    }
    const size_t missing = want - chars;
    char *ptr;
    ALM_TRY(alm_text_room(writer, text.len + (missing / scalar_text_count_of(pad) + 1) * pad.len,
                          &ptr));
    char *at = ptr;
    if (left)
        at = put_padding(at, pad, missing);
    memcpy(at, text.ptr, text.len);
    at += text.len;
    if (!left)
        at = put_padding(at, pad, missing);
    *out = alm_text_take(writer, (size_t)(at - ptr));
    return ALM_OK;
}

static alm_status pad_all(const alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out,
                          bool left)
{
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_str text = scalar_text_at(&args[0], i);
        const int32_t width = int_at(&args[1], i);
        const alm_str pad = call->argc == 3 ? scalar_text_at(&args[2], i) : ALM_STR(" ");
        views[i] = alm_view_null();
        const bool large = width > WIDTH_MAX && !args[1].is_const;
        if (text.ptr != NULL && pad.ptr != NULL && width >= 0 && !large)
            ALM_TRY(pad_one(call, &writer, text, width, pad, left, &views[i]));
    }
    return ALM_OK;
}

static alm_status lpad(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    ALM_OVER_DICT(lpad, call, n_rows, args, out);
    return pad_all(call, n_rows, args, out, true);
}

static alm_status rpad(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    ALM_OVER_DICT(rpad, call, n_rows, args, out);
    return pad_all(call, n_rows, args, out, false);
}

/* -------------------------------------------------------------------- case */

#define CASE(name, map, lo, hi, shift)                                                             \
    static alm_status name(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)            \
    {                                                                                              \
        ALM_OVER_DICT(name, call, n, args, out);                                                   \
        alm_text_out w = alm_text_out_of(call);                                                    \
        alm_view *o = out->data;                                                                   \
        for (size_t i = 0; i < n; i++) {                                                           \
            const alm_str text = scalar_text_at(&args[0], i);                                      \
            o[i] = alm_view_null();                                                                \
            if (text.ptr == NULL)                                                                  \
                continue;                                                                          \
            if (!alm_utf8_is_ascii(text)) {                                                        \
                alm_str mapped;                                                                    \
                ALM_TRY(map(call->cx, call->arena, text, &mapped));                                \
                o[i] = alm_view_of(mapped);                                                        \
                continue;                                                                          \
            }                                                                                      \
            char *p;                                                                               \
            ALM_TRY(alm_text_room(&w, text.len, &p));                                              \
            for (size_t k = 0; k < text.len; k++) {                                                \
                const char c = text.ptr[k];                                                        \
                p[k] = c >= (lo) && c <= (hi) ? (char)(c ^ (shift)) : c;                           \
            }                                                                                      \
            o[i] = alm_text_take(&w, text.len);                                                    \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }
CASE(upper, alm_utf8_upper, 'a', 'z', 0x20)
CASE(scalar_text_lower, alm_utf8_lower, 'A', 'Z', 0x20)

/* ----------------------------------------------------------- length, search */

static alm_status scalar_text_length(alm_call *call, size_t n_rows, const alm_vec *args,
                                     alm_vec *out)
{
    ALM_OVER_DICT(scalar_text_length, call, n_rows, args, out);
    int32_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_str text = scalar_text_at(&args[0], i);
        ALM_TRY(alm_text_work(call->cx, text.len));
        if (text.ptr == NULL)
            results[i] = -1;
        else
            results[i] = (int32_t)(alm_utf8_is_ascii(text) ? text.len : alm_utf8_count_utf16(text));
    }
    return ALM_OK;
}

static alm_status length_bytes(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    ALM_OVER_DICT(length_bytes, call, n_rows, args, out);
    int32_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_str text = scalar_text_at(&args[0], i);
        results[i] = text.ptr == NULL ? -1 : (int32_t)ALM_MIN(text.len, (size_t)INT32_MAX);
    }
    return ALM_OK;
}

static alm_status strpos(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    ALM_OVER_DICT(strpos, call, n_rows, args, out);
    int32_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_str text = scalar_text_at(&args[0], i), what = scalar_text_at(&args[1], i);
        ALM_TRY(alm_text_work(call->cx, text.len));
        results[i] = ALM_INT_NULL;
        if (text.ptr == NULL || what.ptr == NULL)
            continue;
        results[i] = what.len == 0;
        if (what.len == 0 || text.len == 0)
            continue;
        const char *hit = memmem(text.ptr, text.len, what.ptr, what.len);
        if (hit != NULL)
            results[i] =
                (int32_t)scalar_text_count_of((alm_str){text.ptr, (size_t)(hit - text.ptr)}) + 1;
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------ replace */

/* First occurrence in text, NULL if there is none. */
static const char *scalar_text_find(alm_str text, alm_str what)
{
    return text.len < what.len ? NULL : memmem(text.ptr, text.len, what.ptr, what.len);
}

static alm_status scalar_text_replace_one(alm_text_out *writer, alm_str text, alm_str what,
                                          alm_str with, alm_view *out)
{
    size_t hits = 0;
    alm_str rest = text;
    for (const char *hit; what.len > 0 && (hit = scalar_text_find(rest, what)) != NULL; hits++) {
        const char *next = hit + what.len;
        rest = (alm_str){next, (size_t)(text.ptr + text.len - next)};
    }
    if (hits == 0) {
        *out = scalar_text_part_of(text);
        return ALM_OK;
    }
    const size_t bytes = text.len - hits * what.len + hits * with.len;
    char *ptr, *at;
    ALM_TRY(alm_text_room(writer, bytes, &ptr));
    at = ptr;
    rest = text;
    for (size_t k = 0; k < hits; k++) {
        const char *hit = scalar_text_find(rest, what);
        const size_t before = (size_t)(hit - rest.ptr);
        memcpy(at, rest.ptr, before);
        memcpy(at + before, with.ptr, with.len);
        at += before + with.len;
        rest = (alm_str){hit + what.len, rest.len - before - what.len};
    }
    memcpy(at, rest.ptr, rest.len);
    *out = alm_text_take(writer, bytes);
    return ALM_OK;
}

static alm_status scalar_text_replace(alm_call *call, size_t n_rows, const alm_vec *args,
                                      alm_vec *out)
{
    ALM_OVER_DICT(scalar_text_replace, call, n_rows, args, out);
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_str text = scalar_text_at(&args[0], i), what = scalar_text_at(&args[1], i),
                      with = scalar_text_at(&args[2], i);
        ALM_TRY(alm_text_work(call->cx, text.len));
        views[i] = alm_view_null();
        if (text.ptr != NULL && what.ptr != NULL && with.ptr != NULL)
            ALM_TRY(scalar_text_replace_one(&writer, text, what, with, &views[i]));
    }
    return ALM_OK;
}

/* --------------------------------------------------------------- split_part */

/* Field number k > 0 from the front; empty if there are fewer. */
static alm_str scalar_text_field(alm_str text, alm_str by, int64_t k)
{
    alm_str rest = text;
    for (;;) {
        const char *hit = by.len == 0 ? NULL : scalar_text_find(rest, by);
        if (k == 1)
            return (alm_str){rest.ptr, hit == NULL ? rest.len : (size_t)(hit - rest.ptr)};
        if (hit == NULL)
            return ALM_STR("");
        rest = (alm_str){hit + by.len, (size_t)(rest.ptr + rest.len - (hit + by.len))};
        k--;
    }
}

static int64_t field_count(alm_str text, alm_str by)
{
    int64_t count = 1;
    alm_str rest = text;
    for (const char *hit; by.len > 0 && (hit = scalar_text_find(rest, by)) != NULL; count++)
        rest = (alm_str){hit + by.len, (size_t)(rest.ptr + rest.len - (hit + by.len))};
    return count;
}

static alm_status scalar_text_split_part(alm_call *call, size_t n_rows, const alm_vec *args,
                                         alm_vec *out)
{
    ALM_OVER_DICT(scalar_text_split_part, call, n_rows, args, out);
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_str text = scalar_text_at(&args[0], i), by = scalar_text_at(&args[1], i);
        int64_t k = int_at(&args[2], i);
        ALM_TRY(alm_text_work(call->cx, text.len));
        views[i] = alm_view_null();
        if (k == 0 && args[2].is_const)
            return alm_fail(call->cx, ALM_E_ARG, call->pos, "field position must not be zero");
        if (text.ptr == NULL || by.ptr == NULL || k == ALM_INT_NULL || k == 0)
            continue;
        if (k < 0)
            k += field_count(text, by) + 1;
        views[i] =
            k < 1 ? alm_view_of(ALM_STR("")) : scalar_text_part_of(scalar_text_field(text, by, k));
    }
    return ALM_OK;
}

/* -------------------------------------------------------------- quote_ident */

static alm_status quote_ident(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    ALM_OVER_DICT(quote_ident, call, n_rows, args, out);
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_str text = scalar_text_at(&args[0], i);
        views[i] = text.ptr == NULL ? alm_view_null() : scalar_text_part_of(text);
        if (text.ptr == NULL || alm_name_is_plain(text))
            continue;
        char *ptr;
        ALM_TRY(alm_text_room(&writer, text.len * 2 + 2, &ptr));
        views[i] = alm_text_take(&writer, alm_quote(text, '"', ptr));
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------- rows */

#define ROW(f, sig, kernel_, flags_, doc_, example_)                                               \
    {.name = f,                                                                                    \
     .signature = sig,                                                                             \
     .flags = ALM_FN_SYMBOLS | (flags_),                                                           \
     .kernel = kernel_,                                                                            \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}
#define NULLS ALM_FN_NULL_OUT
/* STRING for STRING and SYMBOL, VARCHAR for VARCHAR. */
#define TEXTS_OF(f, rest, kernel, flags, doc, example)                                             \
    ROW(f, "(STRING" rest ") STRING", kernel, flags, doc, example),                                \
        ROW(f, "(SYMBOL" rest ") STRING", kernel, flags, doc, example),                            \
        ROW(f, "(VARCHAR" rest ") VARCHAR", kernel, flags, doc, example)
#define TEXTS(f, rest, kernel, doc, example) TEXTS_OF(f, rest, kernel, NULLS, doc, example)
#define PADS(f, kernel, doc, example)                                                              \
    TEXTS_OF(f, ", INT", kernel, NULLS | ALM_FN_WAITS, doc, example)
/* The same with a second text, which must be VARCHAR too for a result of VARCHAR. */
#define TWO_TEXTS_OF(f, rest, more, kernel, flags, doc, example)                                   \
    ROW(f, "(STRING" rest "STRING" more ") STRING", kernel, flags, doc, example),                  \
        ROW(f, "(SYMBOL" rest "STRING" more ") STRING", kernel, flags, doc, example),              \
        ROW(f, "(VARCHAR" rest "VARCHAR" more ") VARCHAR", kernel, flags, doc, example)
#define TWO_TEXTS(f, rest, more, kernel, doc, example)                                             \
    TWO_TEXTS_OF(f, rest, more, kernel, NULLS, doc, example)
#define PADS_WITH(f, kernel, doc, example)                                                         \
    TWO_TEXTS_OF(f, ", INT, ", "", kernel, NULLS | ALM_FN_WAITS, doc, example)
#define ROW_OF_REPLACE(sig)                                                                        \
    ROW("replace", sig, scalar_text_replace, NULLS | ALM_FN_WAITS,                                 \
        "Every occurrence of the second text replaced.", "replace('abcabc', 'bc', 'X')")

static const alm_fn ROWS[] = {
    TEXTS("left", ", INT", left, "First characters; with a negative count all but the last.",
          "left('Hello', 2)"),
    TEXTS("right", ", INT", right, "Last characters; with a negative count all but the first.",
          "right('Hello', 2)"),
    ROW("substring", "(TEXT, INT, INT) STRING", substring, NULLS,
        "Part from a position (1 is the first) with so many characters.",
        "substring('Hello World', 1, 5)"),
    ROW("substring", "(TEXT, INT) STRING", substring, NULLS,
        "Part from a position (1 is the first) to the end.", "substring('Hello World', 7)"),
    TEXTS("trim", "", scalar_text_trim, "Without blanks at both ends.", "trim('  x  ')"),
    TEXTS("ltrim", "", ltrim, "Without blanks in front.", "ltrim('  x')"),
    TEXTS("rtrim", "", rtrim, "Without blanks behind.", "rtrim('x  ')"),
    ROW("btrim", "(STRING, STRING) STRING", trim_set, NULLS,
        "Without those characters at both ends; trim(both c from x) is this.",
        "btrim('\"a\"', '\"')"),
    ROW("ltrim", "(STRING, STRING) STRING", trim_set, NULLS,
        "Without those characters in front; trim(leading c from x) is this.", "ltrim('xxa', 'x')"),
    ROW("rtrim", "(STRING, STRING) STRING", trim_set, NULLS,
        "Without those characters behind; trim(trailing c from x) is this.", "rtrim('axx', 'x')"),
    PADS("lpad", lpad, "Filled up in front with blanks, or cut.", "lpad('7', 3)"),
    PADS_WITH("lpad", lpad, "Filled up in front, or cut.", "lpad('7', 3, '0')"),
    PADS("rpad", rpad, "Filled up behind with blanks, or cut.", "rpad('7', 3)"),
    PADS_WITH("rpad", rpad, "Filled up behind, or cut.", "rpad('7', 3, '.')"),
    ROW("upper", "(TEXT) STRING", upper, NULLS, "In capital letters.", "upper('abc')"),
    ROW("to_uppercase", "(TEXT) STRING", upper, NULLS, "In capital letters.",
        "to_uppercase('abc')"),
    ROW("lower", "(TEXT) STRING", scalar_text_lower, NULLS, "In small letters.", "lower('ABC')"),
    ROW("to_lowercase", "(TEXT) STRING", scalar_text_lower, NULLS, "In small letters.",
        "to_lowercase('ABC')"),
    ROW("length", "(TEXT) INT", scalar_text_length, 0, "Characters (UTF-16 units); -1 for null.",
        "length('abc')"),
    ROW("length_bytes", "(TEXT) INT", length_bytes, 0, "Bytes in UTF-8; -1 for null.",
        "length_bytes('Zürich')"),
    ROW("strpos", "(TEXT, TEXT) INT", strpos, NULLS,
        "Where the second text starts in the first, from 1; 0: nowhere.", "strpos('Hello', 'l')"),
    ROW("position", "(TEXT, TEXT) INT", strpos, NULLS,
        "Where the second text starts in the first, from 1; 0: nowhere.", "position('Hello', 'l')"),
    ROW_OF_REPLACE("(STRING, STRING, STRING) STRING"),
    ROW_OF_REPLACE("(SYMBOL, STRING, STRING) STRING"),
    ROW_OF_REPLACE("(VARCHAR, VARCHAR, VARCHAR) VARCHAR"),
    TWO_TEXTS("split_part", ", ", ", INT", scalar_text_split_part,
              "Field between separators, counted from 1, from the end with a negative number.",
              "split_part('a,b,c', ',', 2)"),
    TEXTS("quote_ident", "", quote_ident, "As a quoted name, where it has to be.",
          "quote_ident('a b')"),
};
ALM_FN_TABLE(text, ROWS);
