/*
 * stream.h - window functions that need only the rows already seen, in the order they come: one
 * state per partition and call, no sort, no rows held.
 *
 * Ties        RANGE frames that end at the current row take in all rows of the same time. Rows that
 *             may still have peers in the next batch wait for it (usually one row per batch).
 * Partitions  By symbol code, else by number of a key map.
 */
#ifndef ALM_EXEC_WINDOW_STREAM_H
#define ALM_EXEC_WINDOW_STREAM_H

#include "exec/run/op.h"
#include "func/window/window.h"

/* One call as a stream. */
typedef struct alm_window_stream alm_window_stream;

/* Can it be computed so? */
bool alm_window_streams(const alm_window_call *call);
ALM_NODISCARD alm_status alm_window_stream_new(alm_ctx *cx, alm_pool *pool,
                                               const alm_window_call *call,
                                               alm_window_stream **out);
/* Makes room for partitions 0..n-1. */
ALM_NODISCARD alm_status alm_window_stream_reserve(alm_ctx *cx, alm_window_stream *stream,
                                                   uint32_t n);
/* Do rows of one time share a result, so that they must come in one run? */
bool alm_window_stream_ties(const alm_window_stream *stream);

/* The next rows. Vectors are dense; all peers of the last row are among them where ties matter. */
typedef struct alm_stream_rows {
    uint32_t n;
    const uint32_t *number; /* partitions; all 0 where `single` is set */
    bool single;
    const int64_t *ts;    /* NULL without ORDER BY */
    const alm_vec *arg;   /* first argument, NULL: none */
    const alm_vec *other; /* lag: default (dense or const), NULL: null */
    const uint8_t *pass;  /* FILTER: 1 where the row counts; NULL: all do */
} alm_stream_rows;

ALM_NODISCARD alm_status alm_window_stream_run(alm_ctx *cx, alm_window_stream *stream,
                                               const alm_stream_rows *stream_rows, void *out);

/* The operator, for plans all of whose calls stream. */
bool alm_op_window_streams(const alm_plan *plan);
ALM_NODISCARD alm_status alm_op_window_stream_make(alm_ctx *cx, alm_run *run, const alm_plan *plan,
                                                   alm_pipe *pipe, alm_op **out);

#endif
