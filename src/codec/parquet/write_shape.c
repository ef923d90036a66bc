/* write_shape.c - see write_shape.h. */
#include "codec/parquet/write_shape.h"

#include "type/ops.h"
#include "type/value.h"

/* -------------------------------------------------------------------------- shapes */

alm_pq_shape alm_pq_shape_of(const alm_pq_column *column)
{
    const alm_type_info *info = alm_type_info_of(column->type);
    const alm_parquet_form parquet_form = info->ops->parquet(column->type, column->raw);
    return (alm_pq_shape){
        .leaf = {.physical = (int8_t)parquet_form.physical,
                 .converted = (int8_t)parquet_form.converted,
                 .logical = (uint8_t)parquet_form.logical,
                 .unit = (uint8_t)parquet_form.unit,
                 .utc = parquet_form.utc,
                 .bits = parquet_form.bits,
                 .is_signed = parquet_form.is_signed,
                 .length = parquet_form.physical == ALM_PQ_FIXED ? (int32_t)parquet_form.width : 0,
                 .precision = parquet_form.precision,
                 .scale = parquet_form.scale},
        .order = parquet_form.order,
        .width = parquet_form.width,
        .dims = parquet_form.dims,
        .required = parquet_form.dims == 0 && (column->required || info->null == ALM_NULL_NONE),
    };
}

/* -------------------------------------------------------------------------- values */

/* Values that are not null, as the wider type. */
#define DEFINE_COMPACT(name, in_t, out_t)                                                          \
    static uint32_t name(const void *in, const uint8_t *null, uint32_t rows, void *out)            \
    {                                                                                              \
        const in_t *from = in;                                                                     \
        out_t *to = out;                                                                           \
        uint32_t n = 0;                                                                            \
        if (null == NULL) {                                                                        \
            for (uint32_t i = 0; i < rows; i++)                                                    \
                to[i] = (out_t)from[i];                                                            \
            return rows;                                                                           \
        }                                                                                          \
        for (uint32_t i = 0; i < rows; i++) {                                                      \
            to[n] = (out_t)from[i];                                                                \
            n += !null[i];                                                                         \
        }                                                                                          \
        return n;                                                                                  \
    }
DEFINE_COMPACT(from_i8, int8_t, int32_t)
DEFINE_COMPACT(from_i16, int16_t, int32_t)
DEFINE_COMPACT(from_u16, uint16_t, int32_t)
DEFINE_COMPACT(from_32, uint32_t, uint32_t)
DEFINE_COMPACT(from_64, uint64_t, uint64_t)

static uint32_t from_bytes(const void *input, const uint8_t *null, uint32_t rows, uint32_t width,
                           void *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < rows; i++)
        if (null == NULL || null[i] == 0)
            (void)memcpy((char *)out + (size_t)count++ * width,
                         (const char *)input + (size_t)i * width, width);
    return count;
}

static uint32_t from_uuid(const void *input, const uint8_t *null, uint32_t rows, void *out)
{
    const alm_uuid *from = input;
    uint32_t count = 0;
    for (uint32_t i = 0; i < rows; i++)
        if (null == NULL || null[i] == 0)
            alm_uuid_to_bytes(from[i], (uint8_t *)out + 16 * (size_t)count++);
    return count;
}

/* Greatest byte first. */
static uint32_t from_words(const void *input, const uint8_t *null, uint32_t rows, uint32_t width,
                           void *out)
{
    const uint32_t words = width / 8;
    const uint64_t *from = input;
    uint64_t *to = out;
    uint32_t count = 0;
    for (uint32_t i = 0; i < rows; i++) {
        if (null != NULL && null[i] != 0)
            continue;
        for (uint32_t k = 0; k < words; k++)
            to[(size_t)count * words + k] =
                __builtin_bswap64(from[(size_t)i * words + words - 1 - k]);
        count++;
    }
    return count;
}

static uint32_t write_shape_convert(const alm_pq_shape *shape, alm_type type, const void *input,
                                    const uint8_t *null, uint32_t rows, void *out)
{
    const uint32_t width = alm_type_width(type);
    const alm_value_form form = alm_type_info_of(type)->form;
    if (form == ALM_FORM_UUID)
        return from_uuid(input, null, rows, out);
    if (shape->order == ALM_PQ_ORDER_SIGNED_BYTES)
        return from_words(input, null, rows, width, out);
    if (shape->leaf.physical == ALM_PQ_INT32 && width == 1)
        return from_i8(input, null, rows, out);
    if (form == ALM_FORM_U16)
        return from_u16(input, null, rows, out);
    if (shape->leaf.physical == ALM_PQ_INT32 && width == 2)
        return from_i16(input, null, rows, out);
    ALM_ASSERT(width == shape->width);
    return width == 4   ? from_32(input, null, rows, out)
           : width == 8 ? from_64(input, null, rows, out)
                        : from_bytes(input, null, rows, width, out);
}

/* Are the elements in memory what Parquet wants? */
static bool is_as_is(const alm_pq_shape *shape, alm_type type)
{
    return alm_type_width(type) == shape->width && alm_type_info_of(type)->form != ALM_FORM_UUID &&
           shape->order != ALM_PQ_ORDER_SIGNED_BYTES;
}

static alm_status null_mask(alm_ctx *cx, alm_arena *arena, alm_pq_store *store, size_t *n_nulls,
                            uint8_t **out)
{
    const uint32_t *word = (const uint32_t *)(void *)store->values.ptr;
    size_t count = 0;
    ALM_TRY(alm_arena_bytes(cx, arena, (size_t)store->rows + 1, out));
    if (store->form == ALM_PQ_FORM_FIXED) {
        const alm_vec vec = {
            .type = store->type, .width = (uint8_t)store->width, .data = store->values.ptr};
        *n_nulls = alm_vec_null_mask(&vec, store->rows, *out);
        return ALM_OK;
    }
    const uint32_t null = store->form == ALM_PQ_FORM_CODES ? 0 : ALM_VIEW_NULL;
    for (uint32_t i = 0; i < store->rows; i++) {
        (*out)[i] = word[i] == null;
        count += word[i] == null;
    }
    *n_nulls = count;
    return ALM_OK;
}

alm_status alm_pq_values_of(alm_ctx *cx, alm_arena *arena, const alm_pq_shape *shape,
                            const alm_pq_column *column, alm_pq_store *store, alm_pq_values *out)
{
    const uint32_t rows = store->rows;
    uint32_t *word = (uint32_t *)(void *)store->values.ptr;
    uint8_t *null = NULL;
    size_t n_nulls = 0;
    if (alm_type_info_of(column->type)->null != ALM_NULL_NONE || column->type.id == ALM_T_NULL)
        ALM_TRY(null_mask(cx, arena, store, &n_nulls, &null));
    if (n_nulls > 0 && shape->required)
        return alm_fail(cx, ALM_E_VALUE, -1, "a null in column '%s', which has none", column->name);
    *out = (alm_pq_values){
        .rows = rows, .n = rows - (uint32_t)n_nulls, .null = n_nulls > 0 ? null : NULL};
    if (store->form == ALM_PQ_FORM_FIXED) {
        if (n_nulls == 0 && is_as_is(shape, column->type)) {
            out->data = store->values.ptr;
            return ALM_OK;
        }
        void *data = NULL; /* one more: where a null is written last */
        ALM_TRY(alm_arena_bytes(cx, arena, ((size_t)out->n + 1) * shape->width, &data));
        out->data = data;
        const uint32_t n =
            write_shape_convert(shape, column->type, store->values.ptr, out->null, rows, data);
        ALM_ASSERT(n == out->n);
        return ALM_OK;
    }
    /* in place: what is left out stands before what is kept */
    const uint32_t less = store->form == ALM_PQ_FORM_CODES ? 1 : 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < rows; i++)
        if (out->null == NULL || out->null[i] == 0)
            word[count++] = word[i] - less;
    ALM_ASSERT(count == out->n);
    if (store->form == ALM_PQ_FORM_CODES)
        out->index = word;
    else
        out->len = word;
    out->bytes = store->bytes.ptr;
    return ALM_OK;
}
