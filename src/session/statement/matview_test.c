/*
 * matview_test.c - refreshes of materialized views beside statements that change the view and its base.
 *
 * Method      One thread refreshes, one changes both tables, and the test looks for refreshes that have become useless, as the
 *             refresher does. What a refresh has published must outlive every version of the tables: the sanitizers watch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "session/statement/matview.h"
#include "session/world_for_test.h"

typedef struct worker {
    pthread_t thread;
    world *w;
    const char *const *statements; /* NULL ends the list; asked again and again */
    atomic_bool *stop;
    int64_t done;
} worker;

static alm_status run(alm_session *s, const char *sql)
{
    alm_prepared *p = NULL;
    alm_cursor *c = NULL;
    alm_status st = alm_prepare(s, alm_str_of(sql), NULL, &p);
    if (st == ALM_OK)
        st = alm_execute(s, p, NULL, 0, &c);
    alm_cursor_close(c);
    alm_prepared_free(p);
    return st;
}

static void *repeat(void *arg)
{
    worker *k = arg;
    alm_session *s = NULL;
    alm_ctx cx = {0};
    if (alm_session_new(&cx, k->w->db, "admin", "library", &s) != ALM_OK)
        return NULL;
    while (!atomic_load(k->stop))
        for (size_t i = 0; k->statements[i] != NULL; i++)
            k->done += run(s, k->statements[i]) == ALM_OK;
    alm_session_free(s);
    return NULL;
}

static void versions_end_beside_a_refresh(void **state)
{
    world *w = *state;
    static const char *const refreshes[] = {"refresh materialized view m full",
                                            "refresh materialized view m incremental", NULL};
    static const char *const changes[] = {"insert into t values ('2024-01-02', 2)",
                                          "alter materialized view m set ttl 4 weeks",
                                          "alter table t add column y int",
                                          "alter materialized view m set ttl 0 hours",
                                          "alter table t drop column y",
                                          NULL};
    atomic_bool stop = false;
    worker workers[] = {{.w = w, .stop = &stop, .statements = refreshes},
                        {.w = w, .stop = &stop, .statements = changes}};
    assert_int_equal(
        run(w->s, "create table t (ts timestamp, v int) timestamp(ts) partition by day"), ALM_OK);
    assert_int_equal(run(w->s,
                         "create materialized view m refresh manual as (select ts, sum(v) s from t "
                         "sample by 1h) partition by day"),
                     ALM_OK);
    assert_int_equal(run(w->s, "insert into t values ('2024-01-01', 1)"), ALM_OK);
    for (size_t i = 0; i < ALM_COUNT(workers); i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, repeat, &workers[i]), 0);
    for (int64_t until = alm_monotonic_ns() + INT64_C(1000000000); alm_monotonic_ns() < until;)
        alm_refreshes_watch(&w->cx, w->db);
    atomic_store(&stop, true);
    for (size_t i = 0; i < ALM_COUNT(workers); i++) {
        (void)pthread_join(workers[i].thread, NULL);
        assert_true(workers[i].done > 0);
    }
    assert_null(w->db->refreshes.first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(versions_end_beside_a_refresh, world_new, world_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
