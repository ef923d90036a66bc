/*
 * touched.h - which times of a table were touched since its materialized views were refreshed. Private to the folder.
 *
 * Touched     Ranges of time with the LSN of the newest commit that touched anything in them: sorted,
 *             disjoint, few. Ranges that meet, or are too many, become one with the newest LSN of both,
 *             so that what is kept covers what was touched and may be more. Kept by every version
 *             from the creation of the first materialized view to the drop of the last one. Ranges that
 *             all views have seen are dropped with the record of a refresh.
 * Durable     The record of a commit that touches such a table has them (ALM_OP_TOUCH) unless the
 *             change itself tells (truncate, detach); the catalogue file has the whole list.
 */
#ifndef ALM_STORAGE_TOUCHED_H
#define ALM_STORAGE_TOUCHED_H

#include "storage/state.h"

typedef struct alm_touch {
    uint64_t lsn;
    int64_t lo, hi;
} alm_touch;

enum { ALM_TOUCH_MAX = 128 };

typedef struct alm_touched {
    _Atomic uint32_t refs;
    uint32_t n;
    alm_touch rows[];
} alm_touched;

/* n entries as they are (NULL: zeroed). */
ALM_NODISCARD alm_status alm_touched_new(alm_ctx *cx, const alm_touch *rows, uint32_t n,
                                         alm_touched **out);
alm_touched *alm_touched_retain(alm_touched *touched);
void alm_touched_release(alm_touched *touched);

/* The version (not published yet) with more ranges; nothing where none are kept. `ops` (may be NULL)
 * receives the operation that says the same to recovery. */
ALM_NODISCARD alm_status alm_version_touch(alm_ctx *cx, alm_build *build, alm_version *version,
                                           const alm_scan_range *ranges, uint32_t n_ranges,
                                           alm_buf *ops);
/* Where the rows of a change of the parts lie. */
ALM_NODISCARD alm_status alm_change_touches(alm_ctx *cx, alm_build *build, alm_version *version,
                                            const alm_parts_change *change, alm_buf *ops);

void alm_touched_prune(alm_build *build, uint64_t base_id);
/* Of rows before `from`, which have expired: from when on materialized views need them, for buckets that
 * end behind. */
int64_t alm_followers_need(const alm_catver *cat, const alm_version *base, int64_t from);
/* A materialized view came, or is about to go: its base begins, or ends, to keep what is touched. */
ALM_NODISCARD alm_status alm_base_follow(alm_ctx *cx, alm_build *build, const alm_version *view);
ALM_NODISCARD alm_status alm_base_unfollow(alm_ctx *cx, alm_build *build, uint64_t view_id);
/* The table begins to keep what is touched, unless it does or is gone (then the view is invalid). */
ALM_NODISCARD alm_status alm_base_keep_touched(alm_ctx *cx, alm_build *build, uint64_t base_id);
ALM_NODISCARD alm_status alm_redo_touch(alm_ctx *cx, alm_build *build, uint64_t table_id,
                                        const alm_scan_range *ranges, uint32_t n);

#endif
