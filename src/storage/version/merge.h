/*
 * merge.h - the ordered merge of sorted sources, and the resolution of DEDUP UPSERT KEYS in it. Used
 * by scans, bulk loads and compaction alike.
 *
 * Shapes      A merged row is source << 32 | row, the row counted in the arrays of the source.
 * Order       by time; rows of equal time by source number (sources are given in the order of their
 *             insertion, oldest first), then by row.
 * Threads     plain data of the caller; no locks, no allocation but for large groups in dedup.
 */
#ifndef ALM_STORAGE_MERGE_H
#define ALM_STORAGE_MERGE_H

#include "type/vector.h"

typedef struct alm_merge_src {
    const int64_t *ts; /* sorted; rows [lo, hi) take part */
    int64_t lo, hi;    /* lo moves on as rows are taken */
} alm_merge_src;

typedef struct alm_merge {
    alm_merge_src *srcs;
    uint32_t *heap; /* sources that have rows left, the one whose turn it is on top */
    uint32_t n;
} alm_merge;

/* Borrows srcs[n_srcs] and heap[n_srcs]. */
void alm_merge_init(alm_merge *merge, alm_merge_src *srcs, uint32_t n_srcs, uint32_t *heap);
/* The next rows, at most `max`; fewer only at the end. */
int64_t alm_merge_next(alm_merge *merge, uint64_t *out, int64_t max);

typedef struct alm_dedup_src {
    const int64_t *ts;
    const alm_vec *keys; /* n_keys vectors, without the designated timestamp; SYMBOL as codes */
} alm_dedup_src;

/* Of merged rows that agree in time and all keys (null equals null), which stay? */
typedef enum alm_dedup_kind {
    ALM_DEDUP_ROWS,   /* the last one: rows of one load replace each other too */
    ALM_DEDUP_SOURCES /* those of the last source that has one */
} alm_dedup_kind;
/* In place; *kept rows remain, in order. */
ALM_NODISCARD alm_status alm_dedup_rows(alm_ctx *cx, alm_dedup_kind kind, const alm_dedup_src *srcs,
                                        uint32_t n_keys, uint64_t *rows, int64_t n_rows,
                                        int64_t *kept);

#endif
