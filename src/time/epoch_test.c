/* epoch_test.c - units by magnitude, and numbers of a unit as ticks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "time/epoch.h"

static void test_guess(void **state)
{
    (void)state;
    static const struct {
        int64_t least, greatest;
        alm_epoch want;
    } cases[] = {{1700000000, 1700000001, ALM_EPOCH_S},
                 {1700000000000, 1800000000000, ALM_EPOCH_MS},
                 {1700000000000000, 1700000000000000, ALM_EPOCH_US},
                 {1700000000000000000, 1700000000000000001, ALM_EPOCH_NS},
                 {20231114, 20240229, ALM_EPOCH_DAYS},
                 {20231314, 20231315, ALM_EPOCH_NONE},
                 {1, 1000, ALM_EPOCH_NONE},
                 {1000, 1700000000, ALM_EPOCH_NONE},
                 {1700000000, 1700000000000, ALM_EPOCH_NONE},
                 {-5, 5, ALM_EPOCH_NONE},
                 {INT64_MAX, INT64_MIN, ALM_EPOCH_NONE},
                 {INT64_MIN, INT64_MAX, ALM_EPOCH_NONE}};
    for (size_t i = 0; i < ALM_COUNT(cases); i++)
        assert_int_equal(alm_epoch_guess(cases[i].least, cases[i].greatest), cases[i].want);
}

static void test_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        alm_epoch unit;
        alm_time_unit ticks;
        bool good;
        int64_t want;
    } cases[] = {{"1700000000", ALM_EPOCH_S, ALM_TIME_US, true, 1700000000000000},
                 {"1700000000.25", ALM_EPOCH_S, ALM_TIME_US, true, 1700000000250000},
                 {"-1.5", ALM_EPOCH_S, ALM_TIME_MS, true, -1500},
                 {"-0.0005", ALM_EPOCH_S, ALM_TIME_MS, true, -1},
                 {"1.7", ALM_EPOCH_MS, ALM_TIME_US, true, 1700},
                 {"1700000000123456789", ALM_EPOCH_NS, ALM_TIME_US, true, 1700000000123456},
                 {"1700000000123456789", ALM_EPOCH_NS, ALM_TIME_NS, true, 1700000000123456789},
                 {"-1", ALM_EPOCH_NS, ALM_TIME_US, true, -1},
                 {"1700000000123456789", ALM_EPOCH_US, ALM_TIME_NS, false, 0},
                 {"9223372036854775807", ALM_EPOCH_S, ALM_TIME_MS, false, 0},
                 {"1.", ALM_EPOCH_S, ALM_TIME_US, false, 0},
                 {"1.x", ALM_EPOCH_S, ALM_TIME_US, false, 0},
                 {".5", ALM_EPOCH_S, ALM_TIME_US, false, 0},
                 {"1e9", ALM_EPOCH_S, ALM_TIME_US, false, 0},
                 {"2024-01-01", ALM_EPOCH_S, ALM_TIME_US, false, 0}};
    for (size_t i = 0; i < ALM_COUNT(cases); i++) {
        int64_t got = 0;
        const bool good =
            alm_epoch_read(alm_str_of(cases[i].text), cases[i].unit, cases[i].ticks, &got);
        if (good != cases[i].good || (good && got != cases[i].want))
            fail_msg("%s: %d %lld", cases[i].text, good, (long long)got);
    }
}

static void test_names(void **state)
{
    (void)state;
    for (alm_epoch unit = ALM_EPOCH_S; unit <= ALM_EPOCH_NS; unit++)
        assert_int_equal(alm_epoch_of(alm_str_of(alm_epoch_text(unit))), unit);
    assert_int_equal(alm_epoch_of(ALM_STR("m")), ALM_EPOCH_NONE);
    assert_int_equal(alm_epoch_of(ALM_STR("yyyyMMdd")), ALM_EPOCH_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_guess), cmocka_unit_test(test_read),
                                       cmocka_unit_test(test_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
