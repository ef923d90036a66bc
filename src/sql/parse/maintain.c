/*
 * maintain.c - COMMENT ON, VACUUM, ANALYZE, REINDEX, SCRUB.
 */
#include "sql/parse/parse.h"

/* COLUMN [[database.]schema.]table.column */
static alm_status parse_comment_column(alm_parser *parser, alm_stmt *stmt)
{
    alm_parse_name part[4];
    uint32_t count = 0;
    do
        ALM_TRY(alm_parse_ident(parser, "table name", &part[count]));
    while (++count < ALM_COUNT(part) && alm_take_op(parser, ALM_OP_DOT));
    if (count == 1)
        return alm_parse_fail(parser, part[0].pos,
                              "table and column name expected, parted by a dot");
    stmt->table = part[count - 2].text;
    stmt->column = part[count - 1].text;
    stmt->column_pos = part[count - 1].pos;
    if (count == 2)
        return ALM_OK;
    const alm_str schema = part[count - 3].text;
    ALM_TRY(
        alm_parse_schema(parser, count == 4 ? part[0].text : (alm_str){0}, schema, part[0].pos));
    part[count - 2].pos = part[0].pos;
    return alm_parse_own_table(parser, schema, part[count - 2]);
}

/* COMMENT ON what IS text */
alm_status alm_parse_comment(alm_parser *parser, alm_stmt *stmt)
{
    static const struct {
        alm_keyword kw;
        const char *what;
    } kinds[] = {{ALM_KW_TABLE, "table"}, {ALM_KW_COLUMN, "column"}, {ALM_KW_VIEW, "view"}};
    ALM_TRY(alm_expect_kw(parser, ALM_KW_ON, "'on' expected"));
    const bool materialized = alm_take_kw(parser, ALM_KW_MATERIALIZED);
    for (size_t i = 0; i < ALM_COUNT(kinds); i++)
        if (alm_at_kw(parser, kinds[i].kw) && (!materialized || kinds[i].kw == ALM_KW_VIEW))
            stmt->what = alm_str_of(materialized ? "materialized view" : kinds[i].what);
    if (stmt->what.len == 0)
        return alm_parse_fail(parser, parser->tok.pos,
                              materialized ? "'view' expected"
                                           : "'table', 'column', 'view' or 'materialized view' "
                                             "expected");
    alm_parse_next(parser);
    stmt->table_pos = parser->tok.pos;
    if (alm_str_eq(stmt->what, ALM_STR("column"))) {
        ALM_TRY(parse_comment_column(parser, stmt));
    } else {
        alm_parse_name name;
        ALM_TRY(alm_parse_table(parser, "table name", &name));
        stmt->table = name.text;
    }
    ALM_TRY(alm_expect_kw(parser, ALM_KW_IS, "'is' expected"));
    if (alm_take_kw(parser, ALM_KW_NULL))
        return ALM_OK;
    if (parser->tok.kind != ALM_TOK_STRING)
        return alm_parse_fail(parser, parser->tok.pos, "text or 'null' expected");
    ALM_TRY(alm_parse_unquote(parser, parser->tok, &stmt->value));
    alm_parse_next(parser);
    return ALM_OK;
}

/* [COLUMN a, b] [PARTITION 'p', ...] [LOCK EXCLUSIVE] behind REINDEX TABLE t */
static alm_status parse_reindex_what(alm_parser *parser, alm_stmt *stmt)
{
    uint32_t cap = 0, cap_pos = 0;
    if (alm_take_kw(parser, ALM_KW_COLUMN)) {
        do {
            alm_parse_name name;
            ALM_TRY(ALM_GROW(parser, &stmt->insert_cols, stmt->n_insert_cols, &cap));
            ALM_TRY(ALM_GROW(parser, &stmt->insert_pos, stmt->n_insert_cols, &cap_pos));
            ALM_TRY(alm_parse_ident(parser, "column name", &name));
            stmt->insert_cols[stmt->n_insert_cols] = name.text;
            stmt->insert_pos[stmt->n_insert_cols++] = name.pos;
        } while (alm_take_op(parser, ALM_OP_COMMA));
    }
    if (alm_take_kw(parser, ALM_KW_PARTITION)) {
        do {
            if (parser->tok.kind != ALM_TOK_STRING)
                return alm_parse_fail(parser, parser->tok.pos, "partition name expected");
            alm_parse_next(parser);
        } while (alm_take_op(parser, ALM_OP_COMMA));
    }
    if (alm_at_end(parser))
        return ALM_OK;
    if (!alm_take_kw(parser, ALM_KW_LOCK) || !alm_take_word(parser, "exclusive"))
        return alm_parse_fail(parser, parser->tok.pos,
                              "'column', 'partition' or 'lock exclusive' expected");
    return ALM_OK;
}

/* One of the words of PostgreSQL's in front of the tables; a table called so stands in quotes. */
static bool take_vacuum_word(alm_parser *parser)
{
    return alm_take_kw(parser, ALM_KW_FULL) || alm_take_kw(parser, ALM_KW_ANALYZE) ||
           alm_take_word(parser, "freeze") || alm_take_word(parser, "verbose") ||
           alm_take_word(parser, "analyse");
}

/* VACUUM TABLE | PARTITIONS t; as PostgreSQL has it, of one table, several or all:
 * VACUUM | ANALYZE [(options)] [FULL] [FREEZE] [VERBOSE] [ANALYZE] [t [(column, ...)], ...] */
static alm_status parse_vacuum(alm_parser *parser, alm_stmt *stmt)
{
    uint32_t cap = 0, cap_pos = 0;
    if (alm_at_op(parser, ALM_OP_LPAREN)) {
        while (!alm_at_end(parser) && parser->tok.kind != ALM_TOK_BAD &&
               !alm_at_op(parser, ALM_OP_RPAREN))
            alm_parse_next(parser);
        ALM_TRY(alm_expect_op(parser, ALM_OP_RPAREN, "')' expected"));
    }
    while (take_vacuum_word(parser)) {
    }
    stmt->all_tables = alm_at_end(parser);
    if (stmt->all_tables)
        return ALM_OK;
    if (!alm_take_kw(parser, ALM_KW_TABLE))
        (void)alm_take_kw(parser, ALM_KW_PARTITIONS);
    do {
        alm_parse_name name;
        ALM_TRY(ALM_GROW(parser, &stmt->more_tables, stmt->n_more, &cap));
        ALM_TRY(ALM_GROW(parser, &stmt->more_pos, stmt->n_more, &cap_pos));
        ALM_TRY(alm_parse_table(parser, "table name", &name));
        stmt->more_tables[stmt->n_more] = name.text;
        stmt->more_pos[stmt->n_more++] = name.pos;
        if (alm_at_op(parser, ALM_OP_LPAREN))
            ALM_TRY(alm_parse_insert_cols(parser, stmt));
    } while (alm_take_op(parser, ALM_OP_COMMA));
    return ALM_OK;
}

/* TABLE t, ... behind SCRUB */
static alm_status parse_scrub(alm_parser *parser, alm_stmt *stmt)
{
    ALM_TRY(alm_expect_kw(parser, ALM_KW_TABLE, "'table' expected"));
    ALM_TRY(alm_parse_table_list(parser, stmt, "table name", true));
    return alm_at_end(parser) ? ALM_OK : alm_parse_unexpected(parser);
}

alm_status alm_parse_maintain(alm_parser *parser, alm_stmt *stmt)
{
    alm_parse_name name;
    if (alm_str_eq(stmt->text, ALM_STR("SCRUB")))
        return parse_scrub(parser, stmt);
    if (!alm_str_eq(stmt->text, ALM_STR("REINDEX")))
        return parse_vacuum(parser, stmt);
    ALM_TRY(alm_expect_kw(parser, ALM_KW_TABLE, "'table' expected"));
    ALM_TRY(alm_parse_table(parser, "table name", &name));
    stmt->table = name.text;
    stmt->table_quoted = name.quoted;
    stmt->table_pos = name.pos;
    return parse_reindex_what(parser, stmt);
}
