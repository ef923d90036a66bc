/*
 * op_make.h - the constructors and preparations named in op.def, declared from that table.
 */
#ifndef ALM_EXEC_OP_MAKE_H
#define ALM_EXEC_OP_MAKE_H

#include "exec/run/op.h"

typedef alm_status alm_op_make_fn(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                                  alm_op **out);
typedef alm_status alm_op_prepare_fn(alm_ctx *cx, alm_run *run, const alm_plan *plan,
                                     void **shared);

#define ALM_OPERATOR(id, make_fn, drive_fn, prepare_fn, unprepare_fn, parts) alm_op_make_fn make_fn;
#include "exec/run/op.def"
#undef ALM_OPERATOR

/* Names in the other columns of op.def, where they are not NULL. */
alm_op_prepare_fn alm_op_scan_prepare;
alm_op_prepare_fn alm_op_source_prepare;
alm_op_make_fn alm_op_source_scan_make; /* of a source that is scanned */
alm_op_prepare_fn alm_op_join_prepare;
int32_t alm_op_join_drive(const alm_plan *plan);
void alm_op_join_unprepare(void *shared);
alm_op_prepare_fn alm_op_window_join_prepare;
void alm_op_window_join_unprepare(void *shared);
alm_op_prepare_fn alm_op_materialise_prepare;
void alm_op_materialise_unprepare(void *shared);
extern const alm_op_parts alm_group_result;

/* Kinds of JOIN with an operator of their own. */
alm_op_make_fn alm_op_asof_make;
alm_op_make_fn alm_op_asof_seek_make;
alm_op_make_fn alm_op_splice_make;

#endif
