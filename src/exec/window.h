/*
 * window.h - window functions over rows held in memory: order, peers, frames, aggregates of frames.
 *
 * Window order  Rows sorted by partition, then by ORDER BY, ties in input order. A position is a place
 *               in that order; within a partition positions are counted from its start.
 * Ownership     All arrays are of the pool given.
 * Null rule     Null partitions are one partition; nulls sort as the plan says; a null in the column of
 *               a RANGE offset has its peers for a frame.
 */
#ifndef ALM_EXEC_WINDOW_H
#define ALM_EXEC_WINDOW_H

#include "exec/eval.h"
#include "exec/rows.h"
#include "func/window.h"

/* A call with its expressions as columns of the rows. */
typedef struct alm_window_cols {
    uint32_t *arg, *partition, *order;
    int32_t filter; /* -1: none */
} alm_window_cols;

/* Calls with equal PARTITION BY and ORDER BY share one of these. */
typedef struct alm_window_order {
    uint32_t *perm;  /* row of each position; NULL: the position itself */
    uint32_t *start; /* n_parts + 1: first position of each partition; some may be empty */
    uint32_t n_parts;
    uint32_t *peer_lo, *peer_hi; /* per position, counted from the partition's start */
} alm_window_order;

ALM_NODISCARD alm_status alm_window_sort(alm_ctx *cx, alm_pool *pool, alm_workers *workers,
                                         const alm_rows *rows, uint32_t n,
                                         const alm_window_call *call, const alm_window_cols *cols,
                                         alm_window_order *out);
void alm_window_order_free(alm_pool *pool, alm_window_order *o);

/* Column `col` of the rows in window order: a slice, or a copy in `pool` (*owned to be freed). */
ALM_NODISCARD alm_status alm_window_column(alm_ctx *cx, alm_pool *pool, const alm_rows *rows,
                                           uint32_t n, const alm_window_order *o, uint32_t col,
                                           alm_vec *out, void **owned);

/* Frames of all positions, counted from the partition's start, EXCLUDE not applied. */
ALM_NODISCARD alm_status alm_window_frames(alm_ctx *cx, alm_pool *pool, const alm_rows *rows,
                                           uint32_t n, const alm_window_order *o,
                                           const alm_window_call *call, const alm_window_cols *cols,
                                           uint32_t *lo, uint32_t *hi);

/* Results of an aggregate over the frames of one partition's n positions. args: of the partition's
 * rows that pass the filter, in window order; before[i], i <= n: how many of the first i rows pass
 * (NULL: all). */
typedef struct alm_window_agg alm_window_agg;
ALM_NODISCARD alm_status alm_window_agg_new(alm_ctx *cx, alm_pool *pool,
                                            const alm_window_call *call, alm_arena *lasting,
                                            alm_window_agg **out);
ALM_NODISCARD alm_status alm_window_agg_run(alm_ctx *cx, alm_window_agg *a,
                                            const alm_window_rows *w, const uint32_t *before,
                                            const alm_vec *args, uint32_t width, void *out);

#endif
