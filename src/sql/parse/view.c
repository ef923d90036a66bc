/*
 * view.c - CREATE [MATERIALIZED] VIEW, how a materialized view is refreshed, REFRESH.
 */
#include "sql/parse/parse.h"

/* ------------------------------------------------------------------ the query */

alm_status alm_parse_view_query(alm_parser *parser, alm_select **out, alm_str *sql)
{
    if (!alm_at_op(parser, ALM_OP_LPAREN) && !alm_starts_query(parser->tok))
        return alm_parse_fail(parser, parser->tok.pos, "'(' or 'with' or 'select' expected");
    const bool brackets = alm_at_op(parser, ALM_OP_LPAREN);
    const int32_t pos = brackets ? alm_parse_peek(parser).pos : parser->tok.pos;
    const uint32_t n_params = parser->n_params;
    ALM_TRY(brackets ? alm_parse_bracketed(parser, out) : alm_parse_query(parser, out));
    if (parser->n_params > n_params)
        return alm_parse_fail(parser, pos, "a view cannot have parameters ($1 ...)");
    *sql = alm_parse_slice(parser, pos, brackets ? parser->prev.pos : parser->prev.end);
    while (sql->len > 0 && strchr(" \t\r\n", sql->ptr[sql->len - 1]) != NULL)
        sql->len--;
    return ALM_OK;
}

/* ------------------------------------------------------------------ refresh clause */

/* 10m, 1h, or with a blank between; `units`: those that may stand there. */
static alm_status parse_length(alm_parser *parser, const char *units, alm_length *out)
{
    const alm_token first = parser->tok;
    const alm_str text = alm_token_text(parser, first);
    size_t i = 0;
    out->pos = first.pos;
    out->count = 0;
    while (i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9' && out->count < INT32_MAX)
        out->count = out->count * 10 + (text.ptr[i++] - '0');
    if (first.kind != ALM_TOK_NUMBER || i == 0)
        return alm_parse_fail(parser, first.pos, "interval expected, for example 1h");
    alm_parse_next(parser);
    alm_str unit = {text.ptr + i, text.len - i};
    if (unit.len == 0 && parser->tok.kind == ALM_TOK_NAME) {
        unit = alm_token_text(parser, parser->tok);
        alm_parse_next(parser);
    }
    if (unit.len != 1 || strchr(units, unit.ptr[0]) == NULL)
        return alm_parse_fail(parser, first.pos, "Invalid unit: %.*s", (int)ALM_MIN(text.len, 40),
                              text.ptr);
    if (out->count <= 0 || out->count > 1000000)
        return alm_parse_fail(parser, first.pos, "positive number expected: %.*s",
                              (int)ALM_MIN(text.len, 40), text.ptr);
    out->unit = unit.ptr[0];
    return ALM_OK;
}

static alm_status parse_zone(alm_parser *parser, alm_refresh_clause *clause)
{
    if (!alm_take_kw(parser, ALM_KW_TIME))
        return ALM_OK;
    ALM_TRY(alm_expect_kw(parser, ALM_KW_ZONE, "'zone' expected"));
    return alm_parse_text(parser, "time zone name", &clause->zone, &clause->zone_pos);
}

/* Behind PERIOD */
static alm_status view_parse_period(alm_parser *parser, alm_refresh_clause *clause)
{
    ALM_TRY(alm_expect_op(parser, ALM_OP_LPAREN, "'(' expected"));
    if (alm_take_kw(parser, ALM_KW_SAMPLE)) {
        ALM_TRY(alm_expect_kw(parser, ALM_KW_BY, "'by' expected"));
        ALM_TRY(alm_expect_kw(parser, ALM_KW_INTERVAL, "'interval' expected"));
        clause->period_is_sample = true;
        return alm_expect_op(parser, ALM_OP_RPAREN, "')' expected");
    }
    if (!alm_take_word(parser, "length"))
        return alm_parse_fail(parser, parser->tok.pos, "'length' or 'sample' expected");
    ALM_TRY(parse_length(parser, "mhdwMy", &clause->period));
    ALM_TRY(parse_zone(parser, clause));
    if (alm_take_word(parser, "delay"))
        ALM_TRY(parse_length(parser, "mhdw", &clause->delay));
    return alm_expect_op(parser, ALM_OP_RPAREN, "'delay' or 'time zone' or ')' expected");
}

/* Behind REFRESH */
static alm_status parse_refresh_clause(alm_parser *parser, alm_refresh_clause *clause)
{
    if (alm_take_word(parser, "immediate")) {
        clause->kind = 'i';
    } else if (alm_take_word(parser, "manual")) {
        clause->kind = 'm';
    } else if (alm_take_word(parser, "every")) {
        clause->kind = 't';
        ALM_TRY(parse_length(parser, "smhdwMy", &clause->every));
    }
    clause->deferred = alm_take_word(parser, "deferred");
    if (clause->kind == 't' && alm_take_kw(parser, ALM_KW_START))
        ALM_TRY(alm_parse_text(parser, "START timestamp", &clause->start, &clause->start_pos));
    if (clause->kind == 't')
        ALM_TRY(parse_zone(parser, clause));
    clause->deferred |= alm_take_word(parser, "deferred");
    if (alm_take_word(parser, "period"))
        return view_parse_period(parser, clause);
    return ALM_OK;
}

alm_status alm_parse_matview_set(alm_parser *parser, alm_stmt *stmt, alm_alter *alter)
{
    if (alm_take_kw(parser, ALM_KW_TTL)) {
        alter->kind = ALM_ALTER_SET_TTL;
        return alm_parse_ttl(parser, stmt);
    }
    if (!alm_take_kw(parser, ALM_KW_REFRESH))
        return alm_parse_fail(parser, parser->tok.pos, "'ttl' or 'refresh' expected");
    if (alm_take_kw(parser, ALM_KW_LIMIT)) {
        alter->kind = ALM_ALTER_REFRESH_LIMIT;
        return alm_parse_ttl(parser, stmt);
    }
    alter->kind = ALM_ALTER_REFRESH;
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &alter->refresh));
    const int32_t pos = parser->tok.pos;
    ALM_TRY(parse_refresh_clause(parser, alter->refresh));
    if (parser->tok.pos == pos)
        return alm_parse_fail(parser, pos,
                              "'immediate' or 'manual' or 'period' or 'every' or 'limit' expected");
    if (alter->refresh->deferred)
        return alm_parse_fail(parser, parser->prev.pos, "unexpected token [deferred]");
    return ALM_OK;
}

/* ------------------------------------------------------------------ statements */

/* Behind the name of a materialized view: WITH BASE t, REFRESH ... */
static alm_status parse_view_options(alm_parser *parser, alm_create_view *view)
{
    if (alm_take_kw(parser, ALM_KW_WITH)) {
        alm_parse_name base;
        if (!alm_take_word(parser, "base"))
            return alm_parse_fail(parser, parser->tok.pos, "'base' expected");
        ALM_TRY(alm_parse_table(parser, "base table name", &base));
        view->base = base.text;
        view->base_pos = base.pos;
    }
    return alm_take_kw(parser, ALM_KW_REFRESH) ? parse_refresh_clause(parser, &view->refresh)
                                               : ALM_OK;
}

alm_status alm_parse_view(alm_parser *parser, alm_stmt *stmt)
{
    const bool materialized = alm_str_eq(stmt->text, ALM_STR("CREATE MATERIALIZED"));
    alm_create_view *view = NULL;
    uint32_t cap = 0;
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &view));
    stmt->text = materialized ? ALM_STR("CREATE MATERIALIZED VIEW") : ALM_STR("CREATE VIEW");
    stmt->ext = view;
    view->materialized = materialized;
    if (materialized)
        ALM_TRY(alm_expect_kw(parser, ALM_KW_VIEW, "'view' expected"));
    ALM_TRY(alm_parse_new_name(parser, stmt, "view name"));
    if (materialized)
        ALM_TRY(parse_view_options(parser, view));
    ALM_TRY(alm_expect_kw(parser, ALM_KW_AS, "'as' expected"));
    ALM_TRY(alm_parse_view_query(parser, &stmt->select, &view->sql));
    if (materialized)
        ALM_TRY(alm_parse_table_clauses(parser, stmt, &cap, true));
    return alm_parse_owned(parser, stmt);
}

/* Behind RANGE: FROM 'a' TO 'b' */
static alm_status view_parse_range(alm_parser *parser, alm_stmt *stmt)
{
    ALM_TRY(alm_expect_kw(parser, ALM_KW_FROM, "'from' expected"));
    ALM_TRY(alm_parse_text(parser, "FROM timestamp", &stmt->range_from, &stmt->range_from_pos));
    ALM_TRY(alm_expect_kw(parser, ALM_KW_TO, "'to' expected"));
    return alm_parse_text(parser, "TO timestamp", &stmt->range_to, &stmt->range_to_pos);
}

alm_status alm_parse_refresh(alm_parser *parser, alm_stmt *stmt)
{
    alm_parse_name name;
    stmt->text = ALM_STR("REFRESH MATERIALIZED VIEW");
    ALM_TRY(alm_expect_kw(parser, ALM_KW_MATERIALIZED, "'materialized' expected"));
    ALM_TRY(alm_expect_kw(parser, ALM_KW_VIEW, "'view' expected"));
    ALM_TRY(alm_parse_table(parser, "materialized view name", &name));
    stmt->table = name.text;
    stmt->table_quoted = name.quoted;
    stmt->table_pos = name.pos;
    stmt->what_pos = parser->tok.pos;
    if (alm_at_word(parser, "full"))
        stmt->what = ALM_STR("full");
    else if (alm_at_word(parser, "incremental"))
        stmt->what = ALM_STR("incremental");
    else if (alm_at_kw(parser, ALM_KW_RANGE))
        stmt->what = ALM_STR("range");
    else
        return alm_parse_fail(parser, parser->tok.pos,
                              "'full' or 'incremental' or 'range' expected");
    alm_parse_next(parser);
    if (alm_str_eq(stmt->what, ALM_STR("range")))
        ALM_TRY(view_parse_range(parser, stmt));
    if (!alm_at_end(parser)) {
        const alm_str text = alm_token_text(parser, parser->tok);
        return alm_parse_fail(parser, parser->tok.pos,
                              "unexpected token [%.*s] while trying to refresh materialized view",
                              (int)ALM_MIN(text.len, 100), text.ptr);
    }
    return ALM_OK;
}
