/*
 * Goal    Patterns write and read what was recorded; a text that a pattern wrote is read back; no
 *         text, however odd, does more than fail to match.
 * Method  Recorded rows; round trips; random bytes as pattern and text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "time/env_for_test.h"
#include "time/format.h"
#include "time/zone.h"

static const alm_time_pattern *compile(env *e, const char *pattern)
{
    const alm_time_pattern *p;
    assert_int_equal(alm_time_pattern_compile(&e->cx, &e->arena, alm_str_of(pattern), 2026, 0, &p),
                     ALM_OK);
    return p;
}

static void check_write(env *e, const char *time, const char *pattern, const char *expected)
{
    int64_t ns;
    char out[200];
    const alm_time_pattern *p = compile(e, pattern);
    assert_true(alm_time_parse(alm_str_of(time), ALM_TIME_NS, &ns));
    assert_true(alm_time_pattern_max(p) < sizeof(out));
    const size_t n = alm_time_pattern_write(p, ns, ALM_TIME_NS, out);
    assert_true(n <= alm_time_pattern_max(p));
    out[n] = 0;
    assert_string_equal(out, expected);
}

static void recorded_writing(void **state)
{
    env *e = *state;
    const char *march = "2020-03-09T05:06:07.008009Z", *xmas = "2020-12-25T17:46:30.123456789Z";
    const char *newyear = "2021-01-01";
    check_write(e, march, "yyyy-MM-ddTHH:mm:ss.SSSUUUz", "2020-03-09T05:06:07.008009Z");
    check_write(e, march, "dd/MM/yyyy HH:mm:ss", "09/03/2020 05:06:07");
    check_write(e, march, "yy-M-d H:m:s", "20-3-9 5:6:7");
    check_write(e, xmas, "E EE MMM MMMM", "Fri Friday Dec December");
    check_write(e, march, "EE, d MMMM yyyy", "Monday, 9 March 2020");
    check_write(e, xmas, "hh:mm a|h:mm a|KK:mm a|kk:mm", "05:46 PM|5:46 PM|05:46 PM|17:46");
    check_write(e, newyear, "hh:mm a|KK:mm a|kk:mm", "12:00 AM|00:00 AM|24:00");
    check_write(e, march, "S|SSS|U|UUU|U+", "8|008|9|009|008009");
    check_write(e, xmas, "N|NNN|N+", "789|789|123456789");
    check_write(e, march, "G y", "AD 2020");
    check_write(e, march, "'literal' yyyy", "'literal' 2020");
    check_write(e, newyear, "YYYY-Www D u", "2020-W53 1 5");
    check_write(e, march, "", "");
}

static void check_read(env *e, const char *text, const char *pattern, const char *expected)
{
    int64_t us, want = 0;
    const bool got =
        alm_time_pattern_read(&e->cx, compile(e, pattern), alm_str_of(text), ALM_TIME_US, &us);
    if (got != (expected != NULL))
        fail_msg("'%s' by '%s' should %sbe read", text, pattern, expected != NULL ? "" : "not ");
    if (expected != NULL)
        assert_true(alm_time_parse(alm_str_of(expected), ALM_TIME_US, &want));
    if (expected != NULL && us != want)
        fail_msg("'%s' by '%s': %lld, not %s", text, pattern, (long long)us, expected);
    assert_int_equal(e->cx.err.code, ALM_OK);
}

static void recorded_reading(void **state)
{
    env *e = *state;
    check_read(e, "2020-12-25T17:46:30.123456Z", "yyyy-MM-ddTHH:mm:ss.SSSUUUz",
               "2020-12-25T17:46:30.123456Z");
    check_read(e, "25/12/2020 17:46", "dd/MM/yyyy HH:mm", "2020-12-25T17:46");
    check_read(e, "12-25-20", "MM-dd-yy", "2020-12-25");
    check_read(e, "12-25-70", "MM-dd-yy", "1970-12-25");
    check_read(e, "2020-12-25 05:46:30 PM", "yyyy-MM-dd hh:mm:ss a", "2020-12-25T17:46:30");
    check_read(e, "2020-12-25 12:00 AM", "yyyy-MM-dd hh:mm a", "2020-12-25");
    check_read(e, "2020-12-25 12:00 PM", "yyyy-MM-dd hh:mm a", "2020-12-25T12:00");
    check_read(e, "25 Dec 2020", "dd MMM yyyy", "2020-12-25");
    check_read(e, "25 december 2020", "dd MMMM yyyy", "2020-12-25");
    check_read(e, "25 december 2020", "dd MMM yyyy", "2020-12-25"); /* either form for either */
    check_read(e, "25 Dec 2020", "dd MMMM yyyy", "2020-12-25");
    check_read(e, "Friday, 25Dec2020", "E, ddMMMyyyy", "2020-12-25");
    check_read(e, "fri, 25December2020", "EE, ddMMMyyyy", "2020-12-25");
    check_read(e, "2020-12-25T17:46:30.1", "yyyy-MM-ddTHH:mm:ss.S", "2020-12-25T17:46:30.1");
    check_read(e, "2020-12-25T17:46:30.12", "yyyy-MM-ddTHH:mm:ss.S", "2020-12-25T17:46:30.12");
    check_read(e, "2020-12-25T17:46:30.5", "yyyy-MM-ddTHH:mm:ss.U+", "2020-12-25T17:46:30.5");
    check_read(e, "2020-12-25T17:46:30.123456789", "yyyy-MM-ddTHH:mm:ss.N+",
               "2020-12-25T17:46:30.123456");
    check_read(e, "2020-12-25T17:46:30 +02:00", "yyyy-MM-ddTHH:mm:ss Z", "2020-12-25T15:46:30");
    check_read(e, "2020-12-25T17:46:30 UTC", "yyyy-MM-ddTHH:mm:ss z", "2020-12-25T17:46:30");
    check_read(e, "1969-12-31 23:59:59", "yyyy-MM-dd HH:mm:ss", "1969-12-31T23:59:59");
    check_read(e, "Fri, 25 Dec 2020", "E, dd MMM yyyy", "2020-12-25");
    check_read(e, "2020-W53", "YYYY-Www", "2020-12-28");
    check_read(e, "2024-366", "yyyy-D", "2024-12-31");
    check_read(e, "2020-02-29", "yyyy-MM-dd", "2020-02-29");
    static const char *const bad[][2] = {{"garbage", "yyyy-MM-dd"},
                                         {"2020-13-01", "yyyy-MM-dd"},
                                         {"2021-02-29", "yyyy-MM-dd"},
                                         {"", "yyyy-MM-dd"},
                                         {"2020-12-25", "yyyy-MM-ddTHH"},
                                         {"2020-12-25T10", "yyyy-MM-dd"},
                                         {"x", ""},
                                         {"2021-W53", "YYYY-Www"},
                                         {"2023-366", "yyyy-D"},
                                         {"2020 13 PM", "yyyy HH a"},
                                         {"2020 Nowhere", "yyyy z"},
                                         {"2020 25", "yyyy HH"}};
    for (size_t i = 0; i < ALM_COUNT(bad); i++)
        check_read(e, bad[i][0], bad[i][1], NULL);
}

static void zones_by_name(void **state)
{
    if (!alm_zone_files_exist())
        skip();
    check_read(*state, "2024-07-01 12:00 Europe/Berlin", "yyyy-MM-dd HH:mm z", "2024-07-01T10:00");
    check_read(*state, "2024-01-01 12:00 PST", "yyyy-MM-dd HH:mm z", "2024-01-01T20:00");
}

static void what_is_written_is_read(void **state)
{
    env *e = *state;
    static const char *const patterns[] = {"yyyy-MM-ddTHH:mm:ss.SSSUUU", "dd MMM yyyy HH:mm:ss.U+",
                                           "EE, d MMMM yyyy hh:mm:ss.N+ a", "yyyy-D kk:m:s.U+ z"};
    for (size_t p = 0; p < ALM_COUNT(patterns); p++) {
        const alm_time_pattern *pattern = compile(e, patterns[p]);
        for (int64_t t = -2000000000123456; t < 4000000000000000; t += 7777777777777) {
            char text[200];
            int64_t back = 0;
            const size_t n = alm_time_pattern_write(pattern, t, ALM_TIME_US, text);
            if (!alm_time_pattern_read(&e->cx, pattern, (alm_str){text, n}, ALM_TIME_US, &back) ||
                back != t)
                fail_msg("%.*s by %s: %lld, not %lld", (int)n, text, patterns[p], (long long)back,
                         (long long)t);
        }
    }
}

static void odd_patterns_and_texts(void **state)
{
    env *e = *state;
    static const char alphabet[] = "yMdHhKkmsSUNzZxEGaDwuYWT'+-:/ 0123456789.PMonday";
    uint32_t seed = 42;
    for (int32_t round = 0; round < 20000; round++) {
        char pattern[24], text[24], out[400];
        int64_t t;
        const alm_time_pattern *p;
        for (size_t i = 0; i < sizeof(pattern); i++) {
            seed = seed * 1664525u + 1013904223u;
            pattern[i] = alphabet[(seed >> 16) % (sizeof(alphabet) - 1)];
            seed = seed * 1664525u + 1013904223u;
            text[i] = alphabet[(seed >> 16) % (sizeof(alphabet) - 1)];
        }
        const size_t n = seed >> 8 & 15, m = seed >> 12 & 15;
        assert_int_equal(
            alm_time_pattern_compile(&e->cx, &e->arena, (alm_str){pattern, n}, 2026, 0, &p),
            ALM_OK);
        assert_true(alm_time_pattern_max(p) <= sizeof(out));
        assert_true(alm_time_pattern_write(p, INT64_MIN + 1, ALM_TIME_MS, out) <=
                    alm_time_pattern_max(p));
        (void)alm_time_pattern_read(&e->cx, p, (alm_str){text, m}, ALM_TIME_NS, &t);
        alm_arena_reset(&e->arena);
    }
    char *longer = malloc(2000);
    assert_non_null(longer);
    memset(longer, 'y', 2000);
    const alm_time_pattern *p;
    assert_int_equal(
        alm_time_pattern_compile(&e->cx, &e->arena, (alm_str){longer, 2000}, 2026, 9, &p),
        ALM_E_ARG);
    assert_int_equal(e->cx.err.sql_pos, 9);
    alm_error_clear(&e->cx);
    free(longer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_writing), cmocka_unit_test(recorded_reading),
        cmocka_unit_test(zones_by_name), cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(odd_patterns_and_texts)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
