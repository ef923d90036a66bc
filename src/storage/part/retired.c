/*
 * retired.c - see retired.h.
 */
#include "storage/part/retired.h"

#include <stdlib.h>

enum { FILES_FIRST = 64 };

/* The caller holds file_lock. Without memory the file is not remembered: the sweep after the next start removes it. */
static void remember(alm_retired *r, alm_retired_file file)
{
    if (r->n == r->cap) {
        const size_t cap = ALM_MAX((size_t)FILES_FIRST, r->cap * 2);
        alm_retired_file *bigger = realloc(r->files, cap * sizeof *bigger);
        if (bigger == NULL)
            return;
        r->files = bigger;
        r->cap = cap;
    }
    r->files[r->n++] = file;
}

bool alm_file_retire(alm_storage *st, const alm_file *file)
{
    const alm_retired_file one = {
        .table_id = file->table_id, .id = file->id, .lsn = atomic_load(&st->wal.last_lsn)};
    const bool stays = st->hold.held || alm_archive_is_on(st);
    if (stays)
        remember(&st->retired, one);
    return stays;
}

bool alm_retired_waits(alm_storage *st, uint64_t file_id)
{
    bool waits = false;
    (void)pthread_mutex_lock(&st->file_lock);
    for (size_t i = 0; i < st->retired.n && !waits; i++)
        waits = st->retired.files[i].id == file_id;
    (void)pthread_mutex_unlock(&st->file_lock);
    return waits;
}

static void remove_file(alm_storage *st, const alm_retired_file *retired)
{
    char path[ALM_PATH_MAX];
    const alm_file file = {.id = retired->id, .table_id = retired->table_id, .st = st};
    alm_file_path(&file, path, sizeof path);
    if (!atomic_load(&st->failed))
        (void)st->io->unlink(st->io, path); /* if that fails: the sweep after the next start */
}

void alm_retired_remove(alm_storage *st)
{
    const uint64_t lsn = atomic_load(&st->wal.keep_lsn);
    (void)pthread_mutex_lock(&st->file_lock);
    const bool held = st->hold.held;
    const alm_retired taken = held ? (alm_retired){0} : st->retired;
    if (!held)
        st->retired = (alm_retired){0};
    for (size_t i = 0; i < taken.n; i++)
        if (taken.files[i].lsn > lsn)
            remember(&st->retired, taken.files[i]);
    (void)pthread_mutex_unlock(&st->file_lock);
    for (size_t i = 0; i < taken.n; i++)
        if (taken.files[i].lsn <= lsn)
            remove_file(st, &taken.files[i]);
    free(taken.files);
}

void alm_retired_free(alm_storage *st)
{
    free(st->retired.files);
    st->retired = (alm_retired){0};
}
