/*
 * slide.h - sums, extremes and counts of the frame that ends at each row (or some ticks before
 * it), for all partitions at once, rows in the order they come.
 *
 * Shapes      TOTAL  everything so far; ROWS  the last back + 1 rows; RANGE  rows with
 *             ts - back <= time <= ts - ahead.
 * Values      Dense: double (floating), else int64; for COUNT int64 that are 0 or 1.
 * Null rule   A null (floating: no finite number; COUNT: 0) adds nothing; a frame without a value gives
 *             null.
 * Sums        Nothing is ever subtracted: a frame is a suffix of older rows and a prefix of newer ones
 *             (van Herk, Gil and Werman), so that sums do not drift. Two operations per row.
 */
#ifndef ALM_EXEC_WINDOW_SLIDE_H
#define ALM_EXEC_WINDOW_SLIDE_H

#include "exec/run/op.h"

typedef enum alm_slide_op {
    ALM_SLIDE_COUNT,
    ALM_SLIDE_SUM,
    ALM_SLIDE_AVG,
    ALM_SLIDE_MIN,
    ALM_SLIDE_MAX
} alm_slide_op;

/* Is the call one of these over values of these types? */
bool alm_slide_op_of(const alm_window_call *call, alm_slide_op *op, bool *floating);

typedef enum alm_slide_shape { ALM_SLIDE_TOTAL, ALM_SLIDE_ROWS, ALM_SLIDE_RANGE } alm_slide_shape;

typedef struct alm_slide_spec {
    alm_slide_op op;
    alm_slide_shape shape;
    bool floating;
    int64_t back, ahead;
    int32_t pos;
} alm_slide_spec;

enum { ALM_SLIDE_ROWS_MAX = INT32_MAX / 2 }; /* of back */

typedef struct alm_slide alm_slide;

ALM_NODISCARD alm_status alm_slide_new(alm_ctx *cx, alm_pool *pool, const alm_slide_spec *spec,
                                       alm_slide **out);
/* Makes room for partitions 0..n-1. */
ALM_NODISCARD alm_status alm_slide_reserve(alm_ctx *cx, alm_slide *slide, uint32_t n);
/* The next n rows. number: their partitions, all 0 where `single` is set. RANGE: ts, ascending. out: n
 * results of 8 bytes, not the array of the values. */
ALM_NODISCARD alm_status alm_slide_run(alm_ctx *cx, alm_slide *slide, uint32_t n,
                                       const uint32_t *number, bool single, const int64_t *ts,
                                       const void *values, void *out);

/* ------------------------------------------------------------------- frames of rows in memory */

/* One partition: n rows, 8-byte values as above (COUNT has none). */
typedef struct alm_slide_part {
    alm_slide_op op;
    bool floating;
    uint32_t n;
    const void *value;
    const uint8_t *pass; /* FILTER: 1 where the row counts; NULL: all do */
    /* Room: n values each; n + 1 counts */
    void *plain, *suffix;
    uint32_t *before;
} alm_slide_part;

/* Makes plain (values, nulls as what changes nothing) and before (values among the first i rows). */
void alm_slide_prepare(const alm_slide_part *slide_part);
/* out[i]: values [lo[i], hi[i]) together; neither border ever goes back. */
void alm_slide_frames(const alm_slide_part *slide_part, const uint32_t *lo, const uint32_t *hi,
                      void *out);
/* a[i] and after it b[i] */
void alm_slide_merge(const alm_slide_part *slide_part, const void *b, void *a);
/* Results from what the frames gave and how many values they have. */
void alm_slide_settle(const alm_slide_part *slide_part, const uint32_t *count, void *out);

#endif
