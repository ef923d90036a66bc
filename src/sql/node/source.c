/*
 * source.c - SOURCE: rows made by a table function.
 */
#include "sql/node/check.h"
#include "sql/node/copy.h"
#include "sql/node/explain.h"
#include "sql/node/ops.h"
#include "sql/node/prune.h"
#include "sql/node/push.h"
#include "sql/node/walk.h"

static alm_status source_exprs(alm_plan *plan, alm_expr_visit visit, void *arg)
{
    return alm_list_exprs(plan->source.filter, plan->source.n_filters, visit, arg);
}

static alm_status source_copy(alm_planner *p, alm_plan *plan)
{
    if (plan->source.all != NULL) {
        ALM_COPY_LIST(plan->source.cols, plan->source.n_cols);
        ALM_COPY_LIST(plan->source.filter, plan->source.n_filters);
    }
    return ALM_OK;
}

static uint32_t source_width(const alm_plan *plan)
{
    return plan->source.all != NULL ? plan->source.n_out : plan->n_cols;
}

/* Constants, which copies of the node share. */
static alm_status source_check(alm_checking *checking)
{
    alm_check_over(checking, NULL, NULL);
    const alm_plan *plan = checking->node;
    alm_plan_col *cols = NULL;
    for (uint32_t i = 0; i < plan->source.n_args; i++)
        ALM_TRY(alm_check_read(checking, plan->source.args[i]));
    if (plan->source.n_filters == 0)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(checking->p->cx, checking->p->cx->arena, plan->source.n_cols + 1, &cols));
    for (uint32_t i = 0; i < plan->source.n_cols; i++) {
        if (plan->source.cols[i] >= plan->source.n_all)
            return alm_check_wrong(checking, "a column that the source has not");
        cols[i].type = plan->source.all[plan->source.cols[i]].type;
    }
    alm_check_over_cols(checking, cols, plan->source.n_cols);
    return alm_check_each(checking, plan->source.filter, plan->source.n_filters);
}

/* As of a scan: columns of the result; those of conditions. */
static alm_status put_source_cols(alm_printer *printer, const alm_plan *plan)
{
    ALM_TRY(alm_print(printer, " ["));
    for (uint32_t i = 0; i < plan->source.n_cols; i++) {
        ALM_TRY(alm_print(printer, i == plan->source.n_out ? "; " : i > 0 ? ", " : ""));
        ALM_TRY(alm_print(printer, plan->source.all[plan->source.cols[i]].name));
    }
    ALM_TRY(alm_print(printer, "]"));
    return alm_print_conjuncts(printer, " filter: ", plan->source.filter, plan->source.n_filters,
                               plan, plan);
}

static alm_status source_explain(alm_printer *printer, const alm_plan *plan)
{
    ALM_TRY(alm_buf_printf(printer->cx, &printer->buf, " %s(", plan->source.name));
    for (uint32_t i = 0; i < plan->source.n_args; i++) {
        ALM_TRY(alm_print(printer, i > 0 ? ", " : ""));
        ALM_TRY(alm_print_expr(printer, plan->source.args[i], plan, NULL));
    }
    ALM_TRY(alm_print(printer, ")"));
    return plan->source.all != NULL ? put_source_cols(printer, plan) : ALM_OK;
}

static alm_status source_json(alm_explain_json *json, const alm_plan *plan)
{
    return alm_explain_json_text(json, "Function Name", plan->source.name);
}

static void source_estimate(ALM_UNUSED alm_plan *plan, ALM_UNUSED double left,
                            ALM_UNUSED double right)
{
    /* its bind has set it */
}

static alm_status source_prune(alm_planner *planner, alm_plan **slot, const bool *need,
                               uint32_t **map)
{
    alm_plan *plan = *slot;
    if (plan->source.all == NULL)
        return alm_prune_identity(planner, plan->n_cols, map);
    return alm_prune_leaf(planner, plan, need, map, &plan->source.cols, &plan->source.n_cols,
                          &plan->source.n_out);
}

static alm_status source_push(alm_planner *planner, alm_plan *plan, const alm_exprs *in,
                              alm_exprs *stay)
{
    if (plan->source.all != NULL)
        return alm_push_leaf(planner, in, &plan->source.filter, &plan->source.n_filters);
    *stay = *in;
    return ALM_OK;
}

const alm_node_ops alm_node_source = {
    .pg_name = "Function Scan",
    .flags = ALM_NODE_CHEAP | ALM_NODE_REFRESHABLE,
    .exprs = source_exprs,
    .copy = source_copy,
    .width = source_width,
    .check = source_check,
    .explain = source_explain,
    .json = source_json,
    .estimate = source_estimate,
    .prune = source_prune,
    .push = source_push,
};
