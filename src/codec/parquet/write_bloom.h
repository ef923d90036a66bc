/*
 * write_bloom.h - split-block bloom filters: may this value be in the row group? Private to codec/parquet.
 *
 * Size        Some 10 bits a value, in powers of two: one in a hundred answers of "may be" is wrong. At most 1 MiB.
 * Source      https://parquet.apache.org/docs/file-format/bloomfilter/
 */
#ifndef ALM_CODEC_PARQUET_WRITE_BLOOM_H
#define ALM_CODEC_PARQUET_WRITE_BLOOM_H

#include "base/base.h"

/* Header and filter of n values of `width` bytes, appended to `out`. */
ALM_NODISCARD alm_status alm_pq_bloom_of(alm_ctx *cx, alm_arena *arena, const void *data,
                                         uint32_t width, uint32_t n, alm_buf *out);
/* The same of texts, one after another. */
ALM_NODISCARD alm_status alm_pq_bloom_of_texts(alm_ctx *cx, alm_arena *arena, const char *bytes,
                                               const uint32_t *len, uint32_t n, alm_buf *out);

#endif
