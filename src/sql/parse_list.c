/*
 * parse_list.c - functions that give a row for each element of a list, made into a join with a
 * sequence. Tools ask the catalogue so; lists are texts (type/text_list.h).
 *
 *   select a, unnest(l) from t where c    select a, list_at(l, s.s) from t cross join
 *                                         long_sequence(N) s(s) where c and s.s <= list_count(l)
 *   from t, unnest(l) e                   from t, lateral (select unnest(l) as e) e
 *
 * Several in one select go on side by side; the shorter ones end with nulls.
 */
#include "sql/parse.h"
#include "type/text_list.h"

#define SEQUENCE ALM_STR("list element") /* its alias, and that of its column */

static const struct {
    const char *name;
    const char *element; /* takes the list and the number of the element */
} functions[] = {{"unnest", "list_at"},
                 {"generate_subscripts", "list_subscript"},
                 {"_pg_expandarray", "list_pair"}};

static const char *element_of(const alm_ast *node)
{
    if (node->kind != ALM_AST_CALL || node->n_args == 0)
        return NULL;
    for (size_t i = 0; i < ALM_COUNT(functions); i++)
        if (alm_str_ieq(node->text, alm_str_of(functions[i].name)))
            return functions[i].element;
    return NULL;
}

static bool is_call(const alm_ast *node, const char *name)
{
    return node->kind == ALM_AST_CALL && node->n_args > 0 &&
           alm_str_ieq(node->text, alm_str_of(name));
}

/* generate_series(array_lower(l, 1), array_upper(l, 1)), as psqlODBC asks, is generate_subscripts(l, 1). */
static void take_series(alm_ast *node)
{
    if (!is_call(node, "generate_series") || node->n_args != 2 ||
        !is_call(node->arg[0], "array_lower") || !is_call(node->arg[1], "array_upper"))
        return;
    node->text = ALM_STR("generate_subscripts");
    node->arg = node->arg[0]->arg;
    node->n_args = 1;
}

static alm_status number_node(alm_parser *p, int32_t pos, alm_ast **out)
{
    ALM_TRY(alm_parse_node(p, ALM_AST_NAME, pos, out));
    (*out)->table = SEQUENCE;
    (*out)->table_quoted = true;
    (*out)->text = SEQUENCE;
    (*out)->quoted = true;
    (*out)->end = pos;
    return alm_parse_seal(p, *out);
}

/* ------------------------------------------------------------------ in a select list */

typedef struct lists {
    alm_parser *p;
    alm_ast *more; /* condition: one of the lists has the element; NULL: no list yet */
} lists;

/* The call becomes the one that takes its element. */
static alm_status take_call(lists *l, alm_ast *call, const char *element)
{
    alm_parser *p = l->p;
    alm_ast *again = NULL, *count = NULL, *has = NULL;
    alm_ast **args = NULL;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 2, &args));
    ALM_TRY(number_node(p, call->pos, &args[1]));
    ALM_TRY(number_node(p, call->pos, &again));
    args[0] = call->arg[0];
    call->arg = args;
    call->n_args = 2;
    call->text = alm_str_of(element);
    call->table = (alm_str){0};
    ALM_TRY(alm_parse_make(p, ALM_AST_CALL, call->pos, "list_count", args[0], NULL, &count));
    ALM_TRY(alm_parse_make(p, ALM_AST_BINARY, call->pos, "<=", again, count, &has));
    if (l->more != NULL)
        return alm_parse_make(p, ALM_AST_BINARY, call->pos, "or", l->more, has, &l->more);
    l->more = has;
    return ALM_OK;
}

/* Depth is bounded by the parser's. */
static alm_status take_calls(lists *l, alm_ast *node)
{
    for (uint32_t i = 0; i < node->n_args; i++)
        if (node->arg[i] != NULL)
            ALM_TRY(take_calls(l, node->arg[i]));
    if (node->else_arg != NULL)
        ALM_TRY(take_calls(l, node->else_arg));
    take_series(node);
    const char *element = element_of(node);
    return element != NULL ? take_call(l, node, element) : ALM_OK;
}

/* long_sequence(N) as one more item of FROM. */
static alm_status add_sequence(alm_parser *p, alm_select *sel)
{
    alm_from *items = NULL;
    alm_ast *call = NULL, *limit = NULL;
    alm_str *column = NULL;
    const int32_t pos = sel->pos;
    const char *text = NULL;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, sel->n_from + 1, &items));
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &column));
    *column = SEQUENCE;
    if (sel->n_from > 0)
        memcpy(items, sel->from, sel->n_from * sizeof *items);
    ALM_TRY(alm_arena_printf(p->cx, p->cx->arena, &text, "%d", ALM_UNNEST_MAX));
    ALM_TRY(alm_parse_node(p, ALM_AST_NUMBER, pos, &limit));
    limit->raw = limit->text = alm_str_of(text);
    ALM_TRY(alm_parse_seal(p, limit));
    ALM_TRY(alm_parse_make(p, ALM_AST_CALL, pos, "long_sequence", limit, NULL, &call));
    items[sel->n_from] = (alm_from){.kind = ALM_FROM_FUNCTION,
                                    .join = sel->n_from > 0 ? ALM_JOIN_CROSS : 0,
                                    .call = call,
                                    .alias = SEQUENCE,
                                    .col_aliases = column,
                                    .n_col_aliases = 1,
                                    .pos = pos,
                                    .join_pos = pos,
                                    .alias_pos = pos};
    sel->from = items;
    sel->n_from++;
    return ALM_OK;
}

alm_status alm_parse_lists(alm_parser *p, alm_select *sel)
{
    lists l = {.p = p};
    bool star = false;
    for (uint32_t i = 0; i < sel->n_items; i++) {
        alm_select_item *item = &sel->items[i];
        const bool field =
            item->expr->kind == ALM_AST_CALL && alm_str_eq(item->expr->text, ALM_STR("list_field"));
        const alm_str name = field ? item->expr->arg[1]->text : item->expr->text;
        const bool whole = field || element_of(item->expr) != NULL;
        star |= item->expr->kind == ALM_AST_STAR;
        ALM_TRY(take_calls(&l, item->expr));
        if (whole && item->alias.len == 0)
            item->alias = name;
    }
    if (l.more == NULL)
        return ALM_OK;
    if (star || sel->has_group || sel->sample != NULL || sel->latest_pos != 0)
        return alm_parse_fail(p, l.more->pos,
                              "a row per element of a list goes with plain columns only");
    if (sel->where == NULL)
        sel->where = l.more;
    else
        ALM_TRY(
            alm_parse_make(p, ALM_AST_BINARY, l.more->pos, "and", sel->where, l.more, &sel->where));
    return add_sequence(p, sel);
}

/* ------------------------------------------------------------------ in FROM */

static alm_str name_of(const alm_from *from, uint32_t i, alm_str other)
{
    return i < from->n_col_aliases ? from->col_aliases[i] : other;
}

alm_status alm_parse_list_item(alm_parser *p, alm_from *from)
{
    if (from->kind != ALM_FROM_FUNCTION || element_of(from->call) == NULL)
        return ALM_OK;
    alm_ast *call = from->call, *number = NULL;
    const alm_str name = from->alias.len > 0 ? from->alias : call->text;
    alm_select *sel = NULL;
    alm_select_item *items = NULL;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &sel));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 2, &items));
    items[0] = (alm_select_item){.expr = call, .alias = name_of(from, 0, name)};
    *sel = (alm_select){.pos = call->pos, .end = call->end, .items = items, .n_items = 1};
    ALM_TRY(alm_parse_lists(p, sel));
    if (from->ordinality) {
        ALM_TRY(number_node(p, call->pos, &number));
        items[sel->n_items++] =
            (alm_select_item){.expr = number, .alias = name_of(from, 1, ALM_STR("ordinality"))};
    }
    sel->depth = call->depth + 3u; /* of the condition that came with it */
    from->kind = ALM_FROM_SELECT;
    from->select = sel;
    from->lateral = true;
    from->call = NULL;
    from->n_col_aliases = 0;
    from->alias = name;
    return ALM_OK;
}
