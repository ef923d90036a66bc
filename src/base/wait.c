/* wait.c - waiting for a condition up to a time. */
#include "base/wait.h"

#include <time.h>

bool alm_cond_wait_ms(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t millis)
{
    return alm_cond_wait_us(cond, lock, millis * 1000);
}

bool alm_cond_wait_us(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t micros)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    const int64_t nanos = until.tv_nsec + micros % 1000000 * 1000;
    until.tv_sec += micros / 1000000 + nanos / 1000000000;
    until.tv_nsec = nanos % 1000000000;
    return pthread_cond_clockwait(cond, lock, CLOCK_MONOTONIC, &until) == 0;
}
