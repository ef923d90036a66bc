/*
 * op_table.h - the table of all operators, made from run/op.def. An execution carries it (alm_run.kinds), so that the
 * framework in run/ needs to know no operator.
 */
#ifndef ALM_EXEC_OP_TABLE_H
#define ALM_EXEC_OP_TABLE_H

#include "exec/run/op.h"

/* ALM_PLAN_OP_COUNT rows by alm_plan_op; `make` is NULL where there is no operator. */
const alm_op_kind *alm_op_table(void);

#endif
