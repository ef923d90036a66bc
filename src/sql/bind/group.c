/*
 * group.c - GROUP BY, written out or implied by aggregates in the select list.
 *
 * Implied     Every item without an aggregate is a key, unless it is constant; columns that stand
 *             beside aggregates inside an item are keys too.
 * Written     Positions, names of the list, names of columns, expressions. Other columns may not
 *             be used outside aggregates.
 */
#include "sql/bind/bind.h"
#include "sql/node/copy.h"

/* More keys than these are found by their hashes. */
enum { FEW_KEYS = 16 };

/* A volatile key is like itself only: GROUP BY of its name or position. A key that is compared, say, stands there
 * as it was widened (plan/widen.c). */
static bool is_key(const alm_group_map *map, uint32_t k, const alm_expr *expr)
{
    return map->keys.at[k] == expr || alm_expr_equal(map->keys.at[k], expr) ||
           (map->wide.at[k] != NULL && alm_expr_equal(map->wide.at[k], expr));
}

static int32_t bind_group_find_key(const alm_group_map *map, const alm_expr *expr)
{
    uint32_t place = 0, number = 0;
    for (uint32_t k = 0; k < map->keys.n && map->keys.n < FEW_KEYS; k++)
        if (is_key(map, k, expr))
            return (int32_t)k;
    const uint64_t hash = map->keys.n < FEW_KEYS ? 0 : alm_expr_hash(expr);
    while (map->keys.n >= FEW_KEYS && alm_hashes_next(&map->hashes, hash, &place, &number))
        if (is_key(map, number / 2, expr))
            return (int32_t)(number / 2);
    return -1;
}

static alm_status bind_group_add_key(alm_group_map *map, alm_expr *key)
{
    alm_planner *planner = map->sc->p;
    alm_ctx *cx = planner->cx;
    alm_expr *wide = NULL;
    if (alm_expr_may_exceed(key))
        ALM_TRY(alm_expr_widen(planner, key, &wide));
    ALM_TRY(alm_exprs_add(cx, &map->wide, wide));
    ALM_TRY(alm_exprs_add(cx, &map->keys, key));
    while (map->keys.n >= FEW_KEYS && map->hashes.n < 2 * map->keys.n) {
        const uint32_t k = map->hashes.n / 2;
        const bool second = map->hashes.n % 2 == 1 && map->wide.at[k] != NULL;
        const alm_expr *expr = second ? map->wide.at[k] : map->keys.at[k];
        ALM_TRY(alm_hashes_add(cx, cx->arena, &map->hashes, alm_expr_hash(expr)));
    }
    return ALM_OK;
}

static bool is_bucket(const alm_group_map *map, const alm_expr *expr)
{
    return expr->kind == ALM_X_COL && expr->col == map->bucket;
}

typedef struct col_seek {
    uint32_t col;
} col_seek;

static bool not_col(void *arg, const alm_expr *col)
{
    return col->col != ((const col_seek *)arg)->col;
}

static bool uses_bucket(const alm_group_map *map, const alm_expr *expr)
{
    col_seek seek = {map->bucket};
    return map->bucket != UINT32_MAX && !alm_expr_each_col(expr, not_col, &seek);
}

/* Columns outside aggregates that are in no key yet become keys. */
static alm_status collect_columns(alm_group_map *map, alm_expr *expr)
{
    ALM_TRY(alm_steps_add(map->sc->p->cx, 1));
    if (is_bucket(map, expr) || bind_group_find_key(map, expr) >= 0)
        return ALM_OK;
    if (expr->kind == ALM_X_COL) {
        if ((expr->col & (ALM_COL_AGG | ALM_COL_WIN | ALM_COL_OUTER)) != 0)
            return ALM_OK;
        return bind_group_add_key(map, expr);
    }
    for (uint32_t i = 0; i < expr->n_args; i++)
        ALM_TRY(collect_columns(map, expr->args[i]));
    return ALM_OK;
}

alm_status alm_group_collect(alm_group_map *map, alm_expr *expr)
{
    if (!alm_expr_has_col(expr))
        return ALM_OK;
    if (alm_expr_has_mark(expr, ALM_COL_AGG) || alm_expr_has_mark(expr, ALM_COL_WIN) ||
        uses_bucket(map, expr))
        return collect_columns(map, expr);
    if (bind_group_find_key(map, expr) >= 0)
        return ALM_OK;
    if (alm_expr_has_mark(expr, ALM_COL_OUTER)) /* constant for this query */
        return collect_columns(map, expr);
    return bind_group_add_key(map, expr);
}

static alm_status bind_group_replace(void *arg, alm_expr *expr, alm_expr **out)
{
    alm_group_map *map = arg;
    alm_ctx *cx = map->sc->p->cx;
    ALM_TRY(alm_steps_add(cx, 1));
    const int32_t k = expr->kind == ALM_X_CONST ? -1 : bind_group_find_key(map, expr);
    if (k >= 0) {
        const alm_type type = map->keys.at[k]->type;
        ALM_TRY(alm_expr_col(cx, map->first_key + (uint32_t)k, type, expr->pos, out));
        return alm_expr_cast(map->sc->p, *out, expr->type, ALM_CAST_EXPLICIT, out);
    }
    if (expr->kind != ALM_X_COL)
        return ALM_OK;
    if ((expr->col & ALM_COL_AGG) != 0)
        return alm_expr_col(cx, map->first_key + map->keys.n + (expr->col & ALM_COL_NUMBER),
                            expr->type, expr->pos, out);
    if ((expr->col & (ALM_COL_WIN | ALM_COL_OUTER)) != 0) {
        *out = expr;
        return ALM_OK;
    }
    if (is_bucket(map, expr))
        return alm_expr_col(cx, 0, expr->type, expr->pos, out);
    return alm_fail(cx, ALM_E_SYNTAX, expr->pos,
                    "column must appear in GROUP BY clause or aggregate function");
}

alm_status alm_group_replace(alm_group_map *map, alm_expr **expr)
{
    if (*expr == NULL)
        return ALM_OK;
    return alm_expr_map(map->sc->p->cx, *expr, bind_group_replace, map, expr);
}

static alm_status replace_late(void *map, alm_expr **expr)
{
    return alm_group_replace(map, expr);
}

static alm_status collect_late(void *map, alm_expr **expr)
{
    return collect_columns(map, *expr);
}

static alm_status each_late(alm_group_map *map, alm_status (*visit)(void *, alm_expr **))
{
    for (uint32_t i = 0; i < map->sc->n_lates; i++)
        ALM_TRY(alm_late_exprs(&map->sc->lates[i], visit, map));
    return ALM_OK;
}

alm_status alm_stage_replace(alm_group_map *map, alm_stage *stage)
{
    for (uint32_t i = 0; i < stage->n_items; i++)
        ALM_TRY(alm_group_replace(map, &stage->items[i].expr));
    ALM_TRY(alm_group_replace(map, &stage->having));
    ALM_TRY(alm_group_replace(map, &stage->qualify));
    for (uint32_t i = 0; i < stage->n_order; i++)
        ALM_TRY(alm_group_replace(map, &stage->order[i].expr));
    for (uint32_t i = 0; i < stage->n_on; i++)
        ALM_TRY(alm_group_replace(map, &stage->on[i]));
    return each_late(map, replace_late);
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

static alm_status written_key(alm_group_map *map, const alm_ast *ast, const alm_stage *stage,
                              int32_t *at_key)
{
    alm_scope *scope = map->sc;
    alm_expr *key = NULL;
    if (is_position(ast)) {
        uint32_t place = 0;
        for (size_t i = 0; i < ast->text.len && place < 100000; i++)
            place = place * 10 + (uint32_t)(ast->text.ptr[i] - '0');
        if (place == 0 || place > stage->n_items)
            return alm_fail(scope->p->cx, ALM_E_SYNTAX, ast->pos,
                            "GROUP BY position %.*s is not in select list", (int)ast->text.len,
                            ast->text.ptr);
        key = stage->items[place - 1].expr;
    } else {
        ALM_TRY(alm_bind_listed(scope, ast, &key));
        if (key == NULL)
            ALM_TRY(alm_bind_expr(scope, ast, &key));
    }
    if (alm_expr_has_mark(key, ALM_COL_AGG))
        return alm_fail(scope->p->cx, ALM_E_SYNTAX, ast->pos,
                        "aggregate functions are not allowed in GROUP BY");
    if (alm_expr_has_mark(key, ALM_COL_WIN))
        return alm_fail(scope->p->cx, ALM_E_SYNTAX, ast->pos,
                        "window functions are not allowed in GROUP BY");
    *at_key = -1;
    if (key->kind == ALM_X_CONST)
        return ALM_OK;
    *at_key = bind_group_find_key(map, key);
    if (*at_key >= 0)
        return ALM_OK;
    *at_key = (int32_t)map->keys.n;
    return bind_group_add_key(map, key);
}

/* A column of a query around this one is the same in all its rows, and a key like others. */
static const char *bind_group_key_name(const alm_plan *child, const alm_expr *expr)
{
    return expr->kind == ALM_X_COL && expr->col < child->n_cols ? child->cols[expr->col].name
           : expr->kind == ALM_X_CALL                           ? expr->fn->name
                                                                : "key";
}

/* GROUP by the keys whose bit is set in `in` (all: UINT64_MAX), and the real aggregates. */
static alm_status group_node(alm_scope *scope, const alm_group_map *map, const bool *in,
                             alm_plan *child, alm_plan **out)
{
    alm_planner *planner = scope->p;
    alm_plan *node = NULL;
    ALM_TRY(alm_plan_new(planner, ALM_P_GROUP, scope->sel->pos, child, &node));
    ALM_TRY(
        ALM_NEWN(planner->cx, planner->cx->arena, map->keys.n + scope->n_aggs + 1, &node->cols));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, map->keys.n + 1, &node->group.keys));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, scope->n_aggs + 1, &node->group.aggs));
    uint32_t count = 0;
    for (uint32_t k = 0; k < map->keys.n; k++) {
        if (in != NULL && !in[k])
            continue;
        node->group.keys[count] = map->keys.at[k];
        node->cols[count++] =
            (alm_plan_col){bind_group_key_name(child, map->keys.at[k]), map->keys.at[k]->type};
    }
    node->group.n_keys = count;
    for (uint32_t agg = 0; agg < scope->n_aggs; agg++) {
        if (scope->aggs[agg].fn == NULL)
            continue;
        alm_agg_call *call = &node->group.aggs[node->group.n_aggs++];
        *call = scope->aggs[agg];
        if (in != NULL) { /* several nodes: each renumbers its own */
            ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, call->n_args + 1, &call->args));
            for (uint32_t i = 0; i < call->n_args; i++)
                call->args[i] = scope->aggs[agg].args[i];
        }
        node->cols[count++] = (alm_plan_col){scope->aggs[agg].fn->name, scope->aggs[agg].type};
    }
    node->n_cols = count;
    node->ts_col = -1;
    node->order = ALM_ORDER_NONE;
    *out = node;
    return ALM_OK;
}

/* The columns all sets have in common: keys (null where not in the set), aggregates, grouping(). */
static alm_status shape_set(alm_scope *scope, const alm_group_map *map, const bool *in,
                            alm_plan **plan)
{
    alm_planner *planner = scope->p;
    const alm_plan *group = *plan;
    alm_expr **exprs = NULL;
    const char **names = NULL;
    const uint32_t n = map->keys.n + scope->n_aggs;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n + 1, &exprs));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n + 1, &names));
    uint32_t place = 0;
    for (uint32_t k = 0; k < map->keys.n; k++) {
        const alm_expr *key = map->keys.at[k];
        names[k] = "key";
        if (in[k]) {
            ALM_TRY(alm_expr_col(planner->cx, place++, key->type, key->pos, &exprs[k]));
        } else { /* texts of all sets have one form, so symbols are null as texts are */
            ALM_TRY(alm_expr_null(planner->cx, key->type, key->pos, &exprs[k]));
        }
    }
    for (uint32_t agg = 0; agg < scope->n_aggs; agg++) {
        const alm_agg_call *call = &scope->aggs[agg];
        alm_expr **expr = &exprs[map->keys.n + agg];
        names[map->keys.n + agg] = "agg";
        if (call->fn != NULL) {
            ALM_TRY(alm_expr_col(planner->cx, place++, call->type, call->pos, expr));
            continue;
        }
        const int32_t k = bind_group_find_key(map, call->args[0]);
        if (k < 0)
            return alm_fail(planner->cx, ALM_E_FUNCTION, call->pos,
                            "grouping(x) takes one expression of GROUP BY");
        ALM_TRY(alm_expr_bits(planner->cx, call->type, in[k] ? 0 : 1, call->pos, expr));
    }
    ALM_ASSERT(place == group->n_cols);
    return alm_plan_project(planner, *plan, exprs, names, n, plan);
}

/* One GROUP for each set over a copy of the input, one after the other. */
static alm_status group_sets(alm_scope *scope, const alm_group_map *map, const int32_t *key_of,
                             uint32_t n_written)
{
    alm_planner *planner = scope->p;
    const alm_select *sel = scope->sel;
    alm_plan *input = scope->plan, *all = NULL;
    bool *in = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, map->keys.n + 1, &in));
    for (uint32_t group_set = 0; group_set < sel->n_group_sets; group_set++) {
        alm_plan *one = NULL;
        for (uint32_t k = 0; k < map->keys.n; k++)
            in[k] = k >= n_written; /* what is constant anyway is in all of them */
        for (uint32_t group = 0; group < sel->n_group; group++)
            if (key_of[group] >= 0 && (sel->group_sets[group_set] >> group & 1) != 0)
                in[key_of[group]] = true;
        ALM_TRY(alm_plan_copy(planner, input, &one));
        ALM_TRY(group_node(scope, map, in, one, &one));
        ALM_TRY(shape_set(scope, map, in, &one));
        if (all == NULL) {
            all = one;
            continue;
        }
        alm_plan *both = NULL;
        ALM_TRY(alm_plan_new2(planner, ALM_P_SETOP, sel->group_pos, all, one, &both));
        both->cols = all->cols;
        both->n_cols = all->n_cols;
        both->setop.kind = ALM_SETOP_UNION_ALL;
        all = both;
    }
    scope->plan = all;
    return ALM_OK;
}

typedef struct constant_seek {
    alm_group_map *map;
    alm_status code;
} constant_seek;

static bool is_key_col(void *arg, const alm_expr *col)
{
    return bind_group_find_key(arg, col) >= 0;
}

/* Is it one value per group: a subquery of no outer column, or of group keys only? */
static bool is_group_value(const alm_group_map *map, const alm_expr *col)
{
    const alm_scope *scope = map->sc;
    for (uint32_t i = 0; i < scope->constants.n; i++)
        if (scope->constants.at[i]->col == col->col)
            return true;
    for (uint32_t dependent = 0; dependent < scope->n_dependents; dependent++) {
        const alm_dependent *dep = &scope->dependents[dependent];
        bool keys = col->col >= dep->first && col->col < dep->end;
        alm_group_map look = *map;
        for (uint32_t i = 0; keys && i < dep->outer.n; i++)
            keys = bind_group_find_key(map, dep->outer.at[i]) >= 0 ||
                   alm_expr_each_col(dep->outer.at[i], is_key_col, &look);
        if (keys)
            return true;
    }
    return false;
}

static bool add_constant(void *arg, const alm_expr *col)
{
    constant_seek *seek = arg;
    alm_expr *key = NULL;
    alm_ctx *cx = seek->map->sc->p->cx;
    if (!is_group_value(seek->map, col) || bind_group_find_key(seek->map, col) >= 0)
        return true;
    seek->code = alm_expr_col(cx, col->col, col->type, col->pos, &key);
    if (seek->code == ALM_OK)
        seek->code = bind_group_add_key(seek->map, key);
    return seek->code == ALM_OK;
}

/* Subqueries in the list, HAVING and ORDER BY have one value for all rows: keys that split nothing. */
static alm_status add_constants(alm_group_map *map, const alm_stage *stage)
{
    constant_seek seek = {map, ALM_OK};
    for (uint32_t i = 0; i < stage->n_items; i++)
        (void)alm_expr_each_col(stage->items[i].expr, add_constant, &seek);
    if (stage->having != NULL)
        (void)alm_expr_each_col(stage->having, add_constant, &seek);
    if (stage->qualify != NULL)
        (void)alm_expr_each_col(stage->qualify, add_constant, &seek);
    for (uint32_t i = 0; i < stage->n_order; i++)
        if (stage->order[i].expr != NULL)
            (void)alm_expr_each_col(stage->order[i].expr, add_constant, &seek);
    return seek.code;
}

static alm_status written_keys(alm_group_map *map, const alm_stage *stage, int32_t *key_of)
{
    alm_scope *scope = map->sc;
    scope->aggs_allowed = ALM_AGG_YES; /* for a better message below */
    scope->windows_allowed = false;
    for (uint32_t i = 0; i < scope->sel->n_group; i++)
        ALM_TRY(written_key(map, scope->sel->group[i], stage, &key_of[i]));
    if (map->keys.n > 0 || scope->sel->n_group == 0 || scope->sel->n_group_sets > 0)
        return ALM_OK;
    alm_expr *one = NULL; /* only constants: no rows are no group, unlike without GROUP BY */
    ALM_TRY(alm_expr_bool(scope->p->cx, true, scope->sel->pos, &one));
    return bind_group_add_key(map, one);
}

static alm_status implied_keys(alm_group_map *map, const alm_stage *stage)
{
    for (uint32_t i = 0; i < stage->n_items; i++) /* whole items first: they cover columns */
        if (!alm_expr_has_mark(stage->items[i].expr, ALM_COL_AGG | ALM_COL_WIN))
            ALM_TRY(alm_group_collect(map, stage->items[i].expr));
    for (uint32_t i = 0; i < stage->n_items; i++)
        ALM_TRY(alm_group_collect(map, stage->items[i].expr));
    return each_late(map, collect_late);
}

alm_status alm_bind_group(alm_scope *scope, alm_stage *stage)
{
    alm_planner *planner = scope->p;
    alm_group_map map = {.sc = scope,
                         .bucket = UINT32_MAX,
                         .strict = scope->sel->has_group && !scope->sel->group_all};
    int32_t *key_of = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, scope->sel->n_group + 1, &key_of));
    if (map.strict)
        ALM_TRY(written_keys(&map, stage, key_of));
    else
        ALM_TRY(implied_keys(&map, stage));
    const uint32_t n_written = map.keys.n;
    ALM_TRY(add_constants(&map, stage));
    ALM_TRY(alm_stage_replace(&map, stage));
    ALM_TRY(alm_bind_agg_order(scope));
    if (scope->sel->n_group_sets > 0)
        return group_sets(scope, &map, key_of, n_written);
    return group_node(scope, &map, NULL, scope->plan, &scope->plan);
}
