/*
 * window_join.c - t WINDOW JOIN q ON ... RANGE BETWEEN ... : aggregates over the rows of q around
 * each row of t. FROM keeps the right sides aside; when the select list is bound, the aggregates found
 * in it go to the WINDOW_JOIN node of the side they speak of, one column each behind the left columns.
 * Bounds that follow from the left row are columns of it.
 */
#include "sql/bind/bind.h"

typedef struct marks {
    alm_scope *sc;
    uint32_t n_left;    /* columns of the left side, the same in all nodes */
    uint32_t *agg_col;  /* where aggregate i stands in the end */
    uint32_t first, by; /* arguments of a node: columns from `first` on move by `by` (wraps) */
} marks;

static alm_status column_fail(const marks *m, const alm_expr *e)
{
    const alm_rel *rel = &m->sc->rels[m->sc->n_rels - 1];
    while (rel->first > e->col)
        rel--;
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
        return alm_expr_col(m->sc->p->cx, m->agg_col[e->col & ALM_COL_NUMBER], e->type, e->pos,
                            out);
    if ((e->col & (ALM_COL_WIN | ALM_COL_OUTER)) == 0 && e->col >= m->n_left)
        return column_fail(m, e);
    *out = e;
    return ALM_OK;
}

static alm_status replace_list(marks *m, alm_expr **list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (list[i] != NULL)
            ALM_TRY(alm_expr_map(m->sc->p->cx, list[i], replace, m, &list[i]));
    return ALM_OK;
}

static alm_status replace_one(void *m, alm_expr **e)
{
    return replace_list(m, e, 1);
}

static alm_status replace_all(marks *m, alm_stage *st)
{
    alm_scope *sc = m->sc;
    for (uint32_t i = 0; i < st->n_items; i++)
        ALM_TRY(replace_list(m, &st->items[i].expr, 1));
    for (uint32_t i = 0; i < st->n_order; i++)
        ALM_TRY(replace_list(m, &st->order[i].expr, 1));
    ALM_TRY(replace_list(m, st->on, st->n_on));
    for (uint32_t i = 0; i < sc->n_lates; i++) /* they see the rows of the join */
        ALM_TRY(alm_late_exprs(&sc->lates[i], replace_one, m));
    ALM_TRY(replace_list(m, &st->having, 1));
    return replace_list(m, &st->qualify, 1);
}

/* ---------------------------------------------------------------------------------- bounds */

static alm_status bound(alm_scope *sc, uint8_t kind, const alm_ast *ast, char unit, alm_type ts,
                        int64_t *out)
{
    *out = 0;
    if (kind == ALM_BOUND_UNBOUNDED_PRECEDING) {
        *out = INT64_MIN;
        return ALM_OK;
    }
    if (kind == ALM_BOUND_UNBOUNDED_FOLLOWING) {
        *out = INT64_MAX;
        return ALM_OK;
    }
    if (kind == ALM_BOUND_CURRENT)
        return ALM_OK;
    ALM_TRY(alm_frame_offset(sc, ast, unit, ts, out));
    if (kind == ALM_BOUND_PRECEDING)
        *out = -*out;
    return ALM_OK;
}

/*
 * A bound that follows from the left row: *col is a column with its ticks that is added to the left
 * side. UINT32_MAX: it is a constant.
 */
static alm_status moving_bound(alm_scope *sc, uint8_t kind, const alm_ast *ast, char unit,
                               alm_type ts, uint32_t n_left, alm_expr **out)
{
    static const alm_ast one = {.kind = ALM_AST_NUMBER, .text = {"1", 1}};
    alm_planner *p = sc->p;
    alm_expr *e = NULL, *factor = NULL;
    int64_t ticks = 0;
    *out = NULL;
    if (kind != ALM_BOUND_PRECEDING && kind != ALM_BOUND_FOLLOWING)
        return ALM_OK;
    sc->aggs_allowed = ALM_AGG_NO;
    sc->windows_allowed = false;
    ALM_TRY(alm_bind_expr(sc, ast, &e));
    if (!alm_expr_has_col(e))
        return ALM_OK;
    if (!alm_expr_within(e, 0, n_left))
        return alm_fail(p->cx, ALM_E_UNSUPPORTED, ast->pos,
                        "bounds of a WINDOW JOIN can use columns of the left side only");
    ALM_TRY(alm_expr_cast(p, e, ALM_TY(LONG), ALM_CAST_IMPLICIT, &e));
    ALM_TRY(alm_frame_offset(sc, &one, unit, ts, &ticks));
    ALM_TRY(alm_expr_bits(p->cx, ALM_TY(LONG),
                          (uint64_t)(kind == ALM_BOUND_PRECEDING ? -ticks : ticks), ast->pos,
                          &factor));
    alm_expr *args[2] = {e, factor};
    return alm_expr_call(p, "*", ast->pos, args, 2, out);
}

/* The left side with the columns of moving bounds behind its own; lo_col, hi_col of the node. */
static alm_status set_bounds(alm_scope *sc, const alm_window_join *wj, alm_plan *node)
{
    alm_planner *p = sc->p;
    const alm_window_def *def = wj->from->window;
    alm_plan **left = &node->child[0];
    const alm_type ts = (*left)->cols[(*left)->ts_col].type;
    const uint32_t n = (*left)->n_cols;
    const uint8_t hi_kind =
        def->hi_kind != ALM_BOUND_NONE ? def->hi_kind : (uint8_t)ALM_BOUND_CURRENT;
    alm_expr *e[2] = {NULL, NULL}, **exprs = NULL;
    const char **names = NULL;
    ALM_TRY(moving_bound(sc, def->lo_kind, def->lo, def->lo_unit, ts, wj->n_left, &e[0]));
    ALM_TRY(moving_bound(sc, hi_kind, def->hi, def->hi_unit, ts, wj->n_left, &e[1]));
    node->winjoin.lo_col = node->winjoin.hi_col = -1;
    if (e[0] == NULL)
        ALM_TRY(bound(sc, def->lo_kind, def->lo, def->lo_unit, ts, &node->winjoin.lo));
    if (e[1] == NULL)
        ALM_TRY(bound(sc, hi_kind, def->hi, def->hi_unit, ts, &node->winjoin.hi));
    if (e[0] == NULL && e[1] == NULL)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 2, &exprs));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 2, &names));
    uint32_t k = n;
    for (uint32_t i = 0; i < n; i++) {
        names[i] = (*left)->cols[i].name;
        ALM_TRY(alm_expr_col(p->cx, i, (*left)->cols[i].type, wj->from->join_pos, &exprs[i]));
    }
    for (uint32_t i = 0; i < 2; i++) {
        if (e[i] == NULL)
            continue;
        *(i == 0 ? &node->winjoin.lo_col : &node->winjoin.hi_col) = (int32_t)k;
        names[k] = "bound";
        exprs[k++] = e[i];
    }
    return alm_plan_project(p, *left, exprs, names, k, left);
}

/* -------------------------------------------------------------------------------- the nodes */

static alm_status check(alm_scope *sc)
{
    const alm_select *sel = sc->sel;
    const int32_t pos = sc->window_join->from->join_pos;
    alm_ctx *cx = sc->p->cx;
    if (sel->has_group || sel->sample != NULL || sel->n_latest_by > 0)
        return alm_fail(cx, ALM_E_UNSUPPORTED, pos,
                        "GROUP BY, SAMPLE BY and LATEST ON cannot stand beside a WINDOW JOIN: put "
                        "it into a subquery");
    for (uint32_t a = 0; a < sc->n_aggs; a++)
        if (sc->aggs[a].distinct)
            return alm_fail(cx, ALM_E_UNSUPPORTED, sc->aggs[a].pos,
                            "DISTINCT is not supported in a WINDOW JOIN");
    return ALM_OK;
}

typedef struct side_arg {
    const alm_window_join *wj;
    bool here, elsewhere;
} side_arg;

static bool which_side(void *arg, const alm_expr *col)
{
    side_arg *s = arg;
    if (col->col < s->wj->n_left || (col->col & ALM_COL_OUTER) != 0)
        return true;
    const bool here = col->col >= s->wj->first && col->col < s->wj->first + s->wj->right->n_cols;
    s->here |= here;
    s->elsewhere |= !here;
    return true;
}

/* Does the aggregate speak of the rows of this join? One that names none speaks of the first. */
static alm_status belongs(alm_scope *sc, const alm_agg_call *call, const alm_window_join *wj,
                          bool *out)
{
    side_arg s = {.wj = wj};
    for (uint32_t i = 0; i < call->n_args; i++)
        (void)alm_expr_each_col(call->args[i], which_side, &s);
    if (call->filter != NULL)
        (void)alm_expr_each_col(call->filter, which_side, &s);
    if (s.here && s.elsewhere)
        return alm_fail(sc->p->cx, ALM_E_UNSUPPORTED, call->pos,
                        "an aggregate cannot use the right sides of two WINDOW JOINs");
    if (!s.here && !s.elsewhere && sc->window_join->before != NULL && wj->before == NULL)
        return alm_fail(sc->p->cx, ALM_E_UNSUPPORTED, call->pos,
                        "beside several WINDOW JOINs an aggregate must name a column of a right "
                        "side");
    *out = s.here || (!s.elsewhere && wj->before == NULL);
    return ALM_OK;
}

static alm_status move_right(void *arg, alm_expr *e, alm_expr **out)
{
    const marks *m = arg;
    if (e->kind != ALM_X_COL || (e->col & ALM_COL_OUTER) != 0 || e->col < m->first)
        return ALM_OK;
    return alm_expr_col(m->sc->p->cx, e->col + m->by, e->type, e->pos, out);
}

/* One node on top of *plan, with the aggregates over its right side. */
static alm_status add_node(alm_scope *sc, const alm_window_join *wj, marks *m, alm_plan **plan)
{
    alm_planner *p = sc->p;
    alm_plan *node = NULL;
    if (wj->before != NULL)
        ALM_TRY(add_node(sc, wj->before, m, plan));
    ALM_TRY(alm_plan_new2(p, ALM_P_WINDOW_JOIN, wj->from->join_pos, *plan, wj->right, &node));
    ALM_TRY(set_bounds(sc, wj, node));
    const alm_plan *left = node->child[0];
    const uint32_t n_left = left->n_cols;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n_left + sc->n_aggs + 1, &node->cols));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, sc->n_aggs + 1, &node->winjoin.aggs));
    memcpy(node->cols, left->cols, n_left * sizeof *node->cols);
    m->first = wj->first;
    m->by = n_left - wj->first;
    uint32_t k = 0;
    for (uint32_t a = 0; a < sc->n_aggs; a++) {
        bool here = false;
        alm_agg_call *call = &node->winjoin.aggs[k];
        ALM_TRY(belongs(sc, &sc->aggs[a], wj, &here));
        if (!here)
            continue;
        *call = sc->aggs[a];
        ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, call->n_args + 1, &call->args));
        for (uint32_t i = 0; i < call->n_args; i++)
            ALM_TRY(alm_expr_map(p->cx, sc->aggs[a].args[i], move_right, m, &call->args[i]));
        for (uint32_t i = 0; i < wj->filter.n; i++)
            ALM_TRY(alm_expr_and(p, call->filter, wj->filter.at[i], &call->filter));
        if (call->filter != NULL)
            ALM_TRY(alm_expr_map(p->cx, call->filter, move_right, m, &call->filter));
        m->agg_col[a] = n_left + k;
        node->cols[n_left + k++] = (alm_plan_col){call->fn->name, call->type};
    }
    node->n_cols = n_left + k;
    node->ts_col = left->ts_col;
    node->order = left->order;
    node->winjoin.left_keys = wj->left_keys.at;
    node->winjoin.right_keys = wj->right_keys.at;
    node->winjoin.n_keys = wj->left_keys.n;
    node->winjoin.left_ts = (uint32_t)left->ts_col;
    node->winjoin.right_ts = (uint32_t)wj->right->ts_col;
    node->winjoin.prevailing = wj->from->prevailing != 'e';
    node->winjoin.n_aggs = k;
    *plan = node;
    return ALM_OK;
}

alm_status alm_bind_window_join(alm_scope *sc, alm_stage *st)
{
    marks m = {.sc = sc, .n_left = sc->window_join->n_left};
    ALM_TRY(check(sc));
    ALM_TRY(ALM_NEWN(sc->p->cx, sc->p->cx->arena, sc->n_aggs + 1, &m.agg_col));
    ALM_TRY(add_node(sc, sc->window_join, &m, &sc->plan));
    return replace_all(&m, st);
}
