/*
 * demo_trades.c - writes the demo table to the standard output: trades of a small made-up market.
 *
 *   demo_trades [--parquet] [ROWS]        as CSV, or as a Parquet file
 *
 * The same bytes on every machine: integer arithmetic and one generator (splitmix64), fixed start.
 * Prices walk in ticks and return slowly to a base, trade gaps thin out at night, sizes are skewed.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "codec/parquet/writer.h"

enum { DAYS = 5, DEFAULT_ROWS = 120000 };

typedef struct instrument {
    const char *symbol;
    int64_t base_ticks;  /* price in ticks */
    int32_t tick_digits; /* decimals of a price */
    int64_t lot;         /* median size in 1e-6 units */
    uint32_t weight;     /* share of trades, per cent */
    int64_t now_ticks;
} instrument;

static uint64_t seed = 20260105;

static uint64_t next_random(void)
{
    uint64_t z = (seed += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int64_t below(int64_t n)
{
    return (int64_t)(next_random() % (uint64_t)n);
}

/* Sum of uniform steps: near normal, -3*scale .. 3*scale. */
static int64_t bell(int64_t scale)
{
    int64_t sum = 0;
    for (int i = 0; i < 6; i++)
        sum += below(scale + 1);
    return sum - 3 * scale;
}

static instrument *pick(instrument *list)
{
    int64_t at = below(100);
    while (at >= (int64_t)list->weight) {
        at -= (int64_t)list->weight;
        list++;
    }
    return list;
}

static int64_t power10(int32_t n)
{
    int64_t p = 1;
    while (n-- > 0)
        p *= 10;
    return p;
}

typedef struct trade {
    const instrument *in;
    int64_t ticks;
    const char *side;
    int64_t amount; /* 1e-6 units */
    int64_t us;     /* from the start of the first day */
} trade;

/* ------------------------------------------------------------------------------ CSV */

static void print_row(const trade *t)
{
    static const int64_t day_us = INT64_C(86400000000);
    const int64_t unit = power10(t->in->tick_digits);
    const int64_t of_day = t->us % day_us;
    (void)printf("%s,%s,%" PRId64 ".%0*" PRId64 ",%" PRId64 ".%06" PRId64 ",2026-01-%02" PRId64
                 "T%02" PRId64 ":%02" PRId64 ":%02" PRId64 ".%06" PRId64 "Z\n",
                 t->in->symbol, t->side, t->ticks / unit, (int)t->in->tick_digits, t->ticks % unit,
                 t->amount / 1000000, t->amount % 1000000, 5 + t->us / day_us,
                 of_day / INT64_C(3600000000), of_day / 60000000 % 60, of_day / 1000000 % 60,
                 of_day % 1000000);
}

/* -------------------------------------------------------------------------- Parquet */

enum { SYMBOL, SIDE, PRICE, AMOUNT, TIMESTAMP, COLUMNS, BATCH = 4096 };
static const int64_t start_us = INT64_C(1767571200000000); /* 2026-01-05 */

typedef struct file {
    alm_ctx cx;
    alm_arena arena;
    alm_pq_writer *writer;
    alm_view symbol[BATCH], side[BATCH];
    double price[BATCH], amount[BATCH];
    int64_t timestamp[BATCH];
    uint32_t rows; /* that wait */
} file;

static alm_status put_bytes(alm_ctx *cx, void *arg, const void *bytes, size_t n)
{
    return fwrite(bytes, 1, n, arg) == n ? ALM_OK : alm_fail(cx, ALM_E_IO, -1, "cannot write");
}

static alm_status open_file(file *f)
{
    static const alm_pq_column columns[COLUMNS] = {
        {.name = "symbol", .type = ALM_TY(VARCHAR)},
        {.name = "side", .type = ALM_TY(VARCHAR)},
        {.name = "price", .type = ALM_TY(DOUBLE)},
        {.name = "amount", .type = ALM_TY(DOUBLE)},
        {.name = "timestamp", .type = ALM_TY(TIMESTAMP)}};
    const alm_pq_sorting by_time = {.column = TIMESTAMP};
    alm_pq_options options;
    alm_arena_init(&f->arena, NULL);
    f->cx = (alm_ctx){.arena = &f->arena};
    alm_pq_options_init(&options);
    options.sorting = &by_time;
    options.n_sorting = 1;
    options.level = 9;
    return alm_pq_writer_new(&f->cx, columns, COLUMNS, &options, put_bytes, stdout, &f->writer);
}

static alm_status put_batch(file *f)
{
    alm_vec cols[COLUMNS] = {{.type = ALM_TY(VARCHAR), .width = 16, .data = f->symbol},
                             {.type = ALM_TY(VARCHAR), .width = 16, .data = f->side},
                             {.type = ALM_TY(DOUBLE), .width = 8, .data = f->price},
                             {.type = ALM_TY(DOUBLE), .width = 8, .data = f->amount},
                             {.type = ALM_TY(TIMESTAMP), .width = 8, .data = f->timestamp}};
    const alm_batch batch = {.rows = f->rows, .n_cols = COLUMNS, .cols = cols};
    f->rows = 0;
    return alm_pq_write(&f->cx, f->writer, &batch, 0, batch.rows);
}

static alm_status put_row(file *f, const trade *t)
{
    const uint32_t i = f->rows++;
    f->symbol[i] = alm_view_of(alm_str_of(t->in->symbol));
    f->side[i] = alm_view_of(alm_str_of(t->side));
    f->price[i] = (double)t->ticks / (double)power10(t->in->tick_digits);
    f->amount[i] = (double)t->amount / 1e6;
    f->timestamp[i] = start_us + t->us;
    return f->rows == BATCH ? put_batch(f) : ALM_OK;
}

static alm_status close_file(file *f)
{
    alm_status st = put_batch(f);
    if (st == ALM_OK)
        st = alm_pq_finish(&f->cx, f->writer);
    alm_pq_writer_free(f->writer);
    alm_arena_deinit(&f->arena);
    return st;
}

/* ------------------------------------------------------------------------------ rows */

static alm_status trades(long rows, file *parquet)
{
    instrument market[] = {
        {"BTC-USD", 9125000, 2, 20000, 34, 9125000}, {"ETH-USD", 312500, 2, 300000, 26, 312500},
        {"SOL-USD", 138400, 3, 4000000, 16, 138400}, {"XRP-USD", 209500, 5, 250000000, 10, 209500},
        {"BTC-EUR", 7810000, 2, 15000, 8, 7810000},  {"ETH-EUR", 267400, 2, 200000, 6, 267400}};
    const int64_t span_us = INT64_C(86400000000) * DAYS;
    const int64_t mean_gap_us = span_us / rows;
    int64_t us = 0;
    for (long i = 0; i < rows && us < span_us; i++) {
        const int64_t hour = us / INT64_C(3600000000) % 24;
        const int64_t gap = mean_gap_us * (hour >= 7 && hour < 21 ? 78 : 150) / 100;
        us += 1 + below(gap) + below(gap);
        instrument *in = pick(market);
        const int64_t pull = (in->base_ticks - in->now_ticks) / 4096;
        in->now_ticks += bell(in->base_ticks / 8192 + 1) + pull;
        const int64_t amount = 1 + in->lot * (1 + below(100)) * (1 + below(100)) / 2500;
        const trade t = {.in = in,
                         .ticks = in->now_ticks,
                         .side = below(100) < 51 ? "buy" : "sell",
                         .amount = amount,
                         .us = us < span_us ? us : span_us - 1};
        if (parquet == NULL)
            print_row(&t);
        else
            ALM_TRY(put_row(parquet, &t));
    }
    return ALM_OK;
}

static int write_parquet(long rows)
{
    static file f;
    alm_status st = open_file(&f);
    if (st == ALM_OK)
        st = trades(rows, &f);
    if (st == ALM_OK)
        st = close_file(&f);
    if (st != ALM_OK)
        (void)fprintf(stderr, "demo_trades: %s\n", f.cx.err.msg);
    return st == ALM_OK && fflush(stdout) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    const bool parquet = argc > 1 && strcmp(argv[1], "--parquet") == 0;
    const char *const number = argc > 1 + parquet ? argv[1 + parquet] : NULL;
    const long rows = number != NULL ? strtol(number, NULL, 10) : DEFAULT_ROWS;
    if (rows < 1 || rows > 100000000)
        return 2;
    if (parquet)
        return write_parquet(rows);
    (void)printf("symbol,side,price,amount,timestamp\n");
    const alm_status st = trades(rows, NULL);
    return st != ALM_OK || ferror(stdout) ? 1 : 0;
}
