/*
 * request.h - what COPY and /exp say about a Parquet file they want, by names and texts.
 *
 * Names       Of either kind, any case: compression_codec (compression), compression_level, row_group_size,
 *             data_page_size, statistics_enabled, parquet_version, raw_array_encoding, bloom_filter_columns.
 * Errors      ALM_E_ARG at `pos`, in the words of the reference.
 */
#ifndef ALM_CODEC_PARQUET_REQUEST_H
#define ALM_CODEC_PARQUET_REQUEST_H

#include "codec/parquet/writer.h"

typedef struct alm_pq_request {
    alm_pq_options options;
    bool raw_arrays;
    alm_str bloom_columns; /* names with commas between them, or ptr NULL */
    int32_t level_pos, bloom_pos;
} alm_pq_request;

void alm_pq_request_init(alm_pq_request *request);
/* Name number i; NULL: no more. */
const char *alm_pq_request_name(size_t i);
/* *known is false for another name. A value with ptr NULL is true where a boolean is wanted. The texts are borrowed. */
ALM_NODISCARD alm_status alm_pq_request_read(alm_ctx *cx, int32_t pos, alm_str name, alm_str value,
                                             alm_pq_request *request, bool *known);
/* When all have been read: what must fit together. */
ALM_NODISCARD alm_status alm_pq_request_check(alm_ctx *cx, const alm_pq_request *request);
/* Sets `raw` and `bloom` of the columns. */
ALM_NODISCARD alm_status alm_pq_request_columns(alm_ctx *cx, const alm_pq_request *request,
                                                alm_pq_column *columns, uint32_t n_columns);

#endif
