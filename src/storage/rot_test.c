/*
 * Goal    What rots after it was read is found before it is written again: whoever rewrites rows compares
 *         checksums anew, fails with an error that names table and file, and changes nothing. Then reads
 *         fail, too, and the damage is reported until it is gone.
 * Method  On the simulated disk, all rows are read, then one bit of a part flips: in values, texts, last rows,
 *         statistics, the header. Each rewrite is tried; the bit flips back, and all is as it was.
 */
#include <string.h>

#include "base/log.h"
#include "storage/backup/backup.h"
#include "storage/check/scrub.h"
#include "storage/part/format.h"
#include "storage/part/pack.h"
#include "storage/state.h"
#include "storage/table_fixture.h"
#include "storage/write/alter.h"

/* ------------------------------------------------------------------------ damage */

typedef enum rot_place { ROT_VALUES, ROT_TEXTS, ROT_TIMES, ROT_FOOTER, ROT_PLACES } rot_place;

typedef struct rot {
    char path[ALM_PATH_MAX];
    int64_t at;
} rot;

static uint64_t offset_of(const alm_part *part, uint32_t id)
{
    return alm_part_col_at(part, (uint32_t)alm_part_find(part, id, 0))->data_off;
}

/* The place in the first part of the table. */
static rot rot_of(fixture *f, rot_place place)
{
    rot r = {.at = 0};
    alm_part *part = NULL;
    alm_snapshot *snap = fix_snapshot(f);
    const alm_table *t = fix_table(snap);
    alm_file *file = alm_version_of(t)->parts->parts[0]->file;
    alm_part_place place_in;
    bool shared = false;
    alm_file_where(file, r.path, sizeof r.path, &place_in, &shared);
    assert_int_equal(alm_file_part(&f->cx, file, &part), ALM_OK);
    const int32_t text = alm_part_find(part, t->cols[COL_TEXT].id, 0);
    switch ((int)place) {
    case ROT_VALUES:
        r.at = (int64_t)offset_of(part, t->cols[COL_X].id) + 50;
        break;
    case ROT_TEXTS:
        r.at = (int64_t)alm_part_col_at(part, (uint32_t)text)->heap_off + 3;
        break;
    case ROT_TIMES:
        r.at = (int64_t)offset_of(part, t->cols[COL_TS].id);
        break;
    default: /* the sum of the first block of the last column */
        r.at = alm_part_bytes(part) - ALM_PART_TRAILER - (int64_t)sizeof(alm_part_block) +
               (int64_t)offsetof(alm_part_block, sum);
    }
    r.at += place_in.offset;
    alm_snapshot_release(snap);
    return r;
}

static void flip(fixture *f, const rot *r)
{
    assert_true(alm_sim_flip(f->sim, r->path, r->at, 2));
}

/* ---------------------------------------------------------------------- rewrites */

static alm_status convert(fixture *f)
{
    alm_snapshot *snap = fix_snapshot(f);
    const int64_t start = 0;
    const alm_status st =
        alm_table_convert_partitions(&f->cx, f->st, fix_table(snap), true, &start, 1);
    alm_snapshot_release(snap);
    return st;
}

/* One row of the first span: x = 7, or it goes. */
static alm_status change(fixture *f, bool goes)
{
    const uint32_t cols[] = {COL_TEXT, COL_X};
    const int64_t row = 1;
    const double x = 7;
    const alm_view text = alm_view_of(ALM_STR("new"));
    const alm_vec values[] = {
        {.type = ALM_TY(VARCHAR), .width = 16, .is_const = true, .data = (void *)(uintptr_t)&text},
        {.type = ALM_TY(DOUBLE), .width = 8, .is_const = true, .data = (void *)(uintptr_t)&x}};
    alm_update *up = NULL;
    int64_t rows = 0;
    ALM_TRY(goes ? alm_delete_begin(&f->cx, f->st, NULL, ALM_STR("t"), &up)
                 : alm_update_begin(&f->cx, f->st, NULL, ALM_STR("t"), cols, 2, &up));
    const alm_status st = alm_update_rows(&f->cx, up, 0, &row, 1, goes ? NULL : values);
    if (st == ALM_OK)
        return alm_update_commit(&f->cx, up, &rows);
    alm_update_rollback(up);
    return st;
}

static alm_status update(fixture *f)
{
    return change(f, false);
}

static alm_status delete(fixture *f)
{
    return change(f, true);
}

static alm_status back_up(fixture *f)
{
    const alm_backup_spec spec = {.dir = "/b"};
    alm_backup_result r;
    return alm_storage_backup(&f->cx, f->st, &spec, &r);
}

/* What INSERT SELECT and its like do: a scan whose rows are written elsewhere. */
static alm_status read_to_write(fixture *f)
{
    const uint32_t cols[COLS] = {0, 1, 2, 3, 4};
    alm_snapshot *snap = fix_snapshot(f);
    alm_scan *scan = NULL;
    alm_scan_cursor *cur = NULL;
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    const uint64_t before = alm_rewrite_begin(&f->cx, f->st);
    alm_status st = alm_scan_new(
        &f->cx, &arena, snap, fix_table(snap),
        &(alm_scan_spec){.cols = cols, .n_cols = COLS, .all = true, .order = ALM_SCAN_ANY_ORDER},
        &scan);
    if (st == ALM_OK)
        st = alm_scan_cursor_new(&f->cx, &arena, scan, &cur);
    for (size_t i = 0; st == ALM_OK && i < alm_scan_span_count(scan); i++) {
        const int64_t n = alm_scan_span_at(scan, i).rows;
        for (int64_t row = 0; st == ALM_OK && row < n; row += ALM_BATCH_ROWS) {
            alm_vec vecs[COLS];
            st = alm_scan_read(&f->cx, cur, i, row, (uint32_t)ALM_MIN(n - row, ALM_BATCH_ROWS),
                               NULL, vecs);
        }
    }
    alm_rewrite_end(&f->cx, before);
    alm_arena_deinit(&arena);
    alm_snapshot_release(snap);
    return st;
}

static const struct {
    const char *name;
    alm_status (*run)(fixture *f);
    bool skips[ROT_PLACES]; /* it does not read these bytes */
} REWRITES[] = {
    {"merge", fix_squash, {false}},
    {"convert", convert, {false}},
    {"update", update, {[ROT_TIMES] = true}},
    {"delete", delete, {false}},
    {"backup", back_up, {false}},
    {"read to write", read_to_write, {false}},
};

/* ------------------------------------------------------------------------- tests */

static fixture *start(void)
{
    fixture *f = fix_new_manual(5);
    f->conf.part_rows_max = 100000;
    fix_reopen(f);
    fix_load(f, 300, 0, DAY);
    fix_load(f, 200, 0, DAY);
    fix_load(f, 100, 3 * DAY, DAY);
    fix_check(f); /* all blocks are found good */
    return f;
}

static uint64_t lsn_of(fixture *f)
{
    alm_snapshot *snap = fix_snapshot(f);
    const uint64_t lsn = alm_snapshot_lsn(snap);
    alm_snapshot_release(snap);
    return lsn;
}

static void every_rewrite_finds_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALM_COUNT(REWRITES); i++) {
        for (rot_place place = 0; place < ROT_PLACES; place++) {
            fixture *f = start();
            const uint64_t lsn = lsn_of(f);
            const rot r = rot_of(f, place);
            if (REWRITES[i].skips[place]) {
                fix_free(f);
                continue;
            }
            flip(f, &r);
            const alm_status st = REWRITES[i].run(f);
            if (st != ALM_E_CORRUPT)
                fail_msg("%s, place %d: %d %s", REWRITES[i].name, place, st, f->cx.err.msg);
            assert_non_null(strstr(f->cx.err.msg, "table 't': part file '"));
            assert_non_null(strstr(f->cx.err.msg, r.path));
            alm_error_clear(&f->cx);
            assert_int_equal(lsn_of(f), lsn); /* nothing is changed */
            flip(f, &r);
            fix_check(f);
            const alm_status again = REWRITES[i].run(f);
            assert_string_equal(f->cx.err.msg, "");
            assert_int_equal(again, ALM_OK);
            fix_free(f);
        }
    }
}

/* A part that nobody has opened yet is deleted, or a directory has its name: what reads it names table and file, and changes nothing. */
static void a_part_that_is_no_file(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * ALM_COUNT(REWRITES); i++) {
        const bool folder = i % 2 == 1;
        fixture *f = start();
        const alm_io *io = alm_sim_io(f->sim);
        const rot r = rot_of(f, ROT_VALUES);
        fix_reopen(f);
        const uint64_t lsn = lsn_of(f);
        assert_int_equal(io->unlink(io, r.path), 0);
        assert_true(!folder || io->mkdir(io, r.path) == 0);
        const alm_status st = REWRITES[i / 2].run(f);
        if (st != ALM_E_CORRUPT || strstr(f->cx.err.msg, r.path) == NULL)
            fail_msg("%s, %d: %d %s", REWRITES[i / 2].name, folder, st, f->cx.err.msg);
        assert_non_null(strstr(f->cx.err.msg, "table 't': part file '"));
        assert_non_null(strstr(f->cx.err.msg, folder ? "is no regular file" : "is missing"));
        alm_error_clear(&f->cx);
        assert_int_equal(lsn_of(f), lsn);
        assert_true(alm_storage_is_damaged(f->st));
        fix_free(f);
    }
}

/* What is known to be damaged; the text of the first. */
static int64_t known(fixture *f, const char **what)
{
    alm_damaged *list = NULL;
    size_t n = 0;
    int64_t files = 0;
    assert_int_equal(alm_storage_damage(&f->cx, &f->arena, f->st, &list, &n), ALM_OK);
    for (size_t i = 0; i < n; i++)
        files += list[i].files;
    *what = n > 0 ? list[0].what : "";
    return files;
}

static uint64_t table_id(fixture *f)
{
    alm_snapshot *snap = fix_snapshot(f);
    const uint64_t id = fix_table(snap)->id;
    alm_snapshot_release(snap);
    return id;
}

static void a_scrub_finds_it(void **state)
{
    (void)state;
    for (rot_place place = 0; place < ROT_PLACES; place++) {
        fixture *f = start();
        const char *what = NULL;
        alm_scrub_result r;
        assert_int_equal(alm_storage_scrub(&f->cx, f->st, table_id(f), &r), ALM_OK);
        assert_int_equal(r.damaged, 0);
        assert_true(r.files >= 3 && r.bytes > 10000);
        const rot at = rot_of(f, place);
        flip(f, &at);
        assert_int_equal(alm_storage_scrub(&f->cx, f->st, table_id(f), &r), ALM_OK);
        assert_int_equal(r.damaged, 1);
        assert_non_null(strstr(r.first, at.path));
        assert_int_equal(known(f, &what), 1);
        assert_non_null(strstr(what, "'db/tables/"));
        assert_true(alm_storage_is_damaged(f->st));
        /* Nobody reads it as if it were good. */
        alm_snapshot *snap = fix_snapshot(f);
        alm_scan_cursor *cur = NULL;
        alm_scan *scan = NULL;
        alm_arena arena;
        alm_arena_init(&arena, NULL);
        const uint32_t cols[COLS] = {0, 1, 2, 3, 4};
        alm_vec vecs[COLS];
        alm_status st = alm_scan_new(
            &f->cx, &arena, snap, fix_table(snap),
            &(alm_scan_spec){
                .cols = cols, .n_cols = COLS, .all = true, .order = ALM_SCAN_ANY_ORDER},
            &scan);
        if (st == ALM_OK)
            st = alm_scan_cursor_new(&f->cx, &arena, scan, &cur);
        for (size_t i = 0; st == ALM_OK && i < alm_scan_span_count(scan); i++)
            st = alm_scan_read(&f->cx, cur, i, 0, 1, NULL, vecs);
        assert_int_equal(st, ALM_E_CORRUPT);
        alm_error_clear(&f->cx);
        alm_arena_deinit(&arena);
        alm_snapshot_release(snap);
        flip(f, &at);
        assert_int_equal(alm_scrub_all(&f->cx, f->st), ALM_OK);
        assert_int_equal(known(f, &what), 0);
        fix_check(f);
        flip(f, &at);
        assert_int_equal(alm_scrub_all(&f->cx, f->st), ALM_OK);
        assert_int_equal(known(f, &what), 1);
        assert_int_equal(alm_table_truncate(&f->cx, f->st, ALM_STR("t")), ALM_OK);
        assert_int_equal(known(f, &what), 0); /* the files went */
        fix_free(f);
    }
}

/* Every byte of the dictionary, the catalogue and a finished segment of the log: found, and as if it had not been. */
static void what_memory_has_is_written_anew(void **state)
{
    (void)state;
    char log[64];
    fixture *f = start();
    const alm_io *io = alm_sim_io(f->sim);
    int32_t found = 0;
    for (int64_t round = 0; round < 600; round++) {
        if (round % 3 == 0)
            fix_insert(f, 30, DAY, DAY);
        assert_int_equal(alm_storage_checkpoint(&f->cx, f->st), ALM_OK);
        if (round % 3 == 2) {
            fix_insert(f, 12, DAY, DAY);
            atomic_store(&f->st->wal.roll, true);
            fix_insert(f, 2, DAY, DAY);
        }
        (void)snprintf(log, sizeof log, "/r/db/wal/%016llx.wal",
                       (unsigned long long)f->st->wal.segments[0].number);
        const char *path = round % 3 == 0   ? "/r/db/tables/1/3.dict"
                           : round % 3 == 1 ? "/r/db/catalog"
                                            : log;
        alm_io_stat meta;
        const char *what = NULL;
        assert_int_equal(io->stat(io, path, &meta), 0);
        const int64_t size = round % 3 == 2 ? 800 : meta.size_bytes;
        const int64_t at = 16 + (round * 7919) % (size - 16);
        const int64_t before = alm_counted(&f->st->damages.found);
        assert_true(alm_sim_flip(f->sim, path, at, (unsigned)round % 8));
        assert_int_equal(alm_scrub_all(&f->cx, f->st), ALM_OK);
        found += alm_counted(&f->st->damages.found) > before;
        assert_int_equal(known(f, &what), 0);
        if (round % 50 == 49)
            fix_reopen(f);
    }
    fix_check(f);
    assert_true(found > 550); /* zeros that nothing covers */
    fix_free(f);
}

/* Reads all columns of all rows; what they are is not looked at, texts and symbols are not followed. */
static alm_status read_anyhow(fixture *f)
{
    const uint32_t cols[COLS] = {0, 1, 2, 3, 4};
    alm_snapshot *snap = fix_snapshot(f);
    alm_scan *scan = NULL;
    alm_scan_cursor *cur = NULL;
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    alm_status st =
        alm_scan_new(&f->cx, &arena, snap, fix_table(snap),
                     &(alm_scan_spec){.cols = cols, .n_cols = COLS, .all = true}, &scan);
    if (st == ALM_OK)
        st = alm_scan_cursor_new(&f->cx, &arena, scan, &cur);
    for (size_t i = 0; st == ALM_OK && i < alm_scan_span_count(scan); i++) {
        const uint32_t n =
            (uint32_t)ALM_MIN(alm_scan_span_at(scan, i).rows, (int64_t)ALM_BATCH_ROWS);
        uint32_t n_last = 0;
        alm_vec v[COLS];
        uint64_t sum = 0;
        st = alm_scan_read(&f->cx, cur, i, 0, n, NULL, v);
        for (uint32_t c = 0; st == ALM_OK && c < COLS; c++)
            for (size_t at = 0; at < (v[c].is_const ? 1 : n) * (size_t)v[c].width; at++)
                sum += ((const uint8_t *)v[c].data)[at];
        assert_true(st != ALM_OK || sum > 0);
        (void)alm_scan_last_rows(scan, i, 2, &n_last);
    }
    alm_arena_deinit(&arena);
    alm_snapshot_release(snap);
    return st;
}

/* The footer of a part is used where it is mapped: whichever bits of it rot meanwhile, reads go on or fail. */
static void rot_of_a_footer_ends_nothing(void **state)
{
    (void)state;
    fixture *f = start();
    const rot r = rot_of(f, ROT_FOOTER);
    alm_part *part = NULL;
    alm_snapshot *snap = fix_snapshot(f);
    alm_file *file = alm_version_of(fix_table(snap))->parts->parts[0]->file;
    assert_int_equal(alm_file_part(&f->cx, file, &part), ALM_OK);
    const alm_part_footer *info = alm_part_info(part);
    const int64_t size =
        (int64_t)(sizeof *info + info->n_cols * (sizeof(alm_part_col) + sizeof(alm_part_block)));
    alm_snapshot_release(snap);
    const int64_t first =
        r.at - (int64_t)offsetof(alm_part_block, sum) + (int64_t)sizeof(alm_part_block) - size;
    int failed = 0;
    for (int64_t at = 0; at < size; at++) {
        for (unsigned bit = 0; bit < 8; bit += at < (int64_t)sizeof *info ? 1 : 3) {
            assert_true(alm_sim_flip(f->sim, r.path, first + at, bit));
            const alm_status st = read_anyhow(f);
            if (st != ALM_OK) {
                assert_int_equal(st, ALM_E_CORRUPT);
                assert_non_null(strstr(f->cx.err.msg, r.path));
                failed++;
            }
            alm_error_clear(&f->cx);
            assert_true(alm_sim_flip(f->sim, r.path, first + at, bit));
            assert_int_equal(read_anyhow(f), ALM_OK);
        }
    }
    assert_true(failed > 100); /* the descriptions of columns, at least */
    assert_int_equal(alm_scrub_all(&f->cx, f->st), ALM_OK);
    fix_check(f);
    fix_free(f);
}

/* Bytes of the log that the disk cannot give are no end of it: the start names the segment, and is whole when they can be read. */
static void an_unreadable_log_is_named(void **state)
{
    (void)state;
    int refused = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        fixture *f = fix_new_manual(seed);
        fix_insert(f, 20, 0, DAY);
        fix_insert(f, 20, 0, DAY);
        alm_sim_cut_after(f->sim, 1);
        alm_storage_close(f->st);
        alm_sim_restart(f->sim);
        assert_true(alm_sim_damage_after(f->sim, ALM_SIM_ROT_UNREADABLE, "/r/db/wal", 0));
        const alm_status st = alm_storage_open(&f->cx, alm_sim_io(f->sim), "/r", &f->conf, &f->st);
        if (st != ALM_OK) {
            assert_int_equal(st, ALM_E_IO);
            assert_non_null(strstr(f->cx.err.msg, ".wal'"));
            alm_error_clear(&f->cx);
            assert_int_equal(alm_sim_mend(f->sim, ""), 1);
            fix_open(f);
            refused++;
        }
        fix_check(f);
        fix_free(f);
    }
    assert_true(refused > 5);
}

/* Without a catalogue, a record over the header of the only segment: the log is there, though it does not begin. */
static void a_log_without_a_header_is_no_new_database(void **state)
{
    (void)state;
    static const char path[] = "/r/db/wal/0000000000000001.wal";
    enum { LOG = 64 << 10 };
    fixture *f = fix_new(2, false, true);
    fix_insert(f, 3, 0, DAY);
    fix_insert(f, 3, 0, DAY);
    fix_insert(f, 3, 0, DAY);
    alm_sim_cut_after(f->sim, 1);
    alm_storage_close(f->st);
    alm_sim_restart(f->sim);
    f->st = NULL;
    const alm_io *io = alm_sim_io(f->sim);
    const int h = io->open(io, path, ALM_IO_READ | ALM_IO_WRITE);
    char *log = malloc(LOG);
    assert_int_equal(io->read(io, h, log, LOG, 0), LOG);
    int records = 0;
    alm_rec_header rec = {.bytes = 0};
    for (int64_t at = ALM_WAL_HEADER; memcmp(log + at, "REC1", 4) == 0;
         at += ALM_REC_HEADER + (int64_t)rec.bytes, records++) {
        memcpy(&rec, log + at, sizeof rec);
        const int64_t n = ALM_REC_HEADER + (int64_t)rec.bytes;
        assert_int_equal(io->write(io, h, log + at, (size_t)n, 0), n);
        const alm_status st = alm_storage_open(&f->cx, io, "/r", &f->conf, &f->st);
        assert_int_equal(st, ALM_E_CORRUPT);
        assert_non_null(strstr(f->cx.err.msg, "the log is damaged"));
        alm_error_clear(&f->cx);
        assert_int_equal(io->write(io, h, log, LOG, 0), LOG);
    }
    assert_true(records >= 4);
    (void)io->close(io, h);
    free(log);
    fix_open(f);
    fix_check(f);
    fix_free(f);
}

/* Each byte of a dictionary's header: under a running server the file is written anew, and a start closes the table alone. */
static void rot_of_a_dictionary_header_closes_its_table(void **state)
{
    (void)state;
    fixture *f = start();
    for (int64_t at = 0; at < 32; at++) {
        assert_int_equal(alm_table_truncate(&f->cx, f->st, ALM_STR("t")), ALM_OK);
        f->n = 0;
        fix_insert(f, 3, DAY, DAY);
        assert_int_equal(alm_storage_checkpoint(&f->cx, f->st), ALM_OK);
        char name[64];
        alm_snapshot *snap = fix_snapshot(f);
        (void)snprintf(name, sizeof name, "/r/db/tables/1/%u.dict",
                       fix_table(snap)->cols[COL_SYM].id);
        alm_snapshot_release(snap);
        assert_true(alm_sim_flip(f->sim, name, at, 6));
        fix_insert(f, 40, DAY, DAY); /* new symbols */
        const alm_status st = alm_storage_checkpoint(&f->cx, f->st);
        assert_string_equal(f->cx.err.msg, "");
        assert_int_equal(st, ALM_OK);
        fix_reopen(f);
        fix_check(f);
        assert_true(alm_sim_flip(f->sim, name, at, 6));
        fix_reopen(f);
        assert_int_equal(read_anyhow(f), ALM_E_CORRUPT);
        assert_non_null(strstr(f->cx.err.msg, ".dict"));
        alm_error_clear(&f->cx);
        assert_true(alm_sim_flip(f->sim, name, at, 6));
        fix_reopen(f);
        fix_check(f);
    }
    fix_free(f);
}

/* A directory has the name of a file that memory can write anew, or of one that is about to be written: it is moved aside. */
static void a_directory_in_the_place_of_a_file(void **state)
{
    (void)state;
    static const char *const paths[] = {"/r/db/tables/1/3.dict", "/r/db/tables/1/3.dict.tmp",
                                        "/r/db/catalog", "/r/db/catalog.tmp", "/r/db/reserve"};
    for (size_t i = 0; i < 2 * ALM_COUNT(paths); i++) {
        const char *path = paths[i / 2];
        const bool scrubs = i % 2 == 1;
        alm_io_stat meta;
        fixture *f = fix_new_manual(5);
        const alm_io *io = alm_sim_io(f->sim);
        fix_insert(f, 3, DAY, DAY);
        assert_int_equal(alm_storage_checkpoint(&f->cx, f->st), ALM_OK);
        (void)io->unlink(io, path);
        assert_int_equal(io->mkdir(io, path), 0);
        if (scrubs)
            assert_int_equal(alm_scrub_all(&f->cx, f->st), ALM_OK);
        fix_insert(f, 40, DAY, DAY); /* new symbols */
        const alm_status st = alm_storage_checkpoint(&f->cx, f->st);
        if (st != ALM_OK)
            fail_msg("%s: %s", path, f->cx.err.msg);
        assert_true(io->stat(io, "/r/db/tables/1/3.dict", &meta) >= 0 && meta.is_file);
        fix_reopen(f);
        fix_check(f);
        fix_free(f);
    }
}

int main(void)
{
    alm_log_set_level(ALM_LOG_OFF);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rewrite_finds_it),
        cmocka_unit_test(a_part_that_is_no_file),
        cmocka_unit_test(a_scrub_finds_it),
        cmocka_unit_test(what_memory_has_is_written_anew),
        cmocka_unit_test(rot_of_a_footer_ends_nothing),
        cmocka_unit_test(an_unreadable_log_is_named),
        cmocka_unit_test(rot_of_a_dictionary_header_closes_its_table),
        cmocka_unit_test(a_directory_in_the_place_of_a_file),
        cmocka_unit_test(a_log_without_a_header_is_no_new_database),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
