/*
 * status_test.c - goal: the first error wins and keeps its position; limits in time and cancel are
 * seen; a worker's error comes up; slices compare by bytes.
 */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_table(void **state)
{
    (void)state;
    assert_string_equal(alm_status_name(ALM_OK), "OK");
    assert_string_equal(alm_status_name(ALM_E_SYNTAX), "SYNTAX");
    for (int st = 0; st < ALM_STATUS_COUNT; st++) {
        assert_int_equal(strlen(alm_status_sqlstate((alm_status)st)), 5);
        const int http = alm_status_http((alm_status)st);
        assert_true(st == ALM_OK ? http == 200 : http >= 400 && http < 600);
    }
}

static void test_first_error_wins(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    assert_int_equal(alm_fail(&cx, ALM_E_NAME, 7, "Invalid column: %s", "x"), ALM_E_NAME);
    assert_int_equal(alm_fail(&cx, ALM_E_IO, 9, "later"), ALM_E_NAME);
    assert_string_equal(cx.err.msg, "Invalid column: x");
    assert_int_equal(cx.err.sql_pos, 7);
    alm_error_clear(&cx);
    assert_int_equal(cx.err.code, ALM_OK);
    assert_int_equal(cx.err.sql_pos, -1);
}

static void test_long_message_stays_utf8(void **state)
{
    (void)state;
    for (size_t shift = 0; shift < 4; shift++) {
        char text[4096];
        memset(text, 'a', shift);
        for (size_t i = shift; i + 3 < sizeof(text); i += 3)
            memcpy(text + i, "\xE2\x82\xAC", 4);
        alm_ctx cx = {0};
        (void)alm_fail(&cx, ALM_E_VALUE, -1, "%s", text);
        const size_t n = strlen(cx.err.msg);
        assert_true(n > sizeof(cx.err.msg) - 8);
        assert_int_equal((n - shift) % 3, 0); /* whole characters */
    }
}

static void test_check(void **state)
{
    (void)state;
    atomic_bool cancel = false;
    alm_ctx cx = {.cancel = &cancel};
    assert_int_equal(alm_check(&cx), ALM_OK);
    atomic_store(&cancel, true);
    assert_int_equal(alm_check(&cx), ALM_E_CANCEL);
    alm_error_clear(&cx);
    atomic_store(&cancel, false);
    const int64_t now = alm_monotonic_ns();
    cx.started_ns = now - 210000000;
    cx.timeout_ms = 200;
    cx.deadline_ns = now + INT64_C(60000000000);
    assert_int_equal(alm_check(&cx), ALM_OK);
    cx.deadline_ns = now - 1;
    assert_int_equal(alm_check(&cx), ALM_E_TIMEOUT);
    assert_non_null(strstr(cx.err.msg, "timeout=200ms"));
}

/* The age of what is read ends a statement with a time limit and one without; the earlier of the two is told. */
static void test_age(void **state)
{
    (void)state;
    const int64_t now = alm_monotonic_ns(), hour = INT64_C(3600000000000);
    alm_ctx cx = {.snapshot_age_ms = 1000, .snapshot_until_ns = now + hour};
    assert_int_equal(alm_check(&cx), ALM_OK);
    cx.snapshot_until_ns = now - 1;
    for (int i = 0; i < 2; i++) {
        cx.deadline_ns = i == 0 ? 0 : now + hour;
        assert_int_equal(alm_check(&cx), ALM_E_SNAPSHOT_AGE);
        assert_non_null(strstr(cx.err.msg, "storage.snapshot.age.max (1000 ms)"));
        alm_ctx child;
        alm_ctx_fork(&cx, &child);
        assert_int_equal(alm_check(&child), ALM_E_SNAPSHOT_AGE);
        alm_error_clear(&cx);
    }
    cx.deadline_ns = now - 1;
    assert_int_equal(alm_check(&cx), ALM_E_TIMEOUT);
}

static void test_fork_and_join(void **state)
{
    (void)state;
    alm_arena arena = {0};
    alm_ctx parent = {.arena = &arena, .deadline_ns = 5, .user = "u", .seed = 3};
    alm_ctx child;
    memset(&child, 0xAB, sizeof(child));
    alm_ctx_fork(&parent, &child);
    assert_null(child.arena);
    assert_int_equal(child.deadline_ns, 5);
    assert_string_equal(child.user, "u");
    assert_int_equal(child.err.code, ALM_OK);
    assert_int_equal(alm_ctx_join(&parent, &child), ALM_OK);
    (void)alm_fail(&child, ALM_E_RANGE, 3, "first");
    assert_int_equal(alm_ctx_join(&parent, &child), ALM_E_RANGE);
    alm_ctx other;
    alm_ctx_fork(&parent, &other);
    (void)alm_fail(&other, ALM_E_IO, 4, "second");
    assert_int_equal(alm_ctx_join(&parent, &other), ALM_E_RANGE);
    assert_string_equal(parent.err.msg, "first");
    assert_int_equal(parent.err.sql_pos, 3);
}

static void test_slices(void **state)
{
    (void)state;
    assert_true(alm_str_eq(ALM_STR(""), (alm_str){0}));
    assert_true(alm_str_eq(alm_str_of("abc"), ALM_STR("abc")));
    assert_int_equal(alm_str_of(NULL).len, 0);
    assert_false(alm_str_eq(ALM_STR("abc"), ALM_STR("abC")));
    assert_true(alm_str_ieq(ALM_STR("aBc[\xC3\x84"), ALM_STR("AbC[\xC3\x84")));
    assert_false(alm_str_ieq(ALM_STR("["), ALM_STR("{"))); /* differ in the bit of case only */
    assert_true(alm_str_cmp(ALM_STR("ab"), ALM_STR("abc")) < 0);
    assert_true(alm_str_cmp(ALM_STR("b"), ALM_STR("abc")) > 0);
    assert_true(alm_str_cmp(ALM_STR("\xFF"), ALM_STR("a")) > 0); /* unsigned */
    assert_int_equal(alm_str_cmp(ALM_STR(""), (alm_str){0}), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_first_error_wins),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_age),
        cmocka_unit_test(test_long_message_stays_utf8),
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_fork_and_join),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
