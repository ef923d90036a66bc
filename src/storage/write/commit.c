/*
 * commit.c - the leader of a group: prepare all, write and sync the log once, publish once.
 */
#include "storage/write/commit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/wait.h"
#include "storage/version/encode.h"
#include "storage/version/records.h"
#include "storage/write/reserve.h"

void alm_storage_set_failed(alm_storage *storage, const alm_ctx *cx)
{
    (void)pthread_mutex_lock(&storage->queue_lock);
    if (!storage->failed) {
        (void)snprintf(storage->failed_why, sizeof storage->failed_why, "%.200s", cx->err.msg);
        atomic_store(&storage->failed, true);
        alm_log_error("storage", "read-only until a restart: %s", storage->failed_why);
    }
    (void)pthread_mutex_unlock(&storage->queue_lock);
}

alm_status alm_storage_writable(alm_ctx *cx, alm_storage *storage)
{
    if (!atomic_load(&storage->failed))
        return ALM_OK;
    return alm_fail(cx, ALM_E_IO, -1,
                    "writes are refused until a restart, because the disk failed: %s",
                    storage->failed_why); /* set before `failed`, once */
}

static void fail_request(alm_request *request, const alm_ctx *why)
{
    request->status = alm_fail(request->cx, why->err.code, -1, "%s", why->err.msg);
}

/* The records first: they can be taken back when the rest fails. */
static alm_status prepare_both(alm_request *request, alm_build *build)
{
    alm_records *before = alm_records_retain(build->next->records);
    request->records_buf.len = 0;
    alm_status status = alm_op_records(request->cx, &request->records_buf, request->records);
    if (status == ALM_OK)
        status = alm_change_records(request->cx, build, request->records);
    if (status == ALM_OK)
        status = request->prepare(request->cx, request, build);
    if (status == ALM_OK) {
        request->pieces[request->n_pieces++] =
            (alm_wal_piece){request->records_buf.ptr, request->records_buf.len};
    } else {
        alm_records_release(build->next->records);
        build->next->records = alm_records_retain(before);
    }
    alm_records_release(before);
    return status;
}

static void prepare_request(alm_storage *storage, alm_request *request, alm_build *build)
{
    request->buf.len = 0;
    request->n_pieces = 0;
    request->status = ALM_OK;
    if (!request->no_log)
        request->status = alm_storage_writable(request->cx, storage);
    if (request->status == ALM_OK && !request->no_log)
        request->status = alm_storage_takes_space(request->cx, storage);
    if (request->status == ALM_OK && !request->no_log && request->cx->rewrite != 0)
        request->status = alm_faults_refuse(request->cx, storage, request->cx->map_faults);
    request->lsn = request->no_log ? build->next->lsn : storage->wal.next_lsn++;
    build->lsn = request->lsn;
    if (request->status == ALM_OK)
        request->status = request->records != NULL ? prepare_both(request, build)
                                                   : request->prepare(request->cx, request, build);
    if (request->status == ALM_OK)
        build->next->lsn = request->lsn;
}

typedef struct time_op { /* ALM_OP_TIME */
    uint32_t kind, zero;
    uint64_t bytes;
    int64_t us;
} time_op;

/* Prepares the requests [list, end), logs and publishes. False: the log did not take them; *log has
 * the reason, nothing is published. */
static bool run_group(alm_storage *storage, alm_request *list, const alm_request *end, alm_ctx *log)
{
    alm_build build;
    alm_wal_record *records = NULL;
    const time_op when = {
        .kind = ALM_OP_TIME, .bytes = 8, .us = storage->io->wall_ns(storage->io) / 1000};
    size_t count = 0;
    for (const alm_request *request = list; request != end; request = request->next)
        count++;
    if (alm_build_begin(log, storage, &build) != ALM_OK)
        return false;
    if (alm_heap_bytes(log, count * sizeof *records, "a commit", &records) != ALM_OK) {
        alm_build_abandon(&build);
        return false;
    }
    count = 0;
    for (alm_request *request = list; request != end; request = request->next) {
        prepare_request(storage, request, &build);
        if (request->status != ALM_OK || request->no_log)
            continue;
        request->pieces[request->n_pieces++] = (alm_wal_piece){&when, sizeof when};
        records[count++] = (alm_wal_record){
            .lsn = request->lsn, .pieces = request->pieces, .n_pieces = request->n_pieces};
    }
    bool fatal = false, taken = true;
    const int64_t start_ns = storage->io->mono_ns(storage->io);
    if (count > 0)
        taken = alm_wal_append(log, &storage->wal, records, count,
                               storage->conf.sync == ALM_SYNC_COMMIT, &fatal) == ALM_OK;
    free(records);
    if (count > 0)
        storage->log_ns = storage->io->mono_ns(storage->io) - start_ns;
    if (!taken) {
        alm_build_abandon(&build);
        if (fatal)
            alm_storage_set_failed(storage, log);
        return false;
    }
    atomic_fetch_add(&storage->commits, (int64_t)count);
    alm_build_publish(&build);
    return true;
}

/* Once more in the space of the reserve, where the disk was full and the request is to end that. */
static bool run_in_reserve(alm_storage *storage, alm_request *request, alm_ctx *log)
{
    if (log->err.code != ALM_E_DISK_FULL || !request->cx->frees || !alm_reserve_spend(storage))
        return false;
    alm_error_clear(log);
    return run_group(storage, request, request->next, log);
}

/* A group that the log did not take for lack of space is taken apart: small ones may still fit. */
static void lead_list(alm_storage *storage, alm_request *list)
{
    alm_ctx log = {0};
    if (run_group(storage, list, NULL, &log))
        return;
    const bool alone = list->next == NULL;
    const bool space = log.err.code == ALM_E_DISK_FULL || log.err.code == ALM_E_MEMORY;
    for (alm_request *request = list; request != NULL; request = request->next) {
        alm_ctx one = {0};
        if (request->status != ALM_OK)
            continue; /* its own fault, told already */
        one.err = log.err;
        if (!alone && space) {
            alm_error_clear(&one);
            if (run_group(storage, request, request->next, &one))
                continue;
        }
        if (request->status == ALM_OK && !run_in_reserve(storage, request, &one) &&
            request->status == ALM_OK)
            fail_request(request, &one);
    }
}

/* ---------------------------------------------------------------------- the queue */

static void request_begin(alm_request *request)
{
    request->status = ALM_OK;
    request->done = false;
    request->next = NULL;
    alm_buf_init(&request->buf, NULL);
    alm_buf_init(&request->records_buf, NULL);
}

static void request_end(alm_request *request)
{
    alm_buf_deinit(&request->buf);
    alm_buf_deinit(&request->records_buf);
}

/* With the lock of the queue held. */
static void enqueue_one(alm_storage *storage, alm_request *request)
{
    *storage->queue_tail = request;
    storage->queue_tail = &request->next;
    storage->queue_n++;
    if (storage->crowd_wanted > 0 && storage->queue_n >= storage->crowd_wanted)
        (void)pthread_cond_signal(&storage->crowd_cond);
}

/* Returns with the lock of the queue held. */
static void commit_enqueue(alm_ctx *cx, alm_storage *storage, alm_request *request)
{
    request->cx = cx;
    request_begin(request);
    (void)pthread_mutex_lock(&storage->queue_lock);
    enqueue_one(storage, request);
}

/* Leads the group of all that wait. Takes and gives back the queue with its lock held; returns the
 * requests of the group that are to be told, those nobody waits for. */
static alm_request *lead_group(alm_storage *storage)
{
    alm_request *list = storage->queue_head, *tell = NULL, **tail = &tell;
    const uint32_t n = storage->queue_n;
    storage->leading = true;
    storage->queue_n = 0;
    storage->queue_head = NULL;
    storage->queue_tail = &storage->queue_head;
    (void)pthread_mutex_unlock(&storage->queue_lock);
    lead_list(storage, list);
    (void)pthread_mutex_lock(&storage->queue_lock);
    for (alm_request *next = list; list != NULL; list = next) {
        next = list->next;
        if (list->finished != NULL) {
            list->next = NULL;
            *tail = list;
            tail = &list->next;
            continue;
        }
        list->done = true; /* its owner may free it as soon as the lock is given up */
        (void)pthread_cond_signal(&list->wake);
    }
    storage->leading = false;
    storage->crowd = n + storage->queue_n;
    return tell;
}

static void tell_all(alm_request *list)
{
    for (alm_request *next = list; list != NULL; list = next) {
        next = list->next;
        list->finished(list);
    }
}

/* With the lock held, nobody leads: should somebody be called to lead? Who waits himself is woken. */
static bool wants_leader(alm_storage *storage)
{
    if (storage->queue_head == NULL || storage->leading)
        return false;
    if (storage->queue_head->finished == NULL) {
        (void)pthread_cond_signal(&storage->queue_head->wake);
        return false;
    }
    const bool call = !storage->leader_called;
    storage->leader_called = true;
    return call;
}

/* Until the request is done: leads where nobody else does. Takes and gives back the queue with its lock held. */
static void wait_for(alm_storage *storage, alm_request *request)
{
    while (!request->done) {
        if (storage->leading) {
            (void)pthread_cond_wait(&request->wake, &storage->queue_lock);
            continue;
        }
        alm_request *tell = lead_group(storage);
        const bool call = wants_leader(storage);
        (void)pthread_mutex_unlock(&storage->queue_lock);
        tell_all(tell);
        if (call)
            storage->lead(storage->lead_arg);
        (void)pthread_mutex_lock(&storage->queue_lock);
    }
}

alm_status alm_commit(alm_ctx *cx, alm_storage *storage, alm_request *request)
{
    (void)pthread_cond_init(&request->wake, NULL);
    commit_enqueue(cx, storage, request);
    wait_for(storage, request);
    (void)pthread_mutex_unlock(&storage->queue_lock);
    (void)pthread_cond_destroy(&request->wake);
    request_end(request);
    return request->status;
}

void alm_commit_all(alm_storage *storage, alm_request *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ALM_ASSERT(list[i].cx != NULL && list[i].finished == NULL);
        (void)pthread_cond_init(&list[i].wake, NULL);
        request_begin(&list[i]);
    }
    (void)pthread_mutex_lock(&storage->queue_lock);
    for (size_t i = 0; i < n; i++)
        enqueue_one(storage, &list[i]);
    if (n > 0) /* they came together, so they are in one group: the first is told with the last */
        wait_for(storage, &list[0]);
    (void)pthread_mutex_unlock(&storage->queue_lock);
    for (size_t i = 0; i < n; i++) {
        ALM_ASSERT(list[i].done);
        (void)pthread_cond_destroy(&list[i].wake);
        request_end(&list[i]);
    }
}

void alm_commit_start(alm_ctx *cx, alm_storage *storage, alm_request *request)
{
    commit_enqueue(cx, storage, request);
    const bool call = !storage->leading && !storage->leader_called;
    storage->leader_called |= call;
    (void)pthread_mutex_unlock(&storage->queue_lock);
    if (call)
        storage->lead(storage->lead_arg);
}

/*
 * Where many commit at the same time, those of the last group come back soon: a leader whom nobody waits
 * for waits for most of them, as long as the log takes at the most. A group costs much, a member little.
 */
static void commit_gather(alm_storage *storage)
{
    enum { CROWD_MIN = 8, WAIT_US_MAX = 2000 };
    const uint32_t wanted = storage->crowd - storage->crowd / 4;
    if (storage->crowd < CROWD_MIN || storage->queue_n >= wanted)
        return;
    storage->leading = true;
    storage->crowd_wanted = wanted;
    (void)alm_cond_wait_us(&storage->crowd_cond, &storage->queue_lock,
                           ALM_MIN(storage->log_ns / 1000, WAIT_US_MAX));
    storage->crowd_wanted = 0;
}

void alm_storage_lead(alm_storage *storage)
{
    (void)pthread_mutex_lock(&storage->queue_lock);
    storage->leader_called = false;
    while (storage->queue_head != NULL && !storage->leading) {
        commit_gather(storage);
        alm_request *tell = lead_group(storage);
        (void)pthread_mutex_unlock(&storage->queue_lock);
        tell_all(tell);
        (void)pthread_mutex_lock(&storage->queue_lock);
    }
    (void)pthread_mutex_unlock(&storage->queue_lock);
}

void alm_storage_lead_by(alm_storage *storage, void (*lead)(void *arg), void *arg)
{
    storage->lead = lead;
    storage->lead_arg = arg;
}
