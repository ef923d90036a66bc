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

static alm_status unpivot_take_columns(alm_scope *scope, const alm_unpivot *u, unpivot *self)
{
    alm_ctx *cx = scope->p->cx;
    ALM_TRY(ALM_NEWN(cx, cx->arena, self->n_items + 1, &self->taken));
    ALM_TRY(ALM_NEWN(cx, cx->arena, u->n_columns + 1, &self->listed));
    for (uint32_t i = 0; i < u->n_columns; i++) {
        const alm_ast *ast = u->columns[i].expr;
        alm_expr *column = NULL;
        uint32_t place = 0;
        ALM_TRY(alm_bind_expr(&self->inner, ast, &column));
        while (place < self->n_items && !alm_expr_equal(self->items[place].expr, column))
            place++;
        if (place == self->n_items)
            return alm_fail(cx, ALM_E_NAME, ast->pos, "Invalid column: %.*s", (int)ast->text.len,
                            ast->text.ptr);
        if (self->taken[place])
            return alm_fail(cx, ALM_E_DUPLICATE, ast->pos, "column in the list twice: %.*s",
                            (int)ast->text.len, ast->text.ptr);
        self->taken[place] = true;
        self->listed[i] = place;
    }
    return ALM_OK;
}

/* A row for each column of the list: its number, its name. */
static alm_status unpivot_list_rows(alm_planner *planner, const alm_unpivot *u, const unpivot *self,
                                    alm_plan **out)
{
    alm_plan *list = NULL;
    ALM_TRY(alm_plan_new(planner, ALM_P_VALUES, u->pos, NULL, &list));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 2, &list->cols));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, u->n_columns + 1, &list->values.rows));
    list->cols[0] = (alm_plan_col){"number", ALM_TY(INT)};
    list->cols[1] = (alm_plan_col){"name", ALM_TY(STRING)};
    list->n_cols = 2;
    list->values.n_rows = u->n_columns;
    list->est_rows = u->n_columns;
    for (uint32_t i = 0; i < u->n_columns; i++) {
        const alm_str alias = u->columns[i].alias;
        const alm_str name = alias.len > 0 ? alias : self->items[self->listed[i]].name;
        alm_expr ***row = &list->values.rows[i];
        ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 2, row));
        ALM_TRY(alm_expr_bits(planner->cx, ALM_TY(INT), i, u->pos, &(*row)[0]));
        ALM_TRY(alm_expr_text(planner->cx, ALM_TY(STRING), name, u->pos, &(*row)[1]));
    }
    *out = list;
    return ALM_OK;
}

/* CASE number WHEN 0 THEN the first column ... */
static alm_status choose_value(alm_planner *planner, const alm_unpivot *u, const unpivot *self,
                               uint32_t number, alm_expr **out)
{
    alm_expr **args = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 2 * (size_t)u->n_columns + 1, &args));
    for (uint32_t i = 0; i < u->n_columns; i++) {
        alm_expr *exprs[2] = {NULL, NULL};
        const int32_t pos = u->columns[i].expr->pos;
        ALM_TRY(alm_expr_col(planner->cx, number, ALM_TY(INT), pos, &exprs[0]));
        ALM_TRY(alm_expr_bits(planner->cx, ALM_TY(INT), i, pos, &exprs[1]));
        ALM_TRY(alm_expr_call(planner, "=", pos, exprs, 2, &args[2 * i]));
        args[2 * i + 1] = self->items[self->listed[i]].expr;
    }
    return alm_expr_case(planner, u->pos, args, 2 * u->n_columns, out);
}

static alm_status leave_nulls_out(alm_planner *planner, int32_t pos, alm_plan **plan)
{
    alm_exprs tests = {0};
    alm_expr *value = NULL, *test = NULL;
    const uint32_t place = (*plan)->n_cols - 1;
    ALM_TRY(alm_expr_col(planner->cx, place, (*plan)->cols[place].type, pos, &value));
    ALM_TRY(alm_expr_null_test(planner, value, true, pos, &test));
    ALM_TRY(alm_exprs_add(planner->cx, &tests, test));
    return alm_plan_filter(planner, plan, &tests);
}

alm_status alm_bind_unpivot(alm_scope *scope)
{
    alm_planner *planner = scope->p;
    const alm_unpivot *u = scope->sel->unpivot;
    static const alm_select none = {0};
    alm_select all = none;
    alm_ast star = {.kind = ALM_AST_STAR, .text = ALM_STR("*")};
    alm_select_item item = {.expr = &star};
    alm_expr **exprs = NULL;
    alm_plan *list = NULL, *joined = NULL;
    const char **names = NULL;
    uint32_t count = 0;
    if (u == NULL)
        return ALM_OK;
    if (alm_str_ieq(u->name, u->value))
        return alm_fail(planner->cx, ALM_E_DUPLICATE, u->pos, "Duplicate column [name=%.*s]",
                        (int)u->name.len, u->name.ptr);
    star.pos = u->pos;
    all.items = &item;
    all.n_items = 1;
    unpivot self = {.inner = *scope};
    self.inner.sel = &all;
    ALM_TRY(alm_bind_items(&self.inner, &self.items, &self.n_items));
    ALM_TRY(unpivot_take_columns(scope, u, &self));
    const uint32_t number = self.inner.plan->n_cols;
    ALM_TRY(unpivot_list_rows(planner, u, &self, &list));
    ALM_TRY(alm_plan_join(planner, ALM_JOIN_CROSS, u->pos, self.inner.plan, list, &joined));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, self.n_items + 3, &exprs));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, self.n_items + 3, &names));
    for (uint32_t i = 0; i < self.n_items; i++) {
        if (self.taken[i])
            continue;
        if (alm_str_ieq(self.items[i].name, u->name) || alm_str_ieq(self.items[i].name, u->value))
            return alm_fail(planner->cx, ALM_E_DUPLICATE, u->pos, "Duplicate column [name=%.*s]",
                            (int)self.items[i].name.len, self.items[i].name.ptr);
        exprs[count] = self.items[i].expr;
        ALM_TRY(
            alm_arena_zstr(planner->cx, planner->cx->arena, self.items[i].name, &names[count++]));
    }
    ALM_TRY(alm_expr_col(planner->cx, number + 1, ALM_TY(STRING), u->pos, &exprs[count]));
    ALM_TRY(alm_arena_zstr(planner->cx, planner->cx->arena, u->name, &names[count++]));
    ALM_TRY(choose_value(planner, u, &self, number, &exprs[count]));
    ALM_TRY(alm_arena_zstr(planner->cx, planner->cx->arena, u->value, &names[count++]));
    const alm_str alias = scope->n_rels > 0 ? scope->rels[0].alias : (alm_str){0};
    ALM_TRY(alm_plan_project(planner, joined, exprs, names, count, &scope->plan));
    if (!u->nulls)
        ALM_TRY(leave_nulls_out(planner, u->pos, &scope->plan));
    scope->rels = NULL;
    scope->n_rels = scope->cap_rels = 0;
    return alm_scope_add(scope, alias, NULL, scope->plan, 0);
}
