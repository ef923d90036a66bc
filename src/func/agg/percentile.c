/*
 * percentile.c - approx_percentile, approx_median.
 *
 * Null rule   Nulls do not count; nothing but nulls gives null.
 * Method      A histogram with buckets that grow by a constant factor (Masson and others, DDSketch,
 *             2019): a value is off by less than 10^-precision of itself. The buckets are a bag of
 *             bucket numbers, so a state costs what its values need. Results lie between the least
 *             and the greatest value seen.
 */
#include <math.h>
#include <stdlib.h>

#include "func/agg/agg.h"
#include "func/agg/bag.h"
#include "func/value/args.h"
#include "func/value/tables.h"

typedef struct percentile {
    double fraction;
    double log_growth; /* natural logarithm of the factor between buckets */
} percentile;

typedef struct histogram {
    alm_bag buckets;
    double least, greatest;
    int64_t count;
} histogram;

ALM_AGG_INIT(histogram, histogram, {.least = __builtin_inf(), .greatest = -__builtin_inf()})

static alm_status bind_percentile(alm_ctx *cx, const alm_fn *fn, int32_t pos, uint32_t argc,
                                  alm_arg *args, ALM_UNUSED alm_type *result, void **data)
{
    const bool median = strcmp(fn->name, "approx_median") == 0;
    const uint32_t place = median ? 1 : 2;
    percentile *self = NULL;
    double fraction = 0.5;
    int64_t precision = 1;
    ALM_TRY(ALM_NEW(cx, cx->arena, &self));
    if (!median && args[1].value == NULL && !args[1].is_param)
        return alm_fail(cx, ALM_E_ARG, args[1].pos,
                        "percentile must be a constant or runtime constant");
    if (!median && args[1].value != NULL)
        ALM_TRY(alm_arg_double(cx, &args[1], &fraction));
    if (!(fraction >= 0 && fraction <= 1))
        return alm_fail(cx, ALM_E_ARG, pos, "percentile must be between 0.0 and 1.0");
    if (argc > place && args[place].value != NULL)
        ALM_TRY(alm_arg_long(cx, &args[place], &precision));
    if (precision < 0 || precision > 5)
        return alm_fail(cx, ALM_E_ARG, argc > place ? args[place].pos : pos,
                        "precision must be between 0 and 5");
    /* at least three digits: the cost is in the number of buckets, not in their width */
    const double error = pow(10, -(double)ALM_MAX(precision, 3));
    *self = (percentile){.fraction = fraction, .log_growth = log((1 + error) / (1 - error))};
    *data = self;
    return ALM_OK;
}

/* Bucket of 1.0: far enough from 0 for 1e-300 at the finest growth (3.5e7 buckets below it). */
enum { BUCKET_OF_ONE = 1 << 30 };

/* Bucket numbers rise with the value: negative ones mirrored, zero in the middle. */
static int64_t percentile_bucket_of(const percentile *self, double value)
{
    const double size = __builtin_fabs(value);
    if (size < 1e-300)
        return 0;
    const int64_t k = (int64_t)ceil(log(size) / self->log_growth) + BUCKET_OF_ONE;
    return value > 0 ? k : -k;
}

static double percentile_value_of(const percentile *self, int64_t bucket)
{
    if (bucket == 0)
        return 0;
    const int64_t k = (bucket > 0 ? bucket : -bucket) - BUCKET_OF_ONE;
    const double size = exp(((double)k - 0.5) * self->log_growth);
    return bucket > 0 ? size : -size;
}

static alm_status histogram_add(const alm_call *call, histogram *self, double value)
{
    if (!(value - value == 0))
        return ALM_OK;
    self->least = ALM_MIN(self->least, value);
    self->greatest = ALM_MAX(self->greatest, value);
    self->count++;
    return alm_bag_add(call, &self->buckets,
                       (alm_bag_key){{(uint64_t)percentile_bucket_of(call->data, value), 0}}, 1);
}

static alm_status histogram_update(alm_call *call, void *state, size_t n, const alm_vec *args)
{
    const double *a = args[0].data;
    for (size_t i = 0; i < n; i++)
        ALM_TRY(histogram_add(call, state, a[args[0].is_const ? 0 : i]));
    return ALM_OK;
}

static alm_status histogram_scatter(alm_call *call, void *states, const uint32_t *group, size_t n,
                                    const alm_vec *args)
{
    histogram *all = states;
    const double *a = args[0].data;
    for (size_t i = 0; i < n; i++)
        ALM_TRY(histogram_add(call, &all[group[i]], a[args[0].is_const ? 0 : i]));
    return ALM_OK;
}

static alm_status histogram_merge(alm_call *call, void *dst, const uint32_t *index, const void *src,
                                  size_t n)
{
    histogram *to = dst;
    const histogram *from = src;
    for (size_t i = 0; i < n; i++) {
        histogram *d = &to[index != NULL ? index[i] : i];
        ALM_TRY(alm_bag_join(call, &d->buckets, &from[i].buckets, false));
        d->least = ALM_MIN(d->least, from[i].least);
        d->greatest = ALM_MAX(d->greatest, from[i].greatest);
        d->count += from[i].count;
    }
    return ALM_OK;
}

static int by_bucket(const void *a, const void *b)
{
    const int64_t x = (int64_t)((const alm_bag_entry *)a)->key.half[0],
                  y = (int64_t)((const alm_bag_entry *)b)->key.half[0];
    return x < y ? -1 : x > y;
}

static alm_status histogram_finish(alm_call *call, const void *states, size_t n_rows, alm_vec *out)
{
    const histogram *all = states;
    const percentile *p = call->data;
    double *results = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const histogram *s = &all[i];
        results[i] = __builtin_nan("");
        if (s->count == 0)
            continue;
        alm_bag_entry *sorted = NULL;
        const size_t bytes = s->buckets.count * sizeof *sorted;
        ALM_TRY(alm_arena_bytes(call->cx, call->arena, bytes, &sorted));
        memcpy(sorted, s->buckets.entries, bytes);
        qsort(sorted, s->buckets.count, sizeof *sorted, by_bucket);
        const int64_t rank = (int64_t)ceil(p->fraction * (double)s->count);
        int64_t seen = 0;
        uint32_t k = 0;
        while (k + 1 < s->buckets.count && seen + sorted[k].count < rank)
            seen += sorted[k++].count;
        const double value = percentile_value_of(p, (int64_t)sorted[k].key.half[0]);
        results[i] = ALM_MIN(ALM_MAX(value, s->least), s->greatest);
    }
    return ALM_OK;
}

ALM_AGG_OWNING_OPS(histogram, histogram, histogram, histogram)

#define ROW(f, sig, doc_, example_)                                                                \
    {.name = f,                                                                                    \
     .signature = sig " DOUBLE",                                                                   \
     .kind = ALM_FN_AGGREGATE,                                                                     \
     .agg = &histogram_ops,                                                                        \
     .bind = bind_percentile,                                                                      \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}

static const alm_fn ROWS[] = {
    ROW("approx_percentile", "(DOUBLE, DOUBLE)", "Value below which that share of values is.",
        "approx_percentile(price, 0.9)"),
    ROW("approx_percentile", "(DOUBLE, DOUBLE, INT const)",
        "The same with a number of significant digits.", "approx_percentile(price, 0.9, 3)"),
    ROW("approx_median", "(DOUBLE)", "Value in the middle.", "approx_median(price)"),
    ROW("approx_median", "(DOUBLE, INT const)", "The same with a number of significant digits.",
        "approx_median(price, 3)"),
};
ALM_FN_TABLE(percentile, ROWS);
