/* pg_value.c - see pg_value.h. */
#include "codec/pg/pg_value.h"

#include <math.h>

#include "base/conf.h"
#include "base/number.h"
#include "time/timestamp.h"
#include "type/array.h"
#include "type/decimal.h"
#include "type/ops.h"
#include "type/pg_oid.h"
#include "type/text.h"
#include "type/text_list.h"

bool alm_pg_is_list(alm_type type)
{
    return type.id == ALM_T_STRING && type.p != ALM_LIST_NONE && type.p < ALM_LIST_VECTOR;
}

/* Lists as arrays of PostgreSQL: of the array, of its elements, and as what these are read. */
static const struct {
    int32_t oid;
    uint32_t of;
    alm_type type;
} lists[] = {
    [ALM_LIST_TEXT] = {ALM_PG_OID_TEXT_ARRAY, ALM_PG_OID_TEXT, {.id = ALM_T_VARCHAR}},
    [ALM_LIST_BOOL] = {ALM_PG_OID_BOOL_ARRAY, ALM_PG_OID_BOOL, {.id = ALM_T_BOOLEAN}},
    [ALM_LIST_OID] = {ALM_PG_OID_OID_ARRAY, ALM_PG_OID_OID, {.id = ALM_T_LONG}},
    [ALM_LIST_INT2] = {ALM_PG_OID_INT2_ARRAY, ALM_PG_OID_INT2, {.id = ALM_T_SHORT}},
    [ALM_LIST_INT4] = {ALM_PG_OID_INT4_ARRAY, ALM_PG_OID_INT4, {.id = ALM_T_INT}},
    [ALM_LIST_INT8] = {ALM_PG_OID_INT8_ARRAY, ALM_PG_OID_INT8, {.id = ALM_T_LONG}},
    [ALM_LIST_UUID] = {ALM_PG_OID_UUID_ARRAY, ALM_PG_OID_UUID, {.id = ALM_T_UUID}},
    [ALM_LIST_TIME] = {ALM_PG_OID_TIMESTAMP_ARRAY, ALM_PG_OID_TIMESTAMP, {.id = ALM_T_TIMESTAMP}},
    [ALM_LIST_NUMERIC] = {ALM_PG_OID_NUMERIC_ARRAY,
                          ALM_PG_OID_NUMERIC,
                          {.id = ALM_T_DECIMAL, .p = 76, .s = 38}},
    [ALM_LIST_ROW] = {ALM_PG_OID_RECORD_ARRAY,
                      ALM_PG_OID_RECORD,
                      {.id = ALM_T_STRING, .p = ALM_LIST_NONE_BUT_ROW}},
};

int32_t alm_pg_oid(const struct alm_conf *conf, alm_type type)
{
    if (alm_type_is_oid(type))
        return ALM_PG_OID_OID;
    if (type.id == ALM_T_STRING && type.p == ALM_LIST_NONE_BUT_CHAR)
        return ALM_PG_OID_BPCHAR;
    if (alm_type_is_row(type))
        return ALM_PG_OID_RECORD;
    if (type.id == ALM_T_STRING && type.p == ALM_LIST_NONE_BUT_JSON)
        return ALM_PG_OID_JSON;
    if (conf != NULL && conf->pg_timestamp_zone && alm_type_info_of(type)->cls == ALM_TC_TIME)
        return ALM_PG_OID_TIMESTAMPTZ;
    if (alm_pg_is_list(type))
        return lists[type.p].oid;
    return type.id == ALM_T_NULL ? ALM_PG_OID_VARCHAR : alm_type_info_of(type)->pg_oid;
}

int16_t alm_pg_size(alm_type type)
{
    return type.id == ALM_T_NULL ? -1 : alm_type_info_of(type)->pg_len;
}

int32_t alm_pg_typmod(alm_type type)
{
    enum { HEAD = 4 };
    if (type.id == ALM_T_DECIMAL)
        return (int32_t)(((uint32_t)type.p << 16 | (uint32_t)type.s) + HEAD);
    return type.id == ALM_T_CHAR ? HEAD + 1 : -1;
}

/* ---------------------------------------------------------------------- cells */

static alm_status pg_value_put_bytes(alm_ctx *cx, alm_buf *out, const char *bytes, size_t n)
{
    ALM_TRY(alm_buf_reserve(cx, out, n + 4));
    alm_be_put32(out->ptr + out->len, (uint32_t)n);
    if (n > 0)
        (void)memcpy(out->ptr + out->len + 4, bytes, n);
    out->len += n + 4;
    return ALM_OK;
}

/* {1,NULL}, or in binary: dimensions, has nulls, element type, lengths with their lower bounds, values.
 * An empty array has no dimensions. */
static alm_status pg_value_put_array(alm_ctx *cx, const alm_vec *vec, size_t row, bool binary,
                                     alm_buf *out)
{
    enum { HEAD = 12, PER_DIM = 8, PER_VALUE = 12 };
    const alm_array array = alm_array_of(vec, row);
    const size_t start = out->len;
    ALM_TRY(alm_buf_reserve(cx, out, 4));
    out->len += 4;
    if (!binary) {
        ALM_TRY(alm_array_format(cx, &array, ALM_TEXT_PG, out));
        alm_be_put32(out->ptr + start, (uint32_t)(out->len - start - 4));
        return ALM_OK;
    }
    const uint32_t dims = array.count == 0 ? 0 : array.dims;
    ALM_TRY(alm_buf_reserve(cx, out, HEAD + PER_DIM * dims + PER_VALUE * array.count));
    char *dest = out->ptr + out->len, *has_null = dest + 4;
    alm_be_put32(dest, dims);
    alm_be_put32(has_null, 0);
    alm_be_put32(dest + 8, ALM_PG_OID_FLOAT8);
    dest += HEAD;
    for (uint32_t dim = 0; dim < dims; dim++, dest += PER_DIM) {
        alm_be_put32(dest, array.len[dim]);
        alm_be_put32(dest + 4, 1);
    }
    for (size_t i = 0; i < array.count; i++) {
        const double value = alm_array_at(array.data, i);
        const bool null = !isfinite(value);
        uint64_t bits;
        (void)memcpy(&bits, &value, sizeof bits);
        alm_be_put32(dest, null ? UINT32_MAX : 8);
        if (null)
            alm_be_put32(has_null, 1);
        else
            alm_be_put64(dest + 4, bits);
        dest += null ? 4 : 12;
    }
    out->len = (size_t)(dest - out->ptr);
    alm_be_put32(out->ptr + start, (uint32_t)(out->len - start - 4));
    return ALM_OK;
}

/* The digits of an OID as its four bytes. */
static size_t oid_in_place(char *dest, size_t len)
{
    uint32_t oid = 0;
    for (size_t i = 0; i < len; i++)
        oid = oid * 10 + (uint32_t)(dest[i] - '0');
    alm_be_put32(dest, oid);
    return 4;
}

/* An element of a list that has a type of its own; what is no value of it is null. */
static alm_status put_typed_element(alm_ctx *cx, const alm_list_element *element, alm_type type,
                                    alm_buf *out)
{
    char text[128], value[32];
    size_t len = 0;
    if (element->raw.len <= sizeof(text))
        len = alm_list_element_text(element, text);
    alm_value_set_null(type, value);
    if (len > 0 && alm_value_scan(type, (alm_str){text, len}, value) != ALM_SCAN_OK)
        alm_value_set_null(type, value);
    const alm_vec vec = {.type = type, .data = value, .is_const = true};
    return alm_pg_put_cell(cx, &vec, 0, true, out);
}

/* A row in a list, whose escapes are taken away before it is taken apart. */
static alm_status put_row_element(alm_ctx *cx, const alm_list_element *element, alm_buf *out)
{
    alm_buf text;
    alm_buf_init(&text, out->mem);
    alm_status status = alm_buf_reserve(cx, &text, element->raw.len + 1);
    if (status == ALM_OK)
        text.len = alm_list_element_text(element, text.ptr);
    if (status == ALM_OK)
        status = alm_pg_put_record(cx, (alm_str){text.ptr, text.len}, out);
    alm_buf_deinit(&text);
    return status;
}

/* A list as an array of one dimension, in binary. */
static alm_status put_list(alm_ctx *cx, alm_str text, alm_list_of of, alm_buf *out)
{
    enum { HEAD = 12, DIM = 8 };
    const size_t start = out->len;
    alm_text_list list = alm_text_list_of(text);
    alm_list_element element;
    uint32_t count = 0, nulls = 0;
    ALM_TRY(alm_buf_reserve(cx, out, 4 + HEAD + DIM));
    out->len += 4 + HEAD + DIM;
    for (; alm_text_list_next(&list, &element); count++) {
        const bool null = alm_list_element_is_null(&element);
        if (!null && of == ALM_LIST_ROW) {
            ALM_TRY(put_row_element(cx, &element, out));
            continue;
        }
        if (!null && of > ALM_LIST_OID) {
            ALM_TRY(put_typed_element(cx, &element, lists[of].type, out));
            continue;
        }
        ALM_TRY(alm_buf_reserve(cx, out, 8 + element.raw.len));
        char *dest = out->ptr + out->len;
        size_t len = null ? 0 : alm_list_element_text(&element, dest + 4);
        if (!null && of == ALM_LIST_BOOL) {
            dest[4] = len > 0 && dest[4] == 't';
            len = 1;
        }
        if (!null && of == ALM_LIST_OID)
            len = oid_in_place(dest + 4, len);
        alm_be_put32(dest, null ? UINT32_MAX : (uint32_t)len);
        nulls |= null;
        out->len += 4 + len;
    }
    if (count == 0)
        out->len -= DIM; /* an empty array has no dimension */
    char *head = out->ptr + start;
    alm_be_put32(head, (uint32_t)(out->len - start - 4));
    alm_be_put32(head + 4, count > 0);
    alm_be_put32(head + 8, nulls);
    alm_be_put32(head + 12, lists[of].of);
    if (count > 0) {
        alm_be_put32(head + 16, count);
        alm_be_put32(head + 20, 1);
    }
    return ALM_OK;
}

static bool is_not_finite(const alm_vec *vec, size_t row)
{
    if (vec->type.id == ALM_T_DOUBLE)
        return !isfinite(((const double *)vec->data)[row]);
    return vec->type.id == ALM_T_FLOAT && !isfinite(((const float *)vec->data)[row]);
}

/* bytea: the bytes, or as text \x and their digits. */
static alm_status pg_value_put_binary(alm_ctx *cx, alm_str bytes, bool binary, alm_buf *out)
{
    static const char hex[] = "0123456789abcdef";
    if (binary)
        return pg_value_put_bytes(cx, out, bytes.ptr, bytes.len);
    const size_t n = 2 + 2 * bytes.len;
    ALM_TRY(alm_buf_reserve(cx, out, n + 4));
    alm_be_put32(out->ptr + out->len, (uint32_t)n);
    char *dest = out->ptr + out->len + 4;
    *dest++ = '\\';
    *dest++ = 'x';
    for (size_t i = 0; i < bytes.len; i++) {
        *dest++ = hex[(uint8_t)bytes.ptr[i] >> 4];
        *dest++ = hex[(uint8_t)bytes.ptr[i] & 15];
    }
    out->len += n + 4;
    return ALM_OK;
}

static alm_str pg_value_time_text(const struct alm_conf *conf, alm_type type, int64_t value,
                                  char *dest)
{
    const bool full = conf != NULL && conf->pg_timestamp_nanoseconds;
    const alm_time_unit unit = alm_type_unit(type);
    size_t n = alm_time_format(value, unit, full ? ALM_TIME_PG_FULL : ALM_TIME_PG, dest);
    if (conf != NULL && conf->pg_timestamp_zone) {
        (void)memcpy(dest + n, "+00", 3);
        n += 3;
    }
    return (alm_str){dest, n};
}

alm_status alm_pg_put_cell(alm_ctx *cx, const alm_vec *vec, size_t row, bool binary, alm_buf *out)
{
    char scratch[ALM_VALUE_TEXT_MAX];
    const size_t i = vec->is_const ? 0 : row;
    if (vec->type.id == ALM_T_NULL || alm_vec_is_null(vec, i) || is_not_finite(vec, i)) {
        ALM_TRY(alm_buf_reserve(cx, out, 4));
        alm_be_put32(out->ptr + out->len, UINT32_MAX);
        out->len += 4;
        return ALM_OK;
    }
    if (vec->type.id == ALM_T_BINARY)
        return pg_value_put_binary(cx, alm_vec_text(vec, i), binary, out);
    if (vec->type.id == ALM_T_ARRAY)
        return pg_value_put_array(cx, vec, i, binary, out);
    if (binary && alm_pg_is_list(vec->type))
        return put_list(cx, alm_vec_text(vec, i), (alm_list_of)vec->type.p, out);
    if (binary && alm_type_is_row(vec->type))
        return alm_pg_put_record(cx, alm_vec_text(vec, i), out);
    const alm_type_ops *ops = alm_type_info_of(vec->type)->ops;
    if (binary && ops->pg_send != NULL) {
        const size_t n = ops->pg_send(vec->type, (const char *)vec->data + i * vec->width, scratch);
        return pg_value_put_bytes(cx, out, scratch, n);
    }
    alm_str text = {"", 0};
    if (alm_type_is_text(vec->type))
        text = alm_vec_text(vec, i);
    else if (alm_type_info_of(vec->type)->cls == ALM_TC_TIME)
        text = pg_value_time_text(cx->conf, vec->type, ((const int64_t *)vec->data)[i], scratch);
    else
        (void)alm_value_text(vec, i, ALM_TEXT_PG, scratch, &text);
    return pg_value_put_bytes(cx, out, text.ptr, text.len);
}
