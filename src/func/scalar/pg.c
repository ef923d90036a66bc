/*
 * pg.c - what clients of PostgreSQL ask the server about itself: names of types and objects,
 * settings, sizes, rights.
 *
 * Kernels     Called for a handful of catalogue rows; what depends on tables or the session is asked
 *             through cx->lookup (base/lookup.h).
 * Null rule   Null in, null out, unless said otherwise.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/conf.h"
#include "base/lookup.h"
#include "func/value/kernel.h"
#include "func/value/quote.h"
#include "func/value/tables.h"
#include "func/value/text_out.h"
#include "type/pg_oid.h"

static inline alm_str pg_text_at(const alm_vec *vec, size_t i)
{
    const alm_view *view = (const alm_view *)vec->data + (vec->is_const ? 0 : i);
    return alm_view_is_null(view) ? (alm_str){0} : alm_view_str(view, vec->heap);
}

static alm_view view_of(const char *text)
{
    return text == NULL ? alm_view_null() : alm_view_of(alm_str_of(text));
}

#define KERNEL(name)                                                                               \
    static alm_status name(ALM_UNUSED alm_call *call, size_t n, ALM_UNUSED const alm_vec *args,    \
                           alm_vec *out)

/* ---------------------------------------------------------------------------------- constants */

KERNEL(no_text)
{
    alm_view *views = out->data;
    for (size_t i = 0; i < n; i++)
        views[i] = alm_view_null();
    return ALM_OK;
}

KERNEL(zero)
{
    memset(out->data, 0, n * sizeof(int32_t));
    return ALM_OK;
}

KERNEL(yes)
{
    memset(out->data, 1, n);
    return ALM_OK;
}

KERNEL(no)
{
    memset(out->data, 0, n);
    return ALM_OK;
}

KERNEL(utf8)
{
    alm_view *views = out->data;
    for (size_t i = 0; i < n; i++)
        views[i] = view_of("UTF8");
    return ALM_OK;
}

KERNEL(empty_text)
{
    alm_view *views = out->data;
    for (size_t i = 0; i < n; i++)
        views[i] = view_of("");
    return ALM_OK;
}

/* Names in pg_catalog and public need no schema; those of information_schema (13000 and up) do. */
KERNEL(table_visible)
{
    uint8_t *results = out->data;
    for (size_t i = 0; i < n; i++) {
        const int32_t oid = ALM_AT(int32_t, args[0], i);
        results[i] = oid != ALM_INT_NULL && (oid < 13000 || oid >= 14000);
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------------------------- types */

static const struct pg_type {
    int32_t oid, array;
    const char *name, *display;
} types[] = {
#define ALM_PG_TYPE(id_, oid_, array_, name_, display_, ...) {oid_, array_, name_, display_},
#include "type/pg_type.def"
#undef ALM_PG_TYPE
};

/* "numeric(10,2)", "character(1)", "bigint[]". */
static alm_status type_text(alm_text_out *writer, int32_t oid, int32_t mod, alm_view *out)
{
    const struct pg_type *type = NULL;
    char mods[32] = "";
    for (size_t i = 0; i < ALM_COUNT(types) && type == NULL; i++)
        if (types[i].oid == oid || (types[i].array == oid && oid != 0))
            type = &types[i];
    if (type == NULL) {
        *out = oid == 0 ? view_of("-") : view_of("???");
        return ALM_OK;
    }
    if (mod >= 4 && type->oid == ALM_PG_OID_NUMERIC)
        (void)snprintf(mods, sizeof mods, "(%d,%d)", ((mod - 4) >> 16) & 0xffff,
                       (mod - 4) & 0xffff);
    else if (mod >= 4 && (type->oid == ALM_PG_OID_BPCHAR || type->oid == ALM_PG_OID_VARCHAR))
        (void)snprintf(mods, sizeof mods, "(%d)", mod - 4);
    char *ptr = NULL;
    const size_t room = strlen(type->display) + sizeof mods + 3;
    ALM_TRY(alm_text_room(writer, room, &ptr));
    const int len =
        snprintf(ptr, room, "%s%s%s", type->display, mods, oid == type->array ? "[]" : "");
    *out = alm_text_take(writer, (size_t)len);
    return ALM_OK;
}

KERNEL(format_type)
{
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t i = 0; i < n; i++) {
        const int32_t oid = ALM_AT(int32_t, args[0], i);
        const int32_t mod = call->argc > 1 ? ALM_AT(int32_t, args[1], i) : -1;
        views[i] = alm_view_null();
        if (oid != ALM_INT_NULL)
            ALM_TRY(type_text(&writer, oid, mod, &views[i]));
    }
    return ALM_OK;
}

static int32_t pg_digits(alm_str text)
{
    int64_t number = text.len == 0 ? -1 : 0;
    for (size_t i = 0; i < text.len && number >= 0 && number < INT32_MAX; i++)
        number = text.ptr[i] >= '0' && text.ptr[i] <= '9' ? number * 10 + text.ptr[i] - '0' : -1;
    return number >= 0 && number <= INT32_MAX ? (int32_t)number : -1;
}

static int32_t type_oid(alm_str name)
{
    const int32_t number = pg_digits(name);
    if (number >= 0)
        return number;
    if (name.len > 11 && strncmp(name.ptr, "pg_catalog.", 11) == 0)
        name = (alm_str){name.ptr + 11, name.len - 11};
    bool array = name.len > 2 && memcmp(name.ptr + name.len - 2, "[]", 2) == 0;
    name.len -= array ? 2 : 0;
    if (name.len > 1 && name.ptr[0] == '_') {
        array = true;
        name = (alm_str){name.ptr + 1, name.len - 1};
    }
    for (size_t i = 0; i < ALM_COUNT(types); i++)
        if (alm_str_ieq(name, alm_str_of(types[i].name)) ||
            alm_str_ieq(name, alm_str_of(types[i].display)))
            return array ? types[i].array : types[i].oid;
    if (alm_str_ieq(name, ALM_STR("int")))
        return array ? ALM_PG_OID_INT4_ARRAY : ALM_PG_OID_INT4;
    if (alm_str_ieq(name, ALM_STR("decimal")))
        return array ? ALM_PG_OID_NUMERIC_ARRAY : ALM_PG_OID_NUMERIC;
    return 0;
}

/* ---------------------------------------------------------------------------- names to numbers */

typedef alm_status (*find_oid)(alm_call *call, alm_str name, int32_t *oid);

static alm_status find_relation(alm_call *call, alm_str name, int32_t *oid)
{
    const alm_lookup *lookup = call->cx->lookup;
    *oid = 0;
    return lookup == NULL ? ALM_OK : lookup->relation(call->cx, lookup->arg, name, oid);
}

static alm_status find_type(alm_call *call, alm_str name, int32_t *oid)
{
    (void)call;
    *oid = type_oid(name);
    return ALM_OK;
}

static alm_status find_schema(alm_call *call, alm_str name, int32_t *oid)
{
    (void)call;
    const int32_t number = pg_digits(name);
    *oid = number >= 0                                        ? number
           : alm_str_ieq(name, ALM_STR("public"))             ? 2200
           : alm_str_ieq(name, ALM_STR("pg_catalog"))         ? 11
           : alm_str_ieq(name, ALM_STR("information_schema")) ? 13000
                                                              : 0;
    return ALM_OK;
}

static alm_status find_role(alm_call *call, alm_str name, int32_t *oid)
{
    const struct alm_conf *conf = call->cx->conf;
    const int32_t number = pg_digits(name);
    const char *reader = conf != NULL ? conf->pg_readonly_user : "";
    *oid = number >= 0                                                            ? number
           : alm_str_eq(name, alm_str_of(conf != NULL ? conf->pg_user : "admin")) ? 10
           : alm_str_eq(name, alm_str_of(reader))                                 ? 16382
                                                                                  : 0;
    return ALM_OK;
}

static alm_status names_to_oids(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out,
                                find_oid find, alm_status code, const char *missing)
{
    int32_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_str name = pg_text_at(&args[0], i);
        results[i] = ALM_INT_NULL;
        if (name.ptr == NULL)
            continue;
        ALM_TRY(find(call, name, &results[i]));
        if (results[i] != 0)
            continue;
        const bool unknown =
            missing != NULL && !(name.len == 1 && (name.ptr[0] == '-' || name.ptr[0] == '0'));
        if (unknown && args[0].is_const)
            return alm_fail(call->cx, code, call->pos, "%s \"%.*s\" does not exist", missing,
                            (int)name.len, name.ptr);
        results[i] = missing != NULL && !unknown ? 0 : ALM_INT_NULL;
    }
    return ALM_OK;
}

#define TO_OID(name, find, code, missing)                                                          \
    KERNEL(name)                                                                                   \
    {                                                                                              \
        return names_to_oids(call, n, args, out, find, code, missing);                             \
    }
TO_OID(to_regclass, find_relation, ALM_OK, NULL)
TO_OID(regclass_in, find_relation, ALM_E_TABLE, "relation")
TO_OID(to_regtype, find_type, ALM_OK, NULL)
TO_OID(regtype_in, find_type, ALM_E_SETTING, "type")
TO_OID(to_regnamespace, find_schema, ALM_OK, NULL)
TO_OID(regnamespace_in, find_schema, ALM_E_SCHEMA, "schema")
TO_OID(to_regrole, find_role, ALM_OK, NULL)
TO_OID(regrole_in, find_role, ALM_E_SETTING, "role")

/* ---------------------------------------------------------------------------- numbers to names */

static alm_status relation_texts(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out,
                                 alm_relation_text what)
{
    const alm_lookup *lookup = call->cx->lookup;
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const int32_t oid = ALM_AT(int32_t, args[0], i);
        const char *text = NULL;
        views[i] = alm_view_null();
        if (oid == ALM_INT_NULL || lookup == NULL)
            continue;
        ALM_TRY(lookup->relation_text(call->cx, lookup->arg, call->arena, oid, what, &text));
        if (text == NULL && what == ALM_RELATION_NAME)
            ALM_TRY(alm_arena_printf(call->cx, call->arena, &text, oid == 0 ? "-" : "%d", oid));
        views[i] = view_of(text);
    }
    return ALM_OK;
}

/* obj_description(oid [, catalogue]), col_description(oid, column). */
static alm_status comments(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out,
                           const alm_vec *column)
{
    const alm_lookup *lookup = call->cx->lookup;
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const int32_t oid = ALM_AT(int32_t, args[0], i);
        const int32_t place = column == NULL ? 0 : ALM_AT(int32_t, *column, i);
        const char *text = NULL;
        if (lookup != NULL && oid != ALM_INT_NULL && (column == NULL || place > 0))
            ALM_TRY(lookup->comment(call->cx, lookup->arg, call->arena, oid, place, &text));
        views[i] = view_of(text);
    }
    return ALM_OK;
}

KERNEL(table_comment)
{
    return comments(call, n, args, out, NULL);
}

KERNEL(column_comment)
{
    return comments(call, n, args, out, &args[1]);
}

KERNEL(object_comment)
{
    ALM_TRY(comments(call, n, args, out, NULL));
    for (size_t i = 0; i < n; i++)
        if (!alm_str_eq(alm_vec_text(&args[1], args[1].is_const ? 0 : i), ALM_STR("pg_class")))
            ((alm_view *)out->data)[i] = alm_view_null();
    return ALM_OK;
}

KERNEL(regclass_out)
{
    return relation_texts(call, n, args, out, ALM_RELATION_NAME);
}

/* With a column number above 0, the column alone. */
KERNEL(index_text)
{
    const bool column = call->argc > 1 && ALM_AT(int32_t, args[1], 0) > 0;
    return relation_texts(call, n, args, out, column ? ALM_RELATION_COLUMN : ALM_RELATION_INDEX);
}

KERNEL(view_text)
{
    return relation_texts(call, n, args, out, ALM_RELATION_VIEW);
}

KERNEL(named_view_text)
{
    alm_view *views = out->data;
    for (size_t i = 0; i < n; i++) {
        int32_t oid = 0;
        const alm_str name = pg_text_at(&args[0], i);
        if (name.ptr != NULL)
            ALM_TRY(find_relation(call, name, &oid));
        alm_vec number = {.type = ALM_TY(INT), .width = 4, .data = &oid, .is_const = true};
        alm_vec one = {.type = out->type, .width = out->width, .data = &views[i]};
        ALM_TRY(view_text(call, 1, &number, &one));
    }
    return ALM_OK;
}

KERNEL(function_result)
{
    return relation_texts(call, n, args, out, ALM_FUNCTION_RESULT);
}

KERNEL(function_arguments)
{
    return relation_texts(call, n, args, out, ALM_FUNCTION_ARGUMENTS);
}

static const char *schema_name(int32_t oid)
{
    return oid == 11      ? "pg_catalog"
           : oid == 2200  ? "public"
           : oid == 13000 ? "information_schema"
                          : NULL;
}

KERNEL(regnamespace_out)
{
    alm_view *views = out->data;
    for (size_t i = 0; i < n; i++)
        views[i] = view_of(schema_name(ALM_AT(int32_t, args[0], i)));
    return ALM_OK;
}

/* Owners of everything; numbers nobody has are called "public", as in the reference. */
KERNEL(user_by_id)
{
    const struct alm_conf *conf = call->cx->conf;
    alm_view *views = out->data;
    for (size_t i = 0; i < n; i++) {
        const int32_t oid = ALM_AT(int32_t, args[0], i);
        views[i] = oid == ALM_INT_NULL            ? alm_view_null()
                   : oid == 10                    ? view_of(conf != NULL ? conf->pg_user : "admin")
                   : oid == 16382 && conf != NULL ? view_of(conf->pg_readonly_user)
                                                  : view_of("public");
    }
    return ALM_OK;
}

KERNEL(encoding_name)
{
    alm_view *views = out->data;
    for (size_t i = 0; i < n; i++) {
        const int32_t number = ALM_AT(int32_t, args[0], i);
        views[i] = number == ALM_INT_NULL ? alm_view_null()
                                          : view_of(number == 6   ? "UTF8"
                                                    : number == 0 ? "SQL_ASCII"
                                                                  : "");
    }
    return ALM_OK;
}

KERNEL(encoding_number)
{
    int32_t *results = out->data;
    for (size_t i = 0; i < n; i++) {
        const alm_str name = pg_text_at(&args[0], i);
        results[i] = name.ptr == NULL                          ? ALM_INT_NULL
                     : alm_str_ieq(name, ALM_STR("SQL_ASCII")) ? 0
                     : alm_str_ieq(name, ALM_STR("UTF8")) || alm_str_ieq(name, ALM_STR("UTF-8"))
                         ? 6
                         : -1;
    }
    return ALM_OK;
}

/* ---------------------------------------------------------------------------------- settings */

static alm_status read_setting(alm_call *call, alm_str name, bool missing_ok, alm_view *out)
{
    const alm_lookup *lookup = call->cx->lookup;
    const char *value = NULL;
    if (lookup != NULL)
        ALM_TRY(lookup->setting(call->cx, lookup->arg, call->arena, name, &value));
    if (value == NULL && !missing_ok)
        return alm_fail(call->cx, ALM_E_SETTING, call->pos,
                        "unrecognized configuration parameter \"%.*s\"", (int)name.len, name.ptr);
    /* a SET later in the statement must not change it */
    if (value != NULL)
        ALM_TRY(alm_arena_zstr(call->cx, call->arena, alm_str_of(value), &value));
    *out = view_of(value);
    return ALM_OK;
}

KERNEL(current_setting)
{
    alm_view *views = out->data;
    for (size_t i = 0; i < n; i++) {
        const alm_str name = pg_text_at(&args[0], i);
        views[i] = alm_view_null();
        const bool missing_ok = call->argc > 1 && ALM_AT(uint8_t, args[1], i) != 0;
        if (name.ptr != NULL)
            ALM_TRY(read_setting(call, name, missing_ok || !args[0].is_const, &views[i]));
    }
    return ALM_OK;
}

/* Settings this server does not have are taken and forgotten, as with SET. */
KERNEL(set_config)
{
    const alm_lookup *lookup = call->cx->lookup;
    alm_view *views = out->data;
    for (size_t i = 0; i < n; i++) {
        const alm_str name = pg_text_at(&args[0], i), value = pg_text_at(&args[1], i);
        views[i] = alm_view_null();
        if (name.ptr == NULL && args[0].is_const)
            return alm_fail(call->cx, ALM_E_ARG, call->pos, "SET requires parameter name");
        if (name.ptr == NULL)
            continue;
        if (lookup != NULL && value.ptr != NULL)
            ALM_TRY(lookup->set(call->cx, lookup->arg, call->arena, name, value,
                                ALM_AT(uint8_t, args[2], i) != 0));
        ALM_TRY(read_setting(call, name, true, &views[i]));
        if (alm_view_is_null(&views[i]) && value.ptr != NULL) {
            alm_str copy = {0};
            ALM_TRY(alm_arena_copy(call->cx, call->arena, value, &copy));
            views[i] = alm_view_of(copy);
        }
    }
    return ALM_OK;
}

KERNEL(backend_pid)
{
    int32_t *results = out->data;
    for (size_t i = 0; i < n; i++)
        results[i] = call->cx->lookup != NULL ? call->cx->lookup->pid : 0;
    return ALM_OK;
}

static alm_status bind_names(ALM_UNUSED alm_ctx *cx, ALM_UNUSED const alm_fn *fn,
                             ALM_UNUSED int32_t pos, ALM_UNUSED uint32_t argc,
                             ALM_UNUSED alm_arg *args, alm_type *result, ALM_UNUSED void **data)
{
    *result = alm_type_list(ALM_LIST_TEXT);
    return ALM_OK;
}

/* Schemas of the search path; with the argument true the one that needs no naming too. */
KERNEL(current_schemas)
{
    alm_view *views = out->data;
    for (size_t i = 0; i < n; i++)
        views[i] = view_of(ALM_AT(uint8_t, args[0], i) != 0 ? "{pg_catalog,public}" : "{public}");
    return ALM_OK;
}

/* -------------------------------------------------------------------------------------- sizes */

static alm_status size_of(alm_call *call, int32_t oid, int64_t *out)
{
    const alm_lookup *lookup = call->cx->lookup;
    int64_t bytes = -1;
    if (lookup != NULL)
        ALM_TRY(lookup->bytes(call->cx, lookup->arg, call->arena, oid, &bytes));
    *out = bytes < 0 ? ALM_LONG_NULL : bytes;
    return ALM_OK;
}

KERNEL(table_bytes)
{
    int64_t *results = out->data;
    for (size_t i = 0; i < n; i++) {
        const int32_t oid = ALM_AT(int32_t, args[0], i);
        results[i] = ALM_LONG_NULL;
        if (oid != ALM_INT_NULL && oid != 0)
            ALM_TRY(size_of(call, oid, &results[i]));
    }
    return ALM_OK;
}

KERNEL(named_table_bytes)
{
    int64_t *results = out->data;
    for (size_t i = 0; i < n; i++) {
        const alm_str name = pg_text_at(&args[0], i);
        int32_t oid = 0;
        results[i] = ALM_LONG_NULL;
        if (name.ptr == NULL)
            continue;
        ALM_TRY(find_relation(call, name, &oid));
        if (oid == 0 && args[0].is_const)
            return alm_fail(call->cx, ALM_E_TABLE, call->pos, "relation \"%.*s\" does not exist",
                            (int)name.len, name.ptr);
        if (oid != 0)
            ALM_TRY(size_of(call, oid, &results[i]));
    }
    return ALM_OK;
}

KERNEL(database_bytes)
{
    int64_t *results = out->data, bytes = 0;
    ALM_TRY(size_of(call, 0, &bytes));
    for (size_t i = 0; i < n; i++)
        results[i] = bytes;
    return ALM_OK;
}

KERNEL(no_count)
{
    int64_t *results = out->data;
    for (size_t i = 0; i < n; i++)
        results[i] = ALM_LONG_NULL;
    return ALM_OK;
}

KERNEL(no_bytes)
{
    memset(out->data, 0, n * sizeof(int64_t));
    return ALM_OK;
}

/* "17 kB": the unit in which the number has at most four digits, below 10240. */
KERNEL(size_pretty)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t i = 0; i < n; i++) {
        int64_t size = ALM_AT(int64_t, args[0], i);
        size_t unit = 0;
        views[i] = alm_view_null();
        if (size == ALM_LONG_NULL)
            continue;
        for (; unit + 1 < ALM_COUNT(units) && (size >= 10240 || size <= -10240); unit++)
            size = size / 1024 + (size % 1024 >= 512) - (size % 1024 <= -512);
        char *ptr = NULL;
        ALM_TRY(alm_text_room(&writer, 40, &ptr));
        views[i] = alm_text_take(
            &writer, (size_t)snprintf(ptr, 40, "%lld %s", (long long)size, units[unit]));
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------------------------- quoting */

/* The text between quotes, those in it doubled. */
static alm_status pg_quoted(alm_text_out *writer, alm_str text, char quote, alm_view *out)
{
    char *ptr = NULL;
    ALM_TRY(alm_text_room(writer, 2 * text.len + 2, &ptr));
    *out = alm_text_take(writer, alm_quote(text, quote, ptr));
    return ALM_OK;
}

KERNEL(quote_literal)
{
    const bool nullable = strcmp(call->fn->name, "quote_nullable") == 0;
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t i = 0; i < n; i++) {
        const alm_str text = pg_text_at(&args[0], i);
        if (text.ptr == NULL)
            views[i] = nullable ? view_of("NULL") : alm_view_null();
        else
            ALM_TRY(pg_quoted(&writer, text, '\'', &views[i]));
    }
    return ALM_OK;
}

/* ---------------------------------------------------------------------------------------- JSON */

/* Everything comes as text; which arguments go without quotes is kept. */
static alm_status bind_json(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, int32_t pos, uint32_t argc,
                            alm_arg *args, ALM_UNUSED alm_type *result, void **data)
{
    uint8_t *bare = NULL;
    if (argc % 2 != 0)
        return alm_fail(cx, ALM_E_ARG, pos, "json_build_object takes names and values in turn");
    ALM_TRY(ALM_NEWN(cx, cx->arena, argc + 1, &bare));
    for (uint32_t i = 0; i < argc; i++) {
        const alm_type_class cls = alm_type_info_of(args[i].type)->cls;
        bare[i] =
            i % 2 == 1 && (cls == ALM_TC_BOOL || cls == ALM_TC_INTEGER || cls == ALM_TC_FLOATING);
        args[i].type = ALM_TY(STRING);
    }
    *data = bare;
    return ALM_OK;
}

static size_t json_text(char *dest, alm_str text, bool bare)
{
    size_t count = 0;
    if (text.ptr == NULL || bare) {
        const alm_str plain = text.ptr == NULL ? ALM_STR("null") : text;
        memcpy(dest, plain.ptr, plain.len);
        return plain.len;
    }
    dest[count++] = '"';
    for (size_t i = 0; i < text.len; i++) {
        const unsigned char byte = (unsigned char)text.ptr[i];
        if (byte < 0x20)
            count += (size_t)snprintf(dest + count, 7, "\\u%04x", byte);
        else if (byte == '"' || byte == '\\')
            dest[count++] = '\\', dest[count++] = (char)byte;
        else
            dest[count++] = (char)byte;
    }
    dest[count++] = '"';
    return count;
}

KERNEL(json_object)
{
    alm_text_out writer = alm_text_out_of(call);
    const uint8_t *bare = call->data;
    alm_view *views = out->data;
    for (size_t i = 0; i < n; i++) {
        size_t room = 8, len = 0;
        char *ptr = NULL;
        for (uint32_t a = 0; a < call->argc; a++)
            room += 6 * pg_text_at(&args[a], i).len + 12;
        ALM_TRY(alm_text_room(&writer, room, &ptr));
        ptr[len++] = '{';
        for (uint32_t a = 0; a < call->argc; a++) {
            if (a > 0) {
                memcpy(ptr + len, a % 2 == 1 ? " : " : ", ", 3);
                len += a % 2 == 1 ? 3 : 2;
            }
            len += json_text(ptr + len, pg_text_at(&args[a], i), bare[a] != 0);
        }
        ptr[len++] = '}';
        views[i] = alm_text_take(&writer, len);
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------------------------------ rows */

#define ROW(f, sig, args_, flags_, kernel_, doc_)                                                  \
    {.name = f,                                                                                    \
     .signature = sig,                                                                             \
     .flags = flags_,                                                                              \
     .kernel = kernel_,                                                                            \
     .doc = doc_,                                                                                  \
     .example = f args_,                                                                           \
     .since = "0.1"}
#define RIGHT(f)                                                                                   \
    ROW(f, "(ANY...) BOOLEAN", "('trades', 'select')", ALM_FN_STABLE, yes,                         \
        "Has the user this right? Always.")
#define VISIBLE(f)            ROW(f, "(INT) BOOLEAN", "(23)", 0, yes, "Can it be named without its schema?")
#define NOTHING(f, sig, args) ROW(f, sig, args, 0, no_text, "Always null: there are none.")
#define REG(f, word, name, number, in_, to_, out_)                                                 \
    ROW("to_" f, "(TEXT) INT", name, ALM_FN_STABLE, to_,                                           \
        "Object number of a " word ", null: none."),                                               \
        ROW(f "in", "(TEXT) INT", name, ALM_FN_STABLE, in_,                                        \
            "Object number of a " word ", by name."),                                              \
        ROW(f "out", "(INT) STRING", number, ALM_FN_STABLE, out_,                                  \
            "Name of a " word ", by object number.")
#define SIZE(f)                                                                                    \
    ROW(f, "(INT) LONG", "(1259)", ALM_FN_STABLE, table_bytes, "Bytes on disk of a table."),       \
        ROW(f, "(TEXT) LONG", "('trades')", ALM_FN_STABLE, named_table_bytes,                      \
            "Bytes on disk of a table.")

/* In short naps, so that a cancel and the time limit are seen. */
static alm_status nap(alm_ctx *cx, double seconds)
{
    enum { NAP_NS = 5000000 };
    static const double SECONDS_MAX = 1e9;
    const int64_t until = alm_monotonic_ns() + (int64_t)(ALM_MIN(seconds, SECONDS_MAX) * 1e9);
    for (int64_t left = until - alm_monotonic_ns(); left > 0; left = until - alm_monotonic_ns()) {
        const struct timespec t = {.tv_nsec = (long)ALM_MIN(left, (int64_t)NAP_NS)};
        (void)nanosleep(&t, NULL);
        ALM_TRY(alm_check(cx));
    }
    return ALM_OK;
}

KERNEL(pg_sleep)
{
    alm_view *views = out->data;
    for (size_t i = 0; i < n; i++) {
        const double seconds = ALM_AT(double, args[0], i);
        if (seconds > 0) /* null is NaN */
            ALM_TRY(nap(call->cx, seconds));
        views[i] = seconds == seconds ? alm_view_of(ALM_STR("")) : alm_view_null();
    }
    return ALM_OK;
}

static const alm_fn ROWS[] = {
    REG("regclass", "table", "('trades')", "(1259)", regclass_in, to_regclass, regclass_out),
    REG("regtype", "type", "('integer')", "(23)", regtype_in, to_regtype, format_type),
    REG("regnamespace", "schema", "('public')", "(2200)", regnamespace_in, to_regnamespace,
        regnamespace_out),
    REG("regrole", "user", "('admin')", "(10)", regrole_in, to_regrole, user_by_id),
    ROW("format_type", "(INT, INT) STRING", "(1700, 655366)", 0, format_type,
        "Name of a type by its object number."),
    ROW("pg_get_userbyid", "(INT) STRING", "(10)", ALM_FN_STABLE, user_by_id, "Name of an owner."),
    ROW("pg_encoding_to_char", "(INT) STRING", "(6)", 0, encoding_name, "Name of a character set."),
    ROW("pg_char_to_encoding", "(TEXT) INT", "('UTF8')", 0, encoding_number,
        "Number of a character set."),
    ROW("pg_client_encoding", "() STRING", "()", ALM_FN_STABLE, utf8, "Always UTF8."),
    ROW("getdatabaseencoding", "() STRING", "()", ALM_FN_STABLE, utf8, "Always UTF8."),
    ROW("current_setting", "(TEXT) STRING", "('server_encoding')", ALM_FN_STABLE | ALM_FN_VOLATILE,
        current_setting, "Value of a setting of the session."),
    ROW("current_setting", "(TEXT, BOOLEAN) STRING", "('no_such_setting', true)",
        ALM_FN_STABLE | ALM_FN_VOLATILE, current_setting,
        "Value of a setting of the session; null when it is unknown and that is allowed."),
    ROW("set_config", "(TEXT, TEXT, BOOLEAN) STRING", "('application_name', 'report', false)",
        ALM_FN_VOLATILE | ALM_FN_EFFECT, set_config,
        "Sets a setting of the session; gives its value."),
    ROW("pg_sleep", "(DOUBLE) STRING", "(0.001)", ALM_FN_VOLATILE | ALM_FN_WAITS, pg_sleep,
        "Waits so many seconds, each time it is called; a cancel or the time limit ends it."),
    ROW("pg_backend_pid", "() INT", "()", ALM_FN_STABLE, backend_pid, "Number of the connection."),
    {.name = "current_schemas",
     .signature = "(BOOLEAN) ?",
     .flags = ALM_FN_STABLE,
     .bind = bind_names,
     .kernel = current_schemas,
     .doc = "Schemas in which names are looked for.",
     .example = "current_schemas(true)",
     .since = "0.1"},
    SIZE("pg_table_size"),
    SIZE("pg_total_relation_size"),
    SIZE("pg_relation_size"),
    ROW("pg_indexes_size", "(INT) LONG", "(1259)", 0, no_bytes,
        "Indexes take no room of their own."),
    ROW("pg_database_size", "(ANY) LONG", "('qdb')", ALM_FN_STABLE, database_bytes,
        "Bytes on disk of all tables that the user may list."),
    ROW("pg_tablespace_size", "(ANY) LONG", "('pg_default')", ALM_FN_STABLE, database_bytes,
        "Bytes on disk of all tables that the user may list."),
    ROW("pg_size_pretty", "(LONG) STRING", "(17000)", 0, size_pretty, "Bytes with a unit: 17 kB."),
    ROW("quote_literal", "(TEXT) STRING", "('it''s')", 0, quote_literal,
        "A text as it is written in SQL."),
    ROW("quote_nullable", "(TEXT) STRING", "(null)", 0, quote_literal,
        "A text as it is written in SQL; NULL for null."),
    ROW("pg_table_is_visible", "(INT) BOOLEAN", "(1259)", 0, table_visible,
        "Can the table be named without its schema?"),
    {.name = "json_build_object",
     .signature = "(ANY...) STRING",
     .bind = bind_json,
     .kernel = json_object,
     .doc = "A JSON object of names and values in turn.",
     .example = "json_build_object('a', 1)",
     .since = "0.1"},
    VISIBLE("pg_type_is_visible"),
    VISIBLE("pg_function_is_visible"),
    VISIBLE("pg_operator_is_visible"),
    VISIBLE("pg_opclass_is_visible"),
    VISIBLE("pg_opfamily_is_visible"),
    VISIBLE("pg_collation_is_visible"),
    VISIBLE("pg_conversion_is_visible"),
    VISIBLE("pg_ts_config_is_visible"),
    VISIBLE("pg_ts_dict_is_visible"),
    VISIBLE("pg_ts_parser_is_visible"),
    VISIBLE("pg_ts_template_is_visible"),
    VISIBLE("pg_statistics_obj_is_visible"),
    RIGHT("has_table_privilege"),
    RIGHT("has_column_privilege"),
    RIGHT("has_any_column_privilege"),
    RIGHT("has_schema_privilege"),
    RIGHT("has_database_privilege"),
    RIGHT("has_function_privilege"),
    RIGHT("has_sequence_privilege"),
    RIGHT("has_tablespace_privilege"),
    RIGHT("has_type_privilege"),
    RIGHT("has_language_privilege"),
    RIGHT("has_server_privilege"),
    RIGHT("has_foreign_data_wrapper_privilege"),
    RIGHT("pg_has_role"),
    ROW("pg_get_indexdef", "(INT) STRING", "(1259)", ALM_FN_STABLE, index_text,
        "How an index is made."),
    ROW("pg_get_indexdef", "(INT, INT, BOOLEAN) STRING", "(1259, 1, true)", ALM_FN_STABLE,
        index_text, "How an index is made, or one column of it."),
    ROW("pg_stat_get_numscans", "(INT) LONG", "(1259)", 0, no_count,
        "Always null: scans are not counted."),
    NOTHING("pg_get_constraintdef", "(INT) STRING", "(1259)"),
    NOTHING("pg_get_constraintdef", "(INT, BOOLEAN) STRING", "(1259, true)"),
    ROW("pg_get_viewdef", "(INT) STRING", "(1259)", ALM_FN_STABLE, view_text, "Query of a view."),
    ROW("pg_get_viewdef", "(INT, BOOLEAN) STRING", "(1259, true)", ALM_FN_STABLE, view_text,
        "Query of a view."),
    ROW("pg_get_viewdef", "(TEXT) STRING", "('pg_class')", ALM_FN_STABLE, named_view_text,
        "Query of a view."),
    ROW("pg_get_viewdef", "(TEXT, BOOLEAN) STRING", "('pg_class', true)", ALM_FN_STABLE,
        named_view_text, "Query of a view."),
    NOTHING("pg_get_functiondef", "(INT) STRING", "(1259)"),
    ROW("pg_get_function_result", "(INT) STRING", "(14000)", ALM_FN_STABLE, function_result,
        "Type of the result of a function."),
    ROW("pg_get_function_arguments", "(INT) STRING", "(14000)", ALM_FN_STABLE, function_arguments,
        "Types of the arguments of a function."),
    ROW("pg_get_function_identity_arguments", "(INT) STRING", "(14000)", ALM_FN_STABLE,
        function_arguments, "Types of the arguments of a function."),
    NOTHING("pg_get_function_sqlbody", "(INT) STRING", "(1259)"),
    NOTHING("pg_get_triggerdef", "(INT) STRING", "(1259)"),
    NOTHING("pg_get_triggerdef", "(INT, BOOLEAN) STRING", "(1259, true)"),
    NOTHING("pg_get_ruledef", "(INT) STRING", "(1259)"),
    NOTHING("pg_get_ruledef", "(INT, BOOLEAN) STRING", "(1259, true)"),
    NOTHING("pg_get_serial_sequence", "(TEXT, TEXT) STRING", "('trades', 'pg_class')"),
    NOTHING("pg_get_statisticsobjdef_columns", "(INT) STRING", "(1259)"),
    NOTHING("pg_get_partition_constraintdef", "(INT) STRING", "(1259)"),
    NOTHING("pg_get_partkeydef", "(INT) STRING", "(1259)"),
    NOTHING("pg_get_expr", "(STRING, INT) STRING", "('trades', 1)"),
    NOTHING("pg_get_expr", "(STRING, INT, BOOLEAN) STRING", "('trades', 1, true)"),
    ROW("obj_description", "(INT) STRING", "(1259)", ALM_FN_STABLE, table_comment,
        "Comment of a table or view, by its number."),
    ROW("obj_description", "(INT, TEXT) STRING", "(1259, 'pg_class')", ALM_FN_STABLE,
        object_comment, "Comment of a table or view; the text names the catalogue: pg_class."),
    ROW("col_description", "(INT, INT) STRING", "(1259, 1)", ALM_FN_STABLE, column_comment,
        "Comment of a column, by the number of its table and its place there."),
    NOTHING("shobj_description", "(INT, TEXT) STRING", "(1259, 'pg_class')"),
    NOTHING("pg_advisory_unlock_all", "() STRING", "()"),
    ROW("pg_my_temp_schema", "() INT", "()", ALM_FN_STABLE, zero,
        "There are no temporary tables: 0."),
    ROW("pg_is_other_temp_schema", "(INT) BOOLEAN", "(1259)", 0, no,
        "There are no temporary tables."),
    ROW("pg_relation_is_publishable", "(INT) BOOLEAN", "(1259)", 0, no, "There is no replication."),
    ROW("pg_tablespace_location", "(INT) STRING", "(1259)", 0, empty_text, "Always empty."),
};
ALM_FN_TABLE(pg, ROWS);
