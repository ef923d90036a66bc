/*
 * Goal    Buckets are right at every change of every clock since 1970.
 * Method  The instants around each change of a zone are walked, and the buckets of bucket.c are
 *         compared with what follows from the definition in bucket.h alone: short buckets by
 *         watching the clock from step to step, days and longer by searching the first instant at
 *         which the clock shows a border, over all stretches of the zone. Every eighth zone and
 *         those with odd rules; all with ALM_TEST_ALL=1 in the environment (the nightly run).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "time/bucket.h"
#include "time/env_for_test.h"

enum { SPANS_MAX = 512, ZONES_MAX = 1000, NAME_MAX_LEN = 64, EACH = 8 };

static const int64_t SECOND = 1000000;
static const int64_t DAY_S = 86400;

/* ------------------------------------------------------------------------------------- zones */

typedef struct zone_walk {
    const alm_zone *zone;
    alm_zone_span span[SPANS_MAX];
    uint32_t n;
} zone_walk;

/* The stretches of a zone from 1969 to 2038. */
static void read_spans(const alm_zone *zone, zone_walk *w)
{
    const int64_t last_s = 68 * 366 * DAY_S;
    w->zone = zone;
    w->n = 0;
    alm_zone_span_at(zone, -366 * DAY_S, &w->span[w->n++]);
    while (w->span[w->n - 1].to_s < last_s) {
        assert_true(w->n < SPANS_MAX);
        alm_zone_span_at(zone, w->span[w->n - 1].to_s, &w->span[w->n]);
        w->n++;
    }
}

static int32_t offset_at(const zone_walk *w, int64_t s)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (s < w->span[i].to_s)
            return w->span[i].offset_s;
    return w->span[w->n - 1].offset_s;
}

/* ---------------------------------------------------------------------------- short buckets */

/* Starts of buckets by watching the clock: a new one begins where the clock shows another bucket,
 * or goes back to the very start of the same. */
static void check_short(env *e, const zone_walk *w, uint32_t change, const char *name, char unit,
                        int64_t count, int64_t stride_s)
{
    alm_bucketer b;
    const alm_bucket_spec spec = {
        .unit = unit, .count = count, .time_unit = ALM_TIME_US, .zone = w->zone};
    assert_int_equal(alm_bucketer_init(&e->cx, 0, &spec, &b), ALM_OK);
    const int64_t at = w->span[change].to_s;
    const bool odd = at % 900 != 0 || w->span[change].offset_s % 900 != 0 ||
                     w->span[change + 1].offset_s % 900 != 0;
    const int64_t step = odd ? 30 : 900; /* divides every change and offset since 1970 */
    const int64_t around = 4 * stride_s + 7200;
    const int64_t lo = at - around, hi = at + around;
    int64_t start = INT64_MIN; /* not known before the first border */
    assert_true(at % step == 0 && w->span[change].offset_s % step == 0);
    for (int64_t t = lo; t < hi; t += step) {
        const int64_t was = t - step + offset_at(w, t - step), now = t + offset_at(w, t);
        const int64_t bucket = now - alm_floor_mod(now, stride_s);
        if (was - alm_floor_mod(was, stride_s) != bucket || (now <= was && now == bucket))
            start = t;
        if (start == INT64_MIN)
            continue;
        const int64_t got = alm_bucket_start(&b, t * SECOND);
        if (got != start * SECOND)
            fail_msg("%s, %lld%c at %lld: starts at %lld, not %lld", name, (long long)count, unit,
                     (long long)t, (long long)(got / SECOND), (long long)start);
        if (alm_bucket_next(&b, t * SECOND) <= t * SECOND)
            fail_msg("%s, %lld%c at %lld: ends before it", name, (long long)count, unit,
                     (long long)t);
    }
}

/* ------------------------------------------------------------------------------ long buckets */

/* The first instant at which the clock shows `local_s` or more. */
static int64_t first_shown(const zone_walk *w, int64_t local_s)
{
    for (uint32_t i = 0; i < w->n; i++) {
        const int64_t t = local_s - w->span[i].offset_s;
        if (t < w->span[i].to_s)
            return ALM_MAX(t, w->span[i].from_s);
    }
    return INT64_MAX;
}

/* Border k: n days from 1970-01-01 (weeks: Monday), or n months. */
static int64_t border_s(char unit, int64_t k)
{
    if (unit == 'M')
        return alm_days_of_month(k) * DAY_S;
    return (unit == 'w' ? 7 * k - 3 : k) * DAY_S;
}

static int64_t number_at(char unit, int64_t local_s)
{
    const int64_t day = alm_floor_div(local_s, DAY_S);
    return unit == 'M' ? alm_month_of_days(day) : unit == 'w' ? alm_floor_div(day + 3, 7) : day;
}

static void check_long(env *e, const zone_walk *w, uint32_t change, const char *name, char unit)
{
    alm_bucketer b;
    const alm_bucket_spec spec = {
        .unit = unit, .count = 1, .time_unit = ALM_TIME_US, .zone = w->zone};
    assert_int_equal(alm_bucketer_init(&e->cx, 0, &spec, &b), ALM_OK);
    const int64_t at = w->span[change].to_s;
    for (int64_t t = at - DAY_S - 1; t < at + DAY_S; t += 1799) { /* odd: all sides */
        int64_t k = number_at(unit, t + offset_at(w, t)) + 2;
        while (first_shown(w, border_s(unit, k)) > t)
            k--;
        int64_t next = k + 1; /* days that a clock jumps over begin and end at the jump */
        const int64_t start = first_shown(w, border_s(unit, k));
        while (first_shown(w, border_s(unit, next)) <= start)
            next++;
        const int64_t got = alm_bucket_start(&b, t * SECOND);
        const int64_t end = alm_bucket_next(&b, t * SECOND);
        if (got != start * SECOND || end != first_shown(w, border_s(unit, next)) * SECOND)
            fail_msg("%s, 1%c at %lld: [%lld, %lld), not [%lld, %lld)", name, unit, (long long)t,
                     (long long)(got / SECOND), (long long)(end / SECOND), (long long)start,
                     (long long)first_shown(w, border_s(unit, next)));
    }
}

/* --------------------------------------------------------------------------------- the walk */

static uint32_t list_zones(char names[ZONES_MAX][NAME_MAX_LEN])
{
    static const char *const odd[] = {
        "Africa/Casablanca",   "Africa/Monrovia", "America/Caracas",   "America/St_Johns",
        "Antarctica/Troll",    "Asia/Kathmandu",  "Asia/Pyongyang",    "Asia/Tehran",
        "Australia/Lord_Howe", "Europe/Dublin",   "Europe/London",     "America/New_York",
        "America/Sao_Paulo",   "Pacific/Apia",    "Pacific/Kiritimati"};
    char line[400];
    uint32_t n = 0, seen = 0;
    const bool all = getenv("ALM_TEST_ALL") != NULL;
    for (size_t i = 0; i < ALM_COUNT(odd); i++)
        (void)snprintf(names[n++], NAME_MAX_LEN, "%s", odd[i]);
    FILE *f = fopen(ALM_ZONE_FILES "tzdata.zi", "r"); /* lines "Z name ..." */
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        const size_t len = strcspn(line + 2, " \n");
        if (line[0] != 'Z' || line[1] != ' ' || len >= NAME_MAX_LEN || n == ZONES_MAX)
            continue;
        if (all || seen % EACH == 0)
            (void)snprintf(names[n++], NAME_MAX_LEN, "%.*s", (int)len, line + 2);
        seen++;
    }
    if (f != NULL)
        (void)fclose(f);
    return n;
}

static void every_change(void **state)
{
    env *e = *state;
    static char names[ZONES_MAX][NAME_MAX_LEN];
    static zone_walk w;
    uint64_t changes = 0;
    if (!alm_zone_files_exist())
        skip();
    const uint32_t n = list_zones(names);
    for (uint32_t z = 0; z < n; z++) {
        const alm_zone *zone;
        assert_int_equal(alm_zone_find(&e->cx, alm_str_of(names[z]), 0, &zone), ALM_OK);
        read_spans(zone, &w);
        for (uint32_t i = 0; i + 1 < w.n; i++) {
            if (w.span[i].to_s < 0)
                continue;
            check_short(e, &w, i, names[z], 'm', 15, 900);
            check_short(e, &w, i, names[z], 'h', 1, 3600);
            check_short(e, &w, i, names[z], 'h', 2, 7200);
            check_short(e, &w, i, names[z], 'h', 6, 21600);
            check_long(e, &w, i, names[z], 'd');
            check_long(e, &w, i, names[z], 'w');
            check_long(e, &w, i, names[z], 'M');
            changes++;
        }
    }
    print_message("%llu changes of %u zones\n", (unsigned long long)changes, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_change)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
