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
static alm_status backup_check_settle(checking *self, alm_status status)
{
    if (status != ALM_E_CORRUPT && status != ALM_E_UNSUPPORTED && status != ALM_E_IO)
        return status;
    alm_findings_add(self, self->cx->err.msg);
    alm_error_clear(self->cx);
    return ALM_OK;
}

static bool is_part(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL && (strcmp(dot, ".part") == 0 || strcmp(dot, ".parquet") == 0);
}

/* What the name and the path of a part say. */
static bool is_claim(const checking *self, const alm_backup_file *backup_file, alm_part_claim *out)
{
    const char *name = strrchr(backup_file->path, '/');
    *out = (alm_part_claim){.database_id = self->database_id,
                            .bytes = backup_file->bytes,
                            .min_ts = INT64_MAX,
                            .max_ts = INT64_MIN};
    return is_part(backup_file->name) && name != NULL &&
           sscanf(backup_file->path, "tables/%" SCNu64, &out->table_id) == 1 &&
           alm_file_id_of_name(name + 1, &out->file_id);
}

static alm_status file(checking *self, const alm_backup_file *backup_file)
{
    char path[ALM_PATH_MAX], line[ALM_PATH_MAX + 256];
    int64_t bytes = 0, before = self->found.n;
    uint32_t crc = 0;
    (void)snprintf(path, sizeof path, "%.*s/%s", ALM_PATH_MAX - 256, self->dir, backup_file->name);
    const alm_status status = alm_backup_sum(self->cx, self->io, path, &bytes, &crc);
    if (status != ALM_OK)
        return backup_check_settle(self, status);
    alm_part_claim claim;
    /* Also where the manifest agrees: it may have been made of what was damaged already. And a part can say where. */
    if (is_claim(self, backup_file, &claim)) {
        alm_part_check_arg arg = {.report = alm_findings_add, .arg = self};
        ALM_TRY(backup_check_settle(self,
                                    alm_part_check(self->cx, self->io, path, NULL, &claim, &arg)));
    }
    uint64_t table_id = 0;
    uint32_t col_id = 0;
    int end = 0;
    if (sscanf(backup_file->path, "tables/%" SCNu64 "/%" SCNu32 ".dict%n", &table_id, &col_id,
               &end) == 2 &&
        end > 0)
        ALM_TRY(backup_check_settle(
            self, alm_dict_is_of(self->cx, self->io, path, self->database_id, table_id, col_id)));
    if (bytes != backup_file->bytes)
        (void)snprintf(line, sizeof line, "'%s' ends at offset %lld, %lld bytes expected", path,
                       (long long)bytes, (long long)backup_file->bytes);
    else
        (void)snprintf(line, sizeof line, "'%s' is damaged: its checksum does not match", path);
    if ((bytes != backup_file->bytes || crc != backup_file->crc) && self->found.n == before)
        alm_findings_add(self, line);
    return ALM_OK;
}

static int backup_check_by_name(const void *a, const void *b)
{
    const alm_backup_file *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* All backups of a directory are of one database: a restore takes the newest. */
static void backup_check_database(checking *self, const alm_manifest *manifest)
{
    char line[ALM_PATH_MAX + 128];
    if (self->database_id == 0)
        self->database_id = manifest->database_id;
    if (manifest->database_id == 0 || manifest->database_id == self->database_id)
        return;
    (void)snprintf(line, sizeof line,
                   "'%.*s/%08" PRIu32 ".manifest' is of another database: it has database id "
                   "%016" PRIx64 ", those before have %016" PRIx64,
                   ALM_PATH_MAX - 256, self->dir, manifest->generation, manifest->database_id,
                   self->database_id);
    alm_findings_add(self, line);
}

/* Files that several generations name are read once. */
static alm_status generation(checking *self, uint32_t number)
{
    alm_manifest manifest;
    const alm_status status = alm_manifest_read(self->cx, self->io, self->dir, number, &manifest);
    if (status != ALM_OK)
        return backup_check_settle(self, status);
    backup_check_database(self, &manifest);
    const size_t known = self->all.n;
    alm_status outcome = ALM_OK;
    for (size_t i = 0; i < manifest.n && outcome == ALM_OK; i++) {
        const alm_backup_file *old = known == 0
                                         ? NULL
                                         : bsearch(&manifest.files[i], self->all.files, known,
                                                   sizeof *manifest.files, backup_check_by_name);
        if (old != NULL && old->bytes == manifest.files[i].bytes &&
            old->crc == manifest.files[i].crc)
            continue;
        outcome = file(self, &manifest.files[i]);
        if (outcome == ALM_OK)
            outcome = alm_manifest_add(self->cx, &self->all, &manifest.files[i]);
    }
    if (self->all.n > 0)
        qsort(self->all.files, self->all.n, sizeof *self->all.files, backup_check_by_name);
    alm_manifest_free(&manifest);
    return outcome;
}

/* Of backups that did not come to their end, or whose manifest was removed. */
static int backup_check_left_over(void *arg, const char *name)
{
    checking *self = arg;
    char path[ALM_PATH_MAX], line[ALM_PATH_MAX + 256];
    alm_backup_file key = {.bytes = 0};
    (void)snprintf(key.name, sizeof key.name, "files/%s", name);
    (void)snprintf(path, sizeof path, "%.*s/%s", ALM_PATH_MAX - 256, self->dir, key.name);
    if (self->all.n > 0 && bsearch(&key, self->all.files, self->all.n, sizeof *self->all.files,
                                   backup_check_by_name) != NULL)
        return 0;
    const bool gone = self->repair && self->io->unlink(self->io, path) == 0;
    (void)snprintf(line, sizeof line, "note: '%s' is named by no manifest%s", path,
                   !self->repair ? ""
                   : gone        ? "; removed"
                                 : "; it cannot be removed");
    alm_findings_note(&self->found, line);
    return 0;
}

/* Not while a backup writes, nor when a manifest could not be read: its files would go. */
static void backup_check_left_overs(checking *self)
{
    char path[ALM_PATH_MAX];
    alm_owner owner = {.io = NULL};
    if (self->found.n > 0)
        return;
    if (alm_owner_take(self->cx, self->io, self->dir, false, &owner) != ALM_OK) {
        alm_error_clear(self->cx);
        return;
    }
    (void)snprintf(path, sizeof path, "%.*s/files", ALM_PATH_MAX - 256, self->dir);
    (void)self->io->list(self->io, path, backup_check_left_over, self);
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
    checking self = {.cx = cx, .io = io, .dir = dir, .repair = repair, .found = {report, arg, 0}};
    uint32_t *all = NULL;
    size_t n = 0;
    ALM_TRY(alm_manifest_list(cx, io, dir, &all, &n));
    alm_status status = ALM_OK;
    if (n == 0)
        alm_findings_add(&self, "there is no manifest: no backup here has come to its end");
    for (size_t i = 0; i < n && status == ALM_OK; i++)
        status = generation(&self, all[i]);
    free(all);
    if (status == ALM_OK)
        backup_check_left_overs(&self);
    alm_manifest_free(&self.all);
    if (status == ALM_OK)
        *n_findings = self.found.n;
    return status;
}
