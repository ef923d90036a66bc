/*
 * arrow_ipc.c - see arrow_ipc.h.
 *
 * A message is: FFFFFFFF, the length of its metadata (32 bits), the metadata, a body; all padded to 8 bytes. The
 * metadata are a FlatBuffer, written front to back: a table is a table of the places of its fields (vtable),
 * then 32 bits back to it, then the fields; a field that refers to something is the distance to it, which is
 * filled in when that is written, behind. Numbers are little-endian.
 *
 * Source      https://arrow.apache.org/docs/format/Columnar.html, Message.fbs and Schema.fbs there.
 */
#include "codec/arrow_ipc.h"

#include <stdlib.h>

#include "almanac.h"
#include "codec/arrow_symbols.h"
#include "type/array.h"

enum { VERSION_5 = 4, HEADER_SCHEMA = 1, HEADER_DICTIONARY = 2, HEADER_BATCH = 3 };
enum type_kind {
    KIND_INT = 2,
    KIND_FLOATING = 3,
    KIND_BINARY = 4,
    KIND_UTF8 = 5,
    KIND_BOOL = 6,
    KIND_TIMESTAMP = 10,
    KIND_LIST = 12,
    KIND_FIXED = 15
};
enum { FIELDS_MAX = 8 };

/* ---------------------------------------------------------------- flat buffers */

typedef struct flat_field {
    uint8_t bytes; /* 0: not there */
    int64_t value; /* of what is no reference */
} flat_field;

static const flat_field reference = {.bytes = 4};

typedef struct flat_table {
    uint32_t at;                /* of the table */
    uint32_t field[FIELDS_MAX]; /* of its fields */
} flat_table;

static alm_status arrow_ipc_zeros(alm_ctx *cx, alm_buf *buf, size_t n)
{
    ALM_TRY(alm_buf_reserve(cx, buf, n));
    (void)memset(buf->ptr + buf->len, 0, n);
    buf->len += n;
    return ALM_OK;
}

static alm_status arrow_ipc_pad(alm_ctx *cx, alm_buf *buf)
{
    return arrow_ipc_zeros(cx, buf, (8 - buf->len % 8) % 8);
}

static alm_status arrow_ipc_put_table(alm_ctx *cx, alm_buf *buf, const flat_field *fields,
                                      uint32_t n_fields, flat_table *out)
{
    uint16_t place[2 + FIELDS_MAX] = {(uint16_t)(4 + 2 * n_fields), 4};
    ALM_ASSERT(n_fields <= FIELDS_MAX);
    for (uint32_t i = 0; i < n_fields; i++) {
        const uint32_t size = fields[i].bytes;
        if (size == 0)
            continue;
        place[2 + i] = (uint16_t)((place[1] + size - 1) / size * size);
        place[1] = (uint16_t)(place[2 + i] + size);
    }
    ALM_TRY(arrow_ipc_pad(cx, buf));
    const uint32_t start = (uint32_t)buf->len;
    ALM_TRY(alm_buf_append(cx, buf, (const char *)place, 4 + 2 * (size_t)n_fields));
    ALM_TRY(arrow_ipc_pad(cx, buf));
    out->at = (uint32_t)buf->len;
    ALM_TRY(arrow_ipc_zeros(cx, buf, place[1]));
    const uint32_t back = out->at - start;
    (void)memcpy(buf->ptr + out->at, &back, 4);
    for (uint32_t i = 0; i < n_fields; i++) {
        out->field[i] = out->at + place[2 + i];
        (void)memcpy(buf->ptr + out->field[i], &fields[i].value, fields[i].bytes);
    }
    return ALM_OK;
}

/* The reference at `from` leads to `to`. */
static void refer(alm_buf *buf, uint32_t from, uint32_t to)
{
    const uint32_t distance = to - from;
    (void)memcpy(buf->ptr + from, &distance, 4);
}

/* A vector of n elements for the reference at `from`; elements of 8 bytes are aligned. *at: its elements. */
static alm_status put_vector(alm_ctx *cx, alm_buf *buf, uint32_t from, uint32_t n,
                             const char *bytes, size_t n_bytes, uint32_t *at)
{
    ALM_TRY(arrow_ipc_pad(cx, buf));
    ALM_TRY(arrow_ipc_zeros(cx, buf, 4));
    refer(buf, from, (uint32_t)buf->len);
    ALM_TRY(alm_buf_append(cx, buf, (const char *)&n, 4));
    *at = (uint32_t)buf->len;
    return bytes != NULL ? alm_buf_append(cx, buf, bytes, n_bytes)
                         : arrow_ipc_zeros(cx, buf, n_bytes);
}

static alm_status arrow_ipc_put_text(alm_ctx *cx, alm_buf *buf, uint32_t from, const char *text)
{
    uint32_t place = 0;
    const size_t len = strlen(text);
    return put_vector(cx, buf, from, (uint32_t)len, text, len + 1, &place);
}

/* -------------------------------------------------------------------- messages */

/* The message around a header, which is to be referred to from *header. */
static alm_status begin_message(alm_ctx *cx, alm_buf *meta, int kind, size_t body_bytes,
                                uint32_t *header)
{
    const flat_field fields[] = {{2, VERSION_5}, {1, kind}, reference, {8, (int64_t)body_bytes}};
    flat_table message;
    ALM_TRY(arrow_ipc_zeros(cx, meta, 4)); /* reference to the root */
    ALM_TRY(arrow_ipc_put_table(cx, meta, fields, ALM_COUNT(fields), &message));
    refer(meta, 0, message.at);
    *header = message.field[2];
    return ALM_OK;
}

static alm_status end_message(alm_ctx *cx, alm_buf *meta, const alm_buf *body, alm_buf *out)
{
    ALM_TRY(arrow_ipc_pad(cx, meta));
    const uint32_t head[2] = {UINT32_MAX, (uint32_t)meta->len};
    ALM_TRY(alm_buf_append(cx, out, (const char *)head, sizeof head));
    ALM_TRY(alm_buf_append(cx, out, meta->ptr, meta->len));
    return body != NULL ? alm_buf_append(cx, out, body->ptr, body->len) : ALM_OK;
}

alm_status alm_arrow_ipc_end(alm_ctx *cx, alm_buf *out)
{
    const uint32_t end[2] = {UINT32_MAX, 0};
    return alm_buf_append(cx, out, (const char *)end, sizeof end);
}

/* ---------------------------------------------------------------------- schema */

/* A type as the C data interface writes it: its kind here, and its table. */
static int type_kind_of(const char *format, flat_field fields[2], uint32_t *n)
{
    const char *integers = "csil", *found = strchr(integers, format[0]);
    *n = 0;
    if (found != NULL) {
        fields[(*n)++] = (flat_field){4, INT64_C(8) << (found - integers)};
        fields[(*n)++] = (flat_field){1, true};
        return KIND_INT;
    }
    switch (format[0]) {
    case ALM_ARROW_FLOAT:
    case ALM_ARROW_DOUBLE:
        fields[(*n)++] = (flat_field){2, format[0] == ALM_ARROW_FLOAT ? 1 : 2};
        return KIND_FLOATING;
    case ALM_ARROW_TIME: /* tsm, tsu, tsn */
        fields[(*n)++] = (flat_field){2, format[2] == 'm' ? 1 : format[2] == 'u' ? 2 : 3};
        fields[(*n)++] = reference;
        return KIND_TIMESTAMP;
    case ALM_ARROW_FIXED:
        fields[(*n)++] = (flat_field){4, strtol(format + 2, NULL, 10)};
        return KIND_FIXED;
    case ALM_ARROW_BOOL:
        return KIND_BOOL;
    case ALM_ARROW_BINARY:
        return KIND_BINARY;
    case ALM_ARROW_LIST:
        return KIND_LIST;
    default:
        return KIND_UTF8;
    }
}

/* What the index of a dictionary is: 32 bits, signed. */
static alm_status put_encoding(alm_ctx *cx, alm_buf *buf, uint32_t from, int64_t id)
{
    const flat_field fields[] = {{8, id}, reference}, index[] = {{4, 32}, {1, true}};
    flat_table encoding, type;
    ALM_TRY(arrow_ipc_put_table(cx, buf, fields, ALM_COUNT(fields), &encoding));
    refer(buf, from, encoding.at);
    ALM_TRY(arrow_ipc_put_table(cx, buf, index, ALM_COUNT(index), &type));
    refer(buf, encoding.field[1], type.at);
    return ALM_OK;
}

/* One field; lists hold a field of the next dimension. */
static alm_status arrow_ipc_put_field(alm_ctx *cx, alm_buf *buf, uint32_t from,
                                      const alm_arrow_field *field, uint32_t dim, int64_t id)
{
    const bool array = field->type.id == ALM_T_ARRAY, list = array && dim < field->type.dims;
    const bool symbol = field->type.id == ALM_T_SYMBOL;
    flat_field type_fields[2];
    flat_table table, type;
    uint32_t n = 0, children = 0;
    const char *format = array && !list ? "g" : alm_type_info_of(field->type)->arrow;
    const int kind = type_kind_of(format, type_fields, &n);
    const flat_field fields[] = {
        reference, {1, true}, {1, kind}, reference, symbol ? reference : (flat_field){0},
        reference};
    ALM_TRY(arrow_ipc_put_table(cx, buf, fields, ALM_COUNT(fields), &table));
    refer(buf, from, table.at);
    ALM_TRY(arrow_ipc_put_text(cx, buf, table.field[0], dim == 0 ? field->name : "item"));
    ALM_TRY(arrow_ipc_put_table(cx, buf, type_fields, n, &type));
    refer(buf, table.field[3], type.at);
    if (kind == KIND_TIMESTAMP)
        ALM_TRY(arrow_ipc_put_text(cx, buf, type.field[1], "UTC"));
    if (symbol)
        ALM_TRY(put_encoding(cx, buf, table.field[4], id));
    ALM_TRY(put_vector(cx, buf, table.field[5], list, NULL, list ? 4 : 0, &children));
    return list ? arrow_ipc_put_field(cx, buf, children, field, dim + 1, id) : ALM_OK;
}

static alm_status put_schema(alm_ctx *cx, alm_buf *meta, const alm_arrow_field *fields,
                             uint32_t n_fields)
{
    const flat_field of_schema[] = {{2, 0}, reference};
    flat_table schema;
    uint32_t header = 0, list = 0;
    ALM_TRY(begin_message(cx, meta, HEADER_SCHEMA, 0, &header));
    ALM_TRY(arrow_ipc_put_table(cx, meta, of_schema, ALM_COUNT(of_schema), &schema));
    refer(meta, header, schema.at);
    ALM_TRY(put_vector(cx, meta, schema.field[1], n_fields, NULL, 4 * (size_t)n_fields, &list));
    for (uint32_t i = 0; i < n_fields; i++)
        ALM_TRY(arrow_ipc_put_field(cx, meta, list + 4 * i, &fields[i], 0, i));
    return ALM_OK;
}

alm_status alm_arrow_ipc_schema(alm_ctx *cx, const alm_arrow_field *fields, uint32_t n,
                                alm_buf *out)
{
    alm_buf meta;
    alm_buf_init(&meta, cx->mem);
    alm_status status = put_schema(cx, &meta, fields, n);
    if (status == ALM_OK)
        status = end_message(cx, &meta, NULL, out);
    alm_buf_deinit(&meta);
    return status;
}

/* --------------------------------------------------------------------- batches */

/* Body of a batch, and where things stand in it: pairs of 64 bits. */
typedef struct parts {
    alm_buf nodes, buffers, body, meta;
} parts;

static void parts_init(const alm_ctx *cx, parts *self)
{
    alm_buf_init(&self->nodes, cx->mem);
    alm_buf_init(&self->buffers, cx->mem);
    alm_buf_init(&self->body, cx->mem);
    alm_buf_init(&self->meta, cx->mem);
}

static void parts_deinit(parts *self)
{
    alm_buf_deinit(&self->nodes);
    alm_buf_deinit(&self->buffers);
    alm_buf_deinit(&self->body);
    alm_buf_deinit(&self->meta);
}

static alm_status arrow_ipc_put_node(alm_ctx *cx, parts *self, int64_t rows, int64_t nulls)
{
    const int64_t node[2] = {rows, nulls};
    return alm_buf_append(cx, &self->nodes, (const char *)node, sizeof node);
}

static alm_status put_buffer(alm_ctx *cx, parts *self, const void *bytes, size_t n)
{
    const int64_t buffer[2] = {(int64_t)self->body.len, (int64_t)(bytes != NULL ? n : 0)};
    ALM_TRY(alm_buf_append(cx, &self->buffers, (const char *)buffer, sizeof buffer));
    if (bytes == NULL || n == 0)
        return ALM_OK;
    ALM_TRY(alm_buf_append(cx, &self->body, bytes, n));
    return arrow_ipc_pad(cx, &self->body);
}

/* Record batch, or dictionary `id` (from 0). */
static alm_status put_batch(alm_ctx *cx, parts *self, int64_t rows, int64_t id, alm_buf *out)
{
    const flat_field of_batch[] = {{8, rows}, reference, reference},
                     of_dictionary[] = {{8, id}, reference};
    flat_table batch, dictionary;
    uint32_t header = 0, place = 0;
    ALM_TRY(begin_message(cx, &self->meta, id < 0 ? HEADER_BATCH : HEADER_DICTIONARY,
                          self->body.len, &header));
    if (id >= 0) {
        ALM_TRY(arrow_ipc_put_table(cx, &self->meta, of_dictionary, ALM_COUNT(of_dictionary),
                                    &dictionary));
        refer(&self->meta, header, dictionary.at);
        header = dictionary.field[1];
    }
    ALM_TRY(arrow_ipc_put_table(cx, &self->meta, of_batch, ALM_COUNT(of_batch), &batch));
    refer(&self->meta, header, batch.at);
    ALM_TRY(put_vector(cx, &self->meta, batch.field[1], (uint32_t)(self->nodes.len / 16),
                       self->nodes.ptr, self->nodes.len, &place));
    ALM_TRY(put_vector(cx, &self->meta, batch.field[2], (uint32_t)(self->buffers.len / 16),
                       self->buffers.ptr, self->buffers.len, &place));
    return end_message(cx, &self->meta, &self->body, out);
}

/* ---------------------------------------------------------------- dictionaries */

static alm_status arrow_ipc_put_dictionary(alm_ctx *cx, const alm_arrow_symbols *symbols,
                                           int64_t id, alm_buf *out)
{
    parts self;
    parts_init(cx, &self);
    alm_status status = arrow_ipc_put_node(cx, &self, symbols->n, 0);
    if (status == ALM_OK)
        status = put_buffer(cx, &self, NULL, 0);
    if (status == ALM_OK)
        status = put_buffer(cx, &self, symbols->offsets.ptr, symbols->offsets.len);
    if (status == ALM_OK)
        status = put_buffer(cx, &self, symbols->bytes.ptr, symbols->bytes.len);
    if (status == ALM_OK)
        status = put_batch(cx, &self, symbols->n, id, out);
    parts_deinit(&self);
    return status;
}

/* --------------------------------------------------------------------- columns */

static size_t bits(int64_t n)
{
    return (size_t)(n + 7) / 8;
}

/* Writes the dictionary message of a SYMBOL column to `out` at once, and the indices of its rows into the batch. */
static alm_status put_symbols(alm_ctx *cx, parts *self, const alm_arrow_symbols *symbols,
                              int64_t id, alm_buf *out)
{
    ALM_TRY(arrow_ipc_put_dictionary(cx, symbols, id, out));
    return put_buffer(cx, self, symbols->indices.ptr, symbols->indices.len);
}

static alm_status put_texts_as_symbols(alm_ctx *cx, parts *self, const struct ArrowArray *a,
                                       int64_t id, alm_buf *out)
{
    alm_arrow_symbols symbols;
    alm_status status = alm_arrow_symbols_of_texts(cx, a, &symbols);
    if (status == ALM_OK)
        status = put_symbols(cx, self, &symbols, id, out);
    alm_arrow_symbols_deinit(&symbols);
    return status;
}

static alm_status put_codes_as_symbols(alm_ctx *cx, parts *self, const alm_vec *vec, uint32_t rows,
                                       int64_t id, alm_buf *out)
{
    alm_arrow_symbols symbols;
    alm_status status = alm_arrow_symbols_of_codes(cx, vec, rows, &symbols);
    if (status == ALM_OK)
        status = arrow_ipc_put_node(cx, self, rows, symbols.nulls);
    if (status == ALM_OK)
        status =
            put_buffer(cx, self, symbols.nulls > 0 ? symbols.valid.ptr : NULL, symbols.valid.len);
    if (status == ALM_OK)
        status = put_symbols(cx, self, &symbols, id, out);
    alm_arrow_symbols_deinit(&symbols);
    return status;
}

static alm_status arrow_ipc_put_column(alm_ctx *cx, parts *self, const alm_arrow_field *field,
                                       uint32_t dim, const struct ArrowArray *a, int64_t id,
                                       alm_buf *out)
{
    const bool array = field->type.id == ALM_T_ARRAY, list = array && dim < field->type.dims;
    const size_t rows = (size_t)a->length;
    const char form = list ? (char)ALM_ARROW_LIST : alm_type_info_of(field->type)->arrow[0];
    ALM_TRY(arrow_ipc_put_node(cx, self, a->length, a->null_count));
    ALM_TRY(put_buffer(cx, self, a->buffers[0], bits(a->length)));
    if (list) {
        ALM_TRY(put_buffer(cx, self, a->buffers[1], 4 * (rows + 1)));
        return arrow_ipc_put_column(cx, self, field, dim + 1, a->children[0], id, out);
    }
    if (field->type.id == ALM_T_SYMBOL)
        return put_texts_as_symbols(cx, self, a, id, out);
    if (alm_arrow_is_text(form)) {
        const int32_t *offsets = a->buffers[1];
        ALM_TRY(put_buffer(cx, self, offsets, 4 * (rows + 1)));
        return put_buffer(cx, self, a->buffers[2], (size_t)offsets[rows]);
    }
    if (form == ALM_ARROW_BOOL)
        return put_buffer(cx, self, a->buffers[1], bits(a->length));
    return put_buffer(cx, self, a->buffers[1],
                      rows * (array ? sizeof(double) : alm_type_width(field->type)));
}

/* ---------------------------------------------------------------------- steps */

/* About the bytes of one value. */
static size_t value_bytes(const alm_vec *vec, uint32_t row)
{
    enum { OTHER_BYTES = 40 }; /* as a text, where Arrow has no such type */
    if (vec->type.id == ALM_T_ARRAY)
        return 8 + alm_array_of(vec, row).count * sizeof(double);
    if (alm_type_is_text(vec->type) || vec->type.id == ALM_T_BINARY)
        return 4 + alm_vec_text(vec, row).len;
    return alm_type_info_of(vec->type)->arrow[0] == ALM_ARROW_UTF8 ? OTHER_BYTES : vec->width;
}

static size_t arrow_ipc_column_bytes(const alm_vec *vec, uint32_t rows)
{
    const bool text = alm_type_is_text(vec->type) || vec->type.id == ALM_T_BINARY;
    if (vec->is_const || (!text && vec->type.id != ALM_T_ARRAY))
        return rows * value_bytes(vec, 0);
    size_t bytes = 0;
    if (text) {
        const alm_view *views = vec->dict != NULL ? vec->dict->views : vec->data;
        for (uint32_t i = 0; i < rows; i++) {
            const alm_view *view = &views[vec->dict != NULL ? alm_vec_code(vec, i) : i];
            bytes += alm_view_is_null(view) ? 0 : view->len;
        }
        return bytes + 4 * (size_t)rows;
    }
    for (uint32_t i = 0; i < rows; i++)
        bytes += value_bytes(vec, i);
    return bytes;
}

/* Rows of one message; *bytes: about what they are. */
static uint32_t arrow_ipc_step_of(const alm_batch *batch, size_t *bytes)
{
    *bytes = 0;
    for (uint32_t i = 0; i < batch->n_cols; i++)
        *bytes += arrow_ipc_column_bytes(&batch->cols[i], batch->rows);
    if (*bytes <= ALM_ARROW_IPC_BYTES)
        return batch->rows;
    uint32_t rows = 0;
    *bytes = 0;
    do {
        for (uint32_t i = 0; i < batch->n_cols; i++)
            *bytes += value_bytes(&batch->cols[i], rows);
        rows++;
    } while (rows < batch->rows && *bytes < ALM_ARROW_IPC_BYTES);
    return rows;
}

static alm_status put_vector_of(alm_ctx *cx, parts *self, const alm_arrow_field *field,
                                const alm_vec *vec, uint32_t rows, int64_t id, alm_buf *out)
{
    struct ArrowArray array;
    if (field->type.id == ALM_T_SYMBOL && vec->dict != NULL)
        return put_codes_as_symbols(cx, self, vec, rows, id, out);
    ALM_TRY(alm_arrow_column(cx, vec, rows, &array));
    const alm_status status = arrow_ipc_put_column(cx, self, field, 0, &array, id, out);
    array.release(&array);
    return status;
}

static alm_status arrow_ipc_put_rows(alm_ctx *cx, const alm_arrow_field *fields,
                                     const alm_batch *batch, alm_buf *out)
{
    parts self;
    parts_init(cx, &self);
    alm_status status = ALM_OK;
    for (uint32_t i = 0; status == ALM_OK && i < batch->n_cols; i++)
        status = put_vector_of(cx, &self, &fields[i], &batch->cols[i], batch->rows, i, out);
    if (status == ALM_OK)
        status = put_batch(cx, &self, batch->rows, -1, out);
    parts_deinit(&self);
    return status;
}

alm_status alm_arrow_ipc_batch(alm_ctx *cx, const alm_arrow_field *fields, const alm_batch *batch,
                               uint32_t *rows, alm_buf *out)
{
    size_t bytes = 0;
    alm_batch part = *batch;
    part.rows = *rows = arrow_ipc_step_of(batch, &bytes);
    const int64_t copies = 2 * (int64_t)bytes; /* a text is copied twice */
    if (cx->mem != NULL)
        ALM_TRY(alm_mem_charge(cx, cx->mem, copies, "Arrow"));
    const alm_status status = arrow_ipc_put_rows(cx, fields, &part, out);
    if (cx->mem != NULL)
        alm_mem_release(cx->mem, copies);
    return status;
}
