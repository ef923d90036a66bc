/*
 * redo_rows.c - rows that recovery reads from the log, collected by table and put into order once.
 *
 * Method      The rows of a table are kept in the order of the log, whatever their times are. When an operation needs the
 *             head of the table, or the log ends, they are sorted by time (stable, so that rows of equal time keep the
 *             order of their arrival) and become one lane. A commit that puts late rows in order copies up to eight rows for each
 *             of them, and recovery would repeat that for every record; so it copies each row twice.
 * Memory      Twice the rows that are collected, and 32 bytes for each while they are sorted. They are put into the head
 *             when they are BYTES_MAX, and more than the head of the table has: so each row is merged a logarithmic number of
 *             times.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "storage/change.h"
#include "storage/state.h"

static const int64_t BYTES_MAX = INT64_C(256) << 20;

static size_t slot_of(const alm_redo_rows *r, uint64_t table_id)
{
    size_t at = (size_t)alm_hash_u64(table_id) & (r->cap - 1);
    while (r->tables[at].table_id != 0 && r->tables[at].table_id != table_id)
        at = (at + 1) & (r->cap - 1);
    return at;
}

static alm_status room_for_one(alm_ctx *cx, alm_redo_rows *r)
{
    if ((r->n + 1) * 2 <= r->cap)
        return ALM_OK;
    alm_redo_rows bigger = {.cap = ALM_MAX((size_t)64, r->cap * 2), .n = r->n, .moved = r->moved};
    ALM_TRY(alm_heap_bytes(cx, bigger.cap * sizeof *bigger.tables, "recovery", &bigger.tables));
    for (size_t i = 0; i < r->cap; i++)
        if (r->tables[i].table_id != 0)
            bigger.tables[slot_of(&bigger, r->tables[i].table_id)] = r->tables[i];
    free(r->tables);
    *r = bigger;
    return ALM_OK;
}

static void clear(alm_redo_table *t)
{
    alm_lanes_clear(&t->rows, 1);
    t->bytes = 0;
}

void alm_redo_rows_free(alm_redo_rows *r)
{
    for (size_t i = 0; i < r->cap; i++)
        clear(&r->tables[i]);
    free(r->tables);
    *r = (alm_redo_rows){0};
}

void alm_redo_rows_forget(alm_redo_rows *r, uint64_t table_id)
{
    if (r->cap > 0 && r->tables[slot_of(r, table_id)].table_id == table_id)
        clear(&r->tables[slot_of(r, table_id)]);
}

/* ---------------------------------------------------------------------- into the head */

static void set_times(const alm_version *v, alm_lane *lane)
{
    lane->min_ts = lane->max_ts = 0;
    if (v->table.ts_col < 0)
        return;
    const alm_lane_chunk *last = &lane->chunks[lane->n_chunks - 1];
    lane->min_ts = ((const int64_t *)lane->chunks[0].chunk->cols[v->table.ts_col])[0];
    lane->max_ts = ((const int64_t *)last->chunk->cols[v->table.ts_col])[last->rows - 1];
}

/* The rows in order of time, without those that later ones of the same keys replace. Takes `rows` over. */
static alm_status sort_rows(alm_ctx *cx, alm_redo_rows *r, const alm_version *v, alm_lane *rows,
                            alm_lane *out)
{
    alm_chunk **chunks = NULL;
    uint32_t *counts = NULL;
    uint64_t *order = NULL;
    int64_t kept = 0;
    alm_status e = alm_heap_bytes(cx, rows->n_chunks * sizeof *chunks, "recovery", (void *)&chunks);
    if (e == ALM_OK)
        e = alm_heap_bytes(cx, rows->n_chunks * sizeof *counts, "recovery", &counts);
    for (uint32_t i = 0; i < rows->n_chunks && e == ALM_OK; i++) {
        chunks[i] = rows->chunks[i].chunk;
        counts[i] = rows->chunks[i].rows;
    }
    if (e == ALM_OK)
        e = alm_rows_order(cx, &v->table, chunks, counts, rows->n_chunks, &order, &kept);
    if (e == ALM_OK && order == NULL) { /* as they came */
        *out = *rows;
        *rows = (alm_lane){0};
    } else if (e == ALM_OK) {
        e = alm_lane_fill(cx, v, chunks, rows->n_chunks, order, kept, out);
        r->moved += kept;
    }
    free((void *)chunks);
    free(counts);
    free(order);
    return e;
}

/* Without times there is one lane: rows come behind those that are there. */
static alm_status add_lane(alm_ctx *cx, alm_version *next, alm_lane *lane)
{
    if (next->table.ts_col >= 0 || next->n_lanes == next->n_frozen) {
        next->lanes[next->n_lanes++] = *lane;
        *lane = (alm_lane){0};
        return alm_lanes_settle(cx, next);
    }
    for (uint32_t i = 0; i < lane->n_chunks; i++)
        ALM_TRY(alm_lane_append(cx, next, &next->lanes[next->n_lanes - 1], lane->chunks[i].chunk, 0,
                                lane->chunks[i].rows));
    return ALM_OK;
}

static alm_status put_lane(alm_ctx *cx, alm_build *b, const alm_version *v, uint64_t lsn,
                           alm_lane *lane)
{
    alm_version *next = NULL;
    alm_schema *schema = NULL;
    ALM_TRY(alm_change_dicts(cx, b->st, v, NULL, 0, NULL, &schema));
    alm_status e = alm_version_copy(cx, v, 1, &next);
    if (e != ALM_OK) {
        alm_schema_release(schema);
        return e;
    }
    e = add_lane(cx, next, lane);
    if (schema != NULL) {
        alm_schema_release(next->schema);
        next->schema = schema;
    }
    next->lsn = ALM_MAX(next->lsn, lsn);
    alm_version_settle(next);
    if (e == ALM_OK)
        e = alm_build_own(cx, b, v->table.id);
    if (e == ALM_OK)
        alm_build_put(b, next);
    else
        alm_version_release(next);
    return e;
}

static alm_status settle_table(alm_ctx *cx, alm_build *b, alm_redo_rows *r, alm_redo_table *t)
{
    const alm_version *v = alm_build_find(b, t->table_id);
    alm_lane lane = {0};
    if (t->rows.n_chunks == 0)
        return ALM_OK;
    ALM_ASSERT(v != NULL);
    alm_status e = sort_rows(cx, r, v, &t->rows, &lane);
    clear(t);
    if (e == ALM_OK) {
        set_times(v, &lane);
        e = put_lane(cx, b, v, t->lsn, &lane);
    }
    alm_lanes_clear(&lane, 1);
    return e;
}

alm_status alm_redo_rows_settle(alm_ctx *cx, alm_build *b, alm_redo_rows *r, uint64_t table_id)
{
    if (r->cap == 0 || r->tables[slot_of(r, table_id)].table_id != table_id)
        return ALM_OK;
    return settle_table(cx, b, r, &r->tables[slot_of(r, table_id)]);
}

alm_status alm_redo_rows_settle_all(alm_ctx *cx, alm_build *b, alm_redo_rows *r)
{
    for (size_t i = 0; i < r->cap; i++)
        ALM_TRY(settle_table(cx, b, r, &r->tables[i]));
    return ALM_OK;
}

alm_status alm_redo_rows_put(alm_ctx *cx, alm_build *b, alm_redo_rows *r, const alm_version *v,
                             alm_chunk *rows, uint32_t n)
{
    ALM_TRY(room_for_one(cx, r));
    alm_redo_table *t = &r->tables[slot_of(r, v->table.id)];
    r->n += t->table_id == 0;
    t->table_id = v->table.id;
    ALM_ASSERT(b->lsn >= t->lsn);
    t->lsn = b->lsn;
    const uint32_t before = t->rows.n_chunks;
    ALM_TRY(alm_lane_append(cx, v, &t->rows, rows, 0, n));
    r->moved += n;
    for (uint32_t i = before; i < t->rows.n_chunks; i++)
        t->bytes += t->rows.chunks[i].chunk->bytes;
    const bool many = t->bytes >= ALM_MAX(BYTES_MAX, v->head_bytes) || t->rows.rows > INT32_MAX / 2;
    return many ? settle_table(cx, b, r, t) : ALM_OK;
}
