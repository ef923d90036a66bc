/*
 * txn.c - transactions that append rows.
 *
 * Rows are copied into chunks of the transaction as they come. The commit settles them per table (one
 * chunk, sorted, deduplicated) and encodes the log record on its own thread; the leader of the group
 * only appends chunks to versions and writes bytes.
 */
#include <stdlib.h>

#include "storage/change.h"
#include "storage/dict.h"
#include "storage/view.h"

typedef struct txn_table {
    uint64_t id;
    alm_version *bare; /* schema, identity, options as of the first append */
    alm_chunk **chunks;
    uint32_t *rows;
    uint32_t n_chunks, cap_chunks;
    alm_chunk *settled;
    uint32_t n_settled;
    alm_version *next; /* while a commit is prepared */
    bool shared;       /* holds the gate of the table */
} txn_table;

struct alm_txn {
    alm_storage *st;
    txn_table **tables; /* by id */
    size_t n, cap;
    alm_buf payload;
};

alm_status alm_txn_begin(alm_ctx *cx, alm_storage *st, alm_txn **out)
{
    alm_txn *txn = NULL;
    ALM_TRY(alm_storage_writable(cx, st));
    ALM_TRY(alm_heap_bytes(cx, sizeof *txn, "a transaction", &txn));
    txn->st = st;
    alm_buf_init(&txn->payload, NULL);
    *out = txn;
    return ALM_OK;
}

static void table_free(alm_storage *st, txn_table *t)
{
    if (t->shared)
        alm_tab_unlock(st, t->bare->tab, ALM_TAB_SHARE);
    for (uint32_t i = 0; i < t->n_chunks; i++)
        alm_chunk_release(t->chunks[i]);
    free((void *)t->chunks);
    free(t->rows);
    alm_chunk_release(t->settled);
    alm_version_release(t->next);
    alm_version_release(t->bare);
    free(t);
}

static void txn_free(alm_txn *txn)
{
    for (size_t i = 0; i < txn->n; i++)
        table_free(txn->st, txn->tables[i]);
    free((void *)txn->tables);
    alm_buf_deinit(&txn->payload);
    free(txn);
}

void alm_txn_rollback(alm_txn *txn)
{
    if (txn != NULL)
        txn_free(txn);
}

/* -------------------------------------------------------------------- appending */

static alm_status table_of(alm_ctx *cx, alm_txn *txn, const alm_table *table, txn_table **out)
{
    size_t at = 0;
    while (at < txn->n && txn->tables[at]->id < table->id)
        at++;
    if (at == txn->n || txn->tables[at]->id != table->id) {
        if (txn->n == txn->cap) {
            const size_t cap = ALM_MAX((size_t)4, txn->cap * 2);
            txn_table **bigger = realloc((void *)txn->tables, cap * sizeof *bigger);
            if (bigger == NULL)
                return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for a transaction");
            txn->tables = bigger;
            txn->cap = cap;
        }
        txn_table *t = NULL;
        ALM_TRY(alm_refuse_rows(cx, table));
        ALM_TRY(alm_heap_bytes(cx, sizeof *t, "a transaction", &t));
        const alm_status e = alm_version_bare(cx, alm_version_of(table), &t->bare);
        if (e != ALM_OK) {
            free(t);
            return e;
        }
        t->id = table->id;
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
static alm_status room_for(alm_ctx *cx, txn_table *t, uint32_t n, alm_chunk **out, uint32_t *at)
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

static alm_status no_null_times(alm_ctx *cx, const alm_chunk *chunk, int32_t ts_col, uint32_t at,
                                uint32_t n)
{
    const int64_t *ts = (const int64_t *)chunk->cols[ts_col] + at;
    for (uint32_t i = 0; i < n; i++)
        if (ts[i] == ALM_TS_NULL)
            return alm_fail(cx, ALM_E_VALUE, -1, "designated timestamp column cannot be NULL");
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
    if (text)
        return copy_text(cx, chunk, v, (alm_view *)(void *)out, n);
    copy_fixed(v, out, n);
    return ALM_OK;
}

static alm_status append_dense(alm_ctx *cx, txn_table *t, const alm_table *table, alm_batch *batch,
                               alm_arena *arena)
{
    alm_chunk *chunk = NULL;
    uint32_t at = 0;
    ALM_TRY(room_for(cx, t, batch->rows, &chunk, &at));
    for (uint32_t c = 0; c < batch->n_cols; c++) {
        alm_vec *v = NULL;
        ALM_TRY(alm_batch_column(cx, arena, batch, c, &v));
        ALM_TRY(append_column(cx, table, chunk, c, at, v, batch->rows));
    }
    if (table->ts_col >= 0)
        ALM_TRY(no_null_times(cx, chunk, table->ts_col, at, batch->rows));
    t->rows[t->n_chunks - 1] = at + batch->rows; /* counted only once all columns are there */
    return ALM_OK;
}

alm_status alm_txn_append(alm_ctx *cx, alm_txn *txn, const alm_table *table, const alm_batch *rows)
{
    if (rows->rows == 0)
        return ALM_OK;
    if (rows->n_cols != table->n_cols)
        return alm_fail(cx, ALM_E_ARG, -1, "table '%s' has %u columns, the rows have %u",
                        table->name, table->n_cols, rows->n_cols);
    txn_table *t = NULL;
    ALM_TRY(alm_check(cx));
    ALM_TRY(table_of(cx, txn, table, &t));
    alm_arena arena;
    alm_arena_init(&arena, cx->mem);
    alm_batch copy = *rows; /* making columns dense changes the batch: not the caller's */
    alm_status e = ALM_NEWN(cx, &arena, rows->n_cols, &copy.cols);
    if (e == ALM_OK) {
        memcpy(copy.cols, rows->cols, rows->n_cols * sizeof *copy.cols);
        e = append_dense(cx, t, table, &copy, &arena);
    }
    alm_arena_deinit(&arena);
    return e;
}

/* -------------------------------------------------------------------- committing */

/* Times of the rows; a gap of more than an hour (in microseconds) parts them. */
static alm_status touch_rows(alm_ctx *cx, alm_build *b, const txn_table *t, alm_buf *ops)
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

static alm_status prepare_rows(alm_ctx *cx, alm_request *rq, alm_build *b)
{
    alm_txn *txn = rq->arg;
    alm_status e = ALM_OK;
    for (size_t i = 0; i < txn->n && e == ALM_OK; i++) {
        txn_table *t = txn->tables[i];
        alm_version_release(t->next); /* of an earlier try */
        t->next = NULL;
        if (t->n_settled == 0)
            continue;
        const alm_version *now = alm_build_find(b, t->id);
        if (now != NULL)
            e = alm_change_accepts(cx, now, t->bare);
        if (e == ALM_OK)
            e = alm_change_rows(cx, b, t->id, t->bare->table.name, t->settled, t->n_settled,
                                &rq->buf, &t->next);
        if (e == ALM_OK)
            e = touch_rows(cx, b, t, &rq->buf);
        if (e == ALM_OK)
            e = alm_build_own(cx, b, t->id);
    }
    ALM_TRY(e);
    for (size_t i = 0; i < txn->n; i++) {
        if (txn->tables[i]->next != NULL)
            alm_build_put(b, txn->tables[i]->next);
        txn->tables[i]->next = NULL;
    }
    rq->pieces[0] = (alm_wal_piece){rq->buf.ptr, rq->buf.len};
    rq->pieces[1] = (alm_wal_piece){txn->payload.ptr, txn->payload.len};
    rq->n_pieces = 2;
    return ALM_OK;
}

/* Sorts and encodes what the transaction wrote; takes the gates in the order of table ids. */
static alm_status settle(alm_ctx *cx, alm_txn *txn, int64_t *rows)
{
    alm_storage *st = txn->st;
    for (size_t i = 0; i < txn->n; i++) {
        txn_table *t = txn->tables[i];
        if (t->n_chunks == 0 || t->rows[0] == 0)
            continue;
        ALM_TRY(alm_rows_settle(cx, &t->bare->table, t->chunks, t->rows, t->n_chunks, &t->settled,
                                &t->n_settled));
        size_t mark;
        ALM_TRY(alm_op_begin(cx, &txn->payload, ALM_OP_ROWS, &mark));
        ALM_TRY(alm_put_rows(cx, &txn->payload, t->id, t->settled, t->n_settled));
        ALM_TRY(alm_op_end(cx, &txn->payload, mark));
        *rows += t->n_settled;
    }
    for (size_t i = 0; i < txn->n; i++) {
        txn_table *t = txn->tables[i];
        if (t->n_settled == 0)
            continue;
        ALM_TRY(alm_head_wait(cx, st, t->id));
        ALM_TRY(alm_tab_lock(cx, st, t->bare->tab, ALM_TAB_SHARE));
        t->shared = true;
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

alm_status alm_txn_commit(alm_ctx *cx, alm_txn *txn, uint64_t *lsn)
{
    int64_t rows = 0;
    alm_status e = settle(cx, txn, &rows);
    alm_request rq = {.prepare = prepare_rows, .arg = txn};
    if (e == ALM_OK && rows > 0)
        e = alm_commit(cx, txn->st, &rq);
    if (e == ALM_OK && lsn != NULL)
        *lsn = rq.lsn;
    alm_storage *st = txn->st;
    uint64_t expiring[TABLES_EXPIRE];
    const uint32_t n_expiring = e == ALM_OK ? with_ttl(txn, expiring) : 0;
    txn_free(txn);
    for (uint32_t i = 0; i < n_expiring; i++)
        alm_table_expire_after(cx, st, expiring[i]);
    alm_storage_nudge(st);
    return e;
}
