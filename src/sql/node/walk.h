/* walk.h - visits the expressions and nodes of plans; private to sql/. */
#ifndef ALM_SQL_NODE_WALK_H
#define ALM_SQL_NODE_WALK_H

#include "sql/node/ops.h"

/* Calls visit for every expression of a node over its only input (not of its children); expressions may be replaced. */
ALM_NODISCARD alm_status alm_plan_exprs(alm_plan *plan, alm_expr_visit visit, void *arg);
/* The same with those over two inputs: keys, residual conditions and aggregates of joins. */
ALM_NODISCARD alm_status alm_plan_own_exprs(alm_plan *plan, alm_expr_visit visit, void *arg);
/* The same for all nodes of a tree. Rows kept for several uses are not part of it. */
ALM_NODISCARD alm_status alm_plan_each_expr(alm_plan *plan, alm_expr_visit visit, void *arg);

/* For lists of expressions, keys of sorts, arguments and filters of aggregates. */
ALM_NODISCARD alm_status alm_list_exprs(alm_expr **list, uint32_t n, alm_expr_visit visit,
                                        void *arg);
ALM_NODISCARD alm_status alm_sort_keys_exprs(alm_sort_key *keys, uint32_t n_keys,
                                             alm_expr_visit visit, void *arg);
ALM_NODISCARD alm_status alm_aggs_exprs(alm_agg_call *aggs, uint32_t n_aggs, alm_expr_visit visit,
                                        void *arg);

/* Applies visit to the children, then to the node. */
ALM_NODISCARD alm_status alm_plan_bottom_up(alm_planner *planner, alm_plan **plan,
                                            alm_status (*visit)(alm_planner *p, alm_plan **plan));

#endif
