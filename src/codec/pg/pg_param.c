/* pg_param.c - parameters of the PostgreSQL wire, text and binary, as values of a type (pg_value.h). */
#include "codec/pg/pg_value.h"

#include <stdio.h>

#include "base/number.h"
#include "base/utf8.h"
#include "time/timestamp.h"
#include "type/array.h"
#include "type/decimal.h"
#include "type/ops.h"
#include "type/pg_oid.h"
#include "type/text_list.h"

/* OIDs that are those of several types of type.def, or of none: the others are found there. */
static const struct {
    uint32_t oid;
    alm_type type;
} param_types[] = {{ALM_PG_OID_INT2, {.id = ALM_T_SHORT}},
                   {ALM_PG_OID_CHAR, {.id = ALM_T_VARCHAR}},
                   {ALM_PG_OID_NAME, {.id = ALM_T_VARCHAR}},
                   {ALM_PG_OID_TEXT, {.id = ALM_T_VARCHAR}},
                   {ALM_PG_OID_UNKNOWN, {.id = ALM_T_NONE}},
                   {ALM_PG_OID_BPCHAR, {.id = ALM_T_VARCHAR}},
                   {ALM_PG_OID_VARCHAR, {.id = ALM_T_VARCHAR}},
                   {ALM_PG_OID_JSON, {.id = ALM_T_VARCHAR}},
                   {ALM_PG_OID_JSONB, {.id = ALM_T_VARCHAR}},
                   {ALM_PG_OID_DATE, {.id = ALM_T_TIMESTAMP}},
                   {ALM_PG_OID_TIMESTAMP, {.id = ALM_T_TIMESTAMP}},
                   {ALM_PG_OID_TIMESTAMPTZ, {.id = ALM_T_TIMESTAMP}},
                   {ALM_PG_OID_NUMERIC, {.id = ALM_T_DECIMAL, .p = 76, .s = 38}},
                   {ALM_PG_OID_FLOAT4_ARRAY, {.id = ALM_T_ARRAY, .dims = 1}},
                   {ALM_PG_OID_FLOAT8_ARRAY, {.id = ALM_T_ARRAY, .dims = 1}},
                   {ALM_PG_OID_BOOL_ARRAY, {.id = ALM_T_STRING, .p = ALM_LIST_BOOL}},
                   {ALM_PG_OID_INT2_ARRAY, {.id = ALM_T_STRING, .p = ALM_LIST_INT2}},
                   {ALM_PG_OID_INT4_ARRAY, {.id = ALM_T_STRING, .p = ALM_LIST_INT4}},
                   {ALM_PG_OID_INT8_ARRAY, {.id = ALM_T_STRING, .p = ALM_LIST_INT8}},
                   {ALM_PG_OID_TEXT_ARRAY, {.id = ALM_T_STRING, .p = ALM_LIST_TEXT}},
                   {ALM_PG_OID_BPCHAR_ARRAY, {.id = ALM_T_STRING, .p = ALM_LIST_TEXT}},
                   {ALM_PG_OID_VARCHAR_ARRAY, {.id = ALM_T_STRING, .p = ALM_LIST_TEXT}},
                   {ALM_PG_OID_OID_ARRAY, {.id = ALM_T_STRING, .p = ALM_LIST_OID}},
                   {ALM_PG_OID_TIMESTAMP_ARRAY, {.id = ALM_T_STRING, .p = ALM_LIST_TIME}},
                   {ALM_PG_OID_DATE_ARRAY, {.id = ALM_T_STRING, .p = ALM_LIST_TIME}},
                   {ALM_PG_OID_TIMESTAMPTZ_ARRAY, {.id = ALM_T_STRING, .p = ALM_LIST_TIME}},
                   {ALM_PG_OID_NUMERIC_ARRAY, {.id = ALM_T_STRING, .p = ALM_LIST_NUMERIC}},
                   {ALM_PG_OID_UUID_ARRAY, {.id = ALM_T_STRING, .p = ALM_LIST_UUID}},
                   {ALM_PG_OID_OID, {.id = ALM_T_LONG}},
                   {ALM_PG_OID_INET, {.id = ALM_T_IPV4}},
                   {ALM_PG_OID_NONE, {.id = ALM_T_NONE}}};

alm_status alm_pg_param_type(alm_ctx *cx, uint32_t oid, alm_type *out)
{
    for (size_t i = 0; i < ALM_COUNT(param_types); i++) {
        if (param_types[i].oid != oid)
            continue;
        *out = param_types[i].type;
        return ALM_OK;
    }
    for (uint8_t id = ALM_T_NULL + 1; id < ALM_TYPE_COUNT; id++) {
        if ((uint32_t)alm_type_info_of((alm_type){.id = id})->pg_oid != oid)
            continue;
        *out = (alm_type){.id = id};
        return ALM_OK;
    }
    return alm_fail(cx, ALM_E_UNSUPPORTED, -1, "unsupported parameter type (OID %u)", oid);
}

/* Binary forms that a text stands behind: jsonb begins with its version, inet has a head of family, bits,
 * kind and length in front of the address. False: no such value. */
static bool wrapped_text(uint32_t oid, alm_str *text, char scratch[ALM_VALUE_TEXT_MAX])
{
    enum { JSONB_VERSION = 1, INET_HEAD = 4, FAMILY_4 = 2, BITS_4 = 32, IPV4_BYTES = 4 };
    const char *ptr = text->ptr;
    if (oid == ALM_PG_OID_JSONB) {
        if (text->len == 0 || ptr[0] != JSONB_VERSION)
            return false;
        *text = (alm_str){ptr + 1, text->len - 1};
        return true;
    }
    if (text->len != INET_HEAD + IPV4_BYTES || ptr[0] != FAMILY_4 || ptr[1] != BITS_4 ||
        ptr[3] != IPV4_BYTES)
        return false;
    const uint32_t address = alm_be_get32(ptr + INET_HEAD);
    const alm_vec vec = {
        .type = ALM_TY(IPV4), .data = (void *)(uintptr_t)&address, .is_const = true};
    if (!alm_value_text(&vec, 0, ALM_TEXT_PG, scratch, text))
        *text = ALM_STR("0.0.0.0");
    return true;
}

/* Binary value of the OID the client named, as the value of the type that OID stands for. */
static alm_status binary_param(alm_ctx *cx, uint32_t index, uint32_t oid, alm_type type, alm_str in,
                               void *out)
{
    char text[512];
    size_t n = 0;
    if (oid == ALM_PG_OID_NUMERIC && type.id != ALM_T_DECIMAL) {
        ALM_TRY(alm_pg_numeric_text(cx, index, in, text, &n));
        return alm_value_parse(cx, -1, type, (alm_str){text, n}, out);
    }
    if (oid == ALM_PG_OID_DATE && type.id != ALM_T_DECIMAL) {
        ALM_TRY(alm_pg_length(cx, index, 4, in.len));
        const int64_t days = (int32_t)alm_be_get32(in.ptr);
        int64_t micros = days < 0 ? INT64_MIN : INT64_MAX;
        if (days != INT32_MAX && days != INT32_MIN &&
            __builtin_mul_overflow(days, INT64_C(86400000000), &micros))
            return alm_fail(cx, ALM_E_TIME_RANGE, -1, "date parameter %u is out of range",
                            index + 1);
        return alm_pg_time_param(cx, index, type, micros, out);
    }
    if (oid == ALM_PG_OID_OID && type.id == ALM_T_LONG) {
        ALM_TRY(alm_pg_length(cx, index, sizeof(uint32_t), in.len));
        *(int64_t *)out = alm_be_get32(in.ptr);
        return ALM_OK;
    }
    return alm_type_info_of(type)->ops->pg_receive(cx, index, type, in, out);
}

/* bytea: bytes as they are, or as text. */
static alm_status binary_text_param(alm_ctx *cx, alm_arena *arena, uint32_t index, bool binary,
                                    alm_str text, void *out)
{
    alm_str kept;
    ALM_TRY(alm_arena_copy(cx, arena, text, &kept));
    if (!binary && !alm_bytea_parse(text, (char *)(uintptr_t)kept.ptr, &kept.len))
        return alm_fail(cx, ALM_E_VALUE, -1, "bytea parameter %u is not \\x and digits", index + 1);
    if (kept.ptr == NULL)
        kept.ptr = "";
    const alm_view view = alm_view_of(kept);
    (void)memcpy(out, &view, sizeof(view));
    return ALM_OK;
}

static double float_of(const char *bytes, size_t n)
{
    const uint64_t bits = n == 8 ? alm_be_get64(bytes) : 0;
    const uint32_t half = n == 4 ? alm_be_get32(bytes) : 0;
    double wide = 0;
    float narrow = 0;
    (void)memcpy(&wide, &bits, sizeof wide);
    (void)memcpy(&narrow, &half, sizeof narrow);
    return n == 8 ? wide : (double)narrow;
}

/* float8[] or float4[] of the wire, with as many dimensions as it says. */
static alm_status binary_array_param(alm_ctx *cx, alm_arena *arena, uint32_t index, alm_str text,
                                     alm_type *type, alm_view *out)
{
    enum { HEAD = 12, PER_DIM = 8 };
    uint32_t len[ALM_ARRAY_DIMS_MAX] = {0};
    const uint32_t dims = text.len >= HEAD ? alm_be_get32(text.ptr) : UINT32_MAX;
    const uint32_t of = text.len >= HEAD ? alm_be_get32(text.ptr + 8) : 0;
    if (dims > ALM_ARRAY_DIMS_MAX || text.len < HEAD + PER_DIM * (size_t)dims ||
        (of != ALM_PG_OID_FLOAT8 && of != ALM_PG_OID_FLOAT4))
        return alm_fail(cx, ALM_E_FORMAT, -1, "parameter %u is not an array of float8", index + 1);
    const uint32_t width = of == ALM_PG_OID_FLOAT8 ? 8 : 4;
    bool empty = false; /* some drivers send one dimension of no elements */
    for (uint32_t dim = 0; dim < dims; dim++) {
        len[dim] = alm_be_get32(text.ptr + HEAD + PER_DIM * (size_t)dim);
        empty |= len[dim] == 0;
    }
    if (dims > 0)
        type->dims = (uint8_t)dims;
    alm_str rest = {text.ptr + HEAD + PER_DIM * (size_t)dims,
                    text.len - HEAD - PER_DIM * (size_t)dims};
    size_t count = dims > 0 && !empty;
    for (uint32_t dim = 0; dim < dims && count <= rest.len; dim++)
        count *= len[dim];
    alm_array_out writer = {0};
    bool good = count * 4 <= rest.len;
    if (good)
        ALM_TRY(alm_array_begin(cx, arena, -1, ALM_MAX(type->dims, 1U), len, &writer));
    for (size_t i = 0; good && i < writer.count; i++) {
        const uint32_t n = rest.len >= 4 ? alm_be_get32(rest.ptr) : 1;
        good = n == UINT32_MAX || (n == width && rest.len >= 4 + width);
        const size_t used = n == UINT32_MAX ? 4 : 4 + width;
        const double value = good && n == width ? float_of(rest.ptr + 4, width) : __builtin_nan("");
        alm_array_put(&writer, i, value);
        if (good)
            rest = (alm_str){rest.ptr + used, rest.len - used};
    }
    if (!good || rest.len != 0)
        return alm_fail(cx, ALM_E_FORMAT, -1, "parameter %u: bad lengths in an array", index + 1);
    *out = alm_array_finish(&writer);
    return ALM_OK;
}

enum { ELEMENT_TEXT = 512 };

/* What is no number of a whole type: by way of a value. */
static bool typed_element_text(alm_ctx *cx, uint32_t oid, alm_str text, char dest[ELEMENT_TEXT],
                               alm_str *out)
{
    alm_type type = oid == ALM_PG_OID_FLOAT4   ? ALM_TY(FLOAT)
                    : oid == ALM_PG_OID_FLOAT8 ? ALM_TY(DOUBLE)
                    : oid == ALM_PG_OID_UUID   ? ALM_TY(UUID)
                                               : ALM_TY(TIMESTAMP);
    char value[16], scratch[ALM_VALUE_TEXT_MAX];
    const alm_vec vec = {.type = type, .data = value, .is_const = true};
    if (oid == ALM_PG_OID_NUMERIC) {
        alm_i256 number;
        uint32_t precision = 0, places = 0;
        out->ptr = dest;
        if (alm_pg_numeric_text(cx, 0, text, dest, &out->len) != ALM_OK)
            return false;
        if (alm_decimal_parse(*out, &number, &precision, &places)) /* 00007e0 is 7 */
            out->len = alm_decimal_format(number, places, dest);
        return true;
    }
    if (type.id == ALM_T_TIMESTAMP && oid != ALM_PG_OID_DATE && oid != ALM_PG_OID_TIMESTAMP &&
        oid != ALM_PG_OID_TIMESTAMPTZ)
        return false;
    if (binary_param(cx, 0, oid, type, text, value) != ALM_OK ||
        !alm_value_text(&vec, 0, ALM_TEXT_PG, scratch, out))
        return false;
    (void)memcpy(dest, out->ptr, out->len);
    out->ptr = dest;
    return true;
}

/* One element of a list in binary, as its text in `dest`; false: not of this type. */
static bool element_text(alm_ctx *cx, uint32_t oid, alm_str text, char dest[ELEMENT_TEXT],
                         alm_str *out)
{
    int n = 0;
    *out = text;
    if (oid == ALM_PG_OID_TEXT || oid == ALM_PG_OID_VARCHAR || oid == ALM_PG_OID_BPCHAR)
        return alm_utf8_is_valid(text);
    if (oid == ALM_PG_OID_BOOL && text.len == 1)
        n = snprintf(dest, 24, "%c", text.ptr[0] != 0 ? 't' : 'f');
    else if (oid == ALM_PG_OID_INT2 && text.len == 2)
        n = snprintf(dest, 24, "%d", (int16_t)alm_be_get16(text.ptr));
    else if (oid == ALM_PG_OID_INT4 && text.len == 4)
        n = snprintf(dest, 24, "%d", (int32_t)alm_be_get32(text.ptr));
    else if (oid == ALM_PG_OID_OID && text.len == 4)
        n = snprintf(dest, 24, "%u", alm_be_get32(text.ptr));
    else if (oid == ALM_PG_OID_INT8 && text.len == 8)
        n = snprintf(dest, 24, "%lld", (long long)alm_be_get64(text.ptr));
    else
        return typed_element_text(cx, oid, text, dest, out);
    *out = (alm_str){dest, (size_t)n};
    return n > 0;
}

/* An array of one dimension of the wire as the text of a list; elements in nulls stay nulls. */
static alm_status binary_list_param(alm_ctx *cx, alm_arena *arena, uint32_t index, alm_str in,
                                    alm_view *out)
{
    enum { HEAD = 12, PER_DIM = 8, PER_ELEMENT = 26 };
    const uint32_t dims = in.len >= HEAD ? alm_be_get32(in.ptr) : UINT32_MAX;
    if (dims > 1 || in.len < HEAD + PER_DIM * (size_t)dims)
        return alm_fail(cx, ALM_E_FORMAT, -1, "parameter %u is not an array of one dimension",
                        index + 1);
    const uint32_t of = alm_be_get32(in.ptr + 8),
                   count = dims > 0 ? alm_be_get32(in.ptr + HEAD) : 0;
    alm_str rest = {in.ptr + HEAD + PER_DIM * (size_t)dims, in.len - HEAD - PER_DIM * (size_t)dims};
    char *text = NULL, digits[ELEMENT_TEXT];
    size_t n = 0;
    bool good = (size_t)count * 4 <= rest.len;
    if (good)
        ALM_TRY(alm_arena_bytes(cx, arena, 2 + PER_ELEMENT * (size_t)count + 2 * rest.len, &text));
    for (uint32_t i = 0; good && i < count; i++) {
        alm_str element = {NULL, 0};
        const uint32_t len = rest.len >= 4 ? alm_be_get32(rest.ptr) : 0;
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
    uint32_t count = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '{' || text.ptr[i] == '[')
            count++;
        else if ((uint8_t)text.ptr[i] > ' ')
            break;
    }
    return ALM_MIN(ALM_MAX(count, 1U), (uint32_t)ALM_ARRAY_DIMS_MAX);
}

static bool takes_text(alm_type type)
{
    const alm_type_ops *ops = alm_type_info_of(type)->ops;
    return ops->pg_receive == NULL && ops->scan != NULL;
}

/* What numeric alone says of a parameter; its value says how many digits it needs. */
static bool any_numeric(alm_type type)
{
    enum { PRECISION = 76, SCALE = 38 }; /* as in param_types */
    return type.id == ALM_T_DECIMAL && type.p == PRECISION && type.s == SCALE;
}

static alm_type numeric_type(alm_str text)
{
    alm_i256 value;
    uint32_t precision = 0, scale = 0;
    if (!alm_decimal_parse(text, &value, &precision, &scale))
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
        ALM_TRY(alm_pg_numeric_text(cx, index, in, digits, &text.len));
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
static alm_str uuid_text(alm_str text, char out[ALM_UUID_TEXT])
{
    alm_str rest = text;
    if (rest.len > 2 && rest.ptr[0] == '{' && rest.ptr[rest.len - 1] == '}')
        rest = (alm_str){rest.ptr + 1, rest.len - 2};
    size_t digits = 0, count = 0;
    for (size_t i = 0; i < rest.len; i++) {
        if (rest.ptr[i] == '-' && digits > 0 && digits < 32 && digits % 4 == 0 &&
            rest.ptr[i - 1] != '-')
            continue;
        if (alm_hex_digit(rest.ptr[i]) < 0 || digits == 32)
            return text;
        if (digits == 8 || digits == 12 || digits == 16 || digits == 20)
            out[count++] = '-';
        out[count++] = rest.ptr[i];
        digits++;
    }
    return digits == 32 ? (alm_str){out, count} : text;
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

/* A time that its type does not hold, but the statement does where it compares times: it stays a text. */
static alm_status text_param(alm_ctx *cx, alm_arena *arena, alm_str kept, alm_vec *out)
{
    const alm_view view = alm_view_of(kept);
    ALM_TRY(alm_vec_new(cx, arena, ALM_TY(VARCHAR), 1, out));
    out->is_const = true;
    (void)memcpy(out->data, &view, sizeof(view));
    return ALM_OK;
}

/* Has the text, which is a time of the type, more digits than that? Few have a fraction: only these are read again. */
static bool has_more_digits(alm_type type, alm_str text)
{
    int64_t nanos = 0;
    const int64_t unit = type.id == ALM_T_DATE ? 1000000 : 1000;
    return (type.id == ALM_T_DATE || type.id == ALM_T_TIMESTAMP) && text.len > 0 &&
           memchr(text.ptr, '.', text.len) != NULL &&
           alm_value_scan(ALM_TY(TIMESTAMP_NS), text, &nanos) == ALM_SCAN_OK && nanos % unit != 0;
}

static int8_t binary_infinity(uint32_t oid, alm_str bytes)
{
    if (oid == ALM_PG_OID_DATE && bytes.len == sizeof(int32_t)) {
        const int32_t days = (int32_t)alm_be_get32(bytes.ptr);
        return days == INT32_MAX ? 1 : days == INT32_MIN ? -1 : 0;
    }
    if (bytes.len != sizeof(int64_t))
        return 0;
    const int64_t micros = (int64_t)alm_be_get64(bytes.ptr);
    return micros == INT64_MAX ? 1 : micros == INT64_MIN ? -1 : 0;
}

/* A time of nanoseconds that only microseconds hold is one of these: the statement says whether it can be. */
static alm_status distant_param(alm_ctx *cx, alm_arena *arena, uint32_t index, uint32_t oid,
                                bool binary, alm_str bytes, alm_vec *out)
{
    const alm_type type = ALM_TY(TIMESTAMP);
    ALM_TRY(alm_vec_new(cx, arena, type, 1, out));
    out->is_const = true;
    return binary ? binary_param(cx, index, oid, type, bytes, out->data)
                  : text_value(cx, type, bytes, out->data);
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
    if (alm_pg_is_list(type) && binary)
        return binary_list_param(cx, arena, index, bytes, out->data);
    if (type.id == ALM_T_ARRAY)
        out->type = type = alm_type_array(leading_braces(bytes));
    const bool time = alm_type_info_of(type)->cls == ALM_TC_TIME;
    const int8_t infinity = !time    ? 0
                            : binary ? binary_infinity(oid, bytes)
                                     : alm_time_infinity(bytes);
    if (infinity != 0)
        return text_param(cx, arena, infinity < 0 ? ALM_STR("-infinity") : ALM_STR("infinity"),
                          out);
    if (binary && !takes_text(type)) {
        const alm_status status = binary_param(cx, index, oid, type, bytes, out->data);
        if (status != ALM_E_TIME_RANGE || type.id != ALM_T_TIMESTAMP_NS)
            return status;
        alm_error_clear(cx);
        return distant_param(cx, arena, index, oid, true, bytes, out);
    }
    if (!takes_text(type)) { /* " 12 " is twelve, as in PostgreSQL */
        while (bytes.len > 0 && bytes.ptr[0] == ' ') {
            bytes.ptr++;
            bytes.len--;
        }
        while (bytes.len > 0 && bytes.ptr[bytes.len - 1] == ' ')
            bytes.len--;
    }
    char uuid[ALM_UUID_TEXT], address[ALM_VALUE_TEXT_MAX];
    if (binary && (oid == ALM_PG_OID_JSONB || oid == ALM_PG_OID_INET) &&
        !wrapped_text(oid, &bytes, address))
        return alm_fail(cx, ALM_E_FORMAT, -1, "parameter %u is no %s", index + 1,
                        oid == ALM_PG_OID_INET ? "address of IPv4" : "jsonb of version 1");
    if (!alm_utf8_is_valid(bytes))
        return alm_fail(cx, ALM_E_UTF8, -1, "parameter %u is not UTF-8", index + 1);
    if (type.id == ALM_T_UUID)
        bytes = uuid_text(bytes, uuid);
    alm_str kept;
    ALM_TRY(alm_arena_copy(cx, arena, bytes, &kept));
    if (kept.ptr == NULL)
        kept = (alm_str){"", 0};
    const alm_status outcome = text_value(cx, type, kept, out->data);
    if (outcome == ALM_OK && has_more_digits(type, kept))
        return text_param(cx, arena, kept, out);
    if (outcome != ALM_E_VALUE || !time)
        return outcome;
    if (time_number(kept, out->data)) {
        alm_error_clear(cx);
        return ALM_OK;
    }
    alm_status other = outcome;
    if (type.id == ALM_T_TIMESTAMP_NS) {
        alm_error_clear(cx);
        other = distant_param(cx, arena, index, oid, false, kept, out);
    }
    if (other == ALM_E_VALUE)
        cx->err.code = other = ALM_E_TIME;
    return other;
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
