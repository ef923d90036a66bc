/*
 * arena_test.c - goal: memory is aligned, accounted to the byte of its blocks, refused at the limit
 * without a trace, and reused after a reset. Buffers keep their content while they grow.
 */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_alignment_and_content(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    unsigned char *pieces[400];
    for (size_t i = 0; i < 400; i++) {
        const size_t n = i * 7 % 600;
        assert_int_equal(alm_arena_bytes(&cx, &arena, n, &pieces[i]), ALM_OK);
        assert_int_equal((uintptr_t)pieces[i] % (n >= 256 ? 64 : 16), 0);
        memset(pieces[i], (int)(i & 0xFF), n);
    }
    for (size_t i = 0; i < 400; i++)
        for (size_t k = 0; k < i * 7 % 600; k++)
            assert_int_equal(pieces[i][k], i & 0xFF);
    alm_arena_deinit(&arena);
}

static void test_reset_reuses_one_block(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_mem mem = {0};
    alm_arena arena;
    alm_arena_init(&arena, &mem);
    void *piece = NULL;
    for (int i = 0; i < 100; i++)
        assert_int_equal(alm_arena_bytes(&cx, &arena, 10000, &piece), ALM_OK);
    const int64_t full = mem.used_bytes;
    assert_true(full >= 1000000);
    alm_arena_reset(&arena);
    const int64_t kept = mem.used_bytes;
    assert_true(kept > 0 && kept < full);
    for (int round = 0; round < 10; round++) {
        assert_int_equal(alm_arena_bytes(&cx, &arena, (size_t)kept / 2, &piece), ALM_OK);
        assert_int_equal(mem.used_bytes, kept);
        alm_arena_reset(&arena);
    }
    alm_arena_deinit(&arena);
    assert_int_equal(mem.used_bytes, 0);
    assert_true(mem.peak_bytes >= full);
}

static int kept_returns;

static void count_return(void)
{
    kept_returns++;
}

/* In use and released since the last return together never pass the limit by more than a sixteenth. */
static void test_kept_memory_counts(void **state)
{
    enum { K = 1 << 14 }; /* the least that counts */
    (void)state;
    alm_ctx cx = {0};
    alm_mem all = {.limit_bytes = 1600 * K, .return_kept = count_return};
    alm_mem one = {.parent = &all};
    kept_returns = 0;
    assert_int_equal(alm_mem_charge(&cx, &one, 1000 * K, "test"), ALM_OK);
    alm_mem_release(&one, 600 * K);
    assert_int_equal(alm_mem_charge(&cx, &one, 600 * K, "test"), ALM_OK); /* 1000 and 600 */
    assert_int_equal(kept_returns, 0);
    assert_int_equal(alm_mem_charge(&cx, &one, K, "test"), ALM_OK);
    assert_int_equal(kept_returns, 1);
    assert_int_equal(all.released_bytes, 0);
    assert_int_equal(alm_mem_charge(&cx, &one, 590 * K, "test"), ALM_OK);
    alm_mem_release(&one, 99 * K); /* less than a sixteenth of the limit */
    assert_int_equal(alm_mem_charge(&cx, &one, 99 * K, "test"), ALM_OK);
    assert_int_equal(kept_returns, 1);
    alm_mem_release(&one, one.used_bytes);
    assert_int_equal(kept_returns, 1); /* it is asked for when memory is wanted */
    assert_int_equal(alm_mem_charge(&cx, &one, K - 1, "test"), ALM_OK);
    assert_int_equal(kept_returns, 1); /* and that is not for a small piece */
    assert_int_equal(alm_mem_charge(&cx, &one, 100 * K, "test"), ALM_OK);
    assert_int_equal(kept_returns, 2);
    alm_mem_release(&one, one.used_bytes);
    assert_int_equal(all.used_bytes, 0);
    assert_int_equal(all.released_bytes, 100 * K + K - 1);
}

static void test_zero_copy_printf(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_arena arena = {0}; /* zero-initialised is an arena, too */
    struct pair {
        int64_t a, b;
    } *pair = NULL, *many = NULL;
    assert_int_equal(ALM_NEW(&cx, &arena, &pair), ALM_OK);
    assert_true(pair->a == 0 && pair->b == 0);
    assert_int_equal(ALM_NEWN(&cx, &arena, 1000, &many), ALM_OK);
    for (size_t i = 0; i < 1000; i++)
        assert_true(many[i].a == 0 && many[i].b == 0);
    alm_str copy;
    assert_int_equal(alm_arena_copy(&cx, &arena, ALM_STR("abc"), &copy), ALM_OK);
    assert_true(alm_str_eq(copy, ALM_STR("abc")));
    assert_int_equal(alm_arena_copy(&cx, &arena, (alm_str){0}, &copy), ALM_OK);
    assert_int_equal(copy.len, 0);
    const char *text = NULL;
    assert_int_equal(alm_arena_printf(&cx, &arena, &text, "%0500d", 7), ALM_OK);
    assert_int_equal(strlen(text), 500);
    assert_int_equal(alm_arena_zstr(&cx, &arena, ALM_STR("x"), &text), ALM_OK);
    assert_string_equal(text, "x");
    alm_arena_deinit(&arena);
}

static void test_limit_names_account(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_mem total = {.limit_bytes = 1 << 20, .name = "all queries"};
    alm_mem query = {.limit_bytes = 1 << 19, .parent = &total, .name = "query"};
    alm_arena arena;
    alm_arena_init(&arena, &query);
    void *piece = (void *)1;
    assert_int_equal(alm_arena_bytes(&cx, &arena, 1 << 20, &piece), ALM_E_MEMORY);
    assert_ptr_equal(piece, (void *)1);
    assert_non_null(strstr(cx.err.msg, "of query exceeded"));
    assert_int_equal(query.used_bytes, 0);
    assert_int_equal(total.used_bytes, 0);
    alm_error_clear(&cx);
    assert_int_equal(alm_mem_charge(&cx, &total, (1 << 20) - 100, "test"), ALM_OK);
    assert_int_equal(alm_arena_bytes(&cx, &arena, 1000, &piece), ALM_E_MEMORY);
    assert_non_null(strstr(cx.err.msg, "of all queries exceeded"));
    assert_int_equal(query.used_bytes, 0);
    alm_mem_release(&total, (1 << 20) - 100);
    assert_int_equal(total.used_bytes, 0);
    alm_error_clear(&cx);
    assert_int_equal(alm_mem_charge(&cx, &query, 1 << 19, "sort"), ALM_OK); /* up to the limit */
    assert_int_equal(alm_mem_charge(&cx, &query, 1, "sort"), ALM_E_MEMORY);
    assert_non_null(strstr(cx.err.msg, "by=sort"));
    alm_mem_release(&query, 1 << 19);
    alm_arena_deinit(&arena);
}

/* Of the total, the last 64 kB are left to accounts that have charged 8 kB or less. */
static void test_reserve(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    int64_t limit = 0;
    enum { K = 1024 };
    alm_mem total = {.limit_bytes = 1000 * K, .reserve_bytes = 64 * K, .small_bytes = 8 * K};
    alm_mem large = {.parent = &total}, small = {.parent = &total};
    assert_int_equal(alm_mem_room(&large, &limit), 1000 * K);
    assert_int_equal(alm_mem_charge(&cx, &large, 936 * K, "test"), ALM_OK);
    assert_int_equal(alm_mem_room(&large, &limit), 0);
    assert_int_equal(limit, 936 * K);
    assert_int_equal(alm_mem_charge(&cx, &large, 1, "test"), ALM_E_MEMORY);
    assert_int_equal(alm_mem_charge(&cx, &small, 8 * K, "test"), ALM_OK);
    assert_int_equal(alm_mem_charge(&cx, &small, 1, "test"), ALM_E_MEMORY); /* not small any more */
    assert_int_equal(total.used_bytes, 944 * K);
    alm_mem_release(&small, 8 * K);
    alm_mem_release(&large, 936 * K);
}

/* Who gives way, how often it was asked for, and after how many calls its memory is released. */
static alm_mem *gives;
static int asked, releases_at;

static bool make_room(alm_mem *root, const alm_mem *full, const alm_mem *asks, int64_t bytes)
{
    assert_ptr_equal(full, root);
    assert_ptr_not_equal(asks, root);
    assert_true(bytes > 0);
    if (gives == NULL)
        return false;
    atomic_store(&gives->gives_way, full);
    if (++asked == releases_at)
        alm_mem_release(gives, gives->used_bytes);
    return true;
}

static void test_others_give_way(void **state)
{
    (void)state;
    _Atomic int64_t yield_ns = 0;
    alm_mem total = {.limit_bytes = 1000, .make_room = make_room, .name = "all"};
    alm_mem most = {.parent = &total}, asks = {.parent = &total, .limit_bytes = 900};
    alm_ctx cx = {.mem = &asks, .may_wait = true, .yield_ns = &yield_ns}, of_most = {.mem = &most};
    gives = NULL;
    assert_int_equal(alm_mem_charge(&cx, &most, 800, "test"), ALM_OK);
    assert_int_equal(alm_mem_charge(&cx, &asks, 300, "test"), ALM_E_MEMORY);
    alm_error_clear(&cx);
    gives = &most;
    releases_at = 3;
    assert_int_equal(alm_mem_charge(&cx, &asks, 901, "test"), ALM_E_MEMORY); /* its own limit */
    assert_int_equal(asked, 0);
    alm_error_clear(&cx);
    assert_int_equal(alm_check(&of_most), ALM_OK);
    assert_int_equal(alm_mem_charge(&cx, &asks, 300, "test"), ALM_OK);
    assert_int_equal(asked, 3);
    assert_int_equal(asks.used_bytes, 300);
    assert_int_equal(total.used_bytes, 300);
    assert_int_equal(alm_check(&of_most), ALM_E_MEMORY);
    assert_non_null(
        strstr(of_most.err.msg, "memory limit of all exceeded; the one that used most"));
    /* where others wait for the thread */
    cx.may_wait = false;
    releases_at = 0;
    assert_int_equal(alm_mem_charge(&cx, &most, 500, "test"), ALM_OK);
    assert_int_equal(alm_mem_charge(&cx, &asks, 500, "test"), ALM_E_MEMORY);
    alm_error_clear(&cx);
    yield_ns = 1;
    assert_int_equal(alm_mem_charge(&cx, &asks, 500, "test"), ALM_E_YIELD);
    assert_int_equal(total.used_bytes, 800);
    /* who waits and has to give way itself */
    alm_error_clear(&cx);
    cx.may_wait = true;
    yield_ns = 0;
    gives = &asks;
    assert_int_equal(alm_mem_charge(&cx, &asks, 500, "test"), ALM_E_MEMORY);
    assert_int_equal(asks.used_bytes, 300);
}

static void test_absurd_sizes(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    void *piece = NULL;
    assert_int_equal(alm_arena_bytes(&cx, &arena, SIZE_MAX - 100, &piece), ALM_E_MEMORY);
    alm_error_clear(&cx);
    alm_buf buf;
    alm_buf_init(&buf, NULL);
    assert_int_equal(alm_buf_reserve(&cx, &buf, SIZE_MAX - 100), ALM_E_MEMORY);
    alm_buf_deinit(&buf);
    alm_arena_deinit(&arena);
}

static void test_buf(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_mem mem = {.limit_bytes = 1 << 20};
    alm_buf buf;
    alm_buf_init(&buf, &mem);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(alm_buf_printf(&cx, &buf, "%d,", i), ALM_OK);
    assert_int_equal(alm_buf_text(&cx, &buf, "end"), ALM_OK);
    assert_int_equal(buf.len, 10 * 2 + 90 * 3 + 900 * 4 + 3);
    assert_memory_equal(buf.ptr, "0,1,2,3,", 8);
    assert_memory_equal(buf.ptr + buf.len - 7, "999,end", 7);
    assert_int_equal(mem.used_bytes, buf.cap);
    const size_t len = buf.len, cap = buf.cap;
    assert_int_equal(alm_buf_reserve(&cx, &buf, 1 << 20), ALM_E_MEMORY);
    assert_true(buf.len == len && buf.cap == cap);
    alm_error_clear(&cx);
    assert_int_equal(alm_buf_printf(&cx, &buf, "%0*d", 5000, 1), ALM_OK); /* does not fit at once */
    assert_int_equal(buf.len, len + 5000);
    alm_buf_deinit(&buf);
    assert_int_equal(mem.used_bytes, 0);
}

/* The old bytes and their charge go with the caller; room that the account refuses is none. */
static void test_buf_renew(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_mem mem = {.limit_bytes = 2500, .name = "query"};
    alm_buf buf;
    alm_buf_init(&buf, &mem);
    assert_int_equal(alm_buf_reserve(&cx, &buf, 1024), ALM_OK);
    assert_int_equal(alm_buf_text(&cx, &buf, "first"), ALM_OK);
    alm_buf old = alm_buf_renew(&buf);
    assert_memory_equal(old.ptr, "first", old.len);
    assert_int_equal(buf.len, 0);
    assert_int_equal(buf.cap, old.cap);
    assert_int_equal(alm_buf_text(&cx, &buf, "second"), ALM_OK);
    alm_buf second = alm_buf_renew(&buf);
    assert_int_equal(second.len, 6);
    assert_int_equal(buf.cap, 0); /* 1024 a third time would be too much */
    alm_buf_deinit(&old);
    alm_buf_deinit(&second);
    alm_buf_deinit(&buf);
    assert_int_equal(mem.used_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alignment_and_content),
        cmocka_unit_test(test_reset_reuses_one_block),
        cmocka_unit_test(test_kept_memory_counts),
        cmocka_unit_test(test_zero_copy_printf),
        cmocka_unit_test(test_limit_names_account),
        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_others_give_way),
        cmocka_unit_test(test_absurd_sizes),
        cmocka_unit_test(test_buf),
        cmocka_unit_test(test_buf_renew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
