/* check.h - checks that the parts of a plan fit together; private to sql/. */
#ifndef ALM_SQL_NODE_CHECK_H
#define ALM_SQL_NODE_CHECK_H

#include "sql/node/ops.h"

/* ALM_E_INTERNAL if they do not. `when` is named in the message. owners: check too that each list of expressions
 * belongs to one node. */
ALM_NODISCARD alm_status alm_plan_check(alm_planner *planner, alm_plan *plan, const char *when,
                                        bool owners);

/* ---------------------------------------------------------------- for the files of nodes */

typedef struct alm_checked_place alm_checked_place;

struct alm_checking {
    alm_planner *p;
    const char *when;
    alm_plan *node;                   /* whose turn it is */
    const alm_plan_col *left, *right; /* input of the expression that is checked */
    uint32_t n_left, n_right;
    const char *wrong;        /* NULL: nothing so far */
    bool owners;              /* owners of lists are checked too */
    alm_checked_place *owned; /* met so far */
    uint32_t n_owned, cap_owned;
};

ALM_NODISCARD alm_status alm_check_wrong(const alm_checking *checking, const char *what);
/* The expressions that follow are over the columns of these; NULL: none. */
void alm_check_over(alm_checking *checking, const alm_plan *left, const alm_plan *right);
/* The expressions that follow are over n columns of these types. */
void alm_check_over_cols(alm_checking *checking, const alm_plan_col *cols, uint32_t n);
ALM_NODISCARD alm_status alm_check_read(
    alm_checking *checking, const alm_expr *expr); /* one of a list that nodes may share */
ALM_NODISCARD alm_status alm_check_expr(void *checking, alm_expr **expr); /* an alm_expr_visit */
ALM_NODISCARD alm_status alm_check_each(alm_checking *checking, alm_expr **list, uint32_t n);
/* All expressions over the only child. */
ALM_NODISCARD alm_status alm_check_exprs(alm_checking *checking);
/* The same, and that column `time` of the child is a timestamp. */
ALM_NODISCARD alm_status alm_check_time(alm_checking *checking, uint32_t time);
/* Pairs of keys over two children; reads both children afterwards. */
ALM_NODISCARD alm_status alm_check_pairs(alm_checking *checking, alm_expr **left_keys,
                                         alm_expr **right_keys, uint32_t n_right_keys);
bool alm_check_same_type(alm_type a, alm_type b);
/* compared: texts of several types fit. */
bool alm_check_fits(alm_type a, alm_type b, bool compared);
bool alm_check_is_column(const alm_plan *plan, uint32_t col);
bool alm_check_is_time(const alm_plan *plan, uint32_t col);

#endif
