/*
 * short_test.c - which queries a network thread may run itself.
 *
 * Method      A table of half a million rows; alm_cursor_is_short of plans over it.
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_plan)};
    return cmocka_run_group_tests(tests, setup, world_free);
}
