/*
 * write_bounds.h - least and greatest values of pages and chunks, as their statistics have them. Private to
 * codec/parquet.
 *
 * Texts       Longer ones than ALM_PQ_BOUND_BYTES are cut: the least to its beginning, the greatest to a text that is
 *             just above it, which stays UTF-8.
 * Zeros       The least zero is written as -0.0 and the greatest as 0.0, as the format asks of floating numbers.
 */
#ifndef ALM_CODEC_PARQUET_WRITE_BOUNDS_H
#define ALM_CODEC_PARQUET_WRITE_BOUNDS_H

#include "codec/parquet/write_shape.h"

enum { ALM_PQ_BOUND_BYTES = 64 };

typedef struct alm_pq_bound {
    bool set, inexact;
    uint8_t len;
    char bytes[ALM_PQ_BOUND_BYTES];
} alm_pq_bound;

typedef struct alm_pq_minmax {
    alm_pq_bound min, max;
} alm_pq_minmax;

/* Of n values of the width of the order, n > 0. */
void alm_pq_minmax_of(alm_pq_order order, uint32_t width, const void *data, size_t n,
                      alm_pq_minmax *out);
/* Of texts, already known to be least and greatest. */
void alm_pq_minmax_of_texts(alm_pq_order order, alm_str min, alm_str max, alm_pq_minmax *out);
/* < 0, 0, > 0: as the order has it. */
int alm_pq_bound_compare(alm_pq_order order, const alm_pq_bound *a, const alm_pq_bound *b);
/* `into` becomes the bounds of both; either may be empty (not set). */
void alm_pq_minmax_join(alm_pq_order order, alm_pq_minmax *into, const alm_pq_minmax *more);

static inline alm_str alm_pq_bound_text(const alm_pq_bound *bound)
{
    return bound->set ? (alm_str){bound->bytes, bound->len} : (alm_str){NULL, 0};
}

#endif
