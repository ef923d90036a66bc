/*
 * heads_flush.c - the heads of many tables become parts together: the files of a batch are synced as one group, and its
 * records are written as one. A table whose flush fails fails alone, and does so before the others are committed.
 *
 * Locks       The maintenance locks of a batch are tried, not waited for, because they are held until its end. A table that
 *             is in use, or has frozen lanes of an earlier failure, is flushed by itself behind the batch.
 */
#include <stdlib.h>

#include "storage/state.h"
#include "storage/version/change.h"
#include "storage/write/commit.h"
#include "storage/write/failing.h"
#include "storage/write/flush.h"
#include "storage/write/parts_commit.h"

enum { BATCH_TABLES = 512 };
static const int64_t BATCH_BYTES = INT64_C(64) << 20;

typedef struct head_size {
    uint64_t table_id;
    int64_t bytes;
} head_size;

/* One table of a batch. */
typedef struct flushed {
    alm_ctx cx; /* a copy of the caller's, for the error of this table */
    uint64_t id;
    alm_tab *tab; /* locked */
    const char *name;
    alm_version *v; /* with frozen lanes; NULL: it was dropped */
    alm_part_ref **parts;
    uint32_t n_parts;
    alm_status status;
} flushed;

static int larger_first(const void *a, const void *b)
{
    const head_size *x = a, *y = b;
    return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

/* A head alone. Waits for the table. */
static alm_status flush_alone(alm_ctx *cx, alm_storage *st, uint64_t table_id)
{
    alm_version *v =
        alm_work_pauses(st, table_id, ALM_WORK_FLUSH) ? NULL : alm_storage_version(st, table_id);
    if (v == NULL)
        return ALM_OK;
    alm_tab *tab = alm_tab_retain(v->tab); /* name lives as long */
    const char *const name = v->table.name;
    alm_version_release(v); /* or the lanes that are flushed could not go */
    alm_status e = alm_tab_lock(cx, st, tab, ALM_TAB_MAINT);
    if (e == ALM_OK) {
        e = alm_work_result(cx, st, table_id, name, ALM_WORK_FLUSH,
                            alm_head_flush(cx, st, table_id));
        alm_tab_unlock(st, tab, ALM_TAB_MAINT);
    }
    alm_tab_release(tab);
    return e;
}

/* ---------------------------------------------------------------------------- a batch */

/* *alone: the table is left to flush_alone. False: it is not in the batch. */
static bool join(alm_ctx *cx, alm_storage *st, uint64_t table_id, flushed *f, bool *alone)
{
    *alone = false;
    if (alm_work_pauses(st, table_id, ALM_WORK_FLUSH))
        return false;
    alm_version *v = alm_storage_version(st, table_id);
    if (v == NULL)
        return false;
    *f = (flushed){.cx = *cx, .id = table_id, .tab = alm_tab_retain(v->tab), .name = v->table.name};
    const bool frozen = v->n_frozen > 0;
    alm_version_release(v);
    *alone = frozen || !alm_tab_trylock(st, f->tab, ALM_TAB_MAINT);
    if (*alone)
        alm_tab_release(f->tab);
    return !*alone;
}

static alm_status freeze(alm_ctx *cx, alm_storage *st, flushed *list, size_t n)
{
    alm_request *requests = NULL;
    ALM_TRY(alm_heap_bytes(cx, n * sizeof *requests, "a flush", &requests));
    for (size_t i = 0; i < n; i++)
        requests[i] = (alm_request){
            .prepare = alm_prepare_freeze, .arg = &list[i].id, .no_log = true, .cx = &list[i].cx};
    alm_commit_all(st, requests, n);
    for (size_t i = 0; i < n; i++)
        list[i].status = requests[i].status;
    free(requests);
    return ALM_OK;
}

static void write_parts(alm_storage *st, flushed *f)
{
    if (f->status == ALM_OK)
        f->status = alm_check(&f->cx);
    if (f->status == ALM_OK)
        f->v = alm_storage_version(st, f->id);
    if (f->status == ALM_OK && f->v != NULL && f->v->n_frozen > 0)
        f->status = alm_lanes_to_parts(&f->cx, st, f->v, &f->parts, &f->n_parts);
}

static alm_status commit(alm_ctx *cx, alm_storage *st, flushed *list, size_t n)
{
    alm_parts_change *changes = NULL;
    alm_parts_job *jobs = NULL;
    size_t n_jobs = 0;
    ALM_TRY(alm_heap_bytes(cx, n * sizeof *changes, "a flush", &changes));
    alm_status e = alm_heap_bytes(cx, n * sizeof *jobs, "a flush", &jobs);
    for (size_t i = 0; i < n && e == ALM_OK; i++) {
        flushed *f = &list[i];
        if (f->status != ALM_OK || f->n_parts == 0)
            continue;
        changes[n_jobs] = (alm_parts_change){
            .table_id = f->id, .add = f->parts, .n_add = f->n_parts, .flush = true};
        jobs[n_jobs] =
            (alm_parts_job){.cx = &f->cx, .change = &changes[n_jobs], .status = &f->status};
        n_jobs++;
    }
    if (e == ALM_OK)
        e = alm_parts_commit_all(cx, st, jobs, n_jobs);
    free(jobs);
    free(changes);
    return e;
}

/* What becomes of one table is remembered with it, so that it is flushed alone the next time. */
static alm_status outcome(alm_ctx *cx, alm_storage *st, flushed *f)
{
    if (f->status == ALM_E_CONFLICT) { /* dropped or truncated: the rows are gone */
        alm_error_clear(&f->cx);
        f->status = ALM_OK;
    }
    const alm_status e = alm_work_result(&f->cx, st, f->id, f->name, ALM_WORK_FLUSH, f->status);
    if (e != ALM_OK && cx->err.code == ALM_OK)
        cx->err = f->cx.err;
    return e;
}

static void leave(alm_storage *st, flushed *f)
{
    for (uint32_t i = 0; i < f->n_parts; i++)
        alm_part_ref_release(f->parts[i]);
    free((void *)f->parts);
    alm_version_release(f->v);
    alm_tab_unlock(st, f->tab, ALM_TAB_MAINT);
    alm_tab_release(f->tab);
}

static alm_status flush_batch(alm_ctx *cx, alm_storage *st, flushed *list, size_t n)
{
    if (n == 0)
        return ALM_OK;
    alm_status e = freeze(cx, st, list, n);
    for (size_t i = 0; i < n && e == ALM_OK; i++)
        write_parts(st, &list[i]);
    if (e == ALM_OK)
        e = commit(cx, st, list, n);
    for (size_t i = 0; i < n && e == ALM_OK; i++)
        e = outcome(cx, st, &list[i]);
    for (size_t i = 0; i < n; i++)
        leave(st, &list[i]);
    return e;
}

/* Flushes heads [*at, ...) until *total is at most `keep_bytes`, or the batch is full. */
static alm_status next_batch(alm_ctx *cx, alm_storage *st, const head_size *heads, size_t n,
                             size_t *at, int64_t *total, int64_t keep_bytes)
{
    flushed *list = NULL;
    uint64_t *alone = NULL;
    size_t n_list = 0, n_alone = 0;
    int64_t bytes = 0;
    alm_status e = alm_heap_bytes(cx, BATCH_TABLES * sizeof *list, "a flush", &list);
    if (e == ALM_OK)
        e = alm_heap_bytes(cx, BATCH_TABLES * sizeof *alone, "a flush", &alone);
    while (e == ALM_OK && *at < n && *total > keep_bytes && n_list + n_alone < BATCH_TABLES &&
           bytes < BATCH_BYTES) {
        const head_size head = heads[(*at)++];
        bool busy = false;
        *total -= head.bytes;
        bytes += head.bytes;
        if (join(cx, st, head.table_id, &list[n_list], &busy))
            n_list++;
        else if (busy)
            alone[n_alone++] = head.table_id;
    }
    if (e == ALM_OK)
        e = flush_batch(cx, st, list, n_list);
    for (size_t i = 0; i < n_alone && e == ALM_OK; i++)
        e = flush_alone(cx, st, alone[i]);
    free(list);
    free(alone);
    return e;
}

alm_status alm_heads_flush(alm_ctx *cx, alm_storage *st, int64_t keep_bytes)
{
    alm_catver *cat = alm_catver_current(st);
    head_size *heads = NULL;
    size_t n = 0, at = 0;
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
    while (e == ALM_OK && at < n && total > keep_bytes)
        e = next_batch(cx, st, heads, n, &at, &total, keep_bytes);
    free(heads);
    return e;
}
