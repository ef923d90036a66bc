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
        const size_t len = strlen(letter_runs[i].run);
        if (len <= rest.len && memcmp(rest.ptr, letter_runs[i].run, len) == 0) {
            *out = (step){.kind = letter_runs[i].kind, .width = letter_runs[i].width};
            return len;
        }
    }
    return 0;
}

static size_t step_max(const step *self)
{
    return self->kind == STEP_TEXT ? self->text.len
                                   : 12; /* a name, a year of nine digits, a sign */
}

alm_status alm_time_pattern_compile(alm_ctx *cx, alm_arena *arena, alm_str text,
                                    int32_t century_year, int32_t pos, const alm_time_pattern **out)
{
    alm_time_pattern *pattern;
    alm_str copy;
    if (text.len > PATTERN_MAX)
        return alm_fail(cx, ALM_E_ARG, pos, "time pattern has more than %d bytes", PATTERN_MAX);
    ALM_TRY(alm_arena_copy(cx, arena, text, &copy));
    ALM_TRY(alm_arena_zero(cx, arena, sizeof(*pattern) + (text.len + 1) * sizeof(step), &pattern));
    pattern->century_year = century_year;
    for (size_t i = 0; i < copy.len;) {
        step self;
        size_t count = 0;
        if (copy.ptr[i] == '\'') { /* up to the next quote, both included */
            const char *close = memchr(copy.ptr + i + 1, '\'', copy.len - i - 1);
            count = close != NULL ? (size_t)(close - (copy.ptr + i)) + 1 : copy.len - i;
            self = (step){.kind = STEP_TEXT, .text = {copy.ptr + i, count}};
        } else {
            count = find_run((alm_str){copy.ptr + i, copy.len - i}, &self);
            if (count == 0)
                self = (step){.kind = STEP_TEXT, .text = {copy.ptr + i, count = 1}};
        }
        step *last = pattern->n > 0 ? &pattern->steps[pattern->n - 1] : NULL;
        if (self.kind == STEP_TEXT && last != NULL && last->kind == STEP_TEXT)
            last->text.len += count; /* neighbours in the copy */
        else
            pattern->steps[pattern->n++] = self;
        i += count;
    }
    for (uint32_t i = 0; i < pattern->n; i++)
        pattern->max_bytes += step_max(&pattern->steps[i]);
    *out = pattern;
    return ALM_OK;
}

size_t alm_time_pattern_max(const alm_time_pattern *pattern)
{
    return pattern->max_bytes;
}

/* ------------------------------------------------------------------ writing */

static char *time_format_put_number(char *ptr, int64_t value, int32_t width)
{
    char back[20];
    int32_t count = 0;
    if (width == 2 && value >= 0 && value < 100) { /* most of what is written */
        ptr[0] = (char)('0' + value / 10);
        ptr[1] = (char)('0' + value % 10);
        return ptr + 2;
    }
    uint64_t v = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    if (value < 0)
        *ptr++ = '-';
    for (; v > 0 || count < width; v /= 10)
        back[count++] = (char)('0' + v % 10);
    while (count > 0)
        *ptr++ = back[--count];
    return ptr;
}

static char *time_format_put_name(char *ptr, const char *name, bool whole)
{
    const size_t n = whole ? strlen(name) : 3;
    memcpy(ptr, name, n);
    return ptr + n;
}

static char *time_format_put_year(char *ptr, int64_t year, int32_t width)
{
    if (width == 4 && year >= 0 && year <= 9999)
        return time_format_put_number(time_format_put_number(ptr, year / 100, 2), year % 100, 2);
    return width == 2 ? time_format_put_number(ptr, alm_floor_mod(year, 100), 2)
                      : time_format_put_number(ptr, year, width);
}

/* ISO week of a day, and the year it belongs to. */
static int32_t time_format_iso_week(int64_t days, int32_t *year)
{
    const int64_t thursday = days - alm_floor_mod(days + 3, 7) + 3;
    uint8_t month, day;
    alm_date_of_days(thursday, year, &month, &day);
    return (int32_t)((thursday - alm_days_of_date(*year, 1, 1)) / 7) + 1;
}

static char *put_step(char *ptr, const step *self, const alm_civil *civil, int64_t days)
{
    int32_t iso_year;
    switch (self->kind) {
    case STEP_TEXT:
        memcpy(ptr, self->text.ptr, self->text.len);
        return ptr + self->text.len;
    case STEP_ERA:
        memcpy(ptr, civil->year > 0 ? "AD" : "BC", 2);
        return ptr + 2;
    case STEP_YEAR:
        return time_format_put_year(ptr, civil->year, self->width);
    case STEP_ISO_YEAR:
        (void)time_format_iso_week(days, &iso_year);
        return time_format_put_year(ptr, iso_year, self->width);
    case STEP_MONTH:
        return time_format_put_number(ptr, civil->month, self->width);
    case STEP_MONTH_SHORT:
    case STEP_MONTH_LONG:
        return time_format_put_name(ptr, month_names[civil->month - 1],
                                    self->kind == STEP_MONTH_LONG);
    case STEP_WEEK:
        return time_format_put_number(ptr, time_format_iso_week(days, &iso_year), self->width);
    case STEP_DAY_OF_YEAR:
        return time_format_put_number(ptr, days - alm_days_of_date(civil->year, 1, 1) + 1,
                                      self->width);
    case STEP_DAY:
        return time_format_put_number(ptr, civil->day, self->width);
    case STEP_DAY_NUMBER:
        return time_format_put_number(ptr, alm_floor_mod(days + 3, 7) + 1, 1);
    case STEP_DAY_SHORT:
    case STEP_DAY_LONG:
        return time_format_put_name(ptr, day_names[alm_floor_mod(days + 3, 7)],
                                    self->kind == STEP_DAY_LONG);
    case STEP_AM_PM:
        memcpy(ptr, civil->hour < 12 ? "AM" : "PM", 2);
        return ptr + 2;
    case STEP_HOUR_23:
        return time_format_put_number(ptr, civil->hour, self->width);
    case STEP_HOUR_24:
        return time_format_put_number(ptr, civil->hour == 0 ? 24 : civil->hour, self->width);
    case STEP_HOUR_12:
        return time_format_put_number(ptr, civil->hour % 12 == 0 ? 12 : civil->hour % 12,
                                      self->width);
    case STEP_HOUR_11:
        return time_format_put_number(ptr, civil->hour % 12, self->width);
    case STEP_MINUTE:
        return time_format_put_number(ptr, civil->minute, self->width);
    case STEP_SECOND:
        return time_format_put_number(ptr, civil->second, self->width);
    case STEP_MILLIS:
        return time_format_put_number(ptr, civil->nanos / 1000000, self->width);
    case STEP_MICROS:
        return time_format_put_number(ptr, civil->nanos / 1000 % 1000, self->width);
    case STEP_NANOS:
        return time_format_put_number(ptr, civil->nanos % 1000, self->width);
    case STEP_FRACTION:
        return time_format_put_number(ptr,
                                      self->width == 3   ? civil->nanos / 1000000
                                      : self->width == 6 ? civil->nanos / 1000
                                                         : civil->nanos,
                                      self->width);
    case STEP_ZONE:
        *ptr = 'Z';
        return ptr + 1;
    }
    return ptr;
}

size_t alm_time_pattern_write(const alm_time_pattern *pattern, int64_t time, alm_time_unit unit,
                              char *out)
{
    alm_civil civil;
    alm_civil_of_time(time, unit, &civil);
    const int64_t days = alm_floor_div(time, alm_time_day(unit));
    char *ptr = out;
    for (uint32_t i = 0; i < pattern->n; i++)
        ptr = put_step(ptr, &pattern->steps[i], &civil, days);
    ALM_DASSERT((size_t)(ptr - out) <= pattern->max_bytes);
    return (size_t)(ptr - out);
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
static bool get_number(reading *self, int32_t width, int32_t max, int32_t *out)
{
    int32_t value = 0, count = 0;
    const int32_t most = width > 1 ? width : max;
    for (; count < most && self->p < self->end && *self->p >= '0' && *self->p <= '9'; count++)
        value = value * 10 + (*self->p++ - '0');
    *out = value;
    return count > 0 && (width == 1 || count == width);
}

/* A name, whole if it is there, else its first three letters, whichever of them the pattern writes. */
static bool get_name(reading *self, const char *const *names, int32_t n, int32_t *out)
{
    for (int32_t i = 0; i < 2 * n; i++) {
        const char *name = names[i % n];
        const size_t len = i < n ? strlen(name) : 3;
        if ((size_t)(self->end - self->p) >= len &&
            alm_str_ieq((alm_str){self->p, len}, (alm_str){name, len})) {
            self->p += len;
            *out = i % n;
            return true;
        }
    }
    return false;
}

/* As many digits as there are, up to nine used, as a fraction of the second. */
static bool get_fraction(reading *self)
{
    int32_t value = 0, count = 0;
    for (; self->p < self->end && *self->p >= '0' && *self->p <= '9'; self->p++, count++)
        if (count < 9)
            value = value * 10 + (*self->p - '0');
    for (int32_t i = count; i < 9; i++)
        value *= 10;
    self->fraction = value;
    return count > 0 && count <= 9;
}

static bool time_format_is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

/* Z, an offset, or a name. */
static bool get_zone(reading *self)
{
    size_t count = 0, left = (size_t)(self->end - self->p);
    if (left == 0)
        return false;
    if (*self->p == 'Z' && (left == 1 || !time_format_is_letter(self->p[1]))) {
        self->p++;
        return true;
    }
    if (!time_format_is_letter(*self->p)) { /* the longest offset there */
        static const uint8_t lengths[] = {9, 6, 5, 3};
        for (size_t i = 0; i < ALM_COUNT(lengths); i++)
            if (left >= lengths[i] &&
                alm_time_offset_parse((alm_str){self->p, lengths[i]}, &self->offset_s)) {
                self->p += lengths[i];
                return true;
            }
        return false;
    }
    while (count < left && count < ZONE_NAME_MAX &&
           (time_format_is_letter(self->p[count]) ||
            (self->p[count] >= '0' && self->p[count] <= '9') ||
            (self->p[count] != 0 && strchr("_/+-:", self->p[count]) != NULL)))
        count++;
    memcpy(self->zone, self->p, count);
    self->zone[count] = 0;
    self->p += count;
    return true;
}

static bool get_year(reading *self, const step *s, int32_t century_year, int32_t *out)
{
    if (!get_number(self, s->width, 9, out))
        return false;
    if (s->width == 2) { /* the year that ends so within century_year - 80 .. + 19 */
        const int32_t first = century_year - 80;
        *out = first + (int32_t)alm_floor_mod(*out - first, 100);
    }
    return true;
}

static bool get_step(reading *self, const step *s, int32_t century_year)
{
    int32_t index;
    switch (s->kind) {
    case STEP_TEXT:
        if ((size_t)(self->end - self->p) < s->text.len ||
            memcmp(self->p, s->text.ptr, s->text.len) != 0)
            return false;
        self->p += s->text.len;
        return true;
    case STEP_ERA:
        if (self->end - self->p < 2)
            return false;
        self->bc = alm_str_ieq((alm_str){self->p, 2}, ALM_STR("BC"));
        self->p += 2;
        return self->bc || alm_str_ieq((alm_str){self->p - 2, 2}, ALM_STR("AD"));
    case STEP_YEAR:
        return get_year(self, s, century_year, &self->year);
    case STEP_ISO_YEAR:
        return get_year(self, s, century_year, &self->iso_year);
    case STEP_MONTH:
        return get_number(self, s->width, 2, &self->month);
    case STEP_MONTH_SHORT:
    case STEP_MONTH_LONG:
        if (!get_name(self, month_names, 12, &index))
            return false;
        self->month = index + 1;
        return true;
    case STEP_WEEK:
        return get_number(self, s->width, 2, &self->week) && self->week >= 1 && self->week <= 53;
    case STEP_DAY_OF_YEAR:
        return get_number(self, s->width, 3, &self->day_of_year) && self->day_of_year >= 1;
    case STEP_DAY:
        return get_number(self, s->width, 2, &self->day);
    case STEP_DAY_NUMBER:
        return get_number(self, 1, 1, &self->weekday) && self->weekday >= 1 && self->weekday <= 7;
    case STEP_DAY_SHORT:
    case STEP_DAY_LONG:
        if (!get_name(self, day_names, 7, &index))
            return false;
        self->weekday = index + 1;
        return true;
    case STEP_AM_PM:
        if (self->end - self->p < 2)
            return false;
        self->has_pm = true;
        self->pm = alm_str_ieq((alm_str){self->p, 2}, ALM_STR("PM"));
        self->p += 2;
        return self->pm || alm_str_ieq((alm_str){self->p - 2, 2}, ALM_STR("AM"));
    case STEP_HOUR_23:
    case STEP_HOUR_11:
        return get_number(self, s->width, 2, &self->hour);
    case STEP_HOUR_24:
        if (!get_number(self, s->width, 2, &self->hour) || self->hour < 1 || self->hour > 24)
            return false;
        self->hour %= 24;
        return true;
    case STEP_HOUR_12:
        return get_number(self, s->width, 2, &self->hour) && self->hour >= 1 && self->hour <= 12;
    case STEP_MINUTE:
        return get_number(self, s->width, 2, &self->minute);
    case STEP_SECOND:
        return get_number(self, s->width, 2, &self->second);
    case STEP_MILLIS:
        return s->width == 1 ? get_fraction(self) : get_number(self, s->width, 3, &self->millis);
    case STEP_MICROS:
        return get_number(self, s->width, 3, &self->micros);
    case STEP_NANOS:
        return get_number(self, s->width, 3, &self->nanos);
    case STEP_FRACTION:
        return get_fraction(self);
    case STEP_ZONE:
        return get_zone(self);
    }
    return false;
}

/* Date from a week or a day of the year, where those were given. */
static bool settle_date(reading *self)
{
    int64_t days;
    uint8_t month, day;
    int32_t year;
    if (self->bc)
        self->year = 1 - self->year;
    if (self->week > 0) {
        const int32_t iso_year = self->iso_year != 0 ? self->iso_year : self->year;
        const int64_t january_4 = alm_days_of_date(iso_year, 1, 4); /* is in week 1 */
        days = january_4 - alm_floor_mod(january_4 + 3, 7) + 7 * (self->week - 1) +
               (self->weekday > 0 ? self->weekday - 1 : 0);
        if (time_format_iso_week(days, &year) != self->week)
            return false;
    } else if (self->day_of_year > 0) {
        days = alm_days_of_date(self->year, 1, 1) + self->day_of_year - 1;
        if (self->day_of_year > 365 + (int32_t)alm_year_is_leap(self->year))
            return false;
    } else {
        return true;
    }
    alm_date_of_days(days, &year, &month, &day);
    self->year = year;
    self->month = month;
    self->day = day;
    return true;
}

/* To UTC; a name is looked up in a context of its own, which keeps errors and memory away. */
static bool settle_zone(alm_ctx *cx, const reading *self, alm_time_unit unit, int64_t *time)
{
    if (self->zone[0] == 0)
        return !__builtin_sub_overflow(*time, self->offset_s * alm_time_second(unit), time) &&
               *time != ALM_TS_NULL;
    alm_arena scratch;
    const alm_zone *zone;
    alm_ctx own = {.zones = cx != NULL ? cx->zones : NULL, .io = cx != NULL ? cx->io : NULL};
    alm_arena_init(&scratch, NULL);
    own.arena = &scratch;
    const bool found = alm_zone_find(&own, alm_str_of(self->zone), -1, &zone) == ALM_OK;
    if (found)
        alm_zone_to_utc(zone, time, 1, unit, time);
    alm_arena_deinit(&scratch);
    return found && *time != ALM_TS_NULL;
}

bool alm_time_pattern_read(alm_ctx *cx, const alm_time_pattern *pattern, alm_str text,
                           alm_time_unit unit, int64_t *out)
{
    reading self = {.p = text.ptr, .end = text.ptr + text.len};
    int64_t time;
    self.year = 1970;
    self.month = self.day = 1;
    self.fraction = -1;
    if (text.len == 0 || pattern->n == 0)
        return false;
    for (uint32_t i = 0; i < pattern->n; i++)
        if (!get_step(&self, &pattern->steps[i], pattern->century_year))
            return false;
    if (self.p != self.end || !settle_date(&self) || (self.has_pm && self.hour > 12))
        return false;
    if (self.has_pm)
        self.hour = self.hour % 12 + (self.pm ? 12 : 0);
    if (self.month > 12 || self.day > 31 || self.hour > 23 || self.minute > 59 || self.second > 59)
        return false;
    const alm_civil civil = {.year = self.year,
                             .month = (uint8_t)self.month,
                             .day = (uint8_t)self.day,
                             .hour = (uint8_t)self.hour,
                             .minute = (uint8_t)self.minute,
                             .second = (uint8_t)self.second,
                             .nanos = self.fraction >= 0 ? self.fraction
                                                         : self.millis * 1000000 +
                                                               self.micros * 1000 + self.nanos};
    if (!alm_time_of_civil(&civil, unit, &time) || !settle_zone(cx, &self, unit, &time))
        return false;
    *out = time;
    return true;
}
