/*
 * expr.h - making and reshaping bound expressions; private to sql/.
 *
 * Ownership   Nodes live in the query arena and may be shared by several parents: nothing changes a
 *             node that somebody else may see, rewriting copies.
 * Columns     While a SELECT is bound, aggregates and window calls are columns with a mark
 *             (ALM_COL_AGG, ALM_COL_WIN) and a number; the marks are gone when its plan stands.
 */
#ifndef ALM_SQL_EXPR_H
#define ALM_SQL_EXPR_H

#include "base/hashes.h"
#include "sql/sql.h"

enum {
    ALM_COL_AGG = 1u << 30, /* aggregate number */
    ALM_COL_WIN = 1u << 29, /* number of a late call: windows, mostly (alm_late) */
    ALM_COL_NUMBER = ALM_COL_WIN - 1,
    /* column of an enclosing query, ALM_OUTER_LEVEL levels out; gone when the query around it stands
     * (bind/correlate.c) */
    ALM_COL_OUTER = 1u << 28,
    ALM_OUTER_SHIFT = 24, /* levels in bits 24 to 26 */
    ALM_OUTER_LEVELS = 7,
    ALM_COL_DEP = 1u << 27, /* the same while it is joined: column of the query around it */
    ALM_OUTER_NUMBER = (1u << ALM_OUTER_SHIFT) - 1
};

typedef struct alm_read alm_read; /* a table that the statement reads (access.c) */

/* What the code that makes plans carries around. One thread. */
typedef struct alm_planner {
    alm_ctx *cx;
    const struct alm_view_level *views;   /* the views whose queries are bound now (bind/view.c) */
    const struct alm_override *overrides; /* DECLAREs around, for views */
    const struct alm_override
        *foreign;     /* of them: from here on by who may not read what the view may */
    uint32_t n_views; /* bound so far */
    const alm_plan_env *env;
    alm_read *reads;     /* access.c */
    const char *view;    /* whose query is bound now; NULL: the statement itself */
    uint32_t depth;      /* of nested expressions and queries, against stack overflow */
    uint32_t outer_refs; /* columns of enclosing queries met so far */
    alm_plan **kept;     /* MATERIALISE nodes, inner ones before those that use them */
    uint32_t n_kept, cap_kept;
} alm_planner;

enum { ALM_DEPTH_MAX = 2000, ALM_PLAN_DEPTH_MAX = 4000 };

/* The plan is for this execution alone (alm_plan_uses.once). */
void alm_use_once(const alm_planner *planner);

/* As EXPLAIN calls the operator (explain.c). */
const char *alm_plan_op_name(alm_plan_op op);
/* Behind that name: what the node does; an expression over the columns of a node. */
ALM_NODISCARD alm_status alm_explain_detail(alm_ctx *cx, const alm_plan *plan, const char **out);
ALM_NODISCARD alm_status alm_explain_expr(alm_ctx *cx, const alm_expr *expr, const alm_plan *child,
                                          const char **out);

/* ------------------------------------------------------------------ leaves */

ALM_NODISCARD alm_status alm_expr_const(alm_ctx *cx, const alm_vec *value, int32_t pos,
                                        alm_expr **out);
ALM_NODISCARD alm_status alm_expr_null(alm_ctx *cx, alm_type type, int32_t pos, alm_expr **out);
ALM_NODISCARD alm_status alm_expr_bool(alm_ctx *cx, bool value, int32_t pos, alm_expr **out);
/* Any type with a fixed width of 1 to 8 bytes; `bits` little-endian. */
ALM_NODISCARD alm_status alm_expr_bits(alm_ctx *cx, alm_type type, uint64_t bits, int32_t pos,
                                       alm_expr **out);
ALM_NODISCARD alm_status alm_expr_text(alm_ctx *cx, alm_type type, alm_str text, int32_t pos,
                                       alm_expr **out);
ALM_NODISCARD alm_status alm_expr_col(alm_ctx *cx, uint32_t col, alm_type type, int32_t pos,
                                      alm_expr **out);

bool alm_expr_is_null(const alm_expr *expr); /* a constant null, typed or not */
bool alm_expr_is_true(const alm_expr *expr);
bool alm_expr_is_false(const alm_expr *expr);
/* A constant of an integer or time type that is not null. */
bool alm_expr_int(const alm_expr *expr, int64_t *out);
/* A constant text (CHAR too) that is not null; memory of CHAR from the arena. */
ALM_NODISCARD alm_status alm_expr_string(alm_ctx *cx, const alm_expr *expr, bool *is_text,
                                         alm_str *out);
/* Is it a call of the registry's scalar of that name? */
bool alm_expr_is_call(const alm_expr *expr, const char *name);

/* ------------------------------------------------------------------- calls */

/* Resolves name over the arguments, casts them, folds if all are constant. args may be changed. */
ALM_NODISCARD alm_status alm_expr_call(alm_planner *planner, const char *name, int32_t pos,
                                       alm_expr **args, uint32_t n, alm_expr **out);
ALM_NODISCARD alm_status alm_expr_call_str(alm_planner *planner, alm_str name, int32_t pos,
                                           alm_expr **args, uint32_t n, alm_expr **out);
/* op of two values, false (`!=` true) in the rows where one is a column's value that does not convert to the type of the
 * comparison. args may be changed. */
ALM_NODISCARD alm_status alm_expr_compare(alm_planner *planner, const char *op, int32_t pos,
                                          alm_expr **args, alm_expr **out);
/* The arguments of a resolved call become what it asks for; room for n in args. */
ALM_NODISCARD alm_status alm_args_resolve(alm_planner *planner, alm_str name, alm_fn_kind kind,
                                          int32_t pos, alm_expr **args, uint32_t n_args,
                                          alm_resolved *out);
/* Replaces a call of constants by its value; anything else is left alone. */
ALM_NODISCARD alm_status alm_expr_fold(alm_planner *planner, alm_expr **expr);

/* IMPLICIT refuses constants that do not fit, and gives null for such rows of a column. WHOLE refuses these, too: an aggregate
 * leaves out no row in silence. */
typedef enum alm_cast_mode {
    ALM_CAST_EXPLICIT,
    ALM_CAST_IMPLICIT,
    ALM_CAST_WHOLE,
    ALM_CAST_ASSIGN
} alm_cast_mode;
/* *out = expr in another type. NULL: *out is NULL and no error is set when there is no such cast. */
ALM_NODISCARD alm_status alm_expr_try_cast(alm_planner *planner, alm_expr *expr, alm_type target,
                                           alm_cast_mode mode, alm_expr **out);
/* The same, "inconvertible types: A -> B" when there is none. */
ALM_NODISCARD alm_status alm_expr_cast(alm_planner *planner, alm_expr *expr, alm_type target,
                                       alm_cast_mode mode, alm_expr **out);
/* A parameter of unknown type takes this one (describing). Others are left alone. */
ALM_NODISCARD alm_status alm_param_infer(alm_planner *planner, alm_expr **expr, alm_type type);
static inline bool alm_expr_unknown(const alm_expr *expr)
{
    return expr->kind == ALM_X_PARAM && expr->type.id == ALM_T_NONE;
}

/* ------------------------------------------------------------------- range (widen.c) */

/* May this INT be null because 32 bits are too few for its arithmetic? */
bool alm_expr_may_exceed(const alm_expr *expr);
/* An INT as a LONG, its arithmetic in 64 bits. */
ALM_NODISCARD alm_status alm_expr_widen(alm_planner *planner, alm_expr *expr, alm_expr **out);
/* Integers that are compared: all become LONG if one of them may exceed INT. */
ALM_NODISCARD alm_status alm_widen_ints(alm_planner *planner, alm_expr **args, uint32_t n_args);
/* The test of coalesce(x, ...) for a result that is wider than INT. */
ALM_NODISCARD alm_status alm_widen_null_test(alm_planner *planner, alm_expr **test);
/* alm_expr_fold of a call that was just made: a constant is an INT if that holds it, else a LONG. */
ALM_NODISCARD alm_status alm_fold_arithmetic(alm_planner *planner, alm_expr **expr);
/* Integer arithmetic fails in the rows that pass `filter` (NULL: all) where it would be null for its range. */
ALM_NODISCARD alm_status alm_expr_check_range(alm_planner *planner, alm_expr *filter,
                                              alm_expr **expr);

ALM_NODISCARD alm_status alm_expr_and(alm_planner *planner, alm_expr *a, alm_expr *b,
                                      alm_expr **out);
/* NOT as WHERE has it: comparisons turn around (null > 5 and its opposite are both false). */
ALM_NODISCARD alm_status alm_expr_not(alm_planner *planner, alm_expr *expr, int32_t pos,
                                      alm_expr **out);

/* IS [NOT] NULL. */
ALM_NODISCARD alm_status alm_expr_null_test(alm_planner *planner, alm_expr *expr, bool negated,
                                            int32_t pos, alm_expr **out);

/* ----------------------------------------------------------------- shape */

/*
 * For each node whose arguments are there, or have changed: how large it is as a tree. A part that is used in several places
 * is met by what walks the tree in each, so it counts in each, and more than sql.nodes.max are refused: what is doubled
 * thirty times would be walked for ever.
 */
ALM_NODISCARD alm_status alm_expr_measure(alm_ctx *cx, alm_expr *expr);
/* expr is used in one more place: the statement has so many nodes more. */
ALM_NODISCARD alm_status alm_expr_again(alm_ctx *cx, const alm_expr *expr);
/* Nodes of expr that stand for its columns when exprs are put there. */
uint64_t alm_expr_substituted_size(const alm_expr *expr, alm_expr *const *exprs);
bool alm_expr_equal(const alm_expr *a, const alm_expr *b); /* volatile calls equal nothing */
bool alm_expr_volatile(const alm_expr *expr);
bool alm_expr_leakproof(const alm_expr *expr); /* all its calls are */
/* Calls visit for every column; false ends and is returned. */
bool alm_expr_each_col(const alm_expr *expr, bool (*visit)(void *arg, const alm_expr *col),
                       void *arg);
bool alm_expr_has_col(const alm_expr *expr); /* any column at all */
/* Are all columns in [lo, hi)? */
bool alm_expr_within(const alm_expr *expr, uint32_t lo, uint32_t hi);
bool alm_expr_has_mark(const alm_expr *expr, uint32_t mark);
/* Has it one value for all rows whose columns are equal? 1/x has not: 0.0 = -0.0 are one key of GROUP BY. */
bool alm_expr_by_equality(const alm_planner *planner, const alm_expr *expr);
/* Copy in which each node for which rewrite gives a result is replaced. */
typedef alm_status (*alm_expr_rewrite)(void *arg, alm_expr *e, alm_expr **out);
ALM_NODISCARD alm_status alm_expr_map(alm_ctx *cx, alm_expr *expr, alm_expr_rewrite rewrite,
                                      void *arg, alm_expr **out);
/* Columns renumbered: map[old] = new. */
ALM_NODISCARD alm_status alm_expr_renumber(alm_ctx *cx, alm_expr *expr, const uint32_t *map,
                                           alm_expr **out);
/* Columns from `from` on move by `by`. */
ALM_NODISCARD alm_status alm_expr_shift(alm_ctx *cx, alm_expr *expr, int64_t by, alm_expr **out);
/* Columns replaced by expressions: column i becomes exprs[i]. */
ALM_NODISCARD alm_status alm_expr_substitute(alm_ctx *cx, alm_expr *expr, alm_expr *const *exprs,
                                             alm_expr **out);

/* ------------------------------------------------------------------- lists */

/* A growing array of expressions in the arena. */
typedef struct alm_exprs {
    alm_expr **at;
    uint32_t n, cap;
} alm_exprs;
ALM_NODISCARD alm_status alm_exprs_add(alm_ctx *cx, alm_exprs *list, alm_expr *expr);
/* Parts of a conjunction, in order; constant true is left out. */
ALM_NODISCARD alm_status alm_exprs_split(alm_ctx *cx, alm_exprs *list, alm_expr *expr);

/* Growing arrays in the arena: makes room for one more element. */
ALM_NODISCARD alm_status alm_grow(alm_ctx *cx, void *array_of_pointer, uint32_t n, uint32_t *cap,
                                  size_t element_bytes);

#endif
