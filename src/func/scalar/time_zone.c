/*
 * time_zone.c - local time of zones, days as intervals, intervals.
 *
 * Units       INTERVAL is a closed pair of microseconds; its null is a pair of nulls.
 * Null rule   Null in, null out.
 * Zones       A constant zone is found when the call is bound; a column of zones is walked in runs of
 *             equal names.
 */
#include "func/scalar/time.h"
#include "func/value/by_row.h"
#include "time/interval.h"
#include "type/ops.h"

/* ------------------------------------------------------------------ to_timezone, to_utc */

static alm_status zone_bind(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                            ALM_UNUSED uint32_t argc, alm_arg *args, ALM_UNUSED alm_type *result,
                            void **data)
{
    const alm_zone **kept;
    if (args[1].value == NULL)
        return ALM_OK;
    const alm_str name = alm_time_const_text(&args[1]);
    if (name.ptr == NULL)
        return alm_fail(cx, ALM_E_ARG, args[1].pos, "timezone must not be null");
    ALM_TRY(ALM_NEW(cx, cx->arena, &kept));
    ALM_TRY(alm_zone_find(cx, name, args[1].pos, kept));
    *data = kept;
    return ALM_OK;
}

typedef void (*zone_shift)(const alm_zone *, const int64_t *, size_t, alm_time_unit, int64_t *);

/* One zone for rows first .. first + n - 1; no name is null, and so is an unknown one of a column. */
static alm_status shift_run(alm_call *call, alm_str name, const alm_vec *args, size_t first,
                            size_t n, zone_shift shift, int64_t *out)
{
    const alm_zone *zone = NULL;
    const alm_vec *time = &args[0];
    int64_t room[ALM_TIME_CHUNK];
    const alm_time_unit unit = alm_time_unit_of(time->type);
    if (name.ptr != NULL) {
        const alm_status status = alm_zone_find(call->cx, name, call->pos, &zone);
        if (!alm_row_is_null(call, status, !args[1].is_const))
            ALM_TRY(status);
    }
    for (size_t i = 0; i < n; i += ALM_TIME_CHUNK) {
        const size_t more = ALM_MIN(n - i, (size_t)ALM_TIME_CHUNK);
        if (zone != NULL)
            shift(zone, alm_time_piece(time, first + i, more, room), more, unit, out + i);
        else
            for (size_t j = 0; j < more; j++)
                out[i + j] = ALM_TS_NULL;
    }
    return ALM_OK;
}

static alm_status zones_run(alm_call *call, size_t n, const alm_vec *args, zone_shift shift,
                            int64_t *out)
{
    const alm_zone *const *constant = call->data;
    if (constant != NULL) {
        shift(*constant, args[0].data, n, alm_time_unit_of(args[0].type), out);
        return ALM_OK;
    }
    for (size_t first = 0, end; first < n; first = end) {
        const alm_str name = alm_vec_text(&args[1], first);
        for (end = first + 1; end < n; end++) {
            const alm_str next = args[1].is_const ? name : alm_vec_text(&args[1], end);
            if ((next.ptr == NULL) != (name.ptr == NULL) || !alm_str_eq(next, name))
                break;
        }
        ALM_TRY(shift_run(call, name, args, first, end - first, shift, out + first));
    }
    return ALM_OK;
}

static alm_status to_timezone_run(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    return zones_run(call, n_rows, args, alm_zone_to_local, out->data);
}

static alm_status to_utc_run(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    return zones_run(call, n_rows, args, alm_zone_to_utc, out->data);
}

/* ------------------------------------------------------------------ today, tomorrow, yesterday */

static alm_status day_bind(alm_ctx *cx, const alm_fn *fn, int32_t pos, uint32_t argc, alm_arg *args,
                           alm_type *result, void **data)
{
    const alm_zone **kept;
    (void)fn;
    (void)pos;
    (void)result;
    if (argc == 0 || args[0].value == NULL)
        return ALM_OK;
    const alm_str name = alm_time_const_text(&args[0]);
    if (name.ptr == NULL)
        return alm_fail(cx, ALM_E_ARG, args[0].pos, "timezone must not be null");
    ALM_TRY(ALM_NEW(cx, cx->arena, &kept));
    ALM_TRY(alm_zone_find(cx, name, args[0].pos, kept));
    *data = kept;
    return ALM_OK;
}

/* The day `days` after the current one, by the clock of the zone; NULL: of UTC. */
static alm_interval_value day_of(const alm_ctx *cx, const alm_zone *zone, int64_t days)
{
    const int64_t day = alm_time_day(ALM_TIME_US);
    int64_t ends[2] = {alm_floor_div(cx->now_ns, 1000), 0};
    if (zone != NULL)
        alm_zone_to_local(zone, ends, 1, ALM_TIME_US, ends);
    ends[0] = (alm_floor_div(ends[0], day) + days) * day;
    ends[1] = ends[0] + day;
    if (zone != NULL)
        alm_zone_to_utc(zone, ends, 2, ALM_TIME_US, ends);
    return (alm_interval_value){ends[0], ends[1] - 1};
}

/* Zones of a column: looked up where the name is not that of the row before. */
static alm_status days_run(alm_call *call, size_t n_rows, const alm_vec *names, int64_t days,
                           alm_interval_value *values)
{
    for (size_t i = 0; i < n_rows; i++) {
        const alm_str name = alm_vec_text(names, i);
        const alm_zone *zone;
        if (name.ptr == NULL) {
            values[i] = (alm_interval_value){ALM_TS_NULL, ALM_TS_NULL};
        } else if (i > 0 && alm_str_eq(name, alm_vec_text(names, i - 1))) {
            values[i] = values[i - 1];
        } else {
            const alm_status status = alm_zone_find(call->cx, name, call->pos, &zone);
            values[i] = (alm_interval_value){ALM_TS_NULL, ALM_TS_NULL};
            if (alm_row_is_null(call, status, !names->is_const))
                continue;
            ALM_TRY(status);
            values[i] = day_of(call->cx, zone, days);
        }
    }
    return ALM_OK;
}

static alm_status time_zone_day_run(alm_call *call, size_t n_rows, const alm_vec *args,
                                    int64_t days, alm_vec *out)
{
    const alm_zone *const *zone = call->data;
    alm_interval_value *values = out->data;
    if (call->argc > 0 && zone == NULL)
        return days_run(call, n_rows, &args[0], days, values);
    const alm_interval_value day = day_of(call->cx, zone != NULL ? *zone : NULL, days);
    for (size_t i = 0; i < n_rows; i++)
        values[i] = day;
    return ALM_OK;
}

#define DAY(name, days)                                                                            \
    static alm_status name##_run(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)      \
    {                                                                                              \
        return time_zone_day_run(call, n, args, days, out);                                        \
    }
DAY(yesterday, -1)
DAY(today, 0)
DAY(tomorrow, 1)

/* ------------------------------------------------------------------ intervals */

static alm_status interval_run(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    alm_interval_value *values = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const int64_t lo = ALM_AT(int64_t, args[0], i), hi = ALM_AT(int64_t, args[1], i);
        const bool turned = lo > hi && alm_by_row(args, 0, 2);
        if (lo == ALM_TS_NULL || hi == ALM_TS_NULL || turned)
            values[i] = (alm_interval_value){ALM_TS_NULL, ALM_TS_NULL};
        else if (lo > hi)
            return alm_fail(call->cx, ALM_E_ARG, call->pos, "invalid interval boundaries");
        else
            values[i] = (alm_interval_value){lo, hi};
    }
    return ALM_OK;
}

static alm_status interval_start_run(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                                     alm_vec *out)
{
    const alm_interval_value *in = args[0].data;
    int64_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++)
        results[i] = in[i].lo;
    return ALM_OK;
}

static alm_status interval_end_run(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                                   alm_vec *out)
{
    const alm_interval_value *in = args[0].data;
    int64_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++)
        results[i] = in[i].hi;
    return ALM_OK;
}

/* ts IN 'text' where the text means many ranges: they are read once. */
static alm_status in_text_bind(alm_ctx *cx, const alm_fn *fn, int32_t pos, uint32_t argc,
                               alm_arg *args, alm_type *result, void **data)
{
    alm_time_ranges *set;
    (void)fn;
    (void)pos;
    (void)argc;
    (void)result;
    const alm_time_unit unit = alm_type_unit(args[0].type);
    ALM_TRY(ALM_NEW(cx, cx->arena, &set));
    ALM_TRY(alm_interval_parse(cx, cx->arena, alm_time_const_text(&args[1]), unit, cx->now_ns,
                               args[1].pos, set));
    *data = set;
    return ALM_OK;
}

static alm_status in_text_run(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    uint8_t *results = out->data;
    const size_t rows = args[0].is_const ? ALM_MIN(n_rows, (size_t)1) : n_rows;
    alm_ranges_contain(call->data, args[0].data, rows, results);
    if (rows < n_rows)
        memset(results + 1, results[0], n_rows - 1);
    return ALM_OK;
}

#define DAY_ROWS(name_, doc_)                                                                      \
    ALM_TIME_FN(#name_, "() INTERVAL", ALM_FN_STABLE, day_bind, name_##_run, 0, doc_ " (UTC).",    \
                #name_ "()"),                                                                      \
        ALM_TIME_FN(#name_, "(zone STRING) INTERVAL", ALM_FN_STABLE | ALM_FN_NULL_OUT, day_bind,   \
                    name_##_run, 0, doc_ " by the clock of a time zone.",                          \
                    #name_ "('Europe/Berlin')")

#define IN_TEXT_ROW(T)                                                                             \
    ALM_TIME_FN("in interval", "(ts " T ", text STRING const) BOOLEAN",                            \
                ALM_FN_INTERNAL | ALM_FN_STABLE, in_text_bind, in_text_run, 0,                     \
                "Within the times that an interval text means.", "ts in '2026-01-[05,09]'")

static const alm_fn ROWS[] = {
    IN_TEXT_ROW("TIME"),
    IN_TEXT_ROW("DATE"),
    ALM_TIME_FN("to_timezone", "(ts TIME, zone STRING) TIME", ALM_FN_NULL_OUT, zone_bind,
                to_timezone_run, 0, "Local time of a zone at an instant in UTC.",
                "to_timezone('2026-02-14T10:42:30.123456Z', 'Europe/Berlin')"),
    ALM_TIME_FN("to_utc", "(ts TIME, zone STRING) TIME", ALM_FN_NULL_OUT, zone_bind, to_utc_run, 0,
                "Instant in UTC of a local time of a zone; a time that comes twice is the earlier "
                "one.",
                "to_utc('2026-02-14T10:42:30.123456Z', '-08:00')"),
    DAY_ROWS(today, "The current day"),
    DAY_ROWS(tomorrow, "The day after the current one"),
    DAY_ROWS(yesterday, "The day before the current one"),
    ALM_TIME_FN("interval", "(lo TIMESTAMP, hi TIMESTAMP) INTERVAL", ALM_FN_NULL_OUT, NULL,
                interval_run, 0, "All times from lo to hi, both included.",
                "interval('2026-01-01', '2026-01-02')"),
    ALM_TIME_FN("interval_start", "(interval INTERVAL) TIMESTAMP", ALM_FN_NULL_OUT, NULL,
                interval_start_run, 0, "First time of an interval.",
                "interval_start(interval('2026-01-01', '2026-01-02'))"),
    ALM_TIME_FN("interval_end", "(interval INTERVAL) TIMESTAMP", ALM_FN_NULL_OUT, NULL,
                interval_end_run, 0, "Last time of an interval.",
                "interval_end(interval('2026-01-01', '2026-01-02'))"),
};
ALM_FN_TABLE(time_zone, ROWS);
