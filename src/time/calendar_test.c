/*
 * Goal    Adding, differences and fields as recorded, and as a slow calendar says; no overflow.
 * Method  Recorded answers; libc gmtime_r and mktime's own month arithmetic as the other calendar.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "time/calendar.h"

static int64_t us(const char *text)
{
    int64_t t;
    if (!alm_time_parse(alm_str_of(text), ALM_TIME_US, &t))
        fail_msg("bad time in test: %s", text);
    return t;
}

static void check_add(const char *from, char unit, int64_t n, const char *expected)
{
    const int64_t got = alm_time_add(us(from), ALM_TIME_US, unit, n);
    char text[ALM_TIME_TEXT_MAX + 1];
    text[alm_time_format(got, ALM_TIME_US, ALM_TIME_ISO, text)] = 0;
    if (got != us(expected))
        fail_msg("%s + %lld%c = %s", from, (long long)n, unit, text);
}

static void recorded_sums(void **state)
{
    (void)state;
    check_add("2024-01-31", 'M', 1, "2024-02-29");
    check_add("2023-01-31", 'M', 1, "2023-02-28");
    check_add("2024-03-31", 'M', -1, "2024-02-29");
    check_add("2023-12-31", 'M', 13, "2025-01-31");
    check_add("2024-02-28", 'y', 1, "2025-02-28");
    check_add("2024-02-29", 'y', 4, "2028-02-29");
    check_add("2024-02-29", 'y', 1, "2025-02-28");
    check_add("2024-03-01", 'y', -100, "1924-03-01");
    check_add("2024-02-29T12:34:56.789012", 'M', 12, "2025-02-28T12:34:56.789012");
    check_add("1969-12-31T23:30", 'h', 1, "1970-01-01T00:30");
    check_add("2023-12-31T23:59:59.999999", 'w', 2, "2024-01-14T23:59:59.999999");
    check_add("2023-12-31T23:59:59.999999", 'u', -999999, "2023-12-31T23:59:59");
    check_add("2023-12-31T23:59:59.999999", 'T', 1500, "2024-01-01T00:00:01.499999");
    check_add("2024-01-01", 'n', 1999, "2024-01-01T00:00:00.000001");
    check_add("2024-01-01", 'n', -1999, "2023-12-31T23:59:59.999999");
}

static void sums_that_do_not_fit_are_null(void **state)
{
    (void)state;
    static const char units[] = "nUTsmhdwMy";
    static const int64_t times[] = {INT64_MAX, INT64_MIN + 1, 0, -1};
    for (size_t u = 0; u < sizeof(units) - 1; u++)
        for (size_t i = 0; i < ALM_COUNT(times); i++)
            for (int32_t unit = ALM_TIME_MS; unit <= ALM_TIME_NS; unit++) {
                (void)alm_time_add(times[i], (alm_time_unit)unit, units[u], INT64_MAX);
                (void)alm_time_add(times[i], (alm_time_unit)unit, units[u], INT64_MIN);
                (void)alm_time_add(times[i], (alm_time_unit)unit, units[u], 1);
                (void)alm_time_add(times[i], (alm_time_unit)unit, units[u], -1);
                (void)alm_time_diff(times[i], INT64_MIN + 1, (alm_time_unit)unit, units[u]);
            }
    assert_int_equal(alm_time_add(INT64_MAX, ALM_TIME_NS, 'd', 1), ALM_TS_NULL);
    assert_int_equal(alm_time_add(INT64_MIN + 1, ALM_TIME_NS, 'n', -1), ALM_TS_NULL);
    assert_int_equal(alm_time_add(INT64_MAX - 5, ALM_TIME_NS, 'n', 5), INT64_MAX);
    assert_int_equal(alm_time_add(INT64_MAX, ALM_TIME_NS, 'M', 1), ALM_TS_NULL);
    assert_int_equal(alm_time_add(ALM_TS_NULL, ALM_TIME_US, 'd', 1), ALM_TS_NULL);
    assert_int_equal(alm_time_add(0, ALM_TIME_US, 'x', 1), ALM_TS_NULL);
}

static void columns_are_single_sums(void **state)
{
    (void)state;
    enum { N = 3000 };
    static int64_t in[N], all[N], each[N], count[N];
    for (size_t i = 0; i < N; i++) { /* ordered, then scattered over 200 years */
        in[i] = i < N / 2 ? (int64_t)i * 7200000000
                          : (int64_t)((uint32_t)i * 2654435761u) * 1500000 - 2000000000000000;
        count[i] = (int64_t)(i % 50) - 25;
    }
    in[3] = in[2000] = ALM_TS_NULL;
    count[5] = ALM_LONG_NULL;
    for (const char *u = "nUTsmhdwMy"; *u != 0; u++) {
        alm_time_add_all(in, N, ALM_TIME_US, *u, 7, all);
        alm_time_add_each(in, count, N, ALM_TIME_US, *u, each);
        for (size_t i = 0; i < N; i++) {
            assert_int_equal(all[i], alm_time_add(in[i], ALM_TIME_US, *u, 7));
            assert_int_equal(each[i], count[i] == ALM_LONG_NULL
                                          ? ALM_TS_NULL
                                          : alm_time_add(in[i], ALM_TIME_US, *u, count[i]));
        }
    }
}

static void recorded_differences(void **state)
{
    (void)state;
    static const struct {
        char unit;
        const char *a, *b;
        int64_t expected;
    } rows[] = {{'d', "2024-01-01", "2024-03-01", 60},
                {'h', "2024-01-01", "2024-01-02T01:30", 25},
                {'m', "2024-01-01", "2023-12-31T23:00", 60},
                {'s', "2024-01-01T00:00:00.9Z", "2024-01-01T00:00:02.1Z", 1},
                {'T', "2024-01-01", "2024-01-01T00:00:01.5Z", 1500},
                {'u', "2024-01-01", "2024-01-01T00:00:00.000123Z", 123},
                {'n', "2024-01-01", "2024-01-01T00:00:00.000123Z", 123000},
                {'M', "2024-01-31", "2024-02-29", 0},
                {'M', "2024-01-15", "2024-03-14", 1},
                {'M', "2024-03-15", "2024-01-15", 2},
                {'y', "2020-02-29", "2024-02-28", 3},
                {'y', "2020-02-29", "2024-02-29", 4},
                {'w', "2024-01-01", "2024-01-15", 2},
                {'w', "2024-01-01", "2024-01-14", 1}};
    for (size_t i = 0; i < ALM_COUNT(rows); i++)
        assert_int_equal(alm_time_diff(us(rows[i].a), us(rows[i].b), ALM_TIME_US, rows[i].unit),
                         rows[i].expected);
    assert_int_equal(alm_time_diff(0, ALM_TS_NULL, ALM_TIME_US, 'd'), ALM_LONG_NULL);
    assert_int_equal(alm_time_diff(INT64_MIN + 1, INT64_MAX, ALM_TIME_US, 'U'), ALM_LONG_NULL);
}

static void check_field(const char *time, alm_calendar_field field, int64_t expected)
{
    const int64_t got = alm_calendar_extract(us(time), ALM_TIME_US, field);
    if (got != expected)
        fail_msg("%s field %d: %lld, not %lld", time, (int)field, (long long)got,
                 (long long)expected);
}

static void recorded_fields(void **state)
{
    (void)state;
    const char *leap = "2024-02-29T12:34:56.789012Z", *last = "2023-12-31T23:59:59.999999Z";
    check_field(leap, ALM_CAL_MILLISECONDS, 789);
    check_field(leap, ALM_CAL_MICROSECONDS, 789012);
    check_field(leap, ALM_CAL_NANOSECONDS, 789012000);
    check_field(leap, ALM_CAL_MICROS, 12);
    check_field(leap, ALM_CAL_NANOS, 0);
    check_field(leap, ALM_CAL_EPOCH, 1709210096);
    check_field(leap, ALM_CAL_DOY, 60);
    check_field(leap, ALM_CAL_WEEK, 9);
    check_field(leap, ALM_CAL_LEAP_YEAR, 1);
    check_field(last, ALM_CAL_DOW, 0);
    check_field(last, ALM_CAL_ISODOW, 7);
    check_field(last, ALM_CAL_SUNDAY_FIRST, 1);
    check_field(last, ALM_CAL_WEEK, 52);
    check_field(last, ALM_CAL_ISOYEAR, 2023);
    check_field(last, ALM_CAL_QUARTER, 4);
    check_field(last, ALM_CAL_DECADE, 202);
    check_field(last, ALM_CAL_CENTURY, 21);
    check_field(last, ALM_CAL_MILLENNIUM, 3);
    check_field("2000-12-31", ALM_CAL_CENTURY, 20);
    check_field("2000-12-31", ALM_CAL_MILLENNIUM, 2);
    check_field("2021-01-01", ALM_CAL_WEEK, 53);
    check_field("2021-01-01", ALM_CAL_ISOYEAR, 2020);
    check_field("2024-12-30", ALM_CAL_WEEK, 1);
    check_field("2024-12-30", ALM_CAL_ISOYEAR, 2025);
    check_field("2018-01-01", ALM_CAL_WEEK, 1);
    check_field("1900-01-01", ALM_CAL_LEAP_YEAR, 0);
    check_field("2000-06-01", ALM_CAL_LEAP_YEAR, 1);
    check_field("2023-02-10", ALM_CAL_DAYS_IN_MONTH, 28);
    check_field("1969-12-31T23:59:59.999999Z", ALM_CAL_SECOND, 59);
    check_field("1969-12-31T23:59:59.999999Z", ALM_CAL_EPOCH, -1);
}

static void fields_agree_with_libc_in_all_units(void **state)
{
    (void)state;
    enum { N = 2000 };
    static int64_t in[N];
    static int32_t got[N], week[N], isoyear[N];
    for (int32_t u = ALM_TIME_MS; u <= ALM_TIME_NS; u++) {
        const alm_time_unit unit = (alm_time_unit)u;
        const int64_t second = alm_time_second(unit);
        for (size_t i = 0; i < N; i++)
            in[i] = ((int64_t)(i * 2654435761u % 9000000000u) - 3000000000) * second +
                    (int64_t)i % second;
        in[11] = ALM_TS_NULL;
        static const struct {
            alm_calendar_field field;
            size_t at;
            int32_t plus;
        } fields[] = {{ALM_CAL_YEAR, offsetof(struct tm, tm_year), 1900},
                      {ALM_CAL_MONTH, offsetof(struct tm, tm_mon), 1},
                      {ALM_CAL_DAY, offsetof(struct tm, tm_mday), 0},
                      {ALM_CAL_HOUR, offsetof(struct tm, tm_hour), 0},
                      {ALM_CAL_MINUTE, offsetof(struct tm, tm_min), 0},
                      {ALM_CAL_SECOND, offsetof(struct tm, tm_sec), 0},
                      {ALM_CAL_DOW, offsetof(struct tm, tm_wday), 0},
                      {ALM_CAL_DOY, offsetof(struct tm, tm_yday), 1}};
        for (size_t f = 0; f < ALM_COUNT(fields); f++) {
            alm_calendar_extract_all(in, N, unit, fields[f].field, got);
            for (size_t i = 0; i < N; i++) {
                const time_t t = in[i] == ALM_TS_NULL ? 0 : alm_floor_div(in[i], second);
                struct tm tm;
                int32_t expected;
                assert_non_null(gmtime_r(&t, &tm));
                memcpy(&expected, (const char *)&tm + fields[f].at, sizeof(expected));
                assert_int_equal(got[i],
                                 in[i] == ALM_TS_NULL ? ALM_INT_NULL : expected + fields[f].plus);
            }
        }
        alm_calendar_extract_all(in, N, unit, ALM_CAL_WEEK, week);
        alm_calendar_extract_all(in, N, unit, ALM_CAL_ISOYEAR, isoyear);
        for (size_t i = 0; i < N; i++) {
            const time_t t = in[i] == ALM_TS_NULL ? 0 : alm_floor_div(in[i], second);
            struct tm tm;
            char text[20], expected[20];
            if (in[i] == ALM_TS_NULL)
                continue;
            assert_non_null(gmtime_r(&t, &tm));
            assert_true(strftime(expected, sizeof(expected), "%G-%V", &tm) > 0);
            (void)snprintf(text, sizeof(text), "%d-%02d", isoyear[i], week[i]);
            assert_string_equal(text, expected);
        }
    }
}

/* The days at the ends of int64 are not whole, and one is no part of the other. */
static void ends_of_time(void **state)
{
    (void)state;
    const int64_t in[3] = {-INT64_MAX, INT64_MAX, -INT64_MAX};
    int32_t year[3];
    alm_calendar_extract_all(in, 3, ALM_TIME_US, ALM_CAL_YEAR, year);
    assert_int_equal(year[0], -290308);
    assert_int_equal(year[1], 294247);
    assert_int_equal(year[2], -290308);
}

static void spans(void **state)
{
    (void)state;
    alm_unit_span s;
    assert_true(alm_span_parse(ALM_STR("15m"), false, &s));
    assert_int_equal(s.count, 15);
    assert_int_equal(s.unit, 'm');
    assert_true(alm_span_parse(ALM_STR("u"), false, &s));
    assert_int_equal(s.count, 1);
    assert_int_equal(s.unit, 'U');
    assert_true(alm_span_parse(ALM_STR("-2d"), true, &s));
    assert_int_equal(s.count, -2);
    static const char *const bad[] = {"",   "0h",           "z",  "1", "-1h", "1hh",
                                      "h1", "99999999999d", "1 d"};
    for (size_t i = 0; i < ALM_COUNT(bad); i++)
        assert_false(alm_span_parse(alm_str_of(bad[i]), false, &s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(recorded_sums),
                                       cmocka_unit_test(sums_that_do_not_fit_are_null),
                                       cmocka_unit_test(columns_are_single_sums),
                                       cmocka_unit_test(recorded_differences),
                                       cmocka_unit_test(recorded_fields),
                                       cmocka_unit_test(fields_agree_with_libc_in_all_units),
                                       cmocka_unit_test(ends_of_time),
                                       cmocka_unit_test(spans)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
