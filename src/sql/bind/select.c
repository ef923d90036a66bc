/*
 * select.c - one SELECT: binds its clauses and stacks the plan nodes (bind.h, Stages).
 */
#include "sql/bind/bind.h"
#include "sql/node/decorrelate.h"

/* -------------------------------------------------------------------- LATEST ON */

static alm_status latest_column(alm_scope *sc, uint32_t *out)
{
    alm_ctx *cx = sc->p->cx;
    const alm_select *sel = sc->sel;
    const alm_plan *plan = sc->plan;
    if (sel->latest_ts.len == 0) {
        if (plan->ts_col < 0)
            return alm_fail(cx, ALM_E_TYPE, sel->latest_pos,
                            "latest by over a table requires designated TIMESTAMP");
        *out = (uint32_t)plan->ts_col;
        return ALM_OK;
    }
    const alm_ast name = {.kind = ALM_AST_NAME, .text = sel->latest_ts, .pos = sel->latest_pos};
    alm_expr *e = NULL;
    ALM_TRY(alm_bind_name(sc, &name, &e));
    if (e == NULL || e->kind != ALM_X_COL || e->col >= plan->n_cols) /* of a query around it */
        return alm_no_name(sc, &name);
    if (!alm_type_is_timestamp(e->type))
        return alm_fail(cx, ALM_E_TYPE, sel->latest_pos, "not a TIMESTAMP");
    if (sc->n_rels == 1 && sc->rels[0].table != NULL && plan->ts_col != (int32_t)e->col)
        return alm_fail(cx, ALM_E_TYPE, sel->latest_pos,
                        "latest by over a table requires designated TIMESTAMP");
    *out = e->col;
    return ALM_OK;
}

static alm_status bind_latest(alm_scope *sc)
{
    alm_planner *p = sc->p;
    const alm_select *sel = sc->sel;
    uint32_t ts = 0;
    alm_expr **keys = NULL;
    alm_plan *node = NULL;
    if (sel->n_latest_by == 0)
        return ALM_OK;
    ALM_TRY(latest_column(sc, &ts));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, sel->n_latest_by, &keys));
    for (uint32_t i = 0; i < sel->n_latest_by; i++)
        ALM_TRY(alm_bind_expr(sc, sel->latest_by[i], &keys[i]));
    ALM_TRY(alm_plan_order_by_ts(p, &sc->plan, ts));
    ALM_TRY(alm_plan_new(p, ALM_P_LATEST, sel->latest_pos, sc->plan, &node));
    node->latest.keys = keys;
    node->latest.n_keys = sel->n_latest_by;
    node->latest.ts_col = ts;
    node->ts_col = (int32_t)ts;
    node->order = ALM_ORDER_ASC;
    sc->plan = node;
    return ALM_OK;
}

/* --------------------------------------------------------------------- ORDER BY */

alm_status alm_sort_key_make(alm_planner *p, alm_expr *e, const alm_ast_order *item,
                             alm_sort_key *out)
{
    if (e->type.id == ALM_T_ARRAY)
        return alm_fail(p->cx, ALM_E_TYPE, item->expr->pos,
                        "%s is not a supported type in ORDER BY clause", alm_type_name(e->type));
    const bool is_float = e->type.id == ALM_T_DOUBLE || e->type.id == ALM_T_FLOAT;
    out->expr = e;
    out->desc = item->desc;
    /* a null is the smallest integer and the largest floating number */
    out->nulls_first = item->nulls == 1   ? true
                       : item->nulls == 2 ? false
                       : is_float         ? item->desc
                                          : !item->desc;
    return ALM_OK;
}

alm_status alm_order_refuse_text(alm_planner *p, const alm_ast *ast)
{
    return ast->kind != ALM_AST_STRING
               ? ALM_OK
               : alm_fail(p->cx, ALM_E_SYNTAX, ast->pos,
                          "a text constant in ORDER BY orders nothing; a name that needs quotes "
                          "takes double ones: \"%.*s\"",
                          (int)ALM_MIN(ast->text.len, 100U), ast->text.ptr);
}

alm_status alm_order_refuse_constant(alm_planner *p, const alm_ast *ast)
{
    ALM_TRY(alm_order_refuse_text(p, ast));
    return ast->kind != ALM_AST_NUMBER && ast->kind != ALM_AST_BOOL && ast->kind != ALM_AST_NULL
               ? ALM_OK
               : alm_fail(p->cx, ALM_E_SYNTAX, ast->pos,
                          "a constant in ORDER BY must be the number of a column");
}

/* Position of ORDER BY n; 0: it is none. */
static uint32_t position_of(const alm_ast *ast)
{
    if (ast->kind != ALM_AST_NUMBER || ast->text.len > 9)
        return 0;
    uint32_t at = 0;
    for (size_t i = 0; i < ast->text.len; i++) {
        if (ast->text.ptr[i] < '0' || ast->text.ptr[i] > '9')
            return 0;
        at = at * 10 + (uint32_t)(ast->text.ptr[i] - '0');
    }
    return at == 0 ? UINT32_MAX : at;
}

/* The item that is the expression; -1: none. */
static int32_t equal_item(const alm_stage *st, const alm_expr *e)
{
    for (uint32_t i = 0; i < st->n_items; i++)
        if (alm_expr_equal(st->items[i].expr, e))
            return (int32_t)i;
    return -1;
}

static alm_status bind_order_item(alm_scope *sc, const alm_ast *ast, const alm_stage *st,
                                  int32_t *item, alm_expr **expr)
{
    const uint32_t at = position_of(ast);
    *item = -1;
    *expr = NULL;
    if (at > st->n_items)
        return alm_fail(sc->p->cx, ALM_E_SYNTAX, ast->pos,
                        "order column position is out of range [max=%u]", st->n_items);
    if (at > 0) {
        *item = (int32_t)at - 1;
        return ALM_OK;
    }
    ALM_TRY(alm_steps_add(sc->p->cx, st->n_items));
    if (ast->kind == ALM_AST_NAME && ast->table.len == 0) {
        for (uint32_t i = 0; i < st->n_items; i++) {
            if (alm_str_ieq(st->items[i].name, ast->text)) {
                *item = (int32_t)i;
                return ALM_OK;
            }
        }
    }
    sc->aggs_allowed = ALM_AGG_YES;
    sc->windows_allowed = true;
    ALM_TRY(alm_bind_expr(sc, ast, expr));
    *item = equal_item(st, *expr);
    if (*item < 0 && sc->sel->has_group && !sc->sel->group_all)
        ALM_TRY(alm_bind_by_keys(sc, ast, expr)); /* an item may only be repeated, others are new */
    if (*item >= 0)
        *expr = NULL;
    return ALM_OK;
}

static alm_status bind_order(alm_scope *sc, alm_stage *st)
{
    const alm_select *sel = sc->sel;
    alm_ctx *cx = sc->p->cx;
    ALM_TRY(ALM_NEWN(cx, cx->arena, sel->n_order + 1, &st->order));
    ALM_TRY(ALM_NEWN(cx, cx->arena, sel->n_order + 1, &st->order_item));
    for (uint32_t i = 0; i < sel->n_order; i++) {
        alm_expr *e = NULL;
        int32_t item = -1;
        ALM_TRY(bind_order_item(sc, sel->order[i].expr, st, &item, &e));
        if (item < 0)
            ALM_TRY(alm_order_refuse_constant(sc->p, sel->order[i].expr));
        if (item < 0 && e->kind == ALM_X_CONST)
            continue; /* orders nothing */
        const alm_expr *typed = item >= 0 ? st->items[item].expr : e;
        const alm_expr *shown = typed;
        alm_expr probe = {.type = shown->type};
        ALM_TRY(alm_sort_key_make(sc->p, &probe, &sel->order[i], &st->order[st->n_order]));
        st->order[st->n_order].expr = e;
        st->order_item[st->n_order++] = item;
    }
    return ALM_OK;
}

/* DISTINCT ON (...): positions and names of the list count, as in ORDER BY. */
static alm_status bind_distinct_on(alm_scope *sc, alm_stage *st)
{
    const alm_select *sel = sc->sel;
    ALM_TRY(ALM_NEWN(sc->p->cx, sc->p->cx->arena, sel->n_distinct_on + 1, &st->on));
    for (uint32_t i = 0; i < sel->n_distinct_on; i++) {
        int32_t item = -1;
        ALM_TRY(bind_order_item(sc, sel->distinct_on[i], st, &item, &st->on[st->n_on]));
        if (item >= 0)
            st->on[st->n_on] = st->items[item].expr;
        if (st->on[st->n_on]->kind != ALM_X_CONST)
            st->n_on++;
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------- HAVING ... */

static alm_status bind_condition(alm_scope *sc, const alm_ast *ast, bool windows, alm_expr **out)
{
    if (ast == NULL)
        return ALM_OK;
    sc->aggs_allowed = ALM_AGG_YES;
    sc->windows_allowed = windows;
    ALM_TRY(alm_bind_by_keys(sc, ast, out));
    ALM_TRY(alm_bind_condition(sc->p, out, ast->pos));
    if (!windows && alm_has_window(sc, *out)) /* by its name in the list */
        return alm_fail(sc->p->cx, ALM_E_FUNCTION, ast->pos,
                        "window functions are not allowed in HAVING: QUALIFY filters by them");
    return ALM_OK;
}

static alm_status filter_by(alm_scope *sc, alm_expr *e)
{
    if (e == NULL)
        return ALM_OK;
    alm_exprs conjuncts = {0};
    ALM_TRY(alm_exprs_split(sc->p->cx, &conjuncts, e));
    return alm_plan_filter(sc->p, &sc->plan, &conjuncts);
}

/* ---------------------------------------------------------------------- windows */

/* What is computed behind the groups, and HAVING where it belongs: before the windows. */
static alm_status add_lates(alm_scope *sc, alm_stage *st)
{
    alm_expr **values = NULL;
    ALM_TRY(ALM_NEWN(sc->p->cx, sc->p->cx->arena, sc->n_lates + 1, &values));
    ALM_TRY(alm_late_nodes(sc, true, values));
    ALM_TRY(alm_late_replace(sc, values, &st->having));
    ALM_TRY(filter_by(sc, st->having));
    ALM_TRY(alm_late_nodes(sc, false, values));
    for (uint32_t i = 0; i < st->n_items; i++)
        ALM_TRY(alm_late_replace(sc, values, &st->items[i].expr));
    for (uint32_t i = 0; i < st->n_order; i++)
        ALM_TRY(alm_late_replace(sc, values, &st->order[i].expr));
    for (uint32_t i = 0; i < st->n_on; i++)
        ALM_TRY(alm_late_replace(sc, values, &st->on[i]));
    return alm_late_replace(sc, values, &st->qualify);
}

/* ------------------------------------------------------------------- the result */

/* Select list, then what only ORDER BY needs. */
static alm_status add_project(alm_scope *sc, const alm_stage *st)
{
    alm_planner *p = sc->p;
    const uint32_t room = st->n_items + st->n_order + st->n_on + 1;
    alm_expr **exprs = NULL;
    const char **names = NULL;
    uint32_t n = st->n_items;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, room, &exprs));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, room, &names));
    for (uint32_t i = 0; i < st->n_items; i++) {
        exprs[i] = st->items[i].expr;
        ALM_TRY(alm_arena_zstr(p->cx, p->cx->arena, st->items[i].name, &names[i]));
    }
    for (uint32_t i = 0; i < st->n_order; i++) {
        if (st->order[i].expr == NULL)
            continue;
        exprs[n] = st->order[i].expr;
        names[n] = "order";
        n++;
    }
    if (sc->sel->distinct && sc->sel->n_distinct_on == 0 && n > st->n_items)
        return alm_fail(p->cx, ALM_E_SYNTAX, sc->sel->order[0].expr->pos,
                        "ORDER BY of SELECT DISTINCT must use columns of the select list");
    for (uint32_t i = 0; i < st->n_on; i++) {
        exprs[n] = st->on[i];
        names[n++] = "on";
    }
    return alm_plan_project(p, sc->plan, exprs, names, n, &sc->plan);
}

static alm_status add_sort(alm_scope *sc, const alm_stage *st)
{
    alm_planner *p = sc->p;
    if (st->n_order == 0)
        return alm_plan_cut(p, &sc->plan, st->n_items + st->n_on);
    uint32_t hidden = st->n_items;
    for (uint32_t i = 0; i < st->n_order; i++) {
        const uint32_t col = st->order_item[i] >= 0 ? (uint32_t)st->order_item[i] : hidden++;
        ALM_TRY(alm_expr_col(p->cx, col, sc->plan->cols[col].type, sc->sel->order[0].expr->pos,
                             &st->order[i].expr));
    }
    if (st->n_on == 0)
        ALM_TRY(alm_bind_ties(p, sc->names, sc->sel, st->order, st->n_order, &sc->plan));
    ALM_TRY(alm_plan_sort(p, &sc->plan, st->order, st->n_order));
    return st->n_on > 0 ? ALM_OK : alm_plan_cut(p, &sc->plan, st->n_items);
}

static alm_status add_distinct(alm_scope *sc)
{
    const bool all = sc->sel->distinct && sc->sel->n_distinct_on == 0;
    return all ? alm_plan_distinct(sc->p, &sc->plan) : ALM_OK;
}

/* The first row of each value, in the order rows have by now. */
static alm_status add_distinct_on(alm_scope *sc, const alm_stage *st)
{
    if (sc->sel->n_distinct_on == 0)
        return ALM_OK;
    if (st->n_on == 0) /* constants: one row */
        return alm_plan_limit(sc->p, &sc->plan, 0, 1);
    ALM_TRY(alm_plan_limit_per(sc->p, &sc->plan, sc->plan->n_cols - st->n_on, st->n_on, 0, 1));
    if (st->n_order > 0)
        ALM_TRY(alm_bind_ties(sc->p, sc->names, sc->sel, st->order, st->n_order, &sc->plan));
    return alm_plan_cut(sc->p, &sc->plan, st->n_items);
}

static alm_status bind_body(alm_scope *sc, alm_stage *st)
{
    const alm_select *sel = sc->sel;
    sc->share_aggs = sel->sample == NULL || sel->sample->n_fill <= 1;
    ALM_TRY(alm_bind_items(sc, &st->items, &st->n_items));
    sc->items = st->items;
    sc->n_items = st->n_items;
    ALM_TRY(bind_condition(sc, sel->having, false, &st->having));
    ALM_TRY(bind_condition(sc, sel->qualify, true, &st->qualify));
    ALM_TRY(bind_order(sc, st));
    ALM_TRY(bind_distinct_on(sc, st));
    if (sc->window_join != NULL)
        return alm_bind_window_join(sc, st);
    if (sel->sample != NULL) {
        if (sel->has_group)
            return alm_fail(sc->p->cx, ALM_E_SYNTAX, sel->group_pos,
                            "SELECT query must not contain both GROUP BY and SAMPLE BY");
        return alm_bind_sample(sc, st);
    }
    if (sel->has_group || sc->n_aggs > 0)
        return alm_bind_group(sc, st);
    return ALM_OK;
}

static alm_status bind_select(alm_planner *p, const alm_names *names, const alm_select *sel,
                              alm_plan **out)
{
    alm_scope sc = {.p = p, .names = names, .sel = sel};
    alm_stage st = {0};
    ALM_TRY(alm_bind_from(&sc, sel->from, sel->n_from));
    if (!sel->latest_before_where)
        ALM_TRY(alm_bind_where(&sc, sel->where));
    ALM_TRY(bind_latest(&sc));
    if (sel->latest_before_where)
        ALM_TRY(alm_bind_where(&sc, sel->where));
    ALM_TRY(alm_bind_unpivot(&sc));
    ALM_TRY(alm_bind_pivot(&sc));
    ALM_TRY(bind_body(&sc, &st));
    ALM_TRY(add_lates(&sc, &st));
    ALM_TRY(filter_by(&sc, st.qualify));
    ALM_TRY(add_project(&sc, &st));
    ALM_TRY(add_distinct(&sc));
    ALM_TRY(add_sort(&sc, &st));
    ALM_TRY(add_distinct_on(&sc, &st));
    *out = sc.plan;
    return alm_bind_limit(p, names, sel, out);
}

/* ------------------------------------------------------------------------ query */

static alm_status index_ctes(alm_planner *p, const alm_select *sel, const alm_name_set **out)
{
    alm_name_set *set = NULL;
    uint32_t had = ALM_NAME_NONE;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &set));
    for (uint32_t i = 0; i < sel->n_with; i++) {
        ALM_TRY(alm_name_set_add(p->cx, set, sel->with[i].name, i, &had));
        if (had != ALM_NAME_NONE)
            return alm_fail(p->cx, ALM_E_DUPLICATE, sel->with[i].pos, "duplicate name");
    }
    *out = set;
    return ALM_OK;
}

alm_status alm_names_with(alm_planner *p, const alm_select *sel, alm_names *own,
                          const alm_names **names)
{
    if (sel->n_with == 0)
        return ALM_OK;
    const alm_name_set *by_name = NULL;
    ALM_TRY(index_ctes(p, sel, &by_name));
    *own = (alm_names){.outer = *names,
                       .ctes = sel->with,
                       .n_ctes = sel->n_with,
                       .by_name = by_name,
                       .recursive = sel->with_recursive};
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, sel->n_with, &own->uses));
    *names = own;
    return ALM_OK;
}

alm_status alm_bind_query(alm_planner *p, const alm_names *names, const alm_select *sel,
                          alm_plan **out)
{
    alm_names own;
    ALM_TRY(alm_names_with(p, sel, &own, &names));
    ALM_TRY(alm_enter(p, sel->pos));
    const struct alm_override *const around = p->overrides;
    ALM_TRY(alm_declare_around(p, sel));
    if (sel->op != ALM_SET_NONE)
        ALM_TRY(alm_bind_setop(p, names, sel, out));
    else
        ALM_TRY(bind_select(p, names, sel, out));
    p->overrides = around;
    p->depth--;
    return ALM_OK;
}
