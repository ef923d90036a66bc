/*
 * hash_test.c - goal: checksums are the published ones whichever way they are computed; hashes
 * spread; the map behaves as a list of pairs does. Method: test vectors, the bitwise definition,
 * random operations against a plain array.
 */
#include "base/crc32c.h"
#include "base/hash.h"
#include "base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static uint32_t crc_bitwise(uint32_t crc, const uint8_t *at, size_t n)
{
    crc = ~crc;
    for (size_t i = 0; i < n; i++) {
        crc ^= at[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (0x82F63B78 & (0U - (crc & 1)));
    }
    return ~crc;
}

static void test_crc_vectors(void **state)
{
    (void)state;
    uint8_t bytes[32];
    assert_int_equal(alm_crc32c(0, "123456789", 9), 0xE3069283);
    assert_int_equal(alm_crc32c(0, "", 0), 0);
    memset(bytes, 0, sizeof(bytes));
    assert_int_equal(alm_crc32c(0, bytes, 32), 0x8A9136AA); /* RFC 3720 B.4 */
    memset(bytes, 0xFF, sizeof(bytes));
    assert_int_equal(alm_crc32c(0, bytes, 32), 0x62A8AB43);
    for (uint8_t i = 0; i < 32; i++)
        bytes[i] = i;
    assert_int_equal(alm_crc32c(0, bytes, 32), 0x46DD794E);
}

static void test_crc_lengths(void **state)
{
    (void)state;
    enum { N = 8000 };
    static uint8_t bytes[N];
    uint32_t seed = 1;
    for (size_t i = 0; i < N; i++) {
        seed = seed * 1664525 + 1013904223;
        bytes[i] = (uint8_t)(seed >> 24);
    }
    for (size_t n = 0; n < N; n = n < 500 ? n + 1 : n + 377) {
        for (size_t offset = 0; offset < 3 && offset + n <= N; offset++) {
            const uint32_t want = crc_bitwise(0, bytes + offset, n);
            assert_int_equal(alm_crc32c(0, bytes + offset, n), want);
            assert_int_equal(alm_crc32c_tables(0, bytes + offset, n), want);
        }
    }
    for (size_t cut = 0; cut < 2000; cut += 97) { /* in two pieces */
        const uint32_t first = alm_crc32c(0, bytes, cut);
        assert_int_equal(alm_crc32c(first, bytes + cut, N - cut), alm_crc32c_tables(0, bytes, N));
    }
}

static int compare_u64(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void test_hash_spreads(void **state)
{
    (void)state;
    enum { N = 100000 };
    uint64_t *hashes = malloc(N * sizeof(uint64_t));
    assert_non_null(hashes);
    for (int step = 0; step < 4; step++) { /* small, timestamps, high bits only, two columns */
        for (uint64_t i = 0; i < N; i++)
            hashes[i] = step == 0   ? alm_hash_u64(i)
                        : step == 1 ? alm_hash_u64(UINT64_C(1700000000000000) + i * 1000000)
                        : step == 2
                            ? alm_hash_u64(i << 40)
                            : alm_hash_combine(alm_hash_u64(i / 300), alm_hash_u64(i % 300));
        uint32_t low[256] = {0}, high[256] = {0};
        for (size_t i = 0; i < N; i++) {
            low[hashes[i] & 0xFF]++;
            high[hashes[i] >> 56]++;
        }
        for (size_t b = 0; b < 256; b++) { /* 390 expected, deviation 20 */
            assert_in_range(low[b], 270, 510);
            assert_in_range(high[b], 270, 510);
        }
        qsort(hashes, N, sizeof(uint64_t), compare_u64);
        for (size_t i = 1; i < N; i++)
            assert_true(hashes[i] != hashes[i - 1]);
    }
    free(hashes);
    assert_true(alm_hash_u128(1, 2) != alm_hash_u128(2, 1));
    assert_true(alm_hash_combine(1, 2) != alm_hash_combine(2, 1));
    assert_true(alm_hash_bytes("a", 1) != alm_hash_bytes("b", 1));
    assert_int_equal(alm_hash_str_nocase(ALM_STR("Trades_Z")),
                     alm_hash_str_nocase(ALM_STR("tRADES_z")));
    char a[300], b[300]; /* longer than the piece that is folded at once */
    memset(a, 'q', sizeof(a));
    memset(b, 'Q', sizeof(b));
    assert_int_equal(alm_hash_str_nocase((alm_str){a, 300}),
                     alm_hash_str_nocase((alm_str){b, 300}));
    a[299] = 'r';
    assert_true(alm_hash_str_nocase((alm_str){a, 300}) != alm_hash_str_nocase((alm_str){b, 300}));
}

static void test_map_against_array(void **state)
{
    (void)state;
    enum { KEYS = 500, ROUNDS = 20000 };
    static char names[KEYS][8];
    static void *want[KEYS];
    alm_ctx cx = {0};
    alm_map map;
    alm_map_init(&map, false);
    uint32_t seed = 1;
    for (int i = 0; i < KEYS; i++)
        (void)snprintf(names[i], sizeof(names[i]), "k%d", i);
    for (int round = 0; round < ROUNDS; round++) {
        seed = seed * 1664525 + 1013904223;
        const size_t i = (seed >> 8) % KEYS;
        const alm_str key = alm_str_of(names[i]);
        if ((seed >> 28) % 2 == 0) {
            void *old = (void *)1;
            void *value = &names[seed % KEYS];
            assert_int_equal(alm_map_put(&cx, &map, key, value, &old), ALM_OK);
            assert_ptr_equal(old, want[i]);
            want[i] = value;
        } else {
            assert_ptr_equal(alm_map_remove(&map, key), want[i]);
            want[i] = NULL;
        }
        if (round % 500 == 0) {
            size_t count = 0;
            for (size_t k = 0; k < KEYS; k++) {
                assert_ptr_equal(alm_map_get(&map, alm_str_of(names[k])), want[k]);
                count += want[k] != NULL;
            }
            assert_int_equal(map.count, count);
            for (size_t at = 0; alm_map_next(&map, &at) != NULL;)
                count--;
            assert_int_equal(count, 0);
        }
    }
    alm_map_deinit(&map);
}

static void test_map_without_case(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_map map;
    int a = 0, b = 0;
    void *old = NULL;
    alm_map_init(&map, true);
    assert_null(alm_map_get(&map, ALM_STR("x")));
    assert_null(alm_map_remove(&map, ALM_STR("x")));
    assert_int_equal(alm_map_put(&cx, &map, ALM_STR("Trades"), &a, NULL), ALM_OK);
    assert_ptr_equal(alm_map_get(&map, ALM_STR("tRADES")), &a);
    assert_int_equal(alm_map_put(&cx, &map, ALM_STR("TRADES"), &b, &old), ALM_OK);
    assert_ptr_equal(old, &a);
    assert_int_equal(map.count, 1);
    assert_int_equal(alm_map_put(&cx, &map, (alm_str){0}, &a, NULL), ALM_OK); /* empty is a key */
    assert_ptr_equal(alm_map_get(&map, ALM_STR("")), &a);
    assert_ptr_equal(alm_map_remove(&map, ALM_STR("trades")), &b);
    assert_int_equal(map.count, 1);
    alm_map_deinit(&map);
}

static void test_speed(void **state)
{
    (void)state;
    if (getenv("ALM_BENCH") == NULL)
        skip();
    enum { N = 1 << 20, ROUNDS = 200 };
    uint8_t *bytes = calloc(1, N);
    assert_non_null(bytes);
    uint32_t crc = 0;
    int64_t t0 = alm_monotonic_ns();
    for (int i = 0; i < ROUNDS; i++)
        crc = alm_crc32c(crc, bytes, N);
    const int64_t fast_ns = alm_monotonic_ns() - t0;
    t0 = alm_monotonic_ns();
    for (int i = 0; i < ROUNDS / 10; i++)
        crc = alm_crc32c_tables(crc, bytes, N);
    const int64_t table_ns = alm_monotonic_ns() - t0;
    print_message("crc32c %.1f GB/s, by tables %.1f GB/s (%u)\n",
                  (double)((int64_t)N * ROUNDS) / (double)fast_ns,
                  (double)((int64_t)N * ROUNDS / 10) / (double)table_ns, crc);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crc_vectors),      cmocka_unit_test(test_crc_lengths),
        cmocka_unit_test(test_hash_spreads),     cmocka_unit_test(test_map_against_array),
        cmocka_unit_test(test_map_without_case), cmocka_unit_test(test_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
