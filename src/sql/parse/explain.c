/*
 * explain.c - EXPLAIN, with the options of PostgreSQL.
 */
#include "sql/parse/parse.h"

/* EXPLAIN EXECUTE is an EXECUTE that says so: who runs it knows what there is to explain. */
static void explain_execute(alm_stmt *stmt)
{
    alm_execute_words *words = stmt->inner->ext;
    words->explain = true;
    words->analyze = stmt->analyze;
    words->json = stmt->json;
    stmt->kind = ALM_STMT_EXECUTE;
    stmt->text = stmt->inner->text;
    stmt->ext = words;
}

/* Options that change nothing here: there are no costs, buffers or settings to show, and times are shown with ANALYZE. */
static bool at_option(const alm_parser *parser)
{
    static const char *const names[] = {
        "analyze", "analyse", "verbose", "costs",  "settings",  "generic_plan", "buffers",
        "wal",     "timing",  "summary", "memory", "serialize", "format"};
    for (size_t i = 0; i < ALM_COUNT(names); i++)
        if (alm_at_word(parser, names[i]))
            return true;
    return false;
}

static alm_status no_format(alm_parser *parser, alm_str word)
{
    static const char *const theirs[] = {"xml", "yaml"};
    for (size_t i = 0; i < ALM_COUNT(theirs); i++)
        if (alm_str_ieq(word, alm_str_of(theirs[i])))
            return alm_fail(parser->cx, ALM_E_UNSUPPORTED, parser->tok.pos,
                            "EXPLAIN (FORMAT %.*s) is not supported: TEXT and JSON are",
                            (int)word.len, word.ptr);
    return alm_fail(
        parser->cx, ALM_E_ARG, parser->tok.pos,
        "unrecognized value for EXPLAIN option \"format\": \"%.*s\", TEXT or JSON expected",
        (int)ALM_MIN(word.len, 100), word.ptr);
}

static alm_status parse_format(alm_parser *parser, alm_stmt *stmt)
{
    alm_parse_name name = {0};
    alm_parser at = *parser; /* errors point at the word */
    ALM_TRY(alm_parse_ident(parser, "format", &name));
    stmt->json = alm_str_ieq(name.text, ALM_STR("json"));
    return stmt->json || alm_str_ieq(name.text, ALM_STR("text")) ? ALM_OK
                                                                 : no_format(&at, name.text);
}

/* [TRUE | ON | 1 | FALSE | OFF | 0] behind an option; a word that stands for none of them is the value of SERIALIZE. */
static bool parse_explain_take_value(alm_parser *parser)
{
    bool on = true;
    if (alm_at_op(parser, ALM_OP_COMMA) || alm_at_op(parser, ALM_OP_RPAREN) || alm_at_end(parser))
        return on;
    const alm_str word = alm_token_text(parser, parser->tok);
    on = !alm_str_ieq(word, ALM_STR("off")) && !alm_str_ieq(word, ALM_STR("false")) &&
         !alm_str_eq(word, ALM_STR("0")) && !alm_str_ieq(word, ALM_STR("'off'")) &&
         !alm_str_ieq(word, ALM_STR("'false'"));
    alm_parse_next(parser);
    return on;
}

static alm_status explain_parse_options(alm_parser *parser, alm_stmt *stmt)
{
    do {
        alm_parse_next(parser); /* ( or , */
        if (!at_option(parser)) {
            const alm_str word = alm_token_text(parser, parser->tok);
            return alm_parse_fail(parser, parser->tok.pos, "unrecognized EXPLAIN option \"%.*s\"",
                                  (int)ALM_MIN(word.len, 100), word.ptr);
        }
        const bool format = alm_at_word(parser, "format");
        const bool analyze = alm_at_word(parser, "analyze") || alm_at_word(parser, "analyse");
        alm_parse_next(parser);
        if (format) {
            (void)alm_take_op(parser, ALM_OP_EQ);
            ALM_TRY(parse_format(parser, stmt));
            continue;
        }
        const bool on = parse_explain_take_value(parser);
        if (analyze)
            stmt->analyze = on;
    } while (alm_at_op(parser, ALM_OP_COMMA));
    return alm_expect_op(parser, ALM_OP_RPAREN, "')' expected");
}

/* (analyze, format json), and not a query in brackets */
static bool at_options(const alm_parser *parser)
{
    alm_parser ahead = *parser;
    if (!alm_at_op(parser, ALM_OP_LPAREN))
        return false;
    alm_parse_next(&ahead);
    return at_option(&ahead);
}

alm_status alm_parse_explain(alm_parser *parser, alm_stmt *stmt)
{
    if (at_options(parser)) {
        ALM_TRY(explain_parse_options(parser, stmt));
    } else {
        stmt->analyze = alm_take_kw(parser, ALM_KW_ANALYZE);
        if (alm_at_word(parser, "verbose") &&
            !alm_token_is_kw(alm_parse_peek(parser), ALM_KW_WHERE))
            alm_parse_next(parser);
    }
    if (alm_at_end(parser))
        return alm_parse_fail(parser, parser->tok.pos,
                              "'create', 'insert', 'update', 'select', 'with' or '(' expected");
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &stmt->inner));
    stmt->inner->pos = parser->tok.pos;
    ALM_TRY(alm_parse_enter(parser)); /* explain explain ... */
    ALM_TRY(alm_parse_statement(parser, stmt->inner));
    parser->nest--;
    stmt->inner->end = parser->prev.end;
    stmt->select = stmt->inner->select;
    if (stmt->inner->kind == ALM_STMT_EXECUTE)
        explain_execute(stmt);
    return ALM_OK;
}
