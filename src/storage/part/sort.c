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

static inline int64_t part_sort_time_of(const sort_times *times, uint64_t place)
{
    const sort_times *t = &times[place >> 32];
    return t->ts[(uint32_t)place & t->mask];
}

/* What rows of one deal are ordered by. */
static inline uint64_t part_sort_key_of(const sorter *self, uint64_t row)
{
    return self->at_bits > 0 ? row >> self->at_bits
                             : (uint64_t)part_sort_time_of(self->times, row) ^ (uint64_t)1 << 63;
}

/* chunk << 32 | number */
static inline uint64_t part_sort_place_of(const sorter *self, uint64_t row)
{
    if (self->at_bits == 0)
        return row;
    const uint64_t place = row & (((uint64_t)1 << self->at_bits) - 1);
    return place >> self->row_bits << 32 | (place & (((uint64_t)1 << self->row_bits) - 1));
}

static uint32_t part_sort_bits_of(uint64_t n)
{
    return n == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(n);
}

static alm_status scan_range(alm_ctx *cx, const alm_part_chunk *chunks, const sort_times *times,
                             size_t n_chunks, sort_range *out)
{
    sort_range range = {.lo = INT64_MAX, .hi = INT64_MIN, .ordered = true};
    int64_t last = INT64_MIN;
    for (size_t chunk = 0; chunk < n_chunks; chunk++) {
        ALM_TRY(alm_check(cx));
        for (uint32_t i = 0; i < chunks[chunk].rows; i++) {
            const int64_t time = times[chunk].ts[i & times[chunk].mask];
            range.ordered &= time >= last;
            last = time;
            range.lo = time < range.lo ? time : range.lo;
            range.hi = time > range.hi ? time : range.hi;
        }
        range.rows += chunks[chunk].rows;
    }
    *out = range;
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
static void sort_few(sort_row *rows, size_t n_rows)
{
    for (size_t i = 1; i < n_rows; i++) {
        const sort_row row = rows[i];
        size_t offset = i;
        for (; offset > 0 && rows[offset - 1].key > row.key; offset--)
            rows[offset] = rows[offset - 1];
        rows[offset] = row;
    }
}

static void sort_small(const sorter *self, uint64_t *order, size_t n)
{
    enum { FEW = 24 };
    uint64_t least = UINT64_MAX, largest = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t key = part_sort_key_of(self, order[i]);
        self->rows[i] = (sort_row){key, part_sort_place_of(self, order[i])};
        least = ALM_MIN(least, key);
        largest = ALM_MAX(largest, key);
    }
    for (size_t i = 0; i < n; i++)
        self->rows[i].key -= least;
    const sort_row *sorted = self->rows;
    if (n <= FEW)
        sort_few(self->rows, n);
    else
        sorted = sort_low(self->rows, self->other, n, part_sort_bits_of(largest - least));
    for (size_t i = 0; i < n; i++)
        order[i] = sorted[i].at;
}

/* ------------------------------------------------------------------- many rows */

/* Highest bits of (time - lo) by which n rows are dealt. */
static uint32_t deal_shift(size_t n, uint64_t width)
{
    const uint32_t bits = part_sort_bits_of(width);
    const uint32_t deal = ALM_MIN(ALM_MIN(part_sort_bits_of(n / DEAL), (uint32_t)DIGIT_BITS), bits);
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

static alm_status sort_deals(sorter *self, uint64_t *order, const size_t ends[DIGITS]);

static alm_status need_spare(sorter *self, size_t n)
{
    if (n <= self->n_spare)
        return ALM_OK;
    free(self->spare);
    self->n_spare = 0;
    self->spare = malloc(n * sizeof *self->spare);
    if (self->spare == NULL)
        return alm_fail(self->cx, ALM_E_MEMORY, -1, "no memory to sort %zu rows", n);
    self->n_spare = n;
    return ALM_OK;
}

static alm_status sort_again(sorter *self, uint64_t *order, size_t n)
{
    size_t places[DIGITS] = {0};
    uint64_t least = UINT64_MAX, largest = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t key = part_sort_key_of(self, order[i]);
        least = ALM_MIN(least, key);
        largest = ALM_MAX(largest, key);
    }
    if (least == largest) {
        for (size_t i = 0; i < n; i++)
            order[i] = part_sort_place_of(self, order[i]);
        return ALM_OK;
    }
    ALM_TRY(need_spare(self, n));
    const uint32_t shift = deal_shift(n, largest - least);
    for (size_t i = 0; i < n; i++)
        places[(part_sort_key_of(self, order[i]) - least) >> shift]++;
    to_places(places);
    for (size_t i = 0; i < n; i++)
        self->spare[places[(part_sort_key_of(self, order[i]) - least) >> shift]++] = order[i];
    memcpy(order, self->spare, n * sizeof *order);
    return sort_deals(self, order, places);
}

/* ends[d]: behind the rows of deal d. Fewer bits differ in a deal of a deal. */
static alm_status sort_deals(sorter *self, uint64_t *order, const size_t ends[DIGITS])
{
    for (size_t d = 0, from = 0; d < DIGITS; from = ends[d++]) {
        const size_t n = ends[d] - from;
        if (n > SMALL)
            ALM_TRY(sort_again(self, order + from, n));
        else if (n > 0)
            sort_small(self, order + from, n);
        ALM_TRY(alm_check(self->cx));
    }
    return ALM_OK;
}

/* How rows are written whose times differ in the lowest `low` bits. */
static void choose_bits(sorter *self, const alm_part_chunk *chunks, size_t n_chunks, uint32_t low)
{
    uint32_t most = 0;
    for (size_t chunk = 0; chunk < n_chunks; chunk++)
        most = ALM_MAX(most, chunks[chunk].rows);
    self->row_bits = part_sort_bits_of(most);
    const uint32_t at_bits = self->row_bits + part_sort_bits_of(n_chunks);
    self->at_bits = low + at_bits <= 64 ? at_bits : 0;
}

static alm_status sort_chunks(sorter *self, const alm_part_chunk *chunks, size_t n_chunks,
                              const sort_range *range, uint64_t *order)
{
    size_t places[DIGITS] = {0};
    const uint64_t lo = (uint64_t)range->lo;
    const uint32_t low = deal_shift((size_t)range->rows, (uint64_t)range->hi - lo);
    ALM_ASSERT(low < 64 - 1);
    choose_bits(self, chunks, n_chunks, low);
    for (size_t chunk = 0; chunk < n_chunks; chunk++)
        for (uint32_t i = 0; i < chunks[chunk].rows; i++)
            places[((uint64_t)self->times[chunk].ts[i & self->times[chunk].mask] - lo) >> low]++;
    to_places(places);
    const uint64_t below = ((uint64_t)1 << low) - 1;
    for (size_t chunk = 0; chunk < n_chunks; chunk++)
        for (uint32_t i = 0; i < chunks[chunk].rows; i++) {
            const uint64_t key = (uint64_t)self->times[chunk].ts[i & self->times[chunk].mask] - lo;
            const uint64_t place =
                self->at_bits > 0 ? (key & below) << self->at_bits | chunk << self->row_bits | i
                                  : (uint64_t)chunk << 32 | i;
            order[places[key >> low]++] = place;
        }
    return sort_deals(self, order, places);
}

/* Few rows need no dealing. */
static void sort_all(const sorter *self, const alm_part_chunk *chunks, size_t n_chunks,
                     uint64_t *order)
{
    size_t count = 0;
    for (size_t chunk = 0; chunk < n_chunks; chunk++)
        for (uint32_t i = 0; i < chunks[chunk].rows; i++)
            order[count++] = (uint64_t)chunk << 32 | i;
    sort_small(self, order, count);
}

static alm_status sort_range_of(alm_ctx *cx, const alm_part_chunk *chunks, size_t n_chunks,
                                const sort_times *times, const sort_range *range, uint64_t *order)
{
    sorter self = {.cx = cx, .times = times};
    const size_t n = ALM_MIN((size_t)range->rows, (size_t)SMALL);
    self.rows = malloc(n * sizeof *self.rows);
    self.other = malloc(n * sizeof *self.other);
    alm_status status = ALM_OK;
    if (self.rows == NULL || self.other == NULL)
        status =
            alm_fail(cx, ALM_E_MEMORY, -1, "no memory to sort %lld rows", (long long)range->rows);
    else if (range->rows <= SMALL)
        sort_all(&self, chunks, n_chunks, order);
    else
        status = sort_chunks(&self, chunks, n_chunks, range, order);
    free(self.rows);
    free(self.other);
    free(self.spare);
    return status;
}

alm_status alm_part_sort(alm_ctx *cx, const alm_part_chunk *chunks, size_t n_chunks,
                         uint32_t ts_col, uint64_t **order, int64_t *n_rows)
{
    sort_range range = {0};
    sort_times *times = NULL;
    uint64_t *out = NULL;
    *order = NULL;
    ALM_TRY(alm_heap_bytes(cx, n_chunks * sizeof *times, "sorting", &times));
    for (size_t chunk = 0; chunk < n_chunks; chunk++) {
        const alm_vec *vec = &chunks[chunk].cols[ts_col];
        times[chunk] = (sort_times){vec->data, vec->is_const ? 0 : UINT32_MAX};
    }
    alm_status status = scan_range(cx, chunks, times, n_chunks, &range);
    *n_rows = range.rows;
    if (status == ALM_OK && !range.ordered) {
        out = malloc((size_t)range.rows * sizeof *out);
        status = out == NULL ? alm_fail(cx, ALM_E_MEMORY, -1, "no memory to sort %lld rows",
                                        (long long)range.rows)
                             : sort_range_of(cx, chunks, n_chunks, times, &range, out);
    }
    free(times);
    if (status == ALM_OK)
        *order = out;
    else
        free(out);
    return status;
}
