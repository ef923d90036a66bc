/*
 * geohash.h - GEOHASH values: the bits of a cell, most significant first, in a number of 1, 2, 4 or 8
 * bytes as the precision needs (type.c). Null is the least number of the width.
 *
 * Text        A number of bits that five divides shows as letters of base 32, others as 0 and 1.
 */
#ifndef ALM_TYPE_GEOHASH_H
#define ALM_TYPE_GEOHASH_H

#include "type/type.h"

enum { ALM_GEOHASH_TEXT_MAX = 60 };

/* The bits, or ALM_LONG_NULL. */
static inline int64_t alm_geohash_load(const void *ptr, uint32_t width)
{
    switch (width) {
    case 1:
        return *(const int8_t *)ptr == INT8_MIN ? ALM_LONG_NULL : *(const int8_t *)ptr;
    case 2:
        return *(const int16_t *)ptr == INT16_MIN ? ALM_LONG_NULL : *(const int16_t *)ptr;
    case 4:
        return *(const int32_t *)ptr == INT32_MIN ? ALM_LONG_NULL : *(const int32_t *)ptr;
    default:
        return *(const int64_t *)ptr;
    }
}
static inline void alm_geohash_store(int64_t bits, void *ptr, uint32_t width)
{
    if (bits == ALM_LONG_NULL && width < 8)
        bits = width == 1 ? INT8_MIN : width == 2 ? INT16_MIN : INT32_MIN;
    memcpy(ptr, &bits, width); /* little-endian */
}
/* `n` bits as text; bits is not null. */
size_t alm_geohash_format(int64_t bits, uint32_t n, char out[ALM_GEOHASH_TEXT_MAX]);
/* All of the text: 1 to 12 letters, 5 bits each. */
bool alm_geohash_parse(alm_str text, int64_t *bits, uint32_t *n);
/* 1 to 60 of 0 and 1. */
bool alm_geohash_parse_bits(alm_str text, int64_t *bits, uint32_t *n);
/* The cell of n bits around a point; degrees within [-180, 180] and [-90, 90]. */
int64_t alm_geohash_of(double longitude, double latitude, uint32_t n);

#endif
