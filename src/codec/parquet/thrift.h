/*
 * thrift.h - the compact protocol of Apache Thrift, as far as Parquet uses it: a reader that trusts nothing
 * and a writer.
 *
 * Reader      Errors stick: the first reason stays in `bad`, everything read after it is 0, empty or the end,
 *             so that a caller asks once. A count of elements is held against the bytes that are left, nesting
 *             against ALM_THRIFT_DEEP_MAX. Binary values are slices of the input.
 * Writer      Appends to a buffer; the first error of it sticks in `st`.
 * Source      thrift-compact-protocol.md of Apache Thrift.
 */
#ifndef ALM_CODEC_PARQUET_THRIFT_H
#define ALM_CODEC_PARQUET_THRIFT_H

#include "base/base.h"

enum { ALM_THRIFT_DEEP_MAX = 24 };

typedef enum alm_thrift_type {
    ALM_THRIFT_STOP = 0,
    ALM_THRIFT_TRUE = 1, /* of a field; of an element: BOOL */
    ALM_THRIFT_FALSE = 2,
    ALM_THRIFT_BYTE = 3,
    ALM_THRIFT_I16 = 4,
    ALM_THRIFT_I32 = 5,
    ALM_THRIFT_I64 = 6,
    ALM_THRIFT_DOUBLE = 7,
    ALM_THRIFT_BINARY = 8,
    ALM_THRIFT_LIST = 9,
    ALM_THRIFT_SET = 10,
    ALM_THRIFT_MAP = 11,
    ALM_THRIFT_STRUCT = 12
} alm_thrift_type;

/* ------------------------------------------------------------------------------------- reading */

typedef struct alm_thrift_in {
    const uint8_t *at, *end;
    const char *bad; /* why the bytes are no such message; NULL: good so far */
    uint32_t depth;
} alm_thrift_in;

/* A field of a struct; begin with {0}. */
typedef struct alm_thrift_field {
    int16_t id;
    uint8_t type; /* alm_thrift_type; the value of a boolean is in it */
} alm_thrift_field;

void alm_thrift_bad(alm_thrift_in *thrift, const char *why); /* the first one stays */
/* Around the fields of a struct. */
void alm_thrift_enter(alm_thrift_in *thrift);
void alm_thrift_leave(alm_thrift_in *thrift);
/* The next field; false: the end of the struct. */
bool alm_thrift_next(alm_thrift_in *thrift, alm_thrift_field *field);
/* Values of a field. One of another type than asked for is left out, as if it were not there: 0, empty, false. */
bool alm_thrift_bool(alm_thrift_in *thrift, const alm_thrift_field *field);
int64_t alm_thrift_int(alm_thrift_in *thrift,
                       const alm_thrift_field *field); /* BYTE, I16, I32, I64 */
int32_t alm_thrift_i32(alm_thrift_in *thrift, const alm_thrift_field *field); /* beyond it: bad */
alm_str alm_thrift_binary(alm_thrift_in *thrift, const alm_thrift_field *field);
/* Number of elements, each of `type` and of at least `least_bytes`. */
uint32_t alm_thrift_list(alm_thrift_in *thrift, const alm_thrift_field *field, alm_thrift_type type,
                         uint32_t least_bytes);
void alm_thrift_skip(alm_thrift_in *thrift, const alm_thrift_field *field);
/* Elements of a list. */
bool alm_thrift_elem_bool(alm_thrift_in *thrift);
int64_t alm_thrift_elem_int(alm_thrift_in *thrift);
alm_str alm_thrift_elem_binary(alm_thrift_in *thrift);
/* ULEB128, at most 10 bytes; also what Parquet's encodings use. */
uint64_t alm_thrift_varint(alm_thrift_in *thrift);

/* ------------------------------------------------------------------------------------- writing */

typedef struct alm_thrift_out {
    alm_ctx *cx;
    alm_buf *buf;
    alm_status st; /* of the first call that failed */
    uint32_t depth;
    int16_t last[ALM_THRIFT_DEEP_MAX + 1]; /* field written last, by depth */
} alm_thrift_out;

/* A message is one struct: begin, fields, end. Nested structs: put_struct, fields, end. */
void alm_thrift_begin(alm_thrift_out *out);
void alm_thrift_end(alm_thrift_out *out);
void alm_thrift_put_bool(alm_thrift_out *out, int16_t id, bool x);
void alm_thrift_put_byte(alm_thrift_out *out, int16_t id, int8_t x);
void alm_thrift_put_i16(alm_thrift_out *out, int16_t id, int16_t x);
void alm_thrift_put_i32(alm_thrift_out *out, int16_t id, int32_t value);
void alm_thrift_put_i64(alm_thrift_out *out, int16_t id, int64_t value);
void alm_thrift_put_binary(alm_thrift_out *out, int16_t id, alm_str text);
void alm_thrift_put_struct(alm_thrift_out *out, int16_t id);
/* The head of a list; its n elements follow. Elements that are structs: begin, fields, end. */
void alm_thrift_put_list(alm_thrift_out *out, int16_t id, alm_thrift_type type, uint32_t n);
void alm_thrift_elem_put_bool(alm_thrift_out *out, bool x);
void alm_thrift_elem_put_int(alm_thrift_out *out, int64_t value); /* I16, I32, I64 */
void alm_thrift_elem_put_binary(alm_thrift_out *out, alm_str text);
void alm_thrift_put_varint(alm_thrift_out *out, uint64_t value);

#endif
