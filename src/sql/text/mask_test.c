/*
 * mask_test.c - secrets go from texts of statements, wherever they stand, and nothing else does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sql/sql.h"

static void check(const char *text, const char *want)
{
    char got[200];
    alm_sql_mask(alm_str_of(text), got, sizeof got);
    assert_string_equal(got, want);
}

static void secrets(void **state)
{
    (void)state;
    check("create user x with password 'a''b'", "create user x with password ****");
    check("CREATE USER x WITH PASSWORD pw", "CREATE USER x WITH PASSWORD ****");
    check("alter user x with password \"a b\";", "alter user x with password ****;");
    check("alter user x with /* 'c' */ password -- why\n 'a'",
          "alter user x with /* 'c' */ password -- why\n ****");
    check("create user x with password $$a$$", "create user x with password ****");
    check("create user x with password E'a\\'b' c", "create user x with password **** c");
    check("create user x with password 7", "create user x with password ****");
    check("explain create user x with password a", "explain create user x with password ****");
    check("select 1; create user x with password a; create user y with password 'b'",
          "select 1; create user x with password ****; create user y with password ****");
    check("create user x wiht password 'a'", "create user x wiht password ****");
    check("alter user x drop token type rest 'qt1abc'", "alter user x drop token type rest ****");
    check("alter user x drop token type rest 'other'", "alter user x drop token type rest ****");
    check("select 'qt1abc', 'q1'", "select ****, 'q1'");
}

static void cut_off(void **state)
{
    char small[12];
    (void)state;
    check("alter user x with password 'abc", "alter user x with password ****");
    check("alter user x with password \"abc", "alter user x with password ****");
    check("alter user x with password $$abc", "alter user x with password ****");
    check("alter user x with password", "alter user x with password");
    check("select 'qt1ab", "select ****");
    alm_sql_mask(ALM_STR("with password a b"), small, sizeof small);
    assert_string_equal(small, "with passwo");
    alm_sql_mask(ALM_STR("password 'secret'"), small, sizeof small);
    assert_string_equal(small, "password **");
    alm_sql_mask(ALM_STR(""), small, 1);
    assert_string_equal(small, "");
}

static void others(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "select 1",
                                        "select password from users where password = 'x'",
                                        "create user x with no password",
                                        "select token, 'rest' from t",
                                        "password",
                                        "token",
                                        "qt1",
                                        "alter user x create token type rest with ttl '1d' refresh",
                                        "select 'aqt1' from qt1"};
    for (size_t i = 0; i < ALM_COUNT(texts); i++)
        check(texts[i], texts[i]);
}

static void each_cut(void **state)
{
    static const char text[] = "select 1; create user x with password 'opensesame'; select 2";
    (void)state;
    for (size_t n = 0; n < sizeof text; n++) {
        char got[sizeof text + 8];
        alm_sql_mask((alm_str){text, n}, got, sizeof got);
        assert_null(strstr(got, "'o"));
        assert_null(strstr(got, "open"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets),
        cmocka_unit_test(cut_off),
        cmocka_unit_test(others),
        cmocka_unit_test(each_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
