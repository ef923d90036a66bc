/*
 * Goal    A materialized view is its query over its base table at the LSN it names: where no commit
 *         touched the base behind that LSN, the view has the rows of the base, whatever happened in
 *         between, and whenever the power was cut. A refresh of what was touched makes it whole.
 * Method  The query of the view is "all rows", in buckets of an hour. A list of random changes of the base
 *         and refreshes runs on the simulated disk; once as it is, with the view checked after each of
 *         them; and with a power cut at every call in turn, with the view checked after the restart.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/log.h"
#include "io/sim.h"
#include "storage/storage.h"

#define HOUR INT64_C(3600000000)
enum { STEPS = 60, ROWS_MAX = 8192 };

typedef struct row {
    int64_t ts, id;
} row;

typedef struct world {
    alm_ctx cx;
    alm_arena arena;
    alm_sim *sim;
    alm_storage *st;
    alm_storage_conf conf;
    uint64_t seed;
    int64_t next_id;
} world;

static uint64_t random_below(world *w, uint64_t below)
{
    w->seed += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = w->seed;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % below;
}

static alm_status world_open(world *w)
{
    w->st = NULL;
    alm_error_clear(&w->cx);
    return alm_storage_open(&w->cx, alm_sim_io(w->sim), "r", &w->conf, &w->st);
}

static void world_init(world *w, uint64_t seed)
{
    *w = (world){.seed = seed, .next_id = 1};
    w->sim = alm_sim_new(seed);
    alm_arena_init(&w->arena, NULL);
    w->cx.arena = &w->arena;
    alm_storage_conf_default(&w->conf);
    w->conf.manual = true;
    w->conf.wal_segment_bytes = 16384;
}

static void world_deinit(world *w)
{
    alm_storage_close(w->st);
    alm_sim_free(w->sim);
    alm_arena_deinit(&w->arena);
}

/* --------------------------------------------------------------------- changes */

static alm_status make(world *w, const char *name, alm_table_kind kind, const alm_view_def *def)
{
    const alm_column cols[] = {{.name = "ts", .type = {.id = ALM_T_TIMESTAMP}},
                               {.name = "id", .type = {.id = ALM_T_LONG}}};
    const alm_table_spec spec = {.name = alm_str_of(name),
                                 .cols = cols,
                                 .n_cols = 2,
                                 .ts_col = 0,
                                 .partition = ALM_PART_DAY,
                                 .kind = kind,
                                 .view = def};
    return alm_table_create(&w->cx, w->st, &spec, NULL);
}

static alm_status make_view(world *w, const char *name)
{
    alm_snapshot *snap = NULL;
    ALM_TRY(alm_snapshot_acquire(&w->cx, w->st, &snap));
    const alm_view_def def = {.sql = "select * from t",
                              .base = "t",
                              .base_id = alm_snapshot_find(snap, ALM_STR("t"))->id,
                              .every = {.count = 3, .unit = 'h'},
                              .zone = "CET",
                              .period_hi = INT64_MAX};
    alm_snapshot_release(snap);
    return make(w, name, ALM_TABLE_MATVIEW, &def);
}

static alm_status put(world *w, bool load, uint32_t n, int64_t lo, int64_t width)
{
    int64_t ts[64], id[64], rows = 0;
    alm_vec cols[2] = {{.type = ALM_TY(TIMESTAMP), .width = 8, .data = ts},
                       {.type = ALM_TY(LONG), .width = 8, .data = id}};
    const alm_batch batch = {.rows = n, .n_cols = 2, .cols = cols};
    for (uint32_t i = 0; i < n; i++) {
        ts[i] = lo + (int64_t)random_below(w, (uint64_t)width);
        id[i] = w->next_id++;
    }
    alm_snapshot *snap = NULL;
    ALM_TRY(alm_snapshot_acquire(&w->cx, w->st, &snap));
    const alm_table *t = alm_snapshot_find(snap, ALM_STR("t"));
    alm_status st;
    if (load) {
        alm_bulk *bulk = NULL;
        st = alm_bulk_begin(&w->cx, w->st, t, &bulk);
        if (st == ALM_OK && (st = alm_bulk_append(&w->cx, bulk, &batch)) == ALM_OK)
            st = alm_bulk_commit(&w->cx, bulk, &rows);
        else
            alm_bulk_rollback(bulk);
    } else {
        alm_txn *txn = NULL;
        st = alm_txn_begin(&w->cx, w->st, &txn);
        if (st == ALM_OK && (st = alm_txn_append(&w->cx, txn, t, &batch)) == ALM_OK)
            st = alm_txn_commit(&w->cx, txn, NULL);
        else
            alm_txn_rollback(txn);
    }
    alm_snapshot_release(snap);
    return st;
}

/* Deletes every third row of the span, or gives it another id. */
static alm_status edit(world *w, bool remove)
{
    alm_update *up = NULL;
    alm_scan *scan = NULL;
    int64_t rows = 0;
    const uint32_t col = 1;
    ALM_TRY(remove ? alm_delete_begin(&w->cx, w->st, NULL, ALM_STR("t"), &up)
                   : alm_update_begin(&w->cx, w->st, NULL, ALM_STR("t"), &col, 1, &up));
    alm_snapshot *snap = alm_update_snapshot(up);
    alm_status st = alm_scan_new(&w->cx, &w->arena, snap, alm_snapshot_find(snap, ALM_STR("t")),
                                 &(alm_scan_spec){.cols = &col, .n_cols = 1, .all = true}, &scan);
    for (size_t i = 0; st == ALM_OK && i < alm_scan_span_count(scan); i++) {
        const int64_t at = (int64_t)random_below(w, (uint64_t)alm_scan_span_at(scan, i).rows);
        int64_t id = w->next_id++;
        const alm_vec value = {.type = ALM_TY(LONG), .width = 8, .data = &id};
        st = alm_update_rows(&w->cx, up, i, &at, 1, remove ? NULL : &value);
    }
    if (st == ALM_OK)
        return alm_update_commit(&w->cx, up, &rows);
    alm_update_rollback(up);
    return st;
}

/* ------------------------------------------------------------------------ reading */

/* Rows of a table in ranges, in order of time; `all`: every one. */
static alm_status read_rows(world *w, alm_snapshot *snap, const char *name,
                            const alm_scan_range *ranges, uint32_t n, bool all, row *out,
                            uint32_t *n_out)
{
    const uint32_t cols[] = {0, 1};
    alm_scan *scan = NULL;
    alm_scan_cursor *cur = NULL;
    *n_out = 0;
    ALM_TRY(alm_scan_new(
        &w->cx, &w->arena, snap, alm_snapshot_find(snap, alm_str_of(name)),
        &(alm_scan_spec){.cols = cols, .n_cols = 2, .ranges = ranges, .n_ranges = n, .all = all},
        &scan));
    ALM_TRY(alm_scan_cursor_new(&w->cx, &w->arena, scan, &cur));
    for (size_t i = 0; i < alm_scan_span_count(scan); i++) {
        alm_vec vecs[2];
        const uint32_t rows = (uint32_t)alm_scan_span_at(scan, i).rows;
        assert_true(*n_out + rows <= ROWS_MAX);
        ALM_TRY(alm_scan_read(&w->cx, cur, i, 0, rows, NULL, vecs));
        for (uint32_t r = 0; r < rows; r++)
            out[(*n_out)++] =
                (row){((const int64_t *)vecs[0].data)[r], ((const int64_t *)vecs[1].data)[r]};
    }
    return ALM_OK;
}

static int64_t bucket(int64_t ts)
{
    return ts - (ts % HOUR + HOUR) % HOUR;
}

/* Ranges of whole hours, sorted and disjoint. */
static uint32_t to_hours(alm_scan_range *ranges, uint32_t n)
{
    uint32_t m = 0;
    for (uint32_t i = 0; i < n; i++) {
        const int64_t lo = bucket(ranges[i].lo), hi = bucket(ranges[i].hi) + HOUR - 1;
        if (m > 0 && lo <= ranges[m - 1].hi)
            ranges[m - 1].hi = hi;
        else
            ranges[m++] = (alm_scan_range){lo, hi};
    }
    return m;
}

typedef struct refreshing {
    alm_refresh *r;
    alm_scan_range *ranges;
    uint32_t n;
    bool all;
    alm_view_def state;
} refreshing;

/* A refresh up to its commit: what it has read and is going to write. */
static alm_status refresh_read(world *w, const char *view, refreshing *f)
{
    alm_snapshot *snap = NULL;
    uint32_t n_rows = 0;
    static row rows[ROWS_MAX];
    static int64_t ts[ROWS_MAX], id[ROWS_MAX];
    *f = (refreshing){0};
    ALM_TRY(alm_snapshot_acquire(&w->cx, w->st, &snap));
    const uint64_t view_id = alm_snapshot_find(snap, alm_str_of(view))->id;
    alm_snapshot_release(snap);
    ALM_TRY(alm_refresh_begin(&w->cx, w->st, view_id, &f->r));
    ALM_TRY(alm_snapshot_acquire(&w->cx, w->st, &snap));
    const alm_table *base = alm_snapshot_find(snap, ALM_STR("t"));
    f->state = *alm_refresh_table(f->r)->view;
    alm_status st = alm_table_touched(&w->cx, &w->arena, base, f->state.lsn, &f->ranges, &f->n);
    f->all = f->state.lsn == 0 || (f->n > 0 && f->ranges[0].lo == INT64_MIN);
    if (st == ALM_OK && !f->all)
        f->n = to_hours(f->ranges, f->n);
    if (st == ALM_OK)
        st = read_rows(w, snap, "t", f->ranges, f->n, f->all, rows, &n_rows);
    for (uint32_t i = 0; i < n_rows; i++) {
        ts[i] = rows[i].ts;
        id[i] = rows[i].id;
    }
    alm_vec cols[2] = {{.type = ALM_TY(TIMESTAMP), .width = 8, .data = ts},
                       {.type = ALM_TY(LONG), .width = 8, .data = id}};
    const alm_batch batch = {.rows = n_rows, .n_cols = 2, .cols = cols};
    if (st == ALM_OK && n_rows > 0)
        st = alm_refresh_append(&w->cx, f->r, &batch);
    f->state.lsn = alm_snapshot_lsn(snap);
    alm_snapshot_release(snap);
    if (st != ALM_OK)
        alm_refresh_rollback(f->r);
    return st;
}

static alm_status refresh_write(world *w, refreshing *f)
{
    return alm_refresh_commit(&w->cx, f->r, f->ranges, f->n, f->all, ALM_VIEW_STATE, &f->state,
                              NULL);
}

static alm_status refresh(world *w, const char *view)
{
    refreshing f;
    ALM_TRY(refresh_read(w, view, &f));
    return refresh_write(w, &f);
}

static int by_time_and_id(const void *a, const void *b)
{
    const row *x = a, *y = b;
    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static uint32_t outside(row *rows, uint32_t n, const alm_scan_range *ranges, uint32_t n_ranges)
{
    uint32_t m = 0;
    for (uint32_t i = 0; i < n; i++) {
        bool in = false;
        for (uint32_t k = 0; k < n_ranges && !in; k++)
            in = rows[i].ts >= ranges[k].lo && rows[i].ts <= ranges[k].hi;
        if (!in)
            rows[m++] = rows[i];
    }
    qsort(rows, m, sizeof *rows, by_time_and_id);
    return m;
}

/* Where nothing was touched since, the view is the base. */
static bool view_holds(world *w)
{
    static row base_rows[ROWS_MAX], view_rows[ROWS_MAX];
    alm_snapshot *snap = NULL;
    alm_scan_range *ranges = NULL;
    uint32_t n = 0, n_base = 0, n_view = 0;
    assert_int_equal(alm_snapshot_acquire(&w->cx, w->st, &snap), ALM_OK);
    const alm_table *base = alm_snapshot_find(snap, ALM_STR("t"));
    const alm_table *view = alm_snapshot_find(snap, ALM_STR("v"));
    bool ok = true;
    if (view != NULL && view->view->lsn > 0) {
        ok = strcmp(view->view->sql, "select * from t") == 0 && view->view->every.unit == 'h' &&
             strcmp(view->view->zone, "CET") == 0 && view->kind == ALM_TABLE_MATVIEW;
        ok = ok &&
             alm_table_touched(&w->cx, &w->arena, base, view->view->lsn, &ranges, &n) == ALM_OK;
        ok = ok && read_rows(w, snap, "t", NULL, 0, true, base_rows, &n_base) == ALM_OK &&
             read_rows(w, snap, "v", NULL, 0, true, view_rows, &n_view) == ALM_OK;
        n_base = outside(base_rows, n_base, ranges, n);
        n_view = outside(view_rows, n_view, ranges, n);
        ok = ok && n_base == n_view && memcmp(base_rows, view_rows, n_base * sizeof(row)) == 0;
    }
    alm_snapshot_release(snap);
    alm_arena_reset(&w->arena);
    return ok;
}

/* -------------------------------------------------------------------------- steps */

static alm_status drop_day(world *w)
{
    alm_snapshot *snap = NULL;
    const int64_t start = (int64_t)random_below(w, 4) * 24 * HOUR;
    ALM_TRY(alm_snapshot_acquire(&w->cx, w->st, &snap));
    const alm_status st =
        alm_table_drop_partitions(&w->cx, w->st, alm_snapshot_find(snap, ALM_STR("t")), &start, 1);
    alm_snapshot_release(snap);
    return st;
}

static alm_status step(world *w, int i)
{
    const int64_t now = (int64_t)i * 2 * HOUR;
    if (i == 0)
        return make(w, "t", ALM_TABLE_BASE, NULL);
    if (i == 2)
        return make_view(w, "v");
    if (i < 5)
        return put(w, false, 20, 0, 4 * HOUR);
    switch (random_below(w, 14)) {
    case 0:
    case 1:
        return put(w, false, 1 + (uint32_t)random_below(w, 40), now, HOUR); /* in order */
    case 2:
    case 3:
        return put(w, false, 1 + (uint32_t)random_below(w, 9), now / 2, 3 * HOUR); /* late */
    case 4:
        return put(w, true, 30, 0, now); /* all over, as parts */
    case 5:
        return edit(w, true);
    case 6:
        return edit(w, false);
    case 7:
        return random_below(w, 5) == 0 ? alm_table_truncate(&w->cx, w->st, ALM_STR("t"))
                                       : drop_day(w);
    case 8:
        return alm_storage_checkpoint(&w->cx, w->st);
    default:
        return refresh(w, "v");
    }
}

static bool run_steps(world *w, bool check)
{
    for (int i = 0; i < STEPS; i++) {
        if (step(w, i) != ALM_OK)
            return false;
        alm_arena_reset(&w->arena);
        if (check && i >= 2)
            assert_true(view_holds(w));
    }
    return true;
}

static void view_follows_its_base(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        world w;
        world_init(&w, seed);
        assert_int_equal(world_open(&w), ALM_OK);
        assert_true(run_steps(&w, true));
        alm_storage_close(w.st); /* with a checkpoint */
        assert_int_equal(world_open(&w), ALM_OK);
        assert_true(view_holds(&w));
        assert_int_equal(refresh(&w, "v"), ALM_OK);
        assert_true(view_holds(&w));
        world_deinit(&w);
    }
}

/* *finished: there were fewer calls. */
static bool survives_cut(uint64_t seed, int64_t k, bool *finished)
{
    world w;
    int64_t findings = 0;
    world_init(&w, seed);
    alm_sim_cut_after(w.sim, k);
    *finished = world_open(&w) == ALM_OK && run_steps(&w, false);
    if (w.st != NULL)
        alm_storage_close(w.st);
    alm_sim_restart(w.sim);
    bool ok = world_open(&w) == ALM_OK;
    alm_snapshot *snap = NULL;
    ok = ok && alm_snapshot_acquire(&w.cx, w.st, &snap) == ALM_OK;
    const bool there = ok && alm_snapshot_find(snap, ALM_STR("v")) != NULL;
    alm_snapshot_release(snap);
    if (ok && there) {
        ok = view_holds(&w) && put(&w, false, 5, 0, 50 * HOUR) == ALM_OK && view_holds(&w) &&
             refresh(&w, "v") == ALM_OK && view_holds(&w);
        alm_storage_close(w.st);
        w.st = NULL;
        ok = ok &&
             alm_storage_check(&w.cx, alm_sim_io(w.sim), "r", NULL, NULL, &findings) == ALM_OK &&
             findings == 0 && world_open(&w) == ALM_OK && view_holds(&w);
    }
    if (!ok)
        print_error("seed %llu, cut at call %lld: %s\n", (unsigned long long)seed, (long long)k,
                    w.cx.err.msg);
    world_deinit(&w);
    return ok;
}

static void power_cuts(void **state)
{
    (void)state;
#ifdef ALM_SANITIZED
    const int64_t stride = 12; /* of the three seeds together: every fourth call */
#else
    const int64_t stride = 3;
#endif
    for (uint64_t seed = 1; seed <= 3; seed++) {
        bool finished = false;
        for (int64_t k = (int64_t)seed; !finished; k += stride)
            assert_true(survives_cut(seed, k, &finished));
    }
}

/* ------------------------------------------------------------------------ touched */

static uint32_t touched(world *w, uint64_t lsn, alm_scan_range **ranges)
{
    alm_snapshot *snap = NULL;
    uint32_t n = 0;
    assert_int_equal(alm_snapshot_acquire(&w->cx, w->st, &snap), ALM_OK);
    assert_int_equal(alm_table_touched(&w->cx, &w->arena, alm_snapshot_find(snap, ALM_STR("t")),
                                       lsn, ranges, &n),
                     ALM_OK);
    alm_snapshot_release(snap);
    return n;
}

static uint64_t view_lsn(world *w)
{
    alm_snapshot *snap = NULL;
    assert_int_equal(alm_snapshot_acquire(&w->cx, w->st, &snap), ALM_OK);
    const uint64_t lsn = alm_snapshot_find(snap, ALM_STR("v"))->view->lsn;
    alm_snapshot_release(snap);
    return lsn;
}

static void touched_times_are_few_and_cover(void **state)
{
    (void)state;
    world w;
    alm_scan_range *ranges = NULL;
    world_init(&w, 7);
    assert_int_equal(world_open(&w), ALM_OK);
    assert_int_equal(make(&w, "t", ALM_TABLE_BASE, NULL), ALM_OK);
    assert_int_equal(put(&w, false, 3, 0, HOUR), ALM_OK);
    assert_int_equal(touched(&w, 0, &ranges), 0); /* nobody follows it */
    assert_int_equal(make_view(&w, "v"), ALM_OK);
    assert_int_equal(refresh(&w, "v"), ALM_OK);
    const uint64_t lsn = view_lsn(&w);
    assert_int_equal(put(&w, false, 1, 100 * HOUR, 1), ALM_OK);
    assert_int_equal(put(&w, true, 1, 300 * HOUR, 1), ALM_OK);
    assert_int_equal(touched(&w, lsn, &ranges), 2);
    assert_true(ranges[0].lo == 100 * HOUR && ranges[0].hi == 100 * HOUR);
    assert_true(ranges[1].lo == 300 * HOUR);
    assert_int_equal(alm_storage_checkpoint(&w.cx, w.st), ALM_OK); /* flushes touch nothing */
    assert_int_equal(touched(&w, lsn, &ranges), 2);
    for (int i = 0; i < 400; i++) /* more than are kept: the nearest become one */
        assert_int_equal(put(&w, false, 1, (1000 + i * (10 + i % 7)) * HOUR, 1), ALM_OK);
    const uint32_t n = touched(&w, lsn, &ranges);
    assert_true(n > 64 && n <= 128);
    for (int i = 0; i < 400; i++) {
        const int64_t ts = (1000 + i * (10 + i % 7)) * HOUR;
        bool in = false;
        for (uint32_t k = 0; k < n; k++)
            in = in || (ts >= ranges[k].lo && ts <= ranges[k].hi);
        assert_true(in);
    }
    assert_true(view_holds(&w));
    assert_int_equal(refresh(&w, "v"), ALM_OK);
    assert_int_equal(touched(&w, 0, &ranges), 0); /* all views have seen all: nothing is kept */
    assert_int_equal(alm_table_truncate(&w.cx, w.st, ALM_STR("t")), ALM_OK);
    assert_int_equal(touched(&w, 0, &ranges), 1);
    assert_true(ranges[0].lo == INT64_MIN && ranges[0].hi == INT64_MAX);
    assert_int_equal(alm_table_drop(&w.cx, w.st, ALM_STR("v"), NULL), ALM_OK);
    assert_int_equal(touched(&w, 0, &ranges), 0);
    world_deinit(&w);
}

/* The power goes, and comes again: what is there then is what the log says. */
static void power_off_and_on(world *w)
{
    alm_sim_cut_after(w->sim, 0);
    alm_storage_close(w->st);
    alm_sim_restart(w->sim);
    assert_int_equal(world_open(w), ALM_OK);
}

/* While a view is filled for the first time, rows come, and another view is refreshed behind them: what
 * the first has not read stays touched. */
static void views_are_filled_beside_others(void **state)
{
    (void)state;
    for (int checkpoint = 0; checkpoint < 2; checkpoint++) {
        world w;
        refreshing f;
        world_init(&w, 9);
        assert_int_equal(world_open(&w), ALM_OK);
        assert_int_equal(make(&w, "t", ALM_TABLE_BASE, NULL), ALM_OK);
        assert_int_equal(make_view(&w, "v"), ALM_OK);
        assert_int_equal(make_view(&w, "other"), ALM_OK);
        assert_int_equal(put(&w, false, 3, 0, HOUR), ALM_OK);
        assert_int_equal(refresh_read(&w, "v", &f), ALM_OK);
        assert_int_equal(put(&w, false, 3, 10 * HOUR, HOUR), ALM_OK);
        assert_int_equal(refresh(&w, "other"), ALM_OK);
        if (checkpoint)
            assert_int_equal(alm_storage_checkpoint(&w.cx, w.st), ALM_OK);
        assert_int_equal(refresh_write(&w, &f), ALM_OK);
        assert_true(view_holds(&w));
        power_off_and_on(&w);
        assert_true(view_lsn(&w) > 0);
        assert_true(view_holds(&w));
        assert_int_equal(refresh(&w, "v"), ALM_OK);
        assert_true(view_holds(&w));
        alm_scan_range *ranges = NULL;
        assert_int_equal(touched(&w, 0, &ranges), 0);
        world_deinit(&w);
    }
}

/* A view that nobody fills is no reason to keep what the others have seen. */
static void empty_views_keep_nothing(void **state)
{
    (void)state;
    world w;
    alm_scan_range *ranges = NULL;
    world_init(&w, 10);
    assert_int_equal(world_open(&w), ALM_OK);
    assert_int_equal(make(&w, "t", ALM_TABLE_BASE, NULL), ALM_OK);
    assert_int_equal(make_view(&w, "v"), ALM_OK);
    assert_int_equal(make_view(&w, "empty"), ALM_OK);
    assert_int_equal(put(&w, false, 3, 0, HOUR), ALM_OK);
    assert_int_equal(refresh(&w, "v"), ALM_OK);
    assert_int_equal(touched(&w, 0, &ranges), 0);
    assert_int_equal(put(&w, false, 3, 10 * HOUR, HOUR), ALM_OK);
    assert_int_equal(refresh(&w, "empty"), ALM_OK); /* it reads all there is */
    assert_true(view_holds(&w));
    world_deinit(&w);
}

static void views_are_replaced_and_changed(void **state)
{
    (void)state;
    world w;
    alm_snapshot *snap = NULL;
    const alm_column col = {.name = "x", .type = {.id = ALM_T_INT}};
    alm_view_def def = {.sql = "select 1 x"};
    alm_table_spec spec = {.name = ALM_STR("v"),
                           .cols = &col,
                           .n_cols = 1,
                           .ts_col = -1,
                           .kind = ALM_TABLE_VIEW,
                           .view = &def};
    world_init(&w, 8);
    assert_int_equal(world_open(&w), ALM_OK);
    assert_int_equal(make(&w, "t", ALM_TABLE_BASE, NULL), ALM_OK);
    assert_int_equal(alm_table_create(&w.cx, w.st, &spec, NULL), ALM_OK);
    assert_int_equal(alm_table_create(&w.cx, w.st, &spec, NULL), ALM_E_EXISTS);
    def.sql = "select 2 x";
    spec.replace = true;
    assert_int_equal(alm_table_create(&w.cx, w.st, &spec, NULL), ALM_OK);
    spec.name = ALM_STR("t"); /* a table is not replaced by a view */
    assert_int_equal(alm_table_create(&w.cx, w.st, &spec, NULL), ALM_E_EXISTS);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(alm_snapshot_acquire(&w.cx, w.st, &snap), ALM_OK);
        const alm_table *v = alm_snapshot_find(snap, ALM_STR("V"));
        assert_true(v->kind == ALM_TABLE_VIEW && v->row_count == 0);
        assert_string_equal(v->view->sql, "select 2 x");
        assert_string_equal(v->view->reason, i == 0 ? "" : "no such table");
        const alm_view_def to = {.reason = "no such table", .status_us = 5};
        assert_int_equal(alm_view_change(&w.cx, w.st, v->id, ALM_VIEW_STATUS, &to), ALM_OK);
        alm_snapshot_release(snap);
        alm_storage_close(w.st);
        assert_int_equal(world_open(&w), ALM_OK);
    }
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(view_follows_its_base),
        cmocka_unit_test(power_cuts),
        cmocka_unit_test(touched_times_are_few_and_cover),
        cmocka_unit_test(views_are_filled_beside_others),
        cmocka_unit_test(empty_views_keep_nothing),
        cmocka_unit_test(views_are_replaced_and_changed),
    };
    alm_log_set_level(ALM_LOG_OFF);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
