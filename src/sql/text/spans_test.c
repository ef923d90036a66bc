/*
 * spans_test.c - goal: statements and tokens are found in texts of any kind, also in those that no parser takes. Method: tables
 * of texts with the places that belong to them; and every prefix of a text with all kinds of tokens, for which places must stay
 * inside of it.
 */
#include "sql/text/spans.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *text;
    size_t from, begin, behind;
} STATEMENTS[] = {
    {"", 0, 0, 0},
    {"select 1", 0, 0, 8},
    {" ;; select 1; select 2", 0, 4, 2},
    {"selec 5 )(; x", 0, 0, 11},
    {"selec 5 )(; x", 11, 12, 13},
    {"a ';' b -- ;\n \";\" /* ; */ ; c", 0, 0, 27},
    {"a 'open ; to the end", 0, 0, 20},
    {" -- nothing", 0, 11, 11},
    {";;", 0, 2, 1},
};

static void test_statements(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALM_COUNT(STATEMENTS); i++) {
        const alm_str text = alm_str_of(STATEMENTS[i].text);
        assert_int_equal(alm_text_begin(text, STATEMENTS[i].from), STATEMENTS[i].begin);
        assert_int_equal(alm_text_behind(text, STATEMENTS[i].from), STATEMENTS[i].behind);
    }
}

static const struct {
    const char *text;
    int32_t from, pos, at, end;
} TOKENS[] = {
    {"select price from t", 0, 7, 7, 12},   /* begins there */
    {"select price from t", 0, 9, 7, 12},   /* stands there */
    {"select price from t", 0, 12, 13, 17}, /* the blank before it */
    {"select price from t", 0, 19, 18, 19}, /* behind the last one */
    {"select ; select 1", 0, 7, 0, 6},      /* where it ended, not in the next statement */
    {"select ; select 1", 8, 9, 9, 15},     {"", 0, 0, 0, 0}, {"a 'open", 0, 4, 2, 7},
};

static void test_tokens(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALM_COUNT(TOKENS); i++) {
        const alm_text_span found =
            alm_text_token(alm_str_of(TOKENS[i].text), TOKENS[i].from, TOKENS[i].pos);
        if (found.pos != TOKENS[i].at || found.end != TOKENS[i].end)
            fail_msg("'%s' at %d: found [%d, %d)", TOKENS[i].text, (int)TOKENS[i].pos,
                     (int)found.pos, (int)found.end);
    }
}

static void test_names(void **state)
{
    (void)state;
    const alm_str names[] = {ALM_STR("trades"), ALM_STR("Büro")};
    const alm_str text = ALM_STR(
        "select * from TRADES; x \"Büro\"; show columns from 'trades'; trades_2 trade -- trades");
    assert_true(alm_text_names(text, 0, 20, names, 2));
    assert_true(alm_text_names(text, 22, 31, names, 2));
    assert_false(alm_text_names(text, 22, 31, names, 1));
    assert_true(alm_text_names(text, 33, 59, names, 2));
    assert_false(alm_text_names(text, 62, (int32_t)text.len, names, 2));
    assert_false(alm_text_names(text, 0, 20, names, 0));
}

static void test_prefixes(void **state)
{
    (void)state;
    const char *all =
        "; select a.\"b\"\"c\", 'd''e', $1, @x, #u33d, $$ f; $$ /* g */ 1e5 :: h ünï -- i\n;";
    for (size_t n = 0; n <= strlen(all); n++) {
        const alm_str text = {all, n};
        for (size_t from = 0; from <= n; from++) {
            const size_t begin = alm_text_begin(text, from), behind = alm_text_behind(text, from);
            assert_true(begin >= from && begin <= n && behind >= from && behind <= n);
            assert_true(behind > from || from == n || begin == n); /* a loop over them ends */
            const alm_text_span at = alm_text_token(text, (int32_t)from, (int32_t)n);
            assert_true(at.pos >= (int32_t)from && at.end >= at.pos && at.end <= (int32_t)n);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statements),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_prefixes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
