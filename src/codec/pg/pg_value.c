/* pg_value.c - see pg_value.h. */
#include "codec/pg/pg_value.h"

#include <math.h>
#include <stdio.h>

#include "base/conf.h"
#include "base/number.h"
#include "base/utf8.h"
#include "time/timestamp.h"
#include "type/array.h"
#include "type/decimal.h"
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

/* Vectors of the catalogue are texts for clients. */
static bool is_list(alm_type type)
{
    return type.id == ALM_T_STRING && type.p != ALM_LIST_NONE && type.p < ALM_LIST_VECTOR;
}

/* Lists as arrays of PostgreSQL: of the array, of its elements, and as what these are read. */
static const struct {
    int32_t oid;
    uint32_t of;
    alm_type type;
} lists[] = {
    [ALM_LIST_TEXT] = {1009, 25, {.id = ALM_T_VARCHAR}},
    [ALM_LIST_BOOL] = {1000, 16, {.id = ALM_T_BOOLEAN}},
    [ALM_LIST_OID] = {1028, 26, {.id = ALM_T_LONG}},
    [ALM_LIST_INT2] = {1005, 21, {.id = ALM_T_SHORT}},
    [ALM_LIST_INT4] = {1007, 23, {.id = ALM_T_INT}},
    [ALM_LIST_INT8] = {1016, 20, {.id = ALM_T_LONG}},
    [ALM_LIST_UUID] = {2951, 2950, {.id = ALM_T_UUID}},
    [ALM_LIST_TIME] = {1115, 1114, {.id = ALM_T_TIMESTAMP}},
    [ALM_LIST_NUMERIC] = {1231, 1700, {.id = ALM_T_DECIMAL, .p = 76, .s = 38}},
    [ALM_LIST_ROW] = {2287, 2249, {.id = ALM_T_STRING, .p = ALM_LIST_NONE_BUT_ROW}},
};

int32_t alm_pg_oid(const struct alm_conf *conf, alm_type type)
{
    enum { TIMESTAMPTZ = 1184, BPCHAR = 1042, RECORD = 2249, OID = 26 };
    if (alm_type_is_oid(type))
        return OID;
    if (type.id == ALM_T_STRING && type.p == ALM_LIST_NONE_BUT_CHAR)
        return BPCHAR;
    if (alm_type_is_row(type))
        return RECORD;
    if (conf != NULL && conf->pg_timestamp_zone && alm_type_info_of(type)->cls == ALM_TC_TIME)
        return TIMESTAMPTZ;
    if (is_list(type))
        return lists[type.p].oid;
    return type.id == ALM_T_NULL ? 1043 : alm_type_info_of(type)->pg_oid;
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
    const alm_time_unit unit = type.id == ALM_T_DATE        ? ALM_TIME_MS
                               : type.id == ALM_T_TIMESTAMP ? ALM_TIME_US
                                                            : ALM_TIME_NS;
    int64_t us = 0;
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
    enum { FLOAT8 = 701, HEAD = 12, PER_DIM = 8, PER_VALUE = 12 };
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
    alm_pg_put32(to + 8, FLOAT8);
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
    const alm_time_unit unit = type.id == ALM_T_DATE        ? ALM_TIME_MS
                               : type.id == ALM_T_TIMESTAMP ? ALM_TIME_US
                                                            : ALM_TIME_NS;
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
    if (binary && is_list(v->type))
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

/* ----------------------------------------------------------------- parameters */

enum { OID_OID = 26, OID_INET = 869, OID_JSONB = 3802 }; /* whose binary form is their own */

static const struct {
    uint32_t oid;
    alm_type type;
} param_types[] = {{16, {.id = ALM_T_BOOLEAN}},
                   {20, {.id = ALM_T_LONG}},
                   {21, {.id = ALM_T_SHORT}},
                   {23, {.id = ALM_T_INT}},
                   {700, {.id = ALM_T_FLOAT}},
                   {701, {.id = ALM_T_DOUBLE}},
                   {18, {.id = ALM_T_VARCHAR}},
                   {19, {.id = ALM_T_VARCHAR}},
                   {25, {.id = ALM_T_VARCHAR}},
                   {705, {.id = ALM_T_NONE}},
                   {1042, {.id = ALM_T_VARCHAR}},
                   {1043, {.id = ALM_T_VARCHAR}},
                   {114, {.id = ALM_T_VARCHAR}},
                   {OID_JSONB, {.id = ALM_T_VARCHAR}},
                   {1082, {.id = ALM_T_TIMESTAMP}},
                   {1114, {.id = ALM_T_TIMESTAMP}},
                   {1184, {.id = ALM_T_TIMESTAMP}},
                   {1700, {.id = ALM_T_DECIMAL, .p = 76, .s = 38}},
                   {1021, {.id = ALM_T_ARRAY, .dims = 1}},
                   {1022, {.id = ALM_T_ARRAY, .dims = 1}},
                   {1000, {.id = ALM_T_STRING, .p = ALM_LIST_BOOL}},
                   {1005, {.id = ALM_T_STRING, .p = ALM_LIST_INT2}},
                   {1007, {.id = ALM_T_STRING, .p = ALM_LIST_INT4}},
                   {1016, {.id = ALM_T_STRING, .p = ALM_LIST_INT8}},
                   {1009, {.id = ALM_T_STRING, .p = ALM_LIST_TEXT}},
                   {1014, {.id = ALM_T_STRING, .p = ALM_LIST_TEXT}},
                   {1015, {.id = ALM_T_STRING, .p = ALM_LIST_TEXT}},
                   {1028, {.id = ALM_T_STRING, .p = ALM_LIST_OID}},
                   {1115, {.id = ALM_T_STRING, .p = ALM_LIST_TIME}},
                   {1182, {.id = ALM_T_STRING, .p = ALM_LIST_TIME}},
                   {1185, {.id = ALM_T_STRING, .p = ALM_LIST_TIME}},
                   {1231, {.id = ALM_T_STRING, .p = ALM_LIST_NUMERIC}},
                   {2951, {.id = ALM_T_STRING, .p = ALM_LIST_UUID}},
                   {17, {.id = ALM_T_BINARY}},
                   {2950, {.id = ALM_T_UUID}},
                   {OID_OID, {.id = ALM_T_LONG}},
                   {OID_INET, {.id = ALM_T_IPV4}},
                   {0, {.id = ALM_T_NONE}}};

alm_status alm_pg_param_type(alm_ctx *cx, uint32_t oid, alm_type *out)
{
    for (size_t i = 0; i < ALM_COUNT(param_types); i++) {
        if (param_types[i].oid != oid)
            continue;
        *out = param_types[i].type;
        return ALM_OK;
    }
    return alm_fail(cx, ALM_E_UNSUPPORTED, -1, "unsupported parameter type (OID %u)", oid);
}

static alm_status bad_length(alm_ctx *cx, uint32_t index, size_t want, size_t got)
{
    return alm_fail(cx, ALM_E_FORMAT, -1,
                    "bad parameter value length [sizeRequired=%zu, sizeActual=%zu, "
                    "variableIndex=%u]",
                    want, got, index);
}

/* numeric of the wire: ndigits, weight, sign, dscale, base-10000 digits. */
static alm_status numeric_to_text(alm_ctx *cx, uint32_t index, alm_str in, char out[512], size_t *n)
{
    if (in.len < 8)
        return bad_length(cx, index, 8, in.len);
    const uint16_t digits = alm_pg_get16(in.ptr);
    const int16_t weight = (int16_t)alm_pg_get16(in.ptr + 2);
    const uint16_t sign = alm_pg_get16(in.ptr + 4);
    if (in.len != 8 + 2 * (size_t)digits)
        return bad_length(cx, index, 8 + 2 * (size_t)digits, in.len);
    if (sign == 0xC000 || sign == 0xD000 || sign == 0xF000) {
        (void)memcpy(out, "NaN", 3);
        *n = 3;
        return ALM_OK;
    }
    if (digits > 60)
        return alm_fail(cx, ALM_E_RANGE, -1, "numeric parameter %u has too many digits", index + 1);
    size_t at = 0;
    if (sign == 0x4000)
        out[at++] = '-';
    out[at++] = '0';
    for (uint16_t i = 0; i < digits; i++) { /* as an integer; the exponent follows */
        uint16_t group = alm_pg_get16(in.ptr + 8 + 2 * i);
        if (group > 9999)
            return alm_fail(cx, ALM_E_FORMAT, -1, "bad digit in numeric parameter %u", index + 1);
        for (uint16_t unit = 1000; unit > 0; unit /= 10) {
            out[at++] = (char)('0' + group / unit);
            group %= unit;
        }
    }
    int32_t exponent = 4 * (weight - (int32_t)digits + 1);
    const uint16_t scale = alm_pg_get16(in.ptr + 6);
    /* the last group is full of zeros, with which a number of 76 digits would have too many */
    for (; -exponent > (int32_t)scale && out[at - 1] == '0' && at > 2; at--)
        exponent++;
    out[at++] = 'e';
    at += alm_int32_format(exponent, out + at);
    *n = at;
    return ALM_OK;
}

/* Microseconds since 2000 as a time of the type; both infinities are null. */
static alm_status time_param(alm_ctx *cx, uint32_t index, alm_type type, int64_t value, void *out)
{
    int64_t us = 0, time = ALM_TS_NULL;
    if (value == INT64_MAX || value == INT64_MIN) {
        (void)memcpy(out, &time, sizeof(time));
        return ALM_OK;
    }
    if (!__builtin_add_overflow(value, ALM_PG_EPOCH_US, &us))
        time = alm_time_rescale(us, ALM_TIME_US,
                                type.id == ALM_T_DATE        ? ALM_TIME_MS
                                : type.id == ALM_T_TIMESTAMP ? ALM_TIME_US
                                                             : ALM_TIME_NS);
    if (time == ALM_TS_NULL)
        return alm_fail(cx, ALM_E_TIME_RANGE, -1, "time parameter %u is out of range", index + 1);
    (void)memcpy(out, &time, sizeof(time));
    return ALM_OK;
}

/* Binary forms that a text stands behind: jsonb begins with its version, inet has a head of family, bits,
 * kind and length in front of the address. False: no such value. */
static bool wrapped_text(uint32_t oid, alm_str *in, char scratch[ALM_VALUE_TEXT_MAX])
{
    enum { JSONB_VERSION = 1, INET_HEAD = 4, FAMILY_4 = 2, BITS_4 = 32, IPV4_BYTES = 4 };
    const char *at = in->ptr;
    if (oid == OID_JSONB) {
        if (in->len == 0 || at[0] != JSONB_VERSION)
            return false;
        *in = (alm_str){at + 1, in->len - 1};
        return true;
    }
    if (in->len != INET_HEAD + IPV4_BYTES || at[0] != FAMILY_4 || at[1] != BITS_4 ||
        at[3] != IPV4_BYTES)
        return false;
    const uint32_t address = alm_pg_get32(at + INET_HEAD);
    const alm_vec v = {.type = ALM_TY(IPV4), .data = (void *)(uintptr_t)&address, .is_const = true};
    if (!alm_value_text(&v, 0, ALM_TEXT_PG, scratch, in))
        *in = ALM_STR("0.0.0.0");
    return true;
}

/* Binary value of the OID the client named, as the value of the type that OID stands for. */
static alm_status binary_param(alm_ctx *cx, uint32_t index, uint32_t oid, alm_type type, alm_str in,
                               void *out)
{
    char text[512];
    size_t n = 0;
    if (oid == 1700 || type.id == ALM_T_DECIMAL) {
        ALM_TRY(numeric_to_text(cx, index, in, text, &n));
        if (type.id == ALM_T_DECIMAL && alm_str_eq((alm_str){text, n}, ALM_STR("NaN"))) {
            alm_value_set_null(type, out);
            return ALM_OK;
        }
        return alm_value_parse(cx, -1, type, (alm_str){text, n}, out);
    }
    if (oid == 1082) {
        if (in.len != 4)
            return bad_length(cx, index, 4, in.len);
        const int64_t days = (int32_t)alm_pg_get32(in.ptr);
        const bool finite = days != INT32_MAX && days != INT32_MIN;
        int64_t us = 0;
        if (finite && __builtin_mul_overflow(days, INT64_C(86400000000), &us))
            return alm_fail(cx, ALM_E_TIME_RANGE, -1, "date parameter %u is out of range",
                            index + 1);
        return time_param(cx, index, type, finite ? us : INT64_MAX, out);
    }
    if (oid == OID_OID && type.id == ALM_T_LONG) {
        if (in.len != sizeof(uint32_t))
            return bad_length(cx, index, sizeof(uint32_t), in.len);
        *(int64_t *)out = alm_pg_get32(in.ptr);
        return ALM_OK;
    }
    const size_t want = type.id == ALM_T_BYTE ? 2 : alm_type_width(type);
    if (in.len != want)
        return bad_length(cx, index, want, in.len);
    switch (want) {
    case 1:
        *(uint8_t *)out = in.ptr[0] != 0;
        return ALM_OK;
    case 2: {
        if (type.id != ALM_T_BYTE) {
            *(uint16_t *)out = alm_pg_get16(in.ptr);
            return ALM_OK;
        }
        const int16_t value = (int16_t)alm_pg_get16(in.ptr);
        if (value < INT8_MIN || value > INT8_MAX)
            return alm_fail(cx, ALM_E_RANGE, -1, "inconvertible value: %d [SHORT -> BYTE]", value);
        *(int8_t *)out = (int8_t)value;
        return ALM_OK;
    }
    case 4:
        *(uint32_t *)out = alm_pg_get32(in.ptr);
        return ALM_OK;
    case 8: {
        const int64_t value = (int64_t)alm_pg_get64(in.ptr);
        *(int64_t *)out = value;
        if (alm_type_info_of(type)->cls != ALM_TC_TIME)
            return ALM_OK;
        return time_param(cx, index, type, value, out);
    }
    default: {
        const alm_uuid uuid = alm_uuid_from_bytes((const uint8_t *)in.ptr);
        (void)memcpy(out, &uuid, sizeof(uuid));
        return ALM_OK;
    }
    }
}

/* bytea: bytes as they are, or as text. */
static alm_status binary_text_param(alm_ctx *cx, alm_arena *arena, uint32_t index, bool binary,
                                    alm_str in, void *out)
{
    alm_str kept;
    ALM_TRY(alm_arena_copy(cx, arena, in, &kept));
    if (!binary && !alm_bytea_parse(in, (char *)(uintptr_t)kept.ptr, &kept.len))
        return alm_fail(cx, ALM_E_VALUE, -1, "bytea parameter %u is not \\x and digits", index + 1);
    if (kept.ptr == NULL)
        kept.ptr = "";
    const alm_view view = alm_view_of(kept);
    (void)memcpy(out, &view, sizeof(view));
    return ALM_OK;
}

static double float_of(const char *bytes, size_t n)
{
    const uint64_t bits = n == 8 ? alm_pg_get64(bytes) : 0;
    const uint32_t half = n == 4 ? alm_pg_get32(bytes) : 0;
    double wide = 0;
    float narrow = 0;
    (void)memcpy(&wide, &bits, sizeof wide);
    (void)memcpy(&narrow, &half, sizeof narrow);
    return n == 8 ? wide : (double)narrow;
}

/* float8[] or float4[] of the wire, with as many dimensions as it says. */
static alm_status binary_array_param(alm_ctx *cx, alm_arena *arena, uint32_t index, alm_str in,
                                     alm_type *type, alm_view *out)
{
    enum { FLOAT4 = 700, FLOAT8 = 701, HEAD = 12, PER_DIM = 8 };
    uint32_t len[ALM_ARRAY_DIMS_MAX] = {0};
    const uint32_t dims = in.len >= HEAD ? alm_pg_get32(in.ptr) : UINT32_MAX;
    const uint32_t of = in.len >= HEAD ? alm_pg_get32(in.ptr + 8) : 0;
    if (dims > ALM_ARRAY_DIMS_MAX || in.len < HEAD + PER_DIM * (size_t)dims ||
        (of != FLOAT8 && of != FLOAT4))
        return alm_fail(cx, ALM_E_FORMAT, -1, "parameter %u is not an array of float8", index + 1);
    const uint32_t width = of == FLOAT8 ? 8 : 4;
    bool empty = false; /* some drivers send one dimension of no elements */
    for (uint32_t d = 0; d < dims; d++) {
        len[d] = alm_pg_get32(in.ptr + HEAD + PER_DIM * (size_t)d);
        empty |= len[d] == 0;
    }
    if (dims > 0)
        type->dims = (uint8_t)dims;
    alm_str rest = {in.ptr + HEAD + PER_DIM * (size_t)dims, in.len - HEAD - PER_DIM * (size_t)dims};
    size_t count = dims > 0 && !empty;
    for (uint32_t d = 0; d < dims && count <= rest.len; d++)
        count *= len[d];
    alm_array_out w = {0};
    bool good = count * 4 <= rest.len;
    if (good)
        ALM_TRY(alm_array_begin(cx, arena, -1, ALM_MAX(type->dims, 1U), len, &w));
    for (size_t i = 0; good && i < w.count; i++) {
        const uint32_t n = rest.len >= 4 ? alm_pg_get32(rest.ptr) : 1;
        good = n == UINT32_MAX || (n == width && rest.len >= 4 + width);
        const size_t used = n == UINT32_MAX ? 4 : 4 + width;
        const double x = good && n == width ? float_of(rest.ptr + 4, width) : __builtin_nan("");
        alm_array_put(&w, i, x);
        if (good)
            rest = (alm_str){rest.ptr + used, rest.len - used};
    }
    if (!good || rest.len != 0)
        return alm_fail(cx, ALM_E_FORMAT, -1, "parameter %u: bad lengths in an array", index + 1);
    *out = alm_array_finish(&w);
    return ALM_OK;
}

enum { ELEMENT_TEXT = 512 };

/* What is no number of a whole type: by way of a value. */
static bool typed_element_text(alm_ctx *cx, uint32_t oid, alm_str in, char to[ELEMENT_TEXT],
                               alm_str *out)
{
    enum { FLOAT4 = 700, FLOAT8 = 701, DATE = 1082, TIME = 1114, TIMETZ = 1184, NUMERIC = 1700 };
    alm_type type = oid == FLOAT4   ? ALM_TY(FLOAT)
                    : oid == FLOAT8 ? ALM_TY(DOUBLE)
                    : oid == 2950   ? ALM_TY(UUID)
                                    : ALM_TY(TIMESTAMP);
    char value[16], scratch[ALM_VALUE_TEXT_MAX];
    const alm_vec v = {.type = type, .data = value, .is_const = true};
    if (oid == NUMERIC) {
        alm_i256 number;
        uint32_t precision = 0, places = 0;
        out->ptr = to;
        if (numeric_to_text(cx, 0, in, to, &out->len) != ALM_OK)
            return false;
        if (alm_decimal_parse(*out, &number, &precision, &places)) /* 00007e0 is 7 */
            out->len = alm_decimal_format(number, places, to);
        return true;
    }
    if (type.id == ALM_T_TIMESTAMP && oid != DATE && oid != TIME && oid != TIMETZ)
        return false;
    if (binary_param(cx, 0, oid, type, in, value) != ALM_OK ||
        !alm_value_text(&v, 0, ALM_TEXT_PG, scratch, out))
        return false;
    (void)memcpy(to, out->ptr, out->len);
    out->ptr = to;
    return true;
}

/* One element of a list in binary, as its text in `to`; false: not of this type. */
static bool element_text(alm_ctx *cx, uint32_t oid, alm_str in, char to[ELEMENT_TEXT], alm_str *out)
{
    enum { BOOL = 16, INT8 = 20, INT2 = 21, INT4 = 23, TEXT = 25, OID = 26, VARCHAR = 1043 };
    int n = 0;
    *out = in;
    if (oid == TEXT || oid == VARCHAR || oid == 1042)
        return alm_utf8_is_valid(in);
    if (oid == BOOL && in.len == 1)
        n = snprintf(to, 24, "%c", in.ptr[0] != 0 ? 't' : 'f');
    else if (oid == INT2 && in.len == 2)
        n = snprintf(to, 24, "%d", (int16_t)alm_pg_get16(in.ptr));
    else if (oid == INT4 && in.len == 4)
        n = snprintf(to, 24, "%d", (int32_t)alm_pg_get32(in.ptr));
    else if (oid == OID && in.len == 4)
        n = snprintf(to, 24, "%u", alm_pg_get32(in.ptr));
    else if (oid == INT8 && in.len == 8)
        n = snprintf(to, 24, "%lld", (long long)alm_pg_get64(in.ptr));
    else
        return typed_element_text(cx, oid, in, to, out);
    *out = (alm_str){to, (size_t)n};
    return n > 0;
}

/* An array of one dimension of the wire as the text of a list; elements in nulls stay nulls. */
static alm_status binary_list_param(alm_ctx *cx, alm_arena *arena, uint32_t index, alm_str in,
                                    alm_view *out)
{
    enum { HEAD = 12, PER_DIM = 8, PER_ELEMENT = 26 };
    const uint32_t dims = in.len >= HEAD ? alm_pg_get32(in.ptr) : UINT32_MAX;
    if (dims > 1 || in.len < HEAD + PER_DIM * (size_t)dims)
        return alm_fail(cx, ALM_E_FORMAT, -1, "parameter %u is not an array of one dimension",
                        index + 1);
    const uint32_t of = alm_pg_get32(in.ptr + 8),
                   count = dims > 0 ? alm_pg_get32(in.ptr + HEAD) : 0;
    alm_str rest = {in.ptr + HEAD + PER_DIM * (size_t)dims, in.len - HEAD - PER_DIM * (size_t)dims};
    char *text = NULL, digits[ELEMENT_TEXT];
    size_t n = 0;
    bool good = (size_t)count * 4 <= rest.len;
    if (good)
        ALM_TRY(alm_arena_bytes(cx, arena, 2 + PER_ELEMENT * (size_t)count + 2 * rest.len, &text));
    for (uint32_t i = 0; good && i < count; i++) {
        alm_str element = {NULL, 0};
        const uint32_t len = rest.len >= 4 ? alm_pg_get32(rest.ptr) : 0;
        const size_t used = len == UINT32_MAX ? 4 : 4 + (size_t)len;
        good = rest.len >= 4 && used <= rest.len;
        if (good && len != UINT32_MAX)
            good = element_text(cx, of, (alm_str){rest.ptr + 4, len}, digits, &element);
        if (!good)
            break;
        text[n++] = i == 0 ? '{' : ',';
        n += alm_list_element_write(element, text + n);
        rest = (alm_str){rest.ptr + used, rest.len - used};
    }
    if (!good || rest.len != 0)
        return alm_fail(cx, ALM_E_FORMAT, -1, "parameter %u: bad elements in an array of OID %u",
                        index + 1, of);
    if (count == 0)
        text[n++] = '{';
    text[n++] = '}';
    *out = alm_view_of((alm_str){text, n});
    return ALM_OK;
}

/* The dimensions of an array in text: the braces it starts with. */
static uint32_t leading_braces(alm_str text)
{
    uint32_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '{' || text.ptr[i] == '[')
            n++;
        else if ((uint8_t)text.ptr[i] > ' ')
            break;
    }
    return ALM_MIN(ALM_MAX(n, 1U), (uint32_t)ALM_ARRAY_DIMS_MAX);
}

static bool takes_text(alm_type type)
{
    return alm_type_is_text(type) || type.id == ALM_T_CHAR || type.id == ALM_T_IPV4 ||
           type.id == ALM_T_INTERVAL || type.id == ALM_T_LONG256 || type.id == ALM_T_GEOHASH;
}

/* What numeric alone says of a parameter; its value says how many digits it needs. */
static bool any_numeric(alm_type type)
{
    enum { PRECISION = 76, SCALE = 38 }; /* as in param_types */
    return type.id == ALM_T_DECIMAL && type.p == PRECISION && type.s == SCALE;
}

static alm_type numeric_type(alm_str text)
{
    alm_i256 x;
    uint32_t precision = 0, scale = 0;
    if (!alm_decimal_parse(text, &x, &precision, &scale))
        return alm_type_decimal(18, 3); /* NaN, or an error for whoever reads it */
    return alm_type_decimal(ALM_MAX(ALM_MAX(precision, scale), 1U), scale);
}

/* A number of DECIMAL that is none is null, in text as in binary. */
static alm_status text_value(alm_ctx *cx, alm_type type, alm_str text, void *out)
{
    if (type.id != ALM_T_DECIMAL || !alm_str_ieq(text, ALM_STR("NaN")))
        return alm_value_parse(cx, -1, type, text, out);
    alm_value_set_null(type, out);
    return ALM_OK;
}

static alm_status numeric_param(alm_ctx *cx, alm_arena *arena, uint32_t index, uint32_t oid,
                                bool binary, alm_str in, alm_vec *out)
{
    char digits[512];
    alm_str text = in;
    if (binary) {
        ALM_TRY(numeric_to_text(cx, index, in, digits, &text.len));
        text.ptr = digits;
    }
    const alm_type type = numeric_type(text);
    ALM_TRY(alm_vec_new(cx, arena, type, 1, out));
    out->is_const = true;
    if (binary)
        return binary_param(cx, index, oid, type, in, out->data);
    return text_value(cx, type, text, out->data);
}

/*
 * PostgreSQL takes a UUID without hyphens, with one behind any four digits, and in braces: in the form
 * with four. What is neither comes back as it is.
 */
static alm_str uuid_text(alm_str in, char out[ALM_UUID_TEXT])
{
    alm_str rest = in;
    if (rest.len > 2 && rest.ptr[0] == '{' && rest.ptr[rest.len - 1] == '}')
        rest = (alm_str){rest.ptr + 1, rest.len - 2};
    size_t digits = 0, n = 0;
    for (size_t i = 0; i < rest.len; i++) {
        if (rest.ptr[i] == '-' && digits > 0 && digits < 32 && digits % 4 == 0 &&
            rest.ptr[i - 1] != '-')
            continue;
        if (alm_hex_digit(rest.ptr[i]) < 0 || digits == 32)
            return in;
        if (digits == 8 || digits == 12 || digits == 16 || digits == 20)
            out[n++] = '-';
        out[n++] = rest.ptr[i];
        digits++;
    }
    return digits == 32 ? (alm_str){out, n} : in;
}

/* A number is a time in the units of its type since 1970, as it is in SQL: clients send 1705754096789000 for
 * cast($1 as timestamp). Four digits are a year before that. */
static bool time_number(alm_str text, void *out)
{
    int64_t value = 0;
    if (alm_int64_parse(text, &value) != ALM_NUM_OK)
        return false;
    (void)memcpy(out, &value, sizeof(value));
    return true;
}

/* A text is no time, or one that only coarser types hold. */
static alm_status time_failed(alm_ctx *cx, uint32_t index, alm_type type, alm_str text)
{
    alm_ctx other = {.conf = cx->conf};
    int64_t value = 0;
    cx->err.code = ALM_E_TIME;
    if (type.id != ALM_T_TIMESTAMP_NS ||
        alm_value_parse(&other, -1, ALM_TY(TIMESTAMP), text, &value) != ALM_OK)
        return cx->err.code;
    alm_error_clear(cx);
    return alm_fail(cx, ALM_E_TIME_RANGE, -1, "time parameter %u is out of range: '%.*s'",
                    index + 1, (int)text.len, text.ptr);
}

alm_status alm_pg_param(alm_ctx *cx, alm_arena *arena, uint32_t index, uint32_t oid, alm_type type,
                        bool binary, alm_str bytes, alm_vec *out)
{
    if (type.id == ALM_T_NONE || type.id == ALM_T_NULL || type.id == ALM_T_SYMBOL)
        type = ALM_TY(VARCHAR);
    if (bytes.ptr == NULL)
        return alm_vec_null(cx, arena, type, out);
    if (any_numeric(type))
        return numeric_param(cx, arena, index, oid, binary, bytes, out);
    ALM_TRY(alm_vec_new(cx, arena, type, 1, out));
    out->is_const = true;
    if (type.id == ALM_T_BINARY)
        return binary_text_param(cx, arena, index, binary, bytes, out->data);
    if (type.id == ALM_T_ARRAY && binary)
        return binary_array_param(cx, arena, index, bytes, &out->type, out->data);
    if (is_list(type) && binary)
        return binary_list_param(cx, arena, index, bytes, out->data);
    if (type.id == ALM_T_ARRAY)
        out->type = type = alm_type_array(leading_braces(bytes));
    if (binary && !takes_text(type))
        return binary_param(cx, index, oid, type, bytes, out->data);
    if (!takes_text(type)) { /* " 12 " is twelve, as in PostgreSQL */
        while (bytes.len > 0 && bytes.ptr[0] == ' ') {
            bytes.ptr++;
            bytes.len--;
        }
        while (bytes.len > 0 && bytes.ptr[bytes.len - 1] == ' ')
            bytes.len--;
    }
    char uuid[ALM_UUID_TEXT], address[ALM_VALUE_TEXT_MAX];
    if (binary && (oid == OID_JSONB || oid == OID_INET) && !wrapped_text(oid, &bytes, address))
        return alm_fail(cx, ALM_E_FORMAT, -1, "parameter %u is no %s", index + 1,
                        oid == OID_INET ? "address of IPv4" : "jsonb of version 1");
    if (!alm_utf8_is_valid(bytes))
        return alm_fail(cx, ALM_E_UTF8, -1, "parameter %u is not UTF-8", index + 1);
    if (type.id == ALM_T_UUID)
        bytes = uuid_text(bytes, uuid);
    alm_str kept;
    ALM_TRY(alm_arena_copy(cx, arena, bytes, &kept));
    if (kept.ptr == NULL)
        kept = (alm_str){"", 0};
    const alm_status st = text_value(cx, type, kept, out->data);
    if (st != ALM_E_VALUE || alm_type_info_of(type)->cls != ALM_TC_TIME)
        return st;
    if (time_number(kept, out->data)) {
        alm_error_clear(cx);
        return ALM_OK;
    }
    return time_failed(cx, index, type, kept);
}

alm_status alm_pg_binary_value(alm_ctx *cx, alm_arena *arena, alm_type type, alm_str bytes,
                               void *out)
{
    if (type.id == ALM_T_ARRAY) {
        alm_type found = type;
        ALM_TRY(binary_array_param(cx, arena, 0, bytes, &found, out));
        if (found.dims == type.dims)
            return ALM_OK;
        return alm_fail(cx, ALM_E_FORMAT, -1, "an array of %u dimensions", (unsigned)found.dims);
    }
    if (type.id != ALM_T_BINARY && !takes_text(type))
        return binary_param(cx, 0, 0, type, bytes, out);
    if (type.id != ALM_T_BINARY && !alm_utf8_is_valid(bytes))
        return alm_fail(cx, ALM_E_UTF8, -1, "not UTF-8");
    return alm_value_parse(cx, -1, type, bytes, out);
}
