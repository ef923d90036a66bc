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

alm_status alm_scope_add(alm_scope *sc, alm_str alias, const alm_table *table, const alm_plan *plan,
                         uint32_t first)
{
    ALM_TRY(alm_grow(sc->p->cx, &sc->rels, sc->n_rels, &sc->cap_rels, sizeof *sc->rels));
    sc->rels[sc->n_rels++] =
        (alm_rel){.alias = alias,
                  .scanned = table == NULL && plan->op == ALM_P_SCAN ? plan->scan.table : table,
                  .table = table,
                  .cols = plan->cols,
                  .n_cols = plan->n_cols,
                  .first = first,
                  .relation = table == NULL ? catalog_name(plan) : NULL};
    return ALM_OK;
}

static alm_status check_alias(alm_scope *sc, alm_str alias, int32_t pos)
{
    for (uint32_t r = 0; alias.len > 0 && r < sc->n_rels; r++)
        if (alm_str_ieq(sc->rels[r].alias, alias))
            return alm_fail(sc->p->cx, ALM_E_NAME, pos, "Duplicate table or alias: %.*s",
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
static alm_status describe_args(alm_planner *p, const struct alm_source *source, alm_expr **args,
                                uint32_t n_args)
{
    for (uint32_t i = 0; i < n_args; i++) {
        alm_type type = args[i]->type;
        if (alm_expr_unknown(args[i])) {
            if (p->env->sources->arg_type != NULL)
                type = p->env->sources->arg_type(source, i);
            if (type.id == ALM_T_NONE)
                type = type_of_others(args, n_args);
            ALM_TRY(alm_param_infer(p, &args[i], type));
        }
        if (args[i]->kind != ALM_X_CONST)
            ALM_TRY(alm_expr_null(p->cx, args[i]->type, args[i]->pos, &args[i]));
    }
    return ALM_OK;
}

/* All columns, in their order. */
static alm_status scan_source(alm_planner *p, alm_plan *plan, uint32_t n_hidden)
{
    const uint32_t n = plan->n_cols;
    plan->source.all = plan->cols;
    plan->source.n_all = n + n_hidden;
    plan->source.n_cols = plan->source.n_out = n;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &plan->source.cols));
    for (uint32_t i = 0; i < n; i++)
        plan->source.cols[i] = i;
    return ALM_OK;
}

static alm_status bind_source(alm_scope *sc, alm_str name, int32_t pos, alm_ast *const *args,
                              uint32_t n_args, alm_plan **out)
{
    alm_planner *p = sc->p;
    alm_expr **bound = NULL;
    alm_plan *plan = NULL;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n_args + 1, &bound));
    alm_use_once(p); /* many list what the snapshot or the server has */
    for (uint32_t i = 0; i < n_args; i++)
        ALM_TRY(alm_bind_const(p, sc->names, args[i], "argument of a table function", &bound[i]));
    ALM_TRY(alm_plan_new(p, ALM_P_SOURCE, pos, NULL, &plan));
    ALM_TRY(alm_arena_zstr(p->cx, p->cx->arena, name, &plan->source.name));
    plan->source.function = p->env->sources->find(name);
    if (alm_describing(p))
        ALM_TRY(describe_args(p, plan->source.function, bound, n_args));
    plan->source.args = bound;
    plan->source.n_args = n_args;
    const alm_source_call call = {p->env->snapshot, pos, (const alm_expr *const *)bound, n_args};
    alm_source_bound source = {.ts_col = -1};
    ALM_TRY(p->env->sources->bind(p->cx, plan->source.function, &call, &source));
    plan->cols = source.cols;
    plan->n_cols = source.n_cols;
    plan->ts_col = source.ts_col;
    plan->est_rows = source.est_rows;
    plan->source.data = source.data;
    if (source.scanned)
        ALM_TRY(scan_source(p, plan, source.n_hidden));
    plan->order = plan->ts_col >= 0 ? ALM_ORDER_ASC : ALM_ORDER_NONE;
    *out = plan;
    return ALM_OK;
}

static bool has_source(const alm_planner *p, alm_str name)
{
    return p->env->sources != NULL && p->env->sources->find != NULL &&
           p->env->sources->find(name) != NULL;
}

/*
 * Under which name the sources have a name of FROM, NULL: they have none. pg_catalog and sys may be left out;
 * what is called, pg_class(), is found with its brackets where it differs from the relation.
 */
static alm_status source_name(alm_planner *p, alm_str schema, alm_str name, bool call,
                              const char **out)
{
    const bool own = alm_str_ieq(schema, ALM_STR("public")) ||
                     alm_str_ieq(schema, ALM_STR("qdb.public")); /* functions have no schema */
    const bool plain = schema.len == 0 || (call && own) ||
                       alm_str_ieq(schema, ALM_STR("pg_catalog")) ||
                       alm_str_ieq(schema, ALM_STR("sys")); /* sys.text_import_log */
    ALM_TRY(alm_arena_printf(p->cx, p->cx->arena, out, "%.*s%s%.*s%s", (int)schema.len,
                             schema.ptr == NULL ? "" : schema.ptr, schema.len > 0 ? "." : "",
                             (int)name.len, name.ptr, call ? "()" : ""));
    if (has_source(p, alm_str_of(*out)))
        return ALM_OK;
    *out = NULL;
    return plain && has_source(p, name) ? alm_arena_zstr(p->cx, p->cx->arena, name, out) : ALM_OK;
}

static alm_status not_itself(const alm_scope *sc, const alm_from *f)
{
    for (const alm_names *names = sc->names; names != NULL; names = names->outer)
        if (names->defining != NULL && alm_str_ieq(names->defining->name, f->name))
            return alm_fail(sc->p->cx, ALM_E_TABLE, f->pos,
                            "'%.*s' uses itself: that needs WITH RECURSIVE", (int)f->name.len,
                            f->name.ptr);
    return ALM_OK;
}

/* Before the name is looked for: hints are for who may not list it, too. */
static alm_status check_listed(const alm_scope *sc, const alm_from *f)
{
    alm_planner *p = sc->p;
    bool listed = true;
    ALM_TRY(alm_access_lists(p->cx, f->name, &listed));
    if (listed)
        return ALM_OK;
    ALM_TRY(not_itself(sc, f));
    ALM_TRY(alm_hint_no_table(p, f));
    return alm_access_name(p->cx, "SELECT", f->name, f->pos);
}

/*
 * Relations of the server come before tables of that name, as pg_catalog does in PostgreSQL: nobody changes for others what
 * their drivers find there. Such a table, of an older version, is public.name.
 */
static alm_status bind_table(alm_scope *sc, const alm_from *f, const alm_table **table,
                             alm_plan **out)
{
    alm_planner *p = sc->p;
    if (f->schema.len == 0)
        ALM_TRY(alm_bind_cte(p, sc->names, f->name, f->pos, out));
    if (f->schema.len == 0 && *out != NULL)
        return ALM_OK;
    const bool own = f->schema.len == 0 || alm_str_ieq(f->schema, ALM_STR("public"));
    const bool catalog = f->name.len > 3 && memcmp(f->name.ptr, "pg_", 3) == 0;
    const char *name = NULL;
    *table = NULL;
    ALM_TRY(source_name(p, f->schema, f->name, false, &name));
    if (name != NULL && f->quoted && f->schema.len == 0 && !catalog)
        name = NULL;
    if (name != NULL && p->env->sources->by_name(alm_str_of(name)))
        return bind_source(sc, alm_str_of(name), f->pos, NULL, 0, out);
    if (own && name == NULL && p->view == NULL)
        ALM_TRY(check_listed(sc, f));
    if (own)
        ALM_TRY(alm_use_table(p, f->name, table));
    if (*table != NULL) {
        const alm_table *found = *table;
        ALM_TRY(alm_note_table(p, found, f->pos));
        if (found->kind == ALM_TABLE_VIEW) {
            *table = NULL; /* columns are those of its query */
            return alm_bind_view(p, found, f->pos, out);
        }
        return alm_plan_scan(p, *table, f->pos, out);
    }
    if (name != NULL) /* which says what it wants in brackets */
        return bind_source(sc, alm_str_of(name), f->pos, NULL, 0, out);
    ALM_TRY(not_itself(sc, f));
    if (own)
        ALM_TRY(alm_hint_no_table(p, f));
    if (own)
        return alm_no_table(p->cx, p->env->snapshot, f->name, f->pos);
    return alm_fail(p->cx, ALM_E_TABLE, f->pos, "table does not exist [table=%.*s.%.*s]",
                    (int)f->schema.len, f->schema.ptr, (int)f->name.len, f->name.ptr);
}

/* f(x) s: one row with its value. */
static alm_status bind_scalar(alm_scope *sc, const alm_from *f, alm_plan **out)
{
    alm_select *sel = NULL;
    alm_select_item *item = NULL;
    ALM_TRY(ALM_NEW(sc->p->cx, sc->p->cx->arena, &sel));
    ALM_TRY(ALM_NEW(sc->p->cx, sc->p->cx->arena, &item));
    *item =
        (alm_select_item){.expr = f->call, .alias = f->alias.len > 0 ? f->alias : f->call->text};
    *sel = (alm_select){.pos = f->call->pos,
                        .end = f->call->end,
                        .items = item,
                        .n_items = 1,
                        .depth = f->call->depth + 1u};
    return alm_bind_query(sc->p, sc->names, sel, out);
}

static alm_status bind_function(alm_scope *sc, const alm_from *f, alm_plan **out)
{
    const alm_ast *call = f->call;
    const char *name = NULL;
    ALM_TRY(source_name(sc->p, call->table, call->text, true, &name));
    if (name != NULL)
        return bind_source(sc, alm_str_of(name), call->pos, call->arg, call->n_args, out);
    if (alm_registry_has(sc->p->env->registry, call->text, ALM_FN_SCALAR))
        return bind_scalar(sc, f, out);
    alm_nearest near = alm_nearest_of(call->text);
    const alm_source_if *sources = sc->p->env->sources;
    if (sources != NULL && sources->offer != NULL)
        sources->offer(&near);
    return alm_fail_near(sc->p->cx, ALM_E_FUNCTION, call->pos, &near, "unknown function name: %.*s",
                         (int)call->text.len, call->text.ptr);
}

/* VALUES: columns column1, column2 ... in the type where the rows meet. */
static alm_status bind_values(alm_scope *sc, const alm_from *f, alm_plan **out)
{
    alm_planner *p = sc->p;
    alm_plan *plan = NULL;
    const uint32_t n_cols = f->n_row_cols;
    ALM_TRY(alm_plan_new(p, ALM_P_VALUES, f->pos, NULL, &plan));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n_cols + 1, &plan->cols));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, f->n_rows + 1, &plan->values.rows));
    plan->n_cols = n_cols;
    plan->values.n_rows = f->n_rows;
    plan->est_rows = f->n_rows;
    for (uint32_t c = 0; c < n_cols; c++) {
        plan->cols[c].type = ALM_TY(NULL);
        ALM_TRY(alm_arena_printf(p->cx, p->cx->arena, &plan->cols[c].name, "column%u", c + 1));
    }
    for (uint32_t r = 0; r < f->n_rows; r++) {
        ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n_cols + 1, &plan->values.rows[r]));
        for (uint32_t c = 0; c < n_cols; c++) {
            alm_expr **cell = &plan->values.rows[r][c];
            ALM_TRY(alm_bind_const(p, sc->names, f->rows[r][c], "VALUES", cell));
            const alm_type so_far = r == 0 ? (*cell)->type : plan->cols[c].type;
            plan->cols[c].type = r == 0 ? so_far : alm_type_union(so_far, (*cell)->type);
            if (plan->cols[c].type.id == ALM_T_NONE && so_far.id != ALM_T_NONE)
                return alm_no_union(p, f->rows[r][c]->pos, plan->cols[c].name, (*cell)->type,
                                    so_far);
        }
    }
    for (uint32_t r = 0; r < f->n_rows; r++)
        for (uint32_t c = 0; c < n_cols; c++)
            ALM_TRY(alm_expr_cast(p, plan->values.rows[r][c], plan->cols[c].type, ALM_CAST_IMPLICIT,
                                  &plan->values.rows[r][c]));
    *out = plan;
    return ALM_OK;
}

static alm_status rename_cols(alm_planner *p, const alm_from *f, alm_plan *plan)
{
    if (f->n_col_aliases == 0)
        return ALM_OK;
    alm_plan_col *cols = NULL;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, plan->n_cols + 1, &cols));
    memcpy(cols, plan->cols, plan->n_cols * sizeof *cols);
    for (uint32_t c = 0; c < ALM_MIN(f->n_col_aliases, plan->n_cols); c++)
        ALM_TRY(alm_arena_zstr(p->cx, p->cx->arena, f->col_aliases[c], &cols[c].name));
    plan->cols = cols;
    return ALM_OK;
}

/*
 * Does the column come as it is from a source whose rows are in its order? Then all nodes on the way know it. A file
 * is asked, which may read the column: that costs less than a sort.
 */
static alm_status take_source_order(alm_planner *p, alm_plan *plan, uint32_t col, bool *ordered)
{
    const alm_source_if *sources = p->env->sources;
    *ordered = false;
    if (plan->op == ALM_P_SOURCE && plan->source.all != NULL && sources->ordered != NULL)
        ALM_TRY(sources->ordered(p->cx, plan->source.function, plan->source.data,
                                 plan->source.cols[col], ordered));
    else if (plan->op == ALM_P_FILTER)
        ALM_TRY(take_source_order(p, plan->child[0], col, ordered));
    else if (plan->op == ALM_P_PROJECT && plan->project.expr[col]->kind == ALM_X_COL)
        ALM_TRY(take_source_order(p, plan->child[0], plan->project.expr[col]->col, ordered));
    if (*ordered) {
        plan->ts_col = (int32_t)col;
        plan->order = ALM_ORDER_ASC;
    }
    return ALM_OK;
}

/* `t timestamp(col)`: another designated timestamp. Its order is not taken for granted: who needs
 * it sorts, but for a file that is in order. */
static alm_status override_timestamp(alm_planner *p, const alm_from *f, alm_plan *plan)
{
    if (f->timestamp.len == 0)
        return ALM_OK;
    for (uint32_t c = 0; c < plan->n_cols; c++) {
        if (!alm_str_ieq(alm_str_of(plan->cols[c].name), f->timestamp))
            continue;
        if (!alm_type_is_timestamp(plan->cols[c].type))
            return alm_fail(p->cx, ALM_E_TYPE, f->timestamp_pos, "not a TIMESTAMP");
        if (plan->op == ALM_P_SCAN)
            ALM_TRY(alm_note_column(p, plan->scan.table, c, f->timestamp_pos));
        if (plan->ts_col != (int32_t)c)
            plan->order = ALM_ORDER_NONE;
        plan->ts_col = (int32_t)c;
        if (plan->order == ALM_ORDER_NONE && !alm_describing(p)) {
            bool ordered = false;
            ALM_TRY(take_source_order(p, plan, c, &ordered));
        }
        return ALM_OK;
    }
    return alm_fail(p->cx, ALM_E_NAME, f->timestamp_pos, "Invalid column: %.*s",
                    (int)f->timestamp.len, f->timestamp.ptr);
}

/* Joined items in brackets: their relations wait in the scope until add_item takes them. */
static alm_status bind_joins(alm_scope *sc, const alm_from *f, alm_plan **out)
{
    alm_scope inner = {.p = sc->p, .names = sc->names, .sel = sc->sel};
    ALM_TRY(alm_enter(sc->p, f->pos));
    ALM_TRY(alm_bind_from(&inner, f->items, f->n_items));
    sc->p->depth--;
    if (inner.window_join != NULL)
        return alm_fail(sc->p->cx, ALM_E_UNSUPPORTED, f->pos,
                        "a WINDOW JOIN cannot stand in brackets: make it a subquery");
    sc->joined = inner.rels;
    sc->n_joined = inner.n_rels;
    *out = inner.plan;
    return ALM_OK;
}

/* One item: its plan, the name it goes by, and its table if it is one. */
static alm_status bind_item(alm_scope *sc, const alm_from *f, alm_str *alias,
                            const alm_table **table, alm_plan **out)
{
    *table = NULL;
    *out = NULL;
    *alias = f->alias;
    switch (f->kind) {
    case ALM_FROM_TABLE:
        if (alias->len == 0)
            *alias = f->name;
        ALM_TRY(bind_table(sc, f, table, out));
        break;
    case ALM_FROM_FUNCTION:
        if (alias->len == 0)
            *alias = f->call->text;
        ALM_TRY(bind_function(sc, f, out));
        break;
    case ALM_FROM_SELECT:
        ALM_TRY(alm_bind_query(sc->p, sc->names, f->select, out));
        break;
    case ALM_FROM_VALUES:
        ALM_TRY(bind_values(sc, f, out));
        break;
    case ALM_FROM_JOINS:
        ALM_TRY(bind_joins(sc, f, out));
        break;
    }
    ALM_TRY(rename_cols(sc->p, f, *out));
    if (f->n_col_aliases > 0)
        *table = NULL; /* names are no longer the table's */
    return override_timestamp(sc->p, f, *out);
}

/* The relations of an item into the scope, with its first column at `first`. */
static alm_status add_item(alm_scope *sc, const alm_from *f, alm_str alias, const alm_table *table,
                           const alm_plan *plan, uint32_t first)
{
    if (f->kind != ALM_FROM_JOINS) {
        ALM_TRY(check_alias(sc, alias, f->alias_pos > 0 ? f->alias_pos : f->pos));
        ALM_TRY(alm_scope_add(sc, alias, table, plan, first));
        sc->rels[sc->n_rels - 1].function = f->kind == ALM_FROM_FUNCTION && plan->n_cols == 1;
        return ALM_OK;
    }
    for (uint32_t r = 0; r < sc->n_joined; r++) {
        ALM_TRY(check_alias(sc, sc->joined[r].alias, f->pos));
        ALM_TRY(alm_grow(sc->p->cx, &sc->rels, sc->n_rels, &sc->cap_rels, sizeof *sc->rels));
        sc->rels[sc->n_rels] = sc->joined[r];
        sc->rels[sc->n_rels++].first += first;
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

static alm_status add_key(alm_scope *sc, join_cond *jc, alm_expr *a, alm_expr *b, int32_t pos)
{
    alm_planner *p = sc->p;
    bool ok = false;
    ALM_TRY(alm_expr_shift(p->cx, b, -(int64_t)jc->first, &b));
    ALM_TRY(alm_join_key_types(p, &a, &b, &ok));
    if (!ok)
        return alm_fail(p->cx, ALM_E_TYPE, pos, "join column type mismatch");
    ALM_TRY(alm_exprs_add(p->cx, &jc->left, a));
    return alm_exprs_add(p->cx, &jc->right, b);
}

static bool has_query(const alm_ast *e)
{
    if (e == NULL)
        return false;
    if (e->kind == ALM_AST_SUBQUERY || e->kind == ALM_AST_EXISTS || e->select != NULL)
        return true;
    for (uint32_t i = 0; i < e->n_args; i++)
        if (has_query(e->arg[i]))
            return true;
    return has_query(e->else_arg);
}

static bool compares_times(const alm_expr *e, const join_cond *jc)
{
    return e->kind == ALM_X_CALL && e->n_args == 2 && e->args[0]->kind == ALM_X_COL &&
           e->args[1]->kind == ALM_X_COL &&
           ((e->args[0]->col == jc->left_ts && e->args[1]->col == jc->right_ts) ||
            (e->args[0]->col == jc->right_ts && e->args[1]->col == jc->left_ts));
}

static alm_status on_condition(alm_scope *sc, const alm_ast *on, join_cond *jc)
{
    alm_planner *p = sc->p;
    while (on->kind == ALM_AST_BINARY && alm_str_eq(on->text, ALM_STR("and"))) {
        ALM_TRY(alm_enter(p, on->pos));
        ALM_TRY(on_condition(sc, on->arg[0], jc));
        p->depth--;
        on = on->arg[1];
    }
    const uint32_t all = jc->first + jc->n_right;
    alm_expr *e = NULL;
    if (jc->inner && has_query(on)) { /* as in WHERE, when the join stands */
        ALM_TRY(alm_grow(p->cx, &jc->query, jc->n_queries, &jc->cap_queries, sizeof *jc->query));
        jc->query[jc->n_queries++] = on;
        return ALM_OK;
    }
    if (on->kind == ALM_AST_BINARY && alm_str_eq(on->text, ALM_STR("="))) {
        alm_expr *a = NULL, *b = NULL;
        ALM_TRY(alm_bind_expr(sc, on->arg[0], &a));
        ALM_TRY(alm_bind_expr(sc, on->arg[1], &b));
        if (alm_expr_has_col(a) && alm_expr_has_col(b)) {
            const int32_t pos = on->arg[1]->pos;
            if (alm_expr_within(a, 0, jc->n_left) && alm_expr_within(b, jc->first, all))
                return add_key(sc, jc, a, b, pos);
            if (alm_expr_within(b, 0, jc->n_left) && alm_expr_within(a, jc->first, all))
                return add_key(sc, jc, b, a, pos);
        }
        ALM_TRY(alm_bind_compare(sc, "=", on->pos, a, b, &e));
    } else {
        ALM_TRY(alm_bind_expr(sc, on, &e));
    }
    ALM_TRY(alm_bind_condition(p, &e, on->pos));
    if (jc->bad == NULL || jc->bad_times) {
        jc->bad = on;
        jc->bad_times = compares_times(e, jc);
    }
    return alm_exprs_split(p->cx, &jc->residual, e);
}

/* ON (a, b): columns of that name on both sides; the leftmost relation that has it counts. */
static alm_status using_columns(alm_scope *sc, const alm_from *f, join_cond *jc)
{
    alm_planner *p = sc->p;
    for (uint32_t i = 0; i < f->n_using; i++) {
        const alm_ast name = {
            .kind = ALM_AST_NAME, .text = f->using_cols[i], .pos = f->using_pos[i]};
        alm_expr *a = NULL, *b = NULL;
        alm_scope one = *sc;
        one.names = NULL; /* not of a query around it */
        one.n_items = 0;
        one.n_rels = 1;
        for (uint32_t r = 0; r < sc->n_rels; r++) {
            alm_expr **side = r < jc->left_rels ? &a : &b;
            one.rels = &sc->rels[r];
            if (*side == NULL)
                ALM_TRY(alm_bind_name(&one, &name, side));
        }
        if (a == NULL || b == NULL) {
            const alm_str rel = sc->rels[a == NULL ? 0 : jc->left_rels].alias;
            return alm_fail(p->cx, ALM_E_NAME, name.pos, "Invalid column: %.*s%s%.*s", (int)rel.len,
                            rel.ptr == NULL ? "" : rel.ptr, rel.len > 0 ? "." : "",
                            (int)name.text.len, name.text.ptr);
        }
        ALM_TRY(add_key(sc, jc, a, b, name.pos));
    }
    return ALM_OK;
}

static alm_status index_columns(alm_scope *sc, uint32_t lo, uint32_t hi, alm_name_set *set)
{
    uint32_t had = ALM_NAME_NONE;
    for (uint32_t r = lo; r < hi; r++)
        for (uint32_t i = 0; i < sc->rels[r].n_cols; i++)
            ALM_TRY(
                alm_name_set_add(sc->p->cx, set, alm_str_of(sc->rels[r].cols[i].name), i, &had));
    return ALM_OK;
}

/* Columns both sides call by the same name. */
static alm_status natural_columns(alm_scope *sc, alm_from *f, uint32_t left_rels)
{
    alm_planner *p = sc->p;
    alm_name_set left = {0};
    uint32_t n = 0;
    ALM_TRY(index_columns(sc, 0, left_rels, &left));
    for (uint32_t r = left_rels; r < sc->n_rels; r++)
        n += sc->rels[r].n_cols;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &f->using_cols));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &f->using_pos));
    f->n_using = 0;
    for (uint32_t r = left_rels; r < sc->n_rels; r++)
        for (uint32_t c = 0; c < sc->rels[r].n_cols; c++) {
            const alm_str name = alm_str_of(sc->rels[r].cols[c].name);
            if (alm_name_set_find(&left, name) == ALM_NAME_NONE)
                continue;
            f->using_pos[f->n_using] = f->join_pos;
            f->using_cols[f->n_using++] = name;
        }
    return ALM_OK;
}

static alm_status hide(alm_planner *p, alm_rel *rel, uint32_t col)
{
    if (rel->hidden == NULL)
        ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, rel->n_cols + 1, &rel->hidden));
    rel->hidden[col] = true;
    return ALM_OK;
}

/* The joined columns are one from here on: that of the side whose rows all stay. FULL has none. */
static alm_status merge_columns(alm_scope *sc, const alm_from *f, uint32_t left_rels)
{
    if (f->join == ALM_JOIN_FULL)
        return ALM_OK;
    const uint32_t lo = f->join == ALM_JOIN_RIGHT ? 0 : left_rels;
    const uint32_t hi = f->join == ALM_JOIN_RIGHT ? left_rels : sc->n_rels;
    for (uint32_t i = 0; i < f->n_using; i++)
        for (uint32_t r = lo; r < hi; r++) {
            ALM_TRY(alm_steps_add(sc->p->cx, 1 + (int64_t)sc->rels[r].n_cols));
            for (uint32_t c = 0; c < sc->rels[r].n_cols; c++)
                if (alm_str_ieq(alm_str_of(sc->rels[r].cols[c].name), f->using_cols[i]))
                    ALM_TRY(hide(sc->p, &sc->rels[r], c));
        }
    return ALM_OK;
}

static bool is_asof(alm_join_kind kind)
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

static alm_status tolerance(alm_planner *p, const alm_ast *ast, alm_join_kind kind, alm_type ts,
                            int64_t *out)
{
    ALM_TRY(alm_bind_duration(p, ast, ts, "TOLERANCE", out));
    if (ast->text.len > 0 && *out == 0 && ast->text.ptr[ast->text.len - 1] == 'n' &&
        ast->text.ptr[0] != '0')
        return ALM_OK; /* less than a tick */
    if (*out == 0)
        return alm_fail(p->cx, ALM_E_ARG, ast->pos, "%s JOIN TOLERANCE must be positive",
                        asof_word(kind));
    return ALM_OK;
}

static alm_status prepare_asof(alm_scope *sc, const alm_from *f, alm_plan **left, alm_plan **right)
{
    alm_planner *p = sc->p;
    if ((*left)->ts_col < 0)
        return alm_fail(p->cx, ALM_E_TYPE, f->join_pos,
                        "left side of time series join has no timestamp");
    if ((*right)->ts_col < 0)
        return alm_fail(p->cx, ALM_E_TYPE, f->join_pos,
                        "right side of time series join has no timestamp");
    if (f->join != ALM_JOIN_HORIZON) /* there the left side has its rows in lanes */
        ALM_TRY(alm_plan_order_by_ts(p, left, (uint32_t)(*left)->ts_col));
    return alm_plan_order_by_ts(p, right, (uint32_t)(*right)->ts_col);
}

static bool is_column(const alm_expr *e, uint32_t col)
{
    return e->kind == ALM_X_COL && e->col == col;
}

/* ON ... AND l.ts >= r.ts: comparing the designated timestamps says which row is taken. */
static alm_status asof_condition(alm_scope *sc, const alm_from *f, const join_cond *jc,
                                 alm_plan *join, bool *settled)
{
    static const struct {
        const char *op, *turned; /* left op right */
        uint8_t kind, direction;
    } rows[] = {{">=", "<=", ALM_JOIN_ASOF, ALM_ASOF_BACKWARD},
                {">", "<", ALM_JOIN_LT, ALM_ASOF_BACKWARD},
                {"<=", ">=", ALM_JOIN_ASOF, ALM_ASOF_FORWARD},
                {"<", ">", ALM_JOIN_LT, ALM_ASOF_FORWARD}};
    if (jc->residual.n != 1 || f->join != ALM_JOIN_ASOF)
        return ALM_OK;
    const alm_expr *e = jc->residual.at[0];
    const uint32_t l = join->join.left_ts, r = join->join.right_ts + join->child[0]->n_cols;
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        const bool plain =
            alm_expr_is_call(e, rows[i].op) && is_column(e->args[0], l) && is_column(e->args[1], r);
        const bool turned = alm_expr_is_call(e, rows[i].turned) && is_column(e->args[0], r) &&
                            is_column(e->args[1], l);
        if (!plain && !turned)
            continue;
        if (f->direction_pos > 0)
            return alm_fail(sc->p->cx, ALM_E_SYNTAX, f->direction_pos,
                            "DIRECTION does not go with a condition on the timestamps");
        join->join.kind = rows[i].kind;
        join->join.direction = rows[i].direction;
        *settled = true;
        return ALM_OK;
    }
    return ALM_OK;
}

static alm_status finish_asof(alm_scope *sc, const alm_from *f, const join_cond *jc, alm_plan *join)
{
    alm_planner *p = sc->p;
    const alm_plan *left = join->child[0], *right = join->child[1];
    bool settled = false;
    join->join.left_ts = (uint32_t)left->ts_col;
    join->join.right_ts = (uint32_t)right->ts_col;
    join->join.direction = f->direction;
    ALM_TRY(asof_condition(sc, f, jc, join, &settled));
    if (jc->residual.n > 0 && !settled) {
        const char *text = NULL;
        ALM_TRY(alm_ast_name(p->cx, jc->bad, &text));
        return alm_fail(p->cx, ALM_E_UNSUPPORTED, jc->bad->pos,
                        "unsupported %s join expression [expr='%s']", asof_word(f->join), text);
    }
    if (f->tolerance != NULL)
        return tolerance(p, f->tolerance, f->join, left->cols[left->ts_col].type,
                         &join->join.tolerance);
    return ALM_OK;
}

static bool of_either_side(void *arg, const alm_expr *col)
{
    const join_cond *jc = arg;
    return col->col < jc->n_left || (col->col >= jc->first && col->col < jc->first + jc->n_right);
}

/*
 * What ON says besides the keys: conditions on the right rows choose them, also the prevailing one; others keep rows out of the
 * aggregates of a left row, which is there all the same.
 */
static alm_status window_join_filters(alm_planner *p, const alm_from *f, const join_cond *jc,
                                      alm_plan **right, alm_exprs *filter)
{
    const uint32_t end = jc->first + jc->n_right;
    alm_exprs own = {0};
    for (uint32_t i = 0; i < jc->residual.n; i++) {
        alm_expr *e = jc->residual.at[i];
        const bool of_left = alm_expr_within(e, 0, jc->n_left);
        const bool of_right = !of_left && alm_expr_within(e, jc->first, end);
        if (of_right) {
            ALM_TRY(alm_expr_shift(p->cx, e, -(int64_t)jc->first, &e));
            ALM_TRY(alm_exprs_add(p->cx, &own, e));
            continue;
        }
        if (!alm_expr_each_col(e, of_either_side, (void *)(uintptr_t)jc))
            return alm_fail(p->cx, ALM_E_UNSUPPORTED, e->pos,
                            "ON cannot use the right sides of two WINDOW JOINs");
        if (!of_left && f->prevailing != 'e')
            return alm_fail(p->cx, ALM_E_UNSUPPORTED, e->pos,
                            "a condition on both sides of a WINDOW JOIN needs EXCLUDE PREVAILING");
        ALM_TRY(alm_exprs_add(p->cx, filter, e));
    }
    return own.n > 0 ? alm_plan_filter(p, right, &own) : ALM_OK;
}

/* The node comes later, when the aggregates over the right side are known. */
static alm_status window_join_item(alm_scope *sc, const alm_from *f, const join_cond *jc,
                                   alm_plan *left, alm_plan *right)
{
    alm_planner *p = sc->p;
    alm_window_join *wj = NULL;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &wj));
    ALM_TRY(window_join_filters(p, f, jc, &right, &wj->filter));
    wj->from = f;
    wj->right = right;
    wj->left_keys = jc->left;
    wj->right_keys = jc->right;
    wj->n_left = left->n_cols;
    wj->first = jc->first;
    wj->before = sc->window_join;
    sc->window_join = wj;
    sc->plan = left;
    return ALM_OK;
}

/* An aggregate has a row for every outer row: where the condition of LEFT JOIN fails it is null. */
static alm_status lateral_or_null(alm_planner *p, alm_plan *project, uint32_t n_left, alm_expr *on,
                                  alm_expr *const *exprs)
{
    alm_expr **list = NULL, *test = NULL;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, project->n_cols + 1, &list));
    ALM_TRY(alm_expr_substitute(p->cx, on, exprs, &test));
    for (uint32_t i = 0; i < project->n_cols; i++) {
        list[i] = project->project.expr[i];
        if (i < n_left)
            continue;
        alm_expr *node = NULL;
        ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &node));
        ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, 3, &node->args));
        *node = (alm_expr){.kind = ALM_X_CASE,
                           .type = list[i]->type,
                           .pos = list[i]->pos,
                           .args = node->args,
                           .n_args = 3};
        node->args[0] = test;
        node->args[1] = list[i];
        ALM_TRY(alm_expr_null(p->cx, list[i]->type, list[i]->pos, &node->args[2]));
        ALM_TRY(alm_expr_again(p->cx, test));
        ALM_TRY(alm_expr_measure(p->cx, node));
        list[i] = node;
    }
    project->project.expr = list;
    return ALM_OK;
}

/* LATERAL (query): the query may name columns of the items before it. */
static alm_status lateral_item(alm_scope *sc, const alm_from *f)
{
    alm_planner *p = sc->p;
    const bool left_join = f->join == ALM_JOIN_LATERAL_LEFT;
    const uint32_t n_left = sc->plan->n_cols;
    alm_plan *inner = NULL;
    alm_expr **values = NULL, **exprs = NULL;
    const char **names = NULL;
    bool correlated = false;
    ALM_TRY(alm_bind_dependent(sc, f->select, &inner, &correlated));
    ALM_TRY(rename_cols(p, f, inner));
    ALM_TRY(check_alias(sc, f->alias, f->join_pos));
    const uint32_t n = inner->n_cols;
    alm_plan_col *const cols = inner->cols;
    if (correlated) {
        const uint8_t kind = left_join ? ALM_JOIN_LEFT : ALM_JOIN_INNER;
        ALM_TRY(alm_join_dependent(sc, kind, f->join_pos, inner, &values));
    } else {
        const uint8_t kind = left_join ? ALM_JOIN_LEFT : ALM_JOIN_CROSS;
        ALM_TRY(alm_plan_join(p, kind, f->join_pos, sc->plan, inner, &sc->plan));
    }
    /* what carried the outer values goes away again */
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n_left + n + 1, &exprs));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n_left + n + 1, &names));
    for (uint32_t i = 0; i < n_left + n; i++) {
        names[i] = i < n_left ? sc->plan->cols[i].name : cols[i - n_left].name;
        if (i >= n_left && values != NULL)
            exprs[i] = values[i - n_left];
        else
            ALM_TRY(alm_expr_col(p->cx, i, sc->plan->cols[i].type, f->pos, &exprs[i]));
    }
    alm_plan *join = sc->plan;
    ALM_TRY(alm_plan_project(p, sc->plan, exprs, names, n_left + n, &sc->plan));
    alm_plan shape = {.cols = cols, .n_cols = n};
    ALM_TRY(alm_scope_add(sc, f->alias, NULL, &shape, n_left));
    if (f->n_using > 0)
        return alm_fail(p->cx, ALM_E_UNSUPPORTED, f->join_pos, "LATERAL does not go with USING");
    if (f->on == NULL)
        return ALM_OK;
    if (!left_join && has_query(f->on)) /* as in WHERE */
        return alm_bind_where(sc, f->on);
    alm_plan *const joined = sc->plan;
    alm_expr *on = NULL;
    alm_exprs conjuncts = {0};
    sc->plan = NULL; /* a subquery would be joined above this join, not below its condition */
    ALM_TRY(alm_bind_expr(sc, f->on, &on));
    sc->plan = joined;
    ALM_TRY(alm_bind_condition(p, &on, f->on->pos));
    ALM_TRY(alm_exprs_split(p->cx, &conjuncts, on));
    if (!left_join)
        return alm_plan_filter(p, &sc->plan, &conjuncts);
    for (uint32_t i = 0; i < conjuncts.n; i++)
        ALM_TRY(alm_expr_substitute(p->cx, conjuncts.at[i], exprs, &conjuncts.at[i]));
    for (uint32_t i = 0; conjuncts.n > 0 && values != NULL && i < n; i++)
        if (values[i]->kind != ALM_X_COL || values[i]->col != n_left + i)
            return lateral_or_null(p, sc->plan, n_left, on, exprs);
    join->join.residual = conjuncts.at;
    join->join.n_residual = conjuncts.n;
    return ALM_OK;
}

/* LEFT JOIN b ON condition with a query in it: LEFT JOIN LATERAL (SELECT * FROM b WHERE condition). */
static alm_status left_join_by_query(alm_scope *sc, const alm_from *f)
{
    alm_ast star = {.kind = ALM_AST_STAR, .text = ALM_STR("*"), .pos = f->pos};
    alm_select_item all = {.expr = &star};
    alm_from item = *f;
    item.join = ALM_JOIN_NONE;
    item.on = NULL;
    alm_select rows = {
        .pos = f->pos, .items = &all, .n_items = 1, .from = &item, .n_from = 1, .where = f->on};
    const alm_str name = f->kind == ALM_FROM_FUNCTION ? f->call->text : f->name;
    const alm_from lateral = {.kind = ALM_FROM_SELECT,
                              .join = ALM_JOIN_LATERAL_LEFT,
                              .select = &rows,
                              .alias = f->alias.len > 0 ? f->alias : name,
                              .alias_pos = f->alias_pos,
                              .pos = f->pos,
                              .join_pos = f->join_pos,
                              .lateral = true};
    return lateral_item(sc, &lateral);
}

static alm_status join_item(alm_scope *sc, const alm_from *f)
{
    alm_planner *p = sc->p;
    alm_str alias = {0};
    const alm_table *table = NULL;
    alm_plan *left = sc->plan, *right = NULL, *join = NULL;
    alm_join_kind kind = f->join == ALM_JOIN_NONE ? ALM_JOIN_CROSS : f->join;
    if (sc->window_join != NULL && kind != ALM_JOIN_WINDOW)
        return alm_fail(p->cx, ALM_E_UNSUPPORTED, f->join_pos,
                        "no join but a WINDOW JOIN can follow a WINDOW JOIN: put it into a "
                        "subquery");
    if (kind == ALM_JOIN_LATERAL_INNER || kind == ALM_JOIN_LATERAL_LEFT)
        return lateral_item(sc, f);
    if (kind == ALM_JOIN_LEFT && f->kind != ALM_FROM_JOINS && has_query(f->on))
        return left_join_by_query(sc, f);
    ALM_TRY(bind_item(sc, f, &alias, &table, &right));
    if (is_asof(kind) || kind == ALM_JOIN_WINDOW)
        ALM_TRY(prepare_asof(sc, f, &left, &right));
    else if (f->tolerance != NULL)
        return alm_fail(p->cx, ALM_E_SYNTAX, f->tolerance->pos,
                        "TOLERANCE is only supported for ASOF and LT joins");
    const uint32_t first = sc->window_join == NULL
                               ? left->n_cols
                               : sc->window_join->first + sc->window_join->right->n_cols;
    const uint32_t left_rels = sc->n_rels;
    ALM_TRY(add_item(sc, f, alias, table, right, first));

    join_cond jc = {.n_left = left->n_cols,
                    .n_right = right->n_cols,
                    .left_rels = left_rels,
                    .first = first,
                    .bad_pos = -1,
                    .left_ts = left->ts_col,
                    .right_ts = right->ts_col < 0 ? -1 : (int64_t)first + right->ts_col};
    jc.inner = kind == ALM_JOIN_INNER;
    sc->plan = NULL; /* no subqueries in ON, but for those put off */
    alm_from natural = *f;
    if (f->natural) {
        ALM_TRY(natural_columns(sc, &natural, left_rels));
        f = &natural;
    }
    if (f->n_using > 0)
        ALM_TRY(using_columns(sc, f, &jc));
    else if (f->on != NULL)
        ALM_TRY(on_condition(sc, f->on, &jc));
    if (kind == ALM_JOIN_WINDOW)
        return window_join_item(sc, f, &jc, left, right);
    const bool horizon = kind == ALM_JOIN_HORIZON;
    ALM_TRY(alm_plan_join(p, (uint8_t)(horizon ? ALM_JOIN_ASOF : kind), f->join_pos, left, right,
                          &join));
    join->join.has_lane = horizon;
    join->join.lane_col = horizon ? sc->lane_col : 0;
    join->join.left_keys = jc.left.at;
    join->join.right_keys = jc.right.at;
    join->join.n_keys = jc.left.n;
    join->join.residual = jc.residual.at;
    join->join.n_residual = jc.residual.n;
    if (is_asof(kind))
        ALM_TRY(finish_asof(sc, f, &jc, join));
    sc->plan = join;
    for (uint32_t i = 0; i < jc.n_queries; i++)
        ALM_TRY(alm_bind_where(sc, jc.query[i]));
    if (f->merge)
        return merge_columns(sc, f, left_rels);
    return ALM_OK;
}

alm_status alm_bind_from(alm_scope *sc, const alm_from *from, uint32_t n_from)
{
    if (n_from == 0)
        return alm_plan_one_row(sc->p, sc->sel != NULL ? sc->sel->pos : 0, &sc->plan);
    for (uint32_t i = 0; i < n_from; i++) {
        if (i > 0) {
            if (from[i].join == ALM_JOIN_HORIZON && from[i - 1].join != ALM_JOIN_HORIZON)
                ALM_TRY(alm_bind_horizon(sc, &from[i], n_from - i));
            ALM_TRY(join_item(sc, &from[i]));
            continue;
        }
        alm_str alias = {0};
        const alm_table *table = NULL;
        ALM_TRY(bind_item(sc, &from[i], &alias, &table, &sc->plan));
        ALM_TRY(add_item(sc, &from[i], alias, table, sc->plan, 0));
    }
    return ALM_OK;
}

static bool of_left(void *arg, const alm_expr *col)
{
    const alm_scope *sc = arg;
    return (col->col & ALM_COL_OUTER) != 0 || col->col < sc->window_join->n_left;
}

alm_status alm_bind_where(alm_scope *sc, const alm_ast *where)
{
    alm_planner *p = sc->p;
    if (where == NULL)
        return ALM_OK;
    alm_expr *e = NULL;
    alm_exprs conjuncts = {0};
    sc->aggs_allowed = ALM_AGG_NO;
    sc->windows_allowed = false;
    sc->conjunct = sc->turns = true;
    ALM_TRY(alm_bind_expr(sc, where, &e));
    sc->conjunct = sc->turns = false;
    ALM_TRY(alm_bind_condition(p, &e, where->pos));
    if (sc->window_join != NULL && !alm_expr_each_col(e, of_left, sc))
        return alm_fail(p->cx, ALM_E_UNSUPPORTED, where->pos,
                        "WHERE of a WINDOW join can use columns of the left side only");
    ALM_TRY(alm_exprs_split(p->cx, &conjuncts, e));
    return alm_plan_filter(p, &sc->plan, &conjuncts);
}
