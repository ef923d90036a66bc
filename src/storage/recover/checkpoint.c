/*
 * checkpoint.c - a point from which recovery can start: heads flushed, dictionaries and catalogue on
 * disk, old log given back.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "storage/dict/dict.h"
#include "storage/recover/generation.h"
#include "storage/recover/recover.h"
#include "storage/write/commit.h"
#include "storage/write/flush.h"

enum { LAST_SEGMENT_BYTES = 64 << 10 };

/* Dictionaries that were written and wait for their sync. */
typedef struct saving {
    alm_symbols_saving symbols;
    alm_unsynced unsynced;
} saving;

typedef struct savings {
    saving *list;
    size_t n, cap;
} savings;

static alm_status checkpoint_room_for_one(alm_ctx *cx, savings *self)
{
    if (self->n < self->cap)
        return ALM_OK;
    const size_t cap = ALM_MAX((size_t)64, 2 * self->cap);
    saving *bigger = realloc(self->list, cap * sizeof *bigger);
    if (bigger == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for a checkpoint");
    self->list = bigger;
    self->cap = cap;
    return ALM_OK;
}

static alm_status write_dict(alm_ctx *cx, alm_storage *storage, const alm_version *version,
                             uint32_t col, savings *self)
{
    char dir[ALM_PATH_MAX], name[32];
    ALM_TRY(checkpoint_room_for_one(cx, self));
    saving *one = &self->list[self->n];
    ALM_TRY(alm_unsynced_begin(cx, storage, version->table.id, &one->unsynced));
    alm_storage_table_dir(storage, version->table.id, dir, sizeof dir);
    (void)snprintf(name, sizeof name, "%u.dict", version->schema->cols[col].id);
    ALM_TRY(alm_symbols_write(cx, version->schema->symbols[col], storage->io, dir, name,
                              version->schema->dicts[col].count, &one->symbols));
    one->unsynced.named = !one->symbols.fresh;
    self->n++;
    return alm_unsynced_written(cx, storage, &one->unsynced, one->symbols.handle,
                                one->symbols.bytes, name);
}

/* A column of symbols has a file once it has a value. */
static bool has_dict(const alm_version *version, uint32_t col)
{
    return version->schema->symbols[col] != NULL && version->schema->dicts[col].count > 1;
}

static alm_status write_dicts(alm_ctx *cx, alm_storage *storage, const alm_version *version,
                              savings *self)
{
    for (uint32_t col = 0; col < version->schema->n_cols; col++)
        if (has_dict(version, col) &&
            alm_symbols_has_new(version->schema->symbols[col], version->schema->dicts[col].count))
            ALM_TRY(write_dict(cx, storage, version, col, self));
    return ALM_OK;
}

static alm_status sync_dicts(alm_ctx *cx, alm_storage *storage, savings *self)
{
    alm_unsynced **list = NULL;
    ALM_TRY(alm_heap_bytes(cx, self->n * sizeof *list, "a checkpoint", (void *)&list));
    for (size_t i = 0; i < self->n; i++)
        list[i] = &self->list[i].unsynced;
    const alm_status status = alm_unsynced_sync(cx, storage, list, self->n);
    free((void *)list);
    return status;
}

alm_status alm_dicts_save(alm_ctx *cx, alm_storage *storage, const alm_catver *cat)
{
    savings self = {0};
    alm_status status = ALM_OK;
    for (size_t i = 0; i < cat->n && status == ALM_OK; i++)
        status = write_dicts(cx, storage, alm_catver_at(cat, i), &self);
    if (status == ALM_OK && self.n > 0)
        status = sync_dicts(cx, storage, &self);
    for (size_t i = 0; i < self.n; i++) {
        if (status == ALM_OK)
            alm_symbols_saved(&self.list[i].symbols);
        alm_unsynced_drop(storage, &self.list[i].unsynced);
    }
    free(self.list);
    return status;
}

/* ----------------------------------------------------------- dictionaries that went */

static alm_status list_dicts(alm_ctx *cx, const alm_catver *cat, alm_dict_list *out)
{
    for (size_t i = 0; i < cat->n; i++) {
        const alm_version *version = alm_catver_at(cat, i);
        for (uint32_t col = 0; col < version->schema->n_cols; col++)
            if (has_dict(version, col))
                ALM_TRY(alm_dict_list_add(
                    cx, out, (alm_dict_id){version->table.id, version->schema->cols[col].id}));
    }
    alm_dict_list_sort(out);
    return ALM_OK;
}

static void unlink_dict(alm_storage *storage, alm_dict_id id)
{
    char dir[ALM_PATH_MAX - 64], path[ALM_PATH_MAX];
    alm_storage_table_dir(storage, id.table_id, dir, sizeof dir);
    (void)snprintf(path, sizeof path, "%s/%u.dict", dir, id.col_id);
    (void)storage->io->unlink(storage->io, path);
}

/* What the catalogue before named and `now` does not. */
static alm_status list_gone(alm_ctx *cx, alm_storage *storage, const alm_dict_list *now,
                            alm_dict_list *out)
{
    alm_status status = ALM_OK;
    (void)pthread_mutex_lock(&storage->file_lock);
    for (size_t i = 0; i < storage->catalog_dicts.n && status == ALM_OK; i++)
        if (!alm_dict_list_has(now, storage->catalog_dicts.ids[i]))
            status = alm_dict_list_add(cx, out, storage->catalog_dicts.ids[i]);
    (void)pthread_mutex_unlock(&storage->file_lock);
    return status;
}

/*
 * Dictionaries of tables and columns that were dropped are removed when no catalogue on the disk names them any more: recovery from the
 * one before needed them. While files are held for a copy they stay in the list, and go with a later checkpoint. Readers of older
 * snapshots have dictionaries in memory. Without memory for the lists the next checkpoint removes them.
 */
static void drop_dicts(alm_storage *storage, const alm_catver *cat)
{
    alm_ctx cx = {0};
    alm_dict_list now = {0}, gone = {0};
    alm_status status = list_dicts(&cx, cat, &now);
    if (status == ALM_OK)
        status = list_gone(&cx, storage, &now, &gone);
    const bool keeps = storage->hold.held || storage->hold.marked;
    for (size_t i = 0; keeps && i < gone.n && status == ALM_OK; i++)
        status = alm_dict_list_add(&cx, &now, gone.ids[i]);
    if (status == ALM_OK) {
        alm_dict_list_sort(&now);
        (void)pthread_mutex_lock(&storage->file_lock);
        const alm_dict_list before = storage->catalog_dicts;
        storage->catalog_dicts = now;
        (void)pthread_mutex_unlock(&storage->file_lock);
        now = before;
    }
    for (size_t i = 0; !keeps && i < gone.n && status == ALM_OK; i++) {
        unlink_dict(storage, gone.ids[i]);
        alm_version *version = alm_storage_version(storage, gone.ids[i].table_id);
        if (version == NULL)
            alm_storage_table_dir_drop(storage, gone.ids[i].table_id);
        alm_version_release(version);
    }
    alm_dict_list_free(&now);
    alm_dict_list_free(&gone);
}

/* ----------------------------------------------------------------------------- writing */

static uint64_t oldest_segment(alm_storage *storage)
{
    (void)pthread_mutex_lock(&storage->wal.lock);
    ALM_ASSERT(storage->wal.n_segments > 0);
    const uint64_t number = storage->wal.segments[0].number;
    (void)pthread_mutex_unlock(&storage->wal.lock);
    return number;
}

alm_status alm_checkpoint_write(alm_ctx *cx, alm_storage *storage)
{
    /* Taken before the version: the log may grow while the checkpoint is written. */
    const int64_t wal_bytes = atomic_load(&storage->wal.bytes_written);
    const int64_t start_ns = storage->io->mono_ns(storage->io);
    alm_catver *cat = alm_catver_current(storage);
    alm_status status = alm_wal_sync_all(cx, &storage->wal, NULL);
    if (status != ALM_OK)
        alm_storage_set_failed(storage, cx);
    if (status == ALM_OK)
        status = alm_dicts_save(cx, storage, cat);
    if (status == ALM_OK)
        status = alm_generation_write(cx, storage, cat, false);
    if (status == ALM_OK) {
        storage->checkpoint_lsn = cat->lsn;
        atomic_store(&storage->checkpoint_wal_bytes, wal_bytes);
        status = alm_wal_recycle(cx, &storage->wal, alm_generation_log(storage, cat->lsn));
        alm_damage_end_log(storage, oldest_segment(storage) - 1);
        drop_dicts(storage, cat);
    }
    if (status == ALM_OK)
        alm_times_add(&storage->counters.checkpoints, storage->io->mono_ns(storage->io) - start_ns);
    alm_catver_release(cat);
    return status;
}

alm_status alm_checkpoint(alm_ctx *cx, alm_storage *storage, int64_t keep_bytes)
{
    (void)pthread_mutex_lock(&storage->checkpoint_lock);
    alm_status status = alm_storage_writable(cx, storage);
    if (status == ALM_OK)
        status = alm_heads_flush(cx, storage, keep_bytes);
    if (status == ALM_OK && !storage->hold.held)
        status = alm_checkpoint_write(cx, storage);
    (void)pthread_mutex_unlock(&storage->checkpoint_lock);
    return status;
}

/*
 * Nothing of the last segment is needed by the next start, so that damage of it does not matter; a short one waits for the next change. Nobody
 * commits any more.
 */
static alm_status end_segment(alm_ctx *cx, alm_storage *storage)
{
    bool fatal = false;
    const alm_status status = alm_wal_begin_segment(
        cx, &storage->wal, ALM_MIN(storage->conf.wal_segment_bytes, (int64_t)LAST_SEGMENT_BYTES),
        &fatal);
    if (fatal)
        alm_storage_set_failed(storage, cx);
    if (status == ALM_OK || fatal)
        return status;
    alm_error_clear(cx);
    return ALM_OK;
}

alm_status alm_checkpoint_last(alm_ctx *cx, alm_storage *storage)
{
    (void)pthread_mutex_lock(&storage->checkpoint_lock);
    alm_status status = alm_storage_writable(cx, storage);
    if (status == ALM_OK)
        status = alm_heads_flush(cx, storage, ALM_CHECKPOINT_KEEP_BYTES);
    if (status == ALM_OK)
        status = end_segment(cx, storage);
    if (status == ALM_OK)
        status = alm_checkpoint_write(cx, storage);
    (void)pthread_mutex_unlock(&storage->checkpoint_lock);
    return status;
}

alm_status alm_storage_checkpoint(alm_ctx *cx, alm_storage *storage)
{
    return alm_checkpoint(cx, storage, 0);
}
