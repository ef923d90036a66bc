/*
 * parts_commit.c - one record that adds and removes parts: flush, bulk load, update, compaction.
 *
 * A load is newer than every row that was committed before it, but rows of the head come behind all
 * parts. So a load first flushes the head, if the head has rows of the same times.
 */
#include <stdlib.h>

#include "storage/log/payload.h"
#include "storage/version/encode.h"
#include "storage/version/touched.h"
#include "storage/version/view.h"
#include "storage/write/alter.h"
#include "storage/write/commit.h"
#include "storage/write/expire.h"
#include "storage/write/flush.h"
#include "storage/write/parts_commit.h"

typedef struct parts_arg {
    const alm_parts_change *change;
    uint64_t flushed_lsn;
    bool is_load;
    bool in_the_way; /* rows of the head that must be flushed first */
    alm_buf parts;   /* the parts operation */
} parts_arg;

bool alm_head_meets(const alm_version *version, const alm_parts_change *change)
{
    for (uint32_t i = 0; i < version->n_lanes; i++) {
        if (version->table.ts_col < 0)
            return true;
        for (uint32_t j = 0; j < change->n_add; j++)
            if (version->lanes[i].min_ts <= change->add[j]->max_ts &&
                change->add[j]->min_ts <= version->lanes[i].max_ts)
                return true;
    }
    return false;
}

alm_status alm_op_parts(alm_ctx *cx, alm_buf *buf, const alm_parts_change *change,
                        uint64_t flushed_lsn)
{
    size_t mark;
    ALM_TRY(alm_op_begin(cx, buf, ALM_OP_PARTS, &mark));
    ALM_TRY(alm_put_u64(cx, buf, change->table_id));
    ALM_TRY(alm_put_u64(cx, buf, flushed_lsn));
    ALM_TRY(alm_put_u32(cx, buf, change->n_remove));
    ALM_TRY(alm_put_u32(cx, buf, change->n_add));
    for (uint32_t i = 0; i < change->n_remove; i++)
        ALM_TRY(alm_put_u64(cx, buf, change->remove[i]->id));
    for (uint32_t i = 0; i < change->n_add; i++)
        ALM_TRY(alm_put_part(cx, buf, change->add[i]));
    return alm_op_end(cx, buf, mark);
}

/* The table that a new one replaces goes in the same record. */
static alm_status parts_commit_drop_replaced(alm_ctx *cx, alm_request *request, alm_build *build,
                                             const struct alm_pending *create)
{
    const int64_t pos =
        create->replace ? alm_catver_by_name(build->next, alm_str_of(create->v->table.name)) : -1;
    if (pos < 0)
        return ALM_OK;
    const alm_table *old = &alm_catver_at(build->next, (size_t)pos)->table;
    const uint64_t id = old->id;
    if (old->kind != ALM_TABLE_BASE)
        return ALM_OK; /* the name is taken */
    size_t mark;
    ALM_TRY(alm_op_begin(cx, &request->buf, ALM_OP_DROP, &mark));
    ALM_TRY(alm_put_u64(cx, &request->buf, id));
    ALM_TRY(alm_op_end(cx, &request->buf, mark));
    return alm_change_drop(cx, build, id);
}

static alm_status prepare_parts(alm_ctx *cx, alm_request *request, alm_build *build)
{
    parts_arg *arg = request->arg;
    const alm_parts_change *change = arg->change;
    const alm_version *version = alm_build_find(build, change->table_id);
    arg->in_the_way = arg->is_load && version != NULL && alm_head_meets(version, change);
    if (arg->in_the_way)
        return alm_fail(cx, ALM_E_CONFLICT, -1, "rows were inserted meanwhile [table=%s]",
                        version->table.name);
    if (arg->is_load && version != NULL && change->made_for != NULL)
        ALM_TRY(alm_change_accepts(cx, version, change->made_for));
    if (arg->is_load || change->create != NULL) /* not shared yet: the caller's alone */
        for (uint32_t i = 0; i < change->n_add; i++)
            change->add[i]->seq = atomic_fetch_add(&build->st->next_seq, 1);
    if (change->create != NULL) {
        size_t mark;
        ALM_TRY(parts_commit_drop_replaced(cx, request, build, change->create));
        ALM_TRY(alm_op_begin(cx, &request->buf, ALM_OP_CREATE, &mark));
        ALM_TRY(alm_put_table(cx, &request->buf, change->create->v));
        ALM_TRY(alm_op_end(cx, &request->buf, mark));
    }
    arg->parts.len = 0;
    ALM_TRY(alm_op_parts(cx, &arg->parts, change, change->flush ? arg->flushed_lsn : 0));
    alm_version *altered = NULL;
    if (change->alter != NULL)
        ALM_TRY(alm_alter_prepare(cx, &request->buf, build, change->alter, &altered));
    else if (change->view != NULL)
        ALM_TRY(alm_view_altered(cx, build, change->view, &request->buf, &altered));
    /* Symbols go between the table and its parts. Nothing may fail behind this. */
    const alm_status status =
        alm_change_parts(cx, build, change, altered, arg->flushed_lsn, false, &request->buf);
    if (status == ALM_OK && change->view != NULL)
        alm_touched_prune(build, altered->view->v.base_id);
    alm_version_release(altered);
    ALM_TRY(status);
    alm_expire_with(build, &arg->parts, change->table_id);
    request->pieces[0] = (alm_wal_piece){request->buf.ptr, request->buf.len};
    request->pieces[1] = (alm_wal_piece){arg->parts.ptr, arg->parts.len};
    request->n_pieces = 2;
    return ALM_OK;
}

static alm_status parts_commit_once(alm_ctx *cx, alm_storage *storage, parts_arg *arg,
                                    uint64_t *lsn)
{
    alm_request request = {.prepare = prepare_parts,
                           .arg = arg,
                           .records =
                               arg->change->create != NULL ? arg->change->create->records : NULL};
    alm_buf_init(&arg->parts, NULL);
    const alm_status status = alm_commit(cx, storage, &request);
    alm_buf_deinit(&arg->parts);
    if (status == ALM_OK && lsn != NULL)
        *lsn = request.lsn;
    return status;
}

/* Flushes what is in the way and tries again; rows of other writers may come in between. */
static alm_status commit_load(alm_ctx *cx, alm_storage *storage, alm_tab *tab, parts_arg *arg,
                              uint64_t *lsn)
{
    enum { TRIES = 8 };
    for (int i = 0;; i++) {
        /* The last try keeps other writers out. */
        const alm_tab_lock_kind gate = i + 1 < TRIES ? ALM_TAB_SHARE : ALM_TAB_ALONE;
        ALM_TRY(alm_tab_lock(cx, storage, tab, ALM_TAB_MAINT));
        alm_status status = alm_tab_lock(cx, storage, tab, gate);
        if (status == ALM_OK) {
            alm_version *version = alm_storage_version(storage, tab->id);
            if (version != NULL && alm_head_meets(version, arg->change))
                status = alm_head_flush(cx, storage, tab->id);
            alm_version_release(version);
            if (status == ALM_OK)
                status = parts_commit_once(cx, storage, arg, lsn);
            alm_tab_unlock(storage, tab, gate);
        }
        alm_tab_unlock(storage, tab, ALM_TAB_MAINT);
        if (status != ALM_E_CONFLICT || !arg->in_the_way || i + 1 == TRIES)
            return status;
        alm_error_clear(cx);
    }
}

static void parts_commit_count_rows(alm_storage *storage, const alm_parts_change *change,
                                    bool is_load)
{
    int64_t rows = 0;
    for (uint32_t i = 0; i < change->n_add; i++)
        rows += change->add[i]->rows;
    alm_count(&storage->counters.rows_written, rows);
    if (is_load)
        alm_count(&storage->counters.rows_committed, rows);
    if (change->flush) {
        alm_count(&storage->counters.rows_flushed, rows);
        alm_count(&storage->counters.flushes, 1);
    }
}

alm_status alm_parts_commit(alm_ctx *cx, alm_storage *storage, const alm_parts_change *change,
                            uint64_t *lsn)
{
    parts_arg arg = {.change = change};
    ALM_ASSERT(change->alter == NULL || change->view == NULL);
    ALM_TRY(alm_parts_sync(cx, storage, change->add, change->n_add));
    if (change->create != NULL) {
        ALM_TRY(parts_commit_once(cx, storage, &arg, lsn));
        parts_commit_count_rows(storage, change, true);
        return ALM_OK;
    }
    alm_version *version = alm_storage_version(storage, change->table_id);
    if (version == NULL)
        return alm_fail(cx, ALM_E_CONFLICT, -1, "table was dropped meanwhile [id=%llu]",
                        (unsigned long long)change->table_id);
    arg.flushed_lsn = version->frozen_lsn;
    arg.is_load =
        !change->flush && change->n_remove == 0 && change->alter == NULL && change->view == NULL;
    const alm_status status = arg.is_load ? commit_load(cx, storage, version->tab, &arg, lsn)
                                          : parts_commit_once(cx, storage, &arg, lsn);
    alm_version_release(version);
    if (status == ALM_OK)
        parts_commit_count_rows(storage, change, arg.is_load);
    return status;
}

/* --------------------------------------------------------------- flushes of many tables */

static alm_status sync_all_parts(alm_ctx *cx, alm_storage *storage, const alm_parts_job *jobs,
                                 size_t n_jobs)
{
    size_t n_parts = 0;
    alm_part_ref **parts = NULL;
    for (size_t i = 0; i < n_jobs; i++)
        n_parts += jobs[i].change->n_add;
    ALM_TRY(alm_heap_bytes(cx, n_parts * sizeof *parts, "a flush", (void *)&parts));
    n_parts = 0;
    for (size_t i = 0; i < n_jobs; i++)
        for (uint32_t j = 0; j < jobs[i].change->n_add; j++)
            parts[n_parts++] = jobs[i].change->add[j];
    const alm_status status = alm_parts_sync(cx, storage, parts, n_parts);
    free((void *)parts);
    return status;
}

static void commit_jobs(alm_storage *storage, const alm_parts_job *jobs, size_t n_jobs,
                        parts_arg *args, alm_request *requests)
{
    for (size_t i = 0; i < n_jobs; i++) {
        const alm_parts_change *change = jobs[i].change;
        ALM_ASSERT(change->flush && change->create == NULL);
        alm_version *version = alm_storage_version(storage, change->table_id);
        args[i] =
            (parts_arg){.change = change, .flushed_lsn = version != NULL ? version->frozen_lsn : 0};
        alm_version_release(version); /* of a table that is gone the request fails */
        alm_buf_init(&args[i].parts, NULL);
        requests[i] = (alm_request){.prepare = prepare_parts, .arg = &args[i], .cx = jobs[i].cx};
    }
    alm_commit_all(storage, requests, n_jobs);
    for (size_t i = 0; i < n_jobs; i++) {
        *jobs[i].status = requests[i].status;
        if (requests[i].status == ALM_OK)
            parts_commit_count_rows(storage, jobs[i].change, false);
        alm_buf_deinit(&args[i].parts);
    }
}

alm_status alm_parts_commit_all(alm_ctx *cx, alm_storage *storage, const alm_parts_job *jobs,
                                size_t n_jobs)
{
    parts_arg *args = NULL;
    alm_request *requests = NULL;
    if (n_jobs == 0)
        return ALM_OK;
    if (sync_all_parts(cx, storage, jobs, n_jobs) != ALM_OK) {
        for (size_t i = 0; i < n_jobs; i++)
            *jobs[i].status = alm_fail(jobs[i].cx, cx->err.code, -1, "%s", cx->err.msg);
        alm_error_clear(cx);
        return ALM_OK;
    }
    alm_status status = alm_heap_bytes(cx, n_jobs * sizeof *args, "a flush", &args);
    if (status == ALM_OK)
        status = alm_heap_bytes(cx, n_jobs * sizeof *requests, "a flush", &requests);
    if (status == ALM_OK)
        commit_jobs(storage, jobs, n_jobs, args, requests);
    free(args);
    free(requests);
    return status;
}
