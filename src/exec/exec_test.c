/*
 * exec_test.c - plans over tables in arrays, against answers computed row by row here.
 *
 * Goal        Each operator gives the right rows, the same ones (and the same bits of floating sums)
 *             for one thread and for four, over several spans, with nulls, and at the edges.
 * Method      One table of 300 000 rows in spans of 70 000, so that morsels, spans and batches end
 *             at different places; times repeat and jump. Results come back as doubles and texts.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exec/eval/eval.h"
#include "exec/run/table_fixture.h"

enum { ROWS = 300000, SYMBOLS = 7 };

typedef struct world {
    alm_arena arena;
    alm_mem mem;
    alm_ctx cx;
    plan_maker m;
    fake_table t;
    alm_dict dict;
    alm_workers *one, *four;
    int64_t *ts, *n;
    uint8_t *sym;
    double *x;
} world;

static world *w;

static int setup(void **state)
{
    (void)state;
    w = calloc(1, sizeof *w);
    w->mem.name = "query";
    alm_arena_init(&w->arena, &w->mem);
    w->cx = (alm_ctx){.arena = &w->arena, .mem = &w->mem, .now_ns = 1};
    w->m.cx = &w->cx;
    must(&w->m, alm_registry_new(&w->cx, &w->m.registry));
    must(&w->m, alm_workers_new(&w->cx, 1, &w->one));
    must(&w->m, alm_workers_new(&w->cx, 4, &w->four));
    fake_dict(&w->cx, &w->dict, 1, "s", SYMBOLS);
    w->ts = malloc(ROWS * 8);
    w->n = malloc(ROWS * 8);
    w->x = malloc(ROWS * 8);
    w->sym = malloc(ROWS);
    uint64_t r = 12345;
    int64_t t = 1700000000000000;
    for (int i = 0; i < ROWS; i++) {
        r = r * 6364136223846793005U + 1442695040888963407U;
        t += (int64_t)(r >> 40) % 700000 * (i % 3 == 0); /* repeats, mean about 0.1 s */
        if (i == 150000)
            t += 7200000000; /* a hole of two hours */
        w->ts[i] = t;
        w->sym[i] = (uint8_t)((r >> 33) % (SYMBOLS + 1)); /* 0: null */
        w->n[i] = (r >> 20) % 11 == 0 ? ALM_LONG_NULL : (int64_t)(r >> 35) % 5000;
        w->x[i] = (r >> 13) % 17 == 0 ? NAN : (double)(int64_t)(r >> 30) / 1e6;
    }
    w->t = (fake_table){.rows = ROWS, .span_rows = 70000};
    fake_column(&w->t, "ts", ALM_TY(TIMESTAMP), 8, w->ts, NULL);
    fake_column(&w->t, "sym", ALM_TY(SYMBOL), 1, w->sym, &w->dict);
    fake_column(&w->t, "n", ALM_TY(LONG), 8, w->n, NULL);
    fake_column(&w->t, "x", ALM_TY(DOUBLE), 8, w->x, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    alm_workers_free(w->one);
    alm_workers_free(w->four);
    alm_registry_free(w->m.registry);
    alm_arena_deinit(&w->arena);
    assert_int_equal(w->mem.used_bytes, 0); /* every operator gave back what it was charged */
    free(w->ts);
    free(w->n);
    free(w->x);
    free(w->sym);
    free(w);
    return 0;
}

/* ------------------------------------------------------------------------------------- results */

/* A result: every value as a double (NaN for null; symbols by the number in their text). */
typedef struct result {
    double *v;
    uint32_t n_cols;
    int64_t n;
} result;

static double value_at(const alm_vec *v, uint32_t i)
{
    const uint32_t at = v->is_const ? 0 : i;
    if (alm_vec_is_null(v, i))
        return NAN;
    if (alm_type_is_text(v->type))
        return atof(alm_vec_text(v, i).ptr + 1); /* "s7" */
    switch (v->width) {
    case 1:
        return ((const uint8_t *)v->data)[at];
    case 4:
        return ((const int32_t *)v->data)[at];
    default:
        return v->type.id == ALM_T_DOUBLE ? ((const double *)v->data)[at]
                                          : (double)((const int64_t *)v->data)[at];
    }
}

static result run_with(const alm_plan *plan, alm_workers *workers)
{
    const alm_exec_env env = {.scans = &fake_scans, .workers = workers, .registry = w->m.registry};
    result r = {.n_cols = plan->n_cols};
    alm_exec *ex = NULL;
    alm_batch *b = NULL;
    must(&w->m, alm_exec_open(&w->cx, plan, &env, &ex));
    for (;;) {
        must(&w->m, alm_exec_next(&w->cx, ex, &b));
        if (b == NULL)
            break;
        assert_null(b->sel);
        assert_true(b->rows > 0 && b->rows <= ALM_BATCH_ROWS);
        r.v = realloc(r.v, (size_t)(r.n + b->rows) * (r.n_cols + 1) * sizeof(double));
        for (uint32_t i = 0; i < b->rows; i++)
            for (uint32_t c = 0; c < r.n_cols; c++)
                r.v[(r.n + i) * r.n_cols + c] = value_at(&b->cols[c], i);
        r.n += b->rows;
    }
    alm_exec_close(ex);
    return r;
}

/* With one thread and with four: equal to the bit. */
static result run(const alm_plan *plan)
{
    result a = run_with(plan, w->one), b = run_with(plan, w->four);
    assert_int_equal(a.n, b.n);
    if (a.n > 0)
        assert_memory_equal(a.v, b.v, (size_t)a.n * a.n_cols * sizeof(double));
    free(b.v);
    return a;
}

static double at(const result *r, int64_t row, uint32_t col)
{
    return r->v[row * r->n_cols + col];
}

static void assert_near(double a, double b)
{
    if (isnan(a) && isnan(b))
        return;
    if (!(fabs(a - b) <= 1e-9 * fmax(1, fabs(b))))
        fail_msg("%.17g is not %.17g", a, b);
}

static alm_expr *col(const alm_plan *p, uint32_t c)
{
    return x_col(&w->m, p, c);
}

typedef struct totals {
    int64_t rows, values;
    double sum, min, max;
} totals;

static void add(totals *t, double x)
{
    t->rows++;
    if (isnan(x))
        return;
    t->min = t->values == 0 ? x : fmin(t->min, x);
    t->max = t->values == 0 ? x : fmax(t->max, x);
    t->values++;
    t->sum += x;
}

static void assert_totals(const result *r, int64_t row, uint32_t first, const totals *t)
{
    assert_int_equal((int64_t)at(r, row, first), t->rows);
    assert_near(at(r, row, first + 1), t->values > 0 ? t->sum : NAN);
    assert_near(at(r, row, first + 2), t->sum / (double)t->values);
    assert_near(at(r, row, first + 3), t->values > 0 ? t->min : NAN);
    assert_near(at(r, row, first + 4), t->values > 0 ? t->max : NAN);
}

/* count, sum, avg, min, max of column x. */
static void five(const alm_plan *p, alm_agg_call out[5])
{
    static const char *const name[] = {"sum", "avg", "min", "max"};
    out[0] = x_agg(&w->m, "count", NULL);
    for (int i = 0; i < 4; i++)
        out[i + 1] = x_agg(&w->m, name[i], col(p, 3));
}

/* --------------------------------------------------------------------------------------- tests */

static void test_plain_aggregates_with_and_without_filter(void **state)
{
    (void)state;
    alm_plan *s = p_scan(&w->m, &w->t);
    alm_agg_call aggs[5];
    totals all = {0}, some = {0};
    five(s, aggs);
    for (int i = 0; i < ROWS; i++) {
        add(&all, w->x[i]);
        if (w->n[i] != ALM_LONG_NULL && w->n[i] > 1000 && w->sym[i] == 3)
            add(&some, w->x[i]);
    }
    result r = run(p_group(&w->m, s, 0, NULL, 5, aggs));
    assert_int_equal(r.n, 1);
    assert_totals(&r, 0, 0, &all);
    free(r.v);
    p_where(&w->m, s, x_two(&w->m, ">", col(s, 2), x_long(&w->m, 1000)));
    p_where(&w->m, s, x_two(&w->m, "=", col(s, 1), x_text(&w->m, "s3")));
    r = run(p_group(&w->m, s, 0, NULL, 5, aggs));
    assert_totals(&r, 0, 0, &some);
    free(r.v);
    p_where(&w->m, s, x_two(&w->m, ">", col(s, 2), x_long(&w->m, 1000000)));
    r = run(p_group(&w->m, s, 0, NULL, 5, aggs));
    assert_totals(&r, 0, 0, &(totals){0});
    free(r.v);
}

static void test_extremes_from_statistics_equal_those_of_rows(void **state)
{
    (void)state;
    alm_plan *s = p_scan(&w->m, &w->t);
    const alm_agg_call aggs[] = {x_agg(&w->m, "min", col(s, 3)), x_agg(&w->m, "max", col(s, 2)),
                                 x_agg(&w->m, "count", col(s, 2)), x_agg(&w->m, "count", NULL),
                                 x_agg(&w->m, "max", col(s, 0))};
    const alm_interval from = {.lo = w->ts[1000], .hi = INT64_MAX - 1};
    for (int interval = 0; interval < 2; interval++) {
        s->scan.has_interval = interval;
        s->scan.interval = (alm_interval *)(uintptr_t)&from;
        s->scan.n_intervals = (uint32_t)interval;
        result with = run(p_group(&w->m, s, 0, NULL, 5, aggs));
        w->t.no_stats = true;
        result without = run(p_group(&w->m, s, 0, NULL, 5, aggs));
        w->t.no_stats = false;
        assert_memory_equal(with.v, without.v, 5 * sizeof(double));
        free(with.v);
        free(without.v);
    }
}

static void test_group_by_symbol_is_direct_and_complete(void **state)
{
    (void)state;
    alm_plan *s = p_scan(&w->m, &w->t);
    alm_agg_call aggs[5];
    totals want[SYMBOLS + 1] = {{0}};
    alm_expr *key[] = {col(s, 1)};
    five(s, aggs);
    for (int i = 0; i < ROWS; i++)
        add(&want[w->sym[i]], w->x[i]);
    result r = run(p_group(&w->m, s, 1, key, 5, aggs));
    assert_int_equal(r.n, SYMBOLS + 1);
    for (int64_t i = 0; i < r.n; i++)
        assert_totals(&r, i, 1, &want[isnan(at(&r, i, 0)) ? 0 : (int)at(&r, i, 0)]);
    free(r.v);
}

static void test_group_by_long_and_symbol_hashes(void **state)
{
    (void)state;
    alm_plan *s = p_scan(&w->m, &w->t);
    alm_agg_call aggs[5];
    totals(*want)[SYMBOLS + 1] = calloc(5001, sizeof *want);
    alm_expr *keys[] = {col(s, 2), col(s, 1)};
    int64_t groups = 0;
    five(s, aggs);
    for (int i = 0; i < ROWS; i++)
        add(&want[w->n[i] == ALM_LONG_NULL ? 5000 : w->n[i]][w->sym[i]], w->x[i]);
    for (int i = 0; i < 5001; i++)
        for (int k = 0; k <= SYMBOLS; k++)
            groups += want[i][k].rows > 0;
    result r = run(p_group(&w->m, s, 2, keys, 5, aggs));
    assert_int_equal(r.n, groups);
    for (int64_t i = 0; i < r.n; i++) {
        const int a = isnan(at(&r, i, 0)) ? 5000 : (int)at(&r, i, 0);
        const int b = isnan(at(&r, i, 1)) ? 0 : (int)at(&r, i, 1);
        assert_totals(&r, i, 2, &want[a][b]);
    }
    free(r.v);
    free(want);
}

static void test_distinct_and_filtered_calls(void **state)
{
    (void)state;
    alm_plan *s = p_scan(&w->m, &w->t);
    alm_agg_call aggs[3] = {x_agg(&w->m, "count", col(s, 2)), x_agg(&w->m, "sum", col(s, 2)),
                            x_agg(&w->m, "count", NULL)};
    aggs[0].distinct = aggs[1].distinct = true;
    aggs[2].filter = x_two(&w->m, "<", col(s, 2), x_long(&w->m, 10));
    bool seen[5000] = {false};
    double values = 0, sum = 0, low = 0;
    for (int i = 0; i < ROWS; i++) {
        if (w->n[i] == ALM_LONG_NULL)
            continue;
        low += w->n[i] < 10;
        if (!seen[w->n[i]]) {
            values++;
            sum += (double)w->n[i];
        }
        seen[w->n[i]] = true;
    }
    result r = run(p_group(&w->m, s, 0, NULL, 3, aggs));
    assert_near(at(&r, 0, 0), values);
    assert_near(at(&r, 0, 1), sum);
    assert_near(at(&r, 0, 2), low);
    free(r.v);
}

static void test_count_distinct_by_grouping_twice(void **state)
{
    (void)state;
    alm_plan *s = p_scan(&w->m, &w->t);
    const alm_agg_call agg = x_agg(&w->m, "count_distinct", col(s, 2));
    bool(*seen)[5000] = calloc(SYMBOLS + 2, sizeof *seen);
    double want[SYMBOLS + 2] = {0};
    alm_expr *key[] = {col(s, 1)};
    for (int i = 0; i < ROWS; i++) {
        if (w->n[i] == ALM_LONG_NULL)
            continue;
        want[w->sym[i]] += !seen[w->sym[i]][w->n[i]];
        want[SYMBOLS + 1] += !seen[SYMBOLS + 1][w->n[i]];
        seen[w->sym[i]][w->n[i]] = seen[SYMBOLS + 1][w->n[i]] = true;
    }
    result r = run(p_group(&w->m, s, 0, NULL, 1, &agg));
    assert_near(at(&r, 0, 0), want[SYMBOLS + 1]);
    free(r.v);
    r = run(p_group(&w->m, s, 1, key, 1, &agg));
    assert_int_equal(r.n, SYMBOLS + 1);
    for (int64_t i = 0; i < r.n; i++)
        assert_near(at(&r, i, 1), want[isnan(at(&r, i, 0)) ? 0 : (int)at(&r, i, 0)]);
    free(r.v);
    free(seen);
}

static void test_sample_by_borders_and_keys(void **state)
{
    (void)state;
    static const struct {
        char unit;
        int64_t us;
        bool keyed;
    } cases[] = {{'s', 1000000, false},
                 {'m', 60000000, false},
                 {'h', 3600000000, false},
                 {'m', 60000000, true},
                 {'h', 3600000000, true}};
    alm_plan *s = p_scan(&w->m, &w->t);
    alm_agg_call aggs[5];
    alm_expr *key[] = {col(s, 1)};
    five(s, aggs);
    for (size_t c = 0; c < ALM_COUNT(cases); c++) {
        const bool keyed = cases[c].keyed;
        result r = run(p_sample(&w->m, s, 1, cases[c].unit, keyed, key, 5, aggs));
        int64_t row = 0;
        for (int i = 0; i < ROWS;) {
            const int64_t bucket = w->ts[i] / cases[c].us * cases[c].us;
            totals want[SYMBOLS + 1] = {{0}};
            int64_t groups = 0;
            for (; i < ROWS && w->ts[i] < bucket + cases[c].us; i++)
                add(&want[keyed ? w->sym[i] : 0], w->x[i]);
            for (int k = 0; k <= SYMBOLS; k++)
                groups += want[k].rows > 0;
            for (int64_t g = 0; g < groups; g++, row++) {
                assert_true(row < r.n);
                assert_near(at(&r, row, 0), (double)bucket);
                const int k = keyed && !isnan(at(&r, row, 1)) ? (int)at(&r, row, 1) : 0;
                assert_totals(&r, row, keyed ? 2 : 1, &want[k]);
            }
        }
        assert_int_equal(row, r.n);
        free(r.v);
    }
}

/* Newest first: the same rows, also where a bucket spans morsels, and few rows read for a few. */
static void test_sample_by_backward(void **state)
{
    (void)state;
    static const char units[] = {'s', 'm', 'h', 'd', 'y'};
    alm_plan *s = p_scan(&w->m, &w->t);
    alm_agg_call aggs[5];
    five(s, aggs);
    for (size_t c = 0; c < ALM_COUNT(units); c++) {
        alm_plan *forward = p_sample(&w->m, s, 1, units[c], 0, NULL, 5, aggs);
        result f = run(forward);
        alm_plan *backward = p_sample(&w->m, s, 1, units[c], 0, NULL, 5, aggs);
        backward->sample.backward = true;
        backward->order = ALM_ORDER_DESC;
        result b = run(backward), last = run(p_limit(&w->m, forward, -3, INT64_MAX));
        assert_int_equal(f.n, b.n);
        assert_int_equal(last.n, ALM_MIN(f.n, 3));
        for (int64_t i = 0; i < f.n; i++)
            for (uint32_t k = 0; k < 6; k++) {
                assert_near(at(&b, f.n - 1 - i, k), at(&f, i, k));
                if (i >= f.n - last.n)
                    assert_near(at(&last, i - (f.n - last.n), k), at(&f, i, k));
            }
        free(f.v);
        free(b.v);
        free(last.v);
    }
}

static void test_sample_by_fills(void **state)
{
    (void)state;
    alm_plan *s = p_scan(&w->m, &w->t);
    const alm_agg_call aggs[] = {x_agg(&w->m, "count", NULL), x_agg(&w->m, "max", col(s, 2)),
                                 x_agg(&w->m, "avg", col(s, 3)), x_agg(&w->m, "min", col(s, 2))};
    alm_fill_spec fill[] = {
        {.kind = 'v', .value = x_long(&w->m, -1)}, {.kind = 'p'}, {.kind = 'l'}, {.kind = 'N'}};
    alm_plan *p = p_sample(&w->m, s, 10, 'm', 0, NULL, 4, aggs);
    result raw = run(p);
    p->sample.fill = fill;
    result r = run(p);
    const int64_t first = (int64_t)at(&raw, 0, 0), last = (int64_t)at(&raw, raw.n - 1, 0);
    assert_int_equal(r.n, (last - first) / 600000000 + 1);
    assert_true(r.n > raw.n + 10); /* the hole of two hours */
    int64_t from = 0;
    for (int64_t i = 0; i < r.n; i++) {
        assert_near(at(&r, i, 0), (double)(first + i * 600000000));
        while (from + 1 < raw.n && at(&raw, from + 1, 0) <= at(&r, i, 0))
            from++;
        if (at(&raw, from, 0) == at(&r, i, 0)) {
            assert_memory_equal(&r.v[i * 5], &raw.v[from * 5], 5 * sizeof(double));
            continue;
        }
        const double part =
            (at(&r, i, 0) - at(&raw, from, 0)) / (at(&raw, from + 1, 0) - at(&raw, from, 0));
        assert_near(at(&r, i, 1), -1);
        assert_near(at(&r, i, 2), at(&raw, from, 2));
        assert_near(at(&r, i, 3),
                    at(&raw, from, 3) + part * (at(&raw, from + 1, 3) - at(&raw, from, 3)));
        assert_true(isnan(at(&r, i, 4)));
    }
    free(r.v);
    alm_expr *key[] = {col(s, 1)};
    p = p_sample(&w->m, s, 10, 'm', 1, key, 4, aggs);
    p->sample.fill = fill;
    p->sample.has_to = true;
    p->sample.to = last + 5 * 600000000LL;
    r = run(p);
    assert_int_equal(r.n, ((last - first) / 600000000 + 5) * (SYMBOLS + 1));
    free(r.v);
    free(raw.v);
}

static void test_sort_top_and_ties(void **state)
{
    (void)state;
    alm_plan *s = p_scan(&w->m, &w->t);
    for (int mode = 0; mode < 4; mode++) {
        const alm_sort_key keys[] = {
            {.expr = col(s, 1), .desc = mode & 1, .nulls_first = mode < 2},
            {.expr = x_two(&w->m, "+", col(s, 2), x_long(&w->m, 1)), .desc = !(mode & 1)}};
        result all = run(p_sort(&w->m, s, 2, keys, -1));
        result top = run(p_sort(&w->m, s, 2, keys, 1234));
        assert_int_equal(all.n, ROWS);
        assert_int_equal(top.n, 1234);
        assert_memory_equal(all.v, top.v, 1234 * 4 * sizeof(double)); /* ties in input order */
        for (int64_t i = 1; i < all.n; i++) {
            const double a = at(&all, i - 1, 1), b = at(&all, i, 1);
            if (isnan(a) || isnan(b))
                assert_true(mode < 2 ? isnan(a) : isnan(b));
            else
                assert_true(mode & 1 ? a >= b : a <= b);
            if (a == b && at(&all, i - 1, 2) == at(&all, i, 2))
                assert_true(at(&all, i - 1, 0) <= at(&all, i, 0));
        }
        free(all.v);
        free(top.v);
    }
}

static void test_limit_forms(void **state)
{
    (void)state;
    static const struct {
        int64_t lo, hi, want_lo, want_hi;
    } cases[] = {{0, 10, 0, 10},
                 {69990, 70020, 69990, 70020},
                 {-10, INT64_MAX, ROWS - 10, ROWS},
                 {-9000, -5, ROWS - 9000, ROWS - 5},
                 {ROWS - 3, -1, ROWS - 3, ROWS - 1},
                 {5, 5, 0, 0},
                 {ROWS, INT64_MAX, 0, 0},
                 {-2 * ROWS, INT64_MAX, 0, ROWS}};
    for (int filtered = 0; filtered < 3; filtered++)
        for (size_t c = 0; c < ALM_COUNT(cases); c++) {
            alm_plan *s = p_scan(&w->m, &w->t), *input = s;
            if (filtered == 1) /* all rows pass, but nobody knows */
                p_where(
                    &w->m, s,
                    x_two(&w->m, ">", col(s, 0), x_bits(&w->m, ALM_TY(TIMESTAMP), &(int64_t){5})));
            if (filtered == 2) { /* rows have to be held back */
                const alm_sort_key by_ts[] = {{.expr = col(s, 0), .nulls_first = true}};
                input = p_sort(&w->m, s, 1, by_ts, -1);
            }
            result r = run(p_limit(&w->m, input, cases[c].lo, cases[c].hi));
            assert_int_equal(r.n, cases[c].want_hi - cases[c].want_lo);
            for (int64_t i = 0; i < r.n; i++)
                assert_near(at(&r, i, 0), (double)w->ts[cases[c].want_lo + i]);
            free(r.v);
        }
}

static void test_latest_three_ways(void **state)
{
    (void)state;
    int64_t last[SYMBOLS + 1], last_even[SYMBOLS + 1];
    memset(last, 0xff, sizeof last);
    memset(last_even, 0xff, sizeof last_even);
    for (int i = 0; i < ROWS; i++) {
        last[w->sym[i]] = i;
        if (w->n[i] != ALM_LONG_NULL && w->n[i] > 4990)
            last_even[w->sym[i]] = i;
    }
    w->t.last[1] = calloc(SYMBOLS + 1, 4);
    for (int way = 0; way < 3; way++) {
        alm_plan *s = p_scan(&w->m, &w->t), *input = s;
        w->t.no_last = way == 0;
        if (way == 1)
            p_where(&w->m, s, x_two(&w->m, ">", col(s, 2), x_long(&w->m, 4990)));
        if (way == 2)
            input =
                p_sort(&w->m, s, 1, (alm_sort_key[]){{.expr = col(s, 3), .nulls_first = true}}, -1);
        input->ts_col = 0;
        alm_expr *key[] = {col(s, 1)};
        result r = run(p_latest(&w->m, input, 1, key));
        assert_int_equal(r.n, SYMBOLS + 1);
        for (int64_t i = 0; i < r.n; i++) {
            const int k = isnan(at(&r, i, 1)) ? 0 : (int)at(&r, i, 1);
            assert_near(at(&r, i, 0), (double)w->ts[way == 1 ? last_even[k] : last[k]]);
            if (i > 0)
                assert_true(at(&r, i - 1, 0) <= at(&r, i, 0));
        }
        free(r.v);
    }
    w->t.no_last = false;
    free(w->t.last[1]);
    w->t.last[1] = NULL;
}

/* A symbol that ended at the beginning of the table costs no more than any other. */
static void test_latest_of_an_ended_symbol(void **state)
{
    (void)state;
    enum { ENDED = 7, ALIVE = 5 };
    fake_table t = w->t;
    uint8_t *sym = malloc(ROWS);
    for (int i = 0; i < ROWS; i++)
        sym[i] = i >= ALIVE && w->sym[i] == ENDED ? 1 : w->sym[i];
    sym[2] = ENDED;
    t.data[1] = sym;
    t.last[1] = calloc(SYMBOLS + 1, 4);
    for (int filtered = 0; filtered < 3; filtered++) {
        alm_plan *s = p_scan(&w->m, &t);
        s->ts_col = 0;
        if (filtered > 0)
            p_where(&w->m, s,
                    x_two(&w->m, filtered == 1 ? "=" : "!=", col(s, 1), x_text(&w->m, "s7")));
        alm_expr *key[] = {col(s, 1)};
        fake_rows_read = 0;
        result r = run(p_latest(&w->m, s, 1, key));
        assert_int_equal(r.n, filtered == 0 ? SYMBOLS + 1 : filtered == 1 ? 1 : SYMBOLS);
        if (filtered < 2)
            assert_near(at(&r, 0, 0), (double)w->ts[2]);
        assert_true(fake_rows_read <= 2 * ALM_BATCH_ROWS);
        free(r.v);
    }
    free(t.last[1]);
    free(sym);
}

static void test_backward_scan_reverses(void **state)
{
    (void)state;
    alm_plan *s = p_scan(&w->m, &w->t);
    s->scan.backward = true;
    s->order = ALM_ORDER_DESC;
    p_where(&w->m, s, x_two(&w->m, "!=", col(s, 1), x_text(&w->m, "s2")));
    result r = run(s);
    int64_t row = 0;
    for (int i = ROWS - 1; i >= 0; i--) {
        if (w->sym[i] == 2)
            continue;
        assert_near(at(&r, row, 0), (double)w->ts[i]);
        assert_near(at(&r, row++, 3), w->x[i]);
    }
    assert_int_equal(row, r.n);
    free(r.v);
}

static void test_project_shares_and_branches(void **state)
{
    (void)state;
    alm_plan *s = p_scan(&w->m, &w->t);
    p_where(&w->m, s, x_two(&w->m, "<", col(s, 2), x_long(&w->m, 50)));
    alm_expr *twice = x_two(&w->m, "*", col(s, 2), x_long(&w->m, 2));
    alm_expr *pick = x_new(&w->m, ALM_X_CASE, ALM_TY(LONG)); /* no ELSE: null */
    alm_expr *args[] = {x_two(&w->m, "=", col(s, 1), x_text(&w->m, "s1")), twice,
                        x_two(&w->m, "=", col(s, 1), x_text(&w->m, "s5")), col(s, 2)};
    pick->args = args;
    pick->n_args = 4;
    alm_expr *exprs[] = {twice, pick, col(s, 2), x_two(&w->m, "+", twice, col(s, 2))};
    result r = run(p_project(&w->m, s, 4, exprs));
    int64_t row = 0;
    for (int i = 0; i < ROWS; i++) {
        if (w->n[i] == ALM_LONG_NULL || w->n[i] >= 50)
            continue;
        const double n = (double)w->n[i];
        assert_near(at(&r, row, 0), 2 * n);
        assert_near(at(&r, row, 1), w->sym[i] == 1 ? 2 * n : w->sym[i] == 5 ? n : NAN);
        assert_near(at(&r, row++, 3), 3 * n);
    }
    assert_int_equal(row, r.n);
    free(r.v);
}

/* Conditions in thousands: preparing them ends where the statement is cancelled. */
static void test_many_conditions_heed_a_cancel(void **state)
{
    (void)state;
    enum { MANY = 2000 };
    const alm_plan *s = p_scan(&w->m, &w->t);
    const alm_expr *conjuncts[MANY];
    atomic_bool cancel = true;
    alm_filter *f = NULL;
    for (int i = 0; i < MANY; i++)
        conjuncts[i] = x_two(&w->m, "!=", col(s, 2), x_long(&w->m, i));
    w->cx.cancel = &cancel;
    assert_int_equal(alm_filter_new(&w->cx, conjuncts, MANY, &f), ALM_E_CANCEL);
    alm_error_clear(&w->cx);
    atomic_store(&cancel, false);
    must(&w->m, alm_filter_new(&w->cx, conjuncts, MANY, &f));
    w->cx.cancel = NULL;
    assert_int_equal(alm_filter_ranges(f), MANY);
    alm_filter_free(f);
    for (int i = 0; i < MANY; i++) /* these are one range */
        conjuncts[i] = x_two(&w->m, i % 2 == 0 ? "<" : ">", col(s, 2), x_long(&w->m, i));
    must(&w->m, alm_filter_new(&w->cx, conjuncts, MANY, &f));
    assert_int_equal(alm_filter_ranges(f), 1);
    alm_filter_free(f);
}

static void test_memory_limit_names_the_operator(void **state)
{
    (void)state;
    alm_plan *s = p_scan(&w->m, &w->t);
    const alm_sort_key keys[] = {{.expr = col(s, 3), .nulls_first = true}};
    const alm_plan *p = p_sort(&w->m, s, 1, keys, -1);
    const alm_exec_env env = {.scans = &fake_scans, .workers = w->one};
    alm_exec *ex = NULL;
    alm_batch *b = NULL;
    w->mem.limit_bytes = w->mem.used_bytes + 2000000;
    must(&w->m, alm_exec_open(&w->cx, p, &env, &ex));
    assert_int_equal(alm_exec_next(&w->cx, ex, &b), ALM_E_MEMORY);
    assert_non_null(strstr(w->cx.err.msg, "sort"));
    alm_exec_close(ex);
    alm_error_clear(&w->cx);
    w->mem.limit_bytes = 0;
}

static void test_long_sequence(void **state)
{
    (void)state;
    alm_expr *args[] = {x_long(&w->m, 20000)};
    const alm_source *src = alm_source_find(ALM_STR("LONG_sequence"));
    alm_plan *p = p_new(&w->m, ALM_P_SOURCE, NULL);
    const alm_source_call call = {NULL, -1, (const alm_expr *const *)args, 1};
    alm_source_bound bound = {.scanned = true, .n_hidden = 1};
    assert_non_null(src);
    assert_null(alm_source_find(ALM_STR("nope")));
    p->source.name = "long_sequence";
    p->source.function = src;
    must(&w->m, alm_source_bind(&w->cx, src, &call, &bound));
    assert_false(bound.scanned);
    assert_int_equal(bound.n_hidden, 0);
    p->cols = bound.cols;
    p->n_cols = bound.n_cols;
    p->ts_col = bound.ts_col;
    p->source.data = bound.data;
    result r = run(p_limit(&w->m, p, -3, INT64_MAX));
    assert_int_equal(r.n, 3);
    assert_near(at(&r, 0, 0), 19998);
    free(r.v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_aggregates_with_and_without_filter),
        cmocka_unit_test(test_extremes_from_statistics_equal_those_of_rows),
        cmocka_unit_test(test_group_by_symbol_is_direct_and_complete),
        cmocka_unit_test(test_group_by_long_and_symbol_hashes),
        cmocka_unit_test(test_distinct_and_filtered_calls),
        cmocka_unit_test(test_count_distinct_by_grouping_twice),
        cmocka_unit_test(test_sample_by_borders_and_keys),
        cmocka_unit_test(test_sample_by_backward),
        cmocka_unit_test(test_sample_by_fills),
        cmocka_unit_test(test_sort_top_and_ties),
        cmocka_unit_test(test_limit_forms),
        cmocka_unit_test(test_latest_three_ways),
        cmocka_unit_test(test_latest_of_an_ended_symbol),
        cmocka_unit_test(test_backward_scan_reverses),
        cmocka_unit_test(test_project_shares_and_branches),
        cmocka_unit_test(test_many_conditions_heed_a_cancel),
        cmocka_unit_test(test_memory_limit_names_the_operator),
        cmocka_unit_test(test_long_sequence),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
