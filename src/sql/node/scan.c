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

static alm_status scan_exprs(alm_plan *plan, alm_expr_visit visit, void *arg)
{
    return alm_list_exprs(plan->scan.filter, plan->scan.n_filters, visit, arg);
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

static alm_status scan_check(alm_checking *checking)
{
    const alm_plan *plan = checking->node;
    const alm_table *table = plan->scan.table;
    alm_plan_col *cols = NULL;
    if (plan->scan.n_filters > 0)
        ALM_TRY(ALM_NEWN(checking->p->cx, checking->p->cx->arena, plan->scan.n_cols + 1, &cols));
    for (uint32_t i = 0; i < plan->scan.n_cols; i++) {
        const uint32_t place = plan->scan.cols[i];
        if (place != ALM_SCAN_ROW && place >= table->n_cols)
            return alm_check_wrong(checking, "a column that the table has not");
        if (cols != NULL)
            cols[i].type = place == ALM_SCAN_ROW ? ALM_TY(LONG) : table->cols[place].type;
    }
    alm_check_over_cols(checking, cols, plan->scan.n_cols);
    return alm_check_each(checking, plan->scan.filter, plan->scan.n_filters);
}

static alm_status scan_explain(alm_printer *printer, const alm_plan *plan)
{
    const alm_table *table = plan->scan.table;
    ALM_TRY(alm_buf_printf(printer->cx, &printer->buf, " %s [", table->name));
    for (uint32_t i = 0; i < plan->scan.n_cols; i++) {
        const uint32_t col = plan->scan.cols[i];
        if (i == plan->scan.n_out)
            ALM_TRY(alm_print(printer, i > 0 ? "; " : "; "));
        else if (i > 0)
            ALM_TRY(alm_print(printer, ", "));
        ALM_TRY(alm_print(printer, col == ALM_SCAN_ROW ? "row" : table->cols[col].name));
    }
    ALM_TRY(alm_print(printer, "]"));
    if (plan->scan.has_interval || plan->scan.skips) {
        const alm_type type = table->cols[table->ts_col].type;
        ALM_TRY(alm_print(printer, " interval: "));
        if (plan->scan.n_intervals == 0)
            ALM_TRY(alm_print(printer, "none"));
        for (uint32_t i = 0; i < plan->scan.n_intervals && i < 3; i++) {
            const alm_interval *in = &plan->scan.interval[i];
            ALM_TRY(alm_print(printer, i > 0 ? ", [" : "["));
            ALM_TRY(in->lo <= INT64_MIN + 1 ? alm_print(printer, "MIN")
                                            : alm_print_time(printer, in->lo, type));
            ALM_TRY(alm_print(printer, ", "));
            ALM_TRY(in->hi == INT64_MAX ? alm_print(printer, "MAX")
                                        : alm_print_time(printer, in->hi, type));
            ALM_TRY(alm_print(printer, "]"));
        }
        if (plan->scan.n_intervals > 3)
            ALM_TRY(alm_buf_printf(printer->cx, &printer->buf, " and %u more",
                                   plan->scan.n_intervals - 3));
    }
    if (plan->scan.backward)
        ALM_TRY(alm_print(printer, " backward"));
    if (plan->scan.unordered)
        ALM_TRY(alm_print(printer, " any order"));
    return alm_print_conjuncts(printer, " filter: ", plan->scan.filter, plan->scan.n_filters, plan,
                               plan);
}

static alm_status scan_json(alm_explain_json *json, const alm_plan *plan)
{
    ALM_TRY(alm_explain_json_text(json, "Relation Name", plan->scan.table->name));
    ALM_TRY(alm_explain_json_text(json, "Schema", "public"));
    return alm_explain_json_text(json, "Alias", plan->scan.table->name);
}

double alm_scan_estimate(const alm_plan *plan)
{
    const alm_table *table = plan->scan.table;
    const double rows = (double)table->row_count;
    if (!plan->scan.has_interval || rows <= 0)
        return rows;
    const double span = (double)table->max_ts - (double)table->min_ts + 1;
    double inside = 0;
    for (uint32_t i = 0; i < plan->scan.n_intervals; i++) {
        const alm_interval *in = &plan->scan.interval[i];
        const double lo = ALM_MAX((double)in->lo, (double)table->min_ts);
        const double hi = ALM_MIN((double)in->hi, (double)table->max_ts);
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

static alm_status scan_prune(alm_planner *planner, alm_plan **slot, const bool *need,
                             uint32_t **map)
{
    alm_plan *plan = *slot;
    return alm_prune_leaf(planner, plan, need, map, &plan->scan.cols, &plan->scan.n_cols,
                          &plan->scan.n_out);
}

alm_status alm_prune_filtered(alm_planner *planner, alm_plan *scan)
{
    bool *need = NULL;
    uint32_t *map = NULL;
    if (scan->scan.n_cols == scan->scan.n_out)
        return ALM_OK;
    ALM_TRY(alm_prune_flags(planner, scan->scan.n_cols, &need));
    memset(need, 1, scan->scan.n_out * sizeof *need);
    return scan_prune(planner, &scan, need, &map);
}

static alm_status scan_push(alm_planner *planner, alm_plan *plan, const alm_exprs *in,
                            ALM_UNUSED alm_exprs *stay)
{
    return alm_push_leaf(planner, in, &plan->scan.filter, &plan->scan.n_filters);
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
