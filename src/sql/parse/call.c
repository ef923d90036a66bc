/*
 * call.c - function calls with everything that may stand in and behind their brackets, and
 * the few functions that SQL gives a grammar of their own.
 */
#include "sql/parse/parse.h"

/* extract(unit from t): the unit becomes a text. */
static alm_status parse_extract(alm_parser *parser, alm_ast *call, uint32_t *cap)
{
    alm_ast *unit = NULL;
    ALM_TRY(alm_parse_node(parser, ALM_AST_STRING, parser->tok.pos, &unit));
    unit->raw = unit->text = alm_token_text(parser, parser->tok);
    if (parser->tok.kind != ALM_TOK_NAME)
        ALM_TRY(alm_parse_unquote(parser, parser->tok, &unit->text));
    unit->end = parser->tok.end;
    alm_parse_next(parser);
    alm_parse_next(parser); /* from, seen already */
    ALM_TRY(ALM_GROW(parser, &call->arg, 0, cap));
    ALM_TRY(alm_parse_expr(parser, &call->arg[1]));
    call->arg[0] = unit;
    call->n_args = 2;
    return ALM_OK;
}

/* substring(s from a [for b]) behind its first argument */
static alm_status parse_substring(alm_parser *parser, alm_ast *call, uint32_t *cap)
{
    alm_parse_next(parser);
    do {
        ALM_TRY(ALM_GROW(parser, &call->arg, call->n_args, cap));
        ALM_TRY(alm_parse_expr(parser, &call->arg[call->n_args]));
        call->n_args++;
    } while (alm_take_kw(parser, ALM_KW_FOR));
    return ALM_OK;
}

/* The function that trim(both ...), trim(leading ...) is; NULL: trim as any other call. */
static const char *trim_side(const alm_parser *parser, const alm_ast *call)
{
    static const struct {
        const char *word, *function;
    } sides[] = {{"both", "btrim"}, {"leading", "ltrim"}, {"trailing", "rtrim"}};
    const alm_token next = alm_parse_peek(parser);
    if (!alm_str_ieq(call->text, ALM_STR("trim")) || parser->tok.kind != ALM_TOK_NAME ||
        (next.kind != ALM_TOK_STRING && next.kind != ALM_TOK_NAME))
        return NULL;
    for (size_t i = 0; i < ALM_COUNT(sides); i++)
        if (alm_str_ieq(alm_token_text(parser, parser->tok), alm_str_of(sides[i].word)))
            return sides[i].function;
    return NULL;
}

/* trim(side [characters] from x): the function of that side; without characters, blanks. */
static alm_status parse_trim(alm_parser *parser, alm_ast *call, const char *function, uint32_t *cap)
{
    alm_parse_next(parser);
    ALM_TRY(ALM_GROW(parser, &call->arg, 0, cap));
    if (alm_at_kw(parser, ALM_KW_FROM)) {
        ALM_TRY(alm_parse_node(parser, ALM_AST_STRING, call->pos, &call->arg[1]));
        call->arg[1]->raw = call->arg[1]->text = ALM_STR(" ");
        ALM_TRY(alm_parse_seal(parser, call->arg[1]));
    } else {
        ALM_TRY(alm_parse_expr(parser, &call->arg[1]));
    }
    ALM_TRY(alm_expect_kw(parser, ALM_KW_FROM, "'from' expected"));
    ALM_TRY(alm_parse_expr(parser, &call->arg[0]));
    call->text = alm_str_of(function);
    call->n_args = 2;
    return ALM_OK;
}

static alm_status parse_args(alm_parser *parser, alm_ast *call, uint32_t *cap)
{
    do {
        if (alm_at_op(parser, ALM_OP_RPAREN) || alm_at_op(parser, ALM_OP_COMMA))
            return alm_parse_fail(parser, parser->tok.pos, "missing arguments");
        ALM_TRY(ALM_GROW(parser, &call->arg, call->n_args, cap));
        alm_ast **arg = &call->arg[call->n_args];
        if (alm_starts_query(parser->tok)) { /* f(select ...): a query as an argument */
            alm_select *sel = NULL;
            const int32_t pos = parser->tok.pos;
            ALM_TRY(alm_parse_query(parser, &sel));
            ALM_TRY(alm_parse_node(parser, ALM_AST_SUBQUERY, pos, arg));
            (*arg)->select = sel;
            (*arg)->raw = alm_parse_slice(parser, pos, parser->prev.end);
            ALM_TRY(alm_parse_seal(parser, *arg));
        } else {
            ALM_TRY(alm_parse_expr(parser, arg));
        }
        call->n_args++;
    } while (alm_take_op(parser, ALM_OP_COMMA));
    if (alm_at_kw(parser, ALM_KW_FROM) && alm_str_ieq(call->text, ALM_STR("substring")))
        ALM_TRY(parse_substring(parser, call, cap));
    /* position('a' in s): the argument came as an IN */
    alm_ast *only = call->n_args == 1 ? call->arg[0] : NULL;
    if (only != NULL && only->kind == ALM_AST_IN && only->n_args == 2 && !only->negated &&
        alm_str_ieq(call->text, ALM_STR("position"))) {
        call->arg[0] = only->arg[1];
        call->arg[1] = only->arg[0];
        call->n_args = 2;
    }
    return ALM_OK;
}

static bool at_extract(const alm_parser *parser, const alm_ast *call)
{
    return alm_str_ieq(call->text, ALM_STR("extract")) &&
           (parser->tok.kind == ALM_TOK_NAME || parser->tok.kind == ALM_TOK_STRING) &&
           alm_token_is_kw(alm_parse_peek(parser), ALM_KW_FROM);
}

static void take_nulls(alm_parser *parser, alm_ast *call)
{
    const bool ignore = alm_at_kw(parser, ALM_KW_IGNORE),
               respect = alm_at_kw(parser, ALM_KW_RESPECT);
    if ((!ignore && !respect) || !alm_token_is_kw(alm_parse_peek(parser), ALM_KW_NULLS))
        return;
    alm_parse_next(parser);
    alm_parse_next(parser);
    call->ignore_nulls = ignore;
    call->respect_nulls = respect;
}

static alm_status call_parse_brackets(alm_parser *parser, alm_ast *call)
{
    const alm_token open = parser->tok;
    uint32_t cap = 0;
    alm_parse_next(parser);
    if (alm_at_op(parser, ALM_OP_STAR)) {
        alm_parse_next(parser);
        call->star = true;
    } else if (!alm_at_op(parser, ALM_OP_RPAREN)) {
        call->distinct = alm_take_kw(parser, ALM_KW_DISTINCT);
        if (at_extract(parser, call))
            ALM_TRY(parse_extract(parser, call, &cap));
        else if (trim_side(parser, call) != NULL)
            ALM_TRY(parse_trim(parser, call, trim_side(parser, call), &cap));
        else if (!alm_at_end(parser))
            ALM_TRY(parse_args(parser, call, &cap));
        if (alm_at_kw(parser, ALM_KW_ORDER))
            ALM_TRY(alm_parse_order(parser, &call->order, &call->n_order));
        take_nulls(parser, call);
    }
    return alm_parse_close(parser, open.pos);
}

/* percentile_cont(f) WITHIN GROUP (ORDER BY x [DESC]) is percentile_cont(x, f), or with 1 - f; percentile_disc(f) is
 * percentile_disc(x, f [, true]); mode() is mode(x). */
static alm_status take_ordered(alm_parser *parser, alm_ast *call)
{
    static const struct {
        const char *name;
        uint32_t n_args;
    } ordered[] = {{"percentile_cont", 1}, {"percentile_disc", 1}, {"mode", 0}};
    size_t i = 0;
    while (i < ALM_COUNT(ordered) && !(alm_str_ieq(call->text, alm_str_of(ordered[i].name)) &&
                                       call->n_args == ordered[i].n_args && call->n_order == 1))
        i++;
    if (i == ALM_COUNT(ordered))
        return ALM_OK;
    alm_ast **args = NULL, *more = NULL;
    const bool descending = call->n_args > 0 && call->order[0].desc;
    ALM_TRY(ALM_NEWN(parser->cx, parser->cx->arena, 3, &args));
    args[0] = call->order[0].expr;
    if (call->n_args > 0)
        args[1] = call->arg[0];
    call->arg = args;
    call->n_args++;
    if (descending && alm_str_ieq(call->text, ALM_STR("percentile_disc"))) {
        ALM_TRY(alm_parse_node(parser, ALM_AST_BOOL, args[1]->pos, &more));
        more->text = ALM_STR("true");
        args[call->n_args++] = more;
    } else if (descending) {
        ALM_TRY(alm_parse_node(parser, ALM_AST_NUMBER, args[1]->pos, &more));
        more->text = ALM_STR("1");
        ALM_TRY(alm_parse_make(parser, ALM_AST_BINARY, args[1]->pos, "-", more, args[1], &args[1]));
    }
    call->n_order = 0;
    return ALM_OK;
}

/* within group (order by x), filter (where c), ignore nulls, over ... */
static alm_status parse_suffixes(alm_parser *parser, alm_ast *call)
{
    if (alm_at_kw(parser, ALM_KW_WITHIN) && alm_token_is_kw(alm_parse_peek(parser), ALM_KW_GROUP)) {
        alm_parse_next(parser);
        alm_parse_next(parser);
        ALM_TRY(alm_expect_op(parser, ALM_OP_LPAREN, "'(' expected"));
        ALM_TRY(alm_parse_order(parser, &call->order, &call->n_order));
        ALM_TRY(alm_expect_op(parser, ALM_OP_RPAREN, "')' expected"));
        ALM_TRY(take_ordered(parser, call));
    }
    if (alm_at_kw(parser, ALM_KW_FILTER) &&
        alm_token_is_op(alm_parse_peek(parser), ALM_OP_LPAREN)) {
        alm_parse_next(parser);
        alm_parse_next(parser);
        ALM_TRY(alm_expect_kw(parser, ALM_KW_WHERE, "'where' expected"));
        ALM_TRY(alm_parse_expr(parser, &call->filter));
        ALM_TRY(alm_expect_op(parser, ALM_OP_RPAREN, "')' expected"));
    }
    take_nulls(parser, call);
    if (alm_at_kw(parser, ALM_KW_OVER) && !parser->no_window)
        ALM_TRY(alm_parse_over(parser, call));
    return ALM_OK;
}

alm_status alm_parse_call(alm_parser *parser, alm_str schema, alm_parse_name name, alm_ast **out)
{
    alm_ast *call = NULL;
    ALM_TRY(alm_parse_node(parser, ALM_AST_CALL, name.pos, &call));
    call->text = name.text;
    call->quoted = name.quoted;
    call->table = schema;
    ALM_TRY(call_parse_brackets(parser, call));
    ALM_TRY(parse_suffixes(parser, call));
    ALM_TRY(alm_parse_list_args(parser, call));
    *out = call;
    return alm_parse_seal(parser, call);
}
