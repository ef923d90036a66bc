/*
 * plan_template_test.c - statements with parameters that run by templates of their plans.
 *
 * Method      Each statement is executed again and again with other values, while rows come and columns change. The
 *             answer must be the one of the same text with a comment behind it, which no plan is kept for; and it
 *             must have come from the template exactly where the case says that there is one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"
#include "session/world_for_test.h"
#include "type/text.h"
#include "type/value.h"

enum { VALUES_MAX = 3 };

/* Of a parameter: its type and text, NULL: null. */
typedef struct given {
    alm_type_id type;
    const char *text;
} given;

typedef struct answer {
    alm_status code;
    uint64_t hash; /* of all cells, in order */
    int64_t rows;
    bool by_template;
    int32_t pos;
    char message[256];
} answer;

static alm_vec value_of(world *w, given g)
{
    alm_vec v = {0};
    const alm_type type = {.id = (uint8_t)g.type};
    assert_int_equal(alm_vec_new(&w->cx, &w->arena, type, 1, &v), ALM_OK);
    v.is_const = true;
    if (g.text == NULL)
        alm_value_set_null(type, v.data);
    else if (alm_type_is_text(type))
        *(alm_view *)v.data = alm_view_of(alm_str_of(g.text));
    else
        assert_int_equal(alm_value_scan(type, alm_str_of(g.text), v.data), ALM_SCAN_OK);
    return v;
}

static void add_cells(const alm_batch *batch, answer *a)
{
    for (uint32_t row = 0; row < batch->rows; row++) {
        for (uint32_t col = 0; col < batch->n_cols; col++) {
            const alm_vec *v = &batch->cols[col];
            const alm_str cell =
                alm_type_is_text(v->type)
                    ? alm_vec_text(v, row)
                    : (alm_str){(const char *)v->data + (v->is_const ? 0 : row) * v->width,
                                v->width};
            a->hash = a->hash * ALM_HASH_K1 + alm_hash_str(cell) + alm_vec_is_null(v, row);
        }
    }
}

static answer execute(world *w, alm_session *s, alm_prepared *p, const given *g, uint32_t n)
{
    answer a = {0};
    alm_cursor *c = NULL;
    alm_batch *batch = NULL;
    alm_vec values[VALUES_MAX] = {0};
    for (uint32_t i = 0; i < n; i++)
        values[i] = value_of(w, g[i]);
    a.code = alm_execute(s, p, values, n, &c);
    if (a.code == ALM_OK) {
        a.by_template = c->kept != NULL && c->kept->is_template;
        while ((a.code = alm_cursor_next(c, &batch)) == ALM_OK && batch != NULL) {
            add_cells(batch, &a);
            a.rows += batch->rows;
        }
    }
    if (a.code != ALM_OK) {
        a.pos = alm_session_error(s)->sql_pos;
        (void)snprintf(a.message, sizeof a.message, "%.200s", alm_session_error(s)->msg);
    }
    alm_cursor_close(c);
    return a;
}

static alm_prepared *prepare(alm_session *s, const char *sql)
{
    alm_prepared *p = NULL;
    if (alm_prepare(s, alm_str_of(sql), NULL, &p) != ALM_OK)
        fail_msg("%s: %s", sql, alm_session_error(s)->msg);
    return p;
}

static void run(world *w, const char *sql)
{
    alm_prepared *p = prepare(w->s, sql);
    const answer a = execute(w, w->s, p, NULL, 0);
    if (a.code != ALM_OK)
        fail_msg("%s: %s", sql, a.message);
    alm_prepared_free(p);
}

static answer planned_anew(world *w, const char *sql, const given *g, uint32_t n)
{
    char text[512];
    (void)snprintf(text, sizeof text, "%s -- %lld", sql, (long long)w->fresh++);
    alm_prepared *p = prepare(w->s, text);
    const answer a = execute(w, w->s, p, g, n);
    assert_false(a.by_template);
    alm_prepared_free(p);
    return a;
}

/* The same answer, or the same error at the same place. */
static void same(world *w, const char *sql, alm_prepared *p, const given *g, uint32_t n,
                 bool by_template)
{
    const answer want = planned_anew(w, sql, g, n), got = execute(w, w->s, p, g, n);
    if (got.code != want.code || got.hash != want.hash || got.rows != want.rows ||
        got.pos != want.pos || strcmp(got.message, want.message) != 0)
        fail_msg("%s (%s, %s): %lld rows %s, expected %lld rows %s", sql,
                 n > 0 && g[0].text != NULL ? g[0].text : "null",
                 n > 1 && g[1].text != NULL ? g[1].text : "null", (long long)got.rows, got.message,
                 (long long)want.rows, want.message);
    if (got.code == ALM_OK && got.by_template != by_template)
        fail_msg("%s: %s", sql, got.by_template ? "by a template" : "by no template");
}

static void make_table(world *w)
{
    run(w, "create table t (ts timestamp, sym symbol, name varchar, x long, i int, d double, b "
           "boolean) "
           "timestamp(ts) partition by day");
    run(w,
        "insert into t select dateadd('m', x::int * 7, '2024-01-01'::timestamp), 's' || (x % 5), "
        "'n' || (x % 11), x, (x % 100)::int, x / 3.0, x % 2 = 0 from long_sequence(1000)");
    run(w, "insert into t (ts, x) values ('2024-01-02T00:00:30Z', null)");
}

/* ------------------------------------------------------------------------- answers */

#define S(v) {ALM_T_STRING, v}
#define T(v) {ALM_T_TIMESTAMP, v}
#define L(v) {ALM_T_LONG, v}
#define I(v) {ALM_T_INT, v}
#define D(v) {ALM_T_DOUBLE, v}

typedef struct sample {
    const char *sql;
    bool has;   /* a template */
    uint32_t n; /* parameters */
    given values[4][VALUES_MAX];
} sample;

static const sample SAMPLES[] = {
    {"select ts, x from t where sym = $1 and ts >= $2 and ts < $3",
     true,
     3,
     {{S("s1"), T("2024-01-02T00:00:00Z"), T("2024-01-03T00:00:00Z")},
      {S("s2"), T("2024-01-01T00:00:00Z"), T("2024-01-09T00:00:00Z")},
      {S("unknown"), T("2024-01-01T00:00:00Z"), T("2024-01-09T00:00:00Z")},
      {S("s0"), T("2024-01-03T00:00:00Z"), T("2024-01-02T00:00:00Z")}}},
    {"select ts, x from t where sym = $1 order by ts desc limit 1",
     true,
     1,
     {{S("s1")}, {S("s4")}, {S("")}, {S("n")}}},
    {"select sum(x) from t where ts in $1",
     true,
     1,
     {{S("2024-01-02")}, {S("2024-01-01T05;3h")}, {S("2024")}, {S("no time")}}},
    {"select x from t where ts = $1",
     true,
     1,
     {{S("2024-01-01T07:00:00Z")}, {S("2024-01-02;1h")}, {S("2023")}, {S("no time")}}},
    {"select x from t where $1 < ts limit 3",
     true,
     1,
     {{T("2024-01-02T00:00:00Z")},
      {T("2030-01-02T00:00:00Z")},
      {T("2000-01-01T00:00:00Z")},
      {T("2024-01-05T00:00:00Z")}}},
    {"select x from t where ts between $1 and $2",
     true,
     2,
     {{T("2024-01-02T00:00:00Z"), T("2024-01-02T02:00:00Z")},
      {T("2024-01-02T02:00:00Z"), T("2024-01-02T00:00:00Z")},
      {T("2024-01-01T00:00:00Z"), T("2024-01-01T00:00:00Z")},
      {T("2024-01-02T00:00:00Z"), T("2024-02-02T00:00:00Z")}}},
    {"select x from t where x between $1 and $2",
     true,
     2,
     {{L("5"), L("9")}, {L("9"), L("5")}, {L("-1"), L("0")}, {L("999"), L("2000")}}},
    {"select count(), sum(d) from t where sym in ($1, $2, 's0')",
     true,
     2,
     {{S("s1"), S("s2")}, {S("x"), S("y")}, {S("s0"), S("s0")}, {S("s3"), S("")}}},
    {"select x from t where x = $1", true, 1, {{L("7")}, {L("-7")}, {L("1000")}, {L("0")}}},
    {"select x from t where i = $1", true, 1, {{L("7")}, {L("5000000000")}, {L("99")}, {L("100")}}},
    {"select x from t where $1 = x", true, 1, {{I("7")}, {I("-7")}, {I("1000")}, {I("0")}}},
    {"select x from t where d > $1 and i != $2",
     true,
     2,
     {{D("300.5"), I("3")}, {D("1e9"), I("3")}, {D("-1"), I("0")}, {D("333"), I("1000")}}},
    {"select x from t where x > $1", true, 1, {{S("990")}, {S("abc")}, {S("0")}, {S("1e3")}}},
    {"select x from t where name = $1 or x = $2 and b",
     true,
     2,
     {{S("n3"), L("8")}, {S("n10"), L("9")}, {S("zz"), L("-1")}, {S("N3"), L("1000")}}},
    {"select sym, count() n from t where ts >= $1 group by sym order by sym",
     true,
     1,
     {{T("2024-01-03T00:00:00Z")},
      {T("2024-01-01T00:00:00Z")},
      {T("2025-01-01T00:00:00Z")},
      {T("2024-01-05T00:00:00Z")}}},
    {"select ts, avg(d) from t where sym = $1 and ts >= $2 sample by 6h",
     true,
     2,
     {{S("s1"), T("2024-01-03T00:00:00Z")},
      {S("s2"), T("2024-01-01T00:00:00Z")},
      {S("?"), T("2024-01-01T00:00:00Z")},
      {S("s3"), T("2030-01-01T00:00:00Z")}}},
    {"select * from (select ts, count() n from t sample by 1d) where ts > $1 and n >= $2",
     true,
     2,
     {{T("2024-01-02T00:00:00Z"), L("100")},
      {T("2024-01-01T12:00:00Z"), L("0")},
      {T("2024-01-09T00:00:00Z"), L("0")},
      {T("2023-01-01T00:00:00Z"), L("300")}}},
    {"select ts, sym, x from t where sym = $1 latest on ts partition by sym",
     true,
     1,
     {{S("s1")}, {S("s2")}, {S("no")}, {S("s4")}}},
    {"select y from (select x * 2 y, i from t) where y = $1 and i < $2",
     true,
     2,
     {{L("14"), I("50")}, {L("15"), I("50")}, {L("2000"), I("1")}, {L("20"), I("10")}}},
    {"select x from t where year(ts) = 2024 and dayofmonth(ts) = $1",
     true,
     1,
     {{I("2")}, {I("5")}, {I("40")}, {I("0")}}},
    {"select x from t where date_trunc('day', ts) = $1",
     true,
     1,
     {{T("2024-01-02T00:00:00Z")},
      {T("2024-01-02T01:00:00Z")},
      {T("2020-01-02T00:00:00Z")},
      {T("2024-01-05T00:00:00Z")}}},
    {"select x from t where x = 5 and i = $1",
     true,
     1,
     {{I("5")}, {I("6")}, {I("105")}, {I("-5")}}},
    {"select x from t where b = $1 and x < 9",
     true,
     1,
     {{S("t")}, {S("false")}, {S("true")}, {S("f")}}},
    /* without a template: the answers must be right all the same */
    {"select x from t where not (x < $1)",
     false,
     1,
     {{L("990")}, {L("5000")}, {L("0")}, {L("1000")}}},
    {"select x from t where x not in ($1, $2)",
     false,
     2,
     {{L("1"), L("2")}, {L("0"), L("-1")}, {L("3"), L("3")}, {L("1000"), L("999")}}},
    {"select x from t where ts != $1",
     false,
     1,
     {{S("2024-01-02")}, {S("2024")}, {S("2024-01-01T07:00:00Z")}, {S("x")}}},
    {"select x from t order by ts limit $1",
     false,
     1,
     {{L("3")}, {L("0")}, {L("5000")}, {L("-2")}}},
    {"select x from t order by ts limit case when $1 = 2 then 1 else 4 end",
     false,
     1,
     {{L("2")}, {L("0")}, {L("3")}, {L("2")}}},
    {"select $1, x from t where x < 3", false, 1, {{L("3")}, {L("0")}, {L("5")}, {L("-2")}}},
    {"select case when x = $1 then 'a' else 'b' end from t where x < 5",
     false,
     1,
     {{L("3")}, {L("0")}, {L("5")}, {L("1")}}},
    {"select x from t where x = $1 + 1", false, 1, {{L("3")}, {L("0")}, {L("5")}, {L("1")}}},
    {"select x from t where x = $1::long", true, 1, {{L("3")}, {L("0")}, {L("5")}, {L("1")}}},
    {"select x from t where $1::long = x", false, 1, {{S("3")}, {S("0")}, {S("q")}, {S("1")}}},
    {"select x from t where name like $1", false, 1, {{S("n1%")}, {S("%")}, {S("_2")}, {S("q")}}},
    {"select a.x from t a join t b on a.x = b.x where b.i = $1",
     false,
     1,
     {{I("3")}, {I("0")}, {I("5")}, {I("1")}}},
    {"select x from t where x = (select max(x) from t where i = $1)",
     false,
     1,
     {{I("3")}, {I("0")}, {I("500")}, {I("1")}}},
    {"select count() from long_sequence($1)", false, 1, {{L("3")}, {L("0")}, {L("5")}, {L("1")}}},
    {"select count() from t where ts > now() and x > $1",
     false,
     1,
     {{L("3")}, {L("0")}, {L("5")}, {L("1")}}},
    {"with q as (select x, i from t where i = $1) select count() from q a join q b on a.x = b.x",
     false,
     1,
     {{I("3")}, {I("0")}, {I("5")}, {I("1")}}},
    {"select x from t where i = $1 union all select i from t where x = $1",
     false,
     1,
     {{I("3")}, {I("0")}, {I("5")}, {I("1")}}},
    {"select x from t where x = $1 and boom = 3",
     false,
     1,
     {{L("3")}, {L("0")}, {L("5")}, {L("1")}}},
    {"select x, sum(x) over (order by ts) from t where i = $1",
     false,
     1,
     {{I("3")}, {I("0")}, {I("5")}, {I("1")}}},
};

static void turn(world *w, const sample *c, alm_prepared *p, bool has)
{
    for (size_t v = 0; v < ALM_COUNT(c->values); v++)
        same(w, c->sql, p, c->values[v], c->n, has);
}

static void answers_are_those_of_a_new_plan(void **state)
{
    world *w = *state;
    make_table(w);
    for (size_t i = 0; i < ALM_COUNT(SAMPLES); i++) {
        const sample *c = &SAMPLES[i];
        alm_prepared *p = prepare(w->s, c->sql);
        same(w, c->sql, p, c->values[0], c->n, false); /* the first time: planned as it is */
        turn(w, c, p, c->has);
        run(w, "insert into t (ts, sym, name, x, i, d) values ('2024-01-02T00:00:31Z', 'n', 'n3', "
               "7, 7, 1)");
        turn(w, c, p, c->has);
        alm_prepared_free(p);
        p = prepare(w->s, c->sql); /* by its text */
        turn(w, c, p, c->has);
        alm_prepared_free(p);
    }
}

static void nulls_are_planned(void **state)
{
    world *w = *state;
    static const char sql[] = "select count() from t where x = $1";
    const given null = {ALM_T_LONG, NULL}, one = L("1");
    make_table(w);
    alm_prepared *p = prepare(w->s, sql);
    for (int i = 0; i < 3; i++) {
        same(w, sql, p, &one, 1, i > 0);
        same(w, sql, p, &null, 1, false);
    }
    const given text = S("1"), missing = {ALM_T_STRING, NULL};
    same(w, sql, p, &text, 1, false); /* the template is for LONG */
    same(w, sql, p, &missing, 1, false);
    same(w, sql, p, &one, 1, true);
    alm_prepared_free(p);
}

/* --------------------------------------------------------------------- what changes */

static void tables_change(void **state)
{
    world *w = *state;
    static const char sql[] = "select * from t where sym = $1 and x < 10";
    static const char *const changes[] = {
        "alter table t add column y long",
        "update t set y = x * 2",
        "alter table t drop column i",
        "alter table t alter column d type float",
        "alter table t rename column name to other",
        "alter table t dedup enable upsert keys(ts, sym)",
        "alter table t dedup disable",
        "drop table t",
    };
    const given a = S("s1"), b = S("s2");
    make_table(w);
    alm_prepared *p = prepare(w->s, sql);
    for (size_t i = 0; i < ALM_COUNT(changes); i++) {
        same(w, sql, p, &a, 1, i > 0); /* by a new one, where columns changed */
        same(w, sql, p, &b, 1, true);
        same(w, sql, p, &a, 1, true);
        run(w, changes[i]);
    }
    same(w, sql, p, &a, 1, false); /* there is no table */
    run(w, "create table t (sym symbol, x long)");
    run(w, "insert into t values ('s1', 3)");
    same(w, sql, p, &b, 1, true);
    same(w, sql, p, &a, 1, true);
    alm_prepared_free(p);
}

static void transactions_and_views(void **state)
{
    world *w = *state;
    static const char sql[] = "select count() from t where sym = $1",
                      over[] = "select count() from v where sym = $1";
    const given a = S("s1");
    make_table(w);
    run(w, "create view v as (select * from t where x < 500)");
    alm_prepared *p = prepare(w->s, sql), *q = prepare(w->s, over);
    for (int i = 0; i < 3; i++) {
        same(w, sql, p, &a, 1, i > 0);
        same(w, over, q, &a, 1,
             false); /* what a view is may change without a trace in its columns */
    }
    run(w, "begin");
    run(w, "insert into t (ts, sym, x) values ('2024-01-02T00:00:31Z', 's1', 1)");
    same(w, sql, p, &a, 1, false);
    run(w, "rollback");
    same(w, sql, p, &a, 1, true);
    run(w, "create or replace view v as (select * from t where x < 100)");
    same(w, over, q, &a, 1, false);
    alm_prepared_free(p);
    alm_prepared_free(q);
}

/* Without parameters: a table that changes between any two executions. */
static void rows_change(void **state)
{
    world *w = *state;
    static const char *const texts[] = {
        "select count() from t where sym = 'late'", "select sum(x) from t where ts > '2024-01-03'",
        "select x from t where sym = 's1' order by ts desc limit 2",
        "select count() from t where year(ts) = 2024", "select last(x) from t"};
    make_table(w);
    for (size_t i = 0; i < ALM_COUNT(texts); i++) {
        alm_prepared *p = prepare(w->s, texts[i]);
        for (int k = 0; k < 8; k++) {
            same(w, texts[i], p, NULL, 0, k >= 2);
            run(w, k % 2 == 0
                       ? "insert into t (ts, sym, x) values ('2024-02-01T00:00:00Z', 'late', 1)"
                       : "insert into t (ts, sym, x) values ('2025-02-01T00:00:00Z', 's1', 2)");
        }
        alm_prepared_free(p);
        run(w, "truncate table t");
        run(w, "insert into t (ts, sym, x) values ('2024-01-04T00:00:00Z', 's1', 2)");
    }
}

typedef struct reader {
    pthread_t thread;
    world *w;
    atomic_bool *stop;
    int64_t asked, by_template, bad;
} reader;

static int64_t count_of(reader *r, alm_session *s, alm_prepared *p, const alm_vec *value)
{
    alm_cursor *c = NULL;
    alm_batch *batch = NULL;
    int64_t n = -1;
    if (alm_execute(s, p, value, 1, &c) == ALM_OK && alm_cursor_next(c, &batch) == ALM_OK &&
        batch != NULL)
        memcpy(&n, batch->cols[0].data, sizeof n);
    r->by_template += c != NULL && c->kept != NULL && c->kept->is_template;
    alm_cursor_close(c);
    return n;
}

static void *read_on(void *arg)
{
    reader *r = arg;
    alm_session *s = NULL;
    alm_ctx cx = {0};
    alm_prepared *p = NULL;
    int64_t rows = 0;
    alm_view text = alm_view_of(ALM_STR("w")), none = alm_view_of(ALM_STR("nobody"));
    alm_vec value = {.type = ALM_TY(STRING), .width = sizeof text, .data = &text, .is_const = true};
    alm_vec other = value;
    other.data = &none;
    if (alm_session_new(&cx, r->w->db, "admin", "library", &s) != ALM_OK)
        return NULL;
    while (!atomic_load(r->stop)) {
        if (r->asked % 50 == 0) {
            alm_prepared_free(p);
            p = NULL;
            r->bad +=
                alm_prepare(s, ALM_STR("select count() from t where sym = $1"), NULL, &p) != ALM_OK;
        }
        const int64_t n = count_of(r, s, p, &value);
        r->bad += n < rows || count_of(r, s, p, &other) != 0;
        rows = n;
        r->asked++;
    }
    alm_prepared_free(p);
    alm_session_free(s);
    return NULL;
}

static void beside_a_writer(void **state)
{
    world *w = *state;
    reader readers[4];
    atomic_bool stop = false;
    make_table(w);
    for (size_t i = 0; i < ALM_COUNT(readers); i++) {
        readers[i] = (reader){.w = w, .stop = &stop};
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_on, &readers[i]), 0);
    }
    for (int i = 0; i < 60; i++) {
        run(w, "insert into t (ts, sym, x) values ('2024-02-01T00:00:00Z', 'w', 1)");
        if (i % 4 == 0)
            run(w, i % 8 == 0 ? "alter table t add column y int" : "alter table t drop column y");
        (void)usleep(2000);
    }
    atomic_store(&stop, true);
    for (size_t i = 0; i < ALM_COUNT(readers); i++) {
        (void)pthread_join(readers[i].thread, NULL);
        assert_int_equal(readers[i].bad, 0);
        assert_true(readers[i].by_template > 0);
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, world_new, world_free)
    const struct CMUnitTest tests[] = {
        CASE(answers_are_those_of_a_new_plan), CASE(nulls_are_planned), CASE(tables_change),
        CASE(transactions_and_views),          CASE(rows_change),       CASE(beside_a_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
