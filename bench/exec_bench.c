/*
 * exec_bench.c - times of the operators alone over synthetic trades (100 skewed symbols, sorted
 * times), to be set against plain C loops over the same shape. Not part of the test suite.
 *
 * Build    cc -O3 -Isrc bench/exec_bench.c with the release libraries of exec, func, type, time, base.
 * Run      exec_bench [rows] [threads] [repetitions] [part of a name]
 */
#include <math.h>
#include <time.h>

#include "exec/run/table_fixture.h"

static uint64_t state = 88172645463325252U;

static double unit(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53;
}

static double clock_ms(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

typedef struct bench {
    plan_maker m;
    fake_table t;
    alm_dict symbols, sides;
    alm_workers *workers;
    int repetitions;
    const char *only; /* part of the names to run, NULL: all */
} bench;

static void run(bench *b, const char *name, alm_plan *plan)
{
    double best_cpu = 1e9, best_wall = 1e9, check = 0;
    int64_t rows = 0;
    if (b->only != NULL && strstr(name, b->only) == NULL)
        return;
    for (int r = 0; r < b->repetitions; r++) {
        alm_arena arena;
        alm_ctx cx = {.now_ns = 1};
        alm_mem mem = {.name = "query"};
        alm_arena_init(&arena, &mem);
        cx.arena = &arena;
        cx.mem = &mem;
        const double cpu = clock_ms(CLOCK_PROCESS_CPUTIME_ID), wall = clock_ms(CLOCK_MONOTONIC);
        const alm_exec_env env = {.scans = &fake_scans, .workers = b->workers};
        alm_exec *ex = NULL;
        alm_batch *out = NULL;
        rows = 0;
        if (alm_exec_open(&cx, plan, &env, &ex) != ALM_OK)
            abort();
        for (;;) {
            if (alm_exec_next(&cx, ex, &out) != ALM_OK) {
                fprintf(stderr, "%s: %s\n", name, cx.err.msg);
                abort();
            }
            if (out == NULL)
                break;
            rows += out->rows;
            const alm_vec *v = &out->cols[out->n_cols - 1];
            check = v->type.id == ALM_T_DOUBLE ? *(const double *)v->data : 0;
        }
        alm_exec_close(ex);
        alm_arena_deinit(&arena);
        best_cpu = fmin(best_cpu, clock_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu);
        best_wall = fmin(best_wall, clock_ms(CLOCK_MONOTONIC) - wall);
    }
    printf("%-34s wall %8.2f ms  cpu %8.2f ms  rows %9lld  %.6g\n", name, best_wall, best_cpu,
           (long long)rows, check);
    fflush(stdout);
}

static void *room(int64_t n, size_t width)
{
    void *p = aligned_alloc(64, ((size_t)n * width + 4095) & ~(size_t)4095);
    if (p == NULL)
        abort();
    return p;
}

/* Columns: 0 ts, 1 sym (1-byte codes), 2 side, 3 price, 4 amount, 5 user (LONG), 6 sym4 (4 bytes) */
static void fill(bench *b, int64_t n)
{
    int64_t *ts = room(n, 8), *user = room(n, 8);
    uint8_t *sym = room(n, 1), *side = room(n, 1);
    double *price = room(n, 8), *amount = room(n, 8);
    uint32_t *sym4 = room(n, 4);
    uint8_t pick[65536];
    double sum = 0, at = 0;
    for (int i = 0; i < 100; i++)
        sum += 1.0 / (i + 1);
    for (int i = 0, k = 0; i < 65536; i++) {
        if (at + 1.0 / (k + 1) / sum < i / 65536.0 && k < 99)
            at += 1.0 / (++k) / sum;
        pick[i] = (uint8_t)(k + 1);
    }
    double t = 1.7e15;
    const double gap = 30 * 86400e6 / (double)n;
    for (int64_t i = 0; i < n; i++) {
        ts[i] = (int64_t)(t += 2 * gap * unit());
        sym[i] = pick[(int)(unit() * 65536)];
        sym4[i] = sym[i];
        side[i] = (uint8_t)(1 + (unit() < 0.5));
        price[i] = 100.0 * sym[i] * (1 + 0.01 * unit());
        amount[i] = -log(1 - unit()) * 0.5;
        const double u = unit();
        user[i] = (int64_t)((uint64_t)(u * u * (double)n / 6) * 2654435761U + 1);
    }
    b->t = (fake_table){.rows = n, .span_rows = ALM_MAX(n / 30, 1), .no_stats = true};
    fake_column(&b->t, "ts", ALM_TY(TIMESTAMP), 8, ts, NULL);
    fake_column(&b->t, "sym", ALM_TY(SYMBOL), 1, sym, &b->symbols);
    fake_column(&b->t, "side", ALM_TY(SYMBOL), 1, side, &b->sides);
    fake_column(&b->t, "price", ALM_TY(DOUBLE), 8, price, NULL);
    fake_column(&b->t, "amount", ALM_TY(DOUBLE), 8, amount, NULL);
    fake_column(&b->t, "user", ALM_TY(LONG), 8, user, NULL);
    fake_column(&b->t, "sym4", ALM_TY(SYMBOL), 4, sym4, &b->symbols);
}

int main(int argc, char **argv)
{
    static bench b;
    alm_arena arena;
    alm_ctx cx = {.now_ns = 1};
    const int64_t n = argc > 1 ? atoll(argv[1]) : 20000000;
    const uint32_t threads = argc > 2 ? (uint32_t)atoi(argv[2]) : 1;
    b.repetitions = argc > 3 ? atoi(argv[3]) : 5;
    b.only = argc > 4 ? argv[4] : NULL;
    alm_arena_init(&arena, NULL);
    cx.arena = &arena;
    b.m.cx = &cx;
    must(&b.m, alm_registry_new(&cx, &b.m.registry));
    must(&b.m, alm_workers_new(&cx, threads, &b.workers));
    fake_dict(&cx, &b.symbols, 1, "SYM", 100);
    fake_dict(&cx, &b.sides, 2, "side", 2);
    fill(&b, n);
    plan_maker *m = &b.m;
    alm_plan *s = p_scan(m, &b.t);
#define COL(i)         x_col(m, s, i)
#define AGG(name, col) x_agg(m, name, COL(col))
    const alm_agg_call wide[] = {AGG("sum", 3), AGG("min", 3), AGG("max", 3),
                                 AGG("sum", 4), AGG("min", 4), AGG("max", 4)};
    const alm_agg_call five[] = {x_agg(m, "count", NULL), AGG("sum", 3), AGG("avg", 4),
                                 AGG("min", 3), AGG("max", 3)};
    const alm_agg_call avg[] = {AGG("avg", 3)};
    const alm_agg_call two[] = {AGG("sum", 4), AGG("avg", 3)};
    const alm_agg_call count[] = {x_agg(m, "count", NULL)};
    const alm_agg_call vwap[] = {x_agg(m, "sum", x_two(m, "*", COL(3), COL(4))), AGG("sum", 4)};
    alm_expr *sym[] = {COL(1)}, *sym_side[] = {COL(1), COL(2)}, *user[] = {COL(5)},
             *sym4[] = {COL(6)};
    run(&b, "sum min max of 2 columns", p_group(m, s, 0, NULL, 6, wide));
    run(&b, "sum(price * amount)", p_group(m, s, 0, NULL, 2, vwap));
    alm_plan *f = p_scan(m, &b.t);
    p_where(m, f, x_two(m, ">", COL(3), x_double(m, 5000)));
    run(&b, "price > 5000: sum, avg", p_group(m, f, 0, NULL, 2, two));
    f = p_scan(m, &b.t);
    p_where(m, f, x_two(m, "=", COL(1), x_text(m, "SYM7")));
    run(&b, "sym = 'SYM7': sum, avg", p_group(m, f, 0, NULL, 2, two));
    p_where(m, f, x_two(m, ">", COL(4), x_double(m, 0.5)));
    run(&b, "sym = .. and amount > 0.5", p_group(m, f, 0, NULL, 2, two));
    run(&b, "group by sym, 5 aggs", p_group(m, s, 1, sym, 5, five));
    run(&b, "group by sym (4 byte), 5 aggs", p_group(m, s, 1, sym4, 5, five));
    run(&b, "group by sym: vwap", p_group(m, s, 1, sym, 2, vwap));
    run(&b, "group by sym, side, 2 aggs", p_group(m, s, 2, sym_side, 2, two));
    run(&b, "group by user: count", p_group(m, s, 1, user, 1, count));
    run(&b, "sample by 1s: avg", p_sample(m, s, 1, 's', 0, NULL, 1, avg));
    run(&b, "sample by 1m: avg", p_sample(m, s, 1, 'm', 0, NULL, 1, avg));
    run(&b, "sample by 1h: sum, avg", p_sample(m, s, 1, 'h', 0, NULL, 2, two));
    run(&b, "sample by 1h, sym: sum, avg", p_sample(m, s, 1, 'h', 1, sym, 2, two));
    run(&b, "sample by 1m, sym: avg", p_sample(m, s, 1, 'm', 1, sym, 1, avg));
    run(&b, "sample by 1d, user: count", p_sample(m, s, 1, 'd', 1, user, 1, count));
    const alm_sort_key amount_desc[] = {{.expr = COL(4), .desc = true}};
    run(&b, "top 10 by amount", p_sort(m, s, 1, amount_desc, 10));
    run(&b, "last 20 rows", p_limit(m, s, -20, INT64_MAX));
    run(&b, "latest by sym", p_latest(m, s, 1, sym));
    f = p_scan(m, &b.t);
    f->scan.has_interval = true;
    f->scan.n_intervals = 1;
    f->scan.interval = &(alm_interval){.lo = (int64_t)1.7e15, .hi = (int64_t)1.7e15 + 129600000000};
    run(&b, "sort 1M rows by amount", p_sort(m, f, 1, amount_desc, -1));
    alm_workers_free(b.workers);
    return 0;
}
