/*
 * estimate.c - est_rows of every node: the rows it reads or makes, whichever is more. Rough on
 * purpose: it decides between running at once and handing over to workers.
 */
#include "sql/opt/opt.h"

static const double RECURSION_ROWS = 100000;

double alm_scan_estimate(const alm_plan *plan)
{
    const alm_table *t = plan->scan.table;
    const double rows = (double)t->row_count;
    if (!plan->scan.has_interval || rows <= 0)
        return rows;
    const double span = (double)t->max_ts - (double)t->min_ts + 1;
    double inside = 0;
    for (uint32_t i = 0; i < plan->scan.n_intervals; i++) {
        const alm_interval *in = &plan->scan.interval[i];
        const double lo = ALM_MAX((double)in->lo, (double)t->min_ts);
        const double hi = ALM_MIN((double)in->hi, (double)t->max_ts);
        if (lo <= hi)
            inside += hi - lo + 1;
    }
    return span > 0 ? rows * ALM_MIN(inside / span, 1.0) : rows;
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

static alm_status visit(alm_planner *p, alm_plan **slot)
{
    (void)p;
    alm_plan *plan = *slot;
    const double a = plan->n_children > 0 ? plan->child[0]->est_rows : 0;
    const double b = plan->n_children > 1 ? plan->child[1]->est_rows : 0;
    switch (plan->op) {
    case ALM_P_SCAN:
        plan->est_rows = alm_scan_estimate(plan);
        break;
    case ALM_P_VALUES:
        plan->est_rows = plan->values.n_rows;
        break;
    case ALM_P_LIMIT: {
        const int64_t hi = plan->limit.hi;
        plan->est_rows = a;
        if (plan->limit.lo >= 0 && hi >= 0 && hi != INT64_MAX && streams(plan->child[0])) {
            cap(plan->child[0], (double)hi + (double)ALM_BATCH_ROWS);
            plan->est_rows = ALM_MIN(a, (double)hi);
        }
        if (plan->limit.lo == 0 && hi == 0)
            plan->est_rows = 0;
        break;
    }
    case ALM_P_JOIN: {
        const bool pairs = plan->join.n_keys == 0 &&
                           (plan->join.kind == ALM_JOIN_CROSS ||
                            plan->join.kind == ALM_JOIN_INNER || plan->join.kind == ALM_JOIN_LEFT ||
                            plan->join.kind == ALM_JOIN_RIGHT || plan->join.kind == ALM_JOIN_FULL);
        plan->est_rows = pairs ? ALM_MAX(a * b, a + b) : a + b;
        break;
    }
    case ALM_P_HORIZON:
        plan->est_rows = a * plan->horizon.n_offsets;
        break;
    case ALM_P_SETOP:
        plan->est_rows = a + b;
        break;
    case ALM_P_SOURCE: /* its bind said it */
        break;
    case ALM_P_SHARED:
        plan->est_rows = plan->shared.of->child[0]->est_rows;
        break;
    case ALM_P_WORKING: /* nobody knows: enough not to run it at once */
        plan->est_rows = RECURSION_ROWS;
        break;
    case ALM_P_RECURSE:
        plan->est_rows = ALM_MAX(a + b, RECURSION_ROWS);
        break;
    case ALM_P_FILTER:
    case ALM_P_MATERIALISE:
    case ALM_P_BARRIER:
    case ALM_P_PROJECT:
    case ALM_P_GROUP:
    case ALM_P_SAMPLE:
    case ALM_P_SORT:
    case ALM_P_WINDOW:
    case ALM_P_WINDOW_JOIN:
    case ALM_P_LATEST:
    case ALM_PLAN_OP_COUNT:
        plan->est_rows = a;
        break;
    }
    return ALM_OK;
}

alm_status alm_rule_estimate(alm_planner *p, alm_plan **plan)
{
    return alm_plan_bottom_up(p, plan, visit);
}
