/*
 * number.c - casts among BOOLEAN, CHAR, the numbers, the times as numbers, and IPv4 as INT.
 *
 * Null rule   Null to null; where the target has none, to 0 or false. An explicit cast gives null
 *             (or 0) for what does not fit; the strict ones (=>) refuse it. Fractions are cut.
 * CHAR        A digit is its value, as in text; a number is the character of that code.
 */
#include <float.h>

#include "base/number.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"

/* Does x (of a source type) have no value? */
#define NONE_BOOLEAN(x)      0
#define NONE_BYTE(x)         0
#define NONE_SHORT(x)        0
#define NONE_INT(x)          ((x) == ALM_INT_NULL)
#define NONE_LONG(x)         ((x) == ALM_LONG_NULL)
#define NONE_DATE(x)         ((x) == ALM_LONG_NULL)
#define NONE_TIMESTAMP(x)    ((x) == ALM_LONG_NULL)
#define NONE_TIMESTAMP_NS(x) ((x) == ALM_LONG_NULL)
#define NONE_FLOAT(x)        ((x) != (x))
#define NONE_DOUBLE(x)       ((x) != (x))

#define C_BOOLEAN      uint8_t
#define C_BYTE         int8_t
#define C_SHORT        int16_t
#define C_INT          int32_t
#define C_LONG         int64_t
#define C_DATE         int64_t
#define C_TIMESTAMP    int64_t
#define C_TIMESTAMP_NS int64_t
#define C_FLOAT        float
#define C_DOUBLE       double

/* Integers: limits as integers. */
#define I_FITS_BYTE(x)  ((x) >= -128 && (x) <= 127)
#define I_FITS_SHORT(x) ((x) >= -32768 && (x) <= 32767)
#define I_FITS_INT(x)   ((x) > INT32_MIN && (x) <= INT32_MAX)
#define ALWAYS(x)       1
/* Floating: the truncated value must fit; comparisons with a NaN are false. */
#define F_FITS_BYTE(x)  ((x) > -129 && (x) < 128)
#define F_FITS_SHORT(x) ((x) > -32769 && (x) < 32768)
#define F_FITS_INT(x)   ((double)(x) > -2147483648.0 && (double)(x) < 2147483648.0)
#define F_FITS_LONG(x)  ((double)(x) > -9223372036854775808.0 && (double)(x) < 9223372036854775808.0)
/* Below the middle between the greatest float and the power of two behind it: rounds to that float. */
#define F_FITS_FLOAT(x) ((double)(x) > -0x1.ffffffp127 && (double)(x) < 0x1.ffffffp127)

/* from, to, fits(x), value of null. Both casts; the strict one looks for what does not fit first. */
#define CAST(from, to, fits, none)                                                                 \
    ALM_UNARY(from##_to_##to, C_##from, C_##to,                                                    \
              NONE_##from(x) || !fits(x) ? (C_##to)(none) : (C_##to)x)
#define STRICT(from, to, fits)                                                                     \
    static alm_status from##_as_##to(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)  \
    {                                                                                              \
        const C_##from *a = args[0].data;                                                          \
        for (size_t i = 0; i < n; i++)                                                             \
            if (!NONE_##from(a[i]) && !fits(a[i]))                                                 \
                return cast_number_refuse(call, (double)a[i], (int64_t)0, #from, #to);             \
        return from##_to_##to(call, n, args, out);                                                 \
    }
#define STRICT_I(from, to, fits)                                                                   \
    static alm_status from##_as_##to(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)  \
    {                                                                                              \
        const C_##from *a = args[0].data;                                                          \
        for (size_t i = 0; i < n; i++)                                                             \
            if (!NONE_##from(a[i]) && !fits(a[i]))                                                 \
                return cast_number_refuse(call, __builtin_nan(""), (int64_t)a[i], #from, #to);     \
        return from##_to_##to(call, n, args, out);                                                 \
    }

/* "inconvertible value: 128 [INT -> BYTE]"; the value is f, or i where f is NaN. */
static alm_status cast_number_refuse(const alm_call *call, double f, int64_t i, const char *from,
                                     const char *dest)
{
    char text[ALM_DOUBLE_TEXT_MAX];
    const size_t len =
        f == f ? alm_double_format(f, ALM_NUM_DIALECT, text) : alm_int64_format(i, text);
    return alm_fail(call->cx, ALM_E_RANGE, call->pos, "inconvertible value: %.*s [%s -> %s]",
                    (int)len, text, from, dest);
}

#define NAN32 __builtin_nanf("")
#define NAN64 __builtin_nan("")

/* Character of a code, none for what is no code; nulls are negative. */
static inline int64_t cast_number_unit_of(int64_t value)
{
    return value < 0 || value > UINT16_MAX ? 0 : value;
}

/* From integers of at most 32 bits. */
#define SMALL(from)                                                                                \
    SMALL_NUMBERS(from)                                                                            \
    ALM_UNARY(from##_to_CHAR, C_##from, uint16_t, cast_number_unit_of(x))
#define SMALL_NUMBERS(from)                                                                        \
    CAST(from, INT, ALWAYS, ALM_INT_NULL)                                                          \
    CAST(from, LONG, ALWAYS, ALM_LONG_NULL)                                                        \
    CAST(from, FLOAT, ALWAYS, NAN32)                                                               \
    CAST(from, DOUBLE, ALWAYS, NAN64)                                                              \
    ALM_UNARY(from##_to_BOOLEAN, C_##from, uint8_t, !NONE_##from(x) && x != 0)
SMALL_NUMBERS(BOOLEAN)
ALM_UNARY(BOOLEAN_to_CHAR, uint8_t, uint16_t, x ? 'T' : 'F') /* CHAR_to_BOOLEAN reads them */
SMALL(BYTE)
SMALL(SHORT)
SMALL(INT)
CAST(BOOLEAN, BYTE, ALWAYS, 0)
CAST(BOOLEAN, SHORT, ALWAYS, 0)
CAST(BYTE, BYTE, ALWAYS, 0)
CAST(BYTE, SHORT, ALWAYS, 0)
CAST(SHORT, BYTE, I_FITS_BYTE, 0)
CAST(SHORT, SHORT, ALWAYS, 0)
CAST(INT, BYTE, I_FITS_BYTE, 0)
CAST(INT, SHORT, I_FITS_SHORT, 0)
STRICT_I(SHORT, BYTE, I_FITS_BYTE)
STRICT_I(INT, BYTE, I_FITS_BYTE)
STRICT_I(INT, SHORT, I_FITS_SHORT)

/* From 64 bits; the times are longs here. */
CAST(LONG, BYTE, I_FITS_BYTE, 0)
CAST(LONG, SHORT, I_FITS_SHORT, 0)
CAST(LONG, INT, I_FITS_INT, ALM_INT_NULL)
CAST(LONG, LONG, ALWAYS, ALM_LONG_NULL)
CAST(LONG, FLOAT, ALWAYS, NAN32)
CAST(LONG, DOUBLE, ALWAYS, NAN64)
ALM_UNARY(LONG_to_BOOLEAN, int64_t, uint8_t, !NONE_LONG(x) && x != 0)
ALM_UNARY(LONG_to_CHAR, int64_t, uint16_t, cast_number_unit_of(x))
STRICT_I(LONG, BYTE, I_FITS_BYTE)
STRICT_I(LONG, SHORT, I_FITS_SHORT)
STRICT_I(LONG, INT, I_FITS_INT)

#define FLOATING(from)                                                                             \
    CAST(from, BYTE, F_FITS_BYTE, 0)                                                               \
    CAST(from, SHORT, F_FITS_SHORT, 0)                                                             \
    CAST(from, INT, F_FITS_INT, ALM_INT_NULL)                                                      \
    CAST(from, LONG, F_FITS_LONG, ALM_LONG_NULL)                                                   \
    CAST(from, DOUBLE, ALWAYS, NAN64)                                                              \
    CAST(from, FLOAT, F_FITS_FLOAT, NAN32)                                                         \
    ALM_UNARY(from##_to_BOOLEAN, C_##from, uint8_t, x == x && x != 0)                              \
    ALM_UNARY(from##_to_CHAR, C_##from, uint16_t, x >= 0 && x < 65536 ? x : 0)                     \
    STRICT(from, BYTE, F_FITS_BYTE)                                                                \
    STRICT(from, SHORT, F_FITS_SHORT)                                                              \
    STRICT(from, INT, F_FITS_INT)                                                                  \
    STRICT(from, LONG, F_FITS_LONG)
FLOATING(FLOAT)
FLOATING(DOUBLE)
STRICT(DOUBLE, FLOAT, F_FITS_FLOAT)

/* -------------------------------------------------------------------- CHAR */

#define DIGIT(x) ((x) >= '0' && (x) <= '9')
#define FROM_CHAR(to, none)                                                                        \
    ALM_UNARY(CHAR_to_##to, uint16_t, C_##to, DIGIT(x) ? (C_##to)(x - '0') : (C_##to)(none))       \
    static alm_status CHAR_as_##to(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)    \
    {                                                                                              \
        const uint16_t *a = args[0].data;                                                          \
        for (size_t i = 0; i < n; i++)                                                             \
            if (a[i] != 0 && !DIGIT(a[i]))                                                         \
                return alm_fail(call->cx, ALM_E_VALUE, call->pos,                                  \
                                "inconvertible value: %c [CHAR -> " #to "]",                       \
                                a[i] < 128 ? a[i] : '?');                                          \
        return CHAR_to_##to(call, n, args, out);                                                   \
    }
FROM_CHAR(BYTE, 0)
FROM_CHAR(SHORT, 0)
FROM_CHAR(INT, ALM_INT_NULL)
FROM_CHAR(LONG, ALM_LONG_NULL)
FROM_CHAR(FLOAT, NAN32)
FROM_CHAR(DOUBLE, NAN64)
ALM_UNARY(CHAR_to_BOOLEAN, uint16_t, uint8_t, x == 't' || x == 'T' || x == '1')
ALM_UNARY(CHAR_to_CHAR, uint16_t, uint16_t, x)

/* ------------------------------------------------------------ same bits; NULL */

typedef struct wide {
    uint64_t half[2];
} wide;
ALM_UNARY(same_32, uint32_t, uint32_t, x)
static alm_status same_wide(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                            alm_vec *out)
{
    memcpy(out->data, args[0].data, n_rows * sizeof(wide));
    return ALM_OK;
}
/* 0.0.0.0 is the null of addresses, INT_MIN that of numbers. */
ALM_UNARY(IPV4_to_INT, uint32_t, int32_t, x == 0 ? ALM_INT_NULL : (int32_t)x)
ALM_UNARY(INT_to_IPV4, int32_t, uint32_t, x == ALM_INT_NULL ? 0 : (uint32_t)x)

/* The untyped NULL as any type. */
static alm_status null_to_any(alm_call *call, size_t n_rows, ALM_UNUSED const alm_vec *args,
                              alm_vec *out)
{
    alm_vec one = {0};
    ALM_TRY(alm_vec_null(call->cx, call->arena, out->type, &one));
    ALM_ASSERT(one.width == out->width);
    for (size_t i = 0; i < n_rows; i++)
        memcpy((char *)out->data + i * one.width, one.data, one.width);
    return ALM_OK;
}

/* -------------------------------------------------------------------- rows */

#define ROW(name, from, to, kernel) FLAGGED(name, from, to, 0, kernel)
#define FLAGGED(name_, from, to, flags_, kernel_)                                                  \
    {.name = name_,                                                                                \
     .signature = "(" from ") " to,                                                                \
     .flags = ALM_FN_INTERNAL | (flags_),                                                          \
     .kernel = kernel_,                                                                            \
     .doc = "Cast of " from " to " to ".",                                                         \
     .example = "cast(x as " to ")",                                                               \
     .since = "0.1"}
#define LOOSE(from, to, name)         FLAGGED("::" name, #from, #to, ALM_FN_LEAKPROOF, from##_to_##to)
#define TIGHT(from, to, name)         ROW("=>" name, #from, #to, from##_as_##to)
#define ALIAS(from, to, name, kernel) ROW("::" name, from, to, kernel)
#define TO_NUMBERS(from)                                                                           \
    LOOSE(from, BOOLEAN, "boolean"), LOOSE(from, BYTE, "byte"), LOOSE(from, SHORT, "short"),       \
        LOOSE(from, INT, "int"), LOOSE(from, LONG, "long"), LOOSE(from, FLOAT, "float"),           \
        LOOSE(from, DOUBLE, "double"), LOOSE(from, CHAR, "char"),                                  \
        ALIAS(#from, "DATE", "date", from##_to_LONG),                                              \
        ALIAS(#from, "TIMESTAMP", "timestamp", from##_to_LONG),                                    \
        ALIAS(#from, "TIMESTAMP_NS", "timestamp_ns", from##_to_LONG)
#define FROM_TIME(time)                                                                            \
    ALIAS(time, "BOOLEAN", "boolean", LONG_to_BOOLEAN), ALIAS(time, "BYTE", "byte", LONG_to_BYTE), \
        ALIAS(time, "SHORT", "short", LONG_to_SHORT), ALIAS(time, "INT", "int", LONG_to_INT),      \
        ALIAS(time, "LONG", "long", LONG_to_LONG), ALIAS(time, "FLOAT", "float", LONG_to_FLOAT),   \
        ALIAS(time, "DOUBLE", "double", LONG_to_DOUBLE),                                           \
        ALIAS(time, "CHAR", "char", LONG_to_CHAR), ROW("=>byte", time, "BYTE", LONG_as_BYTE),      \
        ROW("=>short", time, "SHORT", LONG_as_SHORT), ROW("=>int", time, "INT", LONG_as_INT)
#define FROM_NULL(to) ROW("::" to, "NULL", to, null_to_any)

static const alm_fn ROWS[] = {
    TO_NUMBERS(BOOLEAN),
    TO_NUMBERS(BYTE),
    TO_NUMBERS(SHORT),
    TO_NUMBERS(INT),
    TO_NUMBERS(LONG),
    TO_NUMBERS(FLOAT),
    TO_NUMBERS(DOUBLE),
    TO_NUMBERS(CHAR),
    FROM_TIME("DATE"),
    FROM_TIME("TIMESTAMP"),
    FROM_TIME("TIMESTAMP_NS"),
    TIGHT(SHORT, BYTE, "byte"),
    TIGHT(INT, BYTE, "byte"),
    TIGHT(INT, SHORT, "short"),
    TIGHT(LONG, BYTE, "byte"),
    TIGHT(LONG, SHORT, "short"),
    TIGHT(LONG, INT, "int"),
    TIGHT(FLOAT, BYTE, "byte"),
    TIGHT(FLOAT, SHORT, "short"),
    TIGHT(FLOAT, INT, "int"),
    TIGHT(FLOAT, LONG, "long"),
    TIGHT(DOUBLE, BYTE, "byte"),
    TIGHT(DOUBLE, SHORT, "short"),
    TIGHT(DOUBLE, INT, "int"),
    TIGHT(DOUBLE, LONG, "long"),
    TIGHT(DOUBLE, FLOAT, "float"),
    TIGHT(CHAR, BYTE, "byte"),
    TIGHT(CHAR, SHORT, "short"),
    TIGHT(CHAR, INT, "int"),
    TIGHT(CHAR, LONG, "long"),
    TIGHT(CHAR, FLOAT, "float"),
    TIGHT(CHAR, DOUBLE, "double"),
    ROW("::int", "IPv4", "INT", IPV4_to_INT),
    ROW("::ipv4", "INT", "IPv4", INT_to_IPV4),
    ROW("::ipv4", "IPv4", "IPv4", same_32),
    ROW("::uuid", "UUID", "UUID", same_wide),
    ROW("::interval", "INTERVAL", "INTERVAL", same_wide),
#define ALM_TYPE(id, name, ...) FROM_NULL(name),
#include "type/type.def"
#undef ALM_TYPE
};
ALM_FN_TABLE(cast_number, ROWS);
