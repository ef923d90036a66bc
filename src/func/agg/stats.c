/*
 * stats.c - variance, standard deviation, covariance, correlation, regression, weighted means.
 *
 * Null rule   A row counts when none of its arguments is null. The sample forms need two rows, the
 *             population forms one; correlation and regression need a spread; else null.
 * Method      Moments about the mean, not sums of squares, so that nothing cancels: a batch into one
 *             state takes its mean first and its squares second, both in lanes, and is merged by the
 *             formula of Chan, Golub and LeVeque (1979); rows into groups go one by one by Welford's
 *             (1962). Weighted moments by West (1979). The mean of a batch of equal values may be off by
 *             its last bit, which would be a spread; where the squares are that small, the rows are
 *             taken one by one, which gives the value itself and 0.
 */
#include <math.h>

#include "func/agg/agg.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"

#define NONE __builtin_nan("")

/* ------------------------------------------------------------- one variable */

typedef struct moments {
    double n, mean, m2;
} moments;

static inline void moments_add(moments *self, double value)
{
    self->n += 1;
    const double d = value - self->mean;
    self->mean += d / self->n;
    self->m2 += d * (value - self->mean);
}

static inline void moments_join(moments *self, const moments *p)
{
    if (p->n == 0)
        return;
    if (self->n == 0) { /* not through the formula: 0 times a square beyond doubles is no number */
        *self = *p;
        return;
    }
    const double n = self->n + p->n, delta = p->mean - self->mean;
    self->mean += delta * (p->n / n);
    self->m2 += p->m2 + delta * delta * (self->n * (p->n / n));
    self->n = n;
}

/* Two passes over a batch that is in the cache; sixteen lanes each. */
static ALM_SIMD void moments_of(const double *restrict a, size_t n, moments *restrict out)
{
    double sum[ALM_LANES] = {0}, count[ALM_LANES] = {0}, square[ALM_LANES] = {0};
    const size_t whole = n - n % ALM_LANES;
    for (size_t i = 0; i < whole; i += ALM_LANES) {
        for (size_t k = 0; k < ALM_LANES; k++) {
            const double value = a[i + k];
            sum[k] += value == value ? value : 0.0;
            count[k] += value == value ? 1.0 : 0.0;
        }
    }
    for (size_t i = whole; i < n; i++) {
        sum[i - whole] += a[i] == a[i] ? a[i] : 0.0;
        count[i - whole] += a[i] == a[i] ? 1.0 : 0.0;
    }
    double total = 0, rows = 0, m2 = 0;
    for (size_t k = 0; k < ALM_LANES; k++) {
        total += sum[k];
        rows += count[k];
    }
    const double mean = rows > 0 ? total / rows : 0.0;
    for (size_t i = 0; i < whole; i += ALM_LANES) {
        for (size_t k = 0; k < ALM_LANES; k++) {
            const double value = a[i + k] - mean;
            square[k] += value == value ? value * value : 0.0;
        }
    }
    for (size_t i = whole; i < n; i++) {
        const double value = a[i] - mean;
        square[i - whole] += value == value ? value * value : 0.0;
    }
    for (size_t k = 0; k < ALM_LANES; k++)
        m2 += square[k];
    *out = (moments){.n = rows, .mean = mean, .m2 = m2};
}

/* Could the squares be those of a rounded mean alone? */
static inline bool is_rounding(double n, double mean, double squares)
{
    return squares > 0 && squares < n * (mean * mean) * 1e-20;
}

static alm_status moments_update(ALM_UNUSED alm_call *call, void *state, size_t n,
                                 const alm_vec *args)
{
    const double *a = args[0].data;
    moments batch = {0};
    if (!args[0].is_const) {
        moments_of(a, n, &batch);
        if (is_rounding(batch.n, batch.mean, batch.m2)) {
            batch = (moments){0};
            for (size_t i = 0; i < n; i++)
                if (a[i] == a[i])
                    moments_add(&batch, a[i]);
        }
    } else if (a[0] == a[0])
        batch = (moments){.n = (double)n, .mean = a[0]};
    moments_join(state, &batch);
    return ALM_OK;
}

ALM_AGG_INIT(moments, moments, {0})
ALM_AGG_SCATTER(moments, moments, double, {
    if (x == x)
        moments_add(s, x);
})
ALM_AGG_MERGE(moments, moments, { moments_join(d, p); })

#define SAMPLE(s, value)     ((s)->n < 2 ? NONE : (value))
#define POPULATION(s, value) ((s)->n < 1 ? NONE : (value))
ALM_AGG_FINISH(var_samp, moments, double, SAMPLE(s, s->m2 / (s->n - 1)))
ALM_AGG_FINISH(var_pop, moments, double, POPULATION(s, s->m2 / s->n))
ALM_AGG_FINISH(stddev_samp, moments, double, SAMPLE(s, sqrt(s->m2 / (s->n - 1))))
ALM_AGG_FINISH(stddev_pop, moments, double, POPULATION(s, sqrt(s->m2 / s->n)))
ALM_AGG_OPS(var_samp, moments, moments, var_samp)
ALM_AGG_OPS(var_pop, moments, moments, var_pop)
ALM_AGG_OPS(stddev_samp, moments, moments, stddev_samp)
ALM_AGG_OPS(stddev_pop, moments, moments, stddev_pop)

/* Mean of logarithms; a value that has none makes the whole mean null. */
typedef struct logs {
    double n, sum;
} logs;

ALM_AGG_INIT(logs, logs, {0})
ALM_AGG_SCATTER(logs, logs, double, {
    s->n += x == x;
    s->sum += x == x ? log(x) : 0;
})
ALM_AGG_UPDATE(logs, logs, double, {
    s->n += x == x;
    s->sum += x == x ? log(x) : 0;
})
ALM_AGG_MERGE(logs, logs, {
    d->n += p->n;
    d->sum += p->sum;
})
ALM_AGG_FINISH(logs, logs, double, s->n > 0 ? ALM_FINITE(exp(s->sum / s->n)) : NONE)
ALM_AGG_OPS(logs, logs, logs, logs)

/* ------------------------------------------------------------ two variables */

typedef struct joint {
    double n, mean_x, mean_y, xx, yy, xy;
} joint;

static inline void joint_add(joint *self, double x, double y)
{
    self->n += 1;
    const double dx = x - self->mean_x, dy = y - self->mean_y;
    self->mean_x += dx / self->n;
    self->mean_y += dy / self->n;
    self->xx += dx * (x - self->mean_x);
    self->yy += dy * (y - self->mean_y);
    self->xy += dx * (y - self->mean_y);
}

static inline void joint_join(joint *self, const joint *p)
{
    if (p->n == 0)
        return;
    if (self->n == 0) {
        *self = *p;
        return;
    }
    const double n = self->n + p->n, dx = p->mean_x - self->mean_x, dy = p->mean_y - self->mean_y;
    const double weight = self->n * (p->n / n);
    self->mean_x += dx * (p->n / n);
    self->mean_y += dy * (p->n / n);
    self->xx += p->xx + dx * dx * weight;
    self->yy += p->yy + dy * dy * weight;
    self->xy += p->xy + dx * dy * weight;
    self->n = n;
}

/* Sums of a batch in lanes; rows with a null in either weigh nothing. */
static ALM_SIMD void joint_means(const double *restrict a, const double *restrict b, size_t n,
                                 joint *restrict out)
{
    double sum_x[ALM_LANES] = {0}, sum_y[ALM_LANES] = {0}, count[ALM_LANES] = {0};
    const size_t whole = n - n % ALM_LANES;
    for (size_t i = 0; i < whole; i += ALM_LANES) {
        for (size_t k = 0; k < ALM_LANES; k++) {
            const double x = a[i + k], y = b[i + k], both = x + y;
            sum_x[k] += both == both ? x : 0.0;
            sum_y[k] += both == both ? y : 0.0;
            count[k] += both == both ? 1.0 : 0.0;
        }
    }
    for (size_t i = whole; i < n; i++) {
        const bool both = a[i] == a[i] && b[i] == b[i];
        sum_x[0] += both ? a[i] : 0.0;
        sum_y[0] += both ? b[i] : 0.0;
        count[0] += both ? 1.0 : 0.0;
    }
    for (size_t k = 0; k < ALM_LANES; k++) {
        out->mean_x += sum_x[k];
        out->mean_y += sum_y[k];
        out->n += count[k];
    }
    out->mean_x = out->n > 0 ? out->mean_x / out->n : 0;
    out->mean_y = out->n > 0 ? out->mean_y / out->n : 0;
}

static ALM_SIMD void joint_squares(const double *restrict a, const double *restrict b, size_t n,
                                   joint *restrict out)
{
    double xx[ALM_LANES] = {0}, yy[ALM_LANES] = {0}, xy[ALM_LANES] = {0};
    const double mean_x = out->mean_x, mean_y = out->mean_y;
    const size_t whole = n - n % ALM_LANES;
    for (size_t i = 0; i < whole; i += ALM_LANES) {
        for (size_t k = 0; k < ALM_LANES; k++) {
            const double dx = a[i + k] - mean_x, dy = b[i + k] - mean_y, product = dx * dy;
            xx[k] += product == product ? dx * dx : 0.0;
            yy[k] += product == product ? dy * dy : 0.0;
            xy[k] += product == product ? product : 0.0;
        }
    }
    for (size_t i = whole; i < n; i++) {
        const double dx = a[i] - mean_x, dy = b[i] - mean_y, product = dx * dy;
        xx[0] += product == product ? dx * dx : 0.0;
        yy[0] += product == product ? dy * dy : 0.0;
        xy[0] += product == product ? product : 0.0;
    }
    for (size_t k = 0; k < ALM_LANES; k++) {
        out->xx += xx[k];
        out->yy += yy[k];
        out->xy += xy[k];
    }
}

/* ROW over const double x, y, one state s. */
#define PAIR_LOOPS(name, S, ROW)                                                                   \
    static alm_status name##_rows(S *s, size_t n, const alm_vec *args)                             \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            const double x = ALM_AT(double, args[0], i), y = ALM_AT(double, args[1], i);           \
            ROW                                                                                    \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }                                                                                              \
    static alm_status name##_scatter(ALM_UNUSED alm_call *call, void *states,                      \
                                     const uint32_t *group, size_t n, const alm_vec *args)         \
    {                                                                                              \
        S *all = states;                                                                           \
        for (size_t i = 0; i < n; i++) {                                                           \
            S *s = &all[group[i]];                                                                 \
            const double x = ALM_AT(double, args[0], i), y = ALM_AT(double, args[1], i);           \
            ROW                                                                                    \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }

PAIR_LOOPS(joint, joint, {
    if (x == x && y == y)
        joint_add(s, x, y);
})

static alm_status joint_update(ALM_UNUSED alm_call *call, void *state, size_t n,
                               const alm_vec *args)
{
    if (args[0].is_const || args[1].is_const)
        return joint_rows(state, n, args);
    joint batch = {0};
    joint_means(args[0].data, args[1].data, n, &batch);
    joint_squares(args[0].data, args[1].data, n, &batch);
    if (is_rounding(batch.n, batch.mean_x, batch.xx) ||
        is_rounding(batch.n, batch.mean_y, batch.yy)) {
        batch = (joint){0};
        ALM_TRY(joint_rows(&batch, n, args));
    }
    joint_join(state, &batch);
    return ALM_OK;
}

ALM_AGG_INIT(joint, joint, {0})
ALM_AGG_MERGE(joint, joint, { joint_join(d, p); })

/* Rounding may carry a perfect correlation beyond 1. */
static double within_one(double value)
{
    return value > 1 ? 1 : value < -1 ? -1 : value;
}
ALM_AGG_FINISH(covar_samp, joint, double, SAMPLE(s, s->xy / (s->n - 1)))
ALM_AGG_FINISH(covar_pop, joint, double, POPULATION(s, s->xy / s->n))
ALM_AGG_FINISH(corr, joint, double,
               s->xx > 0 && s->yy > 0 ? within_one(s->xy / (sqrt(s->xx) * sqrt(s->yy))) : NONE)
/* regr(y, x): the dependent variable is the first argument */
ALM_AGG_FINISH(slope, joint, double, s->yy > 0 && s->n > 1 ? s->xy / s->yy : NONE)
ALM_AGG_FINISH(intercept, joint, double,
               s->yy > 0 && s->n > 1 ? s->mean_x - s->mean_y * (s->xy / s->yy) : NONE)
ALM_AGG_OPS(covar_samp, joint, joint, covar_samp)
ALM_AGG_OPS(covar_pop, joint, joint, covar_pop)
ALM_AGG_OPS(corr, joint, joint, corr)
ALM_AGG_FINISH(r2, joint, double,
               s->yy > 0 && s->n > 1 ? (s->xx > 0 ? s->xy / s->xx * (s->xy / s->yy) : 1.0) : NONE)
ALM_AGG_FINISH(pairs, joint, int64_t, s->n)
ALM_AGG_FINISH(avg_y, joint, double, POPULATION(s, s->mean_x))
ALM_AGG_FINISH(avg_x, joint, double, POPULATION(s, s->mean_y))
ALM_AGG_FINISH(sum_yy, joint, double, POPULATION(s, s->xx))
ALM_AGG_FINISH(sum_xx, joint, double, POPULATION(s, s->yy))
ALM_AGG_FINISH(sum_xy, joint, double, POPULATION(s, s->xy))
ALM_AGG_OPS(r2, joint, joint, r2)
ALM_AGG_OPS(pairs, joint, joint, pairs)
ALM_AGG_OPS(avg_y, joint, joint, avg_y)
ALM_AGG_OPS(avg_x, joint, joint, avg_x)
ALM_AGG_OPS(sum_yy, joint, joint, sum_yy)
ALM_AGG_OPS(sum_xx, joint, joint, sum_xx)
ALM_AGG_OPS(sum_xy, joint, joint, sum_xy)
ALM_AGG_OPS(slope, joint, joint, slope)
ALM_AGG_OPS(intercept, joint, joint, intercept)

/* --------------------------------------------------------------- weighted */

typedef struct weighted {
    double sum, weight;
} weighted;

/* A row COUNTS by its weight y and the product with it, or counts as if its weight was WEIGHT: the first is the faster test
 * in lanes, the second where rows go to groups. */
#define WEIGHTED(name, COUNTS, WEIGHT)                                                             \
    static ALM_SIMD void name##_lanes(const double *restrict a, const double *restrict b,          \
                                      size_t n, weighted *restrict s)                              \
    {                                                                                              \
        double sum[ALM_LANES] = {0}, weight[ALM_LANES] = {0};                                      \
        const size_t whole = n - n % ALM_LANES;                                                    \
        for (size_t i = 0; i < whole; i += ALM_LANES) {                                            \
            for (size_t k = 0; k < ALM_LANES; k++) {                                               \
                const double y = b[i + k], product = a[i + k] * y;                                 \
                sum[k] += (COUNTS) ? product : 0.0;                                                \
                weight[k] += (COUNTS) ? y : 0.0;                                                   \
            }                                                                                      \
        }                                                                                          \
        for (size_t i = whole; i < n; i++) {                                                       \
            const double y = b[i], product = a[i] * y;                                             \
            sum[0] += (COUNTS) ? product : 0.0;                                                    \
            weight[0] += (COUNTS) ? y : 0.0;                                                       \
        }                                                                                          \
        for (size_t k = 0; k < ALM_LANES; k++) {                                                   \
            s->sum += sum[k];                                                                      \
            s->weight += weight[k];                                                                \
        }                                                                                          \
    }                                                                                              \
    PAIR_LOOPS(name, weighted, {                                                                   \
        const double w = (WEIGHT);                                                                 \
        const double product = x * w;                                                              \
        s->sum += product == product ? product : 0.0;                                              \
        s->weight += product == product ? w : 0.0;                                                 \
    })                                                                                             \
    static alm_status name##_update(ALM_UNUSED alm_call *call, void *state, size_t n,              \
                                    const alm_vec *args)                                           \
    {                                                                                              \
        if (args[0].is_const || args[1].is_const)                                                  \
            return name##_rows(state, n, args);                                                    \
        name##_lanes(args[0].data, args[1].data, n, state);                                        \
        return ALM_OK;                                                                             \
    }
WEIGHTED(weighted, product == product, y)
WEIGHTED(traded, product == product && y > 0,
         y > 0 ? y : 0.0) /* what was not traded has no price */

ALM_AGG_INIT(weighted, weighted, {0})
ALM_AGG_MERGE(weighted, weighted, {
    d->sum += p->sum;
    d->weight += p->weight;
})
ALM_AGG_FINISH(weighted, weighted, double, ALM_FINITE(s->sum / s->weight))
ALM_AGG_OPS(weighted, weighted, weighted, weighted)
static const alm_agg_ops traded_ops = {.state_bytes = sizeof(weighted),
                                       .plain = true,
                                       .init = weighted_init,
                                       .update = traded_update,
                                       .scatter = traded_scatter,
                                       .merge = weighted_merge,
                                       .finish = weighted_finish};

typedef struct spread {
    double weight, weight2, mean, m2;
} spread;

PAIR_LOOPS(spread, spread, {
    if (x == x && y == y && y != 0) {
        s->weight += y;
        s->weight2 += y * y;
        const double d = x - s->mean;
        s->mean += d * (y / s->weight);
        s->m2 += y * (d * (x - s->mean));
    }
})

static alm_status spread_update(ALM_UNUSED alm_call *call, void *state, size_t n_rows,
                                const alm_vec *args)
{
    return spread_rows(state, n_rows, args);
}

ALM_AGG_INIT(spread, spread, {0})
static inline void spread_join(spread *self, const spread *p)
{
    const double total = self->weight + p->weight;
    if (p->weight == 0 || total == 0)
        return;
    if (self->weight == 0) {
        *self = *p;
        return;
    }
    const double delta = p->mean - self->mean;
    self->mean += delta * (p->weight / total);
    self->m2 += p->m2 + delta * delta * (self->weight * (p->weight / total));
    self->weight = total;
    self->weight2 += p->weight2;
}
ALM_AGG_MERGE(spread, spread, { spread_join(d, p); })

/* Null where there are too few rows for the divisor. */
static double agg_stats_root_of(double m2, double divisor)
{
    return divisor > 0 && m2 >= 0 ? ALM_FINITE(sqrt(m2 / divisor)) : NONE;
}
/* Weights as reliabilities, and as repetitions of a row. Of a single row both squares are the same to the last bit, so that
 * it has none. */
ALM_AGG_FINISH(spread_rel, spread, double,
               agg_stats_root_of(s->m2, (s->weight * s->weight - s->weight2) / s->weight))
ALM_AGG_FINISH(spread_freq, spread, double, agg_stats_root_of(s->m2, s->weight - 1))
ALM_AGG_OPS(spread_rel, spread, spread, spread_rel)
ALM_AGG_OPS(spread_freq, spread, spread, spread_freq)

/* -------------------------------------------------------------------- rows */

#define ONE(f, ops, doc)          ALM_AGG_ROW(f, "(DOUBLE) DOUBLE", ops, 0, doc, f "(price)")
#define TWO(f, ops, doc, example) ALM_AGG_ROW(f, "(DOUBLE, DOUBLE) DOUBLE", ops, 0, doc, f example)

static const alm_fn ROWS[] = {
    ONE("variance", var_samp_ops, "Variance of a sample."),
    ONE("var_samp", var_samp_ops, "Variance of a sample."),
    ONE("var_pop", var_pop_ops, "Variance of a population."),
    ONE("stddev", stddev_samp_ops, "Standard deviation of a sample."),
    ONE("stddev_samp", stddev_samp_ops, "Standard deviation of a sample."),
    ONE("stddev_pop", stddev_pop_ops, "Standard deviation of a population."),
    ONE("geomean", logs_ops, "Geometric mean; null if a value is below zero."),
    TWO("covar_samp", covar_samp_ops, "Covariance of a sample.", "(price, amount)"),
    TWO("covar_pop", covar_pop_ops, "Covariance of a population.", "(price, amount)"),
    TWO("corr", corr_ops, "Pearson correlation.", "(price, amount)"),
    TWO("regr_slope", slope_ops, "Slope of the line of least squares.", "(price, amount)"),
    TWO("regr_intercept", intercept_ops, "Where that line meets x = 0.", "(price, amount)"),
    TWO("regr_r2", r2_ops, "Square of the correlation; 1 where y has no spread.",
        "(price, amount)"),
    ALM_AGG_ROW("regr_count", "(DOUBLE, DOUBLE) LONG", pairs_ops, 0,
                "Number of rows in which neither is null.", "regr_count(price, amount)"),
    TWO("regr_avgy", avg_y_ops, "Mean of the first argument.", "(price, amount)"),
    TWO("regr_avgx", avg_x_ops, "Mean of the second argument.", "(price, amount)"),
    TWO("regr_syy", sum_yy_ops, "Squares of the distances of the first argument from its mean.",
        "(price, amount)"),
    TWO("regr_sxx", sum_xx_ops, "Squares of the distances of the second argument from its mean.",
        "(price, amount)"),
    TWO("regr_sxy", sum_xy_ops, "Products of the distances of both from their means.",
        "(price, amount)"),
    TWO("weighted_avg", weighted_ops, "Mean weighted by the second argument.", "(price, amount)"),
    TWO("vwap", traded_ops,
        "Volume-weighted average price; rows with an amount of 0 or less do not count.",
        "(price, amount)"),
    TWO("weighted_stddev", spread_rel_ops, "Standard deviation, weights as reliabilities.",
        "(price, amount)"),
    TWO("weighted_stddev_rel", spread_rel_ops, "Standard deviation, weights as reliabilities.",
        "(price, amount)"),
    TWO("weighted_stddev_freq", spread_freq_ops, "Standard deviation, weights as repetitions.",
        "(price, amount)"),
};
ALM_FN_TABLE(stats, ROWS);
