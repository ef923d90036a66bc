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

static alm_status room_for_one(alm_ctx *cx, savings *s)
{
    if (s->n < s->cap)
        return ALM_OK;
    const size_t cap = ALM_MAX((size_t)64, 2 * s->cap);
    saving *bigger = realloc(s->list, cap * sizeof *bigger);
    if (bigger == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for a checkpoint");
    s->list = bigger;
    s->cap = cap;
    return ALM_OK;
}

static alm_status write_dict(alm_ctx *cx, alm_storage *st, const alm_version *v, uint32_t col,
                             savings *s)
{
    char dir[ALM_PATH_MAX], name[32];
    ALM_TRY(room_for_one(cx, s));
    saving *one = &s->list[s->n];
    ALM_TRY(alm_unsynced_begin(cx, st, v->table.id, &one->unsynced));
    alm_storage_table_dir(st, v->table.id, dir, sizeof dir);
    (void)snprintf(name, sizeof name, "%u.dict", v->schema->cols[col].id);
    ALM_TRY(alm_symbols_write(cx, v->schema->symbols[col], st->io, dir, name,
                              v->schema->dicts[col].count, &one->symbols));
    one->unsynced.named = !one->symbols.fresh;
    s->n++;
    return alm_unsynced_written(cx, st, &one->unsynced, one->symbols.handle, one->symbols.bytes,
                                name);
}

/* A column of symbols has a file once it has a value. */
static bool has_dict(const alm_version *v, uint32_t col)
{
    return v->schema->symbols[col] != NULL && v->schema->dicts[col].count > 1;
}

static alm_status write_dicts(alm_ctx *cx, alm_storage *st, const alm_version *v, savings *s)
{
    for (uint32_t c = 0; c < v->schema->n_cols; c++)
        if (has_dict(v, c) && alm_symbols_has_new(v->schema->symbols[c], v->schema->dicts[c].count))
            ALM_TRY(write_dict(cx, st, v, c, s));
    return ALM_OK;
}

static alm_status sync_dicts(alm_ctx *cx, alm_storage *st, savings *s)
{
    alm_unsynced **list = NULL;
    ALM_TRY(alm_heap_bytes(cx, s->n * sizeof *list, "a checkpoint", (void *)&list));
    for (size_t i = 0; i < s->n; i++)
        list[i] = &s->list[i].unsynced;
    const alm_status e = alm_unsynced_sync(cx, st, list, s->n);
    free((void *)list);
    return e;
}

alm_status alm_dicts_save(alm_ctx *cx, alm_storage *st, const alm_catver *cat)
{
    savings s = {0};
    alm_status e = ALM_OK;
    for (size_t i = 0; i < cat->n && e == ALM_OK; i++)
        e = write_dicts(cx, st, alm_catver_at(cat, i), &s);
    if (e == ALM_OK && s.n > 0)
        e = sync_dicts(cx, st, &s);
    for (size_t i = 0; i < s.n; i++) {
        if (e == ALM_OK)
            alm_symbols_saved(&s.list[i].symbols);
        alm_unsynced_drop(st, &s.list[i].unsynced);
    }
    free(s.list);
    return e;
}

/* ----------------------------------------------------------- dictionaries that went */

static alm_status list_dicts(alm_ctx *cx, const alm_catver *cat, alm_dict_list *out)
{
    for (size_t i = 0; i < cat->n; i++) {
        const alm_version *v = alm_catver_at(cat, i);
        for (uint32_t c = 0; c < v->schema->n_cols; c++)
            if (has_dict(v, c))
                ALM_TRY(
                    alm_dict_list_add(cx, out, (alm_dict_id){v->table.id, v->schema->cols[c].id}));
    }
    alm_dict_list_sort(out);
    return ALM_OK;
}

static void unlink_dict(alm_storage *st, alm_dict_id id)
{
    char dir[ALM_PATH_MAX - 64], path[ALM_PATH_MAX];
    alm_storage_table_dir(st, id.table_id, dir, sizeof dir);
    (void)snprintf(path, sizeof path, "%s/%u.dict", dir, id.col_id);
    (void)st->io->unlink(st->io, path);
}

/* What the catalogue before named and `now` does not. */
static alm_status list_gone(alm_ctx *cx, alm_storage *st, const alm_dict_list *now,
                            alm_dict_list *out)
{
    alm_status e = ALM_OK;
    (void)pthread_mutex_lock(&st->file_lock);
    for (size_t i = 0; i < st->catalog_dicts.n && e == ALM_OK; i++)
        if (!alm_dict_list_has(now, st->catalog_dicts.ids[i]))
            e = alm_dict_list_add(cx, out, st->catalog_dicts.ids[i]);
    (void)pthread_mutex_unlock(&st->file_lock);
    return e;
}

/*
 * Dictionaries of tables and columns that were dropped are removed when no catalogue on the disk names them any more: recovery from the
 * one before needed them. While files are held for a copy they stay in the list, and go with a later checkpoint. Readers of older
 * snapshots have dictionaries in memory. Without memory for the lists the next checkpoint removes them.
 */
static void drop_dicts(alm_storage *st, const alm_catver *cat)
{
    alm_ctx cx = {0};
    alm_dict_list now = {0}, gone = {0};
    alm_status e = list_dicts(&cx, cat, &now);
    if (e == ALM_OK)
        e = list_gone(&cx, st, &now, &gone);
    const bool keeps = st->hold.held || st->hold.marked;
    for (size_t i = 0; keeps && i < gone.n && e == ALM_OK; i++)
        e = alm_dict_list_add(&cx, &now, gone.ids[i]);
    if (e == ALM_OK) {
        alm_dict_list_sort(&now);
        (void)pthread_mutex_lock(&st->file_lock);
        const alm_dict_list before = st->catalog_dicts;
        st->catalog_dicts = now;
        (void)pthread_mutex_unlock(&st->file_lock);
        now = before;
    }
    for (size_t i = 0; !keeps && i < gone.n && e == ALM_OK; i++) {
        unlink_dict(st, gone.ids[i]);
        alm_version *v = alm_storage_version(st, gone.ids[i].table_id);
        if (v == NULL)
            alm_storage_table_dir_drop(st, gone.ids[i].table_id);
        alm_version_release(v);
    }
    alm_dict_list_free(&now);
    alm_dict_list_free(&gone);
}

/* ----------------------------------------------------------------------------- writing */

static uint64_t oldest_segment(alm_storage *st)
{
    (void)pthread_mutex_lock(&st->wal.lock);
    ALM_ASSERT(st->wal.n_segments > 0);
    const uint64_t number = st->wal.segments[0].number;
    (void)pthread_mutex_unlock(&st->wal.lock);
    return number;
}

alm_status alm_checkpoint_write(alm_ctx *cx, alm_storage *st)
{
    /* Taken before the version: the log may grow while the checkpoint is written. */
    const int64_t wal_bytes = atomic_load(&st->wal.bytes_written);
    const int64_t start_ns = st->io->mono_ns(st->io);
    alm_catver *cat = alm_catver_current(st);
    alm_status e = alm_wal_sync_all(cx, &st->wal, NULL);
    if (e != ALM_OK)
        alm_storage_set_failed(st, cx);
    if (e == ALM_OK)
        e = alm_dicts_save(cx, st, cat);
    if (e == ALM_OK)
        e = alm_generation_write(cx, st, cat, false);
    if (e == ALM_OK) {
        st->checkpoint_lsn = cat->lsn;
        atomic_store(&st->checkpoint_wal_bytes, wal_bytes);
        e = alm_wal_recycle(cx, &st->wal, alm_generation_log(st, cat->lsn));
        alm_damage_end_log(st, oldest_segment(st) - 1);
        drop_dicts(st, cat);
    }
    if (e == ALM_OK)
        alm_times_add(&st->counters.checkpoints, st->io->mono_ns(st->io) - start_ns);
    alm_catver_release(cat);
    return e;
}

alm_status alm_checkpoint(alm_ctx *cx, alm_storage *st, int64_t keep_bytes)
{
    (void)pthread_mutex_lock(&st->checkpoint_lock);
    alm_status e = alm_storage_writable(cx, st);
    if (e == ALM_OK)
        e = alm_heads_flush(cx, st, keep_bytes);
    if (e == ALM_OK && !st->hold.held)
        e = alm_checkpoint_write(cx, st);
    (void)pthread_mutex_unlock(&st->checkpoint_lock);
    return e;
}

/*
 * Nothing of the last segment is needed by the next start, so that damage of it does not matter; a short one waits for the next change. Nobody
 * commits any more.
 */
static alm_status end_segment(alm_ctx *cx, alm_storage *st)
{
    bool fatal = false;
    const alm_status e = alm_wal_begin_segment(
        cx, &st->wal, ALM_MIN(st->conf.wal_segment_bytes, (int64_t)LAST_SEGMENT_BYTES), &fatal);
    if (fatal)
        alm_storage_set_failed(st, cx);
    if (e == ALM_OK || fatal)
        return e;
    alm_error_clear(cx);
    return ALM_OK;
}

alm_status alm_checkpoint_last(alm_ctx *cx, alm_storage *st)
{
    (void)pthread_mutex_lock(&st->checkpoint_lock);
    alm_status e = alm_storage_writable(cx, st);
    if (e == ALM_OK)
        e = alm_heads_flush(cx, st, ALM_CHECKPOINT_KEEP_BYTES);
    if (e == ALM_OK)
        e = end_segment(cx, st);
    if (e == ALM_OK)
        e = alm_checkpoint_write(cx, st);
    (void)pthread_mutex_unlock(&st->checkpoint_lock);
    return e;
}

alm_status alm_storage_checkpoint(alm_ctx *cx, alm_storage *st)
{
    return alm_checkpoint(cx, st, 0);
}
