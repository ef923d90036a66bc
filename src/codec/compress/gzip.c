/*
 * gzip.c - gzip by libdeflate, which wants to know how much comes out: the size in the trailer is a guess
 * only (a sender may lie), so room grows until it is enough or the limit is passed.
 */
#include "codec/compress/gzip.h"

#include <libdeflate.h>

enum { GUESS_FACTOR = 4, GUESS_LEAST = 64 << 10 };

static alm_status inflate_member(alm_ctx *cx, struct libdeflate_decompressor *decompressor,
                                 alm_str *text, size_t limit, const char *limit_name, alm_buf *out)
{
    size_t room = ALM_MIN(ALM_MAX(text->len * GUESS_FACTOR, (size_t)GUESS_LEAST), limit - out->len);
    for (;;) {
        size_t taken = 0, made = 0;
        ALM_TRY(alm_buf_reserve(cx, out, room));
        const enum libdeflate_result got = libdeflate_gzip_decompress_ex(
            decompressor, text->ptr, text->len, out->ptr + out->len, room, &taken, &made);
        if (got == LIBDEFLATE_SUCCESS) {
            out->len += made;
            *text = (alm_str){text->ptr + taken, text->len - taken};
            return ALM_OK;
        }
        if (got != LIBDEFLATE_INSUFFICIENT_SPACE)
            return alm_fail(cx, ALM_E_FORMAT, -1, "the body is not gzip, or damaged");
        if (room == limit - out->len)
            return alm_fail(cx, ALM_E_LIMIT, -1,
                            "the body is over %zu bytes when unpacked: the limit is %s", limit,
                            limit_name);
        room = ALM_MIN(room * 2, limit - out->len);
    }
}

alm_status alm_gzip_inflate(alm_ctx *cx, alm_str text, size_t limit, const char *limit_name,
                            alm_buf *out)
{
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    if (decompressor == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory to unpack a body");
    alm_status status = ALM_OK;
    do
        status = inflate_member(cx, decompressor, &text, limit, limit_name, out);
    while (status == ALM_OK && text.len > 0);
    libdeflate_free_decompressor(decompressor);
    return status;
}
