/*
 * lex_test.c - tokens: kinds, extents, broken ones; the keyword table.
 *
 * Method   A text is written as the list of its tokens, "kind:text" each, and compared whole.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sql/text/lex.h"

static void tokens(const char *sql, bool trivia, char *out, size_t n)
{
    static const char kinds[] = {'.', 'n', 'q', 's', '1', '#', '$', '@', 'o', 'c', '!'};
    const alm_str text = alm_str_of(sql);
    size_t len = 0;
    out[0] = 0;
    for (int32_t at = 0;;) {
        const alm_token t = alm_lex(text, at, trivia);
        assert_true(t.pos >= at && t.end >= t.pos && t.end <= (int32_t)text.len);
        if (t.kind == ALM_TOK_END)
            break;
        assert_true(t.end > t.pos);
        len += (size_t)snprintf(out + len, n - len, "%s%c:%.*s", len > 0 ? " " : "", kinds[t.kind],
                                t.end - t.pos, sql + t.pos);
        assert_true(len < n);
        at = t.end;
    }
}

static void check(const char *sql, const char *want)
{
    char got[1024];
    tokens(sql, false, got, sizeof got);
    assert_string_equal(got, want);
}

static void words_and_operators(void **state)
{
    (void)state;
    check("", "");
    check(" \t\r\n", "");
    check("SELECT a_1, \xc3\xbcn\xc3\xaf FROM t$x",
          "n:SELECT n:a_1 o:, n:\xc3\xbcn\xc3\xaf n:FROM n:t$x");
    check("a<=b<>c!=d>>=e<<f||g::h:=i!~j", "n:a o:<= n:b o:<> n:c o:!= n:d o:>>= n:e o:<< n:f o:|| "
                                           "n:g o::: n:h o::= n:i o:!~ n:j");
    check("a:b|c<d", "n:a o:: n:b o:| n:c o:< n:d");
    check("@x @1 $1 $12a", "@:@x !:@ 1:1 $:$1 $:$12 n:a");
    check("\"a \"\"b\"\"\" `c d`", "q:\"a \"\"b\"\"\" q:`c d`");
}

static void numbers(void **state)
{
    (void)state;
    check("1 1_000 1.5 .5 1. 1e3 1.5e-3 1E+5 3L 2f 12.5m 0x1f 15m 10x",
          "1:1 1:1_000 1:1.5 1:.5 1:1. 1:1e3 1:1.5e-3 1:1E+5 1:3L 1:2f 1:12.5m 1:0x1f 1:15m 1:10x");
    check("1-2 1e-x 0x1e-3 a[1:2] t.5",
          "1:1 o:- 1:2 1:1e o:- n:x 1:0x1e o:- 1:3 n:a o:[ 1:1 o:: 1:2 "
          "o:] n:t o:. 1:5");
}

static void texts(void **state)
{
    (void)state;
    check("'it''s' '' E'a\\'b' $$a'b$$ $t$ $$ $t$",
          "s:'it''s' s:'' s:E'a\\'b' s:$$a'b$$ s:$t$ $$ $t$");
    check("#u33d #u33d/10 ##0110", "#:#u33d #:#u33d/10 #:##0110");
    check("'open", "!:'open");
    check("E'open\\'", "!:E'open\\'");
    check("\"open", "!:\"open");
    check("$$open", "!:$$open");
    check("a { b", "n:a !:{ n:b");
    check("#", "!:#");
    check("$", "!:$");
    assert_string_equal(alm_lex(alm_str_of("'x"), 0, false).why, "unclosed quoted string?");
    assert_int_equal(alm_lex((alm_str){"\0a", 2}, 0, false).kind, ALM_TOK_BAD);
}

static void comments(void **state)
{
    (void)state;
    char got[256];
    check("a -- b\nc /* d /* e */ f */ g --", "n:a n:c n:g");
    check("a /* open", "n:a !:/* open");
    check("a /*/ b", "n:a !:/*/ b");
    tokens("a -- b\n/* c */", true, got, sizeof got);
    assert_string_equal(got, "n:a c:-- b c:/* c */");
}

static void keywords(void **state)
{
    (void)state;
    for (uint32_t i = 1; i < ALM_KW_COUNT; i++) {
        const alm_str text = alm_keyword_text((alm_keyword)i);
        assert_int_equal(alm_keyword_find(text), i); /* so the table is sorted */
    }
    assert_int_equal(alm_keyword_find(ALM_STR("SeLeCt")), ALM_KW_SELECT);
    assert_int_equal(alm_keyword_find(ALM_STR("selec")), ALM_KW_PLAIN);
    assert_int_equal(alm_keyword_find(ALM_STR("selectt")), ALM_KW_PLAIN);
    assert_int_equal(alm_keyword_find(ALM_STR("")), ALM_KW_PLAIN);
    assert_int_equal(alm_keyword_find(ALM_STR("a_word_longer_than_any_keyword")), ALM_KW_PLAIN);
    assert_true((alm_keyword_flags(ALM_KW_FROM) & ALM_KW_RESERVED) != 0);
    assert_int_equal(alm_keyword_flags(ALM_KW_TIMESTAMP), 0);
    assert_int_equal(alm_lex(ALM_STR("\"select\""), 0, false).kw, ALM_KW_PLAIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(words_and_operators),
                                       cmocka_unit_test(numbers), cmocka_unit_test(texts),
                                       cmocka_unit_test(comments), cmocka_unit_test(keywords)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
