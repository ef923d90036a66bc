/*
 * shared.c - SHARED and MATERIALISE: rows of a query of WITH that is used several times, and where they are kept.
 */
#include "sql/node/check.h"
#include "sql/node/copy.h"
#include "sql/node/explain.h"
#include "sql/node/ops.h"
#include "sql/node/prune.h"
#include "sql/node/range.h"

static alm_status shared_copy(alm_planner *p, alm_plan *plan)
{
    ALM_COPY_LIST(plan->shared.cols, plan->n_cols);
    return ALM_OK;
}

static alm_status shared_check(alm_checking *checking)
{
    const alm_plan *plan = checking->node, *of = plan->shared.of;
    for (uint32_t i = 0; i < plan->n_cols; i++)
        if (!alm_check_is_column(of, plan->shared.cols[i]) ||
            !alm_check_same_type(plan->cols[i].type, of->cols[plan->shared.cols[i]].type))
            return alm_check_wrong(checking, "a column that the shared rows have not");
    return ALM_OK;
}

static alm_status shared_explain(alm_printer *printer, const alm_plan *plan)
{
    return alm_buf_printf(printer->cx, &printer->buf, " %s", plan->shared.of->materialise.name);
}

static void shared_estimate(alm_plan *plan, ALM_UNUSED double left, ALM_UNUSED double right)
{
    plan->est_rows = plan->shared.of->child[0]->est_rows;
}

/* Remembers the node: what all of them read together is kept, and numbered anew afterwards. */
static alm_status shared_prune(alm_planner *planner, alm_plan **slot, const bool *need,
                               uint32_t **map)
{
    alm_plan *plan = *slot;
    const uint32_t n_cols = plan->n_cols;
    uint32_t *cols = NULL;
    alm_plan_col *out = NULL;
    alm_shared_use *use = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols + 1, map));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols + 1, &cols));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols + 1, &out));
    uint32_t k = 0;
    for (uint32_t i = 0; i < n_cols; i++) {
        (*map)[i] = ALM_PRUNE_NONE;
        if (!need[i])
            continue;
        out[k] = plan->cols[i];
        cols[k] = plan->shared.cols[i];
        (*map)[i] = k++;
    }
    plan->ts_col = alm_prune_mapped(*map, plan->ts_col);
    plan->shared.cols = cols;
    plan->cols = out;
    plan->n_cols = k;
    ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, &use));
    *use = (alm_shared_use){plan, plan->shared.of->materialise.uses};
    plan->shared.of->materialise.uses = use;
    return ALM_OK;
}

/* What those who share a query read of it: once for each column, however often it is shared. */
static alm_status shared_range(alm_planner *planner, alm_plan *plan, const bool *used)
{
    alm_plan *of = plan->shared.of;
    bool *below = NULL, more = false;
    if (of->materialise.checked == NULL)
        ALM_TRY(
            ALM_NEWN(planner->cx, planner->cx->arena, of->n_cols + 1, &of->materialise.checked));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, of->n_cols + 1, &below));
    for (uint32_t i = 0; i < plan->n_cols; i++) {
        const uint32_t col = plan->shared.cols[i];
        below[col] = used[i] && !of->materialise.checked[col];
        more |= below[col];
        of->materialise.checked[col] |= used[i];
    }
    return more ? alm_range_below(planner, of->child[0], below) : ALM_OK;
}

const alm_node_ops alm_node_shared = {
    .pg_name = "CTE Scan",
    .flags = ALM_NODE_CHEAP,
    .copy = shared_copy,
    .check = shared_check,
    .explain = shared_explain,
    .estimate = shared_estimate,
    .prune = shared_prune,
    .range = shared_range,
};

/* --------------------------------------------------------------------- MATERIALISE */

static alm_status materialise_explain(alm_printer *printer, const alm_plan *plan)
{
    return alm_buf_printf(printer->cx, &printer->buf, " %s", plan->materialise.name);
}

const alm_node_ops alm_node_materialise = {
    .pg_name = "Materialize",
    .n_children = 1,
    .flags = ALM_NODE_SAME_COLUMNS | ALM_NODE_FOLLOWS,
    .explain = materialise_explain,
};
