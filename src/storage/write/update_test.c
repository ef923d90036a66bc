/*
 * Goal    An update changes exactly the rows it names, at once and for good; older snapshots keep what
 *         they saw.
 * Method  Random rows of direct and merged spans get new values, in the table and in the oracle;
 *         repeated, reopened, and given up.
 */
#include "storage/table_fixture.h"

enum { BATCH = 400 };

typedef struct patch {
    int64_t rows[BATCH];
    alm_view sym[BATCH], text[BATCH];
    double x[BATCH];
    uint32_t n;
} patch;

static void flush_patch(fixture *f, alm_update *up, size_t span, patch *p)
{
    const alm_vec values[3] = {{.type = ALM_TY(SYMBOL), .width = 16, .data = p->sym},
                               {.type = ALM_TY(VARCHAR), .width = 16, .data = p->text},
                               {.type = ALM_TY(DOUBLE), .width = 8, .data = p->x}};
    assert_int_equal(alm_update_rows(&f->cx, up, span, p->rows, p->n, values), ALM_OK);
    p->n = 0;
}

/* Changes one row in `every`; the oracle's rows are in order. */
static int64_t change_rows(fixture *f, alm_update *up, uint64_t every, fix_row *rows)
{
    alm_snapshot *snap = alm_update_snapshot(up);
    alm_scan *scan = NULL;
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    const uint32_t col = COL_X;
    patch p = {0};
    int64_t at = 0, changed = 0;
    assert_int_equal(alm_scan_new(&f->cx, &arena, snap, fix_table(snap),
                                  &(alm_scan_spec){.cols = &col, .n_cols = 1, .all = true}, &scan),
                     ALM_OK);
    for (size_t i = 0; i < alm_scan_span_count(scan); i++) {
        const int64_t n = alm_scan_span_at(scan, i).rows;
        for (int64_t row = 0; row < n; row++, at++) {
            if (fix_random(f, every) != 0)
                continue;
            rows[at].sym = (uint32_t)fix_random(f, 90); /* new symbols, nulls */
            rows[at].text = (int64_t)fix_random(f, 9000) - 500;
            rows[at].x = (double)fix_random(f, 1000) + 5000;
            p.rows[p.n] = row;
            p.sym[p.n] = fix_symbol(f, rows[at].sym);
            p.text[p.n] = fix_text(f, rows[at].text);
            p.x[p.n++] = rows[at].x;
            changed++;
            if (p.n == BATCH)
                flush_patch(f, up, i, &p);
        }
        if (p.n > 0)
            flush_patch(f, up, i, &p);
    }
    alm_arena_deinit(&arena);
    return changed;
}

static alm_update *begin(fixture *f)
{
    const uint32_t cols[3] = {COL_SYM, COL_TEXT, COL_X};
    alm_update *up = NULL;
    const alm_status st = alm_update_begin(&f->cx, f->st, NULL, ALM_STR("t"), cols, 3, &up);
    assert_string_equal(f->cx.err.msg, "");
    assert_int_equal(st, ALM_OK);
    return up;
}

static void random_updates(void **state)
{
    (void)state;
    fixture *f = fix_new(21, false, true);
    fix_load(f, 2500, 0, 2 * DAY);
    fix_load(f, 800, DAY / 2, 300); /* overlaps */
    fix_insert(f, 400, 0, 3 * DAY); /* in the head */
    fix_check(f);
    const uint64_t every[] = {3, 1, 700, 5};
    for (size_t i = 0; i < ALM_COUNT(every); i++) {
        alm_snapshot *before = fix_snapshot(f);
        fix_row *old = calloc((size_t)f->n, sizeof(*old));
        memcpy(old, f->rows, (size_t)f->n * sizeof(*old));
        alm_update *up = begin(f);
        const int64_t changed = change_rows(f, up, every[i], f->rows);
        int64_t rows = 0;
        assert_int_equal(alm_update_commit(&f->cx, up, &rows), ALM_OK);
        assert_int_equal(rows, changed);
        fix_check(f);
        fix_check_rows(f, before, old, f->n);
        alm_snapshot_release(before);
        free(old);
    }
    fix_reopen(f);
    fix_check(f);
    fix_free(f);
}

static void a_rollback_changes_nothing(void **state)
{
    (void)state;
    fixture *f = fix_new(22, false, true);
    fix_load(f, 1500, 0, DAY);
    fix_sort(f);
    fix_row *rows = calloc((size_t)f->n, sizeof(*rows));
    memcpy(rows, f->rows, (size_t)f->n * sizeof(*rows));
    alm_update *up = begin(f);
    assert_true(change_rows(f, up, 2, rows) > 0);
    alm_update_rollback(up);
    fix_check(f);
    fix_insert(f, 10, 0, DAY); /* the locks are gone */
    up = begin(f);
    alm_update_rollback(up);
    fix_check(f);
    free(rows);
    fix_free(f);
}

static void only_what_can_be_updated(void **state)
{
    (void)state;
    fixture *f = fix_new(23, false, true);
    const uint32_t ts = COL_TS, x = COL_X;
    alm_update *up = NULL;
    assert_int_equal(alm_update_begin(&f->cx, f->st, NULL, ALM_STR("t"), &ts, 1, &up), ALM_E_ARG);
    alm_error_clear(&f->cx);
    assert_int_equal(alm_update_begin(&f->cx, f->st, NULL, ALM_STR("no"), &x, 1, &up), ALM_E_TABLE);
    alm_error_clear(&f->cx);
    int64_t rows = -1;
    up = begin(f); /* an empty table */
    assert_int_equal(alm_update_commit(&f->cx, up, &rows), ALM_OK);
    assert_int_equal(rows, 0);
    fix_check(f);
    fix_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_updates),
        cmocka_unit_test(a_rollback_changes_nothing),
        cmocka_unit_test(only_what_can_be_updated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
