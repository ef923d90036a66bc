/*
 * compact.c - merges a group of parts into parts of at most part_rows_max rows that do not overlap.
 *
 * Method      An ordered merge of the mapped timestamps gives the order of the next output part; the
 *             part writer then gathers column by column from the maps. A part ends where the time
 *             changes, so that rows of equal time (and what DEDUP compares) stay together.
 * Damage      The group is compared with its checksums before it is merged, whatever was found good before,
 *             and again before the merged parts take its place: a merge takes long, and what rots
 *             meanwhile may have come into them.
 * Memory      8 bytes per row of one output part, and the writer's blocks.
 */
#include "storage/write/compact.h"

#include <stdlib.h>

#include "storage/part/pack.h"
#include "storage/scan/scan.h"
#include "storage/state.h"
#include "storage/version/merge.h"
#include "storage/write/bulk.h"
#include "storage/write/compact_pick.h"
#include "storage/write/parts_commit.h"

typedef struct compaction {
    alm_storage *st;
    const alm_version *v;
    const alm_part_ref **group; /* by seq */
    uint32_t n;
    uint64_t seq;        /* of the output */
    bool parquet;        /* it is Parquet: all columns of the table */
    alm_part_pack *pack; /* the output goes behind other parts there; NULL: to files of its own */
    alm_arena arena;
    uint32_t n_cols; /* columns that any part of the group has */
    uint32_t *cols;  /* their numbers in the table */
    alm_part_coldef *defs;
    int32_t ts_col; /* among them */
    alm_part_chunk *chunks;
    alm_dedup_src *dedup;
    uint32_t n_keys;
    uint64_t *order;
    int64_t order_cap;
    alm_part_ref **out;
    uint32_t n_out, cap_out;
} compaction;

static void add_column(compaction *c, uint32_t col)
{
    const alm_column *def = &c->v->table.cols[col];
    if ((int32_t)col == c->v->table.ts_col)
        c->ts_col = (int32_t)c->n_cols;
    c->cols[c->n_cols] = col;
    c->defs[c->n_cols++] = (alm_part_coldef){def->id, def->type, def->name};
}

/* Columns of the table that at least one part of the group holds; or all. One at least: what the parts hold may have been
 * dropped, and the rows are null then. */
static alm_status find_columns(alm_ctx *cx, compaction *c)
{
    ALM_TRY(ALM_NEWN(cx, &c->arena, c->v->table.n_cols, &c->defs));
    ALM_TRY(ALM_NEWN(cx, &c->arena, c->v->table.n_cols, &c->cols));
    c->ts_col = -1;
    for (uint32_t col = 0; col < c->v->table.n_cols; col++) {
        const alm_column *def = &c->v->table.cols[col];
        int32_t entry = -1;
        alm_part *part = NULL;
        for (uint32_t i = 0; i < c->n && entry < 0; i++)
            ALM_TRY(alm_scan_part_col(cx, c->v, c->group[i], def->id, col, &part, &entry));
        if (entry >= 0 || c->parquet)
            add_column(c, col);
    }
    if (c->n_cols == 0)
        add_column(c, 0);
    return ALM_OK;
}

/* A verified vector per part and column. */
static alm_status map_columns(alm_ctx *cx, compaction *c)
{
    ALM_TRY(find_columns(cx, c));
    ALM_TRY(ALM_NEWN(cx, &c->arena, c->n, &c->chunks));
    ALM_TRY(ALM_NEWN(cx, &c->arena, c->n, &c->dedup));
    for (uint32_t i = 0; i < c->n; i++) {
        ALM_TRY(alm_check(cx));
        const alm_scan_piece piece = {.part = c->group[i], .hi = c->group[i]->rows};
        alm_vec *vecs = NULL, *keys = NULL;
        ALM_TRY(ALM_NEWN(cx, &c->arena, c->n_cols, &vecs));
        ALM_TRY(ALM_NEWN(cx, &c->arena, c->v->table.n_cols, &keys));
        for (uint32_t k = 0; k < c->n_cols; k++)
            ALM_TRY(alm_scan_piece_vec(cx, &c->arena, c->v, &piece, c->cols[k], &vecs[k]));
        c->chunks[i] = (alm_part_chunk){.rows = (uint32_t)c->group[i]->rows, .cols = vecs};
        c->n_keys = 0;
        for (uint32_t col = 0; c->v->table.dedup && col < c->v->table.n_cols; col++)
            if (c->v->table.cols[col].dedup_key && (int32_t)col != c->v->table.ts_col)
                ALM_TRY(alm_scan_piece_vec(cx, &c->arena, c->v, &piece, col, &keys[c->n_keys++]));
        c->dedup[i].keys = keys;
        if (c->ts_col >= 0)
            c->dedup[i].ts = vecs[c->ts_col].data;
    }
    return ALM_OK;
}

static alm_status add_output(alm_ctx *cx, compaction *c, const uint64_t *order, int64_t rows)
{
    if (c->n_out == c->cap_out) {
        const uint32_t cap = c->cap_out == 0 ? 8 : c->cap_out * 2;
        alm_part_ref **grown = realloc(c->out, cap * sizeof(*grown));
        if (grown == NULL)
            return alm_fail(cx, ALM_E_MEMORY, -1, "compaction: no memory");
        c->out = grown;
        c->cap_out = cap;
    }
    const alm_part_spec spec = {.table_id = c->v->table.id,
                                .cols = c->defs,
                                .n_cols = c->n_cols,
                                .ts_col = c->ts_col,
                                .chunks = c->chunks,
                                .n_chunks = c->n,
                                .order = order,
                                .n_order = rows,
                                .pack = c->pack,
                                .parquet = c->parquet};
    ALM_TRY(alm_spec_to_part(cx, c->st, &spec, c->group[0]->bucket, c->seq, &c->out[c->n_out]));
    c->n_out++;
    return ALM_OK;
}

static alm_status reserve_order(alm_ctx *cx, compaction *c, int64_t rows)
{
    if (rows <= c->order_cap)
        return ALM_OK;
    uint64_t *grown = realloc(c->order, (size_t)rows * sizeof(*grown));
    if (grown == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "compaction: no memory for %lld rows",
                        (long long)rows);
    c->order = grown;
    c->order_cap = rows;
    return ALM_OK;
}

static int64_t merged_time(const compaction *c, uint64_t at)
{
    return c->dedup[at >> 32].ts[(uint32_t)at];
}

/* The next rows_max rows and those of the same time as the last. */
static alm_status next_rows(alm_ctx *cx, compaction *c, alm_merge *m, int64_t rows_max,
                            int64_t *rows)
{
    ALM_TRY(reserve_order(cx, c, rows_max));
    int64_t n = alm_merge_next(m, c->order, rows_max);
    while (n > 0 && m->n > 0) {
        const alm_merge_src *top = &m->srcs[m->heap[0]];
        if (top->ts[top->lo] != merged_time(c, c->order[n - 1]))
            break;
        if (n == c->order_cap)
            ALM_TRY(reserve_order(cx, c, c->order_cap + c->order_cap / 2 + 1));
        n += alm_merge_next(m, c->order + n, 1);
    }
    *rows = n;
    return ALM_OK;
}

static alm_status merge_timed(alm_ctx *cx, compaction *c)
{
    alm_merge_src *srcs = NULL;
    uint32_t *heap = NULL;
    ALM_TRY(ALM_NEWN(cx, &c->arena, c->n, &srcs));
    ALM_TRY(ALM_NEWN(cx, &c->arena, c->n, &heap));
    int64_t left = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        srcs[i] = (alm_merge_src){.ts = c->dedup[i].ts, .hi = c->group[i]->rows};
        left += c->group[i]->rows;
    }
    alm_merge m;
    alm_merge_init(&m, srcs, c->n, heap);
    const int64_t rows_max = c->st->conf.part_rows_max;
    while (left > 0) {
        ALM_TRY(alm_check(cx));
        int64_t rows = 0;
        ALM_TRY(next_rows(cx, c, &m, ALM_MIN(left, rows_max), &rows));
        left -= rows;
        if (c->v->table.dedup)
            ALM_TRY(
                alm_dedup_rows(cx, ALM_DEDUP_SOURCES, c->dedup, c->n_keys, c->order, rows, &rows));
        ALM_TRY(add_output(cx, c, c->order, rows));
    }
    return ALM_OK;
}

/* What was read is still what was written once. */
static alm_status compare_group(alm_ctx *cx, compaction *c)
{
    const uint64_t before = alm_rewrite_begin(cx, c->st);
    alm_status st = ALM_OK;
    for (uint32_t i = 0; i < c->n && st == ALM_OK; i++) {
        const alm_scan_piece piece = {.part = c->group[i], .hi = c->group[i]->rows};
        for (uint32_t k = 0; k < c->n_cols && st == ALM_OK; k++) {
            alm_vec again;
            st = alm_check(cx);
            if (st == ALM_OK)
                st = alm_scan_piece_vec(cx, &c->arena, c->v, &piece, c->cols[k], &again);
        }
    }
    alm_rewrite_end(cx, before);
    return st;
}

static alm_status run(alm_ctx *cx, compaction *c)
{
    ALM_ASSERT(cx->rewrite != 0);
    ALM_TRY(map_columns(cx, c));
    c->seq = c->group[c->n - 1]->seq;
    if (c->ts_col >= 0)
        ALM_TRY(merge_timed(cx, c));
    else
        ALM_TRY(add_output(cx, c, NULL, 0)); /* one part after the other */
    ALM_TRY(compare_group(cx, c));
    alm_part_ref **gone = NULL;
    ALM_TRY(ALM_NEWN(cx, &c->arena, c->n, &gone));
    memcpy(gone, c->group, c->n * sizeof(*gone));
    const alm_parts_change change = {.table_id = c->v->table.id,
                                     .add = c->out,
                                     .n_add = c->n_out,
                                     .remove = gone,
                                     .n_remove = c->n};
    uint64_t lsn = 0;
    return alm_parts_commit(cx, c->st, &change, &lsn);
}

static void compaction_deinit(compaction *c)
{
    for (uint32_t i = 0; i < c->n_out; i++)
        alm_part_ref_release(c->out[i]);
    free(c->out);
    free(c->order);
    free(c->group);
    alm_arena_deinit(&c->arena);
}

/* Merges the group, which is freed with the compaction. */
static alm_status merge_group(alm_ctx *cx, compaction *c)
{
    alm_storage *st = c->st;
    alm_arena_init(&c->arena, NULL);
    const int64_t start_ns = st->io->mono_ns(st->io);
    const alm_status status = run(cx, c);
    if (status == ALM_OK)
        alm_times_add(&st->counters.merges, st->io->mono_ns(st->io) - start_ns);
    compaction_deinit(c);
    return status;
}

/* The parts, each by itself, behind one another in packs. */
static alm_status move_all(alm_ctx *cx, compaction *c, alm_pack *pack, const alm_part_ref **picked,
                           uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        ALM_TRY(alm_check(cx));
        alm_arena_reset(&c->arena);
        c->group = &picked[i];
        c->n = 1;
        c->n_cols = 0;
        c->seq = picked[i]->seq;
        ALM_TRY(map_columns(cx, c));
        ALM_TRY(alm_pack_next(cx, pack, &c->pack));
        c->pack->bytes_max = INT64_MAX; /* the size is known to be small */
        ALM_TRY(add_output(cx, c, NULL, 0));
        ALM_ASSERT(c->out[i]->file->pack != NULL && c->out[i]->rows == picked[i]->rows);
        ALM_TRY(compare_group(cx, c));
    }
    return alm_pack_finish(cx, pack);
}

/*
 * Parts of a few rows, each of which was flushed or merged by itself, take 4 kB of the disk as files of their own. Once there are
 * enough of them they move to a pack. Each moves once, unless rows come to its partition and a merge gives it a file again.
 * picked: room for all parts of the table.
 */
static alm_status move_lone_parts(alm_ctx *cx, alm_storage *st, const alm_version *v,
                                  const alm_part_ref **picked, bool *did)
{
    const uint32_t n = alm_compact_pick_lone(v->parts, &st->conf, picked);
    if (n == 0)
        return ALM_OK;
    compaction c = {.st = st, .v = v};
    alm_pack pack;
    alm_arena_init(&c.arena, NULL);
    alm_pack_init(&pack, st, v->table.id, n);
    alm_status status = move_all(cx, &c, &pack, picked, n);
    alm_pack_deinit(&pack);
    alm_part_ref **gone = NULL;
    if (status == ALM_OK)
        status = ALM_NEWN(cx, &c.arena, n, &gone);
    if (status == ALM_OK) {
        memcpy(gone, picked, n * sizeof(*gone));
        const alm_parts_change change = {
            .table_id = v->table.id, .add = c.out, .n_add = c.n_out, .remove = gone, .n_remove = n};
        uint64_t lsn = 0;
        status = alm_parts_commit(cx, st, &change, &lsn);
    }
    c.group = NULL;
    compaction_deinit(&c);
    *did = status == ALM_OK;
    return status;
}

/* `overlaps`: those that have to be merged because they meet in time, and no others. */
static alm_status compact_version(alm_ctx *cx, alm_storage *st, const alm_version *v, bool overlaps,
                                  bool *did)
{
    compaction c = {.st = st, .v = v};
    c.group = calloc(v->parts->n + 1u, sizeof(*c.group));
    if (c.group == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "compaction: no memory");
    const bool timed = v->table.ts_col >= 0;
    if (overlaps)
        c.n = timed ? alm_compact_pick_overlap(v->parts, true, NULL, c.group) : 0;
    else
        c.n = alm_compact_pick(v->parts, timed, v->table.dedup, &st->conf, c.group);
    if (c.n == 0) {
        const alm_status status =
            timed && !overlaps ? move_lone_parts(cx, st, v, c.group, did) : ALM_OK;
        free(c.group);
        return status;
    }
    for (uint32_t i = 0; i < c.n; i++)
        c.parquet = c.parquet || alm_part_ref_is_parquet(c.group[i]);
    const alm_status status = merge_group(cx, &c);
    if (status == ALM_E_CONFLICT) { /* dropped or truncated meanwhile: the work was for nothing */
        alm_error_clear(cx);
        return ALM_OK;
    }
    *did = status == ALM_OK;
    return status;
}

/* Would a merge make an open transaction fail? Not looked at when writers would have to wait for it. */
static bool is_claimed(const alm_storage *st, const alm_version *v)
{
    return atomic_load(&v->tab->claims) > 0 &&
           (st->conf.overlap_max == 0 || v->parts->overlap <= (uint32_t)st->conf.overlap_max);
}

static alm_status one_step(alm_ctx *cx, alm_storage *st, uint64_t table_id, bool overlaps,
                           bool *did)
{
    *did = false;
    alm_version *v = alm_storage_version(st, table_id);
    if (v == NULL)
        return ALM_OK;
    alm_reading reading;
    alm_reading_begin(&st->decoded, &reading);
    const uint64_t before = alm_rewrite_begin(cx, st);
    const bool waits = !overlaps && (v->table.closed != NULL || is_claimed(st, v));
    alm_status status = overlaps ? alm_table_is_open(cx, &v->table, -1) : ALM_OK;
    if (status == ALM_OK && !waits)
        status = compact_version(cx, st, v, overlaps, did);
    alm_rewrite_end(cx, before);
    alm_reading_end(&st->decoded, &reading);
    alm_version_release(v);
    return status;
}

alm_status alm_compact_table(alm_ctx *cx, alm_storage *st, uint64_t table_id, bool *did)
{
    return one_step(cx, st, table_id, false, did);
}

alm_status alm_compact_overlaps(alm_ctx *cx, alm_storage *st, uint64_t table_id)
{
    for (bool did = true; did;) {
        ALM_TRY(alm_check(cx));
        ALM_TRY(one_step(cx, st, table_id, true, &did));
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------ conversion */

static int by_seq(const void *a, const void *b)
{
    const alm_part_ref *x, *y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x->seq > y->seq) - (x->seq < y->seq);
}

/* Is a part as the conversion would leave it? */
static alm_status is_settled(alm_ctx *cx, const alm_version *v, const alm_part_ref *ref,
                             bool parquet, bool *settled)
{
    *settled = false;
    if (alm_part_ref_is_parquet(ref) != parquet)
        return ALM_OK;
    *settled = !parquet;
    if (!parquet || ref->n_overlays > 0)
        return ALM_OK;
    alm_part *part = NULL;
    ALM_TRY(alm_damage_of_table(cx, v->table.name, ref->file, alm_file_part(cx, ref->file, &part)));
    *settled = alm_part_is_as(part, v->table.cols, v->table.n_cols);
    return ALM_OK;
}

/* The parts of a partition, by time; *settled: there is nothing to do. */
static alm_status pick_partition(alm_ctx *cx, compaction *c, int64_t bucket, bool *settled)
{
    const alm_part_set *set = c->v->parts;
    *settled = true;
    for (uint32_t i = 0; i < set->n; i++) {
        const alm_part_ref *ref = set->parts[i];
        bool good = true;
        if (ref->bucket != bucket)
            continue;
        ALM_TRY(is_settled(cx, c->v, ref, c->parquet, &good));
        if (c->parquet && c->n > 0 && ref->min_ts < c->group[c->n - 1]->max_ts)
            good = false; /* the file would not be in order with the next */
        c->group[c->n++] = ref;
        *settled = *settled && good;
    }
    qsort(c->group, c->n, sizeof(*c->group), by_seq);
    return ALM_OK;
}

alm_status alm_convert_partition(alm_ctx *cx, alm_storage *st, uint64_t table_id, int64_t bucket,
                                 bool parquet)
{
    compaction c = {.st = st, .parquet = parquet};
    alm_reading reading;
    alm_version *v = alm_storage_version(st, table_id);
    if (v == NULL)
        return alm_fail(cx, ALM_E_CONFLICT, -1, "table was dropped meanwhile [id=%llu]",
                        (unsigned long long)table_id);
    c.v = v;
    c.group = calloc(v->parts->n + 1u, sizeof(*c.group));
    alm_reading_begin(&st->decoded, &reading);
    const uint64_t before = alm_rewrite_begin(cx, st);
    bool settled = true;
    alm_status status = alm_table_is_open(cx, &v->table, -1);
    if (status == ALM_OK)
        status = c.group == NULL ? alm_fail(cx, ALM_E_MEMORY, -1, "conversion: no memory")
                                 : pick_partition(cx, &c, bucket, &settled);
    if (status == ALM_OK && !settled)
        status = merge_group(cx, &c);
    else
        free(c.group);
    alm_rewrite_end(cx, before);
    alm_reading_end(&st->decoded, &reading);
    alm_version_release(v);
    return status;
}
