/*
 * from.c - FROM: tables, functions, sub-queries, VALUES, and the joins between them.
 */
#include "sql/parse/parse.h"

/* ------------------------------------------------------------------ sources */

static alm_status parse_from_fill_table(alm_parser *parser, alm_from *from)
{
    alm_parse_name name;
    from->kind = ALM_FROM_TABLE;
    ALM_TRY(alm_parse_relation(parser, "table name or sub-query", &from->schema, &name));
    from->name = name.text;
    from->quoted = name.quoted;
    from->pos = name.pos;
    if (alm_at_op(parser, ALM_OP_LPAREN)) {
        from->kind = ALM_FROM_FUNCTION;
        ALM_TRY(alm_parse_call(parser, from->schema, name, &from->call));
    }
    return ALM_OK;
}

/* FROM @t: the variable stands for a table, a function or a query. */
static alm_status fill_variable(alm_parser *parser, alm_from *from)
{
    alm_ast *value = NULL;
    const int32_t pos = parser->tok.pos;
    const alm_str name = alm_token_text(parser, parser->tok);
    const alm_parse_var *var = alm_parse_var_find(parser, (alm_str){name.ptr + 1, name.len - 1});
    if (var != NULL && var->foreign) /* even a table function reads what its user may not */
        return alm_fail(
            parser->cx, ALM_E_DENIED, parser->tok.pos,
            "%.*s is a variable of a view of another user: what it reads may not be set",
            (int)name.len, name.ptr);
    ALM_TRY(alm_parse_var_use(parser, &value));
    from->pos = value->pos;
    if (value->kind == ALM_AST_NAME || value->kind == ALM_AST_STRING) {
        from->kind = ALM_FROM_TABLE;
        from->name = value->text;
        from->schema = value->table;
        from->quoted = value->quoted;
    } else if (value->kind == ALM_AST_CALL) {
        from->kind = ALM_FROM_FUNCTION;
        from->call = value;
        from->name = value->text;
        from->schema = value->table;
    } else if (value->kind == ALM_AST_SUBQUERY) {
        from->kind = ALM_FROM_SELECT;
        from->select = value->select;
    } else {
        return alm_parse_fail(parser, pos, "table name or sub-query expected");
    }
    if (from->schema.len > 0)
        return alm_parse_schema(parser, (alm_str){0}, from->schema, from->pos);
    return ALM_OK;
}

/* VALUES (1, 2), (3, 4) in FROM. */
static alm_status fill_values(alm_parser *parser, alm_from *from)
{
    alm_stmt *rows = NULL;
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &rows));
    from->kind = ALM_FROM_VALUES;
    from->pos = parser->tok.pos;
    alm_parse_next(parser);
    ALM_TRY(alm_parse_rows(parser, rows));
    from->rows = rows->rows;
    from->n_rows = rows->n_rows;
    from->n_row_cols = rows->row_lens[0];
    for (uint32_t i = 1; i < rows->n_rows; i++)
        if (rows->row_lens[i] != from->n_row_cols)
            return alm_parse_fail(parser, rows->row_pos[i], "VALUES lists must all have %u values",
                                  from->n_row_cols);
    return ALM_OK;
}

/*
 * Are these brackets around joined items, (a JOIN b ON ...)? With a clause or an alias behind them they
 * are a short query, as brackets around a table are.
 */
static bool at_joined_items(const alm_parser *parser)
{
    enum { LOOK_MAX = 4096 };
    static const uint16_t query_words[] = {
        ALM_KW_SELECT,    ALM_KW_WITH,   ALM_KW_DECLARE, ALM_KW_WHERE,  ALM_KW_GROUP,
        ALM_KW_ORDER,     ALM_KW_LIMIT,  ALM_KW_SAMPLE,  ALM_KW_LATEST, ALM_KW_UNION,
        ALM_KW_INTERSECT, ALM_KW_EXCEPT, ALM_KW_PIVOT,   ALM_KW_VALUES, ALM_KW_SHOW};
    alm_parser ahead = *parser;
    uint32_t depth = 0;
    bool joins = false;
    for (uint32_t count = 0; count < LOOK_MAX && !alm_at_end(&ahead); count++) {
        if (alm_at_op(&ahead, ALM_OP_LPAREN)) {
            depth++;
        } else if (alm_at_op(&ahead, ALM_OP_RPAREN) && --depth == 0) {
            alm_parse_next(&ahead);
            const uint32_t barred = ALM_KW_RESERVED | ALM_KW_NO_TABLE_ALIAS;
            const bool alias = alm_at_kw(&ahead, ALM_KW_AS) || ahead.tok.kind == ALM_TOK_QUOTED ||
                               (ahead.tok.kind == ALM_TOK_NAME &&
                                (alm_keyword_flags((alm_keyword)ahead.tok.kw) & barred) == 0);
            return joins && !alias;
        } else if (depth == 1 && ahead.tok.kind == ALM_TOK_NAME) {
            for (size_t i = 0; i < ALM_COUNT(query_words); i++)
                if (ahead.tok.kw == query_words[i])
                    return false;
            joins |= alm_at_kw(&ahead, ALM_KW_JOIN);
        } else if (depth == 1 && alm_at_op(&ahead, ALM_OP_COMMA)) {
            joins = true; /* ((query) x, (query) y) */
        }
        alm_parse_next(&ahead);
    }
    return false;
}

static alm_status fill_joined_items(alm_parser *parser, alm_from *from)
{
    ALM_TRY(alm_parse_enter(parser));
    from->kind = ALM_FROM_JOINS;
    from->pos = parser->tok.pos;
    alm_parse_next(parser);
    ALM_TRY(alm_parse_from(parser, &from->items, &from->n_items));
    parser->nest--;
    return alm_expect_op(parser, ALM_OP_RPAREN, "')' expected");
}

static alm_status fill_source(alm_parser *parser, alm_from *from)
{
    if (alm_at_op(parser, ALM_OP_LPAREN) && at_joined_items(parser))
        return fill_joined_items(parser, from);
    if (alm_at_op(parser, ALM_OP_LPAREN)) {
        from->kind = ALM_FROM_SELECT;
        from->pos = parser->tok.pos;
        if (alm_token_is_kw(alm_parse_peek(parser), ALM_KW_VALUES)) {
            alm_parse_next(parser);
            ALM_TRY(fill_values(parser, from));
            return alm_expect_op(parser, ALM_OP_RPAREN, "')' expected");
        }
        return alm_parse_bracketed(parser, &from->select);
    }
    if (parser->tok.kind == ALM_TOK_VAR)
        return fill_variable(parser, from);
    if (alm_at_kw(parser, ALM_KW_VALUES))
        return fill_values(parser, from);
    if (alm_at_end(parser))
        return alm_parse_fail(parser, parser->tok.pos, "table name or sub-query expected");
    return parse_from_fill_table(parser, from);
}

/* `timestamp(col)`: the column in brackets is the designated timestamp here. */
static alm_status take_timestamp(alm_parser *parser, alm_from *from)
{
    if (!alm_at_kw(parser, ALM_KW_TIMESTAMP) ||
        !alm_token_is_op(alm_parse_peek(parser), ALM_OP_LPAREN))
        return ALM_OK;
    alm_parse_name name;
    alm_parse_next(parser);
    alm_parse_next(parser);
    ALM_TRY(alm_parse_ident(parser, "column name", &name));
    from->timestamp = name.text;
    from->timestamp_pos = name.pos;
    return alm_expect_op(parser, ALM_OP_RPAREN, "')' expected");
}

/* Words that begin a clause here, with what follows them, though they may be names elsewhere. */
static bool at_clause(const alm_parser *parser)
{
    const alm_token next = alm_parse_peek(parser);
    if (alm_at_kw(parser, ALM_KW_DIRECTION))
        return alm_token_is_kw(next, ALM_KW_FORWARD) || alm_token_is_kw(next, ALM_KW_BACKWARD) ||
               alm_token_is_kw(next, ALM_KW_NEAREST);
    return alm_at_kw(parser, ALM_KW_LIST) && alm_token_is_op(next, ALM_OP_LPAREN);
}

/* Behind a word that may begin a clause: does what follows show that it is an alias instead? */
static bool ends_source(const alm_parser *parser)
{
    static const uint16_t clauses[] = {
        ALM_KW_WHERE,  ALM_KW_ORDER, ALM_KW_ON,     ALM_KW_LIMIT,     ALM_KW_SAMPLE,
        ALM_KW_GROUP,  ALM_KW_UNION, ALM_KW_EXCEPT, ALM_KW_INTERSECT, ALM_KW_CROSS,
        ALM_KW_LATEST, ALM_KW_ASOF,  ALM_KW_LT,     ALM_KW_SPLICE,    ALM_KW_LEFT,
        ALM_KW_RIGHT,  ALM_KW_FULL,  ALM_KW_INNER,  ALM_KW_OUTER,     ALM_KW_JOIN};
    const alm_token next = alm_parse_peek(parser);
    if (next.kind == ALM_TOK_END || alm_token_is_op(next, ALM_OP_SEMI))
        return !alm_at_kw(parser, ALM_KW_RETURNING);
    if (next.kind == ALM_TOK_OP)
        return next.op == ALM_OP_COMMA || next.op == ALM_OP_RPAREN;
    for (size_t i = 0; i < ALM_COUNT(clauses) && next.kind == ALM_TOK_NAME; i++)
        if (next.kw == clauses[i]) /* NATURAL LEFT JOIN, HORIZON JOIN are joins */
            return i < 8 ||
                   (!alm_at_kw(parser, ALM_KW_NATURAL) && !alm_at_kw(parser, ALM_KW_HORIZON));
    return false;
}

static bool parse_from_at_bare_alias(const alm_parser *parser)
{
    const uint32_t flags = alm_keyword_flags((alm_keyword)parser->tok.kw);
    if (parser->tok.kind != ALM_TOK_NAME || alm_at_reserved(parser))
        return false;
    return (flags & ALM_KW_NO_TABLE_ALIAS) == 0 ||
           ((flags & ALM_KW_ALIAS_AT_END) != 0 && ends_source(parser));
}

static alm_status parse_from_take_alias(alm_parser *parser, alm_from *from)
{
    const bool as = alm_take_kw(parser, ALM_KW_AS);
    const bool word = parse_from_at_bare_alias(parser) &&
                      !(alm_at_kw(parser, ALM_KW_TIMESTAMP) &&
                        alm_token_is_op(alm_parse_peek(parser), ALM_OP_LPAREN)) &&
                      !at_clause(parser);
    if (!as && !word && parser->tok.kind != ALM_TOK_QUOTED)
        return ALM_OK;
    alm_parse_name name;
    ALM_TRY(alm_parse_ident(parser, "table alias", &name));
    from->alias = name.text;
    from->alias_pos = name.pos;
    if (!alm_at_op(parser, ALM_OP_LPAREN))
        return ALM_OK;
    uint32_t cap = 0;
    do {
        alm_parse_next(parser); /* ( or , */
        ALM_TRY(ALM_GROW(parser, &from->col_aliases, from->n_col_aliases, &cap));
        ALM_TRY(alm_parse_ident(parser, "column name", &name));
        from->col_aliases[from->n_col_aliases++] = name.text;
    } while (alm_at_op(parser, ALM_OP_COMMA));
    return alm_expect_op(parser, ALM_OP_RPAREN, "')' expected");
}

static void take_ordinality(alm_parser *parser, alm_from *from)
{
    if (from->kind != ALM_FROM_FUNCTION || !alm_at_kw(parser, ALM_KW_WITH) ||
        !alm_str_ieq(alm_token_text(parser, alm_parse_peek(parser)), ALM_STR("ordinality")))
        return;
    alm_parse_next(parser);
    alm_parse_next(parser);
    from->ordinality = true;
}

/* t UNPIVOT (...) is (SELECT * FROM t UNPIVOT (...)), by the name of t if it gets no other. */
static alm_status take_unpivots(alm_parser *parser, alm_from *from)
{
    uint32_t levels = 0;
    for (; alm_at_kw(parser, ALM_KW_UNPIVOT); levels++) {
        alm_select *sel = NULL;
        alm_from *inner = NULL;
        ALM_TRY(alm_parse_enter(parser));
        ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &sel));
        ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &inner));
        *inner = *from;
        inner->join = ALM_JOIN_NONE;
        inner->natural = inner->lateral = false;
        sel->pos = parser->tok.pos;
        ALM_TRY(alm_parse_star_item(parser, parser->tok.pos, sel));
        sel->from = inner;
        sel->n_from = 1;
        sel->depth = (from->select != NULL ? from->select->depth : 1) + 1;
        ALM_TRY(alm_parse_unpivot(parser, sel));
        sel->end = parser->prev.pos;
        *from = (alm_from){.kind = ALM_FROM_SELECT,
                           .join = from->join,
                           .join_pos = from->join_pos,
                           .natural = from->natural,
                           .lateral = from->lateral,
                           .pos = from->pos,
                           .select = sel,
                           .alias = from->alias.len > 0 ? from->alias : from->name};
        const alm_str alias = from->alias;
        ALM_TRY(parse_from_take_alias(parser, from));
        from->alias = from->alias.len > 0 ? from->alias : alias;
    }
    parser->nest -= levels;
    return ALM_OK;
}

static alm_status parse_item(alm_parser *parser, alm_from *from)
{
    from->lateral =
        alm_at_kw(parser, ALM_KW_LATERAL) && alm_token_is_op(alm_parse_peek(parser), ALM_OP_LPAREN);
    if (from->lateral)
        alm_parse_next(parser);
    ALM_TRY(fill_source(parser, from));
    from->lateral = from->lateral && from->kind == ALM_FROM_SELECT; /* others see nothing anyway */
    ALM_TRY(take_timestamp(parser, from));
    take_ordinality(parser, from);
    ALM_TRY(parse_from_take_alias(parser, from));
    ALM_TRY(alm_parse_list_item(parser, from));
    ALM_TRY(take_timestamp(parser, from));
    return take_unpivots(parser, from);
}

/* ------------------------------------------------------------------ joins */

static const struct join_row {
    uint16_t kw;
    uint8_t kind; /* alm_join_kind */
    bool outer;   /* OUTER may follow */
    bool on;      /* needs ON or USING */
} join_rows[] = {
    {ALM_KW_JOIN, ALM_JOIN_INNER, false, true},
    {ALM_KW_INNER, ALM_JOIN_INNER, false, true},
    {ALM_KW_LEFT, ALM_JOIN_LEFT, true, true},
    {ALM_KW_OUTER, ALM_JOIN_LEFT, false, true},
    {ALM_KW_RIGHT, ALM_JOIN_RIGHT, true, true},
    {ALM_KW_FULL, ALM_JOIN_FULL, true, true},
    {ALM_KW_CROSS, ALM_JOIN_CROSS, false, false},
    {ALM_KW_ASOF, ALM_JOIN_ASOF, false, false},
    {ALM_KW_LT, ALM_JOIN_LT, false, false},
    {ALM_KW_SPLICE, ALM_JOIN_SPLICE, false, false},
    {ALM_KW_WINDOW, ALM_JOIN_WINDOW, false, false},
    {ALM_KW_HORIZON, ALM_JOIN_HORIZON, false, false},
};

static const struct join_row *join_row_of(const alm_parser *parser)
{
    if (parser->tok.kind != ALM_TOK_NAME || parser->tok.kw == ALM_KW_PLAIN)
        return NULL;
    if (alm_at_kw(parser, ALM_KW_WINDOW) && !alm_token_is_kw(alm_parse_peek(parser), ALM_KW_JOIN))
        return NULL; /* the WINDOW clause */
    if (alm_at_kw(parser, ALM_KW_HORIZON) && !alm_token_is_kw(alm_parse_peek(parser), ALM_KW_JOIN))
        return NULL;
    for (size_t i = 0; i < ALM_COUNT(join_rows); i++)
        if (parser->tok.kw == join_rows[i].kw)
            return &join_rows[i];
    return NULL;
}

/* Where an error about something missing points: at the last word if the text ends there. */
static int32_t here_or_last(const alm_parser *parser)
{
    return alm_at_end(parser) ? parser->prev.pos : parser->tok.pos;
}

/* Is this `( name [, name ...] )` and no comparison behind it? Then it lists columns. */
static bool at_column_list(const alm_parser *parser)
{
    alm_parser ahead = *parser;
    if (!alm_take_op(&ahead, ALM_OP_LPAREN))
        return false;
    do {
        const bool word = ahead.tok.kind == ALM_TOK_NAME &&
                          (alm_keyword_flags((alm_keyword)ahead.tok.kw) & ALM_KW_RESERVED) == 0;
        if (!word && ahead.tok.kind != ALM_TOK_QUOTED)
            return false;
        alm_parse_next(&ahead);
    } while (alm_take_op(&ahead, ALM_OP_COMMA));
    return alm_take_op(&ahead, ALM_OP_RPAREN) &&
           (ahead.tok.kind != ALM_TOK_OP || alm_at_op(&ahead, ALM_OP_RPAREN) ||
            alm_at_op(&ahead, ALM_OP_COMMA) || alm_at_op(&ahead, ALM_OP_SEMI)) &&
           !alm_at_kw(&ahead, ALM_KW_AND) && !alm_at_kw(&ahead, ALM_KW_OR);
}

static alm_status parse_column_list(alm_parser *parser, alm_from *from)
{
    uint32_t cap = 0, cap_pos = 0;
    if (!alm_at_op(parser, ALM_OP_LPAREN))
        return alm_parse_fail(parser, parser->tok.pos, "'(' expected");
    do {
        alm_parse_name name;
        alm_parse_next(parser); /* ( or , */
        ALM_TRY(ALM_GROW(parser, &from->using_cols, from->n_using, &cap));
        ALM_TRY(ALM_GROW(parser, &from->using_pos, from->n_using, &cap_pos));
        ALM_TRY(alm_parse_ident(parser, "column name", &name));
        from->using_cols[from->n_using] = name.text;
        from->using_pos[from->n_using++] = name.pos;
    } while (alm_at_op(parser, ALM_OP_COMMA));
    return alm_expect_op(parser, ALM_OP_RPAREN, "')' expected");
}

static alm_status parse_on(alm_parser *parser, alm_from *from)
{
    const int32_t pos = parser->tok.pos;
    if (from->join == ALM_JOIN_CROSS)
        return alm_parse_fail(parser, pos, "Cross joins cannot have join clauses");
    alm_parse_next(parser);
    if (at_column_list(parser))
        return parse_column_list(parser, from);
    if (!alm_starts_expr(parser))
        return alm_parse_fail(parser, pos, "Expression expected");
    const bool no_window = parser->no_window;
    parser->no_window = true;
    ALM_TRY(alm_parse_expr(parser, &from->on));
    parser->no_window = no_window;
    if (from->on->kind != ALM_AST_NAME || from->on->table.len > 0)
        return ALM_OK;
    /* a lone column joins on itself, as in ON (col) */
    ALM_TRY(ALM_NEWN(parser->cx, parser->cx->arena, 1, &from->using_cols));
    ALM_TRY(ALM_NEWN(parser->cx, parser->cx->arena, 1, &from->using_pos));
    from->using_cols[0] = from->on->text;
    from->using_pos[0] = from->on->pos;
    from->n_using = 1;
    from->on = NULL;
    return ALM_OK;
}

static alm_status parse_tolerance(alm_parser *parser, alm_from *from)
{
    const int32_t pos = parser->tok.pos;
    const char *join = from->join == ALM_JOIN_LT ? "LT" : "ASOF";
    if (from->join != ALM_JOIN_ASOF && from->join != ALM_JOIN_LT)
        return alm_parse_fail(parser, pos, "TOLERANCE is only supported for ASOF and LT joins");
    alm_parse_next(parser);
    if (alm_take_op(parser, ALM_OP_MINUS))
        return alm_parse_fail(parser, parser->tok.pos, "%s JOIN TOLERANCE must be positive", join);
    from->tolerance_pos = parser->tok.pos;
    if (parser->tok.kind == ALM_TOK_VAR)
        ALM_TRY(alm_parse_var_use(parser, &from->tolerance));
    else if (parser->tok.kind == ALM_TOK_NUMBER)
        ALM_TRY(alm_parse_literal(parser, &from->tolerance));
    else
        return alm_parse_fail(parser, pos, "%s JOIN TOLERANCE period expected", join);
    const alm_str text = from->tolerance->text;
    if (from->tolerance->kind != ALM_AST_NUMBER || text.len == 0)
        return alm_parse_fail(parser, from->tolerance_pos, "%s JOIN TOLERANCE period expected",
                              join);
    const char unit = text.ptr[text.len - 1];
    if (unit == 0 || strchr("nUTsmhdw", unit) == NULL)
        return alm_parse_fail(parser, from->tolerance_pos, "unsupported TOLERANCE unit [unit=%c]",
                              unit);
    return ALM_OK;
}

/* WINDOW JOIN ... RANGE BETWEEN lo AND hi [INCLUDE | EXCLUDE PREVAILING] */
static alm_status from_parse_range(alm_parser *parser, alm_from *from)
{
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &from->window));
    if (!alm_at_kw(parser, ALM_KW_RANGE))
        return alm_parse_fail(parser, here_or_last(parser), "'range' expected");
    from->window->pos = parser->tok.pos;
    from->window->frame = ALM_FRAME_RANGE;
    alm_parse_next(parser);
    if (!alm_at_kw(parser, ALM_KW_BETWEEN))
        return alm_parse_fail(parser, parser->tok.pos, "'between' expected");
    ALM_TRY(alm_parse_bounds(parser, from->window, true));
    if (alm_at_kw(parser, ALM_KW_INCLUDE) || alm_at_kw(parser, ALM_KW_EXCLUDE)) {
        from->prevailing = alm_at_kw(parser, ALM_KW_INCLUDE) ? 'i' : 'e';
        alm_parse_next(parser);
        ALM_TRY(alm_expect_kw(parser, ALM_KW_PREVAILING, "'prevailing' expected"));
    }
    return ALM_OK;
}

/* ASOF JOIN q ON ... DIRECTION FORWARD | BACKWARD | NEAREST */
static alm_status parse_direction(alm_parser *parser, alm_from *from)
{
    from->direction_pos = parser->tok.pos;
    if (from->join != ALM_JOIN_ASOF && from->join != ALM_JOIN_LT)
        return alm_parse_fail(parser, parser->tok.pos,
                              "DIRECTION is only supported for ASOF and LT joins");
    alm_parse_next(parser);
    from->direction = alm_at_kw(parser, ALM_KW_FORWARD)   ? ALM_ASOF_FORWARD
                      : alm_at_kw(parser, ALM_KW_NEAREST) ? ALM_ASOF_NEAREST
                                                          : ALM_ASOF_BACKWARD;
    alm_parse_next(parser);
    return ALM_OK;
}

/* One offset of a HORIZON JOIN: 5s, -1m, 0, @variable. */
static alm_status from_parse_offset(alm_parser *parser, alm_horizon *horizon, uint32_t *cap,
                                    uint32_t *cap_negative)
{
    alm_ast *value = NULL;
    ALM_TRY(ALM_GROW(parser, &horizon->value, horizon->n, cap));
    ALM_TRY(ALM_GROW(parser, &horizon->negative, horizon->n, cap_negative));
    horizon->negative[horizon->n] = alm_take_op(parser, ALM_OP_MINUS);
    const int32_t pos = parser->tok.pos;
    if (parser->tok.kind == ALM_TOK_VAR)
        ALM_TRY(alm_parse_var_use(parser, &value));
    else if (parser->tok.kind == ALM_TOK_NUMBER)
        ALM_TRY(alm_parse_literal(parser, &value));
    if (value != NULL && value->kind == ALM_AST_UNARY && alm_str_eq(value->text, ALM_STR("-"))) {
        horizon->negative[horizon->n] = !horizon->negative[horizon->n];
        value = value->arg[0];
    }
    if (value == NULL || value->kind != ALM_AST_NUMBER)
        return alm_parse_fail(parser, pos, "offset expected, such as 5s, -1m or 0");
    horizon->value[horizon->n++] = value;
    return ALM_OK;
}

/* HORIZON JOIN ... RANGE FROM a TO b STEP c AS horizon, or LIST (a, b, ...) AS horizon; the last one has it. */
static alm_status parse_horizon(alm_parser *parser, alm_from *from)
{
    alm_horizon *horizon = NULL;
    uint32_t cap = 0, cap_negative = 0;
    alm_parse_name name;
    if (alm_at_kw(parser, ALM_KW_HORIZON))
        return ALM_OK;
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &horizon));
    horizon->pos = parser->tok.pos;
    horizon->list = alm_at_kw(parser, ALM_KW_LIST);
    if (!horizon->list && !alm_at_kw(parser, ALM_KW_RANGE))
        return alm_parse_fail(parser, here_or_last(parser), "'range' or 'list' expected");
    alm_parse_next(parser);
    if (horizon->list) {
        if (!alm_at_op(parser, ALM_OP_LPAREN))
            return alm_parse_fail(parser, parser->tok.pos, "'(' expected");
        do {
            alm_parse_next(parser); /* ( or , */
            ALM_TRY(from_parse_offset(parser, horizon, &cap, &cap_negative));
        } while (alm_at_op(parser, ALM_OP_COMMA));
        ALM_TRY(alm_expect_op(parser, ALM_OP_RPAREN, "')' expected"));
    } else {
        ALM_TRY(alm_expect_kw(parser, ALM_KW_FROM, "'from' expected"));
        ALM_TRY(from_parse_offset(parser, horizon, &cap, &cap_negative));
        ALM_TRY(alm_expect_kw(parser, ALM_KW_TO, "'to' expected"));
        ALM_TRY(from_parse_offset(parser, horizon, &cap, &cap_negative));
        ALM_TRY(alm_expect_kw(parser, ALM_KW_STEP, "'step' expected"));
        ALM_TRY(from_parse_offset(parser, horizon, &cap, &cap_negative));
    }
    ALM_TRY(alm_expect_kw(parser, ALM_KW_AS, "'as' expected"));
    ALM_TRY(alm_parse_ident(parser, "horizon alias", &name));
    horizon->alias = name.text;
    from->horizon = horizon;
    return ALM_OK;
}

static alm_status parse_join(alm_parser *parser, const struct join_row *row, alm_from *from)
{
    if (!from->natural)
        from->join_pos = parser->tok.pos;
    from->join = (alm_join_kind)row->kind;
    alm_parse_next(parser);
    if (row->outer)
        (void)alm_take_kw(parser, ALM_KW_OUTER);
    if (row->kw != ALM_KW_JOIN && !alm_take_kw(parser, ALM_KW_JOIN))
        return alm_parse_fail(parser, from->join_pos, "'join' expected");
    ALM_TRY(parse_item(parser, from));
    if (from->lateral) {
        if (from->join != ALM_JOIN_CROSS && from->join != ALM_JOIN_INNER &&
            from->join != ALM_JOIN_LEFT)
            return alm_parse_fail(parser, from->join_pos,
                                  "LATERAL is only supported for INNER, CROSS and LEFT joins");
        from->join = from->join == ALM_JOIN_LEFT ? ALM_JOIN_LATERAL_LEFT : ALM_JOIN_LATERAL_INNER;
    }
    if (from->natural)
        return ALM_OK;
    if (alm_at_kw(parser, ALM_KW_ON)) {
        ALM_TRY(parse_on(parser, from));
    } else if (alm_at_kw(parser, ALM_KW_USING) && from->join != ALM_JOIN_CROSS) {
        alm_parse_next(parser);
        from->merge = true;
        ALM_TRY(parse_column_list(parser, from));
    } else if (row->on && !from->lateral) {
        return alm_parse_fail(parser, here_or_last(parser), "'on' expected");
    }
    if (at_clause(parser) && alm_at_kw(parser, ALM_KW_DIRECTION))
        ALM_TRY(parse_direction(parser, from));
    if (alm_at_kw(parser, ALM_KW_TOLERANCE))
        ALM_TRY(parse_tolerance(parser, from));
    if (from->direction_pos == 0 && at_clause(parser) && alm_at_kw(parser, ALM_KW_DIRECTION))
        ALM_TRY(parse_direction(parser, from));
    if (from->join == ALM_JOIN_WINDOW)
        ALM_TRY(from_parse_range(parser, from));
    if (from->join == ALM_JOIN_HORIZON)
        ALM_TRY(parse_horizon(parser, from));
    return ALM_OK;
}

alm_status alm_parse_joins(alm_parser *parser, alm_from **items, uint32_t *n, uint32_t *cap)
{
    for (;;) {
        const int32_t pos = parser->tok.pos;
        const bool natural = alm_take_kw(parser, ALM_KW_NATURAL);
        const struct join_row *row = join_row_of(parser);
        if (natural && (row == NULL || !row->on))
            return alm_parse_fail(parser, parser->tok.pos, "'join' expected");
        if (row == NULL && !alm_at_op(parser, ALM_OP_COMMA))
            return ALM_OK;
        ALM_TRY(ALM_GROW(parser, items, *n, cap));
        alm_from *from = &(*items)[*n];
        from->natural = from->merge = natural;
        from->join_pos = pos;
        if (row != NULL) {
            ALM_TRY(parse_join(parser, row, from));
        } else {
            from->join_pos = parser->tok.pos;
            alm_parse_next(parser);
            ALM_TRY(parse_item(parser, from));
            from->join = from->lateral ? ALM_JOIN_LATERAL_INNER : ALM_JOIN_CROSS;
        }
        (*n)++;
    }
}

alm_status alm_parse_from(alm_parser *parser, alm_from **out, uint32_t *n)
{
    uint32_t cap = 0;
    ALM_TRY(ALM_GROW(parser, out, 0, &cap));
    ALM_TRY(parse_item(parser, &(*out)[0]));
    *n = 1;
    return alm_parse_joins(parser, out, n, &cap);
}
