/* reserve.c - see reserve.h. */
#include "storage/write/reserve.h"
#include "storage/write/backpressure.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

static void reserve_path_of(const alm_storage *storage, char path[ALM_PATH_MAX])
{
    (void)snprintf(path, ALM_PATH_MAX, "%s/reserve", storage->root);
}

/* A tenth of a small disk at most, but room for a log segment, which is what it is for. */
static int64_t reserve_bytes_of(const alm_storage *storage)
{
    enum { PARTS = 10, ROOM_BYTES = 64 << 10 };
    int64_t all = 0, free = 0, bytes = storage->conf.reserve_bytes;
    if (storage->io->space(storage->io, storage->root, &all, &free) >= 0)
        bytes = ALM_MIN(bytes, all / PARTS);
    return ALM_MAX(bytes, storage->conf.wal_segment_bytes + ROOM_BYTES);
}

static bool lacks_space(int code)
{
    return code == -ENOSPC || code == -EDQUOT;
}

/* Not synced: after a crash without it the next open allocates it. 0 or a negative errno. */
static int reserve_allocate(alm_storage *storage)
{
    const alm_io *io = storage->io;
    char path[ALM_PATH_MAX];
    reserve_path_of(storage, path);
    const int handle = alm_io_create(io, path, ALM_IO_READ | ALM_IO_WRITE);
    if (handle < 0)
        return handle;
    const int code = io->allocate(io, handle, 0, reserve_bytes_of(storage));
    (void)io->close(io, handle); /* nothing was written */
    if (code < 0)
        (void)io->unlink(io, path); /* or it would keep what it got */
    return code;
}

void alm_reserve_open(alm_storage *storage)
{
    if (storage->conf.reserve_bytes <= 0)
        return;
    const int code = reserve_allocate(storage);
    char why[64];
    atomic_store(&storage->reserve_spent, lacks_space(code));
    if (code < 0 && !lacks_space(code))
        alm_log_warn(
            "storage",
            "'%s/reserve' cannot be allocated, and no space is kept for when the disk is full: %s",
            storage->root, strerror_r(-code, why, sizeof why));
    else if (code < 0)
        alm_log_warn("storage",
                     "the disk has no space for '%s/reserve': changes are refused but those of "
                     "administrators that free space or take permissions away",
                     storage->root);
}

bool alm_reserve_spend(alm_storage *storage)
{
    char path[ALM_PATH_MAX];
    if (storage->conf.reserve_bytes <= 0 || atomic_load(&storage->reserve_spent))
        return false;
    reserve_path_of(storage, path);
    const int code = storage->io->unlink(storage->io, path);
    atomic_store(&storage->reserve_spent, true);
    atomic_store(&storage->reserve_tried_ns, storage->io->mono_ns(storage->io));
    alm_log_warn("storage", "the disk is full: '%s' was removed for a change that frees space",
                 path);
    return code >= 0 || code == -ENOENT;
}

/* Once a second, by one thread. */
static bool reserve_try_again(alm_storage *storage)
{
    enum { TRY_MS = 1000 };
    int64_t before = atomic_load(&storage->reserve_tried_ns);
    const int64_t now_ns = storage->io->mono_ns(storage->io);
    if (now_ns - before < TRY_MS * INT64_C(1000000) ||
        !atomic_compare_exchange_strong(&storage->reserve_tried_ns, &before, now_ns))
        return false;
    if (reserve_allocate(storage) < 0) {
        alm_storage_poke(storage); /* a checkpoint gives back the log */
        return false;
    }
    atomic_store(&storage->reserve_spent, false);
    alm_log_info("storage", "the disk has space again");
    return true;
}

alm_status alm_storage_takes_space(alm_ctx *cx, alm_storage *storage)
{
    if (!atomic_load(&storage->reserve_spent) || cx->frees ||
        cx->session == NULL) /* storage's own work bounds itself */
        return ALM_OK;
    if (reserve_try_again(storage))
        return ALM_OK;
    return alm_fail(cx, ALM_E_DISK_FULL, -1,
                    "No space left on device: until there is, only changes of administrators that "
                    "free space or take permissions away are made (storage.disk.reserve)");
}
