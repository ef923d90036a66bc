/*
 * scan.c - SCAN: columns of a table, by time interval, with filters.
 */
#include "sql/node/check.h"
#include "sql/node/copy.h"
#include "sql/node/explain.h"
#include "sql/node/ops.h"
#include "sql/node/prune.h"
#include "sql/node/push.h"
#include "sql/node/walk.h"

static alm_status scan_exprs(alm_plan *plan, alm_expr_visit f, void *arg)
{
    return alm_list_exprs(plan->scan.filter, plan->scan.n_filters, f, arg);
}

static alm_status scan_copy(alm_planner *p, alm_plan *plan)
{
    ALM_COPY_LIST(plan->scan.cols, plan->scan.n_cols);
    ALM_COPY_LIST(plan->scan.interval, plan->scan.n_intervals);
    ALM_COPY_LIST(plan->scan.filter, plan->scan.n_filters);
    return ALM_OK;
}

static uint32_t scan_width(const alm_plan *plan)
{
    return plan->scan.n_out;
}

static alm_status scan_check(alm_checking *c)
{
    const alm_plan *plan = c->node;
    const alm_table *table = plan->scan.table;
    alm_plan_col *cols = NULL;
    if (plan->scan.n_filters > 0)
        ALM_TRY(ALM_NEWN(c->p->cx, c->p->cx->arena, plan->scan.n_cols + 1, &cols));
    for (uint32_t i = 0; i < plan->scan.n_cols; i++) {
        const uint32_t at = plan->scan.cols[i];
        if (at != ALM_SCAN_ROW && at >= table->n_cols)
            return alm_check_wrong(c, "a column that the table has not");
        if (cols != NULL)
            cols[i].type = at == ALM_SCAN_ROW ? ALM_TY(LONG) : table->cols[at].type;
    }
    alm_check_over_cols(c, cols, plan->scan.n_cols);
    return alm_check_each(c, plan->scan.filter, plan->scan.n_filters);
}

static alm_status scan_explain(alm_printer *pr, const alm_plan *plan)
{
    const alm_table *t = plan->scan.table;
    ALM_TRY(alm_buf_printf(pr->cx, &pr->buf, " %s [", t->name));
    for (uint32_t i = 0; i < plan->scan.n_cols; i++) {
        const uint32_t col = plan->scan.cols[i];
        if (i == plan->scan.n_out)
            ALM_TRY(alm_print(pr, i > 0 ? "; " : "; "));
        else if (i > 0)
            ALM_TRY(alm_print(pr, ", "));
        ALM_TRY(alm_print(pr, col == ALM_SCAN_ROW ? "row" : t->cols[col].name));
    }
    ALM_TRY(alm_print(pr, "]"));
    if (plan->scan.has_interval || plan->scan.skips) {
        const alm_type type = t->cols[t->ts_col].type;
        ALM_TRY(alm_print(pr, " interval: "));
        if (plan->scan.n_intervals == 0)
            ALM_TRY(alm_print(pr, "none"));
        for (uint32_t i = 0; i < plan->scan.n_intervals && i < 3; i++) {
            const alm_interval *in = &plan->scan.interval[i];
            ALM_TRY(alm_print(pr, i > 0 ? ", [" : "["));
            ALM_TRY(in->lo <= INT64_MIN + 1 ? alm_print(pr, "MIN")
                                            : alm_print_time(pr, in->lo, type));
            ALM_TRY(alm_print(pr, ", "));
            ALM_TRY(in->hi == INT64_MAX ? alm_print(pr, "MAX") : alm_print_time(pr, in->hi, type));
            ALM_TRY(alm_print(pr, "]"));
        }
        if (plan->scan.n_intervals > 3)
            ALM_TRY(alm_buf_printf(pr->cx, &pr->buf, " and %u more", plan->scan.n_intervals - 3));
    }
    if (plan->scan.backward)
        ALM_TRY(alm_print(pr, " backward"));
    if (plan->scan.unordered)
        ALM_TRY(alm_print(pr, " any order"));
    return alm_print_conjuncts(pr, " filter: ", plan->scan.filter, plan->scan.n_filters, plan,
                               plan);
}

static alm_status scan_json(alm_explain_json *w, const alm_plan *plan)
{
    ALM_TRY(alm_explain_json_text(w, "Relation Name", plan->scan.table->name));
    ALM_TRY(alm_explain_json_text(w, "Schema", "public"));
    return alm_explain_json_text(w, "Alias", plan->scan.table->name);
}

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

static void scan_estimate(alm_plan *plan, ALM_UNUSED double left, ALM_UNUSED double right)
{
    plan->est_rows = alm_scan_estimate(plan);
}

static void scan_order(alm_plan *plan, bool needed, ALM_UNUSED bool below[2])
{
    plan->scan.unordered = !needed && !alm_plan_updates(plan);
}

static bool scan_reverse(alm_plan *plan, bool turn)
{
    const bool can = plan->scan.table->ts_col >= 0 && !alm_plan_updates(plan);
    if (turn && can)
        plan->scan.backward = !plan->scan.backward;
    return can;
}

static alm_status scan_prune(alm_planner *p, alm_plan **slot, const bool *need, uint32_t **map)
{
    alm_plan *plan = *slot;
    return alm_prune_leaf(p, plan, need, map, &plan->scan.cols, &plan->scan.n_cols,
                          &plan->scan.n_out);
}

alm_status alm_prune_filtered(alm_planner *p, alm_plan *scan)
{
    bool *need = NULL;
    uint32_t *map = NULL;
    if (scan->scan.n_cols == scan->scan.n_out)
        return ALM_OK;
    ALM_TRY(alm_prune_flags(p, scan->scan.n_cols, &need));
    memset(need, 1, scan->scan.n_out * sizeof *need);
    return scan_prune(p, &scan, need, &map);
}

static alm_status scan_push(alm_planner *p, alm_plan *plan, const alm_exprs *in,
                            ALM_UNUSED alm_exprs *stay)
{
    return alm_push_leaf(p, in, &plan->scan.filter, &plan->scan.n_filters);
}

const alm_node_ops alm_node_scan = {
    .pg_name = "Seq Scan",
    .flags = ALM_NODE_CHEAP | ALM_NODE_FAST | ALM_NODE_OPEN | ALM_NODE_REFRESHABLE,
    .exprs = scan_exprs,
    .copy = scan_copy,
    .width = scan_width,
    .check = scan_check,
    .explain = scan_explain,
    .json = scan_json,
    .estimate = scan_estimate,
    .order = scan_order,
    .reverse = scan_reverse,
    .prune = scan_prune,
    .push = scan_push,
};
