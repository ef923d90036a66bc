/* pool_test.c - every item runs once; long items hold up no others; threads end with the pool. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "net/conn/pool.h"

typedef struct test_item {
    alm_thread_pool_item item;
    _Atomic int64_t *ran;
    _Atomic bool *gate; /* not NULL: runs until it opens */
    int64_t pause_us;
} test_item;

static void pause_us(int64_t us)
{
    const struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    (void)nanosleep(&t, NULL);
}

static void run_item(alm_thread_pool_item *item)
{
    test_item *t = (test_item *)item;
    while (t->gate != NULL && !atomic_load(t->gate))
        pause_us(200);
    if (t->pause_us > 0)
        pause_us(t->pause_us);
    atomic_fetch_add(t->ran, 1);
}

static alm_thread_pool *new_pool(uint32_t threads)
{
    alm_ctx cx = {0};
    alm_thread_pool *pool = NULL;
    assert_int_equal(alm_thread_pool_new(&cx, threads, 2, &pool), ALM_OK);
    return pool;
}

/* Up to 20 s: a busy machine is no failure. */
static bool reaches(_Atomic int64_t *count, int64_t n)
{
    for (int i = 0; i < 20000 && atomic_load(count) < n; i++)
        pause_us(1000);
    return atomic_load(count) == n;
}

enum { SUBMITTERS = 4, EACH = 5000 };

typedef struct submitter {
    alm_thread_pool *pool;
    _Atomic int64_t *ran;
    test_item items[EACH];
} submitter;

static void *submit_all(void *arg)
{
    submitter *s = arg;
    for (int i = 0; i < EACH; i++) {
        s->items[i] =
            (test_item){.item.run = run_item, .ran = s->ran, .pause_us = i % 997 == 0 ? 1500 : 0};
        alm_thread_pool_submit(s->pool, &s->items[i].item);
        if (i % 500 == 0)
            pause_us(1300); /* the pool falls asleep in between */
    }
    return NULL;
}

static void test_all_items_run(void **state)
{
    (void)state;
    _Atomic int64_t ran = 0;
    for (uint32_t threads = 1; threads <= 16; threads *= 4) {
        atomic_store(&ran, 0);
        alm_thread_pool *pool = new_pool(threads);
        submitter *s = calloc(SUBMITTERS, sizeof(*s));
        pthread_t thread[SUBMITTERS];
        for (int i = 0; i < SUBMITTERS; i++) {
            s[i].pool = pool;
            s[i].ran = &ran;
            assert_int_equal(pthread_create(&thread[i], NULL, submit_all, &s[i]), 0);
        }
        for (int i = 0; i < SUBMITTERS; i++)
            (void)pthread_join(thread[i], NULL);
        alm_thread_pool_free(pool); /* finishes what waits */
        assert_int_equal(atomic_load(&ran), SUBMITTERS * EACH);
        free(s);
    }
}

/* As many that never end as there are threads but one: all others run. */
static void test_long_items_hold_up_nobody(void **state)
{
    (void)state;
    enum { THREADS = 32, SHORT = 2000 };
    _Atomic int64_t ran = 0, long_ran = 0;
    _Atomic bool gate = false;
    static test_item wait[THREADS - 1], quick[SHORT];
    alm_thread_pool *pool = new_pool(THREADS);
    for (int i = 0; i < THREADS - 1; i++) {
        wait[i] = (test_item){.item.run = run_item, .ran = &long_ran, .gate = &gate};
        alm_thread_pool_submit(pool, &wait[i].item);
    }
    for (int i = 0; i < SHORT; i++) {
        quick[i] = (test_item){.item.run = run_item, .ran = &ran};
        alm_thread_pool_submit(pool, &quick[i].item);
    }
    assert_true(reaches(&ran, SHORT));
    assert_int_equal(atomic_load(&long_ran), 0);
    atomic_store(&gate, true);
    assert_true(reaches(&long_ran, THREADS - 1));
    alm_thread_pool_free(pool);
}

/* One after the other, with pauses in which the minder and the threads fall asleep. */
static void test_single_items_after_rests(void **state)
{
    (void)state;
    _Atomic int64_t ran = 0;
    test_item one = {.item.run = run_item, .ran = &ran};
    alm_thread_pool *pool = new_pool(4);
    for (int i = 1; i <= 200; i++) {
        alm_thread_pool_submit(pool, &one.item);
        assert_true(reaches(&ran, i));
        if (i % 10 == 0)
            pause_us(2500);
    }
    alm_thread_pool_free(pool);
}

/* Fewer: what waits runs one after the other, also where many threads were idle. More again: beside each other. */
static void test_the_limit_changes(void **state)
{
    (void)state;
    enum { ITEMS = 8 };
    _Atomic int64_t ran = 0;
    _Atomic bool gate = false;
    static test_item item[ITEMS];
    alm_thread_pool *pool = new_pool(ITEMS);
    for (int round = 0; round < 3; round++) {
        const uint32_t limit = round == 1 ? 1 : ITEMS;
        atomic_store(&ran, 0);
        atomic_store(&gate, false);
        alm_thread_pool_limit(pool, limit);
        for (int i = 0; i < ITEMS; i++) { /* the first waits for the gate, and the last opens it */
            item[i] = (test_item){.item.run = run_item, .ran = &ran, .gate = i == 0 ? &gate : NULL};
            alm_thread_pool_submit(pool, &item[i].item);
        }
        pause_us(20000);
        if (limit == 1)
            assert_int_equal(atomic_load(&ran), 0);
        else
            assert_true(reaches(&ran, ITEMS - 1));
        atomic_store(&gate, true);
        assert_true(reaches(&ran, ITEMS));
    }
    alm_thread_pool_free(pool);
}

/* However many one owner has submitted: a thread is left to others, who do not wait for his. Nobody's pieces take all. */
static void test_an_owner_leaves_threads(void **state)
{
    (void)state;
    enum { THREADS = 8, MANY = 40 };
    _Atomic int64_t ran = 0, many_ran = 0;
    _Atomic bool gate = false;
    static test_item many[MANY], other[4];
    for (uint64_t owner = 0; owner < 2; owner++) {
        alm_thread_pool *pool = new_pool(THREADS);
        atomic_store(&gate, false);
        atomic_store(&ran, 0);
        atomic_store(&many_ran, 0);
        for (int i = 0; i < MANY; i++) {
            many[i] = (test_item){
                .item = {.run = run_item, .owner = owner}, .ran = &many_ran, .gate = &gate};
            alm_thread_pool_submit(pool, &many[i].item);
        }
        for (int i = 0; i < 4; i++) {
            other[i] = (test_item){.item = {.run = run_item, .owner = 7}, .ran = &ran};
            alm_thread_pool_submit(pool, &other[i].item);
        }
        if (owner != 0) {
            assert_true(reaches(&ran, 4));
        } else {
            pause_us(100000);
            assert_int_equal(atomic_load(&ran), 0);
        }
        assert_true(alm_thread_pool_is_full(pool));
        assert_int_equal(atomic_load(&many_ran), 0);
        atomic_store(&gate, true);
        assert_true(reaches(&many_ran, MANY));
        assert_true(reaches(&ran, 4));
        assert_false(alm_thread_pool_is_full(pool));
        alm_thread_pool_free(pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_limit_changes),
        cmocka_unit_test(test_an_owner_leaves_threads),
        cmocka_unit_test(test_all_items_run),
        cmocka_unit_test(test_long_items_hold_up_nobody),
        cmocka_unit_test(test_single_items_after_rests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
