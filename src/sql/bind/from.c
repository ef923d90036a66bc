/*
 * from.c - FROM: tables, CTEs, subqueries, table functions, VALUES, and how they join.
 *
 * Plans       Joins lean to the left in the order written. Equality of one side with the other
 *             becomes a key, what is left a residual condition; WHERE is added later and pushed down
 *             by a rule.
 */
#include "sql/bind/bind.h"
#include "sql/plan/access.h"

/* ---------------------------------------------------------------- relations */

/* pg_class, information_schema.tables; NULL: no relation of a catalogue */
static const char *catalog_name(const alm_plan *plan)
{
    const char *const name = plan->op == ALM_P_SOURCE ? plan->source.name : "";
    const bool catalog =
        strncmp(name, "pg_", 3) == 0 || strncmp(name, "information_schema.", 19) == 0;
    return catalog && strchr(name, '(') == NULL ? name : NULL;
}

alm_status alm_scope_add(alm_scope *scope, alm_str alias, const alm_table *table,
                         const alm_plan *plan, uint32_t first)
{
    ALM_TRY(
        alm_grow(scope->p->cx, &scope->rels, scope->n_rels, &scope->cap_rels, sizeof *scope->rels));
    scope->rels[scope->n_rels++] =
        (alm_rel){.alias = alias,
                  .scanned = table == NULL && plan->op == ALM_P_SCAN ? plan->scan.table : table,
                  .table = table,
                  .cols = plan->cols,
                  .n_cols = plan->n_cols,
                  .first = first,
                  .relation = table == NULL ? catalog_name(plan) : NULL};
    return ALM_OK;
}

static alm_status check_alias(alm_scope *scope, alm_str alias, int32_t pos)
{
    for (uint32_t r = 0; alias.len > 0 && r < scope->n_rels; r++)
        if (alm_str_ieq(scope->rels[r].alias, alias))
            return alm_fail(scope->p->cx, ALM_E_NAME, pos, "Duplicate table or alias: %.*s",
                            (int)alias.len, alias.ptr);
    return ALM_OK;
}

/* The type of an argument that is known: for parameters that may be anything. */
static alm_type type_of_others(alm_expr *const *args, uint32_t n_args)
{
    for (uint32_t i = 0; i < n_args; i++)
        if (!alm_expr_unknown(args[i]) && args[i]->type.id != ALM_T_NULL)
            return args[i]->type;
    return ALM_TY(LONG);
}

/* Describing: parameters take their type, and a null stands for what has no value yet. The columns of a
 * table function do not depend on the value of a number. */
static alm_status describe_args(alm_planner *planner, const struct alm_source *source,
                                alm_expr **args, uint32_t n_args)
{
    for (uint32_t i = 0; i < n_args; i++) {
        alm_type type = args[i]->type;
        if (alm_expr_unknown(args[i])) {
            if (planner->env->sources->arg_type != NULL)
                type = planner->env->sources->arg_type(source, i);
            if (type.id == ALM_T_NONE)
                type = type_of_others(args, n_args);
            ALM_TRY(alm_param_infer(planner, &args[i], type));
        }
        if (args[i]->kind != ALM_X_CONST)
            ALM_TRY(alm_expr_null(planner->cx, args[i]->type, args[i]->pos, &args[i]));
    }
    return ALM_OK;
}

/* All columns, in their order. */
static alm_status scan_source(alm_planner *planner, alm_plan *plan, uint32_t n_hidden)
{
    const uint32_t n_cols = plan->n_cols;
    plan->source.all = plan->cols;
    plan->source.n_all = n_cols + n_hidden;
    plan->source.n_cols = plan->source.n_out = n_cols;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols + 1, &plan->source.cols));
    for (uint32_t i = 0; i < n_cols; i++)
        plan->source.cols[i] = i;
    return ALM_OK;
}

static alm_status bind_source(alm_scope *scope, alm_str name, int32_t pos, alm_ast *const *args,
                              uint32_t n_args, alm_plan **out)
{
    alm_planner *planner = scope->p;
    alm_expr **bound = NULL;
    alm_plan *plan = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_args + 1, &bound));
    alm_use_once(planner); /* many list what the snapshot or the server has */
    for (uint32_t i = 0; i < n_args; i++)
        ALM_TRY(alm_bind_const(planner, scope->names, args[i], "argument of a table function",
                               &bound[i]));
    ALM_TRY(alm_plan_new(planner, ALM_P_SOURCE, pos, NULL, &plan));
    ALM_TRY(alm_arena_zstr(planner->cx, planner->cx->arena, name, &plan->source.name));
    plan->source.function = planner->env->sources->find(name);
    if (alm_describing(planner))
        ALM_TRY(describe_args(planner, plan->source.function, bound, n_args));
    plan->source.args = bound;
    plan->source.n_args = n_args;
    const alm_source_call call = {planner->env->snapshot, pos, (const alm_expr *const *)bound,
                                  n_args};
    alm_source_bound source = {.ts_col = -1};
    ALM_TRY(planner->env->sources->bind(planner->cx, plan->source.function, &call, &source));
    plan->cols = source.cols;
    plan->n_cols = source.n_cols;
    plan->ts_col = source.ts_col;
    plan->est_rows = source.est_rows;
    plan->source.data = source.data;
    if (source.scanned)
        ALM_TRY(scan_source(planner, plan, source.n_hidden));
    plan->order = plan->ts_col >= 0 ? ALM_ORDER_ASC : ALM_ORDER_NONE;
    *out = plan;
    return ALM_OK;
}

static bool has_source(const alm_planner *planner, alm_str name)
{
    return planner->env->sources != NULL && planner->env->sources->find != NULL &&
           planner->env->sources->find(name) != NULL;
}

/*
 * Under which name the sources have a name of FROM, NULL: they have none. pg_catalog and sys may be left out;
 * what is called, pg_class(), is found with its brackets where it differs from the relation.
 */
static alm_status source_name(alm_planner *planner, alm_str schema, alm_str name, bool call,
                              const char **out)
{
    const bool own = alm_str_ieq(schema, ALM_STR("public")) ||
                     alm_str_ieq(schema, ALM_STR("qdb.public")); /* functions have no schema */
    const bool plain = schema.len == 0 || (call && own) ||
                       alm_str_ieq(schema, ALM_STR("pg_catalog")) ||
                       alm_str_ieq(schema, ALM_STR("sys")); /* sys.text_import_log */
    ALM_TRY(alm_arena_printf(planner->cx, planner->cx->arena, out, "%.*s%s%.*s%s", (int)schema.len,
                             schema.ptr == NULL ? "" : schema.ptr, schema.len > 0 ? "." : "",
                             (int)name.len, name.ptr, call ? "()" : ""));
    if (has_source(planner, alm_str_of(*out)))
        return ALM_OK;
    *out = NULL;
    return plain && has_source(planner, name)
               ? alm_arena_zstr(planner->cx, planner->cx->arena, name, out)
               : ALM_OK;
}

static alm_status not_itself(const alm_scope *scope, const alm_from *from)
{
    for (const alm_names *names = scope->names; names != NULL; names = names->outer)
        if (names->defining != NULL && alm_str_ieq(names->defining->name, from->name))
            return alm_fail(scope->p->cx, ALM_E_TABLE, from->pos,
                            "'%.*s' uses itself: that needs WITH RECURSIVE", (int)from->name.len,
                            from->name.ptr);
    return ALM_OK;
}

/* Before the name is looked for: hints are for who may not list it, too. */
static alm_status check_listed(const alm_scope *scope, const alm_from *from)
{
    alm_planner *planner = scope->p;
    bool listed = true;
    ALM_TRY(alm_access_lists(planner->cx, from->name, &listed));
    if (listed)
        return ALM_OK;
    ALM_TRY(not_itself(scope, from));
    ALM_TRY(alm_hint_no_table(planner, from));
    return alm_access_name(planner->cx, "SELECT", from->name, from->pos);
}

/*
 * Relations of the server come before tables of that name, as pg_catalog does in PostgreSQL: nobody changes for others what
 * their drivers find there. Such a table, of an older version, is public.name.
 */
static alm_status bind_table(alm_scope *scope, const alm_from *from, const alm_table **table,
                             alm_plan **out)
{
    alm_planner *planner = scope->p;
    if (from->schema.len == 0)
        ALM_TRY(alm_bind_cte(planner, scope->names, from->name, from->pos, out));
    if (from->schema.len == 0 && *out != NULL)
        return ALM_OK;
    const bool own = from->schema.len == 0 || alm_str_ieq(from->schema, ALM_STR("public"));
    const bool catalog = from->name.len > 3 && memcmp(from->name.ptr, "pg_", 3) == 0;
    const char *name = NULL;
    *table = NULL;
    ALM_TRY(source_name(planner, from->schema, from->name, false, &name));
    if (name != NULL && from->quoted && from->schema.len == 0 && !catalog)
        name = NULL;
    if (name != NULL && planner->env->sources->by_name(alm_str_of(name)))
        return bind_source(scope, alm_str_of(name), from->pos, NULL, 0, out);
    if (own && name == NULL && planner->view == NULL)
        ALM_TRY(check_listed(scope, from));
    if (own)
        ALM_TRY(alm_use_table(planner, from->name, table));
    if (*table != NULL) {
        const alm_table *found = *table;
        ALM_TRY(alm_note_table(planner, found, from->pos));
        if (found->kind == ALM_TABLE_VIEW) {
            *table = NULL; /* columns are those of its query */
            return alm_bind_view(planner, found, from->pos, out);
        }
        return alm_plan_scan(planner, *table, from->pos, out);
    }
    if (name != NULL) /* which says what it wants in brackets */
        return bind_source(scope, alm_str_of(name), from->pos, NULL, 0, out);
    ALM_TRY(not_itself(scope, from));
    if (own)
        ALM_TRY(alm_hint_no_table(planner, from));
    if (own)
        return alm_no_table(planner->cx, planner->env->snapshot, from->name, from->pos);
    return alm_fail(planner->cx, ALM_E_TABLE, from->pos, "table does not exist [table=%.*s.%.*s]",
                    (int)from->schema.len, from->schema.ptr, (int)from->name.len, from->name.ptr);
}

/* from(x) s: one row with its value. */
static alm_status bind_scalar(alm_scope *scope, const alm_from *from, alm_plan **out)
{
    alm_select *sel = NULL;
    alm_select_item *item = NULL;
    ALM_TRY(ALM_NEW(scope->p->cx, scope->p->cx->arena, &sel));
    ALM_TRY(ALM_NEW(scope->p->cx, scope->p->cx->arena, &item));
    *item = (alm_select_item){.expr = from->call,
                              .alias = from->alias.len > 0 ? from->alias : from->call->text};
    *sel = (alm_select){.pos = from->call->pos,
                        .end = from->call->end,
                        .items = item,
                        .n_items = 1,
                        .depth = from->call->depth + 1u};
    return alm_bind_query(scope->p, scope->names, sel, out);
}

static alm_status from_bind_function(alm_scope *scope, const alm_from *from, alm_plan **out)
{
    const alm_ast *call = from->call;
    const char *name = NULL;
    ALM_TRY(source_name(scope->p, call->table, call->text, true, &name));
    if (name != NULL)
        return bind_source(scope, alm_str_of(name), call->pos, call->arg, call->n_args, out);
    if (alm_registry_has(scope->p->env->registry, call->text, ALM_FN_SCALAR))
        return bind_scalar(scope, from, out);
    alm_nearest near = alm_nearest_of(call->text);
    const alm_source_if *sources = scope->p->env->sources;
    if (sources != NULL && sources->offer != NULL)
        sources->offer(&near);
    return alm_fail_near(scope->p->cx, ALM_E_FUNCTION, call->pos, &near,
                         "unknown function name: %.*s", (int)call->text.len, call->text.ptr);
}

/* VALUES: columns column1, column2 ... in the type where the rows meet. */
static alm_status bind_values(alm_scope *scope, const alm_from *from, alm_plan **out)
{
    alm_planner *planner = scope->p;
    alm_plan *plan = NULL;
    const uint32_t n_cols = from->n_row_cols;
    ALM_TRY(alm_plan_new(planner, ALM_P_VALUES, from->pos, NULL, &plan));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols + 1, &plan->cols));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, from->n_rows + 1, &plan->values.rows));
    plan->n_cols = n_cols;
    plan->values.n_rows = from->n_rows;
    plan->est_rows = from->n_rows;
    for (uint32_t col = 0; col < n_cols; col++) {
        plan->cols[col].type = ALM_TY(NULL);
        ALM_TRY(alm_arena_printf(planner->cx, planner->cx->arena, &plan->cols[col].name, "column%u",
                                 col + 1));
    }
    for (uint32_t row = 0; row < from->n_rows; row++) {
        ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols + 1, &plan->values.rows[row]));
        for (uint32_t col = 0; col < n_cols; col++) {
            alm_expr **cell = &plan->values.rows[row][col];
            ALM_TRY(alm_bind_const(planner, scope->names, from->rows[row][col], "VALUES", cell));
            const alm_type so_far = row == 0 ? (*cell)->type : plan->cols[col].type;
            plan->cols[col].type = row == 0 ? so_far : alm_type_union(so_far, (*cell)->type);
            if (plan->cols[col].type.id == ALM_T_NONE && so_far.id != ALM_T_NONE)
                return alm_no_union(planner, from->rows[row][col]->pos, plan->cols[col].name,
                                    (*cell)->type, so_far);
        }
    }
    for (uint32_t row = 0; row < from->n_rows; row++)
        for (uint32_t col = 0; col < n_cols; col++)
            ALM_TRY(alm_expr_cast(planner, plan->values.rows[row][col], plan->cols[col].type,
                                  ALM_CAST_IMPLICIT, &plan->values.rows[row][col]));
    *out = plan;
    return ALM_OK;
}

static alm_status rename_cols(alm_planner *planner, const alm_from *from, alm_plan *plan)
{
    if (from->n_col_aliases == 0)
        return ALM_OK;
    alm_plan_col *cols = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, plan->n_cols + 1, &cols));
    memcpy(cols, plan->cols, plan->n_cols * sizeof *cols);
    for (uint32_t col = 0; col < ALM_MIN(from->n_col_aliases, plan->n_cols); col++)
        ALM_TRY(alm_arena_zstr(planner->cx, planner->cx->arena, from->col_aliases[col],
                               &cols[col].name));
    plan->cols = cols;
    return ALM_OK;
}

/*
 * Does the column come as it is from a source whose rows are in its order? Then all nodes on the way know it. A file
 * is asked, which may read the column: that costs less than a sort.
 */
static alm_status take_source_order(alm_planner *planner, alm_plan *plan, uint32_t col,
                                    bool *ordered)
{
    const alm_source_if *sources = planner->env->sources;
    *ordered = false;
    if (plan->op == ALM_P_SOURCE && plan->source.all != NULL && sources->ordered != NULL)
        ALM_TRY(sources->ordered(planner->cx, plan->source.function, plan->source.data,
                                 plan->source.cols[col], ordered));
    else if (plan->op == ALM_P_FILTER)
        ALM_TRY(take_source_order(planner, plan->child[0], col, ordered));
    else if (plan->op == ALM_P_PROJECT && plan->project.expr[col]->kind == ALM_X_COL)
        ALM_TRY(take_source_order(planner, plan->child[0], plan->project.expr[col]->col, ordered));
    if (*ordered) {
        plan->ts_col = (int32_t)col;
        plan->order = ALM_ORDER_ASC;
    }
    return ALM_OK;
}

/* `t timestamp(col)`: another designated timestamp. Its order is not taken for granted: who needs
 * it sorts, but for a file that is in order. */
static alm_status override_timestamp(alm_planner *planner, const alm_from *from, alm_plan *plan)
{
    if (from->timestamp.len == 0)
        return ALM_OK;
    for (uint32_t col = 0; col < plan->n_cols; col++) {
        if (!alm_str_ieq(alm_str_of(plan->cols[col].name), from->timestamp))
            continue;
        if (!alm_type_is_timestamp(plan->cols[col].type))
            return alm_fail(planner->cx, ALM_E_TYPE, from->timestamp_pos, "not a TIMESTAMP");
        if (plan->op == ALM_P_SCAN)
            ALM_TRY(alm_note_column(planner, plan->scan.table, col, from->timestamp_pos));
        if (plan->ts_col != (int32_t)col)
            plan->order = ALM_ORDER_NONE;
        plan->ts_col = (int32_t)col;
        if (plan->order == ALM_ORDER_NONE && !alm_describing(planner)) {
            bool ordered = false;
            ALM_TRY(take_source_order(planner, plan, col, &ordered));
        }
        return ALM_OK;
    }
    return alm_fail(planner->cx, ALM_E_NAME, from->timestamp_pos, "Invalid column: %.*s",
                    (int)from->timestamp.len, from->timestamp.ptr);
}

/* Joined items in brackets: their relations wait in the scope until bind_from_add_item takes them. */
static alm_status bind_joins(alm_scope *scope, const alm_from *from, alm_plan **out)
{
    alm_scope inner = {.p = scope->p, .names = scope->names, .sel = scope->sel};
    ALM_TRY(alm_enter(scope->p, from->pos));
    ALM_TRY(alm_bind_from(&inner, from->items, from->n_items));
    scope->p->depth--;
    if (inner.window_join != NULL)
        return alm_fail(scope->p->cx, ALM_E_UNSUPPORTED, from->pos,
                        "a WINDOW JOIN cannot stand in brackets: make it a subquery");
    scope->joined = inner.rels;
    scope->n_joined = inner.n_rels;
    *out = inner.plan;
    return ALM_OK;
}

/* One item: its plan, the name it goes by, and its table if it is one. */
static alm_status bind_item(alm_scope *scope, const alm_from *from, alm_str *alias,
                            const alm_table **table, alm_plan **out)
{
    *table = NULL;
    *out = NULL;
    *alias = from->alias;
    switch (from->kind) {
    case ALM_FROM_TABLE:
        if (alias->len == 0)
            *alias = from->name;
        ALM_TRY(bind_table(scope, from, table, out));
        break;
    case ALM_FROM_FUNCTION:
        if (alias->len == 0)
            *alias = from->call->text;
        ALM_TRY(from_bind_function(scope, from, out));
        break;
    case ALM_FROM_SELECT:
        ALM_TRY(alm_bind_query(scope->p, scope->names, from->select, out));
        break;
    case ALM_FROM_VALUES:
        ALM_TRY(bind_values(scope, from, out));
        break;
    case ALM_FROM_JOINS:
        ALM_TRY(bind_joins(scope, from, out));
        break;
    }
    ALM_TRY(rename_cols(scope->p, from, *out));
    if (from->n_col_aliases > 0)
        *table = NULL; /* names are no longer the table's */
    return override_timestamp(scope->p, from, *out);
}

/* The relations of an item into the scope, with its first column at `first`. */
static alm_status bind_from_add_item(alm_scope *scope, const alm_from *from, alm_str alias,
                                     const alm_table *table, const alm_plan *plan, uint32_t first)
{
    if (from->kind != ALM_FROM_JOINS) {
        ALM_TRY(check_alias(scope, alias, from->alias_pos > 0 ? from->alias_pos : from->pos));
        ALM_TRY(alm_scope_add(scope, alias, table, plan, first));
        scope->rels[scope->n_rels - 1].function =
            from->kind == ALM_FROM_FUNCTION && plan->n_cols == 1;
        return ALM_OK;
    }
    for (uint32_t joined = 0; joined < scope->n_joined; joined++) {
        ALM_TRY(check_alias(scope, scope->joined[joined].alias, from->pos));
        ALM_TRY(alm_grow(scope->p->cx, &scope->rels, scope->n_rels, &scope->cap_rels,
                         sizeof *scope->rels));
        scope->rels[scope->n_rels] = scope->joined[joined];
        scope->rels[scope->n_rels++].first += first;
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------- joins */

typedef struct join_cond {
    alm_exprs left, right, residual;
    uint32_t n_left, n_right;
    uint32_t left_rels; /* relations of the left side come first in the scope */
    uint32_t first; /* column where the right side begins: n_left, but for a second WINDOW JOIN */
    bool inner;
    const alm_ast **query; /* conditions of an inner join that hold subqueries */
    uint32_t n_queries, cap_queries;
    int32_t bad_pos; /* of a condition that is no key, -1 */
    const alm_ast *bad;
    bool bad_times; /* it compares the designated timestamps, which may be what is not at fault */
    int64_t left_ts, right_ts; /* their columns, -1: none */
} join_cond;

static alm_status bind_from_add_key(alm_scope *scope, join_cond *cond, alm_expr *a, alm_expr *b,
                                    int32_t pos)
{
    alm_planner *planner = scope->p;
    bool ok = false;
    ALM_TRY(alm_expr_shift(planner->cx, b, -(int64_t)cond->first, &b));
    ALM_TRY(alm_join_key_types(planner, &a, &b, &ok));
    if (!ok)
        return alm_fail(planner->cx, ALM_E_TYPE, pos, "join column type mismatch");
    ALM_TRY(alm_exprs_add(planner->cx, &cond->left, a));
    return alm_exprs_add(planner->cx, &cond->right, b);
}

static bool has_query(const alm_ast *node)
{
    if (node == NULL)
        return false;
    if (node->kind == ALM_AST_SUBQUERY || node->kind == ALM_AST_EXISTS || node->select != NULL)
        return true;
    for (uint32_t i = 0; i < node->n_args; i++)
        if (has_query(node->arg[i]))
            return true;
    return has_query(node->else_arg);
}

static bool compares_times(const alm_expr *expr, const join_cond *cond)
{
    return expr->kind == ALM_X_CALL && expr->n_args == 2 && expr->args[0]->kind == ALM_X_COL &&
           expr->args[1]->kind == ALM_X_COL &&
           ((expr->args[0]->col == cond->left_ts && expr->args[1]->col == cond->right_ts) ||
            (expr->args[0]->col == cond->right_ts && expr->args[1]->col == cond->left_ts));
}

static alm_status on_condition(alm_scope *scope, const alm_ast *node, join_cond *cond)
{
    alm_planner *planner = scope->p;
    while (node->kind == ALM_AST_BINARY && alm_str_eq(node->text, ALM_STR("and"))) {
        ALM_TRY(alm_enter(planner, node->pos));
        ALM_TRY(on_condition(scope, node->arg[0], cond));
        planner->depth--;
        node = node->arg[1];
    }
    const uint32_t all = cond->first + cond->n_right;
    alm_expr *expr = NULL;
    if (cond->inner && has_query(node)) { /* as in WHERE, when the join stands */
        ALM_TRY(alm_grow(planner->cx, &cond->query, cond->n_queries, &cond->cap_queries,
                         sizeof *cond->query));
        cond->query[cond->n_queries++] = node;
        return ALM_OK;
    }
    if (node->kind == ALM_AST_BINARY && alm_str_eq(node->text, ALM_STR("="))) {
        alm_expr *a = NULL, *b = NULL;
        ALM_TRY(alm_bind_expr(scope, node->arg[0], &a));
        ALM_TRY(alm_bind_expr(scope, node->arg[1], &b));
        if (alm_expr_has_col(a) && alm_expr_has_col(b)) {
            const int32_t pos = node->arg[1]->pos;
            if (alm_expr_within(a, 0, cond->n_left) && alm_expr_within(b, cond->first, all))
                return bind_from_add_key(scope, cond, a, b, pos);
            if (alm_expr_within(b, 0, cond->n_left) && alm_expr_within(a, cond->first, all))
                return bind_from_add_key(scope, cond, b, a, pos);
        }
        ALM_TRY(alm_bind_compare(scope, "=", node->pos, a, b, &expr));
    } else {
        ALM_TRY(alm_bind_expr(scope, node, &expr));
    }
    ALM_TRY(alm_bind_condition(planner, &expr, node->pos));
    if (cond->bad == NULL || cond->bad_times) {
        cond->bad = node;
        cond->bad_times = compares_times(expr, cond);
    }
    return alm_exprs_split(planner->cx, &cond->residual, expr);
}

/* ON (a, b): columns of that name on both sides; the leftmost relation that has it counts. */
static alm_status using_columns(alm_scope *scope, const alm_from *from, join_cond *cond)
{
    alm_planner *planner = scope->p;
    for (uint32_t i = 0; i < from->n_using; i++) {
        const alm_ast name = {
            .kind = ALM_AST_NAME, .text = from->using_cols[i], .pos = from->using_pos[i]};
        alm_expr *a = NULL, *b = NULL;
        alm_scope one = *scope;
        one.names = NULL; /* not of a query around it */
        one.n_items = 0;
        one.n_rels = 1;
        for (uint32_t r = 0; r < scope->n_rels; r++) {
            alm_expr **side = r < cond->left_rels ? &a : &b;
            one.rels = &scope->rels[r];
            if (*side == NULL)
                ALM_TRY(alm_bind_name(&one, &name, side));
        }
        if (a == NULL || b == NULL) {
            const alm_str rel = scope->rels[a == NULL ? 0 : cond->left_rels].alias;
            return alm_fail(planner->cx, ALM_E_NAME, name.pos, "Invalid column: %.*s%s%.*s",
                            (int)rel.len, rel.ptr == NULL ? "" : rel.ptr, rel.len > 0 ? "." : "",
                            (int)name.text.len, name.text.ptr);
        }
        ALM_TRY(bind_from_add_key(scope, cond, a, b, name.pos));
    }
    return ALM_OK;
}

static alm_status index_columns(alm_scope *scope, uint32_t lo, uint32_t hi, alm_name_set *set)
{
    uint32_t had = ALM_NAME_NONE;
    for (uint32_t r = lo; r < hi; r++)
        for (uint32_t i = 0; i < scope->rels[r].n_cols; i++)
            ALM_TRY(alm_name_set_add(scope->p->cx, set, alm_str_of(scope->rels[r].cols[i].name), i,
                                     &had));
    return ALM_OK;
}

/* Columns both sides call by the same name. */
static alm_status natural_columns(alm_scope *scope, alm_from *from, uint32_t left_rels)
{
    alm_planner *planner = scope->p;
    alm_name_set left = {0};
    uint32_t count = 0;
    ALM_TRY(index_columns(scope, 0, left_rels, &left));
    for (uint32_t rel = left_rels; rel < scope->n_rels; rel++)
        count += scope->rels[rel].n_cols;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, count + 1, &from->using_cols));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, count + 1, &from->using_pos));
    from->n_using = 0;
    for (uint32_t rel = left_rels; rel < scope->n_rels; rel++)
        for (uint32_t col = 0; col < scope->rels[rel].n_cols; col++) {
            const alm_str name = alm_str_of(scope->rels[rel].cols[col].name);
            if (alm_name_set_find(&left, name) == ALM_NAME_NONE)
                continue;
            from->using_pos[from->n_using] = from->join_pos;
            from->using_cols[from->n_using++] = name;
        }
    return ALM_OK;
}

static alm_status hide(alm_planner *planner, alm_rel *rel, uint32_t col)
{
    if (rel->hidden == NULL)
        ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, rel->n_cols + 1, &rel->hidden));
    rel->hidden[col] = true;
    return ALM_OK;
}

/* The joined columns are one from here on: that of the side whose rows all stay. FULL has none. */
static alm_status merge_columns(alm_scope *scope, const alm_from *from, uint32_t left_rels)
{
    if (from->join == ALM_JOIN_FULL)
        return ALM_OK;
    const uint32_t lo = from->join == ALM_JOIN_RIGHT ? 0 : left_rels;
    const uint32_t hi = from->join == ALM_JOIN_RIGHT ? left_rels : scope->n_rels;
    for (uint32_t i = 0; i < from->n_using; i++)
        for (uint32_t row = lo; row < hi; row++) {
            ALM_TRY(alm_steps_add(scope->p->cx, 1 + (int64_t)scope->rels[row].n_cols));
            for (uint32_t col = 0; col < scope->rels[row].n_cols; col++)
                if (alm_str_ieq(alm_str_of(scope->rels[row].cols[col].name), from->using_cols[i]))
                    ALM_TRY(hide(scope->p, &scope->rels[row], col));
        }
    return ALM_OK;
}

static bool bind_from_is_asof(alm_join_kind kind)
{
    return kind == ALM_JOIN_ASOF || kind == ALM_JOIN_LT || kind == ALM_JOIN_SPLICE ||
           kind == ALM_JOIN_HORIZON;
}

static const char *asof_word(alm_join_kind kind)
{
    switch ((int)kind) {
    case ALM_JOIN_LT:
        return "LT";
    case ALM_JOIN_SPLICE:
        return "SPLICE";
    case ALM_JOIN_HORIZON:
        return "HORIZON";
    default:
        return "ASOF";
    }
}

static alm_status tolerance(alm_planner *planner, const alm_ast *ast, alm_join_kind kind,
                            alm_type ts_type, int64_t *out)
{
    ALM_TRY(alm_bind_duration(planner, ast, ts_type, "TOLERANCE", out));
    if (ast->text.len > 0 && *out == 0 && ast->text.ptr[ast->text.len - 1] == 'n' &&
        ast->text.ptr[0] != '0')
        return ALM_OK; /* less than a tick */
    if (*out == 0)
        return alm_fail(planner->cx, ALM_E_ARG, ast->pos, "%s JOIN TOLERANCE must be positive",
                        asof_word(kind));
    return ALM_OK;
}

static alm_status prepare_asof(alm_scope *scope, const alm_from *from, alm_plan **left,
                               alm_plan **right)
{
    alm_planner *planner = scope->p;
    if ((*left)->ts_col < 0)
        return alm_fail(planner->cx, ALM_E_TYPE, from->join_pos,
                        "left side of time series join has no timestamp");
    if ((*right)->ts_col < 0)
        return alm_fail(planner->cx, ALM_E_TYPE, from->join_pos,
                        "right side of time series join has no timestamp");
    if (from->join != ALM_JOIN_HORIZON) /* there the left side has its rows in lanes */
        ALM_TRY(alm_plan_order_by_ts(planner, left, (uint32_t)(*left)->ts_col));
    return alm_plan_order_by_ts(planner, right, (uint32_t)(*right)->ts_col);
}

static bool is_column(const alm_expr *expr, uint32_t col)
{
    return expr->kind == ALM_X_COL && expr->col == col;
}

/* ON ... AND l.ts >= r.ts: comparing the designated timestamps says which row is taken. */
static alm_status asof_condition(alm_scope *scope, const alm_from *from, const join_cond *cond,
                                 alm_plan *join, bool *settled)
{
    static const struct {
        const char *op, *turned; /* left op right */
        uint8_t kind, direction;
    } rows[] = {{">=", "<=", ALM_JOIN_ASOF, ALM_ASOF_BACKWARD},
                {">", "<", ALM_JOIN_LT, ALM_ASOF_BACKWARD},
                {"<=", ">=", ALM_JOIN_ASOF, ALM_ASOF_FORWARD},
                {"<", ">", ALM_JOIN_LT, ALM_ASOF_FORWARD}};
    if (cond->residual.n != 1 || from->join != ALM_JOIN_ASOF)
        return ALM_OK;
    const alm_expr *expr = cond->residual.at[0];
    const uint32_t left = join->join.left_ts, right = join->join.right_ts + join->child[0]->n_cols;
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        const bool plain = alm_expr_is_call(expr, rows[i].op) && is_column(expr->args[0], left) &&
                           is_column(expr->args[1], right);
        const bool turned = alm_expr_is_call(expr, rows[i].turned) &&
                            is_column(expr->args[0], right) && is_column(expr->args[1], left);
        if (!plain && !turned)
            continue;
        if (from->direction_pos > 0)
            return alm_fail(scope->p->cx, ALM_E_SYNTAX, from->direction_pos,
                            "DIRECTION does not go with a condition on the timestamps");
        join->join.kind = rows[i].kind;
        join->join.direction = rows[i].direction;
        *settled = true;
        return ALM_OK;
    }
    return ALM_OK;
}

static alm_status finish_asof(alm_scope *scope, const alm_from *from, const join_cond *cond,
                              alm_plan *join)
{
    alm_planner *planner = scope->p;
    const alm_plan *left = join->child[0], *right = join->child[1];
    bool settled = false;
    join->join.left_ts = (uint32_t)left->ts_col;
    join->join.right_ts = (uint32_t)right->ts_col;
    join->join.direction = from->direction;
    ALM_TRY(asof_condition(scope, from, cond, join, &settled));
    if (cond->residual.n > 0 && !settled) {
        const char *text = NULL;
        ALM_TRY(alm_ast_name(planner->cx, cond->bad, &text));
        return alm_fail(planner->cx, ALM_E_UNSUPPORTED, cond->bad->pos,
                        "unsupported %s join expression [expr='%s']", asof_word(from->join), text);
    }
    if (from->tolerance != NULL)
        return tolerance(planner, from->tolerance, from->join, left->cols[left->ts_col].type,
                         &join->join.tolerance);
    return ALM_OK;
}

static bool of_either_side(void *arg, const alm_expr *col)
{
    const join_cond *cond = arg;
    return col->col < cond->n_left ||
           (col->col >= cond->first && col->col < cond->first + cond->n_right);
}

/*
 * What ON says besides the keys: conditions on the right rows choose them, also the prevailing one; others keep rows out of the
 * aggregates of a left row, which is there all the same.
 */
static alm_status window_join_filters(alm_planner *planner, const alm_from *from,
                                      const join_cond *cond, alm_plan **right, alm_exprs *filter)
{
    const uint32_t end = cond->first + cond->n_right;
    alm_exprs own = {0};
    for (uint32_t i = 0; i < cond->residual.n; i++) {
        alm_expr *expr = cond->residual.at[i];
        const bool of_left = alm_expr_within(expr, 0, cond->n_left);
        const bool of_right = !of_left && alm_expr_within(expr, cond->first, end);
        if (of_right) {
            ALM_TRY(alm_expr_shift(planner->cx, expr, -(int64_t)cond->first, &expr));
            ALM_TRY(alm_exprs_add(planner->cx, &own, expr));
            continue;
        }
        if (!alm_expr_each_col(expr, of_either_side, (void *)(uintptr_t)cond))
            return alm_fail(planner->cx, ALM_E_UNSUPPORTED, expr->pos,
                            "ON cannot use the right sides of two WINDOW JOINs");
        if (!of_left && from->prevailing != 'e')
            return alm_fail(planner->cx, ALM_E_UNSUPPORTED, expr->pos,
                            "a condition on both sides of a WINDOW JOIN needs EXCLUDE PREVAILING");
        ALM_TRY(alm_exprs_add(planner->cx, filter, expr));
    }
    return own.n > 0 ? alm_plan_filter(planner, right, &own) : ALM_OK;
}

/* The node comes later, when the aggregates over the right side are known. */
static alm_status window_join_item(alm_scope *scope, const alm_from *from, const join_cond *cond,
                                   alm_plan *left, alm_plan *right)
{
    alm_planner *planner = scope->p;
    alm_window_join *join = NULL;
    ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, &join));
    ALM_TRY(window_join_filters(planner, from, cond, &right, &join->filter));
    join->from = from;
    join->right = right;
    join->left_keys = cond->left;
    join->right_keys = cond->right;
    join->n_left = left->n_cols;
    join->first = cond->first;
    join->before = scope->window_join;
    scope->window_join = join;
    scope->plan = left;
    return ALM_OK;
}

/* An aggregate has a row for every outer row: where the condition of LEFT JOIN fails it is null. */
static alm_status lateral_or_null(alm_planner *planner, alm_plan *project, uint32_t n_left,
                                  alm_expr *expr, alm_expr *const *exprs)
{
    alm_expr **list = NULL, *test = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, project->n_cols + 1, &list));
    ALM_TRY(alm_expr_substitute(planner->cx, expr, exprs, &test));
    for (uint32_t i = 0; i < project->n_cols; i++) {
        list[i] = project->project.expr[i];
        if (i < n_left)
            continue;
        alm_expr *node = NULL;
        ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, &node));
        ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 3, &node->args));
        *node = (alm_expr){.kind = ALM_X_CASE,
                           .type = list[i]->type,
                           .pos = list[i]->pos,
                           .args = node->args,
                           .n_args = 3};
        node->args[0] = test;
        node->args[1] = list[i];
        ALM_TRY(alm_expr_null(planner->cx, list[i]->type, list[i]->pos, &node->args[2]));
        ALM_TRY(alm_expr_again(planner->cx, test));
        ALM_TRY(alm_expr_measure(planner->cx, node));
        list[i] = node;
    }
    project->project.expr = list;
    return ALM_OK;
}

/* LATERAL (query): the query may name columns of the items before it. */
static alm_status lateral_item(alm_scope *scope, const alm_from *from)
{
    alm_planner *planner = scope->p;
    const bool left_join = from->join == ALM_JOIN_LATERAL_LEFT;
    const uint32_t n_left = scope->plan->n_cols;
    alm_plan *inner = NULL;
    alm_expr **values = NULL, **exprs = NULL;
    const char **names = NULL;
    bool correlated = false;
    ALM_TRY(alm_bind_dependent(scope, from->select, &inner, &correlated));
    ALM_TRY(rename_cols(planner, from, inner));
    ALM_TRY(check_alias(scope, from->alias, from->join_pos));
    const uint32_t n_cols = inner->n_cols;
    alm_plan_col *const cols = inner->cols;
    if (correlated) {
        const uint8_t kind = left_join ? ALM_JOIN_LEFT : ALM_JOIN_INNER;
        ALM_TRY(alm_join_dependent(scope, kind, from->join_pos, inner, &values));
    } else {
        const uint8_t kind = left_join ? ALM_JOIN_LEFT : ALM_JOIN_CROSS;
        ALM_TRY(alm_plan_join(planner, kind, from->join_pos, scope->plan, inner, &scope->plan));
    }
    /* what carried the outer values goes away again */
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_left + n_cols + 1, &exprs));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_left + n_cols + 1, &names));
    for (uint32_t i = 0; i < n_left + n_cols; i++) {
        names[i] = i < n_left ? scope->plan->cols[i].name : cols[i - n_left].name;
        if (i >= n_left && values != NULL)
            exprs[i] = values[i - n_left];
        else
            ALM_TRY(alm_expr_col(planner->cx, i, scope->plan->cols[i].type, from->pos, &exprs[i]));
    }
    alm_plan *join = scope->plan;
    ALM_TRY(alm_plan_project(planner, scope->plan, exprs, names, n_left + n_cols, &scope->plan));
    alm_plan shape = {.cols = cols, .n_cols = n_cols};
    ALM_TRY(alm_scope_add(scope, from->alias, NULL, &shape, n_left));
    if (from->n_using > 0)
        return alm_fail(planner->cx, ALM_E_UNSUPPORTED, from->join_pos,
                        "LATERAL does not go with USING");
    if (from->on == NULL)
        return ALM_OK;
    if (!left_join && has_query(from->on)) /* as in WHERE */
        return alm_bind_where(scope, from->on);
    alm_plan *const joined = scope->plan;
    alm_expr *expr = NULL;
    alm_exprs conjuncts = {0};
    scope->plan = NULL; /* a subquery would be joined above this join, not below its condition */
    ALM_TRY(alm_bind_expr(scope, from->on, &expr));
    scope->plan = joined;
    ALM_TRY(alm_bind_condition(planner, &expr, from->on->pos));
    ALM_TRY(alm_exprs_split(planner->cx, &conjuncts, expr));
    if (!left_join)
        return alm_plan_filter(planner, &scope->plan, &conjuncts);
    for (uint32_t i = 0; i < conjuncts.n; i++)
        ALM_TRY(alm_expr_substitute(planner->cx, conjuncts.at[i], exprs, &conjuncts.at[i]));
    for (uint32_t i = 0; conjuncts.n > 0 && values != NULL && i < n_cols; i++)
        if (values[i]->kind != ALM_X_COL || values[i]->col != n_left + i)
            return lateral_or_null(planner, scope->plan, n_left, expr, exprs);
    join->join.residual = conjuncts.at;
    join->join.n_residual = conjuncts.n;
    return ALM_OK;
}

/* LEFT JOIN b ON condition with a query in it: LEFT JOIN LATERAL (SELECT * FROM b WHERE condition). */
static alm_status left_join_by_query(alm_scope *scope, const alm_from *from)
{
    alm_ast star = {.kind = ALM_AST_STAR, .text = ALM_STR("*"), .pos = from->pos};
    alm_select_item all = {.expr = &star};
    alm_from item = *from;
    item.join = ALM_JOIN_NONE;
    item.on = NULL;
    alm_select rows = {.pos = from->pos,
                       .items = &all,
                       .n_items = 1,
                       .from = &item,
                       .n_from = 1,
                       .where = from->on};
    const alm_str name = from->kind == ALM_FROM_FUNCTION ? from->call->text : from->name;
    const alm_from lateral = {.kind = ALM_FROM_SELECT,
                              .join = ALM_JOIN_LATERAL_LEFT,
                              .select = &rows,
                              .alias = from->alias.len > 0 ? from->alias : name,
                              .alias_pos = from->alias_pos,
                              .pos = from->pos,
                              .join_pos = from->join_pos,
                              .lateral = true};
    return lateral_item(scope, &lateral);
}

static alm_status join_item(alm_scope *scope, const alm_from *from)
{
    alm_planner *planner = scope->p;
    alm_str alias = {0};
    const alm_table *table = NULL;
    alm_plan *left = scope->plan, *right = NULL, *join = NULL;
    alm_join_kind kind = from->join == ALM_JOIN_NONE ? ALM_JOIN_CROSS : from->join;
    if (scope->window_join != NULL && kind != ALM_JOIN_WINDOW)
        return alm_fail(planner->cx, ALM_E_UNSUPPORTED, from->join_pos,
                        "no join but a WINDOW JOIN can follow a WINDOW JOIN: put it into a "
                        "subquery");
    if (kind == ALM_JOIN_LATERAL_INNER || kind == ALM_JOIN_LATERAL_LEFT)
        return lateral_item(scope, from);
    if (kind == ALM_JOIN_LEFT && from->kind != ALM_FROM_JOINS && has_query(from->on))
        return left_join_by_query(scope, from);
    ALM_TRY(bind_item(scope, from, &alias, &table, &right));
    if (bind_from_is_asof(kind) || kind == ALM_JOIN_WINDOW)
        ALM_TRY(prepare_asof(scope, from, &left, &right));
    else if (from->tolerance != NULL)
        return alm_fail(planner->cx, ALM_E_SYNTAX, from->tolerance->pos,
                        "TOLERANCE is only supported for ASOF and LT joins");
    const uint32_t first = scope->window_join == NULL
                               ? left->n_cols
                               : scope->window_join->first + scope->window_join->right->n_cols;
    const uint32_t left_rels = scope->n_rels;
    ALM_TRY(bind_from_add_item(scope, from, alias, table, right, first));

    join_cond cond = {.n_left = left->n_cols,
                      .n_right = right->n_cols,
                      .left_rels = left_rels,
                      .first = first,
                      .bad_pos = -1,
                      .left_ts = left->ts_col,
                      .right_ts = right->ts_col < 0 ? -1 : (int64_t)first + right->ts_col};
    cond.inner = kind == ALM_JOIN_INNER;
    scope->plan = NULL; /* no subqueries in ON, but for those put off */
    alm_from natural = *from;
    if (from->natural) {
        ALM_TRY(natural_columns(scope, &natural, left_rels));
        from = &natural;
    }
    if (from->n_using > 0)
        ALM_TRY(using_columns(scope, from, &cond));
    else if (from->on != NULL)
        ALM_TRY(on_condition(scope, from->on, &cond));
    if (kind == ALM_JOIN_WINDOW)
        return window_join_item(scope, from, &cond, left, right);
    const bool horizon = kind == ALM_JOIN_HORIZON;
    ALM_TRY(alm_plan_join(planner, (uint8_t)(horizon ? ALM_JOIN_ASOF : kind), from->join_pos, left,
                          right, &join));
    join->join.has_lane = horizon;
    join->join.lane_col = horizon ? scope->lane_col : 0;
    join->join.left_keys = cond.left.at;
    join->join.right_keys = cond.right.at;
    join->join.n_keys = cond.left.n;
    join->join.residual = cond.residual.at;
    join->join.n_residual = cond.residual.n;
    if (bind_from_is_asof(kind))
        ALM_TRY(finish_asof(scope, from, &cond, join));
    scope->plan = join;
    for (uint32_t i = 0; i < cond.n_queries; i++)
        ALM_TRY(alm_bind_where(scope, cond.query[i]));
    if (from->merge)
        return merge_columns(scope, from, left_rels);
    return ALM_OK;
}

alm_status alm_bind_from(alm_scope *scope, const alm_from *from, uint32_t n_from)
{
    if (n_from == 0)
        return alm_plan_one_row(scope->p, scope->sel != NULL ? scope->sel->pos : 0, &scope->plan);
    for (uint32_t i = 0; i < n_from; i++) {
        if (i > 0) {
            if (from[i].join == ALM_JOIN_HORIZON && from[i - 1].join != ALM_JOIN_HORIZON)
                ALM_TRY(alm_bind_horizon(scope, &from[i], n_from - i));
            ALM_TRY(join_item(scope, &from[i]));
            continue;
        }
        alm_str alias = {0};
        const alm_table *table = NULL;
        ALM_TRY(bind_item(scope, &from[i], &alias, &table, &scope->plan));
        ALM_TRY(bind_from_add_item(scope, &from[i], alias, table, scope->plan, 0));
    }
    return ALM_OK;
}

static bool of_left(void *arg, const alm_expr *col)
{
    const alm_scope *scope = arg;
    return (col->col & ALM_COL_OUTER) != 0 || col->col < scope->window_join->n_left;
}

alm_status alm_bind_where(alm_scope *scope, const alm_ast *where)
{
    alm_planner *planner = scope->p;
    if (where == NULL)
        return ALM_OK;
    alm_expr *expr = NULL;
    alm_exprs conjuncts = {0};
    scope->aggs_allowed = ALM_AGG_NO;
    scope->windows_allowed = false;
    scope->conjunct = scope->turns = true;
    ALM_TRY(alm_bind_expr(scope, where, &expr));
    scope->conjunct = scope->turns = false;
    ALM_TRY(alm_bind_condition(planner, &expr, where->pos));
    if (scope->window_join != NULL && !alm_expr_each_col(expr, of_left, scope))
        return alm_fail(planner->cx, ALM_E_UNSUPPORTED, where->pos,
                        "WHERE of a WINDOW join can use columns of the left side only");
    ALM_TRY(alm_exprs_split(planner->cx, &conjuncts, expr));
    return alm_plan_filter(planner, &scope->plan, &conjuncts);
}
