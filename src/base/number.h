/*
 * number.h - numbers as text and back: shortest round-trip text of double and float, exact parsing,
 * integers with overflow detection. Over (pointer, length); no locale, no allocation, no errno.
 *
 * Formatting  Writes at most the number of bytes named by the ALM_*_TEXT_MAX constant, no
 *             terminator; returns the number of bytes written.
 * Shortest    The fewest digits that read back as the same number; of those, the closest.
 * Forms       ALM_NUM_DIALECT: 1e-3 <= abs < 1e7 plain with a fraction digit at least ("100.0",
 *             "0.001"), else "1.0E7", "1.0E-4", "4.9E-324"; "-0.0"; NaN, Infinity, -Infinity.
 *             ALM_NUM_PG: as PostgreSQL prints: "100", "0.001", "1e+15", "1e-05", "NaN".
 * Parsing     The whole text must be the number: no spaces around it. Correctly rounded (to nearest,
 *             ties to even), whatever the number of digits. False: not a number; *out is untouched.
 * Cost        one core of a 2-core virtual machine, gcc 12 -O2: double to text about 40 ns, text to
 *             double about 25 ns, int64 either way 5 ns (number_test.c prints its own figures when
 *             ALM_BENCH is set in the environment).
 */
#ifndef ALM_BASE_NUMBER_H
#define ALM_BASE_NUMBER_H

#include "base/base.h"

typedef enum alm_num_form { ALM_NUM_DIALECT, ALM_NUM_PG } alm_num_form;

enum {
    ALM_INT_TEXT_MAX = 11,
    ALM_LONG_TEXT_MAX = 20,
    ALM_FLOAT_TEXT_MAX = 24,
    ALM_DOUBLE_TEXT_MAX = 32
};

size_t alm_int32_format(int32_t value, char *out);
size_t alm_int64_format(int64_t value, char *out);
size_t alm_uint64_format(uint64_t value, char *out);
/* The same to the end of buf. */
ALM_NODISCARD alm_status alm_buf_int64(alm_ctx *cx, alm_buf *buf, int64_t value);
size_t alm_double_format(double value, alm_num_form form, char *out);
size_t alm_float_format(float value, alm_num_form form, char *out);

typedef enum alm_num_parse { ALM_NUM_OK, ALM_NUM_BAD, ALM_NUM_OVERFLOW } alm_num_parse;

/* [+-]digits. Overflow tells "a number, but too large" from "not a number". */
alm_num_parse alm_int32_parse(alm_str text, int32_t *out);
alm_num_parse alm_int64_parse(alm_str text, int64_t *out);
alm_num_parse alm_uint64_parse(alm_str text, uint64_t *out);

/*
 * [+-] digits [. digits] [e|E [+-] digits], a digit on one side of the point at least; NaN, Infinity
 * and inf in any case. Too large gives ALM_NUM_OVERFLOW with *out = +-infinity; too small gives 0.
 */
alm_num_parse alm_double_parse(alm_str text, double *out);
alm_num_parse alm_float_parse(alm_str text, float *out);

/*
 * Shortest decimal of a finite number that is not zero: |value| = digits * 10^exponent, digits
 * without trailing zeros, at most 17 (9) of them. For writers with forms of their own (DECIMAL).
 */
void alm_double_shortest(double value, uint64_t *digits, int32_t *exponent);
void alm_float_shortest(float value, uint32_t *digits, int32_t *exponent);

/* 0 to 15; -1: byte is no hexadecimal digit. */
static inline int alm_hex_digit(char byte)
{
    return byte >= '0' && byte <= '9'   ? byte - '0'
           : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
           : byte >= 'A' && byte <= 'F' ? byte - 'A' + 10
                                        : -1;
}

#endif
