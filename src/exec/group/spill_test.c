/*
 * Goal    A grouping of far more groups than its memory holds gives the same groups as one with enough,
 *         for one thread and for several, whatever its keys, and to a sort above it; its files are gone
 *         afterwards, and the bound has a name.
 * Method  A table in arrays, a simulated disk. Groups are compared as the sum of the hashes of their rows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/conf.h"
#include "exec/data/row_hash_for_test.h"
#include "exec/run/table_fixture.h"
#include "storage/spill/spill_fixture_for_test.h"

enum { ROWS = 1200000, GROUPS = 900000, SYMBOLS = 9, LIMIT = 48000000 };

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
    int64_t *ts, *n, *v;
    uint8_t *sym;
    alm_view *text;
} world;

static world *w;

static int setup(void **state)
{
    (void)state;
    w = calloc(1, sizeof *w);
    w->mem.name = "query";
    alm_arena_init(&w->arena, &w->mem);
    alm_arena_init(&w->texts, NULL);
    w->conf.query_spill_max = INT64_C(1) << 40;
    w->cx = (alm_ctx){.arena = &w->arena, .mem = &w->mem, .now_ns = 1, .conf = &w->conf};
    w->m.cx = &w->cx;
    must(&w->m, alm_registry_new(&w->cx, &w->m.registry));
    must(&w->m, alm_workers_new(&w->cx, 1, &w->one));
    must(&w->m, alm_workers_new(&w->cx, 3, &w->three));
    must(&w->m, spill_fixture_open(&w->cx, &w->disk));
    fake_dict(&w->cx, &w->dict, 1, "s", SYMBOLS);
    w->ts = malloc(ROWS * 8);
    w->n = malloc(ROWS * 8);
    w->v = malloc(ROWS * 8);
    w->sym = malloc(ROWS);
    w->text = malloc(ROWS * sizeof(alm_view));
    uint64_t r = 99;
    for (int64_t i = 0; i < ROWS; i++) {
        char buf[64];
        alm_str copy = {NULL, 0};
        r = r * 6364136223846793005U + 1442695040888963407U;
        const int64_t group = (int64_t)(r >> 20) % GROUPS;
        w->ts[i] = 1700000000000000 + i;
        w->n[i] = group % 1000 == 0 ? ALM_LONG_NULL : group * 1000003;
        w->v[i] = (int64_t)(r >> 40) % 1000;
        w->sym[i] = (uint8_t)((r >> 9) % (SYMBOLS + 1));
        const int len = snprintf(buf, sizeof buf, "a text of a group %lld", (long long)(group / 4));
        must(&w->m, alm_arena_copy(&w->cx, &w->texts, (alm_str){buf, (size_t)len}, &copy));
        w->text[i] = alm_view_of(copy);
    }
    w->t = (fake_table){.rows = ROWS, .span_rows = 500000};
    fake_column(&w->t, "ts", ALM_TY(TIMESTAMP), 8, w->ts, NULL);
    fake_column(&w->t, "n", ALM_TY(LONG), 8, w->n, NULL);
    fake_column(&w->t, "v", ALM_TY(LONG), 8, w->v, NULL);
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
    spill_fixture_close(&w->disk);
    free(w->ts);
    free(w->n);
    free(w->v);
    free(w->sym);
    free(w->text);
    free(w);
    return 0;
}

typedef struct outcome {
    uint64_t sum; /* of the hashes of rows */
    int64_t rows, written;
    alm_status status;
} outcome;

static outcome run(const alm_plan *plan, alm_workers *workers, int64_t limit)
{
    const alm_exec_env env = {.scans = &fake_scans,
                              .workers = workers,
                              .registry = w->m.registry,
                              .spill = &w->disk.space};
    outcome o = {.written = -spill_fixture_writes(&w->disk)};
    alm_exec *ex = NULL;
    alm_batch *b = NULL;
    w->mem.limit_bytes = limit > 0 ? w->mem.used_bytes + limit : 0;
    o.status = alm_exec_open(&w->cx, plan, &env, &ex);
    while (o.status == ALM_OK) {
        o.status = alm_exec_next(&w->cx, ex, &b);
        if (o.status != ALM_OK || b == NULL)
            break;
        for (uint32_t i = 0; i < b->rows; i++) {
            uint64_t h = 14695981039346656037U;
            for (uint32_t c = 0; c < b->n_cols; c++)
                h = mix_value(h, &b->cols[c], i);
            o.sum += h;
        }
        o.rows += b->rows;
    }
    alm_exec_close(ex);
    w->mem.limit_bytes = 0;
    o.written += spill_fixture_writes(&w->disk);
    assert_int_equal(w->disk.space.files, 0);
    assert_int_equal(w->disk.space.bytes, 0);
    return o;
}

/* Keys: columns a and b; count, sum, least and last value, number of distinct values. */
static alm_plan *group_plan(uint32_t a, uint32_t b, bool distinct)
{
    alm_plan *s = p_scan(&w->m, &w->t);
    alm_expr *keys[] = {x_col(&w->m, s, a), x_col(&w->m, s, b)};
    const alm_agg_call aggs[] = {
        x_agg(&w->m, "count", NULL), x_agg(&w->m, "sum", x_col(&w->m, s, 2)),
        x_agg(&w->m, "min", x_col(&w->m, s, 2)), x_agg(&w->m, "last", x_col(&w->m, s, 2)),
        x_agg(&w->m, "max", x_col(&w->m, s, 0))};
    return p_group(&w->m, s, 2, keys, distinct ? 0 : 5, aggs);
}

static void the_same_groups_with_and_without_files(void **state)
{
    (void)state;
    static const uint32_t pairs[][2] = {{1, 3}, {4, 1}};
    for (size_t i = 0; i < ALM_COUNT(pairs); i++) {
        const alm_plan *p = group_plan(pairs[i][0], pairs[i][1], false);
        const outcome want = run(p, w->three, 0);
        assert_int_equal(want.status, ALM_OK);
        assert_int_equal(want.written, 0);
        assert_true(want.rows > GROUPS / 4);
        const outcome one = run(p, w->one, LIMIT), three = run(p, w->three, LIMIT);
        assert_string_equal(w->cx.err.msg, "");
        assert_true(one.written > 64 && three.written > 64);
        assert_int_equal(one.rows, want.rows);
        assert_int_equal(three.rows, want.rows);
        assert_true(one.sum == want.sum && three.sum == want.sum);
    }
}

static void a_sort_above_reads_the_groups(void **state)
{
    (void)state;
    alm_plan *g = group_plan(1, 3, false);
    const alm_sort_key keys[] = {{.expr = x_col(&w->m, g, 3), .desc = true},
                                 {.expr = x_col(&w->m, g, 0), .nulls_first = true}};
    const alm_plan *p = p_sort(&w->m, g, 2, keys, 100);
    const outcome want = run(p, w->three, 0), got = run(p, w->three, LIMIT);
    assert_string_equal(w->cx.err.msg, "");
    assert_int_equal(got.rows, 100);
    assert_true(got.written > 64 && got.sum == want.sum);
}

static void the_bound_has_a_name(void **state)
{
    (void)state;
    const alm_plan *p = group_plan(1, 3, false);
    w->conf.query_spill_max = 1000000;
    assert_int_equal(run(p, w->three, LIMIT).status, ALM_E_SPILL);
    assert_non_null(strstr(w->cx.err.msg, "query.spill.max"));
    assert_non_null(strstr(w->cx.err.msg, "by=group by"));
    alm_error_clear(&w->cx);
    w->conf.query_spill_max = 0;
    assert_int_equal(run(p, w->three, LIMIT).status, ALM_E_MEMORY);
    assert_non_null(strstr(w->cx.err.msg, "group by"));
    alm_error_clear(&w->cx);
    w->conf.query_spill_max = INT64_MAX;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_groups_with_and_without_files),
        cmocka_unit_test(a_sort_above_reads_the_groups),
        cmocka_unit_test(the_bound_has_a_name),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
