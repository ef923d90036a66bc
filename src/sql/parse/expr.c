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

static const struct op_row *row_of(alm_token t)
{
    if (t.kind != ALM_TOK_OP && (t.kind != ALM_TOK_NAME || t.kw == ALM_KW_PLAIN))
        return NULL;
    for (size_t i = 0; i < ALM_COUNT(op_rows); i++)
        if (t.kind == ALM_TOK_OP ? t.op == op_rows[i].op && op_rows[i].op != 0
                                 : t.kw == op_rows[i].kw)
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

bool alm_starts_expr(const alm_parser *p)
{
    const alm_token t = p->tok;
    switch ((alm_tok_kind)t.kind) {
    case ALM_TOK_END:
        return false;
    case ALM_TOK_OP:
        return t.op == ALM_OP_LPAREN || t.op == ALM_OP_MINUS || t.op == ALM_OP_PLUS ||
               t.op == ALM_OP_TILDE;
    case ALM_TOK_NAME:
        switch ((int)t.kw) {
        case ALM_KW_CASE:
        case ALM_KW_CAST:
        case ALM_KW_NOT:
        case ALM_KW_NULL:
        case ALM_KW_TRUE:
        case ALM_KW_FALSE:
        case ALM_KW_EXISTS:
            return true;
        default:
            return !alm_at_reserved(p);
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
static bool at_keyword_as_name(alm_parser *p)
{
    const alm_token next = alm_lex(p->text, p->tok.end, false);
    return p->tok.kind == ALM_TOK_NAME && alm_at_reserved(p) && next.kind == ALM_TOK_OP &&
           row_of(next) != NULL && next.op != ALM_OP_STAR && next.op != ALM_OP_MINUS;
}

static alm_status too_few(alm_parser *p, const char *op, int32_t pos, int found, int expected)
{
    if (at_keyword_as_name(p))
        return alm_parse_keyword_name(p);
    return alm_parse_fail(p, pos, "too few arguments for '%s' [found=%d,expected=%d]", op, found,
                          expected);
}

/* ------------------------------------------------------------------ in, between, is, any */

static alm_status parse_in_list(alm_parser *p, alm_ast *node, uint32_t *cap, int32_t pos)
{
    const int32_t open = p->tok.pos;
    alm_parse_next(p);
    node->parens = true;
    if (alm_at_op(p, ALM_OP_RPAREN))
        return alm_parse_fail(p, pos, "too few arguments for 'in'");
    if (alm_starts_query(p->tok)) {
        ALM_TRY(alm_parse_query(p, &node->select));
    } else {
        do {
            if (alm_at_op(p, ALM_OP_RPAREN))
                return alm_parse_fail(p, p->tok.pos, "missing arguments");
            if (p->tok.kind == ALM_TOK_END)
                break;
            ALM_TRY(ALM_GROW(p, &node->arg, node->n_args, cap));
            alm_ast **arg = &node->arg[node->n_args];
            ALM_TRY(alm_parse_literal(p, arg));
            if (*arg == NULL)
                ALM_TRY(alm_parse_expr(p, arg));
            else if (!alm_at_op(p, ALM_OP_COMMA) && !alm_at_op(p, ALM_OP_RPAREN))
                ALM_TRY(alm_parse_expr_rest(p, *arg, ALM_PREC_OR, arg));
            node->n_args++;
        } while (alm_take_op(p, ALM_OP_COMMA));
    }
    return alm_parse_close(p, open);
}

static alm_status parse_in(alm_parser *p, alm_ast *left, bool negated, alm_ast **out)
{
    const int32_t pos = p->tok.pos;
    alm_ast *node = NULL;
    uint32_t cap = 0;
    alm_parse_next(p);
    ALM_TRY(alm_parse_node(p, ALM_AST_IN, pos, &node));
    ALM_TRY(ALM_GROW(p, &node->arg, 0, &cap));
    node->arg[node->n_args++] = left;
    node->negated = negated;
    if (alm_at_op(p, ALM_OP_LPAREN)) {
        ALM_TRY(parse_in_list(p, node, &cap, pos));
    } else {
        if (!alm_starts_expr(p))
            return too_few(p, "in", pos, 1, 2);
        ALM_TRY(alm_parse_expr_at(p, ALM_PREC_BIT_OR, &node->arg[1]));
        node->n_args = 2;
    }
    ALM_TRY(alm_parse_seal(p, node));
    *out = node;
    return ALM_OK;
}

static alm_status parse_between(alm_parser *p, alm_ast *left, bool negated, alm_ast **out)
{
    const int32_t pos = p->tok.pos;
    alm_ast *node = NULL;
    alm_parse_next(p);
    ALM_TRY(alm_parse_node(p, ALM_AST_BETWEEN, pos, &node));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 3, &node->arg));
    node->n_args = 3;
    node->negated = negated;
    node->symmetric = alm_take_kw(p, ALM_KW_SYMMETRIC);
    node->arg[0] = left;
    if (!alm_starts_expr(p))
        return too_few(p, "between", pos, 1, 3);
    ALM_TRY(alm_parse_expr_at(p, ALM_PREC_BIT_OR, &node->arg[1]));
    if (!alm_take_kw(p, ALM_KW_AND) || !alm_starts_expr(p))
        return too_few(p, "between", pos, 2, 3);
    ALM_TRY(alm_parse_expr_at(p, ALM_PREC_BIT_OR, &node->arg[2]));
    ALM_TRY(alm_parse_seal(p, node));
    *out = node;
    return ALM_OK;
}

/* is [not] null | true | false | distinct from x */
static alm_status parse_is(alm_parser *p, alm_ast *left, alm_ast **out)
{
    const int32_t pos = p->tok.pos;
    alm_parse_next(p);
    const bool negated = alm_take_kw(p, ALM_KW_NOT);
    alm_ast *right = NULL;
    if (alm_at_kw(p, ALM_KW_NULL)) {
        alm_ast *node = NULL;
        ALM_TRY(alm_parse_node(p, ALM_AST_IS_NULL, pos, &node));
        node->raw = alm_token_text(p, p->tok);
        alm_parse_next(p);
        ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 1, &node->arg));
        node->arg[0] = left;
        node->n_args = 1;
        node->negated = negated;
        *out = node;
        return alm_parse_seal(p, node);
    }
    if (alm_at_kw(p, ALM_KW_TRUE) || alm_at_kw(p, ALM_KW_FALSE)) {
        ALM_TRY(alm_parse_literal(p, &right));
        return alm_parse_make(p, ALM_AST_BINARY, pos, negated ? "!=" : "=", left, right, out);
    }
    if (alm_take_kw(p, ALM_KW_DISTINCT)) {
        ALM_TRY(alm_expect_kw(p, ALM_KW_FROM, "'from' expected"));
        ALM_TRY(alm_parse_expr_at(p, ALM_PREC_ORDER, &right));
        return alm_parse_make(p, ALM_AST_BINARY, pos, negated ? "=" : "!=", left, right, out);
    }
    return alm_parse_fail(p, pos,
                          negated ? "IS NOT must be followed by NULL, TRUE or FALSE"
                                  : "IS must be followed by [NOT] NULL, TRUE or FALSE");
}

/* left within (a, b) is the call within(left, a, b). */
static alm_status parse_within(alm_parser *p, alm_ast *left, alm_ast **out)
{
    alm_ast *node = NULL;
    uint32_t cap = 0;
    ALM_TRY(alm_parse_node(p, ALM_AST_CALL, p->tok.pos, &node));
    node->text = ALM_STR("within");
    alm_parse_next(p);
    ALM_TRY(alm_expect_op(p, ALM_OP_LPAREN, "'(' expected"));
    ALM_TRY(ALM_GROW(p, &node->arg, 0, &cap));
    node->arg[node->n_args++] = left;
    do {
        ALM_TRY(ALM_GROW(p, &node->arg, node->n_args, &cap));
        ALM_TRY(alm_parse_expr(p, &node->arg[node->n_args]));
        node->n_args++;
    } while (alm_take_op(p, ALM_OP_COMMA));
    ALM_TRY(alm_expect_op(p, ALM_OP_RPAREN, "')' expected"));
    ALM_TRY(alm_parse_seal(p, node));
    *out = node;
    return ALM_OK;
}

/* left op ANY (...) */
static alm_status parse_quantified(alm_parser *p, const struct op_row *row, int32_t pos,
                                   alm_ast *left, alm_ast **out)
{
    alm_ast *node = NULL, *right = NULL;
    const bool all = alm_at_kw(p, ALM_KW_ALL);
    alm_parse_next(p);
    alm_parse_next(p); /* the bracket, seen already */
    alm_select *select = NULL;
    if (alm_starts_query(p->tok))
        ALM_TRY(alm_parse_query(p, &select));
    else
        ALM_TRY(alm_parse_expr(p, &right));
    ALM_TRY(alm_expect_op(p, ALM_OP_RPAREN, "')' expected"));
    ALM_TRY(alm_parse_make(p, ALM_AST_QUANTIFIED, pos, row->text, left, right, &node));
    node->number = all ? 2 : 1;
    node->select = select;
    *out = node;
    return alm_parse_seal(p, node);
}

static bool at_quantifier(const alm_parser *p)
{
    if (!alm_at_kw(p, ALM_KW_ANY) && !alm_at_kw(p, ALM_KW_ALL) && !alm_at_kw(p, ALM_KW_SOME))
        return false;
    return alm_token_is_op(alm_parse_peek(p), ALM_OP_LPAREN);
}

/* ------------------------------------------------------------------ and, or */

/* A tree over n operands whose depth is log n. */
static alm_status balance(alm_parser *p, const struct op_row *row, alm_ast **operand,
                          const int32_t *pos, uint32_t n, alm_ast **out)
{
    if (n == 1) {
        *out = operand[0];
        return ALM_OK;
    }
    alm_ast *a = NULL, *b = NULL;
    const uint32_t half = n / 2;
    ALM_TRY(balance(p, row, operand, pos, half, &a));
    ALM_TRY(balance(p, row, operand + half, pos + half, n - half, &b));
    ALM_TRY(alm_parse_make(p, ALM_AST_BINARY, pos[half], row->text, a, b, out));
    (*out)->balanced = true;
    return ALM_OK;
}

static alm_status parse_chain(alm_parser *p, const struct op_row *row, alm_ast *left, alm_ast **out)
{
    enum { PLAIN_MAX = 32 }; /* chains up to this long keep their left-deep shape */
    alm_ast **operand = NULL;
    int32_t *pos = NULL; /* of the operator in front of the operand */
    uint32_t n = 0, cap = 0, cap_pos = 0;
    const alm_token first = p->tok;
    ALM_TRY(ALM_GROW(p, &operand, n, &cap));
    ALM_TRY(ALM_GROW(p, &pos, n, &cap_pos));
    operand[n++] = left;
    while (p->tok.kind == first.kind && p->tok.kw == first.kw) {
        ALM_TRY(ALM_GROW(p, &operand, n, &cap));
        ALM_TRY(ALM_GROW(p, &pos, n, &cap_pos));
        pos[n] = p->tok.pos;
        alm_parse_next(p);
        if (!alm_starts_expr(p))
            return too_few(p, row->text, pos[n], 1, 2);
        ALM_TRY(alm_parse_expr_at(p, row->prec - 1u, &operand[n]));
        n++;
    }
    if (n > PLAIN_MAX)
        return balance(p, row, operand, pos, n, out);
    *out = left;
    for (uint32_t i = 1; i < n; i++)
        ALM_TRY(alm_parse_make(p, ALM_AST_BINARY, pos[i], row->text, *out, operand[i], out));
    return ALM_OK;
}

/* ------------------------------------------------------------------ climbing */

/* x like 'p' escape 'c': the sign c before another takes it as it is, which \ does in patterns. */
static alm_status parse_escape(alm_parser *p, alm_ast **like)
{
    alm_ast *sign = NULL, *pattern = *like;
    alm_parse_next(p);
    if (p->tok.kind != ALM_TOK_STRING)
        return alm_parse_fail(p, p->tok.pos, "ESCAPE takes one character in quotes");
    ALM_TRY(alm_parse_literal(p, &sign));
    if (sign->text.len > 1)
        return alm_parse_fail(p, sign->pos, "ESCAPE takes one character in quotes");
    if (pattern->kind != ALM_AST_STRING)
        return alm_parse_make(p, ALM_AST_CALL, pattern->pos, "like_escape", pattern, sign, like);
    char *text = NULL;
    const alm_str from = pattern->text;
    size_t n = 0;
    ALM_TRY(alm_arena_bytes(p->cx, p->cx->arena, 2 * from.len + 1, &text));
    for (size_t i = 0; i < from.len; i++) {
        const bool escaped = sign->text.len == 1 && from.ptr[i] == sign->text.ptr[0];
        if (escaped && ++i == from.len)
            return alm_parse_fail(p, pattern->pos, "the pattern ends with its ESCAPE character");
        if (escaped || from.ptr[i] == '\\')
            text[n++] = '\\';
        text[n++] = from.ptr[i];
    }
    pattern->text = (alm_str){text, n};
    return ALM_OK;
}

static alm_status parse_binary(alm_parser *p, const struct op_row *row, alm_ast *left,
                               alm_ast **out)
{
    const int32_t pos = p->tok.pos;
    alm_ast *right = NULL;
    alm_parse_next(p);
    if ((row->prec == ALM_PREC_EQUAL || row->prec == ALM_PREC_ORDER) && at_quantifier(p))
        return parse_quantified(p, row, pos, left, out);
    if (!alm_starts_expr(p))
        return too_few(p, row->text, pos, 1, 2);
    ALM_TRY(alm_parse_expr_at(p, row->prec - 1u, &right));
    const bool like = row->kw == ALM_KW_LIKE || row->kw == ALM_KW_ILIKE;
    if (like && p->tok.kind == ALM_TOK_NAME &&
        alm_str_ieq(alm_token_text(p, p->tok), ALM_STR("escape")))
        ALM_TRY(parse_escape(p, &right));
    return alm_parse_make(p, ALM_AST_BINARY, pos, row->text, left, right, out);
}

/* a operator(pg_catalog.~) b, as psql writes it. */
static alm_status parse_operator(alm_parser *p, alm_ast *left, alm_ast **out)
{
    alm_parse_next(p);
    ALM_TRY(alm_expect_op(p, ALM_OP_LPAREN, "'(' expected"));
    while (p->tok.kind == ALM_TOK_NAME || alm_at_op(p, ALM_OP_DOT))
        alm_parse_next(p);
    const struct op_row *row = row_of(p->tok);
    if (row == NULL)
        return alm_parse_unexpected(p);
    const int32_t pos = p->tok.pos;
    alm_ast *right = NULL;
    alm_parse_next(p);
    ALM_TRY(alm_expect_op(p, ALM_OP_RPAREN, "')' expected"));
    ALM_TRY(alm_parse_expr_at(p, ALM_PREC_ORDER, &right));
    return alm_parse_make(p, ALM_AST_BINARY, pos, row->text, left, right, out);
}

/* `not` behind an operand: not in, not between, not like, not ilike, not within. */
static alm_status parse_negated(alm_parser *p, alm_ast *left, uint32_t prec, bool *done,
                                alm_ast **out)
{
    const alm_token word = alm_parse_peek(p);
    const bool set = alm_token_is_kw(word, ALM_KW_IN) || alm_token_is_kw(word, ALM_KW_BETWEEN) ||
                     alm_token_is_kw(word, ALM_KW_WITHIN);
    const bool like = alm_token_is_kw(word, ALM_KW_LIKE) || alm_token_is_kw(word, ALM_KW_ILIKE);
    const int32_t pos = p->tok.pos;
    *done = true;
    if (!set && !like)
        return alm_parse_fail(p, word.pos, "'in', 'between', 'like' or 'ilike' expected");
    if ((set && prec < ALM_PREC_SET) || (like && prec < ALM_PREC_EQUAL))
        return ALM_OK;
    *done = false;
    alm_parse_next(p);
    if (alm_at_kw(p, ALM_KW_IN))
        return parse_in(p, left, true, out);
    if (alm_at_kw(p, ALM_KW_BETWEEN))
        return parse_between(p, left, true, out);
    alm_ast *positive = NULL;
    ALM_TRY(like ? parse_binary(p, row_of(p->tok), left, &positive)
                 : parse_within(p, left, &positive));
    return alm_parse_make(p, ALM_AST_UNARY, pos, "not", positive, NULL, out);
}

/* ILIKE and IS with nothing behind them to compare with: SELECT v ilike FROM t. */
static bool at_alias_operator(const alm_parser *p)
{
    if (!alm_at_kw(p, ALM_KW_ILIKE) && !alm_at_kw(p, ALM_KW_IS))
        return false;
    const alm_token next = alm_parse_peek(p);
    return alm_token_is_kw(next, ALM_KW_FROM) || alm_token_is_op(next, ALM_OP_COMMA);
}

alm_status alm_parse_expr_rest(alm_parser *p, alm_ast *left, uint32_t prec, alm_ast **out)
{
    ALM_TRY(alm_parse_postfix(p, left, &left));
    while (!at_alias_operator(p)) {
        const struct op_row *row = row_of(p->tok);
        bool done = false;
        if (row != NULL && row->prec <= prec) {
            if (row->prec >= ALM_PREC_AND)
                ALM_TRY(parse_chain(p, row, left, &left));
            else
                ALM_TRY(parse_binary(p, row, left, &left));
        } else if (row != NULL || p->tok.kind != ALM_TOK_NAME || prec < ALM_PREC_SET) {
            break;
        } else if (alm_at_kw(p, ALM_KW_IN)) {
            ALM_TRY(parse_in(p, left, false, &left));
        } else if (alm_at_kw(p, ALM_KW_BETWEEN)) {
            ALM_TRY(parse_between(p, left, false, &left));
        } else if (alm_at_kw(p, ALM_KW_WITHIN) &&
                   alm_token_is_op(alm_parse_peek(p), ALM_OP_LPAREN)) {
            ALM_TRY(parse_within(p, left, &left));
        } else if (alm_at_kw(p, ALM_KW_NOT)) {
            ALM_TRY(parse_negated(p, left, prec, &done, &left));
        } else if (alm_at_kw(p, ALM_KW_IS) && prec >= ALM_PREC_EQUAL) {
            ALM_TRY(parse_is(p, left, &left));
        } else if (alm_at_kw(p, ALM_KW_OPERATOR) && prec >= ALM_PREC_EQUAL &&
                   alm_token_is_op(alm_parse_peek(p), ALM_OP_LPAREN)) {
            ALM_TRY(parse_operator(p, left, &left));
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
static alm_status parse_prefix(alm_parser *p, alm_ast **out)
{
    const int32_t pos = p->tok.pos;
    alm_ast *arg = NULL;
    const bool minus = alm_at_op(p, ALM_OP_MINUS), plus = alm_at_op(p, ALM_OP_PLUS);
    if (minus || plus || alm_at_op(p, ALM_OP_TILDE)) {
        const char *text = minus ? "-" : plus ? "+" : "~";
        alm_parse_next(p);
        if (!alm_starts_expr(p))
            return too_few(p, text, pos, 0, 1);
        ALM_TRY(alm_parse_expr_at(p, ALM_PREC_SIGN, &arg));
        if (plus) {
            *out = arg;
            return ALM_OK;
        }
        return alm_parse_make(p, ALM_AST_UNARY, pos, text, arg, NULL, out);
    }
    if (alm_at_kw(p, ALM_KW_NOT)) {
        alm_parse_next(p);
        if (!alm_starts_expr(p))
            return too_few(p, "not", pos, 0, 1);
        ALM_TRY(alm_parse_expr_at(p, ALM_PREC_NOT, &arg));
        return alm_parse_make(p, ALM_AST_UNARY, pos, "not", arg, NULL, out);
    }
    const struct op_row *row = row_of(p->tok);
    if (row != NULL) {
        alm_parser ahead = *p;
        alm_parse_next(&ahead);
        return too_few(p, row->text, pos, alm_starts_expr(&ahead), 2);
    }
    return alm_parse_primary(p, out);
}

alm_status alm_parse_expr_at(alm_parser *p, uint32_t prec, alm_ast **out)
{
    alm_ast *left = NULL;
    ALM_TRY(alm_parse_enter(p));
    ALM_TRY(parse_prefix(p, &left));
    ALM_TRY(alm_parse_expr_rest(p, left, prec, out));
    p->nest--;
    return ALM_OK;
}

alm_status alm_parse_expr(alm_parser *p, alm_ast **out)
{
    return alm_parse_expr_at(p, ALM_PREC_OR, out);
}

alm_status alm_parse_exprs(alm_parser *p, alm_ast ***out, uint32_t *n)
{
    uint32_t cap = 0;
    *n = 0;
    do {
        ALM_TRY(ALM_GROW(p, out, *n, &cap));
        ALM_TRY(alm_parse_expr(p, &(*out)[*n]));
        (*n)++;
    } while (alm_take_op(p, ALM_OP_COMMA));
    return ALM_OK;
}
