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
static bool parse_name(const char *name, const char *prefix, uint64_t *number)
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

static int list_one(void *arg, const char *name)
{
    listing *l = arg;
    alm_wal *wal = l->wal;
    uint64_t number;
    if (parse_name(name, "spare-", &number)) {
        if (wal->n_spares < ALM_COUNT(wal->spares)) {
            wal->spare_bytes[wal->n_spares] = file_bytes(wal, name);
            wal->spares[wal->n_spares++] = number;
        }
    } else if (parse_name(name, "", &number)) {
        if (wal->n_segments == wal->cap_segments) {
            const size_t cap = ALM_MAX((size_t)16, wal->cap_segments * 2);
            alm_wal_segment *bigger = realloc(wal->segments, cap * sizeof *bigger);
            if (bigger == NULL) {
                l->st = alm_fail(l->cx, ALM_E_MEMORY, -1, "no memory for the list of log segments");
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
    listing l = {.wal = wal, .cx = cx, .st = ALM_OK};
    const int e = wal->io->list(wal->io, wal->dir, list_one, &l);
    if (e == -ENOENT)
        return ALM_OK;
    if (e < 0)
        return alm_io_fail(cx, e, "list the log");
    return l.st;
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

static void segment_path(const alm_wal *wal, uint64_t number, char *path)
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

static bool is_header(const alm_wal_header *head, uint64_t number)
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
static alm_status view_keep(alm_ctx *cx, segment_view *v, alm_wal_maps *maps)
{
    if (v->bytes == NULL)
        return ALM_OK;
    if (maps->n == maps->cap) {
        const size_t cap = ALM_MAX((size_t)16, maps->cap * 2);
        struct alm_wal_map *bigger = realloc(maps->maps, cap * sizeof *bigger);
        if (bigger == NULL)
            return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for the list of log segments");
        maps->maps = bigger;
        maps->cap = cap;
    }
    maps->maps[maps->n++] = (struct alm_wal_map){v->bytes, (size_t)v->n};
    maps->bytes += v->n;
    v->bytes = NULL;
    return ALM_OK;
}

static void view_close(const alm_wal *wal, segment_view *v)
{
    if (v->bytes != NULL)
        (void)wal->io->unmap(wal->io, v->bytes, (size_t)v->n);
    v->bytes = NULL;
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
    segment_path(wal, seg->number, path);
    *out = (segment_view){.n = seg->bytes};
    if (seg->bytes < ALM_WAL_HEADER)
        return ALM_OK;
    const int h = io->open(io, path, ALM_IO_READ);
    if (h < 0)
        return alm_io_fail(cx, h, path);
    const void *map = NULL;
    const int e = io->map(io, h, (size_t)seg->bytes, &map);
    (void)io->close(io, h); /* read-only */
    if (e < 0)
        return alm_io_fail(cx, e, path);
    out->bytes = map;
    memcpy(&out->head, map, sizeof out->head);
    out->valid = is_header(&out->head, seg->number);
    const alm_status st = out->valid ? check_version(cx, wal, path, &out->head) : ALM_OK;
    if (st != ALM_OK)
        view_close(wal, out);
    return st;
}

/* Its header, or one of version 0 where that is not sound. */
static alm_status read_header(alm_ctx *cx, const alm_wal *wal, const alm_wal_segment *seg,
                              const char *path, alm_wal_header *out)
{
    *out = (alm_wal_header){.version = 0};
    if (seg->bytes < ALM_WAL_HEADER)
        return ALM_OK;
    const int h = wal->io->open(wal->io, path, ALM_IO_READ);
    if (h < 0)
        return alm_io_fail(cx, h, path);
    const alm_status st = alm_io_read_all(cx, wal->io, h, out, sizeof *out, 0, path);
    (void)wal->io->close(wal->io, h); /* read-only */
    if (st == ALM_OK && !is_header(out, seg->number))
        *out = (alm_wal_header){.version = 0};
    return st;
}

alm_status alm_wal_identify(alm_ctx *cx, alm_wal *wal, const char *from, uint64_t *id)
{
    char known[PATH_BYTES + 2], path[PATH_BYTES];
    (void)snprintf(known, sizeof known, "%s", from);
    for (size_t i = 0; i < wal->n_segments; i++) {
        alm_wal_header head;
        segment_path(wal, wal->segments[i].number, path);
        ALM_TRY(read_header(cx, wal, &wal->segments[i], path, &head));
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

/* A whole record of this life of the segment (any, if its header is no good) at `at`. */
static bool record_at(const segment_view *v, int64_t at, alm_rec_header *out)
{
    if (at + ALM_REC_HEADER > v->n)
        return false;
    memcpy(out, v->bytes + at, sizeof *out);
    if (memcmp(out->magic, "REC1", 4) != 0 || (v->valid && out->salt != v->head.salt))
        return false;
    if (out->bytes > (uint64_t)(v->n - at - ALM_REC_HEADER) || out->bytes % 8 != 0)
        return false;
    const char *payload = v->bytes + at + ALM_REC_HEADER;
    const uint32_t crc = alm_crc32c(0, payload, (size_t)out->bytes);
    return out->crc == alm_crc32c(crc, v->bytes + at + 8, ALM_REC_HEADER - 8);
}

/* Is there a record at or behind `at` which proves that records after `lsn` had been synced? One may stand at offset 0, where a
 * misplaced write came over the header. */
static bool proves_loss(const segment_view *v, int64_t at, uint64_t lsn)
{
    for (; at + ALM_REC_HEADER <= v->n; at += 8) {
        alm_rec_header rec;
        if (memcmp(v->bytes + at, "REC1", 4) == 0 && record_at(v, at, &rec) && rec.lsn > lsn &&
            rec.synced_lsn > lsn)
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

/* Follows the chain through one segment, from `at` on. */
static alm_status walk_segment(const chain *c, const segment_view *v, size_t index, int64_t at)
{
    c->out->segment = index;
    c->out->at = at;
    for (;;) {
        alm_rec_header rec;
        if (!record_at(v, c->out->at, &rec) || rec.prev_lsn != c->out->last_lsn ||
            rec.lsn <= rec.prev_lsn)
            return ALM_OK;
        if (c->wal->limit_lsn != 0 && rec.lsn > c->wal->limit_lsn)
            return ALM_OK;
        if (rec.lsn > c->after)
            ALM_TRY(c->each(c->cx, c->arg, rec.lsn, v->bytes + c->out->at + ALM_REC_HEADER,
                            (size_t)rec.bytes));
        c->out->last_lsn = rec.lsn;
        c->out->at += ALM_REC_HEADER + (int64_t)rec.bytes;
        c->out->bytes += ALM_REC_HEADER + (int64_t)rec.bytes;
    }
}

static alm_status damaged(const chain *c, size_t segment, int64_t at)
{
    return alm_fail(c->cx, ALM_E_CORRUPT, -1,
                    "the log is damaged: segment '%s/%016llx.wal' has no valid record at offset "
                    "%lld, after lsn %llu, but later records exist",
                    c->wal->dir, (unsigned long long)c->wal->segments[segment].number,
                    (long long)at, (unsigned long long)c->out->last_lsn);
}

/* The segment that the mark behind record `lsn` (0: any) names; 0: there is none. */
static uint64_t mark_at(const segment_view *v, int64_t at, uint64_t lsn)
{
    alm_wal_mark mark;
    if (!v->valid || at + ALM_REC_HEADER > v->n)
        return 0;
    memcpy(&mark, v->bytes + at, sizeof mark);
    const bool good = memcmp(mark.magic, "NEXT", 4) == 0 && mark.salt == v->head.salt &&
                      mark.crc == alm_crc32c(0, v->bytes + at + 8, ALM_REC_HEADER - 8);
    const bool follows = lsn == 0 || mark.lsn == 0 || mark.lsn == lsn;
    return good && follows ? mark.next : 0;
}

alm_status alm_wal_walk(alm_ctx *cx, const alm_wal *wal, const alm_wal_segment *seg,
                        alm_wal_each each, void *arg, alm_wal_scan *out)
{
    segment_view v;
    const chain c = {.cx = cx, .wal = wal, .each = each, .arg = arg, .out = out};
    *out = (alm_wal_scan){.at = 0};
    ALM_TRY(view_open(cx, wal, seg, &v));
    out->last_lsn = out->prev_lsn = v.head.prev_lsn;
    alm_status st = ALM_OK;
    if (v.n > 0 && wal->io->prefetch(wal->io, v.bytes, (size_t)v.n) == -EFAULT)
        st = alm_fail(cx, ALM_E_CORRUPT, -1,
                      "the log is damaged: bytes of segment '%s/%016llx.wal' cannot be read",
                      wal->dir, (unsigned long long)seg->number);
    else
        st = v.valid ? walk_segment(&c, &v, 0, ALM_WAL_HEADER)
                     : alm_fail(cx, ALM_E_CORRUPT, -1,
                                "the log is damaged: segment '%s/%016llx.wal', whose header "
                                "fails its checksum",
                                wal->dir, (unsigned long long)seg->number);
    if (st == ALM_OK) {
        out->awaited = mark_at(&v, out->at, out->last_lsn);
        out->marked = out->awaited != 0 || v.head.version < MARKS_VERSION;
        out->crc = alm_crc32c(0, v.bytes, (size_t)ALM_MIN(out->at + ALM_REC_HEADER, v.n));
    }
    view_close(wal, &v);
    return st;
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
    segment_view v;
    ALM_TRY(view_open(cx, wal, seg, &v));
    *lsn = v.valid ? v.head.prev_lsn : 0;
    view_close(wal, &v);
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

static alm_status pass_over(alm_ctx *cx, void *arg, uint64_t lsn, const char *payload, size_t bytes)
{
    (void)arg, (void)lsn, (void)payload, (void)bytes;
    return alm_check(cx);
}

alm_status alm_wal_verify(alm_ctx *cx, const alm_wal *wal, const alm_wal_segment *seg)
{
    alm_wal_scan scan;
    ALM_TRY(alm_wal_walk(cx, wal, seg, pass_over, NULL, &scan));
    if (scan.prev_lsn != seg->prev_lsn)
        return alm_fail(cx, ALM_E_CORRUPT, -1,
                        "the log is damaged: segment '%s/%016llx.wal' is another one than was "
                        "written: it follows lsn %llu, not %llu",
                        wal->dir, (unsigned long long)seg->number,
                        (unsigned long long)scan.prev_lsn, (unsigned long long)seg->prev_lsn);
    return alm_wal_whole(cx, wal, seg, &scan);
}

/* The chain ended; nothing behind the end may show that the log went on for certain. */
static alm_status check_end(const chain *c)
{
    const alm_wal *wal = c->wal;
    if (c->out->awaited != 0)
        return alm_fail(c->cx, ALM_E_CORRUPT, -1,
                        "the log is damaged: segment '%s/%016llx.wal' is missing or is not the one "
                        "that follows lsn %llu",
                        wal->dir, (unsigned long long)c->out->awaited,
                        (unsigned long long)c->out->last_lsn);
    for (size_t i = c->out->segment; i < wal->n_segments; i++) {
        segment_view v;
        ALM_TRY(view_open(c->cx, wal, &wal->segments[i], &v));
        const int64_t from = i == c->out->segment ? c->out->at : ALM_WAL_HEADER;
        const bool lost = proves_loss(&v, from, c->out->last_lsn);
        view_close(wal, &v);
        if (lost)
            return damaged(c, c->out->segment, c->out->at);
    }
    return ALM_OK;
}

/* Reads a segment ahead: bytes that the disk cannot give are no torn end of the log. */
static alm_status fetch(alm_ctx *cx, const alm_wal *wal, size_t i, const segment_view *v)
{
    if (v->bytes == NULL || wal->io->prefetch(wal->io, v->bytes, (size_t)v->n) != -EFAULT)
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
static alm_status walk_from(const chain *c, alm_wal *wal, beginning from)
{
    bool first = true;
    for (size_t i = 0; i < wal->n_segments; i++)
        wal->segments[i].in_chain = false;
    *c->out =
        (alm_wal_scan){.last_lsn = c->after, .segment = from.segment, .passed = c->out->passed};
    for (size_t i = from.segment; i < wal->n_segments; i++) {
        segment_view v;
        ALM_TRY(view_open(c->cx, wal, &wal->segments[i], &v));
        alm_status st = fetch(c->cx, wal, i, &v);
        if (st != ALM_OK) {
            view_close(wal, &v);
            return st;
        }
        wal->segments[i].in_chain = v.valid && (first || v.head.prev_lsn == c->out->last_lsn);
        if (wal->segments[i].in_chain) {
            const bool within = first && from.at > 0;
            c->out->last_lsn = within ? from.lsn : v.head.prev_lsn;
            wal->segments[i].prev_lsn = v.head.prev_lsn;
            st = walk_segment(c, &v, i, within ? from.at : ALM_WAL_HEADER);
            wal->segments[i].last_lsn = c->out->last_lsn;
            c->out->awaited = mark_at(&v, c->out->at, c->out->last_lsn);
            if (c->maps != NULL && st == ALM_OK)
                st = view_keep(c->cx, &v, c->maps);
        }
        first = false;
        view_close(wal, &v);
        ALM_TRY(st);
    }
    return ALM_OK;
}

static alm_status too_short(const chain *c, bool begins)
{
    return alm_fail(c->cx, ALM_E_CORRUPT, -1, "the log in '%s' does not %s lsn %llu", c->wal->dir,
                    begins ? "reach the checkpoint at" : "go back to the checkpoint at",
                    (unsigned long long)c->after);
}

/* Of a log that does not lead to the checkpoint: the record of its number, or the one that follows that, where it stands whole. All before it is in
 * the catalogue, and the chain goes on from it. */
static alm_status find_resume(const chain *c, const alm_wal *wal, beginning *out)
{
    *out = (beginning){.at = 0};
    for (size_t i = wal->n_segments; i-- > 0 && out->at == 0;) {
        segment_view v;
        alm_rec_header rec;
        ALM_TRY(view_open(c->cx, wal, &wal->segments[i], &v));
        if (v.valid && v.head.prev_lsn <= c->after) {
            const alm_status st = fetch(c->cx, wal, i, &v);
            for (int64_t at = ALM_WAL_HEADER;
                 st == ALM_OK && out->at == 0 && at + ALM_REC_HEADER <= v.n; at += 8)
                if (record_at(&v, at, &rec) && rec.lsn > rec.prev_lsn &&
                    (rec.lsn == c->after || rec.prev_lsn == c->after))
                    *out = (beginning){i, at, rec.prev_lsn};
            if (st != ALM_OK) {
                view_close(wal, &v);
                return st;
            }
        }
        view_close(wal, &v);
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
    const chain c = {
        .cx = cx, .wal = wal, .after = after, .each = each, .arg = arg, .maps = maps, .out = out};
    bool any = false, begins = false;
    beginning from = {.at = 0};
    *out = (alm_wal_scan){.last_lsn = after, .segment = wal->n_segments};
    for (size_t i = wal->n_segments; i-- > 0;) {
        segment_view v;
        ALM_TRY(view_open(cx, wal, &wal->segments[i], &v));
        const bool fits = v.valid && v.head.prev_lsn <= after;
        any |= v.valid;
        view_close(wal, &v);
        if (!fits)
            continue;
        ALM_TRY(walk_from(&c, wal, (beginning){.segment = i}));
        if (out->last_lsn >= after) {
            out->passed.segment = 0;
            return check_end(&c);
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
        ALM_TRY(check_end(&c));
        out->segment = wal->n_segments;
        return ALM_OK;
    }
    ALM_TRY(find_resume(&c, wal, &from));
    if (from.at == 0)
        return too_short(&c, begins);
    ALM_TRY(walk_from(&c, wal, from));
    return out->last_lsn >= after ? check_end(&c) : too_short(&c, begins);
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
        segment_view v;
        alm_wal_segment *seg = &wal->segments[--i];
        ALM_TRY(view_open(cx, wal, seg, &v));
        goes_on = v.valid && v.head.prev_lsn <= wal->segments[i + 1].prev_lsn;
        seg->prev_lsn = v.head.prev_lsn;
        seg->last_lsn = wal->segments[i + 1].prev_lsn;
        view_close(wal, &v);
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
    segment_view v;
    alm_rec_header rec;
    *torn = false;
    if (scan->segment >= wal->n_segments)
        return ALM_OK;
    ALM_TRY(view_open(cx, wal, &wal->segments[scan->segment], &v));
    if (v.valid && scan->at + ALM_REC_HEADER <= v.n) {
        memcpy(&rec, v.bytes + scan->at, sizeof rec);
        *torn =
            rec.salt == v.head.salt || (memcmp(rec.magic, "REC1", 4) == 0 &&
                                        rec.prev_lsn == scan->last_lsn && rec.lsn > rec.prev_lsn);
    }
    /* A file that ends within the head of a record: a whole head never stood here, so it is of this use. */
    const int64_t left = v.n - scan->at;
    if (v.valid && left > 0 && left < ALM_REC_HEADER)
        *torn = memcmp(v.bytes + scan->at, "REC1", (size_t)ALM_MIN(left, (int64_t)4)) == 0;
    view_close(wal, &v);
    return ALM_OK;
}

alm_status alm_wal_cut(alm_ctx *cx, const alm_wal *wal, const alm_wal_scan *scan)
{
    static const char zeros[ALM_REC_HEADER];
    const alm_io *io = wal->io;
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%016llx.wal", wal->dir,
                   (unsigned long long)wal->segments[scan->segment].number);
    const int h = io->open(io, path, ALM_IO_READ | ALM_IO_WRITE);
    if (h < 0)
        return alm_io_fail(cx, h, path);
    alm_status st = alm_io_write_all(cx, io, h, zeros, sizeof zeros, scan->at, path);
    const int e = st == ALM_OK ? io->sync(io, h) : 0;
    if (e < 0)
        st = alm_io_fail(cx, e, path);
    (void)io->close(io, h);
    return st;
}

/* ------------------------------------------------------------------ a damaged log */

/* A segment of which records can be told from what an older use left. Of one with a damaged header the first record says the salt. */
static alm_status whole_open(alm_ctx *cx, const alm_wal *wal, const alm_wal_segment *seg,
                             segment_view *v, bool *readable)
{
    alm_rec_header rec;
    *readable = false;
    const alm_status st = view_open(cx, wal, seg, v);
    if (st == ALM_E_CORRUPT || st == ALM_E_UNSUPPORTED || st == ALM_E_IO) {
        alm_error_clear(cx);
        return ALM_OK;
    }
    ALM_TRY(st);
    if (v->bytes == NULL || wal->io->prefetch(wal->io, v->bytes, (size_t)v->n) == -EFAULT)
        return ALM_OK;
    if (!v->valid && record_at(v, ALM_WAL_HEADER, &rec)) {
        v->head.salt = rec.salt;
        v->valid = true;
    }
    *readable = v->valid;
    return ALM_OK;
}

/* *seen: of the last record, whether it was called for or not. */
static alm_status whole_records(const chain *c, const segment_view *v, uint64_t *seen,
                                alm_wal_gaps *gaps)
{
    alm_rec_header rec;
    for (int64_t at = ALM_WAL_HEADER; at + ALM_REC_HEADER <= v->n && mark_at(v, at, 0) == 0;) {
        if (!record_at(v, at, &rec) || rec.lsn <= *seen) {
            at += 8;
            continue;
        }
        at += ALM_REC_HEADER + (int64_t)rec.bytes;
        const uint64_t before = ALM_MAX(*seen, c->after);
        *seen = rec.lsn;
        if (rec.lsn <= c->after)
            continue;
        if (rec.prev_lsn > before && gaps->n++ == 0) {
            gaps->from = before;
            gaps->to = rec.lsn;
        }
        ALM_TRY(
            c->each(c->cx, c->arg, rec.lsn, v->bytes + at - (int64_t)rec.bytes, (size_t)rec.bytes));
        gaps->last_lsn = rec.lsn;
    }
    return ALM_OK;
}

alm_status alm_wal_read_whole(alm_ctx *cx, alm_wal *wal, uint64_t after, alm_wal_each each,
                              void *arg, alm_wal_gaps *out)
{
    const chain c = {.cx = cx, .wal = wal, .after = after, .each = each, .arg = arg};
    uint64_t seen = 0;
    *out = (alm_wal_gaps){.last_lsn = after};
    for (size_t i = 0; i < wal->n_segments; i++) {
        segment_view v;
        bool readable = false;
        alm_status st = whole_open(cx, wal, &wal->segments[i], &v, &readable);
        if (st == ALM_OK && readable)
            st = whole_records(&c, &v, &seen, out);
        out->unread += st == ALM_OK && !readable;
        view_close(wal, &v);
        ALM_TRY(st);
    }
    return ALM_OK;
}
