/* job.c - see job.h. */
#include "session/transfer/job.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "session/access/access.h"
#include "session/statement/statement.h"

const char *alm_job_state_name(alm_job_state state)
{
    static const char *const names[] = {"started", "finished", "failed", "cancelled"};
    return names[state];
}

/* -------------------------------------------------------------------- the list */

void alm_jobs_init(alm_jobs *jobs, const alm_job_kind *kind, alm_db *db)
{
    *jobs = (alm_jobs){.kind = kind, .db = db};
    (void)pthread_mutex_init(&jobs->lock, NULL);
}

void alm_jobs_deinit(alm_jobs *jobs)
{
    ALM_ASSERT(jobs->running == 0);
    while (jobs->newest != NULL) {
        alm_job *next = jobs->newest->next;
        alm_job_free(jobs->newest);
        jobs->newest = next;
    }
    (void)pthread_mutex_destroy(&jobs->lock);
}

bool alm_jobs_run(alm_jobs *jobs)
{
    if (jobs == NULL)
        return false;
    (void)pthread_mutex_lock(&jobs->lock);
    const bool any = jobs->running > 0;
    (void)pthread_mutex_unlock(&jobs->lock);
    return any;
}

/* The oldest that ended; with the lock. */
static void forget_oldest(alm_jobs *jobs)
{
    int32_t count = 0;
    for (alm_job **at = &jobs->newest; *at != NULL;) {
        alm_job *job = *at;
        if (++count <= jobs->kind->kept_max || job->state == ALM_JOB_RUNS) {
            at = &job->next;
            continue;
        }
        *at = job->next;
        alm_job_free(job);
    }
}

static void list_changed(alm_jobs *jobs)
{
    if (jobs->kind->changed != NULL)
        jobs->kind->changed(jobs);
}

/* -------------------------------------------------------------------- a job */

alm_status alm_job_new(alm_cursor *cursor, alm_jobs *jobs, size_t bytes, alm_job **out)
{
    alm_ctx *cx = &cursor->cx;
    uint64_t id = 0;
    ALM_ASSERT(bytes >= sizeof(alm_job));
    alm_job *job = calloc(1, bytes);
    if (job == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    job->jobs = jobs;
    job->db = jobs->db;
    job->start_us = cx->now_ns / 1000;
    alm_arena_init(&job->texts, NULL);
    (void)job->db->io->random(job->db->io, &id, sizeof(id));
    (void)snprintf(job->id, sizeof(job->id), "%016llx", (unsigned long long)id);
    alm_status status =
        alm_arena_zstr(cx, &job->texts, alm_str_of(cursor->session->identity), &job->owner);
    if (status == ALM_OK)
        status = alm_session_new(cx, job->db, cursor->session->user, "copy", &job->session);
    if (status != ALM_OK) {
        alm_job_free(job);
        return status;
    }
    *out = job;
    return ALM_OK;
}

void alm_job_become(alm_job *job, const alm_cursor *cursor)
{
    alm_session_become_as(job->session, cursor->session);
    job->session->ends = cursor->session->ends;
    alm_activity_fix(job->session, alm_str_of(cursor->session->activity.text), job->start_us);
}

void alm_job_free(alm_job *job)
{
    alm_arena_deinit(&job->texts);
    free(job);
}

void alm_job_drop(alm_job *job)
{
    alm_session_free(job->session);
    alm_job_free(job);
}

bool alm_job_keep_texts(alm_job *job, const char **const *texts, size_t n_texts)
{
    enum { TEXTS_MAX = 4 };
    alm_ctx cx = {0};
    alm_arena little;
    const char *kept[TEXTS_MAX] = {0};
    alm_status status = ALM_OK;
    ALM_ASSERT(n_texts <= TEXTS_MAX);
    alm_arena_init_small(&little, NULL);
    for (size_t i = 0; i < n_texts && status == ALM_OK; i++) {
        alm_str text = alm_str_of(*texts[i]);
        text.len = ALM_MIN(text.len, (size_t)ALM_JOB_TEXT_KEPT);
        text.len = alm_utf8_bad_at(text); /* whole characters */
        status = alm_arena_zstr(&cx, &little, text, &kept[i]);
    }
    if (status != ALM_OK) {
        alm_arena_deinit(&little);
        return false;
    }
    for (size_t i = 0; i < n_texts; i++)
        *texts[i] = kept[i];
    alm_arena_deinit(&job->texts);
    job->texts = little;
    return true;
}

/* -------------------------------------------------------------------- its thread */

static void end_job(alm_job *job, alm_status status, const alm_error *err)
{
    alm_jobs *jobs = job->jobs;
    alm_session *session = job->session;
    const alm_io *io = job->db->io;
    (void)pthread_mutex_lock(&jobs->lock);
    job->session = NULL;
    job->end_us = io->wall_ns(io) / 1000;
    job->state = status == ALM_OK         ? ALM_JOB_FINISHED
                 : status == ALM_E_CANCEL ? ALM_JOB_CANCELLED
                                          : ALM_JOB_FAILED;
    if (status != ALM_OK)
        (void)snprintf(job->message, sizeof(job->message), "%s", err->msg);
    jobs->kind->ended(job, status); /* from here on the list may forget it */
    (void)pthread_mutex_unlock(&jobs->lock);
    alm_session_free(session);
    list_changed(jobs);
    (void)pthread_mutex_lock(&jobs->lock);
    jobs->running--; /* the process may go now */
    (void)pthread_mutex_unlock(&jobs->lock);
}

static void *job_main(void *arg)
{
    alm_job *job = arg;
    alm_error err = {0};
    const alm_status status = job->jobs->kind->run(job, &err);
    end_job(job, status, &err);
    return NULL;
}

static alm_status start_thread(alm_ctx *cx, alm_job *job)
{
    alm_jobs *jobs = job->jobs;
    const int64_t max = job->db->conf->copy_jobs_max;
    pthread_t thread;
    alm_status status = ALM_OK;
    (void)pthread_mutex_lock(&jobs->lock);
    if (jobs->running >= max)
        status = alm_fail(cx, ALM_E_BUSY, -1, "%d %s run already: the limit is copy.jobs.max",
                          jobs->running, jobs->kind->name);
    else if (pthread_create(&thread, NULL, job_main, job) != 0)
        status = alm_fail(cx, ALM_E_BUSY, -1, "cannot start a thread for COPY");
    if (status == ALM_OK) {
        (void)pthread_detach(thread);
        jobs->running++;
        job->next = jobs->newest;
        jobs->newest = job;
        forget_oldest(jobs);
    }
    (void)pthread_mutex_unlock(&jobs->lock);
    return status;
}

alm_status alm_job_start(alm_cursor *cursor, alm_job *job)
{
    alm_jobs *jobs = job->jobs;
    const char *id = NULL;
    ALM_TRY(alm_arena_printf(&cursor->cx, cursor->cx.arena, &id, "%s",
                             job->id)); /* it may end any time */
    ALM_TRY(alm_cursor_texts(cursor, "id", &id, 1));
    ALM_TRY(start_thread(&cursor->cx, job));
    list_changed(jobs);
    return ALM_OK;
}

/* -------------------------------------------------------------------- cancel, listing */

const char *alm_job_cancel(alm_jobs *jobs, alm_str id, const char *identity, bool *others)
{
    const char *said = NULL;
    (void)pthread_mutex_lock(&jobs->lock);
    for (alm_job *job = jobs->newest; job != NULL && said == NULL; job = job->next) {
        if (!alm_str_ieq(id, alm_str_of(job->id)))
            continue;
        *others = identity != NULL && strcmp(job->owner, identity) != 0;
        if (*others)
            break;
        atomic_store(&job->cancel, true);
        if (job->session != NULL)
            atomic_store(&job->session->cancel, true);
        said = job->session != NULL ? "cancelled" : alm_job_state_name(job->state);
    }
    (void)pthread_mutex_unlock(&jobs->lock);
    return said;
}

bool alm_job_is_shown(const alm_session *session, bool all, const char *owner)
{
    return all || strcmp(owner, session->identity) == 0;
}

bool alm_jobs_shows_all(alm_session *session)
{
    return alm_session_holds(session, "SQL ENGINE ADMIN") ||
           alm_session_holds(session, "CANCEL ANY COPY");
}

alm_status alm_jobs_log(alm_ctx *cx, alm_jobs *jobs, size_t n_cells, alm_job_row_fn row,
                        const char *const **cells, size_t *rows)
{
    const char **out = NULL;
    size_t count = 0;
    const bool all = alm_jobs_shows_all(cx->session);
    *rows = 0;
    (void)pthread_mutex_lock(&jobs->lock);
    for (const alm_job *job = jobs->newest; job != NULL; job = job->next)
        if (alm_job_is_shown(cx->session, all, job->owner))
            count += job->state == ALM_JOB_RUNS ? 1 : 2;
    alm_status status = ALM_NEWN(cx, cx->arena, count * n_cells + 1, &out);
    size_t offset = count; /* newest last */
    for (const alm_job *job = jobs->newest; status == ALM_OK && job != NULL; job = job->next) {
        if (!alm_job_is_shown(cx->session, all, job->owner))
            continue;
        if (job->state != ALM_JOB_RUNS)
            status = row(cx, job, true, out + --offset * n_cells);
        if (status == ALM_OK)
            status = row(cx, job, false, out + --offset * n_cells);
    }
    (void)pthread_mutex_unlock(&jobs->lock);
    ALM_TRY(status);
    *cells = out;
    *rows = count;
    return ALM_OK;
}
