/*
 * asof.h - what the time series joins share: comparable timestamps of two inputs.
 */
#ifndef ALM_EXEC_ASOF_H
#define ALM_EXEC_ASOF_H

#include "exec/join.h"

/* Factors that bring the timestamps of both sides to one unit; one of them is 1. */
typedef struct alm_asof_units {
    int64_t left, right;
    int64_t tolerance; /* in that unit; < 0: none */
} alm_asof_units;

static inline alm_asof_units alm_asof_units_of(const alm_plan *plan)
{
    const bool left_ns = plan->child[0]->cols[plan->join.left_ts].type.id == ALM_T_TIMESTAMP_NS;
    const bool right_ns = plan->child[1]->cols[plan->join.right_ts].type.id == ALM_T_TIMESTAMP_NS;
    alm_asof_units u = {.left = left_ns || !right_ns ? 1 : 1000,
                        .right = right_ns || !left_ns ? 1 : 1000,
                        .tolerance = plan->join.tolerance};
    if (u.tolerance > 0 && __builtin_mul_overflow(u.tolerance, u.left, &u.tolerance))
        u.tolerance = INT64_MAX;
    return u;
}

/* Null and what does not fit stay at the ends. */
static inline int64_t alm_asof_scale(int64_t ts, int64_t factor)
{
    int64_t out;
    if (!__builtin_mul_overflow(ts, factor, &out))
        return out;
    return ts < 0 ? INT64_MIN : INT64_MAX;
}

/* Timestamps of n rows in the common unit: the vector's own data, or a copy from `arena`. */
ALM_NODISCARD alm_status alm_asof_times(alm_ctx *cx, alm_arena *arena, const alm_vec *v, uint32_t n,
                                        int64_t factor, const int64_t **out);

#endif
