/*
 * agg_rows.h - aggregates of distinct values, and of values in an order of their own.
 *
 * agg(DISTINCT x) and agg(x ORDER BY y) are aggregates of rows that are kept: the state is the rows of
 * the group (arguments, then sort keys), without those whose arguments were there before if they are
 * DISTINCT. States are merged like any others, so that such calls work wherever aggregates do. The
 * aggregate proper is asked at the end, about the rows in their order.
 *
 * Null rule   Rows of nulls are kept: what they count for is the aggregate's own affair.
 * Memory      Row bytes lie in the arena of the states, charged to the query; growing doubles.
 */
#ifndef ALM_EXEC_AGG_ROWS_H
#define ALM_EXEC_AGG_ROWS_H

#include "exec/run/op.h"

/* Is the call one of these? */
static inline bool alm_agg_rows_wanted(const alm_agg_call *call)
{
    return call->distinct || call->n_order > 0;
}

extern const alm_agg_ops alm_agg_rows_ops;

/* Makes rt, the call site of the aggregate proper, one of alm_agg_rows_ops. Memory from cx->arena. */
ALM_NODISCARD alm_status alm_agg_rows_new(alm_ctx *cx, const alm_agg_call *call, alm_call *rt);
void alm_agg_rows_free(const alm_call *call);

#endif
