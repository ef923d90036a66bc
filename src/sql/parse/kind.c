/*
 * kind.c - which statement it is: its words in statement.def, and then its parser.
 */
#include "sql/parse/parse.h"

typedef struct statement_row {
    alm_stmt_info info;
    const char *words[7]; /* NULL behind the last */
    bool (*at)(const alm_parser *p);
    alm_status (*parse)(alm_parser *p, alm_stmt *s);
} statement_row;

#define ALM_W(...) {__VA_ARGS__}
static const statement_row rows[] = {
#define ALM_STATEMENT(kind, tag, words, at, parse, does, permission, check, run)                   \
    [ALM_STMT_##kind] = {{tag, permission, does}, words, at, parse},
#include "sql/parse/statement.def"
#undef ALM_STATEMENT
};
#undef ALM_W

const alm_stmt_info *alm_stmt_info_of(alm_stmt_kind kind)
{
    ALM_ASSERT(kind < ALM_STMT_COUNT);
    return &rows[kind].info;
}

/* ------------------------------------------------------------------ is it that statement? */

bool alm_at_never(const alm_parser *parser)
{
    (void)parser;
    return false;
}

bool alm_at_always(const alm_parser *parser)
{
    (void)parser;
    return true;
}

/* Not the name of a table, as in `backup where x > 1`? */
bool alm_at_statement(const alm_parser *parser)
{
    const alm_token next = alm_parse_peek(parser);
    return !alm_token_is_kw(next, ALM_KW_WHERE) && !alm_token_is_kw(next, ALM_KW_LATEST) &&
           !alm_token_is_kw(next, ALM_KW_ORDER) && !alm_token_is_kw(next, ALM_KW_LIMIT);
}

bool alm_at_other(const alm_parser *parser)
{
    return alm_at_word(parser, "schema") || alm_at_statement(parser);
}

/* ------------------------------------------------------------------ rows */

/* The word in hand is the last of the statement's words. */
static alm_status kind_parse_row(alm_parser *parser, alm_stmt *stmt, alm_stmt_kind kind,
                                 const char *words)
{
    stmt->kind = kind;
    stmt->text = alm_str_of(words);
    alm_parse_next(parser);
    stmt->what_pos = parser->tok.pos;
    return rows[kind].parse(parser, stmt);
}

/* Do these words of a row go on with the word in hand, behind the verb (NULL: none)? */
static bool leads_on(const char *words, const char *verb, alm_str word)
{
    const size_t n = verb != NULL ? strlen(verb) : 0;
    if (verb != NULL && (strncmp(words, verb, n) != 0 || words[n] != ' '))
        return false;
    const char *rest = words + (verb != NULL ? n + 1 : 0);
    return (rest[0] | 0x20) == (word.ptr[0] | 0x20) && alm_str_ieq(word, alm_str_of(rest));
}

/* *found false: no row has the word in hand behind the verb. */
static alm_status kind_parse_words(alm_parser *parser, alm_stmt *stmt, const char *verb,
                                   bool *found)
{
    const alm_str word = alm_token_text(parser, parser->tok);
    *found = false;
    if (parser->tok.kind != ALM_TOK_NAME)
        return ALM_OK;
    for (size_t kind = 0; kind < ALM_COUNT(rows); kind++)
        for (const char *const *words = rows[kind].words; *words != NULL; words++)
            if (leads_on(*words, verb, word) && rows[kind].at(parser)) {
                *found = true;
                return kind_parse_row(parser, stmt, (alm_stmt_kind)kind, *words);
            }
    return ALM_OK;
}

/* ------------------------------------------------------------------ queries */

static alm_status parse_query_statement(alm_parser *parser, alm_stmt *stmt)
{
    stmt->kind = ALM_STMT_SELECT;
    stmt->text = ALM_STR("SELECT");
    return alm_parse_query(parser, &stmt->select);
}

/* WITH before INSERT or UPDATE; the scan ends at the first word outside brackets that decides. */
static alm_keyword with_leads_to(const alm_parser *parser)
{
    alm_parser ahead = *parser;
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

static alm_status parse_with_statement(alm_parser *parser, alm_stmt *stmt)
{
    const alm_keyword keyword = with_leads_to(parser);
    if (keyword == ALM_KW_SELECT)
        return parse_query_statement(parser, stmt);
    alm_select *head = NULL;
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &head));
    head->pos = parser->tok.pos;
    ALM_TRY(alm_parse_with(parser, head));
    if (keyword == ALM_KW_UPDATE) {
        stmt->select = head; /* only its WITH counts */
        return kind_parse_row(parser, stmt, ALM_STMT_UPDATE, "UPDATE");
    }
    ALM_TRY(kind_parse_row(parser, stmt, ALM_STMT_INSERT, "INSERT"));
    if (stmt->select == NULL || stmt->select->n_with > 0)
        return alm_parse_fail(parser, head->pos, "WITH before INSERT needs a SELECT without WITH");
    stmt->select->with = head->with;
    stmt->select->n_with = head->n_with;
    stmt->select->with_recursive = head->with_recursive;
    return ALM_OK;
}

/* ------------------------------------------------------------------ verbs */

static alm_status kind_parse_create(alm_parser *parser, alm_stmt *stmt)
{
    alm_parse_next(parser); /* create */
    if (alm_take_kw(parser, ALM_KW_OR)) {
        ALM_TRY(alm_expect_kw(parser, ALM_KW_REPLACE, "'replace' expected"));
        stmt->or_replace = true;
        if (!alm_at_kw(parser, ALM_KW_VIEW))
            return alm_parse_fail(parser, parser->tok.pos, "'view' expected");
    }
    if (alm_take_kw(parser, ALM_KW_ATOMIC)) {
        if (!alm_at_kw(parser, ALM_KW_TABLE))
            return alm_parse_fail(parser, parser->tok.pos, "'table' expected");
    } else if (alm_take_kw(parser, ALM_KW_BATCH)) {
        ALM_TRY(alm_parse_int(parser, "batch size", &stmt->batch_size));
        int64_t lag_us = 0; /* rows are sorted whatever it says */
        if (alm_take_kw(parser, ALM_KW_O3MAXLAG))
            ALM_TRY(alm_parse_lag(parser, &lag_us));
    }
    bool found = false;
    ALM_TRY(kind_parse_words(parser, stmt, "CREATE", &found));
    if (found)
        return ALM_OK;
    if (alm_at_entity(parser))
        return alm_parse_entity(parser, stmt, ALM_KW_CREATE);
    return alm_parse_fail(parser, parser->tok.pos,
                          "'atomic' or 'table' or 'batch' or 'materialized' or 'view' or 'or "
                          "replace' expected");
}

static alm_status kind_parse_alter(alm_parser *parser, alm_stmt *stmt)
{
    bool found = false;
    alm_parse_next(parser); /* alter */
    if (alm_at_entity(parser))
        return alm_parse_entity(parser, stmt, ALM_KW_ALTER);
    ALM_TRY(kind_parse_words(parser, stmt, "ALTER", &found));
    return found ? ALM_OK
                 : alm_parse_fail(parser, parser->tok.pos,
                                  "'table' or 'materialized' or 'view' expected");
}

static alm_status kind_parse_drop(alm_parser *parser, alm_stmt *stmt)
{
    bool found = false;
    alm_parse_next(parser); /* drop */
    if (alm_at_entity(parser))
        return alm_parse_entity(parser, stmt, ALM_KW_DROP);
    ALM_TRY(kind_parse_words(parser, stmt, "DROP", &found));
    return found ? ALM_OK
                 : alm_parse_fail(parser, parser->tok.pos,
                                  "'table' or 'view' or 'materialized view' or 'all' expected");
}

/* ------------------------------------------------------------------ dispatch */

alm_status alm_parse_statement(alm_parser *parser, alm_stmt *stmt)
{
    if (parser->tok.kind == ALM_TOK_BAD &&
        parser->text.ptr[parser->tok.pos] == '\\') /* alm_parse_fail says that of the lexer */
        return alm_fail(parser->cx, ALM_E_SYNTAX, parser->tok.pos,
                        "\\ begins a command of psql: SHOW TABLES lists the tables, SHOW COLUMNS "
                        "FROM t the columns of t");
    bool found = false;
    switch ((int)(parser->tok.kind == ALM_TOK_NAME ? parser->tok.kw : ALM_KW_PLAIN)) {
    case ALM_KW_SELECT:
    case ALM_KW_FROM:
        return parse_query_statement(parser, stmt);
    case ALM_KW_WITH:
        return parse_with_statement(parser, stmt);
    case ALM_KW_CREATE:
        return kind_parse_create(parser, stmt);
    case ALM_KW_ALTER:
        return kind_parse_alter(parser, stmt);
    case ALM_KW_DROP:
        return kind_parse_drop(parser, stmt);
    default:
        ALM_TRY(kind_parse_words(parser, stmt, NULL, &found));
        return found ? ALM_OK : parse_query_statement(parser, stmt);
    }
}
