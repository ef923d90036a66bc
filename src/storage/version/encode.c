/*
 * encode.c - versions to bytes (encode.h).
 */
#include "storage/version/encode.h"
#include "storage/dict/dict.h"
#include "storage/part/part.h"
#include "storage/version/comment.h"
#include "storage/version/head.h"
#include "storage/version/records.h"

static alm_status put_u8s(alm_ctx *cx, alm_buf *buf, uint8_t a, uint8_t b, uint8_t byte, uint8_t d)
{
    const uint8_t bytes[4] = {a, b, byte, d};
    return alm_buf_append(cx, buf, bytes, sizeof bytes);
}

alm_status alm_put_column(alm_ctx *cx, alm_buf *buf, const alm_column *col, uint32_t dict_count)
{
    ALM_TRY(alm_put_u32(cx, buf, col->id));
    const uint32_t n = col->length; /* in the bytes of the type that a VARCHAR has no use for */
    if (n > 0)
        ALM_TRY(put_u8s(cx, buf, col->type.id, (uint8_t)n, (uint8_t)(n >> 8), (uint8_t)(n >> 16)));
    else
        ALM_TRY(alm_buf_append(cx, buf, &col->type, sizeof col->type));
    ALM_TRY(put_u8s(cx, buf, col->indexed, col->dedup_key, col->symbol_cached, 0));
    ALM_TRY(alm_put_i64(cx, buf, col->symbol_capacity));
    ALM_TRY(alm_put_i64(cx, buf, col->index_capacity));
    ALM_TRY(alm_put_u32(cx, buf, dict_count));
    return alm_put_text(cx, buf, alm_str_of(col->name));
}

alm_status alm_put_table(alm_ctx *cx, alm_buf *buf, const alm_version *version)
{
    const alm_table *table = &version->table;
    ALM_TRY(alm_put_u64(cx, buf, table->id));
    ALM_TRY(alm_put_text(cx, buf, alm_str_of(table->name)));
    ALM_TRY(alm_put_u64(cx, buf, table->schema_version));
    ALM_TRY(alm_put_u32(cx, buf, version->next_col_id));
    ALM_TRY(alm_put_u32(cx, buf, (uint32_t)table->ts_col));
    ALM_TRY(put_u8s(cx, buf, (uint8_t)table->partition, table->wal, table->dedup,
                    (uint8_t)table->kind));
    ALM_TRY(alm_put_i64(cx, buf, table->ttl_hours));
    ALM_TRY(alm_put_i64(cx, buf, table->max_uncommitted_rows));
    ALM_TRY(alm_put_i64(cx, buf, table->o3_max_lag_us));
    ALM_TRY(alm_put_u32(cx, buf, table->n_cols));
    for (uint32_t i = 0; i < table->n_cols; i++) {
        const uint32_t count =
            version->schema->symbols[i] != NULL ? version->schema->dicts[i].count : 1;
        ALM_TRY(alm_put_column(cx, buf, &table->cols[i], count));
    }
    return table->kind == ALM_TABLE_BASE ? ALM_OK : alm_put_view(cx, buf, table->view);
}

alm_status alm_op_alter(alm_ctx *cx, alm_buf *buf, const alm_version *version)
{
    size_t mark = 0;
    ALM_TRY(alm_op_begin(cx, buf, ALM_OP_ALTER, &mark));
    ALM_TRY(alm_put_table(cx, buf, version));
    return alm_op_end(cx, buf, mark);
}

static alm_status version_encode_put_file(alm_ctx *cx, alm_buf *buf, alm_file *file)
{
    ALM_ASSERT(alm_file_unsynced(file)->state == ALM_SYNC_DONE);
    ALM_TRY(alm_put_u64(cx, buf, file->id));
    ALM_TRY(alm_put_i64(cx, buf, file->bytes));
    ALM_TRY(alm_put_u32(cx, buf, atomic_load(&file->footer_crc)));
    ALM_TRY(alm_put_u64(cx, buf, file->pack != NULL ? file->pack->id : 0));
    return file->pack != NULL ? alm_put_i64(cx, buf, file->offset) : ALM_OK;
}

alm_status alm_put_part(alm_ctx *cx, alm_buf *buf, const alm_part_ref *part)
{
    ALM_TRY(alm_put_u64(cx, buf, part->id));
    ALM_ASSERT((part->seq & ALM_SEQ_OPEN) == 0);
    ALM_TRY(alm_put_u64(cx, buf, part->seq));
    ALM_TRY(alm_put_i64(cx, buf, part->rows));
    ALM_TRY(alm_put_i64(cx, buf, part->min_ts));
    ALM_TRY(alm_put_i64(cx, buf, part->max_ts));
    ALM_TRY(alm_put_i64(cx, buf, part->bucket));
    ALM_TRY(version_encode_put_file(cx, buf, part->file));
    ALM_TRY(alm_put_u32(cx, buf, part->n_overlays));
    for (uint32_t i = 0; i < part->n_overlays; i++) {
        ALM_TRY(alm_put_u32(cx, buf, part->overlays[i].col_id));
        ALM_TRY(version_encode_put_file(cx, buf, part->overlays[i].file));
    }
    return ALM_OK;
}

/* Views with offsets into the heap that follows them. */
static alm_status version_encode_put_views(alm_ctx *cx, alm_buf *buf, const alm_view *views,
                                           uint32_t rows)
{
    uint64_t heap = 0;
    for (uint32_t i = 0; i < rows; i++)
        if (!alm_view_is_null(&views[i]) && views[i].len > ALM_VIEW_INLINE)
            heap += views[i].len;
    ALM_TRY(alm_put_u64(cx, buf, heap));
    ALM_TRY(alm_buf_reserve(cx, buf, rows * sizeof(alm_view) + heap + 8));
    uint64_t place = 0;
    for (uint32_t i = 0; i < rows; i++) {
        alm_view view = views[i];
        if (!alm_view_is_null(&view) && view.len > ALM_VIEW_INLINE) {
            view.off = place;
            place += view.len;
        }
        ALM_TRY(alm_buf_append(cx, buf, &view, sizeof view));
    }
    for (uint32_t i = 0; i < rows && heap > 0; i++)
        if (!alm_view_is_null(&views[i]) && views[i].len > ALM_VIEW_INLINE)
            ALM_TRY(alm_buf_append(cx, buf, alm_view_ptr(&views[i], NULL), views[i].len));
    return alm_put_padding(cx, buf, heap);
}

static alm_status version_encode_put_values(alm_ctx *cx, alm_buf *buf, const alm_chunk *chunk,
                                            uint32_t column, uint32_t rows)
{
    const alm_column *col = &chunk->schema->cols[column];
    const size_t bytes = (size_t)alm_type_width(col->type) * rows;
    ALM_TRY(alm_put_u32(cx, buf, col->id));
    ALM_TRY(alm_buf_append(cx, buf, &col->type, sizeof col->type));
    if (alm_type_holds_views(col->type))
        return version_encode_put_views(cx, buf, chunk->cols[column], rows);
    ALM_TRY(alm_put_u64(cx, buf, 0));
    ALM_TRY(alm_buf_append(cx, buf, chunk->cols[column], bytes));
    return alm_put_padding(cx, buf, bytes);
}

/* Lines of a wide table name few of its columns: what is null in all rows is left out. The reader takes rows to have a byte
 * at least, so one column stays. */
static bool is_left_out(const alm_chunk *chunk, uint32_t col, uint32_t rows, uint32_t put)
{
    const alm_type type = chunk->schema->cols[col].type;
    const alm_vec vec = {
        .type = type, .width = (uint8_t)alm_type_width(type), .data = chunk->cols[col]};
    return (put > 0 || col + 1 < chunk->n_cols) && alm_values_are_missing(type, &vec, rows);
}

alm_status alm_put_rows(alm_ctx *cx, alm_buf *buf, uint64_t table_id, const alm_chunk *chunk,
                        uint32_t rows)
{
    uint32_t put = 0;
    ALM_TRY(alm_put_u64(cx, buf, table_id));
    ALM_TRY(alm_put_u64(cx, buf, rows));
    const size_t count_at = buf->len;
    ALM_TRY(alm_put_u32(cx, buf, 0));
    ALM_TRY(alm_put_u32(cx, buf, 0));
    for (uint32_t col = 0; col < chunk->n_cols; col++) {
        if (is_left_out(chunk, col, rows, put))
            continue;
        ALM_TRY(version_encode_put_values(cx, buf, chunk, col, rows));
        put++;
    }
    memcpy(buf->ptr + count_at, &put, sizeof put);
    return ALM_OK;
}

alm_status alm_op_symbols(alm_ctx *cx, alm_buf *buf, uint64_t table_id, uint32_t col_id,
                          const alm_symbols *symbols, uint32_t from, uint32_t to)
{
    size_t mark;
    ALM_TRY(alm_op_begin(cx, buf, ALM_OP_SYMBOLS, &mark));
    ALM_TRY(alm_put_u64(cx, buf, table_id));
    ALM_TRY(alm_put_u32(cx, buf, col_id));
    ALM_TRY(alm_put_u32(cx, buf, from));
    ALM_TRY(alm_put_u32(cx, buf, to - from));
    ALM_TRY(alm_put_u32(cx, buf, 0));
    for (uint32_t code = from; code < to; code++)
        ALM_TRY(alm_put_u32(cx, buf, (uint32_t)alm_symbols_text(symbols, code).len));
    for (uint32_t code = from; code < to; code++) {
        const alm_str text = alm_symbols_text(symbols, code);
        if (text.len > 0)
            ALM_TRY(alm_buf_append(cx, buf, text.ptr, text.len));
    }
    return alm_op_end(cx, buf, mark);
}

/* ---------------------------------------------------- views, comments, records */

static alm_status version_encode_put_every(alm_ctx *cx, alm_buf *buf, alm_every every)
{
    ALM_TRY(alm_put_u32(cx, buf, every.count));
    return alm_put_u32(cx, buf, (uint8_t)every.unit);
}

alm_status alm_put_view(alm_ctx *cx, alm_buf *buf, const alm_view_def *view)
{
    ALM_TRY(alm_put_text(cx, buf, alm_str_of(view->sql)));
    ALM_TRY(alm_put_text(cx, buf, alm_str_of(view->reason)));
    ALM_TRY(alm_put_i64(cx, buf, view->status_us));
    ALM_TRY(alm_put_text(cx, buf, alm_str_of(view->base)));
    ALM_TRY(alm_put_u64(cx, buf, view->base_id));
    ALM_TRY(alm_put_u32(cx, buf, (uint32_t)view->refresh));
    ALM_TRY(alm_put_u32(cx, buf,
                        (view->deferred ? ALM_STORED_VIEW_DEFERRED : 0) | ALM_STORED_VIEW_BUCKET));
    ALM_TRY(version_encode_put_every(cx, buf, view->every));
    ALM_TRY(version_encode_put_every(cx, buf, view->period));
    ALM_TRY(version_encode_put_every(cx, buf, view->delay));
    ALM_TRY(version_encode_put_every(cx, buf, view->limit));
    ALM_TRY(alm_put_i64(cx, buf, view->start_us));
    ALM_TRY(alm_put_text(cx, buf, alm_str_of(view->zone)));
    ALM_TRY(alm_put_u64(cx, buf, view->lsn));
    ALM_TRY(alm_put_i64(cx, buf, view->period_hi));
    ALM_TRY(alm_put_i64(cx, buf, view->started_us));
    ALM_TRY(alm_put_i64(cx, buf, view->finished_us));
    return version_encode_put_every(cx, buf, view->bucket);
}

alm_status alm_op_touch(alm_ctx *cx, alm_buf *ops, uint64_t table_id, const alm_scan_range *ranges,
                        uint32_t n_ranges)
{
    size_t mark;
    ALM_TRY(alm_op_begin(cx, ops, ALM_OP_TOUCH, &mark));
    ALM_TRY(alm_put_u64(cx, ops, table_id));
    ALM_TRY(alm_put_u32(cx, ops, n_ranges));
    ALM_TRY(alm_put_u32(cx, ops, 0));
    for (uint32_t i = 0; i < n_ranges; i++) {
        ALM_TRY(alm_put_i64(cx, ops, ranges[i].lo));
        ALM_TRY(alm_put_i64(cx, ops, ranges[i].hi));
    }
    return alm_op_end(cx, ops, mark);
}

alm_status alm_put_comments(alm_ctx *cx, alm_buf *buf, const alm_version *version)
{
    const alm_comments *comments = version->comments;
    ALM_TRY(alm_put_u32(cx, buf, comments == NULL ? 0 : comments->n));
    for (uint32_t i = 0; comments != NULL && i < comments->n; i++) {
        ALM_TRY(alm_put_u32(cx, buf, comments->rows[i].col_id));
        ALM_TRY(alm_put_text(cx, buf, alm_str_of(comments->rows[i].text)));
    }
    return ALM_OK;
}

alm_status alm_op_comment(alm_ctx *cx, alm_buf *buf, uint64_t table_id, uint32_t col_id,
                          alm_str text)
{
    size_t mark;
    ALM_TRY(alm_op_begin(cx, buf, ALM_OP_COMMENT, &mark));
    ALM_TRY(alm_put_u64(cx, buf, table_id));
    ALM_TRY(alm_put_u32(cx, buf, col_id));
    ALM_TRY(alm_put_text(cx, buf, text));
    return alm_op_end(cx, buf, mark);
}

alm_status alm_op_comments(alm_ctx *cx, alm_buf *buf, const alm_version *version)
{
    const alm_comments *comments = version->comments;
    for (uint32_t i = 0; comments != NULL && i < comments->n; i++)
        ALM_TRY(alm_op_comment(cx, buf, version->table.id, comments->rows[i].col_id,
                               alm_str_of(comments->rows[i].text)));
    return ALM_OK;
}

static alm_status version_encode_put_record(alm_ctx *cx, alm_buf *buf, const alm_record *record)
{
    ALM_TRY(alm_put_u32(cx, buf, record->value.ptr != NULL));
    ALM_TRY(alm_put_text(cx, buf, record->key));
    return alm_put_text(cx, buf, record->value);
}

alm_status alm_op_records(alm_ctx *cx, alm_buf *buf, const alm_records_change *change)
{
    size_t mark;
    ALM_TRY(alm_op_begin(cx, buf, ALM_OP_RECORDS, &mark));
    ALM_TRY(alm_put_u32(cx, buf, change->n));
    for (uint32_t i = 0; i < change->n; i++)
        ALM_TRY(version_encode_put_record(cx, buf, &change->rows[i]));
    return alm_op_end(cx, buf, mark);
}

alm_status alm_put_records(alm_ctx *cx, alm_buf *buf, const alm_records *records)
{
    const uint32_t n = records == NULL ? 0 : records->n;
    ALM_TRY(alm_put_u64(cx, buf, records == NULL ? 0 : records->lsn));
    ALM_TRY(alm_put_u32(cx, buf, n));
    for (uint32_t i = 0; i < n; i++)
        ALM_TRY(version_encode_put_record(cx, buf, &records->rows[i]->r));
    return ALM_OK;
}
