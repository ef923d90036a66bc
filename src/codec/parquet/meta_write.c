/* meta_write.c - a writer for each struct of the metadata; numbers of fields are those of parquet.thrift. */
#include "codec/parquet/meta_write.h"

#include "codec/parquet/thrift.h"

static alm_thrift_out begin(alm_ctx *cx, alm_buf *out)
{
    alm_thrift_out t = {.cx = cx, .buf = out};
    alm_thrift_begin(&t);
    return t;
}

static alm_status end(alm_thrift_out *t)
{
    alm_thrift_end(t);
    return t->st;
}

static void put_text(alm_thrift_out *t, int16_t id, alm_str text)
{
    if (text.ptr != NULL)
        alm_thrift_put_binary(t, id, text);
}

static void put_i64(alm_thrift_out *t, int16_t id, int64_t x)
{
    if (x >= 0)
        alm_thrift_put_i64(t, id, x);
}

/* A union of which only the kind is told: a struct without fields. */
static void put_kind(alm_thrift_out *t, int16_t id, int16_t kind)
{
    alm_thrift_put_struct(t, id);
    alm_thrift_put_struct(t, kind);
    alm_thrift_end(t);
    alm_thrift_end(t);
}

/* -------------------------------------------------------------------------- schema */

static void put_logical(alm_thrift_out *t, const alm_pq_schema_element *e)
{
    alm_thrift_put_struct(t, 10);
    alm_thrift_put_struct(t, e->logical);
    switch (e->logical) {
    case ALM_PQ_L_DECIMAL:
        alm_thrift_put_i32(t, 1, e->scale);
        alm_thrift_put_i32(t, 2, e->precision);
        break;
    case ALM_PQ_L_TIME:
    case ALM_PQ_L_TIMESTAMP:
        alm_thrift_put_bool(t, 1, e->utc);
        put_kind(t, 2, e->unit);
        break;
    case ALM_PQ_L_INTEGER:
        alm_thrift_put_byte(t, 1, (int8_t)e->bits);
        alm_thrift_put_bool(t, 2, e->is_signed);
        break;
    default:
        break; /* they have no fields */
    }
    alm_thrift_end(t);
    alm_thrift_end(t);
}

static void put_element(alm_thrift_out *t, const alm_pq_schema_element *e)
{
    alm_thrift_begin(t);
    if (e->physical >= 0)
        alm_thrift_put_i32(t, 1, e->physical);
    if (e->physical == ALM_PQ_FIXED)
        alm_thrift_put_i32(t, 2, e->length);
    if (e->repetition >= 0)
        alm_thrift_put_i32(t, 3, e->repetition);
    alm_thrift_put_binary(t, 4, e->name);
    if (e->physical < 0)
        alm_thrift_put_i32(t, 5, e->n_children);
    if (e->converted >= 0)
        alm_thrift_put_i32(t, 6, e->converted);
    if (e->converted == ALM_PQ_C_DECIMAL) {
        alm_thrift_put_i32(t, 7, e->scale);
        alm_thrift_put_i32(t, 8, e->precision);
    }
    if (e->logical != ALM_PQ_L_NONE)
        put_logical(t, e);
    alm_thrift_end(t);
}

/* -------------------------------------------------------------------------- row groups */

static void put_statistics(alm_thrift_out *t, int16_t id, const alm_pq_statistics *s)
{
    alm_thrift_put_struct(t, id);
    put_i64(t, 3, s->null_count);
    put_i64(t, 4, s->distinct_count);
    put_text(t, 5, s->max_value);
    put_text(t, 6, s->min_value);
    if (s->max_value.ptr != NULL)
        alm_thrift_put_bool(t, 7, !s->max_inexact);
    if (s->min_value.ptr != NULL)
        alm_thrift_put_bool(t, 8, !s->min_inexact);
    alm_thrift_end(t);
}

static void put_encodings(alm_thrift_out *t, const alm_pq_column_chunk *c)
{
    alm_thrift_put_list(t, 2, ALM_THRIFT_I32, (uint32_t)__builtin_popcount(c->encodings));
    for (uint32_t i = 0; i < ALM_PQ_ENCODING_COUNT; i++)
        if ((c->encodings >> i & 1) != 0)
            alm_thrift_elem_put_int(t, i);
}

static void put_key_values(alm_thrift_out *t, int16_t id, const alm_pq_key_value *pair, uint32_t n)
{
    if (n == 0)
        return;
    alm_thrift_put_list(t, id, ALM_THRIFT_STRUCT, n);
    for (uint32_t i = 0; i < n; i++) {
        alm_thrift_begin(t);
        alm_thrift_put_binary(t, 1, pair[i].key);
        put_text(t, 2, pair[i].value);
        alm_thrift_end(t);
    }
}

static void put_encoding_stats(alm_thrift_out *t, const alm_pq_column_chunk *c)
{
    if (c->n_encoding_stats == 0)
        return;
    alm_thrift_put_list(t, 13, ALM_THRIFT_STRUCT, c->n_encoding_stats);
    for (uint32_t i = 0; i < c->n_encoding_stats; i++) {
        alm_thrift_begin(t);
        alm_thrift_put_i32(t, 1, c->encoding_stats[i].page_type);
        alm_thrift_put_i32(t, 2, c->encoding_stats[i].encoding);
        alm_thrift_put_i32(t, 3, c->encoding_stats[i].count);
        alm_thrift_end(t);
    }
}

static void put_chunk_meta(alm_thrift_out *t, const alm_pq_column_chunk *c)
{
    alm_thrift_put_struct(t, 3);
    alm_thrift_put_i32(t, 1, c->physical);
    put_encodings(t, c);
    alm_thrift_put_list(t, 3, ALM_THRIFT_BINARY, c->n_path);
    for (uint32_t i = 0; i < c->n_path; i++)
        alm_thrift_elem_put_binary(t, c->path[i]);
    alm_thrift_put_i32(t, 4, c->codec);
    alm_thrift_put_i64(t, 5, c->n_values);
    alm_thrift_put_i64(t, 6, c->uncompressed_bytes);
    alm_thrift_put_i64(t, 7, c->compressed_bytes);
    put_key_values(t, 8, c->key_value, c->n_key_value);
    alm_thrift_put_i64(t, 9, c->data_offset);
    put_i64(t, 11, c->dictionary_offset);
    if (c->has_statistics)
        put_statistics(t, 12, &c->statistics);
    put_encoding_stats(t, c);
    if (c->bloom_offset >= 0) {
        alm_thrift_put_i64(t, 14, c->bloom_offset);
        alm_thrift_put_i32(t, 15, c->bloom_bytes);
    }
    alm_thrift_end(t);
}

static void put_chunk(alm_thrift_out *t, const alm_pq_column_chunk *c)
{
    alm_thrift_begin(t);
    alm_thrift_put_i64(t, 2, 0); /* file_offset: deprecated, 0 where the metadata stand only here */
    put_chunk_meta(t, c);
    if (c->offset_index_offset >= 0) {
        alm_thrift_put_i64(t, 4, c->offset_index_offset);
        alm_thrift_put_i32(t, 5, c->offset_index_bytes);
    }
    if (c->column_index_offset >= 0) {
        alm_thrift_put_i64(t, 6, c->column_index_offset);
        alm_thrift_put_i32(t, 7, c->column_index_bytes);
    }
    alm_thrift_end(t);
}

static void put_sorting(alm_thrift_out *t, const alm_pq_row_group *g)
{
    if (g->n_sorting == 0)
        return;
    alm_thrift_put_list(t, 4, ALM_THRIFT_STRUCT, g->n_sorting);
    for (uint32_t i = 0; i < g->n_sorting; i++) {
        alm_thrift_begin(t);
        alm_thrift_put_i32(t, 1, g->sorting[i].column);
        alm_thrift_put_bool(t, 2, g->sorting[i].descending);
        alm_thrift_put_bool(t, 3, g->sorting[i].nulls_first);
        alm_thrift_end(t);
    }
}

static void put_row_group(alm_thrift_out *t, const alm_pq_row_group *g)
{
    alm_thrift_begin(t);
    alm_thrift_put_list(t, 1, ALM_THRIFT_STRUCT, g->n_columns);
    for (uint32_t i = 0; i < g->n_columns; i++)
        put_chunk(t, &g->column[i]);
    alm_thrift_put_i64(t, 2, g->uncompressed_bytes);
    alm_thrift_put_i64(t, 3, g->n_rows);
    put_sorting(t, g);
    put_i64(t, 5, g->file_offset);
    put_i64(t, 6, g->compressed_bytes);
    if (g->ordinal >= 0 && g->ordinal <= INT16_MAX)
        alm_thrift_put_i16(t, 7, (int16_t)g->ordinal);
    alm_thrift_end(t);
}

/* One for each leaf: the order that the type of the column defines. */
static void put_column_orders(alm_thrift_out *t, const alm_pq_file_meta *meta)
{
    uint32_t leaves = 0;
    for (uint32_t i = 0; i < meta->n_schema; i++)
        leaves += meta->schema[i].physical >= 0;
    alm_thrift_put_list(t, 7, ALM_THRIFT_STRUCT, leaves);
    for (uint32_t i = 0; i < leaves; i++) {
        alm_thrift_begin(t);
        alm_thrift_put_struct(t, 1);
        alm_thrift_end(t);
        alm_thrift_end(t);
    }
}

alm_status alm_pq_write_file_meta(alm_ctx *cx, const alm_pq_file_meta *meta, alm_buf *out)
{
    alm_thrift_out t = begin(cx, out);
    alm_thrift_put_i32(&t, 1, meta->version);
    alm_thrift_put_list(&t, 2, ALM_THRIFT_STRUCT, meta->n_schema);
    for (uint32_t i = 0; i < meta->n_schema; i++)
        put_element(&t, &meta->schema[i]);
    alm_thrift_put_i64(&t, 3, meta->n_rows);
    alm_thrift_put_list(&t, 4, ALM_THRIFT_STRUCT, meta->n_row_groups);
    for (uint32_t i = 0; i < meta->n_row_groups; i++)
        put_row_group(&t, &meta->row_group[i]);
    put_key_values(&t, 5, meta->key_value, meta->n_key_value);
    put_text(&t, 6, meta->created_by);
    if (meta->has_column_orders)
        put_column_orders(&t, meta);
    return end(&t);
}

/* -------------------------------------------------------------------------- pages */

static void put_data_v1(alm_thrift_out *t, const alm_pq_page_header *h)
{
    alm_thrift_put_struct(t, 5);
    alm_thrift_put_i32(t, 1, h->n_values);
    alm_thrift_put_i32(t, 2, h->encoding);
    alm_thrift_put_i32(t, 3, h->def_encoding);
    alm_thrift_put_i32(t, 4, h->rep_encoding);
    if (h->has_statistics)
        put_statistics(t, 5, &h->statistics);
    alm_thrift_end(t);
}

static void put_data_v2(alm_thrift_out *t, const alm_pq_page_header *h)
{
    alm_thrift_put_struct(t, 8);
    alm_thrift_put_i32(t, 1, h->n_values);
    alm_thrift_put_i32(t, 2, h->n_nulls);
    alm_thrift_put_i32(t, 3, h->n_rows);
    alm_thrift_put_i32(t, 4, h->encoding);
    alm_thrift_put_i32(t, 5, h->def_bytes);
    alm_thrift_put_i32(t, 6, h->rep_bytes);
    alm_thrift_put_bool(t, 7, h->is_compressed);
    if (h->has_statistics)
        put_statistics(t, 8, &h->statistics);
    alm_thrift_end(t);
}

static void put_dictionary(alm_thrift_out *t, const alm_pq_page_header *h)
{
    alm_thrift_put_struct(t, 7);
    alm_thrift_put_i32(t, 1, h->n_values);
    alm_thrift_put_i32(t, 2, h->encoding);
    alm_thrift_put_bool(t, 3, h->is_sorted);
    alm_thrift_end(t);
}

alm_status alm_pq_write_page_header(alm_ctx *cx, const alm_pq_page_header *h, alm_buf *out)
{
    alm_thrift_out t = begin(cx, out);
    alm_thrift_put_i32(&t, 1, h->type);
    alm_thrift_put_i32(&t, 2, h->uncompressed_bytes);
    alm_thrift_put_i32(&t, 3, h->compressed_bytes);
    if (h->has_crc)
        alm_thrift_put_i32(&t, 4, (int32_t)h->crc);
    if (h->type == ALM_PQ_PAGE_DATA)
        put_data_v1(&t, h);
    else if (h->type == ALM_PQ_PAGE_DATA_V2)
        put_data_v2(&t, h);
    else
        put_dictionary(&t, h);
    return end(&t);
}

/* -------------------------------------------------------------------------- indexes */

alm_status alm_pq_write_offset_index(alm_ctx *cx, const alm_pq_offset_index *index, alm_buf *out)
{
    alm_thrift_out t = begin(cx, out);
    alm_thrift_put_list(&t, 1, ALM_THRIFT_STRUCT, index->n_pages);
    for (uint32_t i = 0; i < index->n_pages; i++) {
        alm_thrift_begin(&t);
        alm_thrift_put_i64(&t, 1, index->page[i].offset);
        alm_thrift_put_i32(&t, 2, index->page[i].bytes);
        alm_thrift_put_i64(&t, 3, index->page[i].first_row);
        alm_thrift_end(&t);
    }
    return end(&t);
}

alm_status alm_pq_write_column_index(alm_ctx *cx, const alm_pq_column_index *index, alm_buf *out)
{
    alm_thrift_out t = begin(cx, out);
    alm_thrift_put_list(&t, 1, ALM_THRIFT_TRUE, index->n_pages);
    for (uint32_t i = 0; i < index->n_pages; i++)
        alm_thrift_elem_put_bool(&t, index->null_page[i]);
    alm_thrift_put_list(&t, 2, ALM_THRIFT_BINARY, index->n_pages);
    for (uint32_t i = 0; i < index->n_pages; i++)
        alm_thrift_elem_put_binary(&t, index->min[i]);
    alm_thrift_put_list(&t, 3, ALM_THRIFT_BINARY, index->n_pages);
    for (uint32_t i = 0; i < index->n_pages; i++)
        alm_thrift_elem_put_binary(&t, index->max[i]);
    alm_thrift_put_i32(&t, 4, index->boundary);
    if (index->null_count != NULL) {
        alm_thrift_put_list(&t, 5, ALM_THRIFT_I64, index->n_pages);
        for (uint32_t i = 0; i < index->n_pages; i++)
            alm_thrift_elem_put_int(&t, index->null_count[i]);
    }
    return end(&t);
}

alm_status alm_pq_write_bloom_header(alm_ctx *cx, int32_t n, alm_buf *out)
{
    alm_thrift_out t = begin(cx, out);
    alm_thrift_put_i32(&t, 1, n);
    put_kind(&t, 2, 1);
    put_kind(&t, 3, 1);
    put_kind(&t, 4, 1);
    return end(&t);
}
