/*
 * flush.c - the head of a table becomes parts: freeze its lanes, write them by partition, name the
 * parts in one log record that also drops the lanes. Small parts of many partitions share a file.
 *
 * Failure     leaves the lanes frozen; the next flush writes them again. Files that were written go
 *             with their last reference.
 */
#include <stdlib.h>

#include "storage/part/pack.h"
#include "storage/version/change.h"
#include "storage/write/bulk.h"
#include "storage/write/commit.h"
#include "storage/write/flush.h"
#include "storage/write/parts_commit.h"

alm_status alm_prepare_freeze(alm_ctx *cx, alm_request *request, alm_build *build)
{
    const uint64_t *table_id = request->arg;
    const alm_version *version = alm_build_find(build, *table_id);
    if (version == NULL || version->n_lanes == 0 || version->n_frozen > 0)
        return ALM_OK;
    alm_version *next = NULL;
    ALM_TRY(alm_version_copy(cx, version, 0, &next));
    next->n_frozen = next->n_lanes;
    next->frozen_lsn = build->next->lsn; /* all rows in the lanes are of records up to here */
    alm_version_settle(next);
    const alm_status status = alm_build_own(cx, build, *table_id);
    if (status == ALM_OK)
        alm_build_put(build, next);
    else
        alm_version_release(next);
    return status;
}

/* First row of a lane chunk with a time >= bound. */
static uint32_t flush_lower(const alm_version *version, const alm_lane_chunk *chunk, int64_t bound)
{
    return (uint32_t)alm_times_lower_bound(chunk->chunk->cols[version->table.ts_col], chunk->rows,
                                           bound);
}

typedef struct flushing {
    alm_ctx *cx;
    alm_storage *st;
    const alm_version *v;
    alm_part_chunk *chunks; /* pieces of one partition */
    alm_vec *vecs;          /* n_cols for each of them */
    uint32_t max_chunks, n_chunks;
    alm_part_ref **parts;
    uint32_t n_parts, cap_parts;
    alm_pack pack;
} flushing;

/* Rows [from, to) of a chunk as a piece; a column that the chunk lacks is a const null. */
static alm_status add_piece(flushing *self, const alm_chunk *chunk, uint32_t from, uint32_t to,
                            alm_arena *arena)
{
    const alm_schema *schema = self->v->schema;
    alm_vec *vecs = self->vecs + (size_t)self->n_chunks * schema->n_cols;
    for (uint32_t col = 0; col < schema->n_cols; col++) {
        const alm_type type = schema->cols[col].type;
        const int32_t pos = alm_schema_find(chunk->schema, schema->cols[col].id);
        if (pos < 0) {
            ALM_TRY(alm_vec_null(self->cx, arena, type, &vecs[col]));
            continue;
        }
        const size_t width = alm_type_width(type);
        vecs[col] = (alm_vec){.type = type,
                              .width = (uint8_t)width,
                              .data = (char *)chunk->cols[pos] + from * width,
                              .dict = schema->cols[col].dict};
    }
    self->chunks[self->n_chunks++] = (alm_part_chunk){.rows = to - from, .cols = vecs};
    return ALM_OK;
}

/* The pieces of [lo, hi), lane by lane: the order of insertion. */
static alm_status flush_collect(flushing *self, int64_t lo, int64_t hi, alm_arena *arena)
{
    self->n_chunks = 0;
    for (uint32_t i = 0; i < self->v->n_frozen; i++) {
        const alm_lane *lane = &self->v->lanes[i];
        for (uint32_t j = 0; j < lane->n_chunks; j++) {
            const alm_lane_chunk *chunk = &lane->chunks[j];
            uint32_t from = 0, to = chunk->rows;
            if (self->v->table.ts_col >= 0 && lo != INT64_MIN)
                from = flush_lower(self->v, chunk, lo);
            if (self->v->table.ts_col >= 0 && hi != INT64_MAX)
                to = flush_lower(self->v, chunk, hi);
            if (from < to)
                ALM_TRY(add_piece(self, chunk->chunk, from, to, arena));
        }
    }
    return ALM_OK;
}

/* The oldest time >= bound in the frozen lanes; false: there is none. */
static bool next_time(const alm_version *version, int64_t bound, int64_t *out)
{
    bool any = false;
    for (uint32_t i = 0; i < version->n_frozen; i++) {
        for (uint32_t j = 0; j < version->lanes[i].n_chunks; j++) {
            const alm_lane_chunk *chunk = &version->lanes[i].chunks[j];
            const uint32_t place = flush_lower(version, chunk, bound);
            if (place == chunk->rows)
                continue;
            const int64_t ts = ((const int64_t *)chunk->chunk->cols[version->table.ts_col])[place];
            *out = any ? ALM_MIN(*out, ts) : ts;
            any = true;
            break; /* later chunks of the lane are newer */
        }
    }
    return any;
}

static alm_status flush_write_part(flushing *self, int64_t bucket)
{
    if (self->n_parts == self->cap_parts) {
        const uint32_t cap = ALM_MAX(8U, self->cap_parts * 2);
        alm_part_ref **bigger = realloc((void *)self->parts, cap * sizeof *bigger);
        if (bigger == NULL)
            return alm_fail(self->cx, ALM_E_MEMORY, -1, "no memory for a list of parts");
        self->parts = bigger;
        self->cap_parts = cap;
    }
    alm_part_pack *pack = NULL;
    ALM_TRY(alm_pack_next(self->cx, &self->pack, &pack));
    ALM_TRY(alm_rows_to_part(self->cx, self->st, self->v, self->chunks, self->n_chunks, bucket,
                             pack, &self->parts[self->n_parts]));
    self->n_parts++;
    return ALM_OK;
}

/* How many partitions the frozen lanes have, up to `most`. */
static size_t count_partitions(const alm_version *version, size_t most)
{
    const bool nanos = alm_version_is_ns(version);
    size_t n = version->table.ts_col < 0;
    int64_t bound = INT64_MIN, ts = 0;
    while (version->table.ts_col >= 0 && n < most && bound < INT64_MAX &&
           next_time(version, bound, &ts)) {
        bound = alm_partition_next(version->table.partition, nanos, ts);
        n++;
    }
    return n;
}

static alm_status write_partitions(flushing *self, alm_arena *arena)
{
    const alm_table *table = &self->v->table;
    const bool nanos = alm_version_is_ns(self->v);
    if (table->ts_col < 0) {
        ALM_TRY(flush_collect(self, INT64_MIN, INT64_MAX, arena));
        return flush_write_part(self, alm_partition_floor(ALM_PART_NONE, nanos, 0));
    }
    int64_t bound = INT64_MIN, ts = 0;
    while (next_time(self->v, bound, &ts)) {
        const int64_t lo = alm_partition_floor(table->partition, nanos, ts);
        const int64_t hi = alm_partition_next(table->partition, nanos, ts);
        ALM_TRY(alm_check(self->cx));
        ALM_TRY(flush_collect(self, lo, hi, arena));
        ALM_TRY(flush_write_part(self, lo));
        alm_arena_reset(arena);
        if (hi == INT64_MAX)
            break;
        bound = hi;
    }
    return ALM_OK;
}

static void parts_free(alm_part_ref **parts, uint32_t n_parts)
{
    for (uint32_t i = 0; i < n_parts; i++)
        alm_part_ref_release(parts[i]);
    free((void *)parts);
}

alm_status alm_lanes_to_parts(alm_ctx *cx, alm_storage *storage, const alm_version *version,
                              alm_part_ref ***parts, uint32_t *n)
{
    flushing self = {.cx = cx, .st = storage, .v = version};
    for (uint32_t i = 0; i < version->n_frozen; i++)
        self.max_chunks += version->lanes[i].n_chunks;
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    alm_status status =
        alm_heap_bytes(cx, self.max_chunks * sizeof *self.chunks, "a flush", &self.chunks);
    if (status == ALM_OK)
        status = alm_heap_bytes(
            cx, (size_t)self.max_chunks * version->schema->n_cols * sizeof *self.vecs, "a flush",
            &self.vecs);
    alm_pack_init(&self.pack, storage, version->table.id,
                  count_partitions(version, (size_t)storage->conf.shared_parts_min));
    if (status == ALM_OK)
        status = write_partitions(&self, &arena);
    if (status == ALM_OK)
        status = alm_pack_finish(cx, &self.pack);
    alm_pack_deinit(&self.pack);
    free(self.chunks);
    free(self.vecs);
    alm_arena_deinit(&arena);
    if (status != ALM_OK) {
        parts_free(self.parts, self.n_parts);
        return status;
    }
    *parts = self.parts;
    *n = self.n_parts;
    return ALM_OK;
}

/* Frozen lanes of a version to parts, in the catalogue. */
static alm_status flush_frozen(alm_ctx *cx, alm_storage *storage, const alm_version *version)
{
    alm_part_ref **parts = NULL;
    uint32_t n = 0;
    ALM_TRY(alm_lanes_to_parts(cx, storage, version, &parts, &n));
    const alm_parts_change change = {
        .table_id = version->table.id, .add = parts, .n_add = n, .flush = true};
    alm_status status = alm_parts_commit(cx, storage, &change, NULL);
    if (status == ALM_E_CONFLICT) { /* dropped or truncated: the rows are gone */
        alm_error_clear(cx);
        status = ALM_OK;
    }
    parts_free(parts, n);
    return status;
}

alm_status alm_head_flush(alm_ctx *cx, alm_storage *storage, uint64_t table_id)
{
    uint64_t until = 0; /* lsn of the version at the start: newer rows are not asked for */
    for (int round = 0; round < 2; round++) {
        alm_version *version = alm_storage_version(storage, table_id);
        if (version == NULL)
            return ALM_OK;
        if (round == 0)
            until = version->lsn;
        alm_status status = ALM_OK;
        /* Round 1 is for a flush that failed: it left frozen lanes, with newer rows beside them. */
        const bool done = version->n_lanes == 0 || (round == 1 && version->flushed_lsn >= until);
        if (!done && version->n_frozen == 0) {
            alm_request request = {.prepare = alm_prepare_freeze, .arg = &table_id, .no_log = true};
            status = alm_commit(cx, storage, &request);
            alm_version_release(version);
            version = status == ALM_OK ? alm_storage_version(storage, table_id) : NULL;
        }
        if (status == ALM_OK && version != NULL && !done && version->n_frozen > 0)
            status = flush_frozen(cx, storage, version);
        alm_version_release(version);
        ALM_TRY(status);
        if (done)
            break;
    }
    return ALM_OK;
}
