/* op_table.c - see op_table.h. */
#include "exec/op_table.h"

#include "exec/run/op_make.h"

/* The drive function of operators whose rows follow from those of their first child. */
static int32_t alm_op_drive_first(const alm_plan *plan)
{
    (void)plan;
    return 0;
}

const alm_op_kind *alm_op_table(void)
{
    static const alm_op_kind table[ALM_PLAN_OP_COUNT] = {
#define ALM_OPERATOR(id, make_fn, drive_fn, prepare_fn, unprepare_fn, parts_table)                 \
    [ALM_P_##id] = {.make = make_fn,                                                               \
                    .drive = drive_fn,                                                             \
                    .prepare = prepare_fn,                                                         \
                    .unprepare = unprepare_fn,                                                     \
                    .parts = parts_table},
#include "exec/run/op.def"
#undef ALM_OPERATOR
    };
    return table;
}
