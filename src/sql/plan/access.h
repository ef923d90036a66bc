/*
 * access.h - what a statement reads, and whether its user may (access.c). Private to sql/.
 */
#ifndef ALM_SQL_BIND_ACCESS_H
#define ALM_SQL_BIND_ACCESS_H

#include "base/access.h"
#include "sql/plan/expr.h"

/* A table of FROM; one of its columns. */
ALM_NODISCARD alm_status alm_note_table(alm_planner *planner, const alm_table *table, int32_t pos);
ALM_NODISCARD alm_status alm_note_column(alm_planner *planner, const alm_table *table, uint32_t col,
                                         int32_t pos);
/* ALM_E_DENIED, unless the user may read all that was noted. Before anything of the statement runs. */
ALM_NODISCARD alm_status alm_check_reads(alm_planner *planner);
/* The same of what the scans of a finished plan read. */
ALM_NODISCARD alm_status alm_check_scans(alm_planner *planner, const alm_plan *plan);
/* A permission on columns of a table, by their numbers. */
ALM_NODISCARD alm_status alm_may_columns(alm_ctx *cx, const char *permission,
                                         const alm_table *table, const uint32_t *cols,
                                         uint32_t n_cols, int32_t pos);

#endif
