/*
 * restore_log.c - a restore goes on from the backup with the archived log, up to a record or a time.
 *
 * Segments of the archive are copied behind the catalogue of the backup, with the parts that their
 * records name; the log is cut behind the last record that counts. What opens the directory then finds
 * an ordinary log.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "storage/backup/archive.h"
#include "storage/backup/backup.h"
#include "storage/log/payload.h"
#include "storage/part/part.h"

enum { DIR_MAX = ALM_PATH_MAX - 256 };

typedef struct replay {
    alm_ctx *cx;
    const alm_io *io;
    const char *log, *db;
    const alm_restore_spec *spec;
    uint64_t database_id;
    uint64_t after, until; /* LSN of the backup; of the last record that counts, 0: not known yet */
    int64_t last_us;       /* time of that record */
    bool beyond;           /* a record came that is too late */
} replay;

static int64_t restore_log_time_of(const char *payload, size_t bytes)
{
    alm_reader reader = {.at = payload, .end = payload + bytes}, body;
    alm_op_kind kind;
    while (alm_get_op(&reader, &kind, &body))
        if (kind == ALM_OP_TIME)
            return alm_get_i64(&body);
    return INT64_MIN;
}

/* The last record at or before the time, before the first that is later. */
static alm_status find_end(alm_ctx *cx, void *arg, uint64_t lsn, const char *payload, size_t bytes)
{
    replay *self = arg;
    (void)cx;
    if (lsn <= self->after || self->beyond)
        return ALM_OK;
    const int64_t micros = restore_log_time_of(payload, bytes);
    const bool late =
        self->spec->until_lsn > 0 ? lsn > self->spec->until_lsn : micros > self->spec->until_us;
    self->beyond = late;
    if (late)
        return ALM_OK;
    self->until = lsn;
    self->last_us = micros;
    return ALM_OK;
}

/* Is the part in the archive the one of the record? */
static alm_status restore_log_is_meant(replay *self, const alm_part_claim *said, const char *path,
                                       bool *meant)
{
    alm_part_claim claim = *said;
    claim.database_id = self->database_id;
    const alm_status status = alm_part_is(self->cx, self->io, path, &claim);
    *meant = status == ALM_OK;
    if (status != ALM_E_CORRUPT)
        return status;
    alm_log_warn("restore", "a part of the archive is left out: %s", self->cx->err.msg);
    alm_error_clear(self->cx);
    return ALM_OK;
}

static alm_status copy_file(void *arg, const alm_part_claim *claim)
{
    replay *self = arg;
    const uint64_t table_id = claim->table_id;
    char from[ALM_PATH_MAX], dest[ALM_PATH_MAX], dir[ALM_PATH_MAX], name[ALM_NAME_MAX];
    alm_io_stat meta;
    int64_t got = 0;
    uint32_t crc = 0;
    alm_file_id_name(claim->file_id, name, sizeof name);
    alm_archive_part_path(self->log, table_id, claim->file_id, from);
    (void)snprintf(dir, sizeof dir, "%.*s/tables/%llu", DIR_MAX, self->db,
                   (unsigned long long)table_id);
    (void)snprintf(dest, sizeof dest, "%.*s/tables/%llu/%s", DIR_MAX, self->db,
                   (unsigned long long)table_id, name);
    if (self->io->stat(self->io, dest, &meta) == 0 || self->io->stat(self->io, from, &meta) < 0 ||
        meta.size_bytes != claim->bytes)
        return ALM_OK; /* there; or missed when the directory is opened, if it is needed then */
    bool meant = false;
    ALM_TRY(restore_log_is_meant(self, claim, from, &meant));
    if (!meant)
        return ALM_OK; /* as if it were not there */
    const int code = self->io->mkdir(self->io, dir);
    if (code < 0)
        return alm_io_fail(self->cx, code, dir);
    ALM_TRY(alm_backup_copy(self->cx, self->io, from, 0, dest, INT64_MAX, &got, &crc));
    const int synced = self->io->sync_dir(self->io, dir);
    return synced < 0 ? alm_io_fail(self->cx, synced, dir) : ALM_OK;
}

static alm_status restore_log_record_files(alm_ctx *cx, void *arg, uint64_t lsn,
                                           const char *payload, size_t bytes)
{
    const replay *self = arg;
    (void)cx;
    return lsn <= self->after || lsn > self->until
               ? ALM_OK
               : alm_record_files(payload, bytes, copy_file, arg);
}

/* One segment with its parts; of the last one, what counts. */
static alm_status restore_log_copy_segment(replay *self, const alm_wal *wal,
                                           const alm_wal_segment *seg)
{
    char from[ALM_PATH_MAX], dest[ALM_PATH_MAX];
    alm_wal_scan scan;
    int64_t bytes = 0;
    uint32_t crc = 0;
    ALM_TRY(alm_wal_walk(self->cx, wal, seg, restore_log_record_files, self, &scan));
    (void)snprintf(from, sizeof from, "%.*s/%016llx.wal", DIR_MAX, self->log,
                   (unsigned long long)seg->number);
    (void)snprintf(dest, sizeof dest, "%.*s/wal/%016llx.wal", DIR_MAX, self->db,
                   (unsigned long long)seg->number);
    const int64_t most = scan.last_lsn >= self->until ? scan.at : INT64_MAX;
    return alm_backup_copy(self->cx, self->io, from, 0, dest, most, &bytes, &crc);
}

static alm_status restore_log_pass_over(alm_ctx *cx, void *arg, uint64_t lsn, const char *payload,
                                        size_t bytes)
{
    (void)cx, (void)arg, (void)lsn, (void)payload, (void)bytes;
    return ALM_OK;
}

/* What --until says lies before a record that is there, or is one. */
static alm_status reaches(const replay *self)
{
    const alm_restore_spec *spec = self->spec;
    if (self->beyond || spec->allow_earlier ||
        (spec->until_lsn > 0 && self->until >= spec->until_lsn))
        return ALM_OK;
    return alm_fail(self->cx, ALM_E_ARG, -1,
                    "the log in '%s' ends at lsn %llu, before what --until says: --allow-earlier "
                    "restores as far as it goes",
                    self->log, (unsigned long long)ALM_MAX(self->until, self->after));
}

/* Has the backup all of segment i? By the header of the next one: this one may be damaged, or needless. */
static alm_status is_old(const replay *self, const alm_wal *wal, size_t i, bool *old)
{
    uint64_t next = 0;
    if (i + 1 < wal->n_segments)
        ALM_TRY(alm_wal_prev_lsn(self->cx, wal, &wal->segments[i + 1], &next));
    *old = next > 0 && next <= self->after;
    return ALM_OK;
}

/* The records that count follow each other: none of them is damaged, no segment is missing. */
static alm_status restore_log_find_in(replay *self, alm_wal *wal)
{
    uint64_t reached = self->after;
    ALM_TRY(alm_wal_list(self->cx, wal));
    ALM_TRY(alm_wal_identify(self->cx, wal, "the backup", &self->database_id));
    for (size_t i = 0; i < wal->n_segments && !self->beyond; i++) {
        alm_wal_scan scan;
        bool old = false;
        uint64_t prev_lsn = 0;
        ALM_TRY(is_old(self, wal, i, &old));
        if (old)
            continue;
        ALM_TRY(alm_wal_prev_lsn(self->cx, wal, &wal->segments[i], &prev_lsn));
        if (prev_lsn > reached && self->spec->allow_earlier)
            break;
        if (prev_lsn > reached)
            return alm_fail(self->cx, ALM_E_CORRUPT, -1,
                            "the log in '%s' has a gap between lsn %llu and %llu", self->log,
                            (unsigned long long)reached, (unsigned long long)prev_lsn);
        ALM_TRY(alm_wal_walk(self->cx, wal, &wal->segments[i], find_end, self, &scan));
        reached = ALM_MAX(reached, scan.last_lsn);
        if (!self->beyond && !self->spec->allow_earlier)
            ALM_TRY(alm_wal_ends(self->cx, wal, i, &scan));
    }
    return reaches(self);
}

alm_status alm_restore_log_find(alm_ctx *cx, const alm_io *io, const alm_restore_spec *spec,
                                const char *log, const alm_manifest *backup, uint64_t *until,
                                int64_t *last_us)
{
    replay self = {.cx = cx,
                   .io = io,
                   .log = log,
                   .spec = spec,
                   .database_id = backup->database_id,
                   .after = backup->lsn};
    alm_wal wal;
    *until = 0;
    if (log[0] == 0)
        return alm_fail(cx, ALM_E_ARG, -1,
                        "the database of the backup had no wal.archive.dir: --log DIR is missing");
    ALM_TRY(alm_wal_init(cx, &wal, io, log, 0));
    const alm_status status = restore_log_find_in(&self, &wal);
    alm_wal_deinit(&wal);
    if (status == ALM_OK && self.until > self.after) {
        *until = self.until;
        *last_us = self.last_us;
    }
    return status;
}

static alm_status copy_from(replay *self, alm_wal *wal)
{
    char dir[ALM_PATH_MAX];
    alm_wal_scan scan;
    ALM_TRY(alm_wal_list(self->cx, wal));
    ALM_TRY(alm_wal_identify(self->cx, wal, "the backup", &self->database_id));
    wal->limit_lsn = self->until;
    for (size_t i = 0; i < wal->n_segments; i++) {
        bool old = false;
        ALM_TRY(is_old(self, wal, i, &old));
        if (old)
            continue;
        ALM_TRY(alm_wal_walk(self->cx, wal, &wal->segments[i], restore_log_pass_over, NULL, &scan));
        if (scan.last_lsn <= self->after)
            continue; /* the backup has all of it */
        ALM_TRY(restore_log_copy_segment(self, wal, &wal->segments[i]));
        if (scan.last_lsn >= self->until)
            break;
    }
    (void)snprintf(dir, sizeof dir, "%.*s/wal", DIR_MAX, self->db);
    const int code = self->io->sync_dir(self->io, dir);
    return code < 0 ? alm_io_fail(self->cx, code, dir) : ALM_OK;
}

alm_status alm_restore_log_copy(alm_ctx *cx, const alm_io *io, const char *log, const char *db,
                                const alm_manifest *backup, uint64_t until)
{
    replay self = {.cx = cx,
                   .io = io,
                   .log = log,
                   .db = db,
                   .database_id = backup->database_id,
                   .after = backup->lsn,
                   .until = until};
    alm_wal wal;
    ALM_ASSERT(until > self.after);
    ALM_TRY(alm_wal_init(cx, &wal, io, log, 0));
    const alm_status status = copy_from(&self, &wal);
    alm_wal_deinit(&wal);
    return status;
}
