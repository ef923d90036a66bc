/*
 * opt.h - what the rules share; private to sql/.
 *
 * A rule changes the plan in place; nodes have one parent. It must leave result columns (number, type,
 * name), designated timestamp and order of the root as they are.
 */
#ifndef ALM_SQL_OPT_H
#define ALM_SQL_OPT_H

#include "sql/plan/check.h"
#include "sql/plan/node.h"
#include "sql/plan/walk.h"

/* The rules that use constants and rows, over an instance of a template. */
ALM_NODISCARD alm_status alm_optimise_instance(alm_planner *p, alm_plan **plan);

/* All rules of opt/opt.def in order. */
ALM_NODISCARD alm_status alm_optimise(alm_planner *p, alm_plan **plan);

/* What INT or LONG lost, wherever it was computed, is refused in the columns `used` of the plan (opt/overflow.c). */
ALM_NODISCARD alm_status alm_plan_check_range(alm_planner *p, alm_plan *plan, const bool *used);

#define ALM_RULE(name, doc)                                                                        \
    ALM_NODISCARD alm_status alm_rule_##name(alm_planner *p, alm_plan **plan);
#include "sql/opt/opt.def"
#undef ALM_RULE

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
