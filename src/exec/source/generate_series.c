/*
 * generate_series.c - generate_series(start, end [, step]), both ends included.
 *
 * LONG        all arguments integers; step 1 if it is left out.
 * DOUBLE      any argument a floating number; value i is start + i * step, without adding up errors.
 * TIMESTAMP   start and end are times or texts of times; the step is a text like '30m', '-1d', '1M', or
 *             a number of ticks. Month i is counted from the start, so that the 31st does not drift.
 * A step that leads away from the end gives no rows. Null in any argument gives no rows.
 */
#include "exec/source/source.h"
#include "func/value/args.h"
#include "time/calendar.h"

typedef struct series {
    alm_type type;
    int64_t first, last, step; /* integers; ticks, or units of `unit` */
    double first_f, last_f, step_f;
    char unit; /* of the step of a time; 0: ticks */
    int64_t rows;
} series;

typedef struct series_state {
    const series *s;
    int64_t at;
    void *data;
} series_state;

/* ------------------------------------------------------------------------------------ bind */

static alm_status mismatch(alm_ctx *cx, int32_t pos, const alm_expr *const *args, uint32_t n)
{
    alm_buf b;
    alm_buf_init(&b, cx->mem);
    alm_status st = ALM_OK;
    for (uint32_t i = 0; i < n && st == ALM_OK; i++)
        st = alm_buf_printf(cx, &b, "%s%s", i > 0 ? ", " : "", alm_type_name(args[i]->type));
    if (st == ALM_OK)
        st = alm_fail(cx, ALM_E_FUNCTION, pos,
                      "there is no matching function `generate_series` with the argument types: "
                      "(%.*s)",
                      (int)b.len, b.len > 0 ? b.ptr : "");
    alm_buf_deinit(&b);
    return st;
}

static alm_arg arg_of(const alm_expr *e)
{
    return (alm_arg){.type = e->type, .value = &e->value, .pos = e->pos};
}

static bool is_text(const alm_expr *e)
{
    return alm_type_is_text(e->type);
}

static alm_status time_arg(alm_ctx *cx, const alm_expr *e, alm_type type, int64_t *out)
{
    const bool ns = type.id == ALM_T_TIMESTAMP_NS;
    const alm_time_unit unit = ns ? ALM_TIME_NS : ALM_TIME_US;
    if (is_text(e)) {
        const alm_str text = alm_vec_text(&e->value, 0);
        *out = ALM_TS_NULL;
        if (text.ptr != NULL && !alm_time_read(text, unit, out))
            return alm_fail(cx, ALM_E_VALUE, e->pos, "Invalid date [str=%.*s]", (int)text.len,
                            text.ptr);
        return ALM_OK;
    }
    if (alm_type_is_timestamp(e->type)) {
        int64_t given = 0;
        memcpy(&given, e->value.data, sizeof given);
        *out = given;
        if (ns && e->type.id == ALM_T_TIMESTAMP)
            *out = alm_time_rescale(given, ALM_TIME_US, ALM_TIME_NS);
        if (*out == ALM_TS_NULL && given != ALM_TS_NULL)
            return alm_fail(cx, ALM_E_TIME_RANGE, e->pos, "a time that TIMESTAMP_NS does not hold");
        return ALM_OK;
    }
    const alm_arg arg = arg_of(e);
    return alm_arg_long(cx, &arg, out);
}

static alm_status time_step(alm_ctx *cx, const alm_expr *e, series *s)
{
    if (!is_text(e) && e->type.id != ALM_T_CHAR) {
        const alm_arg arg = arg_of(e);
        return alm_arg_long(cx, &arg, &s->step);
    }
    alm_str text = {0};
    alm_unit_span span;
    const alm_arg arg = arg_of(e);
    ALM_TRY(alm_arg_text(cx, &arg, &text));
    s->step = ALM_LONG_NULL;
    if (text.ptr == NULL)
        return ALM_OK;
    if (!alm_span_parse(text, true, &span))
        return alm_fail(cx, ALM_E_ARG, e->pos, "invalid period [period=%.*s]", (int)text.len,
                        text.ptr == NULL ? "" : text.ptr);
    s->step = span.count;
    s->unit = span.unit;
    return ALM_OK;
}

static int64_t time_at(const series *s, int64_t i)
{
    const alm_time_unit unit = s->type.id == ALM_T_TIMESTAMP_NS ? ALM_TIME_NS : ALM_TIME_US;
    int64_t count;
    if (__builtin_mul_overflow(s->step, i, &count))
        return ALM_TS_NULL;
    if (s->unit != 0)
        return alm_time_add(s->first, unit, s->unit, count);
    int64_t out;
    return __builtin_add_overflow(s->first, count, &out) ? ALM_TS_NULL : out;
}

/* Rows of integers and of times with a step of ticks. */
static int64_t count_rows(int64_t first, int64_t last, int64_t step)
{
    if (step > 0 ? first > last : first < last)
        return 0;
    const uint64_t span =
        step > 0 ? (uint64_t)last - (uint64_t)first : (uint64_t)first - (uint64_t)last;
    const uint64_t by = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    return (int64_t)ALM_MIN(span / by, (uint64_t)INT64_MAX - 1) + 1;
}

/* Rows of a calendar step: the last i whose time is not past the end, by bisection. */
static int64_t count_calendar(const series *s)
{
    int64_t lo = 0, hi = INT64_C(1) << 62; /* row lo is in, hi is not */
    if (s->step > 0 ? s->first > s->last : s->first < s->last)
        return 0;
    while (hi - lo > 1) {
        const int64_t mid = lo + (hi - lo) / 2;
        const int64_t t = time_at(s, mid);
        if (t != ALM_TS_NULL && (s->step > 0 ? t <= s->last : t >= s->last))
            lo = mid;
        else
            hi = mid;
    }
    return lo + 1;
}

static alm_status bind_times(alm_ctx *cx, const alm_expr *const *args, uint32_t n, series *s)
{
    s->step = 1;
    ALM_TRY(time_arg(cx, args[0], s->type, &s->first));
    ALM_TRY(time_arg(cx, args[1], s->type, &s->last));
    if (n == 3)
        ALM_TRY(time_step(cx, args[2], s));
    if (s->first == ALM_TS_NULL || s->last == ALM_TS_NULL || s->step == ALM_LONG_NULL)
        return ALM_OK;
    if (s->step == 0)
        return alm_fail(cx, ALM_E_ARG, args[n - 1]->pos, "step cannot be zero");
    s->rows = s->unit == 0 ? count_rows(s->first, s->last, s->step) : count_calendar(s);
    return ALM_OK;
}

static alm_status bind_doubles(alm_ctx *cx, const alm_expr *const *args, uint32_t n, series *s)
{
    double *const to[] = {&s->first_f, &s->last_f, &s->step_f};
    s->step_f = 1;
    for (uint32_t i = 0; i < n; i++) {
        const alm_arg arg = arg_of(args[i]);
        ALM_TRY(alm_arg_double(cx, &arg, to[i]));
    }
    if (s->step_f == 0)
        return alm_fail(cx, ALM_E_ARG, args[n - 1]->pos, "step cannot be zero");
    const double steps = (s->last_f - s->first_f) / s->step_f;
    if (!(steps >= 0) || steps > 9e15) { /* null, away from the end, or endless */
        if (steps > 9e15)
            return alm_fail(cx, ALM_E_RANGE, args[0]->pos, "generate_series: too many rows");
        return ALM_OK;
    }
    s->rows = (int64_t)(steps + 1e-9) + 1; /* 0.1 + 0.1 + 0.1 reaches 0.3 */
    return ALM_OK;
}

static alm_status bind_longs(alm_ctx *cx, const alm_expr *const *args, uint32_t n, series *s)
{
    int64_t *const to[] = {&s->first, &s->last, &s->step};
    s->step = 1;
    for (uint32_t i = 0; i < n; i++) {
        const alm_arg arg = arg_of(args[i]);
        ALM_TRY(alm_arg_long(cx, &arg, to[i]));
        if (*to[i] == ALM_LONG_NULL)
            return ALM_OK;
    }
    if (s->step == 0)
        return alm_fail(cx, ALM_E_ARG, args[n - 1]->pos, "step cannot be zero");
    s->rows = count_rows(s->first, s->last, s->step);
    return ALM_OK;
}

static alm_status bind(alm_ctx *cx, const alm_source_call *call, alm_source_bound *out)
{
    const alm_expr *const *args = call->args;
    const uint32_t n_args = call->n_args;
    series *s = NULL;
    bool times = false, ns = false, floating = false;
    if (n_args < 2 || n_args > 3)
        return mismatch(cx, call->pos, args, n_args);
    for (uint32_t i = 0; i < n_args; i++) {
        const alm_type_class cls = alm_type_info_of(args[i]->type)->cls;
        if (args[i]->kind != ALM_X_CONST)
            return alm_fail(cx, ALM_E_ARG, args[i]->pos, "generate_series: constant expected");
        if (cls == ALM_TC_BOOL || cls == ALM_TC_OTHER)
            return mismatch(cx, call->pos, args, n_args);
        floating |= cls == ALM_TC_FLOATING;
        times |= i < 2 && (is_text(args[i]) || alm_type_is_timestamp(args[i]->type));
        ns |= i < 2 && args[i]->type.id == ALM_T_TIMESTAMP_NS;
    }
    ALM_TRY(ALM_NEW(cx, cx->arena, &s));
    s->type = times      ? (ns ? ALM_TY(TIMESTAMP_NS) : ALM_TY(TIMESTAMP))
              : floating ? ALM_TY(DOUBLE)
                         : ALM_TY(LONG);
    ALM_TRY(times      ? bind_times(cx, args, n_args, s)
            : floating ? bind_doubles(cx, args, n_args, s)
                       : bind_longs(cx, args, n_args, s));
    ALM_TRY(ALM_NEWN(cx, cx->arena, 1, &out->cols));
    out->cols[0] = (alm_plan_col){"generate_series", s->type};
    out->n_cols = 1;
    out->ts_col = times && s->step > 0 ? 0 : -1; /* a designated timestamp rises */
    out->est_rows = (double)s->rows;
    out->data = s;
    return ALM_OK;
}

/* ----------------------------------------------------------------------------------- reading */

static alm_status open_series(alm_ctx *cx, alm_run *run, const alm_plan *plan, void **state)
{
    (void)run;
    series_state *r = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &r));
    r->s = plan->source.data;
    ALM_TRY(alm_arena_bytes(cx, cx->arena, ALM_BATCH_ROWS * sizeof(int64_t), &r->data));
    *state = r;
    return ALM_OK;
}

static alm_status next(alm_ctx *cx, void *state, alm_arena *arena, alm_batch *out)
{
    (void)cx;
    (void)arena;
    series_state *r = state;
    const series *s = r->s;
    const uint32_t n = (uint32_t)ALM_MIN((int64_t)ALM_BATCH_ROWS, s->rows - r->at);
    if (s->type.id == ALM_T_DOUBLE) {
        double *to = r->data;
        for (uint32_t i = 0; i < n; i++)
            to[i] = s->first_f + (double)(r->at + i) * s->step_f;
    } else if (s->unit != 0) {
        int64_t *to = r->data;
        for (uint32_t i = 0; i < n; i++)
            to[i] = time_at(s, r->at + i);
    } else { /* in range by the count of rows; unsigned, because half of the way may not be */
        uint64_t *to = r->data;
        for (uint32_t i = 0; i < n; i++)
            to[i] = (uint64_t)s->first + ((uint64_t)r->at + i) * (uint64_t)s->step;
    }
    r->at += n;
    out->rows = n;
    out->cols[0] =
        (alm_vec){.type = s->type, .width = sizeof(int64_t), .no_nulls = true, .data = r->data};
    return ALM_OK;
}

static int64_t count(const void *state)
{
    const series_state *r = state;
    return r->s->rows - r->at;
}

static void skip(void *state, int64_t rows)
{
    series_state *r = state;
    r->at += ALM_MIN(rows, r->s->rows - r->at);
}

const alm_source alm_source_generate_series = {
    .name = "generate_series",
    .signature = "(start ANY, end ANY, step ANY)",
    .doc =
        "Numbers or times from start to end, both included, a step apart. Steps of time are texts "
        "like '30m', '-1d', '1M'.",
    .example = "select * from generate_series('2024-01-01', '2024-02-01', '1d')",
    .bind = bind,
    .open = open_series,
    .next = next,
    .count = count,
    .skip = skip};
