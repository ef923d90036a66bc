/*
 * commit.h - the commit queue: every change of the database is a request in it. Protocol:
 * docs/internals/storage.md, section 3.
 */
#ifndef ALM_STORAGE_COMMIT_H
#define ALM_STORAGE_COMMIT_H

#include "storage/state.h"

typedef struct alm_request alm_request;
struct alm_request {
    /* Builds the new versions into the build and, unless no_log, sets the pieces of the payload.
     * Runs on the leader's thread with the context of the waiting one. May run more than once. A
     * failure leaves the build as it was: allocate first, then alm_build_own, then alm_build_put. */
    alm_status (*prepare)(alm_ctx *cx, alm_request *rq, alm_build *b);
    void *arg;
    bool no_log; /* in memory only: publishes, but writes nothing */

    const alm_records_change *records; /* change together with the rest; NULL: none */
    alm_buf records_buf;
    alm_buf buf;             /* for the payload; released by alm_commit and alm_commit_all */
    alm_wal_piece pieces[5]; /* pieces[0] may be the caller's; cleared before each prepare; the last
                              * are the records and the time of the commit */
    uint32_t n_pieces;

    /* Nobody waits: called when all is over, on the leader's thread, without locks. NULL: alm_commit
     * waits. */
    void (*finished)(alm_request *rq);

    alm_ctx *cx;
    alm_status status;
    uint64_t lsn;
    bool done;
    pthread_cond_t wake; /* of the one who waits */
    alm_request *next;
};

/* Returns when the change is durable and visible, or has failed. */
ALM_NODISCARD alm_status alm_commit(alm_ctx *cx, alm_storage *storage, alm_request *request);
/* Many changes in one group: each has its own context (rq->cx, set by the caller), log record and outcome (rq->status), and
 * all together cost one sync. Returns when all are over. */
void alm_commit_all(alm_storage *storage, alm_request *list, size_t n);
/* The same without waiting: request->finished tells, and has to release request->buf. Only where somebody leads:
 * storage->lead. */
void alm_commit_start(alm_ctx *cx, alm_storage *storage, alm_request *request);
/* Marks the storage read-only until a restart. */
void alm_storage_set_failed(alm_storage *storage, const alm_ctx *cx);
ALM_NODISCARD alm_status alm_storage_writable(alm_ctx *cx, alm_storage *storage);
/* ALM_E_IO: bytes of a map could not be read since there were `before` faults; what was read since then may be zeros, and must
 * not be written. Of any file: which ones were read is not known here, and who is refused for another's may try again. */
ALM_NODISCARD alm_status alm_faults_refuse(alm_ctx *cx, alm_storage *storage, int64_t before);

#endif
