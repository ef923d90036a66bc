/*
 * part.h - the groups of a finished GROUP BY, handed out in parts by several threads.
 *
 * alm_group_run makes the operator and lets it read its input. Part p is a run of its groups, in the
 * order of one thread: parts play the role of morsels. An alm_group_part is a thread's reader.
 */
#ifndef ALM_EXEC_GROUP_PART_H
#define ALM_EXEC_GROUP_PART_H

#include "exec/run/op.h"

ALM_NODISCARD alm_status alm_group_run(alm_ctx *cx, alm_run *run, const alm_plan *plan,
                                       alm_op **out);
uint32_t alm_group_parts(const alm_op *group);
int64_t alm_group_rows(const alm_op *group);
/* A reader of `group` (or, without parts to start, of all of it). */
ALM_NODISCARD alm_status alm_group_part_new(alm_ctx *cx, alm_run *run, const alm_op *group,
                                            alm_pipe *pipe, alm_op **out);

#endif
