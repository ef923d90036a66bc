/*
 * copy.h - the formats of PostgreSQL's COPY, both ways: text, CSV and binary.
 *
 * Reading     A csv.h reader whose records follow the rules of the format; alm_csv_feed, alm_csv_next,
 *             alm_csv_convert and alm_csv_free work as for files. Bytes may come in any pieces.
 * Text        One record a line, LF or CRLF. A backslash escapes what follows: \b \f \n \r \t \v, \101,
 *             \x41, a delimiter, a line end, itself. A field that is the text of null as it stands is
 *             null. A line \. ends the data.
 * CSV         Quotes may open anywhere in a field; inside, `escape` stands before a quote or itself. A
 *             field without quotes that is the text of null is null. A line \. ends the data.
 * Binary      Signature, flags, extension; per row the number of fields, and each as length and bytes as
 *             on the wire (codec/pg); -1 instead of a number of fields ends the data.
 * Null rule   An empty text is no number: null must be written as null.
 * Source      PostgreSQL documentation, COPY, "File Formats".
 */
#ifndef ALM_CODEC_COPY_COPY_H
#define ALM_CODEC_COPY_COPY_H

#include "codec/csv/csv.h"

typedef enum alm_copy_kind { ALM_COPY_TEXT, ALM_COPY_CSV, ALM_COPY_BINARY } alm_copy_kind;

typedef struct alm_copy_format {
    alm_copy_kind kind;
    char delimiter, quote, escape; /* quote, escape: of CSV */
    alm_str null;
    bool header;
    /* Of CSV, a flag for each column or NULL: quote every value that is not null; read the text of null
     * as text; read it as null in quotes, too. */
    const bool *force_quote, *force_not_null, *force_null;
} alm_copy_format;

/* `format` and what it points to must outlive the reader. */
ALM_NODISCARD alm_status alm_copy_reader_new(alm_ctx *cx, alm_arena *arena, alm_mem *mem,
                                             const alm_copy_format *format, uint32_t cols,
                                             size_t record_max, alm_csv_reader **out);
/* The data is over, but a record is not: ALM_E_COPY_FORMAT. To be asked after the last block. */
ALM_NODISCARD alm_status alm_copy_complete(alm_ctx *cx, const alm_csv_reader *reader);

/* alm_csv_convert of a block of the binary format, into a fresh vector. */
ALM_NODISCARD alm_status alm_copy_convert_binary(alm_ctx *cx, alm_arena *arena,
                                                 const alm_csv_block *block, uint32_t col,
                                                 uint8_t *bad, uint32_t *n_bad, alm_vec *out);

/* Writing: what comes before the rows, one row, what comes behind them; appended to `out`. */
ALM_NODISCARD alm_status alm_copy_put_head(alm_ctx *cx, const alm_copy_format *format,
                                           const char *const *names, uint32_t n_names,
                                           alm_buf *out);
/* scratch: any buffer, used again for each row. */
ALM_NODISCARD alm_status alm_copy_put_row(alm_ctx *cx, const alm_copy_format *format,
                                          const alm_batch *batch, uint32_t row, alm_buf *scratch,
                                          alm_buf *out);
ALM_NODISCARD alm_status alm_copy_put_tail(alm_ctx *cx, const alm_copy_format *format,
                                           alm_buf *out);

#endif
