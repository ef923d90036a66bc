/*
 * statement.c - which statement it is, and the short ones.
 */
#include "sql/parse/parse.h"

static alm_status parse_query_statement(alm_parser *p, alm_stmt *s)
{
    s->kind = ALM_STMT_SELECT;
    s->text = ALM_STR("SELECT");
    return alm_parse_query(p, &s->select);
}

static alm_status take_if_exists(alm_parser *p, alm_stmt *s)
{
    if (!alm_take_kw(p, ALM_KW_IF))
        return ALM_OK;
    s->if_exists = true;
    return alm_expect_kw(p, ALM_KW_EXISTS, "'exists' expected");
}

/* ------------------------------------------------------------------ with */

/* WITH before INSERT or UPDATE; the scan ends at the first word outside brackets that decides. */
static alm_keyword with_leads_to(const alm_parser *p)
{
    alm_parser ahead = *p;
    int depth = 0;
    while (ahead.tok.kind != ALM_TOK_END && ahead.tok.kind != ALM_TOK_BAD) {
        if (alm_at_op(&ahead, ALM_OP_LPAREN))
            depth++;
        else if (alm_at_op(&ahead, ALM_OP_RPAREN))
            depth--;
        else if (depth == 0 && (alm_at_kw(&ahead, ALM_KW_SELECT) || alm_at_op(&ahead, ALM_OP_SEMI)))
            break;
        else if (depth == 0 &&
                 (alm_at_kw(&ahead, ALM_KW_INSERT) || alm_at_kw(&ahead, ALM_KW_UPDATE)))
            return (alm_keyword)ahead.tok.kw;
        alm_parse_next(&ahead);
    }
    return ALM_KW_SELECT;
}

static alm_status parse_with_statement(alm_parser *p, alm_stmt *s)
{
    const alm_keyword kw = with_leads_to(p);
    if (kw == ALM_KW_SELECT)
        return parse_query_statement(p, s);
    alm_select *head = NULL;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &head));
    head->pos = p->tok.pos;
    ALM_TRY(alm_parse_with(p, head));
    if (kw == ALM_KW_UPDATE) {
        s->select = head; /* only its WITH counts */
        return alm_parse_update(p, s);
    }
    ALM_TRY(alm_parse_insert(p, s));
    if (s->select == NULL || s->select->n_with > 0)
        return alm_parse_fail(p, head->pos, "WITH before INSERT needs a SELECT without WITH");
    s->select->with = head->with;
    s->select->n_with = head->n_with;
    s->select->with_recursive = head->with_recursive;
    return ALM_OK;
}

/* ------------------------------------------------------------------ drop, truncate, rename */

static alm_status parse_drop(alm_parser *p, alm_stmt *s)
{
    alm_parse_next(p);
    s->kind = ALM_STMT_OTHER;
    if (alm_take_kw(p, ALM_KW_ALL)) {
        if (!alm_take_kw(p, ALM_KW_TABLES))
            return alm_parse_fail(p, p->tok.pos, "'tables' expected");
        (void)alm_take_op(p, ALM_OP_SEMI);
        s->kind = ALM_STMT_DROP_TABLE;
        s->text = ALM_STR("DROP TABLE");
        s->all_tables = true;
        return ALM_OK;
    }
    if (alm_take_kw(p, ALM_KW_TABLE)) {
        s->kind = ALM_STMT_DROP_TABLE;
        s->text = ALM_STR("DROP TABLE");
    } else if (alm_take_kw(p, ALM_KW_VIEW)) {
        s->kind = ALM_STMT_DROP_VIEW;
        s->text = ALM_STR("DROP VIEW");
    } else if (alm_take_kw(p, ALM_KW_MATERIALIZED)) {
        ALM_TRY(alm_expect_kw(p, ALM_KW_VIEW, "'view' expected"));
        s->kind = ALM_STMT_DROP_MATVIEW;
        s->text = ALM_STR("DROP MATERIALIZED VIEW");
    } else if (alm_at_entity(p)) {
        return alm_parse_entity(p, s, ALM_KW_DROP);
    } else if (alm_take_word(p, "session")) {
        s->kind = ALM_STMT_DROP_SESSION;
        s->text = ALM_STR("DROP SESSION");
        ALM_TRY(alm_parse_text(p, "id of a session", &s->value, &s->what_pos));
        return alm_at_end(p) ? ALM_OK : alm_parse_unexpected(p);
    } else if (alm_at_kw(p, ALM_KW_INDEX)) {
        return alm_parse_drop_index(p, s);
    } else {
        return alm_parse_fail(p, p->tok.pos,
                              "'table' or 'view' or 'materialized view' or 'all' expected");
    }
    ALM_TRY(take_if_exists(p, s));
    ALM_TRY(alm_parse_table_list(p, s, "table name", s->kind == ALM_STMT_DROP_TABLE));
    s->cascade = alm_take_word(p, "cascade");
    if (s->cascade && !alm_take_word(p, "permissions"))
        return alm_parse_fail(p, p->tok.pos, "'permissions' expected");
    return ALM_OK;
}

static alm_status parse_truncate(alm_parser *p, alm_stmt *s)
{
    alm_parse_next(p);
    s->kind = ALM_STMT_TRUNCATE;
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

static alm_status parse_rename(alm_parser *p, alm_stmt *s)
{
    alm_parse_next(p);
    s->kind = ALM_STMT_RENAME_TABLE;
    s->text = ALM_STR("RENAME TABLE");
    ALM_TRY(alm_expect_kw(p, ALM_KW_TABLE, "TABLE expected"));
    ALM_TRY(alm_parse_table_list(p, s, "table name", false));
    ALM_TRY(alm_expect_kw(p, ALM_KW_TO, "'to' expected"));
    return alm_parse_rename_target(p, s);
}

/* ------------------------------------------------------------------ transactions, settings */

static const struct word_row {
    uint16_t kw;
    uint8_t kind; /* alm_stmt_kind */
    const char *text;
} word_rows[] = {
    {ALM_KW_BEGIN, ALM_STMT_BEGIN, "BEGIN"},
    {ALM_KW_START, ALM_STMT_BEGIN, "START TRANSACTION"},
    {ALM_KW_COMMIT, ALM_STMT_COMMIT, "COMMIT"},
    {ALM_KW_END, ALM_STMT_COMMIT, "COMMIT"},
    {ALM_KW_ROLLBACK, ALM_STMT_ROLLBACK, "ROLLBACK"},
    {ALM_KW_ABORT, ALM_STMT_ROLLBACK, "ROLLBACK"},
    {ALM_KW_SAVEPOINT, ALM_STMT_SAVEPOINT, "SAVEPOINT"},
    {ALM_KW_RELEASE, ALM_STMT_SAVEPOINT, "RELEASE"},
    {ALM_KW_RESET, ALM_STMT_SET, "RESET"},
    {ALM_KW_DISCARD, ALM_STMT_SET, "DISCARD"},
    {ALM_KW_DEALLOCATE, ALM_STMT_SET, "DEALLOCATE"},
    {ALM_KW_CLOSE, ALM_STMT_SET, "CLOSE"},
    {ALM_KW_UNLISTEN, ALM_STMT_SET, "UNLISTEN"},
    {ALM_KW_LISTEN, ALM_STMT_OTHER, "LISTEN"},
    {ALM_KW_ANALYZE, ALM_STMT_MAINTAIN, "ANALYZE"},
    {ALM_KW_BACKUP, ALM_STMT_BACKUP, "BACKUP"},
    {ALM_KW_CANCEL, ALM_STMT_CANCEL, "CANCEL QUERY"},
    {ALM_KW_CHECKPOINT, ALM_STMT_CHECKPOINT, "CHECKPOINT"},
    {ALM_KW_COMMENT, ALM_STMT_MAINTAIN, "COMMENT"},
    {ALM_KW_COPY, ALM_STMT_COPY_FROM, "COPY"},
    {ALM_KW_DELETE, ALM_STMT_DELETE, "DELETE"},
    {ALM_KW_DO, ALM_STMT_OTHER, "DO"},
    {ALM_KW_EXECUTE, ALM_STMT_EXECUTE, "EXECUTE"},
    {ALM_KW_LOCK, ALM_STMT_OTHER, "LOCK"},
    {ALM_KW_NOTIFY, ALM_STMT_OTHER, "NOTIFY"},
    {ALM_KW_PREPARE, ALM_STMT_PREPARE, "PREPARE"},
    {ALM_KW_REINDEX, ALM_STMT_MAINTAIN, "REINDEX"},
    {ALM_KW_SCRUB, ALM_STMT_MAINTAIN, "SCRUB"},
    {ALM_KW_SNAPSHOT, ALM_STMT_CHECKPOINT, "SNAPSHOT"},
    {ALM_KW_VACUUM, ALM_STMT_MAINTAIN, "VACUUM"},
};

/* Is the word in hand the name of a table after all? `backup where x > 1`, `copy;` */
static bool is_table_word(const alm_parser *p)
{
    const alm_token next = alm_parse_peek(p);
    return alm_token_is_kw(next, ALM_KW_WHERE) || alm_token_is_kw(next, ALM_KW_LATEST) ||
           alm_token_is_kw(next, ALM_KW_ORDER) || alm_token_is_kw(next, ALM_KW_LIMIT);
}

/* CHECKPOINT CREATE, RELEASE; in its older words SNAPSHOT PREPARE, COMPLETE. */
static alm_status parse_checkpoint(alm_parser *p, alm_stmt *s, bool snapshot)
{
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
static alm_status parse_backup(alm_parser *p, alm_stmt *s)
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
static alm_status parse_cancel(alm_parser *p, alm_stmt *s)
{
    if (!alm_take_word(p, "query"))
        return alm_parse_fail(p, p->tok.pos, "'query' expected");
    s->what_pos = p->tok.pos;
    if (p->tok.kind != ALM_TOK_NUMBER)
        return alm_parse_fail(p, p->tok.pos, "number of a query expected");
    s->value = alm_token_text(p, p->tok);
    alm_parse_next(p);
    return alm_at_end(p) ? ALM_OK : alm_parse_unexpected(p);
}

/* The first word is consumed; what follows is kept as text, its first word as `what`. */
static alm_status parse_word_statement(alm_parser *p, alm_stmt *s, const struct word_row *row)
{
    s->kind = (alm_stmt_kind)row->kind;
    s->text = alm_str_of(row->text);
    alm_parse_next(p);
    const int32_t pos = p->tok.pos;
    s->what_pos = pos;
    if (s->kind == ALM_STMT_DELETE)
        return alm_parse_delete(p, s);
    if (s->kind == ALM_STMT_MAINTAIN)
        return alm_parse_maintain(p, s);
    if (s->kind == ALM_STMT_BACKUP)
        return parse_backup(p, s);
    if (s->kind == ALM_STMT_CHECKPOINT)
        return parse_checkpoint(p, s, row->kw == ALM_KW_SNAPSHOT);
    if (s->kind == ALM_STMT_CANCEL)
        return parse_cancel(p, s);
    if (s->kind == ALM_STMT_PREPARE)
        return alm_parse_prepare(p, s);
    if (s->kind == ALM_STMT_EXECUTE)
        return alm_parse_execute(p, s);
    if (s->kind == ALM_STMT_COPY_FROM)
        return alm_parse_copy(p, s);
    if (s->kind == ALM_STMT_BEGIN || s->kind == ALM_STMT_COMMIT || s->kind == ALM_STMT_ROLLBACK ||
        s->kind == ALM_STMT_SAVEPOINT)
        return alm_parse_transaction(p, s, (alm_keyword)row->kw);
    if (s->kind == ALM_STMT_SET)
        return alm_parse_session_word(p, s, (alm_keyword)row->kw);
    alm_parse_skip(p);
    if (p->tok.kind == ALM_TOK_BAD)
        return alm_parse_unexpected(p);
    s->value = alm_parse_slice(p, pos, p->prev.end);
    return ALM_OK;
}

/* ------------------------------------------------------------------ dispatch */

alm_status alm_parse_statement(alm_parser *p, alm_stmt *s)
{
    if (p->tok.kind == ALM_TOK_BAD &&
        p->text.ptr[p->tok.pos] == '\\') /* alm_parse_fail says that of the lexer */
        return alm_fail(p->cx, ALM_E_SYNTAX, p->tok.pos,
                        "\\ begins a command of psql: SHOW TABLES lists the tables, SHOW COLUMNS "
                        "FROM t the columns of t");
    if (alm_at_acl(p))
        return alm_parse_acl(p, s);
    if (alm_at_describe(p))
        return alm_parse_describe(p, s);
    switch ((int)(p->tok.kind == ALM_TOK_NAME ? p->tok.kw : ALM_KW_PLAIN)) {
    case ALM_KW_SELECT:
    case ALM_KW_FROM:
        return parse_query_statement(p, s);
    case ALM_KW_DECLARE:
        return alm_at_declare_cursor(p) ? alm_parse_declare_cursor(p, s)
                                        : parse_query_statement(p, s);
    case ALM_KW_WITH:
        return parse_with_statement(p, s);
    case ALM_KW_INSERT:
        return alm_parse_insert(p, s);
    case ALM_KW_UPDATE:
        return alm_parse_update(p, s);
    case ALM_KW_CREATE:
        return alm_parse_create(p, s);
    case ALM_KW_ALTER:
        return alm_parse_alter(p, s);
    case ALM_KW_DROP:
        return parse_drop(p, s);
    case ALM_KW_TRUNCATE:
        return parse_truncate(p, s);
    case ALM_KW_RENAME:
        return parse_rename(p, s);
    case ALM_KW_SHOW:
        return alm_parse_show(p, s);
    case ALM_KW_SET:
        return alm_parse_set(p, s);
    case ALM_KW_EXPLAIN:
        return alm_parse_explain(p, s);
    case ALM_KW_REFRESH:
        return alm_parse_refresh(p, s);
    case ALM_KW_FETCH:
    case ALM_KW_PLAIN:
        return alm_at_fetch(p) ? alm_parse_fetch(p, s) : parse_query_statement(p, s);
    default:
        break;
    }
    for (size_t i = 0; i < ALM_COUNT(word_rows); i++)
        if (p->tok.kw == word_rows[i].kw && !is_table_word(p))
            return parse_word_statement(p, s, &word_rows[i]);
    return parse_query_statement(p, s);
}
