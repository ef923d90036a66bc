/*
 * json.c - json_extract(text, path), as text or, behind a cast, as the type of the cast.
 *
 * Types       json_extract(v, '$.a')::long is bound as one call, "json_extract::long", which knows
 *             whether the value is a number, a text or a boolean in the JSON.
 * Null rule   Null, a missing value, JSON null, and a text that is not JSON give null (false, 0).
 */
#include "base/number.h"
#include "func/scalar/json_path.h"
#include "func/value/args.h"
#include "func/value/tables.h"
#include "func/value/text_out.h"
#include "time/timestamp.h"

static alm_status bind_path(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                            ALM_UNUSED uint32_t argc, alm_arg *args, ALM_UNUSED alm_type *result,
                            void **data)
{
    alm_str text, copy;
    alm_json_path *path = NULL;
    if (args[1].value == NULL)
        return ALM_OK;
    ALM_TRY(alm_arg_text(cx, &args[1], &text));
    if (text.ptr == NULL)
        return ALM_OK;
    ALM_TRY(alm_arena_copy(cx, cx->arena, text, &copy));
    ALM_TRY(ALM_NEW(cx, cx->arena, &path));
    if (!alm_json_path_parse(copy, path))
        return alm_fail(cx, ALM_E_ARG, args[1].pos, "invalid JSON path: %.*s",
                        (int)ALM_MIN(text.len, (size_t)100), text.ptr);
    *data = path;
    return ALM_OK;
}

static alm_status scalar_json_value_at(const alm_call *call, const alm_vec *args, size_t i,
                                       alm_json_value *out)
{
    const alm_str text = alm_vec_text(&args[0], i);
    ALM_TRY(alm_text_work(call->cx, text.len));
    *out = text.ptr == NULL || call->data == NULL ? (alm_json_value){0}
                                                  : alm_json_find(text, call->data);
    return ALM_OK;
}

static alm_status as_text(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        alm_json_value value;
        char *ptr;
        ALM_TRY(scalar_json_value_at(call, args, i, &value));
        views[i] = alm_view_null();
        if (value.kind == ALM_JSON_NOTHING || value.kind == ALM_JSON_NULL)
            continue;
        ALM_TRY(alm_text_room(&writer, value.raw.len, &ptr));
        if (value.kind == ALM_JSON_STRING) {
            views[i] = alm_text_take(&writer, alm_json_unescape(value.raw, ptr));
            continue;
        }
        if (value.raw.len > 0)
            memcpy(ptr, value.raw.ptr, value.raw.len);
        views[i] = alm_text_take(&writer, value.raw.len);
    }
    return ALM_OK;
}

/* A number, or a text of one; fractions are cut off. */
static int64_t whole_of(alm_json_value value, int64_t min, int64_t max, int64_t none)
{
    int64_t whole = 0;
    double real = 0;
    if (value.kind == ALM_JSON_TRUE || value.kind == ALM_JSON_FALSE)
        return value.kind == ALM_JSON_TRUE;
    if (value.kind != ALM_JSON_NUMBER && value.kind != ALM_JSON_STRING)
        return none;
    if (alm_int64_parse(value.raw, &whole) == ALM_NUM_OK)
        return whole >= min && whole <= max ? whole : none;
    if (alm_double_parse(value.raw, &real) != ALM_NUM_OK || !(real > -9.3e18 && real < 9.3e18))
        return none;
    if (real < (double)min || real >= (double)max + 1)
        return none;
    return (int64_t)real;
}

static double real_of(alm_json_value value)
{
    double real = 0;
    const bool number = value.kind == ALM_JSON_NUMBER || value.kind == ALM_JSON_STRING;
    if (value.kind == ALM_JSON_TRUE || value.kind == ALM_JSON_FALSE)
        return value.kind == ALM_JSON_TRUE ? 1 : 0;
    return number && alm_double_parse(value.raw, &real) == ALM_NUM_OK && __builtin_isfinite(real)
               ? real
               : __builtin_nan("");
}

/* A text of a time, or a count of its units. */
static int64_t scalar_json_time_of(alm_json_value value, alm_time_unit unit)
{
    int64_t ticks = 0;
    if (value.kind == ALM_JSON_STRING && alm_time_parse(value.raw, unit, &ticks))
        return ticks;
    return whole_of(value, -INT64_MAX, INT64_MAX, ALM_TS_NULL);
}

#define AS(name, T, EXPR)                                                                          \
    static alm_status name(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)            \
    {                                                                                              \
        T *o = out->data;                                                                          \
        for (size_t i = 0; i < n; i++) {                                                           \
            alm_json_value v;                                                                      \
            ALM_TRY(scalar_json_value_at(call, args, i, &v));                                      \
            o[i] = (T)(EXPR);                                                                      \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }
AS(as_boolean, uint8_t, v.kind == ALM_JSON_TRUE)
AS(as_short, int16_t, whole_of(v, INT16_MIN, INT16_MAX, 0))
AS(as_int, int32_t, whole_of(v, -INT32_MAX, INT32_MAX, ALM_INT_NULL))
AS(scalar_json_as_long, int64_t, whole_of(v, -INT64_MAX, INT64_MAX, ALM_LONG_NULL))
AS(scalar_json_as_double, double, real_of(v))
AS(as_float, float, real_of(v))
AS(as_date, int64_t, scalar_json_time_of(v, ALM_TIME_MS))
AS(as_micros, int64_t, scalar_json_time_of(v, ALM_TIME_US))
AS(as_nanos, int64_t, scalar_json_time_of(v, ALM_TIME_NS))

#define ROW(suffix, type, flags_, kernel_)                                                         \
    {.name = "json_extract" suffix,                                                                \
     .signature = "(TEXT, VARCHAR const) " type,                                                   \
     .flags = flags_,                                                                              \
     .bind = bind_path,                                                                            \
     .kernel = kernel_,                                                                            \
     .doc = "Value of a JSON text at a path; a cast behind it picks the type. Null where there "   \
            "is none.",                                                                            \
     .example = "json_extract('{\"a\": [1, 2]}', '$.a[1]')",                                       \
     .since = "0.1"}

static const alm_fn ROWS[] = {
    ROW("", "VARCHAR", 0, as_text),
    ROW("::boolean", "BOOLEAN", ALM_FN_INTERNAL, as_boolean),
    ROW("::short", "SHORT", ALM_FN_INTERNAL, as_short),
    ROW("::int", "INT", ALM_FN_INTERNAL, as_int),
    ROW("::long", "LONG", ALM_FN_INTERNAL, scalar_json_as_long),
    ROW("::float", "FLOAT", ALM_FN_INTERNAL, as_float),
    ROW("::double", "DOUBLE", ALM_FN_INTERNAL, scalar_json_as_double),
    ROW("::date", "DATE", ALM_FN_INTERNAL, as_date),
    ROW("::timestamp", "TIMESTAMP", ALM_FN_INTERNAL, as_micros),
    ROW("::timestamp_ns", "TIMESTAMP_NS", ALM_FN_INTERNAL, as_nanos),
};
ALM_FN_TABLE(json, ROWS);
