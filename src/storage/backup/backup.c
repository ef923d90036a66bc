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
    alm_status st = alm_heap_bytes(cx, ALM_BACKUP_PIECE, "a piece of a file", &piece);
    *bytes = 0;
    *crc = 0;
    while (st == ALM_OK) {
        st = alm_check(cx);
        const size_t want = (size_t)ALM_MIN(most - *bytes, (int64_t)ALM_BACKUP_PIECE);
        const int64_t n =
            st == ALM_OK ? io->read(io, in->handle, piece, want, in->first + *bytes) : 0;
        if (n < 0)
            st = alm_io_fail(cx, (int)n, in->path);
        if (n <= 0)
            break;
        *crc = alm_crc32c(*crc, piece, (size_t)n);
        if (out != NULL)
            st = alm_io_write_all(cx, io, out->handle, piece, (size_t)n, out->first + *bytes,
                                  out->path);
        *bytes += n;
    }
    free(piece);
    return st;
}

alm_status alm_backup_sum(alm_ctx *cx, const alm_io *io, const char *path, int64_t *bytes,
                          uint32_t *crc)
{
    const int in = io->open(io, path, ALM_IO_READ);
    if (in < 0)
        return alm_io_fail(cx, in, path);
    const alm_status st = pump(cx, io, &(open_file){in, path, 0}, NULL, INT64_MAX, bytes, crc);
    (void)io->close(io, in);
    return st;
}

alm_status alm_backup_copy(alm_ctx *cx, const alm_io *io, const char *from, int64_t first,
                           const char *to, int64_t most, int64_t *bytes, uint32_t *crc)
{
    const int in = io->open(io, from, ALM_IO_READ);
    if (in < 0)
        return alm_io_fail(cx, in, from);
    const int out = alm_io_create(io, to, ALM_IO_WRITE | ALM_IO_TRUNCATE);
    alm_status st = out < 0 ? alm_io_fail(cx, out, to)
                            : pump(cx, io, &(open_file){in, from, first}, &(open_file){out, to, 0},
                                   most, bytes, crc);
    (void)io->close(io, in);
    if (out < 0)
        return st;
    int e = st == ALM_OK ? io->sync(io, out) : 0;
    const int closed = io->close(io, out);
    e = e < 0 ? e : closed;
    if (st == ALM_OK && e < 0)
        st = alm_io_fail(cx, e, to);
    if (st != ALM_OK)
        (void)io->unlink(io, to);
    return st;
}

/* ----------------------------------------------------------------------- one file */

static void tmp_path(const backup *b, char *path, size_t size)
{
    (void)snprintf(path, size, "%s/incomplete.tmp", b->files);
}

static void stored_path(const backup *b, const char *name, char *path, size_t size)
{
    (void)snprintf(path, size, "%s/%s", b->dir, name);
}

static void progress(backup *b, int64_t bytes, int64_t copied)
{
    b->result->files++;
    b->result->bytes += bytes;
    b->result->bytes_copied += copied;
    b->result->files_copied += copied > 0;
    atomic_store(&b->st->backup.done, b->result->bytes);
}

/* The bytes of two open files. One that cannot be read has others. */
static bool same_bytes(alm_ctx *cx, const alm_io *io, int a, int b, int64_t size)
{
    char *piece = malloc(2 * (size_t)ALM_BACKUP_PIECE);
    int64_t at = 0;
    while (piece != NULL && at < size && alm_check(cx) == ALM_OK) {
        const size_t want = (size_t)ALM_MIN(size - at, (int64_t)ALM_BACKUP_PIECE);
        const int64_t n = io->read(io, a, piece, want, at);
        if (n <= 0 || io->read(io, b, piece + ALM_BACKUP_PIECE, (size_t)n, at) != n ||
            memcmp(piece, piece + ALM_BACKUP_PIECE, (size_t)n) != 0)
            break;
        at += n;
    }
    free(piece);
    return at == size;
}

/* Does the file of that name have the bytes of the temporary one? Checksums do not tell: that of a header which ends with its own is
 * the same for all of them. What cannot be read is replaced. */
static bool is_there(const backup *b, const alm_backup_file *f, const char *tmp, const char *path)
{
    const alm_io *io = b->io;
    alm_ctx own = {.io = io, .cancel = b->cx->cancel};
    alm_io_stat meta;
    if (io->stat(io, path, &meta) < 0 || !meta.is_file || meta.size_bytes != f->bytes)
        return false;
    const int ours = io->open(io, tmp, ALM_IO_READ), there = io->open(io, path, ALM_IO_READ);
    const bool same = ours >= 0 && there >= 0 && same_bytes(&own, io, ours, there, f->bytes);
    if (ours >= 0)
        (void)io->close(io, ours);
    if (there >= 0)
        (void)io->close(io, there);
    return same;
}

/* The temporary file gets its name, or goes if the same bytes are there under that name. */
static alm_status name_file(backup *b, alm_backup_file *f)
{
    char tmp[ALM_PATH_MAX], path[ALM_PATH_MAX];
    tmp_path(b, tmp, sizeof tmp);
    stored_path(b, f->name, path, sizeof path);
    const bool there = is_there(b, f, tmp, path);
    const int e = there ? b->io->unlink(b->io, tmp) : alm_io_rename_over(b->io, tmp, path);
    if (e < 0)
        return alm_io_fail(b->cx, e, path);
    progress(b, f->bytes, there ? 0 : f->bytes);
    return alm_manifest_add(b->cx, &b->now, f);
}

static alm_status read_trailer(backup *b, const char *path, const alm_part_place *place,
                               alm_part_trailer *out)
{
    const int64_t bytes = place->bytes;
    const int h = b->io->open(b->io, path, ALM_IO_READ);
    if (h < 0)
        return alm_io_fail(b->cx, h, path);
    const alm_status st = bytes < (int64_t)sizeof *out
                              ? alm_fail(b->cx, ALM_E_CORRUPT, -1, "part file '%s' has %lld bytes",
                                         path, (long long)bytes)
                              : alm_io_read_all(b->cx, b->io, h, out, sizeof *out,
                                                place->offset + bytes - (int64_t)sizeof *out, path);
    (void)b->io->close(b->io, h);
    return st;
}

/* The checksum of the footer stands for all bytes: it has the checksums of all blocks. Of a Parquet file all of
 * the footer is read, of a native one the trailer with its checksum. */
static alm_status sum_of_footer(backup *b, const alm_file *file, const char *path,
                                const alm_part_place *place, uint32_t *sum)
{
    alm_part *part = NULL;
    alm_part_claim claim;
    alm_part_trailer trailer;
    alm_file_claim(file, &claim);
    ALM_TRY(alm_part_is_file(b->cx, b->io, path));
    if (alm_file_id_is_parquet(file->id)) {
        ALM_TRY(alm_part_open(b->cx, b->io, path, NULL, file->table_id, NULL, &part));
        *sum = alm_part_footer_sum(part);
        const alm_status st = alm_part_match(b->cx, part, &claim);
        alm_part_release(part);
        return st;
    }
    ALM_TRY(read_trailer(b, path, place, &trailer));
    *sum = alm_crc32c(0, &trailer, sizeof trailer);
    /* Says what is wrong, where an earlier backup may have the same wrong bytes. */
    return claim.footer_crc == 0 || trailer.crc == claim.footer_crc
               ? ALM_OK
               : alm_part_verify(b->cx, b->io, path, file->pack != NULL ? place : NULL, &claim);
}

/* Damage must not spread: the copy is verified, so that nothing can come between. What is wrong with it is wrong with the
 * file that it is a copy of, or it was copied badly. */
static alm_status verify_copy(backup *b, const alm_file *file, const char *from,
                              const alm_part_place *shared, const char *tmp)
{
    alm_part_claim claim;
    alm_file_claim(file, &claim);
    alm_status st = alm_part_verify(b->cx, b->io, tmp, NULL, &claim);
    if (st != ALM_E_CORRUPT)
        return st;
    const alm_error was = b->cx->err;
    alm_error_clear(b->cx);
    ALM_TRY(alm_damage_of_table(b->cx, b->v->table.name, file,
                                alm_part_verify(b->cx, b->io, from, shared, &claim)));
    return alm_fail(b->cx, ALM_E_CORRUPT, -1, "'%s' was copied badly: %s", from, was.msg);
}

/* `shared`: where it lies in a file that it shares; NULL: it is the file. */
static alm_status copy_part(backup *b, const alm_file *file, alm_backup_file *f, const char *from,
                            const alm_part_place *shared)
{
    char tmp[ALM_PATH_MAX];
    tmp_path(b, tmp, sizeof tmp);
    ALM_TRY(alm_storage_takes_space(b->cx, b->st));
    ALM_TRY(alm_backup_copy(b->cx, b->io, from, shared != NULL ? shared->offset : 0, tmp,
                            shared != NULL ? shared->bytes : INT64_MAX, &f->bytes, &f->crc));
    if (f->bytes != file->bytes)
        return alm_damage_of_table(b->cx, b->v->table.name, file,
                                   alm_fail(b->cx, ALM_E_CORRUPT, -1,
                                            "part file '%s' has %lld bytes, not the %lld it should "
                                            "have",
                                            from, (long long)f->bytes, (long long)file->bytes));
    ALM_TRY(verify_copy(b, file, from, shared, tmp));
    return name_file(b, f);
}

/* Is the file that an earlier backup has there still what it was? One that no manifest names, of a backup that did
 * not come to its end or of another choice of tables, is looked into. */
static alm_status is_sound(backup *b, const alm_file *file, const char *stored, alm_backup_file *f,
                           bool *sound)
{
    const alm_backup_file *old = alm_manifest_find(&b->before, f->name);
    int64_t bytes = 0;
    alm_part_claim claim;
    alm_file_claim(file, &claim);
    *sound = true;
    if (old != NULL && old->bytes == f->bytes)
        f->crc = old->crc;
    else
        old = NULL;
    if (old != NULL && b->spec->trusts_stored)
        return ALM_OK;
    uint32_t crc = 0;
    alm_status st = alm_backup_sum(b->cx, b->io, stored, &bytes, &crc);
    if (st == ALM_OK && old != NULL && (bytes != f->bytes || crc != f->crc))
        st = alm_fail(b->cx, ALM_E_CORRUPT, -1, "'%s': its checksum does not match", stored);
    else if (st == ALM_OK && old == NULL)
        st = alm_part_verify(b->cx, b->io, stored, NULL, &claim);
    if (st != ALM_E_CORRUPT && st != ALM_E_IO && st != ALM_E_UNSUPPORTED) {
        f->crc = crc;
        return st;
    }
    alm_log_warn("backup", "a file of an earlier backup is damaged, and is copied again: %s",
                 b->cx->err.msg);
    alm_error_clear(b->cx);
    *sound = false;
    return ALM_OK;
}

/* A part that an earlier backup has, by name (with the checksum in it) and size, is not copied again unless it
 * is damaged. */
static alm_status part(backup *b, const alm_file *file)
{
    char from[ALM_PATH_MAX], to[ALM_PATH_MAX], name[ALM_NAME_MAX];
    alm_io_stat meta;
    uint32_t sum = 0;
    bool sound = false;
    alm_backup_file f = {.bytes = file->bytes};
    alm_part_place place;
    bool shared = false;
    alm_file_where(file, from, sizeof from, &place, &shared);
    alm_file_name(file, name, sizeof name);
    ALM_TRY(alm_damage_of_table(b->cx, b->v->table.name, file,
                                sum_of_footer(b, file, from, &place, &sum)));
    (void)snprintf(f.name, sizeof f.name, "files/%llu-%.16s-%08x%s",
                   (unsigned long long)file->table_id, name, sum, name + 16);
    (void)snprintf(f.path, sizeof f.path, "tables/%llu/%s", (unsigned long long)file->table_id,
                   name);
    stored_path(b, f.name, to, sizeof to);
    if (b->io->stat(b->io, to, &meta) == 0 && meta.size_bytes == file->bytes)
        ALM_TRY(is_sound(b, file, to, &f, &sound));
    if (!sound)
        return copy_part(b, file, &f, from, shared ? &place : NULL);
    progress(b, f.bytes, 0);
    return alm_manifest_add(b->cx, &b->now, &f);
}

static alm_status parts(backup *b, const alm_part_set *set)
{
    for (uint32_t i = 0; set != NULL && i < set->n; i++) {
        ALM_TRY(part(b, set->parts[i]->file));
        for (uint32_t j = 0; j < set->parts[i]->n_overlays; j++)
            ALM_TRY(part(b, set->parts[i]->overlays[j].file));
    }
    return ALM_OK;
}

static alm_status dictionary(backup *b, const alm_version *v, uint32_t c)
{
    char tmp[ALM_PATH_MAX];
    alm_backup_file f = {.bytes = 0};
    const uint32_t count = v->schema->dicts[c].count, id = v->schema->cols[c].id;
    tmp_path(b, tmp, sizeof tmp);
    ALM_TRY(alm_table_is_open(b->cx, &v->table, -1));
    ALM_TRY(alm_symbols_export(b->cx, v->schema->symbols[c], b->io, tmp, count));
    ALM_TRY(alm_backup_sum(b->cx, b->io, tmp, &f.bytes, &f.crc));
    (void)snprintf(f.name, sizeof f.name, "files/%llu-%u-%u-%08x.dict",
                   (unsigned long long)v->table.id, id, count, f.crc);
    (void)snprintf(f.path, sizeof f.path, "tables/%llu/%u.dict", (unsigned long long)v->table.id,
                   id);
    return name_file(b, &f);
}

static bool is_chosen(const backup *b, const alm_version *v)
{
    for (uint32_t i = 0; b->ids != NULL && i < b->spec->n_tables; i++)
        if (b->ids[i] == v->table.id)
            return true;
    return b->ids == NULL;
}

static alm_status tables(backup *b)
{
    for (size_t i = 0; i < b->cat->n; i++) {
        const alm_version *v = alm_catver_at(b->cat, i);
        if (!is_chosen(b, v))
            continue;
        b->v = v;
        ALM_TRY(parts(b, v->parts));
        ALM_TRY(parts(b, v->detached));
        for (uint32_t c = 0; c < v->schema->n_cols; c++)
            if (v->schema->symbols[c] != NULL && v->schema->dicts[c].count > 1)
                ALM_TRY(dictionary(b, v, c));
    }
    return ALM_OK;
}

static alm_status catalogue(backup *b)
{
    char tmp[ALM_PATH_MAX];
    alm_backup_file f = {.path = "catalog"};
    tmp_path(b, tmp, sizeof tmp);
    const alm_catalog_choice only = {.ids = b->ids, .n = b->spec->n_tables};
    ALM_TRY(alm_catalog_write_to(b->cx, b->st, b->cat, &only, tmp));
    ALM_TRY(alm_backup_sum(b->cx, b->io, tmp, &f.bytes, &f.crc));
    (void)snprintf(f.name, sizeof f.name, "files/%llu-%08x.catalog",
                   (unsigned long long)b->cat->lsn, f.crc);
    return name_file(b, &f);
}

/* ------------------------------------------------------------------------ the whole */

/* The entry in the parent is synced even if the directory is there: who made it may have ended before it was durable. */
alm_status alm_backup_dir(alm_ctx *cx, const alm_io *io, const char *dir)
{
    char parent[ALM_PATH_MAX];
    alm_io_stat meta;
    const bool there = io->stat(io, dir, &meta) == 0 && meta.is_dir;
    int e = there ? 0 : io->mkdir(io, dir);
    (void)snprintf(parent, sizeof parent, "%s", dir);
    for (size_t n = strlen(parent); n > 1 && parent[n - 1] == '/'; n--)
        parent[n - 1] = 0;
    char *slash = strrchr(parent, '/');
    if (slash == NULL)
        (void)snprintf(parent, sizeof parent, ".");
    else
        slash[slash == parent] = 0; /* "/x" lies in "/" */
    if (e >= 0)
        e = io->sync_dir(io, parent);
    if (there && (e == -EACCES || e == -EPERM))
        e = 0; /* the parent is not ours to sync */
    if (e < 0 && !there)
        (void)io->rmdir(io, dir); /* or the next caller would believe in it */
    return e < 0 ? alm_io_fail(cx, e, dir) : ALM_OK;
}

/* A restore takes the newest backup, whichever database it is of. */
static alm_status check_database(const backup *b)
{
    const uint64_t has = b->before.database_id, id = b->st->database_id;
    if (has == 0 || has == id)
        return ALM_OK;
    return alm_fail(b->cx, ALM_E_EXISTS, -1,
                    "'%s' has backups of another database, with database id %016llx; this one has "
                    "%016llx and needs a directory of its own",
                    b->dir, (unsigned long long)has, (unsigned long long)id);
}

static alm_status open_dir(backup *b)
{
    ALM_TRY(alm_backup_dir(b->cx, b->io, b->dir));
    ALM_TRY(alm_backup_dir(b->cx, b->io, b->files));
    const alm_status owned = alm_owner_take(b->cx, b->io, b->dir, true, &b->owner);
    if (owned == ALM_E_BUSY) {
        alm_error_clear(b->cx);
        return alm_fail(b->cx, ALM_E_BUSY, -1, "another backup to '%s' is running", b->dir);
    }
    ALM_TRY(owned);
    uint32_t *all = NULL;
    size_t n = 0;
    ALM_TRY(alm_manifest_list(b->cx, b->io, b->dir, &all, &n));
    if (n > 0 && all[n - 1] >= ALM_BACKUP_GENERATION_MAX) {
        free(all);
        return alm_fail(b->cx, ALM_E_LIMIT, -1, "'%s' has a backup of the last number, %d", b->dir,
                        ALM_BACKUP_GENERATION_MAX);
    }
    b->now.generation = n == 0 ? 1 : all[n - 1] + 1;
    if (n > 0 && alm_manifest_read(b->cx, b->io, b->dir, all[n - 1], &b->before) != ALM_OK) {
        alm_log_warn("backup", "%s", b->cx->err.msg); /* its files are looked at one by one */
        alm_error_clear(b->cx);
    }
    free(all);
    return check_database(b);
}

static alm_status choose(backup *b)
{
    if (b->spec->n_tables == 0)
        return ALM_OK;
    ALM_TRY(alm_heap_bytes(b->cx, b->spec->n_tables * sizeof *b->ids, "a backup", &b->ids));
    for (uint32_t i = 0; i < b->spec->n_tables; i++) {
        const int64_t at = alm_catver_by_name(b->cat, b->spec->tables[i]);
        if (at < 0)
            return alm_fail(b->cx, ALM_E_TABLE, -1, "table does not exist [table=%.*s]",
                            (int)b->spec->tables[i].len, b->spec->tables[i].ptr);
        b->ids[i] = alm_catver_at(b->cat, (size_t)at)->table.id;
    }
    return ALM_OK;
}

static int64_t bytes_of(const backup *b)
{
    int64_t n = 0;
    for (size_t i = 0; i < b->cat->n; i++) {
        const alm_version *v = alm_catver_at(b->cat, i);
        if (is_chosen(b, v))
            n += v->parts->bytes + (v->detached != NULL ? v->detached->bytes : 0);
    }
    return n;
}

static alm_status run(backup *b)
{
    ALM_TRY(open_dir(b));
    ALM_TRY(choose(b));
    atomic_store(&b->st->backup.done, 0);
    atomic_store(&b->st->backup.total, bytes_of(b));
    b->now.lsn = b->cat->lsn;
    b->now.database_id = b->st->database_id;
    if (b->st->conf.archive_dir != NULL)
        (void)snprintf(b->now.archive, sizeof b->now.archive, "%s", b->st->conf.archive_dir);
    b->now.time_us = b->io->wall_ns(b->io) / 1000;
    ALM_TRY(tables(b));
    ALM_TRY(catalogue(b));
    atomic_store(&b->st->backup.total, b->result->bytes); /* it was of the parts alone */
    const int e = b->io->sync_dir(b->io, b->files);
    if (e < 0)
        return alm_io_fail(b->cx, e, b->files);
    ALM_TRY(alm_manifest_write(b->cx, b->io, b->dir, &b->now));
    b->result->generation = b->now.generation;
    b->result->lsn = b->now.lsn;
    return ALM_OK;
}

static void remove_tmp(const backup *b)
{
    char tmp[ALM_PATH_MAX];
    tmp_path(b, tmp, sizeof tmp);
    (void)b->io->unlink(b->io, tmp);
}

alm_status alm_storage_backup(alm_ctx *cx, alm_storage *st, const alm_backup_spec *spec,
                              alm_backup_result *out)
{
    backup b = {.cx = cx, .st = st, .io = st->io, .spec = spec, .result = out};
    *out = (alm_backup_result){0};
    const int n = snprintf(b.dir, sizeof b.dir, "%s", spec->dir);
    if (n < 0 || (size_t)n >= sizeof b.dir)
        return alm_fail(cx, ALM_E_LIMIT, -1, "the path of the backup is longer than %zu bytes",
                        sizeof b.dir - 1);
    (void)snprintf(b.files, sizeof b.files, "%s/files", b.dir);
    const int64_t started = alm_monotonic_ns();
    ALM_TRY(alm_storage_takes_space(cx, st));
    if (!atomic_load(&st->failed)) /* read-only: what is in memory is in the catalogue then */
        ALM_TRY(alm_heads_flush(cx, st, ALM_CHECKPOINT_KEEP_BYTES));
    alm_catver *cat = alm_catver_current(st);
    b.cat = cat;
    atomic_fetch_add(&st->backup.running, 1);
    const alm_status e = run(&b);
    atomic_fetch_sub(&st->backup.running, 1);
    if (e == ALM_OK && spec->n_tables == 0)
        atomic_store(&st->backup.whole_lsn, out->lsn);
    if (e != ALM_OK && b.owner.io != NULL)
        remove_tmp(&b);
    alm_owner_leave(&b.owner);
    free(b.ids);
    alm_manifest_free(&b.before);
    alm_manifest_free(&b.now);
    alm_catver_release(cat);
    if (e == ALM_OK)
        alm_log_info("backup", "backup %u to '%s' in %lld ms: lsn %llu, %lld of %lld bytes copied",
                     out->generation, b.dir, (long long)((alm_monotonic_ns() - started) / 1000000),
                     (unsigned long long)out->lsn, (long long)out->bytes_copied,
                     (long long)out->bytes);
    return e;
}

void alm_storage_backup_status(const alm_storage *st, alm_backup_status *out)
{
    *out = (alm_backup_status){.in_progress = atomic_load(&st->backup.running) > 0,
                               .bytes_done = atomic_load(&st->backup.done),
                               .bytes_total = atomic_load(&st->backup.total),
                               .archive = alm_archive_is_on(st),
                               .archive_failing = atomic_load(&st->archive.failing)};
    if (out->archive)
        out->archived_lsn = atomic_load(&st->wal.keep_lsn);
}
