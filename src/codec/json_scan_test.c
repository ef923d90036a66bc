/*
 * json_scan_test.c - goal: exactly what RFC 8259 calls JSON is taken, and walked as it was written.
 * Method: tables of good and bad texts with the place of the fault; every prefix of a good one is bad.
 */
#include "codec/json_scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_faults(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int pos; /* -1: none */
    } cases[] = {{"0", -1},
                 {" -1.5e+10 ", -1},
                 {"\"\\u00e9\\ud83d\\ude00\"", -1},
                 {"[]", -1},
                 {"{}", -1},
                 {"{\"a\":[1,{\"b\":null}],\"c\":\"\"}", -1},
                 {"", 0},
                 {"01", 1},
                 {"1.", 2},
                 {"1e", 2},
                 {"-", 1},
                 {"tru", 0},
                 {"[1,]", 3},
                 {"[1 2]", 3},
                 {"{\"a\"}", 4},
                 {"{a:1}", 1},
                 {"{\"a\":1,}", 7},
                 {"\"a", 2},
                 {"\"\\x\"", 1},
                 {"\"\\u12g4\"", 1},
                 {"\"\\ude00\"", 1},
                 {"\"\\ud83d\"", 1},
                 {"\"\t\"", 1},
                 {"1 1", 2},
                 {"[}", 1},
                 {"[1}", 2},
                 {"\"\xff\"", 1}};
    for (size_t i = 0; i < ALM_COUNT(cases); i++) {
        alm_ctx cx = {0};
        alm_json_value value;
        const alm_status st = alm_json_check(&cx, alm_str_of(cases[i].text), &value);
        if ((st == ALM_OK) != (cases[i].pos < 0) ||
            (st != ALM_OK && cx.err.sql_pos != cases[i].pos))
            fail_msg("%s: %s at %d", cases[i].text, cx.err.msg, (int)cx.err.sql_pos);
    }
}

static void test_prefixes(void **state)
{
    (void)state;
    const alm_str text = ALM_STR("{\"a\":[1.5e3,\"\\u00e9\\n\"],\"b\":{\"c\":true,\"d\":[[],{}]}}");
    for (size_t n = 0; n <= text.len; n++) {
        alm_ctx cx = {0};
        alm_json_value value;
        const alm_status st = alm_json_check(&cx, (alm_str){text.ptr, n}, &value);
        assert_int_equal(st == ALM_OK, n == text.len);
    }
}

static void test_depth(void **state)
{
    (void)state;
    char text[4 * ALM_JSON_DEPTH_MAX];
    for (size_t depth = ALM_JSON_DEPTH_MAX; depth <= ALM_JSON_DEPTH_MAX + 1; depth++) {
        alm_ctx cx = {0};
        alm_json_value value;
        (void)memset(text, '[', depth);
        (void)memset(text + depth, ']', depth);
        const alm_status st = alm_json_check(&cx, (alm_str){text, 2 * depth}, &value);
        assert_int_equal(st == ALM_OK, depth == ALM_JSON_DEPTH_MAX);
    }
}

static void test_walk(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_arena arena;
    alm_json_value object, value;
    alm_str key, text;
    char seen[256];
    size_t n = 0;
    alm_arena_init(&arena, NULL);
    const alm_str json = ALM_STR(
        " { \"a\\t\" : 12345678901234567890 , \"b\":[1,\"]\"], \"c\":\"\\ud83d\\ude00\\/\" } ");
    assert_int_equal(alm_json_check(&cx, json, &object), ALM_OK);
    for (size_t at = 0; alm_json_next(object, &at, &key, &value);)
        n += (size_t)snprintf(seen + n, sizeof(seen) - n, "%.*s=%d:%.*s;", (int)key.len, key.ptr,
                              (int)value.kind, (int)value.raw.len, value.raw.ptr);
    assert_string_equal(seen, "\"a\\t\"=3:12345678901234567890;\"b\"=5:[1,\"]\"];"
                              "\"c\"=4:\"\\ud83d\\ude00\\/\";");
    assert_int_equal(alm_json_unquote(&cx, &arena, value.raw, &text), ALM_OK);
    assert_true(alm_str_eq(text, ALM_STR("\xf0\x9f\x98\x80/")));
    alm_arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_faults),
                                       cmocka_unit_test(test_prefixes),
                                       cmocka_unit_test(test_depth), cmocka_unit_test(test_walk)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
