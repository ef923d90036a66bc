/*
 * flush.h - rows of heads become parts.
 */
#ifndef ALM_STORAGE_FLUSH_H
#define ALM_STORAGE_FLUSH_H

#include "storage/write/commit.h"

/* Writes the whole head of the table to parts. Caller holds MAINT. An update calls it first (with
 * ALONE held too), so that all its rows lie in parts. */
ALM_NODISCARD alm_status alm_head_flush(alm_ctx *cx, alm_storage *storage, uint64_t table_id);

/* A request in memory: the lanes of the table (request->arg: uint64_t, its id) are frozen, if there are any and none is. */
ALM_NODISCARD alm_status alm_prepare_freeze(alm_ctx *cx, alm_request *request, alm_build *build);
/* Writes the frozen lanes of a version as parts, by partition; nothing is changed yet. The caller
 * releases the parts and frees the list. */
ALM_NODISCARD alm_status alm_lanes_to_parts(alm_ctx *cx, alm_storage *storage,
                                            const alm_version *version, alm_part_ref ***parts,
                                            uint32_t *n);

/* Flushes the largest heads until all together hold at most `keep_bytes`. */
ALM_NODISCARD alm_status alm_heads_flush(alm_ctx *cx, alm_storage *storage, int64_t keep_bytes);

#endif
