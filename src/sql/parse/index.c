/*
 * index.c - CREATE INDEX and DROP INDEX, as PostgreSQL's tools write them.
 */
#include "sql/parse/parse.h"

/* What may stand behind a column: an operator class, ASC or DESC, NULLS FIRST or LAST. */
static alm_status parse_item_options(alm_parser *parser)
{
    alm_parse_name name;
    alm_str schema;
    if (parser->tok.kind == ALM_TOK_NAME && !alm_at_kw(parser, ALM_KW_ASC) &&
        !alm_at_kw(parser, ALM_KW_DESC) && !alm_at_word(parser, "nulls"))
        ALM_TRY(alm_parse_qualified(parser, "operator class", &schema, &name));
    if (!alm_take_kw(parser, ALM_KW_ASC))
        (void)alm_take_kw(parser, ALM_KW_DESC);
    if (alm_take_word(parser, "nulls") && !alm_take_word(parser, "first") &&
        !alm_take_word(parser, "last"))
        return alm_parse_fail(parser, parser->tok.pos, "'first' or 'last' expected");
    return ALM_OK;
}

/* ( a, lower(b), (c + 1) DESC ) */
static alm_status index_parse_items(alm_parser *parser, alm_index_words *words, uint32_t *cap)
{
    ALM_TRY(alm_expect_op(parser, ALM_OP_LPAREN, "'(' expected"));
    do {
        ALM_TRY(ALM_GROW(parser, &words->items, words->n_items, cap));
        if (!alm_starts_expr(parser))
            return alm_parse_fail(parser, parser->tok.pos, "column name expected");
        ALM_TRY(alm_parse_expr(parser, &words->items[words->n_items]));
        words->n_items++;
        ALM_TRY(parse_item_options(parser));
    } while (alm_take_op(parser, ALM_OP_COMMA));
    return alm_expect_op(parser, ALM_OP_RPAREN, "')' expected");
}

/* ( fillfactor = 70, ... ): nothing of it means anything here */
static alm_status skip_brackets(alm_parser *parser)
{
    ALM_TRY(alm_expect_op(parser, ALM_OP_LPAREN, "'(' expected"));
    while (!alm_at_end(parser) && parser->tok.kind != ALM_TOK_BAD &&
           !alm_at_op(parser, ALM_OP_RPAREN))
        alm_parse_next(parser);
    return alm_expect_op(parser, ALM_OP_RPAREN, "')' expected");
}

static alm_status index_parse_clauses(alm_parser *parser, alm_index_words *words, uint32_t *cap)
{
    alm_parse_name name;
    words->n_keys = words->n_items;
    if (alm_take_word(parser, "include"))
        ALM_TRY(index_parse_items(parser, words, cap));
    if (alm_take_kw(parser, ALM_KW_WITH))
        ALM_TRY(skip_brackets(parser));
    if (alm_take_word(parser, "tablespace"))
        ALM_TRY(alm_parse_ident(parser, "tablespace", &name));
    return alm_take_kw(parser, ALM_KW_WHERE) ? alm_parse_expr(parser, &words->where) : ALM_OK;
}

static alm_status take_if(alm_parser *parser, bool not, bool *found)
{
    *found = alm_take_kw(parser, ALM_KW_IF);
    if (*found && not)
        ALM_TRY(alm_expect_kw(parser, ALM_KW_NOT, "'if not exists' expected"));
    return *found ? alm_expect_kw(parser, ALM_KW_EXISTS, "'exists' expected") : ALM_OK;
}

bool alm_at_index(const alm_parser *parser)
{
    return alm_at_kw(parser, ALM_KW_INDEX) ||
           (alm_at_kw(parser, ALM_KW_UNIQUE) &&
            alm_token_is_kw(alm_parse_peek(parser), ALM_KW_INDEX));
}

/* CREATE INDEX [CONCURRENTLY] [[IF NOT EXISTS] name] ON [ONLY] table [USING method] (...) ... */
alm_status alm_parse_create_index(alm_parser *parser, alm_stmt *stmt)
{
    alm_index_words *words = NULL;
    alm_parse_name name;
    uint32_t cap = 0;
    const bool unique = alm_str_eq(stmt->text, ALM_STR("CREATE UNIQUE"));
    stmt->text = ALM_STR("CREATE INDEX");
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &words));
    stmt->ext = words;
    words->unique_pos = unique ? parser->prev.pos : -1;
    if (unique)
        alm_parse_next(parser); /* index */
    (void)alm_take_word(parser, "concurrently");
    ALM_TRY(take_if(parser, true, &stmt->if_not_exists));
    if (stmt->if_not_exists || !alm_at_kw(parser, ALM_KW_ON)) {
        ALM_TRY(alm_parse_ident(parser, "index name", &name));
        stmt->new_name = name.text;
        stmt->new_name_pos = name.pos;
    }
    ALM_TRY(alm_expect_kw(parser, ALM_KW_ON, "'on' expected"));
    if (alm_at_word(parser, "only") && !alm_token_is_op(alm_parse_peek(parser), ALM_OP_LPAREN))
        alm_parse_next(parser);
    ALM_TRY(alm_parse_table(parser, "table name", &name));
    stmt->table = name.text;
    stmt->table_quoted = name.quoted;
    stmt->table_pos = name.pos;
    if (alm_take_kw(parser, ALM_KW_USING))
        ALM_TRY(alm_parse_ident(parser, "index method", &name));
    ALM_TRY(index_parse_items(parser, words, &cap));
    return index_parse_clauses(parser, words, &cap);
}

/* DROP INDEX [CONCURRENTLY] [IF EXISTS] name, ... [CASCADE | RESTRICT] */
alm_status alm_parse_drop_index(alm_parser *parser, alm_stmt *stmt)
{
    uint32_t cap = 0, cap_pos = 0;
    (void)alm_take_word(parser, "concurrently");
    ALM_TRY(take_if(parser, false, &stmt->if_exists));
    do {
        alm_parse_name name;
        bool here = false;
        ALM_TRY(ALM_GROW(parser, &stmt->more_tables, stmt->n_more, &cap));
        ALM_TRY(ALM_GROW(parser, &stmt->more_pos, stmt->n_more, &cap_pos));
        ALM_TRY(alm_parse_listed_table(parser, stmt, "index name", &here, &name));
        if (!here)
            continue;
        stmt->more_tables[stmt->n_more] = name.text;
        stmt->more_pos[stmt->n_more++] = name.pos;
    } while (alm_take_op(parser, ALM_OP_COMMA));
    if (!alm_take_word(parser, "cascade"))
        (void)alm_take_word(parser, "restrict");
    return ALM_OK;
}
