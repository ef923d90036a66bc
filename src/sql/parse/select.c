/*
 * select.c - queries: DECLARE, WITH, SELECT and the clauses behind FROM, bare tables, set
 * operations (all of one precedence, from the left), ORDER BY and LIMIT of the whole.
 */
#include "sql/parse/parse.h"
#include "sql/plan/name_set.h"

bool alm_starts_query(alm_token token)
{
    if (token.kind != ALM_TOK_NAME)
        return false;
    return token.kw == ALM_KW_SELECT || token.kw == ALM_KW_WITH || token.kw == ALM_KW_DECLARE ||
           token.kw == ALM_KW_FROM;
}

/* ------------------------------------------------------------------ variables */

const alm_parse_var *alm_parse_var_find(const alm_parser *parser, alm_str name)
{
    for (const alm_parse_var *var = parser->vars; var != NULL; var = var->next)
        if (alm_str_ieq(var->name, name))
            return var;
    return NULL;
}

alm_status alm_parse_var_use(alm_parser *parser, alm_ast **out)
{
    const alm_str text = alm_token_text(parser, parser->tok);
    const alm_parse_var *var = alm_parse_var_find(parser, (alm_str){text.ptr + 1, text.len - 1});
    const int32_t pos = parser->tok.pos;
    for (const alm_parse_var *seen = parser->vars; seen != var; seen = seen->next)
        ALM_TRY(alm_steps_add(parser->cx, 1));
    if (var == NULL) {
        if (parser->vars == NULL)
            return alm_fail(parser->cx, ALM_E_NAME, pos, "Invalid column: %.*s", (int)text.len,
                            text.ptr);
        return alm_fail(parser->cx, ALM_E_NAME, pos, "tried to use undeclared variable `%.*s`",
                        (int)text.len, text.ptr);
    }
    alm_parse_next(parser);
    /* Variables in variables double the tree each time: count what they stand for. */
    if (__builtin_add_overflow(parser->weight, var->weight, &parser->weight) ||
        parser->weight > ALM_PARSE_WEIGHT_MAX)
        return alm_fail(parser->cx, ALM_E_LIMIT, pos,
                        "variables make the statement too large [limit=%d]", ALM_PARSE_WEIGHT_MAX);
    parser->peak = ALM_MAX(parser->peak, var->value->depth);
    *out = var->value;
    return ALM_OK;
}

/* Made of literals and calls alone: what it is does not depend on who may read what. */
static bool parse_select_is_plain(const alm_ast *node)
{
    if (node == NULL)
        return true;
    if (node->kind == ALM_AST_NAME || node->kind == ALM_AST_STAR || node->kind == ALM_AST_VAR ||
        node->select != NULL || node->over != NULL || node->over_name.len > 0 || node->n_order > 0)
        return false;
    for (uint32_t i = 0; i < node->n_args; i++)
        if (!parse_select_is_plain(node->arg[i]))
            return false;
    return parse_select_is_plain(node->else_arg) && parse_select_is_plain(node->filter);
}

/* A query around the view that is parsed may say another value, if the view allows it. */
static alm_status override(alm_parser *parser, alm_declare *declare, bool *by_foreigner)
{
    const alm_override *o = parser->overrides;
    bool foreign = o != NULL && o == parser->foreign;
    for (; o != NULL && !alm_str_ieq(o->name, declare->name); foreign |= o == parser->foreign)
        o = o->next;
    if (o == NULL)
        return ALM_OK;
    if (!declare->overridable) {
        parser->override_refused = true;
        return alm_fail(parser->cx, ALM_E_NAME, o->pos, "variable is not overridable: @%.*s",
                        (int)declare->name.len, declare->name.ptr);
    }
    if (foreign && !parse_select_is_plain(o->value)) {
        parser->override_refused = true;
        return alm_fail(parser->cx, ALM_E_DENIED, o->pos,
                        "@%.*s is a variable of a view of another user: it may be set to a "
                        "constant, not to a column or a query",
                        (int)declare->name.len, declare->name.ptr);
    }
    *by_foreigner = foreign;
    declare->value = o->value;
    parser->weight += o->value->depth;
    return ALM_OK;
}

static alm_status declare_one(alm_parser *parser, alm_declare *declare)
{
    declare->overridable = alm_take_kw(parser, ALM_KW_OVERRIDABLE);
    declare->pos = parser->tok.pos;
    if (parser->tok.kind != ALM_TOK_VAR) {
        alm_parse_next(parser);
        return alm_parse_fail(parser, parser->tok.pos, "function, literal or constant is expected");
    }
    const alm_str text = alm_token_text(parser, parser->tok);
    declare->name = (alm_str){text.ptr + 1, text.len - 1};
    alm_parse_next(parser);
    declare->assign_pos = parser->tok.pos;
    if (!alm_at_op(parser, ALM_OP_ASSIGN)) {
        const alm_str t = alm_token_text(parser, parser->tok);
        return alm_parse_fail(
            parser, parser->tok.pos,
            "unexpected token [%.*s] - expected variable assignment operator `:=`",
            (int)ALM_MIN(t.len, 100), t.ptr);
    }
    alm_parse_next(parser);
    if (!alm_starts_expr(parser))
        return alm_parse_fail(parser, declare->assign_pos,
                              "too few arguments for ':=' [found=1,expected=2]");
    const uint32_t before = parser->weight;
    ALM_TRY(alm_parse_expr(parser, &declare->value));
    bool foreign = false;
    ALM_TRY(alm_nodes_add(parser->cx, 1, declare->pos));
    for (const alm_parse_var *parse_var = parser->vars; parse_var != NULL;
         parse_var = parse_var->next) {
        ALM_TRY(alm_steps_add(parser->cx, 1));
        foreign |= parse_var->foreign && parse_var->value == declare->value; /* @b := @a */
    }
    ALM_TRY(override(parser, declare, &foreign));
    alm_parse_var *var = NULL;
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &var));
    *var = (alm_parse_var){declare->name, declare->value, parser->weight - before, foreign,
                           parser->vars};
    parser->vars = var;
    return ALM_OK;
}

alm_status alm_parse_declare(alm_parser *parser, alm_select *sel)
{
    uint32_t cap = 0;
    do {
        alm_parse_next(parser); /* declare or , */
        ALM_TRY(ALM_GROW(parser, &sel->declare, sel->n_declare, &cap));
        ALM_TRY(declare_one(parser, &sel->declare[sel->n_declare]));
        sel->n_declare++;
    } while (alm_at_op(parser, ALM_OP_COMMA));
    return ALM_OK;
}

/* ------------------------------------------------------------------ with */

static alm_status parse_cte(alm_parser *parser, alm_name_set *seen, uint32_t number, alm_cte *cte)
{
    alm_parse_name name;
    uint32_t had = ALM_NAME_NONE;
    ALM_TRY(alm_parse_ident(parser, "literal", &name));
    cte->name = name.text;
    cte->pos = name.pos;
    ALM_TRY(alm_nodes_add(parser->cx, 1, name.pos));
    ALM_TRY(alm_name_set_add(parser->cx, seen, name.text, number, &had));
    if (had != ALM_NAME_NONE)
        return alm_parse_fail(parser, name.pos, "duplicate name");
    if (alm_at_op(parser, ALM_OP_LPAREN) && !alm_starts_query(alm_parse_peek(parser))) {
        uint32_t cap = 0;
        do {
            alm_parse_next(parser); /* ( or , */
            ALM_TRY(ALM_GROW(parser, &cte->cols, cte->n_cols, &cap));
            ALM_TRY(alm_parse_ident(parser, "column name", &name));
            cte->cols[cte->n_cols++] = name.text;
        } while (alm_at_op(parser, ALM_OP_COMMA));
        ALM_TRY(alm_expect_op(parser, ALM_OP_RPAREN, "')' expected"));
    }
    ALM_TRY(alm_expect_kw(parser, ALM_KW_AS, "'as' expected"));
    if (alm_take_word(parser, "materialized")) {
        cte->materialized = 1;
    } else if (alm_at_kw(parser, ALM_KW_NOT)) {
        alm_parse_next(parser);
        if (!alm_take_word(parser, "materialized"))
            return alm_parse_fail(parser, parser->tok.pos, "'materialized' expected");
        cte->materialized = -1;
    }
    if (!alm_at_op(parser, ALM_OP_LPAREN))
        return alm_parse_fail(parser, parser->tok.pos, "'(' expected");
    return alm_parse_bracketed(parser, &cte->select);
}

alm_status alm_parse_with(alm_parser *parser, alm_select *sel)
{
    uint32_t cap = 0;
    alm_name_set seen = {0};
    const alm_token next = alm_parse_peek(parser);
    sel->with_recursive = alm_token_is_kw(next, ALM_KW_RECURSIVE) &&
                          !alm_token_is_kw(alm_lex(parser->text, next.end, false), ALM_KW_AS);
    if (sel->with_recursive)
        alm_parse_next(parser);
    do {
        alm_parse_next(parser); /* with or , */
        ALM_TRY(ALM_GROW(parser, &sel->with, sel->n_with, &cap));
        ALM_TRY(parse_cte(parser, &seen, sel->n_with, &sel->with[sel->n_with]));
        sel->n_with++;
    } while (alm_at_op(parser, ALM_OP_COMMA));
    return ALM_OK;
}

/* ------------------------------------------------------------------ select list */

alm_status alm_parse_star_item(alm_parser *parser, int32_t pos, alm_select *sel)
{
    ALM_TRY(ALM_NEWN(parser->cx, parser->cx->arena, 1, &sel->items));
    ALM_TRY(alm_parse_node(parser, ALM_AST_STAR, pos, &sel->items[0].expr));
    sel->items[0].expr->text = ALM_STR("*");
    sel->n_items = 1;
    sel->implicit_star = true;
    return ALM_OK;
}

static bool ends_item(alm_token next)
{
    return next.kind == ALM_TOK_END || alm_token_is_kw(next, ALM_KW_FROM) ||
           alm_token_is_op(next, ALM_OP_COMMA) || alm_token_is_op(next, ALM_OP_RPAREN) ||
           alm_token_is_op(next, ALM_OP_SEMI);
}

/* May the word in hand be an alias without AS? One that starts a clause only before , ) FROM. */
static bool parse_select_at_bare_alias(const alm_parser *parser)
{
    if (parser->tok.kind == ALM_TOK_QUOTED || parser->tok.kind == ALM_TOK_STRING)
        return true;
    if (parser->tok.kind != ALM_TOK_NAME)
        return false;
    if (parser->tok.kw == ALM_KW_PLAIN)
        return true;
    const uint32_t flags = alm_keyword_flags((alm_keyword)parser->tok.kw);
    const bool barred = (flags & ALM_KW_NO_COLUMN_ALIAS) != 0;
    if (alm_at_reserved(parser) || (barred && (flags & ALM_KW_ALIAS_AT_END) == 0))
        return false;
    if (!barred && (flags & ALM_KW_NO_TABLE_ALIAS) == 0)
        return true;
    const alm_token next = alm_parse_peek(parser);
    return ends_item(next) && (next.kind != ALM_TOK_END || parser->tok.kw != ALM_KW_RETURNING);
}

/* AS and a reserved word: a name, where nothing else could stand. */
static bool at_keyword_alias(const alm_parser *parser)
{
    if (parser->tok.kind != ALM_TOK_NAME || parser->tok.kw == ALM_KW_SELECT ||
        parser->tok.kw == ALM_KW_FROM)
        return false;
    return ends_item(alm_parse_peek(parser));
}

static alm_status add_to_star(alm_parser *parser, alm_ast *star, uint32_t *cap, alm_ast *node)
{
    ALM_TRY(ALM_GROW(parser, &star->arg, star->n_args, cap));
    star->arg[star->n_args++] = node;
    return ALM_OK;
}

/* (name, ...) of EXCLUDE, (expression AS name, ...) of REPLACE */
static alm_status parse_star_list(alm_parser *parser, alm_ast *star, uint32_t *cap, bool replace)
{
    do {
        alm_ast *expr = NULL, *name = NULL, *node = NULL;
        alm_parse_name text;
        alm_parse_next(parser); /* ( or , */
        if (replace) {
            ALM_TRY(alm_parse_expr(parser, &expr));
            ALM_TRY(alm_expect_kw(parser, ALM_KW_AS, "'as' expected"));
        }
        ALM_TRY(alm_parse_ident(parser, "column name", &text));
        ALM_TRY(alm_parse_node(parser, ALM_AST_NAME, text.pos, &name));
        name->text = text.text;
        if (!replace) {
            ALM_TRY(add_to_star(parser, star, cap, name));
            continue;
        }
        ALM_TRY(alm_parse_node(parser, ALM_AST_BINARY, text.pos, &node));
        ALM_TRY(ALM_NEWN(parser->cx, parser->cx->arena, 2, &node->arg));
        node->text = ALM_STR("as");
        node->arg[0] = expr;
        node->arg[1] = name;
        node->n_args = 2;
        ALM_TRY(add_to_star(parser, star, cap, node));
    } while (alm_at_op(parser, ALM_OP_COMMA));
    return alm_expect_op(parser, ALM_OP_RPAREN, "')' expected");
}

/* * EXCLUDE (a, b), also EXCEPT; * REPLACE (a + 1 AS a): into the star's arguments. */
static alm_status parse_star_suffix(alm_parser *parser, alm_ast *star)
{
    uint32_t cap = 0;
    for (;;) {
        const bool replace = alm_at_word(parser, "replace");
        if ((!replace && !alm_at_word(parser, "exclude") && !alm_at_kw(parser, ALM_KW_EXCEPT)) ||
            !alm_token_is_op(alm_parse_peek(parser), ALM_OP_LPAREN))
            break;
        alm_parser ahead = *parser;
        alm_parse_next(&ahead);
        if (alm_starts_query(alm_parse_peek(&ahead))) /* a set operation */
            break;
        alm_parse_next(parser);
        ALM_TRY(parse_star_list(parser, star, &cap, replace));
        star->end = parser->prev.end;
    }
    return ALM_OK;
}

alm_status alm_parse_item(alm_parser *parser, alm_select_item *item)
{
    if (alm_at_op(parser, ALM_OP_STAR)) {
        ALM_TRY(alm_parse_node(parser, ALM_AST_STAR, parser->tok.pos, &item->expr));
        item->expr->text = ALM_STR("*");
        alm_parse_next(parser);
        item->expr->end = parser->prev.end;
    } else {
        ALM_TRY(alm_parse_expr(parser, &item->expr));
    }
    if (item->expr->kind == ALM_AST_STAR)
        ALM_TRY(parse_star_suffix(parser, item->expr));
    const int32_t pos = parser->tok.pos;
    const bool as = alm_take_kw(parser, ALM_KW_AS);
    if (!as && !parse_select_at_bare_alias(parser))
        return ALM_OK;
    if (item->expr->kind == ALM_AST_STAR)
        return alm_parse_fail(parser, pos, "wildcard cannot have alias");
    alm_parse_name name;
    if (as && at_keyword_alias(parser)) {
        name =
            (alm_parse_name){.text = alm_token_text(parser, parser->tok), .pos = parser->tok.pos};
        alm_parse_next(parser);
    } else {
        ALM_TRY(alm_parse_ident(parser, "column alias", &name));
    }
    if (name.text.len == 0)
        return alm_parse_fail(parser, name.pos, "column alias must not be empty");
    item->alias = name.text;
    item->alias_quoted = name.quoted;
    item->alias_pos = pos;
    return ALM_OK;
}

static bool ends_select_list(const alm_parser *parser)
{
    if (alm_at_end(parser) || alm_at_op(parser, ALM_OP_RPAREN))
        return true;
    if (parser->tok.kind != ALM_TOK_NAME)
        return false;
    switch ((int)parser->tok.kw) {
    case ALM_KW_FROM:
    case ALM_KW_WHERE:
    case ALM_KW_GROUP:
    case ALM_KW_HAVING:
    case ALM_KW_WINDOW:
    case ALM_KW_QUALIFY:
    case ALM_KW_ORDER:
    case ALM_KW_LIMIT:
    case ALM_KW_OFFSET:
    case ALM_KW_FETCH:
    case ALM_KW_FOR:       /* READ ONLY, of a cursor */
    case ALM_KW_RETURNING: /* of an INSERT */
    case ALM_KW_UNION:
    case ALM_KW_EXCEPT:
    case ALM_KW_INTERSECT:
    case ALM_KW_SAMPLE:
    case ALM_KW_LATEST:
    case ALM_KW_PIVOT:
        return true;
    default:
        return false;
    }
}

alm_status alm_parse_returning(alm_parser *parser, alm_stmt *stmt)
{
    uint32_t cap = 0;
    const int32_t pos = parser->tok.pos;
    if (!alm_take_kw(parser, ALM_KW_RETURNING))
        return ALM_OK;
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &stmt->returning));
    stmt->returning->pos = pos;
    do {
        if (alm_at_end(parser))
            return alm_parse_fail(parser, parser->tok.pos, "column expression expected");
        ALM_TRY(ALM_GROW(parser, &stmt->returning->items, stmt->returning->n_items, &cap));
        ALM_TRY(alm_parse_item(parser, &stmt->returning->items[stmt->returning->n_items]));
        stmt->returning->n_items++;
    } while (alm_take_op(parser, ALM_OP_COMMA));
    return alm_at_end(parser) ? ALM_OK : alm_parse_unexpected(parser);
}

/* Nothing before the first clause? Words that are not reserved are columns there: SELECT offset, ts FROM t. */
static bool lacks_items(const alm_parser *parser)
{
    const alm_token next = alm_parse_peek(parser);
    if (!ends_select_list(parser))
        return false;
    if (parser->tok.kind != ALM_TOK_NAME || alm_at_reserved(parser))
        return true;
    switch ((int)parser->tok.kw) {
    case ALM_KW_GROUP:
        return alm_token_is_kw(next, ALM_KW_BY);
    case ALM_KW_LATEST:
        return alm_token_is_kw(next, ALM_KW_ON) || alm_token_is_kw(next, ALM_KW_BY);
    case ALM_KW_PIVOT:
        return alm_token_is_op(next, ALM_OP_LPAREN);
    default:
        return false;
    }
}

static alm_status select_parse_items(alm_parser *parser, alm_select *sel)
{
    uint32_t cap = 0;
    if (lacks_items(parser))
        return alm_parse_fail(parser, parser->tok.pos, "column expression expected");
    do {
        if (sel->n_items > 0 && alm_at_kw(parser, ALM_KW_FROM))
            break; /* a comma too many */
        ALM_TRY(ALM_GROW(parser, &sel->items, sel->n_items, &cap));
        ALM_TRY(alm_parse_item(parser, &sel->items[sel->n_items]));
        sel->n_items++;
    } while (alm_take_op(parser, ALM_OP_COMMA));
    if (ends_select_list(parser))
        return ALM_OK;
    if (alm_at_kw(parser, ALM_KW_INTO) || parser->tok.kind == ALM_TOK_OP)
        return alm_parse_unexpected(parser);
    const alm_str text = alm_token_text(parser, parser->tok);
    return alm_parse_fail(parser, parser->tok.pos,
                          "found [tok='%.*s', len=%zu] ',', 'from' or 'over' expected",
                          (int)ALM_MIN(text.len, 100), text.ptr, text.len);
}

static alm_status parse_distinct(alm_parser *parser, alm_select *sel)
{
    sel->distinct = true;
    if (!alm_at_kw(parser, ALM_KW_ON) || !alm_token_is_op(alm_parse_peek(parser), ALM_OP_LPAREN))
        return ALM_OK;
    alm_parse_next(parser);
    alm_parse_next(parser);
    ALM_TRY(alm_parse_exprs(parser, &sel->distinct_on, &sel->n_distinct_on));
    return alm_expect_op(parser, ALM_OP_RPAREN, "')' expected");
}

/* ------------------------------------------------------------------ clauses */

static alm_status select_parse_where(alm_parser *parser, alm_select *sel)
{
    const int32_t pos = parser->tok.pos;
    sel->where_pos = pos;
    alm_parse_next(parser);
    if (alm_at_end(parser) || alm_at_op(parser, ALM_OP_RPAREN))
        return alm_parse_fail(parser, pos, "empty where clause");
    const bool no_window = parser->no_window;
    parser->no_window = true;
    ALM_TRY(alm_parse_expr(parser, &sel->where));
    parser->no_window = no_window;
    return ALM_OK;
}

static alm_status parse_group(alm_parser *parser, alm_select *sel)
{
    sel->has_group = true;
    sel->group_pos = parser->tok.pos;
    alm_parse_next(parser);
    ALM_TRY(alm_expect_kw(parser, ALM_KW_BY, "'by' expected"));
    if (alm_at_end(parser) || alm_at_op(parser, ALM_OP_RPAREN))
        return alm_parse_fail(parser, parser->tok.pos, "literal expected");
    if (sel->sample != NULL)
        return alm_parse_fail(parser, parser->tok.pos,
                              "SELECT query must not contain both GROUP BY and SAMPLE BY");
    const alm_token next = alm_parse_peek(parser);
    if (alm_at_kw(parser, ALM_KW_ALL) && next.kind != ALM_TOK_OP) {
        alm_parse_next(parser);
        sel->group_all = true;
        return ALM_OK;
    }
    return alm_parse_group_list(parser, sel);
}

static alm_status parse_windows(alm_parser *parser, alm_select *sel)
{
    uint32_t cap = 0;
    do {
        alm_parse_name name;
        alm_parse_next(parser); /* window or , */
        ALM_TRY(ALM_GROW(parser, &sel->windows, sel->n_windows, &cap));
        alm_named_window *window = &sel->windows[sel->n_windows];
        ALM_TRY(alm_parse_ident(parser, "window name", &name));
        window->name = name.text;
        window->pos = name.pos;
        ALM_TRY(alm_expect_kw(parser, ALM_KW_AS, "'as' expected"));
        ALM_TRY(alm_parse_window(parser, &window->def));
        sel->n_windows++;
    } while (alm_at_op(parser, ALM_OP_COMMA));
    return ALM_OK;
}

static alm_status select_parse_clauses(alm_parser *parser, alm_select *sel)
{
    const bool latest = alm_at_kw(parser, ALM_KW_LATEST);
    if (latest) {
        ALM_TRY(alm_parse_latest(parser, sel));
        if (alm_at_kw(parser, ALM_KW_WHERE) && sel->latest_ts.len > 0)
            return alm_parse_fail(parser, parser->tok.pos,
                                  "unexpected where clause after 'latest on'");
        sel->latest_before_where = alm_at_kw(parser, ALM_KW_WHERE);
    }
    if (alm_at_kw(parser, ALM_KW_WHERE))
        ALM_TRY(select_parse_where(parser, sel));
    if (alm_at_kw(parser, ALM_KW_LATEST) && !latest)
        ALM_TRY(alm_parse_latest(parser, sel));
    if (alm_at_kw(parser, ALM_KW_UNPIVOT))
        ALM_TRY(alm_parse_unpivot(parser, sel));
    if (alm_at_kw(parser, ALM_KW_PIVOT))
        ALM_TRY(alm_parse_pivot(parser, sel));
    if (alm_at_kw(parser, ALM_KW_SAMPLE))
        ALM_TRY(alm_parse_sample(parser, sel));
    if (alm_at_kw(parser, ALM_KW_GROUP))
        ALM_TRY(parse_group(parser, sel));
    if (alm_take_kw(parser, ALM_KW_HAVING))
        ALM_TRY(alm_parse_expr(parser, &sel->having));
    if (alm_at_kw(parser, ALM_KW_WINDOW))
        ALM_TRY(parse_windows(parser, sel));
    if (alm_take_kw(parser, ALM_KW_QUALIFY))
        ALM_TRY(alm_parse_expr(parser, &sel->qualify));
    return ALM_OK;
}

static alm_status parse_select_core(alm_parser *parser, alm_select *sel)
{
    alm_parse_next(parser); /* select */
    if (alm_take_kw(parser, ALM_KW_DISTINCT))
        ALM_TRY(parse_distinct(parser, sel));
    else
        (void)alm_take_kw(parser, ALM_KW_ALL);
    ALM_TRY(select_parse_items(parser, sel));
    if (alm_take_kw(parser, ALM_KW_FROM))
        ALM_TRY(alm_parse_from(parser, &sel->from, &sel->n_from));
    ALM_TRY(select_parse_clauses(parser, sel));
    return alm_parse_lists(parser, sel);
}

/* FROM t SELECT a WHERE ..., FROM t WHERE ...: what is there first, as one types it. */
static alm_status parse_from_core(alm_parser *parser, alm_select *sel)
{
    const int32_t pos = parser->tok.pos;
    alm_parse_next(parser); /* from */
    ALM_TRY(alm_parse_from(parser, &sel->from, &sel->n_from));
    if (alm_take_kw(parser, ALM_KW_SELECT)) {
        if (alm_take_kw(parser, ALM_KW_DISTINCT))
            ALM_TRY(parse_distinct(parser, sel));
        ALM_TRY(select_parse_items(parser, sel));
    } else {
        ALM_TRY(alm_parse_star_item(parser, pos, sel));
    }
    return select_parse_clauses(parser, sel);
}

/* `tab where ...`, `f(1) order by ...`, `values (1), (2)`: a star over what FROM would hold. */
static alm_status parse_bare_core(alm_parser *parser, alm_select *sel)
{
    ALM_TRY(alm_parse_star_item(parser, parser->tok.pos, sel));
    ALM_TRY(alm_parse_from(parser, &sel->from, &sel->n_from));
    return select_parse_clauses(parser, sel);
}

/* ------------------------------------------------------------------ brackets */

alm_status alm_parse_bracketed(alm_parser *parser, alm_select **out)
{
    ALM_ASSERT(alm_at_op(parser, ALM_OP_LPAREN));
    alm_parse_next(parser);
    if (alm_at_kw(parser, ALM_KW_SHOW))
        ALM_TRY(alm_parse_show_query(parser, out));
    else
        ALM_TRY(alm_parse_query(parser, out));
    return alm_expect_op(parser, ALM_OP_RPAREN, "')' expected");
}

/* Does a clause follow that makes a bracketed query an item of a FROM? */
static bool at_from_clause(const alm_parser *parser)
{
    switch ((int)(parser->tok.kind == ALM_TOK_NAME ? parser->tok.kw : ALM_KW_PLAIN)) {
    case ALM_KW_WHERE:
    case ALM_KW_LATEST:
    case ALM_KW_PIVOT:
    case ALM_KW_UNPIVOT:
    case ALM_KW_SAMPLE:
    case ALM_KW_GROUP:
    case ALM_KW_JOIN:
    case ALM_KW_INNER:
    case ALM_KW_LEFT:
    case ALM_KW_RIGHT:
    case ALM_KW_FULL:
    case ALM_KW_CROSS:
    case ALM_KW_ASOF:
    case ALM_KW_LT:
    case ALM_KW_SPLICE:
    case ALM_KW_WINDOW:
        return true;
    case ALM_KW_TIMESTAMP:
        return alm_token_is_op(alm_parse_peek(parser), ALM_OP_LPAREN);
    default:
        return false;
    }
}

static alm_status new_select(alm_parser *parser, int32_t pos, alm_select **out)
{
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, out));
    (*out)->pos = pos;
    return ALM_OK;
}

static alm_status seal_select(alm_parser *parser, alm_select *sel, uint32_t depth)
{
    if (depth >= parser->depth_max)
        return alm_parse_too_deep(parser, sel->pos);
    sel->depth = depth + 1;
    sel->end = parser->prev.end;
    parser->peak = ALM_MAX(parser->peak, sel->depth);
    return ALM_OK;
}

/* A star over `inner`. */
static alm_status parse_select_wrap(alm_parser *parser, alm_select *inner, alm_select **out)
{
    ALM_TRY(new_select(parser, inner->pos, out));
    ALM_TRY(alm_parse_star_item(parser, inner->pos, *out));
    ALM_TRY(ALM_NEWN(parser->cx, parser->cx->arena, 1, &(*out)->from));
    (*out)->from[0].kind = ALM_FROM_SELECT;
    (*out)->from[0].select = inner;
    (*out)->from[0].pos = inner->pos;
    (*out)->n_from = 1;
    return seal_select(parser, *out, inner->depth);
}

/* (query) where ..., (query) timestamp(ts), (query) join ...: the query is an item of a FROM. */
static alm_status wrap_clauses(alm_parser *parser, alm_select *inner, alm_select **out)
{
    alm_from *items = NULL;
    uint32_t n = 0, cap = 0;
    ALM_TRY(new_select(parser, inner->pos, out));
    alm_select *sel = *out;
    ALM_TRY(alm_parse_star_item(parser, inner->pos, sel));
    ALM_TRY(ALM_GROW(parser, &items, n, &cap));
    items[0].kind = ALM_FROM_SELECT;
    items[0].select = inner;
    items[0].pos = inner->pos;
    n = 1;
    if (alm_at_kw(parser, ALM_KW_TIMESTAMP)) {
        alm_parse_name name;
        alm_parse_next(parser);
        ALM_TRY(alm_expect_op(parser, ALM_OP_LPAREN, "'(' expected"));
        ALM_TRY(alm_parse_ident(parser, "column name", &name));
        items[0].timestamp = name.text;
        items[0].timestamp_pos = name.pos;
        ALM_TRY(alm_expect_op(parser, ALM_OP_RPAREN, "')' expected"));
    }
    ALM_TRY(alm_parse_joins(parser, &items, &n, &cap));
    sel->from = items;
    sel->n_from = n;
    ALM_TRY(select_parse_clauses(parser, sel));
    return seal_select(parser, sel, ALM_MAX(parser->peak, inner->depth));
}

/* ------------------------------------------------------------------ set operations */

static alm_status parse_term(alm_parser *parser, alm_select **out)
{
    const uint32_t outer_peak = parser->peak;
    const bool no_window = parser->no_window;
    parser->peak = 0;
    parser->no_window = false; /* a query has its own places for windows, wherever it stands */
    if (alm_at_op(parser, ALM_OP_LPAREN)) {
        ALM_TRY(alm_parse_bracketed(parser, out));
        if (at_from_clause(parser))
            ALM_TRY(wrap_clauses(parser, *out, out));
    } else {
        ALM_TRY(new_select(parser, parser->tok.pos, out));
        if (alm_at_kw(parser, ALM_KW_SELECT))
            ALM_TRY(parse_select_core(parser, *out));
        else if (alm_at_kw(parser, ALM_KW_FROM))
            ALM_TRY(parse_from_core(parser, *out));
        else
            ALM_TRY(parse_bare_core(parser, *out));
        ALM_TRY(seal_select(parser, *out, parser->peak));
    }
    parser->peak = ALM_MAX(outer_peak, parser->peak);
    parser->no_window = no_window;
    return ALM_OK;
}

static alm_status parse_set_operation(alm_parser *parser, alm_select *left, alm_select **out)
{
    alm_select *sel = NULL;
    ALM_TRY(new_select(parser, left->pos, &sel));
    sel->op = alm_at_kw(parser, ALM_KW_UNION)    ? ALM_SET_UNION
              : alm_at_kw(parser, ALM_KW_EXCEPT) ? ALM_SET_EXCEPT
                                                 : ALM_SET_INTERSECT;
    sel->op_pos = parser->tok.pos;
    sel->left = left;
    alm_parse_next(parser);
    sel->all = alm_take_kw(parser, ALM_KW_ALL);
    if (!sel->all)
        (void)alm_take_kw(parser, ALM_KW_DISTINCT);
    if (alm_at_end(parser) || alm_at_op(parser, ALM_OP_RPAREN))
        return alm_parse_fail(parser, parser->tok.pos, "all or select expected");
    ALM_TRY(parse_term(parser, &sel->right));
    *out = sel;
    return seal_select(parser, sel, ALM_MAX(left->depth, sel->right->depth));
}

static bool at_tail(const alm_parser *parser)
{
    return alm_at_kw(parser, ALM_KW_ORDER) || alm_at_kw(parser, ALM_KW_LIMIT) ||
           alm_at_kw(parser, ALM_KW_OFFSET) || alm_at_kw(parser, ALM_KW_FETCH);
}

alm_status alm_parse_query_rest(alm_parser *parser, alm_select *left, alm_select **out)
{
    while (alm_at_kw(parser, ALM_KW_UNION) || alm_at_kw(parser, ALM_KW_EXCEPT) ||
           alm_at_kw(parser, ALM_KW_INTERSECT))
        ALM_TRY(parse_set_operation(parser, left, &left));
    if (at_tail(parser) && (left->n_order > 0 || left->limit_lo != NULL || left->offset != NULL))
        ALM_TRY(parse_select_wrap(parser, left, &left)); /* (... order by a limit 1) order by b */
    const bool no_window = parser->no_window;
    parser->no_window = false;
    if (alm_at_kw(parser, ALM_KW_ORDER))
        ALM_TRY(alm_parse_order(parser, &left->order, &left->n_order));
    ALM_TRY(alm_parse_limit(parser, left));
    parser->no_window = no_window;
    *out = left;
    return seal_select(parser, left, ALM_MAX(parser->peak, left->depth) - 1);
}

alm_status alm_parse_query(alm_parser *parser, alm_select **out)
{
    alm_select head = {0}; /* DECLARE and WITH, until it is known what they stand before */
    alm_select *body = NULL;
    const alm_parse_var *vars = parser->vars;
    const int32_t pos = parser->tok.pos;
    const uint32_t outer_peak = parser->peak;
    parser->peak = 0;
    ALM_TRY(alm_parse_enter(parser));
    if (alm_at_kw(parser, ALM_KW_DECLARE)) {
        ALM_TRY(alm_parse_declare(parser, &head));
        if (alm_at_end(parser))
            return alm_parse_fail(parser, parser->tok.pos,
                                  "'select', 'with', or table name expected expected");
    }
    if (alm_at_kw(parser, ALM_KW_WITH))
        ALM_TRY(alm_parse_with(parser, &head));
    if (alm_at_end(parser))
        return alm_parse_fail(parser, parser->tok.pos,
                              "'select', 'update' or name expected expected");
    ALM_TRY(parse_term(parser, &body));
    ALM_TRY(alm_parse_query_rest(parser, body, &body));
    if ((head.n_with > 0 && body->n_with > 0) || (head.n_declare > 0 && body->n_declare > 0))
        ALM_TRY(parse_select_wrap(parser, body, &body)); /* with a as (...) (with b as (...) ...) */
    if (head.n_with > 0) {
        body->with = head.with;
        body->n_with = head.n_with;
        body->with_recursive = head.with_recursive;
    }
    if (head.n_declare > 0) {
        body->declare = head.declare;
        body->n_declare = head.n_declare;
    }
    if (head.n_with > 0 || head.n_declare > 0)
        body->pos = pos;
    ALM_TRY(seal_select(parser, body, ALM_MAX(parser->peak, body->depth) - 1));
    parser->peak = ALM_MAX(outer_peak, body->depth);
    parser->vars = vars;
    parser->nest--;
    *out = body;
    return ALM_OK;
}
