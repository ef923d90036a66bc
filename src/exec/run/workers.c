/*
 * workers.c - the helper threads and how queries share them.
 *
 * A run is a job in a ring. A helper takes one task of the job at the head and moves the ring on, so
 * that jobs of several queries get helpers in turn, task by task; a task is a morsel of some
 * 100 microseconds, which makes one lock per task cheap. The thread that starts a job works on it
 * too and sleeps only when all its tasks are taken. Nobody spins.
 *
 * Slots       0 is the caller (of this job), 1..n-1 the helpers.
 * Locks       `lock` guards everything in alm_workers and alm_job.
 */
#include <pthread.h>
#include <stdlib.h>

#include "exec/exec.h"

typedef struct alm_job {
    struct alm_job *next, *prev; /* ring of jobs that have tasks left */
    void (*task)(void *arg, uint32_t i, uint32_t slot);
    void *arg;
    uint32_t n, taken, done;
    pthread_cond_t finished;
} alm_job;

typedef struct alm_helper {
    alm_workers *workers;
    uint32_t slot;
    pthread_t thread;
} alm_helper;

struct alm_workers {
    pthread_mutex_t lock;
    pthread_cond_t work;
    alm_job *ring;
    bool stop;
    uint32_t n_threads, n_helpers; /* helpers that could be started */
    alm_helper *helper;
};

static void ring_add(alm_workers *workers, alm_job *job)
{
    if (workers->ring == NULL) {
        job->next = job->prev = job;
        workers->ring = job;
        return;
    }
    job->next = workers->ring; /* at the end: behind the others */
    job->prev = workers->ring->prev;
    job->prev->next = job;
    job->next->prev = job;
}

static void ring_remove(alm_workers *workers, alm_job *job)
{
    if (job->next == job) {
        workers->ring = NULL;
    } else {
        job->prev->next = job->next;
        job->next->prev = job->prev;
        if (workers->ring == job)
            workers->ring = job->next;
    }
    job->next = job->prev = NULL;
}

/* Takes one task of the job and runs it; called and returns with the lock held. */
static void workers_run_one(alm_workers *workers, alm_job *job, uint32_t slot)
{
    const uint32_t i = job->taken++;
    if (job->taken == job->n)
        ring_remove(workers, job);
    pthread_mutex_unlock(&workers->lock);
    job->task(job->arg, i, slot);
    pthread_mutex_lock(&workers->lock);
    if (++job->done == job->n)
        pthread_cond_signal(&job->finished); /* the job's memory is gone once we unlock */
}

static void *helper_main(void *arg)
{
    alm_helper *self = arg;
    alm_workers *workers = self->workers;
    pthread_mutex_lock(&workers->lock);
    for (;;) {
        while (workers->ring == NULL && !workers->stop)
            pthread_cond_wait(&workers->work, &workers->lock);
        if (workers->stop)
            break;
        alm_job *job = workers->ring;
        workers->ring = job->next; /* the next helper looks at the next job first */
        workers_run_one(workers, job, self->slot);
    }
    pthread_mutex_unlock(&workers->lock);
    return NULL;
}

alm_status alm_workers_new(alm_ctx *cx, uint32_t n_threads, alm_workers **out)
{
    ALM_ASSERT(n_threads >= 1 && n_threads <= 4096);
    alm_workers *workers = calloc(1, sizeof *workers);
    if (workers == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory: worker pool");
    workers->helper = calloc(n_threads, sizeof *workers->helper);
    if (workers->helper == NULL) {
        free(workers);
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory: worker pool of %u", n_threads);
    }
    workers->n_threads = n_threads;
    pthread_mutex_init(&workers->lock, NULL);
    pthread_cond_init(&workers->work, NULL);
    for (uint32_t i = 0; i + 1 < n_threads; i++) {
        alm_helper *helper = &workers->helper[i];
        *helper = (alm_helper){.workers = workers, .slot = i + 1};
        if (pthread_create(&helper->thread, NULL, helper_main, helper) != 0) {
            alm_workers_free(workers);
            return alm_fail(cx, ALM_E_BUSY, -1, "cannot start worker thread %u of %u", i + 1,
                            n_threads);
        }
        workers->n_helpers++;
    }
    *out = workers;
    return ALM_OK;
}

void alm_workers_free(alm_workers *workers)
{
    if (workers == NULL)
        return;
    pthread_mutex_lock(&workers->lock);
    ALM_ASSERT(workers->ring == NULL); /* no run may be under way */
    workers->stop = true;
    pthread_cond_broadcast(&workers->work);
    pthread_mutex_unlock(&workers->lock);
    for (uint32_t i = 0; i < workers->n_helpers; i++)
        pthread_join(workers->helper[i].thread, NULL);
    pthread_cond_destroy(&workers->work);
    pthread_mutex_destroy(&workers->lock);
    free(workers->helper);
    free(workers);
}

uint32_t alm_workers_count(const alm_workers *workers)
{
    return workers->n_threads;
}

void alm_workers_run(alm_workers *workers, uint32_t n,
                     void (*task)(void *arg, uint32_t i, uint32_t slot), void *arg)
{
    if (n <= 1 || workers->n_helpers == 0) {
        for (uint32_t i = 0; i < n; i++)
            task(arg, i, 0);
        return;
    }
    alm_job job = {.task = task, .arg = arg, .n = n};
    pthread_cond_init(&job.finished, NULL);
    pthread_mutex_lock(&workers->lock);
    ring_add(workers, &job);
    for (uint32_t i = 0; i + 1 < n && i < workers->n_helpers; i++)
        pthread_cond_signal(&workers->work);
    while (job.taken < job.n)
        workers_run_one(workers, &job, 0);
    while (job.done < job.n)
        pthread_cond_wait(&job.finished, &workers->lock);
    pthread_mutex_unlock(&workers->lock);
    pthread_cond_destroy(&job.finished);
}
