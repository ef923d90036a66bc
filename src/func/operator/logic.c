/*
 * logic.c - and, or, not, between, null tests: bytes 0 and 1 in, bytes 0 and 1 out.
 *
 * Logic       Two-valued; there is no unknown. x between a and b takes the bounds in either order and
 *             is false when anything is null.
 */
#include "func/value/dict.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"
#include "type/value.h"

ALM_BINARY(and_bool, uint8_t, uint8_t, uint8_t, x &y)
ALM_BINARY(or_bool, uint8_t, uint8_t, uint8_t, x | y)
ALM_UNARY(not_bool, uint8_t, uint8_t, x ^ 1)

/* -------------------------------------------------------------- null tests */

#define NULL_LOOP(name, T, EXPR)                                                                   \
    static ALM_SIMD void name(const T *restrict a, const uint8_t no, uint8_t *restrict o,          \
                              size_t n)                                                            \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            const T x = a[i];                                                                      \
            o[i] = (uint8_t)((EXPR) ^ no);                                                         \
        }                                                                                          \
    }
typedef struct longs {
    int64_t lo, hi;
} longs;
NULL_LOOP(null_int, int32_t, x == ALM_INT_NULL)
NULL_LOOP(null_long, int64_t, x == ALM_LONG_NULL)
NULL_LOOP(null_float, float, x != x)
NULL_LOOP(null_double, double, x != x)
NULL_LOOP(zero_8, uint8_t, x == 0)
NULL_LOOP(zero_16, uint16_t, x == 0)
NULL_LOOP(zero_32, uint32_t, x == 0)
NULL_LOOP(null_view, alm_view, x.len == ALM_VIEW_NULL)
NULL_LOOP(null_longs, longs, (x.lo == ALM_LONG_NULL) & (x.hi == ALM_LONG_NULL))

static void null_test(const alm_vec *vec, uint8_t no, uint8_t *out, size_t n_rows)
{
    if (vec->type.id == ALM_T_NULL) {
        memset(out, 1 ^ no, n_rows);
        return;
    }
    if (vec->is_const && n_rows > 1) {
        memset(out, alm_vec_is_null(vec, 0) ^ no, n_rows);
        return;
    }
    switch (alm_type_info_of(vec->type)->null) {
    case ALM_NULL_NONE:
        memset(out, no, n_rows);
        return;
    case ALM_NULL_INT:
        null_int(vec->data, no, out, n_rows);
        return;
    case ALM_NULL_LONG:
        null_long(vec->data, no, out, n_rows);
        return;
    case ALM_NULL_NAN32:
        null_float(vec->data, no, out, n_rows);
        return;
    case ALM_NULL_NAN64:
        null_double(vec->data, no, out, n_rows);
        return;
    case ALM_NULL_ZERO16:
        zero_16(vec->data, no, out, n_rows);
        return;
    case ALM_NULL_ZERO32:
        zero_32(vec->data, no, out, n_rows);
        return;
    case ALM_NULL_LONG2:
        null_longs(vec->data, no, out, n_rows);
        return;
    case ALM_NULL_MIN8:
    case ALM_NULL_MIN16:
    case ALM_NULL_MIN128:
    case ALM_NULL_MIN256:
    case ALM_NULL_LONG4:
        (void)alm_vec_null_mask(vec, n_rows, out);
        for (size_t i = 0; i < n_rows; i++)
            out[i] ^= (uint8_t)no;
        return;
    case ALM_NULL_VIEW:
    case ALM_NULL_CODE:
        break;
    }
    if (vec->dict == NULL)
        null_view(vec->data, no, out, n_rows);
    else if (vec->width == 1)
        zero_8(vec->data, no, out, n_rows);
    else if (vec->width == 2)
        zero_16(vec->data, no, out, n_rows);
    else
        zero_32(vec->data, no, out, n_rows);
}

static alm_status logic_is_null(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                                alm_vec *out)
{
    null_test(&args[0], 0, out->data, n_rows);
    return ALM_OK;
}

static alm_status is_not_null(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                              alm_vec *out)
{
    null_test(&args[0], 1, out->data, n_rows);
    return ALM_OK;
}

/* ----------------------------------------------------------------- converts */

/* A value and what a cast made of it: was there one that the cast lost? */
static alm_status logic_lost(alm_call *call, size_t n_is_null_nows, const alm_vec *args, uint8_t no,
                             uint8_t *out)
{
    uint8_t *is_null_now = NULL;
    ALM_TRY(alm_arena_bytes(call->cx, call->arena, n_is_null_nows, &is_null_now));
    if (args[0].is_const || args[1].is_const) { /* of one row, or a constant beside a column */
        for (size_t i = 0; i < n_is_null_nows; i++)
            out[i] =
                (uint8_t)((!alm_vec_is_null(&args[0], i) && alm_vec_is_null(&args[1], i)) ^ no);
        return ALM_OK;
    }
    null_test(&args[0], 1, out, n_is_null_nows);
    null_test(&args[1], 0, is_null_now, n_is_null_nows);
    for (size_t i = 0; i < n_is_null_nows; i++)
        out[i] = (uint8_t)((out[i] & is_null_now[i]) ^ no);
    return ALM_OK;
}

static alm_status converts(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    return logic_lost(call, n_rows, args, 1, out->data);
}

static alm_status does_not_convert(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    return logic_lost(call, n_rows, args, 0, out->data);
}

/* ----------------------------------------------------------------- between */

/* Bounds are nearly always constant: then the loop is two comparisons. */
#define BETWEEN(suffix, T, NULL_Y)                                                                 \
    static ALM_SIMD void between_##suffix##_cc(const T *restrict a, const T lo, const T hi,        \
                                               uint8_t *restrict o, size_t n)                      \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            o[i] = (uint8_t)((a[i] >= lo) & (a[i] <= hi));                                         \
    }                                                                                              \
    static alm_status between_##suffix(ALM_UNUSED alm_call *call, size_t n, const alm_vec *args,   \
                                       alm_vec *out)                                               \
    {                                                                                              \
        uint8_t *o = out->data;                                                                    \
        if (!args[0].is_const && args[1].is_const && args[2].is_const) {                           \
            T y = *(const T *)args[1].data;                                                        \
            const T z = *(const T *)args[2].data;                                                  \
            if (NULL_Y) {                                                                          \
                memset(o, 0, n);                                                                   \
                return ALM_OK;                                                                     \
            }                                                                                      \
            between_##suffix##_cc(args[0].data, y <= z ? y : z, y <= z ? z : y, o, n);             \
            return ALM_OK;                                                                         \
        }                                                                                          \
        for (size_t i = 0; i < n; i++) {                                                           \
            const T x = ALM_AT(T, args[0], i), y = ALM_AT(T, args[1], i),                          \
                    z = ALM_AT(T, args[2], i);                                                     \
            const bool in = (x >= y && x <= z) || (x >= z && x <= y);                              \
            o[i] = (uint8_t)(in && !(NULL_Y));                                                     \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }
/* Bounds that are not null keep a null x out by themselves: it lies below them, or is a NaN. */
BETWEEN(int, int32_t, y == ALM_INT_NULL || z == ALM_INT_NULL)
BETWEEN(long, int64_t, y == ALM_LONG_NULL || z == ALM_LONG_NULL)
BETWEEN(double, double, y != y || z != z)
BETWEEN(char, uint16_t, y == 0 || z == 0)
BETWEEN(ipv4, uint32_t, y == 0 || z == 0)

static alm_status between_text(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    ALM_OVER_DICT(between_text, call, n_rows, args, out);
    uint8_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_str x = alm_vec_text(&args[0], i), y = alm_vec_text(&args[1], i),
                      text = alm_vec_text(&args[2], i);
        results[i] = 0;
        if (x.ptr == NULL || y.ptr == NULL || text.ptr == NULL)
            continue;
        const int to_y = alm_str_cmp(x, y), to_z = alm_str_cmp(x, text);
        results[i] = (to_y >= 0 && to_z <= 0) || (to_z >= 0 && to_y <= 0);
    }
    return ALM_OK;
}

#define ROW(op, sig, flags_, bind_, kernel_, doc_, example_)                                       \
    {.name = op,                                                                                   \
     .signature = sig " BOOLEAN",                                                                  \
     .flags = ALM_FN_INTERNAL | ALM_FN_LEAKPROOF | (flags_),                                       \
     .bind = bind_,                                                                                \
     .kernel = kernel_,                                                                            \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}
#define BETWEEN_ROW(T, bind_, kernel_)                                                             \
    ROW("between", "(" T ", " T ", " T ")", ALM_FN_NULL_OUT, bind_, kernel_,                       \
        "Within two bounds, themselves included, given in either order.", "x between 1 and 10")
/* By column `kernels` of type.def; pairs are compared by operators. */
#define BETWEEN_OWN(T)
#define BETWEEN_INT64(T)  BETWEEN_ROW(T, NULL, between_long),
#define BETWEEN_UINT32(T) BETWEEN_ROW(T, NULL, between_ipv4),
#define BETWEEN_PAIR(T)

static const alm_fn ROWS[] = {
    ROW("and", "(BOOLEAN, BOOLEAN)", 0, NULL, and_bool, "Both.", "a and b"),
    ROW("or", "(BOOLEAN, BOOLEAN)", 0, NULL, or_bool, "Either.", "a or b"),
    ROW("not", "(BOOLEAN)", 0, NULL, not_bool, "The other truth value.", "not a"),
    ROW("is null", "(ANY)", ALM_FN_SYMBOLS, NULL, logic_is_null, "Is it null?", "x is null"),
    ROW("is not null", "(ANY)", ALM_FN_SYMBOLS, NULL, is_not_null, "Is there a value?",
        "x is not null"),
    ROW("converts", "(ANY, ANY)", ALM_FN_SYMBOLS, NULL, converts,
        "Is the second, a cast of the first, a value, or the first null?", "m = 1"),
    ROW("does not convert", "(ANY, ANY)", ALM_FN_SYMBOLS, NULL, does_not_convert,
        "Is the first a value that its cast, the second, is not?", "m != 1"),
    BETWEEN_ROW("INT", NULL, between_int),
    BETWEEN_ROW("LONG", NULL, between_long),
    BETWEEN_ROW("DOUBLE", NULL, between_double),
    BETWEEN_ROW("CHAR", NULL, between_char),
    BETWEEN_ROW("TIME", alm_bind_meet_times, between_long),
#define ALM_TYPE(id, name, width, null, form, kernels, ...) BETWEEN_##kernels(name)
#include "type/type.def"
#undef ALM_TYPE
    ROW("between", "(TEXT, TEXT, TEXT)", ALM_FN_NULL_OUT | ALM_FN_SYMBOLS, NULL, between_text,
        "Within two texts, themselves included, given in either order.", "s between 'a' and 'f'"),
};
ALM_FN_TABLE(logic, ROWS);
