/*
 * sample.c - SAMPLE BY: the bucket column, keys, aggregates, filling, alignment.
 *
 * Bucket      The designated timestamp outside aggregates is the start of the bucket; inside them it
 *             is the timestamp of the row.
 * FILL        One entry serves all aggregates; a list has one for each item with an aggregate.
 */
#include "sql/bind/bind.h"
#include "time/bucket.h"

static alm_time_unit unit_of(alm_type t)
{
    return t.id == ALM_T_TIMESTAMP_NS ? ALM_TIME_NS : ALM_TIME_US;
}

static alm_status const_text(alm_scope *sc, const alm_ast *ast, const char *what, alm_str *out,
                             bool *given)
{
    alm_expr *e = NULL;
    ALM_TRY(alm_bind_const(sc->p, sc->names, ast, what, &e));
    ALM_TRY(alm_param_infer(sc->p, &e, ALM_TY(STRING)));
    *given = e->kind == ALM_X_CONST; /* a parameter without a value: describing */
    if (!*given)
        return ALM_OK;
    bool is_text = false;
    ALM_TRY(alm_expr_string(sc->p->cx, e, &is_text, out));
    if (!is_text)
        return alm_fail(sc->p->cx, ALM_E_ARG, ast->pos, "%s expects a text", what);
    return ALM_OK;
}

static alm_status bind_align(alm_scope *sc, const alm_sample_by *sb, alm_type ts,
                             alm_sample_spec *spec)
{
    alm_ctx *cx = sc->p->cx;
    alm_str text = {0};
    bool given = false;
    spec->first_observation = sb->align == 'f';
    if (sb->zone != NULL) {
        ALM_TRY(const_text(sc, sb->zone, "TIME ZONE", &text, &given));
        const alm_zone *zone = NULL;
        if (given && text.len == 0)
            return alm_fail(cx, ALM_E_ARG, sb->zone->pos, "invalid timezone: ");
        if (given)
            ALM_TRY(alm_zone_find(cx, text, sb->zone->pos, &zone));
        ALM_TRY(alm_arena_zstr(cx, cx->arena, given ? text : ALM_STR("UTC"), &spec->zone));
    }
    if (sb->offset != NULL) {
        ALM_TRY(const_text(sc, sb->offset, "WITH OFFSET", &text, &given));
        if (given && !alm_bucket_offset_parse(text, unit_of(ts), &spec->offset))
            return alm_fail(cx, ALM_E_ARG, sb->offset->pos, "invalid offset: %.*s", (int)text.len,
                            text.ptr);
    }
    return ALM_OK;
}

static alm_status bind_bound(alm_scope *sc, const alm_ast *ast, alm_type ts, bool *has,
                             int64_t *out)
{
    alm_expr *e = NULL;
    if (ast == NULL)
        return ALM_OK;
    ALM_TRY(alm_bind_const(sc->p, sc->names, ast, "FROM and TO", &e));
    ALM_TRY(alm_bind_time(sc->p, e, ts, false, &e));
    if (e->kind == ALM_X_PARAM || alm_expr_is_null(e))
        return ALM_OK;
    ALM_TRY(alm_expr_cast(sc->p, e, ts, ALM_CAST_IMPLICIT, &e));
    *has = alm_expr_int(e, out);
    return ALM_OK;
}

/* With TIME ZONE the bounds are what the clock of the zone shows. */
static alm_status bounds_to_utc(alm_ctx *cx, alm_type ts, alm_sample_spec *spec)
{
    const alm_zone *zone = NULL;
    if (spec->zone == NULL)
        return ALM_OK;
    ALM_TRY(alm_zone_find(cx, alm_str_of(spec->zone), -1, &zone));
    if (spec->has_from)
        spec->from = alm_zone_border(zone, spec->from, unit_of(ts));
    if (spec->has_to)
        spec->to = alm_zone_border(zone, spec->to, unit_of(ts));
    return ALM_OK;
}

static alm_status bind_period(alm_scope *sc, const alm_sample_by *sb, alm_sample_spec *spec)
{
    spec->unit = sb->unit;
    spec->count = sb->count;
    if (sb->count_expr != NULL) {
        alm_expr *e = NULL;
        ALM_TRY(alm_bind_const(sc->p, sc->names, sb->count_expr, "SAMPLE BY", &e));
        ALM_TRY(alm_param_infer(sc->p, &e, ALM_TY(LONG)));
        if (e->kind == ALM_X_CONST && !alm_expr_int(e, &spec->count))
            return alm_fail(sc->p->cx, ALM_E_ARG, sb->count_expr->pos, "number expected");
        if (e->kind == ALM_X_PARAM)
            spec->count = 1;
    }
    if (spec->count <= 0)
        return alm_fail(sc->p->cx, ALM_E_ARG, sb->pos, "positive number expected: %lld%c",
                        (long long)spec->count, spec->unit);
    return ALM_OK;
}

/* ---------------------------------------------------------------------- FILL */

typedef struct agg_range {
    uint32_t lo, hi; /* of the aggregates an item uses */
} agg_range;

static bool widen_range(void *arg, const alm_expr *col)
{
    agg_range *r = arg;
    if ((col->col & ALM_COL_AGG) != 0) {
        const uint32_t i = col->col & ALM_COL_NUMBER;
        r->lo = ALM_MIN(r->lo, i);
        r->hi = ALM_MAX(r->hi, i + 1);
    }
    return true;
}

static alm_status fill_one(alm_scope *sc, const alm_fill *fill, const alm_agg_call *agg,
                           alm_fill_spec *out)
{
    alm_planner *p = sc->p;
    out->kind = fill->kind;
    if (fill->kind != 'v')
        return ALM_OK;
    alm_expr *e = NULL;
    ALM_TRY(alm_bind_const(p, sc->names, fill->value, "FILL", &e));
    if (alm_type_is_timestamp(agg->type) || agg->type.id == ALM_T_DATE)
        ALM_TRY(alm_bind_time(p, e, agg->type, false, &e));
    alm_expr *cast = NULL;
    ALM_TRY(alm_expr_try_cast(p, e, agg->type, ALM_CAST_ASSIGN, &cast));
    if (cast == NULL)
        ALM_TRY(alm_expr_cast(p, e, agg->type, ALM_CAST_EXPLICIT, &cast));
    out->value = cast;
    return ALM_OK;
}

/* PREV(column): the aggregate that is this column of the result. */
static alm_status find_prev(alm_scope *sc, const alm_fill *fill, const alm_stage *st, uint32_t self,
                            uint32_t *out)
{
    alm_ctx *cx = sc->p->cx;
    *out = 0;
    ALM_TRY(alm_steps_add(cx, 1));
    if (fill->prev.ptr == NULL)
        return ALM_OK;
    ALM_TRY(alm_steps_add(cx, st->n_items));
    for (uint32_t i = 0; i < st->n_items; i++) {
        const alm_expr *e = st->items[i].expr;
        if (!alm_str_ieq(fill->prev, st->items[i].name))
            continue;
        if (e->kind != ALM_X_COL || (e->col & ALM_COL_AGG) == 0)
            return alm_fail(cx, ALM_E_ARG, fill->pos, "PREV takes the column of an aggregate: %.*s",
                            (int)fill->prev.len, fill->prev.ptr);
        const uint32_t other = e->col & ALM_COL_NUMBER;
        const alm_type to = sc->aggs[self].type;
        *out = 1 + other;
        if (!alm_type_eq(sc->aggs[other].type, to) || to.id == ALM_T_SYMBOL)
            return alm_fail(cx, ALM_E_TYPE, fill->pos, "PREV cannot fill %s from %s",
                            alm_type_name(to), alm_type_name(sc->aggs[other].type));
        return ALM_OK;
    }
    return alm_fail(cx, ALM_E_NAME, fill->pos, "Invalid column: %.*s", (int)fill->prev.len,
                    fill->prev.ptr);
}

static alm_status bind_fill(alm_scope *sc, const alm_sample_by *sb, const alm_stage *st,
                            alm_sample_spec *spec)
{
    alm_ctx *cx = sc->p->cx;
    if (sb->n_fill == 0 || (sb->n_fill == 1 && sb->fill[0].kind == 'n'))
        return ALM_OK;
    for (uint32_t i = 0; i < sb->n_fill; i++)
        if (sb->fill[i].kind == 'n')
            return alm_fail(cx, ALM_E_ARG, sb->fill[i].pos, "invalid fill value: NONE");
    ALM_TRY(ALM_NEWN(cx, cx->arena, sc->n_aggs + 1, &spec->fill));
    for (uint32_t a = 0; a < sc->n_aggs; a++)
        spec->fill[a].kind = 'N';
    uint32_t at = 0, filled = 0;
    for (uint32_t i = 0; i < st->n_items; i++) {
        agg_range r = {UINT32_MAX, 0};
        (void)alm_expr_each_col(st->items[i].expr, widen_range, &r);
        if (r.hi == 0)
            continue;
        filled++;
        if (sb->n_fill > 1 && at >= sb->n_fill)
            return alm_fail(cx, ALM_E_ARG, sb->fill[0].pos, "not enough fill values");
        const alm_fill *fill = &sb->fill[sb->n_fill == 1 ? 0 : at++];
        for (uint32_t a = r.lo; a < r.hi; a++) {
            ALM_TRY(fill_one(sc, fill, &sc->aggs[a], &spec->fill[a]));
            ALM_TRY(find_prev(sc, fill, st, a, &spec->fill[a].prev));
        }
    }
    if (sb->n_fill > 1 && at < sb->n_fill && filled > 1) /* one aggregate takes the first */
        return alm_fail(cx, ALM_E_ARG, sb->fill[at].pos, "too many fill values");
    return ALM_OK;
}

/* --------------------------------------------------------------------- node */

static alm_status check(alm_scope *sc, const alm_stage *st)
{
    alm_ctx *cx = sc->p->cx;
    const alm_sample_by *sb = sc->sel->sample;
    for (uint32_t i = 0; i < st->n_items; i++)
        if (st->items[i].star)
            return alm_fail(cx, ALM_E_SYNTAX, st->items[i].pos,
                            "wildcard column select is not allowed in sample-by queries");
    if (sc->plan->ts_col < 0)
        return alm_fail(cx, ALM_E_TYPE, sc->sel->pos,
                        "base query does not provide designated TIMESTAMP column");
    if (sc->n_aggs == 0)
        return alm_fail(cx, ALM_E_SYNTAX, sb->pos,
                        "at least one aggregation function must be present in 'select' clause");
    if (sb->align == 'f' && (sb->from != NULL || sb->to != NULL))
        return alm_fail(cx, ALM_E_SYNTAX, sb->pos,
                        "ALIGN TO FIRST OBSERVATION is incompatible with FROM-TO");
    return ALM_OK;
}

static alm_status shape(alm_scope *sc, alm_plan *node, const alm_group_map *map, alm_type ts)
{
    const alm_plan *child = node->child[0];
    node->n_cols = 1 + map->keys.n + sc->n_aggs;
    ALM_TRY(ALM_NEWN(sc->p->cx, sc->p->cx->arena, node->n_cols, &node->cols));
    node->cols[0] = (alm_plan_col){child->cols[child->ts_col].name, ts};
    for (uint32_t k = 0; k < map->keys.n; k++) {
        const alm_expr *key = map->keys.at[k];
        node->cols[1 + k] =
            (alm_plan_col){key->kind == ALM_X_COL ? child->cols[key->col].name : "key", key->type};
    }
    for (uint32_t a = 0; a < sc->n_aggs; a++)
        node->cols[1 + map->keys.n + a] = (alm_plan_col){sc->aggs[a].fn->name, sc->aggs[a].type};
    node->ts_col = 0;
    node->order = ALM_ORDER_ASC;
    return ALM_OK;
}

alm_status alm_bind_sample(alm_scope *sc, alm_stage *st)
{
    alm_planner *p = sc->p;
    const alm_sample_by *sb = sc->sel->sample;
    ALM_TRY(check(sc, st));
    const uint32_t ts_col = (uint32_t)sc->plan->ts_col;
    const alm_type ts = sc->plan->cols[ts_col].type;
    ALM_TRY(alm_plan_order_by_ts(p, &sc->plan, ts_col));
    alm_sample_spec spec = {.ts_col = ts_col};
    ALM_TRY(bind_period(sc, sb, &spec));
    ALM_TRY(bind_align(sc, sb, ts, &spec));
    ALM_TRY(bind_bound(sc, sb->from, ts, &spec.has_from, &spec.from));
    ALM_TRY(bind_bound(sc, sb->to, ts, &spec.has_to, &spec.to));
    ALM_TRY(bounds_to_utc(sc->p->cx, ts, &spec));
    ALM_TRY(bind_fill(sc, sb, st, &spec));
    alm_bucketer bucketer;
    const alm_bucket_spec trial = {
        .unit = spec.unit, .count = spec.count, .time_unit = unit_of(ts)};
    ALM_TRY(alm_bucketer_init(p->cx, sb->pos, &trial, &bucketer));

    alm_group_map map = {.sc = sc, .bucket = ts_col, .first_key = 1};
    for (uint32_t i = 0; i < st->n_items; i++)
        if (!alm_expr_has_mark(st->items[i].expr, ALM_COL_AGG | ALM_COL_WIN))
            ALM_TRY(alm_group_collect(&map, st->items[i].expr));
    for (uint32_t i = 0; i < st->n_items; i++)
        ALM_TRY(alm_group_collect(&map, st->items[i].expr));
    /* the bucket itself is no key */
    ALM_TRY(alm_stage_replace(&map, st));
    alm_plan *node = NULL;
    ALM_TRY(alm_plan_new(p, ALM_P_SAMPLE, sb->pos, sc->plan, &node));
    spec.keys = map.keys.at;
    spec.n_keys = map.keys.n;
    spec.aggs = sc->aggs;
    spec.n_aggs = sc->n_aggs;
    node->sample = spec;
    ALM_TRY(shape(sc, node, &map, ts));
    sc->plan = node;
    return ALM_OK;
}
