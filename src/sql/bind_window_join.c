/*
 * bind_window_join.c - t WINDOW JOIN q ON ... RANGE BETWEEN ... : aggregates over the rows of q around
 * each row of t. FROM keeps the right side aside; when the select list is bound, the aggregates found
 * in it go to the WINDOW_JOIN node, one column each behind the left columns.
 */
#include "sql/bind.h"

typedef struct marks {
    alm_scope *sc;
    uint32_t n_left;
} marks;

static alm_status column_fail(const marks *m, const alm_expr *e)
{
    const alm_rel *rel = &m->sc->rels[m->sc->n_rels - 1];
    return alm_fail(m->sc->p->cx, ALM_E_SYNTAX, e->pos,
                    "WINDOW join cannot reference right table non-aggregate column: %.*s%s%s",
                    (int)rel->alias.len, rel->alias.ptr == NULL ? "" : rel->alias.ptr,
                    rel->alias.len > 0 ? "." : "", rel->cols[e->col - rel->first].name);
}

static alm_status replace(void *arg, alm_expr *e, alm_expr **out)
{
    const marks *m = arg;
    if (e->kind != ALM_X_COL)
        return ALM_OK;
    if ((e->col & ALM_COL_AGG) != 0)
        return alm_expr_col(m->sc->p->cx, m->n_left + (e->col & ALM_COL_NUMBER), e->type, e->pos,
                            out);
    if ((e->col & (ALM_COL_WIN | ALM_COL_OUTER)) == 0 && e->col >= m->n_left)
        return column_fail(m, e);
    *out = e;
    return ALM_OK;
}

static alm_status replace_all(marks *m, alm_stage *st)
{
    alm_ctx *cx = m->sc->p->cx;
    for (uint32_t i = 0; i < st->n_items; i++)
        ALM_TRY(alm_expr_map(cx, st->items[i].expr, replace, m, &st->items[i].expr));
    for (uint32_t i = 0; i < st->n_order; i++)
        if (st->order[i].expr != NULL)
            ALM_TRY(alm_expr_map(cx, st->order[i].expr, replace, m, &st->order[i].expr));
    for (uint32_t i = 0; i < st->n_on; i++)
        ALM_TRY(alm_expr_map(cx, st->on[i], replace, m, &st->on[i]));
    if (st->having != NULL)
        ALM_TRY(alm_expr_map(cx, st->having, replace, m, &st->having));
    if (st->qualify != NULL)
        ALM_TRY(alm_expr_map(cx, st->qualify, replace, m, &st->qualify));
    return ALM_OK;
}

static alm_status bound(alm_scope *sc, char kind, const alm_ast *ast, char unit, alm_type ts,
                        int64_t *out)
{
    *out = 0;
    if (kind == 'U') {
        *out = INT64_MIN;
        return ALM_OK;
    }
    if (kind == 'V') {
        *out = INT64_MAX;
        return ALM_OK;
    }
    if (kind == 'c')
        return ALM_OK;
    ALM_TRY(alm_frame_offset(sc, ast, unit, ts, out));
    if (kind == 'p')
        *out = -*out;
    return ALM_OK;
}

static alm_status check(alm_scope *sc)
{
    const alm_select *sel = sc->sel;
    const int32_t pos = sc->window_join->from->join_pos;
    alm_ctx *cx = sc->p->cx;
    if (sel->has_group || sel->sample != NULL || sel->n_latest_by > 0)
        return alm_fail(cx, ALM_E_UNSUPPORTED, pos,
                        "GROUP BY, SAMPLE BY and LATEST ON cannot stand beside a WINDOW JOIN: put "
                        "it into a subquery");
    if (sc->n_windows > 0)
        return alm_fail(cx, ALM_E_UNSUPPORTED, sc->windows[0].pos,
                        "window functions cannot stand beside a WINDOW JOIN: put it into a "
                        "subquery");
    for (uint32_t a = 0; a < sc->n_aggs; a++)
        if (sc->aggs[a].distinct)
            return alm_fail(cx, ALM_E_UNSUPPORTED, sc->aggs[a].pos,
                            "DISTINCT is not supported in a WINDOW JOIN");
    return ALM_OK;
}

alm_status alm_bind_window_join(alm_scope *sc, alm_stage *st)
{
    alm_planner *p = sc->p;
    const alm_window_join *wj = sc->window_join;
    const alm_window_def *def = wj->from->window;
    alm_plan *left = sc->plan, *node = NULL;
    const uint32_t n_left = left->n_cols;
    const alm_type ts = left->cols[left->ts_col].type;
    marks m = {sc, n_left};
    ALM_TRY(check(sc));
    ALM_TRY(replace_all(&m, st));
    ALM_TRY(alm_plan_new2(p, ALM_P_WINDOW_JOIN, wj->from->join_pos, left, wj->right, &node));
    node->n_cols = n_left + sc->n_aggs;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, node->n_cols + 1, &node->cols));
    memcpy(node->cols, left->cols, n_left * sizeof *node->cols);
    for (uint32_t a = 0; a < sc->n_aggs; a++)
        node->cols[n_left + a] = (alm_plan_col){sc->aggs[a].fn->name, sc->aggs[a].type};
    node->ts_col = left->ts_col;
    node->order = left->order;
    node->winjoin.left_keys = wj->left_keys.at;
    node->winjoin.right_keys = wj->right_keys.at;
    node->winjoin.n_keys = wj->left_keys.n;
    node->winjoin.left_ts = (uint32_t)left->ts_col;
    node->winjoin.right_ts = (uint32_t)wj->right->ts_col;
    ALM_TRY(bound(sc, (char)def->lo_kind, def->lo, def->lo_unit, ts, &node->winjoin.lo));
    ALM_TRY(bound(sc, (char)(def->hi_kind != 0 ? def->hi_kind : 'c'), def->hi, def->hi_unit, ts,
                  &node->winjoin.hi));
    node->winjoin.prevailing = wj->from->prevailing != 'e';
    node->winjoin.aggs = sc->aggs;
    node->winjoin.n_aggs = sc->n_aggs;
    sc->plan = node;
    return ALM_OK;
}
