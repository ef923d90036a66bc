/*
 * time_text.c - times to text and text to times by a pattern (time/format.h).
 *
 * Null rule   Null in, null out. A text that does not match gives null.
 */
#include "func/scalar/time.h"
#include "func/value/text_out.h"
#include "time/format.h"

static int32_t current_year(const alm_ctx *cx)
{
    return (int32_t)alm_calendar_extract(cx->now_ns, ALM_TIME_NS, ALM_CAL_YEAR);
}

/* Argument 1 is the pattern; `missing` says so when it is null. */
static alm_status pattern_bind(alm_ctx *cx, alm_arg *args, const char *missing, void **data)
{
    const alm_time_pattern *pattern;
    const alm_str text = alm_time_const_text(&args[1]);
    if (args[1].is_param && args[1].value == NULL)
        return ALM_OK;
    if (text.ptr == NULL)
        return alm_fail(cx, ALM_E_ARG, args[1].pos, "%s", missing);
    ALM_TRY(alm_time_pattern_compile(cx, cx->arena, text, current_year(cx), args[1].pos, &pattern));
    memcpy(data, &pattern, sizeof(pattern)); /* read-only from here on */
    return ALM_OK;
}

static alm_status write_bind(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                             ALM_UNUSED uint32_t argc, alm_arg *args, ALM_UNUSED alm_type *result,
                             void **data)
{
    return pattern_bind(cx, args, "format must not be null", data);
}

static alm_status read_bind(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                            ALM_UNUSED uint32_t argc, alm_arg *args, ALM_UNUSED alm_type *result,
                            void **data)
{
    return pattern_bind(cx, args, "pattern is required", data);
}

static alm_status to_str_run(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    const alm_time_pattern *pattern = call->data;
    if (pattern == NULL)
        return alm_time_no_value(call);
    const alm_time_unit unit = alm_time_unit_of(args[0].type);
    const size_t most = ALM_MAX(alm_time_pattern_max(pattern), (size_t)1);
    const int64_t *time = args[0].data;
    alm_view *views = out->data;
    alm_text_out writer = alm_text_out_of(call);
    for (size_t i = 0; i < n_rows; i++) {
        char *room;
        if (time[i] == ALM_TS_NULL) {
            views[i] = alm_view_null();
        } else if (i > 0 && time[i] == time[i - 1]) {
            views[i] = views[i - 1];
        } else {
            ALM_TRY(alm_text_room(&writer, most, &room));
            views[i] = alm_text_take(&writer, alm_time_pattern_write(pattern, time[i], unit, room));
        }
    }
    return ALM_OK;
}

/* By the pattern, into the unit of the result. */
static alm_status parse_run(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    const alm_time_pattern *pattern = call->data;
    if (pattern == NULL)
        return alm_time_no_value(call);
    const alm_time_unit unit = alm_time_unit_of(call->result);
    const alm_view *text = args[0].data;
    int64_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++)
        if (alm_view_is_null(&text[i]) ||
            !alm_time_pattern_read(call->cx, pattern, alm_view_str(&text[i], args[0].heap), unit,
                                   &results[i]))
            results[i] = ALM_TS_NULL;
    return ALM_OK;
}

/* By the form of the dialect. */
static alm_status parse_iso_run(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    const alm_time_unit unit = alm_time_unit_of(call->result);
    const alm_view *text = args[0].data;
    int64_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++)
        if (alm_view_is_null(&text[i]) ||
            !alm_time_parse(alm_view_str(&text[i], args[0].heap), unit, &results[i]))
            results[i] = ALM_TS_NULL;
    return ALM_OK;
}

#define PARSE(name_, type)                                                                         \
    ALM_TIME_FN(name_, "(text TEXT, pattern STRING const) " type, ALM_FN_NULL_OUT, read_bind,      \
                parse_run, 0, "Time that a text says by a pattern; null if it does not match.",    \
                name_ "('25/12/2020', 'dd/MM/yyyy')")
#define PARSE_ISO(name_, type)                                                                     \
    ALM_TIME_FN(name_, "(text TEXT) " type, ALM_FN_NULL_OUT, NULL, parse_iso_run, 0,               \
                "Time of a text such as 2020-12-25T17:46:30.123456Z; null if it is none.",         \
                name_ "('2020-12-25')")

static const alm_fn ROWS[] = {
    ALM_TIME_FN("to_str", "(ts TIME, pattern STRING const) STRING", ALM_FN_NULL_OUT, write_bind,
                to_str_run, 0, "Text of a time by a pattern.",
                "to_str('2026-02-14T10:42:30.123456Z'::timestamp, 'yyyy-MM-dd')"),
    ALM_TIME_FN("to_str", "(date DATE, pattern STRING const) STRING", ALM_FN_NULL_OUT, write_bind,
                to_str_run, 0, "Text of a date by a pattern.",
                "to_str('2026-02-14'::date, 'dd.MM.yy')"),
    PARSE("to_timestamp", "TIMESTAMP"),
    PARSE_ISO("to_timestamp", "TIMESTAMP"),
    PARSE("to_timestamp_ns", "TIMESTAMP_NS"),
    PARSE_ISO("to_timestamp_ns", "TIMESTAMP_NS"),
    PARSE("to_date", "DATE"),
    PARSE_ISO("to_pg_date", "DATE"),
};
ALM_FN_TABLE(time_text, ROWS);
