/* write_shape.c - see write_shape.h. */
#include "codec/parquet/write_shape.h"

#include "type/decimal.h"
#include "type/text.h"
#include "type/value.h"

/* -------------------------------------------------------------------------- shapes */

static alm_pq_shape of_physical(alm_pq_physical physical, alm_pq_order order)
{
    static const uint32_t width[ALM_PQ_PHYSICAL_COUNT] = {
        [ALM_PQ_BOOLEAN] = 1, [ALM_PQ_INT32] = 4,  [ALM_PQ_INT64] = 8,
        [ALM_PQ_FLOAT] = 4,   [ALM_PQ_DOUBLE] = 8,
    };
    return (alm_pq_shape){.leaf = {.physical = (int8_t)physical, .converted = ALM_PQ_C_NONE},
                          .order = order,
                          .width = width[physical]};
}

static alm_pq_shape of_integer(uint32_t bits, bool is_signed)
{
    alm_pq_shape s =
        of_physical(ALM_PQ_INT32, is_signed ? ALM_PQ_ORDER_INT32 : ALM_PQ_ORDER_UINT32);
    const uint32_t step = bits == 8 ? 0 : bits == 16 ? 1 : 2;
    s.leaf.logical = ALM_PQ_L_INTEGER;
    s.leaf.bits = (uint8_t)bits;
    s.leaf.is_signed = is_signed;
    s.leaf.converted = (int8_t)((is_signed ? ALM_PQ_C_INT_8 : ALM_PQ_C_UINT_8) + (int)step);
    return s;
}

static alm_pq_shape of_time(alm_pq_unit unit)
{
    alm_pq_shape s = of_physical(ALM_PQ_INT64, ALM_PQ_ORDER_INT64);
    s.leaf.logical = ALM_PQ_L_TIMESTAMP;
    s.leaf.unit = (uint8_t)unit;
    s.leaf.utc = true;
    s.leaf.converted = (int8_t)(unit == ALM_PQ_MILLIS   ? ALM_PQ_C_TIMESTAMP_MILLIS
                                : unit == ALM_PQ_MICROS ? ALM_PQ_C_TIMESTAMP_MICROS
                                                        : ALM_PQ_C_NONE);
    return s;
}

static alm_pq_shape of_fixed(uint32_t width, alm_pq_order order)
{
    alm_pq_shape s = of_physical(ALM_PQ_FIXED, order);
    s.leaf.length = (int32_t)width;
    s.width = width;
    return s;
}

static alm_pq_shape of_text(void)
{
    alm_pq_shape s = of_physical(ALM_PQ_BYTE_ARRAY, ALM_PQ_ORDER_TEXT);
    s.leaf.logical = ALM_PQ_L_STRING;
    s.leaf.converted = ALM_PQ_C_UTF8;
    return s;
}

static alm_pq_shape of_decimal(alm_type type)
{
    const uint32_t width = alm_type_width(type);
    alm_pq_shape s = width <= 4   ? of_physical(ALM_PQ_INT32, ALM_PQ_ORDER_INT32)
                     : width == 8 ? of_physical(ALM_PQ_INT64, ALM_PQ_ORDER_INT64)
                                  : of_fixed(width, ALM_PQ_ORDER_SIGNED_BYTES);
    s.leaf.logical = ALM_PQ_L_DECIMAL;
    s.leaf.converted = ALM_PQ_C_DECIMAL;
    s.leaf.precision = type.p;
    s.leaf.scale = type.s;
    return s;
}

static alm_pq_shape of_geohash(alm_type type)
{
    const uint32_t width = alm_type_width(type);
    return width < 4    ? of_integer(8 * width, true)
           : width == 4 ? of_physical(ALM_PQ_INT32, ALM_PQ_ORDER_INT32)
                        : of_physical(ALM_PQ_INT64, ALM_PQ_ORDER_INT64);
}

static alm_pq_shape of_array(const alm_pq_column *column)
{
    if (column->raw)
        return of_physical(ALM_PQ_BYTE_ARRAY, ALM_PQ_ORDER_NONE);
    alm_pq_shape s = of_physical(ALM_PQ_DOUBLE, ALM_PQ_ORDER_DOUBLE);
    s.dims = column->type.dims;
    return s;
}

static alm_pq_shape of_uuid(void)
{
    alm_pq_shape s = of_fixed(16, ALM_PQ_ORDER_BYTES);
    s.leaf.logical = ALM_PQ_L_UUID;
    return s;
}

static alm_pq_shape of_type(const alm_pq_column *column)
{
    switch ((alm_type_id)column->type.id) {
    case ALM_T_BOOLEAN:
        return of_physical(ALM_PQ_BOOLEAN, ALM_PQ_ORDER_BOOL);
    case ALM_T_BYTE:
        return of_integer(8, true);
    case ALM_T_SHORT:
        return of_integer(16, true);
    case ALM_T_CHAR:
        return column->raw ? of_integer(16, false) : of_text();
    case ALM_T_INT:
        return of_physical(ALM_PQ_INT32, ALM_PQ_ORDER_INT32);
    case ALM_T_LONG:
        return of_physical(ALM_PQ_INT64, ALM_PQ_ORDER_INT64);
    case ALM_T_FLOAT:
        return of_physical(ALM_PQ_FLOAT, ALM_PQ_ORDER_FLOAT);
    case ALM_T_DOUBLE:
        return of_physical(ALM_PQ_DOUBLE, ALM_PQ_ORDER_DOUBLE);
    case ALM_T_NONE:
    case ALM_T_NULL:
    case ALM_T_STRING:
    case ALM_T_VARCHAR:
    case ALM_T_SYMBOL:
        return of_text();
    case ALM_T_DATE:
        return of_time(ALM_PQ_MILLIS);
    case ALM_T_TIMESTAMP:
        return of_time(ALM_PQ_MICROS);
    case ALM_T_TIMESTAMP_NS:
        return of_time(ALM_PQ_NANOS);
    case ALM_T_UUID:
        return of_uuid();
    case ALM_T_IPV4:
        return of_integer(32, false);
    case ALM_T_INTERVAL:
        return of_fixed(16, ALM_PQ_ORDER_NONE);
    case ALM_T_LONG256:
        return of_fixed(32, ALM_PQ_ORDER_NONE);
    case ALM_T_GEOHASH:
        return of_geohash(column->type);
    case ALM_T_BINARY:
        return of_physical(ALM_PQ_BYTE_ARRAY, ALM_PQ_ORDER_BYTES);
    case ALM_T_DECIMAL:
        return of_decimal(column->type);
    case ALM_T_ARRAY:
        return of_array(column);
    case ALM_TYPE_COUNT:
        break;
    }
    ALM_UNREACHABLE("a type beyond the last");
}

alm_pq_shape alm_pq_shape_of(const alm_pq_column *column)
{
    alm_pq_shape s = of_type(column);
    s.required =
        s.dims == 0 && (column->required || alm_type_info_of(column->type)->null == ALM_NULL_NONE);
    return s;
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

static uint32_t from_bytes(const void *in, const uint8_t *null, uint32_t rows, uint32_t width,
                           void *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < rows; i++)
        if (null == NULL || null[i] == 0)
            (void)memcpy((char *)out + (size_t)n++ * width, (const char *)in + (size_t)i * width,
                         width);
    return n;
}

static uint32_t from_uuid(const void *in, const uint8_t *null, uint32_t rows, void *out)
{
    const alm_uuid *from = in;
    uint32_t n = 0;
    for (uint32_t i = 0; i < rows; i++)
        if (null == NULL || null[i] == 0)
            alm_uuid_to_bytes(from[i], (uint8_t *)out + 16 * (size_t)n++);
    return n;
}

/* Greatest byte first. */
static uint32_t from_words(const void *in, const uint8_t *null, uint32_t rows, uint32_t width,
                           void *out)
{
    const uint32_t words = width / 8;
    const uint64_t *from = in;
    uint64_t *to = out;
    uint32_t n = 0;
    for (uint32_t i = 0; i < rows; i++) {
        if (null != NULL && null[i] != 0)
            continue;
        for (uint32_t k = 0; k < words; k++)
            to[(size_t)n * words + k] = __builtin_bswap64(from[(size_t)i * words + words - 1 - k]);
        n++;
    }
    return n;
}

static uint32_t convert(const alm_pq_shape *shape, alm_type type, const void *in,
                        const uint8_t *null, uint32_t rows, void *out)
{
    const uint32_t width = alm_type_width(type);
    if (type.id == ALM_T_UUID)
        return from_uuid(in, null, rows, out);
    if (type.id == ALM_T_DECIMAL && width >= 16)
        return from_words(in, null, rows, width, out);
    if (shape->leaf.physical == ALM_PQ_INT32 && width == 1)
        return from_i8(in, null, rows, out);
    if (type.id == ALM_T_CHAR)
        return from_u16(in, null, rows, out);
    if (shape->leaf.physical == ALM_PQ_INT32 && width == 2)
        return from_i16(in, null, rows, out);
    ALM_ASSERT(width == shape->width);
    return width == 4   ? from_32(in, null, rows, out)
           : width == 8 ? from_64(in, null, rows, out)
                        : from_bytes(in, null, rows, width, out);
}

/* Are the elements in memory what Parquet wants? */
static bool is_as_is(const alm_pq_shape *shape, alm_type type)
{
    return alm_type_width(type) == shape->width && type.id != ALM_T_UUID &&
           shape->order != ALM_PQ_ORDER_SIGNED_BYTES;
}

static alm_status null_mask(alm_ctx *cx, alm_arena *arena, alm_pq_store *store, size_t *n_nulls,
                            uint8_t **out)
{
    const uint32_t *word = (const uint32_t *)(void *)store->values.ptr;
    size_t n = 0;
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
        n += word[i] == null;
    }
    *n_nulls = n;
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
        const uint32_t n = convert(shape, column->type, store->values.ptr, out->null, rows, data);
        ALM_ASSERT(n == out->n);
        return ALM_OK;
    }
    /* in place: what is left out stands before what is kept */
    const uint32_t less = store->form == ALM_PQ_FORM_CODES ? 1 : 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < rows; i++)
        if (out->null == NULL || out->null[i] == 0)
            word[n++] = word[i] - less;
    ALM_ASSERT(n == out->n);
    if (store->form == ALM_PQ_FORM_CODES)
        out->index = word;
    else
        out->len = word;
    out->bytes = store->bytes.ptr;
    return ALM_OK;
}
