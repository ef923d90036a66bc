/*
 * interval.c - the texts of `ts IN '...'`.
 *
 * Grammar     interval = dates [@zone] [#days] [;length [;period;count]]
 *             dates    = piece {piece}: plain characters, and brackets [item{,item}], each of whose
 *                        items takes the place of the bracket in turn
 *             item     = text [@zone] | number..number | date..date; it may have brackets itself
 *             date     = as interval_date.h reads it, the whole of what it names
 *             date..date outside brackets is one range
 *             days     = workday | wd | weekend | Mon,Tue,...
 *             length   = [-] n unit {n unit}; period = [-] n unit
 *             2024-[01..03]-15T[09:30,14:00]@Europe/Berlin#wd;1h
 * Length      In a text of a date alone it moves the end of what the date names, as ever:
 *             '2024-01-15T10:00;1h' ends at 11:00:59.999999. Where the text has a bracket, a
 *             variable, a zone, a day filter, a week or a length of several units it is the length:
 *             '2024-01-[15]T10:00;1h' ends at 10:59:59.999999; and a year, month or week in it
 *             stands for each of its days.
 * Method      Ranges are made in local time of the zone, filtered by day, taken to UTC, and then
 *             given their length: six hours are six hours when the clock changes.
 */
#include "time/interval.h"

#include <stdio.h>

#include "time/calendar.h"
#include "time/interval_date.h"
#include "time/zone.h"

enum {
    TEXT_MAX = 120,       /* of one date after the brackets are replaced */
    RANGES_MAX = 1000000, /* a text must not take all memory */
    LENGTH_PARTS_MAX = 8,
    BRACKETS_MAX = 16 /* side by side or inside each other */
};

typedef struct parser {
    alm_ctx *cx;
    alm_arena *arena;
    alm_named_clock clock; /* its zone is that of the date at hand */
    int32_t pos;
    const alm_zone *zone; /* of the whole text; NULL: UTC */
    uint8_t weekdays;     /* bit 0 Monday; 0: any */
    bool newer;           /* see Length */
    bool outside;         /* some date does not lie within the unit: the ranges are of no use */
    alm_unit_span length[LENGTH_PARTS_MAX];
    uint32_t n_length;
    alm_unit_span period; /* count 0: none */
    int64_t repeats;
    alm_time_range *items;
    uint32_t n, cap;
} parser;

/* False: it is no date. */
static bool read_named(parser *self, alm_str text, alm_named_time *out)
{
    const bool ok = alm_named_time_read(&self->clock, text, out);
    self->outside |= ok && out->outside;
    return ok;
}

static alm_status bad_date(parser *self)
{
    return alm_fail(self->cx, ALM_E_TIME, self->pos, "Invalid date");
}

static alm_status time_interval_bad_text(parser *self, alm_str text)
{
    if (text.len == 0 || text.ptr[0] != '$' || alm_named_variable_known(text))
        return bad_date(self);
    return alm_fail(self->cx, ALM_E_TIME, self->pos, "Unknown date variable: %.*s",
                    (int)ALM_MIN(text.len, (size_t)40), text.ptr);
}

/* ------------------------------------------------------------------ collecting ranges */

static alm_status time_interval_push(parser *self, int64_t lo, int64_t hi)
{
    if (self->n == RANGES_MAX)
        return alm_fail(self->cx, ALM_E_LIMIT, self->pos, "interval has more than %d ranges",
                        RANGES_MAX);
    ALM_TRY(alm_nodes_add(self->cx, 1, self->pos)); /* a short text may stand for very many */
    if (self->n == self->cap) {
        alm_time_range *items;
        const uint32_t cap = ALM_MAX(16, self->cap * 4);
        ALM_TRY(ALM_NEWN(self->cx, self->arena, cap, &items));
        if (self->n > 0)
            memcpy(items, self->items, self->n * sizeof(*items));
        self->items = items;
        self->cap = cap;
    }
    self->items[self->n++] = (alm_time_range){lo, hi};
    return ALM_OK;
}

/* t plus the length; one without end where the sum does not fit. */
static int64_t add_length(const parser *self, int64_t t)
{
    for (uint32_t i = 0; i < self->n_length; i++)
        t = alm_named_add(t, self->clock.unit, self->length[i].unit, self->length[i].count);
    return t;
}

/* To UTC: the range ends where the next one would begin. */
static void to_utc(const alm_named_clock *clock, int64_t *lo, int64_t *hi)
{
    if (clock->zone == NULL)
        return;
    alm_zone_to_utc(clock->zone, lo, 1, clock->unit, lo);
    if (*hi != INT64_MAX) {
        *hi += 1;
        alm_zone_to_utc(clock->zone, hi, 1, clock->unit, hi);
        *hi -= *hi != ALM_TS_NULL;
    }
}

static bool wanted_day(const parser *self, int64_t day)
{
    return self->weekdays == 0 || (self->weekdays >> alm_floor_mod(day + 3, 7) & 1) != 0;
}

/* A range, as yet in local time unless `absolute`. measured: its length counts from its start. */
static alm_status time_interval_add_range(parser *self, int64_t lo, int64_t hi, bool absolute,
                                          bool measured)
{
    const alm_time_unit unit = self->clock.unit;
    int64_t local = lo;
    if (absolute && self->clock.zone != NULL)
        alm_zone_to_local(self->clock.zone, &local, 1, unit, &local);
    if (!wanted_day(self, alm_floor_div(local, alm_time_day(unit))))
        return ALM_OK;
    measured &= self->n_length > 0 && add_length(self, lo) > lo;
    if (!measured)
        hi = add_length(self, hi);
    const int64_t times = self->period.count == 0 ? 1 : ALM_MAX(self->repeats, 1);
    for (int64_t k = 0; k < times; k++) {
        int64_t a = lo, b = hi, count;
        if (k > 0) {
            if (__builtin_mul_overflow(self->period.count, k, &count))
                break;
            a = alm_time_add(lo, unit, self->period.unit, count);
            b = alm_named_add(hi, unit, self->period.unit, count);
            if (a == ALM_TS_NULL)
                break;
        }
        if (!absolute)
            to_utc(&self->clock, &a, &b);
        if (measured) {
            b = add_length(self, a);
            b -= b != INT64_MAX;
        }
        if (a <= b)
            ALM_TRY(time_interval_push(self, a, b));
        if ((k & 1023) == 0)
            ALM_TRY(alm_check(self->cx));
    }
    return ALM_OK;
}

/* Days [first, last], each a range. */
static alm_status add_days(parser *self, int64_t first, int64_t last, bool business)
{
    const int64_t day = alm_time_day(self->clock.unit);
    for (int64_t days = first; days <= last; days++) {
        int64_t lo;
        if (business && alm_floor_mod(days + 3, 7) >= 5)
            continue;
        if (!__builtin_mul_overflow(days, day, &lo) && lo < INT64_MAX - day)
            ALM_TRY(time_interval_add_range(self, lo, lo + day - 1, false, self->newer));
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------ texts without brackets */

enum { MONDAY_TO_FRIDAY = 0x1f, WEEKEND = 0x60 };

static alm_str time_interval_trim(alm_str text)
{
    while (text.len > 0 && text.ptr[0] == ' ') {
        text.ptr++;
        text.len--;
    }
    while (text.len > 0 && text.ptr[text.len - 1] == ' ')
        text.len--;
    return text;
}

/* Splits at the first occurrence of `mark` that is in no bracket. */
static bool time_interval_split(alm_str text, const char *mark, alm_str *left, alm_str *right)
{
    const size_t len = strlen(mark);
    int32_t depth = 0;
    for (size_t i = 0; i + len <= text.len; i++) {
        depth += (text.ptr[i] == '[') - (text.ptr[i] == ']');
        if (depth <= 0 && memcmp(text.ptr + i, mark, len) == 0) {
            *left = time_interval_trim((alm_str){text.ptr, i});
            *right = time_interval_trim((alm_str){text.ptr + i + len, text.len - i - len});
            return true;
        }
    }
    return false;
}

/* "2025-01" + "T09:30": every day of the month. */
static alm_status add_each_day(parser *self, alm_str text, size_t date_len)
{
    alm_named_time month, clock;
    char one[ALM_TIME_TEXT_MAX + TEXT_MAX];
    if (!read_named(self, (alm_str){text.ptr, date_len}, &month))
        return bad_date(self);
    if (!month.fits)
        return ALM_OK;
    const int64_t ticks = alm_time_day(self->clock.unit);
    for (int64_t day = alm_floor_div(month.lo, ticks); day <= alm_floor_div(month.hi, ticks);
         day++) {
        size_t n = alm_named_day_text(day, one);
        memcpy(one + n, text.ptr + date_len, text.len - date_len);
        n += text.len - date_len;
        if (!read_named(self, (alm_str){one, n}, &clock))
            return bad_date(self);
        if (clock.fits)
            ALM_TRY(time_interval_add_range(self, clock.lo, clock.hi, clock.absolute, true));
    }
    return ALM_OK;
}

/* One range from a to b; day by day where something asks for days. */
static alm_status add_from_to(parser *self, alm_str left, alm_str right)
{
    alm_named_time a, b;
    if (!read_named(self, left, &a))
        return time_interval_bad_text(self, left);
    if (!read_named(self, right, &b))
        return time_interval_bad_text(self, right);
    if (self->outside)
        return ALM_OK;
    const bool business = a.business_days || b.business_days;
    const bool days = a.last <= ALM_FIELD_DAY && b.last <= ALM_FIELD_DAY;
    const int64_t day = alm_time_day(self->clock.unit);
    if (days && (business || self->weekdays != 0))
        return add_days(self, alm_floor_div(a.lo, day), alm_floor_div(b.hi, day), business);
    if (a.absolute != b.absolute) { /* to UTC, each */
        int64_t hi = a.hi;
        if (a.absolute) {
            int64_t lo = b.lo;
            to_utc(&self->clock, &lo, &b.hi);
        } else {
            to_utc(&self->clock, &a.lo, &hi);
        }
        a.absolute = true;
    }
    return time_interval_add_range(self, a.lo, b.hi, a.absolute, false);
}

/* One date, without brackets. */
static alm_status time_interval_add_text(parser *self, alm_str text)
{
    alm_named_time time;
    alm_str left, right;
    text = time_interval_trim(text);
    if (time_interval_split(text, "..", &left, &right))
        return add_from_to(self, left, right);
    const size_t date_len = alm_named_date_length(&self->clock, text);
    if (date_len > 0)
        return add_each_day(self, text, date_len);
    if (!read_named(self, text, &time))
        return time_interval_bad_text(self, text);
    if (!time.fits)
        return ALM_OK;
    const bool week = text.len > 5 && text.ptr[5] == 'W';
    const bool each = self->weekdays != 0 || (self->n_length > 0 && (self->newer || week));
    const int64_t day = alm_time_day(self->clock.unit);
    if (each && time.last < ALM_FIELD_DAY) {
        self->newer = true;
        return add_days(self, alm_floor_div(time.lo, day), alm_floor_div(time.hi, day), false);
    }
    return time_interval_add_range(self, time.lo, time.hi, time.absolute, self->newer || week);
}

/* ------------------------------------------------------------------ brackets */

typedef struct draft { /* the text so far, and what is still to be read */
    char text[TEXT_MAX];
    size_t len;
    const alm_zone *zone; /* of an item; NULL: that of the whole text */
    int32_t brackets;     /* replaced so far */
} draft;

static alm_status time_interval_expand(parser *self, draft so_far, alm_str rest);

static void use_zone(parser *self, const draft *d)
{
    self->clock.zone = d->zone != NULL ? d->zone : self->zone;
}

static alm_status expand_with(parser *self, const draft *so_far, alm_str item, alm_str rest)
{
    draft d = *so_far;
    if (item.len > TEXT_MAX - d.len)
        return bad_date(self);
    memcpy(d.text + d.len, item.ptr, item.len);
    d.len += item.len;
    return time_interval_expand(self, d, rest);
}

static bool all_digits(alm_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
    return text.len > 0 && text.len <= 9;
}

static int64_t time_interval_number_of(alm_str text)
{
    int64_t value = 0;
    for (size_t i = 0; i < text.len; i++)
        value = value * 10 + text.ptr[i] - '0';
    return value;
}

/* [5,10] as well as [05,10]; the day of a week has one digit. */
static int digits_wanted(const draft *so_far, size_t written)
{
    const bool weekday = so_far->len == 9 && so_far->text[5] == 'W';
    return weekday ? 1 : (int)ALM_MAX(written, 2);
}

/* An item a..b: numbers, or days from one date to another. */
static alm_status expand_range(parser *self, const draft *so_far, alm_str a, alm_str b,
                               alm_str rest)
{
    char item[ALM_TIME_TEXT_MAX];
    alm_named_time from, to;
    if (all_digits(a) && all_digits(b) && !(so_far->len == 0 && a.len == 4 && b.len == 4)) {
        const int64_t hi = time_interval_number_of(b);
        if (time_interval_number_of(a) > hi)
            return alm_fail(self->cx, ALM_E_TIME, self->pos, "Range must be ascending: %.*s..%.*s",
                            (int)a.len, a.ptr, (int)b.len, b.ptr);
        for (int64_t value = time_interval_number_of(a); value <= hi; value++) {
            const int len = snprintf(item, sizeof(item), "%0*lld", digits_wanted(so_far, a.len),
                                     (long long)value);
            ALM_TRY(expand_with(self, so_far, (alm_str){item, (size_t)len}, rest));
        }
        return ALM_OK;
    }
    use_zone(self, so_far);
    if (so_far->len > 0)
        return bad_date(self);
    if (!read_named(self, a, &from))
        return time_interval_bad_text(self, a);
    if (!read_named(self, b, &to))
        return time_interval_bad_text(self, b);
    if (self->outside)
        return ALM_OK;
    if (from.last > ALM_FIELD_DAY || to.last > ALM_FIELD_DAY)
        return rest.len > 0 ? bad_date(self) : add_from_to(self, a, b);
    const bool business = from.business_days || to.business_days;
    const int64_t ticks = alm_time_day(self->clock.unit);
    for (int64_t day = alm_floor_div(from.lo, ticks); day <= alm_floor_div(to.hi, ticks); day++) {
        if (business && alm_floor_mod(day + 3, 7) >= 5)
            continue;
        const size_t len = alm_named_day_text(day, item);
        ALM_TRY(expand_with(self, so_far, (alm_str){item, len}, rest));
    }
    return ALM_OK;
}

/* An item with brackets of its own: it and what follows become the text to be read. */
static alm_status expand_nested(parser *self, const draft *so_far, alm_str item, alm_str rest)
{
    char *text;
    ALM_TRY(alm_arena_bytes(self->cx, self->arena, item.len + rest.len + 1, &text));
    memcpy(text, item.ptr, item.len);
    if (rest.len > 0)
        memcpy(text + item.len, rest.ptr, rest.len);
    return time_interval_expand(self, *so_far, (alm_str){text, item.len + rest.len});
}

static alm_status expand_item(parser *self, const draft *so_far, alm_str item, alm_str rest)
{
    alm_str a, b, zone;
    char text[ALM_TIME_TEXT_MAX];
    draft d = *so_far;
    alm_named_time time;
    if (item.len == 0)
        return alm_fail(self->cx, ALM_E_TIME, self->pos, "Empty bracket expansion");
    if (time_interval_split(item, "@", &item, &zone))
        ALM_TRY(alm_zone_find(self->cx, zone, self->pos, &d.zone));
    if (memchr(item.ptr, '[', item.len) != NULL)
        return expand_nested(self, &d, item, rest);
    if (time_interval_split(item, "..", &a, &b))
        return expand_range(self, &d, a, b, rest);
    if (item.len > 0 && item.ptr[0] == '$' && d.len == 0 && rest.len > 0) {
        use_zone(self, &d);
        if (!read_named(self, item, &time) || time.last != ALM_FIELD_DAY)
            return time_interval_bad_text(self, item);
        const size_t len =
            alm_named_day_text(alm_floor_div(time.lo, alm_time_day(self->clock.unit)), text);
        return expand_with(self, &d, (alm_str){text, len}, rest);
    }
    if (all_digits(item) && item.len == 1 && digits_wanted(&d, 1) == 2) {
        text[0] = '0';
        text[1] = item.ptr[0];
        return expand_with(self, &d, (alm_str){text, 2}, rest);
    }
    return expand_with(self, &d, item, rest);
}

/* The bracket that closes the one at the start of the text. */
static size_t time_interval_closing(alm_str text)
{
    int32_t depth = 0;
    for (size_t i = 0; i < text.len; i++) {
        depth += (text.ptr[i] == '[') - (text.ptr[i] == ']');
        if (depth == 0)
            return i;
    }
    return 0;
}

/* Replaces the first bracket of `rest`, each item in turn. */
static alm_status time_interval_expand(parser *self, draft so_far, alm_str rest)
{
    size_t i = 0;
    ALM_TRY(alm_check(self->cx));
    while (i < rest.len && rest.ptr[i] != '[')
        i++;
    if (i > TEXT_MAX - so_far.len)
        return bad_date(self);
    memcpy(so_far.text + so_far.len, rest.ptr, i);
    so_far.len += i;
    if (i == rest.len) {
        use_zone(self, &so_far);
        return time_interval_add_text(self, (alm_str){so_far.text, so_far.len});
    }
    const size_t close = time_interval_closing((alm_str){rest.ptr + i, rest.len - i});
    if (close == 0)
        return alm_fail(self->cx, ALM_E_TIME, self->pos, "Unclosed '[' in interval");
    if (++so_far.brackets > BRACKETS_MAX)
        return alm_fail(self->cx, ALM_E_LIMIT, self->pos, "interval has more than %d brackets",
                        BRACKETS_MAX);
    const alm_str after = {rest.ptr + i + close + 1, rest.len - i - close - 1};
    alm_str list = {rest.ptr + i + 1, close - 1}, item;
    while (time_interval_split(list, ",", &item, &list))
        ALM_TRY(expand_item(self, &so_far, item, after));
    return expand_item(self, &so_far, time_interval_trim(list), after);
}

/* ------------------------------------------------------------------ length and repetition */

/* "1d", "-2h", "6h30m" */
static alm_status time_interval_read_length(parser *self, alm_str text)
{
    size_t i = 0;
    const bool minus = text.len > 0 && text.ptr[0] == '-';
    for (i += minus; i < text.len || self->n_length == 0;) {
        const size_t first = i;
        int64_t count = 0;
        for (; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9'; i++) {
            count = count * 10 + text.ptr[i] - '0';
            if (count > INT32_MAX)
                return alm_fail(self->cx, ALM_E_TIME, self->pos, "Range not a number");
        }
        if (i == first || i == text.len)
            return alm_fail(self->cx, ALM_E_TIME, self->pos, "Range not a number");
        const char unit = alm_unit_letter(text.ptr[i++]);
        if (unit == 0 || self->n_length == LENGTH_PARTS_MAX)
            return bad_date(self);
        self->length[self->n_length++] =
            (alm_unit_span){.count = minus ? -count : count, .unit = unit};
    }
    return ALM_OK;
}

static alm_status time_interval_read_period(parser *self, alm_str period, alm_str count)
{
    const alm_str digits = {period.ptr, period.len > 0 ? period.len - 1 : 0};
    const bool minus = digits.len > 0 && digits.ptr[0] == '-';
    const alm_str number = {digits.ptr + minus, digits.len - minus};
    if (!all_digits(number))
        return alm_fail(self->cx, ALM_E_TIME, self->pos, "Period not a number");
    const char unit = alm_unit_letter(period.ptr[period.len - 1]);
    if (unit == 0)
        return alm_fail(self->cx, ALM_E_TIME, self->pos, "Unknown period: %c at %d",
                        period.ptr[period.len - 1], (int)period.len - 1);
    if (!all_digits(count))
        return alm_fail(self->cx, ALM_E_TIME, self->pos, "Count not a number");
    self->period.unit = unit;
    self->period.count = minus ? -time_interval_number_of(number) : time_interval_number_of(number);
    self->repeats = time_interval_number_of(count);
    return self->repeats > RANGES_MAX ? alm_fail(self->cx, ALM_E_LIMIT, self->pos,
                                                 "interval has more than %d ranges", RANGES_MAX)
                                      : ALM_OK;
}

/* All behind the first ';'. */
static alm_status read_tail(parser *self, alm_str tail)
{
    alm_str part[3];
    uint32_t count = 0;
    alm_str rest = tail;
    while (count < 2 && time_interval_split(rest, ";", &part[count], &rest))
        count++;
    part[count++] = time_interval_trim(rest);
    alm_str more;
    if (count == 2 || (count == 3 && time_interval_split(part[2], ";", &more, &more)))
        return alm_fail(self->cx, ALM_E_TIME, self->pos, "Invalid interval format");
    ALM_TRY(time_interval_read_length(self, part[0]));
    return count == 3 ? time_interval_read_period(self, part[1], part[2]) : ALM_OK;
}

/* Mon and Monday alike. */
static bool is_day_name(alm_str text, const char *name)
{
    return alm_str_ieq(text, alm_str_of(name)) || alm_str_ieq(text, (alm_str){name, 3});
}

static alm_status read_weekdays(parser *self, alm_str text)
{
    static const char *const names[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                        "Friday", "Saturday", "Sunday"};
    alm_str item;
    bool more = true;
    while (more) {
        more = time_interval_split(text, ",", &item, &text);
        item = more ? item : time_interval_trim(text);
        uint8_t bits = 0;
        if (alm_str_ieq(item, ALM_STR("workday")) || alm_str_ieq(item, ALM_STR("wd")))
            bits = MONDAY_TO_FRIDAY;
        else if (alm_str_ieq(item, ALM_STR("weekend")))
            bits = WEEKEND;
        for (size_t i = 0; i < ALM_COUNT(names); i++)
            if (is_day_name(item, names[i]))
                bits = (uint8_t)(1 << i);
        if (bits == 0)
            return alm_fail(self->cx, ALM_E_TIME, self->pos, "Invalid day name: %.*s",
                            (int)ALM_MIN(item.len, (size_t)40), item.ptr);
        self->weekdays |= bits;
    }
    return ALM_OK;
}

static alm_status time_interval_parse_in(alm_ctx *cx, alm_arena *arena, alm_str text,
                                         alm_time_unit unit, int64_t now_ns, int32_t pos,
                                         alm_time_ranges *out, bool *outside)
{
    parser self = {.cx = cx, .arena = arena, .pos = pos};
    alm_str dates = time_interval_trim(text), tail, days, zone;
    if (dates.len == 0)
        return bad_date(&self);
    self.clock =
        (alm_named_clock){.unit = unit, .now = alm_time_rescale(now_ns, ALM_TIME_NS, unit)};
    if (time_interval_split(dates, ";", &dates, &tail))
        ALM_TRY(read_tail(&self, tail));
    if (time_interval_split(dates, "#", &dates, &days))
        ALM_TRY(read_weekdays(&self, days));
    if (time_interval_split(dates, "@", &dates, &zone))
        ALM_TRY(alm_zone_find(cx, zone, pos, &self.zone));
    if (dates.len == 0)
        return bad_date(&self);
    self.clock.zone = self.zone;
    const bool bracketed = memchr(dates.ptr, '[', dates.len) != NULL;
    self.newer = bracketed || memchr(dates.ptr, '$', dates.len) != NULL || self.zone != NULL ||
                 self.weekdays != 0 || self.n_length > 1;
    if (bracketed || dates.len > TEXT_MAX)
        ALM_TRY(time_interval_expand(&self, (draft){.len = 0}, dates));
    else
        ALM_TRY(time_interval_add_text(&self, dates));
    *out = (alm_time_ranges){self.items, alm_ranges_normalise(self.items, self.n)};
    *outside = self.outside;
    return ALM_OK;
}

/* Ranges of microseconds as ranges of nanoseconds: as much of them as there is. */
static void to_nanoseconds(alm_time_ranges *set)
{
    const int64_t last = INT64_MAX / 1000, first = -last - 1; /* partly there, both of them */
    uint32_t kept = 0;
    for (uint32_t i = 0; i < set->n; i++) {
        const alm_time_range range = set->items[i];
        if (range.hi < first || range.lo > last)
            continue;
        set->items[kept++] = (alm_time_range){range.lo <= first ? ALM_TS_NULL + 1 : range.lo * 1000,
                                              range.hi >= last ? INT64_MAX : range.hi * 1000 + 999};
    }
    set->n = kept;
}

alm_status alm_interval_parse(alm_ctx *cx, alm_arena *arena, alm_str text, alm_time_unit unit,
                              int64_t now_ns, int32_t pos, alm_time_ranges *out)
{
    bool outside = false;
    ALM_TRY(time_interval_parse_in(cx, arena, text, unit, now_ns, pos, out, &outside));
    if (!outside || unit != ALM_TIME_NS)
        return ALM_OK;
    /* years 1 to 9999 lie within microseconds, and so do the lengths and repetitions that count from them */
    ALM_TRY(time_interval_parse_in(cx, arena, text, ALM_TIME_US, now_ns, pos, out, &outside));
    to_nanoseconds(out);
    return ALM_OK;
}
