/*
 * fused.c - see fused.h. One loop, stamped by which of the states are there.
 */
#include "func/agg/fused.h"

#define STAMP(name, ROWS, SUM, MIN, MAX)                                                           \
    static void name(void *const state[ALM_FUSE_KINDS], const uint32_t *restrict group, size_t n,  \
                     const double *restrict x)                                                     \
    {                                                                                              \
        int64_t *restrict rows = state[ALM_FUSE_ROWS];                                             \
        alm_fsum *restrict sum = state[ALM_FUSE_SUM];                                              \
        double *restrict min = state[ALM_FUSE_MIN], *restrict max = state[ALM_FUSE_MAX];           \
        for (size_t i = 0; i < n; i++) {                                                           \
            const uint32_t g = group[i];                                                           \
            const double v = x[i];                                                                 \
            const bool in = v == v;                                                                \
            if (ROWS)                                                                              \
                rows[g]++;                                                                         \
            if (SUM) {                                                                             \
                sum[g].sum += in ? v : 0;                                                          \
                sum[g].count += in;                                                                \
            }                                                                                      \
            if (MIN)                                                                               \
                min[g] = v < min[g] ? v : min[g];                                                  \
            if (MAX)                                                                               \
                max[g] = v > max[g] ? v : max[g];                                                  \
        }                                                                                          \
    }
STAMP(fused_rows_sum, 1, 1, 0, 0)
STAMP(fused_rows_min, 1, 0, 1, 0)
STAMP(fused_rows_max, 1, 0, 0, 1)
STAMP(sum_min, 0, 1, 1, 0)
STAMP(sum_max, 0, 1, 0, 1)
STAMP(min_max, 0, 0, 1, 1)
STAMP(rows_sum_min, 1, 1, 1, 0)
STAMP(rows_sum_max, 1, 1, 0, 1)
STAMP(rows_min_max, 1, 0, 1, 1)
STAMP(sum_min_max, 0, 1, 1, 1)
STAMP(rows_sum_min_max, 1, 1, 1, 1)
STAMP(rows_only, 1, 0, 0, 0)
STAMP(sum_only, 0, 1, 0, 0)
STAMP(min_only, 0, 0, 1, 0)
STAMP(max_only, 0, 0, 0, 1)

void alm_fused_scatter(void *const state[ALM_FUSE_KINDS], const uint32_t *group, size_t n,
                       const double *x)
{
    /* by bits: rows 1, sum 2, min 4, max 8 */
    static void (*const loop[16])(void *const *, const uint32_t *, size_t, const double *) = {
        NULL,    rows_only,    sum_only,    fused_rows_sum,  min_only, fused_rows_min,
        sum_min, rows_sum_min, max_only,    fused_rows_max,  sum_max,  rows_sum_max,
        min_max, rows_min_max, sum_min_max, rows_sum_min_max};
    uint32_t which = 0;
    for (uint32_t k = ALM_FUSE_ROWS; k < ALM_FUSE_KINDS; k++)
        which |= (uint32_t)(state[k] != NULL) << (k - 1);
    if (which != 0)
        loop[which](state, group, n, x);
}

/* --------------------------------------------------------------------------- rows of memory */

typedef double pair __attribute__((vector_size(16)));
typedef int64_t mask __attribute__((vector_size(16)));
typedef struct pairs {
    pair sum_count, min_neg_max;
} pairs;
_Static_assert(sizeof(pairs) == sizeof(alm_fused_row), "the same memory");

void alm_fused_rows_init(alm_fused_row *rows, size_t n_rows)
{
    for (size_t i = 0; i < n_rows; i++)
        rows[i] = (alm_fused_row){.min = __builtin_inf(), .neg_max = __builtin_inf()};
}

static inline pair fused_least(pair a, pair b)
{
    const mask less = a < b; /* false for NaN */
    return (pair)(((mask)a & less) | ((mask)b & ~less));
}

#define STAMP_ROWS(name, SUMS, EXTREMES)                                                           \
    static void name(pairs *restrict rows, const uint32_t *restrict group, size_t n,               \
                     const double *restrict x)                                                     \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            pairs *r = &rows[group[i]];                                                            \
            const double v = x[i];                                                                 \
            const pair both = {v, v}, one = {v, 1.0}, ends = {v, -v};                              \
            if (SUMS)                                                                              \
                r->sum_count += (pair)((mask)one & (mask)(both == both));                          \
            if (EXTREMES)                                                                          \
                r->min_neg_max = fused_least(ends, r->min_neg_max);                                \
        }                                                                                          \
    }
STAMP_ROWS(fused_add_all, 1, 1)
STAMP_ROWS(add_sums, 1, 0)
STAMP_ROWS(add_extremes, 0, 1)

void alm_fused_rows_add(alm_fused_row *rows, const uint32_t *group, size_t n, const double *x,
                        bool sums, bool extremes)
{
    pairs *to = (pairs *)(void *)rows;
    if (sums && extremes)
        fused_add_all(to, group, n, x);
    else if (sums)
        add_sums(to, group, n, x);
    else
        add_extremes(to, group, n, x);
}

void alm_fused_rows_take(const alm_fused_row *row, void *const state[ALM_FUSE_KINDS], size_t offset)
{
    if (state[ALM_FUSE_SUM] != NULL) {
        alm_fsum *fsum = (alm_fsum *)state[ALM_FUSE_SUM] + offset;
        fsum->sum += row->sum;
        fsum->count += (int64_t)row->count;
    }
    if (state[ALM_FUSE_MIN] != NULL) {
        double *sum = (double *)state[ALM_FUSE_MIN] + offset;
        *sum = row->min < *sum ? row->min : *sum;
    }
    if (state[ALM_FUSE_MAX] != NULL) {
        double *sum = (double *)state[ALM_FUSE_MAX] + offset;
        *sum = -row->neg_max > *sum ? -row->neg_max : *sum;
    }
}
