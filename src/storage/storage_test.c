/*
 * Goal: what is committed is visible to later snapshots only, survives a restart with and without a
 * checkpoint, on the simulated and on the real disk; catalogue changes likewise. Method: small
 * tables, read back through scans after every step.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "io/sim.h"
#include "storage/recover/recover.h"
#include "storage/state.h"
#include "storage/storage.h"

enum { TS, SYM, TXT, VAL, N_COLS };

static const alm_column COLS[N_COLS] = {
    {.name = "ts", .type = {.id = ALM_T_TIMESTAMP}},
    {.name = "sym", .type = {.id = ALM_T_SYMBOL}},
    {.name = "txt", .type = {.id = ALM_T_VARCHAR}},
    {.name = "val", .type = {.id = ALM_T_LONG}},
};

typedef struct world {
    alm_ctx cx;
    alm_arena arena;
    alm_sim *sim;
    const alm_io *io;
    char root[64];
    alm_storage *st;
    alm_storage_conf conf;
} world;

#define OK(w, expr)                                                                                \
    do {                                                                                           \
        const alm_status ok_ = (expr);                                                             \
        if (ok_ != ALM_OK)                                                                         \
            fail_msg("%s: %s", alm_status_name(ok_), (w)->cx.err.msg);                             \
    } while (0)
#define FAILS(w, code, expr)                                                                       \
    do {                                                                                           \
        assert_int_equal((expr), (code));                                                          \
        assert_true((w)->cx.err.msg[0] != 0);                                                      \
        alm_error_clear(&(w)->cx);                                                                 \
    } while (0)

static void world_open(world *w)
{
    OK(w, alm_storage_open(&w->cx, w->io, w->root, &w->conf, &w->st));
}

static void world_init(world *w, uint64_t seed)
{
    memset(w, 0, sizeof *w);
    alm_arena_init(&w->arena, NULL);
    w->cx.arena = &w->arena;
    w->sim = alm_sim_new(seed);
    w->io = alm_sim_io(w->sim);
    (void)snprintf(w->root, sizeof w->root, "r");
    alm_storage_conf_default(&w->conf);
    w->conf.wal_segment_bytes = 32 << 10;
    w->conf.manual = true;
    world_open(w);
}

static void world_deinit(world *w)
{
    alm_storage_close(w->st);
    alm_arena_deinit(&w->arena);
    alm_sim_free(w->sim);
}

static void restart(world *w)
{
    alm_storage_close(w->st);
    world_open(w);
}

/* As kill -9 with power loss: nothing is closed properly. The old storage leaks its memory on
 * purpose only in so far as alm_storage_close can run without touching the (dead) disk. */
static void power_cut(world *w)
{
    alm_sim_cut_after(w->sim, 1);
    alm_storage *old = w->st;
    alm_storage_close(old); /* its checkpoint fails: the disk is dead */
    alm_sim_restart(w->sim);
    world_open(w);
}

static alm_status create(world *w, const char *name, bool dedup)
{
    alm_column cols[N_COLS];
    memcpy(cols, COLS, sizeof cols);
    cols[TS].dedup_key = cols[SYM].dedup_key = dedup;
    const alm_table_spec spec = {.name = alm_str_of(name),
                                 .cols = cols,
                                 .n_cols = N_COLS,
                                 .ts_col = TS,
                                 .partition = ALM_PART_DAY,
                                 .wal = true,
                                 .dedup = dedup};
    return alm_table_create(&w->cx, w->st, &spec, NULL);
}

/* Rows with ts, symbol, text of the number; texts longer than a view for every third. */
static alm_status append(world *w, alm_txn *txn, const alm_table *t, const int64_t *ts,
                         const int64_t *val, uint32_t n)
{
    alm_view *sym, *txt;
    OK(w, ALM_NEWN(&w->cx, &w->arena, n, &sym));
    OK(w, ALM_NEWN(&w->cx, &w->arena, n, &txt));
    int64_t *times, *vals;
    OK(w, ALM_NEWN(&w->cx, &w->arena, n, &times));
    OK(w, ALM_NEWN(&w->cx, &w->arena, n, &vals));
    for (uint32_t i = 0; i < n; i++) {
        const char *s;
        OK(w, alm_arena_printf(&w->cx, &w->arena, &s, "s%d", (int)(val[i] % 7)));
        sym[i] = val[i] % 11 == 0 ? alm_view_null() : alm_view_of(alm_str_of(s));
        OK(w, alm_arena_printf(&w->cx, &w->arena, &s,
                               val[i] % 3 ? "t%d" : "a long text of number %d", (int)val[i]));
        txt[i] = alm_view_of(alm_str_of(s));
        times[i] = ts[i];
        vals[i] = val[i];
    }
    alm_vec cols[N_COLS] = {
        {.type = ALM_TY(TIMESTAMP), .width = 8, .data = times},
        {.type = ALM_TY(SYMBOL), .width = 16, .data = sym},
        {.type = ALM_TY(VARCHAR), .width = 16, .data = txt},
        {.type = ALM_TY(LONG), .width = 8, .data = vals},
    };
    const alm_batch batch = {.rows = n, .n_cols = N_COLS, .cols = cols};
    return alm_txn_append(&w->cx, txn, t, &batch);
}

static alm_status insert(world *w, const char *name, const int64_t *ts, const int64_t *val,
                         uint32_t n)
{
    alm_snapshot *snap;
    alm_txn *txn;
    OK(w, alm_snapshot_acquire(&w->cx, w->st, &snap));
    const alm_table *t = alm_snapshot_find(snap, alm_str_of(name));
    assert_non_null(t);
    alm_status st = alm_txn_begin(&w->cx, w->st, &txn);
    if (st == ALM_OK) {
        st = append(w, txn, t, ts, val, n);
        if (st == ALM_OK)
            st = alm_txn_commit(&w->cx, txn, NULL);
        else
            alm_txn_rollback(txn);
    }
    alm_snapshot_release(snap);
    alm_arena_reset(&w->arena);
    return st;
}

static void check_row(world *w, const alm_vec *vecs, size_t i)
{
    const int64_t val = ((const int64_t *)vecs[VAL].data)[i];
    char want[64];
    const alm_str sym = alm_vec_text(&vecs[SYM], i), txt = alm_vec_text(&vecs[TXT], i);
    (void)w;
    (void)snprintf(want, sizeof want, "s%d", (int)(val % 7));
    if (val % 11 == 0)
        assert_null(sym.ptr);
    else
        assert_true(alm_str_eq(sym, alm_str_of(want)));
    (void)snprintf(want, sizeof want, val % 3 ? "t%d" : "a long text of number %d", (int)val);
    assert_true(alm_str_eq(txt, alm_str_of(want)));
}

/* Values in scan order; every row is checked in all its columns, times must ascend. */
static int64_t read_all(world *w, alm_snapshot *snap, const char *name, int64_t *out, int64_t cap)
{
    static const uint32_t cols[N_COLS] = {0, 1, 2, 3};
    const alm_table *t = alm_snapshot_find(snap, alm_str_of(name));
    assert_non_null(t);
    alm_scan *scan;
    alm_scan_cursor *cur;
    OK(w, alm_scan_new(&w->cx, &w->arena, snap, t,
                       &(alm_scan_spec){.cols = cols, .n_cols = N_COLS, .all = true}, &scan));
    OK(w, alm_scan_cursor_new(&w->cx, &w->arena, scan, &cur));
    const bool wanted[N_COLS] = {true, true, true, true};
    int64_t n = 0, last = INT64_MIN;
    for (size_t s = 0; s < alm_scan_span_count(scan); s++) {
        const alm_span span = alm_scan_span_at(scan, s);
        for (int64_t row = 0; row < span.rows; row += ALM_BATCH_ROWS) {
            const uint32_t m = (uint32_t)ALM_MIN(span.rows - row, (int64_t)ALM_BATCH_ROWS);
            alm_vec vecs[N_COLS];
            OK(w, alm_scan_read(&w->cx, cur, s, row, m, wanted, vecs));
            for (uint32_t i = 0; i < m; i++) {
                const int64_t ts = ((const int64_t *)vecs[TS].data)[i];
                assert_true(ts >= last);
                last = ts;
                check_row(w, vecs, i);
                assert_true(n < cap);
                out[n++] = ((const int64_t *)vecs[VAL].data)[i];
            }
        }
    }
    alm_arena_reset(&w->arena);
    return n;
}

static void expect(world *w, const char *name, const int64_t *want, int64_t n)
{
    alm_snapshot *snap;
    int64_t got[20000];
    OK(w, alm_snapshot_acquire(&w->cx, w->st, &snap));
    const int64_t m = read_all(w, snap, name, got, (int64_t)ALM_COUNT(got));
    assert_int_equal(m, n);
    if (n > 0)
        assert_memory_equal(got, want, (size_t)n * sizeof *want);
    alm_snapshot_release(snap);
}

/* ------------------------------------------------------------------------- tests */

static void rows_survive(void **state)
{
    (void)state;
    world w;
    world_init(&w, 1);
    OK(&w, create(&w, "t", false));
    OK(&w, insert(&w, "t", (int64_t[]){10, 20, 30}, (int64_t[]){1, 2, 3}, 3));
    OK(&w, insert(&w, "t", (int64_t[]){30, 25, 40}, (int64_t[]){4, 5, 6}, 3)); /* one late */
    const int64_t want[] = {1, 2, 5, 3, 4, 6};
    expect(&w, "t", want, 6);
    power_cut(&w); /* from the log */
    expect(&w, "t", want, 6);
    restart(&w); /* from the catalogue's rows */
    expect(&w, "t", want, 6);
    OK(&w, alm_storage_checkpoint(&w.cx, w.st)); /* from parts */
    expect(&w, "t", want, 6);
    power_cut(&w);
    expect(&w, "t", want, 6);
    OK(&w, insert(&w, "t", (int64_t[]){5, 30}, (int64_t[]){7, 8}, 2)); /* parts and head */
    const int64_t more[] = {7, 1, 2, 5, 3, 4, 8, 6};
    expect(&w, "t", more, 8);
    power_cut(&w);
    expect(&w, "t", more, 8);
    int64_t n = -1;
    alm_storage_close(w.st);
    OK(&w, alm_storage_check(&w.cx, w.io, w.root, NULL, NULL, &n));
    assert_int_equal(n, 0);
    world_open(&w);
    world_deinit(&w);
}

static void snapshots_do_not_change(void **state)
{
    (void)state;
    world w;
    world_init(&w, 2);
    int64_t got[16];
    alm_snapshot *before, *after;
    OK(&w, create(&w, "t", false));
    OK(&w, insert(&w, "t", (int64_t[]){10}, (int64_t[]){1}, 1));
    OK(&w, alm_snapshot_acquire(&w.cx, w.st, &before));
    OK(&w, insert(&w, "t", (int64_t[]){20}, (int64_t[]){2}, 1));
    OK(&w, alm_snapshot_acquire(&w.cx, w.st, &after));
    OK(&w, alm_storage_checkpoint(&w.cx, w.st));
    OK(&w, alm_table_truncate(&w.cx, w.st, ALM_STR("T")));
    assert_int_equal(read_all(&w, before, "t", got, 16), 1);
    assert_int_equal(read_all(&w, after, "t", got, 16), 2);
    expect(&w, "t", NULL, 0);
    OK(&w, alm_table_drop(&w.cx, w.st, ALM_STR("t"), NULL));
    assert_int_equal(read_all(&w, after, "t", got, 16), 2); /* files are still there */
    assert_true(alm_snapshot_lsn(before) < alm_snapshot_lsn(after));
    alm_snapshot_release(before);
    alm_snapshot_release(after);
    world_deinit(&w);
}

static void transactions_are_atomic_over_tables(void **state)
{
    (void)state;
    world w;
    world_init(&w, 3);
    alm_txn *txn;
    alm_snapshot *snap;
    OK(&w, create(&w, "a", false));
    OK(&w, create(&w, "b", false));
    OK(&w, alm_snapshot_acquire(&w.cx, w.st, &snap));
    const alm_table *a = alm_snapshot_find(snap, ALM_STR("a"));
    const alm_table *b = alm_snapshot_find(snap, ALM_STR("B"));
    OK(&w, alm_txn_begin(&w.cx, w.st, &txn));
    OK(&w, append(&w, txn, a, (int64_t[]){1, 2}, (int64_t[]){1, 2}, 2));
    OK(&w, append(&w, txn, b, (int64_t[]){3}, (int64_t[]){3}, 1));
    OK(&w, append(&w, txn, a, (int64_t[]){0}, (int64_t[]){4}, 1));
    expect(&w, "a", NULL, 0);
    OK(&w, alm_txn_commit(&w.cx, txn, NULL));
    expect(&w, "a", (int64_t[]){4, 1, 2}, 3);
    expect(&w, "b", (int64_t[]){3}, 1);
    OK(&w, alm_txn_begin(&w.cx, w.st, &txn));
    OK(&w, append(&w, txn, a, (int64_t[]){9}, (int64_t[]){9}, 1));
    alm_txn_rollback(txn);
    expect(&w, "a", (int64_t[]){4, 1, 2}, 3);
    /* One of the tables is gone: nothing of the transaction is there. */
    OK(&w, alm_txn_begin(&w.cx, w.st, &txn));
    OK(&w, append(&w, txn, a, (int64_t[]){9}, (int64_t[]){9}, 1));
    OK(&w, append(&w, txn, b, (int64_t[]){9}, (int64_t[]){9}, 1));
    OK(&w, alm_table_drop(&w.cx, w.st, ALM_STR("b"), NULL));
    FAILS(&w, ALM_E_CONFLICT, alm_txn_commit(&w.cx, txn, NULL));
    expect(&w, "a", (int64_t[]){4, 1, 2}, 3);
    alm_snapshot_release(snap);
    power_cut(&w);
    expect(&w, "a", (int64_t[]){4, 1, 2}, 3);
    world_deinit(&w);
}

static void catalogue_changes_survive(void **state)
{
    (void)state;
    world w;
    world_init(&w, 4);
    OK(&w, create(&w, "one", false));
    OK(&w, create(&w, "two", true));
    FAILS(&w, ALM_E_EXISTS, create(&w, "ONE", false));
    OK(&w, insert(&w, "one", (int64_t[]){1}, (int64_t[]){1}, 1));
    OK(&w, alm_table_rename(&w.cx, w.st, ALM_STR("one"), ALM_STR("uno"), NULL));
    FAILS(&w, ALM_E_TABLE, alm_table_drop(&w.cx, w.st, ALM_STR("one"), NULL));
    FAILS(&w, ALM_E_EXISTS, alm_table_rename(&w.cx, w.st, ALM_STR("two"), ALM_STR("Uno"), NULL));
    OK(&w, alm_table_rename(&w.cx, w.st, ALM_STR("uno"), ALM_STR("UNO"), NULL));
    const alm_column extra = {.name = "extra", .type = {.id = ALM_T_SYMBOL}, .symbol_capacity = 64};
    OK(&w, alm_table_add_column(&w.cx, w.st, ALM_STR("uno"), &extra));
    FAILS(&w, ALM_E_DUPLICATE, alm_table_add_column(&w.cx, w.st, ALM_STR("uno"), &extra));
    for (int round = 0; round < 3; round++) {
        alm_snapshot *snap;
        OK(&w, alm_snapshot_acquire(&w.cx, w.st, &snap));
        assert_int_equal(alm_snapshot_count(snap), 2);
        const alm_table *uno = alm_snapshot_find(snap, ALM_STR("uno"));
        assert_string_equal(uno->name, "UNO");
        assert_int_equal(uno->n_cols, N_COLS + 1);
        assert_int_equal(uno->row_count, 1);
        assert_int_equal(uno->cols[N_COLS].symbol_capacity, 64);
        assert_int_equal(alm_table_col(uno, ALM_STR("EXTRA")), N_COLS);
        assert_null(alm_snapshot_find(snap, ALM_STR("one")));
        const alm_table *two = alm_snapshot_find(snap, ALM_STR("two"));
        assert_true(two->dedup && two->cols[SYM].dedup_key && !two->cols[VAL].dedup_key);
        assert_true(two->id > uno->id);
        alm_snapshot_release(snap);
        expect(&w, "uno", (int64_t[]){1}, 1);
        if (round == 0)
            power_cut(&w);
        else
            restart(&w);
    }
    OK(&w, alm_table_drop(&w.cx, w.st, ALM_STR("two"), NULL));
    OK(&w, create(&w, "two", false));
    power_cut(&w);
    expect(&w, "two", NULL, 0);
    world_deinit(&w);
}

static void many_tables_in_order(void **state)
{
    (void)state;
    world w;
    world_init(&w, 5);
    char name[32];
    for (int i = 0; i < 200; i++) {
        (void)snprintf(name, sizeof name, "t%d", i);
        OK(&w, create(&w, name, false));
    }
    for (int i = 0; i < 200; i += 3) {
        (void)snprintf(name, sizeof name, "T%d", i);
        OK(&w, alm_table_drop(&w.cx, w.st, alm_str_of(name), NULL));
    }
    for (int round = 0; round < 2; round++) {
        alm_snapshot *snap;
        OK(&w, alm_snapshot_acquire(&w.cx, w.st, &snap));
        assert_int_equal(alm_snapshot_count(snap), 133);
        for (int i = 0; i < 200; i++) {
            (void)snprintf(name, sizeof name, "t%d", i);
            const alm_table *t = alm_snapshot_find(snap, alm_str_of(name));
            assert_int_equal(t != NULL, i % 3 != 0);
            if (t != NULL)
                assert_string_equal(t->name, name);
        }
        alm_snapshot_release(snap);
        power_cut(&w);
    }
    world_deinit(&w);
}

/* Random late rows against a sorted model: ties in order of insertion. */
static void late_rows_keep_their_order(void **state)
{
    (void)state;
    enum { N = 6000 };
    static int64_t ts[N], val[N], want[N];
    world w;
    world_init(&w, 6);
    OK(&w, create(&w, "t", false));
    uint64_t seed = 9;
    for (int64_t i = 0; i < N;) {
        const uint32_t n = (uint32_t)ALM_MIN((int64_t)(1 + seed % 97), N - i);
        for (uint32_t k = 0; k < n; k++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
            ts[i + k] = i + (int64_t)((seed >> 33) % 500);
            val[i + k] = i + k;
        }
        OK(&w, insert(&w, "t", ts + i, val + i, n));
        i += n;
        if (i % 5 == 0 && i > N / 2)
            OK(&w, alm_storage_checkpoint(&w.cx, w.st));
    }
    int64_t n = 0;
    for (int64_t t = 0; t < N + 500; t++)
        for (int64_t i = ALM_MAX(t - 600, 0); i < ALM_MIN(t + 100, N); i++)
            if (ts[i] == t)
                want[n++] = val[i];
    assert_int_equal(n, N);
    expect(&w, "t", want, N);
    power_cut(&w);
    expect(&w, "t", want, N);
    restart(&w);
    expect(&w, "t", want, N);
    world_deinit(&w);
}

static void dedup_keeps_the_last(void **state)
{
    (void)state;
    world w;
    world_init(&w, 7);
    OK(&w, create(&w, "d", true));
    /* Symbols are val % 7: 1 and 8 agree, 2 and 9 agree. */
    OK(&w, insert(&w, "d", (int64_t[]){10, 10, 20}, (int64_t[]){1, 2, 3}, 3));
    OK(&w, insert(&w, "d", (int64_t[]){20, 20}, (int64_t[]){10, 17}, 2));
    OK(&w, insert(&w, "d", (int64_t[]){10}, (int64_t[]){8}, 1));
    OK(&w, insert(&w, "d", (int64_t[]){20, 30}, (int64_t[]){4, 5}, 2));
    alm_snapshot *snap;
    int64_t got[16];
    for (int round = 0; round < 4; round++) {
        OK(&w, alm_snapshot_acquire(&w.cx, w.st, &snap));
        assert_int_equal(read_all(&w, snap, "d", got, 16), 5);
        assert_true((got[0] == 2 && got[1] == 8) || (got[0] == 8 && got[1] == 2));
        assert_true((got[2] == 17 && got[3] == 4) || (got[2] == 4 && got[3] == 17));
        assert_int_equal(got[4], 5);
        alm_snapshot_release(snap);
        if (round == 0)
            power_cut(&w);
        else if (round == 1)
            OK(&w, alm_storage_checkpoint(&w.cx, w.st));
        else
            restart(&w);
    }
    world_deinit(&w);
}

static void bad_rows_are_refused(void **state)
{
    (void)state;
    world w;
    world_init(&w, 8);
    OK(&w, create(&w, "t", false));
    FAILS(&w, ALM_E_VALUE, insert(&w, "t", (int64_t[]){1, ALM_TS_NULL}, (int64_t[]){1, 2}, 2));
    expect(&w, "t", NULL, 0);
    const alm_table_spec none = {.name = ALM_STR("x"), .cols = COLS, .n_cols = N_COLS, .ts_col = 3};
    FAILS(&w, ALM_E_TYPE, alm_table_create(&w.cx, w.st, &none, NULL));
    const alm_column twice[2] = {COLS[0], {.name = "TS", .type = {.id = ALM_T_INT}}};
    const alm_table_spec dup = {.name = ALM_STR("x"), .cols = twice, .n_cols = 2, .ts_col = -1};
    FAILS(&w, ALM_E_DUPLICATE, alm_table_create(&w.cx, w.st, &dup, NULL));
    alm_storage *second;
    FAILS(&w, ALM_E_BUSY, alm_storage_open(&w.cx, w.io, w.root, &w.conf, &second));
    int64_t n;
    FAILS(&w, ALM_E_BUSY, alm_storage_check(&w.cx, w.io, w.root, NULL, NULL, &n));
    world_deinit(&w);
}

static void the_real_disk_works(void **state)
{
    (void)state;
    char root[] = "/tmp/alm_storage_XXXXXX";
    assert_non_null(mkdtemp(root));
    world w;
    memset(&w, 0, sizeof w);
    alm_arena_init(&w.arena, NULL);
    w.cx.arena = &w.arena;
    w.io = alm_io_posix();
    (void)snprintf(w.root, sizeof w.root, "%s", root);
    alm_storage_conf_default(&w.conf);
    w.conf.wal_segment_bytes = 64 << 10;
    world_open(&w);
    OK(&w, create(&w, "t", false));
    int64_t want[100];
    for (int64_t i = 0; i < 100; i++) {
        want[i] = i;
        OK(&w, insert(&w, "t", &i, &i, 1));
    }
    expect(&w, "t", want, 100);
    restart(&w);
    expect(&w, "t", want, 100);
    OK(&w, alm_storage_checkpoint(&w.cx, w.st));
    expect(&w, "t", want, 100);
    restart(&w);
    expect(&w, "t", want, 100);
    alm_storage_close(w.st);
    int64_t n = -1;
    OK(&w, alm_storage_check(&w.cx, w.io, w.root, NULL, NULL, &n));
    assert_int_equal(n, 0);
    alm_arena_deinit(&w.arena);
    char command[128];
    (void)snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

/* ----------------------------------------------------------------------- records */

static alm_status put_record(world *w, uint64_t seen, const char *key, const char *value)
{
    const alm_record row = {.key = alm_str_of(key),
                            .value = value == NULL ? (alm_str){NULL, 0} : alm_str_of(value)};
    const alm_records_change change = {.seen_lsn = seen, .rows = &row, .n = 1};
    return alm_records_put(&w->cx, w->st, &change);
}

/* "key=value " of each, by ascending key; *lsn of the newest change. */
static void list_records(world *w, char *text, size_t size, uint64_t *lsn)
{
    alm_snapshot *snap;
    size_t n = 0;
    OK(w, alm_snapshot_acquire(&w->cx, w->st, &snap));
    text[0] = 0;
    for (size_t i = 0; i < alm_snapshot_record_count(snap); i++) {
        const alm_record r = alm_snapshot_record_at(snap, i);
        n += (size_t)snprintf(text + n, size - n, "%.*s=%.*s ", (int)r.key.len, r.key.ptr,
                              (int)r.value.len, r.value.ptr);
    }
    *lsn = alm_snapshot_records_lsn(snap);
    alm_snapshot_release(snap);
}

static void records_are_kept(void **state)
{
    (void)state;
    world w;
    char text[256];
    uint64_t lsn = 1, later = 0;
    world_init(&w, 21);
    list_records(&w, text, sizeof text, &lsn);
    assert_int_equal(lsn, 0);
    OK(&w, put_record(&w, 0, "b", "2"));
    FAILS(&w, ALM_E_STALE, put_record(&w, 0, "c", "3"));
    list_records(&w, text, sizeof text, &lsn);
    assert_string_equal(text, "b=2 ");
    OK(&w, put_record(&w, lsn, "a", ""));
    OK(&w, put_record(&w, (uint64_t)ALM_RECORDS_BLIND, "b", "two"));
    OK(&w, put_record(&w, (uint64_t)ALM_RECORDS_BLIND, "gone", NULL)); /* never was there */
    list_records(&w, text, sizeof text, &lsn);
    assert_string_equal(text, "a= b=two ");
    restart(&w); /* the log */
    list_records(&w, text, sizeof text, &later);
    assert_string_equal(text, "a= b=two ");
    assert_int_equal(lsn, later);
    OK(&w, alm_storage_checkpoint(&w.cx, w.st));
    power_cut(&w); /* the catalogue file */
    list_records(&w, text, sizeof text, &later);
    assert_string_equal(text, "a= b=two ");
    assert_int_equal(lsn, later);
    OK(&w, put_record(&w, lsn, "a", NULL));
    FAILS(&w, ALM_E_LIMIT, put_record(&w, lsn, "", "x"));
    list_records(&w, text, sizeof text, &lsn);
    assert_string_equal(text, "b=two ");
    world_deinit(&w);
}

/* A record goes with the change of a table, or neither of both. */
static void records_go_with_tables(void **state)
{
    (void)state;
    world w;
    char text[256];
    uint64_t lsn = 0;
    world_init(&w, 22);
    const alm_record row = {.key = ALM_STR("k"), .value = ALM_STR("v")};
    const alm_records_change put = {.seen_lsn = 0, .rows = &row, .n = 1};
    const alm_record none = {.key = ALM_STR("k")};
    const alm_records_change take = {
        .seen_lsn = (uint64_t)ALM_RECORDS_BLIND, .rows = &none, .n = 1};
    OK(&w, create(&w, "t", false));
    FAILS(&w, ALM_E_TABLE, alm_table_drop(&w.cx, w.st, ALM_STR("u"), &put));
    list_records(&w, text, sizeof text, &lsn);
    assert_string_equal(text, "");
    OK(&w, alm_table_rename(&w.cx, w.st, ALM_STR("t"), ALM_STR("u"), &put));
    FAILS(&w, ALM_E_STALE, alm_table_drop(&w.cx, w.st, ALM_STR("u"), &put));
    expect(&w, "u", NULL, 0); /* it is there */
    restart(&w);
    list_records(&w, text, sizeof text, &lsn);
    assert_string_equal(text, "k=v ");
    OK(&w, alm_table_drop(&w.cx, w.st, ALM_STR("u"), &take));
    power_cut(&w);
    list_records(&w, text, sizeof text, &lsn);
    assert_string_equal(text, "");
    world_deinit(&w);
}

static bool has_file(const world *w, const char *path)
{
    alm_io_stat info;
    return w->io->stat(w->io, path, &info) == 0;
}

/* A dictionary goes with the first checkpoint that does not name it; until then, and while a copy may be made, recovery needs it. */
static void dictionaries_go_with_their_tables(void **state)
{
    (void)state;
    world w;
    const int64_t ts[] = {1, 2}, val[] = {1, 2};
    const char *const t = "r/db/tables/1/2.dict", *const u = "r/db/tables/2/2.dict";
    world_init(&w, 24);
    OK(&w, create(&w, "t", false));
    OK(&w, create(&w, "u", false));
    OK(&w, insert(&w, "t", ts, val, 2));
    OK(&w, insert(&w, "u", ts, val, 2));
    OK(&w, alm_storage_checkpoint(&w.cx, w.st));
    assert_true(has_file(&w, t) && has_file(&w, u));
    OK(&w, alm_table_drop(&w.cx, w.st, ALM_STR("t"), NULL));
    assert_true(has_file(&w, t)); /* a crash goes back to the catalogue that names it */
    power_cut(&w);
    expect(&w, "u", val, 2);
    alm_sweep(w.st, UINT64_MAX); /* the part, where the power cut undid that it was removed */
    OK(&w, alm_storage_hold(&w.cx, w.st));
    assert_true(has_file(&w, t));
    OK(&w, alm_storage_hold_release(&w.cx, w.st));
    OK(&w, alm_storage_checkpoint(&w.cx, w.st));
    assert_false(has_file(&w, t) || has_file(&w, "r/db/tables/1"));
    assert_true(has_file(&w, u));
    power_cut(&w);
    expect(&w, "u", val, 2);
    alm_snapshot *reader = NULL; /* files stay for it, and with them the directory */
    OK(&w, alm_snapshot_acquire(&w.cx, w.st, &reader));
    OK(&w, alm_table_drop(&w.cx, w.st, ALM_STR("u"), NULL));
    OK(&w, alm_storage_checkpoint(&w.cx, w.st));
    assert_true(!has_file(&w, u) && has_file(&w, "r/db/tables/2"));
    alm_snapshot_release(reader);
    assert_false(has_file(&w, "r/db/tables/2"));
    restart(&w); /* a clean stop is a checkpoint */
    assert_false(has_file(&w, u));
    world_deinit(&w);
}

static uint32_t symbols_of(world *w, const char *name)
{
    alm_snapshot *snap = NULL;
    OK(w, alm_snapshot_acquire(&w->cx, w->st, &snap));
    const alm_table *t = alm_snapshot_find(snap, alm_str_of(name));
    uint32_t count = 0;
    for (uint32_t c = 0; c < t->n_cols; c++)
        count += t->cols[c].dict != NULL ? t->cols[c].dict->count : 0;
    alm_snapshot_release(snap);
    return count;
}

/* TRUNCATE empties dictionaries, unless it is to keep them: the column is a new one. A snapshot of before reads its own. */
static void truncation_empties_dictionaries(void **state)
{
    (void)state;
    world w;
    const int64_t ts[] = {1, 2}, val[] = {1, 2};
    const alm_str names[] = {ALM_STR("t"), ALM_STR("u")};
    world_init(&w, 25);
    OK(&w, create(&w, "t", false));
    OK(&w, create(&w, "u", false));
    OK(&w, insert(&w, "t", ts, val, 2));
    OK(&w, insert(&w, "u", ts, val, 2));
    OK(&w, alm_storage_checkpoint(&w.cx, w.st));
    const uint32_t full = symbols_of(&w, "t");
    assert_true(full > 1 && has_file(&w, "r/db/tables/1/2.dict"));
    OK(&w, alm_tables_truncate(&w.cx, w.st, names, 2, true));
    assert_true(symbols_of(&w, "t") == full && symbols_of(&w, "u") == full);
    OK(&w, insert(&w, "t", ts, val, 2));
    alm_snapshot *snap = NULL;
    OK(&w, alm_snapshot_acquire(&w.cx, w.st, &snap));
    OK(&w, alm_tables_truncate(&w.cx, w.st, names, 2, false));
    assert_true(symbols_of(&w, "t") == 1 && symbols_of(&w, "u") == 1);
    assert_int_equal(alm_snapshot_find(snap, ALM_STR("t"))->cols[1].dict->count, full);
    alm_snapshot_release(snap);
    power_cut(&w);
    assert_true(symbols_of(&w, "t") == 1 && symbols_of(&w, "u") == 1);
    expect(&w, "t", val, 0);
    OK(&w, insert(&w, "t", ts, val, 2));
    power_cut(&w);
    expect(&w, "t", val, 2);
    assert_int_equal(symbols_of(&w, "t"), full);
    OK(&w, alm_storage_checkpoint(&w.cx, w.st));
    assert_false(has_file(&w, "r/db/tables/1/2.dict"));
    restart(&w);
    expect(&w, "t", val, 2);
    for (int i = 0; i < 3; i++) { /* with rows in memory, in parts, and without any */
        if (i < 2)
            OK(&w, insert(&w, "t", ts, val, 2));
        if (i == 1)
            OK(&w, alm_storage_checkpoint(&w.cx, w.st));
        OK(&w, alm_table_truncate(&w.cx, w.st, ALM_STR("t")));
        expect(&w, "t", val, 0);
        assert_int_equal(symbols_of(&w, "t"), 1);
    }
    world_deinit(&w);
}

static alm_status drop_partitions(world *w, const char *name, const int64_t *starts, uint32_t n)
{
    alm_snapshot *snap = NULL;
    OK(w, alm_snapshot_acquire(&w->cx, w->st, &snap));
    const alm_status e = alm_table_drop_partitions(
        &w->cx, w->st, alm_snapshot_find(snap, alm_str_of(name)), starts, n);
    alm_snapshot_release(snap);
    return e;
}

/* DROP PARTITION of everything is TRUNCATE; while rows are left, so are all symbols. */
static void dropping_all_partitions_empties_dictionaries(void **state)
{
    (void)state;
    world w;
    const int64_t day = INT64_C(86400000000), ts[] = {1, day + 1}, val[] = {1, 2};
    const int64_t starts[] = {0, day};
    world_init(&w, 27);
    OK(&w, create(&w, "t", false));
    for (int flushed = 0; flushed < 2; flushed++) {
        OK(&w, insert(&w, "t", ts, val, 2));
        if (flushed == 1)
            OK(&w, alm_storage_checkpoint(&w.cx, w.st));
        const uint32_t full = symbols_of(&w, "t");
        assert_true(full > 1);
        OK(&w, drop_partitions(&w, "t", starts, 1));
        assert_int_equal(symbols_of(&w, "t"), full);
        OK(&w, drop_partitions(&w, "t", starts, 2));
        assert_int_equal(symbols_of(&w, "t"), 1);
        power_cut(&w);
        assert_int_equal(symbols_of(&w, "t"), 1);
        expect(&w, "t", val, 0);
    }
    OK(&w, insert(&w, "t", ts, val, 2));
    restart(&w);
    expect(&w, "t", val, 2);
    world_deinit(&w);
}

/* A stop without a checkpoint leaves what waits for one. */
static void dictionaries_that_waited_are_swept(void **state)
{
    (void)state;
    world w;
    const int64_t ts[] = {1, 2}, val[] = {1, 2};
    const char *const first = "r/db/tables/1/2.dict";
    world_init(&w, 26);
    OK(&w, create(&w, "t", false));
    OK(&w, insert(&w, "t", ts, val, 2));
    OK(&w, alm_storage_hold(&w.cx, w.st));
    OK(&w, alm_table_truncate(&w.cx, w.st, ALM_STR("t")));
    OK(&w, insert(&w, "t", ts, val, 2));
    OK(&w, alm_storage_hold_release(&w.cx, w.st));
    alm_sweep(w.st, UINT64_MAX);
    assert_true(has_file(&w, first)); /* the catalogue names it */
    OK(&w, alm_storage_hold(&w.cx, w.st));
    OK(&w, alm_storage_hold_release(&w.cx, w.st));
    restart(&w);
    assert_true(has_file(&w, first));
    alm_sweep(w.st, UINT64_MAX);
    assert_false(has_file(&w, first));
    expect(&w, "t", val, 2);
    power_cut(&w);
    expect(&w, "t", val, 2);
    world_deinit(&w);
}

typedef struct moving {
    world *w;
    const char *from, *to;
} moving;

static int move_file(void *arg, const char *name)
{
    const moving *m = arg;
    char from[200], to[200];
    (void)snprintf(from, sizeof from, "%s/%s", m->from, name);
    (void)snprintf(to, sizeof to, "%s/%s", m->to, name);
    assert_int_equal(m->w->io->rename(m->w->io, from, to), 0);
    return 0;
}

static int count_file(void *arg, const char *name)
{
    (void)name;
    ++*(int *)arg;
    return 0;
}

/* Without catalogue and log nothing says what the files of tables are: they are left alone, whether it was checkpointed or not. */
static void nothing_is_swept_when_catalogue_and_log_are_lost(void **state)
{
    (void)state;
    world w;
    const int64_t ts[] = {1, 2}, val[] = {1, 2};
    int before = 0, after = 0;
    world_init(&w, 23);
    OK(&w, create(&w, "t", false));
    OK(&w, insert(&w, "t", ts, val, 2));
    OK(&w, alm_storage_checkpoint(&w.cx, w.st));
    alm_storage_close(w.st);
    assert_int_equal(w.io->list(w.io, "r/db/tables/1", count_file, &before), 0);
    assert_true(before > 0);
    moving away = {&w, "r/db/wal", "r/kept"}, back = {&w, "r/kept", "r/db/wal"};
    assert_int_equal(w.io->mkdir(w.io, "r/kept"), 0);
    assert_int_equal(w.io->list(w.io, "r/db/wal", move_file, &away), 0);
    assert_int_equal(w.io->rename(w.io, "r/db/catalog", "r/db/kept"), 0);
    FAILS(&w, ALM_E_CORRUPT, alm_storage_open(&w.cx, w.io, w.root, &w.conf, &w.st));
    FAILS(&w, ALM_E_CORRUPT, alm_storage_open(&w.cx, w.io, w.root, &w.conf, &w.st)); /* again */
    assert_int_equal(w.io->list(w.io, "r/db/tables/1", count_file, &after), 0);
    assert_int_equal(before, after);
    assert_int_equal(w.io->rename(w.io, "r/db/kept", "r/db/catalog"), 0);
    assert_int_equal(w.io->list(w.io, "r/kept", move_file, &back), 0);
    world_open(&w);
    expect(&w, "t", val, 2);
    world_deinit(&w);
}

int main(void)
{
    alm_log_set_level(ALM_LOG_OFF);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_survive),
        cmocka_unit_test(snapshots_do_not_change),
        cmocka_unit_test(transactions_are_atomic_over_tables),
        cmocka_unit_test(catalogue_changes_survive),
        cmocka_unit_test(many_tables_in_order),
        cmocka_unit_test(late_rows_keep_their_order),
        cmocka_unit_test(dedup_keeps_the_last),
        cmocka_unit_test(bad_rows_are_refused),
        cmocka_unit_test(records_are_kept),
        cmocka_unit_test(records_go_with_tables),
        cmocka_unit_test(dictionaries_go_with_their_tables),
        cmocka_unit_test(truncation_empties_dictionaries),
        cmocka_unit_test(dropping_all_partitions_empties_dictionaries),
        cmocka_unit_test(dictionaries_that_waited_are_swept),
        cmocka_unit_test(nothing_is_swept_when_catalogue_and_log_are_lost),
        cmocka_unit_test(the_real_disk_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
