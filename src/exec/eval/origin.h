/*
 * origin.h - where a column comes from: through projections and filters down to a table's column.
 * What is known of the table (dictionary, statistics) is then known of the column.
 */
#ifndef ALM_EXEC_ORIGIN_H
#define ALM_EXEC_ORIGIN_H

#include "sql/plan/plan.h"

typedef struct alm_origin {
    const alm_plan *scan;
    uint32_t scan_col; /* among scan->scan.cols */
    const alm_column *column;
    bool filtered; /* rows may be missing on the way */
} alm_origin;

/* False: it is computed, or comes from something other than a chain over a scan. */
bool alm_origin_of(const alm_plan *plan, const alm_expr *expr, alm_origin *out);

/*
 * Dictionary whose codes a SYMBOL expression comes as, through joins too; NULL: unknown, or not always
 * that one. Holds for all batches, also for rows of nulls that a join adds.
 */
const alm_dict *alm_origin_dict(const alm_plan *plan, const alm_expr *expr);

#endif
