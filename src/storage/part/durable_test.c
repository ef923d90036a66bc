/*
 * Goal    What makes many files costs few syncs, whatever makes them; a sync that failed is not believed later; a record
 *         never names a file that is not durable.
 * Method  Changes of many partitions and tables on the simulated disk, which counts the syncs, with and without a sync of
 *         the whole file system, and power cuts behind them.
 */
#include <errno.h>

#include "base/log.h"
#include "storage/table_fixture.h"
#include "storage/write/commit.h"

enum { MANY = 100 };

static int64_t syncs(const fixture *f)
{
    const alm_io *io = alm_sim_io(f->sim);
    return io->sync_count(io);
}

/* A row in each of `n` partitions, in parts. */
static void make_partitions(fixture *f, int n)
{
    alm_snapshot *snap = fix_snapshot(f);
    alm_txn *txn = NULL;
    uint64_t lsn = 0;
    assert_int_equal(alm_txn_begin(&f->cx, f->st, &txn), ALM_OK);
    for (int i = 0; i < n; i++) {
        const alm_batch batch = fix_batch(f, 1, i * DAY, 1);
        assert_int_equal(alm_txn_append(&f->cx, txn, fix_table(snap), &batch), ALM_OK);
    }
    assert_int_equal(alm_txn_commit(&f->cx, txn, &lsn), ALM_OK);
    alm_snapshot_release(snap);
    alm_arena_reset(&f->arena);
    assert_int_equal(alm_storage_checkpoint(&f->cx, f->st), ALM_OK);
}

/* Every row gets this x, by an UPDATE; the oracle learns it if it succeeds. */
static alm_status update_all(fixture *f, double x)
{
    const uint32_t col = COL_X;
    alm_update *up = NULL;
    alm_scan *scan = NULL;
    int64_t rows = 0;
    assert_int_equal(alm_update_begin(&f->cx, f->st, NULL, ALM_STR("t"), &col, 1, &up), ALM_OK);
    alm_snapshot *snap = alm_update_snapshot(up);
    assert_int_equal(alm_scan_new(&f->cx, &f->arena, snap, fix_table(snap),
                                  &(alm_scan_spec){.cols = &col, .n_cols = 1, .all = true}, &scan),
                     ALM_OK);
    for (size_t i = 0; i < alm_scan_span_count(scan); i++) {
        const alm_vec value = {.type = ALM_TY(DOUBLE), .width = 8, .is_const = true, .data = &x};
        for (int64_t row = 0; row < alm_scan_span_at(scan, i).rows; row++)
            assert_int_equal(alm_update_rows(&f->cx, up, i, &row, 1, &value), ALM_OK);
    }
    const alm_status st = alm_update_commit(&f->cx, up, &rows);
    for (int64_t i = 0; i < f->n && st == ALM_OK; i++)
        f->rows[i].x = x;
    alm_arena_reset(&f->arena);
    return st;
}

/* The power goes, and comes back. */
static void cut(fixture *f)
{
    alm_sim_cut_after(f->sim, 1);
    alm_storage_close(f->st);
    alm_sim_restart(f->sim);
    fix_open(f);
}

static void partitions_share_syncs(void **state)
{
    (void)state;
    fixture *f = fix_new_manual(1);
    make_partitions(f, MANY);
    int64_t before = syncs(f);
    assert_int_equal(update_all(f, 7), ALM_OK);
    assert_in_range(syncs(f) - before, 2, MANY / 10);
    before = syncs(f);
    fix_load(f, MANY, 0, MANY * DAY);
    assert_in_range(syncs(f) - before, 2, MANY / 10);
    before = syncs(f);
    make_partitions(f, MANY); /* the flush */
    assert_in_range(syncs(f) - before, 2, MANY / 10);
    cut(f);
    fix_check(f);
    fix_free(f);
}

/* Where the file system has no sync of the whole: one for each file, the directory once. */
static void one_by_one(void **state)
{
    (void)state;
    for (int without = 0; without < 2; without++) {
        fixture *f = fix_new_manual(2);
        make_partitions(f, MANY);
        alm_storage_close(f->st);
        if (without)
            alm_sim_without_sync_all(f->sim, true);
        else
            f->conf.sync_files_max = 0;
        fix_open(f);
        const int64_t before = syncs(f);
        assert_int_equal(update_all(f, 7), ALM_OK);
        assert_int_equal(syncs(f) - before, MANY + 2); /* the directory, the log */
        cut(f);
        fix_check(f);
        fix_free(f);
    }
}

static void few_files_do_not_sync_the_file_system(void **state)
{
    (void)state;
    fixture *f = fix_new_manual(3);
    make_partitions(f, 10);
    assert_int_equal(update_all(f, 7), ALM_OK);
    assert_int_equal(alm_sim_calls(f->sim, ALM_SIM_SYNC_ALL), 0);
    cut(f);
    fix_check(f);
    fix_free(f);
}

/* ----------------------------------------------------------------------------- tables */

static void table_name(int i, char *name, size_t size)
{
    (void)snprintf(name, size, "many%d", i);
}

static void make_tables(fixture *f, int n)
{
    char names[MANY][16];
    alm_column cols[COLS];
    alm_table_spec specs[MANY];
    alm_table_edit edits[MANY];
    fix_columns(cols, false);
    for (int i = 0; i < n; i++) {
        table_name(i, names[i], sizeof names[i]);
        specs[i] = fix_spec(f, cols);
        specs[i].name = alm_str_of(names[i]);
        edits[i] = (alm_table_edit){.create = &specs[i]};
    }
    assert_int_equal(alm_tables_edit(&f->cx, f->st, edits, (uint32_t)n), ALM_OK);
    for (int i = 0; i < n; i++)
        assert_int_equal(edits[i].err.code, ALM_OK);
}

/* A row with a symbol into each of the tables, in one transaction. */
static void fill_tables(fixture *f, int n)
{
    alm_snapshot *snap = fix_snapshot(f);
    alm_txn *txn = NULL;
    uint64_t lsn = 0;
    const int64_t rows = f->n;
    assert_int_equal(alm_txn_begin(&f->cx, f->st, &txn), ALM_OK);
    for (int i = 0; i < n; i++) {
        char name[16];
        table_name(i, name, sizeof name);
        alm_batch batch = fix_batch(f, 1, 0, DAY);
        alm_view sym = fix_symbol(f, 1);
        ((alm_vec *)batch.cols)[COL_SYM].data = &sym;
        assert_int_equal(
            alm_txn_append(&f->cx, txn, alm_snapshot_find(snap, alm_str_of(name)), &batch), ALM_OK);
    }
    assert_int_equal(alm_txn_commit(&f->cx, txn, &lsn), ALM_OK);
    alm_snapshot_release(snap);
    alm_arena_reset(&f->arena);
    f->n = rows; /* they are not of the fixture's table */
}

static int64_t rows_of(const alm_table *table)
{
    const alm_version *v = alm_version_of(table);
    return v->parts->rows + v->head_rows;
}

static void check_tables(fixture *f, int n, int64_t rows)
{
    alm_snapshot *snap = fix_snapshot(f);
    for (int i = 0; i < n; i++) {
        char name[16];
        table_name(i, name, sizeof name);
        const alm_table *table = alm_snapshot_find(snap, alm_str_of(name));
        assert_non_null(table);
        assert_int_equal(rows_of(table), rows);
    }
    alm_snapshot_release(snap);
}

static void tables_share_syncs(void **state)
{
    (void)state;
    fixture *f = fix_new_manual(4);
    f->conf.wal_segment_bytes = 1 << 20;
    alm_storage_close(f->st);
    fix_open(f);
    int64_t before = syncs(f);
    make_tables(f, MANY);
    assert_in_range(syncs(f) - before, 1, MANY / 10);
    before = syncs(f);
    fill_tables(f, MANY);
    assert_in_range(syncs(f) - before, 1, MANY / 10);
    before = syncs(f);
    assert_int_equal(alm_storage_checkpoint(&f->cx, f->st), ALM_OK); /* heads, dictionaries */
    assert_in_range(syncs(f) - before, 2, MANY / 10);
    cut(f);
    check_tables(f, MANY, 1);
    fill_tables(f, MANY);
    assert_int_equal(alm_storage_checkpoint(&f->cx, f->st), ALM_OK); /* dictionaries that were */
    cut(f);
    check_tables(f, MANY, 2);
    fix_free(f);
}

/* Each has an outcome of its own. */
static void edits_fail_one_by_one(void **state)
{
    (void)state;
    fixture *f = fix_new_manual(5);
    alm_column cols[COLS];
    const alm_column more = {.name = "more", .type = ALM_TY(LONG)};
    const alm_column bad = {.name = "", .type = ALM_TY(LONG)};
    fix_columns(cols, false);
    alm_table_spec there = fix_spec(f, cols), fresh = fix_spec(f, cols);
    fresh.name = ALM_STR("fresh");
    alm_table_edit edits[] = {
        {.create = &there},
        {.create = &fresh},
        {.table = ALM_STR("t"), .col = &more},
        {.table = ALM_STR("t"), .col = &more},
        {.table = ALM_STR("fresh"), .col = &more}, /* made before, in the group */
        {.table = ALM_STR("t"), .col = &bad},
        {.table = ALM_STR("nowhere"), .col = &more}};
    const alm_status codes[] = {ALM_E_EXISTS, ALM_OK,      ALM_OK,     ALM_E_DUPLICATE,
                                ALM_OK,       ALM_E_LIMIT, ALM_E_TABLE};
    assert_int_equal(alm_tables_edit(&f->cx, f->st, edits, ALM_COUNT(edits)), ALM_OK);
    for (size_t i = 0; i < ALM_COUNT(edits); i++)
        assert_int_equal(edits[i].err.code, codes[i]);
    assert_int_equal(f->cx.err.code, ALM_OK);
    cut(f);
    alm_snapshot *snap = fix_snapshot(f);
    assert_int_equal(fix_table(snap)->n_cols, COLS + 1);
    assert_int_equal(alm_snapshot_find(snap, ALM_STR("fresh"))->n_cols, COLS + 1);
    alm_snapshot_release(snap);
    fix_free(f);
}

/* The sync of a batch fails: every table is flushed alone later, so that one bad file stops no other. */
static void a_batch_that_failed_is_flushed_table_by_table(void **state)
{
    (void)state;
    fixture *f = fix_new_manual(6);
    make_tables(f, MANY);
    fill_tables(f, MANY);
    alm_sim_fail(f->sim, ALM_SIM_SYNC_ALL, 1, EIO, 1);
    assert_int_equal(alm_storage_checkpoint(&f->cx, f->st), ALM_OK); /* the log has the rows */
    assert_int_equal(alm_sim_failed(f->sim), 1);
    check_tables(f, MANY, 1);
    cut(f);
    check_tables(f, MANY, 1);
    assert_int_equal(alm_storage_checkpoint(&f->cx, f->st), ALM_OK);
    cut(f);
    check_tables(f, MANY, 1);
    fix_free(f);
}

/* ----------------------------------------------------------------------------- errors */

static void a_failed_group_changes_nothing(void **state)
{
    (void)state;
    fixture *f = fix_new_manual(7);
    make_partitions(f, MANY);
    alm_sim_fail(f->sim, ALM_SIM_SYNC_ALL, 1, EIO, 1);
    assert_int_equal(update_all(f, 7), ALM_E_IO);
    assert_non_null(strstr(f->cx.err.msg, "sync the file system"));
    alm_error_clear(&f->cx);
    fix_check(f);
    assert_int_equal(update_all(f, 8), ALM_OK); /* of other files */
    cut(f);
    fix_check(f);
    fix_free(f);
}

/* The error of one call is the loss of every file that was begun before: it may have been any of them. */
static void an_error_is_told_to_all(void **state)
{
    (void)state;
    fixture *f = fix_new_manual(8);
    const alm_io *io = alm_sim_io(f->sim);
    alm_unsynced files[2 * MANY], *first[MANY], *second[MANY], later;
    char path[64];
    for (int i = 0; i < 2 * MANY; i++) {
        assert_int_equal(alm_unsynced_begin(&f->cx, f->st, 1, &files[i]), ALM_OK);
        (void)snprintf(path, sizeof path, "/r/db/tables/1/%d", i);
        const int handle = io->open(io, path, ALM_IO_WRITE | ALM_IO_CREATE);
        assert_int_equal(io->write(io, handle, path, sizeof path, 0), sizeof path);
        assert_int_equal(alm_unsynced_written(&f->cx, f->st, &files[i], handle, sizeof path, path),
                         ALM_OK);
        *(i < MANY ? &first[i] : &second[i - MANY]) = &files[i];
    }
    alm_sim_fail(f->sim, ALM_SIM_SYNC_ALL, 1, EIO, 1);
    assert_int_equal(alm_unsynced_sync(&f->cx, f->st, first, MANY), ALM_E_IO);
    alm_error_clear(&f->cx);
    assert_int_equal(alm_unsynced_sync(&f->cx, f->st, second, MANY), ALM_E_IO);
    assert_non_null(strstr(f->cx.err.msg, "an earlier sync failed"));
    alm_error_clear(&f->cx);
    assert_int_equal(alm_unsynced_sync(&f->cx, f->st, second, 1), ALM_E_IO); /* and stays so */
    alm_error_clear(&f->cx);
    assert_int_equal(alm_unsynced_begin(&f->cx, f->st, 1, &later), ALM_OK);
    const int handle = io->open(io, "/r/db/tables/1/later", ALM_IO_WRITE | ALM_IO_CREATE);
    assert_int_equal(alm_unsynced_written(&f->cx, f->st, &later, handle, 0, "later"), ALM_OK);
    alm_unsynced *one = &later;
    assert_int_equal(alm_unsynced_sync(&f->cx, f->st, &one, 1), ALM_OK);
    for (int i = 0; i < 2 * MANY; i++)
        alm_unsynced_drop(f->st, &files[i]);
    fix_free(f);
}

int main(void)
{
    alm_log_set_level(ALM_LOG_OFF);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partitions_share_syncs),
        cmocka_unit_test(one_by_one),
        cmocka_unit_test(few_files_do_not_sync_the_file_system),
        cmocka_unit_test(tables_share_syncs),
        cmocka_unit_test(edits_fail_one_by_one),
        cmocka_unit_test(a_batch_that_failed_is_flushed_table_by_table),
        cmocka_unit_test(a_failed_group_changes_nothing),
        cmocka_unit_test(an_error_is_told_to_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
