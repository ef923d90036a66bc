/*
 * filter.c - FILTER: rows for which all conditions hold.
 */
#include "sql/node/copy.h"
#include "sql/node/decorrelate.h"
#include "sql/node/explain.h"
#include "sql/node/ops.h"
#include "sql/node/prune.h"
#include "sql/node/walk.h"

static alm_status filter_exprs(alm_plan *plan, alm_expr_visit visit, void *arg)
{
    return alm_list_exprs(plan->filter.conjunct, plan->filter.n, visit, arg);
}

static alm_status filter_copy(alm_planner *p, alm_plan *plan)
{
    ALM_COPY_LIST(plan->filter.conjunct, plan->filter.n);
    return ALM_OK;
}

static alm_status filter_explain(alm_printer *printer, const alm_plan *plan)
{
    const alm_plan *child = plan->child[0];
    return alm_print_conjuncts(printer, " ", plan->filter.conjunct, plan->filter.n, child, NULL);
}

static bool filter_reverse(alm_plan *plan, bool turn)
{
    return alm_plan_reverse(plan->child[0], turn);
}

static alm_status filter_decorrelate(const alm_dep_ctx *dep, alm_plan **plan, alm_exprs *carried)
{
    alm_planner *planner = dep->p;
    alm_plan *filter = *plan, *child = filter->child[0];
    const uint32_t n_before = child->n_cols;
    alm_dep_parts parts = {0};
    alm_exprs want = {0};
    alm_dep_list deps;
    ALM_TRY(alm_dep_push(dep, &child, carried));
    ALM_TRY(alm_dep_split(planner, filter, &parts));
    ALM_TRY(alm_dep_list_new(planner, child->n_cols + parts.outer.n, &deps));
    ALM_TRY(alm_dep_list_cols(planner, &deps, child, 0, child->n_cols));
    alm_exprs again = {0}; /* an outer value that is there already: an ordinary condition */
    for (uint32_t i = 0; i < parts.outer.n; i++) {
        const int32_t place = alm_dep_find_outer(carried, parts.outer.at[i]);
        if (place >= 0) {
            alm_expr *args[2] = {deps.exprs[n_before + (uint32_t)place], parts.inner.at[i]},
                     *same = NULL;
            ALM_TRY(alm_expr_call(planner, "=", filter->pos, args, 2, &same));
            ALM_TRY(alm_exprs_add(planner->cx, &again, same));
            continue;
        }
        alm_dep_list_add(&deps, parts.inner.at[i]);
        ALM_TRY(alm_exprs_add(planner->cx, carried, parts.outer.at[i]));
    }
    ALM_TRY(alm_plan_filter(planner, &child, &parts.plain));
    if (deps.n > child->n_cols) {
        /* what was carried before may have been used by `again`: same numbers, same columns */
        for (uint32_t i = 0; i < again.n; i++)
            ALM_TRY(alm_exprs_add(planner->cx, &parts.mixed, again.at[i]));
        ALM_TRY(alm_plan_project(planner, child, deps.exprs, deps.names, deps.n, &child));
    } else {
        ALM_TRY(alm_plan_filter(planner, &child, &again));
    }
    for (uint32_t i = 0; i < parts.mixed.n; i++)
        ALM_TRY(alm_dep_gather(planner->cx, parts.mixed.at[i], &want));
    ALM_TRY(alm_dep_ensure(dep, &child, carried, &want));
    for (uint32_t i = 0; i < parts.mixed.n; i++)
        ALM_TRY(alm_dep_land(planner, child, carried, n_before, &parts.mixed.at[i]));
    ALM_TRY(alm_plan_filter(planner, &child, &parts.mixed));
    *plan = child;
    return ALM_OK;
}

const alm_node_ops alm_node_filter = {
    .pg_name = "Result",
    .n_children = 1,
    .flags = ALM_NODE_SAME_COLUMNS | ALM_NODE_SAME_ROWS | ALM_NODE_CHEAP | ALM_NODE_FAST |
             ALM_NODE_OPEN | ALM_NODE_REFRESHABLE | ALM_NODE_FOLLOWS,
    .exprs = filter_exprs,
    .copy = filter_copy,
    .explain = filter_explain,
    .reverse = filter_reverse,
    .prune = alm_prune_passing,
    .decorrelate = filter_decorrelate,
};
