/*
 * zone.c - offsets of time zones: TZif bytes, the POSIX rule behind them, and the set of zones.
 *
 * Format      TZif (RFC 8536): header of 44 bytes, a block with 4-byte times, in version 2 and later
 *             a second header and block with 8-byte times, and a footer with a POSIX TZ rule for all
 *             later instants. Big-endian. Leap seconds are ignored (POSIX time).
 * Threads     Slots of known names are atomic pointers; loading happens under a lock.
 */
#include "time/zone.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    TZIF_HEADER = 44,
    TZIF_COUNT_MAX = 100000, /* of anything in a file */
    OFFSET_MAX = 26 * 3600,  /* RFC 8536 allows up to that */
    SECONDS_PER_DAY = ALM_SECONDS_PER_DAY
};

/* Beyond what any unit can hold; years stay within int32. */
#define INSTANT_MAX_S (INT64_MAX / 1000)

typedef struct zone_day { /* a day of the year, in each year */
    char kind; /* 'M' month, week, weekday; 'J' day 1..365 without leap day; 'N' 0..365 */
    int16_t month, week, day;
    int32_t time_s; /* of the local clock, may be negative or beyond a day */
} zone_day;

typedef struct zone_rule { /* POSIX: M3.5.0 to M10.5.0/3 */
    bool dst;
    int32_t std_s, dst_s;
    zone_day begin, end; /* of daylight saving */
} zone_rule;

struct alm_zone {
    const char *name;
    uint32_t n;             /* transitions, ascending, each to another offset */
    const int64_t *at_s;    /* n */
    const int32_t *after_s; /* n: offset from at_s[i] on */
    int32_t before_s;       /* offset before at_s[0] */
    bool has_rule;          /* of the time after at_s[n - 1] */
    zone_rule rule;
};

static const char *const zone_names[] = {
#define ALM_ZONE(name) name,
#include "time/zone_names.def"
#undef ALM_ZONE
};

/* Abbreviations mean the zone of their place, with its daylight saving, as the reference has it. */
static const struct {
    const char *abbreviation, *name;
} zone_abbreviations[] = {
    {"PST", "America/Los_Angeles"}, {"PDT", "America/Los_Angeles"}, {"MST", "America/Denver"},
    {"MDT", "America/Denver"},      {"CST", "America/Chicago"},     {"CDT", "America/Chicago"},
    {"EST", "America/New_York"},    {"EDT", "America/New_York"},    {"HST", "Pacific/Honolulu"},
    {"AKST", "America/Anchorage"},  {"AKDT", "America/Anchorage"},  {"AST", "America/Halifax"},
    {"ADT", "America/Halifax"},     {"NST", "America/St_Johns"},    {"NDT", "America/St_Johns"},
    {"BRT", "America/Sao_Paulo"},   {"BST", "Europe/London"},       {"CEST", "Europe/Paris"},
    {"WEST", "Europe/Lisbon"},      {"EEST", "Europe/Bucharest"},   {"MSK", "Europe/Moscow"},
    {"IST", "Asia/Kolkata"},        {"PKT", "Asia/Karachi"},        {"WIB", "Asia/Jakarta"},
    {"SGT", "Asia/Singapore"},      {"HKT", "Asia/Hong_Kong"},      {"JST", "Asia/Tokyo"},
    {"KST", "Asia/Seoul"},          {"AWST", "Australia/Perth"},    {"ACST", "Australia/Adelaide"},
    {"ACDT", "Australia/Adelaide"}, {"AEST", "Australia/Sydney"},   {"AEDT", "Australia/Sydney"},
    {"NZST", "Pacific/Auckland"},   {"NZDT", "Pacific/Auckland"},   {"SAST", "Africa/Johannesburg"},
    {"EAT", "Africa/Nairobi"},      {"WAT", "Africa/Lagos"},        {"CAT", "Africa/Maputo"}};

/* Names for UTC itself; with an offset behind the first three ("UTC+3"). */
static const char *const utc_names[] = {"UTC", "GMT", "UT", "Z", "Etc/UTC", "Etc/GMT", "Zulu"};

typedef struct zone_extra { /* names that are not in the list */
    struct zone_extra *next;
    const alm_zone *zone;
} zone_extra;

struct alm_zones {
    alm_zone_load load;
    void *load_arg;
    pthread_mutex_t lock; /* guards arena, extra and loading */
    alm_arena arena;
    zone_extra *extra;
    _Atomic(const alm_zone *) slot[ALM_COUNT(zone_names)]; /* same order; NULL: not loaded */
};

/* ------------------------------------------------------------------ POSIX rules */

typedef struct reader {
    const char *p, *end;
} reader;

static bool zone_read_int(reader *self, int32_t max, int32_t *out)
{
    const char *first = self->p;
    int32_t value = 0;
    for (; self->p < self->end && *self->p >= '0' && *self->p <= '9'; self->p++) {
        value = value * 10 + (*self->p - '0');
        if (value > max)
            return false;
    }
    *out = value;
    return self->p > first;
}

static bool zone_take(reader *self, char byte)
{
    if (self->p == self->end || *self->p != byte)
        return false;
    self->p++;
    return true;
}

/* [+-]hh[:mm[:ss]] */
static bool read_hms(reader *self, int32_t *out)
{
    int32_t h, m = 0, s = 0;
    const bool minus = zone_take(self, '-');
    if (!minus)
        (void)zone_take(self, '+');
    if (!zone_read_int(self, 167, &h))
        return false;
    if (zone_take(self, ':') && !zone_read_int(self, 59, &m))
        return false;
    if (m >= 0 && zone_take(self, ':') && !zone_read_int(self, 59, &s))
        return false;
    const int32_t total = h * 3600 + m * 60 + s;
    *out = minus ? -total : total;
    return true;
}

/* Abbreviation: letters, or anything in <>. */
static bool skip_abbreviation(reader *self)
{
    const char *first = self->p;
    if (zone_take(self, '<')) {
        while (self->p < self->end && *self->p != '>')
            self->p++;
        return zone_take(self, '>');
    }
    while (self->p < self->end &&
           ((*self->p >= 'A' && *self->p <= 'Z') || (*self->p >= 'a' && *self->p <= 'z')))
        self->p++;
    return self->p - first >= 3;
}

static bool read_day(reader *self, zone_day *out)
{
    int32_t a, b = 0, c = 0;
    *out = (zone_day){.kind = 'N', .time_s = 2 * 3600};
    if (zone_take(self, 'M')) {
        out->kind = 'M';
        if (!zone_read_int(self, 12, &a) || a < 1 || !zone_take(self, '.') ||
            !zone_read_int(self, 5, &b) || b < 1 || !zone_take(self, '.') ||
            !zone_read_int(self, 6, &c))
            return false;
        out->month = (int16_t)a;
        out->week = (int16_t)b;
        out->day = (int16_t)c;
    } else {
        if (zone_take(self, 'J'))
            out->kind = 'J';
        if (!zone_read_int(self, 365, &a) || (out->kind == 'J' && a < 1))
            return false;
        out->day = (int16_t)a;
    }
    return !zone_take(self, '/') || read_hms(self, &out->time_s);
}

/* "CET-1CEST,M3.5.0,M10.5.0/3", "<+0530>-5:30": POSIX offsets count westwards. */
static bool read_rule(alm_str text, zone_rule *out)
{
    reader self = {text.ptr, text.ptr + text.len};
    *out = (zone_rule){0};
    int32_t west;
    if (!skip_abbreviation(&self) || !read_hms(&self, &west))
        return false;
    out->std_s = -west;
    out->dst_s = out->std_s + 3600;
    if (self.p == self.end)
        return true;
    out->dst = true;
    if (!skip_abbreviation(&self))
        return false;
    if (self.p < self.end && *self.p != ',') {
        if (!read_hms(&self, &west))
            return false;
        out->dst_s = -west;
    }
    if (out->dst_s < -OFFSET_MAX || out->dst_s > OFFSET_MAX)
        return false;
    return zone_take(&self, ',') && read_day(&self, &out->begin) && zone_take(&self, ',') &&
           read_day(&self, &out->end) && self.p == self.end;
}

/* Local seconds since 1970 of a rule's day and time in a year. */
static int64_t rule_instant(const zone_day *day, int64_t year)
{
    int64_t days = alm_days_of_date(year, 1, 1);
    if (day->kind == 'M') {
        const int64_t first = alm_days_of_date(year, day->month, 1);
        const int64_t skip = alm_floor_mod(day->day - (first + 4), 7); /* 1970-01-01: Thursday */
        days = first + skip + 7 * (day->week - 1);
        if (days >= first + alm_days_in_month(year, day->month)) /* week 5: the last one */
            days -= 7;
    } else if (day->kind == 'J') {
        days += day->day - 1 + (day->day >= 60 && alm_year_is_leap(year));
    } else {
        days += day->day;
    }
    return days * SECONDS_PER_DAY + day->time_s;
}

/* The stretch of the rule that holds an instant: the changes of three years around it, in order. */
static void rule_span(const zone_rule *rule, int64_t utc_s, alm_zone_span *out)
{
    *out = (alm_zone_span){INT64_MIN, INT64_MAX, rule->std_s};
    if (!rule->dst || utc_s > INSTANT_MAX_S || utc_s < -INSTANT_MAX_S)
        return;
    int32_t year;
    uint8_t month, day;
    alm_date_of_days(alm_floor_div(utc_s + rule->std_s, SECONDS_PER_DAY), &year, &month, &day);
    for (int64_t y = (int64_t)year - 1; y <= (int64_t)year + 1; y++) {
        const int64_t begin = rule_instant(&rule->begin, y) - rule->std_s;
        const int64_t end = rule_instant(&rule->end, y) - rule->dst_s;
        const int64_t at[2] = {ALM_MIN(begin, end), ALM_MAX(begin, end)};
        for (int32_t i = 0; i < 2; i++) {
            if (at[i] <= utc_s) {
                out->from_s = at[i];
                out->offset_s = (i == 0) == (begin < end) ? rule->dst_s : rule->std_s;
            } else if (at[i] < out->to_s) {
                out->to_s = at[i];
            }
        }
    }
}

/* ------------------------------------------------------------------ TZif */

static uint32_t get_u32(const uint8_t *ptr)
{
    return (uint32_t)ptr[0] << 24 | (uint32_t)ptr[1] << 16 | (uint32_t)ptr[2] << 8 | ptr[3];
}

static int64_t get_i64(const uint8_t *ptr)
{
    return (int64_t)((uint64_t)get_u32(ptr) << 32 | get_u32(ptr + 4));
}

typedef struct tzif_block {
    uint32_t times, types;
    size_t time_bytes; /* 4 or 8 */
    const uint8_t *time, *index, *type;
    size_t bytes; /* header and data */
} tzif_block;

/* Header and data at ptr; NULL or what is wrong. */
static const char *tzif_read_block(const uint8_t *ptr, size_t n, size_t time_bytes, tzif_block *out)
{
    if (n < TZIF_HEADER || memcmp(ptr, "TZif", 4) != 0)
        return "no TZif header";
    size_t count[6]; /* isutcnt isstdcnt leapcnt timecnt typecnt charcnt */
    for (size_t i = 0; i < 6; i++) {
        count[i] = get_u32(ptr + 20 + 4 * i);
        if (count[i] > TZIF_COUNT_MAX)
            return "a count is too large";
    }
    const size_t times = count[3], types = count[4];
    if (types == 0 || types > 256)
        return "no types";
    *out = (tzif_block){.times = (uint32_t)times, .types = (uint32_t)types};
    out->time_bytes = time_bytes;
    out->time = ptr + TZIF_HEADER;
    out->index = out->time + times * time_bytes;
    out->type = out->index + times;
    out->bytes = TZIF_HEADER + times * time_bytes + times + types * 6 + count[5] +
                 count[2] * (time_bytes + 4) + count[1] + count[0];
    if (out->bytes > n)
        return "it is cut short";
    for (size_t i = 0; i < times; i++)
        if (out->index[i] >= types)
            return "a type does not exist";
    for (size_t i = 0; i < types; i++) {
        const int32_t offset = (int32_t)get_u32(out->type + 6 * i);
        if (offset < -OFFSET_MAX || offset > OFFSET_MAX)
            return "an offset is too large";
    }
    return NULL;
}

static int64_t tzif_time(const tzif_block *block, size_t i)
{
    return block->time_bytes == 8 ? get_i64(block->time + 8 * i)
                                  : (int64_t)(int32_t)get_u32(block->time + 4 * i);
}

/* Keeps the transitions that change the offset. */
static alm_status tzif_transitions(alm_ctx *cx, alm_arena *arena, const tzif_block *block,
                                   alm_zone *zone)
{
    int64_t *at_s;
    int32_t *after_s;
    ALM_TRY(ALM_NEWN(cx, arena, block->times + 1, &at_s));
    ALM_TRY(ALM_NEWN(cx, arena, block->times + 1, &after_s));
    uint32_t count = 0;
    zone->before_s = (int32_t)get_u32(block->type);
    int32_t now = zone->before_s;
    for (uint32_t i = 0; i < block->times; i++) {
        const int32_t offset = (int32_t)get_u32(block->type + 6 * (size_t)block->index[i]);
        const int64_t place = tzif_time(block, i);
        if (count > 0 && place <= at_s[count - 1])
            return alm_fail(cx, ALM_E_CORRUPT, -1, "time zone file '%s': times are not in order",
                            zone->name);
        if (offset == now)
            continue;
        at_s[count] = place;
        after_s[count++] = now = offset;
    }
    zone->n = count;
    zone->at_s = at_s;
    zone->after_s = after_s;
    return ALM_OK;
}

alm_status alm_zone_of_tzif(alm_ctx *cx, alm_arena *arena, const char *name, const uint8_t *bytes,
                            size_t n, const alm_zone **out)
{
    tzif_block block;
    alm_zone *zone;
    const char *wrong = tzif_read_block(bytes, n, 4, &block);
    const bool has_second = wrong == NULL && bytes[4] >= '2';
    const uint8_t *rest = has_second ? bytes + block.bytes : bytes;
    if (has_second) {
        n -= block.bytes;
        wrong = tzif_read_block(rest, n, 8, &block);
    }
    if (wrong != NULL)
        return alm_fail(cx, ALM_E_CORRUPT, -1, "time zone file '%s': %s", name, wrong);
    ALM_TRY(ALM_NEW(cx, arena, &zone));
    ALM_TRY(alm_arena_zstr(cx, arena, alm_str_of(name), &zone->name));
    ALM_TRY(tzif_transitions(cx, arena, &block, zone));
    if (has_second && n > block.bytes + 1 && rest[block.bytes] == '\n') {
        const char *text = (const char *)rest + block.bytes + 1;
        const char *end = memchr(text, '\n', n - block.bytes - 1);
        if (end != NULL && end > text) {
            zone->has_rule = read_rule((alm_str){text, (size_t)(end - text)}, &zone->rule);
            if (!zone->has_rule)
                return alm_fail(cx, ALM_E_CORRUPT, -1, "time zone file '%s': bad rule '%.*s'", name,
                                (int)ALM_MIN(end - text, 100), text);
        }
    }
    *out = zone;
    return ALM_OK;
}

alm_status alm_zone_fixed(alm_ctx *cx, alm_arena *arena, int32_t offset_s, const alm_zone **out)
{
    const char sign = offset_s < 0 ? '-' : '+';
    const int32_t abs_s = offset_s < 0 ? -offset_s : offset_s;
    alm_zone *zone;
    ALM_ASSERT(abs_s <= OFFSET_MAX);
    ALM_TRY(ALM_NEW(cx, arena, &zone));
    zone->before_s = offset_s;
    if (offset_s == 0)
        zone->name = "UTC";
    else
        ALM_TRY(alm_arena_printf(cx, arena, &zone->name, "%c%02d:%02d", sign, abs_s / 3600,
                                 abs_s / 60 % 60));
    *out = zone;
    return ALM_OK;
}

/* ------------------------------------------------------------------ asking a zone */

const char *alm_zone_name(const alm_zone *zone)
{
    return zone->name;
}

bool alm_zone_is_fixed(const alm_zone *zone, int32_t *offset_s)
{
    if (zone->n > 0 || (zone->has_rule && zone->rule.dst))
        return false;
    *offset_s = zone->has_rule ? zone->rule.std_s : zone->before_s;
    return true;
}

void alm_zone_span_at(const alm_zone *zone, int64_t utc_s, alm_zone_span *out)
{
    uint32_t lo = 0, hi = zone->n; /* at_s[lo - 1] <= utc_s < at_s[hi] */
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (zone->at_s[mid] <= utc_s)
            lo = mid + 1;
        else
            hi = mid;
    }
    const int64_t from = lo > 0 ? zone->at_s[lo - 1] : INT64_MIN;
    if (lo == zone->n && zone->has_rule) {
        rule_span(&zone->rule, utc_s, out);
        out->from_s = ALM_MAX(out->from_s, from);
        return;
    }
    *out = (alm_zone_span){.from_s = from,
                           .to_s = lo < zone->n ? zone->at_s[lo] : INT64_MAX,
                           .offset_s = lo > 0 ? zone->after_s[lo - 1] : zone->before_s};
}

/* Local times lo <= l < hi for which one offset leads to UTC, by the rule for gaps. */
static void local_span(const alm_zone *zone, int64_t local_s, alm_zone_span *out)
{
    alm_zone_span now, next;
    /* no offset reaches two days: start before and walk on */
    alm_zone_span_at(zone, local_s - 2 * SECONDS_PER_DAY, &now);
    int64_t from = INT64_MIN;
    if (now.from_s != INT64_MIN) {
        alm_zone_span_at(zone, now.from_s - 1, &next);
        from = now.from_s + ALM_MAX(now.offset_s, next.offset_s);
    }
    for (;;) {
        if (now.to_s == INT64_MAX)
            break;
        alm_zone_span_at(zone, now.to_s, &next);
        const int64_t border = now.to_s + ALM_MAX(now.offset_s, next.offset_s);
        if (local_s < border) {
            *out = (alm_zone_span){from, border, now.offset_s};
            return;
        }
        from = border;
        now = next;
    }
    *out = (alm_zone_span){from, INT64_MAX, now.offset_s};
}

int64_t alm_zone_utc_of_local(const alm_zone *zone, int64_t local_s)
{
    alm_zone_span span;
    local_span(zone, local_s, &span);
    return local_s - span.offset_s;
}

/* Seconds of a border in ticks; the ends of time stay what they are. */
static int64_t border_ticks(int64_t s, int64_t second)
{
    int64_t out;
    if (__builtin_mul_overflow(s, second, &out))
        return s < 0 ? INT64_MIN : INT64_MAX;
    return out;
}

void alm_zone_ticks_at(const alm_zone *zone, int64_t time, alm_time_unit unit, alm_zone_ticks *out)
{
    const int64_t second = alm_time_second(unit);
    alm_zone_span span;
    alm_zone_span_at(zone, alm_floor_div(time, second), &span);
    *out = (alm_zone_ticks){.from = border_ticks(span.from_s, second),
                            .to = border_ticks(span.to_s, second),
                            .shift = span.offset_s * second};
}

int64_t alm_zone_border(const alm_zone *zone, int64_t local, alm_time_unit unit)
{
    const int64_t second = alm_time_second(unit);
    const int64_t local_s = alm_floor_div(local, second);
    alm_zone_span by_clock, there;
    local_span(zone, local_s, &by_clock);
    alm_zone_span_at(zone, local_s - by_clock.offset_s, &there);
    if (there.offset_s != by_clock.offset_s) /* the clock jumped over it */
        return border_ticks(there.from_s, second);
    int64_t out;
    if (__builtin_sub_overflow(local, by_clock.offset_s * second, &out))
        return local < 0 ? INT64_MIN : INT64_MAX;
    return out;
}

/* Both directions: `find` gives the stretch, `sign` the direction. */
static void shift_all(const alm_zone *zone, const int64_t *input, size_t n, alm_time_unit unit,
                      void (*find)(const alm_zone *, int64_t, alm_zone_span *), int64_t sign,
                      int64_t *out)
{
    const int64_t second = alm_time_second(unit);
    int64_t lo = 0, hi = 0, delta = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t time = input[i];
        if (time == ALM_TS_NULL) {
            out[i] = time;
            continue;
        }
        if (time < lo || time >= hi) {
            alm_zone_span span;
            find(zone, alm_floor_div(time, second), &span);
            lo = border_ticks(span.from_s, second);
            hi = border_ticks(span.to_s, second);
            delta = sign * span.offset_s * second;
        }
        int64_t sum;
        out[i] = __builtin_add_overflow(time, delta, &sum) ? ALM_TS_NULL : sum;
    }
}

void alm_zone_to_local(const alm_zone *zone, const int64_t *input, size_t n, alm_time_unit unit,
                       int64_t *out)
{
    shift_all(zone, input, n, unit, alm_zone_span_at, 1, out);
}

void alm_zone_to_utc(const alm_zone *zone, const int64_t *input, size_t n, alm_time_unit unit,
                     int64_t *out)
{
    shift_all(zone, input, n, unit, local_span, -1, out);
}

/* ------------------------------------------------------------------ the set of zones */

alm_status alm_zones_new(alm_ctx *cx, alm_zone_load load, void *arg, alm_zones **out)
{
    alm_zones *zones = calloc(1, sizeof(*zones));
    if (zones == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for the list of time zones");
    zones->load = load;
    zones->load_arg = arg;
    alm_arena_init(&zones->arena, NULL);
    if (pthread_mutex_init(&zones->lock, NULL) != 0) {
        free(zones);
        return alm_fail(cx, ALM_E_INTERNAL, -1, "no lock for the list of time zones");
    }
    *out = zones;
    return ALM_OK;
}

void alm_zones_free(alm_zones *zones)
{
    if (zones == NULL)
        return;
    alm_arena_deinit(&zones->arena);
    pthread_mutex_destroy(&zones->lock);
    free(zones);
}

static char zone_lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte + 32) : byte;
}

/* Order without case, as in the list. */
static int compare_names(alm_str text, const char *bytes)
{
    for (size_t i = 0; i < text.len; i++) {
        const int d = (unsigned char)zone_lower(text.ptr[i]) - (unsigned char)zone_lower(bytes[i]);
        if (d != 0)
            return d;
    }
    return bytes[text.len] == 0 ? 0 : -1;
}

/* Index in zone_names, -1 if it is not there. */
static int32_t zone_find_name(alm_str name)
{
    size_t lo = 0, hi = ALM_COUNT(zone_names);
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        const int order = compare_names(name, zone_names[mid]);
        if (order == 0)
            return (int32_t)mid;
        if (order > 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return -1;
}

/* A relative path of letters, digits and _+-/ with no part that begins with a dot. */
static bool is_safe_name(alm_str name)
{
    if (name.len == 0 || name.len > 64 || name.ptr[0] == '/')
        return false;
    for (size_t i = 0; i < name.len; i++) {
        const char byte = zone_lower(name.ptr[i]);
        if (!((byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '_' ||
              byte == '+' || byte == '-' || byte == '/'))
            return false;
    }
    return true;
}

/* Under the lock. Not found: *out stays NULL, ALM_OK. */
static alm_status time_load_zone(alm_ctx *cx, alm_zones *zones, const char *name,
                                 const alm_zone **out)
{
    alm_status status = ALM_OK;
    alm_buf bytes;
    if (zones->load == NULL)
        return ALM_OK;
    alm_buf_init(&bytes, NULL);
    if (zones->load(cx, zones->load_arg, name, &bytes))
        status =
            alm_zone_of_tzif(cx, &zones->arena, name, (const uint8_t *)bytes.ptr, bytes.len, out);
    alm_buf_deinit(&bytes);
    return status;
}

static alm_status find_listed(alm_ctx *cx, alm_zones *zones, int32_t i, const alm_zone **out)
{
    alm_status status = ALM_OK;
    const alm_zone *zone = atomic_load_explicit(&zones->slot[i], memory_order_acquire);
    if (zone == NULL) {
        pthread_mutex_lock(&zones->lock);
        zone = atomic_load_explicit(&zones->slot[i], memory_order_relaxed);
        if (zone == NULL) {
            status = time_load_zone(cx, zones, zone_names[i], &zone);
            if (status == ALM_OK && zone != NULL)
                atomic_store_explicit(&zones->slot[i], zone, memory_order_release);
        }
        pthread_mutex_unlock(&zones->lock);
    }
    *out = zone;
    return status;
}

static alm_status find_extra(alm_ctx *cx, alm_zones *zones, alm_str name, const alm_zone **out)
{
    alm_status status = ALM_OK;
    char exact[65];
    memcpy(exact, name.ptr, name.len); /* is_safe_name: at most 64 */
    exact[name.len] = 0;
    *out = NULL;
    pthread_mutex_lock(&zones->lock);
    for (zone_extra *extra = zones->extra; extra != NULL && *out == NULL; extra = extra->next)
        if (alm_str_eq(name, alm_str_of(extra->zone->name)))
            *out = extra->zone;
    if (*out == NULL) {
        zone_extra *extra;
        status = time_load_zone(cx, zones, exact, out);
        if (status == ALM_OK && *out != NULL)
            status = ALM_NEW(cx, &zones->arena, &extra);
        if (status == ALM_OK && *out != NULL) {
            extra->zone = *out;
            extra->next = zones->extra;
            zones->extra = extra;
        }
    }
    pthread_mutex_unlock(&zones->lock);
    return status;
}

/* "UTC", "+05:30", "GMT+2", "UTC-05:30". */
static bool fixed_offset(alm_str name, int32_t *offset_s)
{
    for (size_t i = 0; i < ALM_COUNT(utc_names); i++) {
        const alm_str utc = alm_str_of(utc_names[i]);
        if (alm_str_ieq(name, utc)) {
            *offset_s = 0;
            return true;
        }
        if (i < 3 && name.len > utc.len && alm_str_ieq((alm_str){name.ptr, utc.len}, utc) &&
            (name.ptr[utc.len] == '+' || name.ptr[utc.len] == '-')) {
            name.ptr += utc.len;
            name.len -= utc.len;
            break;
        }
    }
    if (name.len == 2 && (name.ptr[0] == '+' || name.ptr[0] == '-') && name.ptr[1] >= '0' &&
        name.ptr[1] <= '9') { /* one digit of hours */
        *offset_s = (name.ptr[0] == '-' ? -3600 : 3600) * (name.ptr[1] - '0');
        return true;
    }
    return name.len > 1 && alm_time_offset_parse(name, offset_s);
}

alm_status alm_zone_find(alm_ctx *cx, alm_str name, int32_t pos, const alm_zone **out)
{
    const alm_zone *zone = NULL;
    const alm_str given = name;
    int32_t offset_s;
    if (fixed_offset(name, &offset_s))
        return alm_zone_fixed(cx, cx->arena, offset_s, out);
    if (cx->zones != NULL && is_safe_name(name)) {
        for (size_t i = 0; i < ALM_COUNT(zone_abbreviations); i++)
            if (alm_str_ieq(name, alm_str_of(zone_abbreviations[i].abbreviation)))
                name = alm_str_of(zone_abbreviations[i].name);
        const int32_t i = zone_find_name(name);
        if (i >= 0)
            ALM_TRY(find_listed(cx, cx->zones, i, &zone));
        else
            ALM_TRY(find_extra(cx, cx->zones, name, &zone));
    }
    if (zone == NULL)
        return alm_fail(cx, ALM_E_ARG, pos, "invalid timezone: %.*s",
                        (int)ALM_MIN(given.len, (size_t)200), given.ptr);
    *out = zone;
    return ALM_OK;
}
