/*
 * source_if.h - the table functions as the binder sees them. exec/ owns them (exec/source.def) and
 * hands this table in, because sql/ may not include exec/.
 */
#ifndef ALM_SQL_SOURCE_IF_H
#define ALM_SQL_SOURCE_IF_H

#include "base/nearest.h"
#include "sql/plan.h"

typedef struct alm_source_if {
    bool (*exists)(alm_str name);
    void (*offer)(alm_nearest *near); /* all names */
    alm_status (*bind)(alm_ctx *cx, alm_str name, alm_snapshot *snap, int32_t pos,
                       const alm_expr *const *args, uint32_t n_args, alm_plan_col **cols,
                       uint32_t *n_cols, int32_t *ts_col, double *est_rows, void **data);
    /* type that a parameter has as argument i; NONE: that of the others */
    alm_type (*arg_type)(alm_str name, uint32_t i);
    /* constant folding: one element of an expression without columns */
    alm_status (*constant)(alm_ctx *cx, const alm_expr *expr, alm_vec *out);
} alm_source_if;

#endif
