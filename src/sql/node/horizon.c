/*
 * horizon.c - HORIZON: each row once for each of several offsets to its time.
 */
#include <inttypes.h>

#include "sql/node/check.h"
#include "sql/node/decorrelate.h"
#include "sql/node/explain.h"
#include "sql/node/ops.h"
#include "sql/node/prune.h"
#include "sql/node/push.h"
#include "sql/node/range.h"

static uint32_t horizon_width(const alm_plan *plan)
{
    return plan->child[0]->n_cols + 2;
}

static alm_status horizon_check(alm_checking *checking)
{
    return alm_check_time(checking, checking->node->horizon.ts_col);
}

static alm_status horizon_explain(alm_printer *printer, const alm_plan *plan)
{
    return alm_buf_printf(printer->cx, &printer->buf, " offsets: %u, %" PRId64 " to %" PRId64,
                          plan->horizon.n_offsets, plan->horizon.offset[0],
                          plan->horizon.offset[plan->horizon.n_offsets - 1]);
}

static void horizon_estimate(alm_plan *plan, double left, ALM_UNUSED double right)
{
    plan->est_rows = left * plan->horizon.n_offsets;
}

static double horizon_most_rows(const alm_plan *plan, const double rows[2],
                                ALM_UNUSED double *pairs)
{
    return rows[0] * plan->horizon.n_offsets;
}

/* Offset and time stay, whoever reads them. */
static alm_status horizon_prune(alm_planner *planner, alm_plan **slot, const bool *need,
                                uint32_t **map)
{
    alm_plan *plan = *slot;
    const uint32_t n_cols = plan->child[0]->n_cols;
    bool *wanted = NULL;
    uint32_t *below = NULL;
    alm_plan_col *cols = NULL;
    ALM_TRY(alm_prune_flags(planner, n_cols, &wanted));
    memcpy(wanted, need, n_cols * sizeof *wanted);
    wanted[plan->horizon.ts_col] = true;
    ALM_TRY(alm_prune(planner, &plan->child[0], wanted, &below));
    const alm_plan *child = plan->child[0];
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols + 3, map));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, child->n_cols + 2, &cols));
    memcpy(*map, below, n_cols * sizeof **map);
    memcpy(cols, child->cols, child->n_cols * sizeof *cols);
    for (uint32_t i = 0; i < 2; i++) {
        (*map)[n_cols + i] = child->n_cols + i;
        cols[child->n_cols + i] = plan->cols[n_cols + i];
    }
    plan->horizon.ts_col = below[plan->horizon.ts_col];
    plan->cols = cols;
    plan->n_cols = child->n_cols + 2;
    plan->ts_col = alm_prune_mapped(*map, plan->ts_col);
    return ALM_OK;
}

static alm_status horizon_push(alm_planner *planner, alm_plan *plan, const alm_exprs *in,
                               alm_exprs *stay)
{
    alm_exprs down = {0};
    ALM_TRY(alm_push_split_left(planner, plan, in, &down, stay));
    return alm_push_child(planner, plan, 0, &down);
}

static alm_status horizon_decorrelate(const alm_dep_ctx *dep, alm_plan **plan,
                                      ALM_UNUSED alm_exprs *carried)
{
    return alm_dep_too_hard(dep, *plan, "a HORIZON join");
}

const alm_node_ops alm_node_horizon = {
    .pg_name = "Horizon",
    .n_children = 1,
    .flags = ALM_NODE_LEFT_FIRST | ALM_NODE_ORDERED_INPUT | ALM_NODE_MAY_LEAK,
    .width = horizon_width,
    .check = horizon_check,
    .explain = horizon_explain,
    .estimate = horizon_estimate,
    .most_rows = horizon_most_rows,
    .prune = horizon_prune,
    .push = horizon_push,
    .decorrelate = horizon_decorrelate,
    .range = alm_range_left,
};
