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
static bool is_of_column(alm_storage *st, uint64_t table_id, uint32_t col_id)
{
    alm_version *v = alm_storage_version(st, table_id);
    const bool is = v != NULL && alm_schema_find(v->schema, col_id) >= 0;
    alm_version_release(v);
    return is;
}

/* The dictionary of a column that went, left by a crash or a stop before the checkpoint that would have removed it. Not while a checkpoint
 * is written: it may be about to name the file. */
static bool is_orphaned_dict(alm_storage *st, uint64_t table_id, uint32_t col_id)
{
    if (is_of_column(st, table_id, col_id) || pthread_mutex_trylock(&st->checkpoint_lock) != 0)
        return false;
    const bool orphan = !st->hold.held && !alm_catalog_names_dict(st, table_id, col_id);
    (void)pthread_mutex_unlock(&st->checkpoint_lock);
    return orphan;
}

static int sweep_file(void *arg, const char *name)
{
    const sweeping *s = arg;
    char path[ALM_PATH_MAX];
    char *end = NULL;
    const size_t n = strlen(name);
    bool orphan = false;
    uint64_t id = 0;
    if (alm_file_id_of_name(name, &id)) {
        orphan = !alm_file_is_registered(s->st, id) && !alm_retired_waits(s->st, id);
    } else if (n > 5 && strcmp(name + n - 5, ".dict") == 0) {
        const uint32_t col_id = (uint32_t)strtoul(name, &end, 10);
        orphan = s->table_exists ? is_orphaned_dict(s->st, s->table_id, col_id)
                                 : !alm_catalog_names_dict(s->st, s->table_id, col_id);
    } else if (n > 9 && strcmp(name + n - 9, ".dict.tmp") == 0) {
        orphan = true; /* a scrub that was cut off */
    }
    (void)snprintf(path, sizeof path, "%s/%s", s->dir, name);
    if (orphan && s->st->io->unlink(s->st->io, path) == 0)
        alm_log_debug("storage", "removed '%s', which nothing names", path);
    return 0;
}

static int sweep_table(void *arg, const char *name)
{
    sweeping *s = arg;
    char *end = NULL;
    errno = 0;
    s->table_id = strtoull(name, &end, 10);
    if (errno != 0 || *end != 0 || s->table_id >= s->table_id_end)
        return 0; /* a load that began after the start may own it */
    alm_version *v = alm_storage_version(s->st, s->table_id);
    s->table_exists = v != NULL;
    alm_version_release(v);
    alm_storage_table_dir(s->st, s->table_id, s->dir, sizeof s->dir);
    (void)s->st->io->list(s->st->io, s->dir, sweep_file, s);
    if (!s->table_exists)
        (void)s->st->io->rmdir(s->st->io, s->dir);
    (void)pthread_mutex_lock(&s->st->work_lock);
    const bool stop = s->st->stop;
    (void)pthread_mutex_unlock(&s->st->work_lock);
    return stop;
}

void alm_sweep(alm_storage *st, uint64_t table_id_end)
{
    sweeping s = {.st = st, .table_id_end = table_id_end};
    char dir[ALM_PATH_MAX];
    (void)snprintf(dir, sizeof dir, "%s/tables", st->root);
    (void)st->io->list(st->io, dir, sweep_table, &s);
}
