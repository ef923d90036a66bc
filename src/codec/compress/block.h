/*
 * block.h - blocks packed whole, whose size unpacked is known from outside: pages of Parquet.
 *
 * Forms       RAW, SNAPPY (raw, not framed), GZIP (RFC 1952, members one behind another too), BROTLI (RFC
 *             7932), ZSTD (RFC 8878, frames too), LZ4 (one block), LZ4_HADOOP (blocks with two sizes of
 *             32 bits, big endian, before each; what has no such sizes is read as one block).
 * Ownership   An alm_block_codec keeps the state of the libraries, made when it is first needed (zstd: up
 *             to 150 KB); it belongs to one thread at a time. Zeroed is ready.
 * Errors      Unpacking says why it failed, packing fails for memory only.
 */
#ifndef ALM_CODEC_COMPRESS_BLOCK_H
#define ALM_CODEC_COMPRESS_BLOCK_H

#include "base/base.h"

typedef enum alm_block_form {
    ALM_BLOCK_RAW,
    ALM_BLOCK_SNAPPY,
    ALM_BLOCK_GZIP,
    ALM_BLOCK_BROTLI,
    ALM_BLOCK_ZSTD,
    ALM_BLOCK_LZ4,
    ALM_BLOCK_LZ4_HADOOP
} alm_block_form;

typedef struct alm_block_codec {
    void *zstd_in, *zstd_out; /* contexts of the libraries */
    void *gzip_in, *gzip_out;
    int gzip_level;
} alm_block_codec;

/* Fills out[0 .. n) exactly. NULL, or why not. */
ALM_NODISCARD const char *alm_block_unpack(alm_block_codec *codec, alm_block_form form,
                                           alm_str text, void *out, size_t n);
/* Appends to `out`. level: of the library, 0 its default (SNAPPY and LZ4 have none). */
ALM_NODISCARD alm_status alm_block_pack(alm_ctx *cx, alm_block_codec *codec, alm_block_form form,
                                        int level, alm_str text, alm_buf *out);
void alm_block_codec_deinit(alm_block_codec *codec);

#endif
