/*
 * decimal.c - see decimal.h.
 */
#include "type/decimal.h"

#include "base/be.h"
#include "base/number.h"
#include "type/ops.h"

static const alm_i256 POW10[ALM_DECIMAL_DIGITS_MAX + 1] = {
    /* clang-format off */
    {{UINT64_C(0x1), UINT64_C(0x0), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0xa), UINT64_C(0x0), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x64), UINT64_C(0x0), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x3e8), UINT64_C(0x0), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x2710), UINT64_C(0x0), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x186a0), UINT64_C(0x0), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0xf4240), UINT64_C(0x0), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x989680), UINT64_C(0x0), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x5f5e100), UINT64_C(0x0), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x3b9aca00), UINT64_C(0x0), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x2540be400), UINT64_C(0x0), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x174876e800), UINT64_C(0x0), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0xe8d4a51000), UINT64_C(0x0), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x9184e72a000), UINT64_C(0x0), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x5af3107a4000), UINT64_C(0x0), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x38d7ea4c68000), UINT64_C(0x0), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x2386f26fc10000), UINT64_C(0x0), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x16345785d8a0000), UINT64_C(0x0), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0xde0b6b3a7640000), UINT64_C(0x0), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x8ac7230489e80000), UINT64_C(0x0), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x6bc75e2d63100000), UINT64_C(0x5), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x35c9adc5dea00000), UINT64_C(0x36), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x19e0c9bab2400000), UINT64_C(0x21e), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x2c7e14af6800000), UINT64_C(0x152d), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x1bcecceda1000000), UINT64_C(0xd3c2), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x161401484a000000), UINT64_C(0x84595), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0xdcc80cd2e4000000), UINT64_C(0x52b7d2), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x9fd0803ce8000000), UINT64_C(0x33b2e3c), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x3e25026110000000), UINT64_C(0x204fce5e), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x6d7217caa0000000), UINT64_C(0x1431e0fae), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x4674edea40000000), UINT64_C(0xc9f2c9cd0), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0xc0914b2680000000), UINT64_C(0x7e37be2022), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x85acef8100000000), UINT64_C(0x4ee2d6d415b), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x38c15b0a00000000), UINT64_C(0x314dc6448d93), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x378d8e6400000000), UINT64_C(0x1ed09bead87c0), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x2b878fe800000000), UINT64_C(0x13426172c74d82), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0xb34b9f1000000000), UINT64_C(0xc097ce7bc90715), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0xf436a000000000), UINT64_C(0x785ee10d5da46d9), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x98a224000000000), UINT64_C(0x4b3b4ca85a86c47a), UINT64_C(0x0), UINT64_C(0x0)}},
    {{UINT64_C(0x5f65568000000000), UINT64_C(0xf050fe938943acc4), UINT64_C(0x2), UINT64_C(0x0)}},
    {{UINT64_C(0xb9f5610000000000), UINT64_C(0x6329f1c35ca4bfab), UINT64_C(0x1d), UINT64_C(0x0)}},
    {{UINT64_C(0x4395ca0000000000), UINT64_C(0xdfa371a19e6f7cb5), UINT64_C(0x125), UINT64_C(0x0)}},
    {{UINT64_C(0xa3d9e40000000000), UINT64_C(0xbc627050305adf14), UINT64_C(0xb7a), UINT64_C(0x0)}},
    {{UINT64_C(0x6682e80000000000), UINT64_C(0x5bd86321e38cb6ce), UINT64_C(0x72cb), UINT64_C(0x0)}},
    {{UINT64_C(0x11d100000000000), UINT64_C(0x9673df52e37f2410), UINT64_C(0x47bf1), UINT64_C(0x0)}},
    {{UINT64_C(0xb22a00000000000), UINT64_C(0xe086b93ce2f768a0), UINT64_C(0x2cd76f), UINT64_C(0x0)}},
    {{UINT64_C(0x6f5a400000000000), UINT64_C(0xc5433c60ddaa1640), UINT64_C(0x1c06a5e), UINT64_C(0x0)}},
    {{UINT64_C(0x5986800000000000), UINT64_C(0xb4a05bc8a8a4de84), UINT64_C(0x118427b3), UINT64_C(0x0)}},
    {{UINT64_C(0x7f41000000000000), UINT64_C(0xe4395d69670b12b), UINT64_C(0xaf298d05), UINT64_C(0x0)}},
    {{UINT64_C(0xf88a000000000000), UINT64_C(0x8ea3da61e066ebb2), UINT64_C(0x6d79f8232), UINT64_C(0x0)}},
    {{UINT64_C(0xb564000000000000), UINT64_C(0x926687d2c40534fd), UINT64_C(0x446c3b15f9), UINT64_C(0x0)}},
    {{UINT64_C(0x15e8000000000000), UINT64_C(0xb8014e3ba83411e9), UINT64_C(0x2ac3a4edbbf), UINT64_C(0x0)}},
    {{UINT64_C(0xdb10000000000000), UINT64_C(0x300d0e549208b31a), UINT64_C(0x1aba4714957d), UINT64_C(0x0)}},
    {{UINT64_C(0x8ea0000000000000), UINT64_C(0xe0828f4db456ff0c), UINT64_C(0x10b46c6cdd6e3), UINT64_C(0x0)}},
    {{UINT64_C(0x9240000000000000), UINT64_C(0xc51999090b65f67d), UINT64_C(0xa70c3c40a64e6), UINT64_C(0x0)}},
    {{UINT64_C(0xb680000000000000), UINT64_C(0xb2fffa5a71fba0e7), UINT64_C(0x6867a5a867f103), UINT64_C(0x0)}},
    {{UINT64_C(0x2100000000000000), UINT64_C(0xfdffc78873d4490d), UINT64_C(0x4140c78940f6a24), UINT64_C(0x0)}},
    {{UINT64_C(0x4a00000000000000), UINT64_C(0xebfdcb54864ada83), UINT64_C(0x28c87cb5c89a2571), UINT64_C(0x0)}},
    {{UINT64_C(0xe400000000000000), UINT64_C(0x37e9f14d3eec8920), UINT64_C(0x97d4df19d6057673), UINT64_C(0x1)}},
    {{UINT64_C(0xe800000000000000), UINT64_C(0x2f236d04753d5b48), UINT64_C(0xee50b7025c36a080), UINT64_C(0xf)}},
    {{UINT64_C(0x1000000000000000), UINT64_C(0xd762422c946590d9), UINT64_C(0x4f2726179a224501), UINT64_C(0x9f)}},
    {{UINT64_C(0xa000000000000000), UINT64_C(0x69d695bdcbf7a87a), UINT64_C(0x17877cec0556b212), UINT64_C(0x639)}},
    {{UINT64_C(0x4000000000000000), UINT64_C(0x2261d969f7ac94ca), UINT64_C(0xeb4ae1383562f4b8), UINT64_C(0x3e3a)}},
    {{UINT64_C(0x8000000000000000), UINT64_C(0x57d27e23acbdcfe6), UINT64_C(0x30eccc3215dd8f31), UINT64_C(0x26e4d)}},
    {{UINT64_C(0x0), UINT64_C(0x6e38ed64bf6a1f01), UINT64_C(0xe93ff9f4daa797ed), UINT64_C(0x184f03)}},
    {{UINT64_C(0x0), UINT64_C(0x4e3945ef7a25360a), UINT64_C(0x1c7fc3908a8bef46), UINT64_C(0xf31627)}},
    {{UINT64_C(0x0), UINT64_C(0xe3cbb5ac5741c64), UINT64_C(0x1cfda3a5697758bf), UINT64_C(0x97edd87)}},
    {{UINT64_C(0x0), UINT64_C(0x8e5f518bb6891be8), UINT64_C(0x21e864761ea97776), UINT64_C(0x5ef4a747)}},
    {{UINT64_C(0x0), UINT64_C(0x8fb92f75215b1710), UINT64_C(0x5313ec9d329eaaa1), UINT64_C(0x3b58e88c7)}},
    {{UINT64_C(0x0), UINT64_C(0x9d3bda934d8ee6a0), UINT64_C(0x3ec73e23fa32aa4f), UINT64_C(0x25179157c9)}},
    {{UINT64_C(0x0), UINT64_C(0x245689c107950240), UINT64_C(0x73c86d67c5faa71c), UINT64_C(0x172ebad6ddc)}},
    {{UINT64_C(0x0), UINT64_C(0x6b61618a4bd21680), UINT64_C(0x85d4460dbbca8719), UINT64_C(0xe7d34c64a9c)}},
    {{UINT64_C(0x0), UINT64_C(0x31cdcf66f634e100), UINT64_C(0x3a4abc8955e946fe), UINT64_C(0x90e40fbeea1d)}},
    {{UINT64_C(0x0), UINT64_C(0xf20a1a059e10ca00), UINT64_C(0x46eb5d5d5b1cc5ed), UINT64_C(0x5a8e89d752524)}},
    {{UINT64_C(0x0), UINT64_C(0x746504382ca7e400), UINT64_C(0xc531a5a58f1fbb4b), UINT64_C(0x3899162693736a)}},
    {{UINT64_C(0x0), UINT64_C(0x8bf22a31be8ee800), UINT64_C(0xb3f07877973d50f2), UINT64_C(0x235fadd81c2822b)}},
    {{UINT64_C(0x0), UINT64_C(0x7775a5f171951000), UINT64_C(0x764b4abe8652979), UINT64_C(0x161bcca7119915b5)}},
    /* clang-format on */
};

alm_i256 alm_pow10_256(uint32_t n)
{
    ALM_ASSERT(n <= ALM_DECIMAL_DIGITS_MAX);
    return POW10[n];
}

alm_i256 alm_decimal_load(alm_type type, const void *ptr)
{
    int64_t value = 0;
    switch (alm_type_width(type)) {
    case 1:
        value = *(const int8_t *)ptr;
        return value == INT8_MIN ? alm_i256_min() : alm_i256_of(value);
    case 2:
        value = *(const int16_t *)ptr;
        return value == INT16_MIN ? alm_i256_min() : alm_i256_of(value);
    case 4:
        value = *(const int32_t *)ptr;
        return value == INT32_MIN ? alm_i256_min() : alm_i256_of(value);
    case 8:
        value = *(const int64_t *)ptr;
        return value == INT64_MIN ? alm_i256_min() : alm_i256_of(value);
    case 16: {
        alm_i128 wide;
        memcpy(&wide, ptr, sizeof wide);
        return wide == ALM_I128_MIN ? alm_i256_min() : alm_i256_of128(wide);
    }
    default: {
        alm_i256 all;
        memcpy(&all, ptr, sizeof all);
        return all;
    }
    }
}

void alm_decimal_store(alm_type type, alm_i256 value, void *ptr)
{
    const uint32_t width = alm_type_width(type);
    if (alm_i256_is_min(value) && width < sizeof value) { /* the least number of the width */
        memset(ptr, 0, width);
        ((uint8_t *)ptr)[width - 1] = 0x80;
        return;
    }
    memcpy(ptr, &value, width); /* little-endian: the low bytes */
}

uint32_t alm_i256_digits(alm_i256 value)
{
    const alm_i256 m = alm_i256_abs(value);
    uint32_t lo = 1, hi = ALM_DECIMAL_DIGITS_MAX + 1; /* the first power above m */
    while (lo < hi) {
        const uint32_t mid = (lo + hi) / 2;
        if (mid > ALM_DECIMAL_DIGITS_MAX || alm_u256_cmp(m, POW10[mid]) < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* How far the magnitude goes up, given what is cut off it: 0 or 1. */
static bool rounds_up(alm_i256 quotient, alm_i256 rest, alm_i256 unit, bool negative,
                      alm_rounding rounding)
{
    switch (rounding) {
    case ALM_ROUND_EXACT:
    case ALM_ROUND_DOWN:
        return false;
    case ALM_ROUND_UP:
        return !alm_i256_is_zero(rest);
    case ALM_ROUND_FLOOR:
        return negative && !alm_i256_is_zero(rest);
    case ALM_ROUND_CEIL:
        return !negative && !alm_i256_is_zero(rest);
    case ALM_ROUND_HALF_UP:
    case ALM_ROUND_HALF_EVEN:
        break;
    }
    const int side = alm_u256_cmp(rest, alm_i256_sub(unit, rest)); /* rest against half a unit */
    return side > 0 || (side == 0 && (rounding == ALM_ROUND_HALF_UP || (quotient.w[0] & 1) != 0));
}

bool alm_decimal_rescale(alm_i256 value, uint32_t from, uint32_t to, alm_rounding rounding,
                         alm_i256 *out)
{
    *out = value;
    if (from == to || alm_i256_is_zero(value))
        return true;
    if (to > from) {
        const uint32_t by = to - from;
        return by <= ALM_DECIMAL_DIGITS_MAX && alm_i256_mul(value, POW10[by], out) &&
               alm_decimal_fits(*out, ALM_DECIMAL_DIGITS_MAX);
    }
    const bool negative = alm_i256_is_neg(value);
    const alm_i256 unit = POW10[ALM_MIN(from - to, (uint32_t)ALM_DECIMAL_DIGITS_MAX)];
    alm_i256 quotient, rest;
    alm_i256_divmod(alm_i256_abs(value), unit, &quotient, &rest);
    if (rounding == ALM_ROUND_EXACT && !alm_i256_is_zero(rest))
        return false;
    if (rounds_up(quotient, rest, unit, negative, rounding))
        quotient = alm_i256_add(quotient, alm_i256_of(1));
    *out = negative ? alm_i256_neg(quotient) : quotient;
    return true;
}

/* -------------------------------------------------------------------- text */

size_t alm_decimal_format(alm_i256 value, uint32_t scale, char out[ALM_DECIMAL_TEXT_MAX])
{
    char digits[ALM_DECIMAL_TEXT_MAX]; /* least first */
    size_t count = 0;
    alm_i256 m = alm_i256_abs(value);
    while (!alm_i256_is_zero(m)) {
        uint64_t group = alm_u256_div_small(&m, UINT64_C(1000000000000000000));
        for (int i = 0; i < 18 && count < sizeof digits - 2; i++, group /= 10) {
            if (group == 0 && alm_i256_is_zero(m))
                break;
            digits[count++] = (char)('0' + group % 10);
        }
    }
    while (count < (size_t)scale + 1)
        digits[count++] = '0';
    size_t len = 0;
    if (alm_i256_is_neg(value))
        out[len++] = '-';
    while (count > 0) {
        out[len++] = digits[--count];
        if (count == scale && scale > 0)
            out[len++] = '.';
    }
    return len;
}

static alm_str type_decimal_number_core(alm_str text)
{
    while (text.len > 0 && (uint8_t)text.ptr[0] <= ' ')
        text = (alm_str){text.ptr + 1, text.len - 1};
    while (text.len > 0 && (uint8_t)text.ptr[text.len - 1] <= ' ')
        text.len--;
    if (text.len > 1 && (text.ptr[text.len - 1] | 0x20) == 'm')
        text.len--;
    return text;
}

/* Signed exponent behind e; the text is all of it. */
static bool read_exponent(alm_str text, int32_t *out)
{
    return text.len > 0 && text.len <= 5 && alm_int32_parse(text, out) == ALM_NUM_OK;
}

bool alm_decimal_parse(alm_str text, alm_i256 *out, uint32_t *precision, uint32_t *scale)
{
    const alm_str core = type_decimal_number_core(text);
    size_t i = 0;
    const bool negative = core.len > 0 && core.ptr[0] == '-';
    if (core.len > 0 && (core.ptr[0] == '-' || core.ptr[0] == '+'))
        i++;
    alm_i256 value = {{0}};
    bool any = false, point = false;
    int32_t behind = 0, exponent = 0;
    for (; i < core.len; i++) {
        const char byte = core.ptr[i];
        if (byte == '.' && !point) {
            point = true;
            continue;
        }
        if (byte < '0' || byte > '9')
            break;
        any = true;
        if (!alm_u256_mul_add(&value, 10, (uint64_t)(byte - '0')) ||
            !alm_decimal_fits(value, ALM_DECIMAL_DIGITS_MAX))
            return false;
        behind += point;
    }
    if (!any)
        return false;
    if (i < core.len) {
        if ((core.ptr[i] | 0x20) != 'e' ||
            !read_exponent((alm_str){core.ptr + i + 1, core.len - i - 1}, &exponent))
            return false;
        behind -= exponent;
    }
    if (behind < 0) {
        if (!alm_decimal_rescale(value, 0,
                                 ALM_MIN((uint32_t)-behind, (uint32_t)ALM_DECIMAL_DIGITS_MAX + 1),
                                 ALM_ROUND_EXACT, &value))
            return false;
        behind = 0;
    }
    if (behind > ALM_DECIMAL_DIGITS_MAX)
        return false;
    *out = negative ? alm_i256_neg(value) : value;
    *scale = (uint32_t)behind;
    /* a zero before the point counts: 0.001 has four digits */
    const uint32_t least = behind > 0 ? (uint32_t)behind + 1 : 1;
    *precision = ALM_MIN(ALM_MAX(alm_i256_digits(value), least), (uint32_t)ALM_DECIMAL_DIGITS_MAX);
    return true;
}

/* ----------------------------------------------------------------- doubles */

double alm_decimal_to_double(alm_i256 value, uint32_t scale)
{
    enum { EXACT = 22 }; /* powers of ten up to it are doubles */
    const bool small = alm_u256_cmp(alm_i256_abs(value), alm_i256_of(INT64_C(1) << 53)) <= 0;
    if (small && scale <= EXACT) {
        double unit = 1;
        for (uint32_t i = 0; i < scale; i++)
            unit *= 10;
        return alm_i256_to_double(value) / unit;
    }
    char text[ALM_DECIMAL_TEXT_MAX];
    double d = 0;
    const size_t n = alm_decimal_format(value, scale, text);
    (void)alm_double_parse((alm_str){text, n}, &d);
    return d;
}

bool alm_decimal_of_double(double d, uint32_t scale, alm_i256 *out)
{
    uint64_t digits = 0;
    int32_t exponent = 0;
    *out = alm_i256_of(0);
    if (d == 0)
        return true;
    alm_double_shortest(d, &digits, &exponent);
    const alm_i256 value = alm_i256_of((int64_t)digits); /* at most 17 digits */
    const int32_t drop = -exponent;                      /* digits behind the point */
    bool fits = true;
    if (drop >= 0)
        fits = alm_decimal_rescale(value, (uint32_t)drop, scale, ALM_ROUND_HALF_UP, out);
    else
        fits = exponent <= ALM_DECIMAL_DIGITS_MAX &&
               alm_decimal_rescale(value, 0, (uint32_t)exponent + scale, ALM_ROUND_HALF_UP, out);
    if (d < 0)
        *out = alm_i256_neg(*out);
    return fits;
}

/* ------------------------------------------------------------------------- the type */

static size_t format_decimal(alm_type type, const void *ptr, ALM_UNUSED alm_text_style style,
                             char *out)
{
    const alm_i256 value = alm_decimal_load(type, ptr);
    return alm_i256_is_min(value) ? 0 : alm_decimal_format(value, type.s, out);
}

static alm_scan_result scan_decimal(alm_type type, alm_str text, void *out)
{
    const uint32_t most = type.p == 0 ? 18 : type.p;
    alm_i256 value;
    uint32_t precision = 0, scale = 0;
    if (!alm_decimal_parse(text, &value, &precision, &scale) ||
        !alm_decimal_rescale(value, scale, type.s, ALM_ROUND_EXACT, &value))
        return ALM_SCAN_BAD;
    if (!alm_decimal_fits(value, most))
        return ALM_SCAN_RANGE;
    alm_decimal_store(type, value, out);
    return ALM_SCAN_OK;
}

/* To 9 digits INT32, to 18 INT64, else FIXED, greatest byte first. */
static alm_parquet_form parquet_decimal(alm_type type, ALM_UNUSED bool raw)
{
    const uint32_t width = alm_type_width(type);
    alm_parquet_form parquet_form = width <= 4 ? alm_parquet_of(ALM_PQ_INT32, ALM_PQ_ORDER_INT32)
                                    : width == 8
                                        ? alm_parquet_of(ALM_PQ_INT64, ALM_PQ_ORDER_INT64)
                                        : alm_parquet_fixed(width, ALM_PQ_ORDER_SIGNED_BYTES);
    parquet_form.logical = ALM_PQ_L_DECIMAL;
    parquet_form.converted = ALM_PQ_C_DECIMAL;
    parquet_form.precision = type.p;
    parquet_form.scale = type.s;
    parquet_form.by_field = true;
    return parquet_form;
}

enum { NUMERIC_GROUP = 10000, NUMERIC_HEAD = 8 };

/* numeric of the wire: number of groups, weight of the first, sign, scale, groups of four digits without
 * those at the end that are 0. At most 8 + 2 * 21 bytes. */
static size_t send_numeric(alm_type type, const void *ptr, char *dest)
{
    enum { GROUPS = 24 };
    uint16_t group[GROUPS]; /* least first */
    const alm_i256 value = alm_decimal_load(type, ptr);
    alm_i256 m = alm_i256_abs(value);
    /* the point falls between groups once the scale is a multiple of four */
    const uint32_t fill = (4 - type.s % 4U) % 4, behind = (type.s + fill) / 4U;
    uint32_t count = 0, first = 0, low = 1;
    for (uint32_t i = fill; i < 4 && fill > 0; i++) /* the last group holds 4 - fill digits */
        low *= 10;
    uint32_t shift = 1;
    for (uint32_t i = 0; i < fill; i++)
        shift *= 10;
    if (fill > 0)
        group[count++] = (uint16_t)(alm_u256_div_small(&m, low) * shift);
    while (!alm_i256_is_zero(m) && count < GROUPS)
        group[count++] = (uint16_t)alm_u256_div_small(&m, NUMERIC_GROUP);
    while (count > 0 && group[count - 1] == 0)
        count--;
    while (first < count && group[first] == 0)
        first++;
    const int32_t weight = count == first ? 0 : (int32_t)count - (int32_t)behind - 1;
    alm_be_put16(dest, (uint16_t)(count - first));
    alm_be_put16(dest + 2, (uint16_t)(int16_t)weight);
    alm_be_put16(dest + 4, alm_i256_is_neg(value) ? 0x4000 : 0);
    alm_be_put16(dest + 6, type.s);
    size_t len = NUMERIC_HEAD;
    for (uint32_t i = count; i > first; i--, len += 2)
        alm_be_put16(dest + len, group[i - 1]);
    return len;
}

alm_status alm_pg_numeric_text(alm_ctx *cx, uint32_t index, alm_str text, char out[512], size_t *n)
{
    if (text.len < 8)
        return alm_pg_length(cx, index, 8, text.len);
    const uint16_t digits = alm_be_get16(text.ptr);
    const int16_t weight = (int16_t)alm_be_get16(text.ptr + 2);
    const uint16_t sign = alm_be_get16(text.ptr + 4);
    if (text.len != 8 + 2 * (size_t)digits)
        return alm_pg_length(cx, index, 8 + 2 * (size_t)digits, text.len);
    if (sign == 0xC000 || sign == 0xD000 || sign == 0xF000) {
        (void)memcpy(out, "NaN", 3);
        *n = 3;
        return ALM_OK;
    }
    if (digits > 60)
        return alm_fail(cx, ALM_E_RANGE, -1, "numeric parameter %u has too many digits", index + 1);
    size_t offset = 0;
    if (sign == 0x4000)
        out[offset++] = '-';
    out[offset++] = '0';
    for (uint16_t i = 0; i < digits; i++) { /* as an integer; the exponent follows */
        uint16_t group = alm_be_get16(text.ptr + 8 + 2 * i);
        if (group > 9999)
            return alm_fail(cx, ALM_E_FORMAT, -1, "bad digit in numeric parameter %u", index + 1);
        for (uint16_t unit = 1000; unit > 0; unit /= 10) {
            out[offset++] = (char)('0' + group / unit);
            group %= unit;
        }
    }
    int32_t exponent = 4 * (weight - (int32_t)digits + 1);
    const uint16_t scale = alm_be_get16(text.ptr + 6);
    /* the last group is full of zeros, with which a number of 76 digits would have too many */
    for (; -exponent > (int32_t)scale && out[offset - 1] == '0' && offset > 2; offset--)
        exponent++;
    out[offset++] = 'e';
    offset += alm_int32_format(exponent, out + offset);
    *n = offset;
    return ALM_OK;
}

static alm_status receive_numeric(alm_ctx *cx, uint32_t index, alm_type type, alm_str in, void *out)
{
    char text[512];
    size_t n = 0;
    ALM_TRY(alm_pg_numeric_text(cx, index, in, text, &n));
    if (!alm_str_eq((alm_str){text, n}, ALM_STR("NaN")))
        return alm_value_parse(cx, -1, type, (alm_str){text, n}, out);
    alm_value_set_null(type, out);
    return ALM_OK;
}

const alm_type_ops alm_type_ops_DECIMAL = {
    .format = format_decimal,
    .scan = scan_decimal,
    .parquet = parquet_decimal,
    .written = ALM_WRITTEN_WIDE,
    .pg_send = send_numeric,
    .pg_receive = receive_numeric,
};
