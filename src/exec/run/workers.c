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

static void ring_add(alm_workers *w, alm_job *job)
{
    if (w->ring == NULL) {
        job->next = job->prev = job;
        w->ring = job;
        return;
    }
    job->next = w->ring; /* at the end: behind the others */
    job->prev = w->ring->prev;
    job->prev->next = job;
    job->next->prev = job;
}

static void ring_remove(alm_workers *w, alm_job *job)
{
    if (job->next == job) {
        w->ring = NULL;
    } else {
        job->prev->next = job->next;
        job->next->prev = job->prev;
        if (w->ring == job)
            w->ring = job->next;
    }
    job->next = job->prev = NULL;
}

/* Takes one task of the job and runs it; called and returns with the lock held. */
static void run_one(alm_workers *w, alm_job *job, uint32_t slot)
{
    const uint32_t i = job->taken++;
    if (job->taken == job->n)
        ring_remove(w, job);
    pthread_mutex_unlock(&w->lock);
    job->task(job->arg, i, slot);
    pthread_mutex_lock(&w->lock);
    if (++job->done == job->n)
        pthread_cond_signal(&job->finished); /* the job's memory is gone once we unlock */
}

static void *helper_main(void *arg)
{
    alm_helper *self = arg;
    alm_workers *w = self->workers;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (w->ring == NULL && !w->stop)
            pthread_cond_wait(&w->work, &w->lock);
        if (w->stop)
            break;
        alm_job *job = w->ring;
        w->ring = job->next; /* the next helper looks at the next job first */
        run_one(w, job, self->slot);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

alm_status alm_workers_new(alm_ctx *cx, uint32_t n_threads, alm_workers **out)
{
    ALM_ASSERT(n_threads >= 1 && n_threads <= 4096);
    alm_workers *w = calloc(1, sizeof *w);
    if (w == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory: worker pool");
    w->helper = calloc(n_threads, sizeof *w->helper);
    if (w->helper == NULL) {
        free(w);
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory: worker pool of %u", n_threads);
    }
    w->n_threads = n_threads;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->work, NULL);
    for (uint32_t i = 0; i + 1 < n_threads; i++) {
        alm_helper *h = &w->helper[i];
        *h = (alm_helper){.workers = w, .slot = i + 1};
        if (pthread_create(&h->thread, NULL, helper_main, h) != 0) {
            alm_workers_free(w);
            return alm_fail(cx, ALM_E_BUSY, -1, "cannot start worker thread %u of %u", i + 1,
                            n_threads);
        }
        w->n_helpers++;
    }
    *out = w;
    return ALM_OK;
}

void alm_workers_free(alm_workers *w)
{
    if (w == NULL)
        return;
    pthread_mutex_lock(&w->lock);
    ALM_ASSERT(w->ring == NULL); /* no run may be under way */
    w->stop = true;
    pthread_cond_broadcast(&w->work);
    pthread_mutex_unlock(&w->lock);
    for (uint32_t i = 0; i < w->n_helpers; i++)
        pthread_join(w->helper[i].thread, NULL);
    pthread_cond_destroy(&w->work);
    pthread_mutex_destroy(&w->lock);
    free(w->helper);
    free(w);
}

uint32_t alm_workers_count(const alm_workers *w)
{
    return w->n_threads;
}

void alm_workers_run(alm_workers *w, uint32_t n, void (*task)(void *arg, uint32_t i, uint32_t slot),
                     void *arg)
{
    if (n <= 1 || w->n_helpers == 0) {
        for (uint32_t i = 0; i < n; i++)
            task(arg, i, 0);
        return;
    }
    alm_job job = {.task = task, .arg = arg, .n = n};
    pthread_cond_init(&job.finished, NULL);
    pthread_mutex_lock(&w->lock);
    ring_add(w, &job);
    for (uint32_t i = 0; i + 1 < n && i < w->n_helpers; i++)
        pthread_cond_signal(&w->work);
    while (job.taken < job.n)
        run_one(w, &job, 0);
    while (job.done < job.n)
        pthread_cond_wait(&job.finished, &w->lock);
    pthread_mutex_unlock(&w->lock);
    pthread_cond_destroy(&job.finished);
}
