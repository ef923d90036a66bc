/* refs.h - counts of references of the objects that versions share. Any thread may change a count. */
#ifndef ALM_STORAGE_REFS_H
#define ALM_STORAGE_REFS_H

#include <stdatomic.h>

#include "base/base.h"

static inline void alm_refs_take(_Atomic uint32_t *refs)
{
    const uint32_t before = atomic_fetch_add_explicit(refs, 1, memory_order_relaxed);
    ALM_ASSERT(before > 0);
}

/* True: that was the last one, and the caller frees the object. */
static inline bool alm_refs_drop(_Atomic uint32_t *refs)
{
    const uint32_t before = atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel);
    ALM_ASSERT(before > 0);
    return before == 1;
}

#endif
