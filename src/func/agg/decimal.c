/*
 * decimal.c - sum and avg of DECIMAL.
 *
 * Types       A sum of up to 18 digits has 38, of more 76, in the scale of its argument. An average
 *             has the type of its argument, or the scale asked for; its last digit is rounded half to
 *             even.
 * Null rule   Nulls do not count; nothing but nulls gives null.
 * Errors      A sum of more than 76 digits: ALM_E_RANGE.
 */
#include "func/agg/agg.h"
#include "func/value/args.h"
#include "func/value/decimal_column.h"
#include "func/value/tables.h"

typedef struct dsum {
    alm_i256 sum;
    int64_t count;
} dsum;

ALM_AGG_INIT(dsum, dsum, {{{0}}, 0})

/* Up to 8 bytes: 2^63 rows of them fit into 128 bits. */
#define TOTAL(T, NUL)                                                                              \
    do {                                                                                           \
        const T *restrict a = v->data;                                                             \
        for (size_t i = 0; i < n; i++) {                                                           \
            const T x = a[i];                                                                      \
            total += x == (NUL) ? 0 : x;                                                           \
            count += x != (NUL);                                                                   \
        }                                                                                          \
    } while (0)

static void add_narrow(dsum *self, const alm_vec *v, size_t n)
{
    alm_i128 total = 0;
    int64_t count = 0;
    if (v->width == 1)
        TOTAL(int8_t, INT8_MIN);
    else if (v->width == 2)
        TOTAL(int16_t, INT16_MIN);
    else if (v->width == 4)
        TOTAL(int32_t, INT32_MIN);
    else
        TOTAL(int64_t, INT64_MIN);
    self->sum = alm_i256_add(self->sum, alm_i256_of128(total));
    self->count += count;
}

static alm_status agg_decimal_overflow(const alm_call *call)
{
    return alm_fail(call->cx, ALM_E_RANGE, call->pos,
                    "%s aggregation failed: result exceeds maximum precision of %d digits",
                    call->fn->name, ALM_DECIMAL_DIGITS_MAX);
}

static inline alm_status agg_decimal_add_one(const alm_call *call, dsum *self, alm_i256 value)
{
    if (alm_i256_is_min(value))
        return ALM_OK;
    self->sum = alm_i256_add(self->sum, value);
    self->count++;
    return alm_decimal_fits(self->sum, ALM_DECIMAL_DIGITS_MAX) ? ALM_OK
                                                               : agg_decimal_overflow(call);
}

static alm_status dsum_update(alm_call *call, void *state, size_t n, const alm_vec *args)
{
    const alm_vec *vec = &args[0];
    if (vec->width <= 8 && !vec->is_const) {
        add_narrow(state, vec, n);
        return ALM_OK;
    }
    const char *from = vec->data;
    const size_t step = vec->is_const ? 0 : vec->width;
    for (size_t i = 0; i < n; i++, from += step)
        ALM_TRY(agg_decimal_add_one(call, state, alm_decimal_load(vec->type, from)));
    return ALM_OK;
}

static alm_status dsum_scatter(alm_call *call, void *states, const uint32_t *group, size_t n,
                               const alm_vec *args)
{
    const alm_vec *vec = &args[0];
    dsum *all = states;
    const char *from = vec->data;
    const size_t step = vec->is_const ? 0 : vec->width;
    for (size_t i = 0; i < n; i++, from += step)
        ALM_TRY(agg_decimal_add_one(call, &all[group[i]], alm_decimal_load(vec->type, from)));
    return ALM_OK;
}

static alm_status dsum_merge(alm_call *call, void *dst, const uint32_t *index, const void *src,
                             size_t n)
{
    dsum *to = dst;
    const dsum *from = src;
    for (size_t i = 0; i < n; i++) {
        dsum *d = &to[index != NULL ? index[i] : i];
        d->sum = alm_i256_add(d->sum, from[i].sum);
        d->count += from[i].count;
        if (!alm_decimal_fits(d->sum, ALM_DECIMAL_DIGITS_MAX))
            return agg_decimal_overflow(call);
    }
    return ALM_OK;
}

static alm_status dsum_finish(alm_call *call, const void *states, size_t n_rows, alm_vec *out)
{
    const dsum *self = states;
    char *dest = out->data;
    for (size_t i = 0; i < n_rows; i++, dest += out->width) {
        if (!alm_decimal_fits(self[i].sum, call->result.p))
            return agg_decimal_overflow(call);
        alm_decimal_store(call->result, self[i].count == 0 ? alm_i256_min() : self[i].sum, dest);
    }
    return ALM_OK;
}
ALM_AGG_OPS(dsum, dsum, dsum, dsum)

/* ----------------------------------------------------------------- average */

typedef struct average_plan {
    uint32_t from; /* scale of the argument */
} average_plan;

/* The sum in the scale of the result, divided, rounded half to even. */
static bool agg_decimal_average_of(const dsum *self, uint32_t from, alm_type type, alm_i256 *out)
{
    const alm_i256 count = alm_i256_of(self->count);
    alm_i256 value = self->sum, by = count, quotient, result;
    if (type.s >= from) {
        if (!alm_i256_mul(value, alm_pow10_256(type.s - from), &value))
            return false;
    } else if (!alm_i256_mul(by, alm_pow10_256(from - type.s), &by)) {
        return false;
    }
    alm_i256_divmod(value, by, &quotient, &result);
    const alm_i256 rest = alm_i256_abs(result);
    const int side = alm_u256_cmp(rest, alm_i256_sub(by, rest));
    if (side > 0 || (side == 0 && (quotient.w[0] & 1) != 0))
        quotient = alm_i256_add(quotient, alm_i256_of(alm_i256_is_neg(value) ? -1 : 1));
    *out = quotient;
    return alm_decimal_fits(quotient, type.p);
}

static alm_status davg_finish(alm_call *call, const void *states, size_t n_rows, alm_vec *out)
{
    const average_plan *plan = call->data;
    const dsum *self = states;
    char *dest = out->data;
    for (size_t i = 0; i < n_rows; i++, dest += out->width) {
        alm_i256 mean = alm_i256_min();
        if (self[i].count > 0 && !agg_decimal_average_of(&self[i], plan->from, call->result, &mean))
            return agg_decimal_overflow(call);
        alm_decimal_store(call->result, mean, dest);
    }
    return ALM_OK;
}
ALM_AGG_OPS(davg, dsum, dsum, davg)

/* -------------------------------------------------------------------- bind */

static alm_status agg_decimal_bind_sum(ALM_UNUSED alm_ctx *cx, ALM_UNUSED const alm_fn *fn,
                                       ALM_UNUSED int32_t pos, ALM_UNUSED uint32_t argc,
                                       alm_arg *args, alm_type *result, ALM_UNUSED void **data)
{
    const bool narrow = alm_type_width(args[0].type) <= 8;
    *result =
        alm_type_decimal(narrow ? ALM_DECIMAL_128_DIGITS : ALM_DECIMAL_DIGITS_MAX, args[0].type.s);
    return ALM_OK;
}

static alm_status bind_avg(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                           uint32_t argc, alm_arg *args, alm_type *result, void **data)
{
    const alm_type a = args[0].type;
    const uint32_t digits = alm_decimal_digits(a);
    average_plan *plan = NULL;
    int64_t scale = a.s;
    if (argc > 1 && args[1].value != NULL)
        ALM_TRY(alm_arg_long(cx, &args[1], &scale));
    if (scale < 0 || scale > ALM_DECIMAL_DIGITS_MAX)
        return alm_fail(cx, ALM_E_ARG, args[1].pos, "the scale of an average must be in [0..%d]",
                        ALM_DECIMAL_DIGITS_MAX);
    ALM_TRY(ALM_NEW(cx, cx->arena, &plan));
    plan->from = a.s;
    *data = plan;
    const uint32_t needed = ALM_MAX(digits - a.s + (uint32_t)scale, 1U);
    *result = alm_type_decimal(ALM_MIN(needed, (uint32_t)ALM_DECIMAL_DIGITS_MAX), (uint32_t)scale);
    return ALM_OK;
}

#define ROW(f, sig, bind_, ops, doc_)                                                              \
    {.name = f,                                                                                    \
     .signature = sig,                                                                             \
     .kind = ALM_FN_AGGREGATE,                                                                     \
     .bind = bind_,                                                                                \
     .agg = &(ops),                                                                                \
     .doc = doc_,                                                                                  \
     .example = f "(price)",                                                                       \
     .since = "0.1"}

static const alm_fn ROWS[] = {
    ROW("sum", "(DECIMAL) ?", agg_decimal_bind_sum, dsum_ops, "Sum."),
    ROW("avg", "(DECIMAL) ?", bind_avg, davg_ops, "Arithmetic mean, in the scale of the values."),
    ROW("avg", "(DECIMAL, INT const) ?", bind_avg, davg_ops, "Arithmetic mean, in a scale."),
};
ALM_FN_TABLE(decimal_sum, ROWS);
