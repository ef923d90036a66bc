/*
 * part.h - one immutable file of rows: how it is written, opened, verified and read.
 *
 * Shapes      A part file holds `rows` rows of some columns of one table, column after column. Rows
 *             are in order of the designated timestamp (stable). An overlay is a part file too: it
 *             holds only the columns an UPDATE touched, for all rows of the part it lies over.
 *
 * Format      version 2, little-endian; segments begin at multiples of ALM_PART_ALIGN
 *
 *   header    64 bytes: "ALMPART1", u32 version, u32 ALM_PART_ALIGN, u64 table id, u32 CRC32C of the
 *             bytes before it, zeros
 *   segments  per column: data (rows x width), then its heap (text) or its last rows (SYMBOL)
 *   footer    alm_part_footer, alm_part_col x n_cols (ascending ids), alm_part_block x n_cols x
 *             n_blocks
 *   trailer   last 32 bytes: u64 footer offset, u64 footer bytes, u32 CRC32C of the footer,
 *             u32 version, "ALMPEND1"
 *
 *   data      fixed-width values as in memory; SYMBOL: codes of 1, 2 or 4 bytes, the width chosen
 *             by the largest code; text: alm_view, long ones with the offset in the heap segment
 *   heap      bytes of the long views in order of rows; those of a block are contiguous and end at
 *             its heap_end
 *   last rows int32 per code 0..n_last-1: last row of the part with it, -1 none; kept for
 *             dictionaries of at most ALM_PART_LAST_MAX codes
 *
 *   A column that is null in all rows (0, for the types without null) has no entry: a part that lacks a column
 *   reads so. The designated timestamp always has one, and there is one column at least.
 *   Segments of ALM_PART_LARGE bytes begin at pages, those of 64 bytes at cache lines, smaller ones at
 *   ALM_PART_ALIGN, so that a part of few rows has little padding, and a large one its pages to itself.
 *   Version 1 has a header of one page, and all its segments begin at pages.
 *
 * Checks      Header, footer and trailer when opened. A block (65,536 rows of one column and their
 *             heap bytes) the first time it is touched; what was found good is remembered. For a
 *             rewrite (alm_ctx.rewrite) footer and block count as good only when they were compared
 *             since it began.
 *             Errors: ALM_E_CORRUPT names file, column id and offset; a file of a newer version is
 *             ALM_E_UNSUPPORTED by name.
 * Durability  alm_part_write returns after file and directory are synced (but with `later`); the file counts only once
 *             the catalogue names it. On an error it is removed.
 * Threads     An open part is immutable but for its reference count and the atomic bitmap of
 *             verified blocks: any thread may use it. No locks.
 */
#ifndef ALM_STORAGE_PART_H
#define ALM_STORAGE_PART_H

#include "io/io.h"
#include "storage/storage.h"

enum {
    ALM_PART_VERSION = 2,
    ALM_PART_PAGE = 4096,
    ALM_PART_HEADER = 64,
    ALM_PART_ALIGN = 16,       /* what the widest element needs */
    ALM_PART_PACKED = 64,      /* parts that share a file begin at multiples of it */
    ALM_PART_LARGE = 64 << 10, /* padding to a page is a sixteenth of it at the most */
    ALM_PART_TRAILER = 32,
    ALM_PART_LAST_MAX = 65536
};
#define ALM_PART_ROWS_LIMIT INT64_C(0x7fffffff) /* row numbers of a part fit an int32 */

/* Flags of a block. */
enum {
    ALM_BLOCK_MINMAX = 1 << 0,  /* min and max are set */
    ALM_BLOCK_SUM = 1 << 1,     /* sum is set */
    ALM_BLOCK_OVERFLOW = 1 << 2 /* the integer sum left 64 bits: sum is not set */
};

/*
 * Statistics of a block, nulls left out. min, max, sum hold int64 (integer and time types, CHAR,
 * IPv4 and symbol codes without sign) or the bits of a double (FLOAT, DOUBLE). A block with an
 * infinity has no min, max or sum. Floating sums: eight lanes, value i of the block (nulls add
 * nothing) to lane i % 8, then ((0+1)+(2+3))+((4+5)+(6+7)).
 */
typedef struct alm_part_block {
    uint32_t crc;      /* CRC32C of the data bytes */
    uint32_t heap_crc; /* of the heap bytes */
    uint32_t nulls;
    uint32_t flags;
    uint64_t min, max, sum;
    uint64_t heap_end; /* offset in the heap segment */
} alm_part_block;
_Static_assert(sizeof(alm_part_block) == 48, "on disk");

typedef struct alm_part_col {
    uint32_t id;
    alm_type type;
    uint32_t width;
    uint32_t n_last;   /* entries of last rows, 0: not kept */
    uint64_t data_off; /* offsets in the file */
    uint64_t heap_off, heap_bytes;
    uint64_t last_off;
    uint32_t last_crc;
    uint32_t max_code; /* SYMBOL: largest code */
    uint64_t nulls;    /* of all rows */
} alm_part_col;
_Static_assert(sizeof(alm_part_col) == 64, "on disk");

typedef struct alm_part_footer {
    uint64_t table_id;
    int64_t rows;
    int64_t min_ts, max_ts; /* of the designated timestamp; min > max when there is none */
    int32_t ts_entry;       /* its index among the columns, -1: none here */
    uint32_t n_cols;
    uint32_t n_blocks;
    uint32_t block_rows;  /* ALM_STATS_BLOCK_ROWS */
    uint64_t database_id; /* 0: not recorded, as in files of older programs */
    uint64_t file_id;     /* with ALM_FILE_PARQUET; 0: not recorded */
} alm_part_footer;
_Static_assert(sizeof(alm_part_footer) == 64, "on disk");

/* ------------------------------------------------------------------- writing */

typedef struct alm_part_coldef {
    uint32_t id;
    alm_type type;
    const char *name; /* Parquet: what others call it */
} alm_part_coldef;

/* Borrowed rows: one dense or const vector per column of the spec, of `rows` elements. SYMBOL
 * vectors are codes of the table's dictionary, of any width (a const null view will do too). */
typedef struct alm_part_chunk {
    uint32_t rows;
    const alm_vec *cols;
} alm_part_chunk;

typedef struct alm_part_spec {
    uint64_t table_id;
    uint64_t database_id, file_id; /* 0: not recorded */
    const alm_part_coldef *cols;   /* any order of ids, none twice */
    uint32_t n_cols;
    int32_t ts_col; /* index in cols, -1: none */
    const alm_part_chunk *chunks;
    size_t n_chunks;
    /* Rows of the part, in its order: chunk << 32 | row. NULL: all rows of the chunks as they
     * come, or sorted by time if `sort`. */
    const uint64_t *order;
    int64_t n_order;
    bool sort; /* one pass finds out whether there is anything to do */
    struct alm_part_pack
        *pack;    /* a small part is written behind others there; NULL: to a file of its own */
    bool parquet; /* a Parquet file; SYMBOL vectors have their dictionary */
    bool later;   /* the caller syncs the file, by the handle that he gets, and its directory */
} alm_part_spec;

typedef struct alm_part_written {
    int64_t rows, bytes;
    int64_t min_ts, max_ts;
    uint32_t footer_crc; /* alm_part_footer_crc */
    int handle;          /* open, if `later` and not packed; else -1 */
    bool packed;         /* it is in the pack, from `offset` on */
    int64_t offset;
} alm_part_written;

/* A file of small parts, one behind another at multiples of ALM_PART_PACKED, that is being written. */
typedef struct alm_part_pack {
    int handle;
    const char *path;
    int64_t end;       /* where the next part begins */
    int64_t bytes_max; /* larger parts, as far as that is known before, have files of their own */
    struct alm_file *file; /* for who opens the parts again */
} alm_part_pack;

/* Where a part lies in its file. */
typedef struct alm_part_place {
    int64_t offset, bytes;
} alm_part_place;

/* Writes and syncs the file `dir`/`name`. Memory: a few blocks, and 16 bytes per row while rows out
 * of order are sorted. Without rows or columns: ALM_E_ARG. */
ALM_NODISCARD alm_status alm_part_write(alm_ctx *cx, const alm_io *io, const char *dir,
                                        const char *name, const alm_part_spec *spec,
                                        alm_part_written *out);
/* Order of the rows of chunks by ts_col, stable, as alm_part_spec.order; *order == NULL: they are
 * in order. The caller frees it. */
ALM_NODISCARD alm_status alm_part_sort(alm_ctx *cx, const alm_part_chunk *chunks, size_t n_chunks,
                                       uint32_t ts_col, uint64_t **order, int64_t *rows);

/* Does each of the rows have the value that a source without the column reads as? SYMBOL: as in alm_part_chunk. */
bool alm_values_are_missing(alm_type type, const alm_vec *vec, uint32_t rows);

/* ------------------------------------------------------------------- reading */

typedef struct alm_part alm_part;

/* What a catalogue, a log record or a manifest says of a part file; 0: it does not say. */
typedef struct alm_part_claim {
    uint64_t table_id, database_id, file_id;
    int64_t bytes, rows;
    int64_t min_ts, max_ts; /* min > max: it does not say */
    uint32_t footer_crc;
    uint64_t pack; /* number of the file that it shares with others, 0: none */
    int64_t offset;
    uint64_t part_id;    /* in whose description it is, as far as a record of the log said it */
    int64_t part_max_ts; /* of the rows of that part */
} alm_part_claim;

/* Maps the file and checks header and footer. The part has one reference. Columns of a Parquet file are
 * decoded to memory of `decoded`, or without a bound (NULL): for programs that check one part. `place` NULL: the part is the
 * whole file. */
struct alm_decoded;
ALM_NODISCARD alm_status alm_part_open(alm_ctx *cx, const alm_io *io, const char *path,
                                       const alm_part_place *place, uint64_t table_id,
                                       struct alm_decoded *decoded, alm_part **out);
/* Is the open part the one that is meant? ALM_E_CORRUPT says what it has and what was expected. */
ALM_NODISCARD alm_status alm_part_match(alm_ctx *cx, const alm_part *part,
                                        const alm_part_claim *claim);
/* Why a part file cannot be opened, from the negative errno. Nothing of that name, or a directory, is damage (ALM_E_CORRUPT);
 * all else, such as too many open files, may end by itself. */
ALM_NODISCARD alm_status alm_part_no_file(alm_ctx *cx, int code, const char *path);
/* The same by what is there, for whoever copies the bytes of a part without opening it. */
ALM_NODISCARD alm_status alm_part_is_file(alm_ctx *cx, const alm_io *io, const char *path);
/* Opens the file of a claim to see whether it is the one. */
ALM_NODISCARD alm_status alm_part_is(alm_ctx *cx, const alm_io *io, const char *path,
                                     const alm_part_claim *claim);
/* ALM_E_CORRUPT: its bytes could not be read any more at some time since it was opened. What stands in the
 * footer may be zeros then: scans ask before they look there. */
ALM_NODISCARD alm_status alm_part_usable(alm_ctx *cx, const alm_part *part);
/* Something found that its file is damaged: what was found good is compared again before it is read. */
void alm_part_doubt(alm_part *part);
alm_part *alm_part_retain(alm_part *part);
/* The last release unmaps the file. */
void alm_part_release(alm_part *part);

const char *alm_part_path(const alm_part *part);
const alm_part_footer *alm_part_info(const alm_part *part);
int64_t alm_part_bytes(const alm_part *part); /* of the file */
/* CRC32C of the footer, or of the description of a Parquet part: it has the checksums of all blocks, so that it tells a part from
 * every other. */
uint32_t alm_part_footer_crc(const alm_part *part);

/* Checksum of the footer of a Parquet part, which has those of all blocks: it stands for all bytes. */
uint32_t alm_part_footer_sum(const alm_part *part);
/* Does a Parquet part have exactly these columns, under these names? */
bool alm_part_is_as(const alm_part *part, const alm_column *cols, uint32_t n_cols);

/* What a Parquet part says by itself of a SYMBOL column: each word and its code in the dictionary of the table, some more than once.
 * A native part says nothing. */
typedef alm_status (*alm_part_word)(alm_ctx *cx, void *arg, uint32_t code, alm_str word);
ALM_NODISCARD alm_status alm_part_words(alm_ctx *cx, const alm_part *part, uint32_t entry,
                                        alm_part_word each, void *arg);
/* Name of the column in a Parquet part; NULL: a native part. */
const char *alm_part_field(const alm_part *part, uint32_t entry);

/* Entry of a column id, -1: the part lacks it (it reads as nulls). `hint` is tried first. */
int32_t alm_part_find(const alm_part *part, uint32_t id, uint32_t hint);
const alm_part_col *alm_part_col_at(const alm_part *part, uint32_t entry);
/* Before alm_part_data and alm_part_heap: what is mapped there may have rotted since the part was opened. Some 10 ns. */
ALM_NODISCARD alm_status alm_part_col_usable(alm_ctx *cx, const alm_part *part, uint32_t entry);
/* n_blocks statistics of an entry. */
const alm_part_block *alm_part_blocks(const alm_part *part, uint32_t entry);
/* Mapped bytes; alm_part_touch the rows first. */
const void *alm_part_data(const alm_part *part, uint32_t entry);
const char *alm_part_heap(const alm_part *part, uint32_t entry);
/* Verifies the blocks of rows [row, row + n) that were not touched before. One load per block for
 * those that were. */
ALM_NODISCARD alm_status alm_part_touch(alm_ctx *cx, const alm_part *part, uint32_t entry,
                                        int64_t row, int64_t n);
/* Last row per code; *rows == NULL: not kept. */
ALM_NODISCARD alm_status alm_part_last(alm_ctx *cx, const alm_part *part, uint32_t entry,
                                       const int32_t **rows, uint32_t *n);

/* Whole column as a vector over the mapped bytes (dict NULL), verified; a part that lacks the
 * column gives a const null from `arena`. */
ALM_NODISCARD alm_status alm_part_vec(alm_ctx *cx, alm_arena *arena, const alm_part *part,
                                      uint32_t id, alm_type type, alm_vec *out);

/* First row with ts >= bound, by block statistics and interpolation; touches one block at most. */
ALM_NODISCARD alm_status alm_part_lower_bound(alm_ctx *cx, const alm_part *part, int64_t bound,
                                              int64_t *row);

/* First index with ts[i] >= bound, n: none, of times in order. */
int64_t alm_times_lower_bound(const int64_t *ts, int64_t n, int64_t bound);

/* Compares every checksum of the file as it is on disk now: header, footer, blocks, last rows. */
ALM_NODISCARD alm_status alm_part_verify(alm_ctx *cx, const alm_io *io, const char *path,
                                         const alm_part_place *place, const alm_part_claim *claim);

/* Every checksum of every block, the order of the timestamps, codes within `dict_count` of the
 * column (callback; may be NULL), views within their heap. Calls report for each finding. */
typedef struct alm_part_check_arg {
    void (*report)(void *arg, const char *line);
    void *arg;
    /* Codes in use of the dictionary of a SYMBOL column, 0: there is none. */
    uint32_t (*dict_count)(void *arg, uint32_t col_id);
    int64_t n_findings;
    uint32_t footer_crc; /* of the part, once it was opened */
    /* Called behind each block with its bytes; may be NULL. What it returns ends the check. */
    alm_status (*pace)(alm_ctx *cx, void *arg, int64_t bytes);
} alm_part_check_arg;
ALM_NODISCARD alm_status alm_part_check(alm_ctx *cx, const alm_io *io, const char *path,
                                        const alm_part_place *place, const alm_part_claim *claim,
                                        alm_part_check_arg *arg);

#endif
