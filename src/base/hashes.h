/*
 * hashes.h - the numbers of a growing list by hash: which elements may equal a new one. Lists of a statement (calls,
 * expressions) are made of what a client wrote, so comparing each with each is no way.
 *
 * Memory      of the arena, three words an element at most. Zero: empty.
 * Threads     as any plain struct.
 */
#ifndef ALM_BASE_HASHES_H
#define ALM_BASE_HASHES_H

#include "base/base.h"

typedef struct alm_hashes {
    uint64_t *hash;  /* of each number */
    uint32_t *slots; /* 1 + number; 0: free */
    uint32_t n, cap; /* slots: 2 * cap, a power of two */
} alm_hashes;

/* Appends: the number is set->n before. */
ALM_NODISCARD alm_status alm_hashes_add(alm_ctx *cx, alm_arena *arena, alm_hashes *set,
                                        uint64_t hash);
/* The numbers with this hash, in ascending order from *at = 0 on; false: there is no further one. */
bool alm_hashes_next(const alm_hashes *set, uint64_t hash, uint32_t *at, uint32_t *number);

#endif
