/*
 * write_lists.h - arrays as nested lists: the levels and the numbers of a page. Private to codec/parquet.
 *
 * Levels      A list and its elements may be null in the schema, of which arrays make use for whole arrays and single
 *             numbers only: definition 0 is a null array, 1 an empty one, 2 * dims a null number, 2 * dims + 1 a number.
 *             Repetition is the dimension at which a new list begins.
 */
#ifndef ALM_CODEC_PARQUET_WRITE_LISTS_H
#define ALM_CODEC_PARQUET_WRITE_LISTS_H

#include "base/base.h"

typedef struct alm_pq_lists {
    alm_buf repetition, definition; /* uint32_t each */
    alm_buf numbers;                /* double, no nulls */
    uint32_t n_levels, n_nulls;     /* nulls: levels without a number */
} alm_pq_lists;

void alm_pq_lists_init(alm_pq_lists *lists, alm_mem *mem);
void alm_pq_lists_deinit(alm_pq_lists *lists);
void alm_pq_lists_reset(alm_pq_lists *lists);
ALM_NODISCARD alm_status alm_pq_lists_add_null(alm_ctx *cx, alm_pq_lists *lists);
/* An array as type/array.h has it: a length per dimension, then the numbers. */
ALM_NODISCARD alm_status alm_pq_lists_add(alm_ctx *cx, alm_pq_lists *lists, uint32_t dims,
                                          alm_str array);

#endif
