/*
 * partition.c - which partition holds a timestamp, and what it is called.
 *
 * Units       ticks of the designated timestamp, micro- or nanoseconds since 1970, UTC. Weeks are ISO
 *             weeks, from Monday.
 */
#include <stdio.h>

#include "storage/version/version.h"
#include "time/timestamp.h"

static const int64_t US_PER_HOUR = INT64_C(3600000000);

static int64_t hour_ticks(bool nanos)
{
    return nanos ? US_PER_HOUR * 1000 : US_PER_HOUR;
}

/* First day of the partition that holds a day, or of the one after it. */
static int64_t first_day(alm_partition_by by, int64_t day, bool next)
{
    int32_t year = 0;
    uint8_t month = 0, dom = 0;
    switch (by) {
    case ALM_PART_WEEK: /* 1970-01-01 was a Thursday, day 3 of its week */
        return alm_floor_div(day + 3, 7) * 7 - 3 + (next ? 7 : 0);
    case ALM_PART_MONTH:
        alm_date_of_days(day, &year, &month, &dom);
        if (next)
            return month == 12 ? alm_days_of_date((int64_t)year + 1, 1, 1)
                               : alm_days_of_date(year, month + 1, 1);
        return day - dom + 1;
    case ALM_PART_YEAR:
        alm_date_of_days(day, &year, &month, &dom);
        return alm_days_of_date((int64_t)year + (next ? 1 : 0), 1, 1);
    case ALM_PART_DAY:
    case ALM_PART_HOUR:
    case ALM_PART_NONE:
        break;
    }
    return day + (next ? 1 : 0);
}

static int64_t edge(alm_partition_by by, bool nanos, int64_t ts, bool next)
{
    const int64_t hour = hour_ticks(nanos), unit = by == ALM_PART_HOUR ? hour : hour * 24;
    int64_t count = alm_floor_div(ts, unit), out;
    count = by == ALM_PART_HOUR ? count + (next ? 1 : 0) : first_day(by, count, next);
    if (__builtin_mul_overflow(count, unit, &out)) /* at the ends of what the type can say */
        return next ? INT64_MAX : INT64_MIN;
    return out;
}

int64_t alm_partition_floor(alm_partition_by by, bool nanos, int64_t ts)
{
    return by == ALM_PART_NONE ? INT64_MIN : edge(by, nanos, ts, false);
}

int64_t alm_partition_next(alm_partition_by by, bool nanos, int64_t ts)
{
    return by == ALM_PART_NONE ? INT64_MAX : edge(by, nanos, ts, true);
}

void alm_partition_name(alm_partition_by by, bool nanos, int64_t bucket, char *name,
                        size_t name_size)
{
    if (by == ALM_PART_NONE) {
        (void)snprintf(name, name_size, "default");
        return;
    }
    const int64_t hour = alm_floor_div(bucket, hour_ticks(nanos));
    const int64_t day = alm_floor_div(hour, 24);
    int32_t year = 0;
    uint8_t month = 0, dom = 0;
    /* A week belongs to the year of its Thursday. */
    alm_date_of_days(by == ALM_PART_WEEK ? day + 3 : day, &year, &month, &dom);
    switch (by) {
    case ALM_PART_HOUR:
        (void)snprintf(name, name_size, "%04d-%02d-%02dT%02d", year, month, dom,
                       (int)alm_floor_mod(hour, 24));
        break;
    case ALM_PART_DAY:
        (void)snprintf(name, name_size, "%04d-%02d-%02d", year, month, dom);
        break;
    case ALM_PART_WEEK: {
        const int64_t new_year = alm_days_of_date(year, 1, 1);
        (void)snprintf(name, name_size, "%04d-W%02d", year, (int)((day + 3 - new_year) / 7 + 1));
        break;
    }
    case ALM_PART_MONTH:
        (void)snprintf(name, name_size, "%04d-%02d", year, month);
        break;
    case ALM_PART_YEAR:
    case ALM_PART_NONE:
        (void)snprintf(name, name_size, "%04d", year);
        break;
    }
}
