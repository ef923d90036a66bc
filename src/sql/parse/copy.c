/*
 * copy.c - COPY: PostgreSQL's, with options in brackets or as words, and the one of files with
 * the words HEADER, TIMESTAMP, PARTITION BY, ON ERROR. What options mean is told later: here they are
 * names with values.
 */
#include "sql/parse/parse.h"

static alm_status add_option(alm_parser *p, alm_copy *copy, uint32_t *cap, const char *name,
                             alm_copy_option **out)
{
    ALM_TRY(ALM_GROW(p, &copy->options, copy->n_options, cap));
    *out = &copy->options[copy->n_options++];
    (*out)->name = alm_str_of(name);
    (*out)->pos = (*out)->value_pos = p->tok.pos;
    return ALM_OK;
}

/* ------------------------------------------------------------------ values */

static alm_status parse_columns(alm_parser *p, alm_copy_option *o, bool brackets)
{
    uint32_t cap = 0;
    if (alm_take_op(p, ALM_OP_STAR)) {
        o->all = true;
        return ALM_OK;
    }
    if (brackets)
        alm_parse_next(p);
    do {
        alm_parse_name name;
        ALM_TRY(ALM_GROW(p, &o->list, o->n_list, &cap));
        ALM_TRY(alm_parse_ident(p, "column name", &name));
        o->list[o->n_list++] = name.text;
    } while (alm_take_op(p, ALM_OP_COMMA));
    return brackets ? alm_expect_op(p, ALM_OP_RPAREN, "')' expected") : ALM_OK;
}

static alm_status parse_value(alm_parser *p, alm_copy_option *o)
{
    o->value_pos = p->tok.pos;
    o->quoted = p->tok.kind == ALM_TOK_STRING;
    if (o->quoted || p->tok.kind == ALM_TOK_QUOTED) {
        ALM_TRY(alm_parse_unquote(p, p->tok, &o->value));
        if (o->value.ptr == NULL)
            o->value.ptr = "";
    } else if (p->tok.kind == ALM_TOK_NAME || p->tok.kind == ALM_TOK_NUMBER) {
        o->value = alm_token_text(p, p->tok);
    } else {
        return alm_parse_fail(p, p->tok.pos, "value expected");
    }
    alm_parse_next(p);
    return ALM_OK;
}

/* ------------------------------------------------------------------ options in brackets */

static alm_status lower_name(alm_parser *p, const char **out)
{
    alm_parse_name name;
    if (alm_at_kw(p, ALM_KW_NULL)) { /* reserved elsewhere */
        alm_parse_next(p);
        *out = "null";
        return ALM_OK;
    }
    ALM_TRY(alm_parse_ident(p, "option", &name));
    char *copy = NULL;
    ALM_TRY(alm_arena_bytes(p->cx, p->cx->arena, name.text.len + 1, &copy));
    for (size_t i = 0; i < name.text.len; i++) {
        const char c = name.text.ptr[i];
        copy[i] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    copy[name.text.len] = 0;
    *out = copy;
    return ALM_OK;
}

static alm_status parse_bracketed(alm_parser *p, alm_copy *copy, uint32_t *cap)
{
    do {
        alm_parse_next(p); /* ( or , */
        alm_copy_option *o = NULL;
        const char *name = NULL;
        const int32_t pos = p->tok.pos;
        ALM_TRY(lower_name(p, &name));
        ALM_TRY(add_option(p, copy, cap, name, &o));
        o->pos = pos;
        if (alm_at_op(p, ALM_OP_COMMA) || alm_at_op(p, ALM_OP_RPAREN))
            continue;
        if (alm_at_op(p, ALM_OP_LPAREN) || alm_at_op(p, ALM_OP_STAR))
            ALM_TRY(parse_columns(p, o, alm_at_op(p, ALM_OP_LPAREN)));
        else
            ALM_TRY(parse_value(p, o));
    } while (alm_at_op(p, ALM_OP_COMMA));
    return alm_expect_op(p, ALM_OP_RPAREN, "')' expected");
}

/* ------------------------------------------------------------------ options as words */

static bool at_header_value(const alm_parser *p)
{
    return alm_at_kw(p, ALM_KW_TRUE) || alm_at_kw(p, ALM_KW_FALSE) || alm_at_kw(p, ALM_KW_ON) ||
           alm_at_word(p, "off") || alm_at_word(p, "match");
}

/* ON ERROR x; HEADER [ON] may stand before it. */
static bool at_on_error(const alm_parser *p)
{
    alm_parser ahead = *p;
    return alm_take_kw(&ahead, ALM_KW_ON) && alm_at_word(&ahead, "error");
}

static alm_status parse_force(alm_parser *p, alm_copy *copy, uint32_t *cap)
{
    alm_copy_option *o = NULL;
    ALM_TRY(add_option(p, copy, cap, "force_quote", &o));
    alm_parse_next(p);
    if (alm_take_kw(p, ALM_KW_NOT)) {
        ALM_TRY(alm_expect_kw(p, ALM_KW_NULL, "'null' expected"));
        o->name = ALM_STR("force_not_null");
    } else if (alm_take_kw(p, ALM_KW_NULL)) {
        o->name = ALM_STR("force_null");
    } else if (!alm_take_word(p, "quote")) {
        return alm_parse_fail(p, p->tok.pos, "'quote' or 'not null' expected");
    }
    return parse_columns(p, o, false);
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

static alm_status parse_word(alm_parser *p, alm_copy *copy, uint32_t *cap)
{
    alm_copy_option *o = NULL;
    if (alm_at_word(p, "force"))
        return parse_force(p, copy, cap);
    if (alm_at_word(p, "binary") || alm_at_word(p, "csv")) {
        ALM_TRY(add_option(p, copy, cap, "format", &o));
        return parse_value(p, o);
    }
    if (alm_at_word(p, "header") || alm_at_word(p, "freeze")) {
        ALM_TRY(add_option(p, copy, cap, alm_at_word(p, "header") ? "header" : "freeze", &o));
        alm_parse_next(p);
        return at_header_value(p) && !at_on_error(p) ? parse_value(p, o) : ALM_OK;
    }
    if (alm_at_kw(p, ALM_KW_PARTITION)) {
        ALM_TRY(add_option(p, copy, cap, "partition_by", &o));
        alm_parse_next(p);
        ALM_TRY(alm_expect_kw(p, ALM_KW_BY, "'by' expected"));
        return parse_value(p, o);
    }
    if (at_on_error(p)) {
        ALM_TRY(add_option(p, copy, cap, "on_error", &o));
        alm_parse_next(p);
        alm_parse_next(p);
        return parse_value(p, o);
    }
    const char *name = alm_at_kw(p, ALM_KW_NULL) ? "null" : NULL;
    const alm_str word = alm_token_text(p, p->tok);
    for (size_t i = 0; name == NULL && i < ALM_COUNT(valued_words); i++)
        if (p->tok.kind == ALM_TOK_NAME && alm_str_ieq(word, alm_str_of(valued_words[i])))
            name = valued_words[i];
    if (name == NULL)
        return alm_parse_unexpected(p);
    ALM_TRY(add_option(p, copy, cap, name, &o));
    alm_parse_next(p);
    (void)alm_take_kw(p, ALM_KW_AS);
    return parse_value(p, o);
}

static alm_status parse_options(alm_parser *p, alm_copy *copy)
{
    uint32_t cap = copy->n_options;
    const bool with = alm_take_kw(p, ALM_KW_WITH);
    if (alm_at_op(p, ALM_OP_LPAREN))
        return parse_bracketed(p, copy, &cap);
    if (with && alm_at_end(p))
        return alm_parse_fail(p, p->tok.pos, "option expected");
    while (!alm_at_end(p) && !alm_at_kw(p, ALM_KW_WHERE))
        ALM_TRY(parse_word(p, copy, &cap));
    return ALM_OK;
}

static alm_status parse_where(alm_parser *p, alm_copy *copy)
{
    if (!alm_take_kw(p, ALM_KW_WHERE))
        return ALM_OK;
    if (copy->place != ALM_COPY_AT_STREAM)
        return alm_fail(p->cx, ALM_E_UNSUPPORTED, p->prev.pos,
                        "WHERE is for COPY FROM STDIN, not for files of the server");
    return alm_parse_expr(p, &copy->where);
}

/* ------------------------------------------------------------------ what is copied */

/* The text from there up to the token that was read last. */
static alm_str text_from(const alm_parser *p, int32_t pos)
{
    return (alm_str){p->text.ptr + pos, (size_t)(p->prev.end - pos)};
}

static alm_status parse_table(alm_parser *p, alm_stmt *s, alm_copy *copy)
{
    alm_parse_name name;
    const int32_t table_pos = p->tok.pos;
    ALM_TRY(alm_parse_relation(p, "table name", &copy->schema, &name));
    s->table = name.text;
    s->table_quoted = name.quoted;
    s->table_pos = name.pos;
    copy->table = text_from(p, table_pos);
    if (!alm_at_op(p, ALM_OP_LPAREN))
        return ALM_OK;
    const int32_t columns_pos = p->tok.end;
    ALM_TRY(alm_parse_insert_cols(p, s));
    copy->columns = text_from(p, columns_pos);
    copy->columns.len--; /* the bracket */
    return ALM_OK;
}

static alm_status parse_copied_query(alm_parser *p, alm_stmt *s, alm_copy *copy)
{
    const int32_t pos = p->tok.end;
    ALM_TRY(alm_parse_bracketed(p, &s->select));
    copy->query = text_from(p, pos);
    copy->query.len--; /* the bracket */
    return ALM_OK;
}

/* COPY t (a, b) TO is COPY (SELECT a, b FROM t) TO. */
static alm_status select_of_table(alm_parser *p, alm_stmt *s, alm_str schema)
{
    alm_select *sel = NULL;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &sel));
    sel->pos = s->table_pos;
    sel->end = p->prev.end;
    sel->depth = 3;
    ALM_TRY(alm_parse_star_item(p, s->table_pos, sel));
    if (s->n_insert_cols > 0) {
        sel->implicit_star = false;
        sel->n_items = s->n_insert_cols;
        ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, sel->n_items, &sel->items));
    }
    for (uint32_t i = 0; i < s->n_insert_cols; i++) {
        alm_ast **expr = &sel->items[i].expr;
        ALM_TRY(alm_parse_node(p, ALM_AST_NAME, s->insert_pos[i], expr));
        (*expr)->text = s->insert_cols[i];
        ALM_TRY(alm_parse_seal(p, *expr));
    }
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 1, &sel->from));
    sel->n_from = 1;
    sel->from[0] = (alm_from){.kind = ALM_FROM_TABLE,
                              .name = s->table,
                              .schema = schema,
                              .quoted = s->table_quoted,
                              .pos = s->table_pos};
    s->select = sel;
    return ALM_OK;
}

/* STDIN, STDOUT or a file. As in PostgreSQL each word stands for the other, too: PDO copies TO STDIN. */
static alm_status parse_end(alm_parser *p, alm_copy *copy, const char *stream)
{
    copy->file_pos = p->tok.pos;
    if (alm_take_word(p, "stdin") || alm_take_word(p, "stdout"))
        return ALM_OK;
    if (p->tok.kind != ALM_TOK_STRING && alm_at_word(p, "program"))
        return alm_fail(p->cx, ALM_E_UNSUPPORTED, p->tok.pos, "COPY of a program is not supported");
    if (p->tok.kind != ALM_TOK_STRING)
        return alm_parse_fail(p, p->tok.pos, "'%s' or a file name expected", stream);
    copy->place = ALM_COPY_AT_FILE;
    ALM_TRY(alm_parse_unquote(p, p->tok, &copy->file));
    alm_parse_next(p);
    return ALM_OK;
}

static alm_status parse_cancel(alm_parser *p, alm_copy *copy)
{
    copy->place = ALM_COPY_AT_CANCEL;
    copy->file_pos = p->tok.pos;
    if (p->tok.kind == ALM_TOK_STRING)
        ALM_TRY(alm_parse_unquote(p, p->tok, &copy->file));
    else
        copy->file = alm_token_text(p, p->tok);
    alm_parse_next(p);
    alm_parse_next(p);
    return ALM_OK;
}

alm_status alm_parse_copy(alm_parser *p, alm_stmt *s)
{
    alm_copy *copy = NULL;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &copy));
    s->ext = copy;
    if (alm_token_is_kw(alm_parse_peek(p), ALM_KW_CANCEL) && !alm_at_op(p, ALM_OP_LPAREN))
        return parse_cancel(p, copy);
    if (alm_at_word(p, "binary") && !alm_token_is_kw(alm_parse_peek(p), ALM_KW_FROM) &&
        !alm_token_is_kw(alm_parse_peek(p), ALM_KW_TO)) { /* COPY BINARY t FROM ... */
        uint32_t cap = 0;
        alm_copy_option *o = NULL;
        ALM_TRY(add_option(p, copy, &cap, "format", &o));
        ALM_TRY(parse_value(p, o));
    }
    if (alm_at_op(p, ALM_OP_LPAREN))
        ALM_TRY(parse_copied_query(p, s, copy));
    else
        ALM_TRY(parse_table(p, s, copy));
    if (s->select == NULL && alm_take_kw(p, ALM_KW_FROM)) {
        const alm_parse_name name = {s->table, s->table_pos, s->table_quoted};
        ALM_TRY(alm_parse_own_table(p, copy->schema, name));
        ALM_TRY(parse_end(p, copy, "stdin"));
        ALM_TRY(parse_options(p, copy));
        return parse_where(p, copy);
    }
    ALM_TRY(alm_expect_kw(p, ALM_KW_TO,
                          s->select != NULL ? "'to' expected" : "'from' or 'to' expected"));
    s->kind = ALM_STMT_COPY_TO;
    if (s->select == NULL)
        ALM_TRY(select_of_table(p, s, copy->schema));
    ALM_TRY(parse_end(p, copy, "stdout"));
    return parse_options(p, copy);
}
