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
    alm_buf buf;
    alm_buf_init(&buf, cx->mem);
    alm_status status = ALM_OK;
    for (uint32_t i = 0; i < n && status == ALM_OK; i++)
        status = alm_buf_printf(cx, &buf, "%s%s", i > 0 ? ", " : "", alm_type_name(args[i]->type));
    if (status == ALM_OK)
        status =
            alm_fail(cx, ALM_E_FUNCTION, pos,
                     "there is no matching function `generate_series` with the argument types: "
                     "(%.*s)",
                     (int)buf.len, buf.len > 0 ? buf.ptr : "");
    alm_buf_deinit(&buf);
    return status;
}

static alm_arg arg_of(const alm_expr *expr)
{
    return (alm_arg){.type = expr->type, .value = &expr->value, .pos = expr->pos};
}

static bool generate_series_is_text(const alm_expr *expr)
{
    return alm_type_is_text(expr->type);
}

static alm_status time_arg(alm_ctx *cx, const alm_expr *expr, alm_type type, int64_t *out)
{
    const bool nanos = type.id == ALM_T_TIMESTAMP_NS;
    const alm_time_unit unit = nanos ? ALM_TIME_NS : ALM_TIME_US;
    if (generate_series_is_text(expr)) {
        const alm_str text = alm_vec_text(&expr->value, 0);
        *out = ALM_TS_NULL;
        if (text.ptr != NULL && !alm_time_read(text, unit, out))
            return alm_fail(cx, ALM_E_VALUE, expr->pos, "Invalid date [str=%.*s]", (int)text.len,
                            text.ptr);
        return ALM_OK;
    }
    if (alm_type_is_timestamp(expr->type)) {
        int64_t given = 0;
        memcpy(&given, expr->value.data, sizeof given);
        *out = given;
        if (nanos && expr->type.id == ALM_T_TIMESTAMP)
            *out = alm_time_rescale(given, ALM_TIME_US, ALM_TIME_NS);
        if (*out == ALM_TS_NULL && given != ALM_TS_NULL)
            return alm_fail(cx, ALM_E_TIME_RANGE, expr->pos,
                            "a time that TIMESTAMP_NS does not hold");
        return ALM_OK;
    }
    const alm_arg arg = arg_of(expr);
    return alm_arg_long(cx, &arg, out);
}

static alm_status time_step(alm_ctx *cx, const alm_expr *expr, series *self)
{
    if (!generate_series_is_text(expr) && expr->type.id != ALM_T_CHAR) {
        const alm_arg arg = arg_of(expr);
        return alm_arg_long(cx, &arg, &self->step);
    }
    alm_str text = {0};
    alm_unit_span span;
    const alm_arg arg = arg_of(expr);
    ALM_TRY(alm_arg_text(cx, &arg, &text));
    self->step = ALM_LONG_NULL;
    if (text.ptr == NULL)
        return ALM_OK;
    if (!alm_span_parse(text, true, &span))
        return alm_fail(cx, ALM_E_ARG, expr->pos, "invalid period [period=%.*s]", (int)text.len,
                        text.ptr == NULL ? "" : text.ptr);
    self->step = span.count;
    self->unit = span.unit;
    return ALM_OK;
}

static int64_t generate_series_time_at(const series *self, int64_t i)
{
    const alm_time_unit unit = self->type.id == ALM_T_TIMESTAMP_NS ? ALM_TIME_NS : ALM_TIME_US;
    int64_t count;
    if (__builtin_mul_overflow(self->step, i, &count))
        return ALM_TS_NULL;
    if (self->unit != 0)
        return alm_time_add(self->first, unit, self->unit, count);
    int64_t out;
    return __builtin_add_overflow(self->first, count, &out) ? ALM_TS_NULL : out;
}

/* Rows of integers and of times with a step of ticks. */
static int64_t generate_series_count_rows(int64_t first, int64_t last, int64_t step)
{
    if (step > 0 ? first > last : first < last)
        return 0;
    const uint64_t span =
        step > 0 ? (uint64_t)last - (uint64_t)first : (uint64_t)first - (uint64_t)last;
    const uint64_t by = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    return (int64_t)ALM_MIN(span / by, (uint64_t)INT64_MAX - 1) + 1;
}

/* Rows of a calendar step: the last i whose time is not past the end, by bisection. */
static int64_t count_calendar(const series *self)
{
    int64_t lo = 0, hi = INT64_C(1) << 62; /* row lo is in, hi is not */
    if (self->step > 0 ? self->first > self->last : self->first < self->last)
        return 0;
    while (hi - lo > 1) {
        const int64_t mid = lo + (hi - lo) / 2;
        const int64_t time = generate_series_time_at(self, mid);
        if (time != ALM_TS_NULL && (self->step > 0 ? time <= self->last : time >= self->last))
            lo = mid;
        else
            hi = mid;
    }
    return lo + 1;
}

static alm_status bind_times(alm_ctx *cx, const alm_expr *const *args, uint32_t n, series *self)
{
    self->step = 1;
    ALM_TRY(time_arg(cx, args[0], self->type, &self->first));
    ALM_TRY(time_arg(cx, args[1], self->type, &self->last));
    if (n == 3)
        ALM_TRY(time_step(cx, args[2], self));
    if (self->first == ALM_TS_NULL || self->last == ALM_TS_NULL || self->step == ALM_LONG_NULL)
        return ALM_OK;
    if (self->step == 0)
        return alm_fail(cx, ALM_E_ARG, args[n - 1]->pos, "step cannot be zero");
    self->rows = self->unit == 0 ? generate_series_count_rows(self->first, self->last, self->step)
                                 : count_calendar(self);
    return ALM_OK;
}

static alm_status bind_doubles(alm_ctx *cx, const alm_expr *const *args, uint32_t n_args,
                               series *self)
{
    double *const dest[] = {&self->first_f, &self->last_f, &self->step_f};
    self->step_f = 1;
    for (uint32_t i = 0; i < n_args; i++) {
        const alm_arg arg = arg_of(args[i]);
        ALM_TRY(alm_arg_double(cx, &arg, dest[i]));
    }
    if (self->step_f == 0)
        return alm_fail(cx, ALM_E_ARG, args[n_args - 1]->pos, "step cannot be zero");
    const double steps = (self->last_f - self->first_f) / self->step_f;
    if (!(steps >= 0) || steps > 9e15) { /* null, away from the end, or endless */
        if (steps > 9e15)
            return alm_fail(cx, ALM_E_RANGE, args[0]->pos, "generate_series: too many rows");
        return ALM_OK;
    }
    self->rows = (int64_t)(steps + 1e-9) + 1; /* 0.1 + 0.1 + 0.1 reaches 0.3 */
    return ALM_OK;
}

static alm_status bind_longs(alm_ctx *cx, const alm_expr *const *args, uint32_t n_args,
                             series *self)
{
    int64_t *const dest[] = {&self->first, &self->last, &self->step};
    self->step = 1;
    for (uint32_t i = 0; i < n_args; i++) {
        const alm_arg arg = arg_of(args[i]);
        ALM_TRY(alm_arg_long(cx, &arg, dest[i]));
        if (*dest[i] == ALM_LONG_NULL)
            return ALM_OK;
    }
    if (self->step == 0)
        return alm_fail(cx, ALM_E_ARG, args[n_args - 1]->pos, "step cannot be zero");
    self->rows = generate_series_count_rows(self->first, self->last, self->step);
    return ALM_OK;
}

static alm_status generate_series_bind(alm_ctx *cx, const alm_source_call *call,
                                       alm_source_bound *out)
{
    const alm_expr *const *args = call->args;
    const uint32_t n_args = call->n_args;
    series *self = NULL;
    bool times = false, nanos = false, floating = false;
    if (n_args < 2 || n_args > 3)
        return mismatch(cx, call->pos, args, n_args);
    for (uint32_t i = 0; i < n_args; i++) {
        const alm_type_class cls = alm_type_info_of(args[i]->type)->cls;
        if (args[i]->kind != ALM_X_CONST)
            return alm_fail(cx, ALM_E_ARG, args[i]->pos, "generate_series: constant expected");
        if (cls == ALM_TC_BOOL || cls == ALM_TC_OTHER)
            return mismatch(cx, call->pos, args, n_args);
        floating |= cls == ALM_TC_FLOATING;
        times |=
            i < 2 && (generate_series_is_text(args[i]) || alm_type_is_timestamp(args[i]->type));
        nanos |= i < 2 && args[i]->type.id == ALM_T_TIMESTAMP_NS;
    }
    ALM_TRY(ALM_NEW(cx, cx->arena, &self));
    self->type = times      ? (nanos ? ALM_TY(TIMESTAMP_NS) : ALM_TY(TIMESTAMP))
                 : floating ? ALM_TY(DOUBLE)
                            : ALM_TY(LONG);
    ALM_TRY(times      ? bind_times(cx, args, n_args, self)
            : floating ? bind_doubles(cx, args, n_args, self)
                       : bind_longs(cx, args, n_args, self));
    ALM_TRY(ALM_NEWN(cx, cx->arena, 1, &out->cols));
    out->cols[0] = (alm_plan_col){"generate_series", self->type};
    out->n_cols = 1;
    out->ts_col = times && self->step > 0 ? 0 : -1; /* a designated timestamp rises */
    out->est_rows = (double)self->rows;
    out->data = self;
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

static alm_status generate_series_next(alm_ctx *cx, void *state, alm_arena *arena, alm_batch *out)
{
    (void)cx;
    (void)arena;
    series_state *r = state;
    const series *s = r->s;
    const uint32_t n_rows = (uint32_t)ALM_MIN((int64_t)ALM_BATCH_ROWS, s->rows - r->at);
    if (s->type.id == ALM_T_DOUBLE) {
        double *dest = r->data;
        for (uint32_t i = 0; i < n_rows; i++)
            dest[i] = s->first_f + (double)(r->at + i) * s->step_f;
    } else if (s->unit != 0) {
        int64_t *dest = r->data;
        for (uint32_t i = 0; i < n_rows; i++)
            dest[i] = generate_series_time_at(s, r->at + i);
    } else { /* in range by the count of rows; unsigned, because half of the way may not be */
        uint64_t *to = r->data;
        for (uint32_t i = 0; i < n_rows; i++)
            to[i] = (uint64_t)s->first + ((uint64_t)r->at + i) * (uint64_t)s->step;
    }
    r->at += n_rows;
    out->rows = n_rows;
    out->cols[0] =
        (alm_vec){.type = s->type, .width = sizeof(int64_t), .no_nulls = true, .data = r->data};
    return ALM_OK;
}

static int64_t generate_series_count(const void *state)
{
    const series_state *r = state;
    return r->s->rows - r->at;
}

static void generate_series_skip(void *state, int64_t rows)
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
    .bind = generate_series_bind,
    .open = open_series,
    .next = generate_series_next,
    .count = generate_series_count,
    .skip = generate_series_skip};
