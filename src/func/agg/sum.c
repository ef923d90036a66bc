/*
 * sum.c - sum, avg, ksum, nsum.
 *
 * Null rule   Nulls do not count; nothing but nulls gives null.
 * Types       sum of integers is LONG (refused beyond its range), of FLOAT is FLOAT (added up as DOUBLE), of DOUBLE is
 *             DOUBLE. avg of integers is exact before the one division: 128-bit sums.
 * Cost        update: sum(DOUBLE) and sum(INT) run at memory speed with AVX2. scatter: one add and
 *             one count per row, free of branches.
 */
#include "func/agg/agg.h"
#include "func/agg/fused.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"

/* ---------------------------------------------------------- DOUBLE, FLOAT */

typedef alm_fsum fsum;

/* Lanes in one order: 0..15. */
static double lanes_total(const alm_f64x8 *acc)
{
    double total = 0;
    for (int v = 0; v < 2; v++)
        for (int k = 0; k < 8; k++)
            total += acc[v][k];
    return total;
}

/* A cast between vector types keeps the bits. */
#define MASKED(x, keep) ((alm_f64x8)((alm_i64x8)(x) & (keep)))

static ALM_SIMD void fsum_nullable(const double *restrict a, size_t n, fsum *restrict self)
{
    alm_f64x8 acc[2] = {{0}, {0}};
    alm_i64x8 seen[2] = {{0}, {0}};
    size_t i = 0;
    for (; i + ALM_LANES <= n; i += ALM_LANES) {
        const alm_f64x8 x = *(const alm_f64x8 *)(a + i), y = *(const alm_f64x8 *)(a + i + 8);
        const alm_i64x8 in_x = x == x, in_y = y == y;
        acc[0] += MASKED(x, in_x);
        acc[1] += MASKED(y, in_y);
        seen[0] -= in_x;
        seen[1] -= in_y;
    }
    double total = lanes_total(acc);
    int64_t count = 0;
    seen[0] += seen[1];
    for (int k = 0; k < 8; k++)
        count += seen[0][k];
    for (; i < n; i++) {
        const bool in = a[i] == a[i];
        total += in ? a[i] : 0;
        count += in;
    }
    self->sum += total;
    self->count += count;
}

static ALM_SIMD void fsum_plain(const double *restrict a, size_t n, fsum *restrict self)
{
    alm_f64x8 acc[2] = {{0}, {0}};
    size_t i = 0;
    for (; i + ALM_LANES <= n; i += ALM_LANES) {
        acc[0] += *(const alm_f64x8 *)(a + i);
        acc[1] += *(const alm_f64x8 *)(a + i + 8);
    }
    double total = lanes_total(acc);
    for (; i < n; i++)
        total += a[i];
    self->sum += total;
    self->count += (int64_t)n;
}

static alm_status fsum_update(ALM_UNUSED alm_call *call, void *state, size_t n, const alm_vec *args)
{
    fsum *self = state;
    const double *a = args[0].data;
    if (args[0].is_const) {
        if (a[0] == a[0]) {
            self->sum += a[0] * (double)n;
            self->count += (int64_t)n;
        }
    } else if (args[0].no_nulls) {
        fsum_plain(a, n, self);
    } else {
        fsum_nullable(a, n, self);
    }
    return ALM_OK;
}

#define FSUM_ROW                                                                                   \
    const bool in = x == x;                                                                        \
    s->sum += in ? (double)x : 0;                                                                  \
    s->count += in;

ALM_AGG_INIT(fsum, fsum, {0})
ALM_AGG_SCATTER(fsum, fsum, double, FSUM_ROW)
ALM_AGG_MERGE(fsum, fsum, {
    d->sum += p->sum;
    d->count += p->count;
})
ALM_AGG_FINISH(fsum, fsum, double, s->count == 0 ? __builtin_nan("") : ALM_FINITE(s->sum))
ALM_AGG_FINISH(favg, fsum, double, ALM_FINITE(s->sum / (double)s->count)) /* 0 / 0 is null */
ALM_AGG_FINISH(fsum32, fsum, float, s->count == 0 ? __builtin_nanf("") : ALM_FINITE((float)s->sum))

/* FLOAT: sixteen lanes of doubles, by a loop the compiler turns into conversions of whole vectors. */
static ALM_SIMD void fsum32_lanes(const float *restrict a, size_t n, fsum *restrict self)
{
    double acc[ALM_LANES] = {0};
    int64_t count = 0;
    size_t i = 0;
    for (; i + ALM_LANES <= n; i += ALM_LANES) {
        for (size_t k = 0; k < ALM_LANES; k++) {
            const float value = a[i + k];
            acc[k] += value == value ? (double)value : 0.0;
        }
    }
    double total = 0;
    for (size_t k = 0; k < ALM_LANES; k++)
        total += acc[k];
    for (; i < n; i++)
        total += a[i] == a[i] ? (double)a[i] : 0.0;
    for (i = 0; i < n; i++)
        count += a[i] == a[i];
    self->sum += total;
    self->count += count;
}

static alm_status fsum32_update(ALM_UNUSED alm_call *call, void *state, size_t n,
                                const alm_vec *args)
{
    const float *a = args[0].data;
    fsum *self = state;
    if (!args[0].is_const) {
        fsum32_lanes(a, n, self);
    } else if (a[0] == a[0]) {
        self->sum += (double)a[0] * (double)n;
        self->count += (int64_t)n;
    }
    return ALM_OK;
}
ALM_AGG_SCATTER(fsum32, fsum, float, FSUM_ROW)

/* ---------------------------------------------------------------- integers */

typedef struct isum {
    int64_t sum;
    int64_t count;
} isum;

/* NUL is the null, or what no x can be. Integer sums may be taken in any order: gcc vectorises. */
#define INTEGER_SUM(name, T, NUL)                                                                  \
    static ALM_SIMD void name##_lanes(const T *restrict a, size_t n, isum *restrict s)             \
    {                                                                                              \
        uint64_t sum = 0;                                                                          \
        int64_t count = 0;                                                                         \
        for (size_t i = 0; i < n; i++) {                                                           \
            const int64_t x = a[i];                                                                \
            const bool in = x != NUL;                                                              \
            sum += in ? (uint64_t)x : 0;                                                           \
            count += in;                                                                           \
        }                                                                                          \
        s->sum = (int64_t)((uint64_t)s->sum + sum);                                                \
        s->count += count;                                                                         \
    }                                                                                              \
    static alm_status name##_update(ALM_UNUSED alm_call *call, void *state, size_t n,              \
                                    const alm_vec *args)                                           \
    {                                                                                              \
        isum *s = state;                                                                           \
        const T *a = args[0].data;                                                                 \
        const int64_t first = n == 0 ? NUL : (int64_t)a[0];                                        \
        if (!args[0].is_const) {                                                                   \
            name##_lanes(a, n, s);                                                                 \
        } else if (first != NUL) {                                                                 \
            s->sum = (int64_t)((uint64_t)s->sum + (uint64_t)first * n);                            \
            s->count += (int64_t)n;                                                                \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }                                                                                              \
    ALM_AGG_SCATTER(name, isum, T, {                                                               \
        const int64_t y = x;                                                                       \
        const bool in = y != NUL;                                                                  \
        s->sum = (int64_t)((uint64_t)s->sum + (in ? (uint64_t)y : 0));                             \
        s->count += in;                                                                            \
    })
INTEGER_SUM(isum8, int8_t, ALM_LONG_NULL)
INTEGER_SUM(isum16, int16_t, ALM_LONG_NULL)
INTEGER_SUM(isum32, int32_t, ALM_INT_NULL)
INTEGER_SUM(isumbool, uint8_t, ALM_LONG_NULL)
ALM_AGG_INIT(isum, isum, {0})
ALM_AGG_MERGE(isum, isum, {
    d->sum = (int64_t)((uint64_t)d->sum + (uint64_t)p->sum);
    d->count += p->count;
})
ALM_AGG_FINISH(isum, isum, int64_t, s->count == 0 ? ALM_LONG_NULL : s->sum)
ALM_AGG_FINISH(iavg, isum, double, (double)s->sum / (double)s->count)

/*
 * avg and sum of LONG: x + 2^63 is cut into halves of 32 bits, which add up without overflow and without
 * rounding for 2^32 rows; the halves are carried into 128 bits after each batch.
 */
typedef struct wsum {
    __int128 sum;
    int64_t count;
} wsum;

static ALM_SIMD void wsum_lanes(const int64_t *restrict a, size_t n, uint64_t *restrict out_hi,
                                uint64_t *restrict out_lo, int64_t *restrict out_count)
{
    uint64_t hi = 0, lo = 0;
    int64_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const bool in = a[i] != ALM_LONG_NULL;
        const uint64_t value = in ? (uint64_t)a[i] ^ (UINT64_C(1) << 63) : 0;
        hi += value >> 32;
        lo += value & UINT32_MAX;
        count += in;
    }
    *out_hi = hi;
    *out_lo = lo;
    *out_count = count;
}

static alm_status wsum_update(ALM_UNUSED alm_call *call, void *state, size_t n, const alm_vec *args)
{
    wsum *self = state;
    const int64_t *a = args[0].data;
    if (args[0].is_const) {
        if (a[0] != ALM_LONG_NULL) {
            self->sum += (__int128)a[0] * (__int128)n;
            self->count += (int64_t)n;
        }
        return ALM_OK;
    }
    uint64_t hi, lo;
    int64_t count;
    wsum_lanes(a, n, &hi, &lo, &count);
    self->sum += ((__int128)hi << 32) + lo - ((__int128)count << 63);
    self->count += count;
    return ALM_OK;
}
ALM_AGG_INIT(wsum, wsum, {0})
ALM_AGG_SCATTER(wsum, wsum, int64_t, {
    const bool in = x != ALM_LONG_NULL;
    s->sum += in ? x : 0;
    s->count += in;
})
ALM_AGG_MERGE(wsum, wsum, {
    d->sum += p->sum;
    d->count += p->count;
})
ALM_AGG_FINISH(wsum, wsum, double, (double)s->sum / (double)s->count)

static alm_status wsum_long_finish(alm_call *call, const void *states, size_t n_rows, alm_vec *out)
{
    const wsum *self = states;
    int64_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        if (self[i].sum > INT64_MAX || self[i].sum < -INT64_MAX)
            return alm_fail(call->cx, ALM_E_RANGE, call->pos,
                            "sum aggregation failed: result exceeds the range of LONG");
        results[i] = self[i].count == 0 ? ALM_LONG_NULL : (int64_t)self[i].sum;
    }
    return ALM_OK;
}

/* --------------------------------------------------------------- compensated */

typedef struct ksum {
    double sum, lost;
    int64_t count;
} ksum;

/* Kahan: what the last addition lost is taken off the next number. */
static inline void kahan_add(ksum *self, double x)
{
    const double y = x - self->lost, t = self->sum + y;
    self->lost = (t - self->sum) - y;
    self->sum = t;
}

/* Neumaier: losses are kept aside, whichever of the two was the greater. */
static inline void neumaier_add(ksum *self, double value)
{
    const double t = self->sum + value;
    self->lost += __builtin_fabs(self->sum) >= __builtin_fabs(value) ? (self->sum - t) + value
                                                                     : (value - t) + self->sum;
    self->sum = t;
}

#define KSUM_ROW(add)                                                                              \
    if (x == x) {                                                                                  \
        add(s, x);                                                                                 \
        s->count++;                                                                                \
    }
ALM_AGG_INIT(ksum, ksum, {0})
ALM_AGG_UPDATE(ksum, ksum, double, KSUM_ROW(kahan_add))
ALM_AGG_SCATTER(ksum, ksum, double, KSUM_ROW(kahan_add))
ALM_AGG_MERGE(ksum, ksum, {
    kahan_add(d, p->sum);
    kahan_add(d, -p->lost);
    d->count += p->count;
})
ALM_AGG_FINISH(ksum, ksum, double, s->count == 0 ? __builtin_nan("") : ALM_FINITE(s->sum))
ALM_AGG_INIT(nsum, ksum, {0})
ALM_AGG_UPDATE(nsum, ksum, double, KSUM_ROW(neumaier_add))
ALM_AGG_SCATTER(nsum, ksum, double, KSUM_ROW(neumaier_add))
ALM_AGG_MERGE(nsum, ksum, {
    neumaier_add(d, p->sum);
    d->lost += p->lost;
    d->count += p->count;
})
ALM_AGG_FINISH(nsum, ksum, double, s->count == 0 ? __builtin_nan("") : ALM_FINITE(s->sum + s->lost))

/* -------------------------------------------------------------------- rows */

#define OPS(name, S, base, up, end) FUSED_OPS(name, S, base, up, end, ALM_FUSE_NONE)
#define FUSED_OPS(name, S, base, up, end, fuse_)                                                   \
    static const alm_agg_ops name##_ops = {.state_bytes = sizeof(S),                               \
                                           .plain = true,                                          \
                                           .fuse = (fuse_),                                        \
                                           .init = base##_init,                                    \
                                           .update = up##_update,                                  \
                                           .scatter = up##_scatter,                                \
                                           .merge = base##_merge,                                  \
                                           .finish = end##_finish};
FUSED_OPS(sum_double, fsum, fsum, fsum, fsum, ALM_FUSE_SUM)
OPS(sum_float, fsum, fsum, fsum32, fsum32)
OPS(sum_byte, isum, isum, isum8, isum)
OPS(sum_short, isum, isum, isum16, isum)
OPS(sum_int, isum, isum, isum32, isum)
OPS(sum_long, wsum, wsum, wsum, wsum_long)
FUSED_OPS(avg_double, fsum, fsum, fsum, favg, ALM_FUSE_SUM)
OPS(avg_float, fsum, fsum, fsum32, favg)
OPS(avg_byte, isum, isum, isum8, iavg)
OPS(avg_short, isum, isum, isum16, iavg)
OPS(avg_int, isum, isum, isum32, iavg)
OPS(avg_boolean, isum, isum, isumbool, iavg)
OPS(avg_long, wsum, wsum, wsum, wsum)
OPS(ksum, ksum, ksum, ksum, ksum)
OPS(nsum, ksum, nsum, nsum, nsum)

#define SUM(T, R, ops) ALM_AGG_ROW("sum", "(" T ") " R, ops, 0, "Sum.", "sum(price)")
#define AVG(T, ops)    ALM_AGG_ROW("avg", "(" T ") DOUBLE", ops, 0, "Arithmetic mean.", "avg(price)")

static const alm_fn ROWS[] = {
    SUM("BYTE", "LONG", sum_byte_ops),
    SUM("SHORT", "LONG", sum_short_ops),
    SUM("INT", "LONG", sum_int_ops),
    SUM("LONG", "LONG", sum_long_ops),
    SUM("FLOAT", "FLOAT", sum_float_ops),
    SUM("DOUBLE", "DOUBLE", sum_double_ops),
    AVG("BYTE", avg_byte_ops),
    AVG("SHORT", avg_short_ops),
    AVG("INT", avg_int_ops),
    AVG("LONG", avg_long_ops),
    AVG("FLOAT", avg_float_ops),
    AVG("DOUBLE", avg_double_ops),
    AVG("BOOLEAN", avg_boolean_ops),
    ALM_AGG_ROW("ksum", "(DOUBLE) DOUBLE", ksum_ops, ALM_FN_ROW_ORDER,
                "Sum with the rounding errors compensated (Kahan).", "ksum(price)"),
    ALM_AGG_ROW("nsum", "(DOUBLE) DOUBLE", nsum_ops, ALM_FN_ROW_ORDER,
                "Sum with the rounding errors compensated (Neumaier).", "nsum(price)"),
};
ALM_FN_TABLE(sum, ROWS);
