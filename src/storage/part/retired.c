/*
 * retired.c - see retired.h.
 */
#include "storage/part/retired.h"

#include <stdlib.h>

enum { FILES_FIRST = 64 };

/* The caller holds file_lock. Without memory the file is not remembered: the sweep after the next start removes it. */
static void retired_remember(alm_retired *retired, alm_retired_file file)
{
    if (retired->n == retired->cap) {
        const size_t cap = ALM_MAX((size_t)FILES_FIRST, retired->cap * 2);
        alm_retired_file *bigger = realloc(retired->files, cap * sizeof *bigger);
        if (bigger == NULL)
            return;
        retired->files = bigger;
        retired->cap = cap;
    }
    retired->files[retired->n++] = file;
}

bool alm_file_retire(alm_storage *storage, const alm_file *file)
{
    const alm_retired_file one = {
        .table_id = file->table_id, .id = file->id, .lsn = atomic_load(&storage->wal.last_lsn)};
    const bool stays = storage->hold.held || alm_archive_is_on(storage);
    if (stays)
        retired_remember(&storage->retired, one);
    return stays;
}

bool alm_retired_waits(alm_storage *storage, uint64_t file_id)
{
    bool waits = false;
    (void)pthread_mutex_lock(&storage->file_lock);
    for (size_t i = 0; i < storage->retired.n && !waits; i++)
        waits = storage->retired.files[i].id == file_id;
    (void)pthread_mutex_unlock(&storage->file_lock);
    return waits;
}

static void remove_file(alm_storage *storage, const alm_retired_file *retired)
{
    char path[ALM_PATH_MAX];
    const alm_file file = {.id = retired->id, .table_id = retired->table_id, .st = storage};
    alm_file_path(&file, path, sizeof path);
    if (!atomic_load(&storage->failed))
        (void)storage->io->unlink(storage->io,
                                  path); /* if that fails: the sweep after the next start */
}

void alm_retired_remove(alm_storage *storage)
{
    const uint64_t lsn = atomic_load(&storage->wal.keep_lsn);
    (void)pthread_mutex_lock(&storage->file_lock);
    const bool held = storage->hold.held;
    const alm_retired taken = held ? (alm_retired){0} : storage->retired;
    if (!held)
        storage->retired = (alm_retired){0};
    for (size_t i = 0; i < taken.n; i++)
        if (taken.files[i].lsn > lsn)
            retired_remember(&storage->retired, taken.files[i]);
    (void)pthread_mutex_unlock(&storage->file_lock);
    for (size_t i = 0; i < taken.n; i++)
        if (taken.files[i].lsn <= lsn)
            remove_file(storage, &taken.files[i]);
    free(taken.files);
}

void alm_retired_free(alm_storage *storage)
{
    free(storage->retired.files);
    storage->retired = (alm_retired){0};
}
