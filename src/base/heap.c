/* heap.c - memory of the C heap (heap.h). */
#include "base/heap.h"

#include <stdlib.h>
#include <string.h>

alm_status alm_heap_bytes(alm_ctx *cx, size_t bytes, const char *what, void *out)
{
    void *ptr = calloc(1, ALM_MAX(bytes, (size_t)1));
    if (ptr == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for %s (%zu bytes)", what, bytes);
    memcpy(out, &ptr, sizeof ptr);
    return ALM_OK;
}
