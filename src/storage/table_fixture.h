/*
 * table_fixture.h - for tests: a storage on the simulated disk with one table, and the rows it should
 * hold. Columns: ts, id (number of insertion), sym, text, x.
 */
#ifndef ALM_STORAGE_TABLE_FIXTURE_H
#define ALM_STORAGE_TABLE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "io/sim.h"
#include "storage/scan/scan.h"
#include "storage/write/compact.h"

#define DAY INT64_C(86400000000)
enum { COLS = 5, COL_TS = 0, COL_ID, COL_SYM, COL_TEXT, COL_X };

typedef struct fix_row {
    int64_t ts, id;
    uint32_t sym; /* 0: null */
    double x;
    int64_t text; /* number it is made of; < 0: null */
} fix_row;

typedef struct fixture {
    alm_ctx cx;
    alm_arena arena; /* of one batch or check */
    alm_sim *sim;
    alm_storage *st;
    alm_storage_conf conf;
    bool dedup;
    fix_row *rows; /* by insertion until fix_sort */
    int64_t n, cap, next_id;
    uint64_t seed;
} fixture;

static ALM_UNUSED uint64_t fix_random(fixture *f, uint64_t below)
{
    f->seed += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = f->seed;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % below;
}

static ALM_UNUSED void fix_open(fixture *f)
{
    const alm_status st = alm_storage_open(&f->cx, alm_sim_io(f->sim), "/r", &f->conf, &f->st);
    assert_string_equal(f->cx.err.msg, "");
    assert_int_equal(st, ALM_OK);
}

static ALM_UNUSED void fix_columns(alm_column *cols, bool dedup)
{
    static const char *const names[COLS] = {"ts", "id", "sym", "text", "x"};
    static const uint8_t types[COLS] = {ALM_T_TIMESTAMP, ALM_T_LONG, ALM_T_SYMBOL, ALM_T_VARCHAR,
                                        ALM_T_DOUBLE};
    for (uint32_t c = 0; c < COLS; c++)
        cols[c] = (alm_column){.name = names[c],
                               .type = {.id = types[c]},
                               .dedup_key = dedup && (c == COL_TS || c == COL_SYM)};
}

static ALM_UNUSED alm_table_spec fix_spec(const fixture *f, alm_column *cols)
{
    fix_columns(cols, f->dedup);
    return (alm_table_spec){.name = ALM_STR("t"),
                            .cols = cols,
                            .n_cols = COLS,
                            .ts_col = COL_TS,
                            .partition = ALM_PART_DAY,
                            .wal = true,
                            .dedup = f->dedup};
}

static ALM_UNUSED fixture *fix_new(uint64_t seed, bool dedup, bool create)
{
    fixture *f = calloc(1, sizeof(*f));
    f->seed = seed;
    f->dedup = dedup;
    f->sim = alm_sim_new(seed);
    alm_arena_init(&f->arena, NULL);
    f->cx.arena = &f->arena;
    assert_int_equal(alm_sim_io(f->sim)->mkdir(alm_sim_io(f->sim), "/r"), 0);
    assert_int_equal(alm_sim_io(f->sim)->sync_dir(alm_sim_io(f->sim), ""), 0);
    alm_storage_conf_default(&f->conf);
    f->conf.part_rows_max = 1000;
    f->conf.shared_parts_min =
        seed % 2 != 0 ? 1 : 16; /* small parts share files, or mostly do not */
    f->conf.wal_segment_bytes = 64 << 10;
    fix_open(f);
    if (create) {
        alm_column cols[COLS];
        const alm_table_spec spec = fix_spec(f, cols);
        assert_int_equal(alm_table_create(&f->cx, f->st, &spec, NULL), ALM_OK);
    }
    return f;
}

/* The same without a background thread, and with small segments of the log. */
static ALM_UNUSED fixture *fix_new_manual(uint64_t seed)
{
    fixture *f = fix_new(seed, false, true);
    alm_storage_close(f->st);
    f->conf.manual = true;
    f->conf.wal_segment_bytes = 8 << 10;
    fix_open(f);
    return f;
}

static ALM_UNUSED void fix_free(fixture *f)
{
    alm_storage_close(f->st);
    alm_sim_free(f->sim);
    alm_arena_deinit(&f->arena);
    free(f->rows);
    free(f);
}

static ALM_UNUSED alm_view fix_text(fixture *f, int64_t text)
{
    char *at = NULL;
    if (text < 0)
        return alm_view_null();
    assert_int_equal(alm_arena_bytes(&f->cx, &f->arena, 48, &at), ALM_OK);
    const int n =
        snprintf(at, 48, text % 2 == 0 ? "%lld" : "a long text of number %lld", (long long)text);
    return alm_view_of((alm_str){at, (size_t)n});
}

static ALM_UNUSED alm_view fix_symbol(fixture *f, uint32_t sym)
{
    char *at = NULL;
    if (sym == 0)
        return alm_view_null();
    assert_int_equal(alm_arena_bytes(&f->cx, &f->arena, 32, &at), ALM_OK);
    const int n = snprintf(at, 32, sym % 3 == 0 ? "S%u" : "symbol number %u", sym);
    return alm_view_of((alm_str){at, (size_t)n});
}

/* A batch of n fresh rows with times in [lo, lo + width); the oracle learns them. Arena memory. */
static ALM_UNUSED alm_batch fix_batch(fixture *f, uint32_t n, int64_t lo, int64_t width)
{
    if (f->n + n > f->cap) {
        f->cap = (f->n + n) * 2;
        f->rows = realloc(f->rows, (size_t)f->cap * sizeof(*f->rows));
    }
    alm_vec *cols = NULL;
    int64_t *ts = NULL, *id = NULL;
    alm_view *sym = NULL, *text = NULL;
    double *x = NULL;
    assert_int_equal(ALM_NEWN(&f->cx, &f->arena, COLS, &cols), ALM_OK);
    assert_int_equal(ALM_NEWN(&f->cx, &f->arena, n, &ts), ALM_OK);
    assert_int_equal(ALM_NEWN(&f->cx, &f->arena, n, &id), ALM_OK);
    assert_int_equal(ALM_NEWN(&f->cx, &f->arena, n, &sym), ALM_OK);
    assert_int_equal(ALM_NEWN(&f->cx, &f->arena, n, &text), ALM_OK);
    assert_int_equal(ALM_NEWN(&f->cx, &f->arena, n, &x), ALM_OK);
    for (uint32_t i = 0; i < n; i++) {
        const fix_row r = {.ts = lo + (int64_t)fix_random(f, (uint64_t)width),
                           .id = f->next_id++,
                           .sym = (uint32_t)fix_random(f, 40),
                           .x = (double)fix_random(f, 1000) / 8,
                           .text = (int64_t)fix_random(f, 5000) - 300};
        f->rows[f->n++] = r;
        ts[i] = r.ts;
        id[i] = r.id;
        sym[i] = fix_symbol(f, r.sym);
        text[i] = fix_text(f, r.text);
        x[i] = r.x;
    }
    cols[COL_TS] = (alm_vec){.type = ALM_TY(TIMESTAMP), .width = 8, .data = ts};
    cols[COL_ID] = (alm_vec){.type = ALM_TY(LONG), .width = 8, .data = id};
    cols[COL_SYM] = (alm_vec){.type = ALM_TY(SYMBOL), .width = 16, .data = sym};
    cols[COL_TEXT] = (alm_vec){.type = ALM_TY(VARCHAR), .width = 16, .data = text};
    cols[COL_X] = (alm_vec){.type = ALM_TY(DOUBLE), .width = 8, .data = x};
    return (alm_batch){.rows = n, .n_cols = COLS, .cols = cols};
}

static ALM_UNUSED const alm_table *fix_table(alm_snapshot *snap)
{
    const alm_table *table = alm_snapshot_find(snap, ALM_STR("T"));
    assert_non_null(table);
    return table;
}

static ALM_UNUSED alm_snapshot *fix_snapshot(fixture *f)
{
    alm_snapshot *snap = NULL;
    assert_int_equal(alm_snapshot_acquire(&f->cx, f->st, &snap), ALM_OK);
    return snap;
}

static ALM_UNUSED alm_status fix_squash(fixture *f)
{
    alm_snapshot *snap = fix_snapshot(f);
    const alm_status st = alm_table_squash(&f->cx, f->st, fix_table(snap));
    alm_snapshot_release(snap);
    return st;
}

static ALM_UNUSED alm_bulk *fix_bulk(fixture *f)
{
    alm_snapshot *snap = fix_snapshot(f);
    alm_bulk *bulk = NULL;
    assert_int_equal(alm_bulk_begin(&f->cx, f->st, fix_table(snap), &bulk), ALM_OK);
    alm_snapshot_release(snap);
    return bulk;
}

/* One bulk load of n rows in batches. */
static ALM_UNUSED void fix_load(fixture *f, int64_t n, int64_t lo, int64_t width)
{
    alm_bulk *bulk = fix_bulk(f);
    int64_t rows = 0;
    for (int64_t done = 0; done < n;) {
        const uint64_t some = 1 + fix_random(f, 900);
        const uint32_t m = (uint32_t)ALM_MIN((uint64_t)(n - done), some);
        const alm_batch batch = fix_batch(f, m, lo, width);
        assert_int_equal(alm_bulk_append(&f->cx, bulk, &batch), ALM_OK);
        alm_arena_reset(&f->arena);
        done += m;
    }
    assert_int_equal(alm_bulk_commit(&f->cx, bulk, &rows), ALM_OK);
    assert_int_equal(rows, n);
}

/* One transaction of n rows through log and head. */
static ALM_UNUSED void fix_insert(fixture *f, uint32_t n, int64_t lo, int64_t width)
{
    alm_snapshot *snap = fix_snapshot(f);
    alm_txn *txn = NULL;
    uint64_t lsn = 0;
    const alm_batch batch = fix_batch(f, n, lo, width);
    assert_int_equal(alm_txn_begin(&f->cx, f->st, &txn), ALM_OK);
    assert_int_equal(alm_txn_append(&f->cx, txn, fix_table(snap), &batch), ALM_OK);
    assert_int_equal(alm_txn_commit(&f->cx, txn, &lsn), ALM_OK);
    alm_snapshot_release(snap);
    alm_arena_reset(&f->arena);
}

static ALM_UNUSED int fix_by_time(const void *a, const void *b)
{
    const fix_row *x = a, *y = b;
    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* Oracle: order of the scan, and what DEDUP leaves. */
static ALM_UNUSED void fix_sort(fixture *f)
{
    if (f->n == 0)
        return;
    qsort(f->rows, (size_t)f->n, sizeof(*f->rows), fix_by_time);
    if (!f->dedup)
        return;
    int64_t kept = 0;
    for (int64_t i = 0; i < f->n; i++) {
        bool replaced = false;
        for (int64_t k = i + 1; k < f->n && f->rows[k].ts == f->rows[i].ts && !replaced; k++)
            replaced = f->rows[k].sym == f->rows[i].sym;
        if (!replaced)
            f->rows[kept++] = f->rows[i];
    }
    f->n = kept;
}

static ALM_UNUSED void fix_same(fixture *f, const alm_vec *v, size_t i, const fix_row *want)
{
    const alm_view text = fix_text(f, want->text), sym = fix_symbol(f, want->sym);
    const alm_view *texts = v[COL_TEXT].data; /* a part lacks a column of nulls */
    const double *x = v[COL_X].data;
    assert_int_equal(((const int64_t *)v[COL_TS].data)[i], want->ts);
    assert_int_equal(((const int64_t *)v[COL_ID].data)[i], want->id);
    assert_true(x[v[COL_X].is_const ? 0 : i] == want->x);
    assert_true(alm_view_eq(&texts[v[COL_TEXT].is_const ? 0 : i], v[COL_TEXT].heap, &text, NULL));
    const alm_view *got = &v[COL_SYM].dict->views[alm_vec_code(&v[COL_SYM], i)];
    assert_true(alm_view_eq(got, NULL, &sym, NULL));
}

/* The table of a snapshot holds exactly rows[n], which are in order. */
static ALM_UNUSED void fix_check_rows(fixture *f, alm_snapshot *snap, const fix_row *rows,
                                      int64_t n)
{
    const uint32_t cols[COLS] = {0, 1, 2, 3, 4};
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    alm_scan *scan = NULL;
    alm_scan_cursor *cur = NULL;
    assert_int_equal(alm_scan_new(&f->cx, &arena, snap, fix_table(snap),
                                  &(alm_scan_spec){.cols = cols, .n_cols = COLS, .all = true},
                                  &scan),
                     ALM_OK);
    assert_int_equal(alm_scan_cursor_new(&f->cx, &arena, scan, &cur), ALM_OK);
    assert_int_equal(alm_scan_rows(scan), n);
    int64_t at = 0;
    for (size_t i = 0; i < alm_scan_span_count(scan); i++) {
        const alm_span span = alm_scan_span_at(scan, i);
        for (int64_t row = 0; row < span.rows; row += ALM_BATCH_ROWS) {
            const uint32_t m = (uint32_t)ALM_MIN(span.rows - row, (int64_t)ALM_BATCH_ROWS);
            alm_vec vecs[COLS];
            assert_int_equal(alm_scan_read(&f->cx, cur, i, row, m, NULL, vecs), ALM_OK);
            for (uint32_t k = 0; k < m; k++)
                fix_same(f, vecs, k, &rows[at + k]);
            at += m;
            alm_arena_reset(&f->arena);
        }
    }
    assert_int_equal(at, n);
    alm_arena_deinit(&arena);
}

/* One step of compaction; false: there was nothing to do. */
static ALM_UNUSED bool fix_compact(fixture *f)
{
    bool did = false;
    alm_snapshot *snap = fix_snapshot(f);
    const uint64_t id = fix_table(snap)->id;
    alm_tab *tab = alm_tab_retain(alm_version_of(fix_table(snap))->tab);
    alm_snapshot_release(snap);
    assert_int_equal(alm_tab_lock(&f->cx, f->st, tab, ALM_TAB_MAINT), ALM_OK);
    assert_int_equal(alm_compact_table(&f->cx, f->st, id, &did), ALM_OK);
    alm_tab_unlock(f->st, tab, ALM_TAB_MAINT);
    alm_tab_release(tab);
    return did;
}

/* CONVERT PARTITION: all whose number has this remainder of `of`. */
static ALM_UNUSED void fix_convert(fixture *f, bool parquet, size_t of, size_t remainder)
{
    alm_snapshot *snap = fix_snapshot(f);
    alm_partition_info *parts = NULL;
    size_t n = 0;
    int64_t starts[64];
    uint32_t n_starts = 0;
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    assert_int_equal(alm_table_partitions(&f->cx, &arena, snap, fix_table(snap), &parts, &n),
                     ALM_OK);
    for (size_t i = 0; i < n; i++)
        if (i % of == remainder && !parts[i].detached && n_starts < ALM_COUNT(starts))
            starts[n_starts++] = parts[i].bucket;
    const alm_status st =
        alm_table_convert_partitions(&f->cx, f->st, fix_table(snap), parquet, starts, n_starts);
    assert_string_equal(f->cx.err.msg, "");
    assert_int_equal(st, ALM_OK);
    alm_arena_deinit(&arena);
    alm_snapshot_release(snap);
}

/* The table holds the rows of the oracle, now. */
static ALM_UNUSED void fix_check(fixture *f)
{
    fix_sort(f);
    alm_snapshot *snap = fix_snapshot(f);
    fix_check_rows(f, snap, f->rows, f->n);
    alm_snapshot_release(snap);
}

/* The table of another storage holds the first n rows that were inserted, and no others. */
static ALM_UNUSED void fix_check_prefix(fixture *f, alm_storage *st, int64_t n)
{
    alm_snapshot *snap = NULL;
    assert_int_equal(alm_snapshot_acquire(&f->cx, st, &snap), ALM_OK);
    fix_sort(f);
    fix_row *rows = calloc((size_t)f->n + 1, sizeof *rows);
    int64_t kept = 0;
    for (int64_t i = 0; i < f->n; i++)
        if (f->rows[i].id < n)
            rows[kept++] = f->rows[i];
    assert_int_equal(kept, n);
    fix_check_rows(f, snap, rows, n);
    free(rows);
    alm_snapshot_release(snap);
}

static ALM_UNUSED void fix_reopen(fixture *f)
{
    alm_storage_close(f->st);
    fix_open(f);
}

static ALM_UNUSED int64_t fix_files(fixture *f, const char *dir);
static int fix_count(void *arg, const char *name)
{
    (void)name;
    ++*(int64_t *)arg;
    return 0;
}
static ALM_UNUSED int64_t fix_files(fixture *f, const char *dir)
{
    int64_t n = 0;
    const alm_io *io = alm_sim_io(f->sim);
    return io->list(io, dir, fix_count, &n) < 0 ? 0 : n;
}

#endif
