/*
 * fuzz_unpack.c - gzip and zstd bytes: byte 0 is the size of pieces, byte 1 the form and the limit; byte 1 with its highest bit
 * has the rest packed first, so that good streams come as well.
 *
 * Where both are taken the bytes must not depend on the pieces, and they are never over the limit. Whether a damaged stream is
 * refused may: zstd checks more of a frame that it has whole.
 */
#include <stdlib.h>

#include "codec/compress/unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static alm_status take(alm_ctx *cx, void *arg, const char *bytes, size_t n)
{
    return alm_buf_append(cx, arg, bytes, n);
}

static alm_status unpack(alm_pack_form form, uint64_t limit, alm_str in, size_t piece, alm_buf *out)
{
    alm_ctx cx = {0};
    alm_unpacker *u = NULL;
    ALM_ASSERT(alm_unpacker_new(&cx, form, limit, "limit", &u) == ALM_OK);
    alm_status st = ALM_OK;
    for (size_t at = 0; st == ALM_OK && at < in.len; at += piece) {
        const size_t m = ALM_MIN(piece, in.len - at);
        char *copy = malloc(m + 1);
        ALM_ASSERT(copy != NULL);
        (void)memcpy(copy, in.ptr + at, m);
        st = alm_unpack(&cx, u, (alm_str){copy, m}, take, out);
        free(copy);
    }
    if (st == ALM_OK && !alm_unpacker_is_whole(u))
        st = ALM_E_FORMAT;
    alm_unpacker_free(u);
    return st;
}

static void pack(alm_pack_form form, alm_str in, alm_buf *out)
{
    alm_ctx cx = {0};
    alm_packer *p = NULL;
    ALM_ASSERT(alm_packer_new(&cx, form, &p) == ALM_OK);
    ALM_ASSERT(alm_pack(&cx, p, in, true, out) == ALM_OK);
    alm_packer_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n < 3)
        return 0;
    const alm_pack_form form = data[1] & 1 ? ALM_PACK_GZIP : ALM_PACK_ZSTD;
    const uint64_t limit = UINT64_C(1) << (data[1] >> 1 & 15) << 4;
    alm_str in = {(const char *)data + 2, n - 2};
    const bool good = data[1] & 0x80;
    alm_buf packed, whole, cut;
    alm_buf_init(&packed, NULL);
    alm_buf_init(&whole, NULL);
    alm_buf_init(&cut, NULL);
    if (good)
        pack(form, in, &packed);
    const alm_str bytes = good ? (alm_str){packed.ptr, packed.len} : in;
    const alm_status a = unpack(form, limit, bytes, bytes.len, &whole);
    const alm_status b = unpack(form, limit, bytes, data[0] + 1u, &cut);
    ALM_ASSERT(whole.len <= limit && cut.len <= limit);
    if (a == ALM_OK && b == ALM_OK)
        ALM_ASSERT(alm_str_eq((alm_str){whole.ptr, whole.len}, (alm_str){cut.ptr, cut.len}));
    if (good)
        ALM_ASSERT(a == b && a == (in.len <= limit ? ALM_OK : ALM_E_LIMIT) &&
                   (a != ALM_OK || alm_str_eq((alm_str){whole.ptr, whole.len}, in)));
    alm_buf_deinit(&packed);
    alm_buf_deinit(&whole);
    alm_buf_deinit(&cut);
    return 0;
}
