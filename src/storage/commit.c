/*
 * commit.c - the leader of a group: prepare all, write and sync the log once, publish once.
 */
#include "storage/commit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "storage/payload.h"

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
                    "writes are refused until a restart, because the log failed: %s",
                    st->failed_why); /* set before `failed`, once */
}

static void fail_request(alm_request *rq, const alm_ctx *why)
{
    rq->status = alm_fail(rq->cx, why->err.code, -1, "%s", why->err.msg);
}

static void prepare_request(alm_storage *st, alm_request *rq, alm_build *b)
{
    rq->buf.len = 0;
    rq->n_pieces = 0;
    rq->status = ALM_OK;
    if (!rq->no_log)
        rq->status = alm_storage_writable(rq->cx, st);
    rq->lsn = rq->no_log ? b->next->lsn : st->wal.next_lsn++;
    b->lsn = rq->lsn;
    if (rq->status == ALM_OK)
        rq->status = rq->prepare(rq->cx, rq, b);
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
    if (n > 0)
        taken = alm_wal_append(log, &st->wal, records, n, st->conf.sync == ALM_SYNC_COMMIT,
                               &fatal) == ALM_OK;
    free(records);
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

/* A group that the log did not take for lack of space is taken apart: small ones may still fit. */
static void lead(alm_storage *st, alm_request *list)
{
    alm_ctx log = {0};
    if (run_group(st, list, NULL, &log))
        return;
    for (alm_request *rq = list; rq != NULL; rq = rq->next) {
        alm_ctx one = {0};
        if (rq->status != ALM_OK)
            continue; /* its own fault, told already */
        const bool alone = list->next == NULL;
        if (!alone && (log.err.code == ALM_E_DISK_FULL || log.err.code == ALM_E_MEMORY)) {
            if (!run_group(st, rq, rq->next, &one) && rq->status == ALM_OK)
                fail_request(rq, &one);
        } else {
            fail_request(rq, &log);
        }
    }
}

alm_status alm_commit(alm_ctx *cx, alm_storage *st, alm_request *rq)
{
    rq->cx = cx;
    rq->status = ALM_OK;
    rq->done = false;
    rq->next = NULL;
    alm_buf_init(&rq->buf, NULL);
    (void)pthread_mutex_lock(&st->queue_lock);
    *st->queue_tail = rq;
    st->queue_tail = &rq->next;
    while (!rq->done) {
        if (st->leading) {
            (void)pthread_cond_wait(&st->queue_cond, &st->queue_lock);
            continue;
        }
        st->leading = true;
        alm_request *list = st->queue_head;
        st->queue_head = NULL;
        st->queue_tail = &st->queue_head;
        (void)pthread_mutex_unlock(&st->queue_lock);
        lead(st, list);
        (void)pthread_mutex_lock(&st->queue_lock);
        for (alm_request *next = list; list != NULL; list = next) {
            next = list->next;
            list->done = true; /* its owner may free it as soon as the lock is given up */
        }
        st->leading = false;
        (void)pthread_cond_broadcast(&st->queue_cond);
    }
    (void)pthread_mutex_unlock(&st->queue_lock);
    alm_buf_deinit(&rq->buf);
    return rq->status;
}
