/*
 * asof_right.h - the right side of ASOF and LT joins as rows in time order that any thread can look at
 * by number: where a time lies, which row of a key comes before or after a row, what columns hold.
 *
 * Rows        Numbered from 0 in time order over all segments. A segment is a span of a plain scan, read
 *             where it lies and only where it is asked for (spans that have to be merged are copied), or
 *             all rows of another input, copied. Match numbers are row + 1; 0 is "no row".
 * Keys        none: every row. code: one SYMBOL column, its codes. number: anything else, numbers of a
 *             key map, made when the side is prepared, 4 bytes per row.
 * Positions   A position p is a number of rows: rows [0, p) lie before it.
 * Threads     alm_asof_right is made once and only read; a reader belongs to one thread.
 * Null rule   Null keys are equal. "No row" gives nulls.
 */
#ifndef ALM_EXEC_ASOF_RIGHT_H
#define ALM_EXEC_ASOF_RIGHT_H

#include "exec/data/rows.h"
#include "exec/join/asof.h"

enum { ALM_ASOF_PAGE = ALM_BATCH_ROWS };

typedef enum alm_asof_keys { ALM_ASOF_NO_KEY, ALM_ASOF_CODE, ALM_ASOF_NUMBER } alm_asof_keys;

typedef struct alm_asof_segment {
    uint32_t first, rows;
    uint32_t span; /* of the scan, UINT32_MAX: rows [at, at + rows) of the store */
    uint32_t at;
    uint32_t page; /* number of its first page, over all segments */
} alm_asof_segment;

typedef struct alm_asof_right {
    alm_arena arena; /* own, so that it may outlive the thread context that made it */
    alm_pool pool;
    const alm_plan *plan;
    const alm_scan_ops *scans; /* the functions for `scan` */
    const alm_scan *scan;      /* NULL: all rows are in the store */
    alm_rows store;
    alm_asof_segment *segment;
    uint32_t n_segments, n_pages, n;
    alm_asof_units units;
    alm_asof_keys keys;
    uint32_t key_col;     /* CODE */
    const alm_dict *dict; /* CODE */
    alm_keymap *map;      /* NUMBER */
    uint32_t *number;     /* NUMBER, by row */
    uint32_t n_numbers;
    bool *needed; /* by column of the right input: the result shows it */
} alm_asof_right;

/* Can this join be answered this way, in parallel, without a bound on memory that a stream has? */
bool alm_asof_fits(const alm_plan *plan);
ALM_NODISCARD alm_status alm_asof_right_new(alm_ctx *cx, alm_run *run, const alm_plan *plan,
                                            alm_asof_right **out);
void alm_asof_right_free(alm_asof_right *right); /* NULL is fine */

/* --------------------------------------------------------------------------------- reading */

typedef struct alm_asof_reader {
    const alm_asof_right *right;
    alm_scan_cursor *cur;
    alm_vec *vec;  /* by segment and column: row 0 of the segment, once a page was asked for */
    uint8_t *seen; /* by page: ALM_ASOF_KEYS, ALM_ASOF_VALUES */
    alm_vec *read; /* what storage gives */
    bool *wanted[2];
    uint8_t none;
} alm_asof_reader;

/* Memory from cx->arena, which must outlive it. */
ALM_NODISCARD alm_status alm_asof_reader_new(alm_ctx *cx, const alm_asof_right *right,
                                             alm_asof_reader *out);
/* Segment that holds `row`; `hint`: a segment near by. */
uint32_t alm_asof_segment_of(const alm_asof_right *right, uint32_t row, uint32_t hint);
/* Makes times and keys (values: columns of the result) of rows [lo, hi) of a segment readable. */
ALM_NODISCARD alm_status alm_asof_touch(alm_ctx *cx, alm_asof_reader *reader, uint32_t segment,
                                        uint32_t lo, uint32_t hi, bool values);
const int64_t *alm_asof_times_of(const alm_asof_reader *reader, uint32_t segment);
/* Keys of a segment by row; *width 0: there is no key, all are equal. */
const void *alm_asof_keys_of(const alm_asof_reader *reader, uint32_t segment, uint32_t *width);
/* How many rows have a time <= bound (in the unit of the right side), at least `from`. */
ALM_NODISCARD alm_status alm_asof_position(alm_ctx *cx, alm_asof_reader *reader, int64_t bound,
                                           uint32_t from, uint32_t *out);
/* Last row in [lo, hi) with the key, or first one: match number, 0 for none. */
ALM_NODISCARD alm_status alm_asof_look_back(alm_ctx *cx, alm_asof_reader *reader, uint32_t key,
                                            uint32_t lo, uint32_t hi, uint32_t *match);
ALM_NODISCARD alm_status alm_asof_look_ahead(alm_ctx *cx, alm_asof_reader *reader, uint32_t key,
                                             uint32_t lo, uint32_t hi, uint32_t *match);
/* Times of the rows of n match numbers, in the unit of the right side; 0 gives INT64_MIN. */
ALM_NODISCARD alm_status alm_asof_gather_times(alm_ctx *cx, alm_asof_reader *reader,
                                               alm_arena *arena, const uint32_t *match, uint32_t n,
                                               int64_t **out);
/* Columns of the rows of n match numbers into out[0..columns of the right input); those the result
 * does not show are null constants. */
ALM_NODISCARD alm_status alm_asof_gather(alm_ctx *cx, alm_asof_reader *reader, alm_arena *arena,
                                         const uint32_t *match, uint32_t n, alm_vec *out);

#endif
