/*
 * session_test.c - what a session tells its client of an error.
 *
 * Method      A part file is overwritten; the error of the query that reads it names the file from the data directory on.
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_are_named_from_the_data_directory_on, world_new,
                                        world_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
