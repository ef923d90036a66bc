/*
 * meant_test.c - what errors of the parser point at: the mistyped keyword, the word too many, what is missing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sql/parse/parse.h"

typedef struct fixture {
    alm_arena arena;
    alm_ctx cx;
} fixture;

typedef struct refused {
    const char *sql;
    int32_t pos;
    const char *message;
} refused;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    alm_arena_init(&f->arena, NULL);
    f->cx.arena = &f->arena;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    alm_arena_deinit(&f->arena);
    free(f);
    return 0;
}

static void check(fixture *f, const refused *r, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t offset = 0;
        alm_stmt *s = NULL;
        alm_arena_reset(&f->arena);
        alm_error_clear(&f->cx);
        const alm_status st = alm_sql_parse(&f->cx, alm_str_of(r[i].sql), &offset, &s);
        if (st != ALM_E_SYNTAX || f->cx.err.sql_pos != r[i].pos ||
            strcmp(f->cx.err.msg, r[i].message) != 0)
            fail_msg("%s\n want %d %s\n got  %d %s", r[i].sql, r[i].pos, r[i].message,
                     st == ALM_OK ? -2 : f->cx.err.sql_pos, st == ALM_OK ? "" : f->cx.err.msg);
    }
}

#define MEANT(word, keyword) "unexpected token [" word "], did you mean '" keyword "'?"

static void mistyped_keywords(void **state)
{
    static const refused cases[] = {
        {"select * FORM t", 9, MEANT("FORM", "FROM")},
        {"select a FRM t", 9, MEANT("FRM", "FROM")},
        {"select a, b form t where a = 1 order by b", 12, MEANT("form", "FROM")},
        {"select a from t WERE a = 1", 16, MEANT("WERE", "WHERE")},
        {"select a from t x were a = 1", 18, MEANT("were", "WHERE")},
        {"select a from t ORDR by a", 16, MEANT("ORDR", "ORDER")},
        {"select a from t where a = 1 oder by a", 28, MEANT("oder", "ORDER")},
        {"select a from t order by a dsc", 27, MEANT("dsc", "DESC")},
        {"select count() from t gruop by a", 22, MEANT("gruop", "GROUP")},
        {"select count() from t sampel by 1h", 22, MEANT("sampel", "SAMPLE")},
        {"select a from t latst on ts partition by a", 16, MEANT("latst", "LATEST")},
        {"select a from t lmit 1", 16, MEANT("lmit", "LIMIT")},
        {"select a from t limit 1 ofset 2", 24, MEANT("ofset", "OFFSET")},
        {"select a from t x jion u y on x.a = y.a", 18, MEANT("jion", "JOIN")},
        {"select a from t asof jion u", 21, MEANT("jion", "JOIN")},
        {"select a from t x join u y onn x.a = y.a", 27, MEANT("onn", "ON")},
        {"select a from t unoin select a from t", 16, MEANT("unoin", "UNION")},
        {"select a from t where a beteen 1 and 2", 24, MEANT("beteen", "BETWEEN")},
        {"select a from t where a = 1 adn b = 2", 28, MEANT("adn", "AND")},
        {"select case wen a = 1 then 2 end from t", 12, MEANT("wen", "WHEN")},
        {"select case when a = 1 thne 2 end from t", 23, MEANT("thne", "THEN")},
        {"select case when a = 1 then 2 els 3 end from t", 30, MEANT("els", "ELSE")},
        {"select sum(a) over (partition bt b) from t", 30, MEANT("bt", "BY")},
        {"SELEC * from t", 0, MEANT("SELEC", "SELECT")},
        {"selct 1", 0, MEANT("selct", "SELECT")},
        {"select a from t where a in (selct 1)", 28, MEANT("selct", "SELECT")},
        {"explain selct a from t", 8, MEANT("selct", "SELECT")},
        {"wiht x as (select 1) select * from x", 0, MEANT("wiht", "WITH")},
        {"inser into t values (1)", 0, MEANT("inser", "INSERT")},
        {"insert inot t values (1)", 7, MEANT("inot", "INTO")},
        {"insert into t (a) vales (1)", 18, MEANT("vales", "VALUES")},
        {"udpate t set a = 1", 0, MEANT("udpate", "UPDATE")},
        {"update t st a = 1", 9, MEANT("st", "SET")},
        {"dlete from t", 0, MEANT("dlete", "DELETE")},
        {"delete form t", 7, MEANT("form", "FROM")},
        {"creat table t (a int)", 0, MEANT("creat", "CREATE")},
        {"create tabel t (a int)", 7, MEANT("tabel", "TABLE")},
        {"create table t (ts timestamp) timstamp(ts)", 30, MEANT("timstamp", "TIMESTAMP")},
        {"alter table t ad column b int", 14, MEANT("ad", "ADD")},
        {"drop tabel t", 5, MEANT("tabel", "TABLE")},
        {"trucate table t", 0, MEANT("trucate", "TRUNCATE")},
        /* the first of two */
        {"SELEC * from t WERE a = 1", 0, MEANT("SELEC", "SELECT")},
        /* the statement starts later in the text */
        {"  selct 1", 2, MEANT("selct", "SELECT")},
    };
    check(*state, cases, ALM_COUNT(cases));
}

static void nothing_is_guessed_that_does_not_help(void **state)
{
    static const refused cases[] = {
        {"select a b c from t", 11, "found [tok='c', len=1] ',', 'from' or 'over' expected"},
        {"select a from t1 t2 t3", 20, "unexpected token [t3]"},
        {"select sum(x bn) from t", 13, "unexpected token [bn]"},
        {"select a from t where", 16, "empty where clause"},
        {"select row()", 11, "Expression expected"},
        {"select case when a > 5 then else 2 end c from t", 28, "missing arguments"},
    };
    check(*state, cases, ALM_COUNT(cases));
}

static void surplus_words_and_open_brackets(void **state)
{
    static const refused cases[] = {
        {"select abs(1 2)", 13, "unexpected token [2]"},
        {"select abs(1 + 2 3) from t", 17, "unexpected token [3]"},
        {"select (1 2)", 10, "unexpected token [2]"},
        {"select (1, 2 3)", 13, "unexpected token [3]"},
        {"select count(* 1) from t", 15, "unexpected token [1]"},
        {"select a from t where a in (1 2)", 30, "unexpected token [2]"},
        {"select a from t where (a = 1 b = 2)", 29, "unexpected token [b]"},
        {"select abs(abs(1) abs(2))", 18, "unexpected token [abs]"},
        {"select case when a = 1 then 2 3 end from t", 30, "unexpected token [3]"},
        {"select abs(1", 10, "unbalanced ("},
        {"select (1", 7, "unbalanced ("},
        {"select a from t where a in (1, 2", 27, "unbalanced ("},
        {"select (1 + (2) from t", 7, "unbalanced ("},
        {"select case when a = 1 then 2 from t", 7, "unbalanced 'case'"},
        {"select abs(1))", 13, "unexpected token [)]"},
    };
    check(*state, cases, ALM_COUNT(cases));
}

#define QUOTE_IT(word)                                                                             \
    "table and column names that are SQL keywords have to be enclosed in double quotes, such as "  \
    "\"" word "\""

static void names_that_are_missing(void **state)
{
    static const refused cases[] = {
        {"select a. from t a", 9, "'*' or column name expected"},
        {"select a.b, a. from t a", 14, "'*' or column name expected"},
        {"select a. , 1 from t a", 9, "'*' or column name expected"},
        {"select a.", 9, "'*' or column name expected"},
        {"insert into t (from) values (1)", 15, QUOTE_IT("from")},
        {"insert into t (select, b) values (1, 2)", 15, QUOTE_IT("select")},
        {"insert into t (b, from) values (1, 2)", 18, QUOTE_IT("from")},
        {"\\d t", 0,
         "\\ begins a command of psql: SHOW TABLES lists the tables, SHOW COLUMNS FROM t the "
         "columns "
         "of t"},
    };
    check(*state, cases, ALM_COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(mistyped_keywords, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_is_guessed_that_does_not_help, setup, teardown),
        cmocka_unit_test_setup_teardown(surplus_words_and_open_brackets, setup, teardown),
        cmocka_unit_test_setup_teardown(names_that_are_missing, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
