/*
 * relation.c - names of tables with the schema before them.
 *
 * Tables of users are in the schema public of the database qdb; the server's own relations are in pg_catalog,
 * information_schema and sys. Any other schema is refused as soon as it is read: an unknown one must never stand for
 * the table of that name, least of all in a statement that writes.
 */
#include "sql/parse/parse.h"

static bool relation_is_own(alm_str schema)
{
    return schema.len == 0 || alm_str_ieq(schema, ALM_STR("public"));
}

bool alm_is_database(alm_str name)
{
    return alm_str_ieq(name, ALM_STR("qdb"));
}

alm_status alm_parse_schema(alm_parser *parser, alm_str database, alm_str schema, int32_t pos)
{
    static const char *const known[] = {"public", "pg_catalog", "information_schema", "sys"};
    const bool here = database.len == 0 || alm_is_database(database);
    for (size_t i = 0; here && i < ALM_COUNT(known); i++)
        if (alm_str_ieq(schema, alm_str_of(known[i])))
            return ALM_OK;
    return alm_fail(parser->cx, ALM_E_SCHEMA, pos, "schema does not exist [schema=%.*s%s%.*s]",
                    (int)ALM_MIN(database.len, 100), database.len == 0 ? "" : database.ptr,
                    database.len == 0 ? "" : ".", (int)ALM_MIN(schema.len, 100), schema.ptr);
}

/* The parts of a name, not looked at; *database and *schema are empty where they are not said. */
static alm_status take_parts(alm_parser *parser, const char *what, alm_str *database,
                             alm_str *schema, alm_parse_name *out)
{
    *database = *schema = (alm_str){0};
    ALM_TRY(alm_parse_ident(parser, what, out));
    const int32_t pos = out->pos;
    for (int dots = 0; dots < 2 && alm_take_op(parser, ALM_OP_DOT); dots++) {
        *database = *schema;
        *schema = out->text;
        if (schema->len == 0) /* "" is a name that no schema has, not a schema that was left out */
            return alm_parse_schema(parser, *database, *schema, pos);
        ALM_TRY(alm_parse_ident(parser, what, out));
        out->pos = pos;
    }
    return ALM_OK;
}

alm_status alm_parse_relation(alm_parser *parser, const char *what, alm_str *schema,
                              alm_parse_name *out)
{
    alm_str database;
    ALM_TRY(take_parts(parser, what, &database, schema, out));
    return schema->len > 0 ? alm_parse_schema(parser, database, *schema, out->pos) : ALM_OK;
}

alm_status alm_parse_own_table(alm_parser *parser, alm_str schema, alm_parse_name name)
{
    if (relation_is_own(schema))
        return ALM_OK;
    return alm_fail(parser->cx, ALM_E_TABLE, name.pos, "table does not exist [table=%.*s.%.*s]",
                    (int)schema.len, schema.ptr, (int)ALM_MIN(name.text.len, 200), name.text.ptr);
}

alm_status alm_parse_table(alm_parser *parser, const char *what, alm_parse_name *out)
{
    alm_str schema;
    ALM_TRY(alm_parse_relation(parser, what, &schema, out));
    return alm_parse_own_table(parser, schema, *out);
}

alm_status alm_parse_new_table(alm_parser *parser, const char *what, alm_parse_name *out)
{
    alm_str schema;
    ALM_TRY(alm_parse_relation(parser, what, &schema, out));
    if (!relation_is_own(schema))
        return alm_fail(
            parser->cx, ALM_E_DENIED, out->pos,
            "permission denied to create \"%.*s.%.*s\": tables are in the schema public",
            (int)schema.len, schema.ptr, (int)ALM_MIN(out->text.len, 200), out->text.ptr);
    return alm_parse_check_name(parser, *out);
}

alm_status alm_parse_listed_table(alm_parser *parser, alm_stmt *stmt, const char *what, bool *here,
                                  alm_parse_name *out)
{
    alm_str database, schema, *absent = NULL;
    *here = true;
    if (!stmt->if_exists)
        return alm_parse_table(parser, what, out);
    ALM_TRY(take_parts(parser, what, &database, &schema, out));
    if (relation_is_own(schema) && (database.len == 0 || alm_is_database(database)))
        return ALM_OK;
    *here = false;
    ALM_TRY(ALM_NEWN(parser->cx, parser->cx->arena, stmt->n_absent + 1, &absent));
    if (stmt->n_absent > 0)
        (void)memcpy(absent, stmt->absent, stmt->n_absent * sizeof *absent);
    stmt->absent = absent;
    const char *path = NULL;
    ALM_TRY(alm_arena_printf(parser->cx, parser->cx->arena, &path, "%.*s%s%.*s.%.*s",
                             (int)database.len, database.len == 0 ? "" : database.ptr,
                             database.len == 0 ? "" : ".", (int)schema.len, schema.ptr,
                             (int)out->text.len, out->text.ptr));
    stmt->absent[stmt->n_absent++] = alm_str_of(path);
    return ALM_OK;
}

alm_status alm_parse_table_list(alm_parser *parser, alm_stmt *stmt, const char *what, bool many)
{
    uint32_t cap = 0, cap_pos = 0;
    bool first = true;
    do {
        alm_parse_name name;
        bool here = false;
        ALM_TRY(alm_parse_listed_table(parser, stmt, what, &here, &name));
        if (!here)
            continue;
        if (first) {
            first = false;
            stmt->table = name.text;
            stmt->table_quoted = name.quoted;
            stmt->table_pos = name.pos;
            continue;
        }
        ALM_TRY(ALM_GROW(parser, &stmt->more_tables, stmt->n_more, &cap));
        ALM_TRY(ALM_GROW(parser, &stmt->more_pos, stmt->n_more, &cap_pos));
        stmt->more_tables[stmt->n_more] = name.text;
        stmt->more_pos[stmt->n_more++] = name.pos;
    } while (many && alm_take_op(parser, ALM_OP_COMMA));
    return ALM_OK;
}
