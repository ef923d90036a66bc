/*
 * Goal    Interval texts mean what the recorded cases say, the newer forms what their grammar says;
 *         bad texts are refused in the recorded words; sets of ranges obey set algebra.
 * Method  Ranges written out as texts "lo..hi"; algebra against membership of each point.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "time/env_for_test.h"
#include "time/interval.h"
#include "time/zone.h"

#define NOW_NS INT64_C(1707312896789012345) /* Wednesday 2024-02-07T13:34:56.789012345Z */

static void put(char *out, size_t size, const alm_time_ranges *r, alm_time_unit unit)
{
    size_t n = 0;
    out[0] = 0;
    for (uint32_t i = 0; i < r->n && n + 100 < size; i++) {
        char lo[ALM_TIME_TEXT_MAX + 1], hi[ALM_TIME_TEXT_MAX + 1];
        lo[alm_time_format(r->items[i].lo, unit, ALM_TIME_ISO, lo)] = 0;
        hi[alm_time_format(r->items[i].hi, unit, ALM_TIME_ISO, hi)] = 0;
        n += (size_t)snprintf(out + n, size - n, "%s%s..%s", i > 0 ? " " : "", lo, hi);
    }
}

static void check(env *e, const char *text, const char *expected)
{
    alm_time_ranges r;
    char got[4000];
    if (alm_interval_parse(&e->cx, &e->arena, alm_str_of(text), ALM_TIME_MS, NOW_NS, 0, &r) !=
        ALM_OK)
        fail_msg("'%s': %s", text, e->cx.err.msg);
    put(got, sizeof(got), &r, ALM_TIME_MS);
    if (strcmp(got, expected) != 0)
        fail_msg("'%s':\n%s\nnot\n%s", text, got, expected);
}

static void prefixes_and_lengths(void **state)
{
    env *e = *state;
    check(e, "2022", "2022-01-01T00:00:00.000Z..2022-12-31T23:59:59.999Z");
    check(e, "2022-02", "2022-02-01T00:00:00.000Z..2022-02-28T23:59:59.999Z");
    check(e, "2022-02-28", "2022-02-28T00:00:00.000Z..2022-02-28T23:59:59.999Z");
    check(e, "2022-02-28T12", "2022-02-28T12:00:00.000Z..2022-02-28T12:59:59.999Z");
    check(e, "2022-02-28T12:30", "2022-02-28T12:30:00.000Z..2022-02-28T12:30:59.999Z");
    check(e, "2022-02-28T12:30:05", "2022-02-28T12:30:05.000Z..2022-02-28T12:30:05.999Z");
    check(e, "2022-02-28T12:30:05.1", "2022-02-28T12:30:05.100Z..2022-02-28T12:30:05.199Z");
    check(e, "2022-02-28T12:30:05.123000", "2022-02-28T12:30:05.123Z..2022-02-28T12:30:05.123Z");
    /* no millisecond lies in that microsecond, as none is equal to it */
    check(e, "2022-02-28T12:30:05.123456", "");
    check(e, "2022-02-28T12:30:05.1239..2022-02-28T12:30:06",
          "2022-02-28T12:30:05.124Z..2022-02-28T12:30:06.999Z");
    check(e, "2022-02-28T12+02:00", "2022-02-28T10:00:00.000Z..2022-02-28T10:59:59.999Z");
    check(e, "2022-02-01;1d", "2022-02-01T00:00:00.000Z..2022-02-02T23:59:59.999Z");
    check(e, "2022-02;1M", "2022-02-01T00:00:00.000Z..2022-03-28T23:59:59.999Z");
    check(e, "2022-02;1y", "2022-02-01T00:00:00.000Z..2023-02-28T23:59:59.999Z");
    check(e, "2022-02;-3d", "2022-02-01T00:00:00.000Z..2022-02-25T23:59:59.999Z");
    check(e, "2022-02-27T10:00;2h", "2022-02-27T10:00:00.000Z..2022-02-27T12:00:59.999Z");
    check(e, "2022-02-27T10:00;-2h", "");
}

static void repetitions(void **state)
{
    env *e = *state;
    check(e, "2022-01-01T06;5h;7d;2",
          "2022-01-01T06:00:00.000Z..2022-01-01T11:59:59.999Z "
          "2022-01-08T06:00:00.000Z..2022-01-08T11:59:59.999Z");
    check(e, "2022-03-01T12;1h;-1d;2",
          "2022-02-28T12:00:00.000Z..2022-02-28T13:59:59.999Z "
          "2022-03-01T12:00:00.000Z..2022-03-01T13:59:59.999Z");
    check(e, "2022-01-31T00:00;7h;1M;3",
          "2022-01-31T00:00:00.000Z..2022-01-31T07:00:59.999Z "
          "2022-02-28T00:00:00.000Z..2022-02-28T07:00:59.999Z "
          "2022-03-31T00:00:00.000Z..2022-03-31T07:00:59.999Z");
    check(e, "2022-01-01;1h;1d;7", "2022-01-01T00:00:00.000Z..2022-01-08T00:59:59.999Z");
    check(e, "2022-01-01;0s;12h;4", "2022-01-01T00:00:00.000Z..2022-01-03T11:59:59.999Z");
}

static void newer_forms(void **state)
{
    env *e = *state;
    check(e, "$today", "2024-02-07T00:00:00.000Z..2024-02-07T23:59:59.999Z");
    check(e, "$yesterday", "2024-02-06T00:00:00.000Z..2024-02-06T23:59:59.999Z");
    check(e, "$now - 1h..$now", "2024-02-07T12:34:56.789Z..2024-02-07T13:34:56.789Z");
    check(e, "$today-5bd", "2024-01-31T00:00:00.000Z..2024-01-31T23:59:59.999Z");
    check(e, "[$today-2bd..$today-1bd]", "2024-02-05T00:00:00.000Z..2024-02-06T23:59:59.999Z");
    check(e, "2024-01-[10,12]",
          "2024-01-10T00:00:00.000Z..2024-01-10T23:59:59.999Z "
          "2024-01-12T00:00:00.000Z..2024-01-12T23:59:59.999Z");
    check(e, "2024-01-[9..11]", "2024-01-09T00:00:00.000Z..2024-01-11T23:59:59.999Z");
    check(e, "[2024-01-15, 2024-03-20]T09:30",
          "2024-01-15T09:30:00.000Z..2024-01-15T09:30:59.999Z "
          "2024-03-20T09:30:00.000Z..2024-03-20T09:30:59.999Z");
    check(e, "2024-01-15T[09:30,14]",
          "2024-01-15T09:30:00.000Z..2024-01-15T09:30:59.999Z "
          "2024-01-15T14:00:00.000Z..2024-01-15T14:59:59.999Z");
    check(e, "2024-01-05..2024-01-08", "2024-01-05T00:00:00.000Z..2024-01-08T23:59:59.999Z");
    check(e, "2024-01-[05..08]#wd",
          "2024-01-05T00:00:00.000Z..2024-01-05T23:59:59.999Z "
          "2024-01-08T00:00:00.000Z..2024-01-08T23:59:59.999Z");
    if (!alm_zone_files_exist())
        return;
    check(e, "2024-03-31@Europe/Berlin", "2024-03-30T23:00:00.000Z..2024-03-31T21:59:59.999Z");
    check(e, "[2024-03-29..2024-04-01]T09:30@Europe/Berlin#workday;6h30m",
          "2024-03-29T08:30:00.000Z..2024-03-29T14:59:59.999Z "
          "2024-04-01T07:30:00.000Z..2024-04-01T13:59:59.999Z");
    /* a zone for each item; the day filter asks the local day; a length is elapsed time */
    check(e, "2024-01-15T[09:30@America/New_York,08:00@Europe/London,09:00@+09:00];1h",
          "2024-01-15T00:00:00.000Z..2024-01-15T00:59:59.999Z "
          "2024-01-15T08:00:00.000Z..2024-01-15T08:59:59.999Z "
          "2024-01-15T14:30:00.000Z..2024-01-15T15:29:59.999Z");
    check(e, "[2024-01-15@Europe/London,2024-07-15@Europe/London]T08:00",
          "2024-01-15T08:00:00.000Z..2024-01-15T08:00:59.999Z "
          "2024-07-15T07:00:00.000Z..2024-07-15T07:00:59.999Z");
    check(e, "2024-01-[05..08]T02@Asia/Tokyo#Mon;1h",
          "2024-01-07T17:00:00.000Z..2024-01-07T17:59:59.999Z");
    check(e, "2024-03-30T22@Europe/Berlin;8h",
          "2024-03-30T21:00:00.000Z..2024-03-31T04:59:59.999Z");
    check(e, "$today@Asia/Tokyo", "2024-02-06T15:00:00.000Z..2024-02-07T14:59:59.999Z");
    check(e, "[$now-2h..$now]@Asia/Tokyo", "2024-02-07T11:34:56.789Z..2024-02-07T13:34:56.789Z");
    check(e, "$today..$now@Asia/Tokyo", "2024-02-06T15:00:00.000Z..2024-02-07T13:34:56.789Z");
}

static void lengths_of_newer_forms(void **state)
{
    env *e = *state;
    check(e, "2024-01-[10,15]T10:30;1h",
          "2024-01-10T10:30:00.000Z..2024-01-10T11:29:59.999Z "
          "2024-01-15T10:30:00.000Z..2024-01-15T11:29:59.999Z");
    check(e, "2024-01-15T[09:00,10:30];2h", "2024-01-15T09:00:00.000Z..2024-01-15T12:29:59.999Z");
    check(e, "2024-01-15T09:30:00;1s500T", "2024-01-15T09:30:00.000Z..2024-01-15T09:30:01.499Z");
    check(e, "2024-01-15T09:30;6h30m", "2024-01-15T09:30:00.000Z..2024-01-15T15:59:59.999Z");
    check(e, "$now;1h", "2024-02-07T13:34:56.789Z..2024-02-07T14:34:56.788Z");
    check(e, "[$now - 2h, $now];5m",
          "2024-02-07T11:34:56.789Z..2024-02-07T11:39:56.788Z "
          "2024-02-07T13:34:56.789Z..2024-02-07T13:39:56.788Z");
    check(e, "$todayT09:30;30m", "2024-02-07T09:30:00.000Z..2024-02-07T09:59:59.999Z");
    check(e, "$TODAY + 1dT[09,14]:30;1m",
          "2024-02-08T09:30:00.000Z..2024-02-08T09:30:59.999Z "
          "2024-02-08T14:30:00.000Z..2024-02-08T14:30:59.999Z");
    check(e, "2024-01-[15]T10;1h;1d;2",
          "2024-01-15T10:00:00.000Z..2024-01-15T10:59:59.999Z "
          "2024-01-16T10:00:00.000Z..2024-01-16T10:59:59.999Z");
    check(e, "2024-01-[15]T10;0s", "2024-01-15T10:00:00.000Z..2024-01-15T10:59:59.999Z");
    check(e, "[$now - 1h..$now];1h", "2024-02-07T12:34:56.789Z..2024-02-07T14:34:56.789Z");
}

static void coarse_dates(void **state)
{
    env *e = *state;
    check(e, "[2024-02]", "2024-02-01T00:00:00.000Z..2024-02-29T23:59:59.999Z");
    check(e, "2024-[01..03]", "2024-01-01T00:00:00.000Z..2024-03-31T23:59:59.999Z");
    check(e, "[2024-02-28..2024-03-01]T09:30;1m",
          "2024-02-28T09:30:00.000Z..2024-02-28T09:30:59.999Z "
          "2024-02-29T09:30:00.000Z..2024-02-29T09:30:59.999Z "
          "2024-03-01T09:30:00.000Z..2024-03-01T09:30:59.999Z");
    check(e, "[2024-12-31,2025-01-[04..05]]T10;1h",
          "2024-12-31T10:00:00.000Z..2024-12-31T10:59:59.999Z "
          "2025-01-04T10:00:00.000Z..2025-01-04T10:59:59.999Z "
          "2025-01-05T10:00:00.000Z..2025-01-05T10:59:59.999Z");
    check(e, "2024-[01,04,07,10]-[01..07]T02:00#Sunday;6h",
          "2024-01-07T02:00:00.000Z..2024-01-07T07:59:59.999Z "
          "2024-04-07T02:00:00.000Z..2024-04-07T07:59:59.999Z "
          "2024-07-07T02:00:00.000Z..2024-07-07T07:59:59.999Z "
          "2024-10-06T02:00:00.000Z..2024-10-06T07:59:59.999Z");
    static const struct {
        const char *text;
        uint32_t n;
    } counts[] = {{"2024-02T09:30", 29},
                  {"[2024-02];6h30m", 29},
                  {"2023-02;6h30m", 28},
                  {"2100-02;6h30m", 28},
                  {"[2024];6h30m", 366},
                  {"2024T09:30", 366},
                  {"[2024]T09:30#workday;6h30m", 262},
                  {"2024-[01..03]T09:30", 91},
                  {"2024-[01..02];6h30m", 60},
                  {"[2024-01-15, 2024-02]T09:30", 30},
                  {"[2024-02]T[09:30,14:00]", 58},
                  {"[2024-01]#Mon,Wed,Fri", 14},
                  {"2024-W[01..52]-1T09:00;1h", 52},
                  {"2024-W[01..04]-[1,5]", 8},
                  {"2024-W01T10", 7}};
    for (size_t i = 0; i < ALM_COUNT(counts); i++) {
        alm_time_ranges r;
        assert_int_equal(alm_interval_parse(&e->cx, &e->arena, alm_str_of(counts[i].text),
                                            ALM_TIME_US, NOW_NS, 0, &r),
                         ALM_OK);
        if (r.n != counts[i].n)
            fail_msg("'%s': %u ranges, not %u", counts[i].text, r.n, counts[i].n);
    }
}

static void weeks(void **state)
{
    env *e = *state;
    check(e, "2024-W01", "2024-01-01T00:00:00.000Z..2024-01-07T23:59:59.999Z");
    check(e, "2026-W01", "2025-12-29T00:00:00.000Z..2026-01-04T23:59:59.999Z");
    check(e, "2020-W53-7", "2021-01-03T00:00:00.000Z..2021-01-03T23:59:59.999Z");
    check(e, "2024-W01-5T09:00", "2024-01-05T09:00:00.000Z..2024-01-05T09:00:59.999Z");
    check(e, "2024-W[01..04]", "2024-01-01T00:00:00.000Z..2024-01-28T23:59:59.999Z");
    check(e, "2024-W02-[1..5]", "2024-01-08T00:00:00.000Z..2024-01-12T23:59:59.999Z");
    check(e, "2024-W02#weekend", "2024-01-13T00:00:00.000Z..2024-01-14T23:59:59.999Z");
}

static void business_days(void **state)
{
    env *e = *state;
    check(e, "$today..$today + 3bd",
          "2024-02-07T00:00:00.000Z..2024-02-09T23:59:59.999Z "
          "2024-02-12T00:00:00.000Z..2024-02-12T23:59:59.999Z");
    check(e, "$today + 12bd", "2024-02-23T00:00:00.000Z..2024-02-23T23:59:59.999Z");
    check(e, "$today + 3d + 1bd", "2024-02-12T00:00:00.000Z..2024-02-12T23:59:59.999Z");
    check(e, "$today + 3d - 6bd", "2024-02-02T00:00:00.000Z..2024-02-02T23:59:59.999Z");
    check(e, "$today + 1M - 1y", "2023-03-07T00:00:00.000Z..2023-03-07T23:59:59.999Z");
    check(e, "$now - 500T..$now", "2024-02-07T13:34:56.289Z..2024-02-07T13:34:56.789Z");
}

static void recorded_errors(void **state)
{
    env *e = *state;
    static const char *const rows[][2] = {
        {"garbage", "Invalid date"},
        {"", "Invalid date"},
        {"2022-13", "Invalid date"},
        {"2022-02-30", "Invalid date"},
        {"2022-01-01T24", "Invalid date"},
        {"2022-01-01T10:60", "Invalid date"},
        {"2022-01-01T10:00:61", "Invalid date"},
        {"22-01-01", "Invalid date"},
        {"2022-1-1", "Invalid date"},
        {"2022/01/01", "Invalid date"},
        {"2022-01-01;", "Range not a number"},
        {"2022-01-01;1x", "Invalid date"},
        {"2022-01-01;d", "Range not a number"},
        {"2022-01-01;1", "Range not a number"},
        {"2022-01-01;1d;1d", "Invalid interval format"},
        {"2022-01-01;1d;1x;3", "Unknown period: x at 1"},
        {"2022-01-01;1d;1d;x", "Count not a number"},
        {"2022-01-01;1d;1d;3;4", "Invalid interval format"},
        {"2022-01-01;1d;1d;9999999", "interval has more than 1000000 ranges"},
        {"2022-01-[10", "Unclosed '[' in interval"},
        {"2022-01-[]", "Empty bracket expansion"},
        {"2022-01-[10,]", "Empty bracket expansion"},
        {"2022-01-[15..10]", "Range must be ascending: 15..10"},
        {"2022-01-01T[10][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1]",
         "interval has more than 16 brackets"},
        {"2022-W54", "Invalid date"},
        {"2022-W53", "Invalid date"},
        {"2022-W01-8", "Invalid date"},
        {"2022-W01-0", "Invalid date"},
        {"[$nowT10]", "Invalid date"},
        {"$today + 1x", "Invalid date"},
        {"2022-01-[1..999999999]", "Invalid date"},
        {"$never", "Unknown date variable: $never"},
        {"2022-01-01T06@Mars/Olympus", "invalid timezone: Mars/Olympus"},
        {"2022-01-01#never", "Invalid day name: never"},
    };
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        alm_time_ranges r;
        alm_error_clear(&e->cx);
        assert_int_not_equal(alm_interval_parse(&e->cx, &e->arena, alm_str_of(rows[i][0]),
                                                ALM_TIME_US, NOW_NS, 32, &r),
                             ALM_OK);
        if (strcmp(e->cx.err.msg, rows[i][1]) != 0)
            fail_msg("'%s': %s", rows[i][0], e->cx.err.msg);
        assert_int_equal(e->cx.err.sql_pos, 32);
    }
    alm_error_clear(&e->cx);
}

static void times_beyond_the_unit(void **state)
{
    env *e = *state;
    alm_time_ranges r;
    assert_int_equal(
        alm_interval_parse(&e->cx, &e->arena, ALM_STR("3000"), ALM_TIME_NS, NOW_NS, 0, &r), ALM_OK);
    assert_int_equal(r.n, 0);
    assert_int_equal(
        alm_interval_parse(&e->cx, &e->arena, ALM_STR("2262;5y"), ALM_TIME_NS, NOW_NS, 0, &r),
        ALM_OK);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.items[0].hi, INT64_MAX);
    /* as much of it as there is, counted from where it begins */
    static const struct {
        const char *text;
        int64_t lo, hi;
    } parts[] = {{"1677", INT64_MIN + 1, -9214560000000000001},
                 {"2262", 9214646400000000000, INT64_MAX},
                 {"1600;400y", INT64_MIN + 1, 978307199999999999},
                 {"0001..9999", INT64_MIN + 1, INT64_MAX},
                 {"1577;1y;100y;2", INT64_MIN + 1, -9183024000000000001},
                 {"2262-04-11T23:47:16.854775807Z", INT64_MAX, INT64_MAX},
                 {"2262-04-11T23:47:16.854775807Z;1d", INT64_MAX, INT64_MAX},
                 {"1677-09-21T00:12:43.145224193Z", INT64_MIN + 1, INT64_MIN + 1},
                 {"2262-W15", 9222940800000000000, INT64_MAX}};
    for (size_t i = 0; i < ALM_COUNT(parts); i++) {
        assert_int_equal(alm_interval_parse(&e->cx, &e->arena, alm_str_of(parts[i].text),
                                            ALM_TIME_NS, NOW_NS, 0, &r),
                         ALM_OK);
        assert_int_equal(r.n, 1);
        assert_int_equal(r.items[0].lo, parts[i].lo);
        assert_int_equal(r.items[0].hi, parts[i].hi);
    }
    /* finer than the unit: no time of it lies there */
    assert_int_equal(alm_interval_parse(&e->cx, &e->arena, ALM_STR("2024-01-01T00:00:00.0000005"),
                                        ALM_TIME_US, NOW_NS, 0, &r),
                     ALM_OK);
    assert_int_equal(r.n, 0);
}

/* Sets over 0..15 as bits; ranges to bits. */
static uint32_t bits_of(const alm_time_ranges *r)
{
    uint32_t bits = 0;
    for (int64_t t = 0; t < 16; t++) {
        uint8_t in;
        alm_ranges_contain(r, &t, 1, &in);
        bits |= (uint32_t)in << t;
    }
    return bits;
}

static void from_bits(uint32_t bits, alm_time_range *items, alm_time_ranges *out)
{
    uint32_t n = 0;
    for (int64_t t = 15; t >= 0; t--) /* backwards: to be sorted and merged */
        if (bits >> t & 1)
            items[n++] = (alm_time_range){t, t};
    *out = (alm_time_ranges){items, alm_ranges_normalise(items, n)};
}

static void algebra(void **state)
{
    env *e = *state;
    uint32_t seed = 1;
    for (int32_t round = 0; round < 2000; round++) {
        alm_time_range room_a[16], room_b[16];
        alm_time_ranges a, b, out;
        seed = seed * 1664525u + 1013904223u;
        const uint32_t x = seed >> 16, y = (seed * 69069u + 1) >> 16;
        from_bits(x, room_a, &a);
        from_bits(y, room_b, &b);
        assert_int_equal(bits_of(&a), x);
        assert_int_equal(alm_ranges_intersect(&e->cx, &e->arena, &a, &b, &out), ALM_OK);
        assert_int_equal(bits_of(&out), x & y);
        assert_int_equal(alm_ranges_union(&e->cx, &e->arena, &a, &b, &out), ALM_OK);
        assert_int_equal(bits_of(&out), x | y);
        for (uint32_t i = 1; i < out.n; i++)
            assert_true(out.items[i].lo > out.items[i - 1].hi + 1);
        assert_int_equal(alm_ranges_complement(&e->cx, &e->arena, &a, &out), ALM_OK);
        assert_int_equal(bits_of(&out), ~x & 0xffff);
        alm_arena_reset(&e->arena);
    }
    alm_time_ranges all, none = {NULL, 0};
    uint8_t in;
    const int64_t null = ALM_TS_NULL;
    assert_int_equal(alm_ranges_complement(&e->cx, &e->arena, &none, &all), ALM_OK);
    assert_int_equal(all.n, 1);
    assert_int_equal(all.items[0].hi, INT64_MAX);
    alm_ranges_contain(&all, &null, 1, &in);
    assert_int_equal(in, 0);
    assert_int_equal(alm_ranges_complement(&e->cx, &e->arena, &all, &none), ALM_OK);
    assert_int_equal(none.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(prefixes_and_lengths),
                                       cmocka_unit_test(repetitions),
                                       cmocka_unit_test(newer_forms),
                                       cmocka_unit_test(recorded_errors),
                                       cmocka_unit_test(lengths_of_newer_forms),
                                       cmocka_unit_test(coarse_dates),
                                       cmocka_unit_test(weeks),
                                       cmocka_unit_test(business_days),
                                       cmocka_unit_test(times_beyond_the_unit),
                                       cmocka_unit_test(algebra)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
