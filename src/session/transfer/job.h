/*
 * job.h - work that a statement begins and that goes on without it, on a thread of its own: imports from files (copy_jobs.h) and exports
 * to files (export.h). Private to session/.
 *
 * Session     A job has a session of its own, for the same user as the statement's, so that it is listed, cancelled and stopped like
 *             every statement. The session is NULL when the job has ended.
 * Threads     One for each job. `lock` guards the list and its jobs. alm_db_free waits until no job runs.
 * Limits      copy.jobs.max jobs of a list at once; its newest `kept_max` are remembered.
 */
#ifndef ALM_SESSION_JOB_H
#define ALM_SESSION_JOB_H

#include <pthread.h>

#include "session/core/session_state.h"

typedef enum alm_job_state {
    ALM_JOB_RUNS,
    ALM_JOB_FINISHED,
    ALM_JOB_FAILED,
    ALM_JOB_CANCELLED,
    ALM_JOB_STATES
} alm_job_state;

typedef struct alm_jobs alm_jobs;

/* The first member of a job; malloc'd. */
typedef struct alm_job {
    struct alm_job *next; /* older */
    alm_jobs *jobs;
    alm_db *db;
    char id[17];
    const char *owner; /* whose it is: identity of the session that asked; "": not known */
    alm_arena texts;   /* of the job */
    alm_session *session;
    atomic_bool cancel;
    alm_job_state state;
    int64_t start_us, end_us;
    char message[1024]; /* why it failed */
} alm_job;

/* What the jobs of a list do. */
typedef struct alm_job_kind {
    const char *name; /* "imports" */
    int32_t kept_max;
    /* Does the work, on the thread of the job and without the lock. */
    alm_status (*run)(alm_job *job, alm_error *err);
    /* With the lock, of a job that has ended: its counts, and what need not be kept. */
    void (*ended)(alm_job *job, alm_status st);
    /* Without the lock: a job has begun or ended. NULL: nothing is to be done. */
    void (*changed)(alm_jobs *jobs);
} alm_job_kind;

struct alm_jobs {
    pthread_mutex_t lock;
    const alm_job_kind *kind;
    alm_db *db;
    alm_job *newest;
    int32_t running;
};

void alm_jobs_init(alm_jobs *jobs, const alm_job_kind *kind, alm_db *db);
void alm_jobs_deinit(alm_jobs *jobs); /* no job runs; frees all of them */
bool alm_jobs_run(alm_jobs *jobs);    /* does one run still? NULL is fine */

/* A job of `bytes` bytes that the statement begins: id, owner, a session that is not yet for its user. */
ALM_NODISCARD alm_status alm_job_new(alm_cursor *cursor, alm_jobs *jobs, size_t bytes,
                                     alm_job **out);
/* Its session is for the user of the statement, and is listed with its text. */
void alm_job_become(alm_job *job, const alm_cursor *cursor);
/* Puts the job into its list, starts it and answers with its id; the job is the list's then. */
ALM_NODISCARD alm_status alm_job_start(alm_cursor *cursor, alm_job *job);
/* Of one that was not started. */
void alm_job_drop(alm_job *job);
void alm_job_free(alm_job *job);

/* Moves the n texts that a list shows of a job that has ended into a small arena, which takes the place of job->texts; of a longer text
 * the first ALM_JOB_TEXT_KEPT bytes. The lists keep many jobs, and nobody's account is charged for them. False: there is no memory, and
 * everything stays as it is. */
enum { ALM_JOB_TEXT_KEPT = 4096 };
bool alm_job_keep_texts(alm_job *job, const char **const *texts, size_t n_texts);

/* Ends the job of that id; identity NULL: whoever's it is. What became of it; NULL: there is none, or it is another's (*others). */
const char *alm_job_cancel(alm_jobs *jobs, alm_str id, const char *identity, bool *others);
const char *alm_job_state_name(alm_job_state state);
/* May the session see, and end, what belongs to that identity? Its rights must be known. */
bool alm_job_is_shown(const alm_session *session, bool all, const char *owner);
/* All of them: without access control, with SQL ENGINE ADMIN, and with CANCEL ANY COPY. */
bool alm_jobs_shows_all(alm_session *session);
/* The log, oldest first: of each job that is shown a row for its beginning and, if it has ended, one for its end. */
typedef alm_status (*alm_job_row_fn)(alm_ctx *cx, const alm_job *job, bool end, const char **cell);
ALM_NODISCARD alm_status alm_jobs_log(alm_ctx *cx, alm_jobs *jobs, size_t n_cells,
                                      alm_job_row_fn row, const char *const **cells, size_t *rows);

#endif
