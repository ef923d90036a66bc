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

static inline alm_i256 alm_i256_of(int64_t x)
{
    const uint64_t sign = x < 0 ? UINT64_MAX : 0;
    return (alm_i256){{(uint64_t)x, sign, sign, sign}};
}
static inline alm_i256 alm_i256_of128(alm_i128 x)
{
    const uint64_t sign = x < 0 ? UINT64_MAX : 0;
    return (alm_i256){{(uint64_t)x, (uint64_t)((alm_u128)x >> 64), sign, sign}};
}
static inline alm_i256 alm_i256_min(void)
{
    return (alm_i256){{0, 0, 0, UINT64_C(1) << 63}};
}
static inline bool alm_i256_is_min(alm_i256 x)
{
    return (x.w[0] | x.w[1] | x.w[2]) == 0 && x.w[3] == UINT64_C(1) << 63;
}
static inline bool alm_i256_is_zero(alm_i256 x)
{
    return (x.w[0] | x.w[1] | x.w[2] | x.w[3]) == 0;
}
static inline bool alm_i256_is_neg(alm_i256 x)
{
    return x.w[3] >> 63 != 0;
}
static inline bool alm_i256_eq(alm_i256 a, alm_i256 b)
{
    return ((a.w[0] ^ b.w[0]) | (a.w[1] ^ b.w[1]) | (a.w[2] ^ b.w[2]) | (a.w[3] ^ b.w[3])) == 0;
}
/* The low 128 bits; *fits is false where that changes the value. */
static inline alm_i128 alm_i256_low(alm_i256 x, bool *fits)
{
    const uint64_t sign = x.w[1] >> 63 != 0 ? UINT64_MAX : 0;
    *fits = x.w[2] == sign && x.w[3] == sign;
    return (alm_i128)((alm_u128)x.w[1] << 64 | x.w[0]);
}
static inline alm_i256 alm_i256_add(alm_i256 a, alm_i256 b)
{
    alm_i256 r;
    alm_u128 carry = 0;
    for (int i = 0; i < 4; i++) {
        carry += (alm_u128)a.w[i] + b.w[i];
        r.w[i] = (uint64_t)carry;
        carry >>= 64;
    }
    return r;
}
static inline alm_i256 alm_i256_neg(alm_i256 x)
{
    const alm_i256 flipped = {{~x.w[0], ~x.w[1], ~x.w[2], ~x.w[3]}};
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
static inline alm_i256 alm_i256_abs(alm_i256 x)
{
    return alm_i256_is_neg(x) ? alm_i256_neg(x) : x;
}
/* *x = *x * by + add, unsigned; false: it does not fit into 256 bits. */
static inline bool alm_u256_mul_add(alm_i256 *x, uint64_t by, uint64_t add)
{
    alm_u128 carry = add;
    for (int i = 0; i < 4; i++) {
        carry += (alm_u128)x->w[i] * by;
        x->w[i] = (uint64_t)carry;
        carry >>= 64;
    }
    return carry == 0;
}
/* *x = *x / by, unsigned; the remainder is returned. by > 0. */
static inline uint64_t alm_u256_div_small(alm_i256 *x, uint64_t by)
{
    alm_u128 rest = 0;
    for (int i = 3; i >= 0; i--) {
        rest = rest << 64 | x->w[i];
        x->w[i] = (uint64_t)(rest / by);
        rest %= by;
    }
    return (uint64_t)rest;
}
/* Signed product; false: it does not fit. */
bool alm_i256_mul(alm_i256 a, alm_i256 b, alm_i256 *out);
/* Quotient towards zero and remainder with the sign of a; b is not zero. */
void alm_i256_divmod(alm_i256 a, alm_i256 b, alm_i256 *quotient, alm_i256 *rest);

/* Nearest double, ties to even. */
double alm_i256_to_double(alm_i256 x);

/* LONG256: the null is four times the null of a LONG. */
static inline alm_i256 alm_long256_null(void)
{
    const uint64_t n = UINT64_C(1) << 63;
    return (alm_i256){{n, n, n, n}};
}
static inline bool alm_long256_is_null(alm_i256 x)
{
    return alm_i256_eq(x, alm_long256_null());
}
/* "0x1f", two digits at least and always an even number of them. */
enum { ALM_LONG256_TEXT_MAX = 66 };
size_t alm_long256_format(alm_i256 x, char out[ALM_LONG256_TEXT_MAX]);
/* 0x and 1..64 hexadecimal digits, any case. */
bool alm_long256_parse(alm_str text, alm_i256 *out);

#endif
