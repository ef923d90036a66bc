/*
 * wal.c - appending groups to the log: where the next record goes, new segments, sync, recycling.
 * Reading back is in wal_read.c.
 *
 * Space for a group is found before any of it is written: a full disk leaves nothing behind. After a
 * group that failed, its LSNs are never used again, so what it left on disk cannot be taken for the
 * continuation of the chain.
 */
#include "storage/log/wal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/crc32c.h"

enum { STAGE_BYTES = 128 << 10, DIRECT_BYTES = 32 << 10, PATH_BYTES = 4096 };

static void wal_segment_path(const alm_wal *wal, uint64_t number, bool spare, char *path)
{
    (void)snprintf(path, PATH_BYTES, "%s/%s%016llx.wal", wal->dir, spare ? "spare-" : "",
                   (unsigned long long)number);
}

alm_status alm_wal_init(alm_ctx *cx, alm_wal *wal, const alm_io *io, const char *dir,
                        int64_t segment_bytes)
{
    *wal = (alm_wal){.io = io,
                     .segment_bytes = segment_bytes,
                     .handle = -1,
                     .next_number = 1,
                     .keep_lsn = UINT64_MAX};
    const int len = snprintf(wal->dir, sizeof wal->dir, "%s", dir);
    if (len < 0 || (size_t)len >= sizeof wal->dir)
        return alm_fail(cx, ALM_E_ARG, -1, "the path of the log is too long: '%.64s...'", dir);
    (void)pthread_mutex_init(&wal->lock, NULL);
    return ALM_OK;
}

void alm_wal_deinit(alm_wal *wal)
{
    if (wal->handle >= 0)
        (void)wal->io->close(wal->io, wal->handle); /* synced before, or not promised */
    wal->handle = -1;
    free(wal->segments);
    free(wal->stage);
    wal->segments = NULL;
    wal->stage = NULL;
    (void)pthread_mutex_destroy(&wal->lock);
}

/* ------------------------------------------------------------------- segments */

static alm_status segments_room(alm_ctx *cx, alm_wal *wal)
{
    if (wal->n_segments < wal->cap_segments)
        return ALM_OK;
    const size_t cap = ALM_MAX((size_t)16, wal->cap_segments * 2);
    alm_wal_segment *bigger = realloc(wal->segments, cap * sizeof *bigger);
    if (bigger == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for the list of log segments");
    wal->segments = bigger;
    wal->cap_segments = cap;
    return ALM_OK;
}

/* A file of at least `bytes` under the name of segment `number`: a spare, or a new one. */
static alm_status segment_file(alm_ctx *cx, alm_wal *wal, uint64_t number, int64_t bytes,
                               int *handle)
{
    const alm_io *io = wal->io;
    char path[PATH_BYTES], spare[PATH_BYTES];
    wal_segment_path(wal, number, false, path);
    uint32_t flags = ALM_IO_READ | ALM_IO_WRITE;
    if (wal->n_spares > 0 && bytes <= wal->spare_bytes[wal->n_spares - 1]) {
        wal_segment_path(wal, wal->spares[wal->n_spares - 1], true, spare);
        wal->n_spares--; /* whatever comes of it */
        if (io->rename(io, spare, path) != 0)
            flags |= ALM_IO_TRUNCATE;
    } else {
        flags |= ALM_IO_TRUNCATE;
    }
    const int h = alm_io_create(io, path, flags);
    if (h < 0)
        return alm_io_fail(cx, h, "create a log segment");
    const int code = io->allocate(io, h, 0, bytes);
    if (code < 0) {
        (void)io->close(io, h);
        (void)io->unlink(io, path);
        return alm_io_fail(cx, code, "allocate a log segment");
    }
    *handle = h;
    return ALM_OK;
}

/* Makes a segment ready for records: named, allocated, header and name on disk. */
static alm_status segment_new(alm_ctx *cx, alm_wal *wal, int64_t bytes, uint64_t prev_lsn,
                              alm_wal_segment *out, int *handle, uint64_t *salt)
{
    const alm_io *io = wal->io;
    const uint64_t number = wal->next_number++;
    alm_wal_header head = {.magic = {'A', 'L', 'M', 'W', 'A', 'L', '0', '1'},
                           .version = ALM_WAL_VERSION,
                           .number = number,
                           .prev_lsn = prev_lsn,
                           .database_id = wal->database_id};
    int code = io->random(io, &head.salt, sizeof head.salt);
    if (code < 0)
        return alm_io_fail(cx, code, "random salt of a log segment");
    head.crc = alm_crc32c(alm_crc32c(0, &head, 12), (const char *)&head + 16, sizeof head - 16);
    int h = -1;
    ALM_TRY(segment_file(cx, wal, number, bytes, &h));
    alm_status status = alm_io_write_all(cx, io, h, &head, sizeof head, 0, "write a log segment");
    if (status == ALM_OK && (code = io->sync(io, h)) < 0)
        status = alm_io_fail(cx, code, "sync a log segment");
    if (status == ALM_OK && (code = io->sync_dir(io, wal->dir)) < 0)
        status = alm_io_fail(cx, code, "sync the directory of the log");
    if (status != ALM_OK) {
        char path[PATH_BYTES];
        wal_segment_path(wal, number, false, path);
        (void)io->close(io, h);
        (void)io->unlink(io, path);
        return status;
    }
    *out = (alm_wal_segment){
        .number = number, .prev_lsn = prev_lsn, .last_lsn = prev_lsn, .bytes = bytes};
    *handle = h;
    *salt = head.salt;
    return ALM_OK;
}

static void segment_drop(alm_wal *wal, const alm_wal_segment *seg, int handle)
{
    char path[PATH_BYTES];
    wal_segment_path(wal, seg->number, false, path);
    (void)wal->io->close(wal->io, handle);
    (void)wal->io->unlink(wal->io, path);
}

alm_status alm_wal_start(alm_ctx *cx, alm_wal *wal, const alm_wal_scan *scan)
{
    /* Far beyond every LSN that a torn tail may carry: what is left of it stays out of the chain. */
    const uint64_t jump = wal->n_segments == 0 ? 1 : UINT64_C(1) << 20;
    wal->last_lsn = wal->synced_lsn = scan->last_lsn;
    wal->next_lsn = scan->last_lsn + jump;
    char path[PATH_BYTES];
    size_t kept = 0;
    bool torn = false;
    ALM_TRY(alm_wal_is_torn(cx, wal, scan, &torn));
    if (torn)
        ALM_TRY(alm_wal_cut(cx, wal, scan));
    for (size_t i = 0; i < wal->n_segments; i++) {
        if (wal->segments[i].in_chain) {
            wal->segments[kept++] = wal->segments[i];
            continue;
        }
        wal_segment_path(wal, wal->segments[i].number, false, path);
        const int code = alm_io_remove(wal->io, path);
        if (code < 0 && code != -ENOENT)
            return alm_io_fail(cx, code, path);
    }
    wal->n_segments = kept;
    ALM_TRY(segments_room(cx, wal));
    if (wal->n_segments == 0) {
        alm_wal_segment first;
        ALM_TRY(segment_new(cx, wal, wal->segment_bytes, scan->last_lsn, &first, &wal->handle,
                            &wal->salt));
        wal->segments[wal->n_segments++] = first;
        wal->at = ALM_WAL_HEADER;
        wal->room = first.bytes;
        return ALM_OK;
    }
    alm_wal_segment *seg = &wal->segments[wal->n_segments - 1];
    wal_segment_path(wal, seg->number, false, path);
    wal->handle = wal->io->open(wal->io, path, ALM_IO_READ | ALM_IO_WRITE);
    if (wal->handle < 0)
        return alm_io_fail(cx, wal->handle, "open the last log segment");
    alm_wal_header head;
    ALM_TRY(alm_io_read_all(cx, wal->io, wal->handle, &head, sizeof head, 0, path));
    /* What was read may have been in the page cache only when the process was killed. */
    const int failed = wal->io->sync(wal->io, wal->handle);
    if (failed < 0)
        return alm_io_fail(cx, failed, "sync the last log segment");
    wal->salt = head.salt;
    wal->outdated = head.version < ALM_WAL_VERSION;
    wal->at = scan->at;
    wal->room = seg->bytes;
    seg->last_lsn = scan->last_lsn;
    return ALM_OK;
}

/* -------------------------------------------------------------------- writing */

static alm_status stage_flush(alm_ctx *cx, alm_wal *wal, int handle)
{
    if (wal->stage_bytes == 0)
        return ALM_OK;
    const size_t n = wal->stage_bytes;
    wal->stage_bytes = 0;
    return alm_io_write_all(cx, wal->io, handle, wal->stage, n, wal->stage_at, "write the log");
}

static alm_status stage_put(alm_ctx *cx, alm_wal *wal, int handle, const void *bytes, size_t n,
                            int64_t offset)
{
    if (n == 0)
        return ALM_OK;
    if (n >= DIRECT_BYTES) {
        ALM_TRY(stage_flush(cx, wal, handle));
        return alm_io_write_all(cx, wal->io, handle, bytes, n, offset, "write the log");
    }
    if (wal->stage_bytes + n > STAGE_BYTES)
        ALM_TRY(stage_flush(cx, wal, handle));
    if (wal->stage_bytes == 0)
        wal->stage_at = offset;
    ALM_ASSERT(wal->stage_at + (int64_t)wal->stage_bytes == offset);
    memcpy(wal->stage + wal->stage_bytes, bytes, n);
    wal->stage_bytes += n;
    return ALM_OK;
}

static size_t record_bytes(const alm_wal_record *rec)
{
    size_t n = ALM_REC_HEADER;
    for (uint32_t i = 0; i < rec->n_pieces; i++)
        n += rec->pieces[i].bytes;
    return n;
}

static alm_status wal_put_record(alm_ctx *cx, alm_wal *wal, int handle, uint64_t salt,
                                 const alm_wal_record *rec, uint64_t prev_lsn, int64_t *at)
{
    alm_rec_header head = {.magic = {'R', 'E', 'C', '1'},
                           .bytes = record_bytes(rec) - ALM_REC_HEADER,
                           .lsn = rec->lsn,
                           .prev_lsn = prev_lsn,
                           .synced_lsn = wal->synced_lsn,
                           .salt = salt};
    uint32_t crc = 0;
    for (uint32_t i = 0; i < rec->n_pieces; i++)
        crc = alm_crc32c(crc, rec->pieces[i].ptr, rec->pieces[i].bytes);
    head.crc = alm_crc32c(crc, (const char *)&head + 8, sizeof head - 8);
    ALM_TRY(stage_put(cx, wal, handle, &head, sizeof head, *at));
    *at += (int64_t)sizeof head;
    for (uint32_t i = 0; i < rec->n_pieces; i++) {
        ALM_ASSERT(rec->pieces[i].bytes % 8 == 0);
        ALM_TRY(stage_put(cx, wal, handle, rec->pieces[i].ptr, rec->pieces[i].bytes, *at));
        *at += (int64_t)rec->pieces[i].bytes;
    }
    return ALM_OK;
}

static alm_status put_records(alm_ctx *cx, alm_wal *wal, int handle, uint64_t salt,
                              const alm_wal_record *records, size_t n_records, uint64_t prev_lsn,
                              int64_t *at)
{
    for (size_t i = 0; i < n_records; i++) {
        ALM_ASSERT(records[i].lsn > prev_lsn);
        ALM_TRY(wal_put_record(cx, wal, handle, salt, &records[i], prev_lsn, at));
        prev_lsn = records[i].lsn;
    }
    return stage_flush(cx, wal, handle);
}

static alm_status sync_handle(alm_ctx *cx, alm_wal *wal, int handle)
{
    const int64_t start_ns = wal->io->mono_ns(wal->io);
    const int code = wal->io->sync(wal->io, handle);
    if (wal->sync_times != NULL)
        alm_times_add(wal->sync_times, wal->io->mono_ns(wal->io) - start_ns);
    return code < 0 ? alm_io_fail(cx, code, "sync the log") : ALM_OK;
}

static bool erase_header(alm_wal *wal, int handle, int64_t at)
{
    static const char zeros[ALM_WAL_HEADER];
    alm_ctx own = {0};
    return alm_io_write_all(&own, wal->io, handle, zeros, ALM_REC_HEADER, at, "erase") == ALM_OK &&
           wal->io->sync(wal->io, handle) >= 0;
}

/*
 * What is left of a group that failed for lack of space must not come back after a crash: its owners
 * were told that it failed, and its files are removed. False: the state of the disk is unknown.
 */
static bool undo_group(alm_wal *wal, int next)
{
    if (wal->at + ALM_REC_HEADER <= wal->room && !erase_header(wal, wal->handle, wal->at))
        return false;
    return next < 0 || erase_header(wal, next, 0);
}

static bool wal_is_space(alm_status status)
{
    return status == ALM_E_DISK_FULL || status == ALM_E_MEMORY;
}

static alm_status put_mark(alm_ctx *cx, const alm_wal *wal, int64_t offset, uint64_t lsn,
                           uint64_t next)
{
    alm_wal_mark mark = {
        .magic = {'N', 'E', 'X', 'T'}, .next = next, .salt = wal->salt, .lsn = lsn};
    mark.crc = alm_crc32c(0, (const char *)&mark + 8, sizeof mark - 8);
    if (offset + (int64_t)sizeof mark > wal->room)
        return ALM_OK;
    return alm_io_write_all(cx, wal->io, wal->handle, &mark, sizeof mark, offset, "write the log");
}

/* Records that are written at once: [0, n_here) go to the current segment, which ends at `here` then; the others to a new
 * one of `next_bytes` (0: none is begun). */
typedef struct wal_group {
    const alm_wal_record *records;
    size_t n, n_here;
    int64_t here, next_bytes;
    bool sync;
} wal_group;

/* next: handle of the new segment, or -1. */
static alm_status write_group(alm_ctx *cx, alm_wal *wal, const wal_group *group, int next,
                              uint64_t next_salt, int64_t *at)
{
    const alm_wal_record *records = group->records;
    const size_t n_groups = group->n, n_here = group->n_here;
    int64_t here = wal->at;
    ALM_TRY(put_records(cx, wal, wal->handle, wal->salt, records, n_here, wal->last_lsn, &here));
    *at = here;
    if (next >= 0) {
        const uint64_t prev = n_here > 0 ? records[n_here - 1].lsn : wal->last_lsn;
        ALM_TRY(put_mark(cx, wal, here, prev, wal->next_number - 1));
        ALM_TRY(sync_handle(cx, wal, wal->handle)); /* only the last segment may be unsynced */
        *at = ALM_WAL_HEADER;
        if (n_groups > n_here)
            ALM_TRY(put_records(cx, wal, next, next_salt, records + n_here, n_groups - n_here, prev,
                                at));
    }
    return group->sync ? sync_handle(cx, wal, next >= 0 ? next : wal->handle) : ALM_OK;
}

/* The current segment is closed, and the next one takes its place. The caller holds the lock. */
static void go_on_in(alm_wal *wal, const alm_wal_segment *next_seg, int next, uint64_t salt)
{
    wal->segments[wal->n_segments - 1].last_lsn = next_seg->prev_lsn;
    (void)wal->io->close(wal->io, wal->handle); /* synced */
    wal->handle = next;
    wal->salt = salt;
    wal->outdated = false;
    wal->segments[wal->n_segments++] = *next_seg;
    wal->room = next_seg->bytes;
}

static alm_status wal_append(alm_ctx *cx, alm_wal *wal, const wal_group *group, bool *fatal)
{
    const size_t n_groups = group->n;
    const uint64_t prev = group->n_here > 0 ? group->records[group->n_here - 1].lsn : wal->last_lsn;
    alm_wal_segment next_seg = {0};
    int next = -1;
    uint64_t next_salt = 0;
    ALM_ASSERT(wal->handle >= 0 && (group->next_bytes > 0 || group->n_here == n_groups));
    if (group->next_bytes > 0) {
        (void)pthread_mutex_lock(&wal->lock);
        alm_status status = segments_room(cx, wal);
        if (status == ALM_OK)
            status = segment_new(cx, wal, group->next_bytes, prev, &next_seg, &next, &next_salt);
        (void)pthread_mutex_unlock(&wal->lock);
        if (status != ALM_OK) /* nothing of the group is written: no room, no descriptors ... */
            return status;
    }
    int64_t offset = wal->at;
    const alm_status outcome = write_group(cx, wal, group, next, next_salt, &offset);
    if (outcome != ALM_OK) {
        wal->stage_bytes = 0;
        *fatal = !wal_is_space(outcome) || !undo_group(wal, next);
        if (next >= 0 && !*fatal)
            segment_drop(wal, &next_seg, next);
        else if (next >= 0)
            (void)wal->io->close(wal->io, next);
        return outcome;
    }
    (void)pthread_mutex_lock(&wal->lock);
    if (next >= 0)
        go_on_in(wal, &next_seg, next, next_salt);
    wal->bytes_written += group->here - wal->at + (next >= 0 ? offset : 0);
    wal->at = offset;
    if (n_groups > 0)
        wal->last_lsn = group->records[n_groups - 1].lsn;
    wal->segments[wal->n_segments - 1].last_lsn = wal->last_lsn;
    if (group->sync || n_groups == 0)
        wal->synced_lsn = wal->last_lsn;
    (void)pthread_mutex_unlock(&wal->lock);
    return ALM_OK;
}

alm_status alm_wal_append(alm_ctx *cx, alm_wal *wal, const alm_wal_record *records,
                          size_t n_records, bool sync, bool *fatal)
{
    *fatal = false;
    ALM_ASSERT(n_records > 0 && wal->handle >= 0);
    if (wal->stage == NULL && (wal->stage = malloc(STAGE_BYTES)) == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory to write the log");
    const bool roll =
        (atomic_exchange(&wal->roll, false) && wal->at > ALM_WAL_HEADER) || wal->outdated;
    const int64_t room = roll ? 0 : wal->room - ALM_REC_HEADER; /* for the mark */
    wal_group group = {.records = records, .n = n_records, .here = wal->at, .sync = sync};
    int64_t rest = 0;
    for (size_t i = 0; i < n_records; i++) {
        const int64_t bytes = (int64_t)record_bytes(&records[i]);
        if (rest == 0 && group.here + bytes <= room) {
            group.here += bytes;
            group.n_here++;
        } else {
            rest += bytes;
        }
    }
    if (group.n_here < n_records)
        group.next_bytes = ALM_MAX(wal->segment_bytes, rest + ALM_WAL_HEADER + ALM_REC_HEADER);
    return wal_append(cx, wal, &group, fatal);
}

alm_status alm_wal_begin_segment(alm_ctx *cx, alm_wal *wal, int64_t bytes, bool *fatal)
{
    *fatal = false;
    const wal_group none = {.here = wal->at, .next_bytes = bytes};
    return wal->at == ALM_WAL_HEADER ? ALM_OK : wal_append(cx, wal, &none, fatal);
}

alm_status alm_wal_sync_all(alm_ctx *cx, alm_wal *wal, uint64_t *synced_lsn)
{
    (void)pthread_mutex_lock(&wal->lock); /* keeps the handle open */
    const uint64_t lsn = wal->last_lsn;
    alm_status status = ALM_OK;
    if (wal->synced_lsn < lsn)
        status = sync_handle(cx, wal, wal->handle);
    if (status == ALM_OK) {
        if (wal->synced_lsn < lsn)
            wal->synced_lsn = lsn;
        if (synced_lsn != NULL)
            *synced_lsn = lsn;
    }
    (void)pthread_mutex_unlock(&wal->lock);
    return status;
}

alm_status alm_wal_recycle(alm_ctx *cx, alm_wal *wal, uint64_t lsn)
{
    alm_status status = ALM_OK;
    (void)pthread_mutex_lock(&wal->lock);
    size_t gone = 0;
    while (gone + 1 < wal->n_segments && wal->segments[gone + 1].prev_lsn <= lsn &&
           wal->segments[gone + 1].prev_lsn <= atomic_load(&wal->keep_lsn)) {
        const alm_wal_segment *seg = &wal->segments[gone];
        char path[PATH_BYTES], spare[PATH_BYTES];
        wal_segment_path(wal, seg->number, false, path);
        wal_segment_path(wal, seg->number, true, spare);
        int code;
        if (wal->n_spares < ALM_COUNT(wal->spares) && seg->bytes == wal->segment_bytes &&
            seg->number != wal->reading && seg->number != wal->scrubbed) {
            code = wal->io->rename(wal->io, path, spare);
            if (code == 0) {
                wal->spare_bytes[wal->n_spares] = seg->bytes;
                wal->spares[wal->n_spares++] = seg->number;
            }
        } else {
            code = wal->io->unlink(wal->io, path);
        }
        if (code < 0 && code != -ENOENT) {
            status = alm_io_fail(cx, code, "remove an old log segment");
            break;
        }
        gone++;
    }
    memmove(wal->segments, wal->segments + gone, (wal->n_segments - gone) * sizeof *wal->segments);
    wal->n_segments -= gone;
    (void)pthread_mutex_unlock(&wal->lock);
    return status;
}

int64_t alm_wal_bytes_between(alm_wal *wal, uint64_t from, uint64_t to)
{
    int64_t bytes = 0;
    (void)pthread_mutex_lock(&wal->lock);
    for (size_t i = 0; i + 1 < wal->n_segments; i++)
        if (wal->segments[i + 1].prev_lsn > from && wal->segments[i + 1].prev_lsn <= to)
            bytes += wal->segments[i].bytes;
    (void)pthread_mutex_unlock(&wal->lock);
    return bytes;
}
