/*
 * table.h - what CREATE TABLE and ALTER TABLE share: columns and options of a table that is
 * described, checked, not made. Private to sql/.
 */
#ifndef ALM_SQL_BIND_TABLE_H
#define ALM_SQL_BIND_TABLE_H

#include "sql/bind/bind.h"

enum { ALM_INDEX_CAPACITY = 256 };

/* So many columns of one table, or names of such: ALM_E_LIMIT where it cannot have them. What follows compares each with each. */
ALM_NODISCARD alm_status alm_create_fits(alm_ctx *cx, uint32_t n, int32_t pos);
/* Column number, -1: none. */
int32_t alm_create_find(const alm_create *create, alm_str name);
/* The type of a definition, one that can be stored. */
/* The type of a column, and the characters of varchar(n), 0: any number. */
ALM_NODISCARD alm_status alm_create_type(alm_planner *planner, const alm_column_def *def,
                                         alm_type *out, uint32_t *length);
/* What a SYMBOL column has unless its definition says another. */
void alm_create_defaults(alm_column *col);
/* CAPACITY, CACHE, INDEX of a definition. */
ALM_NODISCARD alm_status alm_create_symbol(alm_planner *planner, const alm_column_def *def,
                                           alm_column *col);
ALM_NODISCARD alm_status alm_create_check_name(alm_ctx *cx, const alm_plan_env *env,
                                               const alm_stmt *stmt);
/* One more column; room for it is there. */
ALM_NODISCARD alm_status alm_create_add(alm_planner *planner, alm_create *create, alm_str name,
                                        alm_type type, int32_t pos);
/* The columns of a query. stored: not of a view, so of types that a table can have. */
ALM_NODISCARD alm_status alm_create_add_all(alm_planner *planner, const alm_stmt *stmt,
                                            const alm_plan *plan, bool stored, alm_create *create);
/* TIMESTAMP(), PARTITION BY, WAL, TTL, DEDUP, WITH. */
ALM_NODISCARD alm_status alm_create_clauses(alm_planner *planner, const alm_stmt *stmt,
                                            alm_create *create);
/* TTL and DEDUP UPSERT KEYS of a statement; nothing if it has none. */
/* WITH, SET PARAM: maxUncommittedRows and o3MaxLag. */
ALM_NODISCARD alm_status alm_create_params(alm_planner *planner, const alm_stmt *stmt,
                                           alm_create *create);
ALM_NODISCARD alm_status alm_create_ttl(alm_planner *planner, const alm_stmt *stmt,
                                        alm_create *create);
ALM_NODISCARD alm_status alm_create_dedup(alm_planner *planner, const alm_stmt *stmt,
                                          alm_create *create);

/* update.c: the scan of a table with the position of each row behind its columns. */
ALM_NODISCARD alm_status alm_plan_scan_rows(alm_planner *planner, const alm_table *table,
                                            int32_t pos, alm_plan **out);

#endif
