/*
 * explain.c - EXPLAIN, with the options of PostgreSQL.
 */
#include "sql/parse/parse.h"

/* EXPLAIN EXECUTE is an EXECUTE that says so: who runs it knows what there is to explain. */
static void explain_execute(alm_stmt *s)
{
    alm_execute_words *words = s->inner->ext;
    words->explain = true;
    words->analyze = s->analyze;
    words->json = s->json;
    s->kind = ALM_STMT_EXECUTE;
    s->text = s->inner->text;
    s->ext = words;
}

/* Options that change nothing here: there are no costs, buffers or settings to show, and times are shown with ANALYZE. */
static bool at_option(const alm_parser *p)
{
    static const char *const names[] = {
        "analyze", "analyse", "verbose", "costs",  "settings",  "generic_plan", "buffers",
        "wal",     "timing",  "summary", "memory", "serialize", "format"};
    for (size_t i = 0; i < ALM_COUNT(names); i++)
        if (alm_at_word(p, names[i]))
            return true;
    return false;
}

static alm_status no_format(alm_parser *p, alm_str word)
{
    static const char *const theirs[] = {"xml", "yaml"};
    for (size_t i = 0; i < ALM_COUNT(theirs); i++)
        if (alm_str_ieq(word, alm_str_of(theirs[i])))
            return alm_fail(p->cx, ALM_E_UNSUPPORTED, p->tok.pos,
                            "EXPLAIN (FORMAT %.*s) is not supported: TEXT and JSON are",
                            (int)word.len, word.ptr);
    return alm_fail(
        p->cx, ALM_E_ARG, p->tok.pos,
        "unrecognized value for EXPLAIN option \"format\": \"%.*s\", TEXT or JSON expected",
        (int)ALM_MIN(word.len, 100), word.ptr);
}

static alm_status parse_format(alm_parser *p, alm_stmt *s)
{
    alm_parse_name name = {0};
    alm_parser at = *p; /* errors point at the word */
    ALM_TRY(alm_parse_ident(p, "format", &name));
    s->json = alm_str_ieq(name.text, ALM_STR("json"));
    return s->json || alm_str_ieq(name.text, ALM_STR("text")) ? ALM_OK : no_format(&at, name.text);
}

/* [TRUE | ON | 1 | FALSE | OFF | 0] behind an option; a word that stands for none of them is the value of SERIALIZE. */
static bool take_value(alm_parser *p)
{
    bool on = true;
    if (alm_at_op(p, ALM_OP_COMMA) || alm_at_op(p, ALM_OP_RPAREN) || alm_at_end(p))
        return on;
    const alm_str word = alm_token_text(p, p->tok);
    on = !alm_str_ieq(word, ALM_STR("off")) && !alm_str_ieq(word, ALM_STR("false")) &&
         !alm_str_eq(word, ALM_STR("0")) && !alm_str_ieq(word, ALM_STR("'off'")) &&
         !alm_str_ieq(word, ALM_STR("'false'"));
    alm_parse_next(p);
    return on;
}

static alm_status parse_options(alm_parser *p, alm_stmt *s)
{
    do {
        alm_parse_next(p); /* ( or , */
        if (!at_option(p)) {
            const alm_str word = alm_token_text(p, p->tok);
            return alm_parse_fail(p, p->tok.pos, "unrecognized EXPLAIN option \"%.*s\"",
                                  (int)ALM_MIN(word.len, 100), word.ptr);
        }
        const bool format = alm_at_word(p, "format");
        const bool analyze = alm_at_word(p, "analyze") || alm_at_word(p, "analyse");
        alm_parse_next(p);
        if (format) {
            (void)alm_take_op(p, ALM_OP_EQ);
            ALM_TRY(parse_format(p, s));
            continue;
        }
        const bool on = take_value(p);
        if (analyze)
            s->analyze = on;
    } while (alm_at_op(p, ALM_OP_COMMA));
    return alm_expect_op(p, ALM_OP_RPAREN, "')' expected");
}

/* (analyze, format json), and not a query in brackets */
static bool at_options(const alm_parser *p)
{
    alm_parser ahead = *p;
    if (!alm_at_op(p, ALM_OP_LPAREN))
        return false;
    alm_parse_next(&ahead);
    return at_option(&ahead);
}

alm_status alm_parse_explain(alm_parser *p, alm_stmt *s)
{
    if (at_options(p)) {
        ALM_TRY(parse_options(p, s));
    } else {
        s->analyze = alm_take_kw(p, ALM_KW_ANALYZE);
        if (alm_at_word(p, "verbose") && !alm_token_is_kw(alm_parse_peek(p), ALM_KW_WHERE))
            alm_parse_next(p);
    }
    if (alm_at_end(p))
        return alm_parse_fail(p, p->tok.pos,
                              "'create', 'insert', 'update', 'select', 'with' or '(' expected");
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &s->inner));
    s->inner->pos = p->tok.pos;
    ALM_TRY(alm_parse_enter(p)); /* explain explain ... */
    ALM_TRY(alm_parse_statement(p, s->inner));
    p->nest--;
    s->inner->end = p->prev.end;
    s->select = s->inner->select;
    if (s->inner->kind == ALM_STMT_EXECUTE)
        explain_execute(s);
    return ALM_OK;
}
