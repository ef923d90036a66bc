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

static void compact_add_column(compaction *self, uint32_t col)
{
    const alm_column *def = &self->v->table.cols[col];
    if ((int32_t)col == self->v->table.ts_col)
        self->ts_col = (int32_t)self->n_cols;
    self->cols[self->n_cols] = col;
    self->defs[self->n_cols++] = (alm_part_coldef){def->id, def->type, def->name};
}

/* Columns of the table that at least one part of the group holds; or all. One at least: what the parts hold may have been
 * dropped, and the rows are null then. */
static alm_status compact_find_columns(alm_ctx *cx, compaction *self)
{
    ALM_TRY(ALM_NEWN(cx, &self->arena, self->v->table.n_cols, &self->defs));
    ALM_TRY(ALM_NEWN(cx, &self->arena, self->v->table.n_cols, &self->cols));
    self->ts_col = -1;
    for (uint32_t col = 0; col < self->v->table.n_cols; col++) {
        const alm_column *def = &self->v->table.cols[col];
        int32_t entry = -1;
        alm_part *part = NULL;
        for (uint32_t i = 0; i < self->n && entry < 0; i++)
            ALM_TRY(alm_scan_part_col(cx, self->v, self->group[i], def->id, col, &part, &entry));
        if (entry >= 0 || self->parquet)
            compact_add_column(self, col);
    }
    if (self->n_cols == 0)
        compact_add_column(self, 0);
    return ALM_OK;
}

/* A verified vector per part and column. */
static alm_status compact_map_columns(alm_ctx *cx, compaction *self)
{
    ALM_TRY(compact_find_columns(cx, self));
    ALM_TRY(ALM_NEWN(cx, &self->arena, self->n, &self->chunks));
    ALM_TRY(ALM_NEWN(cx, &self->arena, self->n, &self->dedup));
    for (uint32_t i = 0; i < self->n; i++) {
        ALM_TRY(alm_check(cx));
        const alm_scan_piece piece = {.part = self->group[i], .hi = self->group[i]->rows};
        alm_vec *vecs = NULL, *keys = NULL;
        ALM_TRY(ALM_NEWN(cx, &self->arena, self->n_cols, &vecs));
        ALM_TRY(ALM_NEWN(cx, &self->arena, self->v->table.n_cols, &keys));
        for (uint32_t k = 0; k < self->n_cols; k++)
            ALM_TRY(alm_scan_piece_vec(cx, &self->arena, self->v, &piece, self->cols[k], &vecs[k]));
        self->chunks[i] = (alm_part_chunk){.rows = (uint32_t)self->group[i]->rows, .cols = vecs};
        self->n_keys = 0;
        for (uint32_t col = 0; self->v->table.dedup && col < self->v->table.n_cols; col++)
            if (self->v->table.cols[col].dedup_key && (int32_t)col != self->v->table.ts_col)
                ALM_TRY(alm_scan_piece_vec(cx, &self->arena, self->v, &piece, col,
                                           &keys[self->n_keys++]));
        self->dedup[i].keys = keys;
        if (self->ts_col >= 0)
            self->dedup[i].ts = vecs[self->ts_col].data;
    }
    return ALM_OK;
}

static alm_status add_output(alm_ctx *cx, compaction *self, const uint64_t *order, int64_t rows)
{
    if (self->n_out == self->cap_out) {
        const uint32_t cap = self->cap_out == 0 ? 8 : self->cap_out * 2;
        alm_part_ref **grown = realloc(self->out, cap * sizeof(*grown));
        if (grown == NULL)
            return alm_fail(cx, ALM_E_MEMORY, -1, "compaction: no memory");
        self->out = grown;
        self->cap_out = cap;
    }
    const alm_part_spec spec = {.table_id = self->v->table.id,
                                .cols = self->defs,
                                .n_cols = self->n_cols,
                                .ts_col = self->ts_col,
                                .chunks = self->chunks,
                                .n_chunks = self->n,
                                .order = order,
                                .n_order = rows,
                                .pack = self->pack,
                                .parquet = self->parquet};
    ALM_TRY(alm_spec_to_part(cx, self->st, &spec, self->group[0]->bucket, self->seq,
                             &self->out[self->n_out]));
    self->n_out++;
    return ALM_OK;
}

static alm_status reserve_order(alm_ctx *cx, compaction *self, int64_t rows)
{
    if (rows <= self->order_cap)
        return ALM_OK;
    uint64_t *grown = realloc(self->order, (size_t)rows * sizeof(*grown));
    if (grown == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "compaction: no memory for %lld rows",
                        (long long)rows);
    self->order = grown;
    self->order_cap = rows;
    return ALM_OK;
}

static int64_t merged_time(const compaction *self, uint64_t place)
{
    return self->dedup[place >> 32].ts[(uint32_t)place];
}

/* The next rows_max rows and those of the same time as the last. */
static alm_status compact_next_rows(alm_ctx *cx, compaction *self, alm_merge *merge,
                                    int64_t rows_max, int64_t *rows)
{
    ALM_TRY(reserve_order(cx, self, rows_max));
    int64_t n = alm_merge_next(merge, self->order, rows_max);
    while (n > 0 && merge->n > 0) {
        const alm_merge_src *top = &merge->srcs[merge->heap[0]];
        if (top->ts[top->lo] != merged_time(self, self->order[n - 1]))
            break;
        if (n == self->order_cap)
            ALM_TRY(reserve_order(cx, self, self->order_cap + self->order_cap / 2 + 1));
        n += alm_merge_next(merge, self->order + n, 1);
    }
    *rows = n;
    return ALM_OK;
}

static alm_status merge_timed(alm_ctx *cx, compaction *self)
{
    alm_merge_src *srcs = NULL;
    uint32_t *heap = NULL;
    ALM_TRY(ALM_NEWN(cx, &self->arena, self->n, &srcs));
    ALM_TRY(ALM_NEWN(cx, &self->arena, self->n, &heap));
    int64_t left = 0;
    for (uint32_t i = 0; i < self->n; i++) {
        srcs[i] = (alm_merge_src){.ts = self->dedup[i].ts, .hi = self->group[i]->rows};
        left += self->group[i]->rows;
    }
    alm_merge merge;
    alm_merge_init(&merge, srcs, self->n, heap);
    const int64_t rows_max = self->st->conf.part_rows_max;
    while (left > 0) {
        ALM_TRY(alm_check(cx));
        int64_t rows = 0;
        ALM_TRY(compact_next_rows(cx, self, &merge, ALM_MIN(left, rows_max), &rows));
        left -= rows;
        if (self->v->table.dedup)
            ALM_TRY(alm_dedup_rows(cx, ALM_DEDUP_SOURCES, self->dedup, self->n_keys, self->order,
                                   rows, &rows));
        ALM_TRY(add_output(cx, self, self->order, rows));
    }
    return ALM_OK;
}

/* What was read is still what was written once. */
static alm_status compare_group(alm_ctx *cx, compaction *self)
{
    const uint64_t before = alm_rewrite_begin(cx, self->st);
    alm_status status = ALM_OK;
    for (uint32_t i = 0; i < self->n && status == ALM_OK; i++) {
        const alm_scan_piece piece = {.part = self->group[i], .hi = self->group[i]->rows};
        for (uint32_t col = 0; col < self->n_cols && status == ALM_OK; col++) {
            alm_vec again;
            status = alm_check(cx);
            if (status == ALM_OK)
                status =
                    alm_scan_piece_vec(cx, &self->arena, self->v, &piece, self->cols[col], &again);
        }
    }
    alm_rewrite_end(cx, before);
    return status;
}

static alm_status compact_run(alm_ctx *cx, compaction *self)
{
    ALM_ASSERT(cx->rewrite != 0);
    ALM_TRY(compact_map_columns(cx, self));
    self->seq = self->group[self->n - 1]->seq;
    if (self->ts_col >= 0)
        ALM_TRY(merge_timed(cx, self));
    else
        ALM_TRY(add_output(cx, self, NULL, 0)); /* one part after the other */
    ALM_TRY(compare_group(cx, self));
    alm_part_ref **gone = NULL;
    ALM_TRY(ALM_NEWN(cx, &self->arena, self->n, &gone));
    memcpy(gone, self->group, self->n * sizeof(*gone));
    const alm_parts_change change = {.table_id = self->v->table.id,
                                     .add = self->out,
                                     .n_add = self->n_out,
                                     .remove = gone,
                                     .n_remove = self->n};
    uint64_t lsn = 0;
    return alm_parts_commit(cx, self->st, &change, &lsn);
}

static void compaction_deinit(compaction *self)
{
    for (uint32_t i = 0; i < self->n_out; i++)
        alm_part_ref_release(self->out[i]);
    free(self->out);
    free(self->order);
    free(self->group);
    alm_arena_deinit(&self->arena);
}

/* Merges the group, which is freed with the compaction. */
static alm_status merge_group(alm_ctx *cx, compaction *self)
{
    alm_storage *storage = self->st;
    alm_arena_init(&self->arena, NULL);
    const int64_t start_ns = storage->io->mono_ns(storage->io);
    const alm_status status = compact_run(cx, self);
    if (status == ALM_OK)
        alm_times_add(&storage->counters.merges, storage->io->mono_ns(storage->io) - start_ns);
    compaction_deinit(self);
    return status;
}

/* The parts, each by itself, behind one another in packs. */
static alm_status move_all(alm_ctx *cx, compaction *self, alm_pack *pack,
                           const alm_part_ref **picked, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        ALM_TRY(alm_check(cx));
        alm_arena_reset(&self->arena);
        self->group = &picked[i];
        self->n = 1;
        self->n_cols = 0;
        self->seq = picked[i]->seq;
        ALM_TRY(compact_map_columns(cx, self));
        ALM_TRY(alm_pack_next(cx, pack, &self->pack));
        self->pack->bytes_max = INT64_MAX; /* the size is known to be small */
        ALM_TRY(add_output(cx, self, NULL, 0));
        ALM_ASSERT(self->out[i]->file->pack != NULL && self->out[i]->rows == picked[i]->rows);
        ALM_TRY(compare_group(cx, self));
    }
    return alm_pack_finish(cx, pack);
}

/*
 * Parts of a few rows, each of which was flushed or merged by itself, take 4 kB of the disk as files of their own. Once there are
 * enough of them they move to a pack. Each moves once, unless rows come to its partition and a merge gives it a file again.
 * picked: room for all parts of the table.
 */
static alm_status move_lone_parts(alm_ctx *cx, alm_storage *storage, const alm_version *version,
                                  const alm_part_ref **picked, bool *did)
{
    const uint32_t n = alm_compact_pick_lone(version->parts, &storage->conf, picked);
    if (n == 0)
        return ALM_OK;
    compaction self = {.st = storage, .v = version};
    alm_pack pack;
    alm_arena_init(&self.arena, NULL);
    alm_pack_init(&pack, storage, version->table.id, n);
    alm_status status = move_all(cx, &self, &pack, picked, n);
    alm_pack_deinit(&pack);
    alm_part_ref **gone = NULL;
    if (status == ALM_OK)
        status = ALM_NEWN(cx, &self.arena, n, &gone);
    if (status == ALM_OK) {
        memcpy(gone, picked, n * sizeof(*gone));
        const alm_parts_change change = {.table_id = version->table.id,
                                         .add = self.out,
                                         .n_add = self.n_out,
                                         .remove = gone,
                                         .n_remove = n};
        uint64_t lsn = 0;
        status = alm_parts_commit(cx, storage, &change, &lsn);
    }
    self.group = NULL;
    compaction_deinit(&self);
    *did = status == ALM_OK;
    return status;
}

/* `overlaps`: those that have to be merged because they meet in time, and no others. */
static alm_status compact_version(alm_ctx *cx, alm_storage *storage, const alm_version *version,
                                  bool overlaps, bool *did)
{
    compaction self = {.st = storage, .v = version};
    self.group = calloc(version->parts->n + 1u, sizeof(*self.group));
    if (self.group == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "compaction: no memory");
    const bool timed = version->table.ts_col >= 0;
    if (overlaps)
        self.n = timed ? alm_compact_pick_overlap(version->parts, true, NULL, self.group) : 0;
    else
        self.n = alm_compact_pick(version->parts, timed, version->table.dedup, &storage->conf,
                                  self.group);
    if (self.n == 0) {
        const alm_status status =
            timed && !overlaps ? move_lone_parts(cx, storage, version, self.group, did) : ALM_OK;
        free(self.group);
        return status;
    }
    for (uint32_t i = 0; i < self.n; i++)
        self.parquet = self.parquet || alm_part_ref_is_parquet(self.group[i]);
    const alm_status status = merge_group(cx, &self);
    if (status == ALM_E_CONFLICT) { /* dropped or truncated meanwhile: the work was for nothing */
        alm_error_clear(cx);
        return ALM_OK;
    }
    *did = status == ALM_OK;
    return status;
}

/* Would a merge make an open transaction fail? Not looked at when writers would have to wait for it. */
static bool is_claimed(const alm_storage *storage, const alm_version *version)
{
    return atomic_load(&version->tab->claims) > 0 &&
           (storage->conf.overlap_max == 0 ||
            version->parts->overlap <= (uint32_t)storage->conf.overlap_max);
}

static alm_status one_step(alm_ctx *cx, alm_storage *storage, uint64_t table_id, bool overlaps,
                           bool *did)
{
    *did = false;
    alm_version *version = alm_storage_version(storage, table_id);
    if (version == NULL)
        return ALM_OK;
    alm_reading reading;
    alm_reading_begin(&storage->decoded, &reading);
    const uint64_t before = alm_rewrite_begin(cx, storage);
    const bool waits = !overlaps && (version->table.closed != NULL || is_claimed(storage, version));
    alm_status status = overlaps ? alm_table_is_open(cx, &version->table, -1) : ALM_OK;
    if (status == ALM_OK && !waits)
        status = compact_version(cx, storage, version, overlaps, did);
    alm_rewrite_end(cx, before);
    alm_reading_end(&storage->decoded, &reading);
    alm_version_release(version);
    return status;
}

alm_status alm_compact_table(alm_ctx *cx, alm_storage *storage, uint64_t table_id, bool *did)
{
    return one_step(cx, storage, table_id, false, did);
}

alm_status alm_compact_overlaps(alm_ctx *cx, alm_storage *storage, uint64_t table_id)
{
    for (bool did = true; did;) {
        ALM_TRY(alm_check(cx));
        ALM_TRY(one_step(cx, storage, table_id, true, &did));
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------ conversion */

static int compact_by_seq(const void *a, const void *b)
{
    const alm_part_ref *x, *y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x->seq > y->seq) - (x->seq < y->seq);
}

/* Is a part as the conversion would leave it? */
static alm_status is_settled(alm_ctx *cx, const alm_version *version, const alm_part_ref *ref,
                             bool parquet, bool *settled)
{
    *settled = false;
    if (alm_part_ref_is_parquet(ref) != parquet)
        return ALM_OK;
    *settled = !parquet;
    if (!parquet || ref->n_overlays > 0)
        return ALM_OK;
    alm_part *part = NULL;
    ALM_TRY(alm_damage_of_table(cx, version->table.name, ref->file,
                                alm_file_part(cx, ref->file, &part)));
    *settled = alm_part_is_as(part, version->table.cols, version->table.n_cols);
    return ALM_OK;
}

/* The parts of a partition, by time; *settled: there is nothing to do. */
static alm_status pick_partition(alm_ctx *cx, compaction *self, int64_t bucket, bool *settled)
{
    const alm_part_set *set = self->v->parts;
    *settled = true;
    for (uint32_t i = 0; i < set->n; i++) {
        const alm_part_ref *ref = set->parts[i];
        bool good = true;
        if (ref->bucket != bucket)
            continue;
        ALM_TRY(is_settled(cx, self->v, ref, self->parquet, &good));
        if (self->parquet && self->n > 0 && ref->min_ts < self->group[self->n - 1]->max_ts)
            good = false; /* the file would not be in order with the next */
        self->group[self->n++] = ref;
        *settled = *settled && good;
    }
    qsort(self->group, self->n, sizeof(*self->group), compact_by_seq);
    return ALM_OK;
}

alm_status alm_convert_partition(alm_ctx *cx, alm_storage *storage, uint64_t table_id,
                                 int64_t bucket, bool parquet)
{
    compaction self = {.st = storage, .parquet = parquet};
    alm_reading reading;
    alm_version *version = alm_storage_version(storage, table_id);
    if (version == NULL)
        return alm_fail(cx, ALM_E_CONFLICT, -1, "table was dropped meanwhile [id=%llu]",
                        (unsigned long long)table_id);
    self.v = version;
    self.group = calloc(version->parts->n + 1u, sizeof(*self.group));
    alm_reading_begin(&storage->decoded, &reading);
    const uint64_t before = alm_rewrite_begin(cx, storage);
    bool settled = true;
    alm_status status = alm_table_is_open(cx, &version->table, -1);
    if (status == ALM_OK)
        status = self.group == NULL ? alm_fail(cx, ALM_E_MEMORY, -1, "conversion: no memory")
                                    : pick_partition(cx, &self, bucket, &settled);
    if (status == ALM_OK && !settled)
        status = merge_group(cx, &self);
    else
        free(self.group);
    alm_rewrite_end(cx, before);
    alm_reading_end(&storage->decoded, &reading);
    alm_version_release(version);
    return status;
}
