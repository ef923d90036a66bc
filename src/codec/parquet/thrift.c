/* thrift.c - see thrift.h. */
#include "codec/parquet/thrift.h"

enum { VARINT_BYTES = 10, LONG_LIST = 15 };

/* ------------------------------------------------------------------------------------- reading */

void alm_thrift_bad(alm_thrift_in *in, const char *why)
{
    if (in->bad == NULL)
        in->bad = why;
    in->at = in->end;
}

uint64_t alm_thrift_varint(alm_thrift_in *in)
{
    uint64_t x = 0;
    for (uint32_t shift = 0; shift < 7 * VARINT_BYTES; shift += 7) {
        if (in->at == in->end) {
            alm_thrift_bad(in, "it ends within a number");
            return 0;
        }
        const uint8_t byte = *in->at++;
        if (shift == 63 && byte > 1)
            break;
        x |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return x;
    }
    alm_thrift_bad(in, "a number has more than 64 bits");
    return 0;
}

int64_t alm_thrift_elem_int(alm_thrift_in *in)
{
    const uint64_t x = alm_thrift_varint(in);
    return (int64_t)(x >> 1) ^ -(int64_t)(x & 1);
}

static uint8_t take_byte(alm_thrift_in *in)
{
    if (in->at == in->end) {
        alm_thrift_bad(in, "it ends too early");
        return 0;
    }
    return *in->at++;
}

bool alm_thrift_elem_bool(alm_thrift_in *in)
{
    return take_byte(in) == ALM_THRIFT_TRUE;
}

alm_str alm_thrift_elem_binary(alm_thrift_in *in)
{
    const uint64_t n = alm_thrift_varint(in);
    if (n > (uint64_t)(in->end - in->at)) {
        alm_thrift_bad(in, "a text is longer than what is left");
        return ALM_STR("");
    }
    const alm_str text = {(const char *)in->at, (size_t)n};
    in->at += n;
    return text;
}

void alm_thrift_enter(alm_thrift_in *in)
{
    if (++in->depth > ALM_THRIFT_DEEP_MAX)
        alm_thrift_bad(in, "it is nested too deeply");
}

void alm_thrift_leave(alm_thrift_in *in)
{
    ALM_ASSERT(in->depth > 0);
    in->depth--;
}

bool alm_thrift_next(alm_thrift_in *in, alm_thrift_field *field)
{
    const uint8_t head = take_byte(in);
    field->type = head & 0x0F;
    if (in->bad != NULL || field->type == ALM_THRIFT_STOP)
        return false;
    const int64_t id = head >> 4 != 0 ? field->id + (head >> 4) : alm_thrift_elem_int(in);
    if (field->type > ALM_THRIFT_STRUCT || id < INT16_MIN || id > INT16_MAX) {
        alm_thrift_bad(in, "a field has no known type");
        return false;
    }
    field->id = (int16_t)id;
    return in->bad == NULL;
}

bool alm_thrift_bool(alm_thrift_in *in, const alm_thrift_field *field)
{
    if (field->type != ALM_THRIFT_TRUE && field->type != ALM_THRIFT_FALSE)
        alm_thrift_skip(in, field);
    return field->type == ALM_THRIFT_TRUE;
}

int64_t alm_thrift_int(alm_thrift_in *in, const alm_thrift_field *field)
{
    if (field->type == ALM_THRIFT_BYTE)
        return (int8_t)take_byte(in);
    if (field->type >= ALM_THRIFT_I16 && field->type <= ALM_THRIFT_I64)
        return alm_thrift_elem_int(in);
    alm_thrift_skip(in, field);
    return 0;
}

int32_t alm_thrift_i32(alm_thrift_in *in, const alm_thrift_field *field)
{
    const int64_t x = alm_thrift_int(in, field);
    if (x >= INT32_MIN && x <= INT32_MAX)
        return (int32_t)x;
    alm_thrift_bad(in, "a number has more than 32 bits");
    return 0;
}

alm_str alm_thrift_binary(alm_thrift_in *in, const alm_thrift_field *field)
{
    if (field->type == ALM_THRIFT_BINARY)
        return alm_thrift_elem_binary(in);
    alm_thrift_skip(in, field);
    return (alm_str){0};
}

/* Head of a list: its elements fit in what is left. */
static uint32_t list_head(alm_thrift_in *in, uint8_t *type, uint32_t least_bytes)
{
    const uint8_t head = take_byte(in);
    const uint64_t n = head >> 4 == LONG_LIST ? alm_thrift_varint(in) : (uint64_t)(head >> 4);
    *type = head & 0x0F;
    if (n > (uint64_t)(in->end - in->at) / ALM_MAX(least_bytes, 1U)) {
        alm_thrift_bad(in, "a list has more elements than bytes are left for");
        return 0;
    }
    return in->bad != NULL ? 0 : (uint32_t)ALM_MIN(n, (uint64_t)INT32_MAX);
}

uint32_t alm_thrift_list(alm_thrift_in *in, const alm_thrift_field *field, alm_thrift_type type,
                         uint32_t least_bytes)
{
    uint8_t got = 0;
    const uint8_t *const begin = in->at;
    const uint32_t n = field->type == ALM_THRIFT_LIST ? list_head(in, &got, least_bytes) : 0;
    const bool same = got == type || (type == ALM_THRIFT_TRUE && got == ALM_THRIFT_FALSE);
    if (field->type == ALM_THRIFT_LIST && (same || n == 0))
        return n;
    if (in->bad == NULL) {
        in->at = begin;
        alm_thrift_skip(in, field);
    }
    return 0;
}

static void skip_value(alm_thrift_in *in, uint8_t type, bool element);

static void skip_list(alm_thrift_in *in)
{
    uint8_t type = 0;
    const uint32_t n = list_head(in, &type, 1);
    for (uint32_t i = 0; i < n && in->bad == NULL; i++)
        skip_value(in, type, true);
}

static void skip_map(alm_thrift_in *in)
{
    const uint64_t n = alm_thrift_varint(in);
    const uint8_t types = n > 0 ? take_byte(in) : 0;
    for (uint64_t i = 0; i < n && in->bad == NULL; i++) {
        skip_value(in, types >> 4, true);
        skip_value(in, types & 0x0F, true);
    }
}

static void skip_struct(alm_thrift_in *in)
{
    alm_thrift_field field = {0};
    while (alm_thrift_next(in, &field))
        skip_value(in, field.type, false);
}

/* Nesting is bounded by alm_thrift_enter. */
static void skip_value(alm_thrift_in *in, uint8_t type, bool element)
{
    alm_thrift_enter(in);
    if ((type == ALM_THRIFT_TRUE || type == ALM_THRIFT_FALSE) && !element)
        ; /* its value is its type */
    else if (type == ALM_THRIFT_TRUE || type == ALM_THRIFT_FALSE || type == ALM_THRIFT_BYTE)
        (void)take_byte(in);
    else if (type >= ALM_THRIFT_I16 && type <= ALM_THRIFT_I64)
        (void)alm_thrift_varint(in);
    else if (type == ALM_THRIFT_DOUBLE)
        for (uint32_t i = 0; i < sizeof(double); i++)
            (void)take_byte(in);
    else if (type == ALM_THRIFT_BINARY)
        (void)alm_thrift_elem_binary(in);
    else if (type == ALM_THRIFT_LIST || type == ALM_THRIFT_SET)
        skip_list(in);
    else if (type == ALM_THRIFT_MAP)
        skip_map(in);
    else if (type == ALM_THRIFT_STRUCT)
        skip_struct(in);
    else
        alm_thrift_bad(in, "a value has no known type");
    alm_thrift_leave(in);
}

void alm_thrift_skip(alm_thrift_in *in, const alm_thrift_field *field)
{
    skip_value(in, field->type, false);
}

/* ------------------------------------------------------------------------------------- writing */

static void put(alm_thrift_out *out, const void *bytes, size_t n)
{
    if (out->st == ALM_OK)
        out->st = alm_buf_append(out->cx, out->buf, bytes, n);
}

void alm_thrift_put_varint(alm_thrift_out *out, uint64_t x)
{
    uint8_t byte[VARINT_BYTES];
    size_t n = 0;
    for (; x >= 0x80; x >>= 7)
        byte[n++] = (uint8_t)(x | 0x80);
    byte[n++] = (uint8_t)x;
    put(out, byte, n);
}

void alm_thrift_elem_put_int(alm_thrift_out *out, int64_t x)
{
    alm_thrift_put_varint(out, ((uint64_t)x << 1) ^ (uint64_t)(x >> 63));
}

void alm_thrift_elem_put_bool(alm_thrift_out *out, bool x)
{
    const uint8_t byte = x ? ALM_THRIFT_TRUE : ALM_THRIFT_FALSE;
    put(out, &byte, 1);
}

void alm_thrift_elem_put_binary(alm_thrift_out *out, alm_str x)
{
    alm_thrift_put_varint(out, x.len);
    put(out, x.ptr, x.len);
}

static void put_field(alm_thrift_out *out, int16_t id, alm_thrift_type type)
{
    int16_t *last = &out->last[out->depth];
    const int32_t delta = id - *last;
    const bool near = delta > 0 && delta < 16;
    const uint8_t head = (uint8_t)((near ? (uint32_t)delta << 4 : 0U) | (uint32_t)type);
    put(out, &head, 1);
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
    put(out, &stop, 1);
    out->depth--;
}

void alm_thrift_put_bool(alm_thrift_out *out, int16_t id, bool x)
{
    put_field(out, id, x ? ALM_THRIFT_TRUE : ALM_THRIFT_FALSE);
}

void alm_thrift_put_byte(alm_thrift_out *out, int16_t id, int8_t x)
{
    put_field(out, id, ALM_THRIFT_BYTE);
    put(out, &x, 1);
}

void alm_thrift_put_i16(alm_thrift_out *out, int16_t id, int16_t x)
{
    put_field(out, id, ALM_THRIFT_I16);
    alm_thrift_elem_put_int(out, x);
}

void alm_thrift_put_i32(alm_thrift_out *out, int16_t id, int32_t x)
{
    put_field(out, id, ALM_THRIFT_I32);
    alm_thrift_elem_put_int(out, x);
}

void alm_thrift_put_i64(alm_thrift_out *out, int16_t id, int64_t x)
{
    put_field(out, id, ALM_THRIFT_I64);
    alm_thrift_elem_put_int(out, x);
}

void alm_thrift_put_binary(alm_thrift_out *out, int16_t id, alm_str x)
{
    put_field(out, id, ALM_THRIFT_BINARY);
    alm_thrift_elem_put_binary(out, x);
}

void alm_thrift_put_struct(alm_thrift_out *out, int16_t id)
{
    put_field(out, id, ALM_THRIFT_STRUCT);
    alm_thrift_begin(out);
}

void alm_thrift_put_list(alm_thrift_out *out, int16_t id, alm_thrift_type type, uint32_t n)
{
    put_field(out, id, ALM_THRIFT_LIST);
    const uint8_t head = (uint8_t)(ALM_MIN(n, (uint32_t)LONG_LIST) << 4 | (uint32_t)type);
    put(out, &head, 1);
    if (n >= LONG_LIST)
        alm_thrift_put_varint(out, n);
}
