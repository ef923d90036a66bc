/*
 * refresh.c - a materialized view gets new rows: parts that have rows in the replaced ranges are written
 * anew without them, the new rows become parts, and one record names all of it together with how far
 * the view has come. So after a crash the view is as before the refresh or as behind it.
 *
 * Rows of a view come in this way only; they are always in parts. What stays of a part is written as
 * one part before, between and behind the ranges, so that parts of a view do not overlap.
 */
#include <stdlib.h>

#include "storage/part/format.h"
#include "storage/scan/scan.h"
#include "storage/version/view.h"
#include "storage/write/bulk.h"
#include "storage/write/commit.h"
#include "storage/write/parts_commit.h"

struct alm_refresh {
    alm_storage *st;
    alm_tab *tab; /* its maintenance lock is held */
    alm_version *v;
    alm_bulk *bulk;
    alm_arena scratch;
    alm_reading reading; /* of v */
    int64_t map_faults;  /* of the io, when it began */
    alm_part_ref **kept, **gone;
    uint32_t n_kept, n_gone, cap_kept;
};

static void refresh_free(alm_refresh *refresh)
{
    if (refresh->bulk != NULL)
        alm_bulk_rollback(refresh->bulk); /* parts that were committed stay */
    for (uint32_t i = 0; i < refresh->n_kept; i++)
        alm_part_ref_release(refresh->kept[i]);
    free((void *)refresh->kept);
    free((void *)refresh->gone);
    alm_reading_end(&refresh->st->decoded, &refresh->reading);
    alm_version_release(refresh->v);
    alm_arena_deinit(&refresh->scratch);
    alm_tab_unlock(refresh->st, refresh->tab, ALM_TAB_MAINT);
    alm_tab_release(refresh->tab);
    free(refresh);
}

static alm_status dropped(alm_ctx *cx, uint64_t view_id)
{
    return alm_fail(cx, ALM_E_CONFLICT, -1, "view was dropped meanwhile [id=%llu]",
                    (unsigned long long)view_id);
}

alm_status alm_refresh_begin(alm_ctx *cx, alm_storage *storage, uint64_t view_id, alm_refresh **out)
{
    ALM_TRY(alm_storage_writable(cx, storage));
    alm_version *version = alm_storage_version(storage, view_id);
    if (version == NULL)
        return dropped(cx, view_id);
    alm_tab *tab = alm_tab_retain(version->tab);
    alm_version_release(version);
    alm_refresh *refresh = NULL;
    alm_status status = alm_heap_bytes(cx, sizeof *refresh, "a refresh", &refresh);
    if (status == ALM_OK)
        status = alm_tab_lock(cx, storage, tab, ALM_TAB_MAINT);
    if (status != ALM_OK) {
        alm_tab_release(tab);
        free(refresh);
        return status;
    }
    refresh->st = storage;
    refresh->tab = tab;
    alm_arena_init(&refresh->scratch, NULL);
    alm_reading_begin(&storage->decoded, &refresh->reading);
    refresh->map_faults = storage->io->map_faults(storage->io);
    refresh->v = alm_storage_version(storage, view_id);
    if (refresh->v == NULL || refresh->v->table.kind != ALM_TABLE_MATVIEW) {
        refresh_free(refresh);
        return dropped(cx, view_id);
    }
    *out = refresh;
    return ALM_OK;
}

const alm_table *alm_refresh_table(const alm_refresh *refresh)
{
    return &refresh->v->table;
}

alm_status alm_refresh_append(alm_ctx *cx, alm_refresh *refresh, const alm_batch *rows)
{
    if (refresh->bulk == NULL)
        ALM_TRY(alm_bulk_begin_any(cx, refresh->st, &refresh->v->table, &refresh->bulk));
    return alm_bulk_append(cx, refresh->bulk, rows);
}

/* ----------------------------------------------------------------- what stays */

static alm_status refresh_keep(alm_ctx *cx, alm_refresh *refresh, alm_part_ref *part)
{
    if (refresh->n_kept == refresh->cap_kept) {
        const uint32_t cap = ALM_MAX(8U, refresh->cap_kept * 2);
        alm_part_ref **bigger = realloc((void *)refresh->kept, cap * sizeof *bigger);
        if (bigger == NULL) {
            alm_part_ref_release(part);
            return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for a list of parts");
        }
        refresh->kept = bigger;
        refresh->cap_kept = cap;
    }
    refresh->kept[refresh->n_kept++] = part;
    return ALM_OK;
}

/* Rows [from, to) of a part as a part of their own. */
static alm_status refresh_write_rows(alm_ctx *cx, alm_refresh *refresh, const alm_part_ref *part,
                                     int64_t from, int64_t to)
{
    const alm_version *version = refresh->v;
    const uint32_t n_cols = version->table.n_cols;
    const alm_scan_piece piece = {.part = part, .lo = 0, .hi = part->rows};
    alm_vec *vecs = NULL;
    alm_part_coldef *defs = NULL;
    uint64_t *order = NULL;
    alm_part_ref *made = NULL;
    if (from == to)
        return ALM_OK;
    ALM_TRY(alm_check(cx));
    alm_arena_reset(&refresh->scratch);
    ALM_TRY(ALM_NEWN(cx, &refresh->scratch, n_cols, &vecs));
    ALM_TRY(ALM_NEWN(cx, &refresh->scratch, n_cols, &defs));
    ALM_TRY(alm_arena_bytes(cx, &refresh->scratch, (size_t)(to - from) * sizeof *order, &order));
    for (int64_t i = from; i < to; i++)
        order[i - from] = (uint64_t)i; /* of chunk 0 */
    for (uint32_t col = 0; col < n_cols; col++) {
        ALM_TRY(alm_scan_piece_vec(cx, &refresh->scratch, version, &piece, col, &vecs[col]));
        defs[col] = (alm_part_coldef){version->table.cols[col].id, version->table.cols[col].type,
                                      version->table.cols[col].name};
    }
    const alm_part_chunk chunk = {.rows = (uint32_t)part->rows, .cols = vecs};
    const alm_part_spec spec = {.table_id = version->table.id,
                                .cols = defs,
                                .n_cols = n_cols,
                                .ts_col = version->table.ts_col,
                                .chunks = &chunk,
                                .n_chunks = 1,
                                .order = order,
                                .n_order = to - from,
                                .parquet = alm_part_ref_is_parquet(part)};
    ALM_TRY(alm_spec_to_part(cx, refresh->st, &spec, part->bucket, part->seq, &made));
    return refresh_keep(cx, refresh, made);
}

/* What of a part lies outside of the ranges. */
static alm_status refresh_split_part(alm_ctx *cx, alm_refresh *refresh, alm_part_ref *part,
                                     const alm_scan_range *ranges, uint32_t n_ranges)
{
    const alm_scan_piece piece = {.part = part, .hi = part->rows};
    const int64_t *ts = NULL;
    int64_t from = 0;
    bool any = false;
    ALM_TRY(alm_scan_piece_times(cx, refresh->v, &piece, &ts));
    for (uint32_t i = 0; i < n_ranges;
         i++) /* rows may lie between the ends of a part and none in a range */
        any = any || alm_times_lower_bound(ts, part->rows, ranges[i].lo) <
                         (ranges[i].hi == INT64_MAX
                              ? part->rows
                              : alm_times_lower_bound(ts, part->rows, ranges[i].hi + 1));
    if (!any)
        return ALM_OK;
    refresh->gone[refresh->n_gone++] = part;
    for (uint32_t i = 0; i < n_ranges; i++) {
        const int64_t lo = alm_times_lower_bound(ts, part->rows, ranges[i].lo);
        const int64_t hi = ranges[i].hi == INT64_MAX
                               ? part->rows
                               : alm_times_lower_bound(ts, part->rows, ranges[i].hi + 1);
        if (lo > from)
            ALM_TRY(refresh_write_rows(cx, refresh, part, from, lo));
        from = ALM_MAX(from, hi);
    }
    return refresh_write_rows(cx, refresh, part, from, part->rows);
}

static alm_status split_parts(alm_ctx *cx, alm_refresh *refresh, const alm_scan_range *ranges,
                              uint32_t n)
{
    const alm_part_set *set = refresh->v->parts;
    ALM_TRY(alm_heap_bytes(cx, (set->n + 1) * sizeof *refresh->gone, "a list of parts",
                           &refresh->gone));
    for (uint32_t i = 0; i < set->n; i++) {
        alm_part_ref *part = set->parts[i];
        bool meets = false;
        for (uint32_t k = 0; k < n && !meets; k++)
            meets = ranges[k].lo <= part->max_ts && part->min_ts <= ranges[k].hi;
        if (meets)
            ALM_TRY(refresh_split_part(cx, refresh, part, ranges, n));
    }
    return ALM_OK;
}

/* ----------------------------------------------------------------------- commit */

static alm_status refresh_commit(alm_ctx *cx, alm_refresh *refresh, const alm_scan_range *ranges,
                                 uint32_t n, const alm_view_edit *view)
{
    alm_part_ref *const *fresh = NULL, **add = NULL;
    uint32_t n_fresh = 0;
    if (refresh->v->n_lanes > 0)
        return alm_fail(cx, ALM_E_INTERNAL, -1, "view '%s' has rows that are not in parts",
                        refresh->v->table.name);
    if (refresh->bulk != NULL)
        ALM_TRY(alm_bulk_parts(cx, refresh->bulk, &fresh, &n_fresh));
    ALM_TRY(split_parts(cx, refresh, ranges, n));
    alm_arena_reset(&refresh->scratch);
    ALM_TRY(ALM_NEWN(cx, &refresh->scratch, refresh->n_kept + n_fresh + 1, &add));
    for (uint32_t i = 0; i < refresh->n_kept; i++)
        add[i] = refresh->kept[i];
    for (uint32_t i = 0; i < n_fresh; i++)
        add[refresh->n_kept + i] = fresh[i];
    const alm_parts_change change = {.table_id = refresh->v->table.id,
                                     .add = add,
                                     .n_add = refresh->n_kept + n_fresh,
                                     .remove = refresh->gone,
                                     .n_remove = refresh->n_gone,
                                     .data = true,
                                     .touch = ranges,
                                     .n_touch = n_fresh + refresh->n_gone > 0 ? n : 0,
                                     .view = view};
    return alm_parts_commit(cx, refresh->st, &change, NULL);
}

alm_status alm_refresh_commit(alm_ctx *cx, alm_refresh *refresh, const alm_scan_range *ranges,
                              uint32_t n, bool all, unsigned what, const alm_view_def *state,
                              int64_t *rows)
{
    const alm_scan_range everything = {INT64_MIN, INT64_MAX};
    const alm_view_edit view = {.view_id = refresh->v->table.id, .what = what, .to = state};
    const uint64_t before = alm_rewrite_begin(cx, refresh->st);
    if (before == 0)
        cx->map_faults = refresh->map_faults;
    const alm_status status =
        refresh_commit(cx, refresh, all ? &everything : ranges, all ? 1 : n, &view);
    alm_rewrite_end(cx, before);
    if (status == ALM_OK && rows != NULL)
        *rows = refresh->bulk == NULL ? 0 : alm_bulk_rows(refresh->bulk);
    refresh_free(refresh);
    return status;
}

void alm_refresh_rollback(alm_refresh *refresh)
{
    if (refresh != NULL)
        refresh_free(refresh);
}
