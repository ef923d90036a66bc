/*
 * csv_state.h - the reader behind csv.h, shared by the formats that come in records of fields: CSV files
 * and what COPY sends. Private to codec/csv and codec/copy.
 */
#ifndef ALM_CODEC_CSV_CSV_STATE_H
#define ALM_CODEC_CSV_CSV_STATE_H

#include "codec/csv/csv.h"

typedef struct alm_csv_record {
    bool found;        /* false: its end is not there yet */
    bool skip;         /* no record after all: a blank line, a mark */
    size_t len;        /* bytes without the line end */
    size_t next;       /* bytes to the following record */
    uint64_t newlines; /* line ends inside and behind it */
} alm_csv_record;

/* How a format finds records and fields. */
typedef struct alm_csv_rules {
    /* The record at r->at. last: no more bytes will come. */
    alm_status (*find)(alm_ctx *cx, alm_csv_reader *r, bool last, alm_csv_record *out);
    /* Fields of the n bytes at `base` into row `row` of the block. */
    void (*split)(alm_csv_reader *r, size_t base, size_t n, uint32_t row);
    /* The text that the raw bytes of a coded field stand for, into to[raw.len]; its length. */
    size_t (*decode)(const alm_csv_block *block, alm_str raw, char *to);
    bool ends_all; /* bytes behind the mark that ends the data are a fault, not ignored */
} alm_csv_rules;

struct alm_csv_reader {
    alm_mem *mem;
    alm_buf buf;
    size_t at;      /* start of the first unread record */
    size_t scanned; /* bytes behind `at` known to hold no end of it */
    bool scan_quoted;
    char delimiter;
    uint32_t cols, rows_max; /* rows of a block: fewer for wide files */
    size_t record_max;
    uint64_t line;
    bool started, headed; /* bytes were seen; the head of a binary file was */
    bool ended;           /* a mark said so: what follows is not data */
    const alm_csv_rules *rules;
    const struct alm_time_pattern *const *patterns;
    const bool *exact;
    const alm_epoch *units;
    const struct alm_copy_format *copy; /* of COPY, else NULL */
    const struct alm_csv_keys *keys;    /* of NDJSON, else NULL */
    alm_csv_field *fields;
    uint64_t *lines;
    uint8_t *ragged;
};

ALM_NODISCARD alm_status alm_csv_reader_make(alm_ctx *cx, alm_arena *arena, alm_mem *mem,
                                             const alm_csv_rules *rules, uint32_t cols,
                                             size_t record_max, alm_csv_reader **out);

/* Set of the types that a value fits, of which a column takes what all its values fit; texts of formats that tell
 * them from numbers fit none of those. */
uint32_t alm_csv_value_fits(alm_str text, bool is_text);
/* Widens the range of the column's whole numbers by a value; *none false at the first. */
void alm_csv_widen(alm_csv_column *col, bool *none, alm_str text);
/* any: the column has a value. */
alm_type alm_csv_type_of_fits(uint32_t fits, bool any);
/* A name as it is written, which a table made by SQL may have; unchanged: no table can. */
ALM_NODISCARD alm_status alm_csv_keep_written(alm_ctx *cx, alm_arena *arena, alm_str text,
                                              const char **out);

/* Field `col` of the row; false: there is no such column. */
static inline bool alm_csv_put(alm_csv_reader *reader, uint32_t row, uint32_t col,
                               alm_csv_field field)
{
    if (col >= reader->cols)
        return false;
    reader->fields[(size_t)col * reader->rows_max + row] = field;
    return true;
}

/* The row has `n` fields: the columns behind them are null. */
static inline void alm_csv_fill(alm_csv_reader *reader, uint32_t row, uint32_t n, size_t base)
{
    reader->ragged[row] = n < reader->cols   ? ALM_CSV_FEWER
                          : n > reader->cols ? ALM_CSV_MORE
                                             : ALM_CSV_WHOLE;
    for (uint32_t col = n; col < reader->cols; col++)
        (void)alm_csv_put(reader, row, col, (alm_csv_field){.off = (uint32_t)base, .null = true});
}

/* The record in front of a line end at `end` (found), or the rest. */
void alm_csv_line(const alm_csv_reader *reader, size_t end, bool found, alm_csv_record *out);

#endif
