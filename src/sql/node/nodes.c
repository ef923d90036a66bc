/* nodes.c - the tables of all operators; see ops.h. */
#include "sql/node/ops.h"

const alm_node_ops *alm_node_ops_of(alm_plan_op op)
{
    static const alm_node_ops *const tables[] = {
#define ALM_OP(id, node, name, doc) &alm_node_##node,
#include "sql/plan/op.def"
#undef ALM_OP
    };
    ALM_ASSERT((size_t)op < ALM_COUNT(tables));
    return tables[op];
}

bool alm_plan_reverse(alm_plan *plan, bool turn)
{
    const alm_node_ops *ops = alm_node_ops_of(plan->op);
    const bool can = ops->reverse != NULL && ops->reverse(plan, turn);
    if (turn && can)
        plan->order = plan->order == ALM_ORDER_ASC    ? ALM_ORDER_DESC
                      : plan->order == ALM_ORDER_DESC ? ALM_ORDER_ASC
                                                      : ALM_ORDER_NONE;
    return can;
}
