/*
 * sweep.c - removes the files under tables/ that nothing names: what a crash, or a stop before the checkpoint that would have
 * removed them, left behind.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "storage/part/retired.h"
#include "storage/recover/recover.h"
#include "storage/state.h"

typedef struct sweeping {
    alm_storage *st;
    char dir[ALM_PATH_MAX - 128];
    uint64_t table_id, table_id_end;
    bool table_exists;
} sweeping;

/* Of a column that the table has. */
static bool is_of_column(alm_storage *storage, uint64_t table_id, uint32_t col_id)
{
    alm_version *version = alm_storage_version(storage, table_id);
    const bool is = version != NULL && alm_schema_find(version->schema, col_id) >= 0;
    alm_version_release(version);
    return is;
}

/* The dictionary of a column that went, left by a crash or a stop before the checkpoint that would have removed it. Not while a checkpoint
 * is written: it may be about to name the file. */
static bool is_orphaned_dict(alm_storage *storage, uint64_t table_id, uint32_t col_id)
{
    if (is_of_column(storage, table_id, col_id) ||
        pthread_mutex_trylock(&storage->checkpoint_lock) != 0)
        return false;
    const bool orphan = !storage->hold.held && !alm_catalog_names_dict(storage, table_id, col_id);
    (void)pthread_mutex_unlock(&storage->checkpoint_lock);
    return orphan;
}

static int sweep_file(void *arg, const char *name)
{
    const sweeping *self = arg;
    char path[ALM_PATH_MAX];
    char *end = NULL;
    const size_t len = strlen(name);
    bool orphan = false;
    uint64_t id = 0;
    if (alm_file_id_of_name(name, &id)) {
        orphan = !alm_file_is_registered(self->st, id) && !alm_retired_waits(self->st, id);
    } else if (len > 5 && strcmp(name + len - 5, ".dict") == 0) {
        const uint32_t col_id = (uint32_t)strtoul(name, &end, 10);
        orphan = self->table_exists ? is_orphaned_dict(self->st, self->table_id, col_id)
                                    : !alm_catalog_names_dict(self->st, self->table_id, col_id);
    } else if (len > 9 && strcmp(name + len - 9, ".dict.tmp") == 0) {
        orphan = true; /* a scrub that was cut off */
    }
    (void)snprintf(path, sizeof path, "%s/%s", self->dir, name);
    if (orphan && self->st->io->unlink(self->st->io, path) == 0)
        alm_log_debug("storage", "removed '%s', which nothing names", path);
    return 0;
}

static int sweep_table(void *arg, const char *name)
{
    sweeping *self = arg;
    char *end = NULL;
    errno = 0;
    self->table_id = strtoull(name, &end, 10);
    if (errno != 0 || *end != 0 || self->table_id >= self->table_id_end)
        return 0; /* a load that began after the start may own it */
    alm_version *version = alm_storage_version(self->st, self->table_id);
    self->table_exists = version != NULL;
    alm_version_release(version);
    alm_storage_table_dir(self->st, self->table_id, self->dir, sizeof self->dir);
    (void)self->st->io->list(self->st->io, self->dir, sweep_file, self);
    if (!self->table_exists)
        (void)self->st->io->rmdir(self->st->io, self->dir);
    (void)pthread_mutex_lock(&self->st->work_lock);
    const bool stop = self->st->stop;
    (void)pthread_mutex_unlock(&self->st->work_lock);
    return stop;
}

void alm_sweep(alm_storage *storage, uint64_t table_id_end)
{
    sweeping self = {.st = storage, .table_id_end = table_id_end};
    char dir[ALM_PATH_MAX];
    (void)snprintf(dir, sizeof dir, "%s/tables", storage->root);
    (void)storage->io->list(storage->io, dir, sweep_table, &self);
}
