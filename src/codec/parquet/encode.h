/*
 * encode.h - values as the bytes of a Parquet page, one function for each encoding. Private to codec/parquet.
 *
 * Shapes      n values without nulls, in memory as the physical type has them, appended to `out`.
 * Cost        About a nanosecond a value; no allocation but the growth of `out`.
 * Source      https://parquet.apache.org/docs/file-format/data-pages/encodings/
 */
#ifndef ALM_CODEC_PARQUET_ENCODE_H
#define ALM_CODEC_PARQUET_ENCODE_H

#include "base/base.h"

/* Bits that numbers up to `max` need, 0 for 0. */
uint32_t alm_pq_bits(uint64_t max);

/* RLE and bit-packed runs ("hybrid") of numbers below 2^bits, bits <= 32. */
ALM_NODISCARD alm_status alm_pq_put_hybrid(alm_ctx *cx, const uint32_t *value, size_t n,
                                           uint32_t bits, alm_buf *out);
/* The same of n equal numbers. */
ALM_NODISCARD alm_status alm_pq_put_run(alm_ctx *cx, uint32_t value, size_t n, uint32_t bits,
                                        alm_buf *out);
/* BOOLEAN PLAIN: a bit each, from bytes that are 0 or 1. */
ALM_NODISCARD alm_status alm_pq_put_bits(alm_ctx *cx, const uint8_t *value, size_t n, alm_buf *out);
/* DELTA_BINARY_PACKED of INT32 (width 4) or INT64 (8): blocks of 128 values, 4 miniblocks each. */
ALM_NODISCARD alm_status alm_pq_put_delta(alm_ctx *cx, const void *value, uint32_t width, size_t n,
                                          alm_buf *out);
/* BYTE_STREAM_SPLIT: the first bytes of all values, then the second, and so on. */
ALM_NODISCARD alm_status alm_pq_put_split(alm_ctx *cx, const void *value, uint32_t width, size_t n,
                                          alm_buf *out);
/* BYTE_ARRAY PLAIN: each value behind its length; `bytes` has them one after another. */
ALM_NODISCARD alm_status alm_pq_put_bytes(alm_ctx *cx, const char *bytes, const uint32_t *len,
                                          size_t n, alm_buf *out);

#endif
