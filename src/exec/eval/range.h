/*
 * range.h - range tests of one column: lo <= v <= hi, or not.
 *
 * Integers and times are compared as int64, floating values as double; both borders are included.
 * Null (INT_MIN, LONG_MIN, NaN) is outside of every range; a negated range holds for null.
 */
#ifndef ALM_EXEC_RANGE_H
#define ALM_EXEC_RANGE_H

#include "exec/eval/eval.h"

typedef struct alm_range {
    uint8_t type_id; /* of the column */
    bool negate;
    bool floating;
    int64_t lo, hi;
    double lo_f, hi_f;
} alm_range;

/* The comparison `expr` of column and constant; op is one of = ! < > l(<=) g(>=), the column at the
 * left. *made = false: the type has no range tests, or the kernel does not behave like one. */
ALM_NODISCARD alm_status alm_range_make(alm_ctx *cx, const alm_expr *expr, const alm_expr *col,
                                        const alm_expr *value, char op, alm_range *out, bool *made);
/* *a becomes the range of both, if that is one. */
bool alm_range_intersect(alm_range *a, const alm_range *b);
/* keep[i] = 1 where row i is in. */
void alm_range_bytes(const alm_range *range, const alm_vec *vec, uint32_t n_rows, uint8_t *keep);
alm_block_answer alm_range_block(const alm_range *range, int64_t min_i, int64_t max_i, double min_f,
                                 double max_f, bool nulls);

#endif
