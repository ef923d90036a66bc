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
static alm_status settle(checking *c, alm_status st)
{
    if (st != ALM_E_CORRUPT && st != ALM_E_UNSUPPORTED && st != ALM_E_IO)
        return st;
    alm_findings_add(c, c->cx->err.msg);
    alm_error_clear(c->cx);
    return ALM_OK;
}

/* The first one of this or a later part. */
static size_t first_of(const checking *c, uint64_t part_id)
{
    size_t lo = 0, hi = c->n_absent;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (c->absent[mid].part_id < part_id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static alm_status remember(checking *c, const absent *a)
{
    if (c->n_absent == c->cap_absent) {
        const size_t cap = ALM_MAX((size_t)64, c->cap_absent * 2);
        absent *bigger = realloc(c->absent, cap * sizeof *bigger);
        if (bigger == NULL)
            return alm_fail(c->cx, ALM_E_MEMORY, -1, "no memory for a list of missing parts");
        c->absent = bigger;
        c->cap_absent = cap;
    }
    const size_t at = first_of(
        c, a->part_id + 1); /* ids ascend, so that it is the end, but for changes of older parts */
    memmove(c->absent + at + 1, c->absent + at, (c->n_absent - at) * sizeof *c->absent);
    c->absent[at] = *a;
    c->n_absent++;
    return ALM_OK;
}

/* A restore to the record that removes the part, or to a later one, does not need its file, which may have been deleted before the
 * archiver reached it: it becomes a note. */
static void remove_one(checking *c, absent *a)
{
    char path[ALM_PATH_MAX], line[ALM_PATH_MAX + 128];
    if (a->removed)
        return;
    alm_archive_part_path(c->dir, a->table_id, a->file_id, path);
    (void)snprintf(line, sizeof line, "note: '%s' is not there; a later record removes it", path);
    alm_findings_note(&c->found, line);
    a->removed = true;
    c->n_removed++;
}

static void compact(checking *c)
{
    size_t left = 0;
    if (c->n_removed <= c->n_absent / 2)
        return;
    for (size_t i = 0; i < c->n_absent; i++)
        if (!c->absent[i].removed)
            c->absent[left++] = c->absent[i];
    ALM_ASSERT(left == c->n_absent - c->n_removed);
    c->n_absent = left;
    c->n_removed = 0;
}

static void forget_part(checking *c, uint64_t table_id, uint64_t part_id)
{
    for (size_t i = first_of(c, part_id); i < c->n_absent && c->absent[i].part_id == part_id; i++)
        if (c->absent[i].table_id == table_id)
            remove_one(c, &c->absent[i]);
    compact(c);
}

/* All parts of the table whose rows are before that time. */
static void forget_before(checking *c, uint64_t table_id, int64_t before)
{
    for (size_t i = 0; i < c->n_absent; i++)
        if (c->absent[i].table_id == table_id &&
            (before == INT64_MAX || c->absent[i].max_ts < before))
            remove_one(c, &c->absent[i]);
    compact(c);
}

static alm_status one_part(void *arg, const alm_part_claim *said)
{
    checking *c = arg;
    alm_part_claim claim = *said;
    claim.database_id = c->database_id;
    const absent file = {.table_id = claim.table_id,
                         .part_id = claim.part_id,
                         .file_id = claim.file_id,
                         .max_ts = claim.part_max_ts};
    char path[ALM_PATH_MAX], line[ALM_PATH_MAX + 128];
    alm_io_stat meta;
    alm_part_check_arg check = {.report = alm_findings_add, .arg = c};
    alm_archive_part_path(c->dir, claim.table_id, claim.file_id, path);
    ALM_TRY(alm_check(c->cx));
    const int e = c->io->stat(c->io, path, &meta);
    if (e == -ENOENT)
        return remember(c, &file);
    if (e < 0)
        return settle(c, alm_io_fail(c->cx, e, path));
    if (meta.size_bytes != claim.bytes) {
        (void)snprintf(line, sizeof line, "'%s' has %lld bytes, not the %lld of the log", path,
                       (long long)meta.size_bytes, (long long)claim.bytes);
        alm_findings_add(c, line);
        return ALM_OK;
    }
    return settle(c, alm_part_check(c->cx, c->io, path, NULL, &claim, &check));
}

/* What the record removes, before what it adds: an UPDATE names the file of a part again. */
static void forget_removed(checking *c, const char *payload, size_t bytes)
{
    alm_reader r = {.at = payload, .end = payload + bytes}, body;
    alm_op_kind kind;
    while (c->n_absent > 0 && alm_get_op(&r, &kind, &body)) {
        const uint64_t table_id = alm_get_u64(&body);
        if (body.bad)
            continue;
        if (kind == ALM_OP_DROP || kind == ALM_OP_TRUNCATE)
            forget_before(c, table_id, INT64_MAX);
        if (kind == ALM_OP_EXPIRE)
            forget_before(c, table_id, alm_get_i64(&body)); /* partitions end there */
        uint32_t removed = 0;
        if (kind == ALM_OP_PARTS) {
            (void)alm_get_u64(&body); /* flushed LSN */
            removed = alm_get_u32(&body);
            (void)alm_get_u32(&body); /* added */
        } else if (kind == ALM_OP_MOVE && alm_get_u32(&body) == ALM_PARTITION_FORGET) {
            removed = alm_get_u32(&body);
        }
        for (uint32_t i = 0; i < removed && !body.bad; i++)
            forget_part(c, table_id, alm_get_u64(&body));
    }
}

static alm_status one_record(alm_ctx *cx, void *arg, uint64_t lsn, const char *payload,
                             size_t bytes)
{
    (void)cx, (void)lsn;
    forget_removed(arg, payload, bytes);
    return alm_record_files(payload, bytes, one_part, arg);
}

static void tell_absent(checking *c)
{
    char path[ALM_PATH_MAX], line[ALM_PATH_MAX + 128];
    for (size_t i = 0; i < c->n_absent; i++) {
        if (c->absent[i].removed)
            continue;
        alm_archive_part_path(c->dir, c->absent[i].table_id, c->absent[i].file_id, path);
        (void)snprintf(line, sizeof line, "'%s' is not there, and no later record removes it",
                       path);
        alm_findings_add(c, line);
    }
}

static void gap(checking *c, uint64_t from, uint64_t to)
{
    char line[ALM_PATH_MAX];
    (void)snprintf(line, sizeof line, "'%.*s' has a gap between lsn %llu and %llu", DIR_MAX, c->dir,
                   (unsigned long long)from, (unsigned long long)to);
    alm_findings_add(c, line);
}

static alm_status segments(checking *c, alm_wal *wal)
{
    uint64_t reached = 0;
    ALM_TRY(alm_wal_list(c->cx, wal));
    ALM_TRY(settle(c, alm_wal_identify(c->cx, wal, "the archive", &c->database_id)));
    for (size_t i = 0; i < wal->n_segments; i++) {
        alm_wal_scan scan = {.last_lsn = reached};
        const int64_t before = c->found.n;
        ALM_TRY(settle(c, alm_wal_walk(c->cx, wal, &wal->segments[i], one_record, c, &scan)));
        if (scan.at == 0)
            continue; /* its header is damaged */
        if (reached > 0 && scan.prev_lsn > reached && c->found.n == before)
            gap(c, reached, scan.prev_lsn);
        ALM_TRY(settle(c, alm_wal_ends(c->cx, wal, i, &scan)));
        reached = ALM_MAX(reached, scan.last_lsn);
    }
    return ALM_OK;
}

static int is_segment(void *arg, const char *name)
{
    const size_t n = strlen(name);
    bool *any = arg;
    *any = *any || (n == 20 && strcmp(name + 16, ".wal") == 0);
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
    checking c = {.cx = cx, .io = io, .dir = dir, .found = {report, arg, 0}};
    alm_wal wal;
    ALM_TRY(alm_wal_init(cx, &wal, io, dir, 0));
    const alm_status st = segments(&c, &wal);
    alm_wal_deinit(&wal);
    if (st == ALM_OK)
        tell_absent(&c);
    free(c.absent);
    if (st == ALM_OK)
        *n_findings = c.found.n;
    return st;
}
