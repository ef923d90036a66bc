/*
 * values.c - VALUES: literal rows, expressions or vectors.
 */
#include "sql/node/check.h"
#include "sql/node/copy.h"
#include "sql/node/explain.h"
#include "sql/node/ops.h"

static alm_status values_copy(alm_planner *p, alm_plan *plan)
{
    for (uint32_t row = 0; plan->values.rows != NULL && row < plan->values.n_rows; row++) {
        if (row == 0)
            ALM_COPY_LIST(plan->values.rows, plan->values.n_rows);
        ALM_COPY_LIST(plan->values.rows[row], plan->n_cols);
    }
    return ALM_OK;
}

static alm_status values_check(alm_checking *checking)
{
    const alm_plan *plan = checking->node;
    alm_check_over(checking, NULL, NULL);
    for (uint32_t row = 0; plan->values.rows != NULL && row < plan->values.n_rows; row++)
        ALM_TRY(alm_check_each(checking, plan->values.rows[row], plan->n_cols));
    return ALM_OK;
}

static alm_status values_explain(alm_printer *printer, const alm_plan *plan)
{
    return alm_buf_printf(printer->cx, &printer->buf, " rows: %u", plan->values.n_rows);
}

static void values_estimate(alm_plan *plan, ALM_UNUSED double left, ALM_UNUSED double right)
{
    plan->est_rows = plan->values.n_rows;
}

const alm_node_ops alm_node_values = {
    .pg_name = "Values Scan",
    .flags = ALM_NODE_CHEAP | ALM_NODE_REFRESHABLE,
    .copy = values_copy,
    .check = values_check,
    .explain = values_explain,
    .estimate = values_estimate,
};
