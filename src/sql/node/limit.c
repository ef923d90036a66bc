/*
 * limit.c - LIMIT: a range of rows.
 */
#include <inttypes.h>

#include "sql/node/decorrelate.h"
#include "sql/node/explain.h"
#include "sql/node/ops.h"
#include "sql/node/prune.h"

static alm_status limit_explain(alm_printer *printer, const alm_plan *plan)
{
    ALM_TRY(alm_buf_printf(printer->cx, &printer->buf, " lo: %" PRId64 " hi: ", plan->limit.lo));
    return plan->limit.hi == INT64_MAX
               ? alm_print(printer, "end")
               : alm_buf_printf(printer->cx, &printer->buf, "%" PRId64, plan->limit.hi);
}

/* Does a LIMIT above stop the node after as many rows? */
static bool streams(const alm_plan *plan)
{
    if (plan->op == ALM_P_PROJECT)
        return streams(plan->child[0]);
    return (plan->op == ALM_P_SCAN && plan->scan.n_filters == 0) || plan->op == ALM_P_SOURCE;
}

static void cap(alm_plan *plan, double rows)
{
    plan->est_rows = ALM_MIN(plan->est_rows, rows);
    if (plan->op == ALM_P_PROJECT)
        cap(plan->child[0], rows);
}

static void limit_estimate(alm_plan *plan, double left, ALM_UNUSED double right)
{
    const int64_t hi = plan->limit.hi;
    plan->est_rows = left;
    if (plan->limit.lo >= 0 && hi >= 0 && hi != INT64_MAX && streams(plan->child[0])) {
        cap(plan->child[0], (double)hi + (double)ALM_BATCH_ROWS);
        plan->est_rows = ALM_MIN(left, (double)hi);
    }
    if (plan->limit.lo == 0 && hi == 0)
        plan->est_rows = 0;
}

static double limit_most_rows(const alm_plan *plan, const double rows[2], ALM_UNUSED double *pairs)
{
    const bool bounded = plan->limit.lo >= 0 && plan->limit.hi >= 0;
    return bounded ? ALM_MIN(rows[0], (double)plan->limit.hi) : rows[0];
}

static alm_status limit_decorrelate(const alm_dep_ctx *dep, alm_plan **plan, alm_exprs *carried)
{
    alm_plan *limit = *plan, *child = limit->child[0];
    const uint32_t n_before = child->n_cols;
    ALM_TRY(alm_dep_push(dep, &child, carried));
    *plan = child;
    if (!limit->limit.single)
        return alm_plan_limit_per(dep->p, plan, n_before, carried->n, limit->limit.lo,
                                  limit->limit.hi);
    const uint32_t number = child->n_cols;
    ALM_TRY(alm_dep_number_rows(dep->p, plan, n_before, carried->n));
    ALM_TRY(alm_dep_refuse_second(dep->p, plan, number, limit->pos));
    return alm_plan_cut(dep->p, plan, number);
}

const alm_node_ops alm_node_limit = {
    .pg_name = "Limit",
    .n_children = 1,
    .flags = ALM_NODE_SAME_COLUMNS | ALM_NODE_SAME_ROWS | ALM_NODE_ORDERED_INPUT | ALM_NODE_CHEAP |
             ALM_NODE_FAST | ALM_NODE_OPEN | ALM_NODE_FOLLOWS,
    .explain = limit_explain,
    .estimate = limit_estimate,
    .most_rows = limit_most_rows,
    .prune = alm_prune_passing,
    .decorrelate = limit_decorrelate,
};
