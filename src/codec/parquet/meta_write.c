/* meta_write.c - a writer for each struct of the metadata; numbers of fields are those of parquet.thrift. */
#include "codec/parquet/meta_write.h"

#include "codec/parquet/thrift.h"

static alm_thrift_out meta_write_begin(alm_ctx *cx, alm_buf *out)
{
    alm_thrift_out thrift = {.cx = cx, .buf = out};
    alm_thrift_begin(&thrift);
    return thrift;
}

static alm_status meta_write_end(alm_thrift_out *thrift)
{
    alm_thrift_end(thrift);
    return thrift->st;
}

static void meta_write_put_text(alm_thrift_out *thrift, int16_t id, alm_str text)
{
    if (text.ptr != NULL)
        alm_thrift_put_binary(thrift, id, text);
}

static void put_i64(alm_thrift_out *thrift, int16_t id, int64_t value)
{
    if (value >= 0)
        alm_thrift_put_i64(thrift, id, value);
}

/* A union of which only the kind is told: a struct without fields. */
static void put_kind(alm_thrift_out *thrift, int16_t id, int16_t kind)
{
    alm_thrift_put_struct(thrift, id);
    alm_thrift_put_struct(thrift, kind);
    alm_thrift_end(thrift);
    alm_thrift_end(thrift);
}

/* -------------------------------------------------------------------------- schema */

static void put_logical(alm_thrift_out *thrift, const alm_pq_schema_element *element)
{
    alm_thrift_put_struct(thrift, 10);
    alm_thrift_put_struct(thrift, element->logical);
    switch (element->logical) {
    case ALM_PQ_L_DECIMAL:
        alm_thrift_put_i32(thrift, 1, element->scale);
        alm_thrift_put_i32(thrift, 2, element->precision);
        break;
    case ALM_PQ_L_TIME:
    case ALM_PQ_L_TIMESTAMP:
        alm_thrift_put_bool(thrift, 1, element->utc);
        put_kind(thrift, 2, element->unit);
        break;
    case ALM_PQ_L_INTEGER:
        alm_thrift_put_byte(thrift, 1, (int8_t)element->bits);
        alm_thrift_put_bool(thrift, 2, element->is_signed);
        break;
    default:
        break; /* they have no fields */
    }
    alm_thrift_end(thrift);
    alm_thrift_end(thrift);
}

static void meta_write_put_element(alm_thrift_out *thrift, const alm_pq_schema_element *element)
{
    alm_thrift_begin(thrift);
    if (element->physical >= 0)
        alm_thrift_put_i32(thrift, 1, element->physical);
    if (element->physical == ALM_PQ_FIXED)
        alm_thrift_put_i32(thrift, 2, element->length);
    if (element->repetition >= 0)
        alm_thrift_put_i32(thrift, 3, element->repetition);
    alm_thrift_put_binary(thrift, 4, element->name);
    if (element->physical < 0)
        alm_thrift_put_i32(thrift, 5, element->n_children);
    if (element->converted >= 0)
        alm_thrift_put_i32(thrift, 6, element->converted);
    if (element->converted == ALM_PQ_C_DECIMAL) {
        alm_thrift_put_i32(thrift, 7, element->scale);
        alm_thrift_put_i32(thrift, 8, element->precision);
    }
    if (element->logical != ALM_PQ_L_NONE)
        put_logical(thrift, element);
    alm_thrift_end(thrift);
}

/* -------------------------------------------------------------------------- row groups */

static void put_statistics(alm_thrift_out *thrift, int16_t id, const alm_pq_statistics *statistics)
{
    alm_thrift_put_struct(thrift, id);
    put_i64(thrift, 3, statistics->null_count);
    put_i64(thrift, 4, statistics->distinct_count);
    meta_write_put_text(thrift, 5, statistics->max_value);
    meta_write_put_text(thrift, 6, statistics->min_value);
    if (statistics->max_value.ptr != NULL)
        alm_thrift_put_bool(thrift, 7, !statistics->max_inexact);
    if (statistics->min_value.ptr != NULL)
        alm_thrift_put_bool(thrift, 8, !statistics->min_inexact);
    alm_thrift_end(thrift);
}

static void put_encodings(alm_thrift_out *thrift, const alm_pq_column_chunk *chunk)
{
    alm_thrift_put_list(thrift, 2, ALM_THRIFT_I32, (uint32_t)__builtin_popcount(chunk->encodings));
    for (uint32_t i = 0; i < ALM_PQ_ENCODING_COUNT; i++)
        if ((chunk->encodings >> i & 1) != 0)
            alm_thrift_elem_put_int(thrift, i);
}

static void put_key_values(alm_thrift_out *thrift, int16_t id, const alm_pq_key_value *pair,
                           uint32_t n_pairs)
{
    if (n_pairs == 0)
        return;
    alm_thrift_put_list(thrift, id, ALM_THRIFT_STRUCT, n_pairs);
    for (uint32_t i = 0; i < n_pairs; i++) {
        alm_thrift_begin(thrift);
        alm_thrift_put_binary(thrift, 1, pair[i].key);
        meta_write_put_text(thrift, 2, pair[i].value);
        alm_thrift_end(thrift);
    }
}

static void put_encoding_stats(alm_thrift_out *thrift, const alm_pq_column_chunk *chunk)
{
    if (chunk->n_encoding_stats == 0)
        return;
    alm_thrift_put_list(thrift, 13, ALM_THRIFT_STRUCT, chunk->n_encoding_stats);
    for (uint32_t i = 0; i < chunk->n_encoding_stats; i++) {
        alm_thrift_begin(thrift);
        alm_thrift_put_i32(thrift, 1, chunk->encoding_stats[i].page_type);
        alm_thrift_put_i32(thrift, 2, chunk->encoding_stats[i].encoding);
        alm_thrift_put_i32(thrift, 3, chunk->encoding_stats[i].count);
        alm_thrift_end(thrift);
    }
}

static void put_chunk_meta(alm_thrift_out *thrift, const alm_pq_column_chunk *chunk)
{
    alm_thrift_put_struct(thrift, 3);
    alm_thrift_put_i32(thrift, 1, chunk->physical);
    put_encodings(thrift, chunk);
    alm_thrift_put_list(thrift, 3, ALM_THRIFT_BINARY, chunk->n_path);
    for (uint32_t i = 0; i < chunk->n_path; i++)
        alm_thrift_elem_put_binary(thrift, chunk->path[i]);
    alm_thrift_put_i32(thrift, 4, chunk->codec);
    alm_thrift_put_i64(thrift, 5, chunk->n_values);
    alm_thrift_put_i64(thrift, 6, chunk->uncompressed_bytes);
    alm_thrift_put_i64(thrift, 7, chunk->compressed_bytes);
    put_key_values(thrift, 8, chunk->key_value, chunk->n_key_value);
    alm_thrift_put_i64(thrift, 9, chunk->data_offset);
    put_i64(thrift, 11, chunk->dictionary_offset);
    if (chunk->has_statistics)
        put_statistics(thrift, 12, &chunk->statistics);
    put_encoding_stats(thrift, chunk);
    if (chunk->bloom_offset >= 0) {
        alm_thrift_put_i64(thrift, 14, chunk->bloom_offset);
        alm_thrift_put_i32(thrift, 15, chunk->bloom_bytes);
    }
    alm_thrift_end(thrift);
}

static void meta_write_put_chunk(alm_thrift_out *thrift, const alm_pq_column_chunk *chunk)
{
    alm_thrift_begin(thrift);
    alm_thrift_put_i64(thrift, 2,
                       0); /* file_offset: deprecated, 0 where the metadata stand only here */
    put_chunk_meta(thrift, chunk);
    if (chunk->offset_index_offset >= 0) {
        alm_thrift_put_i64(thrift, 4, chunk->offset_index_offset);
        alm_thrift_put_i32(thrift, 5, chunk->offset_index_bytes);
    }
    if (chunk->column_index_offset >= 0) {
        alm_thrift_put_i64(thrift, 6, chunk->column_index_offset);
        alm_thrift_put_i32(thrift, 7, chunk->column_index_bytes);
    }
    alm_thrift_end(thrift);
}

static void put_sorting(alm_thrift_out *thrift, const alm_pq_row_group *group)
{
    if (group->n_sorting == 0)
        return;
    alm_thrift_put_list(thrift, 4, ALM_THRIFT_STRUCT, group->n_sorting);
    for (uint32_t i = 0; i < group->n_sorting; i++) {
        alm_thrift_begin(thrift);
        alm_thrift_put_i32(thrift, 1, group->sorting[i].column);
        alm_thrift_put_bool(thrift, 2, group->sorting[i].descending);
        alm_thrift_put_bool(thrift, 3, group->sorting[i].nulls_first);
        alm_thrift_end(thrift);
    }
}

static void put_row_group(alm_thrift_out *thrift, const alm_pq_row_group *group)
{
    alm_thrift_begin(thrift);
    alm_thrift_put_list(thrift, 1, ALM_THRIFT_STRUCT, group->n_columns);
    for (uint32_t i = 0; i < group->n_columns; i++)
        meta_write_put_chunk(thrift, &group->column[i]);
    alm_thrift_put_i64(thrift, 2, group->uncompressed_bytes);
    alm_thrift_put_i64(thrift, 3, group->n_rows);
    put_sorting(thrift, group);
    put_i64(thrift, 5, group->file_offset);
    put_i64(thrift, 6, group->compressed_bytes);
    if (group->ordinal >= 0 && group->ordinal <= INT16_MAX)
        alm_thrift_put_i16(thrift, 7, (int16_t)group->ordinal);
    alm_thrift_end(thrift);
}

/* One for each leaf: the order that the type of the column defines. */
static void put_column_orders(alm_thrift_out *thrift, const alm_pq_file_meta *meta)
{
    uint32_t leaves = 0;
    for (uint32_t i = 0; i < meta->n_schema; i++)
        leaves += meta->schema[i].physical >= 0;
    alm_thrift_put_list(thrift, 7, ALM_THRIFT_STRUCT, leaves);
    for (uint32_t i = 0; i < leaves; i++) {
        alm_thrift_begin(thrift);
        alm_thrift_put_struct(thrift, 1);
        alm_thrift_end(thrift);
        alm_thrift_end(thrift);
    }
}

alm_status alm_pq_write_file_meta(alm_ctx *cx, const alm_pq_file_meta *meta, alm_buf *out)
{
    alm_thrift_out thrift = meta_write_begin(cx, out);
    alm_thrift_put_i32(&thrift, 1, meta->version);
    alm_thrift_put_list(&thrift, 2, ALM_THRIFT_STRUCT, meta->n_schema);
    for (uint32_t i = 0; i < meta->n_schema; i++)
        meta_write_put_element(&thrift, &meta->schema[i]);
    alm_thrift_put_i64(&thrift, 3, meta->n_rows);
    alm_thrift_put_list(&thrift, 4, ALM_THRIFT_STRUCT, meta->n_row_groups);
    for (uint32_t i = 0; i < meta->n_row_groups; i++)
        put_row_group(&thrift, &meta->row_group[i]);
    put_key_values(&thrift, 5, meta->key_value, meta->n_key_value);
    meta_write_put_text(&thrift, 6, meta->created_by);
    if (meta->has_column_orders)
        put_column_orders(&thrift, meta);
    return meta_write_end(&thrift);
}

/* -------------------------------------------------------------------------- pages */

static void put_data_v1(alm_thrift_out *thrift, const alm_pq_page_header *header)
{
    alm_thrift_put_struct(thrift, 5);
    alm_thrift_put_i32(thrift, 1, header->n_values);
    alm_thrift_put_i32(thrift, 2, header->encoding);
    alm_thrift_put_i32(thrift, 3, header->def_encoding);
    alm_thrift_put_i32(thrift, 4, header->rep_encoding);
    if (header->has_statistics)
        put_statistics(thrift, 5, &header->statistics);
    alm_thrift_end(thrift);
}

static void put_data_v2(alm_thrift_out *thrift, const alm_pq_page_header *header)
{
    alm_thrift_put_struct(thrift, 8);
    alm_thrift_put_i32(thrift, 1, header->n_values);
    alm_thrift_put_i32(thrift, 2, header->n_nulls);
    alm_thrift_put_i32(thrift, 3, header->n_rows);
    alm_thrift_put_i32(thrift, 4, header->encoding);
    alm_thrift_put_i32(thrift, 5, header->def_bytes);
    alm_thrift_put_i32(thrift, 6, header->rep_bytes);
    alm_thrift_put_bool(thrift, 7, header->is_compressed);
    if (header->has_statistics)
        put_statistics(thrift, 8, &header->statistics);
    alm_thrift_end(thrift);
}

static void meta_write_put_dictionary(alm_thrift_out *thrift, const alm_pq_page_header *header)
{
    alm_thrift_put_struct(thrift, 7);
    alm_thrift_put_i32(thrift, 1, header->n_values);
    alm_thrift_put_i32(thrift, 2, header->encoding);
    alm_thrift_put_bool(thrift, 3, header->is_sorted);
    alm_thrift_end(thrift);
}

alm_status alm_pq_write_page_header(alm_ctx *cx, const alm_pq_page_header *header, alm_buf *out)
{
    alm_thrift_out thrift = meta_write_begin(cx, out);
    alm_thrift_put_i32(&thrift, 1, header->type);
    alm_thrift_put_i32(&thrift, 2, header->uncompressed_bytes);
    alm_thrift_put_i32(&thrift, 3, header->compressed_bytes);
    if (header->has_crc)
        alm_thrift_put_i32(&thrift, 4, (int32_t)header->crc);
    if (header->type == ALM_PQ_PAGE_DATA)
        put_data_v1(&thrift, header);
    else if (header->type == ALM_PQ_PAGE_DATA_V2)
        put_data_v2(&thrift, header);
    else
        meta_write_put_dictionary(&thrift, header);
    return meta_write_end(&thrift);
}

/* -------------------------------------------------------------------------- indexes */

alm_status alm_pq_write_offset_index(alm_ctx *cx, const alm_pq_offset_index *index, alm_buf *out)
{
    alm_thrift_out thrift = meta_write_begin(cx, out);
    alm_thrift_put_list(&thrift, 1, ALM_THRIFT_STRUCT, index->n_pages);
    for (uint32_t i = 0; i < index->n_pages; i++) {
        alm_thrift_begin(&thrift);
        alm_thrift_put_i64(&thrift, 1, index->page[i].offset);
        alm_thrift_put_i32(&thrift, 2, index->page[i].bytes);
        alm_thrift_put_i64(&thrift, 3, index->page[i].first_row);
        alm_thrift_end(&thrift);
    }
    return meta_write_end(&thrift);
}

alm_status alm_pq_write_column_index(alm_ctx *cx, const alm_pq_column_index *index, alm_buf *out)
{
    alm_thrift_out thrift = meta_write_begin(cx, out);
    alm_thrift_put_list(&thrift, 1, ALM_THRIFT_TRUE, index->n_pages);
    for (uint32_t i = 0; i < index->n_pages; i++)
        alm_thrift_elem_put_bool(&thrift, index->null_page[i]);
    alm_thrift_put_list(&thrift, 2, ALM_THRIFT_BINARY, index->n_pages);
    for (uint32_t i = 0; i < index->n_pages; i++)
        alm_thrift_elem_put_binary(&thrift, index->min[i]);
    alm_thrift_put_list(&thrift, 3, ALM_THRIFT_BINARY, index->n_pages);
    for (uint32_t i = 0; i < index->n_pages; i++)
        alm_thrift_elem_put_binary(&thrift, index->max[i]);
    alm_thrift_put_i32(&thrift, 4, index->boundary);
    if (index->null_count != NULL) {
        alm_thrift_put_list(&thrift, 5, ALM_THRIFT_I64, index->n_pages);
        for (uint32_t i = 0; i < index->n_pages; i++)
            alm_thrift_elem_put_int(&thrift, index->null_count[i]);
    }
    return meta_write_end(&thrift);
}

alm_status alm_pq_write_bloom_header(alm_ctx *cx, int32_t n, alm_buf *out)
{
    alm_thrift_out thrift = meta_write_begin(cx, out);
    alm_thrift_put_i32(&thrift, 1, n);
    put_kind(&thrift, 2, 1);
    put_kind(&thrift, 3, 1);
    put_kind(&thrift, 4, 1);
    return meta_write_end(&thrift);
}
