/*
 * opt.h - what the rules share; private to sql/.
 *
 * A rule changes the plan in place; nodes have one parent. It must leave result columns (number, type,
 * name), designated timestamp and order of the root as they are.
 */
#ifndef ALM_SQL_OPT_H
#define ALM_SQL_OPT_H

#include "sql/node/walk.h"
#include "sql/plan/make.h"

/* The rules that use constants and rows, over an instance of a template. */
ALM_NODISCARD alm_status alm_optimise_instance(alm_planner *planner, alm_plan **plan);

/* All rules of opt/opt.def in order. */
ALM_NODISCARD alm_status alm_optimise(alm_planner *planner, alm_plan **plan);

#define ALM_RULE(name, doc)                                                                        \
    ALM_NODISCARD alm_status alm_rule_##name(alm_planner *p, alm_plan **plan);
#include "sql/opt/opt.def"
#undef ALM_RULE

/* Sets materialise.refs of planner->kept (share.c). */
void alm_plan_count_shared(alm_planner *planner, alm_plan *root);

#endif
