/*
 * decimal.h - DECIMAL(p, s) values: a whole number of units of 10^-s, at most p digits, in 1, 2, 4, 8,
 * 16 or 32 bytes as p needs (type.c). Null is the least number of the width.
 *
 * Widening    Kernels work on 128 bits where all numbers have at most 38 digits, on 256 otherwise.
 * Rounding    Named per call; nothing is rounded in silence.
 */
#ifndef ALM_TYPE_DECIMAL_H
#define ALM_TYPE_DECIMAL_H

#include "type/int256.h"
#include "type/type.h"

enum { ALM_DECIMAL_TEXT_MAX = 80, ALM_DECIMAL_128_DIGITS = 38 };

typedef enum alm_rounding {
    ALM_ROUND_EXACT, /* digits that would be lost are an error */
    ALM_ROUND_DOWN,  /* towards zero */
    ALM_ROUND_UP,    /* away from zero */
    ALM_ROUND_FLOOR,
    ALM_ROUND_CEIL,
    ALM_ROUND_HALF_UP, /* ties away from zero */
    ALM_ROUND_HALF_EVEN
} alm_rounding;

/* 10^n, n <= 76. */
alm_i256 alm_pow10_256(uint32_t n);
/* The value, or alm_i256_min() for null. */
alm_i256 alm_decimal_load(alm_type type, const void *ptr);
/* A number within the digits of the type, or alm_i256_min(). */
void alm_decimal_store(alm_type type, alm_i256 value, void *ptr);
/* Digits of a number, 1 for zero. */
uint32_t alm_i256_digits(alm_i256 value);
static inline bool alm_decimal_fits(alm_i256 value, uint32_t digits)
{
    return alm_u256_cmp(alm_i256_abs(value), alm_pow10_256(digits)) < 0;
}
/* From scale `from` to scale `to`; false: digits are lost (ROUND_EXACT), or over 76 of them. */
bool alm_decimal_rescale(alm_i256 value, uint32_t from, uint32_t to, alm_rounding rounding,
                         alm_i256 *out);
/* [-]digits[.s digits] */
size_t alm_decimal_format(alm_i256 value, uint32_t scale, char out[ALM_DECIMAL_TEXT_MAX]);
/*
 * [+-] digits [. digits] [e [+-] digits] [m], blanks around: the number as it is written, without a
 * limit of scale but 76. False: not a number, or more than 76 digits.
 */
bool alm_decimal_parse(alm_str text, alm_i256 *out, uint32_t *precision, uint32_t *scale);
/* The nearest double. */
double alm_decimal_to_double(alm_i256 value, uint32_t scale);
/* A finite double by its shortest digits, rounded half up to `scale`; false: over 76 digits. */
bool alm_decimal_of_double(double d, uint32_t scale, alm_i256 *out);

#endif
