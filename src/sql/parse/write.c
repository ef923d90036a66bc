/*
 * write.c - INSERT and UPDATE. Rows of VALUES are the one place where a statement may be
 * megabytes long: a plain literal costs one token and one node.
 */
#include "base/number.h"
#include "sql/parse/parse.h"
#include "sql/plan/name_set.h"

/* ------------------------------------------------------------------ rows */

/* [-] literal followed by , or ); anything else is an expression. */
static alm_status write_parse_value(alm_parser *parser, alm_ast **out)
{
    ALM_TRY(alm_parse_literal(parser, out));
    if (*out == NULL) {
        if (!alm_starts_expr(parser))
            return alm_parse_fail(parser, parser->tok.pos, "Expression expected");
        return alm_parse_expr(parser, out);
    }
    if (alm_at_op(parser, ALM_OP_COMMA) || alm_at_op(parser, ALM_OP_RPAREN))
        return ALM_OK;
    return alm_parse_expr_rest(parser, *out, ALM_PREC_OR, out);
}

static alm_status write_parse_row(alm_parser *parser, uint32_t guess, alm_ast ***out, uint32_t *n)
{
    alm_ast **row = NULL;
    uint32_t cap = guess;
    *n = 0;
    if (cap > 0)
        ALM_TRY(ALM_NEWN(parser->cx, parser->cx->arena, cap, &row));
    do {
        ALM_TRY(ALM_GROW(parser, &row, *n, &cap));
        ALM_TRY(write_parse_value(parser, &row[*n]));
        (*n)++;
    } while (alm_take_op(parser, ALM_OP_COMMA));
    *out = row;
    if (alm_at_op(parser, ALM_OP_RPAREN))
        return ALM_OK;
    return alm_parse_fail(parser, parser->tok.pos,
                          alm_at_end(parser) ? "',' expected" : "')' expected");
}

alm_status alm_parse_rows(alm_parser *parser, alm_stmt *stmt)
{
    uint32_t cap[4] = {0};
    const int64_t before = parser->cx->nodes;
    do {
        const uint32_t row = stmt->n_rows;
        ALM_TRY(ALM_GROW(parser, &stmt->rows, row, &cap[0]));
        ALM_TRY(ALM_GROW(parser, &stmt->row_lens, row, &cap[1]));
        ALM_TRY(ALM_GROW(parser, &stmt->row_pos, row, &cap[2]));
        ALM_TRY(ALM_GROW(parser, &stmt->row_end, row, &cap[3]));
        stmt->row_pos[row] = parser->tok.pos;
        parser->cx->nodes =
            before; /* rows are data: their number has no bound but that of memory */
        ALM_TRY(alm_steps_add(parser->cx, 16));
        ALM_TRY(alm_expect_op(parser, ALM_OP_LPAREN, "'(' expected"));
        ALM_TRY(write_parse_row(parser, row > 0 ? stmt->row_lens[row - 1] : 0, &stmt->rows[row],
                                &stmt->row_lens[row]));
        stmt->row_end[row] = parser->tok.pos;
        alm_parse_next(parser);
        stmt->n_rows++;
    } while (alm_take_op(parser, ALM_OP_COMMA));
    return ALM_OK;
}

/* ------------------------------------------------------------------ insert */

bool alm_lag_read(alm_str text, int64_t *us)
{
    static const struct {
        const char *unit;
        int64_t us;
    } units[] = {{"us", 1},         {"ms", 1000},       {"s", 1000000}, {"m", 60000000},
                 {"h", 3600000000}, {"d", 86400000000}, {"", 1}};
    size_t digits = 0;
    int64_t n = 0;
    while (digits < text.len && text.ptr[digits] >= '0' && text.ptr[digits] <= '9')
        digits++;
    const alm_str unit = {text.ptr + digits, text.len - digits};
    for (size_t i = 0; i < ALM_COUNT(units) && digits > 0; i++)
        if (alm_str_ieq(unit, alm_str_of(units[i].unit)))
            return alm_int64_parse((alm_str){text.ptr, digits}, &n) == ALM_NUM_OK &&
                   !__builtin_mul_overflow(n, units[i].us, us);
    return false;
}

alm_status alm_parse_lag(alm_parser *parser, int64_t *us)
{
    const alm_str text = alm_token_text(parser, parser->tok);
    if (parser->tok.kind != ALM_TOK_NUMBER || !alm_lag_read(text, us))
        return alm_parse_fail(parser, parser->tok.pos, "invalid interval qualifier %.*s",
                              (int)ALM_MIN(text.len, 40), text.ptr);
    alm_parse_next(parser);
    return ALM_OK;
}

alm_status alm_parse_insert_cols(alm_parser *parser, alm_stmt *stmt)
{
    uint32_t cap = 0, cap_pos = 0;
    do {
        alm_parse_name name;
        alm_parse_next(parser); /* ( or , */
        if (alm_at_op(parser, ALM_OP_RPAREN))
            return alm_parse_fail(parser, parser->tok.pos,
                                  "found [tok=')', len=1] missing column name");
        ALM_TRY(ALM_GROW(parser, &stmt->insert_cols, stmt->n_insert_cols, &cap));
        ALM_TRY(ALM_GROW(parser, &stmt->insert_pos, stmt->n_insert_cols, &cap_pos));
        ALM_TRY(alm_parse_ident(parser, "column name", &name));
        stmt->insert_cols[stmt->n_insert_cols] = name.text;
        stmt->insert_pos[stmt->n_insert_cols++] = name.pos;
    } while (alm_at_op(parser, ALM_OP_COMMA));
    return alm_expect_op(parser, ALM_OP_RPAREN, "')' expected");
}

static alm_status parse_insert_options(alm_parser *parser, alm_stmt *stmt)
{
    if (alm_take_kw(parser, ALM_KW_ATOMIC))
        return ALM_OK; /* every INSERT is */
    if (!alm_take_kw(parser, ALM_KW_BATCH))
        return ALM_OK;
    ALM_TRY(alm_parse_int(parser, "batch size", &stmt->batch_size));
    if (alm_take_kw(parser, ALM_KW_O3MAXLAG))
        ALM_TRY(alm_parse_lag(parser, &stmt->o3_max_lag_us));
    return ALM_OK;
}

static alm_status parse_insert_into(alm_parser *parser, alm_stmt *stmt)
{
    alm_parse_name name;
    ALM_TRY(parse_insert_options(parser, stmt));
    ALM_TRY(alm_expect_kw(parser, ALM_KW_INTO, "'into' expected"));
    ALM_TRY(alm_parse_table(parser, "table name", &name));
    stmt->table = name.text;
    stmt->table_quoted = name.quoted;
    stmt->table_pos = name.pos;
    const alm_token next = alm_parse_peek(parser);
    const alm_token second = alm_lex(parser->text, next.end, false);
    const bool named =
        alm_token_is_op(second, ALM_OP_COMMA) || alm_token_is_op(second, ALM_OP_RPAREN);
    if (alm_at_op(parser, ALM_OP_LPAREN) && (named || !alm_starts_query(next)))
        ALM_TRY(alm_parse_insert_cols(parser, stmt));
    return ALM_OK;
}

alm_status alm_parse_insert(alm_parser *parser, alm_stmt *stmt)
{
    ALM_TRY(parse_insert_into(parser, stmt));
    if (alm_take_kw(parser, ALM_KW_VALUES))
        ALM_TRY(alm_parse_rows(parser, stmt));
    else if (alm_starts_query(parser->tok) || alm_at_op(parser, ALM_OP_LPAREN))
        ALM_TRY(alm_parse_query(parser, &stmt->select));
    else
        return alm_parse_fail(parser, parser->tok.pos, "'(' or 'select' expected");
    return alm_parse_returning(parser, stmt);
}

/* ------------------------------------------------------------------ update */

static alm_status parse_assignment(alm_parser *parser, alm_stmt *stmt, alm_name_set *seen,
                                   alm_assign *assign)
{
    alm_parse_name name;
    alm_str table = {0};
    if (alm_token_is_op(alm_parse_peek(parser),
                        ALM_OP_EQ)) /* SET order = 1: nothing else could stand */
        ALM_TRY(alm_parse_any_name(parser, "column name", &name));
    else
        ALM_TRY(alm_parse_qualified(parser, "column name", &table, &name));
    const alm_str known = stmt->alias.len > 0 ? stmt->alias : stmt->table;
    if (table.len > 0 && !alm_str_ieq(table, known))
        return alm_fail(parser->cx, ALM_E_TABLE, name.pos, "Invalid table name or alias");
    assign->col = name.text;
    assign->pos = name.pos;
    uint32_t had = ALM_NAME_NONE;
    ALM_TRY(alm_nodes_add(parser->cx, 1, assign->pos));
    ALM_TRY(alm_name_set_add(parser->cx, seen, assign->col, stmt->n_set, &had));
    if (had != ALM_NAME_NONE)
        return alm_parse_fail(parser, assign->pos, "Duplicate column [name=%.*s] in SET clause",
                              (int)ALM_MIN(assign->col.len, 100), assign->col.ptr);
    ALM_TRY(alm_expect_op(parser, ALM_OP_EQ, "'=' expected"));
    return alm_parse_expr(parser, &assign->value);
}

static alm_status parse_update_table(alm_parser *parser, alm_stmt *stmt)
{
    alm_parse_name name;
    ALM_TRY(alm_parse_table(parser, "table name or alias", &name));
    stmt->table = name.text;
    stmt->table_quoted = name.quoted;
    stmt->table_pos = name.pos;
    if (alm_at_end(parser))
        return alm_parse_fail(parser, parser->tok.pos, "AS, SET or table alias expected expected");
    if (alm_take_kw(parser, ALM_KW_AS) || !alm_at_kw(parser, ALM_KW_SET)) {
        ALM_TRY(alm_parse_ident(parser, "table alias", &name));
        stmt->alias = name.text;
    }
    return alm_expect_kw(parser, ALM_KW_SET, "SET expected");
}

static alm_status parse_update_where(alm_parser *parser, alm_stmt *stmt)
{
    stmt->where_pos = parser->tok.pos;
    alm_parse_next(parser);
    if (alm_at_end(parser))
        return alm_parse_fail(parser, stmt->where_pos, "empty where clause");
    parser->no_window = true;
    return alm_parse_expr(parser, &stmt->where);
}

/* WITH before UPDATE comes in as stmt->select, a query without a body (alm_parse_statement). */
alm_status alm_parse_update(alm_parser *parser, alm_stmt *stmt)
{
    uint32_t cap = 0;
    alm_name_set seen = {0};
    ALM_TRY(parse_update_table(parser, stmt));
    do {
        ALM_TRY(ALM_GROW(parser, &stmt->set, stmt->n_set, &cap));
        ALM_TRY(parse_assignment(parser, stmt, &seen, &stmt->set[stmt->n_set]));
        stmt->n_set++;
    } while (alm_take_op(parser, ALM_OP_COMMA));
    if (alm_take_kw(parser, ALM_KW_FROM))
        ALM_TRY(alm_parse_from(parser, &stmt->from, &stmt->n_from));
    if (alm_at_kw(parser, ALM_KW_WHERE))
        ALM_TRY(parse_update_where(parser, stmt));
    parser->no_window = false;
    ALM_TRY(alm_parse_returning(parser, stmt));
    if (!alm_at_end(parser))
        return alm_parse_fail(parser, parser->tok.pos, "FROM, WHERE or EOF expected");
    return ALM_OK;
}

alm_status alm_parse_delete(alm_parser *parser, alm_stmt *stmt)
{
    alm_parse_name name;
    ALM_TRY(alm_expect_kw(parser, ALM_KW_FROM, "FROM expected"));
    ALM_TRY(alm_parse_table(parser, "table name", &name));
    stmt->table = name.text;
    stmt->table_quoted = name.quoted;
    stmt->table_pos = name.pos;
    if (alm_take_kw(parser, ALM_KW_AS) ||
        (!alm_at_end(parser) && !alm_at_kw(parser, ALM_KW_WHERE) &&
         !alm_at_kw(parser, ALM_KW_RETURNING))) {
        ALM_TRY(alm_parse_ident(parser, "table alias", &name));
        stmt->alias = name.text;
    }
    if (alm_at_kw(parser, ALM_KW_WHERE))
        ALM_TRY(parse_update_where(parser, stmt));
    parser->no_window = false;
    ALM_TRY(alm_parse_returning(parser, stmt));
    if (!alm_at_end(parser))
        return alm_parse_fail(parser, parser->tok.pos, "WHERE or EOF expected");
    return ALM_OK;
}
