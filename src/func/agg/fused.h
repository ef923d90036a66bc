/*
 * fused.h - several aggregates of one DOUBLE column, and count(), scattered in one loop.
 *
 * Apart, each of them reads the groups again and waits for its own stores; together their waits overlap.
 * Results are those of the loops apart, to the bit.
 */
#ifndef ALM_FUNC_AGG_FUSED_H
#define ALM_FUNC_AGG_FUSED_H

#include "base/base.h"

/* What scatter of an aggregate does, for those that can be taken together (alm_agg_ops.fuse). */
typedef enum alm_fuse {
    ALM_FUSE_NONE,
    ALM_FUSE_ROWS, /* count(): int64_t */
    ALM_FUSE_SUM,  /* sum, avg of DOUBLE: alm_fsum */
    ALM_FUSE_MIN,  /* of DOUBLE: double */
    ALM_FUSE_MAX,
    ALM_FUSE_KINDS
} alm_fuse;

typedef struct alm_fsum {
    double sum;
    int64_t count;
} alm_fsum;

/* Row i of x into entry group[i] of each array; state[kind] NULL: not asked for. */
void alm_fused_scatter(void *const state[ALM_FUSE_KINDS], const uint32_t *group, size_t n,
                       const double *x);

/*
 * The same for few groups and many rows, in a row of memory per group: two additions are one instruction
 * and so are two comparisons. The rows are added to the states now and then; counts are exact for
 * 2^53 rows.
 */
typedef struct alm_fused_row {
    double sum, count;   /* of values */
    double min, neg_max; /* infinite: none */
} alm_fused_row;

void alm_fused_rows_init(alm_fused_row *rows, size_t n_rows);
/* Value i into rows[group[i]]; sums and counts, or extremes, are left out where not asked for. */
void alm_fused_rows_add(alm_fused_row *rows, const uint32_t *group, size_t n, const double *x,
                        bool sums, bool extremes);
/* Adds a row to entry `offset` of the states that there are (but ALM_FUSE_ROWS). */
void alm_fused_rows_take(const alm_fused_row *row, void *const state[ALM_FUSE_KINDS],
                         size_t offset);

#endif
