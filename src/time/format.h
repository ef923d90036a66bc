/*
 * format.h - time patterns of to_str, to_timestamp, to_date and CSV columns: compiled once, run
 * per row.
 *
 * Letters     G era; y yy yyy yyyy year; Y.. ISO year; M MM number, MMM Jan, MMMM January; w ww ISO
 *             week; D day of year; d dd; u day of week 1..7; E Mon, EE Monday; a AM; H HH 0..23,
 *             k kk 1..24, h hh 1..12, K KK 0..11; m mm; s ss; S SSS milliseconds, S+ fraction to
 *             milliseconds; U UUU microseconds, U+ all six; N NNN nanoseconds, N+ all nine;
 *             z zz zzz Z x xx xxx zone. Anything else stands for itself; so does all between two
 *             single quotes, with the quotes.
 * Writing     Always UTC: zone letters give Z.
 * Reading     The whole text must match. S, U+ and N+ take as many digits as there are, as a
 *             fraction of the second. Two-digit years lie within 80 years back and 20 ahead of
 *             `century_year`. Names in English, any case.
 * Threads     A compiled format is read-only.
 */
#ifndef ALM_TIME_FORMAT_H
#define ALM_TIME_FORMAT_H

#include "time/timestamp.h"

typedef struct alm_time_pattern alm_time_pattern;

/* Allocated from `arena`. ALM_E_ARG for a pattern of more than 1000 bytes. century_year: see
 * Reading (the current year). */
ALM_NODISCARD alm_status alm_time_pattern_compile(alm_ctx *cx, alm_arena *arena, alm_str text,
                                                  int32_t century_year, int32_t pos,
                                                  const alm_time_pattern **out);
/* Upper bound of the bytes one time takes. */
size_t alm_time_pattern_max(const alm_time_pattern *pattern);
/* Bytes written; `time` is not null, `out` has room for alm_time_pattern_max bytes. */
size_t alm_time_pattern_write(const alm_time_pattern *pattern, int64_t time, alm_time_unit unit,
                              char *out);
/* False: the text does not match, or names no time. Zone names are looked up in cx->zones; cx may
 * be NULL (then offsets and UTC alone). Never sets cx->err. */
bool alm_time_pattern_read(alm_ctx *cx, const alm_time_pattern *pattern, alm_str text,
                           alm_time_unit unit, int64_t *out);

#endif
