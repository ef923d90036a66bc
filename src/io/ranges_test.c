/*
 * Goal: every address finds its range, whatever was added and removed before, and while that goes on. Method: random changes
 * beside an array that is searched from end to end; threads that search for ranges that stay while others come and go.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/ranges.h"

#if defined(__SANITIZE_THREAD__)
enum { MANY = 20000 }; /* each access is recorded */
#else
enum { MANY = 200000 };
#endif
enum { PAGE = 4096, PLACES = 4000, STEPS = MANY / 5 };

/* The k-th place of addresses; never read. */
static const void *place(uint64_t k)
{
    return (const void *)(uintptr_t)((k + 1) * 16 * PAGE);
}

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(*seed >> 33);
}

static void as_a_plain_array(void **state)
{
    (void)state;
    static size_t bytes[PLACES]; /* 0: not there */
    static char owners[PLACES];
    alm_ranges r = ALM_RANGES_INIT;
    uint64_t seed = 1;
    for (uint32_t step = 0; step < STEPS; step++) {
        /* at first more come than go, then more go */
        const uint32_t k = next_random(&seed) % PLACES;
        const bool add = next_random(&seed) % 4 < (step < STEPS / 2 ? 3U : 1U);
        if (add && bytes[k] == 0) {
            bytes[k] = (size_t)(1 + next_random(&seed) % 16) * PAGE;
            assert_true(alm_ranges_add(&r, place(k), bytes[k], &owners[k]));
        } else if (!add && bytes[k] > 0) {
            alm_ranges_remove(&r, place(k));
            bytes[k] = 0;
        }
        const uint32_t asked = next_random(&seed) % PLACES;
        const size_t off = next_random(&seed) % (16 * PAGE);
        const void *want = off < bytes[asked] ? &owners[asked] : NULL;
        assert_ptr_equal(alm_ranges_find(&r, (const char *)place(asked) + off), want);
        uint32_t first = asked;
        while (first < asked + 3 && first < PLACES && bytes[first] == 0)
            first++;
        want = first < asked + 3 && first < PLACES ? &owners[first] : NULL;
        assert_ptr_equal(alm_ranges_first(&r, place(asked), (size_t)3 * 16 * PAGE), want);
    }
    alm_ranges_deinit(&r);
}

static void any_number(void **state)
{
    (void)state;
    alm_ranges r = ALM_RANGES_INIT;
    char *owners = calloc(MANY, 1);
    assert_non_null(owners);
    for (uint32_t i = 0; i < MANY;
         i++) { /* downwards in the first half, as the system does; upwards in the other */
        const uint32_t k = i < MANY / 2 ? MANY / 2 - 1 - i : i;
        assert_true(alm_ranges_add(&r, place(k), PAGE, &owners[k]));
    }
    for (uint32_t k = 0; k < MANY; k++) {
        assert_ptr_equal(alm_ranges_find(&r, (const char *)place(k) + PAGE - 1), &owners[k]);
        assert_null(alm_ranges_find(&r, (const char *)place(k) + PAGE));
    }
    for (uint32_t k = 0; k < MANY; k++)
        alm_ranges_remove(&r, place(k));
    assert_null(alm_ranges_find(&r, place(1)));
    assert_null(alm_ranges_first(&r, place(0), SIZE_MAX / 2));
    alm_ranges_deinit(&r);
    free(owners);
}

typedef struct searched {
    alm_ranges r;
    char owners[PLACES];
    atomic_bool stop;
} searched;

/* Even places stay, odd ones come and go. */
static void *search(void *arg)
{
    searched *s = arg;
    uint64_t seed = 7;
    int64_t wrong = 0;
    while (!atomic_load(&s->stop)) {
        const uint32_t k = next_random(&seed) % PLACES;
        const void *found = alm_ranges_find(&s->r, place(k));
        wrong += k % 2 == 0 ? found != &s->owners[k] : found != NULL && found != &s->owners[k];
    }
    return (void *)(intptr_t)wrong;
}

static void while_others_change(void **state)
{
    (void)state;
    enum { THREADS = 2, TURNS = 4 };
    searched s = {.r = ALM_RANGES_INIT};
    pthread_t threads[THREADS];
    for (uint32_t k = 0; k < PLACES; k += 2)
        assert_true(alm_ranges_add(&s.r, place(k), PAGE, &s.owners[k]));
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, search, &s), 0);
    for (int turn = 0; turn < TURNS; turn++) {
        for (uint32_t k = 1; k < PLACES; k += 2)
            assert_true(alm_ranges_add(&s.r, place(k), PAGE, &s.owners[k]));
        for (uint32_t k = 1; k < PLACES; k += 2)
            alm_ranges_remove(&s.r, place(k));
    }
    atomic_store(&s.stop, true);
    for (int i = 0; i < THREADS; i++) {
        void *wrong = NULL;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    alm_ranges_deinit(&s.r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_a_plain_array),
                                       cmocka_unit_test(any_number),
                                       cmocka_unit_test(while_others_change)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
