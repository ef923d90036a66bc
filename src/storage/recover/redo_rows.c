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

static size_t redo_rows_slot_of(const alm_redo_rows *rows, uint64_t table_id)
{
    size_t offset = (size_t)alm_hash_u64(table_id) & (rows->cap - 1);
    while (rows->tables[offset].table_id != 0 && rows->tables[offset].table_id != table_id)
        offset = (offset + 1) & (rows->cap - 1);
    return offset;
}

static alm_status redo_rows_room_for_one(alm_ctx *cx, alm_redo_rows *rows)
{
    if ((rows->n + 1) * 2 <= rows->cap)
        return ALM_OK;
    alm_redo_rows bigger = *rows;
    bigger.cap = ALM_MAX((size_t)64, rows->cap * 2);
    ALM_TRY(alm_heap_bytes(cx, bigger.cap * sizeof *bigger.tables, "recovery", &bigger.tables));
    for (size_t i = 0; i < rows->cap; i++)
        if (rows->tables[i].table_id != 0)
            bigger.tables[redo_rows_slot_of(&bigger, rows->tables[i].table_id)] = rows->tables[i];
    free(rows->tables);
    *rows = bigger;
    return ALM_OK;
}

static void clear(alm_redo_table *table)
{
    alm_lanes_clear(&table->rows, 1);
    table->bytes = 0;
    table->cap = 0;
}

void alm_redo_rows_free(alm_redo_rows *rows)
{
    for (size_t i = 0; i < rows->cap; i++)
        clear(&rows->tables[i]);
    free(rows->tables);
    alm_rows_body_free(&rows->body);
    *rows = (alm_redo_rows){0};
}

void alm_redo_rows_forget(alm_redo_rows *rows, uint64_t table_id)
{
    if (rows->cap > 0 && rows->tables[redo_rows_slot_of(rows, table_id)].table_id == table_id)
        clear(&rows->tables[redo_rows_slot_of(rows, table_id)]);
}

/* ---------------------------------------------------------------------- into the head */

static void redo_rows_set_times(const alm_version *version, alm_lane *lane)
{
    lane->min_ts = lane->max_ts = 0;
    if (version->table.ts_col < 0)
        return;
    const alm_lane_chunk *last = &lane->chunks[lane->n_chunks - 1];
    lane->min_ts = ((const int64_t *)lane->chunks[0].chunk->cols[version->table.ts_col])[0];
    lane->max_ts = ((const int64_t *)last->chunk->cols[version->table.ts_col])[last->rows - 1];
}

/* All rows in chunks that have their own memory, as they come. */
static alm_status own_lane(alm_ctx *cx, alm_redo_rows *redo_rows, const alm_version *version,
                           alm_lane *rows)
{
    alm_lane own = {0};
    bool borrowed = false;
    alm_status status = ALM_OK;
    for (uint32_t i = 0; i < rows->n_chunks; i++)
        borrowed |= rows->chunks[i].chunk->borrowed;
    for (uint32_t i = 0; i < rows->n_chunks && borrowed && status == ALM_OK; i++)
        status = alm_lane_append(cx, version, &own, rows->chunks[i].chunk, 0, rows->chunks[i].rows);
    if (!borrowed)
        return ALM_OK;
    redo_rows->moved += own.rows;
    alm_lanes_clear(rows, 1);
    *rows = own;
    return status;
}

/* The rows in order of time, without those that later ones of the same keys replace. Takes `rows` over. */
static alm_status sort_rows(alm_ctx *cx, alm_redo_rows *redo_rows, const alm_version *version,
                            alm_lane *rows, alm_lane *out)
{
    alm_chunk **chunks = NULL;
    uint32_t *counts = NULL;
    uint64_t *order = NULL;
    int64_t kept = 0;
    alm_status status =
        alm_heap_bytes(cx, rows->n_chunks * sizeof *chunks, "recovery", (void *)&chunks);
    if (status == ALM_OK)
        status = alm_heap_bytes(cx, rows->n_chunks * sizeof *counts, "recovery", &counts);
    for (uint32_t i = 0; i < rows->n_chunks && status == ALM_OK; i++) {
        chunks[i] = rows->chunks[i].chunk;
        counts[i] = rows->chunks[i].rows;
    }
    if (status == ALM_OK)
        status = alm_rows_order(cx, &version->table, chunks, counts, rows->n_chunks, &order, &kept);
    if (status == ALM_OK && order == NULL) { /* as they came */
        status = own_lane(cx, redo_rows, version, rows);
        *out = *rows;
        *rows = (alm_lane){0};
    } else if (status == ALM_OK) {
        status = alm_lane_fill(cx, version, chunks, rows->n_chunks, order, kept,
                               ALM_MAX(redo_rows->threads, 1U), out);
        redo_rows->moved += kept;
    }
    free((void *)chunks);
    free(counts);
    free(order);
    return status;
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

static alm_status put_lane(alm_ctx *cx, alm_build *build, const alm_version *version, uint64_t lsn,
                           alm_lane *lane)
{
    alm_version *next = NULL;
    alm_schema *schema = NULL;
    ALM_TRY(alm_change_dicts(cx, build->st, version, NULL, 0, NULL, &schema));
    alm_status status = alm_version_copy(cx, version, 1, &next);
    if (status != ALM_OK) {
        alm_schema_release(schema);
        return status;
    }
    status = add_lane(cx, next, lane);
    if (schema != NULL) {
        alm_schema_release(next->schema);
        next->schema = schema;
    }
    next->lsn = ALM_MAX(next->lsn, lsn);
    alm_version_settle(next);
    if (status == ALM_OK)
        status = alm_build_own(cx, build, version->table.id);
    if (status == ALM_OK)
        alm_build_put(build, next);
    else
        alm_version_release(next);
    return status;
}

static alm_status settle_table(alm_ctx *cx, alm_build *build, alm_redo_rows *rows,
                               alm_redo_table *table)
{
    const alm_version *version = alm_build_find(build, table->table_id);
    alm_lane lane = {0};
    if (table->rows.n_chunks == 0)
        return ALM_OK;
    ALM_ASSERT(version != NULL);
    alm_status status = sort_rows(cx, rows, version, &table->rows, &lane);
    clear(table);
    if (status == ALM_OK) {
        redo_rows_set_times(version, &lane);
        status = put_lane(cx, build, version, table->lsn, &lane);
    }
    alm_lanes_clear(&lane, 1);
    return status;
}

alm_status alm_redo_rows_settle(alm_ctx *cx, alm_build *build, alm_redo_rows *rows,
                                uint64_t table_id)
{
    if (rows->cap == 0 || rows->tables[redo_rows_slot_of(rows, table_id)].table_id != table_id)
        return ALM_OK;
    return settle_table(cx, build, rows, &rows->tables[redo_rows_slot_of(rows, table_id)]);
}

alm_status alm_redo_rows_settle_all(alm_ctx *cx, alm_build *build, alm_redo_rows *rows)
{
    for (size_t i = 0; i < rows->cap; i++)
        ALM_TRY(settle_table(cx, build, rows, &rows->tables[i]));
    return ALM_OK;
}

/* ---------------------------------------------------------------------- from a record */

static bool redo_rows_is_full(const alm_redo_table *table, const alm_version *version)
{
    return table->bytes >= ALM_MAX(BYTES_MAX, version->head_bytes) ||
           table->rows.rows > INT32_MAX / 2;
}

alm_status alm_redo_rows_own(alm_ctx *cx, alm_build *build, alm_redo_rows *rows)
{
    for (size_t i = 0; i < rows->cap; i++) {
        alm_redo_table *table = &rows->tables[i];
        if (table->rows.n_chunks == 0)
            continue;
        const alm_version *version = alm_build_find(build, table->table_id);
        ALM_ASSERT(version != NULL);
        if (redo_rows_is_full(table, version)) {
            ALM_TRY(settle_table(cx, build, rows, table));
            continue;
        }
        ALM_TRY(own_lane(cx, rows, version, &table->rows));
        table->cap = table->rows.n_chunks;
    }
    return ALM_OK;
}

/* Takes the chunk over. */
static alm_status redo_rows_push(alm_ctx *cx, alm_redo_table *table, alm_chunk *chunk,
                                 uint32_t rows)
{
    alm_lane *lane = &table->rows;
    if (lane->n_chunks == table->cap) {
        const uint32_t cap = ALM_MAX(table->cap * 2, 8U);
        alm_lane_chunk *chunks = realloc(lane->chunks, cap * sizeof *chunks);
        if (chunks == NULL) {
            alm_chunk_release(chunk);
            return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for the rows of the log");
        }
        lane->chunks = chunks;
        table->cap = cap;
    }
    lane->chunks[lane->n_chunks++] = (alm_lane_chunk){chunk, rows};
    lane->rows += rows;
    return ALM_OK;
}

/* *last: time of the row of the record before row `place`. */
static alm_status check_fit(alm_ctx *cx, const alm_build *build, const alm_version *version,
                            const alm_chunk *chunk, uint32_t place, uint32_t n, int64_t *last)
{
    const int32_t col = version->table.ts_col;
    const int64_t *ts = col < 0 ? NULL : (const int64_t *)chunk->cols[col] + place;
    bool fit = build->gaps || alm_rows_fit(chunk, place, n, col);
    if (ts != NULL && !build->gaps)
        fit = fit && ts[0] >= *last;
    *last = ts != NULL ? ts[n - 1] : *last;
    return fit ? ALM_OK
               : alm_redo_bad(cx, build->lsn,
                              "rows out of order, or with a symbol that no record has");
}

/* Few rows cost less as a copy than as a chunk of their own. */
static bool redo_rows_is_small(const alm_version *version, uint32_t rows)
{
    enum { FACTOR = 8 };
    return (uint64_t)rows * version->schema->row_bytes <
           FACTOR * (sizeof(alm_chunk) + version->schema->n_cols * sizeof(void *));
}

static alm_status put_borrowed(alm_ctx *cx, const alm_build *build, alm_redo_rows *rows,
                               alm_redo_table *table, const alm_version *version)
{
    alm_chunk *chunk = NULL;
    int64_t last = INT64_MIN;
    ALM_TRY(alm_rows_body_borrow(cx, &rows->body, version->schema, &chunk));
    const alm_status status = check_fit(cx, build, version, chunk, 0, rows->body.rows, &last);
    if (status == ALM_OK)
        return redo_rows_push(cx, table, chunk, rows->body.rows);
    alm_chunk_release(chunk);
    return status;
}

/* A chunk of `rows` rows at most, behind those that are there. */
static alm_status push_empty(alm_ctx *cx, alm_redo_table *table, const alm_version *version,
                             uint32_t rows)
{
    const alm_lane_chunk *last =
        table->rows.n_chunks > 0 ? &table->rows.chunks[table->rows.n_chunks - 1] : NULL;
    const uint32_t had = last == NULL || last->chunk->borrowed ? 0 : last->chunk->cap;
    alm_chunk *chunk = NULL;
    ALM_TRY(
        alm_chunk_new(cx, version->schema, alm_chunk_next_cap(version->schema, had, rows), &chunk));
    return redo_rows_push(cx, table, chunk, 0);
}

static bool redo_rows_has_room(const alm_redo_table *table, const alm_version *version)
{
    if (table->rows.n_chunks == 0)
        return false;
    const alm_lane_chunk *last = &table->rows.chunks[table->rows.n_chunks - 1];
    return last->rows < last->chunk->cap && last->chunk->schema == version->schema;
}

static alm_status put_copied(alm_ctx *cx, const alm_build *build, alm_redo_rows *rows,
                             alm_redo_table *table, const alm_version *version)
{
    const uint32_t n_rows = rows->body.rows;
    int64_t ts = INT64_MIN;
    for (uint32_t from = 0; from < n_rows;) {
        if (!redo_rows_has_room(table, version))
            ALM_TRY(push_empty(cx, table, version, n_rows - from));
        alm_lane_chunk *last = &table->rows.chunks[table->rows.n_chunks - 1];
        const uint32_t piece = ALM_MIN(n_rows - from, last->chunk->cap - last->rows);
        ALM_TRY(alm_rows_body_copy(cx, &rows->body, from, piece, last->chunk, last->rows));
        ALM_TRY(check_fit(cx, build, version, last->chunk, last->rows, piece, &ts));
        last->rows += piece;
        table->rows.rows += piece;
        from += piece;
    }
    rows->moved += n_rows;
    return ALM_OK;
}

static int64_t redo_rows_bytes_of(const alm_rows_body *body, const alm_schema *schema)
{
    int64_t bytes = (int64_t)body->rows * (schema->row_bytes + (int64_t)SORT_BYTES);
    for (uint32_t col = 0; col < body->n_cols; col++)
        bytes += (int64_t)body->cols[col].heap_bytes;
    return bytes;
}

alm_status alm_redo_rows_put(alm_ctx *cx, alm_build *build, alm_redo_rows *rows,
                             const alm_version *version)
{
    ALM_TRY(redo_rows_room_for_one(cx, rows));
    alm_redo_table *table = &rows->tables[redo_rows_slot_of(rows, version->table.id)];
    rows->n += table->table_id == 0;
    table->table_id = version->table.id;
    ALM_ASSERT(build->lsn >= table->lsn);
    table->lsn = build->lsn;
    if (rows->borrow && !redo_rows_is_small(version, rows->body.rows) &&
        alm_rows_body_is_aligned(&rows->body))
        ALM_TRY(put_borrowed(cx, build, rows, table, version));
    else
        ALM_TRY(put_copied(cx, build, rows, table, version));
    table->bytes += redo_rows_bytes_of(&rows->body, version->schema);
    return redo_rows_is_full(table, version) ? settle_table(cx, build, rows, table) : ALM_OK;
}
