/*
 * expire.c - TTL: partitions that end before the newest time of a table less its TTL go, all at once,
 * in the record of the commit that brings the newer time.
 *
 * Views       Rows of buckets that are not over stay, and only refreshes of the materialized views that follow the
 *             table read them (alm_table.visible_from): a row that comes for such a bucket is added to what was there.
 * Order       Rows of the head are cut off the lanes. Frozen lanes are what a flush is writing: when they
 *             have rows that are due, the commit leaves all of it to a record behind the flush
 *             (alm_table_expire, which holds MAINT). Parts need no lock of maintenance: a compaction
 *             that merges one of them finds it gone and starts anew. SHARE keeps out those who hold
 *             the rows still (UPDATE, ALTER): whoever finds the table busy leaves the work to the next
 *             commit, to the background thread, or to the next start.
 */
#include <stdlib.h>

#include "storage/log/payload.h"
#include "storage/part/part.h"
#include "storage/version/change.h"
#include "storage/version/touched.h"
#include "storage/version/view.h"
#include "storage/write/commit.h"
#include "storage/write/expire.h"
#include "storage/write/flush.h"
#include "time/calendar.h"

/* ------------------------------------------------------------------- change */

/* Rows of the chunk from `from` on, as a chunk of their own. */
static alm_status chunk_tail(alm_ctx *cx, alm_lane_chunk *chunk, uint32_t from)
{
    alm_chunk *tail = NULL;
    const uint32_t n = chunk->rows - from;
    ALM_TRY(alm_chunk_new(cx, chunk->chunk->schema, n, &tail));
    const alm_status status = alm_chunk_copy(cx, tail, 0, &chunk->chunk, 1, NULL, from, n);
    if (status != ALM_OK) {
        alm_chunk_release(tail);
        return status;
    }
    alm_chunk_release(chunk->chunk);
    *chunk = (alm_lane_chunk){tail, n};
    return ALM_OK;
}

/* The lane without its rows before `least`; without any rows it has no chunks. */
static alm_status cut_lane(alm_ctx *cx, alm_lane *lane, int32_t ts_col, int64_t least)
{
    uint32_t gone = 0;
    while (gone < lane->n_chunks) {
        alm_lane_chunk *chunk = &lane->chunks[gone];
        const int64_t *ts = chunk->chunk->cols[ts_col];
        const uint32_t place = (uint32_t)alm_times_lower_bound(ts, chunk->rows, least);
        lane->rows -= place;
        if (place == chunk->rows) {
            alm_chunk_release(chunk->chunk);
            gone++;
            continue;
        }
        lane->min_ts = ts[place];
        memmove(lane->chunks, chunk, (lane->n_chunks - gone) * sizeof *chunk);
        lane->n_chunks -= gone;
        return place > 0 ? chunk_tail(cx, &lane->chunks[0], place) : ALM_OK;
    }
    lane->n_chunks = 0;
    return ALM_OK;
}

static alm_status cut_lanes(alm_ctx *cx, alm_version *version, int64_t least)
{
    uint32_t left = 0, frozen = 0;
    for (uint32_t i = 0; i < version->n_lanes; i++)
        if (version->lanes[i].min_ts < least)
            ALM_TRY(cut_lane(cx, &version->lanes[i], version->table.ts_col, least));
    for (uint32_t i = 0; i < version->n_lanes; i++) {
        if (version->lanes[i].n_chunks == 0) {
            alm_lanes_clear(&version->lanes[i], 1);
            continue;
        }
        frozen += i < version->n_frozen;
        version->lanes[left++] = version->lanes[i];
    }
    version->n_lanes = left;
    version->n_frozen = frozen;
    return ALM_OK;
}

static alm_status cut_parts(alm_ctx *cx, alm_version *version, int64_t least)
{
    alm_part_ref **stay = NULL;
    alm_part_set *parts = NULL;
    uint32_t count = 0;
    ALM_TRY(alm_heap_bytes(cx, version->parts->n * sizeof *stay, "a list of parts", &stay));
    for (uint32_t i = 0; i < version->parts->n; i++)
        if (version->parts->parts[i]->bucket >= least)
            stay[count++] = version->parts->parts[i];
    const alm_status status = alm_part_set_new(cx, stay, count, true, &parts);
    free((void *)stay);
    ALM_TRY(status);
    alm_part_set_release(version->parts);
    version->parts = parts;
    return ALM_OK;
}

alm_status alm_version_cut(alm_ctx *cx, alm_version *version, alm_expiry expiry)
{
    ALM_TRY(cut_lanes(cx, version, expiry.keep));
    ALM_TRY(cut_parts(cx, version, expiry.keep));
    version->table.hides = expiry.keep < expiry.hide;
    version->table.visible_from = expiry.hide;
    /* a view that came later may need older rows than are there still: these are gone for all */
    version->table.kept_from = ALM_MAX(version->table.kept_from, expiry.keep);
    alm_version_settle(version);
    return ALM_OK;
}

alm_status alm_change_expire(alm_ctx *cx, alm_build *build, uint64_t table_id, alm_expiry expiry)
{
    const alm_version *version = alm_build_find(build, table_id);
    alm_version *next = NULL;
    if (version == NULL || version->table.ts_col < 0)
        return alm_fail(cx, ALM_E_CONFLICT, -1, "table was dropped meanwhile [id=%llu]",
                        (unsigned long long)table_id);
    ALM_TRY(alm_version_copy(cx, version, 0, &next));
    alm_status status = alm_version_cut(cx, next, expiry);
    if (status == ALM_OK)
        status = alm_build_own(cx, build, table_id);
    if (status != ALM_OK) {
        alm_version_release(next);
        return status;
    }
    next->lsn = build->lsn;
    alm_build_put(build, next);
    return ALM_OK;
}

/* ------------------------------------------------------------------ request */

typedef struct expire_arg {
    uint64_t table_id;
    bool maint; /* is held: rows of the head may be cut */
} expire_arg;

int64_t alm_oldest_kept(const alm_table *table, int64_t ttl)
{
    if (ttl == 0 || table->partition == ALM_PART_NONE || table->ts_col < 0 || table->row_count == 0)
        return INT64_MIN;
    const bool nanos = alm_version_is_ns(alm_version_of(table));
    const alm_time_unit unit = nanos ? ALM_TIME_NS : ALM_TIME_US;
    const int64_t ts = ttl > 0 ? alm_time_add(table->max_ts, unit, 'h', -ttl)
                               : alm_time_add(table->max_ts, unit, 'M', ttl);
    return ts == ALM_TS_NULL ? INT64_MIN : alm_partition_floor(table->partition, nanos, ts);
}

alm_expiry alm_expiry_of(const alm_catver *cat, const alm_version *version)
{
    int64_t hide = alm_oldest_kept(&version->table, version->table.ttl_hours);
    if (version->table.hides && version->table.ttl_hours != 0)
        hide =
            ALM_MAX(hide, version->table.visible_from); /* the newest rows may have been deleted */
    return (alm_expiry){hide == INT64_MIN ? hide : alm_followers_need(cat, version, hide), hide};
}

static bool expire_is_due(const alm_version *version, alm_expiry expiry)
{
    const bool hidden = expiry.keep == expiry.hide ||
                        (version->table.hides && version->table.visible_from >= expiry.hide);
    return version->table.min_ts < expiry.keep || (version->table.min_ts < expiry.hide && !hidden);
}

static bool head_is_due(const alm_version *version, int64_t least)
{
    bool due = false;
    for (uint32_t i = 0; i < version->n_lanes; i++)
        due |= version->lanes[i].min_ts < least;
    return due;
}

alm_status alm_op_expire(alm_ctx *cx, alm_buf *ops, uint64_t table_id, alm_expiry expiry)
{
    size_t mark;
    ALM_TRY(alm_op_begin(cx, ops, ALM_OP_EXPIRE, &mark));
    ALM_TRY(alm_put_u64(cx, ops, table_id));
    ALM_TRY(alm_put_i64(cx, ops, expiry.keep));
    ALM_TRY(alm_put_i64(cx, ops, expiry.hide));
    return alm_op_end(cx, ops, mark);
}

static bool frozen_is_due(const alm_version *version, int64_t least)
{
    bool due = false;
    for (uint32_t i = 0; i < version->n_frozen; i++)
        due |= version->lanes[i].min_ts < least;
    return due;
}

void alm_expire_with(alm_build *build, alm_buf *ops, uint64_t table_id)
{
    const alm_version *version = alm_build_find(build, table_id);
    const size_t had = ops->len;
    alm_ctx cx = {0}; /* the commit does not fail for it */
    if (version == NULL || version->table.ttl_hours == 0)
        return;
    const alm_expiry expiry = alm_expiry_of(build->next, version);
    if (!expire_is_due(version, expiry) || frozen_is_due(version, expiry.keep))
        return;
    if (alm_op_expire(&cx, ops, table_id, expiry) != ALM_OK ||
        alm_change_expire(&cx, build, table_id, expiry) != ALM_OK)
        ops->len = had;
}

static alm_status prepare_expire(alm_ctx *cx, alm_request *request, alm_build *build)
{
    const expire_arg *arg = request->arg;
    const alm_version *version = alm_build_find(build, arg->table_id);
    const alm_expiry expiry =
        version == NULL ? (alm_expiry){0} : alm_expiry_of(build->next, version);
    if (version == NULL || (!arg->maint && head_is_due(version, expiry.keep)))
        return alm_fail(cx, ALM_E_CONFLICT, -1, "rows were inserted meanwhile");
    ALM_TRY(alm_op_expire(cx, &request->buf, arg->table_id, expiry));
    request->pieces[0] = (alm_wal_piece){request->buf.ptr, request->buf.len};
    request->n_pieces = 1;
    return alm_change_expire(cx, build, arg->table_id, expiry);
}

static alm_status expire_busy(alm_ctx *cx)
{
    return alm_fail(cx, ALM_E_BUSY, -1, "another statement holds the table");
}

static alm_status commit_expire(alm_ctx *cx, alm_storage *storage, alm_tab *tab, bool maint)
{
    expire_arg arg = {.table_id = tab->id, .maint = maint};
    alm_request request = {.prepare = prepare_expire, .arg = &arg};
    if (!alm_tab_trylock(storage, tab, ALM_TAB_SHARE))
        return expire_busy(cx);
    const alm_status status = alm_commit(cx, storage, &request);
    alm_tab_unlock(storage, tab, ALM_TAB_SHARE);
    return status;
}

static alm_status expire_held(alm_ctx *cx, alm_storage *storage, alm_tab *tab)
{
    alm_version *version = alm_storage_version(storage, tab->id);
    const bool frozen = version != NULL && version->n_frozen > 0; /* by a flush that failed */
    alm_version_release(version);
    if (frozen)
        ALM_TRY(alm_head_flush(cx, storage, tab->id));
    return commit_expire(cx, storage, tab, true);
}

alm_status alm_table_expire(alm_ctx *cx, alm_storage *storage, uint64_t table_id)
{
    alm_version *version = alm_storage_version(storage, table_id);
    alm_catver *cat = alm_catver_current(storage);
    const alm_expiry expiry = version == NULL ? (alm_expiry){0} : alm_expiry_of(cat, version);
    const bool due = version != NULL && expire_is_due(version, expiry);
    /* refreshes of a view replace its parts under MAINT */
    const bool maint = due && (version->view != NULL || head_is_due(version, expiry.keep));
    alm_catver_release(cat);
    alm_tab *tab = due ? alm_tab_retain(version->tab) : NULL;
    alm_version_release(version);
    if (!due)
        return ALM_OK;
    alm_status status = maint ? ALM_E_CONFLICT : commit_expire(cx, storage, tab, false);
    if (status == ALM_E_CONFLICT) {
        alm_error_clear(cx);
        const bool held = alm_tab_lock_soon(storage, tab, ALM_TAB_MAINT);
        status = held ? expire_held(cx, storage, tab) : expire_busy(cx);
        if (held)
            alm_tab_unlock(storage, tab, ALM_TAB_MAINT);
    }
    alm_tab_release(tab);
    return status;
}

alm_status alm_tables_expire(alm_ctx *cx, alm_storage *storage, bool *busy)
{
    alm_catver *cat = alm_catver_current(storage);
    alm_status status = ALM_OK;
    for (size_t i = 0; i < cat->n && status == ALM_OK; i++) {
        const alm_table *table = &alm_catver_at(cat, i)->table;
        if (table->ttl_hours != 0)
            status = alm_table_expire(cx, storage, table->id);
        if (status == ALM_E_BUSY) {
            *busy = true;
            alm_error_clear(cx);
            status = ALM_OK;
        }
    }
    alm_catver_release(cat);
    return status;
}

void alm_table_expire_after(alm_ctx *cx, alm_storage *storage, uint64_t table_id)
{
    if (alm_table_expire(cx, storage, table_id) != ALM_OK)
        alm_error_clear(cx);
}
