/*
 * part_sort.c - order of rows by the designated timestamp.
 *
 * Method      One pass finds out whether the rows are in order (the usual case: nothing to do) and
 *             the range of times; then a stable radix sort of (time, chunk and row), 11 bits a pass,
 *             over the bits that differ: 4 passes for rows of one day in microseconds. Many rows are first dealt by their
 *             highest bits, and each deal is sorted by itself: rows that are nearly in order go to few places at a time, and
 *             the rest of the passes stay in the cache.
 * Memory      32 bytes per row while sorting, 8 of them returned.
 */
#include <stdlib.h>
#include <string.h>

#include "storage/part.h"

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

typedef struct sort_row {
    uint64_t key; /* ts - least ts */
    uint64_t at;  /* chunk << 32 | row */
} sort_row;

typedef struct sort_range {
    int64_t lo, hi, rows;
    bool ordered;
} sort_range;

static inline int64_t ts_at(const alm_vec *v, uint32_t row)
{
    return ((const int64_t *)v->data)[v->is_const ? 0 : row];
}

static alm_status scan_range(alm_ctx *cx, const alm_part_chunk *chunks, size_t n_chunks,
                             uint32_t ts_col, sort_range *out)
{
    sort_range r = {.lo = INT64_MAX, .hi = INT64_MIN, .ordered = true};
    int64_t last = INT64_MIN;
    for (size_t c = 0; c < n_chunks; c++) {
        ALM_TRY(alm_check(cx));
        const alm_vec *ts = &chunks[c].cols[ts_col];
        for (uint32_t i = 0; i < chunks[c].rows; i++) {
            const int64_t t = ts_at(ts, i);
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

static void fill_rows(const alm_part_chunk *chunks, size_t n_chunks, uint32_t ts_col, int64_t lo,
                      sort_row *rows)
{
    size_t n = 0;
    for (size_t c = 0; c < n_chunks; c++) {
        const alm_vec *ts = &chunks[c].cols[ts_col];
        for (uint32_t i = 0; i < chunks[c].rows; i++)
            rows[n++] = (sort_row){(uint64_t)ts_at(ts, i) - (uint64_t)lo, (uint64_t)c << 32 | i};
    }
}

/* One stable counting pass. ends[d]: behind the rows of digit d. */
static void radix_pass(const sort_row *restrict in, sort_row *restrict out, size_t n,
                       uint32_t shift, size_t ends[DIGITS])
{
    memset(ends, 0, DIGITS * sizeof *ends);
    for (size_t i = 0; i < n; i++)
        ends[in[i].key >> shift & (DIGITS - 1)]++;
    size_t sum = 0;
    for (size_t d = 0; d < DIGITS; d++) {
        const size_t count = ends[d];
        ends[d] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++)
        out[ends[in[i].key >> shift & (DIGITS - 1)]++] = in[i];
}

/* By the lowest `bits`; the result is in `in` if that takes an even number of passes, else in `out`. */
static void sort_low(sort_row *in, sort_row *out, size_t n, uint32_t bits)
{
    size_t ends[DIGITS];
    for (uint32_t shift = 0; shift < bits; shift += DIGIT_BITS) {
        radix_pass(in, out, n, shift, ends);
        sort_row *swap = in;
        in = out;
        out = swap;
    }
}

/* The same for few rows: each goes back to its place. */
static void sort_few(sort_row *in, sort_row *out, size_t n, uint32_t bits)
{
    for (size_t i = 1; i < n; i++) {
        const sort_row row = in[i];
        size_t at = i;
        for (; at > 0 && in[at - 1].key > row.key; at--)
            in[at] = in[at - 1];
        in[at] = row;
    }
    if ((bits + DIGIT_BITS - 1) / DIGIT_BITS % 2 != 0)
        memcpy(out, in, n * sizeof *in);
}

static void swap_rows(sort_row **a, sort_row **b)
{
    sort_row *swap = *a;
    *a = *b;
    *b = swap;
}

/* Sorts *rows with the help of *other; which of the two holds the result comes out as *rows. */
static alm_status radix_sort(alm_ctx *cx, sort_row **rows, sort_row **other, size_t n,
                             uint64_t width)
{
    enum { DEAL_ROWS = 1 << 15, FEW = 24 };
    const uint32_t bits = width == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(width);
    const bool deal = n > DEAL_ROWS && bits > DIGIT_BITS;
    const uint32_t low = deal ? bits - DIGIT_BITS : bits;
    size_t ends[DIGITS] = {n};
    if (deal) {
        radix_pass(*rows, *other, n, low, ends);
        swap_rows(rows, other);
    }
    for (size_t d = 0, from = 0; from < n; from = ends[d++]) {
        const size_t m = ends[d] - from;
        if (m <= FEW)
            sort_few(*rows + from, *other + from, m, low);
        else
            sort_low(*rows + from, *other + from, m, low);
        ALM_TRY(alm_check(cx));
    }
    if ((low + DIGIT_BITS - 1) / DIGIT_BITS % 2 != 0)
        swap_rows(rows, other);
    return ALM_OK;
}

alm_status alm_part_sort(alm_ctx *cx, const alm_part_chunk *chunks, size_t n_chunks,
                         uint32_t ts_col, uint64_t **order, int64_t *n_rows)
{
    sort_range range = {0};
    ALM_TRY(scan_range(cx, chunks, n_chunks, ts_col, &range));
    *n_rows = range.rows;
    *order = NULL;
    if (range.ordered)
        return ALM_OK;
    const size_t n = (size_t)range.rows;
    sort_row *rows = malloc(n * sizeof(*rows)), *other = malloc(n * sizeof(*other));
    alm_status st = ALM_OK;
    if (rows == NULL || other == NULL) {
        st = alm_fail(cx, ALM_E_MEMORY, -1, "no memory to sort %zu rows", n);
    } else {
        fill_rows(chunks, n_chunks, ts_col, range.lo, rows);
        st = radix_sort(cx, &rows, &other, n, (uint64_t)range.hi - (uint64_t)range.lo);
    }
    if (st == ALM_OK) {
        uint64_t *out = (uint64_t *)(void *)other; /* reused: 16 bytes a row there, 8 needed */
        for (size_t i = 0; i < n; i++)
            out[i] = rows[i].at;
        *order = out;
        other = NULL;
    }
    free(rows);
    free(other);
    return st;
}
