/*
 * expr.c - operators: precedence climbing over the table below.
 *
 * A smaller number binds tighter: :: [] | - ~ | * / % | + - | << >> <<= >>= | || | & | ^ | '|' |
 * in between within | < <= > >= | = != <> like ilike ~ !~ is | not | and | or. All are left
 * associative. This is the dialect's order, not that of SQL: `12 & 10 = 8` compares the masked
 * value, and `a = b < c` compares b with c first.
 */
#include "sql/parse/parse.h"

static const struct op_row {
    const char *text;
    uint8_t op;  /* alm_op, or 0 */
    uint16_t kw; /* alm_keyword, or 0 */
    uint8_t prec;
} op_rows[] = {
    {"*", ALM_OP_STAR, 0, ALM_PREC_MUL},       {"/", ALM_OP_SLASH, 0, ALM_PREC_MUL},
    {"%", ALM_OP_PERCENT, 0, ALM_PREC_MUL},    {"+", ALM_OP_PLUS, 0, ALM_PREC_ADD},
    {"-", ALM_OP_MINUS, 0, ALM_PREC_ADD},      {"<<", ALM_OP_SHL, 0, ALM_PREC_SHIFT},
    {">>", ALM_OP_SHR, 0, ALM_PREC_SHIFT},     {"<<=", ALM_OP_SHL_EQ, 0, ALM_PREC_SHIFT},
    {">>=", ALM_OP_SHR_EQ, 0, ALM_PREC_SHIFT}, {"||", ALM_OP_CONCAT, 0, ALM_PREC_CONCAT},
    {"&", ALM_OP_AMP, 0, ALM_PREC_BIT_AND},    {"^", ALM_OP_CARET, 0, ALM_PREC_BIT_XOR},
    {"|", ALM_OP_PIPE, 0, ALM_PREC_BIT_OR},    {"<", ALM_OP_LT, 0, ALM_PREC_ORDER},
    {"<=", ALM_OP_LE, 0, ALM_PREC_ORDER},      {">", ALM_OP_GT, 0, ALM_PREC_ORDER},
    {">=", ALM_OP_GE, 0, ALM_PREC_ORDER},      {"=", ALM_OP_EQ, 0, ALM_PREC_EQUAL},
    {"!=", ALM_OP_NE, 0, ALM_PREC_EQUAL},      {"<>", ALM_OP_NE_SQL, 0, ALM_PREC_EQUAL},
    {"~", ALM_OP_TILDE, 0, ALM_PREC_EQUAL},    {"!~", ALM_OP_NOT_TILDE, 0, ALM_PREC_EQUAL},
    {"like", 0, ALM_KW_LIKE, ALM_PREC_EQUAL},  {"ilike", 0, ALM_KW_ILIKE, ALM_PREC_EQUAL},
    {"and", 0, ALM_KW_AND, ALM_PREC_AND},      {"or", 0, ALM_KW_OR, ALM_PREC_OR},
};

static const struct op_row *parse_expr_row_of(alm_token token)
{
    if (token.kind != ALM_TOK_OP && (token.kind != ALM_TOK_NAME || token.kw == ALM_KW_PLAIN))
        return NULL;
    for (size_t i = 0; i < ALM_COUNT(op_rows); i++)
        if (token.kind == ALM_TOK_OP ? token.op == op_rows[i].op && op_rows[i].op != 0
                                     : token.kw == op_rows[i].kw)
            return &op_rows[i];
    return NULL;
}

uint32_t alm_op_precedence(alm_str op)
{
    for (size_t i = 0; i < ALM_COUNT(op_rows); i++)
        if (alm_str_eq(op, (alm_str){op_rows[i].text, strlen(op_rows[i].text)}))
            return op_rows[i].prec;
    return 0;
}

bool alm_starts_expr(const alm_parser *parser)
{
    const alm_token token = parser->tok;
    switch ((alm_tok_kind)token.kind) {
    case ALM_TOK_END:
        return false;
    case ALM_TOK_OP:
        return token.op == ALM_OP_LPAREN || token.op == ALM_OP_MINUS || token.op == ALM_OP_PLUS ||
               token.op == ALM_OP_TILDE;
    case ALM_TOK_NAME:
        switch ((int)token.kw) {
        case ALM_KW_CASE:
        case ALM_KW_CAST:
        case ALM_KW_NOT:
        case ALM_KW_NULL:
        case ALM_KW_TRUE:
        case ALM_KW_FALSE:
        case ALM_KW_EXISTS:
            return true;
        default:
            return !alm_at_reserved(parser);
        }
    case ALM_TOK_BAD:
    case ALM_TOK_COMMENT:
    case ALM_TOK_QUOTED:
    case ALM_TOK_STRING:
    case ALM_TOK_NUMBER:
    case ALM_TOK_GEOHASH:
    case ALM_TOK_PARAM:
    case ALM_TOK_VAR:
        break;
    }
    return true;
}

/* `x = 2 and order = 1`: a keyword that can only be a name there, since it is compared or computed with. */
static bool at_keyword_as_name(alm_parser *parser)
{
    const alm_token next = alm_lex(parser->text, parser->tok.end, false);
    return parser->tok.kind == ALM_TOK_NAME && alm_at_reserved(parser) && next.kind == ALM_TOK_OP &&
           parse_expr_row_of(next) != NULL && next.op != ALM_OP_STAR && next.op != ALM_OP_MINUS;
}

static alm_status too_few(alm_parser *parser, const char *op, int32_t pos, int found, int expected)
{
    if (at_keyword_as_name(parser))
        return alm_parse_keyword_name(parser);
    return alm_parse_fail(parser, pos, "too few arguments for '%s' [found=%d,expected=%d]", op,
                          found, expected);
}

/* ------------------------------------------------------------------ in, between, is, any */

static alm_status parse_in_list(alm_parser *parser, alm_ast *node, uint32_t *cap, int32_t pos)
{
    const int32_t open = parser->tok.pos;
    alm_parse_next(parser);
    node->parens = true;
    if (alm_at_op(parser, ALM_OP_RPAREN))
        return alm_parse_fail(parser, pos, "too few arguments for 'in'");
    if (alm_starts_query(parser->tok)) {
        ALM_TRY(alm_parse_query(parser, &node->select));
    } else {
        do {
            if (alm_at_op(parser, ALM_OP_RPAREN))
                return alm_parse_fail(parser, parser->tok.pos, "missing arguments");
            if (parser->tok.kind == ALM_TOK_END)
                break;
            ALM_TRY(ALM_GROW(parser, &node->arg, node->n_args, cap));
            alm_ast **arg = &node->arg[node->n_args];
            ALM_TRY(alm_parse_literal(parser, arg));
            if (*arg == NULL)
                ALM_TRY(alm_parse_expr(parser, arg));
            else if (!alm_at_op(parser, ALM_OP_COMMA) && !alm_at_op(parser, ALM_OP_RPAREN))
                ALM_TRY(alm_parse_expr_rest(parser, *arg, ALM_PREC_OR, arg));
            node->n_args++;
        } while (alm_take_op(parser, ALM_OP_COMMA));
    }
    return alm_parse_close(parser, open);
}

static alm_status expr_parse_in(alm_parser *parser, alm_ast *left, bool negated, alm_ast **out)
{
    const int32_t pos = parser->tok.pos;
    alm_ast *node = NULL;
    uint32_t cap = 0;
    alm_parse_next(parser);
    ALM_TRY(alm_parse_node(parser, ALM_AST_IN, pos, &node));
    ALM_TRY(ALM_GROW(parser, &node->arg, 0, &cap));
    node->arg[node->n_args++] = left;
    node->negated = negated;
    if (alm_at_op(parser, ALM_OP_LPAREN)) {
        ALM_TRY(parse_in_list(parser, node, &cap, pos));
    } else {
        if (!alm_starts_expr(parser))
            return too_few(parser, "in", pos, 1, 2);
        ALM_TRY(alm_parse_expr_at(parser, ALM_PREC_BIT_OR, &node->arg[1]));
        node->n_args = 2;
    }
    ALM_TRY(alm_parse_seal(parser, node));
    *out = node;
    return ALM_OK;
}

static alm_status parse_between(alm_parser *parser, alm_ast *left, bool negated, alm_ast **out)
{
    const int32_t pos = parser->tok.pos;
    alm_ast *node = NULL;
    alm_parse_next(parser);
    ALM_TRY(alm_parse_node(parser, ALM_AST_BETWEEN, pos, &node));
    ALM_TRY(ALM_NEWN(parser->cx, parser->cx->arena, 3, &node->arg));
    node->n_args = 3;
    node->negated = negated;
    node->symmetric = alm_take_kw(parser, ALM_KW_SYMMETRIC);
    node->arg[0] = left;
    if (!alm_starts_expr(parser))
        return too_few(parser, "between", pos, 1, 3);
    ALM_TRY(alm_parse_expr_at(parser, ALM_PREC_BIT_OR, &node->arg[1]));
    if (!alm_take_kw(parser, ALM_KW_AND) || !alm_starts_expr(parser))
        return too_few(parser, "between", pos, 2, 3);
    ALM_TRY(alm_parse_expr_at(parser, ALM_PREC_BIT_OR, &node->arg[2]));
    ALM_TRY(alm_parse_seal(parser, node));
    *out = node;
    return ALM_OK;
}

/* is [not] null | true | false | distinct from x */
static alm_status parse_is(alm_parser *parser, alm_ast *left, alm_ast **out)
{
    const int32_t pos = parser->tok.pos;
    alm_parse_next(parser);
    const bool negated = alm_take_kw(parser, ALM_KW_NOT);
    alm_ast *right = NULL;
    if (alm_at_kw(parser, ALM_KW_NULL)) {
        alm_ast *node = NULL;
        ALM_TRY(alm_parse_node(parser, ALM_AST_IS_NULL, pos, &node));
        node->raw = alm_token_text(parser, parser->tok);
        alm_parse_next(parser);
        ALM_TRY(ALM_NEWN(parser->cx, parser->cx->arena, 1, &node->arg));
        node->arg[0] = left;
        node->n_args = 1;
        node->negated = negated;
        *out = node;
        return alm_parse_seal(parser, node);
    }
    if (alm_at_kw(parser, ALM_KW_TRUE) || alm_at_kw(parser, ALM_KW_FALSE)) {
        ALM_TRY(alm_parse_literal(parser, &right));
        return alm_parse_make(parser, ALM_AST_BINARY, pos, negated ? "!=" : "=", left, right, out);
    }
    if (alm_take_kw(parser, ALM_KW_DISTINCT)) {
        ALM_TRY(alm_expect_kw(parser, ALM_KW_FROM, "'from' expected"));
        ALM_TRY(alm_parse_expr_at(parser, ALM_PREC_ORDER, &right));
        return alm_parse_make(parser, ALM_AST_BINARY, pos, negated ? "=" : "!=", left, right, out);
    }
    return alm_parse_fail(parser, pos,
                          negated ? "IS NOT must be followed by NULL, TRUE or FALSE"
                                  : "IS must be followed by [NOT] NULL, TRUE or FALSE");
}

/* left within (a, b) is the call within(left, a, b). */
static alm_status parse_within(alm_parser *parser, alm_ast *left, alm_ast **out)
{
    alm_ast *node = NULL;
    uint32_t cap = 0;
    ALM_TRY(alm_parse_node(parser, ALM_AST_CALL, parser->tok.pos, &node));
    node->text = ALM_STR("within");
    alm_parse_next(parser);
    ALM_TRY(alm_expect_op(parser, ALM_OP_LPAREN, "'(' expected"));
    ALM_TRY(ALM_GROW(parser, &node->arg, 0, &cap));
    node->arg[node->n_args++] = left;
    do {
        ALM_TRY(ALM_GROW(parser, &node->arg, node->n_args, &cap));
        ALM_TRY(alm_parse_expr(parser, &node->arg[node->n_args]));
        node->n_args++;
    } while (alm_take_op(parser, ALM_OP_COMMA));
    ALM_TRY(alm_expect_op(parser, ALM_OP_RPAREN, "')' expected"));
    ALM_TRY(alm_parse_seal(parser, node));
    *out = node;
    return ALM_OK;
}

/* left op ANY (...) */
static alm_status parse_quantified(alm_parser *parser, const struct op_row *row, int32_t pos,
                                   alm_ast *left, alm_ast **out)
{
    alm_ast *node = NULL, *right = NULL;
    const bool all = alm_at_kw(parser, ALM_KW_ALL);
    alm_parse_next(parser);
    alm_parse_next(parser); /* the bracket, seen already */
    alm_select *select = NULL;
    if (alm_starts_query(parser->tok))
        ALM_TRY(alm_parse_query(parser, &select));
    else
        ALM_TRY(alm_parse_expr(parser, &right));
    ALM_TRY(alm_expect_op(parser, ALM_OP_RPAREN, "')' expected"));
    ALM_TRY(alm_parse_make(parser, ALM_AST_QUANTIFIED, pos, row->text, left, right, &node));
    node->number = all ? 2 : 1;
    node->select = select;
    *out = node;
    return alm_parse_seal(parser, node);
}

static bool at_quantifier(const alm_parser *parser)
{
    if (!alm_at_kw(parser, ALM_KW_ANY) && !alm_at_kw(parser, ALM_KW_ALL) &&
        !alm_at_kw(parser, ALM_KW_SOME))
        return false;
    return alm_token_is_op(alm_parse_peek(parser), ALM_OP_LPAREN);
}

/* ------------------------------------------------------------------ and, or */

/* A tree over n operands whose depth is log n. */
static alm_status balance(alm_parser *parser, const struct op_row *row, alm_ast **operand,
                          const int32_t *pos, uint32_t n, alm_ast **out)
{
    if (n == 1) {
        *out = operand[0];
        return ALM_OK;
    }
    alm_ast *a = NULL, *b = NULL;
    const uint32_t half = n / 2;
    ALM_TRY(balance(parser, row, operand, pos, half, &a));
    ALM_TRY(balance(parser, row, operand + half, pos + half, n - half, &b));
    ALM_TRY(alm_parse_make(parser, ALM_AST_BINARY, pos[half], row->text, a, b, out));
    (*out)->balanced = true;
    return ALM_OK;
}

static alm_status parse_chain(alm_parser *parser, const struct op_row *row, alm_ast *left,
                              alm_ast **out)
{
    enum { PLAIN_MAX = 32 }; /* chains up to this long keep their left-deep shape */
    alm_ast **operand = NULL;
    int32_t *pos = NULL; /* of the operator in front of the operand */
    uint32_t count = 0, cap = 0, cap_pos = 0;
    const alm_token first = parser->tok;
    ALM_TRY(ALM_GROW(parser, &operand, count, &cap));
    ALM_TRY(ALM_GROW(parser, &pos, count, &cap_pos));
    operand[count++] = left;
    while (parser->tok.kind == first.kind && parser->tok.kw == first.kw) {
        ALM_TRY(ALM_GROW(parser, &operand, count, &cap));
        ALM_TRY(ALM_GROW(parser, &pos, count, &cap_pos));
        pos[count] = parser->tok.pos;
        alm_parse_next(parser);
        if (!alm_starts_expr(parser))
            return too_few(parser, row->text, pos[count], 1, 2);
        ALM_TRY(alm_parse_expr_at(parser, row->prec - 1u, &operand[count]));
        count++;
    }
    if (count > PLAIN_MAX)
        return balance(parser, row, operand, pos, count, out);
    *out = left;
    for (uint32_t i = 1; i < count; i++)
        ALM_TRY(alm_parse_make(parser, ALM_AST_BINARY, pos[i], row->text, *out, operand[i], out));
    return ALM_OK;
}

/* ------------------------------------------------------------------ climbing */

/* x like 'p' escape 'c': the sign c before another takes it as it is, which \ does in patterns. */
static alm_status parse_escape(alm_parser *parser, alm_ast **like)
{
    alm_ast *sign = NULL, *pattern = *like;
    alm_parse_next(parser);
    if (parser->tok.kind != ALM_TOK_STRING)
        return alm_parse_fail(parser, parser->tok.pos, "ESCAPE takes one character in quotes");
    ALM_TRY(alm_parse_literal(parser, &sign));
    if (sign->text.len > 1)
        return alm_parse_fail(parser, sign->pos, "ESCAPE takes one character in quotes");
    if (pattern->kind != ALM_AST_STRING)
        return alm_parse_make(parser, ALM_AST_CALL, pattern->pos, "like_escape", pattern, sign,
                              like);
    char *text = NULL;
    const alm_str from = pattern->text;
    size_t count = 0;
    ALM_TRY(alm_arena_bytes(parser->cx, parser->cx->arena, 2 * from.len + 1, &text));
    for (size_t i = 0; i < from.len; i++) {
        const bool escaped = sign->text.len == 1 && from.ptr[i] == sign->text.ptr[0];
        if (escaped && ++i == from.len)
            return alm_parse_fail(parser, pattern->pos,
                                  "the pattern ends with its ESCAPE character");
        if (escaped || from.ptr[i] == '\\')
            text[count++] = '\\';
        text[count++] = from.ptr[i];
    }
    pattern->text = (alm_str){text, count};
    return ALM_OK;
}

static alm_status parse_binary(alm_parser *parser, const struct op_row *row, alm_ast *left,
                               alm_ast **out)
{
    const int32_t pos = parser->tok.pos;
    alm_ast *right = NULL;
    alm_parse_next(parser);
    if ((row->prec == ALM_PREC_EQUAL || row->prec == ALM_PREC_ORDER) && at_quantifier(parser))
        return parse_quantified(parser, row, pos, left, out);
    if (!alm_starts_expr(parser))
        return too_few(parser, row->text, pos, 1, 2);
    ALM_TRY(alm_parse_expr_at(parser, row->prec - 1u, &right));
    const bool like = row->kw == ALM_KW_LIKE || row->kw == ALM_KW_ILIKE;
    if (like && parser->tok.kind == ALM_TOK_NAME &&
        alm_str_ieq(alm_token_text(parser, parser->tok), ALM_STR("escape")))
        ALM_TRY(parse_escape(parser, &right));
    return alm_parse_make(parser, ALM_AST_BINARY, pos, row->text, left, right, out);
}

/* a operator(pg_catalog.~) b, as psql writes it. */
static alm_status parse_operator(alm_parser *parser, alm_ast *left, alm_ast **out)
{
    alm_parse_next(parser);
    ALM_TRY(alm_expect_op(parser, ALM_OP_LPAREN, "'(' expected"));
    while (parser->tok.kind == ALM_TOK_NAME || alm_at_op(parser, ALM_OP_DOT))
        alm_parse_next(parser);
    const struct op_row *row = parse_expr_row_of(parser->tok);
    if (row == NULL)
        return alm_parse_unexpected(parser);
    const int32_t pos = parser->tok.pos;
    alm_ast *right = NULL;
    alm_parse_next(parser);
    ALM_TRY(alm_expect_op(parser, ALM_OP_RPAREN, "')' expected"));
    ALM_TRY(alm_parse_expr_at(parser, ALM_PREC_ORDER, &right));
    return alm_parse_make(parser, ALM_AST_BINARY, pos, row->text, left, right, out);
}

/* `not` behind an operand: not in, not between, not like, not ilike, not within. */
static alm_status parse_negated(alm_parser *parser, alm_ast *left, uint32_t prec, bool *done,
                                alm_ast **out)
{
    const alm_token word = alm_parse_peek(parser);
    const bool set = alm_token_is_kw(word, ALM_KW_IN) || alm_token_is_kw(word, ALM_KW_BETWEEN) ||
                     alm_token_is_kw(word, ALM_KW_WITHIN);
    const bool like = alm_token_is_kw(word, ALM_KW_LIKE) || alm_token_is_kw(word, ALM_KW_ILIKE);
    const int32_t pos = parser->tok.pos;
    *done = true;
    if (!set && !like)
        return alm_parse_fail(parser, word.pos, "'in', 'between', 'like' or 'ilike' expected");
    if ((set && prec < ALM_PREC_SET) || (like && prec < ALM_PREC_EQUAL))
        return ALM_OK;
    *done = false;
    alm_parse_next(parser);
    if (alm_at_kw(parser, ALM_KW_IN))
        return expr_parse_in(parser, left, true, out);
    if (alm_at_kw(parser, ALM_KW_BETWEEN))
        return parse_between(parser, left, true, out);
    alm_ast *positive = NULL;
    ALM_TRY(like ? parse_binary(parser, parse_expr_row_of(parser->tok), left, &positive)
                 : parse_within(parser, left, &positive));
    return alm_parse_make(parser, ALM_AST_UNARY, pos, "not", positive, NULL, out);
}

/* ILIKE and IS with nothing behind them to compare with: SELECT v ilike FROM t. */
static bool at_alias_operator(const alm_parser *parser)
{
    if (!alm_at_kw(parser, ALM_KW_ILIKE) && !alm_at_kw(parser, ALM_KW_IS))
        return false;
    const alm_token next = alm_parse_peek(parser);
    return alm_token_is_kw(next, ALM_KW_FROM) || alm_token_is_op(next, ALM_OP_COMMA);
}

alm_status alm_parse_expr_rest(alm_parser *parser, alm_ast *left, uint32_t prec, alm_ast **out)
{
    ALM_TRY(alm_parse_postfix(parser, left, &left));
    while (!at_alias_operator(parser)) {
        const struct op_row *row = parse_expr_row_of(parser->tok);
        bool done = false;
        if (row != NULL && row->prec <= prec) {
            if (row->prec >= ALM_PREC_AND)
                ALM_TRY(parse_chain(parser, row, left, &left));
            else
                ALM_TRY(parse_binary(parser, row, left, &left));
        } else if (row != NULL || parser->tok.kind != ALM_TOK_NAME || prec < ALM_PREC_SET) {
            break;
        } else if (alm_at_kw(parser, ALM_KW_IN)) {
            ALM_TRY(expr_parse_in(parser, left, false, &left));
        } else if (alm_at_kw(parser, ALM_KW_BETWEEN)) {
            ALM_TRY(parse_between(parser, left, false, &left));
        } else if (alm_at_kw(parser, ALM_KW_WITHIN) &&
                   alm_token_is_op(alm_parse_peek(parser), ALM_OP_LPAREN)) {
            ALM_TRY(parse_within(parser, left, &left));
        } else if (alm_at_kw(parser, ALM_KW_NOT)) {
            ALM_TRY(parse_negated(parser, left, prec, &done, &left));
        } else if (alm_at_kw(parser, ALM_KW_IS) && prec >= ALM_PREC_EQUAL) {
            ALM_TRY(parse_is(parser, left, &left));
        } else if (alm_at_kw(parser, ALM_KW_OPERATOR) && prec >= ALM_PREC_EQUAL &&
                   alm_token_is_op(alm_parse_peek(parser), ALM_OP_LPAREN)) {
            ALM_TRY(parse_operator(parser, left, &left));
        } else {
            break;
        }
        if (done)
            break;
    }
    *out = left;
    return ALM_OK;
}

/* -x, ~x, +x, not x; anything else is a primary. */
static alm_status parse_prefix(alm_parser *parser, alm_ast **out)
{
    const int32_t pos = parser->tok.pos;
    alm_ast *arg = NULL;
    const bool minus = alm_at_op(parser, ALM_OP_MINUS), plus = alm_at_op(parser, ALM_OP_PLUS);
    if (minus || plus || alm_at_op(parser, ALM_OP_TILDE)) {
        const char *text = minus ? "-" : plus ? "+" : "~";
        alm_parse_next(parser);
        if (!alm_starts_expr(parser))
            return too_few(parser, text, pos, 0, 1);
        ALM_TRY(alm_parse_expr_at(parser, ALM_PREC_SIGN, &arg));
        if (plus) {
            *out = arg;
            return ALM_OK;
        }
        return alm_parse_make(parser, ALM_AST_UNARY, pos, text, arg, NULL, out);
    }
    if (alm_at_kw(parser, ALM_KW_NOT)) {
        alm_parse_next(parser);
        if (!alm_starts_expr(parser))
            return too_few(parser, "not", pos, 0, 1);
        ALM_TRY(alm_parse_expr_at(parser, ALM_PREC_NOT, &arg));
        return alm_parse_make(parser, ALM_AST_UNARY, pos, "not", arg, NULL, out);
    }
    const struct op_row *row = parse_expr_row_of(parser->tok);
    if (row != NULL) {
        alm_parser ahead = *parser;
        alm_parse_next(&ahead);
        return too_few(parser, row->text, pos, alm_starts_expr(&ahead), 2);
    }
    return alm_parse_primary(parser, out);
}

alm_status alm_parse_expr_at(alm_parser *parser, uint32_t prec, alm_ast **out)
{
    alm_ast *left = NULL;
    ALM_TRY(alm_parse_enter(parser));
    ALM_TRY(parse_prefix(parser, &left));
    ALM_TRY(alm_parse_expr_rest(parser, left, prec, out));
    parser->nest--;
    return ALM_OK;
}

alm_status alm_parse_expr(alm_parser *parser, alm_ast **out)
{
    return alm_parse_expr_at(parser, ALM_PREC_OR, out);
}

alm_status alm_parse_exprs(alm_parser *parser, alm_ast ***out, uint32_t *n)
{
    uint32_t cap = 0;
    *n = 0;
    do {
        ALM_TRY(ALM_GROW(parser, out, *n, &cap));
        ALM_TRY(alm_parse_expr(parser, &(*out)[*n]));
        (*n)++;
    } while (alm_take_op(parser, ALM_OP_COMMA));
    return ALM_OK;
}
