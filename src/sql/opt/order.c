/*
 * order.c - uses the order rows come in: a sort by the designated timestamp of rows that have it
 * goes, or becomes a backward scan; sorts nobody sees go; scans whose consumer does not mind are
 * told so; windows over the timestamp need no sorting.
 */
#include "sql/opt/opt.h"

static void drop_sort(alm_plan **slot)
{
    alm_plan *sort = *slot, *child = sort->child[0];
    if (!sort->sort.keys[0].expr || child->ts_col != sort->ts_col)
        return;
    const alm_ts_order want = sort->sort.keys[0].desc ? ALM_ORDER_DESC : ALM_ORDER_ASC;
    const bool ordered = child->order != ALM_ORDER_NONE;
    if (sort->sort.n_keys != 1 || !ordered || sort->ts_col < 0)
        return;
    if (child->order != want && (!alm_plan_reverse(child, false) || !alm_plan_reverse(child, true)))
        return;
    *slot = child;
}

static void mark_windows(alm_plan *plan)
{
    const alm_plan *child = plan->child[0];
    for (uint32_t i = 0; i < plan->window.n_calls; i++) {
        alm_window_call *call = &plan->window.calls[i];
        if (call->n_order != 1 || child->ts_col < 0 || child->order == ALM_ORDER_NONE)
            continue;
        const alm_expr *key = call->order[0].expr;
        call->order_is_ts = key->kind == ALM_X_COL && key->col == (uint32_t)child->ts_col &&
                            call->order[0].desc == (child->order == ALM_ORDER_DESC);
    }
}

/* needed: somebody above sees the order of the rows of this node. */
static void opt_order_visit(alm_plan **slot, bool needed)
{
    alm_plan *plan = *slot;
    bool below[2] = {needed, needed};
    if (plan->op == ALM_P_SORT) {
        if (!needed && plan->sort.limit == -1) {
            *slot = plan->child[0];
            opt_order_visit(slot, false);
            return;
        }
        opt_order_visit(&plan->child[0], true); /* ties keep their order */
        drop_sort(slot);
        return;
    }
    const alm_node_ops *ops = alm_node_ops_of(plan->op);
    below[0] |= (ops->flags & ALM_NODE_ORDERED_INPUT) != 0;
    if (ops->order != NULL)
        ops->order(plan, needed, below);
    for (uint32_t i = 0; i < plan->n_children; i++)
        opt_order_visit(&plan->child[i], below[i]);
    if (plan->op == ALM_P_WINDOW)
        mark_windows(plan);
}

alm_status alm_rule_order(alm_planner *planner, alm_plan **plan)
{
    (void)planner;
    opt_order_visit(plan, true);
    return ALM_OK;
}
