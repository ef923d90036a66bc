/*
 * decorrelate.h - plans over columns of the query around them, made independent of it; private to sql/.
 *
 * Idea        The inner plan gets columns that say which outer rows its rows are for ("carried"), so
 *             that a join by them takes the place of running it once per outer row. A condition
 *             `outer = inner` of a filter gives such a column for nothing; where an outer column is
 *             used in another way, the inner plan is joined with the distinct values of it (the
 *             domain: the outer plan once more, grouped).
 * Upwards     Carried columns travel through projections, become keys of groups, samples, LATEST and
 *             windows, turn LIMIT into a limit per outer row, and meet in joins and set operations. They
 *             come behind a node's own columns, in the order of the list of outer expressions.
 * Null        An outer null is for inner rows whose value is null: the equality of the dialect.
 */
#ifndef ALM_SQL_NODE_DECORRELATE_H
#define ALM_SQL_NODE_DECORRELATE_H

#include "sql/node/ops.h"
#include "sql/plan/make.h"

struct alm_dep_ctx {
    alm_planner *p;
    const alm_plan *outer; /* what the domain is made of */
};

/* The plan becomes independent; carried gets the outer expressions whose values its last columns are. */
ALM_NODISCARD alm_status alm_dep_push(const alm_dep_ctx *dep, alm_plan **plan, alm_exprs *carried);
/* Does the plan still use columns of the query around it? */
bool alm_plan_is_dependent(alm_plan *plan);
/* Rows lo..hi-1 of each group of rows that are equal in the n columns from n_before on. */
ALM_NODISCARD alm_status alm_plan_limit_per(alm_planner *planner, alm_plan **plan,
                                            uint32_t n_before, uint32_t n, int64_t lo, int64_t hi);

/* ---------------------------------------------------------------- for the files of nodes, and bind/correlate.c */

/* Columns of a child as expressions, for a projection above it. */
typedef struct alm_dep_list {
    alm_expr **exprs;
    const char **names;
    uint32_t n;
} alm_dep_list;

typedef struct alm_dep_gathering {
    alm_ctx *cx;
    alm_exprs *want;
    alm_status code;
} alm_dep_gathering;

typedef struct alm_dep_landing { /* where the carried columns are in the child */
    alm_planner *p;
    const alm_plan *child;
    const alm_exprs *carried;
    uint32_t first;
} alm_dep_landing;

int32_t alm_dep_find_outer(const alm_exprs *carried, const alm_expr *expr);
alm_status alm_dep_col_of(alm_planner *planner, const alm_plan *plan, uint32_t col, alm_expr **out);
alm_status alm_dep_list_new(alm_planner *planner, uint32_t room, alm_dep_list *out);
alm_status alm_dep_list_cols(alm_planner *planner, alm_dep_list *deps, const alm_plan *child,
                             uint32_t lo, uint32_t hi);
void alm_dep_list_add(alm_dep_list *deps, alm_expr *expr);
alm_status alm_dep_ensure(const alm_dep_ctx *dep, alm_plan **plan, alm_exprs *carried,
                          const alm_exprs *want);
alm_status alm_dep_gather(alm_ctx *cx, const alm_expr *expr, alm_exprs *want);
alm_status alm_dep_gather_one(void *arg, alm_expr **expr);
alm_status alm_dep_land_one(void *arg, alm_expr **expr);
alm_status alm_dep_land_col(void *arg, alm_expr *expr, alm_expr **out);
alm_status alm_dep_insert_cols(alm_planner *planner, alm_plan *plan, uint32_t place,
                               const alm_plan *child, uint32_t n_before, uint32_t n);
alm_status alm_dep_move_to_end(alm_planner *planner, alm_plan **plan, uint32_t place, uint32_t n);
alm_status alm_dep_unless_null(alm_planner *planner, alm_expr *mark, alm_expr *empty,
                               alm_expr *value, alm_expr **out);
/* Columns [0, n) of the child, then `carried` in its order; `own` is what the child carries. */
alm_status alm_dep_align(const alm_dep_ctx *dep, alm_plan **child, uint32_t n, alm_exprs *own,
                         const alm_exprs *carried);
alm_status alm_dep_too_hard(const alm_dep_ctx *dep, const alm_plan *plan, const char *what);
/* Outer columns as the outer plan numbers them. */
alm_status alm_dep_strip(alm_ctx *cx, alm_expr *expr, alm_expr **out);
/* Distinct values of the expressions over the outer plan. */
alm_status alm_dep_domain(const alm_dep_ctx *dep, const alm_exprs *of, alm_plan **out);
/* Outer columns of an expression over the child become columns of the child, those from `first` on. */
alm_status alm_dep_land(alm_planner *planner, const alm_plan *child, const alm_exprs *carried,
                        uint32_t first, alm_expr **expr);
/* The child, independent now, and with all that the node's own expressions want; they are changed to
 * read it. *n0: columns of the child that are not carried. */
alm_status alm_dep_push_child(const alm_dep_ctx *dep, alm_plan *plan, alm_exprs *carried,
                              uint32_t *n0);
/* Conjuncts of a filter: pairs outer = inner, those with outer columns, those without. */
typedef struct alm_dep_parts {
    alm_exprs outer, inner, mixed, plain;
} alm_dep_parts;
alm_status alm_dep_split(alm_planner *planner, const alm_plan *filter, alm_dep_parts *out);
/* Adds the number of the row among those that are equal in the n columns from n_before on. */
alm_status alm_dep_number_rows(alm_planner *planner, alm_plan **plan, uint32_t n_before,
                               uint32_t n);
/* A second row with the same number fails; the numbers are column `number` of the plan. */
alm_status alm_dep_refuse_second(alm_planner *planner, alm_plan **plan, uint32_t number,
                                 int32_t pos);
/* Takes carried columns into a list of keys. */
alm_status alm_dep_with_keys(alm_planner *planner, const alm_plan *child, uint32_t n_before,
                             uint32_t n, alm_expr ***keys, uint32_t *n_keys);
/* What an aggregate gives for no rows. */
alm_status alm_dep_empty_value(alm_planner *planner, const alm_agg_call *agg, alm_expr **out);
/* A mark that is not null, at the end. */
alm_status alm_dep_add_mark(alm_planner *planner, alm_plan **plan);
/* A GROUP gets the carried columns as keys. */
alm_status alm_dep_push_group_keys(const alm_dep_ctx *dep, alm_plan **plan, alm_exprs *carried);
/* Column l of left and column r of right become a pair of keys. */
alm_status alm_dep_key_pair(alm_planner *planner, const alm_plan *left, uint32_t l,
                            const alm_plan *right, uint32_t r, alm_exprs *left_keys,
                            alm_exprs *right_keys);

#endif
