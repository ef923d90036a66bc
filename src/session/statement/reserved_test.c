/*
 * reserved_test.c - a table of an older version, with a name that is a relation of the server.
 *
 * Method      The storage makes the table, which asks nobody about names; then SQL, also behind a restart.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "session/world_for_test.h"

static alm_status run(world *w, const char *sql, uint32_t *n_cols)
{
    alm_prepared *p = NULL;
    alm_cursor *c = NULL;
    alm_status st = alm_prepare(w->s, alm_str_of(sql), NULL, &p);
    if (st == ALM_OK)
        st = alm_execute(w->s, p, NULL, 0, &c);
    if (st == ALM_OK)
        *n_cols = c->n_cols;
    if (c != NULL)
        alm_cursor_close(c);
    alm_prepared_free(p);
    return st;
}

static void expect_cols(world *w, const char *sql, uint32_t want)
{
    uint32_t n = 0;
    if (run(w, sql, &n) != ALM_OK)
        fail_msg("%s: %s", sql, alm_session_error(w->s)->msg);
    if (n != want)
        fail_msg("%s: %u columns, not %u", sql, n, want);
}

static void make_old(world *w, const char *name)
{
    const alm_column col = {.name = "mine", .type = {.id = ALM_T_INT}};
    const alm_table_spec spec = {
        .name = alm_str_of(name), .cols = &col, .n_cols = 1, .ts_col = -1, .wal = true};
    assert_int_equal(alm_table_create(&w->cx, w->db->storage, &spec, NULL), ALM_OK);
}

/* FROM has the server's relation; with its schema the table is there: to read, to write, to rename and to drop. */
static void old_tables(void **state)
{
    world *w = *state;
    uint32_t n = 0;
    make_old(w, "pg_range");
    make_old(w, "keywords");
    alm_session_free(w->s);
    alm_db_free(w->db, 0);
    open_world(w);
    expect_cols(w, "select rngtypid, rngsubtype from pg_range", 2);
    expect_cols(w, "select rngtypid from \"pg_range\"", 1);
    expect_cols(w, "select rngtypid from pg_catalog.pg_range", 1);
    expect_cols(w, "select keyword from keywords", 1);
    assert_int_equal(run(w, "select mine from pg_range", &n), ALM_E_NAME);
    assert_int_equal(run(w, "select mine from keywords", &n), ALM_E_NAME);
    expect_cols(w, "select * from public.pg_range", 1);
    expect_cols(w, "select mine from public.\"pg_range\"", 1);
    expect_cols(w, "select mine from public.keywords", 1);
    expect_cols(w, "insert into public.pg_range values (1)", 0);
    expect_cols(w, "create table if not exists public.pg_range (mine int)", 0);
    assert_int_equal(run(w, "rename table public.pg_range to keywords", &n), ALM_E_ARG);
    expect_cols(w, "rename table public.pg_range to kept", 0);
    expect_cols(w, "select mine from kept", 1);
    expect_cols(w, "drop table keywords", 0);
    assert_int_equal(run(w, "create table keywords (mine int)", &n), ALM_E_ARG);
    assert_int_equal(run(w, "select mine from public.keywords", &n), ALM_E_TABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(old_tables)};
    return cmocka_run_group_tests(tests, world_new, world_free);
}
