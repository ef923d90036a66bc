/*
 * sort.c - order of rows by the designated timestamp.
 *
 * Method      One pass finds out whether the rows are in order (the usual case: nothing to do) and the range of times. Many rows
 *             are then dealt by the highest bits of their times, and each deal again until it is small; a small one gets a
 *             stable radix sort over the bits that differ in it, which stays in the cache. While rows are dealt, a row is its
 *             chunk and number with the lower bits of its time before them, if that takes 64 bits at the most; else its time
 *             is read where it stands.
 * Memory      8 bytes per row, which are returned; as many for the largest deal that is dealt again; a megabyte.
 */
#include <stdlib.h>
#include <string.h>

#include "storage/part/part.h"
#include "storage/state.h"

enum {
    DIGIT_BITS = 11,
    DIGITS = 1 << DIGIT_BITS,
    SMALL = 1 << 15, /* rows that are sorted at a time */
    DEAL = 1 << 13   /* rows of a deal, if times are spread evenly */
};

typedef struct sort_row {
    uint64_t key; /* ts - least ts */
    uint64_t at;  /* chunk << 32 | row */
} sort_row;

typedef struct sort_range {
    int64_t lo, hi, rows;
    bool ordered;
} sort_range;

typedef struct sort_times {
    const int64_t *ts;
    uint32_t mask; /* of the row number: 0 where all rows have one time */
} sort_times;

typedef struct sorter {
    alm_ctx *cx;
    const sort_times *times; /* by chunk */
    uint32_t at_bits;        /* below the bits of the time; 0: rows are chunk << 32 | number */
    uint32_t row_bits;       /* of these, of the number in the chunk */
    sort_row *rows, *other;  /* SMALL of each, or as many as there are */
    uint64_t *spare;         /* for rows that are dealt again */
    size_t n_spare;
} sorter;

static inline int64_t time_of(const sort_times *times, uint64_t at)
{
    const sort_times *t = &times[at >> 32];
    return t->ts[(uint32_t)at & t->mask];
}

/* What rows of one deal are ordered by. */
static inline uint64_t key_of(const sorter *s, uint64_t row)
{
    return s->at_bits > 0 ? row >> s->at_bits
                          : (uint64_t)time_of(s->times, row) ^ (uint64_t)1 << 63;
}

/* chunk << 32 | number */
static inline uint64_t place_of(const sorter *s, uint64_t row)
{
    if (s->at_bits == 0)
        return row;
    const uint64_t at = row & (((uint64_t)1 << s->at_bits) - 1);
    return at >> s->row_bits << 32 | (at & (((uint64_t)1 << s->row_bits) - 1));
}

static uint32_t bits_of(uint64_t n)
{
    return n == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(n);
}

static alm_status scan_range(alm_ctx *cx, const alm_part_chunk *chunks, const sort_times *times,
                             size_t n_chunks, sort_range *out)
{
    sort_range r = {.lo = INT64_MAX, .hi = INT64_MIN, .ordered = true};
    int64_t last = INT64_MIN;
    for (size_t c = 0; c < n_chunks; c++) {
        ALM_TRY(alm_check(cx));
        for (uint32_t i = 0; i < chunks[c].rows; i++) {
            const int64_t t = times[c].ts[i & times[c].mask];
            r.ordered &= t >= last;
            last = t;
            r.lo = t < r.lo ? t : r.lo;
            r.hi = t > r.hi ? t : r.hi;
        }
        r.rows += chunks[c].rows;
    }
    *out = r;
    return ALM_OK;
}

/* ------------------------------------------------------------------- few rows */

/* One stable counting pass. */
static void radix_pass(const sort_row *restrict in, sort_row *restrict out, size_t n,
                       uint32_t shift, uint32_t bits)
{
    uint32_t ends[DIGITS];
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    memset(ends, 0, (mask + 1) * sizeof *ends);
    for (size_t i = 0; i < n; i++)
        ends[in[i].key >> shift & mask]++;
    uint32_t sum = 0;
    for (size_t d = 0; d <= mask; d++) {
        const uint32_t count = ends[d];
        ends[d] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++)
        out[ends[in[i].key >> shift & mask]++] = in[i];
}

/* By the lowest `bits`: the array of the two that holds the result. */
static sort_row *sort_low(sort_row *in, sort_row *out, size_t n, uint32_t bits)
{
    const uint32_t passes = (bits + DIGIT_BITS - 1) / DIGIT_BITS;
    const uint32_t digit = passes == 0 ? 0 : (bits + passes - 1) / passes;
    for (uint32_t p = 0; p < passes; p++) {
        radix_pass(in, out, n, p * digit, digit);
        sort_row *swap = in;
        in = out;
        out = swap;
    }
    return in;
}

/* The same for few rows: each goes back to its place. */
static void sort_few(sort_row *rows, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const sort_row row = rows[i];
        size_t at = i;
        for (; at > 0 && rows[at - 1].key > row.key; at--)
            rows[at] = rows[at - 1];
        rows[at] = row;
    }
}

static void sort_small(const sorter *s, uint64_t *order, size_t n)
{
    enum { FEW = 24 };
    uint64_t least = UINT64_MAX, largest = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t key = key_of(s, order[i]);
        s->rows[i] = (sort_row){key, place_of(s, order[i])};
        least = ALM_MIN(least, key);
        largest = ALM_MAX(largest, key);
    }
    for (size_t i = 0; i < n; i++)
        s->rows[i].key -= least;
    const sort_row *sorted = s->rows;
    if (n <= FEW)
        sort_few(s->rows, n);
    else
        sorted = sort_low(s->rows, s->other, n, bits_of(largest - least));
    for (size_t i = 0; i < n; i++)
        order[i] = sorted[i].at;
}

/* ------------------------------------------------------------------- many rows */

/* Highest bits of (time - lo) by which n rows are dealt. */
static uint32_t deal_shift(size_t n, uint64_t width)
{
    const uint32_t bits = bits_of(width);
    const uint32_t deal = ALM_MIN(ALM_MIN(bits_of(n / DEAL), (uint32_t)DIGIT_BITS), bits);
    return bits - deal;
}

/* Counts become places. */
static void to_places(size_t places[DIGITS])
{
    size_t sum = 0;
    for (size_t d = 0; d < DIGITS; d++) {
        const size_t count = places[d];
        places[d] = sum;
        sum += count;
    }
}

static alm_status sort_deals(sorter *s, uint64_t *order, const size_t ends[DIGITS]);

static alm_status need_spare(sorter *s, size_t n)
{
    if (n <= s->n_spare)
        return ALM_OK;
    free(s->spare);
    s->n_spare = 0;
    s->spare = malloc(n * sizeof *s->spare);
    if (s->spare == NULL)
        return alm_fail(s->cx, ALM_E_MEMORY, -1, "no memory to sort %zu rows", n);
    s->n_spare = n;
    return ALM_OK;
}

static alm_status sort_again(sorter *s, uint64_t *order, size_t n)
{
    size_t places[DIGITS] = {0};
    uint64_t least = UINT64_MAX, largest = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t key = key_of(s, order[i]);
        least = ALM_MIN(least, key);
        largest = ALM_MAX(largest, key);
    }
    if (least == largest) {
        for (size_t i = 0; i < n; i++)
            order[i] = place_of(s, order[i]);
        return ALM_OK;
    }
    ALM_TRY(need_spare(s, n));
    const uint32_t shift = deal_shift(n, largest - least);
    for (size_t i = 0; i < n; i++)
        places[(key_of(s, order[i]) - least) >> shift]++;
    to_places(places);
    for (size_t i = 0; i < n; i++)
        s->spare[places[(key_of(s, order[i]) - least) >> shift]++] = order[i];
    memcpy(order, s->spare, n * sizeof *order);
    return sort_deals(s, order, places);
}

/* ends[d]: behind the rows of deal d. Fewer bits differ in a deal of a deal. */
static alm_status sort_deals(sorter *s, uint64_t *order, const size_t ends[DIGITS])
{
    for (size_t d = 0, from = 0; d < DIGITS; from = ends[d++]) {
        const size_t n = ends[d] - from;
        if (n > SMALL)
            ALM_TRY(sort_again(s, order + from, n));
        else if (n > 0)
            sort_small(s, order + from, n);
        ALM_TRY(alm_check(s->cx));
    }
    return ALM_OK;
}

/* How rows are written whose times differ in the lowest `low` bits. */
static void choose_bits(sorter *s, const alm_part_chunk *chunks, size_t n_chunks, uint32_t low)
{
    uint32_t most = 0;
    for (size_t c = 0; c < n_chunks; c++)
        most = ALM_MAX(most, chunks[c].rows);
    s->row_bits = bits_of(most);
    const uint32_t at_bits = s->row_bits + bits_of(n_chunks);
    s->at_bits = low + at_bits <= 64 ? at_bits : 0;
}

static alm_status sort_chunks(sorter *s, const alm_part_chunk *chunks, size_t n_chunks,
                              const sort_range *range, uint64_t *order)
{
    size_t places[DIGITS] = {0};
    const uint64_t lo = (uint64_t)range->lo;
    const uint32_t low = deal_shift((size_t)range->rows, (uint64_t)range->hi - lo);
    ALM_ASSERT(low < 64 - 1);
    choose_bits(s, chunks, n_chunks, low);
    for (size_t c = 0; c < n_chunks; c++)
        for (uint32_t i = 0; i < chunks[c].rows; i++)
            places[((uint64_t)s->times[c].ts[i & s->times[c].mask] - lo) >> low]++;
    to_places(places);
    const uint64_t below = ((uint64_t)1 << low) - 1;
    for (size_t c = 0; c < n_chunks; c++)
        for (uint32_t i = 0; i < chunks[c].rows; i++) {
            const uint64_t key = (uint64_t)s->times[c].ts[i & s->times[c].mask] - lo;
            const uint64_t at = s->at_bits > 0 ? (key & below) << s->at_bits | c << s->row_bits | i
                                               : (uint64_t)c << 32 | i;
            order[places[key >> low]++] = at;
        }
    return sort_deals(s, order, places);
}

/* Few rows need no dealing. */
static void sort_all(const sorter *s, const alm_part_chunk *chunks, size_t n_chunks,
                     uint64_t *order)
{
    size_t n = 0;
    for (size_t c = 0; c < n_chunks; c++)
        for (uint32_t i = 0; i < chunks[c].rows; i++)
            order[n++] = (uint64_t)c << 32 | i;
    sort_small(s, order, n);
}

static alm_status sort_range_of(alm_ctx *cx, const alm_part_chunk *chunks, size_t n_chunks,
                                const sort_times *times, const sort_range *range, uint64_t *order)
{
    sorter s = {.cx = cx, .times = times};
    const size_t n = ALM_MIN((size_t)range->rows, (size_t)SMALL);
    s.rows = malloc(n * sizeof *s.rows);
    s.other = malloc(n * sizeof *s.other);
    alm_status st = ALM_OK;
    if (s.rows == NULL || s.other == NULL)
        st = alm_fail(cx, ALM_E_MEMORY, -1, "no memory to sort %lld rows", (long long)range->rows);
    else if (range->rows <= SMALL)
        sort_all(&s, chunks, n_chunks, order);
    else
        st = sort_chunks(&s, chunks, n_chunks, range, order);
    free(s.rows);
    free(s.other);
    free(s.spare);
    return st;
}

alm_status alm_part_sort(alm_ctx *cx, const alm_part_chunk *chunks, size_t n_chunks,
                         uint32_t ts_col, uint64_t **order, int64_t *n_rows)
{
    sort_range range = {0};
    sort_times *times = NULL;
    uint64_t *out = NULL;
    *order = NULL;
    ALM_TRY(alm_heap_bytes(cx, n_chunks * sizeof *times, "sorting", &times));
    for (size_t c = 0; c < n_chunks; c++) {
        const alm_vec *v = &chunks[c].cols[ts_col];
        times[c] = (sort_times){v->data, v->is_const ? 0 : UINT32_MAX};
    }
    alm_status st = scan_range(cx, chunks, times, n_chunks, &range);
    *n_rows = range.rows;
    if (st == ALM_OK && !range.ordered) {
        out = malloc((size_t)range.rows * sizeof *out);
        st = out == NULL ? alm_fail(cx, ALM_E_MEMORY, -1, "no memory to sort %lld rows",
                                    (long long)range.rows)
                         : sort_range_of(cx, chunks, n_chunks, times, &range, out);
    }
    free(times);
    if (st == ALM_OK)
        *order = out;
    else
        free(out);
    return st;
}
