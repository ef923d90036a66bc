/*
 * plan_cache_test.c - plans that are kept for statements that come again.
 *
 * Method      Statements run again and again by text and as prepared ones, while tables, views, rows, users and the
 *             clock change between them: the answer must be that of a new plan, and where nothing changed the plan
 *             must be the kept one (the cursor tells). Then the limit, and threads beside a writer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "session/world_for_test.h"

/* What one execution gave: the first column of the first row, as an integer, and how many rows. */
typedef struct answer {
    alm_status code;
    int64_t value;
    int64_t rows;
    bool kept; /* by a plan that was there */
} answer;

static void read_rows(alm_cursor *c, answer *a)
{
    alm_batch *batch = NULL;
    while (alm_cursor_has_rows(c) && (a->code = alm_cursor_next(c, &batch)) == ALM_OK &&
           batch != NULL) {
        const alm_vec *v = &batch->cols[0];
        if (a->rows == 0 && batch->rows > 0 && alm_type_width(v->type) <= 8)
            memcpy(&a->value, v->data, alm_type_width(v->type));
        a->rows += batch->rows;
    }
}

static answer execute(alm_session *s, alm_prepared *p)
{
    answer a = {0};
    alm_cursor *c = NULL;
    alm_kept_plan *before = p->kept != NULL ? alm_kept_plan_retain(p->kept) : NULL;
    a.code = alm_execute(s, p, NULL, 0, &c);
    if (a.code == ALM_OK) {
        read_rows(c, &a);
        a.kept = c->kept != NULL && c->kept == before;
        alm_cursor_close(c);
    }
    alm_kept_plan_release(before);
    return a;
}

static answer ask(alm_session *s, const char *sql)
{
    answer a = {0};
    alm_prepared *p = NULL;
    size_t next = 0;
    a.code = alm_prepare(s, alm_str_of(sql), &next, &p);
    if (a.code != ALM_OK)
        return a;
    a = execute(s, p);
    alm_prepared_free(p);
    return a;
}

static void run(alm_session *s, const char *sql)
{
    const answer a = ask(s, sql);
    if (a.code != ALM_OK)
        fail_msg("%s: %s", sql != NULL ? sql : "", alm_session_error(s)->msg);
}

/* So often that its plan is there, if it is one of those. */
static void warm(alm_session *s, const char *sql)
{
    for (int i = 0; i < 3; i++)
        run(s, sql);
}

static void expect(alm_session *s, const char *sql, int64_t value, bool kept)
{
    const answer a = ask(s, sql);
    if (a.code != ALM_OK)
        fail_msg("%s: %s", sql, alm_session_error(s)->msg);
    if (a.value != value || a.kept != kept)
        fail_msg("%s: %lld %s, expected %lld %s", sql, (long long)a.value, a.kept ? "kept" : "new",
                 (long long)value, kept ? "kept" : "new");
}

static void make_table(alm_session *s)
{
    run(s, "create table t (ts timestamp, sym symbol, x long) timestamp(ts) partition by day");
    run(s,
        "insert into t values ('2024-01-01T00:00:01Z', 'a', 1), ('2024-01-01T00:00:02Z', 'b', 2)");
}

/* ------------------------------------------------------------------- what is kept */

static void is_kept_the_second_time(void **state)
{
    world *w = *state;
    make_table(w->s);
    const char *const texts[] = {"select 7::long", "select sum(x) from t where sym = 'b'",
                                 "select x from t where ts in '2024-01-01T00:00:02' ;\n"};
    const int64_t values[] = {7, 2, 2};
    for (size_t i = 0; i < ALM_COUNT(texts); i++) {
        expect(w->s, texts[i], values[i], false);
        expect(w->s, texts[i], values[i], false); /* has come before: kept from here on */
        expect(w->s, texts[i], values[i], true);
        expect(w->s, texts[i], values[i], true);
    }
    alm_session *other = connect_as(w, "admin");
    expect(other, texts[1], 2, true);
    alm_session_free(other);
}

static void is_not_kept(void **state)
{
    world *w = *state;
    make_table(w->s);
    const char *const texts[] = {
        "select now()",
        "select count() from t where ts < now()",
        "select count() from t where ts in '$today'",
        "select rnd_long()",
        "select current_user() from t",
        "select current_setting('application_name')",
        "select count() from tables()",
        "select x from long_sequence(3)",
        "select count() from pg_class",
        "select 1; select 2",
        "show tables",
        "insert into t values ('2024-01-01T00:00:03Z', 'c', 3)",
    };
    for (size_t i = 0; i < ALM_COUNT(texts); i++) {
        warm(w->s, texts[i]);
        if (ask(w->s, texts[i]).kept)
            fail_msg("kept: %s", texts[i]);
    }
    const int64_t first = ask(w->s, "select now()").value;
    (void)usleep(2000);
    assert_true(ask(w->s, "select now()").value > first);
}

static void prepared_statement(void **state)
{
    world *w = *state;
    alm_prepared *p = NULL;
    const alm_type *types = NULL;
    const alm_plan_col *cols = NULL;
    uint32_t n_types = 0, n_cols = 0;
    make_table(w->s);
    assert_int_equal(alm_prepare(w->s, ALM_STR("select sum(x) s from t"), NULL, &p), ALM_OK);
    answer a = execute(w->s, p);
    assert_int_equal(a.value, 3);
    a = execute(w->s, p);
    a = execute(w->s, p);
    assert_true(a.kept && a.value == 3);
    run(w->s, "insert into t values ('2024-01-01T00:00:03Z', 'c', 4)");
    a = execute(w->s, p);
    assert_true(!a.kept && a.value == 7);
    a = execute(w->s, p);
    assert_true(a.kept && a.value == 7);
    alm_prepared_free(p);
    /* one that starts from the plan, is described by it, and parsed when that does not hold */
    assert_int_equal(alm_prepare(w->s, ALM_STR("select sum(x) s from t"), NULL, &p), ALM_OK);
    assert_non_null(p->origin);
    assert_int_equal(alm_describe(w->s, p, NULL, 0, &types, &n_types, &cols, &n_cols), ALM_OK);
    assert_int_equal(n_types, 0);
    assert_int_equal(n_cols, 1);
    assert_string_equal(cols[0].name, "s");
    run(w->s, "alter table t alter column x type double");
    assert_int_equal(alm_describe(w->s, p, NULL, 0, &types, &n_types, &cols, &n_cols), ALM_OK);
    assert_int_equal(cols[0].type.id, ALM_T_DOUBLE);
    a = execute(w->s, p);
    double sum = 0;
    memcpy(&sum, &a.value, sizeof sum);
    assert_true(sum == 7 && !a.kept);
    run(w->s, "drop table t");
    a = execute(w->s, p);
    assert_int_equal(a.code, ALM_E_TABLE);
    alm_prepared_free(p);
}

/* --------------------------------------------------------------------- what changes */

static void rows_change(void **state)
{
    world *w = *state;
    make_table(w->s);
    warm(w->s, "select count() from t");
    warm(w->s, "select count() from t where sym = 'new'");
    warm(w->s, "select count() from t where ts > '2024-01-02'");
    warm(w->s, "select 5::long");
    expect(w->s, "select count() from t where sym = 'new'", 0, true);
    run(w->s, "insert into t values ('2024-01-03T00:00:00Z', 'new', 9)");
    expect(w->s, "select count() from t", 3, false);
    expect(w->s, "select count() from t where sym = 'new'", 1, false);
    expect(w->s, "select count() from t where ts > '2024-01-02'", 1, false);
    expect(w->s, "select 5::long", 5, true);
    warm(w->s, "select count() from t");
    expect(w->s, "select count() from t", 3, true);
    run(w->s, "update t set x = 1");
    expect(w->s, "select sum(x) from t", 3, false);
    run(w->s, "truncate table t");
    expect(w->s, "select count() from t", 0, false);
    run(w->s, "create table u (x long)");
    warm(w->s, "select count() from t");
    run(w->s, "insert into u values (1)");
    expect(w->s, "select count() from t", 0, true); /* another table */
}

static void tables_change(void **state)
{
    world *w = *state;
    make_table(w->s);
    warm(w->s, "select x from t limit 1");
    run(w->s, "alter table t drop column x");
    assert_int_equal(ask(w->s, "select x from t limit 1").code, ALM_E_NAME);
    run(w->s, "alter table t add column x int");
    assert_int_equal(ask(w->s, "select x from t limit 1").code, ALM_OK);
    run(w->s, "create table a as (select 1::long v)");
    run(w->s, "create table b as (select 2::long v)");
    warm(w->s, "select v from a");
    run(w->s, "rename table a to c");
    assert_int_equal(ask(w->s, "select v from a").code, ALM_E_TABLE);
    run(w->s, "rename table b to a");
    expect(w->s, "select v from a", 2, false);
    warm(w->s, "select v from a");
    run(w->s, "drop table a");
    assert_int_equal(ask(w->s, "select v from a").code, ALM_E_TABLE);
    run(w->s, "create table a as (select 3::long v)");
    expect(w->s, "select v from a", 3, false);
}

/* A table of the same name, made the same way, may get the memory and the version of the one before it. */
static void tables_come_again(void **state)
{
    world *w = *state;
    for (int i = 0; i < 200; i++) {
        run(w->s,
            i % 2 == 0 ? "create table t (a long, b long)" : "create table t (b long, a long)");
        run(w->s, i % 2 == 0 ? "insert into t values (1, 2)" : "insert into t values (2, 1)");
        expect(w->s, "select a from t", 1, false);
        run(w->s, "select a from t");
        expect(w->s, "select a from t", 1, true);
        run(w->s, "drop table t");
    }
}

static void views_change(void **state)
{
    world *w = *state;
    make_table(w->s);
    run(w->s, "create view v as (select sum(x) s from t)");
    warm(w->s, "select s from v");
    expect(w->s, "select s from v", 3, true);
    run(w->s, "create or replace view v as (select max(x) s from t)");
    expect(w->s, "select s from v", 2, false);
    warm(w->s, "select s from v");
    run(w->s, "insert into t values ('2024-01-05T00:00:00Z', 'c', 30)");
    expect(w->s, "select s from v", 30, false);
    run(w->s, "create table y as (select 1::long s)");
    warm(w->s, "with z as (select 8::long s) select s from z");
    run(w->s, "create table z as (select 9::long s)");
    expect(w->s, "with z as (select 8::long s) select s from z", 8, true);
}

static void transactions(void **state)
{
    world *w = *state;
    make_table(w->s);
    alm_session *other = connect_as(w, "admin");
    warm(w->s, "select count() from t");
    run(w->s, "begin");
    expect(w->s, "select count() from t", 2, true);
    run(w->s, "insert into t values ('2024-01-01T00:00:05Z', 'z', 5)");
    expect(w->s, "select count() from t", 3, false);
    expect(w->s, "select count() from t", 3, false);
    expect(other, "select count() from t", 2, true);
    run(w->s, "rollback");
    expect(w->s, "select count() from t", 2, true);
    alm_session_free(other);
}

static void users(void **state)
{
    world *w = *state;
    alm_session *other = connect_as(w, "somebody");
    warm(w->s, "select 3::long");
    expect(other, "select 3::long", 3, false);
    alm_session_read_only(other, true);
    assert_int_equal(ask(other, "create table q (x int)").code, ALM_E_DENIED);
    alm_session_free(other);
}

static void another_day(void **state)
{
    world *w = *state;
    warm(w->s, "select to_timestamp('24', 'yy')");
    assert_true(ask(w->s, "select to_timestamp('24', 'yy')").kept);
    assert_non_null(w->db->plans.newest);
    w->db->plans.newest->day--;
    assert_false(ask(w->s, "select to_timestamp('24', 'yy')").kept);
}

/* ------------------------------------------------------------------------- limits */

static void memory_is_bounded(void **state)
{
    world *w = *state;
    alm_session_free(w->s);
    alm_db_free(w->db, 0);
    w->conf.query_plan_cache_max = 512 << 10;
    open_world(w);
    char sql[64];
    for (int i = 0; i < 400; i++) {
        (void)snprintf(sql, sizeof sql, "select %d::long", i);
        warm(w->s, sql);
        assert_true(w->db->plans.bytes > 0 && w->db->plans.bytes <= 512 << 10);
    }
    expect(w->s, "select 399::long", 399, true);
    expect(w->s, "select 0::long", 0, false); /* went first */
    alm_session_free(w->s);
    alm_db_free(w->db, 0);
    w->conf.query_plan_cache_max = 0;
    open_world(w);
    warm(w->s, "select 1::long");
    expect(w->s, "select 1::long", 1, false);
    assert_int_equal(w->db->plans.bytes, 0);
}

/* A table that changes between any two executions: a template is made, and serves from then on. */
static void changes_all_the_time(void **state)
{
    world *w = *state;
    alm_prepared *p = NULL;
    make_table(w->s);
    assert_int_equal(alm_prepare(w->s, ALM_STR("select count() from t"), NULL, &p), ALM_OK);
    int made = 0;
    const alm_kept_plan *last = NULL;
    for (int64_t i = 0; i < 60; i++) {
        const answer a = execute(w->s, p);
        assert_int_equal(a.value, i + 2);
        made += p->kept != NULL && p->kept != last;
        assert_true(i < 3 || a.kept);
        last = p->kept;
        run(w->s, "insert into t values ('2024-02-01T00:00:00Z', 'c', 1)");
    }
    assert_in_range(made, 1, 2);
    alm_prepared_free(p);
}

typedef struct reader {
    pthread_t thread;
    world *w;
    atomic_bool *stop;
    int64_t asked, kept, bad;
} reader;

static void *read_on(void *arg)
{
    reader *r = arg;
    alm_session *s = connect_as(r->w, "admin");
    int64_t rows = 0;
    while (!atomic_load(r->stop)) {
        const answer a = ask(s, "select count() from t where sym = 'a'");
        const answer b = ask(s, "select 11::long");
        r->asked++;
        r->kept += a.kept + b.kept;
        r->bad += a.code != ALM_OK || a.value < rows || b.value != 11;
        rows = a.value;
    }
    alm_session_free(s);
    return NULL;
}

static void beside_a_writer(void **state)
{
    world *w = *state;
    reader readers[4];
    atomic_bool stop = false;
    make_table(w->s);
    for (size_t i = 0; i < ALM_COUNT(readers); i++) {
        readers[i] = (reader){.w = w, .stop = &stop};
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_on, &readers[i]), 0);
    }
    for (int i = 0; i < 40; i++) {
        run(w->s, "insert into t (ts, sym, x) values ('2024-02-01T00:00:00Z', 'a', 1)");
        run(w->s, i % 2 == 0 ? "alter table t add column y int" : "alter table t drop column y");
        (void)usleep(2000);
    }
    atomic_store(&stop, true);
    for (size_t i = 0; i < ALM_COUNT(readers); i++) {
        (void)pthread_join(readers[i].thread, NULL);
        assert_int_equal(readers[i].bad, 0);
        assert_true(readers[i].kept > 0);
    }
    expect(w->s, "select count() from t where sym = 'a' and x > 0", 41, false);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, world_new, world_free)
    const struct CMUnitTest tests[] = {
        CASE(is_kept_the_second_time),
        CASE(is_not_kept),
        CASE(prepared_statement),
        CASE(rows_change),
        CASE(tables_change),
        CASE(tables_come_again),
        CASE(views_change),
        CASE(transactions),
        CASE(users),
        CASE(another_day),
        CASE(memory_is_bounded),
        CASE(changes_all_the_time),
        CASE(beside_a_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
