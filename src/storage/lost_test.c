/*
 * Goal: bytes of a file that cannot be read any more, though they are in memory, hurt their part alone. What was read meanwhile to
 * be written is not written; reads of the part fail and name it; everything else goes on. Method: on the simulated disk maps become
 * zeros while changes of every kind are under way.
 */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "storage/part/part.h"
#include "storage/recover/recover.h"
#include "storage/state.h"
#include "storage/table_fixture.h"
#include "storage/write/alter.h"

/* A file that none of the changes reads: which ones were read is not looked at. */
static void lose_another(fixture *f)
{
    const alm_io *io = alm_sim_io(f->sim);
    const int fd = io->open(io, "/r/another", ALM_IO_WRITE | ALM_IO_CREATE);
    alm_io_map *map = NULL;
    assert_true(fd >= 0);
    assert_int_equal(io->write(io, fd, "bytes", 5, 0), 5);
    (void)io->close(io, fd);
    assert_int_equal(io->map_file(io, "/r/another", &map), 0);
    const int64_t before = io->map_faults(io);
    assert_true(alm_sim_lose(f->sim, "/r/another"));
    assert_int_equal(io->map_faults(io), before + 1);
    assert_int_equal(io->use_map(io, map), -EIO);
    io->unmap_file(io, map);
}

static void is_refused(fixture *f, alm_status status)
{
    assert_int_equal(status, ALM_E_IO);
    assert_non_null(strstr(f->cx.err.msg, "nothing was changed"));
    alm_error_clear(&f->cx);
}

static bool is_read_only(fixture *f)
{
    alm_storage_stats stats;
    alm_storage_stats_get(f->st, &stats);
    return stats.read_only;
}

/* Sets x of the first row; the fault comes when the values are there. */
static alm_status update_first(fixture *f, bool fault)
{
    const uint32_t col = COL_X;
    const int64_t row = 0;
    double x = 77;
    const alm_vec value = {.type = ALM_TY(DOUBLE), .width = 8, .data = &x};
    alm_update *up = NULL;
    int64_t rows = 0;
    assert_int_equal(alm_update_begin(&f->cx, f->st, NULL, ALM_STR("t"), &col, 1, &up), ALM_OK);
    assert_int_equal(alm_update_rows(&f->cx, up, 0, &row, 1, &value), ALM_OK);
    if (fault)
        lose_another(f);
    return alm_update_commit(&f->cx, up, &rows);
}

static void an_update(void **state)
{
    (void)state;
    fixture *f = fix_new_manual(1);
    fix_load(f, 300, 0, DAY);
    fix_check(f);
    is_refused(f, update_first(f, true));
    fix_check(f);
    assert_int_equal(update_first(f, false), ALM_OK); /* the next one has read what is there */
    fix_sort(f);
    f->rows[0].x = 77;
    fix_check(f);
    fix_free(f);
}

static void a_load(void **state)
{
    (void)state;
    fixture *f = fix_new_manual(2);
    fix_load(f, 300, 0, DAY);
    const int64_t n = f->n;
    int64_t rows = 0;
    alm_bulk *bulk = fix_bulk(f);
    const alm_batch batch = fix_batch(f, 100, 0, DAY);
    assert_int_equal(alm_bulk_append(&f->cx, bulk, &batch), ALM_OK);
    lose_another(f);
    is_refused(f, alm_bulk_commit(&f->cx, bulk, &rows));
    f->n = n;
    fix_check(f);
    fix_load(f, 100, 0, DAY);
    fix_check(f);
    fix_free(f);
}

/* Rows of a statement that reads; then rows that were there before. */
static void rows_of_a_transaction(void **state)
{
    (void)state;
    fixture *f = fix_new_manual(3);
    fix_load(f, 300, 0, DAY);
    for (int reads = 1; reads >= 0; reads--) {
        const int64_t n = f->n;
        alm_txn *txn = NULL;
        const uint64_t before = reads ? alm_rewrite_begin(&f->cx, f->st) : 0;
        alm_snapshot *snap = fix_snapshot(f);
        const alm_batch batch = fix_batch(f, 100, 0, DAY);
        assert_int_equal(alm_txn_begin(&f->cx, f->st, &txn), ALM_OK);
        assert_int_equal(alm_txn_append(&f->cx, txn, fix_table(snap), &batch), ALM_OK);
        lose_another(f);
        const alm_status status = alm_txn_commit(&f->cx, txn, NULL);
        if (reads) {
            is_refused(f, status);
            alm_rewrite_end(&f->cx, before);
            f->n = n;
        } else {
            assert_int_equal(status, ALM_OK);
        }
        alm_snapshot_release(snap);
        fix_check(f);
    }
    fix_free(f);
}

/* Timestamps of all rows. */
static alm_status read_all(fixture *f)
{
    alm_snapshot *snap = fix_snapshot(f);
    alm_scan *scan = NULL;
    const uint32_t col = COL_ID;
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    alm_scan_cursor *cur = NULL;
    alm_status st = alm_scan_new(&f->cx, &arena, snap, fix_table(snap),
                                 &(alm_scan_spec){.cols = &col, .n_cols = 1, .all = true}, &scan);
    if (st == ALM_OK)
        st = alm_scan_cursor_new(&f->cx, &arena, scan, &cur);
    for (size_t i = 0; st == ALM_OK && i < alm_scan_span_count(scan); i++) {
        alm_vec v;
        st = alm_scan_read(&f->cx, cur, i, 0, 1, NULL, &v);
    }
    alm_arena_deinit(&arena);
    alm_snapshot_release(snap);
    return st;
}

static void names_the_part(fixture *f, alm_status status, const char *path)
{
    assert_int_equal(status, ALM_E_CORRUPT);
    assert_non_null(strstr(f->cx.err.msg, path));
    assert_non_null(strstr(f->cx.err.msg, "table 't'"));
    alm_error_clear(&f->cx);
}

static void one_part(void **state)
{
    (void)state;
    fixture *f = fix_new_manual(4);
    char path[ALM_PATH_MAX];
    alm_damaged *list = NULL;
    size_t n = 0;
    fix_load(f, 300, 0, DAY);
    fix_load(f, 300, 0, DAY); /* squash would merge the two */
    fix_load(f, 300, 3 * DAY, DAY);
    fix_check(f);
    alm_snapshot *snap = fix_snapshot(f);
    alm_file_path(alm_version_of(fix_table(snap))->parts->parts[0]->file, path, sizeof path);
    alm_snapshot_release(snap);
    assert_true(alm_sim_lose(f->sim, path));
    names_the_part(f, read_all(f), path);
    names_the_part(f, fix_squash(f), path);
    assert_int_equal(alm_storage_damage(&f->cx, &f->arena, f->st, &list, &n), ALM_OK);
    assert_int_equal(n, 1);
    assert_false(is_read_only(f));
    fix_insert(f, 100, 5 * DAY, DAY);
    fix_load(f, 100, 5 * DAY, DAY);
    assert_int_equal(alm_checkpoint(&f->cx, f->st, 0), ALM_OK);
    assert_false(is_read_only(f));
    names_the_part(f, read_all(f), path);
    fix_reopen(f); /* here the file itself is sound */
    fix_check(f);
    fix_free(f);
}

int main(void)
{
    alm_log_set_level(ALM_LOG_OFF);
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_update), cmocka_unit_test(a_load),
                                       cmocka_unit_test(rows_of_a_transaction),
                                       cmocka_unit_test(one_part)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
