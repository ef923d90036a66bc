/*
 * worker.c - the background thread: syncs by interval, flushes large heads, compacts, checkpoints,
 * sweeps; and the thread of the archive. Writers that are faster wait: write/backpressure.h.
 *
 * Failure     of the work on one table is remembered with it, and the round goes on (write/failing.h). What ends a round is
 *             logged and tried again. Both are kept for writers that wait.
 */
#include <stdlib.h>

#include "base/log.h"
#include "base/wait.h"
#include "storage/backup/archive.h"
#include "storage/check/scrub.h"
#include "storage/recover/generation.h"
#include "storage/recover/hold.h"
#include "storage/recover/recover.h"
#include "storage/version/head.h"
#include "storage/worker.h"
#include "storage/write/backpressure.h"
#include "storage/write/commit.h"
#include "storage/write/compact.h"
#include "storage/write/expire.h"
#include "storage/write/failing.h"
#include "storage/write/flush.h"
#include "storage/write/interning.h"

enum { IDLE_ROUNDS = 10, IDLE_BYTES = 4 << 20, IDLE_KEEP_BYTES = 1 << 20 };
enum { ROUND_MS = 1000 };
enum { TIDY_ROWS = 2 << 20, TIDY_MS = 100 };

/* ------------------------------------------------------------------------ rounds */

static alm_status worker_sync_log(alm_ctx *cx, alm_storage *storage)
{
    if (storage->conf.sync != ALM_SYNC_INTERVAL || alm_storage_writable(cx, storage) != ALM_OK)
        return cx->err.code;
    const alm_status status = alm_wal_sync_all(cx, &storage->wal, NULL);
    if (status != ALM_OK)
        alm_storage_set_failed(storage, cx);
    return status;
}

/* A table that the background thread works on, with its maintenance lock. */
typedef struct working {
    alm_tab *tab;
    const char *name; /* lives as long as tab */
} working;

/* Returns false if the table was dropped, or if a statement has the lock; *busy tells them apart. The version of the table is
 * not kept, because a flush frees its lanes only when nobody has it. */
static bool begin_work(alm_storage *storage, uint64_t table_id, working *self, bool *busy)
{
    alm_version *version = alm_storage_version(storage, table_id);
    *busy = false;
    if (version == NULL)
        return false;
    *self = (working){alm_tab_retain(version->tab), version->table.name};
    alm_version_release(version);
    if (alm_tab_trylock(storage, self->tab, ALM_TAB_MAINT))
        return true;
    *busy = true;
    alm_tab_release(self->tab);
    return false;
}

static void end_work(alm_storage *storage, working *self)
{
    alm_tab_unlock(storage, self->tab, ALM_TAB_MAINT);
    alm_tab_release(self->tab);
}

/* A busy table is left out: an update flushes by itself. */
static alm_status flush_table(alm_ctx *cx, alm_storage *storage, uint64_t table_id)
{
    working self;
    bool busy = false;
    if (!begin_work(storage, table_id, &self, &busy))
        return ALM_OK;
    const alm_status status = alm_work_result(cx, storage, table_id, self.name, ALM_WORK_FLUSH,
                                              alm_head_flush(cx, storage, table_id));
    end_work(storage, &self);
    return status;
}

static alm_status flush_large(alm_ctx *cx, alm_storage *storage)
{
    const int64_t limit = storage->conf.table_head_bytes_max;
    if (atomic_load(&storage->head_bytes) <= ALM_MIN(storage->conf.head_bytes_max, limit))
        return ALM_OK;
    alm_catver *cat = alm_catver_current(storage);
    const size_t n_cats = cat->n;
    uint64_t *ids = NULL;
    size_t n_ids = 0;
    alm_status status = alm_heap_bytes(cx, n_cats * sizeof *ids, "a flush", &ids);
    for (size_t i = 0; i < n_cats && status == ALM_OK; i++)
        if (alm_catver_at(cat, i)->head_bytes > limit &&
            !alm_work_pauses(storage, alm_catver_at(cat, i)->table.id, ALM_WORK_FLUSH))
            ids[n_ids++] = alm_catver_at(cat, i)->table.id;
    alm_catver_release(cat);
    for (size_t i = 0; i < n_ids && status == ALM_OK; i++)
        status = flush_table(cx, storage, ids[i]);
    free(ids);
    if (status == ALM_OK && atomic_load(&storage->head_bytes) > storage->conf.head_bytes_max)
        status = alm_heads_flush(cx, storage, storage->conf.head_bytes_max / 4 * 3);
    return status;
}

/* Runs one compaction step on a table. Sets *again if it merged something, or if the table was busy: then the caller has to
 * look at the table again. */
static alm_status compact_one(alm_ctx *cx, alm_storage *storage, uint64_t table_id, bool *again)
{
    working self;
    if (!begin_work(storage, table_id, &self, again))
        return ALM_OK;
    alm_status status = alm_compact_table(cx, storage, table_id, again);
    if (status == ALM_E_CONFLICT) {
        alm_error_clear(cx);
        status = ALM_OK;
    }
    status = alm_work_result(cx, storage, table_id, self.name, ALM_WORK_MERGE, status);
    end_work(storage, &self);
    return status;
}

/* Returns true if the table changed since the last look, or if its last merge failed and the pause is over. */
static bool wants_compaction(alm_storage *storage, const alm_version *version)
{
    return version->parts->n > 1 && !alm_work_pauses(storage, version->table.id, ALM_WORK_MERGE) &&
           (version->lsn > storage->compacted_lsn ||
            alm_work_fails(storage, version->table.id, ALM_WORK_MERGE, NULL));
}

/* One step for each table that changed since the last look. */
static alm_status worker_compact(alm_ctx *cx, alm_storage *storage, bool *more)
{
    alm_catver *cat = alm_catver_current(storage);
    const uint64_t lsn = cat->lsn;
    alm_status status = ALM_OK;
    uint64_t *ids = NULL;
    size_t count = 0;
    alm_work_forget(storage, cat);
    if (lsn != storage->compacted_lsn || atomic_load(&storage->n_failing) > 0)
        status = alm_heap_bytes(cx, cat->n * sizeof *ids, "compaction", &ids);
    for (size_t i = 0; i < cat->n && ids != NULL; i++)
        if (wants_compaction(storage, alm_catver_at(cat, i)))
            ids[count++] = alm_catver_at(cat, i)->table.id;
    alm_catver_release(cat);
    for (size_t i = 0; i < count && status == ALM_OK; i++) {
        bool again = false;
        status = compact_one(cx, storage, ids[i], &again);
        *more |= again;
    }
    free(ids);
    if (status == ALM_OK && !*more)
        storage->compacted_lsn = lsn;
    return status;
}

static alm_status prepare_tidy(alm_ctx *cx, alm_request *request, alm_build *build)
{
    const uint64_t *table_id = request->arg;
    const alm_version *version = alm_build_find(build, *table_id);
    alm_version *next = NULL;
    if (version == NULL || version->n_lanes - version->n_frozen < 2)
        return ALM_OK;
    ALM_TRY(alm_version_copy(cx, version, 0, &next));
    alm_status status = alm_lanes_merge(cx, next, TIDY_ROWS);
    if (status == ALM_OK)
        status = alm_build_own(cx, build, *table_id);
    if (status != ALM_OK) {
        alm_version_release(next);
        return status;
    }
    alm_version_settle(next);
    alm_build_put(build, next);
    return ALM_OK;
}

/* Late rows that commits left in lanes of their own come into order. Writers wait for it: TIDY_ROWS are
 * some 20 ms. */
static alm_status tidy_heads(alm_ctx *cx, alm_storage *storage)
{
    atomic_store(&storage->untidy, false);
    alm_catver *cat = alm_catver_current(storage);
    const uint64_t lsn = cat->lsn;
    alm_status status = ALM_OK;
    for (size_t i = 0; i < cat->n && lsn != storage->tidied_lsn && status == ALM_OK; i++) {
        const alm_version *version = alm_catver_at(cat, i);
        uint64_t id = version->table.id;
        alm_request request = {.prepare = prepare_tidy, .arg = &id, .no_log = true};
        if (version->lsn > storage->tidied_lsn && version->n_lanes - version->n_frozen > 1)
            status = alm_commit(cx, storage, &request);
    }
    alm_catver_release(cat);
    if (status == ALM_OK)
        storage->tidied_lsn = lsn;
    storage->tidied_ns = storage->io->mono_ns(storage->io);
    return status;
}

/* Tables that were busy when their partitions ran out. */
static alm_status worker_expire(alm_ctx *cx, alm_storage *storage)
{
    alm_catver *cat = alm_catver_current(storage);
    const uint64_t lsn = cat->lsn;
    bool busy = false;
    alm_catver_release(cat);
    if (lsn == storage->expired_lsn)
        return ALM_OK;
    ALM_TRY(alm_tables_expire(cx, storage, &busy));
    if (!busy) /* else look again */
        storage->expired_lsn = lsn;
    return ALM_OK;
}

/* A server that nobody writes to should not keep what it was sent in memory. */
static alm_status flush_idle(alm_ctx *cx, alm_storage *storage)
{
    const int64_t now_ns = storage->io->mono_ns(storage->io),
                  commits = atomic_load(&storage->commits);
    if (commits != storage->idle_commits) {
        storage->idle_commits = commits;
        storage->idle_since_ns = now_ns;
    }
    if (now_ns - storage->idle_since_ns < (int64_t)IDLE_ROUNDS * ROUND_MS * 1000000 ||
        atomic_load(&storage->head_bytes) < IDLE_BYTES)
        return ALM_OK;
    return alm_heads_flush(cx, storage, IDLE_KEEP_BYTES);
}

static alm_status worker_one_round(alm_ctx *cx, alm_storage *storage, bool *more)
{
    ALM_TRY(worker_sync_log(cx, storage));
    if (alm_storage_writable(cx, storage) != ALM_OK)
        return cx->err.code;
    ALM_TRY(alm_hold_expire(cx, storage));
    alm_archive_limit(storage);
    ALM_TRY(flush_large(cx, storage));
    ALM_TRY(flush_idle(cx, storage));
    ALM_TRY(tidy_heads(cx, storage));
    ALM_TRY(worker_expire(cx, storage));
    ALM_TRY(alm_unused_symbols_drop(cx, storage));
    ALM_TRY(worker_compact(cx, storage, more));
    if (alm_checkpoint_is_due(storage))
        ALM_TRY(alm_checkpoint(cx, storage, ALM_CHECKPOINT_KEEP_BYTES));
    return ALM_OK;
}

static void keep_error(alm_storage *storage, const alm_ctx *cx)
{
    const alm_error of_table = alm_work_error(storage);
    (void)pthread_mutex_lock(&storage->work_lock);
    if (cx->err.code != ALM_OK && strcmp(storage->work_error.msg, cx->err.msg) != 0)
        alm_log_warn("storage", "background work failed, will be tried again: %s", cx->err.msg);
    storage->work_error = cx->err.code != ALM_OK ? cx->err : of_table;
    (void)pthread_cond_broadcast(&storage->work_cond);
    (void)pthread_mutex_unlock(&storage->work_lock);
}

/* Until late rows are to be put in order; 0: now, or there are none. */
static int64_t tidy_wait_ms(alm_storage *storage)
{
    const int64_t past_ms = (storage->io->mono_ns(storage->io) - storage->tidied_ns) / 1000000;
    return atomic_load(&storage->untidy) && past_ms < TIDY_MS ? TIDY_MS - past_ms : 0;
}

/* Files of which only the log knows must be in the archive before. */
static void first_sweep(alm_storage *storage)
{
    if (alm_archive_catch_up(storage, &storage->worker_cancel) && !storage->hold.held)
        alm_sweep(storage, storage->sweep_end);
}

static void *archiver_main(void *arg)
{
    alm_storage *storage = arg;
    first_sweep(storage);
    (void)pthread_mutex_lock(&storage->work_lock);
    while (!storage->stop) {
        (void)alm_cond_wait_ms(&storage->archive_cond, &storage->work_lock,
                               alm_archive_round_ms(storage));
        if (storage->stop)
            break;
        (void)pthread_mutex_unlock(&storage->work_lock);
        alm_ctx cx = {.io = storage->io, .cancel = &storage->worker_cancel};
        if (!atomic_load(&storage->failed))
            alm_archive_round(&cx, storage); /* tells what fails, and tries again */
        (void)pthread_mutex_lock(&storage->work_lock);
    }
    (void)pthread_mutex_unlock(&storage->work_lock);
    return NULL;
}

static void *storage_worker_main(void *arg)
{
    alm_storage *storage = arg;
    const int64_t round_ms = storage->conf.sync == ALM_SYNC_INTERVAL
                                 ? ALM_MAX(ALM_MIN(storage->conf.sync_interval_ms, ROUND_MS), 1)
                                 : ROUND_MS;
    if (!alm_archive_is_on(storage))
        first_sweep(storage);
    (void)pthread_mutex_lock(&storage->work_lock);
    while (!storage->stop) {
        if (!storage->work_wanted)
            (void)alm_cond_wait_ms(&storage->work_cond, &storage->work_lock, round_ms);
        if (!storage->work_wanted && !storage->stop && tidy_wait_ms(storage) > 0)
            (void)alm_cond_wait_ms(&storage->work_cond, &storage->work_lock, tidy_wait_ms(storage));
        storage->work_wanted = false;
        if (storage->stop)
            break;
        (void)pthread_mutex_unlock(&storage->work_lock);
        alm_arena arena;
        alm_arena_init(&arena, NULL);
        alm_ctx cx = {.io = storage->io, .arena = &arena, .cancel = &storage->worker_cancel};
        bool more = false;
        (void)worker_one_round(&cx, storage, &more);
        keep_error(storage, &cx);
        alm_arena_deinit(&arena);
        (void)pthread_mutex_lock(&storage->work_lock);
        if (more && cx.err.code == ALM_OK)
            storage->work_wanted = true;
        else if (cx.err.code != ALM_OK && !storage->stop) /* not at once again */
            (void)alm_cond_wait_ms(&storage->work_cond, &storage->work_lock, ROUND_MS / 4);
    }
    (void)pthread_mutex_unlock(&storage->work_lock);
    return NULL;
}

alm_status alm_worker_start(alm_ctx *cx, alm_storage *storage)
{
    storage->sweep_end = atomic_load(&storage->next_table_id);
    int code = pthread_create(&storage->worker, NULL, storage_worker_main, storage);
    storage->worker_started = code == 0;
    if (code == 0 && alm_archive_is_on(storage)) {
        code = pthread_create(&storage->archiver, NULL, archiver_main, storage);
        storage->archiver_started = code == 0;
    }
    if (code != 0)
        return alm_io_fail(cx, -code, "start the background threads of the storage");
    return alm_scrub_start(cx, storage);
}

void alm_worker_stop(alm_storage *storage)
{
    if (!storage->worker_started)
        return;
    atomic_store(&storage->worker_cancel, true);
    (void)pthread_mutex_lock(&storage->work_lock);
    storage->stop = true;
    (void)pthread_cond_broadcast(&storage->work_cond);
    (void)pthread_cond_broadcast(&storage->archive_cond);
    (void)pthread_cond_broadcast(&storage->scrub_cond);
    (void)pthread_mutex_unlock(&storage->work_lock);
    (void)pthread_join(storage->worker, NULL);
    if (storage->archiver_started)
        (void)pthread_join(storage->archiver, NULL);
    alm_scrub_stop(storage);
    storage->worker_started = storage->archiver_started = false;
}
