/*
 * maintain.c - COMMENT ON, VACUUM, ANALYZE, REINDEX, SCRUB.
 */
#include "sql/parse/parse.h"

/* COLUMN [[database.]schema.]table.column */
static alm_status parse_comment_column(alm_parser *p, alm_stmt *s)
{
    alm_parse_name part[4];
    uint32_t n = 0;
    do
        ALM_TRY(alm_parse_ident(p, "table name", &part[n]));
    while (++n < ALM_COUNT(part) && alm_take_op(p, ALM_OP_DOT));
    if (n == 1)
        return alm_parse_fail(p, part[0].pos, "table and column name expected, parted by a dot");
    s->table = part[n - 2].text;
    s->column = part[n - 1].text;
    s->column_pos = part[n - 1].pos;
    if (n == 2)
        return ALM_OK;
    const alm_str schema = part[n - 3].text;
    ALM_TRY(alm_parse_schema(p, n == 4 ? part[0].text : (alm_str){0}, schema, part[0].pos));
    part[n - 2].pos = part[0].pos;
    return alm_parse_own_table(p, schema, part[n - 2]);
}

/* COMMENT ON what IS text */
alm_status alm_parse_comment(alm_parser *p, alm_stmt *s)
{
    static const struct {
        alm_keyword kw;
        const char *what;
    } kinds[] = {{ALM_KW_TABLE, "table"}, {ALM_KW_COLUMN, "column"}, {ALM_KW_VIEW, "view"}};
    ALM_TRY(alm_expect_kw(p, ALM_KW_ON, "'on' expected"));
    const bool materialized = alm_take_kw(p, ALM_KW_MATERIALIZED);
    for (size_t i = 0; i < ALM_COUNT(kinds); i++)
        if (alm_at_kw(p, kinds[i].kw) && (!materialized || kinds[i].kw == ALM_KW_VIEW))
            s->what = alm_str_of(materialized ? "materialized view" : kinds[i].what);
    if (s->what.len == 0)
        return alm_parse_fail(p, p->tok.pos,
                              materialized ? "'view' expected"
                                           : "'table', 'column', 'view' or 'materialized view' "
                                             "expected");
    alm_parse_next(p);
    s->table_pos = p->tok.pos;
    if (alm_str_eq(s->what, ALM_STR("column"))) {
        ALM_TRY(parse_comment_column(p, s));
    } else {
        alm_parse_name name;
        ALM_TRY(alm_parse_table(p, "table name", &name));
        s->table = name.text;
    }
    ALM_TRY(alm_expect_kw(p, ALM_KW_IS, "'is' expected"));
    if (alm_take_kw(p, ALM_KW_NULL))
        return ALM_OK;
    if (p->tok.kind != ALM_TOK_STRING)
        return alm_parse_fail(p, p->tok.pos, "text or 'null' expected");
    ALM_TRY(alm_parse_unquote(p, p->tok, &s->value));
    alm_parse_next(p);
    return ALM_OK;
}

/* [COLUMN a, b] [PARTITION 'p', ...] [LOCK EXCLUSIVE] behind REINDEX TABLE t */
static alm_status parse_reindex_what(alm_parser *p, alm_stmt *s)
{
    uint32_t cap = 0, cap_pos = 0;
    if (alm_take_kw(p, ALM_KW_COLUMN)) {
        do {
            alm_parse_name name;
            ALM_TRY(ALM_GROW(p, &s->insert_cols, s->n_insert_cols, &cap));
            ALM_TRY(ALM_GROW(p, &s->insert_pos, s->n_insert_cols, &cap_pos));
            ALM_TRY(alm_parse_ident(p, "column name", &name));
            s->insert_cols[s->n_insert_cols] = name.text;
            s->insert_pos[s->n_insert_cols++] = name.pos;
        } while (alm_take_op(p, ALM_OP_COMMA));
    }
    if (alm_take_kw(p, ALM_KW_PARTITION)) {
        do {
            if (p->tok.kind != ALM_TOK_STRING)
                return alm_parse_fail(p, p->tok.pos, "partition name expected");
            alm_parse_next(p);
        } while (alm_take_op(p, ALM_OP_COMMA));
    }
    if (alm_at_end(p))
        return ALM_OK;
    if (!alm_take_kw(p, ALM_KW_LOCK) || !alm_take_word(p, "exclusive"))
        return alm_parse_fail(p, p->tok.pos, "'column', 'partition' or 'lock exclusive' expected");
    return ALM_OK;
}

/* One of the words of PostgreSQL's in front of the tables; a table called so stands in quotes. */
static bool take_vacuum_word(alm_parser *p)
{
    return alm_take_kw(p, ALM_KW_FULL) || alm_take_kw(p, ALM_KW_ANALYZE) ||
           alm_take_word(p, "freeze") || alm_take_word(p, "verbose") || alm_take_word(p, "analyse");
}

/* VACUUM TABLE | PARTITIONS t; as PostgreSQL has it, of one table, several or all:
 * VACUUM | ANALYZE [(options)] [FULL] [FREEZE] [VERBOSE] [ANALYZE] [t [(column, ...)], ...] */
static alm_status parse_vacuum(alm_parser *p, alm_stmt *s)
{
    uint32_t cap = 0, cap_pos = 0;
    if (alm_at_op(p, ALM_OP_LPAREN)) {
        while (!alm_at_end(p) && p->tok.kind != ALM_TOK_BAD && !alm_at_op(p, ALM_OP_RPAREN))
            alm_parse_next(p);
        ALM_TRY(alm_expect_op(p, ALM_OP_RPAREN, "')' expected"));
    }
    while (take_vacuum_word(p)) {
    }
    s->all_tables = alm_at_end(p);
    if (s->all_tables)
        return ALM_OK;
    if (!alm_take_kw(p, ALM_KW_TABLE))
        (void)alm_take_kw(p, ALM_KW_PARTITIONS);
    do {
        alm_parse_name name;
        ALM_TRY(ALM_GROW(p, &s->more_tables, s->n_more, &cap));
        ALM_TRY(ALM_GROW(p, &s->more_pos, s->n_more, &cap_pos));
        ALM_TRY(alm_parse_table(p, "table name", &name));
        s->more_tables[s->n_more] = name.text;
        s->more_pos[s->n_more++] = name.pos;
        if (alm_at_op(p, ALM_OP_LPAREN))
            ALM_TRY(alm_parse_insert_cols(p, s));
    } while (alm_take_op(p, ALM_OP_COMMA));
    return ALM_OK;
}

/* TABLE t, ... behind SCRUB */
static alm_status parse_scrub(alm_parser *p, alm_stmt *s)
{
    ALM_TRY(alm_expect_kw(p, ALM_KW_TABLE, "'table' expected"));
    ALM_TRY(alm_parse_table_list(p, s, "table name", true));
    return alm_at_end(p) ? ALM_OK : alm_parse_unexpected(p);
}

alm_status alm_parse_maintain(alm_parser *p, alm_stmt *s)
{
    alm_parse_name name;
    if (alm_str_eq(s->text, ALM_STR("SCRUB")))
        return parse_scrub(p, s);
    if (!alm_str_eq(s->text, ALM_STR("REINDEX")))
        return parse_vacuum(p, s);
    ALM_TRY(alm_expect_kw(p, ALM_KW_TABLE, "'table' expected"));
    ALM_TRY(alm_parse_table(p, "table name", &name));
    s->table = name.text;
    s->table_quoted = name.quoted;
    s->table_pos = name.pos;
    return parse_reindex_what(p, s);
}
