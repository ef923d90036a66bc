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
static alm_status chunk_tail(alm_ctx *cx, alm_lane_chunk *c, uint32_t from)
{
    alm_chunk *tail = NULL;
    const uint32_t n = c->rows - from;
    ALM_TRY(alm_chunk_new(cx, c->chunk->schema, n, &tail));
    const alm_status e = alm_chunk_copy(cx, tail, 0, &c->chunk, 1, NULL, from, n);
    if (e != ALM_OK) {
        alm_chunk_release(tail);
        return e;
    }
    alm_chunk_release(c->chunk);
    *c = (alm_lane_chunk){tail, n};
    return ALM_OK;
}

/* The lane without its rows before `least`; without any rows it has no chunks. */
static alm_status cut_lane(alm_ctx *cx, alm_lane *lane, int32_t ts_col, int64_t least)
{
    uint32_t gone = 0;
    while (gone < lane->n_chunks) {
        alm_lane_chunk *c = &lane->chunks[gone];
        const int64_t *ts = c->chunk->cols[ts_col];
        const uint32_t at = (uint32_t)alm_times_lower_bound(ts, c->rows, least);
        lane->rows -= at;
        if (at == c->rows) {
            alm_chunk_release(c->chunk);
            gone++;
            continue;
        }
        lane->min_ts = ts[at];
        memmove(lane->chunks, c, (lane->n_chunks - gone) * sizeof *c);
        lane->n_chunks -= gone;
        return at > 0 ? chunk_tail(cx, &lane->chunks[0], at) : ALM_OK;
    }
    lane->n_chunks = 0;
    return ALM_OK;
}

static alm_status cut_lanes(alm_ctx *cx, alm_version *v, int64_t least)
{
    uint32_t left = 0, frozen = 0;
    for (uint32_t i = 0; i < v->n_lanes; i++)
        if (v->lanes[i].min_ts < least)
            ALM_TRY(cut_lane(cx, &v->lanes[i], v->table.ts_col, least));
    for (uint32_t i = 0; i < v->n_lanes; i++) {
        if (v->lanes[i].n_chunks == 0) {
            alm_lanes_clear(&v->lanes[i], 1);
            continue;
        }
        frozen += i < v->n_frozen;
        v->lanes[left++] = v->lanes[i];
    }
    v->n_lanes = left;
    v->n_frozen = frozen;
    return ALM_OK;
}

static alm_status cut_parts(alm_ctx *cx, alm_version *v, int64_t least)
{
    alm_part_ref **stay = NULL;
    alm_part_set *parts = NULL;
    uint32_t n = 0;
    ALM_TRY(alm_heap_bytes(cx, v->parts->n * sizeof *stay, "a list of parts", &stay));
    for (uint32_t i = 0; i < v->parts->n; i++)
        if (v->parts->parts[i]->bucket >= least)
            stay[n++] = v->parts->parts[i];
    const alm_status e = alm_part_set_new(cx, stay, n, true, &parts);
    free((void *)stay);
    ALM_TRY(e);
    alm_part_set_release(v->parts);
    v->parts = parts;
    return ALM_OK;
}

alm_status alm_version_cut(alm_ctx *cx, alm_version *v, alm_expiry e)
{
    ALM_TRY(cut_lanes(cx, v, e.keep));
    ALM_TRY(cut_parts(cx, v, e.keep));
    v->table.hides = e.keep < e.hide;
    v->table.visible_from = e.hide;
    /* a view that came later may need older rows than are there still: these are gone for all */
    v->table.kept_from = ALM_MAX(v->table.kept_from, e.keep);
    alm_version_settle(v);
    return ALM_OK;
}

alm_status alm_change_expire(alm_ctx *cx, alm_build *b, uint64_t table_id, alm_expiry expiry)
{
    const alm_version *v = alm_build_find(b, table_id);
    alm_version *next = NULL;
    if (v == NULL || v->table.ts_col < 0)
        return alm_fail(cx, ALM_E_CONFLICT, -1, "table was dropped meanwhile [id=%llu]",
                        (unsigned long long)table_id);
    ALM_TRY(alm_version_copy(cx, v, 0, &next));
    alm_status e = alm_version_cut(cx, next, expiry);
    if (e == ALM_OK)
        e = alm_build_own(cx, b, table_id);
    if (e != ALM_OK) {
        alm_version_release(next);
        return e;
    }
    next->lsn = b->lsn;
    alm_build_put(b, next);
    return ALM_OK;
}

/* ------------------------------------------------------------------ request */

typedef struct expire_arg {
    uint64_t table_id;
    bool maint; /* is held: rows of the head may be cut */
} expire_arg;

int64_t alm_oldest_kept(const alm_table *t, int64_t ttl)
{
    if (ttl == 0 || t->partition == ALM_PART_NONE || t->ts_col < 0 || t->row_count == 0)
        return INT64_MIN;
    const bool ns = alm_version_is_ns(alm_version_of(t));
    const alm_time_unit unit = ns ? ALM_TIME_NS : ALM_TIME_US;
    const int64_t ts = ttl > 0 ? alm_time_add(t->max_ts, unit, 'h', -ttl)
                               : alm_time_add(t->max_ts, unit, 'M', ttl);
    return ts == ALM_TS_NULL ? INT64_MIN : alm_partition_floor(t->partition, ns, ts);
}

alm_expiry alm_expiry_of(const alm_catver *cat, const alm_version *v)
{
    int64_t hide = alm_oldest_kept(&v->table, v->table.ttl_hours);
    if (v->table.hides && v->table.ttl_hours != 0)
        hide = ALM_MAX(hide, v->table.visible_from); /* the newest rows may have been deleted */
    return (alm_expiry){hide == INT64_MIN ? hide : alm_followers_need(cat, v, hide), hide};
}

static bool is_due(const alm_version *v, alm_expiry e)
{
    const bool hidden = e.keep == e.hide || (v->table.hides && v->table.visible_from >= e.hide);
    return v->table.min_ts < e.keep || (v->table.min_ts < e.hide && !hidden);
}

static bool head_is_due(const alm_version *v, int64_t least)
{
    bool due = false;
    for (uint32_t i = 0; i < v->n_lanes; i++)
        due |= v->lanes[i].min_ts < least;
    return due;
}

alm_status alm_op_expire(alm_ctx *cx, alm_buf *ops, uint64_t table_id, alm_expiry e)
{
    size_t mark;
    ALM_TRY(alm_op_begin(cx, ops, ALM_OP_EXPIRE, &mark));
    ALM_TRY(alm_put_u64(cx, ops, table_id));
    ALM_TRY(alm_put_i64(cx, ops, e.keep));
    ALM_TRY(alm_put_i64(cx, ops, e.hide));
    return alm_op_end(cx, ops, mark);
}

static bool frozen_is_due(const alm_version *v, int64_t least)
{
    bool due = false;
    for (uint32_t i = 0; i < v->n_frozen; i++)
        due |= v->lanes[i].min_ts < least;
    return due;
}

void alm_expire_with(alm_build *b, alm_buf *ops, uint64_t table_id)
{
    const alm_version *v = alm_build_find(b, table_id);
    const size_t had = ops->len;
    alm_ctx cx = {0}; /* the commit does not fail for it */
    if (v == NULL || v->table.ttl_hours == 0)
        return;
    const alm_expiry e = alm_expiry_of(b->next, v);
    if (!is_due(v, e) || frozen_is_due(v, e.keep))
        return;
    if (alm_op_expire(&cx, ops, table_id, e) != ALM_OK ||
        alm_change_expire(&cx, b, table_id, e) != ALM_OK)
        ops->len = had;
}

static alm_status prepare_expire(alm_ctx *cx, alm_request *rq, alm_build *b)
{
    const expire_arg *arg = rq->arg;
    const alm_version *v = alm_build_find(b, arg->table_id);
    const alm_expiry e = v == NULL ? (alm_expiry){0} : alm_expiry_of(b->next, v);
    if (v == NULL || (!arg->maint && head_is_due(v, e.keep)))
        return alm_fail(cx, ALM_E_CONFLICT, -1, "rows were inserted meanwhile");
    ALM_TRY(alm_op_expire(cx, &rq->buf, arg->table_id, e));
    rq->pieces[0] = (alm_wal_piece){rq->buf.ptr, rq->buf.len};
    rq->n_pieces = 1;
    return alm_change_expire(cx, b, arg->table_id, e);
}

static alm_status busy(alm_ctx *cx)
{
    return alm_fail(cx, ALM_E_BUSY, -1, "another statement holds the table");
}

static alm_status commit_expire(alm_ctx *cx, alm_storage *st, alm_tab *tab, bool maint)
{
    expire_arg arg = {.table_id = tab->id, .maint = maint};
    alm_request rq = {.prepare = prepare_expire, .arg = &arg};
    if (!alm_tab_trylock(st, tab, ALM_TAB_SHARE))
        return busy(cx);
    const alm_status e = alm_commit(cx, st, &rq);
    alm_tab_unlock(st, tab, ALM_TAB_SHARE);
    return e;
}

static alm_status expire_held(alm_ctx *cx, alm_storage *st, alm_tab *tab)
{
    alm_version *v = alm_storage_version(st, tab->id);
    const bool frozen = v != NULL && v->n_frozen > 0; /* by a flush that failed */
    alm_version_release(v);
    if (frozen)
        ALM_TRY(alm_head_flush(cx, st, tab->id));
    return commit_expire(cx, st, tab, true);
}

alm_status alm_table_expire(alm_ctx *cx, alm_storage *st, uint64_t table_id)
{
    alm_version *v = alm_storage_version(st, table_id);
    alm_catver *cat = alm_catver_current(st);
    const alm_expiry expiry = v == NULL ? (alm_expiry){0} : alm_expiry_of(cat, v);
    const bool due = v != NULL && is_due(v, expiry);
    /* refreshes of a view replace its parts under MAINT */
    const bool maint = due && (v->view != NULL || head_is_due(v, expiry.keep));
    alm_catver_release(cat);
    alm_tab *tab = due ? alm_tab_retain(v->tab) : NULL;
    alm_version_release(v);
    if (!due)
        return ALM_OK;
    alm_status e = maint ? ALM_E_CONFLICT : commit_expire(cx, st, tab, false);
    if (e == ALM_E_CONFLICT) {
        alm_error_clear(cx);
        const bool held = alm_tab_lock_soon(st, tab, ALM_TAB_MAINT);
        e = held ? expire_held(cx, st, tab) : busy(cx);
        if (held)
            alm_tab_unlock(st, tab, ALM_TAB_MAINT);
    }
    alm_tab_release(tab);
    return e;
}

alm_status alm_tables_expire(alm_ctx *cx, alm_storage *st, bool *busy)
{
    alm_catver *cat = alm_catver_current(st);
    alm_status e = ALM_OK;
    for (size_t i = 0; i < cat->n && e == ALM_OK; i++) {
        const alm_table *t = &alm_catver_at(cat, i)->table;
        if (t->ttl_hours != 0)
            e = alm_table_expire(cx, st, t->id);
        if (e == ALM_E_BUSY) {
            *busy = true;
            alm_error_clear(cx);
            e = ALM_OK;
        }
    }
    alm_catver_release(cat);
    return e;
}

void alm_table_expire_after(alm_ctx *cx, alm_storage *st, uint64_t table_id)
{
    if (alm_table_expire(cx, st, table_id) != ALM_OK)
        alm_error_clear(cx);
}
