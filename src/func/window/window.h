/*
 * window.h - what a window function is to the engine, beyond its row in the registry.
 *
 * A kernel sees one partition in window order: positions 0..n-1, the peers of each position (rows
 * equal by ORDER BY; without ORDER BY all rows are peers) and its frame. Ranking functions compute a
 * number; value functions say at which position the value stands, and the engine moves it, whatever
 * its type.
 *
 * Null rule   Where IGNORE NULLS or FILTER leave rows out, `some` lists the positions of the others, and
 *             before[i], i <= n, says how many of them are before position i. NULL: all rows count.
 */
#ifndef ALM_FUNC_WINDOW_H
#define ALM_FUNC_WINDOW_H

#include "func/registry.h"

#define ALM_WINDOW_NONE UINT32_MAX

typedef struct alm_window_rows {
    uint32_t n;
    const uint32_t *lo, *hi;           /* frame of i: [lo[i], hi[i]), lo <= hi; NULL: not needed */
    const uint32_t *peer_lo, *peer_hi; /* peers of i: [peer_lo[i], peer_hi[i]); NULL: not needed */
    uint8_t exclude;                   /* alm_frame_exclude */
    const uint32_t *some, *before;
    const uint32_t
        *prev; /* DISTINCT: the row before with the same value, or ALM_WINDOW_NONE; else NULL */
} alm_window_rows;

typedef struct alm_window_ops {
    bool frame; /* depends on the frame */
    bool ties;  /* depends on the peers */
    bool size;  /* depends on rows after the current one (with an unbounded frame end or not) */
    /* One of the two. out: n results of call->result. */
    void (*rank)(const alm_call *call, const alm_window_rows *w, void *out);
    /* at[i]: position of the value, or ALM_WINDOW_NONE: the default if there is one, else null. */
    void (*pick)(const alm_call *call, const alm_window_rows *w, uint32_t *at);
    int32_t default_arg; /* argument that is the default, 0: none */
} alm_window_ops;

/* What bind leaves in call->data of lag, lead, nth_value, ntile. */
typedef struct alm_window_offset {
    int64_t offset;
} alm_window_offset;

/* The ranges that are left of a frame by EXCLUDE, in order; returns how many (0..3), none empty. */
typedef struct alm_window_range {
    uint32_t lo, hi;
} alm_window_range;
uint32_t alm_window_pieces(const alm_window_rows *window_rows, uint32_t i, alm_window_range out[3]);

extern const alm_window_ops alm_window_row_number, alm_window_rank_ops, alm_window_dense_rank,
    alm_window_lag, alm_window_lead, alm_window_first_value, alm_window_last_value;

#endif
