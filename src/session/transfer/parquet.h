/*
 * parquet.h - the rows of a cursor as a Parquet file, for every protocol and for files of the server.
 *
 * Memory      Buffers are charged to the statement; row groups are encoded by the workers.
 * Order       A designated timestamp in order is told as sorting column of the file.
 */
#ifndef ALM_SESSION_PARQUET_H
#define ALM_SESSION_PARQUET_H

#include "codec/parquet/request.h"
#include "session/session.h"

/* `cols` numbers n columns of the cursor; batches for the writer have these, in this order. */
ALM_NODISCARD alm_status alm_cursor_parquet(alm_ctx *cx, alm_cursor *cursor, const uint32_t *cols,
                                            uint32_t n_cols, const alm_pq_request *request,
                                            alm_pq_sink sink, void *arg, alm_pq_writer **out);

/* COPY TO STDOUT (FORMAT parquet): the next bytes of the file, appended to `out`, some `enough` of them; rows counts up what
 * they hold. *done: that was all. */
ALM_NODISCARD alm_status alm_copy_parquet(alm_ctx *cx, alm_cursor *cursor, size_t enough,
                                          alm_buf *out, int64_t *rows, bool *done);

#endif
