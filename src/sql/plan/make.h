/*
 * make.h - makes the nodes of plans, with their columns, designated timestamp and order; private to sql/.
 *
 * Lifetime    Nodes and what they point to are of the planner's arena (p->cx->arena).
 * Errors      ALM_E_LIMIT for plans that are too deep or too large, with the position of the part that made them so.
 */
#ifndef ALM_SQL_MAKE_H
#define ALM_SQL_MAKE_H

#include "sql/plan/expr.h"

ALM_NODISCARD alm_status alm_plan_new(alm_planner *planner, alm_plan_op op, int32_t pos,
                                      alm_plan *child, alm_plan **out);
ALM_NODISCARD alm_status alm_plan_new2(alm_planner *planner, alm_plan_op op, int32_t pos,
                                       alm_plan *left, alm_plan *right, alm_plan **out);
/* One conjunct list as a FILTER; no node if there is none. */
ALM_NODISCARD alm_status alm_plan_filter(alm_planner *planner, alm_plan **plan,
                                         const alm_exprs *conjuncts);
/* PROJECT; names[i] must be terminated. Designated timestamp and order are carried over where the
 * column stands in the list as it is. */
ALM_NODISCARD alm_status alm_plan_project(alm_planner *planner, alm_plan *child, alm_expr **exprs,
                                          const char *const *names, uint32_t n, alm_plan **out);
/* First n columns only. */
ALM_NODISCARD alm_status alm_plan_cut(alm_planner *planner, alm_plan **plan, uint32_t n_names);
ALM_NODISCARD alm_status alm_plan_sort(alm_planner *planner, alm_plan **plan, alm_sort_key *keys,
                                       uint32_t n_keys);
ALM_NODISCARD alm_status alm_plan_limit(alm_planner *planner, alm_plan **plan, int64_t lo,
                                        int64_t hi);
/* One row without a table. */
ALM_NODISCARD alm_status alm_plan_one_row(alm_planner *planner, int32_t pos, alm_plan **out);
ALM_NODISCARD alm_status alm_plan_scan(alm_planner *planner, const alm_table *table, int32_t pos,
                                       alm_plan **out);
/* WINDOW: its calls behind the columns of the plan. */
ALM_NODISCARD alm_status alm_plan_window(alm_planner *planner, alm_plan **plan,
                                         alm_window_call *calls, uint32_t n_calls);
/* GROUP over all columns: DISTINCT. */
ALM_NODISCARD alm_status alm_plan_distinct(alm_planner *planner, alm_plan **plan);
/* Column i of a fresh plan in 64 bits where its arithmetic asks for them (plan/widen.c); stored: what these do not hold
 * is refused. Its type may be LONG then. */
ALM_NODISCARD alm_status alm_plan_widen_col(alm_planner *planner, alm_plan *plan, uint32_t i,
                                            bool stored);
/* Columns cast to other types; a node only if something changes. */
ALM_NODISCARD alm_status alm_plan_cast(alm_planner *planner, alm_plan **plan, const alm_type *types,
                                       alm_cast_mode mode);
/* JOIN by key pairs (types are made equal) and residual conditions; shapes cols, ts and order. */
ALM_NODISCARD alm_status alm_plan_join(alm_planner *planner, uint8_t kind, int32_t pos,
                                       alm_plan *left, alm_plan *right, alm_plan **out);
/* Makes a pair of key expressions comparable; false: their types are not. */
ALM_NODISCARD alm_status alm_join_key_types(alm_planner *planner, alm_expr **a, alm_expr **b,
                                            bool *ok);

/* A table by its name; *table NULL: there is none. */
ALM_NODISCARD alm_status alm_use_table(alm_planner *planner, alm_str name, const alm_table **table);
ALM_NODISCARD alm_status alm_enter(alm_planner *planner,
                                   int32_t pos); /* depth; pair with planner->depth-- */

/* Makes the scope's plan deliver rows in ascending order of a timestamp column. */
ALM_NODISCARD alm_status alm_plan_order_by_ts(alm_planner *planner, alm_plan **plan, uint32_t col);

#endif
