/*
 * name.c - column names: qualifiers, ambiguity, names of the select list.
 *
 * Order       A name is looked for among the relations of FROM; then, in ORDER BY and HAVING, among
 *             the names of the select list.
 * GROUP BY    takes a plain name from the select list first: there the bucket of a time often has the
 *             name of the time. What is not inside an aggregate in HAVING and OVER then means the same.
 * Cost        A relation of many columns gets a hash table of its names after some look-ups.
 */
#include "sql/bind/bind.h"
#include "sql/plan/access.h"

enum { WIDE = 24, PAYS_AFTER = 12 };

/* "a.b" in quotes is how an expression column with a dot is called. */
static bool bind_same_name(const char *col, alm_str name)
{
    const size_t len = strlen(col);
    if (len == name.len)
        return alm_str_ieq((alm_str){col, len}, name);
    return len == name.len + 2 && col[0] == '"' && alm_str_ieq((alm_str){col + 1, name.len}, name);
}

static uint32_t bind_hash_name(alm_str text)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < text.len; i++) {
        const uint8_t byte = (uint8_t)text.ptr[i];
        hash = (hash ^ (byte >= 'A' && byte <= 'Z' ? byte | 0x20u : byte)) * 16777619u;
    }
    return hash;
}

/* The first column of a name comes first in its chain. */
static alm_status index_names(alm_ctx *cx, alm_rel *rel)
{
    uint32_t cap = 64;
    while (cap < 2 * rel->n_cols)
        cap *= 2;
    ALM_TRY(ALM_NEWN(cx, cx->arena, cap, &rel->slots));
    rel->mask = cap - 1;
    for (uint32_t col = 0; col < rel->n_cols; col++) {
        uint32_t i = bind_hash_name(alm_str_of(rel->cols[col].name)) & rel->mask;
        while (rel->slots[i] != 0)
            i = (i + 1) & rel->mask;
        rel->slots[i] = col + 1;
    }
    return ALM_OK;
}

static int32_t probe(const alm_rel *rel, alm_str name)
{
    for (uint32_t i = bind_hash_name(name) & rel->mask; rel->slots[i] != 0; i = (i + 1) & rel->mask)
        if (alm_str_ieq(alm_str_of(rel->cols[rel->slots[i] - 1].name), name))
            return (int32_t)rel->slots[i] - 1;
    return -1;
}

static alm_status rel_find(alm_ctx *cx, alm_rel *rel, alm_str name, int32_t *out)
{
    *out = -1;
    if (rel->n_cols > WIDE && ++rel->lookups > PAYS_AFTER) {
        if (rel->slots == NULL)
            ALM_TRY(index_names(cx, rel));
        *out = probe(rel, name);
        if (*out >= 0 || rel->table != NULL)
            return ALM_OK;
    }
    ALM_TRY(alm_steps_add(cx, rel->n_cols));
    for (uint32_t i = 0; i < rel->n_cols; i++) {
        if (bind_same_name(rel->cols[i].name, name)) {
            *out = (int32_t)i;
            break;
        }
    }
    return ALM_OK;
}

/* Columns that USING and NATURAL have merged with those of a relation before. */
static bool rel_hides(const alm_rel *rel, uint32_t col)
{
    return rel->hidden != NULL && rel->hidden[col];
}

static alm_status bind_name_found(alm_scope *scope, const alm_rel *rel, int32_t i, int32_t pos,
                                  alm_expr **out)
{
    if (rel->scanned != NULL)
        ALM_TRY(alm_note_column(scope->p, rel->scanned, (uint32_t)i, pos));
    return alm_expr_col(scope->p->cx, rel->first + (uint32_t)i, rel->cols[i].type, pos, out);
}

alm_status alm_no_name(alm_scope *scope, const alm_ast *ast)
{
    const bool plain = ast->table.len == 0;
    alm_nearest near = alm_nearest_of(ast->text);
    for (uint32_t rel = 0; rel < scope->n_rels; rel++)
        for (uint32_t i = 0; i < scope->rels[rel].n_cols; i++)
            if (plain || alm_str_ieq(scope->rels[rel].alias, ast->table))
                alm_nearest_offer(&near, alm_str_of(scope->rels[rel].cols[i].name));
    for (uint32_t i = 0; plain && i < scope->n_items; i++)
        alm_nearest_offer(&near, scope->items[i].name);
    if (plain && ast->quoted) /* s = "BTC-USD" */
        return alm_fail_near(scope->p->cx, ALM_E_NAME, ast->pos, &near,
                             "Invalid column: %.*s (double quotes are for names, a text needs "
                             "single quotes: '%.*s')",
                             (int)ast->text.len, ast->text.ptr, (int)ast->text.len, ast->text.ptr);
    return alm_fail_near(scope->p->cx, ALM_E_NAME, ast->pos, &near, "Invalid column: %.*s%s%.*s",
                         (int)ast->table.len, plain ? "" : ast->table.ptr, plain ? "" : ".",
                         (int)ast->text.len, ast->text.ptr);
}

/*
 * System columns, which each relation has in PostgreSQL and * leaves out. tableoid is the number of the relation. The
 * others tell of rows how PostgreSQL stores them: here xmin is 1 for all rows of a catalogue, as for those there from
 * the start, and nothing in the place of others.
 */
static alm_status table_oid(alm_scope *scope, const alm_rel *rel, int32_t pos, alm_expr **out)
{
    alm_expr *name = NULL, *oid = NULL;
    const char *text = rel->relation;
    if (rel->table != NULL) /* whose name holds no double quote (alm_table_name_ok) */
        ALM_TRY(alm_arena_printf(scope->p->cx, scope->p->cx->arena, &text, "public.\"%s\"",
                                 rel->table->name));
    ALM_TRY(alm_expr_text(scope->p->cx, ALM_TY(STRING), alm_str_of(text), pos, &name));
    ALM_TRY(alm_expr_call(scope->p, "regclassin", pos, &name, 1, &oid));
    ALM_TRY(ALM_NEW(scope->p->cx, scope->p->cx->arena, out));
    **out = *oid;
    (*out)->type = alm_type_oid();
    return ALM_OK;
}

/* *out NULL: the name is none of a system column. */
static alm_status system_column(alm_scope *scope, const alm_rel *rel, const alm_ast *ast,
                                alm_expr **out)
{
    if ((rel->relation == NULL && rel->table == NULL) || ast->quoted)
        return ALM_OK;
    if (alm_str_ieq(ast->text, ALM_STR("tableoid")))
        return table_oid(scope, rel, ast->pos, out);
    if (rel->table == NULL && alm_str_ieq(ast->text, ALM_STR("xmin")))
        return alm_expr_bits(scope->p->cx, ALM_TY(LONG), 1, ast->pos, out);
    return ALM_OK;
}

static alm_status no_system_column(alm_scope *scope, const alm_ast *ast)
{
    static const char *const rows[] = {"ctid", "xmin", "xmax", "cmin", "cmax"};
    for (size_t i = 0; i < ALM_COUNT(rows); i++)
        if (alm_str_ieq(ast->text, alm_str_of(rows[i])))
            return alm_fail(scope->p->cx, ALM_E_UNSUPPORTED, ast->pos,
                            "system column \"%s\" is not supported: rows have no number and no "
                            "transaction, tableoid is there",
                            rows[i]);
    return ALM_OK;
}

static alm_status qualified(alm_scope *scope, const alm_ast *ast, bool *known, alm_expr **out)
{
    for (uint32_t r = 0; r < scope->n_rels; r++) {
        alm_rel *rel = &scope->rels[r];
        int32_t i = -1;
        if (!alm_str_ieq(rel->alias, ast->table))
            continue;
        *known = true;
        ALM_TRY(rel_find(scope->p->cx, rel, ast->text, &i));
        if (i >= 0)
            return bind_name_found(scope, rel, i, ast->pos, out);
        ALM_TRY(system_column(scope, rel, ast, out));
        if (*out != NULL)
            return ALM_OK;
        ALM_TRY(no_system_column(scope, ast));
    }
    if (!*known)
        return ALM_OK;
    return alm_no_name(scope, ast);
}

static alm_status from_list(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    ALM_TRY(alm_steps_add(scope->p->cx, scope->n_items));
    for (uint32_t i = 0; i < scope->n_items; i++) {
        alm_expr *expr = scope->items[i].expr;
        if (expr == NULL || !alm_str_ieq(scope->items[i].name, ast->text))
            continue;
        if (scope->aggs_allowed == ALM_AGG_INSIDE &&
            alm_expr_has_mark(expr, ALM_COL_AGG | ALM_COL_WIN))
            return alm_fail(scope->p->cx, ALM_E_FUNCTION, ast->pos,
                            "Aggregate function cannot be passed as an argument");
        *out = expr;
        return alm_expr_again(scope->p->cx, expr);
    }
    *out = NULL;
    return ALM_OK;
}

static alm_status ambiguous(alm_scope *scope, const alm_ast *ast, const alm_rel *a,
                            const alm_rel *b)
{
    if (a->alias.len == 0 || b->alias.len == 0) /* subqueries without a name */
        return alm_fail(scope->p->cx, ALM_E_NAME, ast->pos, "Ambiguous column [name=%.*s]",
                        (int)ast->text.len, ast->text.ptr);
    return alm_fail(scope->p->cx, ALM_E_NAME, ast->pos,
                    "Ambiguous column [name=%.*s]: it is in %.*s and in %.*s", (int)ast->text.len,
                    ast->text.ptr, (int)a->alias.len, a->alias.ptr, (int)b->alias.len,
                    b->alias.ptr);
}

/* Among the relations of this scope only; *out NULL: it has no such column. */
static alm_status local_name(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    const alm_rel *hit = NULL;
    int32_t hit_col = -1;
    bool known = false;
    *out = NULL;
    ALM_TRY(alm_steps_add(scope->p->cx, scope->n_rels));
    if (ast->table.len > 0)
        return qualified(scope, ast, &known, out);
    for (uint32_t rel = 0; rel < scope->n_rels; rel++) {
        int32_t i = -1;
        ALM_TRY(rel_find(scope->p->cx, &scope->rels[rel], ast->text, &i));
        if (i < 0 || rel_hides(&scope->rels[rel], (uint32_t)i))
            continue;
        if (hit != NULL)
            return ambiguous(scope, ast, hit, &scope->rels[rel]);
        hit = &scope->rels[rel];
        hit_col = i;
    }
    for (uint32_t rel = 0; rel < scope->n_rels && hit == NULL; rel++)
        if (scope->rels[rel].function && alm_str_ieq(scope->rels[rel].alias, ast->text)) {
            hit = &scope->rels[rel];
            hit_col = 0;
        }
    return hit != NULL ? bind_name_found(scope, hit, hit_col, ast->pos, out) : ALM_OK;
}

/* A column of a query around this one. */
static alm_status outer_name(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    uint32_t level = 0;
    for (const alm_names *names = scope->names; names != NULL; names = names->outer) {
        if (names->scope == NULL)
            continue;
        level++;
        ALM_TRY(local_name(names->scope, ast, out));
        if (*out == NULL)
            continue;
        if (level > ALM_OUTER_LEVELS || (*out)->col > ALM_OUTER_NUMBER)
            return alm_fail(scope->p->cx, ALM_E_LIMIT, ast->pos,
                            "column of a query too far out (limit %d levels)", ALM_OUTER_LEVELS);
        scope->p->outer_refs++;
        return alm_expr_col(scope->p->cx, ALM_COL_OUTER | level << ALM_OUTER_SHIFT | (*out)->col,
                            (*out)->type, ast->pos, out);
    }
    return ALM_OK;
}

/* -------------------------------------------------------------- names of the list */

/* What * REPLACE (expression AS name) has in the place of the column. */
static const alm_ast *bind_name_replaced(const alm_ast *star, alm_str name)
{
    for (uint32_t i = 0; i < star->n_args; i++)
        if (star->arg[i]->kind != ALM_AST_NAME && alm_str_ieq(star->arg[i]->arg[1]->text, name))
            return star->arg[i]->arg[0];
    return NULL;
}

/* The item called so in the list as it is written; an expression without alias has no name to group by. */
static const alm_ast *listed(const alm_select *sel, alm_str name)
{
    const alm_ast *column = NULL;
    for (uint32_t i = 0; i < sel->n_items; i++) {
        const alm_select_item *item = &sel->items[i];
        if (item->alias.len > 0 && alm_str_ieq(item->alias, name))
            return item->expr;
        if (item->alias.len > 0 || column != NULL)
            continue;
        if (item->expr->kind == ALM_AST_NAME && alm_str_ieq(item->expr->text, name))
            column = item->expr;
        else if (item->expr->kind == ALM_AST_STAR)
            column = bind_name_replaced(item->expr, name);
    }
    return column;
}

/* What `listed` looks at. */
static int64_t said_columns(const alm_select *sel)
{
    int64_t n_items = sel->n_items;
    for (uint32_t i = 0; i < sel->n_items; i++)
        n_items += sel->items[i].expr->kind == ALM_AST_STAR ? sel->items[i].expr->n_args : 0;
    return n_items;
}

alm_status alm_bind_listed(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    *out = NULL;
    if (ast->kind != ALM_AST_NAME || ast->table.len > 0)
        return ALM_OK;
    ALM_TRY(alm_steps_add(scope->p->cx, said_columns(scope->sel)));
    const alm_ast *item = listed(scope->sel, ast->text);
    if (item == NULL)
        return ALM_OK;
    for (uint32_t i = 0; i < scope->n_items && *out == NULL; i++)
        if (scope->items[i].ast == item)
            *out = scope->items[i].expr;
    if (*out != NULL)
        return alm_expr_again(scope->p->cx, *out);
    const bool by_keys = scope->by_keys;
    scope->by_keys = false; /* its own names are those of FROM */
    ALM_TRY(alm_bind_expr(scope, item, out));
    scope->by_keys = by_keys;
    return ALM_OK;
}

/* Does GROUP BY have the name: plain, or as the column of some relation? */
static bool is_grouped(const alm_select *sel, alm_str name, bool plain)
{
    for (uint32_t i = 0; i < sel->n_group; i++)
        if (sel->group[i]->kind == ALM_AST_NAME && alm_str_ieq(sel->group[i]->text, name) &&
            (!plain || sel->group[i]->table.len == 0))
            return true;
    return false;
}

/* Behind GROUP BY v, v is what it is there; and v of sum(v) AS v is the sum where v is no key. */
static alm_status bind_key_name(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    *out = NULL;
    if (!scope->by_keys || scope->aggs_allowed != ALM_AGG_YES || ast->table.len > 0)
        return ALM_OK;
    ALM_TRY(alm_steps_add(scope->p->cx, (int64_t)scope->sel->n_group + scope->n_items));
    if (is_grouped(scope->sel, ast->text, true))
        return alm_bind_listed(scope, ast, out);
    const bool grouped = is_grouped(scope->sel, ast->text, false);
    for (uint32_t i = 0; i < scope->n_items && !grouped; i++)
        if (alm_str_ieq(scope->items[i].alias, ast->text) &&
            alm_expr_has_mark(scope->items[i].expr, ALM_COL_AGG))
            *out = scope->items[i].expr;
    return *out != NULL ? alm_expr_again(scope->p->cx, *out) : ALM_OK;
}

alm_status alm_bind_by_keys(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    const bool before = scope->by_keys;
    scope->by_keys = true;
    ALM_TRY(alm_bind_expr(scope, ast, out));
    scope->by_keys = before;
    return ALM_OK;
}

alm_status alm_bind_name(alm_scope *scope, const alm_ast *ast, alm_expr **out)
{
    ALM_TRY(bind_key_name(scope, ast, out));
    if (*out != NULL)
        return ALM_OK;
    ALM_TRY(local_name(scope, ast, out));
    if (*out == NULL && ast->table.len == 0)
        ALM_TRY(from_list(scope, ast, out));
    if (*out == NULL && ast->table.len == 0 && scope->n_rels == 1)
        ALM_TRY(system_column(scope, &scope->rels[0], ast, out));
    if (*out == NULL)
        ALM_TRY(outer_name(scope, ast, out));
    if (*out == NULL && ast->table.len == 0 && scope->n_rels > 0)
        ALM_TRY(no_system_column(scope, ast));
    if (*out != NULL || ast->table.len == 0)
        return ALM_OK;
    alm_nearest near = alm_nearest_of(ast->table);
    for (uint32_t rel = 0; rel < scope->n_rels; rel++)
        alm_nearest_offer(&near, scope->rels[rel].alias);
    return alm_fail_near(scope->p->cx, ALM_E_TABLE, ast->pos, &near, "Invalid table name or alias");
}
