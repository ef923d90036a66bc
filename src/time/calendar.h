/*
 * calendar.h - calendar arithmetic on columns: spans of time, adding, differences, fields.
 *
 * Shapes      in[n] -> out[n]; out may be in where the types agree.
 * Units       Ticks of an alm_time_unit (timestamp.h). Calendar units are one letter, as the
 *             dialect writes them: n nanosecond, U microsecond (u is taken too), T millisecond,
 *             s second, m minute, h hour, d day, w week, M month, y year.
 * Null rule   Null in, null out (ALM_TS_NULL; ALM_INT_NULL for fields). A sum that leaves int64 is
 *             null as well.
 * Threads     Pure functions.
 */
#ifndef ALM_TIME_CALENDAR_H
#define ALM_TIME_CALENDAR_H

#include "time/timestamp.h"

/* A number of calendar units: 15m, 3M. */
typedef struct alm_unit_span {
    int64_t count;
    char unit;
} alm_unit_span;

/* "15m", "h" (one hour), "-2d" if `negative` is allowed. Unit letters in canonical form ('U' for
 * 'u'). False: no unit letter there, no number, zero, or beyond int32. */
bool alm_span_parse(alm_str text, bool negative, alm_unit_span *out);
/* Canonical letter of a unit letter, 0 if it is none. */
char alm_unit_letter(char unit);
/* Ticks of one unit; 0 for M and y (unequal) and for a unit finer than a tick. */
int64_t alm_unit_ticks(char unit, alm_time_unit time_unit);

/* ----------------------------------------------------------------- adding */

/* One time plus a span, null if null or out of range. Months and years keep the day of the month,
 * or take the last one of the month. A span finer than a tick is cut towards zero. */
int64_t alm_time_add(int64_t time, alm_time_unit unit, char span_unit, int64_t count);
/* The same number to a column; alm_time_add_each: a number for each row (ALM_LONG_NULL: null). */
void alm_time_add_all(const int64_t *input, size_t n, alm_time_unit unit, char span_unit,
                      int64_t count, int64_t *out);
void alm_time_add_each(const int64_t *input, const int64_t *count, size_t n, alm_time_unit unit,
                       char span_unit, int64_t *out);

/* ----------------------------------------------------------------- differences */

/* Whole units between two times, never negative (order does not matter). Months and years count as
 * complete by day and time of day. */
int64_t alm_time_diff(int64_t a, int64_t b, alm_time_unit unit, char span_unit);
/* Columns; a stride of 0 repeats the first element. */
void alm_time_diff_all(const int64_t *a, size_t a_stride, const int64_t *b, size_t b_stride,
                       size_t n, alm_time_unit unit, char span_unit, int64_t *out);

/* ----------------------------------------------------------------- fields */

#define ALM_CALENDAR_FIELDS(X)                                                                     \
    X(YEAR, "year")                                                                                \
    X(MONTH, "month")                                                                              \
    X(DAY, "day")                                                                                  \
    X(HOUR, "hour")                                                                                \
    X(MINUTE, "minute")                                                                            \
    X(SECOND, "second")                                                                            \
    X(MILLISECONDS, "milliseconds") /* of the second */                                            \
    X(MICROSECONDS, "microseconds") /* of the second */                                            \
    X(NANOSECONDS, "nanoseconds")   /* of the second */                                            \
    X(MILLIS, "millis")             /* of the second, as millis() has it */                        \
    X(MICROS, "micros")             /* of the millisecond */                                       \
    X(NANOS, "nanos")               /* of the microsecond */                                       \
    X(EPOCH, "epoch")               /* seconds since 1970, 64 bits */                              \
    X(DOW, "dow")                   /* Sunday 0 */                                                 \
    X(ISODOW, "isodow")             /* Monday 1, Sunday 7 */                                       \
    X(SUNDAY_FIRST, "")             /* Sunday 1 */                                                 \
    X(DOY, "doy")                                                                                  \
    X(WEEK, "week") /* of the ISO year */                                                          \
    X(ISOYEAR, "isoyear")                                                                          \
    X(QUARTER, "quarter")                                                                          \
    X(DECADE, "decade")                                                                            \
    X(CENTURY, "century")                                                                          \
    X(MILLENNIUM, "millennium")                                                                    \
    X(DAYS_IN_MONTH, "")                                                                           \
    X(LEAP_YEAR, "") /* 1 or 0; null gives 0 */

typedef enum alm_calendar_field {
#define X(id, name) ALM_CAL_##id,
    ALM_CALENDAR_FIELDS(X)
#undef X
        ALM_CALENDAR_FIELD_COUNT
} alm_calendar_field;

/* Field of a name as EXTRACT takes it (any case); false: none. */
bool alm_calendar_field_parse(alm_str name, alm_calendar_field *out);
int64_t alm_calendar_extract(int64_t time, alm_time_unit unit, alm_calendar_field field);
/* Columns of INT fields; EPOCH has a kernel of its own because it is 64 bits wide. */
void alm_calendar_extract_all(const int64_t *input, size_t n, alm_time_unit unit,
                              alm_calendar_field field, int32_t *out);
void alm_calendar_epoch_all(const int64_t *input, size_t n, alm_time_unit unit, int64_t *out);

/* Months since 1970-01 of a day number, and the day number of the first day of such a month. */
int64_t alm_month_of_days(int64_t days);
int64_t alm_days_of_month(int64_t month);

#endif
