/*
 * parquet_set.h - the files that a call of read_parquet names, as one table. Private to exec/.
 *
 * Columns     Those of all files by name without case, in the order they appear first; a type that holds the types of
 *             all files (see parquet_set.c). A file without a column has null there. Columns of folders
 *             (year=2024) come last; a column of the files of that name is meant instead.
 * Ownership   cx->arena of the statement that bound it: files are mapped as long.
 */
#ifndef ALM_EXEC_PARQUET_SET_H
#define ALM_EXEC_PARQUET_SET_H

#include "codec/parquet/files.h"
#include "exec/source/source.h"

enum { ALM_PARQUET_NONE = -1, ALM_PARQUET_FOLDER = -2 };

typedef struct alm_parquet_file {
    const alm_pq_file *file;
    int32_t *col;    /* by column of the set: its number in the file, NONE, or FOLDER */
    alm_vec *folder; /* by column: the value of the folder, one element */
} alm_parquet_file;

typedef struct alm_parquet_codes alm_parquet_codes;

typedef struct alm_parquet_set {
    alm_parquet_file *file;
    uint32_t n_files;
    alm_plan_col *col; /* n_cols, then the same as codes: SYMBOL */
    uint32_t n_cols;
    double rows;
    alm_parquet_codes **codes; /* by column, of those that were asked for (parquet_codes.h) */
    bool *codes_asked;
} alm_parquet_set;

/* The text of the one argument; errors carry its place. */
ALM_NODISCARD alm_status alm_parquet_files(alm_ctx *cx, const char *function,
                                           const alm_source_call *call,
                                           const alm_pq_file *const **out,
                                           const char *const **paths, uint32_t *n);
ALM_NODISCARD alm_status alm_parquet_unite(alm_ctx *cx, int32_t pos,
                                           const alm_pq_file *const *files,
                                           const char *const *paths, uint32_t n,
                                           alm_parquet_set **out);
/* n values of a file's type as values of the set's type. */
ALM_NODISCARD alm_status alm_parquet_cast(alm_ctx *cx, alm_arena *arena, const alm_vec *vec,
                                          uint32_t n_rows, alm_type target, alm_vec *out);

#endif
