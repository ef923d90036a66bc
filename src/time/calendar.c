/*
 * calendar.c - calendar arithmetic on columns.
 *
 * Cost        Columns of times in order touch the calendar once a day (fields, months) and cost
 *             1 to 2 ns a row; the clock fields are a multiplication and a shift each.
 */
#include "time/calendar.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum { MONTHS_LIMIT = 1200000000 }; /* 100 million years: what fits an int32 of months */

/* ------------------------------------------------------------------ units and spans */

typedef struct unit_row {
    char letter;
    int64_t nanos; /* of one unit; 0: unequal */
} unit_row;

static const unit_row unit_rows[] = {{'n', 1},
                                     {'U', 1000},
                                     {'T', 1000000},
                                     {'s', 1000000000},
                                     {'m', 60000000000},
                                     {'h', 3600000000000},
                                     {'d', 86400000000000},
                                     {'w', 604800000000000},
                                     {'M', 0},
                                     {'y', 0}};

static const unit_row *calendar_unit_of(char letter)
{
    if (letter == 'u')
        letter = 'U';
    for (size_t i = 0; i < ALM_COUNT(unit_rows); i++)
        if (unit_rows[i].letter == letter)
            return &unit_rows[i];
    return NULL;
}

char alm_unit_letter(char unit)
{
    const unit_row *row = calendar_unit_of(unit);
    return row != NULL ? row->letter : 0;
}

int64_t alm_unit_ticks(char unit, alm_time_unit time_unit)
{
    const unit_row *row = calendar_unit_of(unit);
    return row == NULL ? 0 : row->nanos / (1000000000 / alm_time_second(time_unit));
}

bool alm_span_parse(alm_str text, bool negative, alm_unit_span *out)
{
    size_t i = 0;
    const bool minus = negative && text.len > 0 && text.ptr[0] == '-';
    i += minus;
    const size_t first = i;
    int64_t count = 0;
    for (; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9'; i++) {
        count = count * 10 + (text.ptr[i] - '0');
        if (count > INT32_MAX)
            return false;
    }
    if (i == first)
        count = 1;
    if (i + 1 != text.len || count == 0 || alm_unit_letter(text.ptr[i]) == 0)
        return false;
    *out = (alm_unit_span){.count = minus ? -count : count, .unit = alm_unit_letter(text.ptr[i])};
    return true;
}

/* ------------------------------------------------------------------ months */

int64_t alm_month_of_days(int64_t days)
{
    int32_t year;
    uint8_t month, day;
    alm_date_of_days(days, &year, &month, &day);
    return ((int64_t)year - 1970) * 12 + month - 1;
}

int64_t alm_days_of_month(int64_t month)
{
    const int64_t year = alm_floor_div(month, 12);
    return alm_days_of_date(1970 + year, (int32_t)(month - 12 * year) + 1, 1);
}

/* Day number `months` after a day; false if that is beyond all units. */
static bool add_months(int64_t days, int64_t months, int64_t *out)
{
    int32_t year;
    uint8_t month, day;
    alm_date_of_days(days, &year, &month, &day);
    if (months > MONTHS_LIMIT || months < -MONTHS_LIMIT)
        return false;
    const int64_t sum = (int64_t)year * 12 + month - 1 + months;
    const int64_t new_year = alm_floor_div(sum, 12);
    const int32_t new_month = (int32_t)(sum - 12 * new_year) + 1;
    const int32_t last = alm_days_in_month(new_year, new_month);
    *out = alm_days_of_date(new_year, new_month, ALM_MIN(day, last));
    return true;
}

/* ------------------------------------------------------------------ adding */

/* Ticks of a span of a fixed unit; false if they do not fit. */
static bool span_ticks(const unit_row *row, alm_time_unit unit, int64_t count, int64_t *out)
{
    const int64_t tick_nanos = 1000000000 / alm_time_second(unit);
    if (row->nanos < tick_nanos)
        *out = count / (tick_nanos / row->nanos);
    else
        return !__builtin_mul_overflow(row->nanos / tick_nanos, count, out);
    return true;
}

ALM_SIMD static void add_ticks_all(const int64_t *input, size_t n, int64_t delta, int64_t *out)
{
    /* what may be added to without leaving int64; null is the smallest value and outside */
    const int64_t lo = delta < 0 ? -INT64_MAX - delta : -INT64_MAX;
    const int64_t hi = delta > 0 ? INT64_MAX - delta : INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        const int64_t t = input[i];
        out[i] = t >= lo && t <= hi ? (int64_t)((uint64_t)t + (uint64_t)delta) : ALM_TS_NULL;
    }
}

static int64_t add_months_time(int64_t time, int64_t day_ticks, int64_t months)
{
    const int64_t days = alm_floor_div(time, day_ticks);
    const int64_t in_day = alm_floor_mod(time, day_ticks);
    int64_t new_days, base, sum;
    if (!add_months(days, months, &new_days))
        return ALM_TS_NULL;
    if (new_days < 0) { /* the start of the day may not fit where the time does */
        if (__builtin_mul_overflow(new_days + 1, day_ticks, &base) ||
            __builtin_add_overflow(base, in_day - day_ticks, &sum))
            return ALM_TS_NULL;
        return sum;
    }
    if (__builtin_mul_overflow(new_days, day_ticks, &base) ||
        __builtin_add_overflow(base, in_day, &sum))
        return ALM_TS_NULL;
    return sum;
}

/* Times of one day move by one distance: it is kept from row to row. */
static void add_months_all(const int64_t *input, size_t n, int64_t day_ticks, int64_t months,
                           int64_t *out)
{
    int64_t lo = 0, delta = 0;
    uint64_t width = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t time = input[i];
        if ((uint64_t)time - (uint64_t)lo < width) {
            out[i] = time + delta;
            continue;
        }
        width = 0;
        out[i] = ALM_TS_NULL;
        if (time == ALM_TS_NULL)
            continue;
        const int64_t sum = add_months_time(time, day_ticks, months);
        out[i] = sum;
        /* keep the day only where neither of its ends is near the ends of int64 */
        const int64_t limit = INT64_MAX - 2 * day_ticks;
        if (sum != ALM_TS_NULL && time < limit && time > -limit && sum < limit && sum > -limit) {
            lo = time - alm_floor_mod(time, day_ticks);
            width = (uint64_t)day_ticks;
            delta = sum - time;
        }
    }
}

void alm_time_add_all(const int64_t *input, size_t n, alm_time_unit unit, char span_unit,
                      int64_t count, int64_t *out)
{
    const unit_row *row = calendar_unit_of(span_unit);
    int64_t delta = 0;
    bool fits = row != NULL;
    if (fits && row->nanos == 0)
        fits = !__builtin_mul_overflow(count, row->letter == 'y' ? 12 : 1, &delta);
    else if (fits)
        fits = span_ticks(row, unit, count, &delta) && delta != INT64_MIN;
    if (!fits) {
        for (size_t i = 0; i < n; i++)
            out[i] = ALM_TS_NULL;
    } else if (row->nanos == 0) {
        add_months_all(input, n, alm_time_day(unit), delta, out);
    } else {
        add_ticks_all(input, n, delta, out);
    }
}

int64_t alm_time_add(int64_t time, alm_time_unit unit, char span_unit, int64_t count)
{
    int64_t out;
    alm_time_add_all(&time, 1, unit, span_unit, count, &out);
    return out;
}

void alm_time_add_each(const int64_t *input, const int64_t *count, size_t n, alm_time_unit unit,
                       char span_unit, int64_t *out)
{
    const unit_row *row = calendar_unit_of(span_unit);
    const int64_t day_ticks = alm_time_day(unit);
    const int64_t tick_nanos = 1000000000 / alm_time_second(unit);
    if (row == NULL) {
        for (size_t i = 0; i < n; i++)
            out[i] = ALM_TS_NULL;
    } else if (row->nanos == 0) {
        const int64_t per = row->letter == 'y' ? 12 : 1;
        for (size_t i = 0; i < n; i++) {
            const int64_t most = MONTHS_LIMIT / per;
            const bool ok = input[i] != ALM_TS_NULL && count[i] <= most && count[i] >= -most;
            out[i] = ok ? add_months_time(input[i], day_ticks, count[i] * per) : ALM_TS_NULL;
        }
    } else {
        const int64_t mul = ALM_MAX(row->nanos / tick_nanos, 1);
        const int64_t div = ALM_MAX(tick_nanos / row->nanos, 1);
        for (size_t i = 0; i < n; i++) {
            int64_t delta, sum;
            const bool ok = input[i] != ALM_TS_NULL && count[i] != ALM_LONG_NULL &&
                            !__builtin_mul_overflow(count[i] / div, mul, &delta) &&
                            !__builtin_add_overflow(input[i], delta, &sum);
            out[i] = ok ? sum : ALM_TS_NULL;
        }
    }
}

/* ------------------------------------------------------------------ differences */

static int64_t diff_fixed(int64_t a, int64_t b, int64_t nanos, int64_t tick_nanos)
{
    const uint64_t distance = a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
    uint64_t units;
    if (nanos >= tick_nanos)
        units = distance / (uint64_t)(nanos / tick_nanos);
    else if (__builtin_mul_overflow(distance, (uint64_t)(tick_nanos / nanos), &units))
        return ALM_LONG_NULL;
    return units > INT64_MAX ? ALM_LONG_NULL : (int64_t)units;
}

/* Months since 1970-01, and ticks since the start of the month. */
static int64_t month_and_rest(int64_t time, int64_t day_ticks, int64_t *rest)
{
    const int64_t days = alm_floor_div(time, day_ticks);
    int32_t year;
    uint8_t month, day;
    alm_date_of_days(days, &year, &month, &day);
    *rest = (day - 1) * day_ticks + alm_floor_mod(time, day_ticks);
    return ((int64_t)year - 1970) * 12 + month - 1;
}

static int64_t diff_months(int64_t a, int64_t b, int64_t day_ticks)
{
    int64_t rest_lo, rest_hi;
    const int64_t lo = month_and_rest(ALM_MIN(a, b), day_ticks, &rest_lo);
    const int64_t hi = month_and_rest(ALM_MAX(a, b), day_ticks, &rest_hi);
    return hi - lo - (rest_hi < rest_lo);
}

void alm_time_diff_all(const int64_t *a, size_t a_stride, const int64_t *b, size_t b_stride,
                       size_t n, alm_time_unit unit, char span_unit, int64_t *out)
{
    const unit_row *row = calendar_unit_of(span_unit);
    const int64_t day_ticks = alm_time_day(unit);
    const int64_t tick_nanos = 1000000000 / alm_time_second(unit);
    const int64_t months = row != NULL && row->letter == 'y' ? 12 : 1;
    for (size_t i = 0; i < n; i++) {
        const int64_t x = a[i * a_stride], y = b[i * b_stride];
        if (x == ALM_TS_NULL || y == ALM_TS_NULL || row == NULL)
            out[i] = ALM_LONG_NULL;
        else if (row->nanos == 0)
            out[i] = diff_months(x, y, day_ticks) / months;
        else
            out[i] = diff_fixed(x, y, row->nanos, tick_nanos);
    }
}

int64_t alm_time_diff(int64_t a, int64_t b, alm_time_unit unit, char span_unit)
{
    int64_t out;
    alm_time_diff_all(&a, 0, &b, 0, 1, unit, span_unit, &out);
    return out;
}

/* ------------------------------------------------------------------ fields */

bool alm_calendar_field_parse(alm_str name, alm_calendar_field *out)
{
    static const char *const names[] = {
#define X(id, name) name,
        ALM_CALENDAR_FIELDS(X)
#undef X
    };
    for (size_t i = 0; i < ALM_COUNT(names); i++)
        if (name.len > 0 && alm_str_ieq(name, alm_str_of(names[i]))) {
            *out = (alm_calendar_field)i;
            return true;
        }
    return false;
}

/* floor(time / divisor) mod modulus, times factor: every clock field. Constants, once inlined. */
ALWAYS_INLINE void clock_all(const int64_t *input, size_t n, int64_t divisor, int64_t modulus,
                             int64_t factor, int32_t *out)
{
    for (size_t i = 0; i < n; i++) {
        const int64_t time = input[i];
        const int64_t value = alm_floor_mod(alm_floor_div(time, divisor), modulus) * factor;
        out[i] = time == ALM_TS_NULL ? ALM_INT_NULL : (int32_t)value;
    }
}

/* Clock fields of times with `s` ticks a second. */
ALWAYS_INLINE bool clock_field_all(const int64_t *input, size_t n, int64_t s,
                                   alm_calendar_field field, int32_t *out)
{
    const int64_t micro = ALM_MAX(s / 1000000, 1);
    switch ((int32_t)field) {
    case ALM_CAL_HOUR:
        clock_all(input, n, s * 3600, 24, 1, out);
        return true;
    case ALM_CAL_MINUTE:
        clock_all(input, n, s * 60, 60, 1, out);
        return true;
    case ALM_CAL_SECOND:
        clock_all(input, n, s, 60, 1, out);
        return true;
    case ALM_CAL_MILLISECONDS:
    case ALM_CAL_MILLIS:
        clock_all(input, n, s / 1000, 1000, 1, out);
        return true;
    case ALM_CAL_MICROSECONDS:
        clock_all(input, n, micro, ALM_MIN(s, 1000000), 1000000 / ALM_MIN(s, 1000000), out);
        return true;
    case ALM_CAL_NANOSECONDS:
        clock_all(input, n, 1, s, 1000000000 / s, out);
        return true;
    case ALM_CAL_MICROS:
        clock_all(input, n, micro, ALM_MIN(s / 1000, 1000), s == 1000 ? 0 : 1, out);
        return true;
    case ALM_CAL_NANOS:
        clock_all(input, n, 1, ALM_MAX(s / 1000000, 1), s == 1000000000 ? 1 : 0, out);
        return true;
    default:
        return false;
    }
}

/* ISO week and year: those of the Thursday of the week. */
static int32_t calendar_iso_week(int64_t days, int32_t *iso_year)
{
    const int64_t thursday = days - alm_floor_mod(days + 3, 7) + 3;
    uint8_t month, day;
    alm_date_of_days(thursday, iso_year, &month, &day);
    return (int32_t)((thursday - alm_days_of_date(*iso_year, 1, 1)) / 7) + 1;
}

/* n years in a group, counted from year 1 and without a group 0. */
static int32_t year_group(int32_t year, int32_t n)
{
    return year > 0 ? (year + n - 1) / n : -(n - 1 - year) / n;
}

static int32_t date_field(int64_t days, alm_calendar_field field)
{
    int32_t year, iso_year;
    uint8_t month, day;
    alm_date_of_days(days, &year, &month, &day);
    switch ((int32_t)field) {
    case ALM_CAL_YEAR:
        return year;
    case ALM_CAL_MONTH:
        return month;
    case ALM_CAL_DAY:
        return day;
    case ALM_CAL_DOW:
        return (int32_t)alm_floor_mod(days + 4, 7);
    case ALM_CAL_ISODOW:
        return (int32_t)alm_floor_mod(days + 3, 7) + 1;
    case ALM_CAL_SUNDAY_FIRST:
        return (int32_t)alm_floor_mod(days + 4, 7) + 1;
    case ALM_CAL_DOY:
        return (int32_t)(days - alm_days_of_date(year, 1, 1)) + 1;
    case ALM_CAL_WEEK:
        return calendar_iso_week(days, &iso_year);
    case ALM_CAL_ISOYEAR:
        (void)calendar_iso_week(days, &iso_year);
        return iso_year;
    case ALM_CAL_QUARTER:
        return (month + 2) / 3;
    case ALM_CAL_DECADE:
        return (int32_t)alm_floor_div(year, 10);
    case ALM_CAL_CENTURY:
        return year_group(year, 100);
    case ALM_CAL_MILLENNIUM:
        return year_group(year, 1000);
    case ALM_CAL_DAYS_IN_MONTH:
        return alm_days_in_month(year, month);
    case ALM_CAL_LEAP_YEAR:
        return alm_year_is_leap(year);
    default:
        return ALM_INT_NULL;
    }
}

/* Fields of the date: looked up once for each day, which for times in order is rare. */
static void date_field_all(const int64_t *input, size_t n, alm_time_unit unit,
                           alm_calendar_field field, int32_t *out)
{
    const int64_t day_ticks = alm_time_day(unit);
    const int32_t null = field == ALM_CAL_LEAP_YEAR ? 0 : ALM_INT_NULL;
    uint64_t lo = 0, width = 0;
    int32_t value = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t time = input[i];
        if ((uint64_t)time - lo >= width) {
            if (time == ALM_TS_NULL) {
                out[i] = null;
                continue;
            }
            const int64_t days = alm_floor_div(time, day_ticks);
            value = date_field(days, field);
            int64_t start = 0, end;
            const bool whole = !__builtin_mul_overflow(days, day_ticks, &start) &&
                               !__builtin_add_overflow(start, day_ticks, &end);
            lo = (uint64_t)start;
            width = whole ? (uint64_t)day_ticks : 0; /* the ends of int64 are looked up anew */
        }
        out[i] = time == ALM_TS_NULL ? null : value;
    }
}

void alm_calendar_extract_all(const int64_t *input, size_t n, alm_time_unit unit,
                              alm_calendar_field field, int32_t *out)
{
    bool done;
    if (unit == ALM_TIME_US)
        done = clock_field_all(input, n, 1000000, field, out);
    else if (unit == ALM_TIME_NS)
        done = clock_field_all(input, n, 1000000000, field, out);
    else
        done = clock_field_all(input, n, 1000, field, out);
    if (!done)
        date_field_all(input, n, unit, field, out);
}

void alm_calendar_epoch_all(const int64_t *input, size_t n, alm_time_unit unit, int64_t *out)
{
    const int64_t s = alm_time_second(unit);
    for (size_t i = 0; i < n; i++)
        out[i] = input[i] == ALM_TS_NULL ? ALM_LONG_NULL : alm_floor_div(input[i], s);
}

int64_t alm_calendar_extract(int64_t time, alm_time_unit unit, alm_calendar_field field)
{
    if (field == ALM_CAL_EPOCH) {
        alm_calendar_epoch_all(&time, 1, unit, &time);
        return time;
    }
    int32_t value;
    alm_calendar_extract_all(&time, 1, unit, field, &value);
    return value == ALM_INT_NULL ? ALM_LONG_NULL : value;
}
