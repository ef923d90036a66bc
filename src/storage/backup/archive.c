/*
 * archive.c - the archive of the log (archive.h).
 *
 * Damage      A segment is archived only when all its records have their checksums, and the bytes that are copied are
 *             those that were compared. One that is damaged waits, and is told, until a BACKUP of the database
 *             makes it needless; then it goes without, as a gap. A part is verified, told when it is
 *             damaged, and archived as it is: all else of the log can be restored with it.
 * Order       Of a segment, the parts that its records name come first, then the segment itself, each
 *             written beside its name, synced and renamed: a segment that is there is complete.
 * Failure     is told once in the log of the server and tried again each round. The log and the files
 *             wait, up to wal.archive.backlog.max bytes of log; then the oldest segments go without
 *             having been archived, and the log of the server says that the archive has a gap.
 * Slow disks  hold up the thread of the archive and no other: the background thread keeps to that limit
 *             while a call does not come back. It may give up the segment that is being copied, which
 *             is then unlinked and not used again, so that what is read stays what it was.
 */
#include "storage/backup/archive.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "storage/backup/backup.h"
#include "storage/log/payload.h"
#include "storage/part/pack.h"
#include "storage/part/retired.h"
#include "storage/version/encode.h"
#include "storage/write/commit.h"

enum { DIR_MAX = ALM_PATH_MAX - 256 };

typedef struct archiving {
    alm_ctx *cx;
    alm_storage *st;
    const alm_io *io;
    const char *dir;
    uint64_t segment; /* that is being copied; 0: before there are other threads */
    bool damaged;     /* what is wrong is the segment itself */
} archiving;

/* Has somebody given up the segment that is being copied? Then parts that it names may be gone. */
static bool is_given_up(archiving *self)
{
    alm_wal *wal = &self->st->wal;
    (void)pthread_mutex_lock(&wal->lock);
    const bool given_up = self->segment != 0 && self->segment <= self->st->archive.number;
    (void)pthread_mutex_unlock(&wal->lock);
    return given_up;
}

enum { COPY_PATH_MAX = ALM_PATH_MAX + 8 };

static void tmp_of(const char *dest, char *tmp)
{
    (void)snprintf(tmp, COPY_PATH_MAX, "%s.tmp", dest);
}

/* What was copied beside its name gets it: in one directory, so that a crash leaves one name only. */
static alm_status name_copy(archiving *self, const char *from, const char *tmp, const char *dest)
{
    if (is_given_up(self)) {
        (void)self->io->unlink(self->io, tmp);
        return alm_fail(self->cx, ALM_E_CANCEL, -1, "'%s' is not archived any more", from);
    }
    const int code = alm_io_rename_over(self->io, tmp, dest);
    return code < 0 ? alm_io_fail(self->cx, code, dest) : ALM_OK;
}

/* A part that was copied: damage is told, and remembered while the server has the file. */
static alm_status look_into(archiving *self, const alm_part_claim *claim, const char *from,
                            const alm_part_place *shared, const char *tmp)
{
    if (alm_part_verify(self->cx, self->io, tmp, NULL, claim) != ALM_E_CORRUPT)
        return self->cx->err.code;
    alm_error_clear(self->cx);
    const alm_status status = alm_part_verify(self->cx, self->io, from, shared, claim);
    if (status == ALM_OK)
        return alm_fail(self->cx, ALM_E_IO, -1, "'%s' was copied badly", from);
    if (status != ALM_E_CORRUPT)
        return status;
    alm_log_error("archive", "damage goes into the archive as it is: %s", self->cx->err.msg);
    alm_version *version = alm_storage_version(self->st, claim->table_id);
    alm_file *file = alm_file_find(self->st, claim->file_id);
    if (version != NULL && file != NULL)
        (void)alm_damage_of_table(self->cx, version->table.name, file, status);
    alm_file_release(file);
    alm_version_release(version);
    alm_error_clear(self->cx);
    return ALM_OK;
}

/* Another file of that name is replaced. */
static alm_status is_archived(archiving *self, const alm_part_claim *claim, const char *path,
                              bool *there)
{
    const alm_status status = alm_part_is(self->cx, self->io, path, claim);
    *there = status == ALM_OK;
    if (status != ALM_E_CORRUPT && status != ALM_E_UNSUPPORTED)
        return status;
    alm_log_warn("archive", "a part of the archive is copied again: %s", self->cx->err.msg);
    alm_error_clear(self->cx);
    return ALM_OK;
}

void alm_archive_part_path(const char *dir, uint64_t table_id, uint64_t file_id,
                           char path[ALM_PATH_MAX])
{
    char name[ALM_NAME_MAX];
    alm_file_id_name(file_id, name, sizeof name);
    (void)snprintf(path, ALM_PATH_MAX, "%.*s/files/%llu-%s", DIR_MAX, dir,
                   (unsigned long long)table_id, name);
}

static alm_status archive_one_file(void *arg, const alm_part_claim *said)
{
    archiving *self = arg;
    const uint64_t table_id = said->table_id, id = said->file_id;
    char from[ALM_PATH_MAX], dest[ALM_PATH_MAX];
    alm_io_stat meta;
    alm_file pack = {.id = said->pack, .table_id = table_id, .st = self->st};
    const alm_file file = {.id = id,
                           .table_id = table_id,
                           .st = self->st,
                           .bytes = said->bytes,
                           .offset = said->offset,
                           .pack = said->pack != 0 ? &pack : NULL};
    alm_part_place place;
    bool shared = false;
    alm_file_where(&file, from, sizeof from, &place, &shared);
    alm_archive_part_path(self->dir, table_id, id, dest);
    bool there = false;
    alm_part_claim claim = *said;
    claim.database_id = self->st->database_id;
    if (self->io->stat(self->io, dest, &meta) == 0)
        ALM_TRY(is_archived(self, &claim, dest, &there));
    if (there)
        return ALM_OK;
    if (self->io->stat(self->io, from, &meta) == -ENOENT) { /* gone before there was an archive */
        alm_log_warn("archive", "'%s' is gone and not in the archive", from);
        return ALM_OK;
    }
    char tmp[COPY_PATH_MAX];
    int64_t copied = 0;
    uint32_t crc = 0;
    tmp_of(dest, tmp);
    ALM_TRY(alm_backup_copy(self->cx, self->io, from, shared ? place.offset : 0, tmp,
                            shared ? place.bytes : INT64_MAX, &copied, &crc));
    ALM_TRY(look_into(self, &claim, from, shared ? &place : NULL, tmp));
    return name_copy(self, from, tmp, dest);
}

static alm_status op_files(alm_reader *reader, alm_record_file each, void *arg)
{
    const uint64_t table_id = alm_get_u64(reader);
    (void)alm_get_u64(reader);
    const uint32_t removed = alm_get_u32(reader), added = alm_get_u32(reader);
    (void)alm_get_bytes(reader, (uint64_t)removed * 8);
    for (uint32_t i = 0; i < added && !reader->bad; i++) {
        alm_part_claim claim = {.table_id = table_id, .min_ts = INT64_MAX, .max_ts = INT64_MIN};
        claim.part_id = alm_get_u64(reader);
        (void)alm_get_u64(reader); /* seq */
        claim.rows = alm_get_i64(reader);
        (void)alm_get_i64(reader); /* first time */
        claim.part_max_ts = alm_get_i64(reader);
        (void)alm_get_i64(reader); /* bucket */
        alm_get_file(reader, &claim);
        const uint32_t overlays = alm_get_u32(reader);
        if (!reader->bad)
            ALM_TRY(each(arg, &claim));
        for (uint32_t j = 0; j < overlays && !reader->bad; j++) {
            (void)alm_get_u32(reader);
            alm_get_file(reader, &claim);
            if (!reader->bad)
                ALM_TRY(each(arg, &claim));
        }
    }
    return ALM_OK;
}

alm_status alm_record_files(const char *payload, size_t bytes, alm_record_file each, void *arg)
{
    alm_reader reader = {.at = payload, .end = payload + bytes}, body;
    alm_op_kind kind;
    while (alm_get_op(&reader, &kind, &body))
        if (kind == ALM_OP_PARTS)
            ALM_TRY(op_files(&body, each, arg));
    return ALM_OK;
}

static alm_status archive_record_files(alm_ctx *cx, void *arg, uint64_t lsn, const char *payload,
                                       size_t bytes)
{
    (void)cx;
    (void)lsn;
    return alm_record_files(payload, bytes, archive_one_file, arg);
}

/* Is it there? A segment of that number from another life of the database is an error. */
static alm_status archive_is_there(archiving *self, const char *from, const char *dest, bool *there)
{
    char mine[ALM_WAL_HEADER], theirs[ALM_WAL_HEADER];
    const char *const paths[2] = {from, dest};
    char *const heads[2] = {mine, theirs};
    alm_io_stat meta;
    *there = self->io->stat(self->io, dest, &meta) == 0;
    for (int i = 0; i < 2 && *there; i++) {
        const int handle = self->io->open(self->io, paths[i], ALM_IO_READ);
        if (handle < 0)
            return alm_io_fail(self->cx, handle, paths[i]);
        const alm_status status =
            alm_io_read_all(self->cx, self->io, handle, heads[i], ALM_WAL_HEADER, 0, paths[i]);
        (void)self->io->close(self->io, handle);
        ALM_TRY(status);
    }
    if (*there && memcmp(mine, theirs, ALM_WAL_HEADER) != 0)
        return alm_fail(self->cx, ALM_E_EXISTS, -1,
                        "'%s' is of another database: a restored one needs a directory of its own "
                        "in wal.archive.dir",
                        dest);
    return ALM_OK;
}

/* The bytes that were compared, with the mark. */
static alm_status archive_copy_segment(archiving *self, const alm_wal_scan *scan, const char *from,
                                       const char *dest)
{
    char tmp[COPY_PATH_MAX];
    int64_t bytes = 0;
    uint32_t crc = 0;
    tmp_of(dest, tmp);
    ALM_TRY(
        alm_backup_copy(self->cx, self->io, from, 0, tmp, scan->at + ALM_REC_HEADER, &bytes, &crc));
    if (crc != scan->crc)
        return alm_fail(self->cx, ALM_E_IO, -1, "'%s' was copied badly", from);
    return name_copy(self, from, tmp, dest);
}

static alm_status one_segment(archiving *self, const alm_wal_segment *seg)
{
    char from[ALM_PATH_MAX], dest[ALM_PATH_MAX], files[ALM_PATH_MAX];
    bool there = false;
    alm_wal_scan scan;
    (void)snprintf(from, sizeof from, "%s/wal/%016llx.wal", self->st->root,
                   (unsigned long long)seg->number);
    (void)snprintf(dest, sizeof dest, "%.*s/%016llx.wal", DIR_MAX, self->dir,
                   (unsigned long long)seg->number);
    (void)snprintf(files, sizeof files, "%.*s/files", DIR_MAX, self->dir);
    ALM_TRY(archive_is_there(self, from, dest, &there));
    if (there)
        return ALM_OK;
    ALM_TRY(alm_wal_walk(self->cx, &self->st->wal, seg, archive_record_files, self, &scan));
    self->damaged = alm_wal_whole(self->cx, &self->st->wal, seg, &scan) != ALM_OK;
    if (self->damaged)
        return self->cx->err.code;
    int code = self->io->sync_dir(self->io, files); /* also of an attempt that failed before */
    if (code < 0)
        return alm_io_fail(self->cx, code, files);
    ALM_TRY(archive_copy_segment(self, &scan, from, dest));
    code = self->io->sync_dir(self->io, self->dir);
    return code < 0 ? alm_io_fail(self->cx, code, self->dir) : ALM_OK;
}

/* Segments of two databases in one directory could not be told apart by their names. Once for each start. */
static alm_status archive_check_database(archiving *self)
{
    alm_wal wal;
    uint64_t id = self->st->database_id;
    if (self->st->archive.identified)
        return ALM_OK;
    ALM_TRY(alm_wal_init(self->cx, &wal, self->io, self->dir, 0));
    alm_status status = alm_wal_list(self->cx, &wal);
    if (status == ALM_OK)
        status = alm_wal_identify(self->cx, &wal, "this database", &id);
    alm_wal_deinit(&wal);
    self->st->archive.identified = status == ALM_OK;
    return status;
}

static alm_status archive_open_dir(archiving *self)
{
    char files[ALM_PATH_MAX];
    (void)snprintf(files, sizeof files, "%.*s/files", DIR_MAX, self->dir);
    ALM_TRY(alm_backup_dir(self->cx, self->io, self->dir));
    ALM_TRY(alm_backup_dir(self->cx, self->io, files));
    return archive_check_database(self);
}

/* ------------------------------------------------------------------------- rounds */

/* The oldest segment that is finished and not archived, and the bytes of all of these. */
static bool archive_next_segment(alm_storage *storage, alm_wal_segment *out, int64_t *backlog)
{
    alm_wal *wal = &storage->wal;
    bool found = false;
    *backlog = 0;
    (void)pthread_mutex_lock(&wal->lock);
    for (size_t i = 0; i + 1 < wal->n_segments; i++) {
        if (wal->segments[i].number <= storage->archive.number)
            continue;
        if (!found)
            *out = wal->segments[i];
        found = true;
        *backlog += wal->segments[i].bytes;
    }
    (void)pthread_mutex_unlock(&wal->lock);
    return found;
}

static void set_reading(alm_storage *storage, uint64_t segment)
{
    (void)pthread_mutex_lock(&storage->wal.lock);
    storage->wal.reading = segment;
    (void)pthread_mutex_unlock(&storage->wal.lock);
}

/* False: another thread has given it up before. */
static bool set_done(alm_storage *storage, const alm_wal_segment *seg)
{
    (void)pthread_mutex_lock(&storage->wal.lock);
    const bool mine = seg->number > storage->archive.number;
    if (mine) {
        storage->archive.number = seg->number;
        atomic_store(&storage->wal.keep_lsn, seg->last_lsn);
    }
    (void)pthread_mutex_unlock(&storage->wal.lock);
    return mine;
}

void alm_archive_limit(alm_storage *storage)
{
    alm_wal_segment seg;
    int64_t backlog = 0;
    while (alm_archive_is_on(storage) && archive_next_segment(storage, &seg, &backlog) &&
           backlog > storage->conf.archive_backlog_max && set_done(storage, &seg))
        alm_log_error("archive",
                      "segment %016llx of the log goes without being archived, because more than "
                      "wal.archive.backlog.max=%lld bytes wait: no restore to a time over lsn %llu "
                      "to %llu, make a new backup",
                      (unsigned long long)seg.number, (long long)storage->conf.archive_backlog_max,
                      (unsigned long long)seg.prev_lsn + 1, (unsigned long long)seg.last_lsn);
}

static void archive_tell(alm_storage *storage, const alm_ctx *cx)
{
    if (!storage->archive.failing)
        alm_log_error("archive", "the log waits, because it cannot be archived: %s", cx->err.msg);
    storage->archive.failing = true;
}

static alm_status empty_record(alm_ctx *cx, alm_request *request, alm_build *build)
{
    (void)cx;
    (void)build;
    request->n_pieces = 0;
    return ALM_OK;
}

alm_status alm_archive_roll(alm_ctx *cx, alm_storage *storage)
{
    alm_request request = {.prepare = empty_record};
    atomic_store(&storage->wal.roll, true);
    return alm_commit(cx, storage, &request);
}

int64_t alm_archive_round_ms(const alm_storage *storage)
{
    enum { LEAST_MS = 10, MOST_MS = 1000 };
    const int64_t quarter = storage->conf.archive_interval_ms / 4;
    return ALM_MAX(ALM_MIN(quarter, (int64_t)MOST_MS), (int64_t)LEAST_MS);
}

static alm_status roll_by_time(alm_ctx *cx, alm_storage *storage)
{
    const int64_t now_ns = storage->io->mono_ns(storage->io);
    if (atomic_load(&storage->commits) == storage->archive.commits) {
        storage->archive.since_ns = now_ns;
        return ALM_OK;
    }
    /* A commit came at `since` at the earliest, and the next look is a round away. */
    const int64_t left_ms = storage->conf.archive_interval_ms - alm_archive_round_ms(storage);
    if (now_ns - storage->archive.since_ns < left_ms * 1000000)
        return ALM_OK;
    ALM_TRY(alm_archive_roll(cx, storage));
    storage->archive.since_ns = now_ns;
    storage->archive.commits = atomic_load(&storage->commits);
    return ALM_OK;
}

/* The segment fails its checksums, which does not pass. A backup behind it has all that it says. */
static alm_status damaged_segment(archiving *self, const alm_wal_segment *seg)
{
    alm_ctx *cx = self->cx;
    const uint64_t backup = atomic_load(&self->st->backup.whole_lsn);
    const alm_damage_key key = {ALM_DAMAGE_LOG, 0, seg->number};
    alm_damage_add(self->st, key, cx->err.msg);
    if (backup < seg->last_lsn) {
        const alm_error was = cx->err;
        alm_error_clear(cx);
        return alm_fail(cx, was.code, -1, "%s; a BACKUP of the database makes it needless",
                        was.msg);
    }
    alm_log_error(
        "archive",
        "segment %016llx of the log goes without being archived, because it is damaged and the "
        "backup "
        "at lsn %llu is later: no restore to a time over lsn %llu to %llu from an earlier one",
        (unsigned long long)seg->number, (unsigned long long)backup,
        (unsigned long long)seg->prev_lsn + 1, (unsigned long long)seg->last_lsn);
    alm_error_clear(cx);
    (void)set_done(self->st, seg);
    return ALM_OK;
}

static alm_status archive_segments(archiving *self)
{
    alm_storage *storage = self->st;
    alm_wal_segment seg;
    int64_t backlog = 0;
    alm_status status = archive_open_dir(self);
    while (status == ALM_OK && archive_next_segment(storage, &seg, &backlog)) {
        self->segment = seg.number;
        self->damaged = false;
        set_reading(storage, seg.number);
        status = one_segment(self, &seg);
        set_reading(storage, 0);
        if (is_given_up(self)) {
            alm_error_clear(self->cx);
            status = alm_check(self->cx);
        } else if (status == ALM_OK) {
            (void)set_done(storage, &seg);
        } else if (self->damaged) {
            status = damaged_segment(self, &seg);
        }
    }
    return status;
}

void alm_archive_round(alm_ctx *cx, alm_storage *storage)
{
    if (!alm_archive_is_on(storage))
        return;
    archiving self = {.cx = cx, .st = storage, .io = storage->io, .dir = storage->conf.archive_dir};
    alm_status status = roll_by_time(cx, storage);
    if (status == ALM_OK)
        status = archive_segments(&self);
    if (status != ALM_OK && status != ALM_E_CANCEL)
        archive_tell(storage, cx);
    else
        storage->archive.failing = false;
    alm_archive_limit(storage);
    alm_retired_remove(storage);
    alm_error_clear(cx); /* told; nothing else depends on it */
}

bool alm_archive_catch_up(alm_storage *storage, const atomic_bool *cancel)
{
    alm_ctx cx = {.io = storage->io, .cancel = cancel};
    if (!alm_archive_is_on(storage))
        return true;
    if (alm_archive_roll(&cx, storage) != ALM_OK)
        return false;
    alm_archive_round(&cx, storage);
    return !storage->archive.failing && (cancel == NULL || !atomic_load(cancel));
}

void alm_archive_at_open(alm_ctx *cx, alm_storage *storage)
{
    if (!alm_archive_is_on(storage))
        return;
    archiving self = {.cx = cx, .st = storage, .io = storage->io, .dir = storage->conf.archive_dir};
    alm_status status = archive_open_dir(&self);
    atomic_store(&storage->wal.keep_lsn, 0);
    for (size_t i = 0; i < storage->wal.n_segments && status == ALM_OK; i++) {
        alm_wal_segment seg = storage->wal.segments[i];
        if (seg.in_chain)
            break;
        if (i + 1 < storage->wal.n_segments)
            status =
                alm_wal_prev_lsn(cx, &storage->wal, &storage->wal.segments[i + 1], &seg.last_lsn);
        if (status == ALM_OK)
            status = one_segment(&self, &seg);
    }
    if (status != ALM_OK)
        alm_log_error("archive", "the archive has a gap, make a new backup: %s", cx->err.msg);
    alm_error_clear(cx);
}
