/*
 * decimal.c - DECIMAL: + - * / %, negation, comparisons, nullif, greatest, least.
 *
 * Types       With whole digits w = p - s: sum and difference have max(w) + max(s) + 1 digits, the
 *             remainder one less, all of them the greater scale. A product has the digits of the
 *             widest type and both scales together; so has a quotient, the last digit rounded half to
 *             even. A constant whole number counts with its own digits.
 * Null rule   Null in any operand gives null, division by zero too. Comparisons: null equals null,
 *             and is neither below nor above anything.
 * Errors      More than 76 digits: ALM_E_RANGE.
 */
#include "func/value/args.h"
#include "func/value/cast_rules.h"
#include "func/value/decimal_column.h"
#include "func/value/tables.h"

/* -------------------------------------------------------------------- bind */

/* Types of the arguments: a constant whole number is as wide as it is. */
static alm_status operator_decimal_take_types(alm_ctx *cx, uint32_t argc, alm_arg *args)
{
    for (uint32_t i = 0; i < argc; i++) {
        const alm_vec *value = args[i].value;
        const bool whole = value != NULL && value->type.id != ALM_T_NULL &&
                           alm_type_info_of(value->type)->cls == ALM_TC_INTEGER;
        int64_t x = ALM_LONG_NULL;
        if (whole)
            ALM_TRY(alm_arg_long(cx, &args[i], &x));
        if (x != ALM_LONG_NULL)
            args[i].type = alm_type_decimal(alm_i256_digits(alm_i256_of(x)), 0);
        else if (args[i].type.id == ALM_T_DECIMAL && args[i].type.p == 0)
            args[i].type.p = (uint8_t)alm_decimal_digits(args[i].type);
    }
    return ALM_OK;
}

static alm_type sum_type(alm_type a, alm_type b, uint32_t carry)
{
    const alm_type meet = alm_decimal_meet(a, b);
    return alm_type_decimal(ALM_MIN(meet.p + carry, (uint32_t)ALM_DECIMAL_DIGITS_MAX), meet.s);
}

/* Both scales together, where that leaves a digit before the point; else the greater one. */
static alm_type quotient_type(alm_type a, alm_type b)
{
    const uint32_t both = (uint32_t)a.s + b.s;
    return alm_type_decimal(ALM_DECIMAL_DIGITS_MAX,
                            both < ALM_DECIMAL_DIGITS_MAX ? both : ALM_MAX(a.s, b.s));
}

#define BIND(name, RESULT)                                                                         \
    static alm_status name(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,       \
                           uint32_t argc, alm_arg *args, alm_type *result, ALM_UNUSED void **data) \
    {                                                                                              \
        ALM_TRY(operator_decimal_take_types(cx, argc, args));                                      \
        const alm_type a = args[0].type, b = args[argc > 1 ? 1 : 0].type;                          \
        *result = (RESULT);                                                                        \
        return ALM_OK;                                                                             \
    }
BIND(operator_decimal_bind_sum, sum_type(a, b, 1))
BIND(bind_rest, sum_type(a, b, 0))
BIND(bind_product, alm_type_decimal(ALM_DECIMAL_DIGITS_MAX,
                                    ALM_MIN((uint32_t)a.s + b.s, (uint32_t)ALM_DECIMAL_DIGITS_MAX)))
BIND(bind_quotient, quotient_type(a, b))

/* Only the constants change. */
static alm_status bind_compare(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                               uint32_t argc, alm_arg *args, ALM_UNUSED alm_type *result,
                               ALM_UNUSED void **data)
{
    return operator_decimal_take_types(cx, argc, args);
}

/* All arguments in one type, which is the result. */
static alm_status operator_decimal_bind_meet(alm_ctx *cx, ALM_UNUSED const alm_fn *fn,
                                             ALM_UNUSED int32_t pos, uint32_t argc, alm_arg *args,
                                             alm_type *result, ALM_UNUSED void **data)
{
    ALM_TRY(operator_decimal_take_types(cx, argc, args));
    alm_type meet = args[0].type;
    for (uint32_t i = 1; i < argc; i++)
        meet = alm_decimal_meet(meet, args[i].type);
    for (uint32_t i = 0; i < argc; i++)
        args[i].type = meet;
    *result = meet;
    return ALM_OK;
}

/* -------------------------------------------------------------- arithmetic */

static alm_status operator_decimal_overflow(const alm_call *call, const char *what)
{
    return alm_fail(call->cx, ALM_E_RANGE, call->pos,
                    "decimal '%s' operation failed: Overflow in %s: result exceeds maximum "
                    "precision of %d digits",
                    call->fn->name, what, ALM_DECIMAL_DIGITS_MAX);
}

/* Do both operands in the common scale, and the result, have 38 digits at most? */
static bool is_narrow(const alm_vec *args, alm_type result)
{
    const alm_type meet = alm_decimal_meet(args[0].type, args[1].type);
    return meet.p <= ALM_DECIMAL_128_DIGITS && result.p <= ALM_DECIMAL_128_DIGITS &&
           args[0].width <= 16 && args[1].width <= 16;
}

typedef struct operands {
    alm_dec128 a, b;   /* narrow */
    alm_dec256 wa, wb; /* wide */
} operands;

static alm_status operator_decimal_load(const alm_call *call, size_t n, const alm_vec *args,
                                        uint32_t scale, bool narrow, operands *out)
{
    const uint32_t up_a = scale - args[0].type.s, up_b = scale - args[1].type.s;
    if (narrow) {
        ALM_TRY(alm_dec128_load(call, &args[0], n, up_a, &out->a));
        return alm_dec128_load(call, &args[1], n, up_b, &out->b);
    }
    ALM_TRY(alm_dec256_load(call, &args[0], n, up_a, &out->wa));
    return alm_dec256_load(call, &args[1], n, up_b, &out->wb);
}

/* out[i] = EXPR over x and y, neither of them null */
#define NARROW_LOOP(EXPR)                                                                          \
    do {                                                                                           \
        alm_i128u *o = NULL;                                                                       \
        ALM_TRY(alm_arena_bytes(call->cx, call->arena, n * sizeof *o, &o));                        \
        for (size_t i = 0; i < n; i++) {                                                           \
            const alm_i128 x = in.a.at[i * in.a.step], y = in.b.at[i * in.b.step];                 \
            o[i] = x == ALM_I128_MIN || y == ALM_I128_MIN ? ALM_I128_MIN : (EXPR);                 \
        }                                                                                          \
        alm_dec128_store(o, n, out);                                                               \
    } while (0)

static alm_status add_or_subtract(const alm_call *call, size_t n, const alm_vec *args, alm_vec *out,
                                  bool subtract)
{
    operands in;
    const bool narrow = is_narrow(args, out->type);
    ALM_TRY(
        operator_decimal_load(call, n, args, ALM_MAX(args[0].type.s, args[1].type.s), narrow, &in));
    if (narrow && subtract) {
        NARROW_LOOP(x - y);
        return ALM_OK;
    }
    if (narrow) {
        NARROW_LOOP(x + y);
        return ALM_OK;
    }
    char *dest = out->data;
    const uint32_t digits = out->type.p;
    for (size_t i = 0; i < n; i++, dest += out->width) {
        const alm_i256 x = in.wa.at[i * in.wa.step], y = in.wb.at[i * in.wb.step];
        alm_i256 result = alm_i256_min();
        if (!alm_i256_is_min(x) && !alm_i256_is_min(y)) {
            result = subtract ? alm_i256_sub(x, y) : alm_i256_add(x, y);
            if (!alm_decimal_fits(x, ALM_DECIMAL_DIGITS_MAX) ||
                !alm_decimal_fits(y, ALM_DECIMAL_DIGITS_MAX) || !alm_decimal_fits(result, digits))
                return operator_decimal_overflow(call, subtract ? "subtraction" : "addition");
        }
        alm_decimal_store(out->type, result, dest);
    }
    return ALM_OK;
}

static alm_status operator_decimal_add(alm_call *call, size_t n_rows, const alm_vec *args,
                                       alm_vec *out)
{
    return add_or_subtract(call, n_rows, args, out, false);
}

static alm_status operator_decimal_subtract(alm_call *call, size_t n_rows, const alm_vec *args,
                                            alm_vec *out)
{
    return add_or_subtract(call, n_rows, args, out, true);
}

static alm_status operator_decimal_multiply(alm_call *call, size_t n, const alm_vec *args,
                                            alm_vec *out)
{
    const alm_type a = args[0].type, b = args[1].type;
    operands in;
    if (alm_decimal_digits(a) + alm_decimal_digits(b) <= ALM_DECIMAL_128_DIGITS) {
        ALM_TRY(alm_dec128_load(call, &args[0], n, 0, &in.a));
        ALM_TRY(alm_dec128_load(call, &args[1], n, 0, &in.b));
        NARROW_LOOP(x * y);
        return ALM_OK;
    }
    ALM_TRY(alm_dec256_load(call, &args[0], n, 0, &in.wa));
    ALM_TRY(alm_dec256_load(call, &args[1], n, 0, &in.wb));
    alm_i256 *results = out->data;
    for (size_t i = 0; i < n; i++) {
        const alm_i256 x = in.wa.at[i * in.wa.step], y = in.wb.at[i * in.wb.step];
        results[i] = alm_i256_min();
        if (alm_i256_is_min(x) || alm_i256_is_min(y))
            continue;
        if (!alm_i256_mul(x, y, &results[i]) ||
            !alm_decimal_rescale(results[i], (uint32_t)a.s + b.s, out->type.s, ALM_ROUND_HALF_EVEN,
                                 &results[i]) ||
            !alm_decimal_fits(results[i], out->type.p))
            return operator_decimal_overflow(call, "multiplication");
    }
    return ALM_OK;
}

/* quotient, or the next number away from zero where the rest of the division is more than half of y, or half of it and quotient odd. */
static alm_i256 operator_decimal_half_even(alm_i256 quotient, alm_i256 rest, alm_i256 y,
                                           bool negative)
{
    const alm_i256 left = alm_i256_abs(rest), unit = alm_i256_abs(y);
    const int side = alm_u256_cmp(left, alm_i256_sub(unit, left));
    if (side > 0 || (side == 0 && (quotient.w[0] & 1) != 0))
        quotient = alm_i256_add(quotient, alm_i256_of(negative ? -1 : 1));
    return quotient;
}

/* x * 10^up / y digit by digit, for a dividend beyond 256 bits; false: the quotient has over 76 digits. */
static bool long_division(alm_i256 x, uint32_t up, alm_i256 y, alm_i256 *out)
{
    const bool negative = alm_i256_is_neg(x) != alm_i256_is_neg(y);
    const alm_i256 unit = alm_i256_abs(y);
    alm_i256 quotient, rest;
    alm_i256_divmod(alm_i256_abs(x), unit, &quotient, &rest);
    for (; up > 0;
         up--) { /* the rest is below 10^76, ten times of it an unsigned number of 256 bits */
        uint64_t digit = 0;
        (void)alm_u256_mul_add(&rest, 10, 0);
        for (; alm_u256_cmp(rest, unit) >= 0; digit++)
            rest = alm_i256_sub(rest, unit);
        if (!alm_decimal_fits(quotient, ALM_DECIMAL_DIGITS_MAX - 1))
            return false;
        (void)alm_u256_mul_add(&quotient, 10, digit);
    }
    quotient = operator_decimal_half_even(quotient, rest, unit, false);
    *out = negative ? alm_i256_neg(quotient) : quotient;
    return true;
}

/* The dividend moves up until the quotient has the scale of the result. */
static alm_status operator_decimal_divide(alm_call *call, size_t n_rows, const alm_vec *args,
                                          alm_vec *out)
{
    operands in;
    const uint32_t up = (uint32_t)out->type.s + args[1].type.s - args[0].type.s;
    ALM_TRY(alm_dec256_load(call, &args[0], n_rows, 0, &in.wa));
    ALM_TRY(alm_dec256_load(call, &args[1], n_rows, 0, &in.wb));
    const alm_i256 unit = alm_pow10_256(ALM_MIN(up, (uint32_t)ALM_DECIMAL_DIGITS_MAX));
    alm_i256 *results = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_i256 x = in.wa.at[i * in.wa.step], y = in.wb.at[i * in.wb.step];
        alm_i256 raised, rest;
        results[i] = alm_i256_min();
        if (alm_i256_is_min(x) || alm_i256_is_min(y) || alm_i256_is_zero(y))
            continue;
        if (up <= ALM_DECIMAL_DIGITS_MAX && alm_i256_mul(x, unit, &raised)) {
            alm_i256_divmod(raised, y, &results[i], &rest);
            results[i] = operator_decimal_half_even(results[i], rest, y,
                                                    alm_i256_is_neg(x) != alm_i256_is_neg(y));
        } else if (!long_division(x, up, y, &results[i])) {
            return operator_decimal_overflow(call, "division");
        }
        if (!alm_decimal_fits(results[i], out->type.p))
            return operator_decimal_overflow(call, "division");
    }
    return ALM_OK;
}

static alm_status modulo(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)
{
    operands in;
    const bool narrow = is_narrow(args, out->type);
    ALM_TRY(
        operator_decimal_load(call, n, args, ALM_MAX(args[0].type.s, args[1].type.s), narrow, &in));
    if (narrow) {
        NARROW_LOOP(y == 0 ? ALM_I128_MIN : x % y);
        return ALM_OK;
    }
    char *dest = out->data;
    for (size_t i = 0; i < n; i++, dest += out->width) {
        const alm_i256 x = in.wa.at[i * in.wa.step], y = in.wb.at[i * in.wb.step];
        alm_i256 quotient, result = alm_i256_min();
        if (!alm_i256_is_min(x) && !alm_i256_is_min(y) && !alm_i256_is_zero(y)) {
            if (!alm_decimal_fits(x, ALM_DECIMAL_DIGITS_MAX) ||
                !alm_decimal_fits(y, ALM_DECIMAL_DIGITS_MAX))
                return operator_decimal_overflow(call, "modulo");
            alm_i256_divmod(x, y, &quotient, &result);
        }
        alm_decimal_store(out->type, result, dest);
    }
    return ALM_OK;
}

static alm_status operator_decimal_negate(ALM_UNUSED alm_call *call, size_t n_rows,
                                          const alm_vec *args, alm_vec *out)
{
    const char *from = args[0].data;
    char *dest = out->data;
    for (size_t i = 0; i < n_rows; i++, from += args[0].width, dest += out->width) {
        const alm_i256 value = alm_decimal_load(args[0].type, from);
        alm_decimal_store(out->type, alm_i256_is_min(value) ? value : alm_i256_neg(value), dest);
    }
    return ALM_OK;
}

/* ------------------------------------------------------------- comparisons */

typedef enum relation { EQ, NE, LT, LE, GT, GE } relation;

static uint8_t operator_decimal_holds(relation self, int side, bool null_x, bool null_y)
{
    const bool both = null_x && null_y, one = null_x != null_y;
    switch (self) {
    case EQ:
        return side == 0;
    case NE:
        return side != 0;
    case LT:
        return side < 0 && !one;
    case LE:
        return both || (side <= 0 && !one);
    case GT:
        return side > 0 && !one;
    case GE:
        return both || (side >= 0 && !one);
    }
    return 0;
}

#define COMPARE_128(name, EXPR)                                                                    \
    static void name##_128(const operands *in, size_t n, uint8_t *o)                               \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            const alm_i128 x = in->a.at[i * in->a.step], y = in->b.at[i * in->b.step];             \
            const alm_i128 none = ALM_I128_MIN;                                                    \
            (void)none;                                                                            \
            o[i] = (uint8_t)(EXPR);                                                                \
        }                                                                                          \
    }
COMPARE_128(eq, x == y)
COMPARE_128(ne, x != y)
COMPARE_128(lt, (x < y) & (x != none))
COMPARE_128(le, (x <= y) & ((x != none) | (y == none)))
COMPARE_128(gt, (x > y) & (y != none))
COMPARE_128(ge, (x >= y) & ((y != none) | (x == none)))

static alm_status operator_decimal_compare(const alm_call *call, size_t n_rows, const alm_vec *args,
                                           alm_vec *out, relation self)
{
    static void (*const narrow_loops[])(const operands *, size_t, uint8_t *) = {
        [EQ] = eq_128, [NE] = ne_128, [LT] = lt_128, [LE] = le_128, [GT] = gt_128, [GE] = ge_128};
    operands in;
    const bool narrow = is_narrow(args, args[0].type) && args[1].type.p <= ALM_DECIMAL_128_DIGITS;
    ALM_TRY(operator_decimal_load(call, n_rows, args, ALM_MAX(args[0].type.s, args[1].type.s),
                                  narrow, &in));
    uint8_t *results = out->data;
    if (narrow) {
        narrow_loops[self](&in, n_rows, results);
        return ALM_OK;
    }
    for (size_t i = 0; i < n_rows; i++) {
        const alm_i256 x = in.wa.at[i * in.wa.step], y = in.wb.at[i * in.wb.step];
        results[i] = operator_decimal_holds(self, alm_i256_cmp(x, y), alm_i256_is_min(x),
                                            alm_i256_is_min(y));
    }
    return ALM_OK;
}

#define COMPARE(name, r)                                                                           \
    static alm_status name(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)            \
    {                                                                                              \
        return operator_decimal_compare(call, n, args, out, r);                                    \
    }
COMPARE(eq, EQ)
COMPARE(ne, NE)
COMPARE(lt, LT)
COMPARE(le, LE)
COMPARE(gt, GT)
COMPARE(ge, GE)

/* ------------------------------------------------- nullif, greatest, least */

static alm_status nullif(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                         alm_vec *out)
{
    const size_t width = out->width;
    for (size_t i = 0; i < n_rows; i++) {
        const char *x = (const char *)args[0].data + (args[0].is_const ? 0 : i) * width;
        const char *y = (const char *)args[1].data + (args[1].is_const ? 0 : i) * width;
        char *dest = (char *)out->data + i * width;
        if (memcmp(x, y, width) == 0)
            alm_value_set_null(out->type, dest);
        else
            memcpy(dest, x, width);
    }
    return ALM_OK;
}

/* Nulls do not take part. */
static alm_status extreme(const alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out,
                          int sign)
{
    alm_i256 *best = NULL;
    ALM_TRY(alm_arena_bytes(call->cx, call->arena, n_rows * sizeof *best, &best));
    for (size_t i = 0; i < n_rows; i++)
        best[i] = alm_i256_min();
    for (uint32_t k = 0; k < call->argc; k++) {
        alm_dec256 in;
        ALM_TRY(alm_dec256_load(call, &args[k], n_rows, 0, &in));
        for (size_t i = 0; i < n_rows; i++) {
            const alm_i256 value = in.at[i * in.step];
            if (!alm_i256_is_min(value) &&
                (alm_i256_is_min(best[i]) || alm_i256_cmp(value, best[i]) * sign > 0))
                best[i] = value;
        }
    }
    alm_dec256_store(best, n_rows, out);
    return ALM_OK;
}

static alm_status greatest(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    return extreme(call, n_rows, args, out, 1);
}

static alm_status operator_decimal_least(alm_call *call, size_t n_rows, const alm_vec *args,
                                         alm_vec *out)
{
    return extreme(call, n_rows, args, out, -1);
}

/* -------------------------------------------------------------------- rows */

#define ROW(f, sig, flags_, bind_, kernel_, doc_, example_)                                        \
    {.name = f,                                                                                    \
     .signature = sig,                                                                             \
     .flags = flags_,                                                                              \
     .bind = bind_,                                                                                \
     .kernel = kernel_,                                                                            \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}
#define OP(op, bind, kernel, doc)                                                                  \
    ROW(op, "(DECIMAL, DECIMAL) ?", ALM_FN_INTERNAL | ALM_FN_NULL_OUT, bind, kernel, doc,          \
        "1.5m " op " 2m")
#define TEST(op, kernel, doc)                                                                      \
    ROW(op, "(DECIMAL, DECIMAL) BOOLEAN", ALM_FN_INTERNAL, bind_compare, kernel, doc,              \
        "1.5m " op " 2m")

static const alm_fn ROWS[] = {
    OP("+", operator_decimal_bind_sum, operator_decimal_add, "Sum."),
    OP("-", operator_decimal_bind_sum, operator_decimal_subtract, "Difference."),
    OP("*", bind_product, operator_decimal_multiply, "Product."),
    OP("/", bind_quotient, operator_decimal_divide,
       "Quotient, its last digit rounded half to even."),
    OP("%", bind_rest, modulo, "Remainder, with the sign of the dividend."),
    ROW("-", "(DECIMAL) SAME", ALM_FN_INTERNAL | ALM_FN_NULL_OUT, NULL, operator_decimal_negate,
        "Negative.", "-d"),
    ROW("neg", "(DECIMAL) SAME", ALM_FN_INTERNAL | ALM_FN_NULL_OUT, NULL, operator_decimal_negate,
        "Negative.", "-d"),
    TEST("=", eq, "Equal; null equals null."),
    TEST("!=", ne, "Not equal."),
    TEST("<>", ne, "Not equal."),
    TEST("<", lt, "Less; false for null."),
    TEST("<=", le, "Less or equal."),
    TEST(">", gt, "Greater; false for null."),
    TEST(">=", ge, "Greater or equal."),
    ROW("nullif", "(DECIMAL, DECIMAL) ?", 0, operator_decimal_bind_meet, nullif,
        "The first, or null if both are equal.", "nullif(1.5m, 0m)"),
    ROW("greatest", "(DECIMAL, DECIMAL...) ?", 0, operator_decimal_bind_meet, greatest,
        "Greatest of the values that are not null.", "greatest(1.5m, 2m)"),
    ROW("least", "(DECIMAL, DECIMAL...) ?", 0, operator_decimal_bind_meet, operator_decimal_least,
        "Least of the values that are not null.", "least(1.5m, 2m)"),
};
ALM_FN_TABLE(decimal, ROWS);
