/*
 * write_dict.h - the distinct values of a column of numbers, for RLE_DICTIONARY. Private to codec/parquet.
 */
#ifndef ALM_CODEC_PARQUET_WRITE_DICT_H
#define ALM_CODEC_PARQUET_WRITE_DICT_H

#include "base/base.h"

typedef struct alm_pq_dict {
    const void *data; /* n values, in the order of their first */
    uint32_t n;
    const uint32_t *index; /* of each value */
} alm_pq_dict;

typedef struct alm_pq_numbers {
    const void *data;
    uint32_t width; /* 4, 8, 16 or 32 bytes */
    uint32_t count;
} alm_pq_numbers;

/*
 * *found is false where there are more than `most` distinct values, or, unless `sure`, where a sample shows that hardly any
 * repeats. Equal are values of equal bytes. Memory from the arena.
 */
ALM_NODISCARD alm_status alm_pq_dict_of(alm_ctx *cx, alm_arena *arena, const alm_pq_numbers *values,
                                        uint32_t most, bool sure, alm_pq_dict *out, bool *found);

#endif
