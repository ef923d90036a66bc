/*
 * open.c - opening and closing a storage directory, what is asked of an open storage.
 *
 * Recovery (recover/recover.c) reads the catalogue file and the log into memory and writes nothing; only then is the log
 * made ready for appending. A crash in it changes nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "storage/backup/archive.h"
#include "storage/backup/backup.h"
#include "storage/dict/dict.h"
#include "storage/recover/generation.h"
#include "storage/recover/hold.h"
#include "storage/recover/recover.h"
#include "storage/version/change.h"
#include "storage/worker.h"
#include "storage/write/expire.h"
#include "storage/write/reserve.h"

const alm_storage_conf *alm_storage_conf_of(const alm_storage *st)
{
    return &st->conf;
}

alm_spill_space *alm_storage_spill_space(alm_storage *st)
{
    return &st->spill;
}

/* ------------------------------------------------------------------------- files */

static alm_status make_dir(alm_ctx *cx, const alm_io *io, const char *dir, const char *parent)
{
    alm_io_stat meta;
    if (io->stat(io, dir, &meta) == 0 && meta.is_dir)
        return ALM_OK;
    int e = io->mkdir(io, dir);
    if (e < 0)
        return alm_io_fail(cx, e, dir);
    e = io->sync_dir(io, parent);
    return e < 0 ? alm_io_fail(cx, e, parent) : ALM_OK;
}

static alm_status make_dirs(alm_ctx *cx, alm_storage *st, const char *root)
{
    char path[ALM_PATH_MAX];
    alm_io_stat meta;
    if (st->io->stat(st->io, root, &meta) < 0) {
        const int e = st->io->mkdir(st->io, root);
        if (e < 0)
            return alm_io_fail(cx, e, root);
        char parent[ALM_PATH_MAX];
        (void)snprintf(parent, sizeof parent, "%s", root);
        char *slash = strrchr(parent, '/');
        if (slash == NULL)
            (void)snprintf(parent, sizeof parent, ".");
        else
            slash[slash == parent] = 0; /* "/x" lies in "/" */
        const int failed = st->io->sync_dir(st->io, parent);
        if (failed < 0 && failed != -EACCES && failed != -EPERM) { /* these: not ours to sync */
            (void)st->io->rmdir(st->io, root);
            return alm_io_fail(cx, failed, parent);
        }
    }
    ALM_TRY(make_dir(cx, st->io, st->root, root));
    (void)snprintf(path, sizeof path, "%s/wal", st->root);
    ALM_TRY(make_dir(cx, st->io, path, st->root));
    (void)snprintf(path, sizeof path, "%s/tables", st->root);
    ALM_TRY(make_dir(cx, st->io, path, st->root));
    /* A directory made by a start that failed may never have been synced. */
    int e = st->io->sync_dir(st->io, root);
    if (e >= 0)
        e = st->io->sync_dir(st->io, st->root);
    return e < 0 ? alm_io_fail(cx, e, st->root) : ALM_OK;
}

/* Or takes it over from a caller who has it. */
static alm_status own(alm_ctx *cx, alm_storage *st)
{
    if (st->conf.owner == NULL)
        return alm_owner_take(cx, st->io, st->root, true, &st->owner);
    alm_owner_move(&st->owner, st->conf.owner);
    st->conf.owner = NULL;
    return ALM_OK;
}

static alm_status open_spill(alm_ctx *cx, alm_storage *st)
{
    char path[ALM_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/spill", st->root);
    return alm_spill_space_open(cx, &st->spill, st->io, path);
}

/* Tables that are closed: in the log of the server, and in the list of damage until the next start. */
static void tell_lost(alm_storage *st)
{
    for (size_t i = 0; i < st->current->n; i++) {
        const alm_version *v = alm_catver_at(st->current, i);
        for (uint32_t c = 0; c < v->schema->n_cols && v->table.closed != NULL; c++) {
            const alm_symbols *symbols = v->schema->symbols[c];
            char what[sizeof((alm_error *)NULL)->msg + 256];
            if (symbols == NULL || alm_symbols_lost(symbols) == NULL)
                continue;
            (void)snprintf(what, sizeof what, "table '%.128s' is closed: %s", v->table.name,
                           alm_symbols_lost(symbols));
            alm_damage_add(
                st, (alm_damage_key){ALM_DAMAGE_DICTIONARY, v->table.id, v->schema->cols[c].id},
                what);
        }
    }
}

/*
 * Damage in the log that the catalogue makes needless. Changes go on in a new segment, so that the next checkpoint lets the damaged
 * one go; without space for it they go on where they are.
 */
static alm_status leave_damage(alm_ctx *cx, alm_storage *st, const alm_wal_scan *scan)
{
    char what[sizeof((alm_error *)NULL)->msg + 256];
    bool fatal = false;
    if (scan->passed.segment == 0)
        return ALM_OK;
    alm_wal_passed_text(&st->wal, scan, what, sizeof what);
    alm_damage_add(st, (alm_damage_key){ALM_DAMAGE_LOG, 0, scan->passed.segment}, what);
    st->generation.since_ns = st->io->mono_ns(st->io);
    atomic_store(&st->generation.passed, true);
    const alm_status e = alm_wal_begin_segment(cx, &st->wal, st->conf.wal_segment_bytes, &fatal);
    if (e == ALM_OK || fatal)
        return e;
    atomic_store(&st->wal.roll, true);
    alm_error_clear(cx);
    return ALM_OK;
}

/* What a commit before a crash left to a later record. The background thread tries again. */
static void expire_first(alm_storage *st)
{
    alm_ctx cx = {.io = st->io};
    bool busy = false;
    if (alm_tables_expire(&cx, st, &busy) != ALM_OK)
        alm_log_warn("storage", "partitions past their TTL stay for now: %s", cx.err.msg);
}

alm_status alm_storage_open(alm_ctx *cx, const alm_io *io, const char *root,
                            const alm_storage_conf *conf, alm_storage **out)
{
    alm_storage *st = NULL;
    alm_wal_scan scan;
    ALM_TRY(alm_storage_new(cx, io, root, conf, &st));
    const int64_t started = io->mono_ns(io);
    alm_status e = st->conf.restoring ? ALM_OK : alm_restore_refuse(cx, io, root);
    if (e == ALM_OK)
        e = make_dirs(cx, st, root);
    if (e == ALM_OK)
        e = own(cx, st);
    if (e == ALM_OK)
        e = alm_durable_open(cx, st);
    if (e == ALM_OK)
        e = open_spill(cx, st);
    if (e == ALM_OK)
        e = alm_storage_recover(cx, st, &scan);
    if (e == ALM_OK)
        alm_archive_at_open(cx, st);
    if (e == ALM_OK)
        e = alm_wal_start(cx, &st->wal, &scan);
    if (e == ALM_OK)
        e = alm_generation_settle(cx, st);
    if (e == ALM_OK)
        e = leave_damage(cx, st, &scan);
    if (e == ALM_OK)
        e = alm_hold_resume(cx, st);
    if (e == ALM_OK)
        alm_reserve_open(st);
    if (e == ALM_OK) /* what the catalogue and the log have is taken whatever the limit is now */
        st->symbols.bytes_max = st->conf.symbols_bytes_max;
    if (e == ALM_OK)
        tell_lost(st);
    if (e == ALM_OK)
        expire_first(st);
    const size_t tables = st->current->n; /* the background thread commits, too */
    const uint64_t lsn = st->checkpoint_lsn;
    if (e == ALM_OK && !st->conf.manual)
        e = alm_worker_start(cx, st);
    if (e != ALM_OK) {
        alm_storage_free(st);
        return e;
    }
    alm_log_info("storage", "opened '%s' in %lld ms: %zu tables, %lld bytes of log after lsn %llu",
                 st->root, (long long)((io->mono_ns(io) - started) / 1000000), tables,
                 (long long)scan.bytes, (unsigned long long)lsn);
    *out = st;
    return ALM_OK;
}

void alm_storage_close(alm_storage *st)
{
    if (st == NULL)
        return;
    alm_worker_stop(st);
    if (!st->failed)
        (void)alm_archive_catch_up(st, NULL); /* what is left waits for the next start */
    alm_ctx cx = {.io = st->io};
    const bool stale = st->current->lsn != st->checkpoint_lsn || alm_generation_is_stale(st);
    if (!st->failed && !st->hold.held && stale && alm_checkpoint_last(&cx, st) != ALM_OK)
        alm_log_warn("storage", "no checkpoint at the end (the log has everything): %s",
                     cx.err.msg);
    if (atomic_load(&st->n_snapshots) != 0) { /* freeing under a reader would be worse */
        alm_log_error("storage", "closed with %lld snapshots in use",
                      (long long)atomic_load(&st->n_snapshots));
        return;
    }
    alm_storage_free(st);
}

const alm_storage_counters *alm_storage_counters_of(const alm_storage *st)
{
    return &st->counters;
}

void alm_storage_stats_get(alm_storage *st, alm_storage_stats *out)
{
    *out = (alm_storage_stats){.syncs = st->io->sync_count(st->io),
                               .commits = atomic_load(&st->commits),
                               .wal_bytes = atomic_load(&st->wal.bytes_written),
                               .head_bytes = atomic_load(&st->head_bytes),
                               .head_bytes_max = st->conf.head_bytes_max,
                               .wal_lsn = (int64_t)atomic_load(&st->wal.last_lsn),
                               .wal_synced_lsn = (int64_t)atomic_load(&st->wal.synced_lsn),
                               .snapshots = atomic_load(&st->n_snapshots),
                               .spill_bytes = atomic_load(&st->spill.bytes),
                               .spill_files = atomic_load(&st->spill.files)};
    alm_catver *cat = alm_catver_current(st);
    out->visible_lsn = (int64_t)cat->lsn;
    out->tables = (int64_t)cat->n;
    for (size_t i = 0; i < cat->n; i++) {
        const alm_version *v = alm_catver_at(cat, i);
        out->parts += v->parts->n;
        out->rows += v->table.row_count;
        out->part_bytes += v->parts->bytes;
        for (uint32_t p = 0; p < v->parts->n;
             p++) /* by time: those of a partition follow each other */
            out->partitions +=
                p == 0 || v->parts->parts[p]->bucket != v->parts->parts[p - 1]->bucket;
    }
    alm_catver_release(cat);
    (void)pthread_mutex_lock(&st->wal.lock);
    out->wal_segments = (int64_t)st->wal.n_segments;
    (void)pthread_mutex_unlock(&st->wal.lock);
    out->checkpoint_lsn = (int64_t)atomic_load(&st->checkpoint_lsn);
    out->damaged_files = atomic_load(&st->damages.known);
    out->damage_found = alm_counted(&st->damages.found);
    (void)pthread_mutex_lock(&st->queue_lock);
    out->read_only = st->failed;
    (void)pthread_mutex_unlock(&st->queue_lock);
}
