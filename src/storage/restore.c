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

static alm_status failed(const restore *r, int e, const char *path)
{
    return e < 0 ? alm_io_fail(r->cx, e, path) : ALM_OK;
}

static int count_entry(void *arg, const char *name)
{
    *(int *)arg += !alm_owner_is_name(name);
    return 0;
}

static alm_status is_empty(restore *r)
{
    int n = 0;
    const int e = r->io->list(r->io, r->db, count_entry, &n);
    if (e < 0 && e != -ENOENT)
        return alm_io_fail(r->cx, e, r->db);
    if (n > 0)
        return alm_fail(r->cx, ALM_E_EXISTS, -1,
                        "'%s' is not empty: a backup is restored to a new directory", r->db);
    return ALM_OK;
}

/* ROOT/db is made here and nowhere else: what is there is never overwritten. */
static alm_status make_root(restore *r)
{
    static const char *const dirs[] = {"/wal", "/tables"};
    char path[ALM_PATH_MAX];
    const char *root = r->spec->root;
    if (snprintf(r->db, sizeof r->db, "%s/db", root) >= (int)sizeof r->db)
        return alm_fail(r->cx, ALM_E_LIMIT, -1, "the path '%.64s...' is too long", root);
    ALM_TRY(alm_restore_refuse(r->cx, r->io, root));
    ALM_TRY(alm_backup_dir(r->cx, r->io, root));
    ALM_TRY(is_empty(r));
    ALM_TRY(alm_restoring_begin(r->cx, r->io, root));
    ALM_TRY(failed(r, r->io->mkdir(r->io, r->db), r->db));
    ALM_TRY(failed(r, r->io->sync_dir(r->io, root), root));
    const alm_status owned = alm_owner_take(r->cx, r->io, r->db, true, &r->owner);
    if (owned != ALM_OK) { /* the directory is another's, who must be able to open it again */
        alm_restoring_cancel(r->io, root);
        return owned;
    }
    ALM_TRY(is_empty(r)); /* still: nobody else puts anything there from here on */
    ALM_TRY(alm_hold_mark_copy(r->cx, r->io, r->db, r->m.lsn));
    for (size_t i = 0; i < ALM_COUNT(dirs); i++) {
        (void)snprintf(path, sizeof path, "%s%s", r->db, dirs[i]);
        ALM_TRY(failed(r, r->io->mkdir(r->io, path), path));
    }
    return failed(r, r->io->sync_dir(r->io, r->db), r->db);
}

/* The directory of a path below ROOT/db is there, and its name is on disk. */
static alm_status make_parent(restore *r, const char *path)
{
    char dir[ALM_PATH_MAX], tables[ALM_PATH_MAX];
    alm_io_stat meta;
    (void)snprintf(dir, sizeof dir, "%s", path);
    char *slash = strrchr(dir, '/');
    ALM_ASSERT(slash != NULL);
    *slash = 0;
    if (r->io->stat(r->io, dir, &meta) == 0)
        return ALM_OK;
    (void)snprintf(tables, sizeof tables, "%s/tables", r->db);
    ALM_TRY(failed(r, r->io->mkdir(r->io, dir), dir));
    return failed(r, r->io->sync_dir(r->io, tables), tables);
}

static alm_status one_file(restore *r, const alm_backup_file *f)
{
    char from[ALM_PATH_MAX], to[ALM_PATH_MAX], dir[ALM_PATH_MAX];
    int64_t bytes = 0;
    uint32_t crc = 0;
    (void)snprintf(from, sizeof from, "%.*s/%s", DIR_MAX, r->spec->dir, f->name);
    (void)snprintf(to, sizeof to, "%s/%s", r->db, f->path);
    ALM_TRY(make_parent(r, to));
    ALM_TRY(alm_backup_copy(r->cx, r->io, from, 0, to, INT64_MAX, &bytes, &crc));
    if (bytes != f->bytes || crc != f->crc)
        return alm_fail(
            r->cx, ALM_E_CORRUPT, -1,
            "'%s' is damaged: %lld bytes with checksum %08x, but the manifest says %lld "
            "and %08x",
            from, (long long)bytes, crc, (long long)f->bytes, f->crc);
    r->result->files++;
    r->result->bytes += bytes;
    (void)snprintf(dir, sizeof dir, "%s", to);
    *strrchr(dir, '/') = 0;
    return failed(r, r->io->sync_dir(r->io, dir), dir);
}

static bool is_too_late(const alm_restore_spec *spec, const alm_manifest *m)
{
    return (spec->until_lsn > 0 && m->lsn > spec->until_lsn) ||
           (spec->until_us > 0 && m->time_us > spec->until_us);
}

/* The one that was asked for, or the newest that is not too late. */
static alm_status choose(restore *r, const uint32_t *all, size_t n)
{
    const alm_restore_spec *spec = r->spec;
    if (spec->generation > 0) {
        ALM_TRY(alm_manifest_read(r->cx, r->io, spec->dir, spec->generation, &r->m));
        return !is_too_late(spec, &r->m)
                   ? ALM_OK
                   : alm_fail(r->cx, ALM_E_ARG, -1, "backup %u is later than what --until says",
                              spec->generation);
    }
    for (size_t i = n; i-- > 0;) {
        alm_manifest_free(&r->m);
        ALM_TRY(alm_manifest_read(r->cx, r->io, spec->dir, all[i], &r->m));
        if (!is_too_late(spec, &r->m))
            return ALM_OK;
    }
    return alm_fail(r->cx, ALM_E_ARG, -1, "'%s' has no backup%s", spec->dir,
                    n == 0 ? ": there is no manifest" : " that is as old as --until says");
}

static alm_status find_backup(restore *r)
{
    uint32_t *all = NULL;
    size_t n = 0;
    ALM_TRY(alm_manifest_list(r->cx, r->io, r->spec->dir, &all, &n));
    const alm_status e = choose(r, all, n);
    free(all);
    return e;
}

/* Opened once: what does not open is found now, and the copy becomes a database of its own. */
static alm_status open_once(restore *r)
{
    alm_storage *st = NULL;
    alm_storage_conf conf;
    alm_storage_conf_default(&conf);
    conf.manual = true;
    conf.restoring = true;
    conf.whole_log = r->until > 0;
    conf.owner = &r->owner;
    conf.wal_segment_bytes = 1 << 20; /* hardly used: the server makes its own */
    ALM_TRY(alm_storage_open(r->cx, r->io, r->spec->root, &conf, &st));
    alm_storage_stats stats;
    alm_storage_stats_get(st, &stats);
    r->result->rows = stats.rows;
    r->result->lsn = st->current->lsn;
    r->result->tables = (int64_t)st->current->n;
    alm_storage_close(st);
    if (r->until > 0 && r->result->lsn != r->until)
        return alm_fail(r->cx, ALM_E_CORRUPT, -1,
                        "the log in the archive has a gap behind lsn %llu",
                        (unsigned long long)r->result->lsn);
    return ALM_OK;
}

static alm_status run(restore *r)
{
    ALM_TRY(find_backup(r));
    r->result->time_us = r->m.time_us;
    const char *log = r->spec->log != NULL ? r->spec->log : r->m.archive;
    if (r->spec->until_lsn > 0 || r->spec->until_us > 0)
        ALM_TRY(alm_restore_log_find(r->cx, r->io, r->spec, log, &r->m, &r->until,
                                     &r->result->time_us));
    ALM_TRY(make_root(r));
    for (size_t i = 0; i < r->m.n; i++) { /* the catalogue is the last */
        ALM_TRY(alm_check(r->cx));
        ALM_TRY(one_file(r, &r->m.files[i]));
    }
    r->result->generation = r->m.generation;
    if (r->until > 0)
        ALM_TRY(alm_restore_log_copy(r->cx, r->io, log, r->db, &r->m, r->until));
    ALM_TRY(open_once(r));
    ALM_TRY(failed(r, r->io->sync_dir(r->io, r->db), r->db));
    return alm_restoring_end(r->cx, r->io, r->spec->root);
}

alm_status alm_backup_restore(alm_ctx *cx, const alm_io *io, const alm_restore_spec *spec,
                              alm_restore_result *out)
{
    restore r = {.cx = cx, .io = io, .spec = spec, .result = out};
    *out = (alm_restore_result){0};
    const alm_status e = run(&r);
    alm_owner_leave(&r.owner);
    alm_manifest_free(&r.m);
    return e;
}
