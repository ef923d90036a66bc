/* hashes.c - see hashes.h: linear probing, at most half full, nothing is ever taken out. */
#include "base/hashes.h"

enum { CAP_LEAST = 8 };

/* Equal hashes stand behind each other in their order: the next free slot is behind all of them. */
static void hashes_put(alm_hashes *set, uint32_t number)
{
    const uint32_t mask = 2 * set->cap - 1;
    uint32_t i = (uint32_t)set->hash[number] & mask;
    while (set->slots[i] != 0)
        i = (i + 1) & mask;
    set->slots[i] = number + 1;
}

static alm_status hashes_grow(alm_ctx *cx, alm_arena *arena, alm_hashes *set)
{
    alm_hashes more = {.n = set->n, .cap = set->cap == 0 ? CAP_LEAST : 2 * set->cap};
    ALM_TRY(ALM_NEWN(cx, arena, more.cap, &more.hash));
    ALM_TRY(ALM_NEWN(cx, arena, 2 * (size_t)more.cap, &more.slots));
    for (uint32_t k = 0; k < set->n; k++) {
        more.hash[k] = set->hash[k];
        hashes_put(&more, k);
    }
    *set = more;
    return ALM_OK;
}

alm_status alm_hashes_add(alm_ctx *cx, alm_arena *arena, alm_hashes *set, uint64_t hash)
{
    if (set->n == set->cap)
        ALM_TRY(hashes_grow(cx, arena, set));
    ALM_ASSERT(set->n < set->cap);
    set->hash[set->n] = hash;
    hashes_put(set, set->n++);
    return ALM_OK;
}

bool alm_hashes_next(const alm_hashes *set, uint64_t hash, uint32_t *at, uint32_t *number)
{
    if (set->cap == 0)
        return false;
    const uint32_t mask = 2 * set->cap - 1;
    for (;; ++*at) { /* a free slot ends it: half of them are */
        const uint32_t slot = set->slots[((uint32_t)hash + *at) & mask];
        if (slot == 0)
            return false;
        if (set->hash[slot - 1] != hash)
            continue;
        *number = slot - 1;
        ++*at;
        return true;
    }
}
