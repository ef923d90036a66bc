/*
 * wide.c - LONG256, GEOHASH, DECIMAL and BINARY as text and back, and LONG256 as other numbers.
 *
 * Null rule   Null to null. A text that is no value of the type: for LONG256 null, or an error where
 *             the cast is strict; for GEOHASH and DECIMAL null of a column, an error of a constant.
 */
#include <float.h>

#include "base/utf8.h"
#include "func/cast/value.h"
#include "func/value/args.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"
#include "func/value/text_out.h"
#include "type/decimal.h"
#include "type/geohash.h"
#include "type/text.h"

/* ----------------------------------------------------------- text to values */

static alm_str wide_text_at(const alm_vec *vec, size_t i, char scratch[4])
{
    if (vec->type.id != ALM_T_CHAR)
        return alm_vec_text(vec, i);
    const uint16_t unit = ((const uint16_t *)vec->data)[vec->is_const ? 0 : i];
    return unit == 0 ? (alm_str){0} : (alm_str){scratch, alm_utf8_from_unit(unit, scratch)};
}

static alm_status wide_inconvertible(const alm_call *call, const alm_vec *from, alm_str text,
                                     alm_type target)
{
    const alm_type shown = from->type.id == ALM_T_CHAR ? ALM_TY(STRING) : from->type;
    return alm_fail(call->cx, ALM_E_VALUE, call->pos, "inconvertible value: `%.*s` [%s -> %s]",
                    (int)ALM_MIN(text.len, (size_t)100), text.ptr, alm_type_name(shown),
                    alm_type_name(target));
}

static alm_status wide_read_all(const alm_call *call, size_t n_rows, const alm_vec *args,
                                alm_vec *out, bool strict)
{
    char *results = out->data;
    for (size_t i = 0; i < n_rows; i++, results += out->width) {
        char scratch[4];
        const alm_str text = wide_text_at(&args[0], i, scratch);
        const alm_scan_result scanned = strict ? alm_value_scan_stored(out->type, text, results)
                                               : alm_value_scan(out->type, text, results);
        if (scanned == ALM_SCAN_OK)
            continue;
        if (strict)
            return wide_inconvertible(call, &args[0], text, out->type);
        alm_value_set_null(out->type, results);
    }
    return ALM_OK;
}

static alm_status wide_read_loose(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    return wide_read_all(call, n_rows, args, out, false);
}

static alm_status wide_read_strict(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    return wide_read_all(call, n_rows, args, out, true);
}

/* A constant must fit, the texts of a column need not. */
static alm_status read_written(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    return wide_read_all(call, n_rows, args, out, args[0].is_const);
}

/* A constant is refused where it stands, with the reason. */
static alm_status wide_bind_geohash(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, int32_t pos,
                                    ALM_UNUSED uint32_t argc, alm_arg *args, alm_type *result,
                                    ALM_UNUSED void **data)
{
    alm_str text;
    int64_t bits;
    uint32_t n = 0;
    uint64_t value;
    if (args[0].value == NULL)
        return ALM_OK;
    ALM_TRY(alm_arg_text(cx, &args[0], &text));
    if (alm_value_scan(*result, text, &value) == ALM_SCAN_OK)
        return ALM_OK;
    if (alm_geohash_parse(text, &bits, &n))
        return alm_fail(cx, ALM_E_VALUE, pos,
                        "string is too short to cast to chosen GEOHASH precision [len=%zu, "
                        "precision=%d]",
                        text.len, result->p);
    return alm_fail(cx, ALM_E_VALUE, pos, "invalid GEOHASH");
}

/* The bytes of the text, or what PostgreSQL's form of bytes says; what is none of it is null. */
static alm_status text_to_binary(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
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
        ALM_TRY(alm_text_room(&writer, text.len, &ptr));
        if (alm_bytea_parse(text, ptr, &bytes))
            views[i] = alm_text_take(&writer, bytes);
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------ LONG256 */

/* No LONG256 is below zero, nor are the nulls of the other types above. */
static inline alm_i256 long256_of(int64_t value)
{
    return value < 0 ? alm_long256_null() : (alm_i256){{(uint64_t)value, 0, 0, 0}};
}
static inline alm_i256 long256_of_real(double value)
{
    return value > -1 && value < 9223372036854775808.0 ? long256_of((int64_t)value)
                                                       : alm_long256_null();
}
ALM_UNARY(boolean_to_long256, uint8_t, alm_i256, long256_of(x))
ALM_UNARY(byte_to_long256, int8_t, alm_i256, long256_of(x))
ALM_UNARY(short_to_long256, int16_t, alm_i256, long256_of(x))
ALM_UNARY(int_to_long256, int32_t, alm_i256, long256_of(x))
ALM_UNARY(long_to_long256, int64_t, alm_i256, long256_of(x))
ALM_UNARY(float_to_long256, float, alm_i256, long256_of_real((double)x))
ALM_UNARY(double_to_long256, double, alm_i256, long256_of_real(x))

#define TO_LONG256_STRICT(from, T, null)                                                           \
    static alm_status from##_as_long256(alm_call *call, size_t n, const alm_vec *args,             \
                                        alm_vec *out)                                              \
    {                                                                                              \
        const T *a = args[0].data;                                                                 \
        for (size_t i = 0; i < n; i++)                                                             \
            if (a[i] < 0 && a[i] != (null))                                                        \
                return alm_fail(call->cx, ALM_E_VALUE, call->pos,                                  \
                                "inconvertible value: %lld [%s -> LONG256]", (long long)a[i],      \
                                alm_type_name(args[0].type));                                      \
        return from##_to_long256(call, n, args, out);                                              \
    }
TO_LONG256_STRICT(byte, int8_t, 1) /* has no null: nothing below zero is one */
TO_LONG256_STRICT(short, int16_t, 1)
TO_LONG256_STRICT(int, int32_t, ALM_INT_NULL)
TO_LONG256_STRICT(long, int64_t, ALM_LONG_NULL)

/* The null, which is no LONG either, included. */
static inline int64_t long_of(alm_i256 value)
{
    return (value.w[1] | value.w[2] | value.w[3]) != 0 || value.w[0] > INT64_MAX
               ? ALM_LONG_NULL
               : (int64_t)value.w[0];
}
#define FROM_LONG256(to, T, most, none)                                                            \
    ALM_UNARY(long256_to_##to, alm_i256, T,                                                        \
              (uint64_t)long_of(x) > (most) ? (T)(none) : (T)long_of(x))
FROM_LONG256(byte, int8_t, INT8_MAX, 0)
FROM_LONG256(short, int16_t, INT16_MAX, 0)
FROM_LONG256(char, uint16_t, UINT16_MAX, 0)
FROM_LONG256(int, int32_t, INT32_MAX, ALM_INT_NULL)
ALM_UNARY(long256_to_long, alm_i256, int64_t, long_of(x))
ALM_UNARY(long256_to_boolean, alm_i256, uint8_t,
          !alm_long256_is_null(x) && (x.w[0] | x.w[1] | x.w[2] | x.w[3]) != 0)
ALM_UNARY(same_long256, alm_i256, alm_i256, x)

static inline double long256_real(alm_i256 value)
{
    double d = 0;
    for (int i = 3; i >= 0; i--)
        d = d * 18446744073709551616.0 + (double)value.w[i];
    return d;
}
ALM_UNARY(long256_to_double, alm_i256, double,
          alm_long256_is_null(x) ? __builtin_nan("") : long256_real(x))
ALM_UNARY(long256_to_float, alm_i256, float,
          alm_long256_is_null(x) || long256_real(x) > (double)FLT_MAX ? __builtin_nan("")
                                                                      : long256_real(x))

/* ------------------------------------------------------------------ GEOHASH */

static uint32_t wide_bits_of(alm_type type)
{
    return type.p == 0 ? ALM_GEOHASH_BITS_MAX : type.p;
}

static alm_status bind_coarser(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, int32_t pos,
                               ALM_UNUSED uint32_t argc, alm_arg *args, alm_type *result,
                               ALM_UNUSED void **data)
{
    if (wide_bits_of(args[0].type) >= wide_bits_of(*result))
        return ALM_OK;
    return alm_fail(cx, ALM_E_TYPE, pos,
                    "CAST cannot narrow values from GEOHASH(%ub) to "
                    "GEOHASH(%ub)",
                    wide_bits_of(args[0].type), wide_bits_of(*result));
}

static alm_status geohash_to_geohash(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                                     alm_vec *out)
{
    const uint32_t cut = wide_bits_of(args[0].type) - wide_bits_of(out->type);
    const char *from = args[0].data;
    char *dest = out->data;
    for (size_t i = 0; i < n_rows; i++, from += args[0].width, dest += out->width) {
        const int64_t bits = alm_geohash_load(from, args[0].width);
        alm_geohash_store(bits == ALM_LONG_NULL ? bits : bits >> cut, dest, out->width);
    }
    return ALM_OK;
}

/* The low bits of a number. */
static alm_status long_to_geohash(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                                  alm_vec *out)
{
    const int64_t mask = (INT64_C(1) << wide_bits_of(out->type)) - 1;
    const int64_t *from = args[0].data;
    char *dest = out->data;
    for (size_t i = 0; i < n_rows; i++, dest += out->width)
        alm_geohash_store(from[i] == ALM_LONG_NULL ? from[i] : from[i] & mask, dest, out->width);
    return ALM_OK;
}

static alm_status same_views(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                             alm_vec *out)
{
    memcpy(out->data, args[0].data, n_rows * sizeof(alm_view));
    out->heap = args[0].heap;
    return ALM_OK;
}

/* -------------------------------------------------------------------- rows */

#define FROM_TEXT(text)                                                                            \
    ALM_CAST_ROW("::geohash", text, "GEOHASH", wide_bind_geohash, read_written),                   \
        ALM_CAST_ROW("=>geohash", text, "GEOHASH", NULL, wide_read_strict),                        \
        ALM_CAST_ROW("::decimal", text, "DECIMAL", NULL, read_written),                            \
        ALM_CAST_ROW("=>decimal", text, "DECIMAL", NULL, wide_read_strict)

/* By column `casts` of type.def. */
#define OF_TEXT(T, text)                                                                           \
    ALM_CAST_ROW("::" T, text, T, NULL, wide_read_loose),                                          \
        ALM_CAST_ROW("=>" T, text, T, NULL, wide_read_strict)
#define TEXTS_OWN(T)
#define TEXTS_TEXT(T)                                                                              \
    ALM_CASTS_TO_TEXT(T), OF_TEXT(T, "STRING"), OF_TEXT(T, "VARCHAR"), OF_TEXT(T, "SYMBOL"),       \
        OF_TEXT(T, "CHAR"),

static const alm_fn ROWS[] = {
#define ALM_TYPE(id, name, width, null, form, kernels, casts, ...) TEXTS_##casts(name)
#include "type/type.def"
#undef ALM_TYPE
    ALM_CASTS_TO_TEXT("GEOHASH"),
    ALM_CASTS_TO_TEXT("DECIMAL"),
    FROM_TEXT("STRING"),
    FROM_TEXT("VARCHAR"),
    FROM_TEXT("SYMBOL"),
    FROM_TEXT("CHAR"),
    ALM_CAST_ROW("::binary", "STRING", "BINARY", NULL, text_to_binary),
    ALM_CAST_ROW("::binary", "VARCHAR", "BINARY", NULL, text_to_binary),
    ALM_CAST_ROW("::long256", "BOOLEAN", "LONG256", NULL, boolean_to_long256),
    ALM_CAST_ROW("::long256", "BYTE", "LONG256", NULL, byte_to_long256),
    ALM_CAST_ROW("::long256", "SHORT", "LONG256", NULL, short_to_long256),
    ALM_CAST_ROW("::long256", "INT", "LONG256", NULL, int_to_long256),
    ALM_CAST_ROW("::long256", "LONG", "LONG256", NULL, long_to_long256),
    ALM_CAST_ROW("::long256", "FLOAT", "LONG256", NULL, float_to_long256),
    ALM_CAST_ROW("::long256", "DOUBLE", "LONG256", NULL, double_to_long256),
    ALM_CAST_ROW("::long256", "DATE", "LONG256", NULL, long_to_long256),
    ALM_CAST_ROW("::long256", "TIMESTAMP", "LONG256", NULL, long_to_long256),
    ALM_CAST_ROW("::long256", "TIMESTAMP_NS", "LONG256", NULL, long_to_long256),
    ALM_CAST_ROW("=>long256", "BYTE", "LONG256", NULL, byte_as_long256),
    ALM_CAST_ROW("=>long256", "SHORT", "LONG256", NULL, short_as_long256),
    ALM_CAST_ROW("=>long256", "INT", "LONG256", NULL, int_as_long256),
    ALM_CAST_ROW("=>long256", "LONG", "LONG256", NULL, long_as_long256),
    ALM_CAST_ROW("::boolean", "LONG256", "BOOLEAN", NULL, long256_to_boolean),
    ALM_CAST_ROW("::byte", "LONG256", "BYTE", NULL, long256_to_byte),
    ALM_CAST_ROW("::short", "LONG256", "SHORT", NULL, long256_to_short),
    ALM_CAST_ROW("::char", "LONG256", "CHAR", NULL, long256_to_char),
    ALM_CAST_ROW("::int", "LONG256", "INT", NULL, long256_to_int),
    ALM_CAST_ROW("::long", "LONG256", "LONG", NULL, long256_to_long),
    ALM_CAST_ROW("::float", "LONG256", "FLOAT", NULL, long256_to_float),
    ALM_CAST_ROW("::double", "LONG256", "DOUBLE", NULL, long256_to_double),
    ALM_CAST_ROW("::date", "LONG256", "DATE", NULL, long256_to_long),
    ALM_CAST_ROW("::timestamp", "LONG256", "TIMESTAMP", NULL, long256_to_long),
    ALM_CAST_ROW("::timestamp_ns", "LONG256", "TIMESTAMP_NS", NULL, long256_to_long),
    ALM_CAST_ROW("::geohash", "GEOHASH", "GEOHASH", bind_coarser, geohash_to_geohash),
    ALM_CAST_ROW("::geohash", "LONG", "GEOHASH", NULL, long_to_geohash),
    ALM_CAST_ROW("::long256", "LONG256", "LONG256", NULL, same_long256),
    ALM_CAST_ROW("::binary", "BINARY", "BINARY", NULL, same_views),
};
ALM_FN_TABLE(cast_wide, ROWS);
