/*
 * window.c - ORDER BY lists, OVER (...), and frames (of window functions and WINDOW JOIN).
 */
#include "sql/parse/parse.h"

/* The last key is (a, b), which orders by a, then by b. */
static alm_status spread_row(alm_parser *parser, alm_ast_order **out, uint32_t *n, uint32_t *cap)
{
    const alm_ast_order key = (*out)[*n - 1];
    (*n)--;
    for (uint32_t i = 0; i < key.expr->n_args; i++) {
        ALM_TRY(ALM_GROW(parser, out, *n, cap));
        (*out)[*n] = key;
        (*out)[(*n)++].expr = key.expr->arg[i];
    }
    return ALM_OK;
}

alm_status alm_parse_order(alm_parser *parser, alm_ast_order **out, uint32_t *n)
{
    uint32_t cap = 0;
    *n = 0;
    alm_parse_next(parser); /* order */
    ALM_TRY(alm_expect_kw(parser, ALM_KW_BY, "'by' expected"));
    do {
        if (alm_at_end(parser) || alm_at_op(parser, ALM_OP_RPAREN))
            return alm_parse_fail(parser, parser->tok.pos, "literal expected");
        ALM_TRY(ALM_GROW(parser, out, *n, &cap));
        alm_ast_order *item = &(*out)[*n];
        ALM_TRY(alm_parse_expr(parser, &item->expr));
        item->desc = alm_take_kw(parser, ALM_KW_DESC);
        if (!item->desc)
            (void)alm_take_kw(parser, ALM_KW_ASC);
        if (alm_take_kw(parser, ALM_KW_NULLS)) {
            const bool first = alm_at_kw(parser, ALM_KW_FIRST);
            if (!first && !alm_at_kw(parser, ALM_KW_LAST))
                return alm_parse_fail(parser, parser->tok.pos, "'first' or 'last' expected");
            alm_parse_next(parser);
            item->nulls = first ? 1 : 2;
        }
        (*n)++;
        if (item->expr->kind == ALM_AST_ROW)
            ALM_TRY(spread_row(parser, out, n, &cap));
    } while (alm_take_op(parser, ALM_OP_COMMA));
    return ALM_OK;
}

/* ------------------------------------------------------------------ frames */

static char time_unit(alm_str word)
{
    static const struct {
        const char *text;
        char unit;
    } rows[] = {
        {"nanosecond", 'n'},  {"microsecond", 'U'},  {"millisecond", 'T'},  {"second", 's'},
        {"minute", 'm'},      {"hour", 'h'},         {"day", 'd'},          {"week", 'w'},
        {"nanoseconds", 'n'}, {"microseconds", 'U'}, {"milliseconds", 'T'}, {"seconds", 's'},
        {"minutes", 'm'},     {"hours", 'h'},        {"days", 'd'},         {"weeks", 'w'}};
    for (size_t i = 0; i < ALM_COUNT(rows); i++)
        if (alm_str_ieq(word, (alm_str){rows[i].text, strlen(rows[i].text)}))
            return rows[i].unit;
    return 0;
}

static bool parse_window_is_number(alm_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
    return text.len > 0;
}

/* An offset is checked as far as its text tells; '10' is as good as 10. */
static alm_status window_parse_offset(alm_parser *parser, alm_ast **out)
{
    const int32_t pos = parser->tok.pos;
    if (!alm_starts_expr(parser))
        return alm_parse_fail(parser, pos, "integer expression expected");
    ALM_TRY(alm_parse_expr_at(parser, ALM_PREC_ADD, out));
    const alm_ast *node = *out;
    const bool minus = node->kind == ALM_AST_UNARY && node->arg[0]->kind == ALM_AST_NUMBER;
    const bool text = node->kind == ALM_AST_STRING && !parse_window_is_number(node->text);
    if (text || node->kind == ALM_AST_NULL || node->kind == ALM_AST_BOOL || minus)
        return alm_parse_fail(parser, pos, "non-negative integer expression expected");
    return ALM_OK;
}

static alm_status window_parse_bound(alm_parser *parser, bool range, bool is_lo, uint8_t *kind,
                                     alm_ast **offset, char *unit, int32_t *word_pos)
{
    if (alm_take_kw(parser, ALM_KW_UNBOUNDED)) {
        *word_pos = parser->tok.pos;
        if (alm_at_kw(parser, ALM_KW_PRECEDING) && is_lo)
            *kind = ALM_BOUND_UNBOUNDED_PRECEDING;
        else if (alm_at_kw(parser, ALM_KW_FOLLOWING) && !is_lo)
            *kind = ALM_BOUND_UNBOUNDED_FOLLOWING;
        else
            return alm_parse_fail(parser, parser->tok.pos,
                                  is_lo ? "'preceding' expected" : "'following' expected");
        alm_parse_next(parser);
        return ALM_OK;
    }
    if (alm_take_kw(parser, ALM_KW_CURRENT)) {
        ALM_TRY(alm_expect_kw(parser, ALM_KW_ROW, "'row' expected"));
        *word_pos = parser->prev.pos;
        *kind = ALM_BOUND_CURRENT;
        return ALM_OK;
    }
    ALM_TRY(window_parse_offset(parser, offset));
    if (range && parser->tok.kind == ALM_TOK_NAME) {
        *unit = time_unit(alm_token_text(parser, parser->tok));
        if (*unit != 0)
            alm_parse_next(parser);
    }
    *word_pos = parser->tok.pos;
    if (alm_at_kw(parser, ALM_KW_PRECEDING))
        *kind = ALM_BOUND_PRECEDING;
    else if (alm_at_kw(parser, ALM_KW_FOLLOWING))
        *kind = ALM_BOUND_FOLLOWING;
    else
        return alm_parse_fail(parser, parser->tok.pos, "'preceding' or 'following' expected");
    alm_parse_next(parser);
    return ALM_OK;
}

alm_status alm_parse_bounds(alm_parser *parser, alm_window_def *def, bool range)
{
    int32_t lo_pos = 0, hi_pos = 0;
    if (!alm_take_kw(parser, ALM_KW_BETWEEN)) {
        ALM_TRY(window_parse_bound(parser, range, true, &def->lo_kind, &def->lo, &def->lo_unit,
                                   &lo_pos));
        if (def->lo_kind == ALM_BOUND_FOLLOWING)
            return alm_parse_fail(parser, lo_pos, "'preceding' expected");
        def->hi_kind = ALM_BOUND_CURRENT;
        return ALM_OK;
    }
    ALM_TRY(
        window_parse_bound(parser, range, true, &def->lo_kind, &def->lo, &def->lo_unit, &lo_pos));
    ALM_TRY(alm_expect_kw(parser, ALM_KW_AND, "'and' expected"));
    ALM_TRY(
        window_parse_bound(parser, range, false, &def->hi_kind, &def->hi, &def->hi_unit, &hi_pos));
    if (def->lo_kind == ALM_BOUND_CURRENT && def->hi_kind == ALM_BOUND_PRECEDING)
        return alm_parse_fail(parser, hi_pos,
                              "start row is CURRENT, end row must not be PRECEDING");
    if (def->lo_kind == ALM_BOUND_FOLLOWING && def->hi_kind == ALM_BOUND_PRECEDING)
        return alm_parse_fail(parser, hi_pos,
                              "start row is FOLLOWING, end row must not be PRECEDING");
    if (def->lo_kind == ALM_BOUND_FOLLOWING && def->hi_kind == ALM_BOUND_CURRENT)
        return alm_parse_fail(parser, hi_pos,
                              "start row is FOLLOWING, end row must not be CURRENT");
    return ALM_OK;
}

static alm_status parse_exclude(alm_parser *parser, alm_window_def *def)
{
    const alm_token next = alm_parse_peek(parser);
    alm_parse_next(parser); /* exclude */
    if (alm_at_kw(parser, ALM_KW_CURRENT)) {
        alm_parse_next(parser);
        def->exclude = ALM_EXCLUDE_CURRENT;
        return alm_expect_kw(parser, ALM_KW_ROW, "'row' expected");
    }
    if (alm_take_kw(parser, ALM_KW_NO))
        return alm_expect_kw(parser, ALM_KW_OTHERS, "'others' expected");
    if (alm_take_kw(parser, ALM_KW_GROUP))
        def->exclude = ALM_EXCLUDE_GROUP;
    else if (alm_take_kw(parser, ALM_KW_TIES))
        def->exclude = ALM_EXCLUDE_TIES;
    else
        return alm_parse_fail(parser, next.pos,
                              "'current', 'group', 'ties' or 'no other' expected");
    return ALM_OK;
}

static alm_status parse_frame(alm_parser *parser, alm_window_def *def)
{
    def->frame = alm_at_kw(parser, ALM_KW_ROWS)     ? ALM_FRAME_ROWS
                 : alm_at_kw(parser, ALM_KW_RANGE)  ? ALM_FRAME_RANGE
                 : alm_at_kw(parser, ALM_KW_GROUPS) ? ALM_FRAME_GROUPS
                                                    : ALM_FRAME_NONE;
    if (def->frame == ALM_FRAME_NONE)
        return ALM_OK;
    alm_parse_next(parser);
    ALM_TRY(alm_parse_bounds(parser, def, def->frame == ALM_FRAME_RANGE));
    if (def->frame == ALM_FRAME_RANGE && def->n_order != 1 &&
        (def->lo != NULL || def->hi != NULL)) {
        const int32_t pos = def->lo != NULL ? def->lo->end : def->hi->end;
        alm_token token = alm_lex(parser->text, pos, false); /* the unit, then the word */
        if (!alm_token_is_kw(token, ALM_KW_PRECEDING) && !alm_token_is_kw(token, ALM_KW_FOLLOWING))
            token = alm_lex(parser->text, token.end, false);
        return alm_parse_fail(
            parser, token.pos,
            "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column");
    }
    if (alm_at_kw(parser, ALM_KW_EXCLUDE))
        ALM_TRY(parse_exclude(parser, def));
    return ALM_OK;
}

/* ------------------------------------------------------------------ windows */

alm_status alm_parse_window(alm_parser *parser, alm_window_def **out)
{
    alm_window_def *def = NULL;
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &def));
    def->pos = parser->tok.pos;
    ALM_TRY(alm_expect_op(parser, ALM_OP_LPAREN, "'(' expected"));
    const bool frame = alm_at_kw(parser, ALM_KW_ROWS) || alm_at_kw(parser, ALM_KW_RANGE) ||
                       alm_at_kw(parser, ALM_KW_GROUPS);
    if (!frame && !alm_at_kw(parser, ALM_KW_PARTITION) && !alm_at_kw(parser, ALM_KW_ORDER) &&
        (parser->tok.kind == ALM_TOK_NAME || parser->tok.kind == ALM_TOK_QUOTED)) {
        alm_parse_name base;
        ALM_TRY(alm_parse_ident(parser, "window name", &base));
        def->base = base.text;
    }
    if (alm_take_kw(parser, ALM_KW_PARTITION)) {
        ALM_TRY(alm_expect_kw(parser, ALM_KW_BY, "'by' expected"));
        ALM_TRY(alm_parse_exprs(parser, &def->partition, &def->n_partition));
    }
    if (alm_at_kw(parser, ALM_KW_ORDER))
        ALM_TRY(alm_parse_order(parser, &def->order, &def->n_order));
    ALM_TRY(parse_frame(parser, def));
    ALM_TRY(alm_expect_op(parser, ALM_OP_RPAREN, "')' expected"));
    *out = def;
    return ALM_OK;
}

alm_status alm_parse_over(alm_parser *parser, alm_ast *call)
{
    alm_parse_next(parser); /* over */
    const bool word = parser->tok.kind == ALM_TOK_NAME &&
                      (alm_keyword_flags((alm_keyword)parser->tok.kw) & ALM_KW_RESERVED) == 0;
    if (word || parser->tok.kind == ALM_TOK_QUOTED) {
        alm_parse_name name;
        ALM_TRY(alm_parse_ident(parser, "window name", &name));
        call->over_name = name.text;
        return ALM_OK;
    }
    return alm_parse_window(parser, &call->over);
}
