/*
 * late.c - what is computed behind the groups of a SELECT, in the order it needs: window calls, which
 * may read others by their name in the list, and x IN (SELECT ...) over aggregates and windows.
 *
 * Levels      0: queries over aggregates, so that HAVING may use them. A window call is one above the
 *             highest it reads, and at least 1. Queries over windows are of the windows' level, behind them.
 *             Nodes are stacked level by level; they only add columns, so that values stay where they are.
 */
#include "sql/bind/bind.h"
#include "sql/node/walk.h"

typedef struct level_seek {
    const alm_scope *sc;
    uint32_t level;
} level_seek;

static bool see_level(void *arg, const alm_expr *col)
{
    level_seek *s = arg;
    if ((col->col & ALM_COL_WIN) != 0)
        s->level = ALM_MAX(s->level, s->sc->lates[col->col & ALM_COL_NUMBER].level);
    return true;
}

static alm_status seek_level(void *arg, alm_expr **e)
{
    (void)alm_expr_each_col(*e, see_level, arg);
    return ALM_OK;
}

bool alm_has_window(const alm_scope *sc, const alm_expr *e)
{
    level_seek s = {.sc = sc};
    (void)alm_expr_each_col(e, see_level, &s);
    return s.level > 0;
}

alm_status alm_late_exprs(alm_late *late, alm_expr_visit f, void *arg)
{
    alm_window_call *call = &late->call;
    for (uint32_t i = 0; i < call->n_args; i++)
        ALM_TRY(f(arg, &call->args[i]));
    for (uint32_t i = 0; i < call->n_partition; i++)
        ALM_TRY(f(arg, &call->partition[i]));
    for (uint32_t i = 0; i < call->n_order; i++)
        ALM_TRY(f(arg, &call->order[i].expr));
    return call->filter != NULL ? f(arg, &call->filter) : ALM_OK;
}

alm_status alm_late_add(alm_scope *sc, const alm_late *late, alm_expr **out)
{
    alm_ctx *cx = sc->p->cx;
    level_seek s = {.sc = sc};
    ALM_TRY(alm_grow(cx, &sc->lates, sc->n_lates, &sc->cap_lates, sizeof *sc->lates));
    alm_late *own = &sc->lates[sc->n_lates];
    *own = *late;
    ALM_TRY(alm_late_exprs(own, seek_level, &s));
    own->level = own->query != NULL ? s.level : s.level + 1;
    return alm_expr_col(cx, ALM_COL_WIN | sc->n_lates++, late->call.type, late->call.pos, out);
}

/* ------------------------------------------------------------------------ nodes */

typedef struct replacing {
    alm_ctx *cx;
    alm_expr *const *values;
} replacing;

static alm_status replace(void *arg, alm_expr *e, alm_expr **out)
{
    const replacing *r = arg;
    if (e->kind == ALM_X_COL && (e->col & ALM_COL_WIN) != 0)
        *out = r->values[e->col & ALM_COL_NUMBER];
    return ALM_OK;
}

static alm_status replace_all(void *arg, alm_expr **e)
{
    return alm_expr_map(((const replacing *)arg)->cx, *e, replace, arg, e);
}

alm_status alm_late_replace(alm_scope *sc, alm_expr *const *values, alm_expr **e)
{
    replacing r = {sc->p->cx, values};
    return *e == NULL || sc->n_lates == 0 ? ALM_OK : replace_all(&r, e);
}

/* One WINDOW with the window calls of a level. */
static alm_status window_node(alm_scope *sc, uint32_t level, alm_expr **values)
{
    alm_planner *p = sc->p;
    const uint32_t n_child = sc->plan->n_cols;
    alm_window_call *calls = NULL;
    uint32_t n = 0;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, sc->n_lates + 1, &calls));
    for (uint32_t i = 0; i < sc->n_lates; i++) {
        const alm_late *late = &sc->lates[i];
        if (late->query != NULL || late->level != level)
            continue;
        ALM_TRY(alm_expr_col(p->cx, n_child + n, late->call.type, late->call.pos, &values[i]));
        calls[n++] = late->call;
    }
    return n == 0 ? ALM_OK : alm_plan_window(p, &sc->plan, calls, n);
}

static alm_status query_nodes(alm_scope *sc, uint32_t level, alm_expr **values)
{
    replacing r = {sc->p->cx, values};
    for (uint32_t i = 0; i < sc->n_lates; i++) {
        alm_late *late = &sc->lates[i];
        if (late->query == NULL || late->level != level)
            continue;
        ALM_TRY(alm_late_exprs(late, replace_all, &r));
        ALM_TRY(alm_join_in(sc, late, &values[i]));
    }
    return ALM_OK;
}

alm_status alm_late_nodes(alm_scope *sc, bool first, alm_expr **values)
{
    replacing r = {sc->p->cx, values};
    uint32_t top = 0;
    if (first)
        return query_nodes(sc, 0, values);
    for (uint32_t i = 0; i < sc->n_lates; i++)
        top = ALM_MAX(top, sc->lates[i].level);
    for (uint32_t level = 1; level <= top; level++) {
        for (uint32_t i = 0; i < sc->n_lates; i++)
            if (sc->lates[i].query == NULL && sc->lates[i].level == level)
                ALM_TRY(alm_late_exprs(&sc->lates[i], replace_all, &r));
        ALM_TRY(window_node(sc, level, values));
        ALM_TRY(query_nodes(sc, level, values));
    }
    return ALM_OK;
}
