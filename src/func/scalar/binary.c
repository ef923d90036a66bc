/*
 * binary.c - BINARY: equality, length, base64, from_base64, to_char.
 *
 * Null rule   Null equals null; the length of null is -1, everything else of null is null. A text
 *             that is not base 64 gives null.
 */
#include "base/base64.h"
#include "func/value/args.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"
#include "func/value/text_out.h"

static alm_status scalar_binary_compare(size_t n_rows, const alm_vec *args, alm_vec *out,
                                        bool equal)
{
    const alm_view *x = args[0].data, *y = args[1].data;
    const size_t step_x = args[0].is_const ? 0 : 1, step_y = args[1].is_const ? 0 : 1;
    uint8_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++, x += step_x, y += step_y)
        results[i] = alm_view_eq(x, args[0].heap, y, args[1].heap) == equal;
    return ALM_OK;
}

static alm_status scalar_binary_equal(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                                      alm_vec *out)
{
    return scalar_binary_compare(n_rows, args, out, true);
}

static alm_status scalar_binary_unequal(ALM_UNUSED alm_call *call, size_t n_rows,
                                        const alm_vec *args, alm_vec *out)
{
    return scalar_binary_compare(n_rows, args, out, false);
}

static inline int64_t scalar_binary_bytes_of(alm_view view)
{
    return alm_view_is_null(&view) ? -1 : (int64_t)view.len;
}
ALM_UNARY(length, alm_view, int64_t, scalar_binary_bytes_of(x))

/* ------------------------------------------------------------------ base 64 */

static alm_status bind_base64(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                              ALM_UNUSED uint32_t argc, alm_arg *args, ALM_UNUSED alm_type *result,
                              ALM_UNUSED void **data)
{
    int64_t most = 1;
    if (args[1].value != NULL)
        ALM_TRY(alm_arg_long(cx, &args[1], &most));
    if (most < 1)
        return alm_fail(cx, ALM_E_ARG, args[1].pos, "maxLength has to be greater than 0");
    return ALM_OK;
}

static alm_status to_base64(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_str text = alm_vec_text(&args[0], i);
        const int32_t most = ALM_AT(int32_t, args[1], i);
        char *ptr;
        views[i] = alm_view_null();
        if (text.ptr == NULL || most < 0)
            continue;
        const size_t bytes = ALM_MIN(text.len, (size_t)most);
        ALM_TRY(alm_text_room(&writer, alm_base64_len(bytes), &ptr));
        views[i] = alm_text_take(&writer, alm_base64_encode((alm_str){text.ptr, bytes}, ptr));
    }
    return ALM_OK;
}

static alm_status scalar_binary_from_base64(alm_call *call, size_t n_rows, const alm_vec *args,
                                            alm_vec *out)
{
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_str text = alm_vec_text(&args[0], i);
        char *ptr;
        size_t bytes = 0;
        views[i] = alm_view_null();
        if (text.ptr == NULL)
            continue;
        ALM_TRY(alm_text_room(&writer, alm_base64_bytes_max(text.len), &ptr));
        if (alm_base64_decode(text, ptr, &bytes))
            views[i] = alm_text_take(&writer, bytes);
    }
    return ALM_OK;
}

/* ----------------------------------------------------------------- to_char */

enum { LINE_BYTES = 16, OFFSET_DIGITS = 8 };

/* Lines of 16 bytes: "00000000 ee 41 1d", the offset first. */
static size_t dump(const uint8_t *input, size_t n, char *out)
{
    static const char hex[] = "0123456789abcdef";
    char *results = out;
    for (size_t i = 0; i < n; i++) {
        if (i % LINE_BYTES == 0) {
            if (i > 0)
                *results++ = '\n';
            for (int shift = 4 * (OFFSET_DIGITS - 1); shift >= 0; shift -= 4)
                *results++ = hex[i >> shift & 15];
        }
        *results++ = ' ';
        *results++ = hex[input[i] >> 4];
        *results++ = hex[input[i] & 15];
    }
    return (size_t)(results - out);
}

static alm_status to_char(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_str text = alm_vec_text(&args[0], i);
        char *ptr;
        views[i] = alm_view_null();
        if (text.ptr == NULL)
            continue;
        const size_t lines = (text.len + LINE_BYTES - 1) / LINE_BYTES;
        ALM_TRY(alm_text_room(&writer, text.len * 3 + lines * (OFFSET_DIGITS + 1), &ptr));
        views[i] = alm_text_take(&writer, dump((const uint8_t *)text.ptr, text.len, ptr));
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------- rows */

#define OP(op, kernel_, doc_)                                                                      \
    {.name = op,                                                                                   \
     .signature = "(BINARY, BINARY) BOOLEAN",                                                      \
     .flags = ALM_FN_INTERNAL,                                                                     \
     .kernel = kernel_,                                                                            \
     .doc = doc_,                                                                                  \
     .example = "b " op " from_base64('AAEC')",                                                    \
     .since = "0.1"}
#define ROW(f, sig, flags_, bind_, kernel_, doc_, example_)                                        \
    {.name = f,                                                                                    \
     .signature = sig,                                                                             \
     .flags = flags_,                                                                              \
     .bind = bind_,                                                                                \
     .kernel = kernel_,                                                                            \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}

static const alm_fn ROWS[] = {
    OP("=", scalar_binary_equal, "The same bytes; null equals null."),
    OP("!=", scalar_binary_unequal, "Not the same bytes."),
    OP("<>", scalar_binary_unequal, "Not the same bytes."),
    ROW("length", "(BINARY) LONG", 0, NULL, length, "Bytes; -1 for null.",
        "length(from_base64('AAECAwQ='))"),
    ROW("base64", "(BINARY, INT const) STRING", ALM_FN_NULL_OUT, bind_base64, to_base64,
        "Base 64 of so many bytes at most.", "base64(from_base64('AAECAwQ='), 3)"),
    ROW("from_base64", "(TEXT) BINARY", ALM_FN_NULL_OUT, NULL, scalar_binary_from_base64,
        "Bytes of a text in base 64; null if it is none.", "from_base64('AAECAwQ=')"),
    ROW("to_char", "(BINARY) STRING", ALM_FN_NULL_OUT, NULL, to_char,
        "Bytes in hexadecimal digits, 16 a line.", "to_char(from_base64('AAECAwQ='))"),
};
ALM_FN_TABLE(binary, ROWS);
