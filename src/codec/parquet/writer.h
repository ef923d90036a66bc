/*
 * writer.h - batches as a Parquet file: a stream of bytes, in order, that any reader of the format takes.
 *
 * Use         alm_pq_writer_new, alm_pq_write for each batch, alm_pq_finish; then, or at any time
 *             to give up, alm_pq_writer_free. The bytes go to the sink as row groups end: to a file, an
 *             HTTP answer, a buffer. No byte is ever changed behind, so that the sink needs no seeking.
 * Shapes      Batches of any number of rows (not only ALM_BATCH_ROWS), columns dense or const, no selection. A batch may
 *             stand over mapped memory: rows are copied once.
 * Types       As write_shape.h maps them. What Parquet has no type for (GEOHASH, LONG256, SYMBOL, ...) is told by the
 *             key-value `almanac` (format.h), so that the reader gives the same types back.
 * Null rule   Sentinels become definition levels; BOOLEAN, BYTE and SHORT, and columns said to be `required`, have
 *             none. NaN and the infinities of FLOAT and DOUBLE are null. A null in a required column is ALM_E_VALUE.
 * Memory      The rows of one row group, and the encoded pages of it, both from the heap, charged to the
 *             account; pages' places for the index until the end (some 100 bytes a page).
 * Order       The same rows in the same batches or others give the same bytes: nothing depends on batch sizes,
 *             threads, addresses or time.
 * Errors      A failed writer takes no more rows; free it. ALM_E_LIMIT: a row group, page or dictionary over 2 GiB,
 *             ALM_E_MEMORY, ALM_E_CANCEL, what the sink returns.
 * Threads     A writer belongs to one thread at a time. Columns of a row group are encoded on all threads of `each`.
 * Source      https://parquet.apache.org/docs/file-format/ (format 2.11): parquet.thrift, Encodings.md, PageIndex.md,
 *             BloomFilter.md, LogicalTypes.md.
 */
#ifndef ALM_CODEC_PARQUET_WRITER_H
#define ALM_CODEC_PARQUET_WRITER_H

#include "type/vector.h"

/* Takes the next n bytes of the file. */
typedef alm_status (*alm_pq_sink)(alm_ctx *cx, void *arg, const void *bytes, size_t n);
/* Appends to an alm_buf, which is the `arg`. */
alm_status alm_pq_sink_buf(alm_ctx *cx, void *arg, const void *bytes, size_t n);

/* How the values of a column are encoded. AUTO takes the smallest of what fits the type, by the values. */
typedef enum alm_pq_hint {
    ALM_PQ_HINT_AUTO,
    ALM_PQ_HINT_PLAIN,
    ALM_PQ_HINT_DICTIONARY, /* while the dictionary is below 2^20 values; else as AUTO */
    ALM_PQ_HINT_DELTA,      /* whole numbers: DELTA_BINARY_PACKED; text: DELTA_LENGTH_BYTE_ARRAY */
    ALM_PQ_HINT_SPLIT       /* numbers: BYTE_STREAM_SPLIT */
} alm_pq_hint;

typedef struct alm_pq_column {
    const char *name;
    alm_type type; /* ALM_T_NULL: a text column of nulls */
    alm_pq_hint hint;
    bool required; /* no null will come */
    bool raw;      /* bit for bit: ARRAY as the bytes of type/array.h, CHAR as its number */
    bool bloom;    /* a bloom filter for each row group */
} alm_pq_column;

typedef struct alm_pq_sorting { /* of the rows within each row group */
    uint32_t column;
    bool descending, nulls_first;
} alm_pq_sorting;

/* The dictionary of a SYMBOL column of one row group, told when the row group has been written: index i of the dictionary page
 * is code[i] of `dict` (NULL: the batches had texts). */
typedef alm_status (*alm_pq_on_symbols)(alm_ctx *cx, void *arg, uint32_t row_group, uint32_t column,
                                        const alm_dict *dict, const uint32_t *code, uint32_t n);

/* Runs one(cx, arg, i) for i in [0, n), on as many threads as there are; the first error, if any. */
typedef alm_status (*alm_pq_each)(alm_ctx *cx, void *pool, uint32_t n,
                                  alm_status (*one)(alm_ctx *cx, void *arg, uint32_t i), void *arg);

enum {
    ALM_PQ_ROW_GROUP_ROWS = 100000,
    ALM_PQ_ROW_GROUP_BYTES = 128 << 20,
    ALM_PQ_PAGE_BYTES = 1 << 20,
    ALM_PQ_PAGE_ROWS = 20000,
    ALM_PQ_ZSTD_LEVEL = 3
};

typedef struct alm_pq_options {
    int32_t codec; /* CompressionCodec of the format; ZSTD if alm_pq_options_init set it */
    int32_t level; /* of zstd (1..22), gzip (0..9), brotli (0..11); -1: the codec's default */
    int64_t row_group_rows; /* a row group ends at exactly so many rows, ... */
    int64_t
        row_group_bytes;  /* ... or behind the batch that made its values so many bytes in memory */
    int64_t page_bytes;   /* a page ends when its values, not compressed, are so many bytes, ... */
    int64_t page_rows;    /* ... or at so many rows */
    int32_t page_version; /* 1 or 2: of data pages */
    bool no_statistics;   /* neither of chunks nor of pages */
    bool no_page_index;   /* column index and offset index */
    bool no_checksums;    /* CRC-32 of pages */
    const alm_pq_sorting *sorting; /* as the rows come: the writer does not sort */
    uint32_t n_sorting;
    int32_t ts_col; /* the designated timestamp, told in the key-value `almanac`; -1: none */
    alm_pq_on_symbols on_symbols; /* may be NULL */
    void *symbols_arg;
    alm_pq_each each; /* NULL: on this thread */
    void *pool;
    alm_mem *mem; /* account of buffers; may be NULL */
} alm_pq_options;

/* The defaults, as above. */
void alm_pq_options_init(alm_pq_options *options);

typedef struct alm_pq_writer alm_pq_writer;

/* Names and types are copied. Writes the magic. ALM_E_ARG: an option out of its range. */
ALM_NODISCARD alm_status alm_pq_writer_new(alm_ctx *cx, const alm_pq_column *columns, uint32_t n,
                                           const alm_pq_options *options, alm_pq_sink sink,
                                           void *arg, alm_pq_writer **out);
/* Rows [from, to) of the batch; what they point to may go when this returns. */
ALM_NODISCARD alm_status alm_pq_write(alm_ctx *cx, alm_pq_writer *writer, const alm_batch *batch,
                                      uint32_t from, uint32_t to);
/* Ends the row group, if it has rows. */
ALM_NODISCARD alm_status alm_pq_end_row_group(alm_ctx *cx, alm_pq_writer *writer);
/* A pair of the file's key-value metadata; at any time before finish; both are copied. */
ALM_NODISCARD alm_status alm_pq_put_key_value(alm_ctx *cx, alm_pq_writer *writer, alm_str key,
                                              alm_str value);
/* The last row group, the indexes, the footer. */
ALM_NODISCARD alm_status alm_pq_finish(alm_ctx *cx, alm_pq_writer *writer);
void alm_pq_writer_free(alm_pq_writer *writer); /* NULL is fine */

/* So far, without what waits for the end of its row group. */
int64_t alm_pq_writer_bytes(const alm_pq_writer *writer);
int64_t alm_pq_writer_rows(const alm_pq_writer *writer); /* all that came */

#endif
