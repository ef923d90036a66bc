/*
 * compare.c - = != < <= > >= over everything that is not text (compare_text.c has that).
 *
 * Logic       Two-valued: null equals null, null is unequal to all else, and neither below nor above
 *             anything; so null <= null is true and null < 1 is false. The result is a byte, 0 or 1.
 * DOUBLE      Numbers that differ by rounding only are equal: by no more than 2 units in the last
 *             place and no more than 1e-10 (0.1 + 0.2 = 0.3); below 1e-300 all are 0. Below and
 *             above keep that distance.
 *             Against a constant this costs nothing: the band around it is worked out before the
 *             loop.
 */
#include "func/value/kernel.h"
#include "func/value/tables.h"
#include "type/text.h"

/* ------------------------------------------------- integers and their kind */

/* NUL is the null of T, and its least value. */
#define ORDERED(suffix, T, NUL)                                                                    \
    ALM_BINARY(eq_##suffix, T, T, uint8_t, x == y)                                                 \
    ALM_BINARY(ne_##suffix, T, T, uint8_t, x != y)                                                 \
    ALM_BINARY(lt_##suffix, T, T, uint8_t, (x < y) & (x != NUL))                                   \
    ALM_BINARY(gt_##suffix, T, T, uint8_t, (x > y) & (y != NUL))                                   \
    ALM_BINARY(le_##suffix, T, T, uint8_t, (x <= y) & ((x != NUL) | (y == NUL)))                   \
    ALM_BINARY(ge_##suffix, T, T, uint8_t, (x >= y) & ((y != NUL) | (x == NUL)))
ORDERED(int, int32_t, ALM_INT_NULL)
ORDERED(long, int64_t, ALM_LONG_NULL)
ORDERED(char, uint16_t, 0)
ORDERED(ipv4, uint32_t, 0)

ALM_BINARY(eq_bool, uint8_t, uint8_t, uint8_t, x == y)
ALM_BINARY(ne_bool, uint8_t, uint8_t, uint8_t, x != y)
ALM_BINARY(lt_bool, uint8_t, uint8_t, uint8_t, x < y)
ALM_BINARY(gt_bool, uint8_t, uint8_t, uint8_t, x > y)
ALM_BINARY(le_bool, uint8_t, uint8_t, uint8_t, x <= y)
ALM_BINARY(ge_bool, uint8_t, uint8_t, uint8_t, x >= y)

/* Types without a null against NULL. */
static alm_status always(uint8_t value, size_t n_rows, alm_vec *out)
{
    memset(out->data, value, n_rows);
    return ALM_OK;
}
static alm_status operator_compare_never_equal(ALM_UNUSED alm_call *call, size_t n_rows,
                                               ALM_UNUSED const alm_vec *args, alm_vec *out)
{
    return always(0, n_rows, out);
}
static alm_status ever_unequal(ALM_UNUSED alm_call *call, size_t n_rows,
                               ALM_UNUSED const alm_vec *args, alm_vec *out)
{
    return always(1, n_rows, out);
}

/* ---------------------------------------------------------------- floating */

ALM_BINARY(eq_float, float, float, uint8_t, (x == y) | ((x != x) & (y != y)))
ALM_BINARY(ne_float, float, float, uint8_t, (x != y) & ((x == x) | (y == y)))
ALM_BINARY(lt_float, float, float, uint8_t, x < y)
ALM_BINARY(gt_float, float, float, uint8_t, x > y)
ALM_BINARY(le_float, float, float, uint8_t, (x <= y) | ((x != x) & (y != y)))
ALM_BINARY(ge_float, float, float, uint8_t, (x >= y) | ((x != x) & (y != y)))

/* How far a double may be from y and still count as y. NaN for NaN. */
static inline double band(double y)
{
    const double relative = 0x1p-51 * (y < 0 ? -y : y);
    const double wide = relative < 1e-10 ? relative : (y == y ? 1e-10 : y);
    return wide < 1e-300 ? 1e-300 : wide;
}

/*
 * op(vec, const) through the band [lo, hi]; the sides of op(const, vec) are the mirrored op. When
 * the constant is null lo and hi are NaN, every comparison with them is false, and only the null
 * term counts.
 */
#define BAND_LOOP(name, EXPR_C, EXPR_V)                                                            \
    static ALM_SIMD void name##_vc(const double *restrict a, const double lo, const double hi,     \
                                   uint8_t *restrict o, size_t n)                                  \
    {                                                                                              \
        const int null = lo != lo;                                                                 \
        (void)lo, (void)hi, (void)null;                                                            \
        for (size_t i = 0; i < n; i++) {                                                           \
            const double x = a[i];                                                                 \
            o[i] = (uint8_t)(EXPR_C);                                                              \
        }                                                                                          \
    }                                                                                              \
    static ALM_SIMD void name##_vv(const double *restrict a, const double *restrict b,             \
                                   uint8_t *restrict o, size_t n)                                  \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            const double x = a[i], y = b[i];                                                       \
            const double lo = y - band(y), hi = y + band(y);                                       \
            const int null = y != y;                                                               \
            (void)lo, (void)hi, (void)null;                                                        \
            o[i] = (uint8_t)(EXPR_V);                                                              \
        }                                                                                          \
    }
#define BAND(name, EXPR) BAND_LOOP(name, EXPR, EXPR)
BAND(eq_double, ((x >= lo) & (x <= hi)) | ((x != x) & null))
BAND(ne_double, !(((x >= lo) & (x <= hi)) | ((x != x) & null)))
BAND(lt_double, x < lo)
BAND(gt_double, x > hi)
BAND(le_double, (x <= hi) | ((x != x) & null))
BAND(ge_double, (x >= lo) | ((x != x) & null))

typedef void (*band_vc)(const double *, double, double, uint8_t *, size_t);
typedef void (*band_vv)(const double *, const double *, uint8_t *, size_t);

static alm_status compare_double(size_t n_rows, const alm_vec *args, alm_vec *out, band_vv vv,
                                 band_vc vc, band_vc vc_mirrored)
{
    if (args[1].is_const || args[0].is_const) {
        const bool swap = !args[1].is_const;
        const double y = *(const double *)args[swap ? 0 : 1].data, width = band(y);
        (swap ? vc_mirrored : vc)(args[swap ? 1 : 0].data, y - width, y + width, out->data, n_rows);
    } else {
        vv(args[0].data, args[1].data, out->data, n_rows);
    }
    return ALM_OK;
}

#define DOUBLE_KERNEL(op, mirrored)                                                                \
    static alm_status op##_double(ALM_UNUSED alm_call *call, size_t n, const alm_vec *args,        \
                                  alm_vec *out)                                                    \
    {                                                                                              \
        return compare_double(n, args, out, op##_double_vv, op##_double_vc, mirrored##_double_vc); \
    }
DOUBLE_KERNEL(eq, eq)
DOUBLE_KERNEL(ne, ne)
DOUBLE_KERNEL(lt, gt)
DOUBLE_KERNEL(gt, lt)
DOUBLE_KERNEL(le, ge)
DOUBLE_KERNEL(ge, le)

/* ------------------------------------------------------- 16 bytes: UUID, INTERVAL */

typedef alm_uuid pair; /* intervals are only tested for equality */

static inline bool pair_eq(pair x, pair y)
{
    return x.lo == y.lo && x.hi == y.hi;
}
/* Nulls are neither below nor above anything. */
static inline bool pair_below(pair x, pair y)
{
    const bool below = x.hi < y.hi || (x.hi == y.hi && x.lo < y.lo);
    return below && !alm_uuid_is_null(x) && !alm_uuid_is_null(y);
}
ALM_BINARY(eq_pair, pair, pair, uint8_t, pair_eq(x, y))
ALM_BINARY(ne_pair, pair, pair, uint8_t, !pair_eq(x, y))
ALM_BINARY(lt_pair, pair, pair, uint8_t, pair_below(x, y))
ALM_BINARY(gt_pair, pair, pair, uint8_t, pair_below(y, x))
ALM_BINARY(le_pair, pair, pair, uint8_t, pair_eq(x, y) || pair_below(x, y))
ALM_BINARY(ge_pair, pair, pair, uint8_t, pair_eq(x, y) || pair_below(y, x))

/* -------------------------------------------------------------------- rows */

#define OP(op, sig, kernel_, bind_, doc_)                                                          \
    {.name = op,                                                                                   \
     .signature = sig " BOOLEAN",                                                                  \
     .flags = ALM_FN_INTERNAL | ALM_FN_LEAKPROOF,                                                  \
     .bind = bind_,                                                                                \
     .kernel = kernel_,                                                                            \
     .doc = doc_,                                                                                  \
     .example = "1 " op " 2",                                                                      \
     .since = "0.1"}
#define OPS(op, f, doc)                                                                            \
    OP(op, "(INT, INT)", f##_int, NULL, doc), OP(op, "(LONG, LONG)", f##_long, NULL, doc),         \
        OP(op, "(FLOAT, FLOAT)", f##_float, NULL, doc),                                            \
        OP(op, "(DOUBLE, DOUBLE)", f##_double, NULL, doc),                                         \
        OP(op, "(BOOLEAN, BOOLEAN)", f##_bool, NULL, doc),                                         \
        OP(op, "(CHAR, CHAR)", f##_char, NULL, doc),                                               \
        OP(op, "(TIME, TIME)", f##_long, alm_bind_meet_times, doc),                                \
        OP(op, "(TIMESTAMP_NS, TIMESTAMP_NS)", f##_long, NULL, doc)
#define EQUALITY(op, f, null_, doc)                                                                \
    OP(op, "(INTERVAL, INTERVAL)", f##_pair, NULL, doc),                                           \
        OP(op, "(BOOLEAN, NULL)", null_, NULL, doc), OP(op, "(NULL, BOOLEAN)", null_, NULL, doc)

/* By column `kernels` of type.def. */
#define COMPARED(T, of)                                                                            \
    OP("=", "(" T ", " T ")", eq_##of, NULL, "Equal; null equals null."),                          \
        OP("!=", "(" T ", " T ")", ne_##of, NULL, "Not equal."),                                   \
        OP("<>", "(" T ", " T ")", ne_##of, NULL, "Not equal."),                                   \
        OP("<", "(" T ", " T ")", lt_##of, NULL, "Less; false for null."),                         \
        OP("<=", "(" T ", " T ")", le_##of, NULL, "Less or equal."),                               \
        OP(">", "(" T ", " T ")", gt_##of, NULL, "Greater; false for null."),                      \
        OP(">=", "(" T ", " T ")", ge_##of, NULL, "Greater or equal."),
#define COMPARED_OWN(T)
#define COMPARED_INT64(T)  COMPARED(T, long)
#define COMPARED_UINT32(T) COMPARED(T, ipv4)
#define COMPARED_PAIR(T)   COMPARED(T, pair)

static const alm_fn ROWS[] = {
    OPS("=", eq, "Equal; null equals null."),
    EQUALITY("=", eq, operator_compare_never_equal, "Equal; null equals null."),
    OPS("!=", ne, "Not equal."),
    EQUALITY("!=", ne, ever_unequal, "Not equal."),
    OPS("<>", ne, "Not equal."),
    EQUALITY("<>", ne, ever_unequal, "Not equal."),
    OPS("<", lt, "Less; false for null."),
    OPS("<=", le, "Less or equal."),
    OPS(">", gt, "Greater; false for null."),
    OPS(">=", ge, "Greater or equal."),
#define ALM_TYPE(id, name, width, null, form, kernels, ...) COMPARED_##kernels(name)
#include "type/type.def"
#undef ALM_TYPE
};
ALM_FN_TABLE(compare, ROWS);
