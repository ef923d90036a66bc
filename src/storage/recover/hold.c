/*
 * hold.c - a checkpoint that is held while the directory is copied (hold.h).
 *
 * Crash       The marker is written last and removed first, and each is synced: with it, the
 *             catalogue file is the one of its LSN, and every file that it names is there.
 */
#include "storage/recover/hold.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "base/log.h"
#include "storage/part/pack.h"
#include "storage/part/retired.h"
#include "storage/recover/recover.h"
#include "storage/write/backpressure.h"
#include "storage/write/commit.h"
#include "storage/write/flush.h"

enum { HOLD_VERSION = 1 };
static const char *const MARKER = "hold";

typedef struct hold_file {
    char magic[8];
    uint32_t version;
    uint32_t crc; /* of bytes 16..63 */
    uint64_t lsn; /* of the catalogue file */
    int64_t since_us;
    uint64_t identity; /* of the lock file: a copy of the directory has another; 0: of none */
    uint64_t zero[3];
} hold_file;
_Static_assert(sizeof(hold_file) == 64, "on disk");

static uint32_t hold_crc(const hold_file *h)
{
    return alm_crc32c(0, (const char *)h + 16, sizeof *h - 16);
}

static uint64_t lock_identity(const alm_io *io, const char *root)
{
    char path[ALM_PATH_MAX];
    alm_io_stat meta;
    (void)snprintf(path, sizeof path, "%s/lock", root);
    return io->stat(io, path, &meta) < 0 ? 0 : meta.identity;
}

static alm_status write_marker(alm_ctx *cx, const alm_io *io, const char *root, uint64_t lsn,
                               int64_t since_us, uint64_t identity)
{
    hold_file h = {.magic = {'A', 'L', 'M', 'H', 'O', 'L', 'D', '1'},
                   .version = HOLD_VERSION,
                   .lsn = lsn,
                   .since_us = since_us,
                   .identity = identity};
    h.crc = hold_crc(&h);
    return alm_io_replace(cx, io, root, MARKER, &h, sizeof h);
}

alm_status alm_hold_mark_copy(alm_ctx *cx, const alm_io *io, const char *root, uint64_t lsn)
{
    return write_marker(cx, io, root, lsn, 0, 0);
}

static alm_status remove_marker(alm_ctx *cx, alm_storage *storage)
{
    char path[ALM_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", storage->root, MARKER);
    int code = alm_io_remove(storage->io, path);
    if (code == 0 || code == -ENOENT)
        code = storage->io->sync_dir(storage->io, storage->root);
    return code < 0 ? alm_io_fail(cx, code, path) : ALM_OK;
}

/* Its age is counted from here by the clock that never jumps: setting the wall clock releases nothing. */
static void set_began(alm_storage *storage, int64_t since_us)
{
    const int64_t age_us = ALM_MAX(storage->io->wall_ns(storage->io) / 1000 - since_us, (int64_t)0);
    storage->hold.since_us = since_us;
    storage->hold.began_ns = storage->io->mono_ns(storage->io) - age_us * 1000;
}

alm_status alm_hold_read(alm_ctx *cx, alm_storage *storage)
{
    char path[ALM_PATH_MAX];
    alm_io_stat meta;
    hold_file h;
    (void)snprintf(path, sizeof path, "%s/%s", storage->root, MARKER);
    int code = storage->io->stat(storage->io, path, &meta);
    if (code == -ENOENT)
        return ALM_OK;
    const int handle = code < 0 ? code : storage->io->open(storage->io, path, ALM_IO_READ);
    if (handle < 0)
        return alm_io_fail(cx, handle, path);
    const int64_t got = storage->io->read(storage->io, handle, &h, sizeof h, 0);
    (void)storage->io->close(storage->io, handle);
    if (got < 0)
        return alm_io_fail(cx, (int)got, path);
    if (got >= 16 && memcmp(h.magic, "ALMHOLD1", 8) == 0 && h.version > HOLD_VERSION)
        return alm_fail(cx, ALM_E_UNSUPPORTED, -1,
                        "'%s' has format version %u, this program reads up to %d", path, h.version,
                        HOLD_VERSION);
    if (got != (int64_t)sizeof h || memcmp(h.magic, "ALMHOLD1", 8) != 0 || h.crc != hold_crc(&h))
        return alm_fail(cx, ALM_E_CORRUPT, -1, "'%s' is damaged: its checksum does not match",
                        path);
    storage->hold.marked = true;
    storage->hold.lsn = h.lsn;
    set_began(storage, h.since_us);
    storage->hold.copy = h.identity == 0 || h.identity != lock_identity(storage->io, storage->root);
    return ALM_OK;
}

bool alm_hold_is_copy(const alm_storage *storage)
{
    return storage->hold.marked && storage->hold.copy &&
           storage->hold.lsn == storage->checkpoint_lsn;
}

static alm_status file_there(alm_ctx *cx, alm_storage *storage, const alm_file *file)
{
    char path[ALM_PATH_MAX];
    alm_io_stat meta;
    alm_part_place place;
    bool shared = false;
    alm_file_where(file, path, sizeof path, &place, &shared);
    const int code = storage->io->stat(storage->io, path, &meta);
    if (code == 0 && alm_place_fits(&place, shared, meta.size_bytes))
        return ALM_OK;
    return alm_fail(cx, ALM_E_CORRUPT, -1, "'%s' is missing or has not its %lld bytes", path,
                    (long long)file->bytes);
}

static alm_status files_there(alm_ctx *cx, alm_storage *storage, const alm_part_set *set)
{
    for (uint32_t i = 0; set != NULL && i < set->n; i++) {
        ALM_TRY(file_there(cx, storage, set->parts[i]->file));
        for (uint32_t j = 0; j < set->parts[i]->n_overlays; j++)
            ALM_TRY(file_there(cx, storage, set->parts[i]->overlays[j].file));
    }
    return ALM_OK;
}

alm_status alm_hold_files_there(alm_ctx *cx, const alm_build *build)
{
    for (size_t i = 0; i < build->next->n; i++) {
        const alm_version *version = alm_catver_at(build->next, i);
        ALM_TRY(files_there(cx, build->st, version->parts));
        ALM_TRY(files_there(cx, build->st, version->detached));
    }
    return ALM_OK;
}

alm_status alm_hold_resume(alm_ctx *cx, alm_storage *storage)
{
    if (!storage->hold.marked)
        return ALM_OK;
    /* The original of which the catalogue is damaged goes on holding: a copy of that is refused. */
    if (!storage->hold.copy &&
        (storage->hold.lsn == storage->checkpoint_lsn || storage->generation.alone)) {
        storage->hold.held = true;
        storage->hold.sweep_end = atomic_load(&storage->next_table_id);
        return ALM_OK;
    }
    storage->hold.marked = false;
    alm_sweep(storage, UINT64_MAX); /* what the copy has of later files must not meet new ones */
    ALM_TRY(remove_marker(cx, storage));
    alm_log_info("storage", "'%s' is a copy of a checkpoint: it is a database of its own now",
                 storage->root);
    return ALM_OK;
}

/* ------------------------------------------------------------------ files that wait */

static void set_held(alm_storage *storage, bool held)
{
    (void)pthread_mutex_lock(&storage->file_lock);
    storage->hold.held = held;
    (void)pthread_mutex_unlock(&storage->file_lock);
}

static void remove_waiting(alm_storage *storage)
{
    alm_retired_remove(storage);
    if (storage->hold.sweep_end != 0)
        alm_sweep(storage, storage->hold.sweep_end);
    storage->hold.sweep_end = 0;
}

/* ------------------------------------------------------------------ create and release */

static void hold_time_text(int64_t micros, char *text, size_t size)
{
    const time_t s = (time_t)(micros / 1000000);
    struct tm tm;
    (void)gmtime_r(&s, &tm);
    (void)strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

static alm_status hold_begin(alm_ctx *cx, alm_storage *storage)
{
    char since[32];
    if (storage->hold.held) {
        hold_time_text(storage->hold.since_us, since, sizeof since);
        return alm_fail(cx, ALM_E_ARG, -1,
                        "a checkpoint is held since %s; CHECKPOINT RELEASE ends it", since);
    }
    set_began(storage, storage->io->wall_ns(storage->io) / 1000);
    set_held(storage, true); /* from now on nothing goes that the catalogue may name */
    alm_status status = alm_checkpoint_write(cx, storage);
    if (status == ALM_OK) {
        status = write_marker(cx, storage->io, storage->root, storage->checkpoint_lsn,
                              storage->hold.since_us, lock_identity(storage->io, storage->root));
    }
    if (status != ALM_OK) {
        alm_ctx own = {.io = storage->io};
        set_held(storage, false);
        (void)remove_marker(&own, storage); /* a rename may have come before the error */
        remove_waiting(storage);
    }
    return status;
}

alm_status alm_storage_hold(alm_ctx *cx, alm_storage *storage)
{
    ALM_TRY(alm_storage_writable(cx, storage));
    if (!storage->hold.held) /* what can be long goes on outside of the lock */
        ALM_TRY(alm_heads_flush(cx, storage, ALM_CHECKPOINT_KEEP_BYTES));
    (void)pthread_mutex_lock(&storage->checkpoint_lock);
    alm_status status = alm_storage_writable(cx, storage);
    if (status == ALM_OK)
        status = hold_begin(cx, storage);
    if (status == ALM_OK)
        storage->hold.expired = false;
    (void)pthread_mutex_unlock(&storage->checkpoint_lock);
    return status;
}

static alm_status hold_end(alm_ctx *cx, alm_storage *storage)
{
    ALM_TRY(remove_marker(cx, storage));
    set_held(storage, false);
    remove_waiting(storage);
    alm_storage_poke(storage); /* for the checkpoint that waited */
    return ALM_OK;
}

static void limit_text(const alm_storage *storage, char *text, size_t size)
{
    (void)snprintf(text, size, "storage.checkpoint.hold.max=%llds",
                   (long long)(storage->conf.hold_age_max_ms / 1000));
}

alm_status alm_storage_hold_release(alm_ctx *cx, alm_storage *storage)
{
    char limit[64];
    (void)pthread_mutex_lock(&storage->checkpoint_lock);
    alm_status status = ALM_OK;
    if (storage->hold.held) {
        status = hold_end(cx, storage);
    } else if (storage->hold.expired) {
        limit_text(storage, limit, sizeof limit);
        status =
            alm_fail(cx, ALM_E_LIMIT, -1,
                     "the checkpoint was released already, because it was held for longer than %s: "
                     "a copy that was made of it must not be used",
                     limit);
        storage->hold.expired = false;
    }
    (void)pthread_mutex_unlock(&storage->checkpoint_lock);
    return status;
}

alm_status alm_hold_expire(alm_ctx *cx, alm_storage *storage)
{
    char limit[64];
    alm_status status = ALM_OK;
    (void)pthread_mutex_lock(&storage->checkpoint_lock);
    const int64_t age_ms = (storage->io->mono_ns(storage->io) - storage->hold.began_ns) / 1000000;
    if (storage->hold.held && storage->conf.hold_age_max_ms > 0 &&
        age_ms > storage->conf.hold_age_max_ms) {
        status = hold_end(cx, storage);
        storage->hold.expired = status == ALM_OK;
        limit_text(storage, limit, sizeof limit);
        alm_log_warn("storage",
                     "the checkpoint was released after %s: a copy that is not complete "
                     "yet must not be used",
                     limit);
    }
    (void)pthread_mutex_unlock(&storage->checkpoint_lock);
    return status;
}

bool alm_storage_hold_status(alm_storage *storage, int64_t *since_us)
{
    *since_us = atomic_load(&storage->hold.since_us);
    return atomic_load(&storage->hold.held);
}
