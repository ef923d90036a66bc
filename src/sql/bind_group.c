/*
 * bind_group.c - GROUP BY, written out or implied by aggregates in the select list.
 *
 * Implied     Every item without an aggregate is a key, unless it is constant; columns that stand
 *             beside aggregates inside an item are keys too.
 * Written     Positions, names of columns, names of the list, expressions. Other columns may not
 *             be used outside aggregates.
 */
#include "sql/bind.h"

static int32_t find_key(const alm_group_map *map, const alm_expr *e)
{
    for (uint32_t k = 0; k < map->keys.n; k++)
        if (alm_expr_equal(map->keys.at[k], e))
            return (int32_t)k;
    return -1;
}

static bool is_bucket(const alm_group_map *map, const alm_expr *e)
{
    return e->kind == ALM_X_COL && e->col == map->bucket;
}

typedef struct col_seek {
    uint32_t col;
} col_seek;

static bool not_col(void *arg, const alm_expr *col)
{
    return col->col != ((const col_seek *)arg)->col;
}

static bool uses_bucket(const alm_group_map *map, const alm_expr *e)
{
    col_seek seek = {map->bucket};
    return map->bucket != UINT32_MAX && !alm_expr_each_col(e, not_col, &seek);
}

/* Columns outside aggregates that are in no key yet become keys. */
static alm_status collect_columns(alm_group_map *map, alm_expr *e)
{
    if (is_bucket(map, e) || find_key(map, e) >= 0)
        return ALM_OK;
    if (e->kind == ALM_X_COL) {
        if ((e->col & (ALM_COL_AGG | ALM_COL_WIN | ALM_COL_OUTER)) != 0)
            return ALM_OK;
        return alm_exprs_add(map->sc->p->cx, &map->keys, e);
    }
    for (uint32_t i = 0; i < e->n_args; i++)
        ALM_TRY(collect_columns(map, e->args[i]));
    return ALM_OK;
}

alm_status alm_group_collect(alm_group_map *map, alm_expr *e)
{
    if (!alm_expr_has_col(e))
        return ALM_OK;
    if (alm_expr_has_mark(e, ALM_COL_AGG) || alm_expr_has_mark(e, ALM_COL_WIN) ||
        uses_bucket(map, e))
        return collect_columns(map, e);
    if (find_key(map, e) >= 0)
        return ALM_OK;
    if (alm_expr_has_mark(e, ALM_COL_OUTER)) /* constant for this query */
        return collect_columns(map, e);
    return alm_exprs_add(map->sc->p->cx, &map->keys, e);
}

static alm_status replace(void *arg, alm_expr *e, alm_expr **out)
{
    alm_group_map *map = arg;
    alm_ctx *cx = map->sc->p->cx;
    const int32_t k = e->kind == ALM_X_CONST ? -1 : find_key(map, e);
    if (k >= 0)
        return alm_expr_col(cx, map->first_key + (uint32_t)k, e->type, e->pos, out);
    if (e->kind != ALM_X_COL)
        return ALM_OK;
    if ((e->col & ALM_COL_AGG) != 0)
        return alm_expr_col(cx, map->first_key + map->keys.n + (e->col & ALM_COL_NUMBER), e->type,
                            e->pos, out);
    if ((e->col & (ALM_COL_WIN | ALM_COL_OUTER)) != 0) {
        *out = e;
        return ALM_OK;
    }
    if (is_bucket(map, e))
        return alm_expr_col(cx, 0, e->type, e->pos, out);
    return alm_fail(cx, ALM_E_SYNTAX, e->pos,
                    "column must appear in GROUP BY clause or aggregate function");
}

alm_status alm_group_replace(alm_group_map *map, alm_expr **e)
{
    if (*e == NULL)
        return ALM_OK;
    return alm_expr_map(map->sc->p->cx, *e, replace, map, e);
}

static alm_status each_window_expr(alm_group_map *map,
                                   alm_status (*f)(alm_group_map *, alm_expr **))
{
    for (uint32_t w = 0; w < map->sc->n_windows; w++) {
        alm_window_call *call = &map->sc->windows[w];
        for (uint32_t i = 0; i < call->n_args; i++)
            ALM_TRY(f(map, &call->args[i]));
        for (uint32_t i = 0; i < call->n_partition; i++)
            ALM_TRY(f(map, &call->partition[i]));
        for (uint32_t i = 0; i < call->n_order; i++)
            ALM_TRY(f(map, &call->order[i].expr));
        if (call->filter != NULL)
            ALM_TRY(f(map, &call->filter));
    }
    return ALM_OK;
}

static alm_status collect_window(alm_group_map *map, alm_expr **e)
{
    return collect_columns(map, *e);
}

alm_status alm_stage_replace(alm_group_map *map, alm_stage *st)
{
    for (uint32_t i = 0; i < st->n_items; i++)
        ALM_TRY(alm_group_replace(map, &st->items[i].expr));
    ALM_TRY(alm_group_replace(map, &st->having));
    ALM_TRY(alm_group_replace(map, &st->qualify));
    for (uint32_t i = 0; i < st->n_order; i++)
        ALM_TRY(alm_group_replace(map, &st->order[i].expr));
    return each_window_expr(map, alm_group_replace);
}

/* ------------------------------------------------------------------- keys */

static bool is_position(const alm_ast *ast)
{
    if (ast->kind != ALM_AST_NUMBER)
        return false;
    for (size_t i = 0; i < ast->text.len; i++)
        if (ast->text.ptr[i] < '0' || ast->text.ptr[i] > '9')
            return false;
    return true;
}

static alm_status written_key(alm_group_map *map, const alm_ast *ast, const alm_stage *st)
{
    alm_scope *sc = map->sc;
    alm_expr *key = NULL;
    if (is_position(ast)) {
        uint32_t at = 0;
        for (size_t i = 0; i < ast->text.len && at < 100000; i++)
            at = at * 10 + (uint32_t)(ast->text.ptr[i] - '0');
        if (at == 0 || at > st->n_items)
            return alm_fail(sc->p->cx, ALM_E_SYNTAX, ast->pos,
                            "GROUP BY position %.*s is not in select list", (int)ast->text.len,
                            ast->text.ptr);
        key = st->items[at - 1].expr;
    } else {
        const uint32_t aggs = sc->n_aggs;
        ALM_TRY(alm_bind_expr(sc, ast, &key));
        sc->n_aggs = ALM_MAX(aggs, sc->n_aggs);
    }
    if (alm_expr_has_mark(key, ALM_COL_AGG))
        return alm_fail(sc->p->cx, ALM_E_SYNTAX, ast->pos,
                        "aggregate functions are not allowed in GROUP BY");
    if (alm_expr_has_mark(key, ALM_COL_WIN))
        return alm_fail(sc->p->cx, ALM_E_SYNTAX, ast->pos,
                        "window functions are not allowed in GROUP BY");
    if (key->kind == ALM_X_CONST || find_key(map, key) >= 0)
        return ALM_OK;
    return alm_exprs_add(sc->p->cx, &map->keys, key);
}

static const char *key_name(const alm_plan *child, const alm_expr *e)
{
    return e->kind == ALM_X_COL    ? child->cols[e->col].name
           : e->kind == ALM_X_CALL ? e->fn->name
                                   : "case";
}

alm_status alm_bind_group(alm_scope *sc, alm_stage *st)
{
    alm_planner *p = sc->p;
    alm_group_map map = {.sc = sc, .bucket = UINT32_MAX, .strict = sc->sel->has_group};
    if (map.strict) {
        sc->aggs_allowed = ALM_AGG_YES; /* for a better message below */
        sc->windows_allowed = false;
        for (uint32_t i = 0; i < sc->sel->n_group; i++)
            ALM_TRY(written_key(&map, sc->sel->group[i], st));
    } else {
        for (uint32_t i = 0; i < st->n_items; i++) /* whole items first: they cover columns */
            if (!alm_expr_has_mark(st->items[i].expr, ALM_COL_AGG | ALM_COL_WIN))
                ALM_TRY(alm_group_collect(&map, st->items[i].expr));
        for (uint32_t i = 0; i < st->n_items; i++)
            ALM_TRY(alm_group_collect(&map, st->items[i].expr));
        ALM_TRY(each_window_expr(&map, collect_window));
    }
    alm_plan *node = NULL, *child = sc->plan;
    ALM_TRY(alm_stage_replace(&map, st));
    ALM_TRY(alm_plan_new(p, ALM_P_GROUP, sc->sel->pos, child, &node));
    node->n_cols = map.keys.n + sc->n_aggs;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, node->n_cols + 1, &node->cols));
    for (uint32_t k = 0; k < map.keys.n; k++)
        node->cols[k] = (alm_plan_col){key_name(child, map.keys.at[k]), map.keys.at[k]->type};
    for (uint32_t a = 0; a < sc->n_aggs; a++)
        node->cols[map.keys.n + a] = (alm_plan_col){sc->aggs[a].fn->name, sc->aggs[a].type};
    node->group.keys = map.keys.at;
    node->group.n_keys = map.keys.n;
    node->group.aggs = sc->aggs;
    node->group.n_aggs = sc->n_aggs;
    node->ts_col = -1;
    node->order = ALM_ORDER_NONE;
    sc->plan = node;
    return ALM_OK;
}
