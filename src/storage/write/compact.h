/*
 * compact.h - background compaction: fewer parts, none that overlap.
 *
 * Invariant   Only groups of parts are merged that no other part of the table meets in time, not even
 *             at one timestamp; the new parts take the largest seq of the group. So the order of rows
 *             of equal time, and which row DEDUP UPSERT KEYS keep, stay what they were, also against
 *             parts that are committed meanwhile (their seq is larger).
 * Format      A group with a Parquet part becomes Parquet.
 * Packs       Where nothing is to be merged, small parts in files of their own move to a pack (part/pack.h), one by one and as
 *             they are.
 */
#ifndef ALM_STORAGE_COMPACT_H
#define ALM_STORAGE_COMPACT_H

#include "storage/version/version.h"

/* One step: merges one group of overlapping parts of one partition, or one run of small parts, or moves small parts to a pack.
 * *did == false: there is nothing to do, or an open transaction changes the table. The caller holds ALM_TAB_MAINT. */
ALM_NODISCARD alm_status alm_compact_table(alm_ctx *cx, alm_storage *storage, uint64_t table_id,
                                           bool *did);

/*
 * The parts of a partition become Parquet parts, or native ones, sorted and with the columns the table has now, with one
 * record. Nothing happens when they are that already. ALM_E_CONFLICT: some went meanwhile. The caller holds
 * ALM_TAB_MAINT.
 */
ALM_NODISCARD alm_status alm_convert_partition(alm_ctx *cx, alm_storage *storage, uint64_t table_id,
                                               int64_t bucket, bool parquet);

/* Merges until no two parts have rows of one time. The caller holds ALM_TAB_MAINT. */
ALM_NODISCARD alm_status alm_compact_overlaps(alm_ctx *cx, alm_storage *storage, uint64_t table_id);

#endif
