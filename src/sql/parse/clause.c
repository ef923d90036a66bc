/*
 * clause.c - the clauses of time series: SAMPLE BY, LATEST ON; also LIMIT, PIVOT and UNPIVOT.
 */
#include "sql/parse/parse.h"

/* ------------------------------------------------------------------ sample by */

static bool is_unit(char byte)
{
    return byte != 0 && strchr("nUTsmhdwMy", byte) != NULL;
}

/* A period as one token: 1h, 15m, 500T, or the unit alone. */
static alm_status clause_read_period(alm_parser *parser, alm_sample_by *sample, alm_str text,
                                     int32_t pos)
{
    int64_t count = 0;
    size_t i = 0;
    while (i < text.len && ((text.ptr[i] >= '0' && text.ptr[i] <= '9') || text.ptr[i] == '_')) {
        if (text.ptr[i] != '_' && (__builtin_mul_overflow(count, 10, &count) ||
                                   __builtin_add_overflow(count, text.ptr[i] - '0', &count)))
            return alm_parse_fail(parser, pos, "period is too long: %.*s",
                                  (int)ALM_MIN(text.len, 40), text.ptr);
        i++;
    }
    if (i + 1 != text.len || !is_unit(text.ptr[i]))
        return alm_parse_fail(parser, pos, "Invalid unit: %.*s", (int)ALM_MIN(text.len, 40),
                              text.ptr);
    if (i > 0 && count == 0)
        return alm_parse_fail(parser, pos, "positive number expected: %.*s", (int)text.len,
                              text.ptr);
    sample->count = i == 0 ? 1 : count;
    sample->unit = text.ptr[i];
    return ALM_OK;
}

static alm_status clause_parse_period(alm_parser *parser, alm_sample_by *sample)
{
    const alm_token first = parser->tok;
    const alm_str text = alm_token_text(parser, first);
    sample->pos = first.pos;
    if (alm_at_end(parser))
        return alm_parse_fail(parser, first.pos, "time interval unit expected");
    if (first.kind == ALM_TOK_NAME && text.len == 1 && is_unit(text.ptr[0])) {
        ALM_TRY(alm_parse_node(parser, ALM_AST_NUMBER, first.pos, &sample->period));
        sample->period->text = sample->period->raw = text;
        alm_parse_next(parser);
        return clause_read_period(parser, sample, text, first.pos);
    }
    ALM_TRY(alm_parse_expr_at(parser, ALM_PREC_MUL, &sample->period));
    const alm_str next = alm_token_text(parser, parser->tok);
    const bool unit = parser->tok.kind == ALM_TOK_NAME && next.len == 1 && is_unit(next.ptr[0]);
    if (sample->period->kind == ALM_AST_NUMBER && !unit)
        return clause_read_period(parser, sample, sample->period->text, sample->period->pos);
    if (!unit)
        return alm_parse_fail(parser, parser->tok.pos, "time interval unit expected");
    sample->count_expr = sample->period;
    sample->unit = next.ptr[0];
    alm_parse_next(parser);
    return ALM_OK;
}

static alm_status parse_prev(alm_parser *parser, alm_fill *fill)
{
    alm_parse_name name;
    fill->kind = 'p';
    if (!alm_take_op(parser, ALM_OP_LPAREN))
        return ALM_OK;
    ALM_TRY(alm_parse_ident(parser, "column name", &name));
    fill->prev = name.text;
    return alm_expect_op(parser, ALM_OP_RPAREN, "')' expected");
}

static alm_status parse_fill(alm_parser *parser, alm_sample_by *sample)
{
    uint32_t cap = 0;
    alm_parse_next(parser);
    ALM_TRY(alm_expect_op(parser, ALM_OP_LPAREN, "'(' expected"));
    do {
        ALM_TRY(ALM_GROW(parser, &sample->fill, sample->n_fill, &cap));
        alm_fill *fill = &sample->fill[sample->n_fill];
        fill->pos = parser->tok.pos;
        if (alm_take_kw(parser, ALM_KW_NONE))
            fill->kind = 'n';
        else if (alm_take_kw(parser, ALM_KW_NULL))
            fill->kind = 'N';
        else if (alm_take_kw(parser, ALM_KW_PREV))
            ALM_TRY(parse_prev(parser, fill));
        else if (alm_take_word(parser, "linear"))
            fill->kind = 'l';
        else if (!alm_starts_expr(parser))
            return alm_parse_fail(parser, parser->tok.pos,
                                  "'none', 'prev', 'mid', 'null' or number expected");
        else
            ALM_TRY(alm_parse_expr(parser, &fill->value));
        if (fill->value != NULL)
            fill->kind = 'v';
        sample->n_fill++;
    } while (alm_take_op(parser, ALM_OP_COMMA));
    return alm_expect_op(parser, ALM_OP_RPAREN, "')' expected");
}

static alm_status parse_align_arg(alm_parser *parser, alm_ast **out)
{
    alm_parse_next(parser); /* zone or offset */
    if (!alm_starts_expr(parser))
        return alm_parse_fail(parser, parser->tok.pos, "Expression expected");
    return alm_parse_expr(parser, out);
}

static alm_status parse_align(alm_parser *parser, alm_sample_by *sample)
{
    alm_parse_next(parser);
    ALM_TRY(alm_expect_kw(parser, ALM_KW_TO, "'to' expected"));
    if (alm_take_kw(parser, ALM_KW_FIRST)) {
        sample->align = 'f';
        ALM_TRY(alm_expect_kw(parser, ALM_KW_OBSERVATION, "'observation' expected"));
        if (sample->from != NULL || sample->to != NULL)
            return alm_parse_fail(parser, parser->tok.pos,
                                  "ALIGN TO FIRST OBSERVATION is incompatible with FROM-TO");
        return ALM_OK;
    }
    ALM_TRY(alm_expect_kw(parser, ALM_KW_CALENDAR, "'calendar' or 'first observation' expected"));
    sample->align = 'c';
    if (alm_take_kw(parser, ALM_KW_TIME)) {
        if (!alm_at_kw(parser, ALM_KW_ZONE))
            return alm_parse_fail(parser, parser->tok.pos, "'zone' expected");
        ALM_TRY(parse_align_arg(parser, &sample->zone));
    }
    if (alm_take_kw(parser, ALM_KW_WITH)) {
        if (!alm_at_kw(parser, ALM_KW_OFFSET))
            return alm_parse_fail(parser, parser->tok.pos, "'offset' expected");
        ALM_TRY(parse_align_arg(parser, &sample->offset));
    }
    return ALM_OK;
}

static alm_status clause_parse_bound(alm_parser *parser, alm_ast **out)
{
    const int32_t pos = parser->tok.pos;
    alm_parse_next(parser); /* from or to */
    if (!alm_starts_expr(parser))
        return alm_parse_fail(parser, pos, "'timestamp' expression expected");
    return alm_parse_expr(parser, out);
}

alm_status alm_parse_sample(alm_parser *parser, alm_select *sel)
{
    alm_parse_next(parser);
    ALM_TRY(alm_expect_kw(parser, ALM_KW_BY, "'by' expected"));
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &sel->sample));
    ALM_TRY(clause_parse_period(parser, sel->sample));
    if (alm_at_kw(parser, ALM_KW_FROM))
        ALM_TRY(clause_parse_bound(parser, &sel->sample->from));
    if (alm_at_kw(parser, ALM_KW_TO))
        ALM_TRY(clause_parse_bound(parser, &sel->sample->to));
    if (alm_at_kw(parser, ALM_KW_FILL))
        ALM_TRY(parse_fill(parser, sel->sample));
    if (alm_at_kw(parser, ALM_KW_ALIGN))
        ALM_TRY(parse_align(parser, sel->sample));
    return ALM_OK;
}

/* ------------------------------------------------------------------ latest on */

alm_status alm_parse_latest(alm_parser *parser, alm_select *sel)
{
    sel->latest_pos = parser->tok.pos;
    alm_parse_next(parser);
    if (alm_take_kw(parser, ALM_KW_BY))
        return alm_parse_exprs(parser, &sel->latest_by, &sel->n_latest_by);
    ALM_TRY(alm_expect_kw(parser, ALM_KW_ON, "'on' or 'by' expected"));
    alm_str table;
    alm_parse_name name;
    sel->latest_pos = parser->tok.pos;
    ALM_TRY(alm_parse_qualified(parser, "column name", &table, &name));
    sel->latest_ts = name.text;
    ALM_TRY(alm_expect_kw(parser, ALM_KW_PARTITION, "'partition' expected"));
    ALM_TRY(alm_expect_kw(parser, ALM_KW_BY, "'by' expected"));
    if (alm_at_end(parser) || alm_at_op(parser, ALM_OP_RPAREN))
        return alm_parse_fail(parser, parser->tok.pos, "literal expected");
    return alm_parse_exprs(parser, &sel->latest_by, &sel->n_latest_by);
}

/* ------------------------------------------------------------------ limit */

static alm_status clause_parse_offset(alm_parser *parser, alm_select *sel)
{
    if (!alm_at_kw(parser, ALM_KW_OFFSET) || sel->offset != NULL)
        return ALM_OK;
    alm_parse_next(parser);
    ALM_TRY(alm_parse_expr(parser, &sel->offset));
    if (!alm_take_kw(parser, ALM_KW_ROWS))
        (void)alm_take_kw(parser, ALM_KW_ROW);
    return ALM_OK;
}

/* FETCH FIRST [n] ROWS ONLY | WITH TIES */
static alm_status parse_fetch(alm_parser *parser, alm_select *sel)
{
    sel->limit_pos = parser->tok.pos;
    alm_parse_next(parser);
    if (!alm_take_kw(parser, ALM_KW_FIRST) && !alm_take_word(parser, "next"))
        return alm_parse_fail(parser, parser->tok.pos, "'first' expected");
    if (alm_at_kw(parser, ALM_KW_ROW) || alm_at_kw(parser, ALM_KW_ROWS)) {
        ALM_TRY(alm_parse_node(parser, ALM_AST_NUMBER, parser->tok.pos, &sel->limit_lo));
        sel->limit_lo->text = ALM_STR("1");
    } else {
        ALM_TRY(alm_parse_expr(parser, &sel->limit_lo));
    }
    if (!alm_take_kw(parser, ALM_KW_ROWS) && !alm_take_kw(parser, ALM_KW_ROW))
        return alm_parse_fail(parser, parser->tok.pos, "'rows' expected");
    if (alm_take_word(parser, "only"))
        return ALM_OK;
    if (!alm_take_kw(parser, ALM_KW_WITH) || !alm_take_word(parser, "ties"))
        return alm_parse_fail(parser, parser->tok.pos, "'only' or 'with ties' expected");
    if (sel->n_order == 0)
        return alm_parse_fail(parser, sel->limit_pos, "WITH TIES needs ORDER BY");
    sel->with_ties = true;
    return ALM_OK;
}

alm_status alm_parse_limit(alm_parser *parser, alm_select *sel)
{
    ALM_TRY(clause_parse_offset(parser, sel));
    if (alm_at_kw(parser, ALM_KW_FETCH))
        return parse_fetch(parser, sel);
    if (!alm_at_kw(parser, ALM_KW_LIMIT))
        return ALM_OK;
    sel->limit_pos = parser->tok.pos;
    alm_parse_next(parser);
    if (alm_take_kw(parser, ALM_KW_ALL))
        return clause_parse_offset(parser, sel);
    ALM_TRY(alm_parse_expr(parser, &sel->limit_lo));
    if (alm_take_op(parser, ALM_OP_COMMA)) {
        sel->limit_comma = true;
        ALM_TRY(alm_parse_expr(parser, &sel->limit_hi));
    }
    return clause_parse_offset(parser, sel);
}

/* ------------------------------------------------------------------ pivot */

static alm_status parse_aggregates(alm_parser *parser, alm_pivot *pivot)
{
    uint32_t cap = 0;
    if (alm_at_op(parser, ALM_OP_RPAREN) || alm_at_end(parser))
        return alm_parse_fail(parser, parser->tok.pos, "missing aggregate function expression");
    do {
        if (alm_at_kw(parser, ALM_KW_FOR)) {
            const alm_str text = alm_token_text(parser, parser->tok);
            return alm_parse_fail(parser, parser->tok.pos, "expected aggregate function [col=%.*s]",
                                  (int)text.len, text.ptr);
        }
        ALM_TRY(ALM_GROW(parser, &pivot->aggs, pivot->n_aggs, &cap));
        ALM_TRY(alm_parse_item(parser, &pivot->aggs[pivot->n_aggs]));
        pivot->n_aggs++;
    } while (alm_take_op(parser, ALM_OP_COMMA));
    return alm_expect_kw(parser, ALM_KW_FOR, "expected FOR");
}

static alm_status parse_for(alm_parser *parser, alm_pivot_for *pivot_for)
{
    uint32_t cap = 0;
    pivot_for->pos = parser->tok.pos;
    ALM_TRY(alm_parse_expr_at(parser, ALM_PREC_BIT_OR, &pivot_for->column));
    ALM_TRY(alm_expect_kw(parser, ALM_KW_IN, "'in' expected"));
    ALM_TRY(alm_expect_op(parser, ALM_OP_LPAREN, "'(' expected"));
    pivot_for->in_pos = parser->tok.pos;
    if (alm_starts_query(parser->tok)) {
        ALM_TRY(alm_parse_query(parser, &pivot_for->select));
        return alm_expect_op(parser, ALM_OP_RPAREN, "')' expected");
    }
    do {
        if (!alm_starts_expr(parser))
            return alm_parse_fail(parser, parser->tok.pos, "missing constant");
        ALM_TRY(ALM_GROW(parser, &pivot_for->values, pivot_for->n_values, &cap));
        ALM_TRY(alm_parse_item(parser, &pivot_for->values[pivot_for->n_values]));
        pivot_for->n_values++;
    } while (alm_take_op(parser, ALM_OP_COMMA));
    return alm_expect_op(parser, ALM_OP_RPAREN, "')' expected");
}

alm_status alm_parse_pivot(alm_parser *parser, alm_select *sel)
{
    alm_pivot *pivot = NULL;
    uint32_t cap = 0;
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &pivot));
    pivot->pos = parser->tok.pos;
    alm_parse_next(parser);
    ALM_TRY(alm_expect_op(parser, ALM_OP_LPAREN, "'(' expected"));
    ALM_TRY(parse_aggregates(parser, pivot));
    do {
        ALM_TRY(ALM_GROW(parser, &pivot->fors, pivot->n_fors, &cap));
        ALM_TRY(parse_for(parser, &pivot->fors[pivot->n_fors]));
        pivot->n_fors++;
    } while (!alm_at_op(parser, ALM_OP_RPAREN) && !alm_at_kw(parser, ALM_KW_GROUP) &&
             !alm_at_end(parser));
    if (alm_take_kw(parser, ALM_KW_GROUP)) {
        ALM_TRY(alm_expect_kw(parser, ALM_KW_BY, "'by' expected"));
        ALM_TRY(alm_parse_exprs(parser, &pivot->group, &pivot->n_group));
    }
    sel->ext = pivot;
    return alm_expect_op(parser, ALM_OP_RPAREN, "')' expected");
}

/* UNPIVOT [INCLUDE NULLS | EXCLUDE NULLS] (value FOR name IN (column [AS name], ...)) */
alm_status alm_parse_unpivot(alm_parser *parser, alm_select *sel)
{
    alm_unpivot *unpivot = NULL;
    alm_parse_name name;
    uint32_t cap = 0;
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &unpivot));
    unpivot->pos = parser->tok.pos;
    alm_parse_next(parser);
    unpivot->nulls = alm_at_kw(parser, ALM_KW_INCLUDE);
    if (unpivot->nulls || alm_at_kw(parser, ALM_KW_EXCLUDE)) {
        alm_parse_next(parser);
        if (!alm_take_kw(parser, ALM_KW_NULLS))
            return alm_parse_fail(parser, parser->tok.pos, "'nulls' expected");
    }
    ALM_TRY(alm_expect_op(parser, ALM_OP_LPAREN, "'(' expected"));
    ALM_TRY(alm_parse_ident(parser, "name of the values", &name));
    unpivot->value = name.text;
    ALM_TRY(alm_expect_kw(parser, ALM_KW_FOR, "'for' expected"));
    ALM_TRY(alm_parse_ident(parser, "name of the names", &name));
    unpivot->name = name.text;
    ALM_TRY(alm_expect_kw(parser, ALM_KW_IN, "'in' expected"));
    ALM_TRY(alm_expect_op(parser, ALM_OP_LPAREN, "'(' expected"));
    do {
        ALM_TRY(ALM_GROW(parser, &unpivot->columns, unpivot->n_columns, &cap));
        ALM_TRY(alm_parse_item(parser, &unpivot->columns[unpivot->n_columns]));
        const alm_ast *column = unpivot->columns[unpivot->n_columns++].expr;
        if (column->kind != ALM_AST_NAME)
            return alm_parse_fail(parser, column->pos, "column name expected");
    } while (alm_take_op(parser, ALM_OP_COMMA));
    ALM_TRY(alm_expect_op(parser, ALM_OP_RPAREN, "')' expected"));
    sel->unpivot = unpivot;
    return alm_expect_op(parser, ALM_OP_RPAREN, "')' expected");
}
