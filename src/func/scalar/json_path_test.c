/*
 * json_path_test.c - goal: the value at a path is found, and nothing is found in what is not JSON.
 * Method: tables of texts, paths and values; texts cut at every byte must give nothing.
 */
#include "func/scalar/json_path.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static alm_json_value find(const char *text, const char *at)
{
    alm_json_path path;
    assert_true(alm_json_path_parse(alm_str_of(at), &path));
    return alm_json_find(alm_str_of(text), &path);
}

static void test_found(void **state)
{
    (void)state;
    static const char doc[] = "{\"a\": 1, \"b\": [10, {\"c\": \"x\"}, []], \"d\\u0065\": true,"
                              " \"n\": null, \"a\": 2, \"e\": {\"f\": -1.5e+3}} ";
    static const struct {
        const char *path;
        alm_json_kind kind;
        const char *raw;
    } rows[] = {
        {"$.a", ALM_JSON_NUMBER, "1"}, /* the first of two */
        {".a", ALM_JSON_NUMBER, "1"},         {"$.b[0]", ALM_JSON_NUMBER, "10"},
        {"$.b[1].c", ALM_JSON_STRING, "x"},   {"$.b[1]", ALM_JSON_TREE, "{\"c\": \"x\"}"},
        {"$.b[2]", ALM_JSON_TREE, "[]"},      {"$.b[3]", ALM_JSON_NOTHING, ""},
        {"$.b.c", ALM_JSON_NOTHING, ""},      {"$.a[0]", ALM_JSON_NOTHING, ""},
        {"$.de", ALM_JSON_TRUE, "true"}, /* an escape in the name */
        {"$.n", ALM_JSON_NULL, "null"},       {"$.e.f", ALM_JSON_NUMBER, "-1.5e+3"},
        {"$.nosuch.f", ALM_JSON_NOTHING, ""},
    };
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        const alm_json_value v = find(doc, rows[i].path);
        if (v.kind != rows[i].kind || !alm_str_eq(v.raw, alm_str_of(rows[i].raw)))
            fail_msg("%s: %d '%.*s'", rows[i].path, (int)v.kind, (int)v.raw.len, v.raw.ptr);
    }
    assert_int_equal(find(" 7 ", "$").kind, ALM_JSON_NUMBER);
    /* a text that breaks off anywhere is none */
    alm_json_path path;
    assert_true(alm_json_path_parse(ALM_STR("$.a"), &path));
    for (size_t n = 0; n < sizeof doc - 2; n++)
        assert_int_equal(alm_json_find((alm_str){doc, n}, &path).kind, ALM_JSON_NOTHING);
}

static void test_not_json(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "{bad",
                                        "{\"a\": 1",
                                        "{\"a\" 1}",
                                        "{\"a\": 1,}",
                                        "{\"a\": 01x}",
                                        "{a: 1}",
                                        "{\"a\": 1}x",
                                        "{\"a\": .5}",
                                        "{\"a\": 5.}",
                                        "{\"a\": nul}",
                                        "{\"a\": \"\\q\"}",
                                        "{\"a\": \"\\u12\"}",
                                        "{\"a\": 1]",
                                        "[1 2]",
                                        "{\"a\": -}",
                                        "{\"a\": 1e}",
                                        "{\"a\": \"x\ny\"}"};
    for (size_t i = 0; i < ALM_COUNT(texts); i++)
        if (find(texts[i], "$.a").kind != ALM_JSON_NOTHING)
            fail_msg("a value in %s", texts[i]);
    char deep[4 * ALM_JSON_DEPTH];
    memset(deep, '[', sizeof deep);
    alm_json_path path;
    assert_true(alm_json_path_parse(ALM_STR("$"), &path));
    assert_int_equal(alm_json_find((alm_str){deep, sizeof deep}, &path).kind, ALM_JSON_NOTHING);
}

static void test_paths(void **state)
{
    (void)state;
    static const char *const bad[] = {"a",   "$a",   "$.",    "$..a", "$[",
                                      "$[]", "$[x]", "$[-1]", "$[1",  "$[12345678901]"};
    alm_json_path path;
    for (size_t i = 0; i < ALM_COUNT(bad); i++)
        if (alm_json_path_parse(alm_str_of(bad[i]), &path))
            fail_msg("%s is a path", bad[i]);
    char many[2 * ALM_JSON_STEPS + 4];
    for (size_t i = 0; i < ALM_JSON_STEPS + 1; i++)
        memcpy(many + 2 * i, ".a", 2);
    assert_true(alm_json_path_parse((alm_str){many, (size_t)2 * ALM_JSON_STEPS}, &path));
    assert_false(alm_json_path_parse((alm_str){many, (size_t)2 * ALM_JSON_STEPS + 2}, &path));
}

static void test_unescape(void **state)
{
    (void)state;
    char out[64];
    static const struct {
        const char *raw, *want;
    } rows[] = {{"plain", "plain"},
                {"\\\"q\\\" \\\\ \\/ \\n\\t", "\"q\" \\ / \n\t"},
                {"\\u0041\\u017e", "A\xC5\xBE"},
                {"\\ud83d\\ude00", "\xF0\x9F\x98\x80"},
                {"\\ud83d!", "\xEF\xBF\xBD!"}};
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        const size_t n = alm_json_unescape(alm_str_of(rows[i].raw), out);
        assert_true(n <= strlen(rows[i].raw));
        assert_true(alm_str_eq((alm_str){out, n}, alm_str_of(rows[i].want)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_not_json),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_unescape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
