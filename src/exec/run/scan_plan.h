/*
 * scan_plan.h - a SCAN node made ready for one execution: the storage scan and its morsels. Shared
 * by all threads, read-only after alm_op_scan_prepare.
 *
 * Morsel      A run of segments that follow one another in the order of the output, of about
 *             ALM_MORSEL_ROWS rows. A segment lies in one span. Borders depend on the data alone.
 */
#ifndef ALM_EXEC_SCAN_PLAN_H
#define ALM_EXEC_SCAN_PLAN_H

#include "exec/run/op.h"
#include "exec/sort/sortkey.h"

enum { ALM_MORSEL_ROWS = 131072 }; /* two blocks of statistics */

typedef struct alm_scan_segment {
    uint32_t span;
    int64_t lo, hi; /* rows of the span */
} alm_scan_segment;

/*
 * What a top-k sort above a scan knows: rows whose value of a column has a code above `code` cannot be in
 * its result. The scan leaves out blocks whose statistics say that they have only such rows. Lowered by
 * all threads while they run.
 */
typedef struct alm_scan_bound {
    uint32_t stored_col;
    alm_type type;
    alm_sort_order order;
    _Atomic uint64_t code; /* UINT64_MAX: not known yet */
} alm_scan_bound;

typedef struct alm_scan_plan {
    const alm_plan *plan;
    const alm_scan_ops *scans; /* the functions for `scan` */
    alm_scan *scan;
    uint32_t n_cols; /* plan->scan.n_cols */
    uint32_t
        n_stored;    /* columns read from storage: the first ones unless `row_col` is among them */
    int32_t row_col; /* position of ALM_SCAN_ROW among the columns, -1 none */
    int64_t *span_row; /* with row_col: number of the first row of each span */
    alm_scan_segment *segment;
    uint32_t n_segments;
    uint32_t *morsel; /* n_morsels + 1 entries: first segment of each */
    uint32_t n_morsels;
    alm_scan_bound *bound; /* set before the scan runs, or NULL */
} alm_scan_plan;

/* Number among the stored columns of column i of the scan, which is not `row_col`. */
static inline uint32_t alm_scan_stored(const alm_scan_plan *scan, uint32_t i)
{
    ALM_ASSERT(i < scan->n_cols);
    return scan->row_col >= 0 && i > (uint32_t)scan->row_col ? i - 1 : i;
}

#endif
