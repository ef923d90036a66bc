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
    level_seek *seek = arg;
    if ((col->col & ALM_COL_WIN) != 0)
        seek->level = ALM_MAX(seek->level, seek->sc->lates[col->col & ALM_COL_NUMBER].level);
    return true;
}

static alm_status seek_level(void *arg, alm_expr **expr)
{
    (void)alm_expr_each_col(*expr, see_level, arg);
    return ALM_OK;
}

bool alm_has_window(const alm_scope *scope, const alm_expr *expr)
{
    level_seek seek = {.sc = scope};
    (void)alm_expr_each_col(expr, see_level, &seek);
    return seek.level > 0;
}

alm_status alm_late_exprs(alm_late *late, alm_expr_visit visit, void *arg)
{
    alm_window_call *call = &late->call;
    for (uint32_t i = 0; i < call->n_args; i++)
        ALM_TRY(visit(arg, &call->args[i]));
    for (uint32_t i = 0; i < call->n_partition; i++)
        ALM_TRY(visit(arg, &call->partition[i]));
    for (uint32_t i = 0; i < call->n_order; i++)
        ALM_TRY(visit(arg, &call->order[i].expr));
    return call->filter != NULL ? visit(arg, &call->filter) : ALM_OK;
}

alm_status alm_late_add(alm_scope *scope, const alm_late *late, alm_expr **out)
{
    alm_ctx *cx = scope->p->cx;
    level_seek seek = {.sc = scope};
    ALM_TRY(alm_grow(cx, &scope->lates, scope->n_lates, &scope->cap_lates, sizeof *scope->lates));
    alm_late *own = &scope->lates[scope->n_lates];
    *own = *late;
    ALM_TRY(alm_late_exprs(own, seek_level, &seek));
    own->level = own->query != NULL ? seek.level : seek.level + 1;
    return alm_expr_col(cx, ALM_COL_WIN | scope->n_lates++, late->call.type, late->call.pos, out);
}

/* ------------------------------------------------------------------------ nodes */

typedef struct replacing {
    alm_ctx *cx;
    alm_expr *const *values;
} replacing;

static alm_status late_replace(void *arg, alm_expr *expr, alm_expr **out)
{
    const replacing *self = arg;
    if (expr->kind == ALM_X_COL && (expr->col & ALM_COL_WIN) != 0)
        *out = self->values[expr->col & ALM_COL_NUMBER];
    return ALM_OK;
}

static alm_status late_replace_all(void *arg, alm_expr **expr)
{
    return alm_expr_map(((const replacing *)arg)->cx, *expr, late_replace, arg, expr);
}

alm_status alm_late_replace(alm_scope *scope, alm_expr *const *values, alm_expr **expr)
{
    replacing self = {scope->p->cx, values};
    return *expr == NULL || scope->n_lates == 0 ? ALM_OK : late_replace_all(&self, expr);
}

/* One WINDOW with the window calls of a level. */
static alm_status window_node(alm_scope *scope, uint32_t level, alm_expr **values)
{
    alm_planner *planner = scope->p;
    const uint32_t n_child = scope->plan->n_cols;
    alm_window_call *calls = NULL;
    uint32_t count = 0;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, scope->n_lates + 1, &calls));
    for (uint32_t i = 0; i < scope->n_lates; i++) {
        const alm_late *late = &scope->lates[i];
        if (late->query != NULL || late->level != level)
            continue;
        ALM_TRY(alm_expr_col(planner->cx, n_child + count, late->call.type, late->call.pos,
                             &values[i]));
        calls[count++] = late->call;
    }
    return count == 0 ? ALM_OK : alm_plan_window(planner, &scope->plan, calls, count);
}

static alm_status query_nodes(alm_scope *scope, uint32_t level, alm_expr **values)
{
    replacing self = {scope->p->cx, values};
    for (uint32_t i = 0; i < scope->n_lates; i++) {
        alm_late *late = &scope->lates[i];
        if (late->query == NULL || late->level != level)
            continue;
        ALM_TRY(alm_late_exprs(late, late_replace_all, &self));
        ALM_TRY(alm_join_in(scope, late, &values[i]));
    }
    return ALM_OK;
}

alm_status alm_late_nodes(alm_scope *scope, bool first, alm_expr **values)
{
    replacing self = {scope->p->cx, values};
    uint32_t top = 0;
    if (first)
        return query_nodes(scope, 0, values);
    for (uint32_t i = 0; i < scope->n_lates; i++)
        top = ALM_MAX(top, scope->lates[i].level);
    for (uint32_t level = 1; level <= top; level++) {
        for (uint32_t i = 0; i < scope->n_lates; i++)
            if (scope->lates[i].query == NULL && scope->lates[i].level == level)
                ALM_TRY(alm_late_exprs(&scope->lates[i], late_replace_all, &self));
        ALM_TRY(window_node(scope, level, values));
        ALM_TRY(query_nodes(scope, level, values));
    }
    return ALM_OK;
}
