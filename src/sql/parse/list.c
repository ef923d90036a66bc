/*
 * list.c - functions that give a row for each element of a list, made into a join with a
 * sequence. Tools ask the catalogue so; lists are texts (type/text_list.h).
 *
 *   select a, unnest(l) from t where c    select a, list_at(l, s.s) from t cross join
 *                                         long_sequence(N) s(s) where c and s.s <= list_count(l)
 *   from t, unnest(l) e                   from t, lateral (select unnest(l) as e) e
 *   select unnest($1), unnest($2)         select list_at($1, s.s), list_at($2, s.s) from long_sequence(greatest(
 *                                         list_size($1), list_size($2))) s(s)
 *
 * Several in one select, or in one call in FROM, go on side by side; the shorter ones end with nulls. Lists that are
 * the same for all rows (parameters and literals) have any number of elements, others ALM_UNNEST_MAX.
 */
#include "base/number.h"
#include "sql/parse/parse.h"
#include "type/text_list.h"

#define SEQUENCE ALM_STR("list element") /* its alias, and that of its column */

static const struct {
    const char *name;
    const char *element; /* takes the list and the number of the element */
} functions[] = {{"unnest", "list_at"},
                 {"generate_subscripts", "list_subscript"},
                 {"_pg_expandarray", "list_pair"}};

static const char *parse_list_element_of(const alm_ast *node)
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

static alm_status number_node(alm_parser *parser, int32_t pos, alm_ast **out)
{
    ALM_TRY(alm_parse_node(parser, ALM_AST_NAME, pos, out));
    (*out)->table = SEQUENCE;
    (*out)->table_quoted = true;
    (*out)->text = SEQUENCE;
    (*out)->quoted = true;
    (*out)->end = pos;
    return alm_parse_seal(parser, *out);
}

/* ------------------------------------------------------------------ arguments */

/* Functions over lists of texts, which take ARRAY['a', 'b'], too. */
static bool takes_lists(alm_str name)
{
    static const char *const names[] = {
        "unnest",         "array_to_string",     "array_length",   "array_lower", "array_upper",
        "array_position", "array_append",        "array_prepend",  "array_cat",   "array_remove",
        "cardinality",    "generate_subscripts", "_pg_expandarray"};
    for (size_t i = 0; i < ALM_COUNT(names); i++)
        if (alm_str_ieq(name, alm_str_of(names[i])))
            return true;
    return false;
}

/* ARRAY[...] with a text in it that is no number. */
static bool parse_list_holds_texts(const alm_ast *array)
{
    double value = 0;
    for (uint32_t i = 0; array->kind == ALM_AST_ARRAY && i < array->n_args; i++)
        if (array->arg[i]->kind == ALM_AST_STRING &&
            alm_double_parse(array->arg[i]->text, &value) != ALM_NUM_OK)
            return true;
    return false;
}

alm_status alm_parse_list_args(alm_parser *parser, alm_ast *call)
{
    for (uint32_t i = 0; i < call->n_args && takes_lists(call->text); i++) {
        alm_ast *cast = NULL, *array = call->arg[i];
        if (array == NULL || !parse_list_holds_texts(array))
            continue;
        ALM_TRY(alm_parse_make(parser, ALM_AST_CAST, array->pos, "cast", array, NULL, &cast));
        cast->type_name = ALM_STR("text[]");
        cast->type_pos = array->pos;
        cast->double_colon = true;
        call->arg[i] = cast;
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------ in a select list */

typedef struct lists {
    alm_parser *p;
    bool fixed;    /* they are the same for all rows */
    alm_ast *more; /* condition: one of the lists has the element; NULL: no list yet */
    alm_ast *most; /* how many elements the longest has */
} lists;

/* No column in it, and no query. Depth is bounded by the parser's. */
static bool is_fixed(const alm_ast *node)
{
    if (node == NULL)
        return true;
    if (node->kind == ALM_AST_NAME || node->kind == ALM_AST_STAR || node->select != NULL)
        return false;
    for (uint32_t i = 0; i < node->n_args; i++)
        if (!is_fixed(node->arg[i]))
            return false;
    return is_fixed(node->else_arg);
}

/* The lists of all calls in the expression. */
static bool lists_fixed(const alm_ast *node)
{
    if (node == NULL)
        return true;
    if (parse_list_element_of(node) != NULL || is_call(node, "generate_series"))
        return is_fixed(node->arg[0]);
    for (uint32_t i = 0; i < node->n_args; i++)
        if (!lists_fixed(node->arg[i]))
            return false;
    return lists_fixed(node->else_arg);
}

/* The call becomes the one that takes its element. */
static alm_status take_call(lists *self, alm_ast *call, const char *element)
{
    alm_parser *parser = self->p;
    alm_ast *again = NULL, *count = NULL, *has = NULL;
    alm_ast **args = NULL;
    ALM_TRY(ALM_NEWN(parser->cx, parser->cx->arena, 2, &args));
    ALM_TRY(number_node(parser, call->pos, &args[1]));
    ALM_TRY(number_node(parser, call->pos, &again));
    args[0] = call->arg[0];
    call->arg = args;
    call->n_args = 2;
    call->text = alm_str_of(element);
    call->table = (alm_str){0};
    ALM_TRY(alm_parse_make(parser, ALM_AST_CALL, call->pos,
                           self->fixed ? "list_size" : "list_count", args[0], NULL, &count));
    if (self->most == NULL)
        self->most = count;
    else
        ALM_TRY(alm_parse_make(parser, ALM_AST_CALL, call->pos, "greatest", self->most, count,
                               &self->most));
    ALM_TRY(alm_parse_make(parser, ALM_AST_BINARY, call->pos, "<=", again, count, &has));
    if (self->more != NULL)
        return alm_parse_make(parser, ALM_AST_BINARY, call->pos, "or", self->more, has,
                              &self->more);
    self->more = has;
    return ALM_OK;
}

/* Depth is bounded by the parser's. */
static alm_status parse_list_take_calls(lists *self, alm_ast *node)
{
    for (uint32_t i = 0; i < node->n_args; i++)
        if (node->arg[i] != NULL)
            ALM_TRY(parse_list_take_calls(self, node->arg[i]));
    if (node->else_arg != NULL)
        ALM_TRY(parse_list_take_calls(self, node->else_arg));
    take_series(node);
    const char *element = parse_list_element_of(node);
    return element != NULL ? take_call(self, node, element) : ALM_OK;
}

/* So many elements lists of a table may have. */
static alm_status most_node(alm_parser *parser, int32_t pos, alm_ast **out)
{
    const char *text = NULL;
    ALM_TRY(alm_arena_printf(parser->cx, parser->cx->arena, &text, "%d", ALM_UNNEST_MAX));
    ALM_TRY(alm_parse_node(parser, ALM_AST_NUMBER, pos, out));
    (*out)->raw = (*out)->text = alm_str_of(text);
    return alm_parse_seal(parser, *out);
}

static bool is_taken(const alm_select *sel, uint32_t n, alm_str name)
{
    for (uint32_t i = 0; i < n; i++)
        if (alm_str_ieq(sel->items[i].alias, name))
            return true;
    return false;
}

/* The column of a call without an alias: its name, with a number where that is taken. */
static alm_status name_item(alm_parser *parser, const alm_select *sel, uint32_t i, alm_str name)
{
    alm_str alias = name;
    for (uint32_t k = 2; is_taken(sel, i, alias); k++) {
        ALM_TRY(alm_steps_add(parser->cx, i));
        const char *text = NULL;
        ALM_TRY(alm_arena_printf(parser->cx, parser->cx->arena, &text, "%.*s_%u", (int)name.len,
                                 name.ptr, k));
        alias = alm_str_of(text);
    }
    sel->items[i].alias = alias;
    return ALM_OK;
}

/* long_sequence(limit) as one more item of FROM. */
static alm_status add_sequence(alm_parser *parser, alm_select *sel, alm_ast *limit)
{
    alm_from *items = NULL;
    alm_ast *call = NULL;
    alm_str *column = NULL;
    const int32_t pos = sel->pos;
    ALM_TRY(ALM_NEWN(parser->cx, parser->cx->arena, sel->n_from + 1, &items));
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &column));
    *column = SEQUENCE;
    if (sel->n_from > 0)
        memcpy(items, sel->from, sel->n_from * sizeof *items);
    ALM_TRY(alm_parse_make(parser, ALM_AST_CALL, pos, "long_sequence", limit, NULL, &call));
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

alm_status alm_parse_lists(alm_parser *parser, alm_select *sel)
{
    lists self = {.p = parser, .fixed = sel->n_from == 0};
    bool star = false;
    for (uint32_t i = 0; i < sel->n_items; i++)
        self.fixed = self.fixed && lists_fixed(sel->items[i].expr);
    for (uint32_t i = 0; i < sel->n_items; i++) {
        alm_select_item *item = &sel->items[i];
        const bool field =
            item->expr->kind == ALM_AST_CALL && alm_str_eq(item->expr->text, ALM_STR("list_field"));
        const alm_str name = field ? item->expr->arg[1]->text : item->expr->text;
        const bool whole = field || parse_list_element_of(item->expr) != NULL;
        star |= item->expr->kind == ALM_AST_STAR;
        ALM_TRY(parse_list_take_calls(&self, item->expr));
        if (whole && item->alias.len == 0)
            ALM_TRY(name_item(parser, sel, i, name));
    }
    if (self.most == NULL)
        return ALM_OK;
    if (star || sel->has_group || sel->sample != NULL || sel->latest_pos != 0)
        return alm_parse_fail(parser, self.most->pos,
                              "a row per element of a list goes with plain columns only");
    if (self.fixed)
        return add_sequence(parser, sel, self.most);
    if (sel->where == NULL)
        sel->where = self.more;
    else
        ALM_TRY(alm_parse_make(parser, ALM_AST_BINARY, self.more->pos, "and", sel->where, self.more,
                               &sel->where));
    ALM_TRY(most_node(parser, sel->pos, &self.most));
    return add_sequence(parser, sel, self.most);
}

/* ------------------------------------------------------------------ in FROM */

static alm_str parse_list_name_of(const alm_from *from, uint32_t i, alm_str other)
{
    return i < from->n_col_aliases ? from->col_aliases[i] : other;
}

static bool unnests(const alm_ast *call)
{
    return alm_str_ieq(call->text, ALM_STR("unnest"));
}

/* List i of a call with n as a call of its own. */
static alm_status list_call(alm_parser *parser, alm_ast *call, uint32_t i, uint32_t n,
                            alm_ast **out)
{
    *out = call;
    if (n == 1)
        return ALM_OK;
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, out));
    **out = *call;
    (*out)->arg = &call->arg[i];
    (*out)->n_args = 1;
    return ALM_OK;
}

alm_status alm_parse_list_item(alm_parser *parser, alm_from *from)
{
    if (from->kind != ALM_FROM_FUNCTION || parse_list_element_of(from->call) == NULL)
        return ALM_OK;
    alm_ast *call = from->call, *number = NULL;
    const alm_str name = from->alias.len > 0 ? from->alias : call->text;
    alm_select *sel = NULL;
    alm_select_item *items = NULL;
    const uint32_t n_items = unnests(call) ? call->n_args : 1;
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &sel));
    ALM_TRY(ALM_NEWN(parser->cx, parser->cx->arena, n_items + 1, &items));
    *sel = (alm_select){.pos = call->pos, .end = call->end, .items = items, .n_items = n_items};
    for (uint32_t i = 0; i < n_items; i++) {
        ALM_TRY(list_call(parser, call, i, n_items, &items[i].expr));
        items[i].alias = parse_list_name_of(from, i, (alm_str){0});
        if (items[i].alias.len == 0)
            ALM_TRY(name_item(parser, sel, i, n_items == 1 ? name : call->text));
    }
    ALM_TRY(alm_parse_lists(parser, sel));
    if (from->ordinality) {
        ALM_TRY(number_node(parser, call->pos, &number));
        items[sel->n_items++] = (alm_select_item){
            .expr = number, .alias = parse_list_name_of(from, n_items, ALM_STR("ordinality"))};
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
