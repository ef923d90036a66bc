/*
 * time_floor.c - start and end of the calendar bucket that holds a time.
 *
 * Null rule   Null in, null out.
 * Method      All of them make a bucketer (time/bucket.h) when bound and run it over columns.
 */
#include "func/scalar/time.h"
#include "func/value/by_row.h"

/* A unit text such as "15m". */
static alm_status time_floor_read_unit(alm_ctx *cx, const alm_arg *arg, alm_bucket_spec *spec)
{
    alm_unit_span span;
    const alm_str text = alm_time_const_text(arg);
    if (text.ptr == NULL || !alm_span_parse(text, false, &span))
        return alm_fail(cx, ALM_E_ARG, arg->pos, "invalid unit '%.*s'",
                        (int)ALM_MIN(text.len, (size_t)100), text.ptr == NULL ? "" : text.ptr);
    spec->unit = span.unit;
    spec->count = span.count;
    return ALM_OK;
}

static alm_status time_floor_make(alm_ctx *cx, int32_t pos, const alm_bucket_spec *spec,
                                  void **data)
{
    alm_bucketer *bucketer;
    ALM_TRY(ALM_NEW(cx, cx->arena, &bucketer));
    ALM_TRY(alm_bucketer_init(cx, pos, spec, bucketer));
    *data = bucketer;
    return ALM_OK;
}

static bool lacks_value(const alm_arg *args, uint32_t argc)
{
    for (uint32_t i = 0; i < argc; i++)
        if (args[i].is_param && args[i].value == NULL && i != 1)
            return true;
    return false;
}

/* (unit, ts [, from [, offset, zone]]) */
static alm_status floor_bind(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                             uint32_t argc, alm_arg *args, alm_type *result, void **data)
{
    alm_bucket_spec spec = {.time_unit = alm_time_unit_of(args[1].type)};
    *result = args[1].type;
    if (argc > 2)
        args[2].type = args[1].type;
    if (lacks_value(args, argc))
        return ALM_OK;
    ALM_TRY(time_floor_read_unit(cx, &args[0], &spec));
    if (argc > 2) {
        ALM_TRY(alm_time_const_ticks(cx, &args[2], spec.time_unit, &spec.origin));
        spec.has_origin = spec.origin != ALM_TS_NULL;
    }
    if (argc > 3) {
        const alm_str offset = alm_time_const_text(&args[3]), zone = alm_time_const_text(&args[4]);
        if (offset.ptr != NULL && !alm_bucket_offset_parse(offset, spec.time_unit, &spec.offset))
            return alm_fail(cx, ALM_E_ARG, args[3].pos, "invalid offset: %.*s",
                            (int)ALM_MIN(offset.len, (size_t)100), offset.ptr);
        if (zone.ptr != NULL)
            ALM_TRY(alm_zone_find(cx, zone, args[4].pos, &spec.zone));
    }
    return time_floor_make(cx, args[0].pos, &spec, data);
}

/* (unit, ts, from, offset, zone), the last three by row: what is made of them is made by row. */
static alm_status rows_bind(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                            uint32_t argc, alm_arg *args, alm_type *result, void **data)
{
    alm_bucket_spec *spec = NULL;
    *result = args[1].type;
    if (argc > 2)
        args[2].type = args[1].type;
    if (args[0].is_param && args[0].value == NULL)
        return ALM_OK;
    ALM_TRY(ALM_NEW(cx, cx->arena, &spec));
    spec->time_unit = alm_time_unit_of(args[1].type);
    *data = spec;
    return time_floor_read_unit(cx, &args[0], spec);
}

/* Names of date_trunc; centuries begin with the year 1. */
static const struct {
    const char *name;
    char unit;
    int32_t count;
    int32_t origin_year;
} trunc_units[] = {
    {"nanosecond", 'n', 1, 1970},  {"microsecond", 'U', 1, 1970},   {"millisecond", 'T', 1, 1970},
    {"second", 's', 1, 1970},      {"minute", 'm', 1, 1970},        {"hour", 'h', 1, 1970},
    {"day", 'd', 1, 1970},         {"week", 'w', 1, 1970},          {"month", 'M', 1, 1970},
    {"quarter", 'M', 3, 1970},     {"year", 'y', 1, 1970},          {"decade", 'y', 10, 1970},
    {"century", 'y', 100, 2001},   {"millennium", 'y', 1000, 2001}, {"centuries", 'y', 100, 2001},
    {"millennia", 'y', 1000, 2001}};

static alm_status trunc_bind(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                             ALM_UNUSED uint32_t argc, alm_arg *args, ALM_UNUSED alm_type *result,
                             void **data)
{
    const alm_time_unit unit = alm_time_unit_of(args[1].type);
    if (lacks_value(args, argc))
        return ALM_OK;
    const alm_str given = alm_time_const_text(&args[0]);
    alm_str name = given;
    if (name.len > 0 && (name.ptr[name.len - 1] | 0x20) == 's') /* plural */
        name.len--;
    for (size_t i = 0; i < ALM_COUNT(trunc_units); i++) {
        if (!alm_str_ieq(name, alm_str_of(trunc_units[i].name)) &&
            !alm_str_ieq(given, alm_str_of(trunc_units[i].name)))
            continue;
        alm_bucket_spec spec = {
            .unit = trunc_units[i].unit, .count = trunc_units[i].count, .time_unit = unit};
        if (trunc_units[i].origin_year != 1970) {
            spec.has_origin = true;
            spec.origin = alm_days_of_date(trunc_units[i].origin_year, 1, 1) * alm_time_day(unit);
        }
        return time_floor_make(cx, args[0].pos, &spec, data);
    }
    return alm_fail(cx, ALM_E_ARG, args[0].pos, "invalid unit '%.*s'",
                    (int)ALM_MIN(given.len, (size_t)100), given.ptr == NULL ? "" : given.ptr);
}

/* args[1] is dense, or there is one row: the others are constants. */
static alm_status floor_run(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    if (call->data == NULL)
        return alm_time_no_value(call);
    alm_bucket_floor(call->data, args[1].data, n_rows, out->data);
    return ALM_OK;
}

/* Rows with the same offset and the same zone as row `first`, and what these are. */
static alm_status spec_of_rows(alm_call *call, const alm_vec *args, size_t first, size_t n,
                               alm_bucket_spec *spec, size_t *rows)
{
    *rows = ALM_MIN(n - first, (size_t)ALM_TIME_CHUNK);
    if (call->argc < 5)
        return ALM_OK;
    const alm_str offset = alm_vec_text(&args[3], first), zone = alm_vec_text(&args[4], first);
    *rows = ALM_MIN(alm_time_same_text(&args[3], first, n), alm_time_same_text(&args[4], first, n));
    if (offset.ptr != NULL && !alm_bucket_offset_parse(offset, spec->time_unit, &spec->offset))
        return alm_fail(call->cx, ALM_E_VALUE, call->pos, "invalid offset: %.*s",
                        (int)ALM_MIN(offset.len, (size_t)100), offset.ptr);
    return zone.ptr == NULL ? ALM_OK : alm_zone_find(call->cx, zone, call->pos, &spec->zone);
}

static void nulls(int64_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = ALM_TS_NULL;
}

static alm_status floor_rows(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    int64_t times[ALM_TIME_CHUNK], froms[ALM_TIME_CHUNK];
    if (call->data == NULL)
        return alm_time_no_value(call);
    for (size_t i = 0, more; i < n_rows; i += more) {
        alm_bucket_spec spec = *(const alm_bucket_spec *)call->data;
        const alm_status status = spec_of_rows(call, args, i, n_rows, &spec, &more);
        if (alm_row_is_null(call, status, alm_by_row(args, 3, call->argc))) {
            nulls((int64_t *)out->data + i, more);
            continue;
        }
        ALM_TRY(status);
        const int64_t *ts = alm_time_piece(&args[1], i, more, times);
        const int64_t *from = alm_time_piece(&args[2], i, more, froms);
        for (size_t k = 0, same; k < more; k += same) {
            alm_bucketer bucketer;
            for (same = 1; k + same < more && from[k + same] == from[k]; same++) {
            }
            spec.origin = from[k];
            spec.has_origin = from[k] != ALM_TS_NULL;
            const alm_status made = alm_bucketer_init(call->cx, call->pos, &spec, &bucketer);
            if (alm_row_is_null(call, made, alm_by_row(args, 2, call->argc))) {
                nulls((int64_t *)out->data + i + k, same);
                continue;
            }
            ALM_TRY(made);
            alm_bucket_floor(&bucketer, ts + k, same, (int64_t *)out->data + i + k);
        }
    }
    return ALM_OK;
}

static alm_status ceil_run(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    const alm_bucketer *bucketer = call->data;
    if (bucketer == NULL)
        return alm_time_no_value(call);
    if (!bucketer->months && bucketer->stride == 1) /* a tick is no bucket to be in */
        memcpy(out->data, args[1].data, n_rows * sizeof(int64_t));
    else
        alm_bucket_ceil(bucketer, args[1].data, n_rows, out->data);
    return ALM_OK;
}

static const alm_fn ROWS[] = {
    ALM_TIME_FN(
        "timestamp_floor", "(unit STRING const, ts TIME) TIME", ALM_FN_NULL_OUT, floor_bind,
        floor_run, 2,
        "Start of the bucket that holds ts. Units: n, U, T, s, m, h, d, w (from Monday), M, "
        "y, with a number before; counted from 1970.",
        "timestamp_floor('15m', '2026-02-14T10:42:30.123456Z')"),
    ALM_TIME_FN("timestamp_floor", "(unit STRING const, ts TIME, from TIMESTAMP const) ?",
                ALM_FN_NULL_OUT, floor_bind, floor_run, 2,
                "Start of the bucket that holds ts; buckets are counted from `from`.",
                "timestamp_floor('5d', '2026-02-14T10:42:30.123456Z', '2018-01-01')"),
    ALM_TIME_FN(
        "timestamp_floor",
        "(unit STRING const, ts TIME, from TIMESTAMP const, offset STRING const, zone "
        "STRING const) ?",
        ALM_FN_NULL_OUT, floor_bind, floor_run, 2,
        "Start of the bucket by the clock of a time zone, shifted by an offset (hh:mm), in "
        "UTC.",
        "timestamp_floor('1d', '2026-02-14T10:42:30.123456Z', null, '02:00', 'Europe/Berlin')"),
    ALM_TIME_FN("timestamp_floor", "(unit STRING const, ts TIME, from TIMESTAMP) ?", 0, rows_bind,
                floor_rows, 0, "From a column; null: from 1970.",
                "timestamp_floor('5d', '2026-02-14T10:42:30.123456Z', '2018-01-01')"),
    ALM_TIME_FN(
        "timestamp_floor",
        "(unit STRING const, ts TIME, from TIMESTAMP, offset STRING, zone STRING) ?", 0, rows_bind,
        floor_rows, 0, "From, offset and zone of columns; null: none.",
        "timestamp_floor('1d', '2026-02-14T10:42:30.123456Z', null, '02:00', 'Europe/Berlin')"),
    ALM_TIME_FN("timestamp_ceil", "(unit STRING const, ts TIME) TIME", ALM_FN_NULL_OUT, floor_bind,
                ceil_run, 2,
                "Start of the bucket after the one that holds ts; with units no coarser than the "
                "type, ts itself.",
                "timestamp_ceil('h', '2026-02-14T10:42:30.123456Z')"),
    ALM_TIME_FN("date_trunc", "(unit STRING const, ts TIME) TIME", ALM_FN_NULL_OUT, trunc_bind,
                floor_run, 2,
                "Start of the microsecond(s), millisecond(s), second, minute, hour, day, week, "
                "month, quarter, year, decade, century or millennium that holds ts.",
                "date_trunc('quarter', '2026-02-14T10:42:30.123456Z')"),
};
ALM_FN_TABLE(time_floor, ROWS);
