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

static void path_of(const alm_owner *o, const char *name, char *out, size_t room)
{
    const int n = snprintf(out, room, "%s/%s", o->dir, name);
    ALM_ASSERT(n > 0 && (size_t)n < room);
}

/* -------------------------------------------------------------------------- the record */

static size_t record_text(const record *r, char *out, size_t room)
{
    int n = snprintf(out, room,
                     "almanac owner %d\nboot %s\npid %lld\nstarted %lld\nspace %llu\n"
                     "directory %llu %llu\n",
                     VERSION, r->process.boot[0] == 0 ? "-" : r->process.boot,
                     (long long)r->process.pid, (long long)r->process.started,
                     (unsigned long long)r->process.space, (unsigned long long)r->device,
                     (unsigned long long)r->identity);
    ALM_ASSERT(n > 0 && (size_t)n < room);
    const uint32_t crc = alm_crc32c(0, out, (size_t)n);
    n += snprintf(out + n, room - (size_t)n, "end %08x\n", crc);
    ALM_ASSERT((size_t)n < room);
    return (size_t)n;
}

/* What follows the word at the begin of a line. */
static const char *field_of(const char *text, const char *word)
{
    char line[16];
    (void)snprintf(line, sizeof line, "\n%s ", word);
    const char *at = strstr(text, line);
    return at == NULL ? "" : at + strlen(line);
}

/* False: it is none, or not whole. */
static bool record_parse(const char *text, record *out)
{
    char again[RECORD_MAX];
    char *end = NULL;
    record r = {0};
    const char *boot = field_of(text, "boot");
    const size_t n = strcspn(boot, "\n");
    if (n >= sizeof r.process.boot)
        return false;
    memcpy(r.process.boot, boot, n);
    if (strcmp(r.process.boot, "-") == 0)
        r.process.boot[0] = 0;
    r.process.pid = strtoll(field_of(text, "pid"), NULL, 10);
    r.process.started = strtoll(field_of(text, "started"), NULL, 10);
    r.process.space = strtoull(field_of(text, "space"), NULL, 10);
    r.device = strtoull(field_of(text, "directory"), &end, 10);
    r.identity = strtoull(end, NULL, 10);
    again[record_text(&r, again, sizeof again)] = 0;
    *out = r;
    return strcmp(text, again) == 0;
}

static int read_record(const alm_owner *o, char text[RECORD_MAX])
{
    char path[ALM_OWNER_PATH_MAX + 16];
    path_of(o, RECORD, path, sizeof path);
    const int h = o->io->open(o->io, path, ALM_IO_READ);
    const int64_t n = h < 0 ? h : o->io->read(o->io, h, text, RECORD_MAX - 1, 0);
    if (h >= 0)
        (void)o->io->close(o->io, h);
    text[n > 0 ? n : 0] = 0;
    return n < 0 ? (int)n : 0;
}

static int write_record(const alm_owner *o, const char *text, size_t n)
{
    char path[ALM_OWNER_PATH_MAX + 16], name[ALM_OWNER_PATH_MAX + 16];
    path_of(o, RECORD_NEW, path, sizeof path);
    path_of(o, RECORD, name, sizeof name);
    const int h = alm_io_create(o->io, path, ALM_IO_WRITE | ALM_IO_TRUNCATE);
    if (h < 0)
        return h;
    const int64_t done = o->io->write(o->io, h, text, n, 0);
    (void)o->io->close(o->io, h);
    if (done != (int64_t)n)
        return done < 0 ? (int)done : -ENOSPC;
    return alm_io_rename_over(o->io, path, name);
}

/* ---------------------------------------------------------------------- who has it */

static finding look(const alm_owner *o, const record *own, record *found)
{
    char text[RECORD_MAX], magic[32];
    const int e = read_record(o, text);
    if (e == -ENOENT)
        return FREE;
    if (e < 0)
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
    if (o->locked && found->process.pid == own->process.pid &&
        found->process.started == own->process.started)
        return FREE; /* of this process, which could not remove it when it left: another owner here had the lock */
    const int runs = o->io->process_runs(o->io, &found->process);
    return runs == 0 ? FREE : runs > 0 ? TAKEN : UNKNOWN;
}

static alm_status busy(alm_ctx *cx, const alm_owner *o)
{
    char text[RECORD_MAX];
    record r;
    if (read_record(o, text) == 0 && record_parse(text, &r) && r.process.pid > 0)
        return alm_fail(cx, ALM_E_BUSY, -1, "'%s' is in use by process %lld", o->dir,
                        (long long)r.process.pid);
    return alm_fail(cx, ALM_E_BUSY, -1, "'%s' is in use by another process", o->dir);
}

static bool is_without_locks(int e)
{
    return e == -ENOLCK || e == -EOPNOTSUPP;
}

static alm_status lock_handle(alm_ctx *cx, const alm_owner *o, int handle, bool *locked)
{
    const int e = o->io->lock(o->io, handle);
    *locked = e >= 0;
    if (e == -EWOULDBLOCK)
        return busy(cx, o);
    return e < 0 && !is_without_locks(e) ? alm_io_fail(cx, e, o->dir) : ALM_OK;
}

static alm_status take_locks(alm_ctx *cx, alm_owner *o, bool writes)
{
    char path[ALM_OWNER_PATH_MAX + 16];
    bool file_locked = false;
    o->handle = o->io->open_dir(o->io, o->dir);
    if (o->handle < 0)
        return alm_io_fail(cx, o->handle, o->dir);
    ALM_TRY(lock_handle(cx, o, o->handle, &o->locked));
    path_of(o, "lock", path, sizeof path);
    o->lock = writes ? alm_io_create(o->io, path, ALM_IO_READ | ALM_IO_WRITE)
                     : o->io->open(o->io, path, ALM_IO_READ);
    if (o->lock == -ENOENT && !writes)
        return ALM_OK;
    if (o->lock < 0)
        return alm_io_fail(cx, o->lock, path);
    return lock_handle(cx, o, o->lock, &file_locked);
}

/* Of two that start at once and saw no lock and no owner, the record is of the one that wrote later. */
static alm_status settle(alm_ctx *cx, const alm_owner *o, const char *text)
{
    char now[RECORD_MAX];
    o->io->pause(o->io, SETTLE_NS);
    const int e = read_record(o, now);
    return e == 0 && strcmp(now, text) == 0 ? ALM_OK : busy(cx, o);
}

static alm_status take_record(alm_ctx *cx, alm_owner *o, bool writes)
{
    char text[RECORD_MAX];
    record own = {0}, found = {0};
    alm_io_stat meta;
    int e = o->io->stat_in(o->io, o->handle, ".", &meta);
    if (e < 0)
        return alm_io_fail(cx, e, o->dir);
    own.device = meta.device;
    own.identity = meta.identity;
    o->io->process_self(o->io, &own.process);
    const finding who = look(o, &own, &found);
    if (who == TAKEN)
        return busy(cx, o);
    if (who == UNKNOWN && !o->locked)
        return alm_fail(
            cx, ALM_E_BUSY, -1,
            "'%s' may be in use by process %lld of another container, and its file system has no "
            "locks: if no process uses it, remove '%s/%s'",
            o->dir, (long long)found.process.pid, o->dir, RECORD);
    if (!writes && o->locked)
        return ALM_OK;
    text[record_text(&own, text, sizeof text)] = 0;
    e = write_record(o, text, strlen(text));
    o->recorded = e >= 0;
    if (e < 0 &&
        (o->locked || !writes)) { /* a full disk, a medium that is only read: the lock does */
        alm_log_warn("storage", "the owner of '%s' is not recorded: %s", o->dir, strerror(-e));
        return ALM_OK;
    }
    if (e < 0)
        return alm_io_fail(cx, e, o->dir);
    return o->locked ? ALM_OK : settle(cx, o, text);
}

alm_status alm_owner_take(alm_ctx *cx, const alm_io *io, const char *dir, bool writes,
                          alm_owner *out)
{
    alm_owner o = {.io = io, .handle = -1, .lock = -1};
    if (snprintf(o.dir, sizeof o.dir, "%s", dir) >= (int)sizeof o.dir)
        return alm_fail(cx, ALM_E_LIMIT, -1, "the path '%.64s...' is too long", dir);
    alm_status st = take_locks(cx, &o, writes);
    if (st == ALM_OK)
        st = take_record(cx, &o, writes);
    if (st == ALM_OK) {
        const int e = io->pin(io, o.dir, o.handle);
        st = e == -EBUSY ? busy(cx, &o) : e < 0 ? alm_io_fail(cx, e, o.dir) : ALM_OK;
        o.pinned = st == ALM_OK;
    }
    if (st != ALM_OK) {
        alm_owner_leave(&o);
        return st;
    }
    ALM_ASSERT(o.locked || o.recorded || !writes);
    ALM_ASSERT(o.pinned && o.handle >= 0);
    *out = o;
    return ALM_OK;
}

/* The record goes first: nobody sees it without the lock and takes its process for the owner. */
static void remove_record(const alm_owner *o)
{
    char path[ALM_OWNER_PATH_MAX + 16], text[RECORD_MAX];
    record found;
    alm_io_process self;
    o->io->process_self(o->io, &self);
    path_of(o, RECORD, path, sizeof path);
    if (read_record(o, text) == 0 && record_parse(text, &found) && found.process.pid == self.pid &&
        strcmp(found.process.boot, self.boot) == 0)
        (void)o->io->unlink(o->io, path);
}

void alm_owner_leave(alm_owner *o)
{
    if (o->io == NULL)
        return;
    if (o->recorded)
        remove_record(o);
    if (o->pinned)
        o->io->unpin(o->io, o->handle);
    if (o->lock >= 0)
        (void)o->io->close(o->io, o->lock);
    if (o->handle >= 0)
        (void)o->io->close(o->io, o->handle);
    *o = (alm_owner){.handle = -1, .lock = -1};
}

void alm_owner_move(alm_owner *to, alm_owner *from)
{
    ALM_ASSERT(to->io == NULL);
    ALM_ASSERT(from->io != NULL);
    *to = *from;
    *from = (alm_owner){.handle = -1, .lock = -1};
}
