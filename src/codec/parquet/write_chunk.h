/*
 * write_chunk.h - one column of a row group as the bytes of its pages. Private to codec/parquet.
 *
 * Encodings   AUTO: texts by a dictionary while they repeat, else DELTA_LENGTH_BYTE_ARRAY; numbers by a dictionary where
 *             each stands eight times or more, whole numbers else by DELTA_BINARY_PACKED where a sample says that it is
 *             at most three quarters of PLAIN; else PLAIN.
 * Pages       End at page_rows, or at the row with which their values reach page_bytes.
 */
#ifndef ALM_CODEC_PARQUET_WRITE_CHUNK_H
#define ALM_CODEC_PARQUET_WRITE_CHUNK_H

#include "codec/parquet/write_bounds.h"

typedef struct alm_pq_page_note {
    int64_t offset; /* in the chunk */
    int32_t bytes;  /* header and data */
    uint32_t first_row;
    int64_t nulls, values; /* values: with the nulls */
    alm_pq_minmax bounds;
} alm_pq_page_note;

typedef struct alm_pq_chunk {
    alm_buf bytes;                          /* pages, the dictionary's first */
    alm_buf bloom;                          /* header and filter; empty: none */
    alm_buf pages;                          /* alm_pq_page_note each */
    int64_t dictionary_offset, data_offset; /* in `bytes`; -1: none */
    int64_t n_values, n_nulls;
    int64_t uncompressed_bytes; /* headers included */
    int64_t distinct;           /* -1: not known */
    alm_pq_encoding encoding;   /* of data pages */
    alm_pq_minmax bounds;
} alm_pq_chunk;

static inline const alm_pq_page_note *alm_pq_chunk_page(const alm_pq_chunk *chunk, size_t i)
{
    return (const alm_pq_page_note *)(const void *)chunk->pages.ptr + i;
}
static inline uint32_t alm_pq_chunk_pages(const alm_pq_chunk *chunk)
{
    return (uint32_t)(chunk->pages.len / sizeof(alm_pq_page_note));
}

void alm_pq_chunk_init(alm_pq_chunk *chunk, alm_mem *mem);
void alm_pq_chunk_deinit(alm_pq_chunk *chunk);
/* Fills an empty chunk. The store is spent. */
ALM_NODISCARD alm_status alm_pq_chunk_write(alm_ctx *cx, const alm_pq_options *options,
                                            const alm_pq_column *column, const alm_pq_shape *shape,
                                            alm_pq_store *store, alm_pq_chunk *out);

#endif
