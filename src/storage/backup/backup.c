/*
 * backup.c - BACKUP: the files of one catalogue version into a directory, its manifest last.
 *
 * The version is held like that of a reader: its files stay, and writers do not wait. Parts are copied
 * in pieces; dictionaries and the catalogue are written anew, as they are at that version.
 */
#include "storage/backup/backup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/log.h"
#include "storage/backup/archive.h"
#include "storage/dict/dict.h"
#include "storage/part/format.h"
#include "storage/part/pack.h"
#include "storage/recover/recover.h"
#include "storage/write/commit.h"
#include "storage/write/flush.h"

enum { DIR_MAX = ALM_PATH_MAX - 256 };

typedef struct backup {
    alm_ctx *cx;
    alm_storage *st;
    const alm_io *io;
    char dir[DIR_MAX], files[DIR_MAX + 8];
    alm_owner owner; /* of `dir` */
    const alm_catver *cat;
    const alm_version *v; /* of the table at hand */
    const alm_backup_spec *spec;
    uint64_t *ids; /* of the chosen tables, ascending; NULL: all */
    alm_manifest before, now;
    alm_backup_result *result;
} backup;

/* ------------------------------------------------------------------------- copying */

typedef struct open_file {
    int handle;
    const char *path;
    int64_t first; /* byte */
} open_file;

/* What copy and sum share: without `out` it reads only. */
static alm_status pump(alm_ctx *cx, const alm_io *io, const open_file *in, const open_file *out,
                       int64_t most, int64_t *bytes, uint32_t *crc)
{
    char *piece = NULL;
    alm_status status = alm_heap_bytes(cx, ALM_BACKUP_PIECE, "a piece of a file", &piece);
    *bytes = 0;
    *crc = 0;
    while (status == ALM_OK) {
        status = alm_check(cx);
        const size_t want = (size_t)ALM_MIN(most - *bytes, (int64_t)ALM_BACKUP_PIECE);
        const int64_t got =
            status == ALM_OK ? io->read(io, in->handle, piece, want, in->first + *bytes) : 0;
        if (got < 0)
            status = alm_io_fail(cx, (int)got, in->path);
        if (got <= 0)
            break;
        *crc = alm_crc32c(*crc, piece, (size_t)got);
        if (out != NULL)
            status = alm_io_write_all(cx, io, out->handle, piece, (size_t)got, out->first + *bytes,
                                      out->path);
        *bytes += got;
    }
    free(piece);
    return status;
}

alm_status alm_backup_sum(alm_ctx *cx, const alm_io *io, const char *path, int64_t *bytes,
                          uint32_t *crc)
{
    const int in = io->open(io, path, ALM_IO_READ);
    if (in < 0)
        return alm_io_fail(cx, in, path);
    const alm_status status = pump(cx, io, &(open_file){in, path, 0}, NULL, INT64_MAX, bytes, crc);
    (void)io->close(io, in);
    return status;
}

alm_status alm_backup_copy(alm_ctx *cx, const alm_io *io, const char *from, int64_t first,
                           const char *dest, int64_t most, int64_t *bytes, uint32_t *crc)
{
    const int in = io->open(io, from, ALM_IO_READ);
    if (in < 0)
        return alm_io_fail(cx, in, from);
    const int out = alm_io_create(io, dest, ALM_IO_WRITE | ALM_IO_TRUNCATE);
    alm_status status = out < 0 ? alm_io_fail(cx, out, dest)
                                : pump(cx, io, &(open_file){in, from, first},
                                       &(open_file){out, dest, 0}, most, bytes, crc);
    (void)io->close(io, in);
    if (out < 0)
        return status;
    int code = status == ALM_OK ? io->sync(io, out) : 0;
    const int closed = io->close(io, out);
    code = code < 0 ? code : closed;
    if (status == ALM_OK && code < 0)
        status = alm_io_fail(cx, code, dest);
    if (status != ALM_OK)
        (void)io->unlink(io, dest);
    return status;
}

/* ----------------------------------------------------------------------- one file */

static void tmp_path(const backup *self, char *path, size_t size)
{
    (void)snprintf(path, size, "%s/incomplete.tmp", self->files);
}

static void stored_path(const backup *self, const char *name, char *path, size_t size)
{
    (void)snprintf(path, size, "%s/%s", self->dir, name);
}

static void progress(backup *self, int64_t bytes, int64_t copied)
{
    self->result->files++;
    self->result->bytes += bytes;
    self->result->bytes_copied += copied;
    self->result->files_copied += copied > 0;
    atomic_store(&self->st->backup.done, self->result->bytes);
}

/* The bytes of two open files. One that cannot be read has others. */
static bool same_bytes(alm_ctx *cx, const alm_io *io, int a, int b, int64_t size)
{
    char *piece = malloc(2 * (size_t)ALM_BACKUP_PIECE);
    int64_t offset = 0;
    while (piece != NULL && offset < size && alm_check(cx) == ALM_OK) {
        const size_t want = (size_t)ALM_MIN(size - offset, (int64_t)ALM_BACKUP_PIECE);
        const int64_t got = io->read(io, a, piece, want, offset);
        if (got <= 0 || io->read(io, b, piece + ALM_BACKUP_PIECE, (size_t)got, offset) != got ||
            memcmp(piece, piece + ALM_BACKUP_PIECE, (size_t)got) != 0)
            break;
        offset += got;
    }
    free(piece);
    return offset == size;
}

/* Does the file of that name have the bytes of the temporary one? Checksums do not tell: that of a header which ends with its own is
 * the same for all of them. What cannot be read is replaced. */
static bool storage_backup_is_there(const backup *self, const alm_backup_file *file,
                                    const char *tmp, const char *path)
{
    const alm_io *io = self->io;
    alm_ctx own = {.io = io, .cancel = self->cx->cancel};
    alm_io_stat meta;
    if (io->stat(io, path, &meta) < 0 || !meta.is_file || meta.size_bytes != file->bytes)
        return false;
    const int ours = io->open(io, tmp, ALM_IO_READ), there = io->open(io, path, ALM_IO_READ);
    const bool same = ours >= 0 && there >= 0 && same_bytes(&own, io, ours, there, file->bytes);
    if (ours >= 0)
        (void)io->close(io, ours);
    if (there >= 0)
        (void)io->close(io, there);
    return same;
}

/* The temporary file gets its name, or goes if the same bytes are there under that name. */
static alm_status name_file(backup *self, alm_backup_file *file)
{
    char tmp[ALM_PATH_MAX], path[ALM_PATH_MAX];
    tmp_path(self, tmp, sizeof tmp);
    stored_path(self, file->name, path, sizeof path);
    const bool there = storage_backup_is_there(self, file, tmp, path);
    const int code =
        there ? self->io->unlink(self->io, tmp) : alm_io_rename_over(self->io, tmp, path);
    if (code < 0)
        return alm_io_fail(self->cx, code, path);
    progress(self, file->bytes, there ? 0 : file->bytes);
    return alm_manifest_add(self->cx, &self->now, file);
}

static alm_status read_trailer(backup *self, const char *path, const alm_part_place *place,
                               alm_part_trailer *out)
{
    const int64_t bytes = place->bytes;
    const int handle = self->io->open(self->io, path, ALM_IO_READ);
    if (handle < 0)
        return alm_io_fail(self->cx, handle, path);
    const alm_status status =
        bytes < (int64_t)sizeof *out
            ? alm_fail(self->cx, ALM_E_CORRUPT, -1, "part file '%s' has %lld bytes", path,
                       (long long)bytes)
            : alm_io_read_all(self->cx, self->io, handle, out, sizeof *out,
                              place->offset + bytes - (int64_t)sizeof *out, path);
    (void)self->io->close(self->io, handle);
    return status;
}

/* The checksum of the footer stands for all bytes: it has the checksums of all blocks. Of a Parquet file all of
 * the footer is read, of a native one the trailer with its checksum. */
static alm_status sum_of_footer(backup *self, const alm_file *file, const char *path,
                                const alm_part_place *place, uint32_t *sum)
{
    alm_part *part = NULL;
    alm_part_claim claim;
    alm_part_trailer trailer;
    alm_file_claim(file, &claim);
    ALM_TRY(alm_part_is_file(self->cx, self->io, path));
    if (alm_file_id_is_parquet(file->id)) {
        ALM_TRY(alm_part_open(self->cx, self->io, path, NULL, file->table_id, NULL, &part));
        *sum = alm_part_footer_sum(part);
        const alm_status status = alm_part_match(self->cx, part, &claim);
        alm_part_release(part);
        return status;
    }
    ALM_TRY(read_trailer(self, path, place, &trailer));
    *sum = alm_crc32c(0, &trailer, sizeof trailer);
    /* Says what is wrong, where an earlier backup may have the same wrong bytes. */
    return claim.footer_crc == 0 || trailer.crc == claim.footer_crc
               ? ALM_OK
               : alm_part_verify(self->cx, self->io, path, file->pack != NULL ? place : NULL,
                                 &claim);
}

/* Damage must not spread: the copy is verified, so that nothing can come between. What is wrong with it is wrong with the
 * file that it is a copy of, or it was copied badly. */
static alm_status verify_copy(backup *self, const alm_file *file, const char *from,
                              const alm_part_place *shared, const char *tmp)
{
    alm_part_claim claim;
    alm_file_claim(file, &claim);
    alm_status status = alm_part_verify(self->cx, self->io, tmp, NULL, &claim);
    if (status != ALM_E_CORRUPT)
        return status;
    const alm_error was = self->cx->err;
    alm_error_clear(self->cx);
    ALM_TRY(alm_damage_of_table(self->cx, self->v->table.name, file,
                                alm_part_verify(self->cx, self->io, from, shared, &claim)));
    return alm_fail(self->cx, ALM_E_CORRUPT, -1, "'%s' was copied badly: %s", from, was.msg);
}

/* `shared`: where it lies in a file that it shares; NULL: it is the file. */
static alm_status copy_part(backup *self, const alm_file *file, alm_backup_file *backup_file,
                            const char *from, const alm_part_place *shared)
{
    char tmp[ALM_PATH_MAX];
    tmp_path(self, tmp, sizeof tmp);
    ALM_TRY(alm_storage_takes_space(self->cx, self->st));
    ALM_TRY(alm_backup_copy(self->cx, self->io, from, shared != NULL ? shared->offset : 0, tmp,
                            shared != NULL ? shared->bytes : INT64_MAX, &backup_file->bytes,
                            &backup_file->crc));
    if (backup_file->bytes != file->bytes)
        return alm_damage_of_table(self->cx, self->v->table.name, file,
                                   alm_fail(self->cx, ALM_E_CORRUPT, -1,
                                            "part file '%s' has %lld bytes, not the %lld it should "
                                            "have",
                                            from, (long long)backup_file->bytes,
                                            (long long)file->bytes));
    ALM_TRY(verify_copy(self, file, from, shared, tmp));
    return name_file(self, backup_file);
}

/* Is the file that an earlier backup has there still what it was? One that no manifest names, of a backup that did
 * not come to its end or of another choice of tables, is looked into. */
static alm_status storage_backup_is_sound(backup *self, const alm_file *file, const char *stored,
                                          alm_backup_file *backup_file, bool *sound)
{
    const alm_backup_file *old = alm_manifest_find(&self->before, backup_file->name);
    int64_t bytes = 0;
    alm_part_claim claim;
    alm_file_claim(file, &claim);
    *sound = true;
    if (old != NULL && old->bytes == backup_file->bytes)
        backup_file->crc = old->crc;
    else
        old = NULL;
    if (old != NULL && self->spec->trusts_stored)
        return ALM_OK;
    uint32_t crc = 0;
    alm_status status = alm_backup_sum(self->cx, self->io, stored, &bytes, &crc);
    if (status == ALM_OK && old != NULL && (bytes != backup_file->bytes || crc != backup_file->crc))
        status = alm_fail(self->cx, ALM_E_CORRUPT, -1, "'%s': its checksum does not match", stored);
    else if (status == ALM_OK && old == NULL)
        status = alm_part_verify(self->cx, self->io, stored, NULL, &claim);
    if (status != ALM_E_CORRUPT && status != ALM_E_IO && status != ALM_E_UNSUPPORTED) {
        backup_file->crc = crc;
        return status;
    }
    alm_log_warn("backup", "a file of an earlier backup is damaged, and is copied again: %s",
                 self->cx->err.msg);
    alm_error_clear(self->cx);
    *sound = false;
    return ALM_OK;
}

/* A part that an earlier backup has, by name (with the checksum in it) and size, is not copied again unless it
 * is damaged. */
static alm_status part(backup *self, const alm_file *file)
{
    char from[ALM_PATH_MAX], dest[ALM_PATH_MAX], name[ALM_NAME_MAX];
    alm_io_stat meta;
    uint32_t sum = 0;
    bool sound = false;
    alm_backup_file backup_file = {.bytes = file->bytes};
    alm_part_place place;
    bool shared = false;
    alm_file_where(file, from, sizeof from, &place, &shared);
    alm_file_name(file, name, sizeof name);
    ALM_TRY(alm_damage_of_table(self->cx, self->v->table.name, file,
                                sum_of_footer(self, file, from, &place, &sum)));
    (void)snprintf(backup_file.name, sizeof backup_file.name, "files/%llu-%.16s-%08x%s",
                   (unsigned long long)file->table_id, name, sum, name + 16);
    (void)snprintf(backup_file.path, sizeof backup_file.path, "tables/%llu/%s",
                   (unsigned long long)file->table_id, name);
    stored_path(self, backup_file.name, dest, sizeof dest);
    if (self->io->stat(self->io, dest, &meta) == 0 && meta.size_bytes == file->bytes)
        ALM_TRY(storage_backup_is_sound(self, file, dest, &backup_file, &sound));
    if (!sound)
        return copy_part(self, file, &backup_file, from, shared ? &place : NULL);
    progress(self, backup_file.bytes, 0);
    return alm_manifest_add(self->cx, &self->now, &backup_file);
}

static alm_status storage_backup_parts(backup *self, const alm_part_set *set)
{
    for (uint32_t i = 0; set != NULL && i < set->n; i++) {
        ALM_TRY(part(self, set->parts[i]->file));
        for (uint32_t j = 0; j < set->parts[i]->n_overlays; j++)
            ALM_TRY(part(self, set->parts[i]->overlays[j].file));
    }
    return ALM_OK;
}

static alm_status dictionary(backup *self, const alm_version *version, uint32_t col)
{
    char tmp[ALM_PATH_MAX];
    alm_backup_file file = {.bytes = 0};
    const uint32_t count = version->schema->dicts[col].count, id = version->schema->cols[col].id;
    tmp_path(self, tmp, sizeof tmp);
    ALM_TRY(alm_table_is_open(self->cx, &version->table, -1));
    ALM_TRY(alm_symbols_export(self->cx, version->schema->symbols[col], self->io, tmp, count));
    ALM_TRY(alm_backup_sum(self->cx, self->io, tmp, &file.bytes, &file.crc));
    (void)snprintf(file.name, sizeof file.name, "files/%llu-%u-%u-%08x.dict",
                   (unsigned long long)version->table.id, id, count, file.crc);
    (void)snprintf(file.path, sizeof file.path, "tables/%llu/%u.dict",
                   (unsigned long long)version->table.id, id);
    return name_file(self, &file);
}

static bool storage_backup_is_chosen(const backup *self, const alm_version *version)
{
    for (uint32_t i = 0; self->ids != NULL && i < self->spec->n_tables; i++)
        if (self->ids[i] == version->table.id)
            return true;
    return self->ids == NULL;
}

static alm_status tables(backup *self)
{
    for (size_t i = 0; i < self->cat->n; i++) {
        const alm_version *version = alm_catver_at(self->cat, i);
        if (!storage_backup_is_chosen(self, version))
            continue;
        self->v = version;
        ALM_TRY(storage_backup_parts(self, version->parts));
        ALM_TRY(storage_backup_parts(self, version->detached));
        for (uint32_t col = 0; col < version->schema->n_cols; col++)
            if (version->schema->symbols[col] != NULL && version->schema->dicts[col].count > 1)
                ALM_TRY(dictionary(self, version, col));
    }
    return ALM_OK;
}

static alm_status storage_backup_catalogue(backup *self)
{
    char tmp[ALM_PATH_MAX];
    alm_backup_file file = {.path = "catalog"};
    tmp_path(self, tmp, sizeof tmp);
    const alm_catalog_choice only = {.ids = self->ids, .n = self->spec->n_tables};
    ALM_TRY(alm_catalog_write_to(self->cx, self->st, self->cat, &only, tmp));
    ALM_TRY(alm_backup_sum(self->cx, self->io, tmp, &file.bytes, &file.crc));
    (void)snprintf(file.name, sizeof file.name, "files/%llu-%08x.catalog",
                   (unsigned long long)self->cat->lsn, file.crc);
    return name_file(self, &file);
}

/* ------------------------------------------------------------------------ the whole */

/* The entry in the parent is synced even if the directory is there: who made it may have ended before it was durable. */
alm_status alm_backup_dir(alm_ctx *cx, const alm_io *io, const char *dir)
{
    char parent[ALM_PATH_MAX];
    alm_io_stat meta;
    const bool there = io->stat(io, dir, &meta) == 0 && meta.is_dir;
    int code = there ? 0 : io->mkdir(io, dir);
    (void)snprintf(parent, sizeof parent, "%s", dir);
    for (size_t len = strlen(parent); len > 1 && parent[len - 1] == '/'; len--)
        parent[len - 1] = 0;
    char *slash = strrchr(parent, '/');
    if (slash == NULL)
        (void)snprintf(parent, sizeof parent, ".");
    else
        slash[slash == parent] = 0; /* "/x" lies in "/" */
    if (code >= 0)
        code = io->sync_dir(io, parent);
    if (there && (code == -EACCES || code == -EPERM))
        code = 0; /* the parent is not ours to sync */
    if (code < 0 && !there)
        (void)io->rmdir(io, dir); /* or the next caller would believe in it */
    return code < 0 ? alm_io_fail(cx, code, dir) : ALM_OK;
}

/* A restore takes the newest backup, whichever database it is of. */
static alm_status storage_backup_check_database(const backup *self)
{
    const uint64_t has = self->before.database_id, id = self->st->database_id;
    if (has == 0 || has == id)
        return ALM_OK;
    return alm_fail(self->cx, ALM_E_EXISTS, -1,
                    "'%s' has backups of another database, with database id %016llx; this one has "
                    "%016llx and needs a directory of its own",
                    self->dir, (unsigned long long)has, (unsigned long long)id);
}

static alm_status storage_backup_open_dir(backup *self)
{
    ALM_TRY(alm_backup_dir(self->cx, self->io, self->dir));
    ALM_TRY(alm_backup_dir(self->cx, self->io, self->files));
    const alm_status owned = alm_owner_take(self->cx, self->io, self->dir, true, &self->owner);
    if (owned == ALM_E_BUSY) {
        alm_error_clear(self->cx);
        return alm_fail(self->cx, ALM_E_BUSY, -1, "another backup to '%s' is running", self->dir);
    }
    ALM_TRY(owned);
    uint32_t *all = NULL;
    size_t n = 0;
    ALM_TRY(alm_manifest_list(self->cx, self->io, self->dir, &all, &n));
    if (n > 0 && all[n - 1] >= ALM_BACKUP_GENERATION_MAX) {
        free(all);
        return alm_fail(self->cx, ALM_E_LIMIT, -1, "'%s' has a backup of the last number, %d",
                        self->dir, ALM_BACKUP_GENERATION_MAX);
    }
    self->now.generation = n == 0 ? 1 : all[n - 1] + 1;
    if (n > 0 &&
        alm_manifest_read(self->cx, self->io, self->dir, all[n - 1], &self->before) != ALM_OK) {
        alm_log_warn("backup", "%s", self->cx->err.msg); /* its files are looked at one by one */
        alm_error_clear(self->cx);
    }
    free(all);
    return storage_backup_check_database(self);
}

static alm_status storage_backup_choose(backup *self)
{
    if (self->spec->n_tables == 0)
        return ALM_OK;
    ALM_TRY(
        alm_heap_bytes(self->cx, self->spec->n_tables * sizeof *self->ids, "a backup", &self->ids));
    for (uint32_t i = 0; i < self->spec->n_tables; i++) {
        const int64_t offset = alm_catver_by_name(self->cat, self->spec->tables[i]);
        if (offset < 0)
            return alm_fail(self->cx, ALM_E_TABLE, -1, "table does not exist [table=%.*s]",
                            (int)self->spec->tables[i].len, self->spec->tables[i].ptr);
        self->ids[i] = alm_catver_at(self->cat, (size_t)offset)->table.id;
    }
    return ALM_OK;
}

static int64_t storage_backup_bytes_of(const backup *self)
{
    int64_t count = 0;
    for (size_t i = 0; i < self->cat->n; i++) {
        const alm_version *version = alm_catver_at(self->cat, i);
        if (storage_backup_is_chosen(self, version))
            count +=
                version->parts->bytes + (version->detached != NULL ? version->detached->bytes : 0);
    }
    return count;
}

static alm_status storage_backup_run(backup *self)
{
    ALM_TRY(storage_backup_open_dir(self));
    ALM_TRY(storage_backup_choose(self));
    atomic_store(&self->st->backup.done, 0);
    atomic_store(&self->st->backup.total, storage_backup_bytes_of(self));
    self->now.lsn = self->cat->lsn;
    self->now.database_id = self->st->database_id;
    if (self->st->conf.archive_dir != NULL)
        (void)snprintf(self->now.archive, sizeof self->now.archive, "%s",
                       self->st->conf.archive_dir);
    self->now.time_us = self->io->wall_ns(self->io) / 1000;
    ALM_TRY(tables(self));
    ALM_TRY(storage_backup_catalogue(self));
    atomic_store(&self->st->backup.total, self->result->bytes); /* it was of the parts alone */
    const int code = self->io->sync_dir(self->io, self->files);
    if (code < 0)
        return alm_io_fail(self->cx, code, self->files);
    ALM_TRY(alm_manifest_write(self->cx, self->io, self->dir, &self->now));
    self->result->generation = self->now.generation;
    self->result->lsn = self->now.lsn;
    return ALM_OK;
}

static void remove_tmp(const backup *self)
{
    char tmp[ALM_PATH_MAX];
    tmp_path(self, tmp, sizeof tmp);
    (void)self->io->unlink(self->io, tmp);
}

alm_status alm_storage_backup(alm_ctx *cx, alm_storage *storage, const alm_backup_spec *spec,
                              alm_backup_result *out)
{
    backup self = {.cx = cx, .st = storage, .io = storage->io, .spec = spec, .result = out};
    *out = (alm_backup_result){0};
    const int len = snprintf(self.dir, sizeof self.dir, "%s", spec->dir);
    if (len < 0 || (size_t)len >= sizeof self.dir)
        return alm_fail(cx, ALM_E_LIMIT, -1, "the path of the backup is longer than %zu bytes",
                        sizeof self.dir - 1);
    (void)snprintf(self.files, sizeof self.files, "%s/files", self.dir);
    const int64_t started = alm_monotonic_ns();
    ALM_TRY(alm_storage_takes_space(cx, storage));
    if (!atomic_load(&storage->failed)) /* read-only: what is in memory is in the catalogue then */
        ALM_TRY(alm_heads_flush(cx, storage, ALM_CHECKPOINT_KEEP_BYTES));
    alm_catver *cat = alm_catver_current(storage);
    self.cat = cat;
    atomic_fetch_add(&storage->backup.running, 1);
    const alm_status status = storage_backup_run(&self);
    atomic_fetch_sub(&storage->backup.running, 1);
    if (status == ALM_OK && spec->n_tables == 0)
        atomic_store(&storage->backup.whole_lsn, out->lsn);
    if (status != ALM_OK && self.owner.io != NULL)
        remove_tmp(&self);
    alm_owner_leave(&self.owner);
    free(self.ids);
    alm_manifest_free(&self.before);
    alm_manifest_free(&self.now);
    alm_catver_release(cat);
    if (status == ALM_OK)
        alm_log_info(
            "backup", "backup %u to '%s' in %lld ms: lsn %llu, %lld of %lld bytes copied",
            out->generation, self.dir, (long long)((alm_monotonic_ns() - started) / 1000000),
            (unsigned long long)out->lsn, (long long)out->bytes_copied, (long long)out->bytes);
    return status;
}

void alm_storage_backup_status(const alm_storage *storage, alm_backup_status *out)
{
    *out = (alm_backup_status){.in_progress = atomic_load(&storage->backup.running) > 0,
                               .bytes_done = atomic_load(&storage->backup.done),
                               .bytes_total = atomic_load(&storage->backup.total),
                               .archive = alm_archive_is_on(storage),
                               .archive_failing = atomic_load(&storage->archive.failing)};
    if (out->archive)
        out->archived_lsn = atomic_load(&storage->wal.keep_lsn);
}
