/*
 * decimal_column.c - see decimal_column.h. One loop per width.
 */
#include "func/value/decimal_column.h"

#define LOAD_128(T, NUL)                                                                           \
    do {                                                                                           \
        const T *restrict a = v->data;                                                             \
        for (size_t i = 0; i < count; i++)                                                         \
            to[i] = a[i] == (NUL) ? ALM_I128_MIN : (alm_i128)a[i] * unit;                          \
    } while (0)

alm_status alm_dec128_load(const alm_call *call, const alm_vec *v, size_t n_rows, uint32_t up,
                           alm_dec128 *out)
{
    const size_t count = v->is_const ? 1 : n_rows;
    bool fits = true;
    const alm_i128 unit = alm_i256_low(alm_pow10_256(up), &fits);
    ALM_ASSERT(fits && v->width <= sizeof(alm_i128));
    alm_i128u *to = NULL;
    ALM_TRY(alm_arena_bytes(call->cx, call->arena, count * sizeof *to, &to));
    if (v->width == 1)
        LOAD_128(int8_t, INT8_MIN);
    else if (v->width == 2)
        LOAD_128(int16_t, INT16_MIN);
    else if (v->width == 4)
        LOAD_128(int32_t, INT32_MIN);
    else if (v->width == 8)
        LOAD_128(int64_t, INT64_MIN);
    else
        LOAD_128(alm_i128u, ALM_I128_MIN);
    *out = (alm_dec128){to, v->is_const ? 0 : 1};
    return ALM_OK;
}

/* Beyond all decimals, so that comparisons stay right. */
static alm_i256 beyond(bool negative)
{
    const alm_i256 most = {{UINT64_MAX, UINT64_MAX, UINT64_MAX, INT64_MAX}};
    return negative ? alm_i256_neg(most) : most;
}

alm_status alm_dec256_load(const alm_call *call, const alm_vec *vec, size_t n_rows, uint32_t up,
                           alm_dec256 *out)
{
    const size_t count = vec->is_const ? 1 : n_rows;
    const alm_i256 unit = alm_pow10_256(up);
    alm_i256 *dest = NULL;
    ALM_TRY(alm_arena_bytes(call->cx, call->arena, count * sizeof *dest, &dest));
    const char *from = vec->data;
    for (size_t i = 0; i < count; i++, from += vec->width) {
        const alm_i256 value = alm_decimal_load(vec->type, from);
        dest[i] = value;
        if (up > 0 && !alm_i256_is_min(value) && !alm_i256_mul(value, unit, &dest[i]))
            dest[i] = beyond(alm_i256_is_neg(value));
    }
    *out = (alm_dec256){dest, vec->is_const ? 0 : 1};
    return ALM_OK;
}

#define STORE_128(T, NUL)                                                                          \
    do {                                                                                           \
        T *restrict o = out->data;                                                                 \
        for (size_t i = 0; i < n; i++)                                                             \
            o[i] = x[i] == ALM_I128_MIN ? (NUL) : (T)x[i];                                         \
    } while (0)

void alm_dec128_store(const alm_i128u *x, size_t n, alm_vec *out)
{
    if (out->width == 1) {
        STORE_128(int8_t, INT8_MIN);
    } else if (out->width == 2) {
        STORE_128(int16_t, INT16_MIN);
    } else if (out->width == 4) {
        STORE_128(int32_t, INT32_MIN);
    } else if (out->width == 8) {
        STORE_128(int64_t, INT64_MIN);
    } else if (out->width == 16) {
        memcpy(out->data, x, n * sizeof *x);
    } else {
        alm_i256 *results = out->data;
        for (size_t i = 0; i < n; i++)
            results[i] = x[i] == ALM_I128_MIN ? alm_i256_min() : alm_i256_of128(x[i]);
    }
}

void alm_dec256_store(const alm_i256 *value, size_t n_rows, alm_vec *out)
{
    char *dest = out->data;
    for (size_t i = 0; i < n_rows; i++, dest += out->width)
        alm_decimal_store(out->type, value[i], dest);
}
