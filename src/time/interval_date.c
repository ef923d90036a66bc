/*
 * interval_date.c - reads one date of an interval text.
 */
#include "time/interval_date.h"

#include <stdio.h>

#include "time/calendar.h"

enum { DATE_LEN = 10, WEEK_LEN = 8 /* 2024-W05 */, REST_MAX = 100 };

int64_t alm_named_add(int64_t time, alm_time_unit unit, char letter, int64_t count)
{
    const int64_t sum = alm_time_add(time, unit, letter, count);
    return sum != ALM_TS_NULL ? sum : count < 0 ? ALM_TS_NULL + 1 : INT64_MAX;
}

size_t alm_named_day_text(int64_t day, char out[ALM_TIME_TEXT_MAX])
{
    int32_t year;
    uint8_t month, d;
    alm_date_of_days(day, &year, &month, &d);
    const int len = snprintf(out, ALM_TIME_TEXT_MAX, "%04d-%02u-%02u", year, month, d);
    return len > 0 ? (size_t)len : 0;
}

/* ----------------------------------------------------------------------------------- dates */

/* Where what is named ends: the first instant behind it. */
static alm_instant interval_date_end_of(const alm_time_text *text, alm_instant start)
{
    static const char units[] = {'y', 'M', 'd', 'h', 'm', 's'};
    enum { SECOND = 1000000000, MS = 1000 };
    int32_t width = SECOND;
    if (text->last != ALM_FIELD_FRACTION) {
        start.second = alm_time_add(start.second * MS, ALM_TIME_MS, units[text->last], 1) / MS;
        return start;
    }
    for (int32_t i = 0; i < text->fraction_digits; i++)
        width /= 10;
    start.second += (start.nanos + width) / SECOND;
    start.nanos = (start.nanos + width) % SECOND;
    return start;
}

/* The first time of a unit that is not before the instant. False: there is none, or others before it do not fit. */
static bool interval_date_first_from(const alm_instant *at, alm_time_unit unit, int64_t *out)
{
    bool exact;
    const int32_t place = alm_instant_place(at, unit, out, &exact);
    *out += place == 0 && !exact;
    return place == 0;
}

/* The last time of a unit that is before the instant, which may itself lie one tick beyond what the unit holds. */
static bool last_before(alm_instant at, alm_time_unit unit, int64_t *out)
{
    enum { SECOND = 1000000000 };
    bool exact;
    at.second -= at.nanos == 0;
    at.nanos = at.nanos == 0 ? SECOND - 1 : at.nanos - 1;
    return alm_instant_place(&at, unit, out, &exact) == 0;
}

static bool interval_read_date(const alm_named_clock *clock, alm_str text, alm_named_time *out)
{
    alm_time_text time_text;
    if (text.len == 0 || alm_time_text_read(text, &time_text) != text.len)
        return false;
    *out = (alm_named_time){.last = time_text.last, .absolute = time_text.has_offset};
    const alm_instant start = alm_time_text_instant(&time_text),
                      end = interval_date_end_of(&time_text, start);
    out->outside = !interval_date_first_from(&start, clock->unit, &out->lo) ||
                   !last_before(end, clock->unit, &out->hi);
    out->fits = !out->outside && out->lo <= out->hi;
    return true;
}

/* ----------------------------------------------------------------------------------- weeks */

static bool is_week(alm_str text)
{
    return text.len >= WEEK_LEN && text.ptr[4] == '-' && text.ptr[5] == 'W';
}

static int32_t digits_at(alm_str text, size_t offset, size_t n)
{
    int32_t value = 0;
    for (size_t i = offset; i < offset + n; i++) {
        if (i >= text.len || text.ptr[i] < '0' || text.ptr[i] > '9')
            return -1;
        value = value * 10 + text.ptr[i] - '0';
    }
    return value;
}

/* The Monday of the week that holds January 4th, which is week 1. */
static int64_t first_monday(int32_t year)
{
    const int64_t fourth = alm_days_of_date(year, 1, 4);
    return fourth - alm_floor_mod(fourth + 3, 7);
}

/* Day number of 2024-W05 or 2024-W05-3, and how many bytes say so; 0: it is none. */
static size_t read_week(alm_str text, int64_t *monday, int32_t *weekday)
{
    const int32_t year = digits_at(text, 0, 4), week = digits_at(text, 6, 2);
    if (year < 1 || year >= 9999 || week < 1)
        return 0;
    *monday = first_monday(year) + 7 * (week - 1);
    *weekday = 0;
    if (*monday >= first_monday(year + 1))
        return 0;
    if (text.len < WEEK_LEN + 2 || text.ptr[WEEK_LEN] != '-')
        return WEEK_LEN;
    *weekday = digits_at(text, WEEK_LEN + 1, 1);
    return *weekday >= 1 && *weekday <= 7 ? WEEK_LEN + 2 : 0;
}

static bool read_week_date(const alm_named_clock *clock, alm_str text, alm_named_time *out)
{
    int64_t monday;
    int32_t weekday;
    char plain[ALM_TIME_TEXT_MAX + REST_MAX];
    const size_t len = read_week(text, &monday, &weekday);
    if (len == 0 || text.len - len > REST_MAX || (weekday == 0 && len < text.len))
        return false;
    size_t n = alm_named_day_text(monday + (weekday == 0 ? 0 : weekday - 1), plain);
    memcpy(plain + n, text.ptr + len, text.len - len);
    n += text.len - len;
    if (!interval_read_date(clock, (alm_str){plain, n}, out))
        return false;
    if (weekday == 0 && out->fits) {
        const int64_t next = alm_time_add(out->lo, clock->unit, 'w', 1);
        out->outside = next == ALM_TS_NULL;
        out->hi = out->outside ? out->hi : next - 1;
        out->last = ALM_FIELD_MONTH;
    }
    return true;
}

/* ------------------------------------------------------------------------------- variables */

typedef struct variable {
    const char *name;
    int32_t days; /* from today */
    bool instant;
} variable;

static size_t word_length(alm_str text)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    size_t n = 1;
    while (n < text.len && text.ptr[n] != 0 && strchr(letters, text.ptr[n]) != NULL) {
        const bool time = text.ptr[n] == 'T' && n + 1 < text.len && text.ptr[n + 1] >= '0' &&
                          text.ptr[n + 1] <= '9';
        if (time)
            break;
        n++;
    }
    return n;
}

static const variable *find_variable(alm_str text)
{
    static const variable variables[] = {{"$now", 0, true},
                                         {"$today", 0, false},
                                         {"$yesterday", -1, false},
                                         {"$tomorrow", 1, false}};
    if (text.len == 0 || text.ptr[0] != '$')
        return NULL;
    const alm_str word = {text.ptr, word_length(text)};
    for (size_t i = 0; i < ALM_COUNT(variables); i++)
        if (alm_str_ieq(word, alm_str_of(variables[i].name)))
            return &variables[i];
    return NULL;
}

bool alm_named_variable_known(alm_str text)
{
    return find_variable(text) != NULL;
}

static int64_t add_business_days(int64_t day, int64_t count)
{
    const int64_t step = count < 0 ? -1 : 1;
    for (int64_t left = count < 0 ? -count : count; left > 0;) {
        if (left >= 5 && alm_floor_mod(day + 3, 7) < 5) {
            day += step * (left / 5) * 7;
            left %= 5;
            continue;
        }
        day += step;
        left -= alm_floor_mod(day + 3, 7) < 5;
    }
    return day;
}

/* "+5bd", " - 2h": moves *t; false if it is none. */
static bool read_move(const alm_named_clock *clock, alm_str text, size_t *at, int64_t *t,
                      bool *business)
{
    size_t i = *at;
    const bool minus = text.ptr[i] == '-';
    if (!minus && text.ptr[i] != '+')
        return false;
    for (i++; i < text.len && text.ptr[i] == ' '; i++)
        ;
    int64_t count = 0;
    const size_t first = i;
    for (; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9' && count < 100000000; i++)
        count = count * 10 + text.ptr[i] - '0';
    if (i == first || i == text.len)
        return false;
    count = minus ? -count : count;
    if (text.len - i >= 2 && text.ptr[i] == 'b' && text.ptr[i + 1] == 'd') {
        const int64_t ticks = alm_time_day(clock->unit);
        const int64_t day = alm_floor_div(*t, ticks);
        *t += (add_business_days(day, count) - day) * ticks;
        *business = true;
        i += 2;
    } else {
        const char unit = alm_unit_letter(text.ptr[i++]);
        if (unit == 0)
            return false;
        *t = alm_time_add(*t, clock->unit, unit, count);
    }
    *at = i;
    return *t != ALM_TS_NULL;
}

/* $now is an instant: reckoned in UTC. Days are those of the zone. */
static bool read_variable(const alm_named_clock *clock, alm_str text, alm_named_time *out)
{
    const int64_t day = alm_time_day(clock->unit);
    const variable *v = find_variable(text);
    if (v == NULL)
        return false;
    int64_t time = clock->now;
    if (!v->instant) {
        if (clock->zone != NULL)
            alm_zone_to_local(clock->zone, &time, 1, clock->unit, &time);
        time = time - alm_floor_mod(time, day) + v->days * day;
    }
    *out = (alm_named_time){.last = v->instant ? ALM_FIELD_FRACTION : ALM_FIELD_DAY,
                            .absolute = v->instant,
                            .fits = true};
    size_t offset = word_length(text);
    while (offset < text.len && text.ptr[offset] != 'T') {
        if (text.ptr[offset] == ' ')
            offset++;
        else if (!read_move(clock, text, &offset, &time, &out->business_days))
            return false;
    }
    out->lo = time;
    out->hi = v->instant ? time : time + day - 1;
    if (offset == text.len)
        return true;
    char plain[ALM_TIME_TEXT_MAX + REST_MAX];
    if (v->instant || text.len - offset > REST_MAX)
        return false;
    size_t n = alm_named_day_text(alm_floor_div(time, day), plain);
    memcpy(plain + n, text.ptr + offset, text.len - offset);
    n += text.len - offset;
    const bool business = out->business_days;
    const bool ok = interval_read_date(clock, (alm_str){plain, n}, out);
    out->business_days = business;
    return ok;
}

bool alm_named_time_read(const alm_named_clock *clock, alm_str text, alm_named_time *out)
{
    if (text.len > 0 && text.ptr[0] == '$')
        return read_variable(clock, text, out);
    return is_week(text) ? read_week_date(clock, text, out) : interval_read_date(clock, text, out);
}

size_t alm_named_date_length(const alm_named_clock *clock, alm_str text)
{
    size_t count = 0;
    alm_named_time date;
    while (count < text.len && text.ptr[count] != 'T')
        count++;
    const bool coarse = count < text.len && count > 0 && text.ptr[0] != '$' &&
                        alm_named_time_read(clock, (alm_str){text.ptr, count}, &date) &&
                        date.last < ALM_FIELD_DAY;
    return coarse ? count : 0;
}
