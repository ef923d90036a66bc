/*
 * write.c - INSERT and UPDATE. Rows of VALUES are the one place where a statement may be
 * megabytes long: a plain literal costs one token and one node.
 */
#include "base/number.h"
#include "sql/parse/parse.h"
#include "sql/plan/name_set.h"

/* ------------------------------------------------------------------ rows */

/* [-] literal followed by , or ); anything else is an expression. */
static alm_status parse_value(alm_parser *p, alm_ast **out)
{
    ALM_TRY(alm_parse_literal(p, out));
    if (*out == NULL) {
        if (!alm_starts_expr(p))
            return alm_parse_fail(p, p->tok.pos, "Expression expected");
        return alm_parse_expr(p, out);
    }
    if (alm_at_op(p, ALM_OP_COMMA) || alm_at_op(p, ALM_OP_RPAREN))
        return ALM_OK;
    return alm_parse_expr_rest(p, *out, ALM_PREC_OR, out);
}

static alm_status parse_row(alm_parser *p, uint32_t guess, alm_ast ***out, uint32_t *n)
{
    alm_ast **row = NULL;
    uint32_t cap = guess;
    *n = 0;
    if (cap > 0)
        ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, cap, &row));
    do {
        ALM_TRY(ALM_GROW(p, &row, *n, &cap));
        ALM_TRY(parse_value(p, &row[*n]));
        (*n)++;
    } while (alm_take_op(p, ALM_OP_COMMA));
    *out = row;
    if (alm_at_op(p, ALM_OP_RPAREN))
        return ALM_OK;
    return alm_parse_fail(p, p->tok.pos, alm_at_end(p) ? "',' expected" : "')' expected");
}

alm_status alm_parse_rows(alm_parser *p, alm_stmt *s)
{
    uint32_t cap[4] = {0};
    const int64_t before = p->cx->nodes;
    do {
        const uint32_t r = s->n_rows;
        ALM_TRY(ALM_GROW(p, &s->rows, r, &cap[0]));
        ALM_TRY(ALM_GROW(p, &s->row_lens, r, &cap[1]));
        ALM_TRY(ALM_GROW(p, &s->row_pos, r, &cap[2]));
        ALM_TRY(ALM_GROW(p, &s->row_end, r, &cap[3]));
        s->row_pos[r] = p->tok.pos;
        p->cx->nodes = before; /* rows are data: their number has no bound but that of memory */
        ALM_TRY(alm_steps_add(p->cx, 16));
        ALM_TRY(alm_expect_op(p, ALM_OP_LPAREN, "'(' expected"));
        ALM_TRY(parse_row(p, r > 0 ? s->row_lens[r - 1] : 0, &s->rows[r], &s->row_lens[r]));
        s->row_end[r] = p->tok.pos;
        alm_parse_next(p);
        s->n_rows++;
    } while (alm_take_op(p, ALM_OP_COMMA));
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

alm_status alm_parse_lag(alm_parser *p, int64_t *us)
{
    const alm_str t = alm_token_text(p, p->tok);
    if (p->tok.kind != ALM_TOK_NUMBER || !alm_lag_read(t, us))
        return alm_parse_fail(p, p->tok.pos, "invalid interval qualifier %.*s",
                              (int)ALM_MIN(t.len, 40), t.ptr);
    alm_parse_next(p);
    return ALM_OK;
}

alm_status alm_parse_insert_cols(alm_parser *p, alm_stmt *s)
{
    uint32_t cap = 0, cap_pos = 0;
    do {
        alm_parse_name name;
        alm_parse_next(p); /* ( or , */
        if (alm_at_op(p, ALM_OP_RPAREN))
            return alm_parse_fail(p, p->tok.pos, "found [tok=')', len=1] missing column name");
        ALM_TRY(ALM_GROW(p, &s->insert_cols, s->n_insert_cols, &cap));
        ALM_TRY(ALM_GROW(p, &s->insert_pos, s->n_insert_cols, &cap_pos));
        ALM_TRY(alm_parse_ident(p, "column name", &name));
        s->insert_cols[s->n_insert_cols] = name.text;
        s->insert_pos[s->n_insert_cols++] = name.pos;
    } while (alm_at_op(p, ALM_OP_COMMA));
    return alm_expect_op(p, ALM_OP_RPAREN, "')' expected");
}

static alm_status parse_insert_options(alm_parser *p, alm_stmt *s)
{
    if (alm_take_kw(p, ALM_KW_ATOMIC))
        return ALM_OK; /* every INSERT is */
    if (!alm_take_kw(p, ALM_KW_BATCH))
        return ALM_OK;
    ALM_TRY(alm_parse_int(p, "batch size", &s->batch_size));
    if (alm_take_kw(p, ALM_KW_O3MAXLAG))
        ALM_TRY(alm_parse_lag(p, &s->o3_max_lag_us));
    return ALM_OK;
}

static alm_status parse_insert_into(alm_parser *p, alm_stmt *s)
{
    alm_parse_name name;
    ALM_TRY(parse_insert_options(p, s));
    ALM_TRY(alm_expect_kw(p, ALM_KW_INTO, "'into' expected"));
    ALM_TRY(alm_parse_table(p, "table name", &name));
    s->table = name.text;
    s->table_quoted = name.quoted;
    s->table_pos = name.pos;
    const alm_token next = alm_parse_peek(p);
    const alm_token second = alm_lex(p->text, next.end, false);
    const bool named =
        alm_token_is_op(second, ALM_OP_COMMA) || alm_token_is_op(second, ALM_OP_RPAREN);
    if (alm_at_op(p, ALM_OP_LPAREN) && (named || !alm_starts_query(next)))
        ALM_TRY(alm_parse_insert_cols(p, s));
    return ALM_OK;
}

alm_status alm_parse_insert(alm_parser *p, alm_stmt *s)
{
    ALM_TRY(parse_insert_into(p, s));
    if (alm_take_kw(p, ALM_KW_VALUES))
        ALM_TRY(alm_parse_rows(p, s));
    else if (alm_starts_query(p->tok) || alm_at_op(p, ALM_OP_LPAREN))
        ALM_TRY(alm_parse_query(p, &s->select));
    else
        return alm_parse_fail(p, p->tok.pos, "'(' or 'select' expected");
    return alm_parse_returning(p, s);
}

/* ------------------------------------------------------------------ update */

static alm_status parse_assignment(alm_parser *p, alm_stmt *s, alm_name_set *seen, alm_assign *a)
{
    alm_parse_name name;
    alm_str table = {0};
    if (alm_token_is_op(alm_parse_peek(p), ALM_OP_EQ)) /* SET order = 1: nothing else could stand */
        ALM_TRY(alm_parse_any_name(p, "column name", &name));
    else
        ALM_TRY(alm_parse_qualified(p, "column name", &table, &name));
    const alm_str known = s->alias.len > 0 ? s->alias : s->table;
    if (table.len > 0 && !alm_str_ieq(table, known))
        return alm_fail(p->cx, ALM_E_TABLE, name.pos, "Invalid table name or alias");
    a->col = name.text;
    a->pos = name.pos;
    uint32_t had = ALM_NAME_NONE;
    ALM_TRY(alm_nodes_add(p->cx, 1, a->pos));
    ALM_TRY(alm_name_set_add(p->cx, seen, a->col, s->n_set, &had));
    if (had != ALM_NAME_NONE)
        return alm_parse_fail(p, a->pos, "Duplicate column [name=%.*s] in SET clause",
                              (int)ALM_MIN(a->col.len, 100), a->col.ptr);
    ALM_TRY(alm_expect_op(p, ALM_OP_EQ, "'=' expected"));
    return alm_parse_expr(p, &a->value);
}

static alm_status parse_update_table(alm_parser *p, alm_stmt *s)
{
    alm_parse_name name;
    ALM_TRY(alm_parse_table(p, "table name or alias", &name));
    s->table = name.text;
    s->table_quoted = name.quoted;
    s->table_pos = name.pos;
    if (alm_at_end(p))
        return alm_parse_fail(p, p->tok.pos, "AS, SET or table alias expected expected");
    if (alm_take_kw(p, ALM_KW_AS) || !alm_at_kw(p, ALM_KW_SET)) {
        ALM_TRY(alm_parse_ident(p, "table alias", &name));
        s->alias = name.text;
    }
    return alm_expect_kw(p, ALM_KW_SET, "SET expected");
}

static alm_status parse_update_where(alm_parser *p, alm_stmt *s)
{
    s->where_pos = p->tok.pos;
    alm_parse_next(p);
    if (alm_at_end(p))
        return alm_parse_fail(p, s->where_pos, "empty where clause");
    p->no_window = true;
    return alm_parse_expr(p, &s->where);
}

/* WITH before UPDATE comes in as s->select, a query without a body (alm_parse_statement). */
alm_status alm_parse_update(alm_parser *p, alm_stmt *s)
{
    uint32_t cap = 0;
    alm_name_set seen = {0};
    ALM_TRY(parse_update_table(p, s));
    do {
        ALM_TRY(ALM_GROW(p, &s->set, s->n_set, &cap));
        ALM_TRY(parse_assignment(p, s, &seen, &s->set[s->n_set]));
        s->n_set++;
    } while (alm_take_op(p, ALM_OP_COMMA));
    if (alm_take_kw(p, ALM_KW_FROM))
        ALM_TRY(alm_parse_from(p, &s->from, &s->n_from));
    if (alm_at_kw(p, ALM_KW_WHERE))
        ALM_TRY(parse_update_where(p, s));
    p->no_window = false;
    ALM_TRY(alm_parse_returning(p, s));
    if (!alm_at_end(p))
        return alm_parse_fail(p, p->tok.pos, "FROM, WHERE or EOF expected");
    return ALM_OK;
}

alm_status alm_parse_delete(alm_parser *p, alm_stmt *s)
{
    alm_parse_name name;
    ALM_TRY(alm_expect_kw(p, ALM_KW_FROM, "FROM expected"));
    ALM_TRY(alm_parse_table(p, "table name", &name));
    s->table = name.text;
    s->table_quoted = name.quoted;
    s->table_pos = name.pos;
    if (alm_take_kw(p, ALM_KW_AS) ||
        (!alm_at_end(p) && !alm_at_kw(p, ALM_KW_WHERE) && !alm_at_kw(p, ALM_KW_RETURNING))) {
        ALM_TRY(alm_parse_ident(p, "table alias", &name));
        s->alias = name.text;
    }
    if (alm_at_kw(p, ALM_KW_WHERE))
        ALM_TRY(parse_update_where(p, s));
    p->no_window = false;
    ALM_TRY(alm_parse_returning(p, s));
    if (!alm_at_end(p))
        return alm_parse_fail(p, p->tok.pos, "WHERE or EOF expected");
    return ALM_OK;
}
