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

static void refresh_free(alm_refresh *r)
{
    if (r->bulk != NULL)
        alm_bulk_rollback(r->bulk); /* parts that were committed stay */
    for (uint32_t i = 0; i < r->n_kept; i++)
        alm_part_ref_release(r->kept[i]);
    free((void *)r->kept);
    free((void *)r->gone);
    alm_reading_end(&r->st->decoded, &r->reading);
    alm_version_release(r->v);
    alm_arena_deinit(&r->scratch);
    alm_tab_unlock(r->st, r->tab, ALM_TAB_MAINT);
    alm_tab_release(r->tab);
    free(r);
}

static alm_status dropped(alm_ctx *cx, uint64_t view_id)
{
    return alm_fail(cx, ALM_E_CONFLICT, -1, "view was dropped meanwhile [id=%llu]",
                    (unsigned long long)view_id);
}

alm_status alm_refresh_begin(alm_ctx *cx, alm_storage *st, uint64_t view_id, alm_refresh **out)
{
    ALM_TRY(alm_storage_writable(cx, st));
    alm_version *v = alm_storage_version(st, view_id);
    if (v == NULL)
        return dropped(cx, view_id);
    alm_tab *tab = alm_tab_retain(v->tab);
    alm_version_release(v);
    alm_refresh *r = NULL;
    alm_status e = alm_heap_bytes(cx, sizeof *r, "a refresh", &r);
    if (e == ALM_OK)
        e = alm_tab_lock(cx, st, tab, ALM_TAB_MAINT);
    if (e != ALM_OK) {
        alm_tab_release(tab);
        free(r);
        return e;
    }
    r->st = st;
    r->tab = tab;
    alm_arena_init(&r->scratch, NULL);
    alm_reading_begin(&st->decoded, &r->reading);
    r->map_faults = st->io->map_faults(st->io);
    r->v = alm_storage_version(st, view_id);
    if (r->v == NULL || r->v->table.kind != ALM_TABLE_MATVIEW) {
        refresh_free(r);
        return dropped(cx, view_id);
    }
    *out = r;
    return ALM_OK;
}

const alm_table *alm_refresh_table(const alm_refresh *r)
{
    return &r->v->table;
}

alm_status alm_refresh_append(alm_ctx *cx, alm_refresh *r, const alm_batch *rows)
{
    if (r->bulk == NULL)
        ALM_TRY(alm_bulk_begin_any(cx, r->st, &r->v->table, &r->bulk));
    return alm_bulk_append(cx, r->bulk, rows);
}

/* ----------------------------------------------------------------- what stays */

static alm_status keep(alm_ctx *cx, alm_refresh *r, alm_part_ref *part)
{
    if (r->n_kept == r->cap_kept) {
        const uint32_t cap = ALM_MAX(8U, r->cap_kept * 2);
        alm_part_ref **bigger = realloc((void *)r->kept, cap * sizeof *bigger);
        if (bigger == NULL) {
            alm_part_ref_release(part);
            return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for a list of parts");
        }
        r->kept = bigger;
        r->cap_kept = cap;
    }
    r->kept[r->n_kept++] = part;
    return ALM_OK;
}

/* Rows [from, to) of a part as a part of their own. */
static alm_status write_rows(alm_ctx *cx, alm_refresh *r, const alm_part_ref *part, int64_t from,
                             int64_t to)
{
    const alm_version *v = r->v;
    const uint32_t n_cols = v->table.n_cols;
    const alm_scan_piece piece = {.part = part, .lo = 0, .hi = part->rows};
    alm_vec *vecs = NULL;
    alm_part_coldef *defs = NULL;
    uint64_t *order = NULL;
    alm_part_ref *made = NULL;
    if (from == to)
        return ALM_OK;
    ALM_TRY(alm_check(cx));
    alm_arena_reset(&r->scratch);
    ALM_TRY(ALM_NEWN(cx, &r->scratch, n_cols, &vecs));
    ALM_TRY(ALM_NEWN(cx, &r->scratch, n_cols, &defs));
    ALM_TRY(alm_arena_bytes(cx, &r->scratch, (size_t)(to - from) * sizeof *order, &order));
    for (int64_t i = from; i < to; i++)
        order[i - from] = (uint64_t)i; /* of chunk 0 */
    for (uint32_t c = 0; c < n_cols; c++) {
        ALM_TRY(alm_scan_piece_vec(cx, &r->scratch, v, &piece, c, &vecs[c]));
        defs[c] =
            (alm_part_coldef){v->table.cols[c].id, v->table.cols[c].type, v->table.cols[c].name};
    }
    const alm_part_chunk chunk = {.rows = (uint32_t)part->rows, .cols = vecs};
    const alm_part_spec spec = {.table_id = v->table.id,
                                .cols = defs,
                                .n_cols = n_cols,
                                .ts_col = v->table.ts_col,
                                .chunks = &chunk,
                                .n_chunks = 1,
                                .order = order,
                                .n_order = to - from,
                                .parquet = alm_part_ref_is_parquet(part)};
    ALM_TRY(alm_spec_to_part(cx, r->st, &spec, part->bucket, part->seq, &made));
    return keep(cx, r, made);
}

/* What of a part lies outside of the ranges. */
static alm_status split_part(alm_ctx *cx, alm_refresh *r, alm_part_ref *part,
                             const alm_scan_range *ranges, uint32_t n)
{
    const alm_scan_piece piece = {.part = part, .hi = part->rows};
    const int64_t *ts = NULL;
    int64_t from = 0;
    bool any = false;
    ALM_TRY(alm_scan_piece_times(cx, r->v, &piece, &ts));
    for (uint32_t i = 0; i < n;
         i++) /* rows may lie between the ends of a part and none in a range */
        any = any || alm_times_lower_bound(ts, part->rows, ranges[i].lo) <
                         (ranges[i].hi == INT64_MAX
                              ? part->rows
                              : alm_times_lower_bound(ts, part->rows, ranges[i].hi + 1));
    if (!any)
        return ALM_OK;
    r->gone[r->n_gone++] = part;
    for (uint32_t i = 0; i < n; i++) {
        const int64_t lo = alm_times_lower_bound(ts, part->rows, ranges[i].lo);
        const int64_t hi = ranges[i].hi == INT64_MAX
                               ? part->rows
                               : alm_times_lower_bound(ts, part->rows, ranges[i].hi + 1);
        if (lo > from)
            ALM_TRY(write_rows(cx, r, part, from, lo));
        from = ALM_MAX(from, hi);
    }
    return write_rows(cx, r, part, from, part->rows);
}

static alm_status split_parts(alm_ctx *cx, alm_refresh *r, const alm_scan_range *ranges, uint32_t n)
{
    const alm_part_set *set = r->v->parts;
    ALM_TRY(alm_heap_bytes(cx, (set->n + 1) * sizeof *r->gone, "a list of parts", &r->gone));
    for (uint32_t i = 0; i < set->n; i++) {
        alm_part_ref *part = set->parts[i];
        bool meets = false;
        for (uint32_t k = 0; k < n && !meets; k++)
            meets = ranges[k].lo <= part->max_ts && part->min_ts <= ranges[k].hi;
        if (meets)
            ALM_TRY(split_part(cx, r, part, ranges, n));
    }
    return ALM_OK;
}

/* ----------------------------------------------------------------------- commit */

static alm_status commit(alm_ctx *cx, alm_refresh *r, const alm_scan_range *ranges, uint32_t n,
                         const alm_view_edit *view)
{
    alm_part_ref *const *fresh = NULL, **add = NULL;
    uint32_t n_fresh = 0;
    if (r->v->n_lanes > 0)
        return alm_fail(cx, ALM_E_INTERNAL, -1, "view '%s' has rows that are not in parts",
                        r->v->table.name);
    if (r->bulk != NULL)
        ALM_TRY(alm_bulk_parts(cx, r->bulk, &fresh, &n_fresh));
    ALM_TRY(split_parts(cx, r, ranges, n));
    alm_arena_reset(&r->scratch);
    ALM_TRY(ALM_NEWN(cx, &r->scratch, r->n_kept + n_fresh + 1, &add));
    for (uint32_t i = 0; i < r->n_kept; i++)
        add[i] = r->kept[i];
    for (uint32_t i = 0; i < n_fresh; i++)
        add[r->n_kept + i] = fresh[i];
    const alm_parts_change change = {.table_id = r->v->table.id,
                                     .add = add,
                                     .n_add = r->n_kept + n_fresh,
                                     .remove = r->gone,
                                     .n_remove = r->n_gone,
                                     .data = true,
                                     .touch = ranges,
                                     .n_touch = n_fresh + r->n_gone > 0 ? n : 0,
                                     .view = view};
    return alm_parts_commit(cx, r->st, &change, NULL);
}

alm_status alm_refresh_commit(alm_ctx *cx, alm_refresh *r, const alm_scan_range *ranges, uint32_t n,
                              bool all, unsigned what, const alm_view_def *state, int64_t *rows)
{
    const alm_scan_range everything = {INT64_MIN, INT64_MAX};
    const alm_view_edit view = {.view_id = r->v->table.id, .what = what, .to = state};
    const uint64_t before = alm_rewrite_begin(cx, r->st);
    if (before == 0)
        cx->map_faults = r->map_faults;
    const alm_status e = commit(cx, r, all ? &everything : ranges, all ? 1 : n, &view);
    alm_rewrite_end(cx, before);
    if (e == ALM_OK && rows != NULL)
        *rows = r->bulk == NULL ? 0 : alm_bulk_rows(r->bulk);
    refresh_free(r);
    return e;
}

void alm_refresh_rollback(alm_refresh *r)
{
    if (r != NULL)
        refresh_free(r);
}
