/*
 * gzip.h - whole gzip bodies (RFC 1952), several members one behind another too.
 */
#ifndef ALM_CODEC_COMPRESS_GZIP_H
#define ALM_CODEC_COMPRESS_GZIP_H

#include "base/base.h"

/* Appends the bytes to `out`. ALM_E_FORMAT: not gzip, or damaged; ALM_E_LIMIT: over `limit` bytes. */
ALM_NODISCARD alm_status alm_gzip_inflate(alm_ctx *cx, alm_str text, size_t limit,
                                          const char *limit_name, alm_buf *out);

#endif
