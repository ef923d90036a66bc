/*
 * push.h - conditions move down as far as they mean the same: through projections, sorts,
 * set operations, grouping keys, partitions; into joins as keys; into scans. Private to sql/.
 */
#ifndef ALM_SQL_NODE_PUSH_H
#define ALM_SQL_NODE_PUSH_H

#include "sql/node/ops.h"
#include "sql/plan/make.h"

/* Puts the conditions as far down in the plan as they may go. */
ALM_NODISCARD alm_status alm_push(alm_planner *planner, alm_plan **slot, alm_exprs *conjuncts);

/* ---------------------------------------------------------------- for the files of nodes */

ALM_NODISCARD alm_status alm_push_child(alm_planner *planner, alm_plan *plan, uint32_t i,
                                        alm_exprs *conjuncts);
/* All conditions stay above the node. */
ALM_NODISCARD alm_status alm_push_nothing(alm_planner *planner, alm_plan *plan, const alm_exprs *in,
                                          alm_exprs *stay);
/* Into *down goes what holds of all rows of a group or of none and `passes` lets through, into *stay the rest. */
ALM_NODISCARD alm_status alm_push_split(alm_planner *planner, const alm_exprs *in,
                                        bool (*passes)(const void *arg, const alm_expr *e),
                                        const void *arg, alm_exprs *down, alm_exprs *stay);
/* Into *down goes what reads columns of the first child alone. */
ALM_NODISCARD alm_status alm_push_split_left(alm_planner *planner, const alm_plan *plan,
                                             const alm_exprs *in, alm_exprs *down, alm_exprs *stay);
/* Conditions on keys, which are the columns from `first` on, move below a node that groups by them. */
ALM_NODISCARD alm_status alm_push_keys(alm_planner *planner, alm_plan *plan, const alm_exprs *in,
                                       uint32_t first, alm_expr **keys, uint32_t n_keys,
                                       alm_exprs *stay);
typedef struct alm_push_columns {
    alm_expr *const *keys;
    uint32_t n;
} alm_push_columns;
/* Does the expression read nothing but keys that are columns? arg: alm_push_columns. */
bool alm_push_of_columns(const void *arg, const alm_expr *expr);
/* Into the conditions of a leaf, cheap ones first. */
ALM_NODISCARD alm_status alm_push_leaf(alm_planner *planner, const alm_exprs *in,
                                       alm_expr ***filter, uint32_t *n_filters);

#endif
