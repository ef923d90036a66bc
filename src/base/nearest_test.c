/*
 * nearest_test.c - goal: a slip of the finger is found, another word is not. Method: a table of names
 * against the same few that exist.
 */
#include "base/nearest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char *const KNOWN[] = {"price", "Amount", "side", "ts", "zürich", ""};

static const struct {
    const char *name, *found;
} CASES[] = {
    {"prise", "price"},
    {"PRIC", "price"},
    {"pirce", "price"},
    {"amonut", "Amount"},
    {"amounts", "Amount"},
    {"tsx", "ts"},
    {"tx", "ts"},
    {"t", ""},
    {"", ""},
    {"volume", ""},
    {"sid", "side"},
    {"zurich", "zürich"},
};

static alm_nearest look(alm_str name)
{
    alm_nearest near = alm_nearest_of(name);
    for (size_t i = 0; i < ALM_COUNT(KNOWN); i++)
        alm_nearest_offer(&near, alm_str_of(KNOWN[i]));
    return near;
}

static void test_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALM_COUNT(CASES); i++) {
        const alm_nearest near = look(alm_str_of(CASES[i].name));
        if (!alm_str_eq(near.found, alm_str_of(CASES[i].found)))
            fail_msg("%s: found '%.*s', wanted '%s'", CASES[i].name, (int)near.found.len,
                     near.found.len > 0 ? near.found.ptr : "", CASES[i].found);
    }
}

static void test_long_names(void **state)
{
    (void)state;
    static char text[2000];
    memset(text, 'a', sizeof(text));
    alm_nearest near = alm_nearest_of((alm_str){text, sizeof(text)});
    alm_nearest_offer(&near, (alm_str){text, sizeof(text) - 1});
    assert_int_equal(near.found.len, 0);
    near = alm_nearest_of((alm_str){text, 63});
    alm_nearest_offer(&near, (alm_str){text, 62});
    assert_int_equal(near.found.len, 62);
}

static void test_message(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_nearest near = look(ALM_STR("prise"));
    assert_int_equal(alm_fail_near(&cx, ALM_E_NAME, 7, &near, "Invalid column: %s", "prise"),
                     ALM_E_NAME);
    assert_string_equal(cx.err.msg, "Invalid column: prise, did you mean 'price'?");
    assert_int_equal(cx.err.sql_pos, 7);
    alm_error_clear(&cx);
    near = look(ALM_STR("volume"));
    assert_int_equal(alm_fail_near(&cx, ALM_E_NAME, 7, &near, "Invalid column: volume"),
                     ALM_E_NAME);
    assert_string_equal(cx.err.msg, "Invalid column: volume");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
