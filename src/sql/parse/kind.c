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

bool alm_at_never(const alm_parser *p)
{
    (void)p;
    return false;
}

bool alm_at_always(const alm_parser *p)
{
    (void)p;
    return true;
}

/* Not the name of a table, as in `backup where x > 1`? */
bool alm_at_statement(const alm_parser *p)
{
    const alm_token next = alm_parse_peek(p);
    return !alm_token_is_kw(next, ALM_KW_WHERE) && !alm_token_is_kw(next, ALM_KW_LATEST) &&
           !alm_token_is_kw(next, ALM_KW_ORDER) && !alm_token_is_kw(next, ALM_KW_LIMIT);
}

bool alm_at_other(const alm_parser *p)
{
    return alm_at_word(p, "schema") || alm_at_statement(p);
}

/* ------------------------------------------------------------------ rows */

/* The word in hand is the last of the statement's words. */
static alm_status parse_row(alm_parser *p, alm_stmt *s, alm_stmt_kind kind, const char *words)
{
    s->kind = kind;
    s->text = alm_str_of(words);
    alm_parse_next(p);
    s->what_pos = p->tok.pos;
    return rows[kind].parse(p, s);
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
static alm_status parse_words(alm_parser *p, alm_stmt *s, const char *verb, bool *found)
{
    const alm_str word = alm_token_text(p, p->tok);
    *found = false;
    if (p->tok.kind != ALM_TOK_NAME)
        return ALM_OK;
    for (size_t kind = 0; kind < ALM_COUNT(rows); kind++)
        for (const char *const *words = rows[kind].words; *words != NULL; words++)
            if (leads_on(*words, verb, word) && rows[kind].at(p)) {
                *found = true;
                return parse_row(p, s, (alm_stmt_kind)kind, *words);
            }
    return ALM_OK;
}

/* ------------------------------------------------------------------ queries */

static alm_status parse_query_statement(alm_parser *p, alm_stmt *s)
{
    s->kind = ALM_STMT_SELECT;
    s->text = ALM_STR("SELECT");
    return alm_parse_query(p, &s->select);
}

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
        return parse_row(p, s, ALM_STMT_UPDATE, "UPDATE");
    }
    ALM_TRY(parse_row(p, s, ALM_STMT_INSERT, "INSERT"));
    if (s->select == NULL || s->select->n_with > 0)
        return alm_parse_fail(p, head->pos, "WITH before INSERT needs a SELECT without WITH");
    s->select->with = head->with;
    s->select->n_with = head->n_with;
    s->select->with_recursive = head->with_recursive;
    return ALM_OK;
}

/* ------------------------------------------------------------------ verbs */

static alm_status parse_create(alm_parser *p, alm_stmt *s)
{
    alm_parse_next(p); /* create */
    if (alm_take_kw(p, ALM_KW_OR)) {
        ALM_TRY(alm_expect_kw(p, ALM_KW_REPLACE, "'replace' expected"));
        s->or_replace = true;
        if (!alm_at_kw(p, ALM_KW_VIEW))
            return alm_parse_fail(p, p->tok.pos, "'view' expected");
    }
    if (alm_take_kw(p, ALM_KW_ATOMIC)) {
        if (!alm_at_kw(p, ALM_KW_TABLE))
            return alm_parse_fail(p, p->tok.pos, "'table' expected");
    } else if (alm_take_kw(p, ALM_KW_BATCH)) {
        ALM_TRY(alm_parse_int(p, "batch size", &s->batch_size));
        int64_t lag_us = 0; /* rows are sorted whatever it says */
        if (alm_take_kw(p, ALM_KW_O3MAXLAG))
            ALM_TRY(alm_parse_lag(p, &lag_us));
    }
    bool found = false;
    ALM_TRY(parse_words(p, s, "CREATE", &found));
    if (found)
        return ALM_OK;
    if (alm_at_entity(p))
        return alm_parse_entity(p, s, ALM_KW_CREATE);
    return alm_parse_fail(p, p->tok.pos,
                          "'atomic' or 'table' or 'batch' or 'materialized' or 'view' or 'or "
                          "replace' expected");
}

static alm_status parse_alter(alm_parser *p, alm_stmt *s)
{
    bool found = false;
    alm_parse_next(p); /* alter */
    if (alm_at_entity(p))
        return alm_parse_entity(p, s, ALM_KW_ALTER);
    ALM_TRY(parse_words(p, s, "ALTER", &found));
    return found ? ALM_OK
                 : alm_parse_fail(p, p->tok.pos, "'table' or 'materialized' or 'view' expected");
}

static alm_status parse_drop(alm_parser *p, alm_stmt *s)
{
    bool found = false;
    alm_parse_next(p); /* drop */
    if (alm_at_entity(p))
        return alm_parse_entity(p, s, ALM_KW_DROP);
    ALM_TRY(parse_words(p, s, "DROP", &found));
    return found ? ALM_OK
                 : alm_parse_fail(p, p->tok.pos,
                                  "'table' or 'view' or 'materialized view' or 'all' expected");
}

/* ------------------------------------------------------------------ dispatch */

alm_status alm_parse_statement(alm_parser *p, alm_stmt *s)
{
    if (p->tok.kind == ALM_TOK_BAD &&
        p->text.ptr[p->tok.pos] == '\\') /* alm_parse_fail says that of the lexer */
        return alm_fail(p->cx, ALM_E_SYNTAX, p->tok.pos,
                        "\\ begins a command of psql: SHOW TABLES lists the tables, SHOW COLUMNS "
                        "FROM t the columns of t");
    bool found = false;
    switch ((int)(p->tok.kind == ALM_TOK_NAME ? p->tok.kw : ALM_KW_PLAIN)) {
    case ALM_KW_SELECT:
    case ALM_KW_FROM:
        return parse_query_statement(p, s);
    case ALM_KW_WITH:
        return parse_with_statement(p, s);
    case ALM_KW_CREATE:
        return parse_create(p, s);
    case ALM_KW_ALTER:
        return parse_alter(p, s);
    case ALM_KW_DROP:
        return parse_drop(p, s);
    default:
        ALM_TRY(parse_words(p, s, NULL, &found));
        return found ? ALM_OK : parse_query_statement(p, s);
    }
}
