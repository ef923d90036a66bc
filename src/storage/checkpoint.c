/*
 * checkpoint.c - a point from which recovery can start: heads flushed, dictionaries and catalogue on
 * disk, old log given back.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "storage/commit.h"
#include "storage/dict.h"
#include "storage/failing.h"

typedef struct head_size {
    uint64_t table_id;
    int64_t bytes;
} head_size;

static int larger_first(const void *a, const void *b)
{
    const head_size *x = a, *y = b;
    return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

alm_status alm_heads_flush(alm_ctx *cx, alm_storage *st, int64_t keep_bytes)
{
    alm_catver *cat = alm_catver_current(st);
    head_size *heads = NULL;
    size_t n = 0;
    int64_t total = 0;
    alm_status e = alm_heap_bytes(cx, cat->n * sizeof *heads, "a checkpoint", &heads);
    for (size_t i = 0; i < cat->n && e == ALM_OK; i++) {
        const alm_version *v = alm_catver_at(cat, i);
        if (v->head_rows == 0)
            continue;
        heads[n++] = (head_size){v->table.id, v->head_bytes};
        total += v->head_bytes;
    }
    alm_catver_release(cat); /* or the lanes that are flushed could not go */
    if (n > 0)
        qsort(heads, n, sizeof *heads, larger_first);
    for (size_t i = 0; i < n && e == ALM_OK && total > keep_bytes; i++) {
        total -= heads[i].bytes;
        alm_version *v = alm_work_pauses(st, heads[i].table_id, ALM_WORK_FLUSH)
                             ? NULL
                             : alm_storage_version(st, heads[i].table_id);
        if (v == NULL)
            continue;
        e = alm_tab_lock(cx, st, v->tab, ALM_TAB_MAINT);
        if (e == ALM_OK) {
            alm_tab *tab = alm_tab_retain(v->tab); /* name lives as long */
            const char *const name = v->table.name;
            alm_version_release(v);
            v = NULL;
            e = alm_work_result(cx, st, tab->id, name, ALM_WORK_FLUSH,
                                alm_head_flush(cx, st, tab->id));
            alm_tab_unlock(st, tab, ALM_TAB_MAINT);
            alm_tab_release(tab);
        }
        alm_version_release(v);
    }
    free(heads);
    return e;
}

static alm_status save_dicts(alm_ctx *cx, alm_storage *st, const alm_version *v)
{
    char dir[ALM_PATH_MAX], tables[ALM_PATH_MAX], name[32];
    bool there = false;
    for (uint32_t c = 0; c < v->schema->n_cols; c++) {
        if (v->schema->symbols[c] == NULL || v->schema->dicts[c].count <= 1)
            continue;
        if (!there) {
            alm_io_stat meta;
            alm_storage_table_dir(st, v->table.id, dir, sizeof dir);
            (void)snprintf(tables, sizeof tables, "%s/tables", st->root);
            if (st->io->stat(st->io, dir, &meta) < 0) {
                int e = st->io->mkdir(st->io, dir);
                if (e >= 0)
                    e = st->io->sync_dir(st->io, tables);
                if (e < 0) {
                    (void)st->io->rmdir(st->io, dir);
                    return alm_io_fail(cx, e, dir);
                }
            }
            there = true;
        }
        (void)snprintf(name, sizeof name, "%u.dict", v->schema->cols[c].id);
        ALM_TRY(alm_symbols_save(cx, v->schema->symbols[c], st->io, dir, name,
                                 v->schema->dicts[c].count));
    }
    return ALM_OK;
}

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
    for (size_t i = 0; i < cat->n && e == ALM_OK; i++)
        e = save_dicts(cx, st, alm_catver_at(cat, i));
    if (e == ALM_OK)
        e = alm_catalog_write(cx, st, cat);
    if (e == ALM_OK) {
        st->checkpoint_lsn = cat->lsn;
        atomic_store(&st->checkpoint_wal_bytes, wal_bytes);
        e = alm_wal_recycle(cx, &st->wal, cat->lsn);
        alm_damage_end_log(st, oldest_segment(st) - 1);
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

alm_status alm_storage_checkpoint(alm_ctx *cx, alm_storage *st)
{
    return alm_checkpoint(cx, st, 0);
}
