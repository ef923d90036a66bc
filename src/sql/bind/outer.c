/*
 * outer.c - columns of the query around a subquery, as they stand in its plan before it is made
 * independent (correlate.c).
 */
#include "sql/bind/bind.h"
#include "sql/node/walk.h"

/* ------------------------------------------------------------------ expressions of a tree */

typedef struct opening {
    alm_ctx *cx;
    bool found;
} opening;

static alm_status open_col(void *arg, alm_expr *expr, alm_expr **out)
{
    opening *self = arg;
    if (expr->kind != ALM_X_COL || (expr->col & ALM_COL_OUTER) == 0)
        return ALM_OK;
    const uint32_t level = (expr->col >> ALM_OUTER_SHIFT) & ALM_OUTER_LEVELS;
    const uint32_t number = expr->col & ALM_OUTER_NUMBER;
    self->found |= level == 1;
    const uint32_t col =
        level == 1 ? ALM_COL_DEP | number : ALM_COL_OUTER | (level - 1) << ALM_OUTER_SHIFT | number;
    return alm_expr_col(self->cx, col, expr->type, expr->pos, out);
}

static alm_status open_expr(void *arg, alm_expr **expr)
{
    return alm_expr_map(((opening *)arg)->cx, *expr, open_col, arg, expr);
}

alm_status alm_correlate_open(alm_planner *planner, alm_plan *plan, bool *found)
{
    opening self = {.cx = planner->cx};
    ALM_TRY(alm_plan_each_expr(plan, open_expr, &self));
    *found = self.found;
    return ALM_OK;
}

alm_status alm_bind_dependent(alm_scope *scope, const alm_select *sel, alm_plan **out,
                              bool *correlated)
{
    const alm_names names = {.outer = scope->names, .scope = scope};
    const uint32_t before = scope->p->outer_refs;
    *correlated = false;
    ALM_TRY(alm_bind_query(scope->p, &names, sel, out));
    return scope->p->outer_refs == before ? ALM_OK : alm_correlate_open(scope->p, *out, correlated);
}
