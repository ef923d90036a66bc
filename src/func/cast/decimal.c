/*
 * decimal.c - DECIMAL from and to numbers, and to another precision or scale.
 *
 * Null rule   Null to null.
 * Errors      ALM_E_RANGE where the number does not fit, ALM_E_VALUE where digits would be lost; casts of decimals never give null
 *             instead. Floating numbers are taken by their shortest digits and rounded half up.
 */
#include "func/value/decimal_column.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"
#include "type/text.h"

static alm_status cast_decimal_refuse(const alm_call *call, alm_status code, const alm_vec *from,
                                      size_t i, alm_type target)
{
    char scratch[ALM_VALUE_TEXT_MAX];
    alm_str text = {"null", 4};
    (void)alm_value_text(from, i, ALM_TEXT_DIALECT, scratch, &text);
    return alm_fail(call->cx, code, call->pos, "inconvertible value: `%.*s` [%s -> %s]",
                    (int)text.len, text.ptr, alm_type_name(from->type), alm_type_name(target));
}

static alm_status cast_decimal_too_large(const alm_call *call, const alm_vec *from, size_t i,
                                         alm_type target)
{
    return cast_decimal_refuse(call, ALM_E_RANGE, from, i, target);
}

/* Too large, or with digits behind the last place? */
static alm_status decimal_refused(const alm_call *call, const alm_vec *from, size_t i,
                                  alm_i256 value, alm_type target)
{
    const bool cut = alm_decimal_rescale(value, from->type.s, target.s, ALM_ROUND_DOWN, &value) &&
                     alm_decimal_fits(value, alm_decimal_digits(target));
    return cast_decimal_refuse(call, cut ? ALM_E_VALUE : ALM_E_RANGE, from, i, target);
}

static alm_status decimal_to_decimal(alm_call *call, size_t n_rows, const alm_vec *args,
                                     alm_vec *out)
{
    const char *from = args[0].data;
    char *dest = out->data;
    const alm_type a = args[0].type;
    const uint32_t digits = alm_decimal_digits(out->type);
    for (size_t i = 0; i < n_rows; i++, from += args[0].width, dest += out->width) {
        const alm_i256 given = alm_decimal_load(a, from);
        alm_i256 value = given;
        if (!alm_i256_is_min(value) &&
            (!alm_decimal_rescale(value, a.s, out->type.s, ALM_ROUND_EXACT, &value) ||
             !alm_decimal_fits(value, digits)))
            return decimal_refused(call, &args[0], i, given, out->type);
        alm_decimal_store(out->type, value, dest);
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------- to it */

#define FROM_INTEGER(name, T, IS_NULL)                                                             \
    static alm_status name(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)            \
    {                                                                                              \
        const T *a = args[0].data;                                                                 \
        char *to = out->data;                                                                      \
        const uint32_t digits = alm_decimal_digits(out->type);                                     \
        for (size_t i = 0; i < n; i++, to += out->width) {                                         \
            const T x = a[i];                                                                      \
            alm_i256 r = alm_i256_min();                                                           \
            if (!(IS_NULL) &&                                                                      \
                (!alm_decimal_rescale(alm_i256_of(x), 0, out->type.s, ALM_ROUND_EXACT, &r) ||      \
                 !alm_decimal_fits(r, digits)))                                                    \
                return cast_decimal_too_large(call, &args[0], i, out->type);                       \
            alm_decimal_store(out->type, r, to);                                                   \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }
FROM_INTEGER(byte_to_decimal, int8_t, false)
FROM_INTEGER(short_to_decimal, int16_t, false)
FROM_INTEGER(int_to_decimal, int32_t, x == ALM_INT_NULL)
FROM_INTEGER(long_to_decimal, int64_t, x == ALM_LONG_NULL)

static alm_status real_to_decimal(const alm_call *call, const alm_vec *from, size_t i, double value,
                                  alm_type type, void *dest)
{
    alm_i256 result = alm_i256_min();
    if (__builtin_isfinite(value) && (!alm_decimal_of_double(value, type.s, &result) ||
                                      !alm_decimal_fits(result, alm_decimal_digits(type))))
        return cast_decimal_too_large(call, from, i, type);
    alm_decimal_store(type, result, dest);
    return ALM_OK;
}

static alm_status double_to_decimal(alm_call *call, size_t n_rows, const alm_vec *args,
                                    alm_vec *out)
{
    const double *a = args[0].data;
    char *dest = out->data;
    for (size_t i = 0; i < n_rows; i++, dest += out->width)
        ALM_TRY(real_to_decimal(call, &args[0], i, a[i], out->type, dest));
    return ALM_OK;
}

/* The digits that the float shows: those of the double are others. */
static alm_status float_to_decimal(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    char *dest = out->data;
    for (size_t i = 0; i < n_rows; i++, dest += out->width) {
        char scratch[ALM_VALUE_TEXT_MAX];
        alm_str text;
        double value = __builtin_nan("");
        if (alm_value_text(&args[0], i, ALM_TEXT_DIALECT, scratch, &text))
            (void)alm_value_scan(ALM_TY(DOUBLE), text, &value);
        ALM_TRY(real_to_decimal(call, &args[0], i, value, out->type, dest));
    }
    return ALM_OK;
}

/* ----------------------------------------------------------------- from it */

/* The whole part; false: it is beyond [min, max]. */
static bool cast_decimal_whole_part(alm_i256 value, uint32_t scale, int64_t min, int64_t max,
                                    int64_t *out)
{
    bool fits = true;
    (void)alm_decimal_rescale(value, scale, 0, ALM_ROUND_DOWN, &value);
    const alm_i128 whole = alm_i256_low(value, &fits);
    if (!fits || whole < min || whole > max)
        return false;
    *out = (int64_t)whole;
    return true;
}

#define TO_INTEGER(name, T, MIN, MAX, NONE)                                                        \
    static alm_status name(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)            \
    {                                                                                              \
        const char *from = args[0].data;                                                           \
        T *o = out->data;                                                                          \
        for (size_t i = 0; i < n; i++, from += args[0].width) {                                    \
            const alm_i256 x = alm_decimal_load(args[0].type, from);                               \
            int64_t whole = (NONE);                                                                \
            if (!alm_i256_is_min(x) &&                                                             \
                !cast_decimal_whole_part(x, args[0].type.s, MIN, MAX, &whole))                     \
                return cast_decimal_too_large(call, &args[0], i, out->type);                       \
            o[i] = (T)whole;                                                                       \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }
TO_INTEGER(decimal_to_byte, int8_t, INT8_MIN, INT8_MAX, 0)
TO_INTEGER(decimal_to_short, int16_t, INT16_MIN, INT16_MAX, 0)
TO_INTEGER(decimal_to_int, int32_t, -INT32_MAX, INT32_MAX, ALM_INT_NULL)
TO_INTEGER(decimal_to_long, int64_t, -INT64_MAX, INT64_MAX, ALM_LONG_NULL)

static double real_at(const alm_vec *vec, size_t i)
{
    const alm_i256 value = alm_decimal_load(vec->type, (const char *)vec->data + i * vec->width);
    return alm_i256_is_min(value) ? __builtin_nan("") : alm_decimal_to_double(value, vec->type.s);
}

static alm_status decimal_to_double(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                                    alm_vec *out)
{
    double *results = out->data;
    for (size_t i = 0; i < n_rows; i++)
        results[i] = real_at(&args[0], i);
    return ALM_OK;
}

static alm_status decimal_to_float(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                                   alm_vec *out)
{
    float *results = out->data;
    for (size_t i = 0; i < n_rows; i++)
        results[i] = (float)real_at(&args[0], i);
    return ALM_OK;
}

/* -------------------------------------------------------------------- rows */

#define CAST(name_, from, to, kernel_)                                                             \
    {.name = "::" name_,                                                                           \
     .signature = "(" from ") " to,                                                                \
     .flags = ALM_FN_INTERNAL,                                                                     \
     .kernel = kernel_,                                                                            \
     .doc = "Cast of " from " to " to ".",                                                         \
     .example = "cast(x as " to ")",                                                               \
     .since = "0.1"}

static const alm_fn ROWS[] = {
    CAST("decimal", "DECIMAL", "DECIMAL", decimal_to_decimal),
    CAST("decimal", "BYTE", "DECIMAL", byte_to_decimal),
    CAST("decimal", "SHORT", "DECIMAL", short_to_decimal),
    CAST("decimal", "INT", "DECIMAL", int_to_decimal),
    CAST("decimal", "LONG", "DECIMAL", long_to_decimal),
    CAST("decimal", "FLOAT", "DECIMAL", float_to_decimal),
    CAST("decimal", "DOUBLE", "DECIMAL", double_to_decimal),
    CAST("byte", "DECIMAL", "BYTE", decimal_to_byte),
    CAST("short", "DECIMAL", "SHORT", decimal_to_short),
    CAST("int", "DECIMAL", "INT", decimal_to_int),
    CAST("long", "DECIMAL", "LONG", decimal_to_long),
    CAST("float", "DECIMAL", "FLOAT", decimal_to_float),
    CAST("double", "DECIMAL", "DOUBLE", decimal_to_double),
};
ALM_FN_TABLE(cast_decimal, ROWS);
