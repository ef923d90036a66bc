/*
 * head.c - chunks of rows in memory, and one sorted chunk out of the batches of a transaction.
 *
 * Memory      The columns of a chunk are one block: a table of 2,000 columns costs one allocation per
 *             chunk. Text longer than a view lives in heap blocks that go with the chunk.
 */
#include "storage/version/head.h"

#include <stdlib.h>

#include "storage/part/part.h"
#include "storage/state.h"
#include "storage/version/merge.h"

enum { HEAP_BYTES_MIN = 1024, HEAP_BYTES_MAX = 256 << 10, COLUMN_ALIGN = 64 };

static size_t head_aligned(size_t n)
{
    return (n + COLUMN_ALIGN - 1) / COLUMN_ALIGN * COLUMN_ALIGN;
}

static size_t head_column_bytes(alm_type type, uint32_t cap)
{
    return head_aligned((size_t)alm_type_width(type) * cap);
}

alm_status alm_chunk_new(alm_ctx *cx, alm_schema *schema, uint32_t cap, alm_chunk **out)
{
    ALM_ASSERT(cap > 0);
    const size_t fixed = head_aligned(sizeof(alm_chunk) + schema->n_cols * sizeof(void *));
    size_t bytes = fixed;
    for (uint32_t col = 0; col < schema->n_cols; col++)
        bytes += head_column_bytes(schema->cols[col].type, cap);
    alm_chunk *chunk = aligned_alloc(COLUMN_ALIGN, bytes);
    if (chunk == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for %u rows (%zu bytes)", cap, bytes);
    *chunk = (alm_chunk){.refs = 1, .cap = cap, .n_cols = schema->n_cols, .bytes = (int64_t)bytes};
    char *ptr = (char *)chunk + fixed;
    for (uint32_t col = 0; col < schema->n_cols; col++) {
        chunk->cols[col] = ptr;
        ptr += head_column_bytes(schema->cols[col].type, cap);
    }
    chunk->schema = alm_schema_retain(schema);
    *out = chunk;
    return ALM_OK;
}

alm_status alm_chunk_borrow(alm_ctx *cx, alm_schema *schema, uint32_t rows, const char *const *lent,
                            alm_chunk **out)
{
    ALM_ASSERT(rows > 0);
    const size_t fixed = head_aligned(sizeof(alm_chunk) + schema->n_cols * sizeof(void *));
    size_t own = fixed;
    for (uint32_t col = 0; col < schema->n_cols; col++)
        own += lent[col] != NULL ? 0 : head_column_bytes(schema->cols[col].type, rows);
    alm_chunk *chunk = aligned_alloc(COLUMN_ALIGN, own);
    if (chunk == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for %u rows (%zu bytes)", rows, own);
    *chunk = (alm_chunk){
        .refs = 1, .cap = rows, .n_cols = schema->n_cols, .borrowed = true, .bytes = (int64_t)own};
    char *ptr = (char *)chunk + fixed;
    for (uint32_t col = 0; col < schema->n_cols; col++) {
        chunk->cols[col] = lent[col] != NULL ? (void *)(uintptr_t)lent[col] : ptr;
        ptr += lent[col] != NULL ? 0 : head_column_bytes(schema->cols[col].type, rows);
    }
    chunk->schema = alm_schema_retain(schema);
    *out = chunk;
    return ALM_OK;
}

alm_chunk *alm_chunk_retain(alm_chunk *chunk)
{
    const uint32_t before = atomic_fetch_add_explicit(&chunk->refs, 1, memory_order_relaxed);
    ALM_ASSERT(before > 0);
    return chunk;
}

alm_status alm_chunk_charge(alm_ctx *cx, alm_chunk *chunk, alm_mem *account)
{
    const int64_t more = chunk->bytes - chunk->charged;
    ALM_ASSERT(more >= 0 && (chunk->account == NULL || chunk->account == account));
    if (account == NULL || more == 0)
        return ALM_OK;
    ALM_TRY(alm_mem_charge(cx, account, more, "transaction"));
    chunk->account = account;
    chunk->charged += more;
    return ALM_OK;
}

void alm_chunk_uncharge(alm_chunk *chunk)
{
    if (chunk->account != NULL)
        alm_mem_release(chunk->account, chunk->charged);
    chunk->account = NULL;
    chunk->charged = 0;
}

void alm_chunk_release(alm_chunk *chunk)
{
    if (chunk == NULL)
        return;
    const uint32_t before = atomic_fetch_sub_explicit(&chunk->refs, 1, memory_order_acq_rel);
    ALM_ASSERT(before > 0);
    if (before > 1)
        return;
    alm_chunk_uncharge(chunk);
    while (chunk->heap != NULL) {
        alm_chunk_heap *next = chunk->heap->next;
        free(chunk->heap);
        chunk->heap = next;
    }
    alm_schema_release(chunk->schema);
    free(chunk);
}

alm_status alm_chunk_text(alm_ctx *cx, alm_chunk *chunk, size_t bytes, char **out)
{
    alm_chunk_heap *heap = chunk->heap;
    if (heap == NULL || heap->cap - heap->len < bytes) {
        const size_t grown = heap == NULL ? HEAP_BYTES_MIN : heap->cap * 2;
        const size_t cap = ALM_MAX(bytes, ALM_MIN(grown, (size_t)HEAP_BYTES_MAX));
        heap = malloc(sizeof *heap + cap);
        if (heap == NULL)
            return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for text (%zu bytes)", cap);
        heap->next = chunk->heap;
        heap->len = 0;
        heap->cap = cap;
        chunk->heap = heap;
        atomic_fetch_add_explicit(&chunk->bytes, (int64_t)(sizeof *heap + cap),
                                  memory_order_relaxed);
    }
    *out = heap->bytes + heap->len;
    heap->len += bytes;
    return ALM_OK;
}

alm_status alm_chunk_null(alm_ctx *cx, alm_chunk *chunk, uint32_t col, uint32_t place, uint32_t n)
{
    const alm_type type = chunk->schema->cols[col].type;
    const size_t width = alm_type_width(type);
    char *dest = (char *)chunk->cols[col] + place * width;
    if (type.id == ALM_T_SYMBOL) { /* stored as codes, while a vector of nulls has views */
        memset(dest, 0, n * width);
        return ALM_OK;
    }
    alm_arena arena;
    alm_vec null;
    alm_arena_init(&arena, NULL);
    const alm_status status = alm_vec_null(cx, &arena, type, &null);
    ALM_ASSERT(status != ALM_OK || null.width == width);
    for (uint32_t i = 0; i < n && status == ALM_OK; i++)
        memcpy(dest + i * width, null.data, width);
    alm_arena_deinit(&arena);
    return status;
}

/* ------------------------------------------------------- a batch becomes settled rows */

static alm_vec head_chunk_vec(const alm_chunk *chunk, uint32_t col)
{
    const alm_type type = chunk->schema->cols[col].type;
    return (alm_vec){
        .type = type, .width = (uint8_t)alm_type_width(type), .data = chunk->cols[col]};
}

alm_status alm_head_dedup(alm_ctx *cx, const alm_table *table, alm_chunk *const *chunks,
                          uint32_t n_chunks, uint64_t *order, int64_t n, int64_t *kept)
{
    const alm_schema *schema = alm_version_of(table)->schema;
    uint32_t n_keys = 0;
    for (uint32_t col = 0; col < schema->n_cols; col++)
        n_keys += schema->cols[col].dedup_key && (int32_t)col != table->ts_col;
    alm_dedup_src *srcs = NULL;
    alm_vec *keys = NULL;
    ALM_TRY(alm_heap_bytes(cx, n_chunks * sizeof *srcs, "dedup", &srcs));
    alm_status status =
        alm_heap_bytes(cx, (size_t)n_chunks * n_keys * sizeof *keys, "dedup", &keys);
    for (uint32_t chunk = 0; chunk < n_chunks && status == ALM_OK; chunk++) {
        uint32_t k = chunk * n_keys;
        srcs[chunk] = (alm_dedup_src){.ts = chunks[chunk]->cols[table->ts_col], .keys = keys + k};
        for (uint32_t col = 0; col < schema->n_cols; col++)
            if (schema->cols[col].dedup_key && (int32_t)col != table->ts_col)
                keys[k++] = head_chunk_vec(chunks[chunk], col); /* keys are never added later */
    }
    if (status == ALM_OK)
        status = alm_dedup_rows(cx, ALM_DEDUP_ROWS, srcs, n_keys, order, n, kept);
    free(srcs);
    free(keys);
    return status;
}

/* Order of all rows by time; NULL: they are in order as they are. */
static alm_status time_order(alm_ctx *cx, int32_t ts_col, alm_chunk *const *chunks,
                             const uint32_t *rows, uint32_t n_chunks, uint64_t **order)
{
    *order = NULL;
    if (ts_col < 0)
        return ALM_OK;
    alm_part_chunk *parts = NULL;
    alm_vec *vecs = NULL;
    ALM_TRY(alm_heap_bytes(cx, n_chunks * sizeof *parts, "sorting", &parts));
    alm_status status = alm_heap_bytes(cx, n_chunks * sizeof *vecs, "sorting", &vecs);
    for (uint32_t i = 0; i < n_chunks && status == ALM_OK; i++) {
        vecs[i] = head_chunk_vec(chunks[i], (uint32_t)ts_col);
        parts[i] = (alm_part_chunk){.rows = rows[i], .cols = &vecs[i]};
    }
    int64_t n = 0;
    if (status == ALM_OK)
        status = alm_part_sort(cx, parts, n_chunks, 0, order, &n);
    free(parts);
    free(vecs);
    return status;
}

static alm_status plain_order(alm_ctx *cx, const uint32_t *rows, uint32_t n_chunks, int64_t total,
                              uint64_t **order)
{
    ALM_TRY(alm_heap_bytes(cx, (size_t)total * sizeof **order, "the order of rows", order));
    int64_t offset = 0;
    for (uint32_t chunk = 0; chunk < n_chunks; chunk++)
        for (uint32_t i = 0; i < rows[chunk]; i++)
            (*order)[offset++] = (uint64_t)chunk << 32 | i;
    return ALM_OK;
}

alm_status alm_rows_order(alm_ctx *cx, const alm_table *table, alm_chunk *const *chunks,
                          const uint32_t *rows, uint32_t n_chunks, uint64_t **order, int64_t *kept)
{
    int64_t total = 0;
    for (uint32_t i = 0; i < n_chunks; i++)
        total += rows[i];
    const bool dedup = table->dedup && table->ts_col >= 0 && total > 1;
    *kept = total;
    alm_status status = time_order(cx, table->ts_col, chunks, rows, n_chunks, order);
    const bool ordered = status == ALM_OK && *order == NULL;
    if (ordered && dedup)
        status = plain_order(cx, rows, n_chunks, total, order);
    if (status == ALM_OK && dedup)
        status = alm_head_dedup(cx, table, chunks, n_chunks, *order, total, kept);
    if (status != ALM_OK || (ordered && *kept == total)) {
        free(*order);
        *order = NULL;
    }
    return status;
}

alm_status alm_rows_settle(alm_ctx *cx, const alm_table *table, alm_chunk *const *chunks,
                           const uint32_t *rows, uint32_t n_chunks, alm_chunk **out,
                           uint32_t *out_rows)
{
    int64_t total = 0;
    for (uint32_t i = 0; i < n_chunks; i++)
        total += rows[i];
    if (total > INT32_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1,
                        "a transaction writes %lld rows into table '%s', at most %d are allowed",
                        (long long)total, table->name, INT32_MAX);
    uint64_t *order = NULL;
    int64_t kept = total;
    alm_chunk *chunk = NULL;
    ALM_TRY(time_order(cx, table->ts_col, chunks, rows, n_chunks, &order));
    alm_status status = ALM_OK;
    const bool dedup = table->dedup && table->ts_col >= 0 && total > 1;
    if (order == NULL && (n_chunks > 1 || dedup))
        status = plain_order(cx, rows, n_chunks, total, &order);
    if (status == ALM_OK && dedup)
        status = alm_head_dedup(cx, table, chunks, n_chunks, order, total, &kept);
    if (status == ALM_OK &&
        (order == NULL || (n_chunks == 1 && kept == total && dedup &&
                           alm_chunk_in_order(chunks[0], table->ts_col, rows[0])))) {
        chunk = alm_chunk_retain(chunks[0]);
    } else if (status == ALM_OK) {
        status = alm_chunk_new(cx, alm_version_of(table)->schema, (uint32_t)kept, &chunk);
        if (status == ALM_OK)
            status = alm_chunk_copy(cx, chunk, 0, chunks, n_chunks, order, 0, (uint32_t)kept);
    }
    free(order);
    if (status != ALM_OK) {
        alm_chunk_release(chunk);
        return status;
    }
    *out = chunk;
    *out_rows = (uint32_t)kept;
    return ALM_OK;
}

bool alm_chunk_in_order(const alm_chunk *chunk, int32_t ts_col, uint32_t rows)
{
    const int64_t *ts = chunk->cols[ts_col];
    for (uint32_t i = 1; i < rows; i++)
        if (ts[i] < ts[i - 1])
            return false;
    return true;
}
