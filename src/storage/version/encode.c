/*
 * encode.c - tables, columns, parts, rows and symbols to bytes (payload.h).
 */
#include "storage/dict/dict.h"
#include "storage/log/payload.h"
#include "storage/part/part.h"
#include "storage/version/head.h"

alm_status alm_put_u32(alm_ctx *cx, alm_buf *buf, uint32_t v)
{
    return alm_buf_append(cx, buf, &v, sizeof v);
}

alm_status alm_put_u64(alm_ctx *cx, alm_buf *buf, uint64_t v)
{
    return alm_buf_append(cx, buf, &v, sizeof v);
}

alm_status alm_put_i64(alm_ctx *cx, alm_buf *buf, int64_t v)
{
    return alm_buf_append(cx, buf, &v, sizeof v);
}

alm_status alm_put_text(alm_ctx *cx, alm_buf *buf, alm_str text)
{
    ALM_TRY(alm_put_u32(cx, buf, (uint32_t)text.len));
    return text.len > 0 ? alm_buf_append(cx, buf, text.ptr, text.len) : ALM_OK;
}

static alm_status put_u8s(alm_ctx *cx, alm_buf *buf, uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
    const uint8_t bytes[4] = {a, b, c, d};
    return alm_buf_append(cx, buf, bytes, sizeof bytes);
}

static alm_status pad(alm_ctx *cx, alm_buf *buf, size_t written)
{
    static const char zeros[8];
    const size_t n = (8 - written % 8) % 8;
    return n > 0 ? alm_buf_append(cx, buf, zeros, n) : ALM_OK;
}

alm_status alm_op_begin(alm_ctx *cx, alm_buf *buf, alm_op_kind kind, size_t *mark)
{
    *mark = buf->len;
    ALM_ASSERT(buf->len % 8 == 0);
    ALM_TRY(alm_put_u32(cx, buf, (uint32_t)kind));
    ALM_TRY(alm_put_u32(cx, buf, kind == ALM_OP_PARTS ? ALM_PARTS_FORM : 0));
    return alm_put_u64(cx, buf, 0);
}

alm_status alm_op_end(alm_ctx *cx, alm_buf *buf, size_t mark)
{
    const uint64_t body = buf->len - mark - 16;
    ALM_TRY(pad(cx, buf, body));
    memcpy(buf->ptr + mark + 8, &body, sizeof body);
    return ALM_OK;
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

alm_status alm_put_table(alm_ctx *cx, alm_buf *buf, const alm_version *v)
{
    const alm_table *t = &v->table;
    ALM_TRY(alm_put_u64(cx, buf, t->id));
    ALM_TRY(alm_put_text(cx, buf, alm_str_of(t->name)));
    ALM_TRY(alm_put_u64(cx, buf, t->schema_version));
    ALM_TRY(alm_put_u32(cx, buf, v->next_col_id));
    ALM_TRY(alm_put_u32(cx, buf, (uint32_t)t->ts_col));
    ALM_TRY(put_u8s(cx, buf, (uint8_t)t->partition, t->wal, t->dedup, (uint8_t)t->kind));
    ALM_TRY(alm_put_i64(cx, buf, t->ttl_hours));
    ALM_TRY(alm_put_i64(cx, buf, t->max_uncommitted_rows));
    ALM_TRY(alm_put_i64(cx, buf, t->o3_max_lag_us));
    ALM_TRY(alm_put_u32(cx, buf, t->n_cols));
    for (uint32_t i = 0; i < t->n_cols; i++) {
        const uint32_t count = v->schema->symbols[i] != NULL ? v->schema->dicts[i].count : 1;
        ALM_TRY(alm_put_column(cx, buf, &t->cols[i], count));
    }
    return t->kind == ALM_TABLE_BASE ? ALM_OK : alm_put_view(cx, buf, t->view);
}

alm_status alm_op_alter(alm_ctx *cx, alm_buf *buf, const alm_version *v)
{
    size_t mark = 0;
    ALM_TRY(alm_op_begin(cx, buf, ALM_OP_ALTER, &mark));
    ALM_TRY(alm_put_table(cx, buf, v));
    return alm_op_end(cx, buf, mark);
}

static alm_status put_file(alm_ctx *cx, alm_buf *buf, alm_file *file)
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
    ALM_TRY(put_file(cx, buf, part->file));
    ALM_TRY(alm_put_u32(cx, buf, part->n_overlays));
    for (uint32_t i = 0; i < part->n_overlays; i++) {
        ALM_TRY(alm_put_u32(cx, buf, part->overlays[i].col_id));
        ALM_TRY(put_file(cx, buf, part->overlays[i].file));
    }
    return ALM_OK;
}

/* Views with offsets into the heap that follows them. */
static alm_status put_views(alm_ctx *cx, alm_buf *buf, const alm_view *views, uint32_t rows)
{
    uint64_t heap = 0;
    for (uint32_t i = 0; i < rows; i++)
        if (!alm_view_is_null(&views[i]) && views[i].len > ALM_VIEW_INLINE)
            heap += views[i].len;
    ALM_TRY(alm_put_u64(cx, buf, heap));
    ALM_TRY(alm_buf_reserve(cx, buf, rows * sizeof(alm_view) + heap + 8));
    uint64_t at = 0;
    for (uint32_t i = 0; i < rows; i++) {
        alm_view v = views[i];
        if (!alm_view_is_null(&v) && v.len > ALM_VIEW_INLINE) {
            v.off = at;
            at += v.len;
        }
        ALM_TRY(alm_buf_append(cx, buf, &v, sizeof v));
    }
    for (uint32_t i = 0; i < rows && heap > 0; i++)
        if (!alm_view_is_null(&views[i]) && views[i].len > ALM_VIEW_INLINE)
            ALM_TRY(alm_buf_append(cx, buf, alm_view_ptr(&views[i], NULL), views[i].len));
    return pad(cx, buf, heap);
}

static alm_status put_values(alm_ctx *cx, alm_buf *buf, const alm_chunk *chunk, uint32_t c,
                             uint32_t rows)
{
    const alm_column *col = &chunk->schema->cols[c];
    const size_t bytes = (size_t)alm_type_width(col->type) * rows;
    ALM_TRY(alm_put_u32(cx, buf, col->id));
    ALM_TRY(alm_buf_append(cx, buf, &col->type, sizeof col->type));
    if (alm_type_holds_views(col->type))
        return put_views(cx, buf, chunk->cols[c], rows);
    ALM_TRY(alm_put_u64(cx, buf, 0));
    ALM_TRY(alm_buf_append(cx, buf, chunk->cols[c], bytes));
    return pad(cx, buf, bytes);
}

/* Lines of a wide table name few of its columns: what is null in all rows is left out. The reader takes rows to have a byte
 * at least, so one column stays. */
static bool is_left_out(const alm_chunk *chunk, uint32_t c, uint32_t rows, uint32_t put)
{
    const alm_type type = chunk->schema->cols[c].type;
    const alm_vec v = {
        .type = type, .width = (uint8_t)alm_type_width(type), .data = chunk->cols[c]};
    return (put > 0 || c + 1 < chunk->n_cols) && alm_values_are_missing(type, &v, rows);
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
    for (uint32_t c = 0; c < chunk->n_cols; c++) {
        if (is_left_out(chunk, c, rows, put))
            continue;
        ALM_TRY(put_values(cx, buf, chunk, c, rows));
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
