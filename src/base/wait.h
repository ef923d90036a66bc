/* wait.h - waiting for a condition up to a time. */
#ifndef ALM_BASE_WAIT_H
#define ALM_BASE_WAIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Waits for so long at most; false: they are over. By the clock that never jumps, so that a wall clock
 * that is set back does not make the wait last for the time it was set back by. */
bool alm_cond_wait_us(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t micros);
bool alm_cond_wait_ms(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t millis);

#endif
