/*
 * list.c - aggregates that keep all their numbers: array_agg, median, percentile_cont, percentile_disc.
 *
 * Null rule   array_agg keeps nulls as elements; the others leave them out. No row, or no value: null.
 * Memory      8 bytes a value, twice that while a list grows; counted against the query.
 * Cost        percentiles select in linear time (Hoare 1961), in place.
 */
#include <math.h>

#include "func/agg/agg.h"
#include "func/value/args.h"
#include "func/value/tables.h"
#include "type/array.h"

typedef struct list {
    double *at;
    size_t n, cap;
} list;

ALM_AGG_INIT(list, list, {0})

static alm_status agg_list_reserve(const alm_call *call, list *self, size_t more)
{
    enum { LEAST = 8 };
    if (self->n + more <= self->cap)
        return ALM_OK;
    const size_t cap = ALM_MAX(self->n + more, ALM_MAX(2 * self->cap, (size_t)LEAST));
    double *fresh = NULL;
    ALM_TRY(ALM_NEWN(call->cx, call->arena, cap, &fresh));
    if (self->n > 0)
        memcpy(fresh, self->at, self->n * sizeof *fresh);
    self->at = fresh;
    self->cap = cap;
    return ALM_OK;
}

/* skip: nulls are left out. */
static alm_status agg_list_take(const alm_call *call, list *self, size_t n_rows, const alm_vec *vec,
                                bool skip)
{
    const double *a = vec->data;
    const size_t step = vec->is_const ? 0 : 1;
    ALM_TRY(agg_list_reserve(call, self, n_rows));
    for (size_t i = 0; i < n_rows; i++) {
        const double value = a[i * step];
        self->at[self->n] = value;
        self->n += !skip || value == value;
    }
    return ALM_OK;
}

static alm_status agg_list_take_groups(const alm_call *call, list *all, const uint32_t *group,
                                       size_t n_rows, const alm_vec *vec, bool skip)
{
    const double *a = vec->data;
    const size_t step = vec->is_const ? 0 : 1;
    for (size_t i = 0; i < n_rows; i++) {
        list *s = &all[group[i]];
        const double value = a[i * step];
        if (skip && value != value)
            continue;
        if (s->n == s->cap)
            ALM_TRY(agg_list_reserve(call, s, 1));
        s->at[s->n++] = value;
    }
    return ALM_OK;
}

static alm_status agg_list_merge(alm_call *call, void *dst, const uint32_t *index, const void *src,
                                 size_t n)
{
    const list *from = src;
    for (size_t i = 0; i < n; i++) {
        list *d = (list *)dst + (index != NULL ? index[i] : i);
        if (d->n == 0) {
            *d = from[i];
            continue;
        }
        ALM_TRY(agg_list_reserve(call, d, from[i].n));
        memcpy(d->at + d->n, from[i].at, from[i].n * sizeof *d->at);
        d->n += from[i].n;
    }
    return ALM_OK;
}

#define CALLS(name, skip)                                                                          \
    static alm_status name##_update(alm_call *call, void *state, size_t n, const alm_vec *args)    \
    {                                                                                              \
        return agg_list_take(call, state, n, &args[0], skip);                                      \
    }                                                                                              \
    static alm_status name##_scatter(alm_call *call, void *states, const uint32_t *group,          \
                                     size_t n, const alm_vec *args)                                \
    {                                                                                              \
        return agg_list_take_groups(call, states, group, n, &args[0], skip);                       \
    }                                                                                              \
    static const alm_agg_ops name##_ops = {.state_bytes = sizeof(list),                            \
                                           .init = list_init,                                      \
                                           .update = name##_update,                                \
                                           .scatter = name##_scatter,                              \
                                           .merge = agg_list_merge,                                \
                                           .finish = name##_finish};

/* --------------------------------------------------------------- array_agg */

static alm_status array_finish(alm_call *call, const void *states, size_t n_rows, alm_vec *out)
{
    const list *all = states;
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const list *s = &all[i];
        views[i] = alm_view_null();
        if (s->n == 0)
            continue;
        const uint32_t len = (uint32_t)ALM_MIN(s->n, (size_t)UINT32_MAX);
        alm_array_out writer;
        ALM_TRY(alm_array_begin(call->cx, call->arena, call->pos, 1, &len, &writer));
        memcpy(writer.at, s->at, len * sizeof *s->at);
        views[i] = alm_array_finish(&writer);
    }
    return ALM_OK;
}
CALLS(array, false)

static alm_status agg_list_bind_array(ALM_UNUSED alm_ctx *cx, ALM_UNUSED const alm_fn *fn,
                                      ALM_UNUSED int32_t pos, ALM_UNUSED uint32_t argc,
                                      ALM_UNUSED alm_arg *args, alm_type *result,
                                      ALM_UNUSED void **data)
{
    *result = alm_type_array(1);
    return ALM_OK;
}

/* ------------------------------------------------------ median, percentile */

/* Value number k of n in order of size, counted from 0; those before it are not greater then. */
static double nth(double *a, size_t n, size_t k)
{
    size_t lo = 0, hi = n - 1;
    while (lo < hi) {
        const double pivot = a[lo + (hi - lo) / 2];
        size_t i = lo, j = hi;
        for (;;) {
            while (a[i] < pivot)
                i++;
            while (a[j] > pivot)
                j--;
            if (i >= j)
                break;
            const double value = a[i];
            a[i++] = a[j];
            a[j--] = value;
        }
        /* lo..j is not greater than what follows; j is below hi, as the pivot is not the last */
        if (k <= j)
            hi = j;
        else
            lo = j + 1;
    }
    return a[k];
}

static double least_of(const double *a, size_t n)
{
    double least = a[0];
    for (size_t i = 1; i < n; i++)
        least = a[i] < least ? a[i] : least;
    return least;
}

static alm_status percentile_finish(alm_call *call, const void *states, size_t n_rows, alm_vec *out)
{
    const list *all = states;
    const double fraction = call->data != NULL ? *(const double *)call->data : 0.5;
    double *results = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const list *s = &all[i];
        results[i] = __builtin_nan("");
        if (s->n == 0)
            continue;
        const double place = fraction * (double)(s->n - 1);
        const size_t k = (size_t)place;
        const double low = nth(s->at, s->n, k), part = place - (double)k;
        results[i] = low;
        if (part > 0 && k + 1 < s->n)
            results[i] = low * (1 - part) + least_of(s->at + k + 1, s->n - k - 1) * part;
    }
    return ALM_OK;
}
CALLS(percentile, true)

static alm_status bind_fraction(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                                ALM_UNUSED uint32_t argc, alm_arg *args,
                                ALM_UNUSED alm_type *result, void **data)
{
    double *fraction = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &fraction));
    *data = fraction;
    if (args[1].value == NULL)
        return ALM_OK; /* only described */
    ALM_TRY(alm_arg_double(cx, &args[1], fraction));
    if (!(*fraction >= 0 && *fraction <= 1))
        return alm_fail(cx, ALM_E_ARG, args[1].pos, "the fraction must be between 0 and 1");
    return ALM_OK;
}

typedef struct share {
    double fraction;
    bool descending;
} share;

/* The first value that has at least that share of the values up to it. */
static alm_status disc_finish(alm_call *call, const void *states, size_t n_rows, alm_vec *out)
{
    const list *all = states;
    const share *part = call->data;
    double *results = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const list *s = &all[i];
        const double place = ceil(part->fraction * (double)s->n);
        const size_t k = place < 1 ? 0 : ALM_MIN((size_t)place, s->n) - 1;
        results[i] =
            s->n == 0 ? __builtin_nan("") : nth(s->at, s->n, part->descending ? s->n - 1 - k : k);
    }
    return ALM_OK;
}
CALLS(disc, true)

static alm_status bind_share(alm_ctx *cx, const alm_fn *fn, int32_t pos, uint32_t argc,
                             alm_arg *args, alm_type *result, void **data)
{
    share *self = NULL;
    void *fraction = NULL;
    uint8_t descending = 0;
    bool fits = true;
    ALM_TRY(bind_fraction(cx, fn, pos, argc, args, result, &fraction));
    ALM_TRY(ALM_NEW(cx, cx->arena, &self));
    memcpy(&self->fraction, fraction, sizeof self->fraction);
    if (argc > 2 && args[2].value != NULL)
        ALM_TRY(alm_arg_value(cx, &args[2], ALM_TY(BOOLEAN), &descending, &fits));
    self->descending = descending != 0;
    *data = self;
    return ALM_OK;
}

/* -------------------------------------------------------------------- rows */

#define ROW(f, sig, flags_, bind_, ops, doc_, example_)                                            \
    {.name = f,                                                                                    \
     .signature = sig,                                                                             \
     .kind = ALM_FN_AGGREGATE,                                                                     \
     .flags = flags_,                                                                              \
     .bind = bind_,                                                                                \
     .agg = &(ops),                                                                                \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}

static const alm_fn ROWS[] = {
    ROW("array_agg", "(DOUBLE) ?", ALM_FN_ROW_ORDER, agg_list_bind_array, array_ops,
        "Array of all values in the order of rows; nulls are elements too.",
        "array_agg(x) from long_sequence(4)"),
    ROW("median", "(DOUBLE) DOUBLE", 0, NULL, percentile_ops,
        "Value in the middle, exactly; of an even number of values the mean of the two in the "
        "middle.",
        "median(price)"),
    ROW("percentile_cont", "(DOUBLE, DOUBLE const) DOUBLE", 0, bind_fraction, percentile_ops,
        "Value below which that share (0 to 1) of values is, exactly; between two values in "
        "proportion.",
        "percentile_cont(price, 0.9)"),
    ROW("percentile_disc", "(DOUBLE, DOUBLE const) DOUBLE", 0, bind_share, disc_ops,
        "First value in order of size that at least that share (0 to 1) of values does not exceed.",
        "percentile_disc(price, 0.9)"),
    ROW("percentile_disc", "(DOUBLE, DOUBLE const, descending BOOLEAN const) DOUBLE", 0, bind_share,
        disc_ops, "From the greatest value, if asked.", "percentile_disc(price, 0.9, true)"),
};
ALM_FN_TABLE(list, ROWS);
