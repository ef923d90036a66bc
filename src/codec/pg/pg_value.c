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

void alm_pg_put16(char *to, uint16_t v)
{
    to[0] = (char)(v >> 8);
    to[1] = (char)v;
}

void alm_pg_put32(char *to, uint32_t v)
{
    alm_pg_put16(to, (uint16_t)(v >> 16));
    alm_pg_put16(to + 2, (uint16_t)v);
}

void alm_pg_put64(char *to, uint64_t v)
{
    alm_pg_put32(to, (uint32_t)(v >> 32));
    alm_pg_put32(to + 4, (uint32_t)v);
}

uint16_t alm_pg_get16(const char *from)
{
    return (uint16_t)((unsigned char)from[0] << 8 | (unsigned char)from[1]);
}

uint32_t alm_pg_get32(const char *from)
{
    return (uint32_t)alm_pg_get16(from) << 16 | alm_pg_get16(from + 2);
}

uint64_t alm_pg_get64(const char *from)
{
    return (uint64_t)alm_pg_get32(from) << 32 | alm_pg_get32(from + 4);
}

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

int64_t alm_pg_time(alm_type type, int64_t value)
{
    const alm_time_unit unit = alm_type_unit(type);
    int64_t us = 0;
    if (unit != ALM_TIME_NS && (value == INT64_MAX || value == ALM_TS_NULL + 1))
        return value < 0 ? INT64_MIN : INT64_MAX; /* what a cast makes of infinity */
    if (__builtin_sub_overflow(alm_time_rescale(value, unit, ALM_TIME_US), ALM_PG_EPOCH_US, &us))
        return INT64_MIN; /* -infinity, to the client */
    return us;
}

enum { NUMERIC_GROUP = 10000, NUMERIC_HEAD = 8 };

/* numeric of the wire: number of groups, weight of the first, sign, scale, groups of four digits without
 * those at the end that are 0. At most 8 + 2 * 21 bytes. */
static int32_t numeric_value(alm_type type, const char *at, char *to)
{
    enum { GROUPS = 24 };
    uint16_t group[GROUPS]; /* least first */
    const alm_i256 x = alm_decimal_load(type, at);
    alm_i256 m = alm_i256_abs(x);
    /* the point falls between groups once the scale is a multiple of four */
    const uint32_t fill = (4 - type.s % 4U) % 4, behind = (type.s + fill) / 4U;
    uint32_t n = 0, first = 0, low = 1;
    for (uint32_t i = fill; i < 4 && fill > 0; i++) /* the last group holds 4 - fill digits */
        low *= 10;
    uint32_t shift = 1;
    for (uint32_t i = 0; i < fill; i++)
        shift *= 10;
    if (fill > 0)
        group[n++] = (uint16_t)(alm_u256_div_small(&m, low) * shift);
    while (!alm_i256_is_zero(m) && n < GROUPS)
        group[n++] = (uint16_t)alm_u256_div_small(&m, NUMERIC_GROUP);
    while (n > 0 && group[n - 1] == 0)
        n--;
    while (first < n && group[first] == 0)
        first++;
    const int32_t weight = n == first ? 0 : (int32_t)n - (int32_t)behind - 1;
    alm_pg_put16(to, (uint16_t)(n - first));
    alm_pg_put16(to + 2, (uint16_t)(int16_t)weight);
    alm_pg_put16(to + 4, alm_i256_is_neg(x) ? 0x4000 : 0);
    alm_pg_put16(to + 6, type.s);
    int32_t len = NUMERIC_HEAD;
    for (uint32_t i = n; i > first; i--, len += 2)
        alm_pg_put16(to + len, group[i - 1]);
    return len;
}

/* Binary form of a value that is not null into `to` (96 bytes); bytes written, -1: as text. */
static int32_t binary_value(const alm_vec *v, size_t row, char *to)
{
    const char *at = (const char *)v->data + row * v->width;
    uint16_t u16 = 0;
    uint32_t u32 = 0;
    uint64_t u64 = 0;
    alm_uuid uuid;
    switch (v->type.id) {
    case ALM_T_BOOLEAN:
        to[0] = *at != 0;
        return 1;
    case ALM_T_BYTE:
        alm_pg_put16(to, (uint16_t)(int16_t)*(const int8_t *)at);
        return 2;
    case ALM_T_SHORT:
        (void)memcpy(&u16, at, 2);
        alm_pg_put16(to, u16);
        return 2;
    case ALM_T_INT:
    case ALM_T_FLOAT:
        (void)memcpy(&u32, at, 4);
        alm_pg_put32(to, u32);
        return 4;
    case ALM_T_LONG:
    case ALM_T_DOUBLE:
        (void)memcpy(&u64, at, 8);
        alm_pg_put64(to, u64);
        return 8;
    case ALM_T_DATE:
    case ALM_T_TIMESTAMP:
    case ALM_T_TIMESTAMP_NS:
        (void)memcpy(&u64, at, 8);
        alm_pg_put64(to, (uint64_t)alm_pg_time(v->type, (int64_t)u64));
        return 8;
    case ALM_T_UUID:
        (void)memcpy(&uuid, at, sizeof(uuid));
        alm_uuid_to_bytes(uuid, (uint8_t *)to);
        return 16;
    case ALM_T_DECIMAL:
        return numeric_value(v->type, at, to);
    default:
        return -1;
    }
}

static alm_status put_bytes(alm_ctx *cx, alm_buf *out, const char *bytes, size_t n)
{
    ALM_TRY(alm_buf_reserve(cx, out, n + 4));
    alm_pg_put32(out->ptr + out->len, (uint32_t)n);
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
        alm_pg_put32(out->ptr + start, (uint32_t)(out->len - start - 4));
        return ALM_OK;
    }
    const uint32_t dims = a.count == 0 ? 0 : a.dims;
    ALM_TRY(alm_buf_reserve(cx, out, HEAD + PER_DIM * dims + PER_VALUE * a.count));
    char *to = out->ptr + out->len, *has_null = to + 4;
    alm_pg_put32(to, dims);
    alm_pg_put32(has_null, 0);
    alm_pg_put32(to + 8, ALM_PG_OID_FLOAT8);
    to += HEAD;
    for (uint32_t d = 0; d < dims; d++, to += PER_DIM) {
        alm_pg_put32(to, a.len[d]);
        alm_pg_put32(to + 4, 1);
    }
    for (size_t i = 0; i < a.count; i++) {
        const double x = alm_array_at(a.data, i);
        const bool null = !isfinite(x);
        uint64_t bits;
        (void)memcpy(&bits, &x, sizeof bits);
        alm_pg_put32(to, null ? UINT32_MAX : 8);
        if (null)
            alm_pg_put32(has_null, 1);
        else
            alm_pg_put64(to + 4, bits);
        to += null ? 4 : 12;
    }
    out->len = (size_t)(to - out->ptr);
    alm_pg_put32(out->ptr + start, (uint32_t)(out->len - start - 4));
    return ALM_OK;
}

/* The digits of an OID as its four bytes. */
static size_t oid_in_place(char *to, size_t len)
{
    uint32_t oid = 0;
    for (size_t i = 0; i < len; i++)
        oid = oid * 10 + (uint32_t)(to[i] - '0');
    alm_pg_put32(to, oid);
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
        alm_pg_put32(to, null ? UINT32_MAX : (uint32_t)len);
        nulls |= null;
        out->len += 4 + len;
    }
    if (n == 0)
        out->len -= DIM; /* an empty array has no dimension */
    char *head = out->ptr + start;
    alm_pg_put32(head, (uint32_t)(out->len - start - 4));
    alm_pg_put32(head + 4, n > 0);
    alm_pg_put32(head + 8, nulls);
    alm_pg_put32(head + 12, lists[of].of);
    if (n > 0) {
        alm_pg_put32(head + 16, n);
        alm_pg_put32(head + 20, 1);
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
    alm_pg_put32(out->ptr + out->len, (uint32_t)n);
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
        alm_pg_put32(out->ptr + out->len, UINT32_MAX);
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
    const int32_t n = binary ? binary_value(v, i, scratch) : -1;
    if (n >= 0)
        return put_bytes(cx, out, scratch, (size_t)n);
    alm_str text = {"", 0};
    if (alm_type_is_text(v->type))
        text = alm_vec_text(v, i);
    else if (alm_type_info_of(v->type)->cls == ALM_TC_TIME)
        text = time_text(cx->conf, v->type, ((const int64_t *)v->data)[i], scratch);
    else
        (void)alm_value_text(v, i, ALM_TEXT_PG, scratch, &text);
    return put_bytes(cx, out, text.ptr, text.len);
}
