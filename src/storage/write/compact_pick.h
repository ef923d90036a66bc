/*
 * compact_pick.h - which parts to merge next (policy, without any I/O).
 */
#ifndef ALM_STORAGE_COMPACT_PICK_H
#define ALM_STORAGE_COMPACT_PICK_H

#include "storage/version/version.h"

enum { ALM_COMPACT_SMALL_MIN = 4 }; /* small parts that are worth a merge */

/*
 * Writes the parts to merge to group[] (room for all parts of the set), by ascending seq, and returns
 * how many they are; 0: nothing to do.
 *
 * 1. Parts that overlap in time: all of a cluster while it is small (256 MiB) or overlaps deeply
 *    (overlap_max / 2); of a large one only the run of small parts that came last, once they are 4:
 *    late rows do not rewrite a large day each time. A Parquet part counts as large until an eighth as
 *    many late rows lie over it.
 * 2. Else 4 or more neighbours in time of one partition, small ones (a quarter of part_rows_max),
 *    none larger than the others together, so that a row is rewritten a logarithmic number of times. No
 *    Parquet parts.
 */
uint32_t alm_compact_pick(const alm_part_set *set, bool timed, bool dedup,
                          const alm_storage_conf *conf, const alm_part_ref **group);

/* The first rule alone. conf NULL: whatever the size; dedup: also parts that meet at one time. */
uint32_t alm_compact_pick_overlap(const alm_part_set *set, bool dedup, const alm_storage_conf *conf,
                                  const alm_part_ref **group);

/*
 * Small parts in files of their own that may share one, by time: each the only part of its partition, of any but the last
 * one, which rows are still written to. A pack full at most; 0 when they are fewer than storage.shared.parts.min. For a table with a
 * designated timestamp.
 */
uint32_t alm_compact_pick_lone(const alm_part_set *set, const alm_storage_conf *conf,
                               const alm_part_ref **group);

#endif
