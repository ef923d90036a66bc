/*
 * range.h - rejects integers that were lost to the range of their type, where a null for them would not be noticed
 * (opt/overflow.c); private to sql/.
 */
#ifndef ALM_SQL_NODE_RANGE_H
#define ALM_SQL_NODE_RANGE_H

#include "sql/node/ops.h"

/* What is in the columns `used` of the rows of the plan must not have been lost, wherever it is computed. */
ALM_NODISCARD alm_status alm_range_below(alm_planner *planner, alm_plan *plan, const bool *used);

/* ---------------------------------------------------------------- for the files of nodes */

/* A visitor of columns that sets flags. */
bool alm_range_note(void *flags, const alm_expr *col);
/* The columns of the first child come first. */
ALM_NODISCARD alm_status alm_range_left(alm_planner *planner, alm_plan *plan, const bool *used);
/* Keys of which one group is left; aggregates are checked for themselves. */
ALM_NODISCARD alm_status alm_range_keys(alm_planner *planner, alm_plan *plan, alm_expr **keys,
                                        uint32_t n_keys, const bool *used);

#endif
