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

static alm_status column_fail(const marks *self, const alm_expr *expr)
{
    const alm_rel *rel = &self->sc->rels[self->sc->n_rels - 1];
    while (rel->first > expr->col)
        rel--;
    return alm_fail(self->sc->p->cx, ALM_E_SYNTAX, expr->pos,
                    "WINDOW join cannot reference right table non-aggregate column: %.*s%s%s",
                    (int)rel->alias.len, rel->alias.ptr == NULL ? "" : rel->alias.ptr,
                    rel->alias.len > 0 ? "." : "", rel->cols[expr->col - rel->first].name);
}

static alm_status bind_window_join_replace(void *arg, alm_expr *expr, alm_expr **out)
{
    const marks *self = arg;
    if (expr->kind != ALM_X_COL)
        return ALM_OK;
    if ((expr->col & ALM_COL_AGG) != 0)
        return alm_expr_col(self->sc->p->cx, self->agg_col[expr->col & ALM_COL_NUMBER], expr->type,
                            expr->pos, out);
    if ((expr->col & (ALM_COL_WIN | ALM_COL_OUTER)) == 0 && expr->col >= self->n_left)
        return column_fail(self, expr);
    *out = expr;
    return ALM_OK;
}

static alm_status replace_list(marks *self, alm_expr **list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (list[i] != NULL)
            ALM_TRY(
                alm_expr_map(self->sc->p->cx, list[i], bind_window_join_replace, self, &list[i]));
    return ALM_OK;
}

static alm_status bind_window_join_replace_one(void *m, alm_expr **expr)
{
    return replace_list(m, expr, 1);
}

static alm_status bind_window_join_replace_all(marks *self, alm_stage *stage)
{
    alm_scope *scope = self->sc;
    for (uint32_t i = 0; i < stage->n_items; i++)
        ALM_TRY(replace_list(self, &stage->items[i].expr, 1));
    for (uint32_t i = 0; i < stage->n_order; i++)
        ALM_TRY(replace_list(self, &stage->order[i].expr, 1));
    ALM_TRY(replace_list(self, stage->on, stage->n_on));
    for (uint32_t i = 0; i < scope->n_lates; i++) /* they see the rows of the join */
        ALM_TRY(alm_late_exprs(&scope->lates[i], bind_window_join_replace_one, self));
    ALM_TRY(replace_list(self, &stage->having, 1));
    return replace_list(self, &stage->qualify, 1);
}

/* ---------------------------------------------------------------------------------- bounds */

static alm_status bind_window_join_bound(alm_scope *scope, uint8_t kind, const alm_ast *ast,
                                         char unit, alm_type ts_type, int64_t *out)
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
    ALM_TRY(alm_frame_offset(scope, ast, unit, ts_type, out));
    if (kind == ALM_BOUND_PRECEDING)
        *out = -*out;
    return ALM_OK;
}

/*
 * A bound that follows from the left row: *col is a column with its ticks that is added to the left
 * side. UINT32_MAX: it is a constant.
 */
static alm_status moving_bound(alm_scope *scope, uint8_t kind, const alm_ast *ast, char unit,
                               alm_type ts_type, uint32_t n_left, alm_expr **out)
{
    static const alm_ast one = {.kind = ALM_AST_NUMBER, .text = {"1", 1}};
    alm_planner *planner = scope->p;
    alm_expr *expr = NULL, *factor = NULL;
    int64_t ticks = 0;
    *out = NULL;
    if (kind != ALM_BOUND_PRECEDING && kind != ALM_BOUND_FOLLOWING)
        return ALM_OK;
    scope->aggs_allowed = ALM_AGG_NO;
    scope->windows_allowed = false;
    ALM_TRY(alm_bind_expr(scope, ast, &expr));
    if (!alm_expr_has_col(expr))
        return ALM_OK;
    if (!alm_expr_within(expr, 0, n_left))
        return alm_fail(planner->cx, ALM_E_UNSUPPORTED, ast->pos,
                        "bounds of a WINDOW JOIN can use columns of the left side only");
    ALM_TRY(alm_expr_cast(planner, expr, ALM_TY(LONG), ALM_CAST_IMPLICIT, &expr));
    ALM_TRY(alm_frame_offset(scope, &one, unit, ts_type, &ticks));
    ALM_TRY(alm_expr_bits(planner->cx, ALM_TY(LONG),
                          (uint64_t)(kind == ALM_BOUND_PRECEDING ? -ticks : ticks), ast->pos,
                          &factor));
    alm_expr *args[2] = {expr, factor};
    return alm_expr_call(planner, "*", ast->pos, args, 2, out);
}

/* The left side with the columns of moving bounds behind its own; lo_col, hi_col of the node. */
static alm_status set_bounds(alm_scope *scope, const alm_window_join *join, alm_plan *node)
{
    alm_planner *planner = scope->p;
    const alm_window_def *def = join->from->window;
    alm_plan **left = &node->child[0];
    const alm_type ts_type = (*left)->cols[(*left)->ts_col].type;
    const uint32_t n_names = (*left)->n_cols;
    const uint8_t hi_kind =
        def->hi_kind != ALM_BOUND_NONE ? def->hi_kind : (uint8_t)ALM_BOUND_CURRENT;
    alm_expr *e[2] = {NULL, NULL}, **exprs = NULL;
    const char **names = NULL;
    ALM_TRY(moving_bound(scope, def->lo_kind, def->lo, def->lo_unit, ts_type, join->n_left, &e[0]));
    ALM_TRY(moving_bound(scope, hi_kind, def->hi, def->hi_unit, ts_type, join->n_left, &e[1]));
    node->winjoin.lo_col = node->winjoin.hi_col = -1;
    if (e[0] == NULL)
        ALM_TRY(bind_window_join_bound(scope, def->lo_kind, def->lo, def->lo_unit, ts_type,
                                       &node->winjoin.lo));
    if (e[1] == NULL)
        ALM_TRY(bind_window_join_bound(scope, hi_kind, def->hi, def->hi_unit, ts_type,
                                       &node->winjoin.hi));
    if (e[0] == NULL && e[1] == NULL)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_names + 2, &exprs));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_names + 2, &names));
    uint32_t k = n_names;
    for (uint32_t i = 0; i < n_names; i++) {
        names[i] = (*left)->cols[i].name;
        ALM_TRY(
            alm_expr_col(planner->cx, i, (*left)->cols[i].type, join->from->join_pos, &exprs[i]));
    }
    for (uint32_t i = 0; i < 2; i++) {
        if (e[i] == NULL)
            continue;
        *(i == 0 ? &node->winjoin.lo_col : &node->winjoin.hi_col) = (int32_t)k;
        names[k] = "bound";
        exprs[k++] = e[i];
    }
    return alm_plan_project(planner, *left, exprs, names, k, left);
}

/* -------------------------------------------------------------------------------- the nodes */

static alm_status bind_window_join_check(alm_scope *scope)
{
    const alm_select *sel = scope->sel;
    const int32_t pos = scope->window_join->from->join_pos;
    alm_ctx *cx = scope->p->cx;
    if (sel->has_group || sel->sample != NULL || sel->n_latest_by > 0)
        return alm_fail(cx, ALM_E_UNSUPPORTED, pos,
                        "GROUP BY, SAMPLE BY and LATEST ON cannot stand beside a WINDOW JOIN: put "
                        "it into a subquery");
    for (uint32_t agg = 0; agg < scope->n_aggs; agg++)
        if (scope->aggs[agg].distinct)
            return alm_fail(cx, ALM_E_UNSUPPORTED, scope->aggs[agg].pos,
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
static alm_status belongs(alm_scope *scope, const alm_agg_call *call, const alm_window_join *join,
                          bool *out)
{
    side_arg arg = {.wj = join};
    for (uint32_t i = 0; i < call->n_args; i++)
        (void)alm_expr_each_col(call->args[i], which_side, &arg);
    if (call->filter != NULL)
        (void)alm_expr_each_col(call->filter, which_side, &arg);
    if (arg.here && arg.elsewhere)
        return alm_fail(scope->p->cx, ALM_E_UNSUPPORTED, call->pos,
                        "an aggregate cannot use the right sides of two WINDOW JOINs");
    if (!arg.here && !arg.elsewhere && scope->window_join->before != NULL && join->before == NULL)
        return alm_fail(scope->p->cx, ALM_E_UNSUPPORTED, call->pos,
                        "beside several WINDOW JOINs an aggregate must name a column of a right "
                        "side");
    *out = arg.here || (!arg.elsewhere && join->before == NULL);
    return ALM_OK;
}

static alm_status move_right(void *arg, alm_expr *expr, alm_expr **out)
{
    const marks *self = arg;
    if (expr->kind != ALM_X_COL || (expr->col & ALM_COL_OUTER) != 0 || expr->col < self->first)
        return ALM_OK;
    return alm_expr_col(self->sc->p->cx, expr->col + self->by, expr->type, expr->pos, out);
}

/* One node on top of *plan, with the aggregates over its right side. */
static alm_status add_node(alm_scope *scope, const alm_window_join *join, marks *self,
                           alm_plan **plan)
{
    alm_planner *planner = scope->p;
    alm_plan *node = NULL;
    if (join->before != NULL)
        ALM_TRY(add_node(scope, join->before, self, plan));
    ALM_TRY(
        alm_plan_new2(planner, ALM_P_WINDOW_JOIN, join->from->join_pos, *plan, join->right, &node));
    ALM_TRY(set_bounds(scope, join, node));
    const alm_plan *left = node->child[0];
    const uint32_t n_left = left->n_cols;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_left + scope->n_aggs + 1, &node->cols));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, scope->n_aggs + 1, &node->winjoin.aggs));
    memcpy(node->cols, left->cols, n_left * sizeof *node->cols);
    self->first = join->first;
    self->by = n_left - join->first;
    uint32_t k = 0;
    for (uint32_t agg = 0; agg < scope->n_aggs; agg++) {
        bool here = false;
        alm_agg_call *call = &node->winjoin.aggs[k];
        ALM_TRY(belongs(scope, &scope->aggs[agg], join, &here));
        if (!here)
            continue;
        *call = scope->aggs[agg];
        ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, call->n_args + 1, &call->args));
        for (uint32_t i = 0; i < call->n_args; i++)
            ALM_TRY(alm_expr_map(planner->cx, scope->aggs[agg].args[i], move_right, self,
                                 &call->args[i]));
        for (uint32_t i = 0; i < join->filter.n; i++)
            ALM_TRY(alm_expr_and(planner, call->filter, join->filter.at[i], &call->filter));
        if (call->filter != NULL)
            ALM_TRY(alm_expr_map(planner->cx, call->filter, move_right, self, &call->filter));
        self->agg_col[agg] = n_left + k;
        node->cols[n_left + k++] = (alm_plan_col){call->fn->name, call->type};
    }
    node->n_cols = n_left + k;
    node->ts_col = left->ts_col;
    node->order = left->order;
    node->winjoin.left_keys = join->left_keys.at;
    node->winjoin.right_keys = join->right_keys.at;
    node->winjoin.n_keys = join->left_keys.n;
    node->winjoin.left_ts = (uint32_t)left->ts_col;
    node->winjoin.right_ts = (uint32_t)join->right->ts_col;
    node->winjoin.prevailing = join->from->prevailing != 'e';
    node->winjoin.n_aggs = k;
    *plan = node;
    return ALM_OK;
}

alm_status alm_bind_window_join(alm_scope *scope, alm_stage *stage)
{
    marks self = {.sc = scope, .n_left = scope->window_join->n_left};
    ALM_TRY(bind_window_join_check(scope));
    ALM_TRY(ALM_NEWN(scope->p->cx, scope->p->cx->arena, scope->n_aggs + 1, &self.agg_col));
    ALM_TRY(add_node(scope, scope->window_join, &self, &scope->plan));
    return bind_window_join_replace_all(&self, stage);
}
