/* copy.h - COPY inside of session/: its options, and what a cursor holds while bytes come in. Private
 * to session/. */
#ifndef ALM_SESSION_COPY_H
#define ALM_SESSION_COPY_H

#include "codec/parquet/request.h"
#include "session/core/session_state.h"
#include "session/transfer/load.h"

typedef struct alm_copy_options {
    alm_copy_format format;
    bool file; /* of the server: CSV is the default, and the words of files are known */
    bool match, forced;
    bool header_given, delimiter_given;
    alm_bad_rule rule;
    int64_t reject_limit; /* 0: none */
    bool silent, verbose; /* of lines with faults the client hears nothing, or all */
    alm_str pattern;      /* of times; ptr NULL: none */
    alm_str timestamp, partition_by;
    int32_t timestamp_pos, partition_pos;
    bool parquet; /* TO a file */
    alm_pq_request parquet_request;
} alm_copy_options;

ALM_NODISCARD alm_status alm_copy_options_read(alm_ctx *cx, const alm_stmt *stmt,
                                               alm_copy_options *out);
/* The options that name columns, of those that are copied. */
ALM_NODISCARD alm_status alm_copy_options_columns(alm_ctx *cx, const alm_stmt *stmt,
                                                  const char *const *names, uint32_t n,
                                                  alm_copy_format *format);

/* Column numbers that the statement names, or all. */
ALM_NODISCARD alm_status alm_copy_columns(alm_ctx *cx, const alm_stmt *stmt, const alm_table *table,
                                          uint32_t **out, uint32_t *n);

/* A name of a file below a folder, whose setting is `key` and says `root`. */
ALM_NODISCARD alm_status alm_copy_check_path(alm_ctx *cx, const alm_copy *copy, const char *key,
                                             const char *root);

/* copy_file.c, copy_jobs.c */
alm_status alm_run_copy_file(alm_cursor *cursor, const alm_stmt *stmt);
alm_status alm_run_copy_cancel(alm_cursor *cursor, const alm_stmt *stmt);

#endif
