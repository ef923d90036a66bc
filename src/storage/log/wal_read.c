/*
 * wal_read.c - reading the log: the chain of records after a checkpoint, its end, and the proof that
 * the end is a torn tail and not a hole.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "storage/log/wal.h"

enum {
    PATH_BYTES = 4096,
    MARKS_VERSION = 5 /* every full segment ends with a mark from here on */
};

static const char *const MAGIC = "ALMWAL01";

typedef struct listing {
    alm_wal *wal;
    alm_ctx *cx;
    alm_status st;
} listing;

/* "<prefix>%016x.wal" */
static bool wal_read_parse_name(const char *name, const char *prefix, uint64_t *number)
{
    const size_t skip = strlen(prefix);
    if (strncmp(name, prefix, skip) != 0 || strlen(name) != skip + 20 ||
        strcmp(name + skip + 16, ".wal") != 0)
        return false;
    char *end = NULL;
    errno = 0;
    *number = strtoull(name + skip, &end, 16);
    return errno == 0 && end == name + skip + 16;
}

static int64_t file_bytes(const alm_wal *wal, const char *name)
{
    char path[PATH_BYTES];
    alm_io_stat meta;
    (void)snprintf(path, sizeof path, "%s/%s", wal->dir, name);
    return wal->io->stat(wal->io, path, &meta) == 0 ? meta.size_bytes : 0;
}

static int wal_read_list_one(void *arg, const char *name)
{
    listing *self = arg;
    alm_wal *wal = self->wal;
    uint64_t number;
    if (wal_read_parse_name(name, "spare-", &number)) {
        if (wal->n_spares < ALM_COUNT(wal->spares)) {
            wal->spare_bytes[wal->n_spares] = file_bytes(wal, name);
            wal->spares[wal->n_spares++] = number;
        }
    } else if (wal_read_parse_name(name, "", &number)) {
        if (wal->n_segments == wal->cap_segments) {
            const size_t cap = ALM_MAX((size_t)16, wal->cap_segments * 2);
            alm_wal_segment *bigger = realloc(wal->segments, cap * sizeof *bigger);
            if (bigger == NULL) {
                self->st =
                    alm_fail(self->cx, ALM_E_MEMORY, -1, "no memory for the list of log segments");
                return 1;
            }
            wal->segments = bigger;
            wal->cap_segments = cap;
        }
        /* Names have a fixed width, so their order is the order of the numbers. */
        wal->segments[wal->n_segments++] =
            (alm_wal_segment){.number = number, .bytes = file_bytes(wal, name)};
    } else {
        return 0; /* not ours */
    }
    wal->next_number = ALM_MAX(wal->next_number, number + 1);
    return 0;
}

alm_status alm_wal_list(alm_ctx *cx, alm_wal *wal)
{
    listing self = {.wal = wal, .cx = cx, .st = ALM_OK};
    const int code = wal->io->list(wal->io, wal->dir, wal_read_list_one, &self);
    if (code == -ENOENT)
        return ALM_OK;
    if (code < 0)
        return alm_io_fail(cx, code, "list the log");
    return self.st;
}

void alm_wal_forget(alm_wal *wal)
{
    wal->n_segments = 0;
    wal->n_spares = 0;
    wal->next_number = 1;
}

/* --------------------------------------------------------------- open segments */

typedef struct segment_view {
    const char *bytes;
    int64_t n;
    bool valid; /* header */
    alm_wal_header head;
} segment_view;

static void wal_read_segment_path(const alm_wal *wal, uint64_t number, char *path)
{
    (void)snprintf(path, PATH_BYTES, "%s/%016llx.wal", wal->dir, (unsigned long long)number);
}

static alm_status other_database(alm_ctx *cx, const char *path, uint64_t has, const char *from,
                                 uint64_t expected)
{
    return alm_fail(cx, ALM_E_CORRUPT, -1,
                    "'%s' is of another database: it has database id %016llx, %s has %016llx", path,
                    (unsigned long long)has, from, (unsigned long long)expected);
}

static bool has_id(const alm_wal_header *head)
{
    return head->version >= ALM_WAL_IDENTIFIED && head->version <= ALM_WAL_VERSION &&
           head->database_id != 0;
}

static bool wal_read_is_header(const alm_wal_header *head, uint64_t number)
{
    const char *bytes = (const char *)head;
    const uint32_t crc = alm_crc32c(alm_crc32c(0, bytes, 12), bytes + 16, ALM_WAL_HEADER - 16);
    return memcmp(head->magic, MAGIC, 8) == 0 && crc == head->crc && head->number == number;
}

void alm_wal_maps_free(const alm_io *io, alm_wal_maps *maps)
{
    for (size_t i = 0; i < maps->n; i++)
        (void)io->unmap(io, maps->maps[i].bytes, maps->maps[i].n);
    free(maps->maps);
    *maps = (alm_wal_maps){0};
}

/* The view is closed when the maps are freed. */
static alm_status view_keep(alm_ctx *cx, segment_view *segment, alm_wal_maps *maps)
{
    if (segment->bytes == NULL)
        return ALM_OK;
    if (maps->n == maps->cap) {
        const size_t cap = ALM_MAX((size_t)16, maps->cap * 2);
        struct alm_wal_map *bigger = realloc(maps->maps, cap * sizeof *bigger);
        if (bigger == NULL)
            return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for the list of log segments");
        maps->maps = bigger;
        maps->cap = cap;
    }
    maps->maps[maps->n++] = (struct alm_wal_map){segment->bytes, (size_t)segment->n};
    maps->bytes += segment->n;
    segment->bytes = NULL;
    return ALM_OK;
}

static void view_close(const alm_wal *wal, segment_view *segment)
{
    if (segment->bytes != NULL)
        (void)wal->io->unmap(wal->io, segment->bytes, (size_t)segment->n);
    segment->bytes = NULL;
}

static alm_status check_version(alm_ctx *cx, const alm_wal *wal, const char *path,
                                const alm_wal_header *head)
{
    if (head->version > ALM_WAL_VERSION)
        return alm_fail(cx, ALM_E_UNSUPPORTED, -1,
                        "'%s' has format version %u, this program reads up to %d", path,
                        head->version, ALM_WAL_VERSION);
    if (wal->database_id == 0 || !has_id(head) || head->database_id == wal->database_id)
        return ALM_OK;
    return other_database(cx, path, head->database_id, "this database", wal->database_id);
}

static alm_status view_open(alm_ctx *cx, const alm_wal *wal, const alm_wal_segment *seg,
                            segment_view *out)
{
    const alm_io *io = wal->io;
    char path[PATH_BYTES];
    wal_read_segment_path(wal, seg->number, path);
    *out = (segment_view){.n = seg->bytes};
    if (seg->bytes < ALM_WAL_HEADER)
        return ALM_OK;
    const int handle = io->open(io, path, ALM_IO_READ);
    if (handle < 0)
        return alm_io_fail(cx, handle, path);
    const void *map = NULL;
    const int code = io->map(io, handle, (size_t)seg->bytes, &map);
    (void)io->close(io, handle); /* read-only */
    if (code < 0)
        return alm_io_fail(cx, code, path);
    out->bytes = map;
    memcpy(&out->head, map, sizeof out->head);
    out->valid = wal_read_is_header(&out->head, seg->number);
    const alm_status status = out->valid ? check_version(cx, wal, path, &out->head) : ALM_OK;
    if (status != ALM_OK)
        view_close(wal, out);
    return status;
}

/* Its header, or one of version 0 where that is not sound. */
static alm_status wal_read_header(alm_ctx *cx, const alm_wal *wal, const alm_wal_segment *seg,
                                  const char *path, alm_wal_header *out)
{
    *out = (alm_wal_header){.version = 0};
    if (seg->bytes < ALM_WAL_HEADER)
        return ALM_OK;
    const int handle = wal->io->open(wal->io, path, ALM_IO_READ);
    if (handle < 0)
        return alm_io_fail(cx, handle, path);
    const alm_status status = alm_io_read_all(cx, wal->io, handle, out, sizeof *out, 0, path);
    (void)wal->io->close(wal->io, handle); /* read-only */
    if (status == ALM_OK && !wal_read_is_header(out, seg->number))
        *out = (alm_wal_header){.version = 0};
    return status;
}

alm_status alm_wal_identify(alm_ctx *cx, alm_wal *wal, const char *from, uint64_t *id)
{
    char known[PATH_BYTES + 2], path[PATH_BYTES];
    (void)snprintf(known, sizeof known, "%s", from);
    for (size_t i = 0; i < wal->n_segments; i++) {
        alm_wal_header head;
        wal_read_segment_path(wal, wal->segments[i].number, path);
        ALM_TRY(wal_read_header(cx, wal, &wal->segments[i], path, &head));
        if (!has_id(&head))
            continue;
        if (*id != 0 && head.database_id != *id)
            return other_database(cx, path, head.database_id, known, *id);
        if (*id == 0)
            (void)snprintf(known, sizeof known, "'%.*s'", PATH_BYTES - 1, path);
        *id = head.database_id;
    }
    wal->database_id = *id;
    return ALM_OK;
}

/* A whole record of this life of the segment (any, if its header is no good) at `offset`. */
static bool wal_read_record_at(const segment_view *segment, int64_t offset, alm_rec_header *out)
{
    if (offset + ALM_REC_HEADER > segment->n)
        return false;
    memcpy(out, segment->bytes + offset, sizeof *out);
    if (memcmp(out->magic, "REC1", 4) != 0 || (segment->valid && out->salt != segment->head.salt))
        return false;
    if (out->bytes > (uint64_t)(segment->n - offset - ALM_REC_HEADER) || out->bytes % 8 != 0)
        return false;
    const char *payload = segment->bytes + offset + ALM_REC_HEADER;
    const uint32_t crc = alm_crc32c(0, payload, (size_t)out->bytes);
    return out->crc == alm_crc32c(crc, segment->bytes + offset + 8, ALM_REC_HEADER - 8);
}

/* Is there a record at or behind `offset` which proves that records after `lsn` had been synced? One may stand at offset 0, where a
 * misplaced write came over the header. */
static bool proves_loss(const segment_view *segment, int64_t offset, uint64_t lsn)
{
    for (; offset + ALM_REC_HEADER <= segment->n; offset += 8) {
        alm_rec_header rec;
        if (memcmp(segment->bytes + offset, "REC1", 4) == 0 &&
            wal_read_record_at(segment, offset, &rec) && rec.lsn > lsn && rec.synced_lsn > lsn)
            return true;
    }
    return false;
}

typedef struct chain {
    alm_ctx *cx;
    const alm_wal *wal;
    uint64_t after;
    alm_wal_each each;
    void *arg;
    alm_wal_maps *maps; /* of alm_wal_read */
    alm_wal_scan *out;
} chain;

/* Follows the chain through one segment, from `offset` on. */
static alm_status walk_segment(const chain *self, const segment_view *segment, size_t index,
                               int64_t offset)
{
    self->out->segment = index;
    self->out->at = offset;
    for (;;) {
        alm_rec_header rec;
        if (!wal_read_record_at(segment, self->out->at, &rec) ||
            rec.prev_lsn != self->out->last_lsn || rec.lsn <= rec.prev_lsn)
            return ALM_OK;
        if (self->wal->limit_lsn != 0 && rec.lsn > self->wal->limit_lsn)
            return ALM_OK;
        if (rec.lsn > self->after)
            ALM_TRY(self->each(self->cx, self->arg, rec.lsn,
                               segment->bytes + self->out->at + ALM_REC_HEADER, (size_t)rec.bytes));
        self->out->last_lsn = rec.lsn;
        self->out->at += ALM_REC_HEADER + (int64_t)rec.bytes;
        self->out->bytes += ALM_REC_HEADER + (int64_t)rec.bytes;
    }
}

static alm_status wal_read_damaged(const chain *self, size_t segment, int64_t offset)
{
    return alm_fail(self->cx, ALM_E_CORRUPT, -1,
                    "the log is damaged: segment '%s/%016llx.wal' has no valid record at offset "
                    "%lld, after lsn %llu, but later records exist",
                    self->wal->dir, (unsigned long long)self->wal->segments[segment].number,
                    (long long)offset, (unsigned long long)self->out->last_lsn);
}

/* The segment that the mark behind record `lsn` (0: any) names; 0: there is none. */
static uint64_t mark_at(const segment_view *segment, int64_t offset, uint64_t lsn)
{
    alm_wal_mark mark;
    if (!segment->valid || offset + ALM_REC_HEADER > segment->n)
        return 0;
    memcpy(&mark, segment->bytes + offset, sizeof mark);
    const bool good = memcmp(mark.magic, "NEXT", 4) == 0 && mark.salt == segment->head.salt &&
                      mark.crc == alm_crc32c(0, segment->bytes + offset + 8, ALM_REC_HEADER - 8);
    const bool follows = lsn == 0 || mark.lsn == 0 || mark.lsn == lsn;
    return good && follows ? mark.next : 0;
}

alm_status alm_wal_walk(alm_ctx *cx, const alm_wal *wal, const alm_wal_segment *seg,
                        alm_wal_each each, void *arg, alm_wal_scan *out)
{
    segment_view segment;
    const chain self = {.cx = cx, .wal = wal, .each = each, .arg = arg, .out = out};
    *out = (alm_wal_scan){.at = 0};
    ALM_TRY(view_open(cx, wal, seg, &segment));
    out->last_lsn = out->prev_lsn = segment.head.prev_lsn;
    alm_status status = ALM_OK;
    if (segment.n > 0 && wal->io->prefetch(wal->io, segment.bytes, (size_t)segment.n) == -EFAULT)
        status = alm_fail(cx, ALM_E_CORRUPT, -1,
                          "the log is damaged: bytes of segment '%s/%016llx.wal' cannot be read",
                          wal->dir, (unsigned long long)seg->number);
    else
        status = segment.valid
                     ? walk_segment(&self, &segment, 0, ALM_WAL_HEADER)
                     : alm_fail(cx, ALM_E_CORRUPT, -1,
                                "the log is damaged: segment '%s/%016llx.wal', whose header "
                                "fails its checksum",
                                wal->dir, (unsigned long long)seg->number);
    if (status == ALM_OK) {
        out->awaited = mark_at(&segment, out->at, out->last_lsn);
        out->marked = out->awaited != 0 || segment.head.version < MARKS_VERSION;
        out->crc =
            alm_crc32c(0, segment.bytes, (size_t)ALM_MIN(out->at + ALM_REC_HEADER, segment.n));
    }
    view_close(wal, &segment);
    return status;
}

alm_status alm_wal_whole(alm_ctx *cx, const alm_wal *wal, const alm_wal_segment *seg,
                         const alm_wal_scan *scan)
{
    ALM_ASSERT(scan->at >= ALM_WAL_HEADER);
    if (scan->last_lsn < seg->last_lsn)
        return alm_fail(cx, ALM_E_CORRUPT, -1,
                        "the log is damaged: segment '%s/%016llx.wal' has no valid record at "
                        "offset %lld, after lsn %llu, but was written up to lsn %llu",
                        wal->dir, (unsigned long long)seg->number, (long long)scan->at,
                        (unsigned long long)scan->last_lsn, (unsigned long long)seg->last_lsn);
    if (seg->last_lsn == 0 && !scan->marked)
        return alm_fail(cx, ALM_E_CORRUPT, -1,
                        "the log is damaged: segment '%s/%016llx.wal' has neither a record nor the "
                        "mark of its end at offset %lld, after lsn %llu",
                        wal->dir, (unsigned long long)seg->number, (long long)scan->at,
                        (unsigned long long)scan->last_lsn);
    return ALM_OK;
}

alm_status alm_wal_prev_lsn(alm_ctx *cx, const alm_wal *wal, const alm_wal_segment *seg,
                            uint64_t *lsn)
{
    segment_view segment;
    ALM_TRY(view_open(cx, wal, seg, &segment));
    *lsn = segment.valid ? segment.head.prev_lsn : 0;
    view_close(wal, &segment);
    return ALM_OK;
}

alm_status alm_wal_ends(alm_ctx *cx, const alm_wal *wal, size_t i, const alm_wal_scan *scan)
{
    alm_wal_segment seg = wal->segments[i];
    uint64_t next = 0;
    if (i + 1 < wal->n_segments)
        ALM_TRY(alm_wal_prev_lsn(cx, wal, &wal->segments[i + 1], &next));
    if (scan->marked || next == scan->last_lsn)
        return ALM_OK;
    seg.last_lsn = next;
    return alm_wal_whole(cx, wal, &seg, scan);
}

static alm_status wal_read_pass_over(alm_ctx *cx, void *arg, uint64_t lsn, const char *payload,
                                     size_t bytes)
{
    (void)arg, (void)lsn, (void)payload, (void)bytes;
    return alm_check(cx);
}

alm_status alm_wal_verify(alm_ctx *cx, const alm_wal *wal, const alm_wal_segment *seg)
{
    alm_wal_scan scan;
    ALM_TRY(alm_wal_walk(cx, wal, seg, wal_read_pass_over, NULL, &scan));
    if (scan.prev_lsn != seg->prev_lsn)
        return alm_fail(cx, ALM_E_CORRUPT, -1,
                        "the log is damaged: segment '%s/%016llx.wal' is another one than was "
                        "written: it follows lsn %llu, not %llu",
                        wal->dir, (unsigned long long)seg->number,
                        (unsigned long long)scan.prev_lsn, (unsigned long long)seg->prev_lsn);
    return alm_wal_whole(cx, wal, seg, &scan);
}

/* The chain ended; nothing behind the end may show that the log went on for certain. */
static alm_status check_end(const chain *self)
{
    const alm_wal *wal = self->wal;
    if (self->out->awaited != 0)
        return alm_fail(self->cx, ALM_E_CORRUPT, -1,
                        "the log is damaged: segment '%s/%016llx.wal' is missing or is not the one "
                        "that follows lsn %llu",
                        wal->dir, (unsigned long long)self->out->awaited,
                        (unsigned long long)self->out->last_lsn);
    for (size_t i = self->out->segment; i < wal->n_segments; i++) {
        segment_view segment;
        ALM_TRY(view_open(self->cx, wal, &wal->segments[i], &segment));
        const int64_t from = i == self->out->segment ? self->out->at : ALM_WAL_HEADER;
        const bool lost = proves_loss(&segment, from, self->out->last_lsn);
        view_close(wal, &segment);
        if (lost)
            return wal_read_damaged(self, self->out->segment, self->out->at);
    }
    return ALM_OK;
}

/* Reads a segment ahead: bytes that the disk cannot give are no torn end of the log. */
static alm_status wal_read_fetch(alm_ctx *cx, const alm_wal *wal, size_t i,
                                 const segment_view *segment)
{
    if (segment->bytes == NULL ||
        wal->io->prefetch(wal->io, segment->bytes, (size_t)segment->n) != -EFAULT)
        return ALM_OK;
    return alm_fail(cx, ALM_E_IO, -1, "bytes of the log cannot be read: segment '%s/%016llx.wal'",
                    wal->dir, (unsigned long long)wal->segments[i].number);
}

/* Where a chain begins: at a record of a segment (0: at its first), behind a record. */
typedef struct beginning {
    size_t segment;
    int64_t at;
    uint64_t lsn;
} beginning;

/* Walks from there on, at or before the checkpoint. */
static alm_status walk_from(const chain *self, alm_wal *wal, beginning from)
{
    bool first = true;
    for (size_t i = 0; i < wal->n_segments; i++)
        wal->segments[i].in_chain = false;
    *self->out = (alm_wal_scan){
        .last_lsn = self->after, .segment = from.segment, .passed = self->out->passed};
    for (size_t i = from.segment; i < wal->n_segments; i++) {
        segment_view segment;
        ALM_TRY(view_open(self->cx, wal, &wal->segments[i], &segment));
        alm_status status = wal_read_fetch(self->cx, wal, i, &segment);
        if (status != ALM_OK) {
            view_close(wal, &segment);
            return status;
        }
        wal->segments[i].in_chain =
            segment.valid && (first || segment.head.prev_lsn == self->out->last_lsn);
        if (wal->segments[i].in_chain) {
            const bool within = first && from.at > 0;
            self->out->last_lsn = within ? from.lsn : segment.head.prev_lsn;
            wal->segments[i].prev_lsn = segment.head.prev_lsn;
            status = walk_segment(self, &segment, i, within ? from.at : ALM_WAL_HEADER);
            wal->segments[i].last_lsn = self->out->last_lsn;
            self->out->awaited = mark_at(&segment, self->out->at, self->out->last_lsn);
            if (self->maps != NULL && status == ALM_OK)
                status = view_keep(self->cx, &segment, self->maps);
        }
        first = false;
        view_close(wal, &segment);
        ALM_TRY(status);
    }
    return ALM_OK;
}

static alm_status too_short(const chain *self, bool begins)
{
    return alm_fail(self->cx, ALM_E_CORRUPT, -1, "the log in '%s' does not %s lsn %llu",
                    self->wal->dir,
                    begins ? "reach the checkpoint at" : "go back to the checkpoint at",
                    (unsigned long long)self->after);
}

/* Of a log that does not lead to the checkpoint: the record of its number, or the one that follows that, where it stands whole. All before it is in
 * the catalogue, and the chain goes on from it. */
static alm_status find_resume(const chain *self, const alm_wal *wal, beginning *out)
{
    *out = (beginning){.at = 0};
    for (size_t i = wal->n_segments; i-- > 0 && out->at == 0;) {
        segment_view segment;
        alm_rec_header rec;
        ALM_TRY(view_open(self->cx, wal, &wal->segments[i], &segment));
        if (segment.valid && segment.head.prev_lsn <= self->after) {
            const alm_status status = wal_read_fetch(self->cx, wal, i, &segment);
            for (int64_t offset = ALM_WAL_HEADER;
                 status == ALM_OK && out->at == 0 && offset + ALM_REC_HEADER <= segment.n;
                 offset += 8)
                if (wal_read_record_at(&segment, offset, &rec) && rec.lsn > rec.prev_lsn &&
                    (rec.lsn == self->after || rec.prev_lsn == self->after))
                    *out = (beginning){i, offset, rec.prev_lsn};
            if (status != ALM_OK) {
                view_close(wal, &segment);
                return status;
            }
        }
        view_close(wal, &segment);
    }
    return ALM_OK;
}

/*
 * The start is the latest segment that begins at or before the checkpoint and whose chain reaches
 * it: a segment of a group that failed may begin there as well, but its chain ends early. Chains
 * that end early have called nobody.
 */
alm_status alm_wal_read(alm_ctx *cx, alm_wal *wal, uint64_t after, alm_wal_each each, void *arg,
                        alm_wal_maps *maps, alm_wal_scan *out)
{
    const chain self = {
        .cx = cx, .wal = wal, .after = after, .each = each, .arg = arg, .maps = maps, .out = out};
    bool any = false, begins = false;
    beginning from = {.at = 0};
    *out = (alm_wal_scan){.last_lsn = after, .segment = wal->n_segments};
    for (size_t i = wal->n_segments; i-- > 0;) {
        segment_view segment;
        ALM_TRY(view_open(cx, wal, &wal->segments[i], &segment));
        const bool fits = segment.valid && segment.head.prev_lsn <= after;
        any |= segment.valid;
        view_close(wal, &segment);
        if (!fits)
            continue;
        ALM_TRY(walk_from(&self, wal, (beginning){.segment = i}));
        if (out->last_lsn >= after) {
            out->passed.segment = 0;
            return check_end(&self);
        }
        if (!begins) { /* of the latest one */
            out->passed.segment = wal->segments[out->segment].number;
            out->passed.lsn = out->last_lsn;
            out->passed.at = out->at;
        }
        begins = true;
    }
    if (!any &&
        after == 0) { /* a new database, or one that stopped while it made its first segment */
        *out = (alm_wal_scan){.at = 0};
        ALM_TRY(check_end(&self));
        out->segment = wal->n_segments;
        return ALM_OK;
    }
    ALM_TRY(find_resume(&self, wal, &from));
    if (from.at == 0)
        return too_short(&self, begins);
    ALM_TRY(walk_from(&self, wal, from));
    return out->last_lsn >= after ? check_end(&self) : too_short(&self, begins);
}

void alm_wal_passed_text(const alm_wal *wal, const alm_wal_scan *scan, char *text, size_t size)
{
    ALM_ASSERT(scan->passed.segment != 0);
    (void)snprintf(
        text, size,
        "the log is damaged: segment '%s/%016llx.wal' has no valid record at offset "
        "%lld, after lsn %llu; the changes there are before the checkpoint, and nothing is lost",
        wal->dir, (unsigned long long)scan->passed.segment, (long long)scan->passed.at,
        (unsigned long long)scan->passed.lsn);
}

/* What their records are is not looked at: who reads the log from there checks them. */
alm_status alm_wal_reach_back(alm_ctx *cx, alm_wal *wal, uint64_t lsn, bool *reached)
{
    size_t first = 0;
    while (first < wal->n_segments && !wal->segments[first].in_chain)
        first++;
    size_t i = first;
    *reached = first < wal->n_segments && wal->segments[first].prev_lsn <= lsn;
    for (bool goes_on = first < wal->n_segments; goes_on && !*reached && i > 0;) {
        segment_view segment;
        alm_wal_segment *seg = &wal->segments[--i];
        ALM_TRY(view_open(cx, wal, seg, &segment));
        goes_on = segment.valid && segment.head.prev_lsn <= wal->segments[i + 1].prev_lsn;
        seg->prev_lsn = segment.head.prev_lsn;
        seg->last_lsn = wal->segments[i + 1].prev_lsn;
        view_close(wal, &segment);
        *reached = goes_on && seg->prev_lsn <= lsn;
    }
    for (; *reached && i < first; i++)
        wal->segments[i].in_chain = true;
    return ALM_OK;
}

/* Of the fields that tell a record of this segment from what an older use left, one is enough: the
 * others may be what is damaged. */
alm_status alm_wal_is_torn(alm_ctx *cx, const alm_wal *wal, const alm_wal_scan *scan, bool *torn)
{
    segment_view segment;
    alm_rec_header rec;
    *torn = false;
    if (scan->segment >= wal->n_segments)
        return ALM_OK;
    ALM_TRY(view_open(cx, wal, &wal->segments[scan->segment], &segment));
    if (segment.valid && scan->at + ALM_REC_HEADER <= segment.n) {
        memcpy(&rec, segment.bytes + scan->at, sizeof rec);
        *torn = rec.salt == segment.head.salt ||
                (memcmp(rec.magic, "REC1", 4) == 0 && rec.prev_lsn == scan->last_lsn &&
                 rec.lsn > rec.prev_lsn);
    }
    /* A file that ends within the head of a record: a whole head never stood here, so it is of this use. */
    const int64_t left = segment.n - scan->at;
    if (segment.valid && left > 0 && left < ALM_REC_HEADER)
        *torn = memcmp(segment.bytes + scan->at, "REC1", (size_t)ALM_MIN(left, (int64_t)4)) == 0;
    view_close(wal, &segment);
    return ALM_OK;
}

alm_status alm_wal_cut(alm_ctx *cx, const alm_wal *wal, const alm_wal_scan *scan)
{
    static const char zeros[ALM_REC_HEADER];
    const alm_io *io = wal->io;
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%016llx.wal", wal->dir,
                   (unsigned long long)wal->segments[scan->segment].number);
    const int handle = io->open(io, path, ALM_IO_READ | ALM_IO_WRITE);
    if (handle < 0)
        return alm_io_fail(cx, handle, path);
    alm_status status = alm_io_write_all(cx, io, handle, zeros, sizeof zeros, scan->at, path);
    const int code = status == ALM_OK ? io->sync(io, handle) : 0;
    if (code < 0)
        status = alm_io_fail(cx, code, path);
    (void)io->close(io, handle);
    return status;
}

/* ------------------------------------------------------------------ a damaged log */

/* A segment of which records can be told from what an older use left. Of one with a damaged header the first record says the salt. */
static alm_status whole_open(alm_ctx *cx, const alm_wal *wal, const alm_wal_segment *seg,
                             segment_view *segment, bool *readable)
{
    alm_rec_header rec;
    *readable = false;
    const alm_status status = view_open(cx, wal, seg, segment);
    if (status == ALM_E_CORRUPT || status == ALM_E_UNSUPPORTED || status == ALM_E_IO) {
        alm_error_clear(cx);
        return ALM_OK;
    }
    ALM_TRY(status);
    if (segment->bytes == NULL ||
        wal->io->prefetch(wal->io, segment->bytes, (size_t)segment->n) == -EFAULT)
        return ALM_OK;
    if (!segment->valid && wal_read_record_at(segment, ALM_WAL_HEADER, &rec)) {
        segment->head.salt = rec.salt;
        segment->valid = true;
    }
    *readable = segment->valid;
    return ALM_OK;
}

/* *seen: of the last record, whether it was called for or not. */
static alm_status whole_records(const chain *self, const segment_view *segment, uint64_t *seen,
                                alm_wal_gaps *gaps)
{
    alm_rec_header rec;
    for (int64_t offset = ALM_WAL_HEADER;
         offset + ALM_REC_HEADER <= segment->n && mark_at(segment, offset, 0) == 0;) {
        if (!wal_read_record_at(segment, offset, &rec) || rec.lsn <= *seen) {
            offset += 8;
            continue;
        }
        offset += ALM_REC_HEADER + (int64_t)rec.bytes;
        const uint64_t before = ALM_MAX(*seen, self->after);
        *seen = rec.lsn;
        if (rec.lsn <= self->after)
            continue;
        if (rec.prev_lsn > before && gaps->n++ == 0) {
            gaps->from = before;
            gaps->to = rec.lsn;
        }
        ALM_TRY(self->each(self->cx, self->arg, rec.lsn,
                           segment->bytes + offset - (int64_t)rec.bytes, (size_t)rec.bytes));
        gaps->last_lsn = rec.lsn;
    }
    return ALM_OK;
}

alm_status alm_wal_read_whole(alm_ctx *cx, alm_wal *wal, uint64_t after, alm_wal_each each,
                              void *arg, alm_wal_gaps *out)
{
    const chain self = {.cx = cx, .wal = wal, .after = after, .each = each, .arg = arg};
    uint64_t seen = 0;
    *out = (alm_wal_gaps){.last_lsn = after};
    for (size_t i = 0; i < wal->n_segments; i++) {
        segment_view segment;
        bool readable = false;
        alm_status status = whole_open(cx, wal, &wal->segments[i], &segment, &readable);
        if (status == ALM_OK && readable)
            status = whole_records(&self, &segment, &seen, out);
        out->unread += status == ALM_OK && !readable;
        view_close(wal, &segment);
        ALM_TRY(status);
    }
    return ALM_OK;
}
