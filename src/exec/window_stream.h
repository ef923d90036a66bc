/*
 * window_stream.h - window functions that need only the rows already seen, in the order they come: one
 * state per partition and call, no sort, no rows held.
 *
 * Ties        RANGE frames that end at the current row take in all rows of the same time. Rows that
 *             may still have peers in the next batch wait for it (usually one row per batch).
 * Partitions  By symbol code, else by number of a key map.
 */
#ifndef ALM_EXEC_WINDOW_STREAM_H
#define ALM_EXEC_WINDOW_STREAM_H

#include "exec/op.h"
#include "func/window.h"

/* One call as a stream. */
typedef struct alm_window_stream alm_window_stream;

/* Can it be computed so? */
bool alm_window_streams(const alm_window_call *call);
ALM_NODISCARD alm_status alm_window_stream_new(alm_ctx *cx, alm_pool *pool,
                                               const alm_window_call *call,
                                               alm_window_stream **out);
/* Makes room for partitions 0..n-1. */
ALM_NODISCARD alm_status alm_window_stream_reserve(alm_ctx *cx, alm_window_stream *s, uint32_t n);
/*
 * The next n rows: partition numbers, times (NULL without ORDER BY), first argument and default (dense
 * or const; NULL where there is none). All peers of the last row are among them. out: n results.
 */
ALM_NODISCARD alm_status alm_window_stream_run(alm_ctx *cx, alm_window_stream *s, uint32_t n,
                                               const uint32_t *number, const int64_t *ts,
                                               const alm_vec *arg, const alm_vec *other, void *out);

/* The operator, for plans all of whose calls stream. */
bool alm_op_window_streams(const alm_plan *plan);
ALM_NODISCARD alm_status alm_op_window_stream_make(alm_ctx *cx, alm_run *run, const alm_plan *plan,
                                                   alm_pipe *pipe, alm_op **out);

#endif
