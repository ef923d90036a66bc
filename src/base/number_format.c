/*
 * number_format.c - integers and shortest floating numbers as text.
 *
 * The shortest decimal of v = c * 2^q is found as in R. Giulietti, "The Schubfach way to render
 * doubles" (2020): the interval of numbers that round to v holds at most one multiple of 10^(k+1)
 * and at least one of 10^k, for k = floor(log10(2^q)); scaling v and both ends of the interval by
 * 10^-k with a 126-bit factor and keeping one sticky bit ("round to odd") decides exactly which.
 */
#include "base/number.h"
#include "base/pow10.h"

static const char PAIRS[] = "00010203040506070809101112131415161718192021222324"
                            "25262728293031323334353637383940414243444546474849"
                            "50515253545556575859606162636465666768697071727374"
                            "75767778798081828384858687888990919293949596979899";

/* ----------------------------------------------------------------- integers */

static uint32_t digit_count(uint64_t value)
{
    static const uint64_t powers[20] = {0,
                                        10,
                                        100,
                                        1000,
                                        10000,
                                        100000,
                                        1000000,
                                        10000000,
                                        100000000,
                                        1000000000,
                                        10000000000,
                                        100000000000,
                                        1000000000000,
                                        10000000000000,
                                        100000000000000,
                                        1000000000000000,
                                        10000000000000000,
                                        100000000000000000,
                                        1000000000000000000,
                                        UINT64_C(10000000000000000000)};
    const uint32_t bits = 64 - (uint32_t)__builtin_clzll(value | 1);
    const uint32_t guess = (bits * 1233) >> 12; /* log10(2) = 1233 / 4096 */
    return guess + (value >= powers[guess]);
}

/* The low `n` digits of value at out[0..n). */
static void put_digits(uint64_t value, uint32_t n, char *out)
{
    while (n >= 2) {
        n -= 2;
        memcpy(out + n, PAIRS + 2 * (value % 100), 2);
        value /= 100;
    }
    if (n == 1)
        out[0] = (char)('0' + value % 10);
}

size_t alm_uint64_format(uint64_t value, char *out)
{
    const uint32_t n = digit_count(value);
    put_digits(value, n, out);
    return n;
}

size_t alm_int64_format(int64_t value, char *out)
{
    uint64_t magnitude = (uint64_t)value;
    size_t offset = 0;
    if (value < 0) {
        out[offset++] = '-';
        magnitude = 0 - magnitude;
    }
    return offset + alm_uint64_format(magnitude, out + offset);
}

alm_status alm_buf_int64(alm_ctx *cx, alm_buf *buf, int64_t value)
{
    ALM_TRY(alm_buf_reserve(cx, buf, ALM_LONG_TEXT_MAX));
    buf->len += alm_int64_format(value, buf->ptr + buf->len);
    return ALM_OK;
}

size_t alm_int32_format(int32_t value, char *out)
{
    return alm_int64_format(value, out);
}

/* ------------------------------------------------------------------ shortest */

/* floor(log10(2^q)), and floor(log10(3/4 * 2^q)): |q| < 1100. */
static int32_t log10_pow2(int32_t q)
{
    return (q * 1262611) >> 22;
}
static int32_t log10_three_quarters_pow2(int32_t q)
{
    return (q * 1262611 - 524031) >> 22;
}

/* The factor 10^q, rounded up: what the proof of the algorithm asks for. */
static alm_pow10_row pow10_up(int32_t q)
{
    alm_pow10_row pow10_row = alm_pow10(q);
    if (!alm_pow10_is_exact(q)) {
        pow10_row.lo++;
        pow10_row.hi += pow10_row.lo == 0;
    }
    return pow10_row;
}

/* Upper 64 bits of pow10_row * c, the lowest one set if anything non-zero was cut off. */
static uint64_t round_to_odd64(alm_pow10_row pow10_row, uint64_t c)
{
    const uint64_t x1 = (uint64_t)(((unsigned __int128)pow10_row.lo * c) >> 64);
    const unsigned __int128 int128 = (unsigned __int128)pow10_row.hi * c + x1;
    return (uint64_t)(int128 >> 64) | ((uint64_t)int128 > 1);
}

static uint32_t round_to_odd32(uint64_t g, uint32_t c)
{
    const unsigned __int128 int128 = (unsigned __int128)g * c;
    return (uint32_t)(uint64_t)(int128 >> 64) | ((uint32_t)((uint64_t)int128 >> 32) > 1);
}

static void strip_zeros(uint64_t *digits, int32_t *exponent)
{
    uint64_t d = *digits;
    int32_t e = *exponent;
    if (d % 100000000 == 0) {
        d /= 100000000;
        e += 8;
    }
    if (d % 10000 == 0) {
        d /= 10000;
        e += 4;
    }
    if (d % 100 == 0) {
        d /= 100;
        e += 2;
    }
    while (d % 10 == 0) {
        d /= 10;
        e += 1;
    }
    *digits = d;
    *exponent = e;
}

/*
 * The choice among candidates, in units of 10^k / 4: value is the number, lo and hi the ends of its
 * interval (made exclusive by the caller where c is odd). Prefers a multiple of ten of 10^k.
 */
static uint64_t number_format_choose(uint64_t lo, uint64_t value, uint64_t hi, int32_t *exponent)
{
    const uint64_t s = value / 4;
    if (s >= 10) {
        const uint64_t tens = s / 10;
        const bool below_in = lo <= 40 * tens;
        const bool above_in = 40 * tens + 40 <= hi;
        if (below_in != above_in) {
            *exponent += 1;
            return tens + above_in;
        }
    }
    const bool below_in = lo <= 4 * s;
    const bool above_in = 4 * s + 4 <= hi;
    if (below_in != above_in)
        return s + above_in;
    const uint64_t middle = 4 * s + 2;
    const bool up = value > middle || (value == middle && (s & 1) != 0);
    return s + up;
}

void alm_double_shortest(double value, uint64_t *digits, int32_t *exponent)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    const uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    const int32_t biased = (int32_t)((bits >> 52) & 0x7FF);
    ALM_DASSERT(biased != 0x7FF && (bits << 1) != 0);
    const uint64_t c = biased != 0 ? fraction | (UINT64_C(1) << 52) : fraction;
    const int32_t q = biased != 0 ? biased - 1075 : -1074;

    if (q <= 0 && q > -53 && (c & ((UINT64_C(1) << -q) - 1)) == 0) { /* a whole number */
        *digits = c >> -q;
        *exponent = 0;
        strip_zeros(digits, exponent);
        return;
    }
    /* At a power of two the next lower number is half as far. */
    const bool lower_closer = fraction == 0 && biased > 1;
    const int32_t k = lower_closer ? log10_three_quarters_pow2(q) : log10_pow2(q);
    const int32_t h = q + alm_pow10_exponent(-k) + 1;
    ALM_DASSERT(h >= 1 && h <= 4);
    const alm_pow10_row pow10_row = pow10_up(-k);
    const uint64_t odd = c & 1;
    const uint64_t lo = round_to_odd64(pow10_row, (4 * c - 2 + lower_closer) << h) + odd;
    const uint64_t v = round_to_odd64(pow10_row, (4 * c) << h);
    const uint64_t hi = round_to_odd64(pow10_row, (4 * c + 2) << h) - odd;
    *exponent = k;
    *digits = number_format_choose(lo, v, hi, exponent);
    strip_zeros(digits, exponent);
}

void alm_float_shortest(float value, uint32_t *digits, int32_t *exponent)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    const uint32_t fraction = bits & ((1U << 23) - 1);
    const int32_t biased = (int32_t)((bits >> 23) & 0xFF);
    ALM_DASSERT(biased != 0xFF && (bits << 1) != 0);
    const uint32_t c = biased != 0 ? fraction | (1U << 23) : fraction;
    const int32_t q = biased != 0 ? biased - 150 : -149;

    uint64_t found;
    if (q <= 0 && q > -24 && (c & ((1U << -q) - 1)) == 0) {
        found = c >> -q;
        *exponent = 0;
    } else {
        const bool lower_closer = fraction == 0 && biased > 1;
        const int32_t k = lower_closer ? log10_three_quarters_pow2(q) : log10_pow2(q);
        const int32_t h = q + alm_pow10_exponent(-k) + 1;
        ALM_DASSERT(h >= 1 && h <= 4);
        const alm_pow10_row g128 = alm_pow10(-k);
        const uint64_t g = g128.hi + (g128.lo != 0 || !alm_pow10_is_exact(-k)); /* rounded up */
        const uint32_t odd = c & 1;
        const uint32_t lo = round_to_odd32(g, (4 * c - 2 + lower_closer) << h) + odd;
        const uint32_t v = round_to_odd32(g, (4 * c) << h);
        const uint32_t hi = round_to_odd32(g, (4 * c + 2) << h) - odd;
        *exponent = k;
        found = number_format_choose(lo, v, hi, exponent);
    }
    strip_zeros(&found, exponent);
    *digits = (uint32_t)found;
}

/* -------------------------------------------------------------------- forms */

/* How the two forms differ: the range printed plainly (of the exponent of the first digit), what
 * follows a whole number, and how an exponent is written. */
typedef struct form_rule {
    int32_t plain_min, plain_max;
    bool whole_point; /* "100.0", "1.0E7" */
    char letter;
    bool sign_and_two; /* "e+07" */
} form_rule;

static char *put_exponent(char *ptr, int32_t e, const form_rule *rule)
{
    *ptr++ = rule->letter;
    if (e < 0)
        *ptr++ = '-';
    else if (rule->sign_and_two)
        *ptr++ = '+';
    const uint64_t magnitude = (uint64_t)(e < 0 ? -e : e);
    if (rule->sign_and_two && magnitude < 10)
        *ptr++ = '0';
    return ptr + alm_uint64_format(magnitude, ptr);
}

/* digits * 10^exponent at `ptr`; returns the end. */
static char *number_format_put_decimal(char *ptr, uint64_t digits, int32_t exponent,
                                       const form_rule *rule)
{
    const uint32_t n = digit_count(digits);
    const int32_t e = exponent + (int32_t)n - 1; /* of the first digit */
    if (e < rule->plain_min || e > rule->plain_max) {
        put_digits(digits, n, ptr + 1);
        ptr[0] = ptr[1];
        if (n > 1) {
            ptr[1] = '.';
            ptr += n + 1;
        } else {
            ptr += 1;
            if (rule->whole_point) {
                memcpy(ptr, ".0", 2);
                ptr += 2;
            }
        }
        return put_exponent(ptr, e, rule);
    }
    if (e < 0) {
        memcpy(ptr, "0.0000000000", 12);
        ptr += 1 - e; /* "0." and -e - 1 zeros */
        put_digits(digits, n, ptr);
        return ptr + n;
    }
    if (exponent < 0) { /* the point stands inside */
        const uint32_t whole = (uint32_t)e + 1;
        put_digits(digits, n, ptr + 1);
        memmove(ptr, ptr + 1, whole);
        ptr[whole] = '.';
        return ptr + n + 1;
    }
    put_digits(digits, n, ptr);
    memset(ptr + n, '0', (size_t)exponent);
    ptr += n + (uint32_t)exponent;
    if (rule->whole_point) {
        memcpy(ptr, ".0", 2);
        ptr += 2;
    }
    return ptr;
}

static size_t number_format_put_text(char *out, const char *text)
{
    const size_t len = strlen(text);
    memcpy(out, text, len);
    return len;
}

static size_t put_special(bool is_nan, bool negative, char *out)
{
    return number_format_put_text(out, is_nan ? "NaN" : negative ? "-Infinity" : "Infinity");
}

/*
 * The dialect's text has two digits at least, and where one digit would do it shows the closest
 * number of two ("4.9E-324", not "5.0E-324"). That differs only for the smallest subnormals, where
 * a neighbour is several percent away: value = c * unit * 10^exponent for a small c.
 */
static void two_digits(uint64_t c, double unit, uint64_t *digits, int32_t *exponent)
{
    double value = (double)c * unit;
    for (; value < 10; value *= 10)
        *exponent -= 1;
    for (; value >= 100; value /= 10)
        *exponent += 1;
    *digits = (uint64_t)(value + 0.5);
    strip_zeros(digits, exponent);
}

enum { SUBNORMAL_COARSE = 256 }; /* above it one digit is also the closest of two */

size_t alm_double_format(double value, alm_num_form form, char *out)
{
    static const form_rule rules[] = {
        [ALM_NUM_DIALECT] = {-3, 6, true, 'E', false},
        [ALM_NUM_PG] = {-4, 14, false, 'e', true},
    };
    const form_rule *rule = &rules[form];
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    const bool negative = (bits >> 63) != 0;
    if ((bits >> 52 & 0x7FF) == 0x7FF)
        return put_special((bits << 12) != 0, negative, out);
    char *ptr = out;
    if (negative)
        *ptr++ = '-';
    if ((bits << 1) == 0)
        return (size_t)(ptr - out) + number_format_put_text(ptr, rule->whole_point ? "0.0" : "0");
    uint64_t digits;
    int32_t exponent;
    alm_double_shortest(value, &digits, &exponent);
    if ((bits << 1) < 2 * SUBNORMAL_COARSE && digits < 10 && form == ALM_NUM_DIALECT) {
        exponent = -324;
        two_digits((bits << 1) >> 1, 4.9406564584124654, &digits, &exponent);
    }
    return (size_t)(number_format_put_decimal(ptr, digits, exponent, rule) - out);
}

size_t alm_float_format(float value, alm_num_form form, char *out)
{
    static const form_rule rules[] = {
        [ALM_NUM_DIALECT] = {-3, 6, true, 'E', false},
        [ALM_NUM_PG] = {-4, 5, false, 'e', true},
    };
    const form_rule *rule = &rules[form];
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    const bool negative = (bits >> 31) != 0;
    if ((bits >> 23 & 0xFF) == 0xFF)
        return put_special((bits << 9) != 0, negative, out);
    char *ptr = out;
    if (negative)
        *ptr++ = '-';
    if ((bits << 1) == 0)
        return (size_t)(ptr - out) + number_format_put_text(ptr, rule->whole_point ? "0.0" : "0");
    uint32_t shortest;
    int32_t exponent;
    alm_float_shortest(value, &shortest, &exponent);
    uint64_t digits = shortest;
    if ((bits << 1) < 2 * SUBNORMAL_COARSE && digits < 10 && form == ALM_NUM_DIALECT) {
        exponent = -45;
        two_digits((bits << 1) >> 1, 1.4012984643248171, &digits, &exponent);
    }
    return (size_t)(number_format_put_decimal(ptr, digits, exponent, rule) - out);
}
