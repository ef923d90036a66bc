/*
 * durable.c - groups of files that are synced together, directories of tables.
 */
#include "storage/part/durable.h"

#include <stdio.h>
#include <stdlib.h>

#include "storage/state.h"

enum {
    UNSYNCED_HANDLES_MAX = 64,   /* of one storage: descriptors are few */
    SYNC_AT_ONCE_BYTES = 4 << 20 /* such a file takes longer to write than to sync */
};

static void durable_tables_dir(const alm_storage *storage, char *dir, size_t size)
{
    (void)snprintf(dir, size, "%s/tables", storage->root);
}

alm_status alm_durable_open(alm_ctx *cx, alm_storage *storage)
{
    alm_durable *durable = &storage->durable;
    char dir[ALM_PATH_MAX];
    alm_io_stat meta;
    durable_tables_dir(storage, dir, sizeof dir);
    const int code = storage->io->stat(storage->io, dir, &meta);
    if (code < 0)
        return alm_io_fail(cx, code, dir);
    durable->device = meta.device;
    durable->dir = storage->io->open_dir(storage->io, dir);
    if (durable->dir < 0)
        return alm_io_fail(cx, durable->dir, dir);
    durable->whole = storage->io->syncs_all(storage->io, durable->dir);
    return ALM_OK;
}

void alm_durable_close(alm_storage *storage)
{
    ALM_ASSERT(storage->durable.handles == 0);
    if (storage->durable.dir >= 0)
        (void)storage->io->close(storage->io, storage->durable.dir);
    storage->durable.dir = -1;
}

/* --------------------------------------------------------------------------- one file */

/* Under the lock: who finds the directory also finds it counted. */
static alm_status durable_make_dir(alm_ctx *cx, alm_storage *storage, const char *dir,
                                   alm_io_stat *meta)
{
    if (storage->io->stat(storage->io, dir, meta) >= 0)
        return ALM_OK;
    int code = storage->io->mkdir(storage->io, dir);
    if (code >= 0)
        storage->durable.made++;
    if (code >= 0)
        code = storage->io->stat(storage->io, dir, meta);
    return code < 0 ? alm_io_fail(cx, code, dir) : ALM_OK;
}

alm_status alm_unsynced_begin(alm_ctx *cx, alm_storage *storage, uint64_t table_id,
                              alm_unsynced *out)
{
    char dir[ALM_PATH_MAX];
    alm_io_stat meta = {0};
    alm_storage_table_dir(storage, table_id, dir, sizeof dir);
    *out = (alm_unsynced){
        .handle = -1, .table_id = table_id, .failures = atomic_load(&storage->durable.failures)};
    (void)pthread_mutex_lock(&storage->durable.lock);
    const alm_status status = durable_make_dir(cx, storage, dir, &meta);
    (void)pthread_mutex_unlock(&storage->durable.lock);
    out->elsewhere = meta.device != storage->durable.device;
    return status;
}

static bool take_handle(alm_durable *durable)
{
    const bool taken = atomic_fetch_add(&durable->handles, 1) < UNSYNCED_HANDLES_MAX;
    if (!taken)
        (void)atomic_fetch_sub(&durable->handles, 1);
    return taken;
}

static int close_handle(alm_storage *storage, alm_unsynced *unsynced)
{
    const int handle = unsynced->handle;
    if (handle < 0)
        return 0;
    unsynced->handle = -1;
    const int32_t before = atomic_fetch_sub(&storage->durable.handles, 1);
    ALM_ASSERT(before > 0);
    return storage->io->close(storage->io, handle);
}

/* What is left when the bytes are durable. */
static alm_unsynced_state with_bytes(const alm_unsynced *unsynced)
{
    return unsynced->named ? ALM_SYNC_DONE : ALM_SYNC_NAME;
}

static bool may_wait_for_all(const alm_storage *storage, const alm_unsynced *unsynced)
{
    return storage->durable.whole && storage->conf.sync_files_max > 0 && !unsynced->elsewhere;
}

alm_status alm_unsynced_written(alm_ctx *cx, alm_storage *storage, alm_unsynced *unsynced,
                                int handle, int64_t bytes, const char *path)
{
    const bool large = bytes >= SYNC_AT_ONCE_BYTES;
    unsynced->state = ALM_SYNC_BYTES;
    if (!large && take_handle(&storage->durable)) {
        unsynced->handle = handle;
        return ALM_OK;
    }
    int code = 0;
    if (large || !may_wait_for_all(storage, unsynced)) {
        code = storage->io->sync(storage->io, handle);
        unsynced->state = code < 0 ? ALM_SYNC_LOST : with_bytes(unsynced);
    }
    const int closed = storage->io->close(storage->io, handle);
    code = code < 0 ? code : closed;
    return code < 0 ? alm_io_fail(cx, code, path) : ALM_OK;
}

void alm_unsynced_drop(alm_storage *storage, alm_unsynced *unsynced)
{
    (void)close_handle(storage, unsynced);
}

/* ------------------------------------------------------------------------- the group */

static alm_status durable_lost(alm_ctx *cx)
{
    return alm_fail(
        cx, ALM_E_IO, -1,
        "a file that was written is not known to be on disk, because an earlier sync failed");
}

/* Syncs that the list takes one by one; *whole_only: some of them cannot. */
static size_t count_syncs(alm_unsynced *const *list, size_t n, bool *whole_only)
{
    size_t syncs = 0;
    uint64_t dir = 0; /* no table has this number */
    for (size_t i = 0; i < n; i++) {
        const alm_unsynced *unsynced = list[i];
        if (unsynced->state == ALM_SYNC_DONE)
            continue;
        syncs += unsynced->state == ALM_SYNC_BYTES ? 1 : 0;
        if (!unsynced->named && unsynced->table_id != dir) {
            syncs++;
            dir = unsynced->table_id;
        }
        *whole_only |= unsynced->state == ALM_SYNC_BYTES && unsynced->handle < 0;
    }
    return syncs;
}

/* The names of directories that were made before now. */
static alm_status sync_new_dirs(alm_ctx *cx, alm_storage *storage)
{
    alm_durable *durable = &storage->durable;
    char dir[ALM_PATH_MAX];
    int code = 0;
    durable_tables_dir(storage, dir, sizeof dir);
    (void)pthread_mutex_lock(&durable->lock);
    if (durable->named < durable->made)
        code = storage->io->sync_dir(storage->io, dir);
    if (code >= 0)
        durable->named = durable->made;
    (void)pthread_mutex_unlock(&durable->lock);
    return code < 0 ? alm_io_fail(cx, code, dir) : ALM_OK;
}

static alm_status sync_bytes(alm_ctx *cx, alm_storage *storage, alm_unsynced *unsynced)
{
    if (unsynced->state == ALM_SYNC_LOST)
        return durable_lost(cx);
    if (unsynced->state != ALM_SYNC_BYTES)
        return ALM_OK;
    ALM_ASSERT(unsynced->handle >= 0);
    int code = storage->io->sync(storage->io, unsynced->handle);
    const int closed = close_handle(storage, unsynced);
    code = code < 0 ? code : closed;
    unsynced->state = code < 0 ? ALM_SYNC_LOST : with_bytes(unsynced);
    return code < 0 ? alm_io_fail(cx, code, "sync a file of a table") : ALM_OK;
}

static alm_status sync_one_by_one(alm_ctx *cx, alm_storage *storage, alm_unsynced *const *list,
                                  size_t n)
{
    uint64_t last = 0;
    for (size_t i = 0; i < n; i++)
        ALM_TRY(sync_bytes(cx, storage, list[i]));
    for (size_t i = 0; i < n; i++) {
        char dir[ALM_PATH_MAX];
        if (list[i]->state == ALM_SYNC_DONE || list[i]->table_id == last)
            continue;
        last = list[i]->table_id;
        alm_storage_table_dir(storage, last, dir, sizeof dir);
        const int code = storage->io->sync_dir(storage->io, dir);
        if (code < 0)
            return alm_io_fail(cx, code, dir);
    }
    return sync_new_dirs(cx, storage);
}

static alm_status sync_each(alm_ctx *cx, alm_storage *storage, alm_unsynced *const *list, size_t n)
{
    const alm_status status = sync_one_by_one(cx, storage, list, n);
    for (size_t i = 0; i < n; i++)
        if (list[i]->state != ALM_SYNC_DONE)
            list[i]->state = status == ALM_OK ? ALM_SYNC_DONE : ALM_SYNC_LOST;
    return status;
}

/* One call at a time: each returns the errors since the one before, to one caller. */
static alm_status call_sync_all(alm_ctx *cx, alm_storage *storage)
{
    alm_durable *durable = &storage->durable;
    (void)pthread_mutex_lock(&durable->sync_lock);
    (void)pthread_mutex_lock(&durable->lock);
    const uint64_t made = durable->made;
    (void)pthread_mutex_unlock(&durable->lock);
    const int code = storage->io->sync_all(storage->io, durable->dir);
    if (code < 0)
        (void)atomic_fetch_add(&durable->failures, 1);
    (void)pthread_mutex_unlock(&durable->sync_lock);
    (void)pthread_mutex_lock(&durable->lock);
    if (code >= 0)
        durable->named = ALM_MAX(durable->named, made);
    (void)pthread_mutex_unlock(&durable->lock);
    return code < 0 ? alm_io_fail(cx, code, "sync the file system of the tables") : ALM_OK;
}

static alm_status sync_whole(alm_ctx *cx, alm_storage *storage, alm_unsynced *const *list, size_t n)
{
    alm_status status = ALM_OK;
    for (size_t i = 0; i < n && status == ALM_OK; i++)
        if (list[i]->elsewhere)
            status = sync_bytes(cx, storage, list[i]);
    if (status == ALM_OK)
        status = call_sync_all(cx, storage);
    const uint64_t failures = atomic_load(&storage->durable.failures);
    for (size_t i = 0; i < n; i++) {
        alm_unsynced *unsynced = list[i];
        const int closed = close_handle(storage, unsynced);
        if (unsynced->state == ALM_SYNC_DONE)
            continue;
        if (unsynced->state == ALM_SYNC_BYTES &&
            (status != ALM_OK || closed < 0 || unsynced->failures != failures))
            unsynced->state = ALM_SYNC_LOST;
        if (status == ALM_OK && unsynced->state == ALM_SYNC_LOST)
            status = durable_lost(cx);
        if (status == ALM_OK && !unsynced->elsewhere)
            unsynced->state = ALM_SYNC_DONE;
    }
    ALM_TRY(status);
    return sync_each(cx, storage, list, n); /* names elsewhere; most often nothing is left */
}

alm_status alm_unsynced_sync(alm_ctx *cx, alm_storage *storage, alm_unsynced *const *list, size_t n)
{
    bool whole = false;
    const size_t syncs = count_syncs(list, n, &whole);
    if (syncs == 0)
        return ALM_OK;
    whole |= storage->durable.whole && storage->conf.sync_files_max > 0 &&
             syncs > (size_t)storage->conf.sync_files_max;
    ALM_ASSERT(!whole || storage->durable.whole);
    return whole ? sync_whole(cx, storage, list, n) : sync_each(cx, storage, list, n);
}

alm_status alm_parts_sync(alm_ctx *cx, alm_storage *storage, alm_part_ref *const *parts,
                          size_t n_parts)
{
    size_t n_files = 0;
    alm_unsynced **list = NULL;
    for (size_t i = 0; i < n_parts; i++)
        n_files += 1u + parts[i]->n_overlays;
    ALM_TRY(alm_heap_bytes(cx, n_files * sizeof *list, "files to sync", (void *)&list));
    size_t n_list = 0;
    for (size_t i = 0; i < n_parts; i++) {
        alm_unsynced *unsynced = alm_file_unsynced(parts[i]->file);
        if (unsynced->state != ALM_SYNC_DONE && (n_list == 0 || list[n_list - 1] != unsynced))
            list[n_list++] = unsynced; /* of parts that share a file once */
        for (uint32_t j = 0; j < parts[i]->n_overlays; j++)
            if (parts[i]->overlays[j].file->unsynced.state != ALM_SYNC_DONE)
                list[n_list++] = &parts[i]->overlays[j].file->unsynced;
    }
    const alm_status status = alm_unsynced_sync(cx, storage, list, n_list);
    free((void *)list);
    return status;
}
