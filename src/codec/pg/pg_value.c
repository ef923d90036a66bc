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

static alm_status put_bytes(alm_ctx *cx, alm_buf *out, const char *bytes, size_t n)
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
static alm_status put_array(alm_ctx *cx, const alm_vec *v, size_t row, bool binary, alm_buf *out)
{
    enum { HEAD = 12, PER_DIM = 8, PER_VALUE = 12 };
    const alm_array a = alm_array_of(v, row);
    const size_t start = out->len;
    ALM_TRY(alm_buf_reserve(cx, out, 4));
    out->len += 4;
    if (!binary) {
        ALM_TRY(alm_array_format(cx, &a, ALM_TEXT_PG, out));
        alm_be_put32(out->ptr + start, (uint32_t)(out->len - start - 4));
        return ALM_OK;
    }
    const uint32_t dims = a.count == 0 ? 0 : a.dims;
    ALM_TRY(alm_buf_reserve(cx, out, HEAD + PER_DIM * dims + PER_VALUE * a.count));
    char *to = out->ptr + out->len, *has_null = to + 4;
    alm_be_put32(to, dims);
    alm_be_put32(has_null, 0);
    alm_be_put32(to + 8, ALM_PG_OID_FLOAT8);
    to += HEAD;
    for (uint32_t d = 0; d < dims; d++, to += PER_DIM) {
        alm_be_put32(to, a.len[d]);
        alm_be_put32(to + 4, 1);
    }
    for (size_t i = 0; i < a.count; i++) {
        const double x = alm_array_at(a.data, i);
        const bool null = !isfinite(x);
        uint64_t bits;
        (void)memcpy(&bits, &x, sizeof bits);
        alm_be_put32(to, null ? UINT32_MAX : 8);
        if (null)
            alm_be_put32(has_null, 1);
        else
            alm_be_put64(to + 4, bits);
        to += null ? 4 : 12;
    }
    out->len = (size_t)(to - out->ptr);
    alm_be_put32(out->ptr + start, (uint32_t)(out->len - start - 4));
    return ALM_OK;
}

/* The digits of an OID as its four bytes. */
static size_t oid_in_place(char *to, size_t len)
{
    uint32_t oid = 0;
    for (size_t i = 0; i < len; i++)
        oid = oid * 10 + (uint32_t)(to[i] - '0');
    alm_be_put32(to, oid);
    return 4;
}

/* An element of a list that has a type of its own; what is no value of it is null. */
static alm_status put_typed_element(alm_ctx *cx, const alm_list_element *e, alm_type type,
                                    alm_buf *out)
{
    char text[128], value[32];
    size_t len = 0;
    if (e->raw.len <= sizeof(text))
        len = alm_list_element_text(e, text);
    alm_value_set_null(type, value);
    if (len > 0 && alm_value_scan(type, (alm_str){text, len}, value) != ALM_SCAN_OK)
        alm_value_set_null(type, value);
    const alm_vec v = {.type = type, .data = value, .is_const = true};
    return alm_pg_put_cell(cx, &v, 0, true, out);
}

/* A row in a list, whose escapes are taken away before it is taken apart. */
static alm_status put_row_element(alm_ctx *cx, const alm_list_element *e, alm_buf *out)
{
    alm_buf text;
    alm_buf_init(&text, out->mem);
    alm_status st = alm_buf_reserve(cx, &text, e->raw.len + 1);
    if (st == ALM_OK)
        text.len = alm_list_element_text(e, text.ptr);
    if (st == ALM_OK)
        st = alm_pg_put_record(cx, (alm_str){text.ptr, text.len}, out);
    alm_buf_deinit(&text);
    return st;
}

/* A list as an array of one dimension, in binary. */
static alm_status put_list(alm_ctx *cx, alm_str text, alm_list_of of, alm_buf *out)
{
    enum { HEAD = 12, DIM = 8 };
    const size_t start = out->len;
    alm_text_list list = alm_text_list_of(text);
    alm_list_element e;
    uint32_t n = 0, nulls = 0;
    ALM_TRY(alm_buf_reserve(cx, out, 4 + HEAD + DIM));
    out->len += 4 + HEAD + DIM;
    for (; alm_text_list_next(&list, &e); n++) {
        const bool null = alm_list_element_is_null(&e);
        if (!null && of == ALM_LIST_ROW) {
            ALM_TRY(put_row_element(cx, &e, out));
            continue;
        }
        if (!null && of > ALM_LIST_OID) {
            ALM_TRY(put_typed_element(cx, &e, lists[of].type, out));
            continue;
        }
        ALM_TRY(alm_buf_reserve(cx, out, 8 + e.raw.len));
        char *to = out->ptr + out->len;
        size_t len = null ? 0 : alm_list_element_text(&e, to + 4);
        if (!null && of == ALM_LIST_BOOL) {
            to[4] = len > 0 && to[4] == 't';
            len = 1;
        }
        if (!null && of == ALM_LIST_OID)
            len = oid_in_place(to + 4, len);
        alm_be_put32(to, null ? UINT32_MAX : (uint32_t)len);
        nulls |= null;
        out->len += 4 + len;
    }
    if (n == 0)
        out->len -= DIM; /* an empty array has no dimension */
    char *head = out->ptr + start;
    alm_be_put32(head, (uint32_t)(out->len - start - 4));
    alm_be_put32(head + 4, n > 0);
    alm_be_put32(head + 8, nulls);
    alm_be_put32(head + 12, lists[of].of);
    if (n > 0) {
        alm_be_put32(head + 16, n);
        alm_be_put32(head + 20, 1);
    }
    return ALM_OK;
}

static bool is_not_finite(const alm_vec *v, size_t row)
{
    if (v->type.id == ALM_T_DOUBLE)
        return !isfinite(((const double *)v->data)[row]);
    return v->type.id == ALM_T_FLOAT && !isfinite(((const float *)v->data)[row]);
}

/* bytea: the bytes, or as text \x and their digits. */
static alm_status put_binary(alm_ctx *cx, alm_str bytes, bool binary, alm_buf *out)
{
    static const char hex[] = "0123456789abcdef";
    if (binary)
        return put_bytes(cx, out, bytes.ptr, bytes.len);
    const size_t n = 2 + 2 * bytes.len;
    ALM_TRY(alm_buf_reserve(cx, out, n + 4));
    alm_be_put32(out->ptr + out->len, (uint32_t)n);
    char *to = out->ptr + out->len + 4;
    *to++ = '\\';
    *to++ = 'x';
    for (size_t i = 0; i < bytes.len; i++) {
        *to++ = hex[(uint8_t)bytes.ptr[i] >> 4];
        *to++ = hex[(uint8_t)bytes.ptr[i] & 15];
    }
    out->len += n + 4;
    return ALM_OK;
}

static alm_str time_text(const struct alm_conf *conf, alm_type type, int64_t value, char *to)
{
    const bool full = conf != NULL && conf->pg_timestamp_nanoseconds;
    const alm_time_unit unit = alm_type_unit(type);
    size_t n = alm_time_format(value, unit, full ? ALM_TIME_PG_FULL : ALM_TIME_PG, to);
    if (conf != NULL && conf->pg_timestamp_zone) {
        (void)memcpy(to + n, "+00", 3);
        n += 3;
    }
    return (alm_str){to, n};
}

alm_status alm_pg_put_cell(alm_ctx *cx, const alm_vec *v, size_t row, bool binary, alm_buf *out)
{
    char scratch[ALM_VALUE_TEXT_MAX];
    const size_t i = v->is_const ? 0 : row;
    if (v->type.id == ALM_T_NULL || alm_vec_is_null(v, i) || is_not_finite(v, i)) {
        ALM_TRY(alm_buf_reserve(cx, out, 4));
        alm_be_put32(out->ptr + out->len, UINT32_MAX);
        out->len += 4;
        return ALM_OK;
    }
    if (v->type.id == ALM_T_BINARY)
        return put_binary(cx, alm_vec_text(v, i), binary, out);
    if (v->type.id == ALM_T_ARRAY)
        return put_array(cx, v, i, binary, out);
    if (binary && alm_pg_is_list(v->type))
        return put_list(cx, alm_vec_text(v, i), (alm_list_of)v->type.p, out);
    if (binary && alm_type_is_row(v->type))
        return alm_pg_put_record(cx, alm_vec_text(v, i), out);
    const alm_type_ops *ops = alm_type_info_of(v->type)->ops;
    if (binary && ops->pg_send != NULL) {
        const size_t n = ops->pg_send(v->type, (const char *)v->data + i * v->width, scratch);
        return put_bytes(cx, out, scratch, n);
    }
    alm_str text = {"", 0};
    if (alm_type_is_text(v->type))
        text = alm_vec_text(v, i);
    else if (alm_type_info_of(v->type)->cls == ALM_TC_TIME)
        text = time_text(cx->conf, v->type, ((const int64_t *)v->data)[i], scratch);
    else
        (void)alm_value_text(v, i, ALM_TEXT_PG, scratch, &text);
    return put_bytes(cx, out, text.ptr, text.len);
}
