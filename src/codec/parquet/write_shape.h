/*
 * write_shape.h - the field of a column, and its values as Parquet has them. What a type is in Parquet, its table says
 * (type/ops.h). Private to codec/parquet.
 */
#ifndef ALM_CODEC_PARQUET_WRITE_SHAPE_H
#define ALM_CODEC_PARQUET_WRITE_SHAPE_H

#include "codec/parquet/format.h"
#include "codec/parquet/write_store.h"

typedef struct alm_pq_shape {
    alm_pq_schema_element leaf; /* all but its name and repetition */
    alm_pq_order order;
    uint32_t width; /* of a value; 0: BYTE_ARRAY */
    uint32_t dims;  /* lists around it */
    bool required;
} alm_pq_shape;

alm_pq_shape alm_pq_shape_of(const alm_pq_column *column);

/* Definition level of a value that is there. */
static inline uint32_t alm_pq_levels(const alm_pq_shape *shape)
{
    return shape->dims > 0 ? 2 * shape->dims + 1 : shape->required ? 0 : 1;
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
