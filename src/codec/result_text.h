/*
 * result_text.h - batches as the rows of a JSON result, a CSV file or JSON lines.
 *
 * Forms       /exec and /exp (docs/reference/rest.md): JSON rows are arrays, null is null (CHAR: "");
 *             CSV quotes text and times, leaves numbers and booleans bare, writes null as an empty
 *             field, ends rows by CRLF. JSON lines: an object per row, ended by LF, null always null.
 * Shapes      Batches without pending selection; columns dense or const.
 * Cost        one pass over the rows, no allocation per cell; buffers grow.
 * Memory      rows stop where enough bytes are there, within a row and within a long text too: few rows may be
 *             any number of bytes (a constant, a text that many columns show). Arrays are written whole.
 * Threads     A writer belongs to one thread at a time.
 */
#ifndef ALM_CODEC_RESULT_TEXT_H
#define ALM_CODEC_RESULT_TEXT_H

#include "type/vector.h"

typedef enum alm_result_form { ALM_RESULT_JSON, ALM_RESULT_CSV, ALM_RESULT_NDJSON } alm_result_form;

typedef struct alm_result_writer alm_result_writer;

typedef struct alm_result_options {
    alm_result_form form;
    bool quote_long;      /* JSON: LONG as strings, for clients whose numbers are doubles */
    bool lines;           /* JSON: LF behind each row, which stands nowhere else */
    char delimiter;       /* CSV */
    const uint32_t *cols; /* which columns, in which order; NULL: all */
    uint32_t n_cols;
    const char *const *names; /* JSON lines: of all columns */
} alm_result_options;

ALM_NODISCARD alm_status alm_result_writer_new(alm_ctx *cx, alm_arena *arena, const alm_type *types,
                                               uint32_t n_types, const alm_result_options *options,
                                               alm_result_writer **out);
/*
 * Appends rows [*row, to) of the batch until `out` has `enough` bytes. *row: the row to go on with; `to`: all are there. A row that is
 * there in part is gone on with first, so the next call is for the same batch, from *row. JSON: with a comma before every row but the
 * first ever.
 */
ALM_NODISCARD alm_status alm_result_rows(alm_ctx *cx, alm_result_writer *writer,
                                         const alm_batch *batch, uint32_t *row, uint32_t to,
                                         size_t enough, alm_buf *out);
/* Did the last call stop within a row? */
bool alm_result_in_row(const alm_result_writer *writer);
/* A CSV field in quotes, quotes doubled (RFC 4180). */
ALM_NODISCARD alm_status alm_csv_put_quoted(alm_ctx *cx, alm_buf *out, alm_str text);

#endif
