/*
 * sample.c - SAMPLE BY: the bucket column, keys, aggregates, filling, alignment.
 *
 * Bucket      The designated timestamp outside aggregates is the start of the bucket; inside them it
 *             is the timestamp of the row.
 * FILL        One entry serves all aggregates; a list has one for each item with an aggregate.
 */
#include "sql/bind/bind.h"
#include "time/bucket.h"

static alm_time_unit bind_sample_unit_of(alm_type type)
{
    return type.id == ALM_T_TIMESTAMP_NS ? ALM_TIME_NS : ALM_TIME_US;
}

static alm_status const_text(alm_scope *scope, const alm_ast *ast, const char *what, alm_str *out,
                             bool *given)
{
    alm_expr *expr = NULL;
    ALM_TRY(alm_bind_const(scope->p, scope->names, ast, what, &expr));
    ALM_TRY(alm_param_infer(scope->p, &expr, ALM_TY(STRING)));
    *given = expr->kind == ALM_X_CONST; /* a parameter without a value: describing */
    if (!*given)
        return ALM_OK;
    bool is_text = false;
    ALM_TRY(alm_expr_string(scope->p->cx, expr, &is_text, out));
    if (!is_text)
        return alm_fail(scope->p->cx, ALM_E_ARG, ast->pos, "%s expects a text", what);
    return ALM_OK;
}

static alm_status bind_align(alm_scope *scope, const alm_sample_by *sample_by, alm_type ts_type,
                             alm_sample_spec *spec)
{
    alm_ctx *cx = scope->p->cx;
    alm_str text = {0};
    bool given = false;
    spec->first_observation = sample_by->align == 'f';
    if (sample_by->zone != NULL) {
        ALM_TRY(const_text(scope, sample_by->zone, "TIME ZONE", &text, &given));
        const alm_zone *zone = NULL;
        if (given && text.len == 0)
            return alm_fail(cx, ALM_E_ARG, sample_by->zone->pos, "invalid timezone: ");
        if (given)
            ALM_TRY(alm_zone_find(cx, text, sample_by->zone->pos, &zone));
        ALM_TRY(alm_arena_zstr(cx, cx->arena, given ? text : ALM_STR("UTC"), &spec->zone));
    }
    if (sample_by->offset != NULL) {
        ALM_TRY(const_text(scope, sample_by->offset, "WITH OFFSET", &text, &given));
        if (given && !alm_bucket_offset_parse(text, bind_sample_unit_of(ts_type), &spec->offset))
            return alm_fail(cx, ALM_E_ARG, sample_by->offset->pos, "invalid offset: %.*s",
                            (int)text.len, text.ptr);
    }
    return ALM_OK;
}

static alm_status bind_bound(alm_scope *scope, const alm_ast *ast, alm_type ts_type, bool *has,
                             int64_t *out)
{
    alm_expr *expr = NULL;
    if (ast == NULL)
        return ALM_OK;
    ALM_TRY(alm_bind_const(scope->p, scope->names, ast, "FROM and TO", &expr));
    ALM_TRY(alm_bind_time(scope->p, expr, ts_type, false, &expr));
    if (expr->kind == ALM_X_PARAM || alm_expr_is_null(expr))
        return ALM_OK;
    ALM_TRY(alm_expr_cast(scope->p, expr, ts_type, ALM_CAST_IMPLICIT, &expr));
    *has = alm_expr_int(expr, out);
    return ALM_OK;
}

/* With TIME ZONE the bounds are what the clock of the zone shows. */
static alm_status bounds_to_utc(alm_ctx *cx, alm_type ts_type, alm_sample_spec *spec)
{
    const alm_zone *zone = NULL;
    if (spec->zone == NULL)
        return ALM_OK;
    ALM_TRY(alm_zone_find(cx, alm_str_of(spec->zone), -1, &zone));
    if (spec->has_from)
        spec->from = alm_zone_border(zone, spec->from, bind_sample_unit_of(ts_type));
    if (spec->has_to)
        spec->to = alm_zone_border(zone, spec->to, bind_sample_unit_of(ts_type));
    return ALM_OK;
}

static alm_status bind_period(alm_scope *scope, const alm_sample_by *sample_by,
                              alm_sample_spec *spec)
{
    spec->unit = sample_by->unit;
    spec->count = sample_by->count;
    if (sample_by->count_expr != NULL) {
        alm_expr *expr = NULL;
        ALM_TRY(alm_bind_const(scope->p, scope->names, sample_by->count_expr, "SAMPLE BY", &expr));
        ALM_TRY(alm_param_infer(scope->p, &expr, ALM_TY(LONG)));
        if (expr->kind == ALM_X_CONST && !alm_expr_int(expr, &spec->count))
            return alm_fail(scope->p->cx, ALM_E_ARG, sample_by->count_expr->pos, "number expected");
        if (expr->kind == ALM_X_PARAM)
            spec->count = 1;
    }
    if (spec->count <= 0)
        return alm_fail(scope->p->cx, ALM_E_ARG, sample_by->pos, "positive number expected: %lld%c",
                        (long long)spec->count, spec->unit);
    return ALM_OK;
}

/* ---------------------------------------------------------------------- FILL */

typedef struct agg_range {
    uint32_t lo, hi; /* of the aggregates an item uses */
} agg_range;

static bool widen_range(void *arg, const alm_expr *col)
{
    agg_range *range = arg;
    if ((col->col & ALM_COL_AGG) != 0) {
        const uint32_t i = col->col & ALM_COL_NUMBER;
        range->lo = ALM_MIN(range->lo, i);
        range->hi = ALM_MAX(range->hi, i + 1);
    }
    return true;
}

static alm_status fill_one(alm_scope *scope, const alm_fill *fill, const alm_agg_call *agg,
                           alm_fill_spec *out)
{
    alm_planner *planner = scope->p;
    out->kind = fill->kind;
    if (fill->kind != 'v')
        return ALM_OK;
    alm_expr *expr = NULL;
    ALM_TRY(alm_bind_const(planner, scope->names, fill->value, "FILL", &expr));
    if (alm_type_is_timestamp(agg->type) || agg->type.id == ALM_T_DATE)
        ALM_TRY(alm_bind_time(planner, expr, agg->type, false, &expr));
    alm_expr *cast = NULL;
    ALM_TRY(alm_expr_try_cast(planner, expr, agg->type, ALM_CAST_ASSIGN, &cast));
    if (cast == NULL)
        ALM_TRY(alm_expr_cast(planner, expr, agg->type, ALM_CAST_EXPLICIT, &cast));
    out->value = cast;
    return ALM_OK;
}

/* PREV(column): the aggregate that is this column of the result. */
static alm_status find_prev(alm_scope *scope, const alm_fill *fill, const alm_stage *stage,
                            uint32_t self, uint32_t *out)
{
    alm_ctx *cx = scope->p->cx;
    *out = 0;
    ALM_TRY(alm_steps_add(cx, 1));
    if (fill->prev.ptr == NULL)
        return ALM_OK;
    ALM_TRY(alm_steps_add(cx, stage->n_items));
    for (uint32_t i = 0; i < stage->n_items; i++) {
        const alm_expr *expr = stage->items[i].expr;
        if (!alm_str_ieq(fill->prev, stage->items[i].name))
            continue;
        if (expr->kind != ALM_X_COL || (expr->col & ALM_COL_AGG) == 0)
            return alm_fail(cx, ALM_E_ARG, fill->pos, "PREV takes the column of an aggregate: %.*s",
                            (int)fill->prev.len, fill->prev.ptr);
        const uint32_t other = expr->col & ALM_COL_NUMBER;
        const alm_type target = scope->aggs[self].type;
        *out = 1 + other;
        if (!alm_type_eq(scope->aggs[other].type, target) || target.id == ALM_T_SYMBOL)
            return alm_fail(cx, ALM_E_TYPE, fill->pos, "PREV cannot fill %s from %s",
                            alm_type_name(target), alm_type_name(scope->aggs[other].type));
        return ALM_OK;
    }
    return alm_fail(cx, ALM_E_NAME, fill->pos, "Invalid column: %.*s", (int)fill->prev.len,
                    fill->prev.ptr);
}

static alm_status bind_fill(alm_scope *scope, const alm_sample_by *sample_by,
                            const alm_stage *stage, alm_sample_spec *spec)
{
    alm_ctx *cx = scope->p->cx;
    if (sample_by->n_fill == 0 || (sample_by->n_fill == 1 && sample_by->fill[0].kind == 'n'))
        return ALM_OK;
    for (uint32_t i = 0; i < sample_by->n_fill; i++)
        if (sample_by->fill[i].kind == 'n')
            return alm_fail(cx, ALM_E_ARG, sample_by->fill[i].pos, "invalid fill value: NONE");
    ALM_TRY(ALM_NEWN(cx, cx->arena, scope->n_aggs + 1, &spec->fill));
    for (uint32_t agg = 0; agg < scope->n_aggs; agg++)
        spec->fill[agg].kind = 'N';
    uint32_t place = 0, filled = 0;
    for (uint32_t i = 0; i < stage->n_items; i++) {
        agg_range range = {UINT32_MAX, 0};
        (void)alm_expr_each_col(stage->items[i].expr, widen_range, &range);
        if (range.hi == 0)
            continue;
        filled++;
        if (sample_by->n_fill > 1 && place >= sample_by->n_fill)
            return alm_fail(cx, ALM_E_ARG, sample_by->fill[0].pos, "not enough fill values");
        const alm_fill *fill = &sample_by->fill[sample_by->n_fill == 1 ? 0 : place++];
        for (uint32_t a = range.lo; a < range.hi; a++) {
            ALM_TRY(fill_one(scope, fill, &scope->aggs[a], &spec->fill[a]));
            ALM_TRY(find_prev(scope, fill, stage, a, &spec->fill[a].prev));
        }
    }
    if (sample_by->n_fill > 1 && place < sample_by->n_fill &&
        filled > 1) /* one aggregate takes the first */
        return alm_fail(cx, ALM_E_ARG, sample_by->fill[place].pos, "too many fill values");
    return ALM_OK;
}

/* --------------------------------------------------------------------- node */

static alm_status bind_sample_check(alm_scope *scope, const alm_stage *stage)
{
    alm_ctx *cx = scope->p->cx;
    const alm_sample_by *sample_by = scope->sel->sample;
    for (uint32_t i = 0; i < stage->n_items; i++)
        if (stage->items[i].star)
            return alm_fail(cx, ALM_E_SYNTAX, stage->items[i].pos,
                            "wildcard column select is not allowed in sample-by queries");
    if (scope->plan->ts_col < 0)
        return alm_fail(cx, ALM_E_TYPE, scope->sel->pos,
                        "base query does not provide designated TIMESTAMP column");
    if (scope->n_aggs == 0)
        return alm_fail(cx, ALM_E_SYNTAX, sample_by->pos,
                        "at least one aggregation function must be present in 'select' clause");
    if (sample_by->align == 'f' && (sample_by->from != NULL || sample_by->to != NULL))
        return alm_fail(cx, ALM_E_SYNTAX, sample_by->pos,
                        "ALIGN TO FIRST OBSERVATION is incompatible with FROM-TO");
    return ALM_OK;
}

static alm_status shape(alm_scope *scope, alm_plan *node, const alm_group_map *map,
                        alm_type ts_type)
{
    const alm_plan *child = node->child[0];
    node->n_cols = 1 + map->keys.n + scope->n_aggs;
    ALM_TRY(ALM_NEWN(scope->p->cx, scope->p->cx->arena, node->n_cols, &node->cols));
    node->cols[0] = (alm_plan_col){child->cols[child->ts_col].name, ts_type};
    for (uint32_t k = 0; k < map->keys.n; k++) {
        const alm_expr *key = map->keys.at[k];
        node->cols[1 + k] =
            (alm_plan_col){key->kind == ALM_X_COL ? child->cols[key->col].name : "key", key->type};
    }
    for (uint32_t agg = 0; agg < scope->n_aggs; agg++)
        node->cols[1 + map->keys.n + agg] =
            (alm_plan_col){scope->aggs[agg].fn->name, scope->aggs[agg].type};
    node->ts_col = 0;
    node->order = ALM_ORDER_ASC;
    return ALM_OK;
}

alm_status alm_bind_sample(alm_scope *scope, alm_stage *stage)
{
    alm_planner *planner = scope->p;
    const alm_sample_by *sample_by = scope->sel->sample;
    ALM_TRY(bind_sample_check(scope, stage));
    const uint32_t ts_col = (uint32_t)scope->plan->ts_col;
    const alm_type ts_type = scope->plan->cols[ts_col].type;
    ALM_TRY(alm_plan_order_by_ts(planner, &scope->plan, ts_col));
    alm_sample_spec spec = {.ts_col = ts_col};
    ALM_TRY(bind_period(scope, sample_by, &spec));
    ALM_TRY(bind_align(scope, sample_by, ts_type, &spec));
    ALM_TRY(bind_bound(scope, sample_by->from, ts_type, &spec.has_from, &spec.from));
    ALM_TRY(bind_bound(scope, sample_by->to, ts_type, &spec.has_to, &spec.to));
    ALM_TRY(bounds_to_utc(scope->p->cx, ts_type, &spec));
    ALM_TRY(bind_fill(scope, sample_by, stage, &spec));
    alm_bucketer bucketer;
    const alm_bucket_spec trial = {
        .unit = spec.unit, .count = spec.count, .time_unit = bind_sample_unit_of(ts_type)};
    ALM_TRY(alm_bucketer_init(planner->cx, sample_by->pos, &trial, &bucketer));

    alm_group_map map = {.sc = scope, .bucket = ts_col, .first_key = 1};
    for (uint32_t i = 0; i < stage->n_items; i++)
        if (!alm_expr_has_mark(stage->items[i].expr, ALM_COL_AGG | ALM_COL_WIN))
            ALM_TRY(alm_group_collect(&map, stage->items[i].expr));
    for (uint32_t i = 0; i < stage->n_items; i++)
        ALM_TRY(alm_group_collect(&map, stage->items[i].expr));
    /* the bucket itself is no key */
    ALM_TRY(alm_stage_replace(&map, stage));
    alm_plan *node = NULL;
    ALM_TRY(alm_plan_new(planner, ALM_P_SAMPLE, sample_by->pos, scope->plan, &node));
    spec.keys = map.keys.at;
    spec.n_keys = map.keys.n;
    spec.aggs = scope->aggs;
    spec.n_aggs = scope->n_aggs;
    node->sample = spec;
    ALM_TRY(shape(scope, node, &map, ts_type));
    scope->plan = node;
    return ALM_OK;
}
