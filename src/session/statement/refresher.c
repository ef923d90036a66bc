/*
 * refresher.c - the threads that refresh materialized views by themselves: after commits that touched their
 * base (IMMEDIATE), by the clock (EVERY), for the first time after they were created.
 *
 * Threads     One looks for what is due, and watches refreshes that run (matview.h), those by REFRESH too. It hands what is due to
 *             mat.view.refresh.worker.count others, so that a view whose query has no end does not hold up the views of others;
 *             all but one of them, at most, run views that one user made. When refreshes that take long have all of them, further
 *             threads, which are few, refresh the views of users for whom none runs.
 *             A view is in the list of jobs once: while it is refreshed it is not begun again.
 * Latency     Commits wake the first; it gives a burst of them a moment to end, and what comes while a view is
 *             refreshed is taken together by its next refresh.
 * Restart     What to do is seen in the catalogue (touched times, state of the view) alone, so a start
 *             goes on where the process ended.
 * Failure     that makes no view invalid (no room, no memory) is tried again a second later.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "session/access/access.h"
#include "session/statement/matview.h"
#include "session/statement/statement.h"

enum { BURST_MS = 5, IDLE_MS = 1000, LONG_MS = 5000, EXTRA_MAX = 8, EXTRA_FACTOR = 3 };

typedef enum job_state { JOB_QUEUED, JOB_RUNS, JOB_RESTS } job_state;

typedef struct refresh_job {
    struct refresh_job *next;
    job_state state;
    int64_t began_ns;      /* JOB_RUNS */
    int64_t rest_until_ns; /* JOB_RESTS: it failed */
    uint64_t maker;        /* who made it; 0: nobody but the administrator */
    size_t name_bytes;
    char name[]; /* of the view, terminated */
} refresh_job;

typedef struct refresh_worker {
    struct alm_refreshers *all;
    pthread_t thread;
    bool started;
    alm_session *session;
    alm_error told; /* the last failure that was logged */
} refresh_worker;

struct alm_refreshers {
    alm_db *db;
    pthread_t thread; /* the one that looks */
    bool started;
    pthread_mutex_t lock; /* of jobs and stop */
    pthread_cond_t queued;
    refresh_job *jobs; /* the oldest first */
    bool stop;
    uint32_t n_workers; /* threads */
    uint32_t at_once;   /* of them in use while no refresh takes long */
    refresh_worker worker[];
};

typedef struct round_plan {
    const alm_table *view, *base;
    int64_t now_us, next_us; /* when to look again at the latest */
} round_plan;

static const alm_table *refresher_base_of(const alm_snapshot *snap, const alm_view_def *def)
{
    const alm_table *base = alm_snapshot_find(snap, alm_str_of(def->base));
    return base != NULL && base->id == def->base_id ? base : NULL;
}

static alm_status refresher_is_due(alm_ctx *cx, round_plan *p, bool *due)
{
    const alm_view_def *def = p->view->view;
    int64_t period_hi = 0;
    *due = false;
    ALM_TRY(alm_matview_period_hi(cx, def, p->base, p->now_us, &period_hi));
    const bool behind =
        alm_table_is_touched(p->base, def->lsn) || (def->lsn > 0 && period_hi != def->period_hi);
    if (def->refresh == ALM_REFRESH_TIMER) {
        int64_t last = 0, next = 0;
        ALM_TRY(alm_matview_timer(cx, def, p->now_us, &last, &next));
        p->next_us = ALM_MIN(p->next_us, next);
        const int64_t since = def->started_us != ALM_TS_NULL ? def->started_us : def->status_us;
        const bool rang = since < last;
        *due = def->lsn == 0 ? rang || !def->deferred : rang && behind;
        return ALM_OK;
    }
    if (def->lsn == 0)
        *due = !def->deferred || (def->refresh == ALM_REFRESH_IMMEDIATE && behind);
    else
        *due = def->refresh == ALM_REFRESH_IMMEDIATE && behind;
    return ALM_OK;
}

/* Names of the views to refresh now, one after the other with a zero byte behind each. */
static alm_status refresher_collect(alm_ctx *cx, alm_db *db, alm_buf *names, int64_t *next_us)
{
    alm_snapshot *snap = NULL;
    round_plan p = {.now_us = db->io->wall_ns(db->io) / 1000, .next_us = *next_us};
    alm_status status = alm_snapshot_acquire(cx, db->storage, &snap);
    for (size_t i = 0; status == ALM_OK && i < alm_snapshot_count(snap); i++) {
        bool due = false;
        p.view = alm_snapshot_at(snap, i);
        if (p.view->kind != ALM_TABLE_MATVIEW || p.view->view->reason[0] != 0)
            continue;
        p.base = refresher_base_of(snap, p.view->view);
        if (p.base == NULL)
            continue;
        if (refresher_is_due(cx, &p, &due) !=
            ALM_OK) { /* its zone is gone, say: the others go on */
            alm_log_warn("views", "'%s' is not refreshed: %s", p.view->name, cx->err.msg);
            alm_error_clear(cx);
            continue;
        }
        if (due)
            status = alm_buf_append(cx, names, p.view->name, strlen(p.view->name) + 1);
    }
    alm_snapshot_release(snap);
    *next_us = p.next_us;
    return status;
}

/* Says why a refresh failed, but not each second the same. */
static void refresher_tell(refresh_worker *worker, const char *name)
{
    const alm_error *error = &worker->session->err;
    if (atomic_load(&worker->session->db->stopping) || error->code == ALM_E_CONFLICT ||
        error->code == ALM_E_TABLE || strcmp(error->msg, worker->told.msg) == 0)
        return; /* or the view was dropped meanwhile */
    alm_log_warn("views", "refresh of '%s' failed: %s", name, error->msg);
    worker->told = *error;
}

static alm_status refresh_one(alm_ctx *cx, refresh_worker *worker, const char *name)
{
    alm_session *session = worker->session;
    alm_buf sql;
    alm_prepared *prepared = NULL;
    alm_cursor *cursor = NULL;
    alm_buf_init(&sql, NULL);
    alm_status status = alm_buf_text(cx, &sql, "refresh materialized view \"");
    for (const char *ptr = name; *ptr != 0 && status == ALM_OK; ptr++)
        status = alm_buf_append(cx, &sql, *ptr == '"' ? "\"\"" : ptr, *ptr == '"' ? 2 : 1);
    if (status == ALM_OK)
        status = alm_buf_text(cx, &sql, "\" incremental");
    if (status == ALM_OK)
        status = alm_prepare(session, (alm_str){sql.ptr, sql.len}, NULL, &prepared);
    if (status == ALM_OK)
        status = alm_execute(session, prepared, NULL, 0, &cursor);
    if (status != ALM_OK)
        refresher_tell(worker, name);
    if (cursor != NULL)
        alm_cursor_close(cursor);
    if (prepared != NULL)
        alm_prepared_free(prepared);
    alm_buf_deinit(&sql);
    return status;
}

/* ---------------------------------------------------------------------- jobs */

static refresh_job **find_job(alm_refreshers *refreshers, const char *name)
{
    refresh_job **at = &refreshers->jobs;
    while (*at != NULL && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    return at;
}

static void drop_job(refresh_job **at)
{
    refresh_job *job = *at;
    ALM_ASSERT(job != NULL);
    *at = job->next;
    free(job);
}

/* One name more of a view that is due; with the lock. */
static void refresher_enqueue(alm_refreshers *refreshers, const char *name, uint64_t maker)
{
    refresh_job **at = find_job(refreshers, name);
    if (*at != NULL) {
        (*at)->maker = maker;
        if ((*at)->state == JOB_RESTS && alm_monotonic_ns() >= (*at)->rest_until_ns)
            (*at)->state = JOB_QUEUED;
        return;
    }
    const size_t bytes = strlen(name) + 1;
    refresh_job *job = calloc(1, sizeof(*job) + bytes);
    if (job == NULL)
        return; /* the next look finds it due again */
    job->maker = maker;
    job->name_bytes = bytes;
    (void)memcpy(job->name, name, bytes);
    *at = job;
}

/* Views that failed and are not due any more: they were dropped, say. */
static void forget_rested(alm_refreshers *refreshers)
{
    for (refresh_job **at = &refreshers->jobs; *at != NULL;) {
        if ((*at)->state == JOB_RESTS && alm_monotonic_ns() >= (*at)->rest_until_ns)
            drop_job(at);
        else
            at = &(*at)->next;
    }
}

typedef struct busy {
    uint32_t all, takes_long, of_maker;
} busy;

static busy count_busy(const alm_refreshers *refreshers, uint64_t maker)
{
    const int64_t now_ns = alm_monotonic_ns();
    busy result = {0};
    for (const refresh_job *job = refreshers->jobs; job != NULL; job = job->next) {
        if (job->state != JOB_RUNS)
            continue;
        result.all++;
        result.takes_long += now_ns - job->began_ns > LONG_MS * INT64_C(1000000);
        result.of_maker += job->maker == maker;
    }
    ALM_ASSERT(result.all <= refreshers->n_workers);
    return result;
}

/* One user's views leave a worker to those of others, whatever their queries are; and so do those of several users, as long as there
 * are threads. The thread that looks for what is due wakes all each second, so that what takes long is noticed. */
static bool has_turn(const alm_refreshers *refreshers, const refresh_job *job)
{
    const busy self = count_busy(refreshers, job->maker);
    if (self.all < refreshers->at_once)
        return job->maker == 0 || self.of_maker == 0 || self.of_maker + 1 < refreshers->at_once;
    return self.of_maker == 0 && self.all - self.takes_long < refreshers->at_once;
}

static refresh_job *next_job(alm_refreshers *refreshers)
{
    refresh_job *job = refreshers->jobs;
    while (job != NULL && (job->state != JOB_QUEUED || !has_turn(refreshers, job)))
        job = job->next;
    return job;
}

static void *refresher_worker_main(void *arg)
{
    refresh_worker *worker = arg;
    alm_refreshers *refreshers = worker->all;
    const alm_db *db = refreshers->db;
    (void)pthread_mutex_lock(&refreshers->lock);
    while (!refreshers->stop) {
        refresh_job *job = next_job(refreshers);
        if (job == NULL) {
            (void)pthread_cond_wait(&refreshers->queued, &refreshers->lock);
            continue;
        }
        job->state = JOB_RUNS; /* nobody else takes it from the list now */
        job->began_ns = alm_monotonic_ns();
        (void)pthread_mutex_unlock(&refreshers->lock);
        alm_ctx cx = {.io = db->io, .zones = db->zones, .conf = db->conf};
        const alm_status status = refresh_one(&cx, worker, job->name);
        (void)pthread_mutex_lock(&refreshers->lock);
        job->state = JOB_RESTS;
        job->rest_until_ns = alm_monotonic_ns() + IDLE_MS * INT64_C(1000000);
        if (status == ALM_OK)
            drop_job(find_job(refreshers, job->name));
        (void)pthread_mutex_unlock(&refreshers->lock);
        alm_touch_wake(db->storage); /* what came while it ran */
        (void)pthread_mutex_lock(&refreshers->lock);
    }
    (void)pthread_mutex_unlock(&refreshers->lock);
    return NULL;
}

/* ---------------------------------------------------------------------- looking */

static void refresher_one_round(alm_refreshers *refreshers, int64_t *next_us)
{
    alm_acl *acl = NULL;
    alm_db *db = refreshers->db;
    alm_arena arena;
    alm_buf names;
    alm_arena_init(&arena, NULL);
    alm_buf_init(&names, NULL);
    alm_ctx cx = {.arena = &arena, .io = db->io, .zones = db->zones, .conf = db->conf};
    const bool found = refresher_collect(&cx, db, &names, next_us) == ALM_OK;
    alm_error_clear(&cx);
    if (found && names.len > 0 && db->conf != NULL && db->conf->acl_enabled &&
        alm_db_acl(&cx, db, &acl) != ALM_OK)
        alm_error_clear(&cx);
    (void)pthread_mutex_lock(&refreshers->lock);
    for (size_t offset = 0; found && offset < names.len; offset += strlen(names.ptr + offset) + 1)
        refresher_enqueue(refreshers, names.ptr + offset,
                          alm_view_maker(db, acl, names.ptr + offset));
    if (found)
        forget_rested(refreshers);
    (void)pthread_cond_broadcast(&refreshers->queued);
    (void)pthread_mutex_unlock(&refreshers->lock);
    alm_refreshes_watch(&cx, db);
    alm_acl_release(acl);
    alm_buf_deinit(&names);
    alm_arena_deinit(&arena);
}

static void *refresher_main(void *arg)
{
    alm_refreshers *refreshers = arg;
    alm_db *db = refreshers->db;
    uint64_t seen = alm_touch_wait(db->storage, 0, 0);
    while (!atomic_load(&db->stopping)) {
        const int64_t now_us = db->io->wall_ns(db->io) / 1000;
        int64_t next_us = now_us + IDLE_MS * 1000;
        refresher_one_round(refreshers, &next_us);
        const int64_t millis = ALM_MIN(ALM_MAX((next_us - now_us) / 1000, 1), (int64_t)IDLE_MS);
        seen = alm_touch_wait(db->storage, seen, millis);
        if (!atomic_load(&db->stopping))
            (void)usleep(BURST_MS * 1000);
    }
    return NULL;
}

/* ---------------------------------------------------------------------- life */

static alm_status start_worker(alm_ctx *cx, alm_refreshers *refreshers)
{
    refresh_worker *worker = &refreshers->worker[refreshers->n_workers];
    worker->all = refreshers;
    ALM_TRY(alm_session_new(cx, refreshers->db, "refresher", "refresh", &worker->session));
    worker->session->of_users = true;
    refreshers->n_workers++;
    const int code = pthread_create(&worker->thread, NULL, refresher_worker_main, worker);
    worker->started = code == 0;
    return code == 0 ? ALM_OK
                     : alm_io_fail(cx, -code, "start a thread that refreshes materialized views");
}

alm_status alm_refresher_start(alm_ctx *cx, alm_db *db)
{
    const uint32_t at_once =
        db->conf != NULL ? (uint32_t)db->conf->mat_view_refresh_worker_count : 1;
    const bool users = db->conf != NULL && db->conf->acl_enabled;
    const uint32_t n = at_once + (users ? ALM_MIN(EXTRA_FACTOR * at_once, (uint32_t)EXTRA_MAX) : 0);
    alm_refreshers *refreshers = calloc(1, sizeof(*refreshers) + n * sizeof(refreshers->worker[0]));
    if (refreshers == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    refreshers->db = db;
    refreshers->at_once = at_once;
    (void)pthread_mutex_init(&refreshers->lock, NULL);
    (void)pthread_cond_init(&refreshers->queued, NULL);
    db->refreshers = refreshers;
    for (uint32_t i = 0; i < n; i++)
        ALM_TRY(start_worker(cx, refreshers)); /* alm_refresher_stop ends those that run */
    const int code = pthread_create(&refreshers->thread, NULL, refresher_main, refreshers);
    refreshers->started = code == 0;
    return code == 0 ? ALM_OK
                     : alm_io_fail(cx, -code, "start the thread that looks for materialized views");
}

void alm_refresher_stop(alm_db *db)
{
    alm_refreshers *refreshers = db->refreshers;
    if (refreshers == NULL)
        return;
    for (uint32_t i = 0; i < refreshers->n_workers; i++)
        alm_session_abandon(refreshers->worker[i].session);
    (void)pthread_mutex_lock(&refreshers->lock);
    refreshers->stop = true;
    (void)pthread_cond_broadcast(&refreshers->queued);
    (void)pthread_mutex_unlock(&refreshers->lock);
    alm_touch_wake(db->storage);
    if (refreshers->started)
        (void)pthread_join(refreshers->thread, NULL);
    for (uint32_t i = 0; i < refreshers->n_workers; i++) {
        if (refreshers->worker[i].started)
            (void)pthread_join(refreshers->worker[i].thread, NULL);
        alm_session_free(refreshers->worker[i].session);
    }
    while (refreshers->jobs != NULL)
        drop_job(&refreshers->jobs);
    (void)pthread_cond_destroy(&refreshers->queued);
    (void)pthread_mutex_destroy(&refreshers->lock);
    free(refreshers);
    db->refreshers = NULL;
}
