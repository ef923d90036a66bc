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
static alm_status flush_alone(alm_ctx *cx, alm_storage *storage, uint64_t table_id)
{
    alm_version *version = alm_work_pauses(storage, table_id, ALM_WORK_FLUSH)
                               ? NULL
                               : alm_storage_version(storage, table_id);
    if (version == NULL)
        return ALM_OK;
    alm_tab *tab = alm_tab_retain(version->tab); /* name lives as long */
    const char *const name = version->table.name;
    alm_version_release(version); /* or the lanes that are flushed could not go */
    alm_status status = alm_tab_lock(cx, storage, tab, ALM_TAB_MAINT);
    if (status == ALM_OK) {
        status = alm_work_result(cx, storage, table_id, name, ALM_WORK_FLUSH,
                                 alm_head_flush(cx, storage, table_id));
        alm_tab_unlock(storage, tab, ALM_TAB_MAINT);
    }
    alm_tab_release(tab);
    return status;
}

/* ---------------------------------------------------------------------------- a batch */

/* *alone: the table is left to flush_alone. False: it is not in the batch. */
static bool heads_flush_join(alm_ctx *cx, alm_storage *storage, uint64_t table_id, flushed *self,
                             bool *alone)
{
    *alone = false;
    if (alm_work_pauses(storage, table_id, ALM_WORK_FLUSH))
        return false;
    alm_version *version = alm_storage_version(storage, table_id);
    if (version == NULL)
        return false;
    *self = (flushed){.cx = *cx,
                      .id = table_id,
                      .tab = alm_tab_retain(version->tab),
                      .name = version->table.name};
    const bool frozen = version->n_frozen > 0;
    alm_version_release(version);
    *alone = frozen || !alm_tab_trylock(storage, self->tab, ALM_TAB_MAINT);
    if (*alone)
        alm_tab_release(self->tab);
    return !*alone;
}

static alm_status freeze(alm_ctx *cx, alm_storage *storage, flushed *list, size_t n_requests)
{
    alm_request *requests = NULL;
    ALM_TRY(alm_heap_bytes(cx, n_requests * sizeof *requests, "a flush", &requests));
    for (size_t i = 0; i < n_requests; i++)
        requests[i] = (alm_request){
            .prepare = alm_prepare_freeze, .arg = &list[i].id, .no_log = true, .cx = &list[i].cx};
    alm_commit_all(storage, requests, n_requests);
    for (size_t i = 0; i < n_requests; i++)
        list[i].status = requests[i].status;
    free(requests);
    return ALM_OK;
}

static void write_parts(alm_storage *storage, flushed *self)
{
    if (self->status == ALM_OK)
        self->status = alm_check(&self->cx);
    if (self->status == ALM_OK)
        self->v = alm_storage_version(storage, self->id);
    if (self->status == ALM_OK && self->v != NULL && self->v->n_frozen > 0)
        self->status =
            alm_lanes_to_parts(&self->cx, storage, self->v, &self->parts, &self->n_parts);
}

static alm_status heads_flush_commit(alm_ctx *cx, alm_storage *storage, flushed *list, size_t n)
{
    alm_parts_change *changes = NULL;
    alm_parts_job *jobs = NULL;
    size_t n_jobs = 0;
    ALM_TRY(alm_heap_bytes(cx, n * sizeof *changes, "a flush", &changes));
    alm_status status = alm_heap_bytes(cx, n * sizeof *jobs, "a flush", &jobs);
    for (size_t i = 0; i < n && status == ALM_OK; i++) {
        flushed *f = &list[i];
        if (f->status != ALM_OK || f->n_parts == 0)
            continue;
        changes[n_jobs] = (alm_parts_change){
            .table_id = f->id, .add = f->parts, .n_add = f->n_parts, .flush = true};
        jobs[n_jobs] =
            (alm_parts_job){.cx = &f->cx, .change = &changes[n_jobs], .status = &f->status};
        n_jobs++;
    }
    if (status == ALM_OK)
        status = alm_parts_commit_all(cx, storage, jobs, n_jobs);
    free(jobs);
    free(changes);
    return status;
}

/* What becomes of one table is remembered with it, so that it is flushed alone the next time. */
static alm_status outcome(alm_ctx *cx, alm_storage *storage, flushed *self)
{
    if (self->status == ALM_E_CONFLICT) { /* dropped or truncated: the rows are gone */
        alm_error_clear(&self->cx);
        self->status = ALM_OK;
    }
    const alm_status status =
        alm_work_result(&self->cx, storage, self->id, self->name, ALM_WORK_FLUSH, self->status);
    if (status != ALM_OK && cx->err.code == ALM_OK)
        cx->err = self->cx.err;
    return status;
}

static void heads_flush_leave(alm_storage *storage, flushed *self)
{
    for (uint32_t i = 0; i < self->n_parts; i++)
        alm_part_ref_release(self->parts[i]);
    free((void *)self->parts);
    alm_version_release(self->v);
    alm_tab_unlock(storage, self->tab, ALM_TAB_MAINT);
    alm_tab_release(self->tab);
}

static alm_status flush_batch(alm_ctx *cx, alm_storage *storage, flushed *list, size_t n)
{
    if (n == 0)
        return ALM_OK;
    alm_status status = freeze(cx, storage, list, n);
    for (size_t i = 0; i < n && status == ALM_OK; i++)
        write_parts(storage, &list[i]);
    if (status == ALM_OK)
        status = heads_flush_commit(cx, storage, list, n);
    for (size_t i = 0; i < n && status == ALM_OK; i++)
        status = outcome(cx, storage, &list[i]);
    for (size_t i = 0; i < n; i++)
        heads_flush_leave(storage, &list[i]);
    return status;
}

/* Flushes heads [*at, ...) until *total is at most `keep_bytes`, or the batch is full. */
static alm_status heads_flush_next_batch(alm_ctx *cx, alm_storage *storage, const head_size *heads,
                                         size_t n, size_t *at, int64_t *total, int64_t keep_bytes)
{
    flushed *list = NULL;
    uint64_t *alone = NULL;
    size_t n_list = 0, n_alone = 0;
    int64_t bytes = 0;
    alm_status status = alm_heap_bytes(cx, BATCH_TABLES * sizeof *list, "a flush", &list);
    if (status == ALM_OK)
        status = alm_heap_bytes(cx, BATCH_TABLES * sizeof *alone, "a flush", &alone);
    while (status == ALM_OK && *at < n && *total > keep_bytes && n_list + n_alone < BATCH_TABLES &&
           bytes < BATCH_BYTES) {
        const head_size head = heads[(*at)++];
        bool busy = false;
        *total -= head.bytes;
        bytes += head.bytes;
        if (heads_flush_join(cx, storage, head.table_id, &list[n_list], &busy))
            n_list++;
        else if (busy)
            alone[n_alone++] = head.table_id;
    }
    if (status == ALM_OK)
        status = flush_batch(cx, storage, list, n_list);
    for (size_t i = 0; i < n_alone && status == ALM_OK; i++)
        status = flush_alone(cx, storage, alone[i]);
    free(list);
    free(alone);
    return status;
}

alm_status alm_heads_flush(alm_ctx *cx, alm_storage *storage, int64_t keep_bytes)
{
    alm_catver *cat = alm_catver_current(storage);
    head_size *heads = NULL;
    size_t count = 0, offset = 0;
    int64_t total = 0;
    alm_status status = alm_heap_bytes(cx, cat->n * sizeof *heads, "a checkpoint", &heads);
    for (size_t i = 0; i < cat->n && status == ALM_OK; i++) {
        const alm_version *version = alm_catver_at(cat, i);
        if (version->head_rows == 0)
            continue;
        heads[count++] = (head_size){version->table.id, version->head_bytes};
        total += version->head_bytes;
    }
    alm_catver_release(cat); /* or the lanes that are flushed could not go */
    if (count > 0)
        qsort(heads, count, sizeof *heads, larger_first);
    while (status == ALM_OK && offset < count && total > keep_bytes)
        status = heads_flush_next_batch(cx, storage, heads, count, &offset, &total, keep_bytes);
    free(heads);
    return status;
}
