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

static alm_status corrupt(alm_ctx *cx, const char *what)
{
    return alm_fail(cx, ALM_E_CORRUPT, -1, "stored description of %s is damaged", what);
}

static bool type_is_known(alm_type t)
{
    return alm_type_is_valid(t);
}

/* *length: of a VARCHAR(n), in the bytes that the type has no use for. */
static alm_type get_type(alm_reader *r, uint32_t *length)
{
    alm_type t = {0};
    const char *at = alm_get_bytes(r, sizeof t);
    if (at != NULL)
        memcpy(&t, at, sizeof t);
    if (t.id == ALM_T_VARCHAR) {
        *length = t.p | (uint32_t)t.s << 8 | (uint32_t)t.dims << 16;
        t = ALM_TY(VARCHAR);
    }
    if (!type_is_known(t))
        r->bad = true;
    return t;
}

alm_status alm_get_column(alm_ctx *cx, alm_reader *r, alm_tab *tab, alm_column *col,
                          uint32_t *dict_count)
{
    *col = (alm_column){.id = alm_get_u32(r)};
    col->type = get_type(r, &col->length);
    col->indexed = alm_get_u8(r) != 0;
    col->dedup_key = alm_get_u8(r) != 0;
    col->symbol_cached = alm_get_u8(r) != 0;
    (void)alm_get_u8(r);
    col->symbol_capacity = alm_get_i64(r);
    col->index_capacity = alm_get_i64(r);
    *dict_count = alm_get_u32(r);
    const alm_str name = alm_get_text(r);
    if (r->bad)
        return corrupt(cx, "a column");
    return alm_tab_text(cx, tab, name, &col->name);
}

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Every id once, and below the next. */
static alm_status check_ids(alm_ctx *cx, const alm_description *d)
{
    uint32_t *ids = NULL;
    const uint32_t n = d->table.n_cols;
    ALM_TRY(alm_heap_bytes(cx, n * sizeof *ids, "columns", &ids));
    for (uint32_t i = 0; i < n; i++)
        ids[i] = d->table.cols[i].id;
    qsort(ids, n, sizeof *ids, by_number);
    bool good = n == 0 || (ids[0] > 0 && ids[n - 1] < d->next_col_id);
    for (uint32_t i = 1; i < n; i++)
        good = good && ids[i] != ids[i - 1];
    free(ids);
    return good ? ALM_OK : corrupt(cx, "columns");
}

void alm_description_free(alm_description *d)
{
    free((void *)(uintptr_t)d->table.cols);
    free(d->counts);
    alm_view_obj_release(d->view);
    *d = (alm_description){0};
}

/* The columns behind the head of the description. */
static alm_status get_columns(alm_ctx *cx, alm_reader *r, alm_tab *tab, alm_description *d)
{
    alm_column *cols = NULL;
    const uint32_t n = d->table.n_cols;
    const int32_t ts_col = d->table.ts_col;
    ALM_TRY(alm_heap_bytes(cx, n * sizeof *cols, "columns", &cols));
    d->table.cols = cols;
    ALM_TRY(alm_heap_bytes(cx, n * sizeof *d->counts, "columns", &d->counts));
    for (uint32_t i = 0; i < n; i++)
        ALM_TRY(alm_get_column(cx, r, tab, &cols[i], &d->counts[i]));
    ALM_TRY(check_ids(cx, d));
    if (ts_col >= 0 && !alm_type_is_timestamp(cols[ts_col].type))
        return corrupt(cx, "a designated timestamp");
    return ALM_OK;
}

alm_status alm_get_description(alm_ctx *cx, alm_reader *r, alm_tab *tab, alm_description *out)
{
    alm_description d = {.table = {.id = alm_get_u64(r)}};
    const alm_str name = alm_get_text(r);
    alm_table *t = &d.table;
    t->schema_version = alm_get_u64(r);
    d.next_col_id = alm_get_u32(r);
    t->ts_col = (int32_t)alm_get_u32(r);
    const uint8_t partition = alm_get_u8(r);
    t->wal = alm_get_u8(r) != 0;
    t->dedup = alm_get_u8(r) != 0;
    const uint8_t kind = alm_get_u8(r);
    t->ttl_hours = alm_get_i64(r);
    t->max_uncommitted_rows = alm_get_i64(r);
    t->o3_max_lag_us = alm_get_i64(r);
    t->n_cols = alm_get_u32(r);
    if (r->bad || t->n_cols > COLUMNS_MAX || partition > ALM_PART_YEAR || t->ts_col < -1 ||
        kind > ALM_TABLE_MATVIEW || t->ts_col >= (int32_t)t->n_cols)
        return corrupt(cx, "a table");
    t->partition = (alm_partition_by)partition;
    t->kind = (alm_table_kind)kind;
    alm_status e = alm_tab_text(cx, tab, name, &t->name);
    if (e == ALM_OK)
        e = get_columns(cx, r, tab, &d);
    if (e == ALM_OK && kind != ALM_TABLE_BASE)
        e = alm_get_view(cx, r, &d.view);
    if (e != ALM_OK) {
        alm_description_free(&d);
        return e;
    }
    *out = d;
    return ALM_OK;
}

alm_status alm_get_table(alm_ctx *cx, alm_storage *st, alm_reader *r, alm_version **out,
                         uint32_t **counts)
{
    alm_reader head = *r;
    alm_version v = {.refs = 1};
    alm_description d;
    ALM_TRY(alm_tab_new(cx, st, alm_get_u64(&head), &v.tab));
    alm_status e = alm_get_description(cx, r, v.tab, &d);
    if (e == ALM_OK) {
        e = alm_schema_new(cx, st, v.tab, d.table.cols, d.table.n_cols, NULL, NULL, &v.schema);
        v.table = d.table;
        v.table.kept_from = INT64_MIN;
        v.next_col_id = d.next_col_id;
        v.view = d.view;
        if (e == ALM_OK)
            e = alm_version_bare(cx, &v, out); /* takes references of its own */
        if (e == ALM_OK) {
            *counts = d.counts;
            d.counts = NULL;
        }
        alm_description_free(&d);
    }
    alm_schema_release(v.schema);
    alm_tab_release(v.tab);
    return e;
}

/* The next number to give out is above all that were seen. */
static void see_number(_Atomic uint64_t *next, uint64_t seen)
{
    if (atomic_load(next) <= seen)
        atomic_store(next, seen + 1);
}

void alm_get_file(alm_reader *r, alm_part_claim *claim)
{
    claim->file_id = alm_get_u64(r);
    claim->bytes = alm_get_i64(r);
    claim->footer_crc = r->form >= 1 ? alm_get_u32(r) : 0;
    claim->pack = r->form >= 2 ? alm_get_u64(r) : 0;
    claim->offset = claim->pack != 0 ? alm_get_i64(r) : 0;
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
static alm_status get_overlay(alm_ctx *cx, alm_storage *st, uint64_t table_id, alm_reader *r,
                              int64_t rows, alm_overlay *out)
{
    alm_part_claim claim = {
        .table_id = table_id, .rows = rows, .min_ts = INT64_MAX, .max_ts = INT64_MIN};
    out->col_id = alm_get_u32(r);
    alm_get_file(r, &claim);
    if (r->bad || claim.file_id == 0 || (claim.file_id & ALM_FILE_FORMATS) != 0 ||
        !is_good_place(&claim))
        return corrupt(cx, "a part");
    see_number(&st->next_file_id, claim.file_id);
    see_number(&st->next_file_id, claim.pack & ~ALM_FILE_PACK);
    return alm_file_known(cx, st, &claim, &out->file);
}

alm_status alm_get_part(alm_ctx *cx, alm_storage *st, uint64_t table_id, alm_reader *r,
                        alm_part_ref **out)
{
    alm_part_ref p = {.id = alm_get_u64(r), .seq = alm_get_u64(r)};
    p.rows = alm_get_i64(r);
    p.min_ts = alm_get_i64(r);
    p.max_ts = alm_get_i64(r);
    p.bucket = alm_get_i64(r);
    alm_part_claim claim = {
        .table_id = table_id, .rows = p.rows, .min_ts = p.min_ts, .max_ts = p.max_ts};
    alm_get_file(r, &claim);
    const uint64_t number = claim.file_id & ~ALM_FILE_PARQUET;
    const uint32_t n = alm_get_u32(r);
    if (r->bad || (claim.file_id & ALM_FILE_PACK) != 0 || !is_good_place(&claim) || p.rows <= 0 ||
        p.id == 0 || p.seq == 0 || number == 0 || n > COLUMNS_MAX)
        return corrupt(cx, "a part");
    see_number(&st->next_part_id, p.id);
    see_number(&st->next_seq, p.seq);
    see_number(&st->next_file_id, number);
    see_number(&st->next_file_id, claim.pack & ~ALM_FILE_PACK);
    ALM_TRY(alm_heap_bytes(cx, n * sizeof *p.overlays, "a part", &p.overlays));
    alm_status e = alm_file_known(cx, st, &claim, &p.file);
    for (uint32_t i = 0; i < n && e == ALM_OK; i++) {
        e = get_overlay(cx, st, table_id, r, p.rows, &p.overlays[i]);
        p.n_overlays += e == ALM_OK;
    }
    if (e == ALM_OK)
        e = alm_part_ref_new(cx, st, &p, out);
    for (uint32_t i = 0; i < p.n_overlays; i++)
        alm_file_release(p.overlays[i].file);
    alm_file_release(p.file);
    free(p.overlays);
    return e;
}

static void *column_at(const alm_chunk *chunk, uint32_t c, uint32_t row)
{
    return (char *)chunk->cols[c] + (size_t)row * alm_type_width(chunk->schema->cols[c].type);
}

/* Offsets become addresses: of `text`, where the bytes of the heap are. */
static alm_status place_views(alm_ctx *cx, alm_view *views, uint32_t n, const char *text,
                              uint64_t heap_bytes)
{
    for (uint32_t i = 0; i < n; i++) {
        if (alm_view_is_null(&views[i]) || views[i].len <= ALM_VIEW_INLINE)
            continue;
        if (views[i].off > heap_bytes || views[i].len > heap_bytes - views[i].off)
            return corrupt(cx, "text values");
        views[i].off = (uintptr_t)(text + views[i].off);
    }
    return ALM_OK;
}

/* Views whose texts are copied with them: all of the heap at once, or those of some rows. */
static alm_status copy_views(alm_ctx *cx, const struct alm_rows_col *col, uint32_t from, uint32_t n,
                             bool all, alm_chunk *chunk, alm_view *views)
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

static alm_status get_values(alm_ctx *cx, alm_reader *r, const alm_schema *schema,
                             alm_rows_body *body)
{
    const uint32_t id = alm_get_u32(r);
    uint32_t length = 0;
    const alm_type type = get_type(r, &length);
    r->bad |= length > 0;
    const uint64_t heap_bytes = alm_get_u64(r);
    if (r->bad || heap_bytes > (uint64_t)(r->end - r->at))
        return corrupt(cx, "rows");
    const bool text = alm_type_holds_views(type);
    const uint64_t bytes = (uint64_t)alm_type_width(type) * body->rows;
    const char *values = alm_get_bytes(r, alm_padded(bytes));
    const char *heap = text ? alm_get_bytes(r, alm_padded(heap_bytes)) : NULL;
    const int32_t c = alm_schema_find(schema, id);
    if (values == NULL || (text && heap == NULL) || (c >= 0 && body->cols[c].values != NULL))
        return corrupt(cx, "rows");
    if (c < 0)
        return ALM_OK; /* a column that is gone */
    if (!alm_type_eq(schema->cols[c].type, type))
        return corrupt(cx, "rows");
    body->cols[c] = (struct alm_rows_col){values, heap, text ? heap_bytes : 0};
    return ALM_OK;
}

alm_status alm_get_rows_body(alm_ctx *cx, alm_reader *r, const alm_schema *schema,
                             alm_rows_body *out)
{
    const uint64_t n = alm_get_u64(r);
    const uint32_t n_cols = alm_get_u32(r);
    (void)alm_get_u32(r);
    /* A row takes at least a byte, so this bounds what a damaged number can ask for. */
    if (r->bad || n == 0 || n > INT32_MAX || n > (uint64_t)(r->end - r->at) || n_cols > COLUMNS_MAX)
        return corrupt(cx, "rows");
    if (out->cap < schema->n_cols) {
        alm_rows_body_free(out);
        ALM_TRY(alm_heap_bytes(cx, schema->n_cols * sizeof *out->cols, "rows", &out->cols));
        out->cap = schema->n_cols;
    }
    out->rows = (uint32_t)n;
    out->n_cols = schema->n_cols;
    for (uint32_t c = 0; c < out->n_cols; c++)
        out->cols[c] = (struct alm_rows_col){0};
    for (uint32_t i = 0; i < n_cols; i++)
        ALM_TRY(get_values(cx, r, schema, out));
    return ALM_OK;
}

void alm_rows_body_free(alm_rows_body *body)
{
    free(body->cols);
    *body = (alm_rows_body){0};
}

alm_status alm_rows_body_copy(alm_ctx *cx, const alm_rows_body *body, uint32_t from, uint32_t n,
                              alm_chunk *chunk, uint32_t at)
{
    ALM_ASSERT(chunk->n_cols == body->n_cols && at + n <= chunk->cap && from + n <= body->rows);
    for (uint32_t c = 0; c < chunk->n_cols; c++) {
        const struct alm_rows_col *col = &body->cols[c];
        const alm_type type = chunk->schema->cols[c].type;
        const size_t width = alm_type_width(type);
        void *to = column_at(chunk, c, at);
        if (col->values == NULL)
            ALM_TRY(alm_chunk_null(cx, chunk, c, at, n));
        else if (alm_type_holds_views(type))
            ALM_TRY(copy_views(cx, col, from, n, n == body->rows, chunk, to));
        else
            memcpy(to, col->values + from * width, n * width);
    }
    return ALM_OK;
}

bool alm_rows_body_is_aligned(const alm_rows_body *body)
{
    uintptr_t bits = 0;
    for (uint32_t c = 0; c < body->n_cols; c++)
        bits |= (uintptr_t)body->cols[c].values;
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
    alm_status e = alm_chunk_borrow(cx, schema, body->rows, lent, &chunk);
    for (uint32_t c = 0; c < body->n_cols && e == ALM_OK; c++) {
        const struct alm_rows_col *col = &body->cols[c];
        if (col->values == NULL) {
            e = alm_chunk_null(cx, chunk, c, 0, body->rows);
        } else if (lent[c] == NULL) {
            memcpy(chunk->cols[c], col->values, body->rows * sizeof(alm_view));
            e = place_views(cx, chunk->cols[c], body->rows, col->heap, col->heap_bytes);
        }
    }
    free((void *)lent);
    if (e != ALM_OK) {
        alm_chunk_release(chunk);
        return e;
    }
    *out = chunk;
    return ALM_OK;
}

alm_status alm_get_rows(alm_ctx *cx, alm_reader *r, alm_schema *schema, alm_chunk **out,
                        uint32_t *rows)
{
    alm_rows_body body = {0};
    alm_chunk *chunk = NULL;
    alm_status e = alm_get_rows_body(cx, r, schema, &body);
    if (e == ALM_OK)
        e = alm_chunk_new(cx, schema, body.rows, &chunk);
    if (e == ALM_OK)
        e = alm_rows_body_copy(cx, &body, 0, body.rows, chunk, 0);
    *rows = body.rows;
    alm_rows_body_free(&body);
    if (e != ALM_OK) {
        alm_chunk_release(chunk);
        return e;
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

bool alm_rows_fit(const alm_chunk *chunk, uint32_t at, uint32_t rows, int32_t ts_col)
{
    const alm_schema *s = chunk->schema;
    bool fit = ts_col < 0 || is_ascending(column_at(chunk, (uint32_t)ts_col, at), rows);
    for (uint32_t c = 0; c < s->n_cols && fit; c++)
        fit = s->symbols[c] == NULL || alm_codes_largest(column_at(chunk, c, at), sizeof(uint32_t),
                                                         rows) < alm_symbols_count(s->symbols[c]);
    return fit;
}

/* ---------------------------------------------------- views, comments, records */

static alm_every get_every(alm_reader *r)
{
    alm_every e = {.count = alm_get_u32(r)};
    const uint32_t unit = alm_get_u32(r);
    e.unit = (char)unit;
    if (e.count > 0 && (unit > 127 || unit == 0 || strchr("smhdwMy", (int)unit) == NULL))
        r->bad = true;
    return e;
}

/* A text with an end: the bytes have none. */
static alm_status end_text(alm_ctx *cx, alm_str text, char **out)
{
    ALM_TRY(alm_heap_bytes(cx, text.len + 1, "a view", out));
    if (text.len > 0)
        memcpy(*out, text.ptr, text.len);
    return ALM_OK;
}

alm_status alm_get_view(alm_ctx *cx, alm_reader *r, alm_view_obj **out)
{
    alm_view_def v = {0};
    alm_str texts[4];
    char *ended[4] = {0};
    texts[0] = alm_get_text(r);
    texts[1] = alm_get_text(r);
    v.status_us = alm_get_i64(r);
    texts[2] = alm_get_text(r);
    v.base_id = alm_get_u64(r);
    const uint32_t refresh = alm_get_u32(r);
    const uint32_t flags = alm_get_u32(r);
    v.deferred = (flags & ALM_STORED_VIEW_DEFERRED) != 0;
    v.every = get_every(r);
    v.period = get_every(r);
    v.delay = get_every(r);
    v.limit = get_every(r);
    v.start_us = alm_get_i64(r);
    texts[3] = alm_get_text(r);
    v.lsn = alm_get_u64(r);
    v.period_hi = alm_get_i64(r);
    v.started_us = alm_get_i64(r);
    v.finished_us = alm_get_i64(r);
    if ((flags & ALM_STORED_VIEW_BUCKET) != 0)
        v.bucket = get_every(r);
    if (r->bad || refresh > ALM_REFRESH_TIMER)
        return alm_fail(cx, ALM_E_CORRUPT, -1, "stored description of a view is damaged");
    v.refresh = (alm_refresh_kind)refresh;
    alm_status e = ALM_OK;
    for (size_t i = 0; i < ALM_COUNT(texts) && e == ALM_OK; i++)
        e = end_text(cx, texts[i], &ended[i]);
    v.sql = ended[0];
    v.reason = ended[1];
    v.base = ended[2];
    v.zone = ended[3];
    if (e == ALM_OK)
        e = alm_view_obj_new(cx, &v, out);
    for (size_t i = 0; i < ALM_COUNT(ended); i++)
        free(ended[i]);
    return e;
}

alm_status alm_get_comments(alm_ctx *cx, alm_reader *r, alm_version *v)
{
    const uint32_t n = alm_get_u32(r);
    for (uint32_t i = 0; i < n; i++) {
        alm_comments *comments = NULL;
        const uint32_t col_id = alm_get_u32(r);
        const alm_str text = alm_get_text(r);
        if (r->bad || text.len == 0 || (col_id != 0 && alm_schema_find(v->schema, col_id) < 0))
            return alm_fail(cx, ALM_E_CORRUPT, -1, "stored comments of table '%s' are damaged",
                            v->table.name);
        ALM_TRY(alm_comments_with(cx, v->comments, col_id, text, &comments));
        alm_comments_release(v->comments);
        v->comments = comments;
    }
    return ALM_OK;
}

/* n rows from the reader into the build; a value that is not there removes. */
static alm_status get_records(alm_ctx *cx, alm_build *b, alm_reader *r)
{
    enum { ROW_BYTES_MIN = 12 };
    const uint32_t n = alm_get_u32(r);
    alm_record *rows = NULL;
    if (r->bad || n > (uint64_t)(r->end - r->at) / ROW_BYTES_MIN)
        return alm_fail(cx, ALM_E_CORRUPT, -1, "stored records are damaged");
    ALM_TRY(alm_heap_bytes(cx, (n + (size_t)1) * sizeof *rows, "records", &rows));
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t there = alm_get_u32(r);
        rows[i].key = alm_get_text(r);
        rows[i].value = alm_get_text(r);
        if (there == 0)
            rows[i].value = (alm_str){NULL, 0};
        r->bad |= there > 1 || rows[i].key.len == 0;
    }
    const alm_status e = r->bad ? alm_fail(cx, ALM_E_CORRUPT, -1, "stored records are damaged")
                                : alm_records_apply(cx, b, rows, n);
    free(rows);
    return e;
}

alm_status alm_redo_records(alm_ctx *cx, alm_build *b, alm_reader *r)
{
    return get_records(cx, b, r);
}

alm_status alm_get_records(alm_ctx *cx, alm_build *b, alm_reader *r)
{
    const uint64_t lsn = alm_get_u64(r);
    ALM_TRY(get_records(cx, b, r));
    b->next->records->lsn = lsn;
    return ALM_OK;
}
