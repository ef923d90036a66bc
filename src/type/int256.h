/*
 * int256.h - whole numbers of 256 bits: LONG256 (unsigned) and wide DECIMAL (two's complement).
 *
 * Words are little-endian, in memory and on disk. Sums wrap around; products and quotients say where
 * they do not fit. Numbers of up to 76 digits leave two bits free, so that their sums always fit.
 */
#ifndef ALM_TYPE_INT256_H
#define ALM_TYPE_INT256_H

#include "base/base.h"

__extension__ typedef __int128 alm_i128;
__extension__ typedef unsigned __int128 alm_u128;

typedef struct alm_i256 {
    uint64_t w[4]; /* w[3] holds the sign */
} alm_i256;

#define ALM_I128_MIN ((alm_i128)((alm_u128)1 << 127))

static inline alm_i256 alm_i256_of(int64_t value)
{
    const uint64_t sign = value < 0 ? UINT64_MAX : 0;
    return (alm_i256){{(uint64_t)value, sign, sign, sign}};
}
static inline alm_i256 alm_i256_of128(alm_i128 i128)
{
    const uint64_t sign = i128 < 0 ? UINT64_MAX : 0;
    return (alm_i256){{(uint64_t)i128, (uint64_t)((alm_u128)i128 >> 64), sign, sign}};
}
static inline alm_i256 alm_i256_min(void)
{
    return (alm_i256){{0, 0, 0, UINT64_C(1) << 63}};
}
static inline bool alm_i256_is_min(alm_i256 value)
{
    return (value.w[0] | value.w[1] | value.w[2]) == 0 && value.w[3] == UINT64_C(1) << 63;
}
static inline bool alm_i256_is_zero(alm_i256 value)
{
    return (value.w[0] | value.w[1] | value.w[2] | value.w[3]) == 0;
}
static inline bool alm_i256_is_neg(alm_i256 value)
{
    return value.w[3] >> 63 != 0;
}
static inline bool alm_i256_eq(alm_i256 a, alm_i256 b)
{
    return ((a.w[0] ^ b.w[0]) | (a.w[1] ^ b.w[1]) | (a.w[2] ^ b.w[2]) | (a.w[3] ^ b.w[3])) == 0;
}
/* The low 128 bits; *fits is false where that changes the value. */
static inline alm_i128 alm_i256_low(alm_i256 value, bool *fits)
{
    const uint64_t sign = value.w[1] >> 63 != 0 ? UINT64_MAX : 0;
    *fits = value.w[2] == sign && value.w[3] == sign;
    return (alm_i128)((alm_u128)value.w[1] << 64 | value.w[0]);
}
static inline alm_i256 alm_i256_add(alm_i256 a, alm_i256 b)
{
    alm_i256 result;
    alm_u128 carry = 0;
    for (int i = 0; i < 4; i++) {
        carry += (alm_u128)a.w[i] + b.w[i];
        result.w[i] = (uint64_t)carry;
        carry >>= 64;
    }
    return result;
}
static inline alm_i256 alm_i256_neg(alm_i256 value)
{
    const alm_i256 flipped = {{~value.w[0], ~value.w[1], ~value.w[2], ~value.w[3]}};
    return alm_i256_add(flipped, alm_i256_of(1));
}
static inline alm_i256 alm_i256_sub(alm_i256 a, alm_i256 b)
{
    return alm_i256_add(a, alm_i256_neg(b));
}
static inline int alm_u256_cmp(alm_i256 a, alm_i256 b)
{
    for (int i = 3; i > 0; i--)
        if (a.w[i] != b.w[i])
            return a.w[i] < b.w[i] ? -1 : 1;
    return a.w[0] < b.w[0] ? -1 : a.w[0] > b.w[0];
}
static inline int alm_i256_cmp(alm_i256 a, alm_i256 b)
{
    a.w[3] ^= UINT64_C(1) << 63;
    b.w[3] ^= UINT64_C(1) << 63;
    return alm_u256_cmp(a, b);
}
static inline alm_i256 alm_i256_abs(alm_i256 value)
{
    return alm_i256_is_neg(value) ? alm_i256_neg(value) : value;
}
/* *x = *x * by + add, unsigned; false: it does not fit into 256 bits. */
static inline bool alm_u256_mul_add(alm_i256 *value, uint64_t by, uint64_t add)
{
    alm_u128 carry = add;
    for (int i = 0; i < 4; i++) {
        carry += (alm_u128)value->w[i] * by;
        value->w[i] = (uint64_t)carry;
        carry >>= 64;
    }
    return carry == 0;
}
/* *x = *x / by, unsigned; the remainder is returned. by > 0. */
static inline uint64_t alm_u256_div_small(alm_i256 *value, uint64_t by)
{
    alm_u128 rest = 0;
    for (int i = 3; i >= 0; i--) {
        rest = rest << 64 | value->w[i];
        value->w[i] = (uint64_t)(rest / by);
        rest %= by;
    }
    return (uint64_t)rest;
}
/* Signed product; false: it does not fit. */
bool alm_i256_mul(alm_i256 a, alm_i256 b, alm_i256 *out);
/* Quotient towards zero and remainder with the sign of a; b is not zero. */
void alm_i256_divmod(alm_i256 a, alm_i256 b, alm_i256 *quotient, alm_i256 *rest);

/* Nearest double, ties to even. */
double alm_i256_to_double(alm_i256 value);

/* LONG256: the null is four times the null of a LONG. */
static inline alm_i256 alm_long256_null(void)
{
    const uint64_t n = UINT64_C(1) << 63;
    return (alm_i256){{n, n, n, n}};
}
static inline bool alm_long256_is_null(alm_i256 value)
{
    return alm_i256_eq(value, alm_long256_null());
}
/* "0x1f", two digits at least and always an even number of them. */
enum { ALM_LONG256_TEXT_MAX = 66 };
size_t alm_long256_format(alm_i256 value, char out[ALM_LONG256_TEXT_MAX]);
/* 0x and 1..64 hexadecimal digits, any case. */
bool alm_long256_parse(alm_str text, alm_i256 *out);

#endif
