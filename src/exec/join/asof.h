/*
 * asof.h - what the time series joins share: timestamps of two inputs beside each other.
 */
#ifndef ALM_EXEC_ASOF_H
#define ALM_EXEC_ASOF_H

#include "exec/join/join.h"
#include "type/int256.h"

/*
 * Times of two units are compared as if both had unlimited range: no time is brought to the finer unit, whose range
 * may not hold it. The factors would bring both sides to it; one of them is 1.
 */
typedef struct alm_asof_units {
    int64_t left, right;
    int64_t tolerance; /* in the unit of the left side; < 0: none */
} alm_asof_units;

static inline alm_asof_units alm_asof_units_of(const alm_plan *plan)
{
    const bool left_ns = plan->child[0]->cols[plan->join.left_ts].type.id == ALM_T_TIMESTAMP_NS;
    const bool right_ns = plan->child[1]->cols[plan->join.right_ts].type.id == ALM_T_TIMESTAMP_NS;
    return (alm_asof_units){.left = left_ns || !right_ns ? 1 : 1000,
                            .right = right_ns || !left_ns ? 1 : 1000,
                            .tolerance = plan->join.tolerance};
}

/* How far two times lie from one another, in the finer unit. */
static inline alm_u128 alm_asof_distance(const alm_asof_units *units, int64_t left, int64_t right)
{
    const alm_i128 i128 = (alm_i128)left * units->left - (alm_i128)right * units->right;
    return (alm_u128)(i128 < 0 ? -i128 : i128);
}

static inline bool alm_asof_too_far(const alm_asof_units *units, int64_t left, int64_t right)
{
    return alm_asof_distance(units, left, right) >
           (alm_u128)units->tolerance * (alm_u128)units->left;
}

/*
 * Bounds in the unit of the right side for the left times of n rows: right rows with a time <= bound lie at or before
 * the left row (before: before it). The vector's own data where they are the same, else a copy from `arena`.
 */
ALM_NODISCARD alm_status alm_asof_bounds(alm_ctx *cx, alm_arena *arena, const alm_vec *vec,
                                         uint32_t n_rows, const alm_asof_units *units, bool before,
                                         const int64_t **out);
/* Times of n rows as they are, also of a constant. */
ALM_NODISCARD alm_status alm_asof_times(alm_ctx *cx, alm_arena *arena, const alm_vec *vec,
                                        uint32_t n_rows, const int64_t **out);

#endif
