/*
 * numeric.c - abs, sign, rounding, powers, logarithms, trigonometry, divisors, size_pretty.
 *
 * Null rule   Null in, null out. What has no real, finite value (sqrt(-1), ln(0)) is null.
 * Rounding    round(x) goes to the nearest, halves up (-2.5 to -2), as round(x, 0) does; with another
 *             scale halves go away from zero, and a decimal that has no exact double counts as the
 *             decimal it was written as: round(1.005, 2) is 1.01, round_up(1.1, 1) is 1.1.
 */
#include <math.h>
#include <stdio.h>

#include "func/operator/rounding.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"
#include "func/value/text_out.h"

#define NONE __builtin_nan("")

/* ---------------------------------------------------------- abs, sign, floor */

ALM_UNARY(abs_int, int32_t, int32_t, x < 0 ? 0U - (uint32_t)x : (uint32_t)x)
ALM_UNARY(abs_long, int64_t, int64_t, x < 0 ? UINT64_C(0) - (uint64_t)x : (uint64_t)x)
ALM_UNARY(abs_byte, int8_t, int16_t, x < 0 ? -x : x)
static alm_status abs_short(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    const int16_t *a = args[0].data;
    int16_t *results = out->data;
    bool fits = true; /* SHORT has no null */
    for (size_t i = 0; i < n_rows; i++) {
        fits &= a[i] != INT16_MIN;
        results[i] = (int16_t)(a[i] < 0 ? -a[i] : a[i]);
    }
    return fits ? ALM_OK
                : alm_fail(call->cx, ALM_E_RANGE, call->pos,
                           "inconvertible value: %d [INT -> SHORT]", -(int)INT16_MIN);
}
ALM_UNARY(abs_float, float, double, __builtin_fabsf(x))
ALM_UNARY(abs_double, double, double, __builtin_fabs(x))

ALM_UNARY(sign_int, int32_t, int32_t, x == ALM_INT_NULL ? x : (x > 0) - (x < 0))
ALM_UNARY(sign_long, int64_t, int64_t, x == ALM_LONG_NULL ? x : (x > 0) - (x < 0))
ALM_UNARY(sign_short, int16_t, int16_t, (x > 0) - (x < 0))
ALM_UNARY(sign_byte, int8_t, int8_t, (x > 0) - (x < 0))
ALM_UNARY(sign_float, float, float, x != x ? x : (float)((x > 0) - (x < 0)))
ALM_UNARY(sign_double, double, double, x != x ? x : (double)((x > 0) - (x < 0)))

ALM_UNARY(floor_float, float, float, floorf(x))
ALM_UNARY(floor_double, double, double, floor(x))
ALM_UNARY(ceil_float, float, float, ceilf(x))
ALM_UNARY(ceil_double, double, double, ceil(x))
/* Whole numbers stay what they are. */
ALM_UNARY(whole_long, int64_t, double, x == ALM_LONG_NULL ? NONE : (double)x)

/* ----------------------------------------------------------------- rounding */

enum { SCALE_MAX = 22 }; /* 10^22 is the greatest power of ten that a double holds exactly */
static const double POWERS[SCALE_MAX + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                             1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                             1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

typedef enum rounding { HALF_AWAY, HALF_EVEN, UP, DOWN } rounding;

/* y >= 0 to a whole number. y is the product of a power of ten and a double that may stand for a
 * decimal next to it: two units in the last place do not count. */
static inline double round_whole(double y, rounding how)
{
    const double noise = y * 0x1p-51, low = floor(y), part = y - low;
    switch (how) {
    case HALF_AWAY:
        return low + (part + noise >= 0.5 ? 1 : 0);
    case HALF_EVEN:
        if (part > 0.5 + noise || part < 0.5 - noise)
            return low + (part > 0.5 ? 1 : 0);
        return low + (fmod(low, 2) != 0 ? 1 : 0);
    case UP:
        return low + (part > noise ? 1 : 0);
    case DOWN:
        return low + (1 - part <= noise ? 1 : 0);
    }
    return y;
}

static inline double round_scaled(double x, int32_t scale, rounding how)
{
    if (x != x || scale == ALM_INT_NULL)
        return NONE;
    if (scale > SCALE_MAX || x == 0)
        return x;
    if (scale < -SCALE_MAX)
        return how == UP ? NONE : copysign(0, x);
    const double size = __builtin_fabs(x);
    double r;
    if (scale >= 0) {
        const double y = size * POWERS[scale];
        if (!(y < 0x1p52)) /* no digit behind that scale is left */
            return x;
        r = round_whole(y, how) / POWERS[scale];
    } else {
        r = round_whole(size / POWERS[-scale], how) * POWERS[-scale];
    }
    return copysign(r, x);
}

/* Halves up, as for whole numbers of the reference; never -0. */
static inline double round_up_half(double value)
{
    const double low = floor(value);
    return __builtin_fabs(value) < 0x1p52 ? low + (value - low >= 0.5 ? 1.0 : 0.0) + 0.0 : value;
}

double alm_round_to(double value, int32_t scale)
{
    return scale == 0 && value == value ? round_up_half(value)
                                        : round_scaled(value, scale, HALF_AWAY);
}

ALM_UNARY(whole_part, double, double, trunc(x))
ALM_UNARY(round_1, double, double, x != x ? x : round_up_half(x))
ALM_BINARY(round_2, double, int32_t, double, alm_round_to(x, y))
ALM_BINARY(round_even, double, int32_t, double, round_scaled(x, y, HALF_EVEN))
ALM_BINARY(round_up, double, int32_t, double, round_scaled(x, y, UP))
ALM_BINARY(round_down, double, int32_t, double, round_scaled(x, y, DOWN))

/* -------------------------------------------------------------- real functions */

/* The library's may be one unit off: -3.0000000000000004 of -27. One step of Newton puts that right. */
static double cube_root(double value)
{
    const double r = cbrt(value);
    return r == 0 || r != r ? r : r - (r * r * r - value) / (3 * r * r);
}

#define REAL(name, EXPR) ALM_UNARY(name, double, double, ALM_FINITE(EXPR))
REAL(real_sqrt, sqrt(x))
REAL(real_exp, exp(x))
REAL(real_ln, log(x))
REAL(real_log, log10(x))
REAL(real_log2, log2(x))
REAL(real_cbrt, cube_root(x))
REAL(real_sin, sin(x))
REAL(real_cos, cos(x))
REAL(real_tan, tan(x))
REAL(real_cot, 1 / tan(x))
REAL(real_asin, asin(x))
REAL(real_acos, acos(x))
REAL(real_atan, atan(x))
REAL(real_degrees, x * (180 / M_PI))
REAL(real_radians, x *(M_PI / 180))
ALM_BINARY(real_power, double, double, double, x != x || y != y ? NONE : ALM_FINITE(pow(x, y)))
ALM_BINARY(real_atan2, double, double, double, atan2(x, y))

static alm_status real_pi(ALM_UNUSED alm_call *call, size_t n_rows, ALM_UNUSED const alm_vec *args,
                          alm_vec *out)
{
    double *results = out->data;
    for (size_t i = 0; i < n_rows; i++)
        results[i] = M_PI;
    return ALM_OK;
}

/* --------------------------------------------------------------- gcd, lcm */

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? UINT64_C(0) - (uint64_t)value : (uint64_t)value;
}

static int64_t divisor(int64_t x, int64_t y)
{
    uint64_t a = magnitude(x), b = magnitude(y);
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return (int64_t)a;
}

static int64_t multiple(int64_t x, int64_t y)
{
    int64_t product;
    if (x == 0 || y == 0)
        return 0;
    if (__builtin_mul_overflow(x / divisor(x, y), y, &product) || product == ALM_LONG_NULL)
        return ALM_LONG_NULL;
    return product < 0 ? -product : product;
}

#define EITHER_NULL(x, y) ((x) == ALM_LONG_NULL || (y) == ALM_LONG_NULL)
ALM_BINARY(gcd, int64_t, int64_t, int64_t, EITHER_NULL(x, y) ? ALM_LONG_NULL : divisor(x, y))
ALM_BINARY(lcm, int64_t, int64_t, int64_t, EITHER_NULL(x, y) ? ALM_LONG_NULL : multiple(x, y))

/* -------------------------------------------------------------- size_pretty */

/* 1536 -> "1.5 KiB" */
static alm_status numeric_size_pretty(alm_call *call, size_t n_rows, const alm_vec *args,
                                      alm_vec *out)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    enum { ROOM = 24 };
    alm_text_out writer = alm_text_out_of(call);
    const int64_t *a = args[0].data;
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        views[i] = alm_view_null();
        if (a[i] == ALM_LONG_NULL)
            continue;
        double size = (double)a[i];
        size_t unit = 0;
        while (__builtin_fabs(size) >= 1024 && unit + 1 < ALM_COUNT(units)) {
            size /= 1024;
            unit++;
        }
        char *ptr;
        ALM_TRY(alm_text_room(&writer, ROOM, &ptr));
        const int len = snprintf(ptr, ROOM, "%.1f %s", size, units[unit]);
        views[i] = alm_text_take(&writer, (size_t)len);
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------- rows */

#define ROW(f, sig, kernel_, monotone, doc_, example_)                                             \
    {.name = f,                                                                                    \
     .signature = sig,                                                                             \
     .flags = ALM_FN_NULL_OUT,                                                                     \
     .kernel = kernel_,                                                                            \
     .monotone_arg = monotone,                                                                     \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}
#define DOUBLES(f, kernel, monotone, doc, example)                                                 \
    ROW(f, "(DOUBLE) DOUBLE", kernel, monotone, doc, example)
#define PER_NUMBER(f, byte, real, stem, doc, example)                                              \
    ROW(f, "(BYTE) " byte, stem##_byte, 0, doc, example),                                          \
        ROW(f, "(SHORT) SHORT", stem##_short, 0, doc, example),                                    \
        ROW(f, "(INT) INT", stem##_int, 0, doc, example),                                          \
        ROW(f, "(LONG) LONG", stem##_long, 0, doc, example),                                       \
        ROW(f, "(FLOAT) " real, stem##_float, 0, doc, example),                                    \
        ROW(f, "(DOUBLE) DOUBLE", stem##_double, 0, doc, example)
#define WHOLE(f, stem, doc, example)                                                               \
    ROW(f, "(LONG) DOUBLE", whole_long, 1, doc, example),                                          \
        ROW(f, "(FLOAT) FLOAT", stem##_float, 1, doc, example),                                    \
        ROW(f, "(DOUBLE) DOUBLE", stem##_double, 1, doc, example)
#define SCALED(f, kernel, doc, example) ROW(f, "(DOUBLE, INT) DOUBLE", kernel, 0, doc, example)

static const alm_fn ROWS[] = {
    PER_NUMBER("abs", "SHORT", "DOUBLE", abs, "Absolute value.", "abs(-1.5)"),
    PER_NUMBER("sign", "BYTE", "FLOAT", sign, "-1, 0 or 1 by the sign.", "sign(-3)"),
    WHOLE("floor", floor, "Greatest whole number that is not above.", "floor(1.9)"),
    WHOLE("ceil", ceil, "Least whole number that is not below.", "ceil(1.1)"),
    WHOLE("ceiling", ceil, "Least whole number that is not below.", "ceiling(1.1)"),
    DOUBLES("round", round_1, 1, "Nearest whole number, halves up.", "round(2.5)"),
    SCALED("round", round_2, "Nearest number with so many decimals, halves away from zero.",
           "round(2.345, 2)"),
    SCALED("round_half_even", round_even, "Rounded to so many decimals, halves to the even digit.",
           "round_half_even(2.5, 0)"),
    SCALED("round_up", round_up, "Rounded away from zero.", "round_up(1.01, 1)"),
    SCALED("round_down", round_down, "Rounded towards zero.", "round_down(1.99, 1)"),
    DOUBLES("trunc", whole_part, 1, "Without the digits behind the point.", "trunc(-1.9)"),
    SCALED("trunc", round_down, "With so many decimals, the others cut off.", "trunc(1.99, 1)"),
    DOUBLES("sqrt", real_sqrt, 0, "Square root; null below zero.", "sqrt(2)"),
    DOUBLES("exp", real_exp, 0, "e to that power.", "exp(1)"),
    DOUBLES("ln", real_ln, 0, "Natural logarithm.", "ln(10)"),
    DOUBLES("log", real_log, 0, "Logarithm to the base 10.", "log(100)"),
    DOUBLES("log10", real_log, 0, "Logarithm to the base 10.", "log10(1000)"),
    DOUBLES("log2", real_log2, 0, "Logarithm to the base 2.", "log2(8)"),
    DOUBLES("cbrt", real_cbrt, 1, "Cube root.", "cbrt(-27)"),
    DOUBLES("sin", real_sin, 0, "Sine of radians.", "sin(pi() / 2)"),
    DOUBLES("cos", real_cos, 0, "Cosine of radians.", "cos(pi())"),
    DOUBLES("tan", real_tan, 0, "Tangent of radians.", "tan(0)"),
    DOUBLES("cot", real_cot, 0, "Cotangent of radians.", "cot(1)"),
    DOUBLES("asin", real_asin, 0, "Arc sine in radians.", "asin(1)"),
    DOUBLES("acos", real_acos, 0, "Arc cosine in radians.", "acos(1)"),
    DOUBLES("atan", real_atan, 1, "Arc tangent in radians.", "atan(1)"),
    DOUBLES("degrees", real_degrees, 1, "Radians as degrees.", "degrees(pi())"),
    DOUBLES("radians", real_radians, 1, "Degrees as radians.", "radians(180)"),
    ROW("atan2", "(DOUBLE, DOUBLE) DOUBLE", real_atan2, 0,
        "Angle of the point (x, y): atan2(y, x).", "atan2(1, 1)"),
    ROW("power", "(DOUBLE, DOUBLE) DOUBLE", real_power, 0, "First to the power of the second.",
        "power(2, 10)"),
    ROW("pow", "(DOUBLE, DOUBLE) DOUBLE", real_power, 0, "First to the power of the second.",
        "pow(2, 10)"),
    ROW("gcd", "(LONG, LONG) LONG", gcd, 0, "Greatest number that divides both.", "gcd(12, 18)"),
    ROW("lcm", "(LONG, LONG) LONG", lcm, 0,
        "Least number that both divide; null if it does not fit.", "lcm(4, 6)"),
    ROW("pi", "() DOUBLE", real_pi, 0, "The number pi.", "pi()"),
    ROW("size_pretty", "(LONG) STRING", numeric_size_pretty, 0, "Bytes in binary units.",
        "size_pretty(1536)"),
};
ALM_FN_TABLE(numeric, ROWS);
