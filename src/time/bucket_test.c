/*
 * Goal    Buckets as recorded for every unit, origin and zone; the invariants of bucket.h around
 *         every change of a clock.
 * Method  Recorded labels; I1 to I4 over minutes around the changes of odd zones (a change at one
 *         minute past midnight, half an hour, a whole day).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "time/bucket.h"
#include "time/env_for_test.h"

static int64_t us(const char *text)
{
    int64_t t;
    if (!alm_time_parse(alm_str_of(text), ALM_TIME_US, &t))
        fail_msg("bad time in test: %s", text);
    return t;
}

static alm_bucketer make(env *e, const char *span, const char *zone, const char *offset,
                         const char *origin)
{
    alm_bucket_spec spec = {.time_unit = ALM_TIME_US};
    alm_bucketer b;
    alm_unit_span s;
    assert_true(alm_span_parse(alm_str_of(span), false, &s));
    spec.unit = s.unit;
    spec.count = s.count;
    if (zone != NULL)
        assert_int_equal(alm_zone_find(&e->cx, alm_str_of(zone), 0, &spec.zone), ALM_OK);
    if (offset != NULL)
        assert_true(alm_bucket_offset_parse(alm_str_of(offset), ALM_TIME_US, &spec.offset));
    if (origin != NULL) {
        spec.has_origin = true;
        spec.origin = us(origin);
    }
    assert_int_equal(alm_bucketer_init(&e->cx, 0, &spec, &b), ALM_OK);
    return b;
}

typedef struct label {
    const char *span, *zone, *offset, *origin, *time, *start;
} label;

static void recorded_labels(void **state)
{
    env *e = *state;
    static const label labels[] = {
        {"7U", NULL, NULL, NULL, "2024-01-01T00:00:00.000000", "2023-12-31T23:59:59.999997"},
        {"100T", NULL, NULL, NULL, "2024-02-29T12:34:56.789012", "2024-02-29T12:34:56.7"},
        {"7m", NULL, NULL, NULL, "2024-02-28T22:10", "2024-02-28T22:08"},
        {"5h", NULL, NULL, NULL, "2024-02-28T22:10", "2024-02-28T21:00"},
        {"3d", NULL, NULL, NULL, "2024-02-28T22:10", "2024-02-26"},
        {"365d", NULL, NULL, NULL, "2020-01-20", "2019-12-20"},
        {"w", NULL, NULL, NULL, "2023-12-31T23:59:59.999999", "2023-12-25"},
        {"2w", NULL, NULL, NULL, "2023-12-31T23:59:59.999999", "2023-12-18"},
        {"10w", NULL, NULL, NULL, "2020-01-20", "2020-01-06"},
        {"M", NULL, NULL, NULL, "2024-02-29", "2024-02-01"},
        {"2M", NULL, NULL, NULL, "2023-12-31", "2023-11-01"},
        {"5M", NULL, NULL, NULL, "2020-12-20", "2020-11-01"},
        {"2y", NULL, NULL, NULL, "2023-12-31", "2022-01-01"},
        {"d", NULL, NULL, NULL, "1969-12-31T12:00", "1969-12-31"},
        {"h", NULL, NULL, NULL, "1960-05-05T05:59:59", "1960-05-05T05:00"},
        {"5d", NULL, NULL, NULL, "2018-01-01", "2017-12-30"},
        {"5d", NULL, NULL, "2018-01-01", "2018-01-07", "2018-01-06"},
        {"1h", NULL, NULL, "2024-03-10T00:30", "2024-03-10T03:05", "2024-03-10T02:30"},
        {"1y", NULL, NULL, "2020-01-20T06:00", "2023-01-20T05:59", "2022-01-20T06:00"},
        {"3M", NULL, NULL, "2020-01-20T06:00", "2020-07-21", "2020-07-20T06:00"},
        {"1M", NULL, NULL, "2024-01-31", "2024-03-30", "2024-02-29"},
        {"1d", NULL, "02:00", NULL, "2024-02-29T00:30", "2024-02-28T02:00"},
        {"1d", NULL, "-02:00", NULL, "2024-02-28T22:10", "2024-02-28T22:00"},
        {"1h", NULL, "00:30", NULL, "2024-02-28T22:10", "2024-02-28T21:30"},
        {"1d", "Europe/London", NULL, NULL, "2021-03-28T22:59", "2021-03-28"},
        {"1d", "Europe/London", NULL, NULL, "2021-03-28T23:00", "2021-03-28T23:00"},
        {"1d", "Europe/London", "02:00", NULL, "2021-03-28T01:00", "2021-03-28T01:00"},
        {"1d", "Europe/London", "02:00", NULL, "2021-10-31T01:59", "2021-10-30T01:00"},
        {"1d", "America/New_York", NULL, NULL, "2021-11-08T04:59", "2021-11-07T04:00"},
        {"1d", "America/New_York", "09:30", NULL, "2021-11-07T14:29", "2021-11-06T13:30"},
        {"1d", "Europe/Berlin", "00:45", NULL, "2021-10-31T23:44", "2021-10-30T22:45"},
        {"1d", "+02:00", NULL, NULL, "2021-03-12T22:00", "2021-03-12T22:00"},
        {"1d", "-05:30", NULL, NULL, "2021-03-13T05:29", "2021-03-12T05:30"},
        {"1h", "Asia/Kathmandu", NULL, NULL, "2021-10-31T00:00", "2021-10-30T23:15"},
        {"6h", "Asia/Tokyo", NULL, NULL, "2021-11-06T12:00", "2021-11-06T09:00"},
        {"1M", "Europe/Berlin", NULL, NULL, "2021-10-31T22:59", "2021-09-30T22:00"},
        {"3M", "Australia/Sydney", NULL, NULL, "2021-01-01", "2020-12-31T13:00"},
        {"1y", "Asia/Tokyo", NULL, NULL, "2020-12-31T15:00", "2020-12-31T15:00"},
        {"1w", "America/New_York", NULL, NULL, "2021-11-08T04:59", "2021-11-01T04:00"},
        {"2d", "Europe/Berlin", NULL, NULL, "2021-03-29T21:59", "2021-03-27T23:00"},
        /* the clock goes back at 01:00 UTC: the hour comes twice */
        {"1h", "Europe/Berlin", NULL, NULL, "2021-10-31T00:30", "2021-10-31T00:00"},
        {"1h", "Europe/Berlin", NULL, NULL, "2021-10-31T01:30", "2021-10-31T01:00"},
        {"6h", "Europe/Berlin", NULL, NULL, "2021-10-31T04:59", "2021-10-30T22:00"},
        /* and forward: 02:00 to 03:00 is not shown */
        {"2h", "Europe/Berlin", NULL, NULL, "2021-03-28T01:30", "2021-03-28T01:00"},
        {"2h", "Europe/Berlin", NULL, NULL, "2021-03-28T00:59", "2021-03-27T23:00"},
    };
    for (size_t i = 0; i < ALM_COUNT(labels); i++) {
        const label *l = &labels[i];
        const alm_bucketer b = make(e, l->span, l->zone, l->offset, l->origin);
        const int64_t got = alm_bucket_start(&b, us(l->time));
        char text[ALM_TIME_TEXT_MAX + 1];
        text[alm_time_format(got, ALM_TIME_US, ALM_TIME_ISO, text)] = 0;
        if (got != us(l->start))
            fail_msg("%s %s of %s: %s, not %s", l->span, l->zone, l->time, text, l->start);
    }
}

/* Times from `at` - 3 days to + 3 days. */
static void check_invariants(const alm_bucketer *b, int64_t at, const char *what)
{
    const int64_t step = 7 * 60 * INT64_C(1000000), span = 3 * 86400 * INT64_C(1000000);
    int64_t last = INT64_MIN;
    for (int64_t t = at - span - 1; t < at + span; t += step + (t & 1)) {
        const int64_t start = alm_bucket_start(b, t), next = alm_bucket_next(b, t);
        if (!(start <= t && t < next))
            fail_msg("I1 %s at %lld: %lld %lld", what, (long long)t, (long long)start,
                     (long long)next);
        if (alm_bucket_start(b, start) != start)
            fail_msg("I2 %s at %lld: %lld", what, (long long)t, (long long)start);
        if (start < last)
            fail_msg("I3 %s at %lld: %lld after %lld", what, (long long)t, (long long)start,
                     (long long)last);
        if (alm_bucket_start(b, next) != next || alm_bucket_start(b, next - 1) != start)
            fail_msg("I4 %s at %lld: next %lld", what, (long long)t, (long long)next);
        last = start;
    }
}

static void invariants_around_changes(void **state)
{
    env *e = *state;
    static const struct {
        const char *zone, *at;
    } changes[] = {
        {"Europe/Berlin", "2021-10-31T01:00"},       {"Europe/Berlin", "2021-03-28T01:00"},
        {"America/Sao_Paulo", "2017-10-15T03:00"},   {"America/Sao_Paulo", "2018-02-18T02:00"},
        {"America/St_Johns", "2008-11-02T02:31"},    {"America/St_Johns", "2009-03-08T03:31"},
        {"America/Havana", "2021-11-07T05:00"},      {"Australia/Lord_Howe", "2021-04-03T15:00"},
        {"Australia/Lord_Howe", "2021-10-02T15:30"}, {"Pacific/Apia", "2011-12-30T10:00"},
        {"Asia/Kolkata", "1945-10-14T17:30"},        {"Asia/Gaza", "2011-08-01T00:00"}};
    static const char *const spans[] = {"1m",  "15m", "45m", "1h", "100m", "2h", "5h", "6h",
                                        "23h", "1d",  "2d",  "1w", "1M",   "3M", "1y"};
    static const char *const offsets[] = {NULL, "00:45", "-01:30"};
    for (size_t c = 0; c < ALM_COUNT(changes); c++)
        for (size_t s = 0; s < ALM_COUNT(spans); s++)
            for (size_t o = 0; o < ALM_COUNT(offsets); o++) {
                const alm_bucketer b = make(e, spans[s], changes[c].zone, offsets[o], NULL);
                char what[80];
                (void)snprintf(what, sizeof(what), "%s %s %s", spans[s], changes[c].zone,
                               offsets[o] == NULL ? "" : offsets[o]);
                check_invariants(&b, us(changes[c].at), what);
            }
}

static void columns_are_single_buckets(void **state)
{
    env *e = *state;
    enum { N = 3000 };
    static int64_t in[N], lo[N], hi[N];
    static const char *const spans[] = {"7m", "1d", "1w", "1M", "3y"};
    static const char *const zones[] = {NULL, "+05:30", "Europe/Berlin"};
    for (size_t i = 0; i < N; i++)
        in[i] = i < N / 2 ? 1600000000000000 + (int64_t)i * 5000000000
                          : (int64_t)(i * 2654435761u) * 1000000;
    in[9] = in[10] = ALM_TS_NULL;
    in[11] = INT64_MIN + 1;
    in[12] = INT64_MAX;
    for (size_t s = 0; s < ALM_COUNT(spans); s++)
        for (size_t z = 0; z < ALM_COUNT(zones); z++) {
            const alm_bucketer b = make(e, spans[s], zones[z], NULL, NULL);
            alm_bucket_floor(&b, in, N, lo);
            alm_bucket_ceil(&b, in, N, hi);
            for (size_t i = 0; i < N; i++) {
                const int64_t next = alm_bucket_next(&b, in[i]);
                assert_int_equal(lo[i], alm_bucket_start(&b, in[i]));
                if (lo[i] != ALM_TS_NULL)
                    assert_int_equal(hi[i], next == INT64_MAX ? ALM_TS_NULL : next);
            }
            assert_int_equal(lo[9], ALM_TS_NULL);
            assert_int_equal(hi[9], ALM_TS_NULL);
            assert_int_equal(lo[11], INT64_MIN + 1); /* begins before int64 does */
            assert_int_equal(hi[12], ALM_TS_NULL);
        }
}

/* Whether a column holds what single calls give, and these hold the invariants, at both ends of the range. */
static void buckets_at_the_ends(void **state)
{
    env *e = *state;
    static const char *const spans[] = {"1h", "7h", "1d", "1w", "1M", "1y", "100y"};
    static const char *const zones[] = {NULL,         "+05:30",          "-08:00", "Europe/Berlin",
                                        "Asia/Tokyo", "America/New_York"};
    static const char *const offsets[] = {NULL, "00:45", "-01:30"};
    const int64_t minute = 60000000;
    for (size_t s = 0; s < ALM_COUNT(spans); s++)
        for (size_t z = 0; z < ALM_COUNT(zones); z++)
            for (size_t o = 0; o < ALM_COUNT(offsets); o++) {
                const alm_bucketer b = make(e, spans[s], zones[z], offsets[o], NULL);
                int64_t before = INT64_MIN + 1;
                for (int64_t i = 0; i < 6000; i++) {
                    const int64_t t = i < 3000 ? INT64_MIN + 1 + i * 17 * minute
                                               : INT64_MAX - (5999 - i) * 17 * minute;
                    const int64_t start = alm_bucket_start(&b, t), next = alm_bucket_next(&b, t);
                    assert_true(start <= t && (t < next || next == INT64_MAX) && start >= before);
                    assert_int_equal(alm_bucket_start(&b, start), start);
                    if (next != INT64_MAX)
                        assert_int_equal(alm_bucket_start(&b, next), next);
                    if (i == 0)
                        assert_int_equal(start, INT64_MIN + 1);
                    before = start;
                }
            }
}

static void refusals_and_offsets(void **state)
{
    env *e = *state;
    alm_bucketer b;
    alm_bucket_spec spec = {.unit = 'x', .count = 1, .time_unit = ALM_TIME_US};
    assert_int_equal(alm_bucketer_init(&e->cx, 5, &spec, &b), ALM_E_ARG);
    assert_int_equal(e->cx.err.sql_pos, 5);
    alm_error_clear(&e->cx);
    spec = (alm_bucket_spec){.unit = 'd', .count = 0, .time_unit = ALM_TIME_US};
    assert_int_equal(alm_bucketer_init(&e->cx, 0, &spec, &b), ALM_E_ARG);
    alm_error_clear(&e->cx);
    spec.count = INT64_MAX;
    assert_int_equal(alm_bucketer_init(&e->cx, 0, &spec, &b), ALM_E_ARG);
    alm_error_clear(&e->cx);
    int64_t o;
    static const char *const bad[] = {"", "9h", "abc", "25:99", "24:00", "1:00", "+1:00", "00:60"};
    for (size_t i = 0; i < ALM_COUNT(bad); i++)
        assert_false(alm_bucket_offset_parse(alm_str_of(bad[i]), ALM_TIME_US, &o));
    assert_true(alm_bucket_offset_parse(ALM_STR("-09:30"), ALM_TIME_MS, &o));
    assert_int_equal(o, -34200000);
    spec = (alm_bucket_spec){.unit = 'n', .count = 10, .time_unit = ALM_TIME_NS};
    assert_int_equal(alm_bucketer_init(&e->cx, 0, &spec, &b), ALM_OK);
    assert_int_equal(alm_bucket_start(&b, -1), -10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_labels), cmocka_unit_test(invariants_around_changes),
        cmocka_unit_test(columns_are_single_buckets), cmocka_unit_test(buckets_at_the_ends),
        cmocka_unit_test(refusals_and_offsets)};
    if (!alm_zone_files_exist())
        return 0; /* no zone files on this machine */
    return cmocka_run_group_tests(tests, setup, teardown);
}
