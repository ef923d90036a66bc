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

static alm_status sync_log(alm_ctx *cx, alm_storage *st)
{
    if (st->conf.sync != ALM_SYNC_INTERVAL || alm_storage_writable(cx, st) != ALM_OK)
        return cx->err.code;
    const alm_status e = alm_wal_sync_all(cx, &st->wal, NULL);
    if (e != ALM_OK)
        alm_storage_set_failed(st, cx);
    return e;
}

/* A table that the background thread works on, with its maintenance lock. */
typedef struct working {
    alm_tab *tab;
    const char *name; /* lives as long as tab */
} working;

/* Returns false if the table was dropped, or if a statement has the lock; *busy tells them apart. The version of the table is
 * not kept, because a flush frees its lanes only when nobody has it. */
static bool begin_work(alm_storage *st, uint64_t table_id, working *w, bool *busy)
{
    alm_version *v = alm_storage_version(st, table_id);
    *busy = false;
    if (v == NULL)
        return false;
    *w = (working){alm_tab_retain(v->tab), v->table.name};
    alm_version_release(v);
    if (alm_tab_trylock(st, w->tab, ALM_TAB_MAINT))
        return true;
    *busy = true;
    alm_tab_release(w->tab);
    return false;
}

static void end_work(alm_storage *st, working *w)
{
    alm_tab_unlock(st, w->tab, ALM_TAB_MAINT);
    alm_tab_release(w->tab);
}

/* A busy table is left out: an update flushes by itself. */
static alm_status flush_table(alm_ctx *cx, alm_storage *st, uint64_t table_id)
{
    working w;
    bool busy = false;
    if (!begin_work(st, table_id, &w, &busy))
        return ALM_OK;
    const alm_status e =
        alm_work_result(cx, st, table_id, w.name, ALM_WORK_FLUSH, alm_head_flush(cx, st, table_id));
    end_work(st, &w);
    return e;
}

static alm_status flush_large(alm_ctx *cx, alm_storage *st)
{
    const int64_t limit = st->conf.table_head_bytes_max;
    if (atomic_load(&st->head_bytes) <= ALM_MIN(st->conf.head_bytes_max, limit))
        return ALM_OK;
    alm_catver *cat = alm_catver_current(st);
    const size_t n = cat->n;
    uint64_t *ids = NULL;
    size_t n_ids = 0;
    alm_status e = alm_heap_bytes(cx, n * sizeof *ids, "a flush", &ids);
    for (size_t i = 0; i < n && e == ALM_OK; i++)
        if (alm_catver_at(cat, i)->head_bytes > limit &&
            !alm_work_pauses(st, alm_catver_at(cat, i)->table.id, ALM_WORK_FLUSH))
            ids[n_ids++] = alm_catver_at(cat, i)->table.id;
    alm_catver_release(cat);
    for (size_t i = 0; i < n_ids && e == ALM_OK; i++)
        e = flush_table(cx, st, ids[i]);
    free(ids);
    if (e == ALM_OK && atomic_load(&st->head_bytes) > st->conf.head_bytes_max)
        e = alm_heads_flush(cx, st, st->conf.head_bytes_max / 4 * 3);
    return e;
}

/* Runs one compaction step on a table. Sets *again if it merged something, or if the table was busy: then the caller has to
 * look at the table again. */
static alm_status compact_one(alm_ctx *cx, alm_storage *st, uint64_t table_id, bool *again)
{
    working w;
    if (!begin_work(st, table_id, &w, again))
        return ALM_OK;
    alm_status e = alm_compact_table(cx, st, table_id, again);
    if (e == ALM_E_CONFLICT) {
        alm_error_clear(cx);
        e = ALM_OK;
    }
    e = alm_work_result(cx, st, table_id, w.name, ALM_WORK_MERGE, e);
    end_work(st, &w);
    return e;
}

/* Returns true if the table changed since the last look, or if its last merge failed and the pause is over. */
static bool wants_compaction(alm_storage *st, const alm_version *v)
{
    return v->parts->n > 1 && !alm_work_pauses(st, v->table.id, ALM_WORK_MERGE) &&
           (v->lsn > st->compacted_lsn || alm_work_fails(st, v->table.id, ALM_WORK_MERGE, NULL));
}

/* One step for each table that changed since the last look. */
static alm_status compact(alm_ctx *cx, alm_storage *st, bool *more)
{
    alm_catver *cat = alm_catver_current(st);
    const uint64_t lsn = cat->lsn;
    alm_status e = ALM_OK;
    uint64_t *ids = NULL;
    size_t n = 0;
    alm_work_forget(st, cat);
    if (lsn != st->compacted_lsn || atomic_load(&st->n_failing) > 0)
        e = alm_heap_bytes(cx, cat->n * sizeof *ids, "compaction", &ids);
    for (size_t i = 0; i < cat->n && ids != NULL; i++)
        if (wants_compaction(st, alm_catver_at(cat, i)))
            ids[n++] = alm_catver_at(cat, i)->table.id;
    alm_catver_release(cat);
    for (size_t i = 0; i < n && e == ALM_OK; i++) {
        bool again = false;
        e = compact_one(cx, st, ids[i], &again);
        *more |= again;
    }
    free(ids);
    if (e == ALM_OK && !*more)
        st->compacted_lsn = lsn;
    return e;
}

static alm_status prepare_tidy(alm_ctx *cx, alm_request *rq, alm_build *b)
{
    const uint64_t *table_id = rq->arg;
    const alm_version *v = alm_build_find(b, *table_id);
    alm_version *next = NULL;
    if (v == NULL || v->n_lanes - v->n_frozen < 2)
        return ALM_OK;
    ALM_TRY(alm_version_copy(cx, v, 0, &next));
    alm_status e = alm_lanes_merge(cx, next, TIDY_ROWS);
    if (e == ALM_OK)
        e = alm_build_own(cx, b, *table_id);
    if (e != ALM_OK) {
        alm_version_release(next);
        return e;
    }
    alm_version_settle(next);
    alm_build_put(b, next);
    return ALM_OK;
}

/* Late rows that commits left in lanes of their own come into order. Writers wait for it: TIDY_ROWS are
 * some 20 ms. */
static alm_status tidy_heads(alm_ctx *cx, alm_storage *st)
{
    atomic_store(&st->untidy, false);
    alm_catver *cat = alm_catver_current(st);
    const uint64_t lsn = cat->lsn;
    alm_status e = ALM_OK;
    for (size_t i = 0; i < cat->n && lsn != st->tidied_lsn && e == ALM_OK; i++) {
        const alm_version *v = alm_catver_at(cat, i);
        uint64_t id = v->table.id;
        alm_request rq = {.prepare = prepare_tidy, .arg = &id, .no_log = true};
        if (v->lsn > st->tidied_lsn && v->n_lanes - v->n_frozen > 1)
            e = alm_commit(cx, st, &rq);
    }
    alm_catver_release(cat);
    if (e == ALM_OK)
        st->tidied_lsn = lsn;
    st->tidied_ns = st->io->mono_ns(st->io);
    return e;
}

/* Tables that were busy when their partitions ran out. */
static alm_status expire(alm_ctx *cx, alm_storage *st)
{
    alm_catver *cat = alm_catver_current(st);
    const uint64_t lsn = cat->lsn;
    bool busy = false;
    alm_catver_release(cat);
    if (lsn == st->expired_lsn)
        return ALM_OK;
    ALM_TRY(alm_tables_expire(cx, st, &busy));
    if (!busy) /* else look again */
        st->expired_lsn = lsn;
    return ALM_OK;
}

/* A server that nobody writes to should not keep what it was sent in memory. */
static alm_status flush_idle(alm_ctx *cx, alm_storage *st)
{
    const int64_t now_ns = st->io->mono_ns(st->io), commits = atomic_load(&st->commits);
    if (commits != st->idle_commits) {
        st->idle_commits = commits;
        st->idle_since_ns = now_ns;
    }
    if (now_ns - st->idle_since_ns < (int64_t)IDLE_ROUNDS * ROUND_MS * 1000000 ||
        atomic_load(&st->head_bytes) < IDLE_BYTES)
        return ALM_OK;
    return alm_heads_flush(cx, st, IDLE_KEEP_BYTES);
}

static alm_status one_round(alm_ctx *cx, alm_storage *st, bool *more)
{
    ALM_TRY(sync_log(cx, st));
    if (alm_storage_writable(cx, st) != ALM_OK)
        return cx->err.code;
    ALM_TRY(alm_hold_expire(cx, st));
    alm_archive_limit(st);
    ALM_TRY(flush_large(cx, st));
    ALM_TRY(flush_idle(cx, st));
    ALM_TRY(tidy_heads(cx, st));
    ALM_TRY(expire(cx, st));
    ALM_TRY(alm_unused_symbols_drop(cx, st));
    ALM_TRY(compact(cx, st, more));
    if (alm_checkpoint_is_due(st))
        ALM_TRY(alm_checkpoint(cx, st, ALM_CHECKPOINT_KEEP_BYTES));
    return ALM_OK;
}

static void keep_error(alm_storage *st, const alm_ctx *cx)
{
    const alm_error of_table = alm_work_error(st);
    (void)pthread_mutex_lock(&st->work_lock);
    if (cx->err.code != ALM_OK && strcmp(st->work_error.msg, cx->err.msg) != 0)
        alm_log_warn("storage", "background work failed, will be tried again: %s", cx->err.msg);
    st->work_error = cx->err.code != ALM_OK ? cx->err : of_table;
    (void)pthread_cond_broadcast(&st->work_cond);
    (void)pthread_mutex_unlock(&st->work_lock);
}

/* Until late rows are to be put in order; 0: now, or there are none. */
static int64_t tidy_wait_ms(alm_storage *st)
{
    const int64_t past_ms = (st->io->mono_ns(st->io) - st->tidied_ns) / 1000000;
    return atomic_load(&st->untidy) && past_ms < TIDY_MS ? TIDY_MS - past_ms : 0;
}

/* Files of which only the log knows must be in the archive before. */
static void first_sweep(alm_storage *st)
{
    if (alm_archive_catch_up(st, &st->worker_cancel) && !st->hold.held)
        alm_sweep(st, st->sweep_end);
}

static void *archiver_main(void *arg)
{
    alm_storage *st = arg;
    first_sweep(st);
    (void)pthread_mutex_lock(&st->work_lock);
    while (!st->stop) {
        (void)alm_cond_wait_ms(&st->archive_cond, &st->work_lock, alm_archive_round_ms(st));
        if (st->stop)
            break;
        (void)pthread_mutex_unlock(&st->work_lock);
        alm_ctx cx = {.io = st->io, .cancel = &st->worker_cancel};
        if (!atomic_load(&st->failed))
            alm_archive_round(&cx, st); /* tells what fails, and tries again */
        (void)pthread_mutex_lock(&st->work_lock);
    }
    (void)pthread_mutex_unlock(&st->work_lock);
    return NULL;
}

static void *worker_main(void *arg)
{
    alm_storage *st = arg;
    const int64_t round_ms = st->conf.sync == ALM_SYNC_INTERVAL
                                 ? ALM_MAX(ALM_MIN(st->conf.sync_interval_ms, ROUND_MS), 1)
                                 : ROUND_MS;
    if (!alm_archive_is_on(st))
        first_sweep(st);
    (void)pthread_mutex_lock(&st->work_lock);
    while (!st->stop) {
        if (!st->work_wanted)
            (void)alm_cond_wait_ms(&st->work_cond, &st->work_lock, round_ms);
        if (!st->work_wanted && !st->stop && tidy_wait_ms(st) > 0)
            (void)alm_cond_wait_ms(&st->work_cond, &st->work_lock, tidy_wait_ms(st));
        st->work_wanted = false;
        if (st->stop)
            break;
        (void)pthread_mutex_unlock(&st->work_lock);
        alm_arena arena;
        alm_arena_init(&arena, NULL);
        alm_ctx cx = {.io = st->io, .arena = &arena, .cancel = &st->worker_cancel};
        bool more = false;
        (void)one_round(&cx, st, &more);
        keep_error(st, &cx);
        alm_arena_deinit(&arena);
        (void)pthread_mutex_lock(&st->work_lock);
        if (more && cx.err.code == ALM_OK)
            st->work_wanted = true;
        else if (cx.err.code != ALM_OK && !st->stop) /* not at once again */
            (void)alm_cond_wait_ms(&st->work_cond, &st->work_lock, ROUND_MS / 4);
    }
    (void)pthread_mutex_unlock(&st->work_lock);
    return NULL;
}

alm_status alm_worker_start(alm_ctx *cx, alm_storage *st)
{
    st->sweep_end = atomic_load(&st->next_table_id);
    int e = pthread_create(&st->worker, NULL, worker_main, st);
    st->worker_started = e == 0;
    if (e == 0 && alm_archive_is_on(st)) {
        e = pthread_create(&st->archiver, NULL, archiver_main, st);
        st->archiver_started = e == 0;
    }
    if (e != 0)
        return alm_io_fail(cx, -e, "start the background threads of the storage");
    return alm_scrub_start(cx, st);
}

void alm_worker_stop(alm_storage *st)
{
    if (!st->worker_started)
        return;
    atomic_store(&st->worker_cancel, true);
    (void)pthread_mutex_lock(&st->work_lock);
    st->stop = true;
    (void)pthread_cond_broadcast(&st->work_cond);
    (void)pthread_cond_broadcast(&st->archive_cond);
    (void)pthread_cond_broadcast(&st->scrub_cond);
    (void)pthread_mutex_unlock(&st->work_lock);
    (void)pthread_join(st->worker, NULL);
    if (st->archiver_started)
        (void)pthread_join(st->archiver, NULL);
    alm_scrub_stop(st);
    st->worker_started = st->archiver_started = false;
}
