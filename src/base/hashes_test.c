/*
 * hashes_test.c - against a plain list: every number that was added with a hash is found, in order, and no other;
 * also where many have one hash.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hashes.h"

static void check_all(const alm_hashes *set, const uint64_t *hash, uint32_t n, uint64_t wanted)
{
    uint32_t at = 0, number = 0, from = 0;
    while (alm_hashes_next(set, wanted, &at, &number)) {
        while (from < n && hash[from] != wanted)
            from++;
        assert_true(from < n);
        assert_int_equal(number, from++);
    }
    for (; from < n; from++)
        assert_true(hash[from] != wanted);
}

static void finds_what_was_added(void **state)
{
    enum { N = 3000 };
    static uint64_t hash[N];
    alm_arena arena;
    alm_ctx cx = {.arena = &arena};
    (void)state;
    for (uint64_t kinds = 1; kinds <= N; kinds *= 7) {
        alm_hashes set = {0};
        alm_arena_init(&arena, NULL);
        for (uint32_t i = 0; i < N; i++) {
            hash[i] = (i * UINT64_C(2654435761) % kinds) << (kinds % 3 == 0 ? 40 : 0);
            assert_int_equal(alm_hashes_add(&cx, &arena, &set, hash[i]), ALM_OK);
            if (i % 500 == 0)
                check_all(&set, hash, i + 1, hash[i]);
        }
        for (uint32_t i = 0; i < N; i += 97)
            check_all(&set, hash, N, hash[i]);
        check_all(&set, hash, N, UINT64_MAX);
        alm_arena_deinit(&arena);
    }
}

static void an_empty_one_has_nothing(void **state)
{
    const alm_hashes set = {0};
    uint32_t at = 0, number = 0;
    (void)state;
    assert_false(alm_hashes_next(&set, 0, &at, &number));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_was_added),
        cmocka_unit_test(an_empty_one_has_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
