/* cursor_state.h - the place of a cursor in a column, page by page. Private to codec/parquet. */
#ifndef ALM_CODEC_PARQUET_CURSOR_STATE_H
#define ALM_CODEC_PARQUET_CURSOR_STATE_H

#include "codec/compress/block.h"
#include "codec/parquet/decode.h"

enum {
    ALM_PQ_STEP = 1024, /* levels of a list that are read at once */
    ALM_PQ_ALIGN = 16   /* of the values of a page that are given out where they are */
};

struct alm_pq_cursor {
    const alm_pq_file *file;
    const alm_pq_leaf *leaf;
    alm_mem *mem;
    alm_block_codec codec;

    /* The row group. */
    int64_t group; /* -1: none yet */
    const alm_pq_column_chunk *chunk;
    int64_t at, begin, end;    /* next page, and the chunk, in the file */
    int64_t values_left;       /* of the pages behind the one at hand */
    int64_t row;               /* the next one */
    alm_arena group_arena;     /* what lives as long as the row group */
    alm_pq_offset_index index; /* n_pages = 0: none */
    bool index_read;
    int64_t index_rows; /* of the page it was used to go to, by the index; -1: none */

    /* Its dictionary: values of the leaf's type. */
    bool has_dict, dict_nulls; /* a value of it is the null of the type */
    alm_buf dict_page;
    void *dict; /* n_dict of leaf->width, in group_arena */
    uint32_t n_dict;
    alm_view *dict_views; /* null, then those of `dict`; made when asked for */

    /* The page. */
    bool in_page, coded;
    uint32_t page_values, page_left; /* values with nulls */
    alm_buf page;                    /* unpacked; empty: it stands in the file as it is */
    size_t lead;                     /* bytes of levels before the values of the last v1 page */
    alm_pq_runs def, rep;
    alm_pq_runs index_runs; /* numbers in the dictionary */
    alm_pq_decoder decoder;
    alm_buf last;     /* of the decoder */
    alm_buf *retired; /* pages that views of this call point to */
    uint32_t n_retired, cap_retired;

    /* Levels of a list that have been read, and values of it. */
    uint32_t level, n_levels;
    uint8_t def_level[ALM_PQ_STEP], rep_level[ALM_PQ_STEP];
    double element[ALM_PQ_STEP];
    uint32_t next_element;
    alm_buf elements; /* of the row */

    /* Scratch of a call. */
    uint8_t *defs;     /* ALM_BATCH_ROWS */
    uint32_t *codes;   /* ALM_BATCH_ROWS */
    void *physical;    /* ALM_BATCH_ROWS values as they are in the page */
    void *dense;       /* ALM_BATCH_ROWS values of the leaf's type */
    alm_arena scratch; /* of the four */
};

/* ALM_E_FORMAT at the place of the cursor. */
alm_status alm_pq_cursor_fail(alm_ctx *cx, const alm_pq_cursor *cur, const char *reason);
/* Begins a row group: its first page is the next one. */
ALM_NODISCARD alm_status alm_pq_cursor_enter(alm_ctx *cx, alm_pq_cursor *cur, uint32_t group);
/* The next page with values; without lists, pages before row `row` are passed over and counted. An error where the
 * chunk ends. */
ALM_NODISCARD alm_status alm_pq_cursor_page(alm_ctx *cx, alm_pq_cursor *cur, int64_t row);
/* Reads the dictionary of the row group, if it has one that is not read yet. */
ALM_NODISCARD alm_status alm_pq_cursor_dictionary(alm_ctx *cx, alm_pq_cursor *cur);
/* To the page that holds the row, by the offset index; where there is none, nothing. */
ALM_NODISCARD alm_status alm_pq_cursor_jump(alm_ctx *cx, alm_pq_cursor *cur, int64_t row);
/* k values that are not null, of the leaf's type; out NULL: left out. */
ALM_NODISCARD alm_status alm_pq_cursor_values(alm_ctx *cx, alm_pq_cursor *cur, alm_arena *arena,
                                              uint32_t k, void *out);
/* Rows of a list column (reader_list.c); out NULL: left out. */
ALM_NODISCARD alm_status alm_pq_cursor_lists(alm_ctx *cx, alm_pq_cursor *cur, alm_arena *arena,
                                             uint32_t n, alm_view *out);

#endif
