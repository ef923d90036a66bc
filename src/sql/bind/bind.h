/*
 * bind.h - from the parsed tree to plans: what the files of bind/ share; private to sql/.
 *
 * Names       Queries nest in environments (alm_names) of CTEs, looked up from the inside out; the
 *             parser has put DECLARE variables in already. A scope is one FROM: relations and the
 *             plan that joins them.
 * Stages      SELECT is bound in the columns of its FROM; aggregates and window calls met on the way
 *             are collected in the scope and stand as marked columns (plan/expr.h). select.c then
 *             puts FROM - WHERE - GROUP or SAMPLE - HAVING - WINDOW - PROJECT - SORT - LIMIT on
 *             top of each other and replaces the marks.
 */
#ifndef ALM_SQL_BIND_H
#define ALM_SQL_BIND_H

#include "sql/plan/make.h"
#include "sql/plan/name_set.h"

/* ------------------------------------------------------------------- names */

typedef struct alm_cte_use { /* a CTE that was bound: its plan, or the node that keeps its rows */
    alm_plan *plan, *keep;
} alm_cte_use;

/* A CTE of WITH RECURSIVE while it is bound itself (cte.c). */
typedef struct alm_recursion {
    const alm_cte *cte;
    alm_plan *node; /* RECURSE; its columns as far as they are known */
    bool open;      /* may be named: not in the first query */
    uint32_t used;
} alm_recursion;

typedef struct alm_names {
    const struct alm_names *outer;
    const alm_cte *ctes; /* the first n_ctes are visible */
    uint32_t n_ctes;
    const alm_name_set *by_name; /* of all of them, those that are not visible too */
    alm_cte_use *uses;           /* of ctes */
    bool recursive;              /* WITH RECURSIVE */
    alm_recursion *recursion;    /* `defining` of WITH RECURSIVE, or NULL */
    const alm_cte *defining; /* inside the query of this one, which does not see itself; or NULL */
    struct alm_scope *scope; /* the query around this one, whose columns may be named; or NULL */
} alm_names;

/* ------------------------------------------------------------------- scopes */

typedef struct alm_rel {
    alm_str alias;
    const alm_table
        *scanned; /* its columns are those of this table, whatever they are called; or NULL */
    const alm_table *table; /* its columns are the table's, in order; NULL otherwise */
    const alm_plan_col *cols;
    uint32_t n_cols;
    uint32_t first; /* number of its first column in the scope's plan */
    uint32_t lookups;
    uint32_t *slots; /* names of a wide relation: 1 + column, 0 free; made when it pays */
    uint32_t mask;
    bool *hidden;         /* n_cols: not in stars, only by qualified name; or NULL */
    bool function;        /* a call: its alias names its one column, too */
    const char *relation; /* of a catalogue, by its name for regclass; NULL otherwise */
} alm_rel;

typedef struct alm_item { /* one column of the select list, stars expanded */
    alm_str name;         /* as it will show; empty until named */
    alm_str alias;        /* as written, or empty */
    const alm_ast *ast;   /* NULL: from a star */
    alm_expr *expr;
    bool star;
    int32_t pos;
} alm_item;

/* Columns [first, end) of the scope's plan that follow from the expressions `outer`: a subquery. */
typedef struct alm_dependent {
    uint32_t first, end;
    alm_exprs outer;
} alm_dependent;

typedef struct alm_scalar {
    alm_str text;
    alm_expr *value;
} alm_scalar;

/* Computed behind GROUP BY: a window call, or whether a row is in a query (x IN (SELECT ...)) where x
 * has aggregates or window calls in it. */
typedef struct alm_late {
    alm_window_call call; /* of a query: args is x */
    alm_plan *query;      /* NULL: a window call */
    bool negated;         /* NOT IN */
    uint32_t level; /* 0: before HAVING; else behind those of a lower level, which it may read */
} alm_late;

typedef enum alm_agg_place { ALM_AGG_NO, ALM_AGG_YES, ALM_AGG_INSIDE } alm_agg_place;

typedef struct alm_scope {
    alm_planner *p;
    const alm_names *names;
    const alm_select *sel;
    alm_rel *rels;
    uint32_t n_rels, cap_rels;
    alm_plan *plan; /* FROM as far as it is built */
    /* what may stand in the expression that is bound now */
    alm_agg_place aggs_allowed;
    bool windows_allowed;
    /* calls found */
    alm_agg_call *aggs;
    uint32_t n_aggs, cap_aggs;
    alm_hashes agg_hashes;   /* of the calls: whether one is there already */
    alm_sort_key *agg_order; /* ORDER BY inside aggregates: one for all of them */
    uint32_t n_agg_order;
    uint64_t ordered_aggs; /* bit per aggregate that has it */
    bool share_aggs;       /* equal aggregates are one (not with different FILLs) */
    alm_expr *agg_filter;  /* PIVOT: which rows the aggregates bound now take; or NULL */
    alm_late *lates;
    uint32_t n_lates, cap_lates;
    /* select list, for names in ORDER BY, GROUP BY and HAVING; NULL while it is bound itself */
    const alm_item *items;
    uint32_t n_items;
    /* in HAVING, QUALIFY, OVER and grouping(): a name that GROUP BY takes from the list is that item */
    bool by_keys;
    struct alm_scalar *scalars; /* subqueries that stand for a value, if one is written again */
    uint32_t n_scalars, cap_scalars;
    /* columns of subqueries that do not look outside: the same in all rows, so free of GROUP BY */
    alm_exprs constants;
    alm_dependent
        *dependents; /* the same in all rows of a group whose keys are what they follow from */
    uint32_t n_dependents, cap_dependents;
    /* WINDOW JOIN, the last item of FROM: `plan` is its left side until the select list is bound */
    const struct alm_window_join *window_join;
    alm_rel *joined; /* of the joined items in brackets bound last */
    uint32_t n_joined;
    uint32_t lane_col; /* HORIZON JOIN: which column of `plan` holds the offset */
    /* IN (SELECT ...) as a conjunct: SEMI and ANTI joins are possible */
    bool conjunct;
    /* among the ANDs, ORs and NOTs of WHERE, where NOT turns comparisons around */
    bool turns;
} alm_scope;

/* -------------------------------------------------------------- expressions */

/* What a parameter beside expr is: its type, of the constant 'x' any text, although that is a CHAR. */
alm_type alm_type_beside(const alm_expr *expr);

ALM_NODISCARD alm_status alm_bind_expr(alm_scope *scope, const alm_ast *ast, alm_expr **out);
/* literal.c */
ALM_NODISCARD alm_status alm_bind_geohash(alm_planner *planner, const alm_ast *ast, alm_expr **out);
ALM_NODISCARD alm_status alm_bind_number(alm_planner *planner, const alm_ast *ast, alm_expr **out);
/* A number cast to a DECIMAL, from the digits that are written and rounded half up to its scale. *out is NULL where `ast` is
 * something else, or does not fit. */
ALM_NODISCARD alm_status alm_bind_written_decimal(alm_planner *planner, const alm_ast *ast,
                                                  alm_type target, alm_expr **out);
/* A number that is compared with a DECIMAL: exactly what is written, where it would be a DOUBLE. */
ALM_NODISCARD alm_status alm_bind_beside_decimal(alm_planner *planner, const alm_expr *with,
                                                 const alm_ast *ast, alm_expr **expr);
ALM_NODISCARD alm_status alm_bind_string(alm_planner *planner, alm_str text, int32_t pos,
                                         alm_expr **out);
ALM_NODISCARD alm_status alm_bind_param(alm_planner *planner, const alm_ast *ast, alm_expr **out);
/* name.c; *out NULL: there is no such column (no error is set) */
ALM_NODISCARD alm_status alm_bind_name(alm_scope *scope, const alm_ast *ast, alm_expr **out);
/* What a plain name of GROUP BY is if the list has an item of that name: an alias goes before the columns of
 * FROM, and so does a column of one relation that the list names. *out NULL: there is none. */
ALM_NODISCARD alm_status alm_bind_listed(alm_scope *scope, const alm_ast *ast, alm_expr **out);
/* An expression that is computed from the groups, where names are those of GROUP BY (alm_scope.by_keys). */
ALM_NODISCARD alm_status alm_bind_by_keys(alm_scope *scope, const alm_ast *ast, alm_expr **out);
/* The error for a column there is not. */
ALM_NODISCARD alm_status alm_no_name(alm_scope *scope, const alm_ast *ast);
/* There is no such table; with what to write instead, where other clients know the word. */
ALM_NODISCARD alm_status alm_hint_no_table(alm_planner *planner, const alm_from *from);
/* predicate.c */
/* A condition: a parameter of unknown type and a text that reads as a boolean (t) become one; what is no
 * boolean then is refused at pos. */
ALM_NODISCARD alm_status alm_bind_condition(alm_planner *planner, alm_expr **expr, int32_t pos);
ALM_NODISCARD alm_status alm_bind_compare(alm_scope *scope, const char *op, int32_t pos,
                                          alm_expr *a, alm_expr *b, alm_expr **out);
ALM_NODISCARD alm_status alm_bind_in(alm_scope *scope, const alm_ast *ast, alm_expr **out);
/* ARRAY[...] and x[...] */
ALM_NODISCARD alm_status alm_bind_array(alm_scope *scope, const alm_ast *ast, alm_expr **out);
ALM_NODISCARD alm_status alm_bind_index(alm_scope *scope, const alm_ast *ast, alm_expr **out);
ALM_NODISCARD alm_status alm_bind_between(alm_scope *scope, const alm_ast *ast, alm_expr **out);
/* x IN (value), x IN (values ...), x BETWEEN lo AND hi of bound operands; `args` may be changed. */
ALM_NODISCARD alm_status alm_bind_in_value(alm_scope *scope, alm_expr *expr, alm_expr *value,
                                           int32_t pos, alm_expr **out);
ALM_NODISCARD alm_status alm_bind_in_values(alm_scope *scope, alm_expr **args, uint32_t n_args,
                                            int32_t pos, alm_expr **out);
ALM_NODISCARD alm_status alm_bind_within(alm_scope *scope, alm_expr *args[3], int32_t pos,
                                         alm_expr **out);
/* row.c: (a, b) op (c, d), and (a, b) IN ((c, d), ...) */
ALM_NODISCARD alm_status alm_bind_row_compare(alm_scope *scope, alm_str op, int32_t pos,
                                              const alm_ast *a, const alm_ast *b, alm_expr **out);
ALM_NODISCARD alm_status alm_bind_row(alm_scope *scope, const alm_ast *ast, alm_expr **out);
/* IS [NOT] NULL of a row */
ALM_NODISCARD alm_status alm_bind_row_is_null(alm_scope *scope, const alm_ast *ast, alm_expr **out);
ALM_NODISCARD alm_status alm_bind_row_in(alm_scope *scope, const alm_ast *ast, alm_expr **out);
/* call.c */
ALM_NODISCARD alm_status alm_bind_call(alm_scope *scope, const alm_ast *ast, alm_expr **out);
/* case.c */
ALM_NODISCARD alm_status alm_bind_case(alm_scope *scope, const alm_ast *ast, alm_expr **out);
/* args: when, then, when, then ... [else]; results are cast to the type where they meet. */
ALM_NODISCARD alm_status alm_expr_case(alm_planner *planner, int32_t pos, alm_expr **args,
                                       uint32_t n_args, alm_expr **out);
ALM_NODISCARD alm_status alm_bind_coalesce(alm_scope *scope, const alm_ast *ast, alm_expr **out);
ALM_NODISCARD alm_status alm_bind_nullif(alm_scope *scope, const alm_ast *ast, alm_expr **out);
/* window.c: the call's function is looked up among window functions and aggregates */
ALM_NODISCARD alm_status alm_bind_window(alm_scope *scope, const alm_ast *ast, alm_expr **out);
/* Notes what is computed behind the groups; *out is the column that stands for it until then. */
ALM_NODISCARD alm_status alm_late_add(alm_scope *scope, const alm_late *late, alm_expr **out);
/* Puts those of level 0, or of all others, on top of the scope's plan; values[i] is what late i is there. */
ALM_NODISCARD alm_status alm_late_nodes(alm_scope *scope, bool first, alm_expr **values);
/* What stands for late calls becomes their values, as far as there are any. */
ALM_NODISCARD alm_status alm_late_replace(alm_scope *scope, alm_expr *const *values,
                                          alm_expr **expr);
/* Is it, or does it follow from, a window call? Queries over aggregates are none. */
bool alm_has_window(const alm_scope *scope, const alm_expr *expr);
/* Calls visit for all expressions of a late call. */
ALM_NODISCARD alm_status alm_late_exprs(alm_late *late,
                                        alm_status (*visit)(void *arg, alm_expr **e), void *arg);
/* subquery.c: joins a subquery to the scope's plan and gives the column that tells */
ALM_NODISCARD alm_status alm_bind_scalar_subquery(alm_scope *scope, const alm_ast *ast,
                                                  alm_expr **out);
ALM_NODISCARD alm_status alm_bind_exists(alm_scope *scope, const alm_ast *ast, alm_expr **out);
/* A cast to regclass, oid, name and such (object.c); *out = NULL: another type. */
alm_status alm_bind_list_literal(alm_scope *scope, const alm_ast *cast, alm_expr **out);
alm_str alm_type_without_schema(alm_str name); /* int4 of pg_catalog.int4 */
/* Behind a cast: cut to the characters of varchar(n), rounded to the digits of timestamp(n). */
ALM_NODISCARD alm_status alm_bind_typmod(alm_planner *planner, const alm_ast *cast,
                                         alm_expr **expr);
ALM_NODISCARD alm_status alm_bind_object_cast(alm_scope *scope, const alm_ast *ast, alm_expr *expr,
                                              alm_expr **out);
/* A number of digits, a point and an exponent alone (1.5, 2e3; not 1.5f, 0x1f, 1_000): a DECIMAL takes it as
 * it is written (insert.c). */
bool alm_exact_literal(const alm_ast *ast);
/* How a value becomes one of its column. Drivers write bytea as '\\x00ff' in simple queries: of other texts nobody knows
 * that they are bytes. */
alm_cast_mode alm_assign_mode(const alm_ast *ast, alm_type target);
/* x op ANY(list), the list a text {a,b} or an array (list.c). *x as it was bound; *empty: has the list no element? (not
 * asked where it is NULL) */
ALM_NODISCARD alm_status alm_bind_any_list(alm_scope *scope, const alm_ast *ast, const char *op,
                                           alm_expr **expr, alm_expr **empty, alm_expr **out);
/* The type of a parameter that is compared with values of this type as a list. */
alm_type alm_list_type_of(alm_type element);
/* args[0] op any of the n - 1 values behind it (predicate.c). */
ALM_NODISCARD alm_status alm_bind_any_value(alm_scope *scope, const char *op, int32_t pos,
                                            alm_expr **args, uint32_t n, alm_expr **out);
/* ARRAY(select ...) as a text {a,b} (object.c). */
alm_status alm_bind_array_of(alm_scope *scope, const alm_ast *ast, alm_expr **out);
ALM_NODISCARD alm_status alm_bind_in_subquery(alm_scope *scope, const alm_ast *ast, alm_expr **out);
/* The answer of x IN (query) with the query joined to the plan as it is now. */
ALM_NODISCARD alm_status alm_join_in(alm_scope *scope, const alm_late *late, alm_expr **out);
ALM_NODISCARD alm_status alm_bind_quantified(alm_scope *scope, const alm_ast *ast, alm_expr **out);
/* correlate.c: a query over columns of the scope around it, made independent of it.
 * open: outer columns of level 1 become ALM_COL_DEP, others come one level nearer; was there any?
 * Then either of:
 * decorrelate: *plan gets one more column at the end for each of `outer` (expressions over the
 *   scope's plan); its rows belong to the outer rows for which these are equal, null to null.
 * decorrelate_semi: keys and residual of a SEMI or ANTI join of the scope's plan with *plan. */
ALM_NODISCARD alm_status alm_correlate_open(alm_planner *planner, alm_plan *plan, bool *found);
ALM_NODISCARD alm_status alm_decorrelate(alm_scope *scope, alm_plan **plan, alm_exprs *outer);
typedef struct alm_semi {
    alm_exprs left, right, residual;
} alm_semi;
ALM_NODISCARD alm_status alm_decorrelate_semi(alm_scope *scope, alm_plan **plan, alm_semi *semi);
/* The same for a query whose columns are compared too: exprs become what they are over *plan. *done
 * false: it has not the form (projections over a filter), nothing has changed. */
ALM_NODISCARD alm_status alm_decorrelate_in(alm_scope *scope, alm_plan **plan, alm_semi *semi,
                                            alm_expr ***exprs, bool *done);
/* The plan with one row or more per outer row, joined; values[i] is its column i over scope->plan. */
ALM_NODISCARD alm_status alm_join_dependent(alm_scope *scope, uint8_t kind, int32_t pos,
                                            alm_plan *inner, alm_expr ***values);
/* Columns of the join from `first` on are the same wherever the expressions are. */
ALM_NODISCARD alm_status alm_note_dependent(alm_scope *scope, uint32_t first, const alm_plan *join,
                                            const alm_exprs *outer);
/* The same for a query that is a value: a second row for an outer row is an error. */
ALM_NODISCARD alm_status alm_join_single(alm_scope *scope, int32_t pos, alm_plan *inner,
                                         alm_expr ***values);
/* constant.c: the value of a query, found out while the statement is planned: where there are no
 * rows around it (LIMIT, VALUES, arguments of table functions ...). */
/* A query that runs while the statement is planned, with a planner of its own: it shares nothing with the statement's plan, which
 * may be one that is only shown. */
ALM_NODISCARD alm_status alm_bind_apart(alm_scope *scope, alm_planner *own, alm_select *sel,
                                        int32_t pos, alm_plan **plan);
ALM_NODISCARD alm_status alm_constant_subquery(alm_scope *scope, const alm_ast *ast,
                                               alm_expr **out);
ALM_NODISCARD alm_status alm_constant_exists(alm_scope *scope, const alm_ast *ast, alm_expr **out);
/* A query in the scope's environment that may name the scope's columns. */
ALM_NODISCARD alm_status alm_bind_dependent(alm_scope *scope, const alm_select *sel, alm_plan **out,
                                            bool *correlated);
/* A statement that is described: parameters have no values yet, nothing may be computed of them. */
bool alm_describing(const alm_planner *planner);
/* Expression without columns, folded to a constant; `what` names the place in the error. */
ALM_NODISCARD alm_status alm_bind_const(alm_planner *planner, const alm_names *names,
                                        const alm_ast *ast, const char *what, alm_expr **out);
/* The same for a value of a type, NONE: of its own. An INT that $1 * 2 may exceed is a LONG for others. */
ALM_NODISCARD alm_status alm_bind_const_for(alm_planner *planner, const alm_names *names,
                                            const alm_ast *ast, const char *what, alm_type target,
                                            alm_expr **out);
/* A text or number or time as ticks of the type; "Invalid date [str=...]". */
ALM_NODISCARD alm_status alm_bind_time(alm_planner *planner, alm_expr *expr, alm_type target,
                                       bool equality, alm_expr **out);

/* Times beside constants that are finer, or beyond what their type holds (instant.c). */
struct alm_time_range;
/* a op b; *out NULL: neither is a time that meets such a constant. */
ALM_NODISCARD alm_status alm_bind_time_compare(alm_planner *planner, const char *op, int32_t pos,
                                               alm_expr *a, alm_expr *b, alm_expr **out);
/* The times of the type of x from lo to hi, whichever comes first; *is false: one is no constant time. */
ALM_NODISCARD alm_status alm_bind_time_range(alm_planner *planner, const alm_expr *expr,
                                             const alm_expr *lo, const alm_expr *hi, bool *is,
                                             struct alm_time_range *out);
/* A constant time or text as a time of a type. *is false: it is neither; *exact false: it is none of that type. */
ALM_NODISCARD alm_status alm_bind_exact_time(alm_planner *planner, alm_expr *expr, alm_type target,
                                             bool *is, bool *exact, alm_expr **out);
/* 'infinity'::timestamp, '-infinity'::date: the last and the first time of the type, as a bound. *out NULL: it is none. */
ALM_NODISCARD alm_status alm_bind_infinity(alm_planner *planner, const alm_expr *expr,
                                           alm_type target, alm_expr **out);
/* A constant that such a cast makes: no value of a row. */
bool alm_is_infinity(const alm_expr *expr);
/* Rows of a query that are stored: times of that kind are refused in them. designated: the column that becomes the designated
 * timestamp, -1: none; of that the storage says which times it takes. */
ALM_NODISCARD alm_status alm_plan_finite_times(alm_planner *planner, int32_t designated,
                                               alm_plan **plan);

/* ------------------------------------------------------------------- queries */

ALM_NODISCARD alm_status alm_bind_query(alm_planner *planner, const alm_names *names,
                                        const alm_select *sel, alm_plan **out);
ALM_NODISCARD alm_status alm_bind_setop(alm_planner *planner, const alm_names *names,
                                        const alm_select *sel, alm_plan **out);
/* Makes the environment of a query's WITH: `own` is filled, and names then points to it. */
ALM_NODISCARD alm_status alm_names_with(alm_planner *planner, const alm_select *sel, alm_names *own,
                                        const alm_names **names);
/* cte.c: the CTE a name of FROM stands for; *out NULL: none. */
ALM_NODISCARD alm_status alm_bind_cte(alm_planner *planner, const alm_names *names, alm_str name,
                                      int32_t pos, alm_plan **out);
/* FROM clause into the scope: relations and plan. */
ALM_NODISCARD alm_status alm_bind_from(alm_scope *scope, const alm_from *from, uint32_t n_from);
ALM_NODISCARD alm_status alm_scope_add(alm_scope *scope, alm_str alias, const alm_table *table,
                                       const alm_plan *plan, uint32_t first);
/* WHERE onto the scope's plan. */
ALM_NODISCARD alm_status alm_bind_where(alm_scope *scope, const alm_ast *where);
/* ORDER BY over a plan's result columns, LIMIT: for set operations. */
ALM_NODISCARD alm_status alm_bind_limit(alm_planner *planner, const alm_names *names,
                                        const alm_select *sel, alm_plan **plan);
/* FETCH n ROWS WITH TIES: leaves the rows whose rank by the keys is n at the most. */
ALM_NODISCARD alm_status alm_bind_ties(alm_planner *planner, const alm_names *names,
                                       const alm_select *sel, const alm_sort_key *keys,
                                       uint32_t n_keys, alm_plan **plan);
ALM_NODISCARD alm_status alm_bind_order_result(alm_planner *planner, const alm_names *names,
                                               const alm_select *sel, alm_plan **plan);
alm_status alm_sort_key_make(alm_planner *planner, alm_expr *expr, const alm_ast_order *item,
                             alm_sort_key *out);
/* Errors for what orders nothing: ORDER BY 'x', where a name was meant; ORDER BY 1.5, NULL, too. */
ALM_NODISCARD alm_status alm_order_refuse_text(alm_planner *planner, const alm_ast *ast);
ALM_NODISCARD alm_status alm_order_refuse_constant(alm_planner *planner, const alm_ast *ast);
/* The error for types that do not meet in a set operation. */
alm_status alm_no_union(alm_planner *planner, int32_t pos, const char *column, alm_type from,
                        alm_type target);
/* view.c: the query of a view in the place of its name. */
ALM_NODISCARD alm_status alm_bind_view(alm_planner *planner, const alm_table *view, int32_t pos,
                                       alm_plan **out);
/* The variables of a DECLARE as views inside the query may take them. */
ALM_NODISCARD alm_status alm_declare_around(alm_planner *planner, const alm_select *sel);
/*
 * returning.c. Behind `n` expressions over the scope's plan those of RETURNING.
 */
ALM_NODISCARD alm_status alm_bind_returning(alm_scope *scope, const alm_select *returning,
                                            alm_expr **exprs, const char **names, uint32_t n,
                                            alm_expr ***all, const char ***all_names,
                                            uint32_t *n_all);
/* The plan of an INSERT gives the columns of the table. *queries: there are queries in it, too. */
ALM_NODISCARD alm_status alm_insert_returning(alm_planner *planner, const alm_stmt *stmt,
                                              const alm_table *table, alm_plan **plan,
                                              bool *queries);
/* items.c */
ALM_NODISCARD alm_status alm_bind_items(alm_scope *scope, alm_item **items, uint32_t *n_items);
/* window_join.c */
typedef struct alm_window_join alm_window_join;
struct alm_window_join {
    const alm_from *from;
    const alm_window_join *before; /* of the same FROM; they share the left side */
    alm_plan *right;
    alm_exprs left_keys, right_keys;
    alm_exprs filter; /* of ON: over columns of the scope, on the left row or on both */
    uint32_t n_left;
    uint32_t first; /* column of the scope where the right side begins */
};
struct alm_stage;
ALM_NODISCARD alm_status alm_bind_window_join(alm_scope *scope, struct alm_stage *stage);
/* horizon.c: offsets of the HORIZON JOINs that begin with `from` onto the plan of the scope */
ALM_NODISCARD alm_status alm_bind_horizon(alm_scope *scope, const alm_from *from, uint32_t n_from);
/* A NUMBER like 5s in ticks of the timestamp; `what` for the error. */
ALM_NODISCARD alm_status alm_bind_duration(alm_planner *planner, const alm_ast *ast,
                                           alm_type ts_type, const char *what, int64_t *out);
/* Offset of a frame, ticks of the order column. */
ALM_NODISCARD alm_status alm_frame_offset(alm_scope *scope, const alm_ast *ast, char unit,
                                          alm_type order, int64_t *out);
/* group.c: GROUP BY over the scope's plan, marks in items, having and order replaced */
typedef struct alm_stage { /* what is bound of a SELECT, before and after grouping */
    alm_item *items;
    uint32_t n_items;
    alm_expr *having, *qualify;
    alm_sort_key *order; /* expr NULL: position is in order_item */
    int32_t *order_item; /* item number, -1: expr */
    uint32_t n_order;
    alm_expr **on; /* DISTINCT ON */
    uint32_t n_on;
} alm_stage;
ALM_NODISCARD alm_status alm_bind_group(alm_scope *scope, alm_stage *stage);
/* pivot.c: the scope's plan becomes the pivoted one, its only relation */
ALM_NODISCARD alm_status alm_bind_pivot(alm_scope *scope);
/* unpivot.c: the same for UNPIVOT. */
ALM_NODISCARD alm_status alm_bind_unpivot(alm_scope *scope);
/* Sorts the scope's plan where aggregates have ORDER BY. */
ALM_NODISCARD alm_status alm_bind_agg_order(alm_scope *scope);
/* sample.c */
ALM_NODISCARD alm_status alm_bind_sample(alm_scope *scope, alm_stage *stage);
/* Marks of aggregates and group keys in an expression replaced by columns of the GROUP. */
typedef struct alm_group_map {
    alm_scope *sc;
    alm_exprs keys;
    alm_exprs wide;     /* for each key that is an INT which may exceed it: as a LONG; else NULL */
    alm_hashes hashes;  /* of keys, once they are many: 2 k that of key k, 2 k + 1 that of wide k */
    uint32_t first_key; /* number of the first key in the result: 0, or 1 behind a bucket */
    uint32_t bucket;    /* SAMPLE BY: column of the input that is the bucket, else UINT32_MAX */
    bool strict;        /* explicit GROUP BY: other columns are errors; else they become keys */
    bool collecting;
} alm_group_map;
ALM_NODISCARD alm_status alm_group_collect(alm_group_map *map, alm_expr *expr);
ALM_NODISCARD alm_status alm_group_replace(alm_group_map *map, alm_expr **expr);
ALM_NODISCARD alm_status alm_stage_replace(alm_group_map *map, alm_stage *stage);

/* ------------------------------------------------------------------ templates */

/* Tests of parameters whose values come later (template.c). */
typedef enum alm_open_kind {
    ALM_OPEN_COMPARE,
    ALM_OPEN_IN_VALUE,
    ALM_OPEN_IN,
    ALM_OPEN_BETWEEN
} alm_open_kind;
/* Is one of them a parameter of a template? */
bool alm_is_open(const alm_planner *planner, alm_expr *const *args, uint32_t n);
/* Does it have an open test, or a parameter without a value? */
bool alm_has_open(const alm_expr *expr);
/* op: of a comparison; lives as long as the plan. */
ALM_NODISCARD alm_status alm_open_test(alm_planner *planner, alm_open_kind kind, const char *op,
                                       int32_t pos, alm_expr *const *args, uint32_t n_args,
                                       alm_expr **out);
/* The plan stands: it needs its snapshot no more, or is of no use (uses->once). */
ALM_NODISCARD alm_status alm_template_finish(alm_planner *planner, alm_plan *plan);

#endif
