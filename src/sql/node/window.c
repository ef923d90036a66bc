/*
 * window.c - WINDOW: functions over frames of neighbouring rows, behind the columns of the child.
 */
#include <inttypes.h>

#include "sql/node/copy.h"
#include "sql/node/decorrelate.h"
#include "sql/node/explain.h"
#include "sql/node/ops.h"
#include "sql/node/prune.h"
#include "sql/node/push.h"
#include "sql/node/range.h"
#include "sql/node/walk.h"

static alm_status window_exprs(alm_plan *plan, alm_expr_visit visit, void *arg)
{
    for (uint32_t i = 0; i < plan->window.n_calls; i++) {
        alm_window_call *call = &plan->window.calls[i];
        ALM_TRY(alm_list_exprs(call->args, call->n_args, visit, arg));
        ALM_TRY(alm_list_exprs(call->partition, call->n_partition, visit, arg));
        ALM_TRY(alm_sort_keys_exprs(call->order, call->n_order, visit, arg));
        if (call->filter != NULL)
            ALM_TRY(visit(arg, &call->filter));
    }
    return ALM_OK;
}

static alm_status window_copy(alm_planner *p, alm_plan *plan)
{
    ALM_COPY_LIST(plan->window.calls, plan->window.n_calls);
    for (uint32_t i = 0; i < plan->window.n_calls; i++) {
        alm_window_call *call = &plan->window.calls[i];
        ALM_COPY_LIST(call->args, call->n_args);
        ALM_COPY_LIST(call->partition, call->n_partition);
        ALM_COPY_LIST(call->order, call->n_order);
    }
    return ALM_OK;
}

static uint32_t window_width(const alm_plan *plan)
{
    return plan->child[0]->n_cols + plan->window.n_calls;
}

static alm_status window_explain(alm_printer *printer, const alm_plan *plan)
{
    for (uint32_t i = 0; i < plan->window.n_calls; i++) {
        const alm_window_call *call = &plan->window.calls[i];
        ALM_TRY(alm_buf_printf(printer->cx, &printer->buf, "%s%s(", i > 0 ? ", " : " ",
                               call->fn->name));
        ALM_TRY(alm_print_list(printer, call->args, call->n_args, plan->child[0], NULL));
        ALM_TRY(alm_print(printer, ") over ("));
        ALM_TRY(alm_print_keys(printer, "partition by ", call->partition, call->n_partition,
                               plan->child[0]));
        if (call->n_order > 0) {
            ALM_TRY(alm_print(printer, call->n_partition > 0 ? " order by " : "order by "));
            ALM_TRY(alm_print_sort_keys(printer, call->order, call->n_order, plan->child[0]));
            ALM_TRY(alm_print(printer, call->order_is_ts ? " as it comes" : ""));
        }
        ALM_TRY(alm_print(printer, ")"));
    }
    if (plan->window.top > 0)
        return alm_buf_printf(printer->cx, &printer->buf, " first: %" PRId64, plan->window.top);
    return ALM_OK;
}

static alm_status window_prune(alm_planner *planner, alm_plan **slot, const bool *need,
                               uint32_t **map)
{
    alm_plan *plan = *slot;
    const uint32_t nc = plan->child[0]->n_cols;
    bool *wanted = NULL;
    uint32_t *below = NULL, *all = NULL;
    uint32_t k = 0;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, plan->n_cols + 1, &all));
    alm_plan_col *kept = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, plan->window.n_calls + 1, &kept));
    for (uint32_t call = 0; call < plan->window.n_calls; call++) {
        all[nc + call] = ALM_PRUNE_NONE;
        if (!need[nc + call])
            continue;
        all[nc + call] = k;
        kept[k] = plan->cols[nc + call];
        plan->window.calls[k++] = plan->window.calls[call];
    }
    const uint32_t n_calls = plan->window.n_calls;
    plan->window.n_calls = k;
    ALM_TRY(alm_prune_flags(planner, nc, &wanted));
    memcpy(wanted, need, nc * sizeof *wanted);
    ALM_TRY(alm_plan_exprs(plan, alm_prune_mark, wanted));
    ALM_TRY(alm_prune(planner, &plan->child[0], wanted, &below));
    alm_prune_map prune_map = {planner->cx, below};
    ALM_TRY(alm_plan_exprs(plan, alm_prune_renumber, &prune_map));
    const alm_plan *child = plan->child[0];
    memcpy(all, below, nc * sizeof *all);
    for (uint32_t call = 0; call < n_calls; call++)
        if (all[nc + call] != ALM_PRUNE_NONE)
            all[nc + call] += child->n_cols;
    plan->ts_col = alm_prune_mapped(all, plan->ts_col);
    plan->n_cols = child->n_cols + k;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, plan->n_cols + 1, &plan->cols));
    if (child->n_cols > 0)
        memcpy(plan->cols, child->cols, child->n_cols * sizeof *plan->cols);
    if (k > 0)
        memcpy(plan->cols + child->n_cols, kept, k * sizeof *kept);
    *map = all;
    return ALM_OK;
}

static bool node_window_of_partitions(const void *arg, const alm_expr *expr)
{
    const alm_plan *plan = arg;
    for (uint32_t i = 0; i < plan->window.n_calls; i++) {
        const alm_push_columns set = {plan->window.calls[i].partition,
                                      plan->window.calls[i].n_partition};
        if (!alm_push_of_columns(&set, expr))
            return false;
    }
    return true;
}

static alm_status window_push(alm_planner *planner, alm_plan *plan, const alm_exprs *in,
                              alm_exprs *stay)
{
    alm_exprs down = {0};
    ALM_TRY(alm_push_split(planner, in, node_window_of_partitions, plan, &down, stay));
    return alm_push_child(planner, plan, 0, &down);
}

static alm_status window_decorrelate(const alm_dep_ctx *dep, alm_plan **plan, alm_exprs *carried)
{
    alm_plan *window = *plan;
    uint32_t n_before = 0;
    ALM_TRY(alm_dep_push_child(dep, window, carried, &n_before));
    for (uint32_t i = 0; i < window->window.n_calls; i++)
        ALM_TRY(alm_dep_with_keys(dep->p, window->child[0], n_before, carried->n,
                                  &window->window.calls[i].partition,
                                  &window->window.calls[i].n_partition));
    ALM_TRY(alm_dep_insert_cols(dep->p, window, n_before, window->child[0], n_before, carried->n));
    return alm_dep_move_to_end(dep->p, plan, n_before, carried->n);
}

/* Columns of the child, and what functions such as lag take from other rows (aggregates are checked for themselves). */
static alm_status window_range(alm_planner *planner, alm_plan *plan, const bool *used)
{
    const uint32_t n_cols = plan->child[0]->n_cols;
    bool *below = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols + 1, &below));
    memcpy(below, used, n_cols * sizeof *below);
    for (uint32_t i = 0; i < plan->window.n_calls; i++) {
        alm_window_call *call = &plan->window.calls[i];
        if (!used[n_cols + i] || call->fn == NULL || call->fn->kind == ALM_FN_AGGREGATE)
            continue;
        for (uint32_t arg = 0; arg < call->n_args; arg++) {
            ALM_TRY(alm_expr_check_range(planner, NULL, &call->args[arg]));
            (void)alm_expr_each_col(call->args[arg], alm_range_note, below);
        }
    }
    return alm_range_below(planner, plan->child[0], below);
}

const alm_node_ops alm_node_window = {
    .pg_name = "WindowAgg",
    .n_children = 1,
    .flags = ALM_NODE_LEFT_FIRST | ALM_NODE_ORDERED_INPUT | ALM_NODE_FOLLOWS,
    .exprs = window_exprs,
    .copy = window_copy,
    .width = window_width,
    .explain = window_explain,
    .prune = window_prune,
    .push = window_push,
    .decorrelate = window_decorrelate,
    .range = window_range,
};
