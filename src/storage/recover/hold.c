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

static alm_status remove_marker(alm_ctx *cx, alm_storage *st)
{
    char path[ALM_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", st->root, MARKER);
    int e = alm_io_remove(st->io, path);
    if (e == 0 || e == -ENOENT)
        e = st->io->sync_dir(st->io, st->root);
    return e < 0 ? alm_io_fail(cx, e, path) : ALM_OK;
}

/* Its age is counted from here by the clock that never jumps: setting the wall clock releases nothing. */
static void set_began(alm_storage *st, int64_t since_us)
{
    const int64_t age_us = ALM_MAX(st->io->wall_ns(st->io) / 1000 - since_us, (int64_t)0);
    st->hold.since_us = since_us;
    st->hold.began_ns = st->io->mono_ns(st->io) - age_us * 1000;
}

alm_status alm_hold_read(alm_ctx *cx, alm_storage *st)
{
    char path[ALM_PATH_MAX];
    alm_io_stat meta;
    hold_file h;
    (void)snprintf(path, sizeof path, "%s/%s", st->root, MARKER);
    int e = st->io->stat(st->io, path, &meta);
    if (e == -ENOENT)
        return ALM_OK;
    const int handle = e < 0 ? e : st->io->open(st->io, path, ALM_IO_READ);
    if (handle < 0)
        return alm_io_fail(cx, handle, path);
    const int64_t n = st->io->read(st->io, handle, &h, sizeof h, 0);
    (void)st->io->close(st->io, handle);
    if (n < 0)
        return alm_io_fail(cx, (int)n, path);
    if (n >= 16 && memcmp(h.magic, "ALMHOLD1", 8) == 0 && h.version > HOLD_VERSION)
        return alm_fail(cx, ALM_E_UNSUPPORTED, -1,
                        "'%s' has format version %u, this program reads up to %d", path, h.version,
                        HOLD_VERSION);
    if (n != (int64_t)sizeof h || memcmp(h.magic, "ALMHOLD1", 8) != 0 || h.crc != hold_crc(&h))
        return alm_fail(cx, ALM_E_CORRUPT, -1, "'%s' is damaged: its checksum does not match",
                        path);
    st->hold.marked = true;
    st->hold.lsn = h.lsn;
    set_began(st, h.since_us);
    st->hold.copy = h.identity == 0 || h.identity != lock_identity(st->io, st->root);
    return ALM_OK;
}

bool alm_hold_is_copy(const alm_storage *st)
{
    return st->hold.marked && st->hold.copy && st->hold.lsn == st->checkpoint_lsn;
}

static alm_status file_there(alm_ctx *cx, alm_storage *st, const alm_file *file)
{
    char path[ALM_PATH_MAX];
    alm_io_stat meta;
    alm_part_place place;
    bool shared = false;
    alm_file_where(file, path, sizeof path, &place, &shared);
    const int e = st->io->stat(st->io, path, &meta);
    if (e == 0 && alm_place_fits(&place, shared, meta.size_bytes))
        return ALM_OK;
    return alm_fail(cx, ALM_E_CORRUPT, -1, "'%s' is missing or has not its %lld bytes", path,
                    (long long)file->bytes);
}

static alm_status files_there(alm_ctx *cx, alm_storage *st, const alm_part_set *set)
{
    for (uint32_t i = 0; set != NULL && i < set->n; i++) {
        ALM_TRY(file_there(cx, st, set->parts[i]->file));
        for (uint32_t j = 0; j < set->parts[i]->n_overlays; j++)
            ALM_TRY(file_there(cx, st, set->parts[i]->overlays[j].file));
    }
    return ALM_OK;
}

alm_status alm_hold_files_there(alm_ctx *cx, const alm_build *b)
{
    for (size_t i = 0; i < b->next->n; i++) {
        const alm_version *v = alm_catver_at(b->next, i);
        ALM_TRY(files_there(cx, b->st, v->parts));
        ALM_TRY(files_there(cx, b->st, v->detached));
    }
    return ALM_OK;
}

alm_status alm_hold_resume(alm_ctx *cx, alm_storage *st)
{
    if (!st->hold.marked)
        return ALM_OK;
    /* The original of which the catalogue is damaged goes on holding: a copy of that is refused. */
    if (!st->hold.copy && (st->hold.lsn == st->checkpoint_lsn || st->generation.alone)) {
        st->hold.held = true;
        st->hold.sweep_end = atomic_load(&st->next_table_id);
        return ALM_OK;
    }
    st->hold.marked = false;
    alm_sweep(st, UINT64_MAX); /* what the copy has of later files must not meet new ones */
    ALM_TRY(remove_marker(cx, st));
    alm_log_info("storage", "'%s' is a copy of a checkpoint: it is a database of its own now",
                 st->root);
    return ALM_OK;
}

/* ------------------------------------------------------------------ files that wait */

static void set_held(alm_storage *st, bool held)
{
    (void)pthread_mutex_lock(&st->file_lock);
    st->hold.held = held;
    (void)pthread_mutex_unlock(&st->file_lock);
}

static void remove_waiting(alm_storage *st)
{
    alm_retired_remove(st);
    if (st->hold.sweep_end != 0)
        alm_sweep(st, st->hold.sweep_end);
    st->hold.sweep_end = 0;
}

/* ------------------------------------------------------------------ create and release */

static void time_text(int64_t us, char *text, size_t size)
{
    const time_t s = (time_t)(us / 1000000);
    struct tm tm;
    (void)gmtime_r(&s, &tm);
    (void)strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

static alm_status begin(alm_ctx *cx, alm_storage *st)
{
    char since[32];
    if (st->hold.held) {
        time_text(st->hold.since_us, since, sizeof since);
        return alm_fail(cx, ALM_E_ARG, -1,
                        "a checkpoint is held since %s; CHECKPOINT RELEASE ends it", since);
    }
    set_began(st, st->io->wall_ns(st->io) / 1000);
    set_held(st, true); /* from now on nothing goes that the catalogue may name */
    alm_status e = alm_checkpoint_write(cx, st);
    if (e == ALM_OK) {
        e = write_marker(cx, st->io, st->root, st->checkpoint_lsn, st->hold.since_us,
                         lock_identity(st->io, st->root));
    }
    if (e != ALM_OK) {
        alm_ctx own = {.io = st->io};
        set_held(st, false);
        (void)remove_marker(&own, st); /* a rename may have come before the error */
        remove_waiting(st);
    }
    return e;
}

alm_status alm_storage_hold(alm_ctx *cx, alm_storage *st)
{
    ALM_TRY(alm_storage_writable(cx, st));
    if (!st->hold.held) /* what can be long goes on outside of the lock */
        ALM_TRY(alm_heads_flush(cx, st, ALM_CHECKPOINT_KEEP_BYTES));
    (void)pthread_mutex_lock(&st->checkpoint_lock);
    alm_status e = alm_storage_writable(cx, st);
    if (e == ALM_OK)
        e = begin(cx, st);
    if (e == ALM_OK)
        st->hold.expired = false;
    (void)pthread_mutex_unlock(&st->checkpoint_lock);
    return e;
}

static alm_status end(alm_ctx *cx, alm_storage *st)
{
    ALM_TRY(remove_marker(cx, st));
    set_held(st, false);
    remove_waiting(st);
    alm_storage_poke(st); /* for the checkpoint that waited */
    return ALM_OK;
}

static void limit_text(const alm_storage *st, char *text, size_t size)
{
    (void)snprintf(text, size, "storage.checkpoint.hold.max=%llds",
                   (long long)(st->conf.hold_age_max_ms / 1000));
}

alm_status alm_storage_hold_release(alm_ctx *cx, alm_storage *st)
{
    char limit[64];
    (void)pthread_mutex_lock(&st->checkpoint_lock);
    alm_status e = ALM_OK;
    if (st->hold.held) {
        e = end(cx, st);
    } else if (st->hold.expired) {
        limit_text(st, limit, sizeof limit);
        e = alm_fail(cx, ALM_E_LIMIT, -1,
                     "the checkpoint was released already, because it was held for longer than %s: "
                     "a copy that was made of it must not be used",
                     limit);
        st->hold.expired = false;
    }
    (void)pthread_mutex_unlock(&st->checkpoint_lock);
    return e;
}

alm_status alm_hold_expire(alm_ctx *cx, alm_storage *st)
{
    char limit[64];
    alm_status e = ALM_OK;
    (void)pthread_mutex_lock(&st->checkpoint_lock);
    const int64_t age_ms = (st->io->mono_ns(st->io) - st->hold.began_ns) / 1000000;
    if (st->hold.held && st->conf.hold_age_max_ms > 0 && age_ms > st->conf.hold_age_max_ms) {
        e = end(cx, st);
        st->hold.expired = e == ALM_OK;
        limit_text(st, limit, sizeof limit);
        alm_log_warn("storage",
                     "the checkpoint was released after %s: a copy that is not complete "
                     "yet must not be used",
                     limit);
    }
    (void)pthread_mutex_unlock(&st->checkpoint_lock);
    return e;
}

bool alm_storage_hold_status(alm_storage *st, int64_t *since_us)
{
    *since_us = atomic_load(&st->hold.since_us);
    return atomic_load(&st->hold.held);
}
