/*
 * latest.c - LATEST: the newest row of each key.
 */
#include "sql/node/check.h"
#include "sql/node/copy.h"
#include "sql/node/decorrelate.h"
#include "sql/node/explain.h"
#include "sql/node/ops.h"
#include "sql/node/prune.h"
#include "sql/node/push.h"
#include "sql/node/walk.h"

static alm_status latest_exprs(alm_plan *plan, alm_expr_visit visit, void *arg)
{
    return alm_list_exprs(plan->latest.keys, plan->latest.n_keys, visit, arg);
}

static alm_status latest_copy(alm_planner *p, alm_plan *plan)
{
    ALM_COPY_LIST(plan->latest.keys, plan->latest.n_keys);
    return ALM_OK;
}

static alm_status latest_check(alm_checking *checking)
{
    return alm_check_time(checking, checking->node->latest.ts_col);
}

static alm_status latest_explain(alm_printer *printer, const alm_plan *plan)
{
    const alm_plan *child = plan->child[0];
    return alm_print_keys(printer, " keys: ", plan->latest.keys, plan->latest.n_keys, child);
}

static alm_status latest_prune(alm_planner *planner, alm_plan **slot, const bool *need,
                               uint32_t **map)
{
    alm_plan *plan = *slot;
    bool *wanted = NULL;
    ALM_TRY(alm_prune_flags(planner, plan->n_cols, &wanted));
    memcpy(wanted, need, plan->n_cols * sizeof *wanted);
    wanted[plan->latest.ts_col] = true;
    ALM_TRY(alm_prune_passing(planner, slot, wanted, map));
    plan->latest.ts_col = (*map)[plan->latest.ts_col];
    return ALM_OK;
}

static alm_status latest_push(alm_planner *planner, alm_plan *plan, const alm_exprs *in,
                              alm_exprs *stay)
{
    const alm_push_columns set = {plan->latest.keys, plan->latest.n_keys};
    alm_exprs down = {0};
    ALM_TRY(alm_push_split(planner, in, alm_push_of_columns, &set, &down, stay));
    return alm_push_child(planner, plan, 0, &down);
}

static alm_status latest_decorrelate(const alm_dep_ctx *dep, alm_plan **plan, alm_exprs *carried)
{
    alm_plan *latest = *plan;
    uint32_t n_before = 0;
    ALM_TRY(alm_dep_push_child(dep, latest, carried, &n_before));
    latest->cols = latest->child[0]->cols;
    latest->n_cols = latest->child[0]->n_cols;
    return alm_dep_with_keys(dep->p, latest->child[0], n_before, carried->n, &latest->latest.keys,
                             &latest->latest.n_keys);
}

const alm_node_ops alm_node_latest = {
    .pg_name = "Latest",
    .n_children = 1,
    .flags = ALM_NODE_SAME_COLUMNS | ALM_NODE_SAME_ROWS | ALM_NODE_ORDERED_INPUT | ALM_NODE_HEAVY |
             ALM_NODE_REDUCES | ALM_NODE_OPEN | ALM_NODE_REFRESHABLE | ALM_NODE_FOLLOWS,
    .exprs = latest_exprs,
    .copy = latest_copy,
    .check = latest_check,
    .explain = latest_explain,
    .prune = latest_prune,
    .push = latest_push,
    .decorrelate = latest_decorrelate,
};
