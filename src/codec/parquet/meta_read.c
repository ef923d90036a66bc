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
static void *list_room(reader *r, uint32_t n, size_t bytes)
{
    void *room = NULL;
    if (n == 0 || r->st != ALM_OK)
        return NULL;
    r->st = alm_arena_zero(r->cx, r->arena, n * bytes, &room);
    if (r->st != ALM_OK)
        alm_thrift_bad(&r->in, "no memory");
    return r->st == ALM_OK ? room : NULL;
}

static int8_t small(alm_thrift_in *in, const alm_thrift_field *f)
{
    const int32_t x = alm_thrift_i32(in, f);
    return x >= 0 && x <= INT8_MAX ? (int8_t)x : INT8_MAX; /* no name and no reader */
}

/* ------------------------------------------------------------------------------------- schema */

static uint8_t read_unit(alm_thrift_in *in)
{
    alm_thrift_field f = {0};
    uint8_t unit = 0;
    alm_thrift_enter(in);
    while (alm_thrift_next(in, &f)) {
        if (f.id >= ALM_PQ_MILLIS && f.id <= ALM_PQ_NANOS)
            unit = (uint8_t)f.id;
        alm_thrift_skip(in, &f);
    }
    alm_thrift_leave(in);
    return unit;
}

/* The parameters of a logical type: their fields do not overlap in meaning but by its kind. */
static void read_logical_body(alm_thrift_in *in, alm_pq_schema_element *e)
{
    alm_thrift_field f = {0};
    alm_thrift_enter(in);
    while (alm_thrift_next(in, &f)) {
        const bool timed = e->logical == ALM_PQ_L_TIME || e->logical == ALM_PQ_L_TIMESTAMP;
        if (e->logical == ALM_PQ_L_DECIMAL && f.id == 1)
            e->scale = alm_thrift_i32(in, &f);
        else if (e->logical == ALM_PQ_L_DECIMAL && f.id == 2)
            e->precision = alm_thrift_i32(in, &f);
        else if (timed && f.id == 1)
            e->utc = alm_thrift_bool(in, &f);
        else if (timed && f.id == 2 && f.type == ALM_THRIFT_STRUCT)
            e->unit = read_unit(in);
        else if (e->logical == ALM_PQ_L_INTEGER && f.id == 1)
            e->bits = (uint8_t)alm_thrift_int(in, &f);
        else if (e->logical == ALM_PQ_L_INTEGER && f.id == 2)
            e->is_signed = alm_thrift_bool(in, &f);
        else
            alm_thrift_skip(in, &f);
    }
    alm_thrift_leave(in);
}

static void read_logical(alm_thrift_in *in, alm_pq_schema_element *e)
{
    alm_thrift_field f = {0};
    alm_thrift_enter(in);
    while (alm_thrift_next(in, &f)) {
        if (f.type != ALM_THRIFT_STRUCT) {
            alm_thrift_skip(in, &f);
            continue;
        }
        e->logical = f.id > 0 && f.id < ALM_PQ_L_COUNT ? (uint8_t)f.id : UINT8_MAX;
        read_logical_body(in, e);
    }
    alm_thrift_leave(in);
}

static void read_schema_element(reader *r, alm_pq_schema_element *e)
{
    alm_thrift_in *in = &r->in;
    alm_thrift_field f = {0};
    *e = (alm_pq_schema_element){.physical = -1,
                                 .repetition = -1,
                                 .converted = ALM_PQ_C_NONE,
                                 .length = -1,
                                 .scale = -1,
                                 .precision = -1,
                                 .field_id = -1};
    alm_thrift_enter(in);
    while (alm_thrift_next(in, &f)) {
        switch (f.id) {
        case 1:
            e->physical = small(in, &f);
            break;
        case 2:
            e->length = alm_thrift_i32(in, &f);
            break;
        case 3:
            e->repetition = small(in, &f);
            break;
        case 4:
            e->name = alm_thrift_binary(in, &f);
            break;
        case 5:
            e->n_children = alm_thrift_i32(in, &f);
            break;
        case 6:
            e->converted = small(in, &f);
            break;
        case 7:
            e->scale = alm_thrift_i32(in, &f);
            break;
        case 8:
            e->precision = alm_thrift_i32(in, &f);
            break;
        case 9:
            e->field_id = alm_thrift_i32(in, &f);
            break;
        case 10:
            if (f.type == ALM_THRIFT_STRUCT) {
                read_logical(in, e);
                break;
            }
            __attribute__((fallthrough));
        default:
            alm_thrift_skip(in, &f);
        }
    }
    alm_thrift_leave(in);
    if (e->physical >= 0 && e->n_children > 0)
        alm_thrift_bad(in, "a field has a type and children");
}

/* ---------------------------------------------------------------------------- parts of a chunk */

static void read_statistics(alm_thrift_in *in, alm_pq_statistics *s)
{
    alm_thrift_field f = {0};
    *s = (alm_pq_statistics){.null_count = -1, .distinct_count = -1};
    alm_thrift_enter(in);
    while (alm_thrift_next(in, &f)) {
        switch (f.id) {
        case 1:
            s->max = alm_thrift_binary(in, &f);
            break;
        case 2:
            s->min = alm_thrift_binary(in, &f);
            break;
        case 3:
            s->null_count = alm_thrift_int(in, &f);
            break;
        case 4:
            s->distinct_count = alm_thrift_int(in, &f);
            break;
        case 5:
            s->max_value = alm_thrift_binary(in, &f);
            break;
        case 6:
            s->min_value = alm_thrift_binary(in, &f);
            break;
        case 7:
            s->max_inexact = !alm_thrift_bool(in, &f);
            break;
        case 8:
            s->min_inexact = !alm_thrift_bool(in, &f);
            break;
        default:
            alm_thrift_skip(in, &f);
        }
    }
    alm_thrift_leave(in);
}

static void read_key_values(reader *r, const alm_thrift_field *list, alm_pq_key_value **out,
                            uint32_t *n_out)
{
    alm_thrift_in *in = &r->in;
    const uint32_t n = alm_thrift_list(in, list, ALM_THRIFT_STRUCT, LEAST_PAIR);
    alm_pq_key_value *kv = list_room(r, n, sizeof *kv);
    for (uint32_t i = 0; i < n && in->bad == NULL; i++) {
        alm_thrift_field f = {0};
        alm_thrift_enter(in);
        while (alm_thrift_next(in, &f)) {
            if (f.id == 1)
                kv[i].key = alm_thrift_binary(in, &f);
            else if (f.id == 2)
                kv[i].value = alm_thrift_binary(in, &f);
            else
                alm_thrift_skip(in, &f);
        }
        alm_thrift_leave(in);
    }
    *out = kv;
    *n_out = kv != NULL ? n : 0;
}

static void read_encoding_stats(reader *r, const alm_thrift_field *list, alm_pq_column_chunk *c)
{
    alm_thrift_in *in = &r->in;
    const uint32_t n = alm_thrift_list(in, list, ALM_THRIFT_STRUCT, LEAST_STATS);
    alm_pq_encoding_stats *e = list_room(r, n, sizeof *e);
    for (uint32_t i = 0; i < n && in->bad == NULL; i++) {
        alm_thrift_field f = {0};
        alm_thrift_enter(in);
        while (alm_thrift_next(in, &f)) {
            if (f.id == 1)
                e[i].page_type = small(in, &f);
            else if (f.id == 2)
                e[i].encoding = small(in, &f);
            else if (f.id == 3)
                e[i].count = alm_thrift_i32(in, &f);
            else
                alm_thrift_skip(in, &f);
        }
        alm_thrift_leave(in);
    }
    c->encoding_stats = e;
    c->n_encoding_stats = e != NULL ? n : 0;
}

static void read_path(reader *r, const alm_thrift_field *list, alm_pq_column_chunk *c)
{
    const uint32_t n = alm_thrift_list(&r->in, list, ALM_THRIFT_BINARY, 1);
    c->path = list_room(r, n, sizeof *c->path);
    for (uint32_t i = 0; i < n && r->in.bad == NULL; i++)
        c->path[i] = alm_thrift_elem_binary(&r->in);
    c->n_path = c->path != NULL ? n : 0;
}

static void read_encodings(alm_thrift_in *in, const alm_thrift_field *list, alm_pq_column_chunk *c)
{
    const uint32_t n = alm_thrift_list(in, list, ALM_THRIFT_I32, 1);
    for (uint32_t i = 0; i < n && in->bad == NULL; i++) {
        const int64_t e = alm_thrift_elem_int(in);
        if (e >= 0 && e < 32)
            c->encodings |= 1U << e;
    }
}

static void read_chunk_meta(reader *r, alm_pq_column_chunk *c)
{
    alm_thrift_in *in = &r->in;
    alm_thrift_field f = {0};
    c->has_meta = true;
    alm_thrift_enter(in);
    while (alm_thrift_next(in, &f)) {
        switch (f.id) {
        case 1:
            c->physical = small(in, &f);
            break;
        case 2:
            read_encodings(in, &f, c);
            break;
        case 3:
            read_path(r, &f, c);
            break;
        case 4:
            c->codec = small(in, &f);
            break;
        case 5:
            c->n_values = alm_thrift_int(in, &f);
            break;
        case 6:
            c->uncompressed_bytes = alm_thrift_int(in, &f);
            break;
        case 7:
            c->compressed_bytes = alm_thrift_int(in, &f);
            break;
        case 8:
            read_key_values(r, &f, &c->key_value, &c->n_key_value);
            break;
        case 9:
            c->data_offset = alm_thrift_int(in, &f);
            break;
        case 10:
            c->index_offset = alm_thrift_int(in, &f);
            break;
        case 11:
            c->dictionary_offset = alm_thrift_int(in, &f);
            break;
        case 12:
            if (f.type != ALM_THRIFT_STRUCT)
                alm_thrift_skip(in, &f);
            else
                read_statistics(in, &c->statistics);
            c->has_statistics = true;
            break;
        case 13:
            read_encoding_stats(r, &f, c);
            break;
        case 14:
            c->bloom_offset = alm_thrift_int(in, &f);
            break;
        case 15:
            c->bloom_bytes = alm_thrift_i32(in, &f);
            break;
        default:
            alm_thrift_skip(in, &f);
        }
    }
    alm_thrift_leave(in);
}

static void read_chunk(reader *r, alm_pq_column_chunk *c)
{
    alm_thrift_in *in = &r->in;
    alm_thrift_field f = {0};
    *c = (alm_pq_column_chunk){.physical = -1,
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
    alm_thrift_enter(in);
    while (alm_thrift_next(in, &f)) {
        switch (f.id) {
        case 1:
            c->file_path = alm_thrift_binary(in, &f);
            break;
        case 3:
            if (f.type == ALM_THRIFT_STRUCT)
                read_chunk_meta(r, c);
            else
                alm_thrift_skip(in, &f);
            break;
        case 4:
            c->offset_index_offset = alm_thrift_int(in, &f);
            break;
        case 5:
            c->offset_index_bytes = alm_thrift_i32(in, &f);
            break;
        case 6:
            c->column_index_offset = alm_thrift_int(in, &f);
            break;
        case 7:
            c->column_index_bytes = alm_thrift_i32(in, &f);
            break;
        case 8: /* crypto_metadata */
            c->encrypted = true;
            __attribute__((fallthrough));
        default:
            alm_thrift_skip(in, &f);
        }
    }
    alm_thrift_leave(in);
}

/* ------------------------------------------------------------------------------------ the file */

static void read_sorting(reader *r, const alm_thrift_field *list, alm_pq_row_group *g)
{
    alm_thrift_in *in = &r->in;
    const uint32_t n = alm_thrift_list(in, list, ALM_THRIFT_STRUCT, LEAST_PAIR);
    g->sorting = list_room(r, n, sizeof *g->sorting);
    for (uint32_t i = 0; i < n && in->bad == NULL; i++) {
        alm_thrift_field f = {0};
        alm_thrift_enter(in);
        while (alm_thrift_next(in, &f)) {
            if (f.id == 1)
                g->sorting[i].column = alm_thrift_i32(in, &f);
            else if (f.id == 2)
                g->sorting[i].descending = alm_thrift_bool(in, &f);
            else if (f.id == 3)
                g->sorting[i].nulls_first = alm_thrift_bool(in, &f);
            else
                alm_thrift_skip(in, &f);
        }
        alm_thrift_leave(in);
    }
    g->n_sorting = g->sorting != NULL ? n : 0;
}

static void read_row_group(reader *r, alm_pq_row_group *g)
{
    alm_thrift_in *in = &r->in;
    alm_thrift_field f = {0};
    *g = (alm_pq_row_group){.n_rows = -1,
                            .uncompressed_bytes = -1,
                            .compressed_bytes = -1,
                            .file_offset = -1,
                            .ordinal = -1};
    alm_thrift_enter(in);
    while (alm_thrift_next(in, &f)) {
        switch (f.id) {
        case 1:
            g->n_columns = alm_thrift_list(in, &f, ALM_THRIFT_STRUCT, LEAST_CHUNK);
            g->column = list_room(r, g->n_columns, sizeof *g->column);
            for (uint32_t i = 0; i < g->n_columns && in->bad == NULL; i++)
                read_chunk(r, &g->column[i]);
            break;
        case 2:
            g->uncompressed_bytes = alm_thrift_int(in, &f);
            break;
        case 3:
            g->n_rows = alm_thrift_int(in, &f);
            break;
        case 4:
            read_sorting(r, &f, g);
            break;
        case 5:
            g->file_offset = alm_thrift_int(in, &f);
            break;
        case 6:
            g->compressed_bytes = alm_thrift_int(in, &f);
            break;
        case 7:
            g->ordinal = alm_thrift_i32(in, &f);
            break;
        default:
            alm_thrift_skip(in, &f);
        }
    }
    alm_thrift_leave(in);
}

alm_status alm_pq_read_file_meta(alm_ctx *cx, alm_arena *arena, alm_str bytes,
                                 alm_pq_file_meta *out, const char **bad)
{
    const uint8_t *at = (const uint8_t *)bytes.ptr;
    reader r = {.in = {.at = at, .end = at + bytes.len}, .cx = cx, .arena = arena};
    alm_thrift_in *in = &r.in;
    alm_thrift_field f = {0};
    *out = (alm_pq_file_meta){.n_rows = -1};
    alm_thrift_enter(in);
    while (alm_thrift_next(in, &f)) {
        switch (f.id) {
        case 1:
            out->version = alm_thrift_i32(in, &f);
            break;
        case 2:
            out->n_schema = alm_thrift_list(in, &f, ALM_THRIFT_STRUCT, LEAST_SCHEMA);
            out->schema = list_room(&r, out->n_schema, sizeof *out->schema);
            for (uint32_t i = 0; i < out->n_schema && in->bad == NULL; i++)
                read_schema_element(&r, &out->schema[i]);
            break;
        case 3:
            out->n_rows = alm_thrift_int(in, &f);
            break;
        case 4:
            out->n_row_groups = alm_thrift_list(in, &f, ALM_THRIFT_STRUCT, LEAST_GROUP);
            out->row_group = list_room(&r, out->n_row_groups, sizeof *out->row_group);
            for (uint32_t i = 0; i < out->n_row_groups && in->bad == NULL; i++)
                read_row_group(&r, &out->row_group[i]);
            break;
        case 5:
            read_key_values(&r, &f, &out->key_value, &out->n_key_value);
            break;
        case 6:
            out->created_by = alm_thrift_binary(in, &f);
            break;
        case 7:
            out->has_column_orders = true;
            alm_thrift_skip(in, &f);
            break;
        case 8: /* encryption_algorithm: the footer is plain, columns are not */
            out->encrypted = true;
            __attribute__((fallthrough));
        default:
            alm_thrift_skip(in, &f);
        }
    }
    alm_thrift_leave(in);
    *bad = in->bad;
    return r.st;
}

/* ------------------------------------------------------------------------------------ pages */

static void read_data_header(alm_thrift_in *in, alm_pq_page_header *h)
{
    alm_thrift_field f = {0};
    alm_thrift_enter(in);
    while (alm_thrift_next(in, &f)) {
        if (f.id == 1)
            h->n_values = alm_thrift_i32(in, &f);
        else if (f.id == 2)
            h->encoding = small(in, &f);
        else if (f.id == 3)
            h->def_encoding = small(in, &f);
        else if (f.id == 4)
            h->rep_encoding = small(in, &f);
        else if (f.id == 5 && f.type == ALM_THRIFT_STRUCT) {
            read_statistics(in, &h->statistics);
            h->has_statistics = true;
        } else
            alm_thrift_skip(in, &f);
    }
    alm_thrift_leave(in);
}

static void read_dictionary_header(alm_thrift_in *in, alm_pq_page_header *h)
{
    alm_thrift_field f = {0};
    alm_thrift_enter(in);
    while (alm_thrift_next(in, &f)) {
        if (f.id == 1)
            h->n_values = alm_thrift_i32(in, &f);
        else if (f.id == 2)
            h->encoding = small(in, &f);
        else if (f.id == 3)
            h->is_sorted = alm_thrift_bool(in, &f);
        else
            alm_thrift_skip(in, &f);
    }
    alm_thrift_leave(in);
}

static void read_data_header_v2(alm_thrift_in *in, alm_pq_page_header *h)
{
    alm_thrift_field f = {0};
    alm_thrift_enter(in);
    while (alm_thrift_next(in, &f)) {
        switch (f.id) {
        case 1:
            h->n_values = alm_thrift_i32(in, &f);
            break;
        case 2:
            h->n_nulls = alm_thrift_i32(in, &f);
            break;
        case 3:
            h->n_rows = alm_thrift_i32(in, &f);
            break;
        case 4:
            h->encoding = small(in, &f);
            break;
        case 5:
            h->def_bytes = alm_thrift_i32(in, &f);
            break;
        case 6:
            h->rep_bytes = alm_thrift_i32(in, &f);
            break;
        case 7:
            h->is_compressed = alm_thrift_bool(in, &f);
            break;
        case 8:
            if (f.type == ALM_THRIFT_STRUCT) {
                read_statistics(in, &h->statistics);
                h->has_statistics = true;
                break;
            }
            __attribute__((fallthrough));
        default:
            alm_thrift_skip(in, &f);
        }
    }
    alm_thrift_leave(in);
}

const char *alm_pq_read_page_header(alm_str bytes, alm_pq_page_header *h, size_t *used)
{
    const uint8_t *at = (const uint8_t *)bytes.ptr;
    alm_thrift_in in = {.at = at, .end = at + bytes.len};
    alm_thrift_field f = {0};
    *h = (alm_pq_page_header){.type = -1,
                              .uncompressed_bytes = -1,
                              .compressed_bytes = -1,
                              .n_values = -1,
                              .n_nulls = -1,
                              .n_rows = -1,
                              .encoding = -1,
                              .is_compressed = true,
                              .statistics = {.null_count = -1, .distinct_count = -1}};
    alm_thrift_enter(&in);
    while (alm_thrift_next(&in, &f)) {
        const bool body = f.type == ALM_THRIFT_STRUCT;
        if (f.id == 1)
            h->type = small(&in, &f);
        else if (f.id == 2)
            h->uncompressed_bytes = alm_thrift_i32(&in, &f);
        else if (f.id == 3)
            h->compressed_bytes = alm_thrift_i32(&in, &f);
        else if (f.id == 4) {
            h->crc = (uint32_t)alm_thrift_i32(&in, &f);
            h->has_crc = true;
        } else if (f.id == 5 && body)
            read_data_header(&in, h);
        else if (f.id == 7 && body)
            read_dictionary_header(&in, h);
        else if (f.id == 8 && body)
            read_data_header_v2(&in, h);
        else
            alm_thrift_skip(&in, &f);
    }
    alm_thrift_leave(&in);
    *used = (size_t)(in.at - at);
    if (in.bad == NULL && (h->type < 0 || h->uncompressed_bytes < 0 || h->compressed_bytes < 0))
        return "a page header has no type or no size";
    if (in.bad == NULL && h->type != ALM_PQ_PAGE_INDEX && h->n_values < 0)
        return "a page header has no number of values";
    if (in.bad == NULL && (h->def_bytes < 0 || h->rep_bytes < 0))
        return "levels of a page have a negative size";
    return in.bad;
}

/* ---------------------------------------------------------------------------------- indexes */

alm_status alm_pq_read_offset_index(alm_ctx *cx, alm_arena *arena, alm_str bytes,
                                    alm_pq_offset_index *out, const char **bad)
{
    const uint8_t *at = (const uint8_t *)bytes.ptr;
    reader r = {.in = {.at = at, .end = at + bytes.len}, .cx = cx, .arena = arena};
    alm_thrift_field f = {0};
    *out = (alm_pq_offset_index){0};
    alm_thrift_enter(&r.in);
    while (alm_thrift_next(&r.in, &f)) {
        if (f.id != 1) {
            alm_thrift_skip(&r.in, &f);
            continue;
        }
        const uint32_t n = alm_thrift_list(&r.in, &f, ALM_THRIFT_STRUCT, LEAST_STATS);
        out->page = list_room(&r, n, sizeof *out->page);
        out->n_pages = out->page != NULL ? n : 0;
        for (uint32_t i = 0; i < out->n_pages && r.in.bad == NULL; i++) {
            alm_thrift_field p = {0};
            alm_thrift_enter(&r.in);
            while (alm_thrift_next(&r.in, &p)) {
                if (p.id == 1)
                    out->page[i].offset = alm_thrift_int(&r.in, &p);
                else if (p.id == 2)
                    out->page[i].bytes = alm_thrift_i32(&r.in, &p);
                else if (p.id == 3)
                    out->page[i].first_row = alm_thrift_int(&r.in, &p);
                else
                    alm_thrift_skip(&r.in, &p);
            }
            alm_thrift_leave(&r.in);
        }
    }
    alm_thrift_leave(&r.in);
    *bad = r.in.bad;
    return r.st;
}

static void read_texts(reader *r, const alm_thrift_field *f, alm_str **out, uint32_t *n)
{
    *n = alm_thrift_list(&r->in, f, ALM_THRIFT_BINARY, 1);
    *out = list_room(r, *n, sizeof **out);
    for (uint32_t i = 0; i < *n && r->in.bad == NULL; i++)
        (*out)[i] = alm_thrift_elem_binary(&r->in);
}

alm_status alm_pq_read_column_index(alm_ctx *cx, alm_arena *arena, alm_str bytes,
                                    alm_pq_column_index *out, const char **bad)
{
    const uint8_t *at = (const uint8_t *)bytes.ptr;
    reader r = {.in = {.at = at, .end = at + bytes.len}, .cx = cx, .arena = arena};
    alm_thrift_in *in = &r.in;
    alm_thrift_field f = {0};
    uint32_t n_min = 0, n_max = 0, n_nulls = 0;
    *out = (alm_pq_column_index){0};
    alm_thrift_enter(in);
    while (alm_thrift_next(in, &f)) {
        switch (f.id) {
        case 1:
            out->n_pages = alm_thrift_list(in, &f, ALM_THRIFT_TRUE, 1);
            out->null_page = list_room(&r, out->n_pages, sizeof *out->null_page);
            for (uint32_t i = 0; i < out->n_pages && in->bad == NULL; i++)
                out->null_page[i] = alm_thrift_elem_bool(in);
            break;
        case 2:
            read_texts(&r, &f, &out->min, &n_min);
            break;
        case 3:
            read_texts(&r, &f, &out->max, &n_max);
            break;
        case 4:
            out->boundary = (uint8_t)small(in, &f);
            break;
        case 5:
            n_nulls = alm_thrift_list(in, &f, ALM_THRIFT_I64, 1);
            out->null_count = list_room(&r, n_nulls, sizeof *out->null_count);
            for (uint32_t i = 0; i < n_nulls && in->bad == NULL; i++)
                out->null_count[i] = alm_thrift_elem_int(in);
            break;
        default:
            alm_thrift_skip(in, &f);
        }
    }
    alm_thrift_leave(in);
    if (n_min != out->n_pages || n_max != out->n_pages || (n_nulls != 0 && n_nulls != out->n_pages))
        alm_thrift_bad(in, "lists of a column index differ in length");
    *bad = in->bad;
    return r.st;
}

const char *alm_pq_read_bloom_header(alm_str bytes, size_t *used, int32_t *filter_bytes)
{
    const uint8_t *at = (const uint8_t *)bytes.ptr;
    alm_thrift_in in = {.at = at, .end = at + bytes.len};
    alm_thrift_field f = {0};
    uint32_t known = 0; /* of algorithm, hash, compression: each is a union with one member */
    *filter_bytes = -1;
    alm_thrift_enter(&in);
    while (alm_thrift_next(&in, &f)) {
        if (f.id == 1) {
            *filter_bytes = alm_thrift_i32(&in, &f);
        } else if (f.id > 1 && f.id <= 4 && f.type == ALM_THRIFT_STRUCT) {
            alm_thrift_field of = {0};
            alm_thrift_enter(&in);
            while (alm_thrift_next(&in, &of)) {
                known |= of.id == 1 ? 1U << f.id : 0;
                alm_thrift_skip(&in, &of);
            }
            alm_thrift_leave(&in);
        } else {
            alm_thrift_skip(&in, &f);
        }
    }
    alm_thrift_leave(&in);
    *used = (size_t)(in.at - at);
    if (in.bad != NULL)
        return in.bad;
    const bool blocks = *filter_bytes >= 32 && *filter_bytes % 32 == 0;
    return blocks && known == 0x1C ? NULL : "a bloom filter of a kind that is not known";
}
