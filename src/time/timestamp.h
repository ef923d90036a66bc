/*
 * timestamp.h - one instant: as a number, as a civil date, as text.
 *
 * Units       A stored time is an int64 that counts ticks since 1970-01-01T00:00:00Z in the
 *             proleptic Gregorian calendar: milliseconds (DATE), microseconds (TIMESTAMP) or
 *             nanoseconds (TIMESTAMP_NS). Division is by floor, so that instants before 1970 and
 *             before year 1 are right.
 * Null rule   ALM_TS_NULL. Text of it is the caller's business; conversions keep it.
 * Range       Every int64 is a time and can be formatted (years of five digits and more, or with a
 *             minus sign, where it must be). Text is read for years 0001 to 9999; what does not fit
 *             the unit (nanoseconds end in 2262) is refused.
 * Errors      None here: parsers return false, callers know what to say.
 * Threads     Pure functions; a writer belongs to one thread.
 */
#ifndef ALM_TIME_TIMESTAMP_H
#define ALM_TIME_TIMESTAMP_H

#include "base/base.h"

typedef enum alm_time_unit { ALM_TIME_MS, ALM_TIME_US, ALM_TIME_NS } alm_time_unit;

#define ALM_TS_MIN_US (-62135596800000000) /* 0001-01-01T00:00:00.000000Z */
#define ALM_TS_MAX_US 253402300799999999   /* 9999-12-31T23:59:59.999999Z */

/* Why a designated timestamp cannot be that: years 1 to 9999, what texts of times can say. NULL: it can. */
const char *alm_designated_fault(int64_t ticks, bool nanos);

enum { ALM_SECONDS_PER_DAY = 86400 };

/* Ticks in a second: 1000, 1000000, 1000000000. */
static inline int64_t alm_time_second(alm_time_unit unit)
{
    return unit == ALM_TIME_MS ? 1000 : unit == ALM_TIME_US ? 1000000 : 1000000000;
}
static inline int64_t alm_time_day(alm_time_unit unit)
{
    return alm_time_second(unit) * ALM_SECONDS_PER_DAY;
}

/* Division by floor and its remainder; b > 0. */
static inline int64_t alm_floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}
static inline int64_t alm_floor_mod(int64_t a, int64_t b)
{
    const int64_t r = a % b;
    return r < 0 ? r + b : r;
}

/* ----------------------------------------------------------------- civil dates */

typedef struct alm_civil {
    int32_t year;
    uint8_t month, day; /* 1..12, 1..31 */
    uint8_t hour, minute, second;
    int32_t nanos; /* of the second */
} alm_civil;

/* Day number, 1970-01-01 = 0, of a date; month 1..12, day is not checked (0 is the day before). */
int64_t alm_days_of_date(int64_t year, int32_t month, int32_t day);
/* Inverse, for any day number that an int64 of milliseconds can hold. */
void alm_date_of_days(int64_t days, int32_t *year, uint8_t *month, uint8_t *day);
int32_t alm_days_in_month(int64_t year, int32_t month);
static inline bool alm_year_is_leap(int64_t year)
{
    return (year & 3) == 0 && (year % 100 != 0 || year % 400 == 0);
}
void alm_civil_of_time(int64_t time, alm_time_unit unit, alm_civil *out);
/* False: some field is out of its range, or the result does not fit. Digits finer than the unit
 * are cut. */
bool alm_time_of_civil(const alm_civil *civil, alm_time_unit unit, int64_t *out);

/* ----------------------------------------------------------------- change of unit */

/* Finer is exact, or null where it does not fit; coarser rounds down. */
int64_t alm_time_rescale(int64_t time, alm_time_unit from, alm_time_unit to);
/* A column of it; out may be in. */
void alm_time_rescale_all(const int64_t *input, size_t n, alm_time_unit from, alm_time_unit to,
                          int64_t *out);

/* ----------------------------------------------------------------- times without a unit */

/* A time as finely as any unit has it, and as far away: what a constant says before it meets a column. */
typedef struct alm_instant {
    int64_t second; /* since 1970, by floor */
    int32_t nanos;  /* of the second */
    int8_t beyond;  /* -1 and 1: before and after all times; the rest is 0 then */
} alm_instant;

/* Not of null. */
alm_instant alm_instant_of(int64_t time, alm_time_unit unit);
/* < 0, 0 or > 0: a is before, at or after b. */
int32_t alm_instant_cmp(const alm_instant *a, const alm_instant *b);
/*
 * Where the instant lies among the times of a unit: -1 before the first, 1 after the last, 0 among them. *floor is
 * the last time that is not after it (the first or last one where it lies outside), *exact: it is that time.
 */
int32_t alm_instant_place(const alm_instant *at, alm_time_unit unit, int64_t *floor, bool *exact);
/* The whole text is a time as alm_time_parse reads it, of any unit, or "infinity", "-infinity". */
bool alm_instant_parse(alm_str text, alm_instant *out);
/* -1, 1: the text is "-infinity", "infinity" in any case; 0: it is none of them. */
int8_t alm_time_infinity(alm_str text);

/* ----------------------------------------------------------------- text to time */

/* What a text says, before it becomes ticks. */
typedef enum alm_time_field {
    ALM_FIELD_YEAR,
    ALM_FIELD_MONTH,
    ALM_FIELD_DAY,
    ALM_FIELD_HOUR,
    ALM_FIELD_MINUTE,
    ALM_FIELD_SECOND,
    ALM_FIELD_FRACTION
} alm_time_field;

typedef struct alm_time_text {
    alm_civil civil;
    alm_time_field last;     /* the finest field that was written */
    int32_t fraction_digits; /* 0..9, with ALM_FIELD_FRACTION */
    bool has_offset;         /* Z or an offset was written */
    int32_t offset_s;        /* to be subtracted to get UTC */
} alm_time_text;

/*
 * Reads the longest time at the start of `text` and returns how many bytes it took, 0 for none:
 * yyyy[-MM[-dd[(T| )HH[:mm[:ss[.f{1,9}]]][Z|+HH[:mm[:ss]]|+HHmm]]]]]. Fields are checked against
 * the calendar. A PostgreSQL style blank before the offset is not taken.
 */
size_t alm_time_text_read(alm_str text, alm_time_text *out);
/* Ticks of a text that was read; false if they do not fit. */
bool alm_time_text_ticks(const alm_time_text *text, alm_time_unit unit, int64_t *out);
alm_instant alm_time_text_instant(const alm_time_text *text);
/* The whole text is one time of the above form, or one with a blank before its offset: "1970-01-02 +00". */
bool alm_time_parse(alm_str text, alm_time_unit unit, int64_t *out);
/*
 * A text where a time is expected: one of the above, eight digits that are a day (20231114), or any other whole number but
 * a year, which counts the unit since 1970 as a number would. Eight digits are never a count: the moments around 20 s
 * after 1970 are not what anybody means by them.
 */
bool alm_time_read(alm_str text, alm_time_unit unit, int64_t *out);
/* Eight digits: then alm_time_read takes them as a day or not at all. */
bool alm_time_is_compact_day(alm_str text);
/* An offset alone: +05:30, -08, +0530, Z. False: it is none, or not less than a day. */
bool alm_time_offset_parse(alm_str text, int32_t *offset_s);

/* ----------------------------------------------------------------- time to text */

enum { ALM_TIME_TEXT_MAX = 40 }; /* bytes of any text of the two functions below */

typedef enum alm_time_style {
    ALM_TIME_ISO,    /* 2020-01-02T03:04:05.678901Z; 3, 6 or 9 digits by unit */
    ALM_TIME_PG,     /* 2020-01-02 03:04:05.678901; 3 digits for DATE, 6 for both timestamps */
    ALM_TIME_PG_FULL /* the same, 9 digits for TIMESTAMP_NS */
} alm_time_style;

/* Bytes written; not terminated. `time` is not null. */
size_t alm_time_format(int64_t time, alm_time_unit unit, alm_time_style style,
                       char out[ALM_TIME_TEXT_MAX]);

/* The same for a column: the text of the current minute is kept, which for data in time order
 * leaves the seconds to be written. */
typedef struct alm_time_writer {
    int64_t minute_lo, minute_hi; /* ticks [lo, hi) for which `text` holds; lo == hi: none */
    alm_time_unit unit;
    alm_time_style style;
    uint32_t len; /* of the part up to and with the minute and its ':' */
    char text[ALM_TIME_TEXT_MAX];
} alm_time_writer;

void alm_time_writer_init(alm_time_writer *writer, alm_time_unit unit, alm_time_style style);
size_t alm_time_writer_put(alm_time_writer *writer, int64_t time, char out[ALM_TIME_TEXT_MAX]);

#endif
