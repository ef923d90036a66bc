/*
 * format.h - header and trailer of a part file, shared by writer and reader (format: part.h).
 */
#ifndef ALM_STORAGE_PART_FORMAT_H
#define ALM_STORAGE_PART_FORMAT_H

#include "storage/part/part.h"

#define ALM_PART_MAGIC     "ALMPART1" /* 8 bytes, no terminator on disk; of all versions */
#define ALM_PART_END_MAGIC "ALMPEND1"

typedef struct alm_part_header {
    char magic[8];
    uint32_t version, align; /* segments begin at multiples of it */
    uint64_t table_id;
    uint32_t crc, zero;
} alm_part_header;
_Static_assert(sizeof(alm_part_header) == 32, "on disk");

typedef struct alm_part_trailer {
    uint64_t footer_off, footer_bytes;
    uint32_t crc, version;
    char magic[8];
} alm_part_trailer;
_Static_assert(sizeof(alm_part_trailer) == ALM_PART_TRAILER, "on disk");

/* Columns stored as views with a heap segment. */
static inline bool alm_part_has_heap(alm_type type)
{
    return alm_type_has_heap(type);
}

#endif
