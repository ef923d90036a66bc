/*
 * text_make.c - initcap, reverse, repeat, chr, ascii: texts made character by character.
 *
 * Null rule   Null in, null out.
 * Units       A character is a Unicode code point.
 */
#include "base/utf8.h"
#include "func/value/by_row.h"
#include "func/value/dict.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"
#include "func/value/text_out.h"

static inline alm_str make_text_at(const alm_vec *vec, size_t i)
{
    const alm_view *view = (const alm_view *)vec->data + (vec->is_const ? 0 : i);
    return alm_view_is_null(view) ? (alm_str){0} : alm_view_str(view, vec->heap);
}

/* A text of each text: MAKE is an alm_status over alm_str text, alm_text_out *w, alm_view *to. */
#define TEXT_OF_TEXT(name, MAKE)                                                                   \
    static alm_status name(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)            \
    {                                                                                              \
        ALM_OVER_DICT(name, call, n, args, out);                                                   \
        alm_text_out room = alm_text_out_of(call), *w = &room;                                     \
        for (size_t i = 0; i < n; i++) {                                                           \
            const alm_str text = make_text_at(&args[0], i);                                        \
            alm_view *to = (alm_view *)out->data + i;                                              \
            *to = alm_view_null();                                                                 \
            if (text.ptr != NULL)                                                                  \
                ALM_TRY(MAKE);                                                                     \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }

/* ----------------------------------------------------------- initcap, reverse */

static bool text_make_is_word(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || (unsigned char)byte >= 0x80;
}

/* The rest of the words is small already. */
static alm_status put_capitals(alm_text_out *writer, alm_str text, alm_view *dest)
{
    enum {
        GROWTH = 3
    }; /* a capital may be longer than its letter: SS of ß, three code points at most */
    char *ptr;
    size_t len = 0;
    bool inside = false;
    ALM_TRY(alm_text_room(writer, text.len * GROWTH + 1, &ptr));
    for (size_t i = 0; i < text.len;) {
        const size_t from = i;
        (void)alm_utf8_next(text, &i);
        alm_str letter = {text.ptr + from, i - from};
        const bool word = text_make_is_word(letter.ptr[0]);
        if (word && !inside && letter.len > 1)
            ALM_TRY(alm_utf8_upper(writer->cx, writer->arena, letter, &letter));
        memcpy(ptr + len, letter.ptr, letter.len);
        if (word && !inside && letter.ptr[0] >= 'a' && letter.ptr[0] <= 'z')
            ptr[len] = (char)(letter.ptr[0] - 'a' + 'A');
        len += letter.len;
        inside = word;
    }
    *dest = alm_text_take(writer, len);
    return ALM_OK;
}

static alm_status make_initcap(alm_text_out *writer, alm_str text, alm_view *dest)
{
    alm_str small;
    ALM_TRY(alm_utf8_lower(writer->cx, writer->arena, text, &small));
    return put_capitals(writer, small, dest);
}
TEXT_OF_TEXT(initcap, make_initcap(w, text, to))

static alm_status make_reverse(alm_text_out *writer, alm_str text, alm_view *dest)
{
    char *ptr;
    ALM_TRY(alm_text_room(writer, text.len, &ptr));
    for (size_t i = 0; i < text.len;) {
        const size_t from = i;
        (void)alm_utf8_next(text, &i);
        memcpy(ptr + text.len - i, text.ptr + from, i - from);
    }
    *dest = alm_text_take(writer, text.len);
    return ALM_OK;
}
TEXT_OF_TEXT(text_make_reverse, make_reverse(w, text, to))

/* --------------------------------------------------------------------- repeat */

static alm_status repeat(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    enum { BYTES_MAX = 1 << 20 };
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_str text = make_text_at(&args[0], i);
        const int32_t times = ALM_AT(int32_t, args[1], i);
        char *ptr;
        views[i] = alm_view_null();
        if (text.ptr == NULL || times == ALM_INT_NULL)
            continue;
        const size_t count = times > 0 ? (size_t)times : 0;
        const bool large = count * text.len > BYTES_MAX;
        if (large && alm_by_row(args, 0, 2))
            continue;
        if (large)
            return alm_fail(call->cx, ALM_E_LIMIT, call->pos,
                            "a repeated text of %zu bytes is above the limit of %d",
                            count * text.len, BYTES_MAX);
        ALM_TRY(alm_text_room(&writer, count * text.len, &ptr));
        for (size_t k = 0; k < count && text.len > 0; k++)
            memcpy(ptr + k * text.len, text.ptr, text.len);
        views[i] = alm_text_take(&writer, count * text.len);
    }
    return ALM_OK;
}

/* ----------------------------------------------------------------- chr, ascii */

static bool is_code_point(int32_t code)
{
    return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

static alm_status chr(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    enum { ROOM = 4 };
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const int32_t code = ALM_AT(int32_t, args[0], i);
        char text[ROOM];
        views[i] = alm_view_null();
        if (is_code_point(code)) /* short enough to be inside of the view */
            views[i] = alm_view_of((alm_str){text, alm_utf8_put((uint32_t)code, text)});
    }
    return ALM_OK;
}

static alm_status ascii(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    ALM_OVER_DICT(ascii, call, n_rows, args, out);
    int32_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_str text = make_text_at(&args[0], i);
        size_t offset = 0;
        results[i] = text.ptr == NULL ? ALM_INT_NULL : 0;
        if (text.len > 0)
            results[i] = (int32_t)alm_utf8_next(text, &offset);
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------- rows */

#define ROW(f, sig, flags_, kernel_, doc_, example_)                                               \
    {.name = f,                                                                                    \
     .signature = sig,                                                                             \
     .flags = ALM_FN_NULL_OUT | (flags_),                                                          \
     .kernel = kernel_,                                                                            \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}

static const alm_fn ROWS[] = {
    ROW("initcap", "(TEXT) STRING", ALM_FN_SYMBOLS, initcap,
        "First letter of every word a capital, the others small; words are letters and digits.",
        "initcap('hello WORLD-wide')"),
    ROW("reverse", "(TEXT) STRING", ALM_FN_SYMBOLS, text_make_reverse,
        "Characters in the opposite order.", "reverse('abc')"),
    ROW("repeat", "(TEXT, INT) STRING", ALM_FN_WAITS, repeat,
        "The text so many times; empty for a number below 1. Up to 1 MiB.", "repeat('ab', 3)"),
    ROW("chr", "(INT) STRING", 0, chr,
        "The character of a Unicode number; null where there is none.", "chr(8364)"),
    ROW("ascii", "(TEXT) INT", ALM_FN_SYMBOLS, ascii,
        "Unicode number of the first character; 0 for an empty text.", "ascii('A')"),
};
ALM_FN_TABLE(text_make, ROWS);
