/*
 * catalog_names.c - from names of relations to their numbers and back, for regclass.
 */
#include "exec/source/catalog.h"

static alm_str skip_blanks(alm_str text)
{
    while (text.len > 0 && (text.ptr[0] == ' ' || (text.ptr[0] >= '\t' && text.ptr[0] <= '\r')))
        text = (alm_str){text.ptr + 1, text.len - 1};
    return text;
}

/* The next part of a name: quotes taken off and halved, else in small letters. False: malformed. */
static bool take_part(alm_str *text, char *out, size_t cap, size_t *len)
{
    size_t i = 0, n = 0;
    const bool quoted = text->len > 0 && text->ptr[0] == '"';
    for (i = quoted; i < text->len; i++) {
        const char ch = text->ptr[i];
        if (!quoted && (ch == '.' || ch == ' '))
            break;
        if (quoted && ch == '"') {
            if (i + 1 >= text->len || text->ptr[i + 1] != '"')
                break;
            i++;
        }
        if (n + 1 >= cap)
            return false;
        out[n++] = ch;
    }
    i += quoted;
    if (n == 0 || i > text->len)
        return false;
    *text = (alm_str){text->ptr + i, text->len - i};
    *len = n;
    return true;
}

static int32_t number_of(alm_str text)
{
    int64_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9' || n > INT32_MAX)
            return 0;
        n = n * 10 + (text.ptr[i] - '0');
    }
    return n <= INT32_MAX ? (int32_t)n : 0;
}

static alm_status index_oid(alm_ctx *cx, const alm_snapshot *snap, alm_str name, int32_t *oid)
{
    alm_index_name index;
    bool found = false;
    ALM_TRY(alm_index_find(cx, snap, name, &index, &found));
    if (found && index.declared)
        *oid = alm_oid_of_index(index.table, (uint32_t)index.col);
    return ALM_OK;
}

alm_status alm_catalog_oid(alm_ctx *cx, const alm_snapshot *snap, alm_str name, int32_t *oid)
{
    char part[2][512];
    size_t len[2] = {0, 0}, n = 0;
    const int32_t number = number_of(name);
    *oid = number;
    if (number > 0)
        return ALM_OK;
    name = skip_blanks(name);
    while (n < 2) {
        if (!take_part(&name, part[n], sizeof part[n], &len[n]))
            return ALM_OK;
        n++;
        name = skip_blanks(name);
        if (name.len == 0)
            break;
        if (name.ptr[0] != '.')
            return ALM_OK;
        name = skip_blanks((alm_str){name.ptr + 1, name.len - 1});
    }
    if (name.len > 0)
        return ALM_OK; /* database.schema.table is nothing we have */
    const alm_str schema = {part[0], n == 2 ? len[0] : 0}, own = {part[n - 1], len[n - 1]};
    for (size_t i = 0; i < alm_relation_count(); i++) {
        const alm_relation *rel = alm_relation_at(i);
        const bool there = n == 2 ? alm_str_ieq(schema, alm_str_of(rel->schema))
                                  : alm_relation_schema_oid(rel) == ALM_OID_CATALOG;
        if (there && alm_str_ieq(own, alm_str_of(rel->name))) {
            *oid = rel->oid;
            return ALM_OK;
        }
    }
    if (n == 1 || alm_str_ieq(schema, ALM_STR("public"))) {
        const alm_table *t = snap != NULL ? alm_snapshot_find(snap, own) : NULL;
        if (t != NULL) {
            *oid = alm_oid_of_table(t);
            return ALM_OK;
        }
        if (snap != NULL)
            return index_oid(cx, snap, own, oid);
    }
    return ALM_OK;
}

const alm_table *alm_catalog_table(const alm_snapshot *snap, int32_t oid, int32_t *index_col)
{
    *index_col = -1;
    for (size_t i = 0; snap != NULL && i < alm_snapshot_count(snap); i++) {
        const alm_table *t = alm_snapshot_at(snap, i);
        if (alm_oid_of_table(t) == oid)
            return t;
        for (uint32_t c = 0; oid >= ALM_OID_INDEXES && c < t->n_cols; c++)
            if (t->cols[c].indexed && alm_oid_of_index(t, c) == oid) {
                *index_col = (int32_t)c;
                return t;
            }
    }
    return NULL;
}

/* A name that is not plain small letters stands in quotes. */
static bool needs_quotes(const char *name)
{
    for (const char *p = name; *p != 0; p++)
        if (!(*p >= 'a' && *p <= 'z') && *p != '_' && !(p > name && *p >= '0' && *p <= '9'))
            return true;
    return name[0] == 0;
}

alm_status alm_catalog_name(alm_ctx *cx, alm_arena *arena, const alm_snapshot *snap, int32_t oid,
                            const char **out)
{
    int32_t col = -1;
    const alm_table *t = alm_catalog_table(snap, oid, &col);
    *out = NULL;
    if (t != NULL && col >= 0)
        return alm_index_name_of(cx, arena, snap, t, (uint32_t)col, out);
    if (t != NULL)
        return alm_arena_printf(cx, arena, out, needs_quotes(t->name) ? "\"%s\"" : "%s", t->name);
    for (size_t i = 0; i < alm_relation_count(); i++) {
        const alm_relation *rel = alm_relation_at(i);
        if (rel->oid != oid)
            continue;
        if (alm_relation_schema_oid(rel) == ALM_OID_CATALOG)
            return alm_arena_zstr(cx, arena, alm_str_of(rel->name), out);
        return alm_arena_printf(cx, arena, out, "%s.%s", rel->schema, rel->name);
    }
    return ALM_OK;
}

alm_status alm_catalog_comment(alm_ctx *cx, alm_arena *arena, const alm_snapshot *snap, int32_t oid,
                               int32_t column, const char **out)
{
    int32_t index = -1;
    const alm_table *t = alm_catalog_table(snap, oid, &index);
    *out = NULL;
    if (t == NULL || index >= 0 || column < 0 || column > (int32_t)t->n_cols)
        return ALM_OK;
    const char *text = alm_table_comment(t, column == 0 ? 0 : t->cols[column - 1].id);
    return text == NULL ? ALM_OK : alm_arena_zstr(cx, arena, alm_str_of(text), out);
}

alm_status alm_catalog_index(alm_ctx *cx, alm_arena *arena, const alm_snapshot *snap,
                             const alm_table *t, int32_t col, const char **out)
{
    const char *name = NULL;
    ALM_ASSERT(col >= 0 && (uint32_t)col < t->n_cols);
    ALM_TRY(alm_index_name_of(cx, arena, snap, t, (uint32_t)col, &name));
    const char *q[] = {needs_quotes(name) ? "\"" : "", needs_quotes(t->name) ? "\"" : "",
                       needs_quotes(t->cols[col].name) ? "\"" : ""};
    return alm_arena_printf(cx, arena, out,
                            "CREATE INDEX %s%s%s ON public.%s%s%s USING btree (%s%s%s)", q[0], name,
                            q[0], q[1], t->name, q[1], q[2], t->cols[col].name, q[2]);
}
