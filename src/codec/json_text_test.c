/*
 * json_text_test.c - goal: any bytes become a JSON string that a parser reads back as the same text.
 * Method: a table of escapes; then random bytes, read back by the JSON parser.
 */
#include "codec/json_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"
#include "codec/json.h"

static void test_escapes(void **state)
{
    (void)state;
    static const struct {
        alm_str text;
        const char *want;
    } cases[] = {
        {{"", 0}, "\"\""},
        {{"abc", 3}, "\"abc\""},
        {{"a\"b\\c/d", 7}, "\"a\\\"b\\\\c/d\""},
        {{"\b\f\n\r\t", 5}, "\"\\b\\f\\n\\r\\t\""},
        {{"\0\x01\x1f\x7f", 4}, "\"\\u0000\\u0001\\u001f\x7f\""},
        {{"\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80", 9}, "\"\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {{"a\xff", 2}, "\"a\xef\xbf\xbd\""},
        {{"a\xc3", 2}, "\"a\xef\xbf\xbd\""},
    };
    for (size_t i = 0; i < ALM_COUNT(cases); i++) {
        alm_ctx cx = {0};
        alm_buf out;
        alm_buf_init(&out, NULL);
        assert_int_equal(alm_json_put_string(&cx, &out, cases[i].text), ALM_OK);
        assert_int_equal(out.len, strlen(cases[i].want));
        assert_memory_equal(out.ptr, cases[i].want, out.len);
        alm_buf_deinit(&out);
    }
}

static void test_any_bytes_are_valid_json(void **state)
{
    (void)state;
    uint32_t seed = 12345;
    for (int turn = 0; turn < 3000; turn++) {
        char bytes[64];
        const size_t n = (size_t)turn % sizeof(bytes);
        for (size_t i = 0; i < n; i++) {
            seed = seed * 1664525 + 1013904223;
            bytes[i] = (char)(turn % 2 == 0 ? seed >> 24 : (seed >> 24) & 0x7f);
        }
        alm_ctx cx = {0};
        alm_buf out;
        alm_buf_init(&out, NULL);
        assert_int_equal(alm_buf_text(&cx, &out, "["), ALM_OK);
        assert_int_equal(alm_json_put_string(&cx, &out, (alm_str){bytes, n}), ALM_OK);
        assert_int_equal(alm_buf_text(&cx, &out, "]"), ALM_OK);
        assert_true(alm_utf8_is_valid((alm_str){out.ptr, out.len}));
        if (memchr(bytes, 0, n) == NULL) { /* the parser refuses escaped zeros */
            alm_json *doc = NULL;
            assert_int_equal(alm_json_parse(&cx, (alm_str){out.ptr, out.len}, &doc), ALM_OK);
            const alm_str back = alm_json_text(alm_json_at(doc, 0));
            assert_non_null(back.ptr);
            if (alm_utf8_is_valid((alm_str){bytes, n})) {
                assert_int_equal(back.len, n);
                assert_memory_equal(back.ptr, bytes, n);
            }
            alm_json_free(doc);
        }
        alm_buf_deinit(&out);
    }
}

static void test_bad_documents(void **state)
{
    (void)state;
    static const char *const bad[] = {"",          "[",   "[1,]",    "{\"a\":1,\"a\":2}",
                                      "[\"\\u\"]", "nul", "[1] [2]", "[\"\xff\"]",
                                      "{1:2}",     "[01]"};
    for (size_t i = 0; i < ALM_COUNT(bad); i++) {
        alm_ctx cx = {0};
        alm_json *doc = NULL;
        assert_int_equal(alm_json_parse(&cx, alm_str_of(bad[i]), &doc), ALM_E_VALUE);
        assert_null(doc);
    }
    static const alm_str zeros[] = {ALM_STR("[null\0,1]"), ALM_STR("[true\0]"), ALM_STR("\0[]"),
                                    ALM_STR("[\"a\0b\"]"), ALM_STR("[]\0")};
    for (size_t i = 0; i < ALM_COUNT(zeros); i++) {
        alm_ctx cx = {0};
        alm_json *doc = NULL;
        assert_int_equal(alm_json_parse(&cx, zeros[i], &doc), ALM_E_VALUE);
        assert_null(doc);
    }
    assert_null(alm_json_text(NULL).ptr);
    assert_int_equal(alm_json_count(NULL), 0);
    assert_null(alm_json_get(NULL, "a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_any_bytes_are_valid_json),
        cmocka_unit_test(test_bad_documents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
