/*
 * parquet.h - what a Parquet part says about itself beside what any Parquet file does: the value of its
 * key-value pair `almanac.part`, in base64. Private to parquet*.c. Little-endian, without gaps but these:
 *
 *   head       alm_part_pq_head; its CRC32C covers all that follows the field, to the end
 *   columns    u32 x n_cols, padded to 8: the field of the file that holds the entry
 *   footer     as in a native part (part.h): offsets are of the image that the decoded columns make
 *   last rows  i32 x n_last of each SYMBOL entry that keeps them, in order of entries, padded to 8
 *   codes      for each row group and SYMBOL column with values: u32 row group, u32 field, u32 n, u32 x n: the codes
 *              of the table's dictionary, in the order of the file's dictionary page
 *
 * Row groups hold `group_rows` rows each but the last; that is a power of 2, so that a block of statistics is some row
 * groups, or a row group some blocks. A *unit* is the larger of both: what is decoded at once.
 */
#ifndef ALM_STORAGE_PART_PARQUET_H
#define ALM_STORAGE_PART_PARQUET_H

#include "storage/part/part.h"

#define ALM_PART_PQ_KEY   "almanac.part"
#define ALM_PART_PQ_MAGIC "ALMPARTQ"

enum {
    ALM_PART_PQ_VERSION = 1,
    ALM_PART_PQ_GROUP_ROWS = 2 * ALM_STATS_BLOCK_ROWS,
    ALM_PART_PQ_GROUP_ROWS_MIN = 1024,
    ALM_PART_PQ_GROUP_BYTES = 64 << 20 /* of values; row groups of wide tables have fewer rows */
};

typedef struct alm_part_pq_head {
    char magic[8];
    uint32_t version;
    uint32_t crc;
    uint64_t table_id;
    uint64_t image_bytes, footer_bytes, last_bytes, codes_bytes;
    uint32_t group_rows, n_groups;
    uint32_t n_cols, zero;
} alm_part_pq_head;
_Static_assert(sizeof(alm_part_pq_head) == 72, "on disk");

/* Decodes all of an open part that nobody else uses and compares checksums, a column at a time. *entry: where
 * it stopped. */
ALM_NODISCARD alm_status alm_part_parquet_read_all(alm_ctx *cx, struct alm_part *part,
                                                   uint32_t *entry);

#endif
