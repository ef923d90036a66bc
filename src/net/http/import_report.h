/* import_report.h - what /imp answers, as JSON or as a box of text, and its schema part. */
#ifndef ALM_NET_HTTP_IMPORT_REPORT_H
#define ALM_NET_HTTP_IMPORT_REPORT_H

#include "codec/csv/csv.h"
#include "storage/catalog.h"

typedef struct alm_import_report {
    alm_str name;
    bool header, existed;
    char delimiter;
    const char *const *warnings;
    uint32_t n_warnings;
    const char *const *faults; /* of lines, in words: the first of n_faulty */
    int64_t n_faulty;
    int64_t handled, imported, rejected;
    uint32_t n_cols;
    const char **col_names; /* of the file's columns, as the table has them */
    alm_type *col_types;
    int64_t *errors;
    alm_epoch *looks;                  /* of numbers as times: another unit than they are read in */
    const char *partition, *timestamp; /* timestamp NULL: none */
    const char *format;                /* parquet, ndjson; NULL: CSV */
    const char *packed;                /* gzip, zstd; NULL: not */
    int64_t file_rows;                 /* of a Parquet file */
    int64_t wanted_from,
        wanted_bytes;          /* its first row group, where it did not come; bytes 0: it did */
    int64_t wanted_tail;       /* from where on its end must come for those rows */
    const char *const *source; /* names of its columns in the file; NULL: the file has no others */
    const alm_str *texts;      /* of its first rows, by row; ptr NULL: null */
    uint32_t n_texts;          /* rows */
} alm_import_report;

ALM_NODISCARD alm_status alm_import_report_init(alm_ctx *cx, alm_arena *arena,
                                                alm_import_report *report,
                                                const alm_csv_shape *shape, const alm_table *table);
/* Copies what the report says of the table, which goes with the load. */
ALM_NODISCARD alm_status alm_import_report_table(alm_ctx *cx, alm_arena *arena,
                                                 alm_import_report *report, const alm_table *table);
ALM_NODISCARD alm_status alm_import_report_write(alm_ctx *cx, const alm_import_report *report,
                                                 bool json, alm_buf *out);
ALM_NODISCARD alm_status alm_import_report_failure(alm_ctx *cx, bool json, const char *message,
                                                   alm_buf *out);

/* [{"name":..,"type":..,"as":..}, ..]: types and new names of columns by name; in files without header names and types by
 * position. *unknown: a name that the header does not have, NULL: none. */
ALM_NODISCARD alm_status alm_schema_apply(alm_ctx *cx, alm_str schema, alm_csv_shape *shape,
                                          const char **unknown);

#endif
