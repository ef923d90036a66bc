/*
 * show.c - SHOW as a statement and as an item of FROM.
 */
#include "sql/parse/parse.h"

/* ------------------------------------------------------------------ show */

static alm_status parse_show_table(alm_parser *parser, alm_stmt *stmt)
{
    alm_parse_name name;
    if (alm_at_end(parser) || alm_at_op(parser, ALM_OP_RPAREN))
        return alm_parse_fail(parser, parser->tok.pos, "expected a table name");
    ALM_TRY(alm_parse_table(parser, "table name", &name));
    stmt->table = name.text;
    stmt->table_quoted = name.quoted;
    stmt->table_pos = name.pos;
    return ALM_OK;
}

/* Words of one blank between, lower case: "transaction isolation level". */
static alm_status show_parse_words(alm_parser *parser, alm_stmt *stmt)
{
    size_t len = 0;
    char words[256];
    while (parser->tok.kind == ALM_TOK_NAME || parser->tok.kind == ALM_TOK_QUOTED ||
           alm_at_op(parser, ALM_OP_DOT)) {
        const alm_str text = alm_token_text(parser, parser->tok);
        const bool joined = alm_at_op(parser, ALM_OP_DOT) || (len > 0 && words[len - 1] == '.');
        if (len + text.len + 1 > sizeof words)
            return alm_parse_unexpected(parser);
        if (len > 0 && !joined)
            words[len++] = ' ';
        (void)memcpy(words + len, text.ptr, text.len);
        len += text.len;
        alm_parse_next(parser);
    }
    return alm_parse_lower(parser, (alm_str){words, len}, &stmt->what);
}

/* users; user, groups, service account, service accounts, permissions [name] */
static alm_status parse_show_acl(alm_parser *parser, alm_stmt *stmt, bool *found)
{
    static const struct {
        const char *first, *second, *what;
    } rows[] = {{"users", NULL, "users"},
                {"user", NULL, "user"},
                {"groups", NULL, "groups"},
                {"permissions", NULL, "permissions"},
                {"service", "accounts", "service accounts"},
                {"service", "account", "service account"}};
    alm_parse_name name;
    *found = false;
    for (size_t i = 0; i < ALM_COUNT(rows) && !*found; i++) {
        const alm_token next = alm_parse_peek(parser);
        if (!alm_at_word(parser, rows[i].first) ||
            (rows[i].second != NULL &&
             !alm_str_ieq(alm_token_text(parser, next), alm_str_of(rows[i].second))))
            continue;
        *found = true;
        stmt->what = alm_str_of(rows[i].what);
        alm_parse_next(parser);
        if (rows[i].second != NULL)
            alm_parse_next(parser);
    }
    if (!*found || alm_at_end(parser) || alm_at_op(parser, ALM_OP_RPAREN) ||
        alm_str_eq(stmt->what, ALM_STR("users")))
        return ALM_OK;
    ALM_TRY(alm_parse_ident(parser, "name", &name));
    stmt->table = name.text;
    stmt->table_pos = name.pos;
    if (alm_str_eq(stmt->what, ALM_STR("service accounts")))
        stmt->what = ALM_STR("service accounts of");
    return ALM_OK;
}

/* CREATE DATABASE [category [, ...]]: the words go to the function, which knows them. */
static alm_status parse_categories(alm_parser *parser, alm_stmt *stmt)
{
    const char *all = "";
    stmt->what = ALM_STR("create database");
    stmt->table_pos = parser->tok.pos;
    while (!alm_at_end(parser) && !alm_at_op(parser, ALM_OP_RPAREN)) {
        alm_parse_name name;
        ALM_TRY(alm_parse_ident(parser, "category", &name));
        ALM_TRY(alm_arena_printf(parser->cx, parser->cx->arena, &all, "%s%s%.*s", all,
                                 all[0] == 0 ? "" : ",", (int)name.text.len, name.text.ptr));
        if (!alm_take_op(parser, ALM_OP_COMMA))
            break;
    }
    stmt->table = alm_str_of(all);
    return ALM_OK;
}

/* DESCRIBE [TABLE] t and DESC t: SHOW COLUMNS FROM t; anything else is a table or alias of that name. */
static bool at_describe(const alm_parser *parser)
{
    alm_parser ahead = *parser;
    if (!alm_at_word(parser, "describe") && !alm_at_kw(parser, ALM_KW_DESC))
        return false;
    alm_parse_next(&ahead);
    (void)alm_take_kw(&ahead, ALM_KW_TABLE);
    if (ahead.tok.kind != ALM_TOK_NAME && ahead.tok.kind != ALM_TOK_QUOTED)
        return false;
    alm_parse_next(&ahead);
    while (alm_take_op(&ahead, ALM_OP_DOT))
        alm_parse_next(&ahead);
    return alm_at_end(&ahead);
}

bool alm_at_show(const alm_parser *parser)
{
    return alm_at_kw(parser, ALM_KW_SHOW) || at_describe(parser);
}

static alm_status parse_describe(alm_parser *parser, alm_stmt *stmt)
{
    stmt->text = ALM_STR("SHOW");
    stmt->what = ALM_STR("columns");
    stmt->what_pos = parser->prev.pos;
    if (alm_at_kw(parser, ALM_KW_TABLE))
        alm_parse_next(parser);
    return parse_show_table(parser, stmt);
}

alm_status alm_parse_show(alm_parser *parser, alm_stmt *stmt)
{
    bool found = false;
    if (!alm_str_eq(stmt->text, ALM_STR("SHOW")))
        return parse_describe(parser, stmt);
    if (parser->tok.kind != ALM_TOK_NAME && parser->tok.kind != ALM_TOK_QUOTED)
        return alm_parse_fail(
            parser, parser->tok.pos,
            "expected 'TABLES', 'COLUMNS FROM <tab>', 'PARTITIONS FROM <tab>', 'TRANSACTION "
            "ISOLATION LEVEL', 'transaction_isolation', 'max_identifier_length', "
            "'standard_conforming_strings', 'parameters', 'server_version', 'server_version_num', "
            "'search_path', 'datestyle', or 'time zone'");
    ALM_TRY(parse_show_acl(parser, stmt, &found));
    if (found)
        return ALM_OK;
    const bool columns = alm_at_kw(parser, ALM_KW_COLUMNS);
    if (columns || alm_at_kw(parser, ALM_KW_PARTITIONS)) {
        stmt->what = columns ? ALM_STR("columns") : ALM_STR("partitions");
        alm_parse_next(parser);
        ALM_TRY(alm_expect_kw(parser, ALM_KW_FROM, "expected 'from'"));
        return parse_show_table(parser, stmt);
    }
    if (alm_take_kw(parser, ALM_KW_CREATE)) {
        if (alm_take_word(parser, "database"))
            return parse_categories(parser, stmt);
        if (alm_take_kw(parser, ALM_KW_TABLE))
            stmt->what = ALM_STR("create table");
        else if (alm_take_kw(parser, ALM_KW_VIEW))
            stmt->what = ALM_STR("create view");
        else if (alm_take_kw(parser, ALM_KW_MATERIALIZED) && alm_take_kw(parser, ALM_KW_VIEW))
            stmt->what = ALM_STR("create materialized view");
        else
            return alm_parse_fail(
                parser, parser->tok.pos,
                "expected 'TABLE' or 'VIEW' or 'MATERIALIZED VIEW' or 'DATABASE'");
        return parse_show_table(parser, stmt);
    }
    return show_parse_words(parser, stmt);
}

/* ------------------------------------------------------------------ from (show ...) */

static alm_status table_call(alm_parser *parser, const alm_stmt *stmt, const char *function,
                             alm_ast **out)
{
    ALM_TRY(alm_parse_node(parser, ALM_AST_CALL, stmt->what_pos, out));
    (*out)->text = alm_str_of(function);
    if (stmt->table.len == 0)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(parser->cx, parser->cx->arena, 1, &(*out)->arg));
    ALM_TRY(alm_parse_node(parser, ALM_AST_STRING, stmt->table_pos, &(*out)->arg[0]));
    (*out)->arg[0]->text = stmt->table;
    (*out)->n_args = 1;
    return alm_parse_seal(parser, *out);
}

/* A setting: SELECT current_setting('name') AS name. */
static alm_status show_setting(alm_parser *parser, const alm_stmt *stmt, int32_t pos,
                               alm_select **out)
{
    alm_ast *call = NULL;
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, out));
    ALM_TRY(ALM_NEWN(parser->cx, parser->cx->arena, 1, &(*out)->items));
    ALM_TRY(alm_parse_node(parser, ALM_AST_CALL, stmt->what_pos, &call));
    call->text = ALM_STR("current_setting");
    ALM_TRY(ALM_NEWN(parser->cx, parser->cx->arena, 1, &call->arg));
    ALM_TRY(alm_parse_node(parser, ALM_AST_STRING, stmt->what_pos, &call->arg[0]));
    call->arg[0]->text = stmt->what;
    call->n_args = 1;
    (*out)->pos = pos;
    (*out)->end = parser->prev.end;
    (*out)->depth = 3;
    (*out)->n_items = 1;
    (*out)->items[0] =
        (alm_select_item){.expr = call, .alias = stmt->what, .alias_pos = stmt->what_pos};
    return alm_parse_seal(parser, call);
}

alm_status alm_parse_show_query(alm_parser *parser, alm_select **out)
{
    static const struct {
        const char *what, *function, *column; /* column: the only one shown, or NULL */
    } rows[] = {{"tables", "tables", "table_name"},
                {"columns", "table_columns", NULL},
                {"partitions", "table_partitions", NULL},
                {"create table", "show_create_table", "ddl"},
                {"create view", "show_create_view", "ddl"},
                {"create materialized view", "show_create_materialized_view", "ddl"},
                {"create database", "show_create_database", "ddl"},
                {"parameters", "show_parameters", NULL},
                {"all", "show_settings", NULL},
                {"sessions", "session_activity", NULL},
                {"users", "all_users", NULL},
                {"user", "user_logins", NULL},
                {"groups", "all_groups", NULL},
                {"service accounts", "all_service_accounts", NULL},
                {"service accounts of", "service_accounts_of", NULL},
                {"service account", "service_account_logins", NULL},
                {"permissions", "permissions_of", NULL}};
    alm_stmt stmt = {.kind = ALM_STMT_SHOW, .text = ALM_STR("SHOW")};
    const int32_t pos = parser->tok.pos;
    alm_parse_next(parser); /* show */
    stmt.what_pos = parser->tok.pos;
    ALM_TRY(alm_parse_show(parser, &stmt));
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        if (!alm_str_eq(stmt.what, alm_str_of(rows[i].what)))
            continue;
        alm_select *sel = NULL;
        ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &sel));
        sel->pos = pos;
        sel->end = parser->prev.end;
        sel->depth = 3;
        ALM_TRY(alm_parse_star_item(parser, pos, sel));
        if (rows[i].column != NULL) {
            sel->implicit_star = false;
            sel->items[0].expr->kind = ALM_AST_NAME;
            sel->items[0].expr->text = alm_str_of(rows[i].column);
        }
        ALM_TRY(ALM_NEWN(parser->cx, parser->cx->arena, 1, &sel->from));
        sel->n_from = 1;
        sel->from[0].kind = ALM_FROM_FUNCTION;
        sel->from[0].name = alm_str_of(rows[i].function);
        sel->from[0].pos = pos;
        *out = sel;
        return table_call(parser, &stmt, rows[i].function, &sel->from[0].call);
    }
    return show_setting(parser, &stmt, pos, out);
}
