/*
 * number_parse.c - text to integers and, correctly rounded, to floating numbers.
 *
 * Floating numbers, in three steps of growing cost:
 *   1. up to 2^53 times a power of ten up to 10^22: both exact, so one operation rounds correctly
 *      (W. D. Clinger, 1990);
 *   2. the first 19 digits times the leading 128 bits of the power of ten (pow10.h) bound the value
 *      from below and above; if both bounds round to the same number, that is the answer. This is
 *      the idea of M. Eisel and D. Lemire (2021) with the error bound checked instead of proved;
 *   3. else (exact ties, hundreds of digits) big integers decide on which side of the middle
 *      between two neighbours the text lies.
 */
#include "base/number.h"
#include "base/pow10.h"

/* ----------------------------------------------------------------- integers */

/* Value of eight digits, the highest first; false: not all are digits. Pairs, fours, then all are put
 * together in one word (D. Lemire, 2018). */
static bool eight_digits(const char *text, uint64_t *out)
{
    uint64_t word;
    memcpy(&word, text, sizeof word);
    const uint64_t high = UINT64_C(0xf0f0f0f0f0f0f0f0), zeros = UINT64_C(0x3030303030303030);
    if ((word & high) != zeros || ((word + UINT64_C(0x0606060606060606)) & high) != zeros)
        return false;
    word = (word & UINT64_C(0x0f0f0f0f0f0f0f0f)) * 2561 >> 8;
    word = (word & UINT64_C(0x00ff00ff00ff00ff)) * 6553601 >> 16;
    *out = (word & UINT64_C(0x0000ffff0000ffff)) * UINT64_C(42949672960001) >> 32;
    return true;
}

/* Magnitude of digits text[at..]; at least one. */
static alm_num_parse parse_magnitude(alm_str text, size_t offset, uint64_t *out)
{
    if (offset == text.len)
        return ALM_NUM_BAD;
    uint64_t value = 0, eight = 0;
    bool overflow = false;
    for (int i = 0; i < 2 && text.len - offset >= 8 && eight_digits(text.ptr + offset, &eight);
         i++) {
        value = value * 100000000 + eight; /* sixteen digits are never too many */
        offset += 8;
    }
    for (; offset < text.len; offset++) {
        const uint8_t digit = (uint8_t)((uint8_t)text.ptr[offset] - '0');
        if (digit > 9)
            return ALM_NUM_BAD;
        overflow |= __builtin_mul_overflow(value, UINT64_C(10), &value);
        overflow |= __builtin_add_overflow(value, (uint64_t)digit, &value);
    }
    *out = value;
    return overflow ? ALM_NUM_OVERFLOW : ALM_NUM_OK;
}

static size_t parse_sign(alm_str text, bool *negative)
{
    *negative = text.len > 0 && text.ptr[0] == '-';
    return text.len > 0 && (text.ptr[0] == '-' || text.ptr[0] == '+');
}

alm_num_parse alm_uint64_parse(alm_str text, uint64_t *out)
{
    bool negative;
    const size_t offset = parse_sign(text, &negative);
    uint64_t magnitude = 0;
    const alm_num_parse got = parse_magnitude(text, offset, &magnitude);
    if (got != ALM_NUM_OK)
        return got;
    if (negative && magnitude != 0)
        return ALM_NUM_OVERFLOW;
    *out = magnitude;
    return ALM_NUM_OK;
}

alm_num_parse alm_int64_parse(alm_str text, int64_t *out)
{
    bool negative;
    const size_t offset = parse_sign(text, &negative);
    uint64_t magnitude = 0;
    const alm_num_parse got = parse_magnitude(text, offset, &magnitude);
    if (got != ALM_NUM_OK)
        return got;
    if (magnitude > (uint64_t)INT64_MAX + negative)
        return ALM_NUM_OVERFLOW;
    *out = (int64_t)(negative ? 0 - magnitude : magnitude);
    return ALM_NUM_OK;
}

alm_num_parse alm_int32_parse(alm_str text, int32_t *out)
{
    int64_t wide = 0;
    const alm_num_parse got = alm_int64_parse(text, &wide);
    if (got != ALM_NUM_OK)
        return got;
    if (wide < INT32_MIN || wide > INT32_MAX)
        return ALM_NUM_OVERFLOW;
    *out = (int32_t)wide;
    return ALM_NUM_OK;
}

/* ------------------------------------------------------------- decimal text */

enum { DIGITS_FAST = 19 }; /* as many as always fit 64 bits */

typedef struct decimal {
    bool negative;
    bool cut;         /* non-zero digits follow those in `digits` */
    uint64_t digits;  /* the first 19 significant digits */
    int64_t exponent; /* value = digits * 10^exponent, but for the cut ones */
    alm_str mantissa; /* digits and point, for the exact step */
} decimal;

static bool number_parse_is_digit(char byte)
{
    return (uint8_t)((uint8_t)byte - '0') <= 9;
}

/* "e-12" at text[at..], to the end of the text. Exponents beyond all reason are clamped. */
static bool parse_exponent(alm_str text, size_t offset, int64_t *out)
{
    bool negative;
    const alm_str rest = {text.ptr + offset, text.len - offset};
    size_t i = parse_sign(rest, &negative);
    if (i == rest.len)
        return false;
    int64_t value = 0;
    for (; i < rest.len; i++) {
        if (!number_parse_is_digit(rest.ptr[i]))
            return false;
        if (value < INT64_C(1000000000000000))
            value = value * 10 + (rest.ptr[i] - '0');
    }
    *out = negative ? -value : value;
    return true;
}

static bool parse_decimal(alm_str text, decimal *out)
{
    decimal self = {0};
    size_t offset = parse_sign(text, &self.negative);
    const size_t start = offset;
    uint32_t taken = 0, seen = 0; /* digits in d.digits; digits at all (0, 1, many) */
    bool point = false;
    for (; offset < text.len; offset++) {
        const char byte = text.ptr[offset];
        if (number_parse_is_digit(byte)) {
            seen = 1;
            if (taken < DIGITS_FAST) {
                self.digits = self.digits * 10 + (uint64_t)(byte - '0');
                taken += self.digits != 0;
                self.exponent -= point;
            } else {
                self.cut |= byte != '0';
                self.exponent += !point;
            }
        } else if (byte == '.' && !point) {
            point = true;
        } else {
            break;
        }
    }
    if (seen == 0)
        return false;
    self.mantissa = (alm_str){text.ptr + start, offset - start};
    if (offset < text.len) {
        int64_t e = 0;
        if ((text.ptr[offset] != 'e' && text.ptr[offset] != 'E') ||
            !parse_exponent(text, offset + 1, &e))
            return false;
        self.exponent += e;
    }
    *out = self;
    return true;
}

/* -------------------------------------------------------------- big integers */

/* 8192 bits: 801 digits (2662 bits) times 5^1142 (2652 bits) or shifted by 2^1200 fit. */
enum { LIMBS_MAX = 128, DIGITS_MAX = 800 };

typedef struct big {
    uint32_t n;
    uint64_t limb[LIMBS_MAX];
} big;

/* x = x * factor + add */
static void big_mul_add(big *large, uint64_t factor, uint64_t add)
{
    uint64_t carry = add;
    for (uint32_t i = 0; i < large->n; i++) {
        const unsigned __int128 int128 = (unsigned __int128)large->limb[i] * factor + carry;
        large->limb[i] = (uint64_t)int128;
        carry = (uint64_t)(int128 >> 64);
    }
    if (carry != 0) {
        ALM_ASSERT(large->n < LIMBS_MAX);
        large->limb[large->n++] = carry;
    }
}

static void big_mul_pow5(big *large, uint32_t power)
{
    const uint64_t five27 = UINT64_C(7450580596923828125); /* the largest that fits */
    for (; power >= 27; power -= 27)
        big_mul_add(large, five27, 0);
    uint64_t rest = 1;
    for (; power > 0; power--)
        rest *= 5;
    big_mul_add(large, rest, 0);
}

static void big_shift(big *large, uint32_t bits)
{
    const uint32_t limbs = bits / 64, rest = bits % 64;
    if (large->n == 0)
        return;
    ALM_ASSERT(large->n + limbs < LIMBS_MAX);
    if (rest != 0)
        big_mul_add(large, UINT64_C(1) << rest, 0);
    ALM_ASSERT(large->n + limbs <= LIMBS_MAX);
    memmove(large->limb + limbs, large->limb, large->n * sizeof(large->limb[0]));
    memset(large->limb, 0, limbs * sizeof(large->limb[0]));
    large->n += limbs;
}

static int big_cmp(const big *a, const big *b)
{
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    for (uint32_t i = a->n; i-- > 0;)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

/* The digits of a mantissa. After DIGITS_MAX, a last 1 stands for any non-zero rest: no middle
 * between two doubles has as many digits. *exponent: what 10^ to multiply with. */
static void big_from_decimal(const decimal *self, big *out, int64_t *exponent)
{
    out->n = 0;
    int64_t fast_taken = 0, taken = 0;
    bool cut = false;
    for (size_t i = 0; i < self->mantissa.len; i++) {
        const char byte = self->mantissa.ptr[i];
        if (byte == '.' || (taken == 0 && byte == '0'))
            continue;
        if (taken < DIGITS_MAX) {
            big_mul_add(out, 10, (uint64_t)(byte - '0'));
            taken++;
            fast_taken += taken <= DIGITS_FAST;
        } else {
            cut |= byte != '0';
        }
    }
    *exponent = self->exponent - (taken - fast_taken);
    if (cut) {
        big_mul_add(out, 10, 1);
        *exponent -= 1;
    }
}

/* ----------------------------------------------------------------- rounding */

typedef struct float_format {
    int32_t mantissa_bits; /* with the hidden one */
    int32_t exponent_min;  /* of the smallest normal number: 2^exponent_min */
    uint64_t infinity;
} float_format;

static const float_format DOUBLE_FORMAT = {53, -1022, UINT64_C(0x7FF) << 52};
static const float_format FLOAT_FORMAT = {24, -126, UINT64_C(0xFF) << 23};

typedef struct product {
    uint64_t p2, p1, p0;
} product;

/* Bits of P * 2^e2, P = p2:p1:p0 with one of the two top bits set; to nearest even, or down. */
static uint64_t round_product(product given, int32_t e2, const float_format *format, bool nearest)
{
    const int32_t top = 63 - __builtin_clzll(given.p2);
    const int32_t e = e2 + 128 + top; /* value in [2^e, 2^(e+1)) */
    const int32_t keep = e >= format->exponent_min
                             ? format->mantissa_bits
                             : format->mantissa_bits - (format->exponent_min - e);
    const int32_t shift = top + 1 - keep;
    if (shift > 64)
        return 0; /* below half of the smallest number */
    uint64_t mantissa = shift == 64 ? 0 : given.p2 >> shift;
    if (nearest) {
        const uint64_t half = UINT64_C(1) << (shift - 1);
        const uint64_t rest = shift == 64 ? given.p2 : given.p2 & ((UINT64_C(1) << shift) - 1);
        const bool sticky = (given.p1 | given.p0) != 0;
        mantissa += rest > half || (rest == half && (sticky || (mantissa & 1) != 0));
    }
    /* The hidden bit adds one to the exponent field, and so does a carry out of the mantissa. */
    if (e >= format->exponent_min)
        mantissa += (uint64_t)(e - format->exponent_min) << (format->mantissa_bits - 1);
    return ALM_MIN(mantissa, format->infinity);
}

/* Lower bound of w * 10^q, and by how much (in units of the lowest bits) it may be too low. */
static product number_parse_multiply(uint64_t w, int32_t q, int32_t *e2, uint64_t *error)
{
    const int32_t zeros = __builtin_clzll(w);
    const uint64_t shifted = w << zeros;
    const alm_pow10_row pow10_row = alm_pow10(q);
    const unsigned __int128 low = (unsigned __int128)shifted * pow10_row.lo;
    const unsigned __int128 high =
        (unsigned __int128)shifted * pow10_row.hi + (uint64_t)(low >> 64);
    *e2 = alm_pow10_exponent(q) - 127 - zeros;
    *error = alm_pow10_is_exact(q) ? 0 : shifted;
    return (product){(uint64_t)(high >> 64), (uint64_t)high, (uint64_t)low};
}

static product product_add(product given, uint64_t add)
{
    const uint64_t p0 = given.p0 + add;
    const uint64_t p1 = given.p1 + (p0 < add);
    return (product){given.p2 + (p1 < given.p1), p1, p0};
}

/* Rounded value of w * 10^q if the bounds agree on it. */
static bool round_fast(uint64_t w, int32_t q, const float_format *format, uint64_t *bits)
{
    int32_t e2;
    uint64_t error;
    const product low = number_parse_multiply(w, q, &e2, &error);
    *bits = round_product(low, e2, format, true);
    return error == 0 || round_product(product_add(low, error), e2, format, true) == *bits;
}

/* Exact: is the text above the middle between `below` and its upper neighbour? */
static uint64_t round_exact(const decimal *self, uint64_t below, const float_format *format)
{
    const int32_t stored = format->mantissa_bits - 1;
    const uint64_t field = below >> stored;
    const uint64_t fraction = below & ((UINT64_C(1) << stored) - 1);
    const uint64_t m = field != 0 ? fraction | (UINT64_C(1) << stored) : fraction;
    const int64_t e = format->exponent_min - stored + (int64_t)(field != 0 ? field - 1 : 0);

    big text, middle = {.n = 1, .limb = {2 * m + 1}};
    int64_t q;
    big_from_decimal(self, &text, &q);
    int64_t text_shift = q, middle_shift = e - 1; /* the powers of two of either side */
    if (q >= 0)
        big_mul_pow5(&text, (uint32_t)q);
    else
        big_mul_pow5(&middle, (uint32_t)-q);
    const int64_t common = ALM_MIN(text_shift, middle_shift);
    big_shift(&text, (uint32_t)(text_shift - common));
    big_shift(&middle, (uint32_t)(middle_shift - common));
    const int order = big_cmp(&text, &middle);
    return below + (order > 0 || (order == 0 && (m & 1) != 0));
}

static uint64_t decimal_to_bits(const decimal *self, const float_format *format)
{
    if (self->digits == 0 || self->exponent < ALM_POW10_MIN)
        return 0; /* at most 10^19 * 10^-343: below half of the smallest number */
    if (self->exponent > 308)
        return format->infinity;
    const int32_t q = (int32_t)self->exponent;
    uint64_t bits, bits_above;
    if (round_fast(self->digits, q, format, &bits) &&
        (!self->cut ||
         (round_fast(self->digits + 1, q, format, &bits_above) && bits_above == bits)))
        return bits;
    int32_t e2;
    uint64_t error;
    const product low = number_parse_multiply(self->digits, q, &e2, &error);
    const uint64_t below = round_product(low, e2, format, false);
    return below >= format->infinity ? format->infinity : round_exact(self, below, format);
}

/* "nan", "inf", "infinity" with a sign, any case. */
static bool parse_special(alm_str text, double *out)
{
    bool negative;
    const size_t offset = parse_sign(text, &negative);
    const alm_str word = {text.ptr + offset, text.len - offset};
    if (alm_str_ieq(word, ALM_STR("nan")))
        *out = __builtin_nan("");
    else if (alm_str_ieq(word, ALM_STR("infinity")) || alm_str_ieq(word, ALM_STR("inf")))
        *out = negative ? -__builtin_inf() : __builtin_inf();
    else
        return false;
    return true;
}

alm_num_parse alm_double_parse(alm_str text, double *out)
{
    static const double powers[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                      1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                      1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    decimal self;
    if (!parse_decimal(text, &self))
        return parse_special(text, out) ? ALM_NUM_OK : ALM_NUM_BAD;
    if (!self.cut && self.digits <= UINT64_C(1) << 53 && self.exponent >= -22 &&
        self.exponent <= 22) {
        const double w = (double)self.digits;
        const double value =
            self.exponent < 0 ? w / powers[-self.exponent] : w * powers[self.exponent];
        *out = self.negative ? -value : value;
        return ALM_NUM_OK;
    }
    uint64_t bits = decimal_to_bits(&self, &DOUBLE_FORMAT);
    const bool overflow = bits == DOUBLE_FORMAT.infinity;
    bits |= (uint64_t)self.negative << 63;
    memcpy(out, &bits, sizeof(bits));
    return overflow ? ALM_NUM_OVERFLOW : ALM_NUM_OK;
}

alm_num_parse alm_float_parse(alm_str text, float *out)
{
    decimal self;
    double special;
    if (!parse_decimal(text, &self)) {
        if (!parse_special(text, &special))
            return ALM_NUM_BAD;
        *out = (float)special;
        return ALM_NUM_OK;
    }
    const uint64_t rounded = decimal_to_bits(&self, &FLOAT_FORMAT);
    const uint32_t bits = (uint32_t)rounded | (uint32_t)self.negative << 31;
    memcpy(out, &bits, sizeof(bits));
    return rounded == FLOAT_FORMAT.infinity ? ALM_NUM_OVERFLOW : ALM_NUM_OK;
}
