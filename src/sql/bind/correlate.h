/*
 * correlate.h - what the correlate*.c files share; private to sql/. Carried columns
 * stand behind a node's own, in the order of the list of outer expressions.
 */
#ifndef ALM_SQL_CORRELATE_H
#define ALM_SQL_CORRELATE_H

#include "sql/bind/bind.h"

typedef struct alm_dep_ctx {
    alm_planner *p;
    const alm_plan *outer; /* what the domain is made of */
} alm_dep_ctx;

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

int32_t alm_dep_find_outer(const alm_exprs *carried, const alm_expr *e);
alm_status alm_dep_col_of(alm_planner *p, const alm_plan *plan, uint32_t col, alm_expr **out);
alm_status alm_dep_list_new(alm_planner *p, uint32_t room, alm_dep_list *out);
alm_status alm_dep_list_cols(alm_planner *p, alm_dep_list *l, const alm_plan *child, uint32_t lo,
                             uint32_t hi);
void alm_dep_list_add(alm_dep_list *l, alm_expr *e);
alm_status alm_dep_ensure(const alm_dep_ctx *d, alm_plan **plan, alm_exprs *carried,
                          const alm_exprs *want);
alm_status alm_dep_gather(alm_ctx *cx, const alm_expr *e, alm_exprs *want);
alm_status alm_dep_gather_one(void *arg, alm_expr **e);
alm_status alm_dep_land_one(void *arg, alm_expr **e);
alm_status alm_dep_land_col(void *arg, alm_expr *e, alm_expr **out);
alm_status alm_dep_push(const alm_dep_ctx *d, alm_plan **plan, alm_exprs *carried);
alm_status alm_dep_insert_cols(alm_planner *p, alm_plan *plan, uint32_t at, const alm_plan *child,
                               uint32_t n0, uint32_t n);
alm_status alm_dep_move_to_end(alm_planner *p, alm_plan **plan, uint32_t at, uint32_t n);
alm_status alm_dep_unless_null(alm_planner *p, alm_expr *mark, alm_expr *empty, alm_expr *value,
                               alm_expr **out);
alm_status alm_dep_push_join(const alm_dep_ctx *d, alm_plan **plan, alm_exprs *carried);
alm_status alm_dep_push_setop(const alm_dep_ctx *d, alm_plan **plan, alm_exprs *carried);
/* Columns [0, n) of the child, then `carried` in its order; `own` is what the child carries. */
alm_status alm_dep_align(const alm_dep_ctx *d, alm_plan **child, uint32_t n, alm_exprs *own,
                         const alm_exprs *carried);
alm_status alm_dep_too_hard(const alm_dep_ctx *d, const alm_plan *plan, const char *what);
alm_status alm_dep_push_recursion(const alm_dep_ctx *d, alm_plan **plan, alm_exprs *carried);
alm_status alm_dep_push_working(const alm_dep_ctx *d, alm_plan *plan, alm_exprs *carried);
alm_status alm_dep_push_window_join(const alm_dep_ctx *d, alm_plan **plan, alm_exprs *carried);

#endif
