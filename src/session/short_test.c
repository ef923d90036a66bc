/*
 * short_test.c - which queries a network thread may run itself, and how they leave it.
 *
 * Method      A table of half a million rows; alm_cursor_is_short of plans over it. A cursor that yields after some of its
 *             batches gives the rows of one that does not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "session/world_for_test.h"

static bool is_short(world *w, const char *sql)
{
    alm_prepared *p = NULL;
    alm_cursor *c = NULL;
    assert_int_equal(alm_prepare(w->s, alm_str_of(sql), NULL, &p), ALM_OK);
    if (alm_execute(w->s, p, NULL, 0, &c) != ALM_OK)
        fail_msg("%s: %s", sql, alm_session_error(w->s)->msg);
    const bool yes = alm_cursor_is_short(c);
    alm_cursor_close(c);
    alm_prepared_free(p);
    return yes;
}

static int setup(void **state)
{
    (void)world_new(state);
    world *w = *state;
    (void)is_short(w, "create table t as (select x::timestamp ts, x, (x % 9)::varchar v, "
                      "(x % 7)::varchar::symbol s from long_sequence(500000)) timestamp(ts)");
    (void)is_short(w, "create table few as (select (x * 86400000000)::timestamp ts, x, 1 one from "
                      "long_sequence(2000)) timestamp(ts)");
    (void)is_short(w, "create table ref as (select x, 1 one from long_sequence(20))");
    return 0;
}

static void by_plan(void **state)
{
    static const char *const yes[] = {"select 1",
                                      "select x from t limit 3",
                                      "select x from t where s = '3' order by ts desc limit 1",
                                      "select x + 1 from t where x < 0 and s = '3' limit 10",
                                      "select x from t where ts < 1000",
                                      "select f.x from few f join ref r on f.x = r.x",
                                      "select count() from few a asof join few b",
                                      "select ts, sum(x) from few sample by 1d"};
    static const char *const no[] = {
        "select x from t", "select x from t where s = '3'",
        "select x from t where s = '3' limit -1", "select x from t where s = '3' limit 100000",
        "select x from t where v like '%z' limit 1", "select x from t where v = 'z' limit 1",
        "select x from t where x * 2 = 7 limit 1",
        "select x from t where s = '3' order by x limit 1",
        /* little is read, much is made of it */
        "select count() from few a cross join few b cross join few c",
        "select count() from few a join few b on a.one = b.one",
        "select count() from few a join few b on a.x < b.x where a.x + b.x < 0",
        "select count() from few a left join few b on a.one = b.one where b.x < 0",
        "select count() from few a where x in (select b.x + c.x from few b cross join few c)",
        "select count() from few a where exists (select 1 from few b where b.x < a.x and b.one + "
        "a.one = 3)",
        "select (select count() from few b where b.x <= a.x and a.one + b.one = 3) from few a "
        "limit 1",
        "with c as (select a.x from few a join few b on a.one = b.one) select count() from c limit "
        "1",
        "select count() from long_sequence(2000) a cross join long_sequence(2000) b",
        "select count() from (select ts, sum(x) from few sample by 1s fill(0))",
        "select length(string_agg(repeat('x', 100000), ',')) from few",
        "select repeat('ab', x::int) from few", "select lpad('a', (x * 50)::int, 'b') from few",
        "select count() from few where replace(x::varchar, '1', 'of some length') = 'a'",
        "select regexp_replace(x::varchar, '1', 'of some length') from few",
        "select rnd_str(1, 10000, 0) from few",
        "select count() from pg_attribute a, pg_attribute b, pg_class c"};
    for (size_t i = 0; i < ALM_COUNT(yes); i++)
        if (!is_short(*state, yes[i]))
            fail_msg("long: %s", yes[i]);
    for (size_t i = 0; i < ALM_COUNT(no); i++)
        if (is_short(*state, no[i]))
            fail_msg("short: %s", no[i]);
}

/* Rows of the query, whose first column is a LONG, as one number in which their order counts. The time on the network thread is
 * over after `batches` of them; *yields: how often the cursor yielded. */
static uint64_t rows_of(world *w, const char *sql, uint32_t batches, uint32_t *yields)
{
    alm_prepared *p = NULL;
    alm_cursor *c = NULL;
    alm_batch *batch = NULL;
    uint64_t hash = 0;
    *yields = 0;
    assert_int_equal(alm_prepare(w->s, alm_str_of(sql), NULL, &p), ALM_OK);
    if (alm_execute(w->s, p, NULL, 0, &c) != ALM_OK)
        fail_msg("%s: %s", sql, alm_session_error(w->s)->msg);
    for (uint32_t n = 0;; n++) {
        w->s->brief_ns = n >= batches ? 1 : 0;
        const alm_status st = alm_cursor_next(c, &batch);
        *yields += st == ALM_E_YIELD;
        if (st == ALM_E_YIELD) {
            assert_null(batch);
            assert_false(alm_cursor_is_short(c));
            continue;
        }
        if (st != ALM_OK)
            fail_msg("%s: %s", sql, alm_session_error(w->s)->msg);
        if (batch == NULL)
            break;
        const alm_vec *col = &batch->cols[0];
        for (uint32_t i = 0; i < batch->rows; i++) {
            int64_t x = 0;
            memcpy(&x, (const char *)col->data + (col->is_const ? 0 : i) * col->width, sizeof x);
            hash = hash * 31 + (uint64_t)x;
        }
    }
    w->s->brief_ns = 0;
    alm_cursor_close(c);
    alm_prepared_free(p);
    return hash;
}

static void yields_and_goes_on(void **state)
{
    static const char *const queries[] = {
        "select x from t",
        "select x from t where v like '%3'",
        "select x from t where x % 1000 = 1",
        "select x, s from t order by x % 7, ts",
        "select sum(x), s from t group by s order by s",
        "select x from t limit 9000",
        "select a.x, b.s from t a asof join t b",
        "select rnd_long(), x from t",
        "select x from long_sequence(300000)",
        "select t.x from t join ref on t.x % 20 = ref.x",
        "select x, row_number() over (partition by s) from t",
        "select x from t where x < 10 union all select x from t where x > 400000",
    };
    for (size_t i = 0; i < ALM_COUNT(queries); i++) {
        uint32_t never = 0, yields = 0, ever = 0;
        const bool random = strstr(queries[i], "rnd") != NULL;
        const uint64_t rows = rows_of(*state, queries[i], UINT32_MAX, &never);
        assert_int_equal(never, 0);
        for (uint32_t batches = 0; batches < 4; batches++) {
            if (rows_of(*state, queries[i], batches, &yields) != rows && !random)
                fail_msg("other rows after %u batches: %s", batches, queries[i]);
            assert_true(yields <= 1);
            ever += yields;
        }
        if (ever == 0)
            fail_msg("never yields: %s", queries[i]);
    }
}

static void execution_yields(void **state)
{
    world *w = *state;
    alm_prepared *p = NULL;
    alm_cursor *c = NULL;
    alm_buf sql;
    alm_buf_init(&sql, NULL);
    assert_int_equal(alm_buf_text(&w->cx, &sql, "select x"), ALM_OK);
    for (int i = 0; i < 3000; i++)
        assert_int_equal(alm_buf_printf(&w->cx, &sql, ", x + %d", i), ALM_OK);
    assert_int_equal(alm_buf_text(&w->cx, &sql, " from few"), ALM_OK);
    assert_int_equal(alm_prepare(w->s, (alm_str){sql.ptr, sql.len}, NULL, &p), ALM_OK);
    const int64_t started = atomic_load(&w->db->counters.by[w->s->by].started);
    w->s->brief_ns = 1;
    assert_int_equal(alm_execute(w->s, p, NULL, 0, &c), ALM_E_YIELD);
    assert_null(c);
    w->s->brief_ns = 0;
    assert_int_equal(alm_execute(w->s, p, NULL, 0, &c), ALM_OK);
    assert_int_equal(atomic_load(&w->db->counters.by[w->s->by].started), started + 1);
    alm_cursor_close(c);
    alm_prepared_free(p);
    alm_buf_deinit(&sql);
}

/* A statement that changes something is not begun twice. */
static void effects_do_not_yield(void **state)
{
    uint32_t yields = 0;
    (void)rows_of(*state,
                  "select x, set_config('application_name', x::varchar, false) from t limit 20000",
                  0, &yields);
    assert_int_equal(yields, 0);
    assert_true(is_short(*state, "select x, cancel_query(-1) from few limit 10"));
    assert_false(is_short(*state, "select x, cancel_query(-1) from few"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_plan),
        cmocka_unit_test(yields_and_goes_on),
        cmocka_unit_test(execution_yields),
        cmocka_unit_test(effects_do_not_yield),
    };
    return cmocka_run_group_tests(tests, setup, world_free);
}
