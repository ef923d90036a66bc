/*
 * values.c - VALUES: literal rows, expressions or vectors.
 */
#include "sql/node/check.h"
#include "sql/node/copy.h"
#include "sql/node/explain.h"
#include "sql/node/ops.h"

static alm_status values_copy(alm_planner *p, alm_plan *plan)
{
    for (uint32_t r = 0; plan->values.rows != NULL && r < plan->values.n_rows; r++) {
        if (r == 0)
            ALM_COPY_LIST(plan->values.rows, plan->values.n_rows);
        ALM_COPY_LIST(plan->values.rows[r], plan->n_cols);
    }
    return ALM_OK;
}

static alm_status values_check(alm_checking *c)
{
    const alm_plan *plan = c->node;
    alm_check_over(c, NULL, NULL);
    for (uint32_t r = 0; plan->values.rows != NULL && r < plan->values.n_rows; r++)
        ALM_TRY(alm_check_each(c, plan->values.rows[r], plan->n_cols));
    return ALM_OK;
}

static alm_status values_explain(alm_printer *pr, const alm_plan *plan)
{
    return alm_buf_printf(pr->cx, &pr->buf, " rows: %u", plan->values.n_rows);
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
