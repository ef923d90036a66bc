/*
 * reader.h - Parquet files as columns of Almanac: schema, statistics, rows of a column as vectors.
 *
 * File        Opened over its bytes (mapped or in memory), which are borrowed and live as long as the file.
 *             Read-only after it is opened: any number of threads may use one.
 * Columns     A field that is no group is a column, one in a struct has a dotted name, a list of numbers is
 *             one of type ARRAY. What cannot be read (maps, lists of anything else, types beyond those of
 *             Almanac) is a column with a reason in `refused`: reading it is an error that says so.
 * Types       The field's own (docs/reference/parquet.md), or what the key ALM_PQ_KEY says it was.
 * Null rule   That of type.def. BOOLEAN, BYTE and SHORT have none: null reads as false and 0.
 * Cursor      Reads one column, by one thread at a time. Reading on where it stopped is cheap; anywhere else it
 *             goes to the page by the offset index, or by the page headers. It keeps one page unpacked, and the
 *             dictionary of one row group: heap memory on the account cx->mem.
 * Errors      ALM_E_FORMAT with name of the file, row group, column and reason; ALM_E_UNSUPPORTED for what is
 *             refused; ALM_E_MEMORY. Nothing is allocated by a size that the bytes of the file do not allow
 *             (pages unpack to at most ALM_PQ_PAGE_MAX bytes, and by ALM_PQ_RATIO_MAX at most).
 * Source      the specification of Apache Parquet (parquet-format).
 */
#ifndef ALM_CODEC_PARQUET_READER_H
#define ALM_CODEC_PARQUET_READER_H

#include "codec/parquet/format.h"
#include "type/vector.h"

enum {
    ALM_PQ_PAGE_MAX = 1 << 30, /* bytes of a page, unpacked */
    ALM_PQ_RATIO_MAX = 65536,  /* of unpacked to packed bytes, above the first MiB */
    ALM_PQ_COLUMNS_MAX = 32768
};

typedef struct alm_pq_file alm_pq_file;

typedef struct alm_pq_read_col {
    const char *name;
    alm_type type;       /* of `refused`: VARCHAR, so that it can be named */
    const char *refused; /* why it cannot be read; NULL: it can */
    uint32_t leaf;       /* number of its chunk in a row group */
    uint32_t field;      /* number of the field below the root it belongs to */
} alm_pq_read_col;

/* Of a chunk or a page, or of the whole file. Bounds of values that are not null: `lo` <= all <= `hi`. Integers and
 * times in the unit of the type; DECIMAL up to 18 digits as units; text as bytes. */
typedef struct alm_pq_bounds {
    int64_t rows;
    int64_t nulls;   /* -1 not known */
    bool has_minmax; /* by class: integers, floats (no NaN among the bounds), or texts */
    int64_t lo_i, hi_i;
    double lo_f, hi_f;
    alm_str lo_s, hi_s;
} alm_pq_bounds;

/* `name` is copied. */
ALM_NODISCARD alm_status alm_pq_open(alm_ctx *cx, alm_arena *arena, const char *name, alm_str bytes,
                                     const alm_pq_file **out);
const char *alm_pq_name(const alm_pq_file *file);
const alm_pq_file_meta *alm_pq_meta(const alm_pq_file *file);
const alm_pq_read_col *alm_pq_columns(const alm_pq_file *file, uint32_t *n);
int64_t alm_pq_rows(const alm_pq_file *file);
uint32_t alm_pq_groups(const alm_pq_file *file);
int64_t alm_pq_group_rows(const alm_pq_file *file, uint32_t group);
/* The designated timestamp by the key ALM_PQ_KEY, -1. */
int32_t alm_pq_ts_col(const alm_pq_file *file);
/* Is the column in ascending order over the whole file, without nulls? By sorting_columns and by the statistics of row
 * groups (and those of pages); false: not known. */
bool alm_pq_is_sorted(const alm_pq_file *file, uint32_t col);

/* What is known of a column without reading it. */
void alm_pq_group_bounds(const alm_pq_file *file, uint32_t group, uint32_t col, alm_pq_bounds *out);
/*
 * Pages of a column by the indexes of the file: rows [first_row, next) of the row group each. n = 0: there are
 * none, or they do not fit the row group (then they are not used).
 */
typedef struct alm_pq_page_bounds {
    int64_t first_row;
    alm_pq_bounds bounds;
} alm_pq_page_bounds;
ALM_NODISCARD alm_status alm_pq_pages(alm_ctx *cx, alm_arena *arena, const alm_pq_file *file,
                                      uint32_t group, uint32_t col, alm_pq_page_bounds **out,
                                      uint32_t *n);
/* False: no row of the row group has this value, by statistics and the bloom filter. */
bool alm_pq_maybe_text(const alm_pq_file *file, uint32_t group, uint32_t col, alm_str value);
bool alm_pq_maybe_integer(const alm_pq_file *file, uint32_t group, uint32_t col, int64_t value);

typedef struct alm_pq_cursor alm_pq_cursor;

ALM_NODISCARD alm_status alm_pq_cursor_new(alm_ctx *cx, const alm_pq_file *file, uint32_t col,
                                           alm_pq_cursor **out);
void alm_pq_cursor_free(alm_pq_cursor *cur); /* NULL is fine */
/*
 * Rows [row, row + n_rows) of a row group, n_rows <= ALM_BATCH_ROWS, as a dense vector. Memory from `arena`; it, or its texts, may
 * lie in the page that the cursor keeps: the vector is good until the next call with this cursor. SYMBOL
 * comes as views (dict == NULL).
 */
ALM_NODISCARD alm_status alm_pq_read(alm_ctx *cx, alm_pq_cursor *cur, uint32_t group, int64_t row,
                                     uint32_t n_rows, alm_arena *arena, alm_vec *out);
/* The bytes of a chunk, where the file is mapped; ptr NULL: they are not within it. */
alm_str alm_pq_chunk_bytes(const alm_pq_file *file, uint32_t group, uint32_t col);
/* Rows of the first page of a chunk, 0: not known. Pages of a chunk mostly are equally long. */
int64_t alm_pq_page_rows(const alm_pq_file *file, uint32_t group, uint32_t col);
/* Is every value of a chunk of texts a number in its dictionary, as its metadata says? */
bool alm_pq_is_coded(const alm_pq_file *file, uint32_t group, uint32_t col);
/*
 * For columns of bytes (text, BINARY): the dictionary of a row group as views in address form, views[0] is null;
 * *n = 0: there is none. It is good until the cursor goes to another row group.
 */
ALM_NODISCARD alm_status alm_pq_dictionary(alm_ctx *cx, alm_pq_cursor *cur, uint32_t group,
                                           const alm_view **views, uint32_t *n);
/* The same rows as numbers in that dictionary, 0: null. *coded = false: some page of them is not coded by the
 * dictionary (writers stop when it grows large), nothing is read. */
ALM_NODISCARD alm_status alm_pq_read_codes(alm_ctx *cx, alm_pq_cursor *cur, uint32_t group,
                                           int64_t row, uint32_t n, uint32_t *codes, bool *coded);

#endif
