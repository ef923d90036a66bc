/* meta_read.c - a reader for each struct of the metadata; unknown fields are left out. */
#include "codec/parquet/meta.h"
#include "codec/parquet/thrift.h"

/* Least bytes of an element, so that a count cannot ask for much more memory than it has bytes. */
enum { LEAST_SCHEMA = 4, LEAST_CHUNK = 12, LEAST_GROUP = 6, LEAST_PAIR = 3, LEAST_STATS = 6 };

typedef struct reader {
    alm_thrift_in in; /* first: functions of thrift.h take its address */
    alm_ctx *cx;
    alm_arena *arena;
    alm_status st; /* of memory */
} reader;

/* Room for the n elements of a list; NULL: none, or an error that stands in the reader. */
static void *list_room(reader *self, uint32_t n, size_t bytes)
{
    void *room = NULL;
    if (n == 0 || self->st != ALM_OK)
        return NULL;
    self->st = alm_arena_zero(self->cx, self->arena, n * bytes, &room);
    if (self->st != ALM_OK)
        alm_thrift_bad(&self->in, "no memory");
    return self->st == ALM_OK ? room : NULL;
}

static int8_t small(alm_thrift_in *thrift, const alm_thrift_field *field)
{
    const int32_t value = alm_thrift_i32(thrift, field);
    return value >= 0 && value <= INT8_MAX ? (int8_t)value : INT8_MAX; /* no name and no reader */
}

/* ------------------------------------------------------------------------------------- schema */

static uint8_t meta_read_unit(alm_thrift_in *thrift)
{
    alm_thrift_field field = {0};
    uint8_t unit = 0;
    alm_thrift_enter(thrift);
    while (alm_thrift_next(thrift, &field)) {
        if (field.id >= ALM_PQ_MILLIS && field.id <= ALM_PQ_NANOS)
            unit = (uint8_t)field.id;
        alm_thrift_skip(thrift, &field);
    }
    alm_thrift_leave(thrift);
    return unit;
}

/* The parameters of a logical type: their fields do not overlap in meaning but by its kind. */
static void read_logical_body(alm_thrift_in *thrift, alm_pq_schema_element *element)
{
    alm_thrift_field field = {0};
    alm_thrift_enter(thrift);
    while (alm_thrift_next(thrift, &field)) {
        const bool timed =
            element->logical == ALM_PQ_L_TIME || element->logical == ALM_PQ_L_TIMESTAMP;
        if (element->logical == ALM_PQ_L_DECIMAL && field.id == 1)
            element->scale = alm_thrift_i32(thrift, &field);
        else if (element->logical == ALM_PQ_L_DECIMAL && field.id == 2)
            element->precision = alm_thrift_i32(thrift, &field);
        else if (timed && field.id == 1)
            element->utc = alm_thrift_bool(thrift, &field);
        else if (timed && field.id == 2 && field.type == ALM_THRIFT_STRUCT)
            element->unit = meta_read_unit(thrift);
        else if (element->logical == ALM_PQ_L_INTEGER && field.id == 1)
            element->bits = (uint8_t)alm_thrift_int(thrift, &field);
        else if (element->logical == ALM_PQ_L_INTEGER && field.id == 2)
            element->is_signed = alm_thrift_bool(thrift, &field);
        else
            alm_thrift_skip(thrift, &field);
    }
    alm_thrift_leave(thrift);
}

static void read_logical(alm_thrift_in *thrift, alm_pq_schema_element *element)
{
    alm_thrift_field field = {0};
    alm_thrift_enter(thrift);
    while (alm_thrift_next(thrift, &field)) {
        if (field.type != ALM_THRIFT_STRUCT) {
            alm_thrift_skip(thrift, &field);
            continue;
        }
        element->logical =
            field.id > 0 && field.id < ALM_PQ_L_COUNT ? (uint8_t)field.id : UINT8_MAX;
        read_logical_body(thrift, element);
    }
    alm_thrift_leave(thrift);
}

static void read_schema_element(reader *self, alm_pq_schema_element *element)
{
    alm_thrift_in *thrift = &self->in;
    alm_thrift_field field = {0};
    *element = (alm_pq_schema_element){.physical = -1,
                                       .repetition = -1,
                                       .converted = ALM_PQ_C_NONE,
                                       .length = -1,
                                       .scale = -1,
                                       .precision = -1,
                                       .field_id = -1};
    alm_thrift_enter(thrift);
    while (alm_thrift_next(thrift, &field)) {
        switch (field.id) {
        case 1:
            element->physical = small(thrift, &field);
            break;
        case 2:
            element->length = alm_thrift_i32(thrift, &field);
            break;
        case 3:
            element->repetition = small(thrift, &field);
            break;
        case 4:
            element->name = alm_thrift_binary(thrift, &field);
            break;
        case 5:
            element->n_children = alm_thrift_i32(thrift, &field);
            break;
        case 6:
            element->converted = small(thrift, &field);
            break;
        case 7:
            element->scale = alm_thrift_i32(thrift, &field);
            break;
        case 8:
            element->precision = alm_thrift_i32(thrift, &field);
            break;
        case 9:
            element->field_id = alm_thrift_i32(thrift, &field);
            break;
        case 10:
            if (field.type == ALM_THRIFT_STRUCT) {
                read_logical(thrift, element);
                break;
            }
            __attribute__((fallthrough));
        default:
            alm_thrift_skip(thrift, &field);
        }
    }
    alm_thrift_leave(thrift);
    if (element->physical >= 0 && element->n_children > 0)
        alm_thrift_bad(thrift, "a field has a type and children");
}

/* ---------------------------------------------------------------------------- parts of a chunk */

static void meta_read_statistics(alm_thrift_in *thrift, alm_pq_statistics *statistics)
{
    alm_thrift_field field = {0};
    *statistics = (alm_pq_statistics){.null_count = -1, .distinct_count = -1};
    alm_thrift_enter(thrift);
    while (alm_thrift_next(thrift, &field)) {
        switch (field.id) {
        case 1:
            statistics->max = alm_thrift_binary(thrift, &field);
            break;
        case 2:
            statistics->min = alm_thrift_binary(thrift, &field);
            break;
        case 3:
            statistics->null_count = alm_thrift_int(thrift, &field);
            break;
        case 4:
            statistics->distinct_count = alm_thrift_int(thrift, &field);
            break;
        case 5:
            statistics->max_value = alm_thrift_binary(thrift, &field);
            break;
        case 6:
            statistics->min_value = alm_thrift_binary(thrift, &field);
            break;
        case 7:
            statistics->max_inexact = !alm_thrift_bool(thrift, &field);
            break;
        case 8:
            statistics->min_inexact = !alm_thrift_bool(thrift, &field);
            break;
        default:
            alm_thrift_skip(thrift, &field);
        }
    }
    alm_thrift_leave(thrift);
}

static void read_key_values(reader *self, const alm_thrift_field *list, alm_pq_key_value **out,
                            uint32_t *n_out)
{
    alm_thrift_in *thrift = &self->in;
    const uint32_t n = alm_thrift_list(thrift, list, ALM_THRIFT_STRUCT, LEAST_PAIR);
    alm_pq_key_value *values = list_room(self, n, sizeof *values);
    for (uint32_t i = 0; i < n && thrift->bad == NULL; i++) {
        alm_thrift_field field = {0};
        alm_thrift_enter(thrift);
        while (alm_thrift_next(thrift, &field)) {
            if (field.id == 1)
                values[i].key = alm_thrift_binary(thrift, &field);
            else if (field.id == 2)
                values[i].value = alm_thrift_binary(thrift, &field);
            else
                alm_thrift_skip(thrift, &field);
        }
        alm_thrift_leave(thrift);
    }
    *out = values;
    *n_out = values != NULL ? n : 0;
}

static void read_encoding_stats(reader *self, const alm_thrift_field *list,
                                alm_pq_column_chunk *chunk)
{
    alm_thrift_in *thrift = &self->in;
    const uint32_t n = alm_thrift_list(thrift, list, ALM_THRIFT_STRUCT, LEAST_STATS);
    alm_pq_encoding_stats *stats = list_room(self, n, sizeof *stats);
    for (uint32_t i = 0; i < n && thrift->bad == NULL; i++) {
        alm_thrift_field field = {0};
        alm_thrift_enter(thrift);
        while (alm_thrift_next(thrift, &field)) {
            if (field.id == 1)
                stats[i].page_type = small(thrift, &field);
            else if (field.id == 2)
                stats[i].encoding = small(thrift, &field);
            else if (field.id == 3)
                stats[i].count = alm_thrift_i32(thrift, &field);
            else
                alm_thrift_skip(thrift, &field);
        }
        alm_thrift_leave(thrift);
    }
    chunk->encoding_stats = stats;
    chunk->n_encoding_stats = stats != NULL ? n : 0;
}

static void read_path(reader *self, const alm_thrift_field *list, alm_pq_column_chunk *chunk)
{
    const uint32_t n = alm_thrift_list(&self->in, list, ALM_THRIFT_BINARY, 1);
    chunk->path = list_room(self, n, sizeof *chunk->path);
    for (uint32_t i = 0; i < n && self->in.bad == NULL; i++)
        chunk->path[i] = alm_thrift_elem_binary(&self->in);
    chunk->n_path = chunk->path != NULL ? n : 0;
}

static void read_encodings(alm_thrift_in *thrift, const alm_thrift_field *list,
                           alm_pq_column_chunk *chunk)
{
    const uint32_t n = alm_thrift_list(thrift, list, ALM_THRIFT_I32, 1);
    for (uint32_t i = 0; i < n && thrift->bad == NULL; i++) {
        const int64_t e = alm_thrift_elem_int(thrift);
        if (e >= 0 && e < 32)
            chunk->encodings |= 1U << e;
    }
}

static void read_chunk_meta(reader *self, alm_pq_column_chunk *chunk)
{
    alm_thrift_in *thrift = &self->in;
    alm_thrift_field field = {0};
    chunk->has_meta = true;
    alm_thrift_enter(thrift);
    while (alm_thrift_next(thrift, &field)) {
        switch (field.id) {
        case 1:
            chunk->physical = small(thrift, &field);
            break;
        case 2:
            read_encodings(thrift, &field, chunk);
            break;
        case 3:
            read_path(self, &field, chunk);
            break;
        case 4:
            chunk->codec = small(thrift, &field);
            break;
        case 5:
            chunk->n_values = alm_thrift_int(thrift, &field);
            break;
        case 6:
            chunk->uncompressed_bytes = alm_thrift_int(thrift, &field);
            break;
        case 7:
            chunk->compressed_bytes = alm_thrift_int(thrift, &field);
            break;
        case 8:
            read_key_values(self, &field, &chunk->key_value, &chunk->n_key_value);
            break;
        case 9:
            chunk->data_offset = alm_thrift_int(thrift, &field);
            break;
        case 10:
            chunk->index_offset = alm_thrift_int(thrift, &field);
            break;
        case 11:
            chunk->dictionary_offset = alm_thrift_int(thrift, &field);
            break;
        case 12:
            if (field.type != ALM_THRIFT_STRUCT)
                alm_thrift_skip(thrift, &field);
            else
                meta_read_statistics(thrift, &chunk->statistics);
            chunk->has_statistics = true;
            break;
        case 13:
            read_encoding_stats(self, &field, chunk);
            break;
        case 14:
            chunk->bloom_offset = alm_thrift_int(thrift, &field);
            break;
        case 15:
            chunk->bloom_bytes = alm_thrift_i32(thrift, &field);
            break;
        default:
            alm_thrift_skip(thrift, &field);
        }
    }
    alm_thrift_leave(thrift);
}

static void read_chunk(reader *self, alm_pq_column_chunk *chunk)
{
    alm_thrift_in *thrift = &self->in;
    alm_thrift_field field = {0};
    *chunk = (alm_pq_column_chunk){.physical = -1,
                                   .codec = -1,
                                   .n_values = -1,
                                   .uncompressed_bytes = -1,
                                   .compressed_bytes = -1,
                                   .data_offset = -1,
                                   .index_offset = -1,
                                   .dictionary_offset = -1,
                                   .bloom_offset = -1,
                                   .bloom_bytes = -1,
                                   .offset_index_offset = -1,
                                   .column_index_offset = -1,
                                   .offset_index_bytes = -1,
                                   .column_index_bytes = -1,
                                   .statistics = {.null_count = -1, .distinct_count = -1}};
    alm_thrift_enter(thrift);
    while (alm_thrift_next(thrift, &field)) {
        switch (field.id) {
        case 1:
            chunk->file_path = alm_thrift_binary(thrift, &field);
            break;
        case 3:
            if (field.type == ALM_THRIFT_STRUCT)
                read_chunk_meta(self, chunk);
            else
                alm_thrift_skip(thrift, &field);
            break;
        case 4:
            chunk->offset_index_offset = alm_thrift_int(thrift, &field);
            break;
        case 5:
            chunk->offset_index_bytes = alm_thrift_i32(thrift, &field);
            break;
        case 6:
            chunk->column_index_offset = alm_thrift_int(thrift, &field);
            break;
        case 7:
            chunk->column_index_bytes = alm_thrift_i32(thrift, &field);
            break;
        case 8: /* crypto_metadata */
            chunk->encrypted = true;
            __attribute__((fallthrough));
        default:
            alm_thrift_skip(thrift, &field);
        }
    }
    alm_thrift_leave(thrift);
}

/* ------------------------------------------------------------------------------------ the file */

static void read_sorting(reader *self, const alm_thrift_field *list, alm_pq_row_group *group)
{
    alm_thrift_in *thrift = &self->in;
    const uint32_t n = alm_thrift_list(thrift, list, ALM_THRIFT_STRUCT, LEAST_PAIR);
    group->sorting = list_room(self, n, sizeof *group->sorting);
    for (uint32_t i = 0; i < n && thrift->bad == NULL; i++) {
        alm_thrift_field field = {0};
        alm_thrift_enter(thrift);
        while (alm_thrift_next(thrift, &field)) {
            if (field.id == 1)
                group->sorting[i].column = alm_thrift_i32(thrift, &field);
            else if (field.id == 2)
                group->sorting[i].descending = alm_thrift_bool(thrift, &field);
            else if (field.id == 3)
                group->sorting[i].nulls_first = alm_thrift_bool(thrift, &field);
            else
                alm_thrift_skip(thrift, &field);
        }
        alm_thrift_leave(thrift);
    }
    group->n_sorting = group->sorting != NULL ? n : 0;
}

static void meta_read_row_group(reader *self, alm_pq_row_group *group)
{
    alm_thrift_in *thrift = &self->in;
    alm_thrift_field field = {0};
    *group = (alm_pq_row_group){.n_rows = -1,
                                .uncompressed_bytes = -1,
                                .compressed_bytes = -1,
                                .file_offset = -1,
                                .ordinal = -1};
    alm_thrift_enter(thrift);
    while (alm_thrift_next(thrift, &field)) {
        switch (field.id) {
        case 1:
            group->n_columns = alm_thrift_list(thrift, &field, ALM_THRIFT_STRUCT, LEAST_CHUNK);
            group->column = list_room(self, group->n_columns, sizeof *group->column);
            for (uint32_t i = 0; i < group->n_columns && thrift->bad == NULL; i++)
                read_chunk(self, &group->column[i]);
            break;
        case 2:
            group->uncompressed_bytes = alm_thrift_int(thrift, &field);
            break;
        case 3:
            group->n_rows = alm_thrift_int(thrift, &field);
            break;
        case 4:
            read_sorting(self, &field, group);
            break;
        case 5:
            group->file_offset = alm_thrift_int(thrift, &field);
            break;
        case 6:
            group->compressed_bytes = alm_thrift_int(thrift, &field);
            break;
        case 7:
            group->ordinal = alm_thrift_i32(thrift, &field);
            break;
        default:
            alm_thrift_skip(thrift, &field);
        }
    }
    alm_thrift_leave(thrift);
}

alm_status alm_pq_read_file_meta(alm_ctx *cx, alm_arena *arena, alm_str bytes,
                                 alm_pq_file_meta *out, const char **bad)
{
    const uint8_t *ptr = (const uint8_t *)bytes.ptr;
    reader self = {.in = {.at = ptr, .end = ptr + bytes.len}, .cx = cx, .arena = arena};
    alm_thrift_in *thrift = &self.in;
    alm_thrift_field field = {0};
    *out = (alm_pq_file_meta){.n_rows = -1};
    alm_thrift_enter(thrift);
    while (alm_thrift_next(thrift, &field)) {
        switch (field.id) {
        case 1:
            out->version = alm_thrift_i32(thrift, &field);
            break;
        case 2:
            out->n_schema = alm_thrift_list(thrift, &field, ALM_THRIFT_STRUCT, LEAST_SCHEMA);
            out->schema = list_room(&self, out->n_schema, sizeof *out->schema);
            for (uint32_t i = 0; i < out->n_schema && thrift->bad == NULL; i++)
                read_schema_element(&self, &out->schema[i]);
            break;
        case 3:
            out->n_rows = alm_thrift_int(thrift, &field);
            break;
        case 4:
            out->n_row_groups = alm_thrift_list(thrift, &field, ALM_THRIFT_STRUCT, LEAST_GROUP);
            out->row_group = list_room(&self, out->n_row_groups, sizeof *out->row_group);
            for (uint32_t i = 0; i < out->n_row_groups && thrift->bad == NULL; i++)
                meta_read_row_group(&self, &out->row_group[i]);
            break;
        case 5:
            read_key_values(&self, &field, &out->key_value, &out->n_key_value);
            break;
        case 6:
            out->created_by = alm_thrift_binary(thrift, &field);
            break;
        case 7:
            out->has_column_orders = true;
            alm_thrift_skip(thrift, &field);
            break;
        case 8: /* encryption_algorithm: the footer is plain, columns are not */
            out->encrypted = true;
            __attribute__((fallthrough));
        default:
            alm_thrift_skip(thrift, &field);
        }
    }
    alm_thrift_leave(thrift);
    *bad = thrift->bad;
    return self.st;
}

/* ------------------------------------------------------------------------------------ pages */

static void read_data_header(alm_thrift_in *thrift, alm_pq_page_header *header)
{
    alm_thrift_field field = {0};
    alm_thrift_enter(thrift);
    while (alm_thrift_next(thrift, &field)) {
        if (field.id == 1)
            header->n_values = alm_thrift_i32(thrift, &field);
        else if (field.id == 2)
            header->encoding = small(thrift, &field);
        else if (field.id == 3)
            header->def_encoding = small(thrift, &field);
        else if (field.id == 4)
            header->rep_encoding = small(thrift, &field);
        else if (field.id == 5 && field.type == ALM_THRIFT_STRUCT) {
            meta_read_statistics(thrift, &header->statistics);
            header->has_statistics = true;
        } else
            alm_thrift_skip(thrift, &field);
    }
    alm_thrift_leave(thrift);
}

static void read_dictionary_header(alm_thrift_in *thrift, alm_pq_page_header *header)
{
    alm_thrift_field field = {0};
    alm_thrift_enter(thrift);
    while (alm_thrift_next(thrift, &field)) {
        if (field.id == 1)
            header->n_values = alm_thrift_i32(thrift, &field);
        else if (field.id == 2)
            header->encoding = small(thrift, &field);
        else if (field.id == 3)
            header->is_sorted = alm_thrift_bool(thrift, &field);
        else
            alm_thrift_skip(thrift, &field);
    }
    alm_thrift_leave(thrift);
}

static void read_data_header_v2(alm_thrift_in *thrift, alm_pq_page_header *header)
{
    alm_thrift_field field = {0};
    alm_thrift_enter(thrift);
    while (alm_thrift_next(thrift, &field)) {
        switch (field.id) {
        case 1:
            header->n_values = alm_thrift_i32(thrift, &field);
            break;
        case 2:
            header->n_nulls = alm_thrift_i32(thrift, &field);
            break;
        case 3:
            header->n_rows = alm_thrift_i32(thrift, &field);
            break;
        case 4:
            header->encoding = small(thrift, &field);
            break;
        case 5:
            header->def_bytes = alm_thrift_i32(thrift, &field);
            break;
        case 6:
            header->rep_bytes = alm_thrift_i32(thrift, &field);
            break;
        case 7:
            header->is_compressed = alm_thrift_bool(thrift, &field);
            break;
        case 8:
            if (field.type == ALM_THRIFT_STRUCT) {
                meta_read_statistics(thrift, &header->statistics);
                header->has_statistics = true;
                break;
            }
            __attribute__((fallthrough));
        default:
            alm_thrift_skip(thrift, &field);
        }
    }
    alm_thrift_leave(thrift);
}

const char *alm_pq_read_page_header(alm_str bytes, alm_pq_page_header *header, size_t *used)
{
    const uint8_t *ptr = (const uint8_t *)bytes.ptr;
    alm_thrift_in thrift = {.at = ptr, .end = ptr + bytes.len};
    alm_thrift_field field = {0};
    *header = (alm_pq_page_header){.type = -1,
                                   .uncompressed_bytes = -1,
                                   .compressed_bytes = -1,
                                   .n_values = -1,
                                   .n_nulls = -1,
                                   .n_rows = -1,
                                   .encoding = -1,
                                   .is_compressed = true,
                                   .statistics = {.null_count = -1, .distinct_count = -1}};
    alm_thrift_enter(&thrift);
    while (alm_thrift_next(&thrift, &field)) {
        const bool body = field.type == ALM_THRIFT_STRUCT;
        if (field.id == 1)
            header->type = small(&thrift, &field);
        else if (field.id == 2)
            header->uncompressed_bytes = alm_thrift_i32(&thrift, &field);
        else if (field.id == 3)
            header->compressed_bytes = alm_thrift_i32(&thrift, &field);
        else if (field.id == 4) {
            header->crc = (uint32_t)alm_thrift_i32(&thrift, &field);
            header->has_crc = true;
        } else if (field.id == 5 && body)
            read_data_header(&thrift, header);
        else if (field.id == 7 && body)
            read_dictionary_header(&thrift, header);
        else if (field.id == 8 && body)
            read_data_header_v2(&thrift, header);
        else
            alm_thrift_skip(&thrift, &field);
    }
    alm_thrift_leave(&thrift);
    *used = (size_t)(thrift.at - ptr);
    if (thrift.bad == NULL &&
        (header->type < 0 || header->uncompressed_bytes < 0 || header->compressed_bytes < 0))
        return "a page header has no type or no size";
    if (thrift.bad == NULL && header->type != ALM_PQ_PAGE_INDEX && header->n_values < 0)
        return "a page header has no number of values";
    if (thrift.bad == NULL && (header->def_bytes < 0 || header->rep_bytes < 0))
        return "levels of a page have a negative size";
    return thrift.bad;
}

/* ---------------------------------------------------------------------------------- indexes */

alm_status alm_pq_read_offset_index(alm_ctx *cx, alm_arena *arena, alm_str bytes,
                                    alm_pq_offset_index *out, const char **bad)
{
    const uint8_t *ptr = (const uint8_t *)bytes.ptr;
    reader self = {.in = {.at = ptr, .end = ptr + bytes.len}, .cx = cx, .arena = arena};
    alm_thrift_field field = {0};
    *out = (alm_pq_offset_index){0};
    alm_thrift_enter(&self.in);
    while (alm_thrift_next(&self.in, &field)) {
        if (field.id != 1) {
            alm_thrift_skip(&self.in, &field);
            continue;
        }
        const uint32_t n = alm_thrift_list(&self.in, &field, ALM_THRIFT_STRUCT, LEAST_STATS);
        out->page = list_room(&self, n, sizeof *out->page);
        out->n_pages = out->page != NULL ? n : 0;
        for (uint32_t i = 0; i < out->n_pages && self.in.bad == NULL; i++) {
            alm_thrift_field thrift_field = {0};
            alm_thrift_enter(&self.in);
            while (alm_thrift_next(&self.in, &thrift_field)) {
                if (thrift_field.id == 1)
                    out->page[i].offset = alm_thrift_int(&self.in, &thrift_field);
                else if (thrift_field.id == 2)
                    out->page[i].bytes = alm_thrift_i32(&self.in, &thrift_field);
                else if (thrift_field.id == 3)
                    out->page[i].first_row = alm_thrift_int(&self.in, &thrift_field);
                else
                    alm_thrift_skip(&self.in, &thrift_field);
            }
            alm_thrift_leave(&self.in);
        }
    }
    alm_thrift_leave(&self.in);
    *bad = self.in.bad;
    return self.st;
}

static void meta_read_texts(reader *self, const alm_thrift_field *field, alm_str **out, uint32_t *n)
{
    *n = alm_thrift_list(&self->in, field, ALM_THRIFT_BINARY, 1);
    *out = list_room(self, *n, sizeof **out);
    for (uint32_t i = 0; i < *n && self->in.bad == NULL; i++)
        (*out)[i] = alm_thrift_elem_binary(&self->in);
}

alm_status alm_pq_read_column_index(alm_ctx *cx, alm_arena *arena, alm_str bytes,
                                    alm_pq_column_index *out, const char **bad)
{
    const uint8_t *ptr = (const uint8_t *)bytes.ptr;
    reader self = {.in = {.at = ptr, .end = ptr + bytes.len}, .cx = cx, .arena = arena};
    alm_thrift_in *thrift = &self.in;
    alm_thrift_field field = {0};
    uint32_t n_min = 0, n_max = 0, n_nulls = 0;
    *out = (alm_pq_column_index){0};
    alm_thrift_enter(thrift);
    while (alm_thrift_next(thrift, &field)) {
        switch (field.id) {
        case 1:
            out->n_pages = alm_thrift_list(thrift, &field, ALM_THRIFT_TRUE, 1);
            out->null_page = list_room(&self, out->n_pages, sizeof *out->null_page);
            for (uint32_t i = 0; i < out->n_pages && thrift->bad == NULL; i++)
                out->null_page[i] = alm_thrift_elem_bool(thrift);
            break;
        case 2:
            meta_read_texts(&self, &field, &out->min, &n_min);
            break;
        case 3:
            meta_read_texts(&self, &field, &out->max, &n_max);
            break;
        case 4:
            out->boundary = (uint8_t)small(thrift, &field);
            break;
        case 5:
            n_nulls = alm_thrift_list(thrift, &field, ALM_THRIFT_I64, 1);
            out->null_count = list_room(&self, n_nulls, sizeof *out->null_count);
            for (uint32_t i = 0; i < n_nulls && thrift->bad == NULL; i++)
                out->null_count[i] = alm_thrift_elem_int(thrift);
            break;
        default:
            alm_thrift_skip(thrift, &field);
        }
    }
    alm_thrift_leave(thrift);
    if (n_min != out->n_pages || n_max != out->n_pages || (n_nulls != 0 && n_nulls != out->n_pages))
        alm_thrift_bad(thrift, "lists of a column index differ in length");
    *bad = thrift->bad;
    return self.st;
}

const char *alm_pq_read_bloom_header(alm_str bytes, size_t *used, int32_t *filter_bytes)
{
    const uint8_t *ptr = (const uint8_t *)bytes.ptr;
    alm_thrift_in thrift = {.at = ptr, .end = ptr + bytes.len};
    alm_thrift_field field = {0};
    uint32_t known = 0; /* of algorithm, hash, compression: each is a union with one member */
    *filter_bytes = -1;
    alm_thrift_enter(&thrift);
    while (alm_thrift_next(&thrift, &field)) {
        if (field.id == 1) {
            *filter_bytes = alm_thrift_i32(&thrift, &field);
        } else if (field.id > 1 && field.id <= 4 && field.type == ALM_THRIFT_STRUCT) {
            alm_thrift_field of = {0};
            alm_thrift_enter(&thrift);
            while (alm_thrift_next(&thrift, &of)) {
                known |= of.id == 1 ? 1U << field.id : 0;
                alm_thrift_skip(&thrift, &of);
            }
            alm_thrift_leave(&thrift);
        } else {
            alm_thrift_skip(&thrift, &field);
        }
    }
    alm_thrift_leave(&thrift);
    *used = (size_t)(thrift.at - ptr);
    if (thrift.bad != NULL)
        return thrift.bad;
    const bool blocks = *filter_bytes >= 32 && *filter_bytes % 32 == 0;
    return blocks && known == 0x1C ? NULL : "a bloom filter of a kind that is not known";
}
