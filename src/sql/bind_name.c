/*
 * bind_name.c - column names: qualifiers, ambiguity, names of the select list.
 *
 * Order       A name is looked for among the relations of FROM; then, in ORDER BY, GROUP BY and
 *             HAVING, among the names of the select list.
 * Cost        A relation of many columns gets a hash table of its names after some look-ups.
 */
#include "sql/bind_access.h"

enum { WIDE = 24, PAYS_AFTER = 12 };

/* "a.b" in quotes is how an expression column with a dot is called. */
static bool same_name(const char *col, alm_str name)
{
    const size_t len = strlen(col);
    if (len == name.len)
        return alm_str_ieq((alm_str){col, len}, name);
    return len == name.len + 2 && col[0] == '"' && alm_str_ieq((alm_str){col + 1, name.len}, name);
}

static uint32_t hash_name(alm_str s)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < s.len; i++) {
        const uint8_t c = (uint8_t)s.ptr[i];
        h = (h ^ (c >= 'A' && c <= 'Z' ? c | 0x20u : c)) * 16777619u;
    }
    return h;
}

/* The first column of a name comes first in its chain. */
static alm_status index_names(alm_ctx *cx, alm_rel *rel)
{
    uint32_t cap = 64;
    while (cap < 2 * rel->n_cols)
        cap *= 2;
    ALM_TRY(ALM_NEWN(cx, cx->arena, cap, &rel->slots));
    rel->mask = cap - 1;
    for (uint32_t c = 0; c < rel->n_cols; c++) {
        uint32_t i = hash_name(alm_str_of(rel->cols[c].name)) & rel->mask;
        while (rel->slots[i] != 0)
            i = (i + 1) & rel->mask;
        rel->slots[i] = c + 1;
    }
    return ALM_OK;
}

static int32_t probe(const alm_rel *rel, alm_str name)
{
    for (uint32_t i = hash_name(name) & rel->mask; rel->slots[i] != 0; i = (i + 1) & rel->mask)
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
    for (uint32_t i = 0; i < rel->n_cols; i++) {
        if (same_name(rel->cols[i].name, name)) {
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

static alm_status found(alm_scope *sc, const alm_rel *rel, int32_t i, int32_t pos, alm_expr **out)
{
    if (rel->scanned != NULL)
        ALM_TRY(alm_note_column(sc->p, rel->scanned, (uint32_t)i, pos));
    return alm_expr_col(sc->p->cx, rel->first + (uint32_t)i, rel->cols[i].type, pos, out);
}

alm_status alm_no_name(alm_scope *sc, const alm_ast *ast)
{
    const bool plain = ast->table.len == 0;
    alm_nearest near = alm_nearest_of(ast->text);
    for (uint32_t r = 0; r < sc->n_rels; r++)
        for (uint32_t i = 0; i < sc->rels[r].n_cols; i++)
            if (plain || alm_str_ieq(sc->rels[r].alias, ast->table))
                alm_nearest_offer(&near, alm_str_of(sc->rels[r].cols[i].name));
    for (uint32_t i = 0; plain && i < sc->n_items; i++)
        alm_nearest_offer(&near, sc->items[i].name);
    return alm_fail_near(sc->p->cx, ALM_E_NAME, ast->pos, &near, "Invalid column: %.*s%s%.*s",
                         (int)ast->table.len, plain ? "" : ast->table.ptr, plain ? "" : ".",
                         (int)ast->text.len, ast->text.ptr);
}

static alm_status qualified(alm_scope *sc, const alm_ast *ast, bool *known, alm_expr **out)
{
    for (uint32_t r = 0; r < sc->n_rels; r++) {
        alm_rel *rel = &sc->rels[r];
        int32_t i = -1;
        if (!alm_str_ieq(rel->alias, ast->table))
            continue;
        *known = true;
        ALM_TRY(rel_find(sc->p->cx, rel, ast->text, &i));
        if (i >= 0)
            return found(sc, rel, i, ast->pos, out);
    }
    if (!*known)
        return ALM_OK;
    return alm_no_name(sc, ast);
}

static alm_status from_list(alm_scope *sc, const alm_ast *ast, alm_expr **out)
{
    for (uint32_t i = 0; i < sc->n_items; i++) {
        alm_expr *e = sc->items[i].expr;
        if (e == NULL || !alm_str_ieq(sc->items[i].name, ast->text))
            continue;
        if (sc->aggs_allowed == ALM_AGG_INSIDE && alm_expr_has_mark(e, ALM_COL_AGG | ALM_COL_WIN))
            return alm_fail(sc->p->cx, ALM_E_FUNCTION, ast->pos,
                            "Aggregate function cannot be passed as an argument");
        *out = e;
        return ALM_OK;
    }
    *out = NULL;
    return ALM_OK;
}

/* Among the relations of this scope only; *out NULL: it has no such column. */
static alm_status local_name(alm_scope *sc, const alm_ast *ast, alm_expr **out)
{
    const alm_rel *hit = NULL;
    int32_t hit_col = -1;
    bool known = false;
    *out = NULL;
    if (ast->table.len > 0)
        return qualified(sc, ast, &known, out);
    for (uint32_t r = 0; r < sc->n_rels; r++) {
        int32_t i = -1;
        ALM_TRY(rel_find(sc->p->cx, &sc->rels[r], ast->text, &i));
        if (i < 0 || rel_hides(&sc->rels[r], (uint32_t)i))
            continue;
        if (hit != NULL)
            return alm_fail(sc->p->cx, ALM_E_NAME, ast->pos, "Ambiguous column [name=%.*s]",
                            (int)ast->text.len, ast->text.ptr);
        hit = &sc->rels[r];
        hit_col = i;
    }
    for (uint32_t r = 0; r < sc->n_rels && hit == NULL; r++)
        if (sc->rels[r].function && alm_str_ieq(sc->rels[r].alias, ast->text)) {
            hit = &sc->rels[r];
            hit_col = 0;
        }
    return hit != NULL ? found(sc, hit, hit_col, ast->pos, out) : ALM_OK;
}

/* A column of a query around this one. */
static alm_status outer_name(alm_scope *sc, const alm_ast *ast, alm_expr **out)
{
    uint32_t level = 0;
    for (const alm_names *names = sc->names; names != NULL; names = names->outer) {
        if (names->scope == NULL)
            continue;
        level++;
        ALM_TRY(local_name(names->scope, ast, out));
        if (*out == NULL)
            continue;
        if (level > ALM_OUTER_LEVELS || (*out)->col > ALM_OUTER_NUMBER)
            return alm_fail(sc->p->cx, ALM_E_LIMIT, ast->pos,
                            "column of a query too far out (limit %d levels)", ALM_OUTER_LEVELS);
        sc->p->outer_refs++;
        return alm_expr_col(sc->p->cx, ALM_COL_OUTER | level << ALM_OUTER_SHIFT | (*out)->col,
                            (*out)->type, ast->pos, out);
    }
    return ALM_OK;
}

alm_status alm_bind_name(alm_scope *sc, const alm_ast *ast, alm_expr **out)
{
    ALM_TRY(local_name(sc, ast, out));
    if (*out == NULL && ast->table.len == 0)
        ALM_TRY(from_list(sc, ast, out));
    if (*out == NULL)
        ALM_TRY(outer_name(sc, ast, out));
    if (*out != NULL || ast->table.len == 0)
        return ALM_OK;
    alm_nearest near = alm_nearest_of(ast->table);
    for (uint32_t r = 0; r < sc->n_rels; r++)
        alm_nearest_offer(&near, sc->rels[r].alias);
    return alm_fail_near(sc->p->cx, ALM_E_TABLE, ast->pos, &near, "Invalid table name or alias");
}
