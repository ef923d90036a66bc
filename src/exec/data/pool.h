/* pool.h - heap memory for data of operators, charged to the account of the query and given back at once. */
#ifndef ALM_EXEC_POOL_H
#define ALM_EXEC_POOL_H

#include "base/base.h"

/* Heap memory of one operator on one thread. */
typedef struct alm_pool {
    struct alm_pool_block *first;
    alm_mem *mem;
    const char *who; /* named in the error when the query's limit is reached */
    int64_t bytes;
} alm_pool;

void alm_pool_init(alm_pool *pool, alm_mem *mem, const char *who);
/* `out` is the address of a pointer; 64-byte aligned, not zeroed. */
ALM_NODISCARD alm_status alm_pool_alloc(alm_ctx *cx, alm_pool *pool, size_t bytes, void *out);
ALM_NODISCARD alm_status alm_pool_zero(alm_ctx *cx, alm_pool *pool, size_t bytes, void *out);
/* Room for new_bytes, the first old_bytes kept; *ptr (NULL or of this pool) is replaced. */
ALM_NODISCARD alm_status alm_pool_grow(alm_ctx *cx, alm_pool *pool, void *ptr, size_t old_bytes,
                                       size_t new_bytes);
void alm_pool_free(alm_pool *pool, void *ptr); /* early; NULL is fine */
void alm_pool_deinit(alm_pool *pool);          /* everything */
/* Bytes that may still be taken from the account and those above it, INT64_MAX: no limit. *limit: the
 * limit that is nearest. */
int64_t alm_pool_room(const alm_pool *pool, int64_t *limit);

#endif
