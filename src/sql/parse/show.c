/*
 * show.c - SHOW as a statement and as an item of FROM.
 */
#include "sql/parse/parse.h"

/* ------------------------------------------------------------------ show */

static alm_status parse_show_table(alm_parser *p, alm_stmt *s)
{
    alm_parse_name name;
    if (alm_at_end(p) || alm_at_op(p, ALM_OP_RPAREN))
        return alm_parse_fail(p, p->tok.pos, "expected a table name");
    ALM_TRY(alm_parse_table(p, "table name", &name));
    s->table = name.text;
    s->table_quoted = name.quoted;
    s->table_pos = name.pos;
    return ALM_OK;
}

/* Words of one blank between, lower case: "transaction isolation level". */
static alm_status parse_words(alm_parser *p, alm_stmt *s)
{
    size_t len = 0;
    char words[256];
    while (p->tok.kind == ALM_TOK_NAME || p->tok.kind == ALM_TOK_QUOTED ||
           alm_at_op(p, ALM_OP_DOT)) {
        const alm_str t = alm_token_text(p, p->tok);
        const bool joined = alm_at_op(p, ALM_OP_DOT) || (len > 0 && words[len - 1] == '.');
        if (len + t.len + 1 > sizeof words)
            return alm_parse_unexpected(p);
        if (len > 0 && !joined)
            words[len++] = ' ';
        (void)memcpy(words + len, t.ptr, t.len);
        len += t.len;
        alm_parse_next(p);
    }
    return alm_parse_lower(p, (alm_str){words, len}, &s->what);
}

/* users; user, groups, service account, service accounts, permissions [name] */
static alm_status parse_show_acl(alm_parser *p, alm_stmt *s, bool *found)
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
        const alm_token next = alm_parse_peek(p);
        if (!alm_at_word(p, rows[i].first) ||
            (rows[i].second != NULL &&
             !alm_str_ieq(alm_token_text(p, next), alm_str_of(rows[i].second))))
            continue;
        *found = true;
        s->what = alm_str_of(rows[i].what);
        alm_parse_next(p);
        if (rows[i].second != NULL)
            alm_parse_next(p);
    }
    if (!*found || alm_at_end(p) || alm_at_op(p, ALM_OP_RPAREN) ||
        alm_str_eq(s->what, ALM_STR("users")))
        return ALM_OK;
    ALM_TRY(alm_parse_ident(p, "name", &name));
    s->table = name.text;
    s->table_pos = name.pos;
    if (alm_str_eq(s->what, ALM_STR("service accounts")))
        s->what = ALM_STR("service accounts of");
    return ALM_OK;
}

/* CREATE DATABASE [category [, ...]]: the words go to the function, which knows them. */
static alm_status parse_categories(alm_parser *p, alm_stmt *s)
{
    const char *all = "";
    s->what = ALM_STR("create database");
    s->table_pos = p->tok.pos;
    while (!alm_at_end(p) && !alm_at_op(p, ALM_OP_RPAREN)) {
        alm_parse_name name;
        ALM_TRY(alm_parse_ident(p, "category", &name));
        ALM_TRY(alm_arena_printf(p->cx, p->cx->arena, &all, "%s%s%.*s", all, all[0] == 0 ? "" : ",",
                                 (int)name.text.len, name.text.ptr));
        if (!alm_take_op(p, ALM_OP_COMMA))
            break;
    }
    s->table = alm_str_of(all);
    return ALM_OK;
}

/* DESCRIBE [TABLE] t and DESC t: SHOW COLUMNS FROM t; anything else is a table or alias of that name. */
static bool at_describe(const alm_parser *p)
{
    alm_parser ahead = *p;
    if (!alm_at_word(p, "describe") && !alm_at_kw(p, ALM_KW_DESC))
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

bool alm_at_show(const alm_parser *p)
{
    return alm_at_kw(p, ALM_KW_SHOW) || at_describe(p);
}

static alm_status parse_describe(alm_parser *p, alm_stmt *s)
{
    s->text = ALM_STR("SHOW");
    s->what = ALM_STR("columns");
    s->what_pos = p->prev.pos;
    if (alm_at_kw(p, ALM_KW_TABLE))
        alm_parse_next(p);
    return parse_show_table(p, s);
}

alm_status alm_parse_show(alm_parser *p, alm_stmt *s)
{
    bool found = false;
    if (!alm_str_eq(s->text, ALM_STR("SHOW")))
        return parse_describe(p, s);
    if (p->tok.kind != ALM_TOK_NAME && p->tok.kind != ALM_TOK_QUOTED)
        return alm_parse_fail(
            p, p->tok.pos,
            "expected 'TABLES', 'COLUMNS FROM <tab>', 'PARTITIONS FROM <tab>', 'TRANSACTION "
            "ISOLATION LEVEL', 'transaction_isolation', 'max_identifier_length', "
            "'standard_conforming_strings', 'parameters', 'server_version', 'server_version_num', "
            "'search_path', 'datestyle', or 'time zone'");
    ALM_TRY(parse_show_acl(p, s, &found));
    if (found)
        return ALM_OK;
    const bool columns = alm_at_kw(p, ALM_KW_COLUMNS);
    if (columns || alm_at_kw(p, ALM_KW_PARTITIONS)) {
        s->what = columns ? ALM_STR("columns") : ALM_STR("partitions");
        alm_parse_next(p);
        ALM_TRY(alm_expect_kw(p, ALM_KW_FROM, "expected 'from'"));
        return parse_show_table(p, s);
    }
    if (alm_take_kw(p, ALM_KW_CREATE)) {
        if (alm_take_word(p, "database"))
            return parse_categories(p, s);
        if (alm_take_kw(p, ALM_KW_TABLE))
            s->what = ALM_STR("create table");
        else if (alm_take_kw(p, ALM_KW_VIEW))
            s->what = ALM_STR("create view");
        else if (alm_take_kw(p, ALM_KW_MATERIALIZED) && alm_take_kw(p, ALM_KW_VIEW))
            s->what = ALM_STR("create materialized view");
        else
            return alm_parse_fail(
                p, p->tok.pos, "expected 'TABLE' or 'VIEW' or 'MATERIALIZED VIEW' or 'DATABASE'");
        return parse_show_table(p, s);
    }
    return parse_words(p, s);
}

/* ------------------------------------------------------------------ from (show ...) */

static alm_status table_call(alm_parser *p, const alm_stmt *s, const char *function, alm_ast **out)
{
    ALM_TRY(alm_parse_node(p, ALM_AST_CALL, s->what_pos, out));
    (*out)->text = alm_str_of(function);
    if (s->table.len == 0)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 1, &(*out)->arg));
    ALM_TRY(alm_parse_node(p, ALM_AST_STRING, s->table_pos, &(*out)->arg[0]));
    (*out)->arg[0]->text = s->table;
    (*out)->n_args = 1;
    return alm_parse_seal(p, *out);
}

/* A setting: SELECT current_setting('name') AS name. */
static alm_status show_setting(alm_parser *p, const alm_stmt *s, int32_t pos, alm_select **out)
{
    alm_ast *call = NULL;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, out));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 1, &(*out)->items));
    ALM_TRY(alm_parse_node(p, ALM_AST_CALL, s->what_pos, &call));
    call->text = ALM_STR("current_setting");
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 1, &call->arg));
    ALM_TRY(alm_parse_node(p, ALM_AST_STRING, s->what_pos, &call->arg[0]));
    call->arg[0]->text = s->what;
    call->n_args = 1;
    (*out)->pos = pos;
    (*out)->end = p->prev.end;
    (*out)->depth = 3;
    (*out)->n_items = 1;
    (*out)->items[0] = (alm_select_item){.expr = call, .alias = s->what, .alias_pos = s->what_pos};
    return alm_parse_seal(p, call);
}

alm_status alm_parse_show_query(alm_parser *p, alm_select **out)
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
    alm_stmt s = {.kind = ALM_STMT_SHOW, .text = ALM_STR("SHOW")};
    const int32_t pos = p->tok.pos;
    alm_parse_next(p); /* show */
    s.what_pos = p->tok.pos;
    ALM_TRY(alm_parse_show(p, &s));
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        if (!alm_str_eq(s.what, alm_str_of(rows[i].what)))
            continue;
        alm_select *sel = NULL;
        ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &sel));
        sel->pos = pos;
        sel->end = p->prev.end;
        sel->depth = 3;
        ALM_TRY(alm_parse_star_item(p, pos, sel));
        if (rows[i].column != NULL) {
            sel->implicit_star = false;
            sel->items[0].expr->kind = ALM_AST_NAME;
            sel->items[0].expr->text = alm_str_of(rows[i].column);
        }
        ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 1, &sel->from));
        sel->n_from = 1;
        sel->from[0].kind = ALM_FROM_FUNCTION;
        sel->from[0].name = alm_str_of(rows[i].function);
        sel->from[0].pos = pos;
        *out = sel;
        return table_call(p, &s, rows[i].function, &sel->from[0].call);
    }
    return show_setting(p, &s, pos, out);
}
