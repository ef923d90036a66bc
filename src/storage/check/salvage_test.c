/*
 * Goal    Of a damaged directory everything that is whole is saved, nothing is saved with a wrong value, and nothing is written there.
 * Method  Bits of every file are flipped, files are removed and cut, one after another; all Parquet files that a salvage wrote are read
 *         again and compared with the oracle, row by row. Dictionaries are damaged at every byte.
 */
#include <errno.h>
#include <math.h>

#include "base/log.h"
#include "codec/parquet/reader.h"
#include "storage/state.h"
#include "storage/table_fixture.h"

enum { PATHS = 64 };

/* ---------------------------------------------------------------- what was saved */

typedef struct outcome {
    fixture *f;
    const alm_io *io;
    const char *out;
    int64_t rows, distinct, nulls[COLS];
    bool *seen; /* by id */
    bool exact; /* no row may come twice */
} outcome;

static int32_t column_of(const alm_pq_file *file, const char *name, uint32_t id)
{
    uint32_t n = 0;
    char lost[16];
    const alm_pq_read_col *cols = alm_pq_columns(file, &n);
    (void)snprintf(lost, sizeof lost, "c%u", id);
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(cols[i].name, name) == 0 || strcmp(cols[i].name, lost) == 0)
            return (int32_t)i;
    return -1;
}

static void compare_text(alm_vec *v, uint32_t row, alm_view want, int64_t *nulls)
{
    const alm_str got = alm_vec_text(v, row);
    if (got.ptr == NULL)
        ++*nulls;
    else
        assert_true(alm_str_eq(got, alm_view_str(&want, NULL)));
}

static void compare_row(outcome *o, alm_vec *cols, const int32_t *at, uint32_t row)
{
    const int64_t id = ((const int64_t *)cols[COL_ID].data)[row];
    if (id == INT64_MIN) {
        o->nulls[COL_ID]++;
        return; /* which row it is cannot be told */
    }
    assert_in_range(id, 0, o->f->n - 1);
    const fix_row *want = &o->f->rows[id];
    assert_int_equal(want->id, id);
    assert_false(o->exact && o->seen[id]);
    o->distinct += !o->seen[id];
    o->seen[id] = true;
    if (at[COL_TS] >= 0) {
        const int64_t ts = ((const int64_t *)cols[COL_TS].data)[row];
        assert_true(ts == want->ts || ts == INT64_MIN);
        o->nulls[COL_TS] += ts == INT64_MIN;
    }
    if (at[COL_X] >= 0) {
        const double x = ((const double *)cols[COL_X].data)[row];
        assert_true(isnan(x) || x == want->x);
        o->nulls[COL_X] += isnan(x) && !isnan(want->x);
    }
    if (at[COL_SYM] >= 0 && want->sym != 0)
        compare_text(&cols[COL_SYM], row, fix_symbol(o->f, want->sym), &o->nulls[COL_SYM]);
    if (at[COL_TEXT] >= 0 && want->text >= 0)
        compare_text(&cols[COL_TEXT], row, fix_text(o->f, want->text), &o->nulls[COL_TEXT]);
}

static void compare_group(outcome *o, const alm_pq_file *file, uint32_t group, const int32_t *at)
{
    alm_arena arena;
    alm_vec cols[COLS];
    alm_pq_cursor *cursors[COLS] = {NULL};
    const int64_t rows = alm_pq_group_rows(file, group);
    alm_arena_init(&arena, NULL);
    for (int64_t row = 0; row < rows; row += ALM_BATCH_ROWS) {
        const uint32_t n = (uint32_t)ALM_MIN(rows - row, (int64_t)ALM_BATCH_ROWS);
        for (int c = 0; c < COLS; c++) {
            if (at[c] < 0)
                continue;
            if (cursors[c] == NULL)
                assert_int_equal(alm_pq_cursor_new(&o->f->cx, file, (uint32_t)at[c], &cursors[c]),
                                 ALM_OK);
            assert_int_equal(alm_pq_read(&o->f->cx, cursors[c], group, row, n, &arena, &cols[c]),
                             ALM_OK);
        }
        for (uint32_t i = 0; i < n; i++)
            compare_row(o, cols, at, i);
        o->rows += n;
    }
    for (int c = 0; c < COLS; c++)
        alm_pq_cursor_free(cursors[c]);
    alm_arena_deinit(&arena);
}

static void compare_file(outcome *o, const char *path)
{
    static const char *const names[COLS] = {"ts", "id", "sym", "text", "x"};
    alm_io_stat meta;
    const void *map = NULL;
    const alm_pq_file *file = NULL;
    alm_arena arena;
    int32_t at[COLS];
    assert_int_equal(o->io->stat(o->io, path, &meta), 0);
    const int h = o->io->open(o->io, path, ALM_IO_READ);
    assert_true(h >= 0);
    assert_int_equal(o->io->map(o->io, h, (size_t)meta.size_bytes, &map), 0);
    (void)o->io->close(o->io, h);
    alm_arena_init(&arena, NULL);
    const alm_str bytes = {map, (size_t)meta.size_bytes};
    assert_int_equal(alm_pq_open(&o->f->cx, &arena, path, bytes, &file), ALM_OK);
    for (uint32_t c = 0; c < COLS; c++)
        at[c] = column_of(file, names[c], c + 1);
    for (uint32_t g = 0; at[COL_ID] >= 0 && g < alm_pq_groups(file); g++) /* else an overlay */
        compare_group(o, file, g, at);
    alm_arena_deinit(&arena);
    (void)o->io->unmap(o->io, map, (size_t)meta.size_bytes);
}

typedef struct paths {
    const char *dir;
    char path[PATHS][ALM_PATH_MAX / 8];
    int n;
} paths;

static int add_path(void *arg, const char *name)
{
    paths *p = arg;
    assert_true(p->n < PATHS);
    (void)snprintf(p->path[p->n++], sizeof p->path[0], "%s/%s", p->dir, name);
    return 0;
}

static void remove_all(const alm_io *io, const char *dir)
{
    paths p = {.dir = dir};
    alm_io_stat meta;
    (void)io->list(io, dir, add_path, &p);
    for (int i = 0; i < p.n; i++) {
        assert_int_equal(io->stat(io, p.path[i], &meta), 0);
        if (meta.is_dir)
            remove_all(io, p.path[i]);
        else
            assert_int_equal(io->unlink(io, p.path[i]), 0);
    }
    assert_int_equal(io->rmdir(io, dir), 0);
}

static void compare_all(outcome *o, const char *dir)
{
    paths p = {.dir = dir};
    alm_io_stat meta;
    (void)o->io->list(o->io, dir, add_path, &p);
    for (int i = 0; i < p.n; i++) {
        const size_t n = strlen(p.path[i]);
        assert_int_equal(o->io->stat(o->io, p.path[i], &meta), 0);
        if (meta.is_dir)
            compare_all(o, p.path[i]);
        else if (n > 8 && strcmp(p.path[i] + n - 8, ".parquet") == 0)
            compare_file(o, p.path[i]);
    }
}

/* Saves, compares with the oracle, and removes what was saved. */
static void save(fixture *f, alm_salvage_result *done, outcome *o)
{
    *o = (outcome){.f = f, .io = alm_sim_io(f->sim), .out = "/o"};
    o->seen = calloc((size_t)f->n, sizeof *o->seen);
    const alm_status st = alm_storage_salvage(&f->cx, o->io, "/r", "/o", NULL, NULL, done);
    assert_string_equal(f->cx.err.msg, "");
    assert_int_equal(st, ALM_OK);
    o->exact = done->found == 0;
    compare_all(o, "/o");
    assert_int_equal(o->rows, done->rows);
    remove_all(o->io, "/o");
    free(o->seen);
    o->seen = NULL;
}

/* -------------------------------------------------------------------- directories */

/* Parts of all kinds, rows of the catalogue and rows of the log; ends as after a crash. */
static fixture *make_with(uint64_t seed, bool parquet)
{
    fixture *f = fix_new_manual(seed);
    fix_load(f, 300, 0, 3 * DAY);
    assert_int_equal(alm_storage_checkpoint(&f->cx, f->st), ALM_OK);
    fix_load(f, 200, 5 * DAY, 2 * DAY);
    if (parquet)
        fix_convert(f, true, 2, 0);
    fix_insert(f, 100, 0, 4 * DAY);
    alm_storage_close(f->st);
    fix_open(f);
    for (int i = 0; i < 5; i++)
        fix_insert(f, 20, 8 * DAY, DAY);
    f->st->failed = true; /* no checkpoint at the end */
    alm_storage_close(f->st);
    f->st = NULL;
    return f;
}

static fixture *make(uint64_t seed)
{
    return make_with(seed, true);
}

static void free_closed(fixture *f)
{
    fix_open(f);
    fix_free(f);
}

static void list_files(const alm_io *io, paths *p)
{
    static const char *const dirs[] = {"/r/db/wal", "/r/db/tables/1"};
    (void)snprintf(p->path[p->n++], sizeof p->path[0], "/r/db/catalog");
    for (size_t i = 0; i < ALM_COUNT(dirs); i++) {
        p->dir = dirs[i];
        (void)io->list(io, dirs[i], add_path, p);
    }
}

static void a_sound_directory(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        fixture *f = make(seed);
        alm_salvage_result done;
        outcome o;
        save(f, &done, &o);
        assert_int_equal(done.rows, f->n);
        assert_int_equal(done.findings, 0);
        assert_int_equal(done.partial + done.lost, 0);
        free_closed(f);
    }
}

/* One bit anywhere: at most what it is in is lost, and no value is another one. */
static void one_bit_of_any_file(void **state)
{
    (void)state;
    int64_t whole = 0, damaged = 0;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        fixture *f = make(seed);
        const alm_io *io = alm_sim_io(f->sim);
        paths p = {.n = 0};
        list_files(io, &p);
        for (int i = 0; i < p.n; i++) {
            alm_io_stat meta;
            assert_int_equal(io->stat(io, p.path[i], &meta), 0);
            for (int round = 0; round < 24 && meta.size_bytes > 0; round++) {
                const int64_t used =
                    round % 2 == 0 ? ALM_MIN(meta.size_bytes, 600) : meta.size_bytes;
                const int64_t at = (int64_t)fix_random(f, (uint64_t)used);
                const unsigned bit = (unsigned)fix_random(f, 8);
                alm_salvage_result done;
                outcome o;
                assert_true(alm_sim_flip(f->sim, p.path[i], at, bit));
                save(f, &done, &o);
                whole += done.rows == f->n && done.findings == 0;
                damaged += done.findings > 0;
                assert_true(alm_sim_flip(f->sim, p.path[i], at, bit));
            }
        }
        free_closed(f);
    }
    assert_true(whole > 0 && damaged > 100);
}

/* Bits in several files at a time: what one file could prove of another may be damaged, too. */
static void bits_of_several_files(void **state)
{
    (void)state;
    enum { BITS = 6, ROUNDS = 60 };
    fixture *f = make(4);
    const alm_io *io = alm_sim_io(f->sim);
    paths p = {.n = 0};
    int64_t at[BITS];
    int which[BITS];
    list_files(io, &p);
    for (int round = 0; round < ROUNDS; round++) {
        alm_salvage_result done;
        outcome o;
        for (int i = 0; i < BITS; i++) {
            alm_io_stat meta;
            do {
                which[i] = (int)fix_random(f, (uint64_t)p.n);
                assert_int_equal(io->stat(io, p.path[which[i]], &meta), 0);
            } while (meta.size_bytes == 0);
            const int64_t used = round % 2 == 0 ? ALM_MIN(meta.size_bytes, 600) : meta.size_bytes;
            at[i] = (int64_t)fix_random(f, (uint64_t)used);
            assert_true(alm_sim_flip(f->sim, p.path[which[i]], at[i], (unsigned)i));
        }
        save(f, &done, &o);
        for (int i = 0; i < BITS; i++)
            assert_true(alm_sim_flip(f->sim, p.path[which[i]], at[i], (unsigned)i));
    }
    free_closed(f);
}

static void a_file_that_is_gone(void **state)
{
    (void)state;
    fixture *f = make(1);
    const alm_io *io = alm_sim_io(f->sim);
    paths p = {.n = 0};
    list_files(io, &p);
    for (int i = 0; i < p.n; i++) {
        alm_salvage_result done;
        outcome o;
        assert_int_equal(io->rename(io, p.path[i], "/away"), 0);
        save(f, &done, &o);
        assert_true(done.rows > 0);
        /* The log may have all that the catalogue has, and nothing says what its end was. */
        assert_true(done.findings > 0 || done.rows == f->n || strstr(p.path[i], "/wal/") != NULL);
        assert_int_equal(io->rename(io, "/away", p.path[i]), 0);
    }
    free_closed(f);
}

/* Catalogue and log together: what part files say, be they in packs (odd seeds) or not. */
static void nothing_but_parts(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        fixture *f = make(seed);
        const alm_io *io = alm_sim_io(f->sim);
        alm_salvage_result done;
        outcome o;
        remove_all(io, "/r/db/wal");
        assert_int_equal(io->unlink(io, "/r/db/catalog"), 0);
        save(f, &done, &o);
        assert_int_equal(o.distinct, 500);          /* those that were loaded */
        assert_true(done.rows == 500 || seed == 1); /* a pack has parts that were replaced, too */
        assert_int_equal(o.nulls[COL_SYM] + o.nulls[COL_TEXT], 0);
        alm_sim_free(f->sim);
        alm_arena_deinit(&f->arena);
        free(f->rows);
        free(f);
    }
}

/* Each call that fails ends the work with an error, or costs what it was for. */
static void calls_that_fail(void **state)
{
    (void)state;
    static const struct {
        alm_sim_op op;
        int error;
    } calls[] = {{ALM_SIM_OPEN, EIO}, {ALM_SIM_MAP, EIO},      {ALM_SIM_WRITE, ENOSPC},
                 {ALM_SIM_SYNC, EIO}, {ALM_SIM_SYNC_DIR, EIO}, {ALM_SIM_MKDIR, EACCES}};
    fixture *f = make(1);
    const alm_io *io = alm_sim_io(f->sim);
    alm_salvage_result done;
    for (size_t i = 0; i < ALM_COUNT(calls); i++) {
        for (int64_t nth = 1; nth < 40; nth += 3) {
            const int64_t before = alm_sim_failed(f->sim);
            alm_io_stat meta;
            alm_sim_fail(f->sim, calls[i].op, nth, calls[i].error, 1);
            const alm_status st = alm_storage_salvage(&f->cx, io, "/r", "/o", NULL, NULL, &done);
            const bool failed = alm_sim_failed(f->sim) > before;
            alm_sim_fail(f->sim, calls[i].op, 0, 0, 0);
            assert_true(failed || (st == ALM_OK && done.rows == f->n));
            assert_true(st != ALM_OK || !failed || done.findings > 0 || done.rows == f->n);
            alm_error_clear(&f->cx);
            if (io->stat(io, "/o", &meta) == 0)
                remove_all(io, "/o");
        }
    }
    free_closed(f);
}

/* ------------------------------------------------------------------- dictionaries */

enum { WORDS = 20 };

static alm_symbols *symbols_of(alm_ctx *cx)
{
    alm_symbols *sym = NULL;
    assert_int_equal(alm_symbols_new(cx, 1, 7, 3, &sym), ALM_OK);
    alm_symbols_identify(sym, 99);
    return sym;
}

static alm_str word_of(char *buf, size_t size, uint32_t code)
{
    const int n = snprintf(buf, size, code % 3 == 0 ? "%u of some length" : "%u", code);
    return (alm_str){buf, (size_t)n};
}

/* Five words a record. */
static uint32_t write_dict(alm_ctx *cx, const alm_io *io)
{
    char buf[64];
    alm_symbols *sym = symbols_of(cx);
    for (uint32_t code = 1; code <= WORDS; code++) {
        uint32_t got = 0;
        alm_symbols_saving saving;
        assert_int_equal(alm_symbols_intern_one(cx, sym, word_of(buf, sizeof buf, code), &got),
                         ALM_OK);
        if (code % 5 != 0)
            continue;
        assert_int_equal(alm_symbols_write(cx, sym, io, "", "d", code + 1, &saving), ALM_OK);
        assert_int_equal(io->close(io, saving.handle), 0);
        alm_symbols_saved(&saving);
    }
    const uint32_t crc = alm_symbols_crc(sym, WORDS + 1);
    alm_symbols_release(sym);
    return crc;
}

/* How many words are known; each is the right one. */
static uint32_t learned(alm_ctx *cx, const alm_io *io, uint32_t count, uint32_t crc)
{
    char buf[64];
    uint32_t known = 0;
    alm_symbols *sym = symbols_of(cx);
    if (count > 0)
        assert_int_equal(alm_symbols_lose(cx, sym, count, crc, "why"), ALM_OK);
    assert_int_equal(alm_symbols_learn_file(cx, sym, io, "/d", count, crc, false), ALM_OK);
    for (uint32_t code = 1; code < alm_symbols_count(sym); code++) {
        if (!alm_symbols_knows(sym, code))
            continue;
        assert_true(code <= WORDS);
        assert_true(alm_str_eq(alm_symbols_text(sym, code), word_of(buf, sizeof buf, code)));
        known++;
    }
    alm_symbols_release(sym);
    return known;
}

static void a_dictionary_never_gives_a_wrong_word(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_sim *sim = alm_sim_new(1);
    const alm_io *io = alm_sim_io(sim);
    alm_io_stat meta;
    const uint32_t crc = write_dict(&cx, io);
    assert_int_equal(io->stat(io, "/d", &meta), 0);
    assert_int_equal(learned(&cx, io, WORDS + 1, crc), WORDS);
    assert_int_equal(learned(&cx, io, 0, 0), WORDS);
    assert_int_equal(learned(&cx, io, WORDS + 1, crc + 1), 0); /* all is sound, and another one */
    for (int64_t at = 0; at < meta.size_bytes; at++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            assert_true(alm_sim_flip(sim, "/d", at, bit));
            const uint32_t known = learned(&cx, io, WORDS + 1, crc);
            assert_int_equal(known, at < 40 ? WORDS : WORDS - 5); /* 40: the header */
            assert_true(learned(&cx, io, 0, 0) <= WORDS);
            assert_true(alm_sim_flip(sim, "/d", at, bit));
        }
    }
    alm_sim_free(sim);
}

/* Offset of a record, 0 the first. */
static int64_t record_of(const alm_io *io, int record)
{
    char bytes[4096];
    const int h = io->open(io, "/d", ALM_IO_READ);
    const int64_t n = io->read(io, h, bytes, sizeof bytes, 0);
    int64_t at = 0;
    assert_int_equal(io->close(io, h), 0);
    for (; at + 4 <= n && (memcmp(bytes + at, "DICR", 4) != 0 || record-- > 0); at++)
        ;
    assert_true(at + 4 <= n);
    return at;
}

/* The checksum of a record covers the number of its first code: between two damaged ones a record counts by itself. */
static void a_record_between_damaged_ones_counts(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_sim *sim = alm_sim_new(1);
    const alm_io *io = alm_sim_io(sim);
    const uint32_t crc = write_dict(&cx, io);
    for (int record = 0; record < 4; record += 2) {
        assert_true(alm_sim_flip(sim, "/d", record_of(io, record) + 26, 1));
        assert_int_equal(learned(&cx, io, WORDS + 1, crc), WORDS - 5 * (1 + record / 2));
        assert_int_equal(learned(&cx, io, 0, 0), WORDS - 5 * (1 + record / 2));
    }
    alm_sim_free(sim);
}

/* Values of the column whose name says that they are lost. */
static uint32_t named_lost(fixture *f)
{
    uint32_t n = 0;
    alm_snapshot *snap = fix_snapshot(f);
    const alm_table *t = fix_table(snap);
    assert_null(t->closed);
    const alm_dict *dict = t->cols[COL_SYM].dict;
    for (uint32_t code = 1; code < dict->count; code++) {
        const alm_str text = alm_view_str(&dict->views[code], NULL);
        n += text.len > 14 && memcmp(text.ptr, "lost symbol 1/", 14) == 0;
    }
    alm_snapshot_release(snap);
    return n;
}

static uint32_t rebuild(fixture *f)
{
    alm_rebuild_result done;
    const alm_status st =
        alm_storage_rebuild_symbols(&f->cx, alm_sim_io(f->sim), "/r", NULL, NULL, &done);
    assert_string_equal(f->cx.err.msg, "");
    assert_int_equal(st, ALM_OK);
    return (uint32_t)done.lost;
}

/* The power goes at each call: the next rebuild ends as one that nothing cut off. `at`: of the bit that is damaged. */
static void cut_everywhere(int64_t at, bool parquet, bool loses)
{
    bool cut = true;
    for (int64_t nth = 1; cut; nth++) {
        fixture *f = make_with(1, parquet);
        alm_rebuild_result done;
        assert_true(alm_sim_flip(f->sim, "/r/db/tables/1/3.dict", at, 2));
        alm_sim_cut_after(f->sim, nth);
        const alm_status st =
            alm_storage_rebuild_symbols(&f->cx, alm_sim_io(f->sim), "/r", NULL, NULL, &done);
        alm_error_clear(&f->cx);
        cut = alm_sim_is_dead(f->sim);
        assert_true(cut || st == ALM_OK);
        const uint32_t lost = (uint32_t)done.lost;
        alm_sim_restart(f->sim);
        (void)rebuild(f);
        assert_int_equal(rebuild(f), 0); /* there is nothing left to do */
        fix_open(f);
        assert_true((named_lost(f) > 0) == loses);
        if (!cut)
            assert_int_equal(named_lost(f), lost);
        if (!loses)
            fix_check(f);
        fix_insert(f, 20, 8 * DAY, DAY);
        const uint32_t named = named_lost(f);
        fix_reopen(f);
        assert_int_equal(named_lost(f), named);
        fix_free(f);
        assert_true(nth < 500);
    }
}

static void a_rebuild_that_is_cut_off(void **state)
{
    (void)state;
    cut_everywhere(20, false, false); /* the header: all values are proven by their checksum */
    cut_everywhere(90, true, false);  /* Parquet parts have the words */
    cut_everywhere(90, false, true);
}

int main(void)
{
    alm_log_set_level(ALM_LOG_OFF);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_directory),
        cmocka_unit_test(one_bit_of_any_file),
        cmocka_unit_test(bits_of_several_files),
        cmocka_unit_test(a_file_that_is_gone),
        cmocka_unit_test(nothing_but_parts),
        cmocka_unit_test(calls_that_fail),
        cmocka_unit_test(a_dictionary_never_gives_a_wrong_word),
        cmocka_unit_test(a_record_between_damaged_ones_counts),
        cmocka_unit_test(a_rebuild_that_is_cut_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
