/*
 * view_test.c - which queries of materialized views follow their base table bucket by bucket; views
 * in the place of their name, with the positions of errors and the variables of queries around them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/access.h"
#include "sql/plan/fixture_for_test.h"

static const alm_column COLS[] = {{.name = "ts", .type = {.id = ALM_T_TIMESTAMP}},
                                  {.name = "y", .type = {.id = ALM_T_VARCHAR}},
                                  {.name = "p", .type = {.id = ALM_T_DOUBLE}},
                                  {.name = "ts2", .type = {.id = ALM_T_TIMESTAMP}}};
enum { BASE_ID = 7 };
#define TABLE(name_, id_)                                                                          \
    {.name = name_, .id = id_, .cols = COLS, .n_cols = 4, .ts_col = 0, .row_count = 1000}
static const alm_table BASE = TABLE("b", BASE_ID), OTHER = TABLE("o", 8);

static const alm_view_def LOW = {
    .sql = "declare overridable @lo := 1, @fix := 2 select ts, y, p from b where p > @lo"};
static const alm_view_def HIGH = {.sql = "select y, max(p) m from low"};
static const alm_view_def ROUND = {.sql = "select * from round2"};
static const alm_view_def ROUND2 = {.sql = "select * from round"};
static const alm_view_def BAD = {.sql = "select         nosuch from b"};
#define VIEW(name_, id_, def)                                                                      \
    {.name = name_, .id = id_, .kind = ALM_TABLE_VIEW, .ts_col = -1, .view = def}
static const alm_table VIEWS[] = {VIEW("low", 10, &LOW), VIEW("high", 11, &HIGH),
                                  VIEW("round", 12, &ROUND), VIEW("round2", 13, &ROUND2),
                                  VIEW("bad", 14, &BAD)};

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    fixture_init(f);
    fixture_add(f, &BASE);
    fixture_add(f, &OTHER);
    for (size_t i = 0; i < ALM_COUNT(VIEWS); i++)
        fixture_add(f, &VIEWS[i]);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture_free(*state);
    free(*state);
    return 0;
}

static void shapes(void **state)
{
    static const struct {
        const char *sql;
        char want; /* i bucket by bucket, w as a whole, n no buckets */
    } rows[] = {
        {"select ts, y, sum(p) s from b sample by 1h", 'i'},
        {"select ts, sum(p) s from b where p > 1 and y in ('a', 'b') sample by 1M", 'i'},
        {"select ts, y, s * 2 d from (select ts, y, sum(p) s from b sample by 1h) where s > 1",
         'i'},
        {"select ts, sum(q) s from (select ts, p + 1 q from b) sample by 1h", 'i'},
        {"select b.ts, sum(b.p * o.p) s from b asof join o on (y) sample by 1h", 'i'},
        {"select b.ts, sum(b.p * o.p) s from b left join o on (y) sample by 1h", 'i'},
        {"select b.ts, sum(b.p * o.p) s from b join o on (y) sample by 1h", 'i'},
        {"select o.ts, sum(b.p * o.p) s from o asof join b on (y) sample by 1h", 'w'},
        {"select x.ts, sum(x.p * z.p) s from b x join b z on (y) sample by 1h", 'w'},
        {"select ts, max(s) m from (select ts, sum(p) s from b sample by 1h) sample by 1d", 'w'},
        {"select ts, sum(p) s from b where p > (select avg(p) from b) sample by 1h", 'w'},
        {"select ts, sum(p) s from (b order by ts limit 10) sample by 1h", 'w'},
        {"select ts, sum(p) s from (b latest on ts partition by y) sample by 1h", 'w'},
        {"select ts2, sum(p) s from (b timestamp(ts2)) sample by 1h", 'w'},
        {"select ts, sum(p) s from b sample by 1h fill(null)", 'w'},
        {"select ts, sum(p) s from b sample by 1h align to first observation", 'w'},
        {"select ts, sum(p) s from b sample by 1h limit 5", 'w'},
        {"select ts, sum(p) s from o sample by 1h", 'w'},
        {"select ts, sum(p) s from low sample by 1h", 'i'},
        {"select ts, p from b", 'n'},
        {"select y, sum(p) s from b", 'n'},
    };
    fixture *f = *state;
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        alm_plan *plan = NULL;
        bool incremental = false;
        alm_error_clear(&f->cx);
        if (alm_plan_view(&f->cx, &f->env, rows[i].sql, &plan) != ALM_OK)
            fail_msg("%s: %s", rows[i].sql, f->cx.err.msg);
        const alm_sample_spec *s = alm_view_shape(plan, BASE_ID, &incremental);
        const char got = s == NULL ? 'n' : incremental ? 'i' : 'w';
        if (got != rows[i].want)
            fail_msg("%s: %c, not %c", rows[i].sql, got, rows[i].want);
    }
}

static void only_some_times_are_read(void **state)
{
    fixture *f = *state;
    alm_plan *plan = NULL;
    const alm_interval only[] = {{0, 3599999999}, {7200000000, 7200000001}};
    f->env.only_table = BASE_ID;
    f->env.only = only;
    f->env.n_only = 2;
    assert_int_equal(
        alm_plan_view(&f->cx, &f->env,
                      "select ts, sum(p) s from b where ts > '1970-01-01T00:30' sample by 1h",
                      &plan),
        ALM_OK);
    const alm_plan *scan = plan;
    while (scan->n_children > 0)
        scan = scan->child[0];
    assert_true(scan->op == ALM_P_SCAN && scan->scan.has_interval && scan->scan.n_intervals == 2);
    assert_true(scan->scan.interval[0].lo == 1800000001 && scan->scan.interval[0].hi == 3599999999);
    assert_true(scan->scan.interval[1].lo == 7200000000);
}

static void refuse(fixture *f, const char *sql, int pos, const char *message)
{
    size_t offset = 0;
    alm_stmt *stmt = NULL;
    alm_plan *plan = NULL;
    alm_error_clear(&f->cx);
    assert_int_equal(alm_sql_parse(&f->cx, alm_str_of(sql), &offset, &stmt), ALM_OK);
    const alm_status st = alm_plan_select(&f->cx, &f->env, stmt->select, &plan);
    if (st == ALM_OK || f->cx.err.sql_pos != pos || strstr(f->cx.err.msg, message) == NULL)
        fail_msg("%s: %d [%d] %s", sql, (int)st, f->cx.err.sql_pos, f->cx.err.msg);
}

static void errors_point_at_the_name(void **state)
{
    fixture *f = *state;
    refuse(f, "select 1, * from bad", 17, "Invalid column: nosuch");
    refuse(f, "select * from o join bad on (y)", 21, "Invalid column: nosuch");
    refuse(f, "select * from round", 14, "circular dependency");
    refuse(f, "declare @fix := 3 select * from low", 13, "variable is not overridable: @fix");
    refuse(f, "declare @fix := 3 select * from high", 32, "variable is not overridable: @fix");
    refuse(f, "select nosuch from low", 7, "Invalid column: nosuch");
}

static void variables_reach_in(void **state)
{
    static const struct {
        const char *sql;
        double bound;
    } rows[] = {{"select * from low", 1},
                {"declare @lo := 5 select * from low", 5},
                {"declare @lo := 5 select * from (select * from high)", 5},
                {"declare @lo := 5 select * from (declare @lo := 6 select * from low)", 6}};
    fixture *f = *state;
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        size_t offset = 0;
        alm_stmt *stmt = NULL;
        alm_plan *plan = NULL;
        bool found = false;
        assert_int_equal(alm_sql_parse(&f->cx, alm_str_of(rows[i].sql), &offset, &stmt), ALM_OK);
        assert_int_equal(alm_plan_select(&f->cx, &f->env, stmt->select, &plan), ALM_OK);
        const alm_plan *scan = plan;
        while (scan->n_children > 0)
            scan = scan->child[0];
        assert_true(scan->op == ALM_P_SCAN && scan->scan.n_filters == 1);
        const alm_expr *e = scan->scan.filter[0];
        for (uint32_t k = 0; k < e->n_args; k++)
            found |= e->args[k]->kind == ALM_X_CONST &&
                     *(const double *)e->args[k]->value.data == rows[i].bound;
        if (!found)
            fail_msg("%s", rows[i].sql);
    }
}

static alm_status may_all(alm_ctx *cx, void *arg, const alm_access_ask *ask)
{
    (void)cx;
    (void)arg;
    (void)ask;
    return ALM_OK;
}

static bool sees_all(alm_ctx *cx, void *arg, const char *table)
{
    (void)cx;
    (void)arg;
    (void)table;
    return true;
}

/* `low` is somebody else's, `high` is the user's own. */
static bool hides_low(alm_ctx *cx, void *arg, const char *view, const char *reader)
{
    (void)cx;
    (void)arg;
    (void)reader;
    return strcmp(view, "low") == 0;
}

static void plan_lines(fixture *f, const char *sql, char out[4096])
{
    size_t offset = 0, n = 0, used = 0;
    alm_stmt *stmt = NULL;
    alm_plan *plan = NULL;
    const char **lines = NULL;
    out[0] = 0;
    assert_int_equal(alm_sql_parse(&f->cx, alm_str_of(sql), &offset, &stmt), ALM_OK);
    if (alm_plan_select(&f->cx, &f->env, stmt->select, &plan) != ALM_OK)
        fail_msg("%s: %s", sql, f->cx.err.msg);
    assert_int_equal(alm_plan_explain(&f->cx, plan, &lines, NULL, &n), ALM_OK);
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(out + used, 4096 - used, "%s\n", lines[i]);
}

/* What cannot leak goes below the view as it does for who made it; what is shown has a leaf there. */
static void plans_that_run_and_that_are_shown(void **state)
{
    static const struct {
        const char *sql, *shown;
    } rows[] = {
        {"select y from low where p > 3 and y != 'x'", "filter p > 3.0 and y != 'x'\n"},
        {"select y, max(p) from low where ts in '1970' group by y", "filter ts"},
        {"select * from o join low on (y) where low.p > 3", "join"},
        {"select * from low where p > 3 union all select * from low", "union"},
        {"select * from low order by ts limit 3", "limit"},
        {"select * from high where m > 3", "group by keys: y"},
    };
    fixture *f = *state;
    const alm_access access = {.may = may_all, .sees = sees_all, .hides = hides_low};
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        char all[4096], reader[4096], shown[4096];
        bool sealed = false;
        f->cx.access = NULL;
        f->env.sealed = &sealed;
        plan_lines(f, rows[i].sql, all);
        assert_false(sealed);
        f->cx.access = &access;
        f->env.sealed = NULL;
        plan_lines(f, rows[i].sql, reader);
        f->env.sealed = &sealed;
        plan_lines(f, rows[i].sql, shown);
        f->env.sealed = NULL;
        f->cx.access = NULL;
        assert_string_equal(reader, all);
        if (!sealed || strstr(all, "scan b") == NULL)
            fail_msg("%s: %s", rows[i].sql, all);
        if (strstr(shown, "view low\n") == NULL || strstr(shown, "scan b") != NULL ||
            strstr(shown, rows[i].shown) == NULL)
            fail_msg("%s: %s", rows[i].sql, shown);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shapes, setup, teardown),
        cmocka_unit_test_setup_teardown(only_some_times_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(errors_point_at_the_name, setup, teardown),
        cmocka_unit_test_setup_teardown(variables_reach_in, setup, teardown),
        cmocka_unit_test_setup_teardown(plans_that_run_and_that_are_shown, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
