/*
 * select.c - queries: DECLARE, WITH, SELECT and the clauses behind FROM, bare tables, set
 * operations (all of one precedence, from the left), ORDER BY and LIMIT of the whole.
 */
#include "sql/parse/parse.h"
#include "sql/plan/name_set.h"

bool alm_starts_query(alm_token t)
{
    if (t.kind != ALM_TOK_NAME)
        return false;
    return t.kw == ALM_KW_SELECT || t.kw == ALM_KW_WITH || t.kw == ALM_KW_DECLARE ||
           t.kw == ALM_KW_FROM;
}

/* ------------------------------------------------------------------ variables */

const alm_parse_var *alm_parse_var_find(const alm_parser *p, alm_str name)
{
    for (const alm_parse_var *v = p->vars; v != NULL; v = v->next)
        if (alm_str_ieq(v->name, name))
            return v;
    return NULL;
}

alm_status alm_parse_var_use(alm_parser *p, alm_ast **out)
{
    const alm_str text = alm_token_text(p, p->tok);
    const alm_parse_var *v = alm_parse_var_find(p, (alm_str){text.ptr + 1, text.len - 1});
    const int32_t pos = p->tok.pos;
    for (const alm_parse_var *seen = p->vars; seen != v; seen = seen->next)
        ALM_TRY(alm_steps_add(p->cx, 1));
    if (v == NULL) {
        if (p->vars == NULL)
            return alm_fail(p->cx, ALM_E_NAME, pos, "Invalid column: %.*s", (int)text.len,
                            text.ptr);
        return alm_fail(p->cx, ALM_E_NAME, pos, "tried to use undeclared variable `%.*s`",
                        (int)text.len, text.ptr);
    }
    alm_parse_next(p);
    /* Variables in variables double the tree each time: count what they stand for. */
    if (__builtin_add_overflow(p->weight, v->weight, &p->weight) ||
        p->weight > ALM_PARSE_WEIGHT_MAX)
        return alm_fail(p->cx, ALM_E_LIMIT, pos,
                        "variables make the statement too large [limit=%d]", ALM_PARSE_WEIGHT_MAX);
    p->peak = ALM_MAX(p->peak, v->value->depth);
    *out = v->value;
    return ALM_OK;
}

/* Made of literals and calls alone: what it is does not depend on who may read what. */
static bool is_plain(const alm_ast *e)
{
    if (e == NULL)
        return true;
    if (e->kind == ALM_AST_NAME || e->kind == ALM_AST_STAR || e->kind == ALM_AST_VAR ||
        e->select != NULL || e->over != NULL || e->over_name.len > 0 || e->n_order > 0)
        return false;
    for (uint32_t i = 0; i < e->n_args; i++)
        if (!is_plain(e->arg[i]))
            return false;
    return is_plain(e->else_arg) && is_plain(e->filter);
}

/* A query around the view that is parsed may say another value, if the view allows it. */
static alm_status override(alm_parser *p, alm_declare *d, bool *by_foreigner)
{
    const alm_override *o = p->overrides;
    bool foreign = o != NULL && o == p->foreign;
    for (; o != NULL && !alm_str_ieq(o->name, d->name); foreign |= o == p->foreign)
        o = o->next;
    if (o == NULL)
        return ALM_OK;
    if (!d->overridable) {
        p->override_refused = true;
        return alm_fail(p->cx, ALM_E_NAME, o->pos, "variable is not overridable: @%.*s",
                        (int)d->name.len, d->name.ptr);
    }
    if (foreign && !is_plain(o->value)) {
        p->override_refused = true;
        return alm_fail(p->cx, ALM_E_DENIED, o->pos,
                        "@%.*s is a variable of a view of another user: it may be set to a "
                        "constant, not to a column or a query",
                        (int)d->name.len, d->name.ptr);
    }
    *by_foreigner = foreign;
    d->value = o->value;
    p->weight += o->value->depth;
    return ALM_OK;
}

static alm_status declare_one(alm_parser *p, alm_declare *d)
{
    d->overridable = alm_take_kw(p, ALM_KW_OVERRIDABLE);
    d->pos = p->tok.pos;
    if (p->tok.kind != ALM_TOK_VAR) {
        alm_parse_next(p);
        return alm_parse_fail(p, p->tok.pos, "function, literal or constant is expected");
    }
    const alm_str text = alm_token_text(p, p->tok);
    d->name = (alm_str){text.ptr + 1, text.len - 1};
    alm_parse_next(p);
    d->assign_pos = p->tok.pos;
    if (!alm_at_op(p, ALM_OP_ASSIGN)) {
        const alm_str t = alm_token_text(p, p->tok);
        return alm_parse_fail(
            p, p->tok.pos, "unexpected token [%.*s] - expected variable assignment operator `:=`",
            (int)ALM_MIN(t.len, 100), t.ptr);
    }
    alm_parse_next(p);
    if (!alm_starts_expr(p))
        return alm_parse_fail(p, d->assign_pos, "too few arguments for ':=' [found=1,expected=2]");
    const uint32_t before = p->weight;
    ALM_TRY(alm_parse_expr(p, &d->value));
    bool foreign = false;
    ALM_TRY(alm_nodes_add(p->cx, 1, d->pos));
    for (const alm_parse_var *v = p->vars; v != NULL; v = v->next) {
        ALM_TRY(alm_steps_add(p->cx, 1));
        foreign |= v->foreign && v->value == d->value; /* @b := @a */
    }
    ALM_TRY(override(p, d, &foreign));
    alm_parse_var *var = NULL;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &var));
    *var = (alm_parse_var){d->name, d->value, p->weight - before, foreign, p->vars};
    p->vars = var;
    return ALM_OK;
}

alm_status alm_parse_declare(alm_parser *p, alm_select *sel)
{
    uint32_t cap = 0;
    do {
        alm_parse_next(p); /* declare or , */
        ALM_TRY(ALM_GROW(p, &sel->declare, sel->n_declare, &cap));
        ALM_TRY(declare_one(p, &sel->declare[sel->n_declare]));
        sel->n_declare++;
    } while (alm_at_op(p, ALM_OP_COMMA));
    return ALM_OK;
}

/* ------------------------------------------------------------------ with */

static alm_status parse_cte(alm_parser *p, alm_name_set *seen, uint32_t number, alm_cte *cte)
{
    alm_parse_name name;
    uint32_t had = ALM_NAME_NONE;
    ALM_TRY(alm_parse_ident(p, "literal", &name));
    cte->name = name.text;
    cte->pos = name.pos;
    ALM_TRY(alm_nodes_add(p->cx, 1, name.pos));
    ALM_TRY(alm_name_set_add(p->cx, seen, name.text, number, &had));
    if (had != ALM_NAME_NONE)
        return alm_parse_fail(p, name.pos, "duplicate name");
    if (alm_at_op(p, ALM_OP_LPAREN) && !alm_starts_query(alm_parse_peek(p))) {
        uint32_t cap = 0;
        do {
            alm_parse_next(p); /* ( or , */
            ALM_TRY(ALM_GROW(p, &cte->cols, cte->n_cols, &cap));
            ALM_TRY(alm_parse_ident(p, "column name", &name));
            cte->cols[cte->n_cols++] = name.text;
        } while (alm_at_op(p, ALM_OP_COMMA));
        ALM_TRY(alm_expect_op(p, ALM_OP_RPAREN, "')' expected"));
    }
    ALM_TRY(alm_expect_kw(p, ALM_KW_AS, "'as' expected"));
    if (alm_take_word(p, "materialized")) {
        cte->materialized = 1;
    } else if (alm_at_kw(p, ALM_KW_NOT)) {
        alm_parse_next(p);
        if (!alm_take_word(p, "materialized"))
            return alm_parse_fail(p, p->tok.pos, "'materialized' expected");
        cte->materialized = -1;
    }
    if (!alm_at_op(p, ALM_OP_LPAREN))
        return alm_parse_fail(p, p->tok.pos, "'(' expected");
    return alm_parse_bracketed(p, &cte->select);
}

alm_status alm_parse_with(alm_parser *p, alm_select *sel)
{
    uint32_t cap = 0;
    alm_name_set seen = {0};
    const alm_token next = alm_parse_peek(p);
    sel->with_recursive = alm_token_is_kw(next, ALM_KW_RECURSIVE) &&
                          !alm_token_is_kw(alm_lex(p->text, next.end, false), ALM_KW_AS);
    if (sel->with_recursive)
        alm_parse_next(p);
    do {
        alm_parse_next(p); /* with or , */
        ALM_TRY(ALM_GROW(p, &sel->with, sel->n_with, &cap));
        ALM_TRY(parse_cte(p, &seen, sel->n_with, &sel->with[sel->n_with]));
        sel->n_with++;
    } while (alm_at_op(p, ALM_OP_COMMA));
    return ALM_OK;
}

/* ------------------------------------------------------------------ select list */

alm_status alm_parse_star_item(alm_parser *p, int32_t pos, alm_select *sel)
{
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 1, &sel->items));
    ALM_TRY(alm_parse_node(p, ALM_AST_STAR, pos, &sel->items[0].expr));
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
static bool at_bare_alias(const alm_parser *p)
{
    if (p->tok.kind == ALM_TOK_QUOTED || p->tok.kind == ALM_TOK_STRING)
        return true;
    if (p->tok.kind != ALM_TOK_NAME)
        return false;
    if (p->tok.kw == ALM_KW_PLAIN)
        return true;
    const uint32_t flags = alm_keyword_flags((alm_keyword)p->tok.kw);
    const bool barred = (flags & ALM_KW_NO_COLUMN_ALIAS) != 0;
    if (alm_at_reserved(p) || (barred && (flags & ALM_KW_ALIAS_AT_END) == 0))
        return false;
    if (!barred && (flags & ALM_KW_NO_TABLE_ALIAS) == 0)
        return true;
    const alm_token next = alm_parse_peek(p);
    return ends_item(next) && (next.kind != ALM_TOK_END || p->tok.kw != ALM_KW_RETURNING);
}

/* AS and a reserved word: a name, where nothing else could stand. */
static bool at_keyword_alias(const alm_parser *p)
{
    if (p->tok.kind != ALM_TOK_NAME || p->tok.kw == ALM_KW_SELECT || p->tok.kw == ALM_KW_FROM)
        return false;
    return ends_item(alm_parse_peek(p));
}

static alm_status add_to_star(alm_parser *p, alm_ast *star, uint32_t *cap, alm_ast *node)
{
    ALM_TRY(ALM_GROW(p, &star->arg, star->n_args, cap));
    star->arg[star->n_args++] = node;
    return ALM_OK;
}

/* (name, ...) of EXCLUDE, (expression AS name, ...) of REPLACE */
static alm_status parse_star_list(alm_parser *p, alm_ast *star, uint32_t *cap, bool replace)
{
    do {
        alm_ast *expr = NULL, *name = NULL, *as = NULL;
        alm_parse_name text;
        alm_parse_next(p); /* ( or , */
        if (replace) {
            ALM_TRY(alm_parse_expr(p, &expr));
            ALM_TRY(alm_expect_kw(p, ALM_KW_AS, "'as' expected"));
        }
        ALM_TRY(alm_parse_ident(p, "column name", &text));
        ALM_TRY(alm_parse_node(p, ALM_AST_NAME, text.pos, &name));
        name->text = text.text;
        if (!replace) {
            ALM_TRY(add_to_star(p, star, cap, name));
            continue;
        }
        ALM_TRY(alm_parse_node(p, ALM_AST_BINARY, text.pos, &as));
        ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 2, &as->arg));
        as->text = ALM_STR("as");
        as->arg[0] = expr;
        as->arg[1] = name;
        as->n_args = 2;
        ALM_TRY(add_to_star(p, star, cap, as));
    } while (alm_at_op(p, ALM_OP_COMMA));
    return alm_expect_op(p, ALM_OP_RPAREN, "')' expected");
}

/* * EXCLUDE (a, b), also EXCEPT; * REPLACE (a + 1 AS a): into the star's arguments. */
static alm_status parse_star_suffix(alm_parser *p, alm_ast *star)
{
    uint32_t cap = 0;
    for (;;) {
        const bool replace = alm_at_word(p, "replace");
        if ((!replace && !alm_at_word(p, "exclude") && !alm_at_kw(p, ALM_KW_EXCEPT)) ||
            !alm_token_is_op(alm_parse_peek(p), ALM_OP_LPAREN))
            break;
        alm_parser ahead = *p;
        alm_parse_next(&ahead);
        if (alm_starts_query(alm_parse_peek(&ahead))) /* a set operation */
            break;
        alm_parse_next(p);
        ALM_TRY(parse_star_list(p, star, &cap, replace));
        star->end = p->prev.end;
    }
    return ALM_OK;
}

alm_status alm_parse_item(alm_parser *p, alm_select_item *item)
{
    if (alm_at_op(p, ALM_OP_STAR)) {
        ALM_TRY(alm_parse_node(p, ALM_AST_STAR, p->tok.pos, &item->expr));
        item->expr->text = ALM_STR("*");
        alm_parse_next(p);
        item->expr->end = p->prev.end;
    } else {
        ALM_TRY(alm_parse_expr(p, &item->expr));
    }
    if (item->expr->kind == ALM_AST_STAR)
        ALM_TRY(parse_star_suffix(p, item->expr));
    const int32_t pos = p->tok.pos;
    const bool as = alm_take_kw(p, ALM_KW_AS);
    if (!as && !at_bare_alias(p))
        return ALM_OK;
    if (item->expr->kind == ALM_AST_STAR)
        return alm_parse_fail(p, pos, "wildcard cannot have alias");
    alm_parse_name name;
    if (as && at_keyword_alias(p)) {
        name = (alm_parse_name){.text = alm_token_text(p, p->tok), .pos = p->tok.pos};
        alm_parse_next(p);
    } else {
        ALM_TRY(alm_parse_ident(p, "column alias", &name));
    }
    if (name.text.len == 0)
        return alm_parse_fail(p, name.pos, "column alias must not be empty");
    item->alias = name.text;
    item->alias_quoted = name.quoted;
    item->alias_pos = pos;
    return ALM_OK;
}

static bool ends_select_list(const alm_parser *p)
{
    if (alm_at_end(p) || alm_at_op(p, ALM_OP_RPAREN))
        return true;
    if (p->tok.kind != ALM_TOK_NAME)
        return false;
    switch ((int)p->tok.kw) {
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

alm_status alm_parse_returning(alm_parser *p, alm_stmt *s)
{
    uint32_t cap = 0;
    const int32_t pos = p->tok.pos;
    if (!alm_take_kw(p, ALM_KW_RETURNING))
        return ALM_OK;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &s->returning));
    s->returning->pos = pos;
    do {
        if (alm_at_end(p))
            return alm_parse_fail(p, p->tok.pos, "column expression expected");
        ALM_TRY(ALM_GROW(p, &s->returning->items, s->returning->n_items, &cap));
        ALM_TRY(alm_parse_item(p, &s->returning->items[s->returning->n_items]));
        s->returning->n_items++;
    } while (alm_take_op(p, ALM_OP_COMMA));
    return alm_at_end(p) ? ALM_OK : alm_parse_unexpected(p);
}

/* Nothing before the first clause? Words that are not reserved are columns there: SELECT offset, ts FROM t. */
static bool lacks_items(const alm_parser *p)
{
    const alm_token next = alm_parse_peek(p);
    if (!ends_select_list(p))
        return false;
    if (p->tok.kind != ALM_TOK_NAME || alm_at_reserved(p))
        return true;
    switch ((int)p->tok.kw) {
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

static alm_status parse_items(alm_parser *p, alm_select *sel)
{
    uint32_t cap = 0;
    if (lacks_items(p))
        return alm_parse_fail(p, p->tok.pos, "column expression expected");
    do {
        if (sel->n_items > 0 && alm_at_kw(p, ALM_KW_FROM))
            break; /* a comma too many */
        ALM_TRY(ALM_GROW(p, &sel->items, sel->n_items, &cap));
        ALM_TRY(alm_parse_item(p, &sel->items[sel->n_items]));
        sel->n_items++;
    } while (alm_take_op(p, ALM_OP_COMMA));
    if (ends_select_list(p))
        return ALM_OK;
    if (alm_at_kw(p, ALM_KW_INTO) || p->tok.kind == ALM_TOK_OP)
        return alm_parse_unexpected(p);
    const alm_str t = alm_token_text(p, p->tok);
    return alm_parse_fail(p, p->tok.pos,
                          "found [tok='%.*s', len=%zu] ',', 'from' or 'over' expected",
                          (int)ALM_MIN(t.len, 100), t.ptr, t.len);
}

static alm_status parse_distinct(alm_parser *p, alm_select *sel)
{
    sel->distinct = true;
    if (!alm_at_kw(p, ALM_KW_ON) || !alm_token_is_op(alm_parse_peek(p), ALM_OP_LPAREN))
        return ALM_OK;
    alm_parse_next(p);
    alm_parse_next(p);
    ALM_TRY(alm_parse_exprs(p, &sel->distinct_on, &sel->n_distinct_on));
    return alm_expect_op(p, ALM_OP_RPAREN, "')' expected");
}

/* ------------------------------------------------------------------ clauses */

static alm_status parse_where(alm_parser *p, alm_select *sel)
{
    const int32_t pos = p->tok.pos;
    sel->where_pos = pos;
    alm_parse_next(p);
    if (alm_at_end(p) || alm_at_op(p, ALM_OP_RPAREN))
        return alm_parse_fail(p, pos, "empty where clause");
    const bool no_window = p->no_window;
    p->no_window = true;
    ALM_TRY(alm_parse_expr(p, &sel->where));
    p->no_window = no_window;
    return ALM_OK;
}

static alm_status parse_group(alm_parser *p, alm_select *sel)
{
    sel->has_group = true;
    sel->group_pos = p->tok.pos;
    alm_parse_next(p);
    ALM_TRY(alm_expect_kw(p, ALM_KW_BY, "'by' expected"));
    if (alm_at_end(p) || alm_at_op(p, ALM_OP_RPAREN))
        return alm_parse_fail(p, p->tok.pos, "literal expected");
    if (sel->sample != NULL)
        return alm_parse_fail(p, p->tok.pos,
                              "SELECT query must not contain both GROUP BY and SAMPLE BY");
    const alm_token next = alm_parse_peek(p);
    if (alm_at_kw(p, ALM_KW_ALL) && next.kind != ALM_TOK_OP) {
        alm_parse_next(p);
        sel->group_all = true;
        return ALM_OK;
    }
    return alm_parse_group_list(p, sel);
}

static alm_status parse_windows(alm_parser *p, alm_select *sel)
{
    uint32_t cap = 0;
    do {
        alm_parse_name name;
        alm_parse_next(p); /* window or , */
        ALM_TRY(ALM_GROW(p, &sel->windows, sel->n_windows, &cap));
        alm_named_window *w = &sel->windows[sel->n_windows];
        ALM_TRY(alm_parse_ident(p, "window name", &name));
        w->name = name.text;
        w->pos = name.pos;
        ALM_TRY(alm_expect_kw(p, ALM_KW_AS, "'as' expected"));
        ALM_TRY(alm_parse_window(p, &w->def));
        sel->n_windows++;
    } while (alm_at_op(p, ALM_OP_COMMA));
    return ALM_OK;
}

static alm_status parse_clauses(alm_parser *p, alm_select *sel)
{
    const bool latest = alm_at_kw(p, ALM_KW_LATEST);
    if (latest) {
        ALM_TRY(alm_parse_latest(p, sel));
        if (alm_at_kw(p, ALM_KW_WHERE) && sel->latest_ts.len > 0)
            return alm_parse_fail(p, p->tok.pos, "unexpected where clause after 'latest on'");
        sel->latest_before_where = alm_at_kw(p, ALM_KW_WHERE);
    }
    if (alm_at_kw(p, ALM_KW_WHERE))
        ALM_TRY(parse_where(p, sel));
    if (alm_at_kw(p, ALM_KW_LATEST) && !latest)
        ALM_TRY(alm_parse_latest(p, sel));
    if (alm_at_kw(p, ALM_KW_UNPIVOT))
        ALM_TRY(alm_parse_unpivot(p, sel));
    if (alm_at_kw(p, ALM_KW_PIVOT))
        ALM_TRY(alm_parse_pivot(p, sel));
    if (alm_at_kw(p, ALM_KW_SAMPLE))
        ALM_TRY(alm_parse_sample(p, sel));
    if (alm_at_kw(p, ALM_KW_GROUP))
        ALM_TRY(parse_group(p, sel));
    if (alm_take_kw(p, ALM_KW_HAVING))
        ALM_TRY(alm_parse_expr(p, &sel->having));
    if (alm_at_kw(p, ALM_KW_WINDOW))
        ALM_TRY(parse_windows(p, sel));
    if (alm_take_kw(p, ALM_KW_QUALIFY))
        ALM_TRY(alm_parse_expr(p, &sel->qualify));
    return ALM_OK;
}

static alm_status parse_select_core(alm_parser *p, alm_select *sel)
{
    alm_parse_next(p); /* select */
    if (alm_take_kw(p, ALM_KW_DISTINCT))
        ALM_TRY(parse_distinct(p, sel));
    else
        (void)alm_take_kw(p, ALM_KW_ALL);
    ALM_TRY(parse_items(p, sel));
    if (alm_take_kw(p, ALM_KW_FROM))
        ALM_TRY(alm_parse_from(p, &sel->from, &sel->n_from));
    ALM_TRY(parse_clauses(p, sel));
    return alm_parse_lists(p, sel);
}

/* FROM t SELECT a WHERE ..., FROM t WHERE ...: what is there first, as one types it. */
static alm_status parse_from_core(alm_parser *p, alm_select *sel)
{
    const int32_t pos = p->tok.pos;
    alm_parse_next(p); /* from */
    ALM_TRY(alm_parse_from(p, &sel->from, &sel->n_from));
    if (alm_take_kw(p, ALM_KW_SELECT)) {
        if (alm_take_kw(p, ALM_KW_DISTINCT))
            ALM_TRY(parse_distinct(p, sel));
        ALM_TRY(parse_items(p, sel));
    } else {
        ALM_TRY(alm_parse_star_item(p, pos, sel));
    }
    return parse_clauses(p, sel);
}

/* `tab where ...`, `f(1) order by ...`, `values (1), (2)`: a star over what FROM would hold. */
static alm_status parse_bare_core(alm_parser *p, alm_select *sel)
{
    ALM_TRY(alm_parse_star_item(p, p->tok.pos, sel));
    ALM_TRY(alm_parse_from(p, &sel->from, &sel->n_from));
    return parse_clauses(p, sel);
}

/* ------------------------------------------------------------------ brackets */

alm_status alm_parse_bracketed(alm_parser *p, alm_select **out)
{
    ALM_ASSERT(alm_at_op(p, ALM_OP_LPAREN));
    alm_parse_next(p);
    if (alm_at_kw(p, ALM_KW_SHOW))
        ALM_TRY(alm_parse_show_query(p, out));
    else
        ALM_TRY(alm_parse_query(p, out));
    return alm_expect_op(p, ALM_OP_RPAREN, "')' expected");
}

/* Does a clause follow that makes a bracketed query an item of a FROM? */
static bool at_from_clause(const alm_parser *p)
{
    switch ((int)(p->tok.kind == ALM_TOK_NAME ? p->tok.kw : ALM_KW_PLAIN)) {
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
        return alm_token_is_op(alm_parse_peek(p), ALM_OP_LPAREN);
    default:
        return false;
    }
}

static alm_status new_select(alm_parser *p, int32_t pos, alm_select **out)
{
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, out));
    (*out)->pos = pos;
    return ALM_OK;
}

static alm_status seal_select(alm_parser *p, alm_select *sel, uint32_t depth)
{
    if (depth >= p->depth_max)
        return alm_parse_too_deep(p, sel->pos);
    sel->depth = depth + 1;
    sel->end = p->prev.end;
    p->peak = ALM_MAX(p->peak, sel->depth);
    return ALM_OK;
}

/* A star over `inner`. */
static alm_status wrap(alm_parser *p, alm_select *inner, alm_select **out)
{
    ALM_TRY(new_select(p, inner->pos, out));
    ALM_TRY(alm_parse_star_item(p, inner->pos, *out));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 1, &(*out)->from));
    (*out)->from[0].kind = ALM_FROM_SELECT;
    (*out)->from[0].select = inner;
    (*out)->from[0].pos = inner->pos;
    (*out)->n_from = 1;
    return seal_select(p, *out, inner->depth);
}

/* (query) where ..., (query) timestamp(ts), (query) join ...: the query is an item of a FROM. */
static alm_status wrap_clauses(alm_parser *p, alm_select *inner, alm_select **out)
{
    alm_from *items = NULL;
    uint32_t n = 0, cap = 0;
    ALM_TRY(new_select(p, inner->pos, out));
    alm_select *sel = *out;
    ALM_TRY(alm_parse_star_item(p, inner->pos, sel));
    ALM_TRY(ALM_GROW(p, &items, n, &cap));
    items[0].kind = ALM_FROM_SELECT;
    items[0].select = inner;
    items[0].pos = inner->pos;
    n = 1;
    if (alm_at_kw(p, ALM_KW_TIMESTAMP)) {
        alm_parse_name name;
        alm_parse_next(p);
        ALM_TRY(alm_expect_op(p, ALM_OP_LPAREN, "'(' expected"));
        ALM_TRY(alm_parse_ident(p, "column name", &name));
        items[0].timestamp = name.text;
        items[0].timestamp_pos = name.pos;
        ALM_TRY(alm_expect_op(p, ALM_OP_RPAREN, "')' expected"));
    }
    ALM_TRY(alm_parse_joins(p, &items, &n, &cap));
    sel->from = items;
    sel->n_from = n;
    ALM_TRY(parse_clauses(p, sel));
    return seal_select(p, sel, ALM_MAX(p->peak, inner->depth));
}

/* ------------------------------------------------------------------ set operations */

static alm_status parse_term(alm_parser *p, alm_select **out)
{
    const uint32_t outer_peak = p->peak;
    const bool no_window = p->no_window;
    p->peak = 0;
    p->no_window = false; /* a query has its own places for windows, wherever it stands */
    if (alm_at_op(p, ALM_OP_LPAREN)) {
        ALM_TRY(alm_parse_bracketed(p, out));
        if (at_from_clause(p))
            ALM_TRY(wrap_clauses(p, *out, out));
    } else {
        ALM_TRY(new_select(p, p->tok.pos, out));
        if (alm_at_kw(p, ALM_KW_SELECT))
            ALM_TRY(parse_select_core(p, *out));
        else if (alm_at_kw(p, ALM_KW_FROM))
            ALM_TRY(parse_from_core(p, *out));
        else
            ALM_TRY(parse_bare_core(p, *out));
        ALM_TRY(seal_select(p, *out, p->peak));
    }
    p->peak = ALM_MAX(outer_peak, p->peak);
    p->no_window = no_window;
    return ALM_OK;
}

static alm_status parse_set_operation(alm_parser *p, alm_select *left, alm_select **out)
{
    alm_select *sel = NULL;
    ALM_TRY(new_select(p, left->pos, &sel));
    sel->op = alm_at_kw(p, ALM_KW_UNION)    ? ALM_SET_UNION
              : alm_at_kw(p, ALM_KW_EXCEPT) ? ALM_SET_EXCEPT
                                            : ALM_SET_INTERSECT;
    sel->op_pos = p->tok.pos;
    sel->left = left;
    alm_parse_next(p);
    sel->all = alm_take_kw(p, ALM_KW_ALL);
    if (!sel->all)
        (void)alm_take_kw(p, ALM_KW_DISTINCT);
    if (alm_at_end(p) || alm_at_op(p, ALM_OP_RPAREN))
        return alm_parse_fail(p, p->tok.pos, "all or select expected");
    ALM_TRY(parse_term(p, &sel->right));
    *out = sel;
    return seal_select(p, sel, ALM_MAX(left->depth, sel->right->depth));
}

static bool at_tail(const alm_parser *p)
{
    return alm_at_kw(p, ALM_KW_ORDER) || alm_at_kw(p, ALM_KW_LIMIT) ||
           alm_at_kw(p, ALM_KW_OFFSET) || alm_at_kw(p, ALM_KW_FETCH);
}

alm_status alm_parse_query_rest(alm_parser *p, alm_select *left, alm_select **out)
{
    while (alm_at_kw(p, ALM_KW_UNION) || alm_at_kw(p, ALM_KW_EXCEPT) ||
           alm_at_kw(p, ALM_KW_INTERSECT))
        ALM_TRY(parse_set_operation(p, left, &left));
    if (at_tail(p) && (left->n_order > 0 || left->limit_lo != NULL || left->offset != NULL))
        ALM_TRY(wrap(p, left, &left)); /* (... order by a limit 1) order by b */
    const bool no_window = p->no_window;
    p->no_window = false;
    if (alm_at_kw(p, ALM_KW_ORDER))
        ALM_TRY(alm_parse_order(p, &left->order, &left->n_order));
    ALM_TRY(alm_parse_limit(p, left));
    p->no_window = no_window;
    *out = left;
    return seal_select(p, left, ALM_MAX(p->peak, left->depth) - 1);
}

alm_status alm_parse_query(alm_parser *p, alm_select **out)
{
    alm_select head = {0}; /* DECLARE and WITH, until it is known what they stand before */
    alm_select *body = NULL;
    const alm_parse_var *vars = p->vars;
    const int32_t pos = p->tok.pos;
    const uint32_t outer_peak = p->peak;
    p->peak = 0;
    ALM_TRY(alm_parse_enter(p));
    if (alm_at_kw(p, ALM_KW_DECLARE)) {
        ALM_TRY(alm_parse_declare(p, &head));
        if (alm_at_end(p))
            return alm_parse_fail(p, p->tok.pos,
                                  "'select', 'with', or table name expected expected");
    }
    if (alm_at_kw(p, ALM_KW_WITH))
        ALM_TRY(alm_parse_with(p, &head));
    if (alm_at_end(p))
        return alm_parse_fail(p, p->tok.pos, "'select', 'update' or name expected expected");
    ALM_TRY(parse_term(p, &body));
    ALM_TRY(alm_parse_query_rest(p, body, &body));
    if ((head.n_with > 0 && body->n_with > 0) || (head.n_declare > 0 && body->n_declare > 0))
        ALM_TRY(wrap(p, body, &body)); /* with a as (...) (with b as (...) ...) */
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
    ALM_TRY(seal_select(p, body, ALM_MAX(p->peak, body->depth) - 1));
    p->peak = ALM_MAX(outer_peak, body->depth);
    p->vars = vars;
    p->nest--;
    *out = body;
    return ALM_OK;
}
