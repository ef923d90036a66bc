/*
 * eval.h - expressions over batches.
 *
 * An alm_eval is a flat program for one thread, made from expression trees. It evaluates each
 * distinct sub-expression once per batch, constants once, and deterministic functions of a single
 * SYMBOL column once per dictionary value as soon as the stream is long enough to pay for that.
 * Result vectors are dense or const; they live until the next run of the same program (columns
 * passed through live as long as the batch). Result buffers are reused from batch to batch.
 *
 * Null rule   that of the kernels. CASE: a condition that is null is false.
 */
#ifndef ALM_EXEC_EVAL_H
#define ALM_EXEC_EVAL_H

#include "sql/plan/plan.h"

typedef struct alm_eval alm_eval;

/* Memory from cx->arena, which must outlive the program; batch memory is charged to cx->mem. */
ALM_NODISCARD alm_status alm_eval_new(alm_ctx *cx, const alm_expr *const *exprs, uint32_t n_exprs,
                                      alm_eval **out);
/* Expression i shall come as views where it is a SYMBOL. Before the first run. */
ALM_NODISCARD alm_status alm_eval_views(alm_ctx *cx, alm_eval *eval, uint32_t i);
/* out[0..n): one vector per expression. `arena`: where columns of the batch are gathered. Zero rows
 * give vectors without elements. */
ALM_NODISCARD alm_status alm_eval_run(alm_ctx *cx, alm_eval *eval, alm_arena *arena,
                                      alm_batch *batch, alm_vec *out);
void alm_eval_free(alm_eval *eval); /* batch memory; NULL is fine */

/* ------------------------------------------------------------------------- filters */

typedef struct alm_filter alm_filter;

ALM_NODISCARD alm_status alm_filter_new(alm_ctx *cx, const alm_expr *const *conjuncts,
                                        uint32_t n_conjuncts, alm_filter **out);
/*
 * Which of the rows of `batch` pass all conjuncts. batch->sel must be NULL; columns dense or const.
 * *kept rows; *sel their numbers, ascending, until the next run; *sel = NULL if all rows pass.
 */
ALM_NODISCARD alm_status alm_filter_run(alm_ctx *cx, alm_filter *filter, const alm_batch *batch,
                                        const uint16_t **sel, uint32_t *kept);
void alm_filter_free(alm_filter *filter);
/* From now on a run may leave the outcome as a mask, one byte per row of the batch: *sel = NULL then,
 * although *kept is less than all. alm_filter_mask: that of the last run, NULL if it left none. */
void alm_filter_masks(alm_filter *filter);
const uint8_t *alm_filter_mask(const alm_filter *filter);

/* Conjuncts that are a range test of one column: what block statistics can answer. */
typedef enum alm_block_answer { ALM_BLOCK_SOME, ALM_BLOCK_NONE, ALM_BLOCK_ALL } alm_block_answer;
uint32_t alm_filter_ranges(const alm_filter *filter);
uint32_t alm_filter_range_col(const alm_filter *filter, uint32_t i);
/* min and max of the block's values that are not null, in the type of the column. */
alm_block_answer alm_filter_range_test(const alm_filter *filter, uint32_t i, int64_t min_i,
                                       int64_t max_i, double min_f, double max_f, bool nulls);
/* Leaves the range test out of the coming runs (a block where all rows pass it). */
void alm_filter_range_skip(alm_filter *filter, uint32_t i, bool skip);

#endif
