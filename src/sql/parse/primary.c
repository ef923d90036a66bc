/*
 * primary.c - operands: literals, names, calls, CASE, CAST, arrays, sub-queries, and what is
 * written right behind an operand ([i], ::type, AT TIME ZONE, COLLATE).
 */
#include "sql/parse/parse.h"

/* ------------------------------------------------------------------ literals */

static alm_status primary_parse_param(alm_parser *parser, alm_ast *node)
{
    uint32_t number = 0;
    const alm_str text = node->raw;
    for (size_t i = 1; i < text.len && number <= 65535; i++)
        number = number * 10 + (uint32_t)(text.ptr[i] - '0');
    if (number == 0 || number > 65535)
        return alm_fail(parser->cx, ALM_E_PARAM, node->pos,
                        "parameter number must be 1..65535: %.*s", (int)ALM_MIN(text.len, 20),
                        text.ptr);
    node->number = number;
    parser->n_params = ALM_MAX(parser->n_params, number);
    return ALM_OK;
}

alm_status alm_parse_literal(alm_parser *parser, alm_ast **out)
{
    static const alm_str bools[] = {{"false", 5}, {"true", 4}};
    const alm_token token = parser->tok;
    alm_ast_kind kind = ALM_AST_NULL;
    *out = NULL;
    switch ((alm_tok_kind)token.kind) {
    case ALM_TOK_STRING:
        kind = ALM_AST_STRING;
        break;
    case ALM_TOK_NUMBER:
        kind = ALM_AST_NUMBER;
        break;
    case ALM_TOK_GEOHASH:
        kind = ALM_AST_GEOHASH;
        break;
    case ALM_TOK_PARAM:
        kind = ALM_AST_PARAM;
        break;
    case ALM_TOK_NAME:
        if (token.kw == ALM_KW_TRUE || token.kw == ALM_KW_FALSE)
            kind = ALM_AST_BOOL;
        else if (token.kw == ALM_KW_NAN && !alm_token_is_op(alm_parse_peek(parser), ALM_OP_DOT))
            kind = ALM_AST_NUMBER;
        else if (token.kw != ALM_KW_NULL)
            return ALM_OK;
        break;
    case ALM_TOK_END:
    case ALM_TOK_QUOTED:
    case ALM_TOK_VAR:
    case ALM_TOK_OP:
    case ALM_TOK_COMMENT:
    case ALM_TOK_BAD:
        return ALM_OK;
    }
    alm_ast *node = NULL;
    ALM_TRY(alm_parse_node(parser, kind, token.pos, &node));
    node->raw = node->text = alm_token_text(parser, token);
    node->end = token.end;
    if (kind == ALM_AST_STRING)
        ALM_TRY(alm_parse_unquote(parser, token, &node->text));
    else if (kind == ALM_AST_BOOL)
        node->text = bools[token.kw == ALM_KW_TRUE];
    else if (kind == ALM_AST_PARAM)
        ALM_TRY(primary_parse_param(parser, node));
    alm_parse_next(parser);
    *out = node;
    return ALM_OK;
}

/* ------------------------------------------------------------------ types */

/* Words that may follow the first word of a type name. */
static void take_type_words(alm_parser *parser, alm_str first)
{
    if (alm_str_ieq(first, ALM_STR("double"))) {
        (void)alm_take_word(parser, "precision");
    } else if (alm_str_ieq(first, ALM_STR("character")) || alm_str_ieq(first, ALM_STR("nchar")) ||
               alm_str_ieq(first, ALM_STR("char"))) {
        (void)alm_take_word(parser, "varying");
    } else if (alm_str_ieq(first, ALM_STR("national"))) {
        if (alm_take_word(parser, "character") || alm_take_word(parser, "char"))
            (void)alm_take_word(parser, "varying");
    } else if (alm_str_ieq(first, ALM_STR("timestamp")) || alm_str_ieq(first, ALM_STR("time"))) {
        const alm_token token = parser->tok;
        alm_parser ahead = *parser;
        alm_parse_next(&ahead);
        if ((alm_token_is_kw(token, ALM_KW_WITH) || alm_token_is_kw(token, ALM_KW_WITHOUT)) &&
            alm_take_kw(&ahead, ALM_KW_TIME) && alm_take_kw(&ahead, ALM_KW_ZONE))
            *parser = ahead;
    }
}

alm_status alm_parse_type(alm_parser *parser, alm_str *type, int32_t *pos)
{
    alm_parse_name name;
    *pos = parser->tok.pos;
    ALM_TRY(alm_parse_ident(parser, "type name", &name));
    if (alm_take_op(parser, ALM_OP_DOT)) /* pg_catalog.int4 */
        ALM_TRY(alm_parse_ident(parser, "type name", &name));
    else
        take_type_words(parser, name.text);
    const int32_t name_end = parser->prev.end;
    if (alm_take_op(parser, ALM_OP_LPAREN)) {
        while (!alm_at_op(parser, ALM_OP_RPAREN)) { /* numbers, 5c, commas */
            if (parser->tok.kind != ALM_TOK_NUMBER && parser->tok.kind != ALM_TOK_NAME &&
                !alm_at_op(parser, ALM_OP_COMMA) && !alm_at_op(parser, ALM_OP_MINUS))
                return alm_parse_fail(parser, parser->tok.pos, "')' expected");
            alm_parse_next(parser);
        }
        alm_parse_next(parser);
    }
    while (alm_at_op(parser, ALM_OP_LBRACKET) &&
           alm_token_is_op(alm_parse_peek(parser), ALM_OP_RBRACKET)) {
        alm_parse_next(parser);
        alm_parse_next(parser);
    }
    if (parser->prev.end > name_end && alm_str_ieq(name.text, ALM_STR("timestamp")))
        take_type_words(parser, name.text);
    *type = alm_parse_slice(parser, *pos, parser->prev.end);
    if (!name.quoted)
        return ALM_OK;
    /* "pg_catalog"."int4"[]: the name without quotes and schema, and what follows it */
    const alm_str rest = alm_parse_slice(parser, name_end, parser->prev.end);
    char *text = NULL;
    ALM_TRY(alm_arena_bytes(parser->cx, parser->cx->arena, name.text.len + rest.len + 1, &text));
    (void)memcpy(text, name.text.ptr, name.text.len);
    if (rest.len > 0)
        (void)memcpy(text + name.text.len, rest.ptr, rest.len);
    *type = (alm_str){text, name.text.len + rest.len};
    return ALM_OK;
}

/* Type names that may stand before a text literal: timestamp '2024-01-01'. */
static bool is_literal_type(alm_str word)
{
    static const char *const names[] = {
        "timestamp", "timestamp_ns", "date",    "uuid",    "ipv4", "geohash", "double",
        "float",     "int",          "long",    "short",   "byte", "char",    "string",
        "varchar",   "symbol",       "boolean", "long256", "text", "decimal"};
    for (size_t i = 0; i < ALM_COUNT(names); i++)
        if (alm_str_ieq(word, (alm_str){names[i], strlen(names[i])}))
            return true;
    return false;
}

/* Names of types that clients of PostgreSQL write before a text; the text is cast. */
static bool is_foreign_type(alm_str word)
{
    static const char *const names[] = {"int2",   "int4",     "int8",   "float4",      "float8",
                                        "bool",   "numeric",  "bigint", "timestamptz", "integer",
                                        "bpchar", "smallint", "real",   "regclass",    "regtype"};
    for (size_t i = 0; i < ALM_COUNT(names); i++)
        if (alm_str_ieq(word, alm_str_of(names[i])))
            return true;
    return false;
}

/* bool 't', double precision '1', pg_catalog.int8 '1': is the text a cast? */
static bool starts_cast(const alm_parser *parser)
{
    alm_parser ahead = *parser;
    const alm_str word = alm_token_text(parser, parser->tok);
    alm_parse_next(&ahead);
    if (ahead.tok.kind == ALM_TOK_STRING)
        return is_foreign_type(word);
    if (alm_take_op(&ahead, ALM_OP_DOT)) {
        const bool named = ahead.tok.kind == ALM_TOK_NAME;
        alm_parse_next(&ahead);
        return named && alm_str_ieq(word, ALM_STR("pg_catalog")) &&
               ahead.tok.kind == ALM_TOK_STRING;
    }
    take_type_words(&ahead, word);
    return ahead.tok.kind == ALM_TOK_STRING && ahead.prev.end > parser->tok.end;
}

static alm_status parse_typed_cast(alm_parser *parser, alm_ast **out)
{
    alm_ast *text = NULL;
    alm_str type = {0};
    const int32_t pos = parser->tok.pos;
    int32_t type_pos = 0;
    ALM_TRY(alm_parse_type(parser, &type, &type_pos));
    ALM_TRY(alm_parse_literal(parser, &text));
    ALM_ASSERT(text != NULL); /* starts_cast has seen it */
    ALM_TRY(alm_parse_make(parser, ALM_AST_CAST, pos, "cast", text, NULL, out));
    (*out)->type_name = type;
    (*out)->type_pos = type_pos;
    (*out)->double_colon = true;
    return ALM_OK;
}

static bool is_interval_unit(alm_str word)
{
    static const char *const names[] = {"year", "month", "week", "day", "hour", "minute", "second"};
    for (size_t i = 0; i < ALM_COUNT(names); i++)
        if (alm_str_ieq(word, alm_str_of(names[i])))
            return true;
    return false;
}

static alm_status parse_typed(alm_parser *parser, alm_ast **out)
{
    alm_ast *node = NULL;
    const alm_str type = alm_token_text(parser, parser->tok);
    const bool interval = alm_at_kw(parser, ALM_KW_INTERVAL);
    const int32_t type_pos = parser->tok.pos;
    alm_parse_next(parser);
    ALM_TRY(alm_parse_node(parser, interval ? ALM_AST_INTERVAL : ALM_AST_TYPED, parser->tok.pos,
                           &node));
    node->type_name = type;
    node->type_pos = type_pos;
    node->raw = alm_token_text(parser, parser->tok);
    ALM_TRY(alm_parse_unquote(parser, parser->tok, &node->text));
    alm_parse_next(parser);
    if (interval && parser->tok.kind == ALM_TOK_NAME &&
        is_interval_unit(alm_token_text(parser, parser->tok))) {
        const alm_str unit = alm_token_text(parser, parser->tok); /* INTERVAL '1' DAY */
        const char *text = NULL;
        ALM_TRY(alm_arena_printf(parser->cx, parser->cx->arena, &text, "%.*s %.*s",
                                 (int)node->text.len, node->text.ptr, (int)unit.len, unit.ptr));
        node->text = alm_str_of(text);
        alm_parse_next(parser);
    }
    node->end = parser->prev.end;
    *out = node;
    return ALM_OK;
}

/* ------------------------------------------------------------------ case, cast, extract */

/* Is there an END for this CASE, behind something that does not belong there? */
static bool ends_later(const alm_parser *parser)
{
    alm_parser ahead = *parser;
    for (uint32_t depth = 0; !alm_at_end(&ahead) && ahead.tok.kind != ALM_TOK_BAD;) {
        if (alm_at_kw(&ahead, ALM_KW_CASE))
            depth++;
        else if (alm_at_kw(&ahead, ALM_KW_END) && depth-- == 0)
            return true;
        alm_parse_next(&ahead);
    }
    return false;
}

static alm_status parse_case(alm_parser *parser, alm_ast **out)
{
    const int32_t pos = parser->tok.pos;
    alm_ast *node = NULL;
    uint32_t cap = 0;
    ALM_TRY(alm_parse_node(parser, ALM_AST_CASE, pos, &node));
    alm_parse_next(parser);
    parser->in_case++;
    ALM_TRY(ALM_GROW(parser, &node->arg, 0, &cap));
    if (!alm_at_kw(parser, ALM_KW_WHEN) && alm_starts_expr(parser))
        ALM_TRY(alm_parse_expr(parser, &node->arg[0]));
    node->n_args = 1;
    while (alm_take_kw(parser, ALM_KW_WHEN)) {
        for (int i = 0; i < 2; i++) {
            if (i == 1 && !alm_take_kw(parser, ALM_KW_THEN))
                return alm_parse_fail(parser, parser->tok.pos, "'then' expected");
            if (!alm_starts_expr(parser))
                return alm_parse_fail(parser, parser->tok.pos, "missing arguments");
            ALM_TRY(ALM_GROW(parser, &node->arg, node->n_args, &cap));
            ALM_TRY(alm_parse_expr(parser, &node->arg[node->n_args]));
            node->n_args++;
        }
    }
    if (node->n_args == 1)
        return alm_parse_fail(parser, parser->tok.pos, "'when' expected");
    if (alm_take_kw(parser, ALM_KW_ELSE)) {
        if (!alm_starts_expr(parser))
            return alm_parse_fail(parser, parser->tok.pos, "missing arguments");
        ALM_TRY(alm_parse_expr(parser, &node->else_arg));
    }
    if (!alm_take_kw(parser, ALM_KW_END))
        return ends_later(parser) ? alm_parse_unexpected(parser)
                                  : alm_parse_fail(parser, pos, "unbalanced 'case'");
    parser->in_case--;
    *out = node;
    return alm_parse_seal(parser, node);
}

static alm_status parse_cast(alm_parser *parser, alm_ast **out)
{
    const int32_t pos = parser->tok.pos;
    alm_ast *node = NULL, *arg = NULL;
    alm_parse_next(parser);
    ALM_TRY(alm_expect_op(parser, ALM_OP_LPAREN, "'(' expected"));
    if (!alm_starts_expr(parser))
        return alm_parse_fail(parser, pos, "too few arguments for 'cast' [found=0,expected=2]");
    ALM_TRY(alm_parse_expr(parser, &arg));
    if (alm_at_op(parser, ALM_OP_COMMA))
        return alm_parse_fail(parser, parser->tok.pos, "',' is not expected here");
    ALM_TRY(alm_expect_kw(parser, ALM_KW_AS, "'as' missing"));
    if (alm_at_op(parser, ALM_OP_RPAREN) || alm_at_end(parser))
        return alm_parse_fail(parser, pos, "too few arguments for 'cast' [found=1,expected=2]");
    ALM_TRY(alm_parse_make(parser, ALM_AST_CAST, pos, "cast", arg, NULL, &node));
    ALM_TRY(alm_parse_type(parser, &node->type_name, &node->type_pos));
    ALM_TRY(alm_expect_op(parser, ALM_OP_RPAREN, "')' expected"));
    node->end = parser->prev.end;
    *out = node;
    return ALM_OK;
}

static alm_status primary_parse_array(alm_parser *parser, alm_ast **out)
{
    alm_ast *node = NULL;
    uint32_t cap = 0;
    ALM_TRY(alm_parse_enter(parser));
    ALM_TRY(alm_parse_node(parser, ALM_AST_ARRAY, parser->tok.pos, &node));
    alm_parse_next(parser); /* [ */
    while (!alm_at_op(parser, ALM_OP_RBRACKET)) {
        if (node->n_args > 0)
            ALM_TRY(alm_expect_op(parser, ALM_OP_COMMA, "',' or ']' expected"));
        ALM_TRY(ALM_GROW(parser, &node->arg, node->n_args, &cap));
        if (alm_at_op(parser, ALM_OP_LBRACKET))
            ALM_TRY(primary_parse_array(parser, &node->arg[node->n_args]));
        else
            ALM_TRY(alm_parse_expr(parser, &node->arg[node->n_args]));
        node->n_args++;
    }
    alm_parse_next(parser);
    parser->nest--;
    *out = node;
    return alm_parse_seal(parser, node);
}

/* ------------------------------------------------------------------ brackets */

static alm_status subquery_node(alm_parser *parser, alm_ast_kind kind, int32_t pos, alm_select *sel,
                                alm_ast **out)
{
    alm_ast *node = NULL;
    ALM_TRY(alm_parse_node(parser, kind, sel->pos, &node));
    node->select = sel;
    node->raw = alm_parse_slice(parser, pos, parser->prev.end);
    node->parens = true;
    *out = node;
    return alm_parse_seal(parser, node);
}

static bool at_set_operator(const alm_parser *parser)
{
    return alm_at_kw(parser, ALM_KW_UNION) || alm_at_kw(parser, ALM_KW_EXCEPT) ||
           alm_at_kw(parser, ALM_KW_INTERSECT);
}

/* (a, b, ...): the first is read. */
static alm_status primary_parse_row(alm_parser *parser, int32_t pos, alm_ast **out)
{
    alm_ast *node = NULL;
    uint32_t cap = 0;
    ALM_TRY(alm_parse_node(parser, ALM_AST_ROW, pos, &node));
    ALM_TRY(ALM_GROW(parser, &node->arg, 0, &cap));
    node->arg[0] = *out;
    node->n_args = 1;
    while (alm_take_op(parser, ALM_OP_COMMA)) {
        ALM_TRY(ALM_GROW(parser, &node->arg, node->n_args, &cap));
        ALM_TRY(alm_parse_expr(parser, &node->arg[node->n_args]));
        node->n_args++;
    }
    ALM_TRY(alm_parse_close(parser, pos));
    *out = node;
    return alm_parse_seal(parser, node);
}

/* ROW(a, ...), behind the word */
static alm_status parse_row_call(alm_parser *parser, int32_t pos, alm_ast **out)
{
    alm_parse_next(parser);
    ALM_TRY(alm_parse_expr(parser, out));
    return primary_parse_row(parser, pos, out);
}

/* (row).field */
static alm_status parse_field(alm_parser *parser, alm_ast **out)
{
    alm_parse_name name;
    alm_ast *text = NULL;
    alm_parse_next(parser);
    ALM_TRY(alm_parse_ident(parser, "field name", &name));
    ALM_TRY(alm_parse_node(parser, ALM_AST_STRING, name.pos, &text));
    text->raw = text->text = name.text;
    ALM_TRY(alm_parse_seal(parser, text));
    return alm_parse_make(parser, ALM_AST_CALL, name.pos, "list_field", *out, text, out);
}

static alm_status primary_parse_brackets(alm_parser *parser, alm_ast **out)
{
    const int32_t pos = parser->tok.pos;
    const alm_token inner = alm_parse_peek(parser);
    if (alm_starts_query(inner)) {
        alm_select *sel = NULL;
        ALM_TRY(alm_parse_bracketed(parser, &sel));
        return subquery_node(parser, ALM_AST_SUBQUERY, pos, sel, out);
    }
    alm_parse_next(parser);
    ALM_TRY(alm_parse_expr(parser, out));
    if ((*out)->kind == ALM_AST_SUBQUERY && at_set_operator(parser)) { /* ((select) union ...) */
        alm_select *sel = NULL;
        ALM_TRY(alm_parse_query_rest(parser, (*out)->select, &sel));
        ALM_TRY(alm_parse_close(parser, pos));
        return subquery_node(parser, ALM_AST_SUBQUERY, pos, sel, out);
    }
    if (alm_at_op(parser, ALM_OP_COMMA))
        return primary_parse_row(parser, pos, out);
    ALM_TRY(alm_parse_close(parser, pos));
    (*out)->parens = true;
    return alm_at_op(parser, ALM_OP_DOT) ? parse_field(parser, out) : ALM_OK;
}

static alm_status parse_exists(alm_parser *parser, alm_ast **out)
{
    const int32_t pos = parser->tok.pos;
    alm_select *sel = NULL;
    alm_parse_next(parser);
    if (!alm_at_op(parser, ALM_OP_LPAREN))
        return alm_parse_fail(parser, parser->tok.pos, "'(' expected");
    ALM_TRY(alm_parse_bracketed(parser, &sel));
    ALM_TRY(subquery_node(parser, ALM_AST_EXISTS, pos, sel, out));
    (*out)->pos = pos;
    return ALM_OK;
}

/* ------------------------------------------------------------------ names */

/* a, t.a, t.*, schema.t.a, f(...), schema.f(...), each schema behind its database or not */
static alm_status primary_parse_name(alm_parser *parser, alm_ast **out)
{
    alm_parse_name name = {0}, table = {0}, schema = {0}, database = {0};
    const int32_t pos = parser->tok.pos;
    ALM_TRY(alm_parse_ident(parser, "column name", &name));
    for (int parts = 2; alm_take_op(parser, ALM_OP_DOT); parts++) {
        if (parts > 4)
            return alm_parse_fail(parser, parser->prev.pos, "too many dots");
        database = schema;
        schema = table;
        table = name;
        if (alm_at_op(parser, ALM_OP_STAR)) {
            if (parts > 2)
                ALM_TRY(alm_parse_schema(parser, database.text, schema.text, pos));
            alm_parse_next(parser);
            ALM_TRY(alm_parse_node(parser, ALM_AST_STAR, pos, out));
            (*out)->table = table.text;
            (*out)->table_quoted = table.quoted;
            (*out)->text = ALM_STR("*");
            return ALM_OK;
        }
        const bool word = parser->tok.kind == ALM_TOK_NAME;
        if (!word && parser->tok.kind != ALM_TOK_QUOTED && parser->tok.kind != ALM_TOK_STRING)
            return alm_parse_fail(parser, parser->prev.end, "'*' or column name expected");
        if (word && parser->tok.pos > parser->prev.end &&
            (alm_keyword_flags((alm_keyword)parser->tok.kw) & ALM_KW_RESERVED) != 0) /* a. FROM t */
            return alm_parse_fail(parser, parser->prev.end, "'*' or column name expected");
        if (word) { /* behind a dot no word is special */
            name = (alm_parse_name){alm_token_text(parser, parser->tok), parser->tok.pos, false};
            alm_parse_next(parser);
        } else {
            ALM_TRY(alm_parse_ident(parser, "column name", &name));
        }
    }
    if (alm_at_op(parser, ALM_OP_LPAREN)) {
        name.pos = pos;
        if (table.text.ptr == NULL && !name.quoted && alm_str_ieq(name.text, ALM_STR("row")))
            return parse_row_call(parser, pos, out);
        if (database.text.ptr != NULL)
            return alm_parse_fail(parser, pos, "too many dots");
        if (table.text.ptr != NULL)
            ALM_TRY(alm_parse_schema(parser, schema.text, table.text, pos));
        return alm_parse_call(parser, table.text, name, out);
    }
    if (schema.text.ptr != NULL) {
        /* @t := qdb.public.t names a table, not a column */
        const bool path = database.text.ptr == NULL && alm_is_database(schema.text);
        ALM_TRY(alm_parse_schema(parser, path ? schema.text : database.text,
                                 path ? table.text : schema.text, pos));
    }
    ALM_TRY(alm_parse_node(parser, ALM_AST_NAME, pos, out));
    (*out)->text = name.text;
    (*out)->quoted = name.quoted;
    (*out)->table = table.text;
    (*out)->table_quoted = table.quoted;
    return ALM_OK;
}

/* current_user and its like are calls without brackets. */
static alm_status parse_bare_call(alm_parser *parser, alm_ast **out)
{
    ALM_TRY(alm_parse_node(parser, ALM_AST_CALL, parser->tok.pos, out));
    (*out)->text = (*out)->raw = alm_token_text(parser, parser->tok);
    alm_parse_next(parser);
    (*out)->end = parser->prev.end;
    return ALM_OK;
}

static alm_status primary_parse_word(alm_parser *parser, alm_ast **out)
{
    const alm_token next = alm_parse_peek(parser);
    const bool call = alm_token_is_op(next, ALM_OP_LPAREN);
    switch ((int)parser->tok.kw) {
    case ALM_KW_CASE:
        return parse_case(parser, out);
    case ALM_KW_CAST:
        return parse_cast(parser, out);
    case ALM_KW_EXISTS:
        return parse_exists(parser, out);
    case ALM_KW_ARRAY:
        if (alm_token_is_op(next, ALM_OP_LBRACKET)) {
            const alm_str word = alm_token_text(parser, parser->tok);
            alm_parse_next(parser);
            ALM_TRY(primary_parse_array(parser, out));
            (*out)->raw = word;
            return ALM_OK;
        }
        break;
    case ALM_KW_CURRENT_USER:
    case ALM_KW_SESSION_USER:
    case ALM_KW_CURRENT_DATE:
    case ALM_KW_CURRENT_TIMESTAMP:
    case ALM_KW_CURRENT_CATALOG:
        if (!call && !alm_token_is_op(next, ALM_OP_DOT))
            return parse_bare_call(parser, out);
        break;
    case ALM_KW_INTERVAL:
        if (next.kind == ALM_TOK_STRING)
            return parse_typed(parser, out);
        break;
    default:
        if (next.kind == ALM_TOK_STRING && is_literal_type(alm_token_text(parser, parser->tok)))
            return parse_typed(parser, out);
        if ((next.kind == ALM_TOK_STRING || next.kind == ALM_TOK_NAME ||
             alm_token_is_op(next, ALM_OP_DOT)) &&
            starts_cast(parser))
            return parse_typed_cast(parser, out);
        break;
    }
    return primary_parse_name(parser, out);
}

alm_status alm_parse_primary(alm_parser *parser, alm_ast **out)
{
    ALM_TRY(alm_parse_literal(parser, out));
    if (*out != NULL)
        return ALM_OK;
    switch ((alm_tok_kind)parser->tok.kind) {
    case ALM_TOK_NAME:
        return primary_parse_word(parser, out);
    case ALM_TOK_QUOTED:
        return primary_parse_name(parser, out);
    case ALM_TOK_VAR:
        return alm_parse_var_use(parser, out);
    case ALM_TOK_OP:
        if (parser->tok.op == ALM_OP_LPAREN)
            return primary_parse_brackets(parser, out);
        if (parser->tok.op == ALM_OP_COMMA)
            return alm_parse_fail(parser, parser->tok.pos, "missing expression");
        if (parser->tok.op != ALM_OP_RPAREN && parser->tok.op != ALM_OP_SEMI)
            return alm_parse_unexpected(parser);
        break;
    case ALM_TOK_END:
    case ALM_TOK_STRING:
    case ALM_TOK_NUMBER:
    case ALM_TOK_GEOHASH:
    case ALM_TOK_PARAM:
    case ALM_TOK_COMMENT:
    case ALM_TOK_BAD:
        break;
    }
    return alm_parse_fail(parser, parser->tok.pos, "Expression expected");
}

/* ------------------------------------------------------------------ behind an operand */

/* One part of [..]: i, lo:hi, lo:, :hi. */
static alm_status parse_subscript(alm_parser *parser, alm_ast **out)
{
    alm_ast *lo = NULL, *hi = NULL;
    const int32_t pos = parser->tok.pos;
    if (alm_at_op(parser, ALM_OP_RBRACKET) || alm_at_op(parser, ALM_OP_COMMA))
        return alm_parse_fail(parser, pos, "missing array index");
    if (!alm_at_op(parser, ALM_OP_COLON))
        ALM_TRY(alm_parse_expr(parser, &lo));
    if (!alm_at_op(parser, ALM_OP_COLON)) {
        *out = lo;
        return ALM_OK;
    }
    const int32_t colon = parser->tok.pos;
    alm_parse_next(parser);
    if (!alm_at_op(parser, ALM_OP_RBRACKET) && !alm_at_op(parser, ALM_OP_COMMA))
        ALM_TRY(alm_parse_expr(parser, &hi));
    ALM_TRY(alm_parse_make(parser, ALM_AST_SLICE, lo != NULL ? pos : colon, ":", lo, hi, out));
    (*out)->n_args = 2;
    return ALM_OK;
}

static alm_status primary_parse_index(alm_parser *parser, alm_ast *left, alm_ast **out)
{
    alm_ast *node = NULL;
    uint32_t cap = 0;
    ALM_TRY(alm_parse_node(parser, ALM_AST_INDEX, parser->tok.pos, &node));
    ALM_TRY(ALM_GROW(parser, &node->arg, 0, &cap));
    node->arg[node->n_args++] = left;
    do {
        alm_parse_next(parser); /* [ or , */
        ALM_TRY(ALM_GROW(parser, &node->arg, node->n_args, &cap));
        ALM_TRY(parse_subscript(parser, &node->arg[node->n_args]));
        node->n_args++;
    } while (alm_at_op(parser, ALM_OP_COMMA));
    ALM_TRY(alm_expect_op(parser, ALM_OP_RBRACKET, "']' expected"));
    *out = node;
    return alm_parse_seal(parser, node);
}

static alm_status parse_double_colon(alm_parser *parser, alm_ast *left, alm_ast **out)
{
    alm_ast *node = NULL;
    const int32_t pos = parser->tok.pos;
    alm_parse_next(parser);
    if (parser->tok.kind != ALM_TOK_NAME && parser->tok.kind != ALM_TOK_QUOTED)
        return alm_parse_fail(parser, pos, "too few arguments for '::' [found=1,expected=2]");
    ALM_TRY(alm_parse_make(parser, ALM_AST_CAST, pos, "cast", left, NULL, &node));
    node->double_colon = true;
    ALM_TRY(alm_parse_type(parser, &node->type_name, &node->type_pos));
    node->end = parser->prev.end;
    *out = node;
    return ALM_OK;
}

/* left AT TIME ZONE zone, AT in hand */
static alm_status parse_at_zone(alm_parser *parser, alm_ast *left, alm_ast **out)
{
    alm_ast *zone = NULL;
    const int32_t pos = parser->tok.pos;
    alm_parse_next(parser);
    alm_parse_next(parser);
    ALM_TRY(alm_expect_kw(parser, ALM_KW_ZONE, "'zone' expected"));
    ALM_TRY(alm_parse_expr_at(parser, ALM_PREC_CAST, &zone));
    return alm_parse_make(parser, ALM_AST_CALL, pos, "to_timezone", left, zone, out);
}

/* COLLATE and a name; else the word is one itself: SELECT v collate FROM t. */
static bool at_collation(const alm_parser *parser)
{
    alm_parser ahead = *parser;
    if (!alm_take_kw(&ahead, ALM_KW_COLLATE))
        return false;
    return ahead.tok.kind == ALM_TOK_QUOTED || ahead.tok.kind == ALM_TOK_STRING ||
           (ahead.tok.kind == ALM_TOK_NAME && !alm_at_reserved(&ahead));
}

alm_status alm_parse_postfix(alm_parser *parser, alm_ast *left, alm_ast **out)
{
    for (;;) {
        if (alm_at_op(parser, ALM_OP_LBRACKET)) {
            ALM_TRY(primary_parse_index(parser, left, &left));
        } else if (alm_at_op(parser, ALM_OP_CAST)) {
            ALM_TRY(parse_double_colon(parser, left, &left));
        } else if (alm_at_kw(parser, ALM_KW_AT) &&
                   alm_token_is_kw(alm_parse_peek(parser), ALM_KW_TIME)) {
            ALM_TRY(parse_at_zone(parser, left, &left));
        } else if (at_collation(parser)) { /* texts compare by bytes: nothing to do */
            alm_str schema;
            alm_parse_name name;
            alm_parse_next(parser);
            if (alm_at_kw(parser, ALM_KW_DEFAULT))
                alm_parse_next(parser);
            else
                ALM_TRY(alm_parse_qualified(parser, "collation", &schema, &name));
        } else {
            break;
        }
    }
    *out = left;
    return ALM_OK;
}
