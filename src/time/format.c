/*
 * format.c - time patterns, compiled to a list of steps.
 */
#include "time/format.h"

#include "time/zone.h"

enum { PATTERN_MAX = 1000, NAME_MAX_BYTES = 9, ZONE_NAME_MAX = 64 };

typedef enum step_kind {
    STEP_TEXT,
    STEP_ERA,
    STEP_YEAR,
    STEP_ISO_YEAR,
    STEP_MONTH,
    STEP_MONTH_SHORT,
    STEP_MONTH_LONG,
    STEP_WEEK,
    STEP_DAY_OF_YEAR,
    STEP_DAY,
    STEP_DAY_NUMBER,
    STEP_DAY_SHORT,
    STEP_DAY_LONG,
    STEP_AM_PM,
    STEP_HOUR_23, /* H */
    STEP_HOUR_24, /* k */
    STEP_HOUR_12, /* h */
    STEP_HOUR_11, /* K */
    STEP_MINUTE,
    STEP_SECOND,
    STEP_MILLIS,
    STEP_MICROS,
    STEP_NANOS,
    STEP_FRACTION, /* width: digits written; reads any number of digits */
    STEP_ZONE
} step_kind;

typedef struct step {
    step_kind kind;
    int32_t width; /* digits written at least; read: exactly that many, where more than one */
    alm_str text;  /* STEP_TEXT */
} step;

struct alm_time_pattern {
    int32_t century_year;
    size_t max_bytes;
    uint32_t n;
    step steps[];
};

/* Runs of a letter that mean something; the longest that fits is taken. */
static const struct {
    const char *run;
    step_kind kind;
    int32_t width;
} letter_runs[] = {
    {"yyyy", STEP_YEAR, 4},       {"yyy", STEP_YEAR, 3},      {"yy", STEP_YEAR, 2},
    {"y", STEP_YEAR, 1},          {"YYYY", STEP_ISO_YEAR, 4}, {"YYY", STEP_ISO_YEAR, 3},
    {"YY", STEP_ISO_YEAR, 2},     {"Y", STEP_ISO_YEAR, 1},    {"MMMM", STEP_MONTH_LONG, 0},
    {"MMM", STEP_MONTH_SHORT, 0}, {"MM", STEP_MONTH, 2},      {"M", STEP_MONTH, 1},
    {"ww", STEP_WEEK, 2},         {"w", STEP_WEEK, 1},        {"DDD", STEP_DAY_OF_YEAR, 3},
    {"D", STEP_DAY_OF_YEAR, 1},   {"dd", STEP_DAY, 2},        {"d", STEP_DAY, 1},
    {"u", STEP_DAY_NUMBER, 1},    {"EEEE", STEP_DAY_LONG, 0}, {"EEE", STEP_DAY_SHORT, 0},
    {"EE", STEP_DAY_LONG, 0},     {"E", STEP_DAY_SHORT, 0},   {"aa", STEP_AM_PM, 0},
    {"a", STEP_AM_PM, 0},         {"HH", STEP_HOUR_23, 2},    {"H", STEP_HOUR_23, 1},
    {"kk", STEP_HOUR_24, 2},      {"k", STEP_HOUR_24, 1},     {"hh", STEP_HOUR_12, 2},
    {"h", STEP_HOUR_12, 1},       {"KK", STEP_HOUR_11, 2},    {"K", STEP_HOUR_11, 1},
    {"mm", STEP_MINUTE, 2},       {"m", STEP_MINUTE, 1},      {"ss", STEP_SECOND, 2},
    {"s", STEP_SECOND, 1},        {"SSS", STEP_MILLIS, 3},    {"S+", STEP_FRACTION, 3},
    {"S", STEP_MILLIS, 1},        {"UUU", STEP_MICROS, 3},    {"U+", STEP_FRACTION, 6},
    {"U", STEP_MICROS, 1},        {"NNN", STEP_NANOS, 3},     {"N+", STEP_FRACTION, 9},
    {"N", STEP_NANOS, 1},         {"G", STEP_ERA, 0},         {"zzz", STEP_ZONE, 0},
    {"zz", STEP_ZONE, 0},         {"z", STEP_ZONE, 0},        {"Z", STEP_ZONE, 0},
    {"xxx", STEP_ZONE, 0},        {"xx", STEP_ZONE, 0},       {"x", STEP_ZONE, 0}};

static const char *const month_names[] = {"January",   "February", "March",    "April",
                                          "May",       "June",     "July",     "August",
                                          "September", "October",  "November", "December"};
static const char *const day_names[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                        "Friday", "Saturday", "Sunday"};

/* ------------------------------------------------------------------ compiling */

/* Length of the step at the start of `rest`; 0: this character stands for itself. */
static size_t find_run(alm_str rest, step *out)
{
    for (size_t i = 0; i < ALM_COUNT(letter_runs); i++) {
        const size_t n = strlen(letter_runs[i].run);
        if (n <= rest.len && memcmp(rest.ptr, letter_runs[i].run, n) == 0) {
            *out = (step){.kind = letter_runs[i].kind, .width = letter_runs[i].width};
            return n;
        }
    }
    return 0;
}

static size_t step_max(const step *s)
{
    return s->kind == STEP_TEXT ? s->text.len : 12; /* a name, a year of nine digits, a sign */
}

alm_status alm_time_pattern_compile(alm_ctx *cx, alm_arena *arena, alm_str text,
                                    int32_t century_year, int32_t pos, const alm_time_pattern **out)
{
    alm_time_pattern *p;
    alm_str copy;
    if (text.len > PATTERN_MAX)
        return alm_fail(cx, ALM_E_ARG, pos, "time pattern has more than %d bytes", PATTERN_MAX);
    ALM_TRY(alm_arena_copy(cx, arena, text, &copy));
    ALM_TRY(alm_arena_zero(cx, arena, sizeof(*p) + (text.len + 1) * sizeof(step), &p));
    p->century_year = century_year;
    for (size_t i = 0; i < copy.len;) {
        step s;
        size_t n = 0;
        if (copy.ptr[i] == '\'') { /* up to the next quote, both included */
            const char *close = memchr(copy.ptr + i + 1, '\'', copy.len - i - 1);
            n = close != NULL ? (size_t)(close - (copy.ptr + i)) + 1 : copy.len - i;
            s = (step){.kind = STEP_TEXT, .text = {copy.ptr + i, n}};
        } else {
            n = find_run((alm_str){copy.ptr + i, copy.len - i}, &s);
            if (n == 0)
                s = (step){.kind = STEP_TEXT, .text = {copy.ptr + i, n = 1}};
        }
        step *last = p->n > 0 ? &p->steps[p->n - 1] : NULL;
        if (s.kind == STEP_TEXT && last != NULL && last->kind == STEP_TEXT)
            last->text.len += n; /* neighbours in the copy */
        else
            p->steps[p->n++] = s;
        i += n;
    }
    for (uint32_t i = 0; i < p->n; i++)
        p->max_bytes += step_max(&p->steps[i]);
    *out = p;
    return ALM_OK;
}

size_t alm_time_pattern_max(const alm_time_pattern *pattern)
{
    return pattern->max_bytes;
}

/* ------------------------------------------------------------------ writing */

static char *put_number(char *p, int64_t value, int32_t width)
{
    char back[20];
    int32_t n = 0;
    if (width == 2 && value >= 0 && value < 100) { /* most of what is written */
        p[0] = (char)('0' + value / 10);
        p[1] = (char)('0' + value % 10);
        return p + 2;
    }
    uint64_t v = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    if (value < 0)
        *p++ = '-';
    for (; v > 0 || n < width; v /= 10)
        back[n++] = (char)('0' + v % 10);
    while (n > 0)
        *p++ = back[--n];
    return p;
}

static char *put_name(char *p, const char *name, bool whole)
{
    const size_t n = whole ? strlen(name) : 3;
    memcpy(p, name, n);
    return p + n;
}

static char *put_year(char *p, int64_t year, int32_t width)
{
    if (width == 4 && year >= 0 && year <= 9999)
        return put_number(put_number(p, year / 100, 2), year % 100, 2);
    return width == 2 ? put_number(p, alm_floor_mod(year, 100), 2) : put_number(p, year, width);
}

/* ISO week of a day, and the year it belongs to. */
static int32_t iso_week(int64_t days, int32_t *year)
{
    const int64_t thursday = days - alm_floor_mod(days + 3, 7) + 3;
    uint8_t month, day;
    alm_date_of_days(thursday, year, &month, &day);
    return (int32_t)((thursday - alm_days_of_date(*year, 1, 1)) / 7) + 1;
}

static char *put_step(char *p, const step *s, const alm_civil *c, int64_t days)
{
    int32_t iso_year;
    switch (s->kind) {
    case STEP_TEXT:
        memcpy(p, s->text.ptr, s->text.len);
        return p + s->text.len;
    case STEP_ERA:
        memcpy(p, c->year > 0 ? "AD" : "BC", 2);
        return p + 2;
    case STEP_YEAR:
        return put_year(p, c->year, s->width);
    case STEP_ISO_YEAR:
        (void)iso_week(days, &iso_year);
        return put_year(p, iso_year, s->width);
    case STEP_MONTH:
        return put_number(p, c->month, s->width);
    case STEP_MONTH_SHORT:
    case STEP_MONTH_LONG:
        return put_name(p, month_names[c->month - 1], s->kind == STEP_MONTH_LONG);
    case STEP_WEEK:
        return put_number(p, iso_week(days, &iso_year), s->width);
    case STEP_DAY_OF_YEAR:
        return put_number(p, days - alm_days_of_date(c->year, 1, 1) + 1, s->width);
    case STEP_DAY:
        return put_number(p, c->day, s->width);
    case STEP_DAY_NUMBER:
        return put_number(p, alm_floor_mod(days + 3, 7) + 1, 1);
    case STEP_DAY_SHORT:
    case STEP_DAY_LONG:
        return put_name(p, day_names[alm_floor_mod(days + 3, 7)], s->kind == STEP_DAY_LONG);
    case STEP_AM_PM:
        memcpy(p, c->hour < 12 ? "AM" : "PM", 2);
        return p + 2;
    case STEP_HOUR_23:
        return put_number(p, c->hour, s->width);
    case STEP_HOUR_24:
        return put_number(p, c->hour == 0 ? 24 : c->hour, s->width);
    case STEP_HOUR_12:
        return put_number(p, c->hour % 12 == 0 ? 12 : c->hour % 12, s->width);
    case STEP_HOUR_11:
        return put_number(p, c->hour % 12, s->width);
    case STEP_MINUTE:
        return put_number(p, c->minute, s->width);
    case STEP_SECOND:
        return put_number(p, c->second, s->width);
    case STEP_MILLIS:
        return put_number(p, c->nanos / 1000000, s->width);
    case STEP_MICROS:
        return put_number(p, c->nanos / 1000 % 1000, s->width);
    case STEP_NANOS:
        return put_number(p, c->nanos % 1000, s->width);
    case STEP_FRACTION:
        return put_number(p,
                          s->width == 3   ? c->nanos / 1000000
                          : s->width == 6 ? c->nanos / 1000
                                          : c->nanos,
                          s->width);
    case STEP_ZONE:
        *p = 'Z';
        return p + 1;
    }
    return p;
}

size_t alm_time_pattern_write(const alm_time_pattern *pattern, int64_t time, alm_time_unit unit,
                              char *out)
{
    alm_civil c;
    alm_civil_of_time(time, unit, &c);
    const int64_t days = alm_floor_div(time, alm_time_day(unit));
    char *p = out;
    for (uint32_t i = 0; i < pattern->n; i++)
        p = put_step(p, &pattern->steps[i], &c, days);
    ALM_DASSERT((size_t)(p - out) <= pattern->max_bytes);
    return (size_t)(p - out);
}

/* ------------------------------------------------------------------ reading */

typedef struct reading {
    const char *p, *end;
    int32_t year, month, day, hour, minute, second;
    int32_t millis, micros, nanos, fraction;      /* fraction: nanoseconds, -1: not read */
    int32_t iso_year, week, weekday, day_of_year; /* 0: not read */
    bool pm, has_pm, bc;
    int32_t offset_s;
    char zone[ZONE_NAME_MAX + 1]; /* a name, "" if none */
} reading;

/* width 1: one to max digits; else exactly width. */
static bool get_number(reading *r, int32_t width, int32_t max, int32_t *out)
{
    int32_t v = 0, n = 0;
    const int32_t most = width > 1 ? width : max;
    for (; n < most && r->p < r->end && *r->p >= '0' && *r->p <= '9'; n++)
        v = v * 10 + (*r->p++ - '0');
    *out = v;
    return n > 0 && (width == 1 || n == width);
}

/* A name, whole if it is there, else its first three letters, whichever of them the pattern writes. */
static bool get_name(reading *r, const char *const *names, int32_t n, int32_t *out)
{
    for (int32_t i = 0; i < 2 * n; i++) {
        const char *name = names[i % n];
        const size_t len = i < n ? strlen(name) : 3;
        if ((size_t)(r->end - r->p) >= len &&
            alm_str_ieq((alm_str){r->p, len}, (alm_str){name, len})) {
            r->p += len;
            *out = i % n;
            return true;
        }
    }
    return false;
}

/* As many digits as there are, up to nine used, as a fraction of the second. */
static bool get_fraction(reading *r)
{
    int32_t v = 0, n = 0;
    for (; r->p < r->end && *r->p >= '0' && *r->p <= '9'; r->p++, n++)
        if (n < 9)
            v = v * 10 + (*r->p - '0');
    for (int32_t i = n; i < 9; i++)
        v *= 10;
    r->fraction = v;
    return n > 0 && n <= 9;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Z, an offset, or a name. */
static bool get_zone(reading *r)
{
    size_t n = 0, left = (size_t)(r->end - r->p);
    if (left == 0)
        return false;
    if (*r->p == 'Z' && (left == 1 || !is_letter(r->p[1]))) {
        r->p++;
        return true;
    }
    if (!is_letter(*r->p)) { /* the longest offset there */
        static const uint8_t lengths[] = {9, 6, 5, 3};
        for (size_t i = 0; i < ALM_COUNT(lengths); i++)
            if (left >= lengths[i] &&
                alm_time_offset_parse((alm_str){r->p, lengths[i]}, &r->offset_s)) {
                r->p += lengths[i];
                return true;
            }
        return false;
    }
    while (n < left && n < ZONE_NAME_MAX &&
           (is_letter(r->p[n]) || (r->p[n] >= '0' && r->p[n] <= '9') ||
            (r->p[n] != 0 && strchr("_/+-:", r->p[n]) != NULL)))
        n++;
    memcpy(r->zone, r->p, n);
    r->zone[n] = 0;
    r->p += n;
    return true;
}

static bool get_year(reading *r, const step *s, int32_t century_year, int32_t *out)
{
    if (!get_number(r, s->width, 9, out))
        return false;
    if (s->width == 2) { /* the year that ends so within century_year - 80 .. + 19 */
        const int32_t first = century_year - 80;
        *out = first + (int32_t)alm_floor_mod(*out - first, 100);
    }
    return true;
}

static bool get_step(reading *r, const step *s, int32_t century_year)
{
    int32_t index;
    switch (s->kind) {
    case STEP_TEXT:
        if ((size_t)(r->end - r->p) < s->text.len || memcmp(r->p, s->text.ptr, s->text.len) != 0)
            return false;
        r->p += s->text.len;
        return true;
    case STEP_ERA:
        if (r->end - r->p < 2)
            return false;
        r->bc = alm_str_ieq((alm_str){r->p, 2}, ALM_STR("BC"));
        r->p += 2;
        return r->bc || alm_str_ieq((alm_str){r->p - 2, 2}, ALM_STR("AD"));
    case STEP_YEAR:
        return get_year(r, s, century_year, &r->year);
    case STEP_ISO_YEAR:
        return get_year(r, s, century_year, &r->iso_year);
    case STEP_MONTH:
        return get_number(r, s->width, 2, &r->month);
    case STEP_MONTH_SHORT:
    case STEP_MONTH_LONG:
        if (!get_name(r, month_names, 12, &index))
            return false;
        r->month = index + 1;
        return true;
    case STEP_WEEK:
        return get_number(r, s->width, 2, &r->week) && r->week >= 1 && r->week <= 53;
    case STEP_DAY_OF_YEAR:
        return get_number(r, s->width, 3, &r->day_of_year) && r->day_of_year >= 1;
    case STEP_DAY:
        return get_number(r, s->width, 2, &r->day);
    case STEP_DAY_NUMBER:
        return get_number(r, 1, 1, &r->weekday) && r->weekday >= 1 && r->weekday <= 7;
    case STEP_DAY_SHORT:
    case STEP_DAY_LONG:
        if (!get_name(r, day_names, 7, &index))
            return false;
        r->weekday = index + 1;
        return true;
    case STEP_AM_PM:
        if (r->end - r->p < 2)
            return false;
        r->has_pm = true;
        r->pm = alm_str_ieq((alm_str){r->p, 2}, ALM_STR("PM"));
        r->p += 2;
        return r->pm || alm_str_ieq((alm_str){r->p - 2, 2}, ALM_STR("AM"));
    case STEP_HOUR_23:
    case STEP_HOUR_11:
        return get_number(r, s->width, 2, &r->hour);
    case STEP_HOUR_24:
        if (!get_number(r, s->width, 2, &r->hour) || r->hour < 1 || r->hour > 24)
            return false;
        r->hour %= 24;
        return true;
    case STEP_HOUR_12:
        return get_number(r, s->width, 2, &r->hour) && r->hour >= 1 && r->hour <= 12;
    case STEP_MINUTE:
        return get_number(r, s->width, 2, &r->minute);
    case STEP_SECOND:
        return get_number(r, s->width, 2, &r->second);
    case STEP_MILLIS:
        return s->width == 1 ? get_fraction(r) : get_number(r, s->width, 3, &r->millis);
    case STEP_MICROS:
        return get_number(r, s->width, 3, &r->micros);
    case STEP_NANOS:
        return get_number(r, s->width, 3, &r->nanos);
    case STEP_FRACTION:
        return get_fraction(r);
    case STEP_ZONE:
        return get_zone(r);
    }
    return false;
}

/* Date from a week or a day of the year, where those were given. */
static bool settle_date(reading *r)
{
    int64_t days;
    uint8_t month, day;
    int32_t year;
    if (r->bc)
        r->year = 1 - r->year;
    if (r->week > 0) {
        const int32_t iso_year = r->iso_year != 0 ? r->iso_year : r->year;
        const int64_t january_4 = alm_days_of_date(iso_year, 1, 4); /* is in week 1 */
        days = january_4 - alm_floor_mod(january_4 + 3, 7) + 7 * (r->week - 1) +
               (r->weekday > 0 ? r->weekday - 1 : 0);
        if (iso_week(days, &year) != r->week)
            return false;
    } else if (r->day_of_year > 0) {
        days = alm_days_of_date(r->year, 1, 1) + r->day_of_year - 1;
        if (r->day_of_year > 365 + (int32_t)alm_year_is_leap(r->year))
            return false;
    } else {
        return true;
    }
    alm_date_of_days(days, &year, &month, &day);
    r->year = year;
    r->month = month;
    r->day = day;
    return true;
}

/* To UTC; a name is looked up in a context of its own, which keeps errors and memory away. */
static bool settle_zone(alm_ctx *cx, const reading *r, alm_time_unit unit, int64_t *time)
{
    if (r->zone[0] == 0)
        return !__builtin_sub_overflow(*time, r->offset_s * alm_time_second(unit), time) &&
               *time != ALM_TS_NULL;
    alm_arena scratch;
    const alm_zone *zone;
    alm_ctx own = {.zones = cx != NULL ? cx->zones : NULL, .io = cx != NULL ? cx->io : NULL};
    alm_arena_init(&scratch, NULL);
    own.arena = &scratch;
    const bool found = alm_zone_find(&own, alm_str_of(r->zone), -1, &zone) == ALM_OK;
    if (found)
        alm_zone_to_utc(zone, time, 1, unit, time);
    alm_arena_deinit(&scratch);
    return found && *time != ALM_TS_NULL;
}

bool alm_time_pattern_read(alm_ctx *cx, const alm_time_pattern *pattern, alm_str text,
                           alm_time_unit unit, int64_t *out)
{
    reading r = {.p = text.ptr, .end = text.ptr + text.len};
    int64_t time;
    r.year = 1970;
    r.month = r.day = 1;
    r.fraction = -1;
    if (text.len == 0 || pattern->n == 0)
        return false;
    for (uint32_t i = 0; i < pattern->n; i++)
        if (!get_step(&r, &pattern->steps[i], pattern->century_year))
            return false;
    if (r.p != r.end || !settle_date(&r) || (r.has_pm && r.hour > 12))
        return false;
    if (r.has_pm)
        r.hour = r.hour % 12 + (r.pm ? 12 : 0);
    if (r.month > 12 || r.day > 31 || r.hour > 23 || r.minute > 59 || r.second > 59)
        return false;
    const alm_civil c = {.year = r.year,
                         .month = (uint8_t)r.month,
                         .day = (uint8_t)r.day,
                         .hour = (uint8_t)r.hour,
                         .minute = (uint8_t)r.minute,
                         .second = (uint8_t)r.second,
                         .nanos = r.fraction >= 0 ? r.fraction
                                                  : r.millis * 1000000 + r.micros * 1000 + r.nanos};
    if (!alm_time_of_civil(&c, unit, &time) || !settle_zone(cx, &r, unit, &time))
        return false;
    *out = time;
    return true;
}
