/*
 * Goal    Whatever is damaged in a data directory is named by the check, and never read as if it were
 *         right; what a crash leaves is told apart and repaired when asked for.
 * Method  A directory as after a crash, with parts, an overlay, a dictionary, checkpoint and log.
 *         Copies of it with one damage each by seed: a bit flipped, a file cut, filled or removed. A
 *         damage that the check does not name must leave all rows readable and right; of any other
 *         what can be read is right.
 */
#include "storage/state.h"
#include "storage/table_fixture.h"
#include "storage/tree_for_test.h"

enum { AFTER_CHECKPOINT = 144 }; /* rows */

typedef struct lines {
    int n;
    char last[1024];
} lines;

static void keep_line(void *arg, const char *line)
{
    lines *l = arg;
    l->n++;
    (void)snprintf(l->last, sizeof l->last, "%s", line);
}

static void change_some(fixture *f)
{
    const uint32_t col = COL_X;
    alm_update *up = NULL;
    alm_arena arena;
    alm_scan *scan = NULL;
    int64_t rows = 0;
    alm_arena_init(&arena, NULL);
    assert_int_equal(alm_update_begin(&f->cx, f->st, NULL, ALM_STR("t"), &col, 1, &up), ALM_OK);
    alm_snapshot *snap = alm_update_snapshot(up);
    assert_int_equal(alm_scan_new(&f->cx, &arena, snap, fix_table(snap),
                                  &(alm_scan_spec){.cols = &col, .n_cols = 1, .all = true}, &scan),
                     ALM_OK);
    fix_sort(f);
    const int64_t at = 0;
    const double x = f->rows[0].x = 77.5;
    const alm_vec v = {.type = ALM_TY(DOUBLE), .width = 8, .data = (void *)(uintptr_t)&x};
    assert_int_equal(alm_update_rows(&f->cx, up, 0, &at, 1, &v), ALM_OK);
    assert_int_equal(alm_update_commit(&f->cx, up, &rows), ALM_OK);
    alm_arena_deinit(&arena);
}

/* "/r" as after a crash, for good: nothing has it open. */
static fixture *start(void)
{
    fixture *f = fix_new_manual(4);
    for (int i = 0; i < 40; i++) /* the first segment of the log is full */
        fix_insert(f, 30, 0, 2 * DAY);
    fix_load(f, 300, 0, 2 * DAY);
    fix_insert(f, 40, 0, DAY);
    change_some(f);
    assert_int_equal(alm_storage_checkpoint(&f->cx, f->st), ALM_OK);
    for (int i = 0; i < 12; i++)
        fix_insert(f, AFTER_CHECKPOINT / 12, DAY, DAY);
    tree_copy(alm_sim_io(f->sim), "/r", "/q", 1, NULL, NULL);
    return f;
}

static lines check(fixture *f, const char *root, bool repair, int64_t *findings)
{
    lines l = {0};
    *findings = -1;
    const alm_status st = (repair ? alm_storage_repair : alm_storage_check)(
        &f->cx, alm_sim_io(f->sim), root, keep_line, &l, findings);
    if (st != ALM_OK) { /* it could not be checked, and says why */
        assert_true(f->cx.err.msg[0] != 0);
        l.n++;
        alm_error_clear(&f->cx);
    }
    return l;
}

static alm_storage *open_at(fixture *f, const char *root)
{
    alm_storage *st = NULL;
    if (alm_storage_open(&f->cx, alm_sim_io(f->sim), root, &f->conf, &st) != ALM_OK)
        assert_true(f->cx.err.msg[0] != 0);
    alm_error_clear(&f->cx);
    return st;
}

static void write_at(fixture *f, const char *path, const void *bytes, size_t n, int64_t at)
{
    const alm_io *io = alm_sim_io(f->sim);
    const int h = io->open(io, path, ALM_IO_READ | ALM_IO_WRITE | ALM_IO_CREATE);
    assert_int_equal(io->write(io, h, bytes, n, at), n);
    (void)io->close(io, h);
}

static void damage(fixture *f, const char *path, int64_t bytes, uint64_t kind)
{
    const alm_io *io = alm_sim_io(f->sim);
    const int64_t at = bytes > 0 ? (int64_t)fix_random(f, (uint64_t)bytes) : 0;
    char junk[512];
    memset(junk, 0x5a, sizeof junk);
    if (kind == 0) {
        assert_int_equal(io->unlink(io, path), 0);
    } else if (kind == 1) {
        const int h = io->open(io, path, ALM_IO_READ | ALM_IO_WRITE);
        assert_int_equal(io->truncate(io, h, at), 0);
        (void)io->close(io, h);
    } else if (kind == 2) {
        write_at(f, path, junk, sizeof junk, at);
    } else {
        (void)alm_sim_flip(f->sim, path, at, (unsigned)kind % 8);
    }
}

static int by_id(const void *a, const void *b)
{
    const fix_row *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* Rows [0, n) of v are rows of the oracle, in order of id, and none was seen before. */
static void rows_are_right(fixture *f, const alm_vec *v, uint32_t n, bool *seen)
{
    const int64_t *id = v[COL_ID].data;
    for (uint32_t k = 0; k < n; k++) {
        assert_in_range(id[k], 0, f->n - 1);
        assert_false(seen[id[k]]);
        seen[id[k]] = true;
        fix_same(f, v, k, &f->rows[id[k]]);
    }
}

/* Rows until the end, or until an error. */
static alm_status read_rows(fixture *f, alm_snapshot *snap, alm_arena *arena, bool *seen,
                            int64_t *read)
{
    const uint32_t cols[COLS] = {0, 1, 2, 3, 4};
    alm_scan *scan = NULL;
    alm_scan_cursor *cur = NULL;
    ALM_TRY(alm_scan_new(&f->cx, arena, snap, fix_table(snap),
                         &(alm_scan_spec){.cols = cols, .n_cols = COLS, .all = true}, &scan));
    ALM_TRY(alm_scan_cursor_new(&f->cx, arena, scan, &cur));
    for (size_t i = 0; i < alm_scan_span_count(scan); i++) {
        const alm_span span = alm_scan_span_at(scan, i);
        for (int64_t row = 0; row < span.rows; row += ALM_BATCH_ROWS) {
            const uint32_t m = (uint32_t)ALM_MIN(span.rows - row, (int64_t)ALM_BATCH_ROWS);
            alm_vec vecs[COLS];
            ALM_TRY(alm_scan_read(&f->cx, cur, i, row, m, NULL, vecs));
            rows_are_right(f, vecs, m, seen);
            *read += m;
            alm_arena_reset(&f->arena);
        }
    }
    return ALM_OK;
}

/* Whatever is damaged: an error, or rows that are right; what the checkpoint holds does not get lost. */
static void never_a_wrong_row(fixture *f, alm_storage *st)
{
    alm_snapshot *snap = NULL;
    alm_arena arena;
    int64_t read = 0;
    bool *seen = calloc((size_t)f->n, sizeof *seen);
    alm_arena_init(&arena, NULL);
    if (alm_snapshot_acquire(&f->cx, st, &snap) == ALM_OK) {
        if (read_rows(f, snap, &arena, seen, &read) == ALM_OK)
            assert_in_range(read, f->n - AFTER_CHECKPOINT, f->n);
        alm_snapshot_release(snap);
    }
    alm_error_clear(&f->cx);
    alm_arena_deinit(&arena);
    free(seen);
}

/* Half of the log's bytes are free or of older uses: damage there is none. */
static void every_damage_is_named(void **state)
{
    (void)state;
    fixture *f = start();
    const alm_io *io = alm_sim_io(f->sim);
    const int rounds = getenv("ALM_TEST_ALL") != NULL ? 10000 : 600;
    int named = 0;
    int64_t findings = 0;
    lines l = check(f, "/q", false, &findings);
    if (l.n > 0)
        fail_msg("undamaged: %s", l.last);
    tree t;
    tree_list(io, "/q", &t);
    for (int i = 0; i < rounds; i++) {
        char path[TREE_PATH + 8];
        alm_io_stat meta;
        const uint64_t kind = fix_random(f, 10);
        (void)snprintf(path, sizeof path, "/d%s", t.paths[fix_random(f, (uint64_t)t.n)] + 2);
        tree_remove(io, "/d");
        tree_copy(io, "/q", "/d", 1, NULL, NULL);
        if (io->stat(io, path, &meta) < 0 || meta.is_dir)
            continue;
        damage(f, path, meta.size_bytes, kind);
        l = check(f, "/d", false, &findings);
        named += l.n > 0;
        alm_storage *st = open_at(f, "/d");
        if (l.n == 0 && st == NULL)
            fail_msg("round %d: '%s', kind %d: not named, but it does not open", i, path,
                     (int)kind);
        if (l.n == 0)
            fix_check_prefix(f, st, f->n);
        qsort(f->rows, (size_t)f->n, sizeof *f->rows, by_id);
        if (st != NULL)
            never_a_wrong_row(f, st);
        if (st != NULL)
            alm_storage_close(st);
    }
    assert_true(named > rounds / 6);
    free(t.paths);
    fix_free(f);
}

/* A log that ends within a record, be it the head of one, has lost it; between two nobody can tell. */
static void a_log_that_ends_within_a_record_is_named(void **state)
{
    (void)state;
    fixture *f = start();
    const alm_io *io = alm_sim_io(f->sim);
    const alm_wal *wal = &f->st->wal;
    char path[64];
    int unnamed = 0;
    (void)snprintf(path, sizeof path, "/d/db/wal/%016llx.wal",
                   (unsigned long long)wal->segments[wal->n_segments - 1].number);
    for (int64_t back = 1; back < 1500; back += 5) {
        int64_t findings = 0;
        tree_remove(io, "/d");
        tree_copy(io, "/q", "/d", 1, NULL, NULL);
        const int h = io->open(io, path, ALM_IO_READ | ALM_IO_WRITE);
        assert_int_equal(io->truncate(io, h, wal->at - back), 0);
        (void)io->close(io, h);
        unnamed += check(f, "/d", false, &findings).n == 0;
    }
    assert_true(unnamed <= 3);
    fix_free(f);
}

static void what_a_crash_leaves_is_repaired(void **state)
{
    (void)state;
    fixture *f = start();
    const alm_io *io = alm_sim_io(f->sim);
    int64_t findings = 0;
    char path[64];
    /* The last record loses a byte, as if it had been torn; two files that nothing names. */
    const alm_wal *wal = &f->st->wal;
    (void)snprintf(path, sizeof path, "/q/db/wal/%016llx.wal",
                   (unsigned long long)wal->segments[wal->n_segments - 1].number);
    assert_true(alm_sim_flip(f->sim, path, wal->at - 9, 0));
    write_at(f, "/q/db/tables/1/00000000000000ff.part", "x", 1, 0);
    write_at(f, "/q/db/tables/9.dict", "x", 1, 0); /* not below a table: not ours */
    lines l = check(f, "/q", false, &findings);
    assert_int_equal(findings, 1);
    assert_int_equal(l.n, 2);
    l = check(f, "/q", true, &findings);
    assert_int_equal(findings, 0);
    assert_int_equal(l.n, 2);
    l = check(f, "/q", false, &findings);
    assert_int_equal(findings, 0);
    assert_int_equal(l.n, 0);
    alm_storage *st = open_at(f, "/q");
    fix_check_prefix(f, st, f->n - 12);
    alm_storage_close(st);
    alm_io_stat meta;
    assert_true(io->stat(io, "/q/db/tables/1/00000000000000ff.part", &meta) < 0);
    assert_true(io->stat(io, "/q/db/tables/9.dict", &meta) == 0);
    fix_free(f);
}

int main(void)
{
    alm_log_set_level(ALM_LOG_OFF);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_damage_is_named),
        cmocka_unit_test(a_log_that_ends_within_a_record_is_named),
        cmocka_unit_test(what_a_crash_leaves_is_repaired),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
