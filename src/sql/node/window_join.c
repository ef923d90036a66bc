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

static alm_status window_join_pairs(alm_plan *plan, alm_expr_visit f, void *arg)
{
    for (uint32_t i = 0; i < plan->winjoin.n_keys; i++) {
        ALM_TRY(f(arg, &plan->winjoin.left_keys[i]));
        ALM_TRY(f(arg, &plan->winjoin.right_keys[i]));
    }
    return alm_aggs_exprs(plan->winjoin.aggs, plan->winjoin.n_aggs, f, arg);
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

static alm_status window_join_check(alm_checking *c)
{
    const alm_plan *plan = c->node, *left = plan->child[0];
    ALM_TRY(alm_check_pairs(c, plan->winjoin.left_keys, plan->winjoin.right_keys,
                            plan->winjoin.n_keys));
    ALM_TRY(alm_aggs_exprs(plan->winjoin.aggs, plan->winjoin.n_aggs, alm_check_expr, c));
    if (!alm_check_is_time(left, plan->winjoin.left_ts) ||
        !alm_check_is_time(plan->child[1], plan->winjoin.right_ts) ||
        (plan->winjoin.lo_col >= 0 && !alm_check_is_column(left, (uint32_t)plan->winjoin.lo_col)) ||
        (plan->winjoin.hi_col >= 0 && !alm_check_is_column(left, (uint32_t)plan->winjoin.hi_col)))
        return alm_check_wrong(c, "times of a join");
    return ALM_OK;
}

static alm_status window_join_explain(alm_printer *pr, const alm_plan *plan)
{
    const alm_plan *child = plan->child[0];
    ALM_TRY(alm_buf_printf(pr->cx, &pr->buf,
                           "%s range: ", plan->winjoin.prevailing ? " include prevailing" : ""));
    if (plan->winjoin.lo_col >= 0)
        ALM_TRY(alm_print(pr, "by row"));
    else if (plan->winjoin.lo == INT64_MIN)
        ALM_TRY(alm_print(pr, "unbounded"));
    else
        ALM_TRY(alm_buf_printf(pr->cx, &pr->buf, "%" PRId64, plan->winjoin.lo));
    if (plan->winjoin.hi_col >= 0)
        ALM_TRY(alm_print(pr, " to by row"));
    else
        ALM_TRY(alm_buf_printf(pr->cx, &pr->buf, " to %" PRId64, plan->winjoin.hi));
    return alm_print_keys(pr, " keys: ", plan->winjoin.left_keys, plan->winjoin.n_keys, child);
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

static alm_status window_join_prune(alm_planner *p, alm_plan **slot, const bool *need,
                                    uint32_t **map)
{
    alm_plan *plan = *slot;
    const uint32_t nl = plan->child[0]->n_cols, nr = plan->child[1]->n_cols;
    bool *wanted = NULL;
    uint32_t *left = NULL, *right = NULL, *all = NULL;
    ALM_TRY(alm_prune_flags(p, nl + nr, &wanted));
    memcpy(wanted, need, nl * sizeof *wanted);
    ALM_TRY(alm_aggs_exprs(plan->winjoin.aggs, plan->winjoin.n_aggs, alm_prune_mark, wanted));
    for (uint32_t i = 0; i < plan->winjoin.n_keys; i++) {
        ALM_TRY(alm_prune_mark(wanted, &plan->winjoin.left_keys[i]));
        ALM_TRY(alm_prune_mark(wanted + nl, &plan->winjoin.right_keys[i]));
    }
    wanted[plan->winjoin.left_ts] = true;
    if (plan->winjoin.lo_col >= 0)
        wanted[plan->winjoin.lo_col] = true;
    if (plan->winjoin.hi_col >= 0)
        wanted[plan->winjoin.hi_col] = true;
    wanted[nl + plan->winjoin.right_ts] = true;
    ALM_TRY(alm_prune(p, &plan->child[0], wanted, &left));
    ALM_TRY(alm_prune(p, &plan->child[1], wanted + nl, &right));
    const alm_plan *child = plan->child[0];
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, nl + nr + 1, &all));
    memcpy(all, left, nl * sizeof *all);
    for (uint32_t i = 0; i < nr; i++)
        all[nl + i] = right[i] == ALM_PRUNE_NONE ? ALM_PRUNE_NONE : right[i] + child->n_cols;
    alm_prune_map r = {p->cx, all}, rl = {p->cx, left}, rr = {p->cx, right};
    ALM_TRY(alm_aggs_exprs(plan->winjoin.aggs, plan->winjoin.n_aggs, alm_prune_renumber, &r));
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
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, child->n_cols + n_aggs + 1, &cols));
    if (child->n_cols > 0)
        memcpy(cols, child->cols, child->n_cols * sizeof *cols);
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, nl + n_aggs + 1, map));
    memcpy(*map, left, nl * sizeof **map);
    for (uint32_t a = 0; a < n_aggs; a++) {
        cols[child->n_cols + a] = plan->cols[nl + a];
        (*map)[nl + a] = child->n_cols + a;
    }
    plan->cols = cols;
    plan->n_cols = child->n_cols + n_aggs;
    plan->ts_col = alm_prune_mapped(left, plan->ts_col);
    return ALM_OK;
}

static alm_status window_join_push(alm_planner *p, alm_plan *plan, const alm_exprs *in,
                                   alm_exprs *stay)
{
    alm_exprs down = {0}, none = {0};
    ALM_TRY(alm_push_split_left(p, plan, in, &down, stay));
    ALM_TRY(alm_push_child(p, plan, 0, &down));
    return alm_push_child(p, plan, 1, &none);
}

typedef struct moving {
    alm_ctx *cx;
    const uint32_t *map;
} moving;

static alm_status move_one(void *arg, alm_expr **e)
{
    const moving *m = arg;
    return alm_expr_renumber(m->cx, *e, m->map, e);
}

static alm_status window_join_decorrelate(const alm_dep_ctx *d, alm_plan **plan, alm_exprs *carried)
{
    alm_planner *p = d->p;
    alm_plan *node = *plan;
    const uint32_t nl = node->child[0]->n_cols, nr = node->child[1]->n_cols;
    alm_exprs rc = {0}, want = {0}, lk = {0}, rk = {0};
    alm_dep_gathering g = {p->cx, &want, ALM_OK};
    uint32_t *map = NULL;
    ALM_TRY(alm_dep_push(d, &node->child[0], carried));
    ALM_TRY(alm_dep_push(d, &node->child[1], &rc));
    for (uint32_t i = 0; i < rc.n; i++)
        ALM_TRY(alm_exprs_add(p->cx, &want, rc.at[i]));
    ALM_TRY(alm_aggs_exprs(node->winjoin.aggs, node->winjoin.n_aggs, alm_dep_gather_one, &g));
    ALM_TRY(alm_dep_ensure(d, &node->child[0], carried, &want));
    const alm_plan *left = node->child[0], *right = node->child[1];
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, nl + nr + 1, &map));
    for (uint32_t c = 0; c < nl + nr; c++)
        map[c] = c < nl ? c : c + left->n_cols - nl;
    moving m = {p->cx, map};
    alm_dep_landing l = {p, left, carried, nl};
    ALM_TRY(alm_aggs_exprs(node->winjoin.aggs, node->winjoin.n_aggs, move_one, &m));
    ALM_TRY(alm_aggs_exprs(node->winjoin.aggs, node->winjoin.n_aggs, alm_dep_land_one, &l));
    for (uint32_t i = 0; i < node->winjoin.n_keys; i++) {
        ALM_TRY(alm_exprs_add(p->cx, &lk, node->winjoin.left_keys[i]));
        ALM_TRY(alm_exprs_add(p->cx, &rk, node->winjoin.right_keys[i]));
    }
    for (uint32_t i = 0; i < rc.n; i++)
        ALM_TRY(alm_dep_key_pair(p, left, nl + (uint32_t)alm_dep_find_outer(carried, rc.at[i]),
                                 right, nr + i, &lk, &rk));
    node->winjoin.left_keys = lk.at;
    node->winjoin.right_keys = rk.at;
    node->winjoin.n_keys = lk.n;
    ALM_TRY(alm_dep_insert_cols(p, node, nl, left, nl, carried->n));
    return alm_dep_move_to_end(p, plan, nl, carried->n);
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
