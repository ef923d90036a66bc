/*
 * recover.c - how long a start takes to read the log of a server that was killed. Not part of the test suite.
 *
 * Method   A process writes a log that no checkpoint has taken, and ends without a close. Then other processes open the directory,
 *          say the time, and end: each finds the same log. The digest is one of all rows in their order, so that two programs
 *          can be compared.
 * Kinds    order    timestamps ascend: no row is out of order
 *          late     each row is up to one hour out of order, at random
 *          days     timestamps are random within thirty daily partitions
 *          symbols  like late, with two SYMBOL columns
 *          text     like late, with one VARCHAR column of 8 bytes and one of 40
 *          tables   like late, spread over eight tables
 * Build    cc -O2 -D_GNU_SOURCE -Isrc -Iinclude bench/recover.c with the release libraries of storage, codec, io, type, time, base, and
 *          jemalloc.
 * Run      recover write KIND DIR MEGABYTES [rows of a record]
 *          recover open DIR [repetitions]
 *          recover digest DIR
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "storage/state.h"

enum { COLS_MAX = 6, TABLES = 8, ROWS_MAX = 65536 };
static const int64_t SECOND = 1000000;

static uint64_t seed = 88172645463325252U;

static uint64_t draw(uint64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (seed >> 11) % below;
}

static void must(alm_ctx *cx, alm_status st)
{
    if (st == ALM_OK)
        return;
    fprintf(stderr, "recover: %s\n", cx->err.msg);
    exit(1);
}

static alm_storage *open_at(alm_ctx *cx, const char *dir)
{
    alm_storage *st = NULL;
    alm_storage_conf conf;
    alm_storage_conf_default(&conf);
    conf.manual = true; /* no thread that flushes */
    conf.sync = ALM_SYNC_OFF;
    conf.head_bytes_max = conf.table_head_bytes_max = INT64_MAX / 4;
    conf.checkpoint_wal_bytes = INT64_MAX / 4;
    must(cx, alm_storage_open(cx, alm_io_posix(), dir, &conf, &st));
    return st;
}

/* ---------------------------------------------------------------------- writing */

typedef struct writer {
    const char *kind;
    uint32_t n_tables, n_cols, rows;
    int64_t now;
    int64_t ts[ROWS_MAX], id[ROWS_MAX];
    double x[2][ROWS_MAX];
    alm_view view[2][ROWS_MAX];
    char text[2][ROWS_MAX][48];
} writer;

static int64_t next_time(writer *w)
{
    w->now += SECOND / 1000;
    if (strcmp(w->kind, "order") == 0)
        return w->now;
    if (strcmp(w->kind, "days") == 0)
        return w->now - (int64_t)draw(30 * 86400) * SECOND - (int64_t)draw((uint64_t)SECOND);
    return w->now - (int64_t)draw(3600 * (uint64_t)SECOND);
}

static void fill(writer *w)
{
    const bool symbols = strcmp(w->kind, "symbols") == 0;
    for (uint32_t i = 0; i < w->rows; i++) {
        w->id[i] = (int64_t)draw(UINT64_MAX);
        for (uint32_t k = 0; k < 2; k++) {
            w->x[k][i] = (double)draw(1000000) / 8;
            const int n = snprintf(w->text[k][i], sizeof w->text[k][i], "%0*d",
                                   symbols ? 8 : (k == 0 ? 8 : 40),
                                   (int)draw(symbols ? (k == 0 ? 100 : 10000) : 1000000));
            w->view[k][i] = alm_view_of((alm_str){w->text[k][i], (size_t)n});
        }
        w->ts[i] = next_time(w);
    }
}

static void columns(const writer *w, alm_column *cols)
{
    static const char *const names[] = {"ts", "id", "x", "y", "s", "t"};
    const bool symbols = strcmp(w->kind, "symbols") == 0;
    const alm_type text = symbols ? ALM_TY(SYMBOL) : ALM_TY(VARCHAR);
    const alm_type types[] = {ALM_TY(TIMESTAMP), ALM_TY(LONG), ALM_TY(DOUBLE),
                              ALM_TY(DOUBLE),    text,         text};
    for (uint32_t c = 0; c < w->n_cols; c++)
        cols[c] = (alm_column){.name = names[c], .type = types[c]};
}

static void write_record(alm_ctx *cx, alm_storage *st, writer *w, const alm_table *table)
{
    alm_txn *txn = NULL;
    uint64_t lsn = 0;
    const alm_type text = strcmp(w->kind, "symbols") == 0 ? ALM_TY(SYMBOL) : ALM_TY(VARCHAR);
    fill(w);
    const alm_vec cols[COLS_MAX] = {
        {.type = ALM_TY(TIMESTAMP), .width = 8, .data = w->ts},
        {.type = ALM_TY(LONG), .width = 8, .data = w->id},
        {.type = ALM_TY(DOUBLE), .width = 8, .data = w->x[0]},
        {.type = ALM_TY(DOUBLE), .width = 8, .data = w->x[1]},
        {.type = text, .width = 16, .data = w->view[0]},
        {.type = text, .width = 16, .data = w->view[1]},
    };
    const alm_batch batch = {
        .rows = w->rows, .n_cols = w->n_cols, .cols = (alm_vec *)(uintptr_t)cols};
    must(cx, alm_txn_begin(cx, st, &txn));
    must(cx, alm_txn_append(cx, txn, table, &batch));
    must(cx, alm_txn_commit(cx, txn, &lsn));
}

static void write_log(const char *kind, const char *dir, int64_t bytes, uint32_t rows)
{
    alm_ctx cx = {.io = alm_io_posix()};
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    cx.arena = &arena;
    writer *w = calloc(1, sizeof *w);
    *w = (writer){.kind = kind, .rows = rows, .n_cols = 4, .n_tables = 1};
    w->now = INT64_C(1750000000) * SECOND;
    if (strcmp(kind, "symbols") == 0 || strcmp(kind, "text") == 0)
        w->n_cols = 6;
    if (strcmp(kind, "tables") == 0)
        w->n_tables = TABLES;
    alm_storage *st = open_at(&cx, dir);
    alm_column cols[COLS_MAX];
    columns(w, cols);
    for (uint32_t t = 0; t < w->n_tables; t++) {
        char name[16];
        const int n = snprintf(name, sizeof name, "t%u", t);
        const alm_table_spec spec = {.name = {name, (size_t)n},
                                     .cols = cols,
                                     .n_cols = w->n_cols,
                                     .partition = ALM_PART_DAY,
                                     .wal = true};
        must(&cx, alm_table_create(&cx, st, &spec, NULL));
    }
    for (int64_t i = 0; atomic_load(&st->wal.bytes_written) < bytes; i++) {
        char name[16];
        alm_snapshot *snap = NULL;
        const int n = snprintf(name, sizeof name, "t%u", (uint32_t)(i % w->n_tables));
        must(&cx, alm_snapshot_acquire(&cx, st, &snap));
        write_record(&cx, st, w, alm_snapshot_find(snap, (alm_str){name, (size_t)n}));
        alm_snapshot_release(snap);
        alm_arena_reset(&arena);
    }
    fflush(stdout);
    _exit(0); /* as if it were killed */
}

/* ---------------------------------------------------------------------- opening */

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void open_once(const char *dir)
{
    alm_ctx cx = {.io = alm_io_posix()};
    struct rusage use;
    const double from = now();
    const alm_storage *st = open_at(&cx, dir);
    const double wall = now() - from;
    getrusage(RUSAGE_SELF, &use);
    printf("%.3f s, processor %.3f s and %.3f s of the kernel, %ld MB, %lld rows\n", wall,
           seconds(use.ru_utime), seconds(use.ru_stime), use.ru_maxrss >> 10,
           (long long)st->rows_redone);
    fflush(stdout);
    _exit(0);
}

static void in_another_process(void (*run)(const char *), const char *dir)
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0)
        run(dir);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        exit(1);
}

static uint64_t digest_vec(const alm_vec *v, uint32_t n, uint64_t sum)
{
    for (uint32_t i = 0; i < n; i++) {
        const char *at = (const char *)v->data + (v->is_const ? 0 : i) * v->width;
        const alm_view *view = (const alm_view *)(const void *)at;
        uint64_t value = 0;
        if (v->type.id == ALM_T_SYMBOL)
            value = alm_vec_code(v, i);
        else if (v->type.id == ALM_T_VARCHAR)
            value = alm_view_is_null(view) ? 1 : alm_hash_str(alm_view_str(view, v->heap));
        else
            memcpy(&value, at, sizeof value); /* all others here have 8 bytes */
        sum = alm_hash_combine(sum, value);
    }
    return sum;
}

static uint64_t digest_table(alm_ctx *cx, alm_snapshot *snap, const alm_table *table, uint64_t sum)
{
    alm_arena arena;
    alm_scan *scan = NULL;
    alm_scan_cursor *cur = NULL;
    uint32_t cols[COLS_MAX];
    for (uint32_t c = 0; c < table->n_cols; c++)
        cols[c] = c;
    alm_arena_init(&arena, NULL);
    must(cx,
         alm_scan_new(cx, &arena, snap, table,
                      &(alm_scan_spec){.cols = cols, .n_cols = table->n_cols, .all = true}, &scan));
    must(cx, alm_scan_cursor_new(cx, &arena, scan, &cur));
    for (size_t i = 0; i < alm_scan_span_count(scan); i++) {
        const alm_span span = alm_scan_span_at(scan, i);
        for (int64_t row = 0; row < span.rows; row += ALM_BATCH_ROWS) {
            const uint32_t m = (uint32_t)ALM_MIN(span.rows - row, (int64_t)ALM_BATCH_ROWS);
            alm_vec vecs[COLS_MAX];
            must(cx, alm_scan_read(cx, cur, i, row, m, NULL, vecs));
            for (uint32_t c = 0; c < table->n_cols; c++)
                sum = digest_vec(&vecs[c], m, sum);
            alm_arena_reset(cx->arena);
        }
    }
    alm_arena_deinit(&arena);
    return sum;
}

static void digest(const char *dir)
{
    alm_ctx cx = {.io = alm_io_posix()};
    alm_arena arena;
    alm_snapshot *snap = NULL;
    uint64_t sum = 0;
    alm_arena_init(&arena, NULL);
    cx.arena = &arena;
    alm_storage *st = open_at(&cx, dir);
    must(&cx, alm_snapshot_acquire(&cx, st, &snap));
    for (uint32_t t = 0; t < TABLES; t++) {
        char name[16];
        const int n = snprintf(name, sizeof name, "t%u", t);
        const alm_table *table = alm_snapshot_find(snap, (alm_str){name, (size_t)n});
        if (table != NULL)
            sum = digest_table(&cx, snap, table, sum);
    }
    printf("%016llx\n", (unsigned long long)sum);
    fflush(stdout);
    _exit(0);
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";
    if (strcmp(what, "write") == 0 && argc > 4)
        write_log(argv[2], argv[3], atoll(argv[4]) << 20,
                  (uint32_t)ALM_MIN(argc > 5 ? atoi(argv[5]) : 1000, (int)ROWS_MAX));
    else if (strcmp(what, "open") == 0)
        for (int i = 0; i < (argc > 3 ? atoi(argv[3]) : 1); i++)
            in_another_process(open_once, argv[2]);
    else if (strcmp(what, "digest") == 0)
        digest(argv[2]);
    else
        fprintf(stderr,
                "usage: recover write KIND DIR MEGABYTES [ROWS] | open DIR [N] | digest DIR\n");
    return 0;
}
