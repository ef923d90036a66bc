/*
 * interval_date.h - one date of an interval text: as timestamp.h reads it, a week, or a variable.
 *
 * Texts       2024-03-01T10:30 and its prefixes; 2024-W05, 2024-W05-3, 2024-W05-3T10 (ISO weeks);
 *             $now, $today, $yesterday, $tomorrow, then any of +n unit, -n unit (unit bd: Monday to
 *             Friday); a date may be followed by a time: $todayT09:30.
 * Units       Ticks of the unit asked for. Pure functions.
 */
#ifndef ALM_TIME_INTERVAL_DATE_H
#define ALM_TIME_INTERVAL_DATE_H

#include "time/timestamp.h"
#include "time/zone.h"

/* What a text names. */
typedef struct alm_named_time {
    int64_t lo, hi;      /* closed; in local time, or in UTC where `absolute` */
    alm_time_field last; /* the finest field that was written; a week counts as a month */
    bool absolute;
    bool fits;          /* false: no tick of this unit lies in it */
    bool outside;       /* it begins before the first time of the unit, or ends behind the last */
    bool business_days; /* a variable with bd in it */
} alm_named_time;

typedef struct alm_named_clock {
    alm_time_unit unit;
    int64_t now;          /* UTC, ticks */
    const alm_zone *zone; /* NULL: UTC */
} alm_named_clock;

/* False: it is none. */
bool alm_named_time_read(const alm_named_clock *clock, alm_str text, alm_named_time *out);
/* Does the text begin with a variable that exists? */
bool alm_named_variable_known(alm_str text);
/* Bytes of the date before a time of day ("T09:30"); 0: there is none, or the date is a day. */
size_t alm_named_date_length(const alm_named_clock *clock, alm_str text);
/* The day as yyyy-MM-dd; returns bytes, not terminated. */
size_t alm_named_day_text(int64_t day, char out[ALM_TIME_TEXT_MAX]);
/* The sum, or the end of time where it does not fit. */
int64_t alm_named_add(int64_t time, alm_time_unit unit, char letter, int64_t count);

#endif
