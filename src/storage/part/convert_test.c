/*
 * Goal    CONVERT PARTITION changes the files and not one row, and everything that can happen to a partition
 *         happens to one in Parquet: late rows, DEDUP, UPDATE, DELETE, columns that come, go and change,
 *         partitions that are dropped or detached, restarts, backups, checks.
 * Method  Random histories on the simulated disk, compared with the oracle of the fixture after each step;
 *         memory for decoded columns from plenty to none.
 */
#include <pthread.h>
#include <string.h>

#include "storage/part/part.h"
#include "storage/state.h"
#include "storage/table_fixture.h"

/* How many parts are Parquet; *others: how many are not. */
static uint32_t parquet_parts(fixture *f, uint32_t *others)
{
    alm_snapshot *snap = fix_snapshot(f);
    const alm_part_set *set = alm_version_of(fix_table(snap))->parts;
    uint32_t n = 0;
    *others = set->n;
    for (uint32_t i = 0; i < set->n; i++)
        n += alm_part_ref_is_parquet(set->parts[i]);
    *others -= n;
    alm_snapshot_release(snap);
    return n;
}

static void convert_all(fixture *f, bool parquet)
{
    fix_convert(f, parquet, 1, 0);
}

/* ------------------------------------------------------------------------- tests */

static void rows_stay(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        uint32_t others = 0;
        fixture *f = fix_new(seed, seed % 2 == 0, true);
        f->conf.part_rows_max = seed < 4 ? 1000 : 100000;
        fix_reopen(f);
        fix_load(f, 3000, 0, 3 * DAY);
        fix_insert(f, 500, 0, seed < 4 ? 3 * DAY : 5000);
        convert_all(f, true);
        assert_true(parquet_parts(f, &others) >= 3);
        assert_int_equal(others, 0);
        fix_check(f);
        fix_reopen(f);
        fix_check(f);
        fix_convert(f, false, 2, 0);
        assert_true(parquet_parts(f, &others) > 0);
        assert_true(others > 0);
        fix_check(f);
        convert_all(f, false);
        assert_int_equal(parquet_parts(f, &others), 0);
        fix_check(f);
        fix_reopen(f);
        fix_check(f);
        fix_free(f);
    }
}

static void late_rows_join(void **state)
{
    (void)state;
    for (uint64_t seed = 11; seed <= 14; seed++) {
        uint32_t others = 0;
        fixture *f = fix_new(seed, seed % 2 == 0, true);
        fix_load(f, 4000, 0, 2 * DAY);
        convert_all(f, true);
        for (int i = 0; i < 6; i++) {
            fix_insert(f, 60, 0, 2 * DAY);
            assert_int_equal(alm_storage_checkpoint(&f->cx, f->st), ALM_OK);
            fix_check(f);
        }
        fix_load(f, 1500, 0, 2 * DAY);
        for (int i = 0; i < 50 && fix_compact(f); i++)
            fix_check(f);
        assert_true(parquet_parts(f, &others) > 0);
        assert_int_equal(others, 0); /* merged as Parquet */
        fix_reopen(f);
        fix_check(f);
        convert_all(f, true); /* what is settled stays: nothing is written */
        const int64_t written = alm_counted(&alm_storage_counters_of(f->st)->rows_written);
        convert_all(f, true);
        assert_int_equal(alm_counted(&alm_storage_counters_of(f->st)->rows_written), written);
        fix_check(f);
        fix_free(f);
    }
}

/* x of every fifth row of each span, or those rows go. */
static void change_fifths(fixture *f, bool goes)
{
    const uint32_t col = COL_X;
    alm_update *up = NULL;
    assert_int_equal(goes ? alm_delete_begin(&f->cx, f->st, NULL, ALM_STR("t"), &up)
                          : alm_update_begin(&f->cx, f->st, NULL, ALM_STR("t"), &col, 1, &up),
                     ALM_OK);
    alm_snapshot *snap = alm_update_snapshot(up);
    alm_arena arena;
    alm_scan *scan = NULL;
    alm_arena_init(&arena, NULL);
    assert_int_equal(alm_scan_new(&f->cx, &arena, snap, fix_table(snap),
                                  &(alm_scan_spec){.cols = &col, .n_cols = 1, .all = true}, &scan),
                     ALM_OK);
    fix_sort(f);
    int64_t at = 0, rows = 0, kept = 0;
    for (size_t i = 0; i < alm_scan_span_count(scan); i++) {
        const int64_t n = alm_scan_span_at(scan, i).rows;
        for (int64_t row = 0; row < n; row++, at++) {
            const double x = (double)row / 3 - 7;
            const alm_vec value = {.type = ALM_TY(DOUBLE),
                                   .width = 8,
                                   .is_const = true,
                                   .data = (void *)(uintptr_t)&x};
            if (row % 5 == 2)
                assert_int_equal(alm_update_rows(&f->cx, up, i, &row, 1, goes ? NULL : &value),
                                 ALM_OK);
            if (row % 5 == 2 && goes)
                continue;
            f->rows[kept] = f->rows[at];
            if (row % 5 == 2)
                f->rows[kept].x = x;
            kept++;
        }
    }
    f->n = kept;
    alm_arena_deinit(&arena);
    assert_int_equal(alm_update_commit(&f->cx, up, &rows), ALM_OK);
    assert_string_equal(f->cx.err.msg, "");
}

static void updates_and_deletes_keep_the_format(void **state)
{
    (void)state;
    for (uint64_t seed = 21; seed <= 24; seed++) {
        uint32_t others = 0;
        fixture *f = fix_new(seed, seed % 2 == 0, true);
        f->conf.manual = true;
        fix_reopen(f);
        fix_load(f, 3000, 0, 2 * DAY);
        convert_all(f, true);
        change_fifths(f, false);
        fix_check(f);
        fix_insert(f, 100, 0, 2 * DAY);
        change_fifths(f, true);
        fix_check(f);
        assert_true(parquet_parts(f, &others) > 0);
        fix_reopen(f);
        fix_check(f);
        convert_all(f, true);
        assert_true(parquet_parts(f, &others) > 0);
        assert_int_equal(others, 0);
        change_fifths(f, false);
        fix_check(f);
        convert_all(f, false);
        fix_check(f);
        fix_free(f);
    }
}

/* Rows of a partition, by its start; with *parquet. */
static int64_t rows_of(fixture *f, int64_t start, bool *parquet, bool *detached)
{
    alm_snapshot *snap = fix_snapshot(f);
    alm_partition_info *parts = NULL;
    alm_arena arena;
    size_t n = 0;
    int64_t rows = 0;
    alm_arena_init(&arena, NULL);
    assert_int_equal(alm_table_partitions(&f->cx, &arena, snap, fix_table(snap), &parts, &n),
                     ALM_OK);
    *parquet = *detached = false;
    for (size_t i = 0; i < n; i++) {
        if (parts[i].bucket != start)
            continue;
        rows = parts[i].rows;
        *parquet = parts[i].parquet_bytes > 0;
        *detached = parts[i].detached;
        assert_true(!*parquet || parts[i].parquet_bytes <= parts[i].disk_bytes);
    }
    alm_arena_deinit(&arena);
    alm_snapshot_release(snap);
    return rows;
}

static void move(fixture *f, alm_partition_move what, int64_t start)
{
    alm_snapshot *snap = fix_snapshot(f);
    assert_int_equal(alm_table_move_partitions(&f->cx, f->st, fix_table(snap), what, &start, 1),
                     ALM_OK);
    alm_snapshot_release(snap);
}

static void partitions_come_and_go(void **state)
{
    (void)state;
    bool parquet = false, apart = false;
    fixture *f = fix_new(31, false, true);
    fix_load(f, 2000, 0, 3 * DAY);
    convert_all(f, true);
    const int64_t rows = rows_of(f, DAY, &parquet, &apart);
    assert_true(rows > 0 && parquet && !apart);
    move(f, ALM_PARTITION_DETACH, DAY);
    fix_reopen(f);
    assert_int_equal(rows_of(f, DAY, &parquet, &apart), rows);
    assert_true(parquet && apart);
    move(f, ALM_PARTITION_ATTACH, DAY);
    fix_check(f);
    fix_reopen(f);
    fix_check(f);
    alm_snapshot *snap = fix_snapshot(f);
    const int64_t start = DAY;
    assert_int_equal(alm_table_drop_partitions(&f->cx, f->st, fix_table(snap), &start, 1), ALM_OK);
    alm_snapshot_release(snap);
    int64_t kept = 0;
    for (int64_t i = 0; i < f->n; i++)
        if (f->rows[i].ts < DAY || f->rows[i].ts >= 2 * DAY)
            f->rows[kept++] = f->rows[i];
    assert_int_equal(f->n - kept, rows);
    f->n = kept;
    fix_check(f);
    assert_int_equal(alm_table_truncate(&f->cx, f->st, ALM_STR("t")), ALM_OK);
    f->n = 0;
    fix_check(f);
    fix_load(f, 200, 0, 3 * DAY);
    fix_check(f);
    fix_free(f);
}

/* Files go when the last snapshot does, and a table that is dropped leaves nothing. */
static void files_go(void **state)
{
    (void)state;
    fixture *f = fix_new(41, false, true);
    f->conf.manual = true;
    fix_reopen(f);
    fix_load(f, 1500, 0, DAY);
    fix_sort(f);
    convert_all(f, true);
    alm_snapshot *snap = fix_snapshot(f);
    const int64_t before = fix_files(f, "/r/db/tables/1");
    convert_all(f, false);
    assert_true(fix_files(f, "/r/db/tables/1") > before);
    fix_check_rows(f, snap, f->rows, f->n); /* from the Parquet files */
    alm_snapshot_release(snap);
    assert_int_equal(fix_files(f, "/r/db/tables/1"), before);
    fix_check(f);
    fix_free(f);
}

static void no_finding(void *arg, const char *line)
{
    (void)arg;
    if (strncmp(line, "note:", 5) != 0)
        print_message("%s\n", line);
}

static void checks_find_what_is_wrong(void **state)
{
    (void)state;
    int64_t n = 0;
    fixture *f = fix_new(51, false, true);
    const alm_io *io = alm_sim_io(f->sim);
    fix_load(f, 1500, 0, DAY);
    convert_all(f, true);
    alm_snapshot *snap = fix_snapshot(f);
    char path[ALM_PATH_MAX];
    alm_file_path(alm_version_of(fix_table(snap))->parts->parts[0]->file, path, sizeof path);
    alm_snapshot_release(snap);
    alm_storage_close(f->st);
    assert_int_equal(alm_storage_check(&f->cx, io, "/r", no_finding, NULL, &n), ALM_OK);
    assert_int_equal(n, 0);
    const int stray = io->open(io, "/r/db/tables/1/00000000000000ff.parquet",
                               ALM_IO_READ | ALM_IO_WRITE | ALM_IO_CREATE);
    (void)io->close(io, stray); /* a crash before the record */
    assert_int_equal(alm_storage_repair(&f->cx, io, "/r", no_finding, NULL, &n), ALM_OK);
    alm_io_stat meta;
    assert_true(io->stat(io, "/r/db/tables/1/00000000000000ff.parquet", &meta) < 0);
    assert_int_equal(io->stat(io, path, &meta), 0);
    const int h = io->open(io, path, ALM_IO_READ | ALM_IO_WRITE);
    uint8_t byte = 0;
    assert_int_equal(io->read(io, h, &byte, 1, 300), 1);
    byte ^= 16;
    assert_int_equal(io->write(io, h, &byte, 1, 300), 1);
    assert_int_equal(alm_storage_check(&f->cx, io, "/r", no_finding, NULL, &n), ALM_OK);
    assert_true(n > 0);
    byte ^= 16;
    assert_int_equal(io->write(io, h, &byte, 1, 300), 1);
    (void)io->close(io, h);
    fix_open(f);
    fix_check(f);
    fix_free(f);
}

static void backups_have_them(void **state)
{
    (void)state;
    fixture *f = fix_new(61, false, true);
    fix_load(f, 1500, 0, 2 * DAY);
    fix_convert(f, true, 2, 0);
    const alm_backup_spec spec = {.dir = "/bk"};
    alm_backup_result done;
    assert_int_equal(alm_storage_backup(&f->cx, f->st, &spec, &done), ALM_OK);
    const int64_t files = done.files_copied;
    assert_true(files >= 3);
    assert_int_equal(alm_storage_backup(&f->cx, f->st, &spec, &done), ALM_OK);
    assert_true(done.files_copied < files); /* the parts are there */
    int64_t n = 0;
    assert_int_equal(
        alm_backup_check(&f->cx, alm_sim_io(f->sim), "/bk", false, no_finding, NULL, &n), ALM_OK);
    assert_int_equal(n, 0);
    assert_int_equal(alm_sim_io(f->sim)->mkdir(alm_sim_io(f->sim), "/r2"), 0);
    const alm_restore_spec back = {.dir = "/bk", .root = "/r2"};
    alm_restore_result result;
    assert_int_equal(alm_backup_restore(&f->cx, alm_sim_io(f->sim), &back, &result), ALM_OK);
    alm_storage *first = f->st;
    assert_int_equal(alm_storage_open(&f->cx, alm_sim_io(f->sim), "/r2", &f->conf, &f->st), ALM_OK);
    fix_check(f);
    alm_storage_close(f->st);
    f->st = first;
    fix_check(f);
    fix_free(f);
}

/* Reading all of a table with hardly any memory for what is decoded, or with none of disk either. */
static void little_memory(void **state)
{
    (void)state;
    const int64_t limits[] = {1, 20000, 200000, 10000000};
    for (size_t i = 0; i < ALM_COUNT(limits); i++) {
        fixture *f = fix_new(71 + i, i % 2 == 0, true);
        f->conf.decoded_bytes_max = limits[i];
        f->conf.part_rows_max = 100000;
        fix_reopen(f);
        fix_load(f, 6000, 0, 2 * DAY);
        fix_insert(f, 300, 0, 2 * DAY);
        convert_all(f, true);
        fix_check(f);
        change_fifths(f, true);
        fix_check(f);
        convert_all(f, false);
        fix_check(f);
        fix_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_stay),
        cmocka_unit_test(late_rows_join),
        cmocka_unit_test(updates_and_deletes_keep_the_format),
        cmocka_unit_test(partitions_come_and_go),
        cmocka_unit_test(files_go),
        cmocka_unit_test(checks_find_what_is_wrong),
        cmocka_unit_test(backups_have_them),
        cmocka_unit_test(little_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
