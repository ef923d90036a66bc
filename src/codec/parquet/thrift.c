/* thrift.c - see thrift.h. */
#include "codec/parquet/thrift.h"

enum { VARINT_BYTES = 10, LONG_LIST = 15 };

/* ------------------------------------------------------------------------------------- reading */

void alm_thrift_bad(alm_thrift_in *thrift, const char *why)
{
    if (thrift->bad == NULL)
        thrift->bad = why;
    thrift->at = thrift->end;
}

uint64_t alm_thrift_varint(alm_thrift_in *thrift)
{
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 7 * VARINT_BYTES; shift += 7) {
        if (thrift->at == thrift->end) {
            alm_thrift_bad(thrift, "it ends within a number");
            return 0;
        }
        const uint8_t byte = *thrift->at++;
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return value;
    }
    alm_thrift_bad(thrift, "a number has more than 64 bits");
    return 0;
}

int64_t alm_thrift_elem_int(alm_thrift_in *thrift)
{
    const uint64_t value = alm_thrift_varint(thrift);
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static uint8_t take_byte(alm_thrift_in *thrift)
{
    if (thrift->at == thrift->end) {
        alm_thrift_bad(thrift, "it ends too early");
        return 0;
    }
    return *thrift->at++;
}

bool alm_thrift_elem_bool(alm_thrift_in *thrift)
{
    return take_byte(thrift) == ALM_THRIFT_TRUE;
}

alm_str alm_thrift_elem_binary(alm_thrift_in *thrift)
{
    const uint64_t n = alm_thrift_varint(thrift);
    if (n > (uint64_t)(thrift->end - thrift->at)) {
        alm_thrift_bad(thrift, "a text is longer than what is left");
        return ALM_STR("");
    }
    const alm_str text = {(const char *)thrift->at, (size_t)n};
    thrift->at += n;
    return text;
}

void alm_thrift_enter(alm_thrift_in *thrift)
{
    if (++thrift->depth > ALM_THRIFT_DEEP_MAX)
        alm_thrift_bad(thrift, "it is nested too deeply");
}

void alm_thrift_leave(alm_thrift_in *thrift)
{
    ALM_ASSERT(thrift->depth > 0);
    thrift->depth--;
}

bool alm_thrift_next(alm_thrift_in *thrift, alm_thrift_field *field)
{
    const uint8_t head = take_byte(thrift);
    field->type = head & 0x0F;
    if (thrift->bad != NULL || field->type == ALM_THRIFT_STOP)
        return false;
    const int64_t id = head >> 4 != 0 ? field->id + (head >> 4) : alm_thrift_elem_int(thrift);
    if (field->type > ALM_THRIFT_STRUCT || id < INT16_MIN || id > INT16_MAX) {
        alm_thrift_bad(thrift, "a field has no known type");
        return false;
    }
    field->id = (int16_t)id;
    return thrift->bad == NULL;
}

bool alm_thrift_bool(alm_thrift_in *thrift, const alm_thrift_field *field)
{
    if (field->type != ALM_THRIFT_TRUE && field->type != ALM_THRIFT_FALSE)
        alm_thrift_skip(thrift, field);
    return field->type == ALM_THRIFT_TRUE;
}

int64_t alm_thrift_int(alm_thrift_in *thrift, const alm_thrift_field *field)
{
    if (field->type == ALM_THRIFT_BYTE)
        return (int8_t)take_byte(thrift);
    if (field->type >= ALM_THRIFT_I16 && field->type <= ALM_THRIFT_I64)
        return alm_thrift_elem_int(thrift);
    alm_thrift_skip(thrift, field);
    return 0;
}

int32_t alm_thrift_i32(alm_thrift_in *thrift, const alm_thrift_field *field)
{
    const int64_t value = alm_thrift_int(thrift, field);
    if (value >= INT32_MIN && value <= INT32_MAX)
        return (int32_t)value;
    alm_thrift_bad(thrift, "a number has more than 32 bits");
    return 0;
}

alm_str alm_thrift_binary(alm_thrift_in *thrift, const alm_thrift_field *field)
{
    if (field->type == ALM_THRIFT_BINARY)
        return alm_thrift_elem_binary(thrift);
    alm_thrift_skip(thrift, field);
    return (alm_str){0};
}

/* Head of a list: its elements fit in what is left. */
static uint32_t list_head(alm_thrift_in *thrift, uint8_t *type, uint32_t least_bytes)
{
    const uint8_t head = take_byte(thrift);
    const uint64_t n = head >> 4 == LONG_LIST ? alm_thrift_varint(thrift) : (uint64_t)(head >> 4);
    *type = head & 0x0F;
    if (n > (uint64_t)(thrift->end - thrift->at) / ALM_MAX(least_bytes, 1U)) {
        alm_thrift_bad(thrift, "a list has more elements than bytes are left for");
        return 0;
    }
    return thrift->bad != NULL ? 0 : (uint32_t)ALM_MIN(n, (uint64_t)INT32_MAX);
}

uint32_t alm_thrift_list(alm_thrift_in *thrift, const alm_thrift_field *field, alm_thrift_type type,
                         uint32_t least_bytes)
{
    uint8_t got = 0;
    const uint8_t *const begin = thrift->at;
    const uint32_t n = field->type == ALM_THRIFT_LIST ? list_head(thrift, &got, least_bytes) : 0;
    const bool same = got == type || (type == ALM_THRIFT_TRUE && got == ALM_THRIFT_FALSE);
    if (field->type == ALM_THRIFT_LIST && (same || n == 0))
        return n;
    if (thrift->bad == NULL) {
        thrift->at = begin;
        alm_thrift_skip(thrift, field);
    }
    return 0;
}

static void skip_value(alm_thrift_in *thrift, uint8_t type, bool element);

static void skip_list(alm_thrift_in *thrift)
{
    uint8_t type = 0;
    const uint32_t n = list_head(thrift, &type, 1);
    for (uint32_t i = 0; i < n && thrift->bad == NULL; i++)
        skip_value(thrift, type, true);
}

static void skip_map(alm_thrift_in *thrift)
{
    const uint64_t n = alm_thrift_varint(thrift);
    const uint8_t types = n > 0 ? take_byte(thrift) : 0;
    for (uint64_t i = 0; i < n && thrift->bad == NULL; i++) {
        skip_value(thrift, types >> 4, true);
        skip_value(thrift, types & 0x0F, true);
    }
}

static void skip_struct(alm_thrift_in *thrift)
{
    alm_thrift_field field = {0};
    while (alm_thrift_next(thrift, &field))
        skip_value(thrift, field.type, false);
}

/* Nesting is bounded by alm_thrift_enter. */
static void skip_value(alm_thrift_in *thrift, uint8_t type, bool element)
{
    alm_thrift_enter(thrift);
    if ((type == ALM_THRIFT_TRUE || type == ALM_THRIFT_FALSE) && !element)
        ; /* its value is its type */
    else if (type == ALM_THRIFT_TRUE || type == ALM_THRIFT_FALSE || type == ALM_THRIFT_BYTE)
        (void)take_byte(thrift);
    else if (type >= ALM_THRIFT_I16 && type <= ALM_THRIFT_I64)
        (void)alm_thrift_varint(thrift);
    else if (type == ALM_THRIFT_DOUBLE)
        for (uint32_t i = 0; i < sizeof(double); i++)
            (void)take_byte(thrift);
    else if (type == ALM_THRIFT_BINARY)
        (void)alm_thrift_elem_binary(thrift);
    else if (type == ALM_THRIFT_LIST || type == ALM_THRIFT_SET)
        skip_list(thrift);
    else if (type == ALM_THRIFT_MAP)
        skip_map(thrift);
    else if (type == ALM_THRIFT_STRUCT)
        skip_struct(thrift);
    else
        alm_thrift_bad(thrift, "a value has no known type");
    alm_thrift_leave(thrift);
}

void alm_thrift_skip(alm_thrift_in *thrift, const alm_thrift_field *field)
{
    skip_value(thrift, field->type, false);
}

/* ------------------------------------------------------------------------------------- writing */

static void thrift_put(alm_thrift_out *out, const void *bytes, size_t n)
{
    if (out->st == ALM_OK)
        out->st = alm_buf_append(out->cx, out->buf, bytes, n);
}

void alm_thrift_put_varint(alm_thrift_out *out, uint64_t value)
{
    uint8_t byte[VARINT_BYTES];
    size_t count = 0;
    for (; value >= 0x80; value >>= 7)
        byte[count++] = (uint8_t)(value | 0x80);
    byte[count++] = (uint8_t)value;
    thrift_put(out, byte, count);
}

void alm_thrift_elem_put_int(alm_thrift_out *out, int64_t value)
{
    alm_thrift_put_varint(out, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

void alm_thrift_elem_put_bool(alm_thrift_out *out, bool x)
{
    const uint8_t byte = x ? ALM_THRIFT_TRUE : ALM_THRIFT_FALSE;
    thrift_put(out, &byte, 1);
}

void alm_thrift_elem_put_binary(alm_thrift_out *out, alm_str text)
{
    alm_thrift_put_varint(out, text.len);
    thrift_put(out, text.ptr, text.len);
}

static void thrift_put_field(alm_thrift_out *out, int16_t id, alm_thrift_type type)
{
    int16_t *last = &out->last[out->depth];
    const int32_t delta = id - *last;
    const bool near = delta > 0 && delta < 16;
    const uint8_t head = (uint8_t)((near ? (uint32_t)delta << 4 : 0U) | (uint32_t)type);
    thrift_put(out, &head, 1);
    if (!near)
        alm_thrift_elem_put_int(out, id);
    *last = id;
}

void alm_thrift_begin(alm_thrift_out *out)
{
    ALM_ASSERT(out->depth < ALM_THRIFT_DEEP_MAX);
    out->last[++out->depth] = 0;
}

void alm_thrift_end(alm_thrift_out *out)
{
    const uint8_t stop = ALM_THRIFT_STOP;
    ALM_ASSERT(out->depth > 0);
    thrift_put(out, &stop, 1);
    out->depth--;
}

void alm_thrift_put_bool(alm_thrift_out *out, int16_t id, bool x)
{
    thrift_put_field(out, id, x ? ALM_THRIFT_TRUE : ALM_THRIFT_FALSE);
}

void alm_thrift_put_byte(alm_thrift_out *out, int16_t id, int8_t x)
{
    thrift_put_field(out, id, ALM_THRIFT_BYTE);
    thrift_put(out, &x, 1);
}

void alm_thrift_put_i16(alm_thrift_out *out, int16_t id, int16_t x)
{
    thrift_put_field(out, id, ALM_THRIFT_I16);
    alm_thrift_elem_put_int(out, x);
}

void alm_thrift_put_i32(alm_thrift_out *out, int16_t id, int32_t value)
{
    thrift_put_field(out, id, ALM_THRIFT_I32);
    alm_thrift_elem_put_int(out, value);
}

void alm_thrift_put_i64(alm_thrift_out *out, int16_t id, int64_t value)
{
    thrift_put_field(out, id, ALM_THRIFT_I64);
    alm_thrift_elem_put_int(out, value);
}

void alm_thrift_put_binary(alm_thrift_out *out, int16_t id, alm_str text)
{
    thrift_put_field(out, id, ALM_THRIFT_BINARY);
    alm_thrift_elem_put_binary(out, text);
}

void alm_thrift_put_struct(alm_thrift_out *out, int16_t id)
{
    thrift_put_field(out, id, ALM_THRIFT_STRUCT);
    alm_thrift_begin(out);
}

void alm_thrift_put_list(alm_thrift_out *out, int16_t id, alm_thrift_type type, uint32_t n)
{
    thrift_put_field(out, id, ALM_THRIFT_LIST);
    const uint8_t head = (uint8_t)(ALM_MIN(n, (uint32_t)LONG_LIST) << 4 | (uint32_t)type);
    thrift_put(out, &head, 1);
    if (n >= LONG_LIST)
        alm_thrift_put_varint(out, n);
}
