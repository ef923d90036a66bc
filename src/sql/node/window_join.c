/*
 * window_join.c - WINDOW_JOIN: aggregates over the rows of another input around each row.
 */
#include <inttypes.h>

#include "sql/node/aggs.h"
#include "sql/node/check.h"
#include "sql/node/copy.h"
#include "sql/node/decorrelate.h"
#include "sql/node/explain.h"
#include "sql/node/ops.h"
#include "sql/node/prune.h"
#include "sql/node/push.h"
#include "sql/node/range.h"
#include "sql/node/walk.h"

static bool window_join_groups(alm_plan *plan, alm_node_groups *out)
{
    *out = (alm_node_groups){.aggs = plan->winjoin.aggs, .n_aggs = plan->winjoin.n_aggs};
    return true;
}

static alm_status window_join_pairs(alm_plan *plan, alm_expr_visit visit, void *arg)
{
    for (uint32_t i = 0; i < plan->winjoin.n_keys; i++) {
        ALM_TRY(visit(arg, &plan->winjoin.left_keys[i]));
        ALM_TRY(visit(arg, &plan->winjoin.right_keys[i]));
    }
    return alm_aggs_exprs(plan->winjoin.aggs, plan->winjoin.n_aggs, visit, arg);
}

static alm_status window_join_copy(alm_planner *p, alm_plan *plan)
{
    ALM_COPY_LIST(plan->winjoin.left_keys, plan->winjoin.n_keys);
    ALM_COPY_LIST(plan->winjoin.right_keys, plan->winjoin.n_keys);
    return alm_copy_aggs(p, &plan->winjoin.aggs, plan->winjoin.n_aggs);
}

static uint32_t window_join_width(const alm_plan *plan)
{
    return plan->child[0]->n_cols + plan->winjoin.n_aggs;
}

static alm_status window_join_check(alm_checking *checking)
{
    const alm_plan *plan = checking->node, *left = plan->child[0];
    ALM_TRY(alm_check_pairs(checking, plan->winjoin.left_keys, plan->winjoin.right_keys,
                            plan->winjoin.n_keys));
    ALM_TRY(alm_aggs_exprs(plan->winjoin.aggs, plan->winjoin.n_aggs, alm_check_expr, checking));
    if (!alm_check_is_time(left, plan->winjoin.left_ts) ||
        !alm_check_is_time(plan->child[1], plan->winjoin.right_ts) ||
        (plan->winjoin.lo_col >= 0 && !alm_check_is_column(left, (uint32_t)plan->winjoin.lo_col)) ||
        (plan->winjoin.hi_col >= 0 && !alm_check_is_column(left, (uint32_t)plan->winjoin.hi_col)))
        return alm_check_wrong(checking, "times of a join");
    return ALM_OK;
}

static alm_status window_join_explain(alm_printer *printer, const alm_plan *plan)
{
    const alm_plan *child = plan->child[0];
    ALM_TRY(alm_buf_printf(printer->cx, &printer->buf,
                           "%s range: ", plan->winjoin.prevailing ? " include prevailing" : ""));
    if (plan->winjoin.lo_col >= 0)
        ALM_TRY(alm_print(printer, "by row"));
    else if (plan->winjoin.lo == INT64_MIN)
        ALM_TRY(alm_print(printer, "unbounded"));
    else
        ALM_TRY(alm_buf_printf(printer->cx, &printer->buf, "%" PRId64, plan->winjoin.lo));
    if (plan->winjoin.hi_col >= 0)
        ALM_TRY(alm_print(printer, " to by row"));
    else
        ALM_TRY(alm_buf_printf(printer->cx, &printer->buf, " to %" PRId64, plan->winjoin.hi));
    return alm_print_keys(printer, " keys: ", plan->winjoin.left_keys, plan->winjoin.n_keys, child);
}

static double window_join_most_rows(ALM_UNUSED const alm_plan *plan, const double rows[2],
                                    double *pairs)
{
    *pairs += rows[0] * rows[1]; /* a window may hold all of them */
    return rows[0];
}

static void window_join_order(ALM_UNUSED alm_plan *plan, ALM_UNUSED bool needed, bool below[2])
{
    below[0] = below[1] = true;
}

static alm_status window_join_prune(alm_planner *planner, alm_plan **slot, const bool *need,
                                    uint32_t **map)
{
    alm_plan *plan = *slot;
    const uint32_t n_left = plan->child[0]->n_cols, n_right = plan->child[1]->n_cols;
    bool *wanted = NULL;
    uint32_t *left = NULL, *right = NULL, *all = NULL;
    ALM_TRY(alm_prune_flags(planner, n_left + n_right, &wanted));
    memcpy(wanted, need, n_left * sizeof *wanted);
    ALM_TRY(alm_aggs_exprs(plan->winjoin.aggs, plan->winjoin.n_aggs, alm_prune_mark, wanted));
    for (uint32_t i = 0; i < plan->winjoin.n_keys; i++) {
        ALM_TRY(alm_prune_mark(wanted, &plan->winjoin.left_keys[i]));
        ALM_TRY(alm_prune_mark(wanted + n_left, &plan->winjoin.right_keys[i]));
    }
    wanted[plan->winjoin.left_ts] = true;
    if (plan->winjoin.lo_col >= 0)
        wanted[plan->winjoin.lo_col] = true;
    if (plan->winjoin.hi_col >= 0)
        wanted[plan->winjoin.hi_col] = true;
    wanted[n_left + plan->winjoin.right_ts] = true;
    ALM_TRY(alm_prune(planner, &plan->child[0], wanted, &left));
    ALM_TRY(alm_prune(planner, &plan->child[1], wanted + n_left, &right));
    const alm_plan *child = plan->child[0];
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_left + n_right + 1, &all));
    memcpy(all, left, n_left * sizeof *all);
    for (uint32_t i = 0; i < n_right; i++)
        all[n_left + i] = right[i] == ALM_PRUNE_NONE ? ALM_PRUNE_NONE : right[i] + child->n_cols;
    alm_prune_map prune_map = {planner->cx, all}, rl = {planner->cx, left},
                  rr = {planner->cx, right};
    ALM_TRY(
        alm_aggs_exprs(plan->winjoin.aggs, plan->winjoin.n_aggs, alm_prune_renumber, &prune_map));
    for (uint32_t i = 0; i < plan->winjoin.n_keys; i++) {
        ALM_TRY(alm_prune_renumber(&rl, &plan->winjoin.left_keys[i]));
        ALM_TRY(alm_prune_renumber(&rr, &plan->winjoin.right_keys[i]));
    }
    plan->winjoin.left_ts = left[plan->winjoin.left_ts];
    plan->winjoin.lo_col = alm_prune_mapped(left, plan->winjoin.lo_col);
    plan->winjoin.hi_col = alm_prune_mapped(left, plan->winjoin.hi_col);
    plan->winjoin.right_ts = right[plan->winjoin.right_ts];
    /* result: what is left of the left side, then the aggregates */
    const uint32_t n_aggs = plan->winjoin.n_aggs;
    alm_plan_col *cols = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, child->n_cols + n_aggs + 1, &cols));
    if (child->n_cols > 0)
        memcpy(cols, child->cols, child->n_cols * sizeof *cols);
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_left + n_aggs + 1, map));
    memcpy(*map, left, n_left * sizeof **map);
    for (uint32_t agg = 0; agg < n_aggs; agg++) {
        cols[child->n_cols + agg] = plan->cols[n_left + agg];
        (*map)[n_left + agg] = child->n_cols + agg;
    }
    plan->cols = cols;
    plan->n_cols = child->n_cols + n_aggs;
    plan->ts_col = alm_prune_mapped(left, plan->ts_col);
    return ALM_OK;
}

static alm_status window_join_push(alm_planner *planner, alm_plan *plan, const alm_exprs *in,
                                   alm_exprs *stay)
{
    alm_exprs down = {0}, none = {0};
    ALM_TRY(alm_push_split_left(planner, plan, in, &down, stay));
    ALM_TRY(alm_push_child(planner, plan, 0, &down));
    return alm_push_child(planner, plan, 1, &none);
}

typedef struct moving {
    alm_ctx *cx;
    const uint32_t *map;
} moving;

static alm_status move_one(void *arg, alm_expr **expr)
{
    const moving *self = arg;
    return alm_expr_renumber(self->cx, *expr, self->map, expr);
}

static alm_status window_join_decorrelate(const alm_dep_ctx *dep, alm_plan **plan,
                                          alm_exprs *carried)
{
    alm_planner *planner = dep->p;
    alm_plan *node = *plan;
    const uint32_t n_left = node->child[0]->n_cols, n_right = node->child[1]->n_cols;
    alm_exprs exprs = {0}, want = {0}, lk = {0}, rk = {0};
    alm_dep_gathering gathering = {planner->cx, &want, ALM_OK};
    uint32_t *map = NULL;
    ALM_TRY(alm_dep_push(dep, &node->child[0], carried));
    ALM_TRY(alm_dep_push(dep, &node->child[1], &exprs));
    for (uint32_t i = 0; i < exprs.n; i++)
        ALM_TRY(alm_exprs_add(planner->cx, &want, exprs.at[i]));
    ALM_TRY(
        alm_aggs_exprs(node->winjoin.aggs, node->winjoin.n_aggs, alm_dep_gather_one, &gathering));
    ALM_TRY(alm_dep_ensure(dep, &node->child[0], carried, &want));
    const alm_plan *left = node->child[0], *right = node->child[1];
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_left + n_right + 1, &map));
    for (uint32_t col = 0; col < n_left + n_right; col++)
        map[col] = col < n_left ? col : col + left->n_cols - n_left;
    moving self = {planner->cx, map};
    alm_dep_landing landing = {planner, left, carried, n_left};
    ALM_TRY(alm_aggs_exprs(node->winjoin.aggs, node->winjoin.n_aggs, move_one, &self));
    ALM_TRY(alm_aggs_exprs(node->winjoin.aggs, node->winjoin.n_aggs, alm_dep_land_one, &landing));
    for (uint32_t i = 0; i < node->winjoin.n_keys; i++) {
        ALM_TRY(alm_exprs_add(planner->cx, &lk, node->winjoin.left_keys[i]));
        ALM_TRY(alm_exprs_add(planner->cx, &rk, node->winjoin.right_keys[i]));
    }
    for (uint32_t i = 0; i < exprs.n; i++)
        ALM_TRY(alm_dep_key_pair(planner, left,
                                 n_left + (uint32_t)alm_dep_find_outer(carried, exprs.at[i]), right,
                                 n_right + i, &lk, &rk));
    node->winjoin.left_keys = lk.at;
    node->winjoin.right_keys = rk.at;
    node->winjoin.n_keys = lk.n;
    ALM_TRY(alm_dep_insert_cols(planner, node, n_left, left, n_left, carried->n));
    return alm_dep_move_to_end(planner, plan, n_left, carried->n);
}

const alm_node_ops alm_node_window_join = {
    .pg_name = "Window Join",
    .n_children = 2,
    .flags = ALM_NODE_LEFT_FIRST | ALM_NODE_ONE_LEFT_ROW | ALM_NODE_MAY_LEAK |
             ALM_NODE_REFRESHABLE | ALM_NODE_FOLLOWS,
    .groups = window_join_groups,
    .pairs = window_join_pairs,
    .copy = window_join_copy,
    .width = window_join_width,
    .check = window_join_check,
    .explain = window_join_explain,
    .most_rows = window_join_most_rows,
    .order = window_join_order,
    .prune = window_join_prune,
    .push = window_join_push,
    .decorrelate = window_join_decorrelate,
    .range = alm_range_left,
};
