/* reserve.c - see reserve.h. */
#include "storage/write/reserve.h"
#include "storage/write/backpressure.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

static void path_of(const alm_storage *st, char path[ALM_PATH_MAX])
{
    (void)snprintf(path, ALM_PATH_MAX, "%s/reserve", st->root);
}

/* A tenth of a small disk at most, but room for a log segment, which is what it is for. */
static int64_t bytes_of(const alm_storage *st)
{
    enum { PARTS = 10, ROOM_BYTES = 64 << 10 };
    int64_t all = 0, free = 0, bytes = st->conf.reserve_bytes;
    if (st->io->space(st->io, st->root, &all, &free) >= 0)
        bytes = ALM_MIN(bytes, all / PARTS);
    return ALM_MAX(bytes, st->conf.wal_segment_bytes + ROOM_BYTES);
}

static bool lacks_space(int code)
{
    return code == -ENOSPC || code == -EDQUOT;
}

/* Not synced: after a crash without it the next open allocates it. 0 or a negative errno. */
static int allocate(alm_storage *st)
{
    const alm_io *io = st->io;
    char path[ALM_PATH_MAX];
    path_of(st, path);
    const int handle = alm_io_create(io, path, ALM_IO_READ | ALM_IO_WRITE);
    if (handle < 0)
        return handle;
    const int e = io->allocate(io, handle, 0, bytes_of(st));
    (void)io->close(io, handle); /* nothing was written */
    if (e < 0)
        (void)io->unlink(io, path); /* or it would keep what it got */
    return e;
}

void alm_reserve_open(alm_storage *st)
{
    if (st->conf.reserve_bytes <= 0)
        return;
    const int e = allocate(st);
    char why[64];
    atomic_store(&st->reserve_spent, lacks_space(e));
    if (e < 0 && !lacks_space(e))
        alm_log_warn(
            "storage",
            "'%s/reserve' cannot be allocated, and no space is kept for when the disk is full: %s",
            st->root, strerror_r(-e, why, sizeof why));
    else if (e < 0)
        alm_log_warn("storage",
                     "the disk has no space for '%s/reserve': changes are refused but those of "
                     "administrators that free space or take permissions away",
                     st->root);
}

bool alm_reserve_spend(alm_storage *st)
{
    char path[ALM_PATH_MAX];
    if (st->conf.reserve_bytes <= 0 || atomic_load(&st->reserve_spent))
        return false;
    path_of(st, path);
    const int e = st->io->unlink(st->io, path);
    atomic_store(&st->reserve_spent, true);
    atomic_store(&st->reserve_tried_ns, st->io->mono_ns(st->io));
    alm_log_warn("storage", "the disk is full: '%s' was removed for a change that frees space",
                 path);
    return e >= 0 || e == -ENOENT;
}

/* Once a second, by one thread. */
static bool try_again(alm_storage *st)
{
    enum { TRY_MS = 1000 };
    int64_t before = atomic_load(&st->reserve_tried_ns);
    const int64_t now_ns = st->io->mono_ns(st->io);
    if (now_ns - before < TRY_MS * INT64_C(1000000) ||
        !atomic_compare_exchange_strong(&st->reserve_tried_ns, &before, now_ns))
        return false;
    if (allocate(st) < 0) {
        alm_storage_poke(st); /* a checkpoint gives back the log */
        return false;
    }
    atomic_store(&st->reserve_spent, false);
    alm_log_info("storage", "the disk has space again");
    return true;
}

alm_status alm_storage_takes_space(alm_ctx *cx, alm_storage *st)
{
    if (!atomic_load(&st->reserve_spent) || cx->frees ||
        cx->session == NULL) /* storage's own work bounds itself */
        return ALM_OK;
    if (try_again(st))
        return ALM_OK;
    return alm_fail(cx, ALM_E_DISK_FULL, -1,
                    "No space left on device: until there is, only changes of administrators that "
                    "free space or take permissions away are made (storage.disk.reserve)");
}
