/*
 * interval.c - the texts of `ts IN '...'`.
 *
 * Grammar     interval = dates [@zone] [#days] [;length [;period;count]]
 *             dates    = piece {piece}: plain characters, and brackets [item{,item}], each of whose
 *                        items takes the place of the bracket in turn
 *             item     = text | number..number | date..date | variable..variable
 *             date     = as timestamp.h reads it, the whole of what it names; or variable
 *             variable = $now | $today | $yesterday | $tomorrow, then any of +n unit, -n unit;
 *                        unit bd: Monday to Friday
 *             date..date outside brackets is one range
 *             days     = workday | wd | weekend | Mon,Tue,...
 *             length   = [-] n unit {n unit}: moves the end; period = [-] n unit
 *             2024-[01..03]-15T[09:30,14:00]@Europe/Berlin#wd;1h
 * Method      Ranges are made in local time of the zone and taken to UTC when they are complete.
 */
#include "time/interval.h"

#include <stdio.h>

#include "time/calendar.h"
#include "time/zone.h"

enum {
    TEXT_MAX = 120,       /* of one date after the brackets are replaced */
    RANGES_MAX = 1000000, /* a text must not take all memory */
    LENGTH_PARTS_MAX = 8
};

typedef struct parser {
    alm_ctx *cx;
    alm_arena *arena;
    alm_time_unit unit;
    int32_t pos;
    int64_t now; /* local time of `zone`, ticks */
    const alm_zone *zone;
    uint8_t weekdays; /* bit 0 Monday; 0: any */
    bool bracketed;
    alm_unit_span length[LENGTH_PARTS_MAX];
    uint32_t n_length;
    alm_unit_span period; /* count 0: none */
    int64_t repeats;
    alm_time_range *items;
    uint32_t n, cap;
} parser;

static alm_status bad_date(parser *p)
{
    return alm_fail(p->cx, ALM_E_TIME, p->pos, "Invalid date");
}

/* ------------------------------------------------------------------ collecting ranges */

static alm_status push(parser *p, int64_t lo, int64_t hi)
{
    if (p->n == RANGES_MAX)
        return alm_fail(p->cx, ALM_E_LIMIT, p->pos, "interval has more than %d ranges", RANGES_MAX);
    if (p->n == p->cap) {
        alm_time_range *items;
        const uint32_t cap = ALM_MAX(16, p->cap * 4);
        ALM_TRY(ALM_NEWN(p->cx, p->arena, cap, &items));
        if (p->n > 0)
            memcpy(items, p->items, p->n * sizeof(*items));
        p->items = items;
        p->cap = cap;
    }
    p->items[p->n++] = (alm_time_range){lo, hi};
    return ALM_OK;
}

/* A range without end in one direction where the sum does not fit. */
static int64_t add_clamped(const parser *p, int64_t t, alm_unit_span span)
{
    const int64_t sum = alm_time_add(t, p->unit, span.unit, span.count);
    return sum != ALM_TS_NULL ? sum : span.count < 0 ? ALM_TS_NULL + 1 : INT64_MAX;
}

/* To UTC: the range ends where the next one would begin. */
static void to_utc(const parser *p, int64_t *lo, int64_t *hi)
{
    if (p->zone == NULL)
        return;
    alm_zone_to_utc(p->zone, lo, 1, p->unit, lo);
    if (*hi != INT64_MAX) {
        *hi += 1;
        alm_zone_to_utc(p->zone, hi, 1, p->unit, hi);
        *hi -= *hi != ALM_TS_NULL;
    }
}

/* A range in local time: days, length, repetitions, zone. `absolute`: it is in UTC already. */
static alm_status add_range(parser *p, int64_t lo, int64_t hi, bool absolute)
{
    const int64_t day = alm_floor_div(lo, alm_time_day(p->unit));
    if (p->weekdays != 0 && (p->weekdays >> alm_floor_mod(day + 3, 7) & 1) == 0)
        return ALM_OK;
    for (uint32_t i = 0; i < p->n_length; i++)
        hi = add_clamped(p, hi, p->length[i]);
    const int64_t times = p->period.count == 0 ? 1 : ALM_MAX(p->repeats, 1);
    for (int64_t k = 0; k < times; k++) {
        int64_t a = lo, b = hi;
        if (k > 0) {
            int64_t count;
            if (__builtin_mul_overflow(p->period.count, k, &count))
                break;
            const alm_unit_span span = {.count = count, .unit = p->period.unit};
            a = alm_time_add(lo, p->unit, span.unit, span.count);
            b = add_clamped(p, hi, span);
            if (a == ALM_TS_NULL)
                break;
        }
        if (!absolute)
            to_utc(p, &a, &b);
        if (a <= b)
            ALM_TRY(push(p, a, b));
        if ((k & 1023) == 0)
            ALM_TRY(alm_check(p->cx));
    }
    return ALM_OK;
}

static alm_status add_days(parser *p, int64_t first, int64_t last, uint8_t weekdays)
{
    const int64_t day = alm_time_day(p->unit);
    for (int64_t d = first; d <= last; d++) {
        int64_t lo;
        if (weekdays != 0 && (weekdays >> alm_floor_mod(d + 3, 7) & 1) == 0)
            continue;
        if (!__builtin_mul_overflow(d, day, &lo) && lo < INT64_MAX - day)
            ALM_TRY(add_range(p, lo, lo + day - 1, false));
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------ dates and variables */

enum { MONDAY_TO_FRIDAY = 0x1f, WEEKEND = 0x60 };

/* What a text names: [lo, hi] in local time, or in UTC where it has an offset. */
typedef struct named {
    int64_t lo, hi;
    alm_time_field last;
    bool absolute;
    bool fits;          /* false: no tick of this unit lies in it */
    bool business_days; /* a variable with bd in it */
} named;

/* Ticks from the start of what is named to its end. */
static int64_t end_of(const parser *p, const alm_time_text *text, int64_t lo)
{
    static const char units[] = {'y', 'M', 'd', 'h', 'm', 's'};
    if (text->last != ALM_FIELD_FRACTION)
        return add_clamped(p, lo, (alm_unit_span){.count = 1, .unit = units[text->last]}) - 1;
    int64_t width = alm_time_second(p->unit);
    for (int32_t i = 0; i < text->fraction_digits; i++)
        width = ALM_MAX(width / 10, 1);
    return lo + width - 1;
}

static bool read_date(const parser *p, alm_str text, named *out)
{
    alm_time_text t;
    if (alm_time_text_read(text, &t) != text.len || text.len == 0)
        return false;
    *out = (named){.last = t.last, .absolute = t.has_offset};
    out->fits = alm_time_text_ticks(&t, p->unit, &out->lo);
    if (out->fits)
        out->hi = end_of(p, &t, out->lo);
    return true;
}

static int64_t add_business_days(int64_t day, int64_t count)
{
    for (int64_t left = count < 0 ? -count : count; left > 0;) {
        day += count < 0 ? -1 : 1;
        left -= alm_floor_mod(day + 3, 7) < 5;
    }
    return day;
}

/* "+5bd", " - 2h": moves *t; false if it is none. */
static bool read_move(const parser *p, alm_str text, size_t *at, int64_t *t, bool *business)
{
    size_t i = *at;
    const bool minus = text.ptr[i] == '-';
    if (!minus && text.ptr[i] != '+')
        return false;
    for (i++; i < text.len && text.ptr[i] == ' '; i++)
        ;
    int64_t count = 0;
    const size_t first = i;
    for (; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9' && count < 1000000; i++)
        count = count * 10 + text.ptr[i] - '0';
    if (i == first || i == text.len)
        return false;
    count = minus ? -count : count;
    if (text.len - i >= 2 && text.ptr[i] == 'b' && text.ptr[i + 1] == 'd') {
        const int64_t ticks = alm_time_day(p->unit);
        const int64_t day = alm_floor_div(*t, ticks);
        *t += (add_business_days(day, count) - day) * ticks;
        *business = true;
        i += 2;
    } else {
        const char unit = alm_unit_letter(text.ptr[i++]);
        if (unit == 0)
            return false;
        *t = alm_time_add(*t, p->unit, unit, count);
    }
    *at = i;
    return *t != ALM_TS_NULL;
}

static bool read_variable(const parser *p, alm_str text, named *out)
{
    static const struct {
        const char *name;
        int32_t days;
        bool instant;
    } variables[] = {{"$now", 0, true},
                     {"$today", 0, false},
                     {"$yesterday", -1, false},
                     {"$tomorrow", 1, false}};
    const int64_t day = alm_time_day(p->unit);
    size_t word = 1;
    while (word < text.len && text.ptr[word] >= 'A' && text.ptr[word] <= 'z')
        word++;
    for (size_t i = 0; i < ALM_COUNT(variables); i++) {
        if (!alm_str_ieq((alm_str){text.ptr, word}, alm_str_of(variables[i].name)))
            continue;
        int64_t t = p->now;
        if (!variables[i].instant)
            t = t - alm_floor_mod(t, day) + variables[i].days * day;
        *out = (named){.last = variables[i].instant ? ALM_FIELD_FRACTION : ALM_FIELD_DAY,
                       .fits = true};
        for (size_t at = word; at < text.len;) {
            if (text.ptr[at] == ' ')
                at++;
            else if (!read_move(p, text, &at, &t, &out->business_days))
                return false;
        }
        out->lo = t;
        out->hi = variables[i].instant ? t : t + day - 1;
        return true;
    }
    return false;
}

static bool read_named(const parser *p, alm_str text, named *out)
{
    return text.len > 0 && text.ptr[0] == '$' ? read_variable(p, text, out)
                                              : read_date(p, text, out);
}

static alm_str trim(alm_str text)
{
    while (text.len > 0 && text.ptr[0] == ' ') {
        text.ptr++;
        text.len--;
    }
    while (text.len > 0 && text.ptr[text.len - 1] == ' ')
        text.len--;
    return text;
}

/* Splits at the first occurrence of `mark`. */
static bool split(alm_str text, const char *mark, alm_str *left, alm_str *right)
{
    const size_t n = strlen(mark);
    for (size_t i = 0; i + n <= text.len; i++) {
        if (memcmp(text.ptr + i, mark, n) == 0) {
            *left = trim((alm_str){text.ptr, i});
            *right = trim((alm_str){text.ptr + i + n, text.len - i - n});
            return true;
        }
    }
    return false;
}

/* "2025-01" + "T09:30" out of a bracket: every day of the month. */
static alm_status add_each_day(parser *p, alm_str text, size_t date_len)
{
    named month;
    char one[TEXT_MAX + 16];
    const alm_str rest = {text.ptr + date_len, text.len - date_len};
    if (!read_date(p, (alm_str){text.ptr, date_len}, &month))
        return bad_date(p);
    if (!month.fits)
        return ALM_OK;
    const int64_t ticks = alm_time_day(p->unit);
    for (int64_t d = alm_floor_div(month.lo, ticks); d <= alm_floor_div(month.hi, ticks); d++) {
        int32_t year;
        uint8_t m, day;
        named clock;
        alm_date_of_days(d, &year, &m, &day);
        const int len =
            snprintf(one, sizeof(one), "%04d-%02d-%02d%.*s", year, m, day, (int)rest.len, rest.ptr);
        if (!read_date(p, (alm_str){one, (size_t)len}, &clock))
            return bad_date(p);
        if (clock.fits)
            ALM_TRY(add_range(p, clock.lo, clock.hi, clock.absolute));
    }
    return ALM_OK;
}

/* One date, without brackets. */
static alm_status add_text(parser *p, alm_str text)
{
    named a, b;
    alm_str left, right;
    if (split(text, "..", &left, &right)) {
        if (!read_named(p, left, &a) || !read_named(p, right, &b) || a.absolute != b.absolute)
            return bad_date(p);
        return a.fits && b.fits ? add_range(p, a.lo, b.hi, a.absolute) : ALM_OK;
    }
    if (p->bracketed && text.len > 4 && text.ptr[0] != '$') {
        alm_time_text read;
        const size_t len = alm_time_text_read(text, &read);
        if (len > 0 && len < 10 && text.ptr[len] == 'T')
            return add_each_day(p, text, len);
    }
    if (!read_named(p, text, &a))
        return bad_date(p);
    if (!a.fits)
        return ALM_OK;
    const int64_t day = alm_time_day(p->unit);
    if (p->weekdays != 0 && a.last < ALM_FIELD_DAY)
        return add_days(p, alm_floor_div(a.lo, day), alm_floor_div(a.hi, day), 0);
    return add_range(p, a.lo, a.hi, a.absolute);
}

/* ------------------------------------------------------------------ brackets */

typedef struct draft { /* the text so far, and what is still to be read */
    char text[TEXT_MAX];
    size_t len;
} draft;

static alm_status expand(parser *p, draft so_far, alm_str rest);

static alm_status expand_with(parser *p, const draft *so_far, alm_str item, alm_str rest)
{
    draft d = *so_far;
    if (item.len > TEXT_MAX - d.len)
        return bad_date(p);
    memcpy(d.text + d.len, item.ptr, item.len);
    d.len += item.len;
    return expand(p, d, rest);
}

static bool all_digits(alm_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
    return text.len > 0 && text.len <= 9;
}

static int64_t number_of(alm_str text)
{
    int64_t v = 0;
    for (size_t i = 0; i < text.len; i++)
        v = v * 10 + text.ptr[i] - '0';
    return v;
}

/* An item a..b: numbers, or days from one date to another. */
static alm_status expand_range(parser *p, const draft *so_far, alm_str a, alm_str b, alm_str rest)
{
    char item[TEXT_MAX];
    named from, to;
    if (all_digits(a) && all_digits(b) && !(so_far->len == 0 && a.len == 4 && b.len == 4)) {
        const int64_t hi = number_of(b);
        const int width = (int)ALM_MAX(a.len, 2);
        for (int64_t v = number_of(a); v <= hi; v++) {
            const int len = snprintf(item, sizeof(item), "%0*lld", width, (long long)v);
            ALM_TRY(expand_with(p, so_far, (alm_str){item, (size_t)len}, rest));
        }
        return ALM_OK;
    }
    if (so_far->len > 0 || !read_named(p, a, &from) || !read_named(p, b, &to))
        return bad_date(p);
    if (!from.fits || !to.fits)
        return ALM_OK;
    if (from.last > ALM_FIELD_DAY || to.last > ALM_FIELD_DAY)
        return rest.len > 0 ? bad_date(p) : add_range(p, from.lo, to.hi, from.absolute);
    const bool business = from.business_days || to.business_days;
    const int64_t ticks = alm_time_day(p->unit);
    for (int64_t d = alm_floor_div(from.lo, ticks); d <= alm_floor_div(to.hi, ticks); d++) {
        int32_t year;
        uint8_t month, day;
        if (business && alm_floor_mod(d + 3, 7) >= 5)
            continue;
        alm_date_of_days(d, &year, &month, &day);
        const int len = snprintf(item, sizeof(item), "%04d-%02d-%02d", year, month, day);
        ALM_TRY(expand_with(p, so_far, (alm_str){item, (size_t)len}, rest));
    }
    return ALM_OK;
}

static alm_status expand_item(parser *p, const draft *so_far, alm_str item, alm_str rest)
{
    alm_str a, b;
    char text[16];
    named v;
    if (split(item, "..", &a, &b))
        return expand_range(p, so_far, a, b, rest);
    if (item.len > 0 && item.ptr[0] == '$' && so_far->len == 0 && rest.len > 0) {
        int32_t year;
        uint8_t month, day;
        if (!read_variable(p, item, &v) || v.last != ALM_FIELD_DAY)
            return bad_date(p);
        alm_date_of_days(alm_floor_div(v.lo, alm_time_day(p->unit)), &year, &month, &day);
        const int len = snprintf(text, sizeof(text), "%04d-%02u-%02u", year % 10000, month, day);
        return expand_with(p, so_far, (alm_str){text, (size_t)len}, rest);
    }
    if (all_digits(item) && item.len == 1) { /* [5,10] as well as [05,10] */
        text[0] = '0';
        text[1] = item.ptr[0];
        return expand_with(p, so_far, (alm_str){text, 2}, rest);
    }
    return expand_with(p, so_far, item, rest);
}

/* Replaces the first bracket of `rest`, each item in turn; depth is the number of brackets. */
static alm_status expand(parser *p, draft so_far, alm_str rest)
{
    size_t i = 0;
    ALM_TRY(alm_check(p->cx));
    while (i < rest.len && rest.ptr[i] != '[')
        i++;
    if (i > TEXT_MAX - so_far.len)
        return bad_date(p);
    memcpy(so_far.text + so_far.len, rest.ptr, i);
    so_far.len += i;
    if (i == rest.len)
        return add_text(p, (alm_str){so_far.text, so_far.len});
    size_t close = i + 1;
    while (close < rest.len && rest.ptr[close] != ']' && rest.ptr[close] != '[')
        close++;
    if (close == rest.len || rest.ptr[close] == '[')
        return bad_date(p);
    const alm_str after = {rest.ptr + close + 1, rest.len - close - 1};
    alm_str list = {rest.ptr + i + 1, close - i - 1}, item;
    while (split(list, ",", &item, &list))
        ALM_TRY(expand_item(p, &so_far, item, after));
    return expand_item(p, &so_far, trim(list), after);
}

/* ------------------------------------------------------------------ length and repetition */

/* "1d", "-2h", "6h30m" */
static alm_status read_length(parser *p, alm_str text)
{
    size_t i = 0;
    const bool minus = text.len > 0 && text.ptr[0] == '-';
    for (i += minus; i < text.len || p->n_length == 0;) {
        const size_t first = i;
        int64_t count = 0;
        for (; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9'; i++) {
            count = count * 10 + text.ptr[i] - '0';
            if (count > INT32_MAX)
                return alm_fail(p->cx, ALM_E_TIME, p->pos, "Range not a number");
        }
        if (i == first || i == text.len)
            return alm_fail(p->cx, ALM_E_TIME, p->pos, "Range not a number");
        const char unit = alm_unit_letter(text.ptr[i++]);
        if (unit == 0 || p->n_length == LENGTH_PARTS_MAX)
            return bad_date(p);
        p->length[p->n_length++] = (alm_unit_span){.count = minus ? -count : count, .unit = unit};
    }
    return ALM_OK;
}

static alm_status read_period(parser *p, alm_str period, alm_str count)
{
    const alm_str digits = {period.ptr, period.len > 0 ? period.len - 1 : 0};
    const bool minus = digits.len > 0 && digits.ptr[0] == '-';
    const alm_str number = {digits.ptr + minus, digits.len - minus};
    if (!all_digits(number))
        return alm_fail(p->cx, ALM_E_TIME, p->pos, "Period not a number");
    const char unit = alm_unit_letter(period.ptr[period.len - 1]);
    if (unit == 0)
        return alm_fail(p->cx, ALM_E_TIME, p->pos, "Unknown period: %c at %d",
                        period.ptr[period.len - 1], (int)period.len - 1);
    if (!all_digits(count))
        return alm_fail(p->cx, ALM_E_TIME, p->pos, "Count not a number");
    p->period.unit = unit;
    p->period.count = minus ? -number_of(number) : number_of(number);
    p->repeats = number_of(count);
    return p->repeats > RANGES_MAX ? alm_fail(p->cx, ALM_E_LIMIT, p->pos,
                                              "interval has more than %d ranges", RANGES_MAX)
                                   : ALM_OK;
}

/* All behind the first ';'. */
static alm_status read_tail(parser *p, alm_str tail)
{
    alm_str part[3];
    uint32_t n = 0;
    alm_str rest = tail;
    while (n < 2 && split(rest, ";", &part[n], &rest))
        n++;
    part[n++] = trim(rest);
    alm_str more;
    if (n == 2 || (n == 3 && split(part[2], ";", &more, &more)))
        return alm_fail(p->cx, ALM_E_TIME, p->pos, "Invalid interval format");
    ALM_TRY(read_length(p, part[0]));
    return n == 3 ? read_period(p, part[1], part[2]) : ALM_OK;
}

static alm_status read_weekdays(parser *p, alm_str text)
{
    static const char *const names[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
    alm_str item;
    bool more = true;
    while (more) {
        more = split(text, ",", &item, &text);
        item = more ? item : trim(text);
        uint8_t bits = 0;
        if (alm_str_ieq(item, ALM_STR("workday")) || alm_str_ieq(item, ALM_STR("wd")))
            bits = MONDAY_TO_FRIDAY;
        else if (alm_str_ieq(item, ALM_STR("weekend")))
            bits = WEEKEND;
        for (size_t i = 0; i < 7; i++)
            if (item.len >= 3 && alm_str_ieq((alm_str){item.ptr, 3}, alm_str_of(names[i])))
                bits = (uint8_t)(1 << i);
        if (bits == 0)
            return alm_fail(p->cx, ALM_E_TIME, p->pos, "unknown day: %.*s",
                            (int)ALM_MIN(item.len, (size_t)40), item.ptr);
        p->weekdays |= bits;
    }
    return ALM_OK;
}

alm_status alm_interval_parse(alm_ctx *cx, alm_arena *arena, alm_str text, alm_time_unit unit,
                              int64_t now_ns, int32_t pos, alm_time_ranges *out)
{
    parser p = {.cx = cx, .arena = arena, .unit = unit, .pos = pos};
    alm_str dates = text, tail, days, zone;
    if (text.len == 0)
        return bad_date(&p);
    if (split(text, ";", &dates, &tail))
        ALM_TRY(read_tail(&p, tail));
    if (split(dates, "#", &dates, &days))
        ALM_TRY(read_weekdays(&p, days));
    if (split(dates, "@", &dates, &zone))
        ALM_TRY(alm_zone_find(cx, zone, pos, &p.zone));
    p.now = alm_time_rescale(now_ns, ALM_TIME_NS, unit);
    if (p.zone != NULL)
        alm_zone_to_local(p.zone, &p.now, 1, unit, &p.now);
    p.bracketed = memchr(dates.ptr, '[', dates.len) != NULL;
    if (p.bracketed || dates.len > TEXT_MAX)
        ALM_TRY(expand(&p, (draft){.len = 0}, dates));
    else
        ALM_TRY(add_text(&p, dates));
    *out = (alm_time_ranges){p.items, alm_ranges_normalise(p.items, p.n)};
    return ALM_OK;
}
