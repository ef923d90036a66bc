/*
 * Goal    Compaction changes the files and not one row: order of equal times, DEDUP, nulls of columns
 *         that older parts lack, symbols, texts; and it comes to an end.
 * Method  Overlapping loads, inserts and updates; after each step of compaction the table is compared
 *         with the oracle; the policy alone on made-up sets of parts.
 */
#include "storage/table_fixture.h"
#include "storage/write/compact.h"
#include "storage/write/compact_pick.h"

static alm_tab *tab_of(fixture *f, uint64_t *id)
{
    alm_snapshot *snap = fix_snapshot(f);
    *id = fix_table(snap)->id;
    alm_tab *tab = alm_tab_retain(alm_version_of(fix_table(snap))->tab);
    alm_snapshot_release(snap);
    return tab;
}

/* All steps there are; the rows are checked after each. */
static int compact_all(fixture *f)
{
    uint64_t id = 0;
    alm_tab *tab = tab_of(f, &id);
    int steps = 0;
    for (bool did = true; did; steps++) {
        assert_int_equal(alm_tab_lock(&f->cx, f->st, tab, ALM_TAB_MAINT), ALM_OK);
        const alm_status st = alm_compact_table(&f->cx, f->st, id, &did);
        alm_tab_unlock(f->st, tab, ALM_TAB_MAINT);
        assert_string_equal(f->cx.err.msg, "");
        assert_int_equal(st, ALM_OK);
        fix_check(f);
        assert_true(steps < 200);
    }
    alm_tab_release(tab);
    return steps - 1;
}

static uint32_t overlap_of(fixture *f)
{
    alm_snapshot *snap = fix_snapshot(f);
    const uint32_t overlap = alm_version_of(fix_table(snap))->parts->overlap;
    alm_snapshot_release(snap);
    return overlap;
}

static void update_some(fixture *f)
{
    const uint32_t col = COL_X;
    alm_update *up = NULL;
    assert_int_equal(alm_update_begin(&f->cx, f->st, NULL, ALM_STR("t"), &col, 1, &up), ALM_OK);
    alm_snapshot *snap = alm_update_snapshot(up);
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    alm_scan *scan = NULL;
    assert_int_equal(alm_scan_new(&f->cx, &arena, snap, fix_table(snap),
                                  &(alm_scan_spec){.cols = &col, .n_cols = 1, .all = true}, &scan),
                     ALM_OK);
    fix_sort(f);
    int64_t at = 0, rows = 0;
    for (size_t i = 0; i < alm_scan_span_count(scan); i++) {
        const double x = (double)i - 77;
        const alm_vec value = {
            .type = ALM_TY(DOUBLE), .width = 8, .is_const = true, .data = (void *)(uintptr_t)&x};
        const int64_t row = alm_scan_span_at(scan, i).rows / 2;
        assert_int_equal(alm_update_rows(&f->cx, up, i, &row, 1, &value), ALM_OK);
        f->rows[at + row].x = x;
        at += alm_scan_span_at(scan, i).rows;
    }
    alm_arena_deinit(&arena);
    assert_int_equal(alm_update_commit(&f->cx, up, &rows), ALM_OK);
}

static void rows_stay_what_they_are(void **state)
{
    (void)state;
    for (uint64_t seed = 31; seed <= 36; seed++) {
        fixture *f = fix_new(seed, seed % 2 == 0, true);
        fix_load(f, 2500, 0, seed < 34 ? 2 * DAY : 600); /* few or many equal times */
        fix_load(f, 900, 0, seed < 34 ? DAY : 500);
        fix_insert(f, 300, 0, seed < 34 ? DAY : 700);
        assert_int_equal(alm_storage_checkpoint(&f->cx, f->st), ALM_OK);
        update_some(f);
        fix_load(f, 400, 0, 300);
        assert_true(compact_all(f) >= 0);
        assert_true(overlap_of(f) <= 1);
        fix_reopen(f);
        fix_check(f);
        fix_load(f, 100, 0, 300); /* newer rows still win and still come last */
        fix_check(f);
        (void)compact_all(f);
        fix_reopen(f);
        fix_check(f);
        fix_free(f);
    }
}

static void small_parts_become_few(void **state)
{
    (void)state;
    fixture *f = fix_new(41, false, true);
    for (int64_t i = 0; i < 40; i++)
        fix_load(f, 20, i * 1000, 900);
    (void)compact_all(f);
    alm_snapshot *snap = fix_snapshot(f);
    assert_true(alm_version_of(fix_table(snap))->parts->n <= 6);
    alm_snapshot_release(snap);
    fix_free(f);
}

static void snapshots_keep_their_files(void **state)
{
    (void)state;
    fixture *f = fix_new(42, false, true);
    fix_load(f, 1500, 0, DAY);
    fix_load(f, 1500, 0, DAY);
    fix_sort(f);
    alm_snapshot *snap = fix_snapshot(f);
    (void)compact_all(f);
    fix_check_rows(f, snap, f->rows, f->n);
    alm_snapshot_release(snap);
    fix_check(f);
    fix_free(f);
}

/* ------------------------------------------------------------------ policy */

enum { SET_MAX = 16 };

typedef struct made_set {
    alm_part_ref refs[SET_MAX];
    alm_file files[SET_MAX];
    union {
        alm_part_set set;
        char room[sizeof(alm_part_set) + SET_MAX * sizeof(alm_part_ref *)];
    };
} made_set;

/* Given by (min, max, rows) in order of time; seq as given. */
static void make_set(made_set *m, uint32_t n, const int64_t (*parts)[4], int64_t bytes)
{
    memset(m, 0, sizeof(*m));
    m->set.n = n;
    m->set.overlap = 2;
    for (uint32_t i = 0; i < n; i++) {
        m->files[i].bytes = bytes;
        m->refs[i] = (alm_part_ref){.seq = (uint64_t)parts[i][3],
                                    .rows = parts[i][2],
                                    .min_ts = parts[i][0],
                                    .max_ts = parts[i][1],
                                    .file = &m->files[i]};
        m->set.parts[i] = &m->refs[i];
    }
}

static void the_policy_picks_closed_groups(void **state)
{
    (void)state;
    const alm_storage_conf conf = {.part_rows_max = 1000, .overlap_max = 64};
    const alm_part_ref *group[SET_MAX];
    made_set m;
    /* in order, meeting at one time: nothing to do; but for dedup */
    const int64_t in_order[][4] = {{0, 10, 900, 1}, {10, 20, 900, 2}, {20, 30, 900, 3}};
    make_set(&m, 3, in_order, 1000);
    assert_int_equal(alm_compact_pick(&m.set, true, false, &conf, group), 0);
    assert_int_equal(alm_compact_pick(&m.set, true, true, &conf, group), 3);
    /* two overlap; their neighbour meets them with a seq between theirs and comes along */
    const int64_t meet[][4] = {{0, 10, 900, 1}, {5, 12, 900, 5}, {12, 20, 900, 6}, {20, 30, 9, 7}};
    make_set(&m, 4, meet, 1000);
    assert_int_equal(alm_compact_pick(&m.set, true, false, &conf, group), 2);
    m.refs[2].seq = 4;
    assert_int_equal(alm_compact_pick(&m.set, true, false, &conf, group), 3);
    assert_true(group[0]->seq < group[1]->seq && group[1]->seq < group[2]->seq);
    /* rows at 12 come from seq 1, then 3; merged without the third they would have seq 4 */
    const int64_t tie[][4] = {{5, 10, 900, 4}, {7, 12, 900, 1}, {12, 20, 900, 3}, {21, 25, 900, 2}};
    make_set(&m, 4, tie, 1000);
    assert_int_equal(alm_compact_pick(&m.set, true, false, &conf, group), 3);
    m.refs[2].seq = 7;
    assert_int_equal(alm_compact_pick(&m.set, true, false, &conf, group), 2);
    /* a large day with few late rows waits until four small parts came */
    const int64_t late[][4] = {
        {0, 1000000, 900, 1}, {5, 500, 10, 2}, {6, 600, 12, 3}, {7, 700, 9, 4}, {8, 800, 11, 5}};
    make_set(&m, 4, late, INT64_C(1) << 30);
    assert_int_equal(alm_compact_pick(&m.set, true, false, &conf, group), 0);
    make_set(&m, 5, late, INT64_C(1) << 30);
    assert_int_equal(alm_compact_pick(&m.set, true, false, &conf, group), 4);
    assert_int_equal(group[0]->seq, 2);
    m.set.overlap = 40; /* too deep to wait */
    assert_int_equal(alm_compact_pick(&m.set, true, false, &conf, group), 5);
    /* small neighbours, none larger than the others together */
    const int64_t small[][4] = {{0, 1, 100, 1}, {2, 3, 20, 2}, {4, 5, 20, 3}, {6, 7, 20, 4}};
    make_set(&m, 4, small, 1000);
    assert_int_equal(alm_compact_pick(&m.set, true, false, &conf, group), 0);
    m.refs[0].rows = 50;
    assert_int_equal(alm_compact_pick(&m.set, true, false, &conf, group), 4);
    m.refs[2].bucket = 1; /* another partition */
    assert_int_equal(alm_compact_pick(&m.set, true, false, &conf, group), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_policy_picks_closed_groups),
        cmocka_unit_test(rows_stay_what_they_are),
        cmocka_unit_test(small_parts_become_few),
        cmocka_unit_test(snapshots_keep_their_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
