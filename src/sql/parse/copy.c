/*
 * copy.c - COPY: PostgreSQL's, with options in brackets or as words, and the one of files with
 * the words HEADER, TIMESTAMP, PARTITION BY, ON ERROR. What options mean is told later: here they are
 * names with values.
 */
#include "sql/parse/parse.h"

static alm_status add_option(alm_parser *parser, alm_copy *copy, uint32_t *cap, const char *name,
                             alm_copy_option **out)
{
    ALM_TRY(ALM_GROW(parser, &copy->options, copy->n_options, cap));
    *out = &copy->options[copy->n_options++];
    (*out)->name = alm_str_of(name);
    (*out)->pos = (*out)->value_pos = parser->tok.pos;
    return ALM_OK;
}

/* ------------------------------------------------------------------ values */

static alm_status copy_parse_columns(alm_parser *parser, alm_copy_option *option, bool brackets)
{
    uint32_t cap = 0;
    if (alm_take_op(parser, ALM_OP_STAR)) {
        option->all = true;
        return ALM_OK;
    }
    if (brackets)
        alm_parse_next(parser);
    do {
        alm_parse_name name;
        ALM_TRY(ALM_GROW(parser, &option->list, option->n_list, &cap));
        ALM_TRY(alm_parse_ident(parser, "column name", &name));
        option->list[option->n_list++] = name.text;
    } while (alm_take_op(parser, ALM_OP_COMMA));
    return brackets ? alm_expect_op(parser, ALM_OP_RPAREN, "')' expected") : ALM_OK;
}

static alm_status copy_parse_value(alm_parser *parser, alm_copy_option *option)
{
    option->value_pos = parser->tok.pos;
    option->quoted = parser->tok.kind == ALM_TOK_STRING;
    if (option->quoted || parser->tok.kind == ALM_TOK_QUOTED) {
        ALM_TRY(alm_parse_unquote(parser, parser->tok, &option->value));
        if (option->value.ptr == NULL)
            option->value.ptr = "";
    } else if (parser->tok.kind == ALM_TOK_NAME || parser->tok.kind == ALM_TOK_NUMBER) {
        option->value = alm_token_text(parser, parser->tok);
    } else {
        return alm_parse_fail(parser, parser->tok.pos, "value expected");
    }
    alm_parse_next(parser);
    return ALM_OK;
}

/* ------------------------------------------------------------------ options in brackets */

static alm_status lower_name(alm_parser *parser, const char **out)
{
    alm_parse_name name;
    if (alm_at_kw(parser, ALM_KW_NULL)) { /* reserved elsewhere */
        alm_parse_next(parser);
        *out = "null";
        return ALM_OK;
    }
    ALM_TRY(alm_parse_ident(parser, "option", &name));
    char *copy = NULL;
    ALM_TRY(alm_arena_bytes(parser->cx, parser->cx->arena, name.text.len + 1, &copy));
    for (size_t i = 0; i < name.text.len; i++) {
        const char byte = name.text.ptr[i];
        copy[i] = (char)(byte >= 'A' && byte <= 'Z' ? byte + 32 : byte);
    }
    copy[name.text.len] = 0;
    *out = copy;
    return ALM_OK;
}

static alm_status parse_bracketed(alm_parser *parser, alm_copy *copy, uint32_t *cap)
{
    do {
        alm_parse_next(parser); /* ( or , */
        alm_copy_option *option = NULL;
        const char *name = NULL;
        const int32_t pos = parser->tok.pos;
        ALM_TRY(lower_name(parser, &name));
        ALM_TRY(add_option(parser, copy, cap, name, &option));
        option->pos = pos;
        if (alm_at_op(parser, ALM_OP_COMMA) || alm_at_op(parser, ALM_OP_RPAREN))
            continue;
        if (alm_at_op(parser, ALM_OP_LPAREN) || alm_at_op(parser, ALM_OP_STAR))
            ALM_TRY(copy_parse_columns(parser, option, alm_at_op(parser, ALM_OP_LPAREN)));
        else
            ALM_TRY(copy_parse_value(parser, option));
    } while (alm_at_op(parser, ALM_OP_COMMA));
    return alm_expect_op(parser, ALM_OP_RPAREN, "')' expected");
}

/* ------------------------------------------------------------------ options as words */

static bool at_header_value(const alm_parser *parser)
{
    return alm_at_kw(parser, ALM_KW_TRUE) || alm_at_kw(parser, ALM_KW_FALSE) ||
           alm_at_kw(parser, ALM_KW_ON) || alm_at_word(parser, "off") ||
           alm_at_word(parser, "match");
}

/* ON ERROR x; HEADER [ON] may stand before it. */
static bool at_on_error(const alm_parser *parser)
{
    alm_parser ahead = *parser;
    return alm_take_kw(&ahead, ALM_KW_ON) && alm_at_word(&ahead, "error");
}

static alm_status parse_force(alm_parser *parser, alm_copy *copy, uint32_t *cap)
{
    alm_copy_option *option = NULL;
    ALM_TRY(add_option(parser, copy, cap, "force_quote", &option));
    alm_parse_next(parser);
    if (alm_take_kw(parser, ALM_KW_NOT)) {
        ALM_TRY(alm_expect_kw(parser, ALM_KW_NULL, "'null' expected"));
        option->name = ALM_STR("force_not_null");
    } else if (alm_take_kw(parser, ALM_KW_NULL)) {
        option->name = ALM_STR("force_null");
    } else if (!alm_take_word(parser, "quote")) {
        return alm_parse_fail(parser, parser->tok.pos, "'quote' or 'not null' expected");
    }
    return copy_parse_columns(parser, option, false);
}

/* Words with a value, AS before it or not. */
static const char *const valued_words[] = {"delimiter",
                                           "delimiters",
                                           "quote",
                                           "escape",
                                           "encoding",
                                           "format",
                                           "timestamp",
                                           "partition_by",
                                           "compression_codec",
                                           "compression_level",
                                           "compression",
                                           "row_group_size",
                                           "data_page_size",
                                           "statistics_enabled",
                                           "parquet_version",
                                           "raw_array_encoding",
                                           "bloom_filter_columns"};

static alm_status copy_parse_word(alm_parser *parser, alm_copy *copy, uint32_t *cap)
{
    alm_copy_option *option = NULL;
    if (alm_at_word(parser, "force"))
        return parse_force(parser, copy, cap);
    if (alm_at_word(parser, "binary") || alm_at_word(parser, "csv")) {
        ALM_TRY(add_option(parser, copy, cap, "format", &option));
        return copy_parse_value(parser, option);
    }
    if (alm_at_word(parser, "header") || alm_at_word(parser, "freeze")) {
        ALM_TRY(add_option(parser, copy, cap, alm_at_word(parser, "header") ? "header" : "freeze",
                           &option));
        alm_parse_next(parser);
        return at_header_value(parser) && !at_on_error(parser) ? copy_parse_value(parser, option)
                                                               : ALM_OK;
    }
    if (alm_at_kw(parser, ALM_KW_PARTITION)) {
        ALM_TRY(add_option(parser, copy, cap, "partition_by", &option));
        alm_parse_next(parser);
        ALM_TRY(alm_expect_kw(parser, ALM_KW_BY, "'by' expected"));
        return copy_parse_value(parser, option);
    }
    if (at_on_error(parser)) {
        ALM_TRY(add_option(parser, copy, cap, "on_error", &option));
        alm_parse_next(parser);
        alm_parse_next(parser);
        return copy_parse_value(parser, option);
    }
    const char *name = alm_at_kw(parser, ALM_KW_NULL) ? "null" : NULL;
    const alm_str word = alm_token_text(parser, parser->tok);
    for (size_t i = 0; name == NULL && i < ALM_COUNT(valued_words); i++)
        if (parser->tok.kind == ALM_TOK_NAME && alm_str_ieq(word, alm_str_of(valued_words[i])))
            name = valued_words[i];
    if (name == NULL)
        return alm_parse_unexpected(parser);
    ALM_TRY(add_option(parser, copy, cap, name, &option));
    alm_parse_next(parser);
    (void)alm_take_kw(parser, ALM_KW_AS);
    return copy_parse_value(parser, option);
}

static alm_status copy_parse_options(alm_parser *parser, alm_copy *copy)
{
    uint32_t cap = copy->n_options;
    const bool with = alm_take_kw(parser, ALM_KW_WITH);
    if (alm_at_op(parser, ALM_OP_LPAREN))
        return parse_bracketed(parser, copy, &cap);
    if (with && alm_at_end(parser))
        return alm_parse_fail(parser, parser->tok.pos, "option expected");
    while (!alm_at_end(parser) && !alm_at_kw(parser, ALM_KW_WHERE))
        ALM_TRY(copy_parse_word(parser, copy, &cap));
    return ALM_OK;
}

static alm_status copy_parse_where(alm_parser *parser, alm_copy *copy)
{
    if (!alm_take_kw(parser, ALM_KW_WHERE))
        return ALM_OK;
    if (copy->place != ALM_COPY_AT_STREAM)
        return alm_fail(parser->cx, ALM_E_UNSUPPORTED, parser->prev.pos,
                        "WHERE is for COPY FROM STDIN, not for files of the server");
    return alm_parse_expr(parser, &copy->where);
}

/* ------------------------------------------------------------------ what is copied */

/* The text from there up to the token that was read last. */
static alm_str text_from(const alm_parser *parser, int32_t pos)
{
    return (alm_str){parser->text.ptr + pos, (size_t)(parser->prev.end - pos)};
}

static alm_status parse_table(alm_parser *parser, alm_stmt *stmt, alm_copy *copy)
{
    alm_parse_name name;
    const int32_t table_pos = parser->tok.pos;
    ALM_TRY(alm_parse_relation(parser, "table name", &copy->schema, &name));
    stmt->table = name.text;
    stmt->table_quoted = name.quoted;
    stmt->table_pos = name.pos;
    copy->table = text_from(parser, table_pos);
    if (!alm_at_op(parser, ALM_OP_LPAREN))
        return ALM_OK;
    const int32_t columns_pos = parser->tok.end;
    ALM_TRY(alm_parse_insert_cols(parser, stmt));
    copy->columns = text_from(parser, columns_pos);
    copy->columns.len--; /* the bracket */
    return ALM_OK;
}

static alm_status parse_copied_query(alm_parser *parser, alm_stmt *stmt, alm_copy *copy)
{
    const int32_t pos = parser->tok.end;
    ALM_TRY(alm_parse_bracketed(parser, &stmt->select));
    copy->query = text_from(parser, pos);
    copy->query.len--; /* the bracket */
    return ALM_OK;
}

/* COPY t (a, b) TO is COPY (SELECT a, b FROM t) TO. */
static alm_status select_of_table(alm_parser *parser, alm_stmt *stmt, alm_str schema)
{
    alm_select *sel = NULL;
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &sel));
    sel->pos = stmt->table_pos;
    sel->end = parser->prev.end;
    sel->depth = 3;
    ALM_TRY(alm_parse_star_item(parser, stmt->table_pos, sel));
    if (stmt->n_insert_cols > 0) {
        sel->implicit_star = false;
        sel->n_items = stmt->n_insert_cols;
        ALM_TRY(ALM_NEWN(parser->cx, parser->cx->arena, sel->n_items, &sel->items));
    }
    for (uint32_t i = 0; i < stmt->n_insert_cols; i++) {
        alm_ast **expr = &sel->items[i].expr;
        ALM_TRY(alm_parse_node(parser, ALM_AST_NAME, stmt->insert_pos[i], expr));
        (*expr)->text = stmt->insert_cols[i];
        ALM_TRY(alm_parse_seal(parser, *expr));
    }
    ALM_TRY(ALM_NEWN(parser->cx, parser->cx->arena, 1, &sel->from));
    sel->n_from = 1;
    sel->from[0] = (alm_from){.kind = ALM_FROM_TABLE,
                              .name = stmt->table,
                              .schema = schema,
                              .quoted = stmt->table_quoted,
                              .pos = stmt->table_pos};
    stmt->select = sel;
    return ALM_OK;
}

/* STDIN, STDOUT or a file. As in PostgreSQL each word stands for the other, too: PDO copies TO STDIN. */
static alm_status parse_end(alm_parser *parser, alm_copy *copy, const char *stream)
{
    copy->file_pos = parser->tok.pos;
    if (alm_take_word(parser, "stdin") || alm_take_word(parser, "stdout"))
        return ALM_OK;
    if (parser->tok.kind != ALM_TOK_STRING && alm_at_word(parser, "program"))
        return alm_fail(parser->cx, ALM_E_UNSUPPORTED, parser->tok.pos,
                        "COPY of a program is not supported");
    if (parser->tok.kind != ALM_TOK_STRING)
        return alm_parse_fail(parser, parser->tok.pos, "'%s' or a file name expected", stream);
    copy->place = ALM_COPY_AT_FILE;
    ALM_TRY(alm_parse_unquote(parser, parser->tok, &copy->file));
    alm_parse_next(parser);
    return ALM_OK;
}

static alm_status parse_cancel(alm_parser *parser, alm_copy *copy)
{
    copy->place = ALM_COPY_AT_CANCEL;
    copy->file_pos = parser->tok.pos;
    if (parser->tok.kind == ALM_TOK_STRING)
        ALM_TRY(alm_parse_unquote(parser, parser->tok, &copy->file));
    else
        copy->file = alm_token_text(parser, parser->tok);
    alm_parse_next(parser);
    alm_parse_next(parser);
    return ALM_OK;
}

alm_status alm_parse_copy(alm_parser *parser, alm_stmt *stmt)
{
    alm_copy *copy = NULL;
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &copy));
    stmt->ext = copy;
    if (alm_token_is_kw(alm_parse_peek(parser), ALM_KW_CANCEL) && !alm_at_op(parser, ALM_OP_LPAREN))
        return parse_cancel(parser, copy);
    if (alm_at_word(parser, "binary") && !alm_token_is_kw(alm_parse_peek(parser), ALM_KW_FROM) &&
        !alm_token_is_kw(alm_parse_peek(parser), ALM_KW_TO)) { /* COPY BINARY t FROM ... */
        uint32_t cap = 0;
        alm_copy_option *option = NULL;
        ALM_TRY(add_option(parser, copy, &cap, "format", &option));
        ALM_TRY(copy_parse_value(parser, option));
    }
    if (alm_at_op(parser, ALM_OP_LPAREN))
        ALM_TRY(parse_copied_query(parser, stmt, copy));
    else
        ALM_TRY(parse_table(parser, stmt, copy));
    if (stmt->select == NULL && alm_take_kw(parser, ALM_KW_FROM)) {
        const alm_parse_name name = {stmt->table, stmt->table_pos, stmt->table_quoted};
        ALM_TRY(alm_parse_own_table(parser, copy->schema, name));
        ALM_TRY(parse_end(parser, copy, "stdin"));
        ALM_TRY(copy_parse_options(parser, copy));
        return copy_parse_where(parser, copy);
    }
    ALM_TRY(alm_expect_kw(parser, ALM_KW_TO,
                          stmt->select != NULL ? "'to' expected" : "'from' or 'to' expected"));
    stmt->kind = ALM_STMT_COPY_TO;
    if (stmt->select == NULL)
        ALM_TRY(select_of_table(parser, stmt, copy->schema));
    ALM_TRY(parse_end(parser, copy, "stdout"));
    return copy_parse_options(parser, copy);
}
