/*
 * format.h - the metadata of a Parquet file as structs: what stands in its footer, before its pages and in
 * its indexes. Reader (meta_read.c) and writer (meta_write.c) share them.
 *
 * Ownership   The memory belongs to an arena; texts are slices of the bytes the metadata was read from.
 * Null rule   A number that is not there is -1; `has_` says it where -1 is a value.
 * Source      parquet.thrift of Apache Parquet 2.11; names as there.
 */
#ifndef ALM_CODEC_PARQUET_FORMAT_H
#define ALM_CODEC_PARQUET_FORMAT_H

#include "base/base.h"
#include "type/parquet.h"

#define ALM_PQ_MAGIC           "PAR1"
#define ALM_PQ_MAGIC_ENCRYPTED "PARE"
enum { ALM_PQ_MAGIC_BYTES = 4, ALM_PQ_TAIL_BYTES = 8 }; /* tail: length of the footer, magic */

/*
 * The types of the columns as Almanac has them, so that what it wrote comes back as it was: a value of the
 * key-value metadata under this key. JSON: {"version":1,"columns":["TIMESTAMP","SYMBOL", ...],
 * "timestamp":0}: one type (alm_type_name) for each field below the root of the schema, in their order; the
 * field that is the designated timestamp, in ascending order, or -1. A type that a field cannot hold is
 * ignored (reader_types.c).
 */
#define ALM_PQ_KEY "almanac"

typedef enum alm_pq_repetition {
    ALM_PQ_REQUIRED,
    ALM_PQ_OPTIONAL,
    ALM_PQ_REPEATED
} alm_pq_repetition;

typedef enum alm_pq_encoding {
    ALM_PQ_PLAIN = 0,
    ALM_PQ_PLAIN_DICTIONARY = 2,
    ALM_PQ_RLE = 3,
    ALM_PQ_BIT_PACKED = 4,
    ALM_PQ_DELTA_BINARY_PACKED = 5,
    ALM_PQ_DELTA_LENGTH_BYTE_ARRAY = 6,
    ALM_PQ_DELTA_BYTE_ARRAY = 7,
    ALM_PQ_RLE_DICTIONARY = 8,
    ALM_PQ_BYTE_STREAM_SPLIT = 9,
    ALM_PQ_ENCODING_COUNT
} alm_pq_encoding;

typedef enum alm_pq_codec {
    ALM_PQ_UNCOMPRESSED = 0,
    ALM_PQ_SNAPPY = 1,
    ALM_PQ_GZIP = 2,
    ALM_PQ_LZO = 3,
    ALM_PQ_BROTLI = 4,
    ALM_PQ_LZ4 = 5, /* Hadoop's framing */
    ALM_PQ_ZSTD = 6,
    ALM_PQ_LZ4_RAW = 7,
    ALM_PQ_CODEC_COUNT
} alm_pq_codec;

typedef enum alm_pq_page_type {
    ALM_PQ_PAGE_DATA = 0,
    ALM_PQ_PAGE_INDEX = 1,
    ALM_PQ_PAGE_DICTIONARY = 2,
    ALM_PQ_PAGE_DATA_V2 = 3,
    ALM_PQ_PAGE_TYPE_COUNT
} alm_pq_page_type;

typedef enum alm_pq_boundary {
    ALM_PQ_UNORDERED,
    ALM_PQ_ASCENDING,
    ALM_PQ_DESCENDING
} alm_pq_boundary;

typedef struct alm_pq_schema_element {
    alm_str name;
    int8_t physical;    /* alm_pq_physical, -1: a group */
    int8_t repetition;  /* alm_pq_repetition; the root: -1 */
    int8_t converted;   /* alm_pq_converted */
    uint8_t logical;    /* alm_pq_logical */
    uint8_t unit;       /* alm_pq_unit of TIME and TIMESTAMP; 0: one this reader does not know */
    bool utc;           /* of TIME and TIMESTAMP: isAdjustedToUTC */
    uint8_t bits;       /* of INTEGER */
    bool is_signed;     /* of INTEGER */
    int32_t length;     /* of FIXED, bytes */
    int32_t n_children; /* of a group */
    int32_t scale, precision;
    int32_t field_id;
} alm_pq_schema_element;

/* Least and greatest value as PLAIN without a length; ptr NULL: not known. */
typedef struct alm_pq_statistics {
    alm_str min_value, max_value;
    alm_str min, max; /* deprecated: signed order of bytes, only good for signed numbers */
    int64_t null_count, distinct_count;
    bool min_inexact, max_inexact; /* cut texts: bounds, but no values */
} alm_pq_statistics;

typedef struct alm_pq_key_value {
    alm_str key, value; /* value.ptr NULL: none */
} alm_pq_key_value;

typedef struct alm_pq_sorting_column {
    int32_t column; /* number of the leaf in the row group */
    bool descending, nulls_first;
} alm_pq_sorting_column;

typedef struct alm_pq_encoding_stats {
    int8_t page_type, encoding;
    int32_t count;
} alm_pq_encoding_stats;

typedef struct alm_pq_column_chunk {
    alm_str file_path; /* ptr NULL: in this file */
    alm_str *path;     /* names from below the root to the leaf */
    uint32_t n_path;
    int8_t physical;
    int8_t codec;
    bool encrypted;
    bool has_meta;
    uint32_t encodings; /* bits 1 << alm_pq_encoding */
    int64_t n_values;   /* with nulls */
    int64_t uncompressed_bytes, compressed_bytes;
    int64_t data_offset, index_offset, dictionary_offset; /* -1 none */
    int64_t bloom_offset;
    int32_t bloom_bytes;
    int64_t offset_index_offset, column_index_offset;
    int32_t offset_index_bytes, column_index_bytes;
    bool has_statistics;
    alm_pq_statistics statistics;
    alm_pq_key_value *key_value;
    uint32_t n_key_value;
    alm_pq_encoding_stats *encoding_stats;
    uint32_t n_encoding_stats;
} alm_pq_column_chunk;

typedef struct alm_pq_row_group {
    alm_pq_column_chunk *column; /* one for each leaf of the schema */
    uint32_t n_columns;
    int64_t n_rows;
    int64_t uncompressed_bytes, compressed_bytes; /* compressed: -1 not known */
    int64_t file_offset;
    int32_t ordinal;
    alm_pq_sorting_column *sorting;
    uint32_t n_sorting;
} alm_pq_row_group;

typedef struct alm_pq_file_meta {
    int32_t version;
    int64_t n_rows;
    alm_pq_schema_element *schema; /* depth first; the first one is the root */
    uint32_t n_schema;
    alm_pq_row_group *row_group;
    uint32_t n_row_groups;
    alm_pq_key_value *key_value;
    uint32_t n_key_value;
    alm_str created_by; /* ptr NULL: unknown */
    bool has_column_orders;
    bool encrypted;
} alm_pq_file_meta;

typedef struct alm_pq_page_header {
    int8_t type; /* alm_pq_page_type */
    int32_t uncompressed_bytes, compressed_bytes;
    bool has_crc;
    uint32_t crc;
    int32_t n_values, n_nulls, n_rows; /* v1: n_nulls and n_rows are -1 */
    int8_t encoding;
    int8_t def_encoding, rep_encoding; /* v1 */
    int32_t def_bytes, rep_bytes;      /* v2 */
    bool is_compressed;                /* v2; else true */
    bool is_sorted;                    /* dictionary */
    bool has_statistics;
    alm_pq_statistics statistics;
} alm_pq_page_header;

typedef struct alm_pq_page_location {
    int64_t offset; /* in the file, of the page's header */
    int32_t bytes;  /* header and data */
    int64_t first_row;
} alm_pq_page_location;

typedef struct alm_pq_offset_index {
    alm_pq_page_location *page;
    uint32_t n_pages;
} alm_pq_offset_index;

typedef struct alm_pq_column_index {
    uint32_t n_pages;
    bool *null_page;
    alm_str *min, *max;
    int64_t *null_count; /* NULL: not known */
    uint8_t boundary;    /* alm_pq_boundary */
} alm_pq_column_index;

/* Names as in the specification, for parquet_metadata and errors; "?" for numbers beyond it. */
const char *alm_pq_physical_name(int32_t value);
const char *alm_pq_converted_name(int32_t value);
const char *alm_pq_logical_name(int32_t value);
const char *alm_pq_encoding_name(int32_t value);
const char *alm_pq_codec_name(int32_t value);

#endif
