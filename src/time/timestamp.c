/*
 * timestamp.c - civil dates, and the one text form of time that the dialect writes.
 *
 * Source      Gregorian rule: 400 years are 146097 days. Years are counted from March, so that the
 *             leap day is the last of its year and months follow a linear rule
 *             (day of year = (153 * month + 2) / 5).
 * Cost        Writing with a writer, times in order: about 10 ns a row.
 */
#include "time/timestamp.h"

#include "base/number.h"

enum {
    DAYS_PER_ERA = 146097, /* 400 years */
    DAYS_TO_1970 = 719468  /* from 0000-03-01 */
};

static const char two_digits[201] = "0001020304050607080910111213141516171819"
                                    "2021222324252627282930313233343536373839"
                                    "4041424344454647484950515253545556575859"
                                    "6061626364656667686970717273747576777879"
                                    "8081828384858687888990919293949596979899";

int64_t alm_days_of_date(int64_t year, int32_t month, int32_t day)
{
    const int64_t y = year - (month <= 2); /* the year that began in March */
    const int64_t era = alm_floor_div(y, 400);
    const int64_t year_of_era = y - era * 400;
    const int64_t month_of_year = month > 2 ? month - 3 : month + 9;
    const int64_t day_of_year = (153 * month_of_year + 2) / 5 + day - 1;
    const int64_t day_of_era =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * DAYS_PER_ERA + day_of_era - DAYS_TO_1970;
}

void alm_date_of_days(int64_t days, int32_t *year, uint8_t *month, uint8_t *day)
{
    const int64_t shifted = days + DAYS_TO_1970;
    const int64_t era = alm_floor_div(shifted, DAYS_PER_ERA);
    const uint32_t doe = (uint32_t)(shifted - era * DAYS_PER_ERA);
    /* leap days before doe taken away: what is left is years of 365 days */
    const uint32_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    const uint32_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    const uint32_t mp = (5 * doy + 2) / 153;
    *day = (uint8_t)(doy - (153 * mp + 2) / 5 + 1);
    *month = (uint8_t)(mp < 10 ? mp + 3 : mp - 9);
    *year = (int32_t)((int64_t)yoe + era * 400 + (mp >= 10));
}

int32_t alm_days_in_month(int64_t year, int32_t month)
{
    static const uint8_t days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month == 2 && alm_year_is_leap(year) ? 29 : days[month - 1];
}

/* Seconds and the ticks within; division by constants. */
static int64_t split_second(int64_t time, alm_time_unit unit, int64_t *ticks)
{
    int64_t s;
    if (unit == ALM_TIME_US) {
        s = alm_floor_div(time, 1000000);
        *ticks = (int64_t)((uint64_t)time - (uint64_t)s * 1000000u);
    } else if (unit == ALM_TIME_NS) {
        s = alm_floor_div(time, 1000000000);
        *ticks = (int64_t)((uint64_t)time - (uint64_t)s * 1000000000u);
    } else {
        s = alm_floor_div(time, 1000);
        *ticks = (int64_t)((uint64_t)time - (uint64_t)s * 1000u);
    }
    return s;
}

void alm_civil_of_time(int64_t time, alm_time_unit unit, alm_civil *out)
{
    int64_t ticks;
    const int64_t s = split_second(time, unit, &ticks);
    const int64_t day = alm_floor_div(s, ALM_SECONDS_PER_DAY);
    const uint32_t sod = (uint32_t)(s - day * ALM_SECONDS_PER_DAY);
    alm_date_of_days(day, &out->year, &out->month, &out->day);
    out->hour = (uint8_t)(sod / 3600);
    out->minute = (uint8_t)(sod / 60 % 60);
    out->second = (uint8_t)(sod % 60);
    out->nanos = (int32_t)(ticks * (1000000000 / alm_time_second(unit)));
}

/* s seconds and `nanos` in ticks; false if they do not fit. */
static bool join_second(int64_t s, int32_t nanos, alm_time_unit unit, int64_t *out)
{
    const int64_t per_s = alm_time_second(unit);
    const int64_t ticks = nanos / (1000000000 / per_s);
    int64_t whole;
    /* the product of the second before may not fit where the sum does */
    if (s < 0 && ticks > 0)
        return !__builtin_mul_overflow(s + 1, per_s, &whole) &&
               !__builtin_add_overflow(whole, ticks - per_s, out) && *out != ALM_TS_NULL;
    return !__builtin_mul_overflow(s, per_s, &whole) &&
           !__builtin_add_overflow(whole, ticks, out) && *out != ALM_TS_NULL;
}

bool alm_time_of_civil(const alm_civil *civil, alm_time_unit unit, int64_t *out)
{
    if (civil->month < 1 || civil->month > 12 || civil->day < 1 ||
        civil->day > alm_days_in_month(civil->year, civil->month) || civil->hour > 23 ||
        civil->minute > 59 || civil->second > 59 || civil->nanos < 0 || civil->nanos > 999999999)
        return false;
    const int64_t day = alm_days_of_date(civil->year, civil->month, civil->day);
    const int64_t s = day * ALM_SECONDS_PER_DAY + civil->hour * 3600 + civil->minute * 60 +
                      civil->second; /* year is int32 */
    return join_second(s, civil->nanos, unit, out);
}

/* ------------------------------------------------------------------ change of unit */

int64_t alm_time_rescale(int64_t time, alm_time_unit from, alm_time_unit to)
{
    alm_time_rescale_all(&time, 1, from, to, &time);
    return time;
}

ALM_SIMD static void time_timestamp_multiply_all(const int64_t *input, size_t n, int64_t factor,
                                                 int64_t *out)
{
    const int64_t hi = INT64_MAX / factor; /* null is below -hi: it stays null */
    for (size_t i = 0; i < n; i++) {
        const int64_t t = input[i];
        out[i] = t <= hi && t >= -hi ? (int64_t)((uint64_t)t * (uint64_t)factor) : ALM_TS_NULL;
    }
}

/* Inlined with a constant divisor. */
static inline void time_timestamp_divide_all(const int64_t *input, size_t n, int64_t divisor,
                                             int64_t *out)
{
    for (size_t i = 0; i < n; i++) {
        const int64_t t = input[i];
        out[i] = t == ALM_TS_NULL ? ALM_TS_NULL : alm_floor_div(t, divisor);
    }
}

void alm_time_rescale_all(const int64_t *input, size_t n, alm_time_unit from, alm_time_unit to,
                          int64_t *out)
{
    if (from == to)
        memmove(out, input, n * sizeof(*out));
    else if (from < to)
        time_timestamp_multiply_all(input, n, alm_time_second(to) / alm_time_second(from), out);
    else if (from == ALM_TIME_NS && to == ALM_TIME_MS)
        time_timestamp_divide_all(input, n, 1000000, out);
    else
        time_timestamp_divide_all(input, n, 1000, out);
}

/* ------------------------------------------------------------------ times without a unit */

alm_instant alm_instant_of(int64_t time, alm_time_unit unit)
{
    int64_t ticks = 0;
    alm_instant out = {.second = split_second(time, unit, &ticks)};
    out.nanos = (int32_t)(ticks * (1000000000 / alm_time_second(unit)));
    return out;
}

int32_t alm_instant_cmp(const alm_instant *a, const alm_instant *b)
{
    if (a->beyond != b->beyond)
        return a->beyond < b->beyond ? -1 : 1;
    if (a->second != b->second)
        return a->second < b->second ? -1 : 1;
    return a->nanos < b->nanos ? -1 : a->nanos > b->nanos;
}

int32_t alm_instant_place(const alm_instant *at, alm_time_unit unit, int64_t *floor, bool *exact)
{
    const bool fits = at->beyond == 0 && join_second(at->second, at->nanos, unit, floor);
    const bool after = at->beyond > 0 || (at->beyond == 0 && at->second > 0);
    *exact = fits && at->nanos % (1000000000 / alm_time_second(unit)) == 0;
    if (!fits) {
        *floor = after ? INT64_MAX : ALM_TS_NULL + 1;
        return after ? 1 : -1;
    }
    return !*exact && *floor == INT64_MAX
               ? 1
               : 0; /* between the last time and the one that would follow */
}

/* ------------------------------------------------------------------ text to time */

/* n digits at ptr; -1 if one of them is none. */
static int32_t time_timestamp_digits(const char *ptr, size_t n)
{
    int32_t value = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t digit = (uint32_t)(unsigned char)ptr[i] - '0';
        if (digit > 9)
            return -1;
        value = value * 10 + (int32_t)digit;
    }
    return value;
}

/* Offset at ptr..end, 0 bytes if there is none there. -1: one that is out of range. */
static int32_t read_offset(const char *ptr, const char *end, int32_t *offset_s)
{
    if (ptr == end)
        return 0;
    if (*ptr == 'Z') {
        *offset_s = 0;
        return 1;
    }
    if ((*ptr != '+' && *ptr != '-') || end - ptr < 3)
        return 0;
    const int32_t hour = time_timestamp_digits(ptr + 1, 2);
    int32_t minute = 0, second = 0, len = 3;
    if (hour < 0)
        return 0;
    if (end - ptr >= 6 && ptr[3] == ':' && (minute = time_timestamp_digits(ptr + 4, 2)) >= 0) {
        len = 6;
        if (end - ptr >= 9 && ptr[6] == ':' && (second = time_timestamp_digits(ptr + 7, 2)) >= 0)
            len = 9;
    } else if (end - ptr >= 5 && (minute = time_timestamp_digits(ptr + 3, 2)) >= 0) {
        len = 5;
    }
    minute = minute < 0 ? 0 : minute;
    second = second < 0 ? 0 : second;
    if (hour > 23 || minute > 59 || second > 59)
        return -1;
    const int32_t total = hour * 3600 + minute * 60 + second;
    *offset_s = *ptr == '-' ? -total : total;
    return len;
}

/* Fraction after the '.' at ptr; returns the bytes taken, the '.' included. */
static size_t time_timestamp_read_fraction(const char *ptr, const char *end, alm_time_text *out)
{
    static const int32_t scale[10] = {1000000000, 100000000, 10000000, 1000000, 100000,
                                      10000,      1000,      100,      10,      1};
    int32_t count = 0, value = 0;
    for (const char *q = ptr + 1; q < end && count < 9 && *q >= '0' && *q <= '9'; q++, count++)
        value = value * 10 + (*q - '0');
    if (count == 0)
        return 0;
    out->fraction_digits = count;
    out->civil.nanos = value * scale[count];
    out->last = ALM_FIELD_FRACTION;
    return (size_t)count + 1;
}

/* Date part; 0 if it is none or not in the calendar. */
static size_t time_timestamp_read_date(const char *ptr, size_t len, alm_time_text *out)
{
    if (len < 4)
        return 0;
    const int32_t year = time_timestamp_digits(ptr, 4);
    if (year < 1)
        return 0;
    out->civil = (alm_civil){.year = year, .month = 1, .day = 1};
    out->last = ALM_FIELD_YEAR;
    if (len < 7 || ptr[4] != '-')
        return 4;
    const int32_t month = time_timestamp_digits(ptr + 5, 2);
    if (month < 0)
        return 4;
    if (month < 1 || month > 12)
        return 0;
    out->civil.month = (uint8_t)month;
    out->last = ALM_FIELD_MONTH;
    if (len < 10 || ptr[7] != '-')
        return 7;
    const int32_t day = time_timestamp_digits(ptr + 8, 2);
    if (day < 0)
        return 7;
    if (day < 1 || day > alm_days_in_month(year, month))
        return 0;
    out->civil.day = (uint8_t)day;
    out->last = ALM_FIELD_DAY;
    return 10;
}

/* Time part after the date, from the separator on. 0: none there; -1: not a time of the day. */
static int32_t read_clock(const char *ptr, const char *end, alm_time_text *out)
{
    if (end - ptr < 3 || (*ptr != 'T' && *ptr != ' '))
        return 0;
    const int32_t hour = time_timestamp_digits(ptr + 1, 2);
    if (hour < 0)
        return 0;
    if (hour > 23)
        return -1;
    out->civil.hour = (uint8_t)hour;
    out->last = ALM_FIELD_HOUR;
    const char *q = ptr + 3;
    if (end - q < 3 || *q != ':')
        return 3;
    const int32_t minute = time_timestamp_digits(q + 1, 2);
    if (minute < 0 || minute > 59)
        return -1;
    out->civil.minute = (uint8_t)minute;
    out->last = ALM_FIELD_MINUTE;
    q += 3;
    if (end - q < 3 || *q != ':')
        return 6;
    const int32_t second = time_timestamp_digits(q + 1, 2);
    if (second < 0 || second > 59)
        return -1;
    out->civil.second = (uint8_t)second;
    out->last = ALM_FIELD_SECOND;
    q += 3;
    if (q < end && *q == '.')
        q += time_timestamp_read_fraction(q, end, out);
    return (int32_t)(q - ptr);
}

size_t alm_time_text_read(alm_str text, alm_time_text *out)
{
    *out = (alm_time_text){0};
    const char *ptr = text.ptr, *end = text.ptr + text.len;
    const size_t date = time_timestamp_read_date(ptr, text.len, out);
    if (date < 10)
        return date;
    const int32_t clock = read_clock(ptr + date, end, out);
    if (clock <= 0)
        return clock < 0 ? 0 : date;
    ptr += date + (size_t)clock;
    const int32_t offset = read_offset(ptr, end, &out->offset_s);
    if (offset < 0)
        return 0;
    out->has_offset = offset > 0;
    return date + (size_t)clock + (size_t)offset;
}

static int64_t text_second(const alm_time_text *text)
{
    const alm_civil *civil = &text->civil;
    return alm_days_of_date(civil->year, civil->month, civil->day) * ALM_SECONDS_PER_DAY +
           civil->hour * 3600 + civil->minute * 60 + civil->second - text->offset_s;
}

bool alm_time_text_ticks(const alm_time_text *text, alm_time_unit unit, int64_t *out)
{
    return join_second(text_second(text), text->civil.nanos, unit, out);
}

/* A blank before the offset, "1970-01-02 +00", "1970-01-02 10:00:00 +00:00": as drivers write days and times. */
static bool offset_apart(alm_str text, alm_time_text *out)
{
    const char *blank = memrchr(text.ptr, ' ', text.len);
    if (blank == NULL || blank + 1 == text.ptr + text.len || (blank[1] != '+' && blank[1] != '-'))
        return false;
    const size_t n = (size_t)(blank - text.ptr);
    if (n < 4 || alm_time_text_read((alm_str){text.ptr, n}, out) != n || out->has_offset ||
        out->last < ALM_FIELD_DAY)
        return false;
    out->has_offset = true;
    return alm_time_offset_parse((alm_str){blank + 1, text.len - n - 1}, &out->offset_s);
}

alm_instant alm_time_text_instant(const alm_time_text *text)
{
    return (alm_instant){.second = text_second(text), .nanos = text->civil.nanos};
}

/* The whole text is one time. */
static bool read_whole(alm_str text, alm_time_text *out)
{
    return (text.len > 0 && offset_apart(text, out)) ||
           (text.len >= 4 && alm_time_text_read(text, out) == text.len);
}

bool alm_time_parse(alm_str text, alm_time_unit unit, int64_t *out)
{
    alm_time_text parsed;
    return read_whole(text, &parsed) && alm_time_text_ticks(&parsed, unit, out);
}

int8_t alm_time_infinity(alm_str text)
{
    if (alm_str_ieq(text, ALM_STR("infinity")))
        return 1;
    return alm_str_ieq(text, ALM_STR("-infinity")) ? -1 : 0;
}

bool alm_instant_parse(alm_str text, alm_instant *out)
{
    alm_time_text parsed;
    *out = (alm_instant){.beyond = alm_time_infinity(text)};
    if (out->beyond != 0)
        return true;
    if (!read_whole(text, &parsed))
        return false;
    *out = alm_time_text_instant(&parsed);
    return true;
}

bool alm_time_is_compact_day(alm_str text)
{
    enum { DIGITS = 8 };
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
    return text.len == DIGITS;
}

bool alm_time_read(alm_str text, alm_time_unit unit, int64_t *out)
{
    int64_t count = 0;
    alm_time_text parsed;
    if (alm_time_is_compact_day(text)) {
        const char *t = text.ptr;
        const char day[] = {t[0], t[1], t[2], t[3], '-', t[4], t[5], '-', t[6], t[7]};
        return alm_time_parse((alm_str){day, sizeof day}, unit, out);
    }
    if (alm_time_parse(text, unit, out))
        return true;
    if (alm_time_text_read(text, &parsed) == text.len) /* 1677: a year, if one beyond the unit */
        return false;
    if (alm_int64_parse(text, &count) != ALM_NUM_OK || count == ALM_TS_NULL)
        return false;
    *out = count;
    return true;
}

bool alm_time_offset_parse(alm_str text, int32_t *offset_s)
{
    int32_t got = 0;
    if (text.len == 0 || read_offset(text.ptr, text.ptr + text.len, &got) != (int32_t)text.len)
        return false;
    *offset_s = got;
    return true;
}

/* ------------------------------------------------------------------ time to text */

static inline char *put_two(char *ptr, uint32_t value)
{
    memcpy(ptr, two_digits + 2 * value, 2);
    return ptr + 2;
}

static char *time_timestamp_put_year(char *ptr, int32_t year)
{
    if (year >= 0 && year <= 9999)
        return put_two(put_two(ptr, (uint32_t)year / 100), (uint32_t)year % 100);
    uint32_t value = (uint32_t)year;
    if (year < 0) {
        *ptr++ = '-';
        value = 0 - value;
    }
    char back[10];
    int32_t count = 0;
    for (; value > 0 || count < 4; value /= 10)
        back[count++] = (char)('0' + value % 10);
    while (count > 0)
        *ptr++ = back[--count];
    return ptr;
}

/* Fraction of 3, 6 or 9 digits from ticks of that many digits. */
static char *put_fraction(char *ptr, uint32_t ticks, int32_t n)
{
    if (n == 9) {
        *ptr++ = (char)('0' + ticks / 100000000);
        ticks %= 100000000;
        ptr = put_two(ptr, ticks / 1000000);
        ticks %= 1000000;
    } else if (n == 3) {
        *ptr++ = (char)('0' + ticks / 100);
        return put_two(ptr, ticks % 100);
    }
    ptr = put_two(ptr, ticks / 10000);
    ptr = put_two(ptr, ticks / 100 % 100);
    return put_two(ptr, ticks % 100);
}

void alm_time_writer_init(alm_time_writer *writer, alm_time_unit unit, alm_time_style style)
{
    *writer = (alm_time_writer){.unit = unit, .style = style};
}

/* Text up to the minute, and the ticks for which it holds. */
static void writer_load(alm_time_writer *writer, int64_t time)
{
    alm_civil civil;
    alm_civil_of_time(time, writer->unit, &civil);
    char *ptr = time_timestamp_put_year(writer->text, civil.year);
    *ptr++ = '-';
    ptr = put_two(ptr, civil.month);
    *ptr++ = '-';
    ptr = put_two(ptr, civil.day);
    *ptr++ = writer->style == ALM_TIME_ISO ? 'T' : ' ';
    ptr = put_two(ptr, civil.hour);
    *ptr++ = ':';
    ptr = put_two(ptr, civil.minute);
    *ptr++ = ':';
    writer->len = (uint32_t)(ptr - writer->text);
    const int64_t minute = alm_time_second(writer->unit) * 60;
    const int64_t in_minute = alm_floor_mod(time, minute);
    if (__builtin_sub_overflow(time, in_minute, &writer->minute_lo) ||
        __builtin_add_overflow(writer->minute_lo, minute, &writer->minute_hi)) {
        writer->minute_lo = time; /* at the ends of int64: nothing to keep, and in_minute is lost */
        writer->minute_hi = time;
    }
}

size_t alm_time_writer_put(alm_time_writer *writer, int64_t time, char out[ALM_TIME_TEXT_MAX])
{
    if (time < writer->minute_lo || time >= writer->minute_hi)
        writer_load(writer, time);
    int64_t ticks;
    const int64_t s = split_second(time, writer->unit, &ticks);
    memcpy(out, writer->text, ALM_TIME_TEXT_MAX);
    char *ptr = put_two(out + writer->len, (uint32_t)alm_floor_mod(s, 60));
    *ptr++ = '.';
    if (writer->unit == ALM_TIME_NS && writer->style == ALM_TIME_PG)
        ptr = put_fraction(ptr, (uint32_t)(ticks / 1000), 6);
    else
        ptr = put_fraction(ptr, (uint32_t)ticks,
                           writer->unit == ALM_TIME_MS   ? 3
                           : writer->unit == ALM_TIME_US ? 6
                                                         : 9);
    if (writer->style == ALM_TIME_ISO)
        *ptr++ = 'Z';
    return (size_t)(ptr - out);
}

size_t alm_time_format(int64_t time, alm_time_unit unit, alm_time_style style,
                       char out[ALM_TIME_TEXT_MAX])
{
    alm_time_writer writer;
    alm_time_writer_init(&writer, unit, style);
    return alm_time_writer_put(&writer, time, out);
}

const char *alm_designated_fault(int64_t ticks, bool nanos)
{
    return ticks == ALM_TS_NULL    ? "designated timestamp column cannot be NULL"
           : nanos                 ? NULL
           : ticks > ALM_TS_MAX_US ? "designated timestamp beyond 9999-12-31 is not allowed"
           : ticks < ALM_TS_MIN_US ? "designated timestamp before 0001-01-01 is not allowed"
                                   : NULL;
}
