/*
 * sort.c - SORT: rows in another order, all of them or the first few.
 */
#include <inttypes.h>

#include "sql/node/copy.h"
#include "sql/node/decorrelate.h"
#include "sql/node/explain.h"
#include "sql/node/ops.h"
#include "sql/node/prune.h"
#include "sql/node/push.h"
#include "sql/node/walk.h"

static alm_status sort_exprs(alm_plan *plan, alm_expr_visit visit, void *arg)
{
    return alm_sort_keys_exprs(plan->sort.keys, plan->sort.n_keys, visit, arg);
}

static alm_status sort_copy(alm_planner *p, alm_plan *plan)
{
    ALM_COPY_LIST(plan->sort.keys, plan->sort.n_keys);
    return ALM_OK;
}

static alm_status sort_explain(alm_printer *printer, const alm_plan *plan)
{
    const alm_plan *child = plan->child[0];
    ALM_TRY(alm_print(printer, " "));
    ALM_TRY(alm_print_sort_keys(printer, plan->sort.keys, plan->sort.n_keys, child));
    if (plan->sort.limit == -1)
        return ALM_OK;
    return plan->sort.limit < 0
               ? alm_buf_printf(printer->cx, &printer->buf, " last: %" PRId64,
                                -1 - plan->sort.limit)
               : alm_buf_printf(printer->cx, &printer->buf, " first: %" PRId64, plan->sort.limit);
}

static alm_status sort_push(alm_planner *planner, alm_plan *plan, const alm_exprs *in,
                            alm_exprs *stay)
{
    alm_exprs down = *in;
    if (plan->sort.limit != -1)
        return alm_push_nothing(planner, plan, in, stay);
    return alm_push_child(planner, plan, 0, &down);
}

static alm_status sort_decorrelate(const alm_dep_ctx *dep, alm_plan **plan, alm_exprs *carried)
{
    alm_plan *sort = *plan;
    uint32_t n_before = 0;
    ALM_TRY(alm_dep_push_child(dep, sort, carried, &n_before));
    *plan = sort->child[0];
    return alm_plan_sort(dep->p, plan, sort->sort.keys, sort->sort.n_keys);
}

const alm_node_ops alm_node_sort = {
    .pg_name = "Sort",
    .n_children = 1,
    .flags = ALM_NODE_SAME_COLUMNS | ALM_NODE_SAME_ROWS | ALM_NODE_OPEN | ALM_NODE_REFRESHABLE |
             ALM_NODE_FOLLOWS,
    .exprs = sort_exprs,
    .copy = sort_copy,
    .explain = sort_explain,
    .prune = alm_prune_passing,
    .push = sort_push,
    .decorrelate = sort_decorrelate,
};
