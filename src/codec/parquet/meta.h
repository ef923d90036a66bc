/*
 * meta.h - metadata of Parquet from bytes. Errors are left to the caller, who knows the file: NULL, or the
 * reason why the bytes are no such metadata.
 *
 * Ownership   Arrays come from `arena`, texts are slices of the input.
 * Errors      The status is that of memory only; *bad is the reason.
 */
#ifndef ALM_CODEC_PARQUET_META_H
#define ALM_CODEC_PARQUET_META_H

#include "codec/parquet/format.h"

ALM_NODISCARD alm_status alm_pq_read_file_meta(alm_ctx *cx, alm_arena *arena, alm_str bytes,
                                               alm_pq_file_meta *out, const char **bad);
ALM_NODISCARD alm_status alm_pq_read_offset_index(alm_ctx *cx, alm_arena *arena, alm_str bytes,
                                                  alm_pq_offset_index *out, const char **bad);
ALM_NODISCARD alm_status alm_pq_read_column_index(alm_ctx *cx, alm_arena *arena, alm_str bytes,
                                                  alm_pq_column_index *out, const char **bad);
/* *bytes: of the header itself; what follows it is the page. */
const char *alm_pq_read_page_header(alm_str in, alm_pq_page_header *out, size_t *bytes);
/* The header of a bloom filter: split blocks, XXH64, not compressed; *filter_bytes follow it. */
const char *alm_pq_read_bloom_header(alm_str in, size_t *bytes, int32_t *filter_bytes);

#endif
