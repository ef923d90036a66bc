/*
 * decode.c - bytes back to versions (encode.h).
 */
#include <stdlib.h>

#include "storage/dict/dict.h"
#include "storage/part/part.h"
#include "storage/version/comment.h"
#include "storage/version/encode.h"
#include "storage/version/head.h"
#include "storage/version/records.h"
#include "storage/version/view.h"

enum { COLUMNS_MAX = 4096 };

static alm_status version_decode_corrupt(alm_ctx *cx, const char *what)
{
    return alm_fail(cx, ALM_E_CORRUPT, -1, "stored description of %s is damaged", what);
}

static bool type_is_known(alm_type type)
{
    return alm_type_is_valid(type);
}

/* *length: of a VARCHAR(n), in the bytes that the type has no use for. */
static alm_type get_type(alm_reader *reader, uint32_t *length)
{
    alm_type type = {0};
    const char *ptr = alm_get_bytes(reader, sizeof type);
    if (ptr != NULL)
        memcpy(&type, ptr, sizeof type);
    if (type.id == ALM_T_VARCHAR) {
        *length = type.p | (uint32_t)type.s << 8 | (uint32_t)type.dims << 16;
        type = ALM_TY(VARCHAR);
    }
    if (!type_is_known(type))
        reader->bad = true;
    return type;
}

alm_status alm_get_column(alm_ctx *cx, alm_reader *reader, alm_tab *tab, alm_column *col,
                          uint32_t *dict_count)
{
    *col = (alm_column){.id = alm_get_u32(reader)};
    col->type = get_type(reader, &col->length);
    col->indexed = alm_get_u8(reader) != 0;
    col->dedup_key = alm_get_u8(reader) != 0;
    col->symbol_cached = alm_get_u8(reader) != 0;
    (void)alm_get_u8(reader);
    col->symbol_capacity = alm_get_i64(reader);
    col->index_capacity = alm_get_i64(reader);
    *dict_count = alm_get_u32(reader);
    const alm_str name = alm_get_text(reader);
    if (reader->bad)
        return version_decode_corrupt(cx, "a column");
    return alm_tab_text(cx, tab, name, &col->name);
}

static int version_decode_by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Every id once, and below the next. */
static alm_status check_ids(alm_ctx *cx, const alm_description *description)
{
    uint32_t *ids = NULL;
    const uint32_t n_cols = description->table.n_cols;
    ALM_TRY(alm_heap_bytes(cx, n_cols * sizeof *ids, "columns", &ids));
    for (uint32_t i = 0; i < n_cols; i++)
        ids[i] = description->table.cols[i].id;
    qsort(ids, n_cols, sizeof *ids, version_decode_by_number);
    bool good = n_cols == 0 || (ids[0] > 0 && ids[n_cols - 1] < description->next_col_id);
    for (uint32_t i = 1; i < n_cols; i++)
        good = good && ids[i] != ids[i - 1];
    free(ids);
    return good ? ALM_OK : version_decode_corrupt(cx, "columns");
}

void alm_description_free(alm_description *description)
{
    free((void *)(uintptr_t)description->table.cols);
    free(description->counts);
    alm_view_obj_release(description->view);
    *description = (alm_description){0};
}

/* The columns behind the head of the description. */
static alm_status get_columns(alm_ctx *cx, alm_reader *reader, alm_tab *tab,
                              alm_description *description)
{
    alm_column *cols = NULL;
    const uint32_t n_cols = description->table.n_cols;
    const int32_t ts_col = description->table.ts_col;
    ALM_TRY(alm_heap_bytes(cx, n_cols * sizeof *cols, "columns", &cols));
    description->table.cols = cols;
    ALM_TRY(
        alm_heap_bytes(cx, n_cols * sizeof *description->counts, "columns", &description->counts));
    for (uint32_t i = 0; i < n_cols; i++)
        ALM_TRY(alm_get_column(cx, reader, tab, &cols[i], &description->counts[i]));
    ALM_TRY(check_ids(cx, description));
    if (ts_col >= 0 && !alm_type_is_timestamp(cols[ts_col].type))
        return version_decode_corrupt(cx, "a designated timestamp");
    return ALM_OK;
}

alm_status alm_get_description(alm_ctx *cx, alm_reader *reader, alm_tab *tab, alm_description *out)
{
    alm_description description = {.table = {.id = alm_get_u64(reader)}};
    const alm_str name = alm_get_text(reader);
    alm_table *table = &description.table;
    table->schema_version = alm_get_u64(reader);
    description.next_col_id = alm_get_u32(reader);
    table->ts_col = (int32_t)alm_get_u32(reader);
    const uint8_t partition = alm_get_u8(reader);
    table->wal = alm_get_u8(reader) != 0;
    table->dedup = alm_get_u8(reader) != 0;
    const uint8_t kind = alm_get_u8(reader);
    table->ttl_hours = alm_get_i64(reader);
    table->max_uncommitted_rows = alm_get_i64(reader);
    table->o3_max_lag_us = alm_get_i64(reader);
    table->n_cols = alm_get_u32(reader);
    if (reader->bad || table->n_cols > COLUMNS_MAX || partition > ALM_PART_YEAR ||
        table->ts_col < -1 || kind > ALM_TABLE_MATVIEW || table->ts_col >= (int32_t)table->n_cols)
        return version_decode_corrupt(cx, "a table");
    table->partition = (alm_partition_by)partition;
    table->kind = (alm_table_kind)kind;
    alm_status status = alm_tab_text(cx, tab, name, &table->name);
    if (status == ALM_OK)
        status = get_columns(cx, reader, tab, &description);
    if (status == ALM_OK && kind != ALM_TABLE_BASE)
        status = alm_get_view(cx, reader, &description.view);
    if (status != ALM_OK) {
        alm_description_free(&description);
        return status;
    }
    *out = description;
    return ALM_OK;
}

alm_status alm_get_table(alm_ctx *cx, alm_storage *storage, alm_reader *reader, alm_version **out,
                         uint32_t **counts)
{
    alm_reader head = *reader;
    alm_version version = {.refs = 1};
    alm_description description;
    ALM_TRY(alm_tab_new(cx, storage, alm_get_u64(&head), &version.tab));
    alm_status status = alm_get_description(cx, reader, version.tab, &description);
    if (status == ALM_OK) {
        status = alm_schema_new(cx, storage, version.tab, description.table.cols,
                                description.table.n_cols, NULL, NULL, &version.schema);
        version.table = description.table;
        version.table.kept_from = INT64_MIN;
        version.next_col_id = description.next_col_id;
        version.view = description.view;
        if (status == ALM_OK)
            status = alm_version_bare(cx, &version, out); /* takes references of its own */
        if (status == ALM_OK) {
            *counts = description.counts;
            description.counts = NULL;
        }
        alm_description_free(&description);
    }
    alm_schema_release(version.schema);
    alm_tab_release(version.tab);
    return status;
}

/* The next number to give out is above all that were seen. */
static void see_number(_Atomic uint64_t *next, uint64_t seen)
{
    if (atomic_load(next) <= seen)
        atomic_store(next, seen + 1);
}

void alm_get_file(alm_reader *reader, alm_part_claim *claim)
{
    claim->file_id = alm_get_u64(reader);
    claim->bytes = alm_get_i64(reader);
    claim->footer_crc = reader->form >= 1 ? alm_get_u32(reader) : 0;
    claim->pack = reader->form >= 2 ? alm_get_u64(reader) : 0;
    claim->offset = claim->pack != 0 ? alm_get_i64(reader) : 0;
}

/* Only native parts share a file, and a pack is a number of its own. */
static bool is_good_place(const alm_part_claim *claim)
{
    if (claim->pack == 0)
        return true;
    return (claim->pack & ALM_FILE_FORMATS) == ALM_FILE_PACK && claim->offset >= 0 &&
           claim->bytes > 0 && claim->bytes <= INT64_MAX - claim->offset &&
           (claim->file_id & ALM_FILE_FORMATS) == 0;
}

/* An overlay of a part of `rows` rows. */
static alm_status get_overlay(alm_ctx *cx, alm_storage *storage, uint64_t table_id,
                              alm_reader *reader, int64_t rows, alm_overlay *out)
{
    alm_part_claim claim = {
        .table_id = table_id, .rows = rows, .min_ts = INT64_MAX, .max_ts = INT64_MIN};
    out->col_id = alm_get_u32(reader);
    alm_get_file(reader, &claim);
    if (reader->bad || claim.file_id == 0 || (claim.file_id & ALM_FILE_FORMATS) != 0 ||
        !is_good_place(&claim))
        return version_decode_corrupt(cx, "a part");
    see_number(&storage->next_file_id, claim.file_id);
    see_number(&storage->next_file_id, claim.pack & ~ALM_FILE_PACK);
    return alm_file_known(cx, storage, &claim, &out->file);
}

alm_status alm_get_part(alm_ctx *cx, alm_storage *storage, uint64_t table_id, alm_reader *reader,
                        alm_part_ref **out)
{
    alm_part_ref part = {.id = alm_get_u64(reader), .seq = alm_get_u64(reader)};
    part.rows = alm_get_i64(reader);
    part.min_ts = alm_get_i64(reader);
    part.max_ts = alm_get_i64(reader);
    part.bucket = alm_get_i64(reader);
    alm_part_claim claim = {
        .table_id = table_id, .rows = part.rows, .min_ts = part.min_ts, .max_ts = part.max_ts};
    alm_get_file(reader, &claim);
    const uint64_t number = claim.file_id & ~ALM_FILE_PARQUET;
    const uint32_t n = alm_get_u32(reader);
    if (reader->bad || (claim.file_id & ALM_FILE_PACK) != 0 || !is_good_place(&claim) ||
        part.rows <= 0 || part.id == 0 || part.seq == 0 || number == 0 || n > COLUMNS_MAX)
        return version_decode_corrupt(cx, "a part");
    see_number(&storage->next_part_id, part.id);
    see_number(&storage->next_seq, part.seq);
    see_number(&storage->next_file_id, number);
    see_number(&storage->next_file_id, claim.pack & ~ALM_FILE_PACK);
    ALM_TRY(alm_heap_bytes(cx, n * sizeof *part.overlays, "a part", &part.overlays));
    alm_status status = alm_file_known(cx, storage, &claim, &part.file);
    for (uint32_t i = 0; i < n && status == ALM_OK; i++) {
        status = get_overlay(cx, storage, table_id, reader, part.rows, &part.overlays[i]);
        part.n_overlays += status == ALM_OK;
    }
    if (status == ALM_OK)
        status = alm_part_ref_new(cx, storage, &part, out);
    for (uint32_t i = 0; i < part.n_overlays; i++)
        alm_file_release(part.overlays[i].file);
    alm_file_release(part.file);
    free(part.overlays);
    return status;
}

static void *column_at(const alm_chunk *chunk, uint32_t col, uint32_t row)
{
    return (char *)chunk->cols[col] + (size_t)row * alm_type_width(chunk->schema->cols[col].type);
}

/* Offsets become addresses: of `text`, where the bytes of the heap are. */
static alm_status place_views(alm_ctx *cx, alm_view *views, uint32_t n, const char *text,
                              uint64_t heap_bytes)
{
    for (uint32_t i = 0; i < n; i++) {
        if (alm_view_is_null(&views[i]) || views[i].len <= ALM_VIEW_INLINE)
            continue;
        if (views[i].off > heap_bytes || views[i].len > heap_bytes - views[i].off)
            return version_decode_corrupt(cx, "text values");
        views[i].off = (uintptr_t)(text + views[i].off);
    }
    return ALM_OK;
}

/* Views whose texts are copied with them: all of the heap at once, or those of some rows. */
static alm_status version_decode_copy_views(alm_ctx *cx, const struct alm_rows_col *col,
                                            uint32_t from, uint32_t n, bool all, alm_chunk *chunk,
                                            alm_view *views)
{
    char *text = NULL;
    memcpy(views, col->values + (size_t)from * sizeof *views, n * sizeof *views);
    if (!all || col->heap_bytes == 0) {
        ALM_TRY(place_views(cx, views, n, col->heap, col->heap_bytes));
        return alm_chunk_own_text(cx, chunk, views, n);
    }
    ALM_TRY(alm_chunk_text(cx, chunk, (size_t)col->heap_bytes, &text));
    memcpy(text, col->heap, (size_t)col->heap_bytes);
    return place_views(cx, views, n, text, col->heap_bytes);
}

static alm_status get_values(alm_ctx *cx, alm_reader *reader, const alm_schema *schema,
                             alm_rows_body *body)
{
    const uint32_t id = alm_get_u32(reader);
    uint32_t length = 0;
    const alm_type type = get_type(reader, &length);
    reader->bad |= length > 0;
    const uint64_t heap_bytes = alm_get_u64(reader);
    if (reader->bad || heap_bytes > (uint64_t)(reader->end - reader->at))
        return version_decode_corrupt(cx, "rows");
    const bool text = alm_type_holds_views(type);
    const uint64_t bytes = (uint64_t)alm_type_width(type) * body->rows;
    const char *values = alm_get_bytes(reader, alm_padded(bytes));
    const char *heap = text ? alm_get_bytes(reader, alm_padded(heap_bytes)) : NULL;
    const int32_t col = alm_schema_find(schema, id);
    if (values == NULL || (text && heap == NULL) || (col >= 0 && body->cols[col].values != NULL))
        return version_decode_corrupt(cx, "rows");
    if (col < 0)
        return ALM_OK; /* a column that is gone */
    if (!alm_type_eq(schema->cols[col].type, type))
        return version_decode_corrupt(cx, "rows");
    body->cols[col] = (struct alm_rows_col){values, heap, text ? heap_bytes : 0};
    return ALM_OK;
}

alm_status alm_get_rows_body(alm_ctx *cx, alm_reader *reader, const alm_schema *schema,
                             alm_rows_body *out)
{
    const uint64_t n = alm_get_u64(reader);
    const uint32_t n_cols = alm_get_u32(reader);
    (void)alm_get_u32(reader);
    /* A row takes at least a byte, so this bounds what a damaged number can ask for. */
    if (reader->bad || n == 0 || n > INT32_MAX || n > (uint64_t)(reader->end - reader->at) ||
        n_cols > COLUMNS_MAX)
        return version_decode_corrupt(cx, "rows");
    if (out->cap < schema->n_cols) {
        alm_rows_body_free(out);
        ALM_TRY(alm_heap_bytes(cx, schema->n_cols * sizeof *out->cols, "rows", &out->cols));
        out->cap = schema->n_cols;
    }
    out->rows = (uint32_t)n;
    out->n_cols = schema->n_cols;
    for (uint32_t col = 0; col < out->n_cols; col++)
        out->cols[col] = (struct alm_rows_col){0};
    for (uint32_t i = 0; i < n_cols; i++)
        ALM_TRY(get_values(cx, reader, schema, out));
    return ALM_OK;
}

void alm_rows_body_free(alm_rows_body *body)
{
    free(body->cols);
    *body = (alm_rows_body){0};
}

alm_status alm_rows_body_copy(alm_ctx *cx, const alm_rows_body *body, uint32_t from, uint32_t n,
                              alm_chunk *chunk, uint32_t place)
{
    ALM_ASSERT(chunk->n_cols == body->n_cols && place + n <= chunk->cap && from + n <= body->rows);
    for (uint32_t column = 0; column < chunk->n_cols; column++) {
        const struct alm_rows_col *col = &body->cols[column];
        const alm_type type = chunk->schema->cols[column].type;
        const size_t width = alm_type_width(type);
        void *dest = column_at(chunk, column, place);
        if (col->values == NULL)
            ALM_TRY(alm_chunk_null(cx, chunk, column, place, n));
        else if (alm_type_holds_views(type))
            ALM_TRY(version_decode_copy_views(cx, col, from, n, n == body->rows, chunk, dest));
        else
            memcpy(dest, col->values + from * width, n * width);
    }
    return ALM_OK;
}

bool alm_rows_body_is_aligned(const alm_rows_body *body)
{
    uintptr_t bits = 0;
    for (uint32_t col = 0; col < body->n_cols; col++)
        bits |= (uintptr_t)body->cols[col].values;
    return bits % sizeof(uint64_t) == 0;
}

alm_status alm_rows_body_borrow(alm_ctx *cx, const alm_rows_body *body, alm_schema *schema,
                                alm_chunk **out)
{
    const char **lent = NULL;
    alm_chunk *chunk = NULL;
    ALM_ASSERT(schema->n_cols == body->n_cols && alm_rows_body_is_aligned(body));
    ALM_TRY(alm_heap_bytes(cx, body->n_cols * sizeof *lent, "rows", (void *)&lent));
    for (uint32_t c = 0; c < body->n_cols; c++)
        lent[c] = alm_type_holds_views(schema->cols[c].type) ? NULL : body->cols[c].values;
    alm_status status = alm_chunk_borrow(cx, schema, body->rows, lent, &chunk);
    for (uint32_t c = 0; c < body->n_cols && status == ALM_OK; c++) {
        const struct alm_rows_col *col = &body->cols[c];
        if (col->values == NULL) {
            status = alm_chunk_null(cx, chunk, c, 0, body->rows);
        } else if (lent[c] == NULL) {
            memcpy(chunk->cols[c], col->values, body->rows * sizeof(alm_view));
            status = place_views(cx, chunk->cols[c], body->rows, col->heap, col->heap_bytes);
        }
    }
    free((void *)lent);
    if (status != ALM_OK) {
        alm_chunk_release(chunk);
        return status;
    }
    *out = chunk;
    return ALM_OK;
}

alm_status alm_get_rows(alm_ctx *cx, alm_reader *reader, alm_schema *schema, alm_chunk **out,
                        uint32_t *rows)
{
    alm_rows_body body = {0};
    alm_chunk *chunk = NULL;
    alm_status status = alm_get_rows_body(cx, reader, schema, &body);
    if (status == ALM_OK)
        status = alm_chunk_new(cx, schema, body.rows, &chunk);
    if (status == ALM_OK)
        status = alm_rows_body_copy(cx, &body, 0, body.rows, chunk, 0);
    *rows = body.rows;
    alm_rows_body_free(&body);
    if (status != ALM_OK) {
        alm_chunk_release(chunk);
        return status;
    }
    *out = chunk;
    return ALM_OK;
}

static bool is_ascending(const int64_t *ts, uint32_t n)
{
    bool fine = n == 0 || ts[0] != ALM_TS_NULL;
    for (uint32_t i = 1; i < n; i++)
        fine &= ts[i - 1] <= ts[i];
    return fine;
}

bool alm_rows_fit(const alm_chunk *chunk, uint32_t place, uint32_t rows, int32_t ts_col)
{
    const alm_schema *schema = chunk->schema;
    bool fit = ts_col < 0 || is_ascending(column_at(chunk, (uint32_t)ts_col, place), rows);
    for (uint32_t col = 0; col < schema->n_cols && fit; col++)
        fit = schema->symbols[col] == NULL ||
              alm_codes_largest(column_at(chunk, col, place), sizeof(uint32_t), rows) <
                  alm_symbols_count(schema->symbols[col]);
    return fit;
}

/* ---------------------------------------------------- views, comments, records */

static alm_every get_every(alm_reader *reader)
{
    alm_every every = {.count = alm_get_u32(reader)};
    const uint32_t unit = alm_get_u32(reader);
    every.unit = (char)unit;
    if (every.count > 0 && (unit > 127 || unit == 0 || strchr("smhdwMy", (int)unit) == NULL))
        reader->bad = true;
    return every;
}

/* A text with an end: the bytes have none. */
static alm_status end_text(alm_ctx *cx, alm_str text, char **out)
{
    ALM_TRY(alm_heap_bytes(cx, text.len + 1, "a view", out));
    if (text.len > 0)
        memcpy(*out, text.ptr, text.len);
    return ALM_OK;
}

alm_status alm_get_view(alm_ctx *cx, alm_reader *reader, alm_view_obj **out)
{
    alm_view_def def = {0};
    alm_str texts[4];
    char *ended[4] = {0};
    texts[0] = alm_get_text(reader);
    texts[1] = alm_get_text(reader);
    def.status_us = alm_get_i64(reader);
    texts[2] = alm_get_text(reader);
    def.base_id = alm_get_u64(reader);
    const uint32_t refresh = alm_get_u32(reader);
    const uint32_t flags = alm_get_u32(reader);
    def.deferred = (flags & ALM_STORED_VIEW_DEFERRED) != 0;
    def.every = get_every(reader);
    def.period = get_every(reader);
    def.delay = get_every(reader);
    def.limit = get_every(reader);
    def.start_us = alm_get_i64(reader);
    texts[3] = alm_get_text(reader);
    def.lsn = alm_get_u64(reader);
    def.period_hi = alm_get_i64(reader);
    def.started_us = alm_get_i64(reader);
    def.finished_us = alm_get_i64(reader);
    if ((flags & ALM_STORED_VIEW_BUCKET) != 0)
        def.bucket = get_every(reader);
    if (reader->bad || refresh > ALM_REFRESH_TIMER)
        return alm_fail(cx, ALM_E_CORRUPT, -1, "stored description of a view is damaged");
    def.refresh = (alm_refresh_kind)refresh;
    alm_status status = ALM_OK;
    for (size_t i = 0; i < ALM_COUNT(texts) && status == ALM_OK; i++)
        status = end_text(cx, texts[i], &ended[i]);
    def.sql = ended[0];
    def.reason = ended[1];
    def.base = ended[2];
    def.zone = ended[3];
    if (status == ALM_OK)
        status = alm_view_obj_new(cx, &def, out);
    for (size_t i = 0; i < ALM_COUNT(ended); i++)
        free(ended[i]);
    return status;
}

alm_status alm_get_comments(alm_ctx *cx, alm_reader *reader, alm_version *version)
{
    const uint32_t n = alm_get_u32(reader);
    for (uint32_t i = 0; i < n; i++) {
        alm_comments *comments = NULL;
        const uint32_t col_id = alm_get_u32(reader);
        const alm_str text = alm_get_text(reader);
        if (reader->bad || text.len == 0 ||
            (col_id != 0 && alm_schema_find(version->schema, col_id) < 0))
            return alm_fail(cx, ALM_E_CORRUPT, -1, "stored comments of table '%s' are damaged",
                            version->table.name);
        ALM_TRY(alm_comments_with(cx, version->comments, col_id, text, &comments));
        alm_comments_release(version->comments);
        version->comments = comments;
    }
    return ALM_OK;
}

/* n rows from the reader into the build; a value that is not there removes. */
static alm_status get_records(alm_ctx *cx, alm_build *build, alm_reader *reader)
{
    enum { ROW_BYTES_MIN = 12 };
    const uint32_t n = alm_get_u32(reader);
    alm_record *rows = NULL;
    if (reader->bad || n > (uint64_t)(reader->end - reader->at) / ROW_BYTES_MIN)
        return alm_fail(cx, ALM_E_CORRUPT, -1, "stored records are damaged");
    ALM_TRY(alm_heap_bytes(cx, (n + (size_t)1) * sizeof *rows, "records", &rows));
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t there = alm_get_u32(reader);
        rows[i].key = alm_get_text(reader);
        rows[i].value = alm_get_text(reader);
        if (there == 0)
            rows[i].value = (alm_str){NULL, 0};
        reader->bad |= there > 1 || rows[i].key.len == 0;
    }
    const alm_status status = reader->bad
                                  ? alm_fail(cx, ALM_E_CORRUPT, -1, "stored records are damaged")
                                  : alm_records_apply(cx, build, rows, n);
    free(rows);
    return status;
}

alm_status alm_redo_records(alm_ctx *cx, alm_build *build, alm_reader *reader)
{
    return get_records(cx, build, reader);
}

alm_status alm_get_records(alm_ctx *cx, alm_build *build, alm_reader *reader)
{
    const uint64_t lsn = alm_get_u64(reader);
    ALM_TRY(get_records(cx, build, reader));
    build->next->records->lsn = lsn;
    return ALM_OK;
}
