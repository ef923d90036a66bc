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

alm_status alm_prepare_freeze(alm_ctx *cx, alm_request *rq, alm_build *b)
{
    const uint64_t *table_id = rq->arg;
    const alm_version *v = alm_build_find(b, *table_id);
    if (v == NULL || v->n_lanes == 0 || v->n_frozen > 0)
        return ALM_OK;
    alm_version *next = NULL;
    ALM_TRY(alm_version_copy(cx, v, 0, &next));
    next->n_frozen = next->n_lanes;
    next->frozen_lsn = b->next->lsn; /* all rows in the lanes are of records up to here */
    alm_version_settle(next);
    const alm_status e = alm_build_own(cx, b, *table_id);
    if (e == ALM_OK)
        alm_build_put(b, next);
    else
        alm_version_release(next);
    return e;
}

/* First row of a lane chunk with a time >= bound. */
static uint32_t lower(const alm_version *v, const alm_lane_chunk *c, int64_t bound)
{
    return (uint32_t)alm_times_lower_bound(c->chunk->cols[v->table.ts_col], c->rows, bound);
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
static alm_status add_piece(flushing *f, const alm_chunk *chunk, uint32_t from, uint32_t to,
                            alm_arena *arena)
{
    const alm_schema *schema = f->v->schema;
    alm_vec *vecs = f->vecs + (size_t)f->n_chunks * schema->n_cols;
    for (uint32_t c = 0; c < schema->n_cols; c++) {
        const alm_type type = schema->cols[c].type;
        const int32_t pos = alm_schema_find(chunk->schema, schema->cols[c].id);
        if (pos < 0) {
            ALM_TRY(alm_vec_null(f->cx, arena, type, &vecs[c]));
            continue;
        }
        const size_t width = alm_type_width(type);
        vecs[c] = (alm_vec){.type = type,
                            .width = (uint8_t)width,
                            .data = (char *)chunk->cols[pos] + from * width,
                            .dict = schema->cols[c].dict};
    }
    f->chunks[f->n_chunks++] = (alm_part_chunk){.rows = to - from, .cols = vecs};
    return ALM_OK;
}

/* The pieces of [lo, hi), lane by lane: the order of insertion. */
static alm_status collect(flushing *f, int64_t lo, int64_t hi, alm_arena *arena)
{
    f->n_chunks = 0;
    for (uint32_t i = 0; i < f->v->n_frozen; i++) {
        const alm_lane *lane = &f->v->lanes[i];
        for (uint32_t j = 0; j < lane->n_chunks; j++) {
            const alm_lane_chunk *c = &lane->chunks[j];
            uint32_t from = 0, to = c->rows;
            if (f->v->table.ts_col >= 0 && lo != INT64_MIN)
                from = lower(f->v, c, lo);
            if (f->v->table.ts_col >= 0 && hi != INT64_MAX)
                to = lower(f->v, c, hi);
            if (from < to)
                ALM_TRY(add_piece(f, c->chunk, from, to, arena));
        }
    }
    return ALM_OK;
}

/* The oldest time >= bound in the frozen lanes; false: there is none. */
static bool next_time(const alm_version *v, int64_t bound, int64_t *out)
{
    bool any = false;
    for (uint32_t i = 0; i < v->n_frozen; i++) {
        for (uint32_t j = 0; j < v->lanes[i].n_chunks; j++) {
            const alm_lane_chunk *c = &v->lanes[i].chunks[j];
            const uint32_t at = lower(v, c, bound);
            if (at == c->rows)
                continue;
            const int64_t ts = ((const int64_t *)c->chunk->cols[v->table.ts_col])[at];
            *out = any ? ALM_MIN(*out, ts) : ts;
            any = true;
            break; /* later chunks of the lane are newer */
        }
    }
    return any;
}

static alm_status write_part(flushing *f, int64_t bucket)
{
    if (f->n_parts == f->cap_parts) {
        const uint32_t cap = ALM_MAX(8U, f->cap_parts * 2);
        alm_part_ref **bigger = realloc((void *)f->parts, cap * sizeof *bigger);
        if (bigger == NULL)
            return alm_fail(f->cx, ALM_E_MEMORY, -1, "no memory for a list of parts");
        f->parts = bigger;
        f->cap_parts = cap;
    }
    alm_part_pack *pack = NULL;
    ALM_TRY(alm_pack_next(f->cx, &f->pack, &pack));
    ALM_TRY(alm_rows_to_part(f->cx, f->st, f->v, f->chunks, f->n_chunks, bucket, pack,
                             &f->parts[f->n_parts]));
    f->n_parts++;
    return ALM_OK;
}

/* How many partitions the frozen lanes have, up to `most`. */
static size_t count_partitions(const alm_version *v, size_t most)
{
    const bool ns = alm_version_is_ns(v);
    size_t n = v->table.ts_col < 0;
    int64_t bound = INT64_MIN, ts = 0;
    while (v->table.ts_col >= 0 && n < most && bound < INT64_MAX && next_time(v, bound, &ts)) {
        bound = alm_partition_next(v->table.partition, ns, ts);
        n++;
    }
    return n;
}

static alm_status write_partitions(flushing *f, alm_arena *arena)
{
    const alm_table *t = &f->v->table;
    const bool ns = alm_version_is_ns(f->v);
    if (t->ts_col < 0) {
        ALM_TRY(collect(f, INT64_MIN, INT64_MAX, arena));
        return write_part(f, alm_partition_floor(ALM_PART_NONE, ns, 0));
    }
    int64_t bound = INT64_MIN, ts = 0;
    while (next_time(f->v, bound, &ts)) {
        const int64_t lo = alm_partition_floor(t->partition, ns, ts);
        const int64_t hi = alm_partition_next(t->partition, ns, ts);
        ALM_TRY(alm_check(f->cx));
        ALM_TRY(collect(f, lo, hi, arena));
        ALM_TRY(write_part(f, lo));
        alm_arena_reset(arena);
        if (hi == INT64_MAX)
            break;
        bound = hi;
    }
    return ALM_OK;
}

static void parts_free(alm_part_ref **parts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        alm_part_ref_release(parts[i]);
    free((void *)parts);
}

alm_status alm_lanes_to_parts(alm_ctx *cx, alm_storage *st, const alm_version *v,
                              alm_part_ref ***parts, uint32_t *n)
{
    flushing f = {.cx = cx, .st = st, .v = v};
    for (uint32_t i = 0; i < v->n_frozen; i++)
        f.max_chunks += v->lanes[i].n_chunks;
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    alm_status e = alm_heap_bytes(cx, f.max_chunks * sizeof *f.chunks, "a flush", &f.chunks);
    if (e == ALM_OK)
        e = alm_heap_bytes(cx, (size_t)f.max_chunks * v->schema->n_cols * sizeof *f.vecs, "a flush",
                           &f.vecs);
    alm_pack_init(&f.pack, st, v->table.id, count_partitions(v, (size_t)st->conf.shared_parts_min));
    if (e == ALM_OK)
        e = write_partitions(&f, &arena);
    if (e == ALM_OK)
        e = alm_pack_finish(cx, &f.pack);
    alm_pack_deinit(&f.pack);
    free(f.chunks);
    free(f.vecs);
    alm_arena_deinit(&arena);
    if (e != ALM_OK) {
        parts_free(f.parts, f.n_parts);
        return e;
    }
    *parts = f.parts;
    *n = f.n_parts;
    return ALM_OK;
}

/* Frozen lanes of a version to parts, in the catalogue. */
static alm_status flush_frozen(alm_ctx *cx, alm_storage *st, const alm_version *v)
{
    alm_part_ref **parts = NULL;
    uint32_t n = 0;
    ALM_TRY(alm_lanes_to_parts(cx, st, v, &parts, &n));
    const alm_parts_change change = {
        .table_id = v->table.id, .add = parts, .n_add = n, .flush = true};
    alm_status e = alm_parts_commit(cx, st, &change, NULL);
    if (e == ALM_E_CONFLICT) { /* dropped or truncated: the rows are gone */
        alm_error_clear(cx);
        e = ALM_OK;
    }
    parts_free(parts, n);
    return e;
}

alm_status alm_head_flush(alm_ctx *cx, alm_storage *st, uint64_t table_id)
{
    uint64_t until = 0; /* lsn of the version at the start: newer rows are not asked for */
    for (int round = 0; round < 2; round++) {
        alm_version *v = alm_storage_version(st, table_id);
        if (v == NULL)
            return ALM_OK;
        if (round == 0)
            until = v->lsn;
        alm_status e = ALM_OK;
        /* Round 1 is for a flush that failed: it left frozen lanes, with newer rows beside them. */
        const bool done = v->n_lanes == 0 || (round == 1 && v->flushed_lsn >= until);
        if (!done && v->n_frozen == 0) {
            alm_request rq = {.prepare = alm_prepare_freeze, .arg = &table_id, .no_log = true};
            e = alm_commit(cx, st, &rq);
            alm_version_release(v);
            v = e == ALM_OK ? alm_storage_version(st, table_id) : NULL;
        }
        if (e == ALM_OK && v != NULL && !done && v->n_frozen > 0)
            e = flush_frozen(cx, st, v);
        alm_version_release(v);
        ALM_TRY(e);
        if (done)
            break;
    }
    return ALM_OK;
}
