/*
 * catalog_server.c - rows about the server: schemas, types, functions, database, accounts, settings.
 */
#include "base/conf.h"
#include "exec/source/catalog.h"

#include <stdlib.h>

/* -------------------------------------------------------------------------------- constants */

typedef struct named {
    int32_t oid;
    const char *name;
} named;

static alm_status named_rows(alm_ctx *cx, alm_cat *cat, const char *order, const named *rows,
                             size_t n_rows)
{
    alm_cat_order(cat, order);
    for (size_t i = 0; i < n_rows; i++) {
        ALM_TRY(alm_cat_row(cx, cat));
        alm_cat_int(cat, rows[i].oid);
        alm_cat_text(cat, rows[i].name);
    }
    return ALM_OK;
}

ALM_CAT_FILL(namespaces)
{
    static const named rows[] = {{ALM_OID_CATALOG, "pg_catalog"},
                                 {ALM_OID_PUBLIC, "public"},
                                 {ALM_OID_INFORMATION, "information_schema"}};
    return named_rows(cx, cat, "oid nspname", rows, cat->function ? 2 : 3);
}

ALM_CAT_FILL(access_methods)
{
    alm_cat_order(cat, "oid amname amtype");
    static const named rows[] = {{ALM_OID_HEAP, "heap"}, {ALM_OID_BTREE, "btree"}};
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        ALM_TRY(alm_cat_row(cx, cat));
        alm_cat_int(cat, rows[i].oid);
        alm_cat_text(cat, rows[i].name);
        alm_cat_int(cat, i == 0 ? ALM_AMTYPE_TABLE : ALM_AMTYPE_INDEX);
    }
    return ALM_OK;
}

ALM_CAT_FILL(collations)
{
    static const named rows[] = {{100, "default"}, {950, "C"}};
    alm_cat_order(cat, "oid collname collcollate collctype");
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        ALM_TRY(alm_cat_row(cx, cat));
        alm_cat_int(cat, rows[i].oid);
        alm_cat_text(cat, rows[i].name);
        alm_cat_text(cat, i == 0 ? NULL : "C");
        alm_cat_text(cat, i == 0 ? NULL : "C");
    }
    return ALM_OK;
}

ALM_CAT_FILL(languages)
{
    static const named rows[] = {{12, "internal"}, {14, "sql"}};
    return named_rows(cx, cat, "oid lanname", rows, ALM_COUNT(rows));
}

ALM_CAT_FILL(tablespaces)
{
    static const named rows[] = {{1663, "pg_default"}};
    return named_rows(cx, cat, "oid spcname", rows, ALM_COUNT(rows));
}

ALM_CAT_FILL(databases)
{
    static const named rows[] = {{ALM_OID_DATABASE, "qdb"}};
    return named_rows(cx, cat, "oid datname", rows, ALM_COUNT(rows));
}

ALM_CAT_FILL(is_schemata)
{
    static const char *const names[] = {"pg_catalog", "public", "information_schema"};
    alm_cat_order(cat, "schema_name schema_owner");
    for (size_t i = 0; i < ALM_COUNT(names); i++) {
        ALM_TRY(alm_cat_row(cx, cat));
        alm_cat_text(cat, names[i]);
        alm_cat_text(cat, cx->conf != NULL ? cx->conf->pg_user : "admin");
    }
    return ALM_OK;
}

ALM_CAT_FILL(is_catalog_name)
{
    alm_cat_order(cat, "");
    return alm_cat_row(cx, cat);
}

ALM_CAT_FILL(is_character_sets)
{
    alm_cat_order(cat, "character_set_name character_repertoire form_of_use "
                       "default_collate_catalog default_collate_schema default_collate_name");
    ALM_TRY(alm_cat_row(cx, cat));
    alm_cat_text(cat, "UTF8");
    alm_cat_text(cat, "UCS");
    alm_cat_text(cat, "UTF8");
    alm_cat_text(cat, "qdb");
    alm_cat_text(cat, "pg_catalog");
    alm_cat_text(cat, "default");
    return ALM_OK;
}

/* ------------------------------------------------------------------------------------ types */

static const alm_pg_type_row types[] = {
#define ALM_PG_TYPE(id_, oid_, array_, name_, display_, length_, by_value_, kind_, category_,      \
                    preferred_, align_, storage_, collation_, prefix_, in_, out_, recv_, send_)    \
    {.oid = oid_,                                                                                  \
     .array_oid = array_,                                                                          \
     .name = name_,                                                                                \
     .length = length_,                                                                            \
     .by_value = by_value_,                                                                        \
     .preferred = preferred_,                                                                      \
     .kind = kind_,                                                                                \
     .category = category_,                                                                        \
     .align = align_,                                                                              \
     .storage = storage_,                                                                          \
     .collation = collation_,                                                                      \
     .prefix = prefix_,                                                                            \
     .in = in_,                                                                                    \
     .out = out_,                                                                                  \
     .recv = recv_,                                                                                \
     .send = send_},
#include "type/pg_type.def"
#undef ALM_PG_TYPE
};

const char *alm_cat_display_type(int32_t oid)
{
    static const struct {
        int32_t oid;
        const char *display;
    } names[] = {
#define ALM_PG_TYPE(id_, oid_, array_, name_, display_, length_, by_value_, kind_, category_,      \
                    preferred_, align_, storage_, collation_, prefix_, in_, out_, recv_, send_)    \
    {oid_, display_},
#include "type/pg_type.def"
#undef ALM_PG_TYPE
    };
    for (size_t i = 0; i < ALM_COUNT(names); i++)
        if (names[i].oid == oid)
            return names[i].display;
    return NULL;
}

const alm_pg_type_row *alm_pg_type_find(int32_t oid)
{
    for (size_t i = 0; i < ALM_COUNT(types); i++)
        if (types[i].oid == oid)
            return &types[i];
    return NULL;
}

int32_t alm_pg_plain_type(alm_type type)
{
    return type.dims > 0 ? ALM_PG_OID_FLOAT8_ARRAY : alm_type_info_of(type)->pg_oid;
}

int32_t alm_pg_column_type(const alm_ctx *cx, alm_type type)
{
    if (cx->conf != NULL && cx->conf->pg_timestamp_zone &&
        alm_type_info_of(type)->cls == ALM_TC_TIME)
        return ALM_PG_OID_TIMESTAMPTZ;
    return alm_pg_plain_type(type);
}

enum { ARRAY_IN = 750, ARRAY_OUT = 751, ARRAY_RECV = 2400, ARRAY_SEND = 2401, ARRAY_SCRIPT = 6179 };

static alm_status type_row(alm_ctx *cx, alm_cat *cat, const alm_pg_type_row *t, bool array)
{
    const char *name = t->name;
    if (array)
        ALM_TRY(alm_arena_printf(cx, cx->arena, &name, "_%s", t->name));
    /* the function keeps to the reference, which has arrays of the oldest types alone */
    const bool no_array =
        cat->function && (t->oid == ALM_PG_OID_NUMERIC || t->oid == ALM_PG_OID_UUID);
    const bool big = t->align == ALM_TYPALIGN_DOUBLE;
    ALM_TRY(alm_cat_row(cx, cat));
    alm_cat_int(cat, array ? t->array_oid : t->oid);
    alm_cat_text(cat, name);
    alm_cat_int(cat, array || no_array ? 0 : t->array_oid);
    alm_cat_int(cat, array ? -1 : t->length);
    alm_cat_bool(cat, !array && t->by_value);
    alm_cat_int(cat, t->kind);
    alm_cat_int(cat, array && t->kind == ALM_TYPTYPE_BASE ? ALM_TYPCATEGORY_ARRAY : t->category);
    alm_cat_bool(cat, !array && t->preferred);
    alm_cat_int(cat, array ? t->oid : 0);
    alm_cat_int(cat, array ? (big ? ALM_TYPALIGN_DOUBLE : ALM_TYPALIGN_INT) : t->align);
    alm_cat_int(cat, array ? ALM_TYPSTORAGE_EXTENDED : t->storage);
    alm_cat_int(cat, t->collation);
    alm_cat_int(cat, array ? ARRAY_IN : t->in);
    alm_cat_int(cat, array ? ARRAY_OUT : t->out);
    alm_cat_int(cat, array ? ARRAY_RECV : t->recv);
    alm_cat_int(cat, array ? ARRAY_SEND : t->send);
    alm_cat_int(cat, array ? ARRAY_SCRIPT : 0);
    return ALM_OK;
}

ALM_CAT_FILL(types)
{
    alm_cat_order(cat, "oid typname typarray typlen typbyval typtype typcategory typispreferred "
                       "typelem typalign typstorage typcollation typinput typoutput typreceive "
                       "typsend typsubscript");
    for (size_t i = 0; i < ALM_COUNT(types); i++) {
        ALM_TRY(type_row(cx, cat, &types[i], false));
        if (types[i].array_oid != 0)
            ALM_TRY(type_row(cx, cat, &types[i], true));
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------------------- functions */

static alm_status catalog_server_procedure_row(alm_ctx *cx, alm_cat *cat, int32_t oid,
                                               const char *name, int32_t argument, int32_t result)
{
    const char *args = NULL;
    ALM_TRY(alm_arena_printf(cx, cx->arena, &args, "%d", argument));
    ALM_TRY(alm_cat_row(cx, cat));
    alm_cat_int(cat, oid);
    alm_cat_text(cat, name);
    alm_cat_int(cat, 1);
    alm_cat_int(cat, result);
    alm_cat_text(cat, name);
    alm_cat_text(cat, args);
    return ALM_OK;
}

/* The functions that read and write values: pg_type points at them. */
ALM_CAT_FILL(procedures)
{
    enum { CSTRING = 2275, INTERNAL = 2281, BYTEA = 17, ANYARRAY = 2277 };
    static const struct {
        const char *suffix;
        bool reads;
        int32_t other;
    } ways[] = {{"in", true, CSTRING},
                {"out", false, CSTRING},
                {"recv", true, INTERNAL},
                {"send", false, BYTEA}};
    static const int32_t arrays[] = {ARRAY_IN, ARRAY_OUT, ARRAY_RECV, ARRAY_SEND};
    alm_cat_order(cat, "oid proname pronargs prorettype prosrc proargtypes");
    for (size_t w = 0; w < ALM_COUNT(ways); w++) {
        const int32_t other = ways[w].other;
        const char *name = NULL;
        for (size_t i = 0; i < ALM_COUNT(types); i++) {
            const alm_pg_type_row *t = &types[i];
            const int32_t oids[] = {t->in, t->out, t->recv, t->send};
            if (oids[w] == 0)
                continue;
            ALM_TRY(alm_arena_printf(cx, cx->arena, &name, "%s%s", t->prefix, ways[w].suffix));
            ALM_TRY(catalog_server_procedure_row(cx, cat, oids[w], name,
                                                 ways[w].reads ? other : t->oid,
                                                 ways[w].reads ? t->oid : other));
        }
        ALM_TRY(alm_arena_printf(cx, cx->arena, &name, "array_%s", ways[w].suffix));
        ALM_TRY(catalog_server_procedure_row(cx, cat, arrays[w], name,
                                             ways[w].reads ? other : ANYARRAY,
                                             ways[w].reads ? ANYARRAY : other));
    }
    return alm_cat_functions(cx, cat);
}

/* --------------------------------------------------------------------------------- accounts */

static alm_status role_row(alm_ctx *cx, alm_cat *cat, int32_t oid, const char *name, bool owner)
{
    ALM_TRY(alm_cat_row(cx, cat));
    alm_cat_int(cat, oid);
    alm_cat_text(cat, name);
    for (uint32_t i = 2; i < cat->n_order; i++) /* rights that an owner has and a reader has not */
        alm_cat_bool(cat, owner);
    return ALM_OK;
}

static alm_status role_rows(alm_ctx *cx, alm_cat *cat, const char *order)
{
    if (cat->function)
        return ALM_OK; /* as the reference: no accounts listed */
    alm_cat_order(cat, order);
    ALM_TRY(role_row(cx, cat, ALM_OID_OWNER, cx->conf != NULL ? cx->conf->pg_user : "admin", true));
    if (cx->conf != NULL && cx->conf->pg_readonly_user_enabled)
        ALM_TRY(role_row(cx, cat, ALM_OID_READER, cx->conf->pg_readonly_user, false));
    return ALM_OK;
}

ALM_CAT_FILL(roles)
{
    return role_rows(cx, cat, "oid rolname rolsuper rolcreaterole rolcreatedb rolbypassrls");
}

ALM_CAT_FILL(users)
{
    return role_rows(cx, cat, "usesysid usename usecreatedb usesuper usebypassrls");
}

/* ------------------------------------------------------------------ what the session knows */

static alm_status session_texts(alm_ctx *cx, const alm_cat *cat, const char *what,
                                const char *const **cell, size_t *rows)
{
    *rows = 0;
    return cat->run->env.texts == NULL ? ALM_OK : cat->run->env.texts(cx, what, cell, rows);
}

ALM_CAT_FILL(settings)
{
    const char *const *cell = NULL;
    size_t rows = 0;
    ALM_TRY(session_texts(cx, cat, "settings", &cell, &rows));
    alm_cat_order(cat, "name setting category short_desc boot_val reset_val");
    for (size_t i = 0; i < rows; i++) {
        ALM_TRY(alm_cat_row(cx, cat));
        alm_cat_text(cat, cell[3 * i]);
        alm_cat_text(cat, cell[3 * i + 1]);
        alm_cat_text(cat, "Client Connection Defaults");
        alm_cat_text(cat, cell[3 * i + 2]);
        alm_cat_text(cat, cell[3 * i + 1]);
        alm_cat_text(cat, cell[3 * i + 1]);
    }
    return ALM_OK;
}

/* Of an array type; 0: it is none. */
static int32_t catalog_server_element_of(int32_t oid)
{
    for (size_t i = 0; i < ALM_COUNT(types); i++)
        if (types[i].array_oid == oid && oid != 0)
            return types[i].oid;
    return 0;
}

/* "23 1043" -> "{integer,character varying}" */
static alm_status type_names(alm_ctx *cx, const char *numbers, const char **out)
{
    alm_buf text;
    alm_buf_init(&text, NULL);
    alm_status status = alm_buf_text(cx, &text, "{");
    for (char *end = NULL; status == ALM_OK && *numbers != 0; numbers = end) {
        const int32_t oid = (int32_t)strtol(numbers, &end, 10);
        const int32_t element = catalog_server_element_of(oid);
        const char *words = alm_cat_display_type(element != 0 ? element : oid);
        status = alm_buf_printf(cx, &text, "%s%s%s", text.len > 1 ? "," : "",
                                words != NULL ? words : "unknown", element != 0 ? "[]" : "");
        while (*end == ' ')
            end++;
    }
    if (status == ALM_OK)
        status = alm_arena_printf(cx, cx->arena, out, "%.*s}", (int)text.len, text.ptr);
    alm_buf_deinit(&text);
    return status;
}

enum {
    LIST_NAME,
    LIST_TEXT,
    LIST_US,
    LIST_TYPES,
    LIST_SQL,
    LIST_HOLD = 3,
    LIST_BINARY,
    LIST_CELLS
};

ALM_CAT_FILL(prepared)
{
    const char *const *cell = NULL;
    size_t rows = 0;
    ALM_TRY(session_texts(cx, cat, "prepared", &cell, &rows));
    alm_cat_order(
        cat, "name statement prepare_time parameter_types from_sql generic_plans custom_plans");
    for (; rows > 0; rows--, cell += LIST_CELLS) {
        const char *types_text = NULL;
        ALM_TRY(type_names(cx, cell[LIST_TYPES], &types_text));
        ALM_TRY(alm_cat_row(cx, cat));
        alm_cat_text(cat, cell[LIST_NAME]);
        alm_cat_text(cat, cell[LIST_TEXT]);
        alm_cat_int(cat, strtoll(cell[LIST_US], NULL, 10));
        alm_cat_text(cat, types_text);
        alm_cat_bool(cat, cell[LIST_SQL][0] == 't');
        alm_cat_int(cat, 0);
        alm_cat_int(cat, 0);
    }
    return ALM_OK;
}

ALM_CAT_FILL(cursors)
{
    const char *const *cell = NULL;
    size_t rows = 0;
    ALM_TRY(session_texts(cx, cat, "cursors", &cell, &rows));
    alm_cat_order(cat, "name statement creation_time is_holdable is_binary is_scrollable");
    for (; rows > 0; rows--, cell += LIST_CELLS) {
        ALM_TRY(alm_cat_row(cx, cat));
        alm_cat_text(cat, cell[LIST_NAME]);
        alm_cat_text(cat, cell[LIST_TEXT]);
        alm_cat_int(cat, strtoll(cell[LIST_US], NULL, 10));
        alm_cat_bool(cat, cell[LIST_HOLD][0] == 't');
        alm_cat_bool(cat, cell[LIST_BINARY][0] == 't');
        alm_cat_bool(cat, false);
    }
    return ALM_OK;
}

/* Keywords depend on their place: any of them can be a name where a name is wanted. */
ALM_CAT_FILL(keywords)
{
    const char *const *cell = NULL;
    size_t rows = 0;
    ALM_TRY(session_texts(cx, cat, "keywords", &cell, &rows));
    alm_cat_order(cat, "word catcode catdesc baredesc");
    for (size_t i = 0; i < rows; i++) {
        ALM_TRY(alm_cat_row(cx, cat));
        alm_cat_text(cat, cell[i]);
        alm_cat_text(cat, "U");
        alm_cat_text(cat, "unreserved");
        alm_cat_text(cat, "can be bare label");
    }
    return ALM_OK;
}

ALM_CAT_FILL(zones)
{
    alm_cat_order(cat, "name abbrev utc_offset is_dst");
    ALM_TRY(alm_cat_row(cx, cat));
    alm_cat_text(cat, "UTC");
    alm_cat_text(cat, "UTC");
    alm_cat_text(cat, "00:00:00");
    alm_cat_bool(cat, false);
    return ALM_OK;
}
