/*
 * smooth.c - avg(value, kind, n [, volume] [, time]): exponential moving averages.
 *
 * Ways        'alpha': n is the weight of a new value. 'period': the weight is 2 / (n + 1). A unit of time:
 *             the weight is 1 - exp(-t / n), t being the time since the last value in that unit.
 * Volume      Average of price * volume over average of volume, both smoothed.
 * Null rule   A row with a null value, volume or time is left out, and so is a volume of 0; the average stays
 *             what it was. Nothing but such rows: null.
 * Merging     An average is linear in what it began with: a part keeps its first value and how much of it is
 *             left, so that the average of the rows before can be put in its place.
 */
#include <math.h>

#include "func/agg/agg.h"
#include "func/value/args.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"

typedef struct smoothing {
    double alpha;        /* 0: by time */
    double length;       /* by time: n units, in ticks */
    int8_t volume, time; /* the argument, 0: none */
} smoothing;

typedef struct smooth {
    double value, weight;             /* smoothed: value * volume, volume */
    double first_value, first_weight; /* of the first row */
    double left;                      /* share of the first row in both */
    int64_t first_ts, last_ts, rows;
} smooth;

/* ------------------------------------------------------------------------------------- bind */

static const struct {
    const char *name;
    double seconds; /* 0: no unit of time */
} ways[] = {{"alpha", 0},          {"period", 0},  {"microsecond", 1e-6},
            {"millisecond", 1e-3}, {"second", 1},  {"minute", 60},
            {"hour", 3600},        {"day", 86400}, {"week", 604800}};

static alm_status find_way(alm_ctx *cx, const alm_arg *arg, size_t *out)
{
    alm_str given = {0};
    ALM_TRY(alm_arg_text(cx, arg, &given));
    alm_str name = given;
    if (name.len > 0 && (name.ptr[name.len - 1] | 0x20) == 's') /* plural */
        name.len--;
    for (*out = 0; *out < ALM_COUNT(ways); ++*out)
        if (alm_str_ieq(name, alm_str_of(ways[*out].name)))
            return ALM_OK;
    return alm_fail(
        cx, ALM_E_ARG, arg->pos,
        "kind of average expected: alpha, period, second, minute, hour, day or week, not "
        "'%.*s'",
        (int)ALM_MIN(given.len, (size_t)100), given.ptr == NULL ? "" : given.ptr);
}

static alm_status set_weight(alm_ctx *cx, alm_arg *args, smoothing *self)
{
    size_t way = 0;
    double n = 0;
    ALM_TRY(find_way(cx, &args[1], &way));
    ALM_TRY(alm_arg_double(cx, &args[2], &n));
    if (!(n > 0) || !isfinite(n))
        return alm_fail(cx, ALM_E_ARG, args[2].pos, "%s must be a positive number",
                        ways[way].seconds > 0 ? "length of time" : ways[way].name);
    if (way == 0 && n > 1)
        return alm_fail(cx, ALM_E_ARG, args[2].pos, "alpha must not be above 1");
    self->alpha = way == 0 ? n : fmin(2 / (n + 1), 1);
    if (ways[way].seconds == 0)
        return ALM_OK;
    self->alpha = 0;
    if (self->time == 0)
        return alm_fail(
            cx, ALM_E_ARG, args[1].pos,
            "an average by time needs OVER (ORDER BY timestamp), or the time as its last "
            "argument");
    const double ticks = args[self->time].type.id == ALM_T_TIMESTAMP_NS ? 1e9 : 1e6;
    self->length = n * ways[way].seconds * ticks;
    return ALM_OK;
}

static alm_status smooth_bind(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                              uint32_t argc, alm_arg *args, ALM_UNUSED alm_type *result,
                              void **data)
{
    smoothing *self = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &self));
    for (uint32_t i = 3; i < argc; i++)
        if (args[i].type.id == ALM_T_DOUBLE)
            self->volume = (int8_t)i;
        else
            self->time = (int8_t)i;
    *data = self;
    if (args[1].value != NULL && args[2].value != NULL)
        return set_weight(cx, args, self);
    for (uint32_t i = 1; i < 3; i++)
        if (args[i].value == NULL && !args[i].is_param)
            return alm_fail(cx, ALM_E_ARG, args[i].pos, "constant expected");
    self->alpha = 1; /* only described */
    return ALM_OK;
}

/* ------------------------------------------------------------------------------------- rows */

/* Weight of a value that comes `ts` after the one before it. */
static double weight_of(const smoothing *way, int64_t last_ts, int64_t ts)
{
    return way->alpha > 0 ? way->alpha : -expm1(-fabs((double)ts - (double)last_ts) / way->length);
}

static void smooth_add_row(const smoothing *way, smooth *self, double value, double volume,
                           int64_t ts)
{
    if (value != value || volume != volume || volume == 0 || (way->time != 0 && ts == ALM_TS_NULL))
        return;
    if (self->rows++ == 0) {
        *self = (smooth){value * volume, volume, value * volume, volume, 1, ts, ts, 1};
        return;
    }
    const double a = weight_of(way, self->last_ts, ts);
    self->value = a * value * volume + (1 - a) * self->value;
    self->weight = a * volume + (1 - a) * self->weight;
    self->left *= 1 - a;
    self->last_ts = ts;
}

static void smooth_append(const smoothing *way, smooth *self, const smooth *p)
{
    if (p->rows == 0)
        return;
    if (self->rows == 0) {
        *self = *p;
        return;
    }
    const double kept = p->left * (1 - weight_of(way, self->last_ts, p->first_ts));
    self->value = p->value + kept * (self->value - p->first_value);
    self->weight = p->weight + kept * (self->weight - p->first_weight);
    self->left *= kept;
    self->last_ts = p->last_ts;
    self->rows += p->rows;
}

static inline void add_at(const alm_call *call, smooth *self, const alm_vec *args, size_t i)
{
    const smoothing *way = call->data;
    const double volume = way->volume != 0 ? ALM_AT(double, args[way->volume], i) : 1;
    const int64_t ts = way->time != 0 ? ALM_AT(int64_t, args[way->time], i) : 0;
    smooth_add_row(way, self, ALM_AT(double, args[0], i), volume, ts);
}

static alm_status smooth_update(alm_call *call, void *state, size_t n_rows, const alm_vec *args)
{
    for (size_t i = 0; i < n_rows; i++)
        add_at(call, state, args, i);
    return ALM_OK;
}

static alm_status smooth_scatter(alm_call *call, void *states, const uint32_t *group, size_t n_rows,
                                 const alm_vec *args)
{
    smooth *all = states;
    for (size_t i = 0; i < n_rows; i++)
        add_at(call, &all[group[i]], args, i);
    return ALM_OK;
}

static double smooth_average_of(const smoothing *way, const smooth *self)
{
    if (self->rows == 0)
        return __builtin_nan("");
    const double average = way->volume != 0 ? self->value / self->weight : self->value;
    return isfinite(average) ? average : __builtin_nan("");
}

ALM_AGG_INIT(smooth, smooth, {0})
ALM_AGG_MERGE(smooth, smooth, { smooth_append(call->data, d, p); })
ALM_AGG_FINISH(smooth, smooth, double, smooth_average_of(call->data, s))
ALM_AGG_OPS(smooth, smooth, smooth, smooth)

/* ------------------------------------------------------------------------------------- rows */

#define ROW(sig, doc_, example_)                                                                   \
    {.name = "avg",                                                                                \
     .signature = sig,                                                                             \
     .kind = ALM_FN_AGGREGATE,                                                                     \
     .flags = ALM_FN_ROW_ORDER | ALM_FN_RUNNING,                                                   \
     .bind = smooth_bind,                                                                          \
     .agg = &smooth_ops,                                                                           \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}

static const alm_fn ROWS[] = {
    ROW("(value DOUBLE, kind STRING const, n DOUBLE const) DOUBLE",
        "Exponential moving average. kind 'alpha': n is the weight of a new value; 'period': the "
        "weight is 2 / (n + 1); 'second' ... 'week': 1 - exp(-t / n), t being the time since the "
        "value before. OVER has no frame then: from the first row to the current one.",
        "avg(price, 'period', 10)"),
    ROW("(value DOUBLE, kind STRING const, n DOUBLE const, volume DOUBLE) DOUBLE",
        "With a volume each value counts as much as it says.", "avg(price, 'alpha', 0.1, amount)"),
    ROW("(value DOUBLE, kind STRING const, n DOUBLE const, time TIME) DOUBLE",
        "Outside OVER (ORDER BY time) an average by time takes the time as its last argument.",
        "avg(price, 'hour', 1, timestamp)"),
    ROW("(value DOUBLE, kind STRING const, n DOUBLE const, volume DOUBLE, time TIME) DOUBLE",
        "A volume stands before the time.", "avg(price, 'hour', 1, amount, timestamp)"),
};
ALM_FN_TABLE(smooth, ROWS);
