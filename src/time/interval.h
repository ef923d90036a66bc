/*
 * interval.h - the texts of `ts IN '...'`, and sets of time ranges.
 *
 * Texts       2024, 2024-03, 2024-03-01, ...T10, T10:30, T10:30:05, T10:30:05.123: the whole of
 *             what is named. ';1d' moves the end (months keep the day), ';-2h' moves it back.
 *             ';1h;7d;4' repeats the range 4 times every 7 days (negative: backwards). Brackets,
 *             variables, weeks, zones and day filters: see interval.c.
 * Units       Ticks of the unit asked for. Ranges are closed: lo <= t <= hi.
 * Invariants  A set is sorted, disjoint and not touching; an empty set has n == 0.
 * Ownership   Sets are allocated from the arena given.
 * Errors      ALM_E_TIME at `pos`, the position of the text, in the reference's words: "Invalid
 *             date", "Range not a number", "Count not a number", "Invalid interval format",
 *             "Unknown period: x at 1", "Unclosed '[' in interval" and so on. ALM_E_LIMIT for more
 *             than a million ranges or 16 brackets.
 * Threads     Pure functions.
 */
#ifndef ALM_TIME_INTERVAL_H
#define ALM_TIME_INTERVAL_H

#include "time/timestamp.h"

typedef struct alm_time_range {
    int64_t lo, hi;
} alm_time_range;

typedef struct alm_time_ranges {
    alm_time_range *items;
    uint32_t n;
} alm_time_ranges;

/* What an interval text means. now_ns is for $now and $today. */
ALM_NODISCARD alm_status alm_interval_parse(alm_ctx *cx, alm_arena *arena, alm_str text,
                                            alm_time_unit unit, int64_t now_ns, int32_t pos,
                                            alm_time_ranges *out);

/* Sorts and merges n ranges in place (those with lo > hi go away); returns how many are left. */
uint32_t alm_ranges_normalise(alm_time_range *items, uint32_t n_items);
ALM_NODISCARD alm_status alm_ranges_intersect(alm_ctx *cx, alm_arena *arena,
                                              const alm_time_ranges *a, const alm_time_ranges *b,
                                              alm_time_ranges *out);
ALM_NODISCARD alm_status alm_ranges_union(alm_ctx *cx, alm_arena *arena, const alm_time_ranges *a,
                                          const alm_time_ranges *b, alm_time_ranges *out);
/* All times that are not null and not in `ranges`. */
ALM_NODISCARD alm_status alm_ranges_complement(alm_ctx *cx, alm_arena *arena,
                                               const alm_time_ranges *ranges, alm_time_ranges *out);
/* out[i] = input[i] lies in the set; null does not. */
void alm_ranges_contain(const alm_time_ranges *set, const int64_t *input, size_t n, uint8_t *out);

#endif
