/*
 * correlate.c - queries over columns of the query around them (EXISTS, IN, scalars, LATERAL): made independent of it by
 * node/decorrelate.h, and joined to the plan of the scope.
 */
#include "sql/bind/bind.h"
#include "sql/node/decorrelate.h"

alm_status alm_decorrelate(alm_scope *scope, alm_plan **plan, alm_exprs *outer)
{
    const alm_dep_ctx dep = {scope->p, scope->plan};
    return alm_dep_push(&dep, plan, outer);
}

/* --------------------------------------------------------------------------------- EXISTS */

/* Columns of a filter condition as the residual of a join sees them. */
static alm_status semi_col(void *arg, alm_expr *expr, alm_expr **out)
{
    const alm_dep_landing *landing = arg; /* first: number of left columns */
    if (expr->kind != ALM_X_COL || (expr->col & ALM_COL_OUTER) != 0)
        return ALM_OK;
    const uint32_t col =
        (expr->col & ALM_COL_DEP) != 0 ? expr->col & ALM_OUTER_NUMBER : expr->col + landing->first;
    return alm_expr_col(landing->p->cx, col, expr->type, expr->pos, out);
}

/* Whether there is a row does not depend on these. */
static bool does_not_matter(const alm_plan *plan)
{
    return plan->op == ALM_P_PROJECT || plan->op == ALM_P_SORT ||
           (plan->op == ALM_P_GROUP && plan->group.n_keys > 0) ||
           (plan->op == ALM_P_LIMIT && plan->limit.lo == 0 && plan->limit.hi > 0);
}

alm_status alm_decorrelate_semi(alm_scope *scope, alm_plan **plan, alm_semi *semi)
{
    alm_planner *planner = scope->p;
    const alm_dep_ctx dep = {planner, scope->plan};
    alm_exprs carried = {0};
    while (does_not_matter(*plan))
        *plan = (*plan)->child[0];
    alm_plan *child = *plan;
    alm_dep_parts parts = {0};
    while (child->op == ALM_P_FILTER) {
        ALM_TRY(alm_dep_split(planner, child, &parts));
        child = child->child[0];
    }
    const uint32_t n_before = child->n_cols;
    ALM_TRY(alm_dep_push(&dep, &child, &carried));
    ALM_TRY(alm_plan_filter(planner, &child, &parts.plain));
    for (uint32_t i = 0; i < carried.n; i++) {
        alm_expr *key = NULL;
        ALM_TRY(alm_dep_col_of(planner, child, n_before + i, &key));
        ALM_TRY(alm_exprs_add(planner->cx, &parts.outer, carried.at[i]));
        ALM_TRY(alm_exprs_add(planner->cx, &parts.inner, key));
    }
    for (uint32_t i = 0; i < parts.outer.n; i++) {
        bool ok = false;
        ALM_TRY(alm_join_key_types(planner, &parts.outer.at[i], &parts.inner.at[i], &ok));
        if (!ok)
            return alm_fail(planner->cx, ALM_E_TYPE, parts.inner.at[i]->pos,
                            "join column type mismatch");
    }
    for (uint32_t i = 0; i < parts.mixed.n; i++) {
        alm_dep_landing landing = {.p = planner, .first = scope->plan->n_cols};
        ALM_TRY(
            alm_expr_map(planner->cx, parts.mixed.at[i], semi_col, &landing, &parts.mixed.at[i]));
    }
    *semi = (alm_semi){parts.outer, parts.inner, parts.mixed};
    *plan = child;
    return ALM_OK;
}

/* ----------------------------------------------------------------- scalars and LATERAL */

/* Projections over aggregates without keys: one row for every outer row. */
static bool is_scalar_group(const alm_plan *plan)
{
    while (plan->op == ALM_P_PROJECT)
        plan = plan->child[0];
    return plan->op == ALM_P_GROUP && plan->group.n_keys == 0;
}

/* Expressions of a chain of projections over the columns below it. */
static alm_status correlate_compose(alm_planner *planner, alm_plan *plan, alm_plan **below,
                                    alm_expr ***out)
{
    alm_expr **exprs = NULL;
    const uint32_t n_cols = plan->n_cols;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols + 1, &exprs));
    for (uint32_t i = 0; i < n_cols; i++)
        ALM_TRY(alm_dep_col_of(planner, plan, i, &exprs[i]));
    for (; plan->op == ALM_P_PROJECT; plan = plan->child[0])
        for (uint32_t i = 0; i < n_cols; i++)
            ALM_TRY(alm_expr_substitute(planner->cx, exprs[i], plan->project.expr, &exprs[i]));
    *below = plan;
    *out = exprs;
    return ALM_OK;
}

static alm_status join_carried(alm_scope *scope, uint8_t kind, int32_t pos, alm_plan *inner,
                               const alm_exprs *outer, uint32_t n_before, alm_plan **out)
{
    alm_planner *planner = scope->p;
    alm_plan *join = NULL;
    ALM_TRY(alm_plan_join(planner, kind, pos, scope->plan, inner, &join));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, outer->n + 1, &join->join.left_keys));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, outer->n + 1, &join->join.right_keys));
    join->join.n_keys = outer->n;
    for (uint32_t i = 0; i < outer->n; i++) {
        bool ok = false;
        alm_expr **a = &join->join.left_keys[i], **b = &join->join.right_keys[i];
        *a = outer->at[i];
        ALM_TRY(alm_dep_col_of(planner, inner, n_before + i, b));
        ALM_TRY(alm_join_key_types(planner, a, b, &ok));
        if (!ok)
            return alm_fail(planner->cx, ALM_E_TYPE, pos, "join column type mismatch");
    }
    *out = join;
    return ALM_OK;
}

alm_status alm_note_dependent(alm_scope *scope, uint32_t first, const alm_plan *join,
                              const alm_exprs *outer)
{
    ALM_TRY(alm_grow(scope->p->cx, &scope->dependents, scope->n_dependents, &scope->cap_dependents,
                     sizeof *scope->dependents));
    scope->dependents[scope->n_dependents++] = (alm_dependent){first, join->n_cols, *outer};
    return ALM_OK;
}

/* Where there is no inner row, the expressions are those over empty aggregates. */
static alm_status scalar_values(alm_scope *scope, int32_t pos, alm_plan *inner, alm_expr **values,
                                uint32_t n_values)
{
    alm_planner *planner = scope->p;
    const alm_dep_ctx dep = {planner, scope->plan};
    const alm_agg_call *aggs = inner->group.aggs;
    const uint32_t n_aggs = inner->n_cols, n_left = scope->plan->n_cols;
    alm_exprs outer = {0};
    alm_expr **empty = NULL, **full = NULL, *mark = NULL;
    alm_plan *join = NULL;
    if (alm_plan_is_dependent(inner))
        ALM_TRY(alm_dep_push_group_keys(&dep, &inner, &outer));
    ALM_TRY(alm_dep_add_mark(planner, &inner));
    ALM_TRY(join_carried(scope, ALM_JOIN_LEFT, pos, inner, &outer, n_aggs, &join));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_aggs + 1, &empty));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_aggs + 1, &full));
    for (uint32_t i = 0; i < n_aggs; i++) {
        ALM_TRY(alm_dep_empty_value(planner, &aggs[i], &empty[i]));
        ALM_TRY(alm_dep_col_of(planner, join, n_left + i, &full[i]));
    }
    ALM_TRY(alm_dep_col_of(planner, join, join->n_cols - 1, &mark));
    for (uint32_t i = 0; i < n_values; i++) {
        /* outer columns in the list are columns of the join's left side; nothing else is free */
        alm_expr *expr = NULL, *f = NULL;
        ALM_TRY(alm_expr_substitute(planner->cx, values[i], empty, &expr));
        ALM_TRY(alm_expr_substitute(planner->cx, values[i], full, &f));
        ALM_TRY(alm_dep_strip(planner->cx, expr, &expr));
        ALM_TRY(alm_dep_strip(planner->cx, f, &f));
        const bool same = f->kind == ALM_X_COL && alm_expr_is_null(expr);
        values[i] = f;
        if (!same)
            ALM_TRY(alm_dep_unless_null(planner, mark, expr, f, &values[i]));
    }
    ALM_TRY(alm_note_dependent(scope, n_left, join, &outer));
    scope->plan = join;
    return ALM_OK;
}

alm_status alm_join_dependent(alm_scope *scope, uint8_t kind, int32_t pos, alm_plan *inner,
                              alm_expr ***values)
{
    alm_planner *planner = scope->p;
    const uint32_t n_cols = inner->n_cols, n_left = scope->plan->n_cols;
    if (is_scalar_group(inner)) {
        alm_plan *group = NULL;
        ALM_TRY(correlate_compose(planner, inner, &group, values));
        return scalar_values(scope, pos, group, *values, n_cols);
    }
    alm_exprs outer = {0};
    alm_plan *join = NULL;
    ALM_TRY(alm_decorrelate(scope, &inner, &outer));
    ALM_TRY(join_carried(scope, kind, pos, inner, &outer, n_cols, &join));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols + 1, values));
    for (uint32_t i = 0; i < n_cols; i++)
        ALM_TRY(alm_dep_col_of(planner, join, n_left + i, &(*values)[i]));
    ALM_TRY(alm_note_dependent(scope, n_left, join, &outer));
    scope->plan = join;
    return ALM_OK;
}

alm_status alm_join_single(alm_scope *scope, int32_t pos, alm_plan *inner, alm_expr ***values)
{
    alm_planner *planner = scope->p;
    const uint32_t n_cols = inner->n_cols, n_left = scope->plan->n_cols;
    alm_exprs outer = {0}, tests = {0};
    alm_expr *args[2] = {NULL, NULL}, *test = NULL;
    alm_plan *join = NULL;
    ALM_TRY(alm_decorrelate(scope, &inner, &outer));
    /* two rows for each outer row are enough to know; the second one fails above the join */
    const uint32_t number = inner->n_cols;
    ALM_TRY(alm_dep_number_rows(planner, &inner, n_cols, outer.n));
    ALM_TRY(alm_dep_col_of(planner, inner, number, &args[0]));
    ALM_TRY(alm_expr_bits(planner->cx, args[0]->type, 2, pos, &args[1]));
    ALM_TRY(alm_expr_call(planner, "<=", pos, args, 2, &test));
    ALM_TRY(alm_exprs_add(planner->cx, &tests, test));
    ALM_TRY(alm_plan_filter(planner, &inner, &tests));
    ALM_TRY(join_carried(scope, ALM_JOIN_LEFT, pos, inner, &outer, n_cols, &join));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols + 1, values));
    for (uint32_t i = 0; i < n_cols; i++)
        ALM_TRY(alm_dep_col_of(planner, join, n_left + i, &(*values)[i]));
    ALM_TRY(alm_note_dependent(scope, n_left, join, &outer));
    scope->plan = join;
    return alm_dep_refuse_second(planner, &scope->plan, n_left + number, pos);
}

alm_status alm_decorrelate_in(alm_scope *scope, alm_plan **plan, alm_semi *semi, alm_expr ***exprs,
                              bool *done)
{
    alm_plan *below = NULL;
    const uint32_t n = (*plan)->n_cols;
    *done = false;
    ALM_TRY(correlate_compose(scope->p, *plan, &below, exprs));
    if (below->op != ALM_P_FILTER)
        return ALM_OK;
    for (uint32_t i = 0; i < n; i++)
        if (alm_expr_has_mark((*exprs)[i], ALM_COL_DEP) || alm_expr_volatile((*exprs)[i]))
            return ALM_OK;
    *done = true;
    *plan = below;
    return alm_decorrelate_semi(scope, plan, semi);
}
