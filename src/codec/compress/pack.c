/* pack.c - gzip by zlib, which can stream where libdeflate cannot; zstd by its library. Fast levels. */
#include "codec/compress/pack.h"

#include <limits.h>
#include <stdlib.h>

#include <zlib.h>
#include <zstd.h>

enum { GZIP_LEVEL = 1, GZIP_WINDOW = 15 + 16, GZIP_MEMORY = 8, ZSTD_LEVEL = 1, STEP = 16 << 10 };
/* What a stream takes, about. */
enum { GZIP_BYTES = 300 << 10, ZSTD_BYTES = 1 << 20 };

struct alm_packer {
    alm_pack_form form;
    z_stream gzip;
    ZSTD_CCtx *zstd;
    alm_mem *mem; /* that has `bytes` of it; may be NULL */
    int64_t bytes;
};

alm_status alm_packer_new(alm_ctx *cx, alm_pack_form form, alm_packer **out)
{
    const int64_t bytes = form == ALM_PACK_ZSTD ? ZSTD_BYTES : GZIP_BYTES;
    ALM_ASSERT(form != ALM_PACK_NONE);
    if (cx->mem != NULL)
        ALM_TRY(alm_mem_charge(cx, cx->mem, bytes, "packed answer"));
    alm_packer *packer = calloc(1, sizeof *packer);
    bool ready = false;
    if (packer == NULL && cx->mem != NULL)
        alm_mem_release(cx->mem, bytes);
    if (packer != NULL) {
        packer->mem = cx->mem;
        packer->bytes = bytes;
    }
    if (packer != NULL && form == ALM_PACK_ZSTD) {
        packer->zstd = ZSTD_createCCtx();
        ready = packer->zstd != NULL && !ZSTD_isError(ZSTD_CCtx_setParameter(
                                            packer->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL));
    } else if (packer != NULL) {
        ready = deflateInit2(&packer->gzip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
                             Z_DEFAULT_STRATEGY) == Z_OK;
    }
    if (packer != NULL)
        packer->form = ready ? form : ALM_PACK_NONE;
    if (!ready) {
        alm_packer_free(packer);
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory to pack an answer");
    }
    *out = packer;
    return ALM_OK;
}

static alm_status compress_pack_gzip(alm_ctx *cx, z_stream *z, alm_str piece, bool last,
                                     alm_buf *out)
{
    ALM_ASSERT(piece.len <= UINT_MAX);
    z->next_in = (Bytef *)(uintptr_t)piece.ptr; /* zlib does not write there */
    z->avail_in = (uInt)piece.len;
    do {
        ALM_TRY(alm_buf_reserve(cx, out, STEP));
        z->next_out = (Bytef *)out->ptr + out->len;
        z->avail_out = STEP;
        const int code = deflate(z, last ? Z_FINISH : Z_SYNC_FLUSH);
        ALM_ASSERT(code != Z_STREAM_ERROR);
        out->len += STEP - z->avail_out;
    } while (z->avail_out == 0);
    return ALM_OK;
}

static alm_status compress_pack_zstd(alm_ctx *cx, ZSTD_CCtx *CCtx, alm_str piece, bool last,
                                     alm_buf *out)
{
    ZSTD_inBuffer in = {piece.ptr, piece.len, 0};
    size_t left = 0;
    do {
        ALM_TRY(alm_buf_reserve(cx, out, STEP));
        ZSTD_outBuffer to = {out->ptr + out->len, STEP, 0};
        left = ZSTD_compressStream2(CCtx, &to, &in, last ? ZSTD_e_end : ZSTD_e_flush);
        if (ZSTD_isError(left))
            return alm_fail(cx, ALM_E_MEMORY, -1, "cannot pack an answer: %s",
                            ZSTD_getErrorName(left));
        out->len += to.pos;
    } while (left > 0);
    return ALM_OK;
}

alm_status alm_pack(alm_ctx *cx, alm_packer *packer, alm_str piece, bool last, alm_buf *out)
{
    return packer->form == ALM_PACK_ZSTD ? compress_pack_zstd(cx, packer->zstd, piece, last, out)
                                         : compress_pack_gzip(cx, &packer->gzip, piece, last, out);
}

void alm_packer_free(alm_packer *packer)
{
    if (packer == NULL)
        return;
    if (packer->form == ALM_PACK_GZIP)
        (void)deflateEnd(&packer->gzip);
    (void)ZSTD_freeCCtx(packer->zstd);
    if (packer->mem != NULL)
        alm_mem_release(packer->mem, packer->bytes);
    free(packer);
}
