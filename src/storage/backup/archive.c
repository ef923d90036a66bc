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
static bool is_given_up(archiving *a)
{
    alm_wal *wal = &a->st->wal;
    (void)pthread_mutex_lock(&wal->lock);
    const bool given_up = a->segment != 0 && a->segment <= a->st->archive.number;
    (void)pthread_mutex_unlock(&wal->lock);
    return given_up;
}

enum { COPY_PATH_MAX = ALM_PATH_MAX + 8 };

static void tmp_of(const char *to, char *tmp)
{
    (void)snprintf(tmp, COPY_PATH_MAX, "%s.tmp", to);
}

/* What was copied beside its name gets it: in one directory, so that a crash leaves one name only. */
static alm_status name_copy(archiving *a, const char *from, const char *tmp, const char *to)
{
    if (is_given_up(a)) {
        (void)a->io->unlink(a->io, tmp);
        return alm_fail(a->cx, ALM_E_CANCEL, -1, "'%s' is not archived any more", from);
    }
    const int e = alm_io_rename_over(a->io, tmp, to);
    return e < 0 ? alm_io_fail(a->cx, e, to) : ALM_OK;
}

/* A part that was copied: damage is told, and remembered while the server has the file. */
static alm_status look_into(archiving *a, const alm_part_claim *claim, const char *from,
                            const alm_part_place *shared, const char *tmp)
{
    if (alm_part_verify(a->cx, a->io, tmp, NULL, claim) != ALM_E_CORRUPT)
        return a->cx->err.code;
    alm_error_clear(a->cx);
    const alm_status st = alm_part_verify(a->cx, a->io, from, shared, claim);
    if (st == ALM_OK)
        return alm_fail(a->cx, ALM_E_IO, -1, "'%s' was copied badly", from);
    if (st != ALM_E_CORRUPT)
        return st;
    alm_log_error("archive", "damage goes into the archive as it is: %s", a->cx->err.msg);
    alm_version *v = alm_storage_version(a->st, claim->table_id);
    alm_file *file = alm_file_find(a->st, claim->file_id);
    if (v != NULL && file != NULL)
        (void)alm_damage_of_table(a->cx, v->table.name, file, st);
    alm_file_release(file);
    alm_version_release(v);
    alm_error_clear(a->cx);
    return ALM_OK;
}

/* Another file of that name is replaced. */
static alm_status is_archived(archiving *a, const alm_part_claim *claim, const char *path,
                              bool *there)
{
    const alm_status st = alm_part_is(a->cx, a->io, path, claim);
    *there = st == ALM_OK;
    if (st != ALM_E_CORRUPT && st != ALM_E_UNSUPPORTED)
        return st;
    alm_log_warn("archive", "a part of the archive is copied again: %s", a->cx->err.msg);
    alm_error_clear(a->cx);
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

static alm_status one_file(void *arg, const alm_part_claim *said)
{
    archiving *a = arg;
    const uint64_t table_id = said->table_id, id = said->file_id;
    char from[ALM_PATH_MAX], to[ALM_PATH_MAX];
    alm_io_stat meta;
    alm_file pack = {.id = said->pack, .table_id = table_id, .st = a->st};
    const alm_file file = {.id = id,
                           .table_id = table_id,
                           .st = a->st,
                           .bytes = said->bytes,
                           .offset = said->offset,
                           .pack = said->pack != 0 ? &pack : NULL};
    alm_part_place place;
    bool shared = false;
    alm_file_where(&file, from, sizeof from, &place, &shared);
    alm_archive_part_path(a->dir, table_id, id, to);
    bool there = false;
    alm_part_claim claim = *said;
    claim.database_id = a->st->database_id;
    if (a->io->stat(a->io, to, &meta) == 0)
        ALM_TRY(is_archived(a, &claim, to, &there));
    if (there)
        return ALM_OK;
    if (a->io->stat(a->io, from, &meta) == -ENOENT) { /* gone before there was an archive */
        alm_log_warn("archive", "'%s' is gone and not in the archive", from);
        return ALM_OK;
    }
    char tmp[COPY_PATH_MAX];
    int64_t copied = 0;
    uint32_t crc = 0;
    tmp_of(to, tmp);
    ALM_TRY(alm_backup_copy(a->cx, a->io, from, shared ? place.offset : 0, tmp,
                            shared ? place.bytes : INT64_MAX, &copied, &crc));
    ALM_TRY(look_into(a, &claim, from, shared ? &place : NULL, tmp));
    return name_copy(a, from, tmp, to);
}

static alm_status op_files(alm_reader *r, alm_record_file each, void *arg)
{
    const uint64_t table_id = alm_get_u64(r);
    (void)alm_get_u64(r);
    const uint32_t removed = alm_get_u32(r), added = alm_get_u32(r);
    (void)alm_get_bytes(r, (uint64_t)removed * 8);
    for (uint32_t i = 0; i < added && !r->bad; i++) {
        alm_part_claim claim = {.table_id = table_id, .min_ts = INT64_MAX, .max_ts = INT64_MIN};
        claim.part_id = alm_get_u64(r);
        (void)alm_get_u64(r); /* seq */
        claim.rows = alm_get_i64(r);
        (void)alm_get_i64(r); /* first time */
        claim.part_max_ts = alm_get_i64(r);
        (void)alm_get_i64(r); /* bucket */
        alm_get_file(r, &claim);
        const uint32_t overlays = alm_get_u32(r);
        if (!r->bad)
            ALM_TRY(each(arg, &claim));
        for (uint32_t j = 0; j < overlays && !r->bad; j++) {
            (void)alm_get_u32(r);
            alm_get_file(r, &claim);
            if (!r->bad)
                ALM_TRY(each(arg, &claim));
        }
    }
    return ALM_OK;
}

alm_status alm_record_files(const char *payload, size_t bytes, alm_record_file each, void *arg)
{
    alm_reader r = {.at = payload, .end = payload + bytes}, body;
    alm_op_kind kind;
    while (alm_get_op(&r, &kind, &body))
        if (kind == ALM_OP_PARTS)
            ALM_TRY(op_files(&body, each, arg));
    return ALM_OK;
}

static alm_status record_files(alm_ctx *cx, void *arg, uint64_t lsn, const char *payload,
                               size_t bytes)
{
    (void)cx;
    (void)lsn;
    return alm_record_files(payload, bytes, one_file, arg);
}

/* Is it there? A segment of that number from another life of the database is an error. */
static alm_status is_there(archiving *a, const char *from, const char *to, bool *there)
{
    char mine[ALM_WAL_HEADER], theirs[ALM_WAL_HEADER];
    const char *const paths[2] = {from, to};
    char *const heads[2] = {mine, theirs};
    alm_io_stat meta;
    *there = a->io->stat(a->io, to, &meta) == 0;
    for (int i = 0; i < 2 && *there; i++) {
        const int h = a->io->open(a->io, paths[i], ALM_IO_READ);
        if (h < 0)
            return alm_io_fail(a->cx, h, paths[i]);
        const alm_status st =
            alm_io_read_all(a->cx, a->io, h, heads[i], ALM_WAL_HEADER, 0, paths[i]);
        (void)a->io->close(a->io, h);
        ALM_TRY(st);
    }
    if (*there && memcmp(mine, theirs, ALM_WAL_HEADER) != 0)
        return alm_fail(a->cx, ALM_E_EXISTS, -1,
                        "'%s' is of another database: a restored one needs a directory of its own "
                        "in wal.archive.dir",
                        to);
    return ALM_OK;
}

/* The bytes that were compared, with the mark. */
static alm_status copy_segment(archiving *a, const alm_wal_scan *scan, const char *from,
                               const char *to)
{
    char tmp[COPY_PATH_MAX];
    int64_t bytes = 0;
    uint32_t crc = 0;
    tmp_of(to, tmp);
    ALM_TRY(alm_backup_copy(a->cx, a->io, from, 0, tmp, scan->at + ALM_REC_HEADER, &bytes, &crc));
    if (crc != scan->crc)
        return alm_fail(a->cx, ALM_E_IO, -1, "'%s' was copied badly", from);
    return name_copy(a, from, tmp, to);
}

static alm_status one_segment(archiving *a, const alm_wal_segment *seg)
{
    char from[ALM_PATH_MAX], to[ALM_PATH_MAX], files[ALM_PATH_MAX];
    bool there = false;
    alm_wal_scan scan;
    (void)snprintf(from, sizeof from, "%s/wal/%016llx.wal", a->st->root,
                   (unsigned long long)seg->number);
    (void)snprintf(to, sizeof to, "%.*s/%016llx.wal", DIR_MAX, a->dir,
                   (unsigned long long)seg->number);
    (void)snprintf(files, sizeof files, "%.*s/files", DIR_MAX, a->dir);
    ALM_TRY(is_there(a, from, to, &there));
    if (there)
        return ALM_OK;
    ALM_TRY(alm_wal_walk(a->cx, &a->st->wal, seg, record_files, a, &scan));
    a->damaged = alm_wal_whole(a->cx, &a->st->wal, seg, &scan) != ALM_OK;
    if (a->damaged)
        return a->cx->err.code;
    int e = a->io->sync_dir(a->io, files); /* also of an attempt that failed before */
    if (e < 0)
        return alm_io_fail(a->cx, e, files);
    ALM_TRY(copy_segment(a, &scan, from, to));
    e = a->io->sync_dir(a->io, a->dir);
    return e < 0 ? alm_io_fail(a->cx, e, a->dir) : ALM_OK;
}

/* Segments of two databases in one directory could not be told apart by their names. Once for each start. */
static alm_status check_database(archiving *a)
{
    alm_wal wal;
    uint64_t id = a->st->database_id;
    if (a->st->archive.identified)
        return ALM_OK;
    ALM_TRY(alm_wal_init(a->cx, &wal, a->io, a->dir, 0));
    alm_status st = alm_wal_list(a->cx, &wal);
    if (st == ALM_OK)
        st = alm_wal_identify(a->cx, &wal, "this database", &id);
    alm_wal_deinit(&wal);
    a->st->archive.identified = st == ALM_OK;
    return st;
}

static alm_status open_dir(archiving *a)
{
    char files[ALM_PATH_MAX];
    (void)snprintf(files, sizeof files, "%.*s/files", DIR_MAX, a->dir);
    ALM_TRY(alm_backup_dir(a->cx, a->io, a->dir));
    ALM_TRY(alm_backup_dir(a->cx, a->io, files));
    return check_database(a);
}

/* ------------------------------------------------------------------------- rounds */

/* The oldest segment that is finished and not archived, and the bytes of all of these. */
static bool next_segment(alm_storage *st, alm_wal_segment *out, int64_t *backlog)
{
    alm_wal *wal = &st->wal;
    bool found = false;
    *backlog = 0;
    (void)pthread_mutex_lock(&wal->lock);
    for (size_t i = 0; i + 1 < wal->n_segments; i++) {
        if (wal->segments[i].number <= st->archive.number)
            continue;
        if (!found)
            *out = wal->segments[i];
        found = true;
        *backlog += wal->segments[i].bytes;
    }
    (void)pthread_mutex_unlock(&wal->lock);
    return found;
}

static void set_reading(alm_storage *st, uint64_t segment)
{
    (void)pthread_mutex_lock(&st->wal.lock);
    st->wal.reading = segment;
    (void)pthread_mutex_unlock(&st->wal.lock);
}

/* False: another thread has given it up before. */
static bool set_done(alm_storage *st, const alm_wal_segment *seg)
{
    (void)pthread_mutex_lock(&st->wal.lock);
    const bool mine = seg->number > st->archive.number;
    if (mine) {
        st->archive.number = seg->number;
        atomic_store(&st->wal.keep_lsn, seg->last_lsn);
    }
    (void)pthread_mutex_unlock(&st->wal.lock);
    return mine;
}

void alm_archive_limit(alm_storage *st)
{
    alm_wal_segment seg;
    int64_t backlog = 0;
    while (alm_archive_is_on(st) && next_segment(st, &seg, &backlog) &&
           backlog > st->conf.archive_backlog_max && set_done(st, &seg))
        alm_log_error("archive",
                      "segment %016llx of the log goes without being archived, because more than "
                      "wal.archive.backlog.max=%lld bytes wait: no restore to a time over lsn %llu "
                      "to %llu, make a new backup",
                      (unsigned long long)seg.number, (long long)st->conf.archive_backlog_max,
                      (unsigned long long)seg.prev_lsn + 1, (unsigned long long)seg.last_lsn);
}

static void tell(alm_storage *st, const alm_ctx *cx)
{
    if (!st->archive.failing)
        alm_log_error("archive", "the log waits, because it cannot be archived: %s", cx->err.msg);
    st->archive.failing = true;
}

static alm_status empty_record(alm_ctx *cx, alm_request *rq, alm_build *b)
{
    (void)cx;
    (void)b;
    rq->n_pieces = 0;
    return ALM_OK;
}

alm_status alm_archive_roll(alm_ctx *cx, alm_storage *st)
{
    alm_request rq = {.prepare = empty_record};
    atomic_store(&st->wal.roll, true);
    return alm_commit(cx, st, &rq);
}

int64_t alm_archive_round_ms(const alm_storage *st)
{
    enum { LEAST_MS = 10, MOST_MS = 1000 };
    const int64_t quarter = st->conf.archive_interval_ms / 4;
    return ALM_MAX(ALM_MIN(quarter, (int64_t)MOST_MS), (int64_t)LEAST_MS);
}

static alm_status roll_by_time(alm_ctx *cx, alm_storage *st)
{
    const int64_t now_ns = st->io->mono_ns(st->io);
    if (atomic_load(&st->commits) == st->archive.commits) {
        st->archive.since_ns = now_ns;
        return ALM_OK;
    }
    /* A commit came at `since` at the earliest, and the next look is a round away. */
    const int64_t left_ms = st->conf.archive_interval_ms - alm_archive_round_ms(st);
    if (now_ns - st->archive.since_ns < left_ms * 1000000)
        return ALM_OK;
    ALM_TRY(alm_archive_roll(cx, st));
    st->archive.since_ns = now_ns;
    st->archive.commits = atomic_load(&st->commits);
    return ALM_OK;
}

/* The segment fails its checksums, which does not pass. A backup behind it has all that it says. */
static alm_status damaged_segment(archiving *a, const alm_wal_segment *seg)
{
    alm_ctx *cx = a->cx;
    const uint64_t backup = atomic_load(&a->st->backup.whole_lsn);
    const alm_damage_key key = {ALM_DAMAGE_LOG, 0, seg->number};
    alm_damage_add(a->st, key, cx->err.msg);
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
    (void)set_done(a->st, seg);
    return ALM_OK;
}

static alm_status archive_segments(archiving *a)
{
    alm_storage *st = a->st;
    alm_wal_segment seg;
    int64_t backlog = 0;
    alm_status e = open_dir(a);
    while (e == ALM_OK && next_segment(st, &seg, &backlog)) {
        a->segment = seg.number;
        a->damaged = false;
        set_reading(st, seg.number);
        e = one_segment(a, &seg);
        set_reading(st, 0);
        if (is_given_up(a)) {
            alm_error_clear(a->cx);
            e = alm_check(a->cx);
        } else if (e == ALM_OK) {
            (void)set_done(st, &seg);
        } else if (a->damaged) {
            e = damaged_segment(a, &seg);
        }
    }
    return e;
}

void alm_archive_round(alm_ctx *cx, alm_storage *st)
{
    if (!alm_archive_is_on(st))
        return;
    archiving a = {.cx = cx, .st = st, .io = st->io, .dir = st->conf.archive_dir};
    alm_status e = roll_by_time(cx, st);
    if (e == ALM_OK)
        e = archive_segments(&a);
    if (e != ALM_OK && e != ALM_E_CANCEL)
        tell(st, cx);
    else
        st->archive.failing = false;
    alm_archive_limit(st);
    alm_retired_remove(st);
    alm_error_clear(cx); /* told; nothing else depends on it */
}

bool alm_archive_catch_up(alm_storage *st, const atomic_bool *cancel)
{
    alm_ctx cx = {.io = st->io, .cancel = cancel};
    if (!alm_archive_is_on(st))
        return true;
    if (alm_archive_roll(&cx, st) != ALM_OK)
        return false;
    alm_archive_round(&cx, st);
    return !st->archive.failing && (cancel == NULL || !atomic_load(cancel));
}

void alm_archive_at_open(alm_ctx *cx, alm_storage *st)
{
    if (!alm_archive_is_on(st))
        return;
    archiving a = {.cx = cx, .st = st, .io = st->io, .dir = st->conf.archive_dir};
    alm_status e = open_dir(&a);
    atomic_store(&st->wal.keep_lsn, 0);
    for (size_t i = 0; i < st->wal.n_segments && e == ALM_OK; i++) {
        alm_wal_segment seg = st->wal.segments[i];
        if (seg.in_chain)
            break;
        if (i + 1 < st->wal.n_segments)
            e = alm_wal_prev_lsn(cx, &st->wal, &st->wal.segments[i + 1], &seg.last_lsn);
        if (e == ALM_OK)
            e = one_segment(&a, &seg);
    }
    if (e != ALM_OK)
        alm_log_error("archive", "the archive has a gap, make a new backup: %s", cx->err.msg);
    alm_error_clear(cx);
}
