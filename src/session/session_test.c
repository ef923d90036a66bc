/*
 * session_test.c - what a session tells its client of an error, and options of an execution.
 *
 * Method      A part file is overwritten; the error of the query that reads it names the file from the data directory on.
 *             Statements of every kind that gives rows run with last_rows, with and without count_all: the rows and the
 *             number of rows before them are those that the whole result has.
 */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "session/world_for_test.h"

static alm_status ask(world *w, const char *sql)
{
    alm_prepared *p = NULL;
    alm_cursor *c = NULL;
    alm_batch *batch = NULL;
    alm_status st = alm_prepare(w->s, alm_str_of(sql), NULL, &p);
    if (st == ALM_OK)
        st = alm_execute(w->s, p, NULL, 0, &c);
    do
        st = st == ALM_OK ? alm_cursor_next(c, &batch) : st;
    while (st == ALM_OK && batch != NULL);
    alm_cursor_close(c);
    alm_prepared_free(p);
    return st;
}

static void overwrite(const char *path)
{
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    const long size = ftell(f);
    assert_int_equal(fseek(f, 0, SEEK_SET), 0);
    for (long i = 0; i < size; i++)
        assert_int_equal(fputc(0x5a, f), 0x5a);
    assert_int_equal(fclose(f), 0);
}

static void files_are_named_from_the_data_directory_on(void **state)
{
    world *w = *state;
    char pattern[128];
    glob_t found = {0};
    assert_int_equal(ask(w, "create table t as (select x::timestamp ts, x from "
                            "long_sequence(100000)) timestamp(ts) "
                            "partition by day"),
                     ALM_OK);
    (void)snprintf(pattern, sizeof pattern, "%s/db/tables/*/*.part", w->root);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        overwrite(found.gl_pathv[i]);
    globfree(&found);
    assert_int_not_equal(ask(w, "select sum(x) from t"), ALM_OK);
    const char *msg = alm_session_error(w->s)->msg;
    assert_null(strstr(msg, w->root));
    assert_non_null(strstr(msg, "'db/tables/"));
}

typedef struct seen {
    int64_t first, rows, before; /* first LONG of the first column */
} seen;

static seen ask_last(world *w, const char *sql, int64_t last_rows, bool count_all)
{
    seen got = {0};
    alm_prepared *p = NULL;
    alm_cursor *c = NULL;
    alm_batch *batch = NULL;
    const alm_execute_options options = {.last_rows = last_rows, .count_all = count_all};
    assert_int_equal(alm_prepare(w->s, alm_str_of(sql), NULL, &p), ALM_OK);
    assert_int_equal(alm_execute_with(w->s, p, NULL, 0, &options, &c), ALM_OK);
    got.before = alm_cursor_rows_before(c);
    while (alm_cursor_next(c, &batch) == ALM_OK && batch != NULL) {
        if (got.rows == 0 && batch->rows > 0 && batch->cols[0].type.id == ALM_T_LONG)
            memcpy(&got.first, batch->cols[0].data, sizeof got.first);
        got.rows += batch->rows;
    }
    alm_cursor_close(c);
    alm_prepared_free(p);
    return got;
}

static void expect_last(world *w, const char *sql, int64_t last_rows, bool count_all, seen want)
{
    const seen got = ask_last(w, sql, last_rows, count_all);
    if (memcmp(&got, &want, sizeof got) != 0)
        fail_msg("%s: last %lld: first %lld, %lld rows, %lld before", sql, (long long)last_rows,
                 (long long)got.first, (long long)got.rows, (long long)got.before);
}

static void last_rows_of_every_kind_of_result(void **state)
{
    world *w = *state;
    const char *const many = "select x from long_sequence(100000)";
    const char *const with = "with a as (select x from long_sequence(9)) select x from a;";
    for (int i = 0; i < 3; i++) { /* the plan is kept from the second time on */
        expect_last(w, many, 3, false, (seen){99998, 3, 0});
        expect_last(w, many, 70000, false, (seen){30001, 70000, 0});
        expect_last(w, many, INT64_MAX, false, (seen){1, 100000, 0});
        expect_last(w, with, 2, false, (seen){8, 2, 0});
    }
    expect_last(w, many, 70000, true, (seen){30001, 70000, 30000});
    expect_last(w, many, INT64_MAX, true, (seen){1, 100000, 0});
    expect_last(w, with, 2, true, (seen){8, 2, 7});
    assert_int_equal(ask(w, "create table r (ts timestamp, v long) timestamp(ts)"), ALM_OK);
    const char *const change =
        "insert into r select x::timestamp, x from long_sequence(70000) returning v";
    expect_last(w, change, 10, false, (seen){69991, 10, 69990});
    expect_last(w, change, 100000, false, (seen){1, 70000, 0});
    expect_last(w, "show columns from r", 1, false, (seen){0, 1, 1});
    expect_last(w, "explain select v from r", 1, false,
                (seen){0, 1, ask_last(w, "explain select v from r", 9, true).rows - 1});
}

/* One statement, now with a limit and now without. */
static void a_prepared_statement_may_change_its_limit(void **state)
{
    world *w = *state;
    static const int64_t limits[] = {0, 0, 0, 2, 2, 2, 0, 5, 2, 0};
    alm_prepared *p = NULL;
    assert_int_equal(alm_prepare(w->s, ALM_STR("select x from long_sequence(9)"), NULL, &p),
                     ALM_OK);
    for (size_t i = 0; i < ALM_COUNT(limits); i++) {
        const alm_execute_options options = {.last_rows = limits[i]};
        alm_cursor *c = NULL;
        alm_batch *batch = NULL;
        assert_int_equal(alm_execute_with(w->s, p, NULL, 0, &options, &c), ALM_OK);
        assert_int_equal(alm_cursor_next(c, &batch), ALM_OK);
        assert_int_equal(batch->rows, limits[i] > 0 ? limits[i] : 9);
        alm_cursor_close(c);
    }
    alm_prepared_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(last_rows_of_every_kind_of_result, world_new, world_free),
        cmocka_unit_test_setup_teardown(a_prepared_statement_may_change_its_limit, world_new,
                                        world_free),
        cmocka_unit_test_setup_teardown(files_are_named_from_the_data_directory_on, world_new,
                                        world_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
