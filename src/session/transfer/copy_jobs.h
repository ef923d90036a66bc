/*
 * copy_jobs.h - the imports by COPY FROM a file: those that run, and what became of the others. Private
 * to session/.
 *
 * File        `imports.json` of the data directory has the list: written whole and synced when an
 *             import starts and when it ends, read at the start. An import that it has without an end
 *             failed with the process.
 * Threads     `lock` guards the list and its jobs, `file_lock` the file; the latter is taken first.
 * Limits      The newest ALM_COPY_KEPT_MAX are remembered.
 */
#ifndef ALM_SESSION_COPY_JOBS_H
#define ALM_SESSION_COPY_JOBS_H

#include <pthread.h>

#include "session/core/session_state.h"
#include "session/transfer/import.h"

enum { ALM_COPY_KEPT_MAX = 1000 };

typedef enum alm_copy_state {
    ALM_COPY_RUNS,
    ALM_COPY_FINISHED,
    ALM_COPY_FAILED,
    ALM_COPY_CANCELLED
} alm_copy_state;

typedef struct alm_copy_job {
    struct alm_copy_job *next; /* older */
    alm_db *db;
    char id[17];
    const char *table, *file;
    const char *owner;      /* whose it is: identity of the session that asked; "": not known */
    alm_import_conf conf;   /* texts in `texts` */
    alm_copy_format format; /* conf.format, if there is one */
    const char *statement;  /* of a Parquet file: what takes it; NULL: another file */
    alm_arena texts;
    alm_session *session; /* while it runs */
    int64_t memory_max;   /* bytes it may use: those of a statement of its user */
    int handle;
    alm_copy_state state;
    int64_t start_us, end_us;
    int64_t handled, imported, errors;
    char message[1024];
} alm_copy_job;

typedef struct alm_copy_jobs {
    pthread_mutex_t lock, file_lock;
    const alm_db *db;
    alm_copy_job *newest;
    int32_t running;
} alm_copy_jobs;

/* May the session see, and end, what belongs to that identity? Its rights must be known. */
bool alm_copy_is_shown(const alm_session *me, bool all, const char *owner);
/* All of them: without access control, with SQL ENGINE ADMIN, and with CANCEL ANY COPY. */
bool alm_copy_shows_all(alm_session *me);
void alm_copy_job_free(alm_copy_job *job);
/* Moves the n texts that a list shows of a job that has ended into a small arena, which takes the place of *texts_of; of a longer text the
 * first ALM_COPY_TEXT_KEPT bytes. The lists keep many jobs, and nobody's account is charged for them. False: there is no memory, and
 * everything stays as it is. */
enum { ALM_COPY_TEXT_KEPT = 4096 };
bool alm_copy_keep_texts(alm_arena *texts_of, const char **const *texts, size_t n);
/* Forgets the oldest that ended; with the lock. */
void alm_copy_jobs_forget(alm_copy_jobs *jobs);
/* Writes the list into its file; a failure is logged, the imports go on. Without the locks. */
void alm_copy_jobs_keep(alm_copy_jobs *jobs);

#endif
