/*
 * bucket.h - which bucket of equal calendar length an instant falls into.
 *
 * Purpose     SAMPLE BY, timestamp_floor, date_trunc, partitions: all cut time into buckets of n
 *             units. A bucketer is made once per call site and then asked for columns.
 * Buckets     Local time is cut at origin + k * stride, k any integer; local time is UTC without a
 *             zone. The origin is 1970-01-01T00:00 (weeks: Monday 1969-12-29) unless one is given
 *             (FROM, first observation), plus `offset`. Months and years are added to the origin
 *             with its day of month, or the last of a shorter month.
 * Zones       Buckets of a day and longer begin when the local clock first passes the border, or
 *             at the jump where it jumps over it. Shorter buckets follow the clock: a time of the
 *             day that comes twice is two buckets (the hour that is repeated is two of one hour),
 *             unless the bucket holds the whole repetition.
 * Invariants  I1 start(t) <= t < next(t)            I2 start(start(t)) = start(t)
 *             I3 t <= u => start(t) <= start(u)     I4 start(next(t)) = next(t)
 * Units       Ticks of the unit in the spec. Null stays null. The first bucket begins with the range of
 *             int64, wherever its border would be; next is INT64_MAX where there is no further border.
 * Threads     Read-only after init.
 */
#ifndef ALM_TIME_BUCKET_H
#define ALM_TIME_BUCKET_H

#include "time/calendar.h"
#include "time/zone.h"

typedef struct alm_bucket_spec {
    char unit;     /* n U T s m h d w M y */
    int64_t count; /* > 0 */
    alm_time_unit time_unit;
    const alm_zone *zone; /* NULL: UTC */
    int64_t offset;       /* ticks, WITH OFFSET */
    bool has_origin;
    int64_t origin; /* ticks, UTC: FROM, or the first observation */
} alm_bucket_spec;

typedef struct alm_bucketer {
    int64_t stride; /* ticks, or months where `months` */
    int64_t phase;  /* fixed strides: origin modulo stride */
    bool months;
    bool clock;           /* shorter than a day in a zone: cut by what the clock shows */
    const alm_zone *zone; /* NULL: shift says it all */
    int64_t shift;        /* ticks of a fixed offset */
    alm_time_unit time_unit;
    int64_t offset;        /* months: ticks added to each border */
    int64_t origin_month;  /* since 1970-01 */
    int32_t origin_day;    /* of the month, 1..31 */
    int64_t origin_in_day; /* ticks */
} alm_bucketer;

/* ALM_E_ARG at `pos`: no such unit, or a count that is not positive or too large. A stride finer
 * than a tick is one tick. */
ALM_NODISCARD alm_status alm_bucketer_init(alm_ctx *cx, int32_t pos, const alm_bucket_spec *spec,
                                           alm_bucketer *out);
/* Start of the bucket that holds `time`. */
int64_t alm_bucket_start(const alm_bucketer *bucketer, int64_t time);
/* First start after `time`: the end (exclusive) of its bucket. */
int64_t alm_bucket_next(const alm_bucketer *bucketer, int64_t time);
/* Columns: starts, and ends (exclusive). out may be in. About 1 ns a row on sorted times. */
void alm_bucket_floor(const alm_bucketer *bucketer, const int64_t *input, size_t n, int64_t *out);
void alm_bucket_ceil(const alm_bucketer *bucketer, const int64_t *input, size_t n, int64_t *out);

/* Offset of ALIGN TO CALENDAR: "hh:mm", "-hh:mm", "+hh:mm"; less than a day. False: none. */
bool alm_bucket_offset_parse(alm_str text, alm_time_unit unit, int64_t *out);

#endif
