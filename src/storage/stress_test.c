/*
 * Goal: writers, readers, catalogue changes and the background thread (flush, compaction, checkpoint,
 * recycling) together keep the promises: a transaction over two tables is seen wholly or not at all,
 * counts never go back, own commits are visible at once, nothing is lost over a restart.
 * Method: real threads, tiny limits so that everything happens often; run under TSan as well.
 */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/log.h"
#include "io/maps.h"
#include "io/sim.h"
#include "storage/storage.h"
#include "storage/tree_for_test.h"

enum { WRITERS = 3, READERS = 2, OTHERS = 2, COMMITS = 120, ROWS = 50 };

typedef struct shared {
    alm_storage *st;
    _Atomic int64_t acknowledged; /* rows in each of the two tables */
    atomic_bool stop;
    _Atomic int64_t wrong, reads,
        started; /* started: commits that nobody waited for in the storage */
    int64_t converted;
    sem_t called; /* somebody shall lead */
    char why[256];
} shared;

typedef struct worker {
    shared *s;
    int number;
} worker;

static void wrong(shared *s, const alm_ctx *cx, const char *what)
{
    if (atomic_fetch_add(&s->wrong, 1) == 0)
        (void)snprintf(s->why, sizeof s->why, "%s: %.180s", what, cx->err.msg);
}

static alm_status create(alm_ctx *cx, alm_storage *st, const char *name)
{
    const alm_column cols[] = {{.name = "ts", .type = {.id = ALM_T_TIMESTAMP}},
                               {.name = "sym", .type = {.id = ALM_T_SYMBOL}},
                               {.name = "val", .type = {.id = ALM_T_LONG}}};
    const alm_table_spec spec = {.name = alm_str_of(name),
                                 .cols = cols,
                                 .n_cols = 3,
                                 .ts_col = 0,
                                 .partition = ALM_PART_HOUR};
    return alm_table_create(cx, st, &spec, NULL);
}

/* ------------------------------------------------------- commits that are told of */

static void call_leader(void *arg)
{
    shared *s = arg;
    (void)sem_post(&s->called);
}

static void *lead_main(void *arg)
{
    shared *s = arg;
    while (sem_wait(&s->called) == 0 && !atomic_load(&s->stop))
        alm_storage_lead(s->st);
    return NULL;
}

static void told(void *arg)
{
    (void)sem_post(arg);
}

/* Commits by being told of it, where that can be. */
static alm_status commit_told(alm_ctx *cx, shared *s, alm_txn *txn)
{
    alm_txn_commit_run *run = NULL;
    sem_t over;
    (void)sem_init(&over, 0, 0);
    ALM_TRY(alm_txn_commit_start(cx, txn, told, &over, &run));
    if (run == NULL)
        return alm_txn_commit(cx, txn, NULL);
    atomic_fetch_add(&s->started, 1);
    (void)sem_wait(&over);
    (void)sem_destroy(&over);
    return alm_txn_commit_end(cx, run);
}

static alm_status write_both(alm_ctx *cx, shared *s, int64_t base)
{
    int64_t ts[ROWS], val[ROWS];
    alm_view sym[ROWS];
    char text[ROWS][16];
    for (int64_t i = 0; i < ROWS; i++) {
        ts[i] = (base + i * 7 % ROWS) * INT64_C(10000000) - (i % 11 == 0 ? 3000000000 : 0);
        val[i] = base + i;
        (void)snprintf(text[i], sizeof text[i], "s%lld", (long long)((base + i) % 200));
        sym[i] = alm_view_of(alm_str_of(text[i]));
    }
    alm_snapshot *snap;
    alm_txn *txn;
    ALM_TRY(alm_snapshot_acquire(cx, s->st, &snap));
    alm_status st = alm_txn_begin(cx, s->st, &txn);
    for (int i = 0; i < 2 && st == ALM_OK; i++) {
        const alm_table *t = alm_snapshot_find(snap, i == 0 ? ALM_STR("x") : ALM_STR("y"));
        alm_vec cols[64] = {{.type = ALM_TY(TIMESTAMP), .width = 8, .data = ts},
                            {.type = ALM_TY(SYMBOL), .width = 16, .data = sym},
                            {.type = ALM_TY(LONG), .width = 8, .data = val}};
        for (uint32_t c = 3; c < t->n_cols && st == ALM_OK; c++)
            st = alm_vec_null(cx, cx->arena, t->cols[c].type, &cols[c]);
        const alm_batch batch = {.rows = ROWS, .n_cols = t->n_cols, .cols = cols};
        if (st == ALM_OK)
            st = alm_txn_append(cx, txn, t, &batch);
        if (st != ALM_OK)
            alm_txn_rollback(txn);
    }
    if (st == ALM_OK)
        st = base / ROWS % 3 == 0 ? alm_txn_commit(cx, txn, NULL) : commit_told(cx, s, txn);
    alm_snapshot_release(snap);
    return st;
}

static void *write_main(void *arg)
{
    const worker *me = arg;
    shared *s = me->s;
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    alm_ctx cx = {.arena = &arena};
    for (int64_t i = 0; i < COMMITS; i++) {
        if (write_both(&cx, s, (i * WRITERS + me->number) * ROWS) != ALM_OK) {
            wrong(s, &cx, "write");
            break;
        }
        const int64_t least = atomic_fetch_add(&s->acknowledged, ROWS) + ROWS;
        alm_snapshot *snap;
        if (alm_snapshot_acquire(&cx, s->st, &snap) != ALM_OK)
            break;
        if (alm_snapshot_find(snap, ALM_STR("x"))->row_count < least)
            wrong(s, &cx, "own rows are not visible");
        alm_snapshot_release(snap);
        alm_arena_reset(&arena);
    }
    alm_arena_deinit(&arena);
    return NULL;
}

/* Rows that a scan delivers, in order of time; -1 on an error. */
static int64_t scan_count(alm_ctx *cx, alm_snapshot *snap, const alm_table *t)
{
    static const uint32_t cols[] = {0, 1, 2};
    const bool wanted[] = {true, true, true};
    alm_scan *scan;
    alm_scan_cursor *cur;
    int64_t n = 0, last = INT64_MIN;
    if (alm_scan_new(cx, cx->arena, snap, t,
                     &(alm_scan_spec){.cols = cols, .n_cols = 3, .all = true}, &scan) != ALM_OK ||
        alm_scan_cursor_new(cx, cx->arena, scan, &cur) != ALM_OK)
        return -1;
    for (size_t i = 0; i < alm_scan_span_count(scan); i++) {
        const int64_t rows = alm_scan_span_at(scan, i).rows;
        for (int64_t row = 0; row < rows; row += ALM_BATCH_ROWS) {
            const uint32_t m = (uint32_t)ALM_MIN(rows - row, (int64_t)ALM_BATCH_ROWS);
            alm_vec v[3];
            if (alm_scan_read(cx, cur, i, row, m, wanted, v) != ALM_OK)
                return -1;
            for (uint32_t k = 0; k < m; k++) {
                char want[16];
                const int64_t ts = ((const int64_t *)v[0].data)[k];
                const int64_t val = ((const int64_t *)v[2].data)[k];
                (void)snprintf(want, sizeof want, "s%lld", (long long)(val % 200));
                if (ts < last || !alm_str_eq(alm_vec_text(&v[1], k), alm_str_of(want)))
                    return -2;
                last = ts;
                n++;
            }
        }
    }
    return n;
}

static void *read_main(void *arg)
{
    const worker *me = arg;
    shared *s = me->s;
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    int64_t before = 0;
    while (!atomic_load(&s->stop)) {
        alm_ctx cx = {.arena = &arena};
        alm_snapshot *snap;
        const int64_t least = atomic_load(&s->acknowledged);
        if (alm_snapshot_acquire(&cx, s->st, &snap) != ALM_OK)
            break;
        const alm_table *x = alm_snapshot_find(snap, ALM_STR("x"));
        const alm_table *y = alm_snapshot_find(snap, ALM_STR("y"));
        const int64_t in_x = scan_count(&cx, snap, x), in_y = scan_count(&cx, snap, y);
        if (in_x != in_y || in_x != x->row_count)
            wrong(s, &cx, "half a transaction");
        if (in_x < least || in_x < before)
            wrong(s, &cx, "rows are missing");
        before = in_x;
        alm_snapshot_release(snap);
        alm_arena_reset(&arena);
        atomic_fetch_add(&s->reads, 1);
    }
    alm_arena_deinit(&arena);
    return NULL;
}

static void *change_main(void *arg)
{
    const worker *me = arg;
    shared *s = me->s;
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    for (int i = 0; !atomic_load(&s->stop); i++) {
        alm_ctx cx = {.arena = &arena};
        char name[32];
        (void)snprintf(name, sizeof name, "other%d", i);
        if (create(&cx, s->st, name) != ALM_OK ||
            (i % 2 == 1 && alm_table_drop(&cx, s->st, alm_str_of(name), NULL) != ALM_OK))
            wrong(s, &cx, "create and drop");
        (void)snprintf(name, sizeof name, "col%d", i);
        const alm_column col = {.name = name, .type = {.id = ALM_T_DOUBLE}};
        if (i < 20 &&
            alm_table_add_column(&cx, s->st, i % 2 ? ALM_STR("x") : ALM_STR("y"), &col) != ALM_OK)
            wrong(s, &cx, "add column");
        const struct timespec nap = {.tv_nsec = 5000000};
        (void)nanosleep(&nap, NULL);
    }
    alm_arena_deinit(&arena);
    return NULL;
}

/* Partitions become Parquet and native again, under everybody. */
static void *convert_main(void *arg)
{
    const worker *me = arg;
    shared *s = me->s;
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    for (int i = 0; !atomic_load(&s->stop); i++) {
        alm_ctx cx = {.arena = &arena};
        alm_snapshot *snap;
        alm_partition_info *parts = NULL;
        size_t n = 0;
        if (alm_snapshot_acquire(&cx, s->st, &snap) != ALM_OK)
            break;
        const alm_table *t = alm_snapshot_find(snap, i % 2 == 0 ? ALM_STR("x") : ALM_STR("y"));
        if (alm_table_partitions(&cx, &arena, snap, t, &parts, &n) != ALM_OK ||
            (n > 0 && alm_table_convert_partitions(&cx, s->st, t, i % 3 != 0,
                                                   &parts[(size_t)i % n].bucket, 1) != ALM_OK))
            wrong(s, &cx, "convert");
        s->converted += n > 0;
        alm_snapshot_release(snap);
        alm_arena_reset(&arena);
    }
    alm_arena_deinit(&arena);
    return NULL;
}

/* `sim` NULL: on the real disk, with so few maps that files are let go under everybody. */
static void everything_on(const alm_io *io, const char *root, alm_sim *sim, int64_t copies)
{
    alm_log_set_level(ALM_LOG_OFF);
    alm_ctx cx = {0};
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    cx.arena = &arena;
    alm_storage_conf conf;
    alm_storage_conf_default(&conf);
    conf.wal_segment_bytes = 64 << 10;
    conf.head_bytes_max = 256 << 10;
    conf.table_head_bytes_max = 128 << 10;
    conf.checkpoint_wal_bytes = 256 << 10;
    conf.decoded_bytes_max = 100 << 10;
    conf.maps_max = 3;
    conf.copies_bytes_max = copies;
    conf.sync = sim != NULL ? ALM_SYNC_COMMIT : ALM_SYNC_OFF;
    shared s = {0};
    assert_int_equal(alm_storage_open(&cx, io, root, &conf, &s.st), ALM_OK);
    assert_int_equal(create(&cx, s.st, "x"), ALM_OK);
    assert_int_equal(create(&cx, s.st, "y"), ALM_OK);
    pthread_t leader;
    (void)sem_init(&s.called, 0, 0);
    alm_storage_lead_by(s.st, call_leader, &s);
    assert_int_equal(pthread_create(&leader, NULL, lead_main, &s), 0);
    worker workers[WRITERS + READERS + OTHERS];
    pthread_t threads[WRITERS + READERS + OTHERS];
    for (int i = 0; i < WRITERS + READERS + OTHERS; i++) {
        workers[i] = (worker){.s = &s, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL,
                                        i < WRITERS              ? write_main
                                        : i < WRITERS + READERS  ? read_main
                                        : i == WRITERS + READERS ? change_main
                                                                 : convert_main,
                                        &workers[i]),
                         0);
    }
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    atomic_store(&s.stop, true);
    for (int i = WRITERS; i < WRITERS + READERS + OTHERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    (void)sem_post(&s.called);
    assert_int_equal(pthread_join(leader, NULL), 0);
    assert_true(s.started > 0);
    if (s.wrong > 0)
        fail_msg("%lld times: %s", (long long)s.wrong, s.why);
    assert_true(s.reads > 0);
    assert_true(s.converted > 0);
    assert_int_equal(s.acknowledged, WRITERS * COMMITS * ROWS);
    for (int round = 0; round < 2; round++) {
        alm_snapshot *snap;
        assert_int_equal(alm_snapshot_acquire(&cx, s.st, &snap), ALM_OK);
        const alm_table *x = alm_snapshot_find(snap, ALM_STR("x"));
        assert_int_equal(scan_count(&cx, snap, x), s.acknowledged);
        alm_snapshot_release(snap);
        if (round == 0 && sim != NULL)
            alm_sim_cut_after(sim, 1);
        alm_storage_close(s.st);
        if (sim != NULL)
            alm_sim_restart(sim);
        if (round == 0)
            assert_int_equal(alm_storage_open(&cx, io, root, &conf, &s.st), ALM_OK);
    }
    int64_t findings = -1;
    assert_int_equal(alm_storage_check(&cx, io, root, NULL, NULL, &findings), ALM_OK);
    assert_int_equal(findings, 0);
    alm_arena_deinit(&arena);
}

static void everything_at_once(void **state)
{
    (void)state;
    alm_sim *sim = alm_sim_new(1);
    everything_on(alm_sim_io(sim), "r", sim, 0);
    alm_sim_free(sim);
}

static void few_maps(int64_t copies)
{
    const alm_io *io = alm_io_posix();
    alm_io_map_counts before, after;
    char root[] = "/tmp/alm_stress_test.XXXXXX";
    assert_non_null(mkdtemp(root));
    alm_maps_catch();
    io->map_counts(io, &before);
    everything_on(io, root, NULL, copies);
    io->map_counts(io, &after);
    assert_true(copies > 0 || after.let_go - before.let_go > 10);
    assert_true(copies > 0 || after.returns - before.returns > 10);
    assert_int_equal(io->map_faults(io), 0);
    assert_int_equal(after.open, 0);
    tree_remove(io, root);
    (void)io->rmdir(io, root);
}

static void with_few_maps(void **state)
{
    (void)state;
    few_maps(0);
}

static void with_few_maps_and_copies(void **state)
{
    (void)state;
    few_maps(100 << 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(everything_at_once),
                                       cmocka_unit_test(with_few_maps),
                                       cmocka_unit_test(with_few_maps_and_copies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
