/*
 * reverse.h - a chain of filters and projections on a forward scan or SAMPLE BY, the other way.
 *
 * Plans are read-only: alm_reverse_plan copies the chain. Its rows are those of the original, last
 * one first. Node ids are kept, so only one of the two may run in an execution.
 */
#ifndef ALM_EXEC_REVERSE_H
#define ALM_EXEC_REVERSE_H

#include "exec/run/op.h"

bool alm_reverse_can(const alm_plan *plan);
ALM_NODISCARD alm_status alm_reverse_plan(alm_ctx *cx, const alm_plan *plan, alm_plan **out);

#endif
