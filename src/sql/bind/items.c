/*
 * items.c - the select list: stars, expressions, and what the columns are called.
 *
 * Names       An alias is the name; a column keeps its own; an expression is called by its text. A
 *             name that is taken gets the first free of x_2, x_3 ...; in a list with a star, x1, x2
 *             ... Aliases go first, and two equal ones are an error. Case does not matter.
 */
#include "sql/bind/bind.h"
#include "sql/plan/access.h"

/* ------------------------------------------------------------------ name set */

typedef struct name_slot {
    const alm_str *name;
    uint32_t tried; /* numbers behind it up to this one are taken */
} name_slot;

typedef struct name_set {
    name_slot *slots;
    uint32_t mask;
} name_set;

static uint32_t bind_items_hash_name(alm_str text)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < text.len; i++) {
        const uint8_t byte = (uint8_t)text.ptr[i];
        hash = (hash ^ (byte >= 'A' && byte <= 'Z' ? byte | 0x20u : byte)) * 16777619u;
    }
    return hash;
}

static name_slot *bind_items_slot_of(const name_set *set, alm_str name)
{
    uint32_t i = bind_items_hash_name(name) & set->mask;
    while (set->slots[i].name != NULL && !alm_str_ieq(*set->slots[i].name, name))
        i = (i + 1) & set->mask;
    return &set->slots[i];
}

static alm_status unique_name(alm_ctx *cx, const name_set *set, alm_item *item, bool stars)
{
    enum { NAME_WORK = 16 }; /* of a name that is looked for or made: alm_steps_add */
    const alm_str base = item->name;
    ALM_TRY(alm_steps_add(cx, NAME_WORK));
    name_slot *first = bind_items_slot_of(set, base);
    uint32_t k = ALM_MAX(first->tried, stars ? 0U : 1U);
    while (bind_items_slot_of(set, item->name)->name != NULL) {
        const char *text = NULL;
        ALM_TRY(alm_steps_add(cx, NAME_WORK));
        ALM_TRY(alm_arena_printf(cx, cx->arena, &text, stars ? "%.*s%u" : "%.*s_%u", (int)base.len,
                                 base.ptr, ++k));
        item->name = alm_str_of(text);
    }
    first->tried = k;
    bind_items_slot_of(set, item->name)->name = &item->name;
    return ALM_OK;
}

static alm_status name_items(alm_ctx *cx, alm_item *items, uint32_t n_items, bool stars)
{
    name_set set = {0};
    uint32_t cap = 16;
    while (cap < 2 * n_items)
        cap *= 2;
    set.mask = cap - 1;
    ALM_TRY(ALM_NEWN(cx, cx->arena, cap, &set.slots));
    for (uint32_t i = 0; i < n_items; i++) {
        if (items[i].alias.len == 0)
            continue;
        items[i].name = items[i].alias;
        name_slot *slot = bind_items_slot_of(&set, items[i].name);
        if (slot->name != NULL)
            return alm_fail(cx, ALM_E_DUPLICATE, items[i].pos, "Duplicate column [name=%.*s]",
                            (int)items[i].name.len, items[i].name.ptr);
        slot->name = &items[i].name;
    }
    for (uint32_t i = 0; i < n_items; i++) {
        if (items[i].alias.len > 0)
            continue;
        if (items[i].ast != NULL && items[i].ast->kind == ALM_AST_NAME) {
            items[i].name = items[i].ast->text;
        } else if (items[i].ast != NULL) {
            const char *text = NULL;
            ALM_TRY(alm_ast_name(cx, items[i].ast, &text));
            items[i].name = alm_str_of(text);
        }
        ALM_TRY(unique_name(cx, &set, &items[i], stars));
    }
    return ALM_OK;
}

/* ----------------------------------------------------------------- expansion */

typedef struct item_list {
    alm_item *at;
    uint32_t n, cap;
} item_list;

static alm_status bind_add_item(alm_ctx *cx, item_list *list, alm_item item)
{
    ALM_TRY(alm_grow(cx, &list->at, list->n, &list->cap, sizeof *list->at));
    list->at[list->n++] = item;
    return ALM_OK;
}

/* The column that EXCLUDE or REPLACE of a star speak of. */
static const alm_ast *said_column(const alm_ast *said)
{
    return said->kind == ALM_AST_NAME ? said : said->arg[1];
}

static alm_status index_said(alm_ctx *cx, const alm_ast *star, alm_name_set *set)
{
    uint32_t had = ALM_NAME_NONE;
    for (uint32_t i = 0; i < star->n_args; i++)
        ALM_TRY(alm_name_set_add(cx, set, said_column(star->arg[i])->text, i, &had));
    return ALM_OK;
}

static alm_status replace_item(alm_scope *scope, const alm_ast *ast, const item_list *list,
                               alm_item *item)
{
    scope->aggs_allowed = ALM_AGG_YES;
    scope->windows_allowed = true;
    scope->items = list->at;
    scope->n_items = 0;
    return alm_bind_expr(scope, ast, &item->expr);
}

static alm_status expand_star(alm_scope *scope, const alm_ast *star, item_list *list)
{
    bool known = false;
    bool *used = NULL;
    alm_name_set set = {0};
    ALM_TRY(index_said(scope->p->cx, star, &set));
    ALM_TRY(ALM_NEWN(scope->p->cx, scope->p->cx->arena, star->n_args + 1, &used));
    for (uint32_t r = 0; r < scope->n_rels; r++) {
        const alm_rel *rel = &scope->rels[r];
        if (star->table.len > 0 && !alm_str_ieq(rel->alias, star->table))
            continue;
        known = true;
        for (uint32_t col = 0; col < rel->n_cols; col++) {
            if (rel->hidden != NULL && rel->hidden[col] && star->table.len == 0)
                continue;
            alm_item item = {
                .name = alm_str_of(rel->cols[col].name), .star = true, .pos = star->pos};
            const uint32_t place = alm_name_set_find(&set, item.name);
            const alm_ast *said = place != ALM_NAME_NONE ? star->arg[place] : NULL;
            if (said != NULL)
                used[place] = true;
            if (said != NULL && said->kind == ALM_AST_NAME)
                continue;
            if (said != NULL)
                ALM_TRY(replace_item(scope, said->arg[0], list, &item));
            if (said == NULL && rel->scanned != NULL)
                ALM_TRY(alm_note_column(scope->p, rel->scanned, col, star->pos));
            if (said == NULL)
                ALM_TRY(alm_expr_col(scope->p->cx, rel->first + col, rel->cols[col].type, star->pos,
                                     &item.expr));
            ALM_TRY(bind_add_item(scope->p->cx, list, item));
        }
    }
    if (!known && scope->n_rels == 0 && star->table.len == 0)
        return alm_fail(scope->p->cx, ALM_E_SYNTAX, star->pos,
                        "'from' expected: * stands for the columns of tables");
    if (!known)
        return alm_fail(scope->p->cx, ALM_E_TABLE, star->pos, "Invalid table name or alias");
    for (uint32_t i = 0; i < star->n_args; i++) {
        const alm_ast *of = said_column(star->arg[i]);
        if (!used[i])
            return alm_fail(scope->p->cx, ALM_E_NAME, of->pos, "Invalid column: %.*s",
                            (int)of->text.len, of->text.ptr);
    }
    if (list->n == 0)
        return alm_fail(scope->p->cx, ALM_E_NAME, star->pos, "no column is left of *");
    return ALM_OK;
}

alm_status alm_bind_items(alm_scope *scope, alm_item **items, uint32_t *n_items)
{
    const alm_select *sel = scope->sel;
    item_list list = {0};
    bool stars = false;
    static const alm_ast all = {.kind = ALM_AST_STAR};
    if (sel->n_items == 0) {
        stars = true;
        ALM_TRY(expand_star(scope, &all, &list));
    }
    for (uint32_t i = 0; i < sel->n_items; i++) {
        const alm_select_item *select_item = &sel->items[i];
        if (select_item->expr->kind == ALM_AST_STAR) {
            stars = true;
            ALM_TRY(expand_star(scope, select_item->expr, &list));
            continue;
        }
        alm_item item = {.alias = select_item->alias,
                         .ast = select_item->expr,
                         .pos = select_item->alias.len > 0 ? select_item->alias_pos
                                                           : select_item->expr->pos};
        item.name = select_item->alias; /* later items may use it: a + 1 as b, b * 2 */
        scope->aggs_allowed = ALM_AGG_YES;
        scope->windows_allowed = true;
        scope->items = list.at;
        scope->n_items = list.n;
        ALM_TRY(alm_bind_expr(scope, select_item->expr, &item.expr));
        ALM_TRY(alm_param_infer(scope->p, &item.expr, ALM_TY(STRING)));
        ALM_TRY(bind_add_item(scope->p->cx, &list, item));
    }
    ALM_TRY(name_items(scope->p->cx, list.at, list.n, stars));
    *items = list.at;
    *n_items = list.n;
    return ALM_OK;
}
