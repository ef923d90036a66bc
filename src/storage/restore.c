/*
 * restore.c - RESTORE: a backup becomes a data directory.
 *
 * Crash       ROOT/restoring is written first and goes last: while it is there nothing opens the directory,
 *             afterwards it is whole. (Programs that do not know it: the marker that says "copy", recover/hold.h, comes
 *             before all files and the catalogue behind them.)
 * Refused     What can be refused is, before a file is written: no such backup, an archive that does not go
 *             that far.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "storage/backup/backup.h"
#include "storage/recover/hold.h"

enum { DIR_MAX = ALM_PATH_MAX - 256 };

typedef struct restore {
    alm_ctx *cx;
    const alm_io *io;
    const alm_restore_spec *spec;
    char db[DIR_MAX];
    alm_owner owner; /* of `db`, until it is opened */
    alm_manifest m;
    uint64_t until; /* LSN that the log must reach, 0: there is no log */
    alm_restore_result *result;
} restore;

static alm_status restore_failed(const restore *self, int code, const char *path)
{
    return code < 0 ? alm_io_fail(self->cx, code, path) : ALM_OK;
}

static int restore_count_entry(void *arg, const char *name)
{
    *(int *)arg += !alm_owner_is_name(name);
    return 0;
}

static alm_status is_empty(restore *self)
{
    int n = 0;
    const int code = self->io->list(self->io, self->db, restore_count_entry, &n);
    if (code < 0 && code != -ENOENT)
        return alm_io_fail(self->cx, code, self->db);
    if (n > 0)
        return alm_fail(self->cx, ALM_E_EXISTS, -1,
                        "'%s' is not empty: a backup is restored to a new directory", self->db);
    return ALM_OK;
}

/* ROOT/db is made here and nowhere else: what is there is never overwritten. */
static alm_status make_root(restore *self)
{
    static const char *const dirs[] = {"/wal", "/tables"};
    char path[ALM_PATH_MAX];
    const char *root = self->spec->root;
    if (snprintf(self->db, sizeof self->db, "%s/db", root) >= (int)sizeof self->db)
        return alm_fail(self->cx, ALM_E_LIMIT, -1, "the path '%.64s...' is too long", root);
    ALM_TRY(alm_restore_refuse(self->cx, self->io, root));
    ALM_TRY(alm_backup_dir(self->cx, self->io, root));
    ALM_TRY(is_empty(self));
    ALM_TRY(alm_restoring_begin(self->cx, self->io, root));
    ALM_TRY(restore_failed(self, self->io->mkdir(self->io, self->db), self->db));
    ALM_TRY(restore_failed(self, self->io->sync_dir(self->io, root), root));
    const alm_status owned = alm_owner_take(self->cx, self->io, self->db, true, &self->owner);
    if (owned != ALM_OK) { /* the directory is another's, who must be able to open it again */
        alm_restoring_cancel(self->io, root);
        return owned;
    }
    ALM_TRY(is_empty(self)); /* still: nobody else puts anything there from here on */
    ALM_TRY(alm_hold_mark_copy(self->cx, self->io, self->db, self->m.lsn));
    for (size_t i = 0; i < ALM_COUNT(dirs); i++) {
        (void)snprintf(path, sizeof path, "%s%s", self->db, dirs[i]);
        ALM_TRY(restore_failed(self, self->io->mkdir(self->io, path), path));
    }
    return restore_failed(self, self->io->sync_dir(self->io, self->db), self->db);
}

/* The directory of a path below ROOT/db is there, and its name is on disk. */
static alm_status make_parent(restore *self, const char *path)
{
    char dir[ALM_PATH_MAX], tables[ALM_PATH_MAX];
    alm_io_stat meta;
    (void)snprintf(dir, sizeof dir, "%s", path);
    char *slash = strrchr(dir, '/');
    ALM_ASSERT(slash != NULL);
    *slash = 0;
    if (self->io->stat(self->io, dir, &meta) == 0)
        return ALM_OK;
    (void)snprintf(tables, sizeof tables, "%s/tables", self->db);
    ALM_TRY(restore_failed(self, self->io->mkdir(self->io, dir), dir));
    return restore_failed(self, self->io->sync_dir(self->io, tables), tables);
}

static alm_status restore_one_file(restore *self, const alm_backup_file *file)
{
    char from[ALM_PATH_MAX], dest[ALM_PATH_MAX], dir[ALM_PATH_MAX];
    int64_t bytes = 0;
    uint32_t crc = 0;
    (void)snprintf(from, sizeof from, "%.*s/%s", DIR_MAX, self->spec->dir, file->name);
    (void)snprintf(dest, sizeof dest, "%s/%s", self->db, file->path);
    ALM_TRY(make_parent(self, dest));
    ALM_TRY(alm_backup_copy(self->cx, self->io, from, 0, dest, INT64_MAX, &bytes, &crc));
    if (bytes != file->bytes || crc != file->crc)
        return alm_fail(
            self->cx, ALM_E_CORRUPT, -1,
            "'%s' is damaged: %lld bytes with checksum %08x, but the manifest says %lld "
            "and %08x",
            from, (long long)bytes, crc, (long long)file->bytes, file->crc);
    self->result->files++;
    self->result->bytes += bytes;
    (void)snprintf(dir, sizeof dir, "%s", dest);
    *strrchr(dir, '/') = 0;
    return restore_failed(self, self->io->sync_dir(self->io, dir), dir);
}

static bool is_too_late(const alm_restore_spec *spec, const alm_manifest *manifest)
{
    return (spec->until_lsn > 0 && manifest->lsn > spec->until_lsn) ||
           (spec->until_us > 0 && manifest->time_us > spec->until_us);
}

/* The one that was asked for, or the newest that is not too late. */
static alm_status restore_choose(restore *self, const uint32_t *all, size_t n)
{
    const alm_restore_spec *spec = self->spec;
    if (spec->generation > 0) {
        ALM_TRY(alm_manifest_read(self->cx, self->io, spec->dir, spec->generation, &self->m));
        return !is_too_late(spec, &self->m)
                   ? ALM_OK
                   : alm_fail(self->cx, ALM_E_ARG, -1, "backup %u is later than what --until says",
                              spec->generation);
    }
    for (size_t i = n; i-- > 0;) {
        alm_manifest_free(&self->m);
        ALM_TRY(alm_manifest_read(self->cx, self->io, spec->dir, all[i], &self->m));
        if (!is_too_late(spec, &self->m))
            return ALM_OK;
    }
    return alm_fail(self->cx, ALM_E_ARG, -1, "'%s' has no backup%s", spec->dir,
                    n == 0 ? ": there is no manifest" : " that is as old as --until says");
}

static alm_status find_backup(restore *self)
{
    uint32_t *all = NULL;
    size_t n = 0;
    ALM_TRY(alm_manifest_list(self->cx, self->io, self->spec->dir, &all, &n));
    const alm_status status = restore_choose(self, all, n);
    free(all);
    return status;
}

/* Opened once: what does not open is found now, and the copy becomes a database of its own. */
static alm_status open_once(restore *self)
{
    alm_storage *storage = NULL;
    alm_storage_conf conf;
    alm_storage_conf_default(&conf);
    conf.manual = true;
    conf.restoring = true;
    conf.whole_log = self->until > 0;
    conf.owner = &self->owner;
    conf.wal_segment_bytes = 1 << 20; /* hardly used: the server makes its own */
    ALM_TRY(alm_storage_open(self->cx, self->io, self->spec->root, &conf, &storage));
    alm_storage_stats stats;
    alm_storage_stats_get(storage, &stats);
    self->result->rows = stats.rows;
    self->result->lsn = storage->current->lsn;
    self->result->tables = (int64_t)storage->current->n;
    alm_storage_close(storage);
    if (self->until > 0 && self->result->lsn != self->until)
        return alm_fail(self->cx, ALM_E_CORRUPT, -1,
                        "the log in the archive has a gap behind lsn %llu",
                        (unsigned long long)self->result->lsn);
    return ALM_OK;
}

static alm_status restore_run(restore *self)
{
    ALM_TRY(find_backup(self));
    self->result->time_us = self->m.time_us;
    const char *log = self->spec->log != NULL ? self->spec->log : self->m.archive;
    if (self->spec->until_lsn > 0 || self->spec->until_us > 0)
        ALM_TRY(alm_restore_log_find(self->cx, self->io, self->spec, log, &self->m, &self->until,
                                     &self->result->time_us));
    ALM_TRY(make_root(self));
    for (size_t i = 0; i < self->m.n; i++) { /* the catalogue is the last */
        ALM_TRY(alm_check(self->cx));
        ALM_TRY(restore_one_file(self, &self->m.files[i]));
    }
    self->result->generation = self->m.generation;
    if (self->until > 0)
        ALM_TRY(alm_restore_log_copy(self->cx, self->io, log, self->db, &self->m, self->until));
    ALM_TRY(open_once(self));
    ALM_TRY(restore_failed(self, self->io->sync_dir(self->io, self->db), self->db));
    return alm_restoring_end(self->cx, self->io, self->spec->root);
}

alm_status alm_backup_restore(alm_ctx *cx, const alm_io *io, const alm_restore_spec *spec,
                              alm_restore_result *out)
{
    restore self = {.cx = cx, .io = io, .spec = spec, .result = out};
    *out = (alm_restore_result){0};
    const alm_status status = restore_run(&self);
    alm_owner_leave(&self.owner);
    alm_manifest_free(&self.m);
    return status;
}
