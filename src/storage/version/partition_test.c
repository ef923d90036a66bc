/*
 * Goal: every timestamp lies in exactly one partition, [floor, next), named by the calendar. Method:
 * edges of units over 800 years, before 1970 too, against the next floor; known names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "storage/version/version.h"

static const int64_t HOUR = INT64_C(3600000000);

static void partitions_tile_time(void **state)
{
    (void)state;
    for (int by = ALM_PART_HOUR; by <= ALM_PART_YEAR; by++) {
        int64_t ts = -400 * 366 * 24 * HOUR;
        for (int i = 0; i < 20000; i++) {
            const int64_t lo = alm_partition_floor((alm_partition_by)by, false, ts);
            const int64_t hi = alm_partition_next((alm_partition_by)by, false, ts);
            assert_true(lo <= ts && ts < hi);
            assert_int_equal(alm_partition_floor((alm_partition_by)by, false, hi - 1), lo);
            assert_int_equal(alm_partition_floor((alm_partition_by)by, false, hi), hi);
            if (ts > -INT64_C(9000000000000000)) /* nanoseconds begin in 1677 */
                assert_int_equal(alm_partition_floor((alm_partition_by)by, true, ts * 1000),
                                 lo * 1000);
            ts = ts + (hi - ts) + (i % 3 ? 0 : (hi - lo) / 2);
            if (ts > INT64_C(9000000000000000))
                break;
        }
    }
    assert_int_equal(alm_partition_floor(ALM_PART_NONE, false, 5), INT64_MIN);
    assert_int_equal(alm_partition_next(ALM_PART_NONE, false, 5), INT64_MAX);
    assert_int_equal(alm_partition_next(ALM_PART_YEAR, true, INT64_MAX), INT64_MAX);
}

static void names(void **state)
{
    (void)state;
    static const struct {
        alm_partition_by by;
        int64_t days, hours;
        const char *name;
    } rows[] = {
        {ALM_PART_HOUR, 20498, 10, "2026-02-14T10"}, {ALM_PART_DAY, 20498, 0, "2026-02-14"},
        {ALM_PART_WEEK, 20498, 0, "2026-W07"},       {ALM_PART_MONTH, 20498, 0, "2026-02"},
        {ALM_PART_YEAR, 20498, 0, "2026"},           {ALM_PART_DAY, -1, 0, "1969-12-31"},
        {ALM_PART_WEEK, 0, 0, "1970-W01"},           {ALM_PART_WEEK, 18628, 0, "2020-W53"},
        {ALM_PART_MONTH, 19782, 0, "2024-02"},       {ALM_PART_NONE, 0, 0, "default"},
    };
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        char name[48];
        const int64_t ts = (rows[i].days * 24 + rows[i].hours) * HOUR + 1;
        for (int ns = 0; ns < 2; ns++) {
            const int64_t bucket = alm_partition_floor(rows[i].by, ns, ns ? ts * 1000 : ts);
            alm_partition_name(rows[i].by, ns, bucket, name, sizeof name);
            assert_string_equal(name, rows[i].name);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(partitions_tile_time),
                                       cmocka_unit_test(names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
