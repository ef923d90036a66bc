/* reader_state.h - what the parts of the reader share. Private to codec/parquet. */
#ifndef ALM_CODEC_PARQUET_READER_STATE_H
#define ALM_CODEC_PARQUET_READER_STATE_H

#include "codec/parquet/reader.h"

enum { ALM_PQ_LEVEL_MAX = 250, ALM_PQ_LISTS_MAX = 16 };

/* How values of a physical type become values of the column's type. */
typedef enum alm_pq_way {
    ALM_PQ_WAY_COPY,    /* the same bytes */
    ALM_PQ_WAY_NARROW,  /* INT32 to 1 or 2 bytes */
    ALM_PQ_WAY_WIDEN,   /* INT32 to 8 bytes, with its sign */
    ALM_PQ_WAY_WIDEN_U, /* INT32 to 8 bytes, without */
    ALM_PQ_WAY_TIMES,   /* INT32 or INT64 times `factor` to 8 bytes; beyond: an error */
    ALM_PQ_WAY_U64,     /* INT64 as an unsigned number to DECIMAL(20, 0) */
    ALM_PQ_WAY_INT96,   /* day and nanoseconds of it to microseconds */
    ALM_PQ_WAY_FLOAT16,
    ALM_PQ_WAY_DECIMAL, /* any carrier */
    ALM_PQ_WAY_UUID,
    ALM_PQ_WAY_BYTES,    /* FIXED to a view */
    ALM_PQ_WAY_CHAR,     /* the first UTF-16 unit of a text */
    ALM_PQ_WAY_CLOCK,    /* time of day as text; `factor`: nanoseconds of a unit */
    ALM_PQ_WAY_DURATION, /* INTERVAL as text */
    ALM_PQ_WAY_NULL      /* UNKNOWN: nulls only */
} alm_pq_way;

typedef struct alm_pq_leaf {
    const alm_pq_schema_element *element;
    const char *path; /* dotted, for errors */
    alm_pq_physical physical;
    uint32_t length; /* bytes of a FIXED value */
    uint32_t max_def, max_rep;
    uint8_t
        list_def[ALM_PQ_LISTS_MAX]; /* definition level of each list around it that has elements */
    alm_pq_way way;
    int64_t factor;
    alm_type type;  /* of a value: an element where the column is a list */
    uint32_t width; /* of it */
} alm_pq_leaf;

struct alm_pq_file {
    const char *name;
    const char *bytes;
    int64_t data_end; /* the footer begins */
    alm_pq_file_meta meta;
    alm_pq_leaf *leaf;
    uint32_t n_leaves;
    alm_pq_read_col *column;
    uint32_t n_columns;
    int32_t ts_col;
};

/* Bytes of a value as PLAIN; 0: BYTE_ARRAY and BOOLEAN. */
uint32_t alm_pq_plain_width(const alm_pq_leaf *leaf);
/* Fills leaf, column and ts_col from the schema (reader_types.c). */
ALM_NODISCARD alm_status alm_pq_map_schema(alm_ctx *cx, alm_arena *arena, alm_pq_file *file);
/* A range of the file before the footer; false: it is not in it. */
bool alm_pq_slice(const alm_pq_file *file, int64_t offset, int64_t bytes, alm_str *out);
/* ALM_E_FORMAT: "file, row group, column: reason". */
alm_status alm_pq_fail(alm_ctx *cx, const alm_pq_file *file, int64_t group, const char *column,
                       const char *format, ...) ALM_PRINTF(5, 6);

/* n values: `input` is physical (BYTE_ARRAY: views in address form; FIXED: their bytes; BOOLEAN: a byte), out is of
 * the leaf's type. Texts that are made come from `arena`. NULL, or why a value cannot be one. */
ALM_NODISCARD alm_status alm_pq_convert(alm_ctx *cx, alm_arena *arena, const alm_pq_leaf *leaf,
                                        const void *input, size_t n, void *out, const char **bad);
/* Values of a text are UTF-8: NULL, or why not. Of other types there is nothing to say. */
const char *alm_pq_check_texts(const alm_pq_leaf *leaf, const void *values, uint32_t n);
/* Is one of n values, of this type, the null of it? True also where that is not worth a look. */
bool alm_pq_has_null(alm_type type, const void *values, size_t n);
/* The same, and what is not finite becomes the null of FLOAT and DOUBLE. */
bool alm_pq_settle_nulls(alm_type type, void *values, size_t n);
uint32_t alm_pq_physical_width(const alm_pq_leaf *leaf); /* of `in` */

#endif
