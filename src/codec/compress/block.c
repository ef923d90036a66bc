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

static const char *unpack_snappy(alm_str in, void *out, size_t n)
{
    size_t got = n, says = 0;
    if (snappy_uncompressed_length(in.ptr, in.len, &says) != SNAPPY_OK)
        return damaged;
    if (says != n)
        return wrong_size;
    return snappy_uncompress(in.ptr, in.len, out, &got) == SNAPPY_OK && got == n ? NULL : damaged;
}

static const char *unpack_gzip(alm_block_codec *c, alm_str in, char *out, size_t n)
{
    size_t done = 0;
    if (c->gzip_in == NULL && (c->gzip_in = libdeflate_alloc_decompressor()) == NULL)
        return no_memory;
    do {
        size_t taken = 0, made = 0;
        const enum libdeflate_result got = libdeflate_gzip_decompress_ex(
            c->gzip_in, in.ptr, in.len, out + done, n - done, &taken, &made);
        if (got == LIBDEFLATE_INSUFFICIENT_SPACE)
            return wrong_size;
        if (got != LIBDEFLATE_SUCCESS)
            return damaged;
        done += made;
        in = (alm_str){in.ptr + taken, in.len - taken};
    } while (in.len > 0);
    return done == n ? NULL : wrong_size;
}

static const char *unpack_brotli(alm_str in, void *out, size_t n)
{
    size_t got = n;
    if (BrotliDecoderDecompress(in.len, (const uint8_t *)in.ptr, &got, out) !=
        BROTLI_DECODER_RESULT_SUCCESS)
        return damaged;
    return got == n ? NULL : wrong_size;
}

static const char *unpack_zstd(alm_block_codec *c, alm_str in, void *out, size_t n)
{
    if (c->zstd_in == NULL && (c->zstd_in = ZSTD_createDCtx()) == NULL)
        return no_memory;
    const size_t got = ZSTD_decompressDCtx(c->zstd_in, out, n, in.ptr, in.len);
    if (ZSTD_isError(got))
        return damaged;
    return got == n ? NULL : wrong_size;
}

static const char *unpack_lz4(alm_str in, char *out, size_t n)
{
    if (in.len > INT_MAX || n > INT_MAX)
        return damaged;
    const int got = LZ4_decompress_safe(in.ptr, out, (int)in.len, (int)n);
    if (got < 0)
        return damaged;
    return (size_t)got == n ? NULL : wrong_size;
}

static size_t big_endian_32(const char *at)
{
    uint32_t x;
    memcpy(&x, at, sizeof x);
    return __builtin_bswap32(x);
}

/* A block of Hadoop may hold several packed pieces: size of all, then size and bytes of each. */
static const char *unpack_hadoop(alm_str in, char *out, size_t n)
{
    const alm_str whole = in;
    size_t done = 0;
    while (in.len >= HADOOP_HEAD) {
        const size_t says = big_endian_32(in.ptr);
        const size_t packed = big_endian_32(in.ptr + sizeof(uint32_t));
        in = (alm_str){in.ptr + HADOOP_HEAD, in.len - HADOOP_HEAD};
        if (says > n - done || packed > in.len ||
            unpack_lz4((alm_str){in.ptr, packed}, out + done, says) != NULL)
            return unpack_lz4(whole, out, n);
        done += says;
        in = (alm_str){in.ptr + packed, in.len - packed};
    }
    return done == n && in.len == 0 ? NULL : unpack_lz4(whole, out, n);
}

const char *alm_block_unpack(alm_block_codec *c, alm_block_form form, alm_str in, void *out,
                             size_t n)
{
    if (form == ALM_BLOCK_RAW) {
        if (in.len != n)
            return wrong_size;
        if (n > 0)
            memcpy(out, in.ptr, n);
        return NULL;
    }
    if (in.len == 0) /* some writers pack nothing to nothing */
        return n == 0 ? NULL : damaged;
    switch (form) {
    case ALM_BLOCK_SNAPPY:
        return unpack_snappy(in, out, n);
    case ALM_BLOCK_GZIP:
        return unpack_gzip(c, in, out, n);
    case ALM_BLOCK_BROTLI:
        return unpack_brotli(in, out, n);
    case ALM_BLOCK_ZSTD:
        return unpack_zstd(c, in, out, n);
    case ALM_BLOCK_LZ4:
        return unpack_lz4(in, out, n);
    case ALM_BLOCK_LZ4_HADOOP:
        return unpack_hadoop(in, out, n);
    case ALM_BLOCK_RAW:
    default:
        return damaged;
    }
}

/* ------------------------------------------------------------------------------------- packing */

static alm_status failed(alm_ctx *cx)
{
    return alm_fail(cx, ALM_E_MEMORY, -1, "no memory to pack a block");
}

static alm_status pack_snappy(alm_ctx *cx, alm_str in, alm_buf *out)
{
    size_t n = snappy_max_compressed_length(in.len);
    ALM_TRY(alm_buf_reserve(cx, out, n));
    if (snappy_compress(in.ptr, in.len, out->ptr + out->len, &n) != SNAPPY_OK)
        return failed(cx);
    out->len += n;
    return ALM_OK;
}

static alm_status pack_gzip(alm_ctx *cx, alm_block_codec *c, int level, alm_str in, alm_buf *out)
{
    if (c->gzip_out != NULL && c->gzip_level != level) {
        libdeflate_free_compressor(c->gzip_out);
        c->gzip_out = NULL;
    }
    c->gzip_level = level;
    if (c->gzip_out == NULL &&
        (c->gzip_out = libdeflate_alloc_compressor(level == 0 ? GZIP_LEVEL : level)) == NULL)
        return failed(cx);
    const size_t room = libdeflate_gzip_compress_bound(c->gzip_out, in.len);
    ALM_TRY(alm_buf_reserve(cx, out, room));
    const size_t n =
        libdeflate_gzip_compress(c->gzip_out, in.ptr, in.len, out->ptr + out->len, room);
    out->len += n;
    return n > 0 ? ALM_OK : failed(cx);
}

static alm_status pack_brotli(alm_ctx *cx, int level, alm_str in, alm_buf *out)
{
    size_t n = BrotliEncoderMaxCompressedSize(in.len) + 16; /* 0: no bound known */
    ALM_TRY(alm_buf_reserve(cx, out, n));
    if (!BrotliEncoderCompress(level == 0 ? BROTLI_LEVEL : level, BROTLI_WINDOW,
                               BROTLI_MODE_GENERIC, in.len, (const uint8_t *)in.ptr, &n,
                               (uint8_t *)out->ptr + out->len))
        return failed(cx);
    out->len += n;
    return ALM_OK;
}

static alm_status pack_zstd(alm_ctx *cx, alm_block_codec *c, int level, alm_str in, alm_buf *out)
{
    const size_t room = ZSTD_compressBound(in.len);
    if (c->zstd_out == NULL && (c->zstd_out = ZSTD_createCCtx()) == NULL)
        return failed(cx);
    ALM_TRY(alm_buf_reserve(cx, out, room));
    const size_t n =
        ZSTD_compressCCtx(c->zstd_out, out->ptr + out->len, room, in.ptr, in.len, level);
    if (ZSTD_isError(n))
        return failed(cx);
    out->len += n;
    return ALM_OK;
}

static alm_status pack_lz4(alm_ctx *cx, bool hadoop, alm_str in, alm_buf *out)
{
    const size_t head = hadoop ? HADOOP_HEAD : 0;
    if (in.len > LZ4_MAX_INPUT_SIZE)
        return alm_fail(cx, ALM_E_LIMIT, -1, "a block of LZ4 has at most %d bytes",
                        LZ4_MAX_INPUT_SIZE);
    const int room = LZ4_compressBound((int)in.len);
    ALM_TRY(alm_buf_reserve(cx, out, head + (size_t)room));
    char *at = out->ptr + out->len;
    const int n = LZ4_compress_default(in.ptr, at + head, (int)in.len, room);
    if (n <= 0)
        return failed(cx);
    if (hadoop) {
        const uint32_t size[2] = {__builtin_bswap32((uint32_t)in.len),
                                  __builtin_bswap32((uint32_t)n)};
        memcpy(at, size, sizeof size);
    }
    out->len += head + (size_t)n;
    return ALM_OK;
}

alm_status alm_block_pack(alm_ctx *cx, alm_block_codec *c, alm_block_form form, int level,
                          alm_str in, alm_buf *out)
{
    switch (form) {
    case ALM_BLOCK_SNAPPY:
        return pack_snappy(cx, in, out);
    case ALM_BLOCK_GZIP:
        return pack_gzip(cx, c, level, in, out);
    case ALM_BLOCK_BROTLI:
        return pack_brotli(cx, level, in, out);
    case ALM_BLOCK_ZSTD:
        return pack_zstd(cx, c, level, in, out);
    case ALM_BLOCK_LZ4:
        return pack_lz4(cx, false, in, out);
    case ALM_BLOCK_LZ4_HADOOP:
        return pack_lz4(cx, true, in, out);
    case ALM_BLOCK_RAW:
    default:
        return alm_buf_append(cx, out, in.ptr, in.len);
    }
}

void alm_block_codec_deinit(alm_block_codec *c)
{
    ZSTD_freeDCtx(c->zstd_in);
    ZSTD_freeCCtx(c->zstd_out);
    libdeflate_free_decompressor(c->gzip_in);
    libdeflate_free_compressor(c->gzip_out);
    *c = (alm_block_codec){0};
}
