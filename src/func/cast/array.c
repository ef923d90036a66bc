/*
 * array.c - casts of DOUBLE[]: from text, from numbers (one element), to more dimensions, to text.
 *
 * Null rule   Null to null. A text that is no array of the dimensions gives null, or an error where the
 *             cast is strict.
 */
#include "type/array.h"
#include "func/cast/value.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"
#include "func/value/text_out.h"

static alm_status read_arrays(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out,
                              bool strict)
{
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_str text = alm_vec_text(&args[0], i);
        bool good = true;
        views[i] = alm_view_null();
        if (text.ptr != NULL)
            ALM_TRY(alm_array_parse(call->cx, call->arena, call->pos, out->type.dims, text,
                                    &views[i], &good));
        if (!good && strict)
            return alm_fail(call->cx, ALM_E_VALUE, call->pos,
                            "inconvertible value: `%.*s` [%s -> %s]",
                            (int)ALM_MIN(text.len, (size_t)100), text.ptr,
                            alm_type_name(args[0].type), alm_type_name(out->type));
    }
    return ALM_OK;
}

static alm_status cast_array_read_loose(alm_call *call, size_t n_rows, const alm_vec *args,
                                        alm_vec *out)
{
    return read_arrays(call, n_rows, args, out, false);
}

static alm_status cast_array_read_strict(alm_call *call, size_t n_rows, const alm_vec *args,
                                         alm_vec *out)
{
    return read_arrays(call, n_rows, args, out, true);
}

/* A number becomes an array of one element in every dimension. */
static alm_status cast_array_wrap(alm_call *call, double value, uint32_t dims, alm_view *out)
{
    uint32_t len[ALM_ARRAY_DIMS_MAX];
    alm_array_out writer;
    for (uint32_t dim = 0; dim < dims; dim++)
        len[dim] = 1;
    ALM_TRY(alm_array_begin(call->cx, call->arena, call->pos, dims, len, &writer));
    alm_array_put(&writer, 0, value);
    *out = alm_array_finish(&writer);
    return ALM_OK;
}

#define FROM_NUMBER(name, T, is_null)                                                              \
    static alm_status name(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)            \
    {                                                                                              \
        alm_view *o = out->data;                                                                   \
        for (size_t i = 0; i < n; i++) {                                                           \
            const T x = ALM_AT(T, args[0], i);                                                     \
            o[i] = alm_view_null();                                                                \
            if (!(is_null))                                                                        \
                ALM_TRY(cast_array_wrap(call, (double)x, out->type.dims, &o[i]));                  \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }
FROM_NUMBER(from_byte, int8_t, false)
FROM_NUMBER(from_short, int16_t, false)
FROM_NUMBER(from_int, int32_t, x == ALM_INT_NULL)
FROM_NUMBER(from_long, int64_t, x == ALM_LONG_NULL)
FROM_NUMBER(from_float, float, x != x)
FROM_NUMBER(from_double, double, x != x)

static alm_status bind_widen(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, int32_t pos,
                             ALM_UNUSED uint32_t argc, alm_arg *args, alm_type *result,
                             ALM_UNUSED void **data)
{
    if (args[0].type.dims <= result->dims)
        return ALM_OK;
    return alm_fail(cx, ALM_E_TYPE, pos,
                    "cannot cast array to lower dimension [from=%s (%uD), to=%s (%uD)]. Use array "
                    "flattening operation (e.g. 'flatten(arr)') instead",
                    alm_type_name(args[0].type), args[0].type.dims, alm_type_name(*result),
                    result->dims);
}

/* New dimensions come in front, one long. */
static alm_status cast_array_widen(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_array array = alm_array_of(&args[0], i);
        uint32_t len[ALM_ARRAY_DIMS_MAX];
        alm_array_out writer;
        views[i] = alm_view_null();
        if (array.dims == 0)
            continue;
        const uint32_t more = out->type.dims - array.dims;
        for (uint32_t dim = 0; dim < out->type.dims; dim++)
            len[dim] = dim < more ? 1 : array.len[dim - more];
        ALM_TRY(alm_array_begin(call->cx, call->arena, call->pos, out->type.dims, len, &writer));
        memcpy(writer.at, array.data, array.count * sizeof(double));
        views[i] = alm_array_finish(&writer);
    }
    return ALM_OK;
}

static alm_status cast_array_to_text(alm_call *call, size_t n_rows, const alm_vec *args,
                                     alm_vec *out)
{
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    alm_buf text;
    alm_status status = ALM_OK;
    alm_buf_init(&text, NULL);
    for (size_t i = 0; status == ALM_OK && i < n_rows; i++) {
        const alm_array array = alm_array_of(&args[0], i);
        views[i] = alm_view_null();
        if (array.dims == 0)
            continue;
        text.len = 0;
        status = alm_array_format(call->cx, &array, ALM_TEXT_DIALECT, &text);
        if (status == ALM_OK)
            status = alm_text_copy(&writer, (alm_str){text.ptr, text.len}, &views[i]);
    }
    alm_buf_deinit(&text);
    return status;
}

#define FROM_TEXT(text)                                                                            \
    ALM_CAST_ROW("::array", text, "ARRAY", NULL, cast_array_read_loose),                           \
        ALM_CAST_ROW("=>array", text, "ARRAY", NULL, cast_array_read_strict)

static const alm_fn ROWS[] = {
    FROM_TEXT("STRING"),
    FROM_TEXT("VARCHAR"),
    FROM_TEXT("SYMBOL"),
    ALM_CAST_ROW("::array", "BYTE", "ARRAY", NULL, from_byte),
    ALM_CAST_ROW("::array", "SHORT", "ARRAY", NULL, from_short),
    ALM_CAST_ROW("::array", "INT", "ARRAY", NULL, from_int),
    ALM_CAST_ROW("::array", "LONG", "ARRAY", NULL, from_long),
    ALM_CAST_ROW("::array", "FLOAT", "ARRAY", NULL, from_float),
    ALM_CAST_ROW("::array", "DOUBLE", "ARRAY", NULL, from_double),
    ALM_CAST_ROW("::array", "ARRAY", "ARRAY", bind_widen, cast_array_widen),
    ALM_CAST_ROW("::string", "ARRAY", "STRING", NULL, cast_array_to_text),
    ALM_CAST_ROW("::varchar", "ARRAY", "VARCHAR", NULL, cast_array_to_text),
};
ALM_FN_TABLE(cast_array, ROWS);
