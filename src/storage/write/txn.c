/*
 * txn.c - transactions: appending rows, and the commit of rows and parts of any number of tables.
 *
 * Rows are copied into chunks of the transaction as they come. The commit settles them per table (one
 * chunk, sorted, deduplicated) and encodes the log record on its own thread; the leader of the group
 * only appends chunks to versions and writes bytes. What the transaction sees before: txn_view.c.
 */
#include <stdlib.h>

#include "storage/dict/dict.h"
#include "storage/log/payload.h"
#include "storage/version/encode.h"
#include "storage/version/touched.h"
#include "storage/version/view.h"
#include "storage/write/backpressure.h"
#include "storage/write/bulk.h"
#include "storage/write/commit.h"
#include "storage/write/expire.h"
#include "storage/write/flush.h"
#include "storage/write/parts_commit.h"
#include "storage/write/txn.h"
#include "time/timestamp.h"

alm_status alm_txn_begin(alm_ctx *cx, alm_storage *storage, alm_txn **out)
{
    alm_txn *txn = NULL;
    ALM_TRY(alm_storage_writable(cx, storage));
    ALM_TRY(alm_heap_bytes(cx, sizeof *txn, "a transaction", &txn));
    txn->st = storage;
    txn->account = cx->lasting;
    alm_buf_init(&txn->payload, NULL);
    alm_buf_init(&txn->expired, NULL);
    *out = txn;
    return ALM_OK;
}

static void unlock(alm_storage *storage, alm_txn_table *txn_table)
{
    if (txn_table->shared)
        alm_tab_unlock(storage, txn_table->bare->tab, ALM_TAB_SHARE);
    if (txn_table->alone)
        alm_tab_unlock(storage, txn_table->bare->tab, ALM_TAB_ALONE);
    if (txn_table->maint)
        alm_tab_unlock(storage, txn_table->bare->tab, ALM_TAB_MAINT);
    txn_table->shared = txn_table->alone = txn_table->maint = false;
}

void alm_txn_table_free(alm_storage *storage, alm_txn_table *txn_table)
{
    unlock(storage, txn_table);
    if (txn_table->claims)
        atomic_fetch_sub(&txn_table->bare->tab->claims, 1);
    for (uint32_t i = 0; i < txn_table->n_chunks; i++)
        alm_chunk_release(txn_table->chunks[i]);
    for (uint32_t i = 0; i < txn_table->n_runs; i++)
        alm_chunk_release(txn_table->runs[i].chunk);
    for (uint32_t i = 0; i < txn_table->n_add; i++)
        alm_txn_part_release(txn_table->parts[i]);
    for (uint32_t i = 0; i < txn_table->n_gone; i++)
        alm_part_ref_release(txn_table->gone[i]);
    free((void *)txn_table->chunks);
    free(txn_table->rows);
    free((void *)txn_table->parts);
    free((void *)txn_table->add);
    free(txn_table->own);
    free((void *)txn_table->gone);
    free(txn_table->touch);
    alm_chunk_release(txn_table->settled);
    alm_version_release(txn_table->next);
    alm_interning_end(&txn_table->interning);
    alm_version_release(txn_table->bare);
    free(txn_table);
}

/* What was published is of the versions that have it from here on. Everything else stays charged as long as a snapshot of the session holds
 * it, which ends with the session at the latest. */
static void txn_free(alm_txn *txn, bool published)
{
    for (size_t i = 0; i < txn->n; i++) {
        if (published && txn->tables[i]->settled != NULL)
            alm_chunk_uncharge(txn->tables[i]->settled);
        alm_txn_table_free(txn->st, txn->tables[i]);
    }
    free((void *)txn->tables);
    alm_buf_deinit(&txn->payload);
    alm_buf_deinit(&txn->expired);
    free(txn);
}

void alm_txn_rollback(alm_txn *txn)
{
    if (txn == NULL)
        return;
    alm_count(&txn->st->counters.rollbacks, 1);
    txn_free(txn, false);
}

/* -------------------------------------------------------------------- appending */

static alm_status begin_table(alm_ctx *cx, const alm_txn *txn, const alm_table *table,
                              alm_txn_table *txn_table)
{
    alm_version *version = alm_version_retain(
        (alm_version *)(uintptr_t)table->handle); /* of the statement's snapshot */
    alm_status status = alm_interning_begin_newest(cx, txn->st, &version, &txn_table->interning);
    if (status == ALM_OK)
        status = alm_version_bare(cx, version, &txn_table->bare);
    alm_version_release(version);
    return status;
}

alm_status alm_txn_table_of(alm_ctx *cx, alm_txn *txn, const alm_table *table, alm_txn_table **out)
{
    size_t offset = 0;
    while (offset < txn->n && txn->tables[offset]->id < table->id)
        offset++;
    if (offset == txn->n || txn->tables[offset]->id != table->id) {
        if (txn->n == txn->cap) {
            const size_t cap = ALM_MAX((size_t)4, txn->cap * 2);
            alm_txn_table **bigger = realloc((void *)txn->tables, cap * sizeof *bigger);
            if (bigger == NULL)
                return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for a transaction");
            txn->tables = bigger;
            txn->cap = cap;
        }
        alm_txn_table *txn_table = NULL;
        ALM_TRY(alm_refuse_rows(cx, table));
        ALM_TRY(alm_heap_bytes(cx, sizeof *txn_table, "a transaction", &txn_table));
        const alm_status status = begin_table(cx, txn, table, txn_table);
        if (status != ALM_OK) {
            alm_interning_end(&txn_table->interning);
            free(txn_table);
            return status;
        }
        txn_table->id = table->id;
        txn_table->account = txn->account;
        memmove((void *)(txn->tables + offset + 1), (void *)(txn->tables + offset),
                (txn->n - offset) * sizeof *txn->tables);
        txn->tables[offset] = txn_table;
        txn->n++;
    }
    *out = txn->tables[offset];
    if ((*out)->bare->table.schema_version != table->schema_version)
        return alm_fail(cx, ALM_E_STALE, -1,
                        "the columns of table '%s' changed within the transaction", table->name);
    return ALM_OK;
}

/* A chunk with room for n more rows. */
static alm_status txn_room_for(alm_ctx *cx, alm_txn_table *txn_table, uint32_t n, alm_chunk **out,
                               uint32_t *at)
{
    if (txn_table->n_chunks > 0) {
        alm_chunk *last = txn_table->chunks[txn_table->n_chunks - 1];
        if (last->cap - txn_table->rows[txn_table->n_chunks - 1] >= n) {
            *out = last;
            *at = txn_table->rows[txn_table->n_chunks - 1];
            return ALM_OK;
        }
    }
    if (txn_table->n_chunks == txn_table->cap_chunks) {
        const uint32_t cap = ALM_MAX(4U, txn_table->cap_chunks * 2);
        alm_chunk **chunks = realloc((void *)txn_table->chunks, cap * sizeof *chunks);
        if (chunks != NULL)
            txn_table->chunks = chunks;
        uint32_t *rows = chunks == NULL ? NULL : realloc(txn_table->rows, cap * sizeof *rows);
        if (rows == NULL)
            return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for a transaction");
        txn_table->rows = rows;
        txn_table->cap_chunks = cap;
    }
    const uint32_t before =
        txn_table->n_chunks > 0 ? txn_table->chunks[txn_table->n_chunks - 1]->cap : 0;
    const uint32_t cap = ALM_MIN(ALM_MAX(n, before * 2), 65536U);
    alm_chunk *chunk = NULL;
    ALM_TRY(alm_chunk_new(cx, txn_table->bare->schema, ALM_MAX(cap, n), &chunk));
    txn_table->chunks[txn_table->n_chunks] = chunk;
    txn_table->rows[txn_table->n_chunks++] = 0;
    *out = chunk;
    *at = 0;
    return ALM_OK;
}

alm_status alm_times_storable(alm_ctx *cx, const int64_t *ts, uint32_t n, bool nanos)
{
    const int64_t least = nanos ? INT64_MIN + 1 : ALM_TS_MIN_US;
    const int64_t most = nanos ? INT64_MAX : ALM_TS_MAX_US;
    bool bad = false;
    for (uint32_t i = 0; i < n; i++)
        bad |= ts[i] < least || ts[i] > most;
    for (uint32_t i = 0; bad && i < n; i++)
        if (ts[i] < least || ts[i] > most)
            return alm_fail(cx, ALM_E_VALUE, -1, "%s", alm_designated_fault(ts[i], nanos));
    return ALM_OK;
}

/* Views of a dense or const vector, their long texts copied into the chunk. */
static alm_status txn_copy_text(alm_ctx *cx, alm_chunk *chunk, const alm_vec *vec, alm_view *out,
                                uint32_t n_rows)
{
    const alm_view *in = vec->data;
    size_t bytes = 0;
    for (uint32_t i = 0; i < n_rows; i++) {
        out[i] = in[vec->is_const ? 0 : i];
        if (!alm_view_is_null(&out[i]) && out[i].len > ALM_VIEW_INLINE)
            bytes += out[i].len;
    }
    if (bytes == 0)
        return ALM_OK;
    char *text = NULL;
    ALM_TRY(alm_chunk_text(cx, chunk, bytes, &text));
    for (uint32_t i = 0; i < n_rows; i++) {
        if (alm_view_is_null(&out[i]) || out[i].len <= ALM_VIEW_INLINE)
            continue;
        memcpy(text, alm_view_ptr(&out[i], vec->heap), out[i].len);
        out[i].off = (uintptr_t)text;
        text += out[i].len;
    }
    return ALM_OK;
}

static void txn_copy_fixed(const alm_vec *vec, char *out, uint32_t n_rows)
{
    if (!vec->is_const) {
        memcpy(out, vec->data, (size_t)n_rows * vec->width);
        return;
    }
    for (uint32_t i = 0; i < n_rows; i++)
        memcpy(out + (size_t)i * vec->width, vec->data, vec->width);
}

static alm_status txn_append_column(alm_ctx *cx, const alm_table *table, alm_chunk *chunk,
                                    uint32_t column, uint32_t place, const alm_vec *vec,
                                    uint32_t n_rows)
{
    const alm_column *col = &chunk->schema->cols[column];
    const uint32_t width = alm_type_width(col->type);
    char *out = (char *)chunk->cols[column] + (size_t)place * width;
    if (col->type.id == ALM_T_SYMBOL && alm_type_is_text(vec->type))
        return alm_symbols_encode(cx, chunk->schema->symbols[column], vec, n_rows,
                                  (uint32_t *)(void *)out);
    const bool text = alm_type_holds_views(col->type);
    const bool both_text = alm_type_is_text(vec->type) && alm_type_is_text(col->type);
    const bool same = (both_text || alm_type_eq(vec->type, col->type)) && vec->width == width;
    if (!same)
        return alm_fail(cx, ALM_E_TYPE, -1, "column '%s' of table '%s' is %s, the value is %s",
                        col->name, table->name, alm_type_name(col->type), alm_type_name(vec->type));
    if (text && col->length > 0)
        ALM_TRY(alm_text_length_check(cx, col, vec, n_rows));
    if (text)
        return txn_copy_text(cx, chunk, vec, (alm_view *)(void *)out, n_rows);
    txn_copy_fixed(vec, out, n_rows);
    return ALM_OK;
}

/* After rows came into a chunk that had so many bytes before. */
static alm_status count_bytes(alm_ctx *cx, alm_txn *txn, int64_t bytes)
{
    txn->bytes += bytes;
    if (txn->bytes <= txn->st->conf.txn_bytes_max)
        return ALM_OK;
    return alm_fail(cx, ALM_E_LIMIT, -1,
                    "the rows of a transaction take more than %lld bytes (transaction.memory.max)",
                    (long long)txn->st->conf.txn_bytes_max);
}

static alm_status append_dense(alm_ctx *cx, alm_txn *txn, alm_txn_table *txn_table,
                               const alm_table *table, alm_batch *batch, alm_arena *arena)
{
    alm_chunk *chunk = NULL;
    uint32_t place = 0;
    ALM_TRY(txn_room_for(cx, txn_table, batch->rows, &chunk, &place));
    const int64_t had = place == 0 ? 0 : chunk->bytes;
    for (uint32_t col = 0; col < batch->n_cols; col++) {
        alm_vec *vec = NULL;
        ALM_TRY(alm_batch_column(cx, arena, batch, col, &vec));
        ALM_TRY(txn_append_column(cx, table, chunk, col, place, vec, batch->rows));
    }
    if (table->ts_col >= 0)
        ALM_TRY(alm_times_storable(cx, (const int64_t *)chunk->cols[table->ts_col] + place,
                                   batch->rows,
                                   table->cols[table->ts_col].type.id == ALM_T_TIMESTAMP_NS));
    txn_table->rows[txn_table->n_chunks - 1] =
        place + batch->rows; /* counted only once all columns are there */
    ALM_TRY(alm_chunk_charge(cx, chunk, txn->account));
    return count_bytes(cx, txn, chunk->bytes - had);
}

alm_status alm_txn_append(alm_ctx *cx, alm_txn *txn, const alm_table *table, const alm_batch *rows)
{
    if (rows->rows == 0)
        return ALM_OK;
    if (rows->n_cols != table->n_cols)
        return alm_fail(cx, ALM_E_ARG, -1, "table '%s' has %u columns, the rows have %u",
                        table->name, table->n_cols, rows->n_cols);
    alm_txn_table *txn_table = NULL;
    ALM_TRY(alm_check(cx));
    ALM_TRY(alm_txn_table_of(cx, txn, table, &txn_table));
    alm_arena arena;
    alm_arena_init(&arena, cx->mem);
    alm_batch copy = *rows; /* making columns dense changes the batch: not the caller's */
    alm_status status = ALM_NEWN(cx, &arena, rows->n_cols, &copy.cols);
    if (status == ALM_OK) {
        memcpy(copy.cols, rows->cols, rows->n_cols * sizeof *copy.cols);
        status = append_dense(cx, txn, txn_table, table, &copy, &arena);
    }
    alm_arena_deinit(&arena);
    return status;
}

/* -------------------------------------------------------------------- committing */

/* Times of the rows; a gap of more than an hour (in microseconds) parts them. */
static alm_status touch_rows(alm_ctx *cx, alm_build *build, const alm_txn_table *txn_table,
                             alm_buf *ops)
{
    enum { RANGES = 16 };
    alm_version *version = txn_table->next;
    if (version->touched == NULL)
        return ALM_OK;
    alm_scan_range ranges[RANGES] = {{INT64_MIN, INT64_MAX}};
    uint32_t n = 1;
    if (version->table.ts_col >= 0) {
        const int64_t *ts = txn_table->settled->cols[txn_table->bare->table.ts_col];
        const uint64_t gap = UINT64_C(3600000000) * (alm_version_is_ns(version) ? 1000 : 1);
        ranges[0] = (alm_scan_range){ts[0], ts[0]};
        for (uint32_t i = 1; i < txn_table->n_settled; i++) {
            if ((uint64_t)ts[i] - (uint64_t)ts[i - 1] > gap && n < RANGES)
                ranges[n++].lo = ts[i];
            ranges[n - 1].hi = ts[i];
        }
    }
    return alm_version_touch(cx, build, version, ranges, n, ops);
}

static int txn_by_seq(const void *a, const void *b)
{
    const alm_part_ref *x = *(alm_part_ref *const *)a, *y = *(alm_part_ref *const *)b;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

/* Who reads the table's rows later finds those of this transaction behind all that are there, in the order in which
 * they were inserted: an UPDATE has put the parts it changed at the end of the list. */
static alm_status number_own_parts(alm_ctx *cx, alm_storage *storage,
                                   const alm_txn_table *txn_table)
{
    alm_part_ref **own = NULL;
    uint32_t count = 0;
    ALM_TRY(
        alm_heap_bytes(cx, (txn_table->n_add + 1u) * sizeof *own, "a transaction", (void *)&own));
    for (uint32_t i = 0; i < txn_table->n_add; i++)
        if (txn_table->own[i])
            own[count++] = txn_table->add[i];
    qsort((void *)own, count, sizeof *own, txn_by_seq);
    for (uint32_t i = 0; i < count; i++)
        own[i]->seq = atomic_fetch_add(&storage->next_seq, 1);
    free((void *)own);
    return ALM_OK;
}

static alm_status next_parts(alm_ctx *cx, alm_request *request, alm_build *build,
                             const alm_txn_table *txn_table, const alm_version *now,
                             alm_version **out)
{
    const alm_parts_change change = {.table_id = txn_table->id,
                                     .add = txn_table->add,
                                     .n_add = txn_table->n_add,
                                     .remove = txn_table->gone,
                                     .n_remove = txn_table->n_gone,
                                     .data = true,
                                     .touch = txn_table->touch,
                                     .n_touch = txn_table->n_touch};
    ALM_TRY(number_own_parts(cx, build->st, txn_table));
    ALM_TRY(alm_change_parts_of(cx, build, now, &change, 0, false, &request->buf, out));
    return alm_op_parts(cx, &request->buf, &change, 0);
}

/* Is the first of its rows older than some that the table has? */
static bool is_late(const alm_version *now, const alm_txn_table *txn_table)
{
    const int32_t ts_col = txn_table->bare->table.ts_col;
    if (ts_col < 0 || txn_table->n_settled == 0)
        return false;
    const int64_t first = ((const int64_t *)txn_table->settled->cols[ts_col])[0];
    bool late = now->parts->n > 0 && first < now->parts->max_ts;
    for (uint32_t i = 0; i < now->n_lanes && !late; i++)
        late = first < now->lanes[i].max_ts;
    return late;
}

/* txn_table->next: what the table becomes. */
static alm_status txn_next_version(alm_ctx *cx, alm_request *request, alm_build *build,
                                   alm_txn *txn, alm_txn_table *txn_table)
{
    const alm_version *now = alm_build_find(build, txn_table->id);
    alm_version *mid = NULL;
    if (now == NULL)
        return alm_fail(cx, ALM_E_CONFLICT, -1, "table was dropped meanwhile [table=%s]",
                        txn_table->bare->table.name);
    ALM_TRY(alm_change_accepts(cx, now, txn_table->bare));
    txn->is_late = txn->is_late || is_late(now, txn_table);
    if (alm_txn_has_parts(txn_table)) {
        const alm_status status = next_parts(cx, request, build, txn_table, now, &mid);
        if (status != ALM_OK || txn_table->n_settled == 0) {
            txn_table->next = mid;
            return status;
        }
        now = mid;
    }
    const alm_status outcome = alm_change_rows_of(
        cx, build, now, txn_table->settled, txn_table->n_settled, &request->buf, &txn_table->next);
    alm_version_release(mid);
    ALM_TRY(outcome);
    return touch_rows(cx, build, txn_table, &request->buf);
}

static alm_status prepare_all(alm_ctx *cx, alm_request *request, alm_build *build)
{
    alm_txn *txn = request->arg;
    txn->expired.len = 0; /* of an earlier try */
    txn->is_late = false;
    for (size_t i = 0; i < txn->n; i++) {
        alm_txn_table *txn_table = txn->tables[i];
        alm_version_release(txn_table->next); /* of an earlier try */
        txn_table->next = NULL;
        if (txn_table->n_settled == 0 && !alm_txn_has_parts(txn_table))
            continue;
        ALM_TRY(txn_next_version(cx, request, build, txn, txn_table));
        ALM_TRY(alm_build_own(cx, build, txn_table->id));
    }
    for (size_t i = 0; i < txn->n; i++) {
        const alm_version *next = txn->tables[i]->next;
        if (next != NULL && next->n_lanes - next->n_frozen > 1)
            alm_storage_untidy(build->st);
        if (next == NULL)
            continue;
        alm_build_put(build, txn->tables[i]->next);
        txn->tables[i]->next = NULL;
        alm_expire_with(build, &txn->expired, txn->tables[i]->id);
    }
    request->pieces[0] = (alm_wal_piece){request->buf.ptr, request->buf.len};
    request->pieces[1] = (alm_wal_piece){txn->payload.ptr, txn->payload.len};
    request->pieces[2] = (alm_wal_piece){txn->expired.ptr, txn->expired.len};
    request->n_pieces = 3;
    return ALM_OK;
}

/* All rows of a table as one sorted chunk. */
static alm_status settle_rows(alm_ctx *cx, alm_txn_table *txn_table)
{
    const uint32_t n = txn_table->n_runs + txn_table->n_chunks;
    alm_chunk **chunks = NULL;
    uint32_t *rows = NULL;
    if (txn_table->n_runs == 0)
        return alm_rows_settle(cx, &txn_table->bare->table, txn_table->chunks, txn_table->rows, n,
                               &txn_table->settled, &txn_table->n_settled);
    alm_status status = alm_heap_bytes(cx, n * sizeof *chunks, "a transaction", &chunks);
    if (status == ALM_OK)
        status = alm_heap_bytes(cx, n * sizeof *rows, "a transaction", &rows);
    for (uint32_t i = 0; i < n && status == ALM_OK; i++) {
        const bool run = i < txn_table->n_runs;
        chunks[i] = run ? txn_table->runs[i].chunk : txn_table->chunks[i - txn_table->n_runs];
        rows[i] = run ? txn_table->runs[i].rows : txn_table->rows[i - txn_table->n_runs];
    }
    if (status == ALM_OK)
        status = alm_rows_settle(cx, &txn_table->bare->table, chunks, rows, n, &txn_table->settled,
                                 &txn_table->n_settled);
    free((void *)chunks);
    free(rows);
    return status;
}

/* Rows of its own in parts come behind all rows of the head: those they meet must be in parts, too. */
static alm_status lock_parts(alm_ctx *cx, alm_storage *storage, alm_txn_table *txn_table)
{
    bool own = false;
    for (uint32_t i = 0; i < txn_table->n_add; i++)
        own |= txn_table->own[i];
    ALM_TRY(alm_tab_lock(cx, storage, txn_table->bare->tab, own ? ALM_TAB_ALONE : ALM_TAB_SHARE));
    txn_table->alone = own;
    txn_table->shared = !own;
    return own ? alm_head_flush(cx, storage, txn_table->id) : ALM_OK;
}

/* Locks in the order of table ids: first those against other changes of parts, then the gates. */
static alm_status lock_tables(alm_ctx *cx, alm_txn *txn)
{
    alm_storage *storage = txn->st;
    for (size_t i = 0; i < txn->n; i++)
        if (txn->tables[i]->n_settled > 0)
            ALM_TRY(alm_head_wait(cx, storage, txn->tables[i]->id));
    for (size_t i = 0; i < txn->n; i++) {
        alm_txn_table *txn_table = txn->tables[i];
        if (!alm_txn_has_parts(txn_table))
            continue;
        ALM_TRY(alm_tab_lock(cx, storage, txn_table->bare->tab, ALM_TAB_MAINT));
        txn_table->maint = true;
    }
    for (size_t i = 0; i < txn->n; i++) {
        alm_txn_table *txn_table = txn->tables[i];
        if (alm_txn_has_parts(txn_table)) {
            ALM_TRY(lock_parts(cx, storage, txn_table));
        } else if (txn_table->n_settled > 0) {
            ALM_TRY(alm_tab_lock(cx, storage, txn_table->bare->tab, ALM_TAB_SHARE));
            txn_table->shared = true;
        }
    }
    return ALM_OK;
}

/* Sorts and encodes what the transaction wrote. */
static alm_status txn_settle(alm_ctx *cx, alm_txn *txn, bool *any)
{
    for (size_t i = 0; i < txn->n; i++) {
        alm_txn_table *txn_table = txn->tables[i];
        *any |= alm_txn_has_parts(txn_table);
        ALM_TRY(alm_txn_make(cx, txn->st, txn_table));
        if (!alm_txn_has_rows(txn_table))
            continue;
        ALM_TRY(settle_rows(cx, txn_table));
        size_t mark;
        ALM_TRY(alm_op_begin(cx, &txn->payload, ALM_OP_ROWS, &mark));
        ALM_TRY(alm_put_rows(cx, &txn->payload, txn_table->id, txn_table->settled,
                             txn_table->n_settled));
        ALM_TRY(alm_op_end(cx, &txn->payload, mark));
        *any = true;
    }
    return ALM_OK;
}

/* A transaction over more tables with a TTL leaves the rest to the background thread. */
enum { TABLES_EXPIRE = 64 };

static uint32_t with_ttl(const alm_txn *txn, uint64_t *ids)
{
    uint32_t count = 0;
    for (size_t i = 0; i < txn->n && count < TABLES_EXPIRE; i++)
        if (txn->tables[i]->bare->table.ttl_hours != 0)
            ids[count++] = txn->tables[i]->id;
    return count;
}

/* Rows stored anew. What replaces parts has the rows that were there, too. */
static int64_t new_rows(const alm_txn *txn)
{
    int64_t rows = 0;
    for (size_t i = 0; i < txn->n; i++) {
        const alm_txn_table *txn_table = txn->tables[i];
        rows += txn_table->n_settled;
        for (uint32_t j = 0; j < txn_table->n_add; j++)
            rows += txn_table->own[j] ? txn_table->add[j]->rows : 0;
    }
    return rows;
}

static void txn_committed(alm_ctx *cx, alm_txn *txn, alm_status status)
{
    alm_storage *storage = txn->st;
    alm_count(&storage->counters.rows_committed, status == ALM_OK ? new_rows(txn) : 0);
    alm_count(&storage->counters.late_commits, status == ALM_OK && txn->is_late);
    alm_count(&storage->counters.rollbacks, status != ALM_OK);
    uint64_t expiring[TABLES_EXPIRE];
    const uint32_t n_expiring = status == ALM_OK ? with_ttl(txn, expiring) : 0;
    txn_free(txn, status == ALM_OK);
    for (uint32_t i = 0; i < n_expiring; i++)
        alm_table_expire_after(cx, storage, expiring[i]);
    alm_storage_nudge(storage);
}

/* The files of all tables at once, before anybody is locked out. */
static alm_status sync_parts(alm_ctx *cx, const alm_txn *txn)
{
    size_t count = 0;
    alm_part_ref **all = NULL;
    for (size_t i = 0; i < txn->n; i++)
        count += txn->tables[i]->n_add;
    if (count == 0)
        return ALM_OK;
    ALM_TRY(alm_heap_bytes(cx, count * sizeof *all, "a commit", (void *)&all));
    count = 0;
    for (size_t i = 0; i < txn->n; i++)
        for (uint32_t j = 0; j < txn->tables[i]->n_add; j++)
            all[count++] = txn->tables[i]->add[j];
    const alm_status status = alm_parts_sync(cx, txn->st, all, count);
    free((void *)all);
    return status;
}

alm_status alm_txn_commit(alm_ctx *cx, alm_txn *txn, uint64_t *lsn)
{
    bool any = false;
    alm_status status = txn_settle(cx, txn, &any);
    alm_request request = {.prepare = prepare_all, .arg = txn};
    if (status == ALM_OK)
        status = sync_parts(cx, txn);
    if (status == ALM_OK)
        status = lock_tables(cx, txn);
    if (status == ALM_OK && any)
        status = alm_commit(cx, txn->st, &request);
    if (status == ALM_OK && lsn != NULL)
        *lsn = request.lsn;
    txn_committed(cx, txn, status);
    return status;
}

/* --------------------------------------------------------- committing without waiting */

struct alm_txn_commit_run {
    alm_request rq;
    alm_ctx cx;
    alm_arena arena;
    void (*done)(void *arg);
    void *arg;
};

/* Few rows, sorted at once; nothing to wait for, and nothing that follows on the leader's thread. */
static bool may_start(const alm_txn *txn)
{
    enum { ROWS_MAX = 4096 };
    uint32_t rows = 0;
    if (txn->st->lead == NULL)
        return false;
    for (size_t i = 0; i < txn->n; i++) {
        const alm_txn_table *txn_table = txn->tables[i];
        if (alm_txn_has_parts(txn_table) || txn_table->n_runs > 0 || txn_table->n_chunks > 1 ||
            txn_table->bare->table.ttl_hours != 0 || alm_head_is_full(txn->st, txn_table->id))
            return false;
        rows += txn_table->n_chunks > 0 ? txn_table->rows[0] : 0;
    }
    return rows > 0 && rows <= ROWS_MAX;
}

static bool try_lock_tables(alm_txn *txn)
{
    for (size_t i = 0; i < txn->n; i++) {
        alm_txn_table *txn_table = txn->tables[i];
        txn_table->shared = alm_tab_trylock(txn->st, txn_table->bare->tab, ALM_TAB_SHARE);
        if (txn_table->shared)
            continue;
        while (i-- > 0)
            unlock(txn->st, txn->tables[i]);
        return false;
    }
    return true;
}

static void run_finished(alm_request *rq)
{
    alm_txn_commit_run *run = (alm_txn_commit_run *)((char *)rq - offsetof(alm_txn_commit_run, rq));
    alm_buf_deinit(&rq->buf);
    txn_committed(&run->cx, rq->arg, rq->status);
    run->done(run->arg); /* the owner may free it from here on */
}

static void run_free(alm_txn_commit_run *run)
{
    alm_arena_deinit(&run->arena);
    free(run);
}

alm_status alm_txn_commit_start(alm_ctx *cx, alm_txn *txn, void (*done)(void *arg), void *arg,
                                alm_txn_commit_run **out)
{
    bool any = false;
    alm_txn_commit_run *run = NULL;
    *out = NULL;
    if (!may_start(txn) || !try_lock_tables(txn))
        return ALM_OK;
    alm_status status = alm_heap_bytes(cx, sizeof *run, "a commit", &run);
    if (status == ALM_OK)
        status = txn_settle(cx, txn, &any);
    if (status != ALM_OK) {
        free(run);
        txn_committed(cx, txn, status);
        return status;
    }
    *run =
        (alm_txn_commit_run){.rq = {.prepare = prepare_all, .arg = txn, .finished = run_finished},
                             .cx = {.conf = cx->conf,
                                    .io = cx->io,
                                    .zones = cx->zones,
                                    .session = cx->session}, /* a client's, for the reserve */
                             .done = done,
                             .arg = arg};
    alm_arena_init(&run->arena, NULL);
    run->cx.arena = &run->arena;
    *out = run;
    alm_commit_start(&run->cx, txn->st, &run->rq);
    return ALM_OK;
}

alm_status alm_txn_commit_end(alm_ctx *cx, alm_txn_commit_run *run)
{
    const alm_status status = run->rq.status;
    if (status != ALM_OK)
        cx->err = run->cx.err;
    run_free(run);
    return status;
}
