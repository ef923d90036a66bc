/*
 * statement.c - the short statements.
 */
#include "sql/parse/parse.h"

static alm_status take_if_exists(alm_parser *parser, alm_stmt *stmt)
{
    if (!alm_take_kw(parser, ALM_KW_IF))
        return ALM_OK;
    stmt->if_exists = true;
    return alm_expect_kw(parser, ALM_KW_EXISTS, "'exists' expected");
}

/* ------------------------------------------------------------------ drop, truncate, rename */

/* DROP TABLE, VIEW, MATERIALIZED VIEW name, ...; DROP ALL TABLES */
alm_status alm_parse_drop(alm_parser *parser, alm_stmt *stmt)
{
    if (alm_str_eq(stmt->text, ALM_STR("DROP ALL"))) {
        stmt->text = ALM_STR("DROP TABLE");
        if (!alm_take_kw(parser, ALM_KW_TABLES))
            return alm_parse_fail(parser, parser->tok.pos, "'tables' expected");
        (void)alm_take_op(parser, ALM_OP_SEMI);
        stmt->all_tables = true;
        return ALM_OK;
    }
    if (stmt->kind == ALM_STMT_DROP_MATVIEW) {
        stmt->text = ALM_STR("DROP MATERIALIZED VIEW");
        ALM_TRY(alm_expect_kw(parser, ALM_KW_VIEW, "'view' expected"));
    }
    ALM_TRY(take_if_exists(parser, stmt));
    ALM_TRY(alm_parse_table_list(parser, stmt, "table name", stmt->kind == ALM_STMT_DROP_TABLE));
    stmt->cascade = alm_take_word(parser, "cascade");
    if (stmt->cascade && !alm_take_word(parser, "permissions"))
        return alm_parse_fail(parser, parser->tok.pos, "'permissions' expected");
    return ALM_OK;
}

alm_status alm_parse_truncate(alm_parser *parser, alm_stmt *stmt)
{
    stmt->text = ALM_STR("TRUNCATE TABLE");
    ALM_TRY(alm_expect_kw(parser, ALM_KW_TABLE, "TABLE expected"));
    ALM_TRY(take_if_exists(parser, stmt));
    ALM_TRY(alm_parse_table_list(parser, stmt, "table name", true));
    if (!alm_take_word(parser, "keep"))
        return ALM_OK;
    stmt->keep_symbols = true;
    if (!alm_take_word(parser, "symbol"))
        return alm_parse_fail(parser, parser->tok.pos, "'symbol' expected");
    return alm_take_word(parser, "maps")
               ? ALM_OK
               : alm_parse_fail(parser, parser->tok.pos, "'maps' expected");
}

alm_status alm_parse_rename_target(alm_parser *parser, alm_stmt *stmt)
{
    alm_parse_name name;
    ALM_TRY(alm_parse_new_table(parser, "new table name", &name));
    stmt->new_name = name.text;
    stmt->new_name_pos = name.pos;
    return ALM_OK;
}

alm_status alm_parse_rename(alm_parser *parser, alm_stmt *stmt)
{
    stmt->text = ALM_STR("RENAME TABLE");
    ALM_TRY(alm_expect_kw(parser, ALM_KW_TABLE, "TABLE expected"));
    ALM_TRY(alm_parse_table_list(parser, stmt, "table name", false));
    ALM_TRY(alm_expect_kw(parser, ALM_KW_TO, "'to' expected"));
    return alm_parse_rename_target(parser, stmt);
}

/* CHECKPOINT CREATE, RELEASE; in its older words SNAPSHOT PREPARE, COMPLETE. */
alm_status alm_parse_checkpoint(alm_parser *parser, alm_stmt *stmt)
{
    const bool snapshot = alm_str_eq(stmt->text, ALM_STR("SNAPSHOT"));
    const int32_t pos = parser->tok.pos;
    if (snapshot ? alm_take_kw(parser, ALM_KW_PREPARE) : alm_take_kw(parser, ALM_KW_CREATE))
        stmt->what = ALM_STR("create");
    else if (snapshot ? alm_take_word(parser, "complete") : alm_take_kw(parser, ALM_KW_RELEASE))
        stmt->what = ALM_STR("release");
    else
        return alm_parse_fail(parser, pos,
                              snapshot ? "'prepare' or 'complete' expected"
                                       : "'create' or 'release' expected");
    if (!alm_at_end(parser))
        return alm_parse_unexpected(parser);
    stmt->text = alm_str_of(snapshot                                    ? "SNAPSHOT"
                            : alm_str_eq(stmt->what, ALM_STR("create")) ? "CHECKPOINT CREATE"
                                                                        : "CHECKPOINT RELEASE");
    return ALM_OK;
}

/* BACKUP DATABASE | TABLE t, ... [TO 'directory'] */
alm_status alm_parse_backup(alm_parser *parser, alm_stmt *stmt)
{
    if (alm_take_word(parser, "database")) {
        stmt->text = ALM_STR("BACKUP DATABASE");
        stmt->all_tables = true;
    } else if (alm_take_kw(parser, ALM_KW_TABLE)) {
        stmt->text = ALM_STR("BACKUP TABLE");
        ALM_TRY(alm_parse_table_list(parser, stmt, "table name", true));
    } else {
        return alm_parse_fail(parser, parser->tok.pos, "'table' or 'database' expected");
    }
    if (alm_take_kw(parser, ALM_KW_TO))
        ALM_TRY(alm_parse_text(parser, "directory", &stmt->range_to, &stmt->range_to_pos));
    return alm_at_end(parser) ? ALM_OK : alm_parse_unexpected(parser);
}

/* CANCEL QUERY number */
alm_status alm_parse_cancel(alm_parser *parser, alm_stmt *stmt)
{
    stmt->text = ALM_STR("CANCEL QUERY");
    if (!alm_take_word(parser, "query"))
        return alm_parse_fail(parser, parser->tok.pos, "'query' expected");
    stmt->what_pos = parser->tok.pos;
    if (parser->tok.kind != ALM_TOK_NUMBER)
        return alm_parse_fail(parser, parser->tok.pos, "number of a query expected");
    stmt->value = alm_token_text(parser, parser->tok);
    alm_parse_next(parser);
    return alm_at_end(parser) ? ALM_OK : alm_parse_unexpected(parser);
}

/* DROP SESSION 'id' */
alm_status alm_parse_drop_session(alm_parser *parser, alm_stmt *stmt)
{
    ALM_TRY(alm_parse_text(parser, "id of a session", &stmt->value, &stmt->what_pos));
    return alm_at_end(parser) ? ALM_OK : alm_parse_unexpected(parser);
}

/* What follows is kept as text. */
alm_status alm_parse_other(alm_parser *parser, alm_stmt *stmt)
{
    const int32_t pos = parser->tok.pos;
    alm_parse_skip(parser);
    if (parser->tok.kind == ALM_TOK_BAD)
        return alm_parse_unexpected(parser);
    stmt->value = alm_parse_slice(parser, pos, parser->prev.end);
    return ALM_OK;
}
