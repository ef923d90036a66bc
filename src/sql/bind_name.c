/*
 * bind_name.c - column names: qualifiers, ambiguity, names of the select list.
 *
 * Order       A name is looked for among the relations of FROM; then, in ORDER BY, GROUP BY and
 *             HAVING, among the names of the select list.
 */
#include "sql/bind.h"

/* "a.b" in quotes is how an expression column with a dot is called. */
static bool same_name(const char *col, alm_str name)
{
    const size_t len = strlen(col);
    if (len == name.len)
        return alm_str_ieq((alm_str){col, len}, name);
    return len == name.len + 2 && col[0] == '"' && alm_str_ieq((alm_str){col + 1, name.len}, name);
}

static int32_t rel_find(const alm_rel *rel, alm_str name)
{
    if (rel->table != NULL)
        return alm_table_col(rel->table, name);
    for (uint32_t i = 0; i < rel->n_cols; i++)
        if (same_name(rel->cols[i].name, name))
            return (int32_t)i;
    return -1;
}

static alm_status found(alm_scope *sc, const alm_rel *rel, int32_t i, int32_t pos, alm_expr **out)
{
    return alm_expr_col(sc->p->cx, rel->first + (uint32_t)i, rel->cols[i].type, pos, out);
}

static alm_status qualified(alm_scope *sc, const alm_ast *ast, alm_expr **out)
{
    bool known = false;
    for (uint32_t r = 0; r < sc->n_rels; r++) {
        const alm_rel *rel = &sc->rels[r];
        if (!alm_str_ieq(rel->alias, ast->table))
            continue;
        known = true;
        const int32_t i = rel_find(rel, ast->text);
        if (i >= 0)
            return found(sc, rel, i, ast->pos, out);
    }
    if (!known)
        return alm_fail(sc->p->cx, ALM_E_TABLE, ast->pos, "Invalid table name or alias");
    return alm_fail(sc->p->cx, ALM_E_NAME, ast->pos, "Invalid column: %.*s.%.*s",
                    (int)ast->table.len, ast->table.ptr, (int)ast->text.len, ast->text.ptr);
}

static alm_status from_list(alm_scope *sc, const alm_ast *ast, alm_expr **out)
{
    for (uint32_t i = 0; i < sc->n_items; i++) {
        if (sc->items[i].expr != NULL && alm_str_ieq(sc->items[i].name, ast->text)) {
            *out = sc->items[i].expr;
            return ALM_OK;
        }
    }
    *out = NULL;
    return ALM_OK;
}

alm_status alm_bind_name(alm_scope *sc, const alm_ast *ast, alm_expr **out)
{
    *out = NULL;
    if (ast->table.len > 0)
        return qualified(sc, ast, out);
    const alm_rel *hit = NULL;
    int32_t hit_col = -1;
    for (uint32_t r = 0; r < sc->n_rels; r++) {
        const int32_t i = rel_find(&sc->rels[r], ast->text);
        if (i < 0)
            continue;
        if (hit != NULL)
            return alm_fail(sc->p->cx, ALM_E_NAME, ast->pos, "Ambiguous column [name=%.*s]",
                            (int)ast->text.len, ast->text.ptr);
        hit = &sc->rels[r];
        hit_col = i;
    }
    if (hit != NULL)
        return found(sc, hit, hit_col, ast->pos, out);
    return from_list(sc, ast, out);
}
