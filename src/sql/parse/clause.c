/*
 * clause.c - the clauses of time series: SAMPLE BY, LATEST ON; also LIMIT, PIVOT and UNPIVOT.
 */
#include "sql/parse/parse.h"

/* ------------------------------------------------------------------ sample by */

static bool is_unit(char c)
{
    return c != 0 && strchr("nUTsmhdwMy", c) != NULL;
}

/* A period as one token: 1h, 15m, 500T, or the unit alone. */
static alm_status read_period(alm_parser *p, alm_sample_by *sample, alm_str t, int32_t pos)
{
    int64_t count = 0;
    size_t i = 0;
    while (i < t.len && ((t.ptr[i] >= '0' && t.ptr[i] <= '9') || t.ptr[i] == '_')) {
        if (t.ptr[i] != '_' && (__builtin_mul_overflow(count, 10, &count) ||
                                __builtin_add_overflow(count, t.ptr[i] - '0', &count)))
            return alm_parse_fail(p, pos, "period is too long: %.*s", (int)ALM_MIN(t.len, 40),
                                  t.ptr);
        i++;
    }
    if (i + 1 != t.len || !is_unit(t.ptr[i]))
        return alm_parse_fail(p, pos, "Invalid unit: %.*s", (int)ALM_MIN(t.len, 40), t.ptr);
    if (i > 0 && count == 0)
        return alm_parse_fail(p, pos, "positive number expected: %.*s", (int)t.len, t.ptr);
    sample->count = i == 0 ? 1 : count;
    sample->unit = t.ptr[i];
    return ALM_OK;
}

static alm_status parse_period(alm_parser *p, alm_sample_by *sample)
{
    const alm_token first = p->tok;
    const alm_str text = alm_token_text(p, first);
    sample->pos = first.pos;
    if (alm_at_end(p))
        return alm_parse_fail(p, first.pos, "time interval unit expected");
    if (first.kind == ALM_TOK_NAME && text.len == 1 && is_unit(text.ptr[0])) {
        ALM_TRY(alm_parse_node(p, ALM_AST_NUMBER, first.pos, &sample->period));
        sample->period->text = sample->period->raw = text;
        alm_parse_next(p);
        return read_period(p, sample, text, first.pos);
    }
    ALM_TRY(alm_parse_expr_at(p, ALM_PREC_MUL, &sample->period));
    const alm_str next = alm_token_text(p, p->tok);
    const bool unit = p->tok.kind == ALM_TOK_NAME && next.len == 1 && is_unit(next.ptr[0]);
    if (sample->period->kind == ALM_AST_NUMBER && !unit)
        return read_period(p, sample, sample->period->text, sample->period->pos);
    if (!unit)
        return alm_parse_fail(p, p->tok.pos, "time interval unit expected");
    sample->count_expr = sample->period;
    sample->unit = next.ptr[0];
    alm_parse_next(p);
    return ALM_OK;
}

static alm_status parse_prev(alm_parser *p, alm_fill *f)
{
    alm_parse_name name;
    f->kind = 'p';
    if (!alm_take_op(p, ALM_OP_LPAREN))
        return ALM_OK;
    ALM_TRY(alm_parse_ident(p, "column name", &name));
    f->prev = name.text;
    return alm_expect_op(p, ALM_OP_RPAREN, "')' expected");
}

static alm_status parse_fill(alm_parser *p, alm_sample_by *sample)
{
    uint32_t cap = 0;
    alm_parse_next(p);
    ALM_TRY(alm_expect_op(p, ALM_OP_LPAREN, "'(' expected"));
    do {
        ALM_TRY(ALM_GROW(p, &sample->fill, sample->n_fill, &cap));
        alm_fill *f = &sample->fill[sample->n_fill];
        f->pos = p->tok.pos;
        if (alm_take_kw(p, ALM_KW_NONE))
            f->kind = 'n';
        else if (alm_take_kw(p, ALM_KW_NULL))
            f->kind = 'N';
        else if (alm_take_kw(p, ALM_KW_PREV))
            ALM_TRY(parse_prev(p, f));
        else if (alm_take_word(p, "linear"))
            f->kind = 'l';
        else if (!alm_starts_expr(p))
            return alm_parse_fail(p, p->tok.pos,
                                  "'none', 'prev', 'mid', 'null' or number expected");
        else
            ALM_TRY(alm_parse_expr(p, &f->value));
        if (f->value != NULL)
            f->kind = 'v';
        sample->n_fill++;
    } while (alm_take_op(p, ALM_OP_COMMA));
    return alm_expect_op(p, ALM_OP_RPAREN, "')' expected");
}

static alm_status parse_align_arg(alm_parser *p, alm_ast **out)
{
    alm_parse_next(p); /* zone or offset */
    if (!alm_starts_expr(p))
        return alm_parse_fail(p, p->tok.pos, "Expression expected");
    return alm_parse_expr(p, out);
}

static alm_status parse_align(alm_parser *p, alm_sample_by *sample)
{
    alm_parse_next(p);
    ALM_TRY(alm_expect_kw(p, ALM_KW_TO, "'to' expected"));
    if (alm_take_kw(p, ALM_KW_FIRST)) {
        sample->align = 'f';
        ALM_TRY(alm_expect_kw(p, ALM_KW_OBSERVATION, "'observation' expected"));
        if (sample->from != NULL || sample->to != NULL)
            return alm_parse_fail(p, p->tok.pos,
                                  "ALIGN TO FIRST OBSERVATION is incompatible with FROM-TO");
        return ALM_OK;
    }
    ALM_TRY(alm_expect_kw(p, ALM_KW_CALENDAR, "'calendar' or 'first observation' expected"));
    sample->align = 'c';
    if (alm_take_kw(p, ALM_KW_TIME)) {
        if (!alm_at_kw(p, ALM_KW_ZONE))
            return alm_parse_fail(p, p->tok.pos, "'zone' expected");
        ALM_TRY(parse_align_arg(p, &sample->zone));
    }
    if (alm_take_kw(p, ALM_KW_WITH)) {
        if (!alm_at_kw(p, ALM_KW_OFFSET))
            return alm_parse_fail(p, p->tok.pos, "'offset' expected");
        ALM_TRY(parse_align_arg(p, &sample->offset));
    }
    return ALM_OK;
}

static alm_status parse_bound(alm_parser *p, alm_ast **out)
{
    const int32_t pos = p->tok.pos;
    alm_parse_next(p); /* from or to */
    if (!alm_starts_expr(p))
        return alm_parse_fail(p, pos, "'timestamp' expression expected");
    return alm_parse_expr(p, out);
}

alm_status alm_parse_sample(alm_parser *p, alm_select *sel)
{
    alm_parse_next(p);
    ALM_TRY(alm_expect_kw(p, ALM_KW_BY, "'by' expected"));
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &sel->sample));
    ALM_TRY(parse_period(p, sel->sample));
    if (alm_at_kw(p, ALM_KW_FROM))
        ALM_TRY(parse_bound(p, &sel->sample->from));
    if (alm_at_kw(p, ALM_KW_TO))
        ALM_TRY(parse_bound(p, &sel->sample->to));
    if (alm_at_kw(p, ALM_KW_FILL))
        ALM_TRY(parse_fill(p, sel->sample));
    if (alm_at_kw(p, ALM_KW_ALIGN))
        ALM_TRY(parse_align(p, sel->sample));
    return ALM_OK;
}

/* ------------------------------------------------------------------ latest on */

alm_status alm_parse_latest(alm_parser *p, alm_select *sel)
{
    sel->latest_pos = p->tok.pos;
    alm_parse_next(p);
    if (alm_take_kw(p, ALM_KW_BY))
        return alm_parse_exprs(p, &sel->latest_by, &sel->n_latest_by);
    ALM_TRY(alm_expect_kw(p, ALM_KW_ON, "'on' or 'by' expected"));
    alm_str table;
    alm_parse_name name;
    sel->latest_pos = p->tok.pos;
    ALM_TRY(alm_parse_qualified(p, "column name", &table, &name));
    sel->latest_ts = name.text;
    ALM_TRY(alm_expect_kw(p, ALM_KW_PARTITION, "'partition' expected"));
    ALM_TRY(alm_expect_kw(p, ALM_KW_BY, "'by' expected"));
    if (alm_at_end(p) || alm_at_op(p, ALM_OP_RPAREN))
        return alm_parse_fail(p, p->tok.pos, "literal expected");
    return alm_parse_exprs(p, &sel->latest_by, &sel->n_latest_by);
}

/* ------------------------------------------------------------------ limit */

static alm_status parse_offset(alm_parser *p, alm_select *sel)
{
    if (!alm_at_kw(p, ALM_KW_OFFSET) || sel->offset != NULL)
        return ALM_OK;
    alm_parse_next(p);
    ALM_TRY(alm_parse_expr(p, &sel->offset));
    if (!alm_take_kw(p, ALM_KW_ROWS))
        (void)alm_take_kw(p, ALM_KW_ROW);
    return ALM_OK;
}

/* FETCH FIRST [n] ROWS ONLY | WITH TIES */
static alm_status parse_fetch(alm_parser *p, alm_select *sel)
{
    sel->limit_pos = p->tok.pos;
    alm_parse_next(p);
    if (!alm_take_kw(p, ALM_KW_FIRST) && !alm_take_word(p, "next"))
        return alm_parse_fail(p, p->tok.pos, "'first' expected");
    if (alm_at_kw(p, ALM_KW_ROW) || alm_at_kw(p, ALM_KW_ROWS)) {
        ALM_TRY(alm_parse_node(p, ALM_AST_NUMBER, p->tok.pos, &sel->limit_lo));
        sel->limit_lo->text = ALM_STR("1");
    } else {
        ALM_TRY(alm_parse_expr(p, &sel->limit_lo));
    }
    if (!alm_take_kw(p, ALM_KW_ROWS) && !alm_take_kw(p, ALM_KW_ROW))
        return alm_parse_fail(p, p->tok.pos, "'rows' expected");
    if (alm_take_word(p, "only"))
        return ALM_OK;
    if (!alm_take_kw(p, ALM_KW_WITH) || !alm_take_word(p, "ties"))
        return alm_parse_fail(p, p->tok.pos, "'only' or 'with ties' expected");
    if (sel->n_order == 0)
        return alm_parse_fail(p, sel->limit_pos, "WITH TIES needs ORDER BY");
    sel->with_ties = true;
    return ALM_OK;
}

alm_status alm_parse_limit(alm_parser *p, alm_select *sel)
{
    ALM_TRY(parse_offset(p, sel));
    if (alm_at_kw(p, ALM_KW_FETCH))
        return parse_fetch(p, sel);
    if (!alm_at_kw(p, ALM_KW_LIMIT))
        return ALM_OK;
    sel->limit_pos = p->tok.pos;
    alm_parse_next(p);
    if (alm_take_kw(p, ALM_KW_ALL))
        return parse_offset(p, sel);
    ALM_TRY(alm_parse_expr(p, &sel->limit_lo));
    if (alm_take_op(p, ALM_OP_COMMA)) {
        sel->limit_comma = true;
        ALM_TRY(alm_parse_expr(p, &sel->limit_hi));
    }
    return parse_offset(p, sel);
}

/* ------------------------------------------------------------------ pivot */

static alm_status parse_aggregates(alm_parser *p, alm_pivot *pivot)
{
    uint32_t cap = 0;
    if (alm_at_op(p, ALM_OP_RPAREN) || alm_at_end(p))
        return alm_parse_fail(p, p->tok.pos, "missing aggregate function expression");
    do {
        if (alm_at_kw(p, ALM_KW_FOR)) {
            const alm_str t = alm_token_text(p, p->tok);
            return alm_parse_fail(p, p->tok.pos, "expected aggregate function [col=%.*s]",
                                  (int)t.len, t.ptr);
        }
        ALM_TRY(ALM_GROW(p, &pivot->aggs, pivot->n_aggs, &cap));
        ALM_TRY(alm_parse_item(p, &pivot->aggs[pivot->n_aggs]));
        pivot->n_aggs++;
    } while (alm_take_op(p, ALM_OP_COMMA));
    return alm_expect_kw(p, ALM_KW_FOR, "expected FOR");
}

static alm_status parse_for(alm_parser *p, alm_pivot_for *f)
{
    uint32_t cap = 0;
    f->pos = p->tok.pos;
    ALM_TRY(alm_parse_expr_at(p, ALM_PREC_BIT_OR, &f->column));
    ALM_TRY(alm_expect_kw(p, ALM_KW_IN, "'in' expected"));
    ALM_TRY(alm_expect_op(p, ALM_OP_LPAREN, "'(' expected"));
    f->in_pos = p->tok.pos;
    if (alm_starts_query(p->tok)) {
        ALM_TRY(alm_parse_query(p, &f->select));
        return alm_expect_op(p, ALM_OP_RPAREN, "')' expected");
    }
    do {
        if (!alm_starts_expr(p))
            return alm_parse_fail(p, p->tok.pos, "missing constant");
        ALM_TRY(ALM_GROW(p, &f->values, f->n_values, &cap));
        ALM_TRY(alm_parse_item(p, &f->values[f->n_values]));
        f->n_values++;
    } while (alm_take_op(p, ALM_OP_COMMA));
    return alm_expect_op(p, ALM_OP_RPAREN, "')' expected");
}

alm_status alm_parse_pivot(alm_parser *p, alm_select *sel)
{
    alm_pivot *pivot = NULL;
    uint32_t cap = 0;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &pivot));
    pivot->pos = p->tok.pos;
    alm_parse_next(p);
    ALM_TRY(alm_expect_op(p, ALM_OP_LPAREN, "'(' expected"));
    ALM_TRY(parse_aggregates(p, pivot));
    do {
        ALM_TRY(ALM_GROW(p, &pivot->fors, pivot->n_fors, &cap));
        ALM_TRY(parse_for(p, &pivot->fors[pivot->n_fors]));
        pivot->n_fors++;
    } while (!alm_at_op(p, ALM_OP_RPAREN) && !alm_at_kw(p, ALM_KW_GROUP) && !alm_at_end(p));
    if (alm_take_kw(p, ALM_KW_GROUP)) {
        ALM_TRY(alm_expect_kw(p, ALM_KW_BY, "'by' expected"));
        ALM_TRY(alm_parse_exprs(p, &pivot->group, &pivot->n_group));
    }
    sel->ext = pivot;
    return alm_expect_op(p, ALM_OP_RPAREN, "')' expected");
}

/* UNPIVOT [INCLUDE NULLS | EXCLUDE NULLS] (value FOR name IN (column [AS name], ...)) */
alm_status alm_parse_unpivot(alm_parser *p, alm_select *sel)
{
    alm_unpivot *u = NULL;
    alm_parse_name name;
    uint32_t cap = 0;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &u));
    u->pos = p->tok.pos;
    alm_parse_next(p);
    u->nulls = alm_at_kw(p, ALM_KW_INCLUDE);
    if (u->nulls || alm_at_kw(p, ALM_KW_EXCLUDE)) {
        alm_parse_next(p);
        if (!alm_take_kw(p, ALM_KW_NULLS))
            return alm_parse_fail(p, p->tok.pos, "'nulls' expected");
    }
    ALM_TRY(alm_expect_op(p, ALM_OP_LPAREN, "'(' expected"));
    ALM_TRY(alm_parse_ident(p, "name of the values", &name));
    u->value = name.text;
    ALM_TRY(alm_expect_kw(p, ALM_KW_FOR, "'for' expected"));
    ALM_TRY(alm_parse_ident(p, "name of the names", &name));
    u->name = name.text;
    ALM_TRY(alm_expect_kw(p, ALM_KW_IN, "'in' expected"));
    ALM_TRY(alm_expect_op(p, ALM_OP_LPAREN, "'(' expected"));
    do {
        ALM_TRY(ALM_GROW(p, &u->columns, u->n_columns, &cap));
        ALM_TRY(alm_parse_item(p, &u->columns[u->n_columns]));
        const alm_ast *column = u->columns[u->n_columns++].expr;
        if (column->kind != ALM_AST_NAME)
            return alm_parse_fail(p, column->pos, "column name expected");
    } while (alm_take_op(p, ALM_OP_COMMA));
    ALM_TRY(alm_expect_op(p, ALM_OP_RPAREN, "')' expected"));
    sel->unpivot = u;
    return alm_expect_op(p, ALM_OP_RPAREN, "')' expected");
}
