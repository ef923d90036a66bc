/*
 * arith.c - the operators + - * / % and unary minus, over numbers and times.
 *
 * Null rule   Null in, null out. A result beyond the range of its type is null, and so is what is
 *             divided by zero. The negative of the least BYTE and SHORT, which have no null, is refused.
 *             Aggregates, which would not see such a null, and what is stored use the variants that refuse
 *             it; where more than 32 bits are asked for, INT is computed by the wide ones.
 * Units       TIMESTAMP - TIMESTAMP is a count of the unit of the type, as is what is added to one.
 * Cost        Memory bound for + - *; INT division runs on doubles, which is exact for 32 bits and
 *             vectorises; LONG division is the processor's.
 */
#include <math.h>

#include "func/value/kernel.h"
#include "func/value/tables.h"

#define INT_OR_NULL(expr)  (x == ALM_INT_NULL || y == ALM_INT_NULL ? ALM_INT_NULL : (expr))
#define LONG_OR_NULL(expr) (x == ALM_LONG_NULL || y == ALM_LONG_NULL ? ALM_LONG_NULL : (expr))

/* 32 bits are computed in 64; for 64 bits the signs tell. Both are loops the compiler vectorises. */
static inline int32_t int_within(int64_t r)
{
    return r > INT32_MAX || r < -INT32_MAX ? ALM_INT_NULL : (int32_t)r;
}

static inline int64_t long_sum(int64_t x, int64_t y)
{
    const int64_t r = (int64_t)((uint64_t)x + (uint64_t)y);
    return ((x ^ r) & (y ^ r)) < 0 ? ALM_LONG_NULL : r;
}

static inline int64_t long_difference(int64_t x, int64_t y)
{
    const int64_t r = (int64_t)((uint64_t)x - (uint64_t)y);
    return ((x ^ y) & (x ^ r)) < 0 ? ALM_LONG_NULL : r;
}

static inline int64_t long_product(int64_t x, int64_t y)
{
    int64_t r;
    return __builtin_mul_overflow(x, y, &r) ? ALM_LONG_NULL : r;
}

ALM_BINARY(add_int, int32_t, int32_t, int32_t, INT_OR_NULL(int_within((int64_t)x + y)))
ALM_BINARY(sub_int, int32_t, int32_t, int32_t, INT_OR_NULL(int_within((int64_t)x - y)))
ALM_BINARY(mul_int, int32_t, int32_t, int32_t, INT_OR_NULL(int_within((int64_t)x *y)))
ALM_BINARY(add_long, int64_t, int64_t, int64_t, LONG_OR_NULL(long_sum(x, y)))
ALM_BINARY(sub_long, int64_t, int64_t, int64_t, LONG_OR_NULL(long_difference(x, y)))
ALM_BINARY(mul_long, int64_t, int64_t, int64_t, LONG_OR_NULL(long_product(x, y)))

/* What meets in 64 bits: no result of two INT leaves them, so nothing is tested and all of it vectorises. */
#define WIDE(expr) (x == ALM_INT_NULL || y == ALM_INT_NULL ? ALM_LONG_NULL : (expr))
ALM_BINARY(add_wide, int32_t, int32_t, int64_t, WIDE((int64_t)x + y))
ALM_BINARY(sub_wide, int32_t, int32_t, int64_t, WIDE((int64_t)x - y))
ALM_BINARY(mul_wide, int32_t, int32_t, int64_t, WIDE((int64_t)x *y))

/* A null that no argument explains is a result that was lost. Nulls are rare: they are looked for first. */
#define REFUSE_LOST(T, nul)                                                                        \
    static ALM_SIMD bool any_null_##T(const T *restrict o, size_t n)                               \
    {                                                                                              \
        bool found = false;                                                                        \
        for (size_t i = 0; i < n; i++)                                                             \
            found |= o[i] == (nul);                                                                \
        return found;                                                                              \
    }                                                                                              \
    static alm_status refuse_lost_##T(const alm_call *call, size_t n, const alm_vec *args,         \
                                      const alm_vec *out)                                          \
    {                                                                                              \
        const T *o = out->data;                                                                    \
        const size_t end = any_null_##T(o, n) ? n : 0;                                             \
        for (size_t i = 0; i < end; i++)                                                           \
            if (o[i] == (nul) && ALM_AT(T, args[0], i) != (nul) && ALM_AT(T, args[1], i) != (nul)) \
                return alm_out_of_range(call->cx, call->pos, call->result);                        \
        return ALM_OK;                                                                             \
    }
REFUSE_LOST(int32_t, ALM_INT_NULL)
REFUSE_LOST(int64_t, ALM_LONG_NULL)

#define CHECKED(kernel, T)                                                                         \
    static alm_status checked_##kernel(alm_call *call, size_t n, const alm_vec *args,              \
                                       alm_vec *out)                                               \
    {                                                                                              \
        ALM_TRY(kernel(call, n, args, out));                                                       \
        return refuse_lost_##T(call, n, args, out);                                                \
    }
CHECKED(add_int, int32_t)
CHECKED(sub_int, int32_t)
CHECKED(mul_int, int32_t)
CHECKED(add_long, int64_t)
CHECKED(sub_long, int64_t)
CHECKED(mul_long, int64_t)

/* A quotient of 32-bit numbers is exact in a double before truncation, and truncation is C's. */
static inline int32_t int_quotient(int32_t x, int32_t y)
{
    return (int32_t)((double)x / (double)(y == 0 ? 1 : y));
}
#define INT_DIV_OR_NULL(expr)                                                                      \
    (x == ALM_INT_NULL || y == ALM_INT_NULL || y == 0 ? ALM_INT_NULL : (expr))
ALM_BINARY(div_int, int32_t, int32_t, int32_t,
           INT_DIV_OR_NULL(int_quotient(x == ALM_INT_NULL ? 0 : x, y)))
ALM_BINARY(mod_int, int32_t, int32_t, int32_t,
           INT_DIV_OR_NULL((int32_t)((uint32_t)x -
                                     (uint32_t)int_quotient(x == ALM_INT_NULL ? 0 : x, y) *
                                         (uint32_t)y)))

/* x = INT64_MIN is null, so the one overflow of division does not occur. */
#define LONG_DIV_OR_NULL(expr)                                                                     \
    (x == ALM_LONG_NULL || y == ALM_LONG_NULL || y == 0 ? ALM_LONG_NULL : (expr))
ALM_BINARY(div_long, int64_t, int64_t, int64_t, LONG_DIV_OR_NULL(x / y))
ALM_BINARY(mod_long, int64_t, int64_t, int64_t, LONG_DIV_OR_NULL(x % y))

#define FLOATING(suffix, T, MOD)                                                                   \
    ALM_BINARY(add_##suffix, T, T, T, ALM_FINITE(x + y))                                           \
    ALM_BINARY(sub_##suffix, T, T, T, ALM_FINITE(x - y))                                           \
    ALM_BINARY(mul_##suffix, T, T, T, ALM_FINITE(x *y))                                            \
    ALM_BINARY(div_##suffix, T, T, T, ALM_FINITE(x / y))                                           \
    ALM_BINARY(mod_##suffix, T, T, T, MOD(x, y))                                                   \
    ALM_UNARY(neg_##suffix, T, T, -x)
FLOATING(float, float, fmodf)
FLOATING(double, double, fmod)

/* The negative of a null is the null itself, by wrapping. */
ALM_UNARY(neg_int, int32_t, int32_t, 0U - (uint32_t)x)
ALM_UNARY(neg_long, int64_t, int64_t, UINT64_C(0) - (uint64_t)x)
#define NEG_SMALL(suffix, T, least, type)                                                          \
    static alm_status neg_##suffix(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)    \
    {                                                                                              \
        const T *a = args[0].data;                                                                 \
        T *o = out->data;                                                                          \
        bool fits = true;                                                                          \
        for (size_t i = 0; i < n; i++) {                                                           \
            fits &= a[i] != (least);                                                               \
            o[i] = (T) - a[i];                                                                     \
        }                                                                                          \
        return fits ? ALM_OK                                                                       \
                    : alm_fail(call->cx, ALM_E_RANGE, call->pos,                                   \
                               "inconvertible value: %d [INT -> " type "]", -(least));             \
    }
NEG_SMALL(short, int16_t, INT16_MIN, "SHORT")
NEG_SMALL(byte, int8_t, INT8_MIN, "BYTE")

/* Networks: an address moves by a count; one that leaves the range, or reaches 0.0.0.0, is null. */
static inline uint32_t ipv4_moved(uint32_t address, int64_t by)
{
    const int64_t to = (int64_t)address + by;
    return address == 0 || by == ALM_LONG_NULL || to < 0 || to > UINT32_MAX ? 0 : (uint32_t)to;
}
#define IPV4_STEP(y)                                                                               \
    ((y) > INT64_C(0x1ffffffff) || (y) < -INT64_C(0x1ffffffff) ? ALM_LONG_NULL : (y))
ALM_BINARY(add_ipv4_long, uint32_t, int64_t, uint32_t, ipv4_moved(x, IPV4_STEP(y)))
ALM_BINARY(add_long_ipv4, int64_t, uint32_t, uint32_t, ipv4_moved(y, IPV4_STEP(x)))
ALM_BINARY(sub_ipv4_long, uint32_t, int64_t, uint32_t,
           ipv4_moved(x, y == ALM_LONG_NULL ? y : IPV4_STEP(-y)))
ALM_BINARY(sub_ipv4, uint32_t, uint32_t, int64_t,
           x == 0 || y == 0 ? ALM_LONG_NULL : (int64_t)x - (int64_t)y)

alm_status alm_bind_meet_times(ALM_UNUSED alm_ctx *cx, ALM_UNUSED const alm_fn *fn,
                               ALM_UNUSED int32_t pos, uint32_t argc, alm_arg *args,
                               ALM_UNUSED alm_type *result, ALM_UNUSED void **data)
{
    bool nanos = false;
    for (uint32_t i = 0; i < argc; i++)
        nanos = nanos || args[i].type.id == ALM_T_TIMESTAMP_NS;
    for (uint32_t i = 0; nanos && i < argc; i++)
        if (args[i].type.id == ALM_T_TIMESTAMP)
            args[i].type = ALM_TY(TIMESTAMP_NS);
    return ALM_OK;
}

#define OP(op, sig, kernel_, doc_, example_) OP_OF(op, 0, sig, kernel_, doc_, example_)
#define OP_OF(op, flags_, sig, kernel_, doc_, example_)                                            \
    {.name = op,                                                                                   \
     .signature = sig,                                                                             \
     .flags = ALM_FN_INTERNAL | ALM_FN_NULL_OUT | (flags_),                                        \
     .kernel = kernel_,                                                                            \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}
#define OP_TIMES(op, sig, kernel_, doc_, example_)                                                 \
    {.name = op,                                                                                   \
     .signature = sig,                                                                             \
     .flags = ALM_FN_INTERNAL | ALM_FN_NULL_OUT | ALM_FN_BEYOND,                                   \
     .bind = alm_bind_meet_times,                                                                  \
     .kernel = kernel_,                                                                            \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}

#define MOD(sig, kernel_, example_)                                                                \
    {.name = "mod",                                                                                \
     .signature = sig,                                                                             \
     .flags = ALM_FN_NULL_OUT,                                                                     \
     .kernel = kernel_,                                                                            \
     .doc = "Remainder, with the sign of the first; null for a divisor of 0.",                     \
     .example = example_,                                                                          \
     .since = "0.1"}

#define NEGATIVE(op)                                                                               \
    OP(op, "(BYTE) BYTE", neg_byte, "Negative.", "-(1::byte)"),                                    \
        OP(op, "(SHORT) SHORT", neg_short, "Negative.", "-(1::short)"),                            \
        OP(op, "(INT) INT", neg_int, "Negative.", "-(1)"),                                         \
        OP(op, "(LONG) LONG", neg_long, "Negative.", "-(1L)"),                                     \
        OP(op, "(FLOAT) FLOAT", neg_float, "Negative.", "-(1.5f)"),                                \
        OP(op, "(DOUBLE) DOUBLE", neg_double, "Negative.", "-(1.5)")

/* The variants of an operator: the same row with another kernel. */
#define VARIANT(op, sig, kernel_)                                                                  \
    {.name = op, .signature = sig, .flags = ALM_FN_INTERNAL | ALM_FN_NULL_OUT, .kernel = kernel_}
#define CHECKED_ROW(op, sig, kernel_)                                                              \
    {.name = op,                                                                                   \
     .signature = sig,                                                                             \
     .flags = ALM_FN_INTERNAL | ALM_FN_NULL_OUT | ALM_FN_CHECKED,                                  \
     .kernel = checked_##kernel_}
static const struct {
    alm_scalar_kernel kernel;
    alm_fn wide, checked;
} VARIANTS[] = {
    {add_int, VARIANT("+", "(INT, INT) LONG", add_wide),
     CHECKED_ROW("+", "(INT, INT) INT", add_int)},
    {sub_int, VARIANT("-", "(INT, INT) LONG", sub_wide),
     CHECKED_ROW("-", "(INT, INT) INT", sub_int)},
    {mul_int, VARIANT("*", "(INT, INT) LONG", mul_wide),
     CHECKED_ROW("*", "(INT, INT) INT", mul_int)},
    {add_long, {0}, CHECKED_ROW("+", "(LONG, LONG) LONG", add_long)},
    {sub_long, {0}, CHECKED_ROW("-", "(LONG, LONG) LONG", sub_long)},
    {mul_long, {0}, CHECKED_ROW("*", "(LONG, LONG) LONG", mul_long)},
};

const alm_fn *alm_fn_checked(const alm_fn *fn)
{
    for (size_t i = 0; i < ALM_COUNT(VARIANTS); i++)
        if (fn->kernel == VARIANTS[i].kernel)
            return &VARIANTS[i].checked;
    return NULL;
}

const alm_fn *alm_fn_wide(const alm_fn *fn)
{
    for (size_t i = 0; i < ALM_COUNT(VARIANTS); i++)
        if (fn->kernel != NULL &&
            (fn->kernel == VARIANTS[i].kernel || fn->kernel == VARIANTS[i].checked.kernel))
            return VARIANTS[i].wide.kernel != NULL ? &VARIANTS[i].wide : NULL;
    return NULL;
}

alm_status alm_out_of_range(alm_ctx *cx, int32_t pos, alm_type type)
{
    return alm_fail(cx, ALM_E_RANGE, pos, "%s out of range%s", alm_type_name(type),
                    type.id == ALM_T_INT ? ": a LONG would hold it, as in x::long" : "");
}

static const alm_fn ROWS[] = {
    OP("+", "(INT, INT) INT", add_int, "Sum.", "1 + 2"),
    OP("+", "(LONG, LONG) LONG", add_long, "Sum.", "1L + 2"),
    OP("+", "(FLOAT, FLOAT) FLOAT", add_float, "Sum.", "0.1f + 0.2f"),
    OP("+", "(DOUBLE, DOUBLE) DOUBLE", add_double, "Sum.", "0.1 + 0.2"),
    OP_OF("+", ALM_FN_BEYOND, "(TIME, LONG) TIME", add_long, "Time moved by a count of its unit.",
          "'2026-01-01'::timestamp + 1000000"),
    OP_OF("+", ALM_FN_BEYOND, "(LONG, TIME) TIME", add_long, "Time moved by a count of its unit.",
          "1000000 + '2026-01-01'::timestamp"),
    OP_OF("+", ALM_FN_BEYOND, "(DATE, LONG) DATE", add_long, "Date moved by milliseconds.",
          "'2026-01-01'::date + 1000"),
    OP_OF("+", ALM_FN_BEYOND, "(LONG, DATE) DATE", add_long, "Date moved by milliseconds.",
          "1000 + '2026-01-01'::date"),
    OP_OF("+", ALM_FN_BEYOND, "(IPv4, LONG) IPv4", add_ipv4_long, "Address further on.",
          "ipv4 '10.0.0.1' + 5"),
    OP_OF("+", ALM_FN_BEYOND, "(LONG, IPv4) IPv4", add_long_ipv4, "Address further on.",
          "5 + ipv4 '10.0.0.1'"),
    OP("-", "(INT, INT) INT", sub_int, "Difference.", "5 - 7"),
    OP("-", "(LONG, LONG) LONG", sub_long, "Difference.", "5L - 7"),
    OP("-", "(FLOAT, FLOAT) FLOAT", sub_float, "Difference.", "0.3f - 0.2f"),
    OP("-", "(DOUBLE, DOUBLE) DOUBLE", sub_double, "Difference.", "0.3 - 0.2"),
    OP_OF("-", ALM_FN_BEYOND, "(TIME, LONG) TIME", sub_long, "Time moved back.",
          "'2026-01-01'::timestamp - 1000000"),
    OP_TIMES("-", "(TIME, TIME) LONG", sub_long, "Distance, in the finer unit.",
             "'2026-01-02'::timestamp - '2026-01-01'::timestamp"),
    OP_OF("-", ALM_FN_BEYOND, "(DATE, LONG) DATE", sub_long, "Date moved back by milliseconds.",
          "'2026-01-01'::date - 1000"),
    OP_OF("-", ALM_FN_BEYOND, "(DATE, DATE) LONG", sub_long, "Distance in milliseconds.",
          "'2026-01-02'::date - '2026-01-01'::date"),
    OP_OF("-", ALM_FN_BEYOND, "(IPv4, LONG) IPv4", sub_ipv4_long, "Address before.",
          "ipv4 '10.0.0.10' - 5"),
    OP_OF("-", ALM_FN_BEYOND, "(IPv4, IPv4) LONG", sub_ipv4, "Distance of addresses.",
          "ipv4 '10.0.0.9' - ipv4 '10.0.0.0'"),
    OP("*", "(INT, INT) INT", mul_int, "Product.", "3 * 4"),
    OP("*", "(LONG, LONG) LONG", mul_long, "Product.", "3L * 4"),
    OP("*", "(FLOAT, FLOAT) FLOAT", mul_float, "Product.", "0.5f * 3f"),
    OP("*", "(DOUBLE, DOUBLE) DOUBLE", mul_double, "Product.", "0.5 * 3"),
    OP("/", "(INT, INT) INT", div_int, "Quotient, cut towards zero.", "7 / 2"),
    OP("/", "(LONG, LONG) LONG", div_long, "Quotient, cut towards zero.", "7L / 2"),
    OP("/", "(FLOAT, FLOAT) FLOAT", div_float, "Quotient.", "1f / 3f"),
    OP("/", "(DOUBLE, DOUBLE) DOUBLE", div_double, "Quotient.", "7 / 2.0"),
    OP("%", "(INT, INT) INT", mod_int, "Remainder, with the sign of the dividend.", "7 % 3"),
    OP("%", "(LONG, LONG) LONG", mod_long, "Remainder, with the sign of the dividend.", "7L % 3"),
    OP("%", "(FLOAT, FLOAT) FLOAT", mod_float, "Remainder.", "5.5f % 2f"),
    OP("%", "(DOUBLE, DOUBLE) DOUBLE", mod_double, "Remainder.", "5.5 % 2"),
    MOD("(INT, INT) INT", mod_int, "mod(-7, 3)"),
    MOD("(LONG, LONG) LONG", mod_long, "mod(-7, 3)"),
    MOD("(DOUBLE, DOUBLE) DOUBLE", mod_double, "mod(5.5, 2)"),
    NEGATIVE("-"),
    NEGATIVE("neg"),
};
ALM_FN_TABLE(arith, ROWS);
