/*
 * archive_check.c - an archive of the log verified: every record of every segment, that segments follow each other, and the
 * parts that their records name. Changes nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "storage/backup/archive.h"
#include "storage/findings.h"
#include "storage/log/payload.h"
#include "storage/part/part.h"

/* A file that a record names and the archive does not have. */
typedef struct absent {
    uint64_t table_id, part_id, file_id;
    int64_t max_ts;
    bool removed; /* by a later record; it leaves the list when half of the list has */
} absent;

typedef struct checking {
    alm_findings found; /* first: its address is that of the whole */
    alm_ctx *cx;
    const alm_io *io;
    const char *dir;
    uint64_t database_id; /* of its first segment that says it */
    absent *absent;       /* by part id: files of parts that no record so far removes */
    size_t n_absent, n_removed, cap_absent;
} checking;

enum { DIR_MAX = ALM_PATH_MAX - 256 };

/* What is wrong with the archive is a finding; only cancel and memory stop the check. */
static alm_status archive_check_settle(checking *self, alm_status status)
{
    if (status != ALM_E_CORRUPT && status != ALM_E_UNSUPPORTED && status != ALM_E_IO)
        return status;
    alm_findings_add(self, self->cx->err.msg);
    alm_error_clear(self->cx);
    return ALM_OK;
}

/* The first one of this or a later part. */
static size_t first_of(const checking *self, uint64_t part_id)
{
    size_t lo = 0, hi = self->n_absent;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (self->absent[mid].part_id < part_id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static alm_status archive_check_remember(checking *self, const absent *a)
{
    if (self->n_absent == self->cap_absent) {
        const size_t cap = ALM_MAX((size_t)64, self->cap_absent * 2);
        absent *bigger = realloc(self->absent, cap * sizeof *bigger);
        if (bigger == NULL)
            return alm_fail(self->cx, ALM_E_MEMORY, -1, "no memory for a list of missing parts");
        self->absent = bigger;
        self->cap_absent = cap;
    }
    const size_t offset = first_of(
        self,
        a->part_id + 1); /* ids ascend, so that it is the end, but for changes of older parts */
    memmove(self->absent + offset + 1, self->absent + offset,
            (self->n_absent - offset) * sizeof *self->absent);
    self->absent[offset] = *a;
    self->n_absent++;
    return ALM_OK;
}

/* A restore to the record that removes the part, or to a later one, does not need its file, which may have been deleted before the
 * archiver reached it: it becomes a note. */
static void archive_check_remove_one(checking *self, absent *a)
{
    char path[ALM_PATH_MAX], line[ALM_PATH_MAX + 128];
    if (a->removed)
        return;
    alm_archive_part_path(self->dir, a->table_id, a->file_id, path);
    (void)snprintf(line, sizeof line, "note: '%s' is not there; a later record removes it", path);
    alm_findings_note(&self->found, line);
    a->removed = true;
    self->n_removed++;
}

static void archive_check_compact(checking *self)
{
    size_t left = 0;
    if (self->n_removed <= self->n_absent / 2)
        return;
    for (size_t i = 0; i < self->n_absent; i++)
        if (!self->absent[i].removed)
            self->absent[left++] = self->absent[i];
    ALM_ASSERT(left == self->n_absent - self->n_removed);
    self->n_absent = left;
    self->n_removed = 0;
}

static void forget_part(checking *self, uint64_t table_id, uint64_t part_id)
{
    for (size_t i = first_of(self, part_id);
         i < self->n_absent && self->absent[i].part_id == part_id; i++)
        if (self->absent[i].table_id == table_id)
            archive_check_remove_one(self, &self->absent[i]);
    archive_check_compact(self);
}

/* All parts of the table whose rows are before that time. */
static void forget_before(checking *self, uint64_t table_id, int64_t before)
{
    for (size_t i = 0; i < self->n_absent; i++)
        if (self->absent[i].table_id == table_id &&
            (before == INT64_MAX || self->absent[i].max_ts < before))
            archive_check_remove_one(self, &self->absent[i]);
    archive_check_compact(self);
}

static alm_status one_part(void *arg, const alm_part_claim *said)
{
    checking *self = arg;
    alm_part_claim claim = *said;
    claim.database_id = self->database_id;
    const absent file = {.table_id = claim.table_id,
                         .part_id = claim.part_id,
                         .file_id = claim.file_id,
                         .max_ts = claim.part_max_ts};
    char path[ALM_PATH_MAX], line[ALM_PATH_MAX + 128];
    alm_io_stat meta;
    alm_part_check_arg check = {.report = alm_findings_add, .arg = self};
    alm_archive_part_path(self->dir, claim.table_id, claim.file_id, path);
    ALM_TRY(alm_check(self->cx));
    const int code = self->io->stat(self->io, path, &meta);
    if (code == -ENOENT)
        return archive_check_remember(self, &file);
    if (code < 0)
        return archive_check_settle(self, alm_io_fail(self->cx, code, path));
    if (meta.size_bytes != claim.bytes) {
        (void)snprintf(line, sizeof line, "'%s' has %lld bytes, not the %lld of the log", path,
                       (long long)meta.size_bytes, (long long)claim.bytes);
        alm_findings_add(self, line);
        return ALM_OK;
    }
    return archive_check_settle(self,
                                alm_part_check(self->cx, self->io, path, NULL, &claim, &check));
}

/* What the record removes, before what it adds: an UPDATE names the file of a part again. */
static void forget_removed(checking *self, const char *payload, size_t bytes)
{
    alm_reader reader = {.at = payload, .end = payload + bytes}, body;
    alm_op_kind kind;
    while (self->n_absent > 0 && alm_get_op(&reader, &kind, &body)) {
        const uint64_t table_id = alm_get_u64(&body);
        if (body.bad)
            continue;
        if (kind == ALM_OP_DROP || kind == ALM_OP_TRUNCATE)
            forget_before(self, table_id, INT64_MAX);
        if (kind == ALM_OP_EXPIRE)
            forget_before(self, table_id, alm_get_i64(&body)); /* partitions end there */
        uint32_t removed = 0;
        if (kind == ALM_OP_PARTS) {
            (void)alm_get_u64(&body); /* flushed LSN */
            removed = alm_get_u32(&body);
            (void)alm_get_u32(&body); /* added */
        } else if (kind == ALM_OP_MOVE && alm_get_u32(&body) == ALM_PARTITION_FORGET) {
            removed = alm_get_u32(&body);
        }
        for (uint32_t i = 0; i < removed && !body.bad; i++)
            forget_part(self, table_id, alm_get_u64(&body));
    }
}

static alm_status one_record(alm_ctx *cx, void *arg, uint64_t lsn, const char *payload,
                             size_t bytes)
{
    (void)cx, (void)lsn;
    forget_removed(arg, payload, bytes);
    return alm_record_files(payload, bytes, one_part, arg);
}

static void tell_absent(checking *self)
{
    char path[ALM_PATH_MAX], line[ALM_PATH_MAX + 128];
    for (size_t i = 0; i < self->n_absent; i++) {
        if (self->absent[i].removed)
            continue;
        alm_archive_part_path(self->dir, self->absent[i].table_id, self->absent[i].file_id, path);
        (void)snprintf(line, sizeof line, "'%s' is not there, and no later record removes it",
                       path);
        alm_findings_add(self, line);
    }
}

static void gap(checking *self, uint64_t from, uint64_t to)
{
    char line[ALM_PATH_MAX];
    (void)snprintf(line, sizeof line, "'%.*s' has a gap between lsn %llu and %llu", DIR_MAX,
                   self->dir, (unsigned long long)from, (unsigned long long)to);
    alm_findings_add(self, line);
}

static alm_status segments(checking *self, alm_wal *wal)
{
    uint64_t reached = 0;
    ALM_TRY(alm_wal_list(self->cx, wal));
    ALM_TRY(archive_check_settle(
        self, alm_wal_identify(self->cx, wal, "the archive", &self->database_id)));
    for (size_t i = 0; i < wal->n_segments; i++) {
        alm_wal_scan scan = {.last_lsn = reached};
        const int64_t before = self->found.n;
        ALM_TRY(archive_check_settle(
            self, alm_wal_walk(self->cx, wal, &wal->segments[i], one_record, self, &scan)));
        if (scan.at == 0)
            continue; /* its header is damaged */
        if (reached > 0 && scan.prev_lsn > reached && self->found.n == before)
            gap(self, reached, scan.prev_lsn);
        ALM_TRY(archive_check_settle(self, alm_wal_ends(self->cx, wal, i, &scan)));
        reached = ALM_MAX(reached, scan.last_lsn);
    }
    return ALM_OK;
}

static int is_segment(void *arg, const char *name)
{
    const size_t len = strlen(name);
    bool *any = arg;
    *any = *any || (len == 20 && strcmp(name + 16, ".wal") == 0);
    return *any;
}

bool alm_archive_is(const alm_io *io, const char *dir)
{
    bool any = false;
    return io->list(io, dir, is_segment, &any) >= 0 && any;
}

alm_status alm_archive_check(alm_ctx *cx, const alm_io *io, const char *dir,
                             void (*report)(void *arg, const char *line), void *arg,
                             int64_t *n_findings)
{
    checking self = {.cx = cx, .io = io, .dir = dir, .found = {report, arg, 0}};
    alm_wal wal;
    ALM_TRY(alm_wal_init(cx, &wal, io, dir, 0));
    const alm_status status = segments(&self, &wal);
    alm_wal_deinit(&wal);
    if (status == ALM_OK)
        tell_absent(&self);
    free(self.absent);
    if (status == ALM_OK)
        *n_findings = self.found.n;
    return status;
}
