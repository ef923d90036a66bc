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

static void tables_dir(const alm_storage *st, char *dir, size_t size)
{
    (void)snprintf(dir, size, "%s/tables", st->root);
}

alm_status alm_durable_open(alm_ctx *cx, alm_storage *st)
{
    alm_durable *d = &st->durable;
    char dir[ALM_PATH_MAX];
    alm_io_stat meta;
    tables_dir(st, dir, sizeof dir);
    const int e = st->io->stat(st->io, dir, &meta);
    if (e < 0)
        return alm_io_fail(cx, e, dir);
    d->device = meta.device;
    d->dir = st->io->open_dir(st->io, dir);
    if (d->dir < 0)
        return alm_io_fail(cx, d->dir, dir);
    d->whole = st->io->syncs_all(st->io, d->dir);
    return ALM_OK;
}

void alm_durable_close(alm_storage *st)
{
    ALM_ASSERT(st->durable.handles == 0);
    if (st->durable.dir >= 0)
        (void)st->io->close(st->io, st->durable.dir);
    st->durable.dir = -1;
}

/* --------------------------------------------------------------------------- one file */

/* Under the lock: who finds the directory also finds it counted. */
static alm_status make_dir(alm_ctx *cx, alm_storage *st, const char *dir, alm_io_stat *meta)
{
    if (st->io->stat(st->io, dir, meta) >= 0)
        return ALM_OK;
    int e = st->io->mkdir(st->io, dir);
    if (e >= 0)
        st->durable.made++;
    if (e >= 0)
        e = st->io->stat(st->io, dir, meta);
    return e < 0 ? alm_io_fail(cx, e, dir) : ALM_OK;
}

alm_status alm_unsynced_begin(alm_ctx *cx, alm_storage *st, uint64_t table_id, alm_unsynced *out)
{
    char dir[ALM_PATH_MAX];
    alm_io_stat meta = {0};
    alm_storage_table_dir(st, table_id, dir, sizeof dir);
    *out = (alm_unsynced){
        .handle = -1, .table_id = table_id, .failures = atomic_load(&st->durable.failures)};
    (void)pthread_mutex_lock(&st->durable.lock);
    const alm_status e = make_dir(cx, st, dir, &meta);
    (void)pthread_mutex_unlock(&st->durable.lock);
    out->elsewhere = meta.device != st->durable.device;
    return e;
}

static bool take_handle(alm_durable *d)
{
    const bool taken = atomic_fetch_add(&d->handles, 1) < UNSYNCED_HANDLES_MAX;
    if (!taken)
        (void)atomic_fetch_sub(&d->handles, 1);
    return taken;
}

static int close_handle(alm_storage *st, alm_unsynced *u)
{
    const int handle = u->handle;
    if (handle < 0)
        return 0;
    u->handle = -1;
    const int32_t before = atomic_fetch_sub(&st->durable.handles, 1);
    ALM_ASSERT(before > 0);
    return st->io->close(st->io, handle);
}

/* What is left when the bytes are durable. */
static alm_unsynced_state with_bytes(const alm_unsynced *u)
{
    return u->named ? ALM_SYNC_DONE : ALM_SYNC_NAME;
}

static bool may_wait_for_all(const alm_storage *st, const alm_unsynced *u)
{
    return st->durable.whole && st->conf.sync_files_max > 0 && !u->elsewhere;
}

alm_status alm_unsynced_written(alm_ctx *cx, alm_storage *st, alm_unsynced *u, int handle,
                                int64_t bytes, const char *path)
{
    const bool large = bytes >= SYNC_AT_ONCE_BYTES;
    u->state = ALM_SYNC_BYTES;
    if (!large && take_handle(&st->durable)) {
        u->handle = handle;
        return ALM_OK;
    }
    int e = 0;
    if (large || !may_wait_for_all(st, u)) {
        e = st->io->sync(st->io, handle);
        u->state = e < 0 ? ALM_SYNC_LOST : with_bytes(u);
    }
    const int closed = st->io->close(st->io, handle);
    e = e < 0 ? e : closed;
    return e < 0 ? alm_io_fail(cx, e, path) : ALM_OK;
}

void alm_unsynced_drop(alm_storage *st, alm_unsynced *u)
{
    (void)close_handle(st, u);
}

/* ------------------------------------------------------------------------- the group */

static alm_status lost(alm_ctx *cx)
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
        const alm_unsynced *u = list[i];
        if (u->state == ALM_SYNC_DONE)
            continue;
        syncs += u->state == ALM_SYNC_BYTES ? 1 : 0;
        if (!u->named && u->table_id != dir) {
            syncs++;
            dir = u->table_id;
        }
        *whole_only |= u->state == ALM_SYNC_BYTES && u->handle < 0;
    }
    return syncs;
}

/* The names of directories that were made before now. */
static alm_status sync_new_dirs(alm_ctx *cx, alm_storage *st)
{
    alm_durable *d = &st->durable;
    char dir[ALM_PATH_MAX];
    int e = 0;
    tables_dir(st, dir, sizeof dir);
    (void)pthread_mutex_lock(&d->lock);
    if (d->named < d->made)
        e = st->io->sync_dir(st->io, dir);
    if (e >= 0)
        d->named = d->made;
    (void)pthread_mutex_unlock(&d->lock);
    return e < 0 ? alm_io_fail(cx, e, dir) : ALM_OK;
}

static alm_status sync_bytes(alm_ctx *cx, alm_storage *st, alm_unsynced *u)
{
    if (u->state == ALM_SYNC_LOST)
        return lost(cx);
    if (u->state != ALM_SYNC_BYTES)
        return ALM_OK;
    ALM_ASSERT(u->handle >= 0);
    int e = st->io->sync(st->io, u->handle);
    const int closed = close_handle(st, u);
    e = e < 0 ? e : closed;
    u->state = e < 0 ? ALM_SYNC_LOST : with_bytes(u);
    return e < 0 ? alm_io_fail(cx, e, "sync a file of a table") : ALM_OK;
}

static alm_status sync_one_by_one(alm_ctx *cx, alm_storage *st, alm_unsynced *const *list, size_t n)
{
    uint64_t last = 0;
    for (size_t i = 0; i < n; i++)
        ALM_TRY(sync_bytes(cx, st, list[i]));
    for (size_t i = 0; i < n; i++) {
        char dir[ALM_PATH_MAX];
        if (list[i]->state == ALM_SYNC_DONE || list[i]->table_id == last)
            continue;
        last = list[i]->table_id;
        alm_storage_table_dir(st, last, dir, sizeof dir);
        const int e = st->io->sync_dir(st->io, dir);
        if (e < 0)
            return alm_io_fail(cx, e, dir);
    }
    return sync_new_dirs(cx, st);
}

static alm_status sync_each(alm_ctx *cx, alm_storage *st, alm_unsynced *const *list, size_t n)
{
    const alm_status e = sync_one_by_one(cx, st, list, n);
    for (size_t i = 0; i < n; i++)
        if (list[i]->state != ALM_SYNC_DONE)
            list[i]->state = e == ALM_OK ? ALM_SYNC_DONE : ALM_SYNC_LOST;
    return e;
}

/* One call at a time: each returns the errors since the one before, to one caller. */
static alm_status call_sync_all(alm_ctx *cx, alm_storage *st)
{
    alm_durable *d = &st->durable;
    (void)pthread_mutex_lock(&d->sync_lock);
    (void)pthread_mutex_lock(&d->lock);
    const uint64_t made = d->made;
    (void)pthread_mutex_unlock(&d->lock);
    const int e = st->io->sync_all(st->io, d->dir);
    if (e < 0)
        (void)atomic_fetch_add(&d->failures, 1);
    (void)pthread_mutex_unlock(&d->sync_lock);
    (void)pthread_mutex_lock(&d->lock);
    if (e >= 0)
        d->named = ALM_MAX(d->named, made);
    (void)pthread_mutex_unlock(&d->lock);
    return e < 0 ? alm_io_fail(cx, e, "sync the file system of the tables") : ALM_OK;
}

static alm_status sync_whole(alm_ctx *cx, alm_storage *st, alm_unsynced *const *list, size_t n)
{
    alm_status status = ALM_OK;
    for (size_t i = 0; i < n && status == ALM_OK; i++)
        if (list[i]->elsewhere)
            status = sync_bytes(cx, st, list[i]);
    if (status == ALM_OK)
        status = call_sync_all(cx, st);
    const uint64_t failures = atomic_load(&st->durable.failures);
    for (size_t i = 0; i < n; i++) {
        alm_unsynced *u = list[i];
        const int closed = close_handle(st, u);
        if (u->state == ALM_SYNC_DONE)
            continue;
        if (u->state == ALM_SYNC_BYTES &&
            (status != ALM_OK || closed < 0 || u->failures != failures))
            u->state = ALM_SYNC_LOST;
        if (status == ALM_OK && u->state == ALM_SYNC_LOST)
            status = lost(cx);
        if (status == ALM_OK && !u->elsewhere)
            u->state = ALM_SYNC_DONE;
    }
    ALM_TRY(status);
    return sync_each(cx, st, list, n); /* names elsewhere; most often nothing is left */
}

alm_status alm_unsynced_sync(alm_ctx *cx, alm_storage *st, alm_unsynced *const *list, size_t n)
{
    bool whole = false;
    const size_t syncs = count_syncs(list, n, &whole);
    if (syncs == 0)
        return ALM_OK;
    whole |=
        st->durable.whole && st->conf.sync_files_max > 0 && syncs > (size_t)st->conf.sync_files_max;
    ALM_ASSERT(!whole || st->durable.whole);
    return whole ? sync_whole(cx, st, list, n) : sync_each(cx, st, list, n);
}

alm_status alm_parts_sync(alm_ctx *cx, alm_storage *st, alm_part_ref *const *parts, size_t n)
{
    size_t n_files = 0;
    alm_unsynced **list = NULL;
    for (size_t i = 0; i < n; i++)
        n_files += 1u + parts[i]->n_overlays;
    ALM_TRY(alm_heap_bytes(cx, n_files * sizeof *list, "files to sync", (void *)&list));
    size_t n_list = 0;
    for (size_t i = 0; i < n; i++) {
        alm_unsynced *u = alm_file_unsynced(parts[i]->file);
        if (u->state != ALM_SYNC_DONE && (n_list == 0 || list[n_list - 1] != u))
            list[n_list++] = u; /* of parts that share a file once */
        for (uint32_t j = 0; j < parts[i]->n_overlays; j++)
            if (parts[i]->overlays[j].file->unsynced.state != ALM_SYNC_DONE)
                list[n_list++] = &parts[i]->overlays[j].file->unsynced;
    }
    const alm_status e = alm_unsynced_sync(cx, st, list, n_list);
    free((void *)list);
    return e;
}
