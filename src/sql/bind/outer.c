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

static alm_status open_col(void *arg, alm_expr *e, alm_expr **out)
{
    opening *o = arg;
    if (e->kind != ALM_X_COL || (e->col & ALM_COL_OUTER) == 0)
        return ALM_OK;
    const uint32_t level = (e->col >> ALM_OUTER_SHIFT) & ALM_OUTER_LEVELS;
    const uint32_t number = e->col & ALM_OUTER_NUMBER;
    o->found |= level == 1;
    const uint32_t col =
        level == 1 ? ALM_COL_DEP | number : ALM_COL_OUTER | (level - 1) << ALM_OUTER_SHIFT | number;
    return alm_expr_col(o->cx, col, e->type, e->pos, out);
}

static alm_status open_expr(void *arg, alm_expr **e)
{
    return alm_expr_map(((opening *)arg)->cx, *e, open_col, arg, e);
}

alm_status alm_correlate_open(alm_planner *p, alm_plan *plan, bool *found)
{
    opening o = {.cx = p->cx};
    ALM_TRY(alm_plan_each_expr(plan, open_expr, &o));
    *found = o.found;
    return ALM_OK;
}

alm_status alm_bind_dependent(alm_scope *sc, const alm_select *sel, alm_plan **out,
                              bool *correlated)
{
    const alm_names names = {.outer = sc->names, .scope = sc};
    const uint32_t before = sc->p->outer_refs;
    *correlated = false;
    ALM_TRY(alm_bind_query(sc->p, &names, sel, out));
    return sc->p->outer_refs == before ? ALM_OK : alm_correlate_open(sc->p, *out, correlated);
}
