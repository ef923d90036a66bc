/*
 * Goal    Dates agree with the calendar of libc for every day of years 1 to 9999; texts are read and
 *         written as the dialect does; nothing breaks at the ends of int64.
 * Method  libc gmtime_r as the independent calendar; recorded texts; round trips over edges.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "time/timestamp.h"

static const alm_time_unit units[] = {ALM_TIME_MS, ALM_TIME_US, ALM_TIME_NS};

static void every_day_agrees_with_libc(void **state)
{
    (void)state;
    int64_t expected = -719162; /* 0001-01-01 */
    for (int32_t year = 1; year <= 9999; year++) {
        for (int32_t month = 1; month <= 12; month++) {
            const int32_t last = alm_days_in_month(year, month);
            for (int32_t day = 1; day <= last; day++, expected++) {
                int32_t y;
                uint8_t m, d;
                const int64_t days = alm_days_of_date(year, month, day);
                if (days != expected)
                    fail_msg("%d-%d-%d is day %lld", year, month, day, (long long)days);
                alm_date_of_days(days, &y, &m, &d);
                if (y != year || m != month || d != day)
                    fail_msg("day %lld is %d-%d-%d", (long long)days, y, m, d);
                const time_t t = days * 86400;
                struct tm tm;
                assert_non_null(gmtime_r(&t, &tm));
                if (tm.tm_year + 1900 != y || tm.tm_mon + 1 != m || tm.tm_mday != d)
                    fail_msg("libc says otherwise of day %lld", (long long)days);
            }
        }
    }
    assert_int_equal(expected, 2932897); /* 10000-01-01 */
}

static void far_dates_do_not_overflow(void **state)
{
    (void)state;
    static const int64_t times[] = {INT64_MIN + 1, INT64_MIN + 2, -1, 0, INT64_MAX - 1, INT64_MAX};
    for (size_t u = 0; u < 3; u++)
        for (size_t i = 0; i < ALM_COUNT(times); i++) {
            alm_civil c;
            int64_t back;
            char text[ALM_TIME_TEXT_MAX];
            alm_civil_of_time(times[i], units[u], &c);
            assert_true(alm_time_of_civil(&c, units[u], &back));
            assert_int_equal(back, times[i]);
            for (int32_t style = 0; style < 2; style++)
                assert_true(alm_time_format(times[i], units[u], (alm_time_style)style, text) <=
                            ALM_TIME_TEXT_MAX);
        }
    alm_civil late = {.year = 3000, .month = 1, .day = 1};
    int64_t out = 7;
    assert_false(alm_time_of_civil(&late, ALM_TIME_NS, &out));
    assert_int_equal(out, 7);
}

static void check_parse(const char *text, bool ok, const char *expected)
{
    int64_t us = 0;
    char out[ALM_TIME_TEXT_MAX + 1];
    const bool got = alm_time_parse(alm_str_of(text), ALM_TIME_US, &us);
    if (got != ok)
        fail_msg("'%s' should %sbe read", text, ok ? "" : "not ");
    if (!ok)
        return;
    out[alm_time_format(us, ALM_TIME_US, ALM_TIME_ISO, out)] = 0;
    assert_string_equal(out, expected);
}

static void recorded_texts(void **state)
{
    (void)state;
    check_parse("2024", true, "2024-01-01T00:00:00.000000Z");
    check_parse("2024-03", true, "2024-03-01T00:00:00.000000Z");
    check_parse("2024-01-02T03", true, "2024-01-02T03:00:00.000000Z");
    check_parse("2024-01-02T03:04", true, "2024-01-02T03:04:00.000000Z");
    check_parse("2024-01-02 03:04:05", true, "2024-01-02T03:04:05.000000Z");
    check_parse("2024-01-02 03:04:05.5Z", true, "2024-01-02T03:04:05.500000Z");
    check_parse("2024-01-02T03:04:05.1234Z", true, "2024-01-02T03:04:05.123400Z");
    check_parse("2020-12-25T17:46:30.9999999Z", true, "2020-12-25T17:46:30.999999Z");
    check_parse("2024-01-02T03:04:05+01:00", true, "2024-01-02T02:04:05.000000Z");
    check_parse("2024-01-02T03:04:05-01:30", true, "2024-01-02T04:34:05.000000Z");
    check_parse("2024-01-02T03:04:05+0100", true, "2024-01-02T02:04:05.000000Z");
    check_parse("2024-01-02 03:04:05+00", true, "2024-01-02T03:04:05.000000Z");
    check_parse("1970-01-02 +00", true, "1970-01-02T00:00:00.000000Z");
    check_parse("1970-01-02 -05:30", true, "1970-01-02T05:30:00.000000Z");
    check_parse("1970-01-02 10:00:00.000000000 +02:00", true, "1970-01-02T08:00:00.000000Z");
    check_parse("1970-01-02T10:00 -0130", true, "1970-01-02T11:30:00.000000Z");
    check_parse("1970-01-02 Z", false, NULL);
    check_parse("1970-01-02 10:00:00+01 +01", false, NULL);
    check_parse("1970-01-02 10:00:00  +01", false, NULL);
    check_parse(" +01", false, NULL);
    check_parse("1970-01-02 +", false, NULL);
    check_parse("1970-01 +00", false, NULL);
    check_parse("1970-01-02 +00 ", false, NULL);
    check_parse("0001-01-01", true, "0001-01-01T00:00:00.000000Z");
    check_parse("9999-12-31T23:59:59.999999Z", true, "9999-12-31T23:59:59.999999Z");
    check_parse("1969-12-31T23:59:59.999999Z", true, "1969-12-31T23:59:59.999999Z");
    static const char *const bad[] = {"",           "garbage",     "2024-1-2",
                                      "02-01-2024", "2024-01-02T", "2024-13-01",
                                      "2024-02-30", "2023-02-29",  "2024-02-29T25:00:00",
                                      "202",        "2024-",       "2024-01-01T10:60",
                                      "12",         "1.5",         "2024-01-01T10:00:61",
                                      "0000-01-01", "2022/01/01",  "2024-01-01T10:00:00.1234567891",
                                      " 2024",      "2024-01-01Z", "2024-01-01T10:00:00+25:00"};
    for (size_t i = 0; i < ALM_COUNT(bad); i++)
        check_parse(bad[i], false, NULL);
}

static void nanoseconds_end_in_2262(void **state)
{
    (void)state;
    int64_t ns;
    assert_true(alm_time_parse(ALM_STR("2262-04-11T23:47:16.854775807Z"), ALM_TIME_NS, &ns));
    assert_int_equal(ns, INT64_MAX);
    assert_false(alm_time_parse(ALM_STR("2262-04-11T23:47:16.854775808Z"), ALM_TIME_NS, &ns));
    assert_true(alm_time_parse(ALM_STR("1677-09-21T00:12:43.145224193Z"), ALM_TIME_NS, &ns));
    assert_int_equal(ns, INT64_MIN + 1);
    assert_false(alm_time_parse(ALM_STR("1677-09-21T00:12:43.145224192Z"), ALM_TIME_NS, &ns));
}

static void styles_and_units(void **state)
{
    (void)state;
    static const char *const expected[3][2] = {
        {"2024-02-29T12:34:56.789Z", "2024-02-29 12:34:56.789"},
        {"2024-02-29T12:34:56.789012Z", "2024-02-29 12:34:56.789012"},
        {"2024-02-29T12:34:56.789012345Z", "2024-02-29 12:34:56.789012"}};
    for (size_t u = 0; u < 3; u++) {
        int64_t t;
        assert_true(alm_time_parse(ALM_STR("2024-02-29T12:34:56.789012345Z"), units[u], &t));
        for (size_t s = 0; s < 2; s++) {
            char out[ALM_TIME_TEXT_MAX + 1];
            out[alm_time_format(t, units[u], (alm_time_style)s, out)] = 0;
            assert_string_equal(out, expected[u][s]);
        }
    }
    char far[ALM_TIME_TEXT_MAX + 1];
    far[alm_time_format(253402300800000000, ALM_TIME_US, ALM_TIME_ISO, far)] = 0;
    assert_string_equal(far, "10000-01-01T00:00:00.000000Z");
    far[alm_time_format(-62167219200000001, ALM_TIME_US, ALM_TIME_ISO, far)] = 0;
    assert_string_equal(far, "-0001-12-31T23:59:59.999999Z");
}

static void a_writer_writes_what_format_writes(void **state)
{
    (void)state;
    static const int64_t steps[] = {1, 999999, 59999999, 60000000, -60000001, 86400000000, -3};
    for (size_t u = 0; u < 3; u++) {
        alm_time_writer w;
        int64_t t = -120000000;
        alm_time_writer_init(&w, units[u], ALM_TIME_ISO);
        for (size_t i = 0; i < 5000; i++) {
            char a[ALM_TIME_TEXT_MAX], b[ALM_TIME_TEXT_MAX];
            const size_t n = alm_time_format(t, units[u], ALM_TIME_ISO, a);
            assert_int_equal(alm_time_writer_put(&w, t, b), n);
            assert_memory_equal(a, b, n);
            int64_t back;
            assert_true(alm_time_parse((alm_str){a, n}, units[u], &back));
            assert_int_equal(back, t);
            t += steps[i % ALM_COUNT(steps)];
        }
    }
}

static void rescaling(void **state)
{
    (void)state;
    assert_int_equal(alm_time_rescale(-1, ALM_TIME_NS, ALM_TIME_US), -1);
    assert_int_equal(alm_time_rescale(-1000001, ALM_TIME_NS, ALM_TIME_MS), -2);
    assert_int_equal(alm_time_rescale(1999, ALM_TIME_US, ALM_TIME_MS), 1);
    assert_int_equal(alm_time_rescale(5, ALM_TIME_MS, ALM_TIME_NS), 5000000);
    for (size_t from = 0; from < 3; from++)
        for (size_t to = 0; to < 3; to++)
            assert_int_equal(alm_time_rescale(ALM_TS_NULL, units[from], units[to]), ALM_TS_NULL);
    assert_int_equal(alm_time_rescale(ALM_TS_MAX_US, ALM_TIME_US, ALM_TIME_NS), ALM_TS_NULL);
    assert_int_equal(alm_time_rescale(INT64_MAX / 1000, ALM_TIME_US, ALM_TIME_NS),
                     INT64_MAX / 1000 * 1000);
    assert_int_equal(alm_time_rescale(INT64_MAX / 1000 + 1, ALM_TIME_US, ALM_TIME_NS), ALM_TS_NULL);
}

/* Instants among the times of a unit, against arithmetic on nanoseconds of any size. */
static void instants_among_the_times_of_a_unit(void **state)
{
    (void)state;
    static const int64_t nanos[] = {1000000, 1000, 1};
    static const int64_t times[] = {INT64_MIN + 1, INT64_MIN + 2, -1001,         -1000,    -1, 0, 1,
                                    999,           1000,          INT64_MAX - 1, INT64_MAX};
    for (size_t from = 0; from < 3; from++)
        for (size_t to = 0; to < 3; to++)
            for (size_t i = 0; i < ALM_COUNT(times); i++) {
                const alm_instant at = alm_instant_of(times[i], units[from]);
                const __int128 ns = (__int128)times[i] * nanos[from];
                const __int128 first = (__int128)(INT64_MIN + 1) * nanos[to];
                const __int128 last = (__int128)INT64_MAX * nanos[to];
                int64_t floor = 0;
                bool exact = false;
                const int32_t place = alm_instant_place(&at, units[to], &floor, &exact);
                assert_int_equal(place, ns < first ? -1 : ns > last ? 1 : 0);
                assert_int_equal(exact, place == 0 && ns % nanos[to] == 0);
                if (place != 0)
                    assert_int_equal(floor, place < 0 ? INT64_MIN + 1 : INT64_MAX);
                else
                    assert_true((__int128)floor * nanos[to] <= ns &&
                                ns < ((__int128)floor + 1) * nanos[to]);
            }
    alm_instant a, b;
    assert_true(alm_instant_parse(ALM_STR("-Infinity"), &a));
    assert_true(alm_instant_parse(ALM_STR("0001-01-01"), &b));
    assert_true(alm_instant_cmp(&a, &b) < 0);
    assert_true(alm_instant_parse(ALM_STR("9999-12-31T23:59:59.999999999Z"), &a));
    assert_true(alm_instant_cmp(&a, &b) > 0);
    assert_true(alm_instant_parse(ALM_STR("infinity"), &b));
    assert_true(alm_instant_cmp(&a, &b) < 0);
    assert_true(alm_instant_parse(ALM_STR("2024-01-01T00:00:00.0000005Z"), &a));
    assert_true(alm_instant_parse(ALM_STR("2024-01-01T01:00:00.000000500+01:00"), &b));
    assert_int_equal(alm_instant_cmp(&a, &b), 0);
    assert_false(alm_instant_parse(ALM_STR("infinit"), &a));
    assert_false(alm_instant_parse(ALM_STR("2024-13"), &a));
}

static void offsets(void **state)
{
    (void)state;
    int32_t s = -1;
    assert_true(alm_time_offset_parse(ALM_STR("+05:30"), &s));
    assert_int_equal(s, 19800);
    assert_true(alm_time_offset_parse(ALM_STR("-08"), &s));
    assert_int_equal(s, -28800);
    assert_true(alm_time_offset_parse(ALM_STR("Z"), &s));
    assert_int_equal(s, 0);
    static const char *const bad[] = {"",       "+",      "+5",    "05:30",
                                      "+24:00", "+05:60", "+05:3", "+05:30x"};
    for (size_t i = 0; i < ALM_COUNT(bad); i++)
        assert_false(alm_time_offset_parse(alm_str_of(bad[i]), &s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_day_agrees_with_libc),
                                       cmocka_unit_test(far_dates_do_not_overflow),
                                       cmocka_unit_test(recorded_texts),
                                       cmocka_unit_test(nanoseconds_end_in_2262),
                                       cmocka_unit_test(styles_and_units),
                                       cmocka_unit_test(a_writer_writes_what_format_writes),
                                       cmocka_unit_test(rescaling),
                                       cmocka_unit_test(instants_among_the_times_of_a_unit),
                                       cmocka_unit_test(offsets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
