/* block.c - see block.h. */
#include "codec/compress/block.h"

#include <limits.h>

#include <brotli/decode.h>
#include <brotli/encode.h>
#include <libdeflate.h>
#include <lz4.h>
#include <snappy-c.h>
#include <zstd.h>

enum { HADOOP_HEAD = 8, GZIP_LEVEL = 6, BROTLI_LEVEL = 4, BROTLI_WINDOW = 22 };

static const char no_memory[] = "there is no memory to unpack it";
static const char damaged[] = "it does not unpack";
static const char wrong_size[] = "it unpacks to another size than it says";

/* ----------------------------------------------------------------------------------- unpacking */

static const char *unpack_snappy(alm_str text, void *out, size_t n)
{
    size_t got = n, says = 0;
    if (snappy_uncompressed_length(text.ptr, text.len, &says) != SNAPPY_OK)
        return damaged;
    if (says != n)
        return wrong_size;
    return snappy_uncompress(text.ptr, text.len, out, &got) == SNAPPY_OK && got == n ? NULL
                                                                                     : damaged;
}

static const char *compress_block_unpack_gzip(alm_block_codec *codec, alm_str text, char *out,
                                              size_t n)
{
    size_t done = 0;
    if (codec->gzip_in == NULL && (codec->gzip_in = libdeflate_alloc_decompressor()) == NULL)
        return no_memory;
    do {
        size_t taken = 0, made = 0;
        const enum libdeflate_result got = libdeflate_gzip_decompress_ex(
            codec->gzip_in, text.ptr, text.len, out + done, n - done, &taken, &made);
        if (got == LIBDEFLATE_INSUFFICIENT_SPACE)
            return wrong_size;
        if (got != LIBDEFLATE_SUCCESS)
            return damaged;
        done += made;
        text = (alm_str){text.ptr + taken, text.len - taken};
    } while (text.len > 0);
    return done == n ? NULL : wrong_size;
}

static const char *unpack_brotli(alm_str text, void *out, size_t n)
{
    size_t got = n;
    if (BrotliDecoderDecompress(text.len, (const uint8_t *)text.ptr, &got, out) !=
        BROTLI_DECODER_RESULT_SUCCESS)
        return damaged;
    return got == n ? NULL : wrong_size;
}

static const char *compress_block_unpack_zstd(alm_block_codec *codec, alm_str text, void *out,
                                              size_t n)
{
    if (codec->zstd_in == NULL && (codec->zstd_in = ZSTD_createDCtx()) == NULL)
        return no_memory;
    const size_t got = ZSTD_decompressDCtx(codec->zstd_in, out, n, text.ptr, text.len);
    if (ZSTD_isError(got))
        return damaged;
    return got == n ? NULL : wrong_size;
}

static const char *unpack_lz4(alm_str text, char *out, size_t n)
{
    if (text.len > INT_MAX || n > INT_MAX)
        return damaged;
    const int got = LZ4_decompress_safe(text.ptr, out, (int)text.len, (int)n);
    if (got < 0)
        return damaged;
    return (size_t)got == n ? NULL : wrong_size;
}

static size_t big_endian_32(const char *ptr)
{
    uint32_t value;
    memcpy(&value, ptr, sizeof value);
    return __builtin_bswap32(value);
}

/* A block of Hadoop may hold several packed pieces: size of all, then size and bytes of each. */
static const char *unpack_hadoop(alm_str text, char *out, size_t n)
{
    const alm_str whole = text;
    size_t done = 0;
    while (text.len >= HADOOP_HEAD) {
        const size_t says = big_endian_32(text.ptr);
        const size_t packed = big_endian_32(text.ptr + sizeof(uint32_t));
        text = (alm_str){text.ptr + HADOOP_HEAD, text.len - HADOOP_HEAD};
        if (says > n - done || packed > text.len ||
            unpack_lz4((alm_str){text.ptr, packed}, out + done, says) != NULL)
            return unpack_lz4(whole, out, n);
        done += says;
        text = (alm_str){text.ptr + packed, text.len - packed};
    }
    return done == n && text.len == 0 ? NULL : unpack_lz4(whole, out, n);
}

const char *alm_block_unpack(alm_block_codec *codec, alm_block_form form, alm_str text, void *out,
                             size_t n)
{
    if (form == ALM_BLOCK_RAW) {
        if (text.len != n)
            return wrong_size;
        if (n > 0)
            memcpy(out, text.ptr, n);
        return NULL;
    }
    if (text.len == 0) /* some writers pack nothing to nothing */
        return n == 0 ? NULL : damaged;
    switch (form) {
    case ALM_BLOCK_SNAPPY:
        return unpack_snappy(text, out, n);
    case ALM_BLOCK_GZIP:
        return compress_block_unpack_gzip(codec, text, out, n);
    case ALM_BLOCK_BROTLI:
        return unpack_brotli(text, out, n);
    case ALM_BLOCK_ZSTD:
        return compress_block_unpack_zstd(codec, text, out, n);
    case ALM_BLOCK_LZ4:
        return unpack_lz4(text, out, n);
    case ALM_BLOCK_LZ4_HADOOP:
        return unpack_hadoop(text, out, n);
    case ALM_BLOCK_RAW:
    default:
        return damaged;
    }
}

/* ------------------------------------------------------------------------------------- packing */

static alm_status compress_block_failed(alm_ctx *cx)
{
    return alm_fail(cx, ALM_E_MEMORY, -1, "no memory to pack a block");
}

static alm_status pack_snappy(alm_ctx *cx, alm_str text, alm_buf *out)
{
    size_t n = snappy_max_compressed_length(text.len);
    ALM_TRY(alm_buf_reserve(cx, out, n));
    if (snappy_compress(text.ptr, text.len, out->ptr + out->len, &n) != SNAPPY_OK)
        return compress_block_failed(cx);
    out->len += n;
    return ALM_OK;
}

static alm_status compress_block_pack_gzip(alm_ctx *cx, alm_block_codec *codec, int level,
                                           alm_str text, alm_buf *out)
{
    if (codec->gzip_out != NULL && codec->gzip_level != level) {
        libdeflate_free_compressor(codec->gzip_out);
        codec->gzip_out = NULL;
    }
    codec->gzip_level = level;
    if (codec->gzip_out == NULL &&
        (codec->gzip_out = libdeflate_alloc_compressor(level == 0 ? GZIP_LEVEL : level)) == NULL)
        return compress_block_failed(cx);
    const size_t room = libdeflate_gzip_compress_bound(codec->gzip_out, text.len);
    ALM_TRY(alm_buf_reserve(cx, out, room));
    const size_t n =
        libdeflate_gzip_compress(codec->gzip_out, text.ptr, text.len, out->ptr + out->len, room);
    out->len += n;
    return n > 0 ? ALM_OK : compress_block_failed(cx);
}

static alm_status pack_brotli(alm_ctx *cx, int level, alm_str text, alm_buf *out)
{
    size_t n = BrotliEncoderMaxCompressedSize(text.len) + 16; /* 0: no bound known */
    ALM_TRY(alm_buf_reserve(cx, out, n));
    if (!BrotliEncoderCompress(level == 0 ? BROTLI_LEVEL : level, BROTLI_WINDOW,
                               BROTLI_MODE_GENERIC, text.len, (const uint8_t *)text.ptr, &n,
                               (uint8_t *)out->ptr + out->len))
        return compress_block_failed(cx);
    out->len += n;
    return ALM_OK;
}

static alm_status compress_block_pack_zstd(alm_ctx *cx, alm_block_codec *codec, int level,
                                           alm_str text, alm_buf *out)
{
    const size_t room = ZSTD_compressBound(text.len);
    if (codec->zstd_out == NULL && (codec->zstd_out = ZSTD_createCCtx()) == NULL)
        return compress_block_failed(cx);
    ALM_TRY(alm_buf_reserve(cx, out, room));
    const size_t n =
        ZSTD_compressCCtx(codec->zstd_out, out->ptr + out->len, room, text.ptr, text.len, level);
    if (ZSTD_isError(n))
        return compress_block_failed(cx);
    out->len += n;
    return ALM_OK;
}

static alm_status pack_lz4(alm_ctx *cx, bool hadoop, alm_str text, alm_buf *out)
{
    const size_t head = hadoop ? HADOOP_HEAD : 0;
    if (text.len > LZ4_MAX_INPUT_SIZE)
        return alm_fail(cx, ALM_E_LIMIT, -1, "a block of LZ4 has at most %d bytes",
                        LZ4_MAX_INPUT_SIZE);
    const int room = LZ4_compressBound((int)text.len);
    ALM_TRY(alm_buf_reserve(cx, out, head + (size_t)room));
    char *ptr = out->ptr + out->len;
    const int n = LZ4_compress_default(text.ptr, ptr + head, (int)text.len, room);
    if (n <= 0)
        return compress_block_failed(cx);
    if (hadoop) {
        const uint32_t size[2] = {__builtin_bswap32((uint32_t)text.len),
                                  __builtin_bswap32((uint32_t)n)};
        memcpy(ptr, size, sizeof size);
    }
    out->len += head + (size_t)n;
    return ALM_OK;
}

alm_status alm_block_pack(alm_ctx *cx, alm_block_codec *codec, alm_block_form form, int level,
                          alm_str text, alm_buf *out)
{
    switch (form) {
    case ALM_BLOCK_SNAPPY:
        return pack_snappy(cx, text, out);
    case ALM_BLOCK_GZIP:
        return compress_block_pack_gzip(cx, codec, level, text, out);
    case ALM_BLOCK_BROTLI:
        return pack_brotli(cx, level, text, out);
    case ALM_BLOCK_ZSTD:
        return compress_block_pack_zstd(cx, codec, level, text, out);
    case ALM_BLOCK_LZ4:
        return pack_lz4(cx, false, text, out);
    case ALM_BLOCK_LZ4_HADOOP:
        return pack_lz4(cx, true, text, out);
    case ALM_BLOCK_RAW:
    default:
        return alm_buf_append(cx, out, text.ptr, text.len);
    }
}

void alm_block_codec_deinit(alm_block_codec *codec)
{
    ZSTD_freeDCtx(codec->zstd_in);
    ZSTD_freeCCtx(codec->zstd_out);
    libdeflate_free_decompressor(codec->gzip_in);
    libdeflate_free_compressor(codec->gzip_out);
    *codec = (alm_block_codec){0};
}
