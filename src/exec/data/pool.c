/*
 * pool.c - accounted heap memory of operators: a doubly linked list of blocks, so that everything is
 * given back at close whatever happened before. Large blocks go to malloc like small ones (mmap by
 * the allocator), growth moves them with realloc-like copying because of the alignment.
 */
#include <stdlib.h>

#include "exec/data/pool.h"

enum { BLOCK_HEAD = 64 };

struct alm_pool_block {
    struct alm_pool_block *next, *prev;
    size_t bytes;
};
_Static_assert(sizeof(struct alm_pool_block) <= BLOCK_HEAD, "payload stays aligned");

void alm_pool_init(alm_pool *pool, alm_mem *mem, const char *who)
{
    *pool = (alm_pool){.mem = mem, .who = who};
}

alm_status alm_pool_alloc(alm_ctx *cx, alm_pool *pool, size_t bytes, void *out)
{
    const size_t total = (bytes + BLOCK_HEAD + 63) & ~(size_t)63;
    if (bytes > (size_t)INT64_MAX - 256)
        return alm_fail(cx, ALM_E_MEMORY, -1, "%s asks for too much memory", pool->who);
    if (pool->mem != NULL)
        ALM_TRY(alm_mem_charge(cx, pool->mem, (int64_t)total, pool->who));
    struct alm_pool_block *block = aligned_alloc(64, total);
    if (block == NULL) {
        if (pool->mem != NULL)
            alm_mem_release(pool->mem, (int64_t)total);
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory in %s: %zu bytes", pool->who, bytes);
    }
    *block = (struct alm_pool_block){.next = pool->first, .bytes = total};
    if (pool->first != NULL)
        pool->first->prev = block;
    pool->first = block;
    pool->bytes += (int64_t)total;
    void *payload = (char *)block + BLOCK_HEAD;
    memcpy(out, &payload, sizeof payload);
    return ALM_OK;
}

alm_status alm_pool_zero(alm_ctx *cx, alm_pool *pool, size_t bytes, void *out)
{
    void *payload = NULL;
    ALM_TRY(alm_pool_alloc(cx, pool, bytes, &payload));
    memset(payload, 0, bytes);
    memcpy(out, &payload, sizeof payload);
    return ALM_OK;
}

alm_status alm_pool_grow(alm_ctx *cx, alm_pool *pool, void *ptr, size_t old_bytes, size_t new_bytes)
{
    void *from = NULL, *dest = NULL;
    memcpy(&from, ptr, sizeof from);
    ALM_TRY(alm_pool_alloc(cx, pool, new_bytes, &dest));
    if (from != NULL && old_bytes > 0)
        memcpy(dest, from, old_bytes);
    alm_pool_free(pool, from);
    memcpy(ptr, &dest, sizeof dest);
    return ALM_OK;
}

void alm_pool_free(alm_pool *pool, void *ptr)
{
    if (ptr == NULL)
        return;
    struct alm_pool_block *block = (struct alm_pool_block *)(void *)((char *)ptr - BLOCK_HEAD);
    if (block->prev != NULL)
        block->prev->next = block->next;
    else
        pool->first = block->next;
    if (block->next != NULL)
        block->next->prev = block->prev;
    if (pool->mem != NULL)
        alm_mem_release(pool->mem, (int64_t)block->bytes);
    pool->bytes -= (int64_t)block->bytes;
    free(block);
}

void alm_pool_deinit(alm_pool *pool)
{
    while (pool->first != NULL)
        alm_pool_free(pool, (char *)pool->first + BLOCK_HEAD);
}

int64_t alm_pool_room(const alm_pool *pool, int64_t *limit)
{
    return alm_mem_room(pool->mem, limit);
}
