/*
 * export.h - COPY ... TO 'file': a query whose rows become Parquet files of the server, by a thread of its own. Private to
 * session/.
 *
 * Files       Relative names below cairo.sql.copy.export.root. A file is written below the folder `.unfinished` of it,
 *             synced, and renamed to its place when all are there: no name ever has half a file. What a crash left in
 *             `.unfinished` goes at the next start.
 * Threads     One for each export (job.h).
 * Limits      The newest ALM_EXPORTS_KEPT are remembered, until the server ends.
 */
#ifndef ALM_SESSION_EXPORT_H
#define ALM_SESSION_EXPORT_H

#include "session/transfer/copy.h"
#include "session/transfer/job.h"

enum { ALM_EXPORTS_KEPT = 1000, ALM_EXPORT_FILES_MAX = 100000 };

ALM_NODISCARD alm_status alm_exports_new(alm_ctx *cx, alm_db *db, alm_jobs **out);
void alm_exports_free(alm_jobs *exports);

/* Answers with the id. */
alm_status alm_run_export(alm_cursor *cursor, const alm_stmt *stmt,
                          const alm_copy_options *options);
/* Nine texts a row: time in us, id, query, path, files, phase, status, message, rows. */
alm_status alm_export_log_texts(alm_ctx *cx, const char *const **cells, size_t *rows);
/* Those that run; eight texts: id, user, begin in us, phase, source, path, query, message. */
alm_status alm_export_texts(alm_ctx *cx, const char *const **cells, size_t *rows);

#endif
