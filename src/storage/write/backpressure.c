/*
 * backpressure.c - see backpressure.h.
 */
#include "storage/write/backpressure.h"

#include "base/wait.h"
#include "storage/write/commit.h"
#include "storage/write/failing.h"

enum { WAIT_MS = 10, WAIT_ROUNDS_MAX = 500, ALONE_MS = 60000 };

/* ----------------------------------------------------------- the background thread */

void alm_storage_poke(alm_storage *storage)
{
    (void)pthread_mutex_lock(&storage->work_lock);
    storage->work_wanted = true;
    (void)pthread_cond_broadcast(&storage->work_cond);
    (void)pthread_mutex_unlock(&storage->work_lock);
}

/* A minute has passed since the start found damage that a checkpoint ends (docs/internals/storage.md, section 5). */
static bool generation_is_due(alm_storage *storage)
{
    return alm_generation_is_stale(storage) &&
           storage->io->mono_ns(storage->io) - storage->generation.since_ns >
               INT64_C(1000000) * ALONE_MS;
}

bool alm_checkpoint_is_due(alm_storage *storage)
{
    const int64_t log_bytes =
        atomic_load(&storage->wal.bytes_written) - atomic_load(&storage->checkpoint_wal_bytes);
    /* When the disk is full, each byte of log counts. */
    const int64_t max =
        atomic_load(&storage->reserve_spent) ? 0 : storage->conf.checkpoint_wal_bytes;
    return (log_bytes > max || generation_is_due(storage)) && !storage->hold.held;
}

void alm_storage_untidy(alm_storage *storage)
{
    if (atomic_exchange(&storage->untidy, true))
        return;
    (void)pthread_mutex_lock(&storage->work_lock);
    (void)pthread_cond_broadcast(&storage->work_cond);
    (void)pthread_mutex_unlock(&storage->work_lock);
}

void alm_storage_nudge(alm_storage *storage)
{
    /* One table over its limit shows in the sum: look closer only then. */
    const int64_t least = ALM_MIN(storage->conf.head_bytes_max, storage->conf.table_head_bytes_max);
    if (atomic_load(&storage->head_bytes) > least || alm_checkpoint_is_due(storage))
        alm_storage_poke(storage);
}

/* ------------------------------------------------------------------------ waiting */

/* Writers do not wait for overlapping parts that cannot be merged, because waiting does not reduce them. */
static bool overlaps_much(alm_storage *storage, const alm_version *version)
{
    return storage->conf.overlap_max > 0 &&
           version->parts->overlap > (uint32_t)storage->conf.overlap_max &&
           !alm_work_fails(storage, version->table.id, ALM_WORK_MERGE, NULL);
}

bool alm_head_is_full(alm_storage *storage, uint64_t table_id)
{
    if (atomic_load(&storage->head_bytes) > 2 * storage->conf.head_bytes_max)
        return true;
    alm_version *version = alm_storage_version(storage, table_id);
    const bool much =
        version != NULL && (version->head_bytes > 2 * storage->conf.table_head_bytes_max ||
                            overlaps_much(storage, version));
    alm_version_release(version);
    return much;
}

/* Fails if the memory for new rows is full, of all tables or of this one, and the background work that frees it fails. */
static alm_status check_room(alm_ctx *cx, alm_storage *storage, uint64_t table_id, alm_error why)
{
    bool full =
        why.code != ALM_OK && atomic_load(&storage->head_bytes) > 2 * storage->conf.head_bytes_max;
    if (!full && alm_work_fails(storage, table_id, ALM_WORK_FLUSH, &why)) {
        alm_version *version = alm_storage_version(storage, table_id);
        full = version != NULL && version->head_bytes > 2 * storage->conf.table_head_bytes_max;
        alm_version_release(version);
    }
    if (full)
        return alm_fail(cx, why.code, -1, "memory of new rows is full: %s", why.msg);
    return ALM_OK;
}

alm_status alm_head_wait(alm_ctx *cx, alm_storage *storage, uint64_t table_id)
{
    for (int i = 0;
         i < WAIT_ROUNDS_MAX && storage->worker_started && alm_head_is_full(storage, table_id);
         i++) {
        ALM_TRY(alm_check(cx));
        ALM_TRY(alm_storage_writable(cx, storage));
        (void)pthread_mutex_lock(&storage->work_lock);
        storage->work_wanted = true;
        (void)pthread_cond_broadcast(&storage->work_cond);
        (void)alm_cond_wait_ms(&storage->work_cond, &storage->work_lock, WAIT_MS);
        const alm_error why = storage->work_error;
        (void)pthread_mutex_unlock(&storage->work_lock);
        ALM_TRY(check_room(cx, storage, table_id, why));
    }
    return ALM_OK;
}
