/*
 * pack.h - bytes packed as they come, as gzip (RFC 1952) or zstd (RFC 8878): one stream for a whole answer,
 * flushed behind each piece so that the reader has it at once.
 *
 * Ownership   A packer belongs to one answer and one thread at a time; about 300 KB for gzip, 1 MB for zstd, charged to
 *             cx->mem of alm_packer_new until it is freed.
 */
#ifndef ALM_CODEC_COMPRESS_PACK_H
#define ALM_CODEC_COMPRESS_PACK_H

#include "base/base.h"

typedef enum alm_pack_form { ALM_PACK_NONE, ALM_PACK_GZIP, ALM_PACK_ZSTD } alm_pack_form;

typedef struct alm_packer alm_packer;

ALM_NODISCARD alm_status alm_packer_new(alm_ctx *cx, alm_pack_form form, alm_packer **out);
/* Appends the packed piece to `out`; last: and the end of the stream. */
ALM_NODISCARD alm_status alm_pack(alm_ctx *cx, alm_packer *packer, alm_str piece, bool last,
                                  alm_buf *out);
void alm_packer_free(alm_packer *packer); /* NULL is fine */

#endif
