/*
 * decimal_round.c - DECIMAL: round, round_up, round_down, round_half_even, floor, ceil, abs, sign.
 *
 * Types       Rounding to n digits behind the point gives scale n (0 where n is negative) and one
 *             digit more in front, for a carry; rounding towards zero needs none. Where n is a column the
 *             scale stays as it is.
 * Null rule   Null in, null out.
 */
#include "func/value/args.h"
#include "func/value/decimal_column.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"

/* Where a call rounds; the digits of the result are its scale, or lie before the point. */
typedef struct rounding_plan {
    uint32_t from, drop; /* scale of the argument; digits in front of the point that become 0 */
    bool by_row;         /* the digits are a column */
} rounding_plan;

static alm_status bind_rounding(alm_ctx *cx, uint32_t argc, alm_arg *args, uint32_t carry,
                                alm_type *result, void **data)
{
    int64_t to = 0;
    rounding_plan *plan = NULL;
    if (argc > 1 && args[1].value != NULL)
        ALM_TRY(alm_arg_long(cx, &args[1], &to));
    if (to == ALM_LONG_NULL)
        return alm_fail(cx, ALM_E_ARG, args[1].pos, "the scale to round to cannot be null");
    ALM_TRY(ALM_NEW(cx, cx->arena, &plan));
    const alm_type a = args[0].type;
    const uint32_t digits = alm_decimal_digits(a);
    const bool by_row = argc > 1 && args[1].value == NULL && !args[1].is_param;
    const uint32_t scale = to > a.s || by_row ? a.s : to < 0 ? 0 : (uint32_t)to;
    *plan = (rounding_plan){.from = a.s,
                            .drop = to < 0 ? (uint32_t)ALM_MIN(-to, ALM_DECIMAL_DIGITS_MAX) : 0,
                            .by_row = by_row};
    const uint32_t needed = ALM_MAX(digits - a.s + scale, carry * plan->drop) + carry;
    *result =
        alm_type_decimal(ALM_MIN(ALM_MAX(needed, 1U), (uint32_t)ALM_DECIMAL_DIGITS_MAX), scale);
    *data = plan;
    return ALM_OK;
}

static alm_status bind_carry(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                             uint32_t argc, alm_arg *args, alm_type *result, void **data)
{
    return bind_rounding(cx, argc, args, 1, result, data);
}

static alm_status bind_cut(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                           uint32_t argc, alm_arg *args, alm_type *result, void **data)
{
    return bind_rounding(cx, argc, args, 0, result, data);
}

static bool rounded(alm_i256 *value, const rounding_plan *plan, alm_type type, alm_rounding how)
{
    if (!alm_decimal_rescale(*value, plan->from + plan->drop, type.s, how, value))
        return false;
    return (plan->drop == 0 ||
            alm_decimal_rescale(*value, 0, plan->drop, ALM_ROUND_EXACT, value)) &&
           alm_decimal_fits(*value, type.p);
}

/* To `digits` behind the point, or before it; the scale stays. */
static bool rounded_in_place(alm_i256 *value, int32_t digits, alm_type type, alm_rounding how)
{
    const int64_t drop = (int64_t)type.s - ALM_MAX(digits, -ALM_DECIMAL_DIGITS_MAX);
    if (digits == ALM_INT_NULL)
        *value = alm_i256_min();
    if (digits == ALM_INT_NULL || drop <= 0)
        return true;
    return alm_decimal_rescale(*value, (uint32_t)drop, 0, how, value) &&
           alm_decimal_rescale(*value, 0, (uint32_t)drop, ALM_ROUND_EXACT, value) &&
           alm_decimal_fits(*value, type.p);
}

static alm_status decimal_round_all(const alm_call *call, size_t n_rows, const alm_vec *args,
                                    alm_vec *out, alm_rounding how)
{
    const rounding_plan *plan = call->data;
    const char *from = args[0].data;
    char *dest = out->data;
    const size_t step = args[0].is_const ? 0 : args[0].width;
    for (size_t i = 0; i < n_rows; i++, from += step, dest += out->width) {
        alm_i256 value = alm_decimal_load(args[0].type, from);
        if (!alm_i256_is_min(value) &&
            !(plan->by_row ? rounded_in_place(&value, ALM_AT(int32_t, args[1], i), out->type, how)
                           : rounded(&value, plan, out->type, how)))
            return alm_fail(call->cx, ALM_E_RANGE, call->pos,
                            "decimal '%s' operation failed: result does not fit %s", call->fn->name,
                            alm_type_name(out->type));
        alm_decimal_store(out->type, value, dest);
    }
    return ALM_OK;
}

#define ROUND(name, how)                                                                           \
    static alm_status name(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)            \
    {                                                                                              \
        return decimal_round_all(call, n, args, out, how);                                         \
    }
ROUND(half_up, ALM_ROUND_HALF_UP)
ROUND(decimal_round_half_even, ALM_ROUND_HALF_EVEN)
ROUND(up, ALM_ROUND_UP)
ROUND(down, ALM_ROUND_DOWN)
ROUND(to_floor, ALM_ROUND_FLOOR)
ROUND(to_ceil, ALM_ROUND_CEIL)

/* --------------------------------------------------------------- abs, sign */

static alm_status absolute(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                           alm_vec *out)
{
    const char *from = args[0].data;
    char *dest = out->data;
    for (size_t i = 0; i < n_rows; i++, from += args[0].width, dest += out->width) {
        const alm_i256 value = alm_decimal_load(args[0].type, from);
        alm_decimal_store(out->type, alm_i256_is_min(value) ? value : alm_i256_abs(value), dest);
    }
    return ALM_OK;
}

static alm_status bind_sign(ALM_UNUSED alm_ctx *cx, ALM_UNUSED const alm_fn *fn,
                            ALM_UNUSED int32_t pos, ALM_UNUSED uint32_t argc,
                            ALM_UNUSED alm_arg *args, alm_type *result, ALM_UNUSED void **data)
{
    *result = alm_type_decimal(1, 0);
    return ALM_OK;
}

static alm_status decimal_round_sign(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                                     alm_vec *out)
{
    const char *from = args[0].data;
    int8_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++, from += args[0].width) {
        const alm_i256 value = alm_decimal_load(args[0].type, from);
        results[i] = alm_i256_is_min(value)    ? INT8_MIN
                     : alm_i256_is_zero(value) ? 0
                     : alm_i256_is_neg(value)  ? -1
                                               : 1;
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------- rows */

#define ROW(f, sig, bind_, kernel_, doc_, example_)                                                \
    {.name = f,                                                                                    \
     .signature = sig,                                                                             \
     .flags = ALM_FN_NULL_OUT,                                                                     \
     .bind = bind_,                                                                                \
     .kernel = kernel_,                                                                            \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}
#define ROUNDS(f, bind, kernel, doc)                                                               \
    ROW(f, "(DECIMAL) ?", bind, kernel, doc, f "(12.345m)"),                                       \
        ROW(f, "(DECIMAL, INT) ?", bind, kernel, doc, f "(12.345m, 2)")

static const alm_fn ROWS[] = {
    ROUNDS("round", bind_carry, half_up, "Nearest decimal, halves away from zero."),
    ROUNDS("round_half_even", bind_carry, decimal_round_half_even,
           "Nearest decimal, halves to the even digit."),
    ROUNDS("round_up", bind_carry, up, "Rounded away from zero."),
    ROUNDS("round_down", bind_cut, down, "Rounded towards zero."),
    ROUNDS("trunc", bind_cut, down, "Without the digits behind that place."),
    ROUNDS("floor", bind_carry, to_floor, "Greatest decimal that is not above."),
    ROUNDS("ceil", bind_carry, to_ceil, "Least decimal that is not below."),
    ROUNDS("ceiling", bind_carry, to_ceil, "Least decimal that is not below."),
    ROW("abs", "(DECIMAL) SAME", NULL, absolute, "Absolute value.", "abs(-1.5m)"),
    ROW("sign", "(DECIMAL) ?", bind_sign, decimal_round_sign, "-1, 0 or 1 by the sign.",
        "sign(-1.5m)"),
};
ALM_FN_TABLE(decimal_round, ROWS);
