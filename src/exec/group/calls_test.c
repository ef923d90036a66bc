/*
 * calls_test.c - no operator handles one row per call: kernels are called per batch.
 *
 * Goal        For a million rows, every scalar kernel, every aggregate and every batch between
 *             operators stays within a few calls per ALM_BATCH_ROWS.
 * Method      Real functions are wrapped in copies that count their calls; plans over a table in
 *             arrays run them; calls are held against rows. A wrapper called row by row would count
 *             a million and fail.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exec/run/table_fixture.h"

enum { ROWS = 1000000, PER_CALL_MIN = 2000 };

static const alm_fn *real_scalar, *real_agg;
static int64_t scalar_calls, agg_calls; /* one worker: plain counters will do */

static alm_status counting_kernel(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)
{
    scalar_calls++;
    return real_scalar->kernel(call, n, args, out);
}

static void counting_init(const alm_call *call, void *states, size_t n)
{
    real_agg->agg->init(call, states, n);
}

static alm_status counting_update(alm_call *call, void *state, size_t n, const alm_vec *args)
{
    agg_calls++;
    return real_agg->agg->update(call, state, n, args);
}

static alm_status counting_scatter(alm_call *call, void *states, const uint32_t *group, size_t n,
                                   const alm_vec *args)
{
    agg_calls++;
    return real_agg->agg->scatter(call, states, group, n, args);
}

static alm_status counting_merge(alm_call *call, void *dst, const uint32_t *index, const void *src,
                                 size_t n)
{
    return real_agg->agg->merge(call, dst, index, src, n);
}

static alm_status counting_finish(alm_call *call, const void *states, size_t n, alm_vec *out)
{
    return real_agg->agg->finish(call, states, n, out);
}

typedef struct world {
    alm_arena arena;
    alm_mem mem;
    alm_ctx cx;
    plan_maker m;
    fake_table t;
    alm_dict dict;
    alm_workers *workers;
    alm_fn scalar, agg;
    alm_agg_ops ops;
} world;

static world *w;

static void fill_table(void)
{
    int64_t *ts = malloc(ROWS * 8), *n = malloc(ROWS * 8);
    double *x = malloc(ROWS * 8);
    uint8_t *sym = malloc(ROWS);
    for (int64_t i = 0; i < ROWS; i++) {
        ts[i] = 1700000000000000 + i * 100000;
        n[i] = (i * 7919) % 100003;
        x[i] = (double)(i % 1000) / 8;
        sym[i] = (uint8_t)(1 + i % 7);
    }
    w->t = (fake_table){.rows = ROWS, .span_rows = 300000};
    fake_column(&w->t, "ts", ALM_TY(TIMESTAMP), 8, ts, NULL);
    fake_column(&w->t, "sym", ALM_TY(SYMBOL), 1, sym, &w->dict);
    fake_column(&w->t, "n", ALM_TY(LONG), 8, n, NULL);
    fake_column(&w->t, "x", ALM_TY(DOUBLE), 8, x, NULL);
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
    must(&w->m, alm_workers_new(&w->cx, 1, &w->workers));
    fake_dict(&w->cx, &w->dict, 1, "s", 7);
    fill_table();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    alm_workers_free(w->workers);
    alm_registry_free(w->m.registry);
    alm_arena_deinit(&w->arena);
    for (uint32_t i = 0; i < w->t.table.n_cols; i++)
        free(w->t.data[i]);
    free(w);
    return 0;
}

/* x * x through the counting copy of `*`. */
static alm_expr *counted_product(const alm_plan *input)
{
    alm_expr *e = x_two(&w->m, "*", x_col(&w->m, input, 3), x_col(&w->m, input, 3));
    real_scalar = e->fn;
    w->scalar = *e->fn;
    w->scalar.kernel = counting_kernel;
    e->fn = &w->scalar;
    return e;
}

static alm_agg_call counted_sum(alm_expr *arg)
{
    alm_agg_call c = x_agg(&w->m, "sum", arg);
    real_agg = c.fn;
    w->agg = *c.fn;
    w->ops = (alm_agg_ops){.state_bytes = c.fn->agg->state_bytes,
                           .init = counting_init,
                           .update = counting_update,
                           .scatter = counting_scatter,
                           .merge = counting_merge,
                           .finish = counting_finish};
    w->agg.agg = &w->ops;
    c.fn = &w->agg;
    return c;
}

/* Runs a plan; rows and batches that came out. */
static int64_t run(const alm_plan *plan, int64_t *batches)
{
    const alm_exec_env env = {
        .scans = &fake_scans, .workers = w->workers, .registry = w->m.registry};
    alm_exec *ex = NULL;
    alm_batch *b = NULL;
    int64_t rows = 0;
    scalar_calls = agg_calls = *batches = 0;
    must(&w->m, alm_exec_open(&w->cx, plan, &env, &ex));
    for (;;) {
        must(&w->m, alm_exec_next(&w->cx, ex, &b));
        if (b == NULL)
            break;
        rows += b->rows;
        ++*batches;
    }
    alm_exec_close(ex);
    return rows;
}

static void assert_few(int64_t calls)
{
    assert_true(calls > 0); /* the wrapper was used at all */
    assert_true(calls <= ROWS / PER_CALL_MIN);
}

static void test_projection_calls_its_kernel_per_batch(void **state)
{
    (void)state;
    int64_t batches = 0;
    alm_plan *scan = p_scan(&w->m, &w->t);
    alm_expr *e = counted_product(scan);
    assert_int_equal(run(p_project(&w->m, scan, 1, &e), &batches), ROWS);
    assert_few(scalar_calls);
    assert_few(batches);
}

static void test_filter_calls_its_kernel_per_batch(void **state)
{
    (void)state;
    int64_t batches = 0;
    alm_plan *scan = p_scan(&w->m, &w->t);
    p_where(&w->m, scan, x_two(&w->m, ">=", counted_product(scan), x_double(&w->m, 0)));
    assert_int_equal(run(scan, &batches), ROWS);
    assert_few(scalar_calls);
    assert_few(batches);
}

static void test_aggregates_are_called_per_batch(void **state)
{
    (void)state;
    int64_t batches = 0;
    alm_plan *scan = p_scan(&w->m, &w->t);
    alm_agg_call sum = counted_sum(counted_product(scan));
    assert_int_equal(run(p_group(&w->m, scan, 0, NULL, 1, &sum), &batches), 1);
    assert_few(agg_calls);
    assert_few(scalar_calls);
}

static void test_groups_are_called_per_batch(void **state)
{
    (void)state;
    int64_t batches = 0;
    alm_plan *scan = p_scan(&w->m, &w->t);
    alm_agg_call sum = counted_sum(counted_product(scan));
    alm_expr *by_symbol = x_col(&w->m, scan, 1), *by_long = x_col(&w->m, scan, 2);
    assert_int_equal(run(p_group(&w->m, scan, 1, &by_symbol, 1, &sum), &batches), 7);
    assert_few(agg_calls);
    (void)run(p_group(&w->m, scan, 1, &by_long, 1, &sum), &batches);
    assert_few(agg_calls);
    assert_few(batches);
}

static void test_buckets_are_called_per_batch_or_bucket(void **state)
{
    (void)state;
    int64_t batches = 0;
    alm_plan *scan = p_scan(&w->m, &w->t);
    alm_agg_call sum = counted_sum(counted_product(scan));
    alm_expr *key = x_col(&w->m, scan, 1);
    /* 10 rows a second: hours are long runs, seconds are tiny ones */
    assert_int_equal(run(p_sample(&w->m, scan, 1, 'h', 0, NULL, 1, &sum), &batches), 28);
    assert_few(agg_calls);
    assert_int_equal(run(p_sample(&w->m, scan, 1, 's', 0, NULL, 1, &sum), &batches), 100000);
    assert_few(agg_calls);
    assert_few(batches);
    (void)run(p_sample(&w->m, scan, 1, 'm', 1, &key, 1, &sum), &batches);
    assert_few(agg_calls);
}

static void test_sorted_rows_come_in_batches(void **state)
{
    (void)state;
    int64_t batches = 0;
    alm_plan *scan = p_scan(&w->m, &w->t);
    const alm_sort_key key = {.expr = x_col(&w->m, scan, 2)};
    assert_int_equal(run(p_sort(&w->m, scan, 1, &key, -1), &batches), ROWS);
    assert_few(batches);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_projection_calls_its_kernel_per_batch),
        cmocka_unit_test(test_filter_calls_its_kernel_per_batch),
        cmocka_unit_test(test_aggregates_are_called_per_batch),
        cmocka_unit_test(test_groups_are_called_per_batch),
        cmocka_unit_test(test_buckets_are_called_per_batch_or_bucket),
        cmocka_unit_test(test_sorted_rows_come_in_batches),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
