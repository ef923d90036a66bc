/*
 * ranges.h - finds what an address belongs to, also from a signal handler.
 *
 * Shape       Ranges of addresses that do not overlap, each with its owner. They lie sorted in leaves of
 *             ALM_RANGES_LEAF, and the leaves in one array, so that a search is two bisections.
 * Threads     One writer at a time, by a lock in here. Who searches takes no lock: it looks at a number that is odd
 *             while something changes, and searches again when the number has changed (a sequence lock). Leaves and
 *             outgrown arrays are never freed, so that a search that comes too late reads old entries and no other
 *             memory.
 * Signals     alm_ranges_find reads atomics and yields the processor; nothing else. A thread that changes ranges
 *             must not fault at an address that is searched for: it would wait for itself.
 */
#ifndef ALM_IO_RANGES_H
#define ALM_IO_RANGES_H

#include <pthread.h>

#include "base/base.h"

enum { ALM_RANGES_LEAF = 256 };

typedef struct alm_ranges {
    pthread_mutex_t lock;
    _Atomic uint32_t changes; /* odd: one is under way */
    _Atomic(struct alm_ranges_top *) top;
    struct alm_ranges_leaf *spare;
} alm_ranges;

#define ALM_RANGES_INIT {.lock = PTHREAD_MUTEX_INITIALIZER}

/* False: there is no memory for one more. */
ALM_NODISCARD bool alm_ranges_add(alm_ranges *ranges, const void *ptr, size_t bytes, void *owner);
/* The range that begins there, which must be known. */
void alm_ranges_remove(alm_ranges *ranges, const void *ptr);
/* The owner of the address, NULL: nobody. */
void *alm_ranges_find(alm_ranges *ranges, const void *ptr);
/* The owner of the first range that begins in [at, at + bytes), NULL: there is none. */
void *alm_ranges_first(alm_ranges *ranges, const void *ptr, size_t bytes);
/* Frees everything; for tests. */
void alm_ranges_deinit(alm_ranges *ranges);

#endif
