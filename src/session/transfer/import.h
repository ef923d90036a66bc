/*
 * import.h - a CSV file into a table that is there, or is made for it: what /imp and COPY FROM 'file'
 * share. The bytes come in pieces; the first of them tell delimiter, header and types. A Parquet file is
 * kept in a temporary file until all of it is there, and then read (parquet_load.h). What is packed by gzip or zstd is unpacked
 * as it comes, up to http.request.body.max; NDJSON is read by its keys; other files are refused by name (codec/file_kind.h).
 *
 * All or nothing   Rows, and a table that is made, are visible when alm_import_finish has returned.
 * Columns          of a table that is there: by the names of the header (or those that `adjust` gave),
 *                  each of which it must have; without names by their order. A first record of names
 *                  of the table alone is a header.
 */
#ifndef ALM_SESSION_IMPORT_H
#define ALM_SESSION_IMPORT_H

#include "session/session.h"
#include "session/transfer/load.h"

typedef enum alm_import_kind {
    ALM_IMPORT_CSV,
    ALM_IMPORT_PARQUET,
    ALM_IMPORT_NDJSON,
    ALM_IMPORT_ANY /* Parquet, if the first bytes are PAR1; NDJSON, if the first line is an object; else CSV */
} alm_import_kind;

typedef struct alm_import_conf {
    alm_import_kind kind;
    alm_parquet_part part; /* Parquet: what comes, to be looked at; zeros: a file */
    uint32_t
        look; /* so many rows are told as texts (but of a CSV file that is not packed); nothing is committed; 0: all rows */
    alm_str table;
    alm_str timestamp, partition_by; /* of a table that is made; ptr NULL or empty: none */
    alm_str owner;                   /* of a table that is made; ptr NULL: the user */
    alm_str pattern;                 /* of the designated timestamp; empty: as casts read times */
    alm_epoch unit;                  /* of numbers in it; NONE: the ticks of its type */
    bool overwrite, create;
    bool skip_extra; /* see alm_load */
    alm_csv_header header;
    char delimiter; /* 0: found */
    alm_bad_rule rule;
    int64_t skip_max;                            /* see alm_load */
    int64_t max_uncommitted_rows, o3_max_lag_us; /* of a table that is made; 0: as configured */
    /* Changes what was found of the file; NULL: nothing. */
    alm_status (*adjust)(alm_ctx *cx, void *arg, alm_csv_shape *shape);
    void *arg;
    alm_str what; /* begins messages about records */
    /* A form of COPY; NULL: CSV, and the file says how. It is for tables that are there. Its flags of
     * columns stand in the order of `columns`. */
    const alm_copy_format *format;
    const char *const *columns; /* that the records have, or that the flags are of */
    uint32_t n_columns;
    bool listed; /* the records have `columns`, whatever the header says */
    bool match;  /* the header has their names */
} alm_import_conf;

typedef struct alm_import {
    alm_import_conf conf;
    alm_session *session;
    alm_csv_shape shape; /* once started; n_cols 0: the file is empty */
    bool started, existed;
    const char *warnings[4];
    uint32_t n_warnings;
    alm_load load;
    alm_ingest *ingest; /* NULL before the start and after the end */
    int64_t imported;
    struct alm_parquet_load *parquet; /* of a Parquet file */
    int64_t file_rows; /* Parquet: that the file has, once it is all there; else -1 */
    /* Parquet, of a file that did not come whole: what more its first rows need, and from where on its end; 0: nothing */
    alm_parquet_part wanted;
    int64_t wanted_tail;
    const char **source; /* names of the columns in the file, where it has some; or NULL */
    alm_str *texts;      /* with `look`: of n_texts rows; ptr NULL: null */
    uint32_t n_texts;
    bool ndjson;
    struct alm_unpacker *unpacker; /* of a packed file */
    /* private */
    bool asked;          /* for the rights */
    bool looked;         /* what the file is, is known */
    bool cut;            /* the packed bytes end in the middle of a file, which is only looked at */
    const alm_str *keys; /* of NDJSON */
    alm_buf sample;
    uint32_t *table_col;
    bool marked; /* a byte order mark was looked for */
} alm_import;

/* cx->arena lives as long as the import. */
void alm_import_init(alm_ctx *cx, alm_import *import, alm_session *session,
                     const alm_import_conf *conf);
/* May the table of the settings be written, or any, where they name none? To be asked before the file comes. */
ALM_NODISCARD alm_status alm_import_may(alm_ctx *cx, alm_import *import);
ALM_NODISCARD alm_status alm_import_feed(alm_ctx *cx, alm_import *import, const char *bytes,
                                         size_t n);
/* No more bytes: takes the rest, except that nothing is committed yet. Of a Parquet file all rows are still to come:
 * alm_import_step takes a piece of them; *done: there are no more. */
ALM_NODISCARD alm_status alm_import_rest(alm_ctx *cx, alm_import *import);
ALM_NODISCARD alm_status alm_import_step(alm_ctx *cx, alm_import *import, bool *done);
ALM_NODISCARD alm_status alm_import_commit(alm_ctx *cx, alm_import *import);
/* What was not taken as it was said; one too many is left out. text must live as long as the import. */
void alm_import_warn(alm_import *import, const char *text);
void alm_import_deinit(alm_import *import); /* what was not committed is dropped */

#endif
