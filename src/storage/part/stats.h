/*
 * stats.h - kernel: statistics of one block of values (meaning: alm_part_block in part.h).
 */
#ifndef ALM_STORAGE_PART_STATS_H
#define ALM_STORAGE_PART_STATS_H

#include "storage/part/part.h"

/* Sets nulls, flags, min, max, sum of `n` dense values as they stand on disk (SYMBOL: codes of
 * `width` bytes). The other fields stay. */
void alm_part_block_stats(alm_type type, uint32_t width, const void *data, uint32_t n,
                          alm_part_block *out);

#endif
