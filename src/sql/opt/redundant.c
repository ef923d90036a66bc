/*
 * redundant.c - sorts of rows that come sorted by another sort, DISTINCT of rows that are distinct,
 * sorts of a single row.
 */
#include "sql/opt/opt.h"

static bool redundant_is_one_row(const alm_plan *plan)
{
    while (plan->op == ALM_P_PROJECT)
        plan = plan->child[0];
    return (plan->op == ALM_P_GROUP && plan->group.n_keys == 0) ||
           (plan->op == ALM_P_VALUES && plan->values.n_rows == 1);
}

/* Column `col` of the node as one of the child, -1: it is made here. */
static int64_t redundant_below(const alm_plan *plan, uint32_t col)
{
    if (plan->op != ALM_P_PROJECT)
        return col;
    const alm_expr *expr = plan->project.expr[col];
    return expr->kind == ALM_X_COL ? (int64_t)expr->col : -1;
}

/* Do the rows of the node come in the order of the n keys, whose columns are cols? */
static bool comes_sorted(const alm_plan *plan, const alm_sort_key *keys, int64_t *cols,
                         uint32_t n_cols)
{
    while (plan->op == ALM_P_PROJECT || plan->op == ALM_P_FILTER || plan->op == ALM_P_LIMIT) {
        for (uint32_t i = 0; i < n_cols; i++) {
            cols[i] = redundant_below(plan, (uint32_t)cols[i]);
            if (cols[i] < 0)
                return false;
        }
        plan = plan->child[0];
    }
    if (plan->op != ALM_P_SORT || plan->sort.n_keys < n_cols)
        return false;
    for (uint32_t i = 0; i < n_cols; i++) {
        const alm_sort_key *have = &plan->sort.keys[i];
        if (have->expr->kind != ALM_X_COL || (int64_t)have->expr->col != cols[i] ||
            have->desc != keys[i].desc || have->nulls_first != keys[i].nulls_first)
            return false;
    }
    return true;
}

static alm_status visit_sort(alm_planner *planner, alm_plan **slot)
{
    alm_plan *sort = *slot;
    int64_t *cols = NULL;
    if (sort->sort.limit >= 0)
        return ALM_OK;
    if (redundant_is_one_row(sort->child[0])) {
        *slot = sort->child[0];
        return ALM_OK;
    }
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, sort->sort.n_keys + 1, &cols));
    for (uint32_t i = 0; i < sort->sort.n_keys; i++) {
        if (sort->sort.keys[i].expr->kind != ALM_X_COL)
            return ALM_OK;
        cols[i] = sort->sort.keys[i].expr->col;
    }
    if (comes_sorted(sort->child[0], sort->sort.keys, cols, sort->sort.n_keys))
        *slot = sort->child[0];
    return ALM_OK;
}

/* DISTINCT over groups that shows all their keys: a projection. */
static alm_status visit_distinct(alm_planner *planner, alm_plan **slot)
{
    alm_plan *distinct = *slot, *inner = distinct->child[0];
    const char **names = NULL;
    if (distinct->group.n_aggs > 0 || distinct->group.n_keys == 0)
        return ALM_OK;
    const bool groups = inner->op == ALM_P_GROUP && inner->group.n_keys > 0;
    if (!groups && !redundant_is_one_row(inner))
        return ALM_OK;
    for (uint32_t k = 0; groups && k < inner->group.n_keys; k++) {
        bool shown = false;
        for (uint32_t i = 0; i < distinct->group.n_keys && !shown; i++)
            shown = distinct->group.keys[i]->kind == ALM_X_COL && distinct->group.keys[i]->col == k;
        if (!shown)
            return ALM_OK;
    }
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, distinct->n_cols + 1, &names));
    for (uint32_t i = 0; i < distinct->n_cols; i++)
        names[i] = distinct->cols[i].name;
    return alm_plan_project(planner, inner, distinct->group.keys, names, distinct->n_cols, slot);
}

static alm_status redundant_visit(alm_planner *planner, alm_plan **slot)
{
    if ((*slot)->op == ALM_P_SORT)
        return visit_sort(planner, slot);
    return (*slot)->op == ALM_P_GROUP ? visit_distinct(planner, slot) : ALM_OK;
}

alm_status alm_rule_redundant(alm_planner *planner, alm_plan **plan)
{
    return alm_plan_bottom_up(planner, plan, redundant_visit);
}
