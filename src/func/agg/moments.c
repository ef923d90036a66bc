/*
 * moments.c - skewness and kurtosis: the shape of a distribution.
 *
 * Null rule   Nulls are left out. The sample forms need three values (kurtosis four), the population forms
 *             one; values that are all equal have no shape: null.
 * Method      Third and fourth moments about the mean, row by row and merged by the formulas of Pébay (2008).
 *             The sample forms correct the bias as Fisher's G1 and G2 do; kurtosis is that above the one of a
 *             normal distribution, which is 0.
 */
#include <math.h>

#include "func/agg/agg.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"

#define NONE __builtin_nan("")

typedef struct shape {
    double n, mean, m2, m3, m4;
} shape;

/* Parts that have n values each. */
static void agg_moments_join(shape *self, const shape *p)
{
    if (p->n == 0)
        return;
    if (self->n == 0) {
        *self = *p;
        return;
    }
    const double a = self->n, b = p->n, n = a + b, delta = p->mean - self->mean, step = delta / n;
    const double square = delta * step * a * b;
    self->m4 += p->m4 + square * step * step * (a * a - a * b + b * b) +
                6 * step * step * (a * a * p->m2 + b * b * self->m2) +
                4 * step * (a * p->m3 - b * self->m3);
    self->m3 += p->m3 + square * step * (a - b) + 3 * step * (a * p->m2 - b * self->m2);
    self->m2 += p->m2 + square;
    self->mean += step * b;
    self->n = n;
}

static void agg_moments_add(shape *self, double value)
{
    const shape one = {.n = 1, .mean = value};
    if (value == value)
        agg_moments_join(self, &one);
}

static double skewness(const shape *self)
{
    return self->m2 > 0 ? sqrt(self->n) * self->m3 / pow(self->m2, 1.5) : NONE;
}

static double kurtosis(const shape *self)
{
    return self->m2 > 0 ? self->n * self->m4 / (self->m2 * self->m2) - 3 : NONE;
}

static double skewness_of_sample(const shape *self)
{
    return self->n < 3 ? NONE : skewness(self) * sqrt(self->n * (self->n - 1)) / (self->n - 2);
}

static double kurtosis_of_sample(const shape *self)
{
    return self->n < 4 ? NONE
                       : ((self->n + 1) * kurtosis(self) + 6) * (self->n - 1) /
                             ((self->n - 2) * (self->n - 3));
}

ALM_AGG_INIT(shape, shape, {0})
ALM_AGG_SCATTER(shape, shape, double, { agg_moments_add(s, x); })
ALM_AGG_UPDATE(shape, shape, double, { agg_moments_add(s, x); })
ALM_AGG_MERGE(shape, shape, { agg_moments_join(d, p); })
ALM_AGG_FINISH(skew_pop, shape, double, ALM_FINITE(skewness(s)))
ALM_AGG_FINISH(skew_samp, shape, double, ALM_FINITE(skewness_of_sample(s)))
ALM_AGG_FINISH(kurt_pop, shape, double, ALM_FINITE(kurtosis(s)))
ALM_AGG_FINISH(kurt_samp, shape, double, ALM_FINITE(kurtosis_of_sample(s)))
ALM_AGG_OPS(skew_pop, shape, shape, skew_pop)
ALM_AGG_OPS(skew_samp, shape, shape, skew_samp)
ALM_AGG_OPS(kurt_pop, shape, shape, kurt_pop)
ALM_AGG_OPS(kurt_samp, shape, shape, kurt_samp)

/* ------------------------------------------------------------------------------------- rows */

#define SHAPE(f, ops, doc) ALM_AGG_ROW(f, "(DOUBLE) DOUBLE", ops, 0, doc, f "(price)")
#define SKEW               "Skewness of a sample: above 0 with a long tail of large values."
#define KURT               "Excess kurtosis of a sample: above 0 with heavier tails than a normal distribution."

static const alm_fn ROWS[] = {
    SHAPE("skewness", skew_samp_ops, SKEW),
    SHAPE("skewness_samp", skew_samp_ops, SKEW),
    SHAPE("skewness_pop", skew_pop_ops, "Skewness of all values."),
    SHAPE("kurtosis", kurt_samp_ops, KURT),
    SHAPE("kurtosis_samp", kurt_samp_ops, KURT),
    SHAPE("kurtosis_pop", kurt_pop_ops, "Excess kurtosis of all values."),
};
ALM_FN_TABLE(moments, ROWS);
