/*
 * pool.h - query threads: run pieces of work in the order they came. Threads are woken, or made, when work
 * waits and none is idle, up to the limit; the system's scheduler shares the cores among them, so
 * that long statements do not hold up short ones. Idle threads above the first end after a while.
 *
 * Owners      Pieces of one owner (a user) take all threads but an eighth, at least one of several: what waits of others passes
 *             those that wait of an owner who has his share. Pieces of nobody (0) take all.
 */
#ifndef ALM_NET_POOL_H
#define ALM_NET_POOL_H

#include "base/base.h"

typedef struct alm_thread_pool alm_thread_pool;

typedef struct alm_thread_pool_item { /* embedded in the caller's struct */
    struct alm_thread_pool_item *next;
    void (*run)(struct alm_thread_pool_item *item);
    uint64_t owner; /* 0: nobody's; stays as it is until the item has run */
} alm_thread_pool_item;

ALM_NODISCARD alm_status alm_thread_pool_new(alm_ctx *cx, uint32_t threads_max, uint32_t processors,
                                             alm_thread_pool **out);
void alm_thread_pool_submit(alm_thread_pool *pool, alm_thread_pool_item *item);
/* Do as many threads run as there may be, so that one more piece has to wait? As of a moment ago. */
bool alm_thread_pool_is_full(alm_thread_pool *pool);
/* Another limit: threads above it end when they have done their piece. */
void alm_thread_pool_limit(alm_thread_pool *pool, uint32_t threads_max);
/* Finishes all work that was submitted, ends the threads. */
void alm_thread_pool_free(alm_thread_pool *pool);

#endif
