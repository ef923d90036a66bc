/*
 * pivot.c - PIVOT: one aggregate for each combination of values, each over the rows that have
 * them; the rest of the SELECT sees the result as its only relation.
 *
 * Names       The values (or their aliases) joined by '_'; behind them the aggregate's alias, or its
 *             text where there are several aggregates.
 * Lists       A list from a query is run while the statement is planned: its values are columns.
 */
#include "sql/bind/bind.h"
#include "sql/opt/opt.h"

enum { COMBINATIONS_MAX = 5000 };

typedef struct pivot_out {
    alm_item *items;
    uint32_t n, cap;
} pivot_out;

static alm_status pivot_add_item(alm_scope *scope, pivot_out *out, alm_item item)
{
    for (uint32_t i = 0; i < out->n; i++)
        if (alm_str_ieq(out->items[i].name, item.name))
            return alm_fail(scope->p->cx, ALM_E_DUPLICATE, item.pos, "Duplicate column [name=%.*s]",
                            (int)item.name.len, item.name.ptr);
    ALM_TRY(alm_grow(scope->p->cx, &out->items, out->n, &out->cap, sizeof *out->items));
    out->items[out->n++] = item;
    return ALM_OK;
}

static alm_status value_name(alm_scope *scope, const alm_select_item *value, alm_str *out)
{
    const alm_ast *ast = value->expr;
    if (value->alias.len > 0) {
        *out = value->alias;
    } else if (ast->kind == ALM_AST_STRING || ast->kind == ALM_AST_NUMBER) {
        *out = ast->text;
    } else {
        const char *text = NULL;
        ALM_TRY(alm_ast_name(scope->p->cx, ast, &text));
        *out = alm_str_of(text);
    }
    return ALM_OK;
}

/* column = value, as WHERE would have it. */
static alm_status value_test(alm_scope *scope, const alm_pivot_for *pivot_for,
                             const alm_select_item *value, alm_expr **out)
{
    alm_expr *column = NULL, *constant = NULL;
    ALM_TRY(alm_bind_expr(scope, pivot_for->column, &column));
    ALM_TRY(alm_bind_expr(scope, value->expr, &constant));
    if (constant->kind != ALM_X_CONST)
        return alm_fail(scope->p->cx, ALM_E_ARG, value->expr->pos, "missing constant");
    return alm_bind_compare(scope, "=", value->expr->pos, column, constant, out);
}

static alm_status add_aggregates(alm_scope *scope, const alm_pivot *pivot, alm_str prefix,
                                 pivot_out *out)
{
    alm_ctx *cx = scope->p->cx;
    for (uint32_t a = 0; a < pivot->n_aggs; a++) {
        const alm_select_item *agg = &pivot->aggs[a];
        const char *text = NULL;
        alm_item item = {.name = prefix, .pos = agg->expr->pos};
        scope->aggs_allowed = ALM_AGG_YES;
        ALM_TRY(alm_bind_expr(scope, agg->expr, &item.expr));
        ALM_TRY(alm_ast_name(cx, agg->expr, &text));
        if (!alm_expr_has_mark(item.expr, ALM_COL_AGG))
            return alm_fail(cx, ALM_E_SYNTAX, agg->expr->pos,
                            "expected aggregate function [col=%s]", text);
        if (agg->alias.len > 0 || pivot->n_aggs > 1) {
            const alm_str tail = agg->alias.len > 0 ? agg->alias : alm_str_of(text);
            ALM_TRY(alm_arena_printf(cx, cx->arena, &text, "%.*s_%.*s", (int)prefix.len, prefix.ptr,
                                     (int)tail.len, tail.ptr));
            item.name = alm_str_of(text);
        }
        ALM_TRY(pivot_add_item(scope, out, item));
    }
    return ALM_OK;
}

static alm_status value_node(alm_planner *planner, alm_type type, alm_str text, int32_t pos,
                             alm_ast **out)
{
    ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, out));
    const alm_type_class cls = alm_type_info_of(type)->cls;
    (*out)->kind = text.ptr == NULL                                  ? ALM_AST_NULL
                   : type.id == ALM_T_BOOLEAN                        ? ALM_AST_BOOL
                   : cls == ALM_TC_INTEGER || cls == ALM_TC_FLOATING ? ALM_AST_NUMBER
                                                                     : ALM_AST_STRING;
    (*out)->pos = pos;
    (*out)->depth = 1;
    (*out)->text = text;
    (*out)->raw = text;
    return ALM_OK;
}

/* FOR column IN (SELECT ...): the values as if they were written out. */
static alm_status query_values(alm_scope *scope, alm_pivot_for *pivot_for)
{
    alm_planner own;
    alm_ctx *cx = scope->p->cx;
    alm_plan *plan = NULL;
    alm_str *texts = NULL;
    uint32_t n = 0;
    ALM_TRY(alm_bind_apart(scope, &own, pivot_for->select, pivot_for->in_pos, &plan));
    if (plan->n_cols != 1)
        return alm_fail(cx, ALM_E_SYNTAX, pivot_for->in_pos,
                        "PIVOT IN subquery must return exactly one column, got %u", plan->n_cols);
    const alm_type type = plan->cols[0].type, text = ALM_TY(STRING);
    ALM_TRY(alm_plan_cast(&own, &plan, &text, ALM_CAST_EXPLICIT));
    ALM_TRY(alm_optimise(&own, &plan));
    if (own.env->texts == NULL)
        return alm_fail(cx, ALM_E_UNSUPPORTED, pivot_for->in_pos,
                        "PIVOT over a query cannot be run here");
    alm_use_once(&own);
    ALM_TRY(own.env->texts(cx, own.env->snapshot, own.env->registry, plan, COMBINATIONS_MAX, &texts,
                           &n));
    if (n == 0)
        return alm_fail(cx, ALM_E_VALUE, pivot_for->in_pos,
                        "PIVOT IN subquery returned empty result set");
    if (n > COMBINATIONS_MAX)
        return alm_fail(cx, ALM_E_LIMIT, pivot_for->in_pos,
                        "PIVOT gives too many columns (limit %d)", COMBINATIONS_MAX);
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &pivot_for->values));
    pivot_for->n_values = 0;
    for (uint32_t i = 0; i < n; i++) {
        bool seen = false; /* without DISTINCT: each value once */
        for (uint32_t k = 0; k < i; k++)
            seen |=
                (texts[i].ptr == NULL) == (texts[k].ptr == NULL) && alm_str_eq(texts[i], texts[k]);
        if (!seen)
            ALM_TRY(value_node(scope->p, type, texts[i], pivot_for->in_pos,
                               &pivot_for->values[pivot_for->n_values++].expr));
    }
    return ALM_OK;
}

/* Values of the lists from `level` on, those before are in `prefix` and `test`. */
static alm_status pivot_combine(alm_scope *scope, const alm_pivot *pivot, uint32_t level,
                                alm_str prefix, alm_expr *test, pivot_out *out)
{
    alm_ctx *cx = scope->p->cx;
    if (level == pivot->n_fors) {
        if (out->n > COMBINATIONS_MAX)
            return alm_fail(cx, ALM_E_LIMIT, pivot->pos, "PIVOT gives too many columns (limit %d)",
                            COMBINATIONS_MAX);
        scope->agg_filter = test;
        ALM_TRY(add_aggregates(scope, pivot, prefix, out));
        scope->agg_filter = NULL;
        return ALM_OK;
    }
    const alm_pivot_for *pivot_for = &pivot->fors[level];
    alm_pivot_for listed = *pivot_for;
    if (pivot_for->select != NULL) {
        ALM_TRY(query_values(scope, &listed));
        pivot_for = &listed;
    }
    for (uint32_t value = 0; value < pivot_for->n_values; value++) {
        alm_expr *own = NULL, *both = NULL;
        alm_str name = {0};
        ALM_TRY(value_name(scope, &pivot_for->values[value], &name));
        for (uint32_t w = 0; w < value; w++) {
            alm_str other = {0};
            ALM_TRY(value_name(scope, &pivot_for->values[w], &other));
            if (alm_str_eq(name, other))
                return alm_fail(cx, ALM_E_DUPLICATE, pivot_for->values[value].expr->pos,
                                "duplicate value in PIVOT IN list: '%.*s'", (int)name.len,
                                name.ptr);
        }
        if (level > 0) {
            const char *text = NULL;
            ALM_TRY(alm_arena_printf(cx, cx->arena, &text, "%.*s_%.*s", (int)prefix.len, prefix.ptr,
                                     (int)name.len, name.ptr));
            name = alm_str_of(text);
        }
        ALM_TRY(value_test(scope, pivot_for, &pivot_for->values[value], &own));
        ALM_TRY(alm_expr_and(scope->p, test, own, &both));
        ALM_TRY(pivot_combine(scope, pivot, level + 1, name, both, out));
    }
    return ALM_OK;
}

static alm_status add_keys(alm_scope *scope, const alm_pivot *pivot, pivot_out *out)
{
    for (uint32_t group = 0; group < pivot->n_group; group++) {
        const alm_ast *ast = pivot->group[group];
        alm_item item = {.pos = ast->pos};
        ALM_TRY(alm_bind_expr(scope, ast, &item.expr));
        if (ast->kind == ALM_AST_NAME) {
            item.name = ast->text;
        } else {
            const char *text = NULL;
            ALM_TRY(alm_ast_name(scope->p->cx, ast, &text));
            item.name = alm_str_of(text);
        }
        ALM_TRY(pivot_add_item(scope, out, item));
    }
    return ALM_OK;
}

alm_status alm_bind_pivot(alm_scope *scope)
{
    alm_planner *planner = scope->p;
    const alm_pivot *pivot = scope->sel->ext;
    pivot_out out = {0};
    if (pivot == NULL)
        return ALM_OK;
    alm_scope inner = {.p = planner,
                       .names = scope->names,
                       .rels = scope->rels,
                       .n_rels = scope->n_rels,
                       .plan = scope->plan,
                       .share_aggs = true};
    static const alm_select none = {0};
    inner.sel = &none;
    ALM_TRY(add_keys(&inner, pivot, &out));
    ALM_TRY(pivot_combine(&inner, pivot, 0, (alm_str){0}, NULL, &out));
    alm_stage stage = {.items = out.items, .n_items = out.n};
    ALM_TRY(alm_bind_group(&inner, &stage));
    alm_expr **exprs = NULL;
    const char **names = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, out.n + 1, &exprs));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, out.n + 1, &names));
    for (uint32_t i = 0; i < out.n; i++) {
        exprs[i] = stage.items[i].expr;
        ALM_TRY(alm_arena_zstr(planner->cx, planner->cx->arena, stage.items[i].name, &names[i]));
    }
    const alm_str alias = scope->n_rels > 0 ? scope->rels[0].alias : (alm_str){0};
    ALM_TRY(alm_plan_project(planner, inner.plan, exprs, names, out.n, &scope->plan));
    scope->rels = NULL;
    scope->n_rels = scope->cap_rels = 0;
    return alm_scope_add(scope, alias, NULL, scope->plan, 0);
}
