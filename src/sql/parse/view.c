/*
 * view.c - CREATE [MATERIALIZED] VIEW, how a materialized view is refreshed, REFRESH.
 */
#include "sql/parse/parse.h"

/* ------------------------------------------------------------------ the query */

alm_status alm_parse_view_query(alm_parser *p, alm_select **out, alm_str *sql)
{
    if (!alm_at_op(p, ALM_OP_LPAREN) && !alm_starts_query(p->tok))
        return alm_parse_fail(p, p->tok.pos, "'(' or 'with' or 'select' expected");
    const bool brackets = alm_at_op(p, ALM_OP_LPAREN);
    const int32_t pos = brackets ? alm_parse_peek(p).pos : p->tok.pos;
    const uint32_t n_params = p->n_params;
    ALM_TRY(brackets ? alm_parse_bracketed(p, out) : alm_parse_query(p, out));
    if (p->n_params > n_params)
        return alm_parse_fail(p, pos, "a view cannot have parameters ($1 ...)");
    *sql = alm_parse_slice(p, pos, brackets ? p->prev.pos : p->prev.end);
    while (sql->len > 0 && strchr(" \t\r\n", sql->ptr[sql->len - 1]) != NULL)
        sql->len--;
    return ALM_OK;
}

/* ------------------------------------------------------------------ refresh clause */

/* 10m, 1h, or with a blank between; `units`: those that may stand there. */
static alm_status parse_length(alm_parser *p, const char *units, alm_length *out)
{
    const alm_token first = p->tok;
    const alm_str t = alm_token_text(p, first);
    size_t i = 0;
    out->pos = first.pos;
    out->count = 0;
    while (i < t.len && t.ptr[i] >= '0' && t.ptr[i] <= '9' && out->count < INT32_MAX)
        out->count = out->count * 10 + (t.ptr[i++] - '0');
    if (first.kind != ALM_TOK_NUMBER || i == 0)
        return alm_parse_fail(p, first.pos, "interval expected, for example 1h");
    alm_parse_next(p);
    alm_str unit = {t.ptr + i, t.len - i};
    if (unit.len == 0 && p->tok.kind == ALM_TOK_NAME) {
        unit = alm_token_text(p, p->tok);
        alm_parse_next(p);
    }
    if (unit.len != 1 || strchr(units, unit.ptr[0]) == NULL)
        return alm_parse_fail(p, first.pos, "Invalid unit: %.*s", (int)ALM_MIN(t.len, 40), t.ptr);
    if (out->count <= 0 || out->count > 1000000)
        return alm_parse_fail(p, first.pos, "positive number expected: %.*s",
                              (int)ALM_MIN(t.len, 40), t.ptr);
    out->unit = unit.ptr[0];
    return ALM_OK;
}

static alm_status parse_zone(alm_parser *p, alm_refresh_clause *r)
{
    if (!alm_take_kw(p, ALM_KW_TIME))
        return ALM_OK;
    ALM_TRY(alm_expect_kw(p, ALM_KW_ZONE, "'zone' expected"));
    return alm_parse_text(p, "time zone name", &r->zone, &r->zone_pos);
}

/* Behind PERIOD */
static alm_status parse_period(alm_parser *p, alm_refresh_clause *r)
{
    ALM_TRY(alm_expect_op(p, ALM_OP_LPAREN, "'(' expected"));
    if (alm_take_kw(p, ALM_KW_SAMPLE)) {
        ALM_TRY(alm_expect_kw(p, ALM_KW_BY, "'by' expected"));
        ALM_TRY(alm_expect_kw(p, ALM_KW_INTERVAL, "'interval' expected"));
        r->period_is_sample = true;
        return alm_expect_op(p, ALM_OP_RPAREN, "')' expected");
    }
    if (!alm_take_word(p, "length"))
        return alm_parse_fail(p, p->tok.pos, "'length' or 'sample' expected");
    ALM_TRY(parse_length(p, "mhdwMy", &r->period));
    ALM_TRY(parse_zone(p, r));
    if (alm_take_word(p, "delay"))
        ALM_TRY(parse_length(p, "mhdw", &r->delay));
    return alm_expect_op(p, ALM_OP_RPAREN, "'delay' or 'time zone' or ')' expected");
}

/* Behind REFRESH */
static alm_status parse_refresh_clause(alm_parser *p, alm_refresh_clause *r)
{
    if (alm_take_word(p, "immediate")) {
        r->kind = 'i';
    } else if (alm_take_word(p, "manual")) {
        r->kind = 'm';
    } else if (alm_take_word(p, "every")) {
        r->kind = 't';
        ALM_TRY(parse_length(p, "smhdwMy", &r->every));
    }
    r->deferred = alm_take_word(p, "deferred");
    if (r->kind == 't' && alm_take_kw(p, ALM_KW_START))
        ALM_TRY(alm_parse_text(p, "START timestamp", &r->start, &r->start_pos));
    if (r->kind == 't')
        ALM_TRY(parse_zone(p, r));
    r->deferred |= alm_take_word(p, "deferred");
    if (alm_take_word(p, "period"))
        return parse_period(p, r);
    return ALM_OK;
}

alm_status alm_parse_matview_set(alm_parser *p, alm_stmt *s, alm_alter *a)
{
    if (alm_take_kw(p, ALM_KW_TTL)) {
        a->kind = ALM_ALTER_SET_TTL;
        return alm_parse_ttl(p, s);
    }
    if (!alm_take_kw(p, ALM_KW_REFRESH))
        return alm_parse_fail(p, p->tok.pos, "'ttl' or 'refresh' expected");
    if (alm_take_kw(p, ALM_KW_LIMIT)) {
        a->kind = ALM_ALTER_REFRESH_LIMIT;
        return alm_parse_ttl(p, s);
    }
    a->kind = ALM_ALTER_REFRESH;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &a->refresh));
    const int32_t pos = p->tok.pos;
    ALM_TRY(parse_refresh_clause(p, a->refresh));
    if (p->tok.pos == pos)
        return alm_parse_fail(p, pos,
                              "'immediate' or 'manual' or 'period' or 'every' or 'limit' expected");
    if (a->refresh->deferred)
        return alm_parse_fail(p, p->prev.pos, "unexpected token [deferred]");
    return ALM_OK;
}

/* ------------------------------------------------------------------ statements */

/* Behind the name of a materialized view: WITH BASE t, REFRESH ... */
static alm_status parse_view_options(alm_parser *p, alm_create_view *view)
{
    if (alm_take_kw(p, ALM_KW_WITH)) {
        alm_parse_name base;
        if (!alm_take_word(p, "base"))
            return alm_parse_fail(p, p->tok.pos, "'base' expected");
        ALM_TRY(alm_parse_table(p, "base table name", &base));
        view->base = base.text;
        view->base_pos = base.pos;
    }
    return alm_take_kw(p, ALM_KW_REFRESH) ? parse_refresh_clause(p, &view->refresh) : ALM_OK;
}

alm_status alm_parse_view(alm_parser *p, alm_stmt *s)
{
    const bool materialized = alm_str_eq(s->text, ALM_STR("CREATE MATERIALIZED"));
    alm_create_view *view = NULL;
    uint32_t cap = 0;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &view));
    s->text = materialized ? ALM_STR("CREATE MATERIALIZED VIEW") : ALM_STR("CREATE VIEW");
    s->ext = view;
    view->materialized = materialized;
    if (materialized)
        ALM_TRY(alm_expect_kw(p, ALM_KW_VIEW, "'view' expected"));
    ALM_TRY(alm_parse_new_name(p, s, "view name"));
    if (materialized)
        ALM_TRY(parse_view_options(p, view));
    ALM_TRY(alm_expect_kw(p, ALM_KW_AS, "'as' expected"));
    ALM_TRY(alm_parse_view_query(p, &s->select, &view->sql));
    if (materialized)
        ALM_TRY(alm_parse_table_clauses(p, s, &cap, true));
    return alm_parse_owned(p, s);
}

/* Behind RANGE: FROM 'a' TO 'b' */
static alm_status parse_range(alm_parser *p, alm_stmt *s)
{
    ALM_TRY(alm_expect_kw(p, ALM_KW_FROM, "'from' expected"));
    ALM_TRY(alm_parse_text(p, "FROM timestamp", &s->range_from, &s->range_from_pos));
    ALM_TRY(alm_expect_kw(p, ALM_KW_TO, "'to' expected"));
    return alm_parse_text(p, "TO timestamp", &s->range_to, &s->range_to_pos);
}

alm_status alm_parse_refresh(alm_parser *p, alm_stmt *s)
{
    alm_parse_name name;
    s->text = ALM_STR("REFRESH MATERIALIZED VIEW");
    ALM_TRY(alm_expect_kw(p, ALM_KW_MATERIALIZED, "'materialized' expected"));
    ALM_TRY(alm_expect_kw(p, ALM_KW_VIEW, "'view' expected"));
    ALM_TRY(alm_parse_table(p, "materialized view name", &name));
    s->table = name.text;
    s->table_quoted = name.quoted;
    s->table_pos = name.pos;
    s->what_pos = p->tok.pos;
    if (alm_at_word(p, "full"))
        s->what = ALM_STR("full");
    else if (alm_at_word(p, "incremental"))
        s->what = ALM_STR("incremental");
    else if (alm_at_kw(p, ALM_KW_RANGE))
        s->what = ALM_STR("range");
    else
        return alm_parse_fail(p, p->tok.pos, "'full' or 'incremental' or 'range' expected");
    alm_parse_next(p);
    if (alm_str_eq(s->what, ALM_STR("range")))
        ALM_TRY(parse_range(p, s));
    if (!alm_at_end(p)) {
        const alm_str t = alm_token_text(p, p->tok);
        return alm_parse_fail(p, p->tok.pos,
                              "unexpected token [%.*s] while trying to refresh materialized view",
                              (int)ALM_MIN(t.len, 100), t.ptr);
    }
    return ALM_OK;
}
