/*
 * pow10.h - leading 128 bits of powers of ten, for number_format.c and number_parse.c. Private.
 *
 *     floor(10^q * 2^(127 - e)),  e = alm_pow10_exponent(q) = floor(log2(10^q))
 */
#ifndef ALM_BASE_POW10_H
#define ALM_BASE_POW10_H

#include "base/base.h"

enum { ALM_POW10_MIN = -342, ALM_POW10_MAX = 324, ALM_POW10_EXACT_MAX = 55 };

typedef struct alm_pow10_row {
    uint64_t hi, lo;
} alm_pow10_row;

extern const alm_pow10_row alm_pow10_rows[ALM_POW10_MAX - ALM_POW10_MIN + 1];

static inline alm_pow10_row alm_pow10(int32_t q)
{
    ALM_DASSERT(q >= ALM_POW10_MIN && q <= ALM_POW10_MAX);
    return alm_pow10_rows[q - ALM_POW10_MIN];
}
static inline bool alm_pow10_is_exact(int32_t q)
{
    return q >= 0 && q <= ALM_POW10_EXACT_MAX;
}
/* floor(log2(10^q)); the constant holds for |q| < 400 (checked against exact arithmetic). */
static inline int32_t alm_pow10_exponent(int32_t q)
{
    return (q * 1741647) >> 19;
}

#endif
