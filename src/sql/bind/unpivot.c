/*
 * unpivot.c - UNPIVOT: a row for each of the columns listed, with the name of the column and its value.
 *
 * Columns     Those that are not listed, then the name, then the value, in the type where the columns meet.
 * Rows        In their order, the columns of each in the order of the list; those without a value are left out,
 *             unless nulls are asked for.
 * Method      The rows are joined with the numbers and names of the list; the value is chosen by the number.
 */
#include "sql/bind/bind.h"

typedef struct unpivot {
    alm_scope inner; /* what stands before it */
    alm_item *items; /* all of its columns */
    uint32_t n_items;
    bool *taken;
    uint32_t *listed; /* the item of each column of the list */
} unpivot;

static alm_status take_columns(alm_scope *sc, const alm_unpivot *u, unpivot *w)
{
    alm_ctx *cx = sc->p->cx;
    ALM_TRY(ALM_NEWN(cx, cx->arena, w->n_items + 1, &w->taken));
    ALM_TRY(ALM_NEWN(cx, cx->arena, u->n_columns + 1, &w->listed));
    for (uint32_t i = 0; i < u->n_columns; i++) {
        const alm_ast *ast = u->columns[i].expr;
        alm_expr *column = NULL;
        uint32_t at = 0;
        ALM_TRY(alm_bind_expr(&w->inner, ast, &column));
        while (at < w->n_items && !alm_expr_equal(w->items[at].expr, column))
            at++;
        if (at == w->n_items)
            return alm_fail(cx, ALM_E_NAME, ast->pos, "Invalid column: %.*s", (int)ast->text.len,
                            ast->text.ptr);
        if (w->taken[at])
            return alm_fail(cx, ALM_E_DUPLICATE, ast->pos, "column in the list twice: %.*s",
                            (int)ast->text.len, ast->text.ptr);
        w->taken[at] = true;
        w->listed[i] = at;
    }
    return ALM_OK;
}

/* A row for each column of the list: its number, its name. */
static alm_status list_rows(alm_planner *p, const alm_unpivot *u, const unpivot *w, alm_plan **out)
{
    alm_plan *list = NULL;
    ALM_TRY(alm_plan_new(p, ALM_P_VALUES, u->pos, NULL, &list));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 2, &list->cols));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, u->n_columns + 1, &list->values.rows));
    list->cols[0] = (alm_plan_col){"number", ALM_TY(INT)};
    list->cols[1] = (alm_plan_col){"name", ALM_TY(STRING)};
    list->n_cols = 2;
    list->values.n_rows = u->n_columns;
    list->est_rows = u->n_columns;
    for (uint32_t i = 0; i < u->n_columns; i++) {
        const alm_str alias = u->columns[i].alias;
        const alm_str name = alias.len > 0 ? alias : w->items[w->listed[i]].name;
        alm_expr ***row = &list->values.rows[i];
        ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 2, row));
        ALM_TRY(alm_expr_bits(p->cx, ALM_TY(INT), i, u->pos, &(*row)[0]));
        ALM_TRY(alm_expr_text(p->cx, ALM_TY(STRING), name, u->pos, &(*row)[1]));
    }
    *out = list;
    return ALM_OK;
}

/* CASE number WHEN 0 THEN the first column ... */
static alm_status choose_value(alm_planner *p, const alm_unpivot *u, const unpivot *w,
                               uint32_t number, alm_expr **out)
{
    alm_expr **args = NULL;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 2 * (size_t)u->n_columns + 1, &args));
    for (uint32_t i = 0; i < u->n_columns; i++) {
        alm_expr *is[2] = {NULL, NULL};
        const int32_t pos = u->columns[i].expr->pos;
        ALM_TRY(alm_expr_col(p->cx, number, ALM_TY(INT), pos, &is[0]));
        ALM_TRY(alm_expr_bits(p->cx, ALM_TY(INT), i, pos, &is[1]));
        ALM_TRY(alm_expr_call(p, "=", pos, is, 2, &args[2 * i]));
        args[2 * i + 1] = w->items[w->listed[i]].expr;
    }
    return alm_expr_case(p, u->pos, args, 2 * u->n_columns, out);
}

static alm_status leave_nulls_out(alm_planner *p, int32_t pos, alm_plan **plan)
{
    alm_exprs tests = {0};
    alm_expr *value = NULL, *test = NULL;
    const uint32_t at = (*plan)->n_cols - 1;
    ALM_TRY(alm_expr_col(p->cx, at, (*plan)->cols[at].type, pos, &value));
    ALM_TRY(alm_expr_null_test(p, value, true, pos, &test));
    ALM_TRY(alm_exprs_add(p->cx, &tests, test));
    return alm_plan_filter(p, plan, &tests);
}

alm_status alm_bind_unpivot(alm_scope *sc)
{
    alm_planner *p = sc->p;
    const alm_unpivot *u = sc->sel->unpivot;
    static const alm_select none = {0};
    alm_select all = none;
    alm_ast star = {.kind = ALM_AST_STAR, .text = ALM_STR("*")};
    alm_select_item item = {.expr = &star};
    alm_expr **exprs = NULL;
    alm_plan *list = NULL, *joined = NULL;
    const char **names = NULL;
    uint32_t n = 0;
    if (u == NULL)
        return ALM_OK;
    if (alm_str_ieq(u->name, u->value))
        return alm_fail(p->cx, ALM_E_DUPLICATE, u->pos, "Duplicate column [name=%.*s]",
                        (int)u->name.len, u->name.ptr);
    star.pos = u->pos;
    all.items = &item;
    all.n_items = 1;
    unpivot w = {.inner = *sc};
    w.inner.sel = &all;
    ALM_TRY(alm_bind_items(&w.inner, &w.items, &w.n_items));
    ALM_TRY(take_columns(sc, u, &w));
    const uint32_t number = w.inner.plan->n_cols;
    ALM_TRY(list_rows(p, u, &w, &list));
    ALM_TRY(alm_plan_join(p, ALM_JOIN_CROSS, u->pos, w.inner.plan, list, &joined));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, w.n_items + 3, &exprs));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, w.n_items + 3, &names));
    for (uint32_t i = 0; i < w.n_items; i++) {
        if (w.taken[i])
            continue;
        if (alm_str_ieq(w.items[i].name, u->name) || alm_str_ieq(w.items[i].name, u->value))
            return alm_fail(p->cx, ALM_E_DUPLICATE, u->pos, "Duplicate column [name=%.*s]",
                            (int)w.items[i].name.len, w.items[i].name.ptr);
        exprs[n] = w.items[i].expr;
        ALM_TRY(alm_arena_zstr(p->cx, p->cx->arena, w.items[i].name, &names[n++]));
    }
    ALM_TRY(alm_expr_col(p->cx, number + 1, ALM_TY(STRING), u->pos, &exprs[n]));
    ALM_TRY(alm_arena_zstr(p->cx, p->cx->arena, u->name, &names[n++]));
    ALM_TRY(choose_value(p, u, &w, number, &exprs[n]));
    ALM_TRY(alm_arena_zstr(p->cx, p->cx->arena, u->value, &names[n++]));
    const alm_str alias = sc->n_rels > 0 ? sc->rels[0].alias : (alm_str){0};
    ALM_TRY(alm_plan_project(p, joined, exprs, names, n, &sc->plan));
    if (!u->nulls)
        ALM_TRY(leave_nulls_out(p, u->pos, &sc->plan));
    sc->rels = NULL;
    sc->n_rels = sc->cap_rels = 0;
    return alm_scope_add(sc, alias, NULL, sc->plan, 0);
}
