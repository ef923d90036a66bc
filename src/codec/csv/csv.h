/*
 * csv.h - CSV bytes to column batches: records and fields (RFC 4180, other delimiters too), detection
 * of delimiter, header and types, conversion a column at a time.
 *
 * Shapes      The reader takes bytes in any pieces and gives blocks of up to ALM_BATCH_ROWS records;
 *             fields stand column by column, so that each conversion is one loop over one type.
 * Text        Quoted fields may hold delimiters, line ends and doubled quotes. Line ends: LF, CRLF.
 *             Blank lines are skipped, a UTF-8 byte order mark is dropped. Bytes between a closing quote
 *             and the delimiter belong to the value. An unquoted empty field is
 *             null, a quoted one the empty text.
 * Limits      A record may have as many bytes as fit `record_max`, and as many fields as a table has
 *             columns; over it the import fails and names the line.
 * Memory      Blocks borrow the reader's buffer: valid until the next call on the reader.
 */
#ifndef ALM_CODEC_CSV_CSV_H
#define ALM_CODEC_CSV_CSV_H

#include "time/epoch.h"
#include "type/vector.h"

enum { ALM_CSV_COLS_MAX = 4096, ALM_CSV_NAME_MAX = 127 };

typedef struct alm_csv_field {
    uint32_t off; /* in the block's bytes, inside the quotes */
    uint32_t len;
    bool quoted;
    bool coded; /* the bytes are not the text: doubled quotes, backslashes */
    bool null;
} alm_csv_field;

typedef enum alm_csv_ragged {
    ALM_CSV_WHOLE,
    ALM_CSV_FEWER,     /* fields than columns */
    ALM_CSV_MORE,      /* and not all of those empty */
    ALM_CSV_NO_OBJECT, /* NDJSON: a line that is no JSON object */
    ALM_CSV_NEW_KEY    /* NDJSON: a key that is no column */
} alm_csv_ragged;

typedef struct alm_csv_block {
    const char *bytes;
    uint32_t rows;
    uint32_t cols; /* of every record in the block that is not ragged */
    uint32_t stride;
    alm_csv_field *fields; /* [col * stride + row]; missing ones are null */
    uint64_t *lines;       /* line number of each record, from 1 */
    uint8_t *ragged;       /* alm_csv_ragged */
    const struct alm_csv_rules *rules;
    const struct alm_time_pattern *const *patterns; /* by column, or NULL */
    const bool *exact;                              /* by column, or NULL */
    const alm_epoch *units;                         /* by column, or NULL */
    const struct alm_copy_format *copy;             /* what COPY sends; NULL: a CSV file */
} alm_csv_block;

typedef struct alm_csv_reader alm_csv_reader;

ALM_NODISCARD alm_status alm_csv_reader_new(alm_ctx *cx, alm_arena *arena, alm_mem *mem,
                                            char delimiter, uint32_t cols, size_t record_max,
                                            alm_csv_reader **out);
/* Times of column i are read by patterns[i], where that is not NULL; borrowed. */
void alm_csv_reader_patterns(alm_csv_reader *reader,
                             const struct alm_time_pattern *const *patterns);
/* Times of column i that are finer than its type are bad where exact[i]; else they are cut. Borrowed. */
void alm_csv_reader_exact(alm_csv_reader *reader, const bool *exact);
/* Numbers in a column of times count in units[i], where that is not NONE; else in the ticks of its type. Borrowed. */
void alm_csv_reader_units(alm_csv_reader *reader, const alm_epoch *units);
void alm_csv_reader_free(alm_csv_reader *reader);
ALM_NODISCARD alm_status alm_csv_feed(alm_ctx *cx, alm_csv_reader *reader, const char *bytes,
                                      size_t n);
/* Next block of complete records; rows == 0: feed more. last: no more bytes will come. */
ALM_NODISCARD alm_status alm_csv_next(alm_ctx *cx, alm_csv_reader *reader, bool last,
                                      alm_csv_block *out);
/* Text of a field; coded ones are decoded into arena memory. ptr NULL: null. */
ALM_NODISCARD alm_status alm_csv_text(alm_ctx *cx, alm_arena *arena, const alm_csv_block *block,
                                      const alm_csv_field *field, alm_str *out);

/* ------------------------------------------------------------------ detection */

typedef struct alm_csv_column {
    const char *name;
    const char *written; /* as the header has it; NULL: that is no name */
    alm_type type;
    alm_str pattern; /* of times; empty: as casts read them */
    bool found;      /* the type is what the sample fits; false: somebody chose it */
    bool whole;      /* the sample has whole numbers alone: from `least` to `greatest` */
    int64_t least, greatest;
    alm_epoch unit;  /* unit of epoch numbers, from the request; NONE: the type's own ticks */
    alm_epoch looks; /* NONE, or the unit that the numbers look like, which is another one */
} alm_csv_column;

typedef struct alm_csv_shape {
    char delimiter;
    bool header; /* the first record holds names */
    bool
        hollow; /* the last column has no name and no value in the sample: lines end with a delimiter */
    bool named; /* column names come from the header or the schema, not from positions */
    alm_csv_column *cols;
    uint32_t n_cols;
    uint32_t sample_rows;
} alm_csv_shape;

enum { ALM_CSV_SAMPLE_ROWS = 1000, ALM_CSV_SAMPLE_BYTES = 1 << 20 };

typedef enum alm_csv_header {
    ALM_CSV_HEADER_DETECT,
    ALM_CSV_HEADER_YES,
    ALM_CSV_HEADER_NO,
    ALM_CSV_HEADER_DETECT_LONE /* a line that looks like names is a header also where nothing is behind it */
} alm_csv_header;

/*
 * Looks at the start of a file. delimiter 0: the one of tab , | ; that splits the lines most evenly.
 * Types: the narrowest that takes all values of the sample; text is VARCHAR, never narrower. An empty
 * file gives n_cols 0.
 */
ALM_NODISCARD alm_status alm_csv_detect(alm_ctx *cx, alm_arena *arena, alm_str sample, bool whole,
                                        char delimiter, alm_csv_header header, alm_csv_shape *out);
/* A column name that a table can have: "a b" -> aB, "1x" -> _1x. */
ALM_NODISCARD alm_status alm_csv_clean_name(alm_ctx *cx, alm_arena *arena, alm_str raw,
                                            uint32_t col, const char **out);

/* ----------------------------------------------------------------- conversion */

/*
 * One column of a block as values of `type` (n = block->rows). bad[row] is set to 1 where the text is
 * not of the type; the value is null then (0 where there is none). *n_bad counts them. Text borrows
 * the block or arena memory.
 */
ALM_NODISCARD alm_status alm_csv_convert(alm_ctx *cx, alm_arena *arena, const alm_csv_block *block,
                                         uint32_t col, alm_type type, uint8_t *bad, uint32_t *n_bad,
                                         alm_vec *out);

#endif
