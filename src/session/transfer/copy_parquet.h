/* copy_parquet.h - COPY FROM a Parquet file as a statement of SQL. Private to session/. */
#ifndef ALM_SESSION_COPY_PARQUET_H
#define ALM_SESSION_COPY_PARQUET_H

#include "session/transfer/copy.h"

/* query.timeout is for those who wait, not for jobs: a year. */
#define ALM_COPY_TIMEOUT_MS (INT64_C(365) * 86400 * 1000)

/* The statement that takes the file: CREATE TABLE AS, or INSERT. `session` is another session, which describes the file. Faults have
 * the places of the COPY. */
ALM_NODISCARD alm_status alm_copy_parquet_text(alm_cursor *cursor, alm_session *session,
                                               alm_arena *arena, const alm_stmt *stmt,
                                               const alm_copy_options *options, const char **out);
/* Runs it to its end; *rows: how many there were. */
ALM_NODISCARD alm_status alm_copy_parquet_run(alm_ctx *cx, alm_session *session, const char *text,
                                              int64_t *rows);

#endif
