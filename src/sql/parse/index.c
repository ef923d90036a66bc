/*
 * index.c - CREATE INDEX and DROP INDEX, as PostgreSQL's tools write them.
 */
#include "sql/parse/parse.h"

/* What may stand behind a column: an operator class, ASC or DESC, NULLS FIRST or LAST. */
static alm_status parse_item_options(alm_parser *p)
{
    alm_parse_name name;
    alm_str schema;
    if (p->tok.kind == ALM_TOK_NAME && !alm_at_kw(p, ALM_KW_ASC) && !alm_at_kw(p, ALM_KW_DESC) &&
        !alm_at_word(p, "nulls"))
        ALM_TRY(alm_parse_qualified(p, "operator class", &schema, &name));
    if (!alm_take_kw(p, ALM_KW_ASC))
        (void)alm_take_kw(p, ALM_KW_DESC);
    if (alm_take_word(p, "nulls") && !alm_take_word(p, "first") && !alm_take_word(p, "last"))
        return alm_parse_fail(p, p->tok.pos, "'first' or 'last' expected");
    return ALM_OK;
}

/* ( a, lower(b), (c + 1) DESC ) */
static alm_status parse_items(alm_parser *p, alm_index_words *w, uint32_t *cap)
{
    ALM_TRY(alm_expect_op(p, ALM_OP_LPAREN, "'(' expected"));
    do {
        ALM_TRY(ALM_GROW(p, &w->items, w->n_items, cap));
        if (!alm_starts_expr(p))
            return alm_parse_fail(p, p->tok.pos, "column name expected");
        ALM_TRY(alm_parse_expr(p, &w->items[w->n_items]));
        w->n_items++;
        ALM_TRY(parse_item_options(p));
    } while (alm_take_op(p, ALM_OP_COMMA));
    return alm_expect_op(p, ALM_OP_RPAREN, "')' expected");
}

/* ( fillfactor = 70, ... ): nothing of it means anything here */
static alm_status skip_brackets(alm_parser *p)
{
    ALM_TRY(alm_expect_op(p, ALM_OP_LPAREN, "'(' expected"));
    while (!alm_at_end(p) && p->tok.kind != ALM_TOK_BAD && !alm_at_op(p, ALM_OP_RPAREN))
        alm_parse_next(p);
    return alm_expect_op(p, ALM_OP_RPAREN, "')' expected");
}

static alm_status parse_clauses(alm_parser *p, alm_index_words *w, uint32_t *cap)
{
    alm_parse_name name;
    w->n_keys = w->n_items;
    if (alm_take_word(p, "include"))
        ALM_TRY(parse_items(p, w, cap));
    if (alm_take_kw(p, ALM_KW_WITH))
        ALM_TRY(skip_brackets(p));
    if (alm_take_word(p, "tablespace"))
        ALM_TRY(alm_parse_ident(p, "tablespace", &name));
    return alm_take_kw(p, ALM_KW_WHERE) ? alm_parse_expr(p, &w->where) : ALM_OK;
}

static alm_status take_if(alm_parser *p, bool not, bool *found)
{
    *found = alm_take_kw(p, ALM_KW_IF);
    if (*found && not)
        ALM_TRY(alm_expect_kw(p, ALM_KW_NOT, "'if not exists' expected"));
    return *found ? alm_expect_kw(p, ALM_KW_EXISTS, "'exists' expected") : ALM_OK;
}

bool alm_at_index(const alm_parser *p)
{
    return alm_at_kw(p, ALM_KW_INDEX) ||
           (alm_at_kw(p, ALM_KW_UNIQUE) && alm_token_is_kw(alm_parse_peek(p), ALM_KW_INDEX));
}

/* CREATE INDEX [CONCURRENTLY] [[IF NOT EXISTS] name] ON [ONLY] table [USING method] (...) ... */
alm_status alm_parse_create_index(alm_parser *p, alm_stmt *s)
{
    alm_index_words *w = NULL;
    alm_parse_name name;
    uint32_t cap = 0;
    const bool unique = alm_str_eq(s->text, ALM_STR("CREATE UNIQUE"));
    s->text = ALM_STR("CREATE INDEX");
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &w));
    s->ext = w;
    w->unique_pos = unique ? p->prev.pos : -1;
    if (unique)
        alm_parse_next(p); /* index */
    (void)alm_take_word(p, "concurrently");
    ALM_TRY(take_if(p, true, &s->if_not_exists));
    if (s->if_not_exists || !alm_at_kw(p, ALM_KW_ON)) {
        ALM_TRY(alm_parse_ident(p, "index name", &name));
        s->new_name = name.text;
        s->new_name_pos = name.pos;
    }
    ALM_TRY(alm_expect_kw(p, ALM_KW_ON, "'on' expected"));
    if (alm_at_word(p, "only") && !alm_token_is_op(alm_parse_peek(p), ALM_OP_LPAREN))
        alm_parse_next(p);
    ALM_TRY(alm_parse_table(p, "table name", &name));
    s->table = name.text;
    s->table_quoted = name.quoted;
    s->table_pos = name.pos;
    if (alm_take_kw(p, ALM_KW_USING))
        ALM_TRY(alm_parse_ident(p, "index method", &name));
    ALM_TRY(parse_items(p, w, &cap));
    return parse_clauses(p, w, &cap);
}

/* DROP INDEX [CONCURRENTLY] [IF EXISTS] name, ... [CASCADE | RESTRICT] */
alm_status alm_parse_drop_index(alm_parser *p, alm_stmt *s)
{
    uint32_t cap = 0, cap_pos = 0;
    (void)alm_take_word(p, "concurrently");
    ALM_TRY(take_if(p, false, &s->if_exists));
    do {
        alm_parse_name name;
        bool here = false;
        ALM_TRY(ALM_GROW(p, &s->more_tables, s->n_more, &cap));
        ALM_TRY(ALM_GROW(p, &s->more_pos, s->n_more, &cap_pos));
        ALM_TRY(alm_parse_listed_table(p, s, "index name", &here, &name));
        if (!here)
            continue;
        s->more_tables[s->n_more] = name.text;
        s->more_pos[s->n_more++] = name.pos;
    } while (alm_take_op(p, ALM_OP_COMMA));
    if (!alm_take_word(p, "cascade"))
        (void)alm_take_word(p, "restrict");
    return ALM_OK;
}
