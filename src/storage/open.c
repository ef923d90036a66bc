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

const alm_storage_conf *alm_storage_conf_of(const alm_storage *storage)
{
    return &storage->conf;
}

alm_spill_space *alm_storage_spill_space(alm_storage *storage)
{
    return &storage->spill;
}

/* ------------------------------------------------------------------------- files */

static alm_status storage_open_make_dir(alm_ctx *cx, const alm_io *io, const char *dir,
                                        const char *parent)
{
    alm_io_stat meta;
    if (io->stat(io, dir, &meta) == 0 && meta.is_dir)
        return ALM_OK;
    int code = io->mkdir(io, dir);
    if (code < 0)
        return alm_io_fail(cx, code, dir);
    code = io->sync_dir(io, parent);
    return code < 0 ? alm_io_fail(cx, code, parent) : ALM_OK;
}

static alm_status make_dirs(alm_ctx *cx, alm_storage *storage, const char *root)
{
    char path[ALM_PATH_MAX];
    alm_io_stat meta;
    if (storage->io->stat(storage->io, root, &meta) < 0) {
        const int code = storage->io->mkdir(storage->io, root);
        if (code < 0)
            return alm_io_fail(cx, code, root);
        char parent[ALM_PATH_MAX];
        (void)snprintf(parent, sizeof parent, "%s", root);
        char *slash = strrchr(parent, '/');
        if (slash == NULL)
            (void)snprintf(parent, sizeof parent, ".");
        else
            slash[slash == parent] = 0; /* "/x" lies in "/" */
        const int failed = storage->io->sync_dir(storage->io, parent);
        if (failed < 0 && failed != -EACCES && failed != -EPERM) { /* these: not ours to sync */
            (void)storage->io->rmdir(storage->io, root);
            return alm_io_fail(cx, failed, parent);
        }
    }
    ALM_TRY(storage_open_make_dir(cx, storage->io, storage->root, root));
    (void)snprintf(path, sizeof path, "%s/wal", storage->root);
    ALM_TRY(storage_open_make_dir(cx, storage->io, path, storage->root));
    (void)snprintf(path, sizeof path, "%s/tables", storage->root);
    ALM_TRY(storage_open_make_dir(cx, storage->io, path, storage->root));
    /* A directory made by a start that failed may never have been synced. */
    int error = storage->io->sync_dir(storage->io, root);
    if (error >= 0)
        error = storage->io->sync_dir(storage->io, storage->root);
    return error < 0 ? alm_io_fail(cx, error, storage->root) : ALM_OK;
}

/* Or takes it over from a caller who has it. */
static alm_status storage_open_own(alm_ctx *cx, alm_storage *storage)
{
    if (storage->conf.owner == NULL)
        return alm_owner_take(cx, storage->io, storage->root, true, &storage->owner);
    alm_owner_move(&storage->owner, storage->conf.owner);
    storage->conf.owner = NULL;
    return ALM_OK;
}

static alm_status open_spill(alm_ctx *cx, alm_storage *storage)
{
    char path[ALM_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/spill", storage->root);
    return alm_spill_space_open(cx, &storage->spill, storage->io, path);
}

/* Tables that are closed: in the log of the server, and in the list of damage until the next start. */
static void tell_lost(alm_storage *storage)
{
    for (size_t i = 0; i < storage->current->n; i++) {
        const alm_version *version = alm_catver_at(storage->current, i);
        for (uint32_t col = 0; col < version->schema->n_cols && version->table.closed != NULL;
             col++) {
            const alm_symbols *symbols = version->schema->symbols[col];
            char what[sizeof((alm_error *)NULL)->msg + 256];
            if (symbols == NULL || alm_symbols_lost(symbols) == NULL)
                continue;
            (void)snprintf(what, sizeof what, "table '%.128s' is closed: %s", version->table.name,
                           alm_symbols_lost(symbols));
            alm_damage_add(storage,
                           (alm_damage_key){ALM_DAMAGE_DICTIONARY, version->table.id,
                                            version->schema->cols[col].id},
                           what);
        }
    }
}

/*
 * Damage in the log that the catalogue makes needless. Changes go on in a new segment, so that the next checkpoint lets the damaged
 * one go; without space for it they go on where they are.
 */
static alm_status leave_damage(alm_ctx *cx, alm_storage *storage, const alm_wal_scan *scan)
{
    char what[sizeof((alm_error *)NULL)->msg + 256];
    bool fatal = false;
    if (scan->passed.segment == 0)
        return ALM_OK;
    alm_wal_passed_text(&storage->wal, scan, what, sizeof what);
    alm_damage_add(storage, (alm_damage_key){ALM_DAMAGE_LOG, 0, scan->passed.segment}, what);
    storage->generation.since_ns = storage->io->mono_ns(storage->io);
    atomic_store(&storage->generation.passed, true);
    const alm_status status =
        alm_wal_begin_segment(cx, &storage->wal, storage->conf.wal_segment_bytes, &fatal);
    if (status == ALM_OK || fatal)
        return status;
    atomic_store(&storage->wal.roll, true);
    alm_error_clear(cx);
    return ALM_OK;
}

/* What a commit before a crash left to a later record. The background thread tries again. */
static void expire_first(alm_storage *storage)
{
    alm_ctx cx = {.io = storage->io};
    bool busy = false;
    if (alm_tables_expire(&cx, storage, &busy) != ALM_OK)
        alm_log_warn("storage", "partitions past their TTL stay for now: %s", cx.err.msg);
}

alm_status alm_storage_open(alm_ctx *cx, const alm_io *io, const char *root,
                            const alm_storage_conf *conf, alm_storage **out)
{
    alm_storage *storage = NULL;
    alm_wal_scan scan;
    ALM_TRY(alm_storage_new(cx, io, root, conf, &storage));
    const int64_t started = io->mono_ns(io);
    alm_status status = storage->conf.restoring ? ALM_OK : alm_restore_refuse(cx, io, root);
    if (status == ALM_OK)
        status = make_dirs(cx, storage, root);
    if (status == ALM_OK)
        status = storage_open_own(cx, storage);
    if (status == ALM_OK)
        status = alm_durable_open(cx, storage);
    if (status == ALM_OK)
        status = open_spill(cx, storage);
    if (status == ALM_OK)
        status = alm_storage_recover(cx, storage, &scan);
    if (status == ALM_OK)
        alm_archive_at_open(cx, storage);
    if (status == ALM_OK)
        status = alm_wal_start(cx, &storage->wal, &scan);
    if (status == ALM_OK)
        status = alm_generation_settle(cx, storage);
    if (status == ALM_OK)
        status = leave_damage(cx, storage, &scan);
    if (status == ALM_OK)
        status = alm_hold_resume(cx, storage);
    if (status == ALM_OK)
        alm_reserve_open(storage);
    if (status ==
        ALM_OK) /* what the catalogue and the log have is taken whatever the limit is now */
        storage->symbols.bytes_max = storage->conf.symbols_bytes_max;
    if (status == ALM_OK)
        tell_lost(storage);
    if (status == ALM_OK)
        expire_first(storage);
    const size_t tables = storage->current->n; /* the background thread commits, too */
    const uint64_t lsn = storage->checkpoint_lsn;
    if (status == ALM_OK && !storage->conf.manual)
        status = alm_worker_start(cx, storage);
    if (status != ALM_OK) {
        alm_storage_free(storage);
        return status;
    }
    alm_log_info("storage", "opened '%s' in %lld ms: %zu tables, %lld bytes of log after lsn %llu",
                 storage->root, (long long)((io->mono_ns(io) - started) / 1000000), tables,
                 (long long)scan.bytes, (unsigned long long)lsn);
    *out = storage;
    return ALM_OK;
}

void alm_storage_close(alm_storage *storage)
{
    if (storage == NULL)
        return;
    alm_worker_stop(storage);
    if (!storage->failed)
        (void)alm_archive_catch_up(storage, NULL); /* what is left waits for the next start */
    alm_ctx cx = {.io = storage->io};
    const bool stale =
        storage->current->lsn != storage->checkpoint_lsn || alm_generation_is_stale(storage);
    if (!storage->failed && !storage->hold.held && stale &&
        alm_checkpoint_last(&cx, storage) != ALM_OK)
        alm_log_warn("storage", "no checkpoint at the end (the log has everything): %s",
                     cx.err.msg);
    if (atomic_load(&storage->n_snapshots) != 0) { /* freeing under a reader would be worse */
        alm_log_error("storage", "closed with %lld snapshots in use",
                      (long long)atomic_load(&storage->n_snapshots));
        return;
    }
    alm_storage_free(storage);
}

const alm_storage_counters *alm_storage_counters_of(const alm_storage *storage)
{
    return &storage->counters;
}

void alm_storage_stats_get(alm_storage *storage, alm_storage_stats *out)
{
    *out = (alm_storage_stats){.syncs = storage->io->sync_count(storage->io),
                               .commits = atomic_load(&storage->commits),
                               .wal_bytes = atomic_load(&storage->wal.bytes_written),
                               .head_bytes = atomic_load(&storage->head_bytes),
                               .head_bytes_max = storage->conf.head_bytes_max,
                               .wal_lsn = (int64_t)atomic_load(&storage->wal.last_lsn),
                               .wal_synced_lsn = (int64_t)atomic_load(&storage->wal.synced_lsn),
                               .snapshots = atomic_load(&storage->n_snapshots),
                               .spill_bytes = atomic_load(&storage->spill.bytes),
                               .spill_files = atomic_load(&storage->spill.files)};
    alm_catver *cat = alm_catver_current(storage);
    out->visible_lsn = (int64_t)cat->lsn;
    out->tables = (int64_t)cat->n;
    for (size_t i = 0; i < cat->n; i++) {
        const alm_version *version = alm_catver_at(cat, i);
        out->parts += version->parts->n;
        out->rows += version->table.row_count;
        out->part_bytes += version->parts->bytes;
        for (uint32_t partition = 0; partition < version->parts->n;
             partition++) /* by time: those of a partition follow each other */
            out->partitions += partition == 0 || version->parts->parts[partition]->bucket !=
                                                     version->parts->parts[partition - 1]->bucket;
    }
    alm_catver_release(cat);
    (void)pthread_mutex_lock(&storage->wal.lock);
    out->wal_segments = (int64_t)storage->wal.n_segments;
    (void)pthread_mutex_unlock(&storage->wal.lock);
    out->checkpoint_lsn = (int64_t)atomic_load(&storage->checkpoint_lsn);
    out->damaged_files = atomic_load(&storage->damages.known);
    out->damage_found = alm_counted(&storage->damages.found);
    (void)pthread_mutex_lock(&storage->queue_lock);
    out->read_only = storage->failed;
    (void)pthread_mutex_unlock(&storage->queue_lock);
}
