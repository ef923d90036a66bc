/*
 * chart.c - bar and sparkline: numbers as a row of block characters.
 *
 * Null rule   bar: null where an argument is, or where min is not below max. sparkline leaves null values out;
 *             none at all: null.
 * Limits      349,525 characters (1 MB).
 */
#include <math.h>

#include "func/agg/agg.h"
#include "func/value/args.h"
#include "func/value/joined.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"
#include "func/value/text_out.h"

enum { WIDTH_MAX = (1 << 20) / 3, BLOCK_BYTES = 3, LEVELS = 8 };

/* U+2580 .. U+259F: e2 96 80 .. e2 96 9f */
static void chart_put_block(char *dest, unsigned low)
{
    dest[0] = (char)0xe2;
    dest[1] = (char)0x96;
    dest[2] = (char)(0x80 + low);
}

enum { FULL = 0x08, LEFT_EIGHTH = 0x0f, LOWER_EIGHTH = 0x01 };

/* -------------------------------------------------------------------------------------- bar */

static alm_status bar(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    alm_view *views = out->data;
    alm_text_out writer = alm_text_out_of(call);
    for (size_t i = 0; i < n_rows; i++) {
        const double value = ALM_AT(double, args[0], i), lo = ALM_AT(double, args[1], i),
                     hi = ALM_AT(double, args[2], i);
        const int32_t width = ALM_AT(int32_t, args[3], i);
        char *dest = NULL;
        views[i] = alm_view_null();
        if (value != value || !(lo < hi) || width == ALM_INT_NULL)
            continue;
        const bool bad = width < 1 || width > WIDTH_MAX;
        if (bad && !args[3].is_const)
            continue;
        if (bad)
            return alm_fail(call->cx, ALM_E_VALUE, call->pos, "width of a bar: 1 to %d, not %d",
                            WIDTH_MAX, (int)width);
        const double share = fmin(fmax((value - lo) / (hi - lo), 0), 1);
        const unsigned eighths = (unsigned)lround(share * width * (double)LEVELS);
        const unsigned whole = eighths / LEVELS, rest = eighths % LEVELS;
        ALM_TRY(alm_text_room(&writer, (size_t)BLOCK_BYTES * (whole + 1), &dest));
        for (unsigned k = 0; k < whole; k++)
            chart_put_block(dest + (size_t)BLOCK_BYTES * k, FULL);
        if (rest > 0)
            chart_put_block(dest + (size_t)BLOCK_BYTES * whole, LEFT_EIGHTH + 1 - rest);
        views[i] = alm_text_take(&writer, (size_t)BLOCK_BYTES * (whole + (rest > 0)));
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------------------- sparkline */

typedef struct scale {
    double lo, hi; /* NaN: of the values */
    int64_t width; /* 0: a character for each value */
} scale;

static alm_status line_bind(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                            uint32_t argc, alm_arg *args, ALM_UNUSED alm_type *result, void **data)
{
    scale *self = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &self));
    *self = (scale){.lo = __builtin_nan(""), .hi = __builtin_nan("")};
    *data = self;
    if (argc < 4 || args[1].value == NULL || args[2].value == NULL || args[3].value == NULL)
        return ALM_OK; /* or only described */
    ALM_TRY(alm_arg_double(cx, &args[1], &self->lo));
    ALM_TRY(alm_arg_double(cx, &args[2], &self->hi));
    ALM_TRY(alm_arg_long(cx, &args[3], &self->width));
    if (self->width == ALM_LONG_NULL)
        self->width = 0;
    else if (self->width < 1 || self->width > WIDTH_MAX)
        return alm_fail(cx, ALM_E_ARG, args[3].pos, "width of a sparkline: 1 to %d, not %lld",
                        WIDTH_MAX, (long long)self->width);
    return ALM_OK;
}

ALM_AGG_INIT(line, alm_joined, {0})

static alm_status chart_add_bytes(const alm_call *call, alm_joined *joined, const void *bytes,
                                  size_t n)
{
    char *dest = NULL;
    ALM_TRY(alm_joined_room(call, joined, n, &dest));
    if (dest != NULL)
        memcpy(dest, bytes, n);
    joined->len += n;
    return ALM_OK;
}

static alm_status line_scatter(alm_call *call, void *states, const uint32_t *group, size_t n,
                               const alm_vec *args)
{
    alm_joined *all = states;
    for (size_t i = 0; i < n; i++) {
        const double value = ALM_AT(double, args[0], i);
        if (value == value)
            ALM_TRY(
                chart_add_bytes(call, &all[group != NULL ? group[i] : 0], &value, sizeof value));
    }
    return ALM_OK;
}

static alm_status line_update(alm_call *call, void *state, size_t n_rows, const alm_vec *args)
{
    return line_scatter(call, state, NULL, n_rows, args);
}

static alm_status line_merge(alm_call *call, void *dst, const uint32_t *index, const void *src,
                             size_t n)
{
    alm_joined *to = dst;
    const alm_joined *from = src;
    for (size_t i = 0; i < n; i++)
        if (from[i].len > 0)
            ALM_TRY(
                chart_add_bytes(call, &to[index != NULL ? index[i] : i], from[i].ptr, from[i].len));
    return ALM_OK;
}

static double chart_value_at(const alm_joined *joined, size_t i)
{
    double value;
    memcpy(&value, joined->ptr + i * sizeof value, sizeof value);
    return value;
}

/* Mean of the values of character k. */
static double chart_value_of(const alm_joined *joined, size_t n, size_t chars, size_t k)
{
    const size_t from = k * n / chars, to = (k + 1) * n / chars;
    double sum = 0;
    for (size_t i = from; i < to; i++)
        sum += chart_value_at(joined, i);
    return sum / (double)(to - from);
}

static alm_status chart_draw(alm_call *call, alm_text_out *writer, const alm_joined *joined,
                             alm_view *out)
{
    const scale *given = call->data;
    const size_t n = joined->len / sizeof(double);
    const size_t chars = given->width == 0 ? n : ALM_MIN(n, (size_t)given->width);
    double lo = INFINITY, hi = -INFINITY;
    char *dest = NULL;
    for (size_t i = 0; i < n; i++) {
        lo = fmin(lo, chart_value_at(joined, i));
        hi = fmax(hi, chart_value_at(joined, i));
    }
    lo = given->lo == given->lo ? given->lo : lo;
    hi = given->hi == given->hi ? given->hi : hi;
    *out = alm_view_null();
    if (n == 0 || lo > hi)
        return ALM_OK;
    if (chars > WIDTH_MAX)
        return alm_fail(call->cx, ALM_E_LIMIT, call->pos,
                        "sparkline of more than %d characters; give it a width", WIDTH_MAX);
    ALM_TRY(alm_text_room(writer, chars * BLOCK_BYTES, &dest));
    for (size_t k = 0; k < chars; k++) {
        const double share = lo < hi ? (chart_value_of(joined, n, chars, k) - lo) / (hi - lo) : 1;
        const unsigned level = (unsigned)fmin(fmax(share * (double)LEVELS, 0), (double)LEVELS - 1);
        chart_put_block(dest + k * BLOCK_BYTES, LOWER_EIGHTH + level);
    }
    *out = alm_text_take(writer, chars * BLOCK_BYTES);
    return ALM_OK;
}

static alm_status line_finish(alm_call *call, const void *states, size_t n_rows, alm_vec *out)
{
    const alm_joined *all = states;
    alm_text_out writer = alm_text_out_of(call);
    for (size_t i = 0; i < n_rows; i++)
        ALM_TRY(chart_draw(call, &writer, &all[i], (alm_view *)out->data + i));
    return ALM_OK;
}

ALM_AGG_OWNING_OPS(line, alm_joined, line, line)

/* ------------------------------------------------------------------------------------- rows */

#define LINE(sig, doc_, example_)                                                                  \
    {.name = "sparkline",                                                                          \
     .signature = sig,                                                                             \
     .kind = ALM_FN_AGGREGATE,                                                                     \
     .flags = ALM_FN_ROW_ORDER,                                                                    \
     .bind = line_bind,                                                                            \
     .agg = &line_ops,                                                                             \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}

static const alm_fn ROWS[] = {
    {.name = "bar",
     .signature = "(value DOUBLE, min DOUBLE, max DOUBLE, width INT) VARCHAR",
     .flags = ALM_FN_NULL_OUT,
     .kernel = bar,
     .doc =
         "A bar of block characters, `width` of them where the value is max, none where it is min.",
     .example = "bar(7.3, 0, 10, 20)",
     .since = "0.1"},
    LINE("(DOUBLE) VARCHAR", "The values in their order, each as a block of one of eight heights.",
         "sparkline(price, null, null, 20)"),
    LINE("(value DOUBLE, min DOUBLE const, max DOUBLE const, width INT const) VARCHAR",
         "At most `width` characters, each the mean of as many values; min and max are the lowest "
         "and "
         "the highest block, null: those of the values.",
         "sparkline(price, null, null, 20)"),
};
ALM_FN_TABLE(chart, ROWS);
