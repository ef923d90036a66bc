/*
 * setop.c - SETOP: UNION ALL, EXCEPT, INTERSECT.
 */
#include "sql/node/check.h"
#include "sql/node/decorrelate.h"
#include "sql/node/explain.h"
#include "sql/node/ops.h"
#include "sql/node/prune.h"
#include "sql/node/push.h"
#include "sql/node/range.h"

static bool gives_right(const alm_plan *plan)
{
    return plan->setop.kind ==
           ALM_SETOP_UNION_ALL; /* of the others the right rows are only compared */
}

static alm_status setop_check(alm_checking *checking)
{
    const alm_plan *plan = checking->node, *right = plan->child[1];
    for (uint32_t i = 0; i < plan->n_cols; i++)
        if (!alm_check_fits(plan->cols[i].type, right->cols[i].type, !gives_right(plan)))
            return alm_check_wrong(checking, "type of a column that is passed on");
    return ALM_OK;
}

static alm_status setop_explain(alm_printer *printer, const alm_plan *plan)
{
    static const char *const names[] = {"union all", "except", "except all", "intersect",
                                        "intersect all"};
    return alm_buf_printf(printer->cx, &printer->buf, " %s", names[plan->setop.kind]);
}

static const char *setop_pg_name(const alm_plan *plan)
{
    return gives_right(plan) ? "Append" : "SetOp";
}

static void setop_estimate(alm_plan *plan, double left, double right)
{
    plan->est_rows = left + right;
}

static alm_status setop_prune(alm_planner *planner, alm_plan **slot, const bool *need,
                              uint32_t **map)
{
    alm_plan *plan = *slot;
    const uint32_t n_cols = plan->n_cols;
    bool *wanted = NULL;
    uint32_t *below = NULL;
    ALM_TRY(alm_prune_flags(planner, n_cols, &wanted));
    bool any = false;
    for (uint32_t i = 0; i < n_cols; i++) {
        wanted[i] = need[i] || plan->setop.kind != ALM_SETOP_UNION_ALL;
        any |= wanted[i];
    }
    if (!any && n_cols > 0)
        wanted[0] = true; /* rows of both sides must look alike */
    for (uint32_t side = 0; side < 2; side++) {
        ALM_TRY(alm_prune(planner, &plan->child[side], wanted, &below));
        ALM_TRY(alm_prune_exact(planner, &plan->child[side], wanted, n_cols, below));
    }
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols + 1, map));
    uint32_t k = 0;
    for (uint32_t i = 0; i < n_cols; i++)
        (*map)[i] = wanted[i] ? k++ : ALM_PRUNE_NONE;
    plan->ts_col = alm_prune_mapped(*map, plan->ts_col);
    alm_prune_take_child(plan);
    return ALM_OK;
}

static alm_status setop_push(alm_planner *planner, alm_plan *plan, const alm_exprs *in,
                             alm_exprs *stay)
{
    /* equal rows fall under the condition together: what is taken away on one side goes on both */
    const bool all = plan->setop.kind == ALM_SETOP_UNION_ALL;
    for (uint32_t side = 0; side < 2; side++) {
        alm_exprs down = {0};
        bool same_types = true;
        for (uint32_t col = 0; col < plan->n_cols; col++)
            same_types &= alm_type_eq(plan->child[side]->cols[col].type, plan->cols[col].type);
        for (uint32_t i = 0; i < in->n; i++) {
            if (alm_expr_volatile(in->at[i]) ||
                !(all || alm_expr_by_equality(planner, in->at[i]))) {
                if (side == 0)
                    ALM_TRY(alm_exprs_add(planner->cx, stay, in->at[i]));
            } else if (side == 0 || same_types || all) {
                ALM_TRY(alm_exprs_add(planner->cx, &down, in->at[i]));
            }
        }
        ALM_TRY(alm_push_child(planner, plan, side, &down));
    }
    return ALM_OK;
}

/* Both sides carry the same in the same order. */
static alm_status setop_decorrelate(const alm_dep_ctx *dep, alm_plan **plan, alm_exprs *carried)
{
    alm_plan *node = *plan;
    const uint32_t n_cols = node->n_cols;
    alm_exprs own[2] = {{0}, {0}};
    for (int s = 0; s < 2; s++) {
        ALM_TRY(alm_dep_push(dep, &node->child[s], &own[s]));
        for (uint32_t i = 0; i < own[s].n; i++)
            if (alm_dep_find_outer(carried, own[s].at[i]) < 0)
                ALM_TRY(alm_exprs_add(dep->p->cx, carried, own[s].at[i]));
    }
    for (int s = 0; s < 2; s++)
        ALM_TRY(alm_dep_align(dep, &node->child[s], n_cols, &own[s], carried));
    node->cols = node->child[0]->cols;
    node->n_cols = node->child[0]->n_cols;
    return ALM_OK;
}

static alm_status setop_range(alm_planner *planner, alm_plan *plan, const bool *used)
{
    if (gives_right(plan))
        ALM_TRY(alm_range_below(planner, plan->child[1], used));
    return alm_range_below(planner, plan->child[0], used);
}

const alm_node_ops alm_node_setop = {
    .pg_name_of = setop_pg_name,
    .n_children = 2,
    .flags = ALM_NODE_SAME_COLUMNS | ALM_NODE_REFRESHABLE,
    .check = setop_check,
    .explain = setop_explain,
    .estimate = setop_estimate,
    .prune = setop_prune,
    .push = setop_push,
    .decorrelate = setop_decorrelate,
    .range = setop_range,
};
