/*
 * parquet_codes.h - one dictionary for a text column of Parquet files, over the dictionaries of all row groups: its
 * rows can be read as codes, which groups and conditions work with as they do with SYMBOL columns. Private to exec/.
 *
 * Where       Every page of the column is coded by the dictionary of its row group, in all files that have it, and
 *             there are at most ALM_PARQUET_CODES_MAX values and ALM_PARQUET_GROUPS_MAX row groups.
 * Ownership   cx->arena of whoever asks first: the planning of a statement. Read-only afterwards.
 */
#ifndef ALM_EXEC_PARQUET_CODES_H
#define ALM_EXEC_PARQUET_CODES_H

#include "exec/source/parquet_set.h"

enum { ALM_PARQUET_CODES_MAX = 65535, ALM_PARQUET_GROUPS_MAX = 4096 };

/* Codes of the column by number in the dictionary of a row group; 0 is null in both. */
typedef struct alm_parquet_map {
    const uint32_t *code;
    uint32_t n;
} alm_parquet_map;

struct alm_parquet_codes {
    alm_dict dict;
    uint8_t width;         /* of a code */
    alm_parquet_map **map; /* by file, by row group */
    uint32_t *slot;        /* codes by hash of the text, 0: free; a power of two of them */
    uint32_t n_slots;
};

/* *out = NULL: it cannot be read so. */
ALM_NODISCARD alm_status alm_parquet_codes_of(alm_ctx *cx, alm_parquet_set *set, uint32_t col,
                                              const alm_parquet_codes **out);
/* Rows [row, row + n) of a row group of a file. */
typedef struct alm_parquet_rows {
    const alm_parquet_file *file;
    uint32_t group;
    int64_t row;
    uint32_t n;
} alm_parquet_rows;

/* Rows of a column that has codes. `cur` is NULL where the file has no such column. */
ALM_NODISCARD alm_status alm_parquet_codes_read(alm_ctx *cx, const alm_parquet_set *set,
                                                uint32_t col, alm_pq_cursor *cur,
                                                const alm_parquet_rows *rows, alm_arena *arena,
                                                alm_vec *out);

#endif
