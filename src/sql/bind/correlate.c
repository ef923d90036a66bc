/*
 * correlate.c - queries over columns of the query around them (EXISTS, IN, scalars, LATERAL): made independent of it by
 * node/decorrelate.h, and joined to the plan of the scope.
 */
#include "sql/bind/bind.h"
#include "sql/node/decorrelate.h"

alm_status alm_decorrelate(alm_scope *sc, alm_plan **plan, alm_exprs *outer)
{
    const alm_dep_ctx d = {sc->p, sc->plan};
    return alm_dep_push(&d, plan, outer);
}

/* --------------------------------------------------------------------------------- EXISTS */

/* Columns of a filter condition as the residual of a join sees them. */
static alm_status semi_col(void *arg, alm_expr *e, alm_expr **out)
{
    const alm_dep_landing *l = arg; /* first: number of left columns */
    if (e->kind != ALM_X_COL || (e->col & ALM_COL_OUTER) != 0)
        return ALM_OK;
    const uint32_t col =
        (e->col & ALM_COL_DEP) != 0 ? e->col & ALM_OUTER_NUMBER : e->col + l->first;
    return alm_expr_col(l->p->cx, col, e->type, e->pos, out);
}

/* Whether there is a row does not depend on these. */
static bool does_not_matter(const alm_plan *plan)
{
    return plan->op == ALM_P_PROJECT || plan->op == ALM_P_SORT ||
           (plan->op == ALM_P_GROUP && plan->group.n_keys > 0) ||
           (plan->op == ALM_P_LIMIT && plan->limit.lo == 0 && plan->limit.hi > 0);
}

alm_status alm_decorrelate_semi(alm_scope *sc, alm_plan **plan, alm_semi *semi)
{
    alm_planner *p = sc->p;
    const alm_dep_ctx d = {p, sc->plan};
    alm_exprs carried = {0};
    while (does_not_matter(*plan))
        *plan = (*plan)->child[0];
    alm_plan *child = *plan;
    alm_dep_parts s = {0};
    while (child->op == ALM_P_FILTER) {
        ALM_TRY(alm_dep_split(p, child, &s));
        child = child->child[0];
    }
    const uint32_t n0 = child->n_cols;
    ALM_TRY(alm_dep_push(&d, &child, &carried));
    ALM_TRY(alm_plan_filter(p, &child, &s.plain));
    for (uint32_t i = 0; i < carried.n; i++) {
        alm_expr *key = NULL;
        ALM_TRY(alm_dep_col_of(p, child, n0 + i, &key));
        ALM_TRY(alm_exprs_add(p->cx, &s.outer, carried.at[i]));
        ALM_TRY(alm_exprs_add(p->cx, &s.inner, key));
    }
    for (uint32_t i = 0; i < s.outer.n; i++) {
        bool ok = false;
        ALM_TRY(alm_join_key_types(p, &s.outer.at[i], &s.inner.at[i], &ok));
        if (!ok)
            return alm_fail(p->cx, ALM_E_TYPE, s.inner.at[i]->pos, "join column type mismatch");
    }
    for (uint32_t i = 0; i < s.mixed.n; i++) {
        alm_dep_landing l = {.p = p, .first = sc->plan->n_cols};
        ALM_TRY(alm_expr_map(p->cx, s.mixed.at[i], semi_col, &l, &s.mixed.at[i]));
    }
    *semi = (alm_semi){s.outer, s.inner, s.mixed};
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
static alm_status compose(alm_planner *p, alm_plan *plan, alm_plan **below, alm_expr ***out)
{
    alm_expr **exprs = NULL;
    const uint32_t n = plan->n_cols;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &exprs));
    for (uint32_t i = 0; i < n; i++)
        ALM_TRY(alm_dep_col_of(p, plan, i, &exprs[i]));
    for (; plan->op == ALM_P_PROJECT; plan = plan->child[0])
        for (uint32_t i = 0; i < n; i++)
            ALM_TRY(alm_expr_substitute(p->cx, exprs[i], plan->project.expr, &exprs[i]));
    *below = plan;
    *out = exprs;
    return ALM_OK;
}

static alm_status join_carried(alm_scope *sc, uint8_t kind, int32_t pos, alm_plan *inner,
                               const alm_exprs *outer, uint32_t n0, alm_plan **out)
{
    alm_planner *p = sc->p;
    alm_plan *join = NULL;
    ALM_TRY(alm_plan_join(p, kind, pos, sc->plan, inner, &join));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, outer->n + 1, &join->join.left_keys));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, outer->n + 1, &join->join.right_keys));
    join->join.n_keys = outer->n;
    for (uint32_t i = 0; i < outer->n; i++) {
        bool ok = false;
        alm_expr **a = &join->join.left_keys[i], **b = &join->join.right_keys[i];
        *a = outer->at[i];
        ALM_TRY(alm_dep_col_of(p, inner, n0 + i, b));
        ALM_TRY(alm_join_key_types(p, a, b, &ok));
        if (!ok)
            return alm_fail(p->cx, ALM_E_TYPE, pos, "join column type mismatch");
    }
    *out = join;
    return ALM_OK;
}

alm_status alm_note_dependent(alm_scope *sc, uint32_t first, const alm_plan *join,
                              const alm_exprs *outer)
{
    ALM_TRY(alm_grow(sc->p->cx, &sc->dependents, sc->n_dependents, &sc->cap_dependents,
                     sizeof *sc->dependents));
    sc->dependents[sc->n_dependents++] = (alm_dependent){first, join->n_cols, *outer};
    return ALM_OK;
}

/* Where there is no inner row, the expressions are those over empty aggregates. */
static alm_status scalar_values(alm_scope *sc, int32_t pos, alm_plan *inner, alm_expr **values,
                                uint32_t n)
{
    alm_planner *p = sc->p;
    const alm_dep_ctx d = {p, sc->plan};
    const alm_agg_call *aggs = inner->group.aggs;
    const uint32_t n_aggs = inner->n_cols, n_left = sc->plan->n_cols;
    alm_exprs outer = {0};
    alm_expr **empty = NULL, **full = NULL, *mark = NULL;
    alm_plan *join = NULL;
    if (alm_plan_is_dependent(inner))
        ALM_TRY(alm_dep_push_group_keys(&d, &inner, &outer));
    ALM_TRY(alm_dep_add_mark(p, &inner));
    ALM_TRY(join_carried(sc, ALM_JOIN_LEFT, pos, inner, &outer, n_aggs, &join));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n_aggs + 1, &empty));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n_aggs + 1, &full));
    for (uint32_t i = 0; i < n_aggs; i++) {
        ALM_TRY(alm_dep_empty_value(p, &aggs[i], &empty[i]));
        ALM_TRY(alm_dep_col_of(p, join, n_left + i, &full[i]));
    }
    ALM_TRY(alm_dep_col_of(p, join, join->n_cols - 1, &mark));
    for (uint32_t i = 0; i < n; i++) {
        /* outer columns in the list are columns of the join's left side; nothing else is free */
        alm_expr *e = NULL, *f = NULL;
        ALM_TRY(alm_expr_substitute(p->cx, values[i], empty, &e));
        ALM_TRY(alm_expr_substitute(p->cx, values[i], full, &f));
        ALM_TRY(alm_dep_strip(p->cx, e, &e));
        ALM_TRY(alm_dep_strip(p->cx, f, &f));
        const bool same = f->kind == ALM_X_COL && alm_expr_is_null(e);
        values[i] = f;
        if (!same)
            ALM_TRY(alm_dep_unless_null(p, mark, e, f, &values[i]));
    }
    ALM_TRY(alm_note_dependent(sc, n_left, join, &outer));
    sc->plan = join;
    return ALM_OK;
}

alm_status alm_join_dependent(alm_scope *sc, uint8_t kind, int32_t pos, alm_plan *inner,
                              alm_expr ***values)
{
    alm_planner *p = sc->p;
    const uint32_t n = inner->n_cols, n_left = sc->plan->n_cols;
    if (is_scalar_group(inner)) {
        alm_plan *group = NULL;
        ALM_TRY(compose(p, inner, &group, values));
        return scalar_values(sc, pos, group, *values, n);
    }
    alm_exprs outer = {0};
    alm_plan *join = NULL;
    ALM_TRY(alm_decorrelate(sc, &inner, &outer));
    ALM_TRY(join_carried(sc, kind, pos, inner, &outer, n, &join));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, values));
    for (uint32_t i = 0; i < n; i++)
        ALM_TRY(alm_dep_col_of(p, join, n_left + i, &(*values)[i]));
    ALM_TRY(alm_note_dependent(sc, n_left, join, &outer));
    sc->plan = join;
    return ALM_OK;
}

alm_status alm_join_single(alm_scope *sc, int32_t pos, alm_plan *inner, alm_expr ***values)
{
    alm_planner *p = sc->p;
    const uint32_t n = inner->n_cols, n_left = sc->plan->n_cols;
    alm_exprs outer = {0}, tests = {0};
    alm_expr *args[2] = {NULL, NULL}, *test = NULL;
    alm_plan *join = NULL;
    ALM_TRY(alm_decorrelate(sc, &inner, &outer));
    /* two rows for each outer row are enough to know; the second one fails above the join */
    const uint32_t number = inner->n_cols;
    ALM_TRY(alm_dep_number_rows(p, &inner, n, outer.n));
    ALM_TRY(alm_dep_col_of(p, inner, number, &args[0]));
    ALM_TRY(alm_expr_bits(p->cx, args[0]->type, 2, pos, &args[1]));
    ALM_TRY(alm_expr_call(p, "<=", pos, args, 2, &test));
    ALM_TRY(alm_exprs_add(p->cx, &tests, test));
    ALM_TRY(alm_plan_filter(p, &inner, &tests));
    ALM_TRY(join_carried(sc, ALM_JOIN_LEFT, pos, inner, &outer, n, &join));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, values));
    for (uint32_t i = 0; i < n; i++)
        ALM_TRY(alm_dep_col_of(p, join, n_left + i, &(*values)[i]));
    ALM_TRY(alm_note_dependent(sc, n_left, join, &outer));
    sc->plan = join;
    return alm_dep_refuse_second(p, &sc->plan, n_left + number, pos);
}

alm_status alm_decorrelate_in(alm_scope *sc, alm_plan **plan, alm_semi *semi, alm_expr ***exprs,
                              bool *done)
{
    alm_plan *below = NULL;
    const uint32_t n = (*plan)->n_cols;
    *done = false;
    ALM_TRY(compose(sc->p, *plan, &below, exprs));
    if (below->op != ALM_P_FILTER)
        return ALM_OK;
    for (uint32_t i = 0; i < n; i++)
        if (alm_expr_has_mark((*exprs)[i], ALM_COL_DEP) || alm_expr_volatile((*exprs)[i]))
            return ALM_OK;
    *done = true;
    *plan = below;
    return alm_decorrelate_semi(sc, plan, semi);
}
