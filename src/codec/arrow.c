/*
 * arrow.c - copies batches into Arrow arrays. One allocation per buffer, column at a time.
 */
#include "codec/arrow.h"

#include <stdlib.h>

#include "almanac.h"
#include "type/array.h"

typedef struct array_memory {
    void *buffers[3];
} array_memory;

static alm_status arrow_no_memory(alm_ctx *cx)
{
    return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory for an Arrow array");
}

/* ------------------------------------------------------------------- schema */

static void schema_release(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (schema->children[i] != NULL && schema->children[i]->release != NULL)
            schema->children[i]->release(schema->children[i]);
        free(schema->children[i]);
    }
    free(schema->children);
    free(schema->private_data);
    schema->release = NULL;
}

static alm_status schema_init(alm_ctx *cx, const char *format, const char *name, int64_t n_children,
                              struct ArrowSchema *out)
{
    *out = (struct ArrowSchema){.format = format, .name = "", .release = schema_release};
    if (name != NULL) {
        out->private_data = strdup(name);
        if (out->private_data == NULL)
            return arrow_no_memory(cx);
        out->name = out->private_data;
        out->flags = ARROW_FLAG_NULLABLE;
    }
    if (n_children == 0)
        return ALM_OK;
    out->children = calloc((size_t)n_children, sizeof(*out->children));
    if (out->children == NULL)
        return arrow_no_memory(cx);
    for (int64_t i = 0; i < n_children; i++) {
        out->children[i] = calloc(1, sizeof(struct ArrowSchema));
        if (out->children[i] == NULL)
            return arrow_no_memory(cx);
        out->n_children = i + 1;
    }
    return ALM_OK;
}

/* One list per dimension, numbers at the end. */
static alm_status list_schema(alm_ctx *cx, const char *name, uint32_t dims, struct ArrowSchema *out)
{
    if (dims == 0)
        return schema_init(cx, "g", name, 0, out);
    ALM_TRY(schema_init(cx, "+l", name, 1, out));
    return list_schema(cx, "item", dims - 1, out->children[0]);
}

alm_status alm_arrow_schema(alm_ctx *cx, const alm_arrow_field *fields, uint32_t n,
                            struct ArrowSchema *out)
{
    alm_status status = schema_init(cx, "+s", NULL, n, out);
    for (uint32_t i = 0; status == ALM_OK && i < n; i++) {
        if (fields[i].type.id == ALM_T_ARRAY)
            status = list_schema(cx, fields[i].name, fields[i].type.dims, out->children[i]);
        else
            status = schema_init(cx, alm_type_info_of(fields[i].type)->arrow, fields[i].name, 0,
                                 out->children[i]);
    }
    if (status != ALM_OK)
        schema_release(out);
    return status;
}

/* -------------------------------------------------------------------- array */

static void array_release(struct ArrowArray *array)
{
    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i] != NULL && array->children[i]->release != NULL)
            array->children[i]->release(array->children[i]);
        free(array->children[i]);
    }
    free(array->children);
    array_memory *memory = array->private_data;
    for (size_t i = 0; memory != NULL && i < ALM_COUNT(memory->buffers); i++)
        free(memory->buffers[i]);
    free(memory);
    free(array->buffers);
    array->release = NULL;
}

static alm_status array_init(alm_ctx *cx, int64_t rows, int64_t n_buffers, struct ArrowArray *out)
{
    *out = (struct ArrowArray){.length = rows, .n_buffers = n_buffers, .release = array_release};
    out->private_data = calloc(1, sizeof(array_memory));
    out->buffers = calloc(3, sizeof(void *));
    if (out->private_data == NULL || out->buffers == NULL)
        return arrow_no_memory(cx);
    return ALM_OK;
}

static void *array_buffer(struct ArrowArray *array, int64_t i, size_t bytes)
{
    array_memory *memory = array->private_data;
    memory->buffers[i] = malloc(bytes + 8);
    array->buffers[i] = memory->buffers[i];
    return memory->buffers[i];
}

static alm_status fill_validity(alm_ctx *cx, const alm_vec *vec, uint32_t rows,
                                struct ArrowArray *out)
{
    if (vec->no_nulls || alm_type_info_of(vec->type)->null == ALM_NULL_NONE)
        return ALM_OK; /* no bitmap: all valid */
    uint8_t *bits = array_buffer(out, 0, (rows + 7) / 8);
    if (bits == NULL)
        return arrow_no_memory(cx);
    (void)memset(bits, 0, (rows + 7) / 8);
    for (uint32_t i = 0; i < rows; i++) {
        const bool null = alm_vec_is_null(vec, vec->is_const ? 0 : i);
        out->null_count += null;
        bits[i / 8] |= (uint8_t)(!null << (i % 8));
    }
    return ALM_OK;
}

static alm_status fill_fixed(alm_ctx *cx, const alm_vec *vec, uint32_t rows, struct ArrowArray *out)
{
    uint8_t *dest = array_buffer(out, 1, (size_t)rows * vec->width);
    if (dest == NULL)
        return arrow_no_memory(cx);
    if (vec->type.id == ALM_T_UUID) { /* bytes in the order of the text */
        const alm_uuid *uuids = vec->data;
        for (uint32_t i = 0; i < rows; i++)
            alm_uuid_to_bytes(uuids[vec->is_const ? 0 : i], dest + (size_t)i * 16);
        return ALM_OK;
    }
    if (!vec->is_const) {
        (void)memcpy(dest, vec->data, (size_t)rows * vec->width);
        return ALM_OK;
    }
    for (uint32_t i = 0; i < rows; i++)
        (void)memcpy(dest + (size_t)i * vec->width, vec->data, vec->width);
    return ALM_OK;
}

static alm_status fill_bits(alm_ctx *cx, const alm_vec *vec, uint32_t rows, struct ArrowArray *out)
{
    uint8_t *bits = array_buffer(out, 1, (rows + 7) / 8);
    if (bits == NULL)
        return arrow_no_memory(cx);
    (void)memset(bits, 0, (rows + 7) / 8);
    const uint8_t *from = vec->data;
    for (uint32_t i = 0; i < rows; i++)
        bits[i / 8] |= (uint8_t)((from[vec->is_const ? 0 : i] != 0) << (i % 8));
    return ALM_OK;
}

/* Text, bytes and the types that Arrow has no type for, by their canonical text. */
static alm_status arrow_fill_text(alm_ctx *cx, const alm_vec *vec, uint32_t rows,
                                  struct ArrowArray *out)
{
    alm_buf text;
    alm_buf_init(&text, NULL);
    int32_t *offsets = array_buffer(out, 1, ((size_t)rows + 1) * sizeof(*offsets));
    alm_status status = offsets == NULL ? arrow_no_memory(cx) : ALM_OK;
    char scratch[ALM_VALUE_TEXT_MAX];
    for (uint32_t i = 0; status == ALM_OK && i < rows; i++) {
        const size_t row = vec->is_const ? 0 : i;
        offsets[i] = (int32_t)text.len;
        alm_str value;
        if (!alm_value_text(vec, row, ALM_TEXT_DIALECT, scratch, &value))
            continue;
        status = alm_buf_append(cx, &text, value.ptr, value.len);
        if (status == ALM_OK && text.len > INT32_MAX)
            status = alm_fail(cx, ALM_E_LIMIT, -1, "text of one Arrow column is over 2 GiB");
    }
    if (status == ALM_OK) {
        offsets[rows] = (int32_t)text.len;
        char *bytes = array_buffer(out, 2, text.len);
        if (bytes == NULL)
            status = arrow_no_memory(cx);
        else if (text.len > 0)
            (void)memcpy(bytes, text.ptr, text.len);
    }
    alm_buf_deinit(&text);
    return status;
}

/* ------------------------------------------------------------------ lists */

/* An array without numbers is one empty list, whatever its shape. */
static uint32_t arrow_list_length(const alm_array *array, uint32_t dim)
{
    return array->count == 0 ? 0 : array->len[dim];
}

static size_t lists_at(const alm_array *array, uint32_t dim)
{
    size_t n = array->dims == 0 ? 0 : 1;
    for (uint32_t d = 0; d < dim && n > 0; d++)
        n *= arrow_list_length(array, d);
    return n;
}

/* The numbers of all rows, one after another. */
static alm_status fill_numbers(alm_ctx *cx, const alm_vec *vec, uint32_t rows, size_t count,
                               struct ArrowArray *out)
{
    ALM_TRY(array_init(cx, (int64_t)count, 2, out));
    uint8_t *bits = array_buffer(out, 0, count / 8 + 1);
    double *dest = array_buffer(out, 1, count * sizeof(double));
    if (bits == NULL || dest == NULL)
        return arrow_no_memory(cx);
    (void)memset(bits, 0, count / 8 + 1);
    size_t offset = 0;
    for (uint32_t i = 0; i < rows; i++) {
        const alm_array array = alm_array_of(vec, i);
        for (size_t k = 0; k < array.count; k++, offset++) {
            const double value = alm_array_at(array.data, k);
            dest[offset] = value;
            out->null_count += value != value;
            bits[offset / 8] |= (uint8_t)((value == value) << (offset % 8));
        }
    }
    return ALM_OK;
}

/* Lists of dimension `dim`: `count` of them over all rows. */
static alm_status arrow_fill_lists(alm_ctx *cx, const alm_vec *vec, uint32_t rows, uint32_t dim,
                                   size_t count, struct ArrowArray *out)
{
    ALM_TRY(array_init(cx, (int64_t)count, 2, out));
    if (dim == 0)
        ALM_TRY(fill_validity(cx, vec, rows, out));
    int32_t *offsets = array_buffer(out, 1, (count + 1) * sizeof(*offsets));
    out->children = calloc(1, sizeof(*out->children));
    if (offsets == NULL || out->children == NULL)
        return arrow_no_memory(cx);
    size_t n = 0, items = 0;
    offsets[0] = 0;
    for (uint32_t i = 0; i < rows; i++) {
        const alm_array array = alm_array_of(vec, i);
        const size_t lists = dim == 0 ? 1 : lists_at(&array, dim);
        for (size_t k = 0; k < lists; k++) {
            items += arrow_list_length(&array, dim);
            if (items > INT32_MAX)
                return alm_fail(cx, ALM_E_LIMIT, -1, "arrays of one Arrow column are too large");
            offsets[++n] = (int32_t)items;
        }
    }
    ALM_ASSERT(n == count);
    out->children[0] = calloc(1, sizeof(struct ArrowArray));
    if (out->children[0] == NULL)
        return arrow_no_memory(cx);
    out->n_children = 1;
    return dim + 1 < vec->type.dims
               ? arrow_fill_lists(cx, vec, rows, dim + 1, items, out->children[0])
               : fill_numbers(cx, vec, rows, items, out->children[0]);
}

static alm_status arrow_fill_column(alm_ctx *cx, const alm_vec *vec, uint32_t rows,
                                    struct ArrowArray *out)
{
    const char form = alm_type_info_of(vec->type)->arrow[0];
    if (vec->type.id == ALM_T_ARRAY)
        return arrow_fill_lists(cx, vec, rows, 0, rows, out);
    ALM_TRY(array_init(cx, rows, alm_arrow_is_text(form) ? 3 : 2, out));
    ALM_TRY(fill_validity(cx, vec, rows, out));
    if (alm_arrow_is_text(form))
        return arrow_fill_text(cx, vec, rows, out);
    return form == ALM_ARROW_BOOL ? fill_bits(cx, vec, rows, out) : fill_fixed(cx, vec, rows, out);
}

alm_status alm_arrow_column(alm_ctx *cx, const alm_vec *vec, uint32_t rows, struct ArrowArray *out)
{
    *out = (struct ArrowArray){0};
    const alm_status status = arrow_fill_column(cx, vec, rows, out);
    if (status != ALM_OK)
        array_release(out);
    return status;
}

alm_status alm_arrow_array(alm_ctx *cx, const alm_batch *batch, struct ArrowArray *out)
{
    ALM_ASSERT(batch->sel == NULL);
    alm_status status = array_init(cx, batch->rows, 1, out);
    if (status == ALM_OK) {
        out->children = calloc(batch->n_cols + 1, sizeof(*out->children));
        if (out->children == NULL)
            status = arrow_no_memory(cx);
    }
    for (uint32_t i = 0; status == ALM_OK && i < batch->n_cols; i++) {
        out->children[i] = calloc(1, sizeof(struct ArrowArray));
        if (out->children[i] == NULL) {
            status = arrow_no_memory(cx);
            break;
        }
        out->n_children = (int64_t)i + 1;
        status = arrow_fill_column(cx, &batch->cols[i], batch->rows, out->children[i]);
    }
    if (status != ALM_OK)
        array_release(out);
    return status;
}
