/*
 * output.h - results as text on a stream, in one of the formats of output.c.
 *
 * Memory      Rows are written as they come. The table form keeps its first rows (at most 1,000, or
 *             1 MB) to measure columns; wider cells after them stand out.
 * Null        csv: an empty field, an empty text is ""; tsv: \N; json, ndjson: null; others: "null".
 */
#ifndef ALM_CLI_OUTPUT_H
#define ALM_CLI_OUTPUT_H

#include <stdio.h>

#include "base/base.h"

typedef enum alm_cell_kind { ALM_CELL_TEXT, ALM_CELL_NUMBER, ALM_CELL_BOOL } alm_cell_kind;

typedef struct alm_out_col {
    const char *name;
    alm_cell_kind kind;
} alm_out_col;

typedef struct alm_out alm_out;

/* What a format writes; NULL: nothing there. */
typedef struct alm_out_form {
    const char *name;
    alm_status (*begin)(alm_ctx *cx, alm_out *out);
    alm_status (*row)(alm_ctx *cx, alm_out *out, const alm_str *cells);
    alm_status (*end)(alm_ctx *cx, alm_out *out);
    bool tags;    /* statements without rows say what they did */
    bool parquet; /* results are files: the link gives their bytes to alm_out_raw */
} alm_out_form;

struct alm_out {
    FILE *to;
    const alm_out_form *form;
    alm_arena arena; /* of one result */
    alm_buf text;    /* written, not yet on its way */
    const alm_out_col *cols;
    alm_str *keys; /* json, ndjson: names as strings */
    alm_str *cells;
    uint32_t n_cols;
    int64_t rows;
    /* table */
    alm_buf kept, cell; /* rows that wait for the widths: 4 bytes of length, then the text */
    size_t *widths;
    int64_t n_kept;
    bool measured;
};

void alm_out_init(alm_out *out, FILE *to);
void alm_out_deinit(alm_out *out);
/* ALM_E_ARG names the formats there are. */
ALM_NODISCARD alm_status alm_out_format(alm_ctx *cx, alm_out *out, const char *name);

/* A result: begin, rows, end. cols are borrowed until the end; a cell of ptr NULL is null, and text of
 * a BOOL is t or f. After a failure alm_out_drop forgets it. */
ALM_NODISCARD alm_status alm_out_begin(alm_ctx *cx, alm_out *out, const alm_out_col *cols,
                                       uint32_t n);
ALM_NODISCARD alm_status alm_out_row(alm_ctx *cx, alm_out *out, const alm_str *cells);
ALM_NODISCARD alm_status alm_out_end(alm_ctx *cx, alm_out *out);
void alm_out_drop(alm_out *out);
/* Bytes of COPY TO STDOUT; what a statement without rows did, NULL: said
 * elsewhere. */
ALM_NODISCARD alm_status alm_out_raw(alm_ctx *cx, alm_out *out, const char *bytes, size_t n);
ALM_NODISCARD alm_status alm_out_tag(alm_ctx *cx, alm_out *out, const char *tag);

/* output_table.c */
alm_status alm_table_begin(alm_ctx *cx, alm_out *out);
alm_status alm_table_row(alm_ctx *cx, alm_out *out, const alm_str *cells);
alm_status alm_table_end(alm_ctx *cx, alm_out *out);
alm_status alm_vertical_begin(alm_ctx *cx, alm_out *out);
alm_status alm_vertical_row(alm_ctx *cx, alm_out *out, const alm_str *cells);

#endif
