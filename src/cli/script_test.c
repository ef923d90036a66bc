/* Method: scripts with every kind of quote and comment, fed whole and line by line: the same statements. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/script.h"

static const char script[] = "-- a comment; with a semicolon\n"
                             "select 1;;\n"
                             "select 'a;\n"
                             "b''c' /* x; \n y */, \"d;\"\n"
                             ", $$e;$$; select 2 ; /* at the end; */ select\n"
                             "  3 -- last;\n";

static void expect_next(alm_script *s, bool last, const char *text, int64_t line)
{
    alm_script_statement got;
    assert_true(alm_script_next(s, last, &got));
    assert_true(got.text.len == strlen(text));
    assert_memory_equal(got.text.ptr, text, got.text.len);
    assert_int_equal(got.line, line);
}

static const char *const third = "select 'a;\nb''c' /* x; \n y */, \"d;\"\n, $$e;$$";

static void whole(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_script s;
    alm_script_statement none;
    alm_script_init(&s);
    assert_int_equal(alm_script_feed(&cx, &s, alm_str_of(script)), ALM_OK);
    expect_next(&s, true, "select 1", 2);
    expect_next(&s, true, third, 3);
    expect_next(&s, true, "select 2", 6);
    expect_next(&s, true, "select\n  3 -- last;", 6);
    assert_false(alm_script_next(&s, true, &none));
    alm_script_deinit(&s);
}

static void line_by_line(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_script s;
    alm_script_init(&s);
    static const struct {
        const char *text;
        int64_t line;
    } want[] = {{"select 1", 2}, {third, 3}, {"select 2", 6}};
    size_t found = 0;
    for (const char *at = script; *at != 0;) {
        const size_t n = strcspn(at, "\n") + 1;
        assert_int_equal(alm_script_feed(&cx, &s, (alm_str){at, n}), ALM_OK);
        alm_script_statement got;
        while (alm_script_next(&s, false, &got)) {
            assert_true(found < ALM_COUNT(want));
            assert_true(got.text.len == strlen(want[found].text));
            assert_memory_equal(got.text.ptr, want[found].text, got.text.len);
            assert_int_equal(got.line, want[found].line);
            found++;
        }
        at += n;
    }
    assert_int_equal(found, 3);
    expect_next(&s, true, "select\n  3 -- last;", 6);
    alm_script_deinit(&s);
}

static void nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "\n", " ;; \n;", "-- only this", "/* ; */ ;\n"};
    for (size_t i = 0; i < ALM_COUNT(texts); i++) {
        alm_ctx cx = {0};
        alm_script s;
        alm_script_statement none;
        alm_script_init(&s);
        assert_int_equal(alm_script_feed(&cx, &s, alm_str_of(texts[i])), ALM_OK);
        assert_false(alm_script_next(&s, true, &none));
        alm_script_deinit(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole),
        cmocka_unit_test(line_by_line),
        cmocka_unit_test(nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
