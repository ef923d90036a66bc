/*
 * statement.c - the short statements.
 */
#include "sql/parse/parse.h"

static alm_status take_if_exists(alm_parser *p, alm_stmt *s)
{
    if (!alm_take_kw(p, ALM_KW_IF))
        return ALM_OK;
    s->if_exists = true;
    return alm_expect_kw(p, ALM_KW_EXISTS, "'exists' expected");
}

/* ------------------------------------------------------------------ drop, truncate, rename */

/* DROP TABLE, VIEW, MATERIALIZED VIEW name, ...; DROP ALL TABLES */
alm_status alm_parse_drop(alm_parser *p, alm_stmt *s)
{
    if (alm_str_eq(s->text, ALM_STR("DROP ALL"))) {
        s->text = ALM_STR("DROP TABLE");
        if (!alm_take_kw(p, ALM_KW_TABLES))
            return alm_parse_fail(p, p->tok.pos, "'tables' expected");
        (void)alm_take_op(p, ALM_OP_SEMI);
        s->all_tables = true;
        return ALM_OK;
    }
    if (s->kind == ALM_STMT_DROP_MATVIEW) {
        s->text = ALM_STR("DROP MATERIALIZED VIEW");
        ALM_TRY(alm_expect_kw(p, ALM_KW_VIEW, "'view' expected"));
    }
    ALM_TRY(take_if_exists(p, s));
    ALM_TRY(alm_parse_table_list(p, s, "table name", s->kind == ALM_STMT_DROP_TABLE));
    s->cascade = alm_take_word(p, "cascade");
    if (s->cascade && !alm_take_word(p, "permissions"))
        return alm_parse_fail(p, p->tok.pos, "'permissions' expected");
    return ALM_OK;
}

alm_status alm_parse_truncate(alm_parser *p, alm_stmt *s)
{
    s->text = ALM_STR("TRUNCATE TABLE");
    ALM_TRY(alm_expect_kw(p, ALM_KW_TABLE, "TABLE expected"));
    ALM_TRY(take_if_exists(p, s));
    ALM_TRY(alm_parse_table_list(p, s, "table name", true));
    if (!alm_take_word(p, "keep"))
        return ALM_OK;
    s->keep_symbols = true;
    if (!alm_take_word(p, "symbol"))
        return alm_parse_fail(p, p->tok.pos, "'symbol' expected");
    return alm_take_word(p, "maps") ? ALM_OK : alm_parse_fail(p, p->tok.pos, "'maps' expected");
}

alm_status alm_parse_rename_target(alm_parser *p, alm_stmt *s)
{
    alm_parse_name name;
    ALM_TRY(alm_parse_new_table(p, "new table name", &name));
    s->new_name = name.text;
    s->new_name_pos = name.pos;
    return ALM_OK;
}

alm_status alm_parse_rename(alm_parser *p, alm_stmt *s)
{
    s->text = ALM_STR("RENAME TABLE");
    ALM_TRY(alm_expect_kw(p, ALM_KW_TABLE, "TABLE expected"));
    ALM_TRY(alm_parse_table_list(p, s, "table name", false));
    ALM_TRY(alm_expect_kw(p, ALM_KW_TO, "'to' expected"));
    return alm_parse_rename_target(p, s);
}

/* CHECKPOINT CREATE, RELEASE; in its older words SNAPSHOT PREPARE, COMPLETE. */
alm_status alm_parse_checkpoint(alm_parser *p, alm_stmt *s)
{
    const bool snapshot = alm_str_eq(s->text, ALM_STR("SNAPSHOT"));
    const int32_t pos = p->tok.pos;
    if (snapshot ? alm_take_kw(p, ALM_KW_PREPARE) : alm_take_kw(p, ALM_KW_CREATE))
        s->what = ALM_STR("create");
    else if (snapshot ? alm_take_word(p, "complete") : alm_take_kw(p, ALM_KW_RELEASE))
        s->what = ALM_STR("release");
    else
        return alm_parse_fail(p, pos,
                              snapshot ? "'prepare' or 'complete' expected"
                                       : "'create' or 'release' expected");
    if (!alm_at_end(p))
        return alm_parse_unexpected(p);
    s->text = alm_str_of(snapshot                                 ? "SNAPSHOT"
                         : alm_str_eq(s->what, ALM_STR("create")) ? "CHECKPOINT CREATE"
                                                                  : "CHECKPOINT RELEASE");
    return ALM_OK;
}

/* BACKUP DATABASE | TABLE t, ... [TO 'directory'] */
alm_status alm_parse_backup(alm_parser *p, alm_stmt *s)
{
    if (alm_take_word(p, "database")) {
        s->text = ALM_STR("BACKUP DATABASE");
        s->all_tables = true;
    } else if (alm_take_kw(p, ALM_KW_TABLE)) {
        s->text = ALM_STR("BACKUP TABLE");
        ALM_TRY(alm_parse_table_list(p, s, "table name", true));
    } else {
        return alm_parse_fail(p, p->tok.pos, "'table' or 'database' expected");
    }
    if (alm_take_kw(p, ALM_KW_TO))
        ALM_TRY(alm_parse_text(p, "directory", &s->range_to, &s->range_to_pos));
    return alm_at_end(p) ? ALM_OK : alm_parse_unexpected(p);
}

/* CANCEL QUERY number */
alm_status alm_parse_cancel(alm_parser *p, alm_stmt *s)
{
    s->text = ALM_STR("CANCEL QUERY");
    if (!alm_take_word(p, "query"))
        return alm_parse_fail(p, p->tok.pos, "'query' expected");
    s->what_pos = p->tok.pos;
    if (p->tok.kind != ALM_TOK_NUMBER)
        return alm_parse_fail(p, p->tok.pos, "number of a query expected");
    s->value = alm_token_text(p, p->tok);
    alm_parse_next(p);
    return alm_at_end(p) ? ALM_OK : alm_parse_unexpected(p);
}

/* DROP SESSION 'id' */
alm_status alm_parse_drop_session(alm_parser *p, alm_stmt *s)
{
    ALM_TRY(alm_parse_text(p, "id of a session", &s->value, &s->what_pos));
    return alm_at_end(p) ? ALM_OK : alm_parse_unexpected(p);
}

/* What follows is kept as text. */
alm_status alm_parse_other(alm_parser *p, alm_stmt *s)
{
    const int32_t pos = p->tok.pos;
    alm_parse_skip(p);
    if (p->tok.kind == ALM_TOK_BAD)
        return alm_parse_unexpected(p);
    s->value = alm_parse_slice(p, pos, p->prev.end);
    return ALM_OK;
}
