/*
 * result_text.c - cell writers, one row per type, and the loops over rows.
 *
 * A cell writer gets memory with room for its type's longest text and returns the end; text cells
 * reserve by their length.
 */
#include "codec/result_text.h"

#include <math.h>

#include "base/base64.h"
#include "base/number.h"
#include "codec/json_text.h"
#include "time/timestamp.h"
#include "type/array.h"
#include "type/ops.h"

enum {
    CELL_MAX = 72,       /* longest text of a type of fixed width, quotes and comma included */
    TEXT_STEP = 12 << 10 /* of a long text at a time; a multiple of 3 for base 64 */
};

typedef struct cell_writer cell_writer;
typedef char *(*cell_fn)(cell_writer *w, const alm_vec *v, size_t row, char *out);

struct cell_writer {
    cell_fn write; /* NULL: text, or a type without a fast writer */
    alm_type type;
    bool is_text;
    bool quoted;
    alm_str lead; /* JSON lines: the key and what stands around it */
    const char *null;
    size_t null_len;
    alm_time_writer time;
};

static const char *const row_end[] = {
    [ALM_RESULT_JSON] = "]", [ALM_RESULT_CSV] = "\r\n", [ALM_RESULT_NDJSON] = "}\n"};

struct alm_result_writer {
    alm_result_form form;
    bool json; /* cells as JSON has them */
    char delimiter;
    uint32_t n;
    const uint32_t *cols;
    cell_writer *cells;
    const char *row_end;
    int64_t rows;
    uint32_t col;   /* of the row that is there in part: to go on with */
    size_t text_at; /* of its text: bytes that are there */
};

static char *result_text_put_null(const cell_writer *writer, char *out)
{
    (void)memcpy(out, writer->null, writer->null_len);
    return out + writer->null_len;
}

static char *result_text_put_boolean(cell_writer *writer, const alm_vec *vec, size_t row, char *out)
{
    (void)writer;
    const bool value = ((const uint8_t *)vec->data)[row] != 0;
    (void)memcpy(out, value ? "true" : "false", 5);
    return out + (value ? 4 : 5);
}

static char *result_text_put_byte(cell_writer *writer, const alm_vec *vec, size_t row, char *out)
{
    (void)writer;
    return out + alm_int32_format(((const int8_t *)vec->data)[row], out);
}

static char *put_short(cell_writer *writer, const alm_vec *vec, size_t row, char *out)
{
    (void)writer;
    return out + alm_int32_format(((const int16_t *)vec->data)[row], out);
}

static char *result_text_put_int(cell_writer *writer, const alm_vec *vec, size_t row, char *out)
{
    const int32_t value = ((const int32_t *)vec->data)[row];
    return value == ALM_INT_NULL ? result_text_put_null(writer, out)
                                 : out + alm_int32_format(value, out);
}

static char *result_text_put_long(cell_writer *writer, const alm_vec *vec, size_t row, char *out)
{
    const int64_t value = ((const int64_t *)vec->data)[row];
    if (value == ALM_LONG_NULL)
        return result_text_put_null(writer, out);
    if (writer->quoted)
        *out++ = '"';
    out += alm_int64_format(value, out);
    if (writer->quoted)
        *out++ = '"';
    return out;
}

static char *result_text_put_float(cell_writer *writer, const alm_vec *vec, size_t row, char *out)
{
    const float value = ((const float *)vec->data)[row];
    if (!isfinite(value))
        return result_text_put_null(writer, out);
    return out + alm_float_format(value, ALM_NUM_DIALECT, out);
}

static char *result_text_put_double(cell_writer *writer, const alm_vec *vec, size_t row, char *out)
{
    const double value = ((const double *)vec->data)[row];
    if (!isfinite(value))
        return result_text_put_null(writer, out);
    return out + alm_double_format(value, ALM_NUM_DIALECT, out);
}

static char *result_text_put_time(cell_writer *writer, const alm_vec *vec, size_t row, char *out)
{
    const int64_t value = ((const int64_t *)vec->data)[row];
    if (value == ALM_TS_NULL)
        return result_text_put_null(writer, out);
    *out++ = '"';
    out += alm_time_writer_put(&writer->time, value, out);
    *out++ = '"';
    return out;
}

static cell_fn fast_writer(alm_type type)
{
    switch (type.id) {
    case ALM_T_BOOLEAN:
        return result_text_put_boolean;
    case ALM_T_BYTE:
        return result_text_put_byte;
    case ALM_T_SHORT:
        return put_short;
    case ALM_T_INT:
        return result_text_put_int;
    case ALM_T_LONG:
        return result_text_put_long;
    case ALM_T_FLOAT:
        return result_text_put_float;
    case ALM_T_DOUBLE:
        return result_text_put_double;
    case ALM_T_DATE:
    case ALM_T_TIMESTAMP:
    case ALM_T_TIMESTAMP_NS:
        return result_text_put_time;
    default:
        return NULL;
    }
}

/* How null looks in JSON. */
static const char *json_null(alm_type type, alm_result_form form)
{
    return form == ALM_RESULT_JSON && (type.id == ALM_T_CHAR || type.id == ALM_T_LONG256) ? "\"\""
                                                                                          : "null";
}

static void init_cell(cell_writer *writer, alm_type type, const alm_result_options *options)
{
    const bool json = options->form != ALM_RESULT_CSV;
    *writer = (cell_writer){.write = fast_writer(type),
                            .type = type,
                            .is_text = alm_type_is_text(type) || type.id == ALM_T_NULL,
                            .null = json ? json_null(type, options->form) : ""};
    writer->null_len = strlen(writer->null);
    writer->quoted =
        json ? type.id != ALM_T_LONG || options->quote_long : alm_type_info_of(type)->csv_quoted;
    if (type.id == ALM_T_LONG && !json)
        writer->quoted = false;
    if (writer->write == result_text_put_time)
        alm_time_writer_init(&writer->time, alm_type_unit(type), ALM_TIME_ISO);
}

/* {"name": or ,"name": */
static alm_status key_lead(alm_ctx *cx, alm_arena *arena, const char *name, bool first,
                           alm_str *out)
{
    const alm_str text = alm_str_of(name);
    char *dest = NULL;
    ALM_TRY(alm_arena_bytes(cx, arena, 6 * text.len + 4, &dest));
    dest[0] = first ? '{' : ',';
    char *end = alm_json_write_string(dest + 1, text);
    *end++ = ':';
    *out = (alm_str){dest, (size_t)(end - dest)};
    return ALM_OK;
}

alm_status alm_result_writer_new(alm_ctx *cx, alm_arena *arena, const alm_type *types,
                                 uint32_t n_types, const alm_result_options *options,
                                 alm_result_writer **out)
{
    alm_result_writer *writer = NULL;
    ALM_TRY(ALM_NEW(cx, arena, &writer));
    writer->form = options->form;
    writer->json = options->form != ALM_RESULT_CSV;
    writer->row_end =
        options->form == ALM_RESULT_JSON && options->lines ? "]\n" : row_end[options->form];
    writer->delimiter = options->delimiter != 0 ? options->delimiter : ',';
    writer->n = options->cols != NULL ? options->n_cols : n_types;
    ALM_TRY(ALM_NEWN(cx, arena, writer->n + 1, &writer->cells));
    uint32_t *cols = NULL;
    ALM_TRY(ALM_NEWN(cx, arena, writer->n + 1, &cols));
    for (uint32_t i = 0; i < writer->n; i++) {
        cols[i] = options->cols != NULL ? options->cols[i] : i;
        ALM_ASSERT(cols[i] < n_types);
        init_cell(&writer->cells[i], types[cols[i]], options);
        if (options->form == ALM_RESULT_NDJSON)
            ALM_TRY(key_lead(cx, arena, options->names[cols[i]], i == 0, &writer->cells[i].lead));
    }
    writer->cols = cols;
    *out = writer;
    return ALM_OK;
}

/* With the quotes inside doubled; room for 2 * len bytes. */
static char *write_doubled(char *out, alm_str text)
{
    size_t offset = 0;
    while (offset < text.len) {
        const char *quote = memchr(text.ptr + offset, '"', text.len - offset);
        const size_t n =
            quote != NULL ? (size_t)(quote - text.ptr) + 1 - offset : text.len - offset;
        (void)memcpy(out, text.ptr + offset, n);
        out += n;
        offset += n;
        if (quote != NULL)
            *out++ = '"';
    }
    return out;
}

/* A field in quotes; room for 2 * len + 2 bytes. */
static char *write_quoted(char *out, alm_str text)
{
    *out++ = '"';
    out = write_doubled(out, text);
    *out++ = '"';
    return out;
}

alm_status alm_csv_put_quoted(alm_ctx *cx, alm_buf *out, alm_str text)
{
    ALM_TRY(alm_buf_reserve(cx, out, 2 * text.len + 2));
    out->len = (size_t)(write_quoted(out->ptr + out->len, text) - out->ptr);
    return ALM_OK;
}

/* Bytes of a text from `offset` on that make a step, up to the end of a character. */
static size_t result_text_step_of(alm_str text, size_t offset)
{
    size_t n = ALM_MIN(text.len - offset, (size_t)TEXT_STEP);
    for (int back = 0; back < 3 && offset + n < text.len && (text.ptr[offset + n] & 0xC0) == 0x80;
         back++)
        n--;
    return n;
}

/* A long text, or bytes in base 64, in quotes, step by step until there is enough. */
static alm_status put_long_text(alm_ctx *cx, alm_result_writer *writer, const cell_writer *cell,
                                alm_str text, size_t enough, alm_buf *out)
{
    const bool bytes = cell->type.id == ALM_T_BINARY;
    while (writer->text_at < text.len) {
        if (writer->text_at > 0 && out->len >= enough)
            return ALM_OK;
        const size_t n = bytes ? ALM_MIN(text.len - writer->text_at, (size_t)TEXT_STEP)
                               : result_text_step_of(text, writer->text_at);
        const alm_str part = {text.ptr + writer->text_at, n};
        ALM_TRY(alm_buf_reserve(cx, out, 6 * n + CELL_MAX));
        char *end = out->ptr + out->len;
        if (writer->text_at == 0)
            *end++ = '"';
        if (bytes)
            end += alm_base64_encode(part, end);
        else
            end = writer->json ? alm_json_write_part(end, part) : write_doubled(end, part);
        writer->text_at += n;
        if (writer->text_at == text.len)
            *end++ = '"';
        out->len = (size_t)(end - out->ptr);
    }
    writer->text_at = 0;
    return ALM_OK;
}

static alm_status result_put_text(alm_ctx *cx, const alm_result_writer *writer,
                                  const cell_writer *cell, alm_str text, alm_buf *out)
{
    ALM_TRY(alm_buf_reserve(cx, out, 6 * text.len + CELL_MAX));
    char *end = out->ptr + out->len;
    if (text.ptr == NULL)
        end = result_text_put_null(cell, end);
    else if (writer->json)
        end = alm_json_write_string(end, text);
    else
        end = write_quoted(end, text);
    out->len = (size_t)(end - out->ptr);
    return ALM_OK;
}

/* Types without a fast writer: their canonical text, in quotes where JSON or CSV wants them. */
static alm_status put_other(alm_ctx *cx, const alm_result_writer *writer, const cell_writer *cell,
                            const alm_vec *vec, size_t row, alm_buf *out)
{
    char scratch[ALM_VALUE_TEXT_MAX];
    alm_str text = {0};
    if (!alm_value_text(vec, row, ALM_TEXT_DIALECT, scratch, &text))
        return result_put_text(cx, writer, cell, (alm_str){0}, out);
    if (!writer->json && !cell->quoted)
        return alm_buf_append(cx, out, text.ptr, text.len);
    return result_put_text(cx, writer, cell, text, out);
}

/* [[1.0,null],[2.5]]: a value of JSON, a quoted field of CSV. */
static alm_status result_text_put_array(alm_ctx *cx, const cell_writer *cell, const alm_vec *vec,
                                        size_t row, bool json, alm_buf *out)
{
    const alm_array array = alm_array_of(vec, row);
    if (array.dims == 0)
        return alm_buf_append(cx, out, cell->null, cell->null_len);
    if (!json)
        ALM_TRY(alm_buf_text(cx, out, "\""));
    ALM_TRY(alm_array_format(cx, &array, ALM_TEXT_DIALECT, out));
    return json ? ALM_OK : alm_buf_text(cx, out, "\"");
}

/* In base 64, in quotes: an empty value is not null. */
static alm_status result_text_put_bytes(alm_ctx *cx, const cell_writer *cell, alm_str bytes,
                                        alm_buf *out)
{
    if (bytes.ptr == NULL)
        return alm_buf_append(cx, out, cell->null, cell->null_len);
    ALM_TRY(alm_buf_reserve(cx, out, alm_base64_len(bytes.len) + 2));
    char *end = out->ptr + out->len;
    *end++ = '"';
    end += alm_base64_encode(bytes, end);
    *end++ = '"';
    out->len = (size_t)(end - out->ptr);
    return ALM_OK;
}

/* A cell of another type than those of fixed width. */
static alm_status result_text_put_wide(alm_ctx *cx, alm_result_writer *writer,
                                       const cell_writer *cell, const alm_vec *vec, size_t row,
                                       size_t enough, alm_buf *out)
{
    if (cell->is_text || cell->type.id == ALM_T_BINARY) {
        const alm_str text = alm_vec_text(vec, row);
        if (text.len > TEXT_STEP)
            return put_long_text(cx, writer, cell, text, enough, out);
        return cell->is_text ? result_put_text(cx, writer, cell, text, out)
                             : result_text_put_bytes(cx, cell, text, out);
    }
    if (cell->type.id == ALM_T_ARRAY)
        return result_text_put_array(cx, cell, vec, row, writer->json, out);
    return put_other(cx, writer, cell, vec, row, out);
}

static alm_status begin_row(alm_ctx *cx, const alm_result_writer *writer, alm_buf *out)
{
    if (writer->form != ALM_RESULT_JSON)
        return ALM_OK;
    return alm_buf_text(cx, out, writer->rows > 0 ? ",[" : "[");
}

static inline bool is_in_row(const alm_result_writer *writer)
{
    return writer->col > 0 || writer->text_at > 0;
}

/* The row, or what is missing of it; until there is enough, and then writer->col is where to go on. */
static alm_status result_text_put_row(alm_ctx *cx, alm_result_writer *writer,
                                      const alm_batch *batch, size_t row, size_t enough,
                                      alm_buf *out)
{
    uint32_t i = writer->col;
    bool in_text = writer->text_at > 0; /* what stands before it is there */
    if (!is_in_row(writer))
        ALM_TRY(begin_row(cx, writer, out));
    for (; i < writer->n && (out->len < enough || i == 0); i++) {
        cell_writer *cell = &writer->cells[i];
        const alm_vec *vec = &batch->cols[writer->cols[i]];
        const size_t offset = vec->is_const ? 0 : row;
        ALM_TRY(alm_buf_reserve(cx, out, CELL_MAX + cell->lead.len));
        if (cell->lead.len > 0 && !in_text) {
            (void)memcpy(out->ptr + out->len, cell->lead.ptr, cell->lead.len);
            out->len += cell->lead.len;
        } else if (i > 0 && !in_text) {
            out->ptr[out->len++] = writer->json ? ',' : writer->delimiter;
        }
        in_text = false;
        if (cell->write != NULL) {
            out->len = (size_t)(cell->write(cell, vec, offset, out->ptr + out->len) - out->ptr);
            continue;
        }
        ALM_TRY(result_text_put_wide(cx, writer, cell, vec, offset, enough, out));
        if (writer->text_at > 0)
            break;
    }
    writer->col = i;
    if (i < writer->n)
        return ALM_OK;
    ALM_ASSERT(writer->text_at == 0);
    writer->col = 0;
    writer->rows++;
    return alm_buf_text(cx, out, writer->row_end);
}

bool alm_result_in_row(const alm_result_writer *writer)
{
    return is_in_row(writer);
}

alm_status alm_result_rows(alm_ctx *cx, alm_result_writer *writer, const alm_batch *batch,
                           uint32_t *row, uint32_t to, size_t enough, alm_buf *out)
{
    ALM_ASSERT(batch->sel == NULL && to <= batch->rows);
    ALM_ASSERT(*row < to || !is_in_row(writer));
    while (*row < to && out->len < enough) {
        ALM_TRY(result_text_put_row(cx, writer, batch, *row, enough, out));
        if (is_in_row(writer))
            return ALM_OK;
        *row += 1;
    }
    return ALM_OK;
}
