/*
 * number_test.c - goal: every number reads back as itself, in as few digits as possible, and every
 * text reads as the C library reads it. Method: known hard cases, random bit patterns against
 * strtod and printf, ties built by hand. ALM_BENCH in the environment prints ns per call.
 */
#include "base/number.h"
#include "base/pow10.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static double double_of(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, sizeof(d));
    return d;
}

static uint64_t bits_of(double d)
{
    uint64_t bits;
    memcpy(&bits, &d, sizeof(bits));
    return bits;
}

static float float_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof(f));
    return f;
}

static void expect_double(double value, alm_num_form form, const char *text)
{
    char out[ALM_DOUBLE_TEXT_MAX + 1] = {0};
    const size_t n = alm_double_format(value, form, out);
    assert_true(n <= ALM_DOUBLE_TEXT_MAX);
    out[n] = '\0';
    assert_string_equal(out, text);
}

static void expect_float(float value, alm_num_form form, const char *text)
{
    char out[ALM_FLOAT_TEXT_MAX + 1] = {0};
    const size_t n = alm_float_format(value, form, out);
    assert_true(n <= ALM_FLOAT_TEXT_MAX);
    out[n] = '\0';
    assert_string_equal(out, text);
}

static void test_double_forms(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *dialect, *pg;
    } rows[] = {
        {0.0, "0.0", "0"},
        {-0.0, "-0.0", "-0"},
        {1.0, "1.0", "1"},
        {100.0, "100.0", "100"},
        {-1.5, "-1.5", "-1.5"},
        {0.001, "0.001", "0.001"},
        {0.00123, "0.00123", "0.00123"},
        {0.0001, "1.0E-4", "0.0001"},
        {0.00012, "1.2E-4", "0.00012"},
        {1e-5, "1.0E-5", "1e-05"},
        {1.5e-10, "1.5E-10", "1.5e-10"},
        {9999999.0, "9999999.0", "9999999"},
        {9999999.5, "9999999.5", "9999999.5"},
        {1e7, "1.0E7", "10000000"},
        {12345678.5, "1.23456785E7", "12345678.5"},
        {123456789012345.0, "1.23456789012345E14", "123456789012345"},
        {1e15, "1.0E15", "1e+15"},
        {1e21, "1.0E21", "1e+21"},
        {1e22, "1.0E22", "1e+22"},
        {1e23, "1.0E23", "1e+23"},
        {0.1 + 0.2, "0.30000000000000004", "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333", "0.3333333333333333"},
        {9007199254740992.0, "9.007199254740992E15", "9.007199254740992e+15"},
        {9007199254740993.0, "9.007199254740992E15", "9.007199254740992e+15"},
        {9.223372036854776e18, "9.223372036854776E18", "9.223372036854776e+18"},
        {2.2250738585072014e-308, "2.2250738585072014E-308", "2.2250738585072014e-308"},
        {2.225073858507201e-308, "2.225073858507201E-308", "2.225073858507201e-308"},
        {DBL_MAX, "1.7976931348623157E308", "1.7976931348623157e+308"},
        {-DBL_MAX, "-1.7976931348623157E308", "-1.7976931348623157e+308"},
        {4.9e-324, "4.9E-324", "5e-324"},
        {1e-323, "9.9E-324", "1e-323"},
        {2e-323, "2.0E-323", "2e-323"},
        {5e-323, "4.9E-323", "5e-323"},
        {1e-322, "9.9E-323", "1e-322"},
        {5e-322, "5.0E-322", "5e-322"},
        {4.94e-322, "4.94E-322", "4.94e-322"},
        {INFINITY, "Infinity", "Infinity"},
        {-INFINITY, "-Infinity", "-Infinity"},
        {2.26797932753915008e17, "2.26797932753915E17", "2.26797932753915e+17"},
    };
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        expect_double(rows[i].value, ALM_NUM_DIALECT, rows[i].dialect);
        expect_double(rows[i].value, ALM_NUM_PG, rows[i].pg);
    }
    expect_double(double_of(UINT64_C(0x7FF8000000000000)), ALM_NUM_DIALECT, "NaN");
    expect_double(double_of(UINT64_C(0xFFF8000000000001)), ALM_NUM_PG, "NaN");
}

static void test_float_forms(void **state)
{
    (void)state;
    static const struct {
        float value;
        const char *dialect, *pg;
    } rows[] = {
        {0.0F, "0.0", "0"},
        {-0.0F, "-0.0", "-0"},
        {1.1F, "1.1", "1.1"},
        {1.0F / 3, "0.33333334", "0.33333334"},
        {16777216.0F, "1.6777216E7", "1.6777216e+07"},
        {100.0F, "100.0", "100"},
        {1000000.0F, "1000000.0", "1e+06"},
        {3.4028235e38F, "3.4028235E38", "3.4028235e+38"},
        {1.17549435e-38F, "1.1754944E-38", "1.1754944e-38"},
        {1.4e-45F, "1.4E-45", "1e-45"},
        {5.6e-45F, "5.6E-45", "6e-45"},
        {0.001F, "0.001", "0.001"},
        {1e-4F, "1.0E-4", "0.0001"},
        {0.3F, "0.3", "0.3"},
        {INFINITY, "Infinity", "Infinity"},
    };
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        expect_float(rows[i].value, ALM_NUM_DIALECT, rows[i].dialect);
        expect_float(rows[i].value, ALM_NUM_PG, rows[i].pg);
    }
}

/* Significant digits of a text, without leading and trailing zeros. */
static int significant_digits(const char *text, size_t n)
{
    int count = 0, zeros = 0;
    for (size_t i = 0; i < n && text[i] != 'E' && text[i] != 'e'; i++) {
        if (text[i] < '0' || text[i] > '9')
            continue;
        if (text[i] == '0') {
            zeros += count > 0;
        } else {
            count += zeros + 1;
            zeros = 0;
        }
    }
    return count;
}

/* Fewest digits that printf needs to read back. */
static int digits_needed(double value)
{
    char text[64];
    for (int precision = 0; precision < 17; precision++) {
        (void)snprintf(text, sizeof(text), "%.*e", precision, value);
        if (bits_of(strtod(text, NULL)) == bits_of(value))
            return significant_digits(text, strlen(text));
    }
    return 17;
}

static void check_double(double value, alm_num_form form)
{
    char text[ALM_DOUBLE_TEXT_MAX + 1];
    const size_t n = alm_double_format(value, form, text);
    assert_true(n <= ALM_DOUBLE_TEXT_MAX);
    text[n] = '\0';
    assert_int_equal(bits_of(strtod(text, NULL)), bits_of(value));
    double back = 0;
    assert_int_equal(alm_double_parse((alm_str){text, n}, &back), ALM_NUM_OK);
    assert_int_equal(bits_of(back), bits_of(value));
}

static void test_double_round_trip(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 300000; i++) {
        const double value = double_of(next_random(&seed));
        if (isfinite(value))
            check_double(value, i % 2 == 0 ? ALM_NUM_DIALECT : ALM_NUM_PG);
    }
    for (int i = 0; i < 100000; i++) { /* what measurements look like */
        const double value = (double)(int64_t)(next_random(&seed) >> 30) / 10000.0;
        check_double(value, ALM_NUM_DIALECT);
    }
    for (uint64_t exponent = 0; exponent < 2047; exponent++) { /* powers of two and neighbours */
        for (int64_t d = -2; d <= 2; d++) {
            const uint64_t bits = (exponent << 52) + (uint64_t)d;
            if (isfinite(double_of(bits)))
                check_double(double_of(bits), ALM_NUM_DIALECT);
        }
    }
    for (int32_t q = -323; q <= 308; q++) {
        char text[16];
        (void)snprintf(text, sizeof(text), "1e%d", q);
        check_double(strtod(text, NULL), ALM_NUM_DIALECT);
        check_double(nextafter(strtod(text, NULL), 0), ALM_NUM_DIALECT);
        check_double(nextafter(strtod(text, NULL), INFINITY), ALM_NUM_PG);
    }
}

static void test_double_is_shortest_and_closest(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int i = 0; i < 30000; i++) {
        const double value = fabs(double_of(next_random(&seed)));
        if (!isfinite(value) || value == 0)
            continue;
        uint64_t digits;
        int32_t exponent;
        alm_double_shortest(value, &digits, &exponent);
        char text[32], closest[64];
        const size_t n = alm_uint64_format(digits, text);
        text[n] = '\0';
        assert_int_equal(significant_digits(text, n), digits_needed(value));
        assert_int_equal(significant_digits(text, n), n);
        /* printf with that many digits gives the closest decimal of that length */
        (void)snprintf(closest, sizeof(closest), "%.*e", (int)n - 1, value);
        char ours[64];
        (void)snprintf(ours, sizeof(ours), "%c%s%se%+03d", text[0], n > 1 ? "." : "", text + 1,
                       exponent + (int)n - 1);
        assert_string_equal(ours, closest);
    }
}

static void check_float(float value)
{
    char text[ALM_FLOAT_TEXT_MAX + 1];
    const size_t n = alm_float_format(value, ALM_NUM_DIALECT, text);
    assert_true(n <= ALM_FLOAT_TEXT_MAX);
    text[n] = '\0';
    const float libc = strtof(text, NULL);
    assert_memory_equal(&libc, &value, sizeof(value));
    float back = 0;
    assert_int_equal(alm_float_parse((alm_str){text, n}, &back), ALM_NUM_OK);
    assert_memory_equal(&back, &value, sizeof(value));
    assert_true(significant_digits(text, n) <= 9);
}

static void test_float_round_trip(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (int i = 0; i < 500000; i++) {
        const float value = float_of((uint32_t)next_random(&seed));
        if (isfinite(value))
            check_float(value);
    }
    for (uint32_t exponent = 0; exponent < 255; exponent++)
        for (uint32_t d = 0; d < 64; d++)
            check_float(float_of((exponent << 23) + d));
}

static void check_parse(const char *text)
{
    const double want = strtod(text, NULL);
    double got = 0;
    const alm_num_parse st = alm_double_parse(alm_str_of(text), &got);
    assert_int_equal(st, isinf(want) ? ALM_NUM_OVERFLOW : ALM_NUM_OK);
    if (bits_of(got) != bits_of(want))
        fail_msg("%s: got %a, want %a", text, got, want);
    const float want_f = strtof(text, NULL);
    float got_f = 0;
    (void)alm_float_parse(alm_str_of(text), &got_f);
    if (memcmp(&got_f, &want_f, sizeof(got_f)) != 0)
        fail_msg("%s: got %a, want %a (float)", text, (double)got_f, (double)want_f);
}

static void test_parse_random(void **state)
{
    (void)state;
    uint64_t seed = 4;
    char text[128];
    for (int i = 0; i < 300000; i++) {
        const uint64_t a = next_random(&seed), b = next_random(&seed), c = next_random(&seed);
        const int exponent = (int)(c % 700) - 370;
        if (i % 3 == 0)
            (void)snprintf(text, sizeof(text), "%llue%d", (unsigned long long)a, exponent);
        else if (i % 3 == 1)
            (void)snprintf(text, sizeof(text), "-%llu.%llue%d", (unsigned long long)(a >> 40),
                           (unsigned long long)b, exponent);
        else
            (void)snprintf(text, sizeof(text), "%llu%llu.%llue%d", (unsigned long long)a,
                           (unsigned long long)b, (unsigned long long)c, exponent);
        check_parse(text);
    }
    for (int i = 0; i < 100000; i++) { /* 15 to 19 digits around random doubles */
        const double value = double_of(next_random(&seed));
        if (!isfinite(value))
            continue;
        (void)snprintf(text, sizeof(text), "%.*e", 14 + i % 6, value);
        check_parse(text);
    }
}

/* The exact decimal of the middle between a double and the next one, and its close neighbours. */
static void test_parse_ties(void **state)
{
    (void)state;
    uint64_t seed = 5;
    static char text[2048];
    for (int i = 0; i < 3000; i++) {
        const double value = fabs(double_of(next_random(&seed)));
        if (!isfinite(value) || value > 1e300)
            continue;
        const double above = nextafter(value, INFINITY);
        const long double middle = ((long double)value + (long double)above) / 2;
        (void)snprintf(text, sizeof(text) - 2, "%.1200Lf", middle);
        if (value < 1e-300)
            continue; /* 1200 decimals would cut the middle */
        check_parse(text);
        const size_t n = strlen(text);
        memcpy(text + n, "1", 2); /* just above */
        check_parse(text);
    }
    check_parse("9007199254740993");
    check_parse("9007199254740993.0000000000000000000000000000000000000001");
    check_parse("9007199254740992.5");
    check_parse("9007199254740994.5");
    check_parse("2.2250738585072011e-308"); /* looped forever in some readers */
    check_parse("2.4703282292062327208299439634110864618253e-324");
    check_parse("2.4703282292062328e-324");
    check_parse("2.47032822920623272e-324");
    check_parse("4.9406564584124654417656879286822137236505980e-324");
    check_parse("1.7976931348623158e308");
    check_parse("1.7976931348623159e308");
    check_parse("179769313486231580793e289");
    check_parse("1e309");
    check_parse("1e-400");
    check_parse("0e999999999999999999999");
    check_parse("3.4028235677973366e38");
    check_parse("3.4028235677973367e38");
    check_parse("7.006492321624085e-46");
    check_parse("7.0064923216240853546186479164495806564013097e-46");
    check_parse("7.0064923216240853546186479164495806564013098e-46");
    check_parse("1.00000017881393432617187499"); /* between two floats, not two doubles */
    check_parse("1.000000178813934326171875");
    check_parse("1.00000017881393432617187501");
}

static void test_parse_long_text(void **state)
{
    (void)state;
    static char text[6000];
    memset(text, '0', sizeof(text));
    text[0] = '1';
    memcpy(text + 5000, "e-5000", 7);
    check_parse(text); /* "1000...000e-5000" is 0.1 */
    memset(text, '0', sizeof(text));
    text[1] = '.';
    memcpy(text + 3000, "5e3000", 7); /* 0.000...5e3000 */
    check_parse(text);
    memset(text, '9', sizeof(text));
    text[1] = '.';
    text[5000] = '\0';
    check_parse(text);
}

static void test_parse_grammar(void **state)
{
    (void)state;
    static const char *good[] = {"1",
                                 "+1",
                                 "-1",
                                 ".5",
                                 "5.",
                                 "1e5",
                                 "1E+5",
                                 "1e-05",
                                 "0.0",
                                 "00012.50",
                                 "123456789.123456789"};
    static const char *bad[] = {"",      ".",    "+",     "-",       "e5",  "1e",  "1e+",
                                " 1",    "1 ",   "1.2.3", "0x10",    "1f",  "1,5", "--1",
                                "1e5.0", "nanx", "in",    "infinit", "+-1", "1_0", "1e1e1"};
    for (size_t i = 0; i < ALM_COUNT(good); i++)
        check_parse(good[i]);
    for (size_t i = 0; i < ALM_COUNT(bad); i++) {
        double d = 42;
        float f = 42;
        assert_int_equal(alm_double_parse(alm_str_of(bad[i]), &d), ALM_NUM_BAD);
        assert_int_equal(alm_float_parse(alm_str_of(bad[i]), &f), ALM_NUM_BAD);
        assert_true(d == 42 && f == 42);
    }
    double d = 0;
    assert_int_equal(alm_double_parse(ALM_STR("NaN"), &d), ALM_NUM_OK);
    assert_true(isnan(d));
    assert_int_equal(alm_double_parse(ALM_STR("-Infinity"), &d), ALM_NUM_OK);
    assert_true(isinf(d) && d < 0);
}

static void test_integers(void **state)
{
    (void)state;
    uint64_t seed = 6;
    char ours[32], libc[32];
    for (int i = 0; i < 200000; i++) {
        const int64_t value = (int64_t)(next_random(&seed) >> (i % 64)) * (i % 2 == 0 ? 1 : -1);
        const size_t n = alm_int64_format(value, ours);
        assert_true(n <= ALM_LONG_TEXT_MAX);
        (void)snprintf(libc, sizeof(libc), "%lld", (long long)value);
        assert_int_equal(n, strlen(libc));
        assert_memory_equal(ours, libc, n);
        int64_t back = 0;
        assert_int_equal(alm_int64_parse((alm_str){ours, n}, &back), ALM_NUM_OK);
        assert_int_equal(back, value);
    }
    uint64_t power = 1;
    for (int i = 0; i < 20; i++, power *= 10) {
        for (uint64_t d = 0; d < 2; d++) {
            const size_t n = alm_uint64_format(power - d, ours);
            (void)snprintf(libc, sizeof(libc), "%llu", (unsigned long long)(power - d));
            assert_int_equal(n, strlen(libc));
            assert_memory_equal(ours, libc, n);
        }
    }
    assert_int_equal(alm_uint64_format(UINT64_MAX, ours), 20);
    assert_int_equal(alm_int64_format(INT64_MIN, ours), 20);
    assert_memory_equal(ours, "-9223372036854775808", 20);
    assert_int_equal(alm_int32_format(INT32_MIN, ours), ALM_INT_TEXT_MAX);
    assert_memory_equal(ours, "-2147483648", 11);
}

static void test_integers_in_a_buffer(void **state)
{
    alm_ctx cx = {0};
    alm_buf buf;
    (void)state;
    alm_buf_init(&buf, NULL);
    assert_int_equal(alm_buf_int64(&cx, &buf, INT64_MIN), ALM_OK);
    assert_int_equal(alm_buf_text(&cx, &buf, ","), ALM_OK);
    assert_int_equal(alm_buf_int64(&cx, &buf, 0), ALM_OK);
    assert_int_equal(buf.len, 22);
    assert_memory_equal(buf.ptr, "-9223372036854775808,0", 22);
    alm_buf_deinit(&buf);
}

static void test_integer_limits(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        alm_num_parse as32, as64, asu64;
    } rows[] = {
        {"0", ALM_NUM_OK, ALM_NUM_OK, ALM_NUM_OK},
        {"-0", ALM_NUM_OK, ALM_NUM_OK, ALM_NUM_OK},
        {"+7", ALM_NUM_OK, ALM_NUM_OK, ALM_NUM_OK},
        {"-7", ALM_NUM_OK, ALM_NUM_OK, ALM_NUM_OVERFLOW},
        {"2147483647", ALM_NUM_OK, ALM_NUM_OK, ALM_NUM_OK},
        {"2147483648", ALM_NUM_OVERFLOW, ALM_NUM_OK, ALM_NUM_OK},
        {"-2147483648", ALM_NUM_OK, ALM_NUM_OK, ALM_NUM_OVERFLOW},
        {"-2147483649", ALM_NUM_OVERFLOW, ALM_NUM_OK, ALM_NUM_OVERFLOW},
        {"9223372036854775807", ALM_NUM_OVERFLOW, ALM_NUM_OK, ALM_NUM_OK},
        {"9223372036854775808", ALM_NUM_OVERFLOW, ALM_NUM_OVERFLOW, ALM_NUM_OK},
        {"-9223372036854775808", ALM_NUM_OVERFLOW, ALM_NUM_OK, ALM_NUM_OVERFLOW},
        {"18446744073709551616", ALM_NUM_OVERFLOW, ALM_NUM_OVERFLOW, ALM_NUM_OVERFLOW},
        {"99999999999999999999999999", ALM_NUM_OVERFLOW, ALM_NUM_OVERFLOW, ALM_NUM_OVERFLOW},
        {"000000000000000000000000000012", ALM_NUM_OK, ALM_NUM_OK, ALM_NUM_OK},
        {"", ALM_NUM_BAD, ALM_NUM_BAD, ALM_NUM_BAD},
        {"-", ALM_NUM_BAD, ALM_NUM_BAD, ALM_NUM_BAD},
        {"1.5", ALM_NUM_BAD, ALM_NUM_BAD, ALM_NUM_BAD},
        {" 5", ALM_NUM_BAD, ALM_NUM_BAD, ALM_NUM_BAD},
        {"5x", ALM_NUM_BAD, ALM_NUM_BAD, ALM_NUM_BAD},
        {"99999999999999999999999x", ALM_NUM_BAD, ALM_NUM_BAD, ALM_NUM_BAD},
    };
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        int32_t a = 0;
        int64_t b = 0;
        uint64_t c = 0;
        assert_int_equal(alm_int32_parse(alm_str_of(rows[i].text), &a), rows[i].as32);
        assert_int_equal(alm_int64_parse(alm_str_of(rows[i].text), &b), rows[i].as64);
        assert_int_equal(alm_uint64_parse(alm_str_of(rows[i].text), &c), rows[i].asu64);
    }
}

/* Each row of the table is its neighbour times ten, up to the rounding of either. */
static void test_power_table(void **state)
{
    (void)state;
    for (int32_t q = ALM_POW10_MIN; q < ALM_POW10_MAX; q++) {
        const alm_pow10_row a = alm_pow10(q), b = alm_pow10(q + 1);
        assert_true(a.hi >> 63 == 1);
        const int32_t shift = alm_pow10_exponent(q + 1) - alm_pow10_exponent(q); /* 3 or 4 */
        const unsigned __int128 low = (unsigned __int128)a.lo * 10;
        const unsigned __int128 high = (unsigned __int128)a.hi * 10 + (uint64_t)(low >> 64);
        const unsigned __int128 ten =
            (high << (64 - shift)) | (unsigned __int128)((uint64_t)low >> shift);
        const unsigned __int128 next = (unsigned __int128)b.hi << 64 | b.lo;
        assert_true(next >= ten && next - ten <= 1);
    }
}

static void test_speed(void **state)
{
    (void)state;
    if (getenv("ALM_BENCH") == NULL)
        skip();
    enum { N = 4096, ROUNDS = 200 };
    static double values[N];
    static char texts[N][32];
    static size_t lens[N];
    uint64_t seed = 7;
    for (int kind = 0; kind < 2; kind++) {
        for (int i = 0; i < N; i++) {
            values[i] = kind == 0 ? (double)(next_random(&seed) >> 11) * 0x1p-53
                                  : (double)(next_random(&seed) % 10000000) / 100;
            lens[i] = alm_double_format(values[i], ALM_NUM_DIALECT, texts[i]);
        }
        int64_t t0 = alm_monotonic_ns();
        size_t sum = 0;
        for (int r = 0; r < ROUNDS; r++)
            for (int i = 0; i < N; i++)
                sum += alm_double_format(values[i], ALM_NUM_DIALECT, texts[i]);
        const int64_t format_ns = alm_monotonic_ns() - t0;
        t0 = alm_monotonic_ns();
        double total = 0;
        for (int r = 0; r < ROUNDS; r++) {
            for (int i = 0; i < N; i++) {
                double d = 0;
                (void)alm_double_parse((alm_str){texts[i], lens[i]}, &d);
                total += d;
            }
        }
        const int64_t parse_ns = alm_monotonic_ns() - t0;
        print_message("%s: format %.1f ns, parse %.1f ns (%zu %g)\n",
                      kind == 0 ? "17 digits" : "prices", (double)format_ns / (N * ROUNDS),
                      (double)parse_ns / (N * ROUNDS), sum, total);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_power_table),
        cmocka_unit_test(test_double_forms),
        cmocka_unit_test(test_float_forms),
        cmocka_unit_test(test_double_round_trip),
        cmocka_unit_test(test_double_is_shortest_and_closest),
        cmocka_unit_test(test_float_round_trip),
        cmocka_unit_test(test_parse_random),
        cmocka_unit_test(test_parse_ties),
        cmocka_unit_test(test_parse_long_text),
        cmocka_unit_test(test_parse_grammar),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_integers_in_a_buffer),
        cmocka_unit_test(test_integer_limits),
        cmocka_unit_test(test_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
