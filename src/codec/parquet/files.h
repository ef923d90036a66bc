/*
 * files.h - Parquet files below a folder: found by a pattern, mapped, and what their folders say.
 *
 * Paths       Relative, with '/'; never absolute, never with '..'. The system opens them so that links out of the
 *             folder, devices and pipes are refused (io.h, open_below). What a pattern finds is no link.
 * Patterns    `*` and `?` and [a-z] stand for letters of one name, `**` for folders one in the other. Names that
 *             begin with a dot or, below a pattern, an underscore, are left out. Files come in order of their names.
 * Folders     `year=2024` in a path: a value of the column year for all rows of the file (as Hive has it; %XX is
 *             a letter, __HIVE_DEFAULT_PARTITION__ is null).
 * Ownership   Maps go when the arena is reset.
 * Errors      ALM_E_DENIED for such paths, ALM_E_ARG where no file is, ALM_E_LIMIT: more than ALM_PQ_FILES_MAX.
 */
#ifndef ALM_CODEC_PARQUET_FILES_H
#define ALM_CODEC_PARQUET_FILES_H

#include "codec/parquet/reader.h"

enum { ALM_PQ_FILES_MAX = 10000, ALM_PQ_FOLDERS_DEEP = 16 };

/* Paths of a pattern, or the path itself where it has none of its letters. */
ALM_NODISCARD alm_status alm_pq_files_find(alm_ctx *cx, alm_arena *arena, const char *folder,
                                           const char *pattern, const char *const **out,
                                           uint32_t *n);
ALM_NODISCARD alm_status alm_pq_files_open(alm_ctx *cx, alm_arena *arena, const char *folder,
                                           const char *path, const alm_pq_file **out);

typedef struct alm_pq_folder_value {
    alm_str name, value; /* value.ptr NULL: null */
} alm_pq_folder_value;
ALM_NODISCARD alm_status alm_pq_folder_values(alm_ctx *cx, alm_arena *arena, const char *path,
                                              alm_pq_folder_value **out, uint32_t *n);

#endif
