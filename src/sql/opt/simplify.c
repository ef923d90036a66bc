/*
 * simplify.c - projections over projections become one, a projection that changes nothing goes,
 * filters over filters become one, a filter that is false lets nothing through.
 */
#include "sql/opt/opt.h"

/* How often columns are read: a computed one may be put in only where it is read once. */
static bool count_use(void *arg, const alm_expr *col)
{
    ((uint32_t *)arg)[col->col]++;
    return true;
}

static alm_status merge_projects(alm_planner *planner, alm_plan *plan)
{
    alm_plan *inner = plan->child[0];
    uint32_t *uses = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, inner->n_cols + 1, &uses));
    for (uint32_t i = 0; i < plan->n_cols; i++)
        (void)alm_expr_each_col(plan->project.expr[i], count_use, uses);
    for (uint32_t i = 0; i < inner->n_cols; i++) {
        const alm_expr *expr = inner->project.expr[i];
        const bool plain = expr->kind == ALM_X_COL || expr->kind == ALM_X_CONST;
        if (!plain && (uses[i] > 1 || alm_expr_volatile(expr)))
            return ALM_OK;
    }
    for (uint32_t i = 0; i < plan->n_cols; i++)
        ALM_TRY(alm_expr_substitute(planner->cx, plan->project.expr[i], inner->project.expr,
                                    &plan->project.expr[i]));
    plan->child[0] = inner->child[0];
    return ALM_OK;
}

static bool is_identity(const alm_plan *plan)
{
    const alm_plan *child = plan->child[0];
    if (plan->n_cols != child->n_cols || plan->ts_col != child->ts_col ||
        (plan->ts_col >= 0 && plan->order != child->order))
        return false;
    for (uint32_t i = 0; i < plan->n_cols; i++)
        if (plan->project.expr[i]->kind != ALM_X_COL || plan->project.expr[i]->col != i)
            return false;
    return true;
}

/* SELECT without FROM: the row holds the values themselves. */
static alm_status project_row(alm_planner *planner, alm_plan **slot)
{
    alm_plan *plan = *slot, *row = plan->child[0];
    if (row->op != ALM_P_VALUES || row->values.n_rows != 1 || row->values.rows == NULL)
        return ALM_OK;
    enum { SIZE_MAX_ROW = 10000 }; /* computing what is so large once is worth more */
    alm_expr ***rows = NULL;
    uint64_t size = 0;
    for (uint32_t i = 0; i < plan->n_cols; i++)
        size += alm_expr_substituted_size(plan->project.expr[i], row->values.rows[0]);
    if (size > SIZE_MAX_ROW + plan->n_cols)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 1, &rows));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, plan->n_cols + 1, &rows[0]));
    for (uint32_t i = 0; i < plan->n_cols; i++)
        ALM_TRY(alm_expr_substitute(planner->cx, plan->project.expr[i], row->values.rows[0],
                                    &rows[0][i]));
    row->values.rows = rows;
    row->cols = plan->cols;
    row->n_cols = plan->n_cols;
    row->ts_col = plan->ts_col;
    row->order = plan->order;
    *slot = row;
    return ALM_OK;
}

static alm_status simplify_filter(alm_planner *planner, alm_plan **slot)
{
    alm_plan *plan = *slot;
    alm_exprs all = {0};
    if (plan->child[0]->op == ALM_P_FILTER) { /* the inner one runs first */
        const alm_plan *inner = plan->child[0];
        for (uint32_t i = 0; i < inner->filter.n; i++)
            ALM_TRY(alm_exprs_add(planner->cx, &all, inner->filter.conjunct[i]));
        for (uint32_t i = 0; i < plan->filter.n; i++)
            ALM_TRY(alm_exprs_add(planner->cx, &all, plan->filter.conjunct[i]));
        plan->filter.conjunct = all.at;
        plan->filter.n = all.n;
        plan->child[0] = inner->child[0];
    }
    for (uint32_t i = 0; i < plan->filter.n; i++) {
        if (!alm_expr_is_false(plan->filter.conjunct[i]))
            continue;
        alm_plan *child = plan->child[0];
        ALM_TRY(alm_plan_limit(planner, &child, 0, 0));
        *slot = child;
        return ALM_OK;
    }
    return ALM_OK;
}

static alm_status simplify(alm_planner *planner, alm_plan **slot)
{
    alm_plan *plan = *slot;
    if (plan->op == ALM_P_FILTER)
        return simplify_filter(planner, slot);
    if (plan->op != ALM_P_PROJECT)
        return ALM_OK;
    while (plan->child[0]->op == ALM_P_PROJECT) {
        const alm_plan *before = plan->child[0];
        ALM_TRY(merge_projects(planner, plan));
        if (plan->child[0] == before)
            break;
    }
    if (is_identity(plan)) {
        plan->child[0]->cols = plan->cols; /* the names of the list */
        *slot = plan->child[0];
        return ALM_OK;
    }
    return project_row(planner, slot);
}

alm_status alm_rule_simplify(alm_planner *planner, alm_plan **plan)
{
    return alm_plan_bottom_up(planner, plan, simplify);
}

alm_status alm_rule_tidy(alm_planner *planner, alm_plan **plan)
{
    return alm_plan_bottom_up(planner, plan, simplify);
}
