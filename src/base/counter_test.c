/* counter_test.c - each time lands in the bucket of the least bound that is not below it; sums. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/counter.h"

static void times_land_in_their_bucket(void **state)
{
    (void)state;
    int64_t sum = 0;
    alm_times t = {0};
    for (int i = 0; i < ALM_TIMES_BOUNDS; i++) {
        const int64_t bound_ns = alm_times_bound_us[i] * 1000;
        assert_true(i == 0 || alm_times_bound_us[i] > alm_times_bound_us[i - 1]);
        alm_times_add(&t, bound_ns);
        assert_int_equal(alm_counted(&t.buckets[i]),
                         i == 0 ? 1 : 2); /* beside that of the last bound */
        alm_times_add(&t, bound_ns + 1);
        assert_int_equal(alm_counted(&t.buckets[i + 1]), 1);
        sum += 2 * bound_ns + 1;
    }
    assert_int_equal(alm_counted(&t.sum_ns), sum);
    alm_times_add(&t, -5); /* a clock that stands still may seem to go back by rounding */
    assert_int_equal(alm_counted(&t.buckets[0]), 2);
    assert_int_equal(alm_counted(&t.sum_ns), sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(times_land_in_their_bucket)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
