/*
 * catalog_file.c - the checkpoint of the catalogue: tables, parts, dictionary sizes, and the rows
 * that are still in heads. Layout: docs/internals/storage.md, section 5.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "storage/dict/dict.h"
#include "storage/recover/recover.h"
#include "storage/recover/redo.h"
#include "storage/version/change.h"
#include "storage/version/comment.h"
#include "storage/version/encode.h"
#include "storage/version/records.h"
#include "storage/version/touched.h"
#include "storage/version/view.h"

enum {
    CATALOG_VERSION = 12,
    CATALOG_SUMMED = 12,     /* the checksum covers magic and version from here on */
    CATALOG_PACKED = 11,     /* parts that share a file from here on */
    CATALOG_IDENTIFIED = 10, /* database id, checksums of parts and dictionaries from here on */
    CATALOG_HEADER = 64,
    PIECE_BYTES = 1 << 20
};

typedef struct catalog_header {
    char magic[8];
    uint32_t version;
    uint32_t
        crc; /* of the bytes behind the header, of bytes 16..63, and from version 12 on of bytes 0..11 */
    uint64_t bytes, lsn;
    uint64_t next_table_id, next_part_id, next_file_id, next_seq;
} catalog_header;
_Static_assert(sizeof(catalog_header) == CATALOG_HEADER, "on disk");

/* `behind`: the checksum of the bytes behind the header. */
static uint32_t checksum(const catalog_header *head, uint32_t behind)
{
    const uint32_t crc = alm_crc32c(behind, (const char *)head + 16, sizeof *head - 16);
    return head->version < CATALOG_SUMMED ? crc
                                          : alm_crc32c(crc, head, offsetof(catalog_header, crc));
}

/* Written in pieces: 16 MB of rows need not be in memory twice. */
typedef struct catalog_out {
    alm_ctx *cx;
    const alm_io *io;
    int handle;
    int64_t at;
    uint32_t crc;
    alm_buf buf;
    const alm_catalog_choice *only;
} catalog_out;

static alm_status out_flush(catalog_out *o, size_t least)
{
    if (o->buf.len < least || o->buf.len == 0)
        return ALM_OK;
    o->crc = alm_crc32c(o->crc, o->buf.ptr, o->buf.len);
    ALM_TRY(alm_io_write_all(o->cx, o->io, o->handle, o->buf.ptr, o->buf.len, o->at,
                             "write the catalogue"));
    o->at += (int64_t)o->buf.len;
    o->buf.len = 0;
    return ALM_OK;
}

static alm_status catalog_file_put_parts(catalog_out *o, const alm_part_set *set)
{
    const uint32_t n = set == NULL ? 0 : set->n;
    ALM_TRY(alm_put_u32(o->cx, &o->buf, n));
    for (uint32_t i = 0; i < n; i++) {
        ALM_TRY(alm_put_part(o->cx, &o->buf, set->parts[i]));
        ALM_TRY(out_flush(o, PIECE_BYTES));
    }
    return ALM_OK;
}

static alm_status put_touched(catalog_out *o, const alm_touched *touched)
{
    ALM_TRY(alm_put_u32(o->cx, &o->buf, touched != NULL));
    ALM_TRY(alm_put_u32(o->cx, &o->buf, touched == NULL ? 0 : touched->n));
    for (uint32_t i = 0; touched != NULL && i < touched->n; i++) {
        ALM_TRY(alm_put_u64(o->cx, &o->buf, touched->rows[i].lsn));
        ALM_TRY(alm_put_i64(o->cx, &o->buf, touched->rows[i].lo));
        ALM_TRY(alm_put_i64(o->cx, &o->buf, touched->rows[i].hi));
    }
    return ALM_OK;
}

/* Of each dictionary, by columns: how many of its values are in its file, their checksum, and the others: there are some only where the
 * file is lost. */
static alm_status put_dicts(catalog_out *o, const alm_schema *schema)
{
    for (uint32_t col = 0; col < schema->n_cols; col++) {
        uint32_t in_file = 0, crc = 0;
        if (schema->symbols[col] == NULL)
            continue;
        alm_symbols_in_file(schema->symbols[col], schema->dicts[col].count, &in_file, &crc);
        ALM_TRY(alm_put_u32(o->cx, &o->buf, in_file));
        ALM_TRY(alm_put_u32(o->cx, &o->buf, crc));
        for (uint32_t code = in_file; code < schema->dicts[col].count; code++)
            ALM_TRY(alm_put_text(o->cx, &o->buf, alm_symbols_text(schema->symbols[col], code)));
    }
    return ALM_OK;
}

static alm_status put_version(catalog_out *o, const alm_version *version)
{
    alm_ctx *cx = o->cx;
    alm_buf *buf = &o->buf;
    ALM_TRY(alm_put_table(cx, buf, version));
    ALM_TRY(put_dicts(o, version->schema));
    ALM_TRY(alm_put_u64(cx, buf, version->flushed_lsn));
    ALM_TRY(alm_put_u64(cx, buf, version->frozen_lsn));
    ALM_TRY(alm_put_u32(cx, buf, version->table.hides));
    ALM_TRY(alm_put_i64(cx, buf, version->table.visible_from));
    ALM_TRY(alm_put_i64(cx, buf, version->table.kept_from));
    ALM_TRY(catalog_file_put_parts(o, version->parts));
    ALM_TRY(catalog_file_put_parts(o, version->detached));
    ALM_TRY(put_touched(o, version->touched));
    ALM_TRY(alm_put_comments(cx, buf, version));
    ALM_TRY(alm_put_u32(cx, buf, version->n_frozen));
    ALM_TRY(alm_put_u32(cx, buf, version->n_lanes));
    for (uint32_t i = 0; i < version->n_lanes; i++) {
        ALM_TRY(alm_put_u32(cx, buf, version->lanes[i].n_chunks));
        for (uint32_t j = 0; j < version->lanes[i].n_chunks; j++) {
            const alm_lane_chunk *chunk = &version->lanes[i].chunks[j];
            ALM_TRY(alm_put_rows(cx, buf, version->table.id, chunk->chunk, chunk->rows));
            ALM_TRY(out_flush(o, PIECE_BYTES));
        }
    }
    return out_flush(o, PIECE_BYTES);
}

static bool catalog_file_is_chosen(const alm_catalog_choice *only, uint64_t table_id)
{
    for (uint32_t i = 0; only->ids != NULL && i < only->n; i++)
        if (only->ids[i] == table_id)
            return true;
    return only->ids == NULL;
}

static alm_status put_versions(catalog_out *o, uint64_t database_id, const alm_catver *cat)
{
    uint64_t count = 0;
    ALM_TRY(alm_put_u64(o->cx, &o->buf, database_id));
    for (size_t i = 0; i < cat->n; i++)
        count += catalog_file_is_chosen(o->only, alm_catver_at(cat, i)->table.id);
    ALM_TRY(alm_put_u64(o->cx, &o->buf, count));
    for (size_t i = 0; i < cat->n; i++)
        if (catalog_file_is_chosen(o->only, alm_catver_at(cat, i)->table.id))
            ALM_TRY(put_version(o, alm_catver_at(cat, i)));
    ALM_TRY(alm_put_records(o->cx, &o->buf, o->only->ids == NULL ? cat->records : NULL));
    return out_flush(o, 0);
}

static alm_status catalog_write_file(catalog_out *o, alm_storage *storage, const alm_catver *cat)
{
    ALM_ASSERT(storage->database_id != 0);
    catalog_header head = {.magic = {'A', 'L', 'M', 'C', 'A', 'T', '0', '1'},
                           .version = CATALOG_VERSION,
                           .lsn = cat->lsn};
    head.next_table_id = atomic_load(&storage->next_table_id);
    head.next_part_id = atomic_load(&storage->next_part_id);
    head.next_file_id = atomic_load(&storage->next_file_id);
    head.next_seq = atomic_load(&storage->next_seq);
    o->at = CATALOG_HEADER;
    ALM_TRY(put_versions(o, storage->database_id, cat));
    head.bytes = (uint64_t)o->at;
    head.crc = checksum(&head, o->crc);
    ALM_TRY(
        alm_io_write_all(o->cx, o->io, o->handle, &head, sizeof head, 0, "write the catalogue"));
    const int code = o->io->sync(o->io, o->handle);
    return code < 0 ? alm_io_fail(o->cx, code, "sync the catalogue") : ALM_OK;
}

alm_status alm_catalog_write_to(alm_ctx *cx, alm_storage *storage, const alm_catver *cat,
                                const alm_catalog_choice *only, const char *path)
{
    catalog_out o = {.cx = cx, .io = storage->io, .only = only};
    o.handle = alm_io_create(storage->io, path, ALM_IO_WRITE | ALM_IO_TRUNCATE);
    if (o.handle < 0)
        return alm_io_fail(cx, o.handle, "create the catalogue");
    alm_buf_init(&o.buf, NULL);
    alm_status status = catalog_write_file(&o, storage, cat);
    alm_buf_deinit(&o.buf);
    const int code = storage->io->close(storage->io, o.handle);
    if (status == ALM_OK && code < 0)
        status = alm_io_fail(cx, code, "close the catalogue");
    return status;
}

/* ---------------------------------------------------------------------- reading */

/* A version number that is not known counts only if the checksum, which later versions keep, covers it: else it is damage. */
static alm_status catalog_file_check_header(alm_ctx *cx, const char *path,
                                            const catalog_header *head,
                                            const alm_catalog_file *file)
{
    const char *const behind = (const char *)file->map + CATALOG_HEADER;
    const uint32_t crc = checksum(head, alm_crc32c(0, behind, file->bytes - CATALOG_HEADER));
    if (memcmp(head->magic, "ALMCAT01", 8) != 0 || head->version == 0 ||
        head->bytes != file->bytes || crc != head->crc)
        return alm_fail(cx, ALM_E_CORRUPT, -1, "'%s' is damaged: its checksum does not match",
                        path);
    if (head->version > CATALOG_VERSION)
        return alm_fail(cx, ALM_E_UNSUPPORTED, -1,
                        "'%s' has format version %u, this program reads up to %d", path,
                        head->version, CATALOG_VERSION);
    return ALM_OK;
}

/* What hurts this file alone is damage of it: a link that leads nowhere, a pipe, bytes that cannot be read. */
static alm_status catalog_file_open_failed(alm_ctx *cx, const char *path, int code)
{
    if (code != -ELOOP && code != -ENXIO && code != -EIO)
        return alm_io_fail(cx, code, path);
    return alm_fail(cx, ALM_E_CORRUPT, -1, "'%s' is damaged: it cannot be opened: %s", path,
                    strerror(-code));
}

/* Maps and checks it; *bytes 0: it is not there. */
static alm_status catalog_read_file(alm_ctx *cx, alm_storage *storage, const char *name,
                                    alm_catalog_file *out, catalog_header *header)
{
    char path[ALM_PATH_MAX];
    alm_io_stat meta;
    const alm_io *io = storage->io;
    (void)snprintf(path, sizeof path, "%s/%s", storage->root, name);
    *out = (alm_catalog_file){0};
    *header = (catalog_header){.version = 0};
    int code = io->stat(io, path, &meta);
    if (code == -ENOENT)
        return ALM_OK;
    if (code < 0)
        return catalog_file_open_failed(cx, path, code);
    if (meta.is_dir)
        return alm_fail(cx, ALM_E_CORRUPT, -1, "'%s' is damaged: it is a directory", path);
    if (meta.size_bytes < CATALOG_HEADER)
        return alm_fail(cx, ALM_E_CORRUPT, -1, "'%s' is damaged: it has %lld bytes", path,
                        (long long)meta.size_bytes);
    const int handle = io->open(io, path, ALM_IO_READ);
    if (handle < 0)
        return catalog_file_open_failed(cx, path, handle);
    code = io->map(io, handle, (size_t)meta.size_bytes, &out->map);
    (void)io->close(io, handle); /* read-only */
    if (code < 0)
        return alm_io_fail(cx, code, path);
    out->bytes = (size_t)meta.size_bytes;
    alm_status status = ALM_OK;
    if (io->prefetch(io, out->map, out->bytes) == -EFAULT) {
        status = alm_fail(cx, ALM_E_CORRUPT, -1, "'%s' is damaged: its bytes cannot be read", path);
    } else {
        memcpy(header, out->map, sizeof *header);
        status = catalog_file_check_header(cx, path, header, out);
    }
    if (status != ALM_OK) {
        alm_catalog_unmap(storage, out);
        return status;
    }
    out->lsn = header->lsn;
    if (header->version >= CATALOG_IDENTIFIED && out->bytes >= CATALOG_HEADER + sizeof(uint64_t))
        memcpy(&out->database_id, (const char *)out->map + CATALOG_HEADER, sizeof out->database_id);
    return ALM_OK;
}

alm_status alm_catalog_peek(alm_ctx *cx, alm_storage *storage, const char *name,
                            alm_catalog_file *out)
{
    alm_catalog_file file;
    catalog_header head;
    ALM_TRY(catalog_read_file(cx, storage, name, &file, &head));
    *out = file;
    out->map = NULL;
    alm_catalog_unmap(storage, &file);
    const uint64_t id = out->database_id;
    if (id != 0 && storage->database_id != 0 && id != storage->database_id)
        return alm_fail(cx, ALM_E_CORRUPT, -1,
                        "'%s/%s' is of another database: it has database id %016llx, this "
                        "database %016llx",
                        storage->root, name, (unsigned long long)id,
                        (unsigned long long)storage->database_id);
    return ALM_OK;
}

alm_status alm_catalog_compare(alm_ctx *cx, alm_storage *storage, const char *name, uint64_t lsn,
                               int64_t *bytes)
{
    alm_catalog_file file = {.bytes = 0};
    *bytes = 0;
    ALM_TRY(alm_catalog_peek(cx, storage, name, &file));
    *bytes = (int64_t)file.bytes;
    if (*bytes == 0 && lsn > 0)
        return alm_fail(cx, ALM_E_CORRUPT, -1, "'%s/%s' is damaged: it is missing", storage->root,
                        name);
    if (*bytes > 0 && file.lsn != lsn)
        return alm_fail(cx, ALM_E_CORRUPT, -1, "'%s/%s' is damaged: it is of lsn %llu, not %llu",
                        storage->root, name, (unsigned long long)file.lsn, (unsigned long long)lsn);
    return ALM_OK;
}

/* Of a damaged one the header may say which checkpoint it is of. */
static void note_lost(alm_storage *storage, const catalog_header *head)
{
    if (memcmp(head->magic, "ALMCAT01", 8) == 0 && head->version > 0 &&
        head->version <= CATALOG_VERSION)
        storage->generation.lost_lsn = head->lsn;
}

alm_status alm_catalog_read(alm_ctx *cx, alm_storage *storage, const char *name,
                            alm_catalog_file *out)
{
    catalog_header head;
    const alm_status status = catalog_read_file(cx, storage, name, out, &head);
    if (status == ALM_E_CORRUPT)
        note_lost(storage, &head);
    if (status != ALM_OK || out->bytes == 0)
        return status;
    storage->catalog_version = head.version;
    atomic_store(&storage->next_table_id, head.next_table_id);
    atomic_store(&storage->next_part_id, head.next_part_id);
    atomic_store(&storage->next_file_id, head.next_file_id);
    atomic_store(&storage->next_seq, head.next_seq);
    return ALM_OK;
}

void alm_catalog_unmap(alm_storage *storage, alm_catalog_file *file)
{
    if (file->map != NULL)
        (void)storage->io->unmap(storage->io, file->map, file->bytes);
    *file = (alm_catalog_file){0};
}

bool alm_catalog_names_dict(alm_storage *storage, uint64_t table_id, uint32_t col_id)
{
    (void)pthread_mutex_lock(&storage->file_lock);
    const bool named = alm_dict_list_has(&storage->catalog_dicts, (alm_dict_id){table_id, col_id});
    (void)pthread_mutex_unlock(&storage->file_lock);
    return named;
}

static alm_status bad_catalog(alm_ctx *cx, const alm_version *version)
{
    return alm_fail(cx, ALM_E_CORRUPT, -1, "the catalogue's entry of table '%s' is damaged",
                    version->table.name);
}

/* A file that is not the one that is meant closes its table; a restore fails. */
static alm_status load_dict(alm_ctx *cx, alm_storage *storage, const alm_version *version,
                            uint32_t col, uint32_t count, uint32_t crc)
{
    char dir[ALM_PATH_MAX - 64], path[ALM_PATH_MAX];
    alm_symbols *symbols = version->schema->symbols[col];
    alm_storage_table_dir(storage, version->table.id, dir, sizeof dir);
    (void)snprintf(path, sizeof path, "%s/%u.dict", dir, version->schema->cols[col].id);
    ALM_TRY(alm_dict_list_add(cx, &storage->catalog_dicts,
                              (alm_dict_id){version->table.id, version->schema->cols[col].id}));
    const alm_status status = alm_symbols_load(cx, symbols, storage->io, path, count, crc);
    /* The catalogue has a version of this program: a later one of the file is damage, unless a newer program wrote it alone. */
    if ((status != ALM_E_CORRUPT && status != ALM_E_UNSUPPORTED) || storage->conf.restoring)
        return status;
    const alm_error was = cx->err;
    alm_error_clear(cx);
    return alm_symbols_lose(cx, symbols, count, crc, was.msg);
}

/* Behind those of its file. */
static alm_status load_values(alm_ctx *cx, alm_symbols *symbols, uint32_t from, uint32_t to,
                              alm_reader *reader)
{
    for (uint32_t code = from; code < to && !reader->bad; code++) {
        const alm_str text = alm_get_text(reader);
        if (!reader->bad)
            ALM_TRY(alm_symbols_put(cx, symbols, code, text));
    }
    return ALM_OK;
}

/* `reader`: where the catalogue has the dictionaries; NULL: an older one says no more than `counts`. */
static alm_status load_dicts(alm_ctx *cx, alm_storage *storage, alm_version *version,
                             const uint32_t *counts, alm_reader *reader)
{
    alm_schema *schema = NULL;
    for (uint32_t col = 0; col < version->schema->n_cols; col++) {
        if (version->schema->symbols[col] == NULL)
            continue;
        const uint32_t in_file = reader != NULL ? alm_get_u32(reader) : counts[col];
        const uint32_t crc = reader != NULL ? alm_get_u32(reader) : 0;
        if ((reader != NULL && reader->bad) || in_file > counts[col])
            return bad_catalog(cx, version);
        if (in_file > 1)
            ALM_TRY(load_dict(cx, storage, version, col, in_file, crc));
        if (reader != NULL && counts[col] > 1)
            ALM_TRY(load_values(cx, version->schema->symbols[col], ALM_MAX(in_file, 1u),
                                counts[col], reader));
    }
    ALM_TRY(alm_change_dicts(cx, storage, version, NULL, 0, NULL, &schema));
    if (schema != NULL) {
        alm_schema_release(version->schema);
        version->schema = schema;
    }
    return ALM_OK;
}

static alm_status load_parts(alm_ctx *cx, alm_storage *storage, alm_reader *reader,
                             alm_version *version, alm_part_set **out)
{
    const uint32_t n = alm_get_u32(reader);
    if (reader->bad || n > (uint64_t)(reader->end - reader->at))
        return bad_catalog(cx, version);
    alm_part_ref **parts = NULL;
    uint32_t got = 0;
    alm_part_set *set = NULL;
    ALM_TRY(alm_heap_bytes(cx, n * sizeof *parts, "a list of parts", &parts));
    alm_status status = ALM_OK;
    for (; got < n && status == ALM_OK; got += status == ALM_OK)
        status = alm_get_part(cx, storage, version->table.id, reader, &parts[got]);
    if (status == ALM_OK)
        status = alm_part_set_new(cx, parts, n, version->table.ts_col >= 0, &set);
    for (uint32_t i = 0; i < got; i++)
        alm_part_ref_release(parts[i]);
    free((void *)parts);
    ALM_TRY(status);
    alm_part_set_release(*out);
    *out = set;
    return ALM_OK;
}

/* Ranges ascend and do not meet: who adds to them relies on it. */
static alm_status load_touched(alm_ctx *cx, alm_reader *reader, alm_version *version)
{
    const uint32_t followed = alm_get_u32(reader), n_rows = alm_get_u32(reader);
    alm_touch rows[ALM_TOUCH_MAX];
    if (reader->bad || followed > 1 || n_rows > ALM_TOUCH_MAX)
        return bad_catalog(cx, version);
    for (uint32_t i = 0; i < n_rows; i++) {
        rows[i].lsn = alm_get_u64(reader);
        rows[i].lo = alm_get_i64(reader);
        rows[i].hi = alm_get_i64(reader);
        if (reader->bad || rows[i].lo > rows[i].hi || (i > 0 && rows[i].lo <= rows[i - 1].hi))
            return bad_catalog(cx, version);
    }
    return followed ? alm_touched_new(cx, rows, n_rows, &version->touched) : ALM_OK;
}

/* One lane; rows that a later record put into parts are read over. */
static alm_status load_lane(alm_ctx *cx, alm_reader *reader, alm_version *version, bool skip,
                            alm_lane *lane)
{
    const uint32_t n = alm_get_u32(reader);
    if (reader->bad || n > (uint64_t)(reader->end - reader->at))
        return bad_catalog(cx, version);
    ALM_TRY(alm_heap_bytes(cx, n * sizeof *lane->chunks, "a list of chunks", &lane->chunks));
    for (uint32_t i = 0; i < n; i++) {
        alm_lane_chunk chunk = {0};
        if (alm_get_u64(reader) != version->table.id)
            return bad_catalog(cx, version);
        ALM_TRY(alm_get_rows(cx, reader, version->schema, &chunk.chunk, &chunk.rows));
        const bool fit = alm_rows_fit(chunk.chunk, 0, chunk.rows, version->table.ts_col);
        if (skip || !fit)
            alm_chunk_release(chunk.chunk);
        if (!fit)
            return bad_catalog(cx, version);
        if (skip)
            continue;
        const int64_t *ts =
            version->table.ts_col >= 0 ? chunk.chunk->cols[version->table.ts_col] : NULL;
        if (lane->n_chunks == 0)
            lane->min_ts = ts != NULL ? ts[0] : 0;
        lane->max_ts = ts != NULL ? ts[chunk.rows - 1] : 0;
        lane->rows += chunk.rows;
        lane->chunks[lane->n_chunks++] = chunk;
    }
    return ALM_OK;
}

static alm_status load_lanes(alm_ctx *cx, alm_reader *reader, alm_version *version, uint64_t lsn,
                             uint64_t mark)
{
    const uint32_t n_frozen = alm_get_u32(reader), n = alm_get_u32(reader);
    if (reader->bad || n_frozen > n || n > (uint64_t)(reader->end - reader->at) + 1)
        return bad_catalog(cx, version);
    ALM_TRY(alm_heap_bytes(cx, n * sizeof *version->lanes, "lanes", &version->lanes));
    for (uint32_t i = 0; i < n; i++) {
        alm_lane *lane = &version->lanes[version->n_lanes];
        const bool frozen = i < n_frozen;
        /* A later flush took the frozen lanes, or (frozen later still) all of them. */
        const bool skip = frozen ? mark >= version->frozen_lsn : mark >= lsn;
        version->n_lanes++; /* released with the version, whatever happens */
        ALM_TRY(load_lane(cx, reader, version, skip, lane));
        if (skip) {
            version->n_lanes--;
            free(lane->chunks);
            *lane = (alm_lane){0};
        } else {
            version->n_frozen += frozen;
        }
    }
    return ALM_OK;
}

static alm_status catalog_file_load_table(alm_ctx *cx, alm_build *build, alm_reader *reader,
                                          uint64_t lsn, const alm_flush_marks *marks)
{
    alm_version *version = NULL;
    uint32_t *counts = NULL;
    ALM_TRY(alm_get_table(cx, build->st, reader, &version, &counts));
    alm_status status =
        load_dicts(cx, build->st, version, counts,
                   build->st->catalog_version >= CATALOG_IDENTIFIED ? reader : NULL);
    free(counts);
    version->flushed_lsn = alm_get_u64(reader);
    version->frozen_lsn = alm_get_u64(reader);
    if (build->st->catalog_version >= 7) {
        version->table.hides = alm_get_u32(reader) != 0;
        version->table.visible_from = alm_get_i64(reader);
        version->table.kept_from = alm_get_i64(reader);
        if (!version->table.hides && version->table.visible_from == 0 &&
            version->table.kept_from == 0)
            version->table.kept_from = INT64_MIN; /* written so once: nothing has expired */
    }
    if (status == ALM_OK)
        status = load_parts(cx, build->st, reader, version, &version->parts);
    if (status == ALM_OK && build->st->catalog_version >= 2)
        status = load_parts(cx, build->st, reader, version, &version->detached);
    if (status == ALM_OK && build->st->catalog_version >= 3)
        status = load_touched(cx, reader, version);
    if (status == ALM_OK && build->st->catalog_version >= 4)
        status = alm_get_comments(cx, reader, version);
    if (status == ALM_OK)
        status =
            load_lanes(cx, reader, version, lsn, alm_flush_marks_get(marks, version->table.id));
    version->lsn = lsn;
    alm_version_settle(version);
    if (status == ALM_OK) /* as they are: a view may stand before its base */
        status = alm_build_add(cx, build, version);
    if (status != ALM_OK)
        alm_version_release(version);
    return status;
}

alm_status alm_catalog_load(alm_ctx *cx, alm_build *build, const alm_catalog_file *file,
                            const alm_flush_marks *marks)
{
    if (file->bytes == 0)
        return ALM_OK;
    const char *bytes = file->map;
    const bool identified = build->st->catalog_version >= CATALOG_IDENTIFIED;
    alm_reader reader = {.at = bytes + CATALOG_HEADER,
                         .end = bytes + file->bytes,
                         .form = build->st->catalog_version >= CATALOG_PACKED ? 2U : identified};
    if (identified)
        (void)alm_get_u64(&reader); /* alm_catalog_read has it */
    const uint64_t n = alm_get_u64(&reader);
    build->lsn = file->lsn;
    for (uint64_t i = 0; i < n; i++)
        ALM_TRY(catalog_file_load_table(cx, build, &reader, file->lsn, marks));
    alm_dict_list_sort(&build->st->catalog_dicts);
    if (build->st->catalog_version >= 5)
        ALM_TRY(alm_get_records(cx, build, &reader));
    build->next->lsn = file->lsn;
    if (reader.bad || reader.at != reader.end)
        return alm_fail(cx, ALM_E_CORRUPT, -1, "the catalogue is longer than its entries");
    return ALM_OK;
}
