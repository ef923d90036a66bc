/*
 * counter.h - counts for others to look at: plain ones, and times by their length.
 *
 * Units       nanoseconds in, and in the sum; the bounds of the buckets are microseconds.
 * Threads     Any thread adds, without order: nothing else hangs on what is counted. A reader may see the sum of
 *             one more than the buckets.
 */
#ifndef ALM_BASE_COUNTER_H
#define ALM_BASE_COUNTER_H

#include <stdatomic.h>

#include "base/base.h"

typedef _Atomic int64_t alm_counter;

static inline void alm_count(alm_counter *counter, int64_t n)
{
    (void)atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static inline int64_t alm_counted(const alm_counter *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

enum { ALM_TIMES_BOUNDS = 18 };

/* How many took up to bound 0, up to bound 1 ...; the last: longer. */
typedef struct alm_times {
    alm_counter buckets[ALM_TIMES_BOUNDS + 1];
    alm_counter sum_ns;
} alm_times;

/* Ascending: 50 us to 100 s. */
extern const int64_t alm_times_bound_us[ALM_TIMES_BOUNDS];
void alm_times_add(alm_times *times, int64_t nanos);

#endif
