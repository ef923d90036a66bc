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

static int64_t or_null(int64_t x)
{
    return x < 0 ? ALM_LONG_NULL : x;
}

static alm_status put_quoted(alm_ctx *cx, alm_buf *buf, alm_str s)
{
    for (size_t i = 0; i < s.len && i < 256; i++) {
        const uint8_t c = (uint8_t)s.ptr[i];
        if (c < 0x20 || c >= 0x7F)
            ALM_TRY(alm_buf_printf(cx, buf, "\\x%02x", c));
        else
            ALM_TRY(alm_buf_append(cx, buf, &s.ptr[i], 1));
    }
    return ALM_OK;
}

/* A bound of the statistics as it is in the file: numbers of its physical type, else its bytes. */
static alm_status bound_text(alm_ctx *cx, int8_t physical, alm_str s, const char **out)
{
    alm_buf buf;
    int32_t i32;
    int64_t i64;
    float f32;
    double f64;
    *out = NULL;
    if (s.ptr == NULL)
        return ALM_OK;
    if (physical == ALM_PQ_BOOLEAN && s.len == 1)
        return alm_arena_zstr(cx, cx->arena, alm_str_of(s.ptr[0] != 0 ? "true" : "false"), out);
    if (physical == ALM_PQ_INT32 && s.len == sizeof i32) {
        memcpy(&i32, s.ptr, sizeof i32);
        return alm_arena_printf(cx, cx->arena, out, "%d", i32);
    }
    if (physical == ALM_PQ_INT64 && s.len == sizeof i64) {
        memcpy(&i64, s.ptr, sizeof i64);
        return alm_arena_printf(cx, cx->arena, out, "%lld", (long long)i64);
    }
    if (physical == ALM_PQ_FLOAT && s.len == sizeof f32) {
        memcpy(&f32, s.ptr, sizeof f32);
        return alm_arena_printf(cx, cx->arena, out, "%.9g", (double)f32);
    }
    if (physical == ALM_PQ_DOUBLE && s.len == sizeof f64) {
        memcpy(&f64, s.ptr, sizeof f64);
        return alm_arena_printf(cx, cx->arena, out, "%.17g", f64);
    }
    alm_buf_init(&buf, cx->mem);
    alm_status st = put_quoted(cx, &buf, s);
    if (st == ALM_OK)
        st = alm_arena_zstr(cx, cx->arena, (alm_str){buf.ptr, buf.len}, out);
    alm_buf_deinit(&buf);
    return st;
}

static alm_status encodings_text(alm_ctx *cx, uint32_t set, const char **out)
{
    char text[200] = "";
    size_t n = 0;
    for (int32_t i = 0; i < ALM_PQ_ENCODING_COUNT; i++)
        if ((set >> i & 1U) != 0)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n > 0 ? ", " : "",
                                  alm_pq_encoding_name(i));
    return alm_arena_zstr(cx, cx->arena, alm_str_of(text), out);
}

static alm_status key_values_text(alm_ctx *cx, const alm_pq_key_value *kv, uint32_t n,
                                  const char **out)
{
    alm_buf buf;
    alm_status st = ALM_OK;
    *out = NULL;
    alm_buf_init(&buf, cx->mem);
    for (uint32_t i = 0; i < n && st == ALM_OK; i++) {
        st = alm_buf_printf(cx, &buf, "%s%.*s=", i > 0 ? ", " : "",
                            (int)ALM_MIN(kv[i].key.len, (size_t)1000), kv[i].key.ptr);
        if (st == ALM_OK && kv[i].value.len > 0)
            st = alm_buf_append(cx, &buf, kv[i].value.ptr, kv[i].value.len);
    }
    if (st == ALM_OK && n > 0)
        st = alm_arena_zstr(cx, cx->arena, (alm_str){buf.ptr, buf.len}, out);
    alm_buf_deinit(&buf);
    return st;
}

static alm_status path_text(alm_ctx *cx, const alm_pq_column_chunk *c, const char **out)
{
    *out = "";
    for (uint32_t i = 0; i < c->n_path; i++)
        ALM_TRY(alm_arena_printf(cx, cx->arena, out, "%s%s%.*s", *out, i > 0 ? "." : "",
                                 (int)ALM_MIN(c->path[i].len, (size_t)1000),
                                 c->path[i].ptr != NULL ? c->path[i].ptr : ""));
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

static const char *sorted_text(const alm_pq_row_group *g, uint32_t column)
{
    for (uint32_t i = 0; i < g->n_sorting; i++)
        if (g->sorting[i].column == (int32_t)column)
            return g->sorting[i].descending ? "descending" : "ascending";
    return NULL;
}

static alm_status chunk_row(alm_ctx *cx, const alm_pq_row_group *g, uint32_t column, alm_list *l)
{
    const alm_pq_column_chunk *c = &g->column[column];
    const alm_pq_statistics *s = &c->statistics;
    const char *text = NULL;
    ALM_TRY(path_text(cx, c, &text));
    alm_list_int(l, 3, column);
    alm_list_text(l, 4, text);
    alm_list_text(l, 5, alm_pq_physical_name(c->physical));
    alm_list_text(l, 6, alm_pq_codec_name(c->codec));
    ALM_TRY(encodings_text(cx, c->encodings, &text));
    alm_list_text(l, 7, text);
    const alm_str lo = s->min_value.ptr != NULL ? s->min_value : s->min;
    const alm_str hi = s->max_value.ptr != NULL ? s->max_value : s->max;
    ALM_TRY(bound_text(cx, c->physical, lo, &text));
    alm_list_text(l, 11, text);
    ALM_TRY(bound_text(cx, c->physical, hi, &text));
    alm_list_text(l, 12, text);
    const int64_t number[] = {c->n_values,
                              s->null_count,
                              s->distinct_count,
                              -1,
                              -1,
                              c->compressed_bytes,
                              c->uncompressed_bytes,
                              c->data_offset,
                              c->dictionary_offset,
                              c->column_index_offset,
                              c->offset_index_offset,
                              c->bloom_offset};
    for (uint32_t i = 0; i < ALM_COUNT(number); i++)
        if (i != 3 && i != 4)
            alm_list_int(l, 8 + i, or_null(number[i]));
    alm_list_text(l, 20, sorted_text(g, column));
    ALM_TRY(key_values_text(cx, c->key_value, c->n_key_value, &text));
    alm_list_text(l, 21, text);
    return ALM_OK;
}

static alm_status file_rows(alm_ctx *cx, const alm_pq_file *file, const char *path, alm_list *l)
{
    const alm_pq_file_meta *m = alm_pq_meta(file);
    const char *created = NULL, *pairs = NULL;
    if (m->created_by.ptr != NULL)
        ALM_TRY(alm_arena_zstr(cx, cx->arena, m->created_by, &created));
    ALM_TRY(key_values_text(cx, m->key_value, m->n_key_value, &pairs));
    for (uint32_t g = 0; g < m->n_row_groups; g++) {
        ALM_TRY(alm_check(cx));
        for (uint32_t c = 0; c < m->row_group[g].n_columns; c++) {
            ALM_TRY(alm_list_row(cx, l));
            alm_list_text(l, 0, path);
            alm_list_int(l, 1, g);
            alm_list_int(l, 2, m->row_group[g].n_rows);
            ALM_TRY(chunk_row(cx, &m->row_group[g], c, l));
            alm_list_text(l, 22, created);
            alm_list_text(l, 23, pairs);
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
    alm_list *l = NULL;
    (void)run;
    ALM_TRY(alm_list_new(cx, meta_cols, ALM_COUNT(meta_cols), &l));
    for (uint32_t i = 0; i < m->n; i++)
        ALM_TRY(file_rows(cx, m->file[i], m->path[i], l));
    *state = l;
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

static alm_status element_row(alm_ctx *cx, const alm_pq_schema_element *e, alm_list *l)
{
    static const char *const repetition[] = {"REQUIRED", "OPTIONAL", "REPEATED"};
    const char *name = NULL;
    ALM_TRY(alm_arena_zstr(cx, cx->arena, e->name, &name));
    alm_list_int(l, 1, or_null(e->field_id));
    alm_list_text(l, 2, name);
    alm_list_text(l, 4, e->physical < 0 ? NULL : alm_pq_physical_name(e->physical));
    alm_list_int(l, 5, e->physical == ALM_PQ_FIXED ? e->length : ALM_LONG_NULL);
    if (e->repetition >= 0 && e->repetition < (int8_t)ALM_COUNT(repetition))
        alm_list_text(l, 6, repetition[e->repetition]);
    alm_list_int(l, 7, e->physical < 0 ? e->n_children : ALM_LONG_NULL);
    alm_list_text(l, 8, e->converted < 0 ? NULL : alm_pq_converted_name(e->converted));
    alm_list_text(l, 9, e->logical == 0 ? NULL : alm_pq_logical_name(e->logical));
    alm_list_int(l, 10, or_null(e->precision));
    alm_list_int(l, 11, or_null(e->scale));
    return ALM_OK;
}

static alm_status column_cells(alm_ctx *cx, const alm_pq_file *file, uint32_t leaf, alm_list *l)
{
    uint32_t n = 0;
    const char *type = NULL;
    const alm_pq_read_col *col = alm_pq_columns(file, &n);
    for (uint32_t i = 0; i < n; i++) {
        if (col[i].leaf != leaf)
            continue;
        ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(alm_type_name(col[i].type)), &type));
        alm_list_text(l, 12, col[i].name);
        alm_list_text(l, 13, col[i].refused == NULL ? type : NULL);
        alm_list_text(l, 14, col[i].refused);
    }
    return ALM_OK;
}

static alm_status schema_rows(alm_ctx *cx, const alm_pq_file *file, const char *path, alm_list *l)
{
    enum { DEEP = 80 };
    const alm_pq_file_meta *m = alm_pq_meta(file);
    int32_t left[DEEP] = {0}; /* fields still to come, by depth */
    uint32_t depth = 0, leaf = 0;
    for (uint32_t i = 0; i < m->n_schema; i++) {
        const alm_pq_schema_element *e = &m->schema[i];
        ALM_TRY(alm_list_row(cx, l));
        alm_list_text(l, 0, path);
        alm_list_int(l, 3, depth);
        ALM_TRY(element_row(cx, e, l));
        if (e->physical >= 0)
            ALM_TRY(column_cells(cx, file, leaf++, l));
        if (depth > 0)
            left[depth]--;
        if (e->physical < 0 && e->n_children > 0 && depth + 1 < DEEP)
            left[++depth] = e->n_children;
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
    alm_list *l = NULL;
    (void)run;
    ALM_TRY(alm_list_new(cx, schema_cols, ALM_COUNT(schema_cols), &l));
    for (uint32_t i = 0; i < m->n; i++) {
        ALM_TRY(alm_check(cx));
        ALM_TRY(schema_rows(cx, m->file[i], m->path[i], l));
    }
    *state = l;
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
