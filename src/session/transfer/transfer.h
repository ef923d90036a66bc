/*
 * transfer.h - COPY, imports and exports as the rest of session/ sees them. Private to session/.
 */
#ifndef ALM_SESSION_TRANSFER_H
#define ALM_SESSION_TRANSFER_H

#include "session/core/session_state.h"

/* copy.c */
alm_status alm_run_copy_from(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params,
                             uint32_t n);
alm_status alm_run_copy_to(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params, uint32_t n);

/* transfer/files.c. Path, bytes and time in us of each file below a folder of the folder of imports, or of exports. */
typedef enum alm_files_of { ALM_FILES_IMPORTED, ALM_FILES_EXPORTED } alm_files_of;
alm_status alm_files_texts(alm_ctx *cx, alm_files_of of, const char *folder,
                           const char *const **cells, size_t *rows);

/* transfer/copy_file.c. Rows of ten texts: time in us, id, table, file, phase, status, message, counts. */
alm_status alm_copy_jobs_new(alm_ctx *cx, alm_db *db, struct alm_copy_jobs **out);
bool alm_copy_jobs_run(struct alm_copy_jobs *jobs); /* does one run still? */
void alm_copy_jobs_free(struct alm_copy_jobs *jobs);
alm_status alm_copy_texts(alm_ctx *cx, const char *const **cells, size_t *rows);

#endif
