/*
 * Goal    A sort gives the same rows with and without temporary files, for one thread and for several,
 *         whole and cut to the first k; what it needs is bounded, its files are gone afterwards, its
 *         errors name the limit; it can be cancelled. The first k rows of a table are found without
 *         reading blocks that cannot hold them.
 * Method  A table in arrays with ties, nulls, symbols and long texts; small limits of memory; a simulated
 *         disk. Results are compared as hashes of all values in order.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/conf.h"
#include "exec/data/row_hash_for_test.h"
#include "exec/run/table_fixture.h"
#include "storage/spill/spill_fixture_for_test.h"

enum { ROWS = 140000, SYMBOLS = 9, COLS = 5 };

typedef struct world {
    alm_arena arena, texts;
    alm_mem mem;
    alm_ctx cx;
    struct alm_conf conf;
    plan_maker m;
    fake_table t;
    alm_dict dict;
    alm_workers *one, *three;
    spill_fixture disk;
    atomic_bool cancel;
    int64_t *ts, *n;
    double *x;
    uint8_t *sym;
    alm_view *text;
} world;

static world *w;

static void fill_row(int64_t i, uint64_t r)
{
    char buf[200];
    w->ts[i] = 1700000000000000 + i;
    w->n[i] = r % 13 == 0 ? ALM_LONG_NULL : (int64_t)(r >> 20) % 50;
    w->x[i] = r % 17 == 0 ? __builtin_nan("") : (double)(int64_t)(r >> 24) / 1e3;
    w->sym[i] = (uint8_t)((r >> 9) % (SYMBOLS + 1));
    const int len = snprintf(buf, sizeof buf, "%.*s%llu", (int)(r >> 40) % 60,
                             "http://www.example.com/a/path/that/goes/on/and/on/for/a/while",
                             (unsigned long long)(r >> 30) % 1000);
    alm_str copy = {NULL, 0};
    must(&w->m, alm_arena_copy(&w->cx, &w->texts, (alm_str){buf, (size_t)len}, &copy));
    w->text[i] = r % 19 == 0 ? alm_view_null() : alm_view_of(copy);
}

static int setup(void **state)
{
    (void)state;
    w = calloc(1, sizeof *w);
    w->mem.name = "query";
    alm_arena_init(&w->arena, &w->mem);
    alm_arena_init(&w->texts, NULL);
    w->conf.query_spill_max = INT64_C(1) << 40;
    w->cx = (alm_ctx){
        .arena = &w->arena, .mem = &w->mem, .now_ns = 1, .conf = &w->conf, .cancel = &w->cancel};
    w->m.cx = &w->cx;
    must(&w->m, alm_registry_new(&w->cx, &w->m.registry));
    must(&w->m, alm_workers_new(&w->cx, 1, &w->one));
    must(&w->m, alm_workers_new(&w->cx, 3, &w->three));
    must(&w->m, spill_fixture_open(&w->cx, &w->disk));
    fake_dict(&w->cx, &w->dict, 1, "s", SYMBOLS);
    w->ts = malloc(ROWS * 8);
    w->n = malloc(ROWS * 8);
    w->x = malloc(ROWS * 8);
    w->sym = malloc(ROWS);
    w->text = malloc(ROWS * sizeof(alm_view));
    uint64_t r = 99;
    for (int64_t i = 0; i < ROWS; i++) {
        r = r * 6364136223846793005U + 1442695040888963407U;
        fill_row(i, r ^ r >> 31);
    }
    w->t = (fake_table){.rows = ROWS, .span_rows = 100000};
    fake_column(&w->t, "ts", ALM_TY(TIMESTAMP), 8, w->ts, NULL);
    fake_column(&w->t, "n", ALM_TY(LONG), 8, w->n, NULL);
    fake_column(&w->t, "x", ALM_TY(DOUBLE), 8, w->x, NULL);
    fake_column(&w->t, "sym", ALM_TY(SYMBOL), 1, w->sym, &w->dict);
    fake_column(&w->t, "text", ALM_TY(VARCHAR), 16, w->text, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    alm_workers_free(w->one);
    alm_workers_free(w->three);
    alm_registry_free(w->m.registry);
    alm_arena_deinit(&w->arena);
    alm_arena_deinit(&w->texts);
    assert_int_equal(w->mem.used_bytes, 0);
    assert_int_equal(w->disk.space.bytes, 0);
    assert_int_equal(w->disk.space.files, 0);
    spill_fixture_close(&w->disk);
    free(w->ts);
    free(w->n);
    free(w->x);
    free(w->sym);
    free(w->text);
    free(w);
    return 0;
}

static alm_expr *col(const alm_plan *p, uint32_t c)
{
    return x_col(&w->m, p, c);
}

typedef struct outcome {
    uint64_t hash;
    int64_t rows;
    alm_status status;
} outcome;

/* limit 0: no limit of memory. */
static outcome run(const alm_plan *plan, alm_workers *workers, int64_t limit)
{
    const alm_exec_env env = {.scans = &fake_scans,
                              .workers = workers,
                              .registry = w->m.registry,
                              .spill = &w->disk.space};
    outcome o = {.hash = 14695981039346656037U};
    alm_exec *ex = NULL;
    alm_batch *b = NULL;
    w->mem.limit_bytes = limit > 0 ? w->mem.used_bytes + limit : 0;
    o.status = alm_exec_open(&w->cx, plan, &env, &ex);
    while (o.status == ALM_OK) {
        o.status = alm_exec_next(&w->cx, ex, &b);
        if (o.status != ALM_OK || b == NULL)
            break;
        for (uint32_t i = 0; i < b->rows; i++)
            for (uint32_t c = 0; c < b->n_cols; c++)
                o.hash = mix_value(o.hash, &b->cols[c], i);
        o.rows += b->rows;
    }
    alm_exec_close(ex);
    w->mem.limit_bytes = 0;
    assert_int_equal(w->disk.space.files, 0);
    assert_int_equal(w->disk.space.bytes, 0);
    return o;
}

static alm_plan *sort_plan(uint32_t a, bool desc, uint32_t b, int64_t limit)
{
    alm_plan *s = p_scan(&w->m, &w->t);
    const alm_sort_key keys[] = {{.expr = col(s, a), .desc = desc, .nulls_first = !desc},
                                 {.expr = col(s, b), .desc = !desc, .nulls_first = true}};
    return p_sort(&w->m, s, 2, keys, limit);
}

static int64_t written(void)
{
    return spill_fixture_writes(&w->disk);
}

static void the_same_rows_with_and_without_files(void **state)
{
    (void)state;
    static const uint32_t pairs[][2] = {{1, 3}, {4, 1}, {3, 4}, {2, 1}, {1, 1}};
    for (size_t i = 0; i < ALM_COUNT(pairs); i++) {
        const alm_plan *p = sort_plan(pairs[i][0], i % 2 == 1, pairs[i][1], -1);
        const outcome want = run(p, w->one, 0), parallel = run(p, w->three, 0);
        assert_int_equal(want.status, ALM_OK);
        assert_int_equal(want.rows, ROWS);
        assert_int_equal(parallel.hash, want.hash);
        const int64_t before = written();
        const outcome spilled = run(p, w->one, 8000000), both = run(p, w->three, 8000000);
        assert_string_equal(w->cx.err.msg, "");
        assert_int_equal(spilled.status, ALM_OK);
        assert_true(written() - before > 2 * 20);
        assert_int_equal(spilled.rows, ROWS);
        assert_true(spilled.hash == want.hash && both.hash == want.hash);
    }
}

static void many_runs_are_merged_in_rounds(void **state)
{
    (void)state;
    const alm_plan *p = sort_plan(2, false, 1, -1);
    const outcome want = run(p, w->one, 0), got = run(p, w->one, 7000000);
    assert_string_equal(w->cx.err.msg, "");
    assert_int_equal(got.status, ALM_OK);
    assert_int_equal(got.rows, ROWS);
    assert_true(got.hash == want.hash);
}

static void a_large_limit_is_cut(void **state)
{
    (void)state;
    const outcome want = run(sort_plan(1, true, 2, 70000), w->three, 0);
    const outcome got = run(sort_plan(1, true, 2, 70000), w->three, 8000000);
    assert_int_equal(want.rows, 70000);
    assert_int_equal(got.rows, 70000);
    assert_true(want.hash == got.hash);
}

static void limits_have_names(void **state)
{
    (void)state;
    const alm_plan *p = sort_plan(4, false, 1, -1);
    w->conf.query_spill_max = 0;
    assert_int_equal(run(p, w->one, 8000000).status, ALM_E_MEMORY);
    assert_non_null(strstr(w->cx.err.msg, "sort"));
    alm_error_clear(&w->cx);
    w->conf.query_spill_max = 3000000;
    assert_int_equal(run(p, w->one, 8000000).status, ALM_E_SPILL);
    assert_non_null(strstr(w->cx.err.msg, "query.spill.max"));
    alm_error_clear(&w->cx);
    w->conf.query_spill_max = INT64_MAX;
    spill_fixture_fail(&w->disk, 20, ENOSPC);
    assert_int_equal(run(p, w->three, 8000000).status, ALM_E_DISK_FULL);
    assert_non_null(strstr(w->cx.err.msg, "temporary file of sort"));
    alm_error_clear(&w->cx);
}

static void cancel_is_seen_at_every_stage(void **state)
{
    (void)state;
    const alm_plan *p = sort_plan(4, false, 1, -1);
    const alm_exec_env env = {.scans = &fake_scans,
                              .workers = w->three,
                              .registry = w->m.registry,
                              .spill = &w->disk.space};
    alm_exec *ex = NULL;
    alm_batch *b = NULL;
    atomic_store(&w->cancel, true); /* before it reads */
    assert_int_equal(run(p, w->three, 8000000).status, ALM_E_CANCEL);
    alm_error_clear(&w->cx);
    atomic_store(&w->cancel, false);
    w->mem.limit_bytes = w->mem.used_bytes + 8000000;
    must(&w->m, alm_exec_open(&w->cx, p, &env, &ex));
    must(&w->m, alm_exec_next(&w->cx, ex, &b)); /* while it merges */
    assert_true(b != NULL && w->disk.space.bytes > 0);
    atomic_store(&w->cancel, true);
    assert_int_equal(alm_exec_next(&w->cx, ex, &b), ALM_E_CANCEL);
    alm_exec_close(ex);
    alm_error_clear(&w->cx);
    atomic_store(&w->cancel, false);
    w->mem.limit_bytes = 0;
}

/* The scan's rows for the first k by column c. */
static int64_t rows_read(uint32_t c, bool desc, int64_t k, bool no_stats)
{
    alm_plan *s = p_scan(&w->m, &w->t);
    const alm_sort_key key = {.expr = col(s, c), .desc = desc, .nulls_first = false};
    const alm_plan *p = p_sort(&w->m, s, 1, &key, k);
    const alm_exec_env env = {
        .scans = &fake_scans, .workers = w->three, .registry = w->m.registry, .analyze = true};
    alm_exec *ex = NULL;
    alm_batch *b = NULL;
    w->t.no_stats = no_stats;
    must(&w->m, alm_exec_open(&w->cx, p, &env, &ex));
    must(&w->m, alm_exec_next(&w->cx, ex, &b));
    assert_int_equal(b->rows, k);
    const int64_t rows = alm_exec_stats(ex, s->id)->rows;
    alm_exec_close(ex);
    w->t.no_stats = false;
    return rows;
}

static void blocks_without_winners_are_not_read(void **state)
{
    (void)state;
    for (int64_t i = 0; i < ROWS; i++)
        w->x[i] = (double)(i / 10); /* each block is above the one before */
    assert_int_equal(rows_read(2, true, 1, true), ROWS);
    assert_true(rows_read(2, true, 1, false) <= 65536); /* the last block */
    assert_true(rows_read(2, false, 3, false) < ROWS);
    for (int desc = 0; desc < 2; desc++)
        for (int64_t k = 1; k < 2000; k *= 121) {
            const alm_plan *p = sort_plan(2, desc, 1, k);
            const outcome with = run(p, w->three, 0);
            w->t.no_stats = true;
            const outcome without = run(p, w->one, 0);
            w->t.no_stats = false;
            assert_int_equal(with.rows, k);
            assert_true(with.hash == without.hash);
        }
}

static void the_first_rows_are_those_of_the_whole(void **state)
{
    (void)state;
    for (uint32_t c = 1; c < COLS; c++)
        for (int desc = 0; desc < 2; desc++) {
            const alm_plan *top = sort_plan(c, desc, (c + 1) % COLS, 300);
            alm_plan *all = sort_plan(c, desc, (c + 1) % COLS, -1);
            alm_plan *cut = p_new(&w->m, ALM_P_LIMIT, all);
            cut->limit.lo = 0;
            cut->limit.hi = 300;
            const outcome a = run(top, w->three, 0), b = run(cut, w->one, 0);
            assert_int_equal(a.rows, 300);
            assert_true(a.hash == b.hash);
        }
}

static void the_last_rows_are_those_of_the_whole(void **state)
{
    (void)state;
    for (uint32_t c = 1; c < COLS; c++)
        for (int desc = 0; desc < 2; desc++) {
            const int64_t n = c == 2 ? 5000 : 30;
            alm_plan *last = p_limit(&w->m, sort_plan(c, desc, (c + 1) % COLS, -1 - n), -n,
                                     desc ? INT64_MAX : -10);
            alm_plan *all =
                p_limit(&w->m, sort_plan(c, desc, (c + 1) % COLS, -1), -n, desc ? INT64_MAX : -10);
            const outcome a = run(last, w->three, 0), b = run(all, w->one, 0);
            assert_int_equal(a.rows, desc ? n : n - 10);
            assert_true(a.hash == b.hash);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_rows_with_and_without_files),
        cmocka_unit_test(many_runs_are_merged_in_rounds),
        cmocka_unit_test(a_large_limit_is_cut),
        cmocka_unit_test(limits_have_names),
        cmocka_unit_test(cancel_is_seen_at_every_stage),
        cmocka_unit_test(the_first_rows_are_those_of_the_whole),
        cmocka_unit_test(the_last_rows_are_those_of_the_whole),
        cmocka_unit_test(blocks_without_winners_are_not_read),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
