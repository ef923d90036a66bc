/*
 * write_shape.h - what a column type is in Parquet, and its values as Parquet has them. Private to codec/parquet.
 *
 *   BOOLEAN          BOOLEAN                         STRING VARCHAR SYMBOL   BYTE_ARRAY STRING
 *   BYTE SHORT       INT32 INT(8), INT(16)           CHAR                    BYTE_ARRAY STRING, or INT32 UINT(16) raw
 *   INT LONG         INT32, INT64                    BINARY                  BYTE_ARRAY
 *   FLOAT DOUBLE     FLOAT, DOUBLE                   UUID                    FIXED(16) UUID, as its text
 *   DATE             INT64 TIMESTAMP(ms, UTC)        LONG256                 FIXED(32), least byte first
 *   TIMESTAMP        INT64 TIMESTAMP(us, UTC)        INTERVAL                FIXED(16), two INT64 of us, least byte first
 *   TIMESTAMP_NS     INT64 TIMESTAMP(ns, UTC)        IPv4                    INT32 UINT(32)
 *   GEOHASH          INT32 INT(8), INT(16), INT32, INT64, as wide as its bits
 *   DECIMAL          INT32 to 9 digits, INT64 to 18, FIXED(16) to 38, else FIXED(32); greatest byte first
 *   ARRAY            LIST, one in the other, of DOUBLE; or BYTE_ARRAY of type/array.h raw
 */
#ifndef ALM_CODEC_PARQUET_WRITE_SHAPE_H
#define ALM_CODEC_PARQUET_WRITE_SHAPE_H

#include "codec/parquet/format.h"
#include "codec/parquet/write_store.h"

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

typedef struct alm_pq_shape {
    alm_pq_schema_element leaf; /* all but its name and repetition */
    alm_pq_order order;
    uint32_t width; /* of a value; 0: BYTE_ARRAY */
    uint32_t dims;  /* lists around it */
    bool required;
} alm_pq_shape;

alm_pq_shape alm_pq_shape_of(const alm_pq_column *column);

/* Definition level of a value that is there. */
static inline uint32_t alm_pq_levels(const alm_pq_shape *s)
{
    return s->dims > 0 ? 2 * s->dims + 1 : s->required ? 0 : 1;
}

/* The values of a column, nulls left out. One of data, index, len is there; lists have data per page (lists.c). */
typedef struct alm_pq_values {
    uint32_t rows, n;      /* n: not null */
    const uint8_t *null;   /* 1 for a null row; NULL: none is */
    const void *data;      /* n of the width of the shape */
    const uint32_t *index; /* n numbers of texts */
    const uint32_t *len;   /* n lengths of `bytes` */
    const char *bytes;
} alm_pq_values;

/* ALM_E_VALUE: a null in a required column. Memory from the arena, or the store's. */
ALM_NODISCARD alm_status alm_pq_values_of(alm_ctx *cx, alm_arena *arena, const alm_pq_shape *shape,
                                          const alm_pq_column *column, alm_pq_store *store,
                                          alm_pq_values *out);

#endif
