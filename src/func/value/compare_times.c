/*
 * compare_times.c - = != < <= > >= over times of two units, as if both had unlimited range: each TIMESTAMP_NS is
 * below 9999-12-31, which is none. And the keys that a join compares in their place.
 *
 * Null rule   As in operator/compare.c: null equals null, and is neither below nor above anything.
 * Method      The coarser time is multiplied where the product fits; where it does not, its sign decides.
 */
#include "func/scalar/time.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"

/* op(coarse, fine); a step of 0 repeats a constant. */
#define MIXED(name, EXPR)                                                                          \
    static ALM_SIMD void name##_loop(const int64_t *restrict coarse, const size_t coarse_step,     \
                                     const int64_t *restrict fine, const size_t fine_step,         \
                                     const int64_t factor, uint8_t *restrict o, size_t n)          \
    {                                                                                              \
        const int64_t most = INT64_MAX / factor;                                                   \
        for (size_t i = 0; i < n; i++) {                                                           \
            const int64_t c = coarse[i * coarse_step], f = fine[i * fine_step];                    \
            const int64_t product = (int64_t)((uint64_t)c * (uint64_t)factor);                     \
            const int fits = (c <= most) & (c >= -most);                                           \
            const int values = (c != ALM_TS_NULL) & (f != ALM_TS_NULL);                            \
            const int below = values & ((c < -most) | (fits & (product < f)));                     \
            const int above = values & ((c > most) | (fits & (product > f)));                      \
            const int equal = (below | above) == 0 && (values | (c == f)) != 0;                    \
            (void)below, (void)above, (void)equal;                                                 \
            o[i] = (uint8_t)(EXPR);                                                                \
        }                                                                                          \
    }
MIXED(eq, equal)
MIXED(ne, !equal)
MIXED(lt, below)
MIXED(gt, above)
MIXED(le, below | equal)
MIXED(ge, above | equal)

typedef enum op { EQ, NE, LT, GT, LE, GE } op;

typedef struct sides {
    const alm_vec *coarse, *fine;
    int64_t factor;
} sides;

/* By a number, not by address: gcc 12 takes kernels for the same that hand on different cloned functions. */
static void loop(op which, const sides *self, size_t n, uint8_t *out)
{
    const int64_t *c = self->coarse->data, *f = self->fine->data;
    const size_t c_step = self->coarse->is_const ? 0 : 1, f_step = self->fine->is_const ? 0 : 1;
    switch (which) {
    case EQ:
        eq_loop(c, c_step, f, f_step, self->factor, out, n);
        break;
    case NE:
        ne_loop(c, c_step, f, f_step, self->factor, out, n);
        break;
    case LT:
        lt_loop(c, c_step, f, f_step, self->factor, out, n);
        break;
    case GT:
        gt_loop(c, c_step, f, f_step, self->factor, out, n);
        break;
    case LE:
        le_loop(c, c_step, f, f_step, self->factor, out, n);
        break;
    case GE:
        ge_loop(c, c_step, f, f_step, self->factor, out, n);
        break;
    }
}

static alm_status compare_times_run(const alm_vec *args, op which, op mirrored, size_t n_rows,
                                    alm_vec *out)
{
    const alm_time_unit x = alm_time_unit_of(args[0].type), y = alm_time_unit_of(args[1].type);
    const bool turned = x > y; /* the finer one comes first */
    const sides self = {.coarse = &args[turned ? 1 : 0],
                        .fine = &args[turned ? 0 : 1],
                        .factor =
                            alm_time_second(turned ? x : y) / alm_time_second(turned ? y : x)};
    loop(turned ? mirrored : which, &self, n_rows, out->data);
    return ALM_OK;
}

#define KERNEL(name, op, mirrored)                                                                 \
    static alm_status name##_times(ALM_UNUSED alm_call *call, size_t n, const alm_vec *args,       \
                                   alm_vec *out)                                                   \
    {                                                                                              \
        return compare_times_run(args, op, mirrored, n, out);                                      \
    }
KERNEL(eq, EQ, EQ)
KERNEL(ne, NE, NE)
KERNEL(lt, LT, GT)
KERNEL(gt, GT, LT)
KERNEL(le, LE, GE)
KERNEL(ge, GE, LE)

/* ------------------------------------------------------------------------- keys of joins */

/*
 * Numbers that are equal where the times are. factor > 0: of the coarser time, by how much it is; < 0: of the
 * finer one. Those that cannot meet get numbers that are no multiple of it: 1 what is too fine, 2 what is too far.
 */
static alm_status time_key(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                           alm_vec *out)
{
    enum { TOO_FINE = 1, TOO_FAR = 2 };
    const int64_t *time = args[0].data, factor = *(const int64_t *)args[1].data;
    const size_t step = args[0].is_const ? 0 : 1;
    int64_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const int64_t t = time[i * step];
        if (t == ALM_TS_NULL)
            results[i] = ALM_LONG_NULL;
        else if (factor < 0)
            results[i] = t % factor == 0 ? t : TOO_FINE;
        else if (__builtin_mul_overflow(t, factor, &results[i]))
            results[i] = TOO_FAR;
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------------------- rows */

#define ROW(op, a, b, kernel_, doc_)                                                               \
    {.name = op,                                                                                   \
     .signature = "(" a ", " b ") BOOLEAN",                                                        \
     .flags = ALM_FN_INTERNAL | ALM_FN_LEAKPROOF,                                                  \
     .kernel = kernel_,                                                                            \
     .doc = doc_,                                                                                  \
     .example = "a " op " b",                                                                      \
     .since = "0.2"}
#define PAIRS(op, f, doc)                                                                          \
    ROW(op, "DATE", "TIMESTAMP", f##_times, doc), ROW(op, "TIMESTAMP", "DATE", f##_times, doc),    \
        ROW(op, "DATE", "TIMESTAMP_NS", f##_times, doc),                                           \
        ROW(op, "TIMESTAMP_NS", "DATE", f##_times, doc),                                           \
        ROW(op, "TIMESTAMP", "TIMESTAMP_NS", f##_times, doc),                                      \
        ROW(op, "TIMESTAMP_NS", "TIMESTAMP", f##_times, doc)
#define KEY(type)                                                                                  \
    {.name = "time key",                                                                           \
     .signature = "(" type ", factor LONG const) LONG",                                            \
     .flags = ALM_FN_INTERNAL | ALM_FN_LEAKPROOF,                                                  \
     .kernel = time_key,                                                                           \
     .doc = "What a join compares where its times have two units.",                                \
     .example = "",                                                                                \
     .since = "0.2"}

static const alm_fn ROWS[] = {
    PAIRS("=", eq, "Equal; null equals null."),
    PAIRS("!=", ne, "Not equal."),
    PAIRS("<>", ne, "Not equal."),
    PAIRS("<", lt, "Less; false for null."),
    PAIRS("<=", le, "Less or equal."),
    PAIRS(">", gt, "Greater; false for null."),
    PAIRS(">=", ge, "Greater or equal."),
    KEY("DATE"),
    KEY("TIMESTAMP"),
    KEY("TIMESTAMP_NS"),
};
ALM_FN_TABLE(compare_times, ROWS);
