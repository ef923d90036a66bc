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
static int64_t bucket_origin_of(const alm_bucket_spec *spec, char unit)
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
    alm_bucketer bucketer = {.time_unit = spec->time_unit, .offset = spec->offset};
    if (unit == 0)
        return alm_fail(cx, ALM_E_ARG, pos, "invalid unit '%c'", spec->unit);
    if (spec->count <= 0 || !stride_of(spec, unit, &bucketer.stride))
        return alm_fail(cx, ALM_E_ARG, pos, "invalid number of units: %lld%c",
                        (long long)spec->count, unit);
    const int64_t origin = bucket_origin_of(spec, unit);
    bucketer.months = unit == 'M' || unit == 'y';
    if (bucketer.months) {
        const int64_t days = alm_floor_div(origin, day);
        int32_t year;
        uint8_t month, dom;
        alm_date_of_days(days, &year, &month, &dom);
        bucketer.origin_month = ((int64_t)year - 1970) * 12 + month - 1;
        bucketer.origin_day = dom;
        bucketer.origin_in_day = alm_floor_mod(origin, day);
    } else {
        const uint64_t place = (uint64_t)alm_floor_mod(origin, bucketer.stride) +
                               (uint64_t)alm_floor_mod(bucketer.offset, bucketer.stride);
        bucketer.phase = (int64_t)(place % (uint64_t)bucketer.stride);
    }
    int32_t fixed_s;
    if (spec->zone != NULL && alm_zone_is_fixed(spec->zone, &fixed_s))
        bucketer.shift = fixed_s * alm_time_second(spec->time_unit);
    else
        bucketer.zone = spec->zone;
    bucketer.clock = bucketer.zone != NULL && !bucketer.months && bucketer.stride < day;
    *out = bucketer;
    return ALM_OK;
}

/* ------------------------------------------------------------------ local time */

/* Border number k of a bucketer of months; false if it does not fit. */
static bool month_border(const alm_bucketer *bucketer, int64_t k, int64_t *out)
{
    const int64_t month = bucketer->origin_month + k * bucketer->stride;
    const int64_t year = alm_floor_div(month, 12);
    const int32_t last = alm_days_in_month(1970 + year, (int32_t)(month - 12 * year) + 1);
    const int64_t days = alm_days_of_month(month) + ALM_MIN(bucketer->origin_day, last) - 1;
    return !__builtin_mul_overflow(days, alm_time_day(bucketer->time_unit), out) &&
           !__builtin_add_overflow(*out, bucketer->origin_in_day, out) &&
           !__builtin_add_overflow(*out, bucketer->offset, out);
}

static bucket_range months_of_local(const alm_bucketer *bucketer, int64_t local)
{
    bucket_range range = {ALM_TS_NULL, INT64_MAX};
    int64_t plain;
    if (__builtin_sub_overflow(local, bucketer->offset, &plain))
        return range;
    const int64_t month =
        alm_month_of_days(alm_floor_div(plain, alm_time_day(bucketer->time_unit)));
    const int64_t k = alm_floor_div(month - bucketer->origin_month, bucketer->stride);
    int64_t border;
    const bool fits = month_border(bucketer, k, &border);
    if (fits && border > local) { /* the origin is later in its month */
        range.end = border;
        if (!month_border(bucketer, k - 1, &range.start))
            range.start = ALM_TS_NULL;
        return range;
    }
    range.start = fits ? border : ALM_TS_NULL;
    if (!month_border(bucketer, k + 1, &range.end))
        range.end = INT64_MAX;
    return range;
}

static inline bucket_range local_bucket(const alm_bucketer *bucketer, int64_t local)
{
    if (bucketer->months)
        return months_of_local(bucketer, local);
    bucket_range range;
    int64_t in_bucket = alm_floor_mod(local, bucketer->stride) - bucketer->phase;
    in_bucket += in_bucket < 0 ? bucketer->stride : 0;
    if (__builtin_sub_overflow(local, in_bucket, &range.start))
        range.start = ALM_TS_NULL;
    if (__builtin_add_overflow(local, bucketer->stride - in_bucket, &range.end))
        range.end = INT64_MAX;
    return range;
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
static bucket_range long_bucket(const alm_bucketer *bucketer, int64_t time, int64_t local)
{
    bucket_range left = local_bucket(bucketer, local);
    bucket_range right = {ALM_TS_NULL, INT64_MAX};
    if (left.start == ALM_TS_NULL)
        return right;
    right.start = alm_zone_border(bucketer->zone, left.start, bucketer->time_unit);
    if (left.end == INT64_MAX)
        return right;
    right.end = alm_zone_border(bucketer->zone, left.end, bucketer->time_unit);
    if (right.end <= time) { /* the clock went back over a border that it had passed */
        left = local_bucket(bucketer, left.end);
        right.start = right.end;
        right.end = left.end == INT64_MAX
                        ? left.end
                        : alm_zone_border(bucketer->zone, left.end, bucketer->time_unit);
    }
    return right;
}

/* Short buckets, backwards: from the stretch `ticks` into those before it while the clock shows the
 * same bucket. */
static int64_t clock_start(const alm_bucketer *bucketer, int64_t local_start, alm_zone_ticks ticks)
{
    for (;;) {
        const int64_t start = shift_back(local_start, ticks.shift);
        if (start >= ticks.from || ticks.from == INT64_MIN)
            return start;
        const int64_t border = ticks.from;
        alm_zone_ticks_at(bucketer->zone, border - 1, bucketer->time_unit, &ticks);
        if (local_bucket(bucketer, border - 1 + ticks.shift).start != local_start)
            return border;
    }
}

/* The same forwards. */
static int64_t clock_end(const alm_bucketer *bucketer, bucket_range local, alm_zone_ticks ticks)
{
    for (;;) {
        const int64_t end = shift_back(local.end, ticks.shift);
        if (end < ticks.to || ticks.to == INT64_MAX)
            return end;
        const int64_t border = ticks.to;
        alm_zone_ticks_at(bucketer->zone, border, bucketer->time_unit, &ticks);
        const bucket_range next = local_bucket(bucketer, border + ticks.shift);
        /* another bucket; or the same again, but from its start on */
        if (next.start != local.start || next.start - ticks.shift >= border)
            return border;
    }
}

/* ------------------------------------------------------------------ ends of the range */

static wide wide_floor_mod(wide self, int64_t b)
{
    const wide r = self % b;
    return r < 0 ? r + b : r;
}

static wide wide_month_border(const alm_bucketer *bucketer, int64_t k)
{
    const int64_t month = bucketer->origin_month + k * bucketer->stride;
    const int64_t year = alm_floor_div(month, 12);
    const int32_t last = alm_days_in_month(1970 + year, (int32_t)(month - 12 * year) + 1);
    const int64_t days = alm_days_of_month(month) + ALM_MIN(bucketer->origin_day, last) - 1;
    return (wide)days * alm_time_day(bucketer->time_unit) + bucketer->origin_in_day +
           bucketer->offset;
}

/* The bucket of a time near the ends of int64, where no clock changes: the shift is that of the time. */
static bucket_range locate_far(const alm_bucketer *bucketer, int64_t time, int64_t shift)
{
    const wide local = (wide)time + shift;
    wide start, end;
    if (bucketer->months) {
        const int64_t day = alm_time_day(bucketer->time_unit);
        const wide plain = local - bucketer->offset;
        const int64_t days = (int64_t)((plain - wide_floor_mod(plain, day)) / day);
        int64_t k =
            alm_floor_div(alm_month_of_days(days) - bucketer->origin_month, bucketer->stride);
        k -= wide_month_border(bucketer, k) > local; /* the origin is later in its month */
        start = wide_month_border(bucketer, k);
        end = wide_month_border(bucketer, k + 1);
    } else {
        start = local - wide_floor_mod(local - bucketer->phase, bucketer->stride);
        end = start + bucketer->stride;
    }
    start -= shift;
    end -= shift;
    return (bucket_range){start <= INT64_MIN ? INT64_MIN + 1 : (int64_t)start,
                          end >= INT64_MAX ? INT64_MAX : (int64_t)end};
}

static bucket_range bucket_locate(const alm_bucketer *bucketer, int64_t time)
{
    bucket_range right = {ALM_TS_NULL, INT64_MAX};
    alm_zone_ticks ticks = {.shift = bucketer->shift};
    int64_t local;
    if (time == ALM_TS_NULL)
        return right;
    if (bucketer->zone != NULL)
        alm_zone_ticks_at(bucketer->zone, time, bucketer->time_unit, &ticks);
    if (__builtin_add_overflow(time, ticks.shift, &local))
        return locate_far(bucketer, time, ticks.shift);
    if (bucketer->zone != NULL && !bucketer->clock) {
        right = long_bucket(bucketer, time, local);
    } else {
        const bucket_range left = local_bucket(bucketer, local);
        const bool fits = left.start != ALM_TS_NULL && left.end != INT64_MAX;
        if (fits && bucketer->clock)
            right = (bucket_range){clock_start(bucketer, left.start, ticks),
                                   clock_end(bucketer, left, ticks)};
        else if (fits)
            right = (bucket_range){shift_back(left.start, bucketer->shift),
                                   shift_back(left.end, bucketer->shift)};
    }
    return right.start != ALM_TS_NULL && right.end != INT64_MAX
               ? right
               : locate_far(bucketer, time, ticks.shift);
}

int64_t alm_bucket_start(const alm_bucketer *bucketer, int64_t time)
{
    return bucket_locate(bucketer, time).start;
}

int64_t alm_bucket_next(const alm_bucketer *bucketer, int64_t time)
{
    return bucket_locate(bucketer, time).end;
}

void alm_bucket_floor(const alm_bucketer *bucketer, const int64_t *input, size_t n, int64_t *out)
{
    bucket_range range = {0, 0};
    for (size_t i = 0; i < n; i++) {
        const int64_t t = input[i];
        if (t < range.start || t >= range.end) {
            range = bucket_locate(bucketer, t);
            if (range.start == ALM_TS_NULL) { /* null: nothing to keep */
                range = (bucket_range){0, 0};
                out[i] = ALM_TS_NULL;
                continue;
            }
        }
        out[i] = range.start;
    }
}

void alm_bucket_ceil(const alm_bucketer *bucketer, const int64_t *input, size_t n, int64_t *out)
{
    bucket_range range = {0, 0};
    for (size_t i = 0; i < n; i++) {
        const int64_t t = input[i];
        if (t < range.start || t >= range.end)
            range = bucket_locate(bucketer, t);
        out[i] = range.end;
        if (range.start == ALM_TS_NULL || range.end == INT64_MAX) {
            range = (bucket_range){0, 0};
            out[i] = ALM_TS_NULL;
        }
    }
}

bool alm_bucket_offset_parse(alm_str text, alm_time_unit unit, int64_t *out)
{
    const bool sign = text.len > 0 && (text.ptr[0] == '-' || text.ptr[0] == '+');
    const char *ptr = text.ptr + sign;
    if (text.len - sign != 5 || ptr[2] != ':')
        return false;
    for (size_t i = 0; i < 5; i++)
        if (i != 2 && (ptr[i] < '0' || ptr[i] > '9'))
            return false;
    const int32_t hour = (ptr[0] - '0') * 10 + ptr[1] - '0',
                  minute = (ptr[3] - '0') * 10 + ptr[4] - '0';
    if (hour > 23 || minute > 59)
        return false;
    const int64_t ticks = (hour * 60 + minute) * 60 * alm_time_second(unit);
    *out = text.ptr[0] == '-' ? -ticks : ticks;
    return true;
}
