/*
 * demo_trades.c - prints the demo table as CSV: trades of a small made-up market.
 *
 *   demo_trades [ROWS]
 *
 * The same bytes on every machine: integer arithmetic and one generator (splitmix64), fixed start.
 * Prices walk in ticks and return slowly to a base, trade gaps thin out at night, sizes are skewed.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

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

static void print_row(const instrument *in, const char *side, int64_t amount, int64_t us)
{
    static const int64_t day_us = INT64_C(86400000000);
    const int64_t unit = power10(in->tick_digits);
    const int64_t of_day = us % day_us;
    (void)printf("%s,%s,%" PRId64 ".%0*" PRId64 ",%" PRId64 ".%06" PRId64 ",2026-01-%02" PRId64
                 "T%02" PRId64 ":%02" PRId64 ":%02" PRId64 ".%06" PRId64 "Z\n",
                 in->symbol, side, in->now_ticks / unit, (int)in->tick_digits, in->now_ticks % unit,
                 amount / 1000000, amount % 1000000, 5 + us / day_us, of_day / INT64_C(3600000000),
                 of_day / 60000000 % 60, of_day / 1000000 % 60, of_day % 1000000);
}

int main(int argc, char **argv)
{
    instrument market[] = {
        {"BTC-USD", 9125000, 2, 20000, 34, 9125000}, {"ETH-USD", 312500, 2, 300000, 26, 312500},
        {"SOL-USD", 138400, 3, 4000000, 16, 138400}, {"XRP-USD", 209500, 5, 250000000, 10, 209500},
        {"BTC-EUR", 7810000, 2, 15000, 8, 7810000},  {"ETH-EUR", 267400, 2, 200000, 6, 267400}};
    const long rows = argc > 1 ? strtol(argv[1], NULL, 10) : DEFAULT_ROWS;
    if (rows < 1 || rows > 100000000)
        return 2;
    const int64_t span_us = INT64_C(86400000000) * DAYS;
    const int64_t mean_gap_us = span_us / rows;
    int64_t us = 0;
    (void)printf("symbol,side,price,amount,timestamp\n");
    for (long i = 0; i < rows && us < span_us; i++) {
        const int64_t hour = us / INT64_C(3600000000) % 24;
        const int64_t gap = mean_gap_us * (hour >= 7 && hour < 21 ? 78 : 150) / 100;
        us += 1 + below(gap) + below(gap);
        instrument *in = pick(market);
        const int64_t pull = (in->base_ticks - in->now_ticks) / 4096;
        in->now_ticks += bell(in->base_ticks / 8192 + 1) + pull;
        const int64_t amount = 1 + in->lot * (1 + below(100)) * (1 + below(100)) / 2500;
        print_row(in, below(100) < 51 ? "buy" : "sell", amount, us < span_us ? us : span_us - 1);
    }
    return ferror(stdout) ? 1 : 0;
}
