/*
 * pack_test.c - goal: packed pieces of any size unpack to what went in. Method: streams of pieces, some of them
 * empty, some that do not shrink; gzip is read back by the reader of bodies, zstd by its library.
 */
#include "codec/compress/pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>
#include <zstd.h>

#include "codec/compress/gzip.h"

static char byte_of(size_t i, bool noise)
{
    const uint64_t x = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
    return noise ? (char)(x >> 56) : (char)('a' + i / 7 % 11);
}

static void unpack(alm_ctx *cx, alm_pack_form form, alm_str packed, size_t most, alm_buf *out)
{
    if (form == ALM_PACK_GZIP) {
        assert_int_equal(alm_gzip_inflate(cx, packed, most, "test", out), ALM_OK);
        return;
    }
    ZSTD_DCtx *z = ZSTD_createDCtx();
    assert_int_equal(alm_buf_reserve(cx, out, most), ALM_OK);
    ZSTD_inBuffer in = {packed.ptr, packed.len, 0};
    ZSTD_outBuffer to = {out->ptr, most, 0};
    assert_int_equal(ZSTD_decompressStream(z, &to, &in), 0); /* the frame is complete */
    assert_int_equal(in.pos, in.size);
    out->len = to.pos;
    (void)ZSTD_freeDCtx(z);
}

static void there_and_back(alm_pack_form form, const size_t *pieces, size_t n, bool noise)
{
    alm_ctx cx = {0};
    alm_buf in, packed, back;
    alm_packer *p = NULL;
    alm_buf_init(&in, NULL);
    alm_buf_init(&packed, NULL);
    alm_buf_init(&back, NULL);
    assert_int_equal(alm_packer_new(&cx, form, &p), ALM_OK);
    for (size_t i = 0; i < n; i++) {
        const size_t from = in.len;
        for (size_t k = 0; k < pieces[i]; k++) {
            const char c = byte_of(in.len, noise);
            assert_int_equal(alm_buf_append(&cx, &in, &c, 1), ALM_OK);
        }
        const alm_str piece = {in.ptr == NULL ? "" : in.ptr + from, pieces[i]};
        assert_int_equal(alm_pack(&cx, p, piece, i + 1 == n, &packed), ALM_OK);
    }
    unpack(&cx, form, (alm_str){packed.ptr, packed.len}, in.len + 64, &back);
    assert_int_equal(back.len, in.len);
    if (in.len > 0)
        assert_memory_equal(back.ptr, in.ptr, in.len);
    alm_packer_free(p);
    alm_buf_deinit(&in);
    alm_buf_deinit(&packed);
    alm_buf_deinit(&back);
}

static void test_pieces(void **state)
{
    (void)state;
    static const size_t one[] = {0}, small[] = {1, 0, 2, 3},
                        large[] = {100000, 1, 16384, 300000, 0};
    for (int form = ALM_PACK_GZIP; form <= ALM_PACK_ZSTD; form++)
        for (int noise = 0; noise < 2; noise++) {
            there_and_back((alm_pack_form)form, one, 1, noise);
            there_and_back((alm_pack_form)form, small, 4, noise);
            there_and_back((alm_pack_form)form, large, 5, noise);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pieces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
