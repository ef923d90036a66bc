/*
 * Goal    Recovery costs each row of the log the same, however many there are and however late they come, and gives the
 *         rows that were there.
 * Method  Transactions of random times, a power cut, and the copies that recovery made of rows: of N transactions and of 4 N.
 *         The same with large records and large and small ones by turns, with a log that is not kept mapped as a whole, with
 *         duplicates, without times, and with changes of the table between.
 */
#include "base/log.h"
#include "storage/recover/recover.h"
#include "storage/state.h"
#include "storage/table_fixture.h"

static fixture *new_fixture(uint64_t seed, bool dedup)
{
    fixture *f = fix_new(seed, dedup, true);
    alm_storage_close(f->st);
    f->conf.manual = true;
    f->conf.wal_segment_bytes = 1 << 20;
    fix_open(f);
    return f;
}

static void cut(fixture *f)
{
    alm_sim_cut_after(f->sim, 1);
    alm_storage_close(f->st);
    alm_sim_restart(f->sim);
    fix_open(f);
}

static double copies_per_row(int txns, uint32_t rows, int64_t width)
{
    fixture *f = new_fixture((uint64_t)txns, false);
    for (int i = 0; i < txns; i++)
        fix_insert(f, rows, 0, width);
    cut(f);
    const double copies = (double)f->st->rows_redone / (double)f->n;
    fix_check(f);
    fix_free(f);
    return copies;
}

static void late_rows_cost_the_same(void **state)
{
    (void)state;
    const int64_t widths[] = {1, DAY, 3 * DAY};
    for (size_t i = 0; i < ALM_COUNT(widths); i++) {
        const double few = copies_per_row(200, 20, widths[i]);
        const double many = copies_per_row(800, 20, widths[i]);
        assert_true(few > 0 && few <= 2);
        assert_true(many <= few * 1.01);
    }
}

/* From where they stand in the log to where they belong. */
static void rows_of_large_records_are_copied_once(void **state)
{
    (void)state;
    assert_true(copies_per_row(100, 300, 1) == 1);
    assert_true(copies_per_row(100, 300, 3 * DAY) == 1);
}

static void large_and_small_records_by_turns(void **state)
{
    (void)state;
    for (int dedup = 0; dedup <= 1; dedup++) {
        fixture *f = new_fixture(8, dedup != 0);
        for (int i = 0; i < 120; i++)
            fix_insert(f, i % 4 == 0 ? 400 : 1 + (uint32_t)i % 7, 0, i % 3 == 0 ? 500 : 2 * DAY);
        cut(f);
        const double copies = (double)f->st->rows_redone / (double)f->n;
        assert_true(copies < 1.1);
        fix_check(f);
        fix_free(f);
    }
}

/* Segments that were read are let go when they are many: the rows in them have been copied before. */
static void a_log_of_many_segments(void **state)
{
    (void)state;
    fixture *f = new_fixture(9, false);
    alm_storage_close(f->st);
    f->conf.wal_segment_bytes = 4096;
    fix_open(f);
    for (int i = 0; i < 1400; i++)
        fix_insert(f, i % 20 == 0 ? 3 : 60, 0, DAY);
    cut(f);
    const double copies = (double)f->st->rows_redone / (double)f->n;
    assert_true(copies > 1.5 && copies <= 2);
    fix_check(f);
    fix_free(f);
}

/* Several threads fill the chunks of the head. */
static void a_head_of_many_chunks(void **state)
{
    (void)state;
    fixture *f = new_fixture(10, false);
    alm_sim_machine(f->sim, 0, 4);
    for (int i = 0; i < 60; i++)
        fix_insert(f, 5000, 0, i % 2 == 0 ? 1000 : DAY);
    cut(f);
    alm_snapshot *snap = fix_snapshot(f);
    const alm_version *v = alm_version_of(fix_table(snap));
    assert_int_equal(v->n_lanes, 1);
    assert_true(v->lanes[0].n_chunks > 4);
    alm_snapshot_release(snap);
    fix_check(f);
    fix_free(f);
}

static void of_equal_keys_the_last_stays(void **state)
{
    (void)state;
    fixture *f = new_fixture(3, true);
    for (int i = 0; i < 100; i++)
        fix_insert(f, 20, 0, 50);
    cut(f);
    fix_check(f);
    for (int i = 0; i < 20; i++)
        fix_insert(f, 20, 0, 80);
    assert_int_equal(alm_storage_checkpoint(&f->cx, f->st), ALM_OK);
    for (int i = 0; i < 20; i++)
        fix_insert(f, 20, 0, 80);
    cut(f);
    fix_check(f);
    fix_free(f);
}

/* Rows of the catalogue's head, of a flush, of loads, of a column that came later. */
static void beside_other_changes(void **state)
{
    (void)state;
    fixture *f = new_fixture(4, false);
    const alm_column more = {.name = "more", .type = ALM_TY(LONG)};
    for (int i = 0; i < 30; i++)
        fix_insert(f, 20, 0, 2 * DAY);
    assert_int_equal(alm_checkpoint(&f->cx, f->st, INT64_MAX),
                     ALM_OK); /* the rows stay in the head */
    for (int i = 0; i < 30; i++)
        fix_insert(f, 20, 0, 2 * DAY);
    cut(f);
    fix_check(f);
    fix_load(f, 500, DAY / 2, DAY); /* flushes the head */
    for (int i = 0; i < 30; i++)
        fix_insert(f, 20, 0, 2 * DAY);
    fix_load(f, 500, 5 * DAY, DAY); /* beside it */
    fix_insert(f, 20, 0, 2 * DAY);
    cut(f);
    fix_check(f);
    assert_int_equal(alm_table_add_column(&f->cx, f->st, ALM_STR("t"), &more), ALM_OK);
    cut(f);
    fix_free(f);
}

/* The lane of recovery may end later than one before it. A row that comes then has the time of rows in both. */
static void of_equal_time_the_last_comes_last(void **state)
{
    (void)state;
    for (int dedup = 0; dedup <= 1; dedup++) {
        fixture *f = new_fixture(6, dedup != 0);
        for (int i = 0; i < 20; i++)
            fix_insert(f, 200, 0, 1000);
        assert_int_equal(alm_checkpoint(&f->cx, f->st, INT64_MAX), ALM_OK);
        fix_insert(f, 20, 0, 1000);
        fix_insert(f, 1, 1100, 1);
        cut(f);
        alm_snapshot *snap = fix_snapshot(f);
        assert_int_equal(alm_version_of(fix_table(snap))->n_lanes, 2);
        alm_snapshot_release(snap);
        fix_insert(f, 5, 1100, 1);
        fix_check(f);
        fix_free(f);
    }
}

static void insert_untimed(fixture *f, int64_t from, int64_t n)
{
    alm_snapshot *snap = fix_snapshot(f);
    alm_txn *txn = NULL;
    uint64_t lsn = 0;
    int64_t ids[64];
    for (int64_t i = 0; i < n; i++)
        ids[i] = from + i;
    alm_vec col = {.type = ALM_TY(LONG), .width = 8, .data = ids};
    const alm_batch batch = {.rows = (uint32_t)n, .n_cols = 1, .cols = &col};
    assert_int_equal(alm_txn_begin(&f->cx, f->st, &txn), ALM_OK);
    assert_int_equal(alm_txn_append(&f->cx, txn, alm_snapshot_find(snap, ALM_STR("u")), &batch),
                     ALM_OK);
    assert_int_equal(alm_txn_commit(&f->cx, txn, &lsn), ALM_OK);
    alm_snapshot_release(snap);
}

/* The head of a table without times: one lane, in the order of insertion. */
static void check_untimed(fixture *f, int64_t n)
{
    alm_snapshot *snap = fix_snapshot(f);
    const alm_version *v = alm_version_of(alm_snapshot_find(snap, ALM_STR("u")));
    assert_int_equal(v->n_lanes, 1);
    assert_int_equal(v->head_rows, n);
    int64_t at = 0;
    for (uint32_t i = 0; i < v->lanes[0].n_chunks; i++)
        for (uint32_t k = 0; k < v->lanes[0].chunks[i].rows; k++)
            assert_int_equal(((const int64_t *)v->lanes[0].chunks[i].chunk->cols[0])[k], at++);
    assert_int_equal(at, n);
    alm_snapshot_release(snap);
}

static void without_times(void **state)
{
    (void)state;
    fixture *f = new_fixture(5, false);
    const alm_column col = {.name = "id", .type = ALM_TY(LONG)};
    const alm_table_spec spec = {
        .name = ALM_STR("u"), .cols = &col, .n_cols = 1, .ts_col = -1, .partition = ALM_PART_NONE};
    assert_int_equal(alm_table_create(&f->cx, f->st, &spec, NULL), ALM_OK);
    for (int64_t i = 0; i < 20; i++)
        insert_untimed(f, i * 50, 50);
    assert_int_equal(alm_checkpoint(&f->cx, f->st, INT64_MAX), ALM_OK);
    for (int64_t i = 20; i < 40; i++)
        insert_untimed(f, i * 50, 50);
    cut(f);
    check_untimed(f, 2000);
    for (int64_t i = 40; i < 50; i++)
        insert_untimed(f, i * 50, 50);
    check_untimed(f, 2500);
    fix_free(f);
}

/* Rows of a table that was emptied or dropped do not come back. */
static void what_was_removed_stays_away(void **state)
{
    (void)state;
    fixture *f = new_fixture(6, false);
    for (int i = 0; i < 10; i++)
        fix_insert(f, 20, 0, DAY);
    assert_int_equal(alm_table_truncate(&f->cx, f->st, ALM_STR("t")), ALM_OK);
    f->n = 0;
    for (int i = 0; i < 10; i++)
        fix_insert(f, 20, 0, DAY);
    cut(f);
    fix_check(f);
    assert_int_equal(alm_table_drop(&f->cx, f->st, ALM_STR("t"), NULL), ALM_OK);
    cut(f);
    alm_snapshot *snap = fix_snapshot(f);
    assert_null(alm_snapshot_find(snap, ALM_STR("t")));
    alm_snapshot_release(snap);
    fix_free(f);
}

int main(void)
{
    alm_log_set_level(ALM_LOG_OFF);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_rows_cost_the_same),
        cmocka_unit_test(rows_of_large_records_are_copied_once),
        cmocka_unit_test(large_and_small_records_by_turns),
        cmocka_unit_test(a_log_of_many_segments),
        cmocka_unit_test(a_head_of_many_chunks),
        cmocka_unit_test(of_equal_keys_the_last_stays),
        cmocka_unit_test(beside_other_changes),
        cmocka_unit_test(of_equal_time_the_last_comes_last),
        cmocka_unit_test(without_times),
        cmocka_unit_test(what_was_removed_stays_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
