/*
 * integer.c - BYTE, SHORT, INT, LONG: signed whole numbers of 1, 2, 4 and 8 bytes. The null of INT and LONG is their
 * least number; BYTE and SHORT have none.
 */
#include "base/be.h"
#include "base/number.h"
#include "type/ops.h"

/* A whole number within [min, max]. */
static alm_scan_result scan_integer(alm_str text, int64_t min, int64_t max, int64_t *out)
{
    int64_t value = 0;
    const alm_scan_result got = alm_scan_of_number(alm_int64_parse(text, &value));
    if (got != ALM_SCAN_OK)
        return got;
    if (value < min || value > max)
        return ALM_SCAN_RANGE;
    *out = value;
    return ALM_SCAN_OK;
}

#define DEFINE_INTEGER(name, T, MIN, MAX)                                                          \
    static alm_scan_result scan_##name(ALM_UNUSED alm_type type, alm_str text, void *out)          \
    {                                                                                              \
        int64_t number = 0;                                                                        \
        const alm_scan_result got = scan_integer(text, MIN, MAX, &number);                         \
        if (got == ALM_SCAN_OK)                                                                    \
            *(T *)out = (T)number;                                                                 \
        return got;                                                                                \
    }
DEFINE_INTEGER(byte, int8_t, INT8_MIN, INT8_MAX)
DEFINE_INTEGER(short, int16_t, INT16_MIN, INT16_MAX)
DEFINE_INTEGER(int, int32_t, -INT32_MAX,
               INT32_MAX) /* the least number is the null: no text says it */
DEFINE_INTEGER(long, int64_t, -INT64_MAX, INT64_MAX)

#define DEFINE_FORMAT(name, T, IS_NULL, FORMAT)                                                    \
    static size_t format_##name(ALM_UNUSED alm_type type, const void *at,                          \
                                ALM_UNUSED alm_text_style style, char *out)                        \
    {                                                                                              \
        const T x = *(const T *)at;                                                                \
        return (IS_NULL) ? 0 : FORMAT(x, out);                                                     \
    }
DEFINE_FORMAT(byte, int8_t, false, alm_int32_format)
DEFINE_FORMAT(short, int16_t, false, alm_int32_format)
DEFINE_FORMAT(int, int32_t, x == ALM_INT_NULL, alm_int32_format)
DEFINE_FORMAT(long, int64_t, x == ALM_LONG_NULL, alm_int64_format)

static alm_parquet_form parquet_byte(ALM_UNUSED alm_type type, ALM_UNUSED bool raw)
{
    return alm_parquet_integer(8, true);
}

static alm_parquet_form parquet_short(ALM_UNUSED alm_type type, ALM_UNUSED bool raw)
{
    return alm_parquet_integer(16, true);
}

static alm_parquet_form parquet_int(ALM_UNUSED alm_type type, ALM_UNUSED bool raw)
{
    return alm_parquet_of(ALM_PQ_INT32, ALM_PQ_ORDER_INT32);
}

static alm_parquet_form parquet_long(ALM_UNUSED alm_type type, ALM_UNUSED bool raw)
{
    alm_parquet_form parquet_form = alm_parquet_of(ALM_PQ_INT64, ALM_PQ_ORDER_INT64);
    parquet_form.by_field = true;
    return parquet_form;
}

static size_t send_byte(ALM_UNUSED alm_type type, const void *ptr, char *dest)
{
    alm_be_put16(dest, (uint16_t)(int16_t)*(const int8_t *)ptr);
    return 2;
}

static size_t send_short(ALM_UNUSED alm_type type, const void *ptr, char *dest)
{
    alm_be_put16(dest, *(const uint16_t *)ptr);
    return 2;
}

static size_t send_int(ALM_UNUSED alm_type type, const void *ptr, char *dest)
{
    alm_be_put32(dest, *(const uint32_t *)ptr);
    return 4;
}

static size_t send_long(ALM_UNUSED alm_type type, const void *ptr, char *dest)
{
    alm_be_put64(dest, *(const uint64_t *)ptr);
    return 8;
}

static alm_status receive_byte(alm_ctx *cx, uint32_t index, ALM_UNUSED alm_type type, alm_str text,
                               void *out)
{
    ALM_TRY(alm_pg_length(cx, index, 2, text.len));
    const int16_t value = (int16_t)alm_be_get16(text.ptr);
    if (value < INT8_MIN || value > INT8_MAX)
        return alm_fail(cx, ALM_E_RANGE, -1, "inconvertible value: %d [SHORT -> BYTE]", value);
    *(int8_t *)out = (int8_t)value;
    return ALM_OK;
}

static alm_status receive_short(alm_ctx *cx, uint32_t index, ALM_UNUSED alm_type type, alm_str text,
                                void *out)
{
    ALM_TRY(alm_pg_length(cx, index, 2, text.len));
    *(uint16_t *)out = alm_be_get16(text.ptr);
    return ALM_OK;
}

/* The least INT and LONG are their nulls, which a parameter that is one would become without a word. */
static alm_status integer_least(alm_ctx *cx, uint32_t index, alm_type type, int64_t value)
{
    return alm_fail(cx, ALM_E_RANGE, -1, "%s parameter %u is out of range: %lld",
                    alm_type_name(type), index + 1, (long long)value);
}

static alm_status receive_int(alm_ctx *cx, uint32_t index, alm_type type, alm_str text, void *out)
{
    ALM_TRY(alm_pg_length(cx, index, 4, text.len));
    *(uint32_t *)out = alm_be_get32(text.ptr);
    return *(int32_t *)out == ALM_INT_NULL ? integer_least(cx, index, type, ALM_INT_NULL) : ALM_OK;
}

static alm_status receive_long(alm_ctx *cx, uint32_t index, alm_type type, alm_str text, void *out)
{
    ALM_TRY(alm_pg_length(cx, index, 8, text.len));
    *(uint64_t *)out = alm_be_get64(text.ptr);
    return *(int64_t *)out == ALM_LONG_NULL ? integer_least(cx, index, type, ALM_LONG_NULL)
                                            : ALM_OK;
}

const alm_type_ops alm_type_ops_BYTE = {
    .aliases = {"int1", "tinyint"},
    .format = format_byte,
    .scan = scan_byte,
    .parquet = parquet_byte,
    .pg_send = send_byte,
    .pg_receive = receive_byte,
};
const alm_type_ops alm_type_ops_SHORT = {
    .aliases = {"int2", "smallint"},
    .format = format_short,
    .scan = scan_short,
    .parquet = parquet_short,
    .pg_send = send_short,
    .pg_receive = receive_short,
};
const alm_type_ops alm_type_ops_INT = {
    .aliases = {"integer", "int4"},
    .format = format_int,
    .scan = scan_int,
    .parquet = parquet_int,
    .pg_send = send_int,
    .pg_receive = receive_int,
};
const alm_type_ops alm_type_ops_LONG = {
    .aliases = {"bigint", "int8"},
    .format = format_long,
    .scan = scan_long,
    .parquet = parquet_long,
    .pg_send = send_long,
    .pg_receive = receive_long,
};
