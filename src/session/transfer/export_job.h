/* export_job.h - one export: its query runs, its rows become files. Private to session/ (export.h). */
#ifndef ALM_SESSION_EXPORT_JOB_H
#define ALM_SESSION_EXPORT_JOB_H

#include "codec/parquet/request.h"
#include "session/transfer/job.h"

typedef struct alm_export_job {
    alm_job base;
    const char *query, *label,
        *path;    /* label: the table, or the query; path: below the folder of exports */
    bool secured; /* access control is on: only files that this owner exported are replaced */
    bool any;     /* the owner is an administrator and may replace any file */
    alm_partition_by by; /* a file for each; NONE: one file */
    alm_pq_request request;
    int64_t rows, files;
} alm_export_job;

/* To the end; `told` hears how far it is. On an error nothing of it is left. */
alm_status alm_export_job_run(alm_export_job *job,
                              void (*told)(void *arg, int64_t rows, int64_t files), void *arg,
                              alm_error *err);
/* What exports before a crash have left. */
void alm_export_clear(const alm_db *db);

#endif
