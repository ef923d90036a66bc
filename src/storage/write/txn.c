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

alm_status alm_txn_begin(alm_ctx *cx, alm_storage *st, alm_txn **out)
{
    alm_txn *txn = NULL;
    ALM_TRY(alm_storage_writable(cx, st));
    ALM_TRY(alm_heap_bytes(cx, sizeof *txn, "a transaction", &txn));
    txn->st = st;
    txn->account = cx->lasting;
    alm_buf_init(&txn->payload, NULL);
    alm_buf_init(&txn->expired, NULL);
    *out = txn;
    return ALM_OK;
}

static void unlock(alm_storage *st, alm_txn_table *t)
{
    if (t->shared)
        alm_tab_unlock(st, t->bare->tab, ALM_TAB_SHARE);
    if (t->alone)
        alm_tab_unlock(st, t->bare->tab, ALM_TAB_ALONE);
    if (t->maint)
        alm_tab_unlock(st, t->bare->tab, ALM_TAB_MAINT);
    t->shared = t->alone = t->maint = false;
}

void alm_txn_table_free(alm_storage *st, alm_txn_table *t)
{
    unlock(st, t);
    if (t->claims)
        atomic_fetch_sub(&t->bare->tab->claims, 1);
    for (uint32_t i = 0; i < t->n_chunks; i++)
        alm_chunk_release(t->chunks[i]);
    for (uint32_t i = 0; i < t->n_runs; i++)
        alm_chunk_release(t->runs[i].chunk);
    for (uint32_t i = 0; i < t->n_add; i++)
        alm_txn_part_release(t->parts[i]);
    for (uint32_t i = 0; i < t->n_gone; i++)
        alm_part_ref_release(t->gone[i]);
    free((void *)t->chunks);
    free(t->rows);
    free((void *)t->parts);
    free((void *)t->add);
    free(t->own);
    free((void *)t->gone);
    free(t->touch);
    alm_chunk_release(t->settled);
    alm_version_release(t->next);
    alm_interning_end(&t->interning);
    alm_version_release(t->bare);
    free(t);
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
                              alm_txn_table *t)
{
    alm_version *v = alm_version_retain(
        (alm_version *)(uintptr_t)table->handle); /* of the statement's snapshot */
    alm_status e = alm_interning_begin_newest(cx, txn->st, &v, &t->interning);
    if (e == ALM_OK)
        e = alm_version_bare(cx, v, &t->bare);
    alm_version_release(v);
    return e;
}

alm_status alm_txn_table_of(alm_ctx *cx, alm_txn *txn, const alm_table *table, alm_txn_table **out)
{
    size_t at = 0;
    while (at < txn->n && txn->tables[at]->id < table->id)
        at++;
    if (at == txn->n || txn->tables[at]->id != table->id) {
        if (txn->n == txn->cap) {
            const size_t cap = ALM_MAX((size_t)4, txn->cap * 2);
            alm_txn_table **bigger = realloc((void *)txn->tables, cap * sizeof *bigger);
            if (bigger == NULL)
                return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for a transaction");
            txn->tables = bigger;
            txn->cap = cap;
        }
        alm_txn_table *t = NULL;
        ALM_TRY(alm_refuse_rows(cx, table));
        ALM_TRY(alm_heap_bytes(cx, sizeof *t, "a transaction", &t));
        const alm_status e = begin_table(cx, txn, table, t);
        if (e != ALM_OK) {
            alm_interning_end(&t->interning);
            free(t);
            return e;
        }
        t->id = table->id;
        t->account = txn->account;
        memmove((void *)(txn->tables + at + 1), (void *)(txn->tables + at),
                (txn->n - at) * sizeof *txn->tables);
        txn->tables[at] = t;
        txn->n++;
    }
    *out = txn->tables[at];
    if ((*out)->bare->table.schema_version != table->schema_version)
        return alm_fail(cx, ALM_E_STALE, -1,
                        "the columns of table '%s' changed within the transaction", table->name);
    return ALM_OK;
}

/* A chunk with room for n more rows. */
static alm_status room_for(alm_ctx *cx, alm_txn_table *t, uint32_t n, alm_chunk **out, uint32_t *at)
{
    if (t->n_chunks > 0) {
        alm_chunk *last = t->chunks[t->n_chunks - 1];
        if (last->cap - t->rows[t->n_chunks - 1] >= n) {
            *out = last;
            *at = t->rows[t->n_chunks - 1];
            return ALM_OK;
        }
    }
    if (t->n_chunks == t->cap_chunks) {
        const uint32_t cap = ALM_MAX(4U, t->cap_chunks * 2);
        alm_chunk **chunks = realloc((void *)t->chunks, cap * sizeof *chunks);
        if (chunks != NULL)
            t->chunks = chunks;
        uint32_t *rows = chunks == NULL ? NULL : realloc(t->rows, cap * sizeof *rows);
        if (rows == NULL)
            return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for a transaction");
        t->rows = rows;
        t->cap_chunks = cap;
    }
    const uint32_t before = t->n_chunks > 0 ? t->chunks[t->n_chunks - 1]->cap : 0;
    const uint32_t cap = ALM_MIN(ALM_MAX(n, before * 2), 65536U);
    alm_chunk *chunk = NULL;
    ALM_TRY(alm_chunk_new(cx, t->bare->schema, ALM_MAX(cap, n), &chunk));
    t->chunks[t->n_chunks] = chunk;
    t->rows[t->n_chunks++] = 0;
    *out = chunk;
    *at = 0;
    return ALM_OK;
}

alm_status alm_times_storable(alm_ctx *cx, const int64_t *ts, uint32_t n, bool ns)
{
    const int64_t least = ns ? INT64_MIN + 1 : ALM_TS_MIN_US;
    const int64_t most = ns ? INT64_MAX : ALM_TS_MAX_US;
    bool bad = false;
    for (uint32_t i = 0; i < n; i++)
        bad |= ts[i] < least || ts[i] > most;
    for (uint32_t i = 0; bad && i < n; i++)
        if (ts[i] < least || ts[i] > most)
            return alm_fail(cx, ALM_E_VALUE, -1, "%s", alm_designated_fault(ts[i], ns));
    return ALM_OK;
}

/* Views of a dense or const vector, their long texts copied into the chunk. */
static alm_status copy_text(alm_ctx *cx, alm_chunk *chunk, const alm_vec *v, alm_view *out,
                            uint32_t n)
{
    const alm_view *in = v->data;
    size_t bytes = 0;
    for (uint32_t i = 0; i < n; i++) {
        out[i] = in[v->is_const ? 0 : i];
        if (!alm_view_is_null(&out[i]) && out[i].len > ALM_VIEW_INLINE)
            bytes += out[i].len;
    }
    if (bytes == 0)
        return ALM_OK;
    char *text = NULL;
    ALM_TRY(alm_chunk_text(cx, chunk, bytes, &text));
    for (uint32_t i = 0; i < n; i++) {
        if (alm_view_is_null(&out[i]) || out[i].len <= ALM_VIEW_INLINE)
            continue;
        memcpy(text, alm_view_ptr(&out[i], v->heap), out[i].len);
        out[i].off = (uintptr_t)text;
        text += out[i].len;
    }
    return ALM_OK;
}

static void copy_fixed(const alm_vec *v, char *out, uint32_t n)
{
    if (!v->is_const) {
        memcpy(out, v->data, (size_t)n * v->width);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        memcpy(out + (size_t)i * v->width, v->data, v->width);
}

static alm_status append_column(alm_ctx *cx, const alm_table *table, alm_chunk *chunk, uint32_t c,
                                uint32_t at, const alm_vec *v, uint32_t n)
{
    const alm_column *col = &chunk->schema->cols[c];
    const uint32_t width = alm_type_width(col->type);
    char *out = (char *)chunk->cols[c] + (size_t)at * width;
    if (col->type.id == ALM_T_SYMBOL && alm_type_is_text(v->type))
        return alm_symbols_encode(cx, chunk->schema->symbols[c], v, n, (uint32_t *)(void *)out);
    const bool text = alm_type_holds_views(col->type);
    const bool both_text = alm_type_is_text(v->type) && alm_type_is_text(col->type);
    const bool same = (both_text || alm_type_eq(v->type, col->type)) && v->width == width;
    if (!same)
        return alm_fail(cx, ALM_E_TYPE, -1, "column '%s' of table '%s' is %s, the value is %s",
                        col->name, table->name, alm_type_name(col->type), alm_type_name(v->type));
    if (text && col->length > 0)
        ALM_TRY(alm_text_length_check(cx, col, v, n));
    if (text)
        return copy_text(cx, chunk, v, (alm_view *)(void *)out, n);
    copy_fixed(v, out, n);
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

static alm_status append_dense(alm_ctx *cx, alm_txn *txn, alm_txn_table *t, const alm_table *table,
                               alm_batch *batch, alm_arena *arena)
{
    alm_chunk *chunk = NULL;
    uint32_t at = 0;
    ALM_TRY(room_for(cx, t, batch->rows, &chunk, &at));
    const int64_t had = at == 0 ? 0 : chunk->bytes;
    for (uint32_t c = 0; c < batch->n_cols; c++) {
        alm_vec *v = NULL;
        ALM_TRY(alm_batch_column(cx, arena, batch, c, &v));
        ALM_TRY(append_column(cx, table, chunk, c, at, v, batch->rows));
    }
    if (table->ts_col >= 0)
        ALM_TRY(alm_times_storable(cx, (const int64_t *)chunk->cols[table->ts_col] + at,
                                   batch->rows,
                                   table->cols[table->ts_col].type.id == ALM_T_TIMESTAMP_NS));
    t->rows[t->n_chunks - 1] = at + batch->rows; /* counted only once all columns are there */
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
    alm_txn_table *t = NULL;
    ALM_TRY(alm_check(cx));
    ALM_TRY(alm_txn_table_of(cx, txn, table, &t));
    alm_arena arena;
    alm_arena_init(&arena, cx->mem);
    alm_batch copy = *rows; /* making columns dense changes the batch: not the caller's */
    alm_status e = ALM_NEWN(cx, &arena, rows->n_cols, &copy.cols);
    if (e == ALM_OK) {
        memcpy(copy.cols, rows->cols, rows->n_cols * sizeof *copy.cols);
        e = append_dense(cx, txn, t, table, &copy, &arena);
    }
    alm_arena_deinit(&arena);
    return e;
}

/* -------------------------------------------------------------------- committing */

/* Times of the rows; a gap of more than an hour (in microseconds) parts them. */
static alm_status touch_rows(alm_ctx *cx, alm_build *b, const alm_txn_table *t, alm_buf *ops)
{
    enum { RANGES = 16 };
    alm_version *v = t->next;
    if (v->touched == NULL)
        return ALM_OK;
    alm_scan_range ranges[RANGES] = {{INT64_MIN, INT64_MAX}};
    uint32_t n = 1;
    if (v->table.ts_col >= 0) {
        const int64_t *ts = t->settled->cols[t->bare->table.ts_col];
        const uint64_t gap = UINT64_C(3600000000) * (alm_version_is_ns(v) ? 1000 : 1);
        ranges[0] = (alm_scan_range){ts[0], ts[0]};
        for (uint32_t i = 1; i < t->n_settled; i++) {
            if ((uint64_t)ts[i] - (uint64_t)ts[i - 1] > gap && n < RANGES)
                ranges[n++].lo = ts[i];
            ranges[n - 1].hi = ts[i];
        }
    }
    return alm_version_touch(cx, b, v, ranges, n, ops);
}

static int by_seq(const void *a, const void *b)
{
    const alm_part_ref *x = *(alm_part_ref *const *)a, *y = *(alm_part_ref *const *)b;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

/* Who reads the table's rows later finds those of this transaction behind all that are there, in the order in which
 * they were inserted: an UPDATE has put the parts it changed at the end of the list. */
static alm_status number_own_parts(alm_ctx *cx, alm_storage *st, const alm_txn_table *t)
{
    alm_part_ref **own = NULL;
    uint32_t n = 0;
    ALM_TRY(alm_heap_bytes(cx, (t->n_add + 1u) * sizeof *own, "a transaction", (void *)&own));
    for (uint32_t i = 0; i < t->n_add; i++)
        if (t->own[i])
            own[n++] = t->add[i];
    qsort((void *)own, n, sizeof *own, by_seq);
    for (uint32_t i = 0; i < n; i++)
        own[i]->seq = atomic_fetch_add(&st->next_seq, 1);
    free((void *)own);
    return ALM_OK;
}

static alm_status next_parts(alm_ctx *cx, alm_request *rq, alm_build *b, const alm_txn_table *t,
                             const alm_version *now, alm_version **out)
{
    const alm_parts_change change = {.table_id = t->id,
                                     .add = t->add,
                                     .n_add = t->n_add,
                                     .remove = t->gone,
                                     .n_remove = t->n_gone,
                                     .data = true,
                                     .touch = t->touch,
                                     .n_touch = t->n_touch};
    ALM_TRY(number_own_parts(cx, b->st, t));
    ALM_TRY(alm_change_parts_of(cx, b, now, &change, 0, false, &rq->buf, out));
    return alm_op_parts(cx, &rq->buf, &change, 0);
}

/* Is the first of its rows older than some that the table has? */
static bool is_late(const alm_version *now, const alm_txn_table *t)
{
    const int32_t ts_col = t->bare->table.ts_col;
    if (ts_col < 0 || t->n_settled == 0)
        return false;
    const int64_t first = ((const int64_t *)t->settled->cols[ts_col])[0];
    bool late = now->parts->n > 0 && first < now->parts->max_ts;
    for (uint32_t i = 0; i < now->n_lanes && !late; i++)
        late = first < now->lanes[i].max_ts;
    return late;
}

/* t->next: what the table becomes. */
static alm_status next_version(alm_ctx *cx, alm_request *rq, alm_build *b, alm_txn *txn,
                               alm_txn_table *t)
{
    const alm_version *now = alm_build_find(b, t->id);
    alm_version *mid = NULL;
    if (now == NULL)
        return alm_fail(cx, ALM_E_CONFLICT, -1, "table was dropped meanwhile [table=%s]",
                        t->bare->table.name);
    ALM_TRY(alm_change_accepts(cx, now, t->bare));
    txn->is_late = txn->is_late || is_late(now, t);
    if (alm_txn_has_parts(t)) {
        const alm_status e = next_parts(cx, rq, b, t, now, &mid);
        if (e != ALM_OK || t->n_settled == 0) {
            t->next = mid;
            return e;
        }
        now = mid;
    }
    const alm_status e =
        alm_change_rows_of(cx, b, now, t->settled, t->n_settled, &rq->buf, &t->next);
    alm_version_release(mid);
    ALM_TRY(e);
    return touch_rows(cx, b, t, &rq->buf);
}

static alm_status prepare_all(alm_ctx *cx, alm_request *rq, alm_build *b)
{
    alm_txn *txn = rq->arg;
    txn->expired.len = 0; /* of an earlier try */
    txn->is_late = false;
    for (size_t i = 0; i < txn->n; i++) {
        alm_txn_table *t = txn->tables[i];
        alm_version_release(t->next); /* of an earlier try */
        t->next = NULL;
        if (t->n_settled == 0 && !alm_txn_has_parts(t))
            continue;
        ALM_TRY(next_version(cx, rq, b, txn, t));
        ALM_TRY(alm_build_own(cx, b, t->id));
    }
    for (size_t i = 0; i < txn->n; i++) {
        const alm_version *next = txn->tables[i]->next;
        if (next != NULL && next->n_lanes - next->n_frozen > 1)
            alm_storage_untidy(b->st);
        if (next == NULL)
            continue;
        alm_build_put(b, txn->tables[i]->next);
        txn->tables[i]->next = NULL;
        alm_expire_with(b, &txn->expired, txn->tables[i]->id);
    }
    rq->pieces[0] = (alm_wal_piece){rq->buf.ptr, rq->buf.len};
    rq->pieces[1] = (alm_wal_piece){txn->payload.ptr, txn->payload.len};
    rq->pieces[2] = (alm_wal_piece){txn->expired.ptr, txn->expired.len};
    rq->n_pieces = 3;
    return ALM_OK;
}

/* All rows of a table as one sorted chunk. */
static alm_status settle_rows(alm_ctx *cx, alm_txn_table *t)
{
    const uint32_t n = t->n_runs + t->n_chunks;
    alm_chunk **chunks = NULL;
    uint32_t *rows = NULL;
    if (t->n_runs == 0)
        return alm_rows_settle(cx, &t->bare->table, t->chunks, t->rows, n, &t->settled,
                               &t->n_settled);
    alm_status e = alm_heap_bytes(cx, n * sizeof *chunks, "a transaction", &chunks);
    if (e == ALM_OK)
        e = alm_heap_bytes(cx, n * sizeof *rows, "a transaction", &rows);
    for (uint32_t i = 0; i < n && e == ALM_OK; i++) {
        const bool run = i < t->n_runs;
        chunks[i] = run ? t->runs[i].chunk : t->chunks[i - t->n_runs];
        rows[i] = run ? t->runs[i].rows : t->rows[i - t->n_runs];
    }
    if (e == ALM_OK)
        e = alm_rows_settle(cx, &t->bare->table, chunks, rows, n, &t->settled, &t->n_settled);
    free((void *)chunks);
    free(rows);
    return e;
}

/* Rows of its own in parts come behind all rows of the head: those they meet must be in parts, too. */
static alm_status lock_parts(alm_ctx *cx, alm_storage *st, alm_txn_table *t)
{
    bool own = false;
    for (uint32_t i = 0; i < t->n_add; i++)
        own |= t->own[i];
    ALM_TRY(alm_tab_lock(cx, st, t->bare->tab, own ? ALM_TAB_ALONE : ALM_TAB_SHARE));
    t->alone = own;
    t->shared = !own;
    return own ? alm_head_flush(cx, st, t->id) : ALM_OK;
}

/* Locks in the order of table ids: first those against other changes of parts, then the gates. */
static alm_status lock_tables(alm_ctx *cx, alm_txn *txn)
{
    alm_storage *st = txn->st;
    for (size_t i = 0; i < txn->n; i++)
        if (txn->tables[i]->n_settled > 0)
            ALM_TRY(alm_head_wait(cx, st, txn->tables[i]->id));
    for (size_t i = 0; i < txn->n; i++) {
        alm_txn_table *t = txn->tables[i];
        if (!alm_txn_has_parts(t))
            continue;
        ALM_TRY(alm_tab_lock(cx, st, t->bare->tab, ALM_TAB_MAINT));
        t->maint = true;
    }
    for (size_t i = 0; i < txn->n; i++) {
        alm_txn_table *t = txn->tables[i];
        if (alm_txn_has_parts(t)) {
            ALM_TRY(lock_parts(cx, st, t));
        } else if (t->n_settled > 0) {
            ALM_TRY(alm_tab_lock(cx, st, t->bare->tab, ALM_TAB_SHARE));
            t->shared = true;
        }
    }
    return ALM_OK;
}

/* Sorts and encodes what the transaction wrote. */
static alm_status settle(alm_ctx *cx, alm_txn *txn, bool *any)
{
    for (size_t i = 0; i < txn->n; i++) {
        alm_txn_table *t = txn->tables[i];
        *any |= alm_txn_has_parts(t);
        ALM_TRY(alm_txn_make(cx, txn->st, t));
        if (!alm_txn_has_rows(t))
            continue;
        ALM_TRY(settle_rows(cx, t));
        size_t mark;
        ALM_TRY(alm_op_begin(cx, &txn->payload, ALM_OP_ROWS, &mark));
        ALM_TRY(alm_put_rows(cx, &txn->payload, t->id, t->settled, t->n_settled));
        ALM_TRY(alm_op_end(cx, &txn->payload, mark));
        *any = true;
    }
    return ALM_OK;
}

/* A transaction over more tables with a TTL leaves the rest to the background thread. */
enum { TABLES_EXPIRE = 64 };

static uint32_t with_ttl(const alm_txn *txn, uint64_t *ids)
{
    uint32_t n = 0;
    for (size_t i = 0; i < txn->n && n < TABLES_EXPIRE; i++)
        if (txn->tables[i]->bare->table.ttl_hours != 0)
            ids[n++] = txn->tables[i]->id;
    return n;
}

/* Rows stored anew. What replaces parts has the rows that were there, too. */
static int64_t new_rows(const alm_txn *txn)
{
    int64_t rows = 0;
    for (size_t i = 0; i < txn->n; i++) {
        const alm_txn_table *t = txn->tables[i];
        rows += t->n_settled;
        for (uint32_t j = 0; j < t->n_add; j++)
            rows += t->own[j] ? t->add[j]->rows : 0;
    }
    return rows;
}

static void committed(alm_ctx *cx, alm_txn *txn, alm_status e)
{
    alm_storage *st = txn->st;
    alm_count(&st->counters.rows_committed, e == ALM_OK ? new_rows(txn) : 0);
    alm_count(&st->counters.late_commits, e == ALM_OK && txn->is_late);
    alm_count(&st->counters.rollbacks, e != ALM_OK);
    uint64_t expiring[TABLES_EXPIRE];
    const uint32_t n_expiring = e == ALM_OK ? with_ttl(txn, expiring) : 0;
    txn_free(txn, e == ALM_OK);
    for (uint32_t i = 0; i < n_expiring; i++)
        alm_table_expire_after(cx, st, expiring[i]);
    alm_storage_nudge(st);
}

/* The files of all tables at once, before anybody is locked out. */
static alm_status sync_parts(alm_ctx *cx, const alm_txn *txn)
{
    size_t n = 0;
    alm_part_ref **all = NULL;
    for (size_t i = 0; i < txn->n; i++)
        n += txn->tables[i]->n_add;
    if (n == 0)
        return ALM_OK;
    ALM_TRY(alm_heap_bytes(cx, n * sizeof *all, "a commit", (void *)&all));
    n = 0;
    for (size_t i = 0; i < txn->n; i++)
        for (uint32_t j = 0; j < txn->tables[i]->n_add; j++)
            all[n++] = txn->tables[i]->add[j];
    const alm_status e = alm_parts_sync(cx, txn->st, all, n);
    free((void *)all);
    return e;
}

alm_status alm_txn_commit(alm_ctx *cx, alm_txn *txn, uint64_t *lsn)
{
    bool any = false;
    alm_status e = settle(cx, txn, &any);
    alm_request rq = {.prepare = prepare_all, .arg = txn};
    if (e == ALM_OK)
        e = sync_parts(cx, txn);
    if (e == ALM_OK)
        e = lock_tables(cx, txn);
    if (e == ALM_OK && any)
        e = alm_commit(cx, txn->st, &rq);
    if (e == ALM_OK && lsn != NULL)
        *lsn = rq.lsn;
    committed(cx, txn, e);
    return e;
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
        const alm_txn_table *t = txn->tables[i];
        if (alm_txn_has_parts(t) || t->n_runs > 0 || t->n_chunks > 1 ||
            t->bare->table.ttl_hours != 0 || alm_head_is_full(txn->st, t->id))
            return false;
        rows += t->n_chunks > 0 ? t->rows[0] : 0;
    }
    return rows > 0 && rows <= ROWS_MAX;
}

static bool try_lock_tables(alm_txn *txn)
{
    for (size_t i = 0; i < txn->n; i++) {
        alm_txn_table *t = txn->tables[i];
        t->shared = alm_tab_trylock(txn->st, t->bare->tab, ALM_TAB_SHARE);
        if (t->shared)
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
    committed(&run->cx, rq->arg, rq->status);
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
    alm_status e = alm_heap_bytes(cx, sizeof *run, "a commit", &run);
    if (e == ALM_OK)
        e = settle(cx, txn, &any);
    if (e != ALM_OK) {
        free(run);
        committed(cx, txn, e);
        return e;
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
    const alm_status e = run->rq.status;
    if (e != ALM_OK)
        cx->err = run->cx.err;
    run_free(run);
    return e;
}
