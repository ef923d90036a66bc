/* unpack.c - see unpack.h: zlib, which can stream where libdeflate cannot, and the library of zstd. */
#include "codec/compress/unpack.h"

#include <stdlib.h>

#include <zlib.h>
#include <zstd.h>

enum { STEP = 64 << 10, GZIP_WINDOW = 15 + 16, PIECE_MAX = 1 << 30 };

struct alm_unpacker {
    alm_pack_form form;
    bool whole; /* at the end of a member */
    uint64_t made, limit;
    const char *limit_name;
    z_stream gzip;
    ZSTD_DCtx *zstd;
    char out[STEP];
};

alm_status alm_unpacker_new(alm_ctx *cx, alm_pack_form form, uint64_t limit, const char *limit_name,
                            alm_unpacker **out)
{
    alm_unpacker *unpacker = calloc(1, sizeof *unpacker);
    bool ready = false;
    ALM_ASSERT(form != ALM_PACK_NONE);
    if (unpacker != NULL && form == ALM_PACK_ZSTD) {
        unpacker->zstd = ZSTD_createDCtx();
        ready = unpacker->zstd != NULL;
    } else if (unpacker != NULL) {
        ready = inflateInit2(&unpacker->gzip, GZIP_WINDOW) == Z_OK;
    }
    if (unpacker != NULL)
        unpacker->form = ready ? form : ALM_PACK_NONE;
    if (!ready) {
        alm_unpacker_free(unpacker);
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory to unpack a file");
    }
    unpacker->limit = limit;
    unpacker->limit_name = limit_name;
    *out = unpacker;
    return ALM_OK;
}

static alm_status unpack_damaged(alm_ctx *cx, const alm_unpacker *unpacker, const char *why)
{
    return alm_fail(cx, ALM_E_FORMAT, -1, "the %s file is damaged behind %llu unpacked bytes%s%s",
                    alm_unpacker_name(unpacker), (unsigned long long)unpacker->made,
                    why != NULL ? ": " : "", why != NULL ? why : "");
}

static alm_status unpack_give(alm_ctx *cx, alm_unpacker *unpacker, size_t n, alm_unpack_take take,
                              void *arg)
{
    ALM_TRY(alm_check(cx));
    unpacker->made += n;
    if (unpacker->made > unpacker->limit)
        return alm_fail(cx, ALM_E_LIMIT, -1,
                        "the file is over %llu bytes when unpacked: the limit is %s",
                        (unsigned long long)unpacker->limit, unpacker->limit_name);
    return n > 0 ? take(cx, arg, unpacker->out, n) : ALM_OK;
}

/* Another member may follow, or zeros, with which tapes are filled up. */
static alm_status next_member(alm_ctx *cx, alm_unpacker *unpacker)
{
    z_stream *z = &unpacker->gzip;
    while (z->avail_in > 0 && *z->next_in == 0) {
        z->next_in++;
        z->avail_in--;
    }
    if (z->avail_in == 0)
        return ALM_OK;
    unpacker->whole = false;
    return inflateReset(z) == Z_OK ? ALM_OK : unpack_damaged(cx, unpacker, NULL);
}

static alm_status compress_unpack_gzip(alm_ctx *cx, alm_unpacker *unpacker, alm_str piece,
                                       alm_unpack_take take, void *arg)
{
    z_stream *z = &unpacker->gzip;
    z->next_in = (Bytef *)(uintptr_t)piece.ptr; /* zlib does not write there */
    z->avail_in = (uInt)piece.len;
    for (bool more = true; more;) {
        if (unpacker->whole)
            ALM_TRY(next_member(cx, unpacker));
        if (unpacker->whole)
            return ALM_OK;
        z->next_out = (Bytef *)unpacker->out;
        z->avail_out = STEP;
        const int code = inflate(z, Z_NO_FLUSH);
        if (code == Z_MEM_ERROR)
            return alm_fail(cx, ALM_E_MEMORY, -1, "no memory to unpack a file");
        if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
            return unpack_damaged(cx, unpacker, z->msg);
        unpacker->whole = code == Z_STREAM_END;
        ALM_TRY(unpack_give(cx, unpacker, STEP - z->avail_out, take, arg));
        more = z->avail_in > 0 || z->avail_out == 0;
    }
    return ALM_OK;
}

static alm_status compress_unpack_zstd(alm_ctx *cx, alm_unpacker *unpacker, alm_str piece,
                                       alm_unpack_take take, void *arg)
{
    ZSTD_inBuffer in = {piece.ptr, piece.len, 0};
    for (bool more = true; more;) {
        ZSTD_outBuffer to = {unpacker->out, STEP, 0};
        const size_t left = ZSTD_decompressStream(unpacker->zstd, &to, &in);
        if (ZSTD_isError(left))
            return unpack_damaged(cx, unpacker, ZSTD_getErrorName(left));
        unpacker->whole = left == 0;
        ALM_TRY(unpack_give(cx, unpacker, to.pos, take, arg));
        more = in.pos < in.size || (to.pos == STEP && !unpacker->whole);
    }
    return ALM_OK;
}

alm_status alm_unpack(alm_ctx *cx, alm_unpacker *unpacker, alm_str piece, alm_unpack_take take,
                      void *arg)
{
    while (piece.len > 0) {
        const alm_str part = {piece.ptr, ALM_MIN(piece.len, (size_t)PIECE_MAX)};
        ALM_TRY(unpacker->form == ALM_PACK_ZSTD
                    ? compress_unpack_zstd(cx, unpacker, part, take, arg)
                    : compress_unpack_gzip(cx, unpacker, part, take, arg));
        piece = (alm_str){piece.ptr + part.len, piece.len - part.len};
    }
    return ALM_OK;
}

bool alm_unpacker_is_whole(const alm_unpacker *unpacker)
{
    return unpacker->whole;
}

const char *alm_unpacker_name(const alm_unpacker *unpacker)
{
    return unpacker->form == ALM_PACK_ZSTD ? "zstd" : "gzip";
}

void alm_unpacker_free(alm_unpacker *unpacker)
{
    if (unpacker == NULL)
        return;
    if (unpacker->form == ALM_PACK_GZIP)
        (void)inflateEnd(&unpacker->gzip);
    (void)ZSTD_freeDCtx(unpacker->zstd);
    free(unpacker);
}
