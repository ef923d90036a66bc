/*
 * Goal    Small parts of one flush or load share a file, and nobody can tell but by the disk: rows come back, changes, merges
 *         and restarts find them, damage of one part is damage of this part alone, and the file goes with its last part.
 * Method  A table of 20 partitions of a few rows on the simulated disk; its files are counted after each change.
 */
#include <string.h>

#include "base/log.h"
#include "storage/backup/backup.h"
#include "storage/check/scrub.h"
#include "storage/part/pack.h"
#include "storage/recover/recover.h"
#include "storage/state.h"
#include "storage/table_fixture.h"
#include "storage/write/bulk.h"

enum { DAYS = 20, ROWS = 300 };

typedef struct counting {
    const char *end;
    int64_t n;
} counting;

static int count_file(void *arg, const char *name)
{
    counting *c = arg;
    const size_t n = strlen(name), m = strlen(c->end);
    c->n += n > m && strcmp(name + n - m, c->end) == 0;
    return 0;
}

/* Files of the table with such a name. */
static int64_t files(fixture *f, const char *root, const char *end)
{
    char dir[64];
    counting c = {.end = end};
    (void)snprintf(dir, sizeof dir, "%s/db/tables/1", root);
    const alm_io *io = alm_sim_io(f->sim);
    return io->list(io, dir, count_file, &c) < 0 ? 0 : c.n;
}

static fixture *start(uint64_t seed)
{
    fixture *f = fix_new_manual(seed);
    alm_storage_close(f->st);
    f->conf.shared_parts_min = 4;
    fix_open(f);
    return f;
}

static void has_files(fixture *f, int64_t packs, int64_t parts)
{
    assert_int_equal(files(f, "/r", ".pack"), packs);
    assert_int_equal(files(f, "/r", ".part"), parts);
}

static int64_t findings_of(fixture *f, const char *root)
{
    int64_t n = -1;
    assert_int_equal(alm_storage_check(&f->cx, alm_sim_io(f->sim), root, NULL, NULL, &n), ALM_OK);
    return n;
}

/* What changes rows puts those in memory into parts first. */
static void to_parts(fixture *f)
{
    alm_update *up = NULL;
    assert_int_equal(alm_delete_begin(&f->cx, f->st, NULL, ALM_STR("t"), &up), ALM_OK);
    alm_update_rollback(up);
}

static void loads_and_flushes_share(void **state)
{
    (void)state;
    fixture *f = start(1);
    fix_load(f, ROWS, 0, DAYS * DAY);
    has_files(f, 1, 0);
    fix_insert(f, ROWS, 0, DAYS * DAY);
    to_parts(f);
    has_files(f, 2, 0);
    fix_check(f);
    fix_reopen(f);
    fix_check(f);
    alm_storage_close(f->st);
    assert_int_equal(findings_of(f, "/r"), 0);
    fix_open(f);
    alm_sweep(f->st, UINT64_MAX); /* it is no orphan */
    has_files(f, 2, 0);
    fix_free(f);
}

static void few_or_large_parts_do_not(void **state)
{
    (void)state;
    fixture *f = start(2);
    fix_load(f, 60, 0, 3 * DAY);
    has_files(f, 0, 3);
    fix_load(f, 60, 4 * DAY, 4 * DAY);
    has_files(f, 1, 3);
    alm_storage_close(f->st);
    f->conf.shared_part_bytes_max = 4000; /* 50 rows of 44 bytes and 5 columns of 112 */
    fix_open(f);
    fix_load(f, 4000, 10 * DAY, 4 * DAY);
    assert_int_equal(files(f, "/r", ".pack"), 1);
    alm_storage_close(f->st);
    f->conf.shared_part_bytes_max = 0;
    fix_open(f);
    fix_load(f, 60, 20 * DAY, 10 * DAY);
    assert_int_equal(files(f, "/r", ".pack"), 1);
    fix_check(f);
    fix_free(f);
}

static void what_is_given_up_leaves_nothing(void **state)
{
    (void)state;
    fixture *f = start(3);
    alm_bulk *bulk = fix_bulk(f);
    alm_part_ref *const *parts = NULL;
    uint32_t n = 0;
    const alm_batch batch = fix_batch(f, ROWS, 0, DAYS * DAY);
    assert_int_equal(alm_bulk_append(&f->cx, bulk, &batch), ALM_OK);
    assert_int_equal(alm_bulk_parts(&f->cx, bulk, &parts, &n), ALM_OK);
    assert_int_equal(n, DAYS);
    has_files(f, 1, 0);
    alm_bulk_rollback(bulk);
    has_files(f, 0, 0);
    fix_free(f);
}

static void the_file_goes_with_its_last_part(void **state)
{
    (void)state;
    fixture *f = start(4);
    fix_load(f, ROWS, 0, DAYS * DAY);
    for (int64_t day = 0; day < DAYS; day++) {
        const int64_t bucket = day * DAY;
        has_files(f, 1, 0);
        alm_snapshot *snap = fix_snapshot(f);
        assert_int_equal(alm_table_drop_partitions(&f->cx, f->st, fix_table(snap), &bucket, 1),
                         ALM_OK);
        alm_snapshot_release(snap);
        if (day == DAYS / 2)
            fix_reopen(f); /* the catalogue names the rest of it */
    }
    has_files(f, 0, 0);
    fix_free(f);
}

/* ... which move to a pack when no merge is left, but for that of the partition that is still written. */
static void merges_write_files_of_their_own(void **state)
{
    (void)state;
    fixture *f = start(5);
    fix_load(f, ROWS, 0, DAYS * DAY);
    fix_load(f, ROWS, 0, DAYS * DAY);
    has_files(f, 2, 0);
    for (int64_t day = 0; day < DAYS; day++) {
        assert_true(fix_compact(f));
        fix_check(f);
    }
    has_files(f, 0, DAYS);
    assert_true(fix_compact(f));
    has_files(f, 1, 1);
    fix_check(f);
    assert_false(fix_compact(f));
    fix_reopen(f);
    assert_false(fix_compact(f));
    fix_check(f);
    fix_free(f);
}

/* A day of rows at a time, as a slow source writes them. */
static void lone_parts_gather(void **state)
{
    (void)state;
    fixture *f = start(8);
    for (int64_t day = 0; day < DAYS; day++) {
        fix_insert(f, 7, day * DAY, DAY);
        to_parts(f);
        while (fix_compact(f))
            fix_check(f);
        /* Four wait for the fifth; the last day does not count. */
        has_files(f, day / 4, day % 4 + 1);
    }
    fix_reopen(f);
    fix_check(f);
    /* What comes late is merged to a file of its own, which waits for others again. */
    for (int64_t day = 3; day < 8; day++)
        fix_insert(f, 5, day * DAY, DAY);
    to_parts(f);
    int64_t merges = 0;
    while (fix_compact(f)) {
        merges++;
        fix_check(f);
    }
    assert_int_equal(merges, 5 + 1);
    fix_reopen(f);
    fix_check(f);
    alm_storage_close(f->st);
    assert_int_equal(findings_of(f, "/r"), 0);
    fix_open(f);
    fix_free(f);
}

static void other_parts_stay_where_they_are(void **state)
{
    (void)state;
    fixture *f = start(9);
    for (int64_t day = 0; day < DAYS; day++) {
        fix_insert(f, day % 2 == 0 ? 2000 : 3, day * DAY, DAY);
        to_parts(f);
    }
    fix_convert(f, true, 4, 1); /* Parquet */
    alm_storage_close(f->st);
    f->conf.shared_part_bytes_max = 20000;
    f->conf.shared_parts_min = 6;
    fix_open(f);
    has_files(f, 0, DAYS - DAYS / 4);
    assert_false(
        fix_compact(f)); /* five small ones, for the last day does not count, or is Parquet */
    alm_storage_close(f->st);
    f->conf.shared_parts_min = 4;
    fix_open(f);
    assert_true(fix_compact(f));
    assert_false(fix_compact(f));
    fix_check(f);
    fix_free(f);
}

/* The pack is found after the power failed at any moment, or the files are. */
static void a_move_that_is_cut_off_is_none(void **state)
{
    (void)state;
    bool whole = false;
    for (int64_t nth = 1; !whole; nth++) {
        fixture *f = start((uint64_t)nth);
        bool did = false;
        for (int64_t day = 0; day < 6; day++) {
            fix_insert(f, 4, day * DAY, DAY);
            to_parts(f);
        }
        alm_snapshot *snap = fix_snapshot(f);
        const uint64_t id = fix_table(snap)->id;
        alm_snapshot_release(snap);
        alm_sim_cut_after(f->sim, nth);
        const alm_status st = alm_compact_table(&f->cx, f->st, id, &did);
        whole = !alm_sim_is_dead(f->sim);
        assert_true(st == ALM_OK || !whole);
        assert_true(did || !whole);
        alm_storage_close(f->st);
        alm_sim_restart(f->sim);
        alm_error_clear(&f->cx);
        fix_open(f);
        fix_check(f);
        alm_storage_close(f->st);
        assert_int_equal(findings_of(f, "/r"), 0);
        fix_open(f);
        fix_free(f);
    }
}

static alm_status count_rows(fixture *f, int64_t lo, int64_t hi, int64_t *rows)
{
    const uint32_t col = COL_X;
    const alm_scan_range range = {lo, hi};
    alm_scan *scan = NULL;
    alm_scan_cursor *cur = NULL;
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    alm_snapshot *snap = fix_snapshot(f);
    alm_status st = alm_scan_new(
        &f->cx, &arena, snap, fix_table(snap),
        &(alm_scan_spec){.cols = &col, .n_cols = 1, .ranges = &range, .n_ranges = 1}, &scan);
    *rows = 0;
    if (st == ALM_OK)
        st = alm_scan_cursor_new(&f->cx, &arena, scan, &cur);
    for (size_t i = 0; st == ALM_OK && i < alm_scan_span_count(scan); i++) {
        alm_vec v;
        const uint32_t n = (uint32_t)alm_scan_span_at(scan, i).rows;
        st = alm_scan_read(&f->cx, cur, i, 0, n, NULL, &v);
        *rows += n;
    }
    alm_snapshot_release(snap);
    alm_arena_deinit(&arena);
    return st;
}

static void damage_stays_with_the_part(void **state)
{
    (void)state;
    fixture *f = start(6);
    char path[ALM_PATH_MAX], at[32];
    alm_part_place place;
    bool shared = false;
    int64_t rows = 0, all = 0;
    alm_scrub_result r;
    fix_load(f, ROWS, 0, DAYS * DAY);
    fix_reopen(f);
    alm_snapshot *snap = fix_snapshot(f);
    const alm_part_ref *part = alm_version_of(fix_table(snap))->parts->parts[7];
    const uint64_t id = fix_table(snap)->id;
    alm_file_where(part->file, path, sizeof path, &place, &shared);
    assert_true(shared && place.offset > 0 && place.offset % ALM_PART_PACKED == 0);
    (void)snprintf(at, sizeof at, "@%lld'", (long long)place.offset);
    alm_snapshot_release(snap);
    for (int64_t off = ALM_PART_HEADER; off < place.bytes - 40; off += 97) {
        assert_true(alm_sim_flip(f->sim, path, place.offset + off, 3));
        fix_reopen(f);
        assert_int_equal(count_rows(f, 0, 7 * DAY - 1, &rows), ALM_OK);
        all = rows;
        assert_int_equal(count_rows(f, 8 * DAY, DAYS * DAY, &rows), ALM_OK);
        assert_true(all > 0 && rows > 0 && all + rows < ROWS);
        assert_int_equal(alm_storage_scrub(&f->cx, f->st, id, &r), ALM_OK);
        assert_true(r.damaged <= 1); /* padding has no checksum */
        assert_true(r.damaged == 0 ||
                    (strstr(r.first, path) != NULL && strstr(r.first, at) != NULL));
        alm_storage_close(f->st);
        assert_int_equal(findings_of(f, "/r") > 0, r.damaged > 0);
        assert_true(alm_sim_flip(f->sim, path, place.offset + off, 3));
        fix_open(f);
    }
    fix_check(f);
    /* A file that is cut has lost the parts behind the cut. */
    alm_storage_close(f->st);
    const alm_io *io = alm_sim_io(f->sim);
    const int h = io->open(io, path, ALM_IO_READ | ALM_IO_WRITE);
    assert_int_equal(io->truncate(io, h, place.offset + 10), 0);
    (void)io->close(io, h);
    assert_int_equal(findings_of(f, "/r"), DAYS - 7);
    fix_open(f);
    assert_int_equal(count_rows(f, 0, 7 * DAY - 1, &rows), ALM_OK);
    assert_int_equal(count_rows(f, 8 * DAY, 9 * DAY, &rows), ALM_E_CORRUPT);
    fix_free(f);
}

static void backups_have_files_of_their_own(void **state)
{
    (void)state;
    fixture *f = start(7);
    const alm_backup_spec spec = {.dir = "/b"};
    const alm_restore_spec back = {.dir = "/b", .root = "/n"};
    alm_backup_result b;
    alm_restore_result r;
    alm_storage *st = NULL;
    int64_t findings = -1;
    fix_load(f, ROWS, 0, DAYS * DAY);
    assert_int_equal(alm_storage_backup(&f->cx, f->st, &spec, &b), ALM_OK);
    assert_true(b.files_copied > DAYS);
    assert_int_equal(alm_storage_backup(&f->cx, f->st, &spec, &b), ALM_OK);
    assert_true(b.files_copied <= 2); /* the catalogue, a dictionary */
    assert_int_equal(
        alm_backup_check(&f->cx, alm_sim_io(f->sim), "/b", false, NULL, NULL, &findings), ALM_OK);
    assert_int_equal(findings, 0);
    assert_int_equal(alm_backup_restore(&f->cx, alm_sim_io(f->sim), &back, &r), ALM_OK);
    assert_int_equal(r.rows, ROWS);
    assert_int_equal(files(f, "/n", ".pack"), 0);
    assert_int_equal(files(f, "/n", ".part"), DAYS);
    assert_int_equal(findings_of(f, "/n"), 0);
    assert_int_equal(alm_storage_open(&f->cx, alm_sim_io(f->sim), "/n", &f->conf, &st), ALM_OK);
    fix_check_prefix(f, st, ROWS);
    /* And they go with their parts. */
    alm_snapshot *snap = NULL;
    assert_int_equal(alm_snapshot_acquire(&f->cx, st, &snap), ALM_OK);
    const int64_t bucket = 3 * DAY;
    assert_int_equal(alm_table_drop_partitions(&f->cx, st, fix_table(snap), &bucket, 1), ALM_OK);
    alm_snapshot_release(snap);
    assert_int_equal(files(f, "/n", ".part"), DAYS - 1);
    alm_storage_close(st);
    fix_free(f);
}

int main(void)
{
    alm_log_set_level(ALM_LOG_OFF);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_and_flushes_share),
        cmocka_unit_test(few_or_large_parts_do_not),
        cmocka_unit_test(what_is_given_up_leaves_nothing),
        cmocka_unit_test(the_file_goes_with_its_last_part),
        cmocka_unit_test(merges_write_files_of_their_own),
        cmocka_unit_test(lone_parts_gather),
        cmocka_unit_test(other_parts_stay_where_they_are),
        cmocka_unit_test(a_move_that_is_cut_off_is_none),
        cmocka_unit_test(damage_stays_with_the_part),
        cmocka_unit_test(backups_have_files_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
