/*
 * spill.h - held rows of windows over their memory: by partition into temporary files, and
 * results back in input order.
 *
 * Rows go to buckets by the hash of their partition, so that each bucket has whole partitions and can
 * be computed by itself, in memory. Rows with their results are written again, and read from all
 * buckets at once, by the number of the row.
 */
#ifndef ALM_EXEC_WINDOW_SPILL_H
#define ALM_EXEC_WINDOW_SPILL_H

#include "exec/run/op.h"

typedef struct alm_window_spill alm_window_spill;

/* n_in columns of held rows, of which key[0..n_keys) are the partition; n_out columns of results. */
ALM_NODISCARD alm_status alm_window_spill_new(alm_ctx *cx, alm_run *run, const char *who,
                                              uint32_t n_in, const uint32_t *key, uint32_t n_keys,
                                              uint32_t n_out, alm_window_spill **out);
void alm_window_spill_free(alm_window_spill *spill); /* NULL is fine */
/* The next n rows of the input. */
ALM_NODISCARD alm_status alm_window_spill_add(alm_ctx *cx, alm_window_spill *spill,
                                              const alm_vec *cols, uint32_t n);
/* No more rows. Then, for each bucket: its rows batch by batch (n_in columns, NULL: the end), and
 * their results in the same order. */
ALM_NODISCARD alm_status alm_window_spill_turn(alm_ctx *cx, alm_window_spill *spill);
uint32_t alm_window_spill_buckets(const alm_window_spill *spill);
ALM_NODISCARD alm_status alm_window_spill_load(alm_ctx *cx, alm_window_spill *spill,
                                               uint32_t bucket, alm_batch **batch);
ALM_NODISCARD alm_status alm_window_spill_put(alm_ctx *cx, alm_window_spill *spill, uint32_t bucket,
                                              const alm_vec *cols, uint32_t n_rows);
/* All results in the order of the input: up to ALM_BATCH_ROWS rows; *n = 0: the end. Memory from arena. */
ALM_NODISCARD alm_status alm_window_spill_next(alm_ctx *cx, alm_window_spill *spill,
                                               alm_arena *arena, const alm_plan_col *types,
                                               alm_vec *cols, uint32_t *n);

#endif
