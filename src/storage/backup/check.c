/*
 * check.c - a directory of backups verified: every manifest, every file that one names, every
 * part inside; and what no manifest names.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "storage/backup/backup.h"
#include "storage/dict/dict.h"
#include "storage/findings.h"
#include "storage/part/part.h"

typedef struct checking {
    alm_findings found; /* first: its address is that of the whole */
    alm_ctx *cx;
    const alm_io *io;
    const char *dir;
    uint64_t database_id; /* of the first manifest that says it */
    alm_manifest all; /* files of the manifests so far, sorted by name; then a place for `last` */
    bool repair;
} checking;

/* What is wrong with a backup is a finding; only cancel and memory stop the check. */
static alm_status settle(checking *c, alm_status st)
{
    if (st != ALM_E_CORRUPT && st != ALM_E_UNSUPPORTED && st != ALM_E_IO)
        return st;
    alm_findings_add(c, c->cx->err.msg);
    alm_error_clear(c->cx);
    return ALM_OK;
}

static bool is_part(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL && (strcmp(dot, ".part") == 0 || strcmp(dot, ".parquet") == 0);
}

/* What the name and the path of a part say. */
static bool is_claim(const checking *c, const alm_backup_file *f, alm_part_claim *out)
{
    const char *name = strrchr(f->path, '/');
    *out = (alm_part_claim){
        .database_id = c->database_id, .bytes = f->bytes, .min_ts = INT64_MAX, .max_ts = INT64_MIN};
    return is_part(f->name) && name != NULL &&
           sscanf(f->path, "tables/%" SCNu64, &out->table_id) == 1 &&
           alm_file_id_of_name(name + 1, &out->file_id);
}

static alm_status file(checking *c, const alm_backup_file *f)
{
    char path[ALM_PATH_MAX], line[ALM_PATH_MAX + 256];
    int64_t bytes = 0, before = c->found.n;
    uint32_t crc = 0;
    (void)snprintf(path, sizeof path, "%.*s/%s", ALM_PATH_MAX - 256, c->dir, f->name);
    const alm_status st = alm_backup_sum(c->cx, c->io, path, &bytes, &crc);
    if (st != ALM_OK)
        return settle(c, st);
    alm_part_claim claim;
    /* Also where the manifest agrees: it may have been made of what was damaged already. And a part can say where. */
    if (is_claim(c, f, &claim)) {
        alm_part_check_arg arg = {.report = alm_findings_add, .arg = c};
        ALM_TRY(settle(c, alm_part_check(c->cx, c->io, path, NULL, &claim, &arg)));
    }
    uint64_t table_id = 0;
    uint32_t col_id = 0;
    int end = 0;
    if (sscanf(f->path, "tables/%" SCNu64 "/%" SCNu32 ".dict%n", &table_id, &col_id, &end) == 2 &&
        end > 0)
        ALM_TRY(settle(c, alm_dict_is_of(c->cx, c->io, path, c->database_id, table_id, col_id)));
    if (bytes != f->bytes)
        (void)snprintf(line, sizeof line, "'%s' ends at offset %lld, %lld bytes expected", path,
                       (long long)bytes, (long long)f->bytes);
    else
        (void)snprintf(line, sizeof line, "'%s' is damaged: its checksum does not match", path);
    if ((bytes != f->bytes || crc != f->crc) && c->found.n == before)
        alm_findings_add(c, line);
    return ALM_OK;
}

static int by_name(const void *a, const void *b)
{
    const alm_backup_file *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* All backups of a directory are of one database: a restore takes the newest. */
static void check_database(checking *c, const alm_manifest *m)
{
    char line[ALM_PATH_MAX + 128];
    if (c->database_id == 0)
        c->database_id = m->database_id;
    if (m->database_id == 0 || m->database_id == c->database_id)
        return;
    (void)snprintf(line, sizeof line,
                   "'%.*s/%08" PRIu32 ".manifest' is of another database: it has database id "
                   "%016" PRIx64 ", those before have %016" PRIx64,
                   ALM_PATH_MAX - 256, c->dir, m->generation, m->database_id, c->database_id);
    alm_findings_add(c, line);
}

/* Files that several generations name are read once. */
static alm_status generation(checking *c, uint32_t number)
{
    alm_manifest m;
    const alm_status st = alm_manifest_read(c->cx, c->io, c->dir, number, &m);
    if (st != ALM_OK)
        return settle(c, st);
    check_database(c, &m);
    const size_t known = c->all.n;
    alm_status e = ALM_OK;
    for (size_t i = 0; i < m.n && e == ALM_OK; i++) {
        const alm_backup_file *old =
            known == 0 ? NULL : bsearch(&m.files[i], c->all.files, known, sizeof *m.files, by_name);
        if (old != NULL && old->bytes == m.files[i].bytes && old->crc == m.files[i].crc)
            continue;
        e = file(c, &m.files[i]);
        if (e == ALM_OK)
            e = alm_manifest_add(c->cx, &c->all, &m.files[i]);
    }
    if (c->all.n > 0)
        qsort(c->all.files, c->all.n, sizeof *c->all.files, by_name);
    alm_manifest_free(&m);
    return e;
}

/* Of backups that did not come to their end, or whose manifest was removed. */
static int left_over(void *arg, const char *name)
{
    checking *c = arg;
    char path[ALM_PATH_MAX], line[ALM_PATH_MAX + 256];
    alm_backup_file key = {.bytes = 0};
    (void)snprintf(key.name, sizeof key.name, "files/%s", name);
    (void)snprintf(path, sizeof path, "%.*s/%s", ALM_PATH_MAX - 256, c->dir, key.name);
    if (c->all.n > 0 &&
        bsearch(&key, c->all.files, c->all.n, sizeof *c->all.files, by_name) != NULL)
        return 0;
    const bool gone = c->repair && c->io->unlink(c->io, path) == 0;
    (void)snprintf(line, sizeof line, "note: '%s' is named by no manifest%s", path,
                   !c->repair ? ""
                   : gone     ? "; removed"
                              : "; it cannot be removed");
    alm_findings_note(&c->found, line);
    return 0;
}

/* Not while a backup writes, nor when a manifest could not be read: its files would go. */
static void left_overs(checking *c)
{
    char path[ALM_PATH_MAX];
    alm_owner owner = {.io = NULL};
    if (c->found.n > 0)
        return;
    if (alm_owner_take(c->cx, c->io, c->dir, false, &owner) != ALM_OK) {
        alm_error_clear(c->cx);
        return;
    }
    (void)snprintf(path, sizeof path, "%.*s/files", ALM_PATH_MAX - 256, c->dir);
    (void)c->io->list(c->io, path, left_over, c);
    alm_owner_leave(&owner);
}

bool alm_backup_is(const alm_io *io, const char *dir)
{
    char path[ALM_PATH_MAX];
    alm_io_stat meta;
    (void)snprintf(path, sizeof path, "%.*s/files", ALM_PATH_MAX - 64, dir);
    const bool files = io->stat(io, path, &meta) == 0 && meta.is_dir;
    (void)snprintf(path, sizeof path, "%.*s/db", ALM_PATH_MAX - 64, dir);
    return files && io->stat(io, path, &meta) < 0;
}

alm_status alm_backup_check(alm_ctx *cx, const alm_io *io, const char *dir, bool repair,
                            void (*report)(void *arg, const char *line), void *arg,
                            int64_t *n_findings)
{
    checking c = {.cx = cx, .io = io, .dir = dir, .repair = repair, .found = {report, arg, 0}};
    uint32_t *all = NULL;
    size_t n = 0;
    ALM_TRY(alm_manifest_list(cx, io, dir, &all, &n));
    alm_status e = ALM_OK;
    if (n == 0)
        alm_findings_add(&c, "there is no manifest: no backup here has come to its end");
    for (size_t i = 0; i < n && e == ALM_OK; i++)
        e = generation(&c, all[i]);
    free(all);
    if (e == ALM_OK)
        left_overs(&c);
    alm_manifest_free(&c.all);
    if (e == ALM_OK)
        *n_findings = c.found.n;
    return e;
}
