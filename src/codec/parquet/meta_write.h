/*
 * meta_write.h - metadata of Parquet to bytes, appended to `out`: what meta.h reads. Fields that format.h counts as
 * missing are left out.
 */
#ifndef ALM_CODEC_PARQUET_META_WRITE_H
#define ALM_CODEC_PARQUET_META_WRITE_H

#include "codec/parquet/format.h"

ALM_NODISCARD alm_status alm_pq_write_file_meta(alm_ctx *cx, const alm_pq_file_meta *meta,
                                                alm_buf *out);
ALM_NODISCARD alm_status alm_pq_write_page_header(alm_ctx *cx, const alm_pq_page_header *header,
                                                  alm_buf *out);
ALM_NODISCARD alm_status alm_pq_write_offset_index(alm_ctx *cx, const alm_pq_offset_index *index,
                                                   alm_buf *out);
ALM_NODISCARD alm_status alm_pq_write_column_index(alm_ctx *cx, const alm_pq_column_index *index,
                                                   alm_buf *out);
/* Of a filter of n bytes: split blocks, XXH64, not compressed. */
ALM_NODISCARD alm_status alm_pq_write_bloom_header(alm_ctx *cx, int32_t n, alm_buf *out);

#endif
