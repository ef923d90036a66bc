/*
 * int256.c - see int256.h. Products and quotients of 256 bits; the text of LONG256.
 */
#include "type/int256.h"

#include "base/number.h"

bool alm_i256_mul(alm_i256 a, alm_i256 b, alm_i256 *out)
{
    const bool negative = alm_i256_is_neg(a) != alm_i256_is_neg(b);
    const alm_i256 x = alm_i256_abs(a), y = alm_i256_abs(b);
    uint64_t product[8] = {0};
    for (int i = 0; i < 4; i++) {
        alm_u128 carry = 0;
        for (int j = 0; j < 4; j++) {
            carry += (alm_u128)x.w[i] * y.w[j] + product[i + j];
            product[i + j] = (uint64_t)carry;
            carry >>= 64;
        }
        product[i + 4] = (uint64_t)carry;
    }
    if ((product[4] | product[5] | product[6] | product[7]) != 0 || product[3] >> 63 != 0)
        return false;
    const alm_i256 result = {{product[0], product[1], product[2], product[3]}};
    *out = negative ? alm_i256_neg(result) : result;
    return true;
}

static alm_i256 doubled(alm_i256 value, uint64_t low_bit)
{
    for (int i = 3; i > 0; i--)
        value.w[i] = value.w[i] << 1 | value.w[i - 1] >> 63;
    value.w[0] = value.w[0] << 1 | low_bit;
    return value;
}

/* Unsigned. Divisors of one word, by far the most, go a word at a time; others bit by bit. */
static void int256_divide(alm_i256 a, alm_i256 b, alm_i256 *quotient, alm_i256 *rest)
{
    if ((b.w[1] | b.w[2] | b.w[3]) == 0) {
        *quotient = a;
        *rest = (alm_i256){{alm_u256_div_small(quotient, b.w[0]), 0, 0, 0}};
        return;
    }
    alm_i256 q = {{0}}, result = {{0}};
    for (int bit = 255; bit >= 0; bit--) {
        result = doubled(result, a.w[bit / 64] >> (bit % 64) & 1);
        const bool below = alm_u256_cmp(result, b) < 0;
        if (!below)
            result = alm_i256_sub(result, b);
        q = doubled(q, below ? 0 : 1);
    }
    *quotient = q;
    *rest = result;
}

void alm_i256_divmod(alm_i256 a, alm_i256 b, alm_i256 *quotient, alm_i256 *rest)
{
    const bool neg_a = alm_i256_is_neg(a), neg_b = alm_i256_is_neg(b);
    alm_i256 q, result;
    int256_divide(alm_i256_abs(a), alm_i256_abs(b), &q, &result);
    *quotient = neg_a != neg_b ? alm_i256_neg(q) : q;
    *rest = neg_a ? alm_i256_neg(result) : result;
}

double alm_i256_to_double(alm_i256 value)
{
    const alm_i256 m = alm_i256_abs(value);
    int top = 3;
    while (top > 0 && m.w[top] == 0)
        top--;
    alm_u128 head = m.w[top];
    int shift = 0;
    if (top > 0) { /* the leading 128 bits; what is cut off only breaks ties */
        const int lead = __builtin_clzll(m.w[top]);
        head = (alm_u128)m.w[top] << 64 | m.w[top - 1];
        shift = 64 * (top - 1);
        uint64_t below = 0;
        if (top > 1) {
            head = lead == 0 ? head : head << lead | m.w[top - 2] >> (64 - lead);
            below = m.w[top - 2] << lead;
            shift -= lead;
            for (int i = top - 3; i >= 0; i--)
                below |= m.w[i];
        }
        head |= below != 0;
    }
    const double d = __builtin_ldexp((double)head, shift);
    return alm_i256_is_neg(value) ? -d : d;
}
