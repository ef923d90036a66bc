/*
 * file.c - the append-only file of a symbol dictionary (format: dict.h).
 *
 * Crash       A save writes behind what the last checkpoint counts, so that a torn save leaves that
 *             checkpoint intact; the file is cut to the counted records before the next save.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "base/log.h"
#include "storage/dict/impl.h"

static const char FILE_MAGIC[8] = {'A', 'L', 'M', 'D', 'I', 'C', 'T', '1'};
enum { RECORD_BYTES_MAX = 32 << 20, PATH_BYTES = 1024 };

typedef struct file_header {
    char magic[8];
    uint32_t version, col_id;
    uint64_t table_id, database_id;
    uint32_t crc, zero;
} file_header;
_Static_assert(sizeof(file_header) == 40, "on disk");

typedef struct file_header_1 { /* of version 1 */
    char magic[8];
    uint32_t version, col_id;
    uint64_t table_id;
    uint32_t crc, zero;
} file_header_1;
_Static_assert(sizeof(file_header_1) == 32, "on disk");

static uint32_t record_crc(const alm_dict_record *head, uint32_t version, const void *payload,
                           size_t bytes)
{
    uint32_t crc = 0;
    if (version >= ALM_DICT_SUMMED)
        crc =
            alm_crc32c(alm_crc32c(0, &head->first, sizeof(head->first)), &head->n, sizeof(head->n));
    crc = alm_crc32c(crc, &head->text_bytes, sizeof(head->text_bytes));
    return alm_crc32c(crc, payload, bytes);
}

/* A dictionary on its way into a file. */
typedef struct dict_out {
    const alm_symbols *sym;
    const alm_io *io;
    int handle;
    const char *path;
    uint32_t version;
    int64_t offset; /* where the next record goes */
} dict_out;

/* Appends one record of codes [first, first + n). */
static alm_status save_record(alm_ctx *cx, dict_out *to, uint32_t first, uint32_t n)
{
    const alm_symbols *sym = to->sym;
    uint64_t text_bytes = 0;
    for (uint32_t i = 0; i < n; i++)
        text_bytes += alm_symbols_text(sym, first + i).len;
    const size_t bytes = sizeof(alm_dict_record) + (size_t)n * 4 + (size_t)text_bytes;
    char *buf = malloc(bytes);
    if (buf == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "dictionary file '%s': no memory", to->path);
    char *len_at = buf + sizeof(alm_dict_record);
    char *text_at = len_at + (size_t)n * 4;
    for (uint32_t i = 0; i < n; i++) {
        const alm_str text = alm_symbols_text(sym, first + i);
        const uint32_t len = (uint32_t)text.len;
        memcpy(len_at, &len, 4);
        len_at += 4;
        memcpy(text_at, text.ptr, text.len);
        text_at += text.len;
    }
    alm_dict_record head = {
        .magic = ALM_DICT_RECORD_MAGIC, .first = first, .n = n, .text_bytes = text_bytes};
    head.crc = record_crc(&head, to->version, buf + sizeof(head), bytes - sizeof(head));
    memcpy(buf, &head, sizeof(head));
    const alm_status status =
        alm_io_write_all(cx, to->io, to->handle, buf, bytes, to->offset, to->path);
    free(buf);
    if (status == ALM_OK)
        to->offset += (int64_t)bytes;
    return status;
}

/* How many codes from `first` fit one record. */
static uint32_t record_fill(const alm_symbols *sym, uint32_t first, uint32_t count)
{
    uint64_t bytes = 0;
    uint32_t code = first;
    while (code < count && (code == first || bytes < RECORD_BYTES_MAX))
        bytes += alm_symbols_text(sym, code++).len + 4;
    return code - first;
}

static alm_status dict_file_write_header(alm_ctx *cx, dict_out *to)
{
    const alm_symbols *sym = to->sym;
    file_header head = {.version = ALM_SYMBOLS_VERSION,
                        .col_id = sym->col_id,
                        .table_id = sym->table_id,
                        .database_id = sym->database_id};
    memcpy(head.magic, FILE_MAGIC, sizeof(head.magic));
    head.crc = alm_crc32c(0, &head, offsetof(file_header, crc));
    to->version = ALM_SYMBOLS_VERSION;
    to->offset = (int64_t)sizeof(head);
    return alm_io_write_all(cx, to->io, to->handle, &head, sizeof(head), 0, to->path);
}

/* Records of codes [from, end). */
static alm_status write_codes(alm_ctx *cx, dict_out *to, uint32_t from, uint32_t end)
{
    for (uint32_t code = from; code < end;) {
        const uint32_t n = record_fill(to->sym, code, end);
        ALM_TRY(save_record(cx, to, code, n));
        code += n;
    }
    return ALM_OK;
}

static alm_status sync_file(alm_ctx *cx, const alm_io *io, int handle, const char *path)
{
    const int code = io->sync(io, handle);
    return code < 0 ? alm_io_fail(cx, code, path) : ALM_OK;
}

alm_status alm_symbols_export(alm_ctx *cx, const alm_symbols *sym, const alm_io *io,
                              const char *path, uint32_t count)
{
    ALM_TRY(alm_symbols_usable(cx, sym));
    const int handle = alm_io_create(io, path, ALM_IO_WRITE | ALM_IO_TRUNCATE);
    if (handle < 0)
        return alm_io_fail(cx, handle, path);
    dict_out to = {.sym = sym, .io = io, .handle = handle, .path = path};
    alm_status status = dict_file_write_header(cx, &to);
    if (status == ALM_OK)
        status = write_codes(cx, &to, 1, count);
    if (status == ALM_OK)
        status = sync_file(cx, io, handle, path);
    const int code = io->close(io, handle);
    if (status == ALM_OK && code < 0)
        status = alm_io_fail(cx, code, path);
    return status;
}

static alm_status dict_file_corrupt(alm_ctx *cx, const char *path, int64_t offset, const char *what)
{
    return alm_fail(cx, ALM_E_CORRUPT, -1, "dictionary file '%s', offset %lld: %s", path,
                    (long long)offset, what);
}

/* The header in the form of today, and its length in the file. */
static alm_status dict_file_read_header(alm_ctx *cx, const char *path, const char *map, size_t size,
                                        file_header *head, size_t *bytes)
{
    file_header_1 first;
    if (size < sizeof(first))
        return dict_file_corrupt(cx, path, 0, "too short");
    memcpy(&first, map, sizeof(first));
    if (memcmp(first.magic, FILE_MAGIC, sizeof(first.magic)) != 0)
        return dict_file_corrupt(cx, path, 0, "not a dictionary");
    if (first.version > ALM_SYMBOLS_VERSION)
        return alm_fail(cx, ALM_E_UNSUPPORTED, -1,
                        "dictionary file '%s' has version %u, newer than %u: use a newer server",
                        path, first.version, ALM_SYMBOLS_VERSION);
    *head =
        (file_header){.version = first.version, .col_id = first.col_id, .table_id = first.table_id};
    *bytes = first.version == 1 ? sizeof(first) : sizeof(*head);
    if (size < *bytes)
        return dict_file_corrupt(cx, path, 0, "too short");
    uint32_t crc = alm_crc32c(0, &first, offsetof(file_header_1, crc));
    head->crc = first.crc;
    if (first.version != 1) {
        memcpy(head, map, sizeof(*head));
        crc = alm_crc32c(0, head, offsetof(file_header, crc));
    }
    return head->crc == crc ? ALM_OK : dict_file_corrupt(cx, path, 0, "header fails its checksum");
}

alm_status alm_dict_check_header(alm_ctx *cx, const alm_symbols *sym, const char *path,
                                 const char *map, size_t size, alm_dict_form *form)
{
    file_header head;
    ALM_TRY(dict_file_read_header(cx, path, map, size, &head, &form->bytes));
    form->version = head.version;
    if (head.database_id != 0 && sym->database_id != 0 && head.database_id != sym->database_id)
        return alm_fail(cx, ALM_E_CORRUPT, -1,
                        "dictionary file '%s' is of another database: it has database id %016llx, "
                        "this database %016llx",
                        path, (unsigned long long)head.database_id,
                        (unsigned long long)sym->database_id);
    if (head.table_id != sym->table_id || head.col_id != sym->col_id)
        return alm_fail(
            cx, ALM_E_CORRUPT, -1,
            "dictionary file '%s' belongs to another column: it is of column %u of table "
            "%llu, not of column %u of table %llu",
            path, head.col_id, (unsigned long long)head.table_id, sym->col_id,
            (unsigned long long)sym->table_id);
    return ALM_OK;
}

alm_status alm_dict_is_of(alm_ctx *cx, const alm_io *io, const char *path, uint64_t database_id,
                          uint64_t table_id, uint32_t col_id)
{
    const alm_symbols meant = {.database_id = database_id, .table_id = table_id, .col_id = col_id};
    char head[sizeof(file_header)];
    alm_dict_form form;
    const int handle = io->open(io, path, ALM_IO_READ);
    if (handle < 0)
        return alm_io_fail(cx, handle, path);
    const int64_t got = io->read(io, handle, head, sizeof(head), 0);
    (void)io->close(io, handle);
    return got < 0 ? alm_io_fail(cx, (int)got, path)
                   : alm_dict_check_header(cx, &meant, path, head, (size_t)got, &form);
}

/* Is the file that is appended to still the one that was written, by its header and its length? A scrub compares all of it. */
static alm_status dict_check_file(alm_ctx *cx, const alm_symbols *sym, const alm_io *io, int handle,
                                  const char *path)
{
    char head[sizeof(file_header)];
    alm_io_stat meta = {0};
    alm_dict_form form;
    const int code = io->stat(io, path, &meta);
    if (code < 0)
        return alm_io_fail(cx, code, path);
    if (meta.size_bytes < sym->saved_bytes)
        return dict_file_corrupt(cx, path, meta.size_bytes, "it was cut, or is an older copy");
    const size_t n = (size_t)ALM_MIN(meta.size_bytes, (int64_t)sizeof(head));
    ALM_TRY(alm_io_read_all(cx, io, handle, head, n, 0, path));
    ALM_TRY(alm_dict_check_header(cx, sym, path, head, n, &form));
    return form.version == sym->saved_version
               ? ALM_OK
               : dict_file_corrupt(cx, path, 0, "it has another version than it had");
}

static alm_status dict_file_write_locked(alm_ctx *cx, alm_symbols *sym, const alm_io *io,
                                         const char *path, uint32_t count, alm_symbols_saving *out)
{
    const bool fresh = sym->saved_bytes == 0;
    const int handle =
        alm_io_create(io, path, ALM_IO_READ | ALM_IO_WRITE | (fresh ? ALM_IO_TRUNCATE : 0u));
    if (handle < 0)
        return alm_io_fail(cx, handle, path);
    alm_status status = ALM_OK;
    dict_out to = {.sym = sym,
                   .io = io,
                   .handle = handle,
                   .path = path,
                   .version = sym->saved_version,
                   .offset = sym->saved_bytes};
    if (fresh) {
        status = dict_file_write_header(cx, &to);
        sym->saved_version = ALM_SYMBOLS_VERSION;
    } else {
        status = dict_check_file(cx, sym, io, handle, path);
        const int code = status == ALM_OK ? io->truncate(io, handle, to.offset)
                                          : 0; /* what a crash left behind */
        if (code < 0)
            status = alm_io_fail(cx, code, path);
    }
    if (status == ALM_OK)
        status = write_codes(cx, &to, sym->saved_count, count);
    if (status != ALM_OK) {
        (void)io->close(io, handle);
        return status;
    }
    *out = (alm_symbols_saving){
        .sym = sym, .handle = handle, .fresh = fresh, .count = count, .bytes = to.offset};
    return ALM_OK;
}

/* No save comes between. */
static alm_status rewrite_locked(alm_ctx *cx, alm_symbols *sym, const alm_io *io, const char *dir,
                                 const char *path)
{
    char tmp[PATH_BYTES + 8];
    alm_io_stat meta;
    (void)snprintf(tmp, sizeof(tmp), "%s.tmp", path);
    alm_status status = alm_symbols_export(cx, sym, io, tmp, sym->saved_count);
    int code = status == ALM_OK ? io->stat(io, tmp, &meta) : 0;
    if (status == ALM_OK && code >= 0)
        code = alm_io_rename_over(io, tmp, path);
    if (status == ALM_OK && code >= 0) {
        sym->saved_bytes = meta.size_bytes;
        sym->saved_version = ALM_SYMBOLS_VERSION;
        code = io->sync_dir(io, dir);
    }
    if (status == ALM_OK && code < 0)
        status = alm_io_fail(cx, code, path);
    if (status != ALM_OK)
        (void)io->unlink(io, tmp); /* not there any more, if it has its name */
    return status;
}

/* alm_symbols_crc with one value more. */
static uint32_t crc_with(uint32_t crc, alm_str text)
{
    const uint32_t len = (uint32_t)text.len;
    return alm_crc32c(alm_crc32c(crc, &len, sizeof(len)), text.ptr, len);
}

uint32_t alm_symbols_crc(alm_symbols *sym, uint32_t count)
{
    ALM_ASSERT(count >= 1 && count <= alm_symbols_count(sym));
    (void)pthread_mutex_lock(&sym->lock);
    uint32_t from = ALM_MAX(sym->summed, 1u), crc = sym->crc;
    (void)pthread_mutex_unlock(&sym->lock);
    if (from > count) {
        from = 1;
        crc = 0;
    }
    for (uint32_t code = from; code < count; code++)
        crc = crc_with(crc, alm_symbols_text(sym, code));
    (void)pthread_mutex_lock(&sym->lock);
    if (count > sym->summed) {
        sym->summed = count;
        sym->crc = crc;
    }
    (void)pthread_mutex_unlock(&sym->lock);
    return crc;
}

bool alm_symbols_has_new(alm_symbols *sym, uint32_t count)
{
    ALM_ASSERT(count >= 1 && count <= alm_symbols_count(sym));
    (void)pthread_mutex_lock(&sym->lock);
    const bool has = sym->lost == NULL && (count > sym->saved_count || sym->saved_bytes == 0);
    (void)pthread_mutex_unlock(&sym->lock);
    return has;
}

alm_status alm_symbols_write(alm_ctx *cx, alm_symbols *sym, const alm_io *io, const char *dir,
                             const char *name, uint32_t count, alm_symbols_saving *out)
{
    ALM_ASSERT(alm_symbols_has_new(sym, count));
    char path[PATH_BYTES];
    if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
        return alm_fail(cx, ALM_E_LIMIT, -1, "path '%s/%s' is too long", dir, name);
    (void)pthread_mutex_lock(&sym->lock);
    alm_status status = dict_file_write_locked(cx, sym, io, path, count, out);
    if (status == ALM_E_CORRUPT || status == ALM_E_UNSUPPORTED) {
        /* Memory has all values, from the file as it was: whatever has its name is replaced. */
        alm_log_warn("storage", "a dictionary is written anew: %s", cx->err.msg);
        alm_error_clear(cx);
        status = rewrite_locked(cx, sym, io, dir, path);
        if (status == ALM_OK)
            status = dict_file_write_locked(cx, sym, io, path, count, out);
    }
    (void)pthread_mutex_unlock(&sym->lock);
    return status;
}

void alm_symbols_saved(const alm_symbols_saving *saving)
{
    alm_symbols *sym = saving->sym;
    (void)pthread_mutex_lock(&sym->lock);
    ALM_ASSERT(saving->count >= sym->saved_count && saving->bytes >= sym->saved_bytes);
    sym->saved_bytes = saving->bytes;
    sym->saved_count = saving->count;
    (void)pthread_mutex_unlock(&sym->lock);
}

alm_status alm_dict_find_record(alm_ctx *cx, const alm_dict_bytes *file, size_t offset,
                                uint32_t first, alm_dict_record *head, const char **lens)
{
    const char *path = file->path, *map = file->map;
    const size_t size = file->size;
    if (size - offset < sizeof(*head))
        return dict_file_corrupt(cx, path, (int64_t)offset, "record is cut off");
    memcpy(head, map + offset, sizeof(*head));
    const size_t room = size - offset - sizeof(*head);
    if (head->magic != ALM_DICT_RECORD_MAGIC || head->first != first)
        return dict_file_corrupt(cx, path, (int64_t)offset, "not the next record");
    if ((size_t)head->n * 4 > room || head->text_bytes > room - (size_t)head->n * 4)
        return dict_file_corrupt(cx, path, (int64_t)offset, "record is cut off");
    *lens = map + offset + sizeof(*head);
    if (head->crc !=
        record_crc(head, file->version, *lens, (size_t)head->n * 4 + (size_t)head->text_bytes))
        return dict_file_corrupt(cx, path, (int64_t)offset, "record fails its checksum");
    return ALM_OK;
}

/* Calls each for every value of the record at *offset, and moves on behind it. */
typedef alm_status (*each_value)(alm_ctx *cx, alm_symbols *sym, uint32_t code, alm_str text);
static alm_status walk_record(alm_ctx *cx, alm_symbols *sym, const alm_dict_bytes *file,
                              uint32_t first, each_value each, size_t *offset, uint32_t *n)
{
    alm_dict_record head;
    const char *lens = NULL;
    ALM_TRY(alm_dict_find_record(cx, file, *offset, first, &head, &lens));
    const char *text = lens + (size_t)head.n * 4;
    uint64_t left = head.text_bytes;
    for (uint32_t i = 0; i < head.n; i++) {
        uint32_t len;
        memcpy(&len, lens + (size_t)i * 4, 4);
        if (len > left)
            return dict_file_corrupt(cx, file->path, (int64_t)*offset, "lengths exceed the record");
        ALM_TRY(each(cx, sym, head.first + i, (alm_str){text, len}));
        text += len;
        left -= len;
    }
    *offset += sizeof(head) + (size_t)head.n * 4 + (size_t)head.text_bytes;
    *n = head.n;
    return ALM_OK;
}

static alm_status sum_value(alm_ctx *cx, alm_symbols *sym, uint32_t code, alm_str text)
{
    (void)cx;
    sym->crc = crc_with(sym->crc, text);
    sym->summed = code + 1;
    return ALM_OK;
}

/* Calls each for the values [1, count) of the file, whose version is set. */
static alm_status walk_file(alm_ctx *cx, alm_symbols *sym, alm_dict_bytes *file, uint32_t count,
                            each_value each, size_t *end)
{
    uint32_t first = 1, n = 0;
    alm_dict_form form;
    ALM_TRY(alm_dict_check_header(cx, sym, file->path, file->map, file->size, &form));
    file->version = form.version;
    *end = form.bytes;
    for (; first < count; first += n)
        ALM_TRY(walk_record(cx, sym, file, first, each, end, &n));
    return first == count
               ? ALM_OK
               : dict_file_corrupt(cx, file->path, (int64_t)*end, "record reaches over the count");
}

/* All of it is checked before any of it is taken in: a file that is refused leaves nothing behind. */
static alm_status load_map(alm_ctx *cx, alm_symbols *sym, const char *path, const char *map,
                           size_t size, uint32_t count, uint32_t crc)
{
    size_t offset = 0;
    alm_dict_bytes file = {.path = path, .map = map, .size = size};
    alm_status status = walk_file(cx, sym, &file, count, sum_value, &offset);
    if (status == ALM_OK && crc != 0 && sym->crc != crc)
        status =
            alm_fail(cx, ALM_E_CORRUPT, -1,
                     "dictionary file '%s' is another one than the catalogue says: the checksum of "
                     "its first %u values is %08x, not %08x",
                     path, count - 1, sym->crc, crc);
    if (status != ALM_OK) {
        sym->summed = sym->crc = 0;
        return status;
    }
    ALM_TRY(walk_file(cx, sym, &file, count, alm_symbols_put, &offset));
    sym->saved_version = file.version;
    sym->saved_count = count;
    sym->saved_bytes = (int64_t)offset;
    return ALM_OK;
}

/* What hurts this file alone: it is damage, and no reason to refuse what others need. */
static alm_status dict_file_open_failed(alm_ctx *cx, const char *path, int code)
{
    char what[128];
    if (code == -EMFILE || code == -ENFILE || code == -ENOMEM || code == -EINTR)
        return alm_io_fail(cx, code, path);
    (void)snprintf(what, sizeof(what), "it cannot be opened: %s", strerror(-code));
    return dict_file_corrupt(cx, path, 0, what);
}

alm_status alm_symbols_load(alm_ctx *cx, alm_symbols *sym, const alm_io *io, const char *path,
                            uint32_t count, uint32_t crc)
{
    ALM_ASSERT(alm_symbols_count(sym) == 1);
    alm_io_stat meta = {0};
    const void *map = NULL;
    int code = io->stat(io, path, &meta);
    if (code == -ENOENT || (code >= 0 && (meta.is_dir || meta.size_bytes == 0)))
        return dict_file_corrupt(cx, path, 0, "it is missing");
    const int handle = code < 0 ? code : io->open(io, path, ALM_IO_READ);
    if (handle < 0)
        return dict_file_open_failed(cx, path, handle);
    code = io->map(io, handle, (size_t)meta.size_bytes, &map);
    (void)io->close(io, handle);
    if (code < 0)
        return alm_io_fail(cx, code, path);
    const alm_status status =
        io->prefetch(io, map, (size_t)meta.size_bytes) == -EFAULT
            ? dict_file_corrupt(cx, path, 0, "its bytes cannot be read")
            : load_map(cx, sym, path, map, (size_t)meta.size_bytes, count, crc);
    (void)io->unmap(io, map, (size_t)meta.size_bytes);
    return status;
}

/* ---------------------------------------------------------------- of a server that runs */

static alm_status dict_file_same_value(alm_ctx *cx, alm_symbols *sym, uint32_t code, alm_str text)
{
    if (code < alm_symbols_count(sym) && alm_str_eq(alm_symbols_text(sym, code), text))
        return ALM_OK;
    return alm_fail(cx, ALM_E_CORRUPT, -1,
                    "the dictionary of column %u of table %llu: code %u is another value in its "
                    "file than in memory",
                    sym->col_id, (unsigned long long)sym->table_id, code);
}

static alm_status compare_map(alm_ctx *cx, alm_symbols *sym, const char *path, const char *map,
                              size_t size, uint32_t count)
{
    alm_dict_form form;
    uint32_t first = 1, n = 0;
    ALM_TRY(alm_dict_check_header(cx, sym, path, map, size, &form));
    const alm_dict_bytes file = {path, map, size, form.version};
    size_t offset = form.bytes;
    for (; offset < size; first += n) {
        ALM_TRY(alm_check(cx));
        ALM_TRY(walk_record(cx, sym, &file, first, dict_file_same_value, &offset, &n));
    }
    return first == count
               ? ALM_OK
               : dict_file_corrupt(cx, path, (int64_t)offset, "it has not the values it should");
}

/* Only appended to beyond `bytes`: what is compared does not change. */
static alm_status compare_file(alm_ctx *cx, alm_symbols *sym, const alm_io *io, const char *path,
                               size_t bytes, uint32_t count)
{
    alm_io_stat meta = {0};
    const void *map = NULL;
    int code = io->stat(io, path, &meta);
    if (code == -ENOENT || (code >= 0 && (meta.is_dir || meta.size_bytes < (int64_t)bytes)))
        return dict_file_corrupt(cx, path, meta.size_bytes, "it is missing, or was cut");
    const int handle = code < 0 ? code : io->open(io, path, ALM_IO_READ);
    if (handle < 0)
        return dict_file_open_failed(cx, path, handle);
    code = io->map(io, handle, bytes, &map);
    (void)io->close(io, handle);
    if (code < 0)
        return alm_io_fail(cx, code, path);
    const alm_status status = io->prefetch(io, map, bytes) == -EFAULT
                                  ? dict_file_corrupt(cx, path, 0, "its bytes cannot be read")
                                  : compare_map(cx, sym, path, map, bytes, count);
    (void)io->unmap(io, map, bytes);
    return status;
}

alm_status alm_symbols_compare(alm_ctx *cx, alm_symbols *sym, const alm_io *io, const char *dir,
                               const char *name, int64_t *bytes)
{
    char path[PATH_BYTES];
    if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
        return alm_fail(cx, ALM_E_LIMIT, -1, "path '%s/%s' is too long", dir, name);
    ALM_TRY(alm_symbols_usable(cx, sym));
    (void)pthread_mutex_lock(&sym->lock);
    *bytes = sym->saved_bytes;
    const uint32_t count = sym->saved_count;
    (void)pthread_mutex_unlock(&sym->lock);
    return *bytes == 0 ? ALM_OK : compare_file(cx, sym, io, path, (size_t)*bytes, count);
}

alm_status alm_symbols_rewrite(alm_ctx *cx, alm_symbols *sym, const alm_io *io, const char *dir,
                               const char *name)
{
    char path[PATH_BYTES];
    if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
        return alm_fail(cx, ALM_E_LIMIT, -1, "path '%s/%s' is too long", dir, name);
    (void)pthread_mutex_lock(&sym->lock);
    const alm_status status = rewrite_locked(cx, sym, io, dir, path);
    (void)pthread_mutex_unlock(&sym->lock);
    return status;
}
