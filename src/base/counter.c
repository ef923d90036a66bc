/* counter.c - see counter.h. */
#include "base/counter.h"

const int64_t alm_times_bound_us[ALM_TIMES_BOUNDS] = {
    50,    100,    250,    500,    1000,    2500,    5000,     10000,    25000,
    50000, 100000, 250000, 500000, 1000000, 2500000, 10000000, 30000000, 100000000};

void alm_times_add(alm_times *times, int64_t nanos)
{
    int i = 0;
    while (i < ALM_TIMES_BOUNDS && nanos > alm_times_bound_us[i] * 1000)
        i++;
    alm_count(&times->buckets[i], 1);
    alm_count(&times->sum_ns, ALM_MAX(nanos, 0));
}
