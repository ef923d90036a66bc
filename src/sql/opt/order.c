/*
 * order.c - uses the order rows come in: a sort by the designated timestamp of rows that have it
 * goes, or becomes a backward scan; sorts nobody sees go; scans whose consumer does not mind are
 * told so; windows over the timestamp need no sorting.
 */
#include "sql/opt/opt.h"

/* Can the rows of the node be made to come the other way round? Does it, when `turn` is set. */
static bool reverse(alm_plan *plan, bool turn)
{
    bool can = false;
    if (plan->op == ALM_P_SCAN) {
        can = plan->scan.table->ts_col >= 0 && !alm_plan_updates(plan);
        if (turn && can)
            plan->scan.backward = !plan->scan.backward;
    } else if (plan->op == ALM_P_FILTER || plan->op == ALM_P_PROJECT) {
        for (uint32_t i = 0; plan->op == ALM_P_PROJECT && i < plan->n_cols; i++)
            if (alm_expr_volatile(plan->project.expr[i]))
                return false;
        can = reverse(plan->child[0], turn);
    } else if (plan->op == ALM_P_SAMPLE) {
        can = alm_sample_turns(&plan->sample);
        if (turn && can)
            plan->sample.backward = !plan->sample.backward;
    }
    if (turn && can)
        plan->order = plan->order == ALM_ORDER_ASC    ? ALM_ORDER_DESC
                      : plan->order == ALM_ORDER_DESC ? ALM_ORDER_ASC
                                                      : ALM_ORDER_NONE;
    return can;
}

static void drop_sort(alm_plan **slot)
{
    alm_plan *sort = *slot, *child = sort->child[0];
    if (!sort->sort.keys[0].expr || child->ts_col != sort->ts_col)
        return;
    const alm_ts_order want = sort->sort.keys[0].desc ? ALM_ORDER_DESC : ALM_ORDER_ASC;
    const bool ordered = child->order != ALM_ORDER_NONE;
    if (sort->sort.n_keys != 1 || !ordered || sort->ts_col < 0)
        return;
    if (child->order != want && (!reverse(child, false) || !reverse(child, true)))
        return;
    *slot = child;
}

static bool order_matters(const alm_agg_call *aggs, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if ((aggs[i].fn->flags & ALM_FN_ROW_ORDER) != 0)
            return true;
    return false;
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
static void visit(alm_plan **slot, bool needed)
{
    alm_plan *plan = *slot;
    bool below[2] = {needed, needed};
    if (plan->op == ALM_P_SORT) {
        if (!needed && plan->sort.limit == -1) {
            *slot = plan->child[0];
            visit(slot, false);
            return;
        }
        visit(&plan->child[0], true); /* ties keep their order */
        drop_sort(slot);
        return;
    }
    switch (plan->op) {
    case ALM_P_SCAN:
        plan->scan.unordered = !needed && !alm_plan_updates(plan);
        break;
    case ALM_P_GROUP:
        below[0] =
            plan->group.n_aggs == 0 ? needed : order_matters(plan->group.aggs, plan->group.n_aggs);
        break;
    case ALM_P_SAMPLE:
    case ALM_P_LATEST:
    case ALM_P_WINDOW:
    case ALM_P_HORIZON:
    case ALM_P_LIMIT:
        below[0] = true;
        break;
    case ALM_P_JOIN: {
        const uint8_t k = plan->join.kind;
        const bool asof = k == ALM_JOIN_ASOF || k == ALM_JOIN_LT || k == ALM_JOIN_SPLICE;
        plan->join.unordered = !needed;
        below[0] = asof || needed;
        below[1] = asof || (needed && k != 'S' && k != 'A');
        break;
    }
    case ALM_P_WINDOW_JOIN:
        below[0] = below[1] = true;
        break;
    case ALM_P_SOURCE:
    case ALM_P_SHARED:
    case ALM_P_MATERIALISE:
    case ALM_P_BARRIER:
    case ALM_P_RECURSE:
    case ALM_P_WORKING:
    case ALM_P_VALUES:
    case ALM_P_FILTER:
    case ALM_P_PROJECT:
    case ALM_P_SETOP:
    case ALM_P_SORT:
    case ALM_PLAN_OP_COUNT:
        break;
    }
    for (uint32_t i = 0; i < plan->n_children; i++)
        visit(&plan->child[i], below[i]);
    if (plan->op == ALM_P_WINDOW)
        mark_windows(plan);
}

alm_status alm_rule_order(alm_planner *p, alm_plan **plan)
{
    (void)p;
    visit(plan, true);
    return ALM_OK;
}
