/* walk.h - visits the expressions and nodes of plans; private to sql/. */
#ifndef ALM_SQL_WALK_H
#define ALM_SQL_WALK_H

#include "sql/plan/expr.h"

/* Calls f for every expression of a node (not of its children); expressions may be replaced. */
typedef alm_status (*alm_expr_visit)(void *arg, alm_expr **e);
ALM_NODISCARD alm_status alm_plan_exprs(alm_plan *plan, alm_expr_visit f, void *arg);
/* The same for arguments and filters of aggregates. */
ALM_NODISCARD alm_status alm_aggs_exprs(alm_agg_call *aggs, uint32_t n, alm_expr_visit f,
                                        void *arg);

/* The same for all nodes of a tree, keys and residuals of joins too. Rows kept for several
 * uses are not part of it. */
ALM_NODISCARD alm_status alm_plan_each_expr(alm_plan *plan, alm_expr_visit f, void *arg);

/* Applies f to the children, then to the node. */
ALM_NODISCARD alm_status alm_plan_bottom_up(alm_planner *p, alm_plan **plan,
                                            alm_status (*f)(alm_planner *p, alm_plan **plan));

#endif
