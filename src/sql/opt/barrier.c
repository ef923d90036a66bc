/*
 * barrier.c - the barriers around views of other definers (bind/view.c): between the binder and `open` they keep what could
 * tell of rows that the view hides above its query. A call that can fail or has an effect, run below the view's own conditions,
 * would see those rows and print them in its error.
 *
 * Speed       A barrier goes at once where all that stands above it is leakproof (ALM_FN_LEAKPROOF): then nothing that a rule may
 *             move tells anything, and the plan is that of the definer. Aggregates and LIMIT are no matter: no rule moves them
 *             below a condition or a join.
 * Rules       A rule that does not know BARRIER stops at it. `pushdown` lets through what is leakproof.
 * Sealed      Those of a plan that is shown and not run stay, and nothing goes below them (bind/view.c).
 * After       `open` no rule moves a condition, and filters keep their order (exec/eval/filter.c: what is no plain comparison runs in
 *             the order written, over the rows that are still in).
 */
#include "sql/opt/opt.h"

static alm_status take_away(alm_planner *planner, alm_plan **slot)
{
    alm_plan *barrier = *slot, *child = barrier->child[0];
    alm_expr **cols = NULL;
    const char **names = NULL;
    if (barrier->ts_col == child->ts_col && barrier->order == child->order) {
        child->cols = barrier->cols; /* names of the query around */
        *slot = child;
        return ALM_OK;
    }
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, child->n_cols + 1, &cols));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, child->n_cols + 1, &names));
    for (uint32_t i = 0; i < child->n_cols; i++) {
        names[i] = barrier->cols[i].name;
        ALM_TRY(alm_expr_col(planner->cx, i, child->cols[i].type, barrier->pos, &cols[i]));
    }
    ALM_TRY(alm_plan_project(planner, child, cols, names, child->n_cols, slot));
    (*slot)->ts_col = barrier->ts_col; /* said by the query around: t timestamp(x) */
    (*slot)->order = barrier->order;
    return ALM_OK;
}

static alm_status is_leakproof(void *arg, alm_expr **expr)
{
    *(bool *)arg &= alm_expr_leakproof(*expr);
    return ALM_OK;
}

/* Of the node itself, without its children. */
static alm_status tells_nothing(alm_plan *plan, bool *out)
{
    *out = !alm_node_is(plan, ALM_NODE_MAY_LEAK);
    return alm_plan_own_exprs(plan, is_leakproof, out);
}

/* safe: nothing between this node and the next barrier above, or the top, could leak. What could and stands above a barrier
 * that stays does not come below it. */
static alm_status opt_barrier_visit(alm_planner *planner, alm_plan **slot, bool safe)
{
    bool own = true;
    ALM_TRY(alm_enter(planner, (*slot)->pos));
    while ((*slot)->op == ALM_P_BARRIER && safe && !alm_plan_is_sealed(*slot))
        ALM_TRY(take_away(planner, slot));
    alm_plan *plan = *slot;
    ALM_TRY(tells_nothing(plan, &own));
    const bool below = plan->op == ALM_P_BARRIER || (safe && own);
    for (uint32_t i = 0; i < plan->n_children; i++)
        ALM_TRY(opt_barrier_visit(planner, &plan->child[i], below));
    planner->depth--;
    return ALM_OK;
}

alm_status alm_rule_barrier(alm_planner *planner, alm_plan **plan)
{
    return opt_barrier_visit(planner, plan, true);
}

static alm_status open_one(alm_planner *planner, alm_plan **slot)
{
    return (*slot)->op == ALM_P_BARRIER && !alm_plan_is_sealed(*slot) ? take_away(planner, slot)
                                                                      : ALM_OK;
}

alm_status alm_rule_open(alm_planner *planner, alm_plan **plan)
{
    return alm_plan_bottom_up(planner, plan, open_one);
}
