/*
 * owner.c - the lock and the record of who has a directory (owner.h). Format of the record:
 * docs/internals/storage.md.
 *
 * Crash       The record is written beside its name and renamed, and not synced: it matters within one boot only. What is
 *             not whole is therefore of a boot that has ended.
 */
#include "storage/recover/owner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "base/log.h"

enum { VERSION = 1, RECORD_MAX = 512 };
static const int64_t SETTLE_NS = 100000000;
static const char *const RECORD = "owner";
static const char *const RECORD_NEW = "owner.tmp";

typedef enum finding { FREE, TAKEN, UNKNOWN } finding;

typedef struct record {
    alm_io_process process;
    uint64_t device, identity; /* of the directory */
} record;

bool alm_owner_is_name(const char *name)
{
    return strcmp(name, "lock") == 0 || strcmp(name, RECORD) == 0 || strcmp(name, RECORD_NEW) == 0;
}

static void recover_owner_path_of(const alm_owner *owner, const char *name, char *out, size_t room)
{
    const int len = snprintf(out, room, "%s/%s", owner->dir, name);
    ALM_ASSERT(len > 0 && (size_t)len < room);
}

/* -------------------------------------------------------------------------- the record */

static size_t record_text(const record *parsed, char *out, size_t room)
{
    int len = snprintf(out, room,
                       "almanac owner %d\nboot %s\npid %lld\nstarted %lld\nspace %llu\n"
                       "directory %llu %llu\n",
                       VERSION, parsed->process.boot[0] == 0 ? "-" : parsed->process.boot,
                       (long long)parsed->process.pid, (long long)parsed->process.started,
                       (unsigned long long)parsed->process.space,
                       (unsigned long long)parsed->device, (unsigned long long)parsed->identity);
    ALM_ASSERT(len > 0 && (size_t)len < room);
    const uint32_t crc = alm_crc32c(0, out, (size_t)len);
    len += snprintf(out + len, room - (size_t)len, "end %08x\n", crc);
    ALM_ASSERT((size_t)len < room);
    return (size_t)len;
}

/* What follows the word at the begin of a line. */
static const char *recover_owner_field_of(const char *text, const char *word)
{
    char line[16];
    (void)snprintf(line, sizeof line, "\n%s ", word);
    const char *ptr = strstr(text, line);
    return ptr == NULL ? "" : ptr + strlen(line);
}

/* False: it is none, or not whole. */
static bool record_parse(const char *text, record *out)
{
    char again[RECORD_MAX];
    char *end = NULL;
    record parsed = {0};
    const char *boot = recover_owner_field_of(text, "boot");
    const size_t len = strcspn(boot, "\n");
    if (len >= sizeof parsed.process.boot)
        return false;
    memcpy(parsed.process.boot, boot, len);
    if (strcmp(parsed.process.boot, "-") == 0)
        parsed.process.boot[0] = 0;
    parsed.process.pid = strtoll(recover_owner_field_of(text, "pid"), NULL, 10);
    parsed.process.started = strtoll(recover_owner_field_of(text, "started"), NULL, 10);
    parsed.process.space = strtoull(recover_owner_field_of(text, "space"), NULL, 10);
    parsed.device = strtoull(recover_owner_field_of(text, "directory"), &end, 10);
    parsed.identity = strtoull(end, NULL, 10);
    again[record_text(&parsed, again, sizeof again)] = 0;
    *out = parsed;
    return strcmp(text, again) == 0;
}

static int recover_owner_read_record(const alm_owner *owner, char text[RECORD_MAX])
{
    char path[ALM_OWNER_PATH_MAX + 16];
    recover_owner_path_of(owner, RECORD, path, sizeof path);
    const int handle = owner->io->open(owner->io, path, ALM_IO_READ);
    const int64_t n =
        handle < 0 ? handle : owner->io->read(owner->io, handle, text, RECORD_MAX - 1, 0);
    if (handle >= 0)
        (void)owner->io->close(owner->io, handle);
    text[n > 0 ? n : 0] = 0;
    return n < 0 ? (int)n : 0;
}

static int write_record(const alm_owner *owner, const char *text, size_t n)
{
    char path[ALM_OWNER_PATH_MAX + 16], name[ALM_OWNER_PATH_MAX + 16];
    recover_owner_path_of(owner, RECORD_NEW, path, sizeof path);
    recover_owner_path_of(owner, RECORD, name, sizeof name);
    const int handle = alm_io_create(owner->io, path, ALM_IO_WRITE | ALM_IO_TRUNCATE);
    if (handle < 0)
        return handle;
    const int64_t done = owner->io->write(owner->io, handle, text, n, 0);
    (void)owner->io->close(owner->io, handle);
    if (done != (int64_t)n)
        return done < 0 ? (int)done : -ENOSPC;
    return alm_io_rename_over(owner->io, path, name);
}

/* ---------------------------------------------------------------------- who has it */

static finding recover_owner_look(const alm_owner *owner, const record *own, record *found)
{
    char text[RECORD_MAX], magic[32];
    const int code = recover_owner_read_record(owner, text);
    if (code == -ENOENT)
        return FREE;
    if (code < 0)
        return UNKNOWN;
    (void)snprintf(magic, sizeof magic, "almanac owner %d\n", VERSION);
    if (!record_parse(text, found)) { /* only a later program writes others, and whole ones */
        *found = (record){0};
        return strncmp(text, "almanac owner ", 14) == 0 && strncmp(text, magic, strlen(magic)) != 0
                   ? UNKNOWN
                   : FREE;
    }
    if (found->device != own->device || found->identity != own->identity)
        return FREE; /* the record came with a copy */
    if (owner->locked && found->process.pid == own->process.pid &&
        found->process.started == own->process.started)
        return FREE; /* of this process, which could not remove it when it left: another owner here had the lock */
    const int runs = owner->io->process_runs(owner->io, &found->process);
    return runs == 0 ? FREE : runs > 0 ? TAKEN : UNKNOWN;
}

static alm_status recover_owner_busy(alm_ctx *cx, const alm_owner *owner)
{
    char text[RECORD_MAX];
    record parsed;
    if (recover_owner_read_record(owner, text) == 0 && record_parse(text, &parsed) &&
        parsed.process.pid > 0)
        return alm_fail(cx, ALM_E_BUSY, -1, "'%s' is in use by process %lld", owner->dir,
                        (long long)parsed.process.pid);
    return alm_fail(cx, ALM_E_BUSY, -1, "'%s' is in use by another process", owner->dir);
}

static bool is_without_locks(int code)
{
    return code == -ENOLCK || code == -EOPNOTSUPP;
}

static alm_status lock_handle(alm_ctx *cx, const alm_owner *owner, int handle, bool *locked)
{
    const int code = owner->io->lock(owner->io, handle);
    *locked = code >= 0;
    if (code == -EWOULDBLOCK)
        return recover_owner_busy(cx, owner);
    return code < 0 && !is_without_locks(code) ? alm_io_fail(cx, code, owner->dir) : ALM_OK;
}

static alm_status take_locks(alm_ctx *cx, alm_owner *owner, bool writes)
{
    char path[ALM_OWNER_PATH_MAX + 16];
    bool file_locked = false;
    owner->handle = owner->io->open_dir(owner->io, owner->dir);
    if (owner->handle < 0)
        return alm_io_fail(cx, owner->handle, owner->dir);
    ALM_TRY(lock_handle(cx, owner, owner->handle, &owner->locked));
    recover_owner_path_of(owner, "lock", path, sizeof path);
    owner->lock = writes ? alm_io_create(owner->io, path, ALM_IO_READ | ALM_IO_WRITE)
                         : owner->io->open(owner->io, path, ALM_IO_READ);
    if (owner->lock == -ENOENT && !writes)
        return ALM_OK;
    if (owner->lock < 0)
        return alm_io_fail(cx, owner->lock, path);
    return lock_handle(cx, owner, owner->lock, &file_locked);
}

/* Of two that start at once and saw no lock and no owner, the record is of the one that wrote later. */
static alm_status recover_owner_settle(alm_ctx *cx, const alm_owner *owner, const char *text)
{
    char now[RECORD_MAX];
    owner->io->pause(owner->io, SETTLE_NS);
    const int code = recover_owner_read_record(owner, now);
    return code == 0 && strcmp(now, text) == 0 ? ALM_OK : recover_owner_busy(cx, owner);
}

static alm_status recover_owner_take_record(alm_ctx *cx, alm_owner *owner, bool writes)
{
    char text[RECORD_MAX];
    record own = {0}, found = {0};
    alm_io_stat meta;
    int code = owner->io->stat_in(owner->io, owner->handle, ".", &meta);
    if (code < 0)
        return alm_io_fail(cx, code, owner->dir);
    own.device = meta.device;
    own.identity = meta.identity;
    owner->io->process_self(owner->io, &own.process);
    const finding who = recover_owner_look(owner, &own, &found);
    if (who == TAKEN)
        return recover_owner_busy(cx, owner);
    if (who == UNKNOWN && !owner->locked)
        return alm_fail(
            cx, ALM_E_BUSY, -1,
            "'%s' may be in use by process %lld of another container, and its file system has no "
            "locks: if no process uses it, remove '%s/%s'",
            owner->dir, (long long)found.process.pid, owner->dir, RECORD);
    if (!writes && owner->locked)
        return ALM_OK;
    text[record_text(&own, text, sizeof text)] = 0;
    code = write_record(owner, text, strlen(text));
    owner->recorded = code >= 0;
    if (code < 0 &&
        (owner->locked || !writes)) { /* a full disk, a medium that is only read: the lock does */
        alm_log_warn("storage", "the owner of '%s' is not recorded: %s", owner->dir,
                     strerror(-code));
        return ALM_OK;
    }
    if (code < 0)
        return alm_io_fail(cx, code, owner->dir);
    return owner->locked ? ALM_OK : recover_owner_settle(cx, owner, text);
}

alm_status alm_owner_take(alm_ctx *cx, const alm_io *io, const char *dir, bool writes,
                          alm_owner *out)
{
    alm_owner owner = {.io = io, .handle = -1, .lock = -1};
    if (snprintf(owner.dir, sizeof owner.dir, "%s", dir) >= (int)sizeof owner.dir)
        return alm_fail(cx, ALM_E_LIMIT, -1, "the path '%.64s...' is too long", dir);
    alm_status status = take_locks(cx, &owner, writes);
    if (status == ALM_OK)
        status = recover_owner_take_record(cx, &owner, writes);
    if (status == ALM_OK) {
        const int code = io->pin(io, owner.dir, owner.handle);
        status = code == -EBUSY ? recover_owner_busy(cx, &owner)
                 : code < 0     ? alm_io_fail(cx, code, owner.dir)
                                : ALM_OK;
        owner.pinned = status == ALM_OK;
    }
    if (status != ALM_OK) {
        alm_owner_leave(&owner);
        return status;
    }
    ALM_ASSERT(owner.locked || owner.recorded || !writes);
    ALM_ASSERT(owner.pinned && owner.handle >= 0);
    *out = owner;
    return ALM_OK;
}

/* The record goes first: nobody sees it without the lock and takes its process for the owner. */
static void remove_record(const alm_owner *owner)
{
    char path[ALM_OWNER_PATH_MAX + 16], text[RECORD_MAX];
    record found;
    alm_io_process self;
    owner->io->process_self(owner->io, &self);
    recover_owner_path_of(owner, RECORD, path, sizeof path);
    if (recover_owner_read_record(owner, text) == 0 && record_parse(text, &found) &&
        found.process.pid == self.pid && strcmp(found.process.boot, self.boot) == 0)
        (void)owner->io->unlink(owner->io, path);
}

void alm_owner_leave(alm_owner *owner)
{
    if (owner->io == NULL)
        return;
    if (owner->recorded)
        remove_record(owner);
    if (owner->pinned)
        owner->io->unpin(owner->io, owner->handle);
    if (owner->lock >= 0)
        (void)owner->io->close(owner->io, owner->lock);
    if (owner->handle >= 0)
        (void)owner->io->close(owner->io, owner->handle);
    *owner = (alm_owner){.handle = -1, .lock = -1};
}

void alm_owner_move(alm_owner *to, alm_owner *from)
{
    ALM_ASSERT(to->io == NULL);
    ALM_ASSERT(from->io != NULL);
    *to = *from;
    *from = (alm_owner){.handle = -1, .lock = -1};
}
