/*
 * redo.h - log records applied again, in two passes: which rows are in parts already; then the records.
 */
#ifndef ALM_STORAGE_REDO_H
#define ALM_STORAGE_REDO_H

#include "storage/version/change.h"
#include "storage/version/encode.h"

/* LSN up to which rows of tables are in parts, collected by the first pass of recovery. */
typedef struct alm_flush_marks {
    struct alm_flush_mark {
        uint64_t table_id, lsn;
    } *rows;
    size_t n, cap; /* open addressing, cap a power of two; table_id 0: free */
} alm_flush_marks;
uint64_t alm_flush_marks_get(const alm_flush_marks *marks, uint64_t table_id);
ALM_NODISCARD alm_status alm_flush_marks_raise(alm_ctx *cx, alm_flush_marks *marks,
                                               uint64_t table_id, uint64_t lsn);
void alm_flush_marks_free(alm_flush_marks *marks);

/* Rows that the second pass has read, by table, until they are put into the head (recover/redo_rows.c). */
typedef struct alm_redo_table {
    uint64_t table_id; /* 0: free */
    uint64_t lsn;      /* of the last row */
    alm_lane rows;     /* as they came: in no order of time */
    uint32_t cap;      /* of rows.chunks */
    int64_t bytes;
} alm_redo_table;
typedef struct alm_redo_rows {
    alm_redo_table *tables; /* open addressing, cap a power of two */
    size_t n, cap;
    uint32_t threads;   /* that put rows in order; 0: one */
    bool borrow;        /* the bytes of records stay until alm_redo_rows_own */
    alm_rows_body body; /* of the record that is redone */
    int64_t moved;      /* how often rows were copied: the work of recovery */
} alm_redo_rows;
/* Rows of the record that is redone, rows->body, for `version`, the newest version of its table. */
ALM_NODISCARD alm_status alm_redo_rows_put(alm_ctx *cx, alm_build *build, alm_redo_rows *rows,
                                           const alm_version *version);
/* From now on no row needs the bytes of a record that has been read. */
ALM_NODISCARD alm_status alm_redo_rows_own(alm_ctx *cx, alm_build *build, alm_redo_rows *rows);
/* Before an operation that needs the head of the table, and at the end of the log. */
ALM_NODISCARD alm_status alm_redo_rows_settle(alm_ctx *cx, alm_build *build, alm_redo_rows *rows,
                                              uint64_t table_id);
ALM_NODISCARD alm_status alm_redo_rows_settle_all(alm_ctx *cx, alm_build *build,
                                                  alm_redo_rows *rows);
/* The table, or all that is in it, goes. */
void alm_redo_rows_forget(alm_redo_rows *rows, uint64_t table_id);
void alm_redo_rows_free(alm_redo_rows *rows);
/* ALM_E_CORRUPT: a record that says what cannot be. */
ALM_NODISCARD alm_status alm_redo_bad(alm_ctx *cx, uint64_t lsn, const char *what);
/* First pass over one record. */
ALM_NODISCARD alm_status alm_redo_marks(alm_ctx *cx, alm_flush_marks *marks, const char *payload,
                                        size_t bytes);
/* Second pass: applies one record. */
ALM_NODISCARD alm_status alm_redo(alm_ctx *cx, alm_build *build, const alm_flush_marks *marks,
                                  alm_redo_rows *rows, const char *payload, size_t bytes);

#endif
