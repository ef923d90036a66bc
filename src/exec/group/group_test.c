/*
 * group_test.c - GROUP BY with many groups, against answers computed row by row here.
 *
 * Goal        Tables per morsel, rows in blocks, ranges of integers and codes give the same groups, each
 *             one once, with the values of its rows in row order; the same bits for one thread and four.
 * Method      One table of 400 000 rows in spans of 70 000. The number of the group of every row is
 *             known from how it was made; keys are written so that their number can be read back.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exec/run/table_fixture.h"

enum { ROWS = 400000, IDS = 90000, TEXTS = 60000, CODES = 2300, SYMBOLS = 9, TEXT_MAX = 80 };

typedef struct world {
    alm_arena arena;
    alm_mem mem;
    alm_ctx cx;
    plan_maker m;
    fake_table t;
    alm_dict dict;
    alm_workers *one, *four;
    int64_t ts[ROWS], id[ROWS];
    alm_view text[ROWS];
    int32_t code[ROWS];
    uint8_t sym[ROWS];
    double x[ROWS];
    int32_t of_id[ROWS], of_text[ROWS], of_code[ROWS]; /* numbers of groups */
    char bytes[TEXTS][TEXT_MAX];
} world;

static world *w;

static alm_view text_of(int32_t n)
{
    char *to = w->bytes[n];
    if (n == 0)
        return alm_view_null();
    const int len = snprintf(to, TEXT_MAX, "t%d", n);
    const size_t more = (size_t)n * 7 % 60; /* 'n' does not go on with the number */
    memset(to + len, 'n', more);
    return alm_view_of((alm_str){to, (size_t)len + more});
}

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
    uint64_t r = 4711;
    for (int i = 0; i < ROWS; i++) {
        r = r * 6364136223846793005U + 1442695040888963407U;
        const uint64_t a = r >> 33;
        r = r * 6364136223846793005U + 1442695040888963407U;
        const uint64_t b = r >> 33;
        /* the first 150 000 rows have few groups, the rest many */
        w->of_id[i] = (int32_t)(i < 150000 ? a % 50 : a % IDS);
        w->of_text[i] = (int32_t)(i < 150000 ? b % 3 : b % TEXTS);
        w->of_code[i] = (int32_t)((a ^ b) % CODES);
        w->ts[i] = 1700000000000000 + i * 1000;
        w->id[i] = w->of_id[i] == 0 ? ALM_LONG_NULL : (int64_t)w->of_id[i] * 1000003 - 7;
        w->text[i] = text_of(w->of_text[i]);
        w->code[i] = w->of_code[i] == 0 ? ALM_INT_NULL : w->of_code[i] - 300;
        w->sym[i] = (uint8_t)(b % (SYMBOLS + 1));
        w->x[i] = b % 13 == 0 ? NAN : (double)(int64_t)a / 1e5;
    }
    w->t = (fake_table){.rows = ROWS, .span_rows = 70000};
    fake_column(&w->t, "ts", ALM_TY(TIMESTAMP), 8, w->ts, NULL);
    fake_column(&w->t, "id", ALM_TY(LONG), 8, w->id, NULL);
    fake_column(&w->t, "text", ALM_TY(VARCHAR), 16, w->text, NULL);
    fake_column(&w->t, "code", ALM_TY(INT), 4, w->code, NULL);
    fake_column(&w->t, "sym", ALM_TY(SYMBOL), 1, w->sym, &w->dict);
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
    assert_int_equal(w->mem.used_bytes, 0);
    free(w);
    return 0;
}

/* ------------------------------------------------------------------------------------- results */

typedef struct result {
    double *v; /* NaN for null; texts by the number in them */
    uint32_t n_cols;
    int64_t n;
} result;

static double value_at(const alm_vec *v, uint32_t i)
{
    const uint32_t at = v->is_const ? 0 : i;
    if (alm_vec_is_null(v, i))
        return NAN;
    if (alm_type_is_text(v->type))
        return atof(alm_vec_text(v, i).ptr + 1);
    if (v->type.id == ALM_T_DOUBLE)
        return ((const double *)v->data)[at];
    return v->width == 4 ? ((const int32_t *)v->data)[at] : (double)((const int64_t *)v->data)[at];
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
        r.v = realloc(r.v, (size_t)(r.n + b->rows) * r.n_cols * sizeof(double));
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
    assert_memory_equal(a.v, b.v, (size_t)a.n * a.n_cols * sizeof(double));
    free(b.v);
    return a;
}

static alm_expr *col(const alm_plan *p, uint32_t c)
{
    return x_col(&w->m, p, c);
}

/* count(), sum(x), first(x), max(text), count() where x < 1000 */
static void calls(const alm_plan *p, alm_agg_call out[5])
{
    out[0] = x_agg(&w->m, "count", NULL);
    out[1] = x_agg(&w->m, "sum", col(p, 5));
    out[2] = x_agg(&w->m, "first", col(p, 5));
    out[3] = x_agg(&w->m, "count", col(p, 2));
    out[4] = x_agg(&w->m, "count", NULL);
    out[4].filter = x_two(&w->m, "<", col(p, 5), x_double(&w->m, 1000));
}

typedef struct want {
    int64_t rows, values, texts, small;
    double sum, first;
} want;

static void add(want *g, int i)
{
    if (g->rows++ == 0)
        g->first = w->x[i];
    g->texts += w->of_text[i] != 0;
    if (isnan(w->x[i]))
        return;
    g->values++;
    g->sum += w->x[i];
    g->small += w->x[i] < 1000;
}

/* Columns from `at` on are those of calls(). */
static void assert_group(const double *row, const want *g)
{
    assert_true(g->rows == (int64_t)row[0]);
    if (g->values > 0)
        assert_true(fabs(row[1] - g->sum) <= 1e-9 * fabs(g->sum));
    else
        assert_true(isnan(row[1]));
    assert_true(row[2] == g->first || (isnan(row[2]) && isnan(g->first)));
    assert_int_equal((int64_t)row[3], g->texts);
    assert_int_equal((int64_t)row[4], g->small);
}

/* Groups by the number read back from the first key; `second`: and by symbol. */
static void check(const alm_plan *plan, const int32_t *of, int32_t n, double (*number)(double),
                  bool second)
{
    const int32_t per = second ? SYMBOLS + 1 : 1;
    want *all = calloc((size_t)n * (size_t)per, sizeof *all);
    int64_t groups = 0;
    for (int i = 0; i < ROWS; i++)
        add(&all[of[i] * per + (second ? w->sym[i] : 0)], i);
    for (int32_t g = 0; g < n * per; g++)
        groups += all[g].rows > 0;
    result r = run(plan);
    assert_int_equal(r.n, groups);
    for (int64_t i = 0; i < r.n; i++) {
        const double *row = r.v + i * r.n_cols;
        int32_t g = isnan(row[0]) ? 0 : (int32_t)number(row[0]);
        if (second)
            g = g * per + (isnan(row[1]) ? 0 : (int32_t)row[1]);
        assert_in_range(g, 0, n * per - 1);
        assert_group(row + (second ? 2 : 1), &all[g]);
        all[g].rows = -1; /* each group once */
    }
    free(r.v);
    free(all);
}

static double number_of_id(double v)
{
    return (v + 7) / 1000003;
}
static double number_of_text(double v)
{
    return v;
}
static double number_of_code(double v)
{
    return v + 300;
}

/* --------------------------------------------------------------------------------------- tests */

static void test_longs_and_texts(void **state)
{
    (void)state;
    alm_plan *s = p_scan(&w->m, &w->t);
    alm_agg_call aggs[5];
    alm_expr *id = col(s, 1), *text = col(s, 2);
    calls(s, aggs);
    check(p_group(&w->m, s, 1, &id, 5, aggs), w->of_id, IDS, number_of_id, false);
    check(p_group(&w->m, s, 1, &text, 5, aggs), w->of_text, TEXTS, number_of_text, false);
}

static void test_two_keys(void **state)
{
    (void)state;
    alm_plan *s = p_scan(&w->m, &w->t);
    alm_agg_call aggs[5];
    alm_expr *id[] = {col(s, 1), col(s, 4)}, *text[] = {col(s, 2), col(s, 4)};
    calls(s, aggs);
    check(p_group(&w->m, s, 2, id, 5, aggs), w->of_id, IDS, number_of_id, true);
    check(p_group(&w->m, s, 2, text, 5, aggs), w->of_text, TEXTS, number_of_text, true);
}

static void test_ranges_of_integers(void **state)
{
    (void)state;
    alm_plan *s = p_scan(&w->m, &w->t);
    alm_agg_call aggs[5];
    alm_expr *keys[] = {col(s, 3), col(s, 4)};
    calls(s, aggs);
    check(p_group(&w->m, s, 1, keys, 5, aggs), w->of_code, CODES, number_of_code, false);
    check(p_group(&w->m, s, 2, keys, 5, aggs), w->of_code, CODES, number_of_code, true);
}

/* Input that only one thread can read, below and above. */
static void test_input_of_one_thread(void **state)
{
    (void)state;
    alm_plan *s = p_limit(&w->m, p_scan(&w->m, &w->t), 0, ROWS);
    alm_agg_call aggs[5];
    alm_expr *id = col(s, 1), *text = col(s, 2), *sym = col(s, 4);
    calls(s, aggs);
    check(p_group(&w->m, s, 1, &id, 5, aggs), w->of_id, IDS, number_of_id, false);
    check(p_group(&w->m, s, 1, &text, 5, aggs), w->of_text, TEXTS, number_of_text, false);
    result r = run(p_group(&w->m, s, 1, &sym, 5, aggs));
    assert_int_equal(r.n, SYMBOLS + 1);
    free(r.v);
}

/* Groups are read by several threads where something above wants all of them. */
static void test_groups_of_groups_and_their_top(void **state)
{
    (void)state;
    alm_plan *s = p_scan(&w->m, &w->t);
    alm_expr *keys[] = {col(s, 1), col(s, 2)}, *id = col(s, 1);
    const alm_agg_call count = x_agg(&w->m, "count", NULL);
    alm_plan *pairs = p_group(&w->m, s, 2, keys, 1, &count);
    const alm_agg_call rows = x_agg(&w->m, "sum", x_col(&w->m, pairs, 2));
    alm_expr *first = x_col(&w->m, pairs, 0);
    result twice = run(p_group(&w->m, pairs, 1, &first, 1, &rows));
    alm_plan *once_plan = p_group(&w->m, s, 1, &id, 1, &count);
    result once = run(once_plan);
    assert_int_equal(twice.n, once.n);
    double *by_id = calloc(IDS, sizeof *by_id);
    for (int64_t i = 0; i < once.n; i++)
        by_id[isnan(once.v[2 * i]) ? 0 : (int)number_of_id(once.v[2 * i])] = once.v[2 * i + 1];
    for (int64_t i = 0; i < twice.n; i++)
        assert_true(by_id[isnan(twice.v[2 * i]) ? 0 : (int)number_of_id(twice.v[2 * i])] ==
                    twice.v[2 * i + 1]);
    const alm_sort_key order[] = {{.expr = x_col(&w->m, once_plan, 1), .desc = true},
                                  {.expr = x_col(&w->m, once_plan, 0)}};
    result top = run(p_sort(&w->m, once_plan, 2, order, 10));
    assert_int_equal(top.n, 10);
    double most = 0;
    for (int i = 0; i < IDS; i++)
        most = fmax(most, by_id[i]);
    assert_true(top.v[1] == most);
    for (int i = 1; i < 10; i++)
        assert_true(top.v[2 * i + 1] <= top.v[2 * i - 1]);
    free(by_id);
    free(once.v);
    free(twice.v);
    free(top.v);
}

/* Several counts of distinct values beside other aggregates: by symbol, by id, without keys. */
static void test_several_counts_of_distinct_values(void **state)
{
    (void)state;
    alm_plan *s = p_scan(&w->m, &w->t);
    const alm_agg_call aggs[] = {
        x_agg(&w->m, "count_distinct", col(s, 3)), x_agg(&w->m, "count", NULL),
        x_agg(&w->m, "count_distinct", col(s, 2)), x_agg(&w->m, "max", col(s, 5))};
    bool(*code)[CODES] = calloc(SYMBOLS + 2, sizeof *code);
    bool(*text)[TEXTS] = calloc(SYMBOLS + 2, sizeof *text);
    double expect[SYMBOLS + 2][3] = {{0}};
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < 2; k++) {
            const int g = k == 0 ? w->sym[i] : SYMBOLS + 1;
            expect[g][0] += w->of_code[i] != 0 && !code[g][w->of_code[i]];
            expect[g][1]++;
            expect[g][2] += w->of_text[i] != 0 && !text[g][w->of_text[i]];
            code[g][w->of_code[i]] = text[g][w->of_text[i]] = true;
        }
    alm_expr *sym = col(s, 4), *id = col(s, 1);
    result r = run(p_group(&w->m, s, 1, &sym, 4, aggs));
    assert_int_equal(r.n, SYMBOLS + 1);
    for (int64_t i = 0; i < r.n; i++) {
        const double *row = r.v + i * 5;
        for (int k = 0; k < 3; k++)
            assert_true(row[1 + k] == expect[isnan(row[0]) ? 0 : (int)row[0]][k]);
    }
    free(r.v);
    r = run(p_group(&w->m, s, 0, NULL, 4, aggs));
    assert_int_equal(r.n, 1);
    for (int k = 0; k < 3; k++)
        assert_true(r.v[k] == expect[SYMBOLS + 1][k]);
    free(r.v);
    const alm_agg_call by_id[] = {x_agg(&w->m, "count_distinct", col(s, 1)),
                                  x_agg(&w->m, "count_distinct", col(s, 4)),
                                  x_agg(&w->m, "count", NULL)};
    r = run(p_group(&w->m, s, 1, &id, 3, by_id));
    double rows = 0;
    for (int64_t i = 0; i < r.n; i++) {
        const double *row = r.v + i * 4;
        assert_true(row[1] == (isnan(row[0]) ? 0 : 1));
        assert_true(row[2] >= 0 && row[2] <= fmin(row[3], SYMBOLS));
        rows += row[3];
    }
    assert_true(rows == (double)ROWS);
    free(r.v);
    free(code);
    free(text);
}

/* Conditions that many rows pass leave values out by a mask, others number the rows. */
static void test_conditions_that_many_and_few_rows_pass(void **state)
{
    (void)state;
    static const int32_t above[] = {-300, 0, 500, 1500, 1900, 1998, 5000};
    for (size_t k = 0; k < ALM_COUNT(above); k++) {
        alm_plan *s = p_scan(&w->m, &w->t);
        const alm_agg_call aggs[] = {x_agg(&w->m, "sum", col(s, 5)), x_agg(&w->m, "count", NULL),
                                     x_agg(&w->m, "min", col(s, 5)), x_agg(&w->m, "max", col(s, 5)),
                                     x_agg(&w->m, "avg", col(s, 5))};
        p_where(&w->m, s, x_two(&w->m, ">", col(s, 3), x_bits(&w->m, ALM_TY(INT), &above[k])));
        p_where(&w->m, s, x_two(&w->m, "<", col(s, 5), x_double(&w->m, 20000)));
        double sum = 0, rows = 0, least = INFINITY, most = -INFINITY;
        for (int i = 0; i < ROWS; i++) {
            if (w->of_code[i] == 0 || w->code[i] <= above[k] || !(w->x[i] < 20000))
                continue;
            rows++;
            sum += w->x[i];
            least = fmin(least, w->x[i]);
            most = fmax(most, w->x[i]);
        }
        result r = run(p_group(&w->m, s, 0, NULL, 5, aggs));
        assert_true(r.v[1] == rows);
        if (rows > 0) {
            assert_true(fabs(r.v[0] - sum) <= 1e-9 * fabs(sum));
            assert_true(r.v[2] == least && r.v[3] == most);
            assert_true(fabs(r.v[4] - sum / rows) <= 1e-9 * fabs(sum / rows));
        } else {
            assert_true(isnan(r.v[0]) && isnan(r.v[2]) && isnan(r.v[3]) && isnan(r.v[4]));
        }
        free(r.v);
    }
}

static void test_the_limit_names_the_operator(void **state)
{
    (void)state;
    alm_plan *s = p_scan(&w->m, &w->t);
    alm_expr *id = col(s, 1);
    const alm_agg_call count = x_agg(&w->m, "count", NULL);
    const alm_plan *plan = p_group(&w->m, s, 1, &id, 1, &count);
    const alm_exec_env env = {.scans = &fake_scans, .workers = w->four, .registry = w->m.registry};
    const int64_t before = w->mem.limit_bytes;
    alm_exec *ex = NULL;
    alm_batch *b = NULL;
    must(&w->m, alm_exec_open(&w->cx, plan, &env, &ex));
    w->mem.limit_bytes = w->mem.used_bytes + (1 << 20);
    assert_int_equal(alm_exec_next(&w->cx, ex, &b), ALM_E_MEMORY);
    assert_non_null(strstr(w->cx.err.msg, "group by"));
    w->mem.limit_bytes = before;
    alm_exec_close(ex);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_longs_and_texts),
        cmocka_unit_test(test_two_keys),
        cmocka_unit_test(test_ranges_of_integers),
        cmocka_unit_test(test_input_of_one_thread),
        cmocka_unit_test(test_groups_of_groups_and_their_top),
        cmocka_unit_test(test_several_counts_of_distinct_values),
        cmocka_unit_test(test_conditions_that_many_and_few_rows_pass),
        cmocka_unit_test(test_the_limit_names_the_operator),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
