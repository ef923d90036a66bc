/*
 * branch.h - GROUP BY with several count_distinct, or one beside other aggregates, as several
 * groupings of the same input.
 *
 * Sets of values as states would be merged by few threads and live until the end. Each different argument
 * of count_distinct is a grouping of its own instead, by keys and argument (distinct.c), and the
 * other aggregates are one more. All have the same groups; their results are put side by side by key.
 */
#ifndef ALM_EXEC_GROUP_BRANCH_H
#define ALM_EXEC_GROUP_BRANCH_H

#include "exec/run/op.h"

/* Is that how the plan runs? Where its input is a chain over a scan, which may be read several times. */
bool alm_group_branches(const alm_run *run, const alm_plan *plan);
ALM_NODISCARD alm_status alm_group_branch_make(alm_ctx *cx, alm_run *run, const alm_plan *plan,
                                               alm_op **out);

#endif
