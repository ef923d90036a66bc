/*
 * redo_rows.c - rows that recovery reads from the log, collected by table and put into order once.
 *
 * Method      The rows of a table are kept in the order of the log, whatever their times are. When an operation needs the
 *             head of the table, or the log ends, they are sorted by time (stable, so that rows of equal time keep the
 *             order of their arrival) and become one lane. A commit that puts late rows in order copies up to eight rows for each
 *             of them, and recovery would repeat that for every record. It copies each row once: from where it stands in the log,
 *             which stays mapped, to its place in the lane, whose chunks are filled by as many threads as there are processors.
 *             Rows of small records are copied together first, and so are all others where more of the log would be mapped than
 *             recover.c allows.
 * Memory      The rows that are collected twice (once as bytes of the log, which the system can take back), and 16 bytes for each
 *             while they are sorted. They are put into the head when that is BYTES_MAX, and more than the head of the table has:
 *             so each row is merged a logarithmic number of times.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "storage/recover/redo.h"
#include "storage/state.h"
#include "storage/version/change.h"
#include "storage/version/encode.h"

static const int64_t BYTES_MAX = INT64_C(512) << 20;
enum { SORT_BYTES = 16 }; /* of a row while it is sorted */

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
    alm_redo_rows bigger = *r;
    bigger.cap = ALM_MAX((size_t)64, r->cap * 2);
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
    t->cap = 0;
}

void alm_redo_rows_free(alm_redo_rows *r)
{
    for (size_t i = 0; i < r->cap; i++)
        clear(&r->tables[i]);
    free(r->tables);
    alm_rows_body_free(&r->body);
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

/* All rows in chunks that have their own memory, as they come. */
static alm_status own_lane(alm_ctx *cx, alm_redo_rows *r, const alm_version *v, alm_lane *rows)
{
    alm_lane own = {0};
    bool borrowed = false;
    alm_status e = ALM_OK;
    for (uint32_t i = 0; i < rows->n_chunks; i++)
        borrowed |= rows->chunks[i].chunk->borrowed;
    for (uint32_t i = 0; i < rows->n_chunks && borrowed && e == ALM_OK; i++)
        e = alm_lane_append(cx, v, &own, rows->chunks[i].chunk, 0, rows->chunks[i].rows);
    if (!borrowed)
        return ALM_OK;
    r->moved += own.rows;
    alm_lanes_clear(rows, 1);
    *rows = own;
    return e;
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
        e = own_lane(cx, r, v, rows);
        *out = *rows;
        *rows = (alm_lane){0};
    } else if (e == ALM_OK) {
        e = alm_lane_fill(cx, v, chunks, rows->n_chunks, order, kept, ALM_MAX(r->threads, 1U), out);
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

/* ---------------------------------------------------------------------- from a record */

static bool is_full(const alm_redo_table *t, const alm_version *v)
{
    return t->bytes >= ALM_MAX(BYTES_MAX, v->head_bytes) || t->rows.rows > INT32_MAX / 2;
}

alm_status alm_redo_rows_own(alm_ctx *cx, alm_build *b, alm_redo_rows *r)
{
    for (size_t i = 0; i < r->cap; i++) {
        alm_redo_table *t = &r->tables[i];
        if (t->rows.n_chunks == 0)
            continue;
        const alm_version *v = alm_build_find(b, t->table_id);
        ALM_ASSERT(v != NULL);
        if (is_full(t, v)) {
            ALM_TRY(settle_table(cx, b, r, t));
            continue;
        }
        ALM_TRY(own_lane(cx, r, v, &t->rows));
        t->cap = t->rows.n_chunks;
    }
    return ALM_OK;
}

/* Takes the chunk over. */
static alm_status push(alm_ctx *cx, alm_redo_table *t, alm_chunk *chunk, uint32_t rows)
{
    alm_lane *lane = &t->rows;
    if (lane->n_chunks == t->cap) {
        const uint32_t cap = ALM_MAX(t->cap * 2, 8U);
        alm_lane_chunk *chunks = realloc(lane->chunks, cap * sizeof *chunks);
        if (chunks == NULL) {
            alm_chunk_release(chunk);
            return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for the rows of the log");
        }
        lane->chunks = chunks;
        t->cap = cap;
    }
    lane->chunks[lane->n_chunks++] = (alm_lane_chunk){chunk, rows};
    lane->rows += rows;
    return ALM_OK;
}

/* *last: time of the row of the record before row `at`. */
static alm_status check_fit(alm_ctx *cx, const alm_build *b, const alm_version *v,
                            const alm_chunk *chunk, uint32_t at, uint32_t n, int64_t *last)
{
    const int32_t c = v->table.ts_col;
    const int64_t *ts = c < 0 ? NULL : (const int64_t *)chunk->cols[c] + at;
    bool fit = b->gaps || alm_rows_fit(chunk, at, n, c);
    if (ts != NULL && !b->gaps)
        fit = fit && ts[0] >= *last;
    *last = ts != NULL ? ts[n - 1] : *last;
    return fit ? ALM_OK
               : alm_redo_bad(cx, b->lsn, "rows out of order, or with a symbol that no record has");
}

/* Few rows cost less as a copy than as a chunk of their own. */
static bool is_small(const alm_version *v, uint32_t rows)
{
    enum { FACTOR = 8 };
    return (uint64_t)rows * v->schema->row_bytes <
           FACTOR * (sizeof(alm_chunk) + v->schema->n_cols * sizeof(void *));
}

static alm_status put_borrowed(alm_ctx *cx, const alm_build *b, alm_redo_rows *r, alm_redo_table *t,
                               const alm_version *v)
{
    alm_chunk *chunk = NULL;
    int64_t last = INT64_MIN;
    ALM_TRY(alm_rows_body_borrow(cx, &r->body, v->schema, &chunk));
    const alm_status e = check_fit(cx, b, v, chunk, 0, r->body.rows, &last);
    if (e == ALM_OK)
        return push(cx, t, chunk, r->body.rows);
    alm_chunk_release(chunk);
    return e;
}

/* A chunk of `rows` rows at most, behind those that are there. */
static alm_status push_empty(alm_ctx *cx, alm_redo_table *t, const alm_version *v, uint32_t rows)
{
    const alm_lane_chunk *last =
        t->rows.n_chunks > 0 ? &t->rows.chunks[t->rows.n_chunks - 1] : NULL;
    const uint32_t had = last == NULL || last->chunk->borrowed ? 0 : last->chunk->cap;
    alm_chunk *chunk = NULL;
    ALM_TRY(alm_chunk_new(cx, v->schema, alm_chunk_next_cap(v->schema, had, rows), &chunk));
    return push(cx, t, chunk, 0);
}

static bool has_room(const alm_redo_table *t, const alm_version *v)
{
    if (t->rows.n_chunks == 0)
        return false;
    const alm_lane_chunk *last = &t->rows.chunks[t->rows.n_chunks - 1];
    return last->rows < last->chunk->cap && last->chunk->schema == v->schema;
}

static alm_status put_copied(alm_ctx *cx, const alm_build *b, alm_redo_rows *r, alm_redo_table *t,
                             const alm_version *v)
{
    const uint32_t n = r->body.rows;
    int64_t ts = INT64_MIN;
    for (uint32_t from = 0; from < n;) {
        if (!has_room(t, v))
            ALM_TRY(push_empty(cx, t, v, n - from));
        alm_lane_chunk *last = &t->rows.chunks[t->rows.n_chunks - 1];
        const uint32_t piece = ALM_MIN(n - from, last->chunk->cap - last->rows);
        ALM_TRY(alm_rows_body_copy(cx, &r->body, from, piece, last->chunk, last->rows));
        ALM_TRY(check_fit(cx, b, v, last->chunk, last->rows, piece, &ts));
        last->rows += piece;
        t->rows.rows += piece;
        from += piece;
    }
    r->moved += n;
    return ALM_OK;
}

static int64_t bytes_of(const alm_rows_body *body, const alm_schema *schema)
{
    int64_t bytes = (int64_t)body->rows * (schema->row_bytes + (int64_t)SORT_BYTES);
    for (uint32_t c = 0; c < body->n_cols; c++)
        bytes += (int64_t)body->cols[c].heap_bytes;
    return bytes;
}

alm_status alm_redo_rows_put(alm_ctx *cx, alm_build *b, alm_redo_rows *r, const alm_version *v)
{
    ALM_TRY(room_for_one(cx, r));
    alm_redo_table *t = &r->tables[slot_of(r, v->table.id)];
    r->n += t->table_id == 0;
    t->table_id = v->table.id;
    ALM_ASSERT(b->lsn >= t->lsn);
    t->lsn = b->lsn;
    if (r->borrow && !is_small(v, r->body.rows) && alm_rows_body_is_aligned(&r->body))
        ALM_TRY(put_borrowed(cx, b, r, t, v));
    else
        ALM_TRY(put_copied(cx, b, r, t, v));
    t->bytes += bytes_of(&r->body, v->schema);
    return is_full(t, v) ? settle_table(cx, b, r, t) : ALM_OK;
}
