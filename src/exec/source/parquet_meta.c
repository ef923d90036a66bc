/*
 * parquet_meta.c - parquet_metadata(file), a row for each column of each row group, and
 * parquet_schema(file), a row for each field.
 */
#include <stdio.h>

#include "exec/source/list.h"
#include "exec/source/parquet_set.h"

typedef struct meta_call {
    const alm_pq_file *const *file;
    const char *const *path;
    uint32_t n;
} meta_call;

static alm_status meta_bind(alm_ctx *cx, const alm_list_kind *kind, const alm_source_call *call,
                            alm_source_bound *out)
{
    meta_call *m = NULL;
    ALM_TRY(alm_list_bind(cx, kind, &(alm_source_call){.pos = call->pos}, out));
    ALM_TRY(ALM_NEW(cx, cx->arena, &m));
    ALM_TRY(alm_parquet_files(cx, kind->name, call, &m->file, &m->path, &m->n));
    out->data = m;
    return ALM_OK;
}

/* ------------------------------------------------------------------------------- values as text */

static int64_t or_null(int64_t value)
{
    return value < 0 ? ALM_LONG_NULL : value;
}

static alm_status parquet_meta_put_quoted(alm_ctx *cx, alm_buf *buf, alm_str text)
{
    for (size_t i = 0; i < text.len && i < 256; i++) {
        const uint8_t byte = (uint8_t)text.ptr[i];
        if (byte < 0x20 || byte >= 0x7F)
            ALM_TRY(alm_buf_printf(cx, buf, "\\x%02x", byte));
        else
            ALM_TRY(alm_buf_append(cx, buf, &text.ptr[i], 1));
    }
    return ALM_OK;
}

/* A bound of the statistics as it is in the file: numbers of its physical type, else its bytes. */
static alm_status bound_text(alm_ctx *cx, int8_t physical, alm_str text, const char **out)
{
    alm_buf buf;
    int32_t i32;
    int64_t i64;
    float f32;
    double f64;
    *out = NULL;
    if (text.ptr == NULL)
        return ALM_OK;
    if (physical == ALM_PQ_BOOLEAN && text.len == 1)
        return alm_arena_zstr(cx, cx->arena, alm_str_of(text.ptr[0] != 0 ? "true" : "false"), out);
    if (physical == ALM_PQ_INT32 && text.len == sizeof i32) {
        memcpy(&i32, text.ptr, sizeof i32);
        return alm_arena_printf(cx, cx->arena, out, "%d", i32);
    }
    if (physical == ALM_PQ_INT64 && text.len == sizeof i64) {
        memcpy(&i64, text.ptr, sizeof i64);
        return alm_arena_printf(cx, cx->arena, out, "%lld", (long long)i64);
    }
    if (physical == ALM_PQ_FLOAT && text.len == sizeof f32) {
        memcpy(&f32, text.ptr, sizeof f32);
        return alm_arena_printf(cx, cx->arena, out, "%.9g", (double)f32);
    }
    if (physical == ALM_PQ_DOUBLE && text.len == sizeof f64) {
        memcpy(&f64, text.ptr, sizeof f64);
        return alm_arena_printf(cx, cx->arena, out, "%.17g", f64);
    }
    alm_buf_init(&buf, cx->mem);
    alm_status status = parquet_meta_put_quoted(cx, &buf, text);
    if (status == ALM_OK)
        status = alm_arena_zstr(cx, cx->arena, (alm_str){buf.ptr, buf.len}, out);
    alm_buf_deinit(&buf);
    return status;
}

static alm_status encodings_text(alm_ctx *cx, uint32_t set, const char **out)
{
    char text[200] = "";
    size_t count = 0;
    for (int32_t i = 0; i < ALM_PQ_ENCODING_COUNT; i++)
        if ((set >> i & 1U) != 0)
            count += (size_t)snprintf(text + count, sizeof text - count, "%s%s",
                                      count > 0 ? ", " : "", alm_pq_encoding_name(i));
    return alm_arena_zstr(cx, cx->arena, alm_str_of(text), out);
}

static alm_status key_values_text(alm_ctx *cx, const alm_pq_key_value *values, uint32_t n,
                                  const char **out)
{
    alm_buf buf;
    alm_status status = ALM_OK;
    *out = NULL;
    alm_buf_init(&buf, cx->mem);
    for (uint32_t i = 0; i < n && status == ALM_OK; i++) {
        status = alm_buf_printf(cx, &buf, "%s%.*s=", i > 0 ? ", " : "",
                                (int)ALM_MIN(values[i].key.len, (size_t)1000), values[i].key.ptr);
        if (status == ALM_OK && values[i].value.len > 0)
            status = alm_buf_append(cx, &buf, values[i].value.ptr, values[i].value.len);
    }
    if (status == ALM_OK && n > 0)
        status = alm_arena_zstr(cx, cx->arena, (alm_str){buf.ptr, buf.len}, out);
    alm_buf_deinit(&buf);
    return status;
}

static alm_status path_text(alm_ctx *cx, const alm_pq_column_chunk *chunk, const char **out)
{
    *out = "";
    for (uint32_t i = 0; i < chunk->n_path; i++)
        ALM_TRY(alm_arena_printf(cx, cx->arena, out, "%s%s%.*s", *out, i > 0 ? "." : "",
                                 (int)ALM_MIN(chunk->path[i].len, (size_t)1000),
                                 chunk->path[i].ptr != NULL ? chunk->path[i].ptr : ""));
    return ALM_OK;
}

/* --------------------------------------------------------------------------------- row groups */

static const alm_plan_col meta_cols[] = {{"file_name", ALM_TY(VARCHAR)},
                                         {"row_group", ALM_TY(LONG)},
                                         {"row_group_rows", ALM_TY(LONG)},
                                         {"column_id", ALM_TY(LONG)},
                                         {"path_in_schema", ALM_TY(VARCHAR)},
                                         {"physical_type", ALM_TY(VARCHAR)},
                                         {"compression", ALM_TY(VARCHAR)},
                                         {"encodings", ALM_TY(VARCHAR)},
                                         {"num_values", ALM_TY(LONG)},
                                         {"null_count", ALM_TY(LONG)},
                                         {"distinct_count", ALM_TY(LONG)},
                                         {"min_value", ALM_TY(VARCHAR)},
                                         {"max_value", ALM_TY(VARCHAR)},
                                         {"compressed_bytes", ALM_TY(LONG)},
                                         {"uncompressed_bytes", ALM_TY(LONG)},
                                         {"data_page_offset", ALM_TY(LONG)},
                                         {"dictionary_page_offset", ALM_TY(LONG)},
                                         {"column_index_offset", ALM_TY(LONG)},
                                         {"offset_index_offset", ALM_TY(LONG)},
                                         {"bloom_filter_offset", ALM_TY(LONG)},
                                         {"sorted", ALM_TY(VARCHAR)},
                                         {"key_values", ALM_TY(VARCHAR)},
                                         {"created_by", ALM_TY(VARCHAR)},
                                         {"file_key_values", ALM_TY(VARCHAR)}};

static const char *sorted_text(const alm_pq_row_group *group, uint32_t column)
{
    for (uint32_t i = 0; i < group->n_sorting; i++)
        if (group->sorting[i].column == (int32_t)column)
            return group->sorting[i].descending ? "descending" : "ascending";
    return NULL;
}

static alm_status chunk_row(alm_ctx *cx, const alm_pq_row_group *group, uint32_t column,
                            alm_list *list)
{
    const alm_pq_column_chunk *chunk = &group->column[column];
    const alm_pq_statistics *statistics = &chunk->statistics;
    const char *text = NULL;
    ALM_TRY(path_text(cx, chunk, &text));
    alm_list_int(list, 3, column);
    alm_list_text(list, 4, text);
    alm_list_text(list, 5, alm_pq_physical_name(chunk->physical));
    alm_list_text(list, 6, alm_pq_codec_name(chunk->codec));
    ALM_TRY(encodings_text(cx, chunk->encodings, &text));
    alm_list_text(list, 7, text);
    const alm_str lo = statistics->min_value.ptr != NULL ? statistics->min_value : statistics->min;
    const alm_str hi = statistics->max_value.ptr != NULL ? statistics->max_value : statistics->max;
    ALM_TRY(bound_text(cx, chunk->physical, lo, &text));
    alm_list_text(list, 11, text);
    ALM_TRY(bound_text(cx, chunk->physical, hi, &text));
    alm_list_text(list, 12, text);
    const int64_t number[] = {chunk->n_values,
                              statistics->null_count,
                              statistics->distinct_count,
                              -1,
                              -1,
                              chunk->compressed_bytes,
                              chunk->uncompressed_bytes,
                              chunk->data_offset,
                              chunk->dictionary_offset,
                              chunk->column_index_offset,
                              chunk->offset_index_offset,
                              chunk->bloom_offset};
    for (uint32_t i = 0; i < ALM_COUNT(number); i++)
        if (i != 3 && i != 4)
            alm_list_int(list, 8 + i, or_null(number[i]));
    alm_list_text(list, 20, sorted_text(group, column));
    ALM_TRY(key_values_text(cx, chunk->key_value, chunk->n_key_value, &text));
    alm_list_text(list, 21, text);
    return ALM_OK;
}

static alm_status file_rows(alm_ctx *cx, const alm_pq_file *file, const char *path, alm_list *list)
{
    const alm_pq_file_meta *meta = alm_pq_meta(file);
    const char *created = NULL, *pairs = NULL;
    if (meta->created_by.ptr != NULL)
        ALM_TRY(alm_arena_zstr(cx, cx->arena, meta->created_by, &created));
    ALM_TRY(key_values_text(cx, meta->key_value, meta->n_key_value, &pairs));
    for (uint32_t row_group = 0; row_group < meta->n_row_groups; row_group++) {
        ALM_TRY(alm_check(cx));
        for (uint32_t column = 0; column < meta->row_group[row_group].n_columns; column++) {
            ALM_TRY(alm_list_row(cx, list));
            alm_list_text(list, 0, path);
            alm_list_int(list, 1, row_group);
            alm_list_int(list, 2, meta->row_group[row_group].n_rows);
            ALM_TRY(chunk_row(cx, &meta->row_group[row_group], column, list));
            alm_list_text(list, 22, created);
            alm_list_text(list, 23, pairs);
        }
    }
    return ALM_OK;
}

static alm_status metadata_bind(alm_ctx *cx, const alm_source_call *call, alm_source_bound *out)
{
    static const alm_list_kind kind = {"parquet_metadata", false, meta_cols, ALM_COUNT(meta_cols)};
    return meta_bind(cx, &kind, call, out);
}

static alm_status metadata_open(alm_ctx *cx, alm_run *run, const alm_plan *plan, void **state)
{
    const meta_call *m = plan->source.data;
    alm_list *list = NULL;
    (void)run;
    ALM_TRY(alm_list_new(cx, meta_cols, ALM_COUNT(meta_cols), &list));
    for (uint32_t i = 0; i < m->n; i++)
        ALM_TRY(file_rows(cx, m->file[i], m->path[i], list));
    *state = list;
    return ALM_OK;
}

const alm_source alm_source_parquet_metadata = {
    .name = "parquet_metadata",
    .signature = "(file STRING)",
    .doc = "A row for each column of each row group of Parquet files: rows, compression, "
           "encodings, statistics, "
           "sizes and places, key-values.",
    .example = "select path_in_schema, compression from parquet_metadata('trades.parquet')",
    .bind = metadata_bind,
    .open = metadata_open,
    .next = alm_list_next,
    .count = alm_list_count,
    .skip = alm_list_skip};

/* ------------------------------------------------------------------------------------- schema */

static const alm_plan_col schema_cols[] = {
    {"file_name", ALM_TY(VARCHAR)},      {"field_id", ALM_TY(LONG)},
    {"name", ALM_TY(VARCHAR)},           {"depth", ALM_TY(LONG)},
    {"physical_type", ALM_TY(VARCHAR)},  {"type_length", ALM_TY(LONG)},
    {"repetition", ALM_TY(VARCHAR)},     {"num_children", ALM_TY(LONG)},
    {"converted_type", ALM_TY(VARCHAR)}, {"logical_type", ALM_TY(VARCHAR)},
    {"precision", ALM_TY(LONG)},         {"scale", ALM_TY(LONG)},
    {"column_name", ALM_TY(VARCHAR)},    {"column_type", ALM_TY(VARCHAR)},
    {"refused", ALM_TY(VARCHAR)}};

static alm_status parquet_meta_element_row(alm_ctx *cx, const alm_pq_schema_element *element,
                                           alm_list *list)
{
    static const char *const repetition[] = {"REQUIRED", "OPTIONAL", "REPEATED"};
    const char *name = NULL;
    ALM_TRY(alm_arena_zstr(cx, cx->arena, element->name, &name));
    alm_list_int(list, 1, or_null(element->field_id));
    alm_list_text(list, 2, name);
    alm_list_text(list, 4, element->physical < 0 ? NULL : alm_pq_physical_name(element->physical));
    alm_list_int(list, 5, element->physical == ALM_PQ_FIXED ? element->length : ALM_LONG_NULL);
    if (element->repetition >= 0 && element->repetition < (int8_t)ALM_COUNT(repetition))
        alm_list_text(list, 6, repetition[element->repetition]);
    alm_list_int(list, 7, element->physical < 0 ? element->n_children : ALM_LONG_NULL);
    alm_list_text(list, 8,
                  element->converted < 0 ? NULL : alm_pq_converted_name(element->converted));
    alm_list_text(list, 9, element->logical == 0 ? NULL : alm_pq_logical_name(element->logical));
    alm_list_int(list, 10, or_null(element->precision));
    alm_list_int(list, 11, or_null(element->scale));
    return ALM_OK;
}

static alm_status column_cells(alm_ctx *cx, const alm_pq_file *file, uint32_t leaf, alm_list *list)
{
    uint32_t n_cols = 0;
    const char *type = NULL;
    const alm_pq_read_col *col = alm_pq_columns(file, &n_cols);
    for (uint32_t i = 0; i < n_cols; i++) {
        if (col[i].leaf != leaf)
            continue;
        ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(alm_type_name(col[i].type)), &type));
        alm_list_text(list, 12, col[i].name);
        alm_list_text(list, 13, col[i].refused == NULL ? type : NULL);
        alm_list_text(list, 14, col[i].refused);
    }
    return ALM_OK;
}

static alm_status schema_rows(alm_ctx *cx, const alm_pq_file *file, const char *path,
                              alm_list *list)
{
    enum { DEEP = 80 };
    const alm_pq_file_meta *meta = alm_pq_meta(file);
    int32_t left[DEEP] = {0}; /* fields still to come, by depth */
    uint32_t depth = 0, leaf = 0;
    for (uint32_t i = 0; i < meta->n_schema; i++) {
        const alm_pq_schema_element *element = &meta->schema[i];
        ALM_TRY(alm_list_row(cx, list));
        alm_list_text(list, 0, path);
        alm_list_int(list, 3, depth);
        ALM_TRY(parquet_meta_element_row(cx, element, list));
        if (element->physical >= 0)
            ALM_TRY(column_cells(cx, file, leaf++, list));
        if (depth > 0)
            left[depth]--;
        if (element->physical < 0 && element->n_children > 0 && depth + 1 < DEEP)
            left[++depth] = element->n_children;
        while (depth > 0 && left[depth] == 0)
            depth--;
    }
    return ALM_OK;
}

static alm_status schema_bind(alm_ctx *cx, const alm_source_call *call, alm_source_bound *out)
{
    static const alm_list_kind kind = {"parquet_schema", false, schema_cols,
                                       ALM_COUNT(schema_cols)};
    return meta_bind(cx, &kind, call, out);
}

static alm_status schema_open(alm_ctx *cx, alm_run *run, const alm_plan *plan, void **state)
{
    const meta_call *m = plan->source.data;
    alm_list *list = NULL;
    (void)run;
    ALM_TRY(alm_list_new(cx, schema_cols, ALM_COUNT(schema_cols), &list));
    for (uint32_t i = 0; i < m->n; i++) {
        ALM_TRY(alm_check(cx));
        ALM_TRY(schema_rows(cx, m->file[i], m->path[i], list));
    }
    *state = list;
    return ALM_OK;
}

const alm_source alm_source_parquet_schema = {
    .name = "parquet_schema",
    .signature = "(file STRING)",
    .doc = "A row for each field of the schema of Parquet files, with the column and type it is "
           "read as, or "
           "why it cannot be read.",
    .example = "select name, physical_type, column_type from parquet_schema('trades.parquet')",
    .bind = schema_bind,
    .open = schema_open,
    .next = alm_list_next,
    .count = alm_list_count,
    .skip = alm_list_skip};
