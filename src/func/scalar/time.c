/*
 * time.c - current time, fields, adding, differences.
 *
 * Null rule   Null in, null out; is_leap_year of null is false.
 * Units       Kernels take TIMESTAMP and TIMESTAMP_NS as they are; DATE is cast before.
 */
#include "func/scalar/time.h"
#include "func/value/by_row.h"

#include "func/value/args.h"

/* ------------------------------------------------------------------ shared by scalar_time_*.c */

alm_str alm_time_const_text(const alm_arg *arg)
{
    if (arg->value == NULL)
        return (alm_str){NULL, 0};
    if (arg->type.id == ALM_T_NULL || arg->value->type.id == ALM_T_NULL)
        return (alm_str){NULL, 0};
    if (arg->value->type.id == ALM_T_CHAR) {
        const uint16_t unit = *(const uint16_t *)arg->value->data;
        return unit == 0 || unit > 127 ? (alm_str){NULL, 0}
                                       : (alm_str){(const char *)arg->value->data, 1};
    }
    return alm_vec_text(arg->value, 0);
}

alm_status alm_time_const_ticks(alm_ctx *cx, const alm_arg *arg, alm_time_unit unit, int64_t *out)
{
    *out = ALM_TS_NULL;
    if (arg->value == NULL || arg->value->type.id == ALM_T_NULL || alm_vec_is_null(arg->value, 0))
        return ALM_OK;
    const alm_type type = arg->value->type;
    if (alm_type_is_text(type)) {
        const alm_str text = alm_vec_text(arg->value, 0);
        if (!alm_time_read(text, unit, out))
            return alm_fail(cx, ALM_E_TIME, arg->pos, "Invalid date [str=%.*s]",
                            (int)ALM_MIN(text.len, (size_t)100), text.ptr);
    } else if (alm_type_info_of(type)->cls != ALM_TC_TIME) {
        return alm_arg_long(cx, arg, out);
    } else {
        *out = alm_time_rescale(*(const int64_t *)arg->value->data, alm_time_unit_of(type), unit);
        if (*out == ALM_TS_NULL)
            return alm_fail(cx, ALM_E_TIME_RANGE, arg->pos,
                            "a time that TIMESTAMP_NS does not hold");
    }
    return ALM_OK;
}

int64_t alm_time_const_long(const alm_arg *arg, int64_t absent)
{
    if (arg->value == NULL || arg->value->type.id == ALM_T_NULL || alm_vec_is_null(arg->value, 0))
        return absent;
    switch (arg->value->type.id) {
    case ALM_T_BYTE:
        return *(const int8_t *)arg->value->data;
    case ALM_T_SHORT:
        return *(const int16_t *)arg->value->data;
    case ALM_T_INT:
        return *(const int32_t *)arg->value->data;
    case ALM_T_LONG:
        return *(const int64_t *)arg->value->data;
    default:
        return absent;
    }
}

alm_status alm_time_no_value(const alm_call *call)
{
    return alm_fail(call->cx, ALM_E_PARAM, call->pos,
                    "`%s` needs the values of its bind variables when it is planned",
                    call->fn->name);
}

const int64_t *alm_time_piece(const alm_vec *vec, size_t first, size_t n_rows,
                              int64_t room[ALM_TIME_CHUNK])
{
    ALM_DASSERT(n_rows <= ALM_TIME_CHUNK);
    if (vec->type.id == ALM_T_INT) {
        const int32_t *in = (const int32_t *)vec->data + (vec->is_const ? 0 : first);
        for (size_t i = 0; i < n_rows; i++) {
            const int32_t value = in[vec->is_const ? 0 : i];
            room[i] = value == ALM_INT_NULL ? ALM_LONG_NULL : value;
        }
        return room;
    }
    const int64_t *input = vec->data;
    if (!vec->is_const)
        return input + first;
    for (size_t i = 0; i < n_rows; i++)
        room[i] = input[0];
    return room;
}

size_t alm_time_same_text(const alm_vec *texts, size_t first, size_t n_rows)
{
    const size_t most = ALM_MIN(n_rows - first, (size_t)ALM_TIME_CHUNK);
    const alm_str text = alm_vec_text(texts, first);
    size_t more = 1;
    while (more < most) {
        const alm_str next = texts->is_const ? text : alm_vec_text(texts, first + more);
        if ((next.ptr == NULL) != (text.ptr == NULL) || !alm_str_eq(next, text))
            break;
        more++;
    }
    return more;
}

/* ------------------------------------------------------------------ the clock */

static alm_status scalar_time_fill(size_t n_rows, int64_t value, alm_vec *out)
{
    int64_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++)
        results[i] = value;
    return ALM_OK;
}

/* Wall clock now: the start of the statement plus what the monotonic clock counted since. */
static int64_t wall_ns(const alm_ctx *cx)
{
    return cx->started_ns == 0 ? cx->now_ns : cx->now_ns + (alm_monotonic_ns() - cx->started_ns);
}

static alm_status now_run(alm_call *call, size_t n_rows, ALM_UNUSED const alm_vec *args,
                          alm_vec *out)
{
    return scalar_time_fill(n_rows, alm_floor_div(call->cx->now_ns, 1000), out);
}

static alm_status now_ns_run(alm_call *call, size_t n_rows, ALM_UNUSED const alm_vec *args,
                             alm_vec *out)
{
    return scalar_time_fill(n_rows, call->cx->now_ns, out);
}

static alm_status systimestamp_run(alm_call *call, size_t n_rows, ALM_UNUSED const alm_vec *args,
                                   alm_vec *out)
{
    return scalar_time_fill(n_rows, alm_floor_div(wall_ns(call->cx), 1000), out);
}

static alm_status systimestamp_ns_run(alm_call *call, size_t n_rows, ALM_UNUSED const alm_vec *args,
                                      alm_vec *out)
{
    return scalar_time_fill(n_rows, wall_ns(call->cx), out);
}

static alm_status sysdate_run(alm_call *call, size_t n_rows, ALM_UNUSED const alm_vec *args,
                              alm_vec *out)
{
    return scalar_time_fill(n_rows, alm_floor_div(wall_ns(call->cx), 1000000), out);
}

/* ------------------------------------------------------------------ fields */

#define FIELD(name, id)                                                                            \
    static alm_status name##_run(ALM_UNUSED alm_call *call, size_t n, const alm_vec *args,         \
                                 alm_vec *out)                                                     \
    {                                                                                              \
        alm_calendar_extract_all(args[0].data, n, alm_time_unit_of(args[0].type), ALM_CAL_##id,    \
                                 out->data);                                                       \
        return ALM_OK;                                                                             \
    }
FIELD(year, YEAR)
FIELD(month, MONTH)
FIELD(day, DAY)
FIELD(hour, HOUR)
FIELD(minute, MINUTE)
FIELD(second, SECOND)
FIELD(millis, MILLIS)
FIELD(micros, MICROS)
FIELD(nanos, NANOS)
FIELD(day_of_week, ISODOW)
FIELD(sunday_first, SUNDAY_FIRST)
FIELD(week_of_year, WEEK)
FIELD(days_in_month, DAYS_IN_MONTH)

/* Is the day the last one of its month? */
static alm_status is_end_of_month_run(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                                      alm_vec *out)
{
    int32_t day[ALM_TIME_CHUNK], last[ALM_TIME_CHUNK];
    uint8_t *results = out->data;
    for (size_t i = 0; i < n_rows; i += ALM_TIME_CHUNK) {
        const size_t more = ALM_MIN(n_rows - i, (size_t)ALM_TIME_CHUNK);
        const int64_t *ts = (const int64_t *)args[0].data + i;
        const alm_time_unit unit = alm_time_unit_of(args[0].type);
        alm_calendar_extract_all(ts, more, unit, ALM_CAL_DAY, day);
        alm_calendar_extract_all(ts, more, unit, ALM_CAL_DAYS_IN_MONTH, last);
        for (size_t j = 0; j < more; j++)
            results[i + j] = day[j] == last[j] && day[j] != ALM_INT_NULL;
    }
    return ALM_OK;
}

static alm_status is_leap_year_run(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                                   alm_vec *out)
{
    int32_t leap[ALM_TIME_CHUNK];
    uint8_t *results = out->data;
    for (size_t i = 0; i < n_rows; i += ALM_TIME_CHUNK) {
        const size_t more = ALM_MIN(n_rows - i, (size_t)ALM_TIME_CHUNK);
        alm_calendar_extract_all((const int64_t *)args[0].data + i, more,
                                 alm_time_unit_of(args[0].type), ALM_CAL_LEAP_YEAR, leap);
        for (size_t j = 0; j < more; j++)
            results[i + j] = leap[j] == 1;
    }
    return ALM_OK;
}

typedef struct extract_data {
    alm_calendar_field field;
} extract_data;

static alm_status extract_bind(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                               ALM_UNUSED uint32_t argc, alm_arg *args, alm_type *result,
                               void **data)
{
    extract_data *d;
    const alm_str part = alm_time_const_text(&args[0]);
    *result = ALM_TY(INT);
    if (args[0].is_param && args[0].value == NULL)
        return ALM_OK;
    ALM_TRY(ALM_NEW(cx, cx->arena, &d));
    if (part.ptr == NULL || !alm_calendar_field_parse(part, &d->field))
        return alm_fail(cx, ALM_E_ARG, args[0].pos, "unsupported timestamp part: %.*s",
                        (int)ALM_MIN(part.len, (size_t)100), part.ptr == NULL ? "" : part.ptr);
    if (d->field == ALM_CAL_EPOCH)
        *result = ALM_TY(LONG);
    *data = d;
    return ALM_OK;
}

static alm_status extract_run(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    const extract_data *d = call->data;
    const alm_time_unit unit = alm_time_unit_of(args[1].type);
    if (d == NULL)
        return alm_time_no_value(call);
    if (d->field == ALM_CAL_EPOCH)
        alm_calendar_epoch_all(args[1].data, n_rows, unit, out->data);
    else
        alm_calendar_extract_all(args[1].data, n_rows, unit, d->field, out->data);
    return ALM_OK;
}

/* ------------------------------------------------------------------ adding and differences */

typedef struct span_data {
    char unit;
    const alm_zone *zone; /* NULL: none given */
    bool no_zone;         /* null was */
} span_data;

/* Argument 0 is a unit; the last of four is a zone. */
static alm_status span_bind(alm_ctx *cx, const alm_fn *fn, int32_t pos, uint32_t argc,
                            alm_arg *args, alm_type *result, void **data)
{
    span_data *d;
    ALM_TRY(alm_bind_meet_times(cx, fn, pos, argc, args, result, data));
    if (args[0].is_param && args[0].value == NULL)
        return ALM_OK;
    const alm_str text = alm_time_const_text(&args[0]);
    ALM_TRY(ALM_NEW(cx, cx->arena, &d));
    d->unit = text.len == 1 ? alm_unit_letter(text.ptr[0]) : 0;
    if (d->unit == 0)
        return alm_fail(cx, ALM_E_ARG, args[0].pos, "invalid time period [unit=%.*s]",
                        (int)ALM_MIN(text.len, (size_t)100), text.ptr == NULL ? "" : text.ptr);
    if (argc == 4 && args[3].value != NULL) {
        const alm_str zone = alm_time_const_text(&args[3]);
        d->no_zone = zone.ptr == NULL;
        if (!d->no_zone)
            ALM_TRY(alm_zone_find(cx, zone, args[3].pos, &d->zone));
    }
    *data = d;
    return ALM_OK;
}

static alm_status dateadd_run(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    const span_data *d = call->data;
    const alm_time_unit unit = alm_time_unit_of(args[2].type);
    int64_t count_room[ALM_TIME_CHUNK], time_room[ALM_TIME_CHUNK];
    if (d == NULL)
        return alm_time_no_value(call);
    if (d->no_zone)
        return scalar_time_fill(n_rows, ALM_TS_NULL, out);
    for (size_t i = 0; i < n_rows; i += ALM_TIME_CHUNK) {
        const size_t more = ALM_MIN(n_rows - i, (size_t)ALM_TIME_CHUNK);
        int64_t *results = (int64_t *)out->data + i;
        const int64_t *time = alm_time_piece(&args[2], i, more, time_room);
        if (d->zone != NULL) {
            alm_zone_to_local(d->zone, time, more, unit, time_room);
            time = time_room;
        }
        const int64_t *count = alm_time_piece(&args[1], i, args[1].is_const ? 1 : more, count_room);
        if (args[1].is_const && count[0] != ALM_LONG_NULL)
            alm_time_add_all(time, more, unit, d->unit, count[0], results);
        else
            alm_time_add_each(time, alm_time_piece(&args[1], i, more, count_room), more, unit,
                              d->unit, results);
        if (d->zone != NULL)
            alm_zone_to_utc(d->zone, results, more, unit, results);
    }
    return ALM_OK;
}

/* Zones of a column: rows with the same one are taken together. */
static alm_status dateadd_zones(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    const span_data *d = call->data;
    const alm_time_unit unit = alm_time_unit_of(args[2].type);
    int64_t counts[ALM_TIME_CHUNK], times[ALM_TIME_CHUNK], *results = out->data;
    if (d == NULL)
        return alm_time_no_value(call);
    for (size_t i = 0, more; i < n_rows; i += more) {
        const alm_zone *zone = NULL;
        more = alm_time_same_text(&args[3], i, n_rows);
        const alm_str name = alm_vec_text(&args[3], i);
        if (name.ptr == NULL) {
            for (size_t k = 0; k < more; k++)
                results[i + k] = ALM_TS_NULL;
            continue;
        }
        const alm_status status = alm_zone_find(call->cx, name, call->pos, &zone);
        if (alm_row_is_null(call, status, !args[3].is_const)) {
            for (size_t k = 0; k < more; k++)
                results[i + k] = ALM_TS_NULL;
            continue;
        }
        ALM_TRY(status);
        alm_zone_to_local(zone, alm_time_piece(&args[2], i, more, times), more, unit, times);
        alm_time_add_each(times, alm_time_piece(&args[1], i, more, counts), more, unit, d->unit,
                          results + i);
        alm_zone_to_utc(zone, results + i, more, unit, results + i);
    }
    return ALM_OK;
}

static alm_status datediff_run(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    const span_data *d = call->data;
    if (d == NULL)
        return alm_time_no_value(call);
    alm_time_diff_all(args[1].data, args[1].is_const ? 0 : 1, args[2].data,
                      args[2].is_const ? 0 : 1, n_rows, alm_time_unit_of(args[1].type), d->unit,
                      out->data);
    return ALM_OK;
}

/* Units of a column: a letter for each row; null where it is none. Constant ones are bound as above. */
static alm_status unit_bind(alm_ctx *cx, const alm_fn *fn, int32_t pos, uint32_t argc,
                            alm_arg *args, alm_type *result, void **data)
{
    if (args[0].value != NULL || args[0].is_param)
        return span_bind(cx, fn, pos, argc, args, result, data);
    return alm_bind_meet_times(cx, fn, pos, argc, args, result, data);
}

static char letter_at(const alm_vec *vec, size_t i)
{
    const uint16_t unit = ((const uint16_t *)vec->data)[vec->is_const ? 0 : i];
    return unit < 0x80 ? alm_unit_letter((char)unit) : 0;
}

static alm_status dateadd_units(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    const alm_time_unit time_unit = alm_time_unit_of(args[2].type);
    int64_t *results = out->data;
    if (call->data != NULL)
        return dateadd_run(call, n_rows, args, out);
    for (size_t i = 0; i < n_rows; i += ALM_TIME_CHUNK) {
        const size_t more = ALM_MIN(n_rows - i, (size_t)ALM_TIME_CHUNK);
        int64_t room[ALM_TIME_CHUNK];
        const int64_t *count = alm_time_piece(&args[1], i, more, room);
        for (size_t j = 0; j < more; j++) {
            const char unit = letter_at(&args[0], i + j);
            const int64_t time = ALM_AT(int64_t, args[2], i + j);
            const bool none = unit == 0 || count[j] == ALM_LONG_NULL || time == ALM_TS_NULL;
            results[i + j] = none ? ALM_TS_NULL : alm_time_add(time, time_unit, unit, count[j]);
        }
    }
    return ALM_OK;
}

static alm_status datediff_units(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    const alm_time_unit time_unit = alm_time_unit_of(args[1].type);
    int64_t *results = out->data;
    if (call->data != NULL)
        return datediff_run(call, n_rows, args, out);
    for (size_t i = 0; i < n_rows; i++) {
        const char unit = letter_at(&args[0], i);
        const int64_t a = ALM_AT(int64_t, args[1], i), b = ALM_AT(int64_t, args[2], i);
        const bool none = unit == 0 || a == ALM_TS_NULL || b == ALM_TS_NULL;
        results[i] = none ? ALM_LONG_NULL : alm_time_diff(a, b, time_unit, unit);
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------ table */

#define CLOCK(name_, type, flags_, doc_)                                                           \
    ALM_TIME_FN(#name_, "() " type, flags_, NULL, name_##_run, 0, doc_, #name_ "()")
#define PART(name_, kernel_, type, mono, doc_)                                                     \
    ALM_TIME_FN(name_, "(ts TIME) " type, ALM_FN_NULL_OUT, NULL, kernel_##_run, mono, doc_,        \
                name_ "('2024-02-29T12:34:56.789012Z')")

static const alm_fn ROWS[] = {
    CLOCK(now, "TIMESTAMP", ALM_FN_STABLE, "Time at which the statement began."),
    CLOCK(now_ns, "TIMESTAMP_NS", ALM_FN_STABLE,
          "Time at which the statement began, to the nanosecond."),
    CLOCK(systimestamp, "TIMESTAMP", ALM_FN_VOLATILE,
          "Time of the clock when a batch of rows is made."),
    CLOCK(systimestamp_ns, "TIMESTAMP_NS", ALM_FN_VOLATILE,
          "Time of the clock when a batch of rows is made, to the nanosecond."),
    CLOCK(sysdate, "DATE", ALM_FN_VOLATILE, "Time of the clock, to the millisecond."),
    PART("year", year, "INT", 1, "Year."),
    PART("month", month, "INT", 0, "Month, 1 to 12."),
    PART("day", day, "INT", 0, "Day of the month, 1 to 31."),
    PART("hour", hour, "INT", 0, "Hour of the day, 0 to 23."),
    PART("minute", minute, "INT", 0, "Minute of the hour, 0 to 59."),
    PART("second", second, "INT", 0, "Second of the minute, 0 to 59."),
    PART("millis", millis, "INT", 0, "Milliseconds of the second, 0 to 999."),
    PART("micros", micros, "INT", 0, "Microseconds of the millisecond, 0 to 999."),
    PART("nanos", nanos, "INT", 0, "Nanoseconds of the microsecond, 0 to 999."),
    PART("day_of_week", day_of_week, "INT", 0, "Day of the week, Monday 1 to Sunday 7."),
    PART("day_of_week_sunday_first", sunday_first, "INT", 0,
         "Day of the week, Sunday 1 to Saturday 7."),
    PART("week_of_year", week_of_year, "INT", 0, "Week of the ISO year, 1 to 53."),
    PART("days_in_month", days_in_month, "INT", 0, "Number of days of the month."),
    PART("is_end_of_month", is_end_of_month, "BOOLEAN", 0, "Is the day the last one of its month?"),
    PART("is_leap_year", is_leap_year, "BOOLEAN", 0, "Has the year a 29th of February?"),
    ALM_TIME_FN("extract", "(part STRING const, ts TIME) ?", ALM_FN_NULL_OUT, extract_bind,
                extract_run, 0,
                "Part of a time: year, month, day, hour, minute, second, milliseconds, "
                "microseconds, nanoseconds (each of the second), epoch (seconds since 1970), dow "
                "(Sunday 0), isodow (Monday 1), doy, week, isoyear, quarter, decade, century, "
                "millennium.",
                "extract(hour FROM '2026-02-14T10:42:30.123456Z')"),
    ALM_TIME_FN("dateadd", "(unit STRING const, n INT, ts TIME) TIME", ALM_FN_NULL_OUT, span_bind,
                dateadd_run, 3,
                "Time n units later: n nanosecond, u microsecond, T millisecond, s, m, h, d, w, M "
                "month, y year. Months keep the day, or take the last one.",
                "dateadd('M', 1, '2026-01-31')"),
    ALM_TIME_FN("dateadd", "(unit STRING const, n LONG, ts TIME) TIME", ALM_FN_NULL_OUT, span_bind,
                dateadd_run, 3, "Time n units later.", "dateadd('d', -7L, '2026-01-31')"),
    ALM_TIME_FN("dateadd", "(unit STRING const, n INT, ts TIME, zone STRING const) TIME",
                ALM_FN_NULL_OUT, span_bind, dateadd_run, 0,
                "Time n units later by the clock of a time zone.",
                "dateadd('d', 1, '2026-03-28T12:00:00Z', 'Europe/Berlin')"),
    ALM_TIME_FN("dateadd", "(unit STRING const, n LONG, ts TIME, zone STRING const) TIME",
                ALM_FN_NULL_OUT, span_bind, dateadd_run, 0,
                "Time n units later by the clock of a time zone.",
                "dateadd('d', 1L, '2026-03-28T12:00:00Z', 'Europe/Berlin')"),
    ALM_TIME_FN("dateadd", "(unit STRING const, n INT, ts TIME, zone STRING) TIME", ALM_FN_NULL_OUT,
                span_bind, dateadd_zones, 0, "Time n units later by the clock of a time zone.",
                "dateadd('d', 1, '2026-03-28T12:00:00Z', 'Europe/Berlin')"),
    ALM_TIME_FN("dateadd", "(unit STRING const, n LONG, ts TIME, zone STRING) TIME",
                ALM_FN_NULL_OUT, span_bind, dateadd_zones, 0,
                "Time n units later by the clock of a time zone.",
                "dateadd('d', 1L, '2026-03-28T12:00:00Z', 'Europe/Berlin')"),
    ALM_TIME_FN("dateadd", "(unit CHAR, n INT, ts TIME) TIME", ALM_FN_NULL_OUT, unit_bind,
                dateadd_units, 3, "Time n units later.", "dateadd('M', 1, '2026-01-31')"),
    ALM_TIME_FN("dateadd", "(unit CHAR, n LONG, ts TIME) TIME", ALM_FN_NULL_OUT, unit_bind,
                dateadd_units, 3,
                "Time n units later. In a column of units a letter that is none gives null.",
                "dateadd('d', -7L, '2026-01-31')"),
    ALM_TIME_FN("datediff", "(unit STRING const, a TIME, b TIME) LONG", ALM_FN_NULL_OUT, span_bind,
                datediff_run, 0, "Whole units between two times, in either order.",
                "datediff('h', '2026-01-01', '2026-01-02T12:30:00Z')"),
    ALM_TIME_FN("datediff", "(unit CHAR, a TIME, b TIME) LONG", ALM_FN_NULL_OUT, unit_bind,
                datediff_units, 0, "Whole units between two times, in either order.",
                "datediff('h', '2026-01-01', '2026-01-02T12:30:00Z')"),
};
ALM_FN_TABLE(time, ROWS);
