/*
 * filter.c - FILTER: rows for which all conditions hold.
 */
#include "sql/node/copy.h"
#include "sql/node/decorrelate.h"
#include "sql/node/explain.h"
#include "sql/node/ops.h"
#include "sql/node/prune.h"
#include "sql/node/walk.h"

static alm_status filter_exprs(alm_plan *plan, alm_expr_visit f, void *arg)
{
    return alm_list_exprs(plan->filter.conjunct, plan->filter.n, f, arg);
}

static alm_status filter_copy(alm_planner *p, alm_plan *plan)
{
    ALM_COPY_LIST(plan->filter.conjunct, plan->filter.n);
    return ALM_OK;
}

static alm_status filter_explain(alm_printer *pr, const alm_plan *plan)
{
    const alm_plan *child = plan->child[0];
    return alm_print_conjuncts(pr, " ", plan->filter.conjunct, plan->filter.n, child, NULL);
}

static bool filter_reverse(alm_plan *plan, bool turn)
{
    return alm_plan_reverse(plan->child[0], turn);
}

static alm_status filter_decorrelate(const alm_dep_ctx *d, alm_plan **plan, alm_exprs *carried)
{
    alm_planner *p = d->p;
    alm_plan *filter = *plan, *child = filter->child[0];
    const uint32_t n0 = child->n_cols;
    alm_dep_parts s = {0};
    alm_exprs want = {0};
    alm_dep_list l;
    ALM_TRY(alm_dep_push(d, &child, carried));
    ALM_TRY(alm_dep_split(p, filter, &s));
    ALM_TRY(alm_dep_list_new(p, child->n_cols + s.outer.n, &l));
    ALM_TRY(alm_dep_list_cols(p, &l, child, 0, child->n_cols));
    alm_exprs again = {0}; /* an outer value that is there already: an ordinary condition */
    for (uint32_t i = 0; i < s.outer.n; i++) {
        const int32_t at = alm_dep_find_outer(carried, s.outer.at[i]);
        if (at >= 0) {
            alm_expr *args[2] = {l.exprs[n0 + (uint32_t)at], s.inner.at[i]}, *same = NULL;
            ALM_TRY(alm_expr_call(p, "=", filter->pos, args, 2, &same));
            ALM_TRY(alm_exprs_add(p->cx, &again, same));
            continue;
        }
        alm_dep_list_add(&l, s.inner.at[i]);
        ALM_TRY(alm_exprs_add(p->cx, carried, s.outer.at[i]));
    }
    ALM_TRY(alm_plan_filter(p, &child, &s.plain));
    if (l.n > child->n_cols) {
        /* what was carried before may have been used by `again`: same numbers, same columns */
        for (uint32_t i = 0; i < again.n; i++)
            ALM_TRY(alm_exprs_add(p->cx, &s.mixed, again.at[i]));
        ALM_TRY(alm_plan_project(p, child, l.exprs, l.names, l.n, &child));
    } else {
        ALM_TRY(alm_plan_filter(p, &child, &again));
    }
    for (uint32_t i = 0; i < s.mixed.n; i++)
        ALM_TRY(alm_dep_gather(p->cx, s.mixed.at[i], &want));
    ALM_TRY(alm_dep_ensure(d, &child, carried, &want));
    for (uint32_t i = 0; i < s.mixed.n; i++)
        ALM_TRY(alm_dep_land(p, child, carried, n0, &s.mixed.at[i]));
    ALM_TRY(alm_plan_filter(p, &child, &s.mixed));
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
