/*
 * backpressure.c - see backpressure.h.
 */
#include "storage/write/backpressure.h"

#include "base/wait.h"
#include "storage/write/commit.h"
#include "storage/write/failing.h"

enum { WAIT_MS = 10, WAIT_ROUNDS_MAX = 500, ALONE_MS = 60000 };

/* ----------------------------------------------------------- the background thread */

void alm_storage_poke(alm_storage *st)
{
    (void)pthread_mutex_lock(&st->work_lock);
    st->work_wanted = true;
    (void)pthread_cond_broadcast(&st->work_cond);
    (void)pthread_mutex_unlock(&st->work_lock);
}

/* A minute has passed since the start found damage that a checkpoint ends (docs/internals/storage.md, section 5). */
static bool generation_is_due(alm_storage *st)
{
    return alm_generation_is_stale(st) &&
           st->io->mono_ns(st->io) - st->generation.since_ns > INT64_C(1000000) * ALONE_MS;
}

bool alm_checkpoint_is_due(alm_storage *st)
{
    const int64_t log_bytes =
        atomic_load(&st->wal.bytes_written) - atomic_load(&st->checkpoint_wal_bytes);
    /* When the disk is full, each byte of log counts. */
    const int64_t max = atomic_load(&st->reserve_spent) ? 0 : st->conf.checkpoint_wal_bytes;
    return (log_bytes > max || generation_is_due(st)) && !st->hold.held;
}

void alm_storage_untidy(alm_storage *st)
{
    if (atomic_exchange(&st->untidy, true))
        return;
    (void)pthread_mutex_lock(&st->work_lock);
    (void)pthread_cond_broadcast(&st->work_cond);
    (void)pthread_mutex_unlock(&st->work_lock);
}

void alm_storage_nudge(alm_storage *st)
{
    /* One table over its limit shows in the sum: look closer only then. */
    const int64_t least = ALM_MIN(st->conf.head_bytes_max, st->conf.table_head_bytes_max);
    if (atomic_load(&st->head_bytes) > least || alm_checkpoint_is_due(st))
        alm_storage_poke(st);
}

/* ------------------------------------------------------------------------ waiting */

/* Writers do not wait for overlapping parts that cannot be merged, because waiting does not reduce them. */
static bool overlaps_much(alm_storage *st, const alm_version *v)
{
    return st->conf.overlap_max > 0 && v->parts->overlap > (uint32_t)st->conf.overlap_max &&
           !alm_work_fails(st, v->table.id, ALM_WORK_MERGE, NULL);
}

bool alm_head_is_full(alm_storage *st, uint64_t table_id)
{
    if (atomic_load(&st->head_bytes) > 2 * st->conf.head_bytes_max)
        return true;
    alm_version *v = alm_storage_version(st, table_id);
    const bool much =
        v != NULL && (v->head_bytes > 2 * st->conf.table_head_bytes_max || overlaps_much(st, v));
    alm_version_release(v);
    return much;
}

/* Fails if the memory for new rows is full, of all tables or of this one, and the background work that frees it fails. */
static alm_status check_room(alm_ctx *cx, alm_storage *st, uint64_t table_id, alm_error why)
{
    bool full = why.code != ALM_OK && atomic_load(&st->head_bytes) > 2 * st->conf.head_bytes_max;
    if (!full && alm_work_fails(st, table_id, ALM_WORK_FLUSH, &why)) {
        alm_version *v = alm_storage_version(st, table_id);
        full = v != NULL && v->head_bytes > 2 * st->conf.table_head_bytes_max;
        alm_version_release(v);
    }
    if (full)
        return alm_fail(cx, why.code, -1, "memory of new rows is full: %s", why.msg);
    return ALM_OK;
}

alm_status alm_head_wait(alm_ctx *cx, alm_storage *st, uint64_t table_id)
{
    for (int i = 0; i < WAIT_ROUNDS_MAX && st->worker_started && alm_head_is_full(st, table_id);
         i++) {
        ALM_TRY(alm_check(cx));
        ALM_TRY(alm_storage_writable(cx, st));
        (void)pthread_mutex_lock(&st->work_lock);
        st->work_wanted = true;
        (void)pthread_cond_broadcast(&st->work_cond);
        (void)alm_cond_wait_ms(&st->work_cond, &st->work_lock, WAIT_MS);
        const alm_error why = st->work_error;
        (void)pthread_mutex_unlock(&st->work_lock);
        ALM_TRY(check_room(cx, st, table_id, why));
    }
    return ALM_OK;
}
