/*
 * share.c - whether the rows of a query of WITH are kept for all its uses, or the query is put back
 * where it is used: with one use there is nothing to share, and huge results that little work makes are
 * made again rather than kept.
 */
#include "sql/node/copy.h"
#include "sql/opt/opt.h"

/* More rows than this are not kept where the query only passes them on. */
static const double KEEP_ROWS = 4e6;

static void opt_share_count(alm_plan *plan)
{
    if (plan->op == ALM_P_SHARED && plan->shared.of->materialise.refs++ == 0)
        opt_share_count(plan->shared.of->child[0]);
    for (uint32_t i = 0; i < plan->n_children; i++)
        opt_share_count(plan->child[i]);
}

void alm_plan_count_shared(alm_planner *planner, alm_plan *root)
{
    for (uint32_t kept = 0; kept < planner->n_kept; kept++)
        planner->kept[kept]->materialise.refs = 0;
    if (planner->n_kept > 0)
        opt_share_count(root);
}

/* At most so many rows, or a guess. */
static double opt_share_rows_of(const alm_plan *plan)
{
    double a = plan->n_children > 0 ? opt_share_rows_of(plan->child[0]) : 0;
    const double b = plan->n_children > 1 ? opt_share_rows_of(plan->child[1]) : 0;
    if (plan->op == ALM_P_SCAN)
        return (double)plan->scan.table->row_count;
    if (plan->op == ALM_P_SHARED)
        return plan->shared.of->est_rows; /* known by then: chains of them must not multiply */
    if (alm_node_is(plan, ALM_NODE_REDUCES))
        return a / 100;
    if (plan->op == ALM_P_LIMIT && plan->limit.lo >= 0 && plan->limit.hi != INT64_MAX)
        return ALM_MIN(a, (double)plan->limit.hi);
    if (plan->op == ALM_P_SOURCE || plan->op == ALM_P_VALUES)
        a = plan->est_rows;
    return ALM_MAX(a, b);
}

/* Does anything below have to see all its rows first? Then doing it twice is dear. */
static bool opt_share_is_heavy(const alm_plan *plan)
{
    if (alm_node_is(plan, ALM_NODE_HEAVY))
        return true;
    for (uint32_t i = 0; i < plan->n_children; i++)
        if (opt_share_is_heavy(plan->child[i]))
            return true;
    return false;
}

static bool goes_back(const alm_plan *kept)
{
    if (kept->materialise.refs == 1)
        return true;
    if (kept->materialise.must || kept->child[0]->op == ALM_P_RECURSE)
        return false;
    return kept->materialise.never ||
           (!opt_share_is_heavy(kept->child[0]) && opt_share_rows_of(kept->child[0]) > KEEP_ROWS);
}

static bool has_recursion(const alm_plan *plan)
{
    if (plan->op == ALM_P_RECURSE)
        return true;
    for (uint32_t i = 0; i < plan->n_children; i++)
        if (has_recursion(plan->child[i]))
            return true;
    return false;
}

/* Puts the query, or a copy of it, in the place of each use. */
static alm_status opt_share_put_back(alm_planner *planner, alm_plan **slot, alm_plan *kept,
                                     uint32_t *left)
{
    alm_plan *plan = *slot;
    if (plan->op == ALM_P_SHARED && plan->shared.of == kept) {
        alm_plan *child = kept->child[0];
        if (--*left > 0)
            ALM_TRY(alm_plan_copy(planner, child, &child));
        child->cols = plan->cols;
        child->ts_col = plan->ts_col;
        child->order = plan->order;
        *slot = child;
        return ALM_OK;
    }
    for (uint32_t i = 0; i < plan->n_children && *left > 0; i++)
        ALM_TRY(opt_share_put_back(planner, &plan->child[i], kept, left));
    return ALM_OK;
}

alm_status alm_rule_share(alm_planner *planner, alm_plan **plan)
{
    for (uint32_t k = 0; k < planner->n_kept; k++)
        planner->kept[k]->est_rows = opt_share_rows_of(planner->kept[k]->child[0]);
    /* a query can only use those before it, so its own uses are settled by then */
    for (uint32_t k = planner->n_kept; k-- > 0;) {
        alm_plan *kept = planner->kept[k];
        uint32_t left = kept->materialise.refs;
        if (left == 0 || !goes_back(kept) || (left > 1 && has_recursion(kept->child[0])))
            continue;
        ALM_TRY(opt_share_put_back(planner, plan, kept, &left));
        for (uint32_t j = k + 1; j < planner->n_kept && left > 0; j++)
            if (planner->kept[j]->materialise.refs > 0)
                ALM_TRY(opt_share_put_back(planner, &planner->kept[j]->child[0], kept, &left));
        alm_plan_count_shared(planner, *plan);
    }
    return ALM_OK;
}
