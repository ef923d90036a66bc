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
    alm_unpacker *u = calloc(1, sizeof *u);
    bool ready = false;
    ALM_ASSERT(form != ALM_PACK_NONE);
    if (u != NULL && form == ALM_PACK_ZSTD) {
        u->zstd = ZSTD_createDCtx();
        ready = u->zstd != NULL;
    } else if (u != NULL) {
        ready = inflateInit2(&u->gzip, GZIP_WINDOW) == Z_OK;
    }
    if (u != NULL)
        u->form = ready ? form : ALM_PACK_NONE;
    if (!ready) {
        alm_unpacker_free(u);
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory to unpack a file");
    }
    u->limit = limit;
    u->limit_name = limit_name;
    *out = u;
    return ALM_OK;
}

static alm_status damaged(alm_ctx *cx, const alm_unpacker *u, const char *why)
{
    return alm_fail(cx, ALM_E_FORMAT, -1, "the %s file is damaged behind %llu unpacked bytes%s%s",
                    alm_unpacker_name(u), (unsigned long long)u->made, why != NULL ? ": " : "",
                    why != NULL ? why : "");
}

static alm_status give(alm_ctx *cx, alm_unpacker *u, size_t n, alm_unpack_take take, void *arg)
{
    ALM_TRY(alm_check(cx));
    u->made += n;
    if (u->made > u->limit)
        return alm_fail(cx, ALM_E_LIMIT, -1,
                        "the file is over %llu bytes when unpacked: the limit is %s",
                        (unsigned long long)u->limit, u->limit_name);
    return n > 0 ? take(cx, arg, u->out, n) : ALM_OK;
}

/* Another member may follow, or zeros, with which tapes are filled up. */
static alm_status next_member(alm_ctx *cx, alm_unpacker *u)
{
    z_stream *z = &u->gzip;
    while (z->avail_in > 0 && *z->next_in == 0) {
        z->next_in++;
        z->avail_in--;
    }
    if (z->avail_in == 0)
        return ALM_OK;
    u->whole = false;
    return inflateReset(z) == Z_OK ? ALM_OK : damaged(cx, u, NULL);
}

static alm_status unpack_gzip(alm_ctx *cx, alm_unpacker *u, alm_str piece, alm_unpack_take take,
                              void *arg)
{
    z_stream *z = &u->gzip;
    z->next_in = (Bytef *)(uintptr_t)piece.ptr; /* zlib does not write there */
    z->avail_in = (uInt)piece.len;
    for (bool more = true; more;) {
        if (u->whole)
            ALM_TRY(next_member(cx, u));
        if (u->whole)
            return ALM_OK;
        z->next_out = (Bytef *)u->out;
        z->avail_out = STEP;
        const int code = inflate(z, Z_NO_FLUSH);
        if (code == Z_MEM_ERROR)
            return alm_fail(cx, ALM_E_MEMORY, -1, "no memory to unpack a file");
        if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
            return damaged(cx, u, z->msg);
        u->whole = code == Z_STREAM_END;
        ALM_TRY(give(cx, u, STEP - z->avail_out, take, arg));
        more = z->avail_in > 0 || z->avail_out == 0;
    }
    return ALM_OK;
}

static alm_status unpack_zstd(alm_ctx *cx, alm_unpacker *u, alm_str piece, alm_unpack_take take,
                              void *arg)
{
    ZSTD_inBuffer in = {piece.ptr, piece.len, 0};
    for (bool more = true; more;) {
        ZSTD_outBuffer to = {u->out, STEP, 0};
        const size_t left = ZSTD_decompressStream(u->zstd, &to, &in);
        if (ZSTD_isError(left))
            return damaged(cx, u, ZSTD_getErrorName(left));
        u->whole = left == 0;
        ALM_TRY(give(cx, u, to.pos, take, arg));
        more = in.pos < in.size || (to.pos == STEP && !u->whole);
    }
    return ALM_OK;
}

alm_status alm_unpack(alm_ctx *cx, alm_unpacker *u, alm_str piece, alm_unpack_take take, void *arg)
{
    while (piece.len > 0) {
        const alm_str part = {piece.ptr, ALM_MIN(piece.len, (size_t)PIECE_MAX)};
        ALM_TRY(u->form == ALM_PACK_ZSTD ? unpack_zstd(cx, u, part, take, arg)
                                         : unpack_gzip(cx, u, part, take, arg));
        piece = (alm_str){piece.ptr + part.len, piece.len - part.len};
    }
    return ALM_OK;
}

bool alm_unpacker_is_whole(const alm_unpacker *u)
{
    return u->whole;
}

const char *alm_unpacker_name(const alm_unpacker *u)
{
    return u->form == ALM_PACK_ZSTD ? "zstd" : "gzip";
}

void alm_unpacker_free(alm_unpacker *u)
{
    if (u == NULL)
        return;
    if (u->form == ALM_PACK_GZIP)
        (void)inflateEnd(&u->gzip);
    (void)ZSTD_freeDCtx(u->zstd);
    free(u);
}
