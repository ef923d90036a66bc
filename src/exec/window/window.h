/*
 * window.h - window functions over rows held in memory: order, peers, frames, aggregates of frames.
 *
 * Window order  Rows sorted by partition, then by ORDER BY, ties in input order. A position is a place
 *               in that order; within a partition positions are counted from its start.
 * Ownership     Arrays of an order are of the pool given; what is made for some partitions is of the
 *               arena given.
 * Threads       Several may work on one order, each on partitions of its own.
 * Null rule     Null partitions are one partition; nulls sort as the plan says; a null in the column of
 *               a RANGE offset has its peers for a frame.
 */
#ifndef ALM_EXEC_WINDOW_H
#define ALM_EXEC_WINDOW_H

#include "exec/data/rows.h"
#include "exec/eval/eval.h"
#include "exec/sort/sortkey.h"
#include "func/window/window.h"

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
    uint32_t *peer_lo,
        *peer_hi;       /* per position, counted from the partition's start; NULL: not asked */
    const alm_vec *key; /* columns of ORDER BY */
    const alm_sort_order *order;
    uint32_t n_keys;
    bool as_it_comes; /* rows come in that order */
} alm_window_order;

/* Positions [start[lo], start[hi]) of an order, and the rows at them. */
typedef struct alm_window_slice {
    const alm_rows *rows;
    const alm_window_order *order;
    uint32_t lo, hi;   /* partitions */
    uint32_t from, to; /* positions */
    alm_arena *arena;
} alm_window_slice;

/* Deals the rows to their partitions, in input order. peers: are they asked for. */
ALM_NODISCARD alm_status alm_window_deal(alm_ctx *cx, alm_pool *pool, const alm_rows *rows,
                                         uint32_t n, const alm_window_call *call,
                                         const alm_window_cols *cols, bool peers,
                                         alm_window_order *out);
/* Puts large partitions in order, on all threads. */
ALM_NODISCARD alm_status alm_window_sort_large(alm_ctx *cx, alm_pool *pool, alm_workers *workers,
                                               const alm_window_order *order);
/* Puts the other partitions of a slice in order and finds the peers of all. */
ALM_NODISCARD alm_status alm_window_arrange(alm_ctx *cx, const alm_window_slice *slice);
void alm_window_order_free(alm_pool *pool, alm_window_order *order);

/* Column `col` at the positions of the slice. */
ALM_NODISCARD alm_status alm_window_column(alm_ctx *cx, const alm_window_slice *slice, uint32_t col,
                                           alm_vec *out);

/* Frames of the positions of a slice, counted from the partition's start, EXCLUDE not applied. */
ALM_NODISCARD alm_status alm_window_frames(alm_ctx *cx, const alm_window_slice *slice,
                                           const alm_window_call *call, const alm_window_cols *cols,
                                           uint32_t *lo, uint32_t *hi);

/* One call: where its expressions are, and what came out, in input order. */
typedef struct alm_window_result {
    const alm_window_call *call;
    alm_window_cols cols;
    void *result;
    uint32_t *pick; /* rows of the values, n: none; NULL: `result` has the values themselves */
    uint8_t width;
    bool done;
} alm_window_result;

/* Partition number of each row, below *n_parts. */
ALM_NODISCARD alm_status alm_window_numbers(alm_ctx *cx, alm_pool *pool, const alm_rows *rows,
                                            uint32_t n, const alm_window_call *call,
                                            const alm_window_cols *cols, uint32_t *number,
                                            uint32_t *n_parts);

/* Calls that take the rows in the order they have. */
typedef struct alm_window_pass {
    alm_pool *pool;
    const alm_rows *rows;
    uint32_t n;
    const uint32_t *number; /* partition of each row */
    uint32_t n_parts;
    alm_arena *lasting; /* texts of results */
} alm_window_pass;

bool alm_window_passes(const alm_window_call *call);
ALM_NODISCARD alm_status alm_window_run_pass(alm_ctx *cx, const alm_window_pass *pass,
                                             alm_window_result *result);

/* What threads work with; keeps texts of results until it is freed. */
typedef struct alm_window_slots alm_window_slots;
/* Rows [0, n), and the threads and the memory that compute over them. */
typedef struct alm_window_input {
    alm_pool *pool; /* of results */
    alm_pipe *pipe;
    alm_workers *workers;
    const alm_rows *rows;
    uint32_t n;
} alm_window_input;

/* All calls, on the threads of the pipe. */
ALM_NODISCARD alm_status alm_window_compute(alm_ctx *cx, const alm_window_input *in,
                                            alm_window_result *results, uint32_t n_calls,
                                            alm_window_slots **slots);
void alm_window_slots_free(alm_window_slots *slots); /* NULL is fine */

/* Do frames leave rows behind, or out? */
static inline bool alm_window_moves(const alm_window_call *call)
{
    return call->lo_kind != ALM_BOUND_UNBOUNDED_PRECEDING || call->exclude != ALM_EXCLUDE_NONE;
}

/* Results of width bytes of an aggregate over the frames of one partition. args: of its rows, in window
 * order; pass: which of them count (NULL: all). */
typedef struct alm_window_agg alm_window_agg;
ALM_NODISCARD alm_status alm_window_agg_new(alm_ctx *cx, alm_pool *pool,
                                            const alm_window_call *call, alm_arena *lasting,
                                            uint32_t width, alm_window_agg **out);
ALM_NODISCARD alm_status alm_window_agg_run(alm_ctx *cx, alm_window_agg *agg,
                                            const alm_window_rows *rows, const uint8_t *pass,
                                            const alm_vec *args, void *out);
void alm_window_agg_free(alm_window_agg *agg); /* what is not of the pool; NULL is fine */

#endif
