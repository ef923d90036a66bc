/*
 * parquet.h - what a type is in a Parquet file: the part of the format that types name. codec/parquet writes and reads it.
 *
 * Source      parquet.thrift of Apache Parquet 2.11; names as there.
 */
#ifndef ALM_TYPE_PARQUET_H
#define ALM_TYPE_PARQUET_H

#include "base/base.h"

typedef enum alm_pq_physical {
    ALM_PQ_BOOLEAN,
    ALM_PQ_INT32,
    ALM_PQ_INT64,
    ALM_PQ_INT96,
    ALM_PQ_FLOAT,
    ALM_PQ_DOUBLE,
    ALM_PQ_BYTE_ARRAY,
    ALM_PQ_FIXED, /* FIXED_LEN_BYTE_ARRAY */
    ALM_PQ_PHYSICAL_COUNT
} alm_pq_physical;

typedef enum alm_pq_converted {
    ALM_PQ_C_NONE = -1,
    ALM_PQ_C_UTF8,
    ALM_PQ_C_MAP,
    ALM_PQ_C_MAP_KEY_VALUE,
    ALM_PQ_C_LIST,
    ALM_PQ_C_ENUM,
    ALM_PQ_C_DECIMAL,
    ALM_PQ_C_DATE,
    ALM_PQ_C_TIME_MILLIS,
    ALM_PQ_C_TIME_MICROS,
    ALM_PQ_C_TIMESTAMP_MILLIS,
    ALM_PQ_C_TIMESTAMP_MICROS,
    ALM_PQ_C_UINT_8,
    ALM_PQ_C_UINT_16,
    ALM_PQ_C_UINT_32,
    ALM_PQ_C_UINT_64,
    ALM_PQ_C_INT_8,
    ALM_PQ_C_INT_16,
    ALM_PQ_C_INT_32,
    ALM_PQ_C_INT_64,
    ALM_PQ_C_JSON,
    ALM_PQ_C_BSON,
    ALM_PQ_C_INTERVAL,
    ALM_PQ_C_COUNT
} alm_pq_converted;

/* Field numbers of the union LogicalType; 0: none. */
typedef enum alm_pq_logical {
    ALM_PQ_L_NONE = 0,
    ALM_PQ_L_STRING = 1,
    ALM_PQ_L_MAP = 2,
    ALM_PQ_L_LIST = 3,
    ALM_PQ_L_ENUM = 4,
    ALM_PQ_L_DECIMAL = 5,
    ALM_PQ_L_DATE = 6,
    ALM_PQ_L_TIME = 7,
    ALM_PQ_L_TIMESTAMP = 8,
    ALM_PQ_L_INTEGER = 10,
    ALM_PQ_L_UNKNOWN = 11,
    ALM_PQ_L_JSON = 12,
    ALM_PQ_L_BSON = 13,
    ALM_PQ_L_UUID = 14,
    ALM_PQ_L_FLOAT16 = 15,
    ALM_PQ_L_VARIANT = 16,
    ALM_PQ_L_GEOMETRY = 17,
    ALM_PQ_L_GEOGRAPHY = 18,
    ALM_PQ_L_COUNT
} alm_pq_logical;

typedef enum alm_pq_unit { ALM_PQ_MILLIS = 1, ALM_PQ_MICROS, ALM_PQ_NANOS } alm_pq_unit;

/* How bounds of values compare: the order that the format defines for the type. */
typedef enum alm_pq_order {
    ALM_PQ_ORDER_NONE, /* no bounds are written */
    ALM_PQ_ORDER_BOOL,
    ALM_PQ_ORDER_INT32,
    ALM_PQ_ORDER_UINT32,
    ALM_PQ_ORDER_INT64,
    ALM_PQ_ORDER_FLOAT,
    ALM_PQ_ORDER_DOUBLE,
    ALM_PQ_ORDER_BYTES,        /* unsigned, the first byte decides */
    ALM_PQ_ORDER_SIGNED_BYTES, /* a number of two's complement, greatest byte first */
    ALM_PQ_ORDER_TEXT          /* BYTES that are UTF-8 */
} alm_pq_order;

typedef struct alm_parquet_form {
    alm_pq_physical physical;
    alm_pq_converted converted;
    alm_pq_logical logical;
    alm_pq_order order;
    alm_pq_unit unit;        /* of TIME and TIMESTAMP */
    bool utc;                /* of TIME and TIMESTAMP */
    uint8_t bits, is_signed; /* of INTEGER */
    uint8_t precision, scale;
    uint32_t width; /* of a value; 0: BYTE_ARRAY */
    uint32_t dims;  /* lists around it */
    bool
        by_field; /* the field says which type it is, without the note of the writer (ALM_PQ_KEY) */
} alm_parquet_form;

static inline alm_parquet_form alm_parquet_of(alm_pq_physical physical, alm_pq_order order)
{
    static const uint8_t width[ALM_PQ_PHYSICAL_COUNT] = {
        [ALM_PQ_BOOLEAN] = 1, [ALM_PQ_INT32] = 4,  [ALM_PQ_INT64] = 8,
        [ALM_PQ_FLOAT] = 4,   [ALM_PQ_DOUBLE] = 8,
    };
    return (alm_parquet_form){
        .physical = physical, .converted = ALM_PQ_C_NONE, .order = order, .width = width[physical]};
}

/* A number of up to 32 bits. */
static inline alm_parquet_form alm_parquet_integer(uint32_t bits, bool is_signed)
{
    alm_parquet_form parquet_form =
        alm_parquet_of(ALM_PQ_INT32, is_signed ? ALM_PQ_ORDER_INT32 : ALM_PQ_ORDER_UINT32);
    const int step = bits == 8 ? 0 : bits == 16 ? 1 : 2;
    parquet_form.logical = ALM_PQ_L_INTEGER;
    parquet_form.bits = (uint8_t)bits;
    parquet_form.is_signed = is_signed;
    parquet_form.converted =
        (alm_pq_converted)((is_signed ? ALM_PQ_C_INT_8 : ALM_PQ_C_UINT_8) + step);
    return parquet_form;
}

static inline alm_parquet_form alm_parquet_fixed(uint32_t width, alm_pq_order order)
{
    alm_parquet_form parquet_form = alm_parquet_of(ALM_PQ_FIXED, order);
    parquet_form.width = width;
    return parquet_form;
}

static inline alm_parquet_form alm_parquet_text(void)
{
    alm_parquet_form parquet_form = alm_parquet_of(ALM_PQ_BYTE_ARRAY, ALM_PQ_ORDER_TEXT);
    parquet_form.logical = ALM_PQ_L_STRING;
    parquet_form.converted = ALM_PQ_C_UTF8;
    return parquet_form;
}

#endif
