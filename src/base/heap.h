/* heap.h - memory of the C heap, for what no arena owns. */
#ifndef ALM_BASE_HEAP_H
#define ALM_BASE_HEAP_H

#include "base/base.h"

/* Zeroed bytes, to be released by free. `out` points to the pointer that receives them. ALM_E_MEMORY names `what` they
 * were for. */
ALM_NODISCARD alm_status alm_heap_bytes(alm_ctx *cx, size_t bytes, const char *what, void *out);

#endif
