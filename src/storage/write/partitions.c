/*
 * partitions.c - what a table's partitions hold, for SHOW PARTITIONS; DROP PARTITION, CONVERT PARTITION
 * and SQUASH PARTITIONS.
 *
 * Parts lie in one partition each; rows of the head are counted where their times lie, by search in
 * the sorted chunks.
 */
#include <stdlib.h>

#include "storage/scan/scan.h"
#include "storage/write/alter.h"
#include "storage/write/commit.h"
#include "storage/write/compact.h"
#include "storage/write/ddl.h"
#include "storage/write/flush.h"
#include "storage/write/parts_commit.h"

typedef struct gathering {
    alm_ctx *cx;
    alm_arena *arena;
    const alm_version *v;
    bool ns;
    struct bucket_info {
        int64_t bucket;
        alm_partition_info info;
    } *rows;
    size_t n, cap;
} gathering;

/* The entry of a partition, new ones at their place in time. */
static alm_status entry_of(gathering *g, int64_t bucket, alm_partition_info **out)
{
    size_t lo = 0, hi = g->n;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (g->rows[mid].bucket < bucket)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == g->n || g->rows[lo].bucket != bucket) {
        if (g->n == g->cap) {
            struct bucket_info *grown = NULL;
            const size_t cap = g->cap == 0 ? 64 : g->cap * 2;
            ALM_TRY(ALM_NEWN(g->cx, g->arena, cap, &grown));
            if (g->n > 0)
                memcpy(grown, g->rows, g->n * sizeof(*grown));
            g->rows = grown;
            g->cap = cap;
        }
        memmove(g->rows + lo + 1, g->rows + lo, (g->n - lo) * sizeof(*g->rows));
        g->rows[lo] = (struct bucket_info){
            .bucket = bucket,
            .info = {
                .bucket = bucket, .min_ts = INT64_MAX, .max_ts = INT64_MIN, .parquet_bytes = -1}};
        alm_partition_name(g->v->table.partition, g->ns, bucket, g->rows[lo].info.name,
                           sizeof(g->rows[lo].info.name));
        g->n++;
    }
    *out = &g->rows[lo].info;
    return ALM_OK;
}

static alm_status add_part(gathering *g, const alm_part_ref *part)
{
    alm_partition_info *info = NULL;
    ALM_TRY(entry_of(g, part->bucket, &info));
    info->rows += part->rows;
    info->parts++;
    info->min_ts = ALM_MIN(info->min_ts, part->min_ts);
    info->max_ts = ALM_MAX(info->max_ts, part->max_ts);
    info->disk_bytes += part->file->bytes;
    if (alm_part_ref_is_parquet(part))
        info->parquet_bytes = ALM_MAX(info->parquet_bytes, INT64_C(0)) + part->file->bytes;
    for (uint32_t i = 0; i < part->n_overlays; i++) /* one file may hold several columns */
        if (i == 0 || part->overlays[i].file != part->overlays[i - 1].file)
            info->disk_bytes += part->overlays[i].file->bytes;
    return ALM_OK;
}

static alm_status add_chunk(gathering *g, const alm_lane_chunk *lc)
{
    const alm_partition_by by = g->v->table.partition;
    const alm_scan_piece piece = {.chunk = lc->chunk, .hi = lc->rows};
    const int64_t *ts = NULL;
    alm_partition_info *info = NULL;
    if (g->v->table.ts_col < 0) {
        ALM_TRY(entry_of(g, alm_partition_floor(by, g->ns, 0), &info));
        info->rows += lc->rows;
        info->min_ts = ALM_MIN(info->min_ts, 0);
        info->max_ts = ALM_MAX(info->max_ts, 0);
        return ALM_OK;
    }
    ALM_TRY(alm_scan_piece_times(g->cx, g->v, &piece, &ts));
    for (int64_t row = 0; row < lc->rows;) {
        const int64_t next = alm_partition_next(by, g->ns, ts[row]);
        const int64_t end = next == INT64_MAX
                                ? lc->rows
                                : row + alm_times_lower_bound(ts + row, lc->rows - row, next);
        ALM_TRY(entry_of(g, alm_partition_floor(by, g->ns, ts[row]), &info));
        info->rows += end - row;
        info->min_ts = ALM_MIN(info->min_ts, ts[row]);
        info->max_ts = ALM_MAX(info->max_ts, ts[end - 1]);
        row = end;
    }
    return ALM_OK;
}

alm_status alm_table_partitions(alm_ctx *cx, alm_arena *arena, alm_snapshot *snap,
                                const alm_table *table, alm_partition_info **out, size_t *n)
{
    (void)snap; /* keeps the version alive; the caller holds it */
    const alm_version *v = alm_version_of(table);
    gathering g = {.cx = cx, .arena = arena, .v = v, .ns = alm_version_is_ns(v)};
    for (uint32_t i = 0; i < v->parts->n; i++)
        ALM_TRY(add_part(&g, v->parts->parts[i]));
    for (uint32_t l = 0; l < v->n_lanes; l++)
        for (uint32_t c = 0; c < v->lanes[l].n_chunks; c++)
            ALM_TRY(add_chunk(&g, &v->lanes[l].chunks[c]));
    gathering apart = {.cx = cx, .arena = arena, .v = v, .ns = g.ns};
    for (uint32_t i = 0; v->detached != NULL && i < v->detached->n; i++)
        ALM_TRY(add_part(&apart, v->detached->parts[i]));
    alm_partition_info *whole = NULL; /* a table without partitions is one, even when it is empty */
    if (v->table.partition == ALM_PART_NONE && g.n == 0)
        ALM_TRY(entry_of(&g, alm_partition_floor(ALM_PART_NONE, g.ns, 0), &whole));
    alm_partition_info *list = NULL;
    ALM_TRY(ALM_NEWN(cx, arena, g.n + apart.n + 1, &list));
    for (size_t i = 0; i < g.n; i++) {
        list[i] = g.rows[i].info;
        list[i].hidden = table->hides && list[i].bucket < table->visible_from;
    }
    for (size_t i = 0; i < apart.n; i++) {
        list[g.n + i] = apart.rows[i].info;
        list[g.n + i].detached = true;
    }
    *out = list;
    *n = g.n + apart.n;
    return ALM_OK;
}

/* Partitions expire as a whole: those of the parts are seen or not, rows of the head by their times. */
alm_visible alm_table_visible(const alm_table *table)
{
    const alm_version *v = alm_version_of(table);
    if (!table->hides)
        return (alm_visible){table->row_count, table->min_ts, table->max_ts};
    alm_visible seen = {.min_ts = INT64_MAX, .max_ts = INT64_MIN};
    for (uint32_t i = 0; i < v->parts->n; i++) {
        const alm_part_ref *part = v->parts->parts[i];
        if (part->bucket < table->visible_from)
            continue;
        seen.rows += part->rows;
        seen.min_ts = ALM_MIN(seen.min_ts, part->min_ts);
        seen.max_ts = ALM_MAX(seen.max_ts, part->max_ts);
    }
    for (uint32_t i = 0; i < v->n_lanes; i++) {
        for (uint32_t j = 0; j < v->lanes[i].n_chunks; j++) {
            const alm_lane_chunk *c = &v->lanes[i].chunks[j];
            const int64_t *ts = c->chunk->cols[table->ts_col];
            const int64_t from = alm_times_lower_bound(ts, c->rows, table->visible_from);
            if (from == c->rows)
                continue;
            seen.rows += c->rows - from;
            seen.min_ts = ALM_MIN(seen.min_ts, ts[from]);
            seen.max_ts = ALM_MAX(seen.max_ts, ts[c->rows - 1]);
        }
    }
    return seen;
}

/* -------------------------------------------------------------------- changes */

static bool is_listed(const int64_t *starts, uint32_t n, int64_t bucket)
{
    for (uint32_t i = 0; i < n; i++)
        if (starts[i] == bucket)
            return true;
    return false;
}

static alm_status drop_held(alm_ctx *cx, alm_storage *st, const alm_version *v,
                            const int64_t *starts, uint32_t n)
{
    alm_part_ref **gone = NULL;
    uint32_t n_gone = 0;
    ALM_TRY(alm_heap_bytes(cx, v->parts->n * sizeof *gone, "a list of parts", &gone));
    for (uint32_t i = 0; i < v->parts->n; i++)
        if (is_listed(starts, n, v->parts->parts[i]->bucket))
            gone[n_gone++] = v->parts->parts[i];
    const alm_parts_change change = {
        .table_id = v->table.id, .remove = gone, .n_remove = n_gone, .data = true};
    alm_status e = ALM_OK;
    if (n_gone > 0 && n_gone == v->parts->n && v->n_lanes == 0)
        e = alm_table_empty(cx, st, v->table.id); /* its symbols go, too */
    else if (n_gone > 0)
        e = alm_parts_commit(cx, st, &change, NULL);
    free((void *)gone);
    return e;
}

alm_status alm_table_drop_partitions(alm_ctx *cx, alm_storage *st, const alm_table *table,
                                     const int64_t *starts, uint32_t n)
{
    alm_held_table held;
    if (n == 0)
        return ALM_OK;
    alm_status e = alm_table_hold(cx, st, alm_version_of(table)->tab, &held);
    alm_version *v = e == ALM_OK ? alm_storage_version(st, table->id) : NULL;
    if (v != NULL)
        e = drop_held(cx, st, v, starts, n);
    alm_version_release(v);
    alm_table_let_go(&held);
    return e;
}

/* One partition. The lock is given up behind it, so that flushes come in between. */
static alm_status convert_one(alm_ctx *cx, alm_storage *st, alm_tab *tab, bool parquet,
                              int64_t start)
{
    enum { TRIES = 8 };
    for (int i = 1;; i++) {
        ALM_TRY(alm_check(cx));
        ALM_TRY(alm_tab_lock(cx, st, tab, ALM_TAB_MAINT));
        alm_status e = alm_head_flush(cx, st, tab->id);
        if (e == ALM_OK)
            e = alm_convert_partition(cx, st, tab->id, start, parquet);
        alm_tab_unlock(st, tab, ALM_TAB_MAINT);
        if (e != ALM_E_CONFLICT || i == TRIES)
            return e;
        alm_error_clear(
            cx); /* a part was dropped or expired meanwhile: on with those that are there */
    }
}

alm_status alm_table_convert_partitions(alm_ctx *cx, alm_storage *st, const alm_table *table,
                                        bool parquet, const int64_t *starts, uint32_t n)
{
    alm_tab *tab = alm_tab_retain(alm_version_of(table)->tab);
    alm_status e = alm_storage_writable(cx, st);
    for (uint32_t i = 0; i < n && e == ALM_OK; i++)
        e = convert_one(cx, st, tab, parquet, starts[i]);
    alm_tab_release(tab);
    return e;
}

alm_status alm_table_squash(alm_ctx *cx, alm_storage *st, const alm_table *table)
{
    alm_tab *tab = alm_tab_retain(alm_version_of(table)->tab);
    alm_status e = alm_storage_writable(cx, st);
    if (e == ALM_OK)
        e = alm_table_is_open(cx, table, -1);
    for (bool did = true; did && e == ALM_OK;) { /* flushes may come in between */
        e = alm_tab_lock(cx, st, tab, ALM_TAB_MAINT);
        if (e != ALM_OK)
            break;
        e = alm_compact_table(cx, st, tab->id, &did);
        alm_tab_unlock(st, tab, ALM_TAB_MAINT);
        if (e == ALM_E_CONFLICT) { /* a part expired meanwhile: on with those that are there */
            alm_error_clear(cx);
            e = ALM_OK;
            did = true;
        }
    }
    alm_tab_release(tab);
    return e;
}
