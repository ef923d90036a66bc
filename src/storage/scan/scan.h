/*
 * scan.h - inner side of the scans of storage.h: a scan of a bare version, where its spans lie, and
 * the merged order of a span. For update, compaction and flush.
 *
 * Span        One direct piece, or up to ALM_SCAN_SPAN_ROWS rows merged from several pieces (more
 *             only where more rows than that share one timestamp of a dedup table).
 * Threads     A scan is read-only once made; a cursor belongs to one thread.
 */
#ifndef ALM_STORAGE_SCAN_H
#define ALM_STORAGE_SCAN_H

#include "storage/part/part.h"
#include "storage/version/merge.h"
#include "storage/version/version.h"

enum { ALM_SCAN_SPAN_ROWS = 65536 };

/* Rows [lo, hi) of one part or head chunk. */
typedef struct alm_scan_piece {
    const alm_part_ref *part; /* NULL: a chunk */
    const alm_chunk *chunk;
    uint64_t rank; /* order of insertion; plan.c */
    int64_t lo, hi;
    int64_t min_ts, max_ts; /* bounds of these rows */
    int32_t last;           /* hi - 1: the last row of code 0 where a column is missing */
} alm_scan_piece;

typedef struct alm_scan_span {
    int64_t rows;
    int64_t min_ts, max_ts;
    uint32_t piece, n_pieces; /* in scan->pieces, by rank; 1: direct */
    const uint64_t *order;    /* dedup: the rows that stay; else NULL, merged by the cursor */
} alm_scan_span;

struct alm_scan {
    const alm_version *version;
    const uint32_t *cols;
    uint32_t n_cols;
    alm_scan_span *spans;
    size_t n_spans, cap_spans;
    alm_scan_piece *pieces;
    size_t n_pieces, cap_pieces;
    int64_t rows;
    uint64_t rewrite; /* alm_ctx.rewrite of who made it */
};

/* alm_scan_new of a version that need not be in a snapshot; it must outlive the scan. */
ALM_NODISCARD alm_status alm_scan_new_version(alm_ctx *cx, alm_arena *arena,
                                              const alm_version *version, const alm_scan_spec *spec,
                                              alm_scan **out);

/* Timestamps of a piece, as an array over all rows of its part or chunk; rows [lo, hi) verified. */
ALM_NODISCARD alm_status alm_scan_piece_times(alm_ctx *cx, const alm_version *version,
                                              const alm_scan_piece *piece, const int64_t **ts);
/* One column of a piece, over all rows of its part or chunk; rows [lo, hi) verified. A column that
 * is not there gives a const null (SYMBOL: code 0) from `arena`. */
ALM_NODISCARD alm_status alm_scan_piece_vec(alm_ctx *cx, alm_arena *arena,
                                            const alm_version *version, const alm_scan_piece *piece,
                                            uint32_t col, alm_vec *out);
/* Merged rows of span i: source = index of the piece in the span. order[span.rows]. */
ALM_NODISCARD alm_status alm_scan_span_order(alm_ctx *cx, alm_arena *arena, const alm_scan *scan,
                                             size_t i, uint64_t *order);
/* Entry of a column in a part or its overlay; *entry -1: not there. */
ALM_NODISCARD alm_status alm_scan_part_col(alm_ctx *cx, const alm_version *version,
                                           const alm_part_ref *ref, uint32_t col_id, uint32_t hint,
                                           alm_part **part, int32_t *entry);

#endif
