/*
 * group.c - GROUP BY: expressions, ROLLUP (...), CUBE (...), GROUPING SETS (...). What is written
 * side by side multiplies: a, ROLLUP (b) are the sets (a, b) and (a). Each set is a mask over the list
 * of all expressions; one that is written twice is one expression.
 */
#include "sql/parse/parse.h"

enum { EXPRS_MAX = 64, SETS_MAX = 4096 };

typedef struct sets {
    uint64_t *at;
    uint32_t n, cap;
} sets;

static alm_status parse_group_add_set(alm_parser *parser, sets *self, uint64_t mask, int32_t pos)
{
    if (self->n >= SETS_MAX)
        return alm_parse_fail(parser, pos, "too many grouping sets (limit %d)", SETS_MAX);
    ALM_TRY(ALM_GROW(parser, &self->at, self->n, &self->cap));
    self->at[self->n++] = mask;
    return ALM_OK;
}

/* One expression: its bit. */
static alm_status one_expr(alm_parser *parser, alm_select *sel, uint32_t *cap, uint64_t *bit)
{
    alm_ast *node = NULL;
    const char *text = NULL;
    const int32_t pos = parser->tok.pos;
    ALM_TRY(alm_parse_expr(parser, &node));
    ALM_TRY(alm_ast_text(parser->cx, node, &text));
    for (uint32_t i = 0; i < sel->n_group && i < EXPRS_MAX; i++) {
        const char *other = NULL;
        ALM_TRY(alm_ast_text(parser->cx, sel->group[i], &other));
        if (strcmp(text, other) == 0 && sel->group[i]->kind == node->kind) {
            *bit = UINT64_C(1) << i;
            return ALM_OK;
        }
    }
    if (sel->n_group >= EXPRS_MAX)
        return alm_parse_fail(parser, pos, "too many expressions in grouping sets (limit %d)",
                              EXPRS_MAX);
    ALM_TRY(ALM_GROW(parser, &sel->group, sel->n_group, cap));
    *bit = UINT64_C(1) << sel->n_group;
    sel->group[sel->n_group++] = node;
    return ALM_OK;
}

/* a, or (a, b), or (): the mask of the expressions. */
static alm_status one_set(alm_parser *parser, alm_select *sel, uint32_t *cap, uint64_t *mask)
{
    uint64_t bit = 0;
    *mask = 0;
    if (!alm_at_op(parser, ALM_OP_LPAREN))
        return one_expr(parser, sel, cap, mask);
    alm_parse_next(parser);
    if (alm_take_op(parser, ALM_OP_RPAREN))
        return ALM_OK;
    do {
        ALM_TRY(one_expr(parser, sel, cap, &bit));
        *mask |= bit;
    } while (alm_take_op(parser, ALM_OP_COMMA));
    return alm_expect_op(parser, ALM_OP_RPAREN, "')' expected");
}

static bool at_word(const alm_parser *parser, const char *word)
{
    return parser->tok.kind == ALM_TOK_NAME &&
           alm_str_ieq(alm_token_text(parser, parser->tok), alm_str_of(word));
}

static bool at_call(const alm_parser *parser, const char *word)
{
    return at_word(parser, word) && alm_token_is_op(alm_parse_peek(parser), ALM_OP_LPAREN);
}

static bool at_grouping_sets(const alm_parser *parser)
{
    const alm_token next = alm_parse_peek(parser);
    return at_word(parser, "grouping") && next.kind == ALM_TOK_NAME &&
           alm_str_ieq(alm_token_text(parser, next), ALM_STR("sets"));
}

/* ROLLUP (a, b): (a, b), (a), (). CUBE (a, b): (a, b), (a), (b), (). */
static alm_status parse_group_expand(alm_parser *parser, alm_select *sel, uint32_t *cap, sets *out)
{
    const bool cube = at_word(parser, "cube");
    const int32_t pos = parser->tok.pos;
    uint64_t part[EXPRS_MAX];
    uint32_t n_parts = 0;
    alm_parse_next(parser);
    do {
        alm_parse_next(parser); /* ( or , */
        if (n_parts == EXPRS_MAX || (cube && n_parts == 12))
            return alm_parse_fail(parser, pos, "too many expressions in grouping sets (limit %d)",
                                  cube ? 12 : EXPRS_MAX);
        ALM_TRY(one_set(parser, sel, cap, &part[n_parts++]));
    } while (alm_at_op(parser, ALM_OP_COMMA));
    ALM_TRY(alm_expect_op(parser, ALM_OP_RPAREN, "')' expected"));
    const uint32_t count = cube ? 1U << n_parts : n_parts + 1;
    for (uint32_t s = 0; s < count; s++) {
        uint64_t mask = 0;
        for (uint32_t i = 0; i < n_parts; i++)
            if (cube ? (s >> (n_parts - 1 - i) & 1) == 0 : i < n_parts - s)
                mask |= part[i];
        ALM_TRY(parse_group_add_set(parser, out, mask, pos));
    }
    return ALM_OK;
}

static alm_status parse_group_element(alm_parser *parser, alm_select *sel, uint32_t *cap, sets *out)
{
    const int32_t pos = parser->tok.pos;
    uint64_t mask = 0;
    if (at_call(parser, "rollup") || at_call(parser, "cube"))
        return parse_group_expand(parser, sel, cap, out);
    if (!at_grouping_sets(parser)) {
        ALM_TRY(one_set(parser, sel, cap, &mask));
        return parse_group_add_set(parser, out, mask, pos);
    }
    alm_parse_next(parser);
    alm_parse_next(parser);
    if (!alm_at_op(parser, ALM_OP_LPAREN))
        return alm_parse_fail(parser, parser->tok.pos, "'(' expected");
    ALM_TRY(alm_parse_enter(parser));
    do {
        alm_parse_next(parser); /* ( or , */
        if (at_call(parser, "rollup") || at_call(parser, "cube") || at_grouping_sets(parser)) {
            ALM_TRY(parse_group_element(parser, sel, cap, out));
            continue;
        }
        ALM_TRY(one_set(parser, sel, cap, &mask));
        ALM_TRY(parse_group_add_set(parser, out, mask, pos));
    } while (alm_at_op(parser, ALM_OP_COMMA));
    parser->nest--;
    return alm_expect_op(parser, ALM_OP_RPAREN, "')' expected");
}

/* Is there ROLLUP, CUBE or GROUPING SETS in the list that starts here? */
static bool has_sets(const alm_parser *parser)
{
    alm_parser ahead = *parser;
    int depth = 0;
    for (; !alm_at_end(&ahead); alm_parse_next(&ahead)) {
        if (ahead.tok.kind == ALM_TOK_BAD)
            return false;
        if (alm_at_op(&ahead, ALM_OP_LPAREN))
            depth++;
        else if (alm_at_op(&ahead, ALM_OP_RPAREN) && depth-- == 0)
            return false;
        else if (depth == 0 &&
                 (at_call(&ahead, "rollup") || at_call(&ahead, "cube") || at_grouping_sets(&ahead)))
            return true;
        else if (depth == 0 &&
                 (alm_at_kw(&ahead, ALM_KW_ORDER) || alm_at_kw(&ahead, ALM_KW_HAVING) ||
                  alm_at_kw(&ahead, ALM_KW_LIMIT) || alm_at_kw(&ahead, ALM_KW_UNION)))
            return false;
    }
    return false;
}

/* GROUP BY (a, b) is GROUP BY a, b. */
static alm_status parse_group_spread_rows(alm_parser *parser, alm_select *sel)
{
    alm_ast **flat = NULL;
    uint32_t count = 0, cap = 0;
    bool rows = false;
    for (uint32_t i = 0; i < sel->n_group; i++)
        rows |= sel->group[i]->kind == ALM_AST_ROW;
    if (!rows)
        return ALM_OK;
    for (uint32_t i = 0; i < sel->n_group; i++) {
        alm_ast *node = sel->group[i];
        const bool row = node->kind == ALM_AST_ROW;
        for (uint32_t k = 0; k < (row ? node->n_args : 1); k++) {
            ALM_TRY(ALM_GROW(parser, &flat, count, &cap));
            flat[count++] = row ? node->arg[k] : node;
        }
    }
    sel->group = flat;
    sel->n_group = count;
    return ALM_OK;
}

alm_status alm_parse_group_list(alm_parser *parser, alm_select *sel)
{
    if (!has_sets(parser)) {
        ALM_TRY(alm_parse_exprs(parser, &sel->group, &sel->n_group));
        return parse_group_spread_rows(parser, sel);
    }
    uint32_t cap = 0;
    sets all = {0};
    const int32_t pos = parser->tok.pos;
    ALM_TRY(parse_group_add_set(parser, &all, 0, pos));
    do {
        sets one = {0}, both = {0};
        ALM_TRY(parse_group_element(parser, sel, &cap, &one));
        for (uint32_t i = 0; i < all.n; i++)
            for (uint32_t k = 0; k < one.n; k++)
                ALM_TRY(parse_group_add_set(parser, &both, all.at[i] | one.at[k], pos));
        all = both;
    } while (alm_take_op(parser, ALM_OP_COMMA));
    sel->group_sets = all.at;
    sel->n_group_sets = all.n;
    return ALM_OK;
}
