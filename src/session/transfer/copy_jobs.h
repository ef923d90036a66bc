/*
 * copy_jobs.h - the imports by COPY FROM a file: those that run, and what became of the others. Private
 * to session/.
 *
 * File        `imports.json` of the data directory has the list: written whole and synced when an
 *             import starts and when it ends, read at the start. An import that it has without an end
 *             failed with the process.
 * Threads     As job.h; `file_lock` guards the file and is taken before the lock of the list.
 * Limits      The newest ALM_COPY_KEPT_MAX are remembered.
 */
#ifndef ALM_SESSION_COPY_JOBS_H
#define ALM_SESSION_COPY_JOBS_H

#include "session/transfer/import.h"
#include "session/transfer/job.h"

enum { ALM_COPY_KEPT_MAX = 1000 };

typedef struct alm_copy_job {
    alm_job base;
    const char *table, *file;
    alm_import_conf conf;   /* texts in base.texts */
    alm_copy_format format; /* conf.format, if there is one */
    const char *statement;  /* of a Parquet file: what takes it; NULL: another file */
    int64_t memory_max;     /* bytes it may use: those of a statement of its user */
    int handle;             /* of the file, while it runs */
    int64_t handled, imported, errors;
} alm_copy_job;

typedef struct alm_copy_jobs {
    alm_jobs base;
    pthread_mutex_t file_lock;
} alm_copy_jobs;

extern const alm_job_kind alm_import_jobs; /* copy_file.c */
/* Writes the list into its file; a failure is logged, the imports go on. Without the locks. */
void alm_copy_jobs_keep(alm_jobs *jobs);

#endif
