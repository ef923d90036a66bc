/*
 * bulk.c - bulk loads: rows are collected per partition and written as parts without a copy through
 * the log; one record makes them all visible.
 *
 * Method      A batch is cut into runs of one partition (time-ordered input: one run), or its rows are
 *             dealt to their partitions by a counting sort. A partition that has part_rows_max rows
 *             becomes a part; when all buffers together are over the bound, the largest does.
 * Memory      part_rows_max rows in all, and BYTES_MAX bytes, charged to the account of the user (alm_ctx.lasting). Over BYTES_MIN only
 *             as long as there is room: else the largest buffer becomes a part.
 */
#include <stdlib.h>

#include "storage/dict/dict.h"
#include "storage/part/pack.h"
#include "storage/version/view.h"
#include "storage/write/bulk.h"
#include "storage/write/commit.h"
#include "storage/write/ddl.h"
#include "storage/write/expire.h"
#include "storage/write/interning.h"
#include "storage/write/parts_commit.h"
#include "storage/write/txn.h"

#define BYTES_MAX (INT64_C(256) << 20)
#define BYTES_MIN (INT64_C(16) << 20)

typedef struct bulk_bucket {
    int64_t lo, next; /* times [lo, next) */
    alm_rowbuf rows;
    uint32_t deal_rows, deal_at; /* while a batch is dealt */
} bulk_bucket;

struct alm_bulk {
    alm_storage *st;
    alm_version *v;
    struct alm_pending *pending; /* CREATE TABLE AS, else NULL */
    bulk_bucket **buckets;       /* by lo */
    size_t n_buckets, cap_buckets;
    size_t latest; /* bucket of the last row */
    int64_t rows, buffered_rows, buffered_bytes;
    alm_interning interning;
    alm_mem *account; /* or NULL; outlives the load */
    int64_t charged;  /* to it */
    alm_part_ref **parts;
    size_t n_parts, cap_parts;
    alm_pack pack;     /* of small parts, where there are many partitions */
    alm_arena scratch; /* of one batch */
    int64_t
        map_faults; /* of the io, when it began: what it takes may be read from maps of others */
};

static alm_status bulk_no_memory(alm_ctx *cx)
{
    return alm_fail(cx, ALM_E_MEMORY, -1, "bulk load: no memory for rows");
}

/* Room for one more pointer. */
static alm_status bulk_reserve(alm_ctx *cx, void *array, size_t *cap, size_t n)
{
    if (n < *cap)
        return ALM_OK;
    void *old = NULL;
    memcpy(&old, array, sizeof(old));
    const size_t more = *cap == 0 ? 16 : *cap * 2;
    void *grown = realloc(old, more * sizeof(void *));
    if (grown == NULL)
        return bulk_no_memory(cx);
    memcpy(array, &grown, sizeof(grown));
    *cap = more;
    return ALM_OK;
}

/* ------------------------------------------------------------------ opening */

static alm_status bulk_new(alm_ctx *cx, alm_storage *storage, alm_version *version,
                           struct alm_pending *pending, alm_bulk **out)
{
    alm_bulk *bulk = calloc(1, sizeof(*bulk));
    if (bulk == NULL)
        return bulk_no_memory(cx);
    bulk->st = storage;
    bulk->v = version;
    bulk->pending = pending;
    bulk->account = cx->lasting;
    bulk->map_faults = storage->io->map_faults(storage->io);
    alm_arena_init(&bulk->scratch, NULL);
    alm_pack_init(&bulk->pack, storage, version->table.id, SIZE_MAX);
    *out = bulk;
    return ALM_OK;
}

alm_status alm_bulk_begin(alm_ctx *cx, alm_storage *storage, const alm_table *table, alm_bulk **out)
{
    ALM_TRY(alm_refuse_rows(cx, table));
    return alm_bulk_begin_any(cx, storage, table, out);
}

alm_status alm_bulk_begin_any(alm_ctx *cx, alm_storage *storage, const alm_table *table,
                              alm_bulk **out)
{
    alm_version *version = alm_storage_version(storage, table->id);
    if (version == NULL)
        return alm_fail(cx, ALM_E_CONFLICT, -1, "table '%s' was dropped", table->name);
    alm_status status = alm_table_is_open(cx, &version->table, -1);
    if (status == ALM_OK && version->table.schema_version != table->schema_version)
        status = alm_fail(cx, ALM_E_STALE, -1, "columns of table '%s' were changed", table->name);
    alm_interning interning = {0};
    if (status == ALM_OK)
        status = alm_interning_begin_newest(cx, storage, &version, &interning);
    if (status == ALM_OK)
        status = bulk_new(cx, storage, version, NULL, out);
    if (status != ALM_OK) {
        alm_interning_end(&interning);
        alm_version_release(version);
        return status;
    }
    (*out)->interning = interning;
    return ALM_OK;
}

alm_status alm_bulk_new_pending(alm_ctx *cx, alm_storage *storage, struct alm_pending *pending,
                                alm_bulk **out)
{
    alm_version *version = alm_version_retain(alm_pending_version(pending));
    const alm_status status = bulk_new(cx, storage, version, pending, out);
    if (status != ALM_OK) {
        alm_version_release(version);
        alm_pending_free(pending);
    }
    return status;
}

static void bulk_free(alm_bulk *bulk)
{
    for (size_t i = 0; i < bulk->n_buckets; i++) {
        alm_rowbuf_clear(&bulk->buckets[i]->rows);
        free(bulk->buckets[i]);
    }
    for (size_t i = 0; i < bulk->n_parts; i++)
        alm_part_ref_release(bulk->parts[i]); /* removes the file if it was not committed */
    if (bulk->charged > 0)
        alm_mem_release(bulk->account, bulk->charged);
    free(bulk->buckets);
    free(bulk->parts);
    alm_pack_deinit(&bulk->pack);
    alm_arena_deinit(&bulk->scratch);
    alm_interning_end(&bulk->interning);
    alm_version_release(bulk->v);
    if (bulk->pending != NULL)
        alm_pending_free(bulk->pending);
    free(bulk);
}

/* --------------------------------------------------------------- partitions */

static bool bulk_holds(const bulk_bucket *bucket, int64_t ts)
{
    return ts >= bucket->lo && ts < bucket->next;
}

static alm_status bucket_insert(alm_ctx *cx, alm_bulk *bulk, size_t offset, int64_t lo,
                                int64_t next)
{
    ALM_TRY(bulk_reserve(cx, &bulk->buckets, &bulk->cap_buckets, bulk->n_buckets));
    bulk_bucket *bucket = malloc(sizeof(*bucket));
    if (bucket == NULL)
        return bulk_no_memory(cx);
    *bucket = (bulk_bucket){.lo = lo, .next = next};
    alm_rowbuf_init(&bucket->rows, bulk->v->schema);
    memmove(bulk->buckets + offset + 1, bulk->buckets + offset,
            (bulk->n_buckets - offset) * sizeof(*bulk->buckets));
    bulk->buckets[offset] = bucket;
    bulk->n_buckets++;
    return ALM_OK;
}

/* Index of the partition of a time; makes it. */
static alm_status bulk_bucket_of(alm_ctx *cx, alm_bulk *bulk, int64_t ts, size_t *out)
{
    if (bulk->latest < bulk->n_buckets && bulk_holds(bulk->buckets[bulk->latest], ts)) {
        *out = bulk->latest;
        return ALM_OK;
    }
    size_t lo = 0, hi = bulk->n_buckets; /* first bucket that begins behind ts */
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (bulk->buckets[mid]->lo <= ts)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == 0 || !bulk_holds(bulk->buckets[lo - 1], ts)) {
        const alm_partition_by by = bulk->v->table.partition;
        const bool nanos = alm_version_is_ns(bulk->v);
        ALM_TRY(bucket_insert(cx, bulk, lo, alm_partition_floor(by, nanos, ts),
                              alm_partition_next(by, nanos, ts)));
        lo++;
    }
    *out = bulk->latest = lo - 1;
    return ALM_OK;
}

/* ------------------------------------------------------------------ writing */

static alm_status bucket_flush(alm_ctx *cx, alm_bulk *bulk, bulk_bucket *bucket)
{
    alm_part_pack *pack = NULL;
    if (bucket->rows.rows == 0)
        return ALM_OK;
    if (bulk->n_buckets >= (size_t)bulk->st->conf.shared_parts_min)
        ALM_TRY(alm_pack_next(cx, &bulk->pack, &pack));
    ALM_TRY(alm_storage_takes_space(cx, bulk->st));
    ALM_TRY(bulk_reserve(cx, &bulk->parts, &bulk->cap_parts, bulk->n_parts));
    ALM_TRY(alm_rows_to_part(cx, bulk->st, bulk->v, bucket->rows.chunks, bucket->rows.n_chunks,
                             bucket->lo, pack, &bulk->parts[bulk->n_parts]));
    bulk->n_parts++;
    bulk->buffered_rows -= bucket->rows.rows;
    bulk->buffered_bytes -= bucket->rows.bytes;
    alm_rowbuf_clear(&bucket->rows);
    return ALM_OK;
}

static alm_status bucket_append(alm_ctx *cx, alm_bulk *bulk, bulk_bucket *bucket,
                                const alm_vec *cols, const uint32_t *idx, uint32_t first,
                                uint32_t n_rows)
{
    const int64_t bytes = bucket->rows.bytes;
    ALM_TRY(alm_rowbuf_append(cx, &bucket->rows, cols, idx, first, n_rows));
    bulk->buffered_rows += n_rows;
    bulk->buffered_bytes += bucket->rows.bytes - bytes;
    bulk->rows += n_rows;
    if (bucket->rows.rows >= bulk->st->conf.part_rows_max)
        return bucket_flush(cx, bulk, bucket);
    return ALM_OK;
}

/* Is there no room in the account for what is buffered, or would it take the memory of the statement that makes the rows? */
static bool is_short(const alm_bulk *bulk)
{
    enum { PART_OF_LIMIT = 4 };
    int64_t limit;
    if (bulk->account == NULL || bulk->buffered_bytes <= BYTES_MIN)
        return false;
    const int64_t room = alm_mem_room(bulk->account, &limit);
    return bulk->buffered_bytes - bulk->charged > room ||
           bulk->buffered_bytes > limit / PART_OF_LIMIT;
}

static alm_status bulk_charge(alm_ctx *cx, alm_bulk *bulk)
{
    const int64_t more = bulk->buffered_bytes - bulk->charged;
    if (bulk->account == NULL)
        return ALM_OK;
    if (more > 0)
        ALM_TRY(alm_mem_charge(cx, bulk->account, more, "load"));
    else if (more < 0)
        alm_mem_release(bulk->account, -more);
    bulk->charged = bulk->buffered_bytes;
    return ALM_OK;
}

/* Over the bound, or out of memory: the largest buffers become parts. */
static alm_status relieve(alm_ctx *cx, alm_bulk *bulk)
{
    const int64_t rows_max = bulk->st->conf.part_rows_max;
    while (bulk->buffered_rows > rows_max || bulk->buffered_bytes > BYTES_MAX || is_short(bulk)) {
        bulk_bucket *largest = bulk->buckets[0];
        for (size_t i = 1; i < bulk->n_buckets; i++)
            if (bulk->buckets[i]->rows.bytes > largest->rows.bytes)
                largest = bulk->buckets[i];
        ALM_TRY(bucket_flush(cx, bulk, largest));
    }
    return bulk_charge(cx, bulk);
}

/* ---------------------------------------------------------------- appending */

/* Vectors of the batch with symbols as 4-byte codes of the table. */
static alm_status encode_symbols(alm_ctx *cx, alm_bulk *bulk, const alm_batch *rows, alm_vec *cols)
{
    const alm_schema *schema = bulk->v->schema;
    for (uint32_t col = 0; col < schema->n_cols; col++) {
        cols[col] = rows->cols[col];
        if (schema->cols[col].type.id != ALM_T_SYMBOL) {
            if (!alm_type_eq(cols[col].type, schema->cols[col].type))
                return alm_fail(cx, ALM_E_INTERNAL, -1, "bulk load: column '%s' is %s, not %s",
                                schema->cols[col].name, alm_type_name(cols[col].type),
                                alm_type_name(schema->cols[col].type));
            ALM_TRY(alm_text_length_check(cx, &schema->cols[col], &cols[col], rows->rows));
            continue;
        }
        uint32_t *codes = NULL;
        const size_t n = cols[col].is_const ? 1 : rows->rows;
        ALM_TRY(alm_arena_bytes(cx, &bulk->scratch, n * sizeof(*codes), &codes));
        ALM_TRY(alm_symbols_encode(cx, schema->symbols[col], &cols[col], n, codes));
        cols[col] = (alm_vec){.type = schema->cols[col].type,
                              .width = sizeof(*codes),
                              .is_const = cols[col].is_const,
                              .data = codes};
    }
    return ALM_OK;
}

/* Rows whose partitions alternate: a stable counting sort by partition, then one append each. */
static alm_status bulk_deal(alm_ctx *cx, alm_bulk *bulk, const alm_vec *cols, const int64_t *ts,
                            uint32_t first, uint32_t n_rows)
{
    bulk_bucket **of = NULL, **seen = NULL; /* buckets do not move when others come */
    uint32_t *idx = NULL;
    ALM_TRY(ALM_NEWN(cx, &bulk->scratch, n_rows, &of));
    ALM_TRY(ALM_NEWN(cx, &bulk->scratch, n_rows, &seen));
    ALM_TRY(ALM_NEWN(cx, &bulk->scratch, n_rows, &idx));
    uint32_t n_seen = 0;
    for (uint32_t i = 0; i < n_rows; i++) {
        size_t offset = 0;
        ALM_TRY(bulk_bucket_of(cx, bulk, ts[first + i], &offset));
        of[i] = bulk->buckets[offset];
    }
    for (uint32_t i = 0; i < n_rows; i++) {
        if (of[i]->deal_rows++ == 0)
            seen[n_seen++] = of[i];
    }
    for (uint32_t k = 0, start = 0; k < n_seen; k++) {
        seen[k]->deal_at = start;
        start += seen[k]->deal_rows;
    }
    for (uint32_t i = 0; i < n_rows; i++)
        idx[of[i]->deal_at++] = first + i;
    alm_status status = ALM_OK;
    for (uint32_t k = 0; k < n_seen; k++) {
        const uint32_t rows = seen[k]->deal_rows;
        seen[k]->deal_rows = 0;
        if (status == ALM_OK)
            status = bucket_append(cx, bulk, seen[k], cols, idx + seen[k]->deal_at - rows, 0, rows);
    }
    return status;
}

static alm_status append_timed(alm_ctx *cx, alm_bulk *bulk, const alm_vec *cols, uint32_t rows)
{
    enum { SHORT_RUN = 64, DEAL_ROWS = 8192 };
    const int64_t *ts = cols[bulk->v->table.ts_col].data;
    ALM_TRY(alm_times_storable(cx, ts, rows, alm_version_is_ns(bulk->v)));
    for (uint32_t row = 0; row < rows;) {
        size_t offset = 0;
        ALM_TRY(bulk_bucket_of(cx, bulk, ts[row], &offset));
        bulk_bucket *bucket = bulk->buckets[offset];
        uint32_t end = row + 1;
        while (end < rows && bulk_holds(bucket, ts[end]))
            end++;
        if (end - row < SHORT_RUN && end < rows) {
            const uint32_t n = ALM_MIN(rows - row, (uint32_t)DEAL_ROWS);
            ALM_TRY(bulk_deal(cx, bulk, cols, ts, row, n));
            row += n;
            continue;
        }
        ALM_TRY(bucket_append(cx, bulk, bucket, cols, NULL, row, end - row));
        row = end;
    }
    return ALM_OK;
}

alm_status alm_bulk_append(alm_ctx *cx, alm_bulk *bulk, const alm_batch *rows)
{
    ALM_TRY(alm_check(cx));
    if (rows->rows == 0)
        return ALM_OK;
    ALM_ASSERT(rows->n_cols == bulk->v->table.n_cols && rows->sel == NULL);
    alm_arena_reset(&bulk->scratch);
    alm_vec *cols = NULL;
    ALM_TRY(ALM_NEWN(cx, &bulk->scratch, rows->n_cols, &cols));
    ALM_TRY(encode_symbols(cx, bulk, rows, cols));
    if (bulk->v->table.ts_col < 0) {
        size_t offset = 0;
        ALM_TRY(bulk_bucket_of(cx, bulk, 0, &offset));
        ALM_TRY(bucket_append(cx, bulk, bulk->buckets[offset], cols, NULL, 0, rows->rows));
        return relieve(cx, bulk);
    }
    alm_vec *ts = &cols[bulk->v->table.ts_col];
    if (ts->is_const) {
        alm_vec flat;
        ALM_TRY(alm_vec_expand(cx, &bulk->scratch, ts, rows->rows, &flat));
        *ts = flat;
    }
    ALM_TRY(append_timed(cx, bulk, cols, rows->rows));
    return relieve(cx, bulk);
}

/* ------------------------------------------------------------------- ending */

/* What is left in the buffers. */
static alm_status bulk_flush_all(alm_ctx *cx, alm_bulk *bulk)
{
    for (size_t i = 0; i < bulk->n_buckets; i++)
        ALM_TRY(bucket_flush(cx, bulk, bulk->buckets[i]));
    return alm_pack_finish(cx, &bulk->pack);
}

alm_status alm_bulk_parts(alm_ctx *cx, alm_bulk *bulk, alm_part_ref *const **parts, uint32_t *n)
{
    ALM_TRY(bulk_flush_all(cx, bulk));
    *parts = bulk->parts;
    *n = (uint32_t)bulk->n_parts;
    return ALM_OK;
}

static alm_status bulk_commit_parts(alm_ctx *cx, alm_bulk *bulk)
{
    if (bulk->n_parts == 0 && bulk->pending == NULL)
        return ALM_OK;
    const alm_parts_change change = {.table_id = bulk->v->table.id,
                                     .add = bulk->parts,
                                     .n_add = (uint32_t)bulk->n_parts,
                                     .create = bulk->pending,
                                     .data = true,
                                     .made_for = bulk->v};
    uint64_t lsn = 0;
    return alm_parts_commit(cx, bulk->st, &change, &lsn); /* takes the locks of the table */
}

alm_status alm_bulk_commit(alm_ctx *cx, alm_bulk *bulk, int64_t *rows)
{
    alm_status status = bulk_flush_all(cx, bulk);
    if (status == ALM_OK)
        status = alm_faults_refuse(cx, bulk->st, bulk->map_faults);
    if (status == ALM_OK)
        status = bulk_commit_parts(cx, bulk);
    if (status == ALM_OK)
        *rows = bulk->rows;
    alm_storage *storage = bulk->st;
    const uint64_t id = status == ALM_OK && bulk->v->table.ttl_hours != 0 ? bulk->v->table.id : 0;
    bulk_free(bulk);
    if (id != 0)
        alm_table_expire_after(cx, storage, id);
    return status;
}

alm_status alm_bulk_into_txn(alm_ctx *cx, alm_bulk *bulk, alm_txn *txn, int64_t *rows)
{
    alm_part_ref *const *parts = NULL;
    uint32_t n = 0;
    ALM_ASSERT(bulk->pending == NULL);
    alm_status status = alm_bulk_parts(cx, bulk, &parts, &n);
    if (status == ALM_OK)
        status = alm_txn_put_load(cx, txn, &bulk->v->table, parts, n);
    if (status == ALM_OK)
        *rows = bulk->rows;
    bulk_free(bulk);
    return status;
}

int64_t alm_bulk_rows(const alm_bulk *bulk)
{
    return bulk->rows;
}

void alm_bulk_rollback(alm_bulk *bulk)
{
    if (bulk == NULL)
        return;
    alm_count(&bulk->st->counters.rollbacks, 1);
    bulk_free(bulk);
}
