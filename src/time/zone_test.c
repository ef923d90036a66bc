/*
 * Goal    Offsets agree with another implementation in years past, present and far ahead; names are
 *         found as users write them; damaged files are refused.
 * Method  The table zone_fixture.def; the files of the system for the zones themselves. Without such
 *         files the tests that need them are skipped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "time/env_for_test.h"
#include "time/zone.h"

typedef struct fixture_row {
    const char *zone;
    int64_t at_s, expected_s;
} fixture_row;

#define ALM_LOCAL(zone, local, utc)
#define ALM_AT(zone, utc, offset) {zone, utc, offset},
static const fixture_row offsets[] = {
#include "time/zone_fixture.def"
};
#undef ALM_LOCAL
#undef ALM_AT
#define ALM_LOCAL(zone, local, utc) {zone, local, utc},
#define ALM_AT(zone, utc, offset)
static const fixture_row locals[] = {
#include "time/zone_fixture.def"
};
#undef ALM_LOCAL
#undef ALM_AT

static const alm_zone *find(env *e, const char *name)
{
    const alm_zone *zone = NULL;
    if (alm_zone_find(&e->cx, alm_str_of(name), 0, &zone) != ALM_OK)
        fail_msg("%s: %s", name, e->cx.err.msg);
    return zone;
}

static void offsets_agree(void **state)
{
    env *e = *state;
    for (size_t i = 0; i < ALM_COUNT(offsets); i++) {
        const fixture_row *r = &offsets[i];
        alm_zone_span span;
        alm_zone_span_at(find(e, r->zone), r->at_s, &span);
        if (span.offset_s != r->expected_s)
            fail_msg("%s at %lld: %d, not %lld", r->zone, (long long)r->at_s, span.offset_s,
                     (long long)r->expected_s);
        assert_true(span.from_s <= r->at_s && r->at_s < span.to_s);
        int64_t us = r->at_s * 1000000;
        alm_zone_to_local(find(e, r->zone), &us, 1, ALM_TIME_US, &us);
        assert_int_equal(us, (r->at_s + r->expected_s) * 1000000);
    }
}

static void local_times_agree(void **state)
{
    env *e = *state;
    for (size_t i = 0; i < ALM_COUNT(locals); i++) {
        const fixture_row *r = &locals[i];
        const int64_t got = alm_zone_utc_of_local(find(e, r->zone), r->at_s);
        if (got != r->expected_s)
            fail_msg("%s local %lld: %lld, not %lld", r->zone, (long long)r->at_s, (long long)got,
                     (long long)r->expected_s);
    }
}

static void columns_are_single_values(void **state)
{
    env *e = *state;
    static const char *const names[] = {"Europe/Berlin", "Australia/Lord_Howe", "+05:30",
                                        "America/Havana"};
    enum { N = 4000 };
    static int64_t in[N], out[N];
    for (size_t z = 0; z < ALM_COUNT(names); z++) {
        const alm_zone *zone = find(e, names[z]);
        for (size_t i = 0; i < N; i++) /* two years up, then to and fro */
            in[i] = i < N / 2 ? 1700000000000 + (int64_t)i * 31536000
                              : (int64_t)(i * 2654435761u % 4000000000u) * 1000;
        in[7] = in[2500] = ALM_TS_NULL;
        for (int32_t back = 0; back < 2; back++) {
            void (*shift)(const alm_zone *, const int64_t *, size_t, alm_time_unit, int64_t *) =
                back ? alm_zone_to_utc : alm_zone_to_local;
            shift(zone, in, N, ALM_TIME_MS, out);
            for (size_t i = 0; i < N; i++) {
                int64_t one;
                shift(zone, &in[i], 1, ALM_TIME_MS, &one);
                assert_int_equal(out[i], one);
            }
        }
        assert_int_equal(out[7], ALM_TS_NULL);
    }
}

static void check_name(env *e, const char *name, int64_t utc_s, int32_t offset_s)
{
    alm_zone_span span;
    alm_zone_span_at(find(e, name), utc_s, &span);
    if (span.offset_s != offset_s)
        fail_msg("%s: %d, not %d", name, span.offset_s, offset_s);
}

static void names(void **state)
{
    env *e = *state;
    const int64_t january = 1704110400, july = 1719835200;
    check_name(e, "europe/berlin", july, 7200);
    check_name(e, "EUROPE/BERLIN", january, 3600);
    check_name(e, "CET", july, 7200);
    check_name(e, "PST", january, -28800);
    check_name(e, "PST", july, -25200);
    check_name(e, "EST", january, -18000);
    check_name(e, "GMT", july, 0);
    check_name(e, "UTC", july, 0);
    check_name(e, "Z", july, 0);
    check_name(e, "+05:30", july, 19800);
    check_name(e, "-08:00", july, -28800);
    check_name(e, "UTC+3", july, 10800);
    check_name(e, "GMT-02:30", july, -9000);
    check_name(e, "Etc/GMT+5", july, -18000);
    assert_ptr_equal(find(e, "Asia/Tokyo"), find(e, "asia/tokyo"));
    static const char *const bad[] = {
        "",        "Nowhere", "Mars/Olympus",  "../etc/passwd", "/etc/passwd",   "9h", "+25:00",
        "Europe/", "+",       "Europe/../UTC", "a\nb",          "Europe/Berlin "};
    for (size_t i = 0; i < ALM_COUNT(bad); i++) {
        const alm_zone *zone;
        alm_error_clear(&e->cx);
        assert_int_equal(alm_zone_find(&e->cx, alm_str_of(bad[i]), 23, &zone), ALM_E_ARG);
        assert_int_equal(e->cx.err.sql_pos, 23);
        assert_true(strncmp(e->cx.err.msg, "invalid timezone: ", 18) == 0);
    }
    alm_error_clear(&e->cx);
}

static void damaged_files_are_refused(void **state)
{
    env *e = *state;
    alm_buf file;
    const alm_zone *zone;
    alm_buf_init(&file, NULL);
    if (!alm_zone_file_for_test(&e->cx, NULL, "Europe/Berlin", &file))
        skip();
    for (size_t n = 0; n + 1 < file.len; n++) { /* every prefix: refused or, without rule, read */
        alm_error_clear(&e->cx);
        const alm_status st =
            alm_zone_of_tzif(&e->cx, &e->arena, "x", (const uint8_t *)file.ptr, n, &zone);
        assert_true(st == ALM_OK || st == ALM_E_CORRUPT);
        alm_arena_reset(&e->arena);
    }
    for (size_t i = 0; i < file.len; i += 3) { /* and every third byte turned over */
        file.ptr[i] = (char)~file.ptr[i];
        alm_error_clear(&e->cx);
        if (alm_zone_of_tzif(&e->cx, &e->arena, "x", (const uint8_t *)file.ptr, file.len, &zone) ==
            ALM_OK) {
            alm_zone_span span;
            alm_zone_span_at(zone, 4000000000, &span);
            (void)alm_zone_utc_of_local(zone, 4000000000);
        }
        alm_arena_reset(&e->arena);
        file.ptr[i] = (char)~file.ptr[i];
    }
    alm_error_clear(&e->cx);
    alm_buf_deinit(&file);
}

static void ends_of_time(void **state)
{
    env *e = *state;
    static const int64_t times[] = {INT64_MIN + 1, INT64_MAX};
    for (size_t i = 0; i < 2; i++)
        for (int32_t u = ALM_TIME_MS; u <= ALM_TIME_NS; u++) {
            int64_t t = times[i];
            alm_zone_to_local(find(e, "Europe/Berlin"), &t, 1, (alm_time_unit)u, &t);
            t = times[i];
            alm_zone_to_utc(find(e, "America/New_York"), &t, 1, (alm_time_unit)u, &t);
        }
}

int main(void)
{
    const struct CMUnitTest all[] = {cmocka_unit_test(offsets_agree),
                                     cmocka_unit_test(local_times_agree),
                                     cmocka_unit_test(columns_are_single_values),
                                     cmocka_unit_test(names),
                                     cmocka_unit_test(damaged_files_are_refused),
                                     cmocka_unit_test(ends_of_time)};
    if (!alm_zone_files_exist())
        return 0; /* no zone files on this machine */
    return cmocka_run_group_tests(all, setup, teardown);
}
