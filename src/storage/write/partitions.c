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
static alm_status partitions_entry_of(gathering *self, int64_t bucket, alm_partition_info **out)
{
    size_t lo = 0, hi = self->n;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (self->rows[mid].bucket < bucket)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == self->n || self->rows[lo].bucket != bucket) {
        if (self->n == self->cap) {
            struct bucket_info *grown = NULL;
            const size_t cap = self->cap == 0 ? 64 : self->cap * 2;
            ALM_TRY(ALM_NEWN(self->cx, self->arena, cap, &grown));
            if (self->n > 0)
                memcpy(grown, self->rows, self->n * sizeof(*grown));
            self->rows = grown;
            self->cap = cap;
        }
        memmove(self->rows + lo + 1, self->rows + lo, (self->n - lo) * sizeof(*self->rows));
        self->rows[lo] = (struct bucket_info){
            .bucket = bucket,
            .info = {
                .bucket = bucket, .min_ts = INT64_MAX, .max_ts = INT64_MIN, .parquet_bytes = -1}};
        alm_partition_name(self->v->table.partition, self->ns, bucket, self->rows[lo].info.name,
                           sizeof(self->rows[lo].info.name));
        self->n++;
    }
    *out = &self->rows[lo].info;
    return ALM_OK;
}

static alm_status add_part(gathering *self, const alm_part_ref *part)
{
    alm_partition_info *info = NULL;
    ALM_TRY(partitions_entry_of(self, part->bucket, &info));
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

static alm_status partitions_add_chunk(gathering *self, const alm_lane_chunk *chunk)
{
    const alm_partition_by by = self->v->table.partition;
    const alm_scan_piece piece = {.chunk = chunk->chunk, .hi = chunk->rows};
    const int64_t *ts = NULL;
    alm_partition_info *info = NULL;
    if (self->v->table.ts_col < 0) {
        ALM_TRY(partitions_entry_of(self, alm_partition_floor(by, self->ns, 0), &info));
        info->rows += chunk->rows;
        info->min_ts = ALM_MIN(info->min_ts, 0);
        info->max_ts = ALM_MAX(info->max_ts, 0);
        return ALM_OK;
    }
    ALM_TRY(alm_scan_piece_times(self->cx, self->v, &piece, &ts));
    for (int64_t row = 0; row < chunk->rows;) {
        const int64_t next = alm_partition_next(by, self->ns, ts[row]);
        const int64_t end = next == INT64_MAX
                                ? chunk->rows
                                : row + alm_times_lower_bound(ts + row, chunk->rows - row, next);
        ALM_TRY(partitions_entry_of(self, alm_partition_floor(by, self->ns, ts[row]), &info));
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
    const alm_version *version = alm_version_of(table);
    gathering self = {.cx = cx, .arena = arena, .v = version, .ns = alm_version_is_ns(version)};
    for (uint32_t i = 0; i < version->parts->n; i++)
        ALM_TRY(add_part(&self, version->parts->parts[i]));
    for (uint32_t lane = 0; lane < version->n_lanes; lane++)
        for (uint32_t chunk = 0; chunk < version->lanes[lane].n_chunks; chunk++)
            ALM_TRY(partitions_add_chunk(&self, &version->lanes[lane].chunks[chunk]));
    gathering apart = {.cx = cx, .arena = arena, .v = version, .ns = self.ns};
    for (uint32_t i = 0; version->detached != NULL && i < version->detached->n; i++)
        ALM_TRY(add_part(&apart, version->detached->parts[i]));
    alm_partition_info *whole = NULL; /* a table without partitions is one, even when it is empty */
    if (version->table.partition == ALM_PART_NONE && self.n == 0)
        ALM_TRY(partitions_entry_of(&self, alm_partition_floor(ALM_PART_NONE, self.ns, 0), &whole));
    alm_partition_info *list = NULL;
    ALM_TRY(ALM_NEWN(cx, arena, self.n + apart.n + 1, &list));
    for (size_t i = 0; i < self.n; i++) {
        list[i] = self.rows[i].info;
        list[i].hidden = table->hides && list[i].bucket < table->visible_from;
    }
    for (size_t i = 0; i < apart.n; i++) {
        list[self.n + i] = apart.rows[i].info;
        list[self.n + i].detached = true;
    }
    *out = list;
    *n = self.n + apart.n;
    return ALM_OK;
}

/* Partitions expire as a whole: those of the parts are seen or not, rows of the head by their times. */
alm_visible alm_table_visible(const alm_table *table)
{
    const alm_version *version = alm_version_of(table);
    if (!table->hides)
        return (alm_visible){table->row_count, table->min_ts, table->max_ts};
    alm_visible seen = {.min_ts = INT64_MAX, .max_ts = INT64_MIN};
    for (uint32_t i = 0; i < version->parts->n; i++) {
        const alm_part_ref *part = version->parts->parts[i];
        if (part->bucket < table->visible_from)
            continue;
        seen.rows += part->rows;
        seen.min_ts = ALM_MIN(seen.min_ts, part->min_ts);
        seen.max_ts = ALM_MAX(seen.max_ts, part->max_ts);
    }
    for (uint32_t i = 0; i < version->n_lanes; i++) {
        for (uint32_t j = 0; j < version->lanes[i].n_chunks; j++) {
            const alm_lane_chunk *chunk = &version->lanes[i].chunks[j];
            const int64_t *ts = chunk->chunk->cols[table->ts_col];
            const int64_t from = alm_times_lower_bound(ts, chunk->rows, table->visible_from);
            if (from == chunk->rows)
                continue;
            seen.rows += chunk->rows - from;
            seen.min_ts = ALM_MIN(seen.min_ts, ts[from]);
            seen.max_ts = ALM_MAX(seen.max_ts, ts[chunk->rows - 1]);
        }
    }
    return seen;
}

/* -------------------------------------------------------------------- changes */

static bool partitions_is_listed(const int64_t *starts, uint32_t n, int64_t bucket)
{
    for (uint32_t i = 0; i < n; i++)
        if (starts[i] == bucket)
            return true;
    return false;
}

static alm_status drop_held(alm_ctx *cx, alm_storage *storage, const alm_version *version,
                            const int64_t *starts, uint32_t n)
{
    alm_part_ref **gone = NULL;
    uint32_t n_gone = 0;
    ALM_TRY(alm_heap_bytes(cx, version->parts->n * sizeof *gone, "a list of parts", &gone));
    for (uint32_t i = 0; i < version->parts->n; i++)
        if (partitions_is_listed(starts, n, version->parts->parts[i]->bucket))
            gone[n_gone++] = version->parts->parts[i];
    const alm_parts_change change = {
        .table_id = version->table.id, .remove = gone, .n_remove = n_gone, .data = true};
    alm_status status = ALM_OK;
    if (n_gone > 0 && n_gone == version->parts->n && version->n_lanes == 0)
        status = alm_table_empty(cx, storage, version->table.id); /* its symbols go, too */
    else if (n_gone > 0)
        status = alm_parts_commit(cx, storage, &change, NULL);
    free((void *)gone);
    return status;
}

alm_status alm_table_drop_partitions(alm_ctx *cx, alm_storage *storage, const alm_table *table,
                                     const int64_t *starts, uint32_t n)
{
    alm_held_table held;
    if (n == 0)
        return ALM_OK;
    alm_status status = alm_table_hold(cx, storage, alm_version_of(table)->tab, &held);
    alm_version *version = status == ALM_OK ? alm_storage_version(storage, table->id) : NULL;
    if (version != NULL)
        status = drop_held(cx, storage, version, starts, n);
    alm_version_release(version);
    alm_table_let_go(&held);
    return status;
}

/* One partition. The lock is given up behind it, so that flushes come in between. */
static alm_status convert_one(alm_ctx *cx, alm_storage *storage, alm_tab *tab, bool parquet,
                              int64_t start)
{
    enum { TRIES = 8 };
    for (int i = 1;; i++) {
        ALM_TRY(alm_check(cx));
        ALM_TRY(alm_tab_lock(cx, storage, tab, ALM_TAB_MAINT));
        alm_status status = alm_head_flush(cx, storage, tab->id);
        if (status == ALM_OK)
            status = alm_convert_partition(cx, storage, tab->id, start, parquet);
        alm_tab_unlock(storage, tab, ALM_TAB_MAINT);
        if (status != ALM_E_CONFLICT || i == TRIES)
            return status;
        alm_error_clear(
            cx); /* a part was dropped or expired meanwhile: on with those that are there */
    }
}

alm_status alm_table_convert_partitions(alm_ctx *cx, alm_storage *storage, const alm_table *table,
                                        bool parquet, const int64_t *starts, uint32_t n)
{
    alm_tab *tab = alm_tab_retain(alm_version_of(table)->tab);
    alm_status status = alm_storage_writable(cx, storage);
    for (uint32_t i = 0; i < n && status == ALM_OK; i++)
        status = convert_one(cx, storage, tab, parquet, starts[i]);
    alm_tab_release(tab);
    return status;
}

alm_status alm_table_squash(alm_ctx *cx, alm_storage *storage, const alm_table *table)
{
    alm_tab *tab = alm_tab_retain(alm_version_of(table)->tab);
    alm_status status = alm_storage_writable(cx, storage);
    if (status == ALM_OK)
        status = alm_table_is_open(cx, table, -1);
    for (bool did = true; did && status == ALM_OK;) { /* flushes may come in between */
        status = alm_tab_lock(cx, storage, tab, ALM_TAB_MAINT);
        if (status != ALM_OK)
            break;
        status = alm_compact_table(cx, storage, tab->id, &did);
        alm_tab_unlock(storage, tab, ALM_TAB_MAINT);
        if (status == ALM_E_CONFLICT) { /* a part expired meanwhile: on with those that are there */
            alm_error_clear(cx);
            status = ALM_OK;
            did = true;
        }
    }
    alm_tab_release(tab);
    return status;
}
