/*
 * bucket.c - buckets of equal calendar length, with zones and origins.
 *
 * Method      A bucket is first found in local time, by division or by counting months, and its
 *             borders are then taken back to instants. Kernels keep the borders of the bucket they
 *             are in, so that times in order cost a comparison each.
 * Ends        Where a border leaves int64, the bucket is found once more in wide numbers: the first of
 *             all begins with the range of int64.
 */
#include "time/bucket.h"

typedef struct bucket_range {
    int64_t start, end; /* start <= t < end; ALM_TS_NULL, INT64_MAX: not representable */
} bucket_range;

typedef __int128 wide;

/* ------------------------------------------------------------------ making one */

/* Fixed strides: ticks; months: months. False if it does not fit. */
static bool stride_of(const alm_bucket_spec *spec, char unit, int64_t *out)
{
    if (unit == 'M' || unit == 'y')
        return !__builtin_mul_overflow(spec->count, unit == 'y' ? 12 : 1, out) &&
               *out <= 12 * (int64_t)1000000;
    const int64_t ticks = alm_unit_ticks(unit, spec->time_unit);
    if (ticks > 0)
        return !__builtin_mul_overflow(spec->count, ticks, out);
    const int64_t per_tick = alm_unit_ticks(unit, ALM_TIME_NS) == 1
                                 ? 1000000000 / alm_time_second(spec->time_unit)
                                 : 1000000 / alm_time_second(spec->time_unit);
    *out = ALM_MAX(spec->count / per_tick, 1);
    return true;
}

/* Origin in local time, without the offset. */
static int64_t origin_of(const alm_bucket_spec *spec, char unit)
{
    if (!spec->has_origin || spec->origin == ALM_TS_NULL)
        return unit == 'w' ? -3 * alm_time_day(spec->time_unit) : 0;
    int64_t local = spec->origin;
    if (spec->zone != NULL)
        alm_zone_to_local(spec->zone, &local, 1, spec->time_unit, &local);
    return local == ALM_TS_NULL ? spec->origin : local;
}

alm_status alm_bucketer_init(alm_ctx *cx, int32_t pos, const alm_bucket_spec *spec,
                             alm_bucketer *out)
{
    const char unit = alm_unit_letter(spec->unit);
    const int64_t day = alm_time_day(spec->time_unit);
    alm_bucketer b = {.time_unit = spec->time_unit, .offset = spec->offset};
    if (unit == 0)
        return alm_fail(cx, ALM_E_ARG, pos, "invalid unit '%c'", spec->unit);
    if (spec->count <= 0 || !stride_of(spec, unit, &b.stride))
        return alm_fail(cx, ALM_E_ARG, pos, "invalid number of units: %lld%c",
                        (long long)spec->count, unit);
    const int64_t origin = origin_of(spec, unit);
    b.months = unit == 'M' || unit == 'y';
    if (b.months) {
        const int64_t days = alm_floor_div(origin, day);
        int32_t year;
        uint8_t month, dom;
        alm_date_of_days(days, &year, &month, &dom);
        b.origin_month = ((int64_t)year - 1970) * 12 + month - 1;
        b.origin_day = dom;
        b.origin_in_day = alm_floor_mod(origin, day);
    } else {
        const uint64_t at =
            (uint64_t)alm_floor_mod(origin, b.stride) + (uint64_t)alm_floor_mod(b.offset, b.stride);
        b.phase = (int64_t)(at % (uint64_t)b.stride);
    }
    int32_t fixed_s;
    if (spec->zone != NULL && alm_zone_is_fixed(spec->zone, &fixed_s))
        b.shift = fixed_s * alm_time_second(spec->time_unit);
    else
        b.zone = spec->zone;
    b.clock = b.zone != NULL && !b.months && b.stride < day;
    *out = b;
    return ALM_OK;
}

/* ------------------------------------------------------------------ local time */

/* Border number k of a bucketer of months; false if it does not fit. */
static bool month_border(const alm_bucketer *b, int64_t k, int64_t *out)
{
    const int64_t month = b->origin_month + k * b->stride;
    const int64_t year = alm_floor_div(month, 12);
    const int32_t last = alm_days_in_month(1970 + year, (int32_t)(month - 12 * year) + 1);
    const int64_t days = alm_days_of_month(month) + ALM_MIN(b->origin_day, last) - 1;
    return !__builtin_mul_overflow(days, alm_time_day(b->time_unit), out) &&
           !__builtin_add_overflow(*out, b->origin_in_day, out) &&
           !__builtin_add_overflow(*out, b->offset, out);
}

static bucket_range months_of_local(const alm_bucketer *b, int64_t local)
{
    bucket_range r = {ALM_TS_NULL, INT64_MAX};
    int64_t plain;
    if (__builtin_sub_overflow(local, b->offset, &plain))
        return r;
    const int64_t month = alm_month_of_days(alm_floor_div(plain, alm_time_day(b->time_unit)));
    const int64_t k = alm_floor_div(month - b->origin_month, b->stride);
    int64_t border;
    const bool fits = month_border(b, k, &border);
    if (fits && border > local) { /* the origin is later in its month */
        r.end = border;
        if (!month_border(b, k - 1, &r.start))
            r.start = ALM_TS_NULL;
        return r;
    }
    r.start = fits ? border : ALM_TS_NULL;
    if (!month_border(b, k + 1, &r.end))
        r.end = INT64_MAX;
    return r;
}

static inline bucket_range local_bucket(const alm_bucketer *b, int64_t local)
{
    if (b->months)
        return months_of_local(b, local);
    bucket_range r;
    int64_t in_bucket = alm_floor_mod(local, b->stride) - b->phase;
    in_bucket += in_bucket < 0 ? b->stride : 0;
    if (__builtin_sub_overflow(local, in_bucket, &r.start))
        r.start = ALM_TS_NULL;
    if (__builtin_add_overflow(local, b->stride - in_bucket, &r.end))
        r.end = INT64_MAX;
    return r;
}

/* ------------------------------------------------------------------ instants */

static int64_t shift_back(int64_t local, int64_t shift)
{
    int64_t out;
    if (local == ALM_TS_NULL || local == INT64_MAX)
        return local;
    return __builtin_sub_overflow(local, shift, &out) ? (shift > 0 ? ALM_TS_NULL : INT64_MAX) : out;
}

/* Buckets of a day and more: their borders are instants, the clock does not matter in between. */
static bucket_range long_bucket(const alm_bucketer *b, int64_t time, int64_t local)
{
    bucket_range l = local_bucket(b, local);
    bucket_range r = {ALM_TS_NULL, INT64_MAX};
    if (l.start == ALM_TS_NULL)
        return r;
    r.start = alm_zone_border(b->zone, l.start, b->time_unit);
    if (l.end == INT64_MAX)
        return r;
    r.end = alm_zone_border(b->zone, l.end, b->time_unit);
    if (r.end <= time) { /* the clock went back over a border that it had passed */
        l = local_bucket(b, l.end);
        r.start = r.end;
        r.end = l.end == INT64_MAX ? l.end : alm_zone_border(b->zone, l.end, b->time_unit);
    }
    return r;
}

/* Short buckets, backwards: from the stretch `z` into those before it while the clock shows the
 * same bucket. */
static int64_t clock_start(const alm_bucketer *b, int64_t local_start, alm_zone_ticks z)
{
    for (;;) {
        const int64_t start = shift_back(local_start, z.shift);
        if (start >= z.from || z.from == INT64_MIN)
            return start;
        const int64_t border = z.from;
        alm_zone_ticks_at(b->zone, border - 1, b->time_unit, &z);
        if (local_bucket(b, border - 1 + z.shift).start != local_start)
            return border;
    }
}

/* The same forwards. */
static int64_t clock_end(const alm_bucketer *b, bucket_range local, alm_zone_ticks z)
{
    for (;;) {
        const int64_t end = shift_back(local.end, z.shift);
        if (end < z.to || z.to == INT64_MAX)
            return end;
        const int64_t border = z.to;
        alm_zone_ticks_at(b->zone, border, b->time_unit, &z);
        const bucket_range next = local_bucket(b, border + z.shift);
        /* another bucket; or the same again, but from its start on */
        if (next.start != local.start || next.start - z.shift >= border)
            return border;
    }
}

/* ------------------------------------------------------------------ ends of the range */

static wide wide_floor_mod(wide a, int64_t b)
{
    const wide r = a % b;
    return r < 0 ? r + b : r;
}

static wide wide_month_border(const alm_bucketer *b, int64_t k)
{
    const int64_t month = b->origin_month + k * b->stride;
    const int64_t year = alm_floor_div(month, 12);
    const int32_t last = alm_days_in_month(1970 + year, (int32_t)(month - 12 * year) + 1);
    const int64_t days = alm_days_of_month(month) + ALM_MIN(b->origin_day, last) - 1;
    return (wide)days * alm_time_day(b->time_unit) + b->origin_in_day + b->offset;
}

/* The bucket of a time near the ends of int64, where no clock changes: the shift is that of the time. */
static bucket_range locate_far(const alm_bucketer *b, int64_t time, int64_t shift)
{
    const wide local = (wide)time + shift;
    wide start, end;
    if (b->months) {
        const int64_t day = alm_time_day(b->time_unit);
        const wide plain = local - b->offset;
        const int64_t days = (int64_t)((plain - wide_floor_mod(plain, day)) / day);
        int64_t k = alm_floor_div(alm_month_of_days(days) - b->origin_month, b->stride);
        k -= wide_month_border(b, k) > local; /* the origin is later in its month */
        start = wide_month_border(b, k);
        end = wide_month_border(b, k + 1);
    } else {
        start = local - wide_floor_mod(local - b->phase, b->stride);
        end = start + b->stride;
    }
    start -= shift;
    end -= shift;
    return (bucket_range){start <= INT64_MIN ? INT64_MIN + 1 : (int64_t)start,
                          end >= INT64_MAX ? INT64_MAX : (int64_t)end};
}

static bucket_range locate(const alm_bucketer *b, int64_t time)
{
    bucket_range r = {ALM_TS_NULL, INT64_MAX};
    alm_zone_ticks z = {.shift = b->shift};
    int64_t local;
    if (time == ALM_TS_NULL)
        return r;
    if (b->zone != NULL)
        alm_zone_ticks_at(b->zone, time, b->time_unit, &z);
    if (__builtin_add_overflow(time, z.shift, &local))
        return locate_far(b, time, z.shift);
    if (b->zone != NULL && !b->clock) {
        r = long_bucket(b, time, local);
    } else {
        const bucket_range l = local_bucket(b, local);
        const bool fits = l.start != ALM_TS_NULL && l.end != INT64_MAX;
        if (fits && b->clock)
            r = (bucket_range){clock_start(b, l.start, z), clock_end(b, l, z)};
        else if (fits)
            r = (bucket_range){shift_back(l.start, b->shift), shift_back(l.end, b->shift)};
    }
    return r.start != ALM_TS_NULL && r.end != INT64_MAX ? r : locate_far(b, time, z.shift);
}

int64_t alm_bucket_start(const alm_bucketer *bucketer, int64_t time)
{
    return locate(bucketer, time).start;
}

int64_t alm_bucket_next(const alm_bucketer *bucketer, int64_t time)
{
    return locate(bucketer, time).end;
}

void alm_bucket_floor(const alm_bucketer *bucketer, const int64_t *in, size_t n, int64_t *out)
{
    bucket_range r = {0, 0};
    for (size_t i = 0; i < n; i++) {
        const int64_t t = in[i];
        if (t < r.start || t >= r.end) {
            r = locate(bucketer, t);
            if (r.start == ALM_TS_NULL) { /* null: nothing to keep */
                r = (bucket_range){0, 0};
                out[i] = ALM_TS_NULL;
                continue;
            }
        }
        out[i] = r.start;
    }
}

void alm_bucket_ceil(const alm_bucketer *bucketer, const int64_t *in, size_t n, int64_t *out)
{
    bucket_range r = {0, 0};
    for (size_t i = 0; i < n; i++) {
        const int64_t t = in[i];
        if (t < r.start || t >= r.end)
            r = locate(bucketer, t);
        out[i] = r.end;
        if (r.start == ALM_TS_NULL || r.end == INT64_MAX) {
            r = (bucket_range){0, 0};
            out[i] = ALM_TS_NULL;
        }
    }
}

bool alm_bucket_offset_parse(alm_str text, alm_time_unit unit, int64_t *out)
{
    const bool sign = text.len > 0 && (text.ptr[0] == '-' || text.ptr[0] == '+');
    const char *p = text.ptr + sign;
    if (text.len - sign != 5 || p[2] != ':')
        return false;
    for (size_t i = 0; i < 5; i++)
        if (i != 2 && (p[i] < '0' || p[i] > '9'))
            return false;
    const int32_t hour = (p[0] - '0') * 10 + p[1] - '0', minute = (p[3] - '0') * 10 + p[4] - '0';
    if (hour > 23 || minute > 59)
        return false;
    const int64_t ticks = (hour * 60 + minute) * 60 * alm_time_second(unit);
    *out = text.ptr[0] == '-' ? -ticks : ticks;
    return true;
}
