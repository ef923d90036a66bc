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

void alm_storage_set_failed(alm_storage *st, const alm_ctx *cx)
{
    (void)pthread_mutex_lock(&st->queue_lock);
    if (!st->failed) {
        (void)snprintf(st->failed_why, sizeof st->failed_why, "%.200s", cx->err.msg);
        atomic_store(&st->failed, true);
        alm_log_error("storage", "read-only until a restart: %s", st->failed_why);
    }
    (void)pthread_mutex_unlock(&st->queue_lock);
}

alm_status alm_storage_writable(alm_ctx *cx, alm_storage *st)
{
    if (!atomic_load(&st->failed))
        return ALM_OK;
    return alm_fail(cx, ALM_E_IO, -1,
                    "writes are refused until a restart, because the disk failed: %s",
                    st->failed_why); /* set before `failed`, once */
}

static void fail_request(alm_request *rq, const alm_ctx *why)
{
    rq->status = alm_fail(rq->cx, why->err.code, -1, "%s", why->err.msg);
}

/* The records first: they can be taken back when the rest fails. */
static alm_status prepare_both(alm_request *rq, alm_build *b)
{
    alm_records *before = alm_records_retain(b->next->records);
    rq->records_buf.len = 0;
    alm_status e = alm_op_records(rq->cx, &rq->records_buf, rq->records);
    if (e == ALM_OK)
        e = alm_change_records(rq->cx, b, rq->records);
    if (e == ALM_OK)
        e = rq->prepare(rq->cx, rq, b);
    if (e == ALM_OK) {
        rq->pieces[rq->n_pieces++] = (alm_wal_piece){rq->records_buf.ptr, rq->records_buf.len};
    } else {
        alm_records_release(b->next->records);
        b->next->records = alm_records_retain(before);
    }
    alm_records_release(before);
    return e;
}

static void prepare_request(alm_storage *st, alm_request *rq, alm_build *b)
{
    rq->buf.len = 0;
    rq->n_pieces = 0;
    rq->status = ALM_OK;
    if (!rq->no_log)
        rq->status = alm_storage_writable(rq->cx, st);
    if (rq->status == ALM_OK && !rq->no_log)
        rq->status = alm_storage_takes_space(rq->cx, st);
    if (rq->status == ALM_OK && !rq->no_log && rq->cx->rewrite != 0)
        rq->status = alm_faults_refuse(rq->cx, st, rq->cx->map_faults);
    rq->lsn = rq->no_log ? b->next->lsn : st->wal.next_lsn++;
    b->lsn = rq->lsn;
    if (rq->status == ALM_OK)
        rq->status = rq->records != NULL ? prepare_both(rq, b) : rq->prepare(rq->cx, rq, b);
    if (rq->status == ALM_OK)
        b->next->lsn = rq->lsn;
}

typedef struct time_op { /* ALM_OP_TIME */
    uint32_t kind, zero;
    uint64_t bytes;
    int64_t us;
} time_op;

/* Prepares the requests [list, end), logs and publishes. False: the log did not take them; *log has
 * the reason, nothing is published. */
static bool run_group(alm_storage *st, alm_request *list, const alm_request *end, alm_ctx *log)
{
    alm_build b;
    alm_wal_record *records = NULL;
    const time_op when = {.kind = ALM_OP_TIME, .bytes = 8, .us = st->io->wall_ns(st->io) / 1000};
    size_t n = 0;
    for (const alm_request *rq = list; rq != end; rq = rq->next)
        n++;
    if (alm_build_begin(log, st, &b) != ALM_OK)
        return false;
    if (alm_heap_bytes(log, n * sizeof *records, "a commit", &records) != ALM_OK) {
        alm_build_abandon(&b);
        return false;
    }
    n = 0;
    for (alm_request *rq = list; rq != end; rq = rq->next) {
        prepare_request(st, rq, &b);
        if (rq->status != ALM_OK || rq->no_log)
            continue;
        rq->pieces[rq->n_pieces++] = (alm_wal_piece){&when, sizeof when};
        records[n++] =
            (alm_wal_record){.lsn = rq->lsn, .pieces = rq->pieces, .n_pieces = rq->n_pieces};
    }
    bool fatal = false, taken = true;
    const int64_t start_ns = st->io->mono_ns(st->io);
    if (n > 0)
        taken = alm_wal_append(log, &st->wal, records, n, st->conf.sync == ALM_SYNC_COMMIT,
                               &fatal) == ALM_OK;
    free(records);
    if (n > 0)
        st->log_ns = st->io->mono_ns(st->io) - start_ns;
    if (!taken) {
        alm_build_abandon(&b);
        if (fatal)
            alm_storage_set_failed(st, log);
        return false;
    }
    atomic_fetch_add(&st->commits, (int64_t)n);
    alm_build_publish(&b);
    return true;
}

/* Once more in the space of the reserve, where the disk was full and the request is to end that. */
static bool run_in_reserve(alm_storage *st, alm_request *rq, alm_ctx *log)
{
    if (log->err.code != ALM_E_DISK_FULL || !rq->cx->frees || !alm_reserve_spend(st))
        return false;
    alm_error_clear(log);
    return run_group(st, rq, rq->next, log);
}

/* A group that the log did not take for lack of space is taken apart: small ones may still fit. */
static void lead_list(alm_storage *st, alm_request *list)
{
    alm_ctx log = {0};
    if (run_group(st, list, NULL, &log))
        return;
    const bool alone = list->next == NULL;
    const bool space = log.err.code == ALM_E_DISK_FULL || log.err.code == ALM_E_MEMORY;
    for (alm_request *rq = list; rq != NULL; rq = rq->next) {
        alm_ctx one = {0};
        if (rq->status != ALM_OK)
            continue; /* its own fault, told already */
        one.err = log.err;
        if (!alone && space) {
            alm_error_clear(&one);
            if (run_group(st, rq, rq->next, &one))
                continue;
        }
        if (rq->status == ALM_OK && !run_in_reserve(st, rq, &one) && rq->status == ALM_OK)
            fail_request(rq, &one);
    }
}

/* ---------------------------------------------------------------------- the queue */

static void request_begin(alm_request *rq)
{
    rq->status = ALM_OK;
    rq->done = false;
    rq->next = NULL;
    alm_buf_init(&rq->buf, NULL);
    alm_buf_init(&rq->records_buf, NULL);
}

static void request_end(alm_request *rq)
{
    alm_buf_deinit(&rq->buf);
    alm_buf_deinit(&rq->records_buf);
}

/* With the lock of the queue held. */
static void enqueue_one(alm_storage *st, alm_request *rq)
{
    *st->queue_tail = rq;
    st->queue_tail = &rq->next;
    st->queue_n++;
    if (st->crowd_wanted > 0 && st->queue_n >= st->crowd_wanted)
        (void)pthread_cond_signal(&st->crowd_cond);
}

/* Returns with the lock of the queue held. */
static void enqueue(alm_ctx *cx, alm_storage *st, alm_request *rq)
{
    rq->cx = cx;
    request_begin(rq);
    (void)pthread_mutex_lock(&st->queue_lock);
    enqueue_one(st, rq);
}

/* Leads the group of all that wait. Takes and gives back the queue with its lock held; returns the
 * requests of the group that are to be told, those nobody waits for. */
static alm_request *lead_group(alm_storage *st)
{
    alm_request *list = st->queue_head, *tell = NULL, **tail = &tell;
    const uint32_t n = st->queue_n;
    st->leading = true;
    st->queue_n = 0;
    st->queue_head = NULL;
    st->queue_tail = &st->queue_head;
    (void)pthread_mutex_unlock(&st->queue_lock);
    lead_list(st, list);
    (void)pthread_mutex_lock(&st->queue_lock);
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
    st->leading = false;
    st->crowd = n + st->queue_n;
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
static bool wants_leader(alm_storage *st)
{
    if (st->queue_head == NULL || st->leading)
        return false;
    if (st->queue_head->finished == NULL) {
        (void)pthread_cond_signal(&st->queue_head->wake);
        return false;
    }
    const bool call = !st->leader_called;
    st->leader_called = true;
    return call;
}

/* Until the request is done: leads where nobody else does. Takes and gives back the queue with its lock held. */
static void wait_for(alm_storage *st, alm_request *rq)
{
    while (!rq->done) {
        if (st->leading) {
            (void)pthread_cond_wait(&rq->wake, &st->queue_lock);
            continue;
        }
        alm_request *tell = lead_group(st);
        const bool call = wants_leader(st);
        (void)pthread_mutex_unlock(&st->queue_lock);
        tell_all(tell);
        if (call)
            st->lead(st->lead_arg);
        (void)pthread_mutex_lock(&st->queue_lock);
    }
}

alm_status alm_commit(alm_ctx *cx, alm_storage *st, alm_request *rq)
{
    (void)pthread_cond_init(&rq->wake, NULL);
    enqueue(cx, st, rq);
    wait_for(st, rq);
    (void)pthread_mutex_unlock(&st->queue_lock);
    (void)pthread_cond_destroy(&rq->wake);
    request_end(rq);
    return rq->status;
}

void alm_commit_all(alm_storage *st, alm_request *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ALM_ASSERT(list[i].cx != NULL && list[i].finished == NULL);
        (void)pthread_cond_init(&list[i].wake, NULL);
        request_begin(&list[i]);
    }
    (void)pthread_mutex_lock(&st->queue_lock);
    for (size_t i = 0; i < n; i++)
        enqueue_one(st, &list[i]);
    if (n > 0) /* they came together, so they are in one group: the first is told with the last */
        wait_for(st, &list[0]);
    (void)pthread_mutex_unlock(&st->queue_lock);
    for (size_t i = 0; i < n; i++) {
        ALM_ASSERT(list[i].done);
        (void)pthread_cond_destroy(&list[i].wake);
        request_end(&list[i]);
    }
}

void alm_commit_start(alm_ctx *cx, alm_storage *st, alm_request *rq)
{
    enqueue(cx, st, rq);
    const bool call = !st->leading && !st->leader_called;
    st->leader_called |= call;
    (void)pthread_mutex_unlock(&st->queue_lock);
    if (call)
        st->lead(st->lead_arg);
}

/*
 * Where many commit at the same time, those of the last group come back soon: a leader whom nobody waits
 * for waits for most of them, as long as the log takes at the most. A group costs much, a member little.
 */
static void gather(alm_storage *st)
{
    enum { CROWD_MIN = 8, WAIT_US_MAX = 2000 };
    const uint32_t wanted = st->crowd - st->crowd / 4;
    if (st->crowd < CROWD_MIN || st->queue_n >= wanted)
        return;
    st->leading = true;
    st->crowd_wanted = wanted;
    (void)alm_cond_wait_us(&st->crowd_cond, &st->queue_lock,
                           ALM_MIN(st->log_ns / 1000, WAIT_US_MAX));
    st->crowd_wanted = 0;
}

void alm_storage_lead(alm_storage *st)
{
    (void)pthread_mutex_lock(&st->queue_lock);
    st->leader_called = false;
    while (st->queue_head != NULL && !st->leading) {
        gather(st);
        alm_request *tell = lead_group(st);
        (void)pthread_mutex_unlock(&st->queue_lock);
        tell_all(tell);
        (void)pthread_mutex_lock(&st->queue_lock);
    }
    (void)pthread_mutex_unlock(&st->queue_lock);
}

void alm_storage_lead_by(alm_storage *st, void (*lead)(void *arg), void *arg)
{
    st->lead = lead;
    st->lead_arg = arg;
}
