/*
 * catalog_names.c - from names of relations to their numbers and back, for regclass.
 */
#include "exec/source/catalog.h"

static alm_str catalog_names_skip_blanks(alm_str text)
{
    while (text.len > 0 && (text.ptr[0] == ' ' || (text.ptr[0] >= '\t' && text.ptr[0] <= '\r')))
        text = (alm_str){text.ptr + 1, text.len - 1};
    return text;
}

/* The next part of a name: quotes taken off and halved, else in small letters. False: malformed. */
static bool take_part(alm_str *text, char *out, size_t cap, size_t *len)
{
    size_t i = 0, count = 0;
    const bool quoted = text->len > 0 && text->ptr[0] == '"';
    for (i = quoted; i < text->len; i++) {
        const char byte = text->ptr[i];
        if (!quoted && (byte == '.' || byte == ' '))
            break;
        if (quoted && byte == '"') {
            if (i + 1 >= text->len || text->ptr[i + 1] != '"')
                break;
            i++;
        }
        if (count + 1 >= cap)
            return false;
        out[count++] = byte;
    }
    i += quoted;
    if (count == 0 || i > text->len)
        return false;
    *text = (alm_str){text->ptr + i, text->len - i};
    *len = count;
    return true;
}

static int32_t catalog_names_number_of(alm_str text)
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
    size_t len[2] = {0, 0}, count = 0;
    const int32_t number = catalog_names_number_of(name);
    *oid = number;
    if (number > 0)
        return ALM_OK;
    name = catalog_names_skip_blanks(name);
    while (count < 2) {
        if (!take_part(&name, part[count], sizeof part[count], &len[count]))
            return ALM_OK;
        count++;
        name = catalog_names_skip_blanks(name);
        if (name.len == 0)
            break;
        if (name.ptr[0] != '.')
            return ALM_OK;
        name = catalog_names_skip_blanks((alm_str){name.ptr + 1, name.len - 1});
    }
    if (name.len > 0)
        return ALM_OK; /* database.schema.table is nothing we have */
    const alm_str schema = {part[0], count == 2 ? len[0] : 0},
                  own = {part[count - 1], len[count - 1]};
    for (size_t i = 0; i < alm_relation_count(); i++) {
        const alm_relation *rel = alm_relation_at(i);
        const bool there = count == 2 ? alm_str_ieq(schema, alm_str_of(rel->schema))
                                      : alm_relation_schema_oid(rel) == ALM_OID_CATALOG;
        if (there && alm_str_ieq(own, alm_str_of(rel->name))) {
            *oid = rel->oid;
            return ALM_OK;
        }
    }
    if (count == 1 || alm_str_ieq(schema, ALM_STR("public"))) {
        const alm_table *table = snap != NULL ? alm_snapshot_find(snap, own) : NULL;
        if (table != NULL) {
            *oid = alm_oid_of_table(table);
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
        const alm_table *table = alm_snapshot_at(snap, i);
        if (alm_oid_of_table(table) == oid)
            return table;
        for (uint32_t col = 0; oid >= ALM_OID_INDEXES && col < table->n_cols; col++)
            if (table->cols[col].indexed && alm_oid_of_index(table, col) == oid) {
                *index_col = (int32_t)col;
                return table;
            }
    }
    return NULL;
}

/* A name that is not plain small letters stands in quotes. */
static bool catalog_names_needs_quotes(const char *name)
{
    for (const char *ptr = name; *ptr != 0; ptr++)
        if (!(*ptr >= 'a' && *ptr <= 'z') && *ptr != '_' &&
            !(ptr > name && *ptr >= '0' && *ptr <= '9'))
            return true;
    return name[0] == 0;
}

alm_status alm_catalog_name(alm_ctx *cx, alm_arena *arena, const alm_snapshot *snap, int32_t oid,
                            const char **out)
{
    int32_t col = -1;
    const alm_table *table = alm_catalog_table(snap, oid, &col);
    *out = NULL;
    if (table != NULL && col >= 0)
        return alm_index_name_of(cx, arena, snap, table, (uint32_t)col, out);
    if (table != NULL)
        return alm_arena_printf(
            cx, arena, out, catalog_names_needs_quotes(table->name) ? "\"%s\"" : "%s", table->name);
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
    const alm_table *table = alm_catalog_table(snap, oid, &index);
    *out = NULL;
    if (table == NULL || index >= 0 || column < 0 || column > (int32_t)table->n_cols)
        return ALM_OK;
    const char *text = alm_table_comment(table, column == 0 ? 0 : table->cols[column - 1].id);
    return text == NULL ? ALM_OK : alm_arena_zstr(cx, arena, alm_str_of(text), out);
}

alm_status alm_catalog_index(alm_ctx *cx, alm_arena *arena, const alm_snapshot *snap,
                             const alm_table *table, int32_t col, const char **out)
{
    const char *name = NULL;
    ALM_ASSERT(col >= 0 && (uint32_t)col < table->n_cols);
    ALM_TRY(alm_index_name_of(cx, arena, snap, table, (uint32_t)col, &name));
    const char *q[] = {catalog_names_needs_quotes(name) ? "\"" : "",
                       catalog_names_needs_quotes(table->name) ? "\"" : "",
                       catalog_names_needs_quotes(table->cols[col].name) ? "\"" : ""};
    return alm_arena_printf(cx, arena, out,
                            "CREATE INDEX %s%s%s ON public.%s%s%s USING btree (%s%s%s)", q[0], name,
                            q[0], q[1], table->name, q[1], q[2], table->cols[col].name, q[2]);
}
