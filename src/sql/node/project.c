/*
 * project.c - PROJECT: expressions over each row.
 */
#include "sql/node/check.h"
#include "sql/node/copy.h"
#include "sql/node/decorrelate.h"
#include "sql/node/explain.h"
#include "sql/node/ops.h"
#include "sql/node/prune.h"
#include "sql/node/push.h"
#include "sql/node/range.h"
#include "sql/node/walk.h"

static alm_status project_exprs(alm_plan *plan, alm_expr_visit visit, void *arg)
{
    return alm_list_exprs(plan->project.expr, plan->n_cols, visit, arg);
}

static alm_status project_copy(alm_planner *p, alm_plan *plan)
{
    ALM_COPY_LIST(plan->project.expr, plan->n_cols);
    return ALM_OK;
}

static alm_status project_check(alm_checking *checking)
{
    const alm_plan *plan = checking->node;
    for (uint32_t i = 0; i < plan->n_cols; i++)
        if (!alm_check_same_type(plan->cols[i].type, plan->project.expr[i]->type))
            return alm_check_wrong(checking, "type of a result");
    return alm_check_exprs(checking);
}

static alm_status project_explain(alm_printer *printer, const alm_plan *plan)
{
    const alm_plan *child = plan->child[0];
    ALM_TRY(alm_print(printer, " "));
    return alm_print_list(printer, plan->project.expr, plan->n_cols, child, NULL);
}

static bool project_reverse(alm_plan *plan, bool turn)
{
    for (uint32_t i = 0; i < plan->n_cols; i++)
        if (alm_expr_volatile(plan->project.expr[i]))
            return false;
    return alm_plan_reverse(plan->child[0], turn);
}

static alm_status project_prune(alm_planner *planner, alm_plan **slot, const bool *need,
                                uint32_t **map)
{
    alm_plan *plan = *slot;
    bool *wanted = NULL;
    uint32_t *below = NULL;
    alm_plan_col *cols = NULL;
    alm_expr **exprs = NULL;
    const uint32_t n_cols = plan->n_cols;
    ALM_TRY(alm_prune_flags(planner, plan->child[0]->n_cols, &wanted));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols + 1, map));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols + 1, &cols));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols + 1, &exprs));
    uint32_t k = 0;
    for (uint32_t i = 0; i < n_cols; i++) {
        (*map)[i] = ALM_PRUNE_NONE;
        if (!need[i])
            continue;
        (void)alm_expr_each_col(plan->project.expr[i], alm_prune_mark_col, wanted);
        cols[k] = plan->cols[i];
        exprs[k] = plan->project.expr[i];
        (*map)[i] = k++;
    }
    ALM_TRY(alm_prune(planner, &plan->child[0], wanted, &below));
    if (k == 0) { /* only the number of rows counts */
        *slot = plan->child[0];
        return ALM_OK;
    }
    for (uint32_t i = 0; i < k; i++)
        ALM_TRY(alm_expr_renumber(planner->cx, exprs[i], below, &exprs[i]));
    plan->ts_col = alm_prune_mapped(*map, plan->ts_col);
    plan->project.expr = exprs;
    plan->cols = cols;
    plan->n_cols = k;
    return ALM_OK;
}

static bool uses_volatile(void *arg, const alm_expr *col)
{
    alm_expr *const *exprs = arg;
    return !alm_expr_volatile(exprs[col->col]);
}

static alm_status project_push(alm_planner *planner, alm_plan *plan, const alm_exprs *in,
                               alm_exprs *stay)
{
    enum { SIZE_MAX_DOWN = 10000 }; /* computing what is so large once is worth more */
    alm_exprs down = {0};
    for (uint32_t i = 0; i < in->n; i++) {
        alm_expr *expr = in->at[i];
        ALM_TRY(alm_steps_add(planner->cx, 1 + (int64_t)expr->size));
        if (alm_expr_volatile(expr) ||
            !alm_expr_each_col(expr, uses_volatile, plan->project.expr) ||
            alm_expr_substituted_size(expr, plan->project.expr) > SIZE_MAX_DOWN) {
            ALM_TRY(alm_exprs_add(planner->cx, stay, expr));
            continue;
        }
        ALM_TRY(alm_expr_substitute(planner->cx, expr, plan->project.expr, &expr));
        ALM_TRY(alm_exprs_split(planner->cx, &down, expr));
    }
    return alm_push_child(planner, plan, 0, &down);
}

static alm_status project_decorrelate(const alm_dep_ctx *dep, alm_plan **plan, alm_exprs *carried)
{
    alm_planner *planner = dep->p;
    alm_plan *old = *plan;
    uint32_t n_before = 0;
    alm_dep_list deps;
    ALM_TRY(alm_dep_push_child(dep, old, carried, &n_before));
    ALM_TRY(alm_dep_list_new(planner, old->n_cols + carried->n, &deps));
    for (uint32_t col = 0; col < old->n_cols; col++) {
        deps.exprs[deps.n] = old->project.expr[col];
        deps.names[deps.n++] = old->cols[col].name;
    }
    ALM_TRY(alm_dep_list_cols(planner, &deps, old->child[0], n_before, n_before + carried->n));
    return alm_plan_project(planner, old->child[0], deps.exprs, deps.names, deps.n, plan);
}

static alm_status project_range(alm_planner *planner, alm_plan *plan, const bool *used)
{
    bool *below = NULL;
    alm_expr **exprs = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, plan->child[0]->n_cols + 1, &below));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, plan->n_cols + 1, &exprs));
    for (uint32_t i = 0; i < plan->n_cols; i++) {
        exprs[i] = plan->project.expr[i];
        if (!used[i])
            continue;
        ALM_TRY(alm_expr_check_range(planner, NULL, &exprs[i]));
        (void)alm_expr_each_col(exprs[i], alm_range_note, below);
    }
    plan->project.expr = exprs;
    return alm_range_below(planner, plan->child[0], below);
}

const alm_node_ops alm_node_project = {
    .pg_name = "Result",
    .n_children = 1,
    .flags =
        ALM_NODE_CHEAP | ALM_NODE_FAST | ALM_NODE_OPEN | ALM_NODE_REFRESHABLE | ALM_NODE_FOLLOWS,
    .exprs = project_exprs,
    .copy = project_copy,
    .check = project_check,
    .explain = project_explain,
    .reverse = project_reverse,
    .prune = project_prune,
    .push = project_push,
    .decorrelate = project_decorrelate,
    .range = project_range,
};
