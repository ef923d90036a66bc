/*
 * group.c - GROUP: one row per key, with aggregates; DISTINCT.
 */
#include "sql/node/aggs.h"
#include "sql/node/copy.h"
#include "sql/node/decorrelate.h"
#include "sql/node/explain.h"
#include "sql/node/ops.h"
#include "sql/node/prune.h"
#include "sql/node/push.h"
#include "sql/node/range.h"
#include "sql/node/walk.h"

static bool group_groups(alm_plan *plan, alm_node_groups *out)
{
    *out = (alm_node_groups){.keys = plan->group.keys,
                             .n_keys = plan->group.n_keys,
                             .aggs = plan->group.aggs,
                             .n_aggs = plan->group.n_aggs};
    return true;
}

static alm_status group_exprs(alm_plan *plan, alm_expr_visit visit, void *arg)
{
    ALM_TRY(alm_list_exprs(plan->group.keys, plan->group.n_keys, visit, arg));
    return alm_aggs_exprs(plan->group.aggs, plan->group.n_aggs, visit, arg);
}

static alm_status group_copy(alm_planner *p, alm_plan *plan)
{
    ALM_COPY_LIST(plan->group.keys, plan->group.n_keys);
    return alm_copy_aggs(p, &plan->group.aggs, plan->group.n_aggs);
}

static uint32_t group_width(const alm_plan *plan)
{
    return plan->group.n_keys + plan->group.n_aggs;
}

static alm_status group_explain(alm_printer *printer, const alm_plan *plan)
{
    const alm_plan *child = plan->child[0];
    ALM_TRY(alm_print_keys(printer, " keys: ", plan->group.keys, plan->group.n_keys, child));
    if (plan->group.n_aggs > 0)
        ALM_TRY(alm_print(printer, " values: "));
    return alm_print_aggs(printer, plan->group.aggs, plan->group.n_aggs, child);
}

static alm_status group_json(alm_explain_json *json, const alm_plan *plan)
{
    return alm_explain_json_text(json, "Strategy", plan->group.n_keys > 0 ? "Hashed" : "Plain");
}

static double group_most_rows(const alm_plan *plan, const double rows[2], ALM_UNUSED double *pairs)
{
    return plan->group.n_keys == 0 ? 1 : rows[0];
}

static bool order_matters(const alm_agg_call *aggs, uint32_t n_aggs)
{
    for (uint32_t i = 0; i < n_aggs; i++)
        if ((aggs[i].fn->flags & ALM_FN_ROW_ORDER) != 0)
            return true;
    return false;
}

static void group_order(alm_plan *plan, bool needed, bool below[2])
{
    below[0] =
        plan->group.n_aggs == 0 ? needed : order_matters(plan->group.aggs, plan->group.n_aggs);
}

static alm_status group_prune(alm_planner *planner, alm_plan **slot, const bool *need,
                              uint32_t **map)
{
    alm_plan *plan = *slot;
    alm_agg_list list = {.first = plan->group.n_keys,
                         .aggs = plan->group.aggs,
                         .n_aggs = &plan->group.n_aggs,
                         .keep_one = plan->group.n_keys == 0};
    uint32_t *below = NULL;
    ALM_TRY(alm_prune_aggs(planner, plan, need, &list, map));
    return alm_prune_under_aggs(planner, plan, ALM_PRUNE_NONE, &below);
}

static alm_status group_push(alm_planner *planner, alm_plan *plan, const alm_exprs *in,
                             alm_exprs *stay)
{
    return alm_push_keys(planner, plan, in, 0, plan->group.keys, plan->group.n_keys, stay);
}

/* Keys of a join: column left_at + i with right_at + i. */
static alm_status key_pairs(alm_planner *planner, alm_plan *join, uint32_t left_at,
                            uint32_t right_at, uint32_t n)
{
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n + 1, &join->join.left_keys));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n + 1, &join->join.right_keys));
    for (uint32_t i = 0; i < n; i++) {
        bool ok = false;
        ALM_TRY(alm_dep_col_of(planner, join->child[0], left_at + i, &join->join.left_keys[i]));
        ALM_TRY(alm_dep_col_of(planner, join->child[1], right_at + i, &join->join.right_keys[i]));
        ALM_TRY(
            alm_join_key_types(planner, &join->join.left_keys[i], &join->join.right_keys[i], &ok));
        ALM_ASSERT(ok);
    }
    join->join.n_keys = n;
    return ALM_OK;
}

/* Aggregates without keys give a row where there is no inner row, too. */
static alm_status scalar_decorrelate(const alm_dep_ctx *dep, alm_plan **plan, alm_exprs *carried)
{
    alm_planner *planner = dep->p;
    const alm_agg_call *aggs = (*plan)->group.aggs;
    const uint32_t n = (*plan)->n_cols;
    alm_plan *values = NULL, *join = NULL;
    alm_dep_list deps;
    ALM_TRY(alm_dep_push_group_keys(dep, plan, carried));
    ALM_TRY(alm_dep_add_mark(planner, plan));
    ALM_TRY(alm_dep_domain(dep, carried, &values));
    ALM_TRY(alm_plan_join(planner, ALM_JOIN_LEFT, (*plan)->pos, values, *plan, &join));
    ALM_TRY(key_pairs(planner, join, 0, n, carried->n));
    ALM_TRY(alm_dep_list_new(planner, n + carried->n, &deps));
    for (uint32_t i = 0; i < n; i++) {
        alm_expr *mark = NULL, *value = NULL, *empty = NULL;
        ALM_TRY(alm_dep_col_of(planner, join, join->n_cols - 1, &mark));
        ALM_TRY(alm_dep_col_of(planner, join, carried->n + i, &value));
        ALM_TRY(alm_dep_empty_value(planner, &aggs[i], &empty));
        ALM_TRY(alm_dep_unless_null(planner, mark, empty, value, &deps.exprs[deps.n]));
        deps.names[deps.n++] = join->cols[carried->n + i].name;
    }
    ALM_TRY(alm_dep_list_cols(planner, &deps, join, 0, carried->n));
    return alm_plan_project(planner, join, deps.exprs, deps.names, deps.n, plan);
}

static alm_status group_decorrelate(const alm_dep_ctx *dep, alm_plan **plan, alm_exprs *carried)
{
    return (*plan)->group.n_keys == 0 ? scalar_decorrelate(dep, plan, carried)
                                      : alm_dep_push_group_keys(dep, plan, carried);
}

static alm_status group_range(alm_planner *planner, alm_plan *plan, const bool *used)
{
    return alm_range_keys(planner, plan, plan->group.keys, plan->group.n_keys, used);
}

const alm_node_ops alm_node_group = {
    .pg_name = "Aggregate",
    .n_children = 1,
    .flags =
        ALM_NODE_FAST | ALM_NODE_HEAVY | ALM_NODE_REDUCES | ALM_NODE_OPEN | ALM_NODE_REFRESHABLE,
    .groups = group_groups,
    .exprs = group_exprs,
    .copy = group_copy,
    .width = group_width,
    .explain = group_explain,
    .json = group_json,
    .most_rows = group_most_rows,
    .order = group_order,
    .prune = group_prune,
    .push = group_push,
    .decorrelate = group_decorrelate,
    .range = group_range,
};
