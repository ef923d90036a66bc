/*
 * aggs.h - a set of aggregate calls over arrays of states, for one thread.
 *
 * The keys, arguments and FILTER conditions of a query are one program, so that equal parts are
 * evaluated once. Calls whose operations and arguments agree (avg(x), sum(x)) share one array of
 * states and differ in their finish alone. The layout (number and order of arrays) depends on the
 * plan alone, so that states made by one thread can be merged by another.
 *
 * Ownership   What states point to lives in `lasting` (given at alm_aggs_new), which must outlive
 *             them, on whatever thread they are merged.
 */
#ifndef ALM_EXEC_AGGS_H
#define ALM_EXEC_AGGS_H

#include "exec/eval/eval.h"
#include "exec/run/op.h"
#include "func/agg/fused.h"

typedef struct alm_agg_state {
    const alm_agg_ops *ops;
    const alm_agg_call *call; /* the first of those that share it */
    alm_call rt;
    uint32_t first_arg; /* in vec[] */
    int32_t filter;     /* in vec[], -1 none */
} alm_agg_state;

/* States of one DOUBLE argument that can be taken together (func/agg/fused.h). */
typedef struct alm_agg_fused {
    int32_t state[ALM_FUSE_KINDS]; /* by kind, -1 none; count() is with the first argument */
    uint32_t arg;                  /* in vec[] */
    uint32_t n;                    /* states */
} alm_agg_fused;

typedef struct alm_aggs {
    alm_eval *eval;
    alm_vec *vec; /* results of eval: keys, then arguments, then conditions */
    uint32_t n_vecs, n_keys;
    alm_agg_state *state;
    uint32_t n_states;
    const alm_agg_call *calls;
    uint32_t n_calls;
    uint32_t *state_of; /* by call */
    alm_agg_fused *fused;
    uint32_t n_fused;
    bool *is_fused;     /* by state */
    int32_t rows_state; /* of count(), -1 none */
    alm_arena scratch;  /* rows picked by FILTER, one batch */
    uint32_t rows;      /* of the batch evaluated last */
} alm_aggs;

/* States of groups 0..n-1. */
typedef struct alm_states {
    char **array; /* one per aggs->state */
    uint32_t n, cap;
} alm_states;

ALM_NODISCARD alm_status alm_aggs_new(alm_ctx *cx, alm_expr *const *keys, uint32_t n_keys,
                                      const alm_agg_call *calls, uint32_t n_calls,
                                      alm_arena *lasting, alm_aggs **out);
void alm_aggs_free(alm_aggs *aggs);
/* Evaluates keys, arguments and conditions for a batch: vec[0..n_keys) are the keys. */
ALM_NODISCARD alm_status alm_aggs_eval(alm_ctx *cx, alm_aggs *aggs, alm_arena *scratch,
                                       alm_batch *batch);
/* Rows [lo, lo + n) of that batch into one group. */
ALM_NODISCARD alm_status alm_aggs_update(alm_ctx *cx, alm_aggs *aggs, alm_states *states,
                                         uint32_t group, uint32_t lo, uint32_t n);
/* May rows be left out by a mask? Then their values are made null, which no aggregate counts. */
bool alm_aggs_masks(const alm_aggs *aggs);
/* The rows of the batch evaluated last whose byte in keep[0..n) is set, `kept` of them, into `group`. */
ALM_NODISCARD alm_status alm_aggs_update_masked(alm_ctx *cx, alm_aggs *aggs, alm_arena *scratch,
                                                alm_states *states, uint32_t group,
                                                const uint8_t *keep, uint32_t kept, uint32_t n);
/* Rows [lo, lo + n) into group[0..n). */
ALM_NODISCARD alm_status alm_aggs_scatter(alm_ctx *cx, alm_aggs *aggs, alm_states *states,
                                          const uint32_t *group, uint32_t lo, uint32_t n);
/* The same for the states that are in no alm_agg_fused (nor rows_state): the caller does the others. */
ALM_NODISCARD alm_status alm_aggs_scatter_rest(alm_ctx *cx, alm_aggs *aggs, alm_states *states,
                                               const uint32_t *group, uint32_t n);
/* dst[index ? index[i] : i + dst_at] takes in src[src_at + i], i < n. */
ALM_NODISCARD alm_status alm_aggs_merge(alm_ctx *cx, alm_aggs *aggs, alm_states *dst,
                                        uint32_t dst_at, const uint32_t *index,
                                        const alm_states *src, uint32_t src_at, uint32_t n);
/* Results of call i for groups [at, at + n_rows) into a fresh vector from `arena`. */
ALM_NODISCARD alm_status alm_aggs_finish(alm_ctx *cx, alm_aggs *aggs, const alm_states *states,
                                         uint32_t i, uint32_t place, uint32_t n_rows,
                                         alm_arena *arena, alm_vec *out);
bool alm_aggs_row_order(const alm_aggs *aggs); /* does a result depend on the order of rows? */

/* Room for n groups in all; new ones are initialised. */
ALM_NODISCARD alm_status alm_states_reserve(alm_ctx *cx, alm_aggs *aggs, alm_states *states,
                                            alm_pool *pool, uint32_t n);
/* Makes groups [at, at + n) as new. */
void alm_states_clear(alm_aggs *aggs, alm_states *states, uint32_t place, uint32_t n);
/* Copies src[pick[0..n)] to dst[dst_at ...]; dst has room. Plain copies: src must not be used on. */
void alm_states_pick(const alm_aggs *aggs, alm_states *dst, uint32_t dst_at, const alm_states *src,
                     const uint32_t *pick, uint32_t n_picks);

#endif
