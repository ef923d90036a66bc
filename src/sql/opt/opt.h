/*
 * opt.h - what the rules share; private to sql/.
 *
 * A rule changes the plan in place; nodes have one parent. It must leave result columns (number, type,
 * name), designated timestamp and order of the root as they are.
 */
#ifndef ALM_SQL_OPT_H
#define ALM_SQL_OPT_H

#include "sql/bind/bind.h"

#define ALM_RULE(name, doc)                                                                        \
    ALM_NODISCARD alm_status alm_rule_##name(alm_planner *p, alm_plan **plan);
#include "sql/opt/opt.def"
#undef ALM_RULE

/* Calls f for every expression of a node (not of its children); expressions may be replaced. */
typedef alm_status (*alm_expr_visit)(void *arg, alm_expr **e);
ALM_NODISCARD alm_status alm_plan_exprs(alm_plan *plan, alm_expr_visit f, void *arg);
/* The same for arguments and filters of aggregates. */
ALM_NODISCARD alm_status alm_aggs_exprs(alm_agg_call *aggs, uint32_t n, alm_expr_visit f,
                                        void *arg);

/* The same for all nodes of a tree, keys and residuals of joins too (bind/outer.c). Rows kept for several
 * uses are not part of it. */
ALM_NODISCARD alm_status alm_plan_each_expr(alm_plan *plan, alm_expr_visit f, void *arg);

/* Applies f to the children, then to the node. */
ALM_NODISCARD alm_status alm_plan_bottom_up(alm_planner *p, alm_plan **plan,
                                            alm_status (*f)(alm_planner *p, alm_plan **plan));

/* plan/check.c: an error if the parts of the plan do not fit together; `when` for the message. owners:
 * does each list of expressions belong to one node? */
ALM_NODISCARD alm_status alm_plan_check(alm_planner *p, alm_plan *plan, const char *when,
                                        bool owners);

/* Sets materialise.refs of p->kept (share.c). */
void alm_plan_count_shared(alm_planner *p, alm_plan *root);

/* A scan no longer reads what only conditions read that are gone (prune.c). */
ALM_NODISCARD alm_status alm_prune_filtered(alm_planner *p, alm_plan *scan);

static inline bool alm_plan_updates(const alm_plan *scan) /* gives row positions: UPDATE */
{
    for (uint32_t i = 0; i < scan->scan.n_cols; i++)
        if (scan->scan.cols[i] == ALM_SCAN_ROW)
            return true;
    return false;
}

/* Rows a SCAN reads by its intervals, before filters. */
double alm_scan_estimate(const alm_plan *scan);

#endif
