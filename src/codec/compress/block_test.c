/* Goal: each form unpacks what it packs, to exactly its size. Method: round trips over sizes and kinds of
 * bytes; a wrong size, cut and changed bytes are refused or unpack to the size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codec/compress/block.h"

enum { BYTES_MAX = 100000 };
static const alm_block_form forms[] = {ALM_BLOCK_RAW,       ALM_BLOCK_SNAPPY, ALM_BLOCK_GZIP,
                                       ALM_BLOCK_BROTLI,    ALM_BLOCK_ZSTD,   ALM_BLOCK_LZ4,
                                       ALM_BLOCK_LZ4_HADOOP};
static char in[BYTES_MAX], out[BYTES_MAX + 1];

static void fill(size_t n, uint32_t kind)
{
    uint32_t x = 1 + kind;
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525U + 1013904223U;
        in[i] = kind == 0 ? 'a' : (char)(kind == 1 ? (x >> 24) % 4 : x >> 24);
    }
}

static void round_trips(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 5, 100, 4096, BYTES_MAX};
    alm_ctx cx = {0};
    alm_block_codec c = {0};
    for (size_t f = 0; f < ALM_COUNT(forms); f++)
        for (size_t s = 0; s < ALM_COUNT(sizes); s++)
            for (uint32_t kind = 0; kind < 3; kind++) {
                alm_buf buf;
                const size_t n = sizes[s];
                alm_buf_init(&buf, NULL);
                fill(n, kind);
                assert_int_equal(alm_block_pack(&cx, &c, forms[f], 0, (alm_str){in, n}, &buf),
                                 ALM_OK);
                const alm_str packed = {buf.ptr, buf.len};
                assert_null(alm_block_unpack(&c, forms[f], packed, out, n));
                assert_memory_equal(in, out, n);
                if (n > 1)
                    assert_non_null(alm_block_unpack(&c, forms[f], packed, out, n - 1));
                assert_non_null(alm_block_unpack(&c, forms[f], packed, out, n + 1));
                alm_buf_deinit(&buf);
            }
    alm_block_codec_deinit(&c);
}

static void members_of_gzip(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_block_codec c = {0};
    alm_buf buf;
    alm_buf_init(&buf, NULL);
    fill(1000, 1);
    assert_int_equal(alm_block_pack(&cx, &c, ALM_BLOCK_GZIP, 1, (alm_str){in, 400}, &buf), ALM_OK);
    assert_int_equal(alm_block_pack(&cx, &c, ALM_BLOCK_GZIP, 9, (alm_str){in + 400, 600}, &buf),
                     ALM_OK);
    assert_null(alm_block_unpack(&c, ALM_BLOCK_GZIP, (alm_str){buf.ptr, buf.len}, out, 1000));
    assert_memory_equal(in, out, 1000);
    alm_buf_deinit(&buf);
    alm_block_codec_deinit(&c);
}

/* Any outcome but a crash or a write beyond the end (the sanitizers see those). */
static void bad_bytes(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_block_codec c = {0};
    for (size_t f = 0; f < ALM_COUNT(forms); f++) {
        alm_buf buf;
        alm_buf_init(&buf, NULL);
        fill(3000, 1);
        assert_int_equal(alm_block_pack(&cx, &c, forms[f], 0, (alm_str){in, 3000}, &buf), ALM_OK);
        char *room = malloc(3000);
        assert_non_null(room);
        for (size_t i = 0; i < buf.len; i += 7) {
            buf.ptr[i] = (char)(buf.ptr[i] ^ 0x55);
            (void)!alm_block_unpack(&c, forms[f], (alm_str){buf.ptr, buf.len}, room, 3000);
            assert_non_null(alm_block_unpack(&c, forms[f], (alm_str){buf.ptr, i / 2}, room, 3000));
            buf.ptr[i] = (char)(buf.ptr[i] ^ 0x55);
        }
        free(room);
        alm_buf_deinit(&buf);
    }
    alm_block_codec_deinit(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(round_trips),
                                       cmocka_unit_test(members_of_gzip),
                                       cmocka_unit_test(bad_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
